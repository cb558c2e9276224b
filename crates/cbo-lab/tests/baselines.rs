//! The baselines: what random search is expected to find, what all of them solve, and what none of them may do.

use cbo::{EvalError, Objective, Rows, StepContext, from_fn};
use cbo_lab::baselines::{ALL, Baseline, BaselineError, Found, Task, minimize};
use cbo_problems::Problem;
use std::sync::Mutex;

fn all() -> Vec<Baseline> {
    Baseline::names().map(|name| name.parse().expect(name)).collect()
}

fn task<'a>(bounds: &'a [(f64, f64)], evaluations: u64, seed: u64) -> Task<'a> {
    Task { bounds, start: &[], evaluations, target: None, seed }
}

fn found(baseline: &Baseline, objective: &dyn Objective<f64>, task: &Task<'_>) -> Found {
    minimize(baseline, objective, task).unwrap_or_else(|e| panic!("{baseline}: {e}"))
}

/// The least of n uniform numbers has the mean 1 / (n + 1) and the variance n / ((n + 1)^2 (n + 2)), and lies below p with probability
/// 1 - (1 - p)^n. 4000 runs, within 4.5 standard errors.
#[test]
fn the_minimum_of_random_search_has_its_law() {
    let (n, runs, p) = (100u64, 4000u64, 0.01f64);
    let height = from_fn(2, |x: &[f64]| x[0]);
    let random: Baseline = "random".parse().expect("a baseline");
    let least: Vec<f64> = (0..runs)
        .map(|seed| found(&random, &height, &task(&[(0.0, 1.0); 2], n, seed)).best.expect("a point").value)
        .collect();
    let (count, n) = (runs as f64, n as f64);
    let mean = least.iter().sum::<f64>() / count;
    let error = (n / (n + 2.0)).sqrt() / (n + 1.0) / count.sqrt();
    assert!((mean - 1.0 / (n + 1.0)).abs() < 4.5 * error, "{mean}");
    let below = least.iter().filter(|v| **v < p).count() as f64 / count;
    let expected = 1.0 - (1.0 - p).powf(n);
    assert!((below - expected).abs() < 4.5 * (expected * (1.0 - expected) / count).sqrt(), "{below}, not {expected}");
    // Record values: the expected number of improvements of n points in a row is 1 + 1/2 + ... + 1/n, its variance the sum of
    // (1 - 1/k) / k.
    let improvements = |seed| found(&random, &height, &task(&[(0.0, 1.0); 2], 100, seed)).improvements.len() as f64;
    let mean = (0..runs).map(improvements).sum::<f64>() / count;
    let (sum, variance) = (1..=100).map(f64::from).fold((0.0, 0.0), |(s, v), k| (s + 1.0 / k, v + (1.0 - 1.0 / k) / k));
    assert!((mean - sum).abs() < 4.5 * (variance / count).sqrt(), "{mean}, not {sum}");
}

/// Runs of 40 that come near to the minimum: of the sphere in five dimensions, and of Rastrigin's function in two, both shifted and rotated.
///
/// Random search has a goal whose probability is known: a ball of radius r = 2 around a point that it cannot leave has the share
/// `8 pi^2 r^5 / 15 / 10.24^5` = 0.0015 of the box, so that 5000 points miss it with probability 0.0006, and a disc of radius 0.1 the share
/// 3.0e-4, which they hit with probability 0.777: at least 22 of 40 runs but for a chance of 0.001. Evolutionary programming is slow to
/// come to rest, because Cauchy numbers are large.
#[test]
fn they_solve_what_is_easy() {
    let goals = [
        ("random", 4.0, 40, 0.5, 22),
        ("annealing", 1e-3, 40, 1e-3, 32),
        ("genetic", 1e-3, 40, 1e-3, 40),
        ("programming", 1e-1, 36, 1e-1, 36),
        ("ants", 1e-3, 40, 1e-3, 40),
        ("pso", 1e-3, 40, 1e-3, 40),
        ("de", 1e-3, 40, 1e-3, 32),
        ("nelder-mead", 1e-3, 40, 1e-3, 40),
    ];
    assert_eq!(goals.map(|goal| goal.0).to_vec(), Baseline::names().collect::<Vec<_>>());
    for (name, near, spheres, low, rastrigins) in goals {
        let baseline: Baseline = name.parse().expect(name);
        let solved = |problem: &str, dim: usize, goal: f64| {
            let one = |seed: u64| {
                let problem = Problem::builder(problem).dim(dim).shift(cbo_problems::Shift::Random(seed)).rotate(seed);
                let problem = problem.build().expect("a problem");
                let best = found(&baseline, &problem, &task(problem.domain(), 5000, seed)).best.expect("a point");
                best.value - problem.minimum() < goal
            };
            (0..40).filter(|seed| one(*seed)).count()
        };
        let counts = (solved("sphere", 5, near), solved("rastrigin", 2, low));
        println!("{name}: {counts:?}");
        assert!(counts.0 >= spheres && counts.1 >= rastrigins, "{name}: {counts:?}");
    }
}

