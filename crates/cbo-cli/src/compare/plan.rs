//! What is compared: problems, methods, and for each of them the settings of its runs, checked before any begins.

use super::CompareArgs;
use crate::config_file::Origins;
use crate::error::CliError;
use crate::numbers::plain;
use crate::options::RunOptions;
use crate::setup::{Setup, drafted};
use crate::success::description;
use crate::values::{Precision, Switch};
use cbo::CboConfig;
use cbo_lab::compare::{Contestant, Targets, most_evaluations};
use cbo_lab::success::Judge;
use std::collections::BTreeMap;

/// A comparison that passed every check.
pub struct Plan {
    /// The methods.
    pub methods: Vec<Contestant>,
    /// The problems.
    pub courses: Vec<Course>,
    /// Settings that were given, and the methods that run without them because they do not have them.
    pub without: BTreeMap<&'static str, Vec<String>>,
    /// What the user should know before the runs.
    pub notes: Vec<String>,
    /// The precision.
    pub precision: Precision,
    /// Threads; 0 for one per core.
    pub threads: usize,
    /// Seed of the first run.
    pub seed: u64,
}

/// A problem and the settings of all methods for it.
pub struct Course {
    /// The problem in words.
    pub description: String,
    /// The settings, in the order of the methods.
    pub setups: Vec<Setup>,
    /// Values to reach.
    pub targets: Targets,
    /// Evaluations of a run, at most.
    pub budget: u64,
}

impl Course {
    /// The name of the function.
    pub fn name(&self) -> &'static str {
        self.setups[0].problem.name
    }

    /// Number of coordinates.
    pub fn dim(&self) -> usize {
        self.setups[0].problem.dim
    }
}

impl Plan {
    /// Checks everything.
    pub fn new(args: &CompareArgs, origins: &Origins) -> Result<Self, CliError> {
        let methods = args.methods.clone().unwrap_or_default().0;
        let (options, without) = settings_of_each(&args.run, &methods, origins)?;
        let names: Vec<&String> = args.run.problem.objective.iter().chain(&args.others).collect();
        let mut courses: Vec<Course> = Vec::new();
        for name in &names {
            let options: Vec<RunOptions> = options.iter().map(|own| for_function(name, own, &names)).collect();
            let course = course(&options, &methods, origins)?;
            if courses.iter().any(|other| other.name() == course.name()) {
                return Err(CliError::Usage(format!("function {name} is given twice; leave one out")));
            }
            courses.push(course);
        }
        if courses.is_empty() {
            // Says that no function is given.
            Setup::new(&options[0], origins)?;
        }
        let mut notes: Vec<String> = without.iter().map(|(setting, names)| note(setting, names)).collect();
        if args.judge == Judge::Consensus {
            let others: Vec<String> = methods.iter().filter(|m| !m.has_consensus()).map(ToString::to_string).collect();
            if !others.is_empty() {
                let names = listed(&others);
                let be = if others.len() == 1 { "is" } else { "are" };
                notes.push(format!("note: {names} {be} judged by the best point, for want of a consensus point"));
            }
        }
        for course in &courses {
            for (setup, method) in course.setups.iter().zip(&methods) {
                let warning = setup.warning().filter(|_| matches!(method, Contestant::Engine(_)));
                let warning = warning.map(|warning| format!("warning: {method}: {warning}"));
                notes.extend(warning.filter(|warning| !notes.contains(warning)));
            }
        }
        let first = courses[0].setups[0].plan.config();
        let (threads, seed, precision) = (first.threads, first.seed, courses[0].setups[0].precision);
        Ok(Self { threads, seed, precision, methods, courses, without, notes })
    }
}

/// `a`, `a and b`, `a, b and c`.
fn listed(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [one] => one.clone(),
        [all @ .., last] => format!("{} and {last}", all.join(", ")),
    }
}

fn note(setting: &str, names: &[String]) -> String {
    let (run, have) = if names.len() == 1 { ("runs", "it does") } else { ("run", "they do") };
    format!("note: {} {run} without {setting}, which {have} not have", listed(names))
}

/// The options of one of several functions: those that make sense for it.
fn for_function(name: &str, options: &RunOptions, others: &[&String]) -> RunOptions {
    let mut options = options.clone();
    options.problem.objective = Some(name.to_string());
    let Ok(info) = cbo_problems::find(name) else { return options };
    let has = |name: &String, parameter: &str| {
        cbo_problems::find(name).is_ok_and(|info| info.parameters.iter().any(|p| p.name == parameter))
    };
    // What another one takes is for that one; what none takes is a mistake, of which the function itself complains.
    let for_another = |parameter: &str| {
        info.parameters.iter().all(|p| p.name != parameter) && others.iter().any(|other| has(other, parameter))
    };
    let problem = &mut options.problem;
    problem.amplitude = problem.amplitude.filter(|_| !for_another("amplitude"));
    problem.condition = problem.condition.filter(|_| !for_another("condition"));
    let any_dim = |name: &&String| cbo_problems::find(name).is_ok_and(|info| info.default_dim().is_none());
    problem.dim = problem.dim.filter(|_| info.default_dim().is_none() || !others.iter().any(any_dim));
    options
}

