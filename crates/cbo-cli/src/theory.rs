//! `cbo theory`: what the theorem says about a setting.

mod json;

use crate::config_file::Origins;
use crate::error::{CliError, print};
use crate::numbers::{json, point, short};
use crate::options::ProblemOptions;
use crate::setup::{self, ProblemSpec};
use crate::text;
use crate::values::{self, InitSpec};
use cbo::{Alpha, CboConfig, Coordinates, Diffusion, InitialLaw, Scheme, Sigma};
use cbo_lab::setting;
use cbo_lab::theory::advice::{Advice, Holds, Sentence, advise};
use cbo_lab::theory::assumptions::default_r0;
use cbo_lab::theory::constants::{Accuracy, Constants, Kind, Quantity, Question, Theorem};
use cbo_lab::theory::{Basis, TheoryError};
use cbo_problems::Problem;
use clap::Args;

const EXAMPLES: &str = "\
Examples:
  cbo theory rastrigin --dim 4
  cbo theory rastrigin --dim 4 --epsilon-ratio 0.1 --tau 0.5 --sharp
  cbo theory sphere --dim 10 --init normal:1,4 --alpha 1e5 --json
  cbo theory ackley --dim 2 --sigma 3 --dt 0.1 --alpha inf --particles 400

Without flags the setting is that of the paper's Figure 1, with its initial law.
A setting that the theorem does not cover is explained, not refused.";

/// The default epsilon, as a fraction of V_0.
const RATIO: f64 = 0.01;

/// More dimensions than this do not fit into memory where they must be listed, or squared for a rotation.
const MOST_DIMS: usize = 100_000;
const MOST_ROTATED: usize = 500;

/// Arguments of `cbo theory`.
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLES, allow_negative_numbers = true)]
pub struct TheoryArgs {
    /// The function.
    #[command(flatten)]
    pub problem: ProblemOptions,
    /// The accuracy to which V should fall; between 0 and V_0
    #[arg(long, value_name = "E", value_parser = values::number, allow_hyphen_values = true, conflicts_with = "epsilon_ratio", help_heading = "Theorem")]
    pub epsilon: Option<f64>,
    /// The accuracy as a fraction of V_0, between 0 and 1 [default: 0.01]
    #[arg(long, value_name = "R", value_parser = values::number, allow_hyphen_values = true, help_heading = "Theorem")]
    pub epsilon_ratio: Option<f64>,
    /// The fraction of the rate that is given away, between 0 and 1
    #[arg(long, value_name = "T", default_value = "0.7", value_parser = values::number, allow_hyphen_values = true, help_heading = "Theorem")]
    pub tau: f64,
    /// The constant c of the mass bound, from (sqrt(5) - 1)/2 (0.61804) to 1 [default: the best]
    #[arg(long, value_name = "C", value_parser = values::number, allow_hyphen_values = true, help_heading = "Theorem")]
    pub c: Option<f64>,
    /// The radius R_0 of assumption A2, or `auto` for the one with the least alpha_0 [default: 0.1 for rastrigin, else auto]
    #[arg(long, value_name = "R0|auto", value_parser = radius, allow_hyphen_values = true, help_heading = "Theorem")]
    pub r0: Option<Radius>,
    /// Adds sharper constants with which the same proof holds
    #[arg(long, help_heading = "Theorem")]
    pub sharp: bool,
    /// The initial law: normal:MEAN,VARIANCE, uniform:LOW,HIGH (each one number, or one for each coordinate) or file:PATH
    /// [default: that of Figure 1, normal with variance 32]
    #[arg(long, value_name = "LAW", value_parser = values::init, help_heading = "Setting")]
    pub init: Option<InitSpec>,
    /// Drift towards the consensus point
    #[arg(long, value_name = "LAMBDA", default_value_t = setting::LAMBDA, value_parser = values::number, allow_hyphen_values = true, help_heading = "Setting")]
    pub lambda: f64,
    /// Diffusion
    #[arg(long, value_name = "SIGMA", default_value_t = setting::SIGMA, value_parser = values::number, allow_hyphen_values = true, help_heading = "Setting")]
    pub sigma: f64,
    /// Weight parameter, a number or inf [default: 1e15]
    #[arg(long, value_name = "ALPHA", value_parser = values::number, allow_hyphen_values = true, help_heading = "Setting")]
    pub alpha: Option<f64>,
    /// Time step
    #[arg(long, value_name = "DT", default_value_t = setting::DT, value_parser = values::number, allow_hyphen_values = true, help_heading = "Setting")]
    pub dt: f64,
    /// Number of particles N [default: 320000, or as many as points]
    #[arg(long, value_name = "N", value_parser = values::size, help_heading = "Setting")]
    pub particles: Option<usize>,
    /// Kind of noise: anisotropic or isotropic
    #[arg(long, value_name = "KIND", default_value = "anisotropic", value_parser = values::diffusion, help_heading = "Setting")]
    pub diffusion: Diffusion,
    /// Time discretisation: euler-maruyama or drift-first
    #[arg(long, value_name = "SCHEME", default_value = "euler-maruyama", value_parser = values::scheme, help_heading = "Setting")]
    pub scheme: Scheme,
    /// Seed of a random shift or rotation
    #[arg(long, value_name = "SEED", default_value = "0", value_parser = values::count, help_heading = "Setting")]
    pub seed: u64,
    /// One JSON object on stdout, and nothing else there. Numbers that are not finite are the strings "inf", "-inf", "nan"
    #[arg(long, help_heading = "Output")]
    pub json: bool,
}

