//! Boxes inside cells, on which the weights `exp(-alpha E)` are integrated: a cell may be far wider than they are.

use super::law::Law;
use super::solver::MeanFieldError;
use cbo::{Objective, Rows, StepContext};
use rayon::prelude::*;

/// Points of one evaluation; fixed, so that nothing depends on the threads.
const BLOCK: usize = 8192;

/// A box in the frame, with the energy in its middle.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patch {
    pub centre: [f64; 2],
    pub half: [f64; 2],
    /// The cell that it lies in.
    cell: usize,
    /// Logarithm of its mass.
    pub log_mass: f64,
    /// +infinity where there is none.
    pub energy: f64,
    /// How far the energy may fall below that of the middle: the differences to the neighbours, summed over coordinates.
    pub dip: f64,
    /// Whether there is an energy on one side only: here or at a neighbour.
    pub edge: bool,
    /// Whether its cell is the first or the last of a coordinate.
    pub outermost: bool,
}

/// The cells of a law as patches, evaluated.
pub(crate) fn cells(objective: &impl Objective<f64>, law: &Law) -> Result<Vec<Patch>, MeanFieldError> {
    let sizes: Vec<usize> = law.grids.iter().map(|g| g.len()).collect();
    let whole = |cell: usize| {
        let (mut centre, mut half, mut outermost) = ([0.0; 2], [0.0; 2], false);
        for (k, (grid, i)) in law.grids.iter().zip(indices(&sizes, cell)).enumerate() {
            (centre[k], half[k]) = (grid.nodes[i], 0.5 * grid.width(i));
            outermost |= i == 0 || i + 1 == grid.len();
        }
        Patch { centre, half, cell, log_mass: law.masses[cell].ln(), energy: 0.0, dip: 0.0, edge: false, outermost }
    };
    let mut patches: Vec<Patch> = (0..law.masses.len()).map(whole).collect();
    evaluate(objective, law, &mut patches)?;
    compare(&mut patches, &sizes);
    patches.retain(|patch| patch.log_mass > f64::NEG_INFINITY);
    Ok(patches)
}

/// Cuts each patch into thirds along each coordinate and evaluates these.
pub(crate) fn split(
    objective: &impl Objective<f64>,
    law: &Law,
    parents: &[Patch],
) -> Result<Vec<Patch>, MeanFieldError> {
    let dim = law.dim();
    let family = 3usize.pow(dim as u32);
    let mut children = Vec::with_capacity(parents.len() * family);
    for parent in parents {
        let density = Density::in_cell(law, parent.cell);
        for child in 0..family {
            let mut patch = *parent;
            for (k, third) in indices(&[3, 3][..dim], child).enumerate() {
                patch.half[k] /= 3.0;
                patch.centre[k] += (third as f64 - 1.0) * 2.0 * patch.half[k];
            }
            patch.log_mass = density.log_mass(&patch, dim);
            children.push(patch);
        }
    }
    evaluate(objective, law, &mut children)?;
    children.chunks_exact_mut(family).for_each(|siblings| compare(siblings, &[3, 3][..dim]));
    Ok(children)
}

/// The indices of a cell in each coordinate, the last running fastest.
fn indices(sizes: &[usize], cell: usize) -> impl Iterator<Item = usize> {
    let (rows, fast) = match sizes {
        [_, fast] => (2, *fast),
        _ => (1, 1),
    };
    [cell / fast, cell % fast].into_iter().take(rows)
}

/// The density in one cell, exponential in each coordinate: in the tails of the law it falls by decades within a cell.
struct Density {
    log_density: f64,
    centre: [f64; 2],
    slope: [f64; 2],
}

