//! Random search: points drawn uniformly in the box, the best is kept.
//!
//! - formula: `x_n` uniform in the box, independent; the best of n points lies in a set of volume share p with probability `1 - (1 - p)^n`
//! - source: Brooks 1958, doi:10.1287/opre.6.2.244
//! - settings: none. The first points are those of the start

use super::Kind;
use super::search::{Over, Search};
use super::settings::Values;
use std::convert::Infallible;

/// See the [module](self).
pub static KIND: Kind = Kind {
    name: "random",
    title: "random search",
    source: "Brooks 1958, doi:10.1287/opre.6.2.244",
    settings: &[],
    search,
};

/// Points that are evaluated at once: a function may be faster that way.
const AT_ONCE: usize = 64;

fn search(search: &mut Search<'_>, _: &Values<'_>) -> Result<Infallible, Over> {
    for first in (0..).step_by(AT_ONCE) {
        let points = (first..first + AT_ONCE).map(|index| search.start(index)).collect();
        search.round(points)?;
    }
    unreachable!("the budget ends before whole numbers do")
}
