//! Constraints: the rule of the penalty against plain code, solutions that are known, and what is reported of points that violate them.

use cbo::{
    Alpha, Answers, AskTell, Auto, CboConfig, Constrained, EvalError, Grouping, InitialLaw, Memory, Method, Objective,
    Rows, RunReport, Scalar, Sigma, SolveError, StateError, StepContext, StepReport, StopReason, from_fn, resume,
    solve,
};
use std::ops::ControlFlow;
use std::sync::Mutex;

fn auto() -> Method {
    Method::Auto(Auto::default())
}

/// Runs in a square box, with a method that has no settings here.
fn in_box(method: Method, dim: usize, low: f64, high: f64) -> CboConfig {
    let bounds = vec![(low, high); dim];
    CboConfig { method, init: InitialLaw::uniform(&bounds), bounds: Some(bounds), seed: 3, ..CboConfig::default() }
}

fn run(config: &CboConfig, objective: &impl Objective<f64>) -> RunReport<f64> {
    solve(config, objective, &mut ()).expect("a run")
}

/// The least -x - 2y with x + y <= 4, x <= 3, y <= 2: -6 at the vertex (2, 2).
fn vertex<'a>() -> Constrained<'a, f64, impl Objective<f64>> {
    Constrained::new(from_fn(2, |x: &[f64]| -x[0] - 2.0 * x[1]))
        .at_most(4.0, |x| x[0] + x[1])
        .at_most(3.0, |x| x[0])
        .at_most(2.0, |x| x[1])
}

#[test]
fn a_linear_program_ends_at_its_vertex() {
    for (method, tolerance) in [(auto(), 1e-6), (Method::Cbo, 1e-3), (Method::Memory(Memory::default()), 1e-3)] {
        let report = run(&in_box(method, 2, -10.0, 10.0), &vertex());
        let best = report.best();
        assert!(report.is_feasible() && best.violation == 0.0, "{method:?}");
        assert!(best.value >= -6.0 - 1e-12 && best.value < -6.0 + tolerance, "{method:?}: {}", best.value);
        assert!((best.x[0] - 2.0).abs() < 10.0 * tolerance && (best.x[1] - 2.0).abs() < tolerance, "{:?}", best.x);
        // The value is that of the objective, not of the penalty.
        assert_eq!(best.value, -best.x[0] - 2.0 * best.x[1]);
        assert_eq!(report.penalties().len(), 3);
    }
}

#[test]
fn equalities_are_met_within_their_tolerance() {
    let on_a_line = |tolerance: f64| {
        Constrained::new(from_fn(3, |x: &[f64]| x.iter().map(|v| v * v).sum())).equal_within(
            tolerance,
            1.0,
            |x: &[f64]| x.iter().sum(),
        )
    };
    for tolerance in [1e-9, 1e-6, 1e-2] {
        let report = run(&in_box(auto(), 3, -5.0, 5.0), &on_a_line(tolerance));
        let (best, sum) = (report.best(), report.best().x.iter().sum::<f64>());
        assert!(report.is_feasible() && (sum - 1.0).abs() <= tolerance * (1.0 + 1e-6), "{sum}");
        // The least value is taken where the sum is as small as it may be.
        let least = (1.0 - tolerance).powi(2) / 3.0;
        assert!((best.value - least).abs() < 1e-5, "{} instead of {least}", best.value);
    }
    // A curve: the point of the circle nearest to (2, 1).
    let circle = Constrained::new(from_fn(2, |x: &[f64]| (x[0] - 2.0).powi(2) + (x[1] - 1.0).powi(2)))
        .equal(1.0, |x| x[0].powi(2) + x[1].powi(2));
    for (method, tolerance) in [(auto(), 1e-4), (Method::Cbo, 0.3)] {
        let report = run(&in_box(method, 2, -3.0, 3.0), &circle);
        let x = &report.best().x;
        assert!((x[0] - 2.0 / 5f64.sqrt()).abs() < tolerance && (x[1] - 1.0 / 5f64.sqrt()).abs() < tolerance, "{x:?}");
        assert!(report.is_feasible(), "{method:?}: {}", report.best().violation);
    }
}

