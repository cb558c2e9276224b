//! Compressed sensing: how many measurements a sparse point takes, with and without a drift along the gradient.
//!
//! Ten particles in 200 dimensions cannot search such a space by noise alone; with the gradient of the energy they follow it down
//! and agree. See Riedl, *Leveraging memory effects and gradient information in consensus-based optimization*
//! (doi:10.1017/S0956792523000293).

use super::{Axis, Experiment, Grid, Range, Session, short_run};
use crate::figures::{FigureError, experiment};
use cbo::noise::{Noise, Stream, scratch_len};
use cbo::{Alpha, CboConfig, EvalError, Memory, Method, Objective, Rows, Sigma, SolveError, StepContext, solve};
use serde::{Deserialize, Serialize};

/// What all runs have.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Parameters {
    /// The dimension d.
    pub dim: usize,
    /// Coordinates of the point that are not zero.
    pub sparsity: usize,
    /// The weight of the penalty.
    pub mu: f64,
    /// Its power p.
    pub power: f64,
    /// The number of particles.
    pub particles: usize,
    /// The time T.
    pub time: f64,
    /// The time step.
    pub dt: f64,
    /// alpha.
    pub alpha: f64,
    /// sigma.
    pub sigma: f64,
    /// The drift along the gradient.
    pub gradient: f64,
    /// The distance below which a run is a success.
    pub tolerance: f64,
}

/// The cells.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Size {
    /// Numbers m of measurements.
    pub measurements: Range,
    /// Runs for each.
    pub runs: u64,
}

/// The experiment as its authors have it.
pub fn load() -> Result<Experiment<Parameters, Size>, FigureError> {
    experiment("sensing", include_str!("../../experiments/sensing.toml"))
}

/// `|A x - y|^2 / 2 + mu |x|_p^p`, with its gradient.
#[derive(Clone, Debug)]
pub struct Sensing {
    /// Row by row.
    rows: Vec<f64>,
    /// Column by column: sums that run along the other side are done several at a time.
    columns: Vec<f64>,
    measured: Vec<f64>,
    mu: f64,
    power: f64,
    /// What was measured.
    truth: Vec<f64>,
}

impl Sensing {
    /// `measurements` random measurements of a random point with a few coordinates of 1 or -1.
    pub fn new(parameters: &Parameters, measurements: usize, seed: u64) -> Self {
        let Parameters { dim, sparsity, mu, power, .. } = *parameters;
        let mut rows = Vec::with_capacity(measurements * dim);
        let mut row = vec![0.0; scratch_len(1, dim)];
        let noise = Noise::new(seed, Stream::Problem, 1);
        let scale = 1.0 / (measurements as f64).sqrt();
        for number in 0..measurements {
            noise.fill_normals(number as u32, 1, dim, &mut row);
            rows.extend(row[..dim].iter().map(|a| a * scale));
        }
        // The coordinates with the largest uniforms, and as their signs those of other uniforms.
        let uniforms =
            |particle: u32| -> Vec<f64> { (0..dim).map(|k| noise.uniforms(particle, k as u32 / 4)[k % 4]).collect() };
        let (places, signs) = (uniforms(u32::MAX), uniforms(u32::MAX - 1));
        let mut order: Vec<usize> = (0..dim).collect();
        order.sort_by(|a, b| places[*b].total_cmp(&places[*a]));
        let mut truth = vec![0.0; dim];
        order.iter().take(sparsity).for_each(|&k| truth[k] = if signs[k] < 0.5 { -1.0 } else { 1.0 });
        let columns = (0..dim).flat_map(|k| rows.iter().skip(k).step_by(dim).copied()).collect();
        let mut sensing = Self { rows, columns, measured: vec![0.0; measurements], mu, power, truth };
        sensing.measured = sensing.residuals(&sensing.truth);
        sensing
    }

    /// A x - y.
    fn residuals(&self, x: &[f64]) -> Vec<f64> {
        let mut sums: Vec<f64> = self.measured.iter().map(|y| -y).collect();
        for (column, x) in self.columns.chunks_exact(sums.len()).zip(x) {
            sums.iter_mut().zip(column).for_each(|(sum, a)| *sum += a * x);
        }
        sums
    }

    /// The distance to what was measured, in the maximum norm.
    pub fn distance(&self, x: &[f64]) -> f64 {
        self.truth.iter().zip(x).map(|(t, x)| (t - x).abs()).fold(0.0, f64::max)
    }

    /// |x|^p.
    fn penalty(&self, x: f64) -> f64 {
        if self.power == 1.0 { x.abs() } else { libm::pow(x.abs(), self.power) }
    }

