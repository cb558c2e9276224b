//! The simplex of Nelder and Mead, started again and again from the points of the start.
//!
//! - formula: the worst of d + 1 points is reflected at the centre of the others, `c + (c - w)`, expanded to `c + b (c - w)`, or contracted
//!   to `c +- g (c - w)`; if nothing helps, all points move to the best, `x + s (y - x)`. `b = 1 + 2/d`, `g = 3/4 - 1/(2 d)`,
//!   `s = 1 - 1/d`, with d = 2 for one dimension. A simplex smaller than `tolerance` times the box ends; the next begins elsewhere
//! - source: Nelder and Mead 1965, doi:10.1093/comjnl/7.4.308; the factors: Gao and Han 2012, doi:10.1007/s10589-010-9329-3; restarts:
//!   Luersen and Le Riche 2004, doi:10.1016/j.compstruc.2004.03.072
//! - settings: first edge 0.1 of the box's width, tolerance 1e-8

use super::Kind;
use super::search::{Member, Over, Search, sort};
use super::settings::{Setting, Values};
use std::convert::Infallible;

/// See the [module](self).
pub static KIND: Kind = Kind {
    name: "nelder-mead",
    title: "Nelder-Mead, restarted",
    source: "Gao and Han 2012, doi:10.1007/s10589-010-9329-3",
    settings: &[
        Setting::number("edge", "first edge of a simplex, relative to the width of the box", 0.1, 1e-9, 1.0),
        Setting::number(
            "tolerance",
            "size at which a simplex ends, relative to the width of the box",
            1e-8,
            1e-15,
            1.0,
        ),
    ],
    search,
};

fn search(search: &mut Search<'_>, values: &Values<'_>) -> Result<Infallible, Over> {
    for index in 0.. {
        let origin = search.start(index);
        descend(search, origin, values.number("edge"), values.number("tolerance"))?;
    }
    unreachable!("the budget ends before whole numbers do")
}

/// One simplex, until it is small.
fn descend(search: &mut Search<'_>, origin: Vec<f64>, edge: f64, tolerance: f64) -> Result<(), Over> {
    let dim = search.dim();
    let d = dim.max(2) as f64;
    let (expansion, contraction, shrinkage) = (1.0 + 2.0 / d, 0.75 - 0.5 / d, 1.0 - 1.0 / d);
    let mut points = vec![origin.clone()];
    for k in 0..dim {
        let step = edge * search.width(k);
        let mut x = origin.clone();
        // Away from the wall, if there is one.
        x[k] = if x[k] + step <= search.ends(k).1 { x[k] + step } else { search.inside(k, x[k] - step) };
        points.push(x);
    }
    let mut simplex = search.round(points)?;
    loop {
        sort(&mut simplex);
        if is_small(search, &simplex, tolerance) {
            return Ok(());
        }
        let (best, second, worst) = (simplex[0].value, simplex[dim - 1].value, simplex[dim].clone());
        let centre: Vec<f64> =
            (0..dim).map(|k| simplex[..dim].iter().map(|member| member.x[k]).sum::<f64>() / dim as f64).collect();
        let mut at = |factor: f64| -> Result<Member, Over> {
            let away = |k: usize| centre[k] + factor * (centre[k] - worst.x[k]);
            let x: Vec<f64> = (0..dim).map(|k| search.inside(k, away(k))).collect();
            Ok(Member { value: search.value(&x)?, x })
        };
        let reflected = at(1.0)?;
        let better = if reflected.value < best {
            let expanded = at(expansion)?;
            Some(if expanded.value < reflected.value { expanded } else { reflected })
        } else if reflected.value < second {
            Some(reflected)
        } else if reflected.value < worst.value {
            Some(at(contraction)?).filter(|outside| outside.value <= reflected.value)
        } else {
            Some(at(-contraction)?).filter(|inside| inside.value < worst.value)
        };
        match better {
            Some(member) => simplex[dim] = member,
            None => shrink(search, &mut simplex, shrinkage)?,
        }
    }
}

/// Moves all points towards the first.
fn shrink(search: &mut Search<'_>, simplex: &mut Vec<Member>, factor: f64) -> Result<(), Over> {
    let best = simplex[0].clone();
    let towards = |member: &Member| member.x.iter().zip(&best.x).map(|(y, x)| x + factor * (y - x)).collect();
    let points = simplex[1..].iter().map(towards).collect();
    simplex.truncate(1);
    simplex.extend(search.round(points)?);
    Ok(())
}

fn is_small(search: &Search<'_>, simplex: &[Member], tolerance: f64) -> bool {
    let near = |k: usize, x: f64| (x - simplex[0].x[k]).abs() <= tolerance * search.width(k);
    simplex[1..].iter().all(|member| member.x.iter().enumerate().all(|(k, x)| near(k, *x)))
}
