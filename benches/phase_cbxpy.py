#!/usr/bin/env python3
"""Ten cells of the phase diagram by `cbo experiment phase` beside one process of CBXpy, in one run on this machine.

Rastrigin's function in 4 dimensions, anisotropic noise, alpha = 100, dt = 0.02, T = 20, N(2, 16) at the start. CBXpy (PyPI package
`cbx`) is installed in a virtual environment of its own, and measured in two ways: run by run, and all runs of a cell in one array.
cbo uses all cores, as a user would; its start and its picture are part of its time. The processor's seconds are beside those of the
clock, because a machine that does something else meanwhile makes only the latter longer.

    python3 benches/phase_cbxpy.py [--runs 20]
"""

import argparse
import json
import os
import resource
import tempfile
import time
from pathlib import Path

from compare_cbxpy import ROOT, environment, output

SIGMA_SQUARED, PARTICLES = (4.0, 10.0, 16.0, 22.0, 28.0), (40, 160)
CELLS = [(sigma_squared, particles) for particles in PARTICLES for sigma_squared in SIGMA_SQUARED]

# Runs inside the virtual environment: prints the successes of all cells, with so many runs in one array.
CBXPY = """
import json, sys
import numpy as np
from cbx.dynamics import CBO

cells, runs, together = json.loads(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])

def rastrigin(x):
    return np.sum(x**2 + 2.5 * (1 - np.cos(2 * np.pi * x)), axis=-1)

def cell(sigma_squared, particles):
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

print(json.dumps([cell(*one) for one in cells]))
"""


def measured(command: list[str]) -> tuple[str, float, float]:
    """What a command prints, the seconds that it takes, and those of the processor."""

    def spent() -> float:
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime

    before, start = spent(), time.perf_counter()
    printed = output(command)
    return printed, time.perf_counter() - start, spent() - before


def ours(precision: str, runs: int, folder: str) -> tuple[list[int], float, float]:
    """Successes of all cells, seconds, and seconds of the processor."""
    command = [str(ROOT / "target/release/cbo"), "experiment", "phase", "--sigma-squared", "4:28:5", "--particles", "40:160:2"]
    command += ["--runs", str(runs), "--precision", precision, "--json", "--out", folder]
    printed, seconds, processor = measured(command)
    return json.loads(printed)["successes"], seconds, processor


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=20, help="runs in each cell (default: %(default)s)")
    runs = parser.parse_args().runs
    output(["cargo", "build", "--release", "--locked", "--workspace", "--bin", "cbo"])
    print(f"{len(CELLS)} cells of {runs} runs; {os.cpu_count()} cores   seconds   of the processor")
    with tempfile.TemporaryDirectory() as folder:
        python = environment(Path(folder) / "python")
        times = {}
        for precision in ("f64", "f32"):
            found, seconds, processor = ours(precision, runs, folder)
            times[precision] = (seconds, processor)
            print(f"cbo, {precision}, all cores          {seconds:9.3f} {processor:9.3f}   successes {found}")
        for name, together in (("CBXpy, run by run", 1), ("CBXpy, runs together", runs)):
            command = [python, "-c", CBXPY, json.dumps(CELLS), str(runs), str(together)]
            printed, seconds, processor = measured(command)
            print(f"{name:27} {seconds:9.3f} {processor:9.3f}   successes {json.loads(printed)}")
            for precision, (our_seconds, our_processor) in times.items():
                ratios = f"{seconds / our_seconds:.0f} times cbo's in {precision} ({processor / our_processor:.0f} of the processor)"
                print(f"  {ratios}")


if __name__ == "__main__":
    main()
