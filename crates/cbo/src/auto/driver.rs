//! Which phase comes next: a test for separability, lines, then runs from one start after another.

use super::core::Core;
use super::descent::{Descent, End, Start};
use super::desk::{Desk, is_near};
use super::noise;
use super::random::Random;
use super::separable::{is_separable, solve_lines};
use crate::numbers::grouped;

/// The step size of a run that looks at the whole box, and of one that looks for the next minimum.
const WIDE: f64 = 0.2;
const NEAR: f64 = 0.1;
/// The step size of a polish.
const POLISH: f64 = 0.02;
/// The most particles from which the model chooses those of a round.
const CHOICE: usize = 200;
/// After so many evaluations for each coordinate large runs grow,
const PLENTY: f64 = 1000.0;
/// up to this multiple of the usual population.
const LARGEST: usize = 256;
/// A small run starts from the best of so many points for each coordinate: among narrow valleys that tells the deep ones from the others,
const DRAWN: usize = 10;
/// but of no more than this, which do not grow costly in many dimensions.
const MOST_DRAWN: usize = 200;
/// A run without a limit ends when so many restarts in a row, which took so many times the evaluations before them, brought nothing,
const FRUITLESS_RUNS: u32 = 5;
const FRUITLESS_FACTOR: f64 = 2.0;
/// and so many runs ended at the best point.
const VISITS: u32 = 3;
/// Values that differ by so little, relative to what was gained since the first evaluation, are the same.
const SAME: f64 = 1e-12;
/// So large a part of the evaluations is left for the run that has the best point of a noisy function.
const NOISY_REST: f64 = 0.25;

/// Kinds of restarts, between which the evaluations are divided.
#[derive(Clone, Copy, Debug)]
struct Arm {
    name: &'static str,
    /// The population, as a multiple of the usual one.
    times: usize,
    step: f64,
    /// Points of which the best is the start.
    drawn: usize,
    spent: u64,
    best: f64,
}

/// Everything, from the first evaluation to the last. Returns when restarts no longer pay.
pub(super) async fn solve(desk: Desk) {
    let mut driver = Driver::new(&desk);
    if desk.is_constrained() {
        let drawn = driver.random.uniforms(desk.numbers_for_prices(driver.usual));
        desk.begin_prices(driver.usual, &drawn).await;
    } else if let Some(first) = desk.with(|sheet| sheet.space.first.clone()) {
        desk.value(&first).await;
    }
    if desk.with(|sheet| sheet.local) {
        noise::look(&desk).await;
        let mean = driver.start(1, true).await;
        let end = driver.run("polish", mean, POLISH, 1).await;
        noise::confirm(&desk).await;
        let why = end.sentence();
        desk.with(|sheet| sheet.notes.verdict = Some(format!("The polish from the start is over: {why}.")));
        return;
    }
    if desk.is_constrained() {
        // Constraints join coordinates, even those that act alone.
        noise::look(&desk).await;
    } else if driver.lines().await {
        return;
    }
    driver.restarts().await;
}

struct Driver<'a> {
    desk: &'a Desk,
    random: Random,
    dim: usize,
    /// The usual population.
    usual: usize,
    runs: u64,
    /// Sequences of random numbers used by them.
    draws: u64,
    plateau: bool,
    rugged: bool,
    /// Whether the model held in the first run.
    smooth: bool,
    /// Where runs ended: value and place.
    minima: Vec<(f64, Vec<f64>, u32)>,
    /// The run with the best point of a noisy function: its number, its particles and how many they are.
    kept: Option<(u64, Core, usize)>,
    /// Evaluations that went on with it.
    sharpened: u64,
}

impl<'a> Driver<'a> {
    fn new(desk: &'a Desk) -> Self {
        let (dim, seed) = (desk.dim(), desk.with(|sheet| sheet.seed));
        let usual = 4 + (3.0 * libm::log(dim as f64)) as usize;
        let random = Random::new(seed, 0);
        Self {
            desk,
            random,
            dim,
            usual,
            runs: 0,
            draws: 0,
            plateau: false,
            rugged: false,
            smooth: false,
            minima: Vec::new(),
            kept: None,
            sharpened: 0,
        }
    }

