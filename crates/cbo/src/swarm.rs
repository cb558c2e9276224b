//! The state of a run between two steps, and the passes over it that the loop is made of.

mod saved;

use crate::ahead::Ahead;
use crate::batch::Batches;
use crate::bounds::Walls;
use crate::buffer::Buffer;
use crate::config::{DEFAULT_SHRINKAGE, Plan, Update};
use crate::consensus::{Partial, alpha_for_sample_size};
use crate::ensemble::Ensemble;
use crate::objective::{EvalError, Grouping, Objective, Rows, StepContext};
use crate::report::{Evaluated, SolveError};
use crate::schedule::Alpha;
use crate::simd::{self, Scalar};
use crate::step::{Dynamics, Motion, Scratch, pattern_rows, tile_rows};
use crate::threads::{Blocks, Crew, Effort};
use std::sync::Arc;

/// Particles in a block of the reduction: a function of the dimension alone, so that sums do not depend on threads.
fn block_rows(dim: usize) -> usize {
    2048usize.div_ceil(dim).next_multiple_of(16).clamp(64, 1024)
}

/// Everything that one step hands to the next.
#[derive(Debug)]
pub(crate) struct Swarm<T> {
    plan: Arc<Plan>,
    crew: Crew<T>,
    walls: Option<Walls<T>>,
    /// Normals of the coming move, where they are drawn while somebody else evaluates.
    ahead: Option<Arc<Ahead<T>>>,
    pub ensemble: Ensemble<T>,
    pub batches: Option<Batches>,
    /// Copies of the rows of the current batch; empty when all particles are evaluated.
    gathered: Buffer<T>,
    pub energies: Vec<T>,
    /// The energies in double precision, for the search of alpha.
    doubles: Vec<f64>,
    /// For moves of single particles.
    scratch: Scratch<T>,
    partials: Vec<Partial>,
    pub total: Partial,
    pub consensus: Vec<f64>,
    previous: Vec<f64>,
    /// The consensus point of the coming move, repeated for a few rows.
    centres: Buffer<T>,
    pub step: u64,
    pub alpha: f64,
    pub sigma: f64,
    pub kicked: bool,
    pub best: Evaluated<T>,
    best_batch: u64,
    pub improved: u64,
    pub evaluations: u64,
    pub failed: u64,
    pub infeasible: u64,
    variance: f64,
    /// The diameter at which the swarm is done.
    pub done_below: Option<f64>,
}

impl<T: Scalar> Swarm<T> {
    /// The swarm at time 0, not yet evaluated.
    pub fn begin(plan: &Arc<Plan>, grouping: Grouping) -> Result<Self, SolveError> {
        let (config, dim) = (&plan.config, plan.dim);
        let (particles, batch) = (config.particles, plan.batch_size());
        let Some(mut positions) = Buffer::try_new(particles * dim) else {
            let bytes = particles as u128 * dim as u128 * size_of::<T>() as u128;
            return Err(SolveError::Memory { particles, bytes });
        };
        let crew = Crew::new(config.threads, dim, block_rows(dim), grouping == Grouping::Single, particles * dim)?;
        let walls = Walls::new(config.bounds.as_deref(), config.bound_handling);
        config.init.draw(config.seed, dim, &mut positions);
        if let Some(walls) = &walls {
            simd::run(walls.confine(&mut positions));
        }
        let ensemble = Ensemble::new(positions, dim);
        let variance = if config.reduction.is_some() { variance_norm(&ensemble) } else { 0.0 };
        let shrunk = plan.open_ended.then(|| ensemble.diameter() * DEFAULT_SHRINKAGE);
        Ok(Self {
            plan: plan.clone(),
            done_below: config.diameter.or(shrunk),
            crew,
            walls,
            ahead: None,
            ensemble,
            batches: config.batch.map(|size| Batches::new(config.seed, particles, size)),
            gathered: Buffer::new(if config.batch.is_some() { batch * dim } else { 0 }),
            energies: vec![T::default(); batch],
            doubles: Vec::new(),
            scratch: Scratch::new(dim, 0),
            partials: vec![Partial::empty(dim); batch.div_ceil(block_rows(dim))],
            total: Partial::empty(dim),
            consensus: vec![0.0; dim],
            previous: vec![f64::INFINITY; dim],
            centres: Buffer::new(pattern_rows(dim).min(particles) * dim),
            step: 0,
            alpha: 0.0,
            sigma: 0.0,
            kicked: false,
            best: Evaluated { x: vec![T::default(); dim], value: f64::INFINITY },
            best_batch: 0,
            improved: 0,
            evaluations: 0,
            failed: 0,
            infeasible: 0,
            variance,
        })
    }

