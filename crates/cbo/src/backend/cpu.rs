//! The processor of this machine: threads over blocks, SIMD within them.

use super::ahead::Ahead;
use super::contribution::moments_over;
use super::differences::Differences;
use super::threads::{Blocks, Crew, Effort};
use super::tiles::{Scratch, pattern_rows, tile_rows};
use super::{Backend, Share};
use crate::answers::Answers;
use crate::batch::Batches;
use crate::bounds::Walls;
use crate::buffer::Buffer;
use crate::config::{Plan, Update};
use crate::consensus::{Partial, alpha_for_sample_size, least_of};
use crate::ensemble::{Ensemble, Extent, norm};
use crate::method::{Advance, Method, Motion, Move, Remembering, Whole};
use crate::objective::{EvalError, Grouping, Objective, Rows, StepContext};
use crate::population::{Columns, Part, Population};
use crate::ranking::Ranking;
use crate::ranks::Team;
use crate::report::SolveError;
use crate::schedule::{Alpha, Weighing};
use crate::simd::Scalar;
use crate::state::{Reader, StateError, Writer};
use std::convert::Infallible;
use std::sync::Arc;

/// Particles in a block of the reduction: a function of the dimension alone, so that sums do not depend on threads.
pub fn block_rows(dim: usize) -> usize {
    2048usize.div_ceil(dim).next_multiple_of(16).clamp(64, 1024)
}

/// The particles in memory, and threads to work on them.
#[derive(Debug)]
pub(crate) struct Cpu<T> {
    plan: Plan,
    population: Population<T>,
    sums: Vec<Partial>,
    crew: Crew<T>,
    walls: Option<Walls<T>>,
    /// The centre of the move that is being made, repeated for a few rows.
    centres: Buffer<T>,
    /// The matrix of that move, if it has one.
    factor: Vec<T>,
    /// What the method computes with when it looks at all particles.
    room: Buffer<f64>,
    /// Normals of the coming move, where they are drawn while the caller evaluates.
    ahead: Option<Arc<Ahead<T>>>,
    /// For moves of single particles.
    scratch: Scratch<T>,
    /// The energies in double precision, for finding alpha.
    doubles: Vec<f64>,
    /// Weights by rank, where they are asked for.
    ranking: Ranking,
    /// ||var(V)||_2 when the swarm was last reduced.
    variance: f64,
}

impl<T: Scalar> Cpu<T> {
    /// The particles at time 0, not yet evaluated: all of them, or those of this rank.
    pub fn begin(plan: &Plan, grouping: Grouping, team: Option<Team>) -> Result<Self, SolveError> {
        let (config, dim) = (plan.config(), plan.dim());
        let part = Part::of(team.as_ref(), config.particles, config.batch, block_rows(dim));
        let (first, particles, batch) = (part.particles.start, part.particles.len(), part.places.len());
        let room = config.method.room(particles, batch, dim);
        let no_memory = || {
            let columns = 1 + config.method.keeps().rows as u128;
            let bytes = columns * particles as u128 * dim as u128 * size_of::<T>() as u128 + 8 * room as u128;
            SolveError::Memory { particles, bytes }
        };
        let (noises, doubles) = (config.method.noises(), config.method.doubles(dim));
        let costly = grouping == Grouping::Single;
        let scratch = |rows| Scratch::new(dim, rows, noises).with_doubles(doubles);
        let walls = Walls::new(config.bounds.as_deref(), config.bound_handling);
        let allocate = || {
            let mut positions = Buffer::try_new(particles * dim).ok_or_else(no_memory)?;
            let crew = Crew::new(config.threads, costly, particles * dim, || scratch(block_rows(dim)))?;
            config.init.draw(config.seed, first, dim, &mut positions);
            if let Some(walls) = &walls {
                T::confine(walls, &mut positions);
            }
            let batches = config.batch.map(|size| Batches::new(config.seed, config.particles, size));
            let shared = (part, team.clone());
            let population = Population::new(positions, dim, batches, config.method.keeps(), shared);
            Ok((population.ok_or_else(no_memory)?, crew, Buffer::try_new(room).ok_or_else(no_memory)?))
        };
        // Ranks talk to each other from here on: none may be missing.
        let (mut population, crew, room) = match &team {
            Some(team) => team.begin_together(allocate())?,
            None => allocate()?,
        };
        config.method.start(config, &mut population)?;
        population.gather();
        Ok(Self {
            plan: plan.clone(),
            variance: if config.reduction.is_some() { variance_norm(&population) } else { 0.0 },
            population,
            sums: vec![Partial::empty(dim); batch.div_ceil(block_rows(dim))],
            crew,
            walls,
            centres: Buffer::new(pattern_rows(dim).min(config.particles) * dim),
            factor: Vec::new(),
            room,
            ahead: None,
            scratch: scratch(0),
            doubles: Vec::with_capacity(if matches!(config.alpha, Alpha::EffectiveSampleSize(_)) { batch } else { 0 }),
            ranking: Ranking::with_room(if config.method.weighs_ranks() { batch } else { 0 }),
        })
    }

