//! Workers on systems without process groups and poll: there are none.

use std::ops::ControlFlow;
use std::sync::Arc;

use super::{Attempt, Board, ExternalError, Job, Limits, Settings};

/// The workers. They need a Unix system.
#[derive(Debug)]
pub struct Workers {}

impl Workers {
    /// Fails.
    pub fn start(settings: &Settings) -> Result<Self, ExternalError> {
        settings.check()?;
        Err(ExternalError::Unsupported)
    }

    /// Fails.
    pub fn evaluate(&mut self, _: &[Job], _: &mut dyn FnMut(Attempt) -> ControlFlow<()>) -> Result<(), ExternalError> {
        Err(ExternalError::Unsupported)
    }

    /// Fails.
    pub fn evaluate_until(
        &mut self,
        _: &[Job],
        _: Limits,
        _: &dyn Fn() -> bool,
        _: &mut dyn FnMut(Attempt) -> ControlFlow<()>,
    ) -> Result<(), ExternalError> {
        Err(ExternalError::Unsupported)
    }

    /// An empty one.
    pub fn board(&self) -> Arc<Board> {
        Arc::default()
    }

    /// Does nothing.
    pub fn stop(self) {}
}

/// Does nothing.
pub fn kill_all() {}
