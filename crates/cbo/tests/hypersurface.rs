//! On surfaces: against a plain program, whether positions stay on them, and what is found there.

use cbo::noise::{Noise, Stream, scratch_len};
use cbo::{
    Alpha, CboConfig, Diffusion, FrameFactor, Hypersurface, InitialLaw, Level, Method, Scalar, Sigma, SolveError,
    Sphere, StepReport, Surface, from_fn, solve,
};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const SEED: u64 = 61;
const TORUS: Hypersurface = Hypersurface::Torus { major: 2.0, minor: 0.75 };

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn tilted<T: Scalar>(x: &[T]) -> T {
    T::from_f64(x.iter().enumerate().map(|(k, x)| (k as f64 * 1.3).sin() * x.to_f64() + (4.0 * x.to_f64()).cos()).sum())
}

/// How far a point is from the surface: all surfaces here, as equations.
fn residual(surface: Hypersurface, x: &[f64]) -> f64 {
    match surface {
        Hypersurface::Sphere { radius } => (dot(x, x).sqrt() - radius).abs(),
        Hypersurface::Torus { major, minor } => {
            let across = (x[0] * x[0] + x[1] * x[1]).sqrt() - major;
            ((across * across + x[2] * x[2]).sqrt() - minor).abs()
        }
        Hypersurface::Stiefel { columns, .. } => {
            let entry = |i: usize, j: usize| {
                let product: f64 = x.chunks_exact(columns).map(|row| row[i] * row[j]).sum();
                (product - f64::from(u8::from(i == j))).abs()
            };
            (0..columns * columns).map(|at| entry(at / columns, at % columns)).fold(0.0, f64::max)
        }
        _ => ellipsoid(x).abs(),
    }
}

/// Half axes 1, 2, 3, ...
fn ellipsoid(x: &[f64]) -> f64 {
    x.iter().enumerate().map(|(k, x)| (x / (k as f64 + 1.0)).powi(2)).sum::<f64>() - 1.0
}

/// The same, whose gradient is known.
struct Ellipsoid(Arc<AtomicU64>);

impl Level for Ellipsoid {
    fn level(&self, x: &[f64]) -> f64 {
        ellipsoid(x)
    }
    fn gradient(&self, x: &[f64], out: &mut [f64]) -> bool {
        self.0.fetch_add(1, Ordering::Relaxed);
        out.iter_mut().zip(x).enumerate().for_each(|(k, (g, x))| *g = 2.0 * x / (k as f64 + 1.0).powi(2));
        true
    }
}

fn config_of(surface: Hypersurface) -> CboConfig {
    CboConfig {
        particles: 40,
        alpha: Alpha::Constant(2.0),
        sigma: Sigma::Constant(0.5),
        steps: Some(40),
        seed: SEED,
        surface: (surface == Hypersurface::Level).then(|| Surface::new(ellipsoid)),
        ..CboConfig::of(Method::Hypersurface(surface))
    }
}

const fn stiefel(columns: usize) -> Hypersurface {
    Hypersurface::Stiefel { columns, factor: FrameFactor::Polar }
}

const fn by_qr(columns: usize) -> Hypersurface {
    Hypersurface::Stiefel { columns, factor: FrameFactor::Qr }
}

fn surfaces() -> [(Hypersurface, usize); 8] {
    [
        (Hypersurface::Sphere { radius: 2.0 }, 5),
        (TORUS, 3),
        (stiefel(1), 4),
        (stiefel(3), 18),
        (stiefel(4), 16),
        (by_qr(1), 4),
        (by_qr(3), 18),
        (Hypersurface::Level, 4),
    ]
}

fn stays<T: Scalar>(surface: Hypersurface, dim: usize, config: &CboConfig, rounding: f64) {
    let on_it = |x: &[T]| residual(surface, &x.iter().map(|x| x.to_f64()).collect::<Vec<_>>()) < rounding;
    let mut observer = |at: &StepReport<'_, T>| {
        assert!(at.ensemble().rows().iter().all(on_it), "{surface:?}, step {}", at.step());
        ControlFlow::Continue(())
    };
    let run = solve::<T>(config, &from_fn(dim, tilted), &mut observer).expect("a run");
    assert!(on_it(&run.best().x) && on_it(&run.consensus().x), "{surface:?}");
}

