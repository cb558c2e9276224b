#!/usr/bin/env python3
"""Methods of this package and solvers of others in one table: SciPy, pycma and CBXpy, as far as they are installed."""

from importlib.util import find_spec

import cbo
import numpy as np


def scipy_de(fun, bounds, budget, seed):
    from scipy.optimize import differential_evolution

    differential_evolution(fun, bounds, maxiter=budget, seed=seed, polish=False)


def pycma(fun, bounds, budget, seed, x0s):
    import cma

    low, high = np.transpose(bounds)
    options = {"bounds": [list(low), list(high)], "maxfevals": budget, "seed": seed + 1, "verbose": -9, "verb_log": 0}
    cma.fmin2(fun, x0s[0], (high - low).min() / 4, options, restarts=9, bipop=True)


def cbxpy(fun, bounds, budget, seed, x0s):
    from cbx.dynamics import CBO

    np.random.seed(seed)
    swarm = x0s[None, :50].copy()
    CBO(fun, f_dim="3D", x=swarm, max_it=budget, term_criteria=[], verbosity=0, check_f_dims=False).optimize()


SOLVERS = {"scipy": scipy_de, "cma": pycma, "cbx": cbxpy}


def main():
    methods = ["auto", "cbo", "pso", "de", *(solver for package, solver in SOLVERS.items() if find_spec(package))]
    found = cbo.compare(
        "rastrigin, ackley", methods, dim=3, shift="random", rotate="random", runs=5, max_evaluations=6000, particles=50
    )
    print(found)
    auto = [row for row in found.table if row["method"] == "auto"]
    assert len(found.table) == 2 * len(methods)
    assert all(row["successes"] >= 4 for row in auto), auto


if __name__ == "__main__":
    main()