#[test]
fn a_start_where_nothing_is_feasible_leads_to_where_something_is() {
    let away = |x: &[f64]| x.iter().map(|v| v * v).sum::<f64>();
    let far = Constrained::new(from_fn(2, away)).at_least(10.0, |x| x[0] + x[1]);
    for (method, tolerance) in [(auto(), 1e-4), (Method::Cbo, 1.0)] {
        let config = CboConfig { method, init: InitialLaw::uniform(&[(-1.0, 1.0); 2]), ..CboConfig::default() };
        let report = run(&config, &far);
        assert!(report.is_feasible(), "{method:?}");
        assert!((report.best().value - 50.0).abs() < 10.0 * tolerance, "{method:?}: {}", report.best().value);
    }
}

#[test]
fn where_nothing_is_feasible_the_least_violation_is_reported() {
    let never = Constrained::new(from_fn(1, |x: &[f64]| x[0])).at_least(1.0, |x| x[0]).at_most(-1.0, |x| x[0]);
    for method in [auto(), Method::Cbo, Method::Memory(Memory::default())] {
        // Every value reaches the target, but no point counts.
        let report = run(&CboConfig { target: Some(100.0), ..in_box(method, 1, -4.0, 4.0) }, &never);
        let best = report.best();
        assert!(!report.is_feasible() && report.stop() != StopReason::Target, "{method:?}");
        assert!((best.violation - 1.0).abs() < 1e-3 && best.x[0].abs() < 1e-3, "{method:?}: {best:?}");
        assert_eq!(best.violation, 1.0 + best.x[0].abs());
        assert_eq!(best.value, best.x[0]);
        let said =
            format!("No point was found that meets all constraints: the best one violates them by {}.", best.violation);
        assert!(report.message().ends_with(&said), "{}", report.message());
    }
}

#[test]
fn a_target_counts_only_where_the_constraints_are_met() {
    for grouping in [Grouping::Blocks, Grouping::Single] {
        let far = from_fn(2, |x: &[f64]| x[0] + x[1]);
        let far = if grouping == Grouping::Single { far.costly() } else { far };
        let objective = Constrained::new(far).at_least(1.0, |x| x[0]).at_least(1.0, |x| x[1]);
        for method in [auto(), Method::Cbo] {
            let config = CboConfig { target: Some(2.1), ..in_box(method, 2, -4.0, 4.0) };
            let report = run(&config, &objective);
            assert_eq!(report.stop(), StopReason::Target, "{method:?}");
            assert!(report.is_feasible() && (2.0..=2.1).contains(&report.best().value), "{:?}", report.best());
        }
    }
}

/// What a step is weighed by, recorded.
#[derive(Clone)]
struct Seen {
    alpha: f64,
    energies: Vec<f64>,
    constraints: Vec<f64>,
    /// What violations cost in the step after it.
    penalties: Vec<f64>,
}

/// The interquartile range, plainly.
fn quartiles(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers[3 * numbers.len() / 4] - numbers[numbers.len() / 4]
}

/// The rule as the guide states it.
#[test]
fn weights_follow_the_rule_computed_by_a_plain_program() {
    // The first constraint is so flat at the minimum (0, 1) that no weight is enough.
    let objective = Constrained::new(from_fn(2, |x: &[f64]| 40.0 * x[0] + (x[1] - 1.0).powi(2)))
        .at_least(0.0, |x| x[0].powi(3))
        .at_most(3.0, |x| x[0] * x[0] + x[1]);
    for alpha in [Alpha::Constant(f64::INFINITY), Alpha::EffectiveSampleSize(0.1), Alpha::Constant(0.02)] {
        let config = CboConfig { particles: 60, alpha, steps: Some(80), ..in_box(Method::Cbo, 2, -3.0, 3.0) };
        let mut seen: Vec<Seen> = Vec::new();
        let mut watch = |step: &StepReport<'_, f64>| {
            seen.push(Seen {
                alpha: step.alpha(),
                energies: step.energies().to_vec(),
                constraints: step.constraints().to_vec(),
                penalties: step.penalties().to_vec(),
            });
            ControlFlow::Continue(())
        };
        solve(&config, &objective, &mut watch).expect("a run");
        let column = |step: &Seen, j: usize| step.constraints.iter().skip(j).step_by(2).copied().collect::<Vec<f64>>();
        let energy = quartiles(seen[0].energies.clone());
        let mut weights: Vec<f64> = (0..2).map(|j| energy / quartiles(column(&seen[0], j))).collect();
        let mut bounds = [None; 2];
        let mut grown = 0;
        for step in &seen {
            let price = |i: usize| {
                let costs = (0..2).map(|j| weights[j] * step.constraints[2 * i + j].max(0.0));
                step.energies[i] + costs.sum::<f64>()
            };
            let prices: Vec<f64> = (0..60).map(price).collect();
            let least = prices.iter().copied().fold(f64::INFINITY, f64::min);
            let weight = |e: &f64| if *e == least { 1.0 } else { (-step.alpha * (e - least)).exp() };
            let shares: Vec<f64> = prices.iter().map(weight).collect();
            for j in 0..2 {
                let agreed = column(step, j).iter().zip(&shares).map(|(g, w)| g * w).sum::<f64>();
                let violation = (agreed / shares.iter().sum::<f64>()).max(0.0);
                match &mut bounds[j] {
                    None => bounds[j] = Some(violation),
                    Some(bound) if violation <= *bound => *bound /= 1.1,
                    Some(_) => (weights[j], grown) = (1.5 * weights[j], grown + 1),
                }
                let error = (step.penalties[j] / weights[j] - 1.0).abs();
                assert!(error < 1e-12, "{alpha:?}: {} instead of {}", step.penalties[j], weights[j]);
            }
        }
        assert!(grown > 0, "{alpha:?}: nothing to compare");
    }
}

