//! The history of a run as CSV, and back.

use crate::text;
use cbo::Record;

const COLUMNS: &str = "step,time,evaluations,best,least,alpha,sigma,effective_sample_size,spread";

/// The column that runs under constraints have besides.
const VIOLATION: &str = ",violation";

/// The history as CSV, one line per step.
pub fn to_csv(records: &[Record]) -> String {
    let mut csv = String::from(COLUMNS);
    if records.first().is_some_and(|r| r.violation.is_some()) {
        csv += VIOLATION;
    }
    let coordinates = records.first().map_or(0, |r| r.consensus.len());
    for k in 1..=coordinates {
        csv += &format!(",consensus_{k}");
    }
    csv.push('\n');
    for r in records {
        csv += &format!("{},{},{}", r.step, r.time, r.evaluations);
        let numbers = [r.best, r.least, r.alpha, r.sigma, r.effective_sample_size, r.spread];
        for value in numbers.iter().chain(&r.violation).chain(&r.consensus) {
            csv += &format!(",{}", text::number(*value));
        }
        csv.push('\n');
    }
    csv
}

/// The history in the CSV; `None` if it is something else.
pub fn from_csv(csv: &str) -> Option<Vec<Record>> {
    let mut lines = csv.lines();
    let rest = lines.next()?.strip_prefix(COLUMNS)?;
    lines.map(|line| record(line, rest.starts_with(VIOLATION))).collect()
}

fn record(line: &str, constrained: bool) -> Option<Record> {
    let mut cells = line.split(',');
    let step = cells.next()?.parse().ok()?;
    let time = cells.next()?.parse().ok()?;
    let evaluations = cells.next()?.parse().ok()?;
    let mut number = || cells.next()?.parse::<f64>().ok();
    let (best, least, alpha, sigma) = (number()?, number()?, number()?, number()?);
    let (effective_sample_size, spread) = (number()?, number()?);
    let violation = if constrained { Some(number()?) } else { None };
    let consensus = cells.map(|cell| cell.parse().ok()).collect::<Option<_>>()?;
    Some(Record {
        step,
        time,
        evaluations,
        best,
        violation,
        least,
        alpha,
        sigma,
        effective_sample_size,
        spread,
        consensus,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_history_reads_back_exactly() {
        let record = |step: u64, violation: Option<f64>, consensus: Vec<f64>| Record {
            step,
            time: step as f64 * 0.1,
            evaluations: 10 * step,
            best: 1.0 / 3.0,
            violation,
            least: f64::INFINITY,
            alpha: 1e300,
            sigma: 5e-324,
            effective_sample_size: 1.0,
            spread: 0.1 + 0.2,
            consensus,
        };
        for points in [vec![], vec![-0.0, 1e-7]] {
            for violations in [[None, None], [Some(0.1), Some(0.0)]] {
                let records = vec![record(0, violations[0], points.clone()), record(3, violations[1], points.clone())];
                assert_eq!(from_csv(&to_csv(&records)), Some(records));
            }
        }
        assert_eq!(from_csv(&to_csv(&[])), Some(vec![]));
    }

    #[test]
    fn something_else_is_no_history() {
        for csv in ["", "step,time\n1,2\n", &format!("{COLUMNS}\n1,2,3\n"), &format!("{COLUMNS}\n1,2,x,4,5,6,7,8,9\n")]
        {
            assert_eq!(from_csv(csv), None, "{csv}");
        }
    }
}
