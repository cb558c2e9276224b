//! The landscape of a function in one or two dimensions: its values on a grid, scaled to be seen.

use cbo_problems::Problem;
use rayon::prelude::*;

/// Points of a curve.
const CURVE: usize = 801;

/// Cells of a map along each side: about two pixels each.
const MAP: usize = 400;

/// Samples along each side of a cell. They are averaged, so that ripples finer than a cell fade instead of making patterns
/// that are not there.
const SAMPLES: usize = 3;

/// Cells that the lines of equal height are smoothed over, to each side, three times: finer ripples have no room for lines.
const SMOOTHED: usize = 4;

/// Cells from one point of the lines' grid to the next.
const STRIDE: usize = 4;

/// Powers of a scale: with others, nearly all colours would be spent on nearly nothing.
const LEAST_POWER: f64 = 0.05;
const MOST_POWER: f64 = 3.0;

/// Heights between numbers of a bar, at least.
const ROOM: f64 = 0.05;

/// Values on a grid over the view.
#[derive(Clone, Debug)]
pub struct Landscape {
    /// The part of space that is shown, one or two coordinates.
    pub view: Vec<(f64, f64)>,
    /// What is shown of the function.
    pub relief: Relief,
}

/// A function to look at.
#[derive(Clone, Debug)]
pub enum Relief {
    /// Of one coordinate: points of its graph.
    Curve(Vec<(f64, f64)>),
    /// Of two.
    Map(Map),
}

/// Heights of a function of two coordinates.
#[derive(Clone, Debug)]
pub struct Map {
    /// Mean heights of cells between 0 and 1, one row per value of the second coordinate.
    pub rows: Vec<Vec<f64>>,
    /// How energies become heights.
    pub scale: Scale,
    /// For lines of equal height.
    pub smooth: Smooth,
}

/// Smoothed heights on a coarser grid.
#[derive(Clone, Debug)]
pub struct Smooth {
    /// Positions along a side, from 0 to 1.
    pub places: Vec<f64>,
    /// Heights there, one row per value of the second coordinate.
    pub rows: Vec<Vec<f64>>,
}

/// Energies above the minimum as heights from 0 to 1, by a power that puts half of the picture below the middle: it shows
/// valleys as well as walls.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    /// The energy of height 0.
    minimum: f64,
    /// The energy above the minimum of height 1.
    highest: f64,
    /// The power.
    power: f64,
}

impl Scale {
    /// The scale of these energies.
    fn of(energies: impl Iterator<Item = f64>, minimum: f64) -> Self {
        let mut sorted: Vec<f64> = energies.map(|e| (e - minimum).max(0.0)).filter(|e| e.is_finite()).collect();
        sorted.sort_by(f64::total_cmp);
        let highest = sorted.last().copied().unwrap_or(1.0).max(f64::MIN_POSITIVE);
        let median = sorted.get(sorted.len() / 2).copied().unwrap_or(0.5);
        let power = 0.5f64.ln() / (median / highest).ln();
        let power = if power.is_nan() { 1.0 } else { power.clamp(LEAST_POWER, MOST_POWER) };
        Self { minimum, highest, power }
    }

    /// The height of what is so far above the minimum.
    pub fn height(&self, above: f64) -> f64 {
        let height = (above.max(0.0) / self.highest).powf(self.power);
        // Infeasible points are as high as the highest wall.
        if above.is_finite() && height.is_finite() { height.min(1.0) } else { 1.0 }
    }

    /// Round values above the minimum that a reader can tell apart, rising: decades where the scale shows many of them,
    /// otherwise even steps.
    pub fn ticks(&self) -> Vec<f64> {
        let decades = (-300..300).map(|k| format!("1e{k}").parse().unwrap_or(1.0)).filter(|v| *v <= self.highest);
        let decades = self.apart(decades);
        if decades.len() > 4 {
            return decades;
        }
        let step = round_step(self.highest / 5.0);
        self.apart((1..=10).map(|k| f64::from(k) * step).filter(|v| *v <= self.highest))
    }

    /// 0, and the highest of rising values, as far down as there is room for each.
    fn apart(&self, values: impl DoubleEndedIterator<Item = f64>) -> Vec<f64> {
        let mut kept: Vec<f64> = Vec::new();
        for value in values.rev() {
            let room = kept.last().map_or(1.0, |last| self.height(*last)) - self.height(value);
            if self.height(value) <= ROOM || !kept.is_empty() && room <= ROOM {
                break;
            }
            kept.push(value);
        }
        kept.push(0.0);
        kept.reverse();
        kept
    }
}

