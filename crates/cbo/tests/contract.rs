//! Bit-identity at any number of threads, independence of N, and what objectives may do.

use cbo::{
    Adam, Alpha, BoundHandling, CboConfig, EvalError, FrameFactor, Grouping, Hypersurface, InitialLaw, Jumps, Memory,
    Method, Mirror, Objective, Polarised, Rows, Sampling, Scalar, Sigma, SolveError, Sphere, StepContext, StopReason,
    Update, from_fn, solve,
};
use std::sync::atomic::{AtomicU64, Ordering};

/// sum_k (x_k - 1)^2 (1 + sin^2 of its coordinate), in any precision and grouping.
struct Bumpy {
    dim: usize,
    grouping: Grouping,
}

impl<T: Scalar> Objective<T> for Bumpy {
    fn dim(&self) -> usize {
        self.dim
    }
    fn energies(&self, _at: StepContext, rows: Rows<'_, T>, out: &mut [T]) -> Result<(), EvalError> {
        for (row, energy) in rows.iter().zip(out) {
            *energy =
                T::from_f64(row.iter().map(|x| (x.to_f64() - 1.0).powi(2) * (1.0 + x.to_f64().sin().powi(2))).sum());
        }
        Ok(())
    }
    fn grouping(&self) -> Grouping {
        self.grouping
    }
}

fn fingerprint<T: Scalar>(config: &CboConfig, objective: &Bumpy) -> Vec<u64> {
    let run = solve::<T>(config, objective, &mut ()).expect("a run");
    let positions = run.ensemble().rows().as_slice().iter();
    let numbers = positions.chain(&run.best().x).chain(&run.consensus().x).chain(run.energies());
    numbers
        .map(|x| x.to_f64().to_bits())
        .chain([run.best().value.to_bits(), run.alpha().to_bits(), run.evaluations()])
        .collect()
}

#[test]
fn results_are_bit_identical_for_any_number_of_threads() {
    // More than 65536 coordinates, so that threads are really used; the last block is ragged.
    let base = CboConfig {
        particles: 8_020,
        alpha: Alpha::Constant(3.0),
        sigma: Sigma::Constant(0.7),
        steps: Some(15),
        init: InitialLaw::uniform(&[(-3.0, 3.0); 11]),
        ..CboConfig::default()
    };
    let usual = CboConfig::default();
    let variants = [
        base.clone(),
        CboConfig { alpha: Alpha::EffectiveSampleSize(0.2), ..base.clone() },
        CboConfig { batch: Some(401), kick: Some(0.05), ..base.clone() },
        CboConfig { batch: Some(401), update: Update::Partial, kick: Some(10.0), ..base.clone() },
        CboConfig { batch: Some(10), reduction: Some(Default::default()), epoch_steps: Some(5), ..base.clone() },
        CboConfig { reduction: Some(Default::default()), epoch_steps: Some(3), ..base.clone() },
        CboConfig { diffusion: cbo::Diffusion::Isotropic, bounds: Some(vec![(-3.0, 3.0); 11]), ..base.clone() },
        CboConfig { truncation: Some(0.5), ..base.clone() },
        CboConfig { truncation: Some(0.5), diffusion: cbo::Diffusion::Isotropic, ..base.clone() },
        CboConfig { method: Method::Memory(Memory::default()), ..base.clone() },
        CboConfig { method: "hopping:momentum=0.9,rate=0.2,cosine=true".parse().expect("a method"), ..base.clone() },
        CboConfig {
            method: "hopping:weights=ranks,start=point,antithetic=false".parse().expect("a method"),
            alpha: Alpha::Constant(f64::INFINITY),
            ..base.clone()
        },
        CboConfig {
            method: Method::Memory(Memory { gradient: 0.1, gradient_noise: 0.1, ..Memory::default() }),
            steps: Some(3),
            ..base.clone()
        },
        CboConfig {
            method: Method::Memory(Memory { beta: 1.0, ..Memory::default() }),
            batch: Some(401),
            ..base.clone()
        },
        CboConfig { steps: Some(2), method: Method::Polarised(Polarised::default()), ..base.clone() },
        CboConfig { method: Method::Polarised(Polarised::default()), batch: Some(401), ..base.clone() },
        CboConfig { sigma: usual.sigma, method: Method::Sampling(Sampling { law: true }), ..base.clone() },
        CboConfig {
            sigma: usual.sigma,
            method: Method::Sampling(Sampling::default()),
            batch: Some(401),
            ..base.clone()
        },
    ];
    let variants = [variants.to_vec(), others(&base, 11)].concat();
    for (i, config) in variants.iter().enumerate() {
        let mut seen: Option<[Vec<u64>; 2]> = None;
        for grouping in [Grouping::Blocks, Grouping::Single, Grouping::Together] {
            for threads in [1, 2, 3, 8] {
                let config = CboConfig { threads, ..config.clone() };
                let objective = Bumpy { dim: 11, grouping };
                let now = [fingerprint::<f64>(&config, &objective), fingerprint::<f32>(&config, &objective)];
                match &seen {
                    None => seen = Some(now),
                    Some(first) => assert!(*first == now, "variant {i}, {grouping:?}, {threads} threads"),
                }
            }
        }
    }
}

