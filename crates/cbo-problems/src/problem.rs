//! `Problem`: a benchmark function in a number of dimensions, perhaps shifted and rotated, as an objective.

use crate::builder::ProblemBuilder;
use crate::error::ProblemError;
use crate::function::{Function, Info};
use crate::functions::Entry;
use crate::lanes::{Batch, Evaluate, Precision, infinite_outside, nearly_zero_of, small, vanish};
use crate::rotation::Rotation;
use crate::transform::{Tables, Transform};
use cbo::device::Abreast;
use cbo::simd::{InstructionSet, Real, Trace, Traced};
use cbo::{EnergyTrace, EvalError, Objective, Rows, StepContext, Vanishing};
use std::any::TypeId;
use std::fmt;
use std::sync::Arc;

/// A benchmark function in a number of dimensions, perhaps shifted and rotated.
///
/// With x0 the first minimiser of the function f, the problem is `g(x) = f(x0 + Q (x - x0 - shift))`: the first minimiser
/// moves to x0 + shift, whatever the rotation Q; the other minimisers move along. The [`domain`](Self::domain) stays
/// where it was: it is where to search, and random shifts keep the first minimiser inside it.
///
/// A confined function ([`Info::confined`]) is infinite where its argument leaves the domain of f. A shift or a rotation
/// therefore cuts a part off the search domain, but never the first minimiser.
#[derive(Clone)]
pub struct Problem {
    pub(crate) function: Arc<dyn Evaluate>,
    pub(crate) info: Info,
    pub(crate) constraints: &'static [&'static str],
    pub(crate) dim: usize,
    pub(crate) domain: Vec<(f64, f64)>,
    pub(crate) transform: Option<Transform>,
    pub(crate) minimum: f64,
    pub(crate) minimisers: Vec<Vec<f64>>,
    pub(crate) description: String,
    /// The same words without shift and rotation.
    pub(crate) original: String,
}

impl Problem {
    /// The function called `name` in `dim` dimensions, as it is in the literature.
    ///
    /// ```
    /// let sphere = cbo_problems::Problem::named("sphere", 2)?;
    /// assert_eq!(sphere.value(&[3.0, 4.0]), 25.0);
    /// # Ok::<(), cbo_problems::ProblemError>(())
    /// ```
    pub fn named(name: &str, dim: usize) -> Result<Self, ProblemError> {
        Self::builder(name).dim(dim).build()
    }

    /// The function called `name`, to be completed by dimension, parameters, shift and rotation.
    pub fn builder(name: &str) -> ProblemBuilder {
        ProblemBuilder::new(Entry::named(name))
    }

    /// Like [`builder`](Self::builder), for any type that is a function.
    pub fn builder_of<F: Function>() -> ProblemBuilder {
        ProblemBuilder::new(Ok(Entry::of::<F>()))
    }

