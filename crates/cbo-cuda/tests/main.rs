//! All tests in one program.

mod bits;
mod host;
mod nvrtc;
mod swarms;
mod training;
