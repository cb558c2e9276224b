//! Numbers in sentences.

/// About five significant digits, with an exponent where the number is very large or small.
pub fn number(value: f64) -> String {
    let size = value.abs();
    if value == 0.0 || !value.is_finite() {
        return format!("{value}");
    }
    if !(1e-3..1e7).contains(&size) {
        let text = format!("{value:.4e}");
        let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        return format!("{}e{exponent}", trimmed(digits));
    }
    let digits = (4 - size.log10().floor() as i32).clamp(0, 7) as usize;
    trimmed(&format!("{value:.digits$}")).to_string()
}

fn trimmed(text: &str) -> &str {
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { text }
}

/// All digits, with an exponent where there would be many zeros.
pub fn exactly(value: f64) -> String {
    let size = value.abs();
    if value == 0.0 || !value.is_finite() || (1e-5..1e7).contains(&size) {
        format!("{value}")
    } else {
        format!("{value:e}")
    }
}

/// A number by its logarithm: itself where it is in range, else as a power of e.
pub fn exponential(log: f64) -> String {
    if log.abs() < 700.0 { number(log.exp()) } else { format!("exp({})", number(log)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        for (value, text) in [
            (0.0, "0"),
            (1e300, "1e300"),
            (-0.66314, "-0.66314"),
            (1.234_56, "1.2346"),
            (10.0, "10"),
            (66.021, "66.021"),
            (1_234_567.8, "1234568"),
            (1.5e-9, "1.5e-9"),
            (f64::INFINITY, "inf"),
        ] {
            assert_eq!(number(value), text);
        }
        assert_eq!((exactly(0.1), exactly(1e300), exactly(-5e-324)), ("0.1".into(), "1e300".into(), "-5e-324".into()));
        assert_eq!((exponential(0.0), exponential(-2e20)), ("1".into(), "exp(-2e20)".into()));
    }
}
