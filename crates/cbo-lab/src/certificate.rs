//! Certificates while running: at each kept step, what the paper's lemma and propositions say about the cloud, beside what
//! the cloud does.
//!
//! - Lemma 1: the derivative of V along the mean-field flow, and its upper bound
//!   ([`theory::evolution`](crate::theory::evolution)). It holds for every cloud.
//! - Proposition 1: the distance of the consensus point from v*, and its upper bound
//!   ([`theory::laplace`](crate::theory::laplace)). It holds for every cloud that has a particle close enough to v*.
//! - Proposition 2: the mass near v*, and its lower bound ([`theory::mass`](crate::theory::mass)). It is about the
//!   mean-field law in continuous time; N particles that move in steps may break it, and cannot show a mass below 1/N.
//!
//! Batches, kicks, bounds and a shrinking swarm are not in the paper. They are recorded all the same:
//! [`Certificate::remarks`] says what the theory does not cover.

mod resolution;
mod summary;

pub use summary::CertificateSummary;

use crate::theory::TheoryError;
use crate::theory::assumptions::{Assumptions, default_r0};
use crate::theory::evolution::{Dynamics, Evolution};
use crate::theory::landscape::Landscape;
use crate::theory::laplace::{Distances, LaplaceBound};
use crate::theory::mass::Ball;
use crate::theory::mollifier;
use cbo::{BoundHandling, CboConfig, Diffusion, Ensemble, Method, Observer, RunReport, Scalar, Sigma, StepReport};
use cbo_problems::Problem;
use std::ops::ControlFlow;

/// Radii R_0 that are tried.
const RADII: u32 = 120;

/// One kept step.
#[derive(Clone, Debug, PartialEq)]
pub struct CertificateRecord {
    /// The step.
    pub step: u64,
    /// Its time.
    pub time: f64,
    /// alpha.
    pub alpha: f64,
    /// sigma.
    pub sigma: f64,
    /// V, half the mean squared distance of the particles to v*.
    pub v: f64,
    /// The trace of the covariance: the mean squared distance of the particles to their mean.
    pub variance: f64,
    /// `|v_a - v*|`.
    pub distance: f64,
    /// dV/dt along the mean-field flow, straight from the particles.
    pub derivative: f64,
    /// Lemma 1's bound for it.
    pub lemma_bound: f64,
    /// Bound minus derivative.
    pub lemma_slack: f64,
    /// The bound with `|lambda - sigma^2|` in place of `lambda + sigma^2`.
    pub lemma_bound_sharp: f64,
    /// What the rounding errors of derivative and bound are relative to.
    pub lemma_size: f64,
    /// Proposition 1's bound for `distance`; `None` where it is silent.
    pub laplace: Option<LaplaceBound>,
    /// The natural logarithm of the mass within the radius of the mass bound; minus infinity if no particle is there.
    pub log_mass: f64,
    /// Proposition 2's lower bound for it; `None` where it does not apply.
    pub log_mass_bound: Option<f64>,
    /// The same with the least p for which the proof works.
    pub log_mass_bound_sharp: Option<f64>,
    /// Number of particles.
    pub particles: usize,
}

impl CertificateRecord {
    /// The squared Wasserstein distance of the cloud to the Dirac measure at v*, `W_2^2 = 2 V`.
    pub fn w2_squared(&self) -> f64 {
        2.0 * self.v
    }
}

