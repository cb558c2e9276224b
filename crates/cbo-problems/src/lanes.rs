//! A function on SIMD lanes: eight (or sixteen) points at a time, one in each lane.

use crate::function::Function;
use crate::gradient::gradient;
use crate::transform::{Tables, Transform};
use cbo::simd::{self, InstructionSet, Kernel, Real, Traced, Vector};
use cbo::{Rows, Scalar};
use std::any::TypeId;

/// Up to this many coordinates are held on the stack.
pub(crate) const STACK_DIM: usize = 32;

/// Up to this many in less room, which takes less time to clear: small swarms notice.
const SMALL_DIM: usize = 16;

/// Rows of so many coordinates are evaluated without leaving the registers.
const SHORT: usize = 4;

/// Up to this many constraints are held on the stack, too.
const STACK_CONSTRAINTS: usize = 16;

/// No vector has more lanes.
const MOST_LANES: usize = 16;

/// Points to be evaluated, and where their energies go.
pub struct Batch<'a, T> {
    pub(crate) rows: Rows<'a, T>,
    pub(crate) out: &'a mut [T],
    /// Where their constraints go, one row after the other; empty if nobody wants them.
    pub(crate) constraints: &'a mut [T],
    /// Low and high of each coordinate if points outside are infeasible, else empty.
    pub(crate) bounds: &'a [(f64, f64)],
    /// The instruction set to use; the best one if none is named.
    pub(crate) set: Option<InstructionSet>,
    /// Whether the points lie [abreast](cbo::device::Abreast), which makes their coordinates vectors as they are.
    pub(crate) abreast: bool,
}