/// R_0 as the user says it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Radius {
    /// The one with the least alpha_0.
    Auto,
    /// This one.
    Given(f64),
}

fn radius(text: &str) -> Result<Radius, String> {
    if text.trim() == "auto" {
        return Ok(Radius::Auto);
    }
    values::number(text).map(Radius::Given).map_err(|e| e + ", nor `auto`")
}

impl From<TheoryError> for CliError {
    fn from(error: TheoryError) -> Self {
        Self::usage(&error)
    }
}

/// Runs the command.
pub fn run(args: &TheoryArgs) -> Result<(), CliError> {
    if args.problem.objective.is_none() {
        let message = "no function given: name one (`cbo theory rastrigin --dim 4`); `cbo list` shows all";
        return Err(CliError::Usage(message.into()));
    }
    let spec = ProblemSpec::new(&args.problem, &Origins::default())?;
    spec.refuse_constraints("about which the theorem says nothing")?;
    let most = if spec.rotate.is_some() { MOST_ROTATED } else { MOST_DIMS };
    if spec.dim > most {
        return Err(CliError::setting(
            "dim",
            spec.dim,
            format!("must lie between 1 and {most}{}", if spec.rotate.is_some() { " with a rotation" } else { "" }),
        ));
    }
    let problem = spec.build(args.seed).map_err(|e| CliError::usage(&e))?;
    let config = config(args, &problem)?;
    let r0 = match args.r0 {
        Some(Radius::Auto) => None,
        Some(Radius::Given(r0)) => Some(r0),
        None => default_r0(&problem),
    };
    let accuracy = match args.epsilon {
        Some(epsilon) => Accuracy::Epsilon(epsilon),
        None => Accuracy::Ratio(args.epsilon_ratio.unwrap_or(RATIO)),
    };
    let question = Question { lambda: args.lambda, sigma: args.sigma, tau: args.tau, accuracy, c: args.c, r0 };
    let theorem = Theorem::new(&problem, &config.init, question)?;
    let answer = Answer {
        constants: theorem.constants(Kind::Paper)?,
        sharp: if args.sharp { theorem.constants(Kind::Sharp)? } else { None },
        advice: advise(&theorem, &config, args.sharp)?,
        init: args.init.as_ref().map_or_else(|| "figure-1".into(), |_| text::init(&config.init, "FILE")),
        problem,
        config,
        theorem,
    };
    print(&if args.json { json(&answer.summary()) } else { answer.lines(args.sharp) })
}

/// The setting as the engine has it, checked.
fn config(args: &TheoryArgs, problem: &Problem) -> Result<CboConfig, CliError> {
    let dim = problem.dim();
    let figure = setting::config(dim);
    let init = match &args.init {
        None => figure.init.clone(),
        Some(InitSpec::Law(law)) => law.clone(),
        Some(InitSpec::File(path)) => InitialLaw::Points(setup::read_points(path, dim).map_err(CliError::Usage)?),
    };
    check_lengths(&init, dim)?;
    let points = if let InitialLaw::Points(values) = &init { Some(values.len() / dim) } else { None };
    let config = CboConfig {
        particles: args.particles.or(points).unwrap_or(figure.particles),
        lambda: args.lambda,
        sigma: Sigma::Constant(args.sigma),
        alpha: args.alpha.map_or(figure.alpha, Alpha::Constant),
        dt: args.dt,
        diffusion: args.diffusion,
        scheme: args.scheme,
        init,
        time: None,
        ..figure
    };
    config.check(dim).map_err(|e| CliError::usage(&e))?;
    Ok(config)
}

/// A law with a number for each coordinate must have the right number of them.
fn check_lengths(init: &InitialLaw, dim: usize) -> Result<(), CliError> {
    let (kind, parts) = match init {
        InitialLaw::Normal { mean, variance } => ("normal", [("mean", mean), ("variance", variance)]),
        InitialLaw::Uniform { low, high } => ("uniform", [("low end", low), ("high end", high)]),
        InitialLaw::Points(_) => return Ok(()),
    };
    let count = |part: &Coordinates| if let Coordinates::Each(values) = part { Some(values.len()) } else { None };
    match parts.iter().find_map(|(name, part)| Some((name, count(part).filter(|n| *n != dim)?))) {
        None => Ok(()),
        Some((name, count)) => Err(CliError::setting(
            "init",
            format!("{kind} with a {name} of {count} numbers"),
            match dim {
                1 => "the function has 1 coordinate; give one number".to_string(),
                _ => format!("give one number, or one for each of the {dim} coordinates, separated by semicolons"),
            },
        )),
    }
}

