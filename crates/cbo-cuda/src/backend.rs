//! The particles of a run on a device: one launch for each step, and nothing is copied but the sums and what somebody looks at.

use crate::lent::Lent;
use crate::machine::{Fault, Grid, Kernel, Kind, Machine, Memory, Program, bytes_of};
use crate::source::Shape;
use cbo::device::{Backend, Move, Reader, Weighing, Writer, on_processor};
use cbo::noise::{Noise, Stream};
use cbo::{
    Answers, Ensemble, EvalError, Objective, Partial, Plan, Rows, Scalar, SolveError, StateError, StepContext,
    alpha_for_sample_size,
};
use std::iter;
use std::sync::{Arc, Mutex, OnceLock};
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
    particles: usize,
    /// Where the shape says.
    positions: Arc<Memory>,
    energies: Arc<Memory>,
    /// The sums of blocks, then merged ones, level by level; and how many of those that are merged have come.
    partials: Memory,
    arrived: Memory,
    low: Memory,
    high: Memory,
    far_centre: Memory,
    /// The merged sums and the best position, as the device writes them: words, each with the number of the launch that wrote it.
    result: Memory,
    words: Vec<u32>,
    /// The arguments of the last launch.
    args: Vec<u8>,
    launches: u64,
    /// The sums of the step, merged.
    sums: [Partial; 1],
    best: Vec<T>,
    seen: Seen<T>,
}

/// What was copied since the last move, and what went wrong with it.
#[derive(Debug)]
struct Seen<T> {
    ensemble: OnceLock<Ensemble<T>>,
    energies: OnceLock<Vec<T>>,
    fault: Mutex<Option<Fault>>,
}

impl<T> Default for Seen<T> {
    fn default() -> Self {
        Self { ensemble: OnceLock::new(), energies: OnceLock::new(), fault: Mutex::new(None) }
    }
}

/// What a launch does.
#[derive(Clone, Copy, Debug, Default)]
struct Work {
    evaluates: bool,
    /// The alpha of the weights, if it is known.
    alpha: Option<f64>,
}

/// The arguments of a launch but for the centre, which follows them, as `Args` in `step.cuh`.
#[repr(C)]
struct Head<T> {
    memory: [u64; 7],
    particles: u64,
    launch: u64,
    alpha: f64,
    key: [u32; 2],
    diffusion: [u32; 2],
    kick_noise: [u32; 2],
    moves: u32,
    kicks: u32,
    vanishes: u32,
    evaluates: u32,
    weighs: u32,
    padding: u32,
    arrived: u64,
    /// keep, noise, kick, longest
    amplitudes: [T; 4],
}

impl<T: Scalar> OnDevice<T> {
    /// The particles of a run at time 0.
    pub fn begin(
        plan: &Plan,
        shape: Shape,
        machine: &Arc<dyn Machine>,
        program: Arc<dyn Program>,
    ) -> Result<Self, SolveError> {
        let particles = plan.config().particles;
        let start = on_processor::<T>(plan)?;
        let bounds = plan.config().bounds.as_deref().unwrap_or_default();
        let side = |pick: fn(&(f64, f64)) -> f64| bounds.iter().map(|b| T::from_f64(pick(b))).collect::<Vec<_>>();
        let (sums, merged) = shape.sums(particles);
        let make = || -> Result<Self, Fault> {
            let memory = |bytes: usize| Memory::new(machine, bytes, Kind::Device);
            let words = vec![0; 2 * shape.stride() + shape.dim * size_of::<T>() / 4];
            let result = Memory::new(machine, words.len() * 8, Kind::Shared)?;
            Ok(Self {
                plan: plan.clone(),
                shape,
                program,
                particles,
                positions: Arc::new(Memory::of(machine, &laid_out(shape, start.ensemble().rows()))?),
                energies: Arc::new(memory(particles * size_of::<T>())?),
                partials: memory(sums * shape.stride() * 8)?,
                arrived: memory(merged * 4)?,
                low: Memory::of(machine, &side(|b| b.0))?,
                high: Memory::of(machine, &side(|b| b.1))?,
                far_centre: memory(shape.dim * size_of::<T>())?,
                result,
                words,
                machine: machine.clone(),
                args: Vec::new(),
                launches: 0,
                sums: [Partial::empty(shape.dim)],
                best: vec![T::default(); shape.dim],
                seen: Seen::default(),
            })
        };
        make().map_err(|fault| crate::refuse("device", machine.name(), fault.0))
    }

