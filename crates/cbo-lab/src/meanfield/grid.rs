//! The grid of one coordinate in the moving frame: fine where the law is, coarse where only its tails are.

/// How far from the mean the initial law can matter, in standard deviations, where no weights say otherwise.
pub(crate) const REACH: f64 = 6.0;

/// Standard deviations of the logarithm of the noise that the grid has room for.
const TAILS: f64 = 4.0;

/// The half-width of the part with cells of nearly equal size, at sigma = 0, in standard deviations of the initial law.
const CORE: f64 = 0.5;

/// No grid handles more noise: beyond it, V is carried by masses of less than 1e-30.
pub(crate) const MOST_NOISE: f64 = 50.0;

fn core(noise: f64) -> f64 {
    CORE * (-noise).exp()
}

/// The largest xi.
fn reach(noise: f64, offset: f64) -> f64 {
    ((REACH + offset) * (noise + TAILS * noise.sqrt()).exp() / core(noise)).asinh()
}

/// The ratio of the widths of neighbouring cells in the tails of [`Grid::new`] is the exponential of this.
pub(crate) fn spacing(cells: usize, noise: f64, offset: f64) -> f64 {
    2.0 * reach(noise, offset) / cells as f64
}

/// The largest spacing of a grid. With it, `E|v - a|` of a frozen law is too large by 1 % at the end; the error falls with its
/// square.
const WIDEST: f64 = 0.23;

/// The largest `noise = sigma^2 T` that a grid of this many cells resolves.
pub(crate) fn most_noise(cells: usize) -> f64 {
    let (mut low, mut high) = (0.0, MOST_NOISE);
    if spacing(cells, high, 0.0) <= WIDEST {
        return high;
    }
    for _ in 0..40 {
        let middle = 0.5 * (low + high);
        if spacing(cells, middle, 0.0) <= WIDEST { low = middle } else { high = middle }
    }
    low
}

/// The fewest cells that resolve this noise.
pub(crate) fn least_cells(noise: f64) -> usize {
    (2.0 * reach(noise, 0.0) / WIDEST).ceil() as usize
}

/// Nodes `y_i = core sinh(xi_i)` with equally spaced xi_i, and faces halfway between them.
#[derive(Clone, Debug)]
pub(crate) struct Grid {
    pub nodes: Vec<f64>,
    /// One more than nodes.
    pub faces: Vec<f64>,
    /// The half-width of the part with cells of nearly equal size.
    pub core: f64,
}

impl Grid {
    /// A grid for a law of variance 1 whose mean is no farther than `offset` from the origin of the frame, and which spreads
    /// by `noise = sigma^2 T`.
    ///
    /// In the frame, particles keep the mean square of their distance to the consensus point while most of them come
    /// closer: the logarithm of that distance is normal with mean -noise and variance noise. The second moment lives where
    /// it is +noise, the bulk of the law where it is -noise; the grid covers both with their tails.
    pub fn new(cells: usize, noise: f64, offset: f64) -> Self {
        let (core, reach) = (core(noise), reach(noise, offset));
        let place = |i: usize| core * (reach * ((2 * i + 1) as f64 / cells as f64 - 1.0)).sinh();
        let nodes: Vec<f64> = (0..cells).map(place).collect();
        let inner = nodes.windows(2).map(|pair| 0.5 * (pair[0] + pair[1]));
        let first = 1.5 * nodes[0] - 0.5 * nodes[1];
        let last = 1.5 * nodes[cells - 1] - 0.5 * nodes[cells - 2];
        let faces = std::iter::once(first).chain(inner).chain([last]).collect();
        Self { nodes, faces, core }
    }

    /// Number of cells.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Width of cell `i`.
    pub fn width(&self, i: usize) -> f64 {
        self.faces[i + 1] - self.faces[i]
    }

    /// Middle of cell `i`.
    pub fn centre(&self, i: usize) -> f64 {
        0.5 * (self.faces[i] + self.faces[i + 1])
    }

    /// Masses of the cells under the law that is symmetric about `centre` and has the distribution function `cdf` of the
    /// distance to it. What lies beyond the grid is given to the outer cells.
    pub fn masses(&self, centre: f64, cdf: impl Fn(f64) -> f64) -> Vec<f64> {
        let mut masses: Vec<f64> = self
            .faces
            .windows(2)
            .map(|f| {
                let (low, high) = (f[0] - centre, f[1] - centre);
                // Differences of small numbers on either side, so that the tails keep their digits.
                if low > 0.0 { cdf(-low) - cdf(-high) } else { cdf(high) - cdf(low) }
            })
            .map(|mass| mass.max(0.0))
            .collect();
        if let [first, .., last] = &mut masses[..] {
            *first += cdf(self.faces[0] - centre);
            *last += cdf(centre - self.faces[self.len()]);
        }
        let total: f64 = masses.iter().sum();
        masses.iter_mut().for_each(|mass| *mass /= total);
        masses
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_grid_is_symmetric_and_covers_what_it_promises() {
        for (noise, offset) in [(0.0, 0.0), (0.4, 2.0), (36.0, 0.0)] {
            let grid = Grid::new(200, noise, offset);
            assert!(grid.nodes.windows(2).all(|p| p[0] < p[1]));
            assert!(grid.nodes.iter().zip(grid.nodes.iter().rev()).all(|(a, b)| (a + b).abs() <= 1e-12 * a.abs()));
            // The last face lies half a cell beyond the last node, which lies half a step before the extent.
            assert!(grid.faces[200] >= 0.5 * (6.0 + offset) * (noise + 4.0 * noise.sqrt()).exp());
            let widths: f64 = (0..200).map(|i| grid.width(i)).sum();
            assert!((widths / (2.0 * grid.faces[200]) - 1.0).abs() < 1e-12);
        }
    }
}
