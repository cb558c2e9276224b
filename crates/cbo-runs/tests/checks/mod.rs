//! What must hold for any bytes that are read as a checkpoint, as the engine's state or as what a program answered.
//! The short fuzzing in `fuzz.rs` and the long one in `fuzz/` check the same.

#![allow(dead_code)] // each target checks one of them

use cbo::{
    Adam, Alpha, AskTell, BoundHandling, CboConfig, Diffusion, InitialLaw, Memory, Method, Mirror, Plan, Scalar,
    Settings, Sigma, Update, from_fn, resume,
};
use cbo_runs::checkpoint::Checkpoint;
use cbo_runs::external::{Outcome, read_answer, read_value};
use serde_json::Value;
use std::ops::Range;
use std::sync::LazyLock;

/// Number of coordinates of the runs whose states are read.
pub const DIM: usize = 3;

/// A message is one line of reasonable length, and nothing in it moves a terminal's cursor.
fn refused(error: &dyn std::error::Error) -> bool {
    let message = error.to_string();
    assert!(!message.is_empty() && message.chars().count() < 600, "{message}");
    assert!(!message.contains(char::is_control), "{message:?}");
    false
}

/// What is read is written as the same again; accepted if the engine can also resume from it.
pub fn checkpoint(bytes: &[u8]) -> bool {
    let read = match Checkpoint::from_bytes(bytes) {
        Err(error) => return refused(&error),
        Ok(read) => read,
    };
    let written = read.to_bytes();
    let again = Checkpoint::from_bytes(&written).expect("what was written");
    assert_eq!(again, read);
    assert_eq!(again.to_bytes(), written);
    state(&read.state)
}

/// The engine refuses a state or resumes from it, the same way however often it is saved and loaded.
pub fn state(bytes: &[u8]) -> bool {
    let tried: Vec<bool> = RUNS.iter().map(|run| (run.goes_on)(&run.plan, bytes)).collect();
    tried.contains(&true)
}

/// The same for two of the runs, chosen by the bytes: one that the head of the state names, and any one. Nearly all others say no more than
/// that the state is not theirs, and a fuzzer has better things to do than to be told so.
pub fn state_of_some(bytes: &[u8]) -> bool {
    let chance = crc32fast::hash(bytes) as usize;
    let named: Vec<&Run> = RUNS.iter().filter(|run| bytes.get(HEAD).is_some_and(|head| head == run.head)).collect();
    let (one, any) = (named.get(chance % named.len().max(1)), &RUNS[chance / named.len().max(1) % RUNS.len()]);
    let goes_on = |run: &Run| (run.goes_on)(&run.plan, bytes);
    one.is_some_and(|one| goes_on(one)) | goes_on(any)
}

/// Where a state says whose it is: precision, method, dimension, seed and batch.
const HEAD: Range<usize> = 12..12 + 4 + 16 + 3 * 8;

/// A run whose states are read, in one precision.
struct Run {
    plan: Plan,
    head: Vec<u8>,
    goes_on: fn(&Plan, &[u8]) -> bool,
}

impl Run {
    fn new<T: Scalar>(config: &CboConfig) -> Self {
        let plan = config.plan(DIM).expect("a plan");
        let head = AskTell::<T>::new(&plan, DIM).expect("a run").save()[HEAD].to_vec();
        Self { plan, head, goes_on: goes_on::<T> }
    }
}

static RUNS: LazyLock<Vec<Run>> =
    LazyLock::new(|| configs().iter().flat_map(|config| [Run::new::<f64>(config), Run::new::<f32>(config)]).collect());

