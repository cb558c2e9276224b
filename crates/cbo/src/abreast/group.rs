//! The runs that are in the lanes now, and their steps.

use super::kernels::{Consensus, DOUBLES, Least, Step};
use super::lane::{Lane, Run, Seen};
use super::{Abreast, lanes};
use crate::bounds::Walls;
use crate::buffer::Buffer;
use crate::device::{Errand, Made};
use crate::ensemble::Ensemble;
use crate::noise::{Noise, Stream};
use crate::report::SolveError;
use crate::simd::{Scalar, run};

/// No vector has more lanes.
const MOST_LANES: usize = 16;

/// Steps between two looks at whether anybody waits for them.
const SOME_STEPS: usize = 100;

/// Runs of one function with as many particles in the same box: a run in each lane until none is left.
pub(super) struct Group<'a, T, Q> {
    runs: &'a [Errand<'a, T>],
    /// Where the next run comes from.
    queue: Q,
    logged: bool,
    function: &'a dyn Abreast<T>,
    walls: Option<Walls<T>>,
    dim: usize,
    /// The runs in their lanes.
    lanes: Vec<Option<(Run<T>, &'a Errand<'a, T>)>>,
    /// Particles that are not yet in their lane, because the others move before.
    fresh: Vec<(usize, Ensemble<T>)>,
    positions: Buffer<T>,
    energies: Buffer<T>,
    doubles: Buffer<f64>,
    weights: Buffer<f64>,
    consensus: Buffer<f64>,
    /// The move of each lane.
    centres: Buffer<T>,
    keep: [T; MOST_LANES],
    noise: [T; MOST_LANES],
    tiny: [T; MOST_LANES],
    noises: [Noise; MOST_LANES],
}

