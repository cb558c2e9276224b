//! `Traced`: a `Real` that writes down what is done to it, for devices that compile a formula of their own accord.
//!
//! A formula has no branches, only [`Real::select_less`]: what is done to one point is done to every point. Its operations in their
//! order, a [`Trace`], are therefore the formula, and whoever carries them out with the arithmetic of this crate gets the same bits.

use super::Real;
use std::cell::RefCell;
use std::ops::{Add, Div, Mul, Neg, Sub};

/// What an operation works on.
#[derive(Clone, Copy, Debug)]
pub enum Operand {
    /// A coordinate of the point, from 0.
    X(u32),
    /// A constant, to be rounded to the precision of the computation.
    Constant(f64),
    /// The result of an earlier operation, by its place in the trace.
    Node(u32),
}

impl PartialEq for Operand {
    /// The same operand; NaN is the same constant as NaN.
    fn eq(&self, other: &Self) -> bool {
        match (*self, *other) {
            (Self::X(a), Self::X(b)) | (Self::Node(a), Self::Node(b)) => a == b,
            (Self::Constant(a), Self::Constant(b)) => a.to_bits() == b.to_bits(),
            _ => false,
        }
    }
}

/// An operation of [`Real`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Operation {
    /// a + b
    Add,
    /// a - b
    Subtract,
    /// a b
    Multiply,
    /// a / b
    Divide,
    /// -a
    Negate,
    /// a b + c, rounded once
    MultiplyAdd,
    /// The square root of a
    Sqrt,
    /// |a|
    Abs,
    /// The greatest integer not above a
    Floor,
    /// The nearest integer, ties to even
    Round,
    /// a if a < b, else b
    Min,
    /// a if a > b, else b
    Max,
    /// c if a < b, else d
    SelectLess,
    /// e^a
    Exp,
    /// ln a
    Ln,
    /// sin a
    Sin,
    /// cos a
    Cos,
    /// sin(pi a)
    SinPi,
    /// sin(pi a) up to its sign
    SinPiUpToSign,
}

impl Operation {
    /// How many operands it has.
    pub fn arity(self) -> usize {
        match self {
            Self::Add | Self::Subtract | Self::Multiply | Self::Divide | Self::Min | Self::Max => 2,
            Self::MultiplyAdd => 3,
            Self::SelectLess => 4,
            _ => 1,
        }
    }
}

/// One operation of a trace. Operands beyond its arity repeat the first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Line {
    /// What is done.
    pub operation: Operation,
    /// What it is done to.
    pub operands: [Operand; 4],
}

/// A formula as the list of its operations.
#[derive(Clone, Debug, PartialEq)]
pub struct Trace {
    /// The operations, in order.
    pub lines: Vec<Line>,
    /// The value of the formula.
    pub value: Operand,
}

thread_local! {
    static LINES: RefCell<Option<Vec<Line>>> = const { RefCell::new(None) };
}

/// A number of a formula that is being traced.
#[derive(Clone, Copy, Debug)]
pub struct Traced(Operand);

impl Trace {
    /// The operations of `formula` on a point of `dim` coordinates.
    ///
    /// ```
    /// use cbo::simd::{Operation, Real, Trace};
    ///
    /// let trace = Trace::of(2, |x| x[0].mul_add(x[0], x[1]).sqrt());
    /// assert_eq!(trace.lines.len(), 2);
    /// assert_eq!(trace.lines[1].operation, Operation::Sqrt);
    /// ```
    pub fn of(dim: usize, formula: impl FnOnce(&[Traced]) -> Traced) -> Self {
        let x: Vec<Traced> = (0..dim as u32).map(|k| Traced(Operand::X(k))).collect();
        // A formula that traces another has its own list back afterwards.
        let outer = LINES.replace(Some(Vec::new()));
        let Traced(value) = formula(&x);
        let lines = LINES.replace(outer).unwrap_or_default();
        Self { lines, value }
    }
}

fn note(operation: Operation, operands: [Operand; 4]) -> Traced {
    LINES.with_borrow_mut(|lines| {
        let lines = lines.get_or_insert_default();
        lines.push(Line { operation, operands });
        Traced(Operand::Node(lines.len() as u32 - 1))
    })
}

fn one(operation: Operation, a: Traced) -> Traced {
    note(operation, [a.0; 4])
}

fn two(operation: Operation, a: Traced, b: Traced) -> Traced {
    note(operation, [a.0, b.0, a.0, a.0])
}

macro_rules! operator {
    ($trait:ident, $method:ident, $operation:ident) => {
        impl $trait for Traced {
            type Output = Self;
            fn $method(self, other: Self) -> Self {
                two(Operation::$operation, self, other)
            }
        }
        impl $trait<f64> for Traced {
            type Output = Self;
            fn $method(self, constant: f64) -> Self {
                two(Operation::$operation, self, Self::constant(constant))
            }
        }
    };
}

operator!(Add, add, Add);
operator!(Sub, sub, Subtract);
operator!(Mul, mul, Multiply);
operator!(Div, div, Divide);

impl Neg for Traced {
    type Output = Self;
    fn neg(self) -> Self {
        one(Operation::Negate, self)
    }
}

impl Real for Traced {
    fn constant(value: f64) -> Self {
        Self(Operand::Constant(value))
    }
    fn mul_add(self, factor: Self, summand: Self) -> Self {
        note(Operation::MultiplyAdd, [self.0, factor.0, summand.0, self.0])
    }
    fn sqrt(self) -> Self {
        one(Operation::Sqrt, self)
    }
    fn abs(self) -> Self {
        one(Operation::Abs, self)
    }
    fn floor(self) -> Self {
        one(Operation::Floor, self)
    }
    fn round(self) -> Self {
        one(Operation::Round, self)
    }
    fn min(self, other: Self) -> Self {
        two(Operation::Min, self, other)
    }
    fn max(self, other: Self) -> Self {
        two(Operation::Max, self, other)
    }
    fn select_less(self, other: Self, yes: Self, no: Self) -> Self {
        note(Operation::SelectLess, [self.0, other.0, yes.0, no.0])
    }
    fn exp(self) -> Self {
        one(Operation::Exp, self)
    }
    fn ln(self) -> Self {
        one(Operation::Ln, self)
    }
    fn sin(self) -> Self {
        one(Operation::Sin, self)
    }
    fn cos(self) -> Self {
        one(Operation::Cos, self)
    }
    fn sin_pi(self) -> Self {
        one(Operation::SinPi, self)
    }
    fn sin_pi_up_to_sign(self) -> Self {
        one(Operation::SinPiUpToSign, self)
    }
}
