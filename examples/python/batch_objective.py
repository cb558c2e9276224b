#!/usr/bin/env python3
"""A function that gets all points in one call: a least-squares fit of a decaying oscillation to noisy data."""

import numpy as np

import cbo


def curves(parameters, t):
    """`amplitude exp(-decay t) cos(frequency t)` for each row of parameters and each time."""
    amplitude, decay, frequency = (column[:, None] for column in parameters.T)
    return amplitude * np.exp(-decay * t) * np.cos(frequency * t)


def squares(parameters, t, y):
    return np.sum((curves(parameters, t) - y) ** 2, axis=1)


def main():
    t = 0.03 * np.arange(200)
    y = curves(np.array([[2.0, 0.3, 5.0]]), t)[0] + 0.01 * np.sin(977.0 * t)
    # Many local minima in the frequency.
    bounds = [(0, 10), (0, 2), (0, 20)]
    result = cbo.minimize(squares, bounds, args=(t, y), vectorized=True, seed=0)
    amplitude, decay, frequency = result.x
    print(f"amplitude {amplitude:.3f}, decay {decay:.3f}, frequency {frequency:.3f}")
    assert abs(frequency - 5) < 0.01 and abs(amplitude - 2) < 0.05


if __name__ == "__main__":
    main()
