//! The ranks of an MPI program as a communicator of `cbo`: one run on many machines. Without the feature `openmpi` this crate is empty.
#![cfg(feature = "openmpi")]

use cbo::ranks::Communicator;
use mpi::Threading;
use mpi::environment::Universe;
use mpi::point_to_point::{Message, Status};
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator as _, Destination, MatchedReceiveVec, Root, Source};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Messages that are waited for, and those that are polled.
const WAITED: i32 = 1;
const POLLED: i32 = 2;

/// A message has at most this many bytes: MPI counts them in 32 bits. One that is as long has more of it to come.
const PIECE: usize = 1 << 30;

/// MPI cannot be used.
#[derive(Debug)]
pub struct MpiError(String);

impl std::fmt::Display for MpiError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for MpiError {}

/// MPI, from its start until this is dropped: then ranks wait for each other. A panic that comes as far as this ends all ranks at once,
/// because the others would wait for the one that has failed.
///
/// ```no_run
/// use cbo::ranks::{Particles, solve_on};
/// use cbo::{CboConfig, from_fn};
///
/// let mpi = cbo_mpi::Mpi::start()?;
/// let sphere = from_fn(16, |x: &[f64]| x.iter().map(|v| v * v).sum());
/// let config = CboConfig { particles: 1_000_000, ..CboConfig::default() };
/// let run = solve_on(&Particles::new(mpi.communicator()), &config, &sphere, &mut ())?;
/// println!("{}", run.best().value); // the same on all ranks
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Mpi {
    _universe: Universe,
}

impl Mpi {
    /// Starts it. Its functions are called by one thread at a time, not always by the same.
    pub fn start() -> Result<Self, MpiError> {
        let started = mpi::initialize_with_threading(Threading::Serialized);
        let Some((universe, threading)) = started else { return Err(MpiError("MPI was started before".into())) };
        if threading < Threading::Serialized {
            let message = format!("this MPI library has threads of level {threading:?} only, and serialized is needed");
            return Err(MpiError(message));
        }
        Ok(Self { _universe: universe })
    }

    /// All ranks of the program.
    pub fn communicator(&self) -> Arc<dyn Communicator> {
        let world = SimpleCommunicator::world();
        let (rank, size) = (world.rank() as usize, world.size() as usize);
        Arc::new(World { rank, size, arrived: Mutex::default() })
    }

    /// Ends the program on all ranks at once.
    pub fn abort(code: i32) -> ! {
        SimpleCommunicator::world().abort(code)
    }
}

impl Drop for Mpi {
    fn drop(&mut self) {
        if std::thread::panicking() {
            Self::abort(1);
        }
    }
}

/// All ranks.
#[derive(Debug)]
struct World {
    rank: usize,
    size: usize,
    /// Messages to be polled that arrived while this rank was posting one.
    arrived: Mutex<VecDeque<(usize, Vec<u8>)>>,
}

/// The bytes of a message that has arrived.
fn bytes_of((message, status): (Message, Status)) -> (usize, Vec<u8>) {
    let (bytes, _) = (message, status).matched_receive_vec::<u8>();
    (status.source_rank() as usize, bytes)
}

/// The pieces of a message; the last is shorter than the others.
fn pieces(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let last = bytes.len().is_multiple_of(PIECE).then_some(&[][..]);
    bytes.chunks(PIECE).chain(last)
}

impl World {
    /// The rest of a message of which this is the first piece.
    fn complete(from: usize, tag: i32, mut bytes: Vec<u8>) -> Vec<u8> {
        let mut last = bytes.len();
        while last == PIECE {
            let rest = SimpleCommunicator::world().process_at_rank(from as i32).matched_probe_with_tag(tag);
            let (_, rest) = bytes_of(rest);
            last = rest.len();
            bytes.extend(rest);
        }
        bytes
    }

    /// A message to be polled, if MPI has one.
    fn probe() -> Option<(usize, Vec<u8>)> {
        let arrived = SimpleCommunicator::world().any_process().immediate_matched_probe_with_tag(POLLED)?;
        let (from, bytes) = bytes_of(arrived);
        Some((from, Self::complete(from, POLLED, bytes)))
    }

    fn arrived(&self) -> MutexGuard<'_, VecDeque<(usize, Vec<u8>)>> {
        self.arrived.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Communicator for World {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.size
    }

    fn send(&self, to: usize, bytes: &[u8]) {
        let world = SimpleCommunicator::world();
        pieces(bytes).for_each(|piece| world.process_at_rank(to as i32).send_with_tag(piece, WAITED));
    }

    fn receive(&self, from: usize) -> Vec<u8> {
        let arrived = SimpleCommunicator::world().process_at_rank(from as i32).matched_probe_with_tag(WAITED);
        Self::complete(from, WAITED, bytes_of(arrived).1)
    }

    fn swap(&self, to: usize, bytes: &[u8], from: usize) -> Vec<u8> {
        let world = SimpleCommunicator::world();
        let mut sent = pieces(bytes);
        let first = sent.next().unwrap_or(&[]);
        let received = mpi::request::scope(|scope| {
            let sending = world.process_at_rank(to as i32).immediate_send_with_tag(scope, first, WAITED);
            let arrived = bytes_of(world.process_at_rank(from as i32).matched_probe_with_tag(WAITED));
            sending.wait();
            arrived.1
        });
        // What is longer follows, piece by piece.
        let mut received = received;
        let mut last = received.len();
        for piece in sent {
            mpi::request::scope(|scope| {
                let sending = world.process_at_rank(to as i32).immediate_send_with_tag(scope, piece, WAITED);
                if last == PIECE {
                    let rest = bytes_of(world.process_at_rank(from as i32).matched_probe_with_tag(WAITED)).1;
                    last = rest.len();
                    received.extend(rest);
                }
                sending.wait();
            });
        }
        if last == PIECE { Self::complete(from, WAITED, received) } else { received }
    }

    fn broadcast(&self, bytes: &mut [u8]) {
        let world = SimpleCommunicator::world();
        bytes.chunks_mut(PIECE).for_each(|piece| world.process_at_rank(0).broadcast_into(piece));
    }

    fn post(&self, to: usize, bytes: &[u8]) {
        let world = SimpleCommunicator::world();
        for piece in pieces(bytes) {
            mpi::request::scope(|scope| {
                let mut sending = world.process_at_rank(to as i32).immediate_send_with_tag(scope, piece, POLLED);
                // A long message waits until it is received. Two ranks that post to each other take in what comes meanwhile.
                while let Err(unfinished) = sending.test() {
                    sending = unfinished;
                    self.arrived().extend(Self::probe());
                }
            });
        }
    }

    fn poll(&self) -> Option<(usize, Vec<u8>)> {
        let earlier = self.arrived().pop_front();
        earlier.or_else(Self::probe)
    }
}
