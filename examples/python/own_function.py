#!/usr/bin/env python3
"""A benchmark function of your own, shifted and rotated, and how often its minimum is found."""

import numpy as np

import cbo

SHIFT = 1.25


def ripples(x):
    """A bowl with ripples: sum x_k^2 + |sin(pi x_k)|, with its minimiser moved."""
    z = x - SHIFT
    return np.sum(z**2 + np.abs(np.sin(np.pi * z)), axis=1)


class Rotated:
    """A function turned about a point, so that its valleys do not lie along the axes."""

    def __init__(self, fun, centre, seed):
        self.fun, self.centre = fun, centre
        dim = len(centre)
        self.matrix = np.linalg.qr(np.random.default_rng(seed).normal(size=(dim, dim)))[0]

    def __call__(self, x):
        return self.fun((x - self.centre) @ self.matrix + self.centre)


def main():
    minimiser = np.full(8, SHIFT)
    bounds = [(-4, 4)] * 8
    result = cbo.minimize(ripples, bounds, vectorized=True, seed=0)
    print(f"{result.fun:.3e} at {result.x}")
    assert np.abs(result.x - minimiser).max() < 1e-3

    rotated = Rotated(ripples, minimiser, seed=3)
    for name, fun, settings in [
        ("as it is", ripples, {}),
        ("rotated", rotated, {}),
        ("rotated, ess:0.02", rotated, {"alpha": "ess:0.02"}),
    ]:
        rate = cbo.success_rate(
            fun, bounds, minimisers=minimiser, runs=10, vectorized=True, steps=300, **settings
        )
        print(f"{name:<18} {rate}")
        if fun is ripples:
            assert rate.rate == 1


if __name__ == "__main__":
    main()
