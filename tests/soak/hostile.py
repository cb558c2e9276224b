"""Programs that misbehave: the run survives them, blames the right points, and leaves no process behind."""

import json
import re
import signal

import runs
from trial import Failure, expect

FAULTS = [
    "nan", "minus-inf", "error", "garbage", "binary", "endless", "other-id", "exits", "crashes", "closes", "forks", "inf",
]
HARMLESS = ["twice", "flood", "late", "child", "pieces", "noise"]


def program(trial, modes, timeout):
    """A plan with a worker that does all this at some of its points."""
    more = ["--retries", trial.random.choice([0, 0, 1, 2])]
    if timeout:
        more += ["--timeout", timeout]
    plan = runs.of_program(trial, sleep=0, more=more)
    rate = trial.random.choice([0.05, 0.2, 0.5])
    env = {"SOAK_MODES": ",".join(modes), "SOAK_RATE": str(rate), "SOAK_FOLDER": str(trial.place / "run")}
    return plan._replace(env={**plan.env, **env})


def hostile(trial):
    """All faults are alike: the run is that of a program which says `nan` at the same points."""
    modes = trial.random.sample(FAULTS + HARMLESS, trial.random.randint(1, 6))
    plan = program(trial, modes, 60 if trial.chance(0.5) else None)
    meek = trial.place / "meek"
    first = runs.start(trial, plan._replace(env={**plan.env, "SOAK_MEEK": "1"}), meek).end()
    expect(first, 0, 1)
    folder = trial.place / "run"
    if trial.chance(0.3):
        process = runs.start(trial, plan, folder)
        trial.pause(1.0)
        process.send(signal.SIGKILL)
        process.end()
        trial.counts["kills"] += 1
    second = expect(runs.start(trial, plan, folder).end(), 0, 1)
    if second.code == 1 and first.code == 0 and is_given_up(second, folder, meek):
        # As the message advises: the program is mended, and the run goes on.
        mended = plan._replace(env={**plan.env, "SOAK_MEEK": "1"})
        second = expect(runs.start(trial, mended, folder, ["--retry-failed"]).end(), 0, 1)
        trial.counts["programs given up"] += 1
    if second.code != first.code:
        raise Failure(f"exit code {second.code} instead of {first.code}: {second.stderr.decode()[:600]}")
    if first.code == 0:
        runs.check_same(trial, folder, runs.finished(trial, meek))
    count_faults(trial, folder)
    runs.glance(trial, trial.place, folder)


def is_given_up(output, folder, meek):
    """Whether the run rightly took its program for broken: but for one, all points of a step failed. `nan` is no such failure."""
    found = re.search(r"error: (\d+) of (\d+) evaluations of the step failed", output.stderr.decode())
    if not found:
        return False
    failed, points = map(int, found.groups())
    faults = {point for point, status, _ in runs.rows(folder) if status not in ("ok", "infeasible", "no-value")}
    without = {point for point, status, _ in runs.rows(meek) if status == "no-value"}
    return 5 <= failed <= len(faults) and failed >= points - 1 and faults <= without


def count_faults(trial, folder):
    trial.counts["faults of programs"] += sum(status not in ("ok", "infeasible") for _, status, _ in runs.rows(folder))


def hanging(trial):
    """Programs that hang are ended after their time, or with the run. A slow machine may end others too."""
    if trial.chance(0.5):
        plan = program(trial, ["hangs", *trial.random.sample(HARMLESS, 2)], 1)
        # Each takes a second, and a run has hundreds of points.
        plan.env["SOAK_RATE"] = "0.03"
        expect(runs.start(trial, plan, trial.place / "run").end(), 0, 1)
        count_faults(trial, trial.place / "run")
        return
    plan = program(trial, ["hangs"], None)
    process = runs.start(trial, plan, trial.place / "run")
    trial.pause(1.5)
    number = trial.random.choice([signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
    for _ in range(20):
        process.send(number)
        if process.wait(0.7):
            break
    output = process.end()
    if output.code != 0:
        expect(output, -number, 128 + number, 1)
        trial.counts["kills" if number == signal.SIGKILL else "signals"] += 1


def vandals(trial):
    """Programs that destroy the folder of their run, or change themselves: an error at worst, never a crash."""
    modes = trial.random.choice([["vandal"], ["itself"], ["vandal", "itself", "crashes"]])
    plan = program(trial, modes, None)
    plan.env["SOAK_RATE"] = trial.random.choice(["0.02", "0.1"])
    folder = trial.place / "run"
    output = expect(runs.start(trial, plan, folder).end(), 0, 1, 2)
    if output.code == 0:
        json.loads(output.stdout)
    runs.glance(trial, trial.place, folder)
    # It may change itself in the first run, or not before it is resumed.
    for _ in range(2):
        changed = "# " in (trial.place / "worker.py").read_text(encoding="utf-8").splitlines()[-1]
        again = expect(trial.run(["resume", folder, "--quiet", "--max-evaluations", "+20"], env=plan.env), 0, 1, 2)
        refused = again.code == 2 and "changed" in again.stderr.decode()
        if modes == ["itself"] and refused != changed:
            found = "not noticed" if changed else "said of one that did not"
            raise Failure(f"a program that changed itself is {found}: {again.code} {again.stderr.decode()[:600]}")
    expect(trial.run(["resume", folder, "--quiet", "--force", "--max-evaluations", "+20"], env=plan.env), 0, 1, 2)
    trial.counts["vandals"] += 1
