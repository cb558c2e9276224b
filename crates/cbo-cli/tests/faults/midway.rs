//! Runs of a program that end within a step: what was finished counts, and the rest is evaluated when the run goes on.

use crate::common::folders::{begin, checkpoint, command_of, finished, line, minimize_program, resume};
use crate::common::{path, stderr};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Output;

/// Notes its points. Breaks after three steps where there is a file `broken`: a particle that stays where it is is not evaluated again.
const PROGRAM: &str = r#"
sleep 0.02; echo "$@" >> LOG
if [ -e BROKEN ] && [ "$(wc -l < LOG)" -gt 28 ]; then echo no licence >&2; exit 3; fi
awk 'BEGIN { print ARGV[1]^2 + ARGV[2]^2 }' "$@"
"#;

/// How the program is minimised; its points go to `log`.
fn arguments(place: &Path, log: &str, words: &str) -> Vec<String> {
    let script = place.join(format!("{log}.sh"));
    let text = PROGRAM.replace("LOG", path(&place.join(log))).replace("BROKEN", path(&place.join("broken")));
    fs::write(&script, text).expect("a file");
    minimize_program(&format!("sh {} {{x}}", path(&script)), &format!("--dim 2 --bounds -5,5 --seed 4 {words}"))
}

fn noted(place: &Path, log: &str) -> Vec<String> {
    fs::read_to_string(place.join(log)).expect("a log").lines().map(String::from).collect()
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).expect("JSON")
}

#[test]
fn a_run_that_is_given_little_time_again_and_again() {
    for words in ["--particles 10 --steps 3", "--max-evaluations 25 --batch 7"] {
        let place = tempfile::tempdir().expect("a folder");
        let (folder, undisturbed) = (place.path().join("run"), place.path().join("undisturbed"));
        let expected = finished(&begin(&arguments(place.path(), "whole", words), &undisturbed), &undisturbed);
        let short = arguments(place.path(), "log", &format!("{words} --max-seconds 0.05"));
        let mut run = finished(&begin(&short, &folder), &folder);
        let mut lives = 1;
        while run.result["stop"] == "seconds" {
            // A few points are asked for twice and evaluated once.
            let (evaluations, asked) = (run.number("evaluations"), noted(place.path(), "log").len() as u64);
            assert!((asked..asked + 4).contains(&evaluations), "what is finished counts: {evaluations}, {asked}");
            assert_eq!(checkpoint(&folder).expect("a checkpoint").summary.evaluations, evaluations);
            lives += 1;
            run = finished(&resume(&folder, "--max-seconds +0.1"), &folder);
        }
        for field in ["value", "x", "consensus", "evaluations", "steps", "stop"] {
            assert_eq!(run.result[field], expected.result[field], "{field}");
        }
        assert!(run.history == expected.history && lives > 2, "{lives} lives");
        assert_eq!(noted(place.path(), "log"), noted(place.path(), "whole"), "no point is evaluated twice");
    }
}

#[test]
fn a_target_ends_a_run_at_once() {
    let place = tempfile::tempdir().expect("a folder");
    let mut run = command_of(&arguments(place.path(), "log", "--particles 40 --target 40 --json"));
    let output = run.output().expect("the program starts");
    let (result, asked) = (json(&output), noted(place.path(), "log").len() as u64);
    assert_eq!((&result["stop"], result["evaluations"].as_u64()), (&Value::from("target"), Some(asked)));
    assert!(asked < 40 && result["value"].as_f64().is_some_and(|value| value <= 40.0), "{result}");
    assert_eq!(result["consensus_value"], "nan", "it was not evaluated");
}

#[test]
fn a_run_whose_program_breaks_tells_what_it_had_found() {
    for workers in [1, 3] {
        let place = tempfile::tempdir().expect("a folder");
        let words = format!("--particles 10 --steps 5 --workers {workers}");
        let (folder, undisturbed) = (place.path().join("run"), place.path().join("undisturbed"));
        let expected = finished(&begin(&arguments(place.path(), "whole", &words), &undisturbed), &undisturbed);
        fs::write(place.path().join("broken"), "").expect("a file");
        let breaking = [arguments(place.path(), "log", &words), line("--json")].concat();
        let output = begin(&breaking, &folder);
        assert!(output.status.code() == Some(1) && stderr(&output).contains("no licence"), "{output:?}");
        let result = json(&output);
        assert_eq!((&result["stop"], &result["evaluations"]), (&Value::from("failed"), &Value::from(40)));
        assert!(result["value"].as_f64().is_some_and(f64::is_finite) && result["failed_evaluations"] == 9, "{result}");
        let kept = checkpoint(&folder).expect("a checkpoint").summary;
        assert_eq!((kept.evaluations, kept.best, kept.stop), (40, result["value"].as_f64(), None));
        fs::remove_file(place.path().join("broken")).expect("a file");
        let mended = finished(&resume(&folder, "--retry-failed"), &folder);
        assert!(mended.history == expected.history);
        assert_eq!(mended.result["x"], expected.result["x"]);
        assert_eq!(noted(place.path(), "log").len(), noted(place.path(), "whole").len() + 9);
    }
}
