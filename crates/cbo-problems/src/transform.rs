//! Shifts and rotations: where a point of the transformed problem lies in the original one.
//!
//! With x0 the first minimiser of the function f, its shifted and rotated form is
//!
//! ```text
//! g(x) = f(x0 + Q (x - x0 - shift))
//! ```
//!
//! so that the first minimiser moves to x0 + shift, whatever the rotation Q.

use crate::error::ProblemError;
use crate::function::Info;
use crate::lanes::{STACK_DIM, run};
use crate::rotation::Rotation;
use cbo::noise::{Noise, Stream};
use cbo::simd::{InstructionSet, Kernel, Real, Traced, Vector};
use cbo::{Rows, Scalar};

/// The step of the noise that random shifts use; rotations use another.
const STEP: u64 = 0;

/// Rows that are rotated together, sharing each load of the matrix.
const TOGETHER: usize = 4;

/// Where the minimiser moves.
#[derive(Clone, Debug, PartialEq)]
pub enum Shift {
    /// By the same amount in every coordinate.
    All(f64),
    /// By an amount of its own in each coordinate.
    Each(Vec<f64>),
    /// To a random point, uniform in the central 80 % of the domain, that belongs to this seed.
    Random(u64),
}

impl From<f64> for Shift {
    fn from(amount: f64) -> Self {
        Self::All(amount)
    }
}

impl From<Vec<f64>> for Shift {
    fn from(amounts: Vec<f64>) -> Self {
        Self::Each(amounts)
    }
}

impl From<&[f64]> for Shift {
    fn from(amounts: &[f64]) -> Self {
        Self::Each(amounts.to_vec())
    }
}

impl Shift {
    /// The place to which the minimiser `from` moves.
    pub(crate) fn target(&self, info: &Info, from: &[f64]) -> Result<Vec<f64>, ProblemError> {
        let dim = from.len();
        let domain = info.domain_in(dim);
        let amounts = match self {
            Self::All(amount) => vec![*amount; dim],
            Self::Each(amounts) if amounts.len() == dim => amounts.clone(),
            Self::Each(amounts) => {
                return Err(ProblemError::ShiftLength { function: info.name, length: amounts.len(), dim });
            }
            Self::Random(seed) => {
                let noise = Noise::new(*seed, Stream::Problem, STEP);
                let place = |(k, (low, high)): (usize, &(f64, f64))| {
                    low + (0.1 + 0.8 * noise.uniforms(0, k as u32 / 4)[k % 4]) * (high - low)
                };
                return Ok(domain.iter().enumerate().map(place).collect());
            }
        };
        for (coordinate, &value) in amounts.iter().enumerate() {
            let (low, high) = domain[coordinate];
            let (least, most) = (low - from[coordinate], high - from[coordinate]);
            if !value.is_finite() {
                return Err(ProblemError::ShiftNotFinite { coordinate, value });
            }
            if info.confined && !(least..=most).contains(&value) {
                return Err(ProblemError::ShiftLeavesDomain { function: info.name, coordinate, value, least, most });
            }
        }
        Ok(from.iter().zip(&amounts).map(|(x, s)| x + s).collect())
    }

    /// A few words for the description of the problem.
    pub(crate) fn words(&self) -> String {
        match self {
            Self::All(amount) => format!("shifted by {amount}"),
            Self::Each(_) => "shifted".into(),
            Self::Random(seed) => format!("shifted (seed {seed})"),
        }
    }
}

/// The map from the transformed problem to the original one.
#[derive(Clone, Debug)]
pub struct Transform {
    /// x0, the first minimiser of the original.
    original: Vec<f64>,
    /// x0 + shift, the first minimiser of the transformed problem.
    moved: Vec<f64>,
    rotation: Option<Rotation>,
    pub(crate) double: Tables<f64>,
    pub(crate) single: Tables<f32>,
}

impl Transform {
    pub(crate) fn new(original: Vec<f64>, moved: Vec<f64>, rotation: Option<Rotation>) -> Self {
        let double = Tables::new(&original, &moved, rotation.as_ref());
        let single = Tables::new(&original, &moved, rotation.as_ref());
        Self { original, moved, rotation, double, single }
    }

    /// The point of the original problem for a point of the transformed one.
    pub(crate) fn original_of(&self, x: &[f64]) -> Vec<f64> {
        let from_minimiser: Vec<f64> = x.iter().zip(&self.moved).map(|(a, b)| a - b).collect();
        let turned = match &self.rotation {
            Some(rotation) => rotation.apply(&from_minimiser),
            None => from_minimiser,
        };
        turned.iter().zip(&self.original).map(|(a, b)| b + a).collect()
    }

    /// The inverse of [`original_of`](Self::original_of).
    pub(crate) fn image_of(&self, y: &[f64]) -> Vec<f64> {
        let from_minimiser: Vec<f64> = y.iter().zip(&self.original).map(|(a, b)| a - b).collect();
        let turned = match &self.rotation {
            Some(rotation) => rotation.apply_inverse(&from_minimiser),
            None => from_minimiser,
        };
        turned.iter().zip(&self.moved).map(|(a, b)| b + a).collect()
    }

    /// The matrix, if there is a rotation.
    pub(crate) fn rotation(&self) -> Option<&Rotation> {
        self.rotation.as_ref()
    }
}

/// `dim` rounded up to whole vectors of either precision.
fn stride(dim: usize) -> usize {
    dim.div_ceil(16) * 16
}

/// A transform in the precision and layout of the kernel.
#[derive(Clone, Debug)]
pub struct Tables<T> {
    original: Vec<T>,
    moved: Vec<T>,
    /// The columns of the rotation, one after the other, each padded with zeros to whole vectors; empty without a
    /// rotation.
    columns: Vec<T>,
}

