//! `NAME=VALUE,...`: the settings of a method as text.

use super::{TextError, number, refuse};

/// The settings in `text`, each a name among `known` and its value.
pub(crate) fn named<'a>(
    method: &str,
    known: &[&'static str],
    text: &'a str,
) -> Result<Vec<(&'static str, &'a str)>, TextError> {
    let mut found: Vec<(&'static str, &str)> = Vec::new();
    for setting in text.split(',').map(str::trim).filter(|setting| !setting.is_empty()) {
        let (name, value) = setting.split_once('=').map_or((setting, None), |(n, v)| (n.trim(), Some(v.trim())));
        let Some(own) = known.iter().find(|own| **own == name) else {
            return refuse(format!("`{name}` is not a setting of {method}; it has {}", known.join(", ")));
        };
        let Some(value) = value else { return refuse(format!("`{name}` needs a value: {name}=VALUE")) };
        if found.iter().any(|(name, _)| name == own) {
            return refuse(format!("`{name}` is given twice"));
        }
        found.push((own, value));
    }
    Ok(found)
}

/// The number that is the value of a setting.
pub(crate) fn number_of(name: &str, value: &str) -> Result<f64, TextError> {
    number(value).map_err(|error| TextError(format!("{name}: {error}")))
}

/// The settings whose numbers are not the usual ones: a name, its number, the usual one.
pub(crate) fn unusual(settings: &[(&str, f64, f64)]) -> String {
    let written = settings.iter().filter(|(_, number, usual)| number.to_bits() != usual.to_bits());
    written.map(|(name, number, _)| format!("{name}={number:?}")).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_values_and_what_is_wrong_with_them() {
        let known = ["rate", "size"];
        assert_eq!(named("jumps", &known, " size = 2 ,rate=a"), Ok(vec![("size", "2"), ("rate", "a")]));
        assert_eq!(named("jumps", &known, ""), Ok(vec![]));
        let message = |text: &str| named("jumps", &known, text).unwrap_err().to_string();
        assert_eq!(message("speed=1"), "`speed` is not a setting of jumps; it has rate, size");
        assert_eq!(message("rate"), "`rate` needs a value: rate=VALUE");
        assert_eq!(message("rate=1,rate=1"), "`rate` is given twice");
        assert_eq!(number_of("rate", "a").unwrap_err().to_string(), "rate: `a` is not a number");
        assert_eq!(unusual(&[("rate", 1.0, 1.0), ("size", 0.5, 1.0)]), "size=0.5");
    }
}
