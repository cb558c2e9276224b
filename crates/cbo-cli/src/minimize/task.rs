//! What a run is to do: what is minimised and how, checked and complete.

use super::MinimizeArgs;
use super::command::{self, CommandSpec};
use super::formula;
use crate::config_file::Origins;
use crate::error::CliError;
use crate::options::RunOptions;
use crate::setup::{ProblemSpec, Setup};
use crate::stability;
use crate::values::Precision;
use crate::{settings, text};
use cbo::{CboConfig, InitialLaw, Method, Plan};
use cbo_problems::{Constraint, Formula, Problem};
use cbo_runs::folder::POINTS as POINTS_FILE;
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

/// Settings that may change when a run is resumed: they say when to stop and how fast to compute, not what.
const FREE: [&str; 12] = [
    "steps",
    "time",
    "max-evaluations",
    "max-seconds",
    "target",
    "diameter",
    "stagnation",
    "threads",
    "workers",
    "timeout",
    "retries",
    "certify",
];

/// Settings that the state of a swarm has in itself: others of these would be another run.
const FIXED: [&str; 7] = ["method", "particles", "init", "dim", "seed", "precision", "batch"];

/// A setting, or a file that the objective depends on, that is not what it was.
#[derive(Clone, Debug)]
pub struct Difference {
    /// The setting.
    pub field: String,
    /// What it was and what it is.
    pub words: String,
}

/// What is minimised.
#[derive(Clone, Debug)]
pub enum Subject {
    /// A benchmark function.
    Function(ProblemSpec, Arc<Problem>),
    /// A formula.
    Formula(Formula),
    /// A program.
    Command(CommandSpec),
}

/// A run that passed every check.
#[derive(Clone, Debug)]
pub struct Task {
    /// What is minimised.
    pub subject: Subject,
    /// How, checked.
    pub plan: Plan,
    /// In which precision.
    pub precision: Precision,
    /// Under which constraints, besides those of the function.
    pub constraints: Vec<Constraint>,
}

impl Task {
    /// What the flags ask for.
    pub fn new(args: &MinimizeArgs, origins: &Origins) -> Result<Self, CliError> {
        if let (Some(command), Some(_)) = (&args.program.command, &args.formula.formula) {
            let message = format!("command = {command}: a formula is also given; leave one of them out");
            return Err(origins.blame("command", &message));
        }
        if let Some(command) = &args.program.command {
            return command::task(&args.run, &args.program, command, origins);
        }
        if let Some(flag) = command::given(&args.program) {
            return Err(origins.blame(flag, &format!("{flag}: this belongs to a program; give one with --command")));
        }
        if let Some(text) = &args.formula.formula {
            return formula::task(&args.run, &args.formula, text, origins);
        }
        if !args.formula.constant.is_empty() {
            return Err(origins.blame("constant", "constant: this belongs to a formula; give one with --formula"));
        }
        let Setup { problem, built, plan, precision, constraints, .. } = Setup::new(&args.run, origins)?;
        Ok(Self { subject: Subject::Function(problem, built), plan, precision, constraints })
    }

    /// The task of a run on something other than a benchmark function.
    pub fn of_subject(subject: Subject, plan: Plan, options: &RunOptions) -> Self {
        let (precision, constraints) = (options.precision.unwrap_or_default(), options.constraints());
        Self { subject, plan, precision, constraints }
    }

    /// How.
    pub fn config(&self) -> &CboConfig {
        self.plan.config()
    }

    /// Number of coordinates.
    pub fn dim(&self) -> usize {
        self.plan.dim()
    }

    /// Every setting, keys as the flags have them.
    pub fn entries(&self) -> Vec<(&'static str, String)> {
        let mut entries = match &self.subject {
            Subject::Function(spec, _) => settings::of_problem(spec),
            Subject::Formula(formula) => formula::entries(formula),
            Subject::Command(spec) => spec.entries(),
        };
        if !self.constraints.is_empty() {
            entries.push(("constraint", text::constraints(&self.constraints)));
        }
        entries.extend(settings::of_config(self.config(), POINTS_FILE));
        entries.push(("precision", self.precision.name().into()));
        entries
    }

