//! The runs that are in the lanes now, and their steps.

use super::kernels::{DOUBLES, Least, Shift, Step, Sums};
use super::lane::{Lane, Run, Seen};
use super::{Abreast, Queue, lanes};
use crate::backend::block_rows;
use crate::bounds::Walls;
use crate::buffer::Buffer;
use crate::consensus::Partial;
use crate::device::{Errand, Made};
use crate::ensemble::Ensemble;
use crate::noise::{Noise, Stream};
use crate::ranks::merge_range;
use crate::report::SolveError;
use crate::simd::{Scalar, run};

/// No vector has more lanes.
const MOST_LANES: usize = 16;

/// Steps between two looks at whether anybody waits for them.
const SOME_STEPS: usize = 100;

/// Runs of one function with as many particles in the same box: a run in each lane until none is left.
pub(super) struct Group<'a, T> {
    runs: &'a [Errand<'a, T>],
    /// Where the next run comes from.
    queue: &'a Queue,
    logged: bool,
    function: &'a dyn Abreast<T>,
    walls: Option<Walls<T>>,
    dim: usize,
    /// The runs in their lanes.
    lanes: Vec<Option<(Run<T>, &'a Errand<'a, T>)>>,
    /// Particles that are not yet in their lane, because the others move before.
    fresh: Vec<(usize, Ensemble<T>)>,
    positions: Buffer<T>,
    /// What is taken from them and added to them, and the points that this gives, if the function wants others.
    moved: Option<[Buffer<T>; 3]>,
    energies: Buffer<T>,
    doubles: Buffer<f64>,
    weights: Buffer<f64>,
    /// Of a block: a mass for each lane, and a moment.
    masses: [f64; MOST_LANES],
    moment: Buffer<f64>,
    /// The sums of all blocks, one set for each lane, where there are several.
    sums: Vec<Vec<Partial>>,
    consensus: Buffer<f64>,
    /// The move of each lane.
    centres: Buffer<T>,
    keep: [T; MOST_LANES],
    noise: [T; MOST_LANES],
    tiny: [T; MOST_LANES],
    noises: [Noise; MOST_LANES],
}

