//! The consensus point of a law on the grid, `v_alpha = int v exp(-alpha E) drho / int exp(-alpha E) drho`.
//!
//! The weights may live on a tiny part of one cell (alpha = 1e15, or infinity, where the point is the minimiser of E where
//! the law lives). So cells are cut into thirds again and again where their weight matters and is not yet resolved.

use super::law::Law;
use super::patch::{self, Patch};
use super::solver::MeanFieldError;
use cbo::Objective;

/// Rounds of cutting; the width of a cell falls by 3^40 in them.
const ROUNDS: usize = 40;

/// Patches at which cutting ends.
const MOST_PATCHES: usize = 1 << 20;

/// The share of the whole weight times its squared relative variation, above which a patch is cut: in one, two dimensions.
/// The errors of the patches mostly cancel: that of the point is about 1e-5 and 1e-3 of the width of the weights.
const TOLERANCE: [f64; 2] = [1e-7, 1e-5];

/// A patch narrower than this fraction of the core of the grid is a point.
const POINT: f64 = 2e-9;

/// Logarithm of the share below which a patch is forgotten.
const NEGLIGIBLE: f64 = -50.0;

/// The share of the weight that the outermost cells may have: what they stand for is not known.
const MOST_OUTSIDE: f64 = 1e-3;

/// The consensus point in the frame, `y_a = (v_alpha - b)/s`.
pub(crate) fn in_frame(objective: &impl Objective<f64>, law: &Law, alpha: f64) -> Result<Vec<f64>, MeanFieldError> {
    let dim = law.dim();
    let mut patches = patch::cells(objective, law)?;
    let mut total = Total::of(alpha, &patches)?;
    for _ in 0..ROUNDS {
        let (parents, others): (Vec<Patch>, Vec<Patch>) = patches.iter().partition(|p| total.unresolved(p, law));
        if parents.is_empty() || parents.len() * 3usize.pow(dim as u32) > MOST_PATCHES {
            break;
        }
        patches = others;
        patches.retain(|p| total.log_share(p) > NEGLIGIBLE);
        patches.extend(patch::split(objective, law, &parents)?);
        total = Total::of(alpha, &patches)?;
    }
    let mut point = vec![0.0; dim];
    let (mut mass, mut outside) = (0.0, 0.0);
    for patch in &patches {
        let weight = total.log_share(patch).exp();
        mass += weight;
        outside += if patch.outermost { weight } else { 0.0 };
        point.iter_mut().zip(&patch.centre).for_each(|(p, y)| *p += weight * y);
    }
    if outside > MOST_OUTSIDE * mass {
        return Err(MeanFieldError::WeightsBeyondGrid);
    }
    point.iter_mut().for_each(|p| *p /= mass);
    Ok(point)
}

/// What the weights of all patches come to.
struct Total {
    alpha: f64,
    least: f64,
    /// Logarithm of the sum of the weights, relative to the least energy.
    log_weight: f64,
}

impl Total {
    fn of(alpha: f64, patches: &[Patch]) -> Result<Self, MeanFieldError> {
        let least = patches.iter().map(|p| p.energy).fold(f64::INFINITY, f64::min);
        if least == f64::INFINITY {
            return Err(MeanFieldError::NoFiniteEnergy);
        }
        let mut total = Self { alpha, least, log_weight: 0.0 };
        let largest = patches.iter().map(|p| total.log_share(p)).fold(f64::NEG_INFINITY, f64::max);
        total.log_weight = largest + patches.iter().map(|p| (total.log_share(p) - largest).exp()).sum::<f64>().ln();
        Ok(total)
    }

    /// `-alpha gap`, with 0 at gap 0 even for infinite alpha.
    fn exponent(&self, gap: f64) -> f64 {
        if gap == 0.0 { 0.0 } else { -self.alpha * gap }
    }

    /// Logarithm of the share of a patch in the whole weight.
    fn log_share(&self, patch: &Patch) -> f64 {
        patch.log_mass + self.exponent(patch.energy - self.least) - self.log_weight
    }

    /// Whether cutting the patch could change the consensus point noticeably.
    fn unresolved(&self, patch: &Patch, law: &Law) -> bool {
        let tolerance = TOLERANCE[law.dim() - 1];
        let finite = patch.energy.is_finite();
        if !patch.edge && (patch.dip == 0.0 || !finite) {
            return false;
        }
        // A patch without energy at an edge carries that of its best neighbour in the dip.
        let lowest = if finite { patch.energy - patch.dip } else { -patch.dip };
        let most = patch.log_mass + self.exponent(lowest - self.least) - self.log_weight;
        let variation = if patch.edge { 1.0 } else { (self.alpha * patch.dip).min(1.0).powi(2) };
        most > (tolerance / variation).ln() && (0..law.dim()).any(|k| is_wide(patch, law, k))
    }
}

fn is_wide(patch: &Patch, law: &Law, k: usize) -> bool {
    let rounding = 4.0 * f64::EPSILON * (law.origin[k] + law.scale[k] * patch.centre[k]).abs();
    patch.half[k] > POINT * law.grids[k].core && patch.half[k] * law.scale[k] > rounding
}
