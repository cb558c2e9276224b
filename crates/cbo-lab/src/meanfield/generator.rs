//! One implicit Euler step of one coordinate: the generator of a Markov chain on the cells, factored once and solved for
//! many right sides.

use super::grid::Grid;

/// The factors of `1 - dt A` for the generator A of one coordinate.
#[derive(Clone, Debug, Default)]
pub(crate) struct Generator {
    /// What cell i passes on to the right side of cell i + 1.
    forward: Vec<f64>,
    /// What the solution in cell i + 1 gives back to cell i.
    backward: Vec<f64>,
    /// One over the pivots.
    inverse: Vec<f64>,
}

impl Generator {
    /// A step of this strength, `sigma^2 dt/2` to first order, with the consensus point at `y_a`.
    ///
    /// The flux through the face between the cells i and i + 1, counted leftwards, is
    /// `strength [ (D_{i+1} g_{i+1} - D_i g_i)/h + (y_i g_i h_-/h + y_{i+1} g_{i+1} h_+/h)/2 ]` with `D = (y - y_a)^2`, where h,
    /// h_- and h_+ are the distances of the nodes at this face and at its neighbours to the left and to the right. The
    /// unequal weights of the mean make the first and the second moment of the grid follow their equations exactly.
    ///
    /// Where D is too small to outweigh the drift, as much of the drift as needed is taken from the donor's side: then all
    /// rates are non-negative and every column sums to zero, which makes the step positive and conservative.
    pub fn new(grid: &Grid, y_a: f64, strength: f64) -> Self {
        let (y, cells) = (&grid.nodes, grid.len());
        let gap = |i: usize| y[i + 1] - y[i];
        let square = |i: usize| (y[i] - y_a) * (y[i] - y_a);
        // Rates from i to i + 1, and from i + 1 to i.
        let (mut right, mut left) = (vec![0.0; cells], vec![0.0; cells]);
        for i in 0..cells - 1 {
            let h = gap(i);
            let (before, after) = (gap(i.saturating_sub(1)), gap((i + 1).min(cells - 2)));
            let mut out = (square(i) - 0.5 * y[i] * before) / h;
            let mut back = (square(i + 1) + 0.5 * y[i + 1] * after) / h;
            if out < 0.0 {
                (out, back) = (0.0, back - out);
            }
            if back < 0.0 {
                (out, back) = (out - back, 0.0);
            }
            right[i] = strength * out / grid.width(i);
            left[i + 1] = strength * back / grid.width(i + 1);
        }
        Self::factor(&right, &left)
    }

    /// Gaussian elimination in which only sums, products and quotients of non-negative numbers occur, so that nothing
    /// cancels and every mass keeps its relative accuracy: the pivot of cell i is what stays there plus what leaves to the
    /// right, where "stays" counts what leaves to the left and does not come back.
    fn factor(right: &[f64], left: &[f64]) -> Self {
        let cells = right.len();
        let mut factors = Self { forward: vec![0.0; cells], backward: vec![0.0; cells], inverse: vec![0.0; cells] };
        let mut returned = 0.0;
        for i in 0..cells {
            let stays = 1.0 + left[i] * returned;
            let inverse = 1.0 / (stays + right[i]);
            returned = stays * inverse;
            factors.inverse[i] = inverse;
            factors.forward[i] = right[i] * inverse;
            factors.backward[i] = left.get(i + 1).map_or(0.0, |l| l * inverse);
        }
        factors
    }

    /// Number of cells.
    pub fn len(&self) -> usize {
        self.inverse.len()
    }

    /// Advances the masses of one line of cells.
    pub fn step(&self, masses: &mut [f64]) {
        let mut carried = 0.0;
        for (mass, forward) in masses.iter_mut().zip(&self.forward) {
            *mass += carried;
            carried = forward * *mass;
        }
        let mut next = 0.0;
        for ((mass, inverse), backward) in masses.iter_mut().zip(&self.inverse).zip(&self.backward).rev() {
            next = *mass * inverse + backward * next;
            *mass = next;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moments(grid: &Grid, masses: &[f64]) -> [f64; 3] {
        [0, 1, 2].map(|p| grid.nodes.iter().zip(masses).map(|(y, m)| y.powi(p) * m).sum::<f64>())
    }

    /// `d<y> = -sigma^2/2 <y> dt` and `d<y^2> = sigma^2 (y_a^2 - 2 y_a <y>) dt`, each by one implicit Euler step.
    #[test]
    fn the_first_two_moments_follow_their_equations_to_rounding() {
        let grid = Grid::new(150, 0.5, 3.0);
        let hill = |y: f64| (-(y - 0.7) * (y - 0.7)).exp();
        let mut masses: Vec<f64> = (0..150).map(|i| grid.width(i) * hill(grid.nodes[i])).collect();
        let before = moments(&grid, &masses);
        let (strength, y_a) = (0.03, 0.0);
        Generator::new(&grid, y_a, strength).step(&mut masses);
        let after = moments(&grid, &masses);
        assert!((after[0] / before[0] - 1.0).abs() < 1e-14);
        // At y_a = 0 the drift needs no help from the donor's side except in the two cells at 0, where it is almost zero.
        assert!((after[1] - before[1] / (1.0 + strength)).abs() < 1e-6, "{before:?} {after:?}");
        assert!((after[2] - before[2]).abs() < 1e-6 * before[2], "{before:?} {after:?}");
    }

    #[test]
    fn the_solution_satisfies_the_equation_it_was_factored_from() {
        let (right, left) = ([0.5, 2.0, 0.0, 3.0, 0.0], [0.0, 1.0, 0.3, 1e9, 0.2]);
        let start = [0.1, 0.2, 0.3, 0.0, 0.4];
        let mut masses = start;
        Generator::factor(&right, &left).step(&mut masses);
        for i in 0..5 {
            let gains = if i > 0 { right[i - 1] * masses[i - 1] } else { 0.0 }
                + if i < 4 { left[i + 1] * masses[i + 1] } else { 0.0 };
            let residual = (1.0 + right[i] + left[i]) * masses[i] - gains - start[i];
            assert!(residual.abs() < 1e-15 * (1.0 + gains), "cell {i}: {residual}");
        }
        assert!((masses.iter().sum::<f64>() - 1.0).abs() < 1e-15);
    }
}
