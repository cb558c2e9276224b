//! Flags as people type them: short ones, and what to say about one that there is not.

use crate::error::CliError;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Command};

/// The short forms, the same in every command that has the flag.
const SHORT: [(&str, char); 6] =
    [("dim", 'd'), ("particles", 'n'), ("seed", 's'), ("out", 'o'), ("json", 'j'), ("quiet", 'q')];

/// What users of scipy, pycma and CBXpy call things, without dashes and in small letters; our flag; and how it differs.
const WORDS: &[(&[&str], &str, &str)] = &[
    (
        &["maxiter", "maxit", "maxiterations", "niter", "iterations", "maxsteps", "nsteps", "generations", "maxgen"],
        "steps",
        "--steps N limits the steps of a swarm, and --max-evaluations N any run",
    ),
    (
        &["maxfev", "maxfevals", "maxfeval", "maxfun", "maxeval", "maxevals", "nfev", "budget", "evaluations"],
        "max-evaluations",
        "--max-evaluations N limits the evaluations",
    ),
    (
        &["maxtime", "maxruntime", "walltime", "timelimit", "seconds"],
        "max-seconds",
        "--max-seconds S limits the time that a run takes",
    ),
    (
        &["popsize", "nparticles", "numparticles", "population", "populationsize", "swarmsize", "nwalkers", "n"],
        "particles",
        "--particles N is the size of the swarm",
    ),
    (
        &[
            "tol",
            "atol",
            "rtol",
            "ftol",
            "fatol",
            "tolfun",
            "xtol",
            "xatol",
            "tolx",
            "gtol",
            "eps",
            "difftol",
            "energytol",
            "maxstagnation",
        ],
        "stagnation",
        "--stagnation STEPS ends a run that no longer improves, --diameter LENGTH a swarm that has contracted, --target VALUE one that has found \
         this value; method auto needs none of them",
    ),
    (
        &["ftarget", "fstop", "valuetoreach", "vtr", "fmin", "goal"],
        "target",
        "--target VALUE stops when a value this low is found",
    ),
    (
        &["sigma0", "stds", "cmastds", "stepsize", "initialstep"],
        "init",
        "there is no first step size: --bounds LOW,HIGH says where to search, and --init normal:MEAN,VARIANCE where to start and how far around",
    ),
    (
        &["x0", "start", "guess", "initialguess", "initial", "startpoint", "mean", "p0"],
        "init",
        "--init normal:X1;X2,VARIANCE starts around a point, and --init file:PATH at the points of a file",
    ),
    (
        &["constraints", "constr", "cons", "ineq", "subjectto", "st"],
        "constraint",
        "--constraint CONSTRAINT puts a function under one, such as ball:2 or sum>=1",
    ),
    (
        &["expression", "expr", "equation"],
        "formula",
        "--formula FORMULA is minimised instead of a function, such as sum(x^2)",
    ),
    (
        &["lb", "ub", "lower", "upper", "lowerbound", "upperbound", "range", "box", "limits", "domain", "xmin", "xmax"],
        "bounds",
        "--bounds LOW,HIGH has both ends",
    ),
    (
        &[
            "njobs",
            "ncpus",
            "ncores",
            "cores",
            "processes",
            "nthreads",
            "numthreads",
            "numworkers",
            "parallel",
            "workers",
        ],
        "threads",
        "--threads N is for functions, and --workers N for programs (--command)",
    ),
    (&["noise"], "diffusion", "--diffusion anisotropic|isotropic is the kind of noise"),
    (&["randomstate", "randomseed", "rng", "rngseed"], "seed", "--seed N is the seed of everything random"),
    (
        &["ndim", "dims", "dimension", "dimensions", "ndims", "nvars", "d"],
        "dim",
        "--dim D is the number of coordinates",
    ),
    // A key of a file; there is no such flag.
    (&["func", "fun", "function", "problem"], "objective", "`objective` names the function"),
    (
        &["func", "fun", "function", "objective", "f", "problem"],
        "dim",
        "the function comes first, without a flag: cbo minimize rastrigin --dim 20",
    ),
    (
        &["maximize", "maximise", "max", "negate"],
        "command",
        "cbo minimises: let your program (--command) print the negative of its value",
    ),
    (&["method", "solver", "algorithm", "optimizer"], "method", "--method auto|cbo|memory|... is the method"),
    (
        &["disp", "verbose", "verbosity", "callback", "print"],
        "quiet",
        "a run shows its progress on a terminal, and --quiet turns that off",
    ),
    (&["output", "outdir", "save", "savedir", "logdir", "folder"], "out", "--out FOLDER keeps a run"),
    (&["timestep", "stepwidth"], "dt", "--dt DT is the time step"),
    (&["batchsize"], "batch", "--batch N is the number of points evaluated at once"),
];

