//! Names, dimensions, parameters: what is accepted, and what the messages say.

use cbo_problems::{Constraint, Dims, Problem, ProblemBuilder, ProblemError, Shift, all, constraints, find};
use std::path::Path;

fn message(builder: ProblemBuilder) -> String {
    builder.build().unwrap_err().to_string()
}

#[test]
fn the_list_is_complete_sorted_and_well_formed() {
    let list = all();
    assert!(list.len() >= 41);
    assert!(list.windows(2).all(|pair| pair[0].name < pair[1].name));
    for info in list {
        assert!(info.name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-'), "{}", info.name);
        assert!(info.domain.iter().all(|(low, high)| low < high), "{}", info.name);
        let pairs = info.domain.len();
        assert!(pairs == 1 || info.dims == Dims::Exactly(pairs), "{}", info.name);
        for text in [info.title, info.formula, info.optimum, info.source] {
            assert!(!text.is_empty(), "{}", info.name);
        }
        for p in info.parameters {
            assert!((p.least..=p.most).contains(&p.default), "{}", info.name);
        }
    }
}

/// The head of each file says what the list says.
#[test]
fn documentation_agrees_with_the_list() {
    for info in all() {
        let file = format!("src/functions/{}.rs", info.name.replace('-', "_"));
        let source = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(&file)).unwrap();
        let head: Vec<&str> = source.lines().map_while(|line| line.strip_prefix("//!")).collect();
        let head = head.join(" ").split_whitespace().collect::<Vec<_>>().join(" ");
        let dims = format!("dimensions: {}", info.dims);
        for text in [&format!("{}: ", info.title), info.formula, info.optimum, info.source, &dims] {
            assert!(head.contains(text), "{file} does not say: {text}");
        }
        let constraints = constraints(info.name).unwrap();
        assert_eq!(head.matches("- constraint: ").count(), constraints.len(), "{file}");
        for text in constraints {
            assert!(head.contains(&format!("- constraint: `{text}`")), "{file} does not say: {text}");
        }
    }
}

#[test]
fn names_are_found_however_they_are_written() {
    for info in all() {
        let name = info.name;
        for written in [name.to_string(), name.replace('-', "_"), name.replace('-', ""), name.to_uppercase()] {
            assert_eq!(find(&written), Ok(info));
        }
    }
}

#[test]
fn unknown_names_come_with_the_nearest_one() {
    let text = message(Problem::builder("rastrign").dim(2));
    assert_eq!(text, "unknown function `rastrign`; did you mean `rastrigin`?");
    assert_eq!(message(Problem::builder("Rosenbrok")), "unknown function `Rosenbrok`; did you mean `rosenbrock`?");
    assert_eq!(message(Problem::builder("qqqq")), "unknown function `qqqq`");
    assert_eq!(find(""), Err(ProblemError::UnknownFunction { name: "".into(), nearest: None }));
}

#[test]
fn dimensions_are_checked() {
    let text = |name, dim| message(Problem::builder(name).dim(dim));
    assert_eq!(text("himmelblau", 3), "himmelblau is defined in 2 dimensions, not 3");
    assert_eq!(text("rosenbrock", 1), "rosenbrock needs at least 2 dimensions, not 1");
    assert_eq!(text("sphere", 0), "dimension 0 of sphere is too small; it needs at least 1");
    assert_eq!(message(Problem::builder("sphere")), "sphere needs a dimension (dim): any");
    assert_eq!(Problem::builder("shekel").build().unwrap().dim(), 4);
    assert_eq!(find("shekel").unwrap().default_dim(), Some(4));
    assert_eq!(find("sphere").unwrap().default_dim(), None);
}

#[test]
fn parameters_are_checked() {
    let with = |function: &str, name: &str, value| Problem::builder(function).dim(2).parameter(name, value);
    assert_eq!(message(with("sphere", "amplitude", 1.0)), "sphere has no parameter `amplitude`; it has none");
    assert_eq!(message(with("rastrigin", "height", 1.0)), "rastrigin has no parameter `height`; it has `amplitude`");
    for value in [f64::NAN, f64::INFINITY, -1.0] {
        let expected = format!("parameter `amplitude` of rastrigin is {value}; it must be a number from 0 to 1e12");
        assert_eq!(message(with("rastrigin", "amplitude", value)), expected);
    }
    let problem = with("rastrigin", "amplitude", 10.0).build().unwrap();
    assert_eq!(problem.value(&[0.5, 0.0]), 20.25);
    assert_eq!(Problem::named("rastrigin", 2).unwrap().value(&[0.5, 0.0]), 5.25);
    let problem = with("ellipsoid", "condition", 100.0).build().unwrap();
    assert_eq!(problem.value(&[1.0, 1.0]), 101.0);
}

