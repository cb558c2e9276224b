//! Every way to end a run, and every setting that is refused.

use cbo::{
    Alpha, CboConfig, Clock, Coordinates, Geometric, History, InitialLaw, Sigma, StopReason, Update, from_fn, solve,
};

fn sphere(x: &[f64]) -> f64 {
    x.iter().map(|v| v * v).sum()
}

fn quick() -> CboConfig {
    CboConfig { particles: 50, steps: Some(10_000), ..CboConfig::default() }
}

fn stop_of(config: &CboConfig) -> (StopReason, u64, u64) {
    let run = solve(config, &from_fn(3, sphere), &mut ()).expect("a run");
    (run.stop(), run.steps(), run.evaluations())
}

#[test]
fn each_stop_stops() {
    assert_eq!(stop_of(&CboConfig { steps: Some(0), ..quick() }), (StopReason::Steps, 0, 51));
    assert_eq!(stop_of(&CboConfig { steps: Some(7), ..quick() }), (StopReason::Steps, 7, 8 * 50 + 1));
    let timed = CboConfig { steps: None, time: Some(1.2), dt: 0.1, ..quick() };
    assert_eq!(stop_of(&timed), (StopReason::Steps, 12, 13 * 50 + 1));
    // 1000 evaluations: 19 steps of 50 and the consensus point; the twentieth would need 1001.
    let (reason, steps, evaluations) = stop_of(&CboConfig { steps: None, max_evaluations: Some(1000), ..quick() });
    assert_eq!((reason, steps, evaluations), (StopReason::Evaluations, 18, 951));
    let exact = CboConfig { steps: None, max_evaluations: Some(1001), ..quick() };
    assert_eq!(stop_of(&exact), (StopReason::Evaluations, 19, 1001));
    assert_eq!(stop_of(&CboConfig { target: Some(1e-3), ..quick() }).0, StopReason::Target);
    assert_eq!(
        stop_of(&CboConfig { diameter: Some(1e-3), sigma: Sigma::Constant(0.5), ..quick() }).0,
        StopReason::Diameter
    );
    let flat =
        solve(&CboConfig { stagnation: Some(20), ..quick() }, &from_fn(3, |_: &[f64]| 1.0), &mut ()).expect("a run");
    assert_eq!((flat.stop(), flat.steps()), (StopReason::Stagnation, 20));
    let endless = CboConfig { steps: None, max_seconds: Some(0.05), ..quick() };
    assert_eq!(stop_of(&endless).0, StopReason::Seconds);
}

#[test]
fn without_any_limit_a_run_ends_when_the_swarm_has_shrunk_or_after_the_default_steps() {
    let open_ended = CboConfig { steps: None, ..quick() };
    let (reason, steps, _) = stop_of(&open_ended);
    assert!(reason == StopReason::Diameter && steps < cbo::DEFAULT_STEPS, "{reason:?} after {steps}");
    let restless = CboConfig { sigma: Sigma::Constant(6.0), ..open_ended };
    assert_eq!(stop_of(&restless).1, cbo::DEFAULT_STEPS);
}

#[test]
fn the_history_thins_itself() {
    let mut history = History::new(16);
    let run = solve(&CboConfig { steps: Some(1000), ..quick() }, &from_fn(3, sphere), &mut history).expect("a run");
    let steps: Vec<u64> = history.records().iter().map(|r| r.step).collect();
    assert!(steps.len() <= 16 && steps.len() > 7, "{steps:?}");
    assert_eq!(steps[0], 0);
    assert!(steps.windows(2).all(|w| w[1] - w[0] == history.spacing()), "{steps:?}");
    assert!(history.records().last().is_some_and(|r| r.best >= run.best().value && r.spread >= 0.0));
}

/// Field and remedy of the refusal.
fn refusal(config: &CboConfig) -> String {
    config.check(3).expect_err("a refusal").to_string()
}

