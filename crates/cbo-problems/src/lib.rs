//! Benchmark functions: formula, domain and known optimum of each, evaluated on SIMD lanes, optionally shifted and rotated.
//!
//! A [`Problem`] is a function in a number of dimensions, ready to be minimised:
//!
//! ```
//! use cbo::{Objective, Rows, StepContext};
//! use cbo_problems::Problem;
//!
//! let problem = Problem::builder("rastrigin").dim(3).parameter("amplitude", 10.0).shift(1.5).rotate(3).build()?;
//! assert_eq!(problem.description(), "rastrigin (amplitude 10), shifted by 1.5, rotated (seed 3)");
//! assert_eq!(problem.minimisers(), [[1.5, 1.5, 1.5]]);
//!
//! let mut energies = [0.0; 2];
//! problem.energies(StepContext::default(), Rows::new(&[1.5, 1.5, 1.5, 0.0, 0.0, 0.0], 3), &mut energies)?;
//! assert_eq!(energies[0], problem.minimum());
//! assert!((energies[1] - problem.value(&[0.0; 3])).abs() < 1e-12);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`all`] lists what there is. A new function is one file in `src/functions` with an implementation of [`Function`],
//! whose formula is written once for numbers and for vectors, and one line in the list of `src/functions/mod.rs`. A
//! function of your own need not be in the list: [`Problem::builder_of`] takes any.
//!
//! A [`Formula`] is an objective from a line of text, such as `sum(x^2)`.
//!
//! The feature `mnist` adds images (the module `mnist`), `networks` also networks that are trained on them (`nn`).

mod builder;
mod constraint;
mod error;
mod formula;
mod function;
pub mod functions;
mod gradient;
mod lanes;
#[cfg(feature = "mnist")]
pub mod mnist;
#[cfg(feature = "networks")]
pub mod nn;
mod problem;
mod rotation;
mod transform;

pub use builder::ProblemBuilder;
pub use constraint::{Constraint, ConstraintError};
pub use error::ProblemError;
pub use formula::{Formula, FormulaError, FormulaFault};
pub use function::{Dims, Function, Info, Parameter};
pub use functions::{all, constraints, find};
pub use problem::Problem;
pub use rotation::Rotation;
pub use transform::Shift;

/// The Rust examples of the READMEs and of the guide, as tests. `guide` links to files outside, which a package has as copies.
#[cfg(doctest)]
mod guide {
    #[doc = include_str!("../guide/README.md")]
    struct Readme;

    #[doc = include_str!("../guide/engine.md")]
    struct Engine;

    #[doc = include_str!("../README.md")]
    struct Problems;

    #[doc = include_str!("../guide/rust.md")]
    struct Rust;

    #[doc = include_str!("../guide/constraints.md")]
    struct Constraints;
}
