//! Consensus hopping: against a plain program, against the law of its particles, and what it does not depend on.

use cbo::noise::{Noise, Stream, scratch_len};
use cbo::{
    Alpha, BoundHandling, CboConfig, Hopping, HoppingStart, HoppingWeights, InitialLaw, Method, Sigma, StepReport,
    from_fn, solve,
};
use std::ops::ControlFlow;

const SEED: u64 = 11;
const ETA: f64 = 0.3;

fn hilly(x: &[f64]) -> f64 {
    x.iter().map(|x| (x - 0.7).powi(2) + 2.0 * (1.0 - (3.0 * x).cos())).sum()
}

fn normals(stream: Stream, step: u64, particle: usize, dim: usize) -> Vec<f64> {
    let mut normals = vec![0.0; scratch_len(1, dim)];
    Noise::new(SEED, stream, step).fill_normals(particle as u32, 1, dim, &mut normals);
    normals.truncate(dim);
    normals
}

/// The method as the guide has it, one number after the other.
struct Plain {
    hopping: Hopping,
    steps: u64,
    mean: Vec<f64>,
    widths: Vec<f64>,
    particles: Vec<Vec<f64>>,
    /// None before the first step of a swarm that is everywhere.
    centre: Option<Vec<f64>>,
    velocity: Vec<f64>,
}

impl Plain {
    fn draw(&self, stream: Stream, step: u64, sigma: f64, count: usize) -> Vec<Vec<f64>> {
        let (centre, dim) = (self.centre.as_ref().expect("a centre"), self.widths.len());
        let particle = |i: usize| {
            let (number, sign) = match self.hopping.antithetic {
                true => (i / 2, if i.is_multiple_of(2) { 1.0 } else { -1.0 }),
                false => (i, 1.0),
            };
            let xi = normals(stream, step, number, dim);
            (0..dim).map(|k| centre[k] + sign * sigma * self.widths[k] * xi[k]).collect()
        };
        (0..count).map(particle).collect()
    }

    /// The direction from the centre to the consensus point.
    fn direction(&self, alpha: f64, from: &[f64]) -> Vec<f64> {
        let energies: Vec<f64> = self.particles.iter().map(|x| hilly(x)).collect();
        let least = energies.iter().copied().fold(f64::INFINITY, f64::min);
        let better = |e: f64| energies.iter().filter(|other| **other < e).count() as f64;
        let worse = |e: f64| energies.iter().filter(|other| **other > e).count() as f64;
        let weight = |e: &f64| match self.hopping.weights {
            HoppingWeights::Energies => (-alpha * (e - least)).exp(),
            HoppingWeights::Ranks => worse(*e) - better(*e),
        };
        let weights: Vec<f64> = energies.iter().map(weight).collect();
        let mass: f64 = weights.iter().map(|w| w.abs()).sum();
        let sum = |k: usize| self.particles.iter().zip(&weights).map(|(x, w)| w * (x[k] - from[k])).sum::<f64>();
        (0..from.len()).map(|k| sum(k) / mass).collect()
    }

    fn hop(&mut self, step: u64, alpha: f64) {
        let from = self.centre.clone().unwrap_or_else(|| self.mean.clone());
        let direction = self.direction(alpha, &from);
        let rate = match self.hopping.cosine {
            true => self.hopping.rate * 0.5 * (1.0 + (std::f64::consts::PI * step as f64 / self.steps as f64).cos()),
            false => self.hopping.rate,
        };
        let mut next = from.clone();
        for k in 0..from.len() {
            if self.centre.is_none() {
                next[k] += direction[k];
            } else {
                self.velocity[k] = self.hopping.momentum * self.velocity[k] + direction[k];
                next[k] += rate * self.velocity[k];
            }
        }
        self.centre = Some(next);
    }
}

