//! The constants of the theorem and of its proof, in logarithms where they are too large or too small for numbers.

use super::assumptions::{Assumptions, Basis};
use super::landscape::{Landscape, bisect};
use super::mass::{Ball, least_c};
pub use super::question::{Accuracy, Question};
use super::{TheoryError, law};
use cbo::InitialLaw;
use cbo_problems::Problem;
use std::f64::consts::{LN_2, SQRT_2};

/// A number with its natural logarithm, which remains when the number overflows or underflows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quantity {
    /// Its name, a word: `alpha_0`.
    pub name: &'static str,
    /// What it is in the paper.
    pub formula: &'static str,
    /// The number.
    pub value: f64,
    /// Its natural logarithm.
    pub log: f64,
}

impl Quantity {
    fn new(name: &'static str, formula: &'static str, value: f64) -> Self {
        Self { name, formula, value, log: value.ln() }
    }

    fn from_log(name: &'static str, formula: &'static str, log: f64) -> Self {
        Self { name, formula, value: log.exp(), log }
    }
}

/// Whose constants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The paper's.
    Paper,
    /// Sharper ones with which the same proof holds: |lambda - sigma^2| in place of lambda + sigma^2, the mollifier's true
    /// bound e^{-1/3} in place of 1/2, and the least p.
    Sharp,
}

/// The decay rate p of the mass near v*.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DecayRate {
    /// The constant c that splits the box; none in the sharp rate.
    pub c: Option<f64>,
    /// The first branch of the maximum.
    pub first_branch: Option<Quantity>,
    /// The second branch.
    pub second_branch: Option<Quantity>,
    /// p itself.
    pub p: Quantity,
}

/// All constants.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Constants {
    /// c(tau, lambda, sigma).
    pub c_tau: Quantity,
    /// q_epsilon.
    pub q_epsilon: Quantity,
    /// r_epsilon.
    pub r_epsilon: Quantity,
    /// B.
    pub b: Quantity,
    /// p.
    pub decay: DecayRate,
    /// The mass of the initial law in the box of radius r_epsilon / 2.
    pub mass: Quantity,
    /// alpha_0.
    pub alpha_0: Quantity,
    /// The rate of the exponential decay of V.
    pub rate: Quantity,
    /// T*.
    pub t_star: Quantity,
    /// The least time at which V reaches epsilon.
    pub hitting_low: Quantity,
}

impl Constants {
    /// All of them, in the order in which they depend on each other.
    pub fn all(&self) -> Vec<Quantity> {
        let decay = &self.decay;
        let branches = decay.first_branch.iter().chain(&decay.second_branch).copied();
        [self.rate, self.t_star, self.hitting_low, self.c_tau, self.q_epsilon, self.r_epsilon, self.b]
            .into_iter()
            .chain(branches)
            .chain([decay.p, self.mass, self.alpha_0])
            .collect()
    }
}

/// What the theorem says about a setting.
#[derive(Clone, Debug)]
pub struct Theorem {
    /// Assumption A2 of the function.
    pub assumptions: Assumptions,
    /// The question, with R_0 chosen.
    pub question: Question,
    /// V_0.
    pub v0: f64,
    /// epsilon.
    pub epsilon: f64,
    law: InitialLaw,
}

/// The fraction of the largest radius that is used when there is no alpha_0 to minimise.
const PLAIN_RADIUS: f64 = 0.02;

impl Theorem {
    /// Checks the question, and chooses R_0 if that is left open.
    pub fn new(problem: &Problem, law: &InitialLaw, question: Question) -> Result<Self, TheoryError> {
        let question = question.checked()?;
        let landscape = Landscape::new(problem)?;
        let v0 = law::spread(law, &problem.minimisers()[0]);
        let epsilon = question.epsilon(v0)?;
        let with = |assumptions: Assumptions| {
            let question = Question { r0: Some(assumptions.r0), ..question };
            Self { assumptions, question, v0, epsilon, law: law.clone() }
        };
        let log_alpha = |r0: f64| {
            let theorem = with(Assumptions::trial(problem, &landscape, r0).ok()?);
            Some(theorem.constants(Kind::Paper).ok()??.alpha_0.log)
        };
        let r0 = match question.r0 {
            Some(r0) => r0,
            None if !(question.rate() > 0.0 && question.sigma > 0.0) => {
                (PLAIN_RADIUS * landscape.range.1).max(landscape.range.0)
            }
            None => best_radius(landscape.range, |r0| log_alpha(r0).unwrap_or(f64::INFINITY)),
        };
        let theorem = with(Assumptions::on(problem, &landscape, r0)?);
        theorem.constants(Kind::Paper)?;
        Ok(theorem)
    }

