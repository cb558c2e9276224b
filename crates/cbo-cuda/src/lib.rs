//! Consensus-based optimization on NVIDIA GPUs, with the bits of the processor.
//!
//! ```no_run
//! use cbo::CboConfig;
//! use cbo_problems::Problem;
//!
//! let gpu = cbo_cuda::Cuda::open(0)?;
//! let config = CboConfig { particles: 1_000_000, ..CboConfig::default() };
//! let run = gpu.solve::<f32>(&config, &Problem::named("rastrigin", 20)?, &mut ())?;
//! println!("{}", run.best().value);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The driver and the run-time compiler are loaded when a device is opened: nothing of CUDA is needed to build this crate, and
//! [`Cuda::open`] returns an error where they are missing. Kernels are compiled for each formula and dimension, and kept in the user's
//! cache. They perform the operations of the engine in its order, so a run has the same bits on either.

mod backend;
mod cache;
mod cuda;
mod emit;
mod law;
mod lent;
#[doc(hidden)]
pub mod machine;
#[cfg(feature = "networks")]
pub mod network;
mod ranks;
mod source;
mod swarms;

pub use lent::Lent;
pub use machine::Fault;
pub use ranks::OnRanks;

use backend::{OnDevice, bytes_of_memory, together};
use cbo::device::{Backend, Device, Seat, remembers, resume_on, solve_on};
use cbo::{
    CboConfig, ConfigError, EnergyTrace, Method, Objective, Observer, Plan, RunReport, Scalar, Settings, SolveError,
    StateError, Update,
};
use machine::{Entry, Kernel, Machine, Program};
use source::Shape;
use std::sync::Arc;

/// Operations of a formula at the most: longer ones take long to compile.
const MOST_OPERATIONS: usize = 20_000;

/// A GPU.
#[derive(Clone, Debug)]
pub struct Cuda {
    machine: Arc<dyn Machine>,
    name: String,
    grouped: bool,
    forgets: bool,
}

impl Cuda {
    /// The GPU with this number, from 0.
    pub fn open(number: usize) -> Result<Self, Fault> {
        Ok(Self {
            machine: Arc::new(cuda::Gpu::open(number)?),
            name: format!("cuda:{number}"),
            grouped: true,
            forgets: false,
        })
    }

    /// On another machine that runs the kernels.
    #[doc(hidden)]
    pub fn on(machine: Arc<dyn Machine>) -> Self {
        Self { name: machine.name(), machine, grouped: true, forgets: false }
    }

    /// With positions in memory as others can look at them: coordinate by coordinate.
    #[doc(hidden)]
    pub fn in_columns(self) -> Self {
        Self { grouped: false, ..self }
    }

    /// For callers who look at no particles, neither in a step nor at the end: those of a run with a last step are not copied then, and its
    /// report has none.
    #[must_use]
    pub fn without_particles(self) -> Self {
        Self { forgets: true, ..self }
    }

    /// What the maker calls it.
    pub fn model(&self) -> String {
        self.machine.name()
    }

    /// [`cbo::solve`] on the GPU.
    pub fn solve<T: Scalar>(
        &self,
        settings: impl Settings,
        objective: &dyn Objective<T>,
        observer: &mut (dyn Observer<T> + Send),
    ) -> Result<RunReport<T>, SolveError> {
        solve_on(self, settings, objective, observer)
    }

    /// [`cbo::resume`] on the GPU: of a run that was saved on either.
    pub fn resume<T: Scalar>(
        &self,
        settings: impl Settings,
        objective: &dyn Objective<T>,
        observer: &mut (dyn Observer<T> + Send),
        state: &[u8],
    ) -> Result<RunReport<T>, StateError> {
        resume_on(self, settings, objective, observer, state)
    }

    /// Seconds that the device takes at least for a step of such a run: for reading and writing all positions, and for drawing all
    /// normals, each alone.
    pub fn floors<T: Scalar>(
        &self,
        settings: impl Settings,
        objective: &dyn Objective<T>,
    ) -> Result<[f64; 2], SolveError> {
        let run = self.run_of(&settings.plan(objective.dim())?, objective)?;
        let time = |kernel| run.time(kernel).map_err(|fault| refuse("device", self.name.clone(), fault.0));
        Ok([time(Kernel::MemoryFloor)?, time(Kernel::NormalsFloor)?])
    }

    /// Refuses by name what runs on the processor alone.
    pub fn check(&self, plan: &Plan) -> Result<(), SolveError> {
        let config = plan.config();
        let only =
            |field, value: String| Err(refuse(field, value, format!("is not on {} yet; use device cpu", self.name)));
        match config {
            CboConfig { method: Method::Cbo | Method::Hopping(_), .. } => Ok(()),
            CboConfig { method: Method::Memory(memory), .. }
                if memory.gradient == 0.0 && memory.gradient_noise == 0.0 =>
            {
                Ok(())
            }
            CboConfig { method: Method::Memory(_), .. } => {
                let remedy =
                    format!("has a gradient, which is not on {} yet; leave it out or use device cpu", self.name);
                Err(refuse("method", config.method.to_string(), remedy))
            }
            _ => only("method", config.method.to_string()),
        }?;
        match config {
            _ if config.update == Update::Partial => only("update", config.update.to_string()),
            _ if config.reduction.is_some() => only("reduction", "on".into()),
            _ => Ok(()),
        }
    }

