//! The core against CMA-ES as the tutorial has it (Hansen 2016, arXiv:1604.00772), with all matrices written out.

use super::Core;
use crate::auto::random::Random;

/// A symmetric matrix, or a lower triangle, as rows.
type Matrix = Vec<Vec<f64>>;

/// The lower triangle A with `A A' = C`.
fn cholesky(c: &Matrix) -> Matrix {
    let dim = c.len();
    let mut a = vec![vec![0.0; dim]; dim];
    for i in 0..dim {
        for j in 0..=i {
            let rest = c[i][j] - (0..j).map(|k| a[i][k] * a[j][k]).sum::<f64>();
            a[i][j] = if i == j { rest.sqrt() } else { rest / a[j][j] };
        }
    }
    a
}

fn times(a: &Matrix, x: &[f64]) -> Vec<f64> {
    a.iter().map(|row| row.iter().zip(x).map(|(a, x)| a * x).sum()).collect()
}

/// The solution of `A z = y` for a lower triangle.
fn solve(a: &Matrix, y: &[f64]) -> Vec<f64> {
    let mut z: Vec<f64> = Vec::new();
    for (row, y) in a.iter().zip(y) {
        let known: f64 = row.iter().zip(&z).map(|(a, z)| a * z).sum();
        z.push((y - known) / row[z.len()]);
    }
    z
}

/// The tutorial's algorithm; its names. The inverse of the Cholesky factor stands for the inverse root of C, and the test for a stalled
/// path is that of Hansen's own program.
struct Textbook {
    m: Vec<f64>,
    sigma: f64,
    c: Matrix,
    p_sigma: Vec<f64>,
    p_c: Vec<f64>,
    g: i32,
}

impl Textbook {
    fn new(m: Vec<f64>, sigma: f64) -> Self {
        let n = m.len();
        let c = (0..n).map(|i| (0..n).map(|j| f64::from(i == j)).collect()).collect();
        Self { m, sigma, c, p_sigma: vec![0.0; n], p_c: vec![0.0; n], g: 0 }
    }

    /// One generation with these standard normals. Gives their order, the best first.
    fn step(&mut self, z: &[Vec<f64>], f: impl Fn(&[f64]) -> f64) -> Vec<usize> {
        let (dim, lambda) = (self.m.len(), z.len());
        let n = dim as f64;
        // Table 1 of the tutorial.
        let raw: Vec<f64> = (1..=lambda).map(|i| ((lambda as f64 + 1.0) / 2.0).ln() - (i as f64).ln()).collect();
        let mu = raw.iter().filter(|w| **w > 0.0).count();
        let sums = |w: &[f64]| (w.iter().sum::<f64>(), w.iter().map(|w| w * w).sum::<f64>());
        let ((plus, plus2), (minus, minus2)) = (sums(&raw[..mu]), sums(&raw[mu..]));
        let (mu_eff, mu_eff_minus) = (plus * plus / plus2, minus * minus / minus2);
        let c_1 = 2.0 / ((n + 1.3).powi(2) + mu_eff);
        let c_mu = (1.0 - c_1).min(2.0 * (0.25 + mu_eff + 1.0 / mu_eff - 2.0) / ((n + 2.0).powi(2) + mu_eff));
        let alphas = [1.0 + c_1 / c_mu, 1.0 + 2.0 * mu_eff_minus / (mu_eff + 2.0), (1.0 - c_1 - c_mu) / (n * c_mu)];
        let alpha = alphas.into_iter().fold(f64::INFINITY, f64::min);
        let w: Vec<f64> = raw.iter().map(|w| if *w > 0.0 { w / plus } else { alpha * w / -minus }).collect();
        let c_sigma = (mu_eff + 2.0) / (n + mu_eff + 5.0);
        let d_sigma = 1.0 + 2.0 * (((mu_eff - 1.0) / (n + 1.0)).sqrt() - 1.0).max(0.0) + c_sigma;
        let c_c = (4.0 + mu_eff / n) / (n + 4.0 + 2.0 * mu_eff / n);
        // Figure 6.
        let a = cholesky(&self.c);
        let y: Vec<Vec<f64>> = z.iter().map(|z| times(&a, z)).collect();
        let x = |y: &Vec<f64>| -> Vec<f64> { self.m.iter().zip(y).map(|(m, y)| m + self.sigma * y).collect() };
        let values: Vec<f64> = y.iter().map(|y| f(&x(y))).collect();
        let mut order: Vec<usize> = (0..lambda).collect();
        order.sort_by(|&i, &j| values[i].total_cmp(&values[j]));
        let y: Vec<&Vec<f64>> = order.iter().map(|&i| &y[i]).collect();
        let y_w: Vec<f64> = (0..dim).map(|k| (0..mu).map(|i| w[i] * y[i][k]).sum()).collect();
        (0..dim).for_each(|k| self.m[k] += self.sigma * y_w[k]);
        let white = solve(&a, &y_w);
        let push = (c_sigma * (2.0 - c_sigma) * mu_eff).sqrt();
        (0..dim).for_each(|k| self.p_sigma[k] = (1.0 - c_sigma) * self.p_sigma[k] + push * white[k]);
        self.g += 1;
        let length2: f64 = self.p_sigma.iter().map(|p| p * p).sum();
        let usual = 1.0 - (1.0 - c_sigma).powi(2 * self.g);
        let h = f64::from(length2 / usual / n < 2.0 + 4.0 / (n + 1.0));
        let push = h * (c_c * (2.0 - c_c) * mu_eff).sqrt();
        (0..dim).for_each(|k| self.p_c[k] = (1.0 - c_c) * self.p_c[k] + push * y_w[k]);
        let delta = (1.0 - h) * c_c * (2.0 - c_c);
        let scaled = |i: usize| {
            let white2: f64 = solve(&a, y[i]).iter().map(|z| z * z).sum();
            if w[i] < 0.0 { w[i] * (n / white2).min(10.0) } else { w[i] }
        };
        let w_circle: Vec<f64> = (0..lambda).map(scaled).collect();
        let keep = 1.0 + c_1 * delta - c_1 - c_mu * w.iter().sum::<f64>();
        for j in 0..dim {
            for k in 0..dim {
                let many: f64 = (0..lambda).map(|i| w_circle[i] * y[i][j] * y[i][k]).sum();
                self.c[j][k] = keep * self.c[j][k] + c_1 * self.p_c[j] * self.p_c[k] + c_mu * many;
            }
        }
        let chi = n.sqrt() * (1.0 - 1.0 / (4.0 * n) + 1.0 / (21.0 * n * n));
        self.sigma *= (c_sigma / d_sigma * (length2.sqrt() / chi - 1.0)).min(1.0).exp();
        order
    }
}

