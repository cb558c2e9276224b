//! The text of the kernels for a network and a kind of run, and the sizes of what they work on.

use crate::machine::Entry;
use crate::source::{THREADS, arithmetic};
use cbo::device::block_rows;
use cbo::{CboConfig, Diffusion, Method, Scalar};
use cbo_problems::mnist::PIXELS;
use cbo_problems::nn::fast::Block;
use cbo_problems::nn::{EPSILON, Layer, Network, Shape};
use std::fmt::Write;

const ROWS: &str = include_str!("../../kernels/rows.cuh");
const NETWORK: &str = include_str!("../../kernels/network.cuh");

/// Images that lie side by side.
pub(super) const TILE: usize = 64;

/// Lanes of a tile, of four images each.
const LANES: usize = 16;

/// Threads that fold weights, and that add up losses.
pub(super) const FOLD_THREADS: usize = 256;
pub(super) const LOSS_THREADS: usize = 128;

/// The kernels, in the order in which they are compiled: these, then those of the blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Move,
    Moments,
    LayOut,
    Loss,
    /// Of block k: before it, the weights; and it itself.
    Fold(usize),
    Linear(usize),
    /// Where noise is isotropic.
    Norms,
}

impl Part {
    /// Its place among all.
    pub fn place(self, blocks: usize) -> usize {
        match self {
            Self::Move => 0,
            Self::Moments => 1,
            Self::LayOut => 2,
            Self::Loss => 3,
            Self::Fold(k) => 4 + 2 * k,
            Self::Linear(k) => 5 + 2 * k,
            Self::Norms => 4 + 2 * blocks,
        }
    }
}

/// The numbers of a block that its kernels are compiled with.
#[derive(Clone, Debug)]
pub(super) struct Sizes {
    /// Values before and after it, of one image.
    inputs: usize,
    pub outputs: usize,
    /// Weights and biases as its kernel wants them.
    pub folded: usize,
    pub channels: usize,
    /// Rows of a map before the pool; pieces of 16 pixels after it.
    height: usize,
    chunks: usize,
    /// Threads of its kernel, and blocks of them for each parameter vector and tile.
    pub team: usize,
    pub spread: usize,
    constants: String,
}

impl Sizes {
    /// Sums that it leaves for so many tiles.
    pub fn sums(&self, tiles: usize) -> usize {
        (2 * self.height + 8 * self.chunks) * self.channels * tiles + 2 * self.channels
    }

    fn of(block: &Block, first: bool, few: bool) -> Option<Self> {
        let (stage, geometry) = block.linear.as_ref()?;
        let (side, shared) = match stage.layer {
            Layer::Conv { kernel, shared, .. } => (kernel, shared),
            _ => (1, false),
        };
        let (taps, kernels) = (geometry.offsets.len(), stage.biases.len());
        let (planes, input_area) = (taps / (side * side), stage.input.area());
        // A dense layer reads one value after the other, whatever they are.
        let plane = if matches!(stage.layer, Layer::Dense { .. }) { 1 } else { input_area };
        let inputs = if shared { stage.input.channels() } else { 1 };
        let (height, width, pool) = (geometry.height, geometry.width, block.pool);
        // So many sums of a thread stay in registers; where there are few parameter vectors, there is a thread for each.
        let most = if few { 1 } else { (16 / (pool * pool)).clamp(1, 6) };
        let groups = kernels.div_ceil(most);
        let group = kernels.div_ceil(groups);
        let stride = if few { 1 } else { group.next_multiple_of(4) };
        let units = inputs * groups * (height / pool);
        let team = (if few { width / pool } else { units } * LANES).next_multiple_of(32).min(256);
        let pooled_area = block.pooled.area();
        let chunks = pooled_area.div_ceil(16);
        let weights = inputs * groups * taps * stride;
        let sizes = Self {
            inputs: stage.input.values(),
            outputs: block.pooled.values(),
            folded: (weights + inputs * groups * group).next_multiple_of(4),
            channels: block.pooled.channels(),
            height,
            chunks,
            team,
            spread: if few { units } else { 1 },
            constants: String::new(),
        };
        let numbers = [
            ("FIRST", usize::from(first)),
            ("IN_VALUES", sizes.inputs),
            ("IN_AREA", input_area),
            ("IN_WIDTH", geometry.input_width),
            ("HEIGHT", height),
            ("WIDTH", width),
            ("POOL", pool),
            ("POOLED_HEIGHT", height / pool),
            ("POOLED_AREA", pooled_area),
            ("FULL_AREA", block.full.area()),
            ("OUT_VALUES", sizes.outputs),
            ("SIDE", side),
            ("PLANES", planes),
            (
                "PLANES_AT_ONCE",
                if side > 1 {
                    1
                } else if few {
                    24
                } else {
                    8
                },
            ),
            ("PLANE", plane),
            ("TAPS", taps),
            ("INPUTS", inputs),
            ("SHARED_KERNELS", usize::from(shared)),
            ("KERNELS", kernels),
            ("GROUP", group),
            ("GROUPS", groups),
            ("STRIDE", stride),
            ("CHANNELS", sizes.channels),
            ("CHUNKS", chunks),
            ("UNITS", units),
            ("TEAM_SIZE", team),
            ("FOLDED", sizes.folded),
            ("WEIGHTS", stage.weights.start),
            ("BIASES", stage.biases.start),
            ("RELU", usize::from(block.relu)),
            ("NORM", usize::from(block.norm.is_some())),
            ("NORM_AFTER", usize::from(block.norm_after.is_some())),
        ];
        let list: Vec<String> = numbers.iter().map(|(name, value)| format!("{name} = {value}")).collect();
        Some(Self { constants: list.join(", "), ..sizes })
    }
}