    /// Says before anything is allocated that there is too little memory for so many particles, which need so many bytes.
    fn check_memory(&self, particles: usize, needed: u64) -> Result<(), SolveError> {
        match self.machine.free_bytes() {
            Some(free) if free < needed => {
                let remedy =
                    format!("need {} on {}, which has {} left; use fewer", size(needed), self.model(), size(free));
                Err(refuse("particles", particles.to_string(), remedy))
            }
            _ => Ok(()),
        }
    }
}

impl<T: Scalar> Device<T> for Cuda {
    fn begin(&self, plan: &Plan, objective: &dyn Objective<T>) -> Result<Box<dyn Backend<T>>, SolveError> {
        Ok(Box::new(self.run_of(plan, objective)?))
    }
}

impl Cuda {
    /// The particles of a run at time 0, on the device.
    fn run_of<T: Scalar>(&self, plan: &Plan, objective: &dyn Objective<T>) -> Result<OnDevice<T>, SolveError> {
        self.check(plan)?;
        self.run_with(plan, &self.energy_of(objective)?, self.grouped, false)
    }

    /// The same with this energy, compiled into the kernels, and positions in groups or in columns, which are `lent` or not.
    fn run_with<T: Scalar>(
        &self,
        plan: &Plan,
        energy: &EnergyTrace,
        grouped: bool,
        lent: bool,
    ) -> Result<OnDevice<T>, SolveError> {
        let shape = Shape::of::<T>(plan.dim(), grouped);
        let program = self.program_for::<T>(plan, energy, shape, plan.config().particles)?;
        let run = OnDevice::begin(plan, shape, &self.machine, program, lent, None)?;
        Ok(if self.forgets && !plan.is_open_ended() { run.without_particles() } else { run })
    }

    /// Those particles of a run at time 0 that a rank has, on the device.
    fn share_of<T: Scalar>(
        &self,
        plan: &Plan,
        objective: &dyn Objective<T>,
        seat: Seat,
    ) -> Result<OnDevice<T>, SolveError> {
        let shape = Shape { spread: true, ..Shape::of::<T>(plan.dim(), self.grouped) };
        let compiled = || self.program_for::<T>(plan, &self.energy_of(objective)?, shape, seat.part().particles.len());
        // Ranks talk to each other from here on: none may be missing.
        let program = together(Some(&seat), compiled())?;
        OnDevice::begin(plan, shape, &self.machine, program, false, Some(seat))
    }

    /// The kernels of a run of which so many particles are here, if there is room for those.
    fn program_for<T: Scalar>(
        &self,
        plan: &Plan,
        energy: &EnergyTrace,
        shape: Shape,
        particles: usize,
    ) -> Result<Arc<dyn Program>, SolveError> {
        let remembers = remembers(plan.config()).is_some();
        let more = if remembers { bytes_of_memory::<T>(shape, particles) } else { 0 };
        self.check_memory(particles, shape.bytes::<T>(particles) + more)?;
        self.compiled(&source::text::<T>(plan, shape, energy), &Kernel::entries(remembers))
    }
}

impl Cuda {
    /// Kernels of a text.
    fn compiled(&self, text: &str, kernels: &[Entry]) -> Result<Arc<dyn Program>, SolveError> {
        self.machine.compile(text, kernels).map_err(|fault| refuse("device", self.name.clone(), fault.0))
    }

    /// The formula of an objective, which the kernels are made for.
    fn energy_of<T: Scalar>(&self, objective: &dyn Objective<T>) -> Result<EnergyTrace, SolveError> {
        let constraints = objective.constraints();
        if constraints > 0 {
            return Err(refuse("device", self.name.clone(), "does not know constraints yet; use device cpu"));
        }
        let Some(energy) = objective.trace() else {
            let remedy = "evaluates built-in functions and formulas that are not too long; use device cpu";
            return Err(refuse("device", self.name.clone(), remedy));
        };
        let operations = energy.operations.lines.len();
        if operations > MOST_OPERATIONS {
            let remedy = format!(
                "compiles formulas of up to {MOST_OPERATIONS} operations, and this one has {operations}; use device cpu or fewer dimensions"
            );
            return Err(refuse("device", self.name.clone(), remedy));
        }
        Ok(energy)
    }
}

/// A setting that cannot be had.
fn refuse(field: &'static str, value: String, remedy: impl Into<String>) -> SolveError {
    ConfigError { field, value, remedy: remedy.into() }.into()
}

/// Bytes in words.
fn size(bytes: u64) -> String {
    format!("{:.1} GB", bytes as f64 / 1e9)
}
