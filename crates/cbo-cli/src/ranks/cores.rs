//! How many threads a rank has: the cores that it may run on, shared with the other ranks that may run there.

use cbo::ranks::{Communicator, tell_all};
use serde::{Deserialize, Serialize};
use std::sync::OnceLock;

/// What this rank has, once all have said where they may run.
static SHARE: OnceLock<Share> = OnceLock::new();

/// The part of its machine that a rank has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Share {
    pub threads: usize,
    /// Ranks on this machine, and how many of them come before this one.
    pub neighbours: usize,
    pub place: usize,
}

/// Where a rank may run.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Cores {
    /// Which machine that is.
    machine: String,
    /// Which of its cores launcher and system allow.
    allowed: Vec<usize>,
    /// How many threads that is, if less time is given than there are cores.
    parallel: usize,
    /// What Slurm was asked for.
    wanted: Option<usize>,
}

impl Cores {
    /// Those of this rank.
    fn own() -> Self {
        let parallel = std::thread::available_parallelism().map_or(1, |n| n.get());
        let read = |path: &str| std::fs::read_to_string(path).ok();
        // The same for all containers of a machine, which share its cores.
        let machine = read("/proc/sys/kernel/random/boot_id").or_else(|| read("/etc/hostname")).unwrap_or_default();
        let listed = read("/proc/self/status").and_then(|status| {
            let line = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
            list(line.trim())
        });
        let wanted = std::env::var("SLURM_CPUS_PER_TASK").ok().and_then(|text| text.trim().parse().ok());
        Self { machine, allowed: listed.unwrap_or_else(|| (0..parallel).collect()), parallel, wanted }
    }
}

/// Numbers as the kernel lists them: `0-3,8`.
fn list(text: &str) -> Option<Vec<usize>> {
    let mut numbers = Vec::new();
    for range in text.split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        numbers.extend(first.parse::<usize>().ok()?..=last.parse::<usize>().ok()?);
    }
    Some(numbers)
}

/// The share of one of the ranks: of each core that it may run on, as much as of the other ranks that may.
fn share(all: &[Cores], rank: usize) -> Share {
    let own = &all[rank];
    let neighbours: Vec<&Cores> = all.iter().filter(|other| other.machine == own.machine).collect();
    let sharing = |core: &usize| neighbours.iter().filter(|other| other.allowed.contains(core)).count().max(1);
    let cores: f64 = own.allowed.iter().map(|core| 1.0 / sharing(core) as f64).sum();
    // Thirds may add up to a little less than one.
    let mut threads = (cores + 1e-6) as usize;
    if own.parallel < own.allowed.len() {
        threads = threads.min(own.parallel / neighbours.len());
    }
    let threads = own.wanted.map_or(threads, |wanted| threads.min(wanted)).max(1);
    let place = all[..rank].iter().filter(|other| other.machine == own.machine).count();
    Share { threads, neighbours: neighbours.len(), place }
}

/// Finds out what this rank has; to be called by all of them.
pub(super) fn settle(ranks: &dyn Communicator) {
    // Words and numbers are always JSON, and all ranks run the same program.
    let own = serde_json::to_vec(&Cores::own()).unwrap_or_default();
    if ranks.rank() > 0 {
        ranks.send(0, &own);
    }
    let all = match ranks.rank() {
        0 => std::iter::once(own).chain((1..ranks.size()).map(|rank| ranks.receive(rank))).collect(),
        _ => Vec::new(),
    };
    let all = tell_all(ranks, [b"[", &all.join(&b","[..])[..], b"]"].concat());
    if let Ok(all) = serde_json::from_slice::<Vec<Cores>>(&all)
        && all.len() == ranks.size()
    {
        let _ = SHARE.set(share(&all, ranks.rank()));
    }
}

/// What this rank has, if it is one of several.
pub(super) fn own() -> Option<Share> {
    SHARE.get().copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn on(machine: &str, allowed: &str) -> Cores {
        let allowed = list(allowed).expect("a list");
        Cores { machine: machine.into(), parallel: allowed.len(), allowed, wanted: None }
    }

    fn threads(all: &[Cores]) -> Vec<usize> {
        (0..all.len()).map(|rank| share(all, rank).threads).collect()
    }

    #[test]
    fn lists_of_the_kernel_are_read() {
        assert_eq!(list("0-3,8,10-11"), Some(vec![0, 1, 2, 3, 8, 10, 11]));
        assert_eq!((list("5"), list(""), list("a-b")), (Some(vec![5]), None, None));
        assert!(!Cores::own().allowed.is_empty());
    }

    #[test]
    fn cores_are_shared_by_those_who_may_use_them_and_by_nobody_else() {
        // Bound to cores of their own, as by srun or `mpirun --map-by socket:PE=16`: they have all of them.
        assert_eq!(threads(&[on("a", "0-15"), on("a", "16-31"), on("b", "0-15")]), [16, 16, 16]);
        // Not bound: as many for each.
        assert_eq!(threads(&[on("a", "0-31"), on("a", "0-31"), on("b", "0-31")]), [16, 16, 32]);
        // Bound to a socket, two ranks on one and three on the other.
        let (left, right) = (on("a", "0-8"), on("a", "9-17"));
        let all = [left.clone(), left, right.clone(), right.clone(), right];
        assert_eq!(threads(&all), [4, 4, 3, 3, 3]);
        assert_eq!((share(&all, 0).neighbours, share(&all, 3).place), (5, 3));
        let apart = [on("a", "0"), on("b", "0"), on("a", "1"), on("b", "1"), on("c", "0")];
        assert_eq!([0, 1, 2, 3, 4].map(|rank| share(&apart, rank).place), [0, 0, 1, 1, 0]);
        // More ranks than cores.
        assert_eq!(threads(&vec![on("a", "0-1"); 5]), [1; 5]);
    }

    #[test]
    fn what_slurm_was_asked_for_and_what_the_system_gives_is_the_most() {
        let wanting = |cores: &str, wanted| Cores { wanted: Some(wanted), ..on("a", cores) };
        assert_eq!(threads(&[wanting("0-63", 16), wanting("0-63", 16)]), [16, 16]);
        // Not more than there are, and never none.
        assert_eq!(threads(&[wanting("0-3", 16), wanting("0-3", 0)]), [2, 1]);
        // A container with the time of six of its sixteen cores.
        let limited = Cores { parallel: 6, ..on("a", "0-15") };
        assert_eq!(threads(&[limited.clone(), limited.clone()]), [3, 3]);
    }
}
