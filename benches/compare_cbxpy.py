#!/usr/bin/env python3
"""One step of cbo beside one step of CBXpy, in one run on this machine.

N = 320 000 particles in d = 16 dimensions, anisotropic noise, alpha = 1e15, Rastrigin's function with amplitude 2.5:
the setting of the paper's Figure 1. CBXpy (PyPI package `cbx`) is installed in a virtual environment of its own.
The two programs take turns, so that both see the same machine, and the best of each counts.

    python3 benches/compare_cbxpy.py
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CBX_VERSION = "1.0.4"

# Runs inside the virtual environment: prints the seconds of one step, best of several.
CBXPY_STEP = """
import sys, time
import numpy as np
from cbx.dynamics import CBO

N, d, steps = int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])

def rastrigin(x):
    return np.sum(x**2 + 2.5 * (1 - np.cos(2 * np.pi * x)), axis=-1)

rng = np.random.default_rng(0)
x = rng.uniform(-5.12, 5.12, size=(1, N, d))
dyn = CBO(rastrigin, f_dim='3D', x=x, noise='anisotropic', alpha=1e15, dt=0.01, sigma=0.32, lamda=1.0,
          max_it=10**9, verbosity=0, track_args={'names': []})
dyn.step()
best = float('inf')
for _ in range(steps):
    start = time.perf_counter()
    dyn.step()
    best = min(best, time.perf_counter() - start)
print(best)
"""


def output(command: list[str]) -> str:
    """What a command prints, or the end of the program with what it complained about."""
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command[:3])} failed:\n{done.stderr}")
    return done.stdout


def environment(folder: Path) -> str:
    """A Python with CBXpy in it."""
    venv.create(folder, with_pip=True)
    python = str(folder / ("Scripts" if os.name == "nt" else "bin") / "python")
    output([python, "-m", "pip", "install", "--quiet", f"cbx=={CBX_VERSION}"])
    return python


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--particles", type=int, default=320_000)
    parser.add_argument("--dim", type=int, default=16)
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()

    output(["cargo", "build", "--release"])
    size = ["--particles", str(args.particles), "--dim", str(args.dim)]
    bench = [str(ROOT / "target/release/cbo"), "bench", "--json", *size, "--threads", str(args.threads)]
    ours: dict[str, float] = {}
    theirs = float("inf")
    with tempfile.TemporaryDirectory() as folder:
        python = environment(Path(folder))
        for _ in range(args.rounds):
            step = [python, "-c", CBXPY_STEP, str(args.particles), str(args.dim), "4"]
            theirs = min(theirs, float(output(step)))
            for row in json.loads(output(bench))["rows"]:
                if row["diffusion"] == "anisotropic":
                    seconds = row["step_milliseconds"] / 1e3
                    ours[row["precision"]] = min(ours.get(row["precision"], seconds), seconds)

    print(f"N = {args.particles}, d = {args.dim}, anisotropic, alpha = 1e15, {args.threads} threads, best of {args.rounds} rounds\n")
    print(f"{'program':<24}{'ms per step':>12}{'times faster':>15}")
    print(f"{'CBXpy ' + CBX_VERSION + ' (f64)':<24}{theirs * 1e3:>12.2f}{1:>15}")
    for precision, seconds in sorted(ours.items(), reverse=True):
        print(f"{'cbo (' + precision + ')':<24}{seconds * 1e3:>12.2f}{theirs / seconds:>15.1f}")


if __name__ == "__main__":
    main()
