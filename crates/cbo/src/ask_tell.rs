//! A run whose loop belongs to the caller: it asks for points and tells their energies.

use crate::answers::{Answers, Known, Limits};
use crate::config::{Plan, Settings};
use crate::constraint::{defined, violation};
use crate::device::Device;
use crate::minimisers;
use crate::objective::Rows;
use crate::observer::Observer;
use crate::report::{Evaluated, RunReport, SolveError, StopReason};
use crate::run::{Process, tell, tell_midway};
use crate::simd::Scalar;
use crate::state::StateError;

/// A run step by step, for objectives that are evaluated elsewhere. With the same config, seed and energies it goes through the same
/// steps as [`solve`](crate::solve), bit for bit.
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
/// assert!((run.report().best().x[0] - 1.0).abs() < 1e-3);
/// # Ok::<(), cbo::SolveError>(())
/// ```
#[derive(Debug)]
pub struct AskTell<T> {
    run: Box<dyn Process<T>>,
    /// Whether the points were asked for since energies were last told.
    asked: bool,
    told: bool,
    stopped: Option<StopReason>,
}

impl<T: Scalar> AskTell<T> {
    /// A run in `dim` dimensions at its beginning.
    pub fn new(settings: impl Settings, dim: usize) -> Result<Self, SolveError> {
        Self::with_constraints(settings, dim, 0)
    }

    /// A run whose points have to meet this many constraints, which are [told](Self::tell_constrained) with their energies.
    ///
    /// ```
    /// use cbo::{AskTell, CboConfig};
    ///
    /// // The least x + y in the unit disc.
    /// let config = CboConfig { particles: 200, seed: 1, ..CboConfig::default() };
    /// let mut run = AskTell::<f64>::with_constraints(&config, 2, 1)?;
    /// while run.stopped().is_none() {
    ///     let points: Vec<Vec<f64>> = run.ask().iter().map(<[f64]>::to_vec).collect();
    ///     let energies: Vec<f64> = points.iter().map(|x| x[0] + x[1]).collect();
    ///     let constraints: Vec<f64> = points.iter().map(|x| x[0].powi(2) + x[1].powi(2) - 1.0).collect();
    ///     run.tell_constrained(&energies, &constraints, &mut ())?;
    /// }
    /// assert!(run.best().is_feasible() && (run.best().value + 2f64.sqrt()).abs() < 0.05);
    /// # Ok::<(), cbo::SolveError>(())
    /// ```
    pub fn with_constraints(settings: impl Settings, dim: usize, constraints: usize) -> Result<Self, SolveError> {
        Self::begin(&settings.plan(dim)?, constraints, None)
    }

    /// A run on a device, for `cbo-cuda`: [`ask_there`](Self::ask_there) and [`tell_there`](Self::tell_there) leave points and energies
    /// where they are.
    #[doc(hidden)]
    pub fn on(device: &dyn Device<T>, settings: impl Settings, dim: usize) -> Result<Self, SolveError> {
        Self::begin(&settings.plan(dim)?, 0, Some(device))
    }

    fn begin(plan: &Plan, constraints: usize, device: Option<&dyn Device<T>>) -> Result<Self, SolveError> {
        let mut run = T::begin(plan, constraints, device)?;
        run.settle();
        Ok(Self { run, asked: false, told: false, stopped: None })
    }

