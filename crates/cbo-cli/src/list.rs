//! `cbo list`: the benchmark functions.

use crate::error::{CliError, print};
use crate::numbers::{Number, json};
use crate::setup::unknown;
use cbo_problems::{Dims, Info};
use clap::Args;
use serde::Serialize;

const EXAMPLES: &str = "\
Examples:
  cbo list
  cbo list rastrigin
  cbo list schwefel          # all with this in their name
  cbo list --json";

/// Shows the benchmark functions.
#[derive(Args, Clone, Debug, Default)]
#[command(after_help = EXAMPLES)]
pub struct ListArgs {
    /// Shows this function in full; part of a name shows all that have it
    #[arg(value_name = "FUNCTION")]
    pub name: Option<String>,
    /// JSON on stdout: an array of functions, or the one function found
    #[arg(long)]
    pub json: bool,
}

#[derive(Serialize)]
struct Entry {
    name: &'static str,
    title: &'static str,
    formula: &'static str,
    /// "any", "at least 2" or "2".
    dims: String,
    /// The only dimension, where there is one.
    dim: Option<usize>,
    domain: Vec<(Number, Number)>,
    confined: bool,
    /// In plain text; none for most.
    constraints: &'static [&'static str],
    optimum: &'static str,
    source: &'static str,
    parameters: Vec<ParameterEntry>,
}

#[derive(Serialize)]
struct ParameterEntry {
    name: &'static str,
    meaning: &'static str,
    default: Number,
    least: Number,
    most: Number,
}

impl Entry {
    fn new(info: &Info) -> Self {
        let parameter = |p: &cbo_problems::Parameter| ParameterEntry {
            name: p.name,
            meaning: p.meaning,
            default: Number(p.default),
            least: Number(p.least),
            most: Number(p.most),
        };
        Self {
            name: info.name,
            title: info.title,
            formula: info.formula,
            dims: info.dims.to_string(),
            dim: info.default_dim(),
            domain: info.domain.iter().map(|(low, high)| (Number(*low), Number(*high))).collect(),
            confined: info.confined,
            constraints: constraints(info),
            optimum: info.optimum,
            source: info.source,
            parameters: info.parameters.iter().map(parameter).collect(),
        }
    }
}

/// Runs the command.
pub fn run(args: &ListArgs) -> Result<(), CliError> {
    let Some(name) = &args.name else {
        let all = cbo_problems::all();
        return print(&if args.json { json(&all.iter().map(Entry::new).collect::<Vec<_>>()) } else { table(&all) });
    };
    let found = match cbo_problems::find(name) {
        Ok(info) => vec![info],
        Err(error) => {
            Some(with_part(name)).filter(|found| !found.is_empty()).ok_or_else(|| CliError::Usage(unknown(&error)))?
        }
    };
    print(&match &found[..] {
        [info] => {
            if args.json {
                json(&Entry::new(info))
            } else {
                in_full(info)
            }
        }
        several if args.json => json(&several.iter().map(Entry::new).collect::<Vec<_>>()),
        several => table(several),
    })
}

/// The functions with this in their name or title.
fn with_part(part: &str) -> Vec<Info> {
    let part = part.trim().to_lowercase();
    let has = |info: &Info| info.name.contains(&part) || info.title.to_lowercase().contains(&part);
    cbo_problems::all().into_iter().filter(|info| !part.is_empty() && has(info)).collect()
}

/// The constraints of a function of the list.
fn constraints(info: &Info) -> &'static [&'static str] {
    cbo_problems::constraints(info.name).unwrap_or_default()
}

fn dims(info: &Info) -> String {
    match info.dims {
        Dims::AtLeast(1) => "any".into(),
        Dims::AtLeast(least) => format!(">= {least}"),
        Dims::Exactly(only) => only.to_string(),
    }
}

fn domain(info: &Info) -> String {
    let interval = |(low, high): &(f64, f64)| format!("[{}, {}]", rounded(*low), rounded(*high));
    let all = info.domain.iter().map(interval).collect::<Vec<_>>().join(" x ");
    if info.confined { all + " *" } else { all }
}

/// Ends of domains such as pi are easier to read when shortened.
fn rounded(value: f64) -> String {
    crate::numbers::short(value)
}

fn table(functions: &[Info]) -> String {
    let formula = |info: &Info| match constraints(info).len() {
        0 => info.formula.to_string(),
        count => format!("{}, {count} constraints", cut(info.formula)),
    };
    let row = |info: &Info| [info.name.to_string(), dims(info), domain(info), cut(info.optimum), formula(info)];
    let mut rows = vec![["name", "dims", "domain", "minimum", "formula"].map(String::from)];
    rows.extend(functions.iter().map(row));
    let mut widths = [0; 5];
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let mut text = String::new();
    for row in &rows {
        let line: String = row.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}  ")).collect();
        text += line.trim_end();
        text.push('\n');
    }
    text + &format!(
        "\n{} functions. * points outside the domain are infeasible. `cbo list NAME` shows one in full, with its source.\n",
        functions.len()
    )
}

/// The beginning of a long text; in full it is shown for one function.
fn cut(text: &str) -> String {
    const WIDTH: usize = 52;
    if text.chars().count() <= WIDTH {
        return text.into();
    }
    text.chars().take(WIDTH - 4).collect::<String>().trim_end().to_string() + " ..."
}

fn in_full(info: &Info) -> String {
    let outside = if info.confined { "; points outside are infeasible" } else { "" };
    let mut rows = vec![
        ("name", format!("{} ({})", info.name, info.title)),
        ("formula", info.formula.into()),
        ("dimensions", info.dims.to_string()),
        ("domain", domain(info).trim_end_matches(" *").to_string() + outside),
        ("minimum", info.optimum.into()),
        ("source", info.source.into()),
    ];
    for (place, constraint) in constraints(info).iter().enumerate() {
        rows.insert(2 + place, ("constraint", constraint.to_string()));
    }
    for p in info.parameters {
        rows.push(("parameter", format!("--{} {} ({}; from {} to {})", p.name, p.default, p.meaning, p.least, p.most)));
    }
    let dim = if info.default_dim().is_some() { String::new() } else { " --dim 10".into() };
    rows.push(("try", format!("cbo minimize {}{dim}", info.name)));
    rows.iter().map(|(name, line)| format!("{name:<12} {line}\n")).collect()
}
