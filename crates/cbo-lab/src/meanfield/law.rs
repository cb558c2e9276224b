//! A law on the grid: the masses of its cells and the frame from which they are seen.

use super::distance::Piece;
use super::grid::Grid;
use super::settings::mean_and_deviation;
use cbo::InitialLaw;
use std::sync::Arc;

/// A probability law in one or two dimensions, seen from the frame `v = b + s y`.
#[derive(Clone, Debug)]
pub struct Law {
    /// The grid of each coordinate, in the frame.
    pub(crate) grids: Vec<Arc<Grid>>,
    /// b.
    pub(crate) origin: Vec<f64>,
    /// s.
    pub(crate) scale: Vec<f64>,
    /// Masses of the cells; the last coordinate runs fastest.
    pub(crate) masses: Vec<f64>,
}

/// One coordinate of a [`Law`].
#[derive(Clone, Debug)]
pub struct Marginal {
    grid: Arc<Grid>,
    origin: f64,
    scale: f64,
    masses: Vec<f64>,
}

impl Law {
    /// The initial law on these grids, seen from a frame with this origin and its standard deviation as scale.
    pub(crate) fn new(init: &InitialLaw, grids: Vec<Arc<Grid>>, origin: Vec<f64>) -> Self {
        let (means, scale): (Vec<f64>, Vec<f64>) = (0..grids.len()).map(|k| mean_and_deviation(init, k)).unzip();
        let offset = |k: usize| (means[k] - origin[k]) / scale[k];
        let each: Vec<Vec<f64>> =
            grids.iter().enumerate().map(|(k, grid)| initial_masses(init, grid, offset(k))).collect();
        let masses = match &each[..] {
            [x, y] => x.iter().flat_map(|mx| y.iter().map(move |my| mx * my)).collect(),
            _ => each.concat(),
        };
        Self { grids, origin, scale, masses }
    }

    /// Number of coordinates.
    pub fn dim(&self) -> usize {
        self.grids.len()
    }

    /// The mass of all cells, 1 up to rounding.
    pub fn mass(&self) -> f64 {
        self.masses.iter().sum()
    }

    /// The least density of a cell: never negative, and zero only where it is below the least positive number.
    pub fn least_density(&self) -> f64 {
        let volume: f64 = self.scale.iter().product();
        let widths = |k: usize| (0..self.grids[k].len()).map(move |i| self.grids[k].width(i));
        let least = |masses: &[f64], k: usize| {
            masses.iter().zip(widths(k)).map(|(mass, width)| mass / width).fold(f64::INFINITY, f64::min)
        };
        match &self.grids[..] {
            [_, fast] => {
                let rows = self.masses.chunks_exact(fast.len()).zip(widths(0));
                rows.map(|(row, width)| least(row, 1) / width).fold(f64::INFINITY, f64::min) / volume
            }
            _ => least(&self.masses, 0) / volume,
        }
    }

    /// The mean.
    pub fn mean(&self) -> Vec<f64> {
        (0..self.dim()).map(|k| self.marginal(k).mean()).collect()
    }

    /// The variance of each coordinate.
    pub fn variances(&self) -> Vec<f64> {
        (0..self.dim()).map(|k| self.marginal(k).variance()).collect()
    }

    /// Half the mean squared distance to `point`: the functional V of the theory when `point` is the minimiser.
    pub fn half_mean_square(&self, point: &[f64]) -> f64 {
        let mean_square = |(k, p): (usize, &f64)| {
            let marginal = self.marginal(k);
            (marginal.mean() - p).powi(2) + marginal.variance()
        };
        0.5 * point.iter().enumerate().map(mean_square).sum::<f64>()
    }

    /// Coordinate `k` alone.
    ///
    /// # Panics
    /// If the law has no coordinate `k`.
    pub fn marginal(&self, k: usize) -> Marginal {
        let masses = match (&self.grids[..], k) {
            ([_, fast], 0) => self.masses.chunks_exact(fast.len()).map(|row| row.iter().sum()).collect(),
            ([_, fast], _) => {
                let mut sums = vec![0.0; fast.len()];
                for row in self.masses.chunks_exact(fast.len()) {
                    sums.iter_mut().zip(row).for_each(|(sum, mass)| *sum += mass);
                }
                sums
            }
            _ => self.masses.clone(),
        };
        Marginal { grid: self.grids[k].clone(), origin: self.origin[k], scale: self.scale[k], masses }
    }

