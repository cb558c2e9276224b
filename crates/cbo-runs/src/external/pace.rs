//! How many points a worker is given ahead.
//!
//! A fast worker should never wait for its next point, so it gets several at once. A slow one must not keep points from
//! others that are idle, so it gets one. The depth follows two rules: about a millisecond of work, as answers come on
//! average; and one for each 16 answers in a row that came quickly, so that where one point in n is slow, a worker holds
//! at most about n/16 and the chance that a slow one waits behind another is small.

use std::time::Duration;

/// The most points that a worker holds.
const DEEPEST: usize = 64;

/// How much work a worker should hold.
const AHEAD: f64 = 1e-3;

/// An answer that takes longer than this many seconds is slow. The system itself may take a few milliseconds.
const SLOW: f64 = 1e-2;

/// How quickly a worker answers.
#[derive(Debug, Default)]
pub(super) struct Pace {
    /// Running mean of the seconds per answer.
    mean: f64,
    /// Answers in a row that were not slow.
    quick: usize,
}

impl Pace {
    /// Some answers came together, after this time.
    pub(super) fn answered(&mut self, count: usize, time: Duration) {
        let each = time.as_secs_f64() / count.max(1) as f64;
        if time.as_secs_f64() > SLOW {
            self.quick = 0;
        }
        for _ in 0..count {
            self.quick += 1;
            self.mean += (each - self.mean) / self.quick.min(16) as f64;
        }
    }

    /// How many points the worker may hold.
    pub(super) fn depth(&self) -> usize {
        let by_time = AHEAD / self.mean.max(AHEAD / DEEPEST as f64);
        (by_time as usize).min(1 + self.quick / 16).clamp(1, DEEPEST)
    }

    /// How many more to give to a worker that holds this many: none until half are answered, so that they go out together.
    pub(super) fn room(&self, held: usize) -> usize {
        let depth = self.depth();
        if held <= depth / 2 { depth - held } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(answers: impl IntoIterator<Item = Duration>) -> Pace {
        let mut pace = Pace::default();
        answers.into_iter().for_each(|time| pace.answered(1, time));
        pace
    }

    #[test]
    fn fast_workers_get_many_and_slow_ones_one() {
        let micros = Duration::from_micros;
        assert_eq!(Pace::default().room(0), 1);
        assert_eq!(after([micros(5); 2000]).depth(), DEEPEST);
        assert_eq!(after([micros(100); 2000]).depth(), 10);
        assert_eq!(after([micros(2000); 2000]).depth(), 1);
        assert_eq!(after([micros(60_000_000); 20]).depth(), 1);
    }

    #[test]
    fn a_slow_answer_makes_careful() {
        let mut pace = after([Duration::from_micros(5); 2000]);
        pace.answered(1, Duration::from_secs(1));
        assert_eq!(pace.depth(), 1);
        // One slow point in 100: at most seven at once.
        let mixed = (0..5000).map(|i| if i % 100 == 0 { Duration::from_secs(1) } else { Duration::from_micros(5) });
        let mut pace = Pace::default();
        for time in mixed {
            pace.answered(1, time);
            assert!(pace.depth() <= 7);
        }
    }

    #[test]
    fn points_go_out_together() {
        let pace = after([Duration::from_micros(5); 2000]);
        assert_eq!([0, 1, 32, 33, 64].map(|held| pace.room(held)), [64, 63, 32, 0, 0]);
    }
}
