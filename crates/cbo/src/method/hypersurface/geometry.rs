//! The surfaces themselves: tangent spaces and nearest points, in plain double precision. `room` has twice the length of a point.

use super::{FrameFactor, Hypersurface, level};
use crate::config::CboConfig;
use crate::method::sphere::Sphere;

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

impl Hypersurface {
    /// Leaves of `step` its part in the tangent space at `point`, which lies on the surface.
    pub(super) fn project(&self, config: &CboConfig, point: &[f64], step: &mut [f64], room: &mut [f64]) {
        match *self {
            Self::Sphere { radius } => without(point, radius * radius, step),
            Self::Torus { major, .. } => {
                let normal = &mut room[..3];
                let middle = on_circle(major, point);
                (0..3).for_each(|k| normal[k] = point[k] - middle[k]);
                let square = dot(normal, normal);
                without(normal, square, step);
            }
            Self::Stiefel { columns, .. } => tangent_of_frames(columns, point, step, room),
            Self::Level => {
                let (normal, room) = room.split_at_mut(point.len());
                level::gradient(config, point, normal, room);
                let square = dot(normal, normal);
                without(normal, square, step);
            }
        }
    }

    /// Makes `point` the nearest one on the surface, or one next to it, or where another factor leads; says whether it could.
    pub(super) fn nearest(&self, config: &CboConfig, point: &mut [f64], room: &mut [f64]) -> bool {
        match *self {
            Self::Sphere { radius } => {
                Sphere { radius }.land(point);
                true
            }
            Self::Torus { major, minor } => {
                nearest_of_torus(major, minor, point);
                true
            }
            Self::Stiefel { columns, factor: FrameFactor::Polar } => nearest_frame(columns, point, room),
            Self::Stiefel { columns, factor: FrameFactor::Qr } => triangular_frame(columns, point),
            Self::Level => level::nearest(config, point, room),
        }
    }
}

/// Takes from `step` its part along `normal`, the square of whose length is given.
fn without(normal: &[f64], square: f64, step: &mut [f64]) {
    let share = dot(normal, step) / square;
    if share.is_finite() {
        step.iter_mut().zip(normal).for_each(|(s, n)| *s -= share * n);
    }
}

/// The point of the circle in the middle of a torus that is nearest to `point`.
fn on_circle(major: f64, point: &[f64]) -> [f64; 3] {
    let distance = (point[0] * point[0] + point[1] * point[1]).sqrt();
    // Any will do for a point on the axis.
    if distance > 0.0 { [major * (point[0] / distance), major * (point[1] / distance), 0.0] } else { [major, 0.0, 0.0] }
}

fn nearest_of_torus(major: f64, minor: f64, point: &mut [f64]) {
    let middle = on_circle(major, point);
    let mut normal = [0, 1, 2].map(|k| point[k] - middle[k]);
    let mut length = dot(&normal, &normal).sqrt();
    if length == 0.0 {
        (normal, length) = ([0.0, 0.0, 1.0], 1.0);
    }
    (0..3).for_each(|k| point[k] = middle[k] + minor * (normal[k] / length));
}

/// `gram = A^T B` of matrices with so many columns.
fn gram(columns: usize, a: &[f64], b: &[f64], gram: &mut [f64]) {
    gram.fill(0.0);
    for (a, b) in a.chunks_exact(columns).zip(b.chunks_exact(columns)) {
        for (i, a) in a.iter().enumerate() {
            gram[i * columns..][..columns].iter_mut().zip(b).for_each(|(g, b)| *g += a * b);
        }
    }
}

/// `Z - V sym(V^T Z)`.
fn tangent_of_frames(columns: usize, frame: &[f64], step: &mut [f64], room: &mut [f64]) {
    let products = &mut room[..columns * columns];
    gram(columns, frame, step, products);
    for (v, z) in frame.chunks_exact(columns).zip(step.chunks_exact_mut(columns)) {
        for (j, z) in z.iter_mut().enumerate() {
            let product = |(i, v): (usize, &f64)| v * (products[i * columns + j] + products[j * columns + i]);
            *z -= 0.5 * v.iter().enumerate().map(product).sum::<f64>();
        }
    }
}