/// A valley that is not along the axes, a thousand times as long as wide.
fn valley(x: &[f64]) -> f64 {
    let sum: f64 = x.iter().sum();
    sum * sum + x.iter().enumerate().map(|(k, v)| 1e-3 * (v - k as f64).powi(2)).sum::<f64>()
}

#[test]
fn a_generation_is_that_of_the_tutorial() {
    for (dim, lambda, generations) in [(1, 4, 12), (3, 7, 60), (8, 10, 120), (8, 40, 40)] {
        let start: Vec<f64> = (0..dim).map(|k| 3.0 - k as f64).collect();
        let mut book = Textbook::new(start.clone(), 0.5);
        let mut core = Core::new(start, 0.5, lambda);
        let mut random = Random::new(7, dim as u64);
        for generation in 1..=generations {
            let mut normals = Vec::new();
            random.normals(lambda, dim, &mut normals);
            let rows: Vec<Vec<f64>> = normals.chunks_exact(dim).map(<[f64]>::to_vec).collect();
            let order = book.step(&rows, valley);
            core.update(&order.iter().flat_map(|&i| rows[i].iter().copied()).collect::<Vec<_>>(), false, true);
            let covariance = core.shape.covariance(None).expect("a full shape");
            let at = format!("{dim} dimensions, {lambda} particles, generation {generation}");
            let near = |a: f64, b: f64, size: f64, what: &str| {
                assert!((a - b).abs() <= 1e-10 * size, "{what}: {a} instead of {b} in {at}");
            };
            near(core.step, book.sigma, book.sigma, "step");
            for j in 0..dim {
                let deviation = book.sigma * book.c[j][j].sqrt();
                near(core.mean[j], book.m[j], book.m[j].abs().max(deviation), "mean");
                near(core.deviations[j], book.c[j][j].sqrt(), book.c[j][j].sqrt(), "deviation");
                for k in 0..dim {
                    near(covariance[j * dim + k], book.c[j][k], (book.c[j][j] * book.c[k][k]).sqrt(), "covariance");
                }
            }
        }
        assert!(valley(&core.mean) < valley(&vec![3.0; dim]), "nothing was learnt");
    }
}

#[test]
fn equal_values_make_the_step_larger() {
    let mut core = Core::new(vec![0.0; 3], 0.1, 8);
    core.update(&[0.0; 24], true, true);
    assert!(core.step > 0.1 * 1.2 && core.mean == [0.0; 3], "{core:?}");
}

#[test]
fn without_its_shape_the_core_learns_the_rest() {
    let mut normals = Vec::new();
    Random::new(3, 0).normals(8, 3, &mut normals);
    let cores = [true, false].map(|shaping| {
        let mut core = Core::new(vec![0.0; 3], 0.1, 8);
        core.update(&normals, false, shaping);
        core
    });
    assert_eq!((&cores[0].mean, cores[0].step), (&cores[1].mean, cores[1].step));
    let covariances = cores.each_ref().map(|core| core.shape.covariance(None).expect("full"));
    assert_ne!(covariances[0], covariances[1]);
    assert_eq!(covariances[1], [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0]);
}
