//! How runs ended, as the device says it and as it is told.

use super::forms::Member;
use cbo::device::{Ended, Errand, Made};
use cbo::{Evaluated, Scalar, SolveError, StopReason};
use rayon::prelude::*;

/// Numbers of 64 bits that are left of a run: `State` in `swarms.cuh`.
pub(super) const STATE: usize = 13;

/// Entries of a state.
pub(super) const STEP: usize = 0;
pub(super) const FAILED: usize = 2;
pub(super) const INFEASIBLE: usize = 3;
pub(super) const LOGGED: usize = 4;
pub(super) const LEAST: usize = 6;
pub(super) const DONE_BELOW: usize = 7;
pub(super) const END: usize = 8;
pub(super) const STEP_FAILED: usize = 9;
pub(super) const STEP_INFEASIBLE: usize = 10;
pub(super) const PARTICLE: usize = 11;
pub(super) const ENERGY: usize = 12;

/// How a run ended: `End` in `swarms.cuh`, whose names these are; the last one is for the processor to say.
pub(super) const GOING: u64 = 0;
pub(super) const SECONDS: u64 = 7;
const ENDS: [End; 7] = [
    End::Stop(StopReason::Target),
    End::Limit,
    End::Stop(StopReason::Stagnation),
    End::Stop(StopReason::Diameter),
    End::Strict,
    End::Nothing,
    End::Stop(StopReason::Seconds),
];

#[derive(Clone, Copy, Debug)]
enum End {
    /// For this reason.
    Stop(StopReason),
    /// With the last step that its settings allow.
    Limit,
    /// By a failed evaluation in a strict run.
    Strict,
    /// Without a finite energy.
    Nothing,
}

/// How a run ended, as the device says it.
pub(super) struct Final<T> {
    pub state: [u64; STATE],
    pub best: Vec<T>,
    pub consensus: Vec<T>,
    pub improvements: Vec<(u64, Evaluated<T>)>,
}

/// The runs, each with its place among all.
pub(super) fn made<T: Scalar>(
    ends: Vec<Final<T>>,
    members: &[Member],
    runs: &[Errand<'_, T>],
) -> Result<Vec<(usize, Made<T>)>, SolveError> {
    let one = |(end, member): (Final<T>, &Member)| Ok((member.place, end.made(&runs[member.place])?));
    ends.into_par_iter().zip(members).map(one).collect()
}

impl<T: Scalar> Final<T> {
    /// The run as it is told.
    fn made(self, errand: &Errand<'_, T>) -> Result<Made<T>, SolveError> {
        let Self { state, best, consensus, improvements } = self;
        let (plan, particles) = (&errand.plan, errand.plan.config().particles as u64);
        let (step, evaluations) = (state[STEP], (state[STEP] + 1) * particles);
        let stop = match ENDS[(state[END] as usize).clamp(1, ENDS.len()) - 1] {
            End::Stop(reason) => Ok(reason),
            End::Limit if plan.last_step().is_some_and(|last| step >= last) => Ok(StopReason::Steps),
            End::Limit => Ok(StopReason::Evaluations),
            End::Strict => {
                let (particle, energy) = (state[PARTICLE] as usize, f64::from_bits(state[ENERGY]));
                Err(SolveError::Strict { step, particle, energy })
            }
            End::Nothing => {
                let (failed, infeasible) = (state[STEP_FAILED], state[STEP_INFEASIBLE]);
                Err(SolveError::NoFiniteEnergy { step, evaluated: particles, failed, infeasible })
            }
        };
        let of = |x, value| Evaluated { x, value, violation: 0.0 };
        let end = stop.map(|stop| Ended {
            best: of(best, f64::from_bits(state[LEAST])),
            consensus: of(consensus, f64::NAN),
            stop,
            steps: step,
            evaluations,
            failed: state[FAILED],
            infeasible: state[INFEASIBLE],
        });
        Made::of(errand, end, evaluations, improvements)
    }
}
