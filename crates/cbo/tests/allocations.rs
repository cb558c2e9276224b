//! No allocation in the loop, once the first steps have made room.

use cbo::{
    Adam, Alpha, CboConfig, Constrained, Diffusion, FrameFactor, Grouping, Hypersurface, Jumps, Memory, Method, Mirror,
    Polarised, Sampling, Sphere, StepReport, Surface, Update, from_fn, solve,
};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ops::ControlFlow;

/// The system's allocator, which counts what each thread asks for.
struct Counting;

#[global_allocator]
static COUNTING: Counting = Counting;

thread_local! {
    static COUNT: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: every call is passed on to the system's allocator as it is.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // A thread that is ending has no counter any more.
        let _ = COUNT.try_with(|count| count.set(count.get() + 1));
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the memory came from `alloc` above, which is the system's.
        unsafe { System.dealloc(memory, layout) }
    }
}

/// Allocations between one step of a run and another one, on this thread.
fn allocations(config: &CboConfig, between: (u64, u64), grouping: Grouping) -> u64 {
    let config = CboConfig { steps: Some(between.1), threads: 1, diameter: Some(1e-300), ..config.clone() };
    // One point in four is infeasible.
    let bowl = |x: &[f64]| if x[0] > 1.5 { f64::INFINITY } else { x.iter().map(|v| v * v).sum() };
    let (mut before, mut after) = (None, None);
    let mut watch = |step: &StepReport<'_, f64>| {
        match step.step() {
            at if at == between.0 => before = Some(COUNT.get()),
            at if at == between.1 => after = Some(COUNT.get()),
            _ => (),
        }
        ControlFlow::Continue(())
    };
    let run = match grouping {
        Grouping::Single => solve(&config, &from_fn(7, bowl).costly(), &mut watch),
        // Under a constraint.
        Grouping::Together => solve(&config, &Constrained::new(from_fn(7, bowl)).at_least(-1.0, |x| x[0]), &mut watch),
        _ => solve(&config, &from_fn(7, bowl), &mut watch),
    };
    run.unwrap_or_else(|error| panic!("{error}: {config:?}, {grouping:?}"));
    after.expect("the last step") - before.expect("an early step")
}

#[test]
fn steps_allocate_nothing() {
    let base = CboConfig { particles: 200, ..CboConfig::default() };
    let level = |x: &[f64]| x.iter().map(|v| v * v).sum::<f64>() - 1.0;
    let smooth = Method::Memory(Memory { beta: 1.0, ..Memory::default() });
    let of = |method| CboConfig { particles: 200, ..CboConfig::of(method) };
    let variants = [
        base.clone(),
        CboConfig { alpha: Alpha::EffectiveSampleSize(0.3), ..base.clone() },
        CboConfig { diffusion: Diffusion::Isotropic, sigma: cbo::Sigma::Constant(0.3), ..base.clone() },
        CboConfig { batch: Some(50), kick: Some(1e-3), ..base.clone() },
        CboConfig { batch: Some(50), update: Update::Partial, ..base.clone() },
        CboConfig { method: Method::Memory(Memory::default()), ..base.clone() },
        of("hopping:momentum=0.9,rate=0.2,cosine=true".parse().expect("a method")),
        of("hopping:weights=ranks,start=point,antithetic=false".parse().expect("a method")),
        CboConfig { method: smooth, batch: Some(50), bounds: Some(vec![(-3.0, 3.0); 7]), ..base },
        of(Method::Polarised(Polarised::default())),
        CboConfig { batch: Some(50), update: Update::Partial, ..of(Method::Polarised(Polarised::default())) },
        of(Method::Sampling(Sampling::default())),
        CboConfig { batch: Some(50), ..of(Method::Sampling(Sampling::default())) },
        of(Method::Sampling(Sampling { law: true })),
        of(Method::Jumps(Jumps::default())),
        CboConfig { batch: Some(50), ..of(Method::Adam(Adam::default())) },
        of(Method::Mirror(Mirror::Simplex { temperature: 0.5 })),
        of(Method::Sphere(Sphere::default())),
        of(Method::Hypersurface(Hypersurface::Stiefel { columns: 1, factor: FrameFactor::Qr })),
        CboConfig { surface: Some(Surface::new(level)), ..of(Method::Hypersurface(Hypersurface::Level)) },
    ];
    for config in variants {
        // A law is not under constraints.
        let law = config.method == Method::Sampling(Sampling { law: true });
        for grouping in
            [Grouping::Blocks, Grouping::Single, Grouping::Together].into_iter().take(if law { 2 } else { 3 })
        {
            let counted = allocations(&config, (5, 50), grouping);
            assert_eq!(counted, 0, "from step 5 to 50: {config:?}, {grouping:?}");
        }
    }
}