    /// The threads of the run, if there are several.
    pub fn pool(&self) -> Option<Arc<rayon::ThreadPool>> {
        self.crew.pool()
    }

    /// Step, epoch and data batch of the next evaluation.
    pub fn context(&self) -> StepContext {
        StepContext {
            step: self.step,
            epoch: self.step / self.plan.epoch_steps(),
            data_batch: self.batches.as_ref().map_or(0, Batches::round),
        }
    }

    /// Energies of the step's particle batch. Where all particles are evaluated in blocks, the move that the last step
    /// decided is made in the same pass, block by block, while positions are in cache.
    pub fn evaluate(&mut self, objective: &impl Objective<T>) -> Result<(), SolveError> {
        let moving = self.step > 0;
        let fused = self.batches.is_none() && objective.grouping() == Grouping::Blocks && !self.reduction_due();
        if !fused {
            self.settle();
        }
        let at = self.context();
        let alpha = self.plan.config.alpha.at(at.step, at.epoch);
        let Self { plan, crew, walls, ensemble, energies, gathered, partials, .. } = self;
        let config = &plan.config;
        let dynamics = Dynamics { sigma: self.sigma, kicked: self.kicked, ..Dynamics::of(config) };
        let motion = (fused && moving)
            .then(|| Motion::new(&dynamics, (config.seed, at.step - 1), plan.dim, &self.centres, walls.as_ref()));
        let dim = plan.dim;
        let rows = if self.batches.is_some() { &mut gathered[..] } else { ensemble.positions_mut() };
        let unit = match objective.grouping() {
            Grouping::Blocks => block_rows(dim),
            Grouping::Single => 1,
            Grouping::Together => energies.len(),
        };
        let outcome = if objective.grouping() == Grouping::Together {
            objective.energies(at, Rows::new(rows, dim), energies)
        } else {
            let partials = if fused { &mut partials[..] } else { &mut [] };
            let blocks = Blocks { first: 0, rows, energies, partials, block_rows: unit, dim };
            crew.each(blocks, Effort::Move, |block, scratch| {
                if let Some(motion) = &motion {
                    motion.advance(block.first, block.rows, scratch);
                }
                let at_row = |e: EvalError| EvalError { row: e.row.map(|r| r + block.first), ..e };
                objective.energies(at, Rows::new(block.rows, dim), block.energies).map_err(at_row)?;
                if let Some(partial) = block.partials.first_mut() {
                    weigh(partial, block.first, alpha, block.rows, block.energies, scratch);
                }
                Ok(())
            })
        };
        outcome.map_err(|source| SolveError::Evaluation { step: at.step, source })?;
        self.evaluations += self.energies.len() as u64;
        if !fused {
            self.survey_and_weigh(alpha);
        }
        Ok(())
    }

    /// Makes the move that the last step decided, and takes the points of this step's batch together.
    pub fn settle(&mut self) {
        if self.step > 0 {
            self.advance();
            self.reduce();
        }
        self.gather();
    }

    /// Lets idle threads draw the noise of the coming move, which does not depend on the energies of this step.
    pub fn draw_ahead(&mut self) {
        let (config, dim) = (&self.plan.config, self.plan.dim);
        let Some(pool) = self.crew.pool().filter(|_| config.update != Update::Partial) else { return };
        if self.ahead.is_none() {
            self.ahead = Ahead::new(config.seed, dim, self.ensemble.len());
        }
        if let Some(ahead) = &self.ahead {
            ahead.begin(self.step, &pool);
        }
    }

