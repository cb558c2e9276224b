//! The seam for devices: what a backend in another crate is made of, and how a run is put on it.
//!
//! Not for users, and free to change: `cbo-cuda` is its one user.

pub use crate::backend::{Backend, block_rows};
pub use crate::method::Move;
pub use crate::schedule::Weighing;
pub use crate::state::{Reader, Writer};

use crate::config::Settings;
use crate::objective::{Grouping, Objective};
use crate::observer::Observer;
use crate::report::{RunReport, SolveError};
use crate::simd::Scalar;
use crate::state::StateError;

/// Where runs can be held besides in this machine's memory.
pub trait Device<T>: Sync {
    /// The particles of a run at time 0, to be moved and evaluated there; or why that cannot be.
    fn begin(&self, plan: &crate::Plan, objective: &dyn Objective<T>) -> Result<Box<dyn Backend<T>>, SolveError>;

    /// The same for a caller who evaluates, by ask and tell; none can unless said otherwise.
    fn begin_told(&self, plan: &crate::Plan) -> Result<Box<dyn Backend<T>>, SolveError> {
        let (value, remedy) = (plan.config().method.to_string(), "ask and tell is not on this device".into());
        Err(crate::ConfigError { field: "method", value, remedy }.into())
    }
}

/// Where a run is held.
pub(crate) enum Place<'a, T> {
    /// By this machine's processor.
    Processor,
    /// By a device, which compiles the objective.
    Device(&'a dyn Device<T>, &'a dyn Objective<T>),
    /// By a device, for a caller who evaluates.
    Told(&'a dyn Device<T>),
}

impl<'a, T: Scalar> Place<'a, T> {
    pub fn of(device: Option<&'a dyn Device<T>>, objective: &'a dyn Objective<T>) -> Self {
        device.map_or(Self::Processor, |device| Self::Device(device, objective))
    }

    /// For a caller who evaluates.
    pub fn told(device: Option<&'a dyn Device<T>>) -> Self {
        device.map_or(Self::Processor, Self::Told)
    }
}

/// [`solve`](crate::solve) on a device.
pub fn solve_on<T: Scalar>(
    device: &dyn Device<T>,
    settings: impl Settings,
    objective: &dyn Objective<T>,
    observer: &mut (dyn Observer<T> + Send),
) -> Result<RunReport<T>, SolveError> {
    T::solve(&settings.plan(objective.dim())?, objective, observer, Some(device))
}

/// [`resume`](crate::resume) on a device.
pub fn resume_on<T: Scalar>(
    device: &dyn Device<T>,
    settings: impl Settings,
    objective: &dyn Objective<T>,
    observer: &mut (dyn Observer<T> + Send),
    state: &[u8],
) -> Result<RunReport<T>, StateError> {
    T::resume(&settings.plan(objective.dim()).map_err(SolveError::from)?, objective, observer, Some(device), state)
}

/// The particles of a run at time 0 in this machine's memory: where a device has them from.
pub fn on_processor<T: Scalar>(plan: &crate::Plan) -> Result<Box<dyn Backend<T>>, SolveError> {
    T::on_cpu(plan, Grouping::Blocks)
}