    /// The name of the function.
    pub fn name(&self) -> &'static str {
        self.info.name
    }

    /// Number of coordinates.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// What is known about the function.
    pub fn info(&self) -> &Info {
        &self.info
    }

    /// Where to search: low and high of each coordinate. Shift and rotation do not change it.
    pub fn domain(&self) -> &[(f64, f64)] {
        &self.domain
    }

    /// Whether points outside the function's domain are infeasible.
    pub fn confined(&self) -> bool {
        self.info.confined
    }

    /// The least value.
    pub fn minimum(&self) -> f64 {
        self.minimum
    }

    /// Where the least value is taken; see [`Function::minimisers`]. Those that a shift or rotation moves may lie outside
    /// the domain, except the first.
    pub fn minimisers(&self) -> &[Vec<f64>] {
        &self.minimisers
    }

    /// The rotation, if there is one.
    pub fn rotation(&self) -> Option<&Rotation> {
        self.transform.as_ref().and_then(Transform::rotation)
    }

    /// Name, parameters, shift and rotation in words: `rastrigin (amplitude 2.5), shifted, rotated (seed 3)`.
    pub fn description(&self) -> &str {
        &self.description
    }

    /// The value at one point, by plain double-precision arithmetic: the slow, obvious reference.
    ///
    /// # Panics
    /// If `x` does not have [`dim`](Self::dim) coordinates.
    pub fn value(&self, x: &[f64]) -> f64 {
        assert_eq!(x.len(), self.dim, "{} has {} coordinates", self.name(), self.dim);
        let moved = self.transform.as_ref().map(|t| t.original_of(x));
        let y = moved.as_deref().unwrap_or(x);
        if self.is_outside(y) {
            return f64::INFINITY;
        }
        self.function.value(y)
    }

    /// Writes the gradient at one point to `out`, and returns the value: both by plain double-precision arithmetic, exact up to rounding.
    /// Where the function has a kink or a cusp the slope is that of one side, or zero; outside the domain of a confined function it is zero.
    ///
    /// ```
    /// let sphere = cbo_problems::Problem::named("sphere", 2)?;
    /// let mut slope = [0.0; 2];
    /// assert_eq!((sphere.gradient(&[3.0, 4.0], &mut slope), slope), (25.0, [6.0, 8.0]));
    /// # Ok::<(), cbo_problems::ProblemError>(())
    /// ```
    ///
    /// # Panics
    /// If `x` and `out` do not have [`dim`](Self::dim) coordinates.
    pub fn gradient(&self, x: &[f64], out: &mut [f64]) -> f64 {
        assert!(x.len() == self.dim && out.len() == self.dim, "{} has {} coordinates", self.name(), self.dim);
        let moved = self.transform.as_ref().map(|t| t.original_of(x));
        let y = moved.as_deref().unwrap_or(x);
        if self.is_outside(y) {
            out.fill(0.0);
            return f64::INFINITY;
        }
        let value = self.function.gradient(y, out);
        out.iter_mut().filter(|slope| !slope.is_finite()).for_each(|slope| *slope = 0.0);
        // g(x) = f(x0 + Q (x - x1)) has the gradient Q^T grad f.
        if let Some(rotation) = self.rotation() {
            out.copy_from_slice(&rotation.apply_inverse(out));
        }
        value
    }

    /// Whether a point of the original function lies outside its domain, and that matters.
    fn is_outside(&self, y: &[f64]) -> bool {
        let outside = |(v, (low, high)): (&f64, &(f64, f64))| v < low || v > high;
        self.confined() && y.iter().zip(&self.domain).any(outside)
    }

    /// The constraints that a point has to meet besides lying in the domain, in plain text and before any shift or rotation.
    pub fn constraint_texts(&self) -> &'static [&'static str] {
        self.constraints
    }

    /// The constraints at one point, each met where it is zero or less, by plain double-precision arithmetic.
    ///
    /// # Panics
    /// If `x` does not have [`dim`](Self::dim) coordinates.
    pub fn constraint_values(&self, x: &[f64]) -> Vec<f64> {
        assert_eq!(x.len(), self.dim, "{} has {} coordinates", self.name(), self.dim);
        let moved = self.transform.as_ref().map(|t| t.original_of(x));
        let mut values = vec![0.0; self.constraints.len()];
        self.function.constraints(moved.as_deref().unwrap_or(x), &mut values);
        values
    }

    /// The distance to the nearest minimiser, in the maximum norm.
    ///
    /// For functions with too many minimisers to list (`alpine-1`, `weierstrass`), the nearest one is found before the
    /// rotation, so that the distance of a rotated problem may come out too large, but zero only at a minimiser.
    ///
    /// # Panics
    /// If `x` does not have [`dim`](Self::dim) coordinates.
    pub fn distance_to_minimiser(&self, x: &[f64]) -> f64 {
        assert_eq!(x.len(), self.dim, "{} has {} coordinates", self.name(), self.dim);
        let nearest = match &self.transform {
            Some(t) => t.image_of(&self.function.nearest_minimiser(&t.original_of(x))),
            None => self.function.nearest_minimiser(x),
        };
        // Not f64::max, which would ignore NaN.
        let larger = |a: f64, b: f64| if a > b || a.is_nan() { a } else { b };
        let distance = |m: &Vec<f64>| m.iter().zip(x).fold(0.0, |far, (a, b)| larger(far, (a - b).abs()));
        self.minimisers.iter().map(distance).fold(distance(&nearest), |a, b| if b < a { b } else { a })
    }

    /// The energies of `rows` on a chosen instruction set (for tests and benchmarks).
    ///
    /// # Panics
    /// If the rows do not have [`dim`](Self::dim) coordinates, or `out` is not as long as there are rows.
    pub fn energies_on<T: Precision>(&self, set: InstructionSet, rows: Rows<'_, T>, out: &mut [T]) {
        assert!(
            rows.dim() == self.dim && rows.len() == out.len(),
            "rows must have {} coordinates, with an energy for each row",
            self.dim
        );
        self.evaluate(Some(set), rows, out, &mut []);
    }

    /// The energies of `rows` and their constraints, one row after the other, on a chosen instruction set (for tests and benchmarks).
    ///
    /// # Panics
    /// If the rows do not have [`dim`](Self::dim) coordinates, or if there is no room for an energy and the constraints of each row.
    pub fn constrained_energies_on<T: Precision>(
        &self,
        set: InstructionSet,
        rows: Rows<'_, T>,
        out: &mut [T],
        constraints: &mut [T],
    ) {
        assert!(
            rows.dim() == self.dim
                && rows.len() == out.len()
                && constraints.len() == out.len() * self.constraints.len(),
            "rows must have {} coordinates, with an energy and {} constraints for each row",
            self.dim,
            self.constraints.len()
        );
        self.evaluate(Some(set), rows, out, constraints);
    }

    /// Energies and, if there is room for them, constraints.
    fn evaluate<T: Precision>(
        &self,
        set: Option<InstructionSet>,
        rows: Rows<'_, T>,
        out: &mut [T],
        constraints: &mut [T],
    ) {
        let (function, bounds) = (&*self.function, &self.domain[..]);
        match &self.transform {
            None => T::energies(function, Batch { rows, out, constraints, bounds, set, abreast: false }),
            Some(transform) => T::tables(transform).map_blocks(rows, set, |first, rows| {
                let (out, count) = (&mut out[first..first + rows.len()], constraints.len().min(self.constraints.len()));
                let constraints = &mut constraints[first * count..(first + rows.len()) * count];
                T::energies(function, Batch { rows, out, constraints, bounds, set, abreast: false });
            }),
        }
    }

    /// Refuses points, or room for their energies, that do not fit.
    fn check<T>(&self, rows: Rows<'_, T>, out: &[T]) -> Result<(), EvalError> {
        if rows.dim() != self.dim {
            let message = format!("{} has {} coordinates, the points have {}", self.name(), self.dim, rows.dim());
            return Err(EvalError::new(message));
        }
        if rows.len() != out.len() {
            return Err(EvalError::new(format!("{} points, but room for {} energies", rows.len(), out.len())));
        }
        Ok(())
    }
}