    /// The density at a point, constant in each cell and zero beyond the grid.
    pub fn density_at(&self, point: &[f64]) -> f64 {
        let (mut index, mut volume) = (0, 1.0);
        for (k, grid) in self.grids.iter().enumerate() {
            let y = (point[k] - self.origin[k]) / self.scale[k];
            let face = grid.faces.partition_point(|f| *f <= y);
            if face == 0 || face > grid.len() {
                return 0.0;
            }
            index = index * grid.len() + face - 1;
            volume *= grid.width(face - 1) * self.scale[k];
        }
        self.masses[index] / volume
    }
}

impl Marginal {
    /// The mean.
    pub fn mean(&self) -> f64 {
        self.origin + self.scale * self.moments().0
    }

    /// The variance.
    pub fn variance(&self) -> f64 {
        let (first, second) = self.moments();
        self.scale * self.scale * (second - first * first).max(0.0)
    }

    /// First and second moment in the frame.
    fn moments(&self) -> (f64, f64) {
        let (mut mass, mut first, mut second) = (0.0, 0.0, 0.0);
        for (y, m) in self.grid.nodes.iter().zip(&self.masses) {
            mass += m;
            first += m * y;
            second += m * y * y;
        }
        (first / mass, second / mass)
    }

    /// Positions of the cells, increasing.
    pub fn positions(&self) -> Vec<f64> {
        self.grid.nodes.iter().map(|y| self.origin + self.scale * y).collect()
    }

    /// The density in each cell.
    pub fn density(&self) -> Vec<f64> {
        self.masses.iter().enumerate().map(|(i, m)| m / (self.grid.width(i) * self.scale)).collect()
    }

    /// The masses of the cells.
    pub fn masses(&self) -> &[f64] {
        &self.masses
    }

    /// The probability of values up to `v`.
    pub fn cdf(&self, v: f64) -> f64 {
        let y = (v - self.origin) / self.scale;
        let mut below = 0.0;
        for (face, mass) in self.grid.faces.windows(2).zip(&self.masses) {
            if y < face[1] {
                return below + mass * ((y - face[0]) / (face[1] - face[0])).max(0.0);
            }
            below += mass;
        }
        below
    }

    /// The value that is exceeded with probability 1 - `u`.
    pub fn quantile(&self, u: f64) -> f64 {
        let mut below = 0.0;
        for (face, mass) in self.grid.faces.windows(2).zip(&self.masses) {
            if below + mass >= u && *mass > 0.0 {
                let part = ((u - below) / mass).clamp(0.0, 1.0);
                return self.origin + self.scale * (face[0] + part * (face[1] - face[0]));
            }
            below += mass;
        }
        self.origin + self.scale * self.grid.faces[self.grid.len()]
    }

    /// Origin and scale of the frame.
    pub(crate) fn frame(&self) -> (f64, f64) {
        (self.origin, self.scale)
    }

    /// The quantile function in pieces, its values in a frame of this origin and scale.
    pub(crate) fn pieces(&self, origin: f64, scale: f64) -> Vec<Piece> {
        let total: f64 = self.masses.iter().sum();
        // In this order: both frames may lie far from zero and close to each other.
        let (offset, factor) = ((self.origin - origin) / scale, self.scale / scale);
        let faces = self.grid.faces.windows(2).map(|f| [offset + factor * f[0], offset + factor * f[1]]);
        let filled = faces.zip(&self.masses).filter(|(_, mass)| **mass > 0.0);
        filled.map(|(ends, mass)| Piece { mass: mass / total, from: ends[0], to: ends[1] }).collect()
    }
}

/// The masses of a law of variance 1 of this kind, with its mean at `centre`.
fn initial_masses(init: &InitialLaw, grid: &Grid, centre: f64) -> Vec<f64> {
    match init {
        InitialLaw::Uniform { .. } => {
            let half = 3f64.sqrt();
            grid.masses(centre, |y| ((y + half) / (2.0 * half)).clamp(0.0, 1.0))
        }
        _ => grid.masses(centre, |y| 0.5 * libm::erfc(-y * std::f64::consts::FRAC_1_SQRT_2)),
    }
}
