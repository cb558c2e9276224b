//! Each function against its formula as the literature prints it, written out plainly: the crate's own forms are often
//! rearranged for speed and accuracy.

use crate::samples;
use std::f64::consts::{E, PI};

fn sum(x: &[f64], term: impl Fn(f64, f64) -> f64) -> f64 {
    x.iter().enumerate().map(|(k, v)| term((k + 1) as f64, *v)).sum()
}

fn pairs(x: &[f64], term: impl Fn(f64, f64, f64) -> f64) -> f64 {
    x.windows(2).enumerate().map(|(k, w)| term((k + 1) as f64, w[0], w[1])).sum()
}

fn plain(name: &str, x: &[f64]) -> f64 {
    let d = x.len() as f64;
    let (a, b) = (x[0], *x.get(1).unwrap_or(&0.0));
    let radius = sum(x, |_, v| v * v).sqrt();
    match name {
        "ackley" => {
            let mean_cosine = sum(x, |_, v| (2.0 * PI * v).cos()) / d;
            -20.0 * (-0.2 * (radius * radius / d).sqrt()).exp() - mean_cosine.exp() + 20.0 + E
        }
        "alpine-1" => sum(x, |_, v| (v * v.sin() + 0.1 * v).abs()),
        "beale" => {
            let term = |c: f64, n: i32| (c - a + a * b.powi(n)).powi(2);
            term(1.5, 1) + term(2.25, 2) + term(2.625, 3)
        }
        "bukin-6" => 100.0 * (b - 0.01 * a * a).abs().sqrt() + 0.01 * (a + 10.0).abs(),
        "canyon" => {
            let ripples = 0.5 * (1.0 - (6.0 * PI * a).cos()) + 0.5 * (1.0 - (6.0 * PI * b).cos());
            a * a / 10.0 + (b - a * a / 8.0).powi(2) + ripples
        }
        "cross-in-tray" => {
            let inner = (a.sin() * b.sin() * (100.0 - radius / PI).abs().exp()).abs();
            -0.0001 * (inner + 1.0).powf(0.1)
        }
        "different-powers" => sum(x, |k, v| v.abs().powf(k + 1.0)),
        "dixon-price" => (a - 1.0).powi(2) + pairs(x, |k, v, w| (k + 1.0) * (2.0 * w * w - v).powi(2)),
        "drop-wave" => -(1.0 + (12.0 * radius).cos()) / (0.5 * radius * radius + 2.0),
        "easom" => -a.cos() * b.cos() * (-(a - PI).powi(2) - (b - PI).powi(2)).exp(),
        "eggholder" => -(b + 47.0) * (a / 2.0 + b + 47.0).abs().sqrt().sin() - a * (a - (b + 47.0)).abs().sqrt().sin(),
        "ellipsoid" => sum(x, |k, v| if d > 1.0 { 10f64.powf(6.0 * (k - 1.0) / (d - 1.0)) * v * v } else { v * v }),
        "g01" => 5.0 * sum(&x[..4], |_, v| v) - 5.0 * sum(&x[..4], |_, v| v * v) - sum(&x[4..], |_, v| v),
        "g04" => 5.3578547 * x[2].powi(2) + 0.8356891 * a * x[4] + 37.293239 * a - 40792.141,
        "g06" => (a - 10.0).powi(3) + (b - 20.0).powi(3),
        "g07" => {
            let squares =
                [(10.0, 1.0), (5.0, 4.0), (3.0, 1.0), (1.0, 2.0), (0.0, 5.0), (11.0, 7.0), (10.0, 2.0), (7.0, 1.0)];
            let bowl: f64 = x[2..].iter().zip(squares).map(|(v, (centre, height))| height * (v - centre).powi(2)).sum();
            a * a + b * b + a * b - 14.0 * a - 16.0 * b + bowl + 45.0
        }
        "g08" => -(2.0 * PI * a).sin().powi(3) * (2.0 * PI * b).sin() / (a.powi(3) * (a + b)),
        "g09" => {
            let first = (a - 10.0).powi(2) + 5.0 * (b - 12.0).powi(2) + x[2].powi(4) + 3.0 * (x[3] - 11.0).powi(2);
            let last = 7.0 * x[5].powi(2) + x[6].powi(4) - 4.0 * x[5] * x[6] - 10.0 * x[5] - 8.0 * x[6];
            first + 10.0 * x[4].powi(6) + last
        }
        "g10" => a + b + x[2],
        "g24" => -a - b,
        "goldstein-price" => {
            let first = 19.0 - 14.0 * a + 3.0 * a * a - 14.0 * b + 6.0 * a * b + 3.0 * b * b;
            let second = 18.0 - 32.0 * a + 12.0 * a * a + 48.0 * b - 36.0 * a * b + 27.0 * b * b;
            (1.0 + (a + b + 1.0).powi(2) * first) * (30.0 + (2.0 * a - 3.0 * b).powi(2) * second)
        }
        "griewank" => {
            let product: f64 = x.iter().enumerate().map(|(k, v)| (v / ((k + 1) as f64).sqrt()).cos()).product();
            radius * radius / 4000.0 - product + 1.0
        }
        "hartmann-6" => hartmann(x),
        "himmelblau" => (a * a + b - 11.0).powi(2) + (a + b * b - 7.0).powi(2),
        "holder-table" => -(a.sin() * b.cos() * (1.0 - radius / PI).abs().exp()).abs(),
        "levy" => {
            let w: Vec<f64> = x.iter().map(|v| 1.0 + (v - 1.0) / 4.0).collect();
            let (last, others) = w.split_last().unwrap();
            let middle = sum(others, |_, v| (v - 1.0).powi(2) * (1.0 + 10.0 * (PI * v + 1.0).sin().powi(2)));
            (PI * w[0]).sin().powi(2) + middle + (last - 1.0).powi(2) * (1.0 + (2.0 * PI * last).sin().powi(2))
        }
        "mccormick" => (a + b).sin() + (a - b).powi(2) - 1.5 * a + 2.5 * b + 1.0,
        "michalewicz" => -sum(x, |k, v| v.sin() * (k * v * v / PI).sin().powi(20)),
        "rastrigin" => sum(x, |_, v| v * v + 2.5 * (1.0 - (2.0 * PI * v).cos())),
        "rosenbrock" => pairs(x, |_, v, w| 100.0 * (w - v * v).powi(2) + (1.0 - v).powi(2)),
        "salomon" => 1.0 - (2.0 * PI * radius).cos() + 0.1 * radius,
        "schaffer-f6" => pairs(x, |_, v, w| {
            let square = v * v + w * w;
            0.5 + (square.sqrt().sin().powi(2) - 0.5) / (1.0 + 0.001 * square).powi(2)
        }),
        "schwefel" => 418.9828872724337 * d - sum(x, |_, v| v * v.abs().sqrt().sin()),
        "shekel" => shekel(x),
        "six-hump-camel" => (4.0 - 2.1 * a * a + a.powi(4) / 3.0) * a * a + a * b + (-4.0 + 4.0 * b * b) * b * b,
        "sphere" => sum(x, |_, v| v * v),
        "styblinski-tang" => 0.5 * sum(x, |_, v| v.powi(4) - 16.0 * v * v + 5.0 * v),
        "sum-of-squares" => sum(x, |k, v| k * v * v),
        "three-hump-camel" => 2.0 * a * a - 1.05 * a.powi(4) + a.powi(6) / 6.0 + a * b + b * b,
        "weierstrass" => {
            let wave =
                |v: f64| (0..=20).map(|j| 0.5f64.powi(j) * (2.0 * PI * 3f64.powi(j) * (v + 0.5)).cos()).sum::<f64>();
            sum(x, |_, v| wave(v)) - d * wave(0.0)
        }
        "xin-she-yang" => sum(x, |_, v| v.abs()) * (-sum(x, |_, v| (v * v).sin())).exp(),
        "zakharov" => {
            let weighted = sum(x, |k, v| 0.5 * k * v);
            radius * radius + weighted.powi(2) + weighted.powi(4)
        }
        other => panic!("write the formula of {other} here"),
    }
}

