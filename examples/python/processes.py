#!/usr/bin/env python3
"""A simulator that crashes and hangs, in processes of its own: such evaluations fail, and the run continues."""

import os
import time

import numpy as np

import cbo


def simulate(x):
    """The distance to (1, -1). Some corners are deadly."""
    if x[0] > 4.8:
        os._exit(1)  # as a segmentation fault would
    if x[1] > 4.9:
        time.sleep(3600)
    return float(np.hypot(x[0] - 1, x[1] + 1))


def main():
    settings = dict(bounds=[(-5, 5)] * 2, particles=40, steps=60, seed=0)
    result = cbo.minimize(simulate, workers=2, timeout=0.5, **settings)
    print(f"{result.fun:.3e} at {result.x}, {result.failed_evaluations} of {result.nfev} evaluations failed")
    assert result.fun < 1e-2 and result.failed_evaluations > 0


# Each worker reads this file again, and must not start workers itself.
if __name__ == "__main__":
    main()