    /// Whether points have to meet constraints.
    pub fn is_constrained(&self) -> bool {
        let own = match &self.subject {
            Subject::Function(_, problem) => !problem.constraint_texts().is_empty(),
            Subject::Formula(_) | Subject::Command(_) => false,
        };
        own || !self.constraints.is_empty()
    }

    /// What the user should know before the run.
    pub fn warning(&self) -> Option<String> {
        stability::warning(&self.plan)
    }

    /// The initial points as a CSV file, if they are given.
    pub fn points(&self) -> Option<String> {
        let InitialLaw::Points(points) = &self.config().init else { return None };
        let row = |x: &[f64]| x.iter().map(|v| text::number(*v)).collect::<Vec<_>>().join(",") + "\n";
        Some(points.chunks_exact(self.dim()).map(row).collect())
    }

    /// What the run depends on besides its settings, with SHA-256 of the contents: the files of a program, given points.
    pub fn files(&self) -> BTreeMap<String, String> {
        let mut files = BTreeMap::new();
        if let Subject::Command(spec) = &self.subject {
            for path in spec.settings.program.files() {
                files.extend(digest(&path).map(|digest| (path.display().to_string(), digest)));
            }
        }
        files.extend(self.points().map(|points| (POINTS_FILE.to_string(), hexadecimal(&Sha256::digest(points)))));
        files
    }

    /// Whether a run that has begun cannot go on with another value of this setting. What `auto` asks for, and what a memory holds, depends on
    /// everything before.
    pub fn is_fixed(&self, field: &str) -> bool {
        let method = &self.config().method;
        FIXED.contains(&field) || method.is_auto() || matches!(method, Method::Memory(_)) && is_of_objective(field)
    }

    /// What differs between this task and the one whose settings and files are given.
    pub fn differences(
        &self,
        settings: &BTreeMap<String, String>,
        files: &BTreeMap<String, String>,
    ) -> Vec<Difference> {
        let now: BTreeMap<String, String> =
            self.entries().into_iter().map(|(key, value)| (key.into(), value)).collect();
        let keys: BTreeSet<&String> = settings.keys().chain(now.keys()).collect();
        let said = |value: Option<&String>| value.map_or("not given".to_string(), Clone::clone);
        // A setting that the program of then did not have is no difference if it has its default.
        let defaults = settings_of_default();
        let unknown = |key: &str| !settings.contains_key(key) && now.get(key) == defaults.get(key);
        let mut found: Vec<Difference> = keys
            .into_iter()
            .filter(|key| !FREE.contains(&key.as_str()) && settings.get(*key) != now.get(*key) && !unknown(key))
            .map(|key| {
                let words = format!("{key} was {} and is {}", said(settings.get(key)), said(now.get(key)));
                Difference { field: key.clone(), words }
            })
            .collect();
        let present = self.files();
        for (path, then) in files {
            let words = match present.get(path) {
                Some(now) if now == then => continue,
                Some(_) => format!("the contents of {path} have changed"),
                None => format!("{path} was part of the program and is not found"),
            };
            let field = if path == POINTS_FILE { "init" } else { "command" };
            found.push(Difference { field: field.into(), words });
        }
        found
    }
}

/// Whether a setting says what is minimised, not how.
pub fn is_of_objective(field: &str) -> bool {
    field != "precision" && field != "dim" && !settings_of_default().contains_key(field)
}

fn settings_of_default() -> BTreeMap<String, String> {
    let entries = settings::of_config(&CboConfig::default(), POINTS_FILE);
    entries.into_iter().map(|(key, value)| (key.into(), value)).collect()
}

fn digest(path: &Path) -> Option<String> {
    let mut file = std::fs::File::open(path).ok()?;
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        match std::io::Read::read(&mut file, &mut buffer).ok()? {
            0 => return Some(hexadecimal(&hash.finalize())),
            n => hash.update(&buffer[..n]),
        }
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
