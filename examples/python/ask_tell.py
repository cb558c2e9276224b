#!/usr/bin/env python3
"""A loop of your own: ask for points, tell their values, save the run and continue in another program."""

import tempfile
from pathlib import Path

import numpy as np

import cbo


def measure(x):
    """Stands for an experiment in a laboratory; it fails at some points."""
    return np.nan if x[0] > 4.5 else float(np.sum((x - [1.0, 2.0]) ** 2))


def steps(optimizer, count):
    for _ in range(count):
        if optimizer.done:
            return
        points = optimizer.ask()
        # In any order and in pieces: the step ends when all values are there.
        for x in points[::-1]:
            optimizer.tell(x, measure(x))


def main():
    settings = dict(bounds=[(-5, 5), (-5, 5)], particles=50, steps=200, seed=0)
    whole = cbo.Optimizer(**settings)
    steps(whole, 1000)

    first = cbo.Optimizer(**settings)
    steps(first, 30)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.cbo"
        first.save(path)
        second = cbo.Optimizer.load(path)
    steps(second, 1000)

    result = second.result()
    print(f"{result.fun:.3e} at {result.x}, {result.failed_evaluations} evaluations failed")
    assert result.fun < 1e-6 and result.failed_evaluations > 0
    # Saving has changed nothing, not one bit.
    assert np.array_equal(result.x, whole.result().x)


if __name__ == "__main__":
    main()
