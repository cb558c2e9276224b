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
    /// The best value of the whole run at its end.
    pub best: f64,
    /// Why it ended, as a sentence without its full stop.
    pub end: String,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Notes {
    pub phases: Vec<Phase>,
    pub sentences: Vec<String>,
}