/// A command and all below it with the short forms.
pub fn with_short(command: Command) -> Command {
    let short = |arg: Arg| match SHORT.iter().find(|(long, _)| arg.get_long() == Some(long)) {
        Some((_, short)) => arg.short(*short),
        None => arg,
    };
    command.mut_args(short).mut_subcommands(with_short)
}

/// What to say about a key or a flag, without its dashes, that is none of `keys`.
pub fn advice(name: &str, keys: &[&str]) -> String {
    let plain = name.to_lowercase().replace(['-', '_'], "");
    let elsewhere = WORDS.iter().find(|(words, flag, _)| words.contains(&plain.as_str()) && keys.contains(flag));
    if let Some((_, _, sentence)) = elsewhere {
        return format!("; {sentence}");
    }
    if plain == "formula" && !keys.contains(&"formula") {
        return "; only `cbo minimize` takes a formula, because its minimum is not known".into();
    }
    match nearest(name, keys) {
        Some(key) => format!("; did you mean `{key}`?"),
        None => String::new(),
    }
}

/// The most similar key, if it is similar.
fn nearest<'a>(name: &str, keys: &[&'a str]) -> Option<&'a str> {
    let name = name.replace('_', "-");
    let all = keys.iter().map(|key| (*key, strsim::damerau_levenshtein(key, &name)));
    // A third of the letters: `maxiter` is not `diameter`.
    let (key, edits) = all.min_by_key(|(_, edits)| *edits)?;
    (3 * edits <= name.chars().count()).then_some(key)
}

/// The error of the command line, in our words where it is about a flag that there is not.
pub fn explained(command: &Command, arguments: &[std::ffi::OsString], error: clap::Error) -> CliError {
    let (ErrorKind::UnknownArgument, Some(ContextValue::String(given))) =
        (error.kind(), error.get(ContextKind::InvalidArg))
    else {
        return CliError::Clap(error);
    };
    let name = given.trim_start_matches('-').split('=').next().unwrap_or_default();
    if !given.starts_with('-') || name.is_empty() {
        return CliError::Clap(error);
    }
    let (path, subcommand) = innermost(command, arguments);
    let keys: Vec<&str> = subcommand.get_arguments().filter_map(Arg::get_long).collect();
    let advice = advice(name, &keys).replace("did you mean `", "did you mean `--");
    let end = if advice.ends_with('?') { "" } else { ";" };
    CliError::Usage(format!("unknown flag `{given}`{advice}{end} `{path} --help` shows all"))
}

/// The command that the arguments name, and how it is called.
fn innermost<'a>(command: &'a Command, arguments: &[std::ffi::OsString]) -> (String, &'a Command) {
    let words = arguments.iter().skip(1).map_while(|word| word.to_str());
    words.fold((command.get_name().to_string(), command), |(path, found), word| match found.find_subcommand(word) {
        Some(inner) => (format!("{path} {word}"), inner),
        None => (path, found),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A word that is one of our own flags would never be looked up, and a row must lead to a flag that there is.
    #[test]
    fn every_word_leads_to_a_flag() {
        let command = crate::command();
        let minimize = command.find_subcommand("minimize").expect("the command");
        let keys: Vec<&str> = minimize.get_arguments().filter_map(Arg::get_long).collect();
        for (words, flag, sentence) in WORDS.iter().filter(|(_, flag, _)| *flag != "objective") {
            assert!(keys.contains(flag), "{flag}");
            for word in *words {
                assert_eq!(**word, word.to_lowercase().replace(['-', '_'], ""));
                let told = advice(word, &keys);
                assert!(keys.contains(word) || told.contains(sentence), "{word}{told}");
            }
            for named in sentence.split("--").skip(1) {
                let named = named.split(|c: char| !c.is_ascii_lowercase() && c != '-').next().unwrap_or_default();
                assert!(keys.contains(&named), "{named}");
            }
        }
    }

    #[test]
    fn only_similar_words_are_suggested() {
        let keys = ["diameter", "max-evaluations", "particles", "steps"];
        assert_eq!(advice("partikles", &keys), "; did you mean `particles`?");
        assert_eq!(advice("max_evaluation", &keys), "; did you mean `max-evaluations`?");
        assert!(advice("maxiter", &keys).contains("--steps N"));
        assert_eq!(advice("zzzz", &keys), "");
        assert_eq!(advice("popsize", &["steps"]), "", "only of flags that the command has");
    }
}
