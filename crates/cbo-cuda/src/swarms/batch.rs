//! Some runs on the device together: what they are told, their launches, and how they ended.

use super::ends::{DONE_BELOW, END, Final, GOING, LEAST, LOGGED, SECONDS, STATE, STEP};
use super::forms::{Group, Member};
use crate::law::{kind_of_law, numbers_of_law};
use crate::machine::{Fault, Grid, Kind, Machine, Memory, Program, bytes_of_words};
use crate::source::THREADS;
use cbo::device::{Errand, Weighing, decided_beforehand};
use cbo::noise::{Noise, Stream};
use cbo::{Alpha, CboConfig, DEFAULT_SHRINKAGE, Evaluated, InitialLaw, Plan, Scalar, Sigma};
use std::sync::Arc;
use std::time::Instant;

/// Coordinates that are moved in one launch: a fraction of a second's work, so that runs can be ended and no screen is kept waiting.
const PER_LAUNCH: u64 = 4_000_000_000;

/// The same where runs end by the clock, which is looked at between launches.
const PER_LOOK: u64 = 4_000_000;

/// Improvements that a run can log before they are copied, besides one for each particle.
const LOG: usize = 256;

/// Numbers of 64 bits that describe a run: `Swarm` in `swarms.cuh`.
const SWARM: usize = 15;

/// Switches.
const STRICT: u64 = 1;
const FROZEN: u64 = 2;
const SHRINKS: u64 = 4;

/// Bytes that a run takes on the device.
pub(super) fn bytes_of_run<T: Scalar>(group: &Group, particles: usize, logged: bool) -> u64 {
    let log = if logged { log_of(particles) * (2 + group.dim) } else { 0 };
    let (own, tables) = (group.own_count(), 8 * group.dim + SWARM + STATE);
    8 * (group.room::<T>(particles).whole + own + tables + log) as u64
}

/// Improvements that there is room for.
fn log_of(particles: usize) -> usize {
    particles + LOG
}

/// Some runs on the device.
pub(super) struct Batch<'a, T> {
    group: &'a Group,
    members: &'a [Member],
    tables: Memories,
    states: Vec<u64>,
    /// The seconds that each run has, counted from the first launch of all.
    seconds: Vec<f64>,
    /// Improvements that a run has room for, or 0.
    capacity: usize,
    improvements: Vec<Vec<(u64, Evaluated<T>)>>,
}

/// What is on the device.
struct Memories {
    swarms: Memory,
    states: Memory,
    best: Memory,
    consensus: Memory,
    beats: Memory,
    numbers: Memory,
    walls: Memory,
    constants: Memory,
    rooms: Memory,
    log: Memory,
    order: Memory,
}

/// Tables in the making.
struct Draft<'a, T> {
    group: &'a Group,
    swarms: Vec<u64>,
    beats: Vec<f64>,
    numbers: Vec<f64>,
    walls: Vec<T>,
    constants: Vec<T>,
    rooms: usize,
    /// Of the run before, which often has the same.
    before: Option<Before<'a>>,
}

/// What was written last, and where.
struct Before<'a> {
    config: &'a CboConfig,
    objective: usize,
    beats: (usize, usize),
    law: usize,
    walls: usize,
    constants: usize,
}

impl<'a, T: Scalar> Draft<'a, T> {
    /// Writes down a run.
    fn add(&mut self, plan: &'a Plan, member: Member, constants: &[f64]) {
        let (config, dim) = (plan.config(), plan.dim());
        let before = self.before.take();
        let same = |is: fn(&CboConfig, &CboConfig) -> bool| before.as_ref().filter(|b| is(b.config, config));
        let beats = match same(have_one_rhythm) {
            Some(before) => before.beats,
            None => self.add_beats(plan),
        };
        let law = match same(|a, b| a.init == b.init) {
            Some(before) => before.law,
            None => self.add_law(&config.init, dim),
        };
        let walls = match same(|a, b| a.bounds == b.bounds) {
            Some(before) => before.walls,
            None => self.add_walls(config.bounds.as_deref().unwrap_or_default()),
        };
        let own = match before.as_ref().filter(|before| before.objective == member.objective) {
            Some(before) => before.constants,
            None => {
                let place = self.constants.len();
                self.constants.extend(self.group.own(constants).map(T::from_f64));
                place
            }
        };
        let freeze = self.numbers.len();
        self.numbers.extend(config.freeze.iter().flatten());
        let room = self.group.room::<T>(member.particles);
        let [key, _] = Noise::new(config.seed, Stream::Initial, 0).parts();
        let kind = kind_of_law(&config.init);
        let shrinks = plan.is_open_ended() && config.diameter.is_none();
        let switches = [(config.strict, STRICT), (config.freeze.is_some(), FROZEN), (shrinks, SHRINKS)];
        let switches = switches.into_iter().filter(|(on, _)| *on).fold(0, |all, (_, switch)| all | switch);
        let number = |value: Option<f64>| value.unwrap_or(f64::NAN).to_bits();
        let written: [u64; SWARM] = [
            member.particles as u64,
            beats.0 as u64,
            beats.1 as u64,
            law as u64,
            walls as u64,
            freeze as u64,
            own as u64,
            self.rooms as u64,
            plan.horizon().unwrap_or(u64::MAX),
            config.stagnation.unwrap_or(u64::MAX),
            number(config.target),
            number(config.kick),
            config.truncation().unwrap_or(f64::INFINITY).to_bits(),
            u64::from(key[0]) | u64::from(key[1]) << 32,
            kind | switches << 32,
        ];
        self.swarms.extend(written);
        self.rooms += if self.group.near { room.positions } else { room.whole };
        self.before = Some(Before { config, objective: member.objective, beats, law, walls, constants: own });
    }