    /// The memory of positions and energies, for a caller who evaluates.
    pub fn lend(&self) -> Lent {
        Lent::new(&self.positions, &self.energies, self.particles, self.shape.dim)
    }

    /// Seconds that a kernel takes, the best of some repetitions of many launches.
    pub fn time(&self, kernel: Kernel) -> Result<f64, Fault> {
        let decided = Move { keep: 1.0, centre: vec![0.0; self.shape.dim], ..Move::default() };
        let mut bytes = Vec::new();
        self.write_args(Some(&decided), Work::default(), &mut bytes)?;
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

    /// Launches a step: the move if there is one, and the work.
    fn launch(&mut self, decided: Option<&Move>, work: Work) -> Result<(), Fault> {
        if let Some(fault) = self.seen.fault.get_mut().ok().and_then(|fault| fault.clone()) {
            return Err(fault);
        }
        if decided.is_some() {
            self.seen.ensemble.take();
        }
        if decided.is_some() || work.evaluates {
            self.seen.energies.take();
        }
        self.launches += 1;
        let mut args = std::mem::take(&mut self.args);
        self.write_args(decided, work, &mut args)?;
        self.args = args;
        self.program.launch(Kernel::Step as usize, self.grid(self.shape.blocks(self.particles)), &self.args)
    }

    /// So many blocks of threads.
    fn grid(&self, blocks: usize) -> Grid {
        Grid { blocks: blocks as u32, threads: self.shape.threads as u32, shared: 0 }
    }

    /// Writes the arguments of a launch.
    fn write_args(&self, decided: Option<&Move>, work: Work, bytes: &mut Vec<u8>) -> Result<(), Fault> {
        let config = self.plan.config();
        let nothing = Move::default();
        let (moves, decided) = (decided.is_some(), decided.unwrap_or(&nothing));
        // Coordinates too near to zero are zero.
        let near = |x: &f64| if x.abs() < T::TINY.to_f64() { T::default() } else { T::from_f64(*x) };
        let centre = decided.centre.iter().map(near);
        if moves && self.shape.centre < self.shape.dim {
            self.far_centre.upload(&centre.clone().collect::<Vec<T>>())?;
        }
        let [key, diffusion] = Noise::new(config.seed, Stream::Diffusion, decided.step).parts();
        let [_, kick_noise] = Noise::new(config.seed, Stream::Kick, decided.step).parts();
        let longest = config.truncation().unwrap_or(f64::INFINITY);
        let head = Head {
            memory: [
                &*self.positions,
                &*self.energies,
                &self.partials,
                &self.result,
                &self.low,
                &self.high,
                &self.far_centre,
            ]
            .map(Memory::address),
            particles: self.particles as u64,
            launch: self.launches,
            alpha: work.alpha.unwrap_or(0.0),
            key,
            diffusion,
            kick_noise,
            moves: moves.into(),
            kicks: decided.kick.is_some().into(),
            vanishes: centre.clone().any(|x| x == T::default()).into(),
            evaluates: work.evaluates.into(),
            weighs: work.alpha.is_some().into(),
            padding: 0,
            arrived: self.arrived.address(),
            amplitudes: [decided.keep, decided.noise, decided.kick.unwrap_or(0.0), longest].map(T::from_f64),
        };
        bytes.clear();
        bytes.extend_from_slice(head.bytes());
        for x in centre.chain(iter::repeat(T::default())).take(self.shape.centre) {
            bytes.extend_from_slice(bytes_of(&[x]));
        }
        Ok(())
    }

    /// Takes the sums of the last launch, when they are there.
    fn collect(&mut self) -> Result<(), Fault> {
        self.machine.wait_for(self.result.address(), self.launches as u32, &mut self.words)?;
        let (fields, best) = self.words.split_at(2 * self.shape.stride());
        let number = |at: usize| f64::from_bits(u64::from(fields[2 * at + 1]) << 32 | u64::from(fields[2 * at]));
        let sums = &mut self.sums[0];
        [sums.least, sums.shift, sums.mass, sums.mass_of_squares] = [0, 4, 5, 6].map(number);
        (sums.particle, sums.failed, sums.infeasible) = (number(1) as usize, number(2) as u64, number(3) as u64);
        for (k, moment) in sums.moment.iter_mut().enumerate() {
            *moment = number(8 + k);
        }
        for (x, words) in self.best.iter_mut().zip(best.chunks_exact(size_of::<T>() / 4)) {
            *x = match *words {
                [low, high] => T::from_f64(f64::from_bits(u64::from(high) << 32 | u64::from(low))),
                _ => T::from_f64(f32::from_bits(words[0]).into()),
            };
        }
        Ok(())
    }

    /// Weighs the particles of the step, whose energies are known.
    fn weigh(&mut self, weighing: Weighing) -> Result<f64, Fault> {
        let alpha = match weighing {
            Weighing::Alpha(alpha) => alpha,
            Weighing::SampleSize(fraction) => {
                let energies: Vec<f64> =
                    self.energies(0).iter().map(|e| e.to_f64()).filter(|e| e.is_finite()).collect();
                alpha_for_sample_size(fraction, &energies)
            }
            Weighing::Ranks => return Err(Fault("weights by ranks are not on the device".into())),
        };
        self.launch(None, Work { evaluates: false, alpha: Some(alpha) })?;
        self.collect()?;
        Ok(alpha)
    }

    fn step(&mut self, pending: Option<&Move>, weighing: Weighing) -> Result<f64, Fault> {
        self.launch(pending, Work { evaluates: true, alpha: weighing.alpha() })?;
        match weighing.alpha() {
            Some(alpha) => self.collect().map(|()| alpha),
            None => self.weigh(weighing),
        }
    }

    /// Keeps what went wrong where no error can be returned: the next step returns it.
    fn note(&self, fault: Fault) {
        if let Ok(mut noted) = self.seen.fault.lock() {
            noted.get_or_insert(fault);
        }
    }
}

impl<T: Scalar> Head<T> {
    fn bytes(&self) -> &[u8] {
        // SAFETY: plain numbers without padding: 64-bit ones, then an even count of 32-bit ones, one more of 64 bits, and four of `T`.
        unsafe { std::slice::from_raw_parts(std::ptr::from_ref(self).cast::<u8>(), size_of::<Self>()) }
    }
}

/// Rows as they lie on the device.
fn laid_out<T: Scalar>(shape: Shape, rows: Rows<'_, T>) -> Vec<T> {
    let mut numbers = vec![T::default(); shape.room(rows.len()) * shape.dim];
    for (i, row) in rows.iter().enumerate() {
        for (k, x) in row.iter().enumerate() {
            numbers[shape.place(rows.len(), i, k)] = *x;
        }
    }
    numbers
}

/// The rows of so many particles, of what lies on the device.
fn rows<T: Scalar>(shape: Shape, particles: usize, numbers: &[T]) -> Vec<T> {
    let mut rows = vec![T::default(); particles * shape.dim];
    for (i, row) in rows.chunks_exact_mut(shape.dim).enumerate() {
        for (k, x) in row.iter_mut().enumerate() {
            *x = numbers[shape.place(particles, i, k)];
        }
    }
    rows
}

/// A fault in the middle of a run.
pub(crate) fn lost(fault: Fault) -> EvalError {
    EvalError::new(format!("the device failed: {fault}"))
}

impl<T: Scalar> Backend<T> for OnDevice<T> {
    fn advance_and_evaluate(
        &mut self,
        pending: Option<&Move>,
        _step: u64,
        weighing: Weighing,
        _objective: &dyn Objective<T>,
    ) -> Result<f64, EvalError> {
        self.step(pending, weighing).map_err(lost)
    }

