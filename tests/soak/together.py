"""Several processes in one folder at once: one has it, the others are refused, and nothing is lost."""

import signal

import runs
from trial import Failure, expect


def together(trial):
    """Several begin the same run; one is killed; several resume it."""
    plan = runs.random_plan(trial)
    whole, seconds = runs.undisturbed(trial, plan)
    folder = trial.place / "run"
    count = trial.random.randint(2, 4)
    begun = [trial.start([*plan.words, "--out", folder, "--quiet", "--json"], env=plan.env) for _ in range(count)]
    for _ in range(trial.random.randint(0, 3)):
        runs.glance(trial, trial.place, folder)
    victim = begun[0]
    if trial.chance(0.5):
        victim.wait(trial.random.uniform(0, seconds))
        victim.send(signal.SIGKILL)
        trial.counts["kills"] += 1
    codes = [ended(process).code for process in begun]
    if codes.count(0) > 1:
        raise Failure(f"several have begun the same run: {codes}")
    if (folder / "config.toml").is_file():
        resumed = [trial.start(["resume", folder, "--quiet", "--json"], env=plan.env) for _ in range(count)]
        codes = [ended(process).code for process in resumed]
        if 0 not in codes:
            raise Failure(f"none has resumed the run: {codes}")
    else:
        expect(runs.start(trial, plan, folder).end(), 0)
    runs.check_same(trial, folder, whole)
    trial.counts["processes refused"] += codes.count(2)


def ended(process):
    """A process that had the folder, was refused it, or was killed."""
    output = expect(process.end(), 0, 2, -signal.SIGKILL)
    said = output.stderr.decode()
    if output.code == 2 and not any(words in said for words in ("in use", "already holds a run")):
        raise Failure(f"refused for another reason: {said}")
    return output
