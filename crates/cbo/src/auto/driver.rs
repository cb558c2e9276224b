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
    let mut first_tried = (0, 0);
    // Arms: (times the base, step size, evaluations used).
    let mut arms =
        [(super::tune("A", 4.0) as usize, 0.2, 0u64, f64::INFINITY), (1, super::tune("bs", 0.1), 0, f64::INFINITY)];
    for run in 0u64.. {
        let choice = if run == 0 {
            None
        } else {
            let holder = if arms[0].3 <= arms[1].3 { 0 } else { 1 };
            let smooth = first_tried.1 as f64 > super::tune("smooth", 0.5) * first_tried.0 as f64;
            let favour =
                [if smooth { 1.0 } else { super::tune("fa", 1.0) }, if smooth { super::tune("fb", 3.0) } else { 1.0 }];
            let cost =
                |i: usize| arms[i].2 as f64 / if i == holder { super::tune("holder", 3.0) } else { 1.0 } / favour[i];
            Some(if cost(0) <= cost(1) { 0 } else { 1 })
        };
        let (times, step) =
            choice.map_or((super::tune("first", 2.0) as usize, super::tune("sigma", 0.2)), |i| (arms[i].0, arms[i].1));
        let (times, step) = if plateau { (8, 0.2) } else { (times, step) };
        let samples = match choice {
            None => super::tune("m0", 1.0),
            Some(0) => super::tune("ma", 1.0),
            _ => super::tune("mb", 10.0),
        } as usize;
        let u = random.uniforms(dim * samples);
        let starts = desk.with(|sheet| {
            let drawn = u
                .iter()
                .enumerate()
                .map(|(k, u)| {
                    let (low, high) = sheet.space.start[k % dim];
                    low + u * (high - low)
                })
                .collect::<Vec<f64>>();
            sheet.space.first.clone().filter(|_| run == 0).unwrap_or(drawn)
        });
        let mean = if starts.len() > dim {
            let values = desk.evaluate(&starts).await;
            let best = (0..values.len()).min_by(|&i, &j| values[i].total_cmp(&values[j])).unwrap_or(0);
            starts[best * dim..(best + 1) * dim].to_vec()
        } else {
            starts
        };
        let start =
            Start { mean, step, lambda: (times * base).max(width), model: !plateau, race: run > 0, first: run == 0 };
        let mut descent = Descent::new(&desk, Random::new(seed, run + 1), start);
        let end = descent.run().await;
        if run == 0 {
            first_tried = descent.tried;
        }
        plateau |= end == End::Plateau;
        if let Some(i) = choice {
            arms[i].2 += descent.spent();
            if i == 0 && descent.best.1 > desk.best() {
                arms[0].0 = (arms[0].0 as f64 * super::tune("grow", 1.0)) as usize;
            }
            arms[i].3 = arms[i].3.min(descent.best.1);
        }
        desk.with(|sheet| {
            sheet.notes.sentences.push(format!(
                "run {run}: lambda {} spent {} best {:e} end {end:?} step {:e} model {:?} gen {} (all {:e})",
                times * base,
                descent.spent(),
                descent.best.1,
                descent.core.widest(),
                descent.tried,
                descent.core.generation,
                sheet.best.1
            ))
        });
    }
}
