#!/usr/bin/env python3
"""Ten cells of the phase diagram (`cbo experiment phase`) by cbo beside one process of CBXpy, in one run on this machine.

Rastrigin's function in 4 dimensions, anisotropic noise, alpha = 100, dt = 0.02, T = 20, N(2, 16) at the start. CBXpy (PyPI package
`cbx`) is installed in a virtual environment of its own, and measured in two ways: run by run, and all runs of a cell in one array.
cbo uses all cores, as a user would, and its start is part of its time.

    python3 benches/phase_cbxpy.py [--runs 20]
"""

import argparse
import json
import tempfile
import time
from pathlib import Path

from compare_cbxpy import ROOT, environment, output

CELLS = [(sigma_squared, particles) for sigma_squared in (1.2, 4.0, 8.0, 16.0, 28.0) for particles in (40, 160)]

# Runs inside the virtual environment: prints seconds and successes, runs one by one and then together.
CBXPY = """
import json, sys, time
import numpy as np
from cbx.dynamics import CBO

cells, runs = json.loads(sys.argv[1]), int(sys.argv[2])

def rastrigin(x):
    return np.sum(x**2 + 2.5 * (1 - np.cos(2 * np.pi * x)), axis=-1)

def cell(sigma_squared, particles, together):
    found = 0
    for first in range(0, runs, together):
        rng = np.random.default_rng(first)
        x = 2 + 4 * rng.standard_normal((together, particles, 4))
        dyn = CBO(rastrigin, f_dim='3D', x=x, noise='anisotropic', alpha=100.0, dt=0.02, sigma=sigma_squared**0.5,
                  lamda=1.0, max_it=1000, verbosity=0, track_args={'names': []})
        for _ in range(1000):
            dyn.step()
        found += int(np.sum(np.max(np.abs(dyn.consensus[:, 0, :]), axis=-1) < 0.25))
    return found

for together in (1, runs):
    start = time.perf_counter()
    found = [cell(*one, together) for one in cells]
    print(json.dumps([time.perf_counter() - start, found]))
"""


def ours(sigma_squared: float, particles: int, runs: int) -> tuple[float, int]:
    """Seconds and successes of a cell."""
    command = [str(ROOT / "target/release/cbo"), "success", "rastrigin", "--dim", "4", "--method", "cbo", "--json"]
    command += ["--particles", str(particles), "--sigma", str(sigma_squared**0.5), "--alpha", "100", "--dt", "0.02"]
    command += ["--time", "20", "--init", "normal:2,16", "--diameter", "1e-12", "--judge", "consensus"]
    start = time.perf_counter()
    result = json.loads(output([*command, "--runs", str(runs)]))
    return time.perf_counter() - start, result["successes"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=20, help="runs in each cell (default: %(default)s)")
    runs = parser.parse_args().runs
    output(["cargo", "build", "--release", "--locked", "--workspace", "--bin", "cbo"])
    cells = [ours(*cell, runs) for cell in CELLS]
    seconds = sum(cell[0] for cell in cells)
    print(f"{len(CELLS)} cells of {runs} runs; successes by cbo: {[cell[1] for cell in cells]}")
    print(f"cbo, all cores               {seconds:9.3f} s")
    with tempfile.TemporaryDirectory() as folder:
        lines = output([environment(Path(folder)), "-c", CBXPY, json.dumps(CELLS), str(runs)]).splitlines()
    for name, line in zip(("CBXpy, run by run", f"CBXpy, {runs} runs together"), lines, strict=True):
        theirs, found = json.loads(line)
        print(f"{name:28} {theirs:9.3f} s   {theirs / seconds:6.0f} times cbo's; successes {found}")


if __name__ == "__main__":
    main()
