//! One run on several ranks: `mpirun -n 4 cbo minimize ...`. The first rank does what a program alone does, the others follow.

mod assignment;
mod cores;
mod follow;
mod keeping;
mod spread;

pub use assignment::{Assignment, Kind};
pub use follow::follow;
pub use keeping::{Keeping, lead};
pub use spread::Spread;

use crate::Command;
use crate::error::CliError;
use crate::minimize::task::{Subject, Task};
use cbo::device::block_rows;
use cbo::ranks::farm::Schedule;
use cbo::ranks::{Communicator, Disagreement, Particles, agree_on, tell_all};
use cbo::{CboConfig, Plan};
use sha2::{Digest, Sha256};
use std::ffi::OsString;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

/// The ranks that this program was started with.
static WORLD: OnceLock<Arc<dyn Communicator>> = OnceLock::new();

/// Whether the other ranks wait to be told what to do.
static WAITING: AtomicBool = AtomicBool::new(false);

/// MPI, until the program ends.
pub struct Session {
    #[cfg(feature = "mpi")]
    _mpi: Option<cbo_mpi::Mpi>,
}

impl Session {
    /// Waits for the others: what this rank says is said before any of them ends.
    pub fn end(self) {}
}

/// How many ranks a launcher says that there are: Open MPI, MPICH and its relatives, Slurm.
fn launched() -> Option<usize> {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<usize>().ok());
    let of_slurm = || number("PMIX_RANK").and_then(|_| number("SLURM_STEP_NUM_TASKS"));
    number("OMPI_COMM_WORLD_SIZE").or_else(|| number("PMI_SIZE")).or_else(of_slurm)
}

/// So many threads; if one per core is asked for, and there are other ranks, those cores that this one has for itself.
pub fn own_threads(threads: usize) -> usize {
    cores::own().filter(|_| threads == 0).map_or(threads, |own| own.threads)
}

/// A plan with [such threads](own_threads).
pub fn with_own_threads(plan: &Plan) -> Plan {
    let config = plan.config();
    let own = CboConfig { threads: own_threads(config.threads), ..config.clone() };
    own.check(plan.dim()).unwrap_or_else(|_| plan.clone())
}

/// Joins the other ranks, if this program was started as one of several.
pub fn join() -> Result<Session, CliError> {
    #[cfg(feature = "mpi")]
    {
        if launched().is_none() {
            return Ok(Session { _mpi: None });
        }
        let mpi = cbo_mpi::Mpi::start().map_err(|e| CliError::failed(&e))?;
        let ranks = mpi.communicator();
        if ranks.size() > 1 {
            WAITING.store(ranks.rank() == 0, Ordering::Relaxed);
            let _ = WORLD.set(ranks);
        }
        Ok(Session { _mpi: Some(mpi) })
    }
    #[cfg(not(feature = "mpi"))]
    match launched() {
        Some(all) if all > 1 => Err(CliError::Usage(format!(
            "{all} ranks were started, and this cbo is built without MPI, so that each would do everything alone; build it \
             with `make mpi`, which makes target/mpi/release/cbo"
        ))),
        _ => Ok(Session {}),
    }
}

/// The ranks, if there are several.
pub fn several() -> Option<&'static Arc<dyn Communicator>> {
    WORLD.get()
}

/// Whether this is the first rank, or the only one: it alone speaks. Before ranks have joined, a launcher says so.
pub fn is_first() -> bool {
    let launched_first = || {
        let ranks = ["OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"];
        ranks.iter().find_map(|name| std::env::var(name).ok()).is_none_or(|rank| rank == "0")
    };
    several().map_or_else(launched_first, |ranks| ranks.rank() == 0)
}

/// Which part of the particles of a run is on this machine.
pub fn part_here() -> f64 {
    match (several(), cores::own()) {
        (Some(ranks), Some(own)) => own.neighbours as f64 / ranks.size() as f64,
        _ => 1.0,
    }
}

/// Which place this rank has among those of its machine, from 0.
pub fn place_here() -> usize {
    cores::own().map_or(0, |own| own.place)
}

