//! The particles of a training on a device: parameter vectors, row by row.

use super::forward::Forward;
use super::text::{Part, is_isotropic};
use crate::backend::same_batches;
use crate::machine::{Fault, Grid, Kind, Machine, Memory, Program, bytes_of, bytes_of_short_words};
use crate::source::THREADS;
use cbo::device::{Backend, Batches, Move, Reader, Weigher, Weighing, Writer, block_rows, on_processor};
use cbo::noise::{Noise, Stream};
use cbo::{Answers, Ensemble, EvalError, Objective, Partial, Plan, Rows, Scalar, SolveError, StateError, StepContext};
use cbo_problems::nn::Sequence;
use std::sync::{Arc, Mutex, OnceLock};

/// Blocks of threads at the most, each of which takes what is left in turn.
const MOST_BLOCKS: usize = 8192;

/// A training on a device.
#[derive(Debug)]
pub(super) struct Training {
    plan: Plan,
    machine: Arc<dyn Machine>,
    program: Arc<dyn Program>,
    /// Blocks of the network.
    depth: usize,
    /// Which images are in which data batch.
    sequence: Sequence,
    forward: Forward,
    /// The data batch that the device has.
    batch: Option<u64>,
    batches: Option<Batches>,
    /// Parameter vectors of all particles.
    positions: Memory,
    /// What is sent for a step: here, and on the device. The centre, then which particles are evaluated; and whether that was sent.
    sent: Memory,
    centre: Memory,
    /// Of hopping: the widths of its noise, which stay the same, and whether the device has them.
    widths: Memory,
    has_widths: bool,
    norms: Memory,
    /// Weights: here, and on the device.
    sent_weights: Memory,
    weights: Memory,
    /// Losses; moments of all blocks, then the best parameter vector; and what says that they are there, of which launch. Where the device
    /// weighs, it has losses of its own.
    losses: Memory,
    own_losses: Memory,
    moments: Memory,
    done: Memory,
    arrived: Memory,
    launches: u64,
    weigher: Weigher,
    sums: Vec<Partial>,
    energies: Vec<f32>,
    best: Vec<f32>,
    ensemble: OnceLock<Ensemble<f32>>,
    fault: Mutex<Option<Fault>>,
}

/// The arguments of a launch, as `RowsArgs` in `rows.cuh`.
#[repr(C)]
struct Args {
    memory: [u64; 7],
    particles: u64,
    weighed: u64,
    best: u64,
    losses: u64,
    told: u64,
    done: u64,
    launch: u64,
    alpha: f64,
    arrived: u64,
    key: [u32; 2],
    diffusion: [u32; 2],
    kick_noise: [u32; 2],
    kicks: u32,
    vanishes: u32,
    /// keep, noise, kick
    amplitudes: [f32; 3],
    padding: u32,
}

impl Training {
    /// The particles at time 0.
    pub fn begin(
        plan: &Plan,
        machine: &Arc<dyn Machine>,
        program: Arc<dyn Program>,
        forward: Forward,
        sequence: Sequence,
    ) -> Result<Self, SolveError> {
        let (config, dim) = (plan.config(), plan.dim());
        let start = on_processor::<f32>(plan)?;
        let (particles, evaluated) = (config.particles, plan.batch_size());
        let blocks = evaluated.div_ceil(block_rows(dim));
        let make = || -> Result<Self, Fault> {
            let device = |bytes: usize| Memory::new(machine, bytes, Kind::Device);
            let shared = |bytes: usize| Memory::new(machine, bytes, Kind::Shared);
            Ok(Self {
                plan: plan.clone(),
                machine: machine.clone(),
                program,
                depth: forward.depth(),
                sequence,
                forward,
                batch: None,
                batches: config.batch.map(|size| Batches::new(config.seed, particles, size)),
                positions: Memory::of(machine, start.ensemble().rows().as_slice())?,
                sent: shared((dim + evaluated) * 4)?,
                centre: device((dim + evaluated) * 4)?,
                widths: device(dim * 4)?,
                has_widths: false,
                norms: device(if is_isotropic(config) { particles * 4 } else { 0 })?,
                sent_weights: shared(evaluated * 8)?,
                weights: device(evaluated * 8)?,
                losses: shared(evaluated * 8)?,
                own_losses: device(evaluated * 8)?,
                done: shared(8)?,
                arrived: device(4)?,
                launches: 0,
                moments: shared(blocks * dim * 8 + dim * 4)?,
                weigher: Weigher::default(),
                sums: vec![Partial::empty(dim); blocks],
                energies: vec![0.0; evaluated],
                best: vec![0.0; dim],
                ensemble: OnceLock::new(),
                fault: Mutex::new(None),
            })
        };
        make().map_err(|fault| crate::refuse("device", machine.name(), fault.0))
    }

