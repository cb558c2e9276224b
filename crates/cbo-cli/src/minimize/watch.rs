//! What watches a run: for signals, for the progress bar, for the files, for the checkpoints.

use super::record::Tracks;
use super::target::Target;
use super::task::Task;
use super::{HISTORY as STEPS, MinimizeArgs, changed, history};
use crate::film::Film;
use crate::minimize::eprintln_quietly;
use crate::progress::Progress;
use crate::{film, interrupt};
use cbo::{History, Observer, RunReport, SolveError, StepReport, StopReason};
use cbo_lab::certificate::Certificate;
use cbo_runs::checkpoint::{Checkpoint, HISTORY, Summary};
use cbo_runs::folder::{Folder, FolderError};
use cbo_runs::keeper::Keeper;
use cbo_runs::parts::Scribe;
use cbo_runs::track::Narrow;
use std::collections::BTreeMap;
use std::ops::ControlFlow;

/// The section of the film.
const FILM: &str = "film";

/// Watches a run.
pub struct Watch<'a, T> {
    pub target: &'a Target,
    pub progress: Option<Progress>,
    pub history: Option<History>,
    pub film: Option<Film>,
    pub certificate: Option<Certificate>,
    pub checkpoints: Option<Checkpoints>,
    /// What a run that failed had found by then.
    pub salvaged: Option<RunReport<T>>,
}

/// The checkpoints of a run.
pub struct Checkpoints {
    keeper: Keeper,
    tracks: Tracks,
    /// What is the same in all of them.
    summary: Summary,
    /// Whether none was written yet.
    first: bool,
    /// Whether the last one was.
    ended: bool,
    quiet: bool,
    /// Who writes the particles of this rank, if each writes its own.
    pub scribe: Option<Scribe>,
    /// Why the last one could not be written.
    pub fault: Option<FolderError>,
}

impl Checkpoints {
    /// Checkpoints of `task`, whose `target` is minimised and which resumes from a checkpoint or begins.
    pub fn new(keeper: Keeper, task: &Task, target: &Target, from: Option<&Checkpoint>, args: &MinimizeArgs) -> Self {
        let settings = task.entries().into_iter().map(|(key, value)| (key.to_string(), value));
        let settings: BTreeMap<String, String> = settings.collect();
        let mut files = task.files();
        if let Some(from) = from.filter(|from| from.summary.settings.get("command") == settings.get("command")) {
            // A file that was not there at the beginning is written by the program, a log perhaps.
            files.retain(|path, _| from.summary.files.contains_key(path));
        }
        let step = from.filter(|from| !from.state.is_empty()).map(|from| from.summary.step);
        let tracks = Tracks::new(keeper.folder(), task, STEPS, step);
        let summary = Summary {
            kind: "minimize".into(),
            cbo: env!("CARGO_PKG_VERSION").into(),
            objective: target.description().into(),
            dim: task.dim(),
            settings,
            changed: changed::keys(args, task),
            files,
            run: target.evaluations().and_then(|evaluations| evaluations.run()).unwrap_or_default().into(),
            ..Summary::default()
        };
        Self { keeper, tracks, summary, first: true, ended: false, quiet: args.run.quiet(), scribe: None, fault: None }
    }

    /// Writes down what the run is, before anything is evaluated.
    pub fn begin(&mut self) {
        let warning = self.keeper.keep(&Checkpoint { summary: self.summary.clone(), ..Checkpoint::default() });
        if let (Some(warning), false) = (warning, self.quiet) {
            eprintln_quietly(&format!("warning: {warning}; trying again later"));
        }
    }

    /// Writes the last checkpoint of a run that was already at its end when it was resumed, which no observer sees: for example one
    /// killed just before that.
    pub fn conclude(&mut self, from: &Checkpoint, stop: StopReason) {
        if !self.ended {
            let Summary { cbo, settings, changed, files, run, .. } = self.summary.clone();
            let summary =
                Summary { cbo, settings, changed, files, run, stop: Some(stop.name().into()), ..from.summary.clone() };
            self.end(Ok(Checkpoint { summary, ..from.clone() }));
        }
    }

    /// Writes the last checkpoint, or keeps why that cannot be done.
    fn end(&mut self, last: Result<Checkpoint, FolderError>) {
        self.fault = self.keeper.finish(last).err();
    }

    /// The run folder.
    pub fn folder(&self) -> &Folder {
        self.keeper.folder()
    }

    /// Why the folder of the run is no longer ours, if it is not.
    pub fn gone(&self) -> Option<FolderError> {
        self.folder().check().err()
    }

    /// Writes a line to the log of the run.
    pub fn log(&self, line: &str) {
        self.folder().log(line);
    }
}

