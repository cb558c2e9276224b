//! From words to a tree, by recursive descent: one function for each rule of the grammar in `docs/formula.md`.

use super::error::{FormulaError, FormulaFault};
use super::lexer::{self, Token, Word};
use super::tree::{Expression, Factor, Kind, Range, Sign, Tree};
use super::words::{self, Function, Reduction};
use super::{MOST_BYTES, MOST_DEPTH};

/// Reads a formula; `known` are the constants that it is given besides its own.
pub(super) fn parse<'a>(text: &str, known: impl Iterator<Item = &'a str>) -> Result<Tree, FormulaError> {
    if text.len() > MOST_BYTES {
        return Err(FormulaError::whole(FormulaFault::TooLong(text.len())));
    }
    let words = lexer::words(text)?;
    if words.len() == 1 {
        return Err(FormulaError::whole(FormulaFault::Empty));
    }
    Parser { words, place: 0, depth: 0, known: known.map(String::from).collect() }.tree()
}

struct Parser {
    words: Vec<Word>,
    place: usize,
    depth: usize,
    /// Names of constants so far.
    known: Vec<String>,
}

impl Parser {
    fn tree(mut self) -> Result<Tree, FormulaError> {
        let mut definitions = Vec::new();
        while let (Token::Name(name), Token::Symbol('=')) = (self.token().clone(), self.token_after()) {
            let column = self.column();
            if words::is_reserved(&name) || name == "i" || self.known.contains(&name) {
                return Err(FormulaError::at(column, FormulaFault::Taken(name)));
            }
            self.place += 2;
            definitions.push((name.clone(), self.sum()?));
            self.expect(';', "`;` after the value of a name, or an operator")?;
            self.known.push(name);
        }
        let value = self.sum()?;
        match self.token() {
            Token::End => Ok(Tree { definitions, value }),
            Token::Symbol('=') => Err(self.expected("a name before `=`, and definitions before the formula")),
            Token::Symbol(';') => Err(self.expected("the end: only definitions, a = 2, end with `;`")),
            _ => Err(self.expected("an operator or the end")),
        }
    }

    /// sum = product { ("+" | "-") product }
    fn sum(&mut self) -> Result<Expression, FormulaError> {
        let first = self.product()?;
        let mut rest = Vec::new();
        loop {
            let sign = match self.token() {
                Token::Symbol('+') => Sign::Plus,
                Token::Symbol('-') => Sign::Minus,
                _ => break,
            };
            self.place += 1;
            rest.push((sign, self.product()?));
        }
        let column = first.column;
        Ok(if rest.is_empty() { first } else { Expression { kind: Kind::Sum(Box::new(first), rest), column } })
    }

    /// product = signed { ("*" | "/") signed }
    fn product(&mut self) -> Result<Expression, FormulaError> {
        let first = self.signed()?;
        let mut rest = Vec::new();
        loop {
            let factor = match self.token() {
                Token::Symbol('*') => Factor::Times,
                Token::Symbol('/') => Factor::Over,
                Token::Number(_) | Token::Name(_) | Token::Symbol('(') => {
                    let fault = FormulaFault::MissingOperator { found: self.token().to_string() };
                    return Err(FormulaError::at(self.column(), fault));
                }
                _ => break,
            };
            self.place += 1;
            rest.push((factor, self.signed()?));
        }
        let column = first.column;
        Ok(if rest.is_empty() { first } else { Expression { kind: Kind::Product(Box::new(first), rest), column } })
    }

    /// signed = ("-" | "+") signed | power
    fn signed(&mut self) -> Result<Expression, FormulaError> {
        let column = self.column();
        // Every way to go deeper leads through here.
        if self.depth == MOST_DEPTH {
            return Err(FormulaError::at(column, FormulaFault::TooDeep));
        }
        self.depth += 1;
        let result = match self.token() {
            Token::Symbol('-') => {
                self.place += 1;
                self.signed().map(|inner| Expression { kind: Kind::Negate(Box::new(inner)), column })
            }
            Token::Symbol('+') => {
                self.place += 1;
                self.signed()
            }
            _ => self.power(),
        };
        self.depth -= 1;
        result
    }

    /// power = atom [ "^" signed ]
    fn power(&mut self) -> Result<Expression, FormulaError> {
        let base = self.atom()?;
        if *self.token() != Token::Symbol('^') {
            return Ok(base);
        }
        self.place += 1;
        let (column, exponent) = (base.column, self.signed()?);
        Ok(Expression { kind: Kind::Power(Box::new(base), Box::new(exponent)), column })
    }

