#!/usr/bin/env python3
"""A function under constraints, as scipy.optimize takes them."""

import math

import cbo


def main():
    inside = {"type": "ineq", "fun": lambda x: 1 - x[0] ** 2 - x[1] ** 2}
    result = cbo.minimize(lambda x: x[0] + 2 * x[1], bounds=[(-2, 2)] * 2, constraints=inside, seed=0)
    print(f"{result.fun:.6f} at {result.x}, feasible: {result.feasible}")
    assert result.feasible and abs(result.fun + math.sqrt(5)) < 1e-6

    # A can of one litre with the least surface: as high as it is wide.
    def surface(x):
        return 2 * math.pi * x[0] * (x[0] + x[1])

    litre = {"type": "eq", "fun": lambda x: math.pi * x[0] ** 2 * x[1] - 1}
    result = cbo.minimize(surface, bounds=[(0.1, 2)] * 2, constraints=litre, seed=0)
    print(f"{result.fun:.6f} dm2 of tin for radius and height {result.x}")
    assert result.feasible and abs(result.x[1] - 2 * result.x[0]) < 1e-3


if __name__ == "__main__":
    main()
