//! Values as text: what the parsers of [`crate::values`] read back as the same value. Settings of the engine write themselves.

use cbo::{Coordinates, InitialLaw};

/// A number, so that reading gives the same bits, and a TOML number where there is one.
pub fn number(value: f64) -> String {
    if value.is_nan() { "nan".into() } else { format!("{value:?}") }
}

/// A value or `off`.
pub fn optional<T: Copy>(value: Option<T>, text: impl Fn(T) -> String) -> String {
    value.map_or_else(|| "off".into(), text)
}

/// An initial law; points are in the file `points`.
pub fn init(law: &InitialLaw, points: &str) -> String {
    if let InitialLaw::Points(_) = law { format!("file:{points}") } else { law.to_string() }
}

/// A box.
pub fn bounds(bounds: &[(f64, f64)]) -> String {
    let side = |pick: fn(&(f64, f64)) -> f64| Coordinates::Each(bounds.iter().map(pick).collect());
    format!("{},{}", side(|b| b.0), side(|b| b.1))
}

/// Text from a file, a path or a program on one line of a terminal: control characters are written out, so that they neither move the
/// cursor nor begin a line.
pub fn one_line(text: &str) -> String {
    let shown = |c: char| if c.is_control() { c.escape_default().to_string() } else { c.to_string() };
    text.chars().map(shown).collect()
}

/// Constraints as the flag reads them.
pub fn constraints(constraints: &[cbo_problems::Constraint]) -> String {
    constraints.iter().map(ToString::to_string).collect::<Vec<_>>().join(";")
}
