#!/usr/bin/env python3
"""The Python package beside CBXpy, pycma and the command line, in one run on this machine.

Three questions, each answered by programs that take turns, so that all see the same machine; the best of
each counts.

1. The time of a step without the objective: from the end of one call of the objective (Rastrigin's function
   in NumPy, the same for all) to the beginning of the next, the mean over a run. For pycma a step is a
   generation, `tell` and `ask`.
2. What a vectorised NumPy objective costs per step beyond its own time.
3. The time of `cbo.minimize` with a built-in objective, as its caller sees it, against the `seconds` that the
   command line reports for the same run.

The package (`pip install .`), CBXpy and pycma are installed in a virtual environment of their own.

    python3 benches/compare_python.py
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
CBX_VERSION = "1.0.4"
CMA_VERSION = "4.5.0"

# Particles, dimensions, steps of a run of ours, steps of a run of theirs.
CASES = [(100, 20, 2000, 300), (1000, 100, 200, 30), (100_000, 10, 30, 6)]
# Particles, dimensions, steps of a run: about half a second each on one core.
BUILT_IN = [(100, 20, 50_000), (1000, 100, 4000), (100_000, 10, 300)]

DOMAIN = (-5.12, 5.12)
# Figure 1 of the paper; the swarm contracts slowly, so that all steps are alike.
SETTINGS: dict[str, Any] = {"alpha": 1e15, "sigma": 0.32, "dt": 0.01}


# What runs inside the virtual environment.


class Timed:
    """Rastrigin's function for points, and when it was called."""

    def __init__(self) -> None:
        self.begun: list[float] = []
        self.ended: list[float] = []

    def __call__(self, points: Any) -> Any:
        import numpy as np

        self.begun.append(time.perf_counter())
        # pycma has a list of points.
        values = rastrigin(np.asarray(points))
        self.ended.append(time.perf_counter())
        return values

    def between(self) -> float:
        """The mean of the times between two calls; the first steps warm up."""
        gaps = [begun - ended for begun, ended in zip(self.begun[1:], self.ended, strict=False)]
        return statistics.fmean(gaps[len(gaps) // 10 :])


def rastrigin(x: Any) -> Any:
    import numpy as np

    return np.sum(x**2 + 2.5 * (1 - np.cos(2 * np.pi * x)), axis=-1)


def own_time_cbo(particles: int, dim: int, steps: int, threads: int) -> float:
    import cbo

    fun = Timed()
    settings = {**SETTINGS, "threads": threads, "bound_handling": "none", "seed": 1}
    cbo.minimize(fun, [DOMAIN] * dim, particles=particles, steps=steps, vectorized=True, **settings)
    return fun.between()


def own_time_cbxpy(particles: int, dim: int, steps: int) -> float:
    import numpy as np
    from cbx.dynamics import CBO  # type: ignore[import-not-found,import-untyped,unused-ignore]

    fun = Timed()
    x = np.random.default_rng(0).uniform(*DOMAIN, size=(1, particles, dim))
    settings = {**SETTINGS, "lamda": 1.0, "noise": "anisotropic", "max_it": 10**9}
    dynamics = CBO(
        fun, f_dim="3D", x=x, verbosity=0, track_args={"names": []}, check_f_dims=False, **settings
    )
    for _ in range(steps):
        dynamics.step()
    return fun.between()


def own_time_pycma(particles: int, dim: int, steps: int) -> float:
    import cma  # type: ignore[import-not-found,import-untyped,unused-ignore]
    import numpy as np

    fun = Timed()
    start = np.random.default_rng(0).uniform(*DOMAIN, size=dim)
    strategy = cma.CMAEvolutionStrategy(
        start, 2.0, {"popsize": particles, "seed": 1, "verbose": -9, "verb_log": 0}
    )
    for _ in range(steps):
        points = strategy.ask()
        strategy.tell(points, fun(points))
    return fun.between()


def above_its_own_time(particles: int, dim: int, steps: int) -> tuple[float, float]:
    """Seconds per step of a run with a vectorised objective, and of the objective alone."""
    import cbo
    import numpy as np

    settings = {**SETTINGS, "bound_handling": "none", "seed": 1}
    start = time.perf_counter()
    cbo.minimize(rastrigin, [DOMAIN] * dim, particles=particles, steps=steps, vectorized=True, **settings)
    run = (time.perf_counter() - start) / steps
    x = np.random.default_rng(0).uniform(*DOMAIN, size=(particles, dim))
    x.flags.writeable = False
    start = time.perf_counter()
    for _ in range(steps):
        rastrigin(x)
    return run, (time.perf_counter() - start) / steps


def built_in(particles: int, dim: int, steps: int, threads: int) -> tuple[float, float]:
    """Seconds of a run with a built-in objective, and its best value."""
    import cbo

    problem = cbo.problems.rastrigin(dim)
    start = time.perf_counter()
    result = cbo.minimize(problem, particles=particles, steps=steps, threads=threads, seed=1, **SETTINGS)
    return time.perf_counter() - start, result.fun


INSIDE = {
    function.__name__: function
    for function in (own_time_cbo, own_time_cbxpy, own_time_pycma, above_its_own_time, built_in)
}


# What runs outside.


def output(command: list[str], limit: float | None = None) -> str:
    """What a command prints, or the end of the program with what it complained about."""
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=limit)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command[:3])} failed:\n{done.stderr}")
    return done.stdout