impl<T: Narrow> Watch<'_, T> {
    /// The run at this step, which ends it if there is a reason.
    fn checkpoint(
        &self,
        checkpoints: &Checkpoints,
        step: &StepReport<'_, T>,
        stop: Option<&str>,
    ) -> Result<Checkpoint, FolderError> {
        let mut x: Vec<f64> = step.best().x.iter().map(|x| x.to_f64()).collect();
        if x.iter().any(|x| !x.is_finite()) {
            x.clear(); // JSON cannot express it
        }
        let summary = Summary {
            step: step.step(),
            evaluations: step.evaluations(),
            failed_evaluations: step.failed_evaluations(),
            best: Some(step.best().value).filter(|value| value.is_finite()),
            violation: Some(step.best().violation).filter(|violation| *violation > 0.0 && violation.is_finite()),
            x,
            seconds: step.seconds(),
            stop: stop.map(String::from),
            ..checkpoints.summary.clone()
        };
        let mut checkpoint = Checkpoint { summary, ..Checkpoint::default() };
        checkpoint.take_state(step, checkpoints.scribe.as_ref())?;
        if let Some(history) = &self.history {
            checkpoint.more.insert(HISTORY.into(), history::to_csv(history.records()).into_bytes());
        }
        if let Some(film) = &self.film {
            checkpoint.more.insert(FILM.into(), film.to_bytes());
        }
        Ok(checkpoint)
    }

    /// Continues history and film where the run was cut off.
    pub fn take_up(&mut self, from: &Checkpoint, capacity: usize) {
        if self.history.is_some() {
            let csv = from.more.get(HISTORY).and_then(|bytes| std::str::from_utf8(bytes).ok());
            if let Some(records) = csv.and_then(history::from_csv).filter(|records| !records.is_empty()) {
                self.history = Some(History::from_records(capacity, records));
            }
        }
        if self.film.is_some()
            && let Some(film) = from.more.get(FILM).and_then(|bytes| film::Film::from_bytes(bytes))
        {
            self.film = Some(film);
        }
    }
}

impl<T: Narrow> Observer<T> for Watch<'_, T> {
    fn observe(&mut self, step: &StepReport<'_, T>) -> ControlFlow<()> {
        if let Some(progress) = &mut self.progress {
            progress.show(step);
        }
        if let Some(history) = &mut self.history {
            let _ = history.observe(step);
        }
        if let Some(film) = &mut self.film {
            film.observe(step);
        }
        if let Some(certificate) = &mut self.certificate {
            let _ = certificate.observe(step);
        }
        if let Some(Checkpoints { keeper, tracks, .. }) = &mut self.checkpoints {
            tracks.observe(keeper.folder(), step, self.history.as_ref().and_then(|h| h.records().last()));
        }
        if let Some(mut checkpoints) = self.checkpoints.take_if(|c| c.first || c.keeper.due()) {
            checkpoints.first = false;
            if checkpoints.gone().is_some() {
                self.checkpoints = Some(checkpoints);
                return ControlFlow::Break(()); // told of at the end
            }
            // Whatever a checkpoint says is evaluated is in the store. A store that cannot be written ends the run by itself.
            let _ = self.target.evaluations().map(|evaluations| evaluations.flush());
            let warning = match self.checkpoint(&checkpoints, step, None) {
                Ok(checkpoint) => checkpoints.keeper.keep(&checkpoint),
                Err(fault) => checkpoints.keeper.miss(step.step(), fault),
            };
            if let (Some(warning), false) = (warning, checkpoints.quiet) {
                let shown = || eprintln_quietly(&format!("warning: {warning}; trying again later"));
                self.progress.as_ref().map_or_else(shown, |progress| progress.suspend(shown));
            }
            self.checkpoints = Some(checkpoints);
        }
        if interrupt::requested() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn ended(&mut self, step: &StepReport<'_, T>, reason: StopReason) {
        let Some(mut checkpoints) = self.checkpoints.take() else { return };
        let stop = if reason == StopReason::Observer { "interrupt" } else { reason.name() };
        if let Some(Err(error)) = self.target.evaluations().map(|evaluations| evaluations.flush()) {
            checkpoints.log(&format!("the last evaluations are not in the store: {error}"));
        }
        checkpoints.tracks.flush(checkpoints.keeper.folder());
        checkpoints.end(self.checkpoint(&checkpoints, step, Some(stop)));
        checkpoints.ended = true;
        checkpoints.log(&format!("ended at step {} ({stop}), best value {:?}", step.step(), step.best().value));
        self.checkpoints = Some(checkpoints);
    }

    fn failed(&mut self, step: &StepReport<'_, T>, error: &SolveError) {
        self.salvaged = Some(step.report(StopReason::Failed)).filter(|report| report.best().value.is_finite());
        // Only a step of a program that was left half evaluated can be taken up again.
        let (SolveError::Evaluation { .. }, Some(evaluations)) = (error, self.target.evaluations()) else { return };
        let Some(mut checkpoints) = self.checkpoints.take() else { return };
        checkpoints.tracks.flush(checkpoints.keeper.folder());
        if let Err(error) = evaluations.flush() {
            checkpoints.log(&format!("the last evaluations are not in the store: {error}"));
        }
        checkpoints.end(self.checkpoint(&checkpoints, step, None));
        self.checkpoints = Some(checkpoints);
    }
}
