//! The mean-field law: the Fokker-Planck equation on a grid that follows it, and its distance to the particles.
//!
//! With `a = v_alpha(rho_t)` the law of the anisotropic dynamics solves
//!
//! `d_t rho = lambda sum_k d_k((v - a)_k rho) + sigma^2/2 sum_k d_kk((v - a)_k^2 rho)`,
//!
//! whose diffusion vanishes at a and whose solution ends in a Dirac. No fixed grid can follow that, so each coordinate is
//! seen from a moving frame `v = b + s y` with `b' = -lambda (b - a)`, which starts at the consensus point, and
//! `s' = -(lambda - sigma^2/2) s`, the mean-square scale. There the density g of y stays of order one for all time:
//!
//! `d_t g = sigma^2/2 sum_k d_k( y_k g + d_k((y - y_a)_k^2 g) )`, `y_a = (a - b)/s`.
//!
//! [`MeanField`] advances g by finite volumes and implicit Euler steps: no negative density and no lost mass, whatever the
//! step. [`Trajectory`] is a whole run of it, [`ParticleRun`] one of particles, compared with it over time.

mod compare;
mod consensus;
mod distance;
mod generator;
mod grid;
mod law;
mod patch;
mod settings;
mod solver;
mod trajectory;

pub use compare::{Distances, Fit, ParticleRun, mean_distances};
pub use distance::Distance;
pub use law::{Law, Marginal};
pub use settings::{LEAST_CELLS, MOST_STEPS, Motion, Settings, most_cells};
pub use solver::{MeanField, MeanFieldError};
pub use trajectory::{Record, Snapshot, Trajectory, frozen_v};