/// Coefficients by columns, as in the tables of Jamil and Yang; those of the crate are by rows.
fn shekel(x: &[f64]) -> f64 {
    let c = [0.1, 0.2, 0.2, 0.4, 0.4, 0.6, 0.3, 0.7, 0.5, 0.5];
    let a = [
        [4.0, 1.0, 8.0, 6.0, 3.0, 2.0, 5.0, 8.0, 6.0, 7.0],
        [4.0, 1.0, 8.0, 6.0, 7.0, 9.0, 5.0, 1.0, 2.0, 3.6],
        [4.0, 1.0, 8.0, 6.0, 3.0, 2.0, 3.0, 8.0, 6.0, 7.0],
        [4.0, 1.0, 8.0, 6.0, 7.0, 9.0, 3.0, 1.0, 2.0, 3.6],
    ];
    -(0..10).map(|i| 1.0 / (c[i] + (0..4).map(|k| (x[k] - a[k][i]).powi(2)).sum::<f64>())).sum::<f64>()
}

/// Centres as the whole numbers that the source prints, in units of 1/10000.
fn hartmann(x: &[f64]) -> f64 {
    let heights = [1.0, 1.2, 3.0, 3.2];
    let widths = [
        [10.0, 0.05, 3.0, 17.0],
        [3.0, 10.0, 3.5, 8.0],
        [17.0, 17.0, 1.7, 0.05],
        [3.5, 0.1, 10.0, 10.0],
        [1.7, 8.0, 17.0, 0.1],
        [8.0, 14.0, 8.0, 14.0],
    ];
    let centres = [
        [1312.0, 2329.0, 2348.0, 4047.0],
        [1696.0, 4135.0, 1451.0, 8828.0],
        [5569.0, 8307.0, 3522.0, 8732.0],
        [124.0, 3736.0, 2883.0, 5743.0],
        [8283.0, 1004.0, 3047.0, 1091.0],
        [5886.0, 9991.0, 6650.0, 381.0],
    ];
    let exponent = |i: usize| (0..6).map(|k| widths[k][i] * (x[k] - centres[k][i] / 1e4).powi(2)).sum::<f64>();
    -(0..4).map(|i| heights[i] * (-exponent(i)).exp()).sum::<f64>()
}

