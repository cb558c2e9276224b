//! Figure 4: training curves of the two networks, drawn from finished runs of `cbo mnist train`.

use super::runs::Finished;
use crate::error::CliError;
use crate::numbers::{Number, json};
use crate::plot::training::{self, Series};
use crate::sheet::{Sheet, Table, pictures};
use cbo_lab::figures::fig4::{self, Check, Status};
use serde::Serialize;
use std::collections::HashSet;

/// How to make a run, for those who have none.
pub const NEEDS_RUNS: &str = "figure 4 is drawn from training runs: make one with `cbo mnist train --network lenet1 --out DIR` \
                              and give its folder with `--runs DIR`";

#[derive(Serialize)]
struct Report<'a> {
    figure: &'static str,
    agrees: bool,
    runs: Vec<Row<'a>>,
}

/// A run, and what is expected of it.
#[derive(Serialize)]
struct Row<'a> {
    folder: String,
    network: &'a str,
    data: &'a str,
    preset: &'a str,
    scheme: &'a str,
    particles: Option<u64>,
    seed: u64,
    epochs: f64,
    loss: Number,
    test_accuracy: Number,
    best_test_accuracy: Number,
    claims: Vec<Check>,
    no_expectation: Option<String>,
}

pub fn sheet(runs: &[Finished]) -> Result<Sheet, CliError> {
    let experiment = fig4::load()?;
    let rows: Vec<Row> = runs
        .iter()
        .map(|run| {
            let (claims, why) = match experiment.check(&run.setting) {
                Ok(claims) => (claims, None),
                Err(why) => (Vec::new(), Some(why)),
            };
            row(run, claims, why)
        })
        .collect();
    let labels = labels(runs);
    let series: Vec<Series> =
        labels.iter().zip(runs).map(|(label, run)| Series { label: label.clone(), points: &run.points }).collect();
    let (svg, png) = pictures(|format| training::fig4(&series, &marks(&rows), format))?;
    let agrees = rows.iter().flat_map(|row| &row.claims).all(|check| check.status != Status::Fails);
    Ok(Sheet {
        name: "fig4",
        title: "Figure 4: the networks trained without gradients",
        about: rows.iter().enumerate().map(|(i, row)| about(i + 1, row)).collect::<Vec<_>>().join("\n"),
        table: table(&rows),
        verdict: verdict(&rows),
        agrees,
        csv: csv(runs),
        json: json(&Report { figure: "fig4", agrees, runs: rows }),
        svg,
        png,
    })
}

fn row(run: &Finished, claims: Vec<Check>, no_expectation: Option<String>) -> Row<'_> {
    let last = run.points.last();
    let best = run.points.iter().map(|p| p.test_accuracy).fold(f64::NAN, f64::max);
    Row {
        folder: run.folder.display().to_string(),
        network: &run.setting.network,
        data: &run.setting.data,
        preset: run.setting.setting("preset"),
        scheme: run.setting.setting("scheme"),
        particles: run.setting.setting("particles").parse().ok(),
        seed: run.seed,
        epochs: last.map_or(0.0, |p| p.epoch),
        loss: Number(last.map_or(f64::NAN, |p| p.loss)),
        test_accuracy: Number(last.map_or(f64::NAN, |p| p.test_accuracy)),
        best_test_accuracy: Number(best),
        claims,
        no_expectation,
    }
}

/// Expected accuracies for the picture, each once.
fn marks(rows: &[Row]) -> Vec<(f64, f64)> {
    let mut marks: Vec<(f64, f64)> = Vec::new();
    for check in rows.iter().flat_map(|row| &row.claims).filter(|check| !check.claim.best) {
        let mark = (check.claim.epoch, check.claim.expected / 100.0);
        if check.status != Status::NotReached && !marks.contains(&mark) {
            marks.push(mark);
        }
    }
    marks
}

/// Short names: the network, what the runs differ in, and the folder if that does not tell them apart.
fn labels(runs: &[Finished]) -> Vec<String> {
    let parts: [fn(&Finished) -> String; 6] = [
        |run| run.setting.setting("scheme").into(),
        |run| format!("N = {}", run.setting.setting("particles")),
        |run| format!("kick {}", run.setting.setting("kick")),
        |run| format!("preset {}", run.setting.setting("preset")),
        // Without the place that they were read from.
        |run| run.setting.data.split(" (").next().unwrap_or_default().into(),
        |run| format!("seed {}", run.seed),
    ];
    let mut labels: Vec<String> = runs.iter().map(|run| shortened(&run.setting.network)).collect();
    for part in parts {
        let words: Vec<String> = runs.iter().map(part).collect();
        // The seed tells most runs apart; it is worth naming for a single run too.
        if runs.len() == 1 && words[0].starts_with("seed") || words.iter().any(|word| *word != words[0]) {
            labels.iter_mut().zip(words).for_each(|(label, word)| *label += &format!(", {word}"));
        }
    }
    if !all_different(&labels) {
        let name = |run: &Finished| run.folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let mut names: Vec<String> = runs.iter().map(name).collect();
        if !all_different(&names) {
            names = runs.iter().map(|run| run.folder.display().to_string()).collect();
        }
        labels.iter_mut().zip(names).for_each(|(label, name)| *label += &format!(", {name}"));
    }
    labels
}