    /// Makes a move.
    fn make(&mut self, decided: &Move) -> Result<(), Fault> {
        self.ensemble.take();
        let near = |x: &f64| if x.abs() < f64::from(f32::TINY) { 0.0 } else { *x as f32 };
        let centre: Vec<f32> = decided.centre.iter().map(near).collect();
        if !self.has_widths && !decided.factor.is_empty() {
            let widths: Vec<f32> = decided.factor.iter().map(|&x| x as f32).collect();
            self.widths.upload(&widths)?;
            self.has_widths = true;
        }
        if let Some(batches) = &mut self.batches {
            batches.next(self.plan.config().seed);
        }
        self.sent.put(0, bytes_of(&centre));
        self.send_chosen(0)?;
        let particles = self.plan.config().particles;
        let args = self.args(Some((decided, &centre)), 0);
        if is_isotropic(self.plan.config()) {
            self.launch(Part::Norms, particles.div_ceil(THREADS / 16), &args)?;
        }
        let threads = particles * self.plan.dim().div_ceil(4);
        self.launch(Part::Move, threads.div_ceil(THREADS).min(MOST_BLOCKS), &args)
    }

    /// Sends which particles are evaluated, and what lies before it from this byte on.
    fn send_chosen(&mut self, first: usize) -> Result<(), Fault> {
        let chosen = self.batches.as_ref().map_or(&[][..], Batches::current);
        let end = (self.plan.dim() + chosen.len()) * 4;
        self.sent.put(self.plan.dim() * 4, &bytes_of_short_words(chosen));
        self.machine.send(self.centre.address() + first as u64, self.sent.address() + first as u64, end - first)
    }

    /// Where the device finds which particles are evaluated; nowhere if all are.
    fn chosen(&self) -> u64 {
        if self.batches.is_some() { self.centre.address() + self.plan.dim() as u64 * 4 } else { 0 }
    }

    /// Begins to find the losses of the particles of a step.
    fn begin_losses(&mut self, step: u64, moved: bool, losses: u64) -> Result<(), Fault> {
        let number = self.round_of_batches().unwrap_or(step);
        if self.batch != Some(number) {
            // Nothing is under way: the last step was waited for.
            self.forward.take(self.sequence.batch(number))?;
            self.batch = Some(number);
        }
        if !moved && self.batches.is_some() {
            self.send_chosen(self.plan.dim() * 4)?;
        }
        self.forward.evaluate(self.positions.address(), self.chosen(), self.energies.len(), losses)
    }

    /// Takes the losses.
    fn take_losses(&mut self) {
        let mut losses = vec![0.0f64; self.energies.len()];
        self.losses.look(0, &mut losses);
        self.energies.iter_mut().zip(&losses).for_each(|(energy, loss)| *energy = *loss as f32);
    }

    /// Takes the moments.
    fn take_moments(&mut self) {
        let dim = self.plan.dim();
        for (block, sums) in self.sums.iter_mut().enumerate() {
            self.moments.look(block * dim * 8, &mut sums.moment);
        }
        self.moments.look(self.sums.len() * dim * 8, &mut self.best);
    }

    fn launch_moments(&self, args: &Args) -> Result<(), Fault> {
        let threads = (self.sums.len() + 1) * self.plan.dim();
        self.launch(Part::Moments, threads.div_ceil(THREADS).min(MOST_BLOCKS), args)
    }