/// Everything that is reported.
struct Answer {
    problem: Problem,
    config: CboConfig,
    /// The initial law as a flag, or `figure-1`.
    init: String,
    theorem: Theorem,
    constants: Option<Constants>,
    sharp: Option<Constants>,
    advice: Advice,
}

impl Answer {
    fn alpha(&self) -> f64 {
        if let Alpha::Constant(alpha) = self.config.alpha { alpha } else { f64::NAN }
    }

    fn lines(&self, sharp: bool) -> String {
        let (theorem, question, a2) = (&self.theorem, &self.theorem.question, &self.theorem.assumptions);
        let config = &self.config;
        let mut lines = vec![
            format!("{}, d = {}, v* = {}", self.problem.description(), self.problem.dim(), point(&a2.minimiser)),
            format!(
                "lambda = {}, sigma = {}, alpha = {}, dt = {}, N = {}, {} noise, {}",
                plain_number(question.lambda),
                plain_number(question.sigma),
                short(self.alpha()),
                plain_number(config.dt),
                config.particles,
                config.diffusion.to_string(),
                config.scheme.to_string()
            ),
            format!(
                "V_0 = {}, epsilon = {} ({} V_0), tau = {}",
                short(theorem.v0),
                short(theorem.epsilon),
                short(theorem.epsilon / theorem.v0),
                plain_number(question.tau)
            ),
            String::new(),
        ];
        let basis = match a2.basis {
            Basis::Exact => "exact",
            Basis::Estimate => "an estimate",
        };
        let heading = |text: String, column: &str| [text, String::new(), String::new(), column.to_string()];
        let row = |name: &str, label: &str, value: String, sharper: String| {
            [format!("  {name}"), label.into(), value, sharper]
        };
        let plain = |name: &str, label: &str, value: f64| row(name, label, short(value), String::new());
        let mut rows = vec![
            heading(format!("assumption A2 ({basis})"), ""),
            plain("eta", "local growth eta", a2.eta),
            plain("nu", "exponent nu", a2.nu),
            plain("r0", "radius R_0", a2.r0),
            plain("e_inf", "far field E_inf", a2.far_field),
        ];
        if let Some(constants) = &self.constants {
            let sharper = self.sharp.map(|s| s.all()).unwrap_or_default();
            rows.push(heading("theorem".into(), if sharper.is_empty() { "" } else { "sharper" }));
            for quantity in constants.all() {
                let other = sharper.iter().find(|q| q.name == quantity.name).map(shown);
                rows.push(row(quantity.name, quantity.formula, shown(&quantity), other.unwrap_or_default()));
            }
            rows.extend(constants.decay.c.map(|c| plain("c", "constant c of p (Proposition 2)", c)));
        } else {
            rows.push(heading("theorem: no constants for this setting; see below".into(), ""));
        }
        lines.push(table(&rows));
        if sharp && self.sharp.is_some() {
            lines.push(
                "sharper: |lambda - sigma^2| for lambda + sigma^2, e^{-1/3} for 1/2, the least p of the proof\n".into(),
            );
        }
        lines.extend(self.advice.advice.iter().map(paragraph));
        lines.join("\n") + "\n"
    }
}

/// A setting as it was given, but never with hundreds of digits.
fn plain_number(value: f64) -> String {
    if value == 0.0 || (1e-5..1e16).contains(&value) { format!("{value}") } else { format!("{value:e}") }
}

/// A quantity for people: as its logarithm where the number is out of range.
fn shown(quantity: &Quantity) -> String {
    let lost = (quantity.value == 0.0 || quantity.value.is_infinite()) && quantity.log.is_finite();
    if lost { format!("exp({})", short(quantity.log)) } else { short(quantity.value) }
}

/// Rows with their columns aligned.
fn table(rows: &[[String; 4]]) -> String {
    let width = |k: usize| rows.iter().filter(|r| !r[2].is_empty()).map(|r| r[k].chars().count()).max().unwrap_or(0);
    let [name, label, value] = [0, 1, 2].map(width);
    let line =
        |[a, b, c, d]: &[String; 4]| format!("{a:name$}  {b:label$}  {c:value$}  {d}").trim_end().to_string() + "\n";
    rows.iter().map(line).collect()
}

/// A piece of advice as a paragraph with a mark, a topic and indented lines.
fn paragraph(sentence: &Sentence) -> String {
    const WIDTH: usize = 100;
    let mark = match sentence.holds {
        Holds::Yes => "yes",
        Holds::No => "NO",
        Holds::Unknown => "-",
    };
    let indent = format!("{:13}  {mark:3}  ", sentence.topic);
    let mut text = indent.clone();
    let mut column = indent.len();
    for word in sentence.text.split_whitespace() {
        if column + word.len() + 1 > WIDTH {
            text = text.trim_end().to_string() + "\n" + &" ".repeat(indent.len());
            column = indent.len();
        }
        text += word;
        text += " ";
        column += word.len() + 1;
    }
    text.trim_end().to_string()
}
