//! `cbo bench`: the speed of a step on this machine, beside two floors measured in the same run.
//!
//! The fused step (noise, drift, diffusion, Rastrigin's energy, weights) can be no faster than the normals that it needs,
//! nor than reading and writing its positions. Both are measured with the same threads, buffers and repetitions,
//! interleaved with the step, and the best repetition of each counts: machines are noisy, ratios less so.

mod device;
mod swarms;

use crate::device::DeviceSpec;
use crate::error::{CliError, print};
use cbo::noise::{Noise, Stream, scratch_len};
use cbo::simd::{self, InstructionSet, Kernel, Vector};
use cbo::{Alpha, CboConfig, Diffusion, InitialLaw, Objective, Scalar, Sigma, StepReport, solve};
use cbo_problems::Problem;
use clap::Args;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::fmt::Write;
use std::ops::ControlFlow;
use std::process::Command;
use std::time::Instant;
use swarms::Swarms;

const EXAMPLES: &str = "\
Examples:
  cbo bench
  cbo bench --simd all --particles 320000
  cbo bench --device cuda
  cbo bench --particles 320000 --dim 16 --precision f32 --threads 2 --json";

/// Arguments of `cbo bench`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub struct BenchArgs {
    /// Particles; several sizes if absent
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    particles: Option<u32>,
    /// Dimensions
    #[arg(long, value_name = "D", default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    dim: u32,
    /// f32, f64, or both if absent
    #[arg(long, value_parser = ["f32", "f64"])]
    precision: Option<String>,
    /// Threads; one and all cores if absent
    #[arg(long, value_name = "T", value_parser = clap::value_parser!(u32).range(1..=1024))]
    threads: Option<u32>,
    /// Instruction set: avx512, avx2 or portable, or all that this machine has; that of CBO_SIMD, or the best, if absent
    #[arg(long, value_name = "SET")]
    simd: Option<String>,
    /// Where to compute: `cpu`, or `cuda[:N]`, the NVIDIA GPU of this number, with the floors of that
    #[arg(long, value_name = "DEVICE", default_value = "cpu", conflicts_with_all = ["simd", "threads"])]
    device: DeviceSpec,
    /// Seconds to spend on each row
    #[arg(long, default_value_t = 1.0, value_name = "S")]
    seconds: f64,
    /// One JSON object instead of a table
    #[arg(long)]
    json: bool,
}

/// One row: nanoseconds per coordinate update, of the step and of its floors.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Row {
    /// The instruction set used.
    pub instruction_set: String,
    /// Number of particles.
    pub particles: usize,
    /// Number of coordinates.
    pub dim: usize,
    /// Kind of noise.
    pub diffusion: String,
    /// f32 or f64.
    pub precision: String,
    /// Threads used.
    pub threads: usize,
    /// Milliseconds for one step.
    pub step_milliseconds: f64,
    /// The step: nanoseconds per coordinate.
    pub step: f64,
    /// The same, for the normals alone.
    pub normals: f64,
    /// The same, for reading and writing the positions alone.
    pub memory: f64,
    /// The step over the larger of its floors.
    pub ratio: f64,
    /// Milliseconds of one run of 1000 steps, from start to report, where such a run is short.
    pub run_milliseconds: Option<f64>,
}

#[derive(Serialize, Deserialize)]
struct Report {
    version: String,
    cores: usize,
    alpha: f64,
    unit: String,
    rows: Vec<Row>,
    /// Many small runs on a device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    swarms: Option<Swarms>,
}

/// Runs the command.
pub fn run(args: &BenchArgs) -> Result<(), CliError> {
    if !(args.seconds > 0.0 && args.seconds <= 60.0) {
        return Err(CliError::setting("seconds", args.seconds, "must lie between 0 and 60"));
    }
    let cores = std::thread::available_parallelism().map_or(1, |n| n.get());
    let sizes: Vec<(usize, usize)> = match args.particles {
        Some(n) => vec![(n as usize, args.dim as usize)],
        None => vec![(100, 20), (10_000, 10), (320_000, 16), (1_000, 1_000)],
    };
    let sets = match args.simd.as_deref() {
        None => vec![simd::current()],
        Some("all") => simd::available(),
        Some(name) => vec![set_called(name)?],
    };
    let (mut rows, mut swarms) = (Vec::new(), None);
    if let DeviceSpec::Cuda(number) = args.device {
        (rows, swarms) = device::measured(args, number.unwrap_or(0))?;
    } else {
        for size in sizes {
            for &set in &sets {
                rows.extend(if set == simd::current() { args.rows(size, cores)? } else { args.rows_of(size, set)? });
            }
        }
    }
    let report = Report {
        version: env!("CARGO_PKG_VERSION").into(),
        cores,
        alpha: ALPHA,
        unit: "ns per coordinate update".into(),
        rows,
        swarms,
    };
    if args.json {
        let text = serde_json::to_string(&report).map_err(|e| CliError::failed(&e))?;
        return print(&format!("{text}\n"));
    }
    print(&table(&report))
}

