//! The text of the kernels for one run: its precision, dimension and switches, its formula, and what is the same for all.

use crate::emit::{MOVING, Rolled, function, live};
use cbo::device::{SQUARES, block_rows, remembers};
use cbo::simd::Coefficients;
use cbo::{
    Alpha, BoundHandling, CboConfig, Diffusion, EnergyTrace, HoppingWeights, Method, Plan, Scalar, Scheme, noise,
};
use std::fmt::Write;

/// Threads of a block at the most.
pub(crate) const THREADS: usize = 256;

/// Partial sums of which a thread has one coordinate in registers, a power of two.
const PART: usize = 16;

/// Particles whose coordinates lie together.
pub(crate) const GROUP: usize = 32;

/// Coordinates that a formula may need at once, to be computed while they move.
const LIVE: usize = 32;

/// With more coordinates than these, a step that is written down one after the other is too long for the cache of instructions.
const LONG: usize = 64;

/// Bytes of normals that a thread may hold before a step can begin.
const DRAWN: usize = 64;

/// Up to this many bytes of coordinates a thread holds in registers.
const HELD: usize = 256;

/// Bytes of shared memory that one of many runs may take; larger ones are in the memory of the device.
pub(crate) const NEAR: usize = 96 << 10;

/// Bytes of a centre that travel with a launch.
const CENTRE: usize = 2048;

/// Numbers of a partial sum besides the coordinates.
const FIELDS: usize = 8;

const WORDS: &str = include_str!("../kernels/words.cuh");
const NUMBERS: &str = include_str!("../kernels/numbers.cuh");
const NOISE: &str = include_str!("../kernels/noise.cuh");
const PARTICLE: &str = include_str!("../kernels/particle.cuh");
const STEP: &str = include_str!("../kernels/step.cuh");
const BESIDE: &str = include_str!("../kernels/beside.cuh");
const MEMORY: &str = include_str!("../kernels/memory.cuh");
const SWARMS: &str = include_str!("../kernels/swarms.cuh");

/// How a run is cut into blocks of threads: each has the particles of a block of the engine.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub dim: usize,
    /// Particles of a block of the engine.
    pub rows: usize,
    /// Threads of a block, whole warps.
    pub threads: usize,
    /// Whether positions lie in groups of particles, or else coordinate by coordinate for all of them.
    pub grouped: bool,
    /// Room for the centre in the arguments; if it is less than the dimension, the centre is elsewhere.
    pub centre: usize,
    /// Whether other ranks have other particles of the run.
    pub spread: bool,
}

impl Shape {
    pub fn of<T>(dim: usize, grouped: bool) -> Self {
        let rows = block_rows(dim);
        let threads = rows.div_ceil(rows.div_ceil(THREADS)).next_multiple_of(32);
        let centre = if dim * size_of::<T>() <= CENTRE { dim } else { 1 };
        Self { dim, rows, threads, grouped, centre, spread: false }
    }

    /// Blocks that have so many particles.
    pub fn blocks(&self, particles: usize) -> usize {
        particles.div_ceil(self.rows)
    }

    /// Partial sums of so many particles, those of blocks and merged ones, until each is of a `grain` of blocks; and the blocks of the tree
    /// where some are merged.
    pub fn sums(&self, particles: usize, grain: usize) -> (usize, usize) {
        let (mut sums, mut merged, mut level, mut left) = (0, 0, self.blocks(particles), grain);
        loop {
            let width = left.min(self.chunk());
            sums += level;
            level = level.div_ceil(width);
            merged += level;
            left /= width;
            if left == 1 {
                return (sums, merged);
            }
        }
    }

    /// The grain of a run that is on one device.
    pub fn whole(&self, particles: usize) -> usize {
        self.blocks(particles).next_power_of_two()
    }

    /// Partial sums that are merged in one go: more of them where there are threads for that.
    fn chunk(&self) -> usize {
        if self.dim <= 32 { 4 * PART } else { PART }
    }

    /// Particles that there is room for.
    pub fn room(&self, particles: usize) -> usize {
        if self.grouped { particles.next_multiple_of(GROUP) } else { particles }
    }

    /// Where coordinate `k` of particle `i` lies, of so many particles.
    pub fn place(&self, particles: usize, i: usize, k: usize) -> usize {
        if self.grouped { (i / GROUP * self.dim + k) * GROUP + i % GROUP } else { k * particles + i }
    }