/// The sizes of all blocks, for many parameter vectors or few; none if the network has a block that begins with no convolution or dense
/// layer.
pub(super) fn sizes(network: &Network, blocks: &[Block], few: bool) -> Option<Vec<Sizes>> {
    if network.input() != Shape::DIGIT {
        return None;
    }
    blocks.iter().enumerate().map(|(k, block)| Sizes::of(block, k == 0, few)).collect()
}

/// The whole text.
pub(super) fn text(network: &Network, blocks: &[Sizes], config: &CboConfig) -> String {
    let hopping = match config.method {
        Method::Hopping(hopping) => 1 + usize::from(hopping.antithetic),
        _ => 0,
    };
    let mut text = String::from("typedef float T;\n");
    for (name, value) in [
        ("PARAMETERS", network.parameters()),
        ("CLASSES", network.classes()),
        ("PIXELS", PIXELS),
        ("ROWS", block_rows(network.parameters())),
        ("THREADS", THREADS),
        ("HELD", 1),
        ("HOPPING", hopping),
        ("ISOTROPIC", usize::from(is_isotropic(config))),
    ] {
        // Writing to a string does not fail.
        let _ = writeln!(text, "#define {name} {value}");
    }
    let _ = writeln!(text, "#define TINY {:?}\n#define EPSILON {EPSILON:?}", f32::TINY);
    text += &arithmetic();
    text += ROWS;
    text += NETWORK;
    for (k, block) in blocks.iter().enumerate() {
        let _ = writeln!(text, "struct Block{k} {{ enum : u32 {{ {} }}; }};", block.constants);
    }
    let mut kernel = |bounds: String, name: String, call: String| {
        let _ = writeln!(
            text,
            "KERNEL({bounds}) {name}(const GRID_CONSTANT NetworkArgs a) {{ LET_NEXT_BEGIN(); AWAIT_BEFORE(); {call}(a); }}\nRUN({name}, NetworkArgs)"
        );
    };
    let last = blocks.len().saturating_sub(1);
    for (k, block) in blocks.iter().enumerate() {
        let fold = if k == 0 { "begin_of<Block0>".into() } else { format!("fold_of<Block{}, Block{k}>", k - 1) };
        // With half as many threads on a multiprocessor as fit, sums stay in registers.
        let (together, linear) =
            if block.spread > 1 { (1, "wide_of") } else { ((512 / block.team).max(1), "linear_of") };
        kernel(FOLD_THREADS.to_string(), format!("fold_{k}"), fold);
        kernel(format!("{}, {together}", block.team), format!("linear_{k}"), format!("{linear}<Block{k}>"));
    }
    kernel(LOSS_THREADS.to_string(), "loss".into(), format!("loss_of<Block{last}>"));
    text
}

/// Whether noise is by the whole distance from the consensus point.
pub(super) fn is_isotropic(config: &CboConfig) -> bool {
    config.method == Method::Cbo && config.diffusion == Diffusion::Isotropic
}

/// The kernels of that text, in the order of their places.
pub(super) fn entries(blocks: usize, config: &CboConfig) -> Vec<Entry> {
    let common = ["move_rows", "moments", "lay_out", "loss"].map(String::from).into_iter();
    let of_blocks = (0..blocks).flat_map(|k| [format!("fold_{k}"), format!("linear_{k}")]);
    let norms = is_isotropic(config).then(|| "norms".to_string());
    common.chain(of_blocks).chain(norms).map(|name| Entry { name, shared: 0 }).collect()
}
