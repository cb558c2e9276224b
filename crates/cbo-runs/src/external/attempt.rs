//! One attempt to evaluate a point, and what came of it.

/// One finished attempt to evaluate a point.
#[derive(Clone, Debug, PartialEq)]
pub struct Attempt {
    /// Index of the point among those asked for.
    pub job: usize,
    /// 1 for the first attempt.
    pub attempt: u32,
    /// What came of it.
    pub outcome: Outcome,
    /// Seconds of the monotonic clock until the answer: since the point was handed over, or since the answer to the
    /// point before it where a worker had been given several.
    pub seconds: f64,
    /// The end of what the program wrote to stderr in that time: at most 2000 bytes.
    pub stderr: String,
}

/// What came of an attempt.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// A finite number, or +infinity for a point that is infeasible.
    Value(f64),
    /// The program says that there is none, in these words: a failed evaluation, not tried again.
    NoValue(String),
    /// It took longer than allowed.
    Timeout,
    /// It ended without an answer, in this way: "exit code 3", "signal 9", "exit code 0 without an answer".
    Died(String),
    /// It answered something that is not a number; the beginning of it.
    Garbage(String),
    /// It could not be started; why.
    NotStarted(String),
}

impl Outcome {
    /// The outcome of a number that a program gave: NaN and -infinity are not values.
    pub fn of(value: f64) -> Self {
        if value.is_nan() {
            Self::NoValue("the value is NaN".into())
        } else if value == f64::NEG_INFINITY {
            Self::NoValue("the value is -inf".into())
        } else {
            Self::Value(value)
        }
    }

    /// The value; NaN if there is none.
    pub fn value(&self) -> f64 {
        match self {
            Self::Value(value) => *value,
            _ => f64::NAN,
        }
    }

    /// One word: `ok`, `infeasible`, `no-value`, `timeout`, `died`, `garbage` or `not-started`.
    pub fn status(&self) -> &'static str {
        match self {
            Self::Value(f64::INFINITY) => "infeasible",
            Self::Value(_) => "ok",
            Self::NoValue(_) => "no-value",
            Self::Timeout => "timeout",
            Self::Died(_) => "died",
            Self::Garbage(_) => "garbage",
            Self::NotStarted(_) => "not-started",
        }
    }

    /// The words that belong to it, or nothing.
    pub fn message(&self) -> &str {
        match self {
            Self::NoValue(words) | Self::Died(words) | Self::Garbage(words) | Self::NotStarted(words) => words,
            Self::Value(_) | Self::Timeout => "",
        }
    }

    /// Whether another attempt may end differently: not if the program has answered.
    pub fn may_be_retried(&self) -> bool {
        !matches!(self, Self::Value(_) | Self::NoValue(_))
    }

    /// The outcome with this [`status`](Self::status), value and [`message`](Self::message); none if they do not belong
    /// together.
    pub fn from_parts(status: &str, value: Option<f64>, message: &str) -> Option<Self> {
        let words = message.to_string();
        match status {
            "ok" => value.filter(|v| v.is_finite()).map(Self::Value),
            "infeasible" => value.is_none_or(|v| v == f64::INFINITY).then_some(Self::Value(f64::INFINITY)),
            "no-value" => Some(Self::NoValue(words)),
            "timeout" => Some(Self::Timeout),
            "died" => Some(Self::Died(words)),
            "garbage" => Some(Self::Garbage(words)),
            "not-started" => Some(Self::NotStarted(words)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_lead_back_to_the_outcome() {
        let outcomes = [
            Outcome::Value(-0.5),
            Outcome::Value(f64::INFINITY),
            Outcome::NoValue("no mesh".into()),
            Outcome::Timeout,
            Outcome::Died("exit code 3".into()),
            Outcome::Garbage("hello".into()),
            Outcome::NotStarted("no such file".into()),
        ];
        for outcome in outcomes {
            let value = Some(outcome.value()).filter(|v| !v.is_nan());
            assert_eq!(Outcome::from_parts(outcome.status(), value, outcome.message()), Some(outcome));
        }
        for (status, value) in [("ok", None), ("ok", Some(f64::NAN)), ("infeasible", Some(1.0)), ("fine", Some(1.0))] {
            assert_eq!(Outcome::from_parts(status, value, ""), None, "{status} {value:?}");
        }
    }

    #[test]
    fn nan_and_minus_infinity_are_no_values() {
        assert_eq!(Outcome::of(f64::NAN), Outcome::NoValue("the value is NaN".into()));
        assert_eq!(Outcome::of(f64::NEG_INFINITY), Outcome::NoValue("the value is -inf".into()));
        assert_eq!(Outcome::of(f64::INFINITY).status(), "infeasible");
        assert!(!Outcome::of(f64::NAN).may_be_retried() && Outcome::Timeout.may_be_retried());
    }
}
