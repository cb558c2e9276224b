//! Constraints on the command line: functions that have some, and constraints that are put on functions and programs.

use crate::common::{assert_usage, cbo, command, object, result, stdout, words};

#[cfg(unix)]
use crate::common::folders::{assert_success, begin, finished, line, minimize_program, resume};

#[test]
fn a_function_with_constraints_reports_whether_they_are_met() {
    for method in ["auto", "cbo"] {
        let value = object(&words(&format!("minimize g24 --method {method} --json")));
        assert_eq!((&value["feasible"], &value["violation"]), (&true.into(), &0.0.into()));
        let gap = value["value"].as_f64().expect("a number") - value["minimum"].as_f64().expect("a number");
        assert!((-1e-9..1e-6).contains(&gap), "{method}: {gap}");
    }
    let text = stdout(&words("minimize g24"));
    assert!(text.contains("feasible     yes: the best point meets all constraints"), "{text}");
    // Others have no such keys.
    let plain = object(&words("minimize sphere --dim 2 --json"));
    assert!(plain.get("feasible").is_none() && plain.get("violation").is_none());
    let listed = object(&words("list g06 --json"));
    assert_eq!(listed["constraints"].as_array().expect("a list").len(), 2);
}

#[test]
fn a_constraint_is_put_on_any_function() {
    let value = object(&cbo(&["minimize", "sphere", "-d", "4", "--constraint", "sum>=1", "--json"]));
    assert_eq!(value["objective"], "sphere under sum>=1");
    assert!((value["value"].as_f64().expect("a number") - 0.25).abs() < 1e-9);
    // Nobody knows the minimum there; here the minimiser is still allowed.
    assert!(value.get("minimum").is_none() && value.get("distance").is_none());
    let value = object(&cbo(&["minimize", "sphere", "-d", "2", "--constraint", "ball:1; sum<=0.5", "--json"]));
    assert_eq!((&value["objective"], &value["minimum"]), (&"sphere under ball:1;sum<=0.5".into(), &0.0.into()));
    // On top of those that a function has.
    let value = object(&cbo(&["minimize", "g24", "--constraint", "sum<=5", "--json", "--max-evaluations", "3000"]));
    assert!((value["value"].as_f64().expect("a number") + 5.0).abs() < 1e-6 && value["feasible"] == true);
    let off = object(&words("minimize sphere --dim 2 --constraint off --json"));
    assert_eq!(off["objective"], "sphere");
}

#[test]
fn where_nothing_is_feasible_the_run_says_so() {
    for method in ["auto", "cbo"] {
        let line = format!("minimize sphere --dim 2 --bounds -1,1 --constraint sum>=5 --target 100 --method {method}");
        let value = object(&words(&format!("{line} --json")));
        assert_eq!((&value["feasible"], value["stop"] == "target"), (&false.into(), false));
        assert!((value["violation"].as_f64().expect("a number") - 3.0).abs() < 0.01, "{value}");
        let message = value["message"].as_str().expect("a sentence");
        assert!(message.contains("No point was found that meets all constraints"), "{message}");
        let text = stdout(&words(&line));
        assert!(text.contains("feasible     no: the best point violates its constraints by 3"), "{text}");
    }
}

#[test]
fn instruction_sets_and_threads_do_not_change_a_bit() {
    for line in [
        "minimize g09 --max-evaluations 3000",
        "minimize g10 --method cbo --particles 3000 --steps 30 --quiet",
        "minimize g07 --method cbo --precision f32 --alpha ess:0.1 --steps 60 --quiet",
        "minimize g01 --method memory --steps 60 --quiet",
    ] {
        let on = |set: &str, threads: &str| {
            let arguments: Vec<&str> = line.split(' ').chain(["--json", "--threads", threads]).collect();
            let mut value = result(&command(&arguments).env("CBO_SIMD", set).output().expect("the program starts"));
            value.as_object_mut().expect("an object").remove("instruction_set");
            value
        };
        let portable = on("portable", "1");
        for set in cbo::simd::available() {
            for threads in ["1", "2", "5"] {
                assert_eq!(on(set.name(), threads), portable, "{line} on {set}, {threads} threads");
            }
        }
    }
}

#[cfg(unix)]
#[test]
fn a_run_under_constraints_is_extended_and_resumed_as_if_it_had_never_stopped() {
    let constraint = "--constraint ball:2;sum>=1";
    for (line_of, small, large, more) in [
        ("minimize rastrigin --dim 3 --particles 60 --seed 3", "--steps 20", "--steps 50", "--steps +30"),
        ("minimize ackley --dim 3 --method memory --particles 40", "--steps 20", "--steps 50", "--steps +30"),
        // After 507 evaluations a round ends. One that is cut by the limit has the same points, but counts as two.
        ("minimize g10 --seed 4", "--max-evaluations 507", "--max-evaluations 1500", "--max-evaluations +993"),
    ] {
        let place = tempfile::tempdir().expect("a folder");
        let (long, short) = (place.path().join("long"), place.path().join("short"));
        let words = if line_of.contains("g10") { line_of.to_string() } else { format!("{line_of} {constraint}") };
        let expected = finished(&begin(&line(&format!("{words} {large}")), &long), &long);
        finished(&begin(&line(&format!("{words} {small}")), &short), &short);
        let again = finished(&resume(&short, more), &short);
        assert_eq!(again, expected, "{words}");
        assert!(again.result.get("feasible").is_some());
        let header = again.history.lines().next().expect("a header").to_string();
        assert!(header.contains(",spread,violation,consensus_1"), "{header}");
        if !line_of.contains("g10") {
            assert!(again.config.contains("constraint = \"ball:2;sum>=1\""), "{}", again.config);
        }
    }
}

