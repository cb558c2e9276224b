//! `cbo compare`: methods side by side, those of the engine and the baselines, on the same problems from the same starts.

mod outputs;
mod plan;
mod report;

use crate::config_file::Origins;
use crate::device::{DeviceSpec, checked};
use crate::error::{CliError, print, told};
use crate::minimize::{eprintln_quietly, failure};
use crate::numbers::{json, plain};
use crate::options::RunOptions;
use crate::result::threads;
use crate::values::{self, Precision};
use crate::{interrupt, progress, waits};
use cbo::device::Fleet;
use cbo::{Auto, CboConfig, Method, Objective, Scalar};
use cbo_cuda::Cuda;
use cbo_lab::baselines::Baseline;
use cbo_lab::compare::{Comparison, Contestant, Entry, Goal, Measured, Trial, trial};
use cbo_lab::fleet;
use cbo_lab::success::Judge;
use cbo_problems::{Problem, ProblemError};
use clap::Args;
use plan::{Course, Plan};
use rayon::prelude::*;
use report::Report;
use std::collections::BTreeMap;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  cbo compare rastrigin --dim 10
  cbo compare rastrigin ackley --dim 10 --rotate random --shift random --methods auto,cbo,memory,pso,de --out results
  cbo compare sphere --dim 5 --methods cbo,memory:drift=0.5,beta=100,pso:particles=20 --runs 100 --json
  cbo compare ackley --dim 20 --methods cbo,memory --sigma 1.5 --judge consensus

Run r has the seed SEED + r, and the same shift, rotation and initial points for all methods. Settings of the dynamics are for the methods
that have them. A run is a success if its best point (or its consensus point) lies nearer to a minimiser than the tolerance, in the maximum
norm.";

/// Arguments of `cbo compare`.
#[derive(Args, Clone, Debug, Default)]
#[command(after_help = EXAMPLES)]
pub struct CompareArgs {
    /// What is minimised, and how.
    #[command(flatten)]
    pub run: RunOptions,
    /// Further functions
    #[arg(value_name = "FUNCTION")]
    pub others: Vec<String>,
    /// The methods, separated by commas, with settings if you like (memory:drift=0.5,beta=100): those of the engine, and the baselines
    /// random, annealing, genetic, programming, ants, pso, de, nelder-mead [default: auto, cbo and all baselines]
    #[arg(long, value_name = "METHOD,...", value_parser = methods, help_heading = "Comparison")]
    pub methods: Option<Methods>,
    /// Number of runs of each method
    #[arg(long, value_name = "R", default_value = "50", value_parser = values::size, help_heading = "Comparison")]
    pub runs: usize,
    /// Distance to a minimiser, in the maximum norm, below which a run is a success
    #[arg(long, value_name = "LENGTH", default_value = "0.25", value_parser = values::number, help_heading = "Comparison")]
    pub tolerance: f64,
    /// The point by which a run is judged: best (the best ever evaluated) or consensus (the consensus point at the end, as in the papers;
    /// auto and the baselines have none, and are judged by their best points)
    #[arg(long, value_name = "POINT", default_value = "best", value_parser = values::judge, help_heading = "Comparison")]
    pub judge: Judge,
    /// Where the runs of method cbo are computed: `cpu`, or `cuda[:N]`, the NVIDIA GPU of this number, many at once, with the same bits;
    /// other methods run on the processor [default: cpu]
    #[arg(long, value_name = "DEVICE", help_heading = "Computation")]
    pub device: Option<DeviceSpec>,
    /// Writes all numbers as CSV and JSON, and the picture as SVG and PNG, to this folder
    #[arg(long, value_name = "FOLDER", help_heading = "Output")]
    pub out: Option<PathBuf>,
}

/// Methods to compare.
#[derive(Clone, Debug, PartialEq)]
pub struct Methods(pub Vec<Contestant>);

fn methods(text: &str) -> Result<Methods, String> {
    Contestant::list(text).map(Methods).map_err(|e| e.to_string())
}

/// The solver without settings, the swarm of the paper, and all baselines.
impl Default for Methods {
    fn default() -> Self {
        let engine = [Method::Auto(Auto::default()), Method::default()].map(Contestant::Engine);
        let baselines = Baseline::names().filter_map(|name| name.parse().ok()).map(Contestant::Baseline);
        Self(engine.into_iter().chain(baselines).collect())
    }
}

/// Completes the command: flags that it shares with others but that make no sense here are not shown.
pub fn complete(command: clap::Command) -> clap::Command {
    ["method", "local", "max_seconds", "constraint"]
        .iter()
        .fold(command, |command, flag| command.mut_arg(flag, |arg| arg.hide(true)))
}

/// Nobody waits for more runs than this.
const MOST_RUNS: usize = 10_000;

