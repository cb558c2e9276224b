//! Training networks on a GPU, with the bits of the processor.
//!
//! ```no_run
//! use cbo::{CboConfig, Method};
//! use cbo_problems::mnist;
//! use cbo_problems::nn::{CrossEntropy, Network, Order};
//!
//! let data = mnist::subset()?;
//! let objective = CrossEntropy::new(&Network::lenet1(), &data.train, 250, Order::Shuffled { seed: 1 })?;
//! let config = CboConfig { particles: 1024, steps: Some(100), ..CboConfig::of(Method::Hopping(Default::default())) };
//! let run = cbo_cuda::Cuda::open(0)?.networks(&objective).solve(&config, &mut ())?;
//! println!("{}", run.best().value);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod forward;
mod run;
mod text;

use crate::machine::{Kind, Machine, Memory, Program};
use crate::{Cuda, Fault, refuse};
use cbo::device::{Backend, Device, resume_on, solve_on};
use cbo::{
    BoundHandling, CboConfig, EvalError, Grouping, Method, Objective, Observer, Plan, Rows, RunReport, Settings,
    SolveError, StateError, StepContext, Update,
};
use cbo_problems::mnist::Labelled;
use cbo_problems::nn::CrossEntropy;
use cbo_problems::nn::fast::Evaluator;
use forward::{Forward, Images};
use run::Training;
use std::sync::Arc;
use text::Sizes;

/// Parameter vectors, each on a tile of images, that do not keep a GPU busy unless many threads share each of them.
const FEW: usize = 64;

/// A GPU that trains one network.
#[derive(Debug)]
pub struct Networks<'a> {
    cuda: &'a Cuda,
    objective: &'a CrossEntropy<'a>,
}

/// Images on a GPU, on which parameter vectors of a network are compared.
#[derive(Debug)]
pub struct Sample {
    machine: Arc<dyn Machine>,
    forward: Forward,
    parameters: usize,
}

impl Sample {
    /// The loss of each parameter vector on all images, in training mode.
    pub fn losses(&self, rows: Rows<'_, f32>) -> Result<Vec<f64>, Fault> {
        let count = rows.len();
        let positions = Memory::of(&self.machine, rows.as_slice())?;
        let found = Memory::new(&self.machine, count * 8, Kind::Shared)?;
        debug_assert_eq!(rows.dim(), self.parameters);
        self.forward.evaluate(positions.address(), 0, count, found.address())?;
        self.machine.wait()?;
        let mut losses = vec![0.0; count];
        found.look(0, &mut losses);
        Ok(losses)
    }
}

impl Cuda {
    /// The device for training with this objective.
    pub fn networks<'a>(&'a self, objective: &'a CrossEntropy<'a>) -> Networks<'a> {
        Networks { cuda: self, objective }
    }

    /// These images of `data` on the device, for comparing particles of a training under `config`.
    pub fn sample(
        &self,
        config: &CboConfig,
        evaluator: &Evaluator,
        data: &Labelled,
        images: &[u32],
    ) -> Result<Sample, SolveError> {
        let blocks: Arc<[Sizes]> = self.sizes(evaluator, false)?.into();
        let failed = |fault: Fault| refuse("device", self.name.clone(), fault.0);
        let program = self.program(evaluator, &blocks, config).map_err(failed)?;
        let make = || {
            let data = Arc::new(Images::new(&self.machine, data)?);
            let forward = Forward::new(&self.machine, program, blocks, data, images.len(), config.particles)?;
            forward.take(images)?;
            self.machine.wait()?;
            Ok(Sample { machine: self.machine.clone(), forward, parameters: evaluator.network().parameters() })
        };
        make().map_err(failed)
    }

    /// The kernels of a training.
    fn program(&self, evaluator: &Evaluator, blocks: &[Sizes], config: &CboConfig) -> Result<Arc<dyn Program>, Fault> {
        let text = text::text(evaluator.network(), blocks, config);
        self.machine.compile(&text, &text::entries(blocks.len(), config))
    }

    /// The sizes of a network's blocks, for many parameter vectors or few.
    fn sizes(&self, evaluator: &Evaluator, few: bool) -> Result<Vec<Sizes>, SolveError> {
        let network = evaluator.network();
        text::sizes(network, evaluator.blocks(), few).ok_or_else(|| {
            let remedy = format!(
                "{} trains networks whose batch-norm and pool layers follow a conv or dense layer; use device cpu",
                self.name
            );
            refuse("network", network.to_string(), remedy)
        })
    }
}