    /// Tests whether coordinates act alone and, if so, minimises along each. Tells whether that is all there is to do.
    async fn lines(&mut self) -> bool {
        let desk = self.desk;
        let separable = is_separable(desk, &mut self.random).await;
        let seen = desk.with(|sheet| sheet.spent);
        let told = grouped(seen);
        if self.dim == 1 && seen == 0 {
            let middle = desk.with(|sheet| sheet.consensus.clone());
            desk.value(&middle).await;
        }
        // Lines settle what they can if the noise is too small to be seen in the test; the look at it comes after them.
        if !separable || self.dim == 1 {
            noise::look(desk).await;
        }
        if self.dim == 1 && noise::is_known(desk) {
            return false;
        }
        if !separable {
            desk.note("separability test", "the coordinates do not act alone");
            desk.say(format!(
                "The coordinates act together: exchanging half of them between two points changed the sum of the values \
                 ({told} evaluations)."
            ));
            return false;
        }
        desk.note("separability test", "the coordinates act alone");
        desk.say(match self.dim {
            1 => "There is one coordinate, so the search is along a line.".into(),
            _ => format!(
                "The coordinates act alone: exchanging them between two points never changed the sum of the values ({told} \
                 evaluations). So each is minimised by itself."
            ),
        });
        let settled = solve_lines(desk, &mut self.random).await;
        let spent = grouped(desk.with(|sheet| sheet.spent) - seen);
        desk.note("lines", if settled { "another sweep found nothing better" } else { "enough sweeps" });
        desk.say(format!(
            "The lines took {spent} evaluations{}.",
            if settled { ", and a second look found nothing better" } else { "" }
        ));
        noise::look(desk).await;
        if noise::is_known(desk) {
            let lambda = self.usual.max(desk.width());
            let core = Core::new(desk.with(|sheet| sheet.best.0.clone()), POLISH, lambda);
            self.kept = Some((0, core, lambda));
        }
        let done = settled && self.kept.is_none() && desk.with(|sheet| sheet.is_open());
        if done {
            let verdict = "The coordinates act alone, and the last sweep over all of their lines found nothing better.";
            desk.with(|sheet| sheet.notes.verdict = Some(verdict.into()));
        }
        done
    }

