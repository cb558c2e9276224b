#!/usr/bin/env python3
"""What solvers need for themselves: microseconds of the processor per evaluation, without the time of the function.

    python3 benches/own_time.py                          # auto and pycma in 5, 20, 40 and 100 dimensions
    python3 benches/own_time.py --solvers auto,pycma-lq --dims 5,20 --evaluations 2000
    python3 benches/own_time.py --until 1e-8             # milliseconds until a smooth function is below this, and the evaluations

The solvers are those of bbob.py, with the same packages. On the rugged function no model of auto holds; the ellipsoid (condition number
10^6, reflected so that coordinates act together) and Rosenbrock's function are smooth, so that it fits a model for most evaluations,
of which it needs far fewer. Each cell is the best of three runs. With --until it is the median of three runs with other seeds, restarts included.
"""

from __future__ import annotations

import argparse
import math
import statistics
import time
from collections.abc import Callable
from typing import Any

from bbob import SOLVERS, Objective, Over, names, numbers

RUNS = 3


def rugged(dim: int) -> Objective:
    return lambda x: math.sin(1e3 * float(x[0]) * float(x[1]))


def ellipsoid(dim: int) -> Objective:
    import numpy as np

    scales = 1e6 ** (np.arange(dim) / (dim - 1))

    def value(x: Any) -> float:
        y = np.asarray(x) - 1
        y -= 2 * y.mean()
        return float(scales @ (y * y))

    return value


def rosenbrock(dim: int) -> Objective:
    import numpy as np

    def value(x: Any) -> float:
        x = np.asarray(x)
        bend = x[1:] - x[:-1] * x[:-1]
        return float(100 * bend @ bend + (1 - x[:-1]) @ (1 - x[:-1]))

    return value


FUNCTIONS: dict[str, Callable[[int], Objective]] = {"rugged": rugged, "ellipsoid": ellipsoid, "rosenbrock": rosenbrock}


class Timed:
    """An objective that adds up its own time, and ends the run: after so many evaluations, or below a value."""

    def __init__(self, f: Objective, budget: int, until: float = -math.inf) -> None:
        self.f, self.budget, self.until, self.least = f, budget, until, math.inf
        self.evaluations, self.seconds = 0, 0.0

    def __call__(self, x: Any) -> float:
        start = time.process_time()
        if self.evaluations == self.budget or self.least <= self.until:
            raise Over
        self.evaluations += 1
        value = self.f(x)
        self.least = min(self.least, value)
        self.seconds += time.process_time() - start
        return value


def own_seconds(solver: str, dim: int, f: Timed, first: int) -> float:
    """Seconds of a run, with restarts, up to its end."""
    start = time.process_time()
    try:
        for seed in range(first, first + 10_000):
            if f.evaluations == f.budget or f.least <= f.until:
                break
            SOLVERS[solver].run(f, dim, f.budget - f.evaluations, seed)
    except Over:
        pass
    return time.process_time() - start - f.seconds


def per_evaluation(solver: str, dim: int, evaluations: int, function: Objective) -> str:
    """Microseconds."""
    seconds = []
    for _ in range(RUNS):
        f = Timed(function, evaluations)
        seconds.append(own_seconds(solver, dim, f, 1) / f.evaluations)
    return f"{1e6 * min(seconds):.3g}"


def until_reached(solver: str, dim: int, until: float, function: Objective) -> str:
    """Milliseconds, and evaluations."""
    runs = [Timed(function, 100_000 * dim, until) for _ in range(RUNS)]
    times = [own_seconds(solver, dim, f, 20_000 * run) for run, f in enumerate(runs, 1)]
    missed = sum(f.least > until for f in runs)
    evaluations = statistics.median(f.evaluations for f in runs)
    return f"{1e3 * statistics.median(times):.3g} ({evaluations:.0f})" + (f", {missed} missed" if missed else "")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dims", type=numbers, default=[5, 20, 40, 100])
    parser.add_argument("--solvers", type=names, default=["auto", "pycma"])
    parser.add_argument("--evaluations", type=int, default=10_000)
    parser.add_argument("--until", type=float, help="measure until this value is reached")
    args = parser.parse_args()
    print("| function | | " + " | ".join(f"d = {dim}" for dim in args.dims) + " |")
    print("|---" * (2 + len(args.dims)) + "|")
    for name, function in FUNCTIONS.items():
        if args.until is not None and name == "rugged":
            continue
        for solver in args.solvers:
            cells = [
                per_evaluation(solver, dim, args.evaluations, function(dim))
                if args.until is None
                else until_reached(solver, dim, args.until, function(dim))
                for dim in args.dims
            ]
            print(f"| {name} | {SOLVERS[solver].title} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
