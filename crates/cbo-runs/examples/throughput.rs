//! How many evaluations a second go through persistent workers that do next to nothing, and what each costs here.
//!
//! `cargo run --release -p cbo-runs --example throughput [EVALUATIONS [WORKERS [DIM]]]`

use std::error::Error;
use std::ops::ControlFlow;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use cbo_runs::external::{Job, Program, Protocol, Settings, Workers};

fn main() -> Result<(), Box<dyn Error>> {
    let mut numbers = std::env::args().skip(1).map(|word| word.parse::<usize>());
    let mut next = |default| numbers.next().unwrap_or(Ok(default));
    let (evaluations, workers, dim) = (next(100_000)?, next(2)?, next(2)?);

    let folder = tempfile::tempdir()?;
    let worker = folder.path().join("worker");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/workers/worker.c");
    let built = Command::new("cc").arg("-O2").arg("-o").arg(&worker).arg(source).status()?;
    assert!(built.success(), "the worker must be compiled");

    let program = Program::parse(&format!("'{}'", worker.display()), Protocol::Jsonl)?;
    let mut crew = Workers::start(&Settings { workers, ..Settings::new(program) })?;
    let point = |i: usize| (0..dim).map(|k| ((i * 7 + k) % 1000) as f64 / 333.0).collect::<Vec<f64>>();
    let jobs: Vec<Job> = (0..evaluations).map(|index| Job { index, x: point(index), attempt: 1 }).collect();

    let mut values = vec![f64::NAN; evaluations];
    let (start, own) = (Instant::now(), own_seconds());
    crew.evaluate(&jobs, &mut |attempt| {
        values[attempt.job] = attempt.outcome.value();
        ControlFlow::Continue(())
    })?;
    let (seconds, own) = (start.elapsed().as_secs_f64(), own_seconds() - own);
    crew.stop();

    for (job, value) in jobs.iter().zip(values) {
        let expected: f64 = job.x.iter().zip(1..).map(|(x, k)| (x - f64::from(k)).powi(2)).sum();
        assert!((value - expected).abs() <= 1e-12 * (1.0 + expected), "{:?}: {value} is not {expected}", job.x);
    }
    println!("{evaluations} evaluations, {workers} workers, {dim}-D: {:.0} a second", evaluations as f64 / seconds);
    println!("own processor time: {:.2} microseconds an evaluation", 1e6 * own / evaluations as f64);
    Ok(())
}

/// Processor time of this process, without its workers.
#[cfg(unix)]
fn own_seconds() -> f64 {
    // SAFETY: all zeros are an rusage.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: fills `usage`, which is valid.
    unsafe { libc::getrusage(libc::RUSAGE_SELF, &mut usage) };
    let seconds = |t: libc::timeval| t.tv_sec as f64 + 1e-6 * t.tv_usec as f64;
    seconds(usage.ru_utime) + seconds(usage.ru_stime)
}

#[cfg(not(unix))]
fn own_seconds() -> f64 {
    f64::NAN
}
