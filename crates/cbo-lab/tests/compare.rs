//! Comparisons: the same numbers for all, honest histories, and statistics against numbers worked out by hand.

use cbo::{CboConfig, InitialLaw, Method, SolveError, StopReason};
use cbo_lab::compare::{Comparison, Contestant, Entry, Goal, Improvement, Measured, Targets, Trial, cloud, trial};
use cbo_lab::success::Judge;
use cbo_problems::{Problem, Shift};
use std::cmp::Ordering;

const BUDGET: u64 = 3000;

fn problem(seed: u64) -> Problem {
    Problem::builder("rastrigin").dim(3).shift(Shift::Random(seed)).rotate(seed).build().expect("a problem")
}

fn config(seed: u64) -> CboConfig {
    config_of(Method::Cbo, seed)
}

/// With the settings that suit a method.
fn config_of(method: Method, seed: u64) -> CboConfig {
    let init = InitialLaw::uniform(problem(seed).domain());
    CboConfig { seed, init, max_evaluations: Some(BUDGET), ..CboConfig::of(method) }
}

fn run(method: &Contestant, seed: u64, judge: Judge) -> Trial {
    let run = trial::<f64>(method, &config_of(method.method(), seed), &problem(seed), judge, &|| false);
    run.unwrap_or_else(|e| panic!("{method}: {e}")).expect("not interrupted")
}

/// All methods but those that keep to a set of their own, in which neither start nor minimum need lie.
fn all() -> Vec<Contestant> {
    let all = Contestant::list(&Contestant::names().collect::<Vec<_>>().join(",")).expect("all methods");
    let keeps_to_a_set =
        |m: &Contestant| matches!(m.method(), Method::Mirror(_) | Method::Sphere(_) | Method::Hypersurface(_));
    let (sets, all): (Vec<_>, Vec<_>) = all.into_iter().partition(keeps_to_a_set);
    assert_eq!(sets.len(), 3);
    all
}

#[test]
fn every_method_is_measured_evaluation_by_evaluation() {
    for method in all() {
        let Trial { outcome, improvements, .. } = run(&method, 3, Judge::Best);
        assert!(outcome.evaluations <= BUDGET && outcome.evaluations > 100, "{method}");
        if let Contestant::Engine(engine) = &method {
            let settings = config_of(*engine, 3);
            let report: cbo::RunReport<f64> = cbo::solve(&settings, &problem(3), &mut ()).expect("a run");
            assert_eq!((report.evaluations(), report.best().value), (outcome.evaluations, outcome.value), "{method}");
            assert_eq!(outcome.end.expect("no error"), report.stop(), "{method}");
        } else {
            assert_eq!(outcome.evaluations, BUDGET, "{method}");
            assert_eq!(outcome.end.expect("no error"), StopReason::Evaluations, "{method}");
        }
        let last = improvements.last().expect("an improvement");
        assert_eq!((last.value, last.distance), (outcome.value, outcome.distance), "{method}");
        let better = |pair: &[Improvement]| pair[0].evaluation < pair[1].evaluation && pair[0].value > pair[1].value;
        assert!(improvements.windows(2).all(better) && last.evaluation <= outcome.evaluations, "{method}");
    }
}

/// The first evaluation of every method but auto, which chooses its own points, is that of the first initial point.
#[test]
fn all_start_from_the_same_points() {
    for seed in [0, 7] {
        let start = cloud::<f64>(&config(seed), 3, 70).expect("points");
        assert_eq!(start.len(), 210);
        assert_eq!(cloud::<f64>(&config(seed), 3, 5).expect("points"), start[..15], "fewer are the first of them");
        for method in all().into_iter().filter(|method| !matches!(method, Contestant::Engine(m) if m.is_auto())) {
            let first = run(&method, seed, Judge::Best).improvements[0];
            let value = problem(seed).value(&start[..3]);
            assert!(first.evaluation == 1 && (first.value / value - 1.0).abs() < 1e-12, "{method}: {first:?}");
        }
    }
    assert_ne!(cloud::<f64>(&config(0), 3, 9).expect("points"), cloud::<f64>(&config(1), 3, 9).expect("points"));
    let given = CboConfig { init: InitialLaw::Points(vec![1.0, 2.0, 3.0, 4.0]), ..config(0) };
    assert_eq!(cloud::<f64>(&given, 2, 1).expect("points"), [1.0, 2.0]);
}

#[test]
fn the_judge_chooses_the_point() {
    for method in all() {
        let (best, consensus) = (run(&method, 2, Judge::Best), run(&method, 2, Judge::Consensus));
        assert_eq!(best.improvements, consensus.improvements, "{method}");
        assert_eq!((best.at_its_end, consensus.at_its_end), (false, method.has_consensus()), "{method}");
        let same = best.outcome.value == consensus.outcome.value;
        assert!(best.outcome.value <= consensus.outcome.value && same >= !method.has_consensus(), "{method}");
        let goal = Goal::Distance { tolerance: 1e300 };
        let measured = Measured::of(&consensus.judged(), &goal, &Targets::new(0.0, 1.0));
        let expected = if method.has_consensus() { consensus.outcome.evaluations } else { 1 };
        assert!(measured.success_at.is_some_and(|at| at <= expected.max(40)), "{method}: {:?}", measured.success_at);
        assert!(!method.has_consensus() || measured.success_at == Some(expected), "{method}");
    }
}