/// The other methods, with batches and reductions where they have them.
fn others(base: &CboConfig, dim: usize) -> Vec<CboConfig> {
    let with = |method| CboConfig { method, ..base.clone() };
    let bounds = Some(vec![(-3.0, 3.0); dim]);
    let (adam, sphere) = (Method::Adam(Adam::default()), Method::Sphere(Sphere::default()));
    let stiefel = Method::Hypersurface(Hypersurface::Stiefel { columns: 1, factor: FrameFactor::Qr });
    vec![
        with(Method::Jumps(Jumps::default())),
        CboConfig {
            batch: Some(401),
            update: Update::Partial,
            kick: Some(1.0),
            ..with(Method::Jumps(Jumps::default()))
        },
        CboConfig { bounds: bounds.clone(), ..with(adam) },
        CboConfig { batch: Some(10), reduction: Some(Default::default()), epoch_steps: Some(5), ..with(adam) },
        CboConfig { bounds, batch: Some(401), update: Update::Partial, ..with(Method::Mirror(Mirror::Box)) },
        CboConfig {
            reduction: Some(Default::default()),
            epoch_steps: Some(3),
            ..with(Method::Mirror(Mirror::Sparse { threshold: 0.5 }))
        },
        with(Method::Mirror(Mirror::Simplex { temperature: 0.5 })),
        with(Method::Mirror(Mirror::Ball { radius: 2.0, centre: 0.0 })),
        with(sphere),
        CboConfig { diffusion: cbo::Diffusion::Isotropic, batch: Some(401), update: Update::Partial, ..with(sphere) },
        CboConfig { batch: Some(401), ..with(stiefel) },
    ]
}

/// Positions after some steps towards a frozen point do not depend on how many particles there are.
#[test]
fn a_particle_does_not_depend_on_the_number_of_particles() {
    let run = |particles| {
        let config = CboConfig {
            particles,
            freeze: Some(vec![0.5; 5]),
            steps: Some(7),
            sigma: Sigma::Constant(0.4),
            init: InitialLaw::Normal { mean: 0.0.into(), variance: 2.0.into() },
            ..CboConfig::default()
        };
        solve(&config, &from_fn(5, |x: &[f64]| x[0]), &mut ()).expect("a run").ensemble().rows().as_slice().to_vec()
    };
    let (few, many) = (run(37), run(5_000));
    assert_eq!(few, many[..few.len()]);
}

#[test]
fn adding_a_constant_to_the_energies_changes_nothing() {
    let config = CboConfig { particles: 300, alpha: Alpha::Constant(2.0), steps: Some(30), ..CboConfig::default() };
    // Multiples of 2^-10 below 2^20: the shifted energies are exact.
    let rounded = |x: &[f64]| (x.iter().map(|v| v * v).sum::<f64>() * 1024.0).round() / 1024.0;
    let plain = solve(&config, &from_fn(4, rounded), &mut ()).expect("a run");
    let lifted = solve(&config, &from_fn(4, move |x: &[f64]| rounded(x) + 4096.0), &mut ()).expect("a run");
    assert_eq!(plain.consensus().x, lifted.consensus().x);
    assert_eq!(plain.ensemble().rows().as_slice(), lifted.ensemble().rows().as_slice());
}

