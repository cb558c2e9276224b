//! From flags to a checked run: the problem, the configuration, and the warnings that belong to them.

use crate::config_file::Origins;
use crate::error::{CliError, told};
use crate::minimize::eprintln_quietly;
use crate::options::{ProblemOptions, RunOptions};
use crate::points::{self, PointsError};
use crate::ranks;
use crate::stability;
use crate::values::{BoundsSpec, FreezeSpec, InitSpec, Precision, RotateSpec, ShiftSpec};
use crate::waits;
use cbo::{BoundHandling, CboConfig, Coordinates, InitialLaw, Method, Mirror, Plan};
use cbo_problems::{Constraint, Problem, ProblemBuilder, ProblemError, Shift};
use std::path::Path;
use std::sync::Arc;

/// No machine has more threads than this, and asking the system for them may end badly.
const MOST_THREADS: usize = 1024;

/// Points that the method auto keeps, about.
const POINTS_OF_AUTO: usize = 256;

/// A problem, still to be built for a seed (which decides random shifts and rotations).
#[derive(Clone, Debug)]
pub struct ProblemSpec {
    /// Name of the function.
    pub name: &'static str,
    /// Number of coordinates.
    pub dim: usize,
    /// Rastrigin's amplitude, if given.
    pub amplitude: Option<f64>,
    /// The ellipsoid's condition, if given.
    pub condition: Option<f64>,
    /// The shift, if there is one.
    pub shift: Option<ShiftSpec>,
    /// The rotation, if there is one.
    pub rotate: Option<RotateSpec>,
}

impl ProblemSpec {
    /// The problem that the flags describe.
    pub fn new(options: &ProblemOptions, origins: &Origins) -> Result<Self, CliError> {
        let Some(name) = &options.objective else {
            return Err(CliError::Usage(
                "no function given: name one (`cbo minimize rastrigin --dim 20`) or set `objective` in --config FILE; \
             `cbo list` shows all"
                    .into(),
            ));
        };
        let info = cbo_problems::find(name).map_err(|e| origins.blame("objective", &unknown(&e)))?;
        let function = info.name;
        let dim = match options.dim.or(info.default_dim()) {
            None => {
                let message =
                    format!("dim is missing: {function} can have any dimension; say which, for example --dim 10");
                return Err(CliError::Usage(message));
            }
            Some(dim) if dim == 0 || !info.dims.contains(dim) => {
                let error = ProblemError::WrongDim { function, dim, dims: info.dims };
                return Err(origins.blame("dim", &format!("dim = {dim}: {error}")));
            }
            Some(dim) => dim,
        };
        let (shift, rotate) = (options.shift.clone(), options.rotate);
        Ok(Self { name: function, dim, amplitude: options.amplitude, condition: options.condition, shift, rotate })
    }

    /// Refuses a function with constraints where they would be ignored, because of what is said.
    pub fn refuse_constraints(&self, because: &str) -> Result<(), CliError> {
        match cbo_problems::constraints(self.name) {
            Ok([]) | Err(_) => Ok(()),
            Ok(_) => {
                let remedy = format!("has constraints, {because}; choose a function without");
                Err(CliError::setting("objective", self.name, remedy))
            }
        }
    }

    /// The problem for a run with this seed.
    pub fn build(&self, seed: u64) -> Result<Problem, ProblemError> {
        self.builder(seed).build()
    }

    /// The same, for a run that is to begin: says what takes long, and ends it at the first signal ([`ProblemError::Stopped`]).
    pub fn build_for_run(&self, seed: u64) -> Result<Problem, ProblemError> {
        let what = || format!("making the rotation of {} in {} dimensions", self.name, self.dim);
        self.builder(seed).build_watched(&mut waits::watch(what))
    }

    /// Whether it differs from run to run.
    fn is_random(&self) -> bool {
        matches!(self.shift, Some(ShiftSpec::Random)) || matches!(self.rotate, Some(RotateSpec::Random))
    }

