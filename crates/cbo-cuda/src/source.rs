//! The text of the kernels for one run: its precision, dimension and switches, its formula, and what is the same for all.

use crate::emit::function;
use cbo::device::block_rows;
use cbo::simd::Coefficients;
use cbo::{BoundHandling, CboConfig, Diffusion, EnergyTrace, Plan, Scalar, Scheme, noise};
use std::fmt::Write;

/// Threads of a block.
pub(crate) const THREADS: usize = 256;

/// Particles of a block of threads at least, where the engine's blocks are small.
const TOGETHER: usize = 1024;

/// Bytes of partial sums that a block of threads keeps to itself.
const OWN_SUMS: usize = 8192;

/// Bytes of partial sums that are merged in one go.
pub(crate) const POOL: usize = 200 << 10;

/// Threads that merge.
pub(crate) const MERGE_THREADS: usize = 1024;

/// Partial sums merged by a block of threads that are too large for that.
const CHUNK: usize = 64;

/// Up to this many bytes of coordinates a thread holds in registers.
const HELD: usize = 256;

/// Bytes of shared memory that one of many runs may take; larger ones are in the memory of the device.
pub(crate) const NEAR: usize = 96 << 10;

/// Bytes of a centre that travel with a launch.
const CENTRE: usize = 2048;

const WORDS: &str = include_str!("../kernels/words.cuh");
const NUMBERS: &str = include_str!("../kernels/numbers.cuh");
const NOISE: &str = include_str!("../kernels/noise.cuh");
const PARTICLE: &str = include_str!("../kernels/particle.cuh");
const STEP: &str = include_str!("../kernels/step.cuh");
const SWARMS: &str = include_str!("../kernels/swarms.cuh");

/// How a run is cut into blocks of threads.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub dim: usize,
    /// Particles of a block of the engine.
    pub rows: usize,
    /// Blocks of the engine in a block of threads, a power of two.
    pub group: usize,
    /// Room for the centre in the arguments; if it is less than the dimension, the centre is elsewhere.
    pub centre: usize,
}

impl Shape {
    pub fn of<T>(dim: usize) -> Self {
        let rows = block_rows(dim);
        let group = power_of_two((TOGETHER / rows).max(1));
        let centre = if dim * size_of::<T>() <= CENTRE { dim } else { 1 };
        Self { dim, rows, group, centre }
    }

    /// Particles of a block of threads.
    pub fn together(&self) -> usize {
        self.rows * self.group
    }

    /// Whether the sums of a group are merged by the block of threads that has them.
    pub fn own_sums(&self) -> bool {
        self.group * self.stride() * 12 <= OWN_SUMS
    }

    /// Whether partial sums are merged in shared memory.
    fn pooled(&self) -> bool {
        self.pool_of(CHUNK) <= POOL
    }

    /// Bytes that so many partial sums and half as many take.
    fn pool_of(&self, count: usize) -> usize {
        (count + count.div_ceil(2)) * self.stride() * 8
    }

    /// How many of `count` partial sums a block of threads merges, and the shared memory that it takes: all, or a power of two.
    pub fn chunk(&self, count: usize) -> (usize, usize) {
        if !self.pooled() {
            return (CHUNK, 0);
        }
        let most = POOL / (12 * self.stride());
        let chunk = if self.pool_of(count) <= POOL { count } else { power_of_two(most) };
        (chunk, self.pool_of(chunk.min(count)))
    }

    /// Numbers of a partial sum.
    pub fn stride(&self) -> usize {
        8 + self.dim
    }
}

/// The largest power of two that is not above.
fn power_of_two(n: usize) -> usize {
    if n.is_power_of_two() { n } else { n.next_power_of_two() / 2 }
}

/// The whole text.
pub(crate) fn text<T: Scalar>(plan: &Plan, shape: Shape, energy: &EnergyTrace) -> String {
    let mut text = beginning::<T>(plan.config(), shape, energy);
    text += &function("energy", &energy.operations);
    if let Some(vanishing) = &energy.vanishing {
        text += &function("vanishes", &vanishing.when);
        text += &function("energy_vanishing", &vanishing.then);
    }
    text + PARTICLE + STEP
}

/// The text for many runs at once that have these switches and this formula, with `energy`, and all that belongs to it, in `functions`;
/// in shared memory or not.
pub(crate) fn text_of_swarms<T: Scalar>(
    config: &CboConfig,
    energy: &EnergyTrace,
    functions: &str,
    (dim, near): (usize, bool),
) -> String {
    let shape = Shape { centre: dim, ..Shape::of::<T>(dim) };
    let near = format!("#define NEAR {}\n#define NEAR_BYTES {NEAR}\n", usize::from(near));
    near + &beginning::<T>(config, shape, energy) + functions + PARTICLE + SWARMS
}

/// What comes before the formula.
fn beginning<T: Scalar>(config: &CboConfig, shape: Shape, energy: &EnergyTrace) -> String {
    let mut text = switches::<T>(config, shape, energy);
    text += WORDS;
    text += &tables::<f32>("float");
    text += &tables::<f64>("double");
    text += &polynomials();
    text + NUMBERS + NOISE
}

/// The words of the kernels, the engine's functions and its noise.
pub(crate) fn arithmetic() -> String {
    let tables = tables::<f32>("float") + &tables::<f64>("double");
    [WORDS, &tables, &polynomials(), NUMBERS, NOISE].concat()
}

fn switches<T: Scalar>(config: &CboConfig, shape: Shape, energy: &EnergyTrace) -> String {
    let (lanes, bytes) = (if size_of::<T>() == 8 { 8 } else { 16 }, shape.dim * size_of::<T>());
    let wide = shape.dim.is_multiple_of(lanes) || shape.dim > 3 * lanes;
    let vanishing = energy.vanishing.as_ref().map_or(0, |v| v.rows.unwrap_or(shape.rows));
    let mut text = format!("typedef {} T;\n", if size_of::<T>() == 8 { "double" } else { "float" });
    for (name, value) in [
        ("DIM", shape.dim),
        ("ROWS", shape.rows),
        ("GROUP", shape.group),
        ("CENTRE", shape.centre),
        ("THREADS", THREADS),
        ("SUMS_SHARED", usize::from(shape.own_sums())),
        ("MERGE_THREADS", MERGE_THREADS),
        ("POOL", POOL),
        ("CHUNK_SHARED", usize::from(shape.pooled())),
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
    // Blocks that share a multiprocessor: with more of them registers are few, and long rows in registers spill.
    let together = if bytes <= 64 || bytes > HELD { 4 } else { 2 };
    let _ = writeln!(text, "#define STEP_BOUNDS THREADS, {together}");
    let _ = writeln!(text, "#define SWARM_BOUNDS THREADS, {together}");
    let _ = writeln!(text, "#define TINY {:?}", T::TINY.to_f64());
    text
}

/// The switches of the dynamics.
pub(crate) fn dynamics(config: &CboConfig) -> [(&'static str, usize); 4] {
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