/// The constraints as the report of CEC 2006 prints them, each at most zero.
fn plain_constraints(name: &str, x: &[f64]) -> Vec<f64> {
    // Numbered from 1, as there.
    let x = |k: usize| x[k - 1];
    match name {
        "g01" => vec![
            2.0 * x(1) + 2.0 * x(2) + x(10) + x(11) - 10.0,
            2.0 * x(1) + 2.0 * x(3) + x(10) + x(12) - 10.0,
            2.0 * x(2) + 2.0 * x(3) + x(11) + x(12) - 10.0,
            -8.0 * x(1) + x(10),
            -8.0 * x(2) + x(11),
            -8.0 * x(3) + x(12),
            -2.0 * x(4) - x(5) + x(10),
            -2.0 * x(6) - x(7) + x(11),
            -2.0 * x(8) - x(9) + x(12),
        ],
        "g04" => vec![
            85.334407 + 0.0056858 * x(2) * x(5) + 0.0006262 * x(1) * x(4) - 0.0022053 * x(3) * x(5) - 92.0,
            -85.334407 - 0.0056858 * x(2) * x(5) - 0.0006262 * x(1) * x(4) + 0.0022053 * x(3) * x(5),
            80.51249 + 0.0071317 * x(2) * x(5) + 0.0029955 * x(1) * x(2) + 0.0021813 * x(3).powi(2) - 110.0,
            -80.51249 - 0.0071317 * x(2) * x(5) - 0.0029955 * x(1) * x(2) - 0.0021813 * x(3).powi(2) + 90.0,
            9.300961 + 0.0047026 * x(3) * x(5) + 0.0012547 * x(1) * x(3) + 0.0019085 * x(3) * x(4) - 25.0,
            -9.300961 - 0.0047026 * x(3) * x(5) - 0.0012547 * x(1) * x(3) - 0.0019085 * x(3) * x(4) + 20.0,
        ],
        "g06" => vec![
            -(x(1) - 5.0).powi(2) - (x(2) - 5.0).powi(2) + 100.0,
            (x(1) - 6.0).powi(2) + (x(2) - 5.0).powi(2) - 82.81,
        ],
        "g07" => vec![
            -105.0 + 4.0 * x(1) + 5.0 * x(2) - 3.0 * x(7) + 9.0 * x(8),
            10.0 * x(1) - 8.0 * x(2) - 17.0 * x(7) + 2.0 * x(8),
            -8.0 * x(1) + 2.0 * x(2) + 5.0 * x(9) - 2.0 * x(10) - 12.0,
            3.0 * (x(1) - 2.0).powi(2) + 4.0 * (x(2) - 3.0).powi(2) + 2.0 * x(3).powi(2) - 7.0 * x(4) - 120.0,
            5.0 * x(1).powi(2) + 8.0 * x(2) + (x(3) - 6.0).powi(2) - 2.0 * x(4) - 40.0,
            x(1).powi(2) + 2.0 * (x(2) - 2.0).powi(2) - 2.0 * x(1) * x(2) + 14.0 * x(5) - 6.0 * x(6),
            0.5 * (x(1) - 8.0).powi(2) + 2.0 * (x(2) - 4.0).powi(2) + 3.0 * x(5).powi(2) - x(6) - 30.0,
            -3.0 * x(1) + 6.0 * x(2) + 12.0 * (x(9) - 8.0).powi(2) - 7.0 * x(10),
        ],
        "g08" => vec![x(1).powi(2) - x(2) + 1.0, 1.0 - x(1) + (x(2) - 4.0).powi(2)],
        "g09" => vec![
            -127.0 + 2.0 * x(1).powi(2) + 3.0 * x(2).powi(4) + x(3) + 4.0 * x(4).powi(2) + 5.0 * x(5),
            -282.0 + 7.0 * x(1) + 3.0 * x(2) + 10.0 * x(3).powi(2) + x(4) - x(5),
            -196.0 + 23.0 * x(1) + x(2).powi(2) + 6.0 * x(6).powi(2) - 8.0 * x(7),
            4.0 * x(1).powi(2) + x(2).powi(2) - 3.0 * x(1) * x(2) + 2.0 * x(3).powi(2) + 5.0 * x(6) - 11.0 * x(7),
        ],
        "g10" => vec![
            -1.0 + 0.0025 * (x(4) + x(6)),
            -1.0 + 0.0025 * (x(5) + x(7) - x(4)),
            -1.0 + 0.01 * (x(8) - x(5)),
            -x(1) * x(6) + 833.33252 * x(4) + 100.0 * x(1) - 83333.333,
            -x(2) * x(7) + 1250.0 * x(5) + x(2) * x(4) - 1250.0 * x(4),
            -x(3) * x(8) + 1250000.0 + x(3) * x(5) - 2500.0 * x(5),
        ],
        "g24" => vec![
            -2.0 * x(1).powi(4) + 8.0 * x(1).powi(3) - 8.0 * x(1).powi(2) + x(2) - 2.0,
            -4.0 * x(1).powi(4) + 32.0 * x(1).powi(3) - 88.0 * x(1).powi(2) + 96.0 * x(1) + x(2) - 36.0,
        ],
        _ => Vec::new(),
    }
}

