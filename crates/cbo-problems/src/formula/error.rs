//! What can be wrong with a formula, and where.

use super::lexer::LONGEST_NAME;
use super::{MOST_BYTES, MOST_DEPTH, MOST_LOOPS, MOST_OPERATIONS};
use std::fmt;

/// A formula that cannot be used: what is wrong, and at which character.
///
/// ```
/// let error = cbo_problems::Formula::new("sum(x^2) + con(x[1])", 2).unwrap_err();
/// assert_eq!(error.to_string(), "formula, column 12: unknown function `con`; did you mean `cos`?");
/// assert_eq!(error.column, Some(12));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct FormulaError {
    /// The character, from 1; none where the whole text is wrong.
    pub column: Option<usize>,
    /// What is wrong there.
    pub fault: FormulaFault,
}

impl FormulaError {
    pub(super) fn at(column: usize, fault: FormulaFault) -> Self {
        Self { column: Some(column), fault }
    }

    pub(super) fn whole(fault: FormulaFault) -> Self {
        Self { column: None, fault }
    }
}

impl fmt::Display for FormulaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.column {
            Some(column) => write!(f, "formula, column {column}: {}", self.fault),
            None => write!(f, "formula: {}", self.fault),
        }
    }
}

impl std::error::Error for FormulaError {}

/// What is wrong with a formula.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum FormulaFault {
    /// No text.
    #[error("it is empty; write one such as sum(x^2)")]
    Empty,
    /// Too much text.
    #[error("it has {0} bytes; at most {MOST_BYTES} are read")]
    TooLong(usize),
    /// Parentheses within parentheses.
    #[error("nested more than {MOST_DEPTH} deep; give parts of it a name: a = ...; b = ...; a + b")]
    TooDeep,
    /// Sums within sums.
    #[error("more than {MOST_LOOPS} sums within each other")]
    TooManyLoops,
    /// More work than a value may take.
    #[error("with dim = {dim} a value takes more than {MOST_OPERATIONS:e} operations; use fewer dimensions or terms")]
    TooManyOperations {
        /// The dimension.
        dim: usize,
    },
    /// No coordinates.
    #[error("dim = 0: a formula needs at least one coordinate")]
    NoCoordinates,
    /// A character that no formula has.
    #[error("unexpected character `{}`{}", shown(*character), remedy(*character))]
    Character {
        /// The character.
        character: char,
    },
    /// A name that nobody could read.
    #[error("a name has at most {LONGEST_NAME} letters")]
    LongName,
    /// A constant whose name is no name.
    #[error("`{0}` is not a name; it must be made of letters, digits and _, and begin with a letter")]
    NotAName(String),
    /// A number that cannot be read.
    #[error("`{text}` is not a number that can be represented; it must be at most 1.8e308")]
    Number {
        /// The text of it.
        text: String,
    },
    /// Something else should stand here.
    #[error("expected {expected}, found {found}")]
    Expected {
        /// What should be here.
        expected: &'static str,
        /// What is.
        found: String,
    },
    /// Two numbers side by side.
    #[error("an operator is missing before {found}; a product is written a*b")]
    MissingOperator {
        /// What follows.
        found: String,
    },
    /// `**`.
    #[error("`**` is not an operator; a power is written a^b")]
    DoubleStar,
    /// A name that means nothing.
    #[error("unknown name `{name}`{}", nearest(suggestion))]
    UnknownName {
        /// The name.
        name: String,
        /// What was probably meant.
        suggestion: Option<String>,
    },
    /// A function that there is not.
    #[error("unknown function `{name}`{}", nearest(suggestion))]
    UnknownFunction {
        /// The name.
        name: String,
        /// What was probably meant.
        suggestion: Option<String>,
    },
    /// A function without its argument.
    #[error("`{0}` is a function; write {0}(...)")]
    NotCalled(&'static str),
    /// Parentheses after something that is no function.
    #[error("`{0}` is not a function; coordinates are x[1], and a product is written a*b")]
    NotAFunction(String),
    /// Square brackets after something that has no coordinates.
    #[error("only x has coordinates: x[1], not {0}[...]")]
    NotCoordinates(String),
    /// Too many or too few arguments.
    #[error("{name} takes {accepted}, not {given} arguments")]
    Arguments {
        /// The function.
        name: &'static str,
        /// What it takes.
        accepted: &'static str,
        /// How many it was given.
        given: usize,
    },
    /// The first of four arguments is no name.
    #[error("the index of {name} must be a name: {name}(i, FROM, TO, EXPRESSION)")]
    IndexName {
        /// The reduction.
        name: &'static str,
    },
    /// A name that already means something.
    #[error("`{0}` already has a meaning; choose another name")]
    Taken(String),
    /// A name that is already an index.
    #[error("`{0}` is already the index of an outer sum; choose another name")]
    TakenIndex(String),
    /// `i` within `sum(EXPR)` within `sum(i, ...)`.
    #[error(
        "`i` is the index of an outer sum and the number of the coordinate here; give the outer index another name"
    )]
    Ambiguous,
    /// x outside of anything that runs over the coordinates.
    #[error(
        "x stands for each coordinate only within sum, prod, mean, min or max of one argument; elsewhere write x[1]"
    )]
    BareX,
    /// An index that depends on the point.
    #[error("{what} must not depend on x; it is a whole number such as i, i+1 or 2*i-1")]
    NotFixed {
        /// What it is.
        what: &'static str,
    },
    /// An index that is no whole number, or not known to be one.
    #[error("{what} is {text}; it must be a whole number of at most 1e9, such as i, i+1, 2*i-1 or d-i")]
    NotWhole {
        /// What it is.
        what: &'static str,
        /// What was written, or its value.
        text: String,
    },
    /// A coordinate that there is not.
    #[error("{}", out_of_range(written, *value, *dim))]
    OutOfRange {
        /// What was written.
        written: String,
        /// The index.
        value: i64,
        /// The dimension.
        dim: usize,
    },
    /// Bounds of a sum far beyond any dimension.
    #[error("the bounds {from} and {to} of {name} are too large; they must lie between -1e9 and 1e9")]
    Bounds {
        /// The reduction.
        name: &'static str,
        /// The lower bound.
        from: i64,
        /// The upper bound.
        to: i64,
    },
    /// The largest of nothing.
    #[error("{name} has no terms: it runs from {from} to {to} with dim = {dim}")]
    NoTerms {
        /// The reduction.
        name: &'static str,
        /// The lower bound.
        from: i64,
        /// The upper bound.
        to: i64,
        /// The dimension.
        dim: usize,
    },
}

/// Control characters would move a terminal's cursor.
fn shown(character: char) -> String {
    if character.is_control() { character.escape_default().to_string() } else { character.to_string() }
}

/// What may be meant by characters that people type or paste.
fn remedy(character: char) -> &'static str {
    match character {
        '\u{2212}' | '\u{2013}' => "; minus is -",
        '\u{00d7}' | '\u{00b7}' | '\u{22c5}' => "; a product is written a*b",
        '\u{03c0}' => "; write pi",
        '{' | '}' => "; use ( ) or [ ]",
        '|' => "; the absolute value is abs(x)",
        _ => "",
    }
}

fn nearest(suggestion: &Option<String>) -> String {
    suggestion.as_ref().map(|name| format!("; did you mean `{name}`?")).unwrap_or_default()
}

fn out_of_range(written: &str, value: i64, dim: usize) -> String {
    let plain = format!("x[{value}]");
    let is = if written == plain { String::new() } else { format!("{written} is ") };
    format!("{is}{plain}, but in dimension {dim} the coordinates are x[1] to x[{dim}]")
}