/// 1, 2 or 5 times a power of ten, at least about the value.
fn round_step(value: f64) -> f64 {
    let decade = 10f64.powf(value.log10().floor());
    let digit = [1.0, 2.0, 5.0].into_iter().find(|digit| digit * decade >= 0.8 * value);
    digit.unwrap_or(10.0) * decade
}

impl Map {
    fn new(problem: &Problem, x: (f64, f64), y: (f64, f64)) -> Self {
        let energies: Vec<Vec<f64>> =
            (0..MAP).into_par_iter().map(|j| (0..MAP).map(|i| problem.value(&middle(x, y, i, j))).collect()).collect();
        let scale = Scale::of(energies.into_iter().flatten(), problem.minimum());
        let mean = |i: usize, j: usize| {
            let sum: f64 = places(i, j).map(|(u, v)| height(problem, &scale, &[at(x, u), at(y, v)])).sum();
            sum / (SAMPLES * SAMPLES) as f64
        };
        let rows: Vec<Vec<f64>> = (0..MAP).into_par_iter().map(|j| (0..MAP).map(|i| mean(i, j)).collect()).collect();
        let smooth = Smooth::new(rows.clone());
        Self { rows, scale, smooth }
    }
}

impl Smooth {
    fn new(mut rows: Vec<Vec<f64>>) -> Self {
        for _ in 0..3 {
            rows = transposed(&rows.iter().map(|row| averaged(row)).collect::<Vec<_>>());
            rows = transposed(&rows.iter().map(|row| averaged(row)).collect::<Vec<_>>());
        }
        let size = rows.len();
        // With the edges, so that lines reach them.
        let kept: Vec<usize> = (0..size).step_by(STRIDE).chain([size.saturating_sub(1)]).collect();
        let place = |k: &usize| match *k {
            0 => 0.0,
            k if k + 1 == size => 1.0,
            k => (k as f64 + 0.5) / size as f64,
        };
        let thinned = kept.iter().map(|j| kept.iter().map(|i| rows[*j][*i]).collect()).collect();
        Self { places: kept.iter().map(place).collect(), rows: thinned }
    }
}

fn height(problem: &Problem, scale: &Scale, point: &[f64; 2]) -> f64 {
    scale.height(problem.value(point) - scale.minimum)
}

fn at((low, high): (f64, f64), part: f64) -> f64 {
    low + (high - low) * part
}

fn middle(x: (f64, f64), y: (f64, f64), i: usize, j: usize) -> [f64; 2] {
    [at(x, (i as f64 + 0.5) / MAP as f64), at(y, (j as f64 + 0.5) / MAP as f64)]
}

/// Places of the samples of a cell, as parts of the view: one somewhere in each of its parts, because a regular grid would
/// itself make patterns with ripples.
fn places(i: usize, j: usize) -> impl Iterator<Item = (f64, f64)> {
    let fine = (MAP * SAMPLES) as f64;
    (0..SAMPLES * SAMPLES).map(move |k| {
        let (a, b) = (i * SAMPLES + k % SAMPLES, j * SAMPLES + k / SAMPLES);
        let bits = scrambled((a as u64) << 32 | b as u64);
        let part = |bits: u64| (bits & 0xFFFF) as f64 / 65536.0;
        ((a as f64 + part(bits)) / fine, (b as f64 + part(bits >> 16)) / fine)
    })
}