    /// The settings of all steps: the place of the first, and the number of the last.
    fn add_beats(&mut self, plan: &Plan) -> (usize, usize) {
        let config = plan.config();
        let last = if is_steady(config) { 0 } else { plan.horizon().unwrap_or(0) };
        let place = self.beats.len() / 4;
        for step in 0..=last {
            let (weighing, decided) = decided_beforehand(plan, step);
            let alpha = match weighing {
                Weighing::Alpha(alpha) => alpha,
                Weighing::SampleSize(fraction) => fraction,
                Weighing::Ranks => f64::NAN,
            };
            self.beats.extend([alpha, decided.keep, decided.noise, decided.kick.unwrap_or(0.0)]);
        }
        (place, last as usize)
    }

    fn add_law(&mut self, law: &InitialLaw, dim: usize) -> usize {
        let place = self.numbers.len();
        self.numbers.extend(numbers_of_law(law, dim));
        place
    }

    fn add_walls(&mut self, bounds: &[(f64, f64)]) -> usize {
        let place = self.walls.len();
        self.walls.extend(bounds.iter().map(|bound| T::from_f64(bound.0)));
        self.walls.extend(bounds.iter().map(|bound| T::from_f64(bound.1)));
        place
    }
}

/// Whether the settings of all steps of a run are the same.
pub(super) fn is_steady(config: &CboConfig) -> bool {
    let alpha = matches!(config.alpha, Alpha::Constant(_) | Alpha::EffectiveSampleSize(_));
    alpha && matches!(config.sigma, Sigma::Constant(_))
}

/// Whether the settings of all steps of two runs are the same.
fn have_one_rhythm(a: &CboConfig, b: &CboConfig) -> bool {
    let of = |c: &CboConfig| (c.alpha, c.sigma, c.lambda, c.dt, c.scheme, c.truncation().is_some(), c.epoch_steps);
    let ends = |c: &CboConfig| (c.steps, c.time, c.max_evaluations, c.particles);
    of(a) == of(b) && ends(a) == ends(b)
}

