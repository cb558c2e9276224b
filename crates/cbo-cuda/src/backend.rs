//! The particles of a run on a device: one launch for each step, and nothing is copied but the sums and what somebody looks at.
//!
//! A step that is known but for its centre is launched before the step before it is looked at: the device has the centre, and finds the
//! particles in one place and leaves them in another. If the run ends, or somebody looks, the particles are where they were.

mod chosen;
mod hopping;
mod launch;
mod layout;
mod memory;
mod rank;
mod seen;
mod served;
mod sums;

pub(crate) use chosen::same_batches;
pub(crate) use memory::bytes as bytes_of_memory;
pub(crate) use rank::together;

use crate::law::{kind_of_law, numbers_of_law};
use crate::lent::Lent;
use crate::machine::{Fault, Grid, Kernel, Kind, Machine, Memory, Program, bytes_of_words};
use crate::source::Shape;
use cbo::device::{Move, Seat, Weighing, decided_beforehand, remembers};
use cbo::noise::{Noise, Stream};
use cbo::{EvalError, InitialLaw, Method, Partial, Plan, Scalar, SolveError};
use chosen::Chosen;
use hopping::Hops;
use launch::{Route, Work};
use memory::Remembered;
use seen::Seen;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

/// Launches that are timed together, and how often.
const LAUNCHES: u32 = 200;
const REPEATS: usize = 5;

/// A run on a device.
#[derive(Debug)]
pub(crate) struct OnDevice<T> {
    plan: Plan,
    shape: Shape,
    machine: Arc<dyn Machine>,
    program: Arc<dyn Program>,
    /// Which particles of the run are here, and where this rank sits if others have others.
    first: usize,
    particles: usize,
    seat: Option<Seat>,
    /// The blocks whose sums are merged here.
    grain: usize,
    /// Positions, where the shape says, and energies; a second place for them where there is room, and which of them is that of the step.
    places: Vec<Particles>,
    current: usize,
    /// The sums of blocks, then merged ones, level by level; and how many of those that are merged have come.
    partials: Memory,
    arrived: Memory,
    low: Memory,
    high: Memory,
    far_centre: Memory,
    /// The consensus point: as the device has left it, in which step, and as it is given.
    heading: Memory,
    headed: Option<u64>,
    frozen: Option<Memory>,
    /// Extents of the swarm, and whether somebody will ask for them.
    widths: Memory,
    extents: bool,
    /// Sums of squares, if somebody has asked for them.
    squares: OnceLock<Memory>,
    /// Batches of particles, if there are any.
    batches: Option<Chosen>,
    /// What the methods `hopping` and `memory` have besides.
    hops: Option<Hops>,
    remembered: Option<Remembered>,
    /// Whether the device can find where the next move goes.
    knows_where: bool,
    /// The move that was launched before the step before it was looked at, and the alpha of its weights.
    ahead: Option<(Move, f64)>,
    /// The merged sums and the best position, as the device writes them: words, each with the number of the launch that wrote it. For
    /// launches with even and with odd numbers, and of what is remembered.
    result: Memory,
    words: Vec<u32>,
    /// The arguments of the last launch.
    args: Vec<u8>,
    launches: u64,
    /// The sums of the step, merged, for each grain; how far the swarm extends at the least; and the best position, its round of
    /// evaluations and its place.
    sums: Vec<Partial>,
    extent: f64,
    best: Vec<T>,
    best_at: (usize, usize),
    seen: Seen<T>,
    /// Whether nobody looks at the particles.
    forgets: bool,
}

/// A place for particles.
#[derive(Debug)]
struct Particles {
    positions: Arc<Memory>,
    energies: Arc<Memory>,
}