    /// Fails on all ranks together where they have something to exchange before the sums of the step.
    fn settled(&self, weighing: Weighing, outcome: Result<(), EvalError>) -> Result<(), EvalError> {
        let exchanges = self.population.batches.is_some() || weighing.alpha().is_none();
        match self.population.team.as_ref().filter(|_| exchanges) {
            Some(team) => team.agree(outcome),
            None => outcome,
        }
    }

    /// Repeats the centre of a move for a few rows. Coordinates too near to zero become zero.
    fn set_centres(&mut self, decided: &Move) {
        for (c, x) in self.centres.iter_mut().zip(&decided.centre) {
            *c = if x.abs() < T::TINY.to_f64() { T::default() } else { T::from_f64(*x) };
        }
        T::repeat(&mut self.centres, decided.centre.len());
        self.factor.clear();
        self.factor.extend(decided.factor.iter().map(|&x| T::from_f64(x)));
    }

    /// One pass over all particles, block by block, while positions are in cache: the pending move, then the energies and the sums.
    fn fused_pass(
        &mut self,
        pending: Option<&Move>,
        step: u64,
        alpha: Option<f64>,
        objective: &dyn Objective<T>,
    ) -> Result<(), EvalError> {
        let at = self.plan.context(step, self.round_of_batches());
        if let Some(decided) = pending {
            self.set_centres(decided);
        }
        let Self { plan, population, sums, crew, walls, centres, factor, .. } = self;
        let (config, dim) = (plan.config(), plan.dim());
        let motion = pending.map(|decided| Motion::new(decided, config, dim, (centres, factor), walls.as_ref()));
        let rounds = config.method.rounds(at.step);
        let first = population.part.places.start;
        let blocks = Blocks::of(population.columns(), sums, block_rows(dim), dim).starting_at(first);
        crew.each(blocks, Effort::Move, |mut block, scratch| {
            if let Some(motion) = &motion {
                let Blocks { first, rows, points, more, .. } = &mut block;
                T::advance(Advance { motion, first: *first, rows, kept: points, more, scratch });
            }
            for round in 0..rounds {
                let first = block.first;
                let (rows, energies) = block.asked(round);
                objective.energies(at, Rows::new(rows, dim), energies).map_err(|e| e.after(first))?;
                note(&config.method, at.step, config.dt, round, &mut block, scratch);
            }
            if let Some(alpha) = alpha {
                // The energies of the last round are still there in double precision.
                let doubled = !config.method.remembers() || rounds > 1;
                weigh(&config.method, alpha, &mut block, scratch, doubled);
            }
            Ok(())
        })
    }

    /// Asks the objective for the energies of a round, block by block, or row by row if it is costly.
    fn ask_blocks(&mut self, round: usize, at: StepContext, objective: &dyn Objective<T>) -> Result<(), EvalError> {
        let (dim, first) = (self.plan.dim(), self.population.part.places.start);
        let mut columns = self.population.columns();
        let (rows, energies) = columns.asked(round);
        let asked = Columns { rows, energies, ..Columns::default() };
        let (block, effort) = match objective.grouping() {
            Grouping::Single => (1, Effort::Costly),
            _ => (block_rows(dim), Effort::Move),
        };
        let blocks = Blocks::of(asked, &mut [], block, dim).starting_at(first);
        self.crew.each(blocks, effort, |block, _| {
            objective.energies(at, Rows::new(block.rows, dim), block.energies).map_err(|e| e.after(block.first))
        })
    }

