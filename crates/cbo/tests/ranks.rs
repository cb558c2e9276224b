//! Runs over several ranks, which are threads here: the same bits at any number of them, over all options by random choice.

use cbo::noise::{Noise, Stream};
use cbo::ranks::farm::{self, Schedule};
use cbo::ranks::{Columns, Communicator, Here, Particles, in_threads, is_apart, join_state, resume_on, solve_on};
use cbo::{
    Alpha, BoundHandling, CboConfig, Clock, Diffusion, EvalError, Geometric, InitialLaw, Method, Objective, Observer,
    Reduction, Rows, RunReport, Scalar, Scheme, Sigma, SolveError, StepContext, StepReport, StopReason, Update,
    from_fn, resume, solve,
};
use std::ops::ControlFlow;
use std::panic::AssertUnwindSafe;

/// Many minima, and a corner where there is no value.
struct Bumpy {
    dim: usize,
    /// Where it fails altogether, if anywhere.
    breaks_at: Option<(u64, f64)>,
}

impl<T: Scalar> Objective<T> for Bumpy {
    fn dim(&self) -> usize {
        self.dim
    }
    fn energies(&self, at: StepContext, rows: Rows<'_, T>, out: &mut [T]) -> Result<(), EvalError> {
        for (i, (row, energy)) in rows.iter().zip(out).enumerate() {
            let each = row.iter().map(|x| (x.to_f64() - 0.7).powi(2) * (1.0 + (5.0 * x.to_f64()).sin().powi(2)));
            let value = each.sum::<f64>();
            *energy = T::from_f64(if row[0].to_f64() > 2.9 { f64::NAN } else { value });
            if self.breaks_at.is_some_and(|(step, beyond)| at.step == step && row[0].to_f64() > beyond) {
                return Err(EvalError { row: Some(i), ..EvalError::new("it broke") });
            }
        }
        Ok(())
    }
}

/// All that can be seen of a run, to the last bit.
#[derive(Debug, Default, PartialEq)]
struct Seen {
    steps: Vec<Vec<u64>>,
    end: Vec<u64>,
    words: Vec<String>,
}

/// Looks at the numbers of each step, and keeps the state of one.
struct Watch<'a> {
    seen: &'a mut Seen,
    keep: Option<(u64, &'a mut Vec<u8>)>,
}

impl<T: Scalar> Observer<T> for Watch<'_> {
    fn observe(&mut self, step: &StepReport<'_, T>) -> ControlFlow<()> {
        let mut numbers = vec![step.step(), step.evaluations(), step.failed_evaluations(), u64::from(step.kicked())];
        numbers.extend(step.consensus().iter().map(|x| x.to_bits()));
        let more = [step.least(), step.effective_sample_size(), step.alpha(), step.sigma(), step.best().value];
        numbers.extend(more.map(f64::to_bits));
        numbers.extend(step.best().x.iter().map(|x| x.to_f64().to_bits()));
        if step.step().is_multiple_of(3) {
            numbers.push(step.spread().to_bits());
        }
        if step.step() % 4 == 3 {
            numbers.extend(step.first_rows(130).iter().map(|x| x.to_f64().to_bits()));
            numbers.push(step.particles() as u64);
        }
        if step.step() % 5 == 4 {
            numbers.extend(step.energies().iter().map(|e| e.to_f64().to_bits()));
            numbers.extend(step.ensemble().rows().as_slice().iter().map(|e| e.to_f64().to_bits()));
        }
        self.seen.steps.push(numbers);
        if let Some((at, state)) = &mut self.keep
            && *at == step.step()
        {
            **state = step.state();
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }
}

impl Seen {
    fn end<T: Scalar>(mut self, outcome: Result<RunReport<T>, SolveError>) -> Self {
        match outcome {
            Ok(run) => {
                let (best, consensus) = (run.best(), run.consensus());
                self.end.extend([run.steps(), run.evaluations(), run.failed_evaluations(), run.particles() as u64]);
                self.end.extend([best.value, consensus.value, run.alpha()].map(f64::to_bits));
                let rows = run.ensemble().rows().as_slice().iter().chain(run.energies());
                self.end.extend(best.x.iter().chain(&consensus.x).chain(rows).map(|x| x.to_f64().to_bits()));
                self.words = vec![run.stop().to_string(), run.message().to_string()];
            }
            Err(error) => {
                self.words = vec![format!("{error}")];
                if let Some(cause) = std::error::Error::source(&error) {
                    self.words.push(cause.to_string());
                }
            }
        }
        self
    }
}