impl<T: Scalar> OnDevice<T> {
    /// The particles of a run at time 0, or those of a rank; always in the same place, if they are `lent`.
    pub fn begin(
        plan: &Plan,
        shape: Shape,
        machine: &Arc<dyn Machine>,
        program: Arc<dyn Program>,
        lent: bool,
        seat: Option<Seat>,
    ) -> Result<Self, SolveError> {
        let here = seat.as_ref().map_or(0..plan.config().particles, |seat| seat.part().particles.clone());
        let particles = here.len();
        let grain = seat.as_ref().map_or(shape.whole(particles), Seat::grain);
        let nodes = shape.blocks(particles).div_ceil(grain);
        let how = remembers(plan.config());
        let hopping = if let Method::Hopping(hopping) = plan.config().method { Some(hopping) } else { None };
        // The centre is one of all ranks.
        let knows_where = how.is_none() && hopping.is_none() && plan.config().batch.is_none() && seat.is_none();
        let twice = !lent
            && how.is_none()
            && hopping.is_none()
            && seat.is_none()
            && machine.free_bytes().is_none_or(|free| free / 2 > shape.bytes::<T>(particles));
        let bounds = plan.config().bounds.as_deref().unwrap_or_default();
        let side = |pick: fn(&(f64, f64)) -> f64| bounds.iter().map(|b| T::from_f64(pick(b))).collect::<Vec<_>>();
        let (sums, merged) = shape.sums(particles, grain);
        let make = || -> Result<Self, Fault> {
            let memory = |bytes: usize| Memory::new(machine, bytes, Kind::Device);
            let shared = |bytes: usize| Memory::new(machine, bytes, Kind::Shared);
            // An even number of them, since they are written by twos.
            let words = vec![0; 2 * shape.stride() + (shape.dim * size_of::<T>() / 4).next_multiple_of(2)];
            let place = |positions: Memory| -> Result<_, Fault> {
                let energies = Arc::new(memory(particles * size_of::<T>())?);
                Ok(Particles { positions: Arc::new(positions), energies })
            };
            let room = shape.room(particles) * shape.dim * size_of::<T>();
            let mut places = vec![place(memory(room)?)?];
            if twice {
                places.push(place(memory(room)?)?);
            }
            let run = Self {
                plan: plan.clone(),
                shape,
                program,
                first: here.start,
                particles,
                grain,
                places,
                current: 0,
                partials: memory(sums * shape.stride() * 8)?,
                arrived: memory(merged * 4)?,
                low: Memory::of(machine, &side(|b| b.0))?,
                high: Memory::of(machine, &side(|b| b.1))?,
                far_centre: memory(shape.dim * size_of::<T>())?,
                heading: memory(shape.dim * (8 + size_of::<T>()) + 16)?,
                headed: None,
                frozen: plan.config().freeze.as_ref().map(|point| Memory::of(machine, point)).transpose()?,
                widths: shared(2 * shape.dim * 8)?,
                squares: OnceLock::new(),
                extents: plan.config().diameter.is_some() || plan.is_open_ended(),
                batches: plan.config().batch.map(|size| Chosen::new(plan.config(), machine, size)).transpose()?,
                hops: hopping.map(|hopping| Hops::new::<T>(plan, machine, hopping, particles)).transpose()?,
                remembered: how.map(|how| Remembered::new::<T>(plan, machine, (shape, particles), how)).transpose()?,
                knows_where,
                ahead: None,
                result: shared(3 * nodes * words.len() * 8)?,
                words,
                machine: machine.clone(),
                args: Vec::new(),
                launches: 0,
                sums: vec![Partial::empty(shape.dim); nodes],
                extent: 0.0,
                best: vec![T::default(); shape.dim],
                best_at: (0, 0),
                seat: seat.clone(),
                seen: Seen::default(),
                forgets: false,
            };
            run.draw()?;
            run.remember_start()?;
            Ok(run)
        };
        let made = make().map_err(|fault| crate::refuse("device", machine.name(), fault.0));
        let run = together(seat.as_ref(), made)?;
        together(seat.as_ref(), run.begin_at_point())?;
        Ok(run)
    }

    /// The same for callers who look at no particles: they are told that there are none.
    pub fn without_particles(self) -> Self {
        Self { forgets: true, ..self }
    }

