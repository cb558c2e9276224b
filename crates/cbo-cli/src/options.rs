//! The flags that describe a run, one for every setting of the engine and of the problem.
//!
//! No default is repeated here: an absent flag leaves [`CboConfig::default`] alone, and `--help` shows its value.

use crate::config_file::Origins;
use crate::error::CliError;
use crate::settings;
use crate::values::{
    self, BoundsSpec, ConstraintsSpec, FreezeSpec, InitSpec, Precision, RotateSpec, ShiftSpec, Switch,
};
use cbo::{Alpha, Auto, BoundHandling, CboConfig, Diffusion, Method, Reduction, Scheme, Sigma, Update};
use cbo_problems::Constraint;
use clap::Args;
use std::path::PathBuf;

const SIGMA: &str = "Diffusion: a number, geometric:START,FACTOR[,CAP][,step|epoch], log:START[,step|epoch] (START / log2(k + 2)) or falling:START,END \
     (over the run)";
const ALPHA: &str = "Weight parameter: a number, inf, ess:ETA (effective sample size ETA N), \
                     geometric:START,FACTOR[,CAP][,step|epoch] or log:START[,step|epoch] (START log2(k + 2))";

/// What a flag on its own means (`--strict`); it may have a value (`--strict=false`), as TOML keys do.
const YES: &str = "true";

/// Which function, in how many dimensions, and how it is moved and turned.
#[derive(Args, Clone, Debug, Default)]
pub struct ProblemOptions {
    /// The function to minimise; `cbo list` shows all
    #[arg(value_name = "FUNCTION")]
    pub objective: Option<String>,
    /// Number of coordinates; functions of a fixed dimension do not need it
    #[arg(long, value_name = "D", value_parser = values::size, help_heading = "Problem")]
    pub dim: Option<usize>,
    /// Moves the minimiser: by one number, by one for each coordinate (1;2;3), or to a `random` place given by the seed
    #[arg(long, value_name = "VALUE|random", value_parser = values::shift, help_heading = "Problem")]
    pub shift: Option<ShiftSpec>,
    /// Turns the function about its minimiser by the random matrix of this seed, or of the run's seed (`random`)
    #[arg(long, value_name = "SEED|random", value_parser = values::rotate, help_heading = "Problem")]
    pub rotate: Option<RotateSpec>,
    /// Height of Rastrigin's ripples: 2.5 in papers on consensus-based optimization, classically 10
    #[arg(long, value_name = "A", value_parser = values::number, help_heading = "Problem")]
    pub amplitude: Option<f64>,
    /// Condition number of the ellipsoid
    #[arg(long, value_name = "C", value_parser = values::number, help_heading = "Problem")]
    pub condition: Option<f64>,
}

/// What is minimised, and how.
#[derive(Args, Clone, Debug, Default)]
pub struct RunOptions {
    /// The function.
    #[command(flatten)]
    pub problem: ProblemOptions,

    /// A TOML file with the same keys as the flags (dashes or underscores), and `objective`; flags override it, and
    /// relative paths in the file start from its folder
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,

    /// The box of the particles: LOW,HIGH (each one number, or one for each coordinate: -1;-2,1;2), a file with one pair per
    /// line, or `off` [default: the domain of functions that are defined nowhere else, off for others]
    #[arg(long, value_name = "LOW,HIGH|FILE", value_parser = values::bounds, help_heading = "Problem")]
    pub bounds: Option<BoundsSpec>,
    /// What happens at the bounds: reflect, clip, or none (the bounds are used only for the start)
    #[arg(long, value_name = "HOW", value_parser = values::bound_handling, help_heading = "Problem")]
    pub bound_handling: Option<BoundHandling>,
    /// Puts the function, or program, under a constraint: ball:R, hole:R, ring:R,S or sphere:R (|x| is at most R, at least R, from R to S,
    /// R), sum<=C, sum>=C or sum=C (of the coordinates), or several with `;` between [default: off]
    #[arg(long, value_name = "CONSTRAINT|off", value_parser = values::constraints, help_heading = "Problem")]
    pub constraint: Option<ConstraintsSpec>,
    /// Where particles start: normal:MEAN,VARIANCE, uniform:LOW,HIGH (each one number, or one for each coordinate:
    /// normal:2;0;0,1) or file:PATH (CSV or NPY, one point per row) [default: uniform on the bounds or the domain]
    #[arg(long, value_name = "LAW", value_parser = values::init, help_heading = "Problem")]
    pub init: Option<InitSpec>,