    fn builder(&self, seed: u64) -> ProblemBuilder {
        let mut builder = Problem::builder(self.name).dim(self.dim);
        for (name, value) in [("amplitude", self.amplitude), ("condition", self.condition)] {
            if let Some(value) = value {
                builder = builder.parameter(name, value);
            }
        }
        builder = match &self.shift {
            None => builder,
            Some(ShiftSpec::Random) => builder.shift(Shift::Random(seed)),
            Some(ShiftSpec::By(Coordinates::All(amount))) => builder.shift(*amount),
            Some(ShiftSpec::By(Coordinates::Each(amounts))) => builder.shift(amounts.clone()),
        };
        match self.rotate {
            None => builder,
            Some(RotateSpec::Random) => builder.rotate(seed),
            Some(RotateSpec::Seed(seed)) => builder.rotate(seed),
        }
    }
}

/// A run that passed every check.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The problem.
    pub problem: ProblemSpec,
    /// The same, built for the seed of the settings.
    pub built: Arc<Problem>,
    /// The settings, checked.
    pub plan: Plan,
    /// The precision.
    pub precision: Precision,
    /// The constraints that it is put under, besides its own.
    pub constraints: Vec<Constraint>,
    /// Whether the consensus point is frozen at the minimiser, which a random shift moves with the seed.
    freeze_at_minimiser: bool,
}

impl Setup {
    /// Checks the options and completes them with what the problem says. `origins` knows what came from a file.
    pub fn new(options: &RunOptions, origins: &Origins) -> Result<Self, CliError> {
        let problem = ProblemSpec::new(&options.problem, origins)?;
        let drafted = settings(options, problem.dim, problem.rotate.is_some(), origins)?;
        let built = problem.build_for_run(drafted.0.seed).map_err(|e| match e {
            ProblemError::Stopped { .. } => ended_before(),
            e => origins.blame(field_of(&e), &told(&e)),
        })?;
        Self::complete(problem, Arc::new(built), drafted, options, origins)
    }

    /// The same problem with other options.
    pub fn again(&self, options: &RunOptions, origins: &Origins) -> Result<Self, CliError> {
        let drafted = settings(options, self.problem.dim, self.problem.rotate.is_some(), origins)?;
        Self::complete(self.problem.clone(), Arc::clone(&self.built), drafted, options, origins)
    }

    /// Completes settings by what needs the problem.
    fn complete(
        problem: ProblemSpec,
        built: Arc<Problem>,
        (mut config, points): (CboConfig, Option<Vec<f64>>),
        options: &RunOptions,
        origins: &Origins,
    ) -> Result<Self, CliError> {
        let given = bounds(options, built.dim()).map_err(|e| origins.blame("bounds", &e))?;
        // Outside its domain a confined function has no values; `--bound-handling none` leaves that to the weights.
        let confined = (built.confined() && options.bound_handling != Some(BoundHandling::None))
            || config.method == Method::Mirror(Mirror::Box);
        config.bounds = given.unwrap_or_else(|| confined.then(|| built.domain().to_vec()));
        config.init = match (points, &options.init) {
            (Some(points), _) => InitialLaw::Points(points),
            (None, Some(InitSpec::Law(law))) => law.clone(),
            // A law that belongs to the method.
            _ if config.init != CboConfig::default().init => config.init,
            _ => InitialLaw::uniform(config.bounds.as_deref().unwrap_or(built.domain())),
        };
        let freeze_at_minimiser = options.freeze == Some(FreezeSpec::Minimiser);
        match &options.freeze {
            Some(FreezeSpec::At(point)) => config.freeze = Some(point.clone()),
            Some(FreezeSpec::Off) => config.freeze = None,
            Some(FreezeSpec::Minimiser) | None => (),
        }
        if freeze_at_minimiser {
            config.freeze = built.minimisers().first().cloned();
        }
        let plan = config.check(problem.dim).map_err(|e| origins.blame_setting(&e))?;
        let (precision, constraints) = (options.precision.unwrap_or_default(), options.constraints());
        Ok(Self { problem, built, plan, precision, constraints, freeze_at_minimiser })
    }

