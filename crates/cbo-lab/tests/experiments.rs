//! Experiments of the method's authors: what a few of their cells must show.

use cbo_lab::experiments::{Session, canyon, landscape, phase, sensing, truncation};
use cbo_lab::success::Rate;
use cbo_problems::Problem;

const SESSION: Session<'static> = Session { quick: true, seed: 0, watch: &|_| true };

/// Successes of `run` over a few seeds.
fn rate(runs: u64, run: impl Fn(u64) -> bool) -> Rate {
    Rate::of((0..runs).filter(|&seed| run(seed)).count() as u64, runs)
}

#[test]
fn more_particles_succeed_more_often() {
    let parameters = phase::load().expect("parameters").parameters;
    let problem = Problem::named(&parameters.function, parameters.dim).expect("a problem");
    let of = |sigma_squared: f64, particles: f64| {
        rate(20, |seed| {
            let config = parameters.config(sigma_squared, particles, seed);
            parameters.succeeds::<f64>(&problem, &config).expect("a run")
        })
    };
    let (few, many) = (of(8.0, 6.0), of(8.0, 150.0));
    assert!(few.high < many.low && many.rate > 0.9, "{few:?} {many:?}");
}

/// Without a limit, isotropic noise of this strength takes the swarm away; cut at the width of a basin it does not.
#[test]
fn truncation_rescues_strong_isotropic_noise() {
    let parameters = truncation::load().expect("parameters").parameters;
    let problem = Problem::named(&parameters.function, parameters.dim).expect("a problem");
    let ends_near = |length: f64| {
        let config = parameters.config(1.5, length, 1);
        let run = cbo::solve::<f64>(&config, &problem, &mut ()).expect("a run");
        problem.distance_to_minimiser(&run.consensus().x)
    };
    let (cut, free) = (ends_near(1.0), ends_near(f64::INFINITY));
    assert!(cut < free, "{cut} {free}");
}

#[test]
fn the_gradient_recovers_what_noise_alone_does_not() {
    let parameters = sensing::load().expect("parameters").parameters;
    // At the size of the experiment: on a smaller one a penalty that is far too weak would do.
    let of = |gradient: f64| rate(16, |seed| parameters.succeeds(gradient, 100, seed).expect("a run"));
    let (without, with) = (of(0.0), of(parameters.gradient));
    assert!(without.high < with.low, "{without:?} {with:?}");
}

/// Four minimisers, in most runs; with an alpha for which values alone count it is one.
#[test]
fn one_polarised_swarm_finds_all_minimisers() {
    let found = landscape::run(&SESSION).expect("runs");
    let [suited, constant] = &found.outcomes[..] else { panic!("two choices of alpha") };
    assert_eq!(found.minimisers.len(), 4);
    let (suited_rate, constant_rate) =
        (Rate::of(suited.found_all, found.runs), Rate::of(constant.found_all, found.runs));
    assert!(constant_rate.high < suited_rate.low, "{suited_rate:?} {constant_rate:?}");
    assert!(constant.found.len() < 2 * found.runs as usize, "{:?}", constant.runs_that_found);
}

#[test]
fn the_consensus_point_leaves_the_ripples_and_descent_does_not() {
    let paths = canyon::run(&SESSION).expect("paths");
    assert!(paths.descent_distance > 7.5, "{}", paths.descent_distance);
    let nearer = paths.distances.iter().filter(|d| **d < 0.75 * paths.descent_distance).count();
    assert!(nearer >= 8, "{:?}", paths.distances);
    assert_eq!(paths.csv().lines().count(), 1 + paths.descent.len() + 10 * 251);
}