/// Runs the command.
pub fn run(args: &CompareArgs, origins: &Origins) -> Result<(), CliError> {
    interrupt::listen();
    check(args, origins)?;
    waits::be_quiet(args.run.quiet());
    let plan = Plan::new(args, origins)?;
    if let Some(folder) = &args.out {
        outputs::check(folder, args, origins)?;
    }
    if !args.run.quiet() {
        plan.notes.iter().for_each(|note| eprintln_quietly(note));
    }
    let gpu = gpu_for(args, &plan, origins)?;
    let runs = match plan.precision {
        Precision::F32 => all_trials::<f32>(args, &plan, gpu.as_ref().map(|gpu| gpu as &dyn Fleet<f32>)),
        Precision::F64 => all_trials::<f64>(args, &plan, gpu.as_ref().map(|gpu| gpu as &dyn Fleet<f64>)),
    }?;
    let results = results(&plan, runs);
    if results.is_empty() {
        eprintln_quietly("error: ended by a signal before a run was complete");
        return Err(CliError::Interrupted);
    }
    let interrupted = results.len() < plan.courses.len() || results.iter().any(|r| r.runs() < args.runs);
    let report = Report::new(args, &plan, &results);
    print(&if args.run.json() { json(&report) } else { report.lines() })?;
    if let Some(folder) = &args.out {
        outputs::write(folder, args, &report, &results)?;
    }
    if interrupted { Err(CliError::Interrupted) } else { Ok(()) }
}

/// The GPU, if there is to be one, for the runs of method cbo.
fn gpu_for(args: &CompareArgs, plan: &Plan, origins: &Origins) -> Result<Option<Cuda>, CliError> {
    let device = args.device.unwrap_or_default();
    let Some(at) = plan.methods.iter().position(runs_at_once) else {
        if device == DeviceSpec::Cpu {
            return Ok(None);
        }
        let message = format!("device = {device}: none of the methods runs there; leave it out, or compare cbo");
        return Err(origins.blame("device", &message));
    };
    let gpu = device.open_for_many(false, origins)?;
    for course in plan.courses.iter().filter(|_| gpu.is_some()) {
        gpu.as_ref().map_or(Ok(()), |gpu| checked(gpu.check_one_of_many(&course.setups[at].plan), origins))?;
    }
    Ok(gpu)
}

/// Whether a device makes its runs.
fn runs_at_once(method: &Contestant) -> bool {
    *method == Contestant::Engine(Method::Cbo)
}

fn check(args: &CompareArgs, origins: &Origins) -> Result<(), CliError> {
    let refuse = |field: &str, message: String| Err(origins.blame(field, &message));
    if !(1..=MOST_RUNS).contains(&args.runs) {
        return refuse("runs", format!("runs = {}: must lie between 1 and {MOST_RUNS}", args.runs));
    }
    if !(args.tolerance > 0.0 && args.tolerance.is_finite()) {
        let message = format!("tolerance = {}: must be a positive finite number", plain(args.tolerance));
        return refuse("tolerance", message);
    }
    if let Some(method) = &args.run.method {
        return refuse("method", format!("method = {method}: a comparison has several; use --methods {method},..."));
    }
    if args.run.local.is_some() {
        return refuse("local", "local: say it of the method, as in --methods auto:local=true,cbo".into());
    }
    if !args.run.constraints().is_empty() {
        return refuse(
            "constraint",
            "constraint: baselines know no constraints; `cbo success` measures runs under them".into(),
        );
    }
    if let Some(values::Switch(Some(seconds))) = args.run.max_seconds {
        let remedy = "a comparison counts evaluations, which do not depend on the machine; use max-evaluations";
        return refuse("max-seconds", format!("max-seconds = {}: {remedy}", plain(seconds)));
    }
    Ok(())
}

/// The runs of all methods on one problem.
pub struct Results<'a> {
    /// The problem.
    pub course: &'a Course,
    /// The runs, of all methods equally many.
    pub entries: Vec<Entry>,
    /// What they say.
    pub comparison: Comparison,
    /// Of runs that could not continue, why.
    pub failures: Vec<String>,
}

impl Results<'_> {
    /// Runs of each method.
    pub fn runs(&self) -> usize {
        self.entries.first().map_or(0, |entry| entry.runs.len())
    }
}

/// What is kept of a run, and why it could not continue, if it could not.
type Kept = (Measured, Option<String>);

/// All runs of all methods on all problems, spread over the threads; each run has one. Those that Ctrl-C ended are missing.
fn all_trials<T: Scalar>(
    args: &CompareArgs,
    plan: &Plan,
    fleet: Option<&dyn Fleet<T>>,
) -> Result<Vec<Option<Kept>>, CliError>
where
    Problem: Objective<T>,
{
    let count = threads(plan.threads);
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(count)
        .build()
        .map_err(|e| CliError::setting("threads", count, format!("{e}; use fewer")))?;
    let (courses, methods) = (plan.courses.len(), plan.methods.len());
    let all = args.runs * courses * methods;
    let bar = progress::bar(all as u64, !args.run.json() && !args.run.quiet());
    let mut made = match fleet {
        Some(fleet) => pool.install(|| at_once(fleet, args, plan))?,
        None => BTreeMap::new(),
    };
    bar.iter().for_each(|bar| bar.inc(made.len() as u64));
    // Run by run, so that an end by Ctrl-C leaves complete ones.
    let one = |index: usize| {
        if interrupt::requested() {
            return Ok(None);
        }
        let (run, course, method) = (index / (courses * methods), index / methods % courses, index % methods);
        let outcome = one_trial::<T>(args, plan, &plan.courses[course], method, run as u64);
        if let Some(bar) = &bar {
            bar.inc(1);
            let left = progress::duration(bar.eta().as_secs_f64());
            bar.set_message(format!("{} of {all} runs, {left} left", bar.position()));
        }
        outcome
    };
    let left = (0..all).filter(|index| !made.contains_key(index)).collect::<Vec<_>>();
    let placed = |index: usize| Ok::<_, CliError>((index, one(index)?));
    let outcomes = pool.install(|| left.into_par_iter().with_max_len(1).map(placed).collect::<Result<Vec<_>, _>>());
    if let Some(bar) = bar {
        bar.finish_and_clear();
    }
    made.extend(outcomes?);
    Ok(made.into_values().collect())
}