/// Tolerance: 1e-11 of the value, or of the largest number in the domain, whose terms may cancel.
#[test]
fn constraints_are_what_the_literature_prints() {
    let mut constrained = 0;
    for problem in samples::problems() {
        constrained += usize::from(!problem.constraint_texts().is_empty());
        for x in samples::uniform(&problem, 500, 12).chunks(problem.dim()) {
            let (values, printed) = (problem.constraint_values(x), plain_constraints(problem.name(), x));
            assert_eq!(values.len(), printed.len(), "{problem:?}");
            assert_eq!(values.len(), problem.constraint_texts().len(), "{problem:?}");
            for (value, printed) in values.iter().zip(&printed) {
                let largest = x.iter().fold(1.0f64, |most, v| most.max(v.abs()));
                let allowed = 1e-11 * (1.0 + printed.abs() + largest.powi(2));
                assert!((value - printed).abs() <= allowed, "{problem:?} at {x:?}: {value}, printed {printed}");
            }
        }
    }
    assert_eq!(constrained, 8);
}

/// Tolerance: 1e-11 of the value and of the terms that cancel in the printed forms; Weierstrass has 3^20 periods in the
/// domain, so that rounding of the argument costs ten digits of its last, smallest terms.
#[test]
fn functions_are_what_the_literature_prints() {
    for problem in samples::problems() {
        for x in samples::uniform(&problem, 2000, 11).chunks(problem.dim()) {
            let (value, printed) = (problem.value(x), plain(problem.name(), x));
            let relative = if problem.name() == "weierstrass" { 1e-7 } else { 1e-11 };
            let allowed = relative * (1.0 + printed.abs()) * problem.dim() as f64;
            assert!((value - printed).abs() <= allowed, "{problem:?} at {x:?}: {value}, printed {printed}");
        }
    }
}
