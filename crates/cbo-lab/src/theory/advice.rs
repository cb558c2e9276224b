//! Advice in words: whether a setting is covered by the theorem, stable, contracting, and what to change.

mod step;

use super::TheoryError;
use super::constants::{Kind, Quantity, Theorem, largest_sigma, reachable_ratio};
use super::stability;
use super::words::{exactly, exponential, number};
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

/// What there is to say about a setting.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Advice {
    /// Whether the theorem covers (lambda, sigma, alpha) and the kind of noise, in the mean field.
    pub covered: bool,
    /// The same with the sharper constants, with which the same proof holds; `None` if they were not asked for.
    pub covered_sharp: Option<bool>,
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

/// What the theorem and the stability of the step say about `config`, whose lambda and sigma are those of the theorem; with
/// `sharp` also whether the sharper constants cover it.
pub fn advise(theorem: &Theorem, config: &CboConfig, sharp: bool) -> Result<Advice, TheoryError> {
    let dim = theorem.assumptions.minimiser.len();
    let mut advice = vec![noise_kind(config, dim), drift(theorem, config)];
    let dynamics = advice.iter().all(|s| s.holds == Holds::Yes);
    let weight = weight(theorem, config)?;
    let covered = dynamics && weight.holds == Holds::Yes;
    advice.extend([weight, verdict(theorem, covered)]);
    let mut covered_sharp = None;
    if sharp {
        let sentence = sharper(theorem, config, dynamics, covered)?;
        covered_sharp = Some(sentence.holds == Holds::Yes);
        advice.push(sentence);
    }
    advice.push(particles(theorem, config)?);
    // A drift-first step of lambda dt = 1 ends at the consensus point, however large the noise would be.
    let factor = Some(config.mean_square_factor(dim)).filter(|f| !f.is_nan()).unwrap_or(0.0);
    advice.push(step::time_step(config));
    advice.push(step::mean_square(config, dim, factor));
    advice.push(step::almost_surely(config, dim, factor < 1.0));
    Ok(Advice {
        covered,
        covered_sharp,
        mean_square_stable: factor < 1.0,
        almost_surely_contracting: stability::log_factor(config, dim) < 0.0,
        mean_square_factor: factor,
        exponent: stability::exponent(config, dim),
        advice,
    })
}

fn sentence(topic: &'static str, holds: impl Into<Holds>, text: impl Into<String>) -> Sentence {
    Sentence { topic, holds: holds.into(), text: text.into() }
}

fn noise_kind(config: &CboConfig, dim: usize) -> Sentence {
    match config.diffusion {
        Diffusion::Anisotropic => sentence("noise", true, "The noise is anisotropic, as in the theorem."),
        Diffusion::Isotropic if dim == 1 => {
            sentence("noise", true, "In one dimension isotropic and anisotropic noise are the same.")
        }
        Diffusion::Isotropic => sentence(
            "noise",
            false,
            format!(
                "The noise is isotropic, and the theorem is about anisotropic noise. Isotropic noise has a theorem of its own, \
                 with 2 lambda - d sigma^2 in place of 2 lambda - sigma^2: it needs sigma < {} here. The constants shown are \
                 those of anisotropic noise.",
                number((2.0 * config.lambda / dim as f64).sqrt())
            ),
        ),
    }
}

fn drift(theorem: &Theorem, config: &CboConfig) -> Sentence {
    let (lambda, sigma) = (theorem.question.lambda, theorem.question.sigma);
    let (twice, square) = (2.0 * lambda, sigma * sigma);
    if sigma == 0.0 {
        let text = "Without noise (sigma = 0) nothing keeps mass near v*: the decay rate p and with it alpha_0 are infinite. The \
                    theorem needs a positive sigma.";
        return sentence("sigma", false, text);
    }
    if twice > square {
        let compared = format!("2 lambda = {} > sigma^2 = {}", number(twice), number(square));
        let decay = match config.diffusion {
            Diffusion::Anisotropic => format!(
                "so for alpha > alpha_0 V decays at a rate between {} and {} until it reaches epsilon",
                number(theorem.question.rate() * (1.0 - theorem.question.tau)),
                number(theorem.question.rate() * (1.0 + 0.5 * theorem.question.tau)),
            ),
            Diffusion::Isotropic => "as in the theorem for anisotropic noise".to_string(),
        };
        return sentence("drift", true, format!("The drift outweighs the noise: {compared}, {decay}."));
    }
    // Equal up to the rounding of a sigma such as sqrt(2).
    let balanced = square <= twice * (1.0 + 4.0 * f64::EPSILON);
    let reason = if balanced {
        format!(
            "The noise balances the drift: 2 lambda = sigma^2 = {}. The mean square distance V then does not decay even if the \
             consensus point already sits at v*: in continuous time it stays constant, carried by ever fewer particles that \
             travel ever further",
            number(twice)
        )
    } else {
        let (square, least) = (exponential(2.0 * sigma.ln()), number(twice));
        format!(
            "The noise outweighs the drift: 2 lambda = {least} is not above sigma^2 = {square}. The mean square distance V then \
             grows even if the consensus point already sits at v*, because rare particles travel ever further"
        )
    };
    let text = format!(
        "{reason}, so the theorem says nothing and its constants do not exist. That does not mean that a run fails: see \
         `almost surely`. To be covered, take sigma below sqrt(2 lambda) = {}, or lambda above sigma^2/2 = {}.",
        number(largest_sigma(lambda)),
        exponential(2.0 * sigma.ln() - std::f64::consts::LN_2),
    );
    sentence("drift", false, text)
}

