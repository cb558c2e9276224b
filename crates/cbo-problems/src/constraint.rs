//! Constraints that can be put on any function, as examples: each is a line of text.

use cbo::numbers::plain;
use cbo::{Constrained, Objective, Scalar};
use std::fmt;
use std::str::FromStr;

/// How far an equality may be missed: as much as in [`Constrained::equal`].
const EQUALITY: f64 = 1e-6;

/// A constraint on a point of any dimension, about its distance from the origin or about the sum of its coordinates.
///
/// ```
/// use cbo_problems::Constraint;
///
/// let ring: Constraint = "ring:1,2".parse()?;
/// assert_eq!(ring.violation(&[0.0, 1.5]), 0.0);
/// assert_eq!(ring.violation(&[3.0, 0.0]), 1.0);
/// assert_eq!("sum>=1".parse::<Constraint>()?.to_string(), "sum>=1");
/// # Ok::<(), cbo_problems::ConstraintError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Constraint {
    /// `ball:R`: no further than R from the origin.
    Ball(f64),
    /// `hole:R`: no nearer than R to the origin.
    Hole(f64),
    /// `ring:R,S`: both.
    Ring(f64, f64),
    /// `sphere:R`: at the distance R from the origin, within 1e-6.
    Sphere(f64),
    /// `sum<=C`: the sum of the coordinates.
    SumAtMost(f64),
    /// `sum>=C`.
    SumAtLeast(f64),
    /// `sum=C`, within 1e-6.
    SumEqual(f64),
}

/// A text that is no [`Constraint`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text}: {remedy}")]
pub struct ConstraintError {
    /// The text.
    pub text: String,
    /// What would be right.
    pub remedy: &'static str,
}

impl Constraint {
    /// Every kind, with what it means, for help texts.
    pub const KINDS: [(&'static str, &'static str); 7] = [
        ("ball:R", "|x| <= R"),
        ("hole:R", "|x| >= R"),
        ("ring:R,S", "R <= |x| <= S"),
        ("sphere:R", "|x| = R, within 1e-6"),
        ("sum<=C", "x1 + ... + xd <= C"),
        ("sum>=C", "x1 + ... + xd >= C"),
        ("sum=C", "x1 + ... + xd = C, within 1e-6"),
    ];

    /// Low and high of what it is about.
    fn limits(self) -> (f64, f64) {
        let (least, most) = (f64::NEG_INFINITY, f64::INFINITY);
        match self {
            Self::Ball(r) | Self::SumAtMost(r) => (least, r),
            Self::Hole(r) | Self::SumAtLeast(r) => (r, most),
            Self::Ring(r, s) => (r, s),
            Self::Sphere(r) | Self::SumEqual(r) => (r - EQUALITY, r + EQUALITY),
        }
    }

    /// What it is about: the distance from the origin, or the sum of the coordinates.
    fn subject(self) -> fn(&mut dyn Iterator<Item = f64>) -> f64 {
        match self {
            Self::Ball(_) | Self::Hole(_) | Self::Ring(..) | Self::Sphere(_) => {
                |x| x.map(|v| v * v).sum::<f64>().sqrt()
            }
            Self::SumAtMost(_) | Self::SumAtLeast(_) | Self::SumEqual(_) => |x| x.sum(),
        }
    }

    /// How far a point violates it; 0 if it is met.
    pub fn violation(self, x: &[f64]) -> f64 {
        let (value, (low, high)) = (self.subject()(&mut x.iter().copied()), self.limits());
        (value - high).max(low - value).max(0.0)
    }

    /// The objective under this constraint, too.
    pub fn put_on<'a, T: Scalar, O: Objective<T>>(self, objective: Constrained<'a, T, O>) -> Constrained<'a, T, O> {
        let subject = self.subject();
        let function = move |x: &[T]| T::from_f64(subject(&mut x.iter().map(|v| v.to_f64())));
        match self.limits() {
            (low, f64::INFINITY) => objective.at_least(low, function),
            (f64::NEG_INFINITY, high) => objective.at_most(high, function),
            (low, high) => objective.between(low, high, function),
        }
    }
}

impl fmt::Display for Constraint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ball(r) => write!(f, "ball:{}", plain(*r)),
            Self::Hole(r) => write!(f, "hole:{}", plain(*r)),
            Self::Ring(r, s) => write!(f, "ring:{},{}", plain(*r), plain(*s)),
            Self::Sphere(r) => write!(f, "sphere:{}", plain(*r)),
            Self::SumAtMost(c) => write!(f, "sum<={}", plain(*c)),
            Self::SumAtLeast(c) => write!(f, "sum>={}", plain(*c)),
            Self::SumEqual(c) => write!(f, "sum={}", plain(*c)),
        }
    }
}

impl FromStr for Constraint {
    type Err = ConstraintError;

    fn from_str(text: &str) -> Result<Self, ConstraintError> {
        let refuse = |remedy| Err(ConstraintError { text: text.trim().into(), remedy });
        let number = |text: &str| text.trim().parse::<f64>().ok().filter(|value| value.is_finite());
        let squeezed: String = text.chars().filter(|c| !c.is_whitespace()).collect();
        if let Some(rest) = squeezed.strip_prefix("sum") {
            let signs = ["<=", ">=", "="];
            let found = signs.iter().find_map(|sign| Some((*sign, number(rest.strip_prefix(sign)?))));
            return match found {
                Some(("<=", Some(limit))) => Ok(Self::SumAtMost(limit)),
                Some((">=", Some(limit))) => Ok(Self::SumAtLeast(limit)),
                Some((_, Some(limit))) => Ok(Self::SumEqual(limit)),
                _ => refuse("give sum<=C, sum>=C or sum=C with a number C"),
            };
        }
        let Some((kind, rest)) = squeezed.split_once(':') else {
            return refuse("give ball:R, hole:R, ring:R,S, sphere:R, sum<=C, sum>=C or sum=C");
        };
        let radii: Option<Vec<f64>> = rest.split(',').map(number).collect();
        match (kind, radii.as_deref()) {
            ("ball", Some(&[r])) if r > 0.0 => Ok(Self::Ball(r)),
            ("hole", Some(&[r])) if r > 0.0 => Ok(Self::Hole(r)),
            ("sphere", Some(&[r])) if r > 0.0 => Ok(Self::Sphere(r)),
            ("ring", Some(&[r, s])) if 0.0 <= r && r < s => Ok(Self::Ring(r, s)),
            ("ball" | "hole" | "sphere", _) => refuse("give one radius, a positive number"),
            ("ring", _) => refuse("give two radii R,S with 0 <= R < S"),
            _ => refuse("give ball:R, hole:R, ring:R,S, sphere:R, sum<=C, sum>=C or sum=C"),
        }
    }
}