#[test]
fn the_engine_does_what_a_plain_program_does() {
    let usual = Hopping::default();
    let restless = Hopping { momentum: 0.9, rate: 0.3, cosine: true, ..usual };
    let ranks = HoppingWeights::Ranks;
    let methods = [
        usual,
        restless,
        Hopping { weights: ranks, ..restless },
        Hopping { weights: ranks, antithetic: false, rate: 1.5, ..usual },
        Hopping { start: HoppingStart::Point, antithetic: false, ..restless },
        Hopping { start: HoppingStart::Point, weights: ranks, momentum: 0.5, ..usual },
    ];
    // Rows shorter and longer than a tile, which begins in the midst of a pair.
    for (dim, particles) in [(5, 43), (700, 23), (2100, 7)] {
        let (low, high): (Vec<f64>, Vec<f64>) = (0..dim).map(|k| (-3.0, 1.0 + (k % 5) as f64)).unzip();
        for hopping in methods {
            let config = CboConfig {
                particles,
                sigma: Sigma::Falling { start: 0.8, end: 0.1 },
                steps: Some(12),
                init: InitialLaw::Uniform { low: low.clone().into(), high: high.clone().into() },
                seed: SEED,
                ..CboConfig::of(Method::Hopping(hopping))
            };
            let alpha = if hopping.weights == ranks { config.alpha } else { Alpha::EffectiveSampleSize(ETA) };
            let config = CboConfig { alpha, ..config };
            let mut plain = Plain {
                hopping,
                steps: 12,
                mean: low.iter().zip(&high).map(|(l, h)| 0.5 * (l + h)).collect(),
                widths: low.iter().zip(&high).map(|(l, h)| (h - l) / 12f64.sqrt()).collect(),
                particles: Vec::new(),
                centre: None,
                velocity: vec![0.0; dim],
            };
            let mut seen = 0;
            let mut observer = |step: &StepReport<'_, f64>| {
                let rows = step.ensemble().rows();
                if step.step() == 0 && hopping.start == HoppingStart::Point {
                    let noise = Noise::new(SEED, Stream::Initial, 0);
                    let uniform = |k: usize| noise.uniforms(0, k as u32 / 4)[k % 4];
                    plain.centre = Some((0..dim).map(|k| low[k] + (high[k] - low[k]) * uniform(k)).collect());
                    plain.particles = plain.draw(Stream::Initial, 1, 0.8, particles);
                } else if step.step() == 0 {
                    plain.particles = rows.iter().map(<[f64]>::to_vec).collect();
                }
                let near = |a: f64, b: f64| (a - b).abs() < 1e-9 * (1.0 + b.abs());
                for (row, x) in rows.iter().zip(&plain.particles) {
                    assert!(row.iter().zip(x).all(|(a, b)| near(*a, *b)), "{} in {dim}", config.method);
                }
                plain.hop(step.step(), step.alpha());
                let centre = plain.centre.as_ref().expect("a centre");
                assert!(step.consensus().iter().zip(centre).all(|(a, b)| near(*a, *b)), "{} in {dim}", config.method);
                plain.particles = plain.draw(Stream::Diffusion, step.step(), step.sigma(), particles);
                seen += 1;
                ControlFlow::Continue(())
            };
            let run = solve(&config, &from_fn(dim, hilly), &mut observer).expect("a run");
            assert_eq!((seen, run.evaluations()), (13, 13 * particles as u64 + 1));
            assert!((run.sigma() - 0.1).abs() < 1e-12);
        }
    }
}

/// Around a frozen centre a coordinate is normal with the deviation of the initial law times sigma.
#[test]
fn particles_have_their_law() {
    let (particles, sigma) = (200_000, 0.7);
    let (centre, widths) = ([0.5, -1.0, 2.0], [2.0f64, 0.01, 300.0]);
    for antithetic in [false, true] {
        let config = CboConfig {
            particles,
            sigma: Sigma::Constant(sigma),
            steps: Some(3),
            freeze: Some(centre.to_vec()),
            init: InitialLaw::Normal { mean: 0.0.into(), variance: widths.map(|w| w * w).to_vec().into() },
            ..CboConfig::of(Method::Hopping(Hopping { antithetic, ..Hopping::default() }))
        };
        let run = solve(&config, &from_fn(3, |x: &[f64]| x[0]), &mut ()).expect("a run");
        let rows = run.ensemble().rows();
        let count = particles as f64;
        for k in 0..3 {
            let scaled = || rows.iter().map(|row| (row[k] - centre[k]) / (sigma * widths[k]));
            let (mean, square) = scaled().fold((0.0, 0.0), |(m, s), z| (m + z / count, s + z * z / count));
            // The mean of pairs is exact. Standard errors: sqrt(1 / N), and sqrt(2 / N), of pairs sqrt(4 / N).
            assert!(mean.abs() < if antithetic { 1e-11 } else { 5.0 / count.sqrt() }, "{k}: mean {mean}");
            assert!((square - 1.0).abs() < 5.0 * (4.0 / count).sqrt(), "{k}: variance {square}");
            let next: f64 = scaled().zip(scaled().skip(1)).step_by(2).map(|(a, b)| 2.0 * a * b / count).sum();
            let expected = if antithetic { -1.0 } else { 0.0 };
            assert!((next - expected).abs() < 5.0 * (4.0 / count).sqrt(), "{k}: covariance {next}");
        }
    }
}