    fn advance(&mut self, pending: &Move, _step: u64) {
        if let Err(fault) = self.launch(Some(pending), Work::default()) {
            self.note(fault);
        }
    }

    fn prepare(&mut self, _decided: &mut Move, _alpha: f64) {}

    fn pool(&self) -> Option<Arc<rayon::ThreadPool>> {
        None
    }

    fn draw_ahead(&mut self, _step: u64) {}

    fn points(&self, _round: usize) -> Rows<'_, T> {
        self.ensemble().rows()
    }

    fn take(&mut self, _round: usize, _step: u64, energies: &[T], weighing: Option<Weighing>) -> Option<f64> {
        self.seen.energies.take();
        let outcome = self.energies.upload(energies).and_then(|()| weighing.map(|w| self.weigh(w)).transpose());
        outcome.unwrap_or_else(|fault| {
            self.note(fault);
            Some(f64::NAN)
        })
    }

    fn weigh_there(&mut self, weighing: Weighing) -> Result<f64, EvalError> {
        self.seen.energies.take();
        self.weigh(weighing).map_err(lost)
    }

    fn ask(
        &mut self,
        _round: usize,
        _at: StepContext,
        _objective: &dyn Objective<T>,
        _answers: &Answers<T>,
    ) -> Result<(), EvalError> {
        Err(EvalError::new("only formulas are evaluated on a device"))
    }

