//! Numbers for people and for JSON.
//!
//! Counts in sentences and tables have their thousands separated ([`grouped`], [`count`]). Values, coordinates and settings do not, so
//! that they can be copied; nor does anything in JSON and CSV.

pub use cbo::numbers::{grouped, plain};
use serde::{Serialize, Serializer};

/// A number in JSON: itself if finite, else one of the strings "inf", "-inf" and "nan", because JSON has no such numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Number(pub f64);

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            v if v.is_finite() => serializer.serialize_f64(v),
            v if v.is_nan() => serializer.serialize_str("nan"),
            v => serializer.serialize_str(if v > 0.0 { "inf" } else { "-inf" }),
        }
    }
}

/// A point in JSON.
pub fn numbers(x: &[f64]) -> Vec<Number> {
    x.iter().map(|v| Number(*v)).collect()
}

/// An object as one line of JSON.
pub fn json(value: &impl Serialize) -> String {
    // Only maps with odd keys and failing writers make this an error; there are none here.
    serde_json::to_string(value).unwrap_or_else(|e| format!("{{\"error\":\"{e}\"}}")) + "\n"
}

/// A number for people: six significant digits.
pub fn short(value: f64) -> String {
    rounded(value, 6)
}

/// A number for people in a hurry: four significant digits.
pub fn brief(value: f64) -> String {
    rounded(value, 4)
}

fn rounded(value: f64, significant: usize) -> String {
    let size = value.abs();
    if value == 0.0 || !value.is_finite() {
        return format!("{value}");
    }
    if !(1e-4..1e7).contains(&size) {
        let text = format!("{value:.*e}", significant - 1);
        let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        return format!("{}e{exponent}", trimmed(digits));
    }
    let digits = (significant as i32 - 1 - size.log10().floor() as i32).max(0) as usize;
    trimmed(&format!("{value:.digits$}")).to_string()
}

fn trimmed(text: &str) -> &str {
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { text }
}

/// A point for people; only the beginning of a long one.
pub fn point(x: &[f64]) -> String {
    const SHOWN: usize = 6;
    let begin = x.iter().take(SHOWN).map(|v| short(*v)).collect::<Vec<_>>().join(", ");
    if x.len() > SHOWN { format!("({begin}, ... {} more)", x.len() - SHOWN) } else { format!("({begin})") }
}

/// A count that may be a mean or a median, with its thousands separated.
pub fn count(value: f64) -> String {
    if !(0.0..1e15).contains(&value) {
        return short(value);
    }
    let fraction = trimmed(&format!("{:.1}", value.fract()))[1..].to_string();
    grouped(value.trunc() as u64) + &fraction
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_for_people() {
        for (value, text) in [
            (0.0, "0"),
            (-959.6406627, "-959.641"),
            (1234567.0, "1234567"),
            (12345678.0, "1.23457e7"),
            (1e-5, "1e-5"),
            (-2.5, "-2.5"),
            (1e15, "1e15"),
            (99999.96, "100000"),
            (f64::INFINITY, "inf"),
        ] {
            assert_eq!(short(value), text);
        }
        assert_eq!(grouped(1234567), "1 234 567");
        assert_eq!(grouped(100), "100");
        assert_eq!([count(216801.0), count(1200.5), count(0.0)], ["216 801", "1 200.5", "0"]);
        assert_eq!(point(&[1.0; 8]), "(1, 1, 1, 1, 1, 1, ... 2 more)");
    }

    #[test]
    fn json_stays_json() {
        let numbers = [f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 0.1].map(Number);
        assert_eq!(json(&numbers), "[\"inf\",\"-inf\",\"nan\",0.1]\n");
    }
}
