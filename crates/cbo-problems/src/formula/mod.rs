//! Formulas: an objective from a line of text, evaluated on SIMD lanes.
//!
//! The text becomes a tree (`lexer`, `parser`, `tree`), names get their meaning (`compile`, `draft`), everything that can go wrong is
//! looked for before the first value (`check`), and what is left is a list of operations (`program`) that is walked once for all points
//! in the lanes of a vector. `docs/formula.md` has the grammar.

mod arithmetic;
mod check;
mod compile;
mod draft;
mod error;
mod lanes;
mod lexer;
mod number;
mod parser;
mod program;
mod tree;
mod words;

pub use error::{FormulaError, FormulaFault};

use crate::gradient::gradient_of;
use crate::lanes::Precision;
use cbo::simd::{InstructionSet, Real, Trace};
use cbo::{EnergyTrace, EvalError, Objective, Rows, StepContext};
use program::{Program, WIDTH};
use std::fmt;
use std::sync::Arc;
use tree::Tree;

/// Bytes of text, at most.
const MOST_BYTES: usize = 1 << 16;

/// Parentheses within each other, at most.
const MOST_DEPTH: usize = 100;

/// Sums within each other, at most.
const MOST_LOOPS: usize = 8;

/// Operations that a value may take.
const MOST_OPERATIONS: u64 = 100_000_000;

/// Operations that are written down for devices, which take far fewer.
const MOST_TRACED: u64 = 1_000_000;

/// An objective that is given as text, in a number of dimensions.
///
/// `x[1]` to `x[d]` are the coordinates; `sum(EXPRESSION)` runs over all of them, with `x` for the coordinate and `i` for its number, and
/// `sum(i, FROM, TO, EXPRESSION)` over an index. The same goes for `prod`, `mean`, `min` and `max`. Names may be given before the formula:
///
/// ```
/// use cbo::{CboConfig, solve};
/// use cbo_problems::Formula;
///
/// let rosenbrock = Formula::new("sum(i, 1, d-1, 100*(x[i+1] - x[i]^2)^2 + (1 - x[i])^2)", 2)?;
/// assert_eq!(rosenbrock.value(&[1.0, 3.0]), 400.0);
///
/// let rastrigin = Formula::new("a = 2.5; sum(x^2 + a*(1 - cos(2*pi*x)))", 4)?;
/// let plan = CboConfig { seed: 1, ..CboConfig::default() }.check(4)?;
/// let report = solve::<f64>(&plan, &rastrigin, &mut ())?;
/// assert!(report.best().value < 0.01);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Formula {
    text: String,
    constants: Vec<(String, f64)>,
    tree: Arc<Tree>,
    program: Arc<Program>,
    dim: usize,
    operations: u64,
}

impl Formula {
    /// The formula in `dim` dimensions.
    pub fn new(text: &str, dim: usize) -> Result<Self, FormulaError> {
        Self::with_constants(text, dim, &[])
    }

    /// The same, with constants that are given apart from the text.
    ///
    /// ```
    /// let bowl = cbo_problems::Formula::with_constants("a*sum(x^2)", 2, &[("a".into(), 3.0)])?;
    /// assert_eq!(bowl.value(&[1.0, 2.0]), 15.0);
    /// # Ok::<(), cbo_problems::FormulaError>(())
    /// ```
    pub fn with_constants(text: &str, dim: usize, constants: &[(String, f64)]) -> Result<Self, FormulaError> {
        if dim == 0 {
            return Err(FormulaError::whole(FormulaFault::NoCoordinates));
        }
        for (place, (name, _)) in constants.iter().enumerate() {
            check_name(name)?;
            if constants[..place].iter().any(|(before, _)| before == name) {
                return Err(FormulaError::whole(FormulaFault::Taken(name.clone())));
            }
        }
        let tree = parser::parse(text, constants.iter().map(|(name, _)| name.as_str()))?;
        let draft = compile::compile(&tree, dim, constants)?;
        let (program, operations) = check::finish(&draft, dim)?;
        let (tree, program) = (Arc::new(tree), Arc::new(program));
        Ok(Self { text: text.into(), constants: constants.to_vec(), tree, program, dim, operations })
    }

    /// The text that it was made of.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The constants that it was given.
    pub fn constants(&self) -> &[(String, f64)] {
        &self.constants
    }

    /// Number of coordinates.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// How many operations a value takes, sums over indices counted with all of their terms.
    pub fn operations(&self) -> u64 {
        self.operations
    }

