//! The box that particles are kept in.

use crate::simd::{Kernel, Scalar, Vector};

/// What happens to a coordinate that leaves its bounds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum BoundHandling {
    /// It is reflected at the walls, as often as it takes.
    #[default]
    Reflect,
    /// It stops at the wall.
    Clip,
    /// Nothing: the bounds are used only for the initial positions.
    None,
}

/// `x` reflected into [low, high] as a ball between two walls; walls at infinity are open.
///
/// ```
/// use cbo::reflect;
/// assert_eq!(reflect(0.25, 0.0, 1.0), 0.25);
/// assert_eq!(reflect(1.25, 0.0, 1.0), 0.75);
/// assert_eq!(reflect(-6.25, 0.0, 1.0), 0.25); // many boxes away
/// assert_eq!(reflect(-3.0, 1.0, f64::INFINITY), 5.0);
/// ```
pub fn reflect(x: f64, low: f64, high: f64) -> f64 {
    if low <= x && x <= high {
        return x;
    }
    if low.is_infinite() || high.is_infinite() {
        // One wall at most: the point is on its far side.
        let wall = if x < low { low } else { high };
        return (2.0 * wall - x).max(low).min(high);
    }
    let width = high - low;
    let offset = (x - low).rem_euclid(2.0 * width);
    let inside = if offset > width { high - (offset - width) } else { low + offset };
    // Rounding, and positions that are not numbers, must not leave the box. (`max` of NaN is the wall.)
    inside.max(low).min(high)
}

/// Bounds in the precision of a run.
#[derive(Debug)]
pub struct Walls<T> {
    low: Vec<T>,
    high: Vec<T>,
    handling: BoundHandling,
}

impl<T: Scalar> Walls<T> {
    /// `None` where there is nothing to keep.
    pub(crate) fn new(bounds: Option<&[(f64, f64)]>, handling: BoundHandling) -> Option<Self> {
        let bounds = bounds.filter(|_| handling != BoundHandling::None)?;
        let side = |pick: fn(&(f64, f64)) -> f64| bounds.iter().map(|b| T::from_f64(pick(b))).collect();
        Some(Self { low: side(|b| b.0), high: side(|b| b.1), handling })
    }

    /// The bounds of each coordinate, below and above.
    pub(crate) fn sides(&self) -> (&[T], &[T]) {
        (&self.low, &self.high)
    }

    /// What happens at them.
    pub(crate) fn handling(&self) -> BoundHandling {
        self.handling
    }

    /// Brings the rows inside, as a kernel.
    pub(crate) fn confine<'a>(&'a self, rows: &'a mut [T]) -> impl Kernel<T, Output = ()> + 'a {
        Confine { walls: self, rows }
    }
}

struct Confine<'a, T> {
    walls: &'a Walls<T>,
    rows: &'a mut [T],
}

impl<T: Scalar> Kernel<T> for Confine<'_, T> {
    type Output = ();
    #[inline(always)]
    fn run<V: Vector<Scalar = T>>(self) {
        let Walls { low, high, handling } = self.walls;
        for row in self.rows.chunks_exact_mut(low.len()) {
            for (k, chunk) in row.chunks_mut(V::LANES).enumerate() {
                let (from, to) = (k * V::LANES, k * V::LANES + chunk.len());
                let (x, l, h) =
                    (V::load_partial(chunk), V::load_partial(&low[from..to]), V::load_partial(&high[from..to]));
                // 1 for lanes outside; 0 x makes it NaN for lanes that are not numbers.
                let (zero, one) = (V::constant(0.0), V::constant(1.0));
                let outside = x.select_less(l, one, h.select_less(x, one, zero)) + x * 0.0;
                if outside.all_less(one) {
                    continue;
                }
                match handling {
                    BoundHandling::Clip => x.max(l).min(h).store_partial(chunk),
                    _ => {
                        for (i, x) in chunk.iter_mut().enumerate() {
                            let (l, h) = (low[from + i].to_f64(), high[from + i].to_f64());
                            *x = T::from_f64(reflect(x.to_f64(), l, h));
                        }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simd::run;

    #[test]
    fn reflection_matches_repeated_mirroring() {
        let mirrored = |mut x: f64, low: f64, high: f64| {
            while !(low..=high).contains(&x) {
                x = if x < low { 2.0 * low - x } else { 2.0 * high - x };
            }
            x
        };
        for i in -2000..2000 {
            let x = f64::from(i) * 0.0371;
            let (got, want) = (reflect(x, -1.5, 0.7), mirrored(x, -1.5, 0.7));
            assert!((got - want).abs() < 1e-12, "{x}: {got} instead of {want}");
        }
    }

    #[test]
    fn nothing_leaves_the_box() {
        for x in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e300, -1e300, f64::MAX] {
            for (low, high) in [(-5.12, 5.12), (1.0, f64::INFINITY), (f64::NEG_INFINITY, 2.0)] {
                let inside = reflect(x, low, high);
                assert!(low <= inside && inside <= high, "{x} in [{low}, {high}] gave {inside}");
            }
        }
    }

    #[test]
    fn the_kernel_treats_each_coordinate_by_its_own_walls() {
        let bounds: Vec<_> = (0..19).map(|k| (-f64::from(k) - 1.0, f64::from(k) + 1.0)).collect();
        let rows: Vec<f64> = (0..57).map(|i| f64::from(i * i) * 0.37 - 200.0).collect();
        let reflected = Walls::<f64>::new(Some(&bounds), BoundHandling::Reflect).expect("walls");
        let clipped = Walls::<f64>::new(Some(&bounds), BoundHandling::Clip).expect("walls");
        let (mut a, mut b) = (rows.clone(), rows.clone());
        run(reflected.confine(&mut a));
        run(clipped.confine(&mut b));
        for (i, x) in rows.iter().enumerate() {
            let (low, high) = bounds[i % 19];
            assert_eq!(a[i], reflect(*x, low, high));
            assert_eq!(b[i], x.clamp(low, high));
        }
    }
}