fn alone<T: Scalar>(config: &CboConfig, objective: &Bumpy) -> Seen {
    let mut seen = Seen::default();
    let outcome = solve::<T>(config, objective, &mut Watch { seen: &mut seen, keep: None });
    seen.end(outcome)
}

/// What the first rank sees; the others must see the same end.
fn together<T: Scalar>(size: usize, config: &CboConfig, objective: &Bumpy) -> Seen {
    let mut all = in_threads(size, |rank| {
        let (mut seen, particles) = (Seen::default(), Particles::new(rank.clone()).whole(true));
        let outcome = solve_on::<T>(&particles, config, objective, &mut Watch { seen: &mut seen, keep: None });
        assert!(rank.rank() == 0 || seen.steps.is_empty(), "only the first rank is told");
        seen.end(outcome)
    });
    let words: Vec<Vec<String>> = all.iter().map(|seen| seen.words[..1].to_vec()).collect();
    assert!(words.iter().all(|w| *w == words[0]), "{words:?}");
    all.swap_remove(0)
}

/// Settings by random choice.
fn random(number: u64) -> (CboConfig, Bumpy, bool) {
    let noise = Noise::new(17, Stream::Problem, number);
    let below = |what: u32, most: usize| noise.below(what, most as u64) as usize;
    let dim = [2, 3, 8, 16, 40][below(0, 5)];
    let methods = [
        "cbo",
        "cbo",
        "cbo",
        "jumps",
        "adam",
        "mirror:map=box",
        "sphere",
        "hypersurface:surface=torus",
        "memory",
        "memory:beta=10,theta=0.5",
        "memory:gradient=0.1",
        "hopping",
        "hopping:weights=ranks,momentum=0.5",
        "cbo",
    ];
    let mut method: Method = methods[below(1, methods.len())].parse().expect("a method");
    if matches!(method, Method::Hypersurface(_)) && dim != 3 {
        method = Method::Cbo;
    }
    let mut config = CboConfig::of(method);
    let plain = method == Method::Cbo;
    config.particles = 60 * (1 + below(2, 50));
    config.seed = number;
    config.steps = Some(4 + below(3, 12) as u64);
    config.init = InitialLaw::uniform(&vec![(-3.0, 3.0); dim]);
    if plain {
        config.alpha = match below(4, 5) {
            0 => Alpha::EffectiveSampleSize(0.1),
            1 => Alpha::Constant(f64::INFINITY),
            2 => Alpha::Geometric(Geometric { start: 1.0, factor: 2.0, clock: Clock::Step, cap: 1e6 }),
            _ => Alpha::Constant(20.0),
        };
        config.diffusion = [Diffusion::Anisotropic, Diffusion::Isotropic][below(5, 2)];
        config.scheme = [Scheme::EulerMaruyama, Scheme::DriftFirst][below(6, 2)];
        config.sigma = Sigma::Constant([0.7, 0.2][below(7, 2)]);
        config.truncation = (below(8, 4) == 0).then_some(0.5);
        if below(9, 3) == 0 {
            config.init =
                InitialLaw::Points((0..config.particles * dim).map(|i| (i as f64 * 0.37).sin() * 2.5).collect());
        }
    }
    if plain || matches!(method, Method::Memory(_)) {
        if below(10, 2) == 0 {
            config.batch = Some([30, 60, config.particles / 2][below(11, 3)]);
            config.update = [Update::Full, Update::Partial][below(12, 2)];
        }
        if below(13, 3) == 0 {
            config.reduction = Some(Reduction { strength: 0.9, least: 0.3 });
            config.epoch_steps = Some(3);
        }
        config.kick = [None, Some(0.3)][below(14, 2)];
        if below(15, 3) == 0 {
            config.bounds = Some(vec![(-2.5, 2.0); dim]);
            config.bound_handling = BoundHandling::Reflect;
        }
    }
    if matches!(method, Method::Mirror(_)) {
        config.bounds = Some(vec![(-3.0, 3.0); dim]);
    }
    match below(16, 6) {
        0 => config.target = Some(0.5 * dim as f64),
        1 => config.diameter = Some(4.0),
        2 => config.strict = true,
        3 => (config.steps, config.max_evaluations) = (None, Some(9 * config.particles as u64)),
        _ => (),
    }
    let breaks_at = (below(17, 8) == 0).then_some((3, 1.5));
    (config, Bumpy { dim, breaks_at }, below(18, 2) == 0)
}