/// The instruction set of that name, or an error that says which there are.
fn set_called(name: &str) -> Result<InstructionSet, CliError> {
    name.parse()
        .map_err(|e: simd::UnavailableSet| CliError::setting("simd", name, e.remedy() + "; all takes each of them"))
}

impl BenchArgs {
    /// All rows of one size.
    fn rows(&self, (particles, dim): (usize, usize), cores: usize) -> Result<Vec<Row>, CliError> {
        let mut rows = Vec::new();
        for diffusion in [Diffusion::Anisotropic, Diffusion::Isotropic] {
            for precision in ["f64", "f32"] {
                if self.precision.as_ref().is_some_and(|p| p != precision) {
                    continue;
                }
                let threads = match self.threads {
                    Some(t) => vec![t as usize],
                    None if particles * dim < 100_000 || cores == 1 => vec![1],
                    None => vec![1, cores],
                };
                for threads in threads {
                    let case = Case { particles, dim, diffusion, threads, seconds: self.seconds };
                    rows.push(if precision == "f64" { case.measure::<f64>()? } else { case.measure::<f32>()? });
                }
            }
        }
        Ok(rows)
    }

    /// The same on another instruction set. A program has one for its whole life, so another process measures.
    fn rows_of(&self, (particles, dim): (usize, usize), set: InstructionSet) -> Result<Vec<Row>, CliError> {
        let failed = |e: &dyn std::fmt::Display| CliError::Failed(format!("measuring on {set}: {e}"));
        let mut command = Command::new(std::env::current_exe().map_err(|e| failed(&e))?);
        command.args(["bench", "--json"]).env(simd::VARIABLE, set.name());
        command.arg(format!("--particles={particles}")).arg(format!("--dim={dim}"));
        command.arg(format!("--seconds={}", self.seconds));
        command.args(self.precision.iter().map(|p| format!("--precision={p}")));
        command.args(self.threads.iter().map(|t| format!("--threads={t}")));
        let done = command.output().map_err(|e| failed(&e))?;
        if !done.status.success() {
            return Err(failed(&String::from_utf8_lossy(&done.stderr).trim()));
        }
        let report: Report = serde_json::from_slice(&done.stdout).map_err(|e| failed(&e))?;
        Ok(report.rows)
    }
}

/// The paper's alpha: in effect the best particle alone.
const ALPHA: f64 = 1e15;

struct Case {
    particles: usize,
    dim: usize,
    diffusion: Diffusion,
    threads: usize,
    seconds: f64,
}

impl Case {
    fn measure<T: Scalar>(&self) -> Result<Row, CliError>
    where
        Problem: Objective<T>,
    {
        let Self { particles, dim, diffusion, threads, seconds } = *self;
        let problem = Problem::named("rastrigin", dim).map_err(|e| CliError::usage(&e))?;
        let coordinates = particles * dim;
        let repeats = 10;
        // Steps in a repetition, from a guess of 2 ns per coordinate; three things are measured in each.
        let guess = 2e-9 * coordinates as f64 / threads as f64;
        let steps = ((seconds / (3.0 * repeats as f64) / guess) as u64).clamp(4, 20_000);
        let config = CboConfig {
            particles,
            alpha: Alpha::Constant(ALPHA),
            sigma: Sigma::Constant(0.32),
            dt: 0.01,
            diffusion,
            init: InitialLaw::uniform(problem.domain()),
            steps: Some(steps),
            threads,
            ..CboConfig::default()
        };
        let failed = |e: &dyn std::fmt::Display| CliError::Failed(e.to_string());
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().map_err(|e| failed(&e))?;
        let mut floors = Floors::<T>::new(particles, dim, threads);
        let (mut step, mut normals, mut memory) = (f64::INFINITY, f64::INFINITY, f64::INFINITY);
        for _ in 0..repeats {
            // The first step pays for cold caches and is left out.
            let (mut begin, mut end) = (0.0, 0.0);
            let mut watch = |report: &StepReport<'_, T>| {
                if report.step() == 1 {
                    begin = report.seconds();
                }
                end = report.seconds();
                ControlFlow::Continue(())
            };
            solve(&config, &problem, &mut watch).map_err(|e| failed(&e))?;
            step = step.min((end - begin) / (steps - 1) as f64);
            normals = normals.min(floors.time(&pool, steps, Floors::normals));
            memory = memory.min(floors.time(&pool, steps, Floors::read_and_write));
        }
        let run_milliseconds = if coordinates <= 100_000 {
            let config = CboConfig { steps: Some(1000), ..config };
            let mut best = f64::INFINITY;
            for _ in 0..repeats {
                best = best.min(solve::<T>(&config, &problem, &mut ()).map_err(|e| failed(&e))?.seconds());
            }
            Some(best * 1e3)
        } else {
            None
        };
        let each = |seconds: f64| seconds * 1e9 / coordinates as f64;
        Ok(Row {
            particles,
            dim,
            instruction_set: simd::current().to_string(),
            diffusion: if diffusion == Diffusion::Anisotropic { "anisotropic" } else { "isotropic" }.into(),
            precision: T::NAME.into(),
            threads,
            step_milliseconds: step * 1e3,
            step: each(step),
            normals: each(normals),
            memory: each(memory),
            ratio: step / normals.max(memory),
            run_milliseconds,
        })
    }
}