#[test]
fn units_of_the_objective_and_of_a_constraint_do_not_matter() {
    let scaled = |energy: f64, constraint: f64| {
        Constrained::new(from_fn(2, move |x: &[f64]| energy * ((x[0] - 1.0).powi(2) + x[1].powi(2) + x[0] * x[1])))
            .at_least(0.0, move |x| constraint * (x[0] + x[1] - 1.5))
            .at_most(0.0, |x| x[0] - x[1])
    };
    for method in [auto(), Method::Cbo] {
        let config = CboConfig { max_evaluations: Some(2000), ..in_box(method, 2, -3.0, 3.0) };
        let plain = run(&config, &scaled(1.0, 1.0));
        for (energy, constraint) in [(1024.0, 1.0), (1.0, 0.125), (0.25, 4096.0)] {
            let other = run(&config, &scaled(energy, constraint));
            assert_eq!(other.best().x, plain.best().x, "{method:?}");
            assert_eq!(other.best().value, energy * plain.best().value);
            assert_eq!(other.is_feasible(), plain.is_feasible());
            let ratios = [energy / constraint, energy];
            for ((theirs, ours), ratio) in other.penalties().iter().zip(plain.penalties()).zip(ratios) {
                assert_eq!(*theirs, ratio * ours);
            }
        }
    }
}

/// A function with constraints and with all that a swarm can do.
fn variants() -> Vec<CboConfig> {
    let base = CboConfig {
        particles: 60,
        alpha: Alpha::Constant(3.0),
        sigma: Sigma::Constant(0.8),
        steps: Some(12),
        ..in_box(Method::Cbo, 3, -3.0, 3.0)
    };
    let memory = |beta: f64| Method::Memory(Memory { beta, ..Memory::default() });
    vec![
        base.clone(),
        CboConfig { alpha: Alpha::EffectiveSampleSize(0.2), ..base.clone() },
        CboConfig { batch: Some(20), kick: Some(0.05), ..base.clone() },
        CboConfig { reduction: Some(Default::default()), epoch_steps: Some(3), ..base.clone() },
        CboConfig { method: memory(f64::INFINITY), alpha: Alpha::Constant(f64::INFINITY), ..base.clone() },
        CboConfig { method: memory(f64::INFINITY), batch: Some(20), ..base.clone() },
        CboConfig {
            method: memory(f64::INFINITY),
            reduction: Some(Default::default()),
            epoch_steps: Some(3),
            ..base.clone()
        },
        CboConfig { method: memory(2.0), batch: Some(20), ..base },
        CboConfig { max_evaluations: Some(300), batch: Some(4), ..in_box(auto(), 3, -3.0, 3.0) },
    ]
}

fn energy<T: Scalar>(x: &[T]) -> T {
    T::from_f64(x.iter().map(|v| (v.to_f64() - 2.0).powi(2)).sum())
}

/// Two constraints: a ball and a plane, neither of which the minimiser meets.
fn constraints<T: Scalar>(x: &[T]) -> [T; 2] {
    let x: Vec<f64> = x.iter().map(|v| v.to_f64()).collect();
    [x.iter().map(|v| v * v).sum::<f64>() - 4.0, 1.0 - x[0] + 2.0 * x[1]].map(T::from_f64)
}

