//! An objective with constraints that are functions of the point.

use crate::answers::Answers;
use crate::objective::{EnergyTrace, EvalError, Grouping, Objective, Rows, StepContext};
use crate::simd::Scalar;

/// How far an equality may be missed, unless it is said.
const EQUALITY: f64 = 1e-6;

/// A function of one point.
type Function<'a, T> = Box<dyn Fn(&[T]) -> T + Send + Sync + 'a>;

/// `sign (value - limit) - slack <= 0`.
#[derive(Clone, Copy, Debug)]
struct Side {
    sign: f64,
    limit: f64,
    slack: f64,
}

/// An objective under constraints, every one of which a point has to meet to count.
///
/// Inequalities are meant as they stand. Equalities are met within 1e-6, because rounding would leave no point that meets them; see
/// [`equal_within`](Self::equal_within).
///
/// ```
/// use cbo::{Auto, CboConfig, Constrained, InitialLaw, Method, from_fn, solve};
///
/// // The point of the unit disc in which x + 2 y is least, among those with x = y.
/// let objective = Constrained::new(from_fn(2, |x: &[f64]| x[0] + 2.0 * x[1]))
///     .at_most(1.0, |x| x[0].powi(2) + x[1].powi(2))
///     .equal(0.0, |x| x[0] - x[1]);
/// let bounds = [(-2.0, 2.0); 2];
/// let config = CboConfig {
///     method: Method::Auto(Auto::default()),
///     init: InitialLaw::uniform(&bounds),
///     bounds: Some(bounds.to_vec()),
///     ..CboConfig::default()
/// };
/// let run = solve(&config, &objective, &mut ())?;
/// assert!(run.is_feasible() && run.best().violation == 0.0);
/// assert!((run.best().x[0] + 0.5f64.sqrt()).abs() < 1e-4 && (run.best().x[1] + 0.5f64.sqrt()).abs() < 1e-4);
/// # Ok::<(), cbo::SolveError>(())
/// ```
pub struct Constrained<'a, T, O> {
    objective: O,
    /// Functions, each with its one or two sides.
    functions: Vec<(Function<'a, T>, Vec<Side>)>,
}

impl<'a, T: Scalar, O: Objective<T>> Constrained<'a, T, O> {
    /// The objective, with the constraints that it has already and without others so far.
    pub fn new(objective: O) -> Self {
        Self { objective, functions: Vec::new() }
    }

    fn with(mut self, function: impl Fn(&[T]) -> T + Send + Sync + 'a, sides: &[Side]) -> Self {
        self.functions.push((Box::new(function), sides.to_vec()));
        self
    }

    /// With the constraint `function(x) <= limit`.
    pub fn at_most(self, limit: f64, function: impl Fn(&[T]) -> T + Send + Sync + 'a) -> Self {
        self.with(function, &[Side { sign: 1.0, limit, slack: 0.0 }])
    }

    /// With the constraint `function(x) >= limit`.
    pub fn at_least(self, limit: f64, function: impl Fn(&[T]) -> T + Send + Sync + 'a) -> Self {
        self.with(function, &[Side { sign: -1.0, limit, slack: 0.0 }])
    }

    /// With the constraint `low <= function(x) <= high`.
    pub fn between(self, low: f64, high: f64, function: impl Fn(&[T]) -> T + Send + Sync + 'a) -> Self {
        let side = |sign, limit| Side { sign, limit, slack: 0.0 };
        self.with(function, &[side(1.0, high), side(-1.0, low)])
    }

    /// With the constraint `function(x) = value`, within 1e-6.
    pub fn equal(self, value: f64, function: impl Fn(&[T]) -> T + Send + Sync + 'a) -> Self {
        self.equal_within(EQUALITY, value, function)
    }

    /// With the constraint `|function(x) - value| <= tolerance`.
    pub fn equal_within(self, tolerance: f64, value: f64, function: impl Fn(&[T]) -> T + Send + Sync + 'a) -> Self {
        let side = |sign| Side { sign, limit: value, slack: tolerance };
        self.with(function, &[side(1.0), side(-1.0)])
    }

    /// Writes the constraints that the objective itself has, and then these, for each row.
    fn constrain(&self, rows: Rows<'_, T>, own: &[T], out: &mut [T]) {
        let (inner, all) = (self.objective.constraints(), self.constraints());
        for (i, (row, out)) in rows.iter().zip(out.chunks_exact_mut(all.max(1))).enumerate() {
            let (first, rest) = out.split_at_mut(inner);
            first.copy_from_slice(&own[i * inner..(i + 1) * inner]);
            let mut rest = rest.iter_mut();
            for (function, sides) in &self.functions {
                let value = function(row).to_f64();
                for (side, out) in sides.iter().zip(&mut rest) {
                    *out = T::from_f64(side.sign * (value - side.limit) - side.slack);
                }
            }
        }
    }
}

impl<T: Scalar, O: Objective<T>> Objective<T> for Constrained<'_, T, O> {
    fn dim(&self) -> usize {
        self.objective.dim()
    }

    fn energies(&self, at: StepContext, rows: Rows<'_, T>, out: &mut [T]) -> Result<(), EvalError> {
        self.objective.energies(at, rows, out)
    }

    fn constraints(&self) -> usize {
        self.objective.constraints() + self.functions.iter().map(|(_, sides)| sides.len()).sum::<usize>()
    }

    fn energies_and_constraints(
        &self,
        at: StepContext,
        rows: Rows<'_, T>,
        energies: &mut [T],
        constraints: &mut [T],
    ) -> Result<(), EvalError> {
        let mut own = vec![T::default(); rows.len() * self.objective.constraints()];
        self.objective.energies_and_constraints(at, rows, energies, &mut own)?;
        self.constrain(rows, &own, constraints);
        Ok(())
    }

    fn energies_one_by_one(&self, at: StepContext, rows: Rows<'_, T>, answers: &Answers<T>) -> Result<(), EvalError> {
        if self.objective.constraints() > 0 {
            return answers.give_all(self, at, rows);
        }
        // They cost nothing beside an evaluation; whoever gives an energy finds them there.
        let mut constraints = vec![T::default(); rows.len() * self.constraints()];
        self.constrain(rows, &[], &mut constraints);
        for (row, constraints) in constraints.chunks_exact(self.constraints().max(1)).enumerate() {
            answers.constrain(row, constraints);
        }
        self.objective.energies_one_by_one(at, rows, answers)
    }

    /// Those of the energy: of its constraints nothing is known.
    fn has_gradients(&self) -> bool {
        self.objective.has_gradients()
    }

    fn gradients(&self, at: StepContext, rows: Rows<'_, T>, out: &mut [T]) -> Result<(), EvalError> {
        self.objective.gradients(at, rows, out)
    }

    fn trace(&self) -> Option<EnergyTrace> {
        self.objective.trace()
    }

    fn grouping(&self) -> Grouping {
        self.objective.grouping()
    }

    fn is_stochastic(&self) -> bool {
        self.objective.is_stochastic()
    }
}