    /// auto needs no settings; cbo is the swarm of the paper; memory[:NAME=VALUE,...] has particles that remember their best
    /// points (drift, noise, beta, kappa, theta, gradient); hopping[:NAME=VALUE,...] draws them around a centre that hops (momentum, rate,
    /// cosine, antithetic, weights, start); polarised[:NAME=VALUE,...] finds several minimisers (kappa, kernel); sampling[:law=true] agrees
    /// on a covariance too; jumps[:NAME=VALUE,...] sends some particles far (rate, size); adam[:NAME=VALUE,...] has moments of the distance
    /// (beta1, beta2, epsilon); mirror[:map=MAP,...] keeps to a box, a simplex, a ball or to sparse points; sphere[:radius=R] and
    /// hypersurface[:surface=SURFACE,...] keep to a sphere, a torus or to orthonormal columns [default: auto, or cbo where a setting of its
    /// dynamics is given]
    #[arg(long, value_name = "METHOD", value_parser = values::method, help_heading = "Dynamics")]
    pub method: Option<Method>,
    /// Method auto: only polishes the start, without restarts elsewhere
    #[arg(long, value_name = "YES", num_args = 0..=1, require_equals = true, default_missing_value = YES,
          hide_possible_values = true, help_heading = "Dynamics")]
    pub local: Option<bool>,
    /// Number of particles N [with --init file: one per point]
    #[arg(long, value_name = "N", value_parser = values::size, help_heading = "Dynamics")]
    pub particles: Option<usize>,
    /// Drift towards the consensus point
    #[arg(long, value_name = "LAMBDA", value_parser = values::number, help_heading = "Dynamics")]
    pub lambda: Option<f64>,
    /// Diffusion over time
    #[arg(long, value_name = "SIGMA", value_parser = values::sigma, help_heading = "Dynamics", help = SIGMA)]
    pub sigma: Option<Sigma>,
    /// Weight parameter over time
    #[arg(long, value_name = "ALPHA", value_parser = values::alpha, help_heading = "Dynamics", help = ALPHA)]
    pub alpha: Option<Alpha>,
    /// Time step
    #[arg(long, value_name = "DT", value_parser = values::number, help_heading = "Dynamics")]
    pub dt: Option<f64>,
    /// Kind of noise: anisotropic or isotropic
    #[arg(long, value_name = "KIND", value_parser = values::diffusion, help_heading = "Dynamics")]
    pub diffusion: Option<Diffusion>,
    /// Time discretisation: euler-maruyama or drift-first
    #[arg(long, value_name = "SCHEME", value_parser = values::scheme, help_heading = "Dynamics")]
    pub scheme: Option<Scheme>,
    /// Noise grows with the distance from the consensus point up to this length; `off` for without limit
    #[arg(long, value_name = "LENGTH|off", value_parser = values::number_or_off, help_heading = "Dynamics")]
    pub truncation: Option<Switch<f64>>,
    /// Method auto: points that each round of evaluations should have at least. Others: particles evaluated in a step, a divisor of N,
    /// `off` for all
    #[arg(long, value_name = "N", value_parser = values::size_or_off, help_heading = "Dynamics")]
    pub batch: Option<Switch<usize>>,
    /// Which particles move when --batch is given: full (all) or partial (the batch)
    #[arg(long, value_name = "WHICH", value_parser = values::update, help_heading = "Dynamics")]
    pub update: Option<Update>,
    /// Kicks the swarm by plain noise when the consensus point moved less than this; `off` for never
    #[arg(long, value_name = "TOLERANCE|off", value_parser = values::number_or_off, help_heading = "Dynamics")]
    pub kick: Option<Switch<f64>>,
    /// Keeps the consensus point at the `minimiser` or at x1,x2,...: for tests of the theory
    #[arg(long, value_name = "POINT", value_parser = values::freeze, help_heading = "Dynamics")]
    pub freeze: Option<FreezeSpec>,
    /// Steps in an epoch; `off` for one round of particle batches
    #[arg(long, value_name = "STEPS", value_parser = values::count_or_off, help_heading = "Dynamics")]
    pub epoch_steps: Option<Switch<u64>>,
    /// Shrinks the swarm with its variance, once an epoch: on, off or STRENGTH,LEAST
    #[arg(long, value_name = "HOW", value_parser = values::reduction, help_heading = "Dynamics")]
    pub reduction: Option<Switch<Reduction>>,

    /// Stop after this many steps
    #[arg(long, value_name = "STEPS", value_parser = values::count_or_off, help_heading = "When to stop")]
    pub steps: Option<Switch<u64>>,
    /// Stop at this time, a multiple of dt; instead of --steps
    #[arg(long, value_name = "T", value_parser = values::number_or_off, help_heading = "When to stop")]
    pub time: Option<Switch<f64>>,
    /// Stop before more evaluations than this are spent
    #[arg(long, value_name = "COUNT", value_parser = values::count_or_off, help_heading = "When to stop")]
    pub max_evaluations: Option<Switch<u64>>,
    /// Stop after this many seconds
    #[arg(long, value_name = "SECONDS", value_parser = values::number_or_off, help_heading = "When to stop")]
    pub max_seconds: Option<Switch<f64>>,
    /// Stop when a value this low is found
    #[arg(long, value_name = "VALUE", value_parser = values::number_or_off, help_heading = "When to stop")]
    pub target: Option<Switch<f64>>,
    /// Stop when the swarm is smaller than this, in the maximum norm
    #[arg(long, value_name = "LENGTH", value_parser = values::number_or_off, help_heading = "When to stop")]
    pub diameter: Option<Switch<f64>>,
    /// Stop when the best value has not improved for this many steps
    #[arg(long, value_name = "STEPS", value_parser = values::count_or_off, help_heading = "When to stop")]
    pub stagnation: Option<Switch<u64>>,

    /// Seed of everything random; 0 is a seed like any other
    #[arg(long, value_name = "SEED", value_parser = values::count, help_heading = "Computation")]
    pub seed: Option<u64>,
    /// Threads; 0 for one per core. Results do not depend on it
    #[arg(long, value_name = "COUNT", value_parser = values::size, help_heading = "Computation")]
    pub threads: Option<usize>,
    /// Precision of positions and energies [default: f64]
    #[arg(long, value_name = "PRECISION", help_heading = "Computation")]
    pub precision: Option<Precision>,
    /// Makes the first failed evaluation (NaN) an error
    #[arg(long, value_name = "YES", num_args = 0..=1, require_equals = true, default_missing_value = YES,
          hide_possible_values = true, help_heading = "Computation")]
    pub strict: Option<bool>,

    /// One JSON object on stdout, and nothing else there. Numbers that are not finite are the strings "inf", "-inf", "nan"
    #[arg(long, value_name = "YES", num_args = 0..=1, require_equals = true, default_missing_value = YES,
          hide_possible_values = true, help_heading = "Output")]
    pub json: Option<bool>,
    /// No progress bar, no warnings
    #[arg(long, value_name = "YES", num_args = 0..=1, require_equals = true, default_missing_value = YES,
          hide_possible_values = true, help_heading = "Output")]
    pub quiet: Option<bool>,
}

