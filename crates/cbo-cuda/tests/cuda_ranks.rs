//! Runs over several ranks, each with a device of its own, beside runs of the engine: the same bits at any number of them. Ranks are
//! threads here, and devices the processor in the place of a GPU, or, if CBO_CUDA is set, all of them one GPU.

use crate::bits::{bits, built, config, device};
use crate::host::{Host, is_there};
use cbo::noise::{Noise, Stream};
use cbo::ranks::{Columns, Communicator, Here, Particles, in_threads, is_apart, join_state, resume_on, solve_on};
use cbo::{
    Alpha, BoundHandling, CboConfig, Diffusion, EvalError, InitialLaw, Objective, Observer, Scalar, Scheme, Sigma,
    SolveError, StateError, StepReport, Update, resume, solve,
};
use cbo_cuda::{Cuda, OnRanks};
use cbo_problems::{Formula, Problem, Shift};
use std::ops::ControlFlow;
use std::sync::Arc;

/// The device of a rank, whose first one has all particles at the end.
fn on_ranks(rank: Arc<dyn Communicator>) -> OnRanks {
    device().on_ranks(Particles::new(rank).whole(true))
}

/// What the first rank sees of a run, step by step and at the end, or how it fails.
#[derive(Debug, Default, PartialEq)]
struct Seen {
    steps: Vec<Vec<u64>>,
    end: Vec<u64>,
    words: String,
}

/// Looks at all that may be asked of a step.
struct Watch<'a>(&'a mut Seen);

impl<T: Scalar> Observer<T> for Watch<'_> {
    fn observe(&mut self, step: &StepReport<'_, T>) -> ControlFlow<()> {
        let mut numbers = vec![step.least(), step.effective_sample_size(), step.alpha(), step.best().value];
        numbers.extend_from_slice(step.consensus());
        numbers.extend(step.best().x.iter().map(|x| x.to_f64()));
        if step.step().is_multiple_of(2) {
            numbers.extend([step.spread(), step.mean_of_squares()]);
        }
        if step.step() % 3 == 1 {
            numbers.extend(step.first_rows(700).iter().map(|x| x.to_f64()));
        }
        if step.step() % 4 == 3 {
            numbers.extend(step.ensemble().rows().as_slice().iter().chain(step.energies()).map(|x| x.to_f64()));
        }
        let bits = |x: f64| if x.is_nan() { u64::MAX } else { x.to_bits() };
        let counts = [step.step(), step.evaluations(), u64::from(step.kicked())];
        self.0.steps.push(numbers.into_iter().map(bits).chain(counts).collect());
        ControlFlow::Continue(())
    }
}

/// An error and its causes.
fn words(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(source) => format!("{error}: {}", words(source)),
        None => error.to_string(),
    }
}