impl Networks<'_> {
    /// [`cbo::solve`] on the GPU.
    pub fn solve(
        &self,
        settings: impl Settings,
        observer: &mut (dyn Observer<f32> + Send),
    ) -> Result<RunReport<f32>, SolveError> {
        solve_on(self, settings, &Together(self.objective), observer)
    }

    /// [`cbo::resume`] on the GPU: of a run that was saved on either.
    pub fn resume(
        &self,
        settings: impl Settings,
        observer: &mut (dyn Observer<f32> + Send),
        state: &[u8],
    ) -> Result<RunReport<f32>, StateError> {
        resume_on(self, settings, &Together(self.objective), observer, state)
    }

    /// Refuses by name what runs on the processor alone.
    pub fn check(&self, plan: &Plan) -> Result<(), SolveError> {
        let config = plan.config();
        let only = |field, value: String| {
            Err(refuse(field, value, format!("is not on {} yet; use device cpu", self.cuda.name)))
        };
        match config.method {
            Method::Cbo | Method::Hopping(_) => (),
            other => return only("method", other.to_string()),
        }
        match config {
            _ if config.reduction.is_some() => only("reduction", "on".into()),
            _ if config.update == Update::Partial => only("update", config.update.to_string()),
            _ if config.truncation().is_some() => only("truncation", "on".into()),
            _ if config.bounds.is_some() && config.bound_handling != BoundHandling::None => only("bounds", "on".into()),
            _ => self.cuda.sizes(self.objective.evaluator(), false).map(|_| ()),
        }
    }
}

impl Device<f32> for Networks<'_> {
    fn begin(&self, plan: &Plan, _objective: &dyn Objective<f32>) -> Result<Box<dyn Backend<f32>>, SolveError> {
        self.check(plan)?;
        let (cuda, evaluator) = (self.cuda, self.objective.evaluator());
        let (count, rows) = (self.objective.batch_size(), plan.batch_size());
        let few = rows * count.div_ceil(text::TILE) <= FEW;
        let blocks: Arc<[Sizes]> = cuda.sizes(evaluator, few)?.into();
        let particles = plan.config().particles;
        cuda.check_memory(particles, particles as u64 * plan.dim() as u64 * size_of::<f32>() as u64)?;
        let failed = |fault: Fault| refuse("device", cuda.name.clone(), fault.0);
        let program = cuda.program(evaluator, &blocks, plan.config()).map_err(failed)?;
        let images = Arc::new(Images::new(&cuda.machine, self.objective.data()).map_err(failed)?);
        let forward = Forward::new(&cuda.machine, program.clone(), blocks, images, count, rows).map_err(failed)?;
        Ok(Box::new(Training::begin(plan, &cuda.machine, program, forward, self.objective.sequence())?))
    }
}

/// The objective as the loop sees it: all particles of a step are evaluated together.
struct Together<'a>(&'a CrossEntropy<'a>);

impl Objective<f32> for Together<'_> {
    fn dim(&self) -> usize {
        self.0.dim()
    }

    fn energies(&self, at: StepContext, rows: Rows<'_, f32>, out: &mut [f32]) -> Result<(), EvalError> {
        self.0.energies(at, rows, out)
    }

    fn grouping(&self) -> Grouping {
        Grouping::Blocks
    }

    fn is_stochastic(&self) -> bool {
        self.0.is_stochastic()
    }
}
