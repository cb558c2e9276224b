//! `cbo success` and `cbo list`.

use crate::common::{object, stderr, stdout, words};

#[test]
fn success_counts_runs() {
    let line =
        "success sphere --dim 2 --runs 12 --method cbo --steps 60 --sigma 0.5 --dt 0.1 --lambda 1 --seed 3 --json";
    let value = object(&words(&format!("{line} --verbose")));
    for key in
        "runs successes rate wilson_low wilson_high tolerance median_evaluations objective dim".split_whitespace()
    {
        assert!(value.get(key).is_some(), "{key} is missing");
    }
    assert_eq!((&value["runs"], &value["successes"], &value["rate"]), (&12.into(), &12.into(), &1.0.into()));
    assert_eq!(value["tolerance"], 0.25);
    assert!((value["wilson_low"].as_f64().expect("a number") - 0.757_51).abs() < 1e-4);
    let outcomes = value["outcomes"].as_array().expect("a list");
    let seeds: Vec<u64> = outcomes.iter().map(|o| o["seed"].as_u64().expect("a seed")).collect();
    assert_eq!(seeds, (3..15).collect::<Vec<u64>>());
    // Each is the run that minimize makes of its seed.
    let one = object(&words(
        "minimize sphere --dim 2 --method cbo --steps 60 --sigma 0.5 --dt 0.1 --lambda 1 --seed 7 --json",
    ));
    assert_eq!((&outcomes[4]["value"], &outcomes[4]["distance"]), (&one["value"], &one["distance"]));
    assert!(object(&words(line)).get("outcomes").is_none());
    // A tolerance that nothing meets.
    let none = object(&words(&format!("{line} --tolerance 1e-300")));
    assert_eq!((&none["successes"], &none["wilson_low"]), (&0.into(), &0.0.into()));
    assert!(none["median_evaluations_successful"].is_null());
}

#[test]
fn success_does_not_depend_on_threads() {
    let line = "success rastrigin --dim 3 --runs 9 --method cbo --steps 40 --shift random --rotate random --verbose --json --quiet --threads";
    let one = stdout(&words(&format!("{line} 1")));
    assert!(one.contains("outcomes"));
    for threads in [2, 3, 8] {
        assert_eq!(stdout(&words(&format!("{line} {threads}"))), one);
    }
    // A shift of its own for each run: minimisers differ, so equal distances would be very unlikely.
    let fixed = stdout(&words(&format!("{} 1", line.replace("--shift random", "--shift 1"))));
    assert_ne!(one, fixed);
}

#[test]
fn success_is_explained_to_people() {
    let output = words("success ackley --dim 2 --runs 5 --method cbo --steps 50 --tolerance 0.5 --quiet");
    assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(0), ""));
    for part in ["nearer than 0.5 to a minimiser, in the maximum norm", "of 5 runs", "Wilson", "median", "seeds 0 to 4"]
    {
        assert!(stdout(&output).contains(part), "{part}: {}", stdout(&output));
    }
}

#[test]
fn runs_that_cannot_go_on_are_counted_as_such() {
    let value = object(&words(
        "success eggholder --bounds off --bound-handling none --init uniform:1e6,2e6 --runs 3 --json --verbose",
    ));
    assert_eq!((&value["failed_runs"], &value["successes"]), (&3.into(), &0.into()));
    assert!(value["outcomes"][0]["error"].as_str().expect("a reason").contains("finite energy"));
    assert!(value["median_evaluations"].is_null());
}

#[test]
fn the_list_is_complete() {
    let functions = cbo_problems::all();
    assert!(functions.len() >= 30);
    let text = stdout(&words("list"));
    let value = object(&words("list --json"));
    let entries = value.as_array().expect("a list");
    assert_eq!(entries.len(), functions.len());
    for (info, entry) in functions.iter().zip(entries) {
        let row = text.lines().find(|line| line.split_whitespace().next() == Some(info.name)).expect(info.name);
        // Beside a number of constraints, long ones are cut.
        let is_constrained = !entry["constraints"].as_array().is_none_or(|texts| texts.is_empty());
        let shown: String = info.formula.chars().take(if is_constrained { 30 } else { usize::MAX }).collect();
        assert!(row.contains(&shown), "{row}");
        assert_eq!(
            (&entry["name"], &entry["formula"], &entry["optimum"]),
            (&info.name.into(), &info.formula.into(), &info.optimum.into())
        );
        let one = stdout(&words(&format!("list {}", info.name)));
        for part in [info.formula, info.optimum, info.source] {
            assert!(one.contains(part), "{part}: {one}");
        }
        assert!(info.parameters.iter().all(|p| one.contains(&format!("--{} {}", p.name, p.default))));
    }
    assert_eq!(object(&words("list Rastrigin --json"))["name"], "rastrigin");
}

#[test]
fn every_parameter_of_a_function_has_a_flag() {
    let help = stdout(&words("minimize --help"));
    for info in cbo_problems::all() {
        for parameter in info.parameters {
            assert!(help.contains(&format!("--{} ", parameter.name)), "{} of {}", parameter.name, info.name);
        }
    }
}

#[test]
fn every_function_can_be_minimised() {
    for info in cbo_problems::all() {
        let dim = if info.default_dim().is_some() { "" } else { "--dim 3" };
        let problem = cbo_problems::Problem::named(info.name, info.default_dim().unwrap_or(3)).expect("a problem");
        if !problem.constraint_texts().is_empty() {
            // A shift may leave nothing feasible, and points that violate constraints may be lower.
            let value = object(&words(&format!("minimize {} --method cbo --steps 3 --json", info.name)));
            assert!(value["feasible"].is_boolean(), "{value}");
            continue;
        }
        let value = object(&words(&format!(
            "minimize {} {dim} --method cbo --steps 3 --json --shift random --rotate 1",
            info.name
        )));
        let (value, minimum) =
            (value["value"].as_f64().expect("a value"), value["minimum"].as_f64().expect("a minimum"));
        assert!(value >= minimum - 1e-9 * minimum.abs().max(1.0), "{}: {value} below {minimum}", info.name);
    }
}
