"""Trials of `cbo minimize` with random settings: never a crash, and the same bits on any threads and instruction set."""

import json
import math

import settings
from trial import Failure, expect

# What may differ between equal runs.
TIMES = ("seconds", "threads", "instruction_set")


def result(output):
    """The JSON of a run, apart from what may differ."""
    found = json.loads(output.stdout)
    return {key: value for key, value in found.items() if key not in TIMES}


def random_settings(trial):
    """A run is repeated with other threads and on other instruction sets, and its best point is evaluated again."""
    random = trial.random
    function = random.choice(settings.functions(trial))
    dim = settings.dimension(random, function)
    problem = ["minimize", *settings.problem(random, function, dim)]
    box = settings.box(random, function, dim)
    outputs, files = settings.outputs(random, dim)
    words = [*problem, *box, *settings.method(random, dim)]
    first = expect(trial.run([*words, *outputs, "--json", "--quiet", "--threads", random.randint(0, 5)]), 0, 1, 2)
    if first.code == 2:
        trial.counts["settings refused"] += 1
        return
    if first.code == 1:
        check_reason(first)
        return
    found = result(first)
    trial.counts["evaluations"] += found["evaluations"]
    if not isinstance(found["value"], float) or not math.isfinite(found["value"]) or len(found["x"]) != dim:
        raise Failure(f"no result: {first.stdout[:600]}")
    for name in files:
        if (trial.place / name).stat().st_size == 0:
            raise Failure(f"{name} is empty")
    if found["stop"] != "seconds":
        repeat(trial, words, found)
    evaluate_again(trial, problem, found)


def check_reason(output):
    """A run without a result says that there was nothing to find."""
    said = output.stderr.decode()
    if not any(words in said for words in ("finite", "failed", "NaN")):
        raise Failure(f"exit code 1 for no reason that a function can give: {said}")


def repeat(trial, words, found):
    """The same run on other threads, without its pictures, on another instruction set."""
    env = {"CBO_SIMD": trial.random.choice(["portable", "avx2", "avx512"])}
    again = expect(trial.run([*words, "--json", "--quiet", "--threads", trial.random.randint(1, 5)], env=env), 0, 2)
    if again.code == 2:
        if "CBO_SIMD" not in again.stderr.decode():
            raise Failure(f"refused the second time: {again.stderr.decode()}")
        return  # a set that this machine lacks
    if result(again) != found:
        raise Failure(f"another result with {env}: {again.stdout.decode()} instead of {found}")


def evaluate_again(trial, problem, found):
    """A swarm of one particle that stays where it is."""
    (trial.place / "best.csv").write_text(",".join(map(repr, found["x"])) + "\n", encoding="utf-8")
    words = [*problem, "--bounds", "off", "--method", "cbo", "--init", "file:best.csv", "--steps", 0, "--json", "--quiet"]
    again = result(expect(trial.run(words), 0))
    if again["value"] != found["value"]:
        raise Failure(f"{found['value']} at the best point, but {again['value']} when it is evaluated again")
