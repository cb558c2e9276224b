//! The result of a run: one JSON object, or a few lines for people.

use crate::certify::CertificateResult;
use crate::minimize::sample::SampleResult;
use crate::minimize::target::Target;
use crate::numbers::{Number, grouped, numbers, point, short};
use crate::text::one_line;
use crate::values::Precision;
use cbo::simd;
use cbo::{CboConfig, Method, Minimiser, Phase, RunReport, Sample, Scalar, StopReason};
use serde::Serialize;

/// The report of a run, in the order of the JSON object.
#[derive(Clone, Debug, Serialize)]
pub struct Summary {
    /// The function, with parameters, shift and rotation in words.
    pub objective: String,
    /// Number of coordinates.
    pub dim: usize,
    /// The method.
    pub method: String,
    /// The best point ever evaluated.
    pub x: Vec<Number>,
    /// Its value.
    pub value: Number,
    /// Whether the best point meets its constraints, if there are any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub feasible: Option<bool>,
    /// How far it violates the worst of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub violation: Option<Number>,
    /// The consensus point at the end.
    pub consensus: Vec<Number>,
    /// Its value.
    pub consensus_value: Number,
    /// The known minimum of a benchmark function.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub minimum: Option<Number>,
    /// Distance of the best point to the nearest minimiser, in the maximum norm.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub distance: Option<Number>,
    /// Evaluations spent.
    pub evaluations: u64,
    /// Those without a value (NaN).
    pub failed_evaluations: u64,
    /// Those outside the domain (infinity).
    pub infeasible_evaluations: u64,
    /// Steps taken.
    pub steps: u64,
    /// Time of the dynamics.
    pub time: Number,
    /// Why the run ended.
    pub stop: &'static str,
    /// The same in a sentence.
    pub message: String,
    /// The last alpha.
    pub alpha: Number,
    /// The last sigma.
    pub sigma: Number,
    /// Particles at the end, if the method has a swarm.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub particles: Option<usize>,
    /// The minimisers that a polarised swarm found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub minimisers: Option<Vec<MinimiserResult>>,
    /// What draws from the law tell of it, if asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sample: Option<SampleResult>,
    /// What the method auto did, one phase after the other.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phases: Option<Vec<PhaseResult>>,
    /// What it saw and why it did that, if asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub explanation: Option<Vec<String>>,
    /// Seed.
    pub seed: u64,
    /// Precision.
    pub precision: &'static str,
    /// Threads allowed.
    pub threads: usize,
    /// The instruction set; results do not depend on it.
    pub instruction_set: &'static str,
    /// Seconds that the run took.
    pub seconds: Number,
    /// What the lemma and the propositions of the paper say about it, if asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub certificate: Option<CertificateResult>,
}

/// A minimiser that a swarm found.
#[derive(Clone, Debug, Serialize)]
pub struct MinimiserResult {
    /// The best particle there.
    pub x: Vec<Number>,
    /// Its value.
    pub value: Number,
    /// Particles that belong to it.
    pub particles: usize,
    /// The same as a fraction of the swarm.
    pub fraction: Number,
}

impl<T: Scalar> From<&Minimiser<T>> for MinimiserResult {
    fn from(found: &Minimiser<T>) -> Self {
        Self {
            x: found.x.iter().map(|x| Number(x.to_f64())).collect(),
            value: Number(found.value),
            particles: found.particles,
            fraction: Number(found.fraction),
        }
    }
}

impl MinimiserResult {
    fn line(&self) -> String {
        let x: Vec<f64> = self.x.iter().map(|v| v.0).collect();
        let (particles, percent) = (grouped(self.particles as u64), (100.0 * self.fraction.0).round());
        format!("{} at {}, {particles} particles ({percent} %)", short(self.value.0), point(&x))
    }
}

/// A phase of the method auto.
#[derive(Clone, Debug, Serialize)]
pub struct PhaseResult {
    /// What it was.
    pub name: String,
    /// The evaluations before it.
    pub from: u64,
    /// The evaluations after it.
    pub to: u64,
    /// The best value of the run at its end.
    pub best: Number,
    /// Why it ended.
    pub end: String,
}

impl From<&Phase> for PhaseResult {
    fn from(phase: &Phase) -> Self {
        let Phase { name, from, to, best, end } = phase.clone();
        Self { name, from, to, best: Number(best), end }
    }
}

impl Summary {
    /// Sums a run up; `interrupted` if the user ended it.
    pub fn new<T: Scalar>(
        target: &Target,
        config: &CboConfig,
        precision: Precision,
        report: &RunReport<T>,
        interrupted: bool,
    ) -> Self {
        let double = |x: &[T]| x.iter().map(|v| v.to_f64()).collect::<Vec<f64>>();
        let (best, consensus) = (double(&report.best().x), double(&report.consensus().x));
        let stopped = interrupted && matches!(report.stop(), StopReason::Observer | StopReason::Failed);
        let auto = config.method.is_auto();
        let (known, constrained) = (target.function_with_minimum(), target.constraint_count() > 0);
        Self {
            objective: target.description().to_string(),
            dim: best.len(),
            method: config.method.to_string(),
            x: numbers(&best),
            value: Number(report.best().value),
            feasible: constrained.then(|| report.is_feasible()),
            violation: constrained.then_some(Number(report.best().violation)),
            consensus: numbers(&consensus),
            consensus_value: Number(report.consensus().value),
            minimum: known.map(|problem| Number(problem.minimum())),
            distance: known.map(|problem| Number(problem.distance_to_minimiser(&best))),
            evaluations: report.evaluations(),
            failed_evaluations: report.failed_evaluations(),
            infeasible_evaluations: report.infeasible_evaluations(),
            steps: report.steps(),
            time: Number(report.time()),
            stop: if stopped { "interrupt" } else { report.stop().name() },
            message: if stopped { "Ctrl-C, or a signal, ended the run.".into() } else { report.message().into() },
            alpha: Number(report.alpha()),
            sigma: Number(report.sigma()),
            particles: (!auto).then(|| if report.particles() == 0 { config.particles } else { report.particles() }),
            minimisers: matches!(config.method, Method::Polarised(_))
                .then(|| report.minimisers().iter().map(MinimiserResult::from).collect()),
            sample: None,
            phases: auto.then(|| report.phases().iter().map(PhaseResult::from).collect()),
            explanation: None,
            seed: report.seed(),
            precision: precision.name(),
            threads: threads(config.threads),
            instruction_set: simd::current().name(),
            seconds: Number(report.seconds()),
            certificate: None,
        }
    }