#[test]
fn single_precision_interruption_and_wrong_settings() {
    for method in all() {
        let single =
            trial::<f32>(&method, &config_of(method.method(), 1), &problem(1), Judge::Best, &|| false).expect("a run");
        let double = run(&method, 1, Judge::Best);
        let (single, double) = (single.expect("not interrupted").improvements[0], double.improvements[0]);
        let near = (single.value / double.value - 1.0).abs();
        assert!(near < 1e-4 && near > 0.0, "{method}: {single:?} {double:?}");
        let ended = trial::<f64>(&method, &config_of(method.method(), 1), &problem(1), Judge::Best, &|| true);
        assert!(ended.expect("no error").is_none(), "{method}");
    }
    let open = CboConfig { bounds: Some(vec![(-1.0, f64::INFINITY); 3]), ..config(1) };
    let pso: Contestant = "pso".parse().expect("a method");
    match trial::<f64>(&pso, &open, &problem(1), Judge::Best, &|| false) {
        Err(SolveError::Config(error)) => assert!(error.field == "bounds" && error.remedy.contains("finite box")),
        other => panic!("{other:?}"),
    }
    // A target ends baselines too, and where nothing is finite the outcome says so.
    let target = CboConfig { target: Some(5.0), ..config(1) };
    let hit = trial::<f64>(&pso, &target, &problem(1), Judge::Best, &|| false).expect("a run").expect("a trial");
    assert!(matches!(hit.outcome.end, Ok(StopReason::Target)) && hit.outcome.evaluations < BUDGET);
    let eggholder = Problem::named("eggholder", 2).expect("a problem");
    let (init, bounds) = (InitialLaw::uniform(&[(1e6, 2e6); 2]), Some(vec![(1e6, 2e6); 2]));
    let nowhere = CboConfig { init, bounds, max_evaluations: Some(1000), ..CboConfig::default() };
    for text in ["cbo", "pso"] {
        let method = text.parse().expect("a method");
        let lost =
            trial::<f64>(&method, &nowhere, &eggholder, Judge::Best, &|| false).expect("a run").expect("a trial");
        assert!(matches!(lost.outcome.end, Err(SolveError::NoFiniteEnergy { .. })) && lost.improvements.is_empty());
        assert!(lost.outcome.evaluations >= 400 && lost.outcome.value == f64::INFINITY, "{:?}", lost.outcome);
    }
}