/// A [`Function`] behind a pointer.
pub trait Evaluate: Send + Sync {
    /// The type of the function.
    fn kind(&self) -> TypeId;
    fn minimum(&self, dim: usize) -> f64;
    fn minimisers(&self, dim: usize) -> Vec<Vec<f64>>;
    fn nearest_minimiser(&self, x: &[f64]) -> Vec<f64>;
    fn value(&self, x: &[f64]) -> f64;
    fn gradient(&self, x: &[f64], out: &mut [f64]) -> f64;
    fn constraints(&self, x: &[f64], g: &mut [f64]);
    fn trace(&self, x: &[Traced]) -> Traced;
    fn is_flat_at_zero(&self) -> bool;
    fn energies_f64(&self, batch: Batch<'_, f64>);
    fn energies_f32(&self, batch: Batch<'_, f32>);
}

impl<F: Function> Evaluate for F {
    fn kind(&self) -> TypeId {
        TypeId::of::<F>()
    }
    fn minimum(&self, dim: usize) -> f64 {
        Function::minimum(self, dim)
    }
    fn minimisers(&self, dim: usize) -> Vec<Vec<f64>> {
        Function::minimisers(self, dim)
    }
    fn nearest_minimiser(&self, x: &[f64]) -> Vec<f64> {
        Function::nearest_minimiser(self, x)
    }
    fn value(&self, x: &[f64]) -> f64 {
        Function::value(self, x)
    }
    fn gradient(&self, x: &[f64], out: &mut [f64]) -> f64 {
        gradient(self, x, out)
    }
    fn constraints(&self, x: &[f64], g: &mut [f64]) {
        Function::constraints(self, x, g);
    }
    fn trace(&self, x: &[Traced]) -> Traced {
        Function::value(self, x)
    }
    fn is_flat_at_zero(&self) -> bool {
        F::FLAT_AT_ZERO
    }
    fn energies_f64(&self, batch: Batch<'_, f64>) {
        run(batch.set, Lanes { function: self, batch });
    }
    fn energies_f32(&self, batch: Batch<'_, f32>) {
        run(batch.set, Lanes { function: self, batch });
    }
}

/// The two precisions, each with its own entry into [`Evaluate`] and its own tables.
///
/// Public only because [`Problem`](crate::Problem) is an objective in both; nothing outside can name it.
pub trait Precision: Scalar {
    fn energies(function: &dyn Evaluate, batch: Batch<'_, Self>);
    fn tables(transform: &Transform) -> &Tables<Self>;
}

impl Precision for f64 {
    fn energies(function: &dyn Evaluate, batch: Batch<'_, Self>) {
        function.energies_f64(batch);
    }
    fn tables(transform: &Transform) -> &Tables<Self> {
        &transform.double
    }
}

impl Precision for f32 {
    fn energies(function: &dyn Evaluate, batch: Batch<'_, Self>) {
        function.energies_f32(batch);
    }
    fn tables(transform: &Transform) -> &Tables<Self> {
        &transform.single
    }
}

/// Runs a kernel on a chosen instruction set or on the best.
pub(crate) fn run<T: Scalar, K: Kernel<T>>(set: Option<InstructionSet>, kernel: K) -> K::Output {
    match set {
        None => simd::run(kernel),
        Some(set) => simd::run_on(set, kernel),
    }
}

struct Lanes<'a, F, T> {
    function: &'a F,
    batch: Batch<'a, T>,
}

impl<F: Function, T: Scalar> Kernel<T> for Lanes<'_, F, T> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector<Scalar = T>>(self) {
        let Batch { rows, out, constraints, bounds, abreast, .. } = self.batch;
        let (dim, count) = (rows.dim(), F::CONSTRAINTS.len());
        let padded = dim.div_ceil(V::LANES) * V::LANES;
        let mut small = V::constant(small::<T>());
        let vanishing =
            F::FLAT_AT_ZERO && if abreast { nearly_zero_abreast(rows, &mut small) } else { nearly_zero(rows) };
        if dim == SHORT && rows.len() >= V::LANES && constraints.is_empty() {
            for first in groups(rows.len(), V::LANES) {
                let (mut x, values) = ([V::constant(0.0); MOST_LANES], &rows.as_slice()[first * SHORT..]);
                if abreast {
                    load_columns(values, &mut x[..SHORT]);
                } else {
                    V::load_transposed(values, SHORT, SHORT, &mut x);
                }
                let mut x: [V; SHORT] = std::array::from_fn(|k| x[k]);
                energy(self.function, &mut x, vanishing.then_some(small), bounds).store(&mut out[first..]);
            }
            return;
        }
        let (mut few, mut stack, mut heap): ([V; SMALL_DIM], [V; STACK_DIM], Vec<V>);
        let x = if padded <= SMALL_DIM {
            few = [V::constant(0.0); SMALL_DIM];
            &mut few[..padded]
        } else if padded <= STACK_DIM {
            stack = [V::constant(0.0); STACK_DIM];
            &mut stack[..padded]
        } else {
            heap = vec![V::constant(0.0); padded];
            &mut heap[..]
        };
        let mut g = [V::constant(0.0); STACK_CONSTRAINTS];
        let mut more_g = Vec::new();
        let g = if count <= STACK_CONSTRAINTS {
            &mut g[..count]
        } else {
            more_g.resize(count, V::constant(0.0));
            &mut more_g[..]
        };
        for first in groups(rows.len(), V::LANES) {
            if abreast {
                load_columns(&rows.as_slice()[first * dim..], &mut x[..dim]);
            } else {
                transpose_group(rows, first, x);
            }
            energy(self.function, &mut x[..dim], vanishing.then_some(small), bounds).store_partial(&mut out[first..]);
            if !constraints.is_empty() {
                self.function.constraints(&x[..dim], g);
                let last = rows.len().min(first + V::LANES);
                scatter(g, &mut constraints[first * count..last * count]);
            }
        }
    }
}

/// Reads vectors that lie one after the other.
#[inline(always)]
fn load_columns<V: Vector>(values: &[V::Scalar], x: &mut [V]) {
    for (x, column) in x.iter_mut().zip(values.chunks_exact(V::LANES)) {
        *x = V::load(column);
    }
}

/// The energies of the points in the lanes of `x`, with zero for coordinates below some size.
#[inline(always)]
fn energy<V: Vector, F: Function>(function: &F, x: &mut [V], vanishing: Option<V>, bounds: &[(f64, f64)]) -> V {
    if let Some(small) = vanishing {
        vanish(x, small);
    }
    let energy = function.value(x);
    if F::INFO.confined { infinite_outside(energy, x, bounds) } else { energy }
}

