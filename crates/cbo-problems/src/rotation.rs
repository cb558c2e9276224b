//! Random rotations: orthogonal matrices from the Haar measure, by Householder QR of a matrix of normals.

use cbo::noise::{Noise, Stream, padded, scratch_len};
use std::ops::ControlFlow;

/// The step of the noise that rotations use; shifts use another.
const STEP: u64 = 1;

/// A random orthogonal matrix, distributed uniformly (Haar measure on the orthogonal group, reflections included).
///
/// The Q of a QR decomposition of normals is uniform once the signs make the diagonal of R positive (Mezzadri 2007,
/// Notices of the AMS 54, 592).
#[derive(Clone, Debug, PartialEq)]
pub struct Rotation {
    dim: usize,
    /// Row-major.
    entries: Vec<f64>,
}

impl Rotation {
    /// The rotation of `dim` dimensions that belongs to `seed`.
    pub fn random(dim: usize, seed: u64) -> Self {
        let whole = Self::watched(dim, seed, &mut || ControlFlow::Continue(()));
        whole.unwrap_or_else(|| unreachable!("nobody breaks off"))
    }

    /// The same; nothing if `watch`, which is asked before each column, breaks off.
    pub(crate) fn watched(dim: usize, seed: u64, watch: &mut dyn FnMut() -> ControlFlow<()>) -> Option<Self> {
        let mut normals = vec![0.0; scratch_len(dim, dim)];
        Noise::new(seed, Stream::Problem, STEP).fill_normals(0, dim, dim, &mut normals);
        // Stored by columns, each reflector then works on contiguous numbers; the transpose of normals is normal too.
        let columns = normals.chunks_exact(padded(dim)).take(dim).map(|column| column[..dim].to_vec()).collect();
        Some(Self { dim, entries: orthogonal_factor(columns, watch)? })
    }

    /// Number of dimensions.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// Row i of the matrix.
    pub fn row(&self, i: usize) -> &[f64] {
        &self.entries[i * self.dim..(i + 1) * self.dim]
    }

    /// The matrix times `vector`.
    pub fn apply(&self, vector: &[f64]) -> Vec<f64> {
        self.entries.chunks_exact(self.dim).map(|row| dot(row, vector)).collect()
    }

    /// The inverse (the transpose) times `vector`.
    pub fn apply_inverse(&self, vector: &[f64]) -> Vec<f64> {
        let mut result = vec![0.0; self.dim];
        for (row, v) in self.entries.chunks_exact(self.dim).zip(vector) {
            add_multiple(&mut result, *v, row);
        }
        result
    }
}

/// Q of the matrix with these columns, the diagonal of R made positive; row-major. Nothing if `watch` breaks off.
fn orthogonal_factor(mut columns: Vec<Vec<f64>>, watch: &mut dyn FnMut() -> ControlFlow<()>) -> Option<Vec<f64>> {
    let dim = columns.len();
    let mut signs = vec![1.0; dim];
    // Afterwards column k holds, from place k on, the unit normal of the k-th reflector I - 2 v v^T.
    for k in 0..dim {
        if watch().is_break() {
            return None;
        }
        let (done, rest) = columns.split_at_mut(k + 1);
        let normal = &mut done[k][k..];
        let length = dot(normal, normal).sqrt();
        // The reflector maps the column to sign length e_k, the diagonal of R; this choice of sign avoids cancellation.
        signs[k] = if normal[0] < 0.0 { 1.0 } else { -1.0 };
        normal[0] -= signs[k] * length;
        let scale = dot(normal, normal).sqrt().recip();
        normal.iter_mut().for_each(|v| *v *= scale);
        for column in rest {
            reflect(normal, &mut column[k..]);
        }
    }
    let mut entries = vec![0.0; dim * dim];
    for j in 0..dim {
        if watch().is_break() {
            return None;
        }
        // Column j of Q: the reflectors applied, last first, to the unit vector e_j, and the sign of R's diagonal.
        let mut column = vec![0.0; dim];
        column[j] = signs[j];
        for k in (0..=j).rev() {
            reflect(&columns[k][k..], &mut column[k..]);
        }
        for (i, v) in column.iter().enumerate() {
            entries[i * dim + j] = *v;
        }
    }
    Some(entries)
}

/// Reflects `vector` at the plane with this unit normal.
fn reflect(normal: &[f64], vector: &mut [f64]) {
    let along = dot(normal, vector);
    add_multiple(vector, -2.0 * along, normal);
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

fn add_multiple(to: &mut [f64], factor: f64, from: &[f64]) {
    for (t, f) in to.iter_mut().zip(from) {
        *t += factor * f;
    }
}
