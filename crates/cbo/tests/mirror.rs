//! Mirror maps: against a plain program, whether positions stay in their set, and what is found there.

use cbo::noise::{Noise, Stream, scratch_len};
use cbo::{
    Alpha, BoundHandling, CboConfig, Diffusion, InitialLaw, Method, Mirror, Scalar, Scheme, Sigma, StepReport, from_fn,
    solve,
};
use std::ops::ControlFlow;

const SEED: u64 = 41;
const BOUNDS: [(f64, f64); 5] = [(-3.0, 3.0), (0.0, 1.0), (-10.0, -2.0), (1e-3, 2e-3), (-1e4, 1.0)];
const MAPS: [Mirror; 5] = [
    Mirror::Box,
    Mirror::Simplex { temperature: 0.5 },
    Mirror::Ball { radius: 1.5, centre: 0.0 },
    Mirror::Ball { radius: 0.5, centre: -2.0 },
    Mirror::Sparse { threshold: 0.4 },
];

fn hilly(x: &[f64]) -> f64 {
    x.iter().map(|x| (x - 0.7).powi(2) + 2.0 * (1.0 - (3.0 * x).cos())).sum()
}

fn config_of(map: Mirror) -> CboConfig {
    CboConfig {
        particles: 43,
        alpha: Alpha::Constant(2.5),
        sigma: Sigma::Constant(0.8),
        steps: Some(30),
        bounds: (map == Mirror::Box).then(|| BOUNDS.to_vec()),
        seed: SEED,
        ..CboConfig::of(Method::Mirror(map))
    }
}

/// The gradient of phi at a point of the set: the dual point.
fn dual(map: Mirror, x: &[f64]) -> Vec<f64> {
    match map {
        Mirror::Simplex { temperature } => x.iter().map(|x| temperature * x.ln()).collect(),
        Mirror::Ball { .. } => x.to_vec(),
        Mirror::Sparse { threshold } => x.iter().map(|x| x + threshold * x.signum()).collect(),
        _ => {
            let logit = |(x, (l, h)): (&f64, &(f64, f64))| 0.25 * (h - l) * ((x - l) / (h - x)).ln();
            x.iter().zip(&BOUNDS).map(logit).collect()
        }
    }
}

/// The gradient of the conjugate of phi, as it is written.
fn image(map: Mirror, y: &[f64]) -> Vec<f64> {
    match map {
        Mirror::Simplex { temperature } => {
            let sum: f64 = y.iter().map(|y| (y / temperature).exp()).sum();
            y.iter().map(|y| (y / temperature).exp() / sum).collect()
        }
        Mirror::Ball { radius, centre } => {
            let norm = y.iter().map(|y| (y - centre).powi(2)).sum::<f64>().sqrt();
            y.iter().map(|y| centre + (y - centre) * (radius / norm).min(1.0)).collect()
        }
        Mirror::Sparse { threshold } => y.iter().map(|y| y.signum() * (y.abs() - threshold).max(0.0)).collect(),
        _ => {
            let logistic = |(y, (l, h)): (&f64, &(f64, f64))| l + (h - l) / (1.0 + (-4.0 * y / (h - l)).exp());
            y.iter().zip(&BOUNDS).map(logistic).collect()
        }
    }
}

/// Dual points that drift with the engine's consensus points and noise, their images against its positions.
#[test]
fn the_engine_does_what_a_plain_program_does() {
    for map in MAPS {
        for diffusion in [Diffusion::Anisotropic, Diffusion::Isotropic] {
            let config = CboConfig { diffusion, ..config_of(map) };
            let mut duals: Vec<Vec<f64>> = Vec::new();
            let mut observer = |at: &StepReport<'_, f64>| {
                let rows = at.ensemble().rows();
                if at.step() == 0 {
                    duals = rows.iter().map(|row| dual(map, row)).collect();
                }
                for (i, (row, y)) in rows.iter().zip(&mut duals).enumerate() {
                    let near = |(a, b): (&f64, &f64)| (a - b).abs() < 1e-9 * (1.0 + b.abs());
                    assert!(row.iter().zip(&image(map, y)).all(near), "{config:?} {row:?} {:?}", image(map, y));
                    let mut xi = vec![0.0; scratch_len(1, 5)];
                    Noise::new(SEED, Stream::Diffusion, at.step()).fill_normals(i as u32, 1, 5, &mut xi);
                    let far: Vec<f64> = row.iter().zip(at.consensus()).map(|(x, c)| x - c).collect();
                    let norm = far.iter().map(|x| x * x).sum::<f64>().sqrt();
                    for k in 0..5 {
                        let size = if diffusion == Diffusion::Anisotropic { far[k] } else { norm };
                        y[k] += at.sigma() * config.dt.sqrt() * size * xi[k] - config.lambda * config.dt * far[k];
                    }
                }
                ControlFlow::Continue(())
            };
            solve(&config, &from_fn(5, hilly), &mut observer).expect("a run");
        }
    }
}

