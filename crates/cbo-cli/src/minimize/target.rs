//! What is minimised, ready to be evaluated: a benchmark function, a formula or a program, perhaps under constraints.

use super::command::CommandSpec;
use crate::text;
use cbo::{Answers, Constrained, EnergyTrace, EvalError, Grouping, Objective, Rows, Scalar, StepContext};
use cbo_problems::{Constraint, Formula, Problem};
use cbo_runs::evaluations::Evaluations;
use std::sync::Arc;

/// What is minimised.
pub struct Target {
    kind: Kind,
    constraints: Vec<Constraint>,
    description: String,
}

enum Kind {
    Function(Arc<Problem>),
    Formula(Formula),
    Program(Box<Evaluations>),
}

impl Target {
    /// A benchmark function, under these constraints besides its own.
    pub fn of_function(problem: &Arc<Problem>, constraints: &[Constraint]) -> Self {
        Self::new(Kind::Function(Arc::clone(problem)), problem.description(), constraints)
    }

    /// A formula, under these constraints.
    pub fn of_formula(formula: &Formula, constraints: &[Constraint]) -> Self {
        Self::new(Kind::Formula(formula.clone()), formula.text(), constraints)
    }

    /// The program of `spec`, evaluated by `evaluations`, under these constraints.
    pub fn of_program(spec: &CommandSpec, evaluations: Evaluations, constraints: &[Constraint]) -> Self {
        Self::new(Kind::Program(Box::new(evaluations)), spec.settings.program.text(), constraints)
    }

    fn new(kind: Kind, words: &str, constraints: &[Constraint]) -> Self {
        Self { kind, constraints: constraints.to_vec(), description: under(words, constraints) }
    }

    /// The function, if it is one.
    pub fn function(&self) -> Option<&Problem> {
        match &self.kind {
            Kind::Function(problem) => Some(problem),
            Kind::Formula(_) | Kind::Program(_) => None,
        }
    }

    /// The function, if it is one whose minimum is still the known one: constraints may exclude it.
    pub fn function_with_minimum(&self) -> Option<&Problem> {
        self.function().filter(|problem| keeps_minimum(problem, &self.constraints))
    }

    /// The program, if it is one.
    pub fn evaluations(&self) -> Option<&Evaluations> {
        match &self.kind {
            Kind::Function(_) | Kind::Formula(_) => None,
            Kind::Program(evaluations) => Some(evaluations),
        }
    }

    /// Whether points of a program that failed before are tried again.
    pub fn retry_failed(&mut self, retry: bool) {
        if let Kind::Program(evaluations) = &mut self.kind {
            evaluations.retry_failed(retry);
        }
    }

    /// In words.
    pub fn description(&self) -> &str {
        &self.description
    }

    /// The objective, under all of its constraints.
    pub fn objective<T: Scalar>(&self) -> Constrained<'_, T, &Self>
    where
        Problem: Objective<T>,
        Formula: Objective<T>,
    {
        self.constraints.iter().fold(Constrained::new(self), |objective, constraint| constraint.put_on(objective))
    }

    /// How many constraints a point has to meet.
    pub fn constraint_count(&self) -> usize {
        self.objective::<f64>().constraints()
    }
}

/// What is minimised in words, with the constraints that it is put under.
pub fn under(words: &str, constraints: &[Constraint]) -> String {
    if constraints.is_empty() { words.into() } else { format!("{words} under {}", text::constraints(constraints)) }
}

/// Whether a minimiser of the function meets these constraints, so that its minimum is what it was.
pub fn keeps_minimum(problem: &Problem, constraints: &[Constraint]) -> bool {
    problem.minimisers().iter().any(|x| constraints.iter().all(|constraint| constraint.violation(x) == 0.0))
}

impl<T: Scalar> Objective<T> for Target
where
    Problem: Objective<T>,
    Formula: Objective<T>,
{
    fn dim(&self) -> usize {
        match &self.kind {
            Kind::Function(problem) => problem.dim(),
            Kind::Formula(formula) => formula.dim(),
            Kind::Program(evaluations) => Objective::<T>::dim(&**evaluations),
        }
    }

    fn energies(&self, at: StepContext, rows: Rows<'_, T>, out: &mut [T]) -> Result<(), EvalError> {
        match &self.kind {
            Kind::Function(problem) => problem.energies(at, rows, out),
            Kind::Formula(formula) => formula.energies(at, rows, out),
            Kind::Program(evaluations) => evaluations.energies(at, rows, out),
        }
    }

    fn constraints(&self) -> usize {
        self.function().map_or(0, |problem| Objective::<T>::constraints(problem))
    }

    fn energies_and_constraints(
        &self,
        at: StepContext,
        rows: Rows<'_, T>,
        energies: &mut [T],
        constraints: &mut [T],
    ) -> Result<(), EvalError> {
        match &self.kind {
            Kind::Function(problem) => problem.energies_and_constraints(at, rows, energies, constraints),
            Kind::Formula(formula) => formula.energies(at, rows, energies),
            Kind::Program(evaluations) => evaluations.energies(at, rows, energies),
        }
    }

    fn energies_one_by_one(&self, at: StepContext, rows: Rows<'_, T>, answers: &Answers<T>) -> Result<(), EvalError> {
        match &self.kind {
            Kind::Function(problem) => problem.energies_one_by_one(at, rows, answers),
            Kind::Formula(formula) => formula.energies_one_by_one(at, rows, answers),
            Kind::Program(evaluations) => evaluations.energies_one_by_one(at, rows, answers),
        }
    }

    fn has_gradients(&self) -> bool {
        self.function().is_some_and(|problem| Objective::<T>::has_gradients(problem))
    }

    fn gradients(&self, at: StepContext, rows: Rows<'_, T>, out: &mut [T]) -> Result<(), EvalError> {
        match self.function() {
            Some(problem) => problem.gradients(at, rows, out),
            None => Err(EvalError::new("neither formulas nor programs have gradients")),
        }
    }

    fn trace(&self) -> Option<EnergyTrace> {
        match &self.kind {
            Kind::Function(problem) => Objective::<T>::trace(&**problem),
            Kind::Formula(formula) => Objective::<T>::trace(formula),
            Kind::Program(_) => None,
        }
    }

    fn grouping(&self) -> Grouping {
        match &self.kind {
            Kind::Function(problem) => Objective::<T>::grouping(&**problem),
            Kind::Formula(formula) => Objective::<T>::grouping(formula),
            Kind::Program(evaluations) => Objective::<T>::grouping(&**evaluations),
        }
    }
}
