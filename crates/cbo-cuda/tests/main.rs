//! All tests in one program.

mod bits;
mod host;
mod lent;
mod nvrtc;
mod swarms;
mod training;