    /// Its derivative; zero at zero.
    fn slope(&self, x: f64) -> f64 {
        match (x == 0.0, self.power == 1.0) {
            (true, _) => 0.0,
            (false, true) => x.signum(),
            (false, false) => self.power * libm::pow(x.abs(), self.power - 1.0) * x.signum(),
        }
    }
}

impl Objective<f64> for Sensing {
    fn dim(&self) -> usize {
        self.truth.len()
    }

    fn energies(&self, _at: StepContext, rows: Rows<'_, f64>, out: &mut [f64]) -> Result<(), EvalError> {
        for (x, energy) in rows.iter().zip(out) {
            let squares: f64 = self.residuals(x).iter().map(|r| r * r).sum();
            *energy = 0.5 * squares + self.mu * x.iter().map(|x| self.penalty(*x)).sum::<f64>();
        }
        Ok(())
    }

    fn has_gradients(&self) -> bool {
        true
    }

    fn gradients(&self, _at: StepContext, rows: Rows<'_, f64>, out: &mut [f64]) -> Result<(), EvalError> {
        let dim = self.truth.len();
        for (x, out) in rows.iter().zip(out.chunks_exact_mut(dim)) {
            out.iter_mut().zip(x).for_each(|(g, x)| *g = self.mu * self.slope(*x));
            for (row, r) in self.rows.chunks_exact(dim).zip(self.residuals(x)) {
                out.iter_mut().zip(row).for_each(|(g, a)| *g += a * r);
            }
        }
        Ok(())
    }
}

impl Parameters {
    /// The settings of one run, with this drift along the gradient.
    pub fn config(&self, gradient: f64, seed: u64) -> CboConfig {
        CboConfig {
            method: Method::Memory(Memory { drift: 0.0, noise: 0.0, beta: 0.0, gradient, ..Memory::default() }),
            particles: self.particles,
            sigma: Sigma::Constant(self.sigma),
            alpha: Alpha::Constant(self.alpha),
            dt: self.dt,
            time: Some(self.time),
            seed,
            diameter: None,
            ..short_run(0.0, 1.0)
        }
    }

    /// Whether one run finds the point that was measured.
    pub fn succeeds(&self, gradient: f64, measurements: usize, seed: u64) -> Result<bool, SolveError> {
        let sensing = Sensing::new(self, measurements, seed);
        match solve::<f64>(self.config(gradient, seed), &sensing, &mut ()) {
            Ok(report) => Ok(sensing.distance(&report.consensus().x) < self.tolerance),
            Err(SolveError::NoFiniteEnergy { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// Runs the experiment: a row without and a row with the drift along the gradient.
pub fn run(session: &Session<'_>) -> Result<Grid, FigureError> {
    let Experiment { parameters, full, quick } = load()?;
    let Size { measurements, runs } = if session.quick { quick } else { full };
    let axes = (
        Axis { name: "measurements", values: measurements.values() },
        Axis { name: "gradient", values: vec![0.0, parameters.gradient] },
    );
    Grid::measure(axes, runs, session, |measurements, gradient, seed| {
        parameters.succeeds(gradient, measurements as usize, seed)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gradient_is_that_of_the_energy() {
        let Experiment { parameters, .. } = load().expect("parameters");
        for power in [1.0, 0.5] {
            let sensing = Sensing::new(&Parameters { dim: 9, sparsity: 3, power, ..parameters.clone() }, 5, 2);
            assert_eq!(sensing.truth.iter().filter(|x| **x != 0.0).count(), 3);
            let energy = |x: &[f64]| {
                let mut out = [0.0];
                sensing.energies(StepContext::default(), Rows::new(x, 9), &mut out).expect("an energy");
                out[0]
            };
            let x: Vec<f64> = (0..9).map(|k| (f64::from(k) * 1.3).sin() + 0.01).collect();
            let mut slope = [0.0; 9];
            sensing.gradients(StepContext::default(), Rows::new(&x, 9), &mut slope).expect("a gradient");
            for (k, slope) in slope.iter().enumerate() {
                let moved = |h: f64| energy(&(0..9).map(|j| x[j] + if j == k { h } else { 0.0 }).collect::<Vec<_>>());
                let difference = (moved(1e-6) - moved(-1e-6)) / 2e-6;
                assert!((slope - difference).abs() < 1e-6, "{power}, {k}: {slope} {difference}");
            }
        }
    }

    #[test]
    fn the_measured_point_has_the_energy_of_its_penalty() {
        let Experiment { parameters, .. } = load().expect("parameters");
        let sensing = Sensing::new(&parameters, 60, 0);
        let mut out = [0.0];
        sensing.energies(StepContext::default(), Rows::new(&sensing.truth, 200), &mut out).expect("an energy");
        assert!((out[0] - parameters.mu * 8.0).abs() < 1e-12);
    }
}
