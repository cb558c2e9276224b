//! Numbers for people and for JSON.

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

/// A whole number with its thousands separated.
pub fn grouped(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::new();
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(c);
    }
    text
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
        assert_eq!(point(&[1.0; 8]), "(1, 1, 1, 1, 1, 1, ... 2 more)");
    }

    #[test]
    fn json_stays_json() {
        let numbers = [f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 0.1].map(Number);
        assert_eq!(json(&numbers), "[\"inf\",\"-inf\",\"nan\",0.1]\n");
    }
}
