//! The forward pass on the device: many parameter vectors, one batch of images.

use super::text::{FOLD_THREADS, LOSS_THREADS, Part, Sizes, TILE};
use crate::machine::{Fault, Grid, Kind, Machine, Memory, Program, bytes_of_short_words};
use crate::source::THREADS;
use cbo_problems::mnist::{CLASSES, Labelled, PIXELS, unit};
use std::sync::Arc;

/// Bytes of values between blocks that are kept at a time: more parameter vectors are evaluated in several goes.
const MOST_BYTES: u64 = 8 << 30;

/// Images and labels on the device.
#[derive(Debug)]
pub(super) struct Images {
    images: Memory,
    labels: Memory,
    unit: Memory,
}

impl Images {
    pub fn new(machine: &Arc<dyn Machine>, data: &Labelled) -> Result<Self, Fault> {
        let table: Vec<f32> = (0..=u8::MAX).map(unit).collect();
        Ok(Self {
            images: Memory::of_bytes(machine, data.images().pixels())?,
            labels: Memory::of_bytes(machine, data.labels())?,
            unit: Memory::of(machine, &table)?,
        })
    }
}

/// Everything that a forward pass needs on the device, for batches of a given size.
#[derive(Debug)]
pub(super) struct Forward {
    machine: Arc<dyn Machine>,
    program: Arc<dyn Program>,
    blocks: Arc<[Sizes]>,
    images: Arc<Images>,
    /// Images in a batch, and tiles of them.
    count: usize,
    tiles: usize,
    /// Parameter vectors evaluated in one go.
    slots: usize,
    /// The numbers of the images of the batch: here, and on the device.
    sent: Memory,
    batch: Memory,
    pixels: Memory,
    values: [Memory; 2],
    folded: Memory,
    sums: Memory,
    failed: Memory,
    arrived: Memory,
    each: Memory,
}

/// The arguments of a launch, as `NetworkArgs` in `network.cuh`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Args {
    positions: u64,
    chosen: u64,
    images: u64,
    labels: u64,
    batch: u64,
    unit: u64,
    pixels: u64,
    from: u64,
    to: u64,
    folded: u64,
    sums: u64,
    failed: u64,
    arrived: u64,
    each: u64,
    losses: u64,
    first: u32,
    count: u32,
    tiles: u32,
    padding: u32,
}

impl Forward {
    /// Room for batches of `count` images and up to `most` parameter vectors.
    pub fn new(
        machine: &Arc<dyn Machine>,
        program: Arc<dyn Program>,
        blocks: Arc<[Sizes]>,
        images: Arc<Images>,
        count: usize,
        most: usize,
    ) -> Result<Self, Fault> {
        let tiles = count.div_ceil(TILE);
        // Values after the blocks with an even and with an odd number.
        let values = [0, 1].map(|odd| blocks.iter().skip(odd).step_by(2).map(|b| b.outputs).max().unwrap_or(1));
        let bytes = (values[0] + values[1]) as u64 * (tiles * TILE * 4) as u64;
        let limit = machine.free_bytes().map_or(MOST_BYTES, |free| MOST_BYTES.min(free / 2));
        let slots = ((limit / bytes.max(1)) as usize).clamp(1, most.max(1));
        let widest = |size: &dyn Fn(&Sizes) -> usize| blocks.iter().map(size).max().unwrap_or(1);
        let floats = |numbers: usize| Memory::new(machine, numbers * 4, Kind::Device);
        Ok(Self {
            sent: Memory::new(machine, count * 4, Kind::Shared)?,
            batch: floats(count)?,
            pixels: floats(tiles * TILE * PIXELS)?,
            values: [floats(slots * tiles * TILE * values[0])?, floats(slots * tiles * TILE * values[1])?],
            folded: floats(slots * widest(&|b| b.folded))?,
            sums: floats(slots * widest(&|b| b.sums(tiles)))?,
            failed: floats(slots)?,
            arrived: floats(slots * tiles * widest(&|b| b.channels))?,
            each: floats(slots * count)?,
            machine: machine.clone(),
            program,
            blocks,
            images,
            count,
            tiles,
            slots,
        })
    }

    /// Blocks of the network.
    pub fn depth(&self) -> usize {
        self.blocks.len()
    }

    /// Takes another batch. What was launched before must be over.
    pub fn take(&self, images: &[u32]) -> Result<(), Fault> {
        debug_assert_eq!(images.len(), self.count);
        self.sent.put(0, &bytes_of_short_words(images));
        self.machine.send(self.batch.address(), self.sent.address(), 4 * self.count)?;
        let blocks = (self.tiles * TILE * PIXELS).div_ceil(THREADS).min(4096);
        self.launch(Part::LayOut, blocks, THREADS, &self.args(0, 0, 0, 0))
    }

    /// The losses of `rows` parameter vectors of `positions`, all or those `chosen`, on the batch, written to `losses`.
    pub fn evaluate(&self, positions: u64, chosen: u64, rows: usize, losses: u64) -> Result<(), Fault> {
        for first in (0..rows).step_by(self.slots) {
            let slots = self.slots.min(rows - first);
            let mut args = self.args(positions, chosen, losses, first as u32);
            for (k, block) in self.blocks.iter().enumerate() {
                self.launch(Part::Fold(k), slots, FOLD_THREADS, &args)?;
                args.to = self.values[k % 2].address();
                self.launch(Part::Linear(k), slots * self.tiles * block.spread, block.team, &args)?;
                args.from = args.to;
            }
            self.launch(Part::Loss, slots, LOSS_THREADS, &args)?;
        }
        Ok(())
    }

    fn launch(&self, part: Part, blocks: usize, threads: usize, args: &Args) -> Result<(), Fault> {
        let grid = Grid { blocks: blocks as u32, threads: threads as u32, shared: 0, early: true };
        let bytes = std::ptr::from_ref(args).cast::<u8>();
        // SAFETY: plain numbers without padding: 64-bit ones, then an even count of 32-bit ones.
        let bytes = unsafe { std::slice::from_raw_parts(bytes, size_of::<Args>()) };
        self.program.launch(part.place(self.blocks.len()), grid, bytes)
    }

    fn args(&self, positions: u64, chosen: u64, losses: u64, first: u32) -> Args {
        Args {
            positions,
            chosen,
            images: self.images.images.address(),
            labels: self.images.labels.address(),
            batch: self.batch.address(),
            unit: self.images.unit.address(),
            pixels: self.pixels.address(),
            from: 0,
            to: 0,
            folded: self.folded.address(),
            sums: self.sums.address(),
            failed: self.failed.address(),
            arrived: self.arrived.address(),
            each: self.each.address(),
            losses,
            first,
            count: self.count as u32,
            tiles: self.tiles as u32,
            padding: 0,
        }
    }
}

// The kernels compare labels with the numbers of the classes.
const _: () = assert!(CLASSES <= 256);
