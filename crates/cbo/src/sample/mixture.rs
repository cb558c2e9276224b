//! Normal laws around many points, which share a covariance: what points are drawn from.

use super::equal_weights;
use crate::backend::Crew;
use crate::config::Plan;
use crate::matrix::linear::{multiply_lower, solve_lower};
use crate::matrix::symmetric::add_squares;
use crate::method::Sampling;
use crate::method::sampling::{Weighted, amplitudes, root};
use crate::noise::{Noise, scratch_len};
use crate::pairs::{Crowd, Similarity, whole};
use crate::report::{RunReport, SolveError};
use crate::simd::Scalar;
use std::convert::Infallible;

/// Particles from whose laws points are drawn, at most: the density of a point is a sum over all of them.
const MOST_COMPONENTS: usize = 2048;

/// Draws around which others are drawn, at most.
const CENTRES: usize = 512;

/// One in so many of the centres is a neighbour: hills that have more of the mass than this keep to themselves.
const NEIGHBOURS: usize = 8;

/// Points that are weighed together.
const TOGETHER: usize = 64;

/// Laws with means `centre + L y`, one for each y, and the covariance `width^2 L L'`, all equally likely.
#[derive(Clone, Debug)]
pub(super) struct Mixture {
    centre: Vec<f64>,
    /// L, by columns.
    root: Vec<f64>,
    /// The y of the means, row by row.
    means: Vec<f64>,
    width: f64,
}

impl Mixture {
    /// The laws of the next positions of a swarm.
    pub fn of_swarm<T: Scalar>(plan: &Plan, run: &RunReport<T>, crew: &Crew<T>) -> Result<Self, SolveError> {
        let (config, dim, ensemble) = (plan.config(), plan.dim(), run.ensemble());
        let centre: Vec<f64> = run.consensus().x.iter().map(|x| x.to_f64()).collect();
        let method = Sampling { law: true };
        let (mut matrix, mut room) = (vec![0.0; dim * dim], vec![0.0; method.room(ensemble.len(), dim)]);
        let swarm = Weighted { rows: ensemble.rows(), energies: run.energies(), alpha: run.alpha() };
        swarm.covariance(&centre, crew, &mut room, &mut matrix);
        root(dim, &mut matrix, &mut room);
        let (keep, noise) = amplitudes(config.dt);
        let used = ensemble.rows().iter().take(MOST_COMPONENTS);
        let offset = |(x, c): (&T, &f64)| keep * (x.to_f64() - c);
        let means = used.flat_map(|row| row.iter().zip(&centre).map(offset)).collect();
        let width = noise * method.inflation(run.alpha());
        Self::new(centre, matrix, means, width).ok_or(SolveError::Degenerate { step: run.steps() })
    }

    /// The laws around weighted points: as wide as the distances of neighbours, so that hills far apart do not make them wider. `start` in
    /// (0, 1) chooses the points, at most `most` of them. `None` if these are too few to vary in all directions.
    pub fn around<T: Scalar>(points: &[T], weights: &[f64], most: usize, start: f64) -> Option<Self> {
        let dim = points.len() / weights.len();
        let centres = CENTRES.min(most);
        // Each chosen point once, with the times it was chosen.
        let mut chosen: Vec<(usize, f64)> = Vec::new();
        for point in equal_weights(weights, centres, start) {
            match chosen.last_mut() {
                Some((last, times)) if *last == point => *times += 1.0,
                _ => chosen.push((point, 1.0)),
            }
        }
        if chosen.len() < 2 * (dim + 1) {
            return None;
        }
        let rows: Vec<f64> =
            chosen.iter().flat_map(|(i, _)| &points[i * dim..(i + 1) * dim]).map(|x| x.to_f64()).collect();
        let times: Vec<f64> = chosen.iter().map(|(_, times)| times / centres as f64).collect();
        let mut centre = vec![0.0; dim];
        for (row, share) in rows.chunks_exact(dim).zip(&times) {
            centre.iter_mut().zip(row).for_each(|(c, x)| *c += share * x);
        }
        let offsets: Vec<f64> =
            rows.chunks_exact(dim).flat_map(|row| row.iter().zip(&centre).map(|(x, c)| x - c)).collect();
        // What is near is decided in the units of the whole.
        let (mut matrix, mut room) = (vec![0.0; dim * dim], vec![0.0; dim]);
        add_squares(dim, &mut matrix, &offsets, &times);
        root(dim, &mut matrix, &mut room);
        let whole = Self::new(centre, matrix, offsets.clone(), 1.0)?;
        let mut matrix = vec![0.0; dim * dim];
        for (i, share) in times.iter().enumerate() {
            let (near, offsets) = (neighbours(dim, &whole.means, &times, i), &offsets);
            let mass: f64 = near.iter().map(|j| times[*j]).sum();
            let shares: Vec<f64> = near.iter().map(|j| share * times[*j] / mass).collect();
            let pairs: Vec<f64> =
                near.iter().flat_map(|j| (0..dim).map(move |k| offsets[j * dim + k] - offsets[i * dim + k])).collect();
            add_squares(dim, &mut matrix, &pairs, &shares);
        }
        root(dim, &mut matrix, &mut room);
        let all = chosen.iter().zip(offsets.chunks_exact(dim));
        let means = all.flat_map(|((_, times), row)| row.repeat(*times as usize)).collect();
        Self::new(whole.centre, matrix, means, 1.0)
    }