    /// The constants; `None` unless 2 lambda > sigma^2. An error if the initial law has no mass where it is needed.
    pub fn constants(&self, kind: Kind) -> Result<Option<Constants>, TheoryError> {
        let Question { lambda, sigma, tau, .. } = self.question;
        let rate = self.question.rate();
        if rate <= 0.0 {
            return Ok(None);
        }
        let (dim, noise) = (self.assumptions.minimiser.len(), sigma * sigma);
        let d = dim as f64;
        let sum = match kind {
            Kind::Paper => lambda + noise,
            Kind::Sharp => (lambda - noise).abs(),
        };
        // Either branch may be infinite: the second without noise, the first sharply where lambda = sigma^2.
        let c_tau = (0.5 * tau * (rate / (SQRT_2 * sum))).min((tau * (rate / noise)).sqrt());
        let (log_epsilon, log_v0) = (self.epsilon.ln(), self.v0.ln());
        let Assumptions { eta, nu, far_field, .. } = self.assumptions;
        let near = (eta.ln() + c_tau.ln() + 0.5 * log_epsilon - LN_2 - 0.5 * d.ln()) / nu;
        let log_q = near.min(far_field.ln()) - LN_2;
        let log_r = self.assumptions.log_radius_below(log_q);
        let log_b = c_tau.ln() + 0.5 * log_v0;
        let decay = self.decay(kind, log_r, log_b);
        let log_mass = law::log_mass_at(&self.law, &self.assumptions.minimiser, log_r - LN_2);
        if log_mass == f64::NEG_INFINITY {
            return Err(self.no_mass(log_r));
        }
        let horizon = (log_v0 - log_epsilon) / rate;
        let t_star = horizon / (1.0 - tau);
        let mollifier = match kind {
            Kind::Paper => d * LN_2,
            Kind::Sharp => d / 3.0,
        };
        let start = LN_2 + mollifier + 0.5 * (LN_2 + d.ln() + log_v0) - c_tau.ln() - 0.5 * log_epsilon;
        let log_alpha = log_sum(start - log_mass, decay.p.log + t_star.ln()) - log_q;
        Ok(Some(Constants {
            c_tau: Quantity::new("c_tau", "c(tau, lambda, sigma) (proof of Theorem 2)", c_tau),
            q_epsilon: Quantity::from_log("q_epsilon", "depth q_eps (proof of Theorem 2)", log_q),
            r_epsilon: Quantity::from_log("r_epsilon", "radius r_eps (proof of Theorem 2)", log_r),
            b: Quantity::from_log("b", "distance B = c(tau, lambda, sigma) sqrt(V_0) (proof of Theorem 2)", log_b),
            decay,
            mass: Quantity::from_log("mass", "initial mass rho_0(B_{r_eps/2}(v*)) (proof of Theorem 2)", log_mass),
            alpha_0: Quantity::from_log("alpha_0", "least alpha, alpha_0 (proof of Theorem 2)", log_alpha),
            rate: Quantity::new("rate", "decay rate (1 - tau)(2 lambda - sigma^2) (Theorem 2)", (1.0 - tau) * rate),
            t_star: Quantity::new("t_star", "time horizon T* (Theorem 2)", t_star),
            hitting_low: Quantity::new(
                "hitting_low",
                "earliest hitting time (1-tau)/(1+tau/2) T* (after Theorem 2)",
                horizon / (1.0 + 0.5 * tau),
            ),
        }))
    }

    fn no_mass(&self, log_r: f64) -> TheoryError {
        let remedy = format!(
            "the initial law has no mass within {:.4e} (r_eps / 2) of the minimiser v*, in the maximum norm, and the theorem \
             needs some; choose a law whose support contains v*",
            (log_r - LN_2).exp()
        );
        let name = match self.law {
            InitialLaw::Normal { .. } => "normal",
            InitialLaw::Uniform { .. } => "uniform",
            InitialLaw::Points(_) => "points",
        };
        TheoryError::new("init", name, remedy)
    }

