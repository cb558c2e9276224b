//! `cbo success`: how often a minimum is found, over many seeds.

use crate::config_file::Origins;
use crate::device::{DeviceSpec, checked};
use crate::error::{CliError, print, told};
use crate::minimize::target::{keeps_minimum, under};
use crate::minimize::{eprintln_quietly, failure};
use crate::numbers::{Number, count, grouped, json, plain, short};
use crate::options::RunOptions;
use crate::result::threads;
use crate::setup::{ProblemSpec, Setup};
use crate::values::{self, Precision, RotateSpec, ShiftSpec};
use crate::{interrupt, progress, text, waits};
use cbo::device::{Fleet, Processor};
use cbo::{CboConfig, Constrained, Objective, Scalar};
use cbo_lab::fleet;
use cbo_lab::success::{Criterion, Judge, Rate, median, outcome};
use cbo_problems::{Problem, ProblemError};
use clap::Args;
use rayon::prelude::*;
use serde::Serialize;

const EXAMPLES: &str = "\
Examples:
  cbo success rastrigin --dim 20 --runs 100
  cbo success rastrigin --dim 10 --rotate random --shift random --runs 1000 --json
  cbo success ackley --dim 10 --alpha ess:0.1 --max-evaluations 50000 --tolerance 0.1

Run r has the seed SEED + r, and with `random` a shift and a rotation of its own. A run is a success if its best point lies
nearer to a minimiser than the tolerance, in the maximum norm; with `--judge consensus` its consensus point at the end. Under
constraints it is one if that point meets all of them and its value is no further than the tolerance above the known minimum, as in
the competition of CEC 2006.";

/// Measures how often a minimum is found.
#[derive(Args, Clone, Debug, Default)]
#[command(after_help = EXAMPLES)]
pub struct SuccessArgs {
    /// What is minimised, and how.
    #[command(flatten)]
    pub run: RunOptions,
    /// Number of runs
    #[arg(long, value_name = "R", default_value = "100", value_parser = values::size, help_heading = "Success")]
    pub runs: usize,
    /// Distance to a minimiser, in the maximum norm, below which a run is a success; under constraints how far the value of a feasible
    /// point may be above the minimum [default: 0.25, under constraints 1e-4]
    #[arg(long, value_name = "TOLERANCE", value_parser = values::number, help_heading = "Success")]
    pub tolerance: Option<f64>,
    /// The point by which a run is judged: best (the best ever evaluated) or consensus (the consensus point at the end, as in the papers;
    /// auto has none, and is judged by its best point)
    #[arg(long, value_name = "POINT", default_value = "best", value_parser = values::judge, help_heading = "Success")]
    pub judge: Judge,
    /// Where to compute: `cpu`, or `cuda[:N]`, the NVIDIA GPU of this number, thousands of runs at once: method cbo, with the same bits
    /// [default: cpu]
    #[arg(long, value_name = "DEVICE", help_heading = "Computation")]
    pub device: Option<DeviceSpec>,
    /// Reports every run
    #[arg(long, value_name = "YES", num_args = 0..=1, require_equals = true, default_missing_value = "true",
          hide_possible_values = true, help_heading = "Success")]
    pub verbose: Option<bool>,
}

/// One run of many.
#[derive(Clone, Debug, Serialize)]
struct Outcome {
    seed: u64,
    success: bool,
    /// Distance of the point that counts to the nearest minimiser; infinite if the run failed.
    distance: Number,
    value: Number,
    /// How far the best point violates its constraints, if there are any.
    #[serde(skip_serializing_if = "Option::is_none")]
    violation: Option<Number>,
    evaluations: u64,
    steps: u64,
    stop: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

/// The report of all runs.
#[derive(Clone, Debug, Serialize)]
struct Summary {
    objective: String,
    dim: usize,
    runs: u64,
    successes: u64,
    rate: f64,
    wilson_low: f64,
    wilson_high: f64,
    tolerance: Number,
    criterion: &'static str,
    judge: String,
    /// Runs whose best point meets its constraints, if there are any.
    #[serde(skip_serializing_if = "Option::is_none")]
    feasible_runs: Option<u64>,
    median_evaluations: Option<Number>,
    median_evaluations_successful: Option<Number>,
    median_value: Option<Number>,
    minimum: Number,
    failed_runs: u64,
    seed: u64,
    method: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    particles: Option<usize>,
    precision: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    outcomes: Option<Vec<Outcome>>,
}

/// Nobody waits for more runs than this, and their outcomes are kept until the end.
const MOST_RUNS: usize = 10_000_000;

/// The criterion in the words of the JSON object.
fn in_words(criterion: Criterion, judge: Judge) -> &'static str {
    match (criterion, judge) {
        (Criterion::Distance(_), Judge::Best) => {
            "max-norm distance of the best point to a minimiser is below the tolerance"
        }
        (Criterion::Distance(_), Judge::Consensus) => {
            "max-norm distance of the consensus point to a minimiser is below the tolerance"
        }
        (Criterion::Value(_), Judge::Best) => {
            "the best point meets all constraints, and its value is above the minimum by no more than the tolerance"
        }
        (Criterion::Value(_), Judge::Consensus) => {
            "the consensus point meets all constraints, and its value is above the minimum by no more than the tolerance"
        }
    }
}

