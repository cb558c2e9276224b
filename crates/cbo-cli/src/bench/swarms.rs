//! Many small runs at once on a GPU, beside the same on the threads of the processor.

use super::device::config;
use crate::error::CliError;
use cbo::device::Fleet;
use cbo::{CboConfig, Diffusion};
use cbo_lab::fleet;
use cbo_lab::success::{Judge, outcome};
use cbo_problems::Problem;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::Instant;

const RUNS: usize = 100_000;
const PARTICLES: usize = 100;
const DIM: usize = 10;
const STEPS: u64 = 500;

/// Runs of each thread of the processor: a sample.
const SAMPLE: usize = 200;

/// Seconds of many runs.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Swarms {
    /// How many.
    pub runs: usize,
    /// Particles of each.
    pub particles: usize,
    /// Its coordinates.
    pub dim: usize,
    /// Its steps.
    pub steps: u64,
    /// f32 or f64.
    pub precision: String,
    /// On the device, with all that is done before and after on the processor, kernels compiled.
    pub device_seconds: f64,
    /// On all threads of the processor, scaled from a sample.
    pub processor_seconds: f64,
    /// How many threads that are.
    pub processor_threads: usize,
    /// The runs of the sample.
    pub processor_runs: usize,
}

/// Makes the runs, in single precision.
pub fn measure(gpu: &dyn Fleet<f32>) -> Result<Swarms, CliError> {
    let problem = Arc::new(Problem::named("rastrigin", DIM).map_err(|e| CliError::usage(&e))?);
    let base = CboConfig { steps: Some(STEPS), ..config(PARTICLES, Diffusion::Anisotropic, &problem, 0.0) };
    let settings = |seed: usize| CboConfig { seed: seed as u64, ..base.clone() };
    let run = |seed: usize| Ok::<_, CliError>((settings(seed), problem.clone()));
    let at_once = |count: usize| {
        let clock = Instant::now();
        fleet::outcomes::<f32, CliError>(gpu, count, run, Judge::Best, &|_| true)?;
        Ok::<_, CliError>(clock.elapsed().as_secs_f64())
    };
    // The first ones pay for the compiler.
    at_once(100)?;
    let device_seconds = at_once(RUNS)?;
    let threads = rayon::current_num_threads();
    let (sample, clock) = (SAMPLE * threads, Instant::now());
    (0..sample)
        .into_par_iter()
        .with_max_len(1)
        .try_for_each(|seed| outcome::<f32>(&settings(seed), &problem, &*problem, Judge::Best, &|| false).map(drop))?;
    Ok(Swarms {
        runs: RUNS,
        particles: PARTICLES,
        dim: DIM,
        steps: STEPS,
        precision: "f32".into(),
        device_seconds,
        processor_seconds: clock.elapsed().as_secs_f64() * RUNS as f64 / sample as f64,
        processor_threads: threads,
        processor_runs: sample,
    })
}

impl Swarms {
    /// A line below the table.
    pub fn line(&self) -> String {
        let Self { runs, particles, dim, steps, precision, device_seconds, processor_seconds, .. } = self;
        format!(
            "\n{runs} runs, N = {particles}, d = {dim}, {steps} steps, {precision}: {device_seconds:.3} s at once on the GPU, {processor_seconds:.1} s on \
             {} threads of the processor (scaled from {} runs), {:.0} times as long\n",
            self.processor_threads,
            self.processor_runs,
            processor_seconds / device_seconds
        )
    }
}
