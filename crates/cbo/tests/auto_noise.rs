//! The method `auto` on noisy functions: the point it returns is not a lucky draw, and its value is a mean.

use crate::auto::{bits, in_box, rosenbrock, run, sphere};
use cbo::{AskTell, CboConfig, RunReport, StopReason};
use std::cell::Cell;

/// A standard normal number for each `seed` and `count`: the sum of twelve uniform ones, less 6.
fn normal(seed: u64, count: u64) -> f64 {
    let uniform = |k: u64| {
        let mut z = (seed << 40 | count << 4 | k).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    };
    (0..12).map(uniform).sum::<f64>() - 6.0
}

/// A run, and all of its points and values in their order.
struct Traced {
    report: RunReport<f64>,
    points: Vec<Vec<f64>>,
    values: Vec<f64>,
}

impl Traced {
    /// The evaluations whose mean the best value is.
    fn count(&self) -> f64 {
        let sentence = self.report.explanation().iter().find(|s| s.contains("is the mean of")).expect("a mean");
        let words: Vec<&str> = sentence.split(' ').collect();
        let at = words.windows(2).position(|w| w == ["mean", "of"]).expect("a number");
        words[at + 2].parse().expect("a number")
    }

    fn is_noisy(&self) -> bool {
        self.report.explanation().iter().any(|s| s.contains("The function is noisy"))
    }

    /// The point with the least value told.
    fn luckiest(&self) -> (&[f64], f64) {
        let at = (0..self.values.len()).min_by(|&i, &j| self.values[i].total_cmp(&self.values[j])).expect("values");
        (&self.points[at], self.values[at])
    }
}

/// Goes on with a run to its end. `f` is told how many evaluations there were before.
fn follow(mut ask: AskTell<f64>, f: &dyn Fn(&[f64], u64) -> f64) -> Traced {
    let (mut points, mut values) = (Vec::new(), Vec::new());
    let before = ask.report().evaluations();
    while ask.stopped().is_none() {
        let rows: Vec<Vec<f64>> = ask.ask().iter().map(<[f64]>::to_vec).collect();
        let from = before + values.len() as u64;
        let energies: Vec<f64> = rows.iter().zip(from..).map(|(x, count)| f(x, count)).collect();
        ask.tell(&energies, &mut ()).expect("values");
        points.extend(rows);
        values.extend(energies);
    }
    Traced { report: ask.report(), points, values }
}

fn traced(config: &CboConfig, dim: usize, f: &dyn Fn(&[f64], u64) -> f64) -> Traced {
    follow(AskTell::new(config, dim).expect("a run"), f)
}

fn with(budget: u64, seed: u64, dim: usize) -> CboConfig {
    CboConfig { max_evaluations: Some(budget), seed, ..in_box(dim, -5.0, 5.0) }
}

#[test]
fn the_value_returned_is_the_true_one_within_its_error() {
    type Function = fn(&[f64]) -> f64;
    for (f, deviation, dim) in
        [(sphere as Function, 1.0, 5), (sphere, 50.0, 5), (rosenbrock, 100.0, 4), (sphere, 1.0, 1)]
    {
        let (mut errors, mut luck, mut found, mut drawn) = (0.0, 0.0, 0.0, 0.0);
        let seeds = 20;
        for seed in 0..seeds {
            let noisy = |x: &[f64], count: u64| f(x) + deviation * normal(seed, count);
            let run = traced(&with(100 * dim as u64, seed, dim), dim, &noisy);
            assert!(run.is_noisy(), "{:?}", run.report.explanation());
            let (best, count) = (run.report.best(), run.count());
            assert!(count >= 4.0, "{count} evaluations with seed {seed}: {:?}", run.report.explanation());
            let off = (best.value - f(&best.x)) / (deviation / count.sqrt());
            assert!(off.abs() < 5.0, "{off} standard errors with seed {seed}");
            errors += off / seeds as f64;
            let (point, value) = run.luckiest();
            luck += (value - f(point)) / deviation / seeds as f64;
            found += f(&best.x) / seeds as f64;
            drawn += f(point) / seeds as f64;
        }
        // The mean of 20 standard normal numbers has the standard deviation 0.22; the choice among means costs about one half.
        assert!(errors.abs() < 1.5, "{errors}");
        // What a lucky draw is off by, in deviations of a single value.
        assert!(luck < -1.5, "{luck}");
        assert!(found < 2.0 * drawn, "{found} instead of {drawn}");
    }
}