/// On SIMD lanes, in single and in double precision.
impl<T: Precision> Objective<T> for Problem {
    fn dim(&self) -> usize {
        self.dim
    }

    fn energies(&self, _at: StepContext, rows: Rows<'_, T>, out: &mut [T]) -> Result<(), EvalError> {
        self.check(rows, out)?;
        self.evaluate(None, rows, out, &mut []);
        Ok(())
    }

    fn constraints(&self) -> usize {
        self.constraints.len()
    }

    fn energies_and_constraints(
        &self,
        _at: StepContext,
        rows: Rows<'_, T>,
        energies: &mut [T],
        constraints: &mut [T],
    ) -> Result<(), EvalError> {
        self.check(rows, energies)?;
        self.evaluate(None, rows, energies, constraints);
        Ok(())
    }

    fn trace(&self) -> Option<EnergyTrace> {
        let tables = self.transform.as_ref().map(T::tables);
        let original = |x: &[Traced]| tables.map_or_else(|| x.to_vec(), |tables| tables.trace(x));
        let energy = |y: &[Traced]| {
            let energy = self.function.trace(y);
            if self.confined() { infinite_outside(energy, y, &self.domain) } else { energy }
        };
        let vanishing = || Vanishing {
            when: Trace::of(self.dim, |x| nearly_zero_of(&original(x), small::<T>())),
            then: Trace::of(self.dim, |x| {
                let mut y = original(x);
                vanish(&mut y, Traced::constant(small::<T>()));
                energy(&y)
            }),
            rows: tables.map(|_| Tables::<T>::block_rows(self.dim)),
        };
        Some(EnergyTrace {
            operations: Trace::of(self.dim, |x| energy(&original(x))),
            vanishing: self.function.is_flat_at_zero().then(vanishing),
        })
    }

    fn abreast(&self) -> Option<&dyn Abreast<T>> {
        (self.rotation().is_none() && self.constraints.is_empty()).then_some(self)
    }

    fn has_gradients(&self) -> bool {
        true
    }

    fn gradients(&self, _at: StepContext, rows: Rows<'_, T>, out: &mut [T]) -> Result<(), EvalError> {
        let (mut x, mut slope) = (vec![0.0; self.dim], vec![0.0; self.dim]);
        for (row, out) in rows.iter().zip(out.chunks_exact_mut(self.dim)) {
            x.iter_mut().zip(row).for_each(|(x, v)| *x = v.to_f64());
            self.gradient(&x, &mut slope);
            out.iter_mut().zip(&slope).for_each(|(out, s)| *out = T::from_f64(*s));
        }
        Ok(())
    }
}

impl fmt::Debug for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Problem")
            .field("description", &self.description)
            .field("dim", &self.dim)
            .finish_non_exhaustive()
    }
}

impl<T: Precision> Abreast<T> for Problem {
    fn identity(&self) -> (TypeId, &str) {
        (self.function.kind(), &self.original)
    }

    fn moved(&self) -> Option<[&[T]; 2]> {
        self.transform.as_ref().map(|transform| T::tables(transform).shift())
    }

    fn points_per_call(&self) -> Option<usize> {
        self.transform.as_ref().map(|_| Tables::<T>::block_rows(self.dim))
    }

    fn energies(&self, points: &[T], energies: &mut [T]) {
        let (rows, bounds) = (Rows::new(points, self.dim), &self.domain[..]);
        let batch = Batch { rows, out: energies, constraints: &mut [], bounds, set: None, abreast: true };
        T::energies(&*self.function, batch);
    }
}
