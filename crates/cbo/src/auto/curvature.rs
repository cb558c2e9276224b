//! The curvature at a minimum, from points around it.

use super::model::{Frame, Kind, Model, fill};
use super::regression::Sample;
use crate::matrix::cholesky::cholesky;
use crate::matrix::linear::{solve_lower, solve_lower_transposed, square};
use crate::matrix::symmetric::add_squares;

/// What is added to each entry of the diagonal, relative to it.
const RIDGE: f64 = 1e-14;

/// The inverse of the curvature of the values at the points, row by row: that of the quadratic function which fits them best. `frame` has its
/// origin at the best point. A point counts the less the further it is away, because a function is quadratic only near its minimum;
/// so much less that points of all distances together, as a run leaves them, leave the equations well conditioned. `None` if they have no solution, or none
/// that is a minimum.
pub(super) fn inverse_curvature<'a>(
    frame: &Frame,
    least: f64,
    points: impl Iterator<Item = &'a Sample>,
) -> Option<Vec<f64>> {
    let dim = frame.mean.len();
    let terms = Kind::Full.terms(dim);
    let (mut rows, mut weights, mut right) = (Vec::new(), Vec::new(), vec![0.0; terms]);
    for sample in points {
        let mut point = sample.point.clone();
        frame.enter(&mut point);
        let from = rows.len();
        rows.resize(from + terms, 0.0);
        fill(Kind::Full, &point, &mut rows[from..]);
        let weight = (1.0 + square(&point) / dim as f64).powi(-3);
        weights.push(weight);
        let factor = weight * (sample.value - least);
        right.iter_mut().zip(&rows[from..]).for_each(|(r, x)| *r += factor * x);
    }
    let mut matrix = vec![0.0; terms * terms];
    add_squares(terms, &mut matrix, &rows, &weights);
    (0..terms).for_each(|k| matrix[k * terms + k] *= 1.0 + RIDGE);
    if !cholesky(terms, &mut matrix) {
        return None;
    }
    solve_lower(terms, &matrix, &mut right);
    solve_lower_transposed(terms, &matrix, &mut right);
    let model = Model::new(Kind::Full, dim, &right);
    let inverse = frame.shape.covariance(Some(&model.curvature))?;
    Some(inverse.into_iter().map(|v| frame.step * frame.step * v).collect())
}
