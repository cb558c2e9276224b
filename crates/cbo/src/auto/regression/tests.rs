//! What is asked of the regression.

use super::*;
use crate::auto::random::Random;
use crate::auto::shape::Shape;

/// Samples of `f` at normal points that come closer to 0 by this factor from one to the next.
fn samples(dim: usize, count: usize, closer: f64, f: impl Fn(&[f64]) -> f64) -> VecDeque<Sample> {
    let mut points = Vec::new();
    Random::new(5, 0).normals(count, dim, &mut points);
    let sample = |(number, x): (usize, &[f64])| {
        let point: Vec<f64> = x.iter().map(|x| x * closer.powi(number as i32)).collect();
        Sample { number: number as u64, value: f(&point), point, parts: Vec::new() }
    };
    points.chunks_exact(dim).enumerate().map(sample).collect()
}

fn frame(dim: usize) -> Frame {
    Frame::new(vec![0.3; dim], 2.0, Shape::new(dim))
}

fn quadratic(x: &[f64]) -> f64 {
    let square = |k: usize| (x[k] - 0.5 * x[(k + 1) % x.len()] - 0.1 * k as f64).powi(2);
    7.0 + (0..x.len()).map(|k| (k + 1) as f64 * square(k)).sum::<f64>()
}

#[test]
fn a_quadratic_function_is_reproduced() {
    for dim in [1, 3, 8, 20] {
        let points = samples(dim, 2 * Kind::Full.terms(dim), 1.0, quadratic);
        let mut fit = Regression::new(Kind::Full, frame(dim), &points, 4, None).expect("a fit");
        for sample in points.iter().take(5) {
            let predicted = fit.predict(&sample.point)[0];
            let error = (predicted - sample.value).abs();
            assert!(error < 1e-5 * sample.value, "{predicted} instead of {} in {dim} dimensions", sample.value);
        }
    }
}

#[test]
fn updating_gives_what_fitting_from_scratch_gives() {
    // Not quadratic, so that weights matter.
    let f = |x: &[f64]| quadratic(x) + x.iter().map(|x| x.powi(4) + (3.0 * x).sin()).sum::<f64>();
    for (kind, dim) in [(Kind::Diagonal, 60), (Kind::Full, 12), (Kind::Full, 20)] {
        let terms = kind.terms(dim);
        let all = samples(dim, 3 * terms, 1.0 - 0.2 / terms as f64, f);
        let mut points: VecDeque<Sample> = all.iter().take(2 * terms).cloned().collect();
        let mut fit = Regression::new(kind, frame(dim), &points, 4, None).expect("a fit");
        for (updates, sample) in all.iter().skip(2 * terms).take(terms - 1).enumerate() {
            points.pop_front();
            points.push_back(sample.clone());
            assert!(fit.update(&points, 4), "{kind:?} in {dim} dimensions after {updates} updates");
        }
        let scratch = Regression::new(kind, frame(dim), &points, 4, None).expect("a fit");
        // Weights may differ by the tolerance, so the two agree as two good fits do, not to the last digit.
        let (updated, fresh) = (fit.recent(10).0, scratch.recent(10).0);
        let (low, high) = extremes(&points);
        for (a, b) in updated.iter().zip(&fresh) {
            assert!((a - b).abs() < 0.02 * (high - low), "{a} and {b} of {low} to {high}, {kind:?}, {dim} dimensions");
        }
        // With the same weights the coefficients are the same.
        let count = fit.order.len();
        for (rank, weight) in weights(count, terms).enumerate() {
            let at = (fit.order[rank] - fit.oldest) as usize;
            fit.change(&[(at, weight)]);
            assert_eq!(fit.entries[at].weight, weight);
        }
        // Old points that still waited to be taken out.
        for at in 0..fit.entries.len() {
            if !fit.order.contains(&(fit.oldest + at as u64)) {
                fit.change(&[(at, 0.0)]);
            }
        }
        assert!(fit.read_off());
        for (a, b) in fit.recent(10).0.iter().zip(&fresh) {
            assert!((a - b).abs() < 1e-6 * (high - low), "{a} and {b}, {kind:?}, {dim} dimensions");
        }
    }
}

