//! A program that is being written: operations that find their place before the sums on which they do not depend, and registers.

use super::number::{Levels, Number, Operation as Of, Whole};
use super::program::Operation;
use super::words::{Function, Reduction};
use std::f64::consts::{E, PI};

/// What an expression became.
#[derive(Clone, Debug)]
pub(super) enum Value {
    /// A number that does not depend on the point.
    Number(Number),
    /// One that does: its register, the depth of the innermost sum on which it depends, and whether it is read only once.
    Register { place: u32, level: usize, once: bool },
}

impl Value {
    pub(super) fn constant(value: f64) -> Self {
        Self::Number(Number::Constant(value))
    }

    /// The same, to be read again and again.
    pub(super) fn kept(self) -> Self {
        match self {
            Self::Register { place, level, .. } => Self::Register { place, level, once: false },
            number => number,
        }
    }

    fn levels(&self) -> Levels {
        match self {
            Self::Number(number) => number.levels(),
            Self::Register { level, .. } => 1 << level,
        }
    }
}

/// What there is to know of a sum but its terms.
#[derive(Clone, Debug)]
pub(super) struct Head {
    pub(super) reduction: Reduction,
    pub(super) level: usize,
    pub(super) from: Whole,
    pub(super) to: Whole,
    pub(super) column: usize,
}

/// A piece of a program.
#[derive(Clone, Debug)]
pub(super) enum Step {
    Operation(Operation),
    /// A coordinate: the register, the index, and where and how it was written.
    Coordinate {
        to: u32,
        index: Whole,
        column: usize,
        written: String,
    },
    /// A sum: its terms, the register of a term and that of the result.
    Sum {
        head: Head,
        steps: Vec<Step>,
        term: u32,
        result: u32,
    },
}

/// The operations at a depth, and the sums around it on whose indices they depend.
#[derive(Debug, Default)]
struct Frame {
    steps: Vec<Step>,
    uses: Levels,
}

#[derive(Debug)]
pub(super) struct Draft {
    /// One for each open sum, after that of the whole.
    frames: Vec<Frame>,
    /// Registers at each depth that can be used again. Apart by depth, because operations that leave a sum overtake those within it.
    free: Vec<Vec<u32>>,
    registers: u32,
    pub(super) numbers: Vec<Number>,
    pub(super) result: u32,
}

impl Draft {
    pub(super) fn new() -> Self {
        Self { frames: vec![Frame::default()], free: vec![Vec::new()], registers: 0, numbers: Vec::new(), result: 0 }
    }

    pub(super) fn registers(&self) -> usize {
        self.registers as usize
    }

    /// All steps, when every sum is closed.
    pub(super) fn steps(&self) -> &[Step] {
        &self.frames[0].steps
    }

    pub(super) fn finish(&mut self, result: Value) {
        (self.result, _) = self.register(result);
    }

    /// A sum begins.
    pub(super) fn open(&mut self) {
        self.frames.push(Frame::default());
        self.free.resize(self.free.len().max(self.frames.len()), Vec::new());
    }

    /// It ends; its place is the depth of the innermost sum on which it depends.
    pub(super) fn close(&mut self, head: Head, term: Value) -> Value {
        let levels = term.levels();
        let (term, _) = self.register(term);
        let Frame { steps, uses } = self.frames.pop().unwrap_or_default();
        let own: Levels = 1 << head.level;
        let uses = (uses | levels | head.from.levels() | head.to.levels()) & !own;
        let (level, result) = self.place(uses);
        self.frames[level].steps.push(Step::Sum { head, steps, term, result });
        Value::Register { place: result, level, once: true }
    }

    pub(super) fn coordinate(&mut self, index: Whole, column: usize, written: impl Fn() -> String) -> Value {
        let (level, to) = self.place(index.levels());
        let written = super::compile::shortened(&written());
        self.frames[level].steps.push(Step::Coordinate { to, index, column, written });
        Value::Register { place: to, level, once: true }
    }

    pub(super) fn negate(&mut self, value: Value) -> Value {
        match value {
            Value::Number(number) => Value::Number(Number::of(Of::Negate, vec![number])),
            value => self.unary(value, |to, a| Operation::Negate { to, a }),
        }
    }

    pub(super) fn call(&mut self, function: Function, value: Value) -> Value {
        let (place, level, once) = match value {
            Value::Number(number) => return Value::Number(Number::of(Of::Call(function), vec![number])),
            Value::Register { place, level, once } => (place, level, once),
        };
        // Multiples of pi are exact where the engine multiplies by pi.
        if once
            && matches!(function, Function::Sin | Function::Cos)
            && let Some(Step::Operation(Operation::Scale { to, value: factor, .. })) =
                self.frames[level].steps.last_mut()
            && *to == place
            && let Some(halves) = multiple_of_pi(*factor)
        {
            *factor = halves;
            return match function {
                Function::Sin => self.unary(value, |to, a| Operation::SinPi { to, a }),
                _ => self.unary(value, |to, a| Operation::CosPi { to, a }),
            };
        }
        self.unary(value, |to, a| Operation::Call { to, a, function })
    }

