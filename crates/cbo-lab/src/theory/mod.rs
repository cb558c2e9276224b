//! What the theorem says: its assumptions, its constants, its advice.

pub mod advice;
pub mod assumptions;
pub mod constants;
mod error;
mod estimate;
pub mod evolution;
pub mod landscape;
pub mod laplace;
pub mod law;
pub mod mass;
pub mod mollifier;
mod question;
mod search;
mod special;
pub mod stability;
mod words;

pub use assumptions::{Assumptions, Basis};
pub use error::TheoryError;