impl<'a, T: Scalar> Group<'a, T> {
    /// Takes a run for each lane from the queue; `None` if there is none left.
    pub fn begin(runs: &'a [Errand<'a, T>], logged: bool, queue: &'a Queue) -> Option<Self> {
        let Errand { plan, objective } = &runs[*queue.places.first()?];
        let (config, dim, lanes) = (plan.config(), plan.dim(), lanes::<T>());
        let (all, function) = (config.particles * lanes, objective.abreast()?);
        let first = queue.take()?;
        let blocks = config.particles.div_ceil(block_rows(dim));
        let row = || Buffer::new(dim * lanes);
        let mut group = Self {
            runs,
            queue,
            logged,
            function,
            walls: Walls::new(config.bounds.as_deref(), config.bound_handling),
            dim,
            lanes: Vec::new(),
            fresh: Vec::new(),
            positions: Buffer::new(all * dim),
            moved: function.moved().map(|_| [row(), row(), Buffer::new(all * dim)]),
            energies: Buffer::new(all),
            doubles: Buffer::new(all),
            weights: Buffer::new(config.particles.min(block_rows(dim)) * DOUBLES),
            masses: [0.0; MOST_LANES],
            moment: Buffer::new(dim * DOUBLES),
            sums: vec![vec![Partial::empty(dim); blocks]; if blocks > 1 { lanes } else { 0 }],
            consensus: Buffer::new(dim * lanes),
            centres: row(),
            keep: [T::default(); MOST_LANES],
            noise: [T::default(); MOST_LANES],
            tiny: [T::default(); MOST_LANES],
            noises: [Noise::new(0, Stream::Diffusion, 0); MOST_LANES],
        };
        group.lanes.resize_with(lanes, || None);
        group.fill(0, Some(first));
        for lane in 1..lanes {
            group.fill(lane, group.queue.take());
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
            let function = errand.objective.abreast().and_then(Abreast::moved);
            for (to, from) in self.moved.iter_mut().flatten().zip(function.iter().flatten()) {
                to.iter_mut().skip(lane).step_by(lanes::<T>()).zip(*from).for_each(|(to, x)| *to = *x);
            }
            self.fresh.push((lane, particles));
            (run, errand)
        });
        if place.is_none() {
            // Everything there is zero and stays so.
            (self.keep[lane], self.noise[lane], self.tiny[lane]) = Default::default();
            for numbers in [&mut self.centres, &mut self.positions] {
                numbers.iter_mut().skip(lane).step_by(lanes::<T>()).for_each(|x| *x = T::default());
            }
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
        self.evaluate();
        let seen = self.weigh();
        for (lane, seen) in seen.iter().enumerate().take(count) {
            self.decide(lane, seen, made)?;
        }
        Ok(())
    }

    /// The energies of all particles, block by block.
    fn evaluate(&mut self) {
        let points = match &mut self.moved {
            Some([less, plus, moved]) => {
                run(Shift { from: &self.positions, less, plus, to: moved });
                &moved[..]
            }
            None => &self.positions[..],
        };
        let (row, block) = (self.dim * lanes::<T>(), block_rows(self.dim));
        let blocks = points.chunks(block * row).zip(self.energies.chunks_mut(block * lanes::<T>()));
        for (points, energies) in blocks {
            let call = self.function.points_per_call().unwrap_or(block);
            for (points, energies) in points.chunks(call * row).zip(energies.chunks_mut(call * lanes::<T>())) {
                self.function.energies(points, energies);
            }
        }
    }

    /// The consensus points of all lanes, and what was seen of their energies.
    fn weigh(&mut self) -> [Seen; MOST_LANES] {
        let (count, dim, particles) = (lanes::<T>(), self.dim, self.energies.len() / lanes::<T>());
        let (block, mut all_seen) = (block_rows(dim), [Seen::NOTHING; MOST_LANES]);
        let only = particles <= block;
        let mut minus_alpha = [0.0; MOST_LANES];
        for (minus_alpha, lane) in minus_alpha.iter_mut().zip(&self.lanes) {
            *minus_alpha = lane.as_ref().map_or(0.0, |(run, _)| -run.alpha);
        }
        for (number, first) in (0..particles).step_by(block).enumerate() {
            let rows = first..particles.min(first + block);
            let (energies, positions) = (
                &self.energies[rows.start * count..rows.end * count],
                &self.positions[rows.start * dim * count..rows.end * dim * count],
            );
            for (half, lane) in (0..count).step_by(DOUBLES).enumerate() {
                let place = half * particles * DOUBLES;
                let doubles = &mut self.doubles[place + rows.start * DOUBLES..place + rows.end * DOUBLES];
                let mut least = [f64::INFINITY; DOUBLES];
                let finite = run(Least { energies, lanes: count, first: lane, doubles, least: &mut least });
                for (at, least) in least.iter_mut().enumerate() {
                    let seen = match finite {
                        true => Seen { least: *least, ..Seen::NOTHING },
                        false => Seen::of(Lane { numbers: doubles, lanes: DOUBLES, lane: at, dim: 1 }),
                    };
                    *least = seen.least;
                    all_seen[lane + at].add(&seen);
                }
                let consensus = &mut self.consensus[half * dim * DOUBLES..][..dim * DOUBLES];
                let moment = if only { consensus } else { &mut self.moment[..] };
                run(Sums {
                    only,
                    energies: doubles,
                    least: &least,
                    minus_alpha: &minus_alpha[lane..],
                    positions,
                    lanes: count,
                    first: lane,
                    weights: &mut self.weights[..rows.len() * DOUBLES],
                    mass: &mut self.masses[lane..],
                    moment,
                });
                for (at, sums) in self.sums.iter_mut().skip(lane).take(DOUBLES).enumerate() {
                    let sum = &mut sums[number];
                    (sum.least, sum.shift, sum.mass) = (least[at], least[at], self.masses[lane + at]);
                    let column = self.moment.iter().skip(at).step_by(DOUBLES);
                    sum.moment.iter_mut().zip(column).for_each(|(to, x)| *to = *x);
                }
            }
        }
        for (lane, sums) in self.sums.iter_mut().enumerate() {
            merge_range(-minus_alpha[lane], 0..sums.len(), sums.len(), sums);
            let half = &mut self.consensus[lane / DOUBLES * dim * DOUBLES..][..dim * DOUBLES];
            let column = half.iter_mut().skip(lane % DOUBLES).step_by(DOUBLES);
            column.zip(&sums[0].moment).for_each(|(to, moment)| *to = moment / sums[0].mass);
        }
        all_seen
    }

    /// A lane of numbers in double precision, so many of each particle.
    fn doubles<'n>(numbers: &'n [f64], lane: usize, dim: usize) -> Lane<'n, f64> {
        let half = numbers.len() / (lanes::<T>() / DOUBLES);
        Lane { numbers: &numbers[lane / DOUBLES * half..][..half], lanes: DOUBLES, lane: lane % DOUBLES, dim }
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
            self.fill(lane, self.queue.take());
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