#[test]
fn positions_stay_on_their_surface_after_every_step() {
    for (surface, dim) in surfaces() {
        for diffusion in [Diffusion::Anisotropic, Diffusion::Isotropic] {
            for sigma in [0.5, 5.0] {
                let config = CboConfig { diffusion, sigma: Sigma::Constant(sigma), ..config_of(surface) };
                stays::<f64>(surface, dim, &config, 1e-12);
                stays::<f32>(surface, dim, &config, 3e-6);
            }
        }
    }
}

/// The nearest point to `x` on the surface, by a long way: many small steps against the residual's own gradient are no way to do this, so
/// each surface has its formula.
fn nearest(surface: Hypersurface, x: &[f64]) -> Vec<f64> {
    match surface {
        Hypersurface::Torus { major, minor } => {
            let angle = x[1].atan2(x[0]);
            let across = (x[0] * x[0] + x[1] * x[1]).sqrt() - major;
            let tube = x[2].atan2(across);
            let distance = major + minor * tube.cos();
            vec![distance * angle.cos(), distance * angle.sin(), minor * tube.sin()]
        }
        // One column: a vector on the unit sphere.
        Hypersurface::Stiefel { columns: 1, .. } => x.iter().map(|v| v / dot(x, x).sqrt()).collect(),
        Hypersurface::Sphere { radius } => x.iter().map(|v| radius * v / dot(x, x).sqrt()).collect(),
        _ => unreachable!("no formula"),
    }
}

fn normal(surface: Hypersurface, x: &[f64]) -> Vec<f64> {
    match surface {
        Hypersurface::Torus { major, minor } => {
            let across = (x[0] * x[0] + x[1] * x[1]).sqrt();
            vec![(x[0] - major * x[0] / across) / minor, (x[1] - major * x[1] / across) / minor, x[2] / minor]
        }
        _ => x.iter().map(|v| v / dot(x, x).sqrt()).collect(),
    }
}

/// Where a step from `v` ends.
fn landed(surface: Hypersurface, v: &[f64], step: &[f64]) -> Vec<f64> {
    if let Hypersurface::Stiefel { columns: 2, factor: FrameFactor::Qr } = surface {
        return landed_by_qr(v, step);
    }
    let n = normal(surface, v);
    let out = dot(&n, step);
    nearest(surface, &v.iter().zip(step).zip(&n).map(|((v, step), n)| v + step - out * n).collect::<Vec<_>>())
}

/// The same for two columns, by Cholesky's decomposition A^T A = R^T R and Q = A / R.
fn landed_by_qr(v: &[f64], step: &[f64]) -> Vec<f64> {
    let gram = |a: &[f64], b: &[f64], i: usize, j: usize| -> f64 {
        a.chunks_exact(2).zip(b.chunks_exact(2)).map(|(a, b)| a[i] * b[j]).sum()
    };
    let symmetric = |i: usize, j: usize| 0.5 * (gram(v, step, i, j) + gram(v, step, j, i));
    let tangent = |(v, z): (&[f64], &[f64]), j: usize| z[j] - v[0] * symmetric(0, j) - v[1] * symmetric(1, j);
    let a: Vec<f64> = v
        .chunks_exact(2)
        .zip(step.chunks_exact(2))
        .flat_map(|(v, z)| [0, 1].map(|j| v[j] + tangent((v, z), j)))
        .collect();
    let first = gram(&a, &a, 0, 0).sqrt();
    let across = gram(&a, &a, 0, 1) / first;
    let second = (gram(&a, &a, 1, 1) - across * across).sqrt();
    a.chunks_exact(2).flat_map(|row| [row[0] / first, (row[1] - across * row[0] / first) / second]).collect()
}

