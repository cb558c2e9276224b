//! Ant colony optimization in continuous domains, ACO_R: an archive of good points is the pheromone, from which ants sample.
//!
//! - formula: of the archive, sorted by value, an ant chooses point l with probability `~ exp(-(l - 1)^2 / (2 q^2 k^2))` and draws
//!   `x_i = s_li + xi m_i z_i`, z standard normal, `m_i` the mean distance of the archive's points from s_l in coordinate i. The best `k` of
//!   archive and ants remain
//! - source: Socha and Dorigo 2008, doi:10.1016/j.ejor.2006.06.046
//! - settings: archive k = 50, ants 2, q = 0.1, xi = 0.85, as in the source for functions with several minima (for those with one it has
//!   q = 0.0001)

use super::Kind;
use super::search::{Over, Search, sort};
use super::settings::{Setting, Usual, Values};
use std::convert::Infallible;

/// See the [module](self).
pub static KIND: Kind = Kind {
    name: "ants",
    title: "ant colony (ACO_R)",
    source: "Socha and Dorigo 2008, doi:10.1016/j.ejor.2006.06.046",
    settings: &[
        Setting::count("archive", "points that are kept, k", Usual::Number(50.0), 2.0),
        Setting::count("ants", "points that are sampled at a time", Usual::Number(2.0), 1.0),
        Setting::number("q", "how many of the best points are followed, relative to k", 0.1, 1e-9, 1e9),
        Setting::number("xi", "how far from them ants go", 0.85, 0.0, 1e3),
    ],
    search,
};

fn search(search: &mut Search<'_>, values: &Values<'_>) -> Result<Infallible, Over> {
    let (size, ants) = (values.count("archive"), values.count("ants"));
    let (q, xi) = (values.number("q"), values.number("xi"));
    let mut archive = search.begin(size)?;
    sort(&mut archive);
    // Sums of weights: the first is reached with probability 1 / total.
    let weight = |l: usize| libm::exp(-0.5 * (l as f64 / (q * size as f64)).powi(2));
    let sums: Vec<f64> = (0..size)
        .scan(0.0, |sum, l| {
            *sum += weight(l);
            Some(*sum)
        })
        .collect();
    let total = sums[size - 1];
    loop {
        let mut points = Vec::with_capacity(ants);
        for _ in 0..ants {
            let chance = total * search.draws.uniform();
            let followed = sums.partition_point(|sum| *sum < chance).min(size - 1);
            let mut x = archive[followed].x.clone();
            for (i, x) in x.iter_mut().enumerate() {
                let distance = archive.iter().map(|other| (other.x[i] - *x).abs()).sum::<f64>() / (size - 1) as f64;
                let step = xi * distance * search.draws.normal();
                *x = search.inside(i, *x + step);
            }
            points.push(x);
        }
        archive.extend(search.round(points)?);
        sort(&mut archive);
        archive.truncate(size);
    }
}
