//! Consensus-based optimization: a swarm of particles agrees, step by step, on where the global minimum is.
//!
//! N particles `V^i` in R^d follow
//!
//! `dV^i = -lambda (V^i - v_a) dt + sigma D(V^i - v_a) dB^i`,
//! `v_a = sum_i w_i V^i / sum_i w_i`, `w_i = exp(-alpha E(V^i))`,
//!
//! where E is the function to be minimised: no gradient, many local minima allowed. `D(X) = diag(X)` (anisotropic) or
//! `||X||_2` (isotropic). See *Convergence of Anisotropic Consensus-Based Optimization in Mean-Field Law* (Fornasier, Klock
//! and Riedl 2022, doi:10.1007/978-3-031-02462-7_46) for why it converges.
//!
//! Five lines are enough:
//!
//! ```
//! let rastrigin = |x: &[f64]| x.iter().map(|v| v * v + 2.5 * (1.0 - (std::f64::consts::TAU * v).cos())).sum();
//! let run = cbo::minimize(rastrigin, &[(-5.12, 5.12); 4])?;
//! println!("{} at {:?}", run.best().value, run.best().x);
//! assert!(run.best().value < 1e-2);
//! # Ok::<(), cbo::SolveError>(())
//! ```
//!
//! For more control, fill a [`CboConfig`] and call [`solve`] with an [`Objective`] and an [`Observer`].
//!
//! The same config and seed give bit-identical results with any number of threads: see [`noise`].

mod abreast;
mod answers;
mod ask_tell;
pub mod auto;
mod backend;
mod batch;
mod bounds;
mod buffer;
mod config;
mod consensus;
mod constraint;
#[doc(hidden)]
pub mod device;
mod ensemble;
mod initial;
mod ledger;
mod matrix;
mod method;
mod minimisers;
pub mod noise;
pub mod numbers;
mod objective;
mod observer;
mod pairs;
mod population;
mod ranking;
pub mod ranks;
mod report;
mod run;
mod sample;
mod schedule;
pub mod simd;
mod solve;
mod state;
mod text;
mod weights;

pub use answers::Answers;
pub use ask_tell::AskTell;
pub use auto::{Auto, Phase};
pub use bounds::{BoundHandling, reflect};
pub use config::{CboConfig, ConfigError, DEFAULT_SHRINKAGE, DEFAULT_STEPS, Plan, Settings, Update};
pub use consensus::{Partial, alpha_for_sample_size};
pub use constraint::Constrained;
pub use ensemble::Ensemble;
pub use initial::{Coordinates, InitialLaw};
pub use method::{
    Adam, Diffusion, FrameFactor, Hopping, HoppingStart, HoppingWeights, Hypersurface, Jumps, Level, Memory, Method,
    Mirror, Polarised, Sampling, Scheme, Sphere, Surface,
};
pub use minimisers::Minimiser;
pub use objective::{EnergyTrace, EvalError, FromFn, Grouping, Objective, Rows, StepContext, Vanishing, from_fn};
pub use observer::{History, Observer, Record};
pub use pairs::Similarity;
pub use report::{Evaluated, RunReport, SolveError, StepReport, StopReason};
pub use run::forget_best;
pub use sample::{DEFAULT_DRAWS, Proposal, Sample, sample};
pub use schedule::{Alpha, Clock, Geometric, Reduction, Sigma};
pub use simd::Scalar;
pub use solve::{minimize, resume, solve};
pub use state::StateError;
pub use text::TextError;
