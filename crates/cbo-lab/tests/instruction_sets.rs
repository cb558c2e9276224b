//! Whole runs on every instruction set of this machine, bit for bit: the moves, the benchmark functions, the weights, the networks.
//!
//! `CBO_SIMD` holds for the whole life of a program, so this one starts itself again, once for each set, and compares what it prints.

use cbo::device::{Errand, Fleet, Processor};
use cbo::simd::{self, InstructionSet};
use cbo::{
    Adam, Alpha, BoundHandling, CboConfig, Diffusion, FrameFactor, Hypersurface, InitialLaw, Jumps, Memory, Method,
    Mirror, Objective, Polarised, Reduction, Sampling, Scalar, Scheme, Sigma, Sphere, Update, solve,
};
use cbo_lab::baselines;
use cbo_lab::training::{Settings, train};
use cbo_problems::nn::{Network, Shape};
use cbo_problems::{Problem, Shift, mnist};
use std::fmt::Debug;
use std::ops::ControlFlow;
use std::process::Command;

/// A hash of all bits of a run (Fowler, Noll, Vo).
#[derive(Clone, Copy)]
struct Fingerprint(u64);

impl Fingerprint {
    const NEW: Self = Self(0xcbf2_9ce4_8422_2325);

    fn add(&mut self, number: f64) {
        // Any NaN is as good as another.
        let bits = if number.is_nan() { u64::MAX } else { number.to_bits() };
        for byte in bits.to_le_bytes() {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}

fn run<T: Scalar>(config: &CboConfig, problem: &Problem) -> Fingerprint
where
    Problem: Objective<T>,
{
    let run = solve::<T>(config, problem, &mut ()).unwrap_or_else(|e| panic!("{}: {config:?}: {e}", problem.name()));
    let mut print = Fingerprint::NEW;
    let points =
        run.ensemble().rows().as_slice().iter().chain(&run.best().x).chain(&run.consensus().x).chain(run.energies());
    points.for_each(|x| print.add(x.to_f64()));
    [run.best().value, run.consensus().value, run.alpha()].into_iter().for_each(|x| print.add(x));
    print
}

/// Functions that take any number of dimensions, and between them all elementary functions.
const FUNCTIONS: [&str; 8] =
    ["rastrigin", "ackley", "griewank", "alpine-1", "ellipsoid", "salomon", "styblinski-tang", "levy"];

/// What bounds and batches there are.
const BOUNDS: [Option<BoundHandling>; 4] =
    [None, Some(BoundHandling::Reflect), Some(BoundHandling::Clip), Some(BoundHandling::None)];
const BATCHES: [(Option<usize>, Update); 3] =
    [(None, Update::Full), (Some(11), Update::Full), (Some(11), Update::Partial)];

/// Prints a line for each case: its name and its fingerprint.
#[test]
#[ignore = "started by the test below, once for each instruction set"]
fn print_fingerprints() {
    let print = |name: &dyn Debug, found: Fingerprint| println!("case {name:?} = {:016x}", found.0);
    let mut number = 0;
    for dim in 1..=40 {
        for diffusion in [Diffusion::Anisotropic, Diffusion::Isotropic] {
            for scheme in [Scheme::EulerMaruyama, Scheme::DriftFirst] {
                for (batch, update) in BATCHES {
                    for handling in BOUNDS {
                        number += 1;
                        // The number of particles leaves a rest in every block and vector.
                        let (function, particles) = (FUNCTIONS[number % FUNCTIONS.len()], 55 + number % 3 * 22);
                        let plain = Problem::builder(function).dim(dim);
                        let moved = plain.clone().shift(Shift::Random(3)).rotate(5);
                        let problem = if number.is_multiple_of(2) { plain } else { moved }.build().expect("a problem");
                        let config = settings(number, &problem, particles);
                        let bounds = handling.map(|_| problem.domain().to_vec());
                        let bound_handling = handling.unwrap_or_default();
                        let config = CboConfig { diffusion, scheme, batch, update, bounds, bound_handling, ..config };
                        let name = (dim, function, diffusion, scheme, batch, update, handling);
                        print(&("f64", name), run::<f64>(&config, &problem));
                        print(&("f32", name), run::<f32>(&config, &problem));
                    }
                }
            }
        }
    }
    hop(print);
    sample_laws(print);
    others(print);
    train_networks(print);
    search_with_baselines(print);
    run_abreast(print);
}

/// Small swarms, several at once.
fn run_abreast(print: impl Fn(&dyn Debug, Fingerprint)) {
    fn found<T: Scalar>(problem: &Problem) -> Fingerprint
    where
        Problem: Objective<T>,
    {
        let plan = |seed: usize| {
            let init = InitialLaw::uniform(problem.domain());
            let sigma = Sigma::Constant(0.1 * seed as f64);
            let bounds = Some(problem.domain().to_vec());
            let config = CboConfig {
                particles: 41,
                steps: Some(9),
                seed: seed as u64,
                init,
                sigma,
                bounds,
                ..CboConfig::default()
            };
            config.check(problem.dim()).expect("a plan")
        };
        let runs: Vec<_> = (0..20).map(|seed| Errand::<T> { plan: plan(seed), objective: problem }).collect();
        let made = Processor.solve_many(&runs, false, &|_| true).expect("runs that suit").expect("all of them");
        let ends: Vec<_> = made.into_iter().map(|made| made.end.expect("a result")).collect();
        let mut print = Fingerprint::NEW;
        ends.iter().flat_map(|end| end.best.x.iter().chain(&end.consensus.x)).for_each(|x| print.add(x.to_f64()));
        ends.iter().for_each(|end| print.add(end.best.value));
        print
    }
    for dim in 1..=ABREAST {
        let problem = Problem::named(FUNCTIONS[dim % FUNCTIONS.len()], dim).expect("a problem");
        print(&("f64", dim, "abreast"), found::<f64>(&problem));
        print(&("f32", dim, "abreast"), found::<f32>(&problem));
    }
}

/// Dimensions in which runs are made abreast.
const ABREAST: usize = 40;

/// Swarms that agree on a covariance, which have none of most settings.
fn sample_laws(print: impl Fn(&dyn Debug, Fingerprint)) {
    for dim in 1..=40 {
        for law in [false, true] {
            let problem = Problem::builder(FUNCTIONS[dim % FUNCTIONS.len()]).dim(dim).build().expect("a problem");
            let config = CboConfig {
                particles: 55 + dim % 3,
                steps: Some(9),
                init: InitialLaw::uniform(problem.domain()),
                threads: 1 + dim % 2,
                ..CboConfig::of(Method::Sampling(Sampling { law }))
            };
            print(&("f64", dim, law), run::<f64>(&config, &problem));
            print(&("f32", dim, law), run::<f32>(&config, &problem));
        }
    }
}

/// The other methods, in all dimensions up to 40.
fn others(print: impl Fn(&dyn Debug, Fingerprint)) {
    for dim in 1..=40 {
        let problem = Problem::builder("rastrigin").dim(dim).shift(Shift::Random(3)).build().expect("a problem");
        let bounds = Some(problem.domain().to_vec());
        let methods = [
            (Method::Jumps(Jumps { rate: 5.0, size: 0.5 }), None),
            (Method::Adam(Adam::default()), bounds.clone()),
            (Method::Mirror(Mirror::Box), bounds),
            (Method::Mirror(Mirror::Simplex { temperature: 0.5 }), None),
            (Method::Mirror(Mirror::Ball { radius: 2.0, centre: 0.5 }), None),
            (Method::Mirror(Mirror::Sparse { threshold: 0.5 }), None),
            (Method::Sphere(Sphere { radius: 2.0 }), None),
            (
                Method::Hypersurface(Hypersurface::Stiefel {
                    columns: if dim % 2 == 0 && dim > 3 { 2 } else { 1 },
                    factor: if dim % 4 == 0 { FrameFactor::Qr } else { FrameFactor::Polar },
                }),
                None,
            ),
        ];
        for (method, bounds) in methods {
            for diffusion in [Diffusion::Anisotropic, Diffusion::Isotropic] {
                if diffusion == Diffusion::Isotropic && matches!(method, Method::Adam(_)) {
                    continue; // it has noise of its own
                }
                let config = CboConfig {
                    particles: 67,
                    alpha: Alpha::Constant(30.0),
                    sigma: Sigma::Constant(0.6),
                    dt: 0.05,
                    steps: Some(9),
                    bounds: bounds.clone(),
                    diffusion,
                    seed: dim as u64,
                    ..CboConfig::of(method)
                };
                print(&("f64", dim, method, diffusion), run::<f64>(&config, &problem));
                print(&("f32", dim, method, diffusion), run::<f32>(&config, &problem));
            }
        }
    }
}

/// Schedules and extras in turn.
fn settings(number: usize, problem: &Problem, particles: usize) -> CboConfig {
    let alpha = [Alpha::Constant(30.0), Alpha::EffectiveSampleSize(0.3), Alpha::Constant(f64::INFINITY)];
    let smooth = Memory { beta: 0.5, ..Memory::default() };
    CboConfig {
        method: match number % 13 {
            3 => Method::Memory(Memory::default()),
            8 => Method::Memory(smooth),
            5 => Method::Polarised(Polarised::default()),
            _ => Method::Cbo,
        },
        particles,
        // Where the best particle is all that counts, there is no consensus but one.
        alpha: alpha[if number % 13 == 5 { number % 2 } else { number % 3 }],
        sigma: Sigma::Constant(0.6),
        dt: 0.05,
        kick: number.is_multiple_of(5).then_some(0.01),
        reduction: number.is_multiple_of(7).then(Reduction::default),
        epoch_steps: Some(4),
        seed: number as u64,
        steps: Some(9),
        init: InitialLaw::uniform(problem.domain()),
        threads: 1 + number % 2,
        ..CboConfig::default()
    }
}

/// Consensus hopping, which has neither batches nor kinds of noise.
fn hop(print: impl Fn(&dyn Debug, Fingerprint)) {
    for dim in 1..=40 {
        for text in ["hopping:momentum=0.8,rate=0.5,cosine=true", "hopping:weights=ranks,antithetic=false,start=point"]
        {
            let problem = Problem::builder("rastrigin").dim(dim).shift(Shift::Random(3)).build().expect("a problem");
            let config = CboConfig {
                particles: 77,
                steps: Some(9),
                seed: dim as u64,
                init: InitialLaw::uniform(problem.domain()),
                bounds: dim.is_multiple_of(2).then(|| problem.domain().to_vec()),
                ..CboConfig::of(text.parse().expect("a method"))
            };
            print(&("f64", dim, text), run::<f64>(&config, &problem));
            print(&("f32", dim, text), run::<f32>(&config, &problem));
        }
    }
}

fn train_networks(print: impl Fn(&dyn Debug, Fingerprint)) {
    let data = mnist::subset().expect("the subset");
    let odd = "conv 5x3, relu, bn, pool 2, conv 7x4, relu, bn, pool 2, dense 9, relu, bn, dense 10";
    for network in [Network::shallow(), Network::lenet1(), Network::parse(odd, Shape::DIGIT).expect("a network")] {
        for batch_data in [20, 50, 100] {
            let mut settings = Settings { epochs: 1, batch_data, ..Settings::paper(network.clone()) };
            if batch_data == 50 {
                settings = Settings { iterations: Some(6), batch_data, ..Settings::hopping(network.clone()) };
            }
            settings.config.particles = 20;
            let trained = train(&settings, &data, |_| ControlFlow::Continue(())).expect("a run");
            let mut found = Fingerprint::NEW;
            trained.model.parameters.iter().for_each(|x| found.add(f64::from(*x)));
            trained.curve.iter().for_each(|p| found.add(p.loss));
            print(&(network.to_string(), batch_data), found);
        }
    }
}

/// Functions on which baselines search.
const SEARCHED: usize = 3;

fn search_with_baselines(print: impl Fn(&dyn Debug, Fingerprint)) {
    for name in baselines::Baseline::names() {
        for (function, dim) in FUNCTIONS[..SEARCHED].iter().zip([3, 7, 10]) {
            let problem = Problem::builder(function).dim(dim).rotate(5).build().expect("a problem");
            let (bounds, baseline) = (problem.domain(), name.parse().expect("a baseline"));
            let task = baselines::Task { bounds, start: &[], evaluations: 3000, target: None, seed: 7 };
            let found = baselines::minimize(&baseline, &problem, &task).expect("a search");
            let mut bits = Fingerprint::NEW;
            found.best.expect("a point").x.iter().for_each(|x| bits.add(*x));
            found.improvements.iter().for_each(|i| bits.add(i.value));
            print(&(name, function), bits);
        }
    }
}

fn fingerprints_on(set: InstructionSet) -> Vec<String> {
    let program = std::env::current_exe().expect("this program");
    let child = Command::new(program)
        .args(["--exact", "instruction_sets::print_fingerprints", "--ignored", "--nocapture"])
        .env(simd::VARIABLE, set.name())
        .output()
        .expect("this program again");
    let text = String::from_utf8_lossy(&child.stdout);
    assert!(child.status.success(), "{set}: {text}{}", String::from_utf8_lossy(&child.stderr));
    text.lines().filter_map(|line| Some(line[line.find("case ")?..].to_string())).collect()
}

#[test]
fn whole_runs_have_the_same_bits_on_every_instruction_set() {
    // All at once: they take a while.
    let begun = simd::available().into_iter().map(|set| (set, std::thread::spawn(move || fingerprints_on(set))));
    let mut found: Vec<_> = begun.collect::<Vec<_>>().into_iter().map(|(set, all)| (set, all.join())).collect();
    let (last, portable) = found.pop().expect("the portable set");
    let portable = portable.expect("its fingerprints");
    let (swarms, hops, laws, others, networks) = (40 * 2 * 2 * 3 * 4 * 2, 40 * 2 * 2, 40 * 2 * 2, 40 * 15 * 2, 9);
    let all = swarms + hops + laws + others + networks + SEARCHED * baselines::ALL.len() + 2 * ABREAST;
    assert_eq!((last, portable.len()), (InstructionSet::PORTABLE, all));
    for (set, found) in found {
        let found = found.expect("fingerprints");
        assert_eq!(found.len(), portable.len(), "{set}");
        for (found, expected) in found.iter().zip(&portable) {
            assert_eq!(found, expected, "{set} against portable");
        }
    }
}