fn hopping(text: &str) -> CboConfig {
    let config = CboConfig::of(text.parse().expect("a method"));
    CboConfig { particles: 60, steps: Some(40), seed: SEED, ..config }
}

const KINDS: [&str; 3] =
    ["hopping", "hopping:momentum=0.8,rate=0.5,start=point", "hopping:weights=ranks,momentum=0.5,cosine=true"];

/// Other units are other numbers for the same run: those of a power of two for the same bits.
#[test]
fn units_do_not_matter() {
    for text in KINDS {
        let run = |unit: f64| {
            let init = InitialLaw::Uniform { low: (-3.0 * unit).into(), high: (3.0 * unit).into() };
            let config = CboConfig { init, ..hopping(text) };
            solve(
                &config,
                &from_fn(4, move |x: &[f64]| hilly(&x.iter().map(|v| v / unit).collect::<Vec<_>>())),
                &mut (),
            )
            .expect("a run")
        };
        let (plain, scaled) = (run(1.0), run(1024.0));
        let back = |x: &[f64]| x.iter().map(|v| v / 1024.0).collect::<Vec<_>>();
        assert_eq!(plain.best().x, back(&scaled.best().x), "{text}");
        assert_eq!(plain.ensemble().rows().as_slice(), back(scaled.ensemble().rows().as_slice()), "{text}");
    }
}

#[test]
fn a_shift_of_everything_shifts_the_run() {
    for text in KINDS {
        let run = |shift: f64| {
            let init = InitialLaw::Uniform { low: (shift - 3.0).into(), high: (shift + 3.0).into() };
            // Particles so far apart that rounding does not change their order.
            let sigma = Sigma::Falling { start: 1.0, end: 0.01 };
            let config = CboConfig { init, sigma, ..hopping(text) };
            let moved = move |x: &[f64]| hilly(&x.iter().map(|v| v - shift).collect::<Vec<_>>());
            solve(&config, &from_fn(4, moved), &mut ()).expect("a run")
        };
        let (plain, shifted) = (run(0.0), run(64.0));
        let far = plain.consensus().x.iter().zip(&shifted.consensus().x).map(|(a, b)| (a + 64.0 - b).abs());
        // Rounding errors of numbers of size 64, and what forty steps make of them.
        assert!(far.fold(0.0, f64::max) < 1e-9, "{text}: {:?} {:?}", plain.consensus(), shifted.consensus());
    }
}

/// Only the order of the energies counts: any growing function of them gives the same bits.
#[test]
fn ranks_do_not_see_the_size_of_energies() {
    let config = hopping("hopping:weights=ranks");
    let plain = solve(&config, &from_fn(4, hilly), &mut ()).expect("a run");
    let bent = solve(&config, &from_fn(4, |x: &[f64]| hilly(x).sqrt().exp()), &mut ()).expect("a run");
    assert_eq!(plain.consensus().x, bent.consensus().x);
    let flat = solve(&config, &from_fn(4, |_: &[f64]| 1.0), &mut ()).expect("a run");
    assert_eq!(flat.consensus().x, [0.0; 4]); // no direction: the middle of the initial law
}

#[test]
fn defaults_find_the_least_of_many_minima() {
    let rastrigin = |x: &[f64]| x.iter().map(|v| v * v + 2.5 * (1.0 - (std::f64::consts::TAU * v).cos())).sum();
    let init = InitialLaw::Uniform { low: (-4.0).into(), high: 6.0.into() };
    let base = CboConfig { init, ..CboConfig::of(Method::Hopping(Hopping::default())) };
    // Its sigma falls over the run, however that is limited.
    let limits = [
        CboConfig { steps: Some(150), ..base.clone() },
        CboConfig { max_evaluations: Some(60_000), ..base.clone() },
        CboConfig { time: Some(20.0), max_evaluations: Some(60_000), ..base.clone() },
        base,
    ];
    for config in limits {
        for seed in 0..5 {
            let config = CboConfig { seed, ..config.clone() };
            let run = solve(&config, &from_fn(8, rastrigin), &mut ()).expect("a run");
            assert!(run.consensus().value < 1e-6, "{:?} {}: {:?}", config.steps, seed, run.consensus());
        }
    }
}