    /// atom = number | name | name "(" arguments ")" | "x" "[" sum "]" | "(" sum ")"
    fn atom(&mut self) -> Result<Expression, FormulaError> {
        let column = self.column();
        match self.token().clone() {
            Token::Number(value) => {
                self.place += 1;
                Ok(Expression { kind: Kind::Number(value), column })
            }
            Token::Symbol('(') => {
                self.place += 1;
                let inner = self.sum()?;
                self.expect(')', "an operator or `)`")?;
                Ok(inner)
            }
            Token::Name(name) => {
                self.place += 1;
                match self.token() {
                    Token::Symbol('(') => self.call(name, column),
                    Token::Symbol('[') if name == "x" => {
                        self.place += 1;
                        let index = self.sum()?;
                        self.expect(']', "an operator or `]`")?;
                        Ok(Expression { kind: Kind::Coordinate(Box::new(index)), column })
                    }
                    Token::Symbol('[') => Err(FormulaError::at(column, FormulaFault::NotCoordinates(name))),
                    _ => Ok(Expression { kind: Kind::Name(name), column }),
                }
            }
            _ => Err(self.expected("a number, a name or `(`")),
        }
    }

    /// A function or a reduction, from its parenthesis on.
    fn call(&mut self, name: String, column: usize) -> Result<Expression, FormulaError> {
        let (function, reduction) = (Function::named(&name), Reduction::named(&name));
        if function.is_none() && reduction.is_none() {
            let meant = words::is_reserved(&name) || self.known.contains(&name);
            let fault = if meant { FormulaFault::NotAFunction(name) } else { words::unknown_function(&name) };
            return Err(FormulaError::at(column, fault));
        }
        self.place += 1;
        let mut arguments = Vec::new();
        if *self.token() != Token::Symbol(')') {
            arguments.push(self.sum()?);
            while *self.token() == Token::Symbol(',') {
                self.place += 1;
                arguments.push(self.sum()?);
            }
        }
        self.expect(')', "an operator, `,` or `)`")?;
        let kind = match (reduction, function) {
            (Some(reduction), several) => self.reduction(reduction, several, arguments, column)?,
            (None, Some(function)) if arguments.len() == 1 => Kind::Call(function, arguments),
            (None, other) => {
                let name = other.map_or("", Function::name);
                let fault = FormulaFault::Arguments { name, accepted: "one argument", given: arguments.len() };
                return Err(FormulaError::at(column, fault));
            }
        };
        Ok(Expression { kind, column })
    }

    /// What `sum`, `max` and the like are with these arguments; `several` is what they are with several, if anything.
    fn reduction(
        &self,
        reduction: Reduction,
        several: Option<Function>,
        mut arguments: Vec<Expression>,
        column: usize,
    ) -> Result<Kind, FormulaError> {
        let given = arguments.len();
        let indexed = given == 4 && (several.is_none() || self.is_new_name(&arguments[0]));
        match (arguments.pop(), several) {
            (Some(body), _) if given == 1 => Ok(Kind::Reduce(reduction, None, Box::new(body))),
            (Some(body), _) if indexed => {
                let mut three = arguments.into_iter();
                let (Some(index), Some(from), Some(to)) = (three.next(), three.next(), three.next()) else {
                    return Err(self.expected("four arguments"));
                };
                let Kind::Name(name) = index.kind else {
                    let fault = FormulaFault::IndexName { name: reduction.name() };
                    return Err(FormulaError::at(index.column, fault));
                };
                if words::is_reserved(&name) || self.known.contains(&name) {
                    return Err(FormulaError::at(index.column, FormulaFault::Taken(name)));
                }
                let range = Range { index: name, from: Box::new(from), to: Box::new(to) };
                Ok(Kind::Reduce(reduction, Some(range), Box::new(body)))
            }
            (Some(last), Some(function)) => {
                arguments.push(last);
                Ok(Kind::Call(function, arguments))
            }
            _ => {
                let (name, accepted) = (reduction.name(), reduction.accepted());
                Err(FormulaError::at(column, FormulaFault::Arguments { name, accepted, given }))
            }
        }
    }

    /// Whether this is a name that means nothing so far, and so can only be an index.
    fn is_new_name(&self, expression: &Expression) -> bool {
        matches!(&expression.kind, Kind::Name(name) if !words::is_reserved(name) && !self.known.contains(name))
    }

    fn token(&self) -> &Token {
        &self.words[self.place.min(self.words.len() - 1)].token
    }

    fn token_after(&self) -> &Token {
        &self.words[(self.place + 1).min(self.words.len() - 1)].token
    }

    fn column(&self) -> usize {
        self.words[self.place.min(self.words.len() - 1)].column
    }

    fn expect(&mut self, symbol: char, expected: &'static str) -> Result<(), FormulaError> {
        if *self.token() != Token::Symbol(symbol) {
            return Err(self.expected(expected));
        }
        self.place += 1;
        Ok(())
    }

    fn expected(&self, expected: &'static str) -> FormulaError {
        FormulaError::at(self.column(), FormulaFault::Expected { expected, found: self.token().to_string() })
    }
}