#[test]
fn lists_of_methods() {
    let texts = |text: &str| {
        let list = Contestant::list(text).unwrap_or_else(|e| panic!("{text}: {e}"));
        list.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(texts("cbo, memory:drift=0.5,beta=100,pso"), ["cbo", "memory:drift=0.5,beta=100.0", "pso"]);
    assert_eq!(texts("pso,particles=20,chi=0.5,random,"), ["pso:particles=20,chi=0.5", "random"]);
    assert_eq!(texts("memory,memory:beta=1"), ["memory", "memory:beta=1.0"]);
    assert_eq!(texts("nelder_mead"), ["nelder-mead"]);
    assert_eq!(Contestant::list("auto:local=true").expect("a list")[0].name(), "auto");
    let error = |text: &str| Contestant::list(text).expect_err(text).to_string();
    let unknown = error("cbo,psoo");
    assert!(unknown.contains("`psoo` is not a method"), "{unknown}");
    for name in Method::NAMES.iter().chain(&[
        "random",
        "annealing",
        "genetic",
        "programming",
        "ants",
        "pso",
        "de",
        "nelder-mead",
    ]) {
        assert!(unknown.contains(name), "{name}: {unknown}");
    }
    assert!(error("beta=1,memory").contains("`beta=1` is a setting, but no method stands before it"));
    assert!(error("pso,de,pso").contains("pso is given twice"));
    assert!(error(" , ").contains("no method is given"));
    assert!(error("memory:gamma=1").contains("memory:gamma=1: `gamma` is not a setting of memory"));
    assert!(error("de,gamma=1").contains("de:gamma=1: `gamma` is not a setting of de; it has population, F, CR"));
    assert!(error("cbo,beta=1").contains("cbo has no settings of its own"));
}

/// Two methods, four runs: the numbers by hand.
#[test]
fn rows_pairs_and_ranks_by_hand() {
    let targets = Targets::new(0.0, 1.0);
    let measured = |seed: u64, history: &[(u64, f64, f64)], evaluations: u64| {
        let improvement = |(evaluation, value, distance): &(u64, f64, f64)| Improvement {
            evaluation: *evaluation,
            value: *value,
            distance: *distance,
        };
        let improvements: Vec<Improvement> = history.iter().map(improvement).collect();
        let last = improvements.last().expect("an improvement");
        let success = last.distance < 0.1;
        // The run came near, went away, and came back.
        let back = improvements.iter().rposition(|i| i.distance >= 0.1).map_or(0, |place| place + 1);
        Measured {
            seed,
            success,
            success_at: improvements.get(back).map(|i| i.evaluation).filter(|_| success),
            value: last.value,
            distance: last.distance,
            evaluations,
            reached: targets.reached(&improvements),
            finished: true,
        }
    };
    let good = Entry {
        name: "good".into(),
        runs: vec![
            measured(0, &[(10, 0.5, 0.05), (20, 0.3, 0.5), (30, 0.01, 0.01)], 100),
            measured(1, &[(50, 0.001, 0.01)], 100),
            measured(2, &[(5, 0.9, 0.9)], 80),
            measured(3, &[(70, 0.02, 0.05)], 100),
        ],
    };
    let bad = Entry { name: "bad".into(), runs: (0..4).map(|seed| measured(seed, &[(3, 2.0, 3.0)], 60)).collect() };
    assert_eq!(good.runs[0].success_at, Some(30));
    let comparison = Comparison::of(&[bad, good], &targets, 100);
    let [bad, good] = &comparison.rows[..] else { panic!("two rows") };
    assert_eq!((good.rate.successes, good.median_evaluations), (3, Some(50.0)));
    assert_eq!(good.expected_evaluations, (30.0 + 50.0 + 80.0 + 70.0) / 3.0);
    assert_eq!(good.median_value, 0.015);
    assert_eq!((bad.rate.successes, bad.expected_evaluations, bad.targets), (0, f64::INFINITY, 0.0));
    assert!(bad.median_evaluations.is_none());
    // Heights 10^-2, 10^-3 and 10^-1.6989: 11, 16, 1 and 9 targets of 41.
    assert!((good.targets - 37.0 / 164.0).abs() < 1e-12, "{}", good.targets);
    let [pair] = &comparison.pairs[..] else { panic!("one pair") };
    assert_eq!((pair.first, pair.second, pair.lower, pair.only), (0, 1, Ordering::Greater, (0, 3)));
    assert!((pair.value_p - 2.0 / 16.0).abs() < 1e-12 && (pair.success_p - 0.25).abs() < 1e-12);
    assert_eq!((good.better_than, good.worse_than), (0, 0), "four runs say nothing");
    assert_eq!(comparison.ranking(), [1, 0]);
    assert_eq!(comparison.curves[1].last().expect("a point").reached, good.targets);
}

/// What a method gains below the last target is no merit, and a run that could not go on is worse than any.
#[test]
fn solved_is_solved_and_lost_is_lost() {
    let targets = Targets::new(0.0, 1.0);
    let entry = |name: &str, values: &dyn Fn(u64) -> f64| {
        let run = |seed: u64| Measured {
            seed,
            success: true,
            success_at: Some(1),
            value: values(seed),
            distance: 0.0,
            evaluations: 1,
            reached: vec![None; targets.heights.len()],
            finished: true,
        };
        Entry { name: name.into(), runs: (0..30).map(run).collect() }
    };
    let entries = [
        entry("tiny", &|_| 1e-30),
        entry("small", &|seed| 1e-12 * (seed + 1) as f64),
        entry("lost", &|_| f64::INFINITY),
        entry("lost too", &|_| f64::INFINITY),
    ];
    let comparison = Comparison::of(&entries, &targets, 10);
    let p = |first, second| {
        let pair = comparison.pairs.iter().find(|pair| (pair.first, pair.second) == (first, second));
        pair.expect("a pair").value_p
    };
    assert_eq!((p(0, 1), p(2, 3)), (1.0, 1.0));
    // 30 differences of one sign, the least of six probabilities: multiplied by 6.
    assert!((p(0, 2) - 6.0 * 2.0 * 0.5f64.powi(30)).abs() < 1e-12);
    assert_eq!(comparison.rows[0].better_than, 2);
    assert_eq!(comparison.rows[2].worse_than, 2);
}

/// A target of every height: the last improvement before it counts, for every method.
#[test]
fn goals_by_value() {
    let trial = run(&"pso".parse().expect("a method"), 5, Judge::Best);
    let height = trial.improvements[trial.improvements.len() / 2];
    let goal = Goal::Height { tolerance: height.value * 1.000001, minimum: 0.0 };
    let measured = Measured::of(&trial.judged(), &goal, &Targets::of(&problem(5), &config(5)));
    assert_eq!((measured.success, measured.success_at), (true, Some(height.evaluation)));
    let never = Goal::Height { tolerance: 1e-300, minimum: 0.0 };
    assert_eq!(Measured::of(&trial.judged(), &never, &Targets::new(0.0, 1.0)).success_at, None);
}
