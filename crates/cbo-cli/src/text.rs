//! Values as text: what the parsers of [`crate::values`] read back as the same value.

use crate::values::{DIFFUSIONS, HANDLINGS, SCHEMES, UPDATES};
use cbo::{
    Alpha, BoundHandling, Clock, Coordinates, Diffusion, Geometric, InitialLaw, Reduction, Scheme, Sigma, Update,
};

fn word_of<T: Copy + PartialEq>(value: T, words: &[(&'static str, T)]) -> String {
    words.iter().find(|(_, v)| *v == value).map_or_else(String::new, |(name, _)| (*name).to_string())
}

/// A number, so that reading gives the same bits, and a TOML number where there is one.
pub fn number(value: f64) -> String {
    if value.is_nan() { "nan".into() } else { format!("{value:?}") }
}

/// A value or `off`.
pub fn optional<T: Copy>(value: Option<T>, text: impl Fn(T) -> String) -> String {
    value.map_or_else(|| "off".into(), text)
}

/// Numbers separated by `;`, or one if all are the same.
pub fn numbers(values: &[f64]) -> String {
    match values {
        [first, rest @ ..] if rest.iter().all(|v| v.to_bits() == first.to_bits()) => number(*first),
        _ => values.iter().map(|v| number(*v)).collect::<Vec<_>>().join(";"),
    }
}

/// Coordinates.
pub fn coordinates(value: &Coordinates) -> String {
    match value {
        Coordinates::All(one) => number(*one),
        Coordinates::Each(values) => numbers(values),
    }
}

fn with_clock(text: String, clock: Clock) -> String {
    match clock {
        Clock::Step => text,
        Clock::Epoch => text + ",epoch",
    }
}

fn geometric(g: &Geometric) -> String {
    let numbers = [g.start, g.factor, g.cap].map(number).join(",");
    with_clock(format!("geometric:{numbers}"), g.clock)
}

/// alpha.
pub fn alpha(value: &Alpha) -> String {
    match value {
        Alpha::Constant(value) => number(*value),
        Alpha::Geometric(g) => geometric(g),
        Alpha::Logarithmic { start, clock } => with_clock(format!("log:{}", number(*start)), *clock),
        Alpha::EffectiveSampleSize(eta) => format!("ess:{}", number(*eta)),
    }
}

/// sigma.
pub fn sigma(value: &Sigma) -> String {
    match value {
        Sigma::Constant(value) => number(*value),
        Sigma::Geometric(g) => geometric(g),
        Sigma::Logarithmic { start, clock } => with_clock(format!("log:{}", number(*start)), *clock),
    }
}

/// An initial law; points are in the file `points`.
pub fn init(law: &InitialLaw, points: &str) -> String {
    match law {
        InitialLaw::Normal { mean, variance } => {
            format!("normal:{},{}", coordinates(mean), coordinates(variance))
        }
        InitialLaw::Uniform { low, high } => format!("uniform:{},{}", coordinates(low), coordinates(high)),
        InitialLaw::Points(_) => format!("file:{points}"),
    }
}

/// A box.
pub fn bounds(bounds: &[(f64, f64)]) -> String {
    let side = |pick: fn(&(f64, f64)) -> f64| numbers(&bounds.iter().map(pick).collect::<Vec<_>>());
    format!("{},{}", side(|b| b.0), side(|b| b.1))
}

/// A reduction.
pub fn reduction(value: Reduction) -> String {
    format!("{},{}", number(value.strength), number(value.least))
}

/// A kind of noise.
pub fn diffusion(value: Diffusion) -> String {
    word_of(value, DIFFUSIONS)
}

/// A time discretisation.
pub fn scheme(value: Scheme) -> String {
    word_of(value, SCHEMES)
}

/// Which particles move.
pub fn update(value: Update) -> String {
    word_of(value, UPDATES)
}

/// What happens at the bounds.
pub fn bound_handling(value: BoundHandling) -> String {
    word_of(value, HANDLINGS)
}
