//! What a launch of `step.cuh` is told.

use super::OnDevice;
use crate::machine::{Fault, Memory, bytes_of};
use cbo::Scalar;
use cbo::device::{Move, remembers};
use cbo::noise::{Noise, Stream};
use std::iter;

/// What a launch does.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Work {
    pub evaluates: bool,
    /// The alpha of the weights, if it is known.
    pub alpha: Option<f64>,
    /// Whether the centre is the one that the launch before has left on the device, and the move is kicked as that has found.
    pub follows: bool,
    /// Whether the launch before has left the centre of the move, with which the consensus point is compared.
    pub compares: bool,
}

/// Where a launch finds particles, and where it leaves them and its result.
#[derive(Clone, Copy, Debug)]
pub(super) struct Route {
    pub from: u64,
    pub to: u64,
    pub energies: u64,
    pub result: u64,
    pub launch: u64,
    /// How many there are, or are chosen.
    pub particles: usize,
}

/// The arguments of a launch as `Args` in `step.cuh`, but for what ranks and some methods need, the amplitudes and the centre, which follow them.
#[repr(C)]
struct Head {
    memory: [u64; 11],
    particles: u64,
    launch: u64,
    alpha: f64,
    kick_below: f64,
    key: [u32; 2],
    diffusion: [u32; 2],
    kick_noise: [u32; 2],
    moves: u32,
    kicks: u32,
    vanishes: u32,
    evaluates: u32,
    weighs: u32,
    extents: u32,
    follows: u32,
    padding: u32,
    arrived: u64,
}

impl Head {
    fn bytes(&self) -> &[u8] {
        // SAFETY: plain numbers without padding: 64-bit ones, then an even count of 32-bit ones, and one more of 64 bits.
        unsafe { std::slice::from_raw_parts(std::ptr::from_ref(self).cast::<u8>(), size_of::<Self>()) }
    }
}

impl<T: Scalar> OnDevice<T> {
    /// Drift and noise towards what the particles remember, if they are drawn there.
    fn pull_of(&self, decided: &Move) -> Option<(f64, f64)> {
        remembers(self.plan.config()).filter(|how| how.is_pulled).map(|_| decided.pull.unwrap_or_default())
    }

    /// Writes what ranks and the methods `hopping` and `memory` need besides.
    fn write_more(&self, decided: &Move, bytes: &mut Vec<u8>) {
        let mut write = |word: u64| bytes.extend_from_slice(&word.to_ne_bytes());
        if self.shape.spread {
            write(self.first as u64 | (self.grain as u64) << 32);
        }
        if let Some(hops) = &self.hops {
            write(hops.widths.address());
            hops.given.iter().for_each(|given| write(given.address()));
        }
        if let Some(remembered) = self.remembered.as_ref().filter(|_| self.pull_of(decided).is_some()) {
            let [_, [low, high]] = Noise::new(self.plan.config().seed, Stream::Memory, decided.step).parts();
            write(remembered.points.address());
            write(u64::from(low) | u64::from(high) << 32);
        }
    }

    /// Writes the arguments of a launch.
    pub(super) fn write_args(
        &self,
        decided: Option<&Move>,
        work: Work,
        route: Route,
        bytes: &mut Vec<u8>,
    ) -> Result<(), Fault> {
        let config = self.plan.config();
        let nothing = Move::default();
        let (moves, decided) = (decided.is_some(), decided.unwrap_or(&nothing));
        // Coordinates too near to zero are zero.
        let near = |x: &f64| if x.abs() < T::TINY.to_f64() { T::default() } else { T::from_f64(*x) };
        let centre = decided.centre.iter().map(near);
        let is_far = self.shape.centre < self.shape.dim;
        if moves && is_far && !work.follows {
            self.far_centre.upload(&centre.clone().collect::<Vec<T>>())?;
        }
        let far_centre =
            if work.follows { self.heading.address() + 8 * self.shape.dim as u64 } else { self.far_centre.address() };
        let [key, diffusion] = Noise::new(config.seed, Stream::Diffusion, decided.step).parts();
        let [_, kick_noise] = Noise::new(config.seed, Stream::Kick, decided.step).parts();
        let longest = config.truncation().unwrap_or(f64::INFINITY);
        let head = Head {
            memory: [
                route.from,
                route.to,
                route.energies,
                self.partials.address(),
                route.result,
                self.low.address(),
                self.high.address(),
                far_centre,
                self.heading.address(),
                self.frozen.as_ref().map_or(0, Memory::address),
                self.batches
                    .as_ref()
                    .filter(|_| work.evaluates || work.alpha.is_some())
                    .map_or(0, |b| b.chosen.address()),
            ],
            particles: route.particles as u64,
            launch: route.launch,
            alpha: work.alpha.unwrap_or(0.0),
            kick_below: config.kick.filter(|_| work.compares).unwrap_or(0.0),
            key,
            diffusion,
            kick_noise,
            moves: moves.into(),
            kicks: decided.kick.is_some().into(),
            vanishes: centre.clone().any(|x| x == T::default()).into(),
            evaluates: work.evaluates.into(),
            weighs: work.alpha.is_some().into(),
            extents: self.extents.into(),
            follows: work.follows.into(),
            padding: 0,
            arrived: self.arrived.address(),
        };
        bytes.clear();
        bytes.extend_from_slice(head.bytes());
        self.write_more(decided, bytes);
        let amplitudes = [decided.keep, decided.noise, decided.kick.unwrap_or(0.0), longest];
        bytes.extend_from_slice(bytes_of(&amplitudes.map(T::from_f64)));
        if let Some((drift, noise)) = self.pull_of(decided) {
            bytes.extend_from_slice(bytes_of(&[drift, noise].map(T::from_f64)));
        }
        for x in centre.chain(iter::repeat(T::default())).take(self.shape.centre) {
            bytes.extend_from_slice(bytes_of(&[x]));
        }
        // The driver reads the whole of the struct, whose end is padded.
        bytes.resize(bytes.len().next_multiple_of(8), 0);
        Ok(())
    }
}