#[test]
fn the_engine_does_what_a_plain_program_does() {
    for (surface, dim) in surfaces()[..3].iter().chain(&[(by_qr(2), 8)]) {
        for diffusion in [Diffusion::Anisotropic, Diffusion::Isotropic] {
            let config = CboConfig { diffusion, ..config_of(*surface) };
            let mut expected: Vec<Vec<f64>> = Vec::new();
            let mut observer = |at: &StepReport<'_, f64>| {
                let rows = at.ensemble().rows();
                for (row, v) in rows.iter().zip(&expected) {
                    assert!(row.iter().zip(v).all(|(a, b)| (a - b).abs() < 1e-12), "{config:?} {row:?} {v:?}");
                }
                let moved = |(i, v): (usize, &[f64])| {
                    let mut xi = vec![0.0; scratch_len(1, *dim)];
                    Noise::new(SEED, Stream::Diffusion, at.step()).fill_normals(i as u32, 1, *dim, &mut xi);
                    let far: Vec<f64> = v.iter().zip(at.consensus()).map(|(v, c)| v - c).collect();
                    let size = |k: usize| match diffusion {
                        Diffusion::Anisotropic => far[k],
                        Diffusion::Isotropic => dot(&far, &far).sqrt(),
                    };
                    let step: Vec<f64> = (0..*dim)
                        .map(|k| at.sigma() * config.dt.sqrt() * size(k) * xi[k] - config.lambda * config.dt * far[k])
                        .collect();
                    landed(*surface, v, &step)
                };
                expected = rows.iter().enumerate().map(moved).collect();
                ControlFlow::Continue(())
            };
            solve(&config, &from_fn(*dim, tilted::<f64>), &mut observer).expect("a run");
        }
    }
}

/// A sphere as a level set, with central differences and with the gradient, moves as the sphere does.
#[test]
fn level_sets_are_the_surfaces_that_they_say() {
    let given = CboConfig { steps: Some(15), ..config_of(Hypersurface::Sphere { radius: 2.0 }) };
    let level = Surface::new(|x: &[f64]| dot(x, x) - 4.0);
    let own = CboConfig { method: Method::Hypersurface(Hypersurface::Level), surface: Some(level), ..given.clone() };
    let run =
        |config: &CboConfig| solve(config, &from_fn(5, tilted::<f64>), &mut ()).expect("a run").ensemble().clone();
    let (a, b) = (run(&given), run(&own));
    for (x, y) in a.rows().as_slice().iter().zip(b.rows().as_slice()) {
        assert!((x - y).abs() < 1e-6, "{x} {y}");
    }
    let asked = Arc::new(AtomicU64::new(0));
    let known = CboConfig { surface: Some(Surface::new(Ellipsoid(asked.clone()))), ..config_of(Hypersurface::Level) };
    let (c, d) = (run(&known), run(&config_of(Hypersurface::Level)));
    assert!(asked.load(Ordering::Relaxed) > 1000);
    assert!(c.rows().as_slice().iter().zip(d.rows().as_slice()).all(|(x, y)| (x - y).abs() < 1e-6));
}

/// The way back to the surface has the mean of the curvature term: on the torus, whose mean curvature at its outer and inner equator is known.
#[test]
fn the_mean_of_a_small_step_is_that_of_the_equation_on_the_surface() {
    let (particles, dt, sigma) = (400_000, 1e-4, 0.5);
    // Curvatures 1/r along the tube, and 1/(R + r) or -1/(R - r) along the equator, outwards from the tube.
    for (distance, outward, curvature) in [(2.75, 1.0, 1.0 / 0.75 + 1.0 / 2.75), (1.25, -1.0, 1.0 / 0.75 - 1.0 / 1.25)]
    {
        let config = CboConfig {
            particles,
            dt,
            sigma: Sigma::Constant(sigma),
            diffusion: Diffusion::Isotropic,
            freeze: Some(vec![0.0; 3]),
            init: InitialLaw::Points([distance, 0.0, 0.0].repeat(particles)),
            steps: Some(1),
            ..CboConfig::of(Method::Hypersurface(TORUS))
        };
        let run = solve(&config, &from_fn(3, |_: &[f64]| 0.0), &mut ()).expect("a run");
        let count = particles as f64;
        let shift = run.ensemble().rows().iter().map(|row| row[0] - distance).sum::<f64>() / count;
        let expected = -0.5 * sigma * sigma * dt * distance * distance * curvature * outward;
        // Each of two squares of normals has twice the variance of its mean.
        let error = expected.abs() * 2.0 * (2.0 / count).sqrt();
        assert!((shift - expected).abs() < 5.0 * error + 20.0 * dt * expected.abs(), "{shift} {expected} +- {error}");
        for k in [1, 2] {
            let mean = run.ensemble().rows().iter().map(|row| row[k]).sum::<f64>() / count;
            assert!(mean.abs() < 5.0 * sigma * distance * (dt / count).sqrt(), "{k}: {mean}");
        }
    }
}

