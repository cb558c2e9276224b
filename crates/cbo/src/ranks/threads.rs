//! Ranks that are threads of one process: for tests, and for simulations of many.

use super::Communicator;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// Messages on their way: from whom, to whom, and whether it is one to be polled.
type Way = (usize, usize, bool);

#[derive(Debug, Default)]
struct Post {
    letters: Mutex<Letters>,
    arrived: Condvar,
}

#[derive(Debug, Default)]
struct Letters {
    under_way: HashMap<Way, VecDeque<Vec<u8>>>,
    /// Whether a rank has panicked: the others must not wait for it.
    broken: bool,
    /// Bytes sent by each rank.
    sent: HashMap<usize, u64>,
}

/// One of several ranks in this process.
#[derive(Debug)]
pub struct InThreads {
    rank: usize,
    size: usize,
    post: Arc<Post>,
}

/// Does `work` once for each of `size` ranks, at the same time, and returns what they return, in their order.
///
/// # Panics
/// If one of them panics.
pub fn in_threads<R: Send>(size: usize, work: impl Fn(Arc<InThreads>) -> R + Sync) -> Vec<R> {
    let post = Arc::new(Post::default());
    std::thread::scope(|scope| {
        let (post, work) = (&post, &work);
        let ranks: Vec<_> = (0..size)
            .map(|rank| {
                scope.spawn(move || {
                    let guard = InThreads { rank, size, post: post.clone() };
                    work(Arc::new(InThreads { rank: guard.rank, size, post: post.clone() }))
                })
            })
            .collect();
        ranks.into_iter().map(|rank| rank.join().unwrap_or_else(|fault| std::panic::resume_unwind(fault))).collect()
    })
}

impl InThreads {
    /// Bytes that this rank has sent.
    pub fn sent(&self) -> u64 {
        self.letters().sent.get(&self.rank).copied().unwrap_or(0)
    }

    fn letters(&self) -> MutexGuard<'_, Letters> {
        self.post.letters.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn put(&self, to: usize, polled: bool, bytes: &[u8]) {
        let mut letters = self.letters();
        *letters.sent.entry(self.rank).or_default() += bytes.len() as u64;
        letters.under_way.entry((self.rank, to, polled)).or_default().push_back(bytes.to_vec());
        self.post.arrived.notify_all();
    }
}

impl Drop for InThreads {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.letters().broken = true;
            self.post.arrived.notify_all();
        }
    }
}

impl Communicator for InThreads {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.size
    }

    fn send(&self, to: usize, bytes: &[u8]) {
        self.put(to, false, bytes);
    }

    fn receive(&self, from: usize) -> Vec<u8> {
        let mut letters = self.letters();
        loop {
            if let Some(bytes) = letters.under_way.get_mut(&(from, self.rank, false)).and_then(VecDeque::pop_front) {
                return bytes;
            }
            assert!(!letters.broken, "another rank panicked");
            letters = self.post.arrived.wait(letters).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn swap(&self, to: usize, bytes: &[u8], from: usize) -> Vec<u8> {
        self.send(to, bytes);
        self.receive(from)
    }

    fn broadcast(&self, bytes: &mut [u8]) {
        match self.rank {
            0 => (1..self.size).for_each(|to| self.send(to, bytes)),
            _ => bytes.copy_from_slice(&self.receive(0)),
        }
    }

    fn post(&self, to: usize, bytes: &[u8]) {
        self.put(to, true, bytes);
    }

    fn poll(&self) -> Option<(usize, Vec<u8>)> {
        let mut letters = self.letters();
        assert!(!letters.broken, "another rank panicked");
        (0..self.size).find_map(|from| {
            let bytes = letters.under_way.get_mut(&(from, self.rank, true)).and_then(VecDeque::pop_front)?;
            Some((from, bytes))
        })
    }
}
