//! A formula as a list of operations on registers, and the walk along it.
//!
//! The walk is what a value costs besides its arithmetic, so an operation within the innermost sum works on [`WIDTH`] terms at a time,
//! and what does not depend on an index is computed before its sum begins.

use super::MOST_LOOPS;
use super::arithmetic::{call, general_power, larger, power, smaller};
use super::number::{Indices, Number, Whole};
use super::words::{Function, Reduction};
use cbo::simd::Real;

/// Terms of the innermost sum that are computed side by side.
pub(super) const WIDTH: usize = 4;

/// A number for each of the terms that are computed side by side; the same number where there is only one.
pub(super) type Register<R> = [R; WIDTH];

/// One operation; the first field is the register of its result.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Operation {
    /// x[offset + factor * index], from 0.
    Coordinate {
        to: u32,
        level: u8,
        factor: i64,
        offset: i64,
    },
    /// x[...] by one of the program's whole numbers.
    CoordinateAt {
        to: u32,
        whole: u32,
    },
    /// One of the program's numbers.
    Number {
        to: u32,
        number: u32,
    },
    Constant {
        to: u32,
        value: f64,
    },
    Add {
        to: u32,
        a: u32,
        b: u32,
    },
    Subtract {
        to: u32,
        a: u32,
        b: u32,
    },
    Multiply {
        to: u32,
        a: u32,
        b: u32,
    },
    Divide {
        to: u32,
        a: u32,
        b: u32,
    },
    AddConstant {
        to: u32,
        a: u32,
        value: f64,
    },
    SubtractFrom {
        to: u32,
        a: u32,
        value: f64,
    },
    Scale {
        to: u32,
        a: u32,
        value: f64,
    },
    DivideBy {
        to: u32,
        a: u32,
        value: f64,
    },
    /// value / a
    Divided {
        to: u32,
        a: u32,
        value: f64,
    },
    Negate {
        to: u32,
        a: u32,
    },
    Square {
        to: u32,
        a: u32,
    },
    Power {
        to: u32,
        a: u32,
        exponent: f64,
    },
    /// The exponent is one of the program's numbers.
    PowerAt {
        to: u32,
        a: u32,
        number: u32,
    },
    GeneralPower {
        to: u32,
        a: u32,
        b: u32,
    },
    Smaller {
        to: u32,
        a: u32,
        b: u32,
    },
    Larger {
        to: u32,
        a: u32,
        b: u32,
    },
    Call {
        to: u32,
        a: u32,
        function: Function,
    },
    SinPi {
        to: u32,
        a: u32,
    },
    CosPi {
        to: u32,
        a: u32,
    },
    /// A sum begins.
    Begin {
        sum: u32,
    },
    /// A term of it is done.
    End {
        sum: u32,
    },
}

/// A sum, or another reduction, in a program.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Loop {
    pub(super) reduction: Reduction,
    /// How many sums it is within, itself among them.
    pub(super) level: usize,
    pub(super) from: Whole,
    pub(super) to: Whole,
    /// Where the result is collected.
    pub(super) result: u32,
    /// The term.
    pub(super) term: u32,
    /// Whether no other sum is within it.
    pub(super) innermost: bool,
    /// Its first operation, and the one after its last.
    pub(super) start: usize,
    pub(super) end: usize,
}

/// A number that depends on indices, and its values if they are worth a table.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tabulated {
    pub(super) number: Number,
    /// The depth of the sum on whose index it depends, the first index, and a value for each from there on.
    pub(super) table: Option<(usize, i64, Vec<f64>)>,
}

impl Tabulated {
    fn at(&self, indices: &Indices) -> f64 {
        match &self.table {
            Some((level, first, values)) => values[(indices[*level] - first) as usize],
            None => self.number.value(indices),
        }
    }
}

/// A formula, ready to be evaluated in its dimension.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Program {
    pub(super) operations: Vec<Operation>,
    pub(super) loops: Vec<Loop>,
    pub(super) wholes: Vec<Whole>,
    pub(super) numbers: Vec<Tabulated>,
    pub(super) registers: usize,
    pub(super) result: u32,
}

/// Sets a register: for each term side by side, or once for all.
macro_rules! each {
    ($registers:ident, $wide:ident, $to:expr, |$k:ident| $value:expr) => {{
        let mut out = [R::constant(0.0); WIDTH];
        if $wide {
            for $k in 0..WIDTH {
                out[$k] = $value;
            }
        } else {
            let $k = 0;
            out = [$value; WIDTH];
        }
        $registers[*$to as usize] = out;
    }};
}

