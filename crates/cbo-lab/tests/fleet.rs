//! Runs that somebody else makes, thousands at once, are judged as the same runs one by one.

use cbo::device::{Ended, Errand, Fleet, Made};
use cbo::{CboConfig, Evaluated, SolveError, from_fn, solve};
use cbo_lab::compare::{Contestant, trial};
use cbo_lab::experiments::{Range, Session, phase};
use cbo_lab::fleet;
use cbo_lab::success::{Judge, outcome};
use cbo_problems::Problem;
use std::sync::{Arc, Mutex};

/// Makes them one by one after all.
struct OneByOne;

impl Fleet<f64> for OneByOne {
    fn solve_many(
        &self,
        runs: &[Errand<'_, f64>],
        logged: bool,
        watch: &(dyn Fn(f64) -> bool + Sync),
    ) -> Result<Option<Vec<Made<f64>>>, SolveError> {
        let mut all = Vec::new();
        for run in runs {
            if !watch(all.len() as f64 / runs.len() as f64) {
                return Ok(None);
            }
            all.push(one(run, logged)?);
        }
        Ok(Some(all))
    }
}

fn one(run: &Errand<'_, f64>, logged: bool) -> Result<Made<f64>, SolveError> {
    let log = Mutex::new((0, Vec::<(u64, Evaluated<f64>)>::new()));
    let (noting, energy) = (run.objective, |x: &[f64]| {
        let mut energy = [0.0];
        let at = cbo::StepContext { step: 0, epoch: 0, data_batch: 0 };
        run.objective.energies(at, cbo::Rows::new(x, x.len()), &mut energy).expect("a formula");
        energy[0]
    });
    let objective = from_fn(noting.dim(), |x: &[f64]| {
        let (value, mut log) = (energy(x), log.lock().expect("one thread"));
        log.0 += 1;
        if value.is_finite() && log.1.last().is_none_or(|(_, last)| value < last.value) {
            let number = log.0;
            log.1.push((number, Evaluated { x: x.to_vec(), value, violation: 0.0 }));
        }
        value
    });
    let end = solve(&run.plan, &objective, &mut ()).map(|report| Ended {
        best: report.best().clone(),
        consensus: report.consensus().clone(),
        stop: report.stop(),
        steps: report.steps(),
        evaluations: report.evaluations(),
        failed: report.failed_evaluations(),
        infeasible: report.infeasible_evaluations(),
    });
    let (evaluations, improvements) = log.into_inner().expect("one thread");
    Ok(Made { end, evaluations, improvements: if logged { improvements } else { Vec::new() } })
}

fn config(seed: usize) -> CboConfig {
    CboConfig { particles: 20 + seed, steps: Some(15), seed: seed as u64, threads: 1, ..CboConfig::default() }
}

#[test]
fn outcomes_are_those_of_single_runs() {
    let problem = Arc::new(Problem::named("rastrigin", 3).expect("a problem"));
    for judge in [Judge::Best, Judge::Consensus] {
        let run = |seed: usize| Ok::<_, SolveError>((config(seed), problem.clone()));
        let many = fleet::outcomes(&OneByOne, 5, run, judge, &|_| true).expect("outcomes");
        assert_eq!(many.len(), 5);
        for (seed, many) in many.iter().enumerate() {
            let alone = outcome::<f64>(&config(seed), &problem, &*problem, judge, &|| false).expect("a run");
            let alone = alone.expect("an outcome");
            assert_eq!((many.seed, many.evaluations, many.steps), (alone.seed, alone.evaluations, alone.steps));
            // Values of one point at a time may differ in their last bits.
            assert!((many.value - alone.value).abs() < 1e-9 && (many.distance - alone.distance).abs() < 1e-9);
            assert_eq!(many.end.as_ref().ok(), alone.end.as_ref().ok());
        }
    }
    let run = |seed: usize| Ok::<_, SolveError>((config(seed), problem.clone()));
    assert!(fleet::outcomes(&OneByOne, 5, run, Judge::Best, &|_| false).expect("no error").is_empty());
    let wrong = |seed: usize| Ok::<_, SolveError>((CboConfig { dt: -1.0, ..config(seed) }, problem.clone()));
    assert!(fleet::outcomes(&OneByOne, 5, wrong, Judge::Best, &|_| true).is_err());
}

#[test]
fn trials_have_the_histories_of_single_runs() {
    let problem = Arc::new(Problem::named("ackley", 2).expect("a problem"));
    let run = |seed: usize| Ok::<_, SolveError>((config(seed), problem.clone()));
    let many = fleet::trials(&OneByOne, 3, run, Judge::Best, &|_| true).expect("trials");
    let cbo: Contestant = "cbo".parse().expect("a method");
    for (seed, many) in many.iter().enumerate() {
        let alone =
            trial::<f64>(&cbo, &config(seed), &problem, Judge::Best, &|| false).expect("a run").expect("a trial");
        assert_eq!(many.outcome.evaluations, alone.outcome.evaluations);
        assert_eq!(many.at_its_end, alone.at_its_end);
        assert_eq!(many.improvements.len(), alone.improvements.len());
        for (a, b) in many.improvements.iter().zip(&alone.improvements) {
            assert_eq!(a.evaluation, b.evaluation);
            assert!((a.value - b.value).abs() < 1e-9 && (a.distance - b.distance).abs() < 1e-9);
        }
    }
}

#[test]
fn the_phase_diagram_has_its_cells_in_their_places() {
    let session = Session { quick: true, seed: 3, watch: &|_| true };
    let wanted = phase::Wanted {
        sigma_squared: Some(Range { from: 2.0, to: 30.0, count: 3 }),
        particles: Some(Range { from: 5.0, to: 60.0, count: 2 }),
        runs: Some(6),
    };
    let one_by_one = phase::run::<f64>(&session, wanted, None).expect("a grid");
    let at_once = phase::run::<f64>(&session, wanted, Some(&OneByOne)).expect("a grid");
    assert_eq!(one_by_one.csv(), at_once.csv());
    let ended = Session { watch: &|_| false, ..session };
    assert!(phase::run::<f64>(&ended, wanted, Some(&OneByOne)).is_err());
}