/// Runs the command.
pub fn run(args: &SuccessArgs, origins: &Origins) -> Result<(), CliError> {
    interrupt::listen();
    if !(1..=MOST_RUNS).contains(&args.runs) {
        return Err(origins.blame("runs", &format!("runs = {}: must lie between 1 and {MOST_RUNS}", args.runs)));
    }
    if let Some(tolerance) = args.tolerance.filter(|tolerance| !(*tolerance > 0.0 && tolerance.is_finite())) {
        let message = format!("tolerance = {}: must be a positive finite number", plain(tolerance));
        return Err(origins.blame("tolerance", &message));
    }
    let mut options = args.run.clone();
    waits::be_quiet(options.quiet());
    let device = args.device.unwrap_or_default();
    let note = options.settle_method((device != DeviceSpec::Cpu).then_some("device"), origins)?;
    let setup = Setup::new(&options, origins)?;
    let gpu = device.open_for_many(is_constrained(&setup), origins)?;
    gpu.as_ref().map_or(Ok(()), |gpu| checked(gpu.check_one_of_many(&setup.plan), origins))?;
    let judge = if setup.plan.config().method.is_auto() { Judge::Best } else { args.judge };
    if !keeps_minimum(&setup.built, &setup.constraints) {
        let (given, function) = (text::constraints(&setup.constraints), setup.problem.name);
        let remedy = format!(
            "no minimiser of {function} meets it, so that nobody knows the minimum; use one that a minimiser meets"
        );
        return Err(origins.blame("constraint", &format!("constraint = {given}: {remedy}")));
    }
    if !options.quiet() {
        if judge != args.judge {
            eprintln_quietly("note: method auto evaluates no consensus point, and is judged by its best point");
        }
        note.iter().for_each(|note| eprintln_quietly(&format!("note: {note}")));
        setup.warning().iter().for_each(|warning| eprintln_quietly(&format!("warning: {warning}")));
    }
    let outcomes = match setup.precision {
        Precision::F32 => all_runs::<f32>(args, judge, &setup, gpu.as_ref().map(|gpu| gpu as &dyn Fleet<f32>)),
        Precision::F64 => all_runs::<f64>(args, judge, &setup, gpu.as_ref().map(|gpu| gpu as &dyn Fleet<f64>)),
    }?;
    if outcomes.is_empty() {
        eprintln_quietly("error: ended by Ctrl-C before a run was complete");
        return Err(CliError::Interrupted);
    }
    let interrupted = outcomes.len() < args.runs;
    let summary = Summary::new(args, judge, &setup, outcomes)?;
    print(&if args.run.json() { json(&summary) } else { summary.lines() })?;
    if interrupted { Err(CliError::Interrupted) } else { Ok(()) }
}

/// All runs, spread over the threads, each of which has one or several abreast, or made at once by a device. Runs that Ctrl-C ended are
/// left out.
fn all_runs<T: Scalar>(
    args: &SuccessArgs,
    judge: Judge,
    setup: &Setup,
    fleet: Option<&dyn Fleet<T>>,
) -> Result<Vec<Outcome>, CliError>
where
    Problem: Objective<T>,
{
    let count = threads(setup.plan.config().threads);
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(count)
        .build()
        .map_err(|e| CliError::setting("threads", count, format!("{e}; use fewer")))?;
    let bar = progress::bar(args.runs as u64, !args.run.json() && !args.run.quiet());
    let criterion = criterion(args, setup);
    let plan = setup.config_for(&setup.built, 0).check(setup.built.dim()).ok();
    let suits = !is_constrained(setup) && plan.is_some_and(|plan| Processor::suits::<T>(&plan, &*setup.built));
    let abreast = suits && pool.install(|| Processor::pays::<T>(args.runs));
    if let Some(fleet) = fleet.or(abreast.then_some(&Processor)) {
        let outcomes = pool.install(|| at_once(fleet, args.runs, judge, setup, criterion, bar.as_ref()));
        if let Some(bar) = bar {
            bar.finish_and_clear();
        }
        return outcomes;
    }
    let one = |index: usize| {
        if interrupt::requested() {
            return None;
        }
        let seed = setup.plan.config().seed.wrapping_add(index as u64);
        let outcome = one_run::<T>(setup, seed, criterion, judge);
        if let Some(bar) = &bar {
            bar.inc(1);
            bar.set_message(format!(
                "{} of {} runs, {} left",
                bar.position(),
                args.runs,
                progress::duration(bar.eta().as_secs_f64())
            ));
        }
        outcome
    };
    // One task per run: collecting in order makes the result independent of who did what.
    let outcomes = pool.install(|| (0..args.runs).into_par_iter().with_max_len(1).map(one).collect::<Vec<_>>());
    if let Some(bar) = bar {
        bar.finish_and_clear();
    }
    outcomes.into_iter().flatten().collect()
}