    /// A pass over the particles of the step whose energies of a round are known; weighs them if alpha is given.
    fn note_pass(&mut self, round: usize, step: u64, alpha: Option<f64>) {
        let Self { plan, population, sums, crew, .. } = self;
        let (config, dim, first) = (plan.config(), plan.dim(), population.part.places.start);
        let blocks = Blocks::of(population.columns(), sums, block_rows(dim), dim).starting_at(first);
        infallible(crew.each(blocks, Effort::Sum, |mut block, scratch| {
            note(&config.method, step, config.dt, round, &mut block, scratch);
            if let Some(alpha) = alpha {
                weigh(&config.method, alpha, &mut block, scratch, !config.method.remembers() || round > 0);
            }
            Ok(())
        }));
        population.scatter();
    }

    /// The alpha of the weights; weighs the particles of the step unless that is `done`.
    fn weighed(&mut self, weighing: Weighing, done: bool) -> f64 {
        let alpha = match weighing {
            Weighing::Alpha(alpha) => alpha,
            Weighing::SampleSize(fraction) => self.alpha_for(fraction),
            Weighing::Ranks => {
                self.rank_pass();
                return f64::NAN;
            }
        };
        if !done {
            self.weigh_pass(alpha);
        }
        alpha
    }

    /// A pass over the particles of the step for their weights.
    fn weigh_pass(&mut self, alpha: f64) {
        let Self { plan, population, sums, crew, .. } = self;
        let dim = plan.dim();
        let blocks = Blocks::of(population.columns(), sums, block_rows(dim), dim);
        infallible(crew.each(blocks, Effort::Sum, |mut block, scratch| {
            weigh(&plan.config().method, alpha, &mut block, scratch, false);
            Ok(())
        }));
    }

    /// A pass over the particles of the step, weighed by the order of their energies.
    fn rank_pass(&mut self) {
        let Self { plan, population, sums, crew, ranking, .. } = self;
        let dim = plan.dim();
        let (team, here) = (population.team.clone(), population.part.places.clone());
        let columns = population.columns();
        let weights = match team {
            Some(team) => &ranking.weights(&team.all_numbers(columns.energies))[here],
            None => ranking.weights(columns.energies),
        };
        infallible(crew.each(Blocks::of(columns, sums, block_rows(dim), dim), Effort::Sum, |block, _| {
            block.sums[0].weigh_by(&weights[block.first..][..block.energies.len()], block.rows);
            Ok(())
        }));
    }

    /// The alpha at which the weights have an effective sample size of `fraction`.
    fn alpha_for(&mut self, fraction: f64) -> f64 {
        let team = self.population.team.clone();
        let columns = self.population.columns();
        let energies = if self.plan.config().method.remembers() { columns.values } else { columns.energies };
        self.doubles.clear();
        self.doubles.extend(energies.iter().map(|e| e.to_f64()).filter(|e| e.is_finite()));
        match team {
            Some(team) => team.first_decides(&self.doubles, |all| alpha_for_sample_size(fraction, all)),
            None => alpha_for_sample_size(fraction, &self.doubles),
        }
    }

    /// Makes a move. It fails where a swarm that shrinks has no room on some rank, on all of them.
    fn make(&mut self, decided: &Move, step: u64) -> Result<(), EvalError> {
        self.set_centres(decided);
        let Self { plan, crew, walls, population, scratch, centres, factor, .. } = self;
        let (config, dim) = (plan.config(), plan.dim());
        let ahead = self.ahead.as_deref();
        let effort = if ahead.is_some_and(Ahead::end) { Effort::Sum } else { Effort::Move };
        let Population { ensemble, kept, batches, part, .. } = population;
        let here = part.particles.clone();
        let everyone = |rows, points, more| {
            let columns = Columns { rows, points, more, ..Columns::default() };
            Blocks::of(columns, &mut [], tile_rows(dim), dim).starting_at(here.start)
        };
        match batches {
            Some(batches) if config.update == Update::Partial => {
                let kick = decided.kick;
                let unkicked = Move { kick: None, centre: Vec::new(), factor: Vec::new(), ..*decided };
                let motion = Motion::new(&unkicked, config, dim, (centres, factor), walls.as_ref());
                let current = batches.current().iter().map(|&particle| particle as usize);
                for particle in current.filter(|particle| here.contains(particle)) {
                    let own = particle - here.start;
                    let place = own * dim..(own + 1) * dim;
                    let rows = &mut ensemble.positions_mut()[place.clone()];
                    let points = kept.points.get_mut(place.clone()).unwrap_or_default();
                    let more = kept.more.get_mut(place).unwrap_or_default();
                    T::advance(Advance { motion: &motion, first: particle, rows, kept: points, more, scratch });
                }
                if let Some(amplitude) = kick {
                    let blocks = everyone(ensemble.positions_mut(), &mut [], &mut []);
                    infallible(crew.each(blocks, Effort::Move, |block, scratch| {
                        T::kick(&motion, T::from_f64(amplitude), block.first, block.rows, scratch);
                        Ok(())
                    }));
                }
            }
            _ => {
                let motion = Motion::new(decided, config, dim, (centres, factor), walls.as_ref()).with(ahead);
                let blocks = everyone(ensemble.positions_mut(), &mut kept.points, &mut kept.more);
                infallible(crew.each(blocks, effort, |block, scratch| {
                    let Blocks { first, rows, points, more, .. } = block;
                    T::advance(Advance { motion: &motion, first, rows, kept: points, more, scratch });
                    Ok(())
                }));
            }
        }
        if let Some(batches) = batches {
            batches.next(config.seed);
        }
        if self.reduction_due(step) {
            // Nothing that the objective could help.
            let no_room = |e: EvalError| SolveError::Ranks { message: e.message };
            self.reduce(step).map_err(no_room).map_err(EvalError::not_of_the_objective)?;
        }
        self.population.gather();
        Ok(())
    }