/// Counts evaluations, and notes points outside the box.
struct Watched<F> {
    bounds: Vec<(f64, f64)>,
    function: F,
    seen: Mutex<(u64, u64)>,
}

impl<F: Fn(u64, &[f64]) -> f64 + Sync> Objective<f64> for Watched<F> {
    fn dim(&self) -> usize {
        self.bounds.len()
    }

    fn energies(&self, _: StepContext, rows: Rows<'_, f64>, out: &mut [f64]) -> Result<(), EvalError> {
        let mut seen = self.seen.lock().expect("no panic");
        for (x, energy) in rows.iter().zip(out) {
            let inside = x.iter().zip(&self.bounds).all(|(x, (low, high))| (low..=high).contains(&x));
            *seen = (seen.0 + 1, seen.1 + u64::from(!inside));
            *energy = (self.function)(seen.0, x);
        }
        Ok(())
    }
}

fn watched<F: Fn(u64, &[f64]) -> f64 + Sync>(bounds: &[(f64, f64)], function: F) -> Watched<F> {
    Watched { bounds: bounds.to_vec(), function, seen: Mutex::new((0, 0)) }
}

fn sphere(x: &[f64]) -> f64 {
    x.iter().map(|v| v * v).sum()
}

#[test]
fn budgets_are_kept_exactly_and_the_box_too() {
    // The minimum is at a corner, so that steps lead outside.
    let boxes: [&[(f64, f64)]; 3] = [&[(0.0, 1e-3)], &[(0.0, 5.0), (-9.0, 0.0)], &[(0.0, 1.0); 7]];
    for baseline in all() {
        for bounds in boxes {
            for evaluations in (1..=50).chain([777, 5000]) {
                let objective = watched(bounds, |_, x| sphere(x));
                let found = found(&baseline, &objective, &task(bounds, evaluations, 5));
                let seen = objective.seen.into_inner().expect("no panic");
                assert_eq!((found.evaluations, seen), (evaluations, (evaluations, 0)), "{baseline}");
                let best = found.best.expect("a point");
                assert_eq!(sphere(&best.x), best.value, "{baseline}");
                let last = found.improvements.last().expect("an improvement");
                assert!(last.value == best.value && last.evaluation <= evaluations, "{baseline}");
                let rising = |pair: &[cbo_lab::baselines::Improvement]| {
                    pair[0].evaluation < pair[1].evaluation && pair[0].value > pair[1].value
                };
                assert!(found.improvements.windows(2).all(rising), "{baseline}");
            }
        }
    }
}

