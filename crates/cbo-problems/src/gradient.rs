//! Gradients of formulas: every function is written once, and its gradient follows from the formula itself.
//!
//! A formula is evaluated with numbers that write down what was done to them. Going through that list backwards gives the derivatives
//! with respect to all coordinates at once, exact up to rounding, for a few times the cost of the value.

use crate::function::Function;
use cbo::simd::Real;
use std::cell::RefCell;
use std::f64::consts::PI;
use std::ops::{Add, Div, Mul, Neg, Sub};

/// One operation: the places of its operands, and the derivatives of its result with respect to them.
#[derive(Clone, Copy)]
struct Operation {
    operands: [u32; 2],
    slopes: [f64; 2],
}

thread_local! {
    /// What was done since the formula began.
    static TAPE: RefCell<Vec<Operation>> = const { RefCell::new(Vec::new()) };
}

/// The place of numbers that do not depend on the point.
const CONSTANT: u32 = u32::MAX;

/// A number in a formula, with its place in the list.
#[derive(Clone, Copy)]
pub(crate) struct Taped {
    value: f64,
    place: u32,
}

impl Taped {
    /// The result of an operation.
    fn of(value: f64, operands: [(Self, f64); 2]) -> Self {
        if operands.iter().all(|(operand, _)| operand.place == CONSTANT) {
            return Self { value, place: CONSTANT };
        }
        let [(a, by_a), (b, by_b)] = operands;
        TAPE.with_borrow_mut(|tape| {
            tape.push(Operation { operands: [a.place, b.place], slopes: [by_a, by_b] });
            Self { value, place: tape.len() as u32 - 1 }
        })
    }

    /// A function of one number, with its derivative there.
    fn through(self, value: f64, slope: f64) -> Self {
        Self::of(value, [(self, slope), (Self::constant(0.0), 0.0)])
    }
}

/// Writes the gradient of `function` at `x` to `out`, and returns the value.
pub(crate) fn gradient<F: Function>(function: &F, x: &[f64], out: &mut [f64]) -> f64 {
    gradient_of(|point| function.value(point), x, out)
}

/// The same for anything that computes with such numbers.
pub(crate) fn gradient_of(value: impl FnOnce(&[Taped]) -> Taped, x: &[f64], out: &mut [f64]) -> f64 {
    TAPE.with_borrow_mut(|tape| {
        tape.clear();
        // The coordinates come first.
        tape.resize(x.len(), Operation { operands: [CONSTANT; 2], slopes: [0.0; 2] });
    });
    let point: Vec<Taped> = x.iter().zip(0..).map(|(&value, place)| Taped { value, place }).collect();
    let result = value(&point[..]);
    TAPE.with_borrow(|tape| {
        let mut slopes = vec![0.0; tape.len()];
        if let Some(last) = slopes.get_mut(result.place as usize) {
            *last = 1.0;
        }
        for (place, operation) in tape.iter().enumerate().skip(x.len()).rev() {
            let slope = slopes[place];
            if slope == 0.0 {
                continue;
            }
            for (operand, by) in operation.operands.iter().zip(operation.slopes) {
                if *operand != CONSTANT {
                    slopes[*operand as usize] += slope * by;
                }
            }
        }
        out.copy_from_slice(&slopes[..x.len()]);
    });
    result.value
}

impl Add for Taped {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self::of(self.value + other.value, [(self, 1.0), (other, 1.0)])
    }
}

impl Sub for Taped {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self::of(self.value - other.value, [(self, 1.0), (other, -1.0)])
    }
}

impl Mul for Taped {
    type Output = Self;
    fn mul(self, other: Self) -> Self {
        Self::of(self.value * other.value, [(self, other.value), (other, self.value)])
    }
}

impl Div for Taped {
    type Output = Self;
    fn div(self, other: Self) -> Self {
        let value = self.value / other.value;
        Self::of(value, [(self, 1.0 / other.value), (other, -value / other.value)])
    }
}

impl Neg for Taped {
    type Output = Self;
    fn neg(self) -> Self {
        self.through(-self.value, -1.0)
    }
}

/// The same with a constant on the right.
macro_rules! with_constants {
    ($($operator:ident $method:ident),*) => {$(
        impl $operator<f64> for Taped {
            type Output = Self;
            fn $method(self, constant: f64) -> Self {
                $operator::$method(self, Self::constant(constant))
            }
        }
    )*};
}

with_constants!(Add add, Sub sub, Mul mul, Div div);

impl Real for Taped {
    fn constant(value: f64) -> Self {
        Self { value, place: CONSTANT }
    }
    fn mul_add(self, factor: Self, summand: Self) -> Self {
        self * factor + summand
    }
    /// At zero, where the slope is infinite, the formulas have a kink or a minimum: none is taken.
    fn sqrt(self) -> Self {
        let root = self.value.sqrt();
        self.through(root, if root > 0.0 { 0.5 / root } else { 0.0 })
    }
    fn abs(self) -> Self {
        let slope = if self.value == 0.0 { 0.0 } else { self.value.signum() };
        self.through(self.value.abs(), slope)
    }
    fn floor(self) -> Self {
        Self::constant(self.value.floor())
    }
    fn round(self) -> Self {
        Self::constant(self.value.round_ties_even())
    }
    fn min(self, other: Self) -> Self {
        if self.value < other.value { self } else { other }
    }
    fn max(self, other: Self) -> Self {
        if self.value > other.value { self } else { other }
    }
    fn select_less(self, other: Self, yes: Self, no: Self) -> Self {
        if self.value < other.value { yes } else { no }
    }
    fn exp(self) -> Self {
        let value = libm::exp(self.value);
        self.through(value, value)
    }
    fn ln(self) -> Self {
        self.through(libm::log(self.value), 1.0 / self.value)
    }
    fn sin(self) -> Self {
        self.through(libm::sin(self.value), libm::cos(self.value))
    }
    fn cos(self) -> Self {
        self.through(libm::cos(self.value), -libm::sin(self.value))
    }
    fn sin_pi(self) -> Self {
        let nearest = self.value.round_ties_even();
        let sign = if nearest.rem_euclid(2.0) == 1.0 { -1.0 } else { 1.0 };
        let angle = PI * (self.value - nearest);
        self.through(sign * libm::sin(angle), sign * PI * libm::cos(angle))
    }
}