    /// Draws the initial positions, where they are to be.
    fn draw(&self) -> Result<(), Fault> {
        let config = self.plan.config();
        let law = match &config.init {
            InitialLaw::Points(points) => {
                let dim = self.shape.dim;
                Memory::of(&self.machine, &points[self.first * dim..(self.first + self.particles) * dim])?
            }
            law => Memory::of(&self.machine, &numbers_of_law(law, self.shape.dim))?,
        };
        let [key, initial] = Noise::new(config.seed, Stream::Initial, 0).parts();
        let both = |[low, high]: [u32; 2]| u64::from(low) | u64::from(high) << 32;
        // As `BeginArgs` in `beside.cuh`.
        let args = [
            self.here().positions.address(),
            law.address(),
            self.low.address(),
            self.high.address(),
            self.particles as u64,
            both(key),
            both(initial),
            kind_of_law(&config.init),
            self.first as u64,
        ];
        self.launch_all(Kernel::Begin, self.grid(self.shape.blocks(self.particles)), &bytes_of_words(&args))?;
        self.machine.wait()
    }

    /// The memory of positions and energies, for a caller who evaluates.
    pub fn lend(&self) -> Lent {
        Lent::new(&self.here().positions, &self.here().energies, self.particles, self.shape.dim)
    }

    /// Seconds that a kernel takes, the best of some repetitions of many launches.
    pub fn time(&self, kernel: Kernel) -> Result<f64, Fault> {
        let decided = Move { keep: 1.0, centre: vec![0.0; self.shape.dim], ..Move::default() };
        let mut bytes = Vec::new();
        self.write_args(Some(&decided), Work::default(), self.route(self.current), &mut bytes)?;
        let mut best = f64::INFINITY;
        for _ in 0..REPEATS {
            self.machine.wait()?;
            let start = Instant::now();
            for _ in 0..LAUNCHES {
                self.program.launch(kernel as usize, self.grid(self.shape.blocks(self.particles)), &bytes)?;
            }
            self.machine.wait()?;
            best = best.min(start.elapsed().as_secs_f64() / f64::from(LAUNCHES));
        }
        Ok(best)
    }

    /// Where the particles of the step are.
    fn here(&self) -> &Particles {
        &self.places[self.current]
    }

    /// From where the particles of the step are to this place.
    fn route(&self, to: usize) -> Route {
        let launch = self.launches;
        Route {
            from: self.here().positions.address(),
            to: self.places[to].positions.address(),
            energies: self.places[to].energies.address(),
            result: self.slot(launch % 2),
            launch,
            particles: self.particles,
        }
    }

    /// Where the device writes what it has found: in one of three places.
    fn slot(&self, number: u64) -> u64 {
        self.result.address() + number * (self.sums.len() * self.words.len() * 8) as u64
    }

    /// Launches a kernel, unless there are no particles here.
    fn launch_all(&self, kernel: Kernel, grid: Grid, args: &[u8]) -> Result<(), Fault> {
        if grid.blocks == 0 { Ok(()) } else { self.program.launch(kernel as usize, grid, args) }
    }

    /// Where a move leaves the particles.
    fn elsewhere(&self) -> usize {
        (self.current + 1) % self.places.len()
    }

    /// Launches a step: the move if there is one, and the work.
    fn launch(&mut self, decided: Option<&Move>, work: Work) -> Result<(), Fault> {
        if let Some(fault) = self.seen.fault.get_mut().ok().and_then(|fault| fault.clone()) {
            return Err(fault);
        }
        let to = if decided.is_some() { self.elsewhere() } else { self.current };
        self.launches += 1;
        // All move, and those chosen are evaluated.
        let particles = if decided.is_some() { self.particles } else { self.count_here() };
        self.launch_on(decided, work, Route { particles, ..self.route(to) })
    }

    /// The same on this route.
    fn launch_on(&mut self, decided: Option<&Move>, work: Work, route: Route) -> Result<(), Fault> {
        let mut args = std::mem::take(&mut self.args);
        self.write_args(decided, work, route, &mut args)?;
        self.args = args;
        // A step waits for the one before it itself.
        let grid = Grid { early: true, ..self.grid(self.shape.blocks(route.particles)) };
        self.launch_all(Kernel::Step, grid, &self.args)
    }