/// The observer. It keeps evenly spaced steps, at most `capacity` of them, as [`cbo::History`] does: when it is full,
/// every second one is dropped and the spacing doubles.
#[derive(Clone, Debug)]
pub struct Certificate {
    assumptions: Assumptions,
    lambda: f64,
    diffusion: Diffusion,
    /// sigma where Proposition 2 applies: anisotropic noise that does not change.
    steady_sigma: Option<f64>,
    /// `2 lambda - k sigma^2`, if sigma does not change.
    rate: Option<f64>,
    /// Whether the consensus point is that of the weights, as Proposition 1 has it, and not a frozen one.
    weighted: bool,
    mass_radius: f64,
    /// Error of the energies near v*, in f32 and in f64.
    resolution: (f64, f64),
    remarks: Vec<&'static str>,
    records: Vec<CertificateRecord>,
    capacity: usize,
    spacing: u64,
    /// B, the largest distance of the consensus point from v* so far, in the maximum norm.
    farthest: f64,
    /// `log int phi_r drho_0`.
    log_initial: f64,
    /// p and the sharp p, and the B that they belong to.
    decay: Option<(f64, f64, f64)>,
}

/// What a step is about, as a step or the end of a run has it.
struct Moment<'a, T> {
    step: u64,
    time: f64,
    alpha: f64,
    sigma: f64,
    consensus: &'a [f64],
    ensemble: &'a Ensemble<T>,
    evaluated: Option<&'a [u32]>,
}

impl Certificate {
    /// An observer of runs of `config` on `problem` that keeps at most `capacity` steps (at least 2). The mass is that
    /// within R_0 of v*.
    ///
    /// An error if the method is another than consensus-based optimization, or if the function does not satisfy assumption A2: it has
    /// several minimisers, or one at the edge of its domain.
    pub fn new(problem: &Problem, config: &CboConfig, capacity: usize) -> Result<Self, TheoryError> {
        if config.method != Method::Cbo {
            return Err(TheoryError::new("method", config.method, "the theorem is about the method cbo"));
        }
        let assumptions = assumptions(problem)?;
        let steady_sigma = match (config.sigma, config.diffusion) {
            (Sigma::Constant(sigma), Diffusion::Anisotropic) if sigma > 0.0 => Some(sigma),
            _ => None,
        };
        Ok(Self {
            mass_radius: assumptions.r0,
            resolution: (resolution::of::<f32>(problem), resolution::of::<f64>(problem)),
            assumptions,
            lambda: config.lambda,
            diffusion: config.diffusion,
            steady_sigma,
            rate: match config.sigma {
                Sigma::Constant(sigma) => {
                    Some(Dynamics::new(config.lambda, sigma, config.diffusion, problem.dim()).rate())
                }
                _ => None,
            },
            weighted: config.freeze.is_none(),
            remarks: remarks(config, problem.dim()),
            records: Vec::new(),
            capacity: capacity.max(2),
            spacing: 1,
            farthest: 0.0,
            log_initial: f64::NEG_INFINITY,
            decay: None,
        })
    }

    /// Watches the mass within another radius of v*.
    pub fn with_mass_radius(mut self, r: f64) -> Self {
        self.mass_radius = r;
        self
    }

    /// The kept steps, in order.
    pub fn records(&self) -> &[CertificateRecord] {
        &self.records
    }

    /// The constants of assumption A2 in use.
    pub fn assumptions(&self) -> &Assumptions {
        &self.assumptions
    }

    /// The radius r of the mass bound.
    pub fn mass_radius(&self) -> f64 {
        self.mass_radius
    }

    /// `2 lambda - sigma^2` (isotropic noise: `2 lambda - d sigma^2`), the rate at which V decays in the mean field
    /// once the consensus point is at v*; `None` if sigma changes.
    pub fn rate(&self) -> Option<f64> {
        self.rate
    }

    /// The kind of noise.
    pub fn diffusion(&self) -> Diffusion {
        self.diffusion
    }

    /// B, the largest distance of the consensus point from v* at any step, in the maximum norm.
    pub fn farthest(&self) -> f64 {
        self.farthest
    }

    /// What in the settings is outside the theory, in words.
    pub fn remarks(&self) -> &[&'static str] {
        &self.remarks
    }

