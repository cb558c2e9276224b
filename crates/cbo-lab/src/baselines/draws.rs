//! Random numbers of a baseline, one after the other.

use cbo::noise::{Noise, Stream, scratch_len};

/// Normals that are drawn at once.
const AT_ONCE: usize = 64;

/// The stream is that of the solver `auto`; its phases are few, and ours begin here.
const FIRST_PHASE: u64 = 0xff_0000;

/// A sequence for each seed and baseline, the same on every machine.
pub struct Draws {
    uniform: Noise,
    normal: Noise,
    uniforms: Vec<f64>,
    normals: Vec<f64>,
    /// Calls of the generator so far.
    calls: (u64, u32),
}

impl Draws {
    pub fn new(seed: u64, baseline: u64) -> Self {
        let noise = |part: u64| Noise::new(seed, Stream::Auto, (FIRST_PHASE + baseline) << 32 | part);
        Self { uniform: noise(0), normal: noise(1), uniforms: Vec::new(), normals: Vec::new(), calls: (0, 0) }
    }

    /// A uniform number in (0, 1).
    pub fn uniform(&mut self) -> f64 {
        if self.uniforms.is_empty() {
            let call = self.calls.0;
            self.calls.0 += 1;
            self.uniforms.extend(self.uniform.uniforms((call >> 20) as u32, (call & 0xf_ffff) as u32));
        }
        self.uniforms.pop().unwrap_or(0.5)
    }

    /// A uniform number between two.
    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.uniform()
    }

    /// A whole number below `bound`.
    pub fn below(&mut self, bound: usize) -> usize {
        ((self.uniform() * bound as f64) as usize).min(bound - 1)
    }

    /// Whether something happens that has this probability.
    pub fn happens(&mut self, probability: f64) -> bool {
        self.uniform() < probability
    }

    /// A standard normal.
    pub fn normal(&mut self) -> f64 {
        if self.normals.is_empty() {
            self.normals.resize(scratch_len(1, AT_ONCE), 0.0);
            self.normal.fill_normals(self.calls.1, 1, AT_ONCE, &mut self.normals);
            self.normals.truncate(AT_ONCE);
            self.calls.1 = self.calls.1.wrapping_add(1);
        }
        self.normals.pop().unwrap_or(0.0)
    }

    /// A standard Cauchy number.
    pub fn cauchy(&mut self) -> f64 {
        libm::tan(std::f64::consts::PI * (self.uniform() - 0.5))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Means and variances of 200 000 numbers within five standard errors.
    #[test]
    fn they_have_their_laws_and_differ_between_baselines() {
        let count = 200_000;
        let mut draws = Draws::new(3, 0);
        let moments = |numbers: Vec<f64>| {
            let mean = numbers.iter().sum::<f64>() / count as f64;
            (mean, numbers.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / count as f64)
        };
        let root = (count as f64).sqrt();
        let (mean, variance) = moments((0..count).map(|_| draws.uniform()).collect());
        // The variance of (u - 1/2)^2 is 1/180.
        assert!((mean - 0.5).abs() < 5.0 * (1.0f64 / 12.0).sqrt() / root, "{mean}");
        assert!((variance - 1.0 / 12.0).abs() < 5.0 * (1.0f64 / 180.0).sqrt() / root, "{variance}");
        let (mean, variance) = moments((0..count).map(|_| draws.normal()).collect());
        assert!(mean.abs() < 5.0 / root && (variance - 1.0).abs() < 5.0 * 2f64.sqrt() / root, "{mean} {variance}");
        // A quarter of all Cauchy numbers lies above 1, and a quarter below -1.
        let above = (0..count).filter(|_| draws.cauchy() > 1.0).count() as f64 / count as f64;
        assert!((above - 0.25).abs() < 5.0 * (3.0f64 / 16.0).sqrt() / root, "{above}");
        let counts = (0..count).fold([0usize; 3], |mut counts, _| {
            counts[draws.below(3)] += 1;
            counts
        });
        let expected = count as f64 / 3.0;
        assert!(
            counts.iter().all(|n| (*n as f64 - expected).abs() < 5.0 * (expected * 2.0 / 3.0).sqrt()),
            "{counts:?}"
        );
        let first = |baseline| (0..8).map(|_| Draws::new(3, baseline).uniform().to_bits()).collect::<Vec<_>>();
        assert_ne!(first(0), first(1));
    }
}
