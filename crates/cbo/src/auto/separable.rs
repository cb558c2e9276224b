//! Functions whose coordinates act alone: a test, and a solver line by line.

use super::desk::{Desk, together};
use super::random::Random;
use super::shape::FULL;

/// Where points have no value, so many are drawn for each coordinate until two have one.
const DRAWN: u64 = 100;

/// Whether every pair of coordinates acts alone, as far as can be seen: 4 evaluations if not, 2 + 2 ceil(log2 d) if so, and more where
/// x or y have no value at first.
///
/// x and y are exchanged in half of the coordinates, for every half that a bit of a random numbering makes, so that each pair of
/// coordinates is split by some half. If f is a sum over coordinates, the two mixtures have the same sum as x and y.
pub(super) async fn is_separable(desk: &Desk, random: &mut Random) -> bool {
    let (dim, width) = (desk.dim(), desk.width());
    if dim == 1 {
        return true;
    }
    let (mut x, mut y) = (draw(desk, random, 1), draw(desk, random, 1));
    let code = random.order(dim);
    let bits = (dim as u32 - 1).ilog2() + 1;
    let mixtures = |bit: u32, x: &[f64], y: &[f64]| -> Vec<f64> {
        let pick = |k: usize, a: &[f64], b: &[f64]| if code[k] >> bit & 1 == 1 { a[k] } else { b[k] };
        let first = (0..dim).map(|k| pick(k, x, y));
        let second = (0..dim).map(|k| pick(k, y, x));
        first.chain(second).collect()
    };
    // As many halves at once as a round has room for.
    let at_once = (width.saturating_sub(2) / 2).max(1) as u32;
    let mut ends: Option<(f64, f64)> = None;
    let mut bit = 0;
    while bit < bits {
        let mut points = Vec::new();
        if ends.is_none() {
            points.extend_from_slice(&x);
            points.extend_from_slice(&y);
        }
        let upto = (bit + at_once).min(bits);
        (bit..upto).for_each(|b| points.extend(mixtures(b, &x, &y)));
        let values = desk.evaluate(&points).await;
        let mut values = &values[..];
        if ends.is_none() && !(values[0].is_finite() && values[1].is_finite()) {
            let known = [(x, values[0]), (y, values[1])].into_iter().filter(|(_, value)| value.is_finite()).collect();
            let Some([(a, fa), (b, fb)]) = two_with_values(desk, random, known).await else { return false };
            (x, y, ends) = (a, b, Some((fa, fb)));
            continue;
        }
        let (fx, fy) = *ends.get_or_insert_with(|| {
            let pair = (values[0], values[1]);
            values = &values[2..];
            pair
        });
        for pair in values.chunks_exact(2) {
            let four = [fx, fy, pair[0], pair[1]];
            let (low, high) = four.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(*v), h.max(*v)));
            let size = four.iter().map(|v| v.abs()).fold(0.0, f64::max);
            let gap = ((pair[0] - fx) + (pair[1] - fy)).abs();
            // Not so if a value is infinite, or if nothing changes at all.
            if !(gap <= 1e-7 * (high - low) + 1e-12 * size && high > low && size.is_finite()) {
                return false;
            }
        }
        bit = upto;
    }
    true
}

/// Random points of the box in which runs start.
fn draw(desk: &Desk, random: &mut Random, count: usize) -> Vec<f64> {
    let start = desk.with(|sheet| sheet.space.start.clone());
    let box_of = start.iter().cycle();
    random.uniforms(count * start.len()).iter().zip(box_of).map(|(u, (low, high))| low + u * (high - low)).collect()
}

/// Two points that have a value: those known, and others drawn until there are two, or until a tenth of the evaluations is spent.
async fn two_with_values(
    desk: &Desk,
    random: &mut Random,
    mut known: Vec<(Vec<f64>, f64)>,
) -> Option<[(Vec<f64>, f64); 2]> {
    let (dim, width) = (desk.dim(), desk.width());
    let mut tries = (DRAWN * dim as u64).min(desk.left() / 10);
    while known.len() < 2 && tries >= width as u64 {
        let points = draw(desk, random, width);
        let values = desk.evaluate(&points).await;
        let pairs = points.chunks_exact(dim).map(<[f64]>::to_vec).zip(values);
        known.extend(pairs.filter(|(_, value)| value.is_finite()));
        tries -= width as u64;
    }
    known.truncate(2);
    known.try_into().ok()
}

