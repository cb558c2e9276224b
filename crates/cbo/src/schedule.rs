//! alpha, sigma and the number of particles over time.

/// What a schedule counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// Steps, from 0.
    Step,
    /// Epochs, from 0.
    Epoch,
}

impl Clock {
    fn ticks(self, step: u64, epoch: u64) -> f64 {
        match self {
            Self::Step => step as f64,
            Self::Epoch => epoch as f64,
        }
    }
}

/// Geometric growth or decay: `start * factor^k`, never beyond `cap`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Geometric {
    /// The value at k = 0.
    pub start: f64,
    /// The factor from one tick to the next, above 1 to grow, below 1 to shrink.
    pub factor: f64,
    /// The largest value if growing, the least if shrinking.
    pub cap: f64,
    /// What k counts.
    pub clock: Clock,
}

impl Geometric {
    fn at(&self, step: u64, epoch: u64) -> f64 {
        let value = self.start * self.factor.powf(self.clock.ticks(step, epoch));
        if self.factor >= 1.0 { value.min(self.cap) } else { value.max(self.cap) }
    }
}

/// The weight parameter alpha over time.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Alpha {
    /// One value, infinity allowed.
    Constant(f64),
    /// Geometric, for example doubled each epoch.
    Geometric(Geometric),
    /// `start * log2(k + 2)`.
    Logarithmic {
        /// The value at k = 0.
        start: f64,
        /// What k counts.
        clock: Clock,
    },
    /// At each step the alpha at which the effective sample size `(sum w)^2 / sum w^2` is this fraction of the particles
    /// evaluated. It needs no knowledge of the objective's scale.
    EffectiveSampleSize(f64),
}

impl Alpha {
    /// The value at a step; `None` if it depends on the energies.
    pub fn at(&self, step: u64, epoch: u64) -> Option<f64> {
        self.weighing(step, epoch).alpha()
    }
}

/// How the weights of a step find their alpha.
#[derive(Clone, Copy, Debug)]
pub enum Weighing {
    /// It is known beforehand.
    Alpha(f64),
    /// It follows from the energies: the effective sample size is this fraction of the particles.
    SampleSize(f64),
    /// There is none: weights depend on the order of the energies alone.
    Ranks,
}

impl Weighing {
    /// The alpha, if it is known beforehand.
    pub fn alpha(self) -> Option<f64> {
        match self {
            Self::Alpha(alpha) => Some(alpha),
            Self::SampleSize(_) | Self::Ranks => None,
        }
    }
}

impl Alpha {
    /// How the weights of a step find their alpha.
    pub(crate) fn weighing(&self, step: u64, epoch: u64) -> Weighing {
        match *self {
            Self::Constant(value) => Weighing::Alpha(value),
            Self::Geometric(g) => Weighing::Alpha(g.at(step, epoch)),
            Self::Logarithmic { start, clock } => Weighing::Alpha(start * (clock.ticks(step, epoch) + 2.0).log2()),
            Self::EffectiveSampleSize(fraction) => Weighing::SampleSize(fraction),
        }
    }
}

/// The diffusion parameter sigma over time.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Sigma {
    /// One value.
    Constant(f64),
    /// Geometric, for example a factor of 0.99 each step down to a cap.
    Geometric(Geometric),
    /// Logarithmic cooling: `start / log2(k + 2)`.
    Logarithmic {
        /// The value at k = 0.
        start: f64,
        /// What k counts.
        clock: Clock,
    },
    /// Geometric from the first step to the last that the run may take. It depends on the length of the run, so that
    /// [`check`](crate::CboConfig::check) replaces it by the [`Geometric`](Self::Geometric) that it is.
    Falling {
        /// The value at the first step.
        start: f64,
        /// The value at the last.
        end: f64,
    },
}

impl Sigma {
    /// The value at a step; of a [`Falling`](Self::Falling) sigma, whose run is not known here, that at the first.
    pub fn at(&self, step: u64, epoch: u64) -> f64 {
        match self {
            Self::Constant(value) | Self::Falling { start: value, .. } => *value,
            Self::Geometric(g) => g.at(step, epoch),
            Self::Logarithmic { start, clock } => start / (clock.ticks(step, epoch) + 2.0).log2(),
        }
    }

