//! Constraints: the solver is told energies and constraints, and works with prices, the energies with an exact
//! [penalty](crate::constraint). Where prices rise, everything that is kept is priced again.

use super::descent::Descent;
use super::desk::{Desk, Sheet};
use crate::constraint::{Penalty, violation};
use crate::numbers::grouped;

/// Points of which the first weights are found, as a multiple of the usual population.
const SAMPLE: usize = 2;
/// Points from which a run learns at once, at least.
const AT_ONCE: usize = 10;
/// Particles come nearer to meeting a constraint if it falls by so much, relative to how much they differ in it.
const NEARER: f64 = 0.2;

/// What violations cost, and what was told of the points that matter. An energy and its constraints, together, are the parts of a price.
#[derive(Debug)]
pub(super) struct Prices {
    pub penalty: Penalty,
    /// The parts of the round that was told, one point after the other.
    pub told: Vec<f64>,
    /// The parts of the best point.
    pub best: Vec<f64>,
    /// The best point that meets all constraints, and its value.
    pub feasible: Option<(Vec<f64>, Vec<f64>)>,
}

impl Prices {
    /// The prices of points with this many constraints, if there are any.
    pub fn new(constraints: usize) -> Option<Self> {
        let penalty = Penalty::new(constraints);
        (constraints > 0).then(|| Self { penalty, told: Vec::new(), best: Vec::new(), feasible: None })
    }

    /// How many parts a price has.
    pub fn width(&self) -> usize {
        1 + self.penalty.count()
    }

    /// The price of a point; infinite if its evaluation failed.
    pub fn price(&self, parts: &[f64]) -> f64 {
        let price = self.penalty.price(parts[0], &parts[1..]);
        if price.is_nan() || price == f64::NEG_INFINITY { f64::INFINITY } else { price }
    }

    /// Takes note of the parts of a point, and gives its price; none before the first weights are known.
    pub fn take(&mut self, point: &[f64], energy: f64, constraints: &[f64]) -> Option<f64> {
        let from = self.told.len();
        self.told.push(energy);
        self.told.extend_from_slice(constraints);
        let parts = &self.told[from..];
        if violation(&parts[1..]) == 0.0 && self.feasible.as_ref().is_none_or(|best| parts[0] < best.1[0]) {
            self.feasible = Some((point.to_vec(), parts.to_vec()));
        }
        self.penalty.has_begun().then(|| self.price(&self.told[from..]))
    }
}

impl Prices {
    /// The mean of each constraint over the better half of these points, and how much all of them differ in it.
    fn agreed(&self, told: &[Vec<f64>]) -> Vec<(f64, f64)> {
        let mut priced: Vec<(f64, &Vec<f64>)> = told.iter().map(|parts| (self.price(parts), parts)).collect();
        priced.retain(|(price, _)| price.is_finite());
        priced.sort_by(|a, b| a.0.total_cmp(&b.0));
        if priced.is_empty() {
            return Vec::new();
        }
        let mean =
            |j: usize, of: &[(f64, &Vec<f64>)]| of.iter().map(|(_, parts)| parts[j]).sum::<f64>() / of.len() as f64;
        let both = |j: usize| {
            let middle = mean(j, &priced);
            let squares = priced.iter().map(|(_, parts)| (parts[j] - middle).powi(2)).sum::<f64>();
            (mean(j, &priced[..priced.len().div_ceil(2)]), (squares / priced.len() as f64).sqrt())
        };
        (1..self.width()).map(both).collect()
    }
}

impl Sheet {
    /// Finds the first weights, from the points of the round that was told.
    fn begin_prices(&mut self, points: &[f64]) {
        let dim = self.dim();
        let Some(prices) = &mut self.prices else { return };
        let width = prices.width();
        let column = |part: usize| prices.told.iter().skip(part).step_by(width).copied();
        let (energies, constraints): (Vec<f64>, Vec<f64>) =
            (column(0).collect(), prices.told.chunks_exact(width).flat_map(|parts| &parts[1..]).copied().collect());
        prices.penalty.begin(&energies, &constraints);
        for (point, parts) in points.chunks_exact(dim).zip(prices.told.chunks_exact(width)) {
            let price = prices.price(parts);
            if price < self.best.1 {
                self.best = (point.to_vec(), price);
                prices.best = parts.to_vec();
            }
        }
    }

    /// Prices the best point again. It may be another one then.
    fn reprice(&mut self) {
        let Some(prices) = &mut self.prices else { return };
        if self.best.1 == f64::INFINITY {
            return;
        }
        self.best.1 = prices.price(&prices.best);
        if let Some((point, parts)) = prices.feasible.as_ref().filter(|best| best.1[0] < self.best.1)
            && self.noise.is_none()
        {
            self.best = (point.clone(), parts[0]);
            prices.best.clone_from(parts);
        }
    }
}