    /// Bytes that so many particles take on a device.
    pub fn bytes<T>(&self, particles: usize) -> u64 {
        let sums = self.sums(particles, self.whole(particles)).0 * self.stride() * 8;
        (self.room(particles) as u64) * (self.dim as u64 + 1) * size_of::<T>() as u64 + sums as u64
    }

    /// Numbers of a partial sum.
    pub fn stride(&self) -> usize {
        FIELDS + self.dim
    }
}

/// The whole text.
pub(crate) fn text<T: Scalar>(plan: &Plan, shape: Shape, energy: &EnergyTrace) -> String {
    let mut text = switches::<T>(plan.config(), shape, energy);
    text += &switches_of_step::<T>(plan.config(), shape, energy);
    text += &arithmetic();
    let rolls = shape.dim > LONG;
    text += &function(MOVING, shape.dim, &energy.operations, rolls);
    if let Some(vanishing) = &energy.vanishing {
        text += &function("vanishes", shape.dim, &vanishing.when, rolls);
        text += &function("energy_vanishing", shape.dim, &vanishing.then, rolls);
    }
    text + PARTICLE + STEP + BESIDE + if remembers(plan.config()).is_some() { MEMORY } else { "" }
}

/// The text for many runs at once that have these switches and this formula, with `energy`, and all that belongs to it, in `functions`;
/// in shared memory or not.
pub(crate) fn text_of_swarms<T: Scalar>(
    config: &CboConfig,
    energy: &EnergyTrace,
    functions: &str,
    (dim, near): (usize, bool),
) -> String {
    let shape = Shape { centre: dim, ..Shape::of::<T>(dim, false) };
    let mut text = switches::<T>(config, shape, energy);
    // Blocks that share a multiprocessor.
    let together = if is_short::<T>(dim) { 4 } else { 2 };
    for (name, value) in [
        ("NEAR", usize::from(near).to_string()),
        ("NEAR_BYTES", NEAR.to_string()),
        ("SWARM_BOUNDS", format!("{THREADS}, {together}")),
    ] {
        let _ = writeln!(text, "#define {name} {value}");
    }
    if is_sampled(config) {
        text += "#define SAMPLED 1\n";
    }
    text + &arithmetic() + functions + PARTICLE + SWARMS
}

/// Whether the alpha of the weights is found from a sample size.
pub(crate) fn is_sampled(config: &CboConfig) -> bool {
    matches!(config.alpha, Alpha::EffectiveSampleSize(_))
}

/// The words of the kernels, the engine's functions and its noise.
pub(crate) fn arithmetic() -> String {
    let tables = tables::<f32>("float") + &tables::<f64>("double");
    [WORDS, &tables, &polynomials(), NUMBERS, NOISE].concat()
}

/// What all kernels of particles are told.
fn switches<T: Scalar>(config: &CboConfig, shape: Shape, energy: &EnergyTrace) -> String {
    let (lanes, bytes) = (if size_of::<T>() == 8 { 8 } else { 16 }, shape.dim * size_of::<T>());
    let wide = shape.dim.is_multiple_of(lanes) || shape.dim > 3 * lanes;
    let vanishing = energy.vanishing.as_ref().map_or(0, |v| v.rows.unwrap_or(shape.rows));
    let mut text = format!("typedef {} T;\n", if size_of::<T>() == 8 { "double" } else { "float" });
    for (name, value) in [
        ("DIM", shape.dim),
        ("ROWS", shape.rows),
        ("CENTRE", shape.centre),
        ("GROUPED", usize::from(shape.grouped)),
        ("HELD", usize::from(bytes <= HELD)),
        ("WIDE", usize::from(wide)),
        ("VANISHING", vanishing),
    ]
    .into_iter()
    .chain(dynamics(config))
    {
        // Writing to a string does not fail.
        let _ = writeln!(text, "#define {name} {value}");
    }
    let _ = writeln!(text, "#define TINY {:?}", T::TINY.to_f64());
    text
}

