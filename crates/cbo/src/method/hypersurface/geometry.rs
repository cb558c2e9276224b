//! The surfaces themselves: tangent spaces and nearest points, in plain double precision. `room` has twice the length of a point.

use super::{Hypersurface, level};
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
            Self::Stiefel { columns } => tangent_of_frames(columns, point, step, room),
            Self::Level => {
                let (normal, room) = room.split_at_mut(point.len());
                level::gradient(config, point, normal, room);
                let square = dot(normal, normal);
                without(normal, square, step);
            }
        }
    }

    /// Makes `point` the nearest one on the surface, or one next to it; says whether it could.
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
            Self::Stiefel { columns } => nearest_frame(columns, point, room),
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