impl<'a, T: Scalar, Q: Fn() -> Option<usize>> Group<'a, T, Q> {
    /// Takes a run for each lane from the queue; `None` if there is none left.
    pub fn begin(runs: &'a [Errand<'a, T>], logged: bool, queue: Q) -> Option<Self> {
        let first = queue()?;
        let Errand { plan, objective } = &runs[first];
        let (config, dim, lanes) = (plan.config(), plan.dim(), lanes::<T>());
        let all = config.particles * lanes;
        let mut group = Self {
            runs,
            queue,
            logged,
            function: objective.abreast()?,
            walls: Walls::new(config.bounds.as_deref(), config.bound_handling),
            dim,
            lanes: Vec::new(),
            fresh: Vec::new(),
            positions: Buffer::new(all * dim),
            energies: Buffer::new(all),
            doubles: Buffer::new(all),
            weights: Buffer::new(config.particles * DOUBLES),
            consensus: Buffer::new(dim * lanes),
            centres: Buffer::new(dim * lanes),
            keep: [T::default(); MOST_LANES],
            noise: [T::default(); MOST_LANES],
            tiny: [T::default(); MOST_LANES],
            noises: [Noise::new(0, Stream::Diffusion, 0); MOST_LANES],
        };
        group.lanes.resize_with(lanes, || None);
        group.fill(0, Some(first));
        for lane in 1..lanes {
            group.fill(lane, (group.queue)());
        }
        Some(group)
    }

    /// Whether there are no runs left.
    pub fn is_done(&self) -> bool {
        self.lanes.iter().all(Option::is_none)
    }

    /// Takes some steps. Runs that ended go to `made`, with their places.
    pub fn some_steps(&mut self, made: &mut Vec<(usize, Made<T>)>) -> Result<(), SolveError> {
        for _ in 0..SOME_STEPS {
            self.step(made)?;
        }
        Ok(())
    }

    /// Begins a run in a lane, or leaves it empty.
    fn fill(&mut self, lane: usize, place: Option<usize>) {
        self.lanes[lane] = place.map(|place| {
            let errand = &self.runs[place];
            let config = errand.plan.config();
            let mut positions = Buffer::new(config.particles * self.dim);
            config.init.draw(config.seed, 0, self.dim, &mut positions);
            if let Some(walls) = &self.walls {
                T::confine(walls, &mut positions);
            }
            let particles = Ensemble::new(positions, self.dim);
            let run = Run::begin(place, errand, &particles, self.logged);
            self.fresh.push((lane, particles));
            (run, errand)
        });
        if place.is_none() {
            // Everything there becomes zero and stays so.
            (self.keep[lane], self.noise[lane], self.tiny[lane]) = Default::default();
            self.centres.iter_mut().skip(lane).step_by(lanes::<T>()).for_each(|x| *x = T::default());
        }
    }

    /// One step of all lanes: the moves that the step before decided, the energies, and the consensus points.
    fn step(&mut self, made: &mut Vec<(usize, Made<T>)>) -> Result<(), SolveError> {
        let count = lanes::<T>();
        run(Step {
            noises: &self.noises[..count],
            keep: &self.keep[..count],
            noise: &self.noise[..count],
            tiny: &self.tiny[..count],
            centres: &self.centres,
            walls: self.walls.as_ref(),
            positions: &mut self.positions,
        });
        for (lane, particles) in self.fresh.drain(..) {
            let there = self.positions.iter_mut().skip(lane).step_by(count);
            there.zip(particles.rows().as_slice()).for_each(|(to, x)| *to = *x);
        }
        self.function.energies(&self.positions, &mut self.energies);

        let (mut least, mut minus_alpha) = ([f64::INFINITY; MOST_LANES], [0.0; MOST_LANES]);
        let (particles, mut finite) = (self.weights.len(), true);
        for (half, first) in (0..count).step_by(DOUBLES).enumerate() {
            let (energies, least) = (&*self.energies, &mut least[first..]);
            let doubles = &mut self.doubles[half * particles..][..particles];
            finite &= run(Least { energies, lanes: count, first, doubles, least });
        }
        let mut seen = least.map(|least| Seen { least, failed: 0, infeasible: 0 });
        if !finite {
            seen =
                std::array::from_fn(|lane| if lane < count { Seen::of(self.energies_of(lane)) } else { Seen::NOTHING });
            least = std::array::from_fn(|lane| seen[lane].least);
        }
        for (minus_alpha, lane) in minus_alpha.iter_mut().zip(&self.lanes) {
            *minus_alpha = lane.as_ref().map_or(0.0, |(run, _)| -run.alpha);
        }
        for (half, first) in (0..count).step_by(DOUBLES).enumerate() {
            run(Consensus {
                energies: &self.doubles[half * particles..][..particles],
                least: &least[first..],
                minus_alpha: &minus_alpha[first..],
                positions: &self.positions,
                lanes: count,
                first,
                weights: &mut self.weights,
                consensus: &mut self.consensus[half * self.dim * DOUBLES..][..self.dim * DOUBLES],
            });
        }
        for lane in 0..count {
            self.decide(lane, &seen[lane], made)?;
        }
        Ok(())
    }

    /// A lane of numbers in double precision, so many of each particle.
    fn doubles<'n>(numbers: &'n [f64], lane: usize, dim: usize) -> Lane<'n, f64> {
        let half = numbers.len() / (lanes::<T>() / DOUBLES);
        Lane { numbers: &numbers[lane / DOUBLES * half..][..half], lanes: DOUBLES, lane: lane % DOUBLES, dim }
    }

    fn energies_of(&self, lane: usize) -> Lane<'_, f64> {
        Self::doubles(&self.doubles, lane, 1)
    }

    /// Decides the move of a lane, or ends its run and begins another.
    fn decide(&mut self, lane: usize, seen: &Seen, made: &mut Vec<(usize, Made<T>)>) -> Result<(), SolveError> {
        let Some((run, errand)) = &mut self.lanes[lane] else { return Ok(()) };
        let (lanes, dim) = (lanes::<T>(), self.dim);
        let positions = Lane { numbers: &self.positions, lanes, lane, dim };
        let consensus = Self::doubles(&self.consensus, lane, dim);
        if let Some(end) = run.agree(errand, seen, Self::doubles(&self.doubles, lane, 1), positions) {
            if let Some((run, errand)) = self.lanes[lane].take() {
                made.push(run.made(errand, end, consensus)?);
            }
            self.fill(lane, (self.queue)());
            return Ok(());
        }
        (self.keep[lane], self.noise[lane], self.tiny[lane]) = (run.keep, run.noise, T::default());
        self.noises[lane] = run.diffusion(errand);
        run.go_on(errand);
        for (to, x) in self.centres.iter_mut().skip(lane).step_by(lanes).zip(consensus.particle(0)) {
            *to = if x.abs() < T::TINY.to_f64() { T::default() } else { T::from_f64(x) };
            if *to == T::default() {
                self.tiny[lane] = T::TINY;
            }
        }
        Ok(())
    }
}
