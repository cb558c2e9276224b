//! A run that is taken up again: with the settings in its folder, what has changed since then, and new limits.

use super::task::{Difference, Task, is_of_objective};
use super::{MinimizeArgs, eprintln_quietly, go, interval, limits, outputs, owner};
use crate::config_file::Origins;
use crate::error::{CliError, told};
use crate::numbers::plain;
use crate::resume::{ResumeArgs, refused};
use crate::values::{Precision, Switch};
use crate::{Command, interrupt, waits};
use cbo::StateError;
use cbo_runs::checkpoint::Checkpoint;
use cbo_runs::folder::{CONFIG, Folder};
use cbo_runs::keeper::Keeper;
use cbo_runs::parts::joined;

/// Resumes a run: from a checkpoint, or from the beginning if it has none yet.
pub fn resume(args: &ResumeArgs, folder: Folder, from: Option<Checkpoint>) -> Result<(), CliError> {
    interrupt::listen();
    waits::be_quiet(args.quiet);
    let config = folder.file(CONFIG);
    let line = ["cbo".into(), "minimize".into(), "--config".into(), config.into_os_string()];
    let (cli, mut origins) = crate::parse(&line)?;
    let Command::Minimize(mut settings) = cli.command else { return Err(CliError::Usage("no run".into())) };
    let every = interval(args.checkpoint_every).map_err(CliError::Usage)?;
    if settings.certify == Some(true) {
        settings.certify = None;
        let note = "the certificate of the run does not survive a pause, and is left out";
        (!args.quiet).then(|| eprintln_quietly(&format!("warning: {note}")));
    }
    settings.run.settle_method(None, &origins)?;
    let unbegun = if from.is_none() { Some(limits::beginning(&Task::new(&settings, &origins)?)) } else { None };
    extend(&mut settings, args, &mut origins, from.as_ref())?;
    (settings.run.json, settings.run.quiet) = (Some(args.json), Some(args.quiet));
    settings.out = Some(folder.path().to_path_buf());
    settings.retry_failed = args.retry_failed;
    settings.force = Some(args.force);
    settings.schedule = args.schedule;
    let task = Task::new(&settings, &origins)?;
    outputs::check(&settings, &task, &origins)?;
    let device = settings.device.unwrap_or_default().open(&task, settings.schedule, &origins)?;
    let missing = owner::check(&task, &folder, from.as_ref(), args.force)?;
    let anew = from.as_ref().map_or(Ok(false), |from| accept_changes(&task, from, &folder, args))?;
    if let Some(missing) = missing {
        folder.log(&missing);
        (!args.quiet).then(|| eprintln_quietly(&format!("warning: {missing}")));
    }
    if let Some(unbegun) = &unbegun {
        folder.set_checkpoints_aside().and_then(|()| folder.save(unbegun)).map_err(refused)?;
    }
    let mut from = from.or(unbegun);
    folder.log(&match from.as_ref().filter(|from| !from.state.is_empty()) {
        Some(from) => format!("resumed at step {} by cbo {}", from.summary.step, env!("CARGO_PKG_VERSION")),
        None => format!("begun again by cbo {}", env!("CARGO_PKG_VERSION")),
    });
    if let Some(from) = from.as_mut().filter(|from| anew && !from.state.is_empty()) {
        *from = joined(std::mem::take(from), folder.path()).map_err(|e| state_refused(&e))?;
        let forgotten = match task.precision {
            Precision::F32 => cbo::forget_best::<f32>(&task.plan, &from.state),
            Precision::F64 => cbo::forget_best::<f64>(&task.plan, &from.state),
        };
        from.state = forgotten.map_err(|e| state_refused(&e))?;
    }
    go(&settings, &task, &device, Some(Keeper::new(folder, every)), from.as_ref(), None)
}

