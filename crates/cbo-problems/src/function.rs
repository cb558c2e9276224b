//! What a benchmark function is: its formula and what is known about it.

use cbo::simd::Real;
use std::fmt;

/// The dimensions in which a function is defined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dims {
    /// This many or more.
    AtLeast(usize),
    /// This many and no other.
    Exactly(usize),
}

impl Dims {
    /// Whether the function is defined in `dim` dimensions.
    pub fn contains(self, dim: usize) -> bool {
        match self {
            Self::AtLeast(least) => dim >= least,
            Self::Exactly(only) => dim == only,
        }
    }
}

impl fmt::Display for Dims {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AtLeast(1) => write!(f, "any"),
            Self::AtLeast(least) => write!(f, "at least {least}"),
            Self::Exactly(only) => write!(f, "{only}"),
        }
    }
}

/// A number in a formula that the user may choose.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parameter {
    /// Its name.
    pub name: &'static str,
    /// What it does.
    pub meaning: &'static str,
    /// Its value when the user chooses none.
    pub default: f64,
    /// The least value allowed.
    pub least: f64,
    /// The largest value allowed.
    pub most: f64,
}

/// What is known about a function.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Info {
    /// The name by which users choose it: lower case, words joined by dashes.
    pub name: &'static str,
    /// The name for tables and figures.
    pub title: &'static str,
    /// The formula, in one line of plain text.
    pub formula: &'static str,
    /// The dimensions in which it is defined.
    pub dims: Dims,
    /// Where to search: low and high of each coordinate, or one pair for all.
    pub domain: &'static [(f64, f64)],
    /// Whether the minimum is the minimum only within the domain. Points outside are then infeasible: their energy is
    /// infinite. The minimum of any other function is its minimum over the whole space.
    pub confined: bool,
    /// The minimum and where it is, in words.
    pub optimum: &'static str,
    /// Author, year and DOI or title.
    pub source: &'static str,
    /// The numbers in the formula that the user may choose.
    pub parameters: &'static [Parameter],
}

impl Info {
    /// Low and high of each of `dim` coordinates.
    pub fn domain_in(&self, dim: usize) -> Vec<(f64, f64)> {
        (0..dim).map(|k| self.domain[k.min(self.domain.len() - 1)]).collect()
    }

    /// The dimension of a function of fixed dimension.
    pub fn default_dim(&self) -> Option<usize> {
        match self.dims {
            Dims::AtLeast(_) => None,
            Dims::Exactly(only) => Some(only),
        }
    }
}

/// A benchmark function.
///
/// ```
/// use cbo::simd::Real;
/// use cbo_problems::{Dims, Function, Info, Problem};
///
/// /// The sum of fourth powers.
/// #[derive(Default)]
/// struct Quartic;
///
/// impl Function for Quartic {
///     const INFO: Info = Info {
///         name: "quartic",
///         title: "Quartic",
///         formula: "sum_k x_k^4",
///         dims: Dims::AtLeast(1),
///         domain: &[(-1.0, 1.0)],
///         confined: false,
///         optimum: "0 at the origin",
///         source: "this example",
///         parameters: &[],
///     };
///
///     fn minimisers(&self, dim: usize) -> Vec<Vec<f64>> {
///         vec![vec![0.0; dim]]
///     }
///
///     #[inline(always)]
///     fn value<R: Real>(&self, x: &[R]) -> R {
///         let mut sum = R::constant(0.0);
///         for &v in x {
///             sum = sum + v.powi(4);
///         }
///         sum
///     }
/// }
///
/// let problem = Problem::builder_of::<Quartic>().dim(2).build()?;
/// assert_eq!(problem.value(&[1.0, 2.0]), 17.0);
/// # Ok::<(), cbo_problems::ProblemError>(())
/// ```
pub trait Function: Default + Send + Sync + 'static {
    /// What is known about it.
    const INFO: Info;

    /// The constraints that a point has to meet besides lying in the domain, in plain text: `x + y <= 1`.
    const CONSTRAINTS: &'static [&'static str] = &[];

    /// Whether coordinates near zero count by their squares, or less. Those below 1e-153 (1e-18 in `f32`) may then be taken for zero,
    /// which spares processors subnormal numbers where a swarm has gathered at the origin.
    const FLAT_AT_ZERO: bool = false;

    /// The function with these values of its parameters, in the order of [`Info::parameters`], each within its range.
    fn with_parameters(values: &[f64]) -> Self {
        assert!(values.is_empty(), "{} has parameters but does not take them", Self::INFO.name);
        Self::default()
    }

    /// The minimum in `dim` dimensions, under the constraints if there are any: 0 unless said otherwise.
    fn minimum(&self, dim: usize) -> f64 {
        let _ = dim;
        0.0
    }

    /// The points of the domain with the least value: all of them where they are few, else the best known.
    fn minimisers(&self, dim: usize) -> Vec<Vec<f64>>;

    /// The minimiser nearest to `x` in the maximum norm; to be overridden where [`minimisers`](Self::minimisers) does
    /// not list all.
    fn nearest_minimiser(&self, x: &[f64]) -> Vec<f64> {
        let mut all = self.minimisers(x.len());
        let distance = |m: &[f64]| m.iter().zip(x).fold(0.0f64, |far, (a, b)| far.max((a - b).abs()));
        let nearest = (0..all.len()).min_by(|&a, &b| distance(&all[a]).total_cmp(&distance(&all[b])));
        all.swap_remove(nearest.expect("a function has a minimiser"))
    }

    /// The formula: for one point (`R = f64`), or for several, one in each lane of a vector, of which `x[k]` holds
    /// coordinate k.
    ///
    /// Mark it `#[inline(always)]` and write loops, not closures: only then is it compiled for each instruction set.
    fn value<R: Real>(&self, x: &[R]) -> R;

    /// Writes the [constraints](Self::CONSTRAINTS), each with everything on one side: met where it is zero or less. For one point or for
    /// several, as [`value`](Self::value).
    fn constraints<R: Real>(&self, x: &[R], g: &mut [R]) {
        let _ = x;
        assert!(g.is_empty(), "{} has constraints but does not say which", Self::INFO.name);
    }
}