#[test]
fn more_evaluations_find_a_better_point() {
    let mean = |budget: u64| -> f64 {
        let value = |seed: u64| {
            let run = traced(&with(budget, seed, 5), 5, &|x, count| sphere(x) + normal(seed, count));
            sphere(&run.report.best().x)
        };
        (0..10).map(value).sum::<f64>() / 10.0
    };
    let (short, long) = (mean(500), mean(10_000));
    assert!(long < 0.1 && long < 0.4 * short, "{short}, then {long}");
}

#[test]
fn a_function_without_noise_costs_only_the_second_looks() {
    for budget in [29, 30, 150] {
        let run = traced(&with(budget, 3, 3), 3, &|x, _| rosenbrock(x));
        assert!(!run.is_noisy());
        let best = run.report.best();
        assert_eq!((best.value, best.value), (run.luckiest().1, rosenbrock(&best.x)));
        let repeated = (1..run.points.len()).filter(|&i| run.points[..i].contains(&run.points[i])).count();
        // Too few evaluations are not spent on a second look.
        assert_eq!(repeated, usize::from(budget > 33), "points twice in {budget} evaluations");
    }
    for (dim, most) in [(1, 100), (3, 400)] {
        let config = CboConfig { max_evaluations: None, ..with(1, 3, dim) };
        let run = traced(&config, dim, &|x, _| sphere(x));
        assert_eq!((run.is_noisy(), run.report.stop()), (false, StopReason::Converged));
        assert!(run.values.len() < most && run.report.best().value < 1e-20, "{} evaluations", run.values.len());
    }
}

#[test]
fn rounding_is_not_noise() {
    let constant = |_: &[f64], count: u64| 1e3 * (1.0 + 2e-15 * normal(7, count));
    assert!(!traced(&with(300, 1, 3), 3, &constant).is_noisy());
    let rounded = |x: &[f64], count: u64| (1.0 + rosenbrock(x)) * (1.0 + 2e-15 * normal(8, count));
    let run = traced(&with(1000, 1, 3), 3, &rounded);
    assert!(!run.is_noisy());
    assert!(rosenbrock(&run.report.best().x) < 1e-10);
}

#[test]
fn noise_too_small_for_the_first_test_leaves_the_lines_intact() {
    let tiny = |x: &[f64], count: u64| 1.0 + sphere(x) + 1e-9 * normal(5, count);
    let run = traced(&with(1000, 1, 4), 4, &tiny);
    let said = run.report.explanation().join(" ");
    assert!(said.contains("The coordinates act alone") && run.is_noisy(), "{said}");
    assert!(sphere(&run.report.best().x) < 1e-8);
    assert!((run.report.best().value - 1.0).abs() < 1e-8);
}

#[test]
fn a_target_is_reached_by_a_mean() {
    let seeds = 12;
    let mut sum = 0.0;
    for seed in 0..seeds {
        let config = CboConfig { target: Some(0.5), ..with(20_000, seed, 3) };
        let run = traced(&config, 3, &|x, count| sphere(x) + normal(seed, count));
        assert_eq!(run.report.stop(), StopReason::Target);
        assert!(run.report.best().value <= 0.5 && run.count() >= 4.0);
        sum += sphere(&run.report.best().x) / seeds as f64;
    }
    // Means of four values have the deviation 0.5: a target that any of them reaches would be missed by as much.
    assert!(sum < 0.5, "{sum}");
}

