//! Many runs at once: a block of threads of the device makes one of them, and some launches make all their steps.

mod batch;
mod ends;
mod forms;

use crate::machine::{Entry, Program};
use crate::source::text_of_swarms;
use crate::{Cuda, refuse, size};
use batch::Batch;
use cbo::device::{Errand, Fleet, Made};
use cbo::{Method, Plan, Scalar, SolveError};
use forms::{Group, Member};
use std::sync::Arc;

impl<T: Scalar> Fleet<T> for Cuda {
    fn solve_many(
        &self,
        runs: &[Errand<'_, T>],
        logged: bool,
        watch: &(dyn Fn(f64) -> bool + Sync),
    ) -> Result<Option<Vec<Made<T>>>, SolveError> {
        runs.iter().try_for_each(|run| self.check_one_of_many(&run.plan))?;
        let (groups, constants) = forms::groups(self, runs)?;
        let mut all: Vec<(usize, Made<T>)> = Vec::with_capacity(runs.len());
        for group in &groups {
            let program = self.program_of::<T>(group)?;
            for members in self.batches::<T>(group, logged)? {
                let done = all.len();
                let part = |share: f64| watch((done as f64 + share * members.len() as f64) / runs.len() as f64);
                let ended = Batch::begin(&self.machine, (group, members), runs, &constants, logged)
                    .and_then(|mut batch| Ok(if batch.run(&*program, &part)? { Some(batch.ends()?) } else { None }));
                let Some(ends) = ended.map_err(|fault| refuse("device", self.name.clone(), fault.0))? else {
                    return Ok(None);
                };
                all.extend(ends::made(ends, members, runs)?);
            }
        }
        all.sort_by_key(|(place, _)| *place);
        Ok(Some(all.into_iter().map(|(_, made)| made).collect()))
    }
}

impl Cuda {
    /// Refuses by name what one of many runs cannot have on a device.
    pub fn check_one_of_many(&self, plan: &Plan) -> Result<(), SolveError> {
        self.check(plan)?;
        let config = plan.config();
        let only = |field, value: String| {
            Err(refuse(field, value, format!("is not for many runs at once on {}; use device cpu", self.name)))
        };
        match config.max_seconds {
            _ if config.method != Method::Cbo => only("method", config.method.to_string()),
            _ if config.batch.is_some() => only("batch", plan.batch_size().to_string()),
            Some(seconds) if plan.horizon().is_none() && !batch::is_steady(config) => {
                let remedy = format!(
                    "is not enough for many runs at once on {} whose alpha or sigma changes; limit their steps, too, or use device cpu",
                    self.name
                );
                Err(refuse("max_seconds", seconds.to_string(), remedy))
            }
            _ => Ok(()),
        }
    }

    /// The kernels of a group.
    fn program_of<T: Scalar>(&self, group: &Group) -> Result<Arc<dyn Program>, SolveError> {
        let text = text_of_swarms::<T>(&group.config, &group.energy, &group.functions(), (group.dim, group.near));
        self.compiled(&text, &[Entry { name: "swarms".into(), shared: crate::source::NEAR as u32 }])
    }

    /// The runs of a group, as many together as half of the free memory holds.
    fn batches<'g, T: Scalar>(
        &self,
        group: &'g Group,
        logged: bool,
    ) -> Result<impl Iterator<Item = &'g [Member]>, SolveError> {
        let most = group.runs.last().map_or(0, |last| last.particles);
        let (each, free) = (batch::bytes_of_run::<T>(group, most, logged), self.machine.free_bytes());
        let together = free.map_or(usize::MAX, |free| (free / 2 / each) as usize);
        if together == 0 {
            let (needed, free) = (size(2 * each), size(free.unwrap_or(0)));
            let remedy = format!("need {needed} on {}, which has {free} left; use fewer", self.model());
            return Err(refuse("particles", most.to_string(), remedy));
        }
        Ok(group.runs.chunks(together))
    }
}