    /// Adds draws, and what they cost.
    pub fn add<T: Scalar>(&mut self, result: SampleResult, drawn: &Sample<T>) {
        self.sample = Some(result);
        self.evaluations += drawn.evaluations();
        self.failed_evaluations += drawn.failed_evaluations();
    }

    /// A few lines for people.
    pub fn lines(&self) -> String {
        let double = |x: &[Number]| x.iter().map(|v| v.0).collect::<Vec<_>>();
        let dims = if self.dim == 1 { "dimension" } else { "dimensions" };
        let known = self.minimum.as_ref().map_or_else(String::new, |m| format!(" (known minimum {})", short(m.0)));
        let (swarm, stopped, consensus) = match self.particles {
            Some(particles) => (
                format!(", {} particles", grouped(particles as u64)),
                format!("{} at time {}: {}", steps(self.steps), short(self.time.0), in_words(self.stop)),
                Some(match self.consensus_value.0 {
                    value if value.is_nan() => format!("at {} (not evaluated)", point(&double(&self.consensus))),
                    value => format!("{} at {}", short(value), point(&double(&self.consensus))),
                }),
            ),
            // Rounds are counted from 0, and the consensus point is not evaluated for its own sake.
            None => (String::new(), format!("after {}. {}", rounds(self.steps + 1), self.message), None),
        };
        let mut rows = vec![
            ("minimised", format!("{} in {} {dims}{swarm}", one_line(&self.objective), grouped(self.dim as u64))),
            ("best value", short(self.value.0) + &known),
            ("at x", point(&double(&self.x))),
            ("evaluations", grouped(self.evaluations) + &self.without_value()),
            ("stopped", stopped),
            ("seconds", short(self.seconds.0)),
        ];
        if let Some(sample) = &self.sample {
            rows[0].0 = "sampled";
            rows.splice(1..3, sample.lines());
        } else {
            if let Some(consensus) = consensus {
                rows.insert(3, ("consensus", consensus));
            }
            if let Some(distance) = &self.distance {
                rows.insert(3, ("distance", format!("{} to the nearest minimiser (maximum norm)", short(distance.0))));
            }
        }
        if let (Some(feasible), Some(violation)) = (self.feasible, &self.violation) {
            let words = match feasible {
                true => "yes: the best point meets all constraints".into(),
                false => format!("no: the best point violates its constraints by {}", short(violation.0)),
            };
            rows.insert(3, ("feasible", words));
        }
        for (number, minimiser) in self.minimisers.iter().flatten().enumerate() {
            rows.push((if number == 0 { "minimisers" } else { "" }, minimiser.line()));
        }
        if let Some(certificate) = &self.certificate {
            rows.extend(certificate.lines());
        }
        if self.dim > 6 {
            rows.push(("hint", "--json prints all coordinates".into()));
        }
        let lines: String = rows.iter().map(|(name, text)| format!("{name:<12} {text}\n")).collect();
        lines + &self.explained()
    }

    /// What the method saw and did, if asked for.
    fn explained(&self) -> String {
        let Some(sentences) = &self.explanation else { return String::new() };
        if !sentences.is_empty() {
            return format!("\n{}\n", sentences.join("\n"));
        }
        let nothing = match self.particles {
            Some(_) => "There is nothing to explain: only the method auto decides by itself.",
            None => "There is nothing to explain: the run ended in its first phase.",
        };
        format!("\n{nothing}\n")
    }

    fn without_value(&self) -> String {
        let mut words = Vec::new();
        if self.failed_evaluations > 0 {
            words.push(format!("{} failed", grouped(self.failed_evaluations)));
        }
        if self.infeasible_evaluations > 0 {
            words.push(format!("{} infeasible", grouped(self.infeasible_evaluations)));
        }
        if words.is_empty() { String::new() } else { format!(" ({})", words.join(", ")) }
    }
}

fn rounds(count: u64) -> String {
    if count == 1 { "1 round".into() } else { format!("{} rounds", grouped(count)) }
}

fn steps(count: u64) -> String {
    if count == 1 { "1 step".into() } else { format!("{} steps", grouped(count)) }
}

/// The threads that a setting allows.
pub fn threads(setting: usize) -> usize {
    if setting > 0 { setting } else { std::thread::available_parallelism().map_or(1, |n| n.get()) }
}

/// Why a run ended, in words.
pub fn in_words(stop: &str) -> &str {
    match stop {
        "steps" => "all steps are done",
        "evaluations" => "the evaluations allowed are spent",
        "seconds" => "the time allowed is up",
        "target" => "the target value is reached",
        "diameter" => "the swarm has contracted",
        "stagnation" => "the best value no longer improves",
        "converged" => "nothing more is to be gained",
        "failed" => "the run could not go on",
        "interrupt" => "Ctrl-C, or a signal",
        "observer" => "its folder was taken away",
        other => other,
    }
}