impl<T: Scalar> Tables<T> {
    fn new(original: &[f64], moved: &[f64], rotation: Option<&Rotation>) -> Self {
        let dim = original.len();
        let rounded = |values: &[f64]| values.iter().map(|v| T::from_f64(*v)).collect();
        let entry = |r: &Rotation, i: usize, j: usize| if i < dim { T::from_f64(r.row(i)[j]) } else { T::default() };
        let mut columns = Vec::new();
        if let Some(r) = rotation {
            for j in 0..dim {
                columns.extend((0..stride(dim)).map(|i| entry(r, i, j)));
            }
        }
        Self { original: rounded(original), moved: rounded(moved), columns }
    }

    /// Rows of a block of [`map_blocks`](Self::map_blocks).
    pub(crate) fn block_rows(dim: usize) -> usize {
        if dim <= STACK_DIM { 16 * STACK_DIM / dim / 16 * 16 } else { 16 }
    }

    /// The point of the original problem, by the operations of the kernel.
    pub(crate) fn trace(&self, x: &[Traced]) -> Vec<Traced> {
        let dim = x.len();
        let number = |value: &T| Traced::constant(value.to_f64());
        let from_minimiser: Vec<Traced> = x.iter().zip(&self.moved).map(|(&x, moved)| x - number(moved)).collect();
        if self.columns.is_empty() {
            return from_minimiser.iter().zip(&self.original).map(|(&z, original)| z + number(original)).collect();
        }
        let row = |(i, original): (usize, &T)| {
            let terms = self.columns.chunks_exact(stride(dim)).zip(&from_minimiser);
            terms.fold(number(original), |sum, (column, &z)| number(&column[i]).mul_add(z, sum))
        };
        self.original.iter().enumerate().map(row).collect()
    }

    /// Maps `rows` to the original problem, block by block, and hands each block of rows with the place of its first
    /// one to `next`.
    pub(crate) fn map_blocks(
        &self,
        rows: Rows<'_, T>,
        set: Option<InstructionSet>,
        mut next: impl FnMut(usize, Rows<'_, T>),
    ) {
        let dim = rows.dim();
        let mut stack = [T::default(); 16 * STACK_DIM + TOGETHER * STACK_DIM];
        let mut heap = Vec::new();
        let scratch = if dim <= STACK_DIM {
            &mut stack[..]
        } else {
            heap.resize((16 + TOGETHER) * dim, T::default());
            &mut heap[..]
        };
        let (differences, mapped) = scratch.split_at_mut(TOGETHER * dim);
        // Whole groups of lanes for the evaluation that follows.
        let block = Self::block_rows(dim);
        for (index, part) in rows.as_slice().chunks(block * dim).enumerate() {
            let mapped = &mut mapped[..part.len()];
            run(set, Map { tables: self, from: part, differences, to: mapped });
            next(index * block, Rows::new(mapped, dim));
        }
    }
}

struct Map<'a, T> {
    tables: &'a Tables<T>,
    from: &'a [T],
    differences: &'a mut [T],
    to: &'a mut [T],
}

impl<T: Scalar> Kernel<T> for Map<'_, T> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector<Scalar = T>>(self) {
        let Tables { original, moved, columns } = self.tables;
        let dim = original.len();
        let several = TOGETHER * dim;
        for (from, to) in self.from.chunks(several).zip(self.to.chunks_mut(several)) {
            let rotated = !columns.is_empty();
            let differences = &mut self.differences[..from.len()];
            for (x, z) in from.chunks_exact(dim).zip(differences.chunks_exact_mut(dim)) {
                subtract::<V>(x, moved, z);
            }
            if !rotated {
                for (z, y) in differences.chunks_exact(dim).zip(to.chunks_exact_mut(dim)) {
                    add::<V>(z, original, y);
                }
            } else if from.len() == several {
                rotate::<V, TOGETHER>(differences, columns, original, to);
            } else {
                for (z, y) in differences.chunks_exact(dim).zip(to.chunks_exact_mut(dim)) {
                    rotate::<V, 1>(z, columns, original, y);
                }
            }
        }
    }
}

#[inline(always)]
fn subtract<V: Vector>(x: &[V::Scalar], moved: &[V::Scalar], z: &mut [V::Scalar]) {
    for c in (0..x.len()).step_by(V::LANES) {
        (V::load_partial(&x[c..]) - V::load_partial(&moved[c..])).store_partial(&mut z[c..]);
    }
}

#[inline(always)]
fn add<V: Vector>(z: &[V::Scalar], original: &[V::Scalar], y: &mut [V::Scalar]) {
    for c in (0..z.len()).step_by(V::LANES) {
        (V::load_partial(&z[c..]) + V::load_partial(&original[c..])).store_partial(&mut y[c..]);
    }
}

/// y = original + Q z for `N` rows, a row's sums in the same order whatever `N` is.
#[inline(always)]
fn rotate<V: Vector, const N: usize>(
    z: &[V::Scalar],
    columns: &[V::Scalar],
    original: &[V::Scalar],
    y: &mut [V::Scalar],
) {
    let dim = original.len();
    let mut rows = [&z[..dim]; N];
    for n in 1..N {
        rows[n] = &z[n * dim..(n + 1) * dim];
    }
    for c in (0..dim).step_by(V::LANES) {
        let mut sums = [V::load_partial(&original[c..]); N];
        for (j, column) in columns.chunks_exact(stride(dim)).enumerate() {
            let column = V::load(&column[c..c + V::LANES]);
            for n in 0..N {
                sums[n] = column.mul_add(V::splat(rows[n][j]), sums[n]);
            }
        }
        for n in 0..N {
            sums[n].store_partial(&mut y[n * dim + c..(n + 1) * dim]);
        }
    }
}
