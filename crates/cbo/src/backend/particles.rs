//! A run whose particles are spread over ranks, as a user asks for it: what can be, and what is refused.

use super::{Backend, Seat};
use crate::auto::Auto;
use crate::config::{ConfigError, Plan};
use crate::device::Device;
use crate::method::Method;
use crate::objective::{Grouping, Objective};
use crate::ranks::{Columns, Communicator};
use crate::report::SolveError;
use crate::simd::Scalar;
use std::sync::Arc;

/// The particles of a run, spread over the ranks of a communicator: to be used by all of them, each with the same settings, through
/// [`solve_on`](crate::ranks::solve_on) and [`resume_on`](crate::ranks::resume_on).
///
/// The first rank alone tells its observer, decides when the run ends, and saves. The report is the same on all ranks but for the
/// particles: each has its own, unless the first is to have the [whole](Self::whole) swarm.
///
/// A [costly](Grouping::Single) objective is asked for single points by the threads of each rank, but limits of time and value hold for
/// whole steps.
#[derive(Debug)]
pub struct Particles {
    communicator: Arc<dyn Communicator>,
    whole: bool,
    columns: Option<Arc<dyn Columns>>,
}

impl Particles {
    /// The ranks of this communicator.
    pub fn new(communicator: Arc<dyn Communicator>) -> Self {
        Self { communicator, whole: false, columns: None }
    }

    /// Reads the particles of a run that is resumed from there, each rank its own; for a state that [lacks](crate::StepReport::state_apart)
    /// them.
    pub fn with_columns(self, columns: Arc<dyn Columns>) -> Self {
        Self { columns: Some(columns), ..self }
    }

    /// Lets the first rank have all particles at the end.
    pub fn whole(self, whole: bool) -> Self {
        Self { whole, ..self }
    }

    /// Where this rank sits in such a run.
    #[doc(hidden)]
    pub fn seat(&self, plan: &Plan) -> Seat {
        Seat::new(plan, self.communicator.clone(), self.whole)
    }

    /// Refuses what needs more than sums of blocks; `constrained` if points have constraints.
    pub fn check(plan: &Plan, constrained: bool) -> Result<(), ConfigError> {
        let method = plan.config().method;
        let why = match method {
            Method::Auto(_) => NOT_AUTO,
            Method::Polarised(_) => "has a consensus point for each particle, which all others make",
            Method::Sampling(_) => "takes the covariance of the swarm as a whole",
            _ if constrained => "learns what constraints cost from the whole swarm",
            _ => return Ok(()),
        };
        Err(refused(method, why))
    }
}

const NOT_AUTO: &str = "decides from single points, not from sums of a swarm";

fn refused(method: Method, why: &str) -> ConfigError {
    let remedy = format!("{why}, so that its particles cannot be spread over ranks");
    ConfigError { field: "method", value: method.to_string(), remedy }
}

impl<T: Scalar> Device<T> for Particles {
    fn columns(&self) -> Option<&dyn Columns> {
        self.columns.as_deref()
    }

    fn without_auto(&self) -> ConfigError {
        refused(Method::Auto(Auto::default()), NOT_AUTO)
    }

    fn begin(&self, plan: &Plan, objective: &dyn Objective<T>) -> Result<Box<dyn Backend<T>>, SolveError> {
        Self::check(plan, objective.constraints() > 0)?;
        let grouping = objective.grouping();
        if grouping == Grouping::Together {
            let (value, remedy) =
                (plan.config().method.to_string(), "the objective wants to be asked for all points at once");
            return Err(ConfigError { field: "method", value, remedy: remedy.into() }.into());
        }
        let seat = self.seat(plan);
        let share = T::on_cpu(plan, grouping, Some(&seat))?;
        Ok(seat.spread(plan, share))
    }
}