/// How often a line is made three times as long where there is no wall.
const LONGEST: usize = 30;
/// A value is higher than another by more than rounding if it is so by this factor.
const CLEARLY: f64 = 1e-8;
/// Numbers in a round of lines.
const ROUND_NUMBERS: usize = 1 << 17;

/// Points on a line through the base, in order, with their values.
#[derive(Clone, Debug)]
struct Line {
    points: Vec<(f64, f64)>,
}

impl Line {
    fn add(&mut self, at: f64, value: f64) {
        let place = self.points.partition_point(|p| p.0 < at);
        self.points.insert(place, (at, value));
    }

    fn best(&self) -> usize {
        (0..self.points.len()).min_by(|&i, &j| self.points[i].1.total_cmp(&self.points[j].1)).unwrap_or(0)
    }

    /// The second derivative at the best point: that of a parabola through it and the two points next to it whose values are higher by more
    /// than rounding. `None` at an end of the line, or where no parabola opens upwards.
    fn curvature(&self) -> Option<f64> {
        let best = self.best();
        let (at, least) = self.points[best];
        let ends = [0, self.points.len() - 1];
        let mut others: Vec<(f64, f64)> = self.points.iter().map(|p| (p.0 - at, p.1 - least)).collect();
        others.retain(|p| p.1 > CLEARLY * least.abs() && p.1.is_finite());
        others.sort_by(|p, q| p.0.abs().total_cmp(&q.0.abs()));
        let [(x, a), (y, b)] = *others.first_chunk()?;
        let second = 2.0 * (a / x - b / y) / (x - y);
        (!ends.contains(&best) && second > 0.0 && second.is_finite()).then_some(second)
    }

    /// Whether the values fall, then rise.
    fn is_unimodal(&self) -> bool {
        let best = self.best();
        let falls = self.points[..=best].windows(2).all(|p| p[0].1 >= p[1].1);
        falls && self.points[best..].windows(2).all(|p| p[0].1 <= p[1].1)
    }

    /// The `count` intervals that are most likely to hide something better (STEP: Swarzberg, Seront and Bersini 1994).
    fn promising(&self, count: usize, narrowest: f64) -> Vec<f64> {
        let mut values: Vec<f64> = self.points.iter().map(|p| p.1).filter(|v| v.is_finite()).collect();
        if values.is_empty() {
            return Vec::new();
        }
        let middle = values.len() / 2;
        let (below, &mut median, _) = values.select_nth_unstable_by(middle, f64::total_cmp);
        let least = below.iter().copied().fold(median, f64::min);
        // An infeasible point counts as the worst of the others, or nothing would be looked for beside it.
        let worst = values.iter().copied().fold(median, f64::max);
        let hope = 0.01 * (median - least) + 1e-14 * least.abs() + f64::MIN_POSITIVE;
        let mut intervals: Vec<(f64, f64)> = Vec::new();
        for pair in self.points.windows(2) {
            let width = pair[1].0 - pair[0].0;
            if width > narrowest {
                let root = |p: (f64, f64)| (p.1.min(worst) - least + hope).sqrt();
                let difficulty = (root(pair[0]) + root(pair[1])) / width;
                intervals.push((
                    if difficulty.is_nan() { f64::INFINITY } else { difficulty },
                    0.5 * (pair[0].0 + pair[1].0),
                ));
            }
        }
        if count < intervals.len() {
            intervals.select_nth_unstable_by(count, |a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
        }
        intervals.into_iter().take(count).map(|i| i.1).collect()
    }
}

/// Settings of one sweep over all lines.
struct Sweep {
    base: Vec<f64>,
    value: f64,
    /// Evaluations for each line.
    each: usize,
    /// Points that a line asks for at once.
    at_once: usize,
}

impl Sweep {
    async fn evaluate(&self, desk: &Desk, k: usize, at: &[f64], line: &mut Line) {
        let mut points = Vec::new();
        for &u in at {
            points.extend_from_slice(&self.base);
            let from = points.len() - self.base.len();
            points[from + k] = u;
        }
        let values = desk.evaluate(&points).await;
        at.iter().zip(values).for_each(|(&u, v)| line.add(u, v));
    }

