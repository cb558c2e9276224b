//! Consensus-based optimization.
pub mod noise;
mod objective;
pub mod simd;

pub use objective::{EvalError, FromFn, Grouping, Objective, Rows, StepContext, from_fn};
pub use simd::Scalar;
