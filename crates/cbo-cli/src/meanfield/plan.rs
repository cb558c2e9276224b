//! From flags to a checked comparison.

use super::args::MeanfieldArgs;
use crate::config_file::Origins;
use crate::error::CliError;
use crate::numbers::short;
use crate::options::ProblemOptions;
use crate::setup::ProblemSpec;
use crate::values::{FreezeSpec, InitSpec};
use cbo::{Alpha, Coordinates, InitialLaw};
use cbo_lab::meanfield::{MOST_STEPS, Motion, Settings};
use cbo_problems::Problem;

/// Nobody waits for more particles, runs or frames than this.
const MOST_PARTICLES: usize = 10_000_000;
const MOST_REPEATS: u64 = 10_000;
pub(super) const MOST_FRAMES: usize = 1000;

/// Parts of the time at whose ends law and particles are compared.
const COMPARISONS: u64 = 4;

/// Columns of the picture of the density over time.
const COLUMNS: u64 = 80;

/// A comparison that passed every check.
pub(crate) struct Plan {
    /// The problem.
    pub problem: Problem,
    /// The law.
    pub settings: Settings,
    /// Numbers of particles, increasing.
    pub particles: Vec<usize>,
    /// Runs with each.
    pub repeats: u64,
    /// Frames after the first; none at all if 0.
    pub frames: usize,
    /// The first seed.
    pub seed: u64,
    /// Whether there will be frames to show positions in.
    pub keeps_positions: bool,
    /// Steps at which the law is kept, increasing.
    pub snapshots: Vec<u64>,
    /// Those of them at which particles are compared with it.
    pub compared: Vec<u64>,
}

impl Plan {
    /// Checks the flags and completes them.
    pub fn new(args: &MeanfieldArgs) -> Result<Self, CliError> {
        // Before the problem is built: it may have no such dimension either, but the grid is the reason.
        let dim = args.dim;
        if !(1..=2).contains(&dim) {
            let remedy = "the grid has 1 or 2 dimensions; the particles have no such limit: cbo minimize";
            return Err(CliError::setting("dim", dim, remedy));
        }
        let problem = problem(args)?;
        let settings = settings(args, &problem)?;
        settings.check(dim).map_err(|e| CliError::usage(&e))?;
        let particles = particles(args)?;
        let repeats = args.repeats.unwrap_or(if args.quick { 4 } else { 10 });
        if !(1..=MOST_REPEATS).contains(&repeats) {
            return Err(CliError::setting("repeats", repeats, format!("must lie between 1 and {MOST_REPEATS}")));
        }
        let frames = args.frames.unwrap_or(if args.quick { 4 } else { 24 });
        if frames > MOST_FRAMES {
            return Err(CliError::setting("frames", frames, format!("must lie between 0 and {MOST_FRAMES}")));
        }
        let last = settings.steps();
        let compared = evenly(last, COMPARISONS);
        let drawn = if args.out.is_some() { frames as u64 } else { 0 };
        let columns = if dim == 1 && args.out.is_some() { evenly(last, COLUMNS) } else { Vec::new() };
        let mut snapshots = [compared.clone(), evenly(last, drawn), columns].concat();
        snapshots.sort_unstable();
        snapshots.dedup();
        let (seed, keeps_positions) = (args.seed, drawn > 0);
        Ok(Self { problem, settings, particles, repeats, frames, seed, keeps_positions, snapshots, compared })
    }

    /// The steps of the frames.
    pub fn frame_steps(&self) -> Vec<u64> {
        evenly(self.settings.steps(), self.frames as u64)
    }
}

/// The ends of `parts` equal parts of the steps up to `last`, and 0; nothing of no parts.
fn evenly(last: u64, parts: u64) -> Vec<u64> {
    if parts == 0 {
        return Vec::new();
    }
    let mut steps: Vec<u64> = (0..=parts).map(|i| (last as f64 * i as f64 / parts as f64).round() as u64).collect();
    steps.dedup();
    steps
}

fn problem(args: &MeanfieldArgs) -> Result<Problem, CliError> {
    let options = ProblemOptions {
        objective: Some(args.objective.clone()),
        dim: Some(args.dim),
        shift: args.shift.clone(),
        rotate: args.rotate,
        amplitude: args.amplitude,
        condition: args.condition,
    };
    let spec = ProblemSpec::new(&options, &Origins::default())?;
    spec.refuse_constraints("of which the law knows nothing")?;
    spec.build(args.seed).map_err(|e| CliError::usage(&e))
}

