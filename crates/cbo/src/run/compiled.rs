//! Whole runs, compiled here once for each precision.
//!
//! Everything in this crate is generic over the precision, and what a user calls over the objective, too: a crate that calls
//! [`solve`](crate::solve) with twenty closures would compile twenty runs. These functions are not generic: it calls them instead.

use super::{Nature, Process, Run};
use crate::config::Plan;
use crate::device::{Device, Errand, Made, Place};
use crate::objective::Objective;
use crate::observer::Observer;
use crate::report::{RunReport, SolveError};
use crate::sample::{Proposal, Sample};
use crate::simd::Scalar;
use crate::solve::{resume_loop, solve_loop};
use crate::state::StateError;
use crate::{abreast, auto};

/// The runs of one precision.
#[doc(hidden)]
pub trait Runs: Sized {
    /// [`solve`](crate::solve).
    fn solve(
        plan: &Plan,
        objective: &dyn Objective<Self>,
        observer: &mut (dyn Observer<Self> + Send),
        device: Option<&dyn Device<Self>>,
    ) -> Result<RunReport<Self>, SolveError>
    where
        Self: Scalar;
    /// [`resume`](crate::resume).
    fn resume(
        plan: &Plan,
        objective: &dyn Objective<Self>,
        observer: &mut (dyn Observer<Self> + Send),
        device: Option<&dyn Device<Self>>,
        state: &[u8],
    ) -> Result<RunReport<Self>, StateError>
    where
        Self: Scalar;
    /// A run for ask and tell, with this many constraints.
    fn begin(
        plan: &Plan,
        constraints: usize,
        device: Option<&dyn Device<Self>>,
    ) -> Result<Box<dyn Process<Self>>, SolveError>;
    /// The same from what was saved, and whether the energies of its step are told.
    fn load(
        plan: &Plan,
        device: Option<&dyn Device<Self>>,
        state: &[u8],
    ) -> Result<(Box<dyn Process<Self>>, bool), StateError>;
    /// [`forget_best`](crate::forget_best).
    fn forget_best(plan: &Plan, state: &[u8]) -> Result<Vec<u8>, StateError>;
    /// Many runs [abreast](crate::device::Processor).
    fn abreast(
        runs: &[Errand<'_, Self>],
        logged: bool,
        watch: &(dyn Fn(f64) -> bool + Sync),
    ) -> Result<Vec<Option<Made<Self>>>, SolveError>;
    /// [`Proposal::sample`].
    fn sample(proposal: Proposal<Self>, objective: &dyn Objective<Self>) -> Result<Sample<Self>, SolveError>
    where
        Self: Scalar;
}

macro_rules! compiled {
    ($($t:ident)*) => {$(
        impl Runs for $t {
            #[inline(never)]
            fn solve(
                plan: &Plan,
                objective: &dyn Objective<$t>,
                observer: &mut (dyn Observer<$t> + Send),
                device: Option<&dyn Device<$t>>,
            ) -> Result<RunReport<$t>, SolveError> {
                match (plan.config().method.is_auto(), device) {
                    (true, Some(device)) => Err(device.without_auto().into()),
                    (true, None) => auto::solve(plan, objective, observer),
                    (false, device) => solve_loop(plan, objective, observer, Place::of(device, objective)),
                }
            }
            #[inline(never)]
            fn resume(
                plan: &Plan,
                objective: &dyn Objective<$t>,
                observer: &mut (dyn Observer<$t> + Send),
                device: Option<&dyn Device<$t>>,
                state: &[u8],
            ) -> Result<RunReport<$t>, StateError> {
                match (plan.config().method.is_auto(), device) {
                    (true, Some(device)) => Err(SolveError::from(device.without_auto()).into()),
                    (true, None) => auto::resume(plan, objective, observer, state),
                    (false, device) => resume_loop(plan, objective, observer, Place::of(device, objective), state),
                }
            }
            #[inline(never)]
            fn begin(
                plan: &Plan,
                constraints: usize,
                device: Option<&dyn Device<$t>>,
            ) -> Result<Box<dyn Process<$t>>, SolveError> {
                Ok(match (plan.config().method.is_auto(), device) {
                    (true, Some(device)) => return Err(device.without_auto().into()),
                    (true, None) => Box::new(auto::Run::begin(plan, false, constraints)?),
                    (false, device) => Box::new(Run::begin(plan, Nature::elsewhere(), constraints, Place::told(device))?),
                })
            }
            #[inline(never)]
            fn load(
                plan: &Plan,
                device: Option<&dyn Device<$t>>,
                state: &[u8],
            ) -> Result<(Box<dyn Process<$t>>, bool), StateError> {
                if plan.config().method.is_auto() {
                    if let Some(device) = device {
                        return Err(SolveError::from(device.without_auto()).into());
                    }
                    let (run, told) = auto::Run::load(plan, false, None, state)?;
                    return Ok((Box::new(run), told));
                }
                let (run, told) = Run::load(plan, Nature::elsewhere(), None, Place::told(device), state)?;
                Ok((Box::new(run), told))
            }
            #[inline(never)]
            fn forget_best(plan: &Plan, state: &[u8]) -> Result<Vec<u8>, StateError> {
                super::saved::without_best::<$t>(plan, state)
            }
            #[inline(never)]
            fn abreast(
                runs: &[Errand<'_, $t>],
                logged: bool,
                watch: &(dyn Fn(f64) -> bool + Sync),
            ) -> Result<Vec<Option<Made<$t>>>, SolveError> {
                abreast::solve_some(runs, logged, watch)
            }
            #[inline(never)]
            fn sample(proposal: Proposal<$t>, objective: &dyn Objective<$t>) -> Result<Sample<$t>, SolveError> {
                proposal.sample_by(objective)
            }
        }
    )*};
}

compiled!(f32 f64);