/// Runs of few particles in which the state has all its parts.
pub fn configs() -> [CboConfig; 19] {
    let base = CboConfig {
        particles: 8,
        alpha: Alpha::Constant(3.0),
        sigma: Sigma::Constant(0.7),
        steps: Some(12),
        max_evaluations: Some(200),
        init: InitialLaw::uniform(&[(-3.0, 3.0); DIM]),
        seed: 5,
        threads: 1,
        ..CboConfig::default()
    };
    let reduced = CboConfig { reduction: Some(Default::default()), epoch_steps: Some(3), ..base.clone() };
    [
        base.clone(),
        CboConfig {
            alpha: Alpha::EffectiveSampleSize(0.2),
            bounds: Some(vec![(-2.0, 3.0); DIM]),
            bound_handling: BoundHandling::Reflect,
            ..base.clone()
        },
        CboConfig { batch: Some(4), kick: Some(0.05), ..base.clone() },
        CboConfig { batch: Some(4), update: Update::Partial, kick: Some(10.0), ..base.clone() },
        CboConfig { batch: Some(2), ..reduced.clone() },
        reduced,
        CboConfig { steps: None, ..base.clone() },
        CboConfig {
            alpha: Alpha::Constant(f64::INFINITY),
            diffusion: Diffusion::Isotropic,
            freeze: Some(vec![1.0; DIM]),
            kick: None,
            stagnation: Some(3),
            ..base.clone()
        },
        CboConfig { method: Method::Memory(Memory::default()), ..base.clone() },
        CboConfig {
            method: "hopping:momentum=0.9,weights=ranks".parse().expect("a method"),
            alpha: Alpha::Constant(f64::INFINITY),
            ..base.clone()
        },
        CboConfig { method: Method::Memory(Memory { beta: 1.0, ..Memory::default() }), batch: Some(4), ..base.clone() },
        CboConfig { method: Method::Adam(Adam::default()), batch: Some(4), ..base.clone() },
        CboConfig { method: Method::Mirror(Mirror::Sparse { threshold: 0.5 }), ..base.clone() },
        suited("sampling", &base),
        suited("polarised", &base),
        suited("jumps", &base),
        suited("sphere", &base),
        searched("auto", &base),
        searched("auto:local=true", &base),
    ]
}

/// A run of another method, with the settings that suit it.
fn suited(method: &str, base: &CboConfig) -> CboConfig {
    CboConfig { particles: base.particles, steps: base.steps, ..searched(method, base) }
}

/// A run of a method that has no swarm.
fn searched(method: &str, base: &CboConfig) -> CboConfig {
    CboConfig {
        max_evaluations: base.max_evaluations,
        init: base.init.clone(),
        seed: base.seed,
        threads: base.threads,
        ..CboConfig::of(method.parse().expect("a method"))
    }
}

/// What the runs minimise.
pub fn bumpy<T: Scalar>(x: &[T]) -> T {
    T::from_f64(x.iter().map(|x| (x.to_f64() - 1.0).powi(2) * (1.0 + x.to_f64().sin().powi(2))).sum())
}

/// Constraints of a point, as many as a state says that there are.
pub fn limits<T: Scalar>(x: &[T], count: usize) -> Vec<T> {
    x.iter().cycle().take(count).map(|x| T::from_f64(x.to_f64() - 0.5)).collect()
}

fn goes_on<T: Scalar>(plan: &Plan, bytes: &[u8]) -> bool {
    let mut run = match AskTell::<T>::load(plan, DIM, bytes) {
        Err(error) => return refused(&error),
        Ok(run) => run,
    };
    let saved = run.save();
    let mut again = AskTell::<T>::load(plan, DIM, &saved).expect("what was saved");
    assert_eq!(timeless(&again.save()), timeless(&saved));
    assert_eq!(again.stopped(), run.stopped());
    for _ in 0..3 {
        let (here, there) = (bits(run.ask().as_slice()), bits(again.ask().as_slice()));
        assert_eq!(here, there);
        let energies: Vec<T> = run.ask().iter().map(bumpy).collect();
        let count = run.constraints();
        let limits: Vec<T> = run.ask().iter().flat_map(|x| limits(x, count)).collect();
        let told = [&mut run, &mut again].map(|run| run.tell_constrained(&energies, &limits, &mut ()));
        match told {
            [Ok(here), Ok(there)] => assert_eq!(here, there),
            [Err(here), Err(there)] => {
                assert_eq!(here.to_string(), there.to_string());
                refused(&here);
                break;
            }
            mixed => panic!("{mixed:?}"),
        }
    }
    // Ends after 200 evaluations at the latest.
    if let Err(error) = resume::<T>(plan, &from_fn(DIM, bumpy), &mut (), bytes) {
        refused(&error);
    }
    true
}