    /// The value for one point (`R = f64`, by plain double-precision arithmetic), or for several, one in each lane of a vector, of which
    /// `x[k]` holds coordinate k. Operations come in the order of the formula, but what does not depend on an index is computed once,
    /// before its sum.
    ///
    /// # Panics
    /// If `x` does not have [`dim`](Self::dim) coordinates.
    pub fn value<R: Real>(&self, x: &[R]) -> R {
        assert_eq!(x.len(), self.dim, "the formula has {} coordinates", self.dim);
        let mut registers = vec![[R::constant(0.0); WIDTH]; self.program.registers];
        self.program.value(x, &mut registers)
    }

    /// Writes the gradient at one point to `out`, and returns the value: both by plain double-precision arithmetic, exact up to rounding.
    /// Where the formula has a kink the slope is that of one side, or zero.
    ///
    /// ```
    /// let formula = cbo_problems::Formula::new("sum(x^2)", 2)?;
    /// let mut slope = [0.0; 2];
    /// assert_eq!((formula.gradient(&[3.0, 4.0], &mut slope), slope), (25.0, [6.0, 8.0]));
    /// # Ok::<(), cbo_problems::FormulaError>(())
    /// ```
    ///
    /// # Panics
    /// If `x` and `out` do not have [`dim`](Self::dim) coordinates.
    pub fn gradient(&self, x: &[f64], out: &mut [f64]) -> f64 {
        assert!(x.len() == self.dim && out.len() == self.dim, "the formula has {} coordinates", self.dim);
        let value = gradient_of(|point| self.value(point), x, out);
        out.iter_mut().filter(|slope| !slope.is_finite()).for_each(|slope| *slope = 0.0);
        value
    }

    /// The energies of `rows` on a chosen instruction set (for tests and benchmarks).
    ///
    /// # Panics
    /// If the rows do not have [`dim`](Self::dim) coordinates, or `out` is not as long as there are rows.
    pub fn energies_on<T: Precision>(&self, set: InstructionSet, rows: Rows<'_, T>, out: &mut [T]) {
        assert!(rows.dim() == self.dim && rows.len() == out.len(), "the formula has {} coordinates", self.dim);
        lanes::energies(&self.program, Some(set), rows, out);
    }
}

/// Refuses a name that a constant cannot have.
fn check_name(name: &str) -> Result<(), FormulaError> {
    let letters = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let is_name = name.chars().all(letters) && name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    let fault = match () {
        () if !is_name => FormulaFault::NotAName(name.chars().filter(|c| !c.is_control()).take(60).collect()),
        () if name.len() > lexer::LONGEST_NAME => FormulaFault::LongName,
        () if words::is_reserved(name) || name == "i" => FormulaFault::Taken(name.into()),
        () => return Ok(()),
    };
    Err(FormulaError::whole(fault))
}

/// Two formulas are the same if they say the same in the same dimension, however they are spaced.
impl PartialEq for Formula {
    fn eq(&self, other: &Self) -> bool {
        self.dim == other.dim && self.tree == other.tree && self.constants == other.constants
    }
}

/// The formula with the fewest parentheses.
impl fmt::Display for Formula {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.tree.fmt(f)
    }
}

impl fmt::Debug for Formula {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Formula").field("text", &self.text).field("dim", &self.dim).finish_non_exhaustive()
    }
}

/// On SIMD lanes, in single and in double precision.
impl<T: Precision> Objective<T> for Formula {
    fn dim(&self) -> usize {
        self.dim
    }

    fn energies(&self, _at: StepContext, rows: Rows<'_, T>, out: &mut [T]) -> Result<(), EvalError> {
        if rows.dim() != self.dim || rows.len() != out.len() {
            let (dim, points, room) = (rows.dim(), rows.len(), out.len());
            let message = format!(
                "the formula has {} coordinates, the points have {dim}; {points} points, room for {room} energies",
                self.dim
            );
            return Err(EvalError::new(message));
        }
        lanes::energies(&self.program, None, rows, out);
        Ok(())
    }

    fn trace(&self) -> Option<EnergyTrace> {
        let operations = || Trace::of(self.dim, |x| self.value(x));
        (self.operations <= MOST_TRACED).then(|| EnergyTrace { operations: operations(), vanishing: None })
    }

    fn has_gradients(&self) -> bool {
        true
    }

    fn gradients(&self, _at: StepContext, rows: Rows<'_, T>, out: &mut [T]) -> Result<(), EvalError> {
        let (mut x, mut slope) = (vec![0.0; self.dim], vec![0.0; self.dim]);
        for (row, out) in rows.iter().zip(out.chunks_exact_mut(self.dim)) {
            x.iter_mut().zip(row).for_each(|(x, v)| *x = v.to_f64());
            self.gradient(&x, &mut slope);
            out.iter_mut().zip(&slope).for_each(|(out, s)| *out = T::from_f64(*s));
        }
        Ok(())
    }
}