def environment(folder: Path) -> str:
    """A Python with the package, CBXpy and pycma in it."""
    venv.create(folder, with_pip=True)
    python = str(folder / ("Scripts" if os.name == "nt" else "bin") / "python")
    packages = [".", f"cbx=={CBX_VERSION}", f"cma=={CMA_VERSION}"]
    output([python, "-m", "pip", "install", "--quiet", *packages])
    return python


class Bench:
    """Runs the functions above in the environment."""

    def __init__(self, python: str, limit: float) -> None:
        self.python = python
        self.limit = limit

    def __call__(self, name: str, *numbers: Any) -> Any:
        command = [self.python, __file__, "--inside", name, *map(str, numbers)]
        return json.loads(output(command, self.limit))


def own_times(bench: Bench, rounds: int, threads: int) -> None:
    print(f"Time of a step without the objective, microseconds; best of {rounds}\n")
    heads = [
        "cbo",
        "cbo, 1 thread",
        f"CBXpy {CBX_VERSION}",
        f"pycma {CMA_VERSION}",
        "CBXpy / cbo",
        "pycma / cbo",
    ]
    print("| N | d | " + " | ".join(heads) + " |")
    print("|---" * 8 + "|")
    for particles, dim, ours, theirs in CASES:
        programs: list[tuple[Any, ...]] = [
            ("own_time_cbo", particles, dim, ours, threads),
            ("own_time_cbo", particles, dim, ours, 1),
            ("own_time_cbxpy", particles, dim, theirs),
            ("own_time_pycma", particles, dim, theirs),
        ]
        best = [float("inf")] * len(programs)
        late: set[int] = set()
        for _ in range(rounds):
            for index, program in enumerate(programs):
                if index in late:
                    continue
                try:
                    best[index] = min(best[index], bench(*program))
                except subprocess.TimeoutExpired:
                    late.add(index)
        cells = [f"over {bench.limit:.0f} s per run" if i in late else f"{1e6 * best[i]:.1f}" for i in range(4)]
        ratios = ["–" if i in late else f"{best[i] / best[0]:.0f}" for i in (2, 3)]
        print(f"| {particles} | {dim} | " + " | ".join([*cells, *ratios]) + " |", flush=True)


def vectorised(bench: Bench, rounds: int) -> None:
    particles, dim = CASES[0][:2]
    times = [bench("above_its_own_time", particles, dim, 5000) for _ in range(rounds)]
    run, alone = (min(column) for column in zip(*times, strict=True))
    print(
        f"\nA vectorised NumPy objective, N = {particles}, d = {dim}, microseconds per step; best of {rounds}\n"
    )
    print("| run | objective alone | above its own time |")
    print("|---" * 3 + "|")
    print(f"| {1e6 * run:.1f} | {1e6 * alone:.1f} | {1e6 * (run - alone):.1f} |", flush=True)


def against_the_command_line(bench: Bench, cli: str, rounds: int, threads: int) -> None:
    print(f"\nA built-in objective, milliseconds per run; best of {rounds}\n")
    print("| N | d | steps | threads | cbo.minimize | command line | ratio |")
    print("|---" * 7 + "|")
    for particles, dim, steps in BUILT_IN:
        for count in sorted({1, threads}):
            size = {"particles": particles, "dim": dim, "steps": steps, "threads": count, "seed": 1}
            flags = [f"--{key}={value}" for key, value in {**size, **SETTINGS}.items()]
            command = [cli, "minimize", "rastrigin", *flags, "--json", "--quiet"]
            ours = theirs = float("inf")
            for _ in range(rounds):
                seconds, value = bench("built_in", particles, dim, steps, count)
                report = json.loads(output(command))
                ours, theirs = min(ours, seconds), min(theirs, report["seconds"])
                if report["value"] != value:
                    sys.exit(f"the runs differ: {value} in Python, {report['value']} on the command line")
            cells = [f"{1e3 * ours:.1f}", f"{1e3 * theirs:.1f}", f"{ours / theirs:.3f}"]
            print(f"| {particles} | {dim} | {steps} | {count} | " + " | ".join(cells) + " |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--cli", metavar="PATH", help="the program cbo (default: built by cargo build --release)"
    )
    parser.add_argument(
        "--python", metavar="PATH", help="a Python that has cbo, cbx and cma (default: a fresh one)"
    )
    parser.add_argument("--rounds", type=int, default=5, help="turns of each program")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1, help="threads of cbo")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds after which a run is abandoned")
    parser.add_argument("--inside", nargs="+", metavar="WORD", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.inside:
        name, *numbers = args.inside
        print(json.dumps(INSIDE[name](*map(int, numbers))))
        return
    cli = args.cli
    if cli is None:
        output(["cargo", "build", "--release"])
        cli = str(Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release" / "cbo")
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(args.python or environment(Path(folder)), args.limit)
        own_times(bench, args.rounds, args.threads)
        vectorised(bench, args.rounds)
        against_the_command_line(bench, cli, args.rounds, args.threads)


if __name__ == "__main__":
    main()