impl RunOptions {
    /// The settings given that only a swarm of the dynamics has: their flags.
    pub fn of_the_dynamics(&self) -> impl Iterator<Item = &'static str> {
        fn on<T>(switch: &Option<Switch<T>>) -> bool {
            matches!(switch, Some(Switch(Some(_))))
        }
        let given = [
            ("particles", self.particles.is_some()),
            ("lambda", self.lambda.is_some()),
            ("sigma", self.sigma.is_some()),
            ("alpha", self.alpha.is_some()),
            ("dt", self.dt.is_some()),
            ("diffusion", self.diffusion.is_some()),
            ("scheme", self.scheme.is_some()),
            ("truncation", on(&self.truncation)),
            ("update", self.update.is_some()),
            ("kick", on(&self.kick)),
            ("freeze", self.freeze.as_ref().is_some_and(|freeze| *freeze != FreezeSpec::Off)),
            ("epoch-steps", on(&self.epoch_steps)),
            ("reduction", on(&self.reduction)),
            ("steps", on(&self.steps)),
            ("time", on(&self.time)),
            ("diameter", on(&self.diameter)),
        ];
        given.into_iter().filter_map(|(flag, given)| given.then_some(flag))
    }

    /// Leaves out a setting of the dynamics, for a method that does not have it.
    pub fn leave_out(&mut self, flag: &str) {
        match flag {
            "particles" => self.particles = None,
            "lambda" => self.lambda = None,
            "sigma" => self.sigma = None,
            "alpha" => self.alpha = None,
            "dt" => self.dt = None,
            "diffusion" => self.diffusion = None,
            "scheme" => self.scheme = None,
            "truncation" => self.truncation = None,
            "update" => self.update = None,
            "kick" => self.kick = None,
            "freeze" => self.freeze = None,
            "epoch-steps" => self.epoch_steps = None,
            "reduction" => self.reduction = None,
            "steps" => self.steps = None,
            "time" => self.time = None,
            "diameter" => self.diameter = None,
            _ => (),
        }
    }

    /// Settles the method where none is given: auto, or cbo if a setting of its dynamics is given, or something `else_given` that only
    /// it has. Returns what the user should be told of that.
    pub fn settle_method(
        &mut self,
        else_given: Option<&'static str>,
        origins: &Origins,
    ) -> Result<Option<String>, CliError> {
        let reason = self.of_the_dynamics().next().or(else_given);
        let (method, note) = match (self.method, reason) {
            (Some(method), _) => (method, None),
            (None, None) => (Method::Auto(Auto::default()), None),
            (None, Some(flag)) => {
                let flag = origins.name(flag);
                let note = format!("{flag} is a setting of method cbo, which is used; --method auto needs none");
                (Method::Cbo, Some(note))
            }
        };
        self.method = Some(match (method, self.local) {
            (Method::Auto(_), Some(local)) => Method::Auto(Auto { local }),
            (other, Some(true)) => {
                let message =
                    format!("local = true: only method auto polishes, not {}; leave one of them out", other.name());
                return Err(origins.blame("local", &message));
            }
            (method, _) => method,
        });
        Ok(note)
    }

    /// Overwrites `config` with what was given. The initial law, the bounds and the frozen point need the problem and are
    /// left to [`crate::setup`].
    pub fn apply(&self, config: &mut CboConfig) {
        /// Sets fields from plain options and from switches.
        macro_rules! set {
            ($($field:ident),*; $($switch:ident),*) => {
                $(if let Some(value) = self.$field { config.$field = value; })*
                $(if let Some(Switch(value)) = self.$switch { config.$switch = value; })*
            };
        }
        // The two say the same thing: giving one replaces the default of the other.
        if self.time.is_some() && self.steps.is_none() {
            config.steps = None;
        }
        if self.steps.is_some() && self.time.is_none() {
            config.time = None;
        }
        // A frozen point never moves: the kick makes sense only if asked for.
        if matches!(self.freeze, Some(FreezeSpec::At(_) | FreezeSpec::Minimiser)) {
            config.kick = None;
        }
        set!(method, particles, lambda, sigma, alpha, dt, diffusion, scheme, update, bound_handling, seed, threads, strict;
             truncation, batch, kick, epoch_steps, reduction, steps, time, max_evaluations, max_seconds, target, diameter, stagnation);
    }

    /// The constraints that the function or program is put under.
    pub fn constraints(&self) -> Vec<Constraint> {
        self.constraint.clone().unwrap_or_default().0
    }

    /// Whether one JSON object is wanted.
    pub fn json(&self) -> bool {
        self.json.unwrap_or(false)
    }

    /// Whether the user wants no progress and no warnings.
    pub fn quiet(&self) -> bool {
        self.quiet.unwrap_or(false)
    }
}

