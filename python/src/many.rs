//! Many runs, spread over the threads, while the calling thread listens for signals.

use crate::builtin::Brake;
use crate::errors;
use crate::surface::Raised;
use cbo::{EvalError, SolveError};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use rayon::prelude::*;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// Time between two checks for signals.
const POLL: Duration = Duration::from_millis(20);

/// What `one` gives for each of `count` runs. It gives nothing if the brake was pulled.
pub fn runs<R: Send>(
    py: Python<'_>,
    threads: usize,
    count: usize,
    raised: &Raised,
    one: impl Fn(usize, &Brake) -> Result<Option<R>, SolveError> + Sync,
) -> PyResult<Vec<R>> {
    let brake = Brake::default();
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .map_err(|e| PyRuntimeError::new_err(format!("threads = {threads}: {e}; use fewer")))?;
    let (ended, mut end) = channel::<()>();
    let mut failure: Option<(PyErr, Instant)> = None;
    let outcome = std::thread::scope(|scope| {
        let (brake, pool, one) = (&brake, &pool, &one);
        let worker = scope.spawn(move || {
            let interrupted = || SolveError::Evaluation { step: 0, source: EvalError::new("interrupted") };
            let one = |run: usize| match brake.soon.load(Relaxed) {
                true => Err(interrupted()),
                false => one(run, brake)?.ok_or_else(interrupted),
            };
            let outcomes =
                pool.install(|| (0..count).into_par_iter().with_max_len(1).map(one).collect::<Result<Vec<_>, _>>());
            drop(ended);
            outcomes
        });
        let mut wait = || {
            let end = &mut end;
            py.detach(move || end.recv_timeout(POLL))
        };
        while wait() == Err(RecvTimeoutError::Timeout) {
            if let Err(error) = py.check_signals().and_then(|()| raised.check()) {
                failure = failure.take().or(Some((error, Instant::now())));
            }
            if let Some((_, since)) = &failure {
                brake.pull(*since);
            }
        }
        py.detach(|| worker.join())
    });
    if let Some((error, _)) = failure {
        return Err(error);
    }
    raised.check()?;
    match outcome {
        Ok(outcomes) => outcomes.map_err(|e| errors::of_run(&e)),
        Err(_) => Err(PyRuntimeError::new_err("the engine failed; this is a bug in cbo, please report it")),
    }
}