    /// Whether the swarm may shrink before `step`.
    fn reduction_due(&self, step: u64) -> bool {
        self.plan.config().reduction.is_some() && step.is_multiple_of(self.plan.epoch_steps())
    }

    /// At the end of an epoch, lets the swarm shrink with its variance.
    fn reduce(&mut self, step: u64) -> Result<(), EvalError> {
        let (config, particles) = (self.plan.config(), self.population.part.all);
        let Some(reduction) = config.reduction else { return Ok(()) };
        let variance = variance_norm(&self.population);
        let survivors = reduction.survivors(particles, config.batch.unwrap_or(1), self.variance, variance);
        self.variance = variance;
        if survivors < particles {
            self.population.reduce(survivors, config.seed, step)?;
            self.fit_sums();
        }
        Ok(())
    }

    /// Keeps one sum for each block.
    fn fit_sums(&mut self) {
        let blocks = self.population.part.places.len().div_ceil(block_rows(self.plan.dim()));
        self.sums.resize_with(blocks, || Partial::empty(self.plan.dim()));
    }
}

impl<T: Scalar> Backend<T> for Cpu<T> {
    fn advance_and_evaluate(
        &mut self,
        pending: Option<&Move>,
        step: u64,
        weighing: Weighing,
        objective: &dyn Objective<T>,
    ) -> Result<f64, EvalError> {
        let fused = self.population.batches.is_none() && objective.grouping() == Grouping::Blocks;
        if fused && !(pending.is_some() && self.reduction_due(step)) {
            let alpha = weighing.alpha();
            let outcome = self.fused_pass(pending, step, alpha, objective);
            self.settled(weighing, outcome)?;
            return Ok(self.weighed(weighing, alpha.is_some()));
        }
        if let Some(decided) = pending {
            self.make(decided, step)?;
        }
        let at = self.plan.context(step, self.round_of_batches());
        let rounds = self.plan.config().method.rounds(step);
        for round in 0..rounds {
            let outcome = self.ask_blocks(round, at, objective);
            self.settled(weighing, outcome)?;
            self.note_pass(round, step, weighing.alpha().filter(|_| round + 1 == rounds));
        }
        Ok(self.weighed(weighing, weighing.alpha().is_some()))
    }

    fn advance(&mut self, decided: &Move, step: u64) {
        self.make(decided, step).expect("room for fewer particles than there were, which are all here");
    }

    fn prepare(&mut self, decided: &mut Move, alpha: f64) {
        let Self { plan, population, crew, room, .. } = self;
        let config = plan.config();
        config.method.prepare(Whole { population, crew, config, alpha, dim: plan.dim(), room }, decided);
    }

    fn pool(&self) -> Option<Arc<rayon::ThreadPool>> {
        self.crew.pool()
    }

    fn draw_ahead(&mut self, step: u64) {
        let config = self.plan.config();
        if config.update == Update::Partial || !config.method.draws_ahead() {
            return;
        }
        let Some(pool) = self.crew.pool() else { return };
        if self.ahead.is_none() {
            self.ahead = Ahead::new(config.seed, self.plan.dim(), self.population.ensemble.len());
        }
        if let Some(ahead) = &self.ahead {
            ahead.begin(step, &pool);
        }
    }

