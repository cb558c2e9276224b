//! The engine's kernels and its backend, compiled here once for each precision and instruction set.
//!
//! Everything in this crate is generic over the precision, so a crate that calls [`solve`](crate::solve) would compile all of it again.
//! These functions are not generic: it calls them instead.

use super::tiles::{Draw, Kick, Repeat, Scratch};
use super::{Backend, Cpu, Seat, Share, Spread};
use crate::bounds::Walls;
use crate::config::Plan;
use crate::ensemble::Moments;
use crate::method::{Advance, Motion};
use crate::noise::Noise;
use crate::objective::Grouping;
use crate::report::SolveError;
use crate::simd;
use crate::weights::{Doubled, Moment, Weighed, Weights};

/// The kernels of one precision.
#[doc(hidden)]
pub trait Kernels: Sized {
    /// The particles of a run at time 0, or those of a rank, on this machine's processor.
    fn on_cpu(plan: &Plan, grouping: Grouping, seat: Option<&Seat>) -> Result<Box<dyn Share<Self>>, SolveError>;
    /// A run whose particles are spread over ranks, of which this one has its share.
    fn over_ranks(plan: &Plan, seat: Seat, share: Box<dyn Share<Self>>) -> Box<dyn Backend<Self>>;
    /// Moves a block of particles.
    fn advance(block: Advance<'_, '_, Self>);
    /// Repeats the first so many numbers until the end.
    fn repeat(numbers: &mut [Self], length: usize);
    /// Gives them plain noise and nothing else.
    fn kick(motion: &Motion<'_, Self>, amplitude: Self, first: usize, rows: &mut [Self], scratch: &mut Scratch<Self>);
    /// The normals of a tile, rows one after the other.
    fn draw(noise: Noise, first: usize, rows: usize, dim: usize, normals: &mut [Self]);
    /// The normals of a tile, in rows of whole calls of the generator.
    fn normals(noise: Noise, first: u32, rows: usize, dim: usize, out: &mut [Self]);
    /// Brings the rows inside.
    fn confine(walls: &Walls<Self>, rows: &mut [Self]);
    /// The numbers in double precision; the least and its place, if all are finite.
    fn doubled(numbers: &[Self], doubles: &mut [f64]) -> Option<(f64, usize)>;
    /// The weights, their sum and that of their squares; moment = sum of weight times row, where it was zero.
    fn weigh(
        alpha: f64,
        least: f64,
        energies: &[f64],
        weights: &mut [f64],
        rows: &[Self],
        moment: &mut [f64],
    ) -> (f64, f64);
    /// moment += sum of weight times row.
    fn moment(rows: &[Self], weights: &[f64], moment: &mut [f64]);
    /// sums += rows - origin, and squares of that.
    fn moments(rows: &[Self], origin: &[f64], sums: &mut [f64], squares: &mut [f64]);
}

macro_rules! compiled {
    ($($t:ident)*) => {$(
        impl Kernels for $t {
            #[inline(never)]
            fn on_cpu(plan: &Plan, grouping: Grouping, seat: Option<&Seat>) -> Result<Box<dyn Share<$t>>, SolveError> {
                Ok(Box::new(Cpu::begin(plan, grouping, seat.map(|seat| seat.team.clone()))?))
            }
            #[inline(never)]
            fn over_ranks(plan: &Plan, seat: Seat, share: Box<dyn Share<$t>>) -> Box<dyn Backend<$t>> {
                Box::new(Spread::new(plan, seat, share))
            }
            #[inline(never)]
            fn advance(block: Advance<'_, '_, $t>) {
                block.run();
            }
            #[inline(never)]
            fn repeat(numbers: &mut [$t], length: usize) {
                simd::run(Repeat { numbers, length });
            }
            #[inline(never)]
            fn kick(motion: &Motion<'_, $t>, amplitude: $t, first: usize, rows: &mut [$t], scratch: &mut Scratch<$t>) {
                simd::run(Kick { motion, amplitude, first, rows, scratch });
            }
            #[inline(never)]
            fn draw(noise: Noise, first: usize, rows: usize, dim: usize, normals: &mut [$t]) {
                simd::run(Draw { noise, first: first as u32, rows, dim, normals });
            }
            #[inline(never)]
            fn normals(noise: Noise, first: u32, rows: usize, dim: usize, out: &mut [$t]) {
                simd::run(noise.normals(first, rows, dim, out));
            }
            #[inline(never)]
            fn confine(walls: &Walls<$t>, rows: &mut [$t]) {
                simd::run(walls.confine(rows));
            }
            #[inline(never)]
            fn doubled(numbers: &[$t], doubles: &mut [f64]) -> Option<(f64, usize)> {
                simd::run(Doubled { numbers, doubles })
            }
            #[inline(never)]
            fn weigh(
                alpha: f64,
                least: f64,
                energies: &[f64],
                weights: &mut [f64],
                rows: &[$t],
                moment: &mut [f64],
            ) -> (f64, f64) {
                simd::run(Weighed { weights: Weights { alpha, least, energies, weights }, rows, moment })
            }
            #[inline(never)]
            fn moment(rows: &[$t], weights: &[f64], moment: &mut [f64]) {
                simd::run(Moment { rows, weights, moment });
            }
            #[inline(never)]
            fn moments(rows: &[$t], origin: &[f64], sums: &mut [f64], squares: &mut [f64]) {
                simd::run(Moments { rows, origin, sums, squares });
            }
        }
    )*};
}

compiled!(f32 f64);
