//! `cbo bench --device cuda`: the step on a GPU beside its floors there.

use super::swarms::{self, Swarms};
use super::{ALPHA, BenchArgs, Row};
use crate::device::DeviceSpec;
use crate::error::CliError;
use cbo::{Alpha, CboConfig, Diffusion, InitialLaw, Objective, Scalar, Sigma, StepReport};
use cbo_cuda::Cuda;
use cbo_problems::Problem;
use std::ops::ControlFlow;

/// Sizes that are measured if none is given.
const SIZES: [(usize, usize); 3] = [(10_000, 10), (320_000, 16), (1_000_000, 128)];

/// Repetitions of a run, of which the best counts.
const REPEATS: usize = 5;

/// All rows, on the GPU of this number; and many small runs at once, where no size is given.
pub fn measured(args: &BenchArgs, number: usize) -> Result<(Vec<Row>, Option<Swarms>), CliError> {
    let device = DeviceSpec::Cuda(Some(number));
    let gpu = Cuda::open(number).map_err(|fault| CliError::setting("device", device, fault.to_string()))?;
    let sizes = match args.particles {
        Some(n) => vec![(n as usize, args.dim as usize)],
        None => SIZES.to_vec(),
    };
    let mut rows = Vec::new();
    for (particles, dim) in sizes {
        for diffusion in [Diffusion::Anisotropic, Diffusion::Isotropic] {
            for precision in ["f64", "f32"] {
                if args.precision.as_ref().is_none_or(|p| p == precision) {
                    let problem = Problem::named("rastrigin", dim).map_err(|e| CliError::usage(&e))?;
                    let config = config(particles, diffusion, &problem, args.seconds);
                    let row = match precision {
                        "f64" => measure::<f64>(&gpu, &config, &problem)?,
                        _ => measure::<f32>(&gpu, &config, &problem)?,
                    };
                    rows.push(Row { instruction_set: device.to_string(), ..row });
                }
            }
        }
    }
    let small = args.particles.is_none() && args.precision.as_deref().is_none_or(|p| p == "f32");
    Ok((rows, if small { Some(swarms::measure(&gpu)?) } else { None }))
}

pub(super) fn config(particles: usize, diffusion: Diffusion, problem: &Problem, seconds: f64) -> CboConfig {
    // A guess: 10 us and 5 ps per coordinate.
    let guess = 1e-5 + 5e-12 * (particles * problem.dim()) as f64;
    CboConfig {
        particles,
        alpha: Alpha::Constant(ALPHA),
        sigma: Sigma::Constant(0.32),
        dt: 0.01,
        diffusion,
        init: InitialLaw::uniform(problem.domain()),
        steps: Some(((seconds / REPEATS as f64 / guess) as u64).clamp(20, 5_000)),
        threads: 1,
        ..CboConfig::default()
    }
}

fn measure<T: Scalar>(gpu: &Cuda, config: &CboConfig, problem: &Problem) -> Result<Row, CliError>
where
    Problem: Objective<T>,
{
    let failed = |e: &dyn std::fmt::Display| CliError::Failed(e.to_string());
    let mut step = f64::INFINITY;
    for _ in 0..REPEATS {
        // The first steps pay for cold caches and are left out.
        let (mut begin, mut end) = ((0, 0.0), (0, 0.0));
        let mut watch = |report: &StepReport<'_, T>| {
            if report.step() <= 10 {
                begin = (report.step(), report.seconds());
            }
            end = (report.step(), report.seconds());
            ControlFlow::Continue(())
        };
        gpu.solve::<T>(config, problem, &mut watch).map_err(|e| failed(&e))?;
        step = step.min((end.1 - begin.1) / (end.0 - begin.0) as f64);
    }
    let [memory, normals] = gpu.floors::<T>(config, problem).map_err(|e| failed(&e))?;
    let coordinates = (config.particles * problem.dim()) as f64;
    let each = |seconds: f64| seconds * 1e9 / coordinates;
    Ok(Row {
        instruction_set: String::new(),
        particles: config.particles,
        dim: problem.dim(),
        diffusion: config.diffusion.to_string(),
        precision: T::NAME.into(),
        threads: 1,
        step_milliseconds: step * 1e3,
        step: each(step),
        normals: each(normals),
        memory: each(memory),
        ratio: step / normals.max(memory),
        run_milliseconds: None,
    })
}
