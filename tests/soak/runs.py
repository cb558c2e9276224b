"""Runs in folders: how they are begun and resumed, what they leave, and what can be seen of them meanwhile."""

import collections
import json
import pathlib
import shlex
import shutil
import sqlite3
import sys
import tempfile
import time

from trial import Failure, check_text, expect

PROTOCOLS = ("args", "json", "jsonl")

# Lines of config.toml that may differ between a run that was disturbed and one that was not.
FREE = ("threads", "workers", "timeout", "retries", "max-seconds")

# How a run is begun: the words after `cbo`, the environment of its program, and whether it has one.
Plan = collections.namedtuple("Plan", "words env program")

# What a run leaves, apart from what may differ.
Finished = collections.namedtuple("Finished", "result history config")


def of_function(trial):
    """A run of a second or so."""
    random = trial.random
    words = ["minimize", random.choice(["rastrigin", "ackley", "levy", "griewank", "salomon"])]
    words += ["--dim", random.randint(1, 8), "--seed", random.randrange(1000)]
    words += random.choice([[], ["--rotate", 3], ["--shift", "random"], ["--precision", "f32"]])
    swarm = ["--particles", random.choice([500, 3000, 6000]), "--steps", random.randint(50, 300)]
    words += random.choice([
        ["--max-evaluations", random.randint(2000, 20000)],
        ["--method", "cbo", *swarm],
        ["--method", "cbo", *swarm, "--alpha", "ess:0.1", "--reduction", "0.1,0.5"],
        ["--method", "cbo", *swarm, "--batch", 100, "--update", "partial", "--kick", 0.5],
        ["--method", "memory", *swarm],
        ["--method", "memory:beta=30", *swarm],
        ["--method", random.choice(["jumps", "adam", "mirror", "sphere"]), *swarm],
    ])
    return Plan(words, {}, False)


def of_program(trial, protocol=None, sleep=0.004, more=()):
    """A run of a worker, which is copied so that a trial may change it."""
    random = trial.random
    protocol = protocol or random.choice(PROTOCOLS)
    worker = trial.place / "worker.py"
    shutil.copy(pathlib.Path(__file__).with_name("worker.py"), worker)
    command = [sys.executable, "-S", "-E", str(worker), protocol]
    text = shlex.join(command) + (" {x}" if protocol == "args" else "")
    # Starting an interpreter takes far longer than an answer.
    most = 400 if protocol == "jsonl" else 90
    words = ["minimize", "--command", text, "--protocol", protocol, "--dim", random.randint(1, 5)]
    words += ["--bounds", "-5,5", "--seed", random.randrange(1000), "--workers", random.randint(1, 4), *more]
    particles = random.randint(3, 12)
    words += random.choice([
        ["--max-evaluations", random.randint(most // 3, most)],
        ["--method", "cbo", "--particles", particles, "--steps", most // particles],
        ["--method", "memory", "--particles", particles, "--steps", most // particles, "--precision", "f32"],
    ])
    env = {"SOAK_SLEEP": str(sleep), "SOAK_LOG": str(trial.place / "points.log")}
    return Plan(words, env, True)


def random_plan(trial):
    return of_program(trial) if trial.chance(0.6) else of_function(trial)


def start(trial, plan, folder, more=(), **how):
    """Begins the run, or resumes it where there is one already."""
    if (pathlib.Path(folder) / "config.toml").is_file():
        words = ["resume", folder]
    else:
        words = [*plan.words, "--out", folder]
    return trial.start([*words, "--quiet", "--json", *more], env=plan.env, **how)


def undisturbed(trial, plan):
    """What the run leaves if nothing happens to it, and how long it takes."""
    folder = trial.place / "undisturbed"
    begin = time.monotonic()
    expect(start(trial, plan, folder).end(), 0)
    return finished(trial, folder), time.monotonic() - begin


def finished(trial, folder):
    result = json.loads((folder / "result.json").read_text(encoding="utf-8"))
    trial.counts["evaluations"] += result["evaluations"]
    for key in ("seconds", "threads"):
        del result[key]
    lines = (folder / "config.toml").read_text(encoding="utf-8").splitlines()
    config = [line for line in lines if line.split(" = ")[0] not in FREE]
    return Finished(result, (folder / "history.csv").read_text(encoding="utf-8"), config)


def check_same(trial, folder, whole):
    """A run that was disturbed must end as if it had not been."""
    run = finished(trial, folder)
    for name in Finished._fields:
        if getattr(run, name) != getattr(whole, name):
            raise Failure(f"another {name}: {getattr(run, name)} instead of {getattr(whole, name)}"[:3000])
    left = [path.name for path in folder.iterdir() if path.name.endswith(".tmp")]
    if left:
        raise Failure(f"left behind: {left}")


def rows(folder):
    """The evaluations that the store has: point, status, attempt. From a copy, so that the run finds what it left."""
    with tempfile.TemporaryDirectory(prefix="cbo-soak-store-") as place:
        for name in ("evaluations.sqlite", "evaluations.sqlite-wal"):
            if (folder / name).exists():
                shutil.copy(folder / name, place)
        file = pathlib.Path(place) / "evaluations.sqlite"
        if not file.exists() or file.stat().st_size == 0:
            return []
        store = sqlite3.connect(file)
        try:
            return store.execute("SELECT point, status, attempt FROM evaluations").fetchall()
        except sqlite3.OperationalError as error:
            if "no such table" in str(error):
                return []  # killed before it was made
            raise
        finally:
            store.close()


def points(folder):
    """Points in the store that need no other evaluation, each of them once."""
    kept = [bits(json.loads(point)) for point, status, _ in rows(folder) if status in ("ok", "infeasible")]
    if len(set(kept)) != len(kept):
        raise Failure("the store has a point twice")
    return set(kept)


def logged(plan):
    """Points that the worker was given, in order; lines that a kill has cut off are left out."""
    log = pathlib.Path(plan.env["SOAK_LOG"])
    lines = log.read_text(encoding="utf-8").split("\n")[:-1] if log.exists() else []
    return [bits(json.loads(line)) for line in lines if line.endswith("]")]


def bits(x):
    """A point as text that tells 0.0 from -0.0."""
    return repr([float(v) for v in x])


def glance(trial, place, folder):
    """Looks at the runs, as a user would meanwhile. A folder may not be a run yet."""
    words = trial.random.choice([
        ["list", place, "--json"], ["list", place], ["show", folder, "--json"], ["show", folder],
        ["export", folder, "--format", "json"], ["export", folder], ["compare", folder, "--json"],
    ])
    output = expect(trial.run(["runs", *words]), 0, 2)
    if output.code == 0 and words[-1] in ("json", "--json"):
        json.loads(output.stdout)
    elif words[0] != "export":
        check_text(output.stdout)
    trial.counts["looks at runs"] += 1