    /// Runs from one start after another, until they no longer pay.
    async fn restarts(&mut self) {
        let desk = self.desk;
        let given = desk.with(|sheet| sheet.space.first.is_some());
        let mean = match desk.is_constrained() && !given {
            true => desk.with(|sheet| sheet.best.0.clone()),
            false => self.start(1, given).await,
        };
        let end = self.run("first run", mean, WIDE, 1).await;
        self.judge(end);
        noise::confirm(desk).await;
        let arm = |name, times, step, drawn| Arm { name, times, step, drawn, spent: 0, best: f64::INFINITY };
        let mut arms = [arm("large run", 4, WIDE, 1), arm("small run", 1, NEAR, (DRAWN * self.dim).min(MOST_DRAWN))];
        let (mut fruitless, mut found_at, mut visits) = (0, desk.with(|sheet| sheet.spent), 1);
        loop {
            // The arm that has used least, where the better one may use three times as much, and so may small runs on a smooth function.
            let holder = usize::from(arms[0].best > arms[1].best);
            let share =
                |i: usize| (if i == holder { 3.0 } else { 1.0 }) * if i == 1 && self.smooth { 3.0 } else { 1.0 };
            let cost = |i: usize| arms[i].spent as f64 / share(i);
            let arm = &mut arms[usize::from(cost(0) > cost(1))];
            let (before, (place, best)) = desk.with(|sheet| (sheet.spent, sheet.best.clone()));
            let rises = desk.rises();
            // On a plateau only many particles see which way is down.
            let (times, step, drawn) = if self.plateau { (8, WIDE, 1) } else { (arm.times, arm.step, arm.drawn) };
            let sharpened = self.sharpen().await;
            if !sharpened {
                let mean = self.start(drawn, false).await;
                let end = self.run(arm.name, mean, step, times).await;
                self.plateau |= end == End::Plateau;
                arm.best = arm.best.min(self.minima.last().map_or(f64::INFINITY, |m| m.0));
                // Where evaluations are plenty, each large run is twice as large as the one before.
                if arm.step == WIDE && before as f64 > PLENTY * self.dim as f64 {
                    arm.times = (2 * arm.times).min(LARGEST);
                }
            }
            noise::confirm(desk).await;
            let spent = desk.with(|sheet| sheet.spent);
            if sharpened {
                self.sharpened += spent - before;
            } else {
                arm.spent += spent - before;
            }
            // Another minimum, and not the same one with more digits.
            let (now, value) = desk.with(|sheet| sheet.best.clone());
            let same = SAME * desk.with(|sheet| sheet.first.map_or(0.0, |first| first - sheet.best.1));
            let gain = best - value > (1e-9 * best.abs()).max(noise::doubt(desk)).max(same);
            // A point that was the best until prices rose is no other minimum.
            let other = !is_near(&place, &now) && (gain || desk.rises() > rises);
            if other || best.is_infinite() && value.is_finite() {
                (fruitless, found_at, visits) = (0, spent, 1);
            } else {
                fruitless += 1;
                visits += u32::from(self.minima.last().is_some_and(|m| is_near(&m.1, &now)));
            }
            let in_vain = spent - found_at;
            // Noise hides whether two runs ended in the same place.
            let known = visits >= VISITS || noise::is_known(desk);
            let enough = fruitless >= FRUITLESS_RUNS && known && in_vain as f64 >= FRUITLESS_FACTOR * found_at as f64;
            if enough && desk.with(|sheet| sheet.is_open()) {
                let (in_vain, found_at) = (grouped(in_vain), grouped(found_at));
                let verdict = format!(
                    "{fruitless} restarts in a row found nothing better in {in_vain} evaluations, after {found_at} that led to the best point."
                );
                desk.with(|sheet| sheet.notes.verdict = Some(verdict));
                return;
            }
        }
    }

    /// What the first run taught.
    fn judge(&mut self, end: End) {
        self.plateau = end == End::Plateau;
        self.rugged = end == End::Rugged;
        if self.plateau {
            self.desk.say("Different points have equal values: there are plateaus, so the next runs have many particles and no model.".into());
        } else if self.rugged && noise::is_known(self.desk) {
            self.desk.say("No quadratic model holds while the particles are far apart: the function is rugged, or noise makes it look so. Larger runs follow.".into());
        } else if self.rugged {
            self.desk.say("No quadratic model holds while the particles are far apart: the function is rugged, so larger runs follow.".into());
        } else if self.smooth {
            self.desk.say("A quadratic model orders the points well: the function is smooth, so most of the next runs are small ones.".into());
        }
    }

    /// A start: the best of `drawn` random points, or the one that the user gave.
    async fn start(&mut self, drawn: usize, given: bool) -> Vec<f64> {
        let dim = self.dim;
        let u = self.random.uniforms(dim * drawn);
        let points = self.desk.with(|sheet| {
            let place = |(k, u): (usize, &f64)| {
                let (low, high) = sheet.space.start[k % dim];
                low + u * (high - low)
            };
            let middle = || sheet.space.start.iter().map(|(low, high)| 0.5 * (low + high)).collect();
            if given {
                sheet.space.first.clone().unwrap_or_else(middle)
            } else {
                u.iter().enumerate().map(place).collect::<Vec<f64>>()
            }
        });
        if points.len() == dim {
            return points;
        }
        let values = self.desk.evaluate(&points).await;
        let best = (0..values.len()).min_by(|&i, &j| values[i].total_cmp(&values[j])).unwrap_or(0);
        points[best * dim..(best + 1) * dim].to_vec()
    }

