//! What watches a training run: for signals, for the progress bar, for the checkpoints.

use super::report::curve_csv;
use crate::error::told;
use crate::minimize::eprintln_quietly;
use crate::{interrupt, progress};
use cbo::StopReason;
use cbo_lab::training::{Point, Progress, Saved};
use cbo_runs::checkpoint::{Checkpoint, HISTORY, Summary};
use cbo_runs::folder::{Folder, FolderError};
use cbo_runs::keeper::Keeper;
use cbo_runs::parts::Scribe;
use indicatif::ProgressBar;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

/// The section of a checkpoint with what the run has found so far.
const FINDINGS: &str = "training";

/// What a checkpoint says about a run that came to its end.
const FINISHED: StopReason = StopReason::Steps;

/// The curve during the run, and how often it is written at most.
const CURVE: &str = "curve.csv";
const EVERY: Duration = Duration::from_millis(400);

/// Watches a run.
pub struct Watch {
    bar: Option<ProgressBar>,
    shown: f64,
    quiet: bool,
    checkpoints: Option<Checkpoints>,
}

/// The checkpoints of a run.
pub struct Checkpoints {
    keeper: Keeper,
    /// What is the same in all of them.
    summary: Summary,
    /// Whether one was written already.
    begun: bool,
    /// The one with which the run ends, or why there is none.
    last: Option<Result<Checkpoint, FolderError>>,
    /// Who writes the particles of this rank, if each writes its own.
    scribe: Option<Scribe>,
    /// How many points of the curve are in its file, and since when.
    shown: (usize, Option<Instant>),
}

impl Checkpoints {
    /// Checkpoints of a run that begins, or that resumes from one of them.
    pub fn new(folder: Folder, every: Duration, summary: Summary, from: Option<Checkpoint>) -> Self {
        let begun = from.is_some();
        // A run that was already at its end takes no more steps.
        let last = from.map(|from| {
            let summary = summary.clone();
            let Summary { step, evaluations, failed_evaluations, best, seconds, .. } = from.summary;
            let stop = Some(FINISHED.name().into());
            let summary = Summary { step, evaluations, failed_evaluations, best, seconds, stop, ..summary };
            Ok(Checkpoint { summary, ..from })
        });
        Self { keeper: Keeper::new(folder, every), summary, begun, last, scribe: None, shown: (0, None) }
    }

    /// The same where each rank writes its own particles, if somebody is there to do it.
    pub fn written_by(self, scribe: Option<Scribe>) -> Self {
        Self { scribe, ..self }
    }

    /// The run folder.
    pub fn folder(&self) -> &Folder {
        self.keeper.folder()
    }

    /// The run at this step, which ends it if there is a reason.
    fn checkpoint(&self, at: &Progress<'_>, stop: Option<&str>) -> Result<Checkpoint, FolderError> {
        let losses = at.curve().iter().map(|point| point.loss).filter(|loss| loss.is_finite());
        let summary = Summary {
            step: at.at.step(),
            evaluations: at.at.evaluations(),
            failed_evaluations: at.at.failed_evaluations(),
            best: losses.reduce(f64::min),
            seconds: at.seconds,
            stop: stop.map(String::from),
            ..self.summary.clone()
        };
        let history = curve_csv(at.curve()).into_bytes();
        let more = [(FINDINGS.into(), at.findings()), (HISTORY.into(), history)].into();
        let mut checkpoint = Checkpoint { summary, more, ..Checkpoint::default() };
        checkpoint.take_state(at.at, self.scribe.as_ref()).map(|()| checkpoint)
    }

    /// Writes the curve for those who watch, if it has grown. If that cannot be done, the run goes on.
    fn show(&mut self, curve: &[Point]) {
        let (shown, when) = self.shown;
        if curve.len() != shown && when.is_none_or(|when| when.elapsed() >= EVERY) {
            let _ = self.folder().write(CURVE, curve_csv(curve).as_bytes());
            self.shown = (curve.len(), Some(Instant::now()));
        }
    }

    /// Whether it is time for one.
    fn is_due(&self) -> bool {
        !self.begun || self.keeper.due()
    }

    /// Keeps the run at this step if it is time to; returns a warning if that fails for the first time.
    fn step(&mut self, at: &Progress<'_>, interrupted: bool) -> Option<String> {
        self.show(at.curve());
        if interrupted || at.is_last {
            let stop = if interrupted { "interrupt" } else { FINISHED.name() };
            self.last = Some(self.checkpoint(at, Some(stop)));
            return None;
        }
        if !self.is_due() {
            return None;
        }
        self.begun = true;
        match self.checkpoint(at, None) {
            Ok(checkpoint) => self.keeper.keep(&checkpoint),
            Err(fault) => self.keeper.miss(at.at.step(), fault),
        }
    }

    /// Writes the last one.
    pub fn finish(&mut self) -> Result<(), FolderError> {
        let Some(last) = self.last.take() else { return Ok(()) };
        let end = last.as_ref().map_or_else(
            |_| String::new(),
            |last| {
                let Summary { step, stop, .. } = &last.summary;
                format!(" at step {step} ({})", stop.as_deref().unwrap_or_default())
            },
        );
        let written = self.keeper.finish(last);
        let fault = written.as_ref().err().map_or_else(String::new, |e| format!(", without a checkpoint: {}", told(e)));
        self.folder().log(&format!("ended{end}{fault}"));
        written
    }
}

/// What [`Checkpoints`] wrote, for the training to resume from.
pub fn saved(checkpoint: &Checkpoint) -> Option<Saved> {
    Some(Saved { state: checkpoint.state.clone(), findings: checkpoint.more.get(FINDINGS)?.clone() })
}

impl Watch {
    /// With a progress bar if it is wanted and seen, without warnings if it is to be quiet.
    pub fn new(bar: bool, quiet: bool, checkpoints: Option<Checkpoints>) -> Self {
        Self { bar: progress::bar(1000, bar), shown: 0.0, quiet, checkpoints }
    }

    /// Is told of each step, and ends the run if the user wants it.
    pub fn step(&mut self, at: &Progress<'_>) -> ControlFlow<()> {
        self.show(at);
        // A folder that was taken away ends the run, and is told of then.
        let is_gone = |c: &Checkpoints| c.is_due() && c.folder().check().is_err();
        let interrupted = interrupt::requested() || self.checkpoints.as_ref().is_some_and(is_gone);
        let warning = self.checkpoints.as_mut().and_then(|checkpoints| checkpoints.step(at, interrupted));
        if let (Some(warning), false) = (warning, self.quiet) {
            let warn = || eprintln_quietly(&format!("warning: {warning}; trying again later"));
            self.bar.as_ref().map_or_else(warn, |bar| bar.suspend(warn));
        }
        if interrupted { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }

    fn show(&mut self, at: &Progress<'_>) {
        let Some(bar) = self.bar.as_ref().filter(|_| at.seconds - self.shown > 0.1) else { return };
        self.shown = at.seconds;
        let found = at.latest.map_or_else(String::new, |p| {
            format!("loss {:.4}, test accuracy {:.2} %, ", p.loss, 100.0 * p.test_accuracy)
        });
        let left = progress::duration(at.seconds * (1.0 - at.done) / at.done.max(1e-9));
        bar.set_position((1000.0 * at.done) as u64);
        bar.set_message(format!("epoch {:.1}, {found}{left} left", at.epoch));
    }

    /// Removes the bar and returns the checkpoints.
    pub fn end(mut self) -> Option<Checkpoints> {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
        self.checkpoints
    }
}