    /// Adds the end of the run, if that step was not kept.
    pub fn finish<T: Scalar>(&mut self, report: &RunReport<T>) {
        if self.records.last().is_some_and(|last| last.step >= report.steps()) {
            return;
        }
        let consensus: Vec<f64> = report.consensus().x.iter().map(|x| x.to_f64()).collect();
        let (step, time, alpha, sigma) = (report.steps(), report.time(), report.alpha(), report.sigma());
        let (consensus, ensemble) = (&consensus[..], &report.ensemble());
        let evaluated = (report.energies().len() != ensemble.len()).then_some(&[][..]);
        self.keep(&Moment { step, time, alpha, sigma, consensus, ensemble, evaluated });
    }

    fn keep<T: Scalar>(&mut self, now: &Moment<'_, T>) {
        let rows = now.ensemble.rows();
        let dynamics = Dynamics::new(self.lambda, now.sigma, self.diffusion, rows.dim());
        let evolution = Evolution::new(rows, &self.assumptions.minimiser, now.consensus);
        let reach = self.assumptions.r0.max(self.mass_radius);
        let distances = Distances::new(rows.iter(), &self.assumptions.minimiser, reach);
        let log_mass = distances.mass(self.mass_radius).ln();
        let (log_mass_bound, log_mass_bound_sharp) = self.mass_bounds(rows.dim(), now.time);
        self.records.push(CertificateRecord {
            step: now.step,
            time: now.time,
            alpha: now.alpha,
            sigma: now.sigma,
            v: evolution.v,
            variance: now.ensemble.variances().iter().sum(),
            distance: evolution.distance(),
            derivative: evolution.derivative(&dynamics),
            lemma_bound: evolution.bound(&dynamics),
            lemma_slack: evolution.slack(&dynamics),
            lemma_bound_sharp: evolution.sharp_bound(&dynamics),
            lemma_size: evolution.size(&dynamics),
            laplace: self.laplace(now, distances),
            log_mass,
            log_mass_bound,
            log_mass_bound_sharp,
            particles: rows.len(),
        });
    }

    /// Proposition 1 for the measure that the consensus point is made of: that of the particles evaluated in the step.
    fn laplace<T: Scalar>(&self, now: &Moment<'_, T>, all: Distances) -> Option<LaplaceBound> {
        if !self.weighted {
            return None;
        }
        let rows = now.ensemble.rows();
        let distances = match now.evaluated {
            None => all,
            Some([]) => return None,
            Some(indices) => {
                let batch = indices.iter().map(|&i| rows.row(i as usize));
                Distances::new(batch, &self.assumptions.minimiser, self.assumptions.r0)
            }
        };
        let error = if T::NAME == f32::NAME { self.resolution.0 } else { self.resolution.1 };
        distances.laplace_bound(&self.assumptions, now.alpha, rows.dim(), error)
    }

    /// Proposition 2 at this time: `log int phi_r drho_0 - p t`, with the paper's p and the sharp one.
    fn mass_bounds(&mut self, dim: usize, time: f64) -> (Option<f64>, Option<f64>) {
        let Some(sigma) = self.steady_sigma else { return (None, None) };
        let (paper, sharp) = match self.decay {
            Some((b, paper, sharp)) if b == self.farthest => (paper, sharp),
            _ => {
                let ball = Ball { lambda: self.lambda, sigma, r: self.mass_radius, b: self.farthest };
                let (paper, sharp) = (ball.decay(dim).p, ball.sharp_decay(dim));
                self.decay = Some((self.farthest, paper, sharp));
                (paper, sharp)
            }
        };
        (Some(self.log_initial - paper * time), Some(self.log_initial - sharp * time))
    }