/// Accepts what is no longer as it was, if that is asked for and possible. Tells whether the objective is another one.
fn accept_changes(task: &Task, from: &Checkpoint, folder: &Folder, args: &ResumeArgs) -> Result<bool, CliError> {
    let changes = task.differences(&from.summary.settings, &from.summary.files);
    if changes.is_empty() {
        return Ok(false);
    }
    let path = folder.path().display();
    let words = |which: &dyn Fn(&Difference) -> bool| {
        let words: Vec<&str> = changes.iter().filter(|c| which(c)).map(|c| c.words.as_str()).collect();
        words.join("; ")
    };
    if !args.force {
        let remedy = "change it back, or resume anyway with --force";
        return Err(CliError::Usage(format!("{path} is no longer the same run: {}; {remedy}", words(&|_| true))));
    }
    let is_fixed = |change: &Difference| !from.state.is_empty() && task.is_fixed(&change.field);
    if changes.iter().any(is_fixed) {
        let remedy = "which a run that has begun cannot change; change it back, or begin a new run";
        return Err(CliError::Usage(format!("{path}: {}, {remedy}", words(&is_fixed))));
    }
    let anew = changes.iter().any(|change| is_of_objective(&change.field));
    let best =
        if anew { "; the best point so far is forgotten, because its value was another objective's" } else { "" };
    let note = format!("resumed with --force: {}{best}", words(&|_| true));
    folder.log(&note);
    (!args.quiet).then(|| eprintln_quietly(&format!("note: {note}")));
    Ok(anew)
}

/// A checkpoint whose state is of no use.
pub fn state_refused(error: &StateError) -> CliError {
    CliError::Usage(format!("the run cannot be resumed from its checkpoint: {}", told(error)))
}

/// Gives a run the limits that it is to have from now on.
fn extend(
    settings: &mut MinimizeArgs,
    args: &ResumeArgs,
    origins: &mut Origins,
    from: Option<&Checkpoint>,
) -> Result<(), CliError> {
    if args.epochs.is_some() {
        return Err(CliError::Usage(
            "epochs: only training runs have them; use --steps, --time or --max-evaluations".into(),
        ));
    }
    let task = Task::new(&limits::at(settings, from), origins)?;
    let config = task.config();
    let (step, evaluations, seconds) =
        from.map_or((0, 0, 0.0), |from| (from.summary.step, from.summary.evaluations, from.summary.seconds));
    let (time, add) = (step as f64 * config.dt, |a: f64, b: f64| a + b);
    let steps = args.steps.map(|steps| steps.after(task.plan.last_step(), step, u64::saturating_add));
    let end = args.time.map(|end| end.after(config.time.or(config.steps.map(|n| n as f64 * config.dt)), time, add));
    let budget = args.max_evaluations.map(|b| b.after(config.max_evaluations, evaluations, u64::saturating_add));
    let limit = args.max_seconds.map(|limit| limit.after(config.max_seconds, seconds, add));
    let done = |field: &str, new: f64, done: f64| {
        let remedy = format!("{} are done already; give more, or +N for more than before", plain(done));
        if new < done { Err(CliError::setting(field, plain(new), remedy)) } else { Ok(()) }
    };
    steps.map_or(Ok(()), |new| done("steps", new as f64, step as f64))?;
    end.map_or(Ok(()), |new| done("time", new, time))?;
    budget.map_or(Ok(()), |new| done("max-evaluations", new as f64, evaluations as f64))?;
    let (run, program) = (&mut settings.run, &mut settings.program);
    if steps.is_some() || end.is_some() {
        (run.steps, run.time) = (Some(Switch(steps)), Some(Switch(end)));
    }
    run.max_evaluations = budget.map(|budget| Switch(Some(budget))).or(run.max_evaluations);
    run.max_seconds = limit.map(|limit| Switch(Some(limit))).or(run.max_seconds);
    program.workers = args.workers.or(program.workers);
    program.timeout = args.timeout.or(program.timeout);
    program.retries = args.retries.or(program.retries);
    let given = [
        ("steps", args.steps.is_some()),
        ("time", args.time.is_some()),
        ("max-evaluations", args.max_evaluations.is_some()),
        ("max-seconds", args.max_seconds.is_some()),
        ("threads", args.threads.is_some()),
        ("workers", args.workers.is_some()),
        ("timeout", args.timeout.is_some()),
        ("retries", args.retries.is_some()),
        ("device", args.device.is_some()),
    ];
    given.iter().filter(|(_, given)| *given).for_each(|(field, _)| origins.forget(field));
    run.threads = args.threads.or(run.threads);
    settings.device = args.device.or(settings.device);
    Ok(())
}