    /// Goes on with the run that has the best point of a noisy function, if it is its turn: a third of the time, and at last.
    async fn sharpen(&mut self) -> bool {
        let (spent, budget, left) = self.desk.with(|sheet| (sheet.spent, sheet.budget, sheet.left()));
        let turn = self.sharpened <= spent / 3 || (left as f64) < NOISY_REST * budget as f64;
        let Some(kept) = self.kept.take_if(|_| turn) else { return false };
        self.descend("sharper run", kept, false).await;
        true
    }

    /// One run.
    async fn run(&mut self, name: &str, mean: Vec<f64>, step: f64, times: usize) -> End {
        self.runs += 1;
        // Where several points are evaluated at once, the model chooses them from three times as many.
        let width = self.desk.width();
        let choice = if width > 1 { width.max((3 * width).min(CHOICE)) } else { 1 };
        let lambda = (times * self.usual).max(choice);
        let core = Core::new(mean, step, lambda);
        self.descend(name, (self.runs, core, lambda), true).await
    }

    /// A run from its beginning, or from where it was.
    async fn descend(&mut self, name: &str, (number, core, lambda): (u64, Core, usize), fresh: bool) -> End {
        let desk = self.desk;
        let first = self.runs == 1 && fresh;
        let most = noise::most(desk);
        let model = !self.plateau;
        let (seed, local) = desk.with(|sheet| (sheet.seed, sheet.local));
        self.draws += 1;
        let start = Start { core, lambda, model, race: fresh && !first, first: first && !local, number, most };
        let mut descent = Descent::new(desk, Random::new(seed, self.draws), start);
        let end = descent.run().await;
        if first {
            self.smooth = end != End::Rugged && 2 * descent.tried.1 > descent.tried.0;
        }
        let (place, value) = self.worth(&descent, end, number).await;
        desk.note(name, end.sentence());
        desk.say(format!(
            "The {name} ({} particles, {} evaluations) ended at {value:.6e}: {}.",
            descent.lambda(),
            grouped(descent.spent()),
            end.sentence()
        ));
        // Where a constraint holds a point, the curvature of the price says nothing.
        if value <= desk.best() && !desk.is_constrained() {
            descent.leave_covariance();
        }
        self.remember(value, place, end);
        end
    }

    /// What a run found: its best point or, of a noisy function, its mean, with the mean of some evaluations.
    async fn worth(&mut self, descent: &Descent<'_>, end: End, number: u64) -> (Vec<f64>, f64) {
        let desk = self.desk;
        if descent.best.1 <= desk.best() {
            noise::look(desk).await;
        }
        if !noise::is_known(desk) {
            return descent.best.clone();
        }
        let place = descent.challenger();
        let value = noise::challenge(desk, &place, number).await;
        let done = matches!(end, End::Rugged | End::Race | End::Plateau);
        if !done && noise::holder(desk) == Some(number) {
            let (mut core, mut lambda) = (descent.core.clone(), descent.lambda());
            if !matches!(end, End::Hidden | End::Last) {
                lambda *= 2;
                core = Core::new(desk.with(|sheet| sheet.best.0.clone()), POLISH, lambda);
            }
            core.populate(lambda);
            self.kept = Some((number, core, lambda));
        }
        (place, value)
    }

    /// Notes the minimum in which a run ended.
    fn remember(&mut self, value: f64, place: Vec<f64>, end: End) {
        let count = match self.minima.iter().position(|m| is_near(&place, &m.1)) {
            Some(at) => self.minima.remove(at).2 + 1,
            None => 1,
        };
        self.minima.push((value, place, count));
        if matches!(end, End::Flat | End::Narrow) {
            let times = self.minima.last().map_or(0, |m| m.2);
            let known = self.minima.len();
            self.desk.with(|sheet| sheet.notes.basins = (known, times));
        }
    }
}
