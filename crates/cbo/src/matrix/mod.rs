//! Small dense matrices, for the methods and for the tuning-free solver.

pub(crate) mod cholesky;
pub(crate) mod linear;
pub(crate) mod quadratic;
pub(crate) mod symmetric;