/// The work that no step can do without.
struct Floors<T> {
    positions: Vec<T>,
    dim: usize,
    /// Rows that a thread takes at a time, and room for their normals.
    piece: usize,
    threads: usize,
}

impl<T: Scalar> Floors<T> {
    fn new(particles: usize, dim: usize, threads: usize) -> Self {
        let piece = (1024 / dim).max(1);
        Self { positions: vec![T::from_f64(1.5); particles * dim], dim, piece, threads }
    }

    /// Seconds for one pass, averaged over `passes`.
    fn time(&mut self, pool: &rayon::ThreadPool, passes: u64, pass: fn(&mut Self, u64)) -> f64 {
        let alone = self.threads == 1;
        let mut all = || {
            let clock = Instant::now();
            (0..passes).for_each(|step| pass(self, step));
            clock.elapsed().as_secs_f64() / passes as f64
        };
        if alone { all() } else { pool.install(all) }
    }

    /// The normals of one step, each piece into the same small buffer.
    fn normals(&mut self, step: u64) {
        let Self { dim, piece, threads, .. } = *self;
        let noise = Noise::new(1, Stream::Diffusion, step);
        let rows = self.positions.len() / dim;
        let fill = |from: usize, to: usize| {
            let mut buffer = vec![T::default(); scratch_len(piece, dim) + 16];
            // On a cache line, as the engine has it.
            let start = buffer.as_ptr().align_offset(64).min(16);
            let mut first = from;
            while first < to {
                noise.fill_normals(first as u32, piece.min(to - first), dim, &mut buffer[start..]);
                first += piece;
            }
            std::hint::black_box(&buffer);
        };
        let share = rows.div_ceil(threads);
        if threads == 1 {
            fill(0, rows);
        } else {
            (0..threads).into_par_iter().for_each(|t| fill(t * share, ((t + 1) * share).min(rows)));
        }
    }

    /// Reads and writes every position once.
    fn read_and_write(&mut self, _step: u64) {
        let share = self.positions.len().div_ceil(self.threads);
        if self.threads == 1 {
            simd::run(Touch(&mut self.positions));
        } else {
            self.positions.par_chunks_mut(share).for_each(|part| simd::run(Touch(part)));
        }
    }
}

struct Touch<'a, T>(&'a mut [T]);

impl<T: Scalar> Kernel<T> for Touch<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<V: Vector<Scalar = T>>(self) {
        let half = V::splat(T::from_f64(0.5));
        for chunk in self.0.chunks_exact_mut(V::LANES) {
            V::load(chunk).mul_add(half, half).store(chunk);
        }
    }
}

fn table(report: &Report) -> String {
    let mut text = format!(
        "cbo {} with {} cores; Rastrigin, alpha = {:e}; {}\n\n",
        report.version, report.cores, report.alpha, report.unit
    );
    let heading = [
        "set",
        "particles",
        "dim",
        "noise",
        "type",
        "threads",
        "step",
        "normals",
        "memory",
        "ratio",
        "ms/step",
        "ms/1000",
    ];
    let widths = [8, 9, 5, 11, 4, 7, 7, 7, 7, 5, 9, 8];
    let mut line = |cells: [String; 12]| {
        for (cell, width) in cells.iter().zip(widths) {
            let _ = write!(text, "{cell:>width$} ");
        }
        text.truncate(text.trim_end().len());
        text.push('\n');
    };
    line(heading.map(String::from));
    for row in &report.rows {
        line([
            row.instruction_set.clone(),
            row.particles.to_string(),
            row.dim.to_string(),
            row.diffusion.clone(),
            row.precision.clone(),
            row.threads.to_string(),
            format!("{:.3}", row.step),
            format!("{:.3}", row.normals),
            format!("{:.3}", row.memory),
            format!("{:.2}", row.ratio),
            format!("{:.4}", row.step_milliseconds),
            row.run_milliseconds.map_or(String::from("-"), |ms| format!("{ms:.2}")),
        ]);
    }
    text += "\nset: the instruction set; step: noise, move, energy and weights fused; normals, memory: its floors, the noise alone\n\
            and one read and write of the positions; ratio: step over the larger floor; ms/1000: a whole run of 1000 steps.\n";
    text + &report.swarms.as_ref().map(Swarms::line).unwrap_or_default()
}
