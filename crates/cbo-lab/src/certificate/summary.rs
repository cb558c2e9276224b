//! The certificate of a run in a few numbers.

use super::{Certificate, CertificateRecord};

/// Rounding allowed to Lemma 1, relative to the size of its terms; a sum over 1e6 particles stays far below.
const LEMMA_ROUNDING: f64 = 1e-12;

/// Rounding allowed to the Laplace bound, which one particle in one dimension attains. Single precision rounds
/// energies, and with them the choice among particles, at 1e-7.
const LAPLACE_ROUNDING: f64 = 1e-6;

/// What the kept steps say together.
#[derive(Clone, Debug, PartialEq)]
pub struct CertificateSummary {
    /// Kept steps.
    pub steps: usize,
    /// V at the start.
    pub v_start: f64,
    /// V at the last kept step.
    pub v_end: f64,
    /// V at the last kept step over V at the start.
    pub v_end_ratio: f64,
    /// The mean rate of decay, `-log(v_end_ratio) / time`; `None` without time.
    pub rate: Option<f64>,
    /// The smallest slack of Lemma 1.
    pub least_slack: f64,
    /// The smallest slack of Lemma 1, relative to the size of its terms.
    pub least_relative_slack: f64,
    /// Kept steps at which the terms of Lemma 1 are finite: a swarm may leave the range of numbers.
    pub lemma_steps: usize,
    /// Whether Lemma 1 held at each of them, but for rounding; `None` if there are none.
    pub lemma_held: Option<bool>,
    /// Kept steps at which Proposition 1 has something to say.
    pub laplace_steps: usize,
    /// Whether it held at each of them; `None` if there are none.
    pub laplace_held: Option<bool>,
    /// Kept steps at which the lower bound for the mass is at least 1/N: N particles cannot show a smaller one.
    pub mass_steps: usize,
    /// Whether the mass was above the paper's bound at each of them; `None` if there are none.
    pub mass_held: Option<bool>,
}

impl Certificate {
    /// The kept steps in a few numbers; `None` if there are none.
    pub fn summary(&self) -> Option<CertificateSummary> {
        let records = self.records();
        let (first, last) = (records.first()?, records.last()?);
        let least = |value: fn(&CertificateRecord) -> f64| records.iter().map(value).fold(f64::INFINITY, f64::min);
        let lemma: Vec<bool> = records.iter().filter_map(CertificateRecord::lemma_holds).collect();
        let laplace: Vec<bool> = records.iter().filter_map(CertificateRecord::laplace_holds).collect();
        let mass: Vec<bool> = records.iter().filter_map(CertificateRecord::mass_holds).collect();
        let all = |checks: &[bool]| (!checks.is_empty()).then(|| checks.iter().all(|&held| held));
        let v_end_ratio = last.v / first.v;
        Some(CertificateSummary {
            steps: records.len(),
            v_start: first.v,
            v_end: last.v,
            v_end_ratio,
            rate: (last.time > first.time).then(|| 0.0 - v_end_ratio.ln() / (last.time - first.time)),
            least_slack: least(|r| r.lemma_slack),
            least_relative_slack: least(CertificateRecord::relative_slack),
            lemma_steps: lemma.len(),
            lemma_held: all(&lemma),
            laplace_steps: laplace.len(),
            laplace_held: all(&laplace),
            mass_steps: mass.len(),
            mass_held: all(&mass),
        })
    }
}

impl CertificateRecord {
    /// The slack of Lemma 1 relative to the size of its terms; 0 where all of them vanish.
    pub fn relative_slack(&self) -> f64 {
        if self.lemma_size == 0.0 { 0.0 } else { self.lemma_slack / self.lemma_size }
    }

    /// Whether Lemma 1 holds, but for rounding; `None` where the swarm has left the range of numbers.
    pub fn lemma_holds(&self) -> Option<bool> {
        self.lemma_size.is_finite().then(|| self.relative_slack() >= -LEMMA_ROUNDING)
    }

    /// Whether the consensus point is as close to v* as Proposition 1 says, but for rounding; `None` where it says
    /// nothing.
    pub fn laplace_holds(&self) -> Option<bool> {
        self.laplace.map(|bound| self.distance <= bound.value * (1.0 + LAPLACE_ROUNDING))
    }

    /// Whether the mass is above the paper's lower bound; `None` where that does not apply or is below one particle's
    /// mass.
    pub fn mass_holds(&self) -> Option<bool> {
        let one_particle = -(self.particles as f64).ln();
        self.log_mass_bound.filter(|&bound| bound >= one_particle).map(|bound| self.log_mass >= bound)
    }
}
