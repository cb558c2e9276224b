//! Gradients by central differences, for objectives that have none.

use crate::initial::InitialLaw;
use crate::objective::{EvalError, Grouping, Objective, Rows, StepContext};
use crate::simd::Scalar;

/// Numbers in the points of one call, at most.
const TOGETHER: usize = 1 << 20;

/// `(E(x + h e_k) - E(x - h e_k)) / 2h` for each coordinate k.
pub(crate) struct Differences {
    /// Lengths below which coordinates are taken to be zero: h is a small part of these, or of the coordinate.
    scales: Vec<f64>,
}

impl Differences {
    /// Lengths that fit particles which start like this.
    pub fn of(init: &InitialLaw, dim: usize) -> Self {
        Self { scales: init.deviations(dim) }
    }

    /// Evaluations that the gradients at this many points take.
    pub fn evaluations(points: usize, dim: usize) -> u64 {
        2 * points as u64 * dim as u64
    }

    /// Writes the gradients at `rows` to `out`.
    pub fn gradients<T: Scalar>(
        &self,
        at: StepContext,
        objective: &dyn Objective<T>,
        rows: &[T],
        out: &mut [T],
    ) -> Result<(), EvalError> {
        let dim = self.scales.len();
        let points = match objective.grouping() {
            Grouping::Together => (TOGETHER / (2 * dim * dim)).max(1),
            _ => 1,
        };
        let mut moved = Vec::new();
        let mut energies = Vec::new();
        for (first, (rows, out)) in rows.chunks(points * dim).zip(out.chunks_mut(points * dim)).enumerate() {
            let place = |e: EvalError| EvalError { row: Some(first * points), ..e };
            moved.clear();
            rows.chunks_exact(dim).for_each(|row| self.neighbours(row, &mut moved));
            energies.resize(moved.len() / dim, T::default());
            if objective.grouping() == Grouping::Single {
                for (row, energy) in moved.chunks_exact(dim).zip(&mut energies) {
                    objective.energies(at, Rows::new(row, dim), std::slice::from_mut(energy)).map_err(place)?;
                }
            } else {
                objective.energies(at, Rows::new(&moved, dim), &mut energies).map_err(place)?;
            }
            let pairs = energies.chunks_exact(2).zip(moved.chunks_exact(2 * dim)).zip(out).enumerate();
            for (place, ((pair, points), slope)) in pairs {
                let k = place % dim;
                let distance = points[k].to_f64() - points[dim + k].to_f64();
                *slope = T::from_f64((pair[0].to_f64() - pair[1].to_f64()) / distance);
            }
        }
        Ok(())
    }

    /// Appends two points for each coordinate.
    fn neighbours<T: Scalar>(&self, row: &[T], to: &mut Vec<T>) {
        // The third root of the rounding balances it with the error of the formula.
        let relative = if size_of::<T>() == 4 { 5e-3 } else { 6e-6 };
        for (k, scale) in self.scales.iter().enumerate() {
            let x = row[k].to_f64();
            let h = relative * x.abs().max(if *scale > 0.0 { *scale } else { 1.0 });
            for moved in [x + h, x - h] {
                let start = to.len();
                to.extend_from_slice(row);
                to[start + k] = T::from_f64(moved);
            }
        }
    }
}