/// One run; `None` if Ctrl-C ended it. Errors are about settings; a run that could not continue is a result.
fn one_trial<T: Scalar>(
    args: &CompareArgs,
    plan: &Plan,
    course: &Course,
    method: usize,
    run: u64,
) -> Result<Option<Kept>, CliError>
where
    Problem: Objective<T>,
{
    let setup = &course.setups[method];
    let seed = setup.plan.config().seed.wrapping_add(run);
    let problem = match setup.problem.build_for_run(seed) {
        Ok(problem) => problem,
        Err(ProblemError::Stopped { .. }) => return Ok(None),
        Err(e) => return Err(CliError::usage(&e)),
    };
    let config = CboConfig { max_evaluations: Some(course.budget), ..setup.config_for(&problem, seed) };
    let contestant = &plan.methods[method];
    let found = trial::<T>(contestant, &config, &problem, args.judge, &interrupt::requested);
    let Some(found) = found.map_err(|e| failure(&e))? else { return Ok(None) };
    Ok(Some(kept(args, course, contestant, &found)))
}

/// What is kept of a run.
fn kept(args: &CompareArgs, course: &Course, contestant: &Contestant, found: &Trial) -> Kept {
    let (goal, seed) = (Goal::Distance { tolerance: args.tolerance }, found.outcome.seed);
    let error = found.outcome.end.as_ref().err().map(|e| format!("{contestant}, seed {seed}: {}", told(e)));
    (Measured::of(&found.judged(), &goal, &course.targets), error)
}

/// The runs of method cbo, made at once, by their places among all. Those that Ctrl-C ended are nothing.
fn at_once<T: Scalar>(
    fleet: &dyn Fleet<T>,
    args: &CompareArgs,
    plan: &Plan,
) -> Result<BTreeMap<usize, Option<Kept>>, CliError>
where
    Problem: Objective<T>,
{
    let (courses, methods) = (plan.courses.len(), plan.methods.len());
    let mut made = BTreeMap::new();
    let theirs = plan.methods.iter().enumerate().filter(|(_, method)| runs_at_once(method));
    for (method, contestant) in theirs {
        for (number, course) in plan.courses.iter().enumerate() {
            let setup = &course.setups[method];
            let run = |run: usize| {
                let seed = setup.plan.config().seed.wrapping_add(run as u64);
                let problem = setup.problem_of(seed)?;
                let config = setup.config_for(&problem, seed);
                Ok::<_, CliError>((CboConfig { max_evaluations: Some(course.budget), ..config }, problem))
            };
            let trials = fleet::trials(fleet, args.runs, run, args.judge, &|_| !interrupt::requested())?;
            let mut trials = trials.iter().map(|found| kept(args, course, contestant, found));
            made.extend((0..args.runs).map(|run| ((run * courses + number) * methods + method, trials.next())));
        }
    }
    Ok(made)
}

/// The complete runs, problem by problem; problems without any are left out.
fn results(plan: &Plan, trials: Vec<Option<Kept>>) -> Vec<Results<'_>> {
    let (courses, methods) = (plan.courses.len(), plan.methods.len());
    let mut trials: Vec<Option<Vec<Kept>>> = {
        let mut iterator = trials.into_iter();
        std::iter::from_fn(|| {
            let group: Vec<Option<Kept>> = iterator.by_ref().take(methods).collect();
            (!group.is_empty()).then(|| group.into_iter().collect())
        })
        .collect()
    };
    let mut results = Vec::new();
    for (index, course) in plan.courses.iter().enumerate() {
        let complete = trials.iter_mut().skip(index).step_by(courses).filter_map(Option::take);
        let mut entries: Vec<Entry> =
            plan.methods.iter().map(|method| Entry { name: method.to_string(), runs: Vec::new() }).collect();
        let mut failures = Vec::new();
        for run in complete {
            for (entry, (measured, failure)) in entries.iter_mut().zip(run) {
                entry.runs.push(measured);
                failures.extend(failure);
            }
        }
        if entries.iter().all(|entry| !entry.runs.is_empty()) {
            let comparison = Comparison::of(&entries, &course.targets, course.budget);
            results.push(Results { course, entries, comparison, failures });
        }
    }
    results
}
