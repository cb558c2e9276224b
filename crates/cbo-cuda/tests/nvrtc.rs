//! The kernels compiled for real devices, where NVIDIA's run-time compiler is installed: no device is needed for that.

use cbo::device::{Errand, Fleet};
use cbo::ranks::{Particles, in_threads, solve_on};
use cbo::{Alpha, BoundHandling, CboConfig, Diffusion, InitialLaw, Scalar, Scheme};
use cbo_cuda::Cuda;
use cbo_cuda::machine::{Entry, Fault, Kind, Machine, Program};
use cbo_problems::nn::{CrossEntropy, Network, Order};
use cbo_problems::{Problem, find};
use cudarc::nvrtc::{CompileError, CompileOptions, compile_ptx_with_opts};
use std::sync::Arc;

/// Compiles, and does nothing else.
#[derive(Debug)]
struct Compiler;

const FUNCTIONS: [&str; 7] = ["ackley", "levy", "michalewicz", "griewank", "xin-she-yang", "eggholder", "easom"];

const DONE: &str = "compiled, and that is all";

impl Machine for Compiler {
    fn name(&self) -> String {
        "a compiler".into()
    }
    fn free_bytes(&self) -> Option<u64> {
        None
    }
    fn compile(&self, text: &str, kernels: &[Entry]) -> Result<Arc<dyn Program>, Fault> {
        let options = CompileOptions {
            options: vec!["--gpu-architecture=compute_90".into(), "--fmad=false".into(), "--std=c++17".into()],
            ..CompileOptions::default()
        };
        match compile_ptx_with_opts(text, options) {
            Ok(ptx) => {
                let ptx = ptx.to_src();
                let is_there = |kernel: &Entry| ptx.contains(&format!(".entry {}", kernel.name));
                assert!(kernels.iter().all(is_there), "{ptx}");
                // Fused where it is written, nowhere else: single multiplications and additions stay what they are.
                assert!(ptx.contains("fma.rn"), "{ptx}");
                Err(Fault(DONE.into()))
            }
            Err(CompileError::CompileError { log, .. }) => Err(Fault(log.to_string_lossy().into_owned())),
            Err(error) => Err(Fault(format!("{error:?}"))),
        }
    }
    fn allocate(&self, _: usize, _: Kind) -> Result<u64, Fault> {
        Err(Fault(DONE.into()))
    }
    fn release(&self, _: u64, _: Kind) {}
    fn upload(&self, _: u64, _: &[u8]) -> Result<(), Fault> {
        Err(Fault(DONE.into()))
    }
    fn download(&self, _: u64, _: &mut [u8]) -> Result<(), Fault> {
        Err(Fault(DONE.into()))
    }
    fn wait_for(&self, _: u64, _: u32, _: &mut [u32]) -> Result<(), Fault> {
        Err(Fault(DONE.into()))
    }
    fn wait(&self) -> Result<(), Fault> {
        Ok(())
    }
    fn look(&self, _: u64, _: &mut [u8]) {}
    fn put(&self, _: u64, _: &[u8]) {}
    fn send(&self, _: u64, _: u64, _: usize) -> Result<(), Fault> {
        Err(Fault(DONE.into()))
    }
}

fn step_compiles<T: Scalar>(config: &CboConfig, problem: &Problem)
where
    Problem: cbo::Objective<T>,
{
    let error = Cuda::on(Arc::new(Compiler)).solve::<T>(config, problem, &mut ()).expect_err("no run").to_string();
    assert!(error.contains(DONE), "{}, {}, {}: {error}", config.method, problem.description(), T::NAME);
}

fn compiles<T: Scalar>(config: &CboConfig, problem: &Problem)
where
    Problem: cbo::Objective<T>,
{
    step_compiles(config, problem);
    let cuda = Cuda::on(Arc::new(Compiler));
    let errand = Errand::<T> { plan: config.check(problem.dim()).expect("a plan"), objective: problem };
    let many = cuda.solve_many(&[errand], false, &|_| true).expect_err("no runs");
    assert!(many.to_string().contains(DONE), "{}, {}: {many}", problem.description(), T::NAME);
}