/// Noise belongs to the particle's number, so permuted particles with the consensus frozen go where their number says, and
/// the consensus of a permuted swarm is the same up to the rounding of a sum in another order.
#[test]
fn permuting_particles_permutes_energies_and_keeps_the_consensus() {
    let points: Vec<f64> = (0..300 * 3).map(|i| (f64::from(i) * 0.618).sin() * 3.0).collect();
    let mut permuted = points.clone();
    permuted.rotate_left(3 * 117);
    let run = |init: Vec<f64>| {
        let config = CboConfig {
            particles: 300,
            alpha: Alpha::Constant(1.5),
            init: InitialLaw::Points(init),
            steps: Some(0),
            ..CboConfig::default()
        };
        solve(&config, &from_fn(3, |x: &[f64]| x.iter().map(|v| v * v).sum()), &mut ()).expect("a run")
    };
    let (a, b) = (run(points), run(permuted));
    let mut energies = a.energies().to_vec();
    energies.rotate_left(117);
    assert_eq!(energies, b.energies());
    for (x, y) in a.consensus().x.iter().zip(&b.consensus().x) {
        assert!((x - y).abs() < 1e-14, "{x} and {y}");
    }
}

#[test]
fn reflection_keeps_every_particle_inside() {
    for handling in [BoundHandling::Reflect, BoundHandling::Clip] {
        let config = CboConfig {
            particles: 200,
            sigma: Sigma::Constant(30.0), // steps many boxes long
            bounds: Some(vec![(-1.0, 2.0), (5.0, 5.5), (0.0, f64::INFINITY)]),
            bound_handling: handling,
            init: InitialLaw::Normal { mean: 0.0.into(), variance: 100.0.into() },
            steps: Some(50),
            ..CboConfig::default()
        };
        let mut inside = |step: &cbo::StepReport<'_, f64>| {
            let fine = |row: &[f64]| (-1.0..=2.0).contains(&row[0]) && (5.0..=5.5).contains(&row[1]) && row[2] >= 0.0;
            assert!(step.ensemble().rows().iter().all(fine));
            std::ops::ControlFlow::Continue(())
        };
        solve(&config, &from_fn(3, |x: &[f64]| x.iter().sum()), &mut inside).expect("a run");
    }
}

#[test]
fn failures_are_counted_and_do_not_spread() {
    // NaN left of -1, infeasible right of 1.
    let objective = from_fn(2, |x: &[f64]| match x[0] {
        v if v < -1.0 => f64::NAN,
        v if v > 1.0 => f64::INFINITY,
        v => v * v + x[1] * x[1],
    });
    let config = CboConfig { particles: 100, steps: Some(200), ..CboConfig::default() };
    let run = solve(&config, &objective, &mut ()).expect("a run");
    assert!(run.failed_evaluations() > 10 && run.infeasible_evaluations() > 10);
    assert!(run.best().value < 1e-3 && run.ensemble().rows().as_slice().iter().all(|x| x.is_finite()));
    let strict = solve(&CboConfig { strict: true, ..config.clone() }, &objective, &mut ());
    let Err(SolveError::Strict { step: 0, particle, energy }) = strict else { panic!("{strict:?}") };
    assert!(particle < 100 && energy.is_nan());
    let hopeless = solve(&config, &from_fn(2, |_: &[f64]| f64::NAN), &mut ());
    assert!(matches!(
        hopeless,
        Err(SolveError::NoFiniteEnergy { step: 0, evaluated: 100, failed: 100, infeasible: 0 })
    ));
}

struct Broken;

