//! The words of the language: functions, reductions, and what a mistyped name may have meant.

use super::error::FormulaFault;
use crate::functions::edit_distance;
use std::f64::consts::{E, PI};

/// A function of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Function {
    Sin,
    Cos,
    Tan,
    Sinh,
    Cosh,
    Tanh,
    Exp,
    Ln,
    Log2,
    Log10,
    Sqrt,
    Abs,
    Sign,
    Floor,
    Round,
    Min,
    Max,
}

use Function::{Abs, Cos, Cosh, Exp, Floor, Ln, Log2, Log10, Max, Min, Round, Sign, Sin, Sinh, Sqrt, Tan, Tanh};

/// Each with its name; `log` is another name of `ln`, which comes first.
const FUNCTIONS: [(&str, Function); 18] = [
    ("sin", Sin),
    ("cos", Cos),
    ("tan", Tan),
    ("sinh", Sinh),
    ("cosh", Cosh),
    ("tanh", Tanh),
    ("exp", Exp),
    ("ln", Ln),
    ("log", Ln),
    ("log2", Log2),
    ("log10", Log10),
    ("sqrt", Sqrt),
    ("abs", Abs),
    ("sign", Sign),
    ("floor", Floor),
    ("round", Round),
    ("min", Min),
    ("max", Max),
];

impl Function {
    pub(super) fn named(name: &str) -> Option<Self> {
        FUNCTIONS.iter().find_map(|(word, function)| (*word == name).then_some(*function))
    }

    pub(super) fn name(self) -> &'static str {
        FUNCTIONS.iter().find_map(|(word, function)| (*function == self).then_some(*word)).unwrap_or_default()
    }

    /// Whether it takes two or more arguments instead of one.
    pub(super) fn is_of_several(self) -> bool {
        matches!(self, Min | Max)
    }
}

/// A sum, or what else makes one number of many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reduction {
    Sum,
    Product,
    Mean,
    Min,
    Max,
}

const REDUCTIONS: [(&str, Reduction); 5] = [
    ("sum", Reduction::Sum),
    ("prod", Reduction::Product),
    ("mean", Reduction::Mean),
    ("min", Reduction::Min),
    ("max", Reduction::Max),
];

impl Reduction {
    pub(super) fn named(name: &str) -> Option<Self> {
        REDUCTIONS.iter().find_map(|(word, reduction)| (*word == name).then_some(*reduction))
    }

    pub(super) fn name(self) -> &'static str {
        REDUCTIONS.iter().find_map(|(word, reduction)| (*reduction == self).then_some(*word)).unwrap_or_default()
    }

    /// What it takes, in words.
    pub(super) fn accepted(self) -> &'static str {
        match self {
            Self::Sum => "one argument, sum(EXPRESSION), or four, sum(i, FROM, TO, EXPRESSION)",
            Self::Product => "one argument, prod(EXPRESSION), or four, prod(i, FROM, TO, EXPRESSION)",
            Self::Mean => "one argument, mean(EXPRESSION), or four, mean(i, FROM, TO, EXPRESSION)",
            Self::Min => "min(EXPRESSION), min(i, FROM, TO, EXPRESSION) or min(a, b)",
            Self::Max => "max(EXPRESSION), max(i, FROM, TO, EXPRESSION) or max(a, b)",
        }
    }
}

/// A name that is a number everywhere, but for the dimension.
pub(super) fn constant(name: &str) -> Option<f64> {
    match name {
        "pi" => Some(PI),
        "e" => Some(E),
        _ => None,
    }
}

/// Whether a name means the same in every formula, so that nothing else may be called so. An index may be called `i`, a constant not.
pub(super) fn is_reserved(name: &str) -> bool {
    matches!(name, "x" | "d") || constant(name).is_some() || is_function(name)
}

pub(super) fn is_function(name: &str) -> bool {
    Function::named(name).is_some() || Reduction::named(name).is_some()
}

/// What to say about a name that means nothing; `own` are those that the formula gives a meaning.
pub(super) fn unknown_name<'a>(name: &str, own: impl Iterator<Item = &'a str>) -> FormulaFault {
    let digits = name.trim_start_matches(['x', 'X']).trim_start_matches('_');
    let coordinate = digits.len() < name.len() && digits.parse::<u32>().is_ok();
    let suggestion = match coordinate {
        true => Some(format!("x[{digits}]")),
        false => {
            let mut names: Vec<&str> = own.collect();
            for known in ["x", "d", "pi", "e", "i"].into_iter().chain(functions()) {
                names.push(known);
            }
            nearest(name, names.into_iter())
        }
    };
    FormulaFault::UnknownName { name: name.into(), suggestion }
}

/// What to say about a function that there is not.
pub(super) fn unknown_function(name: &str) -> FormulaFault {
    let meant = match name {
        "pow" | "power" => Some("^".into()),
        "product" => Some("prod".into()),
        "fabs" => Some("abs".into()),
        "average" => Some("mean".into()),
        _ => nearest(name, functions()),
    };
    FormulaFault::UnknownFunction { name: name.into(), suggestion: meant }
}

fn functions() -> impl Iterator<Item = &'static str> {
    FUNCTIONS.iter().map(|(name, _)| *name).chain(REDUCTIONS.iter().map(|(name, _)| *name))
}

/// The most similar name, if less than half of it is wrong.
fn nearest<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> Option<String> {
    let wanted = name.to_lowercase();
    let (distance, found) = names.map(|known| (edit_distance(known, &wanted), known)).min()?;
    (2 * distance < wanted.chars().count().max(found.len())).then(|| found.to_string())
}