fn settings(args: &MeanfieldArgs, problem: &Problem) -> Result<Settings, CliError> {
    let Alpha::Constant(alpha) = args.alpha else {
        let remedy = "the law has a constant alpha: a positive number or inf";
        return Err(CliError::setting("alpha", args.alpha.to_string(), remedy));
    };
    let init = match &args.init {
        Some(InitSpec::Law(law)) => law.clone(),
        Some(InitSpec::File(path)) => {
            let remedy = "the law starts from a density: normal:MEAN,VARIANCE or uniform:LOW,HIGH";
            return Err(CliError::setting("init", format!("file:{}", path.display()), remedy));
        }
        None => default_law(problem),
    };
    let freeze = match &args.freeze {
        Some(FreezeSpec::At(point)) => Some(point.clone()),
        Some(FreezeSpec::Minimiser) => problem.minimisers().first().cloned(),
        Some(FreezeSpec::Off) | None => None,
    };
    let flat = args.dim == 1;
    let dt = match args.dt {
        Some(dt) => dt,
        None => default_step(args)?,
    };
    let cells = match (args.quick, flat) {
        (true, true) => 200,
        (true, false) => 80,
        (false, true) => 800,
        (false, false) => 160,
    };
    Ok(Settings {
        lambda: args.lambda,
        sigma: args.sigma,
        alpha,
        dt,
        time: args.time,
        cells: args.cells.unwrap_or(cells),
        init,
        freeze,
        motion: Motion::Continuous,
    })
}

/// The default time step, smaller where time or lambda require it.
fn default_step(args: &MeanfieldArgs) -> Result<f64, CliError> {
    let (time, lambda) = (args.time, args.lambda);
    let usual = match (args.quick, args.dim) {
        (true, _) => 0.01,
        (false, 1) => 0.001,
        (false, _) => 0.004,
    };
    if !(time > 0.0 && time.is_finite() && lambda > 0.0 && lambda.is_finite()) {
        // They are refused where all settings are.
        return Ok(usual);
    }
    let dt = usual.min(0.1 * time).min(0.1 / lambda);
    if time <= MOST_STEPS * dt {
        return Ok(dt);
    }
    // Which of the two flags asks for too much: with the usual step it is the time.
    Err(if time > MOST_STEPS * usual {
        let remedy =
            format!("at most {} in steps of {usual}; a longer --dt reaches farther", short(MOST_STEPS * usual));
        CliError::setting("time", short(time), remedy)
    } else {
        let remedy = format!(
            "at most {} until time {}: steps of 1/(10 lambda) would be more than {MOST_STEPS:e}",
            short(0.1 * MOST_STEPS / time),
            short(time)
        );
        CliError::setting("lambda", short(lambda), remedy)
    })
}

/// A normal law that covers the domain and is not centred in it, where many functions have their minimum. In the plane it
/// is nearer to the centre, or a few hundred particles would often have none near the minimum.
fn default_law(problem: &Problem) -> InitialLaw {
    let offset = 0.2 / problem.dim() as f64;
    let each = |pick: &dyn Fn(f64, f64) -> f64| {
        Coordinates::Each(problem.domain().iter().map(|(low, high)| pick(*low, *high)).collect())
    };
    InitialLaw::Normal {
        mean: each(&|low, high| 0.5 * (low + high) + offset * (high - low)),
        variance: each(&|low, high| ((high - low) / 8.0).powi(2)),
    }
}

fn particles(args: &MeanfieldArgs) -> Result<Vec<usize>, CliError> {
    let mut particles = match (&args.particles[..], args.quick, args.dim) {
        ([], true, 1) => vec![100, 1000],
        ([], true, _) => vec![300, 3000],
        ([], false, 1) => vec![100, 1000, 10_000, 100_000],
        ([], false, _) => vec![300, 3000, 30_000],
        (given, ..) => given.to_vec(),
    };
    if let Some(wrong) = particles.iter().find(|n| !(1..=MOST_PARTICLES).contains(*n)) {
        return Err(CliError::setting("particles", wrong, format!("must lie between 1 and {MOST_PARTICLES}")));
    }
    particles.sort_unstable();
    particles.dedup();
    Ok(particles)
}