    /// Launches work on the step that a move begins, if there is one.
    fn begin_step(&mut self, decided: Option<&Move>, work: Work) -> Result<(), Fault> {
        if self.ahead.take().is_some() {
            self.headed = None;
        }
        let compares = decided.is_some_and(|decided| self.headed == Some(decided.step));
        self.headed = None;
        self.launch(decided, Work { compares, ..work })?;
        self.arrive(decided.is_some());
        Ok(())
    }

    /// The particles of the step are those that the last launch leaves.
    fn arrive(&mut self, moved: bool) {
        if moved {
            self.current = self.elsewhere();
            self.seen.ensemble.take();
        }
        self.seen.energies.take();
    }

    /// Launches the step after this one, if all is known of it but the centre, and the device can find that. `compared` says whether it
    /// knows how far the centre has moved.
    fn go_ahead(&mut self, step: u64, compared: bool) {
        let config = self.plan.config();
        let is_last = self.plan.last_step().is_some_and(|last| step >= last);
        if self.places.len() < 2 || !self.knows_where || is_last || (config.kick.is_some() && !compared) {
            return;
        }
        let (_, decided) = decided_beforehand(&self.plan, step);
        let Some(alpha) = decided_beforehand(&self.plan, step + 1).0.alpha() else { return };
        let work = Work { evaluates: true, alpha: Some(alpha), follows: true, compares: true };
        // What fails here fails again in its time.
        if self.launch(Some(&decided), work).is_ok() {
            self.ahead = Some((decided, alpha));
        } else {
            self.headed = None;
        }
    }

    /// So many blocks of threads.
    fn grid(&self, blocks: usize) -> Grid {
        Grid { blocks: blocks as u32, threads: self.shape.threads as u32, shared: 0, early: false }
    }

    /// Weighs the particles of the step, whose energies are known.
    fn weigh(&mut self, weighing: Weighing) -> Result<f64, Fault> {
        let alpha = match weighing {
            Weighing::Alpha(alpha) => alpha,
            Weighing::SampleSize(fraction) => self.alpha_for(fraction, self.energies_here()),
            Weighing::Ranks => return self.weigh_ranks(),
        };
        self.begin_step(None, Work { alpha: Some(alpha), ..Work::default() })?;
        self.collect(self.launches)?;
        Ok(alpha)
    }

    fn step(&mut self, pending: Option<&Move>, step: u64, weighing: Weighing) -> Result<f64, Fault> {
        if let Some(how) = remembers(self.plan.config()) {
            return self.step_of_memory(pending, step, weighing, how);
        }
        if self.batches.is_some() {
            return self.step_of_batch(pending, weighing);
        }
        let Some(alpha) = weighing.alpha() else {
            let launched = self.begin_step(pending, Work { evaluates: true, ..Work::default() });
            self.settled(launched)?;
            return self.weigh(weighing);
        };
        let is_same = |(decided, known): &(Move, f64), pending: &Move| {
            let numbers = |decided: &Move| (decided.step, decided.keep.to_bits(), decided.noise.to_bits());
            numbers(decided) == numbers(pending) && known.to_bits() == alpha.to_bits()
        };
        let compared = match pending {
            Some(pending) if self.ahead.as_ref().is_some_and(|ahead| is_same(ahead, pending)) => {
                // It is under way.
                self.ahead = None;
                self.arrive(true);
                true
            }
            _ => {
                // Nothing has moved in the first step.
                let known = pending.is_none_or(|pending| self.headed == Some(pending.step));
                self.begin_step(pending, Work { evaluates: true, alpha: Some(alpha), ..Work::default() })?;
                known
            }
        };
        let launch = self.launches;
        self.headed = Some(step);
        self.go_ahead(step, compared);
        self.collect(launch)?;
        Ok(alpha)
    }

    /// Keeps what went wrong where no error can be returned: the next step returns it.
    fn note(&self, fault: Fault) {
        if let Ok(mut noted) = self.seen.fault.lock() {
            noted.get_or_insert(fault);
        }
    }
}

/// A fault in the middle of a run.
pub(crate) fn lost(fault: Fault) -> EvalError {
    EvalError::new(format!("the device failed: {fault}"))
}