/// alpha_0 in words.
fn shown(alpha_0: Quantity) -> String {
    if alpha_0.value.is_finite() { number(alpha_0.value) } else { exponential(alpha_0.log) }
}

fn weight(theorem: &Theorem, config: &CboConfig) -> Result<Sentence, TheoryError> {
    let Alpha::Constant(alpha) = config.alpha else {
        let text = "alpha changes over time, and the theorem is about a constant one.";
        return Ok(sentence("alpha", Holds::Unknown, text));
    };
    let Some(constants) = theorem.constants(Kind::Paper)? else {
        return Ok(sentence("alpha", Holds::Unknown, "There is no alpha_0 to compare alpha with."));
    };
    let (least, given) = (shown(constants.alpha_0), exactly(alpha));
    let (holds, text) = if constants.alpha_0.log == f64::INFINITY {
        (false, "No alpha is large enough: alpha_0 is infinite.".to_string())
    } else if alpha == f64::INFINITY {
        let text = format!(
            "alpha = inf is above alpha_0 = {least}. The theorem is stated for finite alpha; in its limit the consensus point of \
             a law with mass around v* is v* itself."
        );
        (true, text)
    } else if alpha.ln() > constants.alpha_0.log {
        (true, format!("alpha = {given} is above alpha_0 = {least}."))
    } else {
        let reach = match reachable_ratio(theorem, alpha) {
            Some(ratio) => format!("This alpha suffices for the accuracy epsilon = {} V_0.", number(ratio)),
            None => "This alpha suffices for no accuracy below V_0.".to_string(),
        };
        let text = format!(
            "alpha = {given} is not above alpha_0 = {least}, the least for this accuracy. {reach} alpha_0 is a worst case: \
             runs often succeed far below it. To be covered, take a larger alpha (inf is allowed)."
        );
        (false, text)
    };
    Ok(sentence("alpha", holds, text))
}

/// A remark where A2 rests on a search.
fn basis(theorem: &Theorem, covered: bool) -> &'static str {
    let estimate = covered && theorem.is_estimate();
    if estimate { " The constants of A2 are estimates, so this is not a proof." } else { "" }
}

fn verdict(theorem: &Theorem, covered: bool) -> Sentence {
    let text = if covered {
        "The theorem covers this setting in the mean field: with infinitely many particles in continuous time V falls below \
         epsilon by the time T*."
    } else {
        "The theorem, with the paper's constants, does not cover this setting, for the reasons above."
    };
    sentence("theorem", covered, format!("{text}{}", basis(theorem, covered)))
}

/// The verdict with the sharper constants. `dynamics` says whether everything except alpha is as in the theorem.
fn sharper(theorem: &Theorem, config: &CboConfig, dynamics: bool, covered: bool) -> Result<Sentence, TheoryError> {
    let topic = "sharper";
    let (Alpha::Constant(alpha), Some(constants), true) = (config.alpha, theorem.constants(Kind::Sharp)?, dynamics)
    else {
        return Ok(sentence(
            topic,
            false,
            "Sharper constants do not change that: what is missing is not a larger alpha.",
        ));
    };
    let compared =
        |word: &str| format!("alpha = {} is {word} the sharper alpha_0 = {}", exactly(alpha), shown(constants.alpha_0));
    if alpha.ln() <= constants.alpha_0.log {
        return Ok(sentence(
            topic,
            false,
            format!("Nor do the sharper constants cover it: {}.", compared("not above")),
        ));
    }
    let text = if covered {
        format!("So do the sharper constants: {}.", compared("above"))
    } else {
        format!(
            "The sharper constants cover it: {}. The same proof holds with them, so that V falls below epsilon by the time T* in \
             the mean field.{}",
            compared("above"),
            basis(theorem, true)
        )
    };
    Ok(sentence(topic, true, text))
}

fn particles(theorem: &Theorem, config: &CboConfig) -> Result<Sentence, TheoryError> {
    let count = config.particles;
    if count == 1 {
        let text = "A single particle is its own consensus point: drift and noise vanish, and it never moves. The theorem is about \
                    infinitely many particles.";
        return Ok(sentence("particles", Holds::Unknown, text));
    }
    let mut text = format!(
        "The theorem is about infinitely many particles; {count} of them follow the mean-field law up to an error of the order \
         1/sqrt(N) = {}, with constants that it does not give.",
        number(1.0 / (count as f64).sqrt())
    );
    if let Some(constants) = theorem.constants(Kind::Paper)? {
        let log_expected = (count as f64).ln() + constants.mass.log;
        text += &format!(
            " At the start, {} of them are expected in the box of radius r_eps/2 around v*, from which the proof argues.",
            exponential(log_expected)
        );
        if log_expected < 0.0 {
            text += " Less than one: what a run achieves is not explained by the theorem alone.";
        }
    }
    Ok(sentence("particles", Holds::Unknown, text))
}