    /// Evaluates and weighs, without a look at the losses in between.
    fn evaluate_and_weigh(&mut self, step: u64, moved: bool, alpha: f64) -> Result<(), Fault> {
        self.begin_losses(step, moved, self.own_losses.address())?;
        self.launches += 1;
        let args = Args { losses: self.own_losses.address(), alpha, launch: self.launches, ..self.args(None, 0) };
        self.launch_moments(&args)?;
        self.machine.wait_for(self.done.address(), self.launches as u32, &mut [0])?;
        self.take_losses();
        self.weigher.weigh(Weighing::Alpha(alpha), &self.energies, block_rows(self.plan.dim()), &mut self.sums);
        self.take_moments();
        Ok(())
    }

    /// Weighs the particles whose energies are known.
    fn weigh(&mut self, weighing: Weighing) -> Result<f64, Fault> {
        let dim = self.plan.dim();
        let (alpha, weights) = self.weigher.weigh(weighing, &self.energies, block_rows(dim), &mut self.sums);
        self.sent_weights.put(0, bytes_of(weights));
        self.machine.send(self.weights.address(), self.sent_weights.address(), weights.len() * 8)?;
        let mut least = (f64::INFINITY, 0);
        for sums in &self.sums {
            least = if sums.least < least.0 { (sums.least, sums.particle) } else { least };
        }
        self.launch_moments(&self.args(None, least.1))?;
        self.machine.wait()?;
        self.take_moments();
        Ok(alpha)
    }

    fn step(&mut self, pending: Option<&Move>, step: u64, weighing: Weighing) -> Result<f64, Fault> {
        self.check()?;
        if let Some(decided) = pending {
            self.make(decided)?;
        }
        match weighing.alpha() {
            Some(alpha) if self.energies.len() <= THREADS => {
                self.evaluate_and_weigh(step, pending.is_some(), alpha)?;
                Ok(alpha)
            }
            _ => {
                self.begin_losses(step, pending.is_some(), self.losses.address())?;
                self.machine.wait()?;
                self.take_losses();
                self.weigh(weighing)
            }
        }
    }

    fn launch(&self, part: Part, blocks: usize, args: &Args) -> Result<(), Fault> {
        let grid = Grid { blocks: blocks as u32, threads: THREADS as u32, shared: 0, early: true };
        let bytes = std::ptr::from_ref(args).cast::<u8>();
        // SAFETY: plain numbers without padding: 64-bit ones, then an even count of 32-bit ones.
        let bytes = unsafe { std::slice::from_raw_parts(bytes, size_of::<Args>()) };
        self.program.launch(part.place(self.depth), grid, bytes)
    }

    fn args(&self, decided: Option<(&Move, &[f32])>, best: usize) -> Args {
        let nothing = (&Move::default(), &[][..]);
        let (decided, centre) = decided.unwrap_or(nothing);
        let config = self.plan.config();
        let [key, diffusion] = Noise::new(config.seed, Stream::Diffusion, decided.step).parts();
        let [_, kick_noise] = Noise::new(config.seed, Stream::Kick, decided.step).parts();
        let [positions, centre_at, widths, norms, weights, moments] =
            [&self.positions, &self.centre, &self.widths, &self.norms, &self.weights, &self.moments]
                .map(Memory::address);
        Args {
            memory: [positions, centre_at, widths, norms, self.chosen(), weights, moments],
            particles: config.particles as u64,
            weighed: self.energies.len() as u64,
            best: best as u64,
            losses: 0,
            told: self.losses.address(),
            done: self.done.address(),
            launch: 0,
            alpha: 0.0,
            arrived: self.arrived.address(),
            key,
            diffusion,
            kick_noise,
            kicks: decided.kick.is_some().into(),
            vanishes: centre.contains(&0.0).into(),
            amplitudes: [decided.keep, decided.noise, decided.kick.unwrap_or(0.0)].map(|x| x as f32),
            padding: 0,
        }
    }

    /// What went wrong where no error could be returned.
    fn check(&self) -> Result<(), Fault> {
        self.fault.lock().ok().and_then(|fault| fault.clone()).map_or(Ok(()), Err)
    }

    fn note(&self, fault: Fault) {
        if let Ok(mut noted) = self.fault.lock() {
            noted.get_or_insert(fault);
        }
    }
}

impl Backend<f32> for Training {
    fn advance_and_evaluate(
        &mut self,
        pending: Option<&Move>,
        step: u64,
        weighing: Weighing,
        _objective: &dyn Objective<f32>,
    ) -> Result<f64, EvalError> {
        self.step(pending, step, weighing).map_err(crate::backend::lost)
    }

