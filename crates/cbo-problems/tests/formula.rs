//! Formulas: values worked out by hand, built-in functions as a user would write them, and every mistake with its column.

use crate::samples;
use cbo::simd::{InstructionSet, available};
use cbo::{Objective, Rows, StepContext};
use cbo_problems::{Formula, Problem};
use std::f64::consts::{E, PI};

fn value(text: &str, x: &[f64]) -> f64 {
    Formula::new(text, x.len()).unwrap_or_else(|error| panic!("{text}: {error}")).value(x)
}

fn message(text: &str, dim: usize) -> String {
    Formula::new(text, dim).expect_err(text).to_string()
}

#[test]
fn operators_bind_as_in_mathematics() {
    let x = [3.0, 5.0];
    for (text, expected) in [
        ("1 + 2*3", 7.0),
        ("(1 + 2)*3", 9.0),
        ("10 - 4 - 3", 3.0),
        ("10 - (4 - 3)", 9.0),
        ("24/4/2", 3.0),
        ("24/(4/2)", 12.0),
        ("24/4*2", 12.0),
        ("2^3^2", 512.0),
        ("(2^3)^2", 64.0),
        ("-x[1]^2", -9.0),
        ("(-x[1])^2", 9.0),
        ("2^-2", 0.25),
        ("2*-x[1]", -6.0),
        ("--x[1]", 3.0),
        ("+x[1] - -x[2]", 8.0),
        ("-2^2^-1", -2f64.sqrt()),
        ("1 - x[1]/x[2]*2", 1.0 - 6.0 / 5.0),
        (".5 + 5. + 1e2 + 1E-1 + 2e+1", 125.6),
        ("2*e", 2.0 * E),
        ("pi*d", 2.0 * PI),
        ("x[d] - x[d-1]", 2.0),
        ("a = 2; b = a*x[1]; b^2 + b", 42.0),
    ] {
        let got = value(text, &x);
        assert!((got - expected).abs() <= 1e-15 * expected.abs(), "{text}: {got} {expected}");
    }
}

#[test]
fn reductions_run_over_coordinates_or_indices() {
    let x = [1.0, -2.0, 3.0, 4.0, 5.0, -6.0];
    for (text, expected) in [
        ("sum(x)", 5.0),
        ("prod(x)", 720.0),
        ("mean(x^2)", 91.0 / 6.0),
        ("max(x) - min(x)", 11.0),
        ("max(abs(x))", 6.0),
        ("sum(i*x)", 1.0 - 4.0 + 9.0 + 16.0 + 25.0 - 36.0),
        ("sum(x^i)", 1.0 + 4.0 + 27.0 + 256.0 + 3125.0 + 46656.0),
        ("sum(i, 2, 4, x[i])", 5.0),
        ("prod(i, 1, d/2, x[2*i])", 48.0),
        ("mean(k, 3, d, x[k])", 1.5),
        ("max(i, 1, d-1, x[i+1] - x[i])", 5.0),
        ("min(i, 1, d, x[d-i+1])", -6.0),
        ("max(x[1], x[2], 2)", 2.0),
        ("min(1, x[2])", -2.0),
        ("sum(i, 3, 2, x[100])", 0.0),
        ("prod(i, 3, 2, x[i])", 1.0),
        ("sum(i, 1, d, sum(j, 1, i, x[j])^2)", 1.0 + 1.0 + 4.0 + 36.0 + 121.0 + 25.0),
        ("sum((x - mean(x))^2)", 91.0 - 25.0 / 6.0),
        ("sum(x*sum(x))", 25.0),
        ("sum(i, 1, d, sum(j, 1, d, x[i]*x[j]))", 25.0),
        ("sum(i, 1, 3, sum(j, 1, 2, 10*i + j))", 129.0),
        ("sum(i, 1, 2, sum(j, 1, 2, x[2*i + j]))", 3.0 + 4.0 + 5.0 - 6.0),
        ("n = 3; sum(i, 1, n, x[n + i])", 3.0),
        ("sum(3)", 18.0),
        ("sum(i, 1, floor(d/4), x[i])", 1.0),
    ] {
        // One that would be out of range, were it not for an empty sum, is left out of the sum and so is refused.
        if text.contains("100") {
            assert!(message(text, 6).contains("x[100]"));
            continue;
        }
        let got = value(text, &x);
        assert!((got - expected).abs() <= 1e-14 * expected.abs().max(1.0), "{text}: {got} {expected}");
    }
}