#[test]
fn points_that_were_foreseen_wait_and_others_do_not() {
    let dim = 4;
    let terms = Kind::Full.terms(dim);
    let all = samples(dim, 2 * terms + PATIENCE + 2, 1.0, quadratic);
    let mut points: VecDeque<Sample> = all.iter().take(2 * terms).cloned().collect();
    let mut fit = Regression::new(Kind::Full, frame(dim), &points, 4, None).expect("a fit");
    let asked: Vec<f64> = all.iter().skip(2 * terms).flat_map(|sample| sample.point.clone()).collect();
    fit.predict(&asked);
    let weight = |fit: &Regression| fit.entries.back().map(|entry| entry.weight);
    for sample in all.iter().skip(2 * terms).take(PATIENCE) {
        points.push_back(sample.clone());
        assert!(fit.update(&points, 4));
        assert_eq!(weight(&fit), Some(0.0), "a quadratic function is foreseen");
    }
    // One that is better than all others, which no model would expect there.
    let (number, best) = (points.len() as u64, extremes(&points).0);
    let surprise = Sample { number, value: best - 100.0, ..all[number as usize].clone() };
    points.push_back(surprise);
    assert!(fit.update(&points, 4));
    assert!(weight(&fit) > Some(0.0));
    assert!(fit.entries.iter().rev().take(PATIENCE).any(|entry| entry.weight > 0.0), "nobody waits any longer");
    assert_eq!(fit.waiting, 0);
}

#[test]
fn points_that_no_longer_count_are_taken_out_together() {
    let dim = 4;
    let terms = Kind::Full.terms(dim);
    // Each point is better than all before.
    let all = samples(dim, 4 * terms, 0.97, |x| square(x) + x[0].sin());
    let mut points: VecDeque<Sample> = all.iter().take(2 * terms).cloned().collect();
    let mut fit = Regression::new(Kind::Full, frame(dim), &points, 4, None).expect("a fit");
    let mut most = 0;
    for sample in all.iter().skip(2 * terms).take(terms - 1) {
        points.pop_front();
        points.push_back(sample.clone());
        assert!(fit.update(&points, 4));
        let counting = fit.entries.iter().filter(|entry| entry.weight > 0.0).count();
        let wanted = weights(fit.order.len(), terms).filter(|weight| *weight > 0.0).count();
        most = most.max(counting.saturating_sub(wanted));
    }
    assert!((1..AT_ONCE + PATIENCE).contains(&most), "{most} points too many");
}

#[test]
fn a_minimiser_is_told_once() {
    let dim = 4;
    let points = samples(dim, 2 * Kind::Full.terms(dim), 1.0, quadratic);
    let mut fit = Regression::new(Kind::Full, frame(dim), &points, 4, None).expect("a fit");
    let core = Core::new(vec![0.0; dim], 1.0, 8);
    assert!(fit.minimiser(&core, 0.1).is_some());
    let near = fit.minimiser(&core, 0.1);
    assert!(near.is_some(), "what the trust region cuts off is looked for again");
    let found = fit.minimiser(&core, 1e3).expect("a minimum");
    // The gradient there is zero: each coordinate is k / 10 more than half of the next one.
    for k in 0..dim {
        let wanted = 0.5 * found[(k + 1) % dim] + 0.1 * k as f64;
        assert!((found[k] - wanted).abs() < 1e-4, "coordinate {k} of {found:?}");
    }
    assert_eq!(fit.minimiser(&core, 1e3), None);
}

/// Prints what a fit of a full model from scratch takes, and what taking a point in: `cargo test --release -p cbo --lib times_of_a_fit -- --ignored
/// --nocapture`.
#[test]
#[ignore = "measures"]
fn times_of_a_fit() {
    const TIMES: usize = 200;
    for dim in [5, 10, 20, 40] {
        let terms = Kind::Full.terms(dim);
        let f = |x: &[f64]| quadratic(x) + x.iter().map(|x| (3.0 * x).sin()).sum::<f64>();
        let all = samples(dim, 3 * terms, 1.0 - 0.2 / terms as f64, f);
        let mut points: VecDeque<Sample> = all.iter().take(2 * terms).cloned().collect();
        let (mut fit, mut fits) = (None, Vec::new());
        for _ in 0..TIMES {
            let start = std::time::Instant::now();
            fit = Regression::new(Kind::Full, frame(dim), &points, 4, fit);
            fits.push(start.elapsed().as_secs_f64());
        }
        let mut fit = fit.expect("a fit");
        let start = std::time::Instant::now();
        for sample in all.iter().skip(2 * terms).take(terms / 2) {
            points.pop_front();
            points.push_back(sample.clone());
            assert!(fit.update(&points, 4));
        }
        let update = start.elapsed().as_secs_f64() / (terms / 2) as f64;
        let best = fits.into_iter().fold(f64::INFINITY, f64::min);
        println!("d = {dim}, {terms} terms: a fit {:.3} ms, a point taken in {:.4} ms", 1e3 * best, 1e3 * update);
    }
}

fn extremes(points: &VecDeque<Sample>) -> (f64, f64) {
    points.iter().fold((f64::INFINITY, 0.0), |(low, high), p| (f64::min(low, p.value), f64::max(high, p.value)))
}
