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

use crate::{Cuda, refuse};
use cbo::device::{Backend, Device, resume_on, solve_on};
use cbo::{
    BoundHandling, EvalError, Grouping, Method, Objective, Observer, Plan, Rows, RunReport, Settings, SolveError,
    StateError, StepContext, Update,
};
use cbo_problems::mnist::Labelled;
use cbo_problems::nn::fast::Evaluator;
use cbo_problems::nn::CrossEntropy;
use forward::{Forward, Images};
use run::Training;
use std::sync::Arc;
use text::Sizes;

/// A GPU that trains one network.
#[derive(Debug)]
pub struct Networks<'a> {
    cuda: &'a Cuda,
    objective: &'a CrossEntropy<'a>,
}

impl Cuda {
    /// The device for training with this objective.
    pub fn networks<'a>(&'a self, objective: &'a CrossEntropy<'a>) -> Networks<'a> {
        Networks { cuda: self, objective }
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
            _ => self.sizes().map(|_| ()),
        }
    }

    fn evaluator(&self) -> &Evaluator {
        self.objective.evaluator()
    }

    /// The sizes of the network's blocks.
    fn sizes(&self) -> Result<Vec<Sizes>, SolveError> {
        let network = self.evaluator().network();
        text::sizes(network, self.evaluator().blocks()).ok_or_else(|| {
            let remedy = format!(
                "{} trains networks whose batch-norm and pool layers follow a conv or dense layer; use device cpu",
                self.cuda.name
            );
            refuse("network", network.to_string(), remedy)
        })
    }
}

impl Device<f32> for Networks<'_> {
    fn begin(&self, plan: &Plan, _objective: &dyn Objective<f32>) -> Result<Box<dyn Backend<f32>>, SolveError> {
        self.check(plan)?;
        let blocks: Arc<[Sizes]> = self.sizes()?.into();
        let (machine, network, config) = (&self.cuda.machine, self.evaluator().network(), plan.config());
        let failed = |fault: crate::Fault| refuse("device", self.cuda.name.clone(), fault.0);
        let text = text::text(network, &blocks, config);
        let program = machine.compile(&text, &text::entries(blocks.len(), config)).map_err(failed)?;
        let images: &Labelled = self.objective.data();
        let images = Arc::new(Images::new(machine, images).map_err(failed)?);
        let (count, rows) = (self.objective.batch_size(), plan.batch_size());
        let forward = Forward::new(machine, program.clone(), blocks, images, count, rows).map_err(failed)?;
        Ok(Box::new(Training::begin(plan, machine, program, forward, self.objective.sequence())?))
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
