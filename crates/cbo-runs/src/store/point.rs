//! Points as text and as keys.

use sha2::{Digest, Sha256};

/// A point as JSON that reads back to the same bits: `[0.5,-1.0]`. Values that JSON cannot write as numbers are strings.
pub fn to_text(x: &[f64]) -> String {
    let number = |v: &f64| match *v {
        v if v.is_finite() => format!("{v:?}"),
        v if v.is_nan() => "\"nan\"".into(),
        v => format!("\"{v}\""),
    };
    format!("[{}]", x.iter().map(number).collect::<Vec<_>>().join(","))
}

/// Back from text. Not by a JSON library: those may round the last bit.
pub fn from_text(text: &str) -> Option<Vec<f64>> {
    let inner = text.trim().strip_prefix('[')?.strip_suffix(']')?.trim();
    if inner.is_empty() {
        return Some(Vec::new());
    }
    let number = |item: &str| match item.trim() {
        "\"nan\"" => Some(f64::NAN),
        "\"inf\"" => Some(f64::INFINITY),
        "\"-inf\"" => Some(f64::NEG_INFINITY),
        // Rust reads words such as `inf` too, which JSON does not have.
        item if item.ends_with(|c: char| c.is_ascii_digit()) => item.parse().ok(),
        _ => None,
    };
    inner.split(',').map(number).collect()
}

/// The key of a point: 128 bits of SHA-256, so that two points never share one. All NaNs are one.
pub fn digest(x: &[f64]) -> u128 {
    let mut hash = Sha256::new();
    for v in x {
        let v = if v.is_nan() { f64::NAN } else { *v };
        hash.update(v.to_bits().to_le_bytes());
    }
    let bytes: [u8; 32] = hash.finalize().into();
    u128::from_le_bytes(std::array::from_fn(|i| bytes[i]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_point_reads_back_bit_by_bit(x in prop::collection::vec(prop::num::f64::ANY, 0..8)) {
            let back = from_text(&to_text(&x)).expect("readable");
            let bits = |x: &[f64]| x.iter().map(|v| if v.is_nan() { u64::MAX } else { v.to_bits() }).collect::<Vec<_>>();
            prop_assert_eq!(bits(&x), bits(&back));
            prop_assert_eq!(digest(&x), digest(&back));
            prop_assert!(serde_json::from_str::<serde_json::Value>(&to_text(&x)).is_ok(), "JSON");
        }

        #[test]
        fn any_text_is_read_or_refused(text in ".{0,40}") {
            let _ = from_text(&text);
        }
    }

    #[test]
    fn points_in_words() {
        assert_eq!(to_text(&[0.5, -1.0, 1e300, -0.0]), "[0.5,-1.0,1e300,-0.0]");
        assert_eq!(to_text(&[f64::INFINITY, f64::NEG_INFINITY, f64::NAN]), "[\"inf\",\"-inf\",\"nan\"]");
        assert_eq!(from_text(" [1, 2e3] "), Some(vec![1.0, 2000.0]));
        for wrong in ["", "1", "[1", "[1,]", "[a]", "[inf]", "[1;2]", "[[1]]"] {
            assert_eq!(from_text(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn bits_make_the_key() {
        assert_ne!(digest(&[0.0]), digest(&[-0.0]));
        assert_ne!(digest(&[0.0]), digest(&[0.0, 0.0]));
        assert_ne!(digest(&[1.0, 2.0]), digest(&[2.0, 1.0]));
        assert_eq!(digest(&[f64::NAN]), digest(&[-f64::NAN]));
    }
}