    fn points(&self, round: usize) -> Rows<'_, T> {
        self.population.points(round)
    }

    fn take(&mut self, round: usize, step: u64, energies: &[T], weighing: Option<Weighing>) -> Option<f64> {
        self.population.columns().asked(round).1.copy_from_slice(energies);
        let alpha = weighing.and_then(Weighing::alpha);
        self.note_pass(round, step, alpha);
        weighing.map(|weighing| self.weighed(weighing, alpha.is_some()))
    }

    fn ask(
        &mut self,
        round: usize,
        at: StepContext,
        objective: &dyn Objective<T>,
        answers: &Answers<T>,
    ) -> Result<(), EvalError> {
        if objective.grouping() == Grouping::Together {
            return answers.ask_together(objective, at, self.population.points(round));
        }
        let dim = self.plan.dim();
        let mut columns = self.population.columns();
        let asked = Columns { rows: columns.asked(round).0, ..Columns::default() };
        self.crew.each(Blocks::of(asked, &mut [], 1, dim), Effort::Costly, |block, _| {
            answers.ask_single(objective, at, block.first, block.rows)
        })
    }

    fn differentiate(&mut self, at: StepContext, objective: &dyn Objective<T>) -> Result<(), EvalError> {
        let (dim, grouping, first) = (self.plan.dim(), objective.grouping(), self.population.part.places.start);
        let Columns { rows, more, .. } = self.population.columns();
        let differences = (!objective.has_gradients()).then(|| Differences::of(&self.plan.config().init, dim));
        let gradients = |rows: &[T], out: &mut [T]| match &differences {
            Some(differences) => differences.gradients(at, objective, rows, out),
            None => objective.gradients(at, Rows::new(rows, dim), out),
        };
        if grouping == Grouping::Together {
            return gradients(rows, more);
        }
        let (block, effort) = match grouping {
            Grouping::Single => (1, Effort::Costly),
            _ => (block_rows(dim), Effort::Move),
        };
        let blocks = Blocks::of(Columns { rows, more, ..Columns::default() }, &mut [], block, dim).starting_at(first);
        self.crew.each(blocks, effort, |block, _| gradients(block.rows, block.more).map_err(|e| e.after(block.first)))
    }

    fn sums(&mut self) -> &mut [Partial] {
        &mut self.sums
    }

    fn ensemble(&self) -> &Ensemble<T> {
        &self.population.ensemble
    }

    fn count(&self) -> usize {
        self.population.part.asked()
    }

    fn row(&self, round: usize, place: usize) -> &[T] {
        self.population.points(round).row(place)
    }

    fn is_narrower_than(&self, limit: f64) -> bool {
        self.plan.config().method.is_narrower_than(&self.population, limit)
    }

    fn energies(&self, round: usize) -> &[T] {
        self.population.energies_of(round)
    }

    fn evaluated(&self) -> Option<&[u32]> {
        self.population.evaluated()
    }

    fn round_of_batches(&self) -> Option<u64> {
        self.population.batches.as_ref().map(Batches::round)
    }

    fn remembered_points(&self) -> &[T] {
        if self.plan.config().method.remembers() { &self.population.kept.points } else { &[] }
    }

    fn remembered(&self) -> &[T] {
        &self.population.kept.values
    }

    fn remembered_mut(&mut self) -> &mut [T] {
        &mut self.population.kept.values
    }

    fn save(&self, to: &mut Writer) {
        to.count(self.population.part.all);
        self.columns().into_iter().for_each(|column| to.numbers(column));
        self.save_rest(to);
    }

    fn load(&mut self, from: &mut Reader<'_>, rounds: usize) -> Result<(), StateError> {
        let config = self.plan.config();
        let particles = from.count()?;
        if particles == 0 || particles > config.particles {
            return Err(StateError::differs("particles", particles, config.particles));
        }
        let (population, dim) = (&mut self.population, self.plan.dim());
        population.fit(particles, block_rows(dim)).map_err(|e| SolveError::Ranks { message: e.message })?;
        let Part { particles: here, places, .. } = population.part.clone();
        let (rows, numbers) = (here.start * dim..here.end * dim, particles * dim);
        let keeps = config.method.keeps();
        let apart = from.is_apart();
        let read = || {
            from.part(numbers, rows.clone(), population.ensemble.positions_mut())?;
            from.part(population.part.asked(), places, &mut population.energies)?;
            if keeps.rows > 0 {
                from.part(numbers, rows.clone(), &mut population.kept.points)?;
            }
            if keeps.rows > 1 {
                from.part(numbers, rows, &mut population.kept.more)?;
            }
            if keeps.remembered {
                from.part(particles, here, &mut population.kept.values)?;
            }
            Ok::<_, StateError>(())
        };
        let outcome = read();
        match &population.team {
            // Each rank has read something else, from files of which one may be missing.
            Some(team) if apart => {
                let said = team.agree(outcome.map_err(|error| EvalError::new(error.to_string())));
                said.map_err(|error| StateError::Elsewhere(error.message))?;
            }
            _ => outcome?,
        }
        let mut variance = [0.0];
        from.numbers(&mut variance)?;
        self.variance = variance[0];
        let (round, position) = (from.tally()?, from.count()?);
        if let Some(size) = config.batch {
            let batches = Batches::at(config.seed, particles, size, round, position);
            population.batches = Some(batches.ok_or(StateError::Damaged)?);
        }
        population.gather();
        self.fit_sums();
        for round in 0..rounds {
            let first = self.population.part.places.start;
            let blocks = Blocks::of(self.population.columns(), &mut self.sums, block_rows(dim), dim).starting_at(first);
            infallible(self.crew.each(blocks, Effort::Sum, |mut block, scratch| {
                survey(round, &mut block, scratch);
                Ok(())
            }));
        }
        Ok(())
    }

    fn into_parts(self: Box<Self>) -> (Ensemble<T>, Vec<T>) {
        (self.population.ensemble, self.population.energies)
    }
}

