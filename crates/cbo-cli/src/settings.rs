//! Settings as text: every key of a run with the value that its flag would read back.

use crate::setup::ProblemSpec;
use crate::text;
use crate::values::{RotateSpec, ShiftSpec};
use cbo::{CboConfig, Coordinates};

/// The settings of a swarm, which the method auto does not have.
const DYNAMICS: [&str; 16] = [
    "particles",
    "lambda",
    "sigma",
    "alpha",
    "dt",
    "diffusion",
    "scheme",
    "truncation",
    "update",
    "kick",
    "freeze",
    "epoch-steps",
    "reduction",
    "steps",
    "time",
    "diameter",
];

/// Every setting of the engine, keys as the flags have them. Given initial points are taken to be in the file `points`.
pub fn of_config(config: &CboConfig, points: &str) -> Vec<(&'static str, String)> {
    // No `..`, so that a new field of the engine is not forgotten here.
    let CboConfig {
        method,
        particles,
        lambda,
        sigma,
        alpha,
        dt,
        diffusion,
        scheme,
        truncation,
        init,
        batch,
        update,
        kick,
        freeze,
        bounds,
        bound_handling,
        surface: _, // a function, which has no text
        epoch_steps,
        reduction,
        steps,
        time,
        max_evaluations,
        max_seconds,
        target,
        diameter,
        stagnation,
        seed,
        threads,
        strict,
    } = config;
    let whole = |n: u64| n.to_string();
    let off = || "off".to_string();
    let mut entries = vec![
        ("bounds", bounds.as_ref().map_or_else(off, |b| text::bounds(b))),
        ("bound-handling", bound_handling.to_string()),
        ("init", text::init(init, points)),
        ("method", method.to_string()),
        ("particles", particles.to_string()),
        ("lambda", text::number(*lambda)),
        ("sigma", sigma.to_string()),
        ("alpha", alpha.to_string()),
        ("dt", text::number(*dt)),
        ("diffusion", diffusion.to_string()),
        ("scheme", scheme.to_string()),
        ("truncation", text::optional(*truncation, text::number)),
        ("batch", text::optional(*batch, |n| n.to_string())),
        ("update", update.to_string()),
        ("kick", text::optional(*kick, text::number)),
        ("freeze", freeze.as_ref().map_or_else(off, |x| point(x))),
        ("epoch-steps", text::optional(*epoch_steps, whole)),
        ("reduction", text::optional(*reduction, |r| r.to_string())),
        ("steps", text::optional(*steps, whole)),
        ("time", text::optional(*time, text::number)),
        ("max-evaluations", text::optional(*max_evaluations, whole)),
        ("max-seconds", text::optional(*max_seconds, text::number)),
        ("target", text::optional(*target, text::number)),
        ("diameter", text::optional(*diameter, text::number)),
        ("stagnation", text::optional(*stagnation, whole)),
        ("seed", seed.to_string()),
        ("threads", threads.to_string()),
        ("strict", strict.to_string()),
    ];
    // What a method does not have would only confuse.
    entries.retain(|(key, _)| !method.is_auto() || !DYNAMICS.contains(key));
    entries
}

/// Every setting of a benchmark function.
pub fn of_problem(spec: &ProblemSpec) -> Vec<(&'static str, String)> {
    let mut entries = vec![("objective", spec.name.to_string()), ("dim", spec.dim.to_string())];
    entries.extend(spec.amplitude.map(|a| ("amplitude", text::number(a))));
    entries.extend(spec.condition.map(|c| ("condition", text::number(c))));
    entries.extend(spec.shift.as_ref().map(|shift| match shift {
        ShiftSpec::Random => ("shift", "random".into()),
        // Not shortened where all are the same: the description of the problem should stay the same too.
        ShiftSpec::By(Coordinates::Each(amounts)) => ("shift", point(amounts)),
        ShiftSpec::By(Coordinates::All(amount)) => ("shift", text::number(*amount)),
    }));
    entries.extend(spec.rotate.map(|rotate| match rotate {
        RotateSpec::Random => ("rotate", "random".into()),
        RotateSpec::Seed(seed) => ("rotate", seed.to_string()),
    }));
    entries
}

/// A TOML file that repeats a run of a command with these settings.
pub fn to_toml(command: &str, entries: &[(&'static str, String)]) -> String {
    let mut toml = format!("# Repeat this run with: cbo {command} --config config.toml\n");
    for (key, value) in entries {
        toml += &format!("{key} = {}\n", literal(value));
    }
    toml
}

/// The coordinates of a point, each written out.
fn point(x: &[f64]) -> String {
    x.iter().map(|v| text::number(*v)).collect::<Vec<_>>().join(",")
}

/// The text as a TOML number or boolean where it is one, else as a string.
fn literal(text: &str) -> String {
    let plain = text.parse::<i64>().is_ok_and(|n| n.to_string() == text) || text == "true" || text == "false";
    let float = text.parse::<f64>().is_ok_and(f64::is_finite) && text.contains(['.', 'e']);
    if plain || float { text.to_string() } else { toml::Value::String(text.into()).to_string() }
}