#[test]
fn any_number_of_ranks_and_threads_gives_the_same_bits() {
    let (mut spread, mut failed) = (0, 0);
    for number in 0..60 {
        let (config, objective, single) = random(number);
        if config.check(objective.dim).is_err() {
            continue;
        }
        let run = |size: Option<usize>, threads: usize| {
            let config = CboConfig { threads, ..config.clone() };
            match (size, single) {
                (None, true) => alone::<f32>(&config, &objective),
                (None, false) => alone::<f64>(&config, &objective),
                (Some(size), true) => together::<f32>(size, &config, &objective),
                (Some(size), false) => together::<f64>(size, &config, &objective),
            }
        };
        let whole = run(None, 1);
        for (size, threads) in [(1, 1), (2, 2), (3, 1), (4, 1), (7, 1)] {
            let seen = run(Some(size), threads);
            assert!(seen == whole, "settings {number} on {size} ranks of {threads} threads: {config:?}");
        }
        spread += usize::from(config.particles > 2000);
        failed += usize::from(whole.end.is_empty());
    }
    assert!(spread > 10 && failed > 2, "{spread} large, {failed} failed");
}

#[test]
fn a_run_resumes_on_any_number_of_ranks_or_on_none() {
    for number in 0..24 {
        let (config, objective, _) = random(number);
        let config =
            CboConfig { steps: Some(12), max_evaluations: None, target: None, diameter: None, strict: false, ..config };
        let objective = Bumpy { breaks_at: None, ..objective };
        if config.check(objective.dim).is_err() {
            continue;
        }
        let whole = solve::<f64>(&config, &objective, &mut ()).expect("a run");
        let on = |size: usize, state: &[u8], until: u64| {
            let mut kept = in_threads(size, |rank| {
                let (mut seen, mut kept) = (Seen::default(), Vec::new());
                let mut watch = Watch { seen: &mut seen, keep: Some((until, &mut kept)) };
                let particles = Particles::new(rank).whole(true);
                let run = match state {
                    [] => solve_on::<f64>(&particles, &config, &objective, &mut watch).expect("a run"),
                    _ => resume_on::<f64>(&particles, &config, &objective, &mut watch, state).expect("a run"),
                };
                (kept, run)
            });
            kept.swap_remove(0)
        };
        let (state, run) = on(3, &[], 4);
        assert_eq!(run.stop(), StopReason::Observer);
        let one = resume::<f64>(&config, &objective, &mut (), &state).expect("one machine");
        let (state, _) = on(1, &state, 7);
        let (_, run) = on(4, &state, 99);
        for run in [&one, &run] {
            assert_eq!(run.best(), whole.best(), "settings {number}");
            assert_eq!(run.evaluations(), whole.evaluations());
            assert_eq!(run.ensemble().rows().as_slice(), whole.ensemble().rows().as_slice(), "settings {number}");
        }
    }
}

/// Columns in memory: where each piece is, and its bytes. Perhaps they cannot be read.
#[derive(Debug)]
struct InMemory(Vec<(u64, Vec<u8>)>, bool);

impl Columns for InMemory {
    fn read(&self, from: u64, to: &mut [u8]) -> Result<(), String> {
        for (at, byte) in (from..).zip(to) {
            let piece = self.0.iter().find(|(start, bytes)| (*start..*start + bytes.len() as u64).contains(&at));
            *byte = piece.map(|(start, bytes)| bytes[(at - start) as usize]).ok_or("nobody has it")?;
        }
        if self.1 { Err("file 7 is gone".into()) } else { Ok(()) }
    }
}

/// Keeps a run at a step in one piece, without its columns, and these.
#[derive(Default)]
struct Keeps {
    whole: Vec<u8>,
    apart: Option<Vec<u8>>,
    pieces: Vec<(u64, Vec<u8>)>,
}