/// Writes lane i of each vector to row i.
#[inline(always)]
fn scatter<V: Vector>(columns: &[V], rows: &mut [V::Scalar]) {
    let mut lanes = [V::Scalar::default(); MOST_LANES];
    for (j, column) in columns.iter().enumerate() {
        column.store_partial(&mut lanes[..V::LANES]);
        for (row, value) in rows.chunks_exact_mut(columns.len()).zip(lanes) {
            row[j] = value;
        }
    }
}

/// The first rows of the groups. Where rows do not fill the last one, it reaches back: what is evaluated twice has the same bits.
#[inline(always)]
pub(crate) fn groups(rows: usize, lanes: usize) -> impl Iterator<Item = usize> {
    (0..rows.div_ceil(lanes)).map(move |group| (group * lanes).min(rows.saturating_sub(lanes)))
}

/// Puts coordinate k of the rows from `first` on into the lanes of `x[k]`. Lanes beyond the last row repeat it.
#[inline(always)]
pub(crate) fn transpose_group<V: Vector>(rows: Rows<'_, V::Scalar>, first: usize, x: &mut [V]) {
    let (values, dim) = (rows.as_slice(), rows.dim());
    let full = rows.len() - first >= V::LANES;
    for (block, square) in x.chunks_exact_mut(V::LANES).enumerate() {
        let column = block * V::LANES;
        let width = V::LANES.min(dim - column);
        if full {
            V::load_transposed(&values[first * dim + column..], dim, width, square);
            continue;
        }
        for (lane, coordinates) in square.iter_mut().enumerate() {
            let start = (first + lane).min(rows.len() - 1) * dim + column;
            *coordinates = V::load_partial(&values[start..start + width]);
        }
        V::transpose(square);
    }
}

/// Whether the first row, and with it probably all, has coordinates whose squares are negligible.
fn nearly_zero<T: Scalar>(rows: Rows<'_, T>) -> bool {
    let small = small::<T>();
    !rows.is_empty() && rows.row(0).iter().any(|x| *x != T::default() && x.to_f64().abs() < small)
}

/// The same of points abreast, each lane of which is a call of its own: zero in the lanes of `small` for which it is not so.
#[inline(always)]
fn nearly_zero_abreast<V: Vector>(rows: Rows<'_, V::Scalar>, small: &mut V) -> bool {
    let (zero, one, mut found) = (V::constant(0.0), V::constant(1.0), V::constant(0.0));
    for column in rows.as_slice()[..rows.dim() * V::LANES].chunks_exact(V::LANES) {
        let size = V::load(column).abs();
        found = zero.select_less(size, size.select_less(*small, one, found), found);
    }
    *small = zero.select_less(found, *small, zero);
    !found.all_less(one)
}

/// The same of one row as a formula: 1 if it is so, else 0.
pub(crate) fn nearly_zero_of<R: Real>(x: &[R], small: f64) -> R {
    let (small, zero, one) = (R::constant(small), R::constant(0.0), R::constant(1.0));
    let mut found = zero;
    for v in x {
        found = zero.select_less(v.abs(), v.abs().select_less(small, one, found), found);
    }
    found
}

/// Squares of numbers below this are, or soon will be, subnormal.
pub(crate) fn small<T: Scalar>() -> f64 {
    if T::NAME == "f64" { 1e-153 } else { 1e-18 }
}

/// Zero for coordinates whose squares are negligible.
#[inline(always)]
pub(crate) fn vanish<R: Real>(x: &mut [R], small: R) {
    let zero = R::constant(0.0);
    for v in x {
        *v = v.abs().select_less(small, zero, *v);
    }
}

/// `energy`, but infinity for points outside the bounds.
#[inline(always)]
pub(crate) fn infinite_outside<V: Real>(energy: V, x: &[V], bounds: &[(f64, f64)]) -> V {
    let (zero, one) = (V::constant(0.0), V::constant(1.0));
    let mut outside = zero;
    for (&v, &(low, high)) in x.iter().zip(bounds) {
        outside = v.select_less(V::constant(low), one, outside);
        outside = V::constant(high).select_less(v, one, outside);
    }
    zero.select_less(outside, V::constant(f64::INFINITY), energy)
}