/// Both from one evaluation, asked for in this way.
struct Both(Grouping);

impl<T: Scalar> Objective<T> for Both {
    fn dim(&self) -> usize {
        3
    }
    fn energies(&self, _: StepContext, _: Rows<'_, T>, _: &mut [T]) -> Result<(), EvalError> {
        Err(EvalError::new("one evaluation gives both"))
    }
    fn constraints(&self) -> usize {
        2
    }
    fn energies_and_constraints(
        &self,
        _: StepContext,
        rows: Rows<'_, T>,
        energies: &mut [T],
        out: &mut [T],
    ) -> Result<(), EvalError> {
        for (i, x) in rows.iter().enumerate() {
            energies[i] = energy(x);
            out[2 * i..2 * i + 2].copy_from_slice(&constraints(x));
        }
        Ok(())
    }
    fn grouping(&self) -> Grouping {
        self.0
    }
}

/// Everything that an observer sees of each step, as bits.
fn watch<T: Scalar>(seen: &mut Vec<Vec<u64>>) -> impl FnMut(&StepReport<'_, T>) -> ControlFlow<()> + Send {
    |step| {
        let swarm = step.ensemble().rows().as_slice().iter().chain(step.energies()).chain(step.constraints());
        let mut bits: Vec<u64> = swarm.chain(&step.best().x).map(|x| x.to_f64().to_bits()).collect();
        bits.extend(step.consensus().iter().chain(step.penalties()).map(|x| x.to_bits()));
        bits.extend([step.least(), step.best().value, step.best().violation].map(f64::to_bits));
        bits.extend([step.step(), step.evaluations(), step.failed_evaluations()]);
        seen.push(bits);
        ControlFlow::Continue(())
    }
}

#[test]
fn however_it_is_asked_the_run_is_the_same() {
    fn same<T: Scalar>(config: &CboConfig) {
        let mut blocks = Vec::new();
        let whole = solve::<T>(config, &Both(Grouping::Blocks), &mut watch(&mut blocks)).expect("a run");
        assert!(whole.best().violation == 0.0, "{config:?}");
        for grouping in [Grouping::Single, Grouping::Together] {
            let mut others = Vec::new();
            solve::<T>(config, &Both(grouping), &mut watch(&mut others)).expect("a run");
            assert!(others == blocks, "{config:?}, {grouping:?}");
        }
        let functions = Constrained::new(from_fn(3, energy::<T>))
            .at_most(0.0, |x| constraints(x)[0])
            .at_most(0.0, |x| constraints(x)[1]);
        let mut others = Vec::new();
        solve::<T>(config, &functions, &mut watch(&mut others)).expect("a run");
        assert!(others == blocks, "{config:?}, functions");
        for save in [false, true] {
            let mut others = Vec::new();
            let mut run = AskTell::<T>::with_constraints(config, 3, 2).expect("a run");
            while run.stopped().is_none() {
                if save {
                    // Both before and after the move.
                    run = AskTell::load(config, 3, &run.save()).expect("a told state");
                    run.ask();
                    run = AskTell::load(config, 3, &run.save()).expect("an asked state");
                }
                assert_eq!(run.constraints(), 2);
                let points: Vec<Vec<T>> = run.ask().iter().map(<[T]>::to_vec).collect();
                let energies: Vec<T> = points.iter().map(|x| energy(x)).collect();
                let values: Vec<T> = points.iter().flat_map(|x| constraints(x)).collect();
                run.tell_constrained(&energies, &values, &mut watch(&mut others)).expect("told");
            }
            assert!(others == blocks, "{config:?}, told");
            if !config.method.is_auto() {
                let consensus = run.consensus();
                let report = run.report_with_consensus(energy(&consensus), &constraints(&consensus));
                assert_eq!((report.best(), report.consensus()), (whole.best(), whole.consensus()));
                assert_eq!(report.message(), whole.message());
            }
        }
    }
    for config in variants() {
        same::<f64>(&config);
        same::<f32>(&config);
    }
}

