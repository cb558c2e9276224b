//! A formula as it was written: what the parser makes of the text, and the text that it makes of that.

use super::words::{Function, Reduction};
use std::fmt;

/// A part of a formula. Two are the same if they say the same, wherever they stand.
#[derive(Clone, Debug)]
pub(super) struct Expression {
    pub(super) kind: Kind,
    /// Of its first character, or of its operator.
    pub(super) column: usize,
}

impl PartialEq for Expression {
    fn eq(&self, other: &Self) -> bool {
        self.kind == other.kind
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Kind {
    /// Finite, not negative.
    Number(f64),
    /// x, d, pi, e, an index or a name that the formula defines.
    Name(String),
    /// x[...].
    Coordinate(Box<Expression>),
    Negate(Box<Expression>),
    /// Numbers added and subtracted, from left to right. One node however long, so that a long sum is not a deep tree.
    Sum(Box<Expression>, Vec<(Sign, Expression)>),
    /// Numbers multiplied and divided, from left to right.
    Product(Box<Expression>, Vec<(Factor, Expression)>),
    Power(Box<Expression>, Box<Expression>),
    Call(Function, Vec<Expression>),
    /// Of all coordinates, or over an index in its range.
    Reduce(Reduction, Option<Range>, Box<Expression>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sign {
    Plus,
    Minus,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Factor {
    Times,
    Over,
}

/// An index that runs from one whole number to another.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Range {
    pub(super) index: String,
    pub(super) from: Box<Expression>,
    pub(super) to: Box<Expression>,
}

/// A formula with the definitions before it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tree {
    pub(super) definitions: Vec<(String, Expression)>,
    pub(super) value: Expression,
}

impl fmt::Display for Tree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, value) in &self.definitions {
            write!(f, "{name} = {value}; ")?;
        }
        self.value.fmt(f)
    }
}

/// How tightly something holds together: less needs parentheses where more is expected.
const SUM: u8 = 1;
const PRODUCT: u8 = 2;
const NEGATION: u8 = 3;
const POWER: u8 = 4;
const ATOM: u8 = 5;

impl Expression {
    fn strength(&self) -> u8 {
        match self.kind {
            Kind::Sum(..) => SUM,
            Kind::Product(..) => PRODUCT,
            Kind::Negate(_) => NEGATION,
            Kind::Power(..) => POWER,
            _ => ATOM,
        }
    }

    /// In parentheses if it holds together less than it must.
    fn held(&self, least: u8) -> Held<'_> {
        Held { expression: self, parentheses: self.strength() < least }
    }
}

struct Held<'a> {
    expression: &'a Expression,
    parentheses: bool,
}

impl fmt::Display for Held<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.parentheses { write!(f, "({})", self.expression) } else { self.expression.fmt(f) }
    }
}

impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            // Whole numbers without a point, very large and very small ones with an exponent.
            Kind::Number(value) if value.fract() == 0.0 && *value < 1e15 => write!(f, "{value}"),
            Kind::Number(value) => write!(f, "{value:?}"),
            Kind::Name(name) => f.write_str(name),
            Kind::Coordinate(index) => write!(f, "x[{index}]"),
            Kind::Negate(inner) => write!(f, "-{}", inner.held(NEGATION)),
            Kind::Sum(first, rest) => {
                first.held(PRODUCT).fmt(f)?;
                rest.iter().try_for_each(|(sign, term)| {
                    let sign = if *sign == Sign::Plus { '+' } else { '-' };
                    write!(f, " {sign} {}", term.held(PRODUCT))
                })
            }
            Kind::Product(first, rest) => {
                first.held(NEGATION).fmt(f)?;
                rest.iter().try_for_each(|(factor, term)| {
                    let factor = if *factor == Factor::Times { '*' } else { '/' };
                    write!(f, "{factor}{}", term.held(NEGATION))
                })
            }
            Kind::Power(base, exponent) => write!(f, "{}^{}", base.held(ATOM), exponent.held(NEGATION)),
            Kind::Call(function, arguments) => {
                write!(f, "{}(", function.name())?;
                for (place, argument) in arguments.iter().enumerate() {
                    write!(f, "{}{argument}", if place == 0 { "" } else { ", " })?;
                }
                f.write_str(")")
            }
            Kind::Reduce(reduction, None, body) => write!(f, "{}({body})", reduction.name()),
            Kind::Reduce(reduction, Some(Range { index, from, to }), body) => {
                write!(f, "{}({index}, {from}, {to}, {body})", reduction.name())
            }
        }
    }
}