impl<T: Scalar> Share<T> for Cpu<T> {
    fn part(&self) -> &Part {
        &self.population.part
    }

    fn extent(&self) -> Option<Extent<T>> {
        self.population.ensemble.extent()
    }

    fn columns(&self) -> [&[T]; 5] {
        let Population { ensemble, energies, kept, .. } = &self.population;
        [ensemble.rows().as_slice(), energies, &kept.points, &kept.more, &kept.values]
    }

    fn save_rest(&self, to: &mut Writer) {
        to.numbers(&[self.variance]);
        let (round, position) = self.population.batches.as_ref().map_or((0, 0), Batches::place);
        to.whole(round);
        to.count(position);
    }
}

/// ||var(V)||_2 of all particles of a run.
fn variance_norm<T: Scalar>(population: &Population<T>) -> f64 {
    match &population.team {
        Some(team) => norm(&moments_over(team, &population.ensemble, &population.part).1),
        None => population.ensemble.variance_norm(),
    }
}

/// Takes note of the energies of a round: the least, the failures, and what the particles remember.
fn note<T: Scalar>(
    method: &Method,
    step: u64,
    dt: f64,
    round: usize,
    block: &mut Blocks<'_, T>,
    scratch: &mut Scratch<T>,
) {
    survey(round, block, scratch);
    if round == 0 {
        let Blocks { rows, energies, points, values, .. } = block;
        method.remember(Remembering { step, dt, rows, energies, points, values });
    }
}

/// The least energy of a round, and its failures.
fn survey<T: Scalar>(round: usize, block: &mut Blocks<'_, T>, scratch: &mut Scratch<T>) {
    let Blocks { first, energies, values, sums, .. } = block;
    let asked = if round == 0 { &**energies } else { &**values };
    sums[0].survey_doubled(*first, round, asked, &mut scratch.energies[..asked.len()]);
}

/// The weights of a block and its moment: of the positions, or of what the particles remember.
fn weigh<T: Scalar>(method: &Method, alpha: f64, block: &mut Blocks<'_, T>, scratch: &mut Scratch<T>, doubled: bool) {
    let Blocks { rows, energies, points, values, sums: [sums, ..], .. } = block else { return };
    let (rows, energies) = if method.remembers() { (points, values) } else { (rows, energies) };
    let energies = if doubled { &scratch.energies[..energies.len()] } else { doubles(energies, &mut scratch.energies) };
    let weights = &mut scratch.weights[..energies.len()];
    let shift = if method.remembers() { least_of(energies) } else { sums.least };
    sums.weigh(alpha, shift, rows, energies, weights);
}

/// The numbers in double precision.
fn doubles<'a, T: Scalar>(numbers: &[T], room: &'a mut [f64]) -> &'a [f64] {
    let room = &mut room[..numbers.len()];
    for (double, number) in room.iter_mut().zip(numbers) {
        *double = number.to_f64();
    }
    room
}

fn infallible(result: Result<(), Infallible>) {
    let Ok(()) = result;
}
