"""Figure 1b's anisotropic run in plain NumPy, to compare the distribution of its mean decay rate over seeds.

    python3 decay_numpy.py DIM PARTICLES SEEDS
"""

import sys

import numpy as np


def mean_rate(dim, particles, seed, lam=1.0, sigma=0.32, dt=0.01, steps=400):
    """-log(V(T)/V(0)) / T of one run; alpha = 1e15 makes the best particle the consensus point."""
    rng = np.random.default_rng(seed)
    mean = np.zeros(dim)
    mean[: dim // 2] = 2 / np.sqrt(dim // 2)
    v = mean + np.sqrt(32) * rng.standard_normal((particles, dim))
    start = (v * v).sum()
    for _ in range(steps):
        energy = (v * v - 2.5 * np.cos(2 * np.pi * v)).sum(axis=1)
        best = v[energy.argmin()].copy()
        v = best + (v - best) * (1 - lam * dt + sigma * np.sqrt(dt) * rng.standard_normal((particles, dim)))
    return -np.log((v * v).sum() / start) / (steps * dt)


dim, particles, seeds = map(int, sys.argv[1:])
rates = [mean_rate(dim, particles, seed) for seed in range(seeds)]
print(np.round(np.sort(rates), 3))
print(f"mean {np.mean(rates):.4f} +- {np.std(rates, ddof=1) / np.sqrt(seeds):.4f}")
