//! Evolutionary programming: mutation alone, with step sizes that are inherited and mutate too, and tournaments for survival.
//!
//! - formula: each parent (x, s) has one child `x_k' = x_k + s_k c_k`, c standard Cauchy ("fast" evolutionary programming), and
//!   `s_k' = s_k exp(z / sqrt(2 d) + z_k / sqrt(2 sqrt(d)))`, z and z_k standard normal. Parents and children meet `rivals` of all at
//!   random; those who win most often survive
//! - source: Yao, Liu and Lin 1999, doi:10.1109/4235.771163; the idea is that of Fogel, Owens and Walsh 1966
//! - settings: population 100, rivals 10, as in the source; first step 0.1 of the box's width (there: 3 in boxes of width 10 to 1000)

use super::Kind;
use super::search::{Member, Over, Search};
use super::settings::{Setting, Usual, Values};
use std::convert::Infallible;

/// See the [module](self).
pub static KIND: Kind = Kind {
    name: "programming",
    title: "evolutionary programming",
    source: "Yao, Liu and Lin 1999, doi:10.1109/4235.771163",
    settings: &[
        Setting::count("population", "size of the population", Usual::Number(100.0), 1.0),
        Setting::count("rivals", "meetings that decide who survives", Usual::Number(10.0), 1.0),
        Setting::number("step", "first step, relative to the width of the box", 0.1, 1e-9, 1.0),
    ],
    search,
};

/// A point with its step sizes, relative to the box.
#[derive(Clone)]
struct Individual {
    member: Member,
    steps: Vec<f64>,
}

fn search(search: &mut Search<'_>, values: &Values<'_>) -> Result<Infallible, Over> {
    let (size, rivals) = (values.count("population"), values.count("rivals"));
    let dim = search.dim();
    let first = vec![values.number("step"); dim];
    let start = search.begin(size)?.into_iter();
    let mut population: Vec<Individual> = start.map(|member| Individual { member, steps: first.clone() }).collect();
    let (all, each) = (1.0 / (2.0 * dim as f64).sqrt(), 1.0 / (2.0 * (dim as f64).sqrt()).sqrt());
    loop {
        let (mut points, mut steps) = (Vec::with_capacity(size), Vec::with_capacity(size));
        for parent in &population {
            let common = all * search.draws.normal();
            let mut x = parent.member.x.clone();
            let mut inherited = parent.steps.clone();
            for (k, (x, step)) in x.iter_mut().zip(&mut inherited).enumerate() {
                let jump = *step * search.width(k) * search.draws.cauchy();
                *x = search.inside(k, *x + jump);
                *step *= libm::exp(common + each * search.draws.normal());
            }
            points.push(x);
            steps.push(inherited);
        }
        let children = search.round(points)?.into_iter().zip(steps);
        population.extend(children.map(|(member, steps)| Individual { member, steps }));
        population = survivors(population, size, rivals, search);
    }
}

/// Those who win most of their meetings; among equals the better.
fn survivors(all: Vec<Individual>, size: usize, rivals: usize, search: &mut Search<'_>) -> Vec<Individual> {
    let mut wins: Vec<(usize, usize)> = Vec::with_capacity(all.len());
    for (index, one) in all.iter().enumerate() {
        let meetings = (0..rivals).filter(|_| one.member.value <= all[search.draws.below(all.len())].member.value);
        wins.push((index, meetings.count()));
    }
    wins.sort_by(|a, b| b.1.cmp(&a.1).then(all[a.0].member.value.total_cmp(&all[b.0].member.value)));
    let mut all: Vec<Option<Individual>> = all.into_iter().map(Some).collect();
    wins.truncate(size);
    wins.into_iter().filter_map(|(index, _)| all[index].take()).collect()
}