/// Runs that are made at once.
fn at_once<T: Scalar>(
    fleet: &dyn Fleet<T>,
    runs: usize,
    judge: Judge,
    setup: &Setup,
    criterion: Criterion,
    bar: Option<&indicatif::ProgressBar>,
) -> Result<Vec<Outcome>, CliError>
where
    Problem: Objective<T>,
{
    let watch = |part: f64| {
        if let Some(bar) = bar {
            bar.set_position((part * runs as f64) as u64);
            let left = progress::duration(bar.eta().as_secs_f64());
            bar.set_message(format!("{} of {runs} runs, {left} left", bar.position()));
        }
        !interrupt::requested()
    };
    let run = |index: usize| {
        let seed = setup.plan.config().seed.wrapping_add(index as u64);
        let problem = setup.problem_of(seed)?;
        Ok::<_, CliError>((setup.config_for(&problem, seed), problem))
    };
    let outcomes = fleet::outcomes(fleet, runs, run, judge, &watch)?;
    Ok(outcomes.into_iter().map(|found| Outcome::of(found, criterion, false)).collect())
}

/// What a success is.
fn criterion(args: &SuccessArgs, setup: &Setup) -> Criterion {
    Criterion::new(is_constrained(setup), args.tolerance)
}

fn is_constrained(setup: &Setup) -> bool {
    !setup.constraints.is_empty() || !setup.built.constraint_texts().is_empty()
}

/// One run; `None` if Ctrl-C ended it. Errors are about settings; a run that could not continue is an outcome.
fn one_run<T: Scalar>(setup: &Setup, seed: u64, criterion: Criterion, judge: Judge) -> Option<Result<Outcome, CliError>>
where
    Problem: Objective<T>,
{
    let problem = match setup.problem.build_for_run(seed) {
        Ok(problem) => problem,
        Err(ProblemError::Stopped { .. }) => return None,
        Err(e) => return Some(Err(CliError::usage(&e))),
    };
    let config = CboConfig { threads: 1, ..setup.config_for(&problem, seed) };
    let objective = setup.constraints.iter().fold(Constrained::<T, _>::new(&problem), |o, c| c.put_on(o));
    let found = match outcome::<T>(&config, &problem, &objective, judge, &interrupt::requested) {
        Ok(found) => found?,
        Err(error) => return Some(Err(failure(&error))),
    };
    // A minimiser that a random shift moves may no longer meet the constraint.
    let keeps = keeps_minimum(&problem, &setup.constraints);
    let outcome = Outcome::of(found, criterion, is_constrained(setup));
    Some(Ok(Outcome { success: outcome.success && keeps, ..outcome }))
}

impl Outcome {
    fn of(found: cbo_lab::success::Outcome, criterion: Criterion, constrained: bool) -> Self {
        Self {
            seed: found.seed,
            success: found.meets(criterion),
            distance: Number(found.distance),
            value: Number(found.value),
            violation: constrained.then_some(Number(found.violation)),
            evaluations: found.evaluations,
            steps: found.steps,
            stop: found.end.as_ref().map_or("error", |stop| stop.name()),
            error: found.end.err().map(|error| match failure(&error) {
                CliError::Failed(message) => message,
                _ => told(&error),
            }),
        }
    }
}

/// A problem in words: shifts and rotations that differ from run to run have no number to show.
pub fn description(problem: &ProblemSpec) -> Result<String, CliError> {
    let mut same = problem.clone();
    let shifted = same.shift.take_if(|s| matches!(s, ShiftSpec::Random)).is_some();
    let rotated = same.rotate.take_if(|r| matches!(r, RotateSpec::Random)).is_some();
    let changes = match (shifted, rotated) {
        (true, true) => ", shifted and rotated at random in each run",
        (true, false) => ", shifted at random in each run",
        (false, true) => ", rotated at random in each run",
        (false, false) => "",
    };
    let built = same.build(0).map_err(|e| CliError::usage(&e))?;
    Ok([built.description(), changes].concat())
}

