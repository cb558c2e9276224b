#!/usr/bin/env python3
"""Solvers beside each other on COCO's BBOB suite: 24 functions without noise, in [-5, 5]^d.

The score of a run is the fraction of 51 targets f* + 10^2, 10^1.8, ..., 10^-8 that it reaches within its budget. A table has the
means over groups of functions: separable f1-5, moderate f6-9, ill-conditioned f10-14, multimodal f15-19, of weak structure f20-24.
All solvers have their defaults, are given no target, and start again with another seed until their budget is spent. A run ends
when it has reached the last target.

It needs the package itself (`pip install .`) and from PyPI

    pip install coco-experiment cma scipy cbx matplotlib

of which only coco-experiment is needed for all solvers. Budgets are evaluations per dimension. One run of a solver that does not
know its budget serves all budgets; solvers that are told their budget (auto, cbo) have a run for each.

    python3 benches/bbob.py --dims 5,20 --budgets 100,1000 --out DIR         # runs what is missing, and prints the tables
    python3 benches/bbob.py --dims 5,20 --budgets 100,1000 --out DIR --plot  # draws DIR/bbob-d5.png, DIR/bbob-d20.png too
    python3 benches/bbob.py --dims 5,20 --budgets 1000 --out DIR --rounds 8  # what eight evaluations at once are worth
    python3 benches/bbob.py --dims 5,20 --budgets 100,1000 --out DIR --tables  # runs nothing, prints the tables of docs/compared.md

DIR/SOLVER.csv has one line per run, written when the run ends; what is there is not run again, so that the same command continues
what was interrupted. Delete the file of a solver that has changed. Its column `hits` has the evaluations after which the first,
second, ... target was reached.
"""

from __future__ import annotations

import argparse
import csv
import math
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any, NamedTuple

# Solvers are compared on one core; NumPy reads this when it is imported.
os.environ.update({"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"})

TARGETS = [10 ** (2 - k / 5) for k in range(51)]
GROUPS = {
    "separable": range(1, 6),
    "moderate": range(6, 10),
    "ill-conditioned": range(10, 15),
    "multimodal": range(15, 20),
    "weak structure": range(20, 25),
    "all": range(1, 25),
}
LOW, HIGH = -5.0, 5.0

Objective = Callable[[Any], float]


# The solvers: each minimises f once, and may stop before its budget is spent or after.


def auto(f: Objective, dim: int, budget: int, seed: int) -> None:
    import cbo

    cbo.minimize(f, [(LOW, HIGH)] * dim, max_evaluations=budget, seed=seed, method="auto")


def plain(f: Objective, dim: int, budget: int, seed: int) -> None:
    import cbo

    # A step evaluates the consensus point too. 400 particles are the default.
    particles = min(400, budget - 1)
    if particles > 0:
        box = [(LOW, HIGH)] * dim
        cbo.minimize(f, box, particles=particles, max_evaluations=budget, seed=seed, method="cbo", threads=1)


def pycma(f: Objective, dim: int, budget: int, seed: int) -> None:
    """BIPOP-CMA-ES. As in COCO's own data it does not know the bounds."""
    cma, start = imported_cma(dim, seed)
    options = {"maxfevals": budget, "seed": seed, "verbose": -9, "verb_log": 0}
    cma.fmin2(f, start, 2.0, options, restarts=9, bipop=True)


def pycma_lq(f: Objective, dim: int, budget: int, seed: int) -> None:
    """CMA-ES with a linear or quadratic model, the population doubled at each restart."""
    cma, start = imported_cma(dim, seed)
    options = {"maxfevals": budget, "seed": seed, "verbose": -9, "verb_log": 0}
    cma.fmin_lq_surr2(f, start, 2.0, options, restarts=9)


def imported_cma(dim: int, seed: int) -> tuple[Any, Callable[[], Any]]:
    """pycma, and where its runs start."""
    import numpy as np

    with warnings.catch_warnings():
        # It would like to plot.
        warnings.simplefilter("ignore")
        import cma  # type: ignore[import-not-found,import-untyped,unused-ignore]
    random = np.random.default_rng(seed)
    return cma, lambda: random.uniform(-4, 4, dim)