    /// What has to be seen at every step, kept or not: B, and at the start the initial law.
    fn glance<T: Scalar>(&mut self, step: &StepReport<'_, T>) {
        let offsets = step.consensus().iter().zip(&self.assumptions.minimiser).map(|(a, b)| (a - b).abs());
        self.farthest = offsets.fold(self.farthest, |most, x| if x > most || x.is_nan() { x } else { most });
        if step.step() == 0 {
            let rows = step.ensemble().rows();
            let (mut sum, mut offset) = (0.0, vec![0.0; rows.dim()]);
            for row in rows.iter() {
                for ((x, v), m) in offset.iter_mut().zip(row).zip(&self.assumptions.minimiser) {
                    *x = v.to_f64() - m;
                }
                sum += mollifier::value(self.mass_radius, &offset);
            }
            self.log_initial = (sum / rows.len() as f64).ln();
        }
    }
}

impl<T: Scalar> Observer<T> for Certificate {
    fn observe(&mut self, step: &StepReport<'_, T>) -> ControlFlow<()> {
        self.glance(step);
        if !step.step().is_multiple_of(self.spacing) {
            return ControlFlow::Continue(());
        }
        if self.records.len() == self.capacity {
            self.spacing *= 2;
            let spacing = self.spacing;
            self.records.retain(|r| r.step.is_multiple_of(spacing));
            if !step.step().is_multiple_of(spacing) {
                return ControlFlow::Continue(());
            }
        }
        let (consensus, ensemble, evaluated) = (step.consensus(), step.ensemble(), step.evaluated());
        let (time, alpha, sigma) = (step.time(), step.alpha(), step.sigma());
        self.keep(&Moment { step: step.step(), time, alpha, sigma, consensus, ensemble, evaluated });
        ControlFlow::Continue(())
    }
}

/// The constants of assumption A2 with a radius R_0 that suits the Laplace bound: the one used everywhere for the
/// function, or else the one with the largest `eta E_inf^nu`, because the bound is proportional to 1/eta and holds up to
/// energies of E_inf.
fn assumptions(problem: &Problem) -> Result<Assumptions, TheoryError> {
    if let Some(r0) = default_r0(problem) {
        return Assumptions::new(problem, r0);
    }
    let landscape = Landscape::new(problem)?;
    let (least, largest) = landscape.range;
    let merit = |r0: f64| landscape.eta(r0) * landscape.far_field(r0).powf(landscape.nu);
    let share = |i: u32| f64::from(i) / f64::from(RADII - 1);
    let radii = (0..RADII).map(|i| (least.powf(share(i)) * largest.powf(1.0 - share(i))).clamp(least, largest));
    let best = radii.max_by(|a, b| merit(*a).total_cmp(&merit(*b))).unwrap_or(largest);
    Assumptions::on(problem, &landscape, best)
}

fn remarks(config: &CboConfig, dim: usize) -> Vec<&'static str> {
    let sigma = config.sigma.largest();
    let noise = config.diffusion.moment_factor(dim) * sigma * sigma;
    let isotropic = config.diffusion == Diffusion::Isotropic;
    let walls = config.bounds.is_some() && config.bound_handling != BoundHandling::None;
    let all = [
        (isotropic, "isotropic noise: Lemma 1 has d sigma^2 in place of sigma^2, and the mass bound does not apply"),
        (!matches!(config.sigma, Sigma::Constant(_)), "sigma changes: the mass bound needs a constant one"),
        (sigma == 0.0, "sigma = 0: the mass bound needs noise"),
        (noise >= 2.0 * config.lambda && !isotropic, "sigma^2 >= 2 lambda: outside the theorem, V need not decay"),
        (noise >= 2.0 * config.lambda && isotropic, "d sigma^2 >= 2 lambda: outside the theorem, V need not decay"),
        (config.freeze.is_some(), "the consensus point is frozen: the Laplace bound is about the weighted mean"),
        (config.batch.is_some(), "batches: the Laplace bound is that of the particles evaluated in the step"),
        (config.kick.is_some(), "kicks are not in the theory"),
        (walls, "bounds are not in the theory"),
        (config.reduction.is_some(), "a swarm that loses particles is not in the theory"),
    ];
    all.into_iter().filter_map(|(holds, words)| holds.then_some(words)).collect()
}
