//! Numbers in sentences for people: counts with their thousands separated, and never hundreds of digits.

/// A number as it would be typed, so that it can be copied: whole numbers without a point, very large and very small ones with an
/// exponent.
///
/// ```
/// use cbo::numbers::plain;
/// assert_eq!((plain(60.0), plain(0.25), plain(1e-300)), ("60".into(), "0.25".into(), "1e-300".into()));
/// ```
pub fn plain(value: f64) -> String {
    let size = value.abs();
    let short = size == 0.0 || !size.is_finite() || (1e-6..1e9).contains(&size);
    if short { value.to_string() } else { format!("{value:e}") }
}

/// A count with its thousands separated, the same way in every sentence. Files, JSON and the values of settings have plain digits.
///
/// ```
/// assert_eq!(cbo::numbers::grouped(400_401), "400 401");
/// ```
pub fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}
