#!/usr/bin/env python3
"""What solvers need for themselves: microseconds of the processor per evaluation, without the time of the function.

    python3 benches/own_time.py                          # auto and pycma in 5, 20, 40 and 100 dimensions
    python3 benches/own_time.py --solvers auto,pycma-lq --dims 5,20 --evaluations 2000

The solvers are those of bbob.py, with the same packages. On the rugged function no model of auto holds; the ellipsoid (condition number
10^6, reflected so that coordinates act together) and Rosenbrock's function are smooth, so that it fits a model for most evaluations,
of which it needs far fewer. Each cell is the best of three runs.
"""

from __future__ import annotations

import argparse
import math
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
    """An objective that adds up its own time, and ends the run."""

    def __init__(self, f: Objective, budget: int) -> None:
        self.f, self.budget, self.evaluations, self.seconds = f, budget, 0, 0.0

    def __call__(self, x: Any) -> float:
        start = time.process_time()
        if self.evaluations == self.budget:
            raise Over
        self.evaluations += 1
        value = self.f(x)
        self.seconds += time.process_time() - start
        return value


def own_time(solver: str, dim: int, evaluations: int, function: Objective) -> float:
    """Seconds per evaluation."""
    f = Timed(function, evaluations)
    start = time.process_time()
    try:
        for seed in range(1, 10_000):
            if f.evaluations == evaluations:
                break
            SOLVERS[solver].run(f, dim, evaluations - f.evaluations, seed)
    except Over:
        pass
    return (time.process_time() - start - f.seconds) / f.evaluations


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dims", type=numbers, default=[5, 20, 40, 100])
    parser.add_argument("--solvers", type=names, default=["auto", "pycma"])
    parser.add_argument("--evaluations", type=int, default=10_000)
    args = parser.parse_args()
    print("| function | | " + " | ".join(f"d = {dim}" for dim in args.dims) + " |")
    print("|---" * (2 + len(args.dims)) + "|")
    for name, function in FUNCTIONS.items():
        for solver in args.solvers:
            best = [
                min(own_time(solver, dim, args.evaluations, function(dim)) for _ in range(RUNS)) for dim in args.dims
            ]
            cells = " | ".join(f"{1e6 * seconds:.3g}" for seconds in best)
            print(f"| {name} | {SOLVERS[solver].title} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
