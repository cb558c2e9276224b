"""One trial: its folder, its random numbers, the programs that it starts, and what must hold for all of them."""

import collections
import os
import pathlib
import random
import shlex
import signal
import subprocess
import tempfile
import time

# Nothing that a trial starts takes this long, unless the machine is so busy with other things that it is hardly given any time.
PATIENCE = 300.0

# Nothing that a trial starts computes for so many seconds.
ENOUGH = 150.0

# Signals by which a program dies of its own fault.
FATAL = {signal.SIGSEGV, signal.SIGABRT, signal.SIGILL, signal.SIGBUS, signal.SIGFPE}

# The variable that marks every process of a trial, however it was started.
MARK = "CBO_SOAK"


class Failure(Exception):
    """What should not have happened."""


class Skipped(Exception):
    """This machine does not allow what the trial needs."""


Output = collections.namedtuple("Output", "words code stdout stderr")


class Process:
    """A running program, its output in files of the trial."""

    def __init__(self, trial, words, env, before, stdout):
        self.words = [str(word) for word in words]
        trial.commands += 1
        self.files = [trial.place / f"command-{trial.commands}.{name}" for name in ("out", "err")]
        settings = [f"{name}={shlex.quote(value)}" for name, value in env.items()]
        trial.note(" ".join([*settings, shlex.join([*before, "cbo", *self.words])]))
        with open(stdout or self.files[0], "wb") as out, open(self.files[1], "wb") as err:
            self.child = subprocess.Popen(
                [*before, trial.cbo, *self.words],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                cwd=trial.place,
                start_new_session=True,  # Ctrl-C ends the soak, not what it tries
                env={**os.environ, MARK: trial.token, **env},
            )
        self.trial = trial

    def send(self, number):
        """Sends a signal, unless the program has ended."""
        self.trial.note(f"  {signal.Signals(number).name}")
        self.child.send_signal(number)

    def wait(self, seconds):
        """Whether it ends within these seconds."""
        try:
            self.child.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def computed(self):
        """Seconds that it and those that it has waited for have computed; 0 where the system does not say."""
        try:
            fields = pathlib.Path(f"/proc/{self.child.pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return 0.0
        return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")

    def end(self):
        """Its output, once it has ended; that alone must be in order."""
        begun, computed = time.monotonic(), 0.0
        while not self.wait(PATIENCE):
            before, computed = computed, self.computed()
            # One that goes on slowly is not one that hangs, nor one that never comes to an end.
            if before + 1.0 < computed < ENOUGH:
                continue
            self.child.kill()
            self.child.wait()
            seconds = f"{time.monotonic() - begun:.0f} s, of which it computed {computed:.0f} s"
            raise Failure(f"has not ended after {seconds}: {shlex.join(self.words)}")
        stdout = self.files[0].read_bytes() if self.files[0].exists() else b""
        output = Output(self.words, self.child.returncode, stdout, self.files[1].read_bytes())
        self.trial.note(f"  exit code {output.code}")
        check_end(output)
        return output


def check_end(output):
    """No program of ours may panic, crash, or write to stderr what a terminal would obey."""
    said = output.stderr.decode("utf-8", "replace")
    if output.code == 101 or "panicked" in said or -output.code in FATAL:
        raise Failure(f"exit code {output.code}: {said}")
    check_text(output.stderr)


def check_text(data):
    """What is for people is text, without anything that moves a cursor."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Failure(f"bytes that are no text: {data[:300]}") from error
    if any((ord(c) < 32 and c != "\n") or 127 <= ord(c) < 160 for c in text):
        raise Failure(f"control characters: {text[:300]!r}")


def expect(output, *codes):
    """One of these exit codes; failures of the program have a message."""
    said = output.stderr.decode()
    if output.code not in codes:
        raise Failure(f"exit code {output.code}, not one of {codes}: {shlex.join(output.words)}: {said[:600]}")
    if output.code in (1, 2) and not any(line.startswith("error: ") for line in said.splitlines()):
        raise Failure(f"exit code {output.code} without a message: {shlex.join(output.words)}: {said[:600]}")
    return output


class Trial:
    """Everything random comes from the seed and the number, so that a trial can be repeated alone."""

    def __init__(self, kind, number, seed, cbo):
        self.kind = kind
        self.cbo = cbo
        self.random = random.Random(f"{seed}/{number}/{kind}")
        self.token = f"soak-{os.getpid()}-{number}"
        self.place = pathlib.Path(tempfile.mkdtemp(prefix=f"cbo-soak-{number}-"))
        self.counts = collections.Counter()
        self.commands = 0

    def note(self, text):
        """Keeps what was done, for whoever looks into a failure."""
        with open(self.place / "commands.txt", "a", encoding="utf-8") as file:
            file.write(f"{text}\n")

    def start(self, words, env=None, before=(), stdout=None):
        return Process(self, words, env or {}, list(before), stdout)

    def run(self, words, **more):
        return self.start(words, **more).end()

    def chance(self, probability):
        return self.random.random() < probability

    def pause(self, most):
        """Waits for a random time; short ones are as likely as long ones, because much happens at the begin."""
        time.sleep(most * self.random.random() ** 2)


def processes(token):
    """The processes that a trial has started and that still run."""
    found = []
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if f"{MARK}={token}".encode() in (folder / "environ").read_bytes().split(b"\0"):
                found.append((int(folder.name), (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()))
        except (OSError, UnicodeDecodeError):
            pass  # it has ended, or is another user's
    return found


def check_gone(token):
    """All processes of a trial must be gone; those that are not are ended here."""
    begin = time.monotonic()
    while left := processes(token):
        if time.monotonic() > begin + 30:
            for pid, _ in left:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            raise Failure(f"processes are left behind: {left}")
        time.sleep(0.02)
