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

/// Rows that are rotated together share each load of the matrix: so many in few dimensions,
const TOGETHER: usize = 8;
/// and so many in others, where the matrix is in no fast memory.
const MANY: usize = 64;

/// Coordinates of the original problem whose part of the matrix lies together.
const PANEL: usize = 32;

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

/// A transform in the precision and layout of the kernel.
#[derive(Clone, Debug)]
pub struct Tables<T> {
    original: Vec<T>,
    moved: Vec<T>,
    /// The rotation in panels of [`PANEL`] rows, one after the other, each column by column, with zeros for rows that are not there;
    /// empty without a rotation.
    panels: Vec<T>,
}

impl<T: Scalar> Tables<T> {
    fn new(original: &[f64], moved: &[f64], rotation: Option<&Rotation>) -> Self {
        let dim = original.len();
        let rounded = |values: &[f64]| values.iter().map(|v| T::from_f64(*v)).collect();
        let entry = |r: &Rotation, i: usize, j: usize| if i < dim { T::from_f64(r.row(i)[j]) } else { T::default() };
        let mut panels = Vec::new();
        if let Some(r) = rotation {
            for first in (0..dim).step_by(PANEL) {
                (0..dim).for_each(|j| panels.extend((first..first + PANEL).map(|i| entry(r, i, j))));
            }
        }
        Self { original: rounded(original), moved: rounded(moved), panels }
    }

    /// What is taken from a point and what is then added to it, if it is not rotated in between.
    pub(crate) fn shift(&self) -> [&[T]; 2] {
        [&self.moved, &self.original]
    }

    /// Rows of a block of [`map_blocks`](Self::map_blocks).
    pub(crate) fn block_rows(dim: usize) -> usize {
        if dim <= STACK_DIM { 16 * STACK_DIM / dim / 16 * 16 } else { MANY }
    }

    /// The point of the original problem, by the operations of the kernel.
    pub(crate) fn trace(&self, x: &[Traced]) -> Vec<Traced> {
        let dim = x.len();
        let number = |value: &T| Traced::constant(value.to_f64());
        let from_minimiser: Vec<Traced> = x.iter().zip(&self.moved).map(|(&x, moved)| x - number(moved)).collect();
        if self.panels.is_empty() {
            return from_minimiser.iter().zip(&self.original).map(|(&z, original)| z + number(original)).collect();
        }
        let row = |(i, original): (usize, &T)| {
            let terms = self.panels[i / PANEL * PANEL * dim..].chunks_exact(PANEL).zip(&from_minimiser);
            terms.fold(number(original), |sum, (column, &z)| number(&column[i % PANEL]).mul_add(z, sum))
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
        let mut stack = [T::default(); (16 + TOGETHER) * STACK_DIM];
        let mut heap = Vec::new();
        let (scratch, together) = if dim <= STACK_DIM {
            (&mut stack[..], TOGETHER)
        } else {
            heap.resize(2 * MANY * dim, T::default());
            (&mut heap[..], MANY)
        };
        let (differences, mapped) = scratch.split_at_mut(together * dim);
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
        let Tables { original, moved, panels } = self.tables;
        let dim = original.len();
        let several = self.differences.len();
        for (from, to) in self.from.chunks(several).zip(self.to.chunks_mut(several)) {
            let differences = &mut self.differences[..from.len()];
            for (x, z) in from.chunks_exact(dim).zip(differences.chunks_exact_mut(dim)) {
                subtract::<V>(x, moved, z);
            }
            if panels.is_empty() {
                for (z, y) in differences.chunks_exact(dim).zip(to.chunks_exact_mut(dim)) {
                    add::<V>(z, original, y);
                }
            }
            for (panel, first) in panels.chunks_exact(PANEL * dim).zip((0..dim).step_by(PANEL)) {
                // As many sums as fit the registers.
                if V::REGISTERS >= 32 {
                    rotate::<V, 8>(differences, panel, first, original, to);
                } else {
                    rotate::<V, 4>(differences, panel, first, original, to);
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

/// y = original + Q z for all rows, `N` of them at a time, in the coordinates of a panel, of which `first` is the first. A row's sums are
/// in the same order whatever `N` is.
#[inline(always)]
fn rotate<V: Vector, const N: usize>(
    z: &[V::Scalar],
    panel: &[V::Scalar],
    first: usize,
    original: &[V::Scalar],
    y: &mut [V::Scalar],
) {
    let dim = original.len();
    let end = dim.min(first + PANEL);
    let mut c = first;
    while c < end {
        let wide = c + V::LANES < end;
        let at = c - first;
        for (z, y) in z.chunks(N * dim).zip(y.chunks_mut(N * dim)) {
            if z.len() < N * dim {
                for (z, y) in z.chunks_exact(dim).zip(y.chunks_exact_mut(dim)) {
                    if wide {
                        rotate_tile::<V, 1, 2>(z, (panel, at), &original[c..], c, y);
                    } else {
                        rotate_tile::<V, 1, 1>(z, (panel, at), &original[c..], c, y);
                    }
                }
            } else if wide {
                rotate_tile::<V, N, 2>(z, (panel, at), &original[c..], c, y);
            } else {
                rotate_tile::<V, N, 1>(z, (panel, at), &original[c..], c, y);
            }
        }
        c += if wide { 2 * V::LANES } else { V::LANES };
    }
}

/// The same for `N` rows and `W` vectors, from coordinate `c` on, which is number `at` of the panel.
#[inline(always)]
fn rotate_tile<V: Vector, const N: usize, const W: usize>(
    z: &[V::Scalar],
    (panel, at): (&[V::Scalar], usize),
    original: &[V::Scalar],
    c: usize,
    y: &mut [V::Scalar],
) {
    let dim = z.len() / N;
    let mut rows = [&z[..dim]; N];
    for n in 1..N {
        rows[n] = &z[n * dim..(n + 1) * dim];
    }
    let mut sums = [[V::splat(V::Scalar::default()); W]; N];
    for w in 0..W {
        let start = V::load_partial(&original[w * V::LANES..]);
        sums.iter_mut().for_each(|sums| sums[w] = start);
    }
    for j in 0..dim {
        let column = &panel[j * PANEL + at..][..W * V::LANES];
        let mut entries = [sums[0][0]; W];
        for w in 0..W {
            entries[w] = V::load(&column[w * V::LANES..(w + 1) * V::LANES]);
        }
        for n in 0..N {
            let z = V::splat(rows[n][j]);
            for w in 0..W {
                sums[n][w] = entries[w].mul_add(z, sums[n][w]);
            }
        }
    }
    for n in 0..N {
        for w in 0..W {
            sums[n][w].store_partial(&mut y[n * dim + c + w * V::LANES..(n + 1) * dim]);
        }
    }
}
