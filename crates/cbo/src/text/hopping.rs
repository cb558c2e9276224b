//! The settings of consensus hopping as text.

use super::{TextError, number, refuse};
use crate::method::Hopping;
use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

/// The settings by their names.
const NAMES: &str = "momentum, rate, cosine, antithetic, weights, start";

/// `NAME=VALUE`, separated by commas: the names are those of the fields.
impl FromStr for Hopping {
    type Err = TextError;
    fn from_str(text: &str) -> Result<Self, TextError> {
        Self::default().with(text)
    }
}

impl Hopping {
    /// These settings, with those that a text names changed.
    ///
    /// ```
    /// use cbo::Hopping;
    /// let usual = Hopping { momentum: 0.9, ..Hopping::default() };
    /// assert_eq!(usual.with("rate=0.1"), Ok(Hopping { rate: 0.1, ..usual }));
    /// ```
    pub fn with(self, text: &str) -> Result<Self, TextError> {
        let mut hopping = self;
        for setting in text.split(',').filter(|setting| !setting.trim().is_empty()) {
            let Some((name, value)) = setting.split_once('=') else {
                return refuse(format!("`{}` needs a value, as in momentum=0.9", setting.trim()));
            };
            match name.trim() {
                "momentum" => hopping.momentum = number(value)?,
                "rate" => hopping.rate = number(value)?,
                "cosine" => hopping.cosine = truth("cosine", value)?,
                "antithetic" => hopping.antithetic = truth("antithetic", value)?,
                "weights" => hopping.weights = one_of("weights", value)?,
                "start" => hopping.start = one_of("start", value)?,
                other => return refuse(format!("`{other}` is not a setting of hopping; it has {NAMES}")),
            }
        }
        Ok(hopping)
    }

    /// All settings, for a reader who has others where none is named.
    pub fn written_out(&self) -> String {
        self.settings().map(|(name, value, _)| format!("{name}={value}")).join(",")
    }

    /// Names, values, and whether they are not the default.
    fn settings(&self) -> [(&'static str, String, bool); 6] {
        let usual = Self::default();
        [
            ("momentum", format!("{:?}", self.momentum), self.momentum != usual.momentum),
            ("rate", format!("{:?}", self.rate), self.rate != usual.rate),
            ("cosine", self.cosine.to_string(), self.cosine != usual.cosine),
            ("antithetic", self.antithetic.to_string(), self.antithetic != usual.antithetic),
            ("weights", self.weights.to_string(), self.weights != usual.weights),
            ("start", self.start.to_string(), self.start != usual.start),
        ]
    }
}

fn truth(name: &str, text: &str) -> Result<bool, TextError> {
    let text = text.trim();
    text.parse().or_else(|_| refuse(format!("{name} is true or false, not `{text}`")))
}

fn one_of<T: FromStr<Err = TextError>>(name: &str, text: &str) -> Result<T, TextError> {
    text.parse().or_else(|error: TextError| refuse(format!("{name}: {error}")))
}

/// The settings that are not the default.
impl Display for Hopping {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let written = self.settings().into_iter().filter(|(.., unusual)| *unusual);
        f.pad(&written.map(|(name, value, _)| format!("{name}={value}")).collect::<Vec<_>>().join(","))
    }
}

#[cfg(test)]
mod tests {
    use crate::method::Method;

    #[test]
    fn settings_are_written_as_they_are_read() {
        for text in [
            "hopping",
            "hopping:momentum=0.9,rate=0.5,cosine=true,antithetic=false,weights=ranks,start=point",
            "hopping:rate=20.0",
        ] {
            assert_eq!(text.parse::<Method>().expect("a method").to_string(), text);
        }
        assert_eq!(" hopping: weights = ranks , rate=2".parse::<Method>(), "hopping:rate=2,weights=ranks".parse());
    }

    #[test]
    fn wrong_settings_are_named() {
        let message = |text: &str| text.parse::<Method>().expect_err("wrong").to_string();
        assert_eq!(message("hopping:speed=1"), format!("`speed` is not a setting of hopping; it has {}", super::NAMES));
        assert_eq!(message("hopping:rate"), "`rate` needs a value, as in momentum=0.9");
        assert_eq!(message("hopping:rate=fast"), "`fast` is not a number");
        assert_eq!(message("hopping:cosine=yes"), "cosine is true or false, not `yes`");
        assert_eq!(message("hopping:weights=losses"), "weights: it is one of energies, ranks");
        assert_eq!(message("hopping:start=0"), "start: it is one of law, point");
    }
}