    /// `means` are those of the laws, relative to the centre. `None` if the covariance is not that of a law in all directions.
    fn new(centre: Vec<f64>, root: Vec<f64>, mut means: Vec<f64>, width: f64) -> Option<Self> {
        let dim = centre.len();
        if (0..dim).any(|k| root[k * dim + k] <= 0.0) {
            return None;
        }
        solve_lower(dim, &root, &mut means);
        Some(Self { centre, root, means, width })
    }

    /// How many of the laws this many points are drawn from.
    fn components(&self, count: usize) -> usize {
        (self.means.len() / self.centre.len()).min(count)
    }

    /// Appends this many points, from the law of each in turn.
    pub fn draw<T: Scalar>(&self, noise: Noise, count: usize, points: &mut Vec<T>) {
        let (dim, components) = (self.centre.len(), self.components(count));
        let mut normals = vec![0.0; scratch_len(1, dim)];
        let (mut place, mut moved) = (vec![0.0; dim], vec![0.0; dim]);
        for point in 0..count {
            noise.fill_normals(point as u32, 1, dim, &mut normals);
            let mean = &self.means[point % components * dim..][..dim];
            for ((y, mean), xi) in place.iter_mut().zip(mean).zip(&normals) {
                *y = mean + self.width * xi;
            }
            multiply_lower(dim, &self.root, &place, &mut moved);
            points.extend(moved.iter().zip(&self.centre).map(|(x, c)| T::from_f64(c + x)));
        }
    }

    /// The logarithms of the density, at each point, of the law from which `count` points are drawn.
    pub fn log_densities<T: Scalar>(&self, count: usize, points: &[T], crew: &Crew<T>) -> Vec<f64> {
        let (dim, components) = (self.centre.len(), self.components(count));
        let size = whole(components);
        let (mut heights, mut columns) = (vec![f64::NEG_INFINITY; size], vec![0.0; dim * size]);
        for (i, mean) in self.means.chunks_exact(dim).take(components).enumerate() {
            let times = count / components + usize::from(i < count % components);
            heights[i] = libm::log(times as f64 / count as f64);
            mean.iter().enumerate().for_each(|(k, y)| columns[k * size + i] = *y);
        }
        let factors = vec![1.0 / (self.width * self.width); dim];
        let crowd = Crowd { columns: &columns, heights: &heights, factors: &factors, similarity: Similarity::Gaussian };
        let volume: f64 = (0..dim).map(|k| libm::log(self.root[k * dim + k])).sum();
        let norm = volume + dim as f64 * libm::log(self.width * std::f64::consts::TAU.sqrt());
        let offset = |(x, c): (&T, &f64)| x.to_f64() - c;
        let mut places: Vec<f64> =
            points.chunks_exact(dim).flat_map(|x| x.iter().zip(&self.centre).map(offset)).collect();
        let mut logs = vec![0.0; points.len() / dim];
        let done: Result<(), Infallible> =
            crew.pieces(true, (&mut logs, TOGETHER), (&mut places, TOGETHER * dim), |_, logs, places| {
                solve_lower(dim, &self.root, places);
                for (log, place) in logs.iter_mut().zip(places.chunks_exact(dim)) {
                    let seen = crowd.seen_from(place, &mut []);
                    *log = seen.shift + libm::log(seen.mass) - norm;
                }
                Ok(())
            });
        let Ok(()) = done;
        logs
    }
}

/// The points nearest to point `i` among weighted ones in `dim` dimensions, it aside: of an eighth of the mass, and enough to vary in all
/// directions.
fn neighbours(dim: usize, places: &[f64], weights: &[f64], i: usize) -> Vec<usize> {
    let here = &places[i * dim..(i + 1) * dim];
    let square = |row: &[f64]| row.iter().zip(here).map(|(x, y)| (x - y) * (x - y)).sum::<f64>();
    let mut others: Vec<(f64, usize)> =
        places.chunks_exact(dim).map(square).zip(0..).filter(|(_, j)| *j != i).collect();
    others.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let (mut mass, mut count) = (0.0, 0);
    while count < others.len() && (mass < 1.0 / NEIGHBOURS as f64 || count < dim + 1) {
        mass += weights[others[count].1];
        count += 1;
    }
    others[..count].iter().map(|(_, j)| *j).collect()
}