    /// The points of this step: the same until their energies are told. A step of a smooth [memory](crate::Memory) asks twice, for the
    /// positions and then for what the particles remember.
    ///
    /// A run that came to a [stop](Self::stopped) may be asked for more. Only the method [`auto`](crate::Method::Auto) gives no points
    /// when it has converged or spent its evaluations, which it never exceeds.
    pub fn ask(&mut self) -> Rows<'_, T> {
        if self.go_on() { self.run.points() } else { Rows::new(&[], self.run.plan().dim()) }
    }

    /// [`ask`](Self::ask) where the points are on a device and stay there: how many they are.
    #[doc(hidden)]
    pub fn ask_there(&mut self) -> usize {
        if self.go_on() { self.run.point_count() } else { 0 }
    }

    /// Makes the next move, if it is time for it. Says whether there are points.
    fn go_on(&mut self) -> bool {
        self.asked = true;
        if self.told && self.run.is_over() {
            return false;
        }
        if self.told {
            self.run.decide();
            self.run.settle();
            (self.told, self.stopped) = (false, None);
        }
        true
    }

    /// Takes the energies of the points asked for, in their order; the observer is told of the step. Returns the reason if the
    /// run should end here. An error ends it for good.
    ///
    /// # Panics
    /// If the points were not asked for since the last call, if there are not as many energies as points, or if the points have
    /// constraints.
    pub fn tell(&mut self, energies: &[T], observer: &mut impl Observer<T>) -> Result<Option<StopReason>, SolveError> {
        self.tell_constrained(energies, &[], observer)
    }

    /// Takes the energies of the points asked for and their constraints, those of the first point first. A constraint is met where it is
    /// zero or less, and violated by as much as it is more; the evaluation of a point with one that is NaN has failed.
    ///
    /// # Panics
    /// If the points were not asked for since the last call, or if there are not as many energies and constraints as the points have.
    pub fn tell_constrained(
        &mut self,
        energies: &[T],
        constraints: &[T],
        observer: &mut impl Observer<T>,
    ) -> Result<Option<StopReason>, SolveError> {
        assert!(std::mem::take(&mut self.asked), "tell without ask");
        if self.told && energies.is_empty() {
            return Ok(self.stopped);
        }
        let count = self.run.constraint_count();
        assert_eq!(energies.len(), self.run.points().len(), "energies for points");
        assert_eq!(constraints.len(), energies.len() * count, "constraints for points");
        let last = if count == 0 {
            self.run.take(energies, &[])
        } else {
            let pairs = energies.iter().zip(constraints.chunks_exact(count));
            let energies: Vec<T> = pairs.map(|(energy, constraints)| defined(*energy, constraints)).collect();
            self.run.take(&energies, constraints)
        };
        if last { self.conclude(observer) } else { Ok(None) }
    }

    /// [`tell`](Self::tell) where the caller has written the energies to the memory of the device.
    ///
    /// # Panics
    /// If the points were not asked for since the last call.
    #[doc(hidden)]
    pub fn tell_there(&mut self, observer: &mut impl Observer<T>) -> Result<Option<StopReason>, SolveError> {
        assert!(std::mem::take(&mut self.asked), "tell without ask");
        if self.run.take_there()? { self.conclude(observer) } else { Ok(None) }
    }

    /// The end of a step, all energies of which are there.
    fn conclude(&mut self, observer: &mut impl Observer<T>) -> Result<Option<StopReason>, SolveError> {
        self.run.agree()?;
        self.told = true;
        self.stopped = tell(&*self.run, observer);
        if self.stopped.is_some() {
            self.run.check_end()?;
        }
        Ok(self.stopped)
    }

    /// A place for the energies of the points asked for, where they come in one by one: it knows when the run needs no more of them,
    /// because its time is over or its target is reached. [`take`](Self::take) takes them.
    ///
    /// ```
    /// use cbo::{AskTell, CboConfig, StopReason};
    ///
    /// let config = CboConfig { particles: 50, target: Some(1.0), ..CboConfig::default() };
    /// let mut run = AskTell::<f64>::new(&config, 2)?;
    /// let reason = loop {
    ///     let answers = run.answers();
    ///     for (row, x) in run.ask().iter().enumerate() {
    ///         if answers.are_enough() {
    ///             break;
    ///         }
    ///         answers.give(row, (x[0] - 1.0).powi(2) + x[1].powi(2));
    ///     }
    ///     if let Some(reason) = run.take(answers, &mut ())? {
    ///         break reason;
    ///     }
    /// };
    /// assert_eq!(reason, StopReason::Target);
    /// # Ok::<(), cbo::SolveError>(())
    /// ```
    pub fn answers(&mut self) -> Answers<T> {
        if self.ask().is_empty() {
            return Answers::new(Known::default(), Limits::default());
        }
        self.run.answers()
    }

    /// Takes [answers](Self::answers) to the points asked for: all of them as [`tell`](Self::tell) does. If some are missing, the run ends
    /// here, within its step: its [report](Self::report) counts those that are there. It may still go on: then all points of the step are
    /// asked for again, and the answers are there already in the next [`answers`](Self::answers).
    pub fn take(
        &mut self,
        answers: Answers<T>,
        observer: &mut impl Observer<T>,
    ) -> Result<Option<StopReason>, SolveError> {
        let (reason, known) = (answers.reason(), answers.into_known());
        if known.is_whole() {
            self.asked = true;
            return self.tell_constrained(known.energies(), known.constraints(), observer);
        }
        self.run.pause(known);
        self.stopped = Some(tell_midway(&*self.run, observer, reason.unwrap_or(StopReason::Observer)));
        self.run.check_end()?;
        Ok(self.stopped)
    }

    /// The step of the points last asked for, from 0.
    pub fn step(&self) -> u64 {
        self.run.ledger().step
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
        self.run.plan()
    }

    /// How many constraints a point has to meet.
    pub fn constraints(&self) -> usize {
        self.run.constraint_count()
    }

    /// The best point told so far; its value is infinite before the first.
    pub fn best(&self) -> &Evaluated<T> {
        &self.run.ledger().best
    }

    /// The consensus point of the last step told.
    pub fn consensus(&self) -> Vec<T> {
        self.run.landed()
    }

    /// The run so far. The value of the consensus point is NaN, because it was not evaluated. The energies are NaN too
    /// until those of the step are told.
    pub fn report(&self) -> RunReport<T> {
        self.report_with(None)
    }

    /// The run as [`solve`](crate::solve) would report it: with the value of the [consensus point](Self::consensus) and its constraints,
    /// evaluated once at the end.
    ///
    /// # Panics
    /// If there are not as many constraints as a point has.
    pub fn report_with_consensus(&self, value: T, constraints: &[T]) -> RunReport<T> {
        assert_eq!(constraints.len(), self.run.constraint_count(), "constraints of the consensus point");
        self.report_with(Some((defined(value, constraints).to_f64(), violation(constraints))))
    }

    fn report_with(&self, consensus: Option<(f64, f64)>) -> RunReport<T> {
        let mut energies = self.run.energies().to_vec();
        if !self.told && !self.run.is_midway() {
            energies.fill(T::from_f64(f64::NAN));
        }
        let summary = self.run.summary(consensus, self.stopped.unwrap_or(StopReason::Observer));
        let ensemble = self.run.ensemble().clone();
        let minimisers = minimisers::found(self.run.plan(), &ensemble, &energies, self.run.evaluated());
        RunReport { particles: ensemble.len(), ensemble, energies, minimisers, ..summary }
    }

    /// The state as bytes, from which [`load`](Self::load) continues bit for bit.
    pub fn save(&self) -> Vec<u8> {
        self.run.save(self.told, self.run.seconds())
    }

    /// Continues where [`save`](Self::save) was called. Settings may differ from those of then, except for the method, the seed, the
    /// dimension, the batch size and the precision, and there may not be fewer particles.
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
    pub fn load(settings: impl Settings, dim: usize, bytes: &[u8]) -> Result<Self, StateError> {
        Self::load_from(&settings.plan(dim).map_err(SolveError::from)?, None, bytes)
    }

    /// The same on a device.
    #[doc(hidden)]
    pub fn load_on(
        device: &dyn Device<T>,
        settings: impl Settings,
        dim: usize,
        bytes: &[u8],
    ) -> Result<Self, StateError> {
        Self::load_from(&settings.plan(dim).map_err(SolveError::from)?, Some(device), bytes)
    }

    fn load_from(plan: &Plan, device: Option<&dyn Device<T>>, bytes: &[u8]) -> Result<Self, StateError> {
        let (run, told) = T::load(plan, device, bytes)?;
        let stopped = if told { tell(&*run, &mut ()) } else { None };
        Ok(Self { run, asked: false, told, stopped })
    }
}