fn pieces_of(here: &Here<'_, f64>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (place, numbers) in &here.pieces {
        bytes.extend(place.to_le_bytes());
        bytes.extend((numbers.len() as u64).to_le_bytes());
        bytes.extend(numbers.iter().flat_map(|x| x.to_le_bytes()));
    }
    bytes
}

impl Observer<f64> for Keeps {
    fn observe(&mut self, step: &StepReport<'_, f64>) -> ControlFlow<()> {
        if step.step() < 4 {
            return ControlFlow::Continue(());
        }
        (self.whole, self.apart) = (step.state(), step.state_apart());
        for bytes in step.consult(b"", &mut |_, here| Ok(pieces_of(&here))).expect("answers") {
            let (mut rest, mut number) = (&bytes[..], 0);
            while let Some((first, more)) = rest.split_first_chunk::<8>() {
                let value = u64::from_le_bytes(*first);
                rest = more;
                match number % 2 {
                    0 => self.pieces.push((value, Vec::new())),
                    _ => {
                        let (numbers, more) = rest.split_at(8 * value as usize);
                        self.pieces.last_mut().expect("a piece").1.extend(numbers);
                        rest = more;
                    }
                }
                number += 1;
            }
        }
        ControlFlow::Break(())
    }

    fn answer(&mut self, _: &[u8], here: Here<'_, f64>) -> Option<Result<Vec<u8>, EvalError>> {
        Some(Ok(pieces_of(&here)))
    }
}

#[test]
fn a_state_without_its_columns_and_these_are_the_state_in_one_piece() {
    for number in 0..40 {
        let (config, objective, _) = random(number);
        let config =
            CboConfig { steps: Some(9), max_evaluations: None, target: None, diameter: None, strict: false, ..config };
        let objective = Bumpy { breaks_at: None, ..objective };
        if config.check(objective.dim).is_err() || config.particles * objective.dim > 20_000 {
            continue;
        }
        let mut kept = in_threads(3, |rank| {
            let mut keeps = Keeps::default();
            solve_on(&Particles::new(rank), &config, &objective, &mut keeps).expect("a run");
            keeps
        });
        let Keeps { whole, apart, pieces } = kept.swap_remove(0);
        let apart = apart.expect("particles on several ranks");
        assert!(is_apart(&apart) && !is_apart(&whole));
        let columns = InMemory(pieces, false);
        let joined = join_state(&apart, &columns).expect("all bytes");
        assert!(joined == whole, "settings {number}");
        let columns = std::sync::Arc::new(columns);
        let ends = [&joined, &apart].map(|state| {
            let mut ends = in_threads(2, |rank| {
                let particles = Particles::new(rank).whole(true).with_columns(columns.clone());
                resume_on::<f64>(&particles, &config, &objective, &mut (), state).expect("a run")
            });
            ends.swap_remove(0)
        });
        let alone = solve::<f64>(&config, &objective, &mut ()).expect("a run");
        for end in ends {
            assert_eq!(end.best(), alone.best(), "settings {number}");
            assert_eq!(end.ensemble().rows().as_slice(), alone.ensemble().rows().as_slice(), "settings {number}");
        }
        // One rank that cannot read its part fails all of them, by name.
        let ends = in_threads(3, |rank| {
            let columns = InMemory(columns.0.clone(), rank.rank() == 0);
            let particles = Particles::new(rank).with_columns(std::sync::Arc::new(columns));
            resume_on::<f64>(&particles, &config, &objective, &mut (), &apart).expect_err("a file is gone").to_string()
        });
        assert!(ends.iter().all(|end| end.contains("file 7 is gone")), "{ends:?}");
        let alone = resume::<f64>(&config, &objective, &mut (), &apart).expect_err("no columns").to_string();
        assert!(alone.contains("in files of their own"), "{alone}");
        // More particles than there are anywhere.
        for length in [u64::MAX, whole.len() as u64] {
            let mut crafted = apart[..apart.len() - 12].to_vec();
            crafted.extend(length.to_le_bytes());
            crafted.extend(crc32fast::hash(&crafted).to_le_bytes());
            join_state(&crafted, &*columns).expect_err("no such particles");
        }
        for length in 0..apart.len() {
            resume::<f64>(&config, &objective, &mut (), &apart[..length]).expect_err("cut off");
            join_state(&apart[..length], &*columns).map(|state| assert!(!is_apart(&state))).unwrap_or_default();
        }
    }
}

