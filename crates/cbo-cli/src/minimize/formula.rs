//! A formula to minimise: its flags, and the checks before a run.

use super::command;
use super::task::{Subject, Task};
use crate::config_file::Origins;
use crate::error::CliError;
use crate::options::RunOptions;
use crate::{text, values};
use cbo_problems::{Formula, FormulaError};
use clap::Args;

/// Characters of a formula that are shown around a mistake.
const SHOWN: usize = 100;

/// The flags of a formula.
#[derive(Args, Clone, Debug, Default)]
pub struct FormulaOptions {
    /// A formula to minimise instead of a function, such as "sum(x^2 + 2.5*(1 - cos(2*pi*x)))", with --dim and --bounds (or --init):
    /// `x[1]` to `x[d]`, sum, prod, mean, min and max of an expression in x or over an index (`sum(i, 1, d-1, x[i]*x[i+1])`), + - * / ^, pi, e,
    /// sin cos tan sinh cosh tanh exp ln log2 log10 sqrt abs sign floor round, names (`a = 2; a*x[1]`)
    #[arg(long, value_name = "FORMULA", help_heading = "Problem")]
    pub formula: Option<String>,
    /// A named number in the formula: NAME=VALUE, more than once or several with `;` between
    #[arg(long, value_name = "NAME=VALUE", value_parser = constant, value_delimiter = ';', help_heading = "Problem")]
    pub constant: Vec<(String, f64)>,
}

/// A constant: NAME=VALUE.
fn constant(text: &str) -> Result<(String, f64), String> {
    let (name, value) = text.split_once('=').ok_or("give NAME=VALUE, for example a=2.5")?;
    Ok((name.trim().into(), values::number(value.trim())?))
}

/// Every setting of a formula, keys as the flags have them.
pub fn entries(formula: &Formula) -> Vec<(&'static str, String)> {
    let mut entries = vec![("formula", formula.text().to_string())];
    if !formula.constants().is_empty() {
        let constants = formula.constants().iter().map(|(name, value)| format!("{name}={}", text::number(*value)));
        entries.push(("constant", constants.collect::<Vec<_>>().join(";")));
    }
    entries.push(("dim", formula.dim().to_string()));
    entries
}

/// The task of a run on a formula.
pub fn task(
    options: &RunOptions,
    formula_options: &FormulaOptions,
    text: &str,
    origins: &Origins,
) -> Result<Task, CliError> {
    let problem = &options.problem;
    if let Some(name) = &problem.objective {
        let message = format!("formula: a function, {name}, is also given; leave one of them out");
        return Err(origins.blame("formula", &message));
    }
    command::refuse_flags_of_functions(options, "a formula", origins)?;
    let Some(dim) = problem.dim.filter(|dim| *dim > 0) else {
        let message = "dim is missing: say how many coordinates the formula has, for example --dim 5";
        return Err(origins.blame("dim", message));
    };
    let formula = Formula::with_constants(text, dim, &formula_options.constant)
        .map_err(|error| refused(&error, text, origins))?;
    let plan = command::plan(options, dim, origins)?;
    Ok(Task::of_subject(Subject::Formula(formula), plan, options))
}

/// What is wrong, and the formula with a mark under the place.
fn refused(error: &FormulaError, text: &str, origins: &Origins) -> CliError {
    match (origins.blame("formula", &error.to_string()), error.column) {
        (CliError::Usage(message), Some(column)) => {
            let (line, place) = around(text, column - 1);
            CliError::Pointed { message, line, place }
        }
        (whole, _) => whole,
    }
}

/// The text around a character on one line of a terminal, and where the character is in it.
fn around(text: &str, place: usize) -> (String, usize) {
    let shown = |c: char| if c.is_control() { ' ' } else { c };
    let from = if place < SHOWN * 3 / 4 { 0 } else { place - SHOWN / 2 };
    let line: String = text.chars().map(shown).skip(from).take(SHOWN).collect();
    (line, place - from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mark_stands_under_the_character() {
        assert_eq!(around("a\tb\nc", 4), ("a b c".into(), 4));
        let long: String = ('a'..='z').cycle().take(1000).collect();
        for place in [0, 74, 75, 500, 999] {
            let (line, marked) = around(&long, place);
            assert!(line.len() <= SHOWN);
            assert_eq!(line.chars().nth(marked), long.chars().nth(place), "{place}");
        }
        // Behind the last character, where something is missing.
        assert_eq!(around("sum(x", 5), ("sum(x".into(), 5));
    }
}