    /// The problem of a run with this seed: the same for all, if that makes no difference.
    pub fn problem_of(&self, seed: u64) -> Result<Arc<Problem>, CliError> {
        if !self.problem.is_random() {
            return Ok(self.built.clone());
        }
        match self.problem.build_for_run(seed) {
            Ok(problem) => Ok(Arc::new(problem)),
            Err(ProblemError::Stopped { .. }) => Err(CliError::Interrupted),
            Err(e) => Err(CliError::usage(&e)),
        }
    }

    /// The settings of a run on `problem` with this seed.
    pub fn config_for(&self, problem: &Problem, seed: u64) -> CboConfig {
        let mut config = CboConfig { seed, ..self.plan.config().clone() };
        if self.freeze_at_minimiser {
            config.freeze = problem.minimisers().first().cloned();
        }
        config
    }

    /// What the user should know before the run.
    pub fn warning(&self) -> Option<String> {
        stability::warning(&self.plan)
    }
}

/// The settings that need neither problem nor file.
pub fn drafted(options: &RunOptions) -> CboConfig {
    let mut config = CboConfig::of(options.method.unwrap_or_default());
    options.apply(&mut config);
    config
}

/// The settings that need no problem, and the initial points if they are in a file. Checked to fit into memory, before anything
/// of that size is allocated.
pub fn settings(
    options: &RunOptions,
    dim: usize,
    rotated: bool,
    origins: &Origins,
) -> Result<(CboConfig, Option<Vec<f64>>), CliError> {
    let mut config = drafted(options);
    let points = match &options.init {
        Some(InitSpec::File(path)) => Some(read_points(path, dim).map_err(|e| origins.blame("init", &e))?),
        _ => None,
    };
    if let (Some(points), None, false) = (&points, options.particles, config.method.is_auto()) {
        config.particles = points.len() / dim;
    }
    if config.threads > MOST_THREADS {
        let message = format!("threads = {}: at most {MOST_THREADS}; 0 for one per core", config.threads);
        return Err(origins.blame("threads", &message));
    }
    let precision = options.precision.unwrap_or_default();
    let particles = (!config.method.is_auto()).then_some(config.particles);
    let field = if particles.is_some() { "particles" } else { "dim" };
    check_memory(particles, dim, rotated, precision).map_err(|e| origins.blame(field, &e))?;
    Ok((config, points))
}

/// A signal that came before there was anything to tell.
pub fn ended_before() -> CliError {
    eprintln_quietly("error: ended by a signal before the run began");
    CliError::Interrupted
}

/// The key that an error about a problem belongs to.
pub fn field_of(error: &ProblemError) -> &'static str {
    match error {
        ProblemError::UnknownFunction { .. } => "objective",
        ProblemError::MissingDim { .. } | ProblemError::WrongDim { .. } => "dim",
        ProblemError::UnknownParameter { parameter, .. } if parameter == "condition" => "condition",
        ProblemError::BadParameter { parameter, .. } if parameter.name == "condition" => "condition",
        ProblemError::UnknownParameter { .. } | ProblemError::BadParameter { .. } => "amplitude",
        _ => "shift",
    }
}

/// What is wrong with the name of a function, and where all names are.
pub fn unknown(error: &ProblemError) -> String {
    match error {
        ProblemError::UnknownFunction { nearest: Some(_), .. } => format!("{error} `cbo list` shows all"),
        ProblemError::UnknownFunction { nearest: None, .. } => format!("{error}; `cbo list` shows all"),
        other => told(other),
    }
}

fn in_file(field: &str, path: &Path, error: &PointsError) -> String {
    format!("{field} file {}: {error}", path.display())
}