#[test]
fn bad_settings_are_refused_by_name() {
    let geometric = |start, factor, cap| Geometric { start, factor, cap, clock: Clock::Step };
    let uniform = |low: f64, high: f64| InitialLaw::Uniform { low: low.into(), high: high.into() };
    let cases = [
        (CboConfig { particles: 0, ..quick() }, "particles = 0: must be at least 1"),
        (CboConfig { threads: 100_000, ..quick() }, "threads = 100000: at most 1024; 0 takes one per core"),
        (CboConfig { dt: 0.0, ..quick() }, "dt = 0: must be a positive finite number"),
        (CboConfig { dt: f64::NAN, ..quick() }, "dt = NaN: must be a positive finite number"),
        (CboConfig { lambda: f64::INFINITY, ..quick() }, "lambda = inf: must be a positive finite number"),
        (CboConfig { lambda: -1.0, ..quick() }, "lambda = -1: must be a positive finite number"),
        (
            CboConfig { sigma: Sigma::Constant(-0.1), ..quick() },
            "sigma = -0.1: must be zero or a positive finite number",
        ),
        (
            CboConfig { sigma: Sigma::Constant(f64::NAN), ..quick() },
            "sigma = NaN: must be zero or a positive finite number",
        ),
        (CboConfig { alpha: Alpha::Constant(0.0), ..quick() }, "alpha = 0: must be positive; inf is allowed"),
        (CboConfig { alpha: Alpha::Constant(f64::NAN), ..quick() }, "alpha = NaN: must be positive; inf is allowed"),
        (
            CboConfig { alpha: Alpha::EffectiveSampleSize(1.0), ..quick() },
            "alpha = ess:1: the fraction must lie between 0 and 1",
        ),
        (
            CboConfig { alpha: Alpha::Geometric(geometric(1.0, 2.0, 0.5)), ..quick() },
            "alpha = cap 0.5: the cap must lie where the schedule goes",
        ),
        (
            CboConfig { sigma: Sigma::Geometric(geometric(1.0, 2.0, f64::INFINITY)), ..quick() },
            "sigma = inf: a growing sigma needs a finite cap",
        ),
        (CboConfig { batch: Some(7), ..quick() }, "batch = 7: must divide the number of particles, 50"),
        (CboConfig { batch: Some(0), ..quick() }, "batch = 0: must divide the number of particles, 50"),
        (
            CboConfig { update: Update::Partial, ..quick() },
            "update = partial: makes sense only with a batch smaller than the swarm",
        ),
        (CboConfig { init: uniform(1.0, 1.0), ..quick() }, "init = uniform on [1, 1]: low must be below high"),
        (
            CboConfig { init: uniform(f64::NEG_INFINITY, 1.0), ..quick() },
            "init = uniform on [-inf, 1]: a uniform law needs a finite box",
        ),
        (
            CboConfig { init: InitialLaw::Normal { mean: 0.0.into(), variance: (-1.0).into() }, ..quick() },
            "init = normal with variance -1: a variance is zero or positive",
        ),
        (
            CboConfig {
                init: InitialLaw::Normal { mean: Coordinates::Each(vec![0.0; 2]), variance: 1.0.into() },
                ..quick()
            },
            "init = 2 numbers: one number, or one for each of 3 coordinates",
        ),
        (
            CboConfig { init: InitialLaw::Points(vec![0.0; 9]), ..quick() },
            "init = 9 numbers: 50 particles in 3 dimensions need 150",
        ),
        (
            CboConfig { bounds: Some(vec![(0.0, 1.0); 2]), ..quick() },
            "bounds = 2 pairs: one pair for each of 3 coordinates",
        ),
        (CboConfig { bounds: Some(vec![(2.0, 1.0); 3]), ..quick() }, "bounds = 2,1: low must be below high"),
        (CboConfig { kick: Some(0.0), ..quick() }, "kick = 0: must be a positive finite number"),
        (CboConfig { freeze: Some(vec![0.0; 4]), ..quick() }, "freeze = 4 numbers: a point has 3 coordinates"),
        (
            CboConfig { freeze: Some(vec![0.0; 3]), kick: Some(1e-5), ..quick() },
            "kick = set: a frozen consensus point never moves, so the kick would never end",
        ),
        (
            CboConfig { steps: Some(100), time: Some(4.0), dt: 0.01, ..quick() },
            "steps = 100: contradicts time = 4, which is 400 steps of dt = 0.01; give one of the two",
        ),
        (
            CboConfig { max_evaluations: Some(50), ..quick() },
            "max_evaluations = 50: contradicts the first step, which alone takes 51: one per particle, and one for the consensus point",
        ),
        (
            CboConfig { steps: None, time: Some(0.04), dt: 0.1, ..quick() },
            "time = 0.04: must be a multiple of dt = 0.1; 0.1 is",
        ),
        (CboConfig { max_seconds: Some(-1.0), ..quick() }, "max_seconds = -1: must be a positive finite number"),
        (CboConfig { target: Some(f64::NAN), ..quick() }, "target = NaN: must be a number"),
        (CboConfig { stagnation: Some(0), ..quick() }, "stagnation = 0: must be at least 1"),
        (CboConfig { epoch_steps: Some(0), ..quick() }, "epoch_steps = 0: must be at least 1"),
    ];
    for (config, message) in cases {
        assert_eq!(refusal(&config), message);
    }
    assert_eq!(quick().check(0).expect_err("a refusal").to_string(), "dim = 0: must be at least 1");
    assert!(CboConfig { steps: Some(400), time: Some(4.0), dt: 0.01, ..quick() }.check(3).is_ok());
    assert!(CboConfig { alpha: Alpha::Constant(f64::INFINITY), ..quick() }.check(3).is_ok());
}

#[test]
fn stability_bounds() {
    let config = CboConfig { lambda: 1.0, dt: 0.01, sigma: Sigma::Constant(0.32), ..CboConfig::default() };
    assert!((config.mean_square_factor(16) - (0.9801 + 0.001024)).abs() < 1e-12);
    // sigma^2 < 2 lambda - lambda^2 dt
    assert!((config.largest_stable_sigma(16).expect("stable") - 1.99f64.sqrt()).abs() < 1e-12);
    let isotropic = CboConfig { diffusion: cbo::Diffusion::Isotropic, ..config.clone() };
    assert!((isotropic.largest_stable_sigma(16).expect("stable") - (1.99f64 / 16.0).sqrt()).abs() < 1e-12);
    assert_eq!(CboConfig { lambda: 300.0, ..config }.largest_stable_sigma(16), None);
}