/// The orthogonal factor of the polar decomposition, which is the nearest matrix with orthonormal columns: Newton and Schulz's iteration
/// `A+ = A (3 - A^T A) / 2`, which takes every singular value between 0 and sqrt(3) to 1.
fn nearest_frame(columns: usize, frame: &mut [f64], room: &mut [f64]) -> bool {
    /// Each of them makes small singular values larger by half, and squares the distance from 1 of others.
    const MOST: usize = 120;
    let (products, row) = room.split_at_mut(columns * columns);
    let row = &mut row[..columns];
    gram(columns, frame, frame, products);
    // No singular value is larger than the root of this, which is 1 for orthonormal columns.
    let bound = products.chunks_exact(columns).map(|row| row.iter().map(|g| g.abs()).sum()).fold(0.0, f64::max);
    let scale = 1.0 / bound.sqrt();
    if !(scale > 0.0 && scale.is_finite()) {
        return false;
    }
    frame.iter_mut().for_each(|a| *a *= scale);
    let mut before = f64::INFINITY;
    for _ in 0..MOST {
        gram(columns, frame, frame, products);
        let identity = |at: usize| f64::from(u8::from(at / columns == at % columns));
        let off = products.iter().enumerate().map(|(at, g)| (g - identity(at)).abs()).fold(0.0, f64::max);
        // What is left is rounding.
        if off < 1e-15 || (off < 1e-12 && off >= 0.5 * before) {
            return true;
        }
        before = off;
        for a in frame.chunks_exact_mut(columns) {
            for (j, new) in row.iter_mut().enumerate() {
                let product: f64 = a.iter().enumerate().map(|(i, a)| a * products[i * columns + j]).sum();
                *new = 1.5 * a[j] - 0.5 * product;
            }
            a.copy_from_slice(row);
        }
    }
    false
}

/// The orthogonal factor of the QR decomposition, by Gram and Schmidt's process: each column twice, since what is left of a column that nearly
/// depends on those before it has lost many digits.
fn triangular_frame(columns: usize, frame: &mut [f64]) -> bool {
    for j in 0..columns {
        let squares = |frame: &[f64]| frame.chunks_exact(columns).map(|row| row[j] * row[j]).sum::<f64>();
        let before = squares(frame).sqrt();
        for i in (0..j).chain(0..j) {
            let share: f64 = frame.chunks_exact(columns).map(|row| row[i] * row[j]).sum();
            frame.chunks_exact_mut(columns).for_each(|row| row[j] -= share * row[i]);
        }
        let length = squares(frame).sqrt();
        // What is left of a column that depends on the others is rounding.
        if !(length > 1e-12 * before && length.is_finite()) {
            return false;
        }
        frame.chunks_exact_mut(columns).for_each(|row| row[j] /= length);
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `Q^T A`.
    fn product(columns: usize, q: &[f64], a: &[f64]) -> Vec<f64> {
        let mut product = vec![0.0; columns * columns];
        gram(columns, q, a, &mut product);
        product
    }

    #[test]
    fn the_factors_of_a_matrix() {
        for (rows, columns) in [(1, 1), (5, 1), (4, 2), (6, 3), (4, 4), (30, 5)] {
            let matrix: Vec<f64> = (0..rows * columns).map(|i| ((i * i * 7 + 3 * i + 1) as f64 * 0.61).sin()).collect();
            let (mut polar, mut triangular) = (matrix.clone(), matrix.clone());
            assert!(nearest_frame(columns, &mut polar, &mut vec![0.0; 2 * rows * columns]));
            assert!(triangular_frame(columns, &mut triangular));
            for frame in [&polar, &triangular] {
                for (at, entry) in product(columns, frame, frame).iter().enumerate() {
                    let expected = f64::from(u8::from(at / columns == at % columns));
                    assert!((entry - expected).abs() < 1e-13, "{rows} x {columns}: {entry}");
                }
            }
            let (p, r) = (product(columns, &polar, &matrix), product(columns, &triangular, &matrix));
            for (i, j) in (0..columns).flat_map(|i| (0..columns).map(move |j| (i, j))) {
                // One is symmetric, the other an upper triangle with a positive diagonal.
                assert!((p[i * columns + j] - p[j * columns + i]).abs() < 1e-12);
                assert!(if i > j { r[i * columns + j].abs() < 1e-12 } else { i < j || r[i * columns + j] > 0.0 });
            }
        }
    }

    #[test]
    fn columns_that_depend_on_each_other_have_no_triangle() {
        let mut twice = [1.0, 2.0, 3.0, 6.0, -1.0, -2.0];
        assert!(!triangular_frame(2, &mut twice));
        assert!(!triangular_frame(1, &mut [0.0, 0.0]));
        assert!(!triangular_frame(1, &mut [f64::NAN, 0.0]));
        // Columns that differ in their tenth digit have one.
        let mut nearly = [1.0, 1.0, 1.0, 1.0 + 1e-10, 1.0, 1.0];
        assert!(triangular_frame(2, &mut nearly));
        assert!(product(2, &nearly, &nearly)[1].abs() < 1e-13);
    }
}
