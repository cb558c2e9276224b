//! What a backend asks of whoever runs its kernels: memory, copies, launches.

use cbo::Scalar;
use std::fmt;
use std::sync::Arc;

/// Why a device cannot do its part.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{0}")]
pub struct Fault(pub String);

/// Where memory is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// On the device.
    Device,
    /// In this machine's memory, which the device sees too.
    Shared,
}

/// The kernels of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kernel {
    /// The pending move, energies and sums.
    Step,
    /// The extent of the swarm in each coordinate.
    Widths,
    /// The squares of all coordinates, summed block by block.
    Squares,
    /// The initial positions.
    Begin,
    /// Reading and writing all positions.
    MemoryFloor,
    /// Drawing all normals of a step.
    NormalsFloor,
    /// What particles remember; compiled for a method that has it.
    Remember,
}

impl Kernel {
    /// What `step.cuh`, `beside.cuh` and `memory.cuh` call them, in their order.
    pub fn entries(remembers: bool) -> Vec<Entry> {
        let names = ["step", "widths", "squares", "begin", "memory_floor", "normals_floor"];
        let all = names.into_iter().chain(remembers.then_some("remember"));
        all.map(|name| Entry { name: name.into(), shared: 0 }).collect()
    }
}

/// A kernel of a program.
#[derive(Clone, Debug)]
pub struct Entry {
    /// What it is called there.
    pub name: String,
    /// Bytes that the threads of its blocks share at the most, besides what it has of its own.
    pub shared: u32,
}

/// The shape of a launch.
#[derive(Clone, Copy, Debug)]
pub struct Grid {
    /// Blocks of threads.
    pub blocks: u32,
    /// Threads of each.
    pub threads: u32,
    /// Bytes of memory that the threads of a block share, besides what the kernel has of its own.
    pub shared: u32,
    /// Whether blocks may begin before what was launched before is over: the kernel waits for that itself.
    pub early: bool,
}

/// Kernels that were compiled for a run.
pub trait Program: Send + Sync + fmt::Debug {
    /// Begins a kernel, by its place among those compiled, in this shape; it may still run when this returns.
    fn launch(&self, kernel: usize, grid: Grid, args: &[u8]) -> Result<(), Fault>;
}

/// A device, or what stands in for one in tests.
pub trait Machine: Send + Sync + fmt::Debug {
    /// Its name, for messages.
    fn name(&self) -> String;
    /// Bytes that can still be allocated, if known.
    fn free_bytes(&self) -> Option<u64>;
    /// Compiles these kernels of a text.
    fn compile(&self, text: &str, kernels: &[Entry]) -> Result<Arc<dyn Program>, Fault>;
    /// Memory of so many bytes, all zero.
    fn allocate(&self, bytes: usize, kind: Kind) -> Result<u64, Fault>;
    /// Gives memory back.
    fn release(&self, address: u64, kind: Kind);
    /// Copies bytes to the device, after what was launched before.
    fn upload(&self, to: u64, bytes: &[u8]) -> Result<(), Fault>;
    /// Copies bytes from the device, after what was launched before.
    fn download(&self, from: u64, bytes: &mut [u8]) -> Result<(), Fault>;
    /// Copies bytes within the device, after what was launched before; the copy may still be under way when this returns.
    ///
    /// # Safety
    /// Both ends are in the device's memory, and stay there until the copy is over.
    unsafe fn copy(&self, to: u64, from: u64, bytes: usize) -> Result<(), Fault> {
        let mut between = vec![0; bytes];
        self.download(from, &mut between)?;
        self.upload(to, &between)
    }
    /// Kind and number of the device whose memory it is, as DLPack counts them: the processor unless said otherwise.
    fn place(&self) -> (i32, i32) {
        (1, 0)
    }
    /// The stream of all launches; none where a launch is over when it returns.
    fn stream(&self) -> Option<u64> {
        None
    }
    /// Lets another stream wait for what was launched before.
    ///
    /// # Safety
    /// It is a stream of this device.
    unsafe fn precede(&self, _stream: u64) -> Result<(), Fault> {
        Ok(())
    }
    /// Waits until the device has written all these words to shared memory, each the lower half of a number whose upper half is `mark`.
    fn wait_for(&self, from: u64, mark: u32, words: &mut [u32]) -> Result<(), Fault>;
    /// Waits until all that was launched is done.
    fn wait(&self) -> Result<(), Fault>;
    /// Reads shared memory, which nobody is writing.
    fn look(&self, at: u64, bytes: &mut [u8]);
    /// Writes shared memory, which nobody is reading.
    fn put(&self, at: u64, bytes: &[u8]);
    /// Copies bytes from shared memory to the device, after what was launched before, and does not wait for it.
    fn send(&self, to: u64, from: u64, bytes: usize) -> Result<(), Fault>;
}

