//! A run amid noise: its mean challenges the best point, and it has more particles when noise hides their differences.

use super::{Descent, End};
use crate::auto::noise::{self, Blur};

/// Evaluations of a generation that are worth it, relative to those that are left.
const WORTH: u64 = 4;

impl Descent<'_> {
    /// What noise asks for after a generation, if the function is noisy.
    pub(super) async fn amid_noise(&mut self) -> Option<End> {
        let desk = self.desk;
        if !noise::is_known(desk) {
            return None;
        }
        if noise::is_last_part(desk) {
            return Some(End::Last);
        }
        if noise::may_compare(desk) {
            let challenger = self.challenger();
            noise::challenge(desk, &challenger, self.start.number).await;
        }
        if !self.is_hidden() {
            return None;
        }
        // Where the particles are now, there may be less noise than at the best point.
        let centre = self.centre();
        let value = noise::challenge(desk, &centre, self.start.number).await;
        if !self.is_hidden() {
            return None;
        }
        // What noise hides is about as large as the noise.
        if self.start.race && value > noise::reach(desk) {
            return Some(End::Race);
        }
        let most = self.start.most.min(self.spent + desk.left());
        if self.spent >= self.start.most {
            return Some(End::Hidden);
        }
        if self.lambda as u64 * WORTH < most - self.spent {
            self.grow();
        }
        self.blur = Blur::default();
        None
    }

    fn is_hidden(&self) -> bool {
        self.blur.hides(self.dim(), self.lambda, noise::variance(self.desk))
    }

    /// The best point of the run if single values can be believed, else its mean.
    pub fn challenger(&self) -> Vec<f64> {
        if self.blur.is_clear(noise::variance(self.desk)) { self.best.0.clone() } else { self.centre() }
    }

    /// The mean, inside the walls.
    fn centre(&self) -> Vec<f64> {
        self.desk.with(|sheet| {
            let inside = |(k, &m): (usize, &f64)| m.clamp(sheet.space.walls(k).0, sheet.space.walls(k).1);
            self.core.mean.iter().enumerate().map(inside).collect()
        })
    }

    /// Doubles the particles.
    fn grow(&mut self) {
        self.start.lambda = 2 * self.lambda;
        self.lambda = self.start.lambda;
        self.core.populate(self.lambda);
        self.keep = self.keep.max(self.lambda);
        self.trail.clear();
        // No model orders points by values that are mostly noise.
        (self.start.model, self.held) = (false, false);
    }
}