    /// p for r and B given by their logarithms; only their quotient counts.
    fn decay(&self, kind: Kind, log_r: f64, log_b: f64) -> DecayRate {
        let Question { lambda, sigma, c, .. } = self.question;
        let dim = self.assumptions.minimiser.len();
        let quantity = |log: f64| Quantity::from_log("p", "mass decay rate p (Proposition 2)", log);
        // Beyond this quotient p grows as its square, to more digits than there are.
        let log_quotient = (log_b - log_r).min(30.0);
        let ball = Ball { lambda, sigma, r: 1.0, b: log_quotient.exp() };
        if kind == Kind::Sharp {
            let p = quantity(ball.sharp_decay(dim).ln() + 2.0 * (log_b - log_r - log_quotient));
            return DecayRate { c: None, first_branch: None, second_branch: None, p };
        }
        let c = c.unwrap_or_else(|| if sigma > 0.0 { ball.decay(dim).c } else { least_c() });
        let r = (log_r - log_b).exp();
        // p_1 + p_2 with r and B divided by B, times r^2, so that nothing overflows.
        let scaled = 2.0 * lambda * (c * r + c.sqrt()) * r / (1.0 - c).powi(2)
            + 2.0 * sigma * sigma * (c * r * r + 1.0) * (2.0 * c + 1.0) / (1.0 - c).powi(4);
        let log_dim = (dim as f64).ln();
        let first = scaled.ln() - 2.0 * (log_r - log_b) + log_dim;
        let second = ball.p3(c).ln() + log_dim;
        DecayRate {
            c: Some(c),
            first_branch: Some(Quantity::from_log("p_first", "p, first branch (Proposition 2)", first)),
            second_branch: Some(Quantity::from_log("p_second", "p, second branch (Proposition 2)", second)),
            p: quantity(first.max(second)),
        }
    }

    /// Whether the constants rest on an estimate.
    pub fn is_estimate(&self) -> bool {
        self.assumptions.basis == Basis::Estimate
    }
}

/// ln(a + exp(log_b)) for a >= 0.
fn log_sum(a: f64, log_b: f64) -> f64 {
    let log_a = a.ln();
    let (high, low) = (log_a.max(log_b), log_a.min(log_b));
    if high.is_infinite() { high } else { high + libm::log1p((low - high).exp()) }
}

/// The radius of the range at which `cost` is least: the best of a logarithmic grid, improved by a golden-section search.
fn best_radius((least, largest): (f64, f64), cost: impl Fn(f64) -> f64) -> f64 {
    const GRID: usize = 160;
    let (from, to) = (least.ln(), largest.ln());
    let radius = |log: f64| log.exp().clamp(least, largest);
    let node = |i: usize| from + (to - from) * i as f64 / GRID as f64;
    let costs: Vec<f64> = (0..=GRID).map(|i| cost(radius(node(i)))).collect();
    let best = (0..=GRID).min_by(|a, b| costs[*a].total_cmp(&costs[*b])).unwrap_or(GRID);
    let (mut low, mut high) = (node(best.saturating_sub(1)), node((best + 1).min(GRID)));
    let golden = 0.5 * (5f64.sqrt() - 1.0);
    while high - low > 1e-9 {
        let (left, right) = (high - golden * (high - low), low + golden * (high - low));
        if cost(radius(left)) <= cost(radius(right)) { high = right } else { low = left }
    }
    let found = radius(0.5 * (low + high));
    if cost(found) <= costs[best] { found } else { radius(node(best)) }
}

/// The largest sigma with 2 lambda > sigma^2, excluded.
pub fn largest_sigma(lambda: f64) -> f64 {
    (2.0 * lambda).sqrt()
}

/// The smallest epsilon, as a fraction of V_0, for which `alpha` suffices; `None` if none does.
pub fn reachable_ratio(theorem: &Theorem, alpha: f64) -> Option<f64> {
    let suffices = |log_ratio: f64| {
        let epsilon = theorem.v0 * log_ratio.exp();
        let constants = Theorem { epsilon, ..theorem.clone() }.constants(Kind::Paper).ok().flatten();
        constants.is_some_and(|c| alpha.ln() > c.alpha_0.log)
    };
    let (tightest, loosest) = (1e-12f64.ln(), 0.999f64.ln());
    if !suffices(loosest) {
        return None;
    }
    if suffices(tightest) {
        return Some(1e-12);
    }
    Some(bisect(-loosest, -tightest, |minus| suffices(-minus))).map(|minus| (-minus).exp())
}
