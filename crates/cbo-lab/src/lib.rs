//! The paper *Convergence of Anisotropic Consensus-Based Optimization in Mean-Field Law* as software: what its theorem says
//! about a setting, what its lemmas say about a run, the mean-field law itself, and its figures as numbers. No files, no printing,
//! no drawing.
//!
//! The constants of the theorem for the setting of the paper's Figure 1 in four dimensions:
//!
//! ```
//! use cbo_lab::setting;
//! use cbo_lab::theory::constants::{Accuracy, Kind, Question, Theorem};
//! use cbo_problems::Problem;
//!
//! let rastrigin = Problem::named("rastrigin", 4)?;
//! let (lambda, sigma) = (setting::LAMBDA, setting::SIGMA);
//! let question = Question { lambda, sigma, tau: 0.7, accuracy: Accuracy::Ratio(0.01), c: None, r0: Some(0.1) };
//! let theorem = Theorem::new(&rastrigin, &setting::initial_law(4), question)?;
//! let constants = theorem.constants(Kind::Paper)?.expect("2 lambda > sigma^2");
//! assert_eq!(format!("{:.1e}", constants.alpha_0.value), "5.1e7");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A certified run:
//!
//! ```
//! use cbo_lab::certificate::Certificate;
//! use cbo_lab::setting;
//! use cbo_problems::Problem;
//!
//! let sphere = Problem::named("sphere", 3)?;
//! let config = cbo::CboConfig { particles: 1000, ..setting::config(3) };
//! let mut certificate = Certificate::new(&sphere, &config, 100)?;
//! let report: cbo::RunReport<f64> = cbo::solve(&config, &sphere, &mut certificate)?;
//! certificate.finish(&report);
//! assert!(certificate.records().iter().all(|r| r.derivative <= r.lemma_bound));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod baselines;
pub mod certificate;
pub mod compare;
pub mod experiments;
pub mod figures;
pub mod fleet;
pub mod frozen;
pub mod meanfield;
pub mod setting;
pub mod statistics;
pub mod success;
pub mod theory;
pub mod training;