#[test]
fn a_run_that_is_resumed_after_any_step_is_the_same_run() {
    for config in variants() {
        let (mut seen, mut states) = (Vec::new(), Vec::new());
        let keep = |step: &StepReport<'_, f64>| {
            states.push(step.state());
            ControlFlow::Continue(())
        };
        let whole = solve(&config, &Both(Grouping::Blocks), &mut (watch(&mut seen), keep)).expect("a run");
        for (step, state) in states.iter().enumerate() {
            let mut rest = Vec::new();
            let again = resume(&config, &Both(Grouping::Blocks), &mut watch(&mut rest), state).expect("a run");
            assert!(rest == seen[step + 1..], "{config:?} resumed after step {step}");
            assert_eq!((again.best(), again.penalties()), (whole.best(), whole.penalties()));
            assert_eq!(again.message(), whole.message());
        }
    }
}

#[test]
fn threads_change_nothing() {
    for config in variants() {
        let config =
            if config.method.is_auto() { config } else { CboConfig { particles: 6000, steps: Some(5), ..config } };
        let config = CboConfig {
            batch: config.batch.map(|batch| if config.method.is_auto() { 2000 } else { batch * 100 }),
            ..config
        };
        let config = CboConfig { max_evaluations: config.max_evaluations.map(|_| 8000), ..config };
        let seen = |threads: usize| {
            let mut seen = Vec::new();
            let config = CboConfig { threads, ..config.clone() };
            solve::<f64>(&config, &Both(Grouping::Blocks), &mut watch(&mut seen)).expect("a run");
            seen
        };
        let alone = seen(1);
        assert!([2, 3].into_iter().all(|threads| seen(threads) == alone), "{config:?}");
    }
}

#[test]
fn a_run_left_within_a_step_goes_on_with_what_it_knows() {
    /// Answers so many rows, the last first, then none.
    struct Tires(Mutex<usize>);
    impl Objective<f64> for Tires {
        fn dim(&self) -> usize {
            3
        }
        fn energies(&self, _: StepContext, _: Rows<'_, f64>, _: &mut [f64]) -> Result<(), EvalError> {
            Err(EvalError::new("asked one by one"))
        }
        fn constraints(&self) -> usize {
            2
        }
        fn energies_one_by_one(&self, _: StepContext, rows: Rows<'_, f64>, to: &Answers<f64>) -> Result<(), EvalError> {
            for row in (0..rows.len()).rev() {
                let mut left = self.0.lock().expect("a count");
                if *left == 0 {
                    return Ok(());
                }
                *left -= 1;
                to.constrain(row, &constraints(rows.row(row)));
                to.give(row, energy(rows.row(row)));
            }
            Ok(())
        }
        fn grouping(&self) -> Grouping {
            Grouping::Together
        }
    }
    for config in variants() {
        let config = CboConfig { steps: config.steps.map(|_| 4), ..config };
        let whole = solve::<f64>(&config, &Both(Grouping::Together), &mut ()).expect("a run");
        let evaluations = whole.evaluations() as usize;
        for cut in [1, 5, 30, 75, 121].into_iter().filter(|cut| *cut < evaluations - 1) {
            struct Last(Vec<u8>);
            impl cbo::Observer<f64> for Last {
                fn observe(&mut self, _: &StepReport<'_, f64>) -> ControlFlow<()> {
                    ControlFlow::Continue(())
                }
                fn ended(&mut self, step: &StepReport<'_, f64>, _: StopReason) {
                    self.0 = step.state();
                }
            }
            let mut last = Last(Vec::new());
            let part = solve(&config, &Tires(Mutex::new(cut)), &mut last).expect("a run");
            assert_eq!(part.evaluations() as usize, cut, "{config:?}");
            let of_best = constraints(&part.best().x).into_iter().fold(0.0, f64::max);
            assert_eq!((part.best().violation, part.best().value), (of_best, energy(&part.best().x)));
            let again = resume(&config, &Both(Grouping::Together), &mut (), &last.0).expect("a run");
            assert_eq!((again.best(), again.evaluations()), (whole.best(), whole.evaluations()), "{config:?} at {cut}");
        }
    }
}

