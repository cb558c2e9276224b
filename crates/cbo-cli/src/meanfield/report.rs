//! The report of a comparison: measured beside expected.

use super::Outcome;
use crate::numbers::{Number, grouped, numbers, point, short};
use crate::text;
use cbo_lab::meanfield::frozen_v;
use serde::Serialize;
use std::path::Path;

/// The JSON object.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Report {
    objective: String,
    dim: usize,
    lambda: f64,
    sigma: f64,
    alpha: Number,
    dt: f64,
    time: f64,
    cells: usize,
    init: String,
    frozen: Option<Vec<Number>>,
    mass_error: f64,
    least_density: Number,
    v_start: Number,
    v_end: Number,
    v_end_ratio: Number,
    v_end_ratio_frozen: Option<Number>,
    rate: Number,
    rate_continuous: f64,
    consensus: Vec<Number>,
    mean: Vec<Number>,
    distance: &'static str,
    distances: Vec<Row>,
    floor_w1: Number,
    floor_w2: Number,
    exponent: Option<f64>,
    exponent_standard_error: Option<f64>,
    expected_exponent: f64,
    repeats: u64,
    seed: u64,
    /// Pictures in the folder of frames.
    frames: usize,
}

/// The distance of one number of particles, at the end.
#[derive(Clone, Debug, Serialize)]
struct Row {
    particles: usize,
    repeats: usize,
    w1: Number,
    w1_standard_error: Option<Number>,
    w2: Number,
    w2_standard_error: Option<Number>,
    v_end_ratio: Number,
}

impl Report {
    pub fn new(outcome: &Outcome) -> Self {
        let Outcome { plan, trajectory, .. } = outcome;
        let settings = &plan.settings;
        let v = |record: Option<&cbo_lab::meanfield::Record>| record.map_or(f64::NAN, |r| r.v);
        let (start, end) = (v(trajectory.records.first()), v(trajectory.records.last()));
        let last = trajectory.records.last();
        let time = last.map_or(0.0, |r| r.time);
        let exactly = |t: f64| frozen_v(settings, &trajectory.minimiser, t);
        let floor = outcome.floor.last().copied().unwrap_or_default();
        let row = |swarm: &super::Swarm| {
            let d = swarm.distances.last()?;
            let error = |value: f64| (d.repeats > 1).then_some(Number(value));
            Some(Row {
                particles: d.particles,
                repeats: d.repeats,
                w1: Number(d.mean.w1),
                w1_standard_error: error(d.standard_error.w1),
                w2: Number(d.mean.w2),
                w2_standard_error: error(d.standard_error.w2),
                v_end_ratio: Number(swarm.v.last()? / swarm.v.first()?),
            })
        };
        Self {
            objective: plan.problem.description().into(),
            dim: plan.problem.dim(),
            lambda: settings.lambda,
            sigma: settings.sigma,
            alpha: Number(settings.alpha),
            dt: settings.dt,
            time,
            cells: settings.cells,
            init: text::init(&settings.init, ""),
            frozen: settings.freeze.as_deref().map(numbers),
            mass_error: trajectory.mass_error,
            least_density: Number(trajectory.least_density),
            v_start: Number(start),
            v_end: Number(end),
            v_end_ratio: Number(end / start),
            v_end_ratio_frozen: exactly(time).zip(exactly(0.0)).map(|(end, start)| Number(end / start)),
            rate: Number(trajectory.rate()),
            rate_continuous: 2.0 * settings.lambda - settings.sigma * settings.sigma,
            consensus: last.map(|r| numbers(&r.consensus)).unwrap_or_default(),
            mean: last.map(|r| numbers(&r.mean)).unwrap_or_default(),
            distance: if plan.problem.dim() == 1 { "of the laws" } else { "of the marginals, averaged" },
            distances: outcome.swarms.iter().filter_map(row).collect(),
            floor_w1: Number(floor.w1),
            floor_w2: Number(floor.w2),
            exponent: outcome.fit.map(|f| f.exponent),
            exponent_standard_error: outcome.fit.filter(|_| plan.repeats > 1).map(|f| f.standard_error),
            expected_exponent: -0.5,
            repeats: plan.repeats,
            seed: plan.seed,
            frames: if plan.keeps_positions { plan.frame_steps().len() } else { 0 },
        }
    }

    /// The lines for people.
    pub fn lines(&self, out: Option<&Path>) -> String {
        let dims = if self.dim == 1 { "dimension" } else { "dimensions" };
        let plain = |values: &[Number]| point(&values.iter().map(|n| n.0).collect::<Vec<_>>());
        let frozen = self.frozen.as_ref().map(|a| format!(", consensus frozen at {}", plain(a))).unwrap_or_default();
        let exact = self.v_end_ratio_frozen.map(|v| format!(", exactly {}", short(v.0))).unwrap_or_default();
        let mut text = String::new();
        let mut line = |name: &str, value: String| text += &format!("{name:<12} {value}\n");
        line("law", format!("{} in {} {dims}, start {}{frozen}", self.objective, self.dim, self.init));
        line(
            "setting",
            format!(
                "lambda {}, sigma {}, alpha {}, until time {} in steps of {}, {} cells per coordinate",
                short(self.lambda),
                short(self.sigma),
                short(self.alpha.0),
                short(self.time),
                short(self.dt),
                self.cells
            ),
        );
        let lost = format!("{:.1e} of the mass lost, least density {}", self.mass_error, short(self.least_density.0));
        line("grid", lost);
        let moved = if self.v_end_ratio.0 > 1.0 { "grew" } else { "fell" };
        line("V", format!("{moved} to {} of its start{exact}", short(self.v_end_ratio.0)));
        line("rate", format!("{} (2 lambda - sigma^2 = {})", short(self.rate.0), short(self.rate_continuous)));
        line("end", format!("mean {}, consensus {}", plain(&self.mean), plain(&self.consensus)));
        let header = ["particles", "runs", "W1", "+-", "W2", "+-", "V end/start"];
        text += &format!("\ndistance of the particles to the law at the end ({})\n", self.distance);
        text += &row(&header.map(String::from));
        for d in &self.distances {
            let error = |value: Option<Number>| value.map_or_else(|| "-".into(), |v| format!("{:.1e}", v.0));
            text += &row(&[
                grouped(d.particles as u64),
                d.repeats.to_string(),
                format!("{:.3e}", d.w1.0),
                error(d.w1_standard_error),
                format!("{:.3e}", d.w2.0),
                error(d.w2_standard_error),
                short(d.v_end_ratio.0),
            ]);
        }
        text += &row(&[
            "infinity".into(),
            "-".into(),
            format!("{:.3e}", self.floor_w1.0),
            "-".into(),
            format!("{:.3e}", self.floor_w2.0),
            "-".into(),
            "(the floor of the time step)".into(),
        ]);
        if let Some(exponent) = self.exponent {
            let error = self.exponent_standard_error.map(|e| format!(" +- {e:.3}")).unwrap_or_default();
            text += &format!("exponent     {exponent:.3}{error} (expected {})\n", self.expected_exponent);
        }
        if let Some(folder) = out {
            text += &format!("files        {}\n", folder.display());
        }
        text
    }
}

/// How many particles, in words.
pub(crate) fn swarm_name(particles: usize) -> String {
    format!("{} {}", grouped(particles as u64), if particles == 1 { "particle" } else { "particles" })
}

fn row(cells: &[String; 7]) -> String {
    let widths = [10, 5, 10, 8, 10, 8, 0];
    let line: String = cells.iter().zip(widths).map(|(cell, width)| format!("{cell:>width$}  ")).collect();
    format!("{}\n", line.trim_end())
}
