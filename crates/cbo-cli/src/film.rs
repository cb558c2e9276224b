//! A film of the swarm in one or two dimensions: evenly spaced snapshots, bounded in number and in particles.

use cbo::{Ensemble, Scalar, StepReport};
use serde::{Deserialize, Serialize};

/// Particles kept of a snapshot: more would hide the landscape.
const PARTICLES: usize = 2000;

/// The swarm at one step; the second coordinate is 0 in one dimension.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Snapshot {
    /// The step.
    pub step: u64,
    /// Its time.
    pub time: f64,
    /// Positions of the first particles.
    pub points: Vec<[f64; 2]>,
    /// The consensus point.
    pub consensus: [f64; 2],
}

/// Snapshots in order; when there are too many, every second one is dropped and the spacing doubles.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Film {
    snapshots: Vec<Snapshot>,
    capacity: usize,
    spacing: u64,
}

fn place<T: Scalar>(x: &[T]) -> [f64; 2] {
    [x[0].to_f64(), x.get(1).map_or(0.0, |v| v.to_f64())]
}

impl Snapshot {
    /// The swarm as it is.
    pub fn new<T: Scalar>(step: u64, time: f64, ensemble: &Ensemble<T>, consensus: &[f64]) -> Self {
        let points = ensemble.rows().iter().take(PARTICLES).map(place).collect();
        Self { step, time, points, consensus: place(consensus) }
    }
}

impl Film {
    /// A film of at most `capacity` snapshots (at least 2). The first is that of step 0.
    pub fn new(capacity: usize) -> Self {
        Self { snapshots: Vec::new(), capacity: capacity.max(2), spacing: 1 }
    }

    /// The film as bytes, for a run that is resumed later.
    pub fn to_bytes(&self) -> Vec<u8> {
        // Numbers and lists of them are always JSON.
        serde_json::to_vec(self).unwrap_or_default()
    }

    /// The film in these bytes.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        serde_json::from_slice(bytes).ok().filter(|film: &Self| film.capacity >= 2 && film.spacing >= 1)
    }

    /// Keeps the swarm of this step, if it is its turn.
    pub fn observe<T: Scalar>(&mut self, step: &StepReport<'_, T>) {
        if !step.step().is_multiple_of(self.spacing) {
            return;
        }
        if self.snapshots.len() >= self.capacity {
            self.spacing *= 2;
            let spacing = self.spacing;
            self.snapshots.retain(|s| s.step.is_multiple_of(spacing));
            if !step.step().is_multiple_of(spacing) {
                return;
            }
        }
        self.snapshots.push(Snapshot::new(step.step(), step.time(), step.ensemble(), step.consensus()));
    }

    /// The snapshots, the last of them `end`.
    pub fn finish(mut self, end: Snapshot) -> Vec<Snapshot> {
        self.snapshots.retain(|s| s.step < end.step);
        self.snapshots.push(end);
        self.snapshots
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cbo::{CboConfig, from_fn, solve};
    use std::ops::ControlFlow;

    #[test]
    fn a_film_thins_itself_and_ends_with_the_end() {
        let mut film = Film::new(8);
        let sphere = from_fn(2, |x: &[f64]| x[0] * x[0] + x[1] * x[1]);
        let config = CboConfig { steps: Some(50), stagnation: None, diameter: None, ..CboConfig::default() };
        let run = solve(&config, &sphere, &mut |step: &StepReport<'_, f64>| {
            film.observe(step);
            ControlFlow::Continue(())
        })
        .expect("a run");
        assert_eq!(Film::from_bytes(&film.to_bytes()), Some(film.clone()));
        let end = Snapshot::new(run.steps(), run.time(), run.ensemble(), &run.consensus().x);
        let steps: Vec<u64> = film.finish(end).iter().map(|s| s.step).collect();
        assert_eq!(steps, [0, 8, 16, 24, 32, 40, 48, 50]);
    }
}