    fn differentiate(&mut self, _at: StepContext, _objective: &dyn Objective<T>) -> Result<(), EvalError> {
        Err(EvalError::new("gradients are not on the device"))
    }

    fn sums(&mut self) -> &mut [Partial] {
        &mut self.sums
    }

    fn count(&self) -> usize {
        self.particles
    }

    fn row(&self, _round: usize, place: usize) -> &[T] {
        if place == self.sums[0].particle { &self.best } else { self.ensemble().rows().row(place) }
    }

    fn is_narrower_than(&self, limit: f64) -> bool {
        let widths = || -> Result<Vec<f64>, Fault> {
            let mut widths = vec![0.0f64; self.shape.dim];
            let mut bytes = Vec::new();
            self.write_args(None, Work::default(), &mut bytes)?;
            self.program.launch(Kernel::Widths as usize, self.grid(self.shape.dim), &bytes)?;
            self.machine.wait()?;
            self.result.look(0, &mut widths);
            Ok(widths)
        };
        match widths() {
            Ok(widths) => widths.into_iter().fold(0.0, f64::max) < limit,
            Err(fault) => {
                self.note(fault);
                false
            }
        }
    }

    fn ensemble(&self) -> &Ensemble<T> {
        self.seen.ensemble.get_or_init(|| {
            let mut numbers = vec![T::from_f64(f64::NAN); self.shape.room(self.particles) * self.shape.dim];
            if let Err(fault) = self.positions.download(&mut numbers) {
                self.note(fault);
            }
            Ensemble::of_rows(&rows(self.shape, self.particles, &numbers), self.shape.dim)
        })
    }

    fn energies(&self, _round: usize) -> &[T] {
        self.seen.energies.get_or_init(|| {
            let mut energies = vec![T::from_f64(f64::NAN); self.particles];
            if let Err(fault) = self.energies.download(&mut energies) {
                self.note(fault);
            }
            energies
        })
    }

    fn evaluated(&self) -> Option<&[u32]> {
        None
    }

    fn round_of_batches(&self) -> Option<u64> {
        None
    }

    fn remembered(&self) -> &[T] {
        &[]
    }

    fn remembered_mut(&mut self) -> &mut [T] {
        &mut []
    }

    fn save(&self, to: &mut Writer) {
        // As the processor does it, so that either can resume what the other has saved.
        to.count(self.particles);
        to.numbers(self.ensemble().rows().as_slice());
        to.numbers(self.energies(0));
        to.numbers(&[0.0f64]);
        to.whole(0);
        to.count(0);
    }

    fn load(&mut self, from: &mut Reader<'_>, rounds: usize) -> Result<(), StateError> {
        let mut start = on_processor::<T>(&self.plan)?;
        start.load(from, rounds)?;
        if start.count() != self.particles {
            return Err(StateError::Damaged);
        }
        self.seen = Seen::default();
        let uploaded = self
            .positions
            .upload(&laid_out(self.shape, start.ensemble().rows()))
            .and_then(|()| self.energies.upload(start.energies(0)));
        uploaded.map_err(|fault| crate::refuse("device", self.machine.name(), fault.0).into())
    }

    fn into_parts(self: Box<Self>) -> (Ensemble<T>, Vec<T>) {
        self.ensemble();
        self.energies(0);
        let Seen { ensemble, energies, .. } = self.seen;
        let nobody = || Ensemble::of_rows(&[], self.shape.dim);
        (ensemble.into_inner().unwrap_or_else(nobody), energies.into_inner().unwrap_or_default())
    }
}
