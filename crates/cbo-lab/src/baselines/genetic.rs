//! A genetic algorithm with real genes: tournaments, simulated binary crossover, polynomial mutation, and survival of the best.
//!
//! - formula: parents win tournaments of two. With probability `crossover` their coordinates are crossed, each with probability 1/2:
//!   `c = ((a + b) -+ q |b - a|) / 2`, where the density of q is that of one-point crossover of binary strings, `~ q^eta` below 1 and
//!   `~ q^-(eta + 2)` above, cut where the child would leave the box. Each coordinate mutates with probability 1/d by `width times t`,
//!   `t ~ (1 - |t|)^eta`, cut likewise. Of parents and children the better half survives
//! - source: Deb, Pratap, Agarwal and Meyarivan 2002, doi:10.1109/4235.996017, for one objective; the idea is that of Holland 1975,
//!   doi:10.7551/mitpress/1090.001.0001
//! - settings: population 100, crossover 0.9, eta 20, as in the source

use super::Kind;
use super::draws::Draws;
use super::search::{Member, Over, Search, sort};
use super::settings::{Setting, Usual, Values};
use std::convert::Infallible;

/// See the [module](self).
pub static KIND: Kind = Kind {
    name: "genetic",
    title: "genetic algorithm",
    source: "Deb, Pratap, Agarwal and Meyarivan 2002, doi:10.1109/4235.996017",
    settings: &[
        Setting::count("population", "size of the population", Usual::Number(100.0), 2.0),
        Setting::number("crossover", "probability that parents are crossed", 0.9, 0.0, 1.0),
        Setting::number("eta", "how near children are to their parents", 20.0, 0.0, 1000.0),
    ],
    search,
};

/// Parents that differ less than this in a coordinate have nothing to cross there.
const SAME: f64 = 1e-14;

fn search(search: &mut Search<'_>, values: &Values<'_>) -> Result<Infallible, Over> {
    let (size, crossover, eta) = (values.count("population"), values.number("crossover"), values.number("eta"));
    let mut population = search.begin(size)?;
    loop {
        let mut children = Vec::with_capacity(size + 1);
        while children.len() < size {
            let [mut a, mut b] = [0; 2].map(|_| winner(&population, &mut search.draws).x.clone());
            if search.draws.happens(crossover) {
                cross(search, &mut a, &mut b, eta);
            }
            mutate(search, &mut a, eta);
            mutate(search, &mut b, eta);
            children.extend([a, b]);
        }
        children.truncate(size);
        population.extend(search.round(children)?);
        sort(&mut population);
        population.truncate(size);
    }
}

/// The better of two.
fn winner<'a>(population: &'a [Member], draws: &mut Draws) -> &'a Member {
    let [a, b] = [0; 2].map(|_| &population[draws.below(population.len())]);
    if b.value < a.value { b } else { a }
}

/// Crosses two points in place.
fn cross(search: &mut Search<'_>, a: &mut [f64], b: &mut [f64], eta: f64) {
    for k in 0..a.len() {
        let ((low, high), width) = (search.ends(k), search.width(k));
        if !search.draws.happens(0.5) || (a[k] - b[k]).abs() <= SAME * width {
            continue;
        }
        let (least, most) = (a[k].min(b[k]), a[k].max(b[k]));
        let chance = search.draws.uniform();
        // How far the children may lie apart on each side, in units of the parents' distance, before one of them leaves the box.
        let child = |room: f64| {
            let reach = 1.0 + 2.0 * room / (most - least);
            let area = 2.0 - libm::pow(reach, -(eta + 1.0));
            let spread = if chance <= 1.0 / area { chance * area } else { 1.0 / (2.0 - chance * area) };
            libm::pow(spread, 1.0 / (eta + 1.0))
        };
        let lower = 0.5 * (least + most - child(least - low) * (most - least));
        let upper = 0.5 * (least + most + child(high - most) * (most - least));
        let children = (search.inside(k, lower), search.inside(k, upper));
        (a[k], b[k]) = if search.draws.happens(0.5) { children } else { (children.1, children.0) };
    }
}

/// Mutates a point in place.
fn mutate(search: &mut Search<'_>, x: &mut [f64], eta: f64) {
    let probability = 1.0 / x.len() as f64;
    for (k, x) in x.iter_mut().enumerate() {
        if !search.draws.happens(probability) {
            continue;
        }
        let ((low, high), width) = (search.ends(k), search.width(k));
        let chance = search.draws.uniform();
        let power = |base: f64| libm::pow(base, 1.0 / (eta + 1.0));
        let cut = |room: f64| libm::pow((1.0 - room / width).max(0.0), eta + 1.0);
        let change = if chance < 0.5 {
            power(2.0 * chance + (1.0 - 2.0 * chance) * cut(*x - low)) - 1.0
        } else {
            1.0 - power(2.0 * (1.0 - chance) + (2.0 * chance - 1.0) * cut(high - *x))
        };
        *x = search.inside(k, *x + change * width);
    }
}
