#!/usr/bin/env python3
"""The method auto beside pycma's forms for many dimensions, at equal evaluations.

auto is the command `cbo` (in the PATH, or given by --cbo); the others need `pip install cma`. All start uniformly in the function's
domain with a step of a fifth of its width, have no bounds, and start again until their evaluations are spent (pycma: BIPOP). Rotated
functions are turned by a random orthogonal matrix, which is not the same one for auto and for pycma.

    python3 benches/many_dimensions.py --dims 100 --evaluations 100000
    python3 benches/many_dimensions.py --dims 1000 --evaluations 100000 --solvers auto,vkd --functions rosenbrock

Each line has the best values of all seeds, their median first, and the seconds of one run.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import time
import warnings
from collections.abc import Callable

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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dims", default="100")
    parser.add_argument("--evaluations", type=int, default=100_000)
    parser.add_argument("--functions", default=",".join(FUNCTIONS))
    parser.add_argument("--solvers", default="auto,vkd,diagonal")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--forms", default="plain,rotated")
    parser.add_argument("--cbo", default="cbo", help="the command")
    options = parser.parse_args()
    for dim in map(int, options.dims.split(",")):
        for name in options.functions.split(","):
            for form in options.forms.split(","):
                for solver in options.solvers.split(","):
                    begin, values = time.time(), []
                    for seed in range(1, options.seeds + 1):
                        arguments = (name, dim, form == "rotated", options.evaluations, seed)
                        values.append(auto(options.cbo, *arguments) if solver == "auto" else pycma(solver, *arguments))
                    seconds = (time.time() - begin) / options.seeds
                    values.sort()
                    shown = " ".join(f"{v:.3g}" for v in [statistics.median(values), *values])
                    print(f"{dim} {name} {form} {solver}: {shown} ({seconds:.1f} s)", flush=True)


if __name__ == "__main__":
    main()
