//! What a comparison says: a table for people, an object for programs.

use super::plan::Plan;
use super::{CompareArgs, Results};
use crate::numbers::{Number, brief, count, grouped, short};
use crate::table::table;
use cbo_lab::compare::{Pair, Row};
use cbo_lab::success::Judge;
use serde::Serialize;
use std::cmp::Ordering;
use std::collections::BTreeMap;

/// What the last columns mean, in one sentence.
const TESTS: &str = "\
better, worse: than so many methods, by Wilcoxon's signed rank test of the values, run by run, at 5 % after Holm's correction
for all pairs; --json and --out have all of them, and McNemar's test of success";

/// The report of a comparison.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    runs: usize,
    seed: u64,
    tolerance: Number,
    judge: String,
    precision: &'static str,
    methods: Vec<String>,
    /// Settings, and the methods that run without them.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    without: BTreeMap<&'static str, Vec<String>>,
    problems: Vec<ProblemReport>,
}

/// One problem.
#[derive(Clone, Debug, Serialize)]
struct ProblemReport {
    objective: String,
    dim: usize,
    minimum: Number,
    max_evaluations: u64,
    /// Complete runs of each method.
    runs: usize,
    scale: Number,
    targets: Vec<Number>,
    /// The best method first.
    rows: Vec<RowReport>,
    tests: Vec<TestReport>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    failures: Vec<String>,
}

/// One method on one problem.
#[derive(Clone, Debug, Serialize)]
struct RowReport {
    method: String,
    successes: u64,
    rate: f64,
    wilson_low: f64,
    wilson_high: f64,
    median_evaluations: Option<Number>,
    expected_evaluations: Number,
    median_value: Number,
    targets_reached: f64,
    better_than: usize,
    worse_than: usize,
    failed_runs: u64,
}

/// Two methods on one problem.
#[derive(Clone, Debug, Serialize)]
pub struct TestReport {
    /// The first.
    pub first: String,
    /// The second.
    pub second: String,
    /// Which has the lower values, or none.
    pub lower: Option<String>,
    /// Wilcoxon's probability, corrected.
    pub value_p: f64,
    /// Runs in which only the first succeeded.
    pub only_first: u64,
    /// Runs in which only the second did.
    pub only_second: u64,
    /// McNemar's probability, corrected.
    pub success_p: f64,
}

impl Report {
    /// The report.
    pub fn new(args: &CompareArgs, plan: &Plan, results: &[Results<'_>]) -> Self {
        Self {
            runs: args.runs,
            seed: plan.seed,
            tolerance: Number(args.tolerance),
            judge: args.judge.to_string(),
            precision: plan.precision.name(),
            methods: plan.methods.iter().map(ToString::to_string).collect(),
            without: plan.without.clone(),
            problems: results.iter().map(ProblemReport::new).collect(),
        }
    }

    /// For people.
    pub fn lines(&self) -> String {
        let point = if self.judge == Judge::Best.to_string() { "best" } else { "consensus" };
        let value = format!("{point} value");
        let mut text = String::new();
        for problem in &self.problems {
            text += &problem.lines(&value);
            text.push('\n');
        }
        let last = self.seed.wrapping_add(self.runs as u64 - 1);
        let tolerance = short(self.tolerance.0);
        text += &format!(
            "success: the {point} point is nearer than {tolerance} to a minimiser, in the maximum norm; 95 % Wilson interval, seeds {} to {last}\n",
            self.seed
        );
        text += &format!(
            "evaluations: median to a success; expected: to the first success if runs are repeated; {value}: median\n"
        );
        text += "targets: part of the heights above the minimum, from that of a typical start down to 1e-8 of it, that runs reach\n";
        text += &format!("{TESTS}\n");
        text
    }
}

/// One test.
pub fn test(results: &Results<'_>, pair: &Pair) -> TestReport {
    let name = |place: usize| results.entries[place].name.clone();
    TestReport {
        first: name(pair.first),
        second: name(pair.second),
        lower: match pair.lower {
            Ordering::Less => Some(name(pair.first)),
            Ordering::Equal => None,
            Ordering::Greater => Some(name(pair.second)),
        },
        value_p: pair.value_p,
        only_first: pair.only.0,
        only_second: pair.only.1,
        success_p: pair.success_p,
    }
}

impl ProblemReport {
    fn new(results: &Results<'_>) -> Self {
        let (course, comparison) = (results.course, &results.comparison);
        Self {
            objective: course.description.clone(),
            dim: course.dim(),
            minimum: Number(course.targets.minimum),
            max_evaluations: course.budget,
            runs: results.runs(),
            scale: Number(course.targets.scale),
            targets: course.targets.heights.iter().map(|height| Number(*height)).collect(),
            rows: comparison.ranking().into_iter().map(|place| RowReport::new(&comparison.rows[place])).collect(),
            tests: comparison.pairs.iter().map(|pair| test(results, pair)).collect(),
            failures: results.failures.clone(),
        }
    }

    fn lines(&self, value: &str) -> String {
        let dims = if self.dim == 1 { "dimension" } else { "dimensions" };
        let minimum =
            if self.minimum.0 == 0.0 { String::new() } else { format!(", minimum {}", short(self.minimum.0)) };
        let mut text = format!(
            "{} in {} {dims}: {} runs of {} evaluations{minimum}\n\n",
            self.objective,
            grouped(self.dim as u64),
            grouped(self.runs as u64),
            grouped(self.max_evaluations),
        );
        let heading = ["method", "success", "interval", "evaluations", "expected", value, "targets", "better", "worse"];
        text += &table(&heading, &self.rows.iter().map(RowReport::cells).collect::<Vec<_>>());
        if let Some(first) = self.failures.first() {
            let count = grouped(self.failures.len() as u64);
            text += &format!("{count} runs could not continue; the first: {first}\n");
        }
        text
    }
}

impl RowReport {
    fn new(row: &Row) -> Self {
        Self {
            method: row.name.clone(),
            successes: row.rate.successes,
            rate: row.rate.rate,
            wilson_low: row.rate.low,
            wilson_high: row.rate.high,
            median_evaluations: row.median_evaluations.map(Number),
            expected_evaluations: Number(row.expected_evaluations),
            median_value: Number(row.median_value),
            targets_reached: row.targets,
            better_than: row.better_than,
            worse_than: row.worse_than,
            failed_runs: row.failed,
        }
    }

    fn cells(&self) -> Vec<String> {
        let percent = |part: f64| format!("{:.0}", 100.0 * part);
        let whole = |number: f64| if number.is_finite() { count(number.round()) } else { "-".into() };
        vec![
            self.method.clone(),
            format!("{} %", percent(self.rate)),
            format!("{} to {} %", percent(self.wilson_low), percent(self.wilson_high)),
            self.median_evaluations.map_or_else(|| "-".into(), |n| whole(n.0)),
            whole(self.expected_evaluations.0),
            brief(self.median_value.0),
            format!("{:.2}", self.targets_reached),
            self.better_than.to_string(),
            self.worse_than.to_string(),
        ]
    }
}
