//! Advice in words: whether a setting is covered by the theorem, stable, contracting, and what to change.

use super::TheoryError;
use super::constants::{Kind, Theorem, largest_sigma, reachable_ratio};
use super::stability;
use cbo::{Alpha, CboConfig, Diffusion};
use serde::{Serialize, Serializer};

/// Whether something holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holds {
    /// It does.
    Yes,
    /// It does not.
    No,
    /// The theory does not say.
    Unknown,
}

impl From<bool> for Holds {
    fn from(holds: bool) -> Self {
        if holds { Self::Yes } else { Self::No }
    }
}

/// As true, false or "unknown".
impl Serialize for Holds {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Yes => serializer.serialize_bool(true),
            Self::No => serializer.serialize_bool(false),
            Self::Unknown => serializer.serialize_str("unknown"),
        }
    }
}

/// A piece of advice.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Sentence {
    /// What it is about.
    pub topic: &'static str,
    /// Whether it holds.
    pub holds: Holds,
    /// In words.
    pub text: String,
}

/// What there is to say of a setting.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Advice {
    /// Whether the theorem covers (lambda, sigma, alpha) and the kind of noise, in the mean field.
    pub covered: bool,
    /// Whether the mean square distance to a frozen consensus point contracts.
    pub mean_square_stable: bool,
    /// Whether almost every distance does.
    pub almost_surely_contracting: bool,
    /// The factor of the mean square in a step.
    pub mean_square_factor: f64,
    /// The exponent of almost every distance, per unit of time.
    pub exponent: f64,
    /// All in words.
    pub advice: Vec<Sentence>,
}

/// What the theorem and the stability of the step say of `config`, whose lambda and sigma are those of the theorem.
pub fn advise(theorem: &Theorem, config: &CboConfig) -> Result<Advice, TheoryError> {
    let dim = theorem.assumptions.minimiser.len();
    let mut advice = vec![noise_kind(config, dim), drift(theorem, config), weight(theorem, config)?];
    let covered = advice.iter().all(|s| s.holds == Holds::Yes);
    advice.push(verdict(theorem, covered));
    advice.push(particles(theorem, config)?);
    advice.push(time_step(config));
    let (factor, exponent) = (config.mean_square_factor(dim), stability::exponent(config, dim));
    advice.push(mean_square(config, dim, factor));
    advice.push(almost_surely(config, dim, exponent, factor < 1.0));
    Ok(Advice {
        covered,
        mean_square_stable: factor < 1.0,
        almost_surely_contracting: exponent < 0.0,
        mean_square_factor: factor,
        exponent,
        advice,
    })
}

fn sentence(topic: &'static str, holds: impl Into<Holds>, text: impl Into<String>) -> Sentence {
    Sentence { topic, holds: holds.into(), text: text.into() }
}

fn noise_kind(config: &CboConfig, dim: usize) -> Sentence {
    match config.diffusion {
        Diffusion::Anisotropic => sentence("noise", true, "The noise is anisotropic, as the theorem has it."),
        Diffusion::Isotropic if dim == 1 => {
            sentence("noise", true, "In one dimension isotropic and anisotropic noise are the same.")
        }
        Diffusion::Isotropic => sentence(
            "noise",
            false,
            format!(
                "The noise is isotropic, and the theorem is about anisotropic noise. Isotropic noise has a theorem of its own, \
                 with 2 lambda - d sigma^2 in place of 2 lambda - sigma^2: it needs sigma < {:.4} here. The constants shown are \
                 those of anisotropic noise.",
                (2.0 * config.lambda / dim as f64).sqrt()
            ),
        ),
    }
}

fn drift(theorem: &Theorem, config: &CboConfig) -> Sentence {
    let (lambda, sigma) = (theorem.question.lambda, theorem.question.sigma);
    let (twice, square, largest) = (2.0 * lambda, sigma * sigma, largest_sigma(lambda));
    let (holds, text) = if sigma == 0.0 {
        let text = "Without noise (sigma = 0) nothing keeps mass near v*: the decay rate p and with it alpha_0 are infinite. The \
                    theorem needs a positive sigma.";
        (false, text.to_string())
    } else if twice > square {
        let mut text = format!("The drift outweighs the noise: 2 lambda = {twice:.4} > sigma^2 = {square:.4}");
        text += &match config.diffusion {
            Diffusion::Anisotropic => format!(
                ", so for alpha > alpha_0 V decays at a rate between {:.4} and {:.4} until it reaches epsilon.",
                theorem.question.rate() * (1.0 - theorem.question.tau),
                theorem.question.rate() * (1.0 + 0.5 * theorem.question.tau),
            ),
            Diffusion::Isotropic => ", as the theorem for anisotropic noise has it.".to_string(),
        };
        (true, text)
    } else {
        let text = format!(
            "The noise outweighs the drift: 2 lambda = {twice:.4} is not above sigma^2 = {square:.4}. The mean square distance \
             V then grows even if the consensus point already sits at v*, because rare particles travel ever further, so the \
             theorem says nothing and its constants do not exist. That does not mean that a run fails: see `almost surely`. \
             To be covered, take sigma below sqrt(2 lambda) = {largest:.4}, or lambda above sigma^2/2 = {:.4}.",
            0.5 * square
        );
        (false, text)
    };
    sentence("drift", holds, text)
}