    /// The points of this step.
    pub fn points(&self) -> Rows<'_, T> {
        if self.batches.is_some() { Rows::new(&self.gathered, self.plan.dim) } else { self.ensemble.rows() }
    }

    /// Takes the energies of [`points`](Self::points), evaluated elsewhere.
    pub fn take(&mut self, energies: &[T]) {
        self.energies.copy_from_slice(energies);
        self.evaluations += energies.len() as u64;
        let at = self.context();
        self.survey_and_weigh(self.plan.config.alpha.at(at.step, at.epoch));
    }

    /// Weights and consensus: partial sums merged in block order. Then the best point, and whether consensus stalled.
    pub fn agree(&mut self, stochastic: bool) -> Result<(), SolveError> {
        let at = self.context();
        let plan = self.plan.clone();
        let config = &plan.config;
        self.sigma = config.sigma.at(at.step, at.epoch);
        self.alpha = match (config.alpha, config.alpha.at(at.step, at.epoch)) {
            (_, Some(alpha)) => alpha,
            (Alpha::EffectiveSampleSize(fraction), None) => {
                self.doubles.clear();
                self.doubles.extend(self.energies.iter().map(|e| e.to_f64()));
                let alpha = alpha_for_sample_size(fraction, &self.doubles);
                self.survey_and_weigh(Some(alpha));
                alpha
            }
            (_, None) => unreachable!("only the sample size schedule waits for the energies"),
        };
        merge(self.alpha, &self.partials, &mut self.total);
        self.failed += self.total.failed;
        self.infeasible += self.total.infeasible;
        if config.strict && self.total.failed > 0 {
            return Err(self.strict_error());
        }
        if self.total.consensus(&mut self.consensus).is_none() {
            return Err(SolveError::NoFiniteEnergy {
                step: self.step,
                evaluated: self.energies.len(),
                failed: self.total.failed,
                infeasible: self.total.infeasible,
            });
        }
        if let Some(point) = &config.freeze {
            self.consensus.copy_from_slice(point);
        }
        self.remember_best(stochastic, at.data_batch);
        let distance = |(a, b): (&f64, &f64)| (a - b).abs();
        let moved = self.consensus.iter().zip(&self.previous).map(distance).fold(0.0, f64::max);
        self.kicked = config.kick.is_some_and(|tolerance| moved < tolerance);
        Ok(())
    }

    /// Fixes the coming move: towards this step's consensus point, with this step's noise. It is made in `evaluate`.
    pub fn depart(&mut self) {
        self.previous.copy_from_slice(&self.consensus);
        for centre in self.centres.chunks_exact_mut(self.plan.dim) {
            for (c, x) in centre.iter_mut().zip(&self.consensus) {
                *c = if x.abs() < T::TINY.to_f64() { T::default() } else { T::from_f64(*x) };
            }
        }
        self.step += 1;
    }

    /// Makes the move that `depart` fixed, for all particles or, with partial update, for the batch evaluated; then
    /// takes the next batch.
    fn advance(&mut self) {
        let Self { plan, crew, walls, ensemble, batches, scratch, .. } = self;
        let config = &plan.config;
        let partial_update = config.update == Update::Partial;
        let dynamics = Dynamics { sigma: self.sigma, kicked: self.kicked && !partial_update, ..Dynamics::of(config) };
        let ahead = self.ahead.as_deref();
        let motion =
            Motion::new(&dynamics, (config.seed, self.step - 1), plan.dim, &self.centres, walls.as_ref()).with(ahead);
        let effort = if ahead.is_some_and(Ahead::end) { Effort::Sum } else { Effort::Move };
        let dim = plan.dim;
        let block_rows = tile_rows(dim);
        let everyone = |rows| Blocks { first: 0, rows, energies: &mut [], partials: &mut [], block_rows, dim };
        let infallible = |result: Result<(), std::convert::Infallible>| match result {
            Ok(()) => (),
        };
        match batches {
            Some(batches) if partial_update => {
                for &particle in batches.current() {
                    let row = &mut ensemble.positions_mut()[particle as usize * dim..][..dim];
                    motion.advance(particle as usize, row, scratch);
                }
                if self.kicked {
                    infallible(crew.each(everyone(ensemble.positions_mut()), Effort::Move, |block, scratch| {
                        motion.kick(block.first, block.rows, scratch, T::from_f64(dynamics.amplitude()));
                        Ok(())
                    }));
                }
            }
            _ => infallible(crew.each(everyone(ensemble.positions_mut()), effort, |block, scratch| {
                motion.advance(block.first, block.rows, scratch);
                Ok(())
            })),
        }
        if let Some(batches) = batches {
            batches.next(config.seed);
        }
    }

    fn reduction_due(&self) -> bool {
        self.plan.config.reduction.is_some() && self.step > 0 && self.step.is_multiple_of(self.plan.epoch_steps())
    }

    /// At the end of an epoch, lets the swarm shrink with its variance.
    fn reduce(&mut self) {
        let (config, particles) = (&self.plan.config, self.ensemble.len());
        let Some(reduction) = config.reduction.filter(|_| self.reduction_due()) else { return };
        let variance = variance_norm(&self.ensemble);
        let batch = self.plan.config.batch.unwrap_or(1);
        let survivors = reduction.survivors(particles, batch, self.variance, variance);
        self.variance = variance;
        if survivors == particles {
            return;
        }
        self.ensemble.reduce(survivors, config.seed, self.step);
        let seed = config.seed;
        if let Some(batches) = &mut self.batches {
            batches.restart(seed, survivors);
        }
        self.shrink(survivors);
    }

    /// Has no more than `particles` particles left.
    fn shrink(&mut self, particles: usize) {
        self.ensemble.truncate(particles);
        if self.batches.is_none() {
            self.energies.truncate(particles);
            self.partials.truncate(particles.div_ceil(block_rows(self.plan.dim)));
        }
    }

    /// Copies the rows of the current batch together.
    fn gather(&mut self) {
        let Some(batches) = &self.batches else { return };
        let rows = self.ensemble.rows();
        for (to, &particle) in self.gathered.chunks_exact_mut(self.plan.dim).zip(batches.current()) {
            to.copy_from_slice(rows.row(particle as usize));
        }
    }

    /// A pass over energies and positions for the partial sums, where `evaluate` could not make them.
    fn survey_and_weigh(&mut self, alpha: Option<f64>) {
        let dim = self.plan.dim;
        let rows = if self.batches.is_some() { &mut self.gathered[..] } else { self.ensemble.positions_mut() };
        let blocks = Blocks {
            first: 0,
            rows,
            energies: &mut self.energies,
            partials: &mut self.partials,
            block_rows: block_rows(dim),
            dim,
        };
        let done: Result<(), std::convert::Infallible> = self.crew.each(blocks, Effort::Sum, |block, scratch| {
            weigh(&mut block.partials[0], block.first, alpha, block.rows, block.energies, scratch);
            Ok(())
        });
        let Ok(()) = done;
    }

    fn remember_best(&mut self, stochastic: bool, data_batch: u64) {
        // Energies of different data are not comparable: a new data batch begins anew.
        let begins_anew = stochastic && data_batch != self.best_batch;
        if self.total.least < self.best.value || begins_anew {
            let rows = if self.batches.is_some() { &self.gathered[..] } else { self.ensemble.rows().as_slice() };
            self.best.x.copy_from_slice(Rows::new(rows, self.plan.dim).row(self.total.particle));
            (self.best.value, self.best_batch, self.improved) = (self.total.least, data_batch, self.step);
        }
    }

    fn strict_error(&self) -> SolveError {
        let failed = |e: &T| e.to_f64().is_nan() || e.to_f64() == f64::NEG_INFINITY;
        let row = self.energies.iter().position(failed).unwrap_or(0);
        let particle = self.batches.as_ref().map_or(row, |b| b.current()[row] as usize);
        SolveError::Strict { step: self.step, particle, energy: self.energies[row].to_f64() }
    }
}

/// Merges the partial sums of the blocks in their order.
fn merge(alpha: f64, partials: &[Partial], total: &mut Partial) {
    total.reset();
    for partial in partials {
        total.merge(alpha, partial);
    }
}

/// The partial sum of one block; with alpha not yet known, only its survey.
fn weigh<T: Scalar>(
    partial: &mut Partial,
    first: usize,
    alpha: Option<f64>,
    rows: &[T],
    energies: &[T],
    scratch: &mut Scratch<T>,
) {
    let doubles = &mut scratch.energies[..energies.len()];
    for (double, energy) in doubles.iter_mut().zip(energies) {
        *double = energy.to_f64();
    }
    partial.survey(first, doubles);
    if let Some(alpha) = alpha {
        partial.weigh(alpha, rows, doubles, &mut scratch.weights[..energies.len()]);
    }
}

/// ||var(V)||_2 over the coordinates.
fn variance_norm<T: Scalar>(ensemble: &Ensemble<T>) -> f64 {
    ensemble.variances().iter().map(|v| v * v).sum::<f64>().sqrt()
}