#[cfg(unix)]
#[test]
fn a_changed_constraint_is_another_run() {
    let place = tempfile::tempdir().expect("a folder");
    let folder = place.path().join("run");
    let words = "minimize sphere --dim 2 --method cbo --steps 5 --constraint sum>=1";
    assert_success(&begin(&line(words), &folder));
    let config = folder.join("config.toml");
    let text = std::fs::read_to_string(&config).expect("settings");
    std::fs::write(&config, text.replace("sum>=1", "sum>=2")).expect("written");
    let refused = resume(&folder, "--steps +5");
    assert_usage(&refused, &["no longer the same run", "constraint was sum>=1 and is sum>=2", "--force"]);
    let forced = resume(&folder, "--steps +5 --force");
    assert_eq!(forced.status.code(), Some(0));
    std::fs::write(&config, text.replace("constraint = \"sum>=1\"\n", "")).expect("written");
    let other = resume(&folder, "--steps +5 --force");
    assert_usage(&other, &["constraints"]);
}

/// A program knows nothing of constraints, nor does its store; they are functions of the point.
#[cfg(unix)]
#[test]
fn a_program_is_put_under_a_constraint() {
    let place = tempfile::tempdir().expect("a folder");
    let folder = place.path().join("run");
    let program = "awk 'BEGIN { print ARGV[1]^2 + ARGV[2]^2 }' {x}";
    let words = "--dim 2 --bounds -3,3 --constraint sum>=2 --max-evaluations 120 --seed 1 --workers 2";
    let done = begin(&minimize_program(program, words), &folder);
    let run = finished(&done, &folder);
    let best = run.result["value"].as_f64().expect("a number");
    assert!(run.result["feasible"] == true && (2.0..2.5).contains(&best), "{}", run.result);
    let x: Vec<f64> =
        run.result["x"].as_array().expect("a point").iter().map(|v| v.as_f64().expect("a number")).collect();
    assert!(x[0] + x[1] >= 2.0);
    let shown = object(&cbo(&["runs", "show", folder.to_str().expect("text"), "--json"]));
    assert_eq!(shown["best"].as_f64(), Some(best), "not the best of the store, which is forbidden");
}

#[test]
fn success_under_constraints_is_a_feasible_point_near_the_minimum() {
    let value = object(&words("success g24 --runs 6 --json --verbose"));
    assert_eq!(
        (&value["successes"], &value["feasible_runs"], &value["tolerance"]),
        (&6.into(), &6.into(), &1e-4.into())
    );
    assert!(value["criterion"].as_str().expect("words").contains("meets all constraints"));
    assert!(value["outcomes"].as_array().expect("a list").iter().all(|run| run["violation"] == 0.0));
    // A tolerance that no run meets, and few evaluations: the first points of g10 violate something.
    let value = object(&words("success g10 --runs 3 --max-evaluations 25 --json"));
    assert_eq!(value["successes"], 0);
    let value = object(&words("success sphere --dim 2 --constraint ball:1 --runs 3 --json"));
    assert_eq!((&value["successes"], &value["objective"]), (&3.into(), &"sphere under ball:1".into()));
    let text = stdout(&words("success g24 --runs 2"));
    assert!(text.contains("its value is at most 0.0001 above the minimum"), "{text}");
    assert!(text.contains("2 of 2 runs found a point that meets all constraints"), "{text}");
}

#[test]
fn what_makes_no_sense_with_constraints_is_refused() {
    let refused = words("success sphere --dim 2 --constraint hole:1 --runs 2");
    assert_usage(&refused, &["constraint = hole:1", "no minimiser of sphere meets it"]);
    assert_usage(&words("theory g09"), &["objective = g09", "constraints", "theorem"]);
    assert_usage(&words("meanfield --objective g06 --dim 2"), &["objective = g06", "constraints", "law"]);
    for line in ["minimize g09 --certify", "minimize sphere --dim 2 --constraint ball:1 --certify"] {
        assert_usage(&words(line), &["certify = true", "constraints"]);
    }
    for (text, remedy) in [
        ("cube:1", "ball:R"),
        ("ball:-1", "a positive number"),
        ("ring:2,1", "0 <= R < S"),
        ("sum<1", "sum<=C"),
        ("ball:1;", "ball:R"),
    ] {
        assert_usage(&cbo(&["minimize", "sphere", "-d", "2", "--constraint", text]), &["--constraint", remedy]);
    }
    assert_usage(&words("minimize sphere --dim 2 --constraints ball:1"), &["--constraint CONSTRAINT"]);
}