impl Density {
    fn in_cell(law: &Law, cell: usize) -> Self {
        let sizes: Vec<usize> = law.grids.iter().map(|g| g.len()).collect();
        let mut density = Self { log_density: law.masses[cell].ln(), centre: [0.0; 2], slope: [0.0; 2] };
        for (k, (grid, i)) in law.grids.iter().zip(indices(&sizes, cell)).enumerate() {
            let stride: usize = sizes[k + 1..].iter().product();
            let log_level = |at: usize| (law.masses[cell + at * stride - i * stride] / grid.width(at)).ln();
            let (before, after) = (i.saturating_sub(1), (i + 1).min(grid.len() - 1));
            let slope = (log_level(after) - log_level(before)) / (grid.nodes[after] - grid.nodes[before]);
            density.centre[k] = grid.centre(i);
            // Next to an empty cell the law ends, and how is not known.
            density.slope[k] = if slope.is_finite() { slope } else { 0.0 };
            density.log_density -= log_integral(density.slope[k], 0.5 * grid.width(i));
        }
        density
    }

    fn log_mass(&self, patch: &Patch, dim: usize) -> f64 {
        let along =
            |k: usize| self.slope[k] * (patch.centre[k] - self.centre[k]) + log_integral(self.slope[k], patch.half[k]);
        self.log_density + (0..dim).map(along).sum::<f64>()
    }
}

/// Logarithm of the integral of `exp(slope y)` over |y| < half.
fn log_integral(slope: f64, half: f64) -> f64 {
    let x = (slope * half).abs();
    // log(sinh(x)/x), which a small x loses to rounding and a large one to overflow.
    let excess = if x < 1e-3 { x * x / 6.0 } else { x - std::f64::consts::LN_2 + (-(-2.0 * x).exp_m1()).ln() - x.ln() };
    (2.0 * half).ln() + excess
}

/// Energies in the middles; what is not finite becomes +infinity.
fn evaluate(objective: &impl Objective<f64>, law: &Law, patches: &mut [Patch]) -> Result<(), MeanFieldError> {
    let dim = law.dim();
    let work = |block: &mut [Patch]| {
        let place = |patch: &Patch| {
            let mut v = [0.0; 2];
            for (k, v) in v.iter_mut().enumerate().take(dim) {
                *v = law.origin[k] + law.scale[k] * patch.centre[k];
            }
            v.into_iter().take(dim)
        };
        let rows: Vec<f64> = block.iter().flat_map(place).collect();
        let mut energies = vec![0.0; block.len()];
        objective.energies(StepContext::default(), Rows::new(&rows, dim), &mut energies)?;
        for (patch, energy) in block.iter_mut().zip(energies) {
            patch.energy = if energy.is_finite() { energy } else { f64::INFINITY };
        }
        Ok(())
    };
    // A few points are evaluated faster than threads are woken.
    if patches.len() <= BLOCK { work(patches) } else { patches.par_chunks_mut(BLOCK).try_for_each(work) }
}

/// Compares each patch of a block of `sizes` with its neighbours.
fn compare(patches: &mut [Patch], sizes: &[usize]) {
    let energies: Vec<f64> = patches.iter().map(|p| p.energy).collect();
    for (at, patch) in patches.iter_mut().enumerate() {
        let own = patch.energy;
        let (mut dip, mut edge, mut lowest) = (0.0, false, f64::INFINITY);
        for (k, i) in indices(sizes, at).enumerate() {
            let stride: usize = sizes[k + 1..].iter().product();
            let mut along = 0.0f64;
            let neighbours = [(i > 0).then(|| at - stride), (i + 1 < sizes[k]).then(|| at + stride)];
            for other in neighbours.into_iter().flatten().map(|n| energies[n]) {
                edge |= own.is_finite() != other.is_finite();
                lowest = lowest.min(other);
                if own.is_finite() && other.is_finite() {
                    along = along.max((own - other).abs());
                }
            }
            dip += along;
        }
        (patch.dip, patch.edge) = (dip, edge);
        if edge && !own.is_finite() {
            // Its share is not known; it may be that of the best neighbour.
            patch.dip = -lowest;
        }
    }
}