#[test]
fn a_thousand_ranks_give_the_bits_of_one() {
    let sphere = from_fn(16, |x: &[f64]| x.iter().map(|v| v * v).sum());
    let config = CboConfig {
        particles: 1100 * 128 + 77,
        steps: Some(3),
        alpha: Alpha::Constant(3.0),
        threads: 1,
        ..CboConfig::default()
    };
    let one = solve(&config, &sphere, &mut ()).expect("a run");
    let all = in_threads(1000, |rank| {
        let run = solve_on(&Particles::new(rank.clone()), &config, &sphere, &mut ()).expect("a run");
        (run.consensus().clone(), run.best().clone(), run.ensemble().len(), rank.sent())
    });
    assert_eq!(all.iter().map(|rank| rank.2).sum::<usize>(), config.particles);
    for (consensus, best, _, sent) in &all {
        assert_eq!((consensus, best), (one.consensus(), one.best()));
        // But for the first, which tells all others what it decides, a rank sends few numbers.
        assert!(*sent < 300_000 || *sent == all[0].3, "{sent} bytes");
    }
}

#[test]
fn ranks_without_particles_do_not_lose_those_of_others() {
    // Three blocks, of which the last alone is far away.
    let (dim, particles) = (16, 300);
    let points = (0..particles * dim).map(|i| if i / dim >= 256 { 1.0 } else { 0.0 }).collect();
    let config = CboConfig {
        particles,
        steps: Some(3),
        diameter: Some(0.5),
        init: InitialLaw::Points(points),
        ..CboConfig::default()
    };
    let objective = Bumpy { dim, breaks_at: None };
    let whole = alone::<f64>(&config, &objective);
    assert_eq!(whole.steps.len(), 4);
    for size in 1..=12 {
        assert!(together::<f64>(size, &config, &objective) == whole, "{size} ranks");
    }
}

/// Fails on one rank, and there at the consensus point alone.
struct FailsAtTheEnd(bool);

impl Objective<f64> for FailsAtTheEnd {
    fn dim(&self) -> usize {
        16
    }
    fn energies(&self, _at: StepContext, rows: Rows<'_, f64>, out: &mut [f64]) -> Result<(), EvalError> {
        rows.iter().zip(&mut *out).for_each(|(row, energy)| *energy = row.iter().map(|x| x * x).sum());
        if self.0 && rows.len() == 1 { Err(EvalError::new("the last one")) } else { Ok(()) }
    }
}

#[test]
fn a_failure_at_the_end_of_one_rank_is_one_of_all() {
    let config = CboConfig { particles: 300, steps: Some(3), ..CboConfig::default() };
    let ends = in_threads(3, |rank| {
        let objective = FailsAtTheEnd(rank.rank() == 1);
        solve_on(&Particles::new(rank).whole(true), &config, &objective, &mut ()).map(|_| ())
    });
    for end in ends {
        assert!(matches!(end, Err(SolveError::Evaluation { source, .. }) if source.message == "the last one"));
    }
}

#[test]
fn nobody_waits_for_an_evaluation_that_panicked() {
    let config = CboConfig { particles: 40, steps: Some(3), ..CboConfig::default() };
    for faulty in [0, 1] {
        let run = std::panic::catch_unwind(AssertUnwindSafe(|| {
            in_threads(3, |rank| {
                let number = rank.rank();
                let objective = from_fn(2, |x: &[f64]| {
                    assert_ne!(number, faulty, "as this test wants it");
                    x[0] * x[0]
                })
                .costly();
                if number > 0 {
                    return farm::help(&*rank, &objective, 2);
                }
                let _ = solve(&config, &farm::Shared::new(rank, &objective, 2, Schedule::Static), &mut ());
            })
        }));
        assert!(run.is_err(), "rank {faulty}");
    }
}