impl Seen {
    fn of<T: Scalar>(run: impl FnOnce(&mut Watch<'_>) -> Result<cbo::RunReport<T>, SolveError>) -> Self {
        let mut seen = Self::default();
        match run(&mut Watch(&mut seen)) {
            Ok(report) => (seen.end, seen.words) = (bits(&report), report.message().into()),
            Err(error) => seen.words = words(&error),
        }
        seen
    }
}

/// Compares a run on so many ranks, each with a device, with one of the engine.
fn compare<T: Scalar>(what: &str, sizes: &[usize], config: &CboConfig, problem: &dyn Objective<T>) {
    let alone = Seen::of::<T>(|watch| solve(config, &problem, watch));
    for &size in sizes {
        let mut all = in_threads(size, |rank| {
            let device = on_ranks(rank.clone());
            let seen = Seen::of::<T>(|watch| solve_on(&device, config, problem, watch));
            assert!(rank.rank() == 0 || seen.steps.is_empty(), "only the first rank is told");
            seen
        });
        let first = all.swap_remove(0);
        let step = alone.steps.iter().zip(&first.steps).position(|(a, b)| a != b);
        let (ours, theirs) = (&first.words, &alone.words);
        assert!(first == alone, "{what}, {}, {size} ranks: differs in step {step:?}; {ours}; {theirs}", T::NAME);
    }
}

fn both(what: &str, sizes: &[usize], config: &CboConfig, problem: &Problem) {
    compare::<f64>(what, sizes, config, problem);
    compare::<f32>(what, sizes, config, problem);
}

/// Settings by random choice.
fn random(number: u64) -> (CboConfig, Problem) {
    let noise = Noise::new(23, Stream::Problem, number);
    let below = |what: u32, most: u64| noise.below(what, most) as usize;
    let (dim, most) = [(2, 9000), (5, 4000), (16, 2500), (40, 1500), (70, 900)][below(0, 5)];
    let name = ["rastrigin", "ackley", "rosenbrock", "griewank"][below(1, 4)];
    let mut builder = Problem::builder(name);
    if below(2, 2) == 0 {
        builder = builder.shift(Shift::Random(number));
    }
    if below(3, 3) == 0 && dim < 40 {
        builder = builder.rotate(number);
    }
    let problem = built(builder, dim);
    let particles = 1 + below(4, most);
    let alphas = ["30", "inf", "geometric:1,1.3", "ess:0.2"];
    let base = config(&problem, particles, 3 + below(5, 8) as u64);
    let mut config = CboConfig {
        seed: number,
        alpha: alphas[below(6, 4)].parse().expect("an alpha"),
        sigma: ["0.3", "1", "geometric:1,0.8"][below(7, 3)].parse().expect("a sigma"),
        diffusion: [Diffusion::Anisotropic, Diffusion::Isotropic][below(8, 2)],
        scheme: [Scheme::EulerMaruyama, Scheme::DriftFirst][below(9, 2)],
        kick: [None, None, Some(0.5)][below(10, 3)],
        truncation: [None, None, Some(0.7)][below(11, 3)],
        diameter: [None, Some(3.0)][below(12, 2)],
        ..base
    };
    match below(13, 6) {
        0 => (config.bounds, config.bound_handling) = (Some(vec![(-2.0, 1.5); dim]), BoundHandling::Reflect),
        1 => (config.bounds, config.bound_handling) = (Some(vec![(-2.0, 1.5); dim]), BoundHandling::Clip),
        2 => config.freeze = Some(vec![0.5; dim]),
        3 => {
            let place = |i: usize| 0.01 * (i % 977) as f64 - 3.0;
            config.init = InitialLaw::Points((0..particles * dim).map(place).collect());
        }
        4 => config.init = "normal:0.5,2".parse().expect("a law"),
        _ => (),
    }
    (config, problem)
}

#[test]
fn any_number_of_ranks_has_the_bits_of_the_processor() {
    if !is_there() {
        return;
    }
    for number in 0..24 {
        let (config, problem) = random(number);
        both(&format!("settings {number}: {config:?}"), &[1, 2, 3, 4], &config, &problem);
    }
}

/// Blocks that are merged on the device level by level, in grains of many sizes, and what remains by the processor.
#[test]
fn grains_of_every_size() {
    if !is_there() {
        return;
    }
    let problem = built(Problem::builder("rastrigin"), 33);
    for blocks in [511, 512, 300, 96] {
        let config = config(&problem, 64 * blocks - 5, 2);
        compare::<f32>(&format!("{blocks} blocks"), &[1, 2, 3], &config, &problem);
    }
    let problem = built(Problem::builder("sphere"), 8);
    for blocks in [256, 193, 140] {
        let config = config(&problem, 256 * blocks, 2);
        compare::<f64>(&format!("{blocks} blocks of short rows"), &[1, 2, 4], &config, &problem);
    }
}

#[test]
fn more_ranks_than_blocks() {
    if !is_there() {
        return;
    }
    let problem = built(Problem::builder("ackley"), 5);
    for (particles, alpha) in [(1, "30"), (300, "30"), (1000, "ess:0.3")] {
        let base = config(&problem, particles, 8);
        let alpha = alpha.parse().expect("an alpha");
        let config = CboConfig { alpha, diameter: Some(1e-3), kick: Some(0.1), ..base };
        both(&format!("{particles} particles"), &[3, 7], &config, &problem);
    }
    // Ends when the swarm has shrunk.
    let base = config(&problem, 1500, 0);
    let open = CboConfig { steps: None, sigma: Sigma::Constant(0.2), dt: 0.1, ..base };
    compare::<f64>("no limit", &[2, 5], &open, &problem);
}

#[test]
fn other_methods_and_formulas() {
    if !is_there() {
        return;
    }
    let problem = built(Problem::builder("rastrigin").shift(Shift::Random(2)), 6);
    for text in [
        "memory",
        "memory:beta=10,theta=0.5",
        "hopping",
        "hopping:weights=ranks,momentum=0.5",
        "hopping:antithetic=false",
        "hopping:start=law",
    ] {
        let usual = CboConfig::of(text.parse().expect("a method"));
        let CboConfig { init, .. } = config(&problem, 1, 1);
        let config = CboConfig { particles: 1700, steps: Some(9), seed: 5, threads: 1, init, ..usual };
        both(text, &[1, 3], &config, &problem);
        let isotropic = CboConfig { diffusion: Diffusion::Isotropic, alpha: Alpha::Constant(20.0), ..config.clone() };
        if isotropic.check(6).is_ok() && text.starts_with("memory") {
            both(&format!("{text}, isotropic"), &[2], &isotropic, &problem);
        }
        let sampled = CboConfig { alpha: Alpha::EffectiveSampleSize(0.3), ..config };
        if sampled.check(6).is_ok() {
            compare::<f64>(&format!("{text}, ess"), &[4], &sampled, &problem);
        }
    }
    let text = "sum(i, 1, d-1, 100*(x[i+1]-x[i]^2)^2 + (1-x[i])^2) + ln(x[1] + 1)";
    let formula = Formula::new(text, 6).expect("a formula");
    // Where there is no logarithm there is no value.
    compare::<f64>(text, &[1, 2, 4], &config(&problem, 2000, 6), &formula);
    let strict = CboConfig { strict: true, ..config(&problem, 2000, 6) };
    compare::<f32>("the first failure", &[3], &strict, &formula);
}

/// Columns in memory: where each piece is, and its bytes.
#[derive(Debug)]
struct InMemory(Vec<(u64, Vec<u8>)>);

impl Columns for InMemory {
    fn read(&self, from: u64, to: &mut [u8]) -> Result<(), String> {
        for (at, byte) in (from..).zip(to) {
            let piece = self.0.iter().find(|(start, bytes)| (*start..*start + bytes.len() as u64).contains(&at));
            *byte = piece.map(|(start, bytes)| bytes[(at - start) as usize]).ok_or("nobody has it")?;
        }
        Ok(())
    }
}

/// Keeps a run at a step in one piece, without its columns, and these.
#[derive(Default)]
struct Keeps {
    whole: Vec<u8>,
    apart: Vec<u8>,
    pieces: Vec<(u64, Vec<u8>)>,
}

fn pieces_of(here: &Here<'_, f64>) -> Vec<u8> {
    let number = |bytes: &mut Vec<u8>, number: u64| bytes.extend(number.to_le_bytes());
    let mut bytes = Vec::new();
    for (place, numbers) in &here.pieces {
        number(&mut bytes, *place);
        number(&mut bytes, numbers.len() as u64);
        numbers.iter().for_each(|x| number(&mut bytes, x.to_bits()));
    }
    bytes
}

impl Observer<f64> for Keeps {
    fn observe(&mut self, step: &StepReport<'_, f64>) -> ControlFlow<()> {
        if step.step() < 7 {
            return ControlFlow::Continue(());
        }
        (self.whole, self.apart) = (step.state(), step.state_apart().expect("particles on several ranks"));
        for bytes in step.consult(b"", &mut |_, here| Ok(pieces_of(&here))).expect("answers") {
            let mut rest = &bytes[..];
            while !rest.is_empty() {
                let number = |at: usize| u64::from_le_bytes(rest[8 * at..][..8].try_into().expect("eight bytes"));
                let (place, end) = (number(0), 16 + 8 * number(1) as usize);
                self.pieces.push((place, rest[16..end].to_vec()));
                rest = &rest[end..];
            }
        }
        ControlFlow::Break(())
    }