#[test]
fn every_budget_is_kept_and_every_round_is_wide_enough() {
    for dim in [1, 2, 5] {
        for budget in 1..=200 {
            let run = traced(&with(budget, 1, dim), dim, &|x, count| sphere(x) + normal(budget, count));
            assert_eq!((run.report.evaluations(), run.values.len() as u64), (budget, budget));
        }
    }
    let config = CboConfig { batch: Some(6), ..with(600, 1, 3) };
    let mut ask = AskTell::<f64>::new(&config, 3).expect("a run");
    let mut count = 0;
    while ask.stopped().is_none() {
        let energies: Vec<f64> = ask.ask().iter().zip(count..).map(|(x, c)| sphere(x) + normal(1, c)).collect();
        count += energies.len() as u64;
        assert!(energies.len() >= 6 || count == 600, "{} points", energies.len());
        ask.tell(&energies, &mut ()).expect("values");
    }
}

#[test]
fn a_run_amid_noise_is_resumed_bit_for_bit() {
    let noisy = |x: &[f64], count: u64| rosenbrock(x) + 10.0 * normal(9, count);
    let config = with(700, 2, 3);
    let whole = traced(&config, 3, &noisy);
    let mut ask = AskTell::<f64>::new(&config, 3).expect("a run");
    let mut count = 0;
    let mut round = 0;
    while ask.stopped().is_none() {
        let energies: Vec<f64> = ask.ask().iter().zip(count..).map(|(x, c)| noisy(x, c)).collect();
        count += energies.len() as u64;
        ask.tell(&energies, &mut ()).expect("values");
        round += 1;
        if round % 5 == 0 && ask.stopped().is_none() {
            let again = AskTell::load(&config, 3, &ask.save()).expect("a state");
            assert_eq!(bits(again.best()), bits(ask.best()));
            let again = follow(again, &noisy);
            assert_eq!(bits(again.report.best()), bits(whole.report.best()), "resumed after round {round}");
            assert_eq!(again.report.explanation(), whole.report.explanation());
        }
    }
    assert_eq!(bits(ask.best()), bits(whole.report.best()));
    // A larger budget goes on where the smaller one ended.
    let longer = follow(AskTell::load(with(1000, 2, 3), 3, &ask.save()).expect("a state"), &noisy);
    assert_eq!(longer.report.evaluations(), 1000);
}

#[test]
fn failures_amid_noise_are_no_obstacle() {
    let fragile = |x: &[f64], count: u64| if count % 7 == 3 { f64::NAN } else { sphere(x) + 0.1 * normal(4, count) };
    let run = traced(&with(1500, 1, 3), 3, &fragile);
    assert!(run.is_noisy());
    assert!(sphere(&run.report.best().x) < 0.1);
}

#[test]
fn a_run_without_a_limit_ends_amid_noise() {
    let config = CboConfig { max_evaluations: None, ..with(1, 1, 2) };
    let count = Cell::new(0);
    let run = traced(&config, 2, &|x, c| {
        count.set(c + 1);
        sphere(x) + 0.1 * normal(6, c)
    });
    assert_eq!(run.report.stop(), StopReason::Converged, "{}", run.report.message());
    assert!(count.get() < 20_000 && sphere(&run.report.best().x) < 0.02);
}

#[test]
fn a_local_run_uses_its_evaluations() {
    let config = CboConfig {
        method: cbo::Method::Auto(cbo::Auto { local: true }),
        init: cbo::InitialLaw::Normal { mean: cbo::Coordinates::All(1.0), variance: cbo::Coordinates::All(0.1) },
        ..with(1000, 1, 3)
    };
    let run = traced(&config, 3, &|x, count| sphere(x) + 0.1 * normal(2, count));
    assert_eq!(run.report.evaluations(), 1000, "{}", run.report.message());
    assert!(sphere(&run.report.best().x) < 0.05);
}

#[test]
fn solving_follows_the_solver() {
    let count = std::sync::atomic::AtomicU64::new(0);
    let report = run(&CboConfig { threads: 1, ..with(600, 1, 3) }, 3, |x| {
        sphere(x) + normal(3, count.fetch_add(1, std::sync::atomic::Ordering::Relaxed))
    });
    let traced = traced(&with(600, 1, 3), 3, &|x, count| sphere(x) + normal(3, count));
    assert_eq!(bits(report.best()), bits(traced.report.best()));
}