#[test]
fn what_needs_the_whole_swarm_is_refused_by_name() {
    let sphere = from_fn(3, |x: &[f64]| x.iter().map(|v| v * v).sum());
    for name in ["auto", "polarised", "sampling"] {
        let config = CboConfig { max_evaluations: Some(5000), ..CboConfig::of(name.parse().expect("a method")) };
        let outcomes = in_threads(2, |rank| solve_on(&Particles::new(rank), &config, &sphere, &mut ()).map(|_| ()));
        for outcome in outcomes {
            let said = outcome.expect_err(name).to_string();
            assert!(said.contains(name) && said.contains("ranks"), "{said}");
        }
    }
    let said = in_threads(1, |rank| {
        let together = farm::Shared::new(rank.clone(), &sphere, 1, Schedule::Static);
        solve_on(&Particles::new(rank), CboConfig::default(), &together, &mut ()).expect_err("together").to_string()
    });
    assert!(said[0].contains("all points at once"), "{said:?}");
}

#[test]
fn a_costly_objective_is_asked_for_points_on_each_rank() {
    for batch in [None, Some(100)] {
        let costly = from_fn(3, |x: &[f64]| x.iter().map(|v| (v - 0.3).powi(2)).sum()).costly();
        let config = CboConfig { particles: 1500, batch, steps: Some(6), threads: 2, ..CboConfig::default() };
        let whole = solve(&config, &costly, &mut ()).expect("a run");
        for size in [1, 2, 3] {
            let ends = in_threads(size, |rank| {
                solve_on(&Particles::new(rank).whole(true), &config, &costly, &mut ()).expect("a run")
            });
            assert_eq!(ends[0].ensemble().rows().as_slice(), whole.ensemble().rows().as_slice(), "{size} ranks");
            assert!(ends.iter().all(|end| end.best() == whole.best() && end.evaluations() == whole.evaluations()));
        }
    }
}

/// Asks in each step for the sums of all first coordinates, and for the numbers of the first particles.
struct Asks(Vec<Vec<Vec<u8>>>);

fn first_coordinates(question: &[u8], here: &Here<'_, f64>) -> Result<Vec<u8>, EvalError> {
    let sum: f64 = here.rows.iter().map(|row| row[0]).sum();
    match question {
        b"broken" if here.first > 0 => Err(EvalError::new("no answer")),
        b"where" => Ok((here.first as u64).to_le_bytes().to_vec()),
        _ => Ok(sum.to_le_bytes().to_vec()),
    }
}

impl Observer<f64> for Asks {
    fn observe(&mut self, step: &StepReport<'_, f64>) -> ControlFlow<()> {
        let ask = |question: &[u8]| step.consult(question, &mut |question, here| first_coordinates(question, &here));
        if let Err(error) = ask(b"broken") {
            assert_eq!(error.message, "no answer");
        }
        self.0.extend([ask(b"where").expect("answers"), ask(b"sum").expect("answers")]);
        ControlFlow::Continue(())
    }

    fn answer(&mut self, question: &[u8], here: Here<'_, f64>) -> Option<Result<Vec<u8>, EvalError>> {
        Some(first_coordinates(question, &here))
    }
}

#[test]
fn the_observers_of_all_ranks_answer_in_the_order_of_the_particles() {
    let sphere = from_fn(16, |x: &[f64]| x.iter().map(|v| v * v).sum());
    let config = CboConfig { particles: 700, steps: Some(3), ..CboConfig::default() };
    let asked = in_threads(3, |rank| {
        let mut asks = Asks(Vec::new());
        solve_on(&Particles::new(rank), &config, &sphere, &mut asks).expect("a run");
        asks.0
    });
    assert_eq!(asked[0].len(), 8);
    assert!(asked[1].is_empty() && asked[2].is_empty(), "only the first rank is told");
    let numbers: Vec<u64> = asked[0][0].iter().map(|n| u64::from_le_bytes(n[..].try_into().expect("8"))).collect();
    assert_eq!(numbers, [0, 256, 512]);
    let mut alone = Asks(Vec::new());
    solve(&config, &sphere, &mut alone).expect("a run");
    let sum = |answers: &Vec<Vec<u8>>| -> f64 {
        answers.iter().map(|n| f64::from_le_bytes(n[..].try_into().expect("8"))).sum()
    };
    for (together, alone) in asked[0].iter().zip(&alone.0).skip(1).step_by(2) {
        assert!((sum(together) - sum(alone)).abs() < 1e-9);
    }
    // An observer that knows nothing fails on all ranks, and the run goes on.
    let ends = in_threads(2, |rank| {
        if rank.rank() == 0 {
            let mut ask = |step: &StepReport<'_, f64>| {
                let said = step.consult(b"sum", &mut |question, here| first_coordinates(question, &here));
                assert!(said.expect_err("no answer").message.contains("knows the question"));
                ControlFlow::Continue(())
            };
            return solve_on(&Particles::new(rank), &config, &sphere, &mut ask).map(|run| run.steps());
        }
        solve_on(&Particles::new(rank), &config, &sphere, &mut ()).map(|run| run.steps())
    });
    assert!(ends.iter().all(|end| matches!(end, Ok(3))), "{ends:?}");
}