    /// Goes on beyond the ends of the line where there is no wall, as long as values fall.
    async fn extend(&self, desk: &Desk, k: usize, line: &mut Line) {
        let (low, high) = desk.with(|sheet| sheet.space.walls(k));
        for _ in 0..LONGEST {
            let (first, last) = (line.points[0].0, line.points[line.points.len() - 1].0);
            let best = line.points[line.best()].0;
            let beyond = if best == first && first > low {
                (first - 2.0 * (last - first)).max(low)
            } else if best == last && last < high {
                (last + 2.0 * (last - first)).min(high)
            } else {
                return;
            };
            self.evaluate(desk, k, &[beyond], line).await;
        }
    }

    /// Looks for the basin of the least value along coordinate `k`.
    async fn explore(&self, desk: &Desk, k: usize, line: &mut Line, upto: usize) {
        let (low, high) = desk.with(|sheet| sheet.space.line(k));
        while line.points.len() < upto {
            let count = self.at_once.min(upto - line.points.len());
            let at = line.promising(count, 1e-7 * (high - low));
            if at.is_empty() {
                break;
            }
            self.evaluate(desk, k, &at, line).await;
        }
    }

    /// Brent's minimisation in the bracket around the best point of the line. Gives the best place, and the gain against the base.
    async fn polish(&self, desk: &Desk, k: usize, line: &mut Line, most: usize) {
        let best = line.best();
        let at = |i: usize| line.points[i];
        let (mut a, mut b) = (at(best.saturating_sub(1)).0, at((best + 1).min(line.points.len() - 1)).0);
        let neighbours = [best.checked_sub(1), (best + 1 < line.points.len()).then_some(best + 1)];
        let mut others: Vec<(f64, f64)> = neighbours.into_iter().flatten().map(at).collect();
        others.sort_by(|p, q| p.1.total_cmp(&q.1));
        let (mut x, mut fx) = at(best);
        let (mut w, mut fw) = others.first().copied().unwrap_or((x, fx));
        let (mut v, mut fv) = others.get(1).copied().unwrap_or((w, fw));
        let golden = 0.381_966_011_250_105;
        let (mut before, mut last) = (b - a, b - a);
        for _ in 0..most {
            let middle = 0.5 * (a + b);
            let tolerance = 1e-10 * x.abs().max(1e-3);
            if (x - middle).abs() <= 2.0 * tolerance - 0.5 * (b - a) {
                break;
            }
            // A parabola through the three best points, if it leads to a shorter step than the one before last.
            let (r, q) = ((x - w) * (fx - fv), (x - v) * (fx - fw));
            let (mut p, mut q2) = ((x - v) * q - (x - w) * r, 2.0 * (q - r));
            if q2 > 0.0 {
                p = -p;
            }
            q2 = q2.abs();
            let usable = p.is_finite()
                && q2.is_finite()
                && p.abs() < (0.5 * q2 * before).abs()
                && p > q2 * (a - x)
                && p < q2 * (b - x);
            let mut step = if usable {
                before = last;
                p / q2
            } else {
                before = if x < middle { b - x } else { a - x };
                golden * before
            };
            if usable && ((x + step) - a < 2.0 * tolerance || b - (x + step) < 2.0 * tolerance) {
                step = if x < middle { tolerance } else { -tolerance };
            }
            if step.abs() < tolerance {
                step = tolerance.copysign(step);
            }
            last = step;
            let u = x + step;
            let known = line.points.len();
            self.evaluate(desk, k, &[u], line).await;
            debug_assert_eq!(known + 1, line.points.len());
            let fu = line.points.iter().find(|p| p.0 == u).map_or(f64::INFINITY, |p| p.1);
            if fu <= fx {
                if u >= x {
                    a = x
                } else {
                    b = x
                }
                (v, fv, w, fw, x, fx) = (w, fw, x, fx, u, fu);
            } else {
                if u < x {
                    a = u
                } else {
                    b = u
                }
                if fu <= fw || w == x {
                    (v, fv, w, fw) = (w, fw, u, fu);
                } else if fu <= fv || v == x || v == w {
                    (v, fv) = (u, fu);
                }
            }
            // The function does not resolve smaller steps.
            if fw - fx <= 2.0 * f64::EPSILON * fx.abs() && fv - fx <= 4.0 * f64::EPSILON * fx.abs() {
                break;
            }
        }
    }
}

/// Minimises a function whose coordinates act alone. Leaves the best point on the desk, and tells whether the last sweep found nothing
/// better.
pub(super) async fn solve_lines(desk: &Desk, random: &mut Random) -> bool {
    let dim = desk.dim();
    let (mut base, mut value) = desk.with(|sheet| sheet.best.clone());
    let mut factor = 1.0;
    for _round in 0..4 {
        let (left, width) = (desk.left(), desk.width());
        let each = (0.7 * left as f64 / dim as f64 - 30.0).clamp(12.0, 150.0 * factor) as usize;
        let sweep = Sweep { base: base.clone(), value, each, at_once: width.div_ceil(dim) };
        let offsets = random.uniforms(dim);
        let mut lines = Vec::new();
        for group in groups(dim, width) {
            lines.extend(
                together(group.map(|k| {
                    let (sweep, offset) = (&sweep, offsets[k]);
                    async move {
                        let (low, high) = desk.with(|sheet| sheet.space.line(k));
                        let mut line = Line { points: vec![(sweep.base[k], sweep.value)] };
                        // Not evenly spaced, because periods of the function would not be seen.
                        let inner = (0..4).map(|i| {
                            (i as f64 + 0.5 + 0.6 * (fract(offset + 0.618_033_988_75 * i as f64) - 0.5)) / 4.0
                        });
                        let at: Vec<f64> =
                            [0.0, 1.0].into_iter().chain(inner).map(|t| low + t * (high - low)).collect();
                        sweep.evaluate(desk, k, &at, &mut line).await;
                        sweep.extend(desk, k, &mut line).await;
                        sweep.explore(desk, k, &mut line, 12.min(sweep.each)).await;
                        line
                    }
                }))
                .await,
            );
        }
        let simple = lines.iter().all(Line::is_unimodal);
        let mut composed = Vec::new();
        for group in groups(dim, width) {
            composed.extend(
                together(group.map(|k| {
                    let (sweep, mut line) = (&sweep, lines[k].clone());
                    async move {
                        if !simple {
                            sweep.explore(desk, k, &mut line, sweep.each).await;
                        }
                        sweep.polish(desk, k, &mut line, 30).await;
                        (line.points[line.best()].0, line.curvature())
                    }
                }))
                .await,
            );
        }
        let (composed, curvatures): (Vec<f64>, Vec<Option<f64>>) = composed.into_iter().unzip();
        leave_covariance(desk, &composed, &curvatures);
        let mut improved = false;
        let new = desk.value(&composed).await;
        if new < value {
            improved = value - new > 1e-9 * value.abs().max(1e-300) || !value.is_finite();
            (base, value) = (composed, new);
        }
        if !improved || simple {
            return true;
        }
        factor *= 2.0;
    }
    false
}

/// Leaves the inverse of the curvature on the desk: where coordinates act alone it is diagonal.
fn leave_covariance(desk: &Desk, place: &[f64], curvatures: &[Option<f64>]) {
    let dim = curvatures.len();
    let Some(all) = curvatures.iter().copied().collect::<Option<Vec<f64>>>().filter(|_| dim <= FULL) else { return };
    let mut covariance = vec![0.0; dim * dim];
    all.iter().enumerate().for_each(|(k, c)| covariance[k * dim + k] = 1.0 / c);
    desk.with(|sheet| sheet.covariance = Some((covariance, place.to_vec())));
}

/// The coordinates in groups whose lines are searched side by side: all of them, unless a round would have too many numbers.
fn groups(dim: usize, width: usize) -> impl Iterator<Item = std::ops::Range<usize>> {
    let size = (ROUND_NUMBERS / dim).max(width).max(1);
    (0..dim).step_by(size).map(move |from| from..(from + size).min(dim))
}

fn fract(x: f64) -> f64 {
    x - x.floor()
}
