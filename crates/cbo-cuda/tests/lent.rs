//! Runs on the kernels whose energies come from elsewhere, beside those of the engine: the same bits.

use crate::bits::{bits, device};
use crate::host::is_there;
use cbo::{
    Alpha, AskTell, BoundHandling, CboConfig, Diffusion, InitialLaw, Objective, Rows, RunReport, Scalar, Sigma,
    StepContext, StopReason, solve,
};
use cbo_cuda::{Cuda, Lent};
use cbo_problems::Problem;
use std::sync::Arc;

/// Energies of points that lie coordinate by coordinate.
fn energies<T: Scalar>(objective: &dyn Objective<T>, columns: &[T]) -> Vec<T> {
    let (dim, count) = (objective.dim(), columns.len() / objective.dim());
    let rows: Vec<T> = (0..count * dim).map(|at| columns[at % dim * count + at / dim]).collect();
    let mut energies = vec![T::default(); count];
    objective.energies(StepContext::default(), Rows::new(&rows, dim), &mut energies).expect("energies");
    energies
}

/// Positions on the device, as whoever evaluates there would find them.
fn look<T: Scalar>(run: &AskTell<T>, lent: &Lent) -> Vec<T> {
    let report = run.report();
    let rows = report.ensemble().rows();
    (0..lent.count() * lent.dim()).map(|at| rows.row(at % lent.count())[at / lent.count()]).collect()
}

/// A step whose energies are evaluated here.
fn step<T: Scalar>(run: &mut AskTell<T>, lent: &Lent, objective: &dyn Objective<T>) -> Option<StopReason> {
    assert_eq!(run.ask_there(), lent.count());
    lent.upload(&energies(objective, &look(run, lent))).expect("memory");
    run.tell_there(&mut ()).expect("a step")
}

/// Follows a run to its end, with the consensus point evaluated on the device.
fn follow<T: Scalar>(mut run: AskTell<T>, lent: &Lent, objective: &dyn Objective<T>) -> RunReport<T> {
    while step(&mut run, lent, objective).is_none() {}
    let consensus = run.consensus();
    let single = lent.single(&consensus).expect("memory");
    assert_eq!((single.count(), single.dim()), (1, lent.dim()));
    single.upload(&energies(objective, &consensus)).expect("memory");
    run.report_with_consensus(single.energies().expect("memory")[0], &[])
}

fn config(problem: &Problem) -> CboConfig {
    CboConfig {
        particles: 700,
        steps: Some(15),
        seed: 5,
        threads: 1,
        alpha: Alpha::Constant(30.0),
        sigma: Sigma::Constant(1.0),
        init: InitialLaw::uniform(problem.domain()),
        ..CboConfig::default()
    }
}

fn compare<T: Scalar>(what: &str, config: &CboConfig, problem: &Problem)
where
    Problem: Objective<T>,
{
    let here = solve::<T>(config, problem, &mut ()).expect("a run");
    let (run, lent) = device().ask_tell::<T>(config, problem.dim()).expect("a run");
    assert!(bits(&here) == bits(&follow(run, &lent, problem)), "{what}, {}", T::NAME);
}

#[test]
fn energies_from_elsewhere_have_the_same_bits() {
    if !is_there() {
        return;
    }
    let problem = Problem::named("rastrigin", 6).expect("a problem");
    let base = config(&problem);
    let bounds = Some(vec![(-1.0, 3.0); 6]);
    for (what, config) in [
        ("plain", base.clone()),
        ("isotropic", CboConfig { diffusion: Diffusion::Isotropic, ..base.clone() }),
        ("bounds", CboConfig { bounds, bound_handling: BoundHandling::Reflect, ..base.clone() }),
        ("kick", CboConfig { kick: Some(0.5), ..base.clone() }),
        ("effective sample size", CboConfig { alpha: Alpha::EffectiveSampleSize(0.2), ..base.clone() }),
        ("a diameter", CboConfig { diameter: Some(3.0), sigma: Sigma::Constant(0.1), steps: Some(200), ..base }),
    ] {
        compare::<f64>(what, &config, &problem);
        compare::<f32>(what, &config, &problem);
    }
    for method in ["hopping", "hopping:weights=ranks,antithetic=false,start=point"] {
        let usual = CboConfig::of(method.parse().expect("a method"));
        let init = InitialLaw::uniform(problem.domain());
        compare::<f64>(method, &CboConfig { steps: Some(15), seed: 5, threads: 1, init, ..usual }, &problem);
    }
}

#[test]
fn energies_are_copied_from_memory_of_the_device() {
    if !is_there() {
        return;
    }
    let problem = Problem::named("sphere", 3).expect("a problem");
    let config = CboConfig { particles: 50, steps: Some(3), ..config(&problem) };
    let here = solve::<f64>(&config, &problem, &mut ()).expect("a run");
    let (mut run, lent) = device().ask_tell::<f64>(&config, 3).expect("a run");
    // The processor's memory, without streams, or a GPU's.
    let is_gpu = std::env::var_os("CBO_CUDA").is_some();
    assert_eq!((lent.place().0, lent.stream().is_some()), if is_gpu { (2, true) } else { (1, false) });
    loop {
        run.ask_there();
        let energies = energies(&problem, &lent.positions::<f64>().expect("memory"));
        let elsewhere = lent.single(&energies).expect("memory");
        // SAFETY: as many numbers as points, until the end of the step.
        unsafe { lent.take::<f64>(elsewhere.address()) }.expect("a copy");
        if run.tell_there(&mut ()).expect("a step").is_some() {
            break;
        }
    }
    assert_eq!(run.report().ensemble().rows().as_slice(), here.ensemble().rows().as_slice());
}

#[test]
fn lent_memory_outlives_the_run() {
    if !is_there() {
        return;
    }
    let problem = Problem::named("sphere", 2).expect("a problem");
    let (run, lent) = device().ask_tell::<f64>(&config(&problem), 2).expect("a run");
    let before = look(&run, &lent);
    drop(run);
    assert_eq!(lent.positions::<f64>().expect("memory"), before);
}

#[test]
fn a_saved_run_goes_on_on_either() {
    if !is_there() {
        return;
    }
    let problem = Problem::named("ackley", 4).expect("a problem");
    let config = config(&problem);
    let whole = bits(&solve::<f64>(&config, &problem, &mut ()).expect("a run"));
    let (mut run, lent) = device().ask_tell::<f64>(&config, 4).expect("a run");
    for _ in 0..7 {
        step(&mut run, &lent, &problem);
    }
    let state = run.save();
    let again = cbo::resume::<f64>(&config, &problem, &mut (), &state).expect("a run");
    assert_eq!(bits(&again), whole);
    let (run, lent) = device().load::<f64>(&config, 4, &state).expect("a run");
    assert_eq!(bits(&follow(run, &lent, &problem)), whole);
}

#[test]
fn what_is_not_there_is_refused() {
    let problem = Problem::named("sphere", 2).expect("a problem");
    for method in ["auto", "memory"] {
        let config = CboConfig { method: method.parse().expect("a method"), ..CboConfig::default() };
        let error = device().ask_tell::<f64>(&config, 2).expect_err("a refusal").to_string();
        assert!(error.contains("method") && error.contains(method), "{error}");
    }
    let small = Cuda::on(Arc::new(crate::host::Host { free: Some(1000), ..Default::default() }));
    let error = small.ask_tell::<f64>(&config(&problem), 2).expect_err("a refusal").to_string();
    assert!(error.contains("particles") && error.contains("GB"), "{error}");
}
