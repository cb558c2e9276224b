//! All tests in one program.

mod bits;
mod cuda_ranks;
mod host;
mod lent;
mod nvrtc;
mod other_methods;
mod swarms;
mod training;