/// Whether a point is in the set; on the simplex up to rounding, elsewhere to the last bit.
fn is_inside<T: Scalar>(map: Mirror, x: &[T]) -> bool {
    let x: Vec<f64> = x.iter().map(|x| x.to_f64()).collect();
    match map {
        Mirror::Simplex { .. } => {
            let rounding = if T::NAME == "f32" { 1e-6 } else { 1e-12 };
            x.iter().all(|x| *x >= 0.0) && (x.iter().sum::<f64>() - 1.0).abs() < rounding
        }
        Mirror::Ball { radius, centre } => x.iter().map(|x| (x - centre).powi(2)).sum::<f64>().sqrt() <= radius,
        Mirror::Sparse { .. } => x.iter().all(|x| x.is_finite()),
        _ => {
            let side = |x: f64| T::from_f64(x).to_f64();
            x.iter().zip(&BOUNDS).all(|(x, (l, h))| (side(*l)..=side(*h)).contains(x))
        }
    }
}

fn stays<T: Scalar>(config: &CboConfig, map: Mirror) {
    let mut observer = |at: &StepReport<'_, T>| {
        assert!(at.ensemble().rows().iter().all(|row| is_inside(map, row)), "{config:?}, step {}", at.step());
        ControlFlow::Continue(())
    };
    // The minimum is far outside.
    let away = |x: &[T]| T::from_f64(-x.iter().enumerate().map(|(k, x)| (k as f64 - 1.5) * x.to_f64()).sum::<f64>());
    let run = solve::<T>(config, &from_fn(5, away), &mut observer).expect("a run");
    assert!(is_inside(map, &run.best().x) && is_inside(map, &run.consensus().x), "{config:?}");
}

#[test]
fn positions_stay_in_their_set_to_the_last_bit() {
    for map in MAPS {
        // From everywhere, and with noise that throws dual points to the ends of the world.
        let wild = if matches!(map, Mirror::Sparse { .. }) { (0.8, 1e6) } else { (30.0, 1e6) };
        for (sigma, variance) in [(0.8, 1.0), wild] {
            let init = InitialLaw::Normal { mean: 0.0.into(), variance: variance.into() };
            let config = CboConfig { sigma: Sigma::Constant(sigma), steps: Some(80), init, ..config_of(map) };
            stays::<f64>(&config, map);
            stays::<f32>(&config, map);
        }
    }
}

/// Initial points that lie well inside are where they were given.
#[test]
fn points_inside_stay_where_they_are() {
    let inside = [
        (Mirror::Box, vec![-2.0, 0.9, -3.0, 1.5e-3, -5e3]),
        (Mirror::Simplex { temperature: 0.5 }, vec![0.1, 0.2, 0.3, 0.15, 0.25]),
        (Mirror::Ball { radius: 1.5, centre: 0.0 }, vec![0.1, -1.2, 0.3, 0.15, 0.25]),
        (Mirror::Sparse { threshold: 0.4 }, vec![0.0, -1.2, 0.3, 0.0, 1e-3]),
    ];
    for (map, point) in inside {
        let init = InitialLaw::Points(point.repeat(43));
        let config = CboConfig { init, steps: Some(0), ..config_of(map) };
        let run = solve(&config, &from_fn(5, hilly), &mut ()).expect("a run");
        for (x, given) in run.ensemble().rows().row(0).iter().zip(&point) {
            assert!((x - given).abs() < 1e-12 * (1.0 + given.abs()), "{map:?}: {x} {given}");
        }
    }
}

/// |x - a|^2 has its least value on the simplex at the projection of a: (0.5, 0.3, 0.2, 0, 0) here.
#[test]
fn a_quadratic_on_the_simplex() {
    let a = [0.7, 0.5, 0.4, -1.0, 0.1];
    let distance = move |x: &[f64]| x.iter().zip(&a).map(|(x, a)| (x - a).powi(2)).sum();
    let config = CboConfig::of(Method::Mirror(Mirror::Simplex { temperature: 0.5 }));
    let run = solve(&config, &from_fn(5, distance), &mut ()).expect("a run");
    for (x, expected) in run.best().x.iter().zip([0.5, 0.3, 0.2, 0.0, 0.0]) {
        assert!((x - expected).abs() < 0.02, "{:?}", run.best().x);
    }
}