impl Objective<f64> for Broken {
    fn dim(&self) -> usize {
        1
    }
    fn energies(&self, at: StepContext, rows: Rows<'_, f64>, out: &mut [f64]) -> Result<(), EvalError> {
        if at.step == 3 {
            return Err(EvalError { row: Some(rows.len() - 1), ..EvalError::new("the simulator vanished") });
        }
        out.iter_mut().zip(rows.iter()).for_each(|(e, row)| *e = row[0]);
        Ok(())
    }
}

#[test]
fn an_objective_that_gives_up_ends_the_run_with_step_and_cause() {
    let error = solve(&CboConfig { particles: 10, ..CboConfig::default() }, &Broken, &mut ()).expect_err("broken");
    assert_eq!(error.to_string(), "step 3: the objective failed");
    let cause = std::error::Error::source(&error).expect("a cause");
    assert_eq!(cause.to_string(), "row 9: the simulator vanished");
}

/// Energies depend on the data batch: data batch b shifts all of them by -b, so that the last would always look best.
struct Stochastic {
    calls: AtomicU64,
}

impl Objective<f64> for Stochastic {
    fn dim(&self) -> usize {
        2
    }
    fn energies(&self, at: StepContext, rows: Rows<'_, f64>, out: &mut [f64]) -> Result<(), EvalError> {
        self.calls.fetch_add(rows.len() as u64, Ordering::Relaxed);
        for (row, energy) in rows.iter().zip(out) {
            *energy = row.iter().map(|x| x * x).sum::<f64>() + 1000.0 * at.data_batch as f64;
        }
        Ok(())
    }
    fn is_stochastic(&self) -> bool {
        true
    }
}

#[test]
fn best_values_of_different_data_batches_are_never_compared() {
    let config = CboConfig { particles: 40, batch: Some(10), steps: Some(41), ..CboConfig::default() };
    let objective = Stochastic { calls: AtomicU64::new(0) };
    let mut watch = |step: &cbo::StepReport<'_, f64>| {
        // A round of four batches shares its data; the best belongs to the current round.
        let round = step.step() / 4;
        let data = (step.best().value / 1000.0).floor();
        assert_eq!(data, round as f64, "step {}", step.step());
        std::ops::ControlFlow::Continue(())
    };
    let run = solve(&config, &objective, &mut watch).expect("a run");
    assert_eq!(run.evaluations(), 42 * 10 + 1);
    assert_eq!(run.evaluations(), objective.calls.load(Ordering::Relaxed));
    assert_eq!(run.stop(), StopReason::Steps);
}

/// Rows longer than a tile are moved in pieces; each coordinate still gets its own normal and its own centre.
#[test]
fn long_rows_move_as_short_ones_do() {
    use cbo::noise::{Noise, Stream, scratch_len};
    let (dim, seed, sigma, dt) = (5003, 7, 0.4f64, 0.1f64);
    let centre: Vec<f64> = (0..dim).map(|k| (k as f64 * 0.37).sin()).collect();
    let start: Vec<f64> = (0..2 * dim).map(|k| (k as f64 * 0.73).cos()).collect();
    let config = CboConfig {
        particles: 2,
        init: InitialLaw::Points(start.clone()),
        freeze: Some(centre.clone()),
        sigma: Sigma::Constant(sigma),
        dt,
        steps: Some(1),
        seed,
        ..CboConfig::default()
    };
    let sphere = from_fn(dim, |x: &[f64]| x.iter().map(|v| v * v).sum());
    let run = solve(&config, &sphere, &mut ()).expect("a run");
    for particle in 0..2 {
        let mut normals = vec![0.0f64; scratch_len(1, dim)];
        Noise::new(seed, Stream::Diffusion, 0).fill_normals(particle as u32, 1, dim, &mut normals);
        let moved = run.ensemble().rows().row(particle);
        for k in 0..dim {
            let x = start[particle * dim + k] - centre[k];
            let expected = centre[k] + x * (1.0 - dt + sigma * dt.sqrt() * normals[k]);
            assert!((moved[k] - expected).abs() < 1e-14 * (1.0 + expected.abs()), "{particle} {k}");
        }
    }
}