fn all_different(words: &[String]) -> bool {
    words.iter().collect::<HashSet<_>>().len() == words.len()
}

/// The beginning of a long text.
fn shortened(text: &str) -> String {
    const LENGTH: usize = 40;
    match text.char_indices().nth(LENGTH) {
        Some((at, _)) => format!("{}...", text[..at].trim_end()),
        None => text.to_string(),
    }
}

fn about(number: usize, row: &Row) -> String {
    let Row { folder, network, preset, scheme, data, seed, epochs, .. } = row;
    let particles = row.particles.map_or("unknown".into(), |n| n.to_string());
    let expectation = row.no_expectation.as_ref().map_or(String::new(), |why| format!("; no expectation: {why}"));
    format!(
        "Run {number} ({folder}): {network}, preset {preset}, {scheme}, N = {particles}, seed {seed}, {data}, {epochs} epochs\
         {expectation}."
    )
}

fn table(rows: &[Row]) -> Table {
    let head = vec!["run", "network", "epoch", "test accuracy", "expected", "at least", ""];
    let per_cent = |value: f64| format!("{value:.2} %");
    let mut lines = Vec::new();
    for (i, row) in rows.iter().enumerate() {
        let begin = [(i + 1).to_string(), shortened(row.network)];
        for Check { claim, measured, status } in &row.claims {
            let epoch = if claim.best { format!("best until {}", claim.epoch) } else { claim.epoch.to_string() };
            let word = match status {
                Status::Holds => "holds",
                Status::Fails => "FAILS",
                Status::NotReached => "not reached",
            };
            let numbers = [measured.map_or("-".into(), per_cent), per_cent(claim.expected), per_cent(claim.least)];
            lines.push([&begin[..], &[epoch], &numbers, &[word.to_string()]].concat());
        }
        if row.no_expectation.is_some() {
            let best = per_cent(100.0 * row.best_test_accuracy.0);
            let cells = [format!("best until {}", row.epochs), best, "-".into(), "-".into(), "no expectation".into()];
            lines.push([&begin[..], &cells].concat());
        }
    }
    Table { head, rows: lines }
}

fn verdict(rows: &[Row]) -> String {
    let count = |wanted: Status| rows.iter().flat_map(|r| &r.claims).filter(|c| c.status == wanted).count();
    let (hold, fail, later) = (count(Status::Holds), count(Status::Fails), count(Status::NotReached));
    let mut text = match (hold + fail, fail) {
        (0, _) => "no expected accuracy could be compared".to_string(),
        (all, 0) => format!("all {all} expected accuracies that were reached hold"),
        (all, _) => format!("{fail} of {all} expected accuracies that were reached fail"),
    };
    match later {
        0 => (),
        1 => text += "; 1 is for a later epoch than its run reached",
        _ => text += &format!("; {later} are for later epochs than their runs reached"),
    }
    match rows.iter().filter(|row| row.no_expectation.is_some()).count() {
        0 => text,
        1 => text + "; nothing is expected of one run",
        some => text + &format!("; nothing is expected of {some} runs"),
    }
}

/// All curves under one another.
fn csv(runs: &[Finished]) -> String {
    let mut lines = String::from("run,network,seed,epoch,loss,train_accuracy,test_accuracy\n");
    for (i, run) in runs.iter().enumerate() {
        let network = run.setting.network.replace('"', "\"\"");
        for p in &run.points {
            lines += &format!(
                "{},\"{network}\",{},{},{},{},{}\n",
                i + 1,
                run.seed,
                p.epoch,
                number(p.loss),
                number(p.train_accuracy),
                number(p.test_accuracy)
            );
        }
    }
    lines
}

/// A number as the files of runs write it.
fn number(value: f64) -> String {
    if value.is_nan() { "nan".into() } else { value.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mnist::train::described;
    use cbo_lab::training::Settings;
    use cbo_problems::nn::Network;

    /// Else nothing would ever be expected of any run.
    #[test]
    fn the_papers_settings_are_those_that_training_writes() {
        let experiment = fig4::load().expect("the experiment");
        let settings = Settings::paper(Network::lenet1());
        for (name, text) in described(&settings) {
            match name {
                "alpha" => assert!(experiment.settings.iter().any(|s| s.alpha == text), "{text}"),
                "scheme" => assert!(experiment.settings.iter().any(|s| s.scheme.as_ref() == Some(&text)), "{text}"),
                _ => assert_eq!(experiment.paper.settings[name], text, "{name}"),
            }
        }
    }
}