/// The nearest point of a ball and of a box to a point outside.
#[test]
fn quadratics_on_a_ball_and_in_a_box() {
    let a = [3.0, -4.0];
    let distance = move |x: &[f64]| x.iter().zip(&a).map(|(x, a)| (x - a).powi(2)).sum();
    let ball = CboConfig::of(Method::Mirror(Mirror::Ball { radius: 2.0, centre: 0.0 }));
    let run = solve(&ball, &from_fn(2, distance), &mut ()).expect("a run");
    assert!((run.best().x[0] - 1.2).abs() < 0.02 && (run.best().x[1] + 1.6).abs() < 0.02, "{:?}", run.best().x);
    let bounds = Some(vec![(-1.0, 1.0), (-5.0, 5.0)]);
    let config = CboConfig { bounds, ..CboConfig::of(Method::Mirror(Mirror::Box)) };
    let run = solve(&config, &from_fn(2, distance), &mut ()).expect("a run");
    assert!((run.best().x[0] - 1.0).abs() < 0.02 && (run.best().x[1] + 4.0).abs() < 0.02, "{:?}", run.best().x);
}

/// Three of twelve coefficients from eight linear measurements: the other nine are found to be exactly zero.
#[test]
fn sparse_recovery() {
    let (rows, dim) = (8, 12);
    let mut matrix = vec![0.0; scratch_len(rows, dim)];
    Noise::new(5, Stream::Problem, 0).fill_normals(0, rows, dim, &mut matrix);
    let mut signal = vec![0.0; dim];
    (signal[2], signal[5], signal[9]) = (2.0, -1.5, 1.0);
    let measure = |x: &[f64]| -> Vec<f64> {
        matrix.chunks_exact(dim).take(rows).map(|row| row.iter().zip(x).map(|(a, x)| a * x).sum()).collect()
    };
    let measured = measure(&signal);
    let misfit = |x: &[f64]| measure(x).iter().zip(&measured).map(|(a, b)| (a - b).powi(2)).sum::<f64>();
    let config = CboConfig {
        init: InitialLaw::Normal { mean: 0.0.into(), variance: 0.01.into() },
        ..CboConfig::of(Method::Mirror(Mirror::Sparse { threshold: 1.0 }))
    };
    let run = solve(&config, &from_fn(dim, misfit), &mut ()).expect("a run");
    let found = &run.best().x;
    let support: Vec<usize> = (0..dim).filter(|&k| found[k] != 0.0).collect();
    assert!(run.best().value < 1e-4 && support == [2, 5, 9], "{found:?} {}", run.best().value);
}

#[test]
fn wrong_settings_are_refused_by_name() {
    let message = |config: CboConfig| config.check(5).expect_err("wrong").to_string();
    let of = |map| CboConfig::of(Method::Mirror(map));
    let bounds = Some(BOUNDS.to_vec());
    let cases = [
        (of(Mirror::Box), "bounds = none: the map keeps particles in the bounds of the run; give finite bounds"),
        (
            CboConfig { bounds: Some(vec![(0.0, f64::INFINITY); 5]), ..of(Mirror::Box) },
            "bounds = 0,inf: the map box needs finite bounds on both sides",
        ),
        (CboConfig { bounds: bounds.clone(), bound_handling: BoundHandling::None, ..of(Mirror::Box) }, "bounds = none"),
        (
            CboConfig { bounds, ..of(Mirror::Simplex { temperature: 0.5 }) },
            "bounds = 5 pairs: particles of method mirror with map=simplex have a set of their own; give no bounds",
        ),
        (of(Mirror::Simplex { temperature: 0.0 }), "mirror with temperature = 0: must be a positive finite number"),
        (of(Mirror::Ball { radius: f64::NAN, centre: 0.0 }), "mirror with radius = NaN"),
        (of(Mirror::Ball { radius: 1.0, centre: f64::INFINITY }), "mirror with centre = inf: must be a finite number"),
        (of(Mirror::Sparse { threshold: -1.0 }), "threshold = -1: must be zero or a positive finite number"),
        (
            CboConfig { scheme: Scheme::DriftFirst, ..of(Mirror::Sparse { threshold: 1.0 }) },
            "scheme = drift-first: is not a setting of method mirror",
        ),
        (CboConfig { kick: Some(1e-5), ..of(Mirror::Sparse { threshold: 1.0 }) }, "kick = 0.00001: is not a setting"),
    ];
    for (config, part) in cases {
        let text = message(config);
        assert!(text.contains(part), "{text}");
    }
}