/// Memory that is given back when it is no longer used.
#[derive(Debug)]
pub(crate) struct Memory {
    machine: Arc<dyn Machine>,
    address: u64,
    kind: Kind,
}

impl Memory {
    pub fn new(machine: &Arc<dyn Machine>, bytes: usize, kind: Kind) -> Result<Self, Fault> {
        let address = machine.allocate(bytes.max(8), kind)?;
        Ok(Self { machine: machine.clone(), address, kind })
    }

    /// With these numbers in it.
    pub fn of<T: Scalar>(machine: &Arc<dyn Machine>, numbers: &[T]) -> Result<Self, Fault> {
        let memory = Self::new(machine, size_of_val(numbers), Kind::Device)?;
        memory.upload(numbers)?;
        Ok(memory)
    }

    /// With these bytes in it.
    #[cfg(feature = "networks")]
    pub fn of_bytes(machine: &Arc<dyn Machine>, bytes: &[u8]) -> Result<Self, Fault> {
        let memory = Self::new(machine, bytes.len(), Kind::Device)?;
        machine.upload(memory.address, bytes)?;
        Ok(memory)
    }

    /// Writes bytes into shared memory, `first` bytes after its beginning.
    pub fn put(&self, first: usize, bytes: &[u8]) {
        self.machine.put(self.address + first as u64, bytes);
    }

    /// The same with whole numbers.
    pub fn of_words(machine: &Arc<dyn Machine>, words: &[u64]) -> Result<Self, Fault> {
        let memory = Self::new(machine, size_of_val(words), Kind::Device)?;
        memory.upload_words(words)?;
        Ok(memory)
    }

    pub fn address(&self) -> u64 {
        self.address
    }

    pub fn machine(&self) -> &Arc<dyn Machine> {
        &self.machine
    }

    pub fn upload<T: Scalar>(&self, numbers: &[T]) -> Result<(), Fault> {
        self.machine.upload(self.address, bytes_of(numbers))
    }

    pub fn upload_words(&self, words: &[u64]) -> Result<(), Fault> {
        self.machine.upload(self.address, &bytes_of_words(words))
    }

    /// The first `count` words.
    pub fn words(&self, count: usize) -> Result<Vec<u64>, Fault> {
        let mut bytes = vec![0; 8 * count];
        self.machine.download(self.address, &mut bytes)?;
        let word = |bytes: &[u8; 8]| u64::from_ne_bytes(*bytes);
        Ok(bytes.as_chunks().0.iter().map(word).collect())
    }

    pub fn download<T: Scalar>(&self, numbers: &mut [T]) -> Result<(), Fault> {
        if numbers.is_empty() {
            return Ok(());
        }
        self.machine.download(self.address, bytes_of_mut(numbers))
    }

    /// Numbers in shared memory, from the one on that lies `first` bytes after the beginning.
    pub fn look<T: Scalar>(&self, first: usize, numbers: &mut [T]) {
        self.machine.look(self.address + first as u64, bytes_of_mut(numbers));
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        self.machine.release(self.address, self.kind);
    }
}

/// The bytes of some numbers.
pub(crate) fn bytes_of<T: Scalar>(numbers: &[T]) -> &[u8] {
    // SAFETY: a `Scalar` is `f32` or `f64` and nothing else; neither has padding.
    unsafe { std::slice::from_raw_parts(numbers.as_ptr().cast(), size_of_val(numbers)) }
}

/// The same, to be written.
fn bytes_of_mut<T: Scalar>(numbers: &mut [T]) -> &mut [u8] {
    // SAFETY: as above; and every pattern of bits is a number.
    unsafe { std::slice::from_raw_parts_mut(numbers.as_mut_ptr().cast(), size_of_val(numbers)) }
}

/// The bytes of some whole numbers.
pub(crate) fn bytes_of_short_words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_ne_bytes()).collect()
}

/// The same of longer ones.
pub(crate) fn bytes_of_words(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_ne_bytes()).collect()
}
