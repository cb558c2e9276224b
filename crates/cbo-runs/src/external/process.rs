//! A process in its own process group, of which nothing is left when it is ended.
//!
//! A group of its own keeps Ctrl-C in a terminal away from it, and lets its children be ended with it. It is reaped only
//! after its group was killed, because the group's number may be reused as soon as the process is reaped.

use std::io::{self, ErrorKind, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

use super::Program;
use super::guard::Guard;
use super::poll::{Bell, Until, never_block, wait};

/// How often to check whether a process has ended, where the system does not say.
const LOOK: Duration = Duration::from_millis(20);

/// How often [`kill_all`] was called. Whoever starts a process holds it until the group is in the list.
static KILLS: RwLock<u64> = RwLock::new(0);

/// The groups of all processes that have not been reaped.
static GROUPS: Mutex<Vec<libc::pid_t>> = Mutex::new(Vec::new());

/// Ends every worker of this process and all its children at once, from any thread. Evaluations underway return
/// [`Stopped`](super::ExternalError::Stopped); workers that are started later are not affected.
pub fn kill_all() {
    let mut kills = KILLS.write().unwrap_or_else(PoisonError::into_inner);
    *kills += 1;
    GROUPS.lock().unwrap_or_else(PoisonError::into_inner).iter().for_each(|group| kill_group(*group));
}

fn kill_group(group: libc::pid_t) {
    // SAFETY: sends a signal, touches no memory. The group is ours: its first process has not been reaped.
    unsafe { libc::kill(-group, libc::SIGKILL) };
}

/// Permission to start processes until [`kill_all`] is called.
#[derive(Clone, Copy, Debug)]
pub(super) struct Licence(u64);

impl Licence {
    pub(super) fn new() -> Self {
        Self(*KILLS.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn is_valid(self) -> bool {
        *KILLS.read().unwrap_or_else(PoisonError::into_inner) == self.0
    }
}

/// Why a process was not started.
#[derive(Debug)]
pub(super) enum StartError {
    /// The licence is not valid any more.
    Ended,
    /// The system refused; why.
    Refused(String),
}

/// Which streams of a process are ready, and what else ended the wait.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ready {
    pub(super) bell: bool,
    pub(super) stdin: bool,
    pub(super) stdout: bool,
    pub(super) stderr: bool,
    pub(super) exited: bool,
}

/// A running process. Dropping it ends it.
#[derive(Debug)]
pub(super) struct Process {
    child: Child,
    group: libc::pid_t,
    /// Becomes readable when the process ends; not on all systems.
    exit: Option<OwnedFd>,
    pub(super) stdin: Option<ChildStdin>,
    pub(super) stdout: Option<ChildStdout>,
    pub(super) stderr: Option<ChildStderr>,
    guard: Arc<Guard>,
    killed: bool,
}

impl Process {
    /// Starts a program for the point `x`. The thread that does so must live as long as the process, which ends with it.
    pub(super) fn start(
        program: &Program,
        x: &[f64],
        worker: usize,
        has_input: bool,
        licence: Licence,
        guard: &Arc<Guard>,
    ) -> Result<Self, StartError> {
        let words = program.words_at(x);
        let mut command = Command::new(&words[0]);
        if let Some(folder) = program.folder() {
            command.current_dir(folder);
        }
        command.args(&words[1..]).env("CBO_WORKER", (program.first_worker() + worker).to_string()).process_group(0);
        // A program that uses MPI itself must not take itself for a rank of ours.
        for (name, _) in std::env::vars_os().filter(|(name, _)| is_of_a_launcher(&name.to_string_lossy())) {
            command.env_remove(name);
        }
        command.stdin(if has_input { Stdio::piped() } else { Stdio::null() });
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        end_with_parent(&mut command);

        let kills = KILLS.read().unwrap_or_else(PoisonError::into_inner);
        if *kills != licence.0 {
            return Err(StartError::Ended);
        }
        let mut child = command.spawn().map_err(|e| StartError::Refused(explain(&e, &words[0])))?;
        let group = child.id() as libc::pid_t;
        GROUPS.lock().unwrap_or_else(PoisonError::into_inner).push(group);
        drop(kills);
        guard.watch(group);

        let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let process = Self {
            child,
            group,
            exit: exit_watch(group),
            stdin,
            stdout,
            stderr,
            guard: Arc::clone(guard),
            killed: false,
        };
        process.never_block().map_err(|e| StartError::Refused(format!("its pipes cannot be set up: {e}")))?;
        Ok(process)
    }

    fn never_block(&self) -> io::Result<()> {
        self.stdin.as_ref().map_or(Ok(()), never_block)?;
        self.stdout.as_ref().map_or(Ok(()), never_block)?;
        self.stderr.as_ref().map_or(Ok(()), never_block)
    }

    /// Waits until there is something to do: to read, to write if that is wanted, or to clean up. A stdin that the process
    /// has closed is always ready.
    pub(super) fn wait(&self, bell: &Bell, writes: bool, time: Option<Duration>) -> Ready {
        fn stream(stream: &Option<impl AsFd>, until: Until) -> Option<(BorrowedFd<'_>, Until)> {
            stream.as_ref().map(|s| (s.as_fd(), until))
        }
        let time = if self.exit.is_some() { time } else { Some(time.map_or(LOOK, |t| t.min(LOOK))) };
        let streams = [
            Some((bell.stream(), Until::Readable)),
            stream(&self.stdin, if writes { Until::Writable } else { Until::Closed }),
            stream(&self.stdout, Until::Readable),
            stream(&self.stderr, Until::Readable),
            stream(&self.exit, Until::Readable),
        ];
        let [bell, stdin, stdout, stderr, exited] = wait(streams, time);
        Ready { bell, stdin, stdout, stderr, exited: exited || (self.exit.is_none() && self.has_exited()) }
    }

    /// Writes what there is room for, and takes it out of `bytes`; false if the process no longer reads.
    pub(super) fn write(&mut self, bytes: &mut Vec<u8>) -> bool {
        if bytes.is_empty() {
            return true;
        }
        let Some(stdin) = &mut self.stdin else { return false };
        let mut written = 0;
        let open = loop {
            match stdin.write(&bytes[written..]) {
                Ok(n) => written += n,
                Err(e) if e.kind() == ErrorKind::Interrupted => (),
                Err(e) => break e.kind() == ErrorKind::WouldBlock,
            }
            if written == bytes.len() {
                break true;
            }
        };
        bytes.drain(..written);
        open
    }

    /// Whether it runs and reads its stdin.
    pub(super) fn is_alive(&self) -> bool {
        let stdin = self.stdin.as_ref().map(|s| (s.as_fd(), Until::Closed));
        !self.has_exited() && !wait([stdin], Some(Duration::ZERO))[0]
    }

    /// Whether it has ended, which does not reap it.
    fn has_exited(&self) -> bool {
        // SAFETY: all zeros are a siginfo_t.
        let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
        let how = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
        // SAFETY: `info` is valid for the call, which fills it; the process is a child that has not been reaped.
        let done = unsafe { libc::waitid(libc::P_PID, self.group as libc::id_t, &mut info, how) };
        // SAFETY: waitid fills in this field, and leaves it zero if the process runs.
        done == 0 && unsafe { info.si_pid() } != 0
    }

    /// Gives it some time to end by itself; whether it did.
    pub(super) fn ends_within(&self, time: Duration) -> bool {
        let until = Instant::now() + time;
        loop {
            if self.has_exited() {
                return true;
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            let exit = self.exit.as_ref().map(|e| (e.as_fd(), Until::Readable));
            wait([exit], Some(if self.exit.is_some() { left } else { left.min(Duration::from_millis(1)) }));
        }
    }

    /// Ends it with all its children and says how it ended.
    pub(super) fn end(&mut self) -> Option<ExitStatus> {
        if !self.killed {
            kill_group(self.group);
            GROUPS.lock().unwrap_or_else(PoisonError::into_inner).retain(|group| *group != self.group);
            self.guard.forget(self.group);
            self.killed = true;
        }
        self.child.wait().ok()
    }

    /// Kills it with all its children, so that none writes any more. How it ended is not changed if it already had.
    pub(super) fn kill(&self) {
        kill_group(self.group);
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.end();
    }
}

/// How a process ended, in words.
pub(super) fn describe(status: Option<ExitStatus>) -> String {
    match status.map(|s| (s.code(), s.signal())) {
        Some((Some(0), _)) => "exit code 0 without an answer".into(),
        Some((Some(code), _)) => format!("exit code {code}"),
        Some((None, Some(signal))) => format!("signal {signal}"),
        _ => "ended in an unknown way".into(),
    }
}

/// Why a program could not be started, with the reason behind the system's words.
fn explain(error: &io::Error, program: &str) -> String {
    let hint = match error.raw_os_error() {
        Some(libc::E2BIG) => "; the point has too many coordinates for arguments, use protocol json",
        Some(libc::ENOENT) if Path::new(program).exists() => {
            "; the interpreter that its first line names, or its loader, is missing"
        }
        _ => "",
    };
    format!("{program}: {error}{hint}")
}

/// Lets the process be killed when the thread that starts it ends, so that it also ends if this program is killed.
#[cfg(target_os = "linux")]
fn end_with_parent(command: &mut Command) {
    let parent = std::process::id();
    let set_up = move || {
        // SAFETY: both calls are safe after a fork, and touch no memory.
        let (done, now) = unsafe { (libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL), libc::getppid()) };
        if done != 0 {
            return Err(io::Error::last_os_error());
        }
        // The parent may have ended before this was set.
        if now as u32 == parent { Ok(()) } else { Err(io::Error::from_raw_os_error(libc::ESRCH)) }
    };
    // SAFETY: the closure allocates nothing and takes no locks.
    unsafe { command.pre_exec(set_up) };
}

#[cfg(not(target_os = "linux"))]
fn end_with_parent(_: &mut Command) {}

/// A descriptor that becomes readable when a process ends.
#[cfg(target_os = "linux")]
fn exit_watch(pid: libc::pid_t) -> Option<OwnedFd> {
    use std::os::fd::FromRawFd;
    // SAFETY: the call takes two numbers and gives a new descriptor or -1. Old systems do not know it.
    let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) };
    // SAFETY: the descriptor is new and nobody else's.
    (fd >= 0).then(|| unsafe { OwnedFd::from_raw_fd(fd as i32) })
}

#[cfg(not(target_os = "linux"))]
fn exit_watch(_: libc::pid_t) -> Option<OwnedFd> {
    None
}

/// Whether a launcher of MPI programs tells its ranks who they are by this variable.
fn is_of_a_launcher(name: &str) -> bool {
    ["OMPI_", "PMIX_", "PMI_"].iter().any(|prefix| name.starts_with(prefix))
}