fn bits<T: Scalar>(numbers: &[T]) -> Vec<u64> {
    numbers.iter().map(|x| x.to_f64().to_bits()).collect()
}

/// A state without the seconds that the run took, and without its checksum.
fn timeless(state: &[u8]) -> (&[u8], &[u8]) {
    let seconds = if state[16..].starts_with(b"auto") { 80 } else { 96 };
    (&state[..seconds], &state[seconds + 8..state.len() - 4])
}

/// Corrects the checksum at the end of a state: otherwise hardly any change would get past it.
pub fn seal_state(bytes: &mut [u8]) {
    if let Some((body, sum)) = bytes.split_last_chunk_mut() {
        *sum = crc32fast::hash(body).to_le_bytes();
    }
}

/// Corrects the checksums of a checkpoint and of the state in it.
pub fn seal_checkpoint(bytes: &mut [u8]) {
    for (name, contents) in sections(bytes) {
        if &bytes[name] == b"state" {
            seal_state(&mut bytes[contents]);
        }
    }
    seal_state(bytes);
}

/// Where the names and the contents of the sections are, up to the first that is not whole.
pub fn sections(bytes: &[u8]) -> Vec<(Range<usize>, Range<usize>)> {
    let body = &bytes[..bytes.len().saturating_sub(4)];
    let next = |place: usize| {
        let length = u32::from_le_bytes(*body.get(place..)?.first_chunk()?);
        let name = place + 4..(place + 4).checked_add(length as usize)?;
        let length = u64::from_le_bytes(*body.get(name.end..)?.first_chunk()?);
        let start = name.end + 8;
        let end = start.checked_add(usize::try_from(length).ok()?)?;
        (end <= body.len()).then_some((name, start..end))
    };
    std::iter::successors(next(16), |(_, contents)| next(contents.end)).collect()
}

/// A line of a worker is a value or none, and what a JSON library makes of it, the reader makes of it too. Accepted
/// as an answer, or else as a number alone.
pub fn answer(bytes: &[u8]) -> bool {
    let answer = read_answer(bytes);
    match &answer {
        Err(error) => _ = refused(error),
        Ok(answer) => {
            let (outcome, value) = (&answer.outcome, answer.outcome.value());
            assert!(matches!(outcome, Outcome::Value(_) | Outcome::NoValue(_)), "{outcome:?}");
            assert!(value != f64::NEG_INFINITY && outcome.message().len() <= 203, "{outcome:?}");
            let stored = Outcome::from_parts(outcome.status(), Some(value).filter(|v| !v.is_nan()), outcome.message());
            assert_eq!(stored.as_ref(), Some(outcome));
        }
    }
    if let Some(expected) = by_a_library(bytes) {
        assert_eq!(answer.as_ref().ok().map(|answer| (answer.id, &answer.outcome)), Some((expected.0, &expected.1)));
    }
    answer.is_ok() || read_value(bytes).is_some()
}

/// The answer as a JSON library reads it, where nothing in it is a matter of opinion: repeated and escaped keys are.
fn by_a_library(bytes: &[u8]) -> Option<(u64, Outcome)> {
    let once = |key: &[u8]| bytes.windows(key.len()).filter(|part| *part == key).count() <= 1;
    if bytes.contains(&b'\\') || ![&b"id"[..], b"value", b"error"].into_iter().all(once) {
        return None;
    }
    let Value::Object(object) = serde_json::from_slice(bytes).ok()? else { return None };
    let id = object.get("id")?.as_u64()?;
    match (object.get("error"), object.get("value")) {
        (None | Some(Value::Null), Some(value)) => Some((id, Outcome::of(value.as_f64()?))),
        (Some(Value::String(words)), _) if words.len() <= 200 => {
            Some((id, Outcome::NoValue(words.trim_ascii().to_string())))
        }
        _ => None,
    }
}
