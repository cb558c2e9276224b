#!/usr/bin/env python3
"""The short way: a function and a box."""

import cbo


def main():
    def himmelblau(x):
        return (x[0] ** 2 + x[1] - 11) ** 2 + (x[0] + x[1] ** 2 - 7) ** 2

    result = cbo.minimize(himmelblau, bounds=[(-5, 5), (-5, 5)], seed=0)
    print(f"{result.fun:.3e} at {result.x} after {result.nfev} evaluations")
    assert result.fun < 1e-6


if __name__ == "__main__":
    main()