#[test]
fn functions_and_switches_compile() {
    // SAFETY: this only looks whether the library can be loaded.
    if !unsafe { cudarc::nvrtc::sys::is_culib_present() } {
        eprintln!("left out: NVIDIA's run-time compiler (libnvrtc) is not installed");
        return;
    }
    // Functions of many kinds; all of them are compiled for the processor, in `bits.rs`.
    for (index, name) in FUNCTIONS.iter().enumerate() {
        let info = find(name).expect("a function");
        let problem = Problem::builder(name).dim(info.default_dim().unwrap_or(5)).build().expect("a problem");
        let config = CboConfig { init: InitialLaw::uniform(problem.domain()), ..CboConfig::default() };
        match index % 2 {
            0 => compiles::<f32>(&config, &problem),
            _ => compiles::<f64>(&config, &problem),
        }
    }
    for (dim, diffusion, bound_handling) in
        [(3, Diffusion::Isotropic, BoundHandling::Clip), (16, Diffusion::Anisotropic, BoundHandling::Reflect)]
    {
        let problem = Problem::builder("ackley").dim(dim).rotate(1).build().expect("a problem");
        let base = CboConfig { init: InitialLaw::uniform(problem.domain()), ..CboConfig::default() };
        let bounds = Some(problem.domain().to_vec());
        let config = CboConfig { diffusion, bounds, bound_handling, ..base };
        compiles::<f32>(&config, &problem);
        let config = CboConfig { truncation: Some(1.0), scheme: Scheme::DriftFirst, ..config };
        compiles::<f64>(&config, &problem);
    }
}

#[test]
fn methods_and_sample_sizes_compile() {
    // SAFETY: as above.
    if !unsafe { cudarc::nvrtc::sys::is_culib_present() } {
        eprintln!("left out: NVIDIA's run-time compiler (libnvrtc) is not installed");
        return;
    }
    for (name, dim) in [("ackley", 5), ("griewank", 70)] {
        let problem = Problem::builder(name).dim(dim).build().expect("a problem");
        let init = InitialLaw::uniform(problem.domain());
        let of = |method: &str| CboConfig { init: init.clone(), ..CboConfig::of(method.parse().expect("a method")) };
        compiles::<f32>(&CboConfig { alpha: Alpha::EffectiveSampleSize(0.2), ..of("cbo") }, &problem);
        step_compiles::<f32>(&of("hopping"), &problem);
        step_compiles::<f64>(&of("hopping:antithetic=false,weights=ranks"), &problem);
        let batches = CboConfig { batch: Some(25), kick: Some(0.1), ..of("memory:beta=2") };
        step_compiles::<f32>(&CboConfig { diffusion: Diffusion::Isotropic, ..batches.clone() }, &problem);
        step_compiles::<f64>(&CboConfig { scheme: Scheme::DriftFirst, ..batches }, &problem);
    }
}

/// The kernels of one of several ranks.
#[test]
fn steps_of_ranks_compile() {
    // SAFETY: as above.
    if !unsafe { cudarc::nvrtc::sys::is_culib_present() } {
        eprintln!("left out: NVIDIA's run-time compiler (libnvrtc) is not installed");
        return;
    }
    for (index, (name, dim, method, diffusion)) in [
        ("rastrigin", 16, "cbo", Diffusion::Anisotropic),
        ("griewank", 70, "cbo", Diffusion::Anisotropic),
        ("rosenbrock", 80, "cbo", Diffusion::Isotropic),
        ("ackley", 5, "memory:beta=2", Diffusion::Isotropic),
        ("ackley", 5, "hopping:weights=ranks", Diffusion::Anisotropic),
    ]
    .into_iter()
    .enumerate()
    {
        let problem = Problem::builder(name).dim(dim).build().expect("a problem");
        let init = InitialLaw::uniform(problem.domain());
        let config = CboConfig { diffusion, init, ..CboConfig::of(method.parse().expect("a method")) };
        let said = in_threads(1, |rank| {
            let device = Cuda::on(Arc::new(Compiler)).on_ranks(Particles::new(rank));
            let outcome = match index % 2 {
                0 => solve_on::<f32>(&device, &config, &problem, &mut ()).map(drop),
                _ => solve_on::<f64>(&device, &config, &problem, &mut ()).map(drop),
            };
            outcome.expect_err("no run").to_string()
        });
        assert!(said[0].contains(DONE), "{name}, {method}: {}", said[0]);
    }
}

#[test]
fn networks_compile() {
    // SAFETY: as above.
    if !unsafe { cudarc::nvrtc::sys::is_culib_present() } {
        eprintln!("left out: NVIDIA's run-time compiler (libnvrtc) is not installed");
        return;
    }
    let data = cbo_problems::mnist::subset().expect("images");
    let objective = CrossEntropy::new(&Network::lenet1(), &data.train, 50, Order::Sequential).expect("a size");
    let init = InitialLaw::Normal { mean: 0.0.into(), variance: 1.0.into() };
    for (method, diffusion) in [("cbo", Diffusion::Isotropic), ("hopping", Diffusion::Anisotropic)] {
        let method = method.parse().expect("a method");
        let config = CboConfig { diffusion, init: init.clone(), steps: Some(1), ..CboConfig::of(method) };
        let error = Cuda::on(Arc::new(Compiler)).networks(&objective).solve(&config, &mut ()).expect_err("no run");
        assert!(error.to_string().contains(DONE), "{error}");
    }
}