    /// The same where it falls over a run of this many steps.
    pub(crate) fn over(self, steps: u64) -> Self {
        match self {
            Self::Falling { start, end } => {
                let factor = libm::pow(end / start, 1.0 / steps.max(1) as f64);
                Self::Geometric(Geometric { start, factor, cap: end, clock: Clock::Step })
            }
            other => other,
        }
    }

    /// The largest value that it ever takes.
    pub fn largest(&self) -> f64 {
        match self {
            Self::Constant(value) | Self::Logarithmic { start: value, .. } | Self::Falling { start: value, .. } => {
                *value
            }
            Self::Geometric(g) if g.factor > 1.0 => g.cap,
            Self::Geometric(g) => g.start,
        }
    }
}

/// Variance-based reduction of the number of particles, once an epoch.
///
/// With `v = ||var(V)||_2` over the coordinates, `v_0` before and `v` after the epoch, the fraction kept is
/// `r = clamp((mu v + (1 - mu) v_0) / v_0, least, 1)`, and `N <- ceil(N / n r) n` for particle batches of size n.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reduction {
    /// mu, how strongly the swarm follows its variance: 0.2.
    pub strength: f64,
    /// The least fraction kept in one epoch: 0.8.
    pub least: f64,
}

impl Default for Reduction {
    fn default() -> Self {
        Self { strength: 0.2, least: 0.8 }
    }
}

impl Reduction {
    /// The number of particles after an epoch that took the variance from `before` to `after`.
    pub fn survivors(&self, particles: usize, batch: usize, before: f64, after: f64) -> usize {
        if before <= 0.0 {
            return particles;
        }
        let ratio = ((self.strength * after + (1.0 - self.strength) * before) / before).clamp(self.least, 1.0);
        let batches = ((particles / batch) as f64 * ratio).ceil() as usize;
        (batches.max(1) * batch).min(particles)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_papers_cooling() {
        let alpha = Alpha::Geometric(Geometric { start: 50.0, factor: 2.0, cap: f64::INFINITY, clock: Clock::Epoch });
        let sigma = Sigma::Logarithmic { start: 0.4f64.sqrt(), clock: Clock::Epoch };
        assert_eq!(alpha.at(12345, 3), Some(400.0));
        assert_eq!(sigma.at(12345, 0), 0.4f64.sqrt());
        assert_eq!(sigma.at(12345, 2), 0.4f64.sqrt() / 2.0);
    }

    #[test]
    fn caps_hold_in_both_directions() {
        let up = Geometric { start: 1.0, factor: 10.0, cap: 50.0, clock: Clock::Step };
        let down = Geometric { start: 1.0, factor: 0.5, cap: 0.2, clock: Clock::Step };
        assert_eq!([up.at(0, 0), up.at(1, 0), up.at(2, 0), up.at(9000, 0)], [1.0, 10.0, 50.0, 50.0]);
        assert_eq!([down.at(0, 0), down.at(1, 0), down.at(9, 0)], [1.0, 0.5, 0.2]);
        assert_eq!(Sigma::Geometric(up).largest(), 50.0);
        assert_eq!(Sigma::Geometric(down).largest(), 1.0);
    }

    #[test]
    fn a_falling_sigma_reaches_its_end_with_the_last_step() {
        let over = |steps| Sigma::Falling { start: 0.5, end: 0.02 }.over(steps);
        for steps in [1, 2, 10, 1999] {
            let sigma = over(steps);
            assert_eq!(sigma.at(0, 0), 0.5);
            assert!((sigma.at(steps, 0) - 0.02).abs() < 1e-14 && sigma.at(10 * steps, 0) == 0.02, "{steps}");
        }
        assert!((over(10).at(5, 0) - 0.1).abs() < 1e-15);
    }

    #[test]
    fn reduction_follows_the_formula() {
        let reduction = Reduction::default();
        assert_eq!(reduction.survivors(100, 10, 1.0, 1.0), 100);
        assert_eq!(reduction.survivors(100, 10, 1.0, 0.5), 90); // r = 0.9
        assert_eq!(reduction.survivors(100, 10, 1.0, 0.0), 80); // r = 0.8
        assert_eq!(reduction.survivors(100, 10, 1.0, 5.0), 100); // never grows
        assert_eq!(reduction.survivors(10, 10, 1.0, 0.0), 10); // one batch is left
    }
}