impl<'a, T: Scalar> Batch<'a, T> {
    /// The runs at time 0.
    pub fn begin(
        machine: &Arc<dyn Machine>,
        (group, members): (&'a Group, &'a [Member]),
        runs: &'a [Errand<'_, T>],
        constants: &[Vec<f64>],
        logged: bool,
    ) -> Result<Self, Fault> {
        let mut draft = Draft::<T> {
            group,
            swarms: Vec::with_capacity(members.len() * SWARM),
            beats: Vec::new(),
            numbers: Vec::new(),
            walls: Vec::new(),
            constants: Vec::new(),
            rooms: 0,
            before: None,
        };
        let mut states = vec![0; members.len() * STATE];
        for (member, state) in members.iter().zip(states.chunks_exact_mut(STATE)) {
            let plan = &runs[member.place].plan;
            draft.add(plan, *member, &constants[member.objective]);
            state[LEAST] = f64::INFINITY.to_bits();
            state[DONE_BELOW] = plan.config().diameter.unwrap_or(0.0).to_bits();
        }
        let most = members.last().map_or(0, |last| last.particles);
        let capacity = if logged { log_of(most) } else { 0 };
        let room = |bytes: usize| Memory::new(machine, bytes, Kind::Device);
        let points = members.len() * group.dim;
        let tables = Memories {
            swarms: Memory::of_words(machine, &draft.swarms)?,
            states: Memory::of_words(machine, &states)?,
            best: room(points * size_of::<T>())?,
            consensus: room(points * 8)?,
            beats: Memory::of(machine, &draft.beats)?,
            numbers: Memory::of(machine, &draft.numbers)?,
            walls: Memory::of(machine, &draft.walls)?,
            constants: Memory::of(machine, &draft.constants)?,
            rooms: room(draft.rooms * 8)?,
            log: room(members.len() * capacity * (2 + group.dim) * 8)?,
            order: room(members.len() * 8)?,
        };
        let improvements = vec![Vec::new(); members.len()];
        let seconds = members.iter().map(|member| runs[member.place].plan.config().max_seconds);
        let seconds = seconds.map(|seconds| seconds.unwrap_or(f64::INFINITY)).collect();
        Ok(Self { group, members, tables, states, seconds, capacity, improvements })
    }

    /// Makes all steps of all runs; says whether it did, or `watch` ended it.
    pub fn run(&mut self, program: &dyn Program, watch: &dyn Fn(f64) -> bool) -> Result<bool, Fault> {
        let begun = Instant::now();
        loop {
            let going: Vec<u64> =
                (0..self.members.len() as u64).filter(|run| self.state(*run as usize)[END] == GOING).collect();
            if !watch(1.0 - going.len() as f64 / self.members.len() as f64) {
                return Ok(false);
            }
            if going.is_empty() {
                return Ok(true);
            }
            self.tables.order.upload_words(&going)?;
            // They are sorted by their number of particles, and have blocks of threads to match.
            let mut first = 0;
            for runs in going.chunk_by(|a, b| self.threads(*a) == self.threads(*b)) {
                self.launch(program, first, runs)?;
                first += runs.len();
            }
            self.states = self.tables.states.words(self.states.len())?;
            self.end_by_clock(begun.elapsed().as_secs_f64());
            if self.capacity > 0 {
                self.take_log()?;
            }
        }
    }

    /// Ends the runs whose time is over with the last step that they have made.
    fn end_by_clock(&mut self, passed: f64) {
        for (state, seconds) in self.states.as_chunks_mut::<STATE>().0.iter_mut().zip(&self.seconds) {
            if state[END] == GOING && passed >= *seconds {
                // So far it has the number of the next one.
                (state[END], state[STEP]) = (SECONDS, state[STEP].saturating_sub(1));
            }
        }
    }

    /// The threads of a block that makes a run.
    fn threads(&self, run: u64) -> usize {
        self.members[run as usize].particles.next_multiple_of(32).min(THREADS)
    }

    /// Some steps of some runs, which are `first ..` in their order.
    fn launch(&self, program: &dyn Program, first: usize, runs: &[u64]) -> Result<(), Fault> {
        let particles = |run: &u64| self.members[*run as usize].particles;
        let coordinates: u64 = runs.iter().map(|run| (particles(run) * self.group.dim) as u64).sum();
        let together = if self.seconds.iter().any(|seconds| seconds.is_finite()) { PER_LOOK } else { PER_LAUNCH };
        let most = runs.last().map_or(0, particles);
        let shared = if self.group.near { 8 * self.group.room::<T>(most).whole } else { 0 };
        let grid = Grid {
            blocks: runs.len() as u32,
            threads: runs.first().map_or(0, |run| self.threads(*run)) as u32,
            shared: shared as u32,
            early: false,
        };
        let Memories { swarms, states, best, consensus, beats, numbers, walls, constants, rooms, log, order } =
            &self.tables;
        let stream = |stream| u64::from(Noise::new(0, stream, 0).parts()[1][1]);
        let args = [
            swarms.address(),
            states.address(),
            best.address(),
            consensus.address(),
            beats.address(),
            numbers.address(),
            walls.address(),
            constants.address(),
            rooms.address(),
            log.address(),
            order.address() + 8 * first as u64,
            (together / coordinates).max(1),
            self.capacity as u64,
            DEFAULT_SHRINKAGE.to_bits(),
            stream(Stream::Initial) | stream(Stream::Diffusion) << 32,
            stream(Stream::Kick),
        ];
        program.launch(0, grid, &bytes_of_words(&args))
    }

    fn state(&self, run: usize) -> &[u64] {
        &self.states[run * STATE..(run + 1) * STATE]
    }

    /// Copies what was logged, so that there is room again.
    fn take_log(&mut self) -> Result<(), Fault> {
        let (dim, entry) = (self.group.dim, 2 + self.group.dim);
        let mut log = vec![0.0; self.members.len() * self.capacity * entry];
        self.tables.log.download(&mut log)?;
        let states = self.states.chunks_exact_mut(STATE);
        let logs = log.chunks_exact(self.capacity * entry);
        for ((state, log), improvements) in states.zip(logs).zip(&mut self.improvements) {
            for line in log.chunks_exact(entry).take(state[LOGGED] as usize) {
                let x = line[2..].iter().map(|x| T::from_f64(*x)).collect::<Vec<_>>();
                debug_assert_eq!(x.len(), dim);
                improvements.push((line[0] as u64, Evaluated { x, value: line[1], violation: 0.0 }));
            }
            state[LOGGED] = 0;
        }
        self.tables.states.upload_words(&self.states)
    }

    /// How all runs ended.
    pub fn ends(self) -> Result<Vec<Final<T>>, Fault> {
        let dim = self.group.dim;
        let mut best = vec![T::default(); self.members.len() * dim];
        let mut consensus = vec![0.0; self.members.len() * dim];
        self.tables.best.download(&mut best)?;
        self.tables.consensus.download(&mut consensus)?;
        let points = best.chunks_exact(dim).zip(consensus.chunks_exact(dim));
        let states = self.states.as_chunks::<STATE>().0;
        let ends = states.iter().zip(points).zip(self.improvements);
        Ok(ends
            .map(|((state, (best, consensus)), improvements)| Final {
                state: *state,
                best: best.to_vec(),
                consensus: consensus.iter().map(|x| T::from_f64(*x)).collect(),
                improvements,
            })
            .collect())
    }
}