/// What a step is told besides.
fn switches_of_step<T>(config: &CboConfig, shape: Shape, energy: &EnergyTrace) -> String {
    let lazy = live(shape.dim, &energy.operations) <= LIVE;
    let rolled = lazy && shape.dim > LONG && Rolled::of(shape.dim, &energy.operations).is_some();
    // Normals drawn in many places are too long for the cache of instructions.
    let called = lazy && !rolled && shape.dim > LONG;
    // Normals that wait in registers for the step before.
    let predrawn = lazy && shape.dim * size_of::<T>() <= DRAWN && shape.rows <= shape.threads;
    // Threads that share a multiprocessor: with more of them registers are few, and long rows in registers spill.
    let usual = match (lazy, size_of::<T>()) {
        (true, 8) => 640,
        (true, _) => 1024,
        _ if is_short::<T>(shape.dim) => 1024,
        _ => 512,
    };
    let mut text = String::new();
    for (name, value) in [
        ("THREADS", shape.threads),
        ("CHUNK", shape.chunk()),
        ("PART", PART),
        ("SQUARED", SQUARES),
        ("LAZY", usize::from(lazy)),
        ("AHEAD", if called { 3 } else { 2 }),
        ("CALLED", usize::from(called)),
        ("ROLLED", usize::from(rolled)),
        ("PREDRAWN", usize::from(predrawn)),
        ("BATCHES", usize::from(config.batch.is_some())),
        ("SPREAD", usize::from(shape.spread)),
    ] {
        let _ = writeln!(text, "#define {name} {value}");
    }
    text += &switches_of_method(config);
    let _ = writeln!(text, "#define STEP_BOUNDS THREADS, {}", usual / shape.threads);
    text
}

/// What a step is told of a method besides `cbo`.
fn switches_of_method(config: &CboConfig) -> String {
    let mut text = String::new();
    if let Method::Hopping(hopping) = config.method {
        let _ = writeln!(text, "#define HOPPING {}", 1 + usize::from(hopping.antithetic));
        let _ = writeln!(text, "#define RANKED {}", usize::from(hopping.weights == HoppingWeights::Ranks));
    }
    if remembers(config).is_some_and(|how| how.is_pulled) {
        text += "#define PULLED 1\n";
    }
    text
}

/// Whether many threads can share a multiprocessor, where each has a whole row: it is short, or not in registers.
fn is_short<T>(dim: usize) -> bool {
    let bytes = dim * size_of::<T>();
    bytes <= 64 || bytes > HELD
}

/// The switches of the dynamics.
pub(crate) fn dynamics(config: &CboConfig) -> [(&'static str, usize); 5] {
    let bounded = match (&config.bounds, config.bound_handling) {
        (None, _) | (_, BoundHandling::None) => 0,
        (_, BoundHandling::Clip) => 2,
        _ => 1,
    };
    [
        ("ISOTROPIC", usize::from(config.diffusion == Diffusion::Isotropic)),
        ("DRIFT_FIRST", usize::from(config.scheme == Scheme::DriftFirst)),
        ("TRUNCATED", usize::from(config.truncation().is_some())),
        ("BOUNDED", bounded),
        ("KICKED", usize::from(config.kick.is_some())),
    ]
}

/// The limits of a precision.
fn tables<T: Scalar>(name: &str) -> String {
    let Coefficients { pi_parts, ln2_parts, largest_angle, exp_range, least_normal, lift, .. } = T::COEFFICIENTS;
    let mut text = String::new();
    if name == "float" {
        text += "template <class R> struct Limits;\n";
    }
    let _ = writeln!(text, "template <> struct Limits<{name}> {{");
    for (name, value) in [
        ("pi_0", pi_parts[0]),
        ("pi_1", pi_parts[1]),
        ("pi_2", pi_parts[2]),
        ("ln2_0", ln2_parts[0]),
        ("ln2_1", ln2_parts[1]),
        ("largest_angle", *largest_angle),
        ("exp_high", exp_range.0),
        ("exp_low", exp_range.1),
        ("least_normal", *least_normal),
        ("lift", *lift),
    ] {
        let _ = writeln!(text, "    static constexpr double {name} = {value:?};");
    }
    text + "};\n"
}

/// The polynomials in both precisions.
fn polynomials() -> String {
    let named = |c: &Coefficients, [radius, sine, cosine]: [&'static [f64]; 3]| {
        [
            ("sin_pi", c.sin_pi),
            ("sin", c.sin),
            ("exp", c.exp),
            ("ln", c.ln),
            ("radius", radius),
            ("sine", sine),
            ("cosine", cosine),
        ]
    };
    let single = named(f32::COEFFICIENTS, noise::polynomials::<f32>());
    let double = named(f64::COEFFICIENTS, noise::polynomials::<f64>());
    let mut text = String::new();
    for (precision, list) in [("float", single), ("double", double)] {
        for (name, coefficients) in list {
            let numbers: Vec<String> = coefficients.iter().map(|c| format!("{c:?}")).collect();
            let _ = writeln!(
                text,
                "FN {precision} {name}_polynomial({precision} x) {{ constexpr double c[] = {{{}}}; return polynomial(c, x); }}",
                numbers.join(", ")
            );
        }
    }
    text
}