impl Program {
    /// The value at a point, or at several, one in each lane. There are `self.registers` registers, with anything in them.
    #[inline(always)]
    pub(super) fn value<R: Real>(&self, x: &[R], registers: &mut [Register<R>]) -> R {
        let mut indices: Indices = [0; MOST_LOOPS + 1];
        let mut ends: Indices = [0; MOST_LOOPS + 1];
        // The depth of the innermost sum that has begun, and whether several terms of it are computed at a time.
        let (mut level, mut wide) = (0, false);
        let mut place = 0;
        while let Some(operation) = self.operations.get(place) {
            place += 1;
            match operation {
                Operation::Coordinate { to, level: by, factor, offset } => {
                    let (first, step) = (*offset + *factor * indices[usize::from(*by)], *factor);
                    if wide && step == 1 {
                        registers[*to as usize].copy_from_slice(&x[first as usize..first as usize + WIDTH]);
                    } else {
                        each!(registers, wide, to, |k| x[(first + step * k as i64) as usize]);
                    }
                }
                Operation::CoordinateAt { to, whole } => {
                    let whole = &self.wholes[*whole as usize];
                    let from = indices[level];
                    let mut out = [R::constant(0.0); WIDTH];
                    for lane in &mut out {
                        *lane = x[(whole.at(&indices) - 1) as usize];
                        indices[level] += i64::from(wide);
                    }
                    indices[level] = from;
                    registers[*to as usize] = out;
                }
                Operation::Number { to, number } => {
                    let number = &self.numbers[*number as usize];
                    let from = indices[level];
                    let mut out = [R::constant(number.at(&indices)); WIDTH];
                    if wide {
                        for lane in &mut out[1..] {
                            indices[level] += 1;
                            *lane = R::constant(number.at(&indices));
                        }
                    }
                    indices[level] = from;
                    registers[*to as usize] = out;
                }
                Operation::Constant { to, value } => registers[*to as usize] = [R::constant(*value); WIDTH],
                Operation::Add { to, a, b } => {
                    let (a, b) = (&registers[*a as usize], &registers[*b as usize]);
                    each!(registers, wide, to, |k| a[k] + b[k]);
                }
                Operation::Subtract { to, a, b } => {
                    let (a, b) = (&registers[*a as usize], &registers[*b as usize]);
                    each!(registers, wide, to, |k| a[k] - b[k]);
                }
                Operation::Multiply { to, a, b } => {
                    let (a, b) = (&registers[*a as usize], &registers[*b as usize]);
                    each!(registers, wide, to, |k| a[k] * b[k]);
                }
                Operation::Divide { to, a, b } => {
                    let (a, b) = (&registers[*a as usize], &registers[*b as usize]);
                    each!(registers, wide, to, |k| a[k] / b[k]);
                }
                Operation::AddConstant { to, a, value } => {
                    let a = &registers[*a as usize];
                    each!(registers, wide, to, |k| a[k] + *value);
                }
                Operation::SubtractFrom { to, a, value } => {
                    let a = &registers[*a as usize];
                    each!(registers, wide, to, |k| R::constant(*value) - a[k]);
                }
                Operation::Scale { to, a, value } => {
                    let a = &registers[*a as usize];
                    each!(registers, wide, to, |k| a[k] * *value);
                }
                Operation::DivideBy { to, a, value } => {
                    let a = &registers[*a as usize];
                    each!(registers, wide, to, |k| a[k] / *value);
                }
                Operation::Divided { to, a, value } => {
                    let a = &registers[*a as usize];
                    each!(registers, wide, to, |k| R::constant(*value) / a[k]);
                }
                Operation::Negate { to, a } => {
                    let a = &registers[*a as usize];
                    each!(registers, wide, to, |k| -a[k]);
                }
                Operation::Square { to, a } => {
                    let a = &registers[*a as usize];
                    each!(registers, wide, to, |k| a[k] * a[k]);
                }
                // What takes long is compiled once: a loop of one or several terms.
                Operation::Power { to, a, exponent } => {
                    let (a, mut out) = (&registers[*a as usize], [R::constant(0.0); WIDTH]);
                    for k in 0..terms(wide) {
                        out[k] = power(a[k], *exponent);
                    }
                    registers[*to as usize] = spread(out, wide);
                }
                Operation::PowerAt { to, a, number } => {
                    let (a, mut out) = (&registers[*a as usize], [R::constant(0.0); WIDTH]);
                    let (number, from) = (&self.numbers[*number as usize], indices[level]);
                    for k in 0..terms(wide) {
                        out[k] = power(a[k], number.at(&indices));
                        indices[level] += 1;
                    }
                    indices[level] = from;
                    registers[*to as usize] = spread(out, wide);
                }
                Operation::GeneralPower { to, a, b } => {
                    let (a, b) = (&registers[*a as usize], &registers[*b as usize]);
                    let mut out = [R::constant(0.0); WIDTH];
                    for k in 0..terms(wide) {
                        out[k] = general_power(a[k], b[k]);
                    }
                    registers[*to as usize] = spread(out, wide);
                }
                Operation::Smaller { to, a, b } => {
                    let (a, b) = (&registers[*a as usize], &registers[*b as usize]);
                    each!(registers, wide, to, |k| smaller(a[k], b[k]));
                }
                Operation::Larger { to, a, b } => {
                    let (a, b) = (&registers[*a as usize], &registers[*b as usize]);
                    each!(registers, wide, to, |k| larger(a[k], b[k]));
                }
                Operation::Call { to, a, function } => {
                    let (a, mut out) = (&registers[*a as usize], [R::constant(0.0); WIDTH]);
                    for k in 0..terms(wide) {
                        out[k] = call(*function, a[k]);
                    }
                    registers[*to as usize] = spread(out, wide);
                }
                Operation::SinPi { to, a } => {
                    let a = &registers[*a as usize];
                    each!(registers, wide, to, |k| a[k].sin_pi());
                }
                Operation::CosPi { to, a } => {
                    let a = &registers[*a as usize];
                    each!(registers, wide, to, |k| a[k].cos_pi());
                }
                Operation::Begin { sum } => {
                    let sum = &self.loops[*sum as usize];
                    let (from, to) = (sum.from.at(&indices), sum.to.at(&indices));
                    registers[sum.result as usize] = [R::constant(identity(sum.reduction)); WIDTH];
                    if from > to {
                        place = sum.end;
                        continue;
                    }
                    level = sum.level;
                    (indices[level], ends[level]) = (from, to);
                    wide = sum.innermost && to - from + 1 >= WIDTH as i64;
                }
                Operation::End { sum } => {
                    let sum = &self.loops[*sum as usize];
                    let (mut result, term) = (registers[sum.result as usize][0], &registers[sum.term as usize]);
                    // In the order of the index, however many are at hand.
                    for term in &term[..terms(wide)] {
                        result = collect(sum.reduction, result, *term);
                    }
                    indices[sum.level] += terms(wide) as i64;
                    let left = ends[sum.level] - indices[sum.level] + 1;
                    wide = sum.innermost && left >= WIDTH as i64;
                    if left > 0 {
                        place = sum.start;
                    } else if sum.reduction == Reduction::Mean {
                        result = result / (ends[sum.level] - sum.from.at(&indices) + 1) as f64;
                    }
                    registers[sum.result as usize] = [result; WIDTH];
                }
            }
        }
        registers[self.result as usize][0]
    }
}

/// How many terms are computed at a time.
#[inline(always)]
fn terms(wide: bool) -> usize {
    if wide { WIDTH } else { 1 }
}

/// The first number in all places, unless each has its own.
#[inline(always)]
fn spread<R: Real>(numbers: Register<R>, wide: bool) -> Register<R> {
    if wide { numbers } else { [numbers[0]; WIDTH] }
}

/// What a reduction begins with.
#[inline(always)]
fn identity(reduction: Reduction) -> f64 {
    match reduction {
        Reduction::Sum | Reduction::Mean => 0.0,
        Reduction::Product => 1.0,
        Reduction::Min => f64::INFINITY,
        Reduction::Max => f64::NEG_INFINITY,
    }
}

/// A reduction with one term more.
#[inline(always)]
fn collect<R: Real>(reduction: Reduction, result: R, term: R) -> R {
    match reduction {
        Reduction::Sum | Reduction::Mean => result + term,
        Reduction::Product => result * term,
        Reduction::Min => smaller(result, term),
        Reduction::Max => larger(result, term),
    }
}