/// The finaliser of SplitMix64: nearby numbers become unrelated ones.
fn scrambled(number: u64) -> u64 {
    let mut z = number.wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// Means over the neighbours, as many to each side, so that a slope stays as it is.
fn averaged(values: &[f64]) -> Vec<f64> {
    let last = values.len().saturating_sub(1);
    let mean = |k: usize| {
        let reach = SMOOTHED.min(k).min(last - k);
        let near = &values[k - reach..=k + reach];
        near.iter().sum::<f64>() / near.len() as f64
    };
    (0..values.len()).map(mean).collect()
}

fn transposed(rows: &[Vec<f64>]) -> Vec<Vec<f64>> {
    (0..rows.first().map_or(0, Vec::len)).map(|i| rows.iter().map(|row| row[i]).collect()).collect()
}

impl Landscape {
    /// The landscape of `problem`, of one or two coordinates, in `view`.
    pub fn new(problem: &Problem, view: &[(f64, f64)]) -> Self {
        let relief = match *view {
            [x, y, ..] => Relief::Map(Map::new(problem, x, y)),
            _ => {
                let x = (0..CURVE).map(|i| at(view[0], i as f64 / (CURVE - 1) as f64));
                Relief::Curve(x.map(|x| (x, problem.value(&[x]))).filter(|(_, e)| e.is_finite()).collect())
            }
        };
        Self { view: view.to_vec(), relief }
    }

    /// Whether a point is in view.
    pub fn shows(&self, point: &[f64; 2]) -> bool {
        self.view.iter().zip(point).all(|((low, high), x)| (low..=high).contains(&x))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(name: &str, reach: Option<f64>) -> (Problem, [(f64, f64); 2], Map) {
        let problem = Problem::named(name, 2).expect("a problem");
        let view: Vec<(f64, f64)> = reach.map_or(problem.domain().to_vec(), |reach| vec![(-reach, reach); 2]);
        let Relief::Map(map) = Landscape::new(&problem, &view).relief else { panic!("two coordinates make a map") };
        (problem, [view[0], view[1]], map)
    }

    #[test]
    fn heights_run_from_valley_to_wall() {
        let (_, _, map) = map("rosenbrock", None);
        let all: Vec<f64> = map.rows.iter().flatten().copied().collect();
        assert_eq!(all.len(), MAP * MAP);
        assert!(all.iter().all(|h| (0.0..=1.0).contains(h)));
        assert!(all.iter().any(|h| *h > 0.98) && all.iter().any(|h| *h < 0.15));
        let middle = all.iter().filter(|h| (0.2..0.8).contains(*h)).count();
        assert!(middle > all.len() / 3, "only {middle} of {} heights can be told apart", all.len());
    }

    /// Cells of Ackley's function in its domain, with 65 ripples along a side, against means of 40 x 40 samples each: two of 128
    /// shades are not seen.
    #[test]
    fn no_pattern_that_is_not_there() {
        let (problem, [x, y], map) = map("ackley", None);
        let fine = |i: usize, j: usize| {
            let place = |k: usize, cell: usize| (cell as f64 + (k as f64 + 0.5) / 40.0) / MAP as f64;
            let samples = (0..1600).map(|k| [at(x, place(k % 40, i)), at(y, place(k / 40, j))]);
            samples.map(|p| height(&problem, &map.scale, &p)).sum::<f64>() / 1600.0
        };
        let cells = (0..400).map(|k| (k * 7 % MAP, k * 131 % MAP));
        let worst = cells.map(|(i, j)| (map.rows[j][i] - fine(i, j)).abs()).fold(0.0, f64::max);
        assert!(worst < 2.0 / 128.0, "a cell is off by {worst}");
    }

    /// With 15 ripples in each cell there is nothing to see but the bowl: neighbours, and cells that mirror one another,
    /// differ by the noise of nine samples alone.
    #[test]
    fn ripples_finer_than_cells_fade() {
        let (_, _, map) = map("rastrigin", Some(3000.0));
        let row = &map.rows[MAP / 4];
        let jumps: Vec<f64> = row.windows(2).map(|w| w[1] - w[0]).collect();
        assert!(jumps.iter().all(|jump| jump.abs() < 0.02), "bands at cells");
        let smooth = &map.smooth.rows;
        let size = smooth.len();
        let mirrored = (0..size).map(|k| (smooth[size / 3][k] - smooth[size / 3][size - 1 - k]).abs());
        assert!(mirrored.fold(0.0, f64::max) < 0.02, "the bowl is symmetric");
    }

    #[test]
    fn infeasible_points_are_walls() {
        let scale = Scale::of([0.0, 1.0, f64::INFINITY, f64::NAN].into_iter(), 0.0);
        assert_eq!([f64::INFINITY, f64::NAN, 1.0, 0.0, -1.0].map(|e| scale.height(e)), [1.0, 1.0, 1.0, 0.0, 0.0]);
    }

    #[test]
    fn ticks_are_decades_or_even_steps() {
        let wide = Scale { minimum: 0.0, highest: 4e5, power: 0.15 };
        assert_eq!(wide.ticks(), [0.0, 1.0, 10.0, 100.0, 1e3, 1e4, 1e5]);
        let narrow = Scale { minimum: 3.0, highest: 22.3, power: 2.0 };
        assert_eq!(narrow.ticks(), [0.0, 5.0, 10.0, 15.0, 20.0]);
        for highest in [1e-200, 0.37, 1e250] {
            for power in [LEAST_POWER, 0.5, MOST_POWER] {
                let scale = Scale { minimum: 0.0, highest, power };
                let (ticks, heights): (Vec<f64>, Vec<f64>) =
                    scale.ticks().iter().map(|v| (*v, scale.height(*v))).unzip();
                assert!((3..20).contains(&ticks.len()), "{highest}, {power}: {ticks:?}");
                assert!(heights.windows(2).all(|pair| pair[1] - pair[0] > ROOM), "{heights:?}");
            }
        }
    }
}