/// The points of a file, of `dim` numbers each.
pub fn read_points(path: &Path, dim: usize) -> Result<Vec<f64>, String> {
    let points = points::read(path).map_err(|e| in_file("init", path, &e))?;
    if points.dim != dim {
        return Err(format!(
            "init file {}: points of {} numbers, but the function has dim = {dim}; give {dim} numbers per line",
            path.display(),
            points.dim
        ));
    }
    let remedy = "is no place to start; give finite numbers";
    points.refuse(|v| !v.is_finite(), remedy).map_err(|e| in_file("init", path, &e))?;
    Ok(points.values)
}

/// The bounds that are asked for, if any; the request may be for no bounds.
#[expect(clippy::type_complexity, reason = "whether asked for, whether there are any, and which")]
pub fn bounds(options: &RunOptions, dim: usize) -> Result<Option<Option<Vec<(f64, f64)>>>, String> {
    match &options.bounds {
        Some(BoundsSpec::Off) => Ok(Some(None)),
        Some(BoundsSpec::Box(low, high)) => {
            for side in [low, high] {
                if let Coordinates::Each(numbers) = side
                    && numbers.len() != dim
                {
                    let given = numbers.len();
                    return Err(format!(
                        "bounds = {given} numbers on a side: give one, or one for each of {dim} coordinates"
                    ));
                }
            }
            Ok(Some(Some((0..dim).map(|k| (low.get(k), high.get(k))).collect())))
        }
        Some(BoundsSpec::File(path)) => {
            let pairs = points::read(path)
                .map_err(|e| in_file("bounds", path, &e) + " (bounds are LOW,HIGH or a file with one pair per line)")?;
            let remedy = "is no bound; give a number, inf or -inf";
            pairs.refuse(f64::is_nan, remedy).map_err(|e| in_file("bounds", path, &e))?;
            if pairs.dim != 2 || pairs.len() != dim {
                let (rows, columns) = (pairs.len(), pairs.dim);
                let path = path.display();
                return Err(format!(
                    "bounds file {path}: {rows} lines of {columns} numbers, not {dim} lines of LOW,HIGH"
                ));
            }
            Ok(Some(Some(pairs.values.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect())))
        }
        None => Ok(None),
    }
}

/// Refuses a run whose positions cannot fit into the memory of this machine.
fn check_memory(particles: Option<usize>, dim: usize, rotated: bool, precision: Precision) -> Result<(), String> {
    let (count, dim) = (particles.unwrap_or(POINTS_OF_AUTO), dim as u128);
    // Saturating: 2^63 particles in 2^63 dimensions are too many even for the count.
    let product = |numbers: &[u128]| numbers.iter().fold(1u128, |p, n| p.saturating_mul(*n));
    // Of a run on several ranks, a machine has its part.
    let count = (count as f64 * ranks::part_here()).ceil() as u128;
    let positions = product(&[count, dim, precision.bytes()]);
    let matrix = if rotated { product(&[3 * 8, dim, dim]) } else { 0 };
    // Vectors as long as a point are few, but a point may be long.
    let vectors = product(&[16 * 8, dim]);
    let needed = [positions, positions / 4, matrix, vectors].iter().fold(0u128, |sum, n| sum.saturating_add(*n));
    let Some(available) = available_memory() else { return Ok(()) };
    if needed <= available {
        return Ok(());
    }
    let (size, free) = (gibibytes(needed), gibibytes(available));
    let remedy = if matrix > positions { "use fewer dimensions or no rotation" } else { "use fewer, or f32" };
    Err(match particles {
        Some(n) => {
            format!("particles = {n}: with dim = {dim} this needs {size} of memory, and {free} is free; {remedy}")
        }
        None => format!("dim = {dim}: this needs {size} of memory, and {free} is free; {remedy}"),
    })
}

fn gibibytes(bytes: u128) -> String {
    let gib = bytes as f64 / (1u64 << 30) as f64;
    if gib < 1e6 { format!("{gib:.1} GiB") } else { format!("{gib:.1e} GiB") }
}

/// MemAvailable of Linux, in bytes; `None` elsewhere.
fn available_memory() -> Option<u128> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kibibytes: u128 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}