/// A run whose evaluations are handed out, as the first rank sees it.
fn shared<T: Scalar>(
    size: usize,
    schedule: Schedule,
    config: &CboConfig,
    objective: &(dyn Objective<T> + Sync),
) -> Seen {
    let mut all = in_threads(size, |rank| {
        if rank.rank() > 0 {
            farm::help::<T>(&*rank, objective, 2);
            return Seen::default();
        }
        let (mut seen, shared) = (Seen::default(), farm::Shared::<T>::new(rank, objective, 2, schedule));
        let outcome = solve::<T>(config, &shared, &mut Watch { seen: &mut seen, keep: None });
        seen.end(outcome)
    });
    all.swap_remove(0)
}

#[test]
fn evaluations_that_are_handed_out_give_the_same_bits_by_any_method() {
    for name in ["auto", "polarised", "sampling", "hopping:weights=ranks", "cbo", "memory"] {
        let config =
            CboConfig { max_evaluations: Some(3000), seed: 5, ..CboConfig::of(name.parse().expect("a method")) };
        let config = CboConfig { init: InitialLaw::uniform(&[(-3.0, 2.0); 4]), ..config };
        let objective = Bumpy { dim: 4, breaks_at: None };
        let costly = from_fn(4, |x: &[f64]| x.iter().map(|v| (v - 0.3).powi(2)).sum()).costly();
        let whole = alone::<f64>(&config, &objective);
        let mut seen = Seen::default();
        let outcome = solve::<f64>(&config, &costly, &mut Watch { seen: &mut seen, keep: None });
        let of_costly = seen.end(outcome);
        for (size, schedule) in [(1, Schedule::Dynamic), (2, Schedule::Static), (3, Schedule::Dynamic)] {
            assert!(shared::<f64>(size, schedule, &config, &objective) == whole, "{name} on {size} ranks");
            assert!(shared::<f64>(size, schedule, &config, &costly) == of_costly, "{name}, costly, on {size} ranks");
        }
    }
}

#[test]
fn an_error_on_another_rank_ends_the_run_with_its_row() {
    let config = CboConfig { steps: Some(9), particles: 50, ..CboConfig::default() };
    let objective = Bumpy { dim: 3, breaks_at: Some((2, -9.0)) };
    let seen = shared::<f64>(3, Schedule::Dynamic, &config, &objective);
    assert_eq!(seen.words, ["step 2: the objective failed", "row 0: it broke"]);
}

/// Lanes that take their time and say nothing.
struct Naps;

impl farm::Lanes for Naps {
    fn count(&self) -> usize {
        1
    }
    fn work(&self, _lane: usize, job: &[u8], say: &mut dyn FnMut(Vec<u8>)) {
        std::thread::sleep(std::time::Duration::from_micros(u64::from(job[0])));
        say(job.to_vec());
    }
}

#[test]
fn every_job_is_done_once_and_none_begins_after_the_end() {
    for (schedule, enough) in [(Schedule::Static, 1000), (Schedule::Dynamic, 1000), (Schedule::Dynamic, 10)] {
        let heard = in_threads(4, |rank| {
            if rank.rank() > 0 {
                farm::serve(&*rank, &Naps);
                return Vec::new();
            }
            let (mut heard, jobs) = (Vec::new(), (0..200u8).map(|job| vec![job]).collect());
            farm::hand_out(&*rank, &Naps, schedule, jobs, &|| false, &mut |job| {
                heard.push(job[0]);
                if heard.len() >= enough { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            });
            farm::dismiss(&*rank);
            heard
        });
        let mut heard = heard[0].clone();
        let count = heard.len();
        heard.sort_unstable();
        heard.dedup();
        assert_eq!(heard.len(), count, "none twice");
        assert_eq!(count, if enough == 10 { count.clamp(10, 14) } else { 200 }, "{schedule}");
    }
}
