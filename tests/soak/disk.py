"""Disks that are full: a message that says so, and the undisturbed result once there is room."""

import os
import pathlib
import shutil
import signal
import subprocess

import runs
from trial import MARK, Failure, Skipped, expect


class Disk:
    """A small file system in memory that only its own processes see. It is gone with the process that holds it."""

    def __init__(self, trial, kilobytes):
        self.place = trial.place / "disk"
        self.place.mkdir()
        mount = f"mount -t tmpfs -o size={kilobytes}k tmpfs {self.place} && echo ready && exec cat"
        if not shutil.which("unshare") or not shutil.which("nsenter"):
            raise Skipped("full disks: this system has no unshare and nsenter")
        self.holder = subprocess.Popen(
            ["unshare", "--map-root-user", "--mount", "sh", "-c", mount],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            env={**os.environ, MARK: trial.token},
        )
        if self.holder.stdout.readline() != b"ready\n":
            self.close()
            raise Skipped("full disks: this system mounts no file system for a test (unshare --map-root-user --mount)")
        self.before = ["nsenter", "--target", str(self.holder.pid), "--user", "--mount", "--preserve-credentials"]
        self.seen = pathlib.Path(f"/proc/{self.holder.pid}/root") / self.place.relative_to("/")

    def close(self):
        self.holder.stdin.close()
        self.holder.stdout.close()
        self.holder.wait()

    def fill(self, room):
        """Fills it, leaving this many kilobytes."""
        with open(self.seen / "ballast", "wb", buffering=0) as file:
            try:
                while file.write(bytes(4096)):
                    pass
            except OSError:
                pass
            file.truncate(max(0, file.tell() - 1024 * room))

    def make_room(self):
        (self.seen / "ballast").unlink()


def check_full(output):
    """A run that needs more room than there is says what to do."""
    expect(output, 0, 1, 2)
    if output.code != 0 and "make room" not in output.stderr.decode():
        raise Failure(f"nothing about a full disk: {output.stderr.decode()[:600]}")


def full_disk(trial):
    """A disk that is full again and again, at random places of the run."""
    plan = runs.random_plan(trial)
    whole, _ = runs.undisturbed(trial, plan)
    chatty = {**plan.env, "SOAK_MODES": "flood", "SOAK_RATE": "0.5"}  # what it writes to stderr fills the store
    plan = plan._replace(env=chatty, words=[*plan.words, *(["--command-folder", "/"] if plan.program else [])])
    disk = Disk(trial, 8192)
    try:
        folder, seen = disk.place / "run", disk.seen / "run"
        for _ in range(trial.random.randint(1, 4)):
            disk.fill(trial.random.choice([0, 4, 20, 60, 150, trial.random.randint(0, 600)]))
            output = run_on(trial, disk, plan, folder, seen, ["--checkpoint-every", "0"])
            check_full(output)
            trial.counts["full disks"] += output.code != 0
            disk.make_room()
        expect(run_on(trial, disk, plan, folder, seen, []), 0)
        found = runs.finished(trial, seen)
        if (found.result, found.history) != (whole.result, whole.history):
            raise Failure(f"another result: {found.result} instead of {whole.result}")
    finally:
        disk.close()


def run_on(trial, disk, plan, folder, seen, more):
    """Begins or resumes a run on the disk. Whether there is one cannot be asked of a path that only others see."""
    words = ["resume", folder] if (seen / "config.toml").is_file() else [*plan.words, "--out", folder]
    return trial.run([*words, "--quiet", "--json", *more], env=plan.env, before=disk.before)


def limited_files(trial):
    """Files that may not grow beyond a limit (`ulimit -f`): the system kills the program, or refuses to write."""
    plan = runs.random_plan(trial)
    plan.env.pop("SOAK_LOG", None)  # the limit would hold for it too
    whole, _ = runs.undisturbed(trial, plan)
    folder = trial.place / "run"
    ignore = trial.random.choice(["", "trap '' XFSZ; "])
    blocks = trial.random.choice([0, 1, 8, 40, trial.random.randint(0, 400)])
    before = ["sh", "-c", f'{ignore}ulimit -f {blocks}; exec "$@"', "sh"]
    # Its own words would be cut off too.
    process = runs.start(trial, plan, folder, ["--checkpoint-every", "0"], before=before, stdout="/dev/null")
    output = process.end()
    if output.code == -signal.SIGXFSZ:
        trial.counts["kills"] += 1
    elif output.code != 0 and output.stderr or output.code not in (0, 1, 2):
        expect(output, 1, 2)
    trial.counts["full disks"] += output.code != 0
    expect(runs.start(trial, plan, folder).end(), 0)
    runs.check_same(trial, folder, whole)


def full_device(trial):
    """Results and files that go to a device which is always full."""
    if not pathlib.Path("/dev/full").exists():
        raise Skipped("full devices: this system has no /dev/full")
    plan = runs.random_plan(trial)
    folder = trial.place / "run"
    if trial.chance(0.5):
        output = runs.start(trial, plan, folder, stdout="/dev/full").end()
    else:
        output = trial.run([*plan.words, "--quiet", "--history", "/dev/full", "--out", folder], env=plan.env)
    expect(output, 1)
    if "No space left" not in output.stderr.decode():
        raise Failure(f"nothing about a full device: {output.stderr.decode()[:600]}")
    trial.counts["full disks"] += 1
    whole, _ = runs.undisturbed(trial, plan)
    expect(runs.start(trial, plan, folder).end(), 0)
    runs.check_same(trial, folder, whole)
