//! What a run has found so far, as bytes and back.
//!
//! Little-endian throughout: version (4 bytes), steps of an epoch, kicks, seconds, seconds of judging, number of points (8 each), then
//! for each point step, loss, training accuracy, test accuracy, alpha, sigma, particles and seconds (8 each).

use super::{Point, TrainingError};

const VERSION: u32 = 1;

/// Bytes of a point.
const POINT: usize = 64;

/// When particles are judged: at the beginning of each epoch and in its middle.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rhythm {
    /// Steps of an epoch.
    pub epoch_steps: u64,
}

impl Rhythm {
    /// An epoch of an odd number of steps has its middle a step early; an epoch of one step has none.
    fn middle(self) -> u64 {
        (self.epoch_steps / 2).max(1)
    }

    /// Whether particles are judged at this step.
    pub fn judges(self, step: u64) -> bool {
        let place = step % self.epoch_steps;
        place == 0 || place == self.middle()
    }

    /// How often they were judged before this step.
    pub fn times_before(self, step: u64) -> u64 {
        let (epochs, place) = (step / self.epoch_steps, step % self.epoch_steps);
        let in_an_epoch = 1 + u64::from(self.middle() < self.epoch_steps);
        epochs * in_an_epoch + u64::from(place > 0) + u64::from(place > self.middle())
    }

    /// Epochs done at this step.
    pub fn epoch(self, step: u64) -> f64 {
        step as f64 / self.epoch_steps as f64
    }
}

/// What a run has found so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Findings {
    /// The reported points.
    pub curve: Vec<Point>,
    /// Steps at which the swarm was kicked.
    pub kicks: u64,
    /// Seconds spent on judging.
    pub judging_seconds: f64,
}

impl Findings {
    /// The findings of a run that took this many seconds.
    pub fn to_bytes(&self, seconds: f64, rhythm: Rhythm) -> Vec<u8> {
        let mut to = VERSION.to_le_bytes().to_vec();
        to.extend(rhythm.epoch_steps.to_le_bytes());
        to.extend(self.kicks.to_le_bytes());
        to.extend(seconds.to_le_bytes());
        to.extend(self.judging_seconds.to_le_bytes());
        to.extend((self.curve.len() as u64).to_le_bytes());
        for p in &self.curve {
            // No `..`, so that a new field of a point is not forgotten here. The epoch follows from the step.
            let &Point { epoch: _, step, loss, train_accuracy, test_accuracy, alpha, sigma, particles, seconds } = p;
            to.extend(step.to_le_bytes());
            [loss, train_accuracy, test_accuracy, alpha, sigma].iter().for_each(|v| to.extend(v.to_le_bytes()));
            to.extend((particles as u64).to_le_bytes());
            to.extend(seconds.to_le_bytes());
        }
        to
    }

    /// The findings that the bytes hold, and the seconds that the run took.
    pub fn from_bytes(bytes: &[u8], rhythm: Rhythm) -> Result<(Self, f64), TrainingError> {
        use TrainingError::{OtherEpochs, Saved};
        let mut rest = bytes;
        let version = u32::from_le_bytes(take(&mut rest)?);
        if version > VERSION {
            return Err(Saved("they were written by a newer program; use a newer one"));
        }
        if u64::from_le_bytes(take(&mut rest)?) != rhythm.epoch_steps {
            return Err(OtherEpochs);
        }
        let kicks = u64::from_le_bytes(take(&mut rest)?);
        let [seconds, judging_seconds] = [f64::from_le_bytes(take(&mut rest)?), f64::from_le_bytes(take(&mut rest)?)];
        if version == 0 || ![seconds, judging_seconds].iter().all(|s| s.is_finite() && *s >= 0.0) {
            return Err(Saved("their first numbers are wrong"));
        }
        let count = u64::from_le_bytes(take(&mut rest)?);
        if count.checked_mul(POINT as u64) != Some(rest.len() as u64) {
            return Err(Saved("points of the curve are missing, or there are too many bytes"));
        }
        let mut curve = Vec::with_capacity(rest.len() / POINT);
        for index in 0..count {
            let step = u64::from_le_bytes(take(&mut rest)?);
            if !rhythm.judges(step) || rhythm.times_before(step) != index {
                return Err(OtherEpochs);
            }
            let mut number = || take(&mut rest).map(f64::from_le_bytes);
            let [loss, train_accuracy, test_accuracy] = [number()?, number()?, number()?];
            let [alpha, sigma] = [number()?, number()?];
            let particles = usize::try_from(u64::from_le_bytes(take(&mut rest)?));
            curve.push(Point {
                epoch: rhythm.epoch(step),
                step,
                loss,
                train_accuracy,
                test_accuracy,
                alpha,
                sigma,
                particles: particles.map_err(|_| Saved("a number of particles is too large"))?,
                seconds: f64::from_le_bytes(take(&mut rest)?),
            });
        }
        Ok((Self { curve, kicks, judging_seconds }, seconds))
    }
}

/// The next bytes.
fn take<const N: usize>(rest: &mut &[u8]) -> Result<[u8; N], TrainingError> {
    let (first, more) = rest.split_first_chunk().ok_or(TrainingError::Saved("they are cut off"))?;
    *rest = more;
    Ok(*first)
}

#[cfg(test)]
mod tests {
    use super::*;

    const RHYTHM: Rhythm = Rhythm { epoch_steps: 5 };

    fn example() -> Findings {
        let point = |step: u64| Point {
            epoch: RHYTHM.epoch(step),
            step,
            loss: 0.1 + step as f64,
            train_accuracy: 1.0 / 3.0,
            test_accuracy: 0.2,
            alpha: f64::INFINITY,
            sigma: 5e-324,
            particles: 100,
            seconds: 0.125,
        };
        Findings { curve: [0, 2, 5, 7].map(point).to_vec(), kicks: 3, judging_seconds: 0.1 }
    }

    #[test]
    fn the_rhythm_counts_what_it_judges() {
        for epoch_steps in 1..8 {
            let rhythm = Rhythm { epoch_steps };
            let mut times = 0;
            for step in 0..40 {
                assert_eq!(rhythm.times_before(step), times, "{epoch_steps} {step}");
                times += u64::from(rhythm.judges(step));
            }
        }
    }

    #[test]
    fn bytes_read_back() {
        let bytes = example().to_bytes(2.5, RHYTHM);
        assert_eq!(Findings::from_bytes(&bytes, RHYTHM).expect("ours"), (example(), 2.5));
    }

    #[test]
    fn other_bytes_are_refused() {
        let bytes = example().to_bytes(2.5, RHYTHM);
        let read = |bytes: &[u8]| Findings::from_bytes(bytes, RHYTHM);
        for length in 0..bytes.len() {
            read(&bytes[..length]).expect_err("cut off");
        }
        read(&[&bytes[..], &[0]].concat()).expect_err("too long");
        let changed = |place: usize, to: u8| {
            let mut bytes = bytes.clone();
            bytes[place] = to;
            read(&bytes)
        };
        assert!(changed(0, 2).expect_err("newer").to_string().contains("newer"));
        changed(0, 0).expect_err("no version");
        changed(27, 255).expect_err("negative seconds");
        changed(43, 255).expect_err("more points than bytes");
        let other = changed(44 + 64, 3).expect_err("no step at which particles are judged");
        assert!(matches!(other, TrainingError::OtherEpochs));
        assert!(matches!(Findings::from_bytes(&bytes, Rhythm { epoch_steps: 4 }), Err(TrainingError::OtherEpochs)));
    }
}
