"""Damaged files: refused with a message, or repaired from what is left; never a crash, and never a wrong result."""

import signal

import runs
from trial import expect

CHECKPOINTS = {"checkpoint.cbo", "checkpoint.previous.cbo"}


def damaged(trial):
    """A run, finished or killed, in which files are changed at random."""
    plan = runs.random_plan(trial)
    whole, seconds = runs.undisturbed(trial, plan)
    folder = trial.place / "run"
    process = runs.start(trial, plan, folder, ["--checkpoint-every", "0"])
    if trial.chance(0.7):
        process.wait(trial.random.uniform(0.1, 1.0) * seconds)
        process.send(signal.SIGKILL)
        trial.counts["kills"] += 1
    process.end()
    if not (folder / "config.toml").is_file():
        return
    files = sorted(path for path in folder.iterdir() if path.is_file())
    only_checkpoints = trial.chance(0.5)
    if only_checkpoints:
        files = [path for path in files if path.name in CHECKPOINTS]
    for path in trial.random.sample(files, min(len(files), trial.random.randint(1, 3))):
        trial.note(f"  {path.name}: {damage(trial.random, path)}")
        trial.counts["files damaged"] += 1
    for _ in range(3):
        runs.glance(trial, trial.place, folder)
    output = expect(trial.run(["resume", folder, "--json"], env=plan.env), 0, 1, 2)
    if output.code != 0:
        output = expect(trial.run(["resume", folder, "--json", "--force"], env=plan.env), 0, 1, 2)
    # What has no checksum (settings, the store) may be changed without a trace.
    if output.code == 0 and only_checkpoints:
        runs.check_same(trial, folder, whole)


def damage(random, path):
    """Changes a file; says how."""
    contents = bytearray(path.read_bytes())
    size = len(contents)
    ways = {"removed": lambda: path.unlink(), "emptied": lambda: path.write_bytes(b"")}
    if size:
        start = random.randrange(size)
        ways |= {
            "cut": lambda: path.write_bytes(contents[:start]),
            "bits": lambda: path.write_bytes(flipped(random, contents)),
            "zeros": lambda: path.write_bytes(contents[:start] + bytes(min(500, size - start)) + contents[start + 500:]),
            "more": lambda: path.write_bytes(contents + random.randbytes(random.randint(1, 5000))),
            "noise": lambda: path.write_bytes(random.randbytes(size)),
            "twice": lambda: path.write_bytes(contents + contents),
        }
    name = random.choice(sorted(ways))
    ways[name]()
    return name


def flipped(random, contents):
    for _ in range(random.choice([1, 1, 2, 8, 50])):
        contents[random.randrange(len(contents))] ^= 1 << random.randrange(8)
    return contents