/// What must be the same on all ranks: the program and its arguments.
fn facts(arguments: &[OsString]) -> Vec<(String, String)> {
    let program = std::env::current_exe().and_then(std::fs::read).unwrap_or_default();
    let line: Vec<String> = arguments.iter().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    let digest: String = Sha256::digest(program).iter().map(|byte| format!("{byte:02x}")).collect();
    vec![("program".into(), digest), ("command line".into(), line.join("\u{1f}"))]
}

/// Makes sure that all ranks were started in the same way; `fault` is why this one cannot begin. To be called by the first rank.
pub fn agree(arguments: &[OsString], fault: Option<&CliError>) -> Result<(), CliError> {
    let Some(ranks) = several() else { return Ok(()) };
    let mine = if fault.is_some() { Err(String::new()) } else { Ok(facts(arguments)) };
    agree_on(ranks, mine).map_err(|disagreement| {
        WAITING.store(false, Ordering::Relaxed);
        refused(disagreement)
    })?;
    cores::settle(&**ranks);
    Ok(())
}

fn refused(disagreement: Disagreement) -> CliError {
    CliError::Usage(disagreement.to_string())
}

/// Refuses commands that each rank would do alone.
pub fn check(command: &Command) -> Result<(), CliError> {
    match command {
        _ if several().is_none() => Ok(()),
        Command::Minimize(_) | Command::Resume(_) | Command::Scaling(_) => Ok(()),
        Command::Mnist(args) if args.trains() => Ok(()),
        _ => {
            let can = "`cbo minimize`, `cbo resume`, `cbo mnist train` and `cbo scaling`";
            Err(CliError::Usage(format!("only {can} work on several ranks; start this command without mpirun")))
        }
    }
}

/// How a task is spread over the ranks, or why it cannot be.
pub fn kind_of(task: &Task, schedule: Option<Schedule>) -> Result<Kind, CliError> {
    if let Subject::Command(_) = task.subject {
        return Ok(Kind::Program);
    }
    if schedule == Some(Schedule::Dynamic) {
        return Ok(Kind::Points);
    }
    particles_of(&task.plan, task.is_constrained())
}

fn particles_of(plan: &Plan, constrained: bool) -> Result<Kind, CliError> {
    Particles::check(plan, constrained).map(|()| Kind::Particles).map_err(|e| {
        let remedy = format!("{}; --schedule dynamic spreads its evaluations instead", e.remedy);
        CliError::setting(e.field, &e.value, remedy)
    })
}

/// Blocks of a step that there must be for each rank, so that nobody waits long for one that has a block more.
const BLOCKS: usize = 4;

/// The same for a training. Few particles are evaluated sooner one by one, by whoever is free.
pub fn kind_of_training(plan: &Plan, schedule: Option<Schedule>) -> Result<Kind, CliError> {
    let config = plan.config();
    let blocks = config.batch.unwrap_or(config.particles).div_ceil(block_rows(plan.dim()));
    let enough = blocks >= BLOCKS * several().map_or(1, |ranks| ranks.size());
    match schedule {
        Some(Schedule::Dynamic) => Ok(Kind::Points),
        Some(Schedule::Static) => particles_of(plan, false),
        None if enough => Ok(particles_of(plan, false).unwrap_or(Kind::Points)),
        None => Ok(Kind::Points),
    }
}

/// Tells the other ranks what to do, and waits until they are ready. `facts` must be the same on all of them.
fn tell(assignment: &Assignment, facts: Vec<(String, String)>) -> Result<(), CliError> {
    let Some(ranks) = several() else { return Ok(()) };
    WAITING.store(false, Ordering::Relaxed);
    tell_all(&**ranks, assignment.to_bytes());
    agree_on(ranks, Ok(facts)).map_err(refused)
}

/// What the other ranks are told that are to measure; the seconds follow.
const MEASURE: &[u8] = b"measure";

/// Tells the other ranks to take part in [measurements](crate::scaling) of so many seconds each.
pub fn lead_measurement(seconds: f64) {
    if let Some(ranks) = several() {
        WAITING.store(false, Ordering::Relaxed);
        tell_all(&**ranks, [MEASURE, &seconds.to_le_bytes()].concat());
    }
}

/// Lets the other ranks go, if they still wait to be told what to do.
pub fn dismiss() {
    if let (Some(ranks), true) = (several(), WAITING.swap(false, Ordering::Relaxed)) {
        tell_all(&**ranks, Vec::new());
    }
}
