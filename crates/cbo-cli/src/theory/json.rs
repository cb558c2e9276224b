//! The answer of `cbo theory` as one JSON object.

use super::Answer;
use crate::numbers::Number;
use cbo_lab::theory::Basis;
use cbo_lab::theory::advice::Sentence;
use cbo_lab::theory::constants::{Constants, Quantity};
use serde::Serialize;

/// A number and its natural logarithm, in JSON.
#[derive(Serialize)]
struct Pair {
    value: Number,
    log: Number,
}

impl From<Quantity> for Pair {
    fn from(quantity: Quantity) -> Self {
        Self { value: Number(quantity.value), log: Number(quantity.log) }
    }
}

#[derive(Serialize)]
struct AssumptionsJson {
    eta: Number,
    nu: Number,
    r0: Number,
    e_inf: Number,
    basis: Basis,
}

#[derive(Serialize)]
struct DecayJson {
    c: Option<f64>,
    first_branch: Option<Pair>,
    second_branch: Option<Pair>,
    value: Number,
    log: Number,
}

#[derive(Serialize)]
struct ConstantsJson {
    rate: Pair,
    t_star: Pair,
    hitting_time: [Pair; 2],
    c_tau: Pair,
    q_epsilon: Pair,
    r_epsilon: Pair,
    b: Pair,
    p: DecayJson,
    mass: Pair,
    log_mass: Number,
    alpha_0: Pair,
}

impl From<&Constants> for ConstantsJson {
    fn from(c: &Constants) -> Self {
        let p = &c.decay;
        Self {
            rate: c.rate.into(),
            t_star: c.t_star.into(),
            hitting_time: [c.hitting_low.into(), c.t_star.into()],
            c_tau: c.c_tau.into(),
            q_epsilon: c.q_epsilon.into(),
            r_epsilon: c.r_epsilon.into(),
            b: c.b.into(),
            p: DecayJson {
                c: p.c,
                first_branch: p.first_branch.map(Pair::from),
                second_branch: p.second_branch.map(Pair::from),
                value: Number(p.p.value),
                log: Number(p.p.log),
            },
            mass: c.mass.into(),
            log_mass: Number(c.mass.log),
            alpha_0: c.alpha_0.into(),
        }
    }
}

/// The whole answer in JSON.
#[derive(Serialize)]
pub(super) struct Summary<'a> {
    objective: &'a str,
    dim: usize,
    lambda: f64,
    sigma: f64,
    tau: f64,
    alpha: Number,
    dt: f64,
    particles: usize,
    diffusion: String,
    scheme: String,
    init: &'a str,
    v0: Number,
    epsilon: Number,
    assumptions: AssumptionsJson,
    constants: Option<ConstantsJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sharp: Option<ConstantsJson>,
    covered: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    covered_sharp: Option<bool>,
    mean_square_stable: bool,
    mean_square_factor: Number,
    almost_surely_contracting: bool,
    exponent: Number,
    advice: &'a [Sentence],
}

impl Answer {
    /// The object.
    pub(super) fn summary(&self) -> Summary<'_> {
        let (theorem, question, a2) = (&self.theorem, &self.theorem.question, &self.theorem.assumptions);
        Summary {
            objective: self.problem.description(),
            dim: self.problem.dim(),
            lambda: question.lambda,
            sigma: question.sigma,
            tau: question.tau,
            alpha: Number(self.alpha()),
            dt: self.config.dt,
            particles: self.config.particles,
            diffusion: self.config.diffusion.to_string(),
            scheme: self.config.scheme.to_string(),
            init: &self.init,
            v0: Number(theorem.v0),
            epsilon: Number(theorem.epsilon),
            assumptions: AssumptionsJson {
                eta: Number(a2.eta),
                nu: Number(a2.nu),
                r0: Number(a2.r0),
                e_inf: Number(a2.far_field),
                basis: a2.basis,
            },
            constants: self.constants.as_ref().map(ConstantsJson::from),
            sharp: self.sharp.as_ref().map(ConstantsJson::from),
            covered: self.advice.covered,
            covered_sharp: self.advice.covered_sharp,
            mean_square_stable: self.advice.mean_square_stable,
            mean_square_factor: Number(self.advice.mean_square_factor),
            almost_surely_contracting: self.advice.almost_surely_contracting,
            exponent: Number(self.advice.exponent),
            advice: &self.advice.advice,
        }
    }
}
