//! Which phase comes next.

use super::descent::{Descent, End, Start};
use super::desk::Desk;
use super::random::Random;
use super::separable;

/// Everything, from the first evaluation to the last. Returns when restarts no longer pay.
pub(super) async fn solve(desk: Desk) {
    let (dim, width) = (desk.dim(), desk.width());
    let seed = desk.with(|sheet| sheet.seed);
    let mut random = Random::new(seed, 0);
    let base = ((4.0 + (3.0 * libm::log(dim as f64)).floor()) as usize).max(width);
    if separable::is_separable(&desk, &mut random).await {
        separable::solve_lines(&desk, &mut random).await;
    }
    let mut plateau = false;
    // Arms: (times the base, step size, evaluations used).
    let mut arms = [(4, 0.2, 0u64, f64::INFINITY), (1, 0.05, 0, f64::INFINITY)];
    for run in 0u64.. {
        let choice = if run == 0 {
            None
        } else {
            let holder = if arms[0].3 <= arms[1].3 { 0 } else { 1 };
            let cost = |i: usize| arms[i].2 as f64 / if i == holder { 3.0 } else { 1.0 };
            Some(if cost(0) <= cost(1) { 0 } else { 1 })
        };
        let (times, step) = choice.map_or((2, 0.2), |i| (arms[i].0, arms[i].1));
        let (times, step) = if plateau { (8, 0.2) } else { (times, step) };
        let u = random.uniforms(dim);
        let mean = desk.with(|sheet| {
            let drawn = u.iter().zip(&sheet.space.start).map(|(u, (low, high))| low + u * (high - low)).collect();
            sheet.space.first.clone().filter(|_| run == 0).unwrap_or(drawn)
        });
        let start =
            Start { mean, step, lambda: (times * base).max(width), model: !plateau, race: run > 0, first: run == 0 };
        let mut descent = Descent::new(&desk, Random::new(seed, run + 1), start);
        let end = descent.run().await;
        plateau |= end == End::Plateau;
        if let Some(i) = choice {
            arms[i].2 += descent.spent();
            arms[i].3 = arms[i].3.min(descent.best.1);
        }
        desk.with(|sheet| {
            sheet.notes.sentences.push(format!(
                "run {run}: lambda {} spent {} best {:e} end {end:?} step {:e} (all {:e})",
                times * base,
                descent.spent(),
                descent.best.1,
                descent.core.widest(),
                sheet.best.1
            ))
        });
    }
}