impl Summary {
    fn new(args: &SuccessArgs, judge: Judge, setup: &Setup, outcomes: Vec<Outcome>) -> Result<Self, CliError> {
        let problem = setup.problem.build(setup.plan.config().seed).map_err(|e| CliError::usage(&e))?;
        let (runs, successes) = (outcomes.len() as u64, outcomes.iter().filter(|o| o.success).count() as u64);
        let Rate { rate, low: wilson_low, high: wilson_high, .. } = Rate::of(successes, runs);
        let finished = || outcomes.iter().filter(|o| o.error.is_none());
        let evaluations = |o: &Outcome| o.evaluations as f64;
        let criterion = criterion(args, setup);
        Ok(Self {
            objective: under(&description(&setup.problem)?, &setup.constraints),
            dim: problem.dim(),
            runs,
            successes,
            rate,
            wilson_low,
            wilson_high,
            tolerance: Number(criterion.tolerance()),
            criterion: in_words(criterion, judge),
            judge: judge.to_string(),
            feasible_runs: is_constrained(setup)
                .then(|| finished().filter(|o| o.violation.is_some_and(|v| v.0 == 0.0)).count() as u64),
            median_evaluations: median(finished().map(evaluations)).map(Number),
            median_evaluations_successful: median(finished().filter(|o| o.success).map(evaluations)).map(Number),
            median_value: median(finished().map(|o| o.value.0)).map(Number),
            minimum: Number(problem.minimum()),
            failed_runs: runs - finished().count() as u64,
            seed: setup.plan.config().seed,
            method: setup.plan.config().method.to_string(),
            particles: (!setup.plan.config().method.is_auto()).then_some(setup.plan.config().particles),
            precision: setup.precision.name(),
            outcomes: args.verbose.unwrap_or(false).then_some(outcomes),
        })
    }

    fn lines(&self) -> String {
        let told = |value: Option<Number>| value.map_or_else(|| "none".to_string(), |v| short(v.0));
        let counted = |value: Option<Number>| value.map_or_else(|| "none".to_string(), |v| count(v.0));
        let percent = |v: f64| format!("{:.1} %", 100.0 * v);
        let dims = if self.dim == 1 { "dimension" } else { "dimensions" };
        let last = self.seed.wrapping_add(self.runs - 1);
        let mut text = String::new();
        for o in self.outcomes.iter().flatten() {
            let verdict = if o.success { "success" } else { "failure" };
            let cause = o.error.as_ref().map(|e| format!(": {e}")).unwrap_or_default();
            let (value, distance) = (short(o.value.0), short(o.distance.0));
            text += &format!(
                "seed {:<8} {verdict}  value {value:<12} distance {distance:<12} evaluations {:<10} {}{cause}\n",
                o.seed,
                grouped(o.evaluations),
                o.stop
            );
        }
        let mut rows = vec![
            (
                "measured",
                format!(
                    "{} in {} {dims}{}, seeds {} to {last}",
                    self.objective,
                    grouped(self.dim as u64),
                    self.particles.map_or_else(String::new, |n| format!(", {} particles", grouped(n as u64))),
                    self.seed
                ),
            ),
            (
                "success",
                match self.feasible_runs {
                    None => format!(
                        "the {} point is nearer than {} to a minimiser, in the maximum norm",
                        self.judge,
                        short(self.tolerance.0)
                    ),
                    Some(_) => format!(
                        "the {} point meets all constraints, and its value is at most {} above the minimum",
                        self.judge,
                        short(self.tolerance.0)
                    ),
                },
            ),
            (
                "rate",
                format!(
                    "{} ({} of {} runs; 95 % Wilson interval {} to {})",
                    percent(self.rate),
                    grouped(self.successes),
                    grouped(self.runs),
                    percent(self.wilson_low),
                    percent(self.wilson_high)
                ),
            ),
            (
                "evaluations",
                format!(
                    "{} (median of all runs), {} (of the successful ones)",
                    counted(self.median_evaluations),
                    counted(self.median_evaluations_successful)
                ),
            ),
            (
                if self.judge == "best" { "best value" } else { "value" },
                format!("{} (median; known minimum {})", told(self.median_value), short(self.minimum.0)),
            ),
        ];
        if let Some(feasible) = self.feasible_runs {
            let words = format!(
                "{} of {} runs found a point that meets all constraints",
                grouped(feasible),
                grouped(self.runs)
            );
            rows.insert(3, ("feasible", words));
        }
        text += &rows.iter().map(|(name, line)| format!("{name:<12} {line}\n")).collect::<String>();
        if self.failed_runs > 0 {
            text += &format!(
                "{:<12} {} runs could not continue; --verbose says why\n",
                "failed",
                grouped(self.failed_runs)
            );
        }
        text
    }
}
