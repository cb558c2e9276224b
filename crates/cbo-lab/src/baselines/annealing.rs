//! Simulated annealing with steps that adapt, one coordinate after the other.
//!
//! - formula: `x_k' = x_k + v_k u`, u uniform in (-1, 1); it is accepted with probability `min(1, exp(-(E(x') - E(x)) / T))`. After
//!   `cycles` of all coordinates `v_k` grows by `1 + 2 (a - 0.6) / 0.4` if the share a of accepted steps is above 0.6 and shrinks by
//!   `1 + 2 (0.4 - a) / 0.4` if it is below 0.4, and the search goes on from the best point. `T = T_0 10^(-decades n / budget)`, where
//!   `T_0` is the standard deviation of the energies at the first `points` of the start
//! - source: Kirkpatrick, Gelatt and Vecchi 1983, doi:10.1126/science.220.4598.671 (the acceptance); Corana, Marchesi, Martini and Ridella
//!   1987, doi:10.1145/29380.29864 (the steps); White 1984, doi:10.1063/1.34823 (the first temperature)
//! - settings: cycles 20, as Corana et al. have it; points 20; decades 8. Their fixed number of steps at each temperature, 20 000 in ten
//!   dimensions, suits no small budget: here the temperature falls with the part of the budget that is spent

use super::Kind;
use super::search::{Over, Search, sort};
use super::settings::{Setting, Usual, Values};
use std::convert::Infallible;

/// See the [module](self).
pub static KIND: Kind = Kind {
    name: "annealing",
    title: "simulated annealing",
    source: "Corana, Marchesi, Martini and Ridella 1987, doi:10.1145/29380.29864",
    settings: &[
        Setting::count("cycles", "moves of each coordinate between two changes of the steps", Usual::Number(20.0), 1.0),
        Setting::count(
            "points",
            "points of the start from which the first temperature is known",
            Usual::Number(20.0),
            2.0,
        ),
        Setting::number("decades", "powers of ten by which the temperature falls", 8.0, 0.0, 100.0),
    ],
    search,
};

fn search(search: &mut Search<'_>, values: &Values<'_>) -> Result<Infallible, Over> {
    let (dim, cycles, decades) = (search.dim(), values.count("cycles"), values.number("decades"));
    let mut start = search.begin(values.count("points"))?;
    sort(&mut start);
    let hot = deviation(start.iter().map(|member| member.value));
    let mut steps: Vec<f64> = (0..dim).map(|k| 0.5 * search.width(k)).collect();
    let mut now = start.swap_remove(0);
    loop {
        let mut accepted = vec![0usize; dim];
        for _ in 0..cycles {
            for k in 0..dim {
                let before = now.x[k];
                let step = steps[k] * (2.0 * search.draws.uniform() - 1.0);
                now.x[k] = search.inside(k, before + step);
                let temperature = hot * libm::exp10(-decades * search.spent());
                let value = search.value(&now.x)?;
                let rise = value - now.value;
                // Not a number if both are infinite: such a step is as good as any.
                if rise.is_nan() || rise <= 0.0 || search.draws.happens(libm::exp(-rise / temperature)) {
                    now.value = value;
                    accepted[k] += 1;
                } else {
                    now.x[k] = before;
                }
            }
        }
        for (k, step) in steps.iter_mut().enumerate() {
            let share = accepted[k] as f64 / cycles as f64;
            if share > 0.6 {
                *step *= 1.0 + 2.0 * (share - 0.6) / 0.4;
            } else if share < 0.4 {
                *step /= 1.0 + 2.0 * (0.4 - share) / 0.4;
            }
            *step = step.min(search.width(k));
        }
        if let Some(best) = search.best() {
            (now.x, now.value) = (best.x.clone(), best.value);
        }
    }
}

/// The standard deviation of the finite values, or 1 if it is zero.
fn deviation(values: impl Iterator<Item = f64>) -> f64 {
    let finite: Vec<f64> = values.filter(|value| value.is_finite()).collect();
    let count = finite.len().max(1) as f64;
    let mean = finite.iter().map(|value| value / count).sum::<f64>();
    let variance = finite.iter().map(|value| (value - mean) * ((value - mean) / count)).sum::<f64>();
    if variance > 0.0 && variance.is_finite() { variance.sqrt() } else { 1.0 }
}
