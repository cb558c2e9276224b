//! A run whose loop belongs to the caller: it asks for points and tells their energies.

use crate::config::{CboConfig, Plan};
use crate::objective::{Grouping, Rows};
use crate::observer::Observer;
use crate::report::{Evaluated, RunReport, SolveError, StopReason};
use crate::simd::Scalar;
use crate::solve::stop;
use crate::state::{StateError, Stopwatch};
use crate::swarm::Swarm;
use std::sync::Arc;

/// A run step by step, for objectives that are evaluated elsewhere. With the same config, seed and energies it goes through the same
/// steps as [`solve`](crate::solve), bit by bit.
///
/// ```
/// use cbo::{AskTell, CboConfig};
///
/// let config = CboConfig { particles: 50, steps: Some(100), ..CboConfig::default() };
/// let mut run = AskTell::<f64>::new(&config, 2)?;
/// while run.stopped().is_none() {
///     let energies: Vec<f64> = run.ask().iter().map(|x| (x[0] - 1.0).powi(2) + x[1].powi(2)).collect();
///     run.tell(&energies, &mut ())?;
/// }
/// assert!((run.report().best.x[0] - 1.0).abs() < 1e-3);
/// # Ok::<(), cbo::SolveError>(())
/// ```
#[derive(Debug)]
pub struct AskTell<T> {
    plan: Arc<Plan>,
    swarm: Swarm<T>,
    told: bool,
    stopped: Option<StopReason>,
    clock: Stopwatch,
}

impl<T: Scalar> AskTell<T> {
    /// A run of `config` in `dim` dimensions at its beginning.
    pub fn new(config: &CboConfig, dim: usize) -> Result<Self, SolveError> {
        let plan = Arc::new(config.check(dim)?);
        let mut swarm = Swarm::begin(&plan, Grouping::Together)?;
        swarm.settle();
        swarm.draw_ahead();
        Ok(Self { plan, swarm, told: false, stopped: None, clock: Stopwatch::start() })
    }

    /// The points of this step: the same until their energies are told.
    ///
    /// A run that came to a [stop](Self::stopped) may be asked for more.
    pub fn ask(&mut self) -> Rows<'_, T> {
        if self.told {
            self.swarm.depart();
            self.swarm.settle();
            self.swarm.draw_ahead();
            self.told = false;
        }
        self.swarm.points()
    }

    /// Takes the energies of the points asked for, in their order; the observer is told of the step. Returns the reason if the
    /// run should end here. An error ends it for good.
    ///
    /// # Panics
    /// If the points were not asked for since the last call, or if there are not as many energies as points.
    pub fn tell(&mut self, energies: &[T], observer: &mut impl Observer<T>) -> Result<Option<StopReason>, SolveError> {
        assert!(!self.told, "tell without ask");
        assert_eq!(energies.len(), self.swarm.energies.len(), "energies for points");
        self.swarm.take(energies);
        self.swarm.agree(false)?;
        self.told = true;
        self.stopped = stop(&self.plan, &self.swarm, observer, self.clock.seconds());
        Ok(self.stopped)
    }

    /// The step of the points last asked for, from 0.
    pub fn step(&self) -> u64 {
        self.swarm.step
    }

    /// Whether the energies of this step are told.
    pub fn told(&self) -> bool {
        self.told
    }

    /// Why the run should end here, if it should.
    pub fn stopped(&self) -> Option<StopReason> {
        self.stopped
    }

    /// What was checked when the run began.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The best point told so far; its value is infinite before the first.
    pub fn best(&self) -> &Evaluated<T> {
        &self.swarm.best
    }

    /// The run so far. The value of the consensus point is NaN: nobody evaluated it.
    pub fn report(&self) -> RunReport<T> {
        let swarm = &self.swarm;
        let x = swarm.consensus.iter().map(|&x| T::from_f64(x)).collect();
        RunReport {
            best: swarm.best.clone(),
            consensus: Evaluated { x, value: f64::NAN },
            stop: self.stopped.unwrap_or(StopReason::Observer),
            steps: swarm.step,
            time: swarm.step as f64 * self.plan.config.dt,
            evaluations: swarm.evaluations,
            failed_evaluations: swarm.failed,
            infeasible_evaluations: swarm.infeasible,
            alpha: swarm.alpha,
            sigma: swarm.sigma,
            ensemble: swarm.ensemble.clone(),
            energies: swarm.energies.clone(),
            seed: self.plan.config.seed,
            seconds: self.clock.seconds(),
        }
    }

    /// The state as bytes, from which [`load`](Self::load) goes on bit by bit.
    pub fn save(&self) -> Vec<u8> {
        self.swarm.save(self.told, self.clock.seconds())
    }

    /// Goes on where [`save`](Self::save) was called. Settings may differ from those of then, except for the seed, the dimension, the
    /// batch size and the precision, and there may not be fewer particles.
    ///
    /// ```
    /// use cbo::{AskTell, CboConfig};
    ///
    /// let config = CboConfig { particles: 20, ..CboConfig::default() };
    /// let mut run = AskTell::<f64>::new(&config, 2)?;
    /// let energies: Vec<f64> = run.ask().iter().map(|x| x[0].powi(2) + x[1].powi(2)).collect();
    /// run.tell(&energies, &mut ())?;
    /// let mut again = AskTell::load(&config, 2, &run.save())?;
    /// assert_eq!(run.ask().as_slice(), again.ask().as_slice());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn load(config: &CboConfig, dim: usize, bytes: &[u8]) -> Result<Self, StateError> {
        let plan = Arc::new(config.check(dim).map_err(SolveError::from)?);
        let (swarm, told, seconds) = Swarm::load(&plan, Grouping::Together, bytes)?;
        let stopped = if told { stop(&plan, &swarm, &mut (), seconds) } else { None };
        Ok(Self { plan, swarm, told, stopped, clock: Stopwatch::start_from(seconds) })
    }
}