#[test]
fn shifts_are_checked() {
    let shifted = |name: &str, shift: Shift| Problem::builder(name).dim(2).shift(shift);
    let text = message(shifted("sphere", Shift::Each(vec![1.0, 2.0, 3.0])));
    assert_eq!(text, "shift has 3 coordinates, but sphere has 2; give 2 numbers, or one number for all");
    let text = message(shifted("sphere", Shift::Each(vec![1.0, f64::NAN])));
    assert_eq!(text, "shift is NaN in x2; it must be finite");
    let text = message(shifted("eggholder", 1.0.into()));
    assert_eq!(
        text,
        "shift 1 in x1 takes the minimiser of eggholder out of its domain; it must lie between -1024 and 0 there"
    );
    assert!(shifted("eggholder", (-100.0).into()).build().is_ok());
}

#[test]
fn descriptions_name_every_choice() {
    let plain = Problem::named("hartmann6", 6).unwrap();
    assert_eq!((plain.name(), plain.description()), ("hartmann-6", "hartmann-6"));
    let builder = Problem::builder("rastrigin").dim(2);
    let describe = |builder: ProblemBuilder| builder.build().unwrap().description().to_string();
    assert_eq!(describe(builder.clone()), "rastrigin (amplitude 2.5)");
    assert_eq!(describe(builder.clone().shift(1.0)), "rastrigin (amplitude 2.5), shifted by 1");
    assert_eq!(
        describe(builder.clone().shift(vec![1.0, 2.0]).rotate(3)),
        "rastrigin (amplitude 2.5), shifted, rotated (seed 3)"
    );
    assert_eq!(describe(builder.shift(Shift::Random(5))), "rastrigin (amplitude 2.5), shifted (seed 5)");
}

#[test]
fn constraints_are_read_and_written() {
    let close = |a: f64, b: f64| (a - b).abs() < 1e-12;
    // Text, as it is written, and how far (3, 4) violates it.
    for (text, written, violation) in [
        ("ball:2", "ball:2", 3.0),
        ("ball:5", "ball:5", 0.0),
        ("hole:6.5", "hole:6.5", 1.5),
        ("hole:1e-3", "hole:0.001", 0.0),
        ("ring: 0, 4", "ring:0,4", 1.0),
        ("ring:4,6", "ring:4,6", 0.0),
        ("sphere:5", "sphere:5", 0.0),
        ("sphere:4", "sphere:4", 1.0 - 1e-6),
        ("sum<=6", "sum<=6", 1.0),
        (" sum >= -7.5 ", "sum>=-7.5", 0.0),
        ("sum>=8", "sum>=8", 1.0),
        ("sum=7", "sum=7", 0.0),
        ("sum=9", "sum=9", 2.0 - 1e-6),
    ] {
        let constraint: Constraint = text.parse().unwrap();
        assert_eq!(constraint.to_string(), written);
        assert_eq!(written.parse(), Ok(constraint));
        assert!(close(constraint.violation(&[3.0, 4.0]), violation), "{text}");
    }
}

#[test]
fn constraints_that_make_no_sense_say_what_would() {
    for (text, remedy) in [
        ("", "give ball:R, hole:R"),
        ("cube:1", "give ball:R, hole:R"),
        ("ball", "give ball:R, hole:R"),
        ("ball:", "one radius, a positive number"),
        ("ball:-1", "one radius, a positive number"),
        ("ball:0", "one radius, a positive number"),
        ("ball:nan", "one radius, a positive number"),
        ("hole:1,2", "one radius, a positive number"),
        ("sphere:inf", "one radius, a positive number"),
        ("ring:1", "two radii R,S with 0 <= R < S"),
        ("ring:2,1", "two radii R,S with 0 <= R < S"),
        ("ring:1,1", "two radii R,S with 0 <= R < S"),
        ("sum<1", "sum<=C, sum>=C or sum=C"),
        ("sum<=x", "sum<=C, sum>=C or sum=C"),
        ("sum>=inf", "sum<=C, sum>=C or sum=C"),
    ] {
        let error = text.parse::<Constraint>().unwrap_err();
        assert!(error.to_string().starts_with(text) && error.to_string().contains(remedy), "{text}: {error}");
    }
}