/// The nearest point of the torus to a point outside is known.
#[test]
fn the_nearest_point_of_a_torus() {
    let target = [4.0, 3.0, 5.0];
    let distance = move |x: &[f64]| x.iter().zip(&target).map(|(x, a)| (x - a).powi(2)).sum();
    let config = CboConfig::of(Method::Hypersurface(TORUS));
    let run = solve(&config, &from_fn(3, distance), &mut ()).expect("a run");
    let expected = nearest(TORUS, &target);
    assert!(run.best().x.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-3), "{:?} {expected:?}", run.best().x);
}

/// The two leading eigenvectors of a diagonal matrix: the trace of X^T A X is largest on their span.
#[test]
fn the_leading_eigenspace() {
    let (rows, columns) = (6, 2);
    let trace =
        |x: &[f64]| -x.chunks_exact(columns).enumerate().map(|(i, row)| (rows - i) as f64 * dot(row, row)).sum::<f64>();
    for surface in [stiefel(columns), by_qr(columns)] {
        let config = CboConfig::of(Method::Hypersurface(surface));
        let run = solve(&config, &from_fn(rows * columns, trace), &mut ()).expect("a run");
        assert!(run.best().value < -10.99, "{surface:?} {:?}", run.best());
        let outside: f64 = run.best().x[2 * columns..].iter().map(|x| x * x).sum();
        assert!(outside < 0.01, "{surface:?} {:?}", run.best());
    }
}

/// One column is the sphere; up to Ito's correction, which vanishes with dt, both methods do the same there.
#[test]
fn small_steps_on_the_sphere_agree_with_the_method_of_that_name() {
    let run = |method| {
        let config = CboConfig {
            dt: 1e-6,
            diffusion: Diffusion::Isotropic,
            sigma: Sigma::Constant(0.5),
            steps: Some(50),
            particles: 30,
            ..CboConfig::of(method)
        };
        solve(&config, &from_fn(4, tilted::<f64>), &mut ()).expect("a run").ensemble().clone()
    };
    let sphere = run(Method::Sphere(Sphere::default()));
    for surface in [Hypersurface::Sphere { radius: 1.0 }, stiefel(1)] {
        let other = run(Method::Hypersurface(surface));
        let far = sphere.rows().as_slice().iter().zip(other.rows().as_slice()).map(|(a, b)| (a - b).abs());
        assert!(far.fold(0.0, f64::max) < 1e-6, "{surface:?}");
    }
}

#[test]
fn wrong_settings_are_refused_by_name() {
    let of = |surface| CboConfig::of(Method::Hypersurface(surface));
    let cases = [
        (
            of(Hypersurface::Sphere { radius: -1.0 }),
            3,
            "hypersurface with radius = -1: must be a positive finite number",
        ),
        (
            of(Hypersurface::Torus { major: 1.0, minor: 1.0 }),
            3,
            "minor = 1: must be below major, or the torus meets itself",
        ),
        (of(TORUS), 4, "hypersurface with surface = torus: a torus has 3 coordinates, not 4"),
        (of(stiefel(2)), 7, "columns = 2: 7 coordinates must be a matrix"),
        (of(stiefel(3)), 6, "columns = 3: 6 coordinates"),
        (of(stiefel(0)), 6, "columns = 0"),
        (of(Hypersurface::Level), 3, "the function is missing; give it as the setting surface, in Rust or Python"),
        (
            CboConfig { surface: Some(Surface::new(ellipsoid)), ..CboConfig::default() },
            3,
            "surface = a function: is for method hypersurface:surface=level, not cbo",
        ),
        (
            CboConfig { bounds: Some(vec![(0.0, 1.0); 3]), ..of(TORUS) },
            3,
            "bounds = 3 pairs: particles of method hypersurface stay on their surface; give no bounds, or use",
        ),
    ];
    for (config, dim, part) in cases {
        let text = config.check(dim).expect_err("wrong").to_string();
        assert!(text.contains(part), "{text}");
    }
    // No point has this level.
    let config =
        CboConfig { surface: Some(Surface::new(|x: &[f64]| dot(x, x) + 1.0)), ..config_of(Hypersurface::Level) };
    let none = solve(&config, &from_fn(3, tilted::<f64>), &mut ());
    let Err(SolveError::Config(error)) = none else { panic!("{none:?}") };
    assert_eq!((error.field, error.value.as_str()), ("init", "normal:0.0,1.0"));
}
