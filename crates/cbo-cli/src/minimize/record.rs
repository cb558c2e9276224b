//! What a run leaves in its folder for those who watch it: its steps, and its particles on their way.

use super::task::{Subject, Task};
use cbo::{InitialLaw, Record, StepReport};
use cbo_runs::folder::{Folder, STEPS, SWARM};
use cbo_runs::track::{Head, Narrow, Recorder};
use serde_json::{Value, json};

/// The numbers of a step.
const COLUMNS: [&str; 12] = [
    "step",
    "time",
    "evaluations",
    "best",
    "least",
    "alpha",
    "sigma",
    "effective_sample_size",
    "spread",
    "violation",
    "failed",
    "seconds",
];

/// The numbers of a snapshot, before its points.
const SNAPSHOT: [&str; 4] = ["step", "time", "evaluations", "particles"];

/// Bytes of all snapshots together.
const BYTES: usize = 8 << 20;

/// Snapshots at most, and how many there must be room for before particles are left out.
const MOST: usize = 1024;
const SOME: usize = 200;

/// Particles of a snapshot at most, and at least.
const PARTICLES: usize = 1000;
const FEW: usize = 16;

/// Particles of a run whose number changes on its way.
const AUTO: usize = 256;

/// Coordinates of a particle at most.
const COORDINATES: usize = 64;

/// Points along each side of the landscape, and of the graph of a function of one coordinate.
const SIDE: usize = 128;
const CURVE: usize = 401;

/// Records a run.
pub struct Tracks {
    steps: Recorder,
    swarm: Recorder,
    particles: usize,
    coordinates: usize,
    /// The narrow numbers of a snapshot, before they are kept.
    snapshot: Vec<u8>,
}

impl Tracks {
    /// Of a run that begins, or resumes at `step`; its steps are those that a history of this capacity keeps.
    pub fn new(folder: &Folder, task: &Task, capacity: usize, step: Option<u64>) -> Self {
        let names = |names: &[&str]| names.iter().map(ToString::to_string).collect();
        let head = Head { wide: names(&COLUMNS), narrow: 0, about: Value::Null };
        let steps = Recorder::new(folder, STEPS, head, capacity, step);
        let coordinates = task.dim().min(COORDINATES);
        let swarm = if task.config().method.is_auto() { AUTO } else { task.config().particles };
        let room = BYTES / SOME / (4 * (coordinates + 1));
        let particles = swarm.min(PARTICLES).min(room.max(FEW));
        // The consensus point; then the energy and the place of each particle. An even number keeps records aligned.
        let narrow = (coordinates + particles * (coordinates + 1)).next_multiple_of(2);
        let about = json!({
            "dim": task.dim(), "coordinates": coordinates, "particles": particles, "landscape": landscape(task),
        });
        let head = Head { wide: names(&SNAPSHOT), narrow, about };
        let capacity = (BYTES / head.size()).clamp(2, MOST);
        let swarm = Recorder::new(folder, SWARM, head, capacity, step);
        Self { steps, swarm, particles, coordinates, snapshot: Vec::new() }
    }

    /// Keeps a step, of which `record` is what the history has kept, if it has.
    pub fn observe<T: Narrow>(&mut self, folder: &Folder, step: &StepReport<'_, T>, record: Option<&Record>) {
        if let Some(r) = record.filter(|r| r.step == step.step() && self.steps.wants(r.step)) {
            let (failed, seconds) = (step.failed_evaluations() as f64, step.seconds());
            let numbers = [r.step as f64, r.time, r.evaluations as f64, r.best, r.least, r.alpha, r.sigma];
            let more = [r.effective_sample_size, r.spread, r.violation.unwrap_or(f64::NAN), failed, seconds];
            let row: Vec<f64> = numbers.into_iter().chain(more).collect();
            self.steps.keep(folder, &row, &[]);
        }
        if self.swarm.wants(step.step()) {
            let wide = [step.step() as f64, step.time(), step.evaluations() as f64, step.particles() as f64];
            self.take(step);
            self.swarm.keep(folder, &wide, &self.snapshot);
        }
    }

    fn take<T: Narrow>(&mut self, step: &StepReport<'_, T>) {
        let (d, to) = (self.coordinates, &mut self.snapshot);
        to.clear();
        f64::narrow(&step.consensus()[..d], to);
        let energies = step.energies();
        for (k, row) in step.first_rows(self.particles).chunks_exact(step.consensus().len()).enumerate() {
            match energies.get(k) {
                Some(energy) => T::narrow(std::slice::from_ref(energy), to),
                None => to.extend(f32::NAN.to_le_bytes()),
            }
            T::narrow(&row[..d], to);
        }
        while to.len() < 4 * (d + self.particles * (d + 1)).next_multiple_of(2) {
            to.extend(f32::NAN.to_le_bytes());
        }
    }

    /// Writes what waits.
    pub fn flush(&mut self, folder: &Folder) {
        self.steps.flush(folder);
        self.swarm.flush(folder);
    }
}

/// The values of a function of one or two coordinates on a grid, and where it is least.
fn landscape(task: &Task) -> Value {
    let (dim, init) = (task.dim(), &task.config().init);
    let value = |x: &[f64]| match &task.subject {
        Subject::Function(_, problem) => problem.value(x),
        Subject::Formula(formula) => formula.value(x),
        Subject::Command(_) => f64::NAN,
    };
    let (domain, minimisers) = match &task.subject {
        Subject::Function(_, problem) => (Some(problem.domain().to_vec()), problem.minimisers().to_vec()),
        _ => (None, Vec::new()),
    };
    let finite = |b: &Vec<(f64, f64)>| b.iter().all(|(low, high)| low.is_finite() && high.is_finite() && low < high);
    let each = |range: &dyn Fn(usize) -> (f64, f64)| Some((0..dim).map(range).collect::<Vec<_>>());
    let start = match init {
        InitialLaw::Uniform { low, high } => each(&|k| (low.get(k), high.get(k))),
        InitialLaw::Normal { mean, variance } => each(&|k| {
            let reach = 3.0 * variance.get(k).sqrt();
            (mean.get(k) - reach, mean.get(k) + reach)
        }),
        InitialLaw::Points(_) => None,
    };
    let view = task.config().bounds.clone().filter(finite).or(domain).or(start).filter(finite);
    let (Some(view), 1 | 2) = (view, dim) else { return Value::Null };
    if matches!(task.subject, Subject::Command(_)) {
        return Value::Null;
    }
    let at = |(low, high): (f64, f64), k: usize, of: usize| low + (high - low) * k as f64 / (of - 1) as f64;
    let values: Vec<Value> = match dim {
        1 => (0..CURVE).map(|i| short(value(&[at(view[0], i, CURVE)]))).collect(),
        _ => (0..SIDE * SIDE)
            .map(|k| short(value(&[at(view[0], k % SIDE, SIDE), at(view[1], k / SIDE, SIDE)])))
            .collect(),
    };
    let columns = if dim == 1 { CURVE } else { SIDE };
    json!({ "view": view, "columns": columns, "values": values, "minimisers": minimisers.iter().take(64).collect::<Vec<_>>() })
}

/// A number with as many digits as can be seen.
fn short(value: f64) -> Value {
    format!("{value:.5e}").parse::<f64>().map_or(Value::Null, Value::from)
}