impl Desk {
    /// Whether there are constraints.
    pub fn is_constrained(&self) -> bool {
        self.with(|sheet| sheet.prices.is_some())
    }

    /// How often a price has risen.
    pub fn rises(&self) -> u64 {
        self.with(|sheet| sheet.prices.as_ref().map_or(0, |prices| prices.penalty.grown()))
    }

    /// The price of these parts as it is now; infinite if there are none.
    pub fn price(&self, parts: &[f64]) -> f64 {
        self.with(|sheet| match &sheet.prices {
            Some(prices) if !parts.is_empty() => prices.price(parts),
            _ => f64::INFINITY,
        })
    }

    /// The parts of the best point; none if there are no constraints.
    pub fn best_parts(&self) -> Vec<f64> {
        self.with(|sheet| sheet.prices.as_ref().map_or(Vec::new(), |prices| prices.best.clone()))
    }

    /// Evaluates some random points, and the one that the user gave, to find out what violations should cost.
    pub async fn begin_prices(&self, usual: usize, drawn: &[f64]) {
        let dim = self.dim();
        let mut points = self.with(|sheet| sheet.space.first.clone()).unwrap_or_default();
        self.with(|sheet| {
            let start = sheet.space.start.iter().cycle();
            let place = |(u, (low, high)): (&f64, &(f64, f64))| low + u * (high - low);
            points.extend(drawn[..SAMPLE * usual * dim].iter().zip(start).map(place));
        });
        self.evaluate(&points).await;
        self.with(|sheet| sheet.begin_prices(&points));
        self.note("first look", "what violations cost is known");
        let constraints = match self.with(|sheet| sheet.prices.as_ref().map_or(0, |prices| prices.penalty.count())) {
            1 => "is one constraint".into(),
            many => format!("are {} constraints", grouped(many as u64)),
        };
        self.say(format!(
            "There {constraints}. Points are ordered by their value and what their violations cost; the price rises while the particles agree \
             on a point that violates a constraint."
        ));
    }

    /// How many uniform numbers [`begin_prices`](Self::begin_prices) takes.
    pub fn numbers_for_prices(&self, usual: usize) -> usize {
        SAMPLE * usual * self.dim()
    }

    /// What a violation costs now, in a sentence, if there are constraints.
    pub fn sentence_of_prices(&self) -> Option<String> {
        let (weights, grown) = self.with(|sheet| {
            let penalty = &sheet.prices.as_ref()?.penalty;
            Some((penalty.weights().to_vec(), penalty.grown())).filter(|_| penalty.has_begun())
        })?;
        let least = weights.iter().copied().fold(f64::INFINITY, f64::min);
        let most = weights.iter().copied().fold(0.0, f64::max);
        let cost =
            if weights.len() > 1 { format!("between {least:.1e} and {most:.1e}") } else { format!("{least:.1e}") };
        Some(format!("A violation costs {cost} per unit; prices have risen {} times.", grouped(grown)))
    }
}

impl Descent<'_> {
    /// Learns from the points evaluated, some at a time: the price of a constraint rises where the better half of them violates it by more
    /// than they differ in it, and comes no nearer to meeting it. Everything that the run has seen is then priced again.
    pub(super) fn adapt_prices(&mut self) {
        if self.told.len() < self.lambda().max(AT_ONCE) {
            return;
        }
        let (told, before) = (std::mem::take(&mut self.told), std::mem::take(&mut self.agreed));
        let (agreed, rises) = self.desk.with(|sheet| {
            let Some(prices) = &mut sheet.prices else { return (Vec::new(), false) };
            let rises = prices.penalty.grown();
            let agreed = prices.agreed(&told);
            for (j, (mean, spread)) in agreed.iter().enumerate() {
                let nearer = before.get(j).is_none_or(|(then, _)| *mean < then - NEARER * spread);
                if *mean > *spread && !nearer {
                    prices.penalty.raise(j);
                }
            }
            let rises = prices.penalty.grown() > rises;
            if rises {
                sheet.reprice();
            }
            (agreed, rises)
        });
        self.agreed = agreed;
        if rises {
            self.reprice();
        }
    }

    fn reprice(&mut self) {
        let desk = self.desk;
        for sample in &mut self.points {
            sample.value = desk.price(&sample.parts);
        }
        self.best.1 = desk.price(&self.best_parts);
        let least = self.points.iter().min_by(|a, b| a.value.total_cmp(&b.value));
        if let Some(sample) = least.filter(|sample| sample.value < self.best.1) {
            self.best = (sample.point.clone(), sample.value);
            self.best_parts.clone_from(&sample.parts);
        }
        self.agreed.clear();
        self.rival.1 = desk.price(&self.rival.0);
        self.model = None;
        self.forget_values();
    }
}
