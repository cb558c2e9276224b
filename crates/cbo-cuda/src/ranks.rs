//! The particles of a run spread over ranks, those of each rank on a GPU.

use crate::cuda::Gpu;
use crate::{Cuda, Fault, refuse};
use cbo::device::{Backend, Device};
use cbo::ranks::{Columns, Particles};
use cbo::{ConfigError, Objective, Plan, Scalar, SolveError};

/// The particles of a run, spread over ranks, each of which holds its own on a GPU: to be used by all ranks, through
/// [`solve_on`](cbo::ranks::solve_on) and [`resume_on`](cbo::ranks::resume_on), as [`Particles`] is. Ranks of one machine may share a GPU.
///
/// ```no_run
/// use cbo::ranks::{Communicator, Particles, in_threads, solve_on};
/// use cbo::CboConfig;
/// use cbo_problems::Problem;
///
/// let (config, problem) = (CboConfig { particles: 1_000_000, ..CboConfig::default() }, Problem::named("rastrigin", 20)?);
/// let runs = in_threads(4, |rank| {
///     let gpu = cbo_cuda::Cuda::open_for_rank(rank.rank()).expect("a GPU").on_ranks(Particles::new(rank));
///     solve_on::<f64>(&gpu, &config, &problem, &mut ())
/// });
/// # Ok::<(), cbo_problems::ProblemError>(())
/// ```
#[derive(Debug)]
pub struct OnRanks {
    gpu: Cuda,
    particles: Particles,
}

impl Cuda {
    /// The GPU of a rank that has this place among the ranks of its machine, from 0. Where there are fewer GPUs than ranks, they share them.
    pub fn open_for_rank(place: usize) -> Result<Self, Fault> {
        // Where there are none, opening one says so.
        Self::open(place % Gpu::count()?.max(1))
    }

    /// The GPU as that of one of several ranks.
    #[must_use]
    pub fn on_ranks(&self, particles: Particles) -> OnRanks {
        // Ranks ask each other for particles.
        OnRanks { gpu: Self { forgets: false, ..self.clone() }, particles }
    }

    /// Refuses by name what runs on one GPU and not on those of several ranks.
    pub fn check_on_ranks(plan: &Plan) -> Result<(), SolveError> {
        match plan.config().batch {
            Some(batch) => {
                let remedy =
                    "is for one GPU, or for the processors of several ranks; leave it out, use device cpu, or one rank";
                Err(refuse("batch", batch.to_string(), remedy))
            }
            None => Ok(()),
        }
    }
}

impl<T: Scalar> Device<T> for OnRanks {
    fn columns(&self) -> Option<&dyn Columns> {
        Device::<T>::columns(&self.particles)
    }

    fn without_auto(&self) -> ConfigError {
        Device::<T>::without_auto(&self.particles)
    }

    fn begin(&self, plan: &Plan, objective: &dyn Objective<T>) -> Result<Box<dyn Backend<T>>, SolveError> {
        // The same on all ranks.
        self.gpu.check(plan)?;
        Cuda::check_on_ranks(plan)?;
        let seat = self.particles.seat(plan);
        let share = self.gpu.share_of(plan, objective, seat.clone())?;
        Ok(seat.spread(plan, Box::new(share)))
    }
}