/// Completes a command: defaults of the engine in the help texts, and values that may begin with a minus sign.
pub fn complete(command: clap::Command) -> clap::Command {
    let defaults = settings::of_config(&CboConfig::default(), "FILE");
    command.mut_args(|arg| {
        let takes_value = arg.get_long().is_some() && arg.get_num_args().is_none_or(|n| n.takes_values());
        let arg = if takes_value && !arg.is_require_equals_set() { arg.allow_hyphen_values(true) } else { arg };
        // Defaults that depend on the problem are given in words.
        let default = defaults.iter().find(|(key, _)| {
            arg.get_long() == Some(key) && !["init", "bounds", "strict", "method", "batch"].contains(key)
        });
        match (default, arg.get_help()) {
            (Some((_, text)), Some(help)) => {
                let shown = if *text == "off" && arg.get_long() == Some("steps") {
                    format!("{help} [default: {} unless another limit is given]", cbo::DEFAULT_STEPS)
                } else {
                    format!("{help} [default: {text}]")
                };
                arg.help(shown)
            }
            _ => arg,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{FromArgMatches, Parser};

    #[test]
    fn every_setting_of_the_dynamics_can_be_left_out() {
        #[derive(Parser)]
        struct All {
            #[command(flatten)]
            run: RunOptions,
        }
        let line = "cbo sphere --particles 2 --lambda 1 --sigma 1 --alpha 1 --dt 1 --diffusion isotropic --scheme drift-first --batch 1 \
                    --update partial --kick 1 --freeze 1 --epoch-steps 1 --reduction on --steps 1 --time 1 --diameter 1";
        let matches = <All as clap::CommandFactory>::command().get_matches_from(line.split_whitespace());
        let mut options = All::from_arg_matches(&matches).expect("options").run;
        let given: Vec<&str> = options.of_the_dynamics().collect();
        assert_eq!(given.len(), 15);
        for (left, flag) in given.iter().enumerate().rev() {
            options.leave_out(flag);
            assert_eq!(options.of_the_dynamics().collect::<Vec<_>>(), given[..left], "{flag}");
        }
    }
}
