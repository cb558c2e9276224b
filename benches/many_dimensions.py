#!/usr/bin/env python3
"""The method auto beside pycma's forms for many dimensions, at equal evaluations.

auto is the command `cbo` (in the PATH, or given by --cbo); the others need `pip install cma`. All start uniformly in the function's
domain with a step of a fifth of its width, have no bounds, and start again until their evaluations are spent (pycma: BIPOP). Rotated
functions are turned by a random orthogonal matrix, which is not the same one for auto and for pycma.

    python3 benches/many_dimensions.py --dims 100 --evaluations 100000
    python3 benches/many_dimensions.py --dims 1000 --evaluations 100000 --solvers auto,vkd --functions rosenbrock
    python3 benches/many_dimensions.py --dims 100,1000 --seeds 3 --jobs 8 --out FILE   # eight runs at a time, kept in FILE
    python3 benches/many_dimensions.py --dims 100,1000 --seeds 3 --out FILE --tables   # runs nothing

FILE has one line for each run, as JSON; what is there is not run again. Delete it when a solver has changed. In the end there is a table
of the best values, each the median of the seeds.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import statistics
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import NamedTuple

# Solvers are compared on one core; NumPy reads this when it is imported.
os.environ.update({"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"})

import numpy as np

# Half of the domain's width, and the settings of the command.
FUNCTIONS = {
    "rastrigin": (5.12, ["--amplitude", "10"]),
    "ellipsoid": (5.0, ["--condition", "1e6"]),
    "rosenbrock": (5.0, []),
}


class Spent(Exception):
    """All evaluations are spent."""


def function(name: str, dim: int) -> Callable[[np.ndarray], float]:
    """The functions of `cbo list`."""
    if name == "rastrigin":
        return lambda x: float(np.sum(x * x + 10 * (1 - np.cos(2 * np.pi * x))))
    if name == "ellipsoid":
        scales = 1e6 ** (np.arange(dim) / (dim - 1))
        return lambda x: float(scales @ (x * x))
    return lambda x: float(np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2))


def auto(command: str, name: str, dim: int, rotated: bool, budget: int, seed: int) -> float:
    half, settings = FUNCTIONS[name]
    call = [command, "minimize", name, "--dim", str(dim), "--max-evaluations", str(budget), "--seed", str(seed)]
    call += ["--threads", "1", "--init", f"uniform:{-half},{half}", "--json", *settings]
    if rotated:
        call += ["--rotate", str(seed)]
    return json.loads(subprocess.run(call, check=True, capture_output=True, text=True).stdout)["value"]


def pycma(kind: str, name: str, dim: int, rotated: bool, budget: int, seed: int) -> float:
    import cma
    from cma.restricted_gaussian_sampler import GaussVkDSampler

    warnings.simplefilter("ignore")
    half, _ = FUNCTIONS[name]
    random = np.random.default_rng(seed)
    plain = function(name, dim)
    # Turned about its minimiser, as in the command.
    centre = np.ones(dim) if name == "rosenbrock" else np.zeros(dim)
    turn = np.linalg.qr(random.standard_normal((dim, dim)))[0] if rotated else None
    best, spent = float("inf"), 0

    def f(x: np.ndarray) -> float:
        nonlocal best, spent
        if spent == budget:
            raise Spent
        spent += 1
        value = plain(x if turn is None else centre + turn @ (x - centre))
        best = min(best, value)
        return value

    options = {"maxfevals": budget, "verbose": -9, "seed": seed}
    options = GaussVkDSampler.extend_cma_options(options) if kind == "vkd" else {**options, "CMA_diagonal": True}
    try:
        while spent < budget:
            cma.fmin2(f, lambda: random.uniform(-half, half, dim), 0.4 * half, options, restarts=9, bipop=True)
    except Spent:
        pass
    return best


class Case(NamedTuple):
    """A run to be made."""

    dim: int
    function: str
    form: str
    solver: str
    evaluations: int
    seed: int


def run(case: Case, command: str) -> dict[str, object]:
    """The run, its best value and its seconds."""
    begin = time.time()
    arguments = (case.function, case.dim, case.form == "rotated", case.evaluations, case.seed)
    value = auto(command, *arguments) if case.solver == "auto" else pycma(case.solver, *arguments)
    return {**case._asdict(), "value": value, "seconds": round(time.time() - begin, 1)}


def table(cases: list[Case], values: dict[Case, float]) -> None:
    """A row for each function, a column for each solver."""
    solvers = list(dict.fromkeys(case.solver for case in cases))
    print(f"| function | d | {' | '.join(solvers)} |")
    print("|---" * (2 + len(solvers)) + "|")
    for dim, function, form in dict.fromkeys(case[:3] for case in cases):
        found = [
            [values[case] for case in cases if case[:4] == (dim, function, form, solver) and case in values]
            for solver in solvers
        ]
        cells = [f"{statistics.median(column):.3g}" if column else "–" for column in found]
        name = function.capitalize() + (", rotated" if form == "rotated" else "")
        print(f"| {name} | {dim} | {' | '.join(cells)} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dims", default="100")
    parser.add_argument("--evaluations", type=int, default=100_000)
    parser.add_argument("--functions", default=",".join(FUNCTIONS))
    parser.add_argument("--solvers", default="auto,vkd,diagonal")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--forms", default="plain,rotated")
    parser.add_argument("--cbo", default="cbo", help="the command")
    parser.add_argument("--jobs", type=int, default=1, help="runs at a time")
    parser.add_argument("--out", type=Path, metavar="FILE", help="where runs are kept")
    parser.add_argument("--tables", action="store_true", help="run nothing, print the table of what is there")
    options = parser.parse_args()
    lists = [options.functions.split(","), options.forms.split(","), options.solvers.split(",")]
    combinations = itertools.product(map(int, options.dims.split(",")), *lists)
    seeds = range(1, options.seeds + 1)
    cases = [Case(*key, options.evaluations, seed) for key in combinations for seed in seeds]
    values: dict[Case, float] = {}
    if options.out and options.out.exists():
        for line in options.out.read_text().splitlines():
            # A line that was being written when the program was killed is not whole.
            if line.endswith("}"):
                kept = json.loads(line)
                values[Case(*(kept[field] for field in Case._fields))] = kept["value"]
    missing = [] if options.tables else [case for case in cases if case not in values]
    with ProcessPoolExecutor(options.jobs) as pool:
        for done in as_completed([pool.submit(run, case, options.cbo) for case in missing]):
            result = done.result()
            case = Case(*(result[field] for field in Case._fields))
            values[case] = result["value"]
            print(f"{case}: {result['value']:.3g} ({result['seconds']} s)", file=sys.stderr, flush=True)
            if options.out:
                with options.out.open("a") as file:
                    print(json.dumps(result), file=file)
    table(cases, values)


if __name__ == "__main__":
    main()
