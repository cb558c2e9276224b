//! `cbo theory`: its numbers, its words, its refusals.

use crate::common::{assert_usage, object, path, stderr, stdout, words};
use serde_json::Value;
use std::fs;

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is not a number"))
}

#[test]
fn the_numbers_of_the_paper_s_setting() {
    for (dim, alpha_0) in [(1, 7.266e5), (2, 6.138e6), (4, 5.052e7), (16, 3.305e9)] {
        let value = object(&words(&format!("theory rastrigin --dim {dim} --json")));
        let found = &value["constants"]["alpha_0"];
        assert!((number(&found["value"]) / alpha_0 - 1.0).abs() < 2e-4, "{found}");
        assert!((number(&found["log"]) - number(&found["value"]).ln()).abs() < 1e-12);
        assert_eq!(value["assumptions"]["basis"], "exact");
        assert!((number(&value["assumptions"]["eta"]) - 6.98).abs() < 0.005);
        assert!((number(&value["assumptions"]["e_inf"]) - 0.4875).abs() < 5e-5);
        assert_eq!(value["covered"], true);
    }
}

#[test]
fn every_constant_is_in_the_object() {
    let value = object(&words("theory rastrigin --dim 4 --sharp --json"));
    for key in ["objective", "dim", "lambda", "sigma", "tau", "epsilon", "v0", "advice", "mean_square_stable"] {
        assert!(!value[key].is_null(), "{key}");
    }
    for set in ["constants", "sharp"] {
        for key in ["rate", "t_star", "c_tau", "q_epsilon", "r_epsilon", "b", "p", "mass", "alpha_0"] {
            let pair = &value[set][key];
            assert!(pair["value"].is_number() && pair["log"].is_number(), "{set} {key}: {pair}");
        }
        let hitting = value[set]["hitting_time"].as_array().expect("two times");
        assert!(number(&hitting[0]["value"]) < number(&hitting[1]["value"]));
    }
    let p = &value["constants"]["p"];
    assert_eq!(number(&p["value"]), number(&p["first_branch"]["value"]).max(number(&p["second_branch"]["value"])));
    assert!(number(&value["sharp"]["alpha_0"]["value"]) < number(&value["constants"]["alpha_0"]["value"]));
    for sentence in value["advice"].as_array().expect("sentences") {
        assert!(sentence["topic"].is_string() && sentence["text"].as_str().expect("text").ends_with('.'));
        assert!(sentence["holds"].is_boolean() || sentence["holds"] == "unknown");
    }
}

#[test]
fn numbers_too_large_are_given_by_their_logarithm() {
    let value = object(&words("theory different-powers --dim 200 --init uniform:-1,1 --r0 0.5 --json"));
    let alpha = &value["constants"]["alpha_0"];
    assert_eq!(alpha["value"], "inf");
    assert!(number(&alpha["log"]) > 710.0);
    let text = stdout(&words("theory different-powers --dim 200 --init uniform:-1,1 --r0 0.5"));
    assert!(text.contains("exp("), "{text}");
}

