//! From a tree to operations: names get their meaning, constants are folded, and what does not depend on an index leaves its sum.

use super::draft::{Draft, Value};
use super::error::{FormulaError, FormulaFault};
use super::number::{Number, Operation as Of, Whole};
use super::tree::{Expression, Factor, Kind, Range, Sign, Tree};
use super::words::{self, Function, Reduction};
use super::{MOST_LOOPS, draft};

/// What a formula computes in `dim` dimensions; `given` are the constants that it is given besides its own.
pub(super) fn compile(tree: &Tree, dim: usize, given: &[(String, f64)]) -> Result<Draft, FormulaError> {
    let names = given.iter().map(|(name, value)| (name.clone(), Value::constant(*value))).collect();
    let mut compiler = Compiler { draft: Draft::new(), dim, names, scope: Vec::new() };
    for (name, expression) in &tree.definitions {
        let value = compiler.value(expression)?;
        compiler.names.push((name.clone(), value.kept()));
    }
    let result = compiler.value(&tree.value)?;
    compiler.draft.finish(result);
    Ok(compiler.draft)
}

/// The name of an index, the depth of its sum, and whether it is that of a sum of all coordinates.
struct Index {
    name: String,
    level: usize,
    of_coordinates: bool,
}

struct Compiler {
    draft: Draft,
    dim: usize,
    names: Vec<(String, Value)>,
    /// The sums around, outermost first.
    scope: Vec<Index>,
}

impl Compiler {
    fn value(&mut self, expression: &Expression) -> Result<Value, FormulaError> {
        let column = expression.column;
        match &expression.kind {
            Kind::Number(value) => Ok(Value::constant(*value)),
            Kind::Name(name) => self.name(name, column),
            Kind::Coordinate(index) => {
                let whole = self.whole(index, "an index")?;
                Ok(self.draft.coordinate(whole, column, || expression.to_string()))
            }
            Kind::Negate(inner) => {
                let inner = self.value(inner)?;
                Ok(self.draft.negate(inner))
            }
            Kind::Sum(first, rest) => {
                let mut sum = self.value(first)?;
                for (sign, term) in rest {
                    let term = self.value(term)?;
                    let operation = if *sign == Sign::Plus { Of::Add } else { Of::Subtract };
                    sum = self.draft.binary(operation, sum, term);
                }
                Ok(sum)
            }
            Kind::Product(first, rest) => {
                let mut product = self.value(first)?;
                for (factor, term) in rest {
                    let term = self.value(term)?;
                    let operation = if *factor == Factor::Times { Of::Multiply } else { Of::Divide };
                    product = self.draft.binary(operation, product, term);
                }
                Ok(product)
            }
            Kind::Power(base, exponent) => {
                let (base, exponent) = (self.value(base)?, self.value(exponent)?);
                Ok(self.draft.binary(Of::Power, base, exponent))
            }
            Kind::Call(function, arguments) => {
                let mut values = Vec::new();
                for argument in arguments {
                    values.push(self.value(argument)?);
                }
                Ok(self.call(*function, values))
            }
            Kind::Reduce(reduction, range, body) => self.reduce(*reduction, range.as_ref(), body, column),
        }
    }

    fn name(&mut self, name: &str, column: usize) -> Result<Value, FormulaError> {
        let refuse = |fault| Err(FormulaError::at(column, fault));
        if name == "x" {
            return match self.scope.iter().rev().find(|index| index.of_coordinates) {
                Some(index) => {
                    let whole = Whole { constant: 0, terms: vec![(index.level, 1)] };
                    Ok(self.draft.coordinate(whole, column, || "x".into()))
                }
                None => refuse(FormulaFault::BareX),
            };
        }
        if name == "d" {
            return Ok(Value::constant(self.dim as f64));
        }
        if let Some(value) = words::constant(name) {
            return Ok(Value::constant(value));
        }
        if let Some((_, value)) = self.names.iter().find(|(known, _)| known == name) {
            return Ok(value.clone());
        }
        let mut found = self.scope.iter().rev().filter(|index| index.name == name);
        match (found.next(), found.any(|index| !index.of_coordinates)) {
            (Some(Index { of_coordinates: true, .. }), true) => refuse(FormulaFault::Ambiguous),
            (Some(index), _) => Ok(Value::Number(Number::Index(index.level))),
            (None, _) => {
                if let Some(function) = Function::named(name) {
                    return refuse(FormulaFault::NotCalled(function.name()));
                }
                if let Some(reduction) = Reduction::named(name) {
                    return refuse(FormulaFault::NotCalled(reduction.name()));
                }
                let own = self.names.iter().map(|(name, _)| name.as_str());
                let indices = self.scope.iter().map(|index| index.name.as_str());
                refuse(words::unknown_name(name, own.chain(indices)))
            }
        }
    }

    fn call(&mut self, function: Function, mut values: Vec<Value>) -> Value {
        if !function.is_of_several() {
            return match values.pop() {
                Some(value) => self.draft.call(function, value),
                None => Value::constant(f64::NAN),
            };
        }
        let mut rest = values.into_iter();
        let first = rest.next().unwrap_or_else(|| Value::constant(f64::NAN));
        rest.fold(first, |a, b| self.draft.binary(Of::Call(function), a, b))
    }

    fn reduce(
        &mut self,
        reduction: Reduction,
        range: Option<&Range>,
        body: &Expression,
        column: usize,
    ) -> Result<Value, FormulaError> {
        let level = self.scope.len() + 1;
        if level > MOST_LOOPS {
            return Err(FormulaError::at(column, FormulaFault::TooManyLoops));
        }
        let whole = |constant: usize| Whole { constant: constant as i64, terms: Vec::new() };
        let (index, from, to) = match range {
            None => (Index { name: "i".into(), level, of_coordinates: true }, whole(1), whole(self.dim)),
            Some(Range { index, from, to }) => {
                if self.scope.iter().any(|outer| !outer.of_coordinates && outer.name == *index) {
                    return Err(FormulaError::at(column, FormulaFault::TakenIndex(index.clone())));
                }
                let (from, to) = (self.whole(from, "a bound of a sum")?, self.whole(to, "a bound of a sum")?);
                (Index { name: index.clone(), level, of_coordinates: false }, from, to)
            }
        };
        self.scope.push(index);
        self.draft.open();
        let term = self.value(body);
        self.scope.pop();
        let head = draft::Head { reduction, level, from, to, column };
        Ok(self.draft.close(head, term?))
    }

    /// A whole number that does not depend on the point.
    fn whole(&mut self, expression: &Expression, what: &'static str) -> Result<Whole, FormulaError> {
        let refuse = |fault| Err(FormulaError::at(expression.column, fault));
        let Value::Number(number) = self.value(expression)? else {
            return refuse(FormulaFault::NotFixed { what });
        };
        match Whole::of(&number) {
            Some(whole) => Ok(whole),
            None => {
                let text = number.constant().map_or_else(|| shortened(expression), cbo::numbers::plain);
                refuse(FormulaFault::NotWhole { what, text })
            }
        }
    }
}

/// What was written, if that is not too long to be shown.
pub(super) fn shortened(expression: &impl ToString) -> String {
    let text = expression.to_string();
    if text.chars().count() <= 60 { text } else { text.chars().take(57).chain("...".chars()).collect() }
}