def evolution(f: Objective, dim: int, budget: int, seed: int) -> None:
    from scipy.optimize import differential_evolution  # type: ignore[import-untyped,unused-ignore]

    differential_evolution(f, [(LOW, HIGH)] * dim, rng=seed)


def annealing(f: Objective, dim: int, budget: int, seed: int) -> None:
    from scipy.optimize import dual_annealing

    dual_annealing(f, [(LOW, HIGH)] * dim, rng=seed)


def cbxpy(f: Objective, dim: int, budget: int, seed: int) -> None:
    import numpy as np
    from cbx.dynamics import CBO  # type: ignore[import-not-found,import-untyped,unused-ignore]
    from cbx.utils.termination import max_eval_term  # type: ignore[import-not-found,import-untyped,unused-ignore]

    # Its noise is NumPy's global one.
    np.random.seed(seed)
    start = np.random.uniform(LOW, HIGH, (1, 20, dim))
    CBO(f, x=start, term_criteria=[max_eval_term(budget)], verbosity=0, check_f_dims=False).optimize()


def random_search(f: Objective, dim: int, budget: int, seed: int) -> None:
    import numpy as np

    random = np.random.default_rng(seed)
    for _ in range(budget):
        f(random.uniform(LOW, HIGH, dim))


class Solver(NamedTuple):
    run: Callable[[Objective, int, int, int], None]
    title: str
    colour: str
    # Whether it behaves the same, up to its end, whatever its budget.
    anytime: bool = True


SOLVERS = {
    "auto": Solver(auto, "cbo, auto", "#d62728", anytime=False),
    "cbo": Solver(plain, "cbo, plain", "#ff9896", anytime=False),
    "pycma": Solver(pycma, "pycma, BIPOP", "#1f77b4"),
    "pycma-lq": Solver(pycma_lq, "pycma, lq", "#17becf"),
    "de": Solver(evolution, "SciPy, differential evolution", "#2ca02c"),
    "annealing": Solver(annealing, "SciPy, dual annealing", "#9467bd"),
    "cbxpy": Solver(cbxpy, "CBXpy", "#8c564b"),
    "random": Solver(random_search, "random search", "#7f7f7f"),
}


# One run.


class Case(NamedTuple):
    """A run to be made; the budget is in evaluations."""

    solver: str
    dim: int
    function: int
    instance: int
    seed: int
    budget: int


class Run(NamedTuple):
    """A run that was made: a line of a file."""

    case: Case
    evaluations: int
    seconds: float
    best: float
    hits: list[int]

    def line(self) -> list[Any]:
        numbers = [self.evaluations, f"{self.seconds:.3f}", f"{self.best:.3e}"]
        return [*self.case, *numbers, " ".join(map(str, self.hits))]

    @classmethod
    def read(cls, line: list[str]) -> Run:
        solver, *numbers = line[:6]
        evaluations, seconds, best, hits = line[6:]
        case = Case(solver, *map(int, numbers))
        return cls(case, int(evaluations), float(seconds), float(best), list(map(int, hits.split())))

    def score(self, budget: int) -> float:
        return sum(hit <= budget for hit in self.hits) / len(TARGETS)


HEAD = [*Case._fields, *Run._fields[1:]]


class Over(Exception):
    """The budget is spent, or there is nothing left to reach."""


class Recorder:
    """An objective that notes when targets are reached, and ends the run."""

    def __init__(self, f: Objective, least: float, budget: int) -> None:
        self.f, self.least, self.budget = f, least, budget
        self.evaluations, self.best = 0, math.inf
        self.hits: list[int] = []

    def __call__(self, x: Any) -> float:
        if self.evaluations == self.budget or len(self.hits) == len(TARGETS):
            raise Over
        self.evaluations += 1
        value = float(self.f(x))
        if value - self.least < self.best:
            self.best = value - self.least
            while len(self.hits) < len(TARGETS) and self.best <= TARGETS[len(self.hits)]:
                self.hits.append(self.evaluations)
        return value


def problem(case: Case) -> Recorder:
    import cocoex  # type: ignore[import-not-found,import-untyped,unused-ignore]

    f = cocoex.BareProblem("bbob", case.function, case.dim, case.instance)
    return Recorder(f, f.best_value(), case.budget)


