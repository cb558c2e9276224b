//! A benchmark function of your own, written once and evaluated on SIMD lanes, then shifted and rotated.

use cbo::simd::Real;
use cbo::{CboConfig, InitialLaw, solve};
use cbo_problems::{Dims, Function, Info, Problem};

/// A bowl with ripples: sum x_k^2 + |sin(pi x_k)|.
#[derive(Default)]
struct Ripples;

impl Function for Ripples {
    const INFO: Info = Info {
        name: "ripples",
        title: "Ripples",
        formula: "sum_k x_k^2 + |sin(pi x_k)|",
        dims: Dims::AtLeast(1),
        domain: &[(-4.0, 4.0)],
        confined: false,
        optimum: "0 at the origin",
        source: "this example",
        parameters: &[],
    };

    fn minimisers(&self, dim: usize) -> Vec<Vec<f64>> {
        vec![vec![0.0; dim]]
    }

    #[inline(always)]
    fn value<R: Real>(&self, x: &[R]) -> R {
        let mut sum = R::constant(0.0);
        for &v in x {
            sum = v.mul_add(v, sum) + v.sin_pi().abs();
        }
        sum
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let problem = Problem::builder_of::<Ripples>().dim(8).shift(1.25).build()?;
    let config = CboConfig { init: InitialLaw::uniform(problem.domain()), ..CboConfig::default() };
    let run = solve::<f64>(&config, &problem, &mut ())?;
    println!("{}: {:.3e} at {:.3?}", problem.description(), run.best().value, run.best().x);
    assert!(problem.distance_to_minimiser(&run.best().x) < 1e-3);
    Ok(())
}