    fn answer(&mut self, _: &[u8], here: Here<'_, f64>) -> Option<Result<Vec<u8>, EvalError>> {
        Some(Ok(pieces_of(&here)))
    }
}

/// The end of a run that is resumed on so many ranks with devices.
fn resumed(size: usize, config: &CboConfig, problem: &Problem, state: &[u8], columns: &Arc<InMemory>) -> Vec<u64> {
    let mut ends = in_threads(size, |rank| {
        let particles = Particles::new(rank).whole(true).with_columns(columns.clone());
        let report = resume_on::<f64>(&device().on_ranks(particles), config, problem, &mut (), state);
        bits(&report.expect("a run"))
    });
    ends.swap_remove(0)
}

#[test]
fn checkpoints_go_on_anywhere() {
    if !is_there() {
        return;
    }
    let problem = built(Problem::builder("ackley").shift(Shift::Random(4)), 16);
    for text in ["cbo", "memory:beta=5"] {
        let config = CboConfig { method: text.parse().expect("a method"), kick: None, ..config(&problem, 1111, 20) };
        let whole = bits(&solve::<f64>(&config, &problem, &mut ()).expect("a run"));
        let mut kept = in_threads(3, |rank| {
            let mut keeps = Keeps::default();
            solve_on(&on_ranks(rank), &config, &problem, &mut keeps).expect("a run");
            keeps
        });
        let Keeps { whole: state, apart, pieces } = kept.swap_remove(0);
        assert!(is_apart(&apart) && !is_apart(&state));
        let columns = Arc::new(InMemory(pieces));
        assert!(join_state(&apart, &*columns).expect("all bytes") == state, "{text}");
        // By the processor, on one device, and on as many ranks with devices as one likes.
        assert_eq!(bits(&resume::<f64>(&config, &problem, &mut (), &state).expect("a run")), whole, "{text}");
        assert_eq!(bits(&device().resume::<f64>(&config, &problem, &mut (), &state).expect("a run")), whole, "{text}");
        for size in [1, 2, 4, 12] {
            assert_eq!(resumed(size, &config, &problem, &state, &columns), whole, "{text}, {size} ranks");
            assert_eq!(resumed(size, &config, &problem, &apart, &columns), whole, "{text}, {size} ranks, in parts");
        }
        // The processors of four ranks.
        let mut ends = in_threads(4, |rank| {
            let particles = Particles::new(rank).whole(true).with_columns(columns.clone());
            bits(&resume_on::<f64>(&particles, &config, &problem, &mut (), &apart).expect("a run"))
        });
        assert_eq!(ends.swap_remove(0), whole, "{text}, by processors");
    }
}

/// What the processors of ranks have written goes on on their devices.
#[test]
fn a_checkpoint_of_processors_goes_on_on_devices() {
    if !is_there() {
        return;
    }
    let problem = built(Problem::builder("rastrigin"), 10);
    let config = config(&problem, 1300, 15);
    let whole = bits(&solve::<f64>(&config, &problem, &mut ()).expect("a run"));
    let mut kept = in_threads(2, |rank| {
        let mut keeps = Keeps::default();
        solve_on(&Particles::new(rank), &config, &problem, &mut keeps).expect("a run");
        keeps
    });
    let Keeps { apart, pieces, .. } = kept.swap_remove(0);
    assert_eq!(resumed(3, &config, &problem, &apart, &Arc::new(InMemory(pieces))), whole);
    let nowhere = in_threads(2, |rank| {
        let particles = Particles::new(rank).with_columns(Arc::new(InMemory(Vec::new())));
        let report = resume_on::<f64>(&device().on_ranks(particles), &config, &problem, &mut (), &apart);
        matches!(report, Err(StateError::Elsewhere(why)) if why.contains("nobody has it"))
    });
    assert_eq!(nowhere, [true; 2]);
}

#[test]
fn what_is_not_there_is_refused_by_name_on_all_ranks() {
    let problem = built(Problem::builder("sphere"), 2);
    let base = config(&problem, 100, 5);
    let refused = |config: &CboConfig| {
        let all = in_threads(3, |rank| {
            solve_on::<f64>(&on_ranks(rank), config, &problem, &mut ()).expect_err("a refusal").to_string()
        });
        assert!(all.iter().all(|said| *said == all[0]), "{all:?}");
        all[0].clone()
    };
    let said = refused(&CboConfig { batch: Some(10), ..base.clone() });
    assert!(said.contains("batch = 10") && said.contains("device cpu") && said.contains("one rank"), "{said}");
    let said = refused(&CboConfig { batch: Some(10), update: Update::Partial, ..base.clone() });
    assert!(said.contains("update = partial") && said.contains("device cpu"), "{said}");
    for (method, word) in [("adam", "adam"), ("polarised", "polarised"), ("memory:gradient=0.1", "gradient")] {
        let said = refused(&CboConfig { method: method.parse().expect("a method"), ..base.clone() });
        assert!(said.contains(word) && said.contains("device cpu"), "{said}");
    }
}

/// A rank that cannot begin, or whose device is lost on the way, ends all of them.
#[test]
fn a_fault_of_one_rank_is_one_of_all() {
    if !is_there() {
        return;
    }
    let problem = built(Problem::builder("sphere"), 16);
    let fails = |host: &(dyn Fn() -> Host + Sync), config: &CboConfig| {
        in_threads(3, |rank| {
            let mine = if rank.rank() == 1 { host() } else { Host::default() };
            let device = Cuda::on(Arc::new(mine)).on_ranks(Particles::new(rank));
            words(&solve_on::<f64>(&device, config, &problem, &mut ()).expect_err("a fault"))
        })
    };
    let base = config(&problem, 1000, 20);
    let sampled = CboConfig { alpha: Alpha::EffectiveSampleSize(0.3), ..base.clone() };
    for said in fails(&|| Host { free: Some(1000), ..Host::default() }, &base) {
        assert!(said.contains("particles") && said.contains("GB"), "{said}");
    }
    for config in [base, sampled] {
        for said in fails(&|| Host { lost_after: Some(11), ..Host::default() }, &config) {
            assert!(said.contains("step") && said.contains("the device failed: the device fell off the bus"), "{said}");
        }
    }
}