#[test]
fn settings_that_are_not_covered_are_explained() {
    // The program's own default dynamics.
    let value = object(&words("theory rastrigin --dim 3 --sigma 3 --dt 0.1 --alpha inf --particles 400 --json"));
    assert!(value["constants"].is_null() && value["covered"] == false);
    assert!(value["mean_square_stable"] == false && value["almost_surely_contracting"] == true);
    let text = stdout(&words("theory rastrigin --dim 3 --sigma 3 --dt 0.1 --alpha inf --particles 400"));
    // The words are those of the texts, however their lines are broken.
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in [
        "The noise outweighs the drift",
        "sqrt(2 lambda) = 1.4142",
        "not mean-square stable",
        "travel far",
        "below 5.166",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    for (line, parts) in [
        ("--alpha 100", vec!["is not above alpha_0", "larger alpha"]),
        ("--diffusion isotropic", vec!["isotropic", "theorem of its own"]),
        ("--sigma 0", vec!["Without noise", "infinite"]),
        ("--dt 2.5", vec!["overshoots", "smaller dt"]),
    ] {
        let output = words(&format!("theory rastrigin --dim 3 {line}"));
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let text = stdout(&output).split_whitespace().collect::<Vec<_>>().join(" ");
        for part in parts
            .into_iter()
            .chain(["does not cover"])
            .filter(|p| !(line.starts_with("--dt") && *p == "does not cover"))
        {
            assert!(text.contains(part), "{line}: {part}: {text}");
        }
    }
}

/// The words of an answer, however their lines are broken.
fn told(line: &str) -> String {
    let output = words(&format!("theory {line}"));
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    stdout(&output).split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn sharper_constants_cover_more() {
    let value = object(&words("theory rastrigin --dim 4 --alpha 1e6 --sharp --json"));
    assert!(value["covered"] == false && value["covered_sharp"] == true);
    let text = told("rastrigin --dim 4 --alpha 1e6 --sharp");
    for part in ["not above alpha_0 = 5.05", "sharper yes The sharper constants cover it", "The same proof holds"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    for (line, covered, sharp) in [("", true, true), ("--alpha 100", false, false), ("--sigma 3", false, false)] {
        let value = object(&words(&format!("theory rastrigin --dim 4 {line} --sharp --json")));
        assert!(value["covered"] == covered && value["covered_sharp"] == sharp, "{line}");
    }
    assert!(object(&words("theory rastrigin --dim 4 --json")).get("covered_sharp").is_none());
}

#[test]
fn edges_of_the_dynamics_have_their_words() {
    for (line, parts) in [
        (
            "--sigma 0 --dt 2.02",
            vec!["grows like exp(0.0098", "the swarm spreads; sigma between 0.1", "makes it contract"],
        ),
        ("--sigma 0.5 --dt 2.02", vec!["shrinks", "and 1.08", "keeps it so"]),
        ("--sigma 0 --dt 2", vec!["stays as it is", "sigma between 0 and"]),
        ("--sigma 0 --dt 1", vec!["reaches a fixed consensus point in one step"]),
        ("--sigma 0 --dt 0.01", vec!["sigma NO Without noise"]),
        ("--lambda 2 --sigma 2", vec!["2 lambda = sigma^2 = 4", "stays constant", "sqrt(2 lambda) = 2,"]),
        ("--sigma 1e200", vec!["grows like exp(45", "the swarm spreads", "sigma^2 = exp(921.03)"]),
        ("--dt 1e300", vec!["by a factor of exp(690", "the swarm spreads", "more than a number can hold"]),
        ("--dt 1 --scheme drift-first --sigma 1e200", vec!["in one step", "by 0: mean-square stable", "every sigma"]),
        ("--particles 1", vec!["A single particle", "never moves"]),
        ("--tau 1e-300", vec!["tau = 1e-300"]),
        ("--c 0.6180339887", vec!["0.618034"]),
    ] {
        let text = told(&format!("rastrigin --dim 4 {line}"));
        for part in parts {
            assert!(text.contains(part), "{line}: {part}: {text}");
        }
        assert!(!text.contains("NaN") && !text.contains("nan"), "{line}: {text}");
        assert!(text.split(|c: char| !c.is_ascii_digit()).all(|digits| digits.len() < 18), "{line}: {text}");
    }
}

#[test]
fn estimates_are_called_so() {
    let value = object(&words("theory ackley --dim 2 --json"));
    assert_eq!(value["assumptions"]["basis"], "estimate");
    assert_eq!(number(&value["assumptions"]["nu"]), 1.0);
    let text = stdout(&words("theory rastrigin --dim 2 --rotate 1"));
    assert!(text.contains("assumption A2 (an estimate)"), "{text}");
}

#[test]
fn wrong_settings_are_named_with_their_range() {
    for (line, parts) in [
        ("", ["no function given: name one (`cbo theory rastrigin", "cbo list"]),
        ("rastrigin", ["dim is missing", "--dim 10"]),
        ("rastrigin --dim 4 --epsilon 0", ["epsilon = 0", "between 0 and V_0 = 66,"]),
        ("rastrigin --dim 4 --epsilon -1", ["epsilon = -1", "between 0 and V_0 = 66,"]),
        ("rastrigin --dim 4 --epsilon 67", ["epsilon = 67", "between 0 and V_0 = 66,"]),
        ("rastrigin --dim 4 --epsilon nan", ["epsilon = NaN", "between 0 and V_0"]),
        ("rastrigin --dim 4 --epsilon-ratio 1", ["epsilon-ratio = 1", "between 0 and 1"]),
        ("rastrigin --dim 4 --epsilon 1 --epsilon-ratio 0.1", ["--epsilon", "cannot be used with"]),
        ("rastrigin --dim 4 --tau 1", ["tau = 1", "between 0 and 1"]),
        ("rastrigin --dim 4 --tau 0", ["tau = 0", "between 0 and 1"]),
        ("rastrigin --dim 4 --r0 0", ["r0 = 0", "and 5.12"]),
        ("rastrigin --dim 4 --r0 6", ["r0 = 6", "and 5.12"]),
        ("rastrigin --dim 4 --r0 wide", ["--r0", "nor `auto`"]),
        ("rastrigin --dim 4 --c 0.5", ["c = 0.5", "just below 0.6180340"]),
        ("rastrigin --dim 4 --c 1", ["c = 1", "to 1, excluded"]),
        ("rastrigin --dim 4 --lambda 0", ["lambda = 0", "positive finite"]),
        ("rastrigin --dim 4 --sigma -1", ["sigma = -1", "zero or a positive"]),
        ("rastrigin --dim 4 --sigma -inf", ["sigma = -inf", "zero or a positive"]),
        ("griewank --dim 20000", ["dim = 20000", "at most 10000"]),
        ("rastrigin --dim 4 --dt 0", ["dt = 0", "positive finite"]),
        ("rastrigin --dim 4 --alpha 0", ["alpha = 0", "inf is allowed"]),
        ("rastrigin --dim 4 --init uniform:1,2", ["init = uniform", "no mass"]),
        ("rastrigin --dim 4 --init normal:0,0", ["V_0 = 0", "positive"]),
        (
            "rastrigin --dim 4 --init normal:0;0,1",
            ["init = normal with a mean of 2 numbers", "one for each of the 4 coordinates"],
        ),
        ("rastrigin --dim 4 --init file:missing.csv", ["init file missing.csv", "cannot be read"]),
        ("rastrigin --dim 1 --init uniform:-1,1;1", ["a high end of 2 numbers", "1 coordinate;"]),
        ("rastrigin --dim 4 --epsilon 1e300", ["epsilon = 1e300:", "V_0 = 66,"]),
        ("rastrigin --dim 4 --r0 1e300", ["r0 = 1e300:", "and 5.12"]),
        ("rastrigin --dim 4 --r0 1e-300", ["r0 = 1e-300:", "and 5.12"]),
        ("rastrigin --dim 4 --lambda 1e300", ["lambda = 1e300:", "between 1e-50 and 1e50"]),
        ("rastrigin --dim 4 --sigma 1e-300", ["sigma = 1e-300:", "0 or at least 1e-50"]),
        ("himmelblau", ["assumption A2 fails", "more than one minimiser"]),
        ("eggholder", ["assumption A2 fails", "edge of the domain"]),
        ("rastrigin --dim 1e9", ["dim = 1000000000", "between 1 and"]),
        ("rastrigin --dim 10000 --rotate 1", ["dim = 10000", "with a rotation"]),
    ] {
        println!("{line}");
        assert_usage(&words(&format!("theory {line}")), &parts);
        assert_usage(&words(&format!("theory {line} --json")), &parts);
    }
}

#[test]
fn points_may_be_the_initial_law() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("points.csv");
    fs::write(&file, "0.0,0.01\n1,1\n-2,0.5\n3,-1\n").expect("written");
    let line = format!("theory sphere --dim 2 --r0 1 --epsilon-ratio 0.9 --init file:{} --json", path(&file));
    let value = object(&words(&line));
    assert_eq!(value["particles"], 4);
    assert!((number(&value["v0"]) - 0.125 * (0.0001 + 2.0 + 4.25 + 10.0)).abs() < 1e-12);
    assert!((number(&value["constants"]["mass"]["value"]) - 0.25).abs() < 1e-12);
    assert_usage(
        &words(&format!("theory sphere --dim 3 --init file:{}", path(&file))),
        &["points of 2 numbers", "dim = 3"],
    );
}