/// Each against the standard library, within a few roundings of the functions that it is made of.
#[test]
fn functions_are_accurate() {
    type Case = (&'static str, fn(f64) -> f64, f64, f64, f64);
    let cases: [Case; 16] = [
        ("sin(x[1])", f64::sin, -20.0, 20.0, 1e-15),
        ("cos(x[1])", f64::cos, -20.0, 20.0, 1e-15),
        ("tan(x[1])", f64::tan, -1.5, 1.5, 1e-14),
        ("sinh(x[1])", f64::sinh, -30.0, 30.0, 4e-15),
        ("sinh(x[1])", f64::sinh, -1e-3, 1e-3, 1e-18),
        ("cosh(x[1])", f64::cosh, -30.0, 30.0, 4e-15),
        ("tanh(x[1])", f64::tanh, -30.0, 30.0, 1e-15),
        ("tanh(x[1])", f64::tanh, -1e-3, 1e-3, 1e-18),
        ("exp(x[1])", f64::exp, -30.0, 30.0, 2e-15),
        ("ln(x[1])", f64::ln, 1e-9, 1e9, 2e-15),
        ("log(x[1])", f64::ln, 1e-9, 1e9, 2e-15),
        ("log2(x[1])", f64::log2, 1e-9, 1e9, 2e-15),
        ("log10(x[1])", f64::log10, 1e-9, 1e9, 2e-15),
        ("sqrt(x[1])", f64::sqrt, 0.0, 9.0, 0.0),
        ("x[1]^0.3", |x| x.powf(0.3), 0.0, 9.0, 4e-15),
        ("sin(2*pi*x[1])", |x| (2.0 * PI * x).sin(), -3.0, 3.0, 1e-14),
    ];
    for (text, expected, low, high, allowed) in cases {
        let formula = Formula::new(text, 1).unwrap();
        let points: Vec<f64> = (0..=1000).map(|k| low + (high - low) * f64::from(k) / 1000.0).collect();
        for set in available() {
            for (x, got) in points.iter().zip(double(&formula, set, &points)) {
                let expected = expected(*x);
                // Relative where values are large, and where the interval is so small that absolute errors would say nothing.
                let size = if high <= 1e-3 { 1.0 } else { expected.abs().max(1.0) };
                assert!((got - expected).abs() <= allowed * size, "{text} {set:?} {x}: {got} {expected}");
                assert!((formula.value(&[*x]) - expected).abs() <= allowed * size, "{text} {x}");
            }
        }
    }
    for (text, expected) in
        [("sign(x[1])", [-1.0, 0.0, 1.0]), ("floor(x[1])", [-3.0, 0.0, 2.0]), ("round(x[1])", [-2.0, 0.0, 2.0])]
    {
        for (x, expected) in [-2.5, 0.0, 2.5].into_iter().zip(expected) {
            assert_eq!(value(text, &[x]), expected, "{text} {x}");
        }
    }
}

#[test]
fn powers_of_negative_numbers_are_those_of_whole_and_half_exponents() {
    let x = [-2.0];
    assert_eq!(value("x[1]^3", &x), -8.0);
    assert_eq!(value("x[1]^-3", &x), -0.125);
    assert_eq!(value("x[1]^0", &x), 1.0);
    assert!(value("x[1]^0.5", &x).is_nan());
    assert!(value("x[1]^0.3", &x).is_nan());
    assert_eq!(value("x[1]^2.5", &[4.0]), 32.0);
    assert_eq!(value("x[1]^-0.5", &[4.0]), 0.5);
    assert!((value("2^x[1]", &[3.0]) - 8.0).abs() < 1e-14);
    assert!((value("x[1]^x[2]", &[3.0, 2.0]) - 9.0).abs() < 1e-13);
}

#[test]
fn nan_and_infinity_come_through() {
    let nan = [f64::NAN, 1.0];
    for text in [
        "sum(x)",
        "max(x)",
        "min(x)",
        "max(x[1], x[2])",
        "max(x[2], x[1])",
        "min(x[2], x[1], 3)",
        "sign(x[1])",
        "tanh(x[1])",
    ] {
        assert!(value(text, &nan).is_nan(), "{text}");
        let formula = Formula::new(text, 2).unwrap();
        for set in available() {
            assert!(double(&formula, set, &nan)[0].is_nan(), "{text} {set:?}");
        }
    }
    assert_eq!(value("1/x[1]", &[0.0]), f64::INFINITY);
    assert_eq!(value("max(x)", &[f64::INFINITY, 1.0]), f64::INFINITY);
    assert!(value("ln(x[1])", &[-1.0]).is_nan());
    assert_eq!(value("-ln(x[1])", &[0.0]), f64::INFINITY);
}

fn double(objective: &Formula, set: InstructionSet, points: &[f64]) -> Vec<f64> {
    let mut energies = vec![f64::NAN; points.len() / objective.dim()];
    objective.energies_on(set, Rows::new(points, objective.dim()), &mut energies);
    energies
}

fn single(objective: &Formula, set: InstructionSet, points: &[f32]) -> Vec<f32> {
    let mut energies = vec![f32::NAN; points.len() / objective.dim()];
    objective.energies_on(set, Rows::new(points, objective.dim()), &mut energies);
    energies
}

/// Built-in functions as a user would write them.
const BUILT_IN: [(&str, &str); 16] = [
    ("sphere", "sum(x^2)"),
    ("rastrigin", "sum(x^2 + 2.5*(1 - cos(2*pi*x)))"),
    ("rosenbrock", "sum(i, 1, d-1, 100*(x[i+1] - x[i]^2)^2 + (1 - x[i])^2)"),
    ("ackley", "-20*exp(-0.2*sqrt(mean(x^2))) - exp(mean(cos(2*pi*x))) + 20 + e"),
    ("griewank", "sum(x^2)/4000 - prod(cos(x/sqrt(i))) + 1"),
    (
        "levy",
        "w = 1 + (x[1] - 1)/4; v = 1 + (x[d] - 1)/4; sin(pi*w)^2 + (v - 1)^2*(1 + sin(2*pi*v)^2) + \
      sum(i, 1, d-1, ((x[i] - 1)/4)^2*(1 + 10*sin(pi*(1 + (x[i] - 1)/4) + 1)^2))",
    ),
    ("salomon", "r = sqrt(sum(x^2)); 1 - cos(2*pi*r) + 0.1*r"),
    ("zakharov", "s = sum(0.5*i*x); sum(x^2) + s^2 + s^4"),
    ("dixon-price", "(x[1] - 1)^2 + sum(i, 2, d, i*(2*x[i]^2 - x[i-1])^2)"),
    ("sum-of-squares", "sum(i*x^2)"),
    ("styblinski-tang", "sum(x^4 - 16*x^2 + 5*x)/2"),
    ("alpine-1", "sum(abs(x*sin(x) + 0.1*x))"),
    ("ellipsoid", "sum(10^(6*(i-1)/(d-1))*x^2)"),
    ("beale", "(1.5 - x[1] + x[1]*x[2])^2 + (2.25 - x[1] + x[1]*x[2]^2)^2 + (2.625 - x[1] + x[1]*x[2]^3)^2"),
    ("himmelblau", "(x[1]^2 + x[2] - 11)^2 + (x[1] + x[2]^2 - 7)^2"),
    ("three-hump-camel", "2*x[1]^2 - 1.05*x[1]^4 + x[1]^6/6 + x[1]*x[2] + x[2]^2"),
];

/// Within 1e-12 (2e-4 in single precision) of the size of the terms, on all instruction sets; and these agree to the bit.
#[test]
fn built_in_functions_as_formulas_have_the_same_values() {
    for (name, text) in BUILT_IN {
        // Dimensions around the numbers of terms that are computed side by side.
        for dim in [2, 3, 4, 5, 7, 8, 9, 20, 33] {
            let problem = match Problem::named(name, dim) {
                Ok(problem) => problem,
                Err(_) => continue,
            };
            let formula = Formula::new(text, dim).unwrap_or_else(|error| panic!("{name}: {error}"));
            let points = samples::uniform(&problem, 37, 3);
            let rounded: Vec<f32> = points.iter().map(|v| *v as f32).collect();
            let scale = points.chunks(dim).map(|x| problem.value(x).abs()).fold(1.0, f64::max);
            let portable = double(&formula, InstructionSet::PORTABLE, &points);
            let portable_single = single(&formula, InstructionSet::PORTABLE, &rounded);
            for (x, energy) in points.chunks(dim).zip(&portable) {
                let expected = problem.value(x);
                assert!((energy - expected).abs() <= 1e-12 * scale, "{name} {dim} {x:?}: {energy} {expected}");
                let plain = formula.value(x);
                assert!((plain - expected).abs() <= 1e-12 * scale, "{name} {dim} {x:?}: {plain} {expected}");
            }
            for (x, energy) in rounded.chunks(dim).zip(&portable_single) {
                let x: Vec<f64> = x.iter().map(|v| f64::from(*v)).collect();
                let expected = problem.value(&x);
                assert!(
                    (f64::from(*energy) - expected).abs() <= 2e-4 * scale,
                    "{name} {dim} {x:?}: {energy} {expected}"
                );
            }
            for set in available() {
                assert_eq!(double(&formula, set, &points), portable, "{name} {dim} {set:?}");
                assert_eq!(single(&formula, set, &rounded), portable_single, "{name} {dim} {set:?}");
            }
        }
    }
}

/// By differences, within what rounding and the third derivative do to them.
#[test]
fn gradients_are_those_of_the_built_in_functions() {
    for (name, text) in BUILT_IN {
        let dim = Problem::builder(name).build().map_or(5, |problem| problem.dim());
        let (problem, formula) = (Problem::named(name, dim).unwrap(), Formula::new(text, dim).unwrap());
        for x in samples::uniform(&problem, 10, 5).chunks(dim) {
            let (mut ours, mut theirs) = (vec![0.0; dim], vec![0.0; dim]);
            formula.gradient(x, &mut ours);
            problem.gradient(x, &mut theirs);
            let size = theirs.iter().fold(1.0f64, |most, v| most.max(v.abs()));
            for (a, b) in ours.iter().zip(&theirs) {
                assert!((a - b).abs() <= 1e-9 * size, "{name} {x:?}: {ours:?} {theirs:?}");
            }
        }
    }
}

#[test]
fn a_row_does_not_feel_its_neighbours() {
    let formula = Formula::new("sum(sin(x)*x^i) + exp(min(x)) + x[1]^x[2]", 6).unwrap();
    let problem = Problem::named("sphere", 6).unwrap();
    let mut points = samples::uniform(&problem, 40, 6);
    points[7 * 6] = 3e7;
    points[33 * 6] = f64::INFINITY;
    for set in available() {
        let all = double(&formula, set, &points);
        for (row, x) in points.chunks(6).enumerate() {
            assert_eq!(double(&formula, set, x)[0].to_bits(), all[row].to_bits(), "{set:?} row {row}");
        }
    }
}

#[test]
fn rows_that_do_not_fit_are_errors() {
    let formula = Formula::new("sum(x)", 3).unwrap();
    let mut out = [0.0; 2];
    assert!(formula.energies(StepContext::default(), Rows::new(&[0.0; 4], 2), &mut out).is_err());
    assert!(formula.energies(StepContext::default(), Rows::new(&[0.0; 9], 3), &mut out).is_err());
    formula.energies(StepContext::default(), Rows::new(&[], 3), &mut [0.0f64; 0]).unwrap();
}

/// Every mistake: the formula in three dimensions, and the whole message.
#[test]
fn every_mistake_is_named_with_its_column() {
    for (text, expected) in [
        ("", "formula: it is empty; write one such as sum(x^2)"),
        (" \n ", "formula: it is empty; write one such as sum(x^2)"),
        ("sum(con(x))", "formula, column 5: unknown function `con`; did you mean `cos`?"),
        ("sum(x) + con", "formula, column 10: unknown name `con`; did you mean `cos`?"),
        ("sum(x) + zzzzzz", "formula, column 10: unknown name `zzzzzz`"),
        ("alpha = 2; alhpa*sum(x)", "formula, column 12: unknown name `alhpa`; did you mean `alpha`?"),
        ("pow(x[1], 2)", "formula, column 1: unknown function `pow`; did you mean `^`?"),
        ("x1 + x[2]", "formula, column 1: unknown name `x1`; did you mean `x[1]`?"),
        ("1 + x_2", "formula, column 5: unknown name `x_2`; did you mean `x[2]`?"),
        ("sum(x^2", "formula, column 8: expected an operator, `,` or `)`, found the end"),
        ("(1 + x[1]", "formula, column 10: expected an operator or `)`, found the end"),
        ("x[1", "formula, column 4: expected an operator or `]`, found the end"),
        ("1 +", "formula, column 4: expected a number, a name or `(`, found the end"),
        ("1 + * 2", "formula, column 5: expected a number, a name or `(`, found `*`"),
        ("x[1])", "formula, column 5: expected an operator or the end, found `)`"),
        ("2x[1]", "formula, column 2: an operator is missing before `x`; a product is written a*b"),
        ("2 3", "formula, column 3: an operator is missing before the number 3; a product is written a*b"),
        ("(1)(2)", "formula, column 4: an operator is missing before `(`; a product is written a*b"),
        ("x[1]**2", "formula, column 5: `**` is not an operator; a power is written a^b"),
        ("x[1] \u{2212} 1", "formula, column 6: unexpected character `\u{2212}`; minus is -"),
        ("|x[1]|", "formula, column 1: unexpected character `|`; the absolute value is abs(x)"),
        ("1 \u{1b} 2", "formula, column 3: unexpected character `\\u{1b}`"),
        ("1e999", "formula, column 1: `1e999` is not a number that can be represented; it must be at most 1.8e308"),
        (".", "formula, column 1: `.` is not a number that can be represented; it must be at most 1.8e308"),
        ("cos + 1", "formula, column 1: `cos` is a function; write cos(...)"),
        ("sum", "formula, column 1: `sum` is a function; write sum(...)"),
        ("x(1)", "formula, column 1: `x` is not a function; coordinates are x[1], and a product is written a*b"),
        ("y[1]", "formula, column 1: only x has coordinates: x[1], not y[...]"),
        ("sin(1, 2)", "formula, column 1: sin takes one argument, not 2 arguments"),
        ("sin()", "formula, column 1: sin takes one argument, not 0 arguments"),
        (
            "sum(1, 2)",
            "formula, column 1: sum takes one argument, sum(EXPRESSION), or four, sum(i, FROM, TO, EXPRESSION), not 2 arguments",
        ),
        (
            "max()",
            "formula, column 1: max takes max(EXPRESSION), max(i, FROM, TO, EXPRESSION) or max(a, b), not 0 arguments",
        ),
        ("sum(2, 1, 3, x[1])", "formula, column 5: the index of sum must be a name: sum(i, FROM, TO, EXPRESSION)"),
        ("sum(d, 1, 3, x[1])", "formula, column 5: `d` already has a meaning; choose another name"),
        ("pi = 3; sum(x)", "formula, column 1: `pi` already has a meaning; choose another name"),
        ("a = 1; a = 2; sum(x)", "formula, column 8: `a` already has a meaning; choose another name"),
        (
            "sum(i, 1, d, sum(i, 1, d, x[i]))",
            "formula, column 14: `i` is already the index of an outer sum; choose another name",
        ),
        (
            "sum(i, 1, d, sum(i*x))",
            "formula, column 18: `i` is the index of an outer sum and the number of the coordinate here; give the outer index another name",
        ),
        (
            "1 + x",
            "formula, column 5: x stands for each coordinate only within sum, prod, mean, min or max of one argument; elsewhere write x[1]",
        ),
        ("x[x[1]]", "formula, column 3: an index must not depend on x; it is a whole number such as i, i+1 or 2*i-1"),
        (
            "sum(i, 1, sum(x), x[i])",
            "formula, column 11: a bound of a sum must not depend on x; it is a whole number such as i, i+1 or 2*i-1",
        ),
        (
            "x[1.5]",
            "formula, column 3: an index is 1.5; it must be a whole number of at most 1e9, such as i, i+1, 2*i-1 or d-i",
        ),
        (
            "sum(i, 1, d, x[i*i])",
            "formula, column 16: an index is i*i; it must be a whole number of at most 1e9, such as i, i+1, 2*i-1 or d-i",
        ),
        ("x[0]", "formula, column 1: x[0], but in dimension 3 the coordinates are x[1] to x[3]"),
        ("x[d+1]", "formula, column 1: x[d + 1] is x[4], but in dimension 3 the coordinates are x[1] to x[3]"),
        (
            "sum(i, 1, d, x[i+1]^2)",
            "formula, column 14: x[i + 1] is x[4], but in dimension 3 the coordinates are x[1] to x[3]",
        ),
        (
            "sum(i, 1, d, sum(j, 1, i, x[i - j]))",
            "formula, column 27: x[i - j] is x[0], but in dimension 3 the coordinates are x[1] to x[3]",
        ),
        ("max(i, 2, 1, x[i])", "formula, column 1: max has no terms: it runs from 2 to 1 with dim = 3"),
        (
            "sum(i, 1e9, 1e9, sum(j, 2*i, 2*i, 1))",
            "formula, column 18: the bounds 2000000000 and 2000000000 of sum are too large; they must lie between -1e9 and 1e9",
        ),
        ("a = 2", "formula, column 6: expected `;` after the value of a name, or an operator, found the end"),
        ("sum(x);", "formula, column 7: expected the end: only definitions, a = 2, end with `;`, found `;`"),
        (
            "2 = a; sum(x)",
            "formula, column 3: expected a name before `=`, and definitions before the formula, found `=`",
        ),
    ] {
        assert_eq!(message(text, 3), expected, "{text}");
    }
    let given = |name: &str| Formula::with_constants("sum(x)", 3, &[(name.into(), 1.0)]).unwrap_err().to_string();
    assert_eq!(given("x"), "formula: `x` already has a meaning; choose another name");
    assert_eq!(
        given("2a"),
        "formula: `2a` is not a name; it must be made of letters, digits and _, and begin with a letter"
    );
    assert_eq!(message("sum(x)", 0), "formula: dim = 0: a formula needs at least one coordinate");
}

#[test]
fn hostile_texts_end_soon_with_a_message() {
    let deep = |count: usize| "(".repeat(count) + "x[1]" + &")".repeat(count);
    // The index of x[1] is one deeper than x[1] itself.
    assert_eq!(value(&deep(98), &[2.0]), 2.0);
    assert!(message(&deep(99), 1).contains("nested more than 100 deep"));
    assert!(message(&deep(30_000), 1).contains("nested more than 100 deep"));
    assert!(message(&"-".repeat(60_000), 1).contains("nested more than 100 deep"));
    assert!(message(&("2^".repeat(30_000) + "2"), 1).contains("nested more than 100 deep"));
    assert!(message(&"1+".repeat(40_000), 1).contains("80000 bytes; at most 65536"));
    // A long sum is not a deep one.
    assert_eq!(value(&("x[1]".to_string() + &"+x[1]".repeat(10_000)), &[1.0]), 10_001.0);
    assert!(message(&"a".repeat(61), 1).contains("at most 60 letters"));
    let nested = |count: usize| {
        let names: Vec<String> = (0..count).map(|k| format!("i{k}")).collect();
        names.iter().map(|name| format!("sum({name}, 1, 1, ")).collect::<String>() + "x[1]" + &")".repeat(count)
    };
    assert_eq!(value(&nested(8), &[3.0]), 3.0);
    assert!(message(&nested(9), 1).contains("more than 8 sums"));
    assert!(message("sum(i, 1, 1e9, x[1]*i)", 1).contains("more than 1e8 operations"));
    assert!(message("sum(i, 1, 1e5, sum(j, 1, 1e5, i*j*x[1]))", 1).contains("more than 1e8 operations"));
    assert!(
        message("sum(i, 1, 1e5, sum(j, 1, 1e5, sum(k, 2, 1, i*j*k*x[1])))", 1).contains("more than 1e8 operations")
    );
    // Tables of numbers are no larger than the work.
    assert_eq!(value("sum(i, 1, 2, sum(j, 4e8*i, 4e8*i, j*x[1]))", &[1.0]), 12e8);
}

/// What does not depend on an index is computed before its sum: a mean within a sum costs one pass, not one for each term.
#[test]
fn invariants_leave_their_sums() {
    let operations = |text: &str| Formula::new(text, 1000).unwrap().operations();
    assert!(operations("sum((x - mean(x))^2)") < 10_000);
    assert!(operations("sum(i, 1, d, sum(j, 1, d, x[i]*x[j]))") > 2_000_000);
}

/// A tree with a value of its own: plain recursion, against which the walk over registers is held.
#[derive(Clone, Debug)]
enum Plain {
    Number(u32),
    Coordinate(u32),
    /// The index of the sum so many sums outwards.
    Index(usize),
    CoordinateAt(usize),
    Negate(Box<Plain>),
    Binary(char, Box<Plain>, Box<Plain>),
    Call(&'static str, Box<Plain>),
    Reduce(&'static str, Box<Plain>),
}

const DIM: usize = 7;

impl Plain {
    fn text(&self, depth: usize) -> String {
        let name = |outwards: &usize| format!("k{}", depth - 1 - outwards % depth);
        match self {
            Self::Number(value) => format!("{value}"),
            Self::Coordinate(index) => format!("x[{}]", *index as usize % DIM + 1),
            Self::Index(_) if depth == 0 => "2.5".into(),
            Self::CoordinateAt(_) if depth == 0 => "x[d]".into(),
            Self::Index(outwards) => name(outwards),
            Self::CoordinateAt(outwards) => format!("x[d + 1 - {}]", name(outwards)),
            Self::Negate(inner) => format!("-({})", inner.text(depth)),
            Self::Binary(operator, a, b) => format!("({}){operator}({})", a.text(depth), b.text(depth)),
            Self::Call(name, inner) => format!("{name}({})", inner.text(depth)),
            Self::Reduce(name, body) => format!("{name}(k{depth}, 1, d, {})", body.text(depth + 1)),
        }
    }

    fn value(&self, x: &[f64], indices: &mut Vec<usize>) -> f64 {
        let index = |indices: &[usize], outwards: &usize| indices[indices.len() - 1 - outwards % indices.len()];
        match self {
            Self::Number(value) => f64::from(*value),
            Self::Coordinate(index) => x[*index as usize % DIM],
            Self::Index(_) if indices.is_empty() => 2.5,
            Self::CoordinateAt(_) if indices.is_empty() => x[DIM - 1],
            Self::Index(outwards) => index(indices, outwards) as f64,
            Self::CoordinateAt(outwards) => x[DIM - index(indices, outwards)],
            Self::Negate(inner) => -inner.value(x, indices),
            Self::Binary(operator, a, b) => {
                let (a, b) = (a.value(x, indices), b.value(x, indices));
                match operator {
                    '+' => a + b,
                    '-' => a - b,
                    '*' => a * b,
                    _ => a / b,
                }
            }
            Self::Call(name, inner) => {
                let inner = inner.value(x, indices);
                match *name {
                    "abs" => inner.abs(),
                    _ => inner.floor(),
                }
            }
            Self::Reduce(name, body) => {
                let terms: Vec<f64> = (1..=DIM)
                    .map(|k| {
                        indices.push(k);
                        let term = body.value(x, indices);
                        indices.pop();
                        term
                    })
                    .collect();
                match *name {
                    "sum" => terms.iter().fold(0.0, |a, b| a + b),
                    "prod" => terms.iter().product(),
                    "mean" => terms.iter().fold(0.0, |a, b| a + b) / DIM as f64,
                    "min" => terms.iter().copied().fold(f64::INFINITY, f64::min),
                    _ => terms.iter().copied().fold(f64::NEG_INFINITY, f64::max),
                }
            }
        }
    }
}

fn plain() -> impl proptest::strategy::Strategy<Value = Plain> {
    use proptest::prelude::*;
    let leaf = prop_oneof![
        (0..10u32).prop_map(Plain::Number),
        (0..7u32).prop_map(Plain::Coordinate),
        (0..3usize).prop_map(Plain::Index),
        (0..3usize).prop_map(Plain::CoordinateAt),
    ];
    leaf.prop_recursive(5, 24, 2, |inner| {
        let operator = prop::sample::select(vec!['+', '-', '*', '/']);
        let reduction = prop::sample::select(vec!["sum", "prod", "mean", "min", "max"]);
        prop_oneof![
            inner.clone().prop_map(|a| Plain::Negate(Box::new(a))),
            (operator, inner.clone(), inner.clone()).prop_map(|(o, a, b)| Plain::Binary(o, Box::new(a), Box::new(b))),
            (prop::sample::select(vec!["abs", "floor"]), inner.clone())
                .prop_map(|(name, a)| Plain::Call(name, Box::new(a))),
            (reduction, inner).prop_map(|(name, a)| Plain::Reduce(name, Box::new(a))),
        ]
    })
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig { failure_persistence: None, ..proptest::prelude::ProptestConfig::with_cases(500) })]

    /// What is printed reads as the same formula, and has the value of the tree, whatever left its sum on the way.
    #[test]
    fn random_trees_print_parse_and_evaluate(tree in plain(), seed in 0..1000u64) {
        let text = tree.text(0);
        let Ok(formula) = Formula::new(&text, DIM) else { return Ok(()) };
        let again = Formula::new(&formula.to_string(), DIM).unwrap();
        proptest::prop_assert_eq!(&again, &formula);
        proptest::prop_assert_eq!(again.to_string(), formula.to_string());
        let x: Vec<f64> = (0..DIM as u64).map(|k| ((seed * 31 + k * 17) % 23) as f64 / 4.0 - 2.5).collect();
        let (expected, got) = (tree.value(&x, &mut Vec::new()), formula.value(&x));
        // The smallest and largest of NaN are NaN in a formula, and another number in the standard library.
        if expected.is_finite() && got.is_finite() {
            proptest::prop_assert!((got - expected).abs() <= 1e-9 * expected.abs().max(1.0), "{}: {} {}", text, got, expected);
        }
        for set in available() {
            let lanes = double(&formula, set, &x)[0];
            proptest::prop_assert!(lanes.to_bits() == got.to_bits() || lanes.is_nan() && got.is_nan(), "{text}: {lanes} {got}");
        }
    }
}