#[test]
fn they_start_from_the_points_they_are_given() {
    let bounds = [(-1.0, 1.0); 3];
    // One of them lies outside the box, and is reflected.
    let start: Vec<f64> = (0..300).map(|i| f64::from(i * 37 % 199) / 99.5 - 0.99).collect();
    for baseline in all() {
        let points = Mutex::new(Vec::new());
        let objective = from_fn(3, |x: &[f64]| {
            points.lock().expect("no panic").push(x.to_vec());
            sphere(x)
        });
        found(&baseline, &objective, &Task { start: &start, ..task(&bounds, 30, 1) });
        let points = points.into_inner().expect("no panic");
        // A simplex begins at the first; the others evaluate many.
        let given = if baseline.kind().name == "nelder-mead" { 1 } else { 20 };
        for (x, from) in points.iter().zip(start.chunks(3)).take(given) {
            let inside: Vec<f64> = from.iter().map(|x| cbo::reflect(*x, -1.0, 1.0)).collect();
            assert_eq!(*x, inside, "{baseline}");
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_bits_and_another_one_other_bits() {
    let rastrigin = Problem::builder("rastrigin").dim(4).rotate(3).build().expect("a problem");
    for baseline in all() {
        let run = |seed| found(&baseline, &rastrigin, &task(rastrigin.domain(), 3000, seed));
        assert_eq!(run(1), run(1), "{baseline}");
        assert_ne!(run(1).best, run(2).best, "{baseline}");
    }
}

#[test]
fn nan_and_infinities_are_never_the_best() {
    let bounds = [(-2.0, 2.0); 2];
    for baseline in all() {
        let wild = |n: u64, x: &[f64]| match n % 5 {
            0 => f64::NAN,
            1 => f64::INFINITY,
            2 => f64::NEG_INFINITY,
            _ => sphere(x),
        };
        let found = found(&baseline, &watched(&bounds, wild), &task(&bounds, 2000, 3));
        let best = found.best.expect("a point");
        assert!(best.value.is_finite() && sphere(&best.x) == best.value, "{baseline}");
        assert_eq!((found.failed, found.infeasible, found.evaluations), (800, 400, 2000), "{baseline}");
        assert!(found.improvements.iter().all(|i| i.value.is_finite() && (i.evaluation % 5) > 2), "{baseline}");
        // Where nothing is finite, nothing is found, and nobody panics.
        for nothing in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            let found = minimize(&baseline, &watched(&bounds, move |_, _| nothing), &task(&bounds, 500, 3));
            let found = found.expect("an answer");
            assert!(found.best.is_none() && found.evaluations == 500 && found.improvements.is_empty(), "{baseline}");
        }
    }
}

/// Half of the box has no value: the minimum at its edge is found all the same, by all but random search to a hundredth.
#[test]
fn infeasible_halves_are_left_alone() {
    let bounds = [(-2.0, 2.0); 2];
    let half = |_: u64, x: &[f64]| if x[0] < 0.5 { f64::INFINITY } else { sphere(x) };
    for baseline in all() {
        let found = found(&baseline, &watched(&bounds, half), &task(&bounds, 5000, 4));
        let best = found.best.expect("a point");
        let within = if baseline.kind().name == "random" { 0.1 } else { 0.01 };
        assert!(best.value - 0.25 < within, "{baseline}: {}", best.value);
    }
}

#[test]
fn a_target_ends_a_search_early_and_a_failing_objective_ends_it_with_an_error() {
    let bounds = [(-2.0, 2.0); 2];
    for baseline in all() {
        let task = Task { target: Some(0.05), ..task(&bounds, 100_000, 3) };
        let found = found(&baseline, &watched(&bounds, |_, x| sphere(x)), &task);
        assert!(found.evaluations < 5000 && found.best.expect("a point").value <= 0.05, "{baseline}");
    }
    struct Broken;
    impl Objective<f64> for Broken {
        fn dim(&self) -> usize {
            2
        }
        fn energies(&self, _: StepContext, _: Rows<'_, f64>, _: &mut [f64]) -> Result<(), EvalError> {
            Err(EvalError::new("the disk is full"))
        }
    }
    for baseline in all() {
        let error = minimize(&baseline, &Broken, &task(&bounds, 10, 0)).expect_err("an error");
        assert!(matches!(error, BaselineError::Evaluation(e) if e.message == "the disk is full"));
    }
}

#[test]
fn texts_are_read_and_written_and_what_is_wrong_is_said() {
    for baseline in all() {
        assert_eq!(baseline.to_string().parse::<Baseline>().expect("itself"), baseline);
        for setting in baseline.kind().settings {
            let text = format!("{}:{}={}", baseline.kind().name, setting.name, cbo::numbers::plain(setting.least));
            assert_eq!(text.parse::<Baseline>().unwrap_or_else(|e| panic!("{text}: {e}")).to_string(), text);
            let wrong = format!("{}:{}={}", baseline.kind().name, setting.name, setting.most * 2.0);
            let error = wrong.parse::<Baseline>().expect_err("too large").to_string();
            assert!(error.contains(setting.name) && error.contains(baseline.kind().name), "{error}");
        }
        assert!(baseline.kind().source.contains("doi:10."));
    }
    assert_eq!("nelder_mead".parse::<Baseline>().expect("dashes or not").to_string(), "nelder-mead");
    let error = |text: &str| text.parse::<Baseline>().expect_err(text).to_string();
    assert!(error("psi").contains("`psi` is not one of random, annealing, genetic"));
    assert!(error("pso:swarm=3").contains("`swarm` is not a setting of pso; it has particles, chi, c"));
    assert!(error("random:n=3").contains("it has none"));
    assert!(error("pso:particles=2.5").contains("whole number from 1"));
    assert!(error("pso:particles").contains("whole number") && error("de:F=nan").contains("F = nan"));
    let wrong = |task: Task<'_>| minimize(&all()[0], &from_fn(2, sphere), &task).expect_err("refused").to_string();
    let bounds = [(-2.0, 2.0); 2];
    assert!(wrong(task(&bounds, 0, 0)).contains("evaluations = 0"));
    assert!(wrong(task(&bounds[..1], 1, 0)).contains("bounds = 1 pairs"));
    assert!(wrong(task(&[(0.0, f64::INFINITY); 2], 1, 0)).contains("bounds = 0,inf"));
    assert!(wrong(task(&[(1.0, 1.0); 2], 1, 0)).contains("low must be below high"));
    assert!(wrong(Task { start: &[1.0; 3], ..task(&bounds, 1, 0) }).contains("start = 3 numbers"));
    assert!(wrong(Task { start: &[1.0, f64::NAN], ..task(&bounds, 1, 0) }).contains("start = NaN"));
}

/// The least values of all settings still make a search that ends.
#[test]
fn the_smallest_settings_work() {
    let bounds = [(-2.0, 2.0); 3];
    for kind in ALL {
        let settings: Vec<String> = kind.settings.iter().map(|s| format!("{}={}", s.name, s.least)).collect();
        let baseline: Baseline = format!("{}:{}", kind.name, settings.join(",")).parse().expect("a baseline");
        assert_eq!(found(&baseline, &watched(&bounds, |_, x| sphere(x)), &task(&bounds, 300, 1)).evaluations, 300);
    }
}
