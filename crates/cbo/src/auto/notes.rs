//! What the solver noticed and did.

/// A phase of the solver.
#[derive(Clone, Debug, PartialEq)]
pub struct Phase {
    /// What it was, in one or two words.
    pub name: String,
    /// The evaluations before it.
    pub from: u64,
    /// The evaluations after it.
    pub to: u64,
    /// The best value of the whole run at its end; with a penalty, as long as no point meets all constraints.
    pub best: f64,
    /// Why it ended, as a sentence without its full stop.
    pub end: String,
}

/// What the driver writes down as it goes.
#[derive(Clone, Debug, Default)]
pub(super) struct Notes {
    /// The phases that ended.
    pub phases: Vec<Phase>,
    /// What was seen and why it was done, in sentences.
    pub sentences: Vec<String>,
    /// Different places in which runs ended, and how many of them ended in the last of these.
    pub basins: (usize, u32),
    /// Why the solver stopped by itself, as a sentence.
    pub verdict: Option<String>,
}
