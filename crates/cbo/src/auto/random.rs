//! Random numbers of one phase.

use crate::noise::{Noise, Stream, padded, scratch_len};

/// A sequence of its own for each phase: what one draws does not depend on what the others do.
#[derive(Debug)]
pub(super) struct Random {
    seed: u64,
    phase: u64,
    calls: u64,
    scratch: Vec<f64>,
}

impl Random {
    pub fn new(seed: u64, phase: u64) -> Self {
        Self { seed, phase, calls: 0, scratch: Vec::new() }
    }

    fn next(&mut self) -> Noise {
        self.calls += 1;
        Noise::new(self.seed, Stream::Auto, (self.phase & 0xff_ffff) << 32 | (self.calls & 0xffff_ffff))
    }

    /// `count` uniform numbers in (0, 1).
    pub fn uniforms(&mut self, count: usize) -> Vec<f64> {
        let noise = self.next();
        (0..count.div_ceil(4)).flat_map(|block| noise.uniforms(0, block as u32)).take(count).collect()
    }

    /// A random order of 0 .. count.
    pub fn order(&mut self, count: usize) -> Vec<u32> {
        let mut order = vec![0; count];
        self.next().permute(&mut order);
        order
    }

    /// `rows` rows of `dim` standard normals, one after the other.
    pub fn normals(&mut self, rows: usize, dim: usize, to: &mut Vec<f64>) {
        let noise = self.next();
        self.scratch.resize(scratch_len(rows, dim), 0.0);
        noise.fill_normals(0, rows, dim, &mut self.scratch);
        to.clear();
        self.scratch.chunks_exact(padded(dim)).take(rows).for_each(|row| to.extend_from_slice(&row[..dim]));
    }
}