#[test]
fn a_constraint_that_is_no_number_is_a_failed_evaluation() {
    let objective = || {
        Constrained::new(from_fn(2, |x: &[f64]| x[0] * x[0] + x[1] * x[1]))
            .at_most(0.0, |x| if x[0] > 1.0 { f64::NAN } else { 0.5 - x[1] })
            .at_most(0.0, |x| if x[1] > 2.0 { f64::INFINITY } else { -1.0 })
    };
    for method in [auto(), Method::Cbo] {
        let config = in_box(method, 2, -3.0, 3.0);
        let report = run(&config, &objective());
        assert!(report.failed_evaluations() > 0 && report.is_feasible());
        assert!((report.best().value - 0.25).abs() < 1e-3, "{method:?}: {}", report.best().value);
        let strict = solve(&CboConfig { strict: true, ..config }, &objective(), &mut ());
        assert!(matches!(strict, Err(SolveError::Strict { .. })), "{method:?}");
    }
    // Who says that there are constraints, and gives none, gives nothing.
    struct Silent;
    impl Objective<f64> for Silent {
        fn dim(&self) -> usize {
            1
        }
        fn energies(&self, _: StepContext, _: Rows<'_, f64>, out: &mut [f64]) -> Result<(), EvalError> {
            out.fill(1.0);
            Ok(())
        }
        fn constraints(&self) -> usize {
            1
        }
    }
    for method in [auto(), Method::Cbo] {
        let config = CboConfig { max_evaluations: Some(500), ..in_box(method, 1, -1.0, 1.0) };
        let error = solve(&config, &Silent, &mut ()).expect_err("nothing to go by");
        assert!(matches!(error, SolveError::NoFiniteEnergy { .. }), "{method:?}: {error}");
    }
}

#[test]
fn states_of_other_constraints_are_refused() {
    for config in variants() {
        let mut state = Vec::new();
        let mut keep = |step: &StepReport<'_, f64>| {
            state = step.state();
            ControlFlow::Break(())
        };
        solve(&config, &Both(Grouping::Blocks), &mut keep).expect("a run");
        let without = resume::<f64>(&config, &from_fn(3, energy), &mut (), &state).expect_err("without constraints");
        let said = "the state was saved with constraints = 2, but the run has constraints = 0";
        assert_eq!(without.to_string(), said);
        assert!(matches!(without, StateError::Differs { field: "constraints", .. }));
        for length in [state.len() - 1, state.len() / 2] {
            assert!(AskTell::<f64>::load(&config, 3, &state[..length]).is_err());
        }
    }
}

#[test]
#[should_panic(expected = "constraints for points")]
fn energies_alone_are_not_enough() {
    let mut run = AskTell::<f64>::with_constraints(in_box(Method::Cbo, 3, -1.0, 1.0), 3, 2).expect("a run");
    let energies = vec![0.0; run.ask().len()];
    let _ = run.tell(&energies, &mut ());
}

/// What particles remember is priced anew when prices rise; otherwise points of the cheap beginning would never be forgotten.
#[test]
fn memories_are_priced_again() {
    // Steep where it is forbidden: the first weights, from quartiles, are far too small.
    let steep = |x: &[f64]| if x[0] < -2.5 { -1e6 } else { x[0] };
    let objective = Constrained::new(from_fn(1, steep)).at_least(0.0, |x| x[0]);
    let memory = |beta: f64| Method::Memory(Memory { beta, ..Memory::default() });
    for method in [memory(f64::INFINITY), memory(1.0)] {
        let report = run(&CboConfig { steps: Some(300), ..in_box(method, 1, -3.0, 3.0) }, &objective);
        assert!(report.is_feasible() && report.best().value < 0.01, "{method:?}: {:?}", report.best());
        assert!(report.consensus().x[0] > -0.1, "{method:?}: the particles agree on {:?}", report.consensus());
        assert!(report.penalties()[0] > 1e5, "{method:?}");
    }
}

#[test]
fn constraints_of_the_objective_come_first_and_others_are_added() {
    let inner = Constrained::new(from_fn(1, |x: &[f64]| x[0])).at_most(1.0, |x| 2.0 * x[0]);
    let outer = Constrained::new(inner).between(-1.0, 3.0, |x| x[0]).equal_within(0.5, 2.0, |x| x[0] * x[0]);
    assert_eq!(outer.constraints(), 5);
    let (mut energies, mut values) = ([0.0; 2], [0.0; 10]);
    let rows = Rows::new(&[1.5, -2.0], 1);
    outer.energies_and_constraints(StepContext::default(), rows, &mut energies, &mut values).expect("values");
    assert_eq!(energies, [1.5, -2.0]);
    assert_eq!(values, [2.0, -1.5, -2.5, -0.25, -0.75, -5.0, -5.0, 1.0, 1.5, -2.5]);
}
