//! `cbo meanfield`: the mean-field law beside the particles.

mod args;
mod files;
mod plan;
mod report;

pub use args::MeanfieldArgs;

use crate::error::{CliError, print};
use crate::minimize::failure;
use crate::numbers::json;
use crate::progress;
use cbo_lab::meanfield::{
    Distance, Distances, Fit, MeanFieldError, Motion, ParticleRun, Settings, Trajectory, mean_distances,
};
use indicatif::ProgressBar;
use plan::Plan;
use report::Report;
pub(crate) use report::swarm_name;

/// Particles whose positions are kept for the frames.
const SHOWN: usize = 20_000;

/// About what a step of the law costs per cell, in steps of a particle: for the time left.
const CELL: u64 = 20;

/// What came out.
pub(crate) struct Outcome {
    /// What was asked for.
    pub plan: Plan,
    /// The law.
    pub trajectory: Trajectory,
    /// At each time of the comparison, the distance to the law of infinitely many particles with the same time step.
    pub floor: Vec<Distance>,
    /// The particles, by their number.
    pub swarms: Vec<Swarm>,
    /// Positions of particles of the largest swarm at each snapshot.
    pub positions: Vec<Vec<f64>>,
    /// How the distance at the end falls with the number of particles.
    pub fit: Option<Fit>,
}

/// Runs with the same number of particles.
pub(crate) struct Swarm {
    /// V at each record of the law, averaged over the runs.
    pub v: Vec<f64>,
    /// The distance at each time of the comparison.
    pub distances: Vec<Distances>,
}

/// Runs the command.
pub fn run(args: &MeanfieldArgs) -> Result<(), CliError> {
    let plan = Plan::new(args)?;
    if let Some(folder) = &args.out {
        files::check(folder, plan.frames)?;
    }
    let outcome = compute(plan, !args.json && !args.quiet)?;
    let report = Report::new(&outcome);
    let written = args.out.as_deref().map_or(Ok(()), |folder| files::write(folder, &outcome, &report));
    let folder = args.out.as_deref().filter(|_| written.is_ok());
    let printed = print(&if args.json { json(&report) } else { report.lines(folder) });
    written.and(printed)
}

fn compute(plan: Plan, visible: bool) -> Result<Outcome, CliError> {
    let Plan { problem, settings, snapshots, compared, .. } = &plan;
    let steps = settings.steps();
    let law_step = CELL * (settings.cells as u64).pow(problem.dim() as u32);
    let particles: u64 = plan.particles.iter().map(|n| *n as u64).sum();
    let bar = progress::bar(steps * (2 * law_step + particles * plan.repeats), visible);
    let minimiser = problem.minimisers().first().cloned().unwrap_or_else(|| vec![0.0; problem.dim()]);
    let law = |motion: Motion, wanted: &[u64]| {
        let settings = Settings { motion, ..settings.clone() };
        let done = || advance(bar.as_ref(), law_step, "the law");
        Trajectory::new(&settings, problem, &minimiser, wanted, &done).map_err(fault)
    };
    let trajectory = law(Motion::Continuous, snapshots)?;
    let stepped = law(Motion::EulerMaruyama, compared)?;
    let floor = stepped.snapshots.iter().filter_map(|other| {
        let snapshot = trajectory.snapshots.iter().find(|s| s.step == other.step)?;
        let each = |k: usize| snapshot.law.marginal(k).distance_to(&other.law.marginal(k));
        Some(Distance::over_coordinates(&(0..problem.dim()).map(each).collect::<Vec<_>>()))
    });
    let floor = floor.collect();
    let largest = plan.particles.iter().copied().max().unwrap_or(0);
    let (mut swarms, mut positions) = (Vec::new(), Vec::new());
    for &count in &plan.particles {
        let name = swarm_name(count);
        let done = || advance(bar.as_ref(), count as u64, &name);
        let runs = (count, plan.seed, plan.repeats);
        let kept = if count == largest && plan.keeps_positions { SHOWN } else { 0 };
        let runs = ParticleRun::repeated(settings, problem, &trajectory, runs, (compared, kept), &done);
        let mut runs = runs.map_err(|e| failure(&e))?;
        if kept > 0 {
            positions = std::mem::take(&mut runs[0].positions);
        }
        swarms.push(Swarm::new(count, &runs));
    }
    if let Some(bar) = bar {
        bar.finish_and_clear();
    }
    let ends: Vec<Distances> = swarms.iter().filter_map(|s| s.distances.last().copied()).collect();
    let fit = Fit::of(&ends);
    Ok(Outcome { plan, trajectory, floor, swarms, positions, fit })
}

impl Swarm {
    fn new(particles: usize, runs: &[ParticleRun]) -> Self {
        let mean = |i: usize| runs.iter().map(|r| r.v[i]).sum::<f64>() / runs.len() as f64;
        let records = runs.first().map_or(0, |r| r.v.len());
        let times = runs.first().map_or(0, |r| r.distances.len());
        let at = |i: usize| mean_distances(particles, &runs.iter().map(|r| r.distances[i]).collect::<Vec<_>>());
        Self { v: (0..records).map(mean).collect(), distances: (0..times).map(at).collect() }
    }
}

fn advance(bar: Option<&ProgressBar>, ticks: u64, what: &str) {
    let Some(bar) = bar else { return };
    bar.inc(ticks);
    bar.set_message(format!("{what}, {} left", progress::duration(bar.eta().as_secs_f64())));
}

/// A law that could not continue: a wrong setting is the user's, all else is a failure.
fn fault(error: MeanFieldError) -> CliError {
    match error {
        MeanFieldError::Setting(_) | MeanFieldError::WeightsBeyondGrid | MeanFieldError::Unresolved { .. } => {
            CliError::usage(&error)
        }
        MeanFieldError::NoFiniteEnergy => CliError::Failed(format!("{error} (--init)")),
        _ => CliError::failed(&error),
    }
}