    fn advance(&mut self, pending: &Move, _step: u64) {
        if let Err(fault) = self.make(pending) {
            self.note(fault);
        }
    }

    fn prepare(&mut self, _decided: &mut Move, _alpha: f64) {}

    fn pool(&self) -> Option<Arc<rayon::ThreadPool>> {
        None
    }

    fn draw_ahead(&mut self, _step: u64) {}

    fn points(&self, _round: usize) -> Rows<'_, f32> {
        self.ensemble().rows()
    }

    fn take(&mut self, _round: usize, _step: u64, energies: &[f32], weighing: Option<Weighing>) -> Option<f64> {
        self.energies.copy_from_slice(energies);
        weighing.map(|weighing| {
            self.weigh(weighing).unwrap_or_else(|fault| {
                self.note(fault);
                f64::NAN
            })
        })
    }

    fn ask(
        &mut self,
        _round: usize,
        _at: StepContext,
        _objective: &dyn Objective<f32>,
        _answers: &Answers<f32>,
    ) -> Result<(), EvalError> {
        Err(EvalError::new("a step that was left half evaluated goes on on the processor; use device cpu"))
    }

    fn differentiate(&mut self, _at: StepContext, _objective: &dyn Objective<f32>) -> Result<(), EvalError> {
        Err(EvalError::new("gradients are not on the device"))
    }

    fn sums(&mut self) -> &mut [Partial] {
        &mut self.sums
    }

    fn count(&self) -> usize {
        self.energies.len()
    }

    fn row(&self, _round: usize, _place: usize) -> &[f32] {
        // Only the best is ever asked for.
        &self.best
    }

    fn is_narrower_than(&self, limit: f64) -> bool {
        self.ensemble().is_narrower_than(limit)
    }

    fn ensemble(&self) -> &Ensemble<f32> {
        self.ensemble.get_or_init(|| {
            let mut rows = vec![f32::NAN; self.plan.config().particles * self.plan.dim()];
            if let Err(fault) = self.positions.download(&mut rows) {
                self.note(fault);
            }
            Ensemble::of_rows(&rows, self.plan.dim())
        })
    }

    fn energies(&self, _round: usize) -> &[f32] {
        &self.energies
    }

    fn evaluated(&self) -> Option<&[u32]> {
        self.batches.as_ref().map(Batches::current)
    }

    fn round_of_batches(&self) -> Option<u64> {
        self.batches.as_ref().map(Batches::round)
    }

    fn remembered(&self) -> &[f32] {
        &[]
    }

    fn remembered_mut(&mut self) -> &mut [f32] {
        &mut []
    }

    fn save(&self, to: &mut Writer) {
        // As the processor does it, so that either can resume what the other has saved.
        to.count(self.plan.config().particles);
        to.numbers(self.ensemble().rows().as_slice());
        to.numbers(&self.energies);
        to.numbers(&[0.0f64]);
        let (round, position) = self.batches.as_ref().map_or((0, 0), Batches::place);
        to.whole(round);
        to.count(position);
    }

    fn load(&mut self, from: &mut Reader<'_>, rounds: usize) -> Result<(), StateError> {
        let mut start = on_processor::<f32>(&self.plan)?;
        start.load(from, rounds)?;
        let config = self.plan.config();
        if start.ensemble().len() != config.particles || start.count() != self.energies.len() {
            return Err(StateError::Damaged);
        }
        self.ensemble = OnceLock::new();
        self.energies.copy_from_slice(start.energies(0));
        if let Some(batches) = &mut self.batches {
            *batches = same_batches(config, &*start).ok_or(StateError::Damaged)?;
        }
        let uploaded = self.positions.upload(start.ensemble().rows().as_slice());
        uploaded.map_err(|fault| crate::refuse("device", self.machine.name(), fault.0).into())
    }

    fn into_parts(self: Box<Self>) -> (Ensemble<f32>, Vec<f32>) {
        self.ensemble();
        let nobody = || Ensemble::of_rows(&[], self.plan.dim());
        let Self { ensemble, energies, .. } = *self;
        (ensemble.into_inner().unwrap_or_else(nobody), energies)
    }
}
