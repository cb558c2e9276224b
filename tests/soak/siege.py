"""Runs that are killed, interrupted, cut short and extended: they must end as if nothing had happened."""

import json
import signal
import time

import runs
from trial import Failure, expect

SIGNALS = [signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP]
MOST_LIVES = 10

# More seconds than a trial has: with it a limit of seconds is no limit.
ENDLESS = "+100000"


def killed(trial):
    """A run that is killed in each of several lives, and resumed with other threads and other checkpoints."""
    plan = runs.random_plan(trial)
    whole, seconds = runs.undisturbed(trial, plan)
    folder = trial.place / "run"
    for _ in range(trial.random.randint(1, MOST_LIVES)):
        if live(trial, plan, folder, seconds):
            break
    else:
        expect(runs.start(trial, plan, folder, changes(trial, plan)).end(), 0)
    runs.check_same(trial, folder, whole)
    if plan.program:
        check_points(trial, folder)


def changes(trial, plan):
    """What may differ from life to life without a difference in the result."""
    random = trial.random
    words = ["--threads", random.randint(1, 4), "--checkpoint-every", random.choice(["0", "0.01", "1"])]
    swarm = "--method" in plan.words  # the rounds of auto have the size of its workers
    if plan.program and swarm and random.random() < 0.5:
        words += ["--workers", random.randint(1, 4)]
    return words


def live(trial, plan, folder, seconds):
    """One life; whether the run came to its end."""
    kept = runs.points(folder) if plan.program else set()
    read = len(runs.logged(plan)) if plan.program else 0
    process = runs.start(trial, plan, folder, changes(trial, plan))
    trial.pause(min(0.8 * seconds, 3.0))
    if trial.chance(0.3):
        runs.glance(trial, trial.place, folder)
    number = trial.random.choice(SIGNALS)
    process.send(number)
    if number != signal.SIGKILL and trial.chance(0.2):
        # A signal right after the first is taken for its echo; a later one ends the program at once.
        time.sleep(trial.random.uniform(0, 0.6))
        process.send(number)
    output = process.end()
    if plan.program:
        again = kept.intersection(runs.logged(plan)[read:])
        if again:
            raise Failure(f"points that the store had were evaluated again: {sorted(again)[:3]}")
    if output.code == 0:
        return True
    check_signal(output, number)
    trial.counts["kills" if number == signal.SIGKILL else "signals"] += 1
    return False


def check_signal(output, number):
    """A program that has not set its handlers yet dies of the signal; later it ends by itself, with what it has."""
    expect(output, -number, 128 + number)
    if output.code > 0 and output.stdout:
        json.loads(output.stdout)


def check_points(trial, folder):
    """All points of the undisturbed run, and hardly any others: a run may evaluate its consensus point where it is stopped."""
    found, expected = runs.points(folder), runs.points(trial.place / "undisturbed")
    stops = trial.counts["signals"] + trial.counts["cuts"]
    if not expected <= found or len(found - expected) > stops:
        raise Failure(f"{len(expected - found)} points are not in the store, and {len(found - expected)} too many are")


def cut_short(trial):
    """A run that stops again and again at its limit of seconds, and is given more."""
    plan = runs.random_plan(trial)
    whole, seconds = runs.undisturbed(trial, plan._replace(words=[*plan.words, "--max-seconds", 1000]))
    folder = trial.place / "run"
    for _ in range(trial.random.randint(1, 6)):
        more = trial.random.uniform(0, min(0.5 * seconds, 1.0))
        begun = (folder / "config.toml").is_file()
        limit = ["--max-seconds", f"{'+' if begun else ''}{more:.6f}"]
        output = runs.start(trial, plan, folder, [*limit, *changes(trial, plan)]).end()
        # Too little time for a single evaluation is an error that says so.
        expect(output, 0, 1)
        if output.code == 0 and json.loads(output.stdout)["stop"] != "seconds":
            break
        trial.counts["cuts"] += 1
    limit = ["--max-seconds", ENDLESS if (folder / "config.toml").is_file() else "1000"]
    expect(runs.start(trial, plan, folder, limit).end(), 0)
    runs.check_same(trial, folder, whole)
    if plan.program:
        check_points(trial, folder)


def extended(trial):
    """A run that reached a smaller limit, or a target, and is continued without it."""
    plan = runs.random_plan(trial)
    whole, _ = runs.undisturbed(trial, plan)
    folder = trial.place / "run"
    trial.counts["cuts"] += 1
    if trial.chance(0.5):
        extend_limit(trial, plan, folder)
        if "--method" not in plan.words:
            return  # auto plans with its budget, and may go another way if it gets the rest later
    else:
        forget_target(trial, plan, folder, whole)
    runs.check_same(trial, folder, whole)


def extend_limit(trial, plan, folder):
    """Fewer steps or evaluations first, then the rest."""
    flag = "--steps" if "--steps" in plan.words else "--max-evaluations"
    place = plan.words.index(flag) + 1
    most = plan.words[place]
    early = trial.random.randint(1, most)
    words = [*plan.words]
    words[place] = early
    expect(runs.start(trial, plan._replace(words=words), folder).end(), 0)
    expect(runs.start(trial, plan, folder, [flag, trial.random.choice([most, f"+{most - early}"])]).end(), 0, 2)
    expect(runs.start(trial, plan, folder, [flag, most]).end(), 0)


def forget_target(trial, plan, folder, whole):
    """A target that the run reaches somewhere, then none."""
    best = [float(line.split(",")[3]) for line in whole.history.splitlines()[1:]]
    words = [*plan.words, "--target", repr(trial.random.choice(best))]
    expect(runs.start(trial, plan._replace(words=words), folder, changes(trial, plan)).end(), 0)
    config = folder / "config.toml"
    lines = config.read_text(encoding="utf-8").splitlines(keepends=True)
    config.write_text("".join(line for line in lines if not line.startswith("target")), encoding="utf-8")
    expect(runs.start(trial, plan, folder).end(), 0)