def seeds_of(case: Case) -> Iterator[int]:
    """A seed for the run and for each time that it starts again, other ones for each problem."""
    first = 100_000 * case.seed + 1000 * case.function + case.instance
    return iter(range(first, 2**32, 10_000_000))


def run(case: Case) -> Run:
    f = problem(case)
    start = time.perf_counter()
    try:
        for seed in seeds_of(case):
            before = f.evaluations
            SOLVERS[case.solver].run(f, case.dim, case.budget - before, seed)
            if f.evaluations in (before, case.budget):
                break
    except Over:
        pass
    return Run(case, f.evaluations, time.perf_counter() - start, f.best, f.hits)


def run_in_rounds(case: Case) -> Run:
    """A run by `cbo.Optimizer` with K evaluations at once, from the name "rounds-K"; its hits are in rounds."""
    import cbo

    f, at_once = problem(case), int(case.solver.split("-")[1])
    start = time.perf_counter()
    # The round of each evaluation. What is asked for at once may need several.
    rounds: list[int] = []
    optimizer = cbo.Optimizer(
        [(LOW, HIGH)] * case.dim,
        max_evaluations=case.budget,
        seed=next(seeds_of(case)),
        method="auto",
        batch=at_once,
    )
    try:
        while not optimizer.done:
            points = optimizer.ask()
            last = rounds[-1] if rounds else 0
            rounds += [last + 1 + k // at_once for k in range(len(points))]
            optimizer.tell(points, [f(x) for x in points])
    except Over:
        pass
    return Run(case, f.evaluations, time.perf_counter() - start, f.best, [rounds[hit - 1] for hit in f.hits])


# All runs.


class Results:
    """The runs in a folder, by everything but their budget."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.runs: dict[Case, list[Run]] = {}
        for path in sorted(folder.glob("*.csv")):
            with path.open(newline="") as file:
                for line in csv.reader(file):
                    # A line that was being written when the program was killed has fewer columns.
                    if len(line) == len(HEAD) and line != HEAD:
                        self.keep(Run.read(line))

    def keep(self, run: Run) -> None:
        self.runs.setdefault(run.case._replace(budget=0), []).append(run)

    def add(self, run: Run) -> None:
        self.keep(run)
        path = self.folder / f"{run.case.solver}.csv"
        new = not path.exists()
        with path.open("a", newline="") as file:
            writer = csv.writer(file)
            if new:
                writer.writerow(HEAD)
            writer.writerow(run.line())

    def find(self, case: Case) -> Run | None:
        """A run that answers for this one."""
        solver = SOLVERS.get(case.solver)
        for run in self.runs.get(case._replace(budget=0), []):
            longer = run.case.budget > case.budget or len(run.hits) == len(TARGETS)
            if run.case.budget == case.budget or solver is not None and solver.anytime and longer:
                return run
        return None

    def complete(self, cases: Iterable[Case], work: Callable[[Case], Run], jobs: int) -> None:
        missing = [case for case in cases if self.find(case) is None]
        if not missing:
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        if jobs == 1:
            self.take(map(work, missing), len(missing))
            return
        with ProcessPoolExecutor(jobs) as pool:
            pending = [pool.submit(work, case) for case in missing]
            self.take((run.result() for run in as_completed(pending)), len(missing))

    def take(self, runs: Iterable[Run], count: int) -> None:
        for done, run in enumerate(runs, 1):
            self.add(run)
            if sys.stderr.isatty():
                print(f"\r{done} of {count} runs ", end="", file=sys.stderr, flush=True)
        if sys.stderr.isatty():
            print(file=sys.stderr)


def cases(args: argparse.Namespace, solver: str, dim: int, budget: int) -> list[Case]:
    return [
        Case(solver, dim, function, instance, seed, budget * dim)
        for function in args.functions
        for instance in args.instances
        for seed in range(1, args.seeds + 1)
    ]


def mean(numbers: Iterable[float]) -> float:
    numbers = list(numbers)
    return sum(numbers) / len(numbers) if numbers else math.nan


def cell(number: float, digits: int = 3) -> str:
    return "–" if math.isnan(number) else f"{number:.{digits}f}"


def table(results: Results, args: argparse.Namespace, dim: int, budget: int) -> None:
    count = f"{len(args.instances)} instances, {args.seeds} seeds"
    print(f"\nd = {dim}, {budget} d evaluations, {count}: fraction of targets reached\n")
    print("| | " + " | ".join(GROUPS) + " |")
    print("|---" * (1 + len(GROUPS)) + "|")
    for solver in args.solvers:
        wanted = cases(args, solver, dim, budget)
        found = [run for run in map(results.find, wanted) if run is not None]
        scores = [
            mean(run.score(budget * dim) for run in found if run.case.function in group) for group in GROUPS.values()
        ]
        part = "" if len(found) == len(wanted) else f" ({len(found)} of {len(wanted)} runs)"
        print(f"| {SOLVERS[solver].title}{part} | " + " | ".join(map(cell, scores)) + " |", flush=True)


def short(number: float) -> str:
    """A fraction as the guide writes it."""
    return cell(number).removeprefix("0")


def tables(results: Results, args: argparse.Namespace) -> None:
    """The tables of the guide, from the runs that are there: a row for each solver, then one line for each solver."""

    def scores(solver: str, dim: int, budget: int) -> tuple[list[float], int]:
        found = [run for run in map(results.find, cases(args, solver, dim, budget)) if run is not None]
        groups = GROUPS.values()
        return [mean(run.score(budget * dim) for run in found if run.case.function in group) for group in groups], len(found)

    runs = len(args.functions) * len(args.instances) * args.seeds
    print("| d | evaluations | solver | " + " | ".join(GROUPS) + " |")
    print("|---" * (3 + len(GROUPS)) + "|")
    for dim in args.dims:
        for budget in args.budgets:
            for solver in args.solvers:
                means, count = scores(solver, dim, budget)
                if count:
                    part = "" if count == runs else f" ({count} of {runs} runs)"
                    *groups, last = map(short, means)
                    print(f"| {dim} | {budget} d | {solver}{part} | {' | '.join(groups)} | **{last}** |")
    print(f"\nAll groups, at {', '.join(f'{budget} d' for budget in args.budgets)} evaluations:\n")
    print("| solver | " + " | ".join(f"d = {dim}" for dim in args.dims) + " |")
    print("|---" * (1 + len(args.dims)) + "|")
    for solver in args.solvers:
        row = [", ".join(short(scores(solver, dim, budget)[0][-1]) for budget in args.budgets) for dim in args.dims]
        print(f"| {SOLVERS[solver].title} | {' | '.join(row)} |", flush=True)


def speedup(results: Results, args: argparse.Namespace, dim: int, budget: int) -> None:
    """What several evaluations at once save, over targets that both runs reach."""
    wanted = cases(args, f"rounds-{args.rounds}", dim, budget)
    logs: dict[str, list[float]] = {name: [] for name in GROUPS}
    for case in wanted:
        several, single = results.find(case), results.find(case._replace(solver="rounds-1"))
        if several is None or single is None:
            continue
        ratios = [math.log(a / b) for a, b in zip(several.hits, single.hits, strict=False)]
        for name, group in GROUPS.items():
            logs[name] += ratios if case.function in group else []
    print(f"\nd = {dim}, {budget} d evaluations: rounds of {args.rounds} evaluations per evaluation one by one\n")
    print("| | " + " | ".join(GROUPS) + " |")
    print("|---" * (1 + len(GROUPS)) + "|")
    means = [math.exp(mean(group)) for group in logs.values()]
    print("| geometric mean | " + " | ".join(map(cell, means)) + " |")
    print("| times faster | " + " | ".join(cell(1 / ratio, 2) for ratio in means) + " |")
    print("| targets | " + " | ".join(str(len(group)) for group in logs.values()) + " |", flush=True)


def plot(results: Results, args: argparse.Namespace, dim: int) -> None:
    """The fraction of pairs of runs and targets over the evaluations per dimension."""
    import matplotlib  # type: ignore[import-not-found,import-untyped,unused-ignore]

    matplotlib.use("agg")
    import matplotlib.pyplot as plt  # type: ignore[import-not-found,import-untyped,unused-ignore]

    plt.rcParams.update({"font.size": 12, "axes.spines.top": False, "axes.spines.right": False})
    most = max(args.budgets)
    ends = []
    figure, axes = plt.subplots(figsize=(9, 5.4), dpi=100, layout="constrained")
    for solver in args.solvers:
        wanted = cases(args, solver, dim, most)
        found = [run for run in map(results.find, wanted) if run is not None]
        hits = sorted(hit / dim for run in found for hit in run.hits if hit <= most * dim)
        heights = [(k + 1) / (len(found) * len(TARGETS)) for k in range(len(hits))]
        end = heights[-1] if heights else 0.0
        ends.append(end)
        look = SOLVERS[solver]
        width = 3.0 if solver == "auto" else 1.8
        label = f"{look.title}: {end:.2f}"
        axes.step([1 / dim, *hits, most], [0, *heights, end], where="post", color=look.colour, lw=width, label=label)
    axes.set(xscale="log", xlim=(1 / dim, most), ylim=(0, 1))
    axes.xaxis.set_major_formatter("{x:g}")
    axes.set_xlabel("evaluations / dimension")
    axes.set_ylabel("fraction of targets reached")
    first, last = args.functions[0], args.functions[-1]
    axes.set_title(f"BBOB f{first}–f{last}, d = {dim}, targets f* + 100 to f* + 1e-8", fontsize=13)
    axes.grid(alpha=0.3)
    # The best solver first.
    lines, labels = axes.get_legend_handles_labels()
    order = sorted(range(len(ends)), key=lambda k: -ends[k])
    axes.legend([lines[k] for k in order], [labels[k] for k in order], loc="upper left", frameon=False)
    path = results.folder / f"bbob-d{dim}.png"
    figure.savefig(path)
    plt.close(figure)
    print(f"\n{path}")


def numbers(text: str) -> list[int]:
    """1-3,5: the numbers 1, 2, 3 and 5."""
    ends = [part.split("-") for part in text.split(",")]
    return [number for end in ends for number in range(int(end[0]), int(end[-1]) + 1)]


def names(text: str) -> list[str]:
    for name in text.split(","):
        if name not in SOLVERS:
            raise argparse.ArgumentTypeError(f"{name!r}: the solvers are {', '.join(SOLVERS)}")
    return text.split(",")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dims", type=numbers, default=[5, 20], help="dimensions: 2, 3, 5, 10, 20 or 40")
    parser.add_argument("--budgets", type=numbers, default=[100, 1000], help="evaluations per dimension")
    parser.add_argument("--functions", type=numbers, default=list(range(1, 25)))
    parser.add_argument("--instances", type=numbers, default=[1, 2, 3])
    parser.add_argument("--seeds", type=int, default=3, help="runs of each instance")
    parser.add_argument("--solvers", type=names, default=list(SOLVERS), help=", ".join(SOLVERS))
    parser.add_argument("--jobs", type=int, default=1, help="runs at a time")
    parser.add_argument("--out", type=Path, default=Path("bbob-results"), metavar="DIR")
    parser.add_argument("--plot", action="store_true", help="draw pictures too")
    parser.add_argument("--tables", action="store_true", help="run nothing, print the tables of the guide")
    parser.add_argument("--rounds", type=int, metavar="K", help="only auto with K evaluations at once")
    args = parser.parse_args()
    results = Results(args.out)
    if args.tables:
        tables(results, args)
        return
    for dim in args.dims:
        if args.rounds:
            for name in ("rounds-1", f"rounds-{args.rounds}"):
                for budget in args.budgets:
                    results.complete(cases(args, name, dim, budget), run_in_rounds, args.jobs)
            for budget in args.budgets:
                speedup(results, args, dim, budget)
            continue
        for name in args.solvers:
            # The largest budget first: it may answer for the others.
            for budget in sorted(args.budgets, reverse=True):
                results.complete(cases(args, name, dim, budget), run, args.jobs)
        for budget in args.budgets:
            table(results, args, dim, budget)
        if args.plot:
            plot(results, args, dim)


if __name__ == "__main__":
    main()
