//! What is minimised, ready to be evaluated: a benchmark function or a program.

use super::command::CommandSpec;
use cbo::{Answers, EvalError, Grouping, Objective, Rows, Scalar, StepContext};
use cbo_problems::Problem;
use cbo_runs::evaluations::Evaluations;
use std::sync::Arc;

/// What is minimised.
pub enum Target {
    /// A benchmark function.
    Function(Arc<Problem>),
    /// A program, in words, and its workers.
    Program(String, Box<Evaluations>),
}

impl Target {
    /// The program of `spec`, evaluated by `evaluations`.
    pub fn program(spec: &CommandSpec, evaluations: Evaluations) -> Self {
        Self::Program(spec.settings.program.text().to_string(), Box::new(evaluations))
    }

    /// The function, if it is one.
    pub fn function(&self) -> Option<&Problem> {
        match self {
            Self::Function(problem) => Some(problem),
            Self::Program(..) => None,
        }
    }

    /// The program, if it is one.
    pub fn evaluations(&self) -> Option<&Evaluations> {
        match self {
            Self::Function(_) => None,
            Self::Program(_, evaluations) => Some(evaluations),
        }
    }

    /// Whether points of a program that failed before are tried again.
    pub fn retry_failed(&mut self, retry: bool) {
        if let Self::Program(_, evaluations) = self {
            evaluations.retry_failed(retry);
        }
    }

    /// In words.
    pub fn description(&self) -> &str {
        match self {
            Self::Function(problem) => problem.description(),
            Self::Program(text, _) => text,
        }
    }
}

impl<T: Scalar> Objective<T> for Target
where
    Problem: Objective<T>,
{
    fn dim(&self) -> usize {
        match self {
            Self::Function(problem) => problem.dim(),
            Self::Program(_, evaluations) => Objective::<T>::dim(&**evaluations),
        }
    }

    fn energies(&self, at: StepContext, rows: Rows<'_, T>, out: &mut [T]) -> Result<(), EvalError> {
        match self {
            Self::Function(problem) => problem.energies(at, rows, out),
            Self::Program(_, evaluations) => evaluations.energies(at, rows, out),
        }
    }

    fn energies_one_by_one(&self, at: StepContext, rows: Rows<'_, T>, answers: &Answers<T>) -> Result<(), EvalError> {
        match self {
            Self::Function(problem) => problem.energies_one_by_one(at, rows, answers),
            Self::Program(_, evaluations) => evaluations.energies_one_by_one(at, rows, answers),
        }
    }

    fn grouping(&self) -> Grouping {
        match self {
            Self::Function(problem) => Objective::<T>::grouping(&**problem),
            Self::Program(_, evaluations) => Objective::<T>::grouping(&**evaluations),
        }
    }
}