    pub(super) fn binary(&mut self, operation: Of, a: Value, b: Value) -> Value {
        let constant = |value: &Value| match value {
            Value::Number(number) => number.constant(),
            Value::Register { .. } => None,
        };
        match (&a, &b, constant(&a), constant(&b)) {
            (Value::Number(a), Value::Number(b), ..) => {
                Value::Number(Number::of(operation, vec![a.clone(), b.clone()]))
            }
            (_, Value::Number(number), _, exponent) if operation == Of::Power => match exponent {
                Some(1.0) => a,
                Some(2.0) => self.unary(a, |to, a| Operation::Square { to, a }),
                Some(exponent) => self.unary(a, |to, a| Operation::Power { to, a, exponent }),
                None => {
                    let number = self.number(number.clone());
                    self.mixed(b.levels(), a, |to, a| Operation::PowerAt { to, a, number })
                }
            },
            (.., Some(value), None) => self.left_constant(operation, value, b),
            (.., None, Some(value)) => match operation {
                Of::Add => self.unary(a, |to, a| Operation::AddConstant { to, a, value }),
                Of::Subtract => self.unary(a, |to, a| Operation::AddConstant { to, a, value: -value }),
                Of::Multiply => self.unary(a, |to, a| Operation::Scale { to, a, value }),
                Of::Divide => self.unary(a, |to, a| Operation::DivideBy { to, a, value }),
                _ => self.registers_of(operation, a, b),
            },
            _ => self.registers_of(operation, a, b),
        }
    }

    fn left_constant(&mut self, operation: Of, value: f64, b: Value) -> Value {
        match operation {
            Of::Add => self.unary(b, |to, a| Operation::AddConstant { to, a, value }),
            Of::Subtract => self.unary(b, |to, a| Operation::SubtractFrom { to, a, value }),
            Of::Multiply => self.unary(b, |to, a| Operation::Scale { to, a, value }),
            Of::Divide => self.unary(b, |to, a| Operation::Divided { to, a, value }),
            Of::Power if value == E => self.call(Function::Exp, b),
            _ => self.registers_of(operation, Value::constant(value), b),
        }
    }

    fn registers_of(&mut self, operation: Of, a: Value, b: Value) -> Value {
        let ((a, first), (b, second)) = (self.register(a), self.register(b));
        let (level, to) = self.place_after(1 << first.0 | 1 << second.0, &[(a, first), (b, second)]);
        let operation = match operation {
            Of::Add => Operation::Add { to, a, b },
            Of::Subtract => Operation::Subtract { to, a, b },
            Of::Multiply => Operation::Multiply { to, a, b },
            Of::Divide => Operation::Divide { to, a, b },
            Of::Call(Function::Min) => Operation::Smaller { to, a, b },
            Of::Call(_) => Operation::Larger { to, a, b },
            Of::Power | Of::Negate => Operation::GeneralPower { to, a, b },
        };
        self.frames[level].steps.push(Step::Operation(operation));
        Value::Register { place: to, level, once: true }
    }

    fn unary(&mut self, value: Value, operation: impl FnOnce(u32, u32) -> Operation) -> Value {
        self.mixed(0, value, operation)
    }

    /// An operation on a register and on something that depends on these indices.
    fn mixed(&mut self, levels: Levels, value: Value, operation: impl FnOnce(u32, u32) -> Operation) -> Value {
        let (a, depth) = self.register(value);
        let (level, to) = self.place_after(levels | 1 << depth.0, &[(a, depth)]);
        self.frames[level].steps.push(Step::Operation(operation(to, a)));
        Value::Register { place: to, level, once: true }
    }

    fn number(&mut self, number: Number) -> u32 {
        self.numbers.push(number);
        self.numbers.len() as u32 - 1
    }

    /// The register of a value, with its depth and whether it is read only once.
    fn register(&mut self, value: Value) -> (u32, (usize, bool)) {
        match value {
            Value::Register { place, level, once } => (place, (level, once)),
            Value::Number(number) => {
                let (level, to) = self.place(number.levels());
                let operation = match number.constant() {
                    Some(value) => Operation::Constant { to, value },
                    None => Operation::Number { to, number: self.number(number) },
                };
                self.frames[level].steps.push(Step::Operation(operation));
                (to, (level, true))
            }
        }
    }

    /// Where an operation on these operands belongs, and a register for its result, perhaps that of an operand that nobody needs again.
    fn place_after(&mut self, levels: Levels, operands: &[(u32, (usize, bool))]) -> (usize, u32) {
        let level = highest(levels);
        for (register, (own, once)) in operands {
            // What is read within a sum is needed for its next term too.
            if *own == level && *once {
                self.free[level].push(*register);
            }
        }
        self.place(levels)
    }

    /// The depth at which something that depends on these indices is computed, and a register for it.
    fn place(&mut self, levels: Levels) -> (usize, u32) {
        let level = highest(levels);
        self.frames[level].uses |= levels & !(1 << level);
        let register = self.free[level].pop().unwrap_or_else(|| {
            self.registers += 1;
            self.registers - 1
        });
        (level, register)
    }
}

/// The depth of the innermost of these sums.
fn highest(levels: Levels) -> usize {
    if levels == 0 { 0 } else { levels.ilog2() as usize }
}

/// The number of times that pi is in a factor, if it is a whole number of quarters, as it was written.
fn multiple_of_pi(factor: f64) -> Option<f64> {
    let multiple = factor / PI;
    ((4.0 * multiple).fract() == 0.0 && multiple.abs() <= 1e6 && multiple * PI == factor).then_some(multiple)
}