fn course(options: &[RunOptions], methods: &[Contestant], origins: &Origins) -> Result<Course, CliError> {
    let limit = |options: &RunOptions| options.max_evaluations.and_then(|Switch(limit)| limit);
    let given = options.iter().find_map(limit);
    let mut setups: Vec<Setup> = Vec::new();
    for (options, method) in options.iter().zip(methods) {
        let mut options = options.clone();
        // A baseline can spend any number of evaluations; a swarm says what it needs for a step.
        let spend = matches!(method, Contestant::Engine(_)).then_some(given).flatten();
        options.max_evaluations = spend.map(|limit| Switch(Some(limit)));
        let setup = match setups.first() {
            Some(first) => first.again(&options, origins),
            None => Setup::new(&options, origins),
        };
        let setup = setup.map_err(|error| about(error, method))?;
        let open = |(low, high): &&(f64, f64)| !(high - low).is_finite();
        if let (Contestant::Baseline(_), Some((low, high))) =
            (method, setup.plan.config().bounds.iter().flatten().find(open))
        {
            let message = format!("bounds = {},{}: {method} searches a finite box", plain(*low), plain(*high));
            return Err(origins.blame("bounds", &message));
        }
        setups.push(setup);
    }
    let budget = given.unwrap_or(most_evaluations(setups[0].problem.dim));
    if budget == 0 {
        return Err(origins.blame("max-evaluations", "max-evaluations = 0: must be at least 1"));
    }
    if !setups[0].built.constraint_texts().is_empty() {
        let (name, remedy) = (setups[0].problem.name, "baselines know no constraints; `cbo success` measures it");
        return Err(origins.blame("objective", &format!("{name} has constraints: {remedy}")));
    }
    let targets = Targets::of(&setups[0].built, setups[0].plan.config());
    Ok(Course { description: description(&setups[0].problem)?, setups, targets, budget })
}

/// An error about settings, with the method whose they are.
fn about(error: CliError, method: &Contestant) -> CliError {
    match error {
        CliError::Usage(message) if matches!(method, Contestant::Engine(_)) => {
            CliError::Usage(format!("{message} (method {method})"))
        }
        other => other,
    }
}

/// The options of each method: those that were given, without what it does not have; and what that is.
#[expect(clippy::type_complexity, reason = "two things that come from one look at the methods")]
fn settings_of_each(
    given: &RunOptions,
    methods: &[Contestant],
    origins: &Origins,
) -> Result<(Vec<RunOptions>, BTreeMap<&'static str, Vec<String>>), CliError> {
    let mut without: BTreeMap<&'static str, Vec<String>> = BTreeMap::new();
    let mut refusals: BTreeMap<&'static str, String> = BTreeMap::new();
    let mut options = Vec::new();
    for method in methods {
        let mut own = RunOptions { method: Some(method.method()), ..given.clone() };
        if matches!(method, Contestant::Engine(_)) {
            // The engine says what a method does not have. Other errors are found later, where the problem is known.
            while let Err(error) = with_its_freeze(&own).check(1) {
                let refused = own.of_the_dynamics().find(|flag| *flag == error.field.replace('_', "-"));
                let Some(flag) = refused else { break };
                refusals.entry(flag).or_insert_with(|| format!("{flag} = {}: {}", error.value, error.remedy));
                without.entry(flag).or_default().push(method.to_string());
                own.leave_out(flag);
            }
        } else {
            for flag in of_the_engine(given) {
                without.entry(flag).or_default().push(method.to_string());
                own.leave_out(flag);
            }
            own = RunOptions { batch: None, stagnation: None, strict: None, ..own };
        }
        options.push(own);
    }
    // What no method has is a mistake.
    match without.iter().find(|(_, names)| names.len() == methods.len()) {
        None => Ok((options, without)),
        Some((flag, _)) => {
            let alone =
                format!("{flag}: the baselines do not have it; leave it out, or compare a method of the engine");
            Err(origins.blame(flag, refusals.get(flag).unwrap_or(&alone)))
        }
    }
}

/// The settings in one dimension, where no problem is known yet, with a frozen point if there is to be one.
fn with_its_freeze(options: &RunOptions) -> CboConfig {
    let frozen = options.of_the_dynamics().any(|flag| flag == "freeze");
    CboConfig { freeze: frozen.then(|| vec![0.0]), ..drafted(options) }
}

/// Settings that were given and that baselines do not have.
fn of_the_engine(given: &RunOptions) -> impl Iterator<Item = &'static str> {
    let others = [
        ("batch", matches!(given.batch, Some(Switch(Some(_))))),
        ("stagnation", matches!(given.stagnation, Some(Switch(Some(_))))),
        ("strict", given.strict == Some(true)),
    ];
    given.of_the_dynamics().chain(others.into_iter().filter_map(|(flag, given)| given.then_some(flag)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_listed() {
        let names = |count: usize| listed(&["a", "b", "c"].map(String::from)[..count]);
        assert_eq!([names(1), names(2), names(3)], ["a", "a and b", "a, b and c"]);
        assert_eq!(note("sigma", &["auto".into()]), "note: auto runs without sigma, which it does not have");
    }
}
