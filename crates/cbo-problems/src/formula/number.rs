//! Numbers that do not depend on the point: constants, and what is made of the indices of sums. They are the same in all lanes.

use super::MOST_LOOPS;
use super::words::Function;

/// The value of the index of each open sum; 0 is not used.
pub(super) type Indices = [i64; MOST_LOOPS + 1];

/// A set of sums by their depth, as bits. Bit 0 is no sum.
pub(super) type Levels = u16;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Number {
    Constant(f64),
    /// The index of the sum at this depth.
    Index(usize),
    Of(Operation, Vec<Number>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operation {
    Add,
    Subtract,
    Multiply,
    Divide,
    Negate,
    Power,
    Call(Function),
}

impl Number {
    /// The result of an operation: a constant if its operands are.
    pub(super) fn of(operation: Operation, operands: Vec<Self>) -> Self {
        let constants: Option<Vec<f64>> = operands.iter().map(Self::constant).collect();
        match constants {
            Some(values) => Self::Constant(compute(operation, &values)),
            None => Self::Of(operation, operands),
        }
    }

    /// The value, if it depends on no index.
    pub(super) fn constant(&self) -> Option<f64> {
        match self {
            Self::Constant(value) => Some(*value),
            _ => None,
        }
    }

    /// The sums on whose indices it depends.
    pub(super) fn levels(&self) -> Levels {
        match self {
            Self::Constant(_) => 0,
            Self::Index(level) => 1 << level,
            Self::Of(_, operands) => operands.iter().fold(0, |levels, operand| levels | operand.levels()),
        }
    }

    /// How many operations it takes.
    pub(super) fn operations(&self) -> u64 {
        match self {
            Self::Constant(_) | Self::Index(_) => 1,
            Self::Of(_, operands) => 1 + operands.iter().map(Self::operations).sum::<u64>(),
        }
    }

    pub(super) fn value(&self, indices: &Indices) -> f64 {
        match self {
            Self::Constant(value) => *value,
            Self::Index(level) => indices[*level] as f64,
            Self::Of(operation, operands) => {
                let values: Vec<f64> = operands.iter().map(|operand| operand.value(indices)).collect();
                compute(*operation, &values)
            }
        }
    }
}

/// An operation in double precision, by functions that give the same bits on every machine.
fn compute(operation: Operation, values: &[f64]) -> f64 {
    let (a, b) = (values[0], values.get(1).copied().unwrap_or(0.0));
    match operation {
        Operation::Add => a + b,
        Operation::Subtract => a - b,
        Operation::Multiply => a * b,
        Operation::Divide => a / b,
        Operation::Negate => -a,
        Operation::Power => libm::pow(a, b),
        Operation::Call(function) => match function {
            Function::Sin => libm::sin(a),
            Function::Cos => libm::cos(a),
            Function::Tan => libm::tan(a),
            Function::Sinh => libm::sinh(a),
            Function::Cosh => libm::cosh(a),
            Function::Tanh => libm::tanh(a),
            Function::Exp => libm::exp(a),
            Function::Ln => libm::log(a),
            Function::Log2 => libm::log2(a),
            Function::Log10 => libm::log10(a),
            Function::Sqrt => a.sqrt(),
            Function::Abs => a.abs(),
            Function::Sign if a == 0.0 || a.is_nan() => a,
            Function::Sign => a.signum(),
            Function::Floor => a.floor(),
            Function::Round => a.round_ties_even(),
            // NaN, once there, stays.
            Function::Min => values.iter().copied().fold(f64::INFINITY, |a, b| if a < b || a.is_nan() { a } else { b }),
            Function::Max => {
                values.iter().copied().fold(f64::NEG_INFINITY, |a, b| if a > b || a.is_nan() { a } else { b })
            }
        },
    }
}

/// A whole number: a constant and multiples of indices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Whole {
    pub(super) constant: i64,
    /// Depth of the sum, and how often its index counts.
    pub(super) terms: Vec<(usize, i64)>,
}

/// Larger numbers are of no use in an index, and might overflow when multiplied.
const LARGEST: f64 = 1e9;

impl Whole {
    /// The number as a whole one, if it is known to be one.
    pub(super) fn of(number: &Number) -> Option<Self> {
        let Linear { constant, factors } = Linear::of(number)?;
        let whole = |v: f64| (v.fract() == 0.0 && v.abs() <= LARGEST).then_some(v as i64);
        let mut terms = Vec::new();
        for (level, factor) in factors.iter().enumerate() {
            match whole(*factor)? {
                0 => (),
                factor => terms.push((level, factor)),
            }
        }
        Some(Self { constant: whole(constant)?, terms })
    }

    pub(super) fn levels(&self) -> Levels {
        self.terms.iter().fold(0, |levels, (level, _)| levels | 1 << level)
    }

    #[inline(always)]
    pub(super) fn at(&self, indices: &Indices) -> i64 {
        let mut sum = self.constant;
        for &(level, factor) in &self.terms {
            sum += factor * indices[level];
        }
        sum
    }
}

/// A number that is a constant and multiples of indices.
struct Linear {
    constant: f64,
    factors: [f64; MOST_LOOPS + 1],
}

impl Linear {
    fn of(number: &Number) -> Option<Self> {
        let mut factors = [0.0; MOST_LOOPS + 1];
        match number {
            Number::Constant(constant) => Some(Self { constant: *constant, factors }),
            Number::Index(level) => {
                factors[*level] = 1.0;
                Some(Self { constant: 0.0, factors })
            }
            Number::Of(operation, operands) => {
                let first = Self::of(operands.first()?)?;
                let second = operands.get(1);
                match operation {
                    Operation::Negate => Some(first.times(-1.0)),
                    Operation::Add => Some(first.plus(&Self::of(second?)?)),
                    Operation::Subtract => Some(first.plus(&Self::of(second?)?.times(-1.0))),
                    Operation::Divide => Some(first.over(second?.constant()?)),
                    Operation::Multiply => {
                        let second = Self::of(second?)?;
                        match (first.is_constant(), second.is_constant()) {
                            (true, _) => Some(second.times(first.constant)),
                            (_, true) => Some(first.times(second.constant)),
                            _ => None,
                        }
                    }
                    _ => None,
                }
            }
        }
    }

    fn is_constant(&self) -> bool {
        self.factors.iter().all(|factor| *factor == 0.0)
    }

    fn map(self, change: impl Fn(f64) -> f64) -> Self {
        Self { constant: change(self.constant), factors: self.factors.map(change) }
    }

    fn times(self, factor: f64) -> Self {
        self.map(|v| v * factor)
    }

    fn over(self, divisor: f64) -> Self {
        self.map(|v| v / divisor)
    }

    fn plus(mut self, other: &Self) -> Self {
        self.constant += other.constant;
        self.factors.iter_mut().zip(other.factors).for_each(|(factor, more)| *factor += more);
        self
    }
}
