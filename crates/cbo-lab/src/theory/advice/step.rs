//! Advice about the time step: what it does to the distance from a consensus point that stays where it is.

use super::{Holds, Sentence, sentence};
use crate::theory::stability;
use crate::theory::words::{exactly, number};
use cbo::CboConfig;

pub fn time_step(config: &CboConfig) -> Sentence {
    let drift = config.lambda * config.dt;
    let text = format!(
        "The theorem is about continuous time; steps of dt = {} follow it as dt tends to 0. lambda dt = {}: {}",
        exactly(config.dt),
        number(drift),
        if drift >= 2.0 {
            "each step overshoots the consensus point by at least the distance to it; take dt below 1/lambda."
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

pub fn mean_square(config: &CboConfig, dim: usize, factor: f64) -> Sentence {
    let edge = match config.largest_stable_sigma(dim) {
        Some(f64::INFINITY) => "it is stable for every sigma".to_string(),
        Some(sigma) => format!("it is stable for sigma below {}", number(sigma)),
        None => "no sigma makes it stable, because lambda dt >= 2; take a smaller dt".to_string(),
    };
    let by = if factor.is_finite() {
        // Six decimals, because the factor of a small step is near 1.
        if (1e-3..1e7).contains(&factor) { format!("by {factor:.6}") } else { format!("by {}", number(factor)) }
    } else {
        "by more than a number can hold".to_string()
    };
    let text = if factor < 1.0 {
        format!(
            "A step multiplies the mean square distance to a fixed consensus point {by}: mean-square stable ({edge})."
        )
    } else {
        format!(
            "A step multiplies the mean square distance to a fixed consensus point {by}: not mean-square stable; {edge}."
        )
    };
    sentence("mean square", factor < 1.0, text)
}

/// `stable` says whether the mean square contracts.
pub fn almost_surely(config: &CboConfig, dim: usize, stable: bool) -> Sentence {
    let log_factor = stability::log_factor(config, dim);
    let contracts = log_factor < 0.0;
    let does = if contracts { "keeps it so" } else { "makes it contract" };
    let edge = match stability::contracting_sigmas(config, dim) {
        Some((_, f64::INFINITY)) => "it does so for every sigma".to_string(),
        Some((0.0, high)) if config.lambda * config.dt < 2.0 => format!("sigma below {} {does}", number(high)),
        Some((low, high)) => format!("sigma between {} and {} {does}", number(low), number(high)),
        None => "no sigma makes it contract; take a smaller dt".to_string(),
    };
    let distance = "The distance of almost every particle to a fixed consensus point";
    let text = if log_factor == f64::NEG_INFINITY {
        format!("Every particle reaches a fixed consensus point in one step; {edge}.")
    } else if log_factor == 0.0 {
        format!("{distance} stays as it is; {edge}.")
    } else if !contracts {
        format!("{distance} grows {}: the swarm spreads; {edge}.", pace(log_factor, config.dt))
    } else if stable {
        format!("{distance} shrinks {}; {edge}.", pace(log_factor, config.dt))
    } else {
        format!(
            "{distance} shrinks {}, although its mean square does not: the swarm contracts while single particles still travel far. \
             Practical runs often sit here; {edge}.",
            pace(log_factor, config.dt)
        )
    };
    sentence("almost surely", contracts, text)
}

/// How fast, per unit of time; or per step, where steps are so long or so short that this says nothing.
fn pace(log_factor: f64, dt: f64) -> String {
    let exponent = log_factor / dt;
    if (1e-3..1e7).contains(&exponent.abs()) {
        format!("like exp({} t)", number(exponent))
    } else {
        format!("by a factor of exp({}) per step", number(log_factor))
    }
}
