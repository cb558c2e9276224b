//! Surfaces of a user: where a function is zero.

use crate::config::CboConfig;
use std::fmt::{self, Debug, Formatter};
use std::sync::Arc;

/// A function whose zeros are a surface. Closures of a point are such functions.
pub trait Level: Send + Sync {
    /// Its value at a point.
    fn level(&self, x: &[f64]) -> f64;

    /// Writes its gradient to `out`, if it is known; says whether it is. Otherwise central differences take its place. It must not vanish on the
    /// surface.
    fn gradient(&self, _x: &[f64], _out: &mut [f64]) -> bool {
        false
    }
}

impl<F: Fn(&[f64]) -> f64 + Send + Sync> Level for F {
    fn level(&self, x: &[f64]) -> f64 {
        self(x)
    }
}

/// The surface on which a [level function](Level) is zero, for [`CboConfig::surface`]. A copy is the same surface and costs nothing.
///
/// ```
/// use cbo::{CboConfig, Hypersurface, Method, Surface, from_fn, solve};
///
/// let ellipse = Surface::new(|x: &[f64]| x[0] * x[0] + 4.0 * x[1] * x[1] - 4.0);
/// let config = CboConfig { surface: Some(ellipse), ..CboConfig::of(Method::Hypersurface(Hypersurface::Level)) };
/// let run = solve(&config, &from_fn(2, |x: &[f64]| (x[0] - 1.0).powi(2) + (x[1] - 3.0).powi(2)), &mut ())?;
/// let x = &run.best().x;
/// assert!((x[0] * x[0] + 4.0 * x[1] * x[1] - 4.0).abs() < 1e-12);
/// # Ok::<(), cbo::SolveError>(())
/// ```
#[derive(Clone)]
pub struct Surface(Arc<dyn Level>);

impl Surface {
    /// The zeros of `level`.
    pub fn new(level: impl Level + 'static) -> Self {
        Self(Arc::new(level))
    }
}

impl Debug for Surface {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("Surface")
    }
}

/// Whether it is the same function, not whether it has the same zeros.
impl PartialEq for Surface {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// Writes the gradient at `point` to `out`, by central differences if nobody knows it.
pub(super) fn gradient(config: &CboConfig, point: &[f64], out: &mut [f64], room: &mut [f64]) {
    /// The third root of the rounding: where both errors of a central difference are about the same.
    const STEP: f64 = 6e-6;
    let Some(Surface(level)) = &config.surface else { return };
    if level.gradient(point, out) {
        return;
    }
    let moved = &mut room[..point.len()];
    moved.copy_from_slice(point);
    for k in 0..point.len() {
        let (above, below) = (point[k] + STEP * point[k].abs().max(1.0), point[k] - STEP * point[k].abs().max(1.0));
        let mut at = |x: f64| {
            moved[k] = x;
            level.level(moved)
        };
        out[k] = (at(above) - at(below)) / (above - below);
        moved[k] = point[k];
    }
}

/// Newton's iteration along the gradient.
pub(super) fn nearest(config: &CboConfig, point: &mut [f64], room: &mut [f64]) -> bool {
    const MOST: usize = 60;
    let Some(Surface(level)) = &config.surface else { return false };
    let (normal, room) = room.split_at_mut(point.len());
    let mut before = f64::INFINITY;
    for _ in 0..MOST {
        let value = level.level(point);
        if value == 0.0 {
            return true;
        }
        gradient(config, point, normal, room);
        let square: f64 = normal.iter().map(|n| n * n).sum();
        let share = value / square;
        if !share.is_finite() {
            return false;
        }
        let size = 1.0 + point.iter().fold(0.0, |a: f64, x| a.max(x.abs()));
        let length = share.abs() * square.sqrt() / size;
        // What is left is rounding.
        if length < 1e-16 || (length < 1e-12 && length >= 0.5 * before) {
            return true;
        }
        before = length;
        point.iter_mut().zip(&*normal).for_each(|(x, n)| *x -= share * n);
    }
    false
}