#[test]
fn nothing_leaves_the_bounds() {
    for bound_handling in [BoundHandling::Reflect, BoundHandling::Clip] {
        for text in KINDS {
            let bounds = vec![(-1.0, 2.0); 3];
            let config = CboConfig {
                init: InitialLaw::Normal { mean: 3.0.into(), variance: 4.0.into() },
                bounds: Some(bounds),
                bound_handling,
                sigma: Sigma::Constant(0.5),
                ..hopping(text)
            };
            let inside = |x: &[f64]| x.iter().all(|v| (-1.0..=2.0).contains(v));
            let mut observer = |step: &StepReport<'_, f64>| {
                assert!(step.ensemble().rows().iter().all(inside) && inside(step.consensus()), "{text}");
                ControlFlow::Continue(())
            };
            // The minimum lies in a corner.
            let run = solve(&config, &from_fn(3, |x: &[f64]| x.iter().sum()), &mut observer).expect("a run");
            assert!(run.best().value < -2.0, "{text}: {:?}", run.best());
        }
    }
}

/// Weights of failed points are zero, and a direction needs no others.
#[test]
fn failures_are_left_out() {
    for text in KINDS {
        let partly = |x: &[f64]| if x[0] < -1.5 { f64::NAN } else { x.iter().map(|v| (v - 0.7).powi(2)).sum() };
        let run = solve(hopping(text), &from_fn(4, partly), &mut ()).expect("a run");
        assert!(run.failed_evaluations() > 0 && run.best().value < 0.6, "{text}: {:?}", run.best());
    }
}

#[test]
fn wrong_settings_are_refused_by_name() {
    let check = |config: CboConfig| config.check(2).expect_err("wrong").to_string();
    let with = |text: &str| hopping(text);
    let refused = [
        (with("hopping:momentum=1"), "method = hopping with momentum = 1: momentum must be at least 0 and below 1"),
        (with("hopping:rate=0"), "rate must be a positive finite number"),
        (CboConfig { batch: Some(30), ..with("hopping") }, "batch = 30: is not a setting of method hopping"),
        (CboConfig { lambda: 2.0, ..with("hopping") }, "lambda = 2: is not a setting of method hopping"),
        (CboConfig { kick: Some(0.1), ..with("hopping") }, "kick = 0.1: is not a setting of method hopping"),
        (CboConfig { alpha: Alpha::Constant(5.0), ..with("hopping:weights=ranks") }, "alpha = 5.0: weights by ranks"),
        (
            CboConfig {
                init: InitialLaw::Normal { mean: 0.0.into(), variance: vec![1.0, 0.0].into() },
                ..with("hopping")
            },
            "init = a law without width in x2",
        ),
        (
            CboConfig { particles: 1, init: InitialLaw::Points(vec![1.0, 2.0]), ..with("hopping") },
            "init = a law without width in x1",
        ),
        (
            CboConfig {
                particles: 2,
                init: InitialLaw::Points(vec![1.0, 2.0, 3.0, 5.0]),
                ..with("hopping:start=point")
            },
            "leave it out where points are given",
        ),
        (CboConfig { steps: None, max_seconds: Some(1.0), ..with("hopping") }, "falls over the run"),
        (
            CboConfig {
                steps: None,
                max_seconds: Some(1.0),
                sigma: Sigma::Constant(0.1),
                ..with("hopping:cosine=true")
            },
            "method = hopping:cosine=true: the rate falls over the run",
        ),
        (CboConfig { sigma: Sigma::Falling { start: 1.0, end: 2.0 }, ..with("hopping") }, "sigma = falling to 2"),
        (CboConfig { sigma: Sigma::Falling { start: 0.0, end: 0.0 }, ..with("hopping") }, "sigma = 0"),
    ];
    for (config, part) in refused {
        let message = check(config);
        assert!(message.contains(part), "{message} has no {part}");
    }
}