fn weight(theorem: &Theorem, config: &CboConfig) -> Result<Sentence, TheoryError> {
    let alpha = match config.alpha {
        Alpha::Constant(alpha) => alpha,
        _ => {
            return Ok(sentence(
                "alpha",
                Holds::Unknown,
                "alpha changes over time, and the theorem is about a constant one.",
            ));
        }
    };
    let Some(constants) = theorem.constants(Kind::Paper)? else {
        return Ok(sentence("alpha", Holds::Unknown, "There is no alpha_0 to compare alpha with."));
    };
    let least = constants.alpha_0;
    let given = if (1e-3..1e6).contains(&alpha) { format!("{alpha}") } else { format!("{alpha:e}") };
    let shown = if least.value.is_finite() { format!("{:.4e}", least.value) } else { format!("exp({:.4})", least.log) };
    let (holds, text) = if least.log == f64::INFINITY {
        (false, "No alpha is large enough: alpha_0 is infinite.".to_string())
    } else if alpha == f64::INFINITY {
        let text = format!(
            "alpha = inf is above alpha_0 = {shown}. The theorem is stated for finite alpha; in its limit the consensus point of \
             a law with mass around v* is v* itself."
        );
        (true, text)
    } else if alpha.ln() > least.log {
        (true, format!("alpha = {given} is above alpha_0 = {shown}."))
    } else {
        let reach = match reachable_ratio(theorem, alpha) {
            Some(ratio) => format!("This alpha suffices for the accuracy epsilon = {ratio:.2e} V_0."),
            None => "This alpha suffices for no accuracy below V_0.".to_string(),
        };
        let text = format!(
            "alpha = {given} is not above alpha_0 = {shown}, the least for this accuracy. {reach} alpha_0 is a worst case: \
             runs often succeed far below it. To be covered, take a larger alpha (inf is allowed)."
        );
        (false, text)
    };
    Ok(sentence("alpha", holds, text))
}

fn verdict(theorem: &Theorem, covered: bool) -> Sentence {
    let estimate = covered && theorem.is_estimate();
    let basis = if estimate { " The constants of A2 are estimates, so this is not a proof." } else { "" };
    let text = if covered {
        "The theorem covers this setting in the mean field: with infinitely many particles in continuous time V falls below \
         epsilon by the time T*."
    } else {
        "The theorem does not cover this setting, for the reasons above."
    };
    sentence("theorem", covered, format!("{text}{basis}"))
}

fn particles(theorem: &Theorem, config: &CboConfig) -> Result<Sentence, TheoryError> {
    let count = config.particles;
    let mut text = format!(
        "The theorem is about infinitely many particles; {count} of them follow the mean-field law up to an error of the order \
         1/sqrt(N) = {:.1e}, with constants that it does not give.",
        1.0 / (count as f64).sqrt()
    );
    if let Some(constants) = theorem.constants(Kind::Paper)? {
        let log_expected = (count as f64).ln() + constants.mass.log;
        let expected = if log_expected > -700.0 {
            format!("{:.2e}", log_expected.exp())
        } else {
            format!("exp({log_expected:.0})")
        };
        text += &format!(
            " At the start, {expected} of them are expected in the box of radius r_eps/2 around v*, from which the proof argues."
        );
        if log_expected < 0.0 {
            text += " Less than one: what a run achieves is not explained by the theorem alone.";
        }
    }
    Ok(sentence("particles", Holds::Unknown, text))
}

fn time_step(config: &CboConfig) -> Sentence {
    let drift = config.lambda * config.dt;
    let text = format!(
        "The theorem is about continuous time; steps of dt = {} follow it as dt tends to 0. lambda dt = {drift:.4}: {}",
        config.dt,
        if drift >= 2.0 {
            "each step overshoots the consensus point by more than the distance to it; take dt below 1/lambda."
        } else if drift > 1.0 {
            "each step overshoots the consensus point; take dt below 1/lambda."
        } else if drift > 0.2 {
            "far from continuous time; a smaller dt comes closer."
        } else {
            "small enough to resolve the drift."
        }
    );
    sentence("time step", Holds::Unknown, text)
}

fn mean_square(config: &CboConfig, dim: usize, factor: f64) -> Sentence {
    let largest = match config.largest_stable_sigma(dim) {
        Some(sigma) => format!("it is stable for sigma below {sigma:.4}"),
        None => "no sigma makes it stable, because lambda dt >= 2; take a smaller dt".to_string(),
    };
    let text = if factor < 1.0 {
        format!(
            "A step multiplies the mean square distance to a fixed consensus point by {factor:.6}: mean-square stable ({largest})."
        )
    } else {
        format!(
            "A step multiplies the mean square distance to a fixed consensus point by {factor:.6}: not mean-square stable; {largest}."
        )
    };
    sentence("mean square", factor < 1.0, text)
}

fn almost_surely(config: &CboConfig, dim: usize, exponent: f64, stable: bool) -> Sentence {
    let edge = match stability::largest_contracting_sigma(config, dim) {
        Some(sigma) => format!("sigma below {sigma:.4} keeps it so"),
        None => "no sigma makes it contract; take a smaller dt".to_string(),
    };
    let text = if exponent >= 0.0 {
        format!(
            "The distance of almost every particle to a fixed consensus point grows like exp({exponent:.4} t): the swarm spreads. {}.",
            edge.replace("keeps it so", "makes it contract")
        )
    } else if stable {
        format!(
            "The distance of almost every particle to a fixed consensus point shrinks like exp({exponent:.4} t); {edge}."
        )
    } else {
        format!(
            "The distance of almost every particle to a fixed consensus point shrinks like exp({exponent:.4} t), although its \
             mean square grows: the swarm contracts while single particles still travel far. Practical runs often sit here; {edge}."
        )
    };
    sentence("almost surely", exponent < 0.0, text)
}
