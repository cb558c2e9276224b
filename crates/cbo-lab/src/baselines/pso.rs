//! Particle swarm optimization with constriction, on a ring.
//!
//! - formula: `v = chi (v + c u1 (p - x) + c u2 (g - x))`, `x = x + v`, coordinate by coordinate with u1, u2 uniform in (0, 1), p the best
//!   point of the particle, g the best of it and its two neighbours. A coordinate that leaves the box stops at its wall
//! - source: Kennedy and Eberhart 1995, doi:10.1109/ICNN.1995.488968; constriction: Clerc and Kennedy 2002, doi:10.1109/4235.985692; the
//!   standard of 2007: Bratton and Kennedy, doi:10.1109/SIS.2007.368035
//! - settings: particles 50, chi = 0.72984, c = 2.05, as in the standard; half the way to a random point as the first velocity

use super::Kind;
use super::search::{Member, Over, Search};
use super::settings::{Setting, Usual, Values};
use std::convert::Infallible;

/// See the [module](self).
pub static KIND: Kind = Kind {
    name: "pso",
    title: "particle swarm",
    source: "Bratton and Kennedy 2007, doi:10.1109/SIS.2007.368035",
    settings: &[
        Setting::count("particles", "size of the swarm", Usual::Number(50.0), 1.0),
        Setting::number("chi", "what is left of a velocity", 0.72984, 0.0, 1.0),
        Setting::number("c", "pull towards either best point", 2.05, 0.0, 10.0),
    ],
    search,
};

fn search(search: &mut Search<'_>, values: &Values<'_>) -> Result<Infallible, Over> {
    let (size, chi, pull) = (values.count("particles"), values.number("chi"), values.number("c"));
    let mut bests = search.begin(size)?;
    let mut places: Vec<Vec<f64>> = bests.iter().map(|member| member.x.clone()).collect();
    let mut velocities: Vec<Vec<f64>> = Vec::with_capacity(size);
    for x in &places {
        let there = search.anywhere();
        velocities.push(there.iter().zip(x).map(|(to, from)| 0.5 * (to - from)).collect());
    }
    loop {
        for i in 0..size {
            let near = best_near(&bests, i);
            let (own, group) = (&bests[i].x, &bests[near].x);
            for (k, (x, v)) in places[i].iter_mut().zip(&mut velocities[i]).enumerate() {
                let (u1, u2) = (search.draws.uniform(), search.draws.uniform());
                *v = chi * (*v + pull * u1 * (own[k] - *x) + pull * u2 * (group[k] - *x));
                let (low, high) = search.ends(k);
                let moved = *x + *v;
                *x = moved.clamp(low, high);
                if *x != moved {
                    *v = 0.0;
                }
            }
        }
        for (best, now) in bests.iter_mut().zip(search.round(places.clone())?) {
            if now.value < best.value {
                *best = now;
            }
        }
    }
}

/// Which of a particle and its neighbours on the ring knows the best point.
fn best_near(bests: &[Member], i: usize) -> usize {
    let size = bests.len();
    let neighbours = [(i + size - 1) % size, (i + 1) % size];
    neighbours.into_iter().fold(i, |best, other| if bests[other].value < bests[best].value { other } else { best })
}
