#!/usr/bin/env python3
"""How often the default method finds the minimum of each function of `cbo list`: the table in docs/choosing.md.

    cargo build --release -p cbo-cli
    python3 benches/success.py --out DIR             # 100 runs of each function: as it is, shifted, rotated, both
    python3 benches/success.py --out DIR --runs 30   # a first look
    python3 benches/success.py --out DIR ackley      # functions whose names contain a word
    python3 benches/success.py --out DIR --jobs 8    # eight cells of the table at a time, each on one core
    python3 benches/success.py --out DIR --write     # puts the table into docs/choosing.md, too
    python3 benches/success.py --out DIR --tables    # runs nothing, prints what is there

It needs Python alone. DIR/RUNS.jsonl has one line for each cell of the table; what is there is not run again, so an interrupted
table is continued by the same command. Delete the file when the solver has changed. The cells of the table are the successes, their 95 %
Wilson interval in per cent, and the median of the evaluations of all runs; a dash if most runs saw no feasible point.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

PROGRAM = Path(os.environ.get("CARGO_TARGET_DIR", "target")) / "release" / "cbo"
PAGE = Path(__file__).parent.parent / "docs" / "choosing.md"
BEGIN, END = "<!-- successes -->", "<!-- end -->"

# In the dimensions of the tables of method cbo; functions without a number have a dimension of their own.
FUNCTIONS = (
    "sphere 10|sphere 20|ellipsoid 10|sum-of-squares 10|different-powers 10|zakharov 10|rosenbrock 2|rosenbrock 10|rosenbrock 20|"
    "dixon-price 10|ackley 10|ackley 20|rastrigin 10|rastrigin 20|rastrigin 10 --amplitude 10|rastrigin 20 --amplitude 10|"
    "griewank 10|salomon 10|schaffer-f6 10|levy 10|alpine-1 10|weierstrass 10|styblinski-tang 10|schwefel 10|michalewicz 10|"
    "xin-she-yang 10|hartmann-6|shekel|beale|bukin-6|cross-in-tray|drop-wave|easom|eggholder|goldstein-price|himmelblau|"
    "holder-table|mccormick|six-hump-camel|three-hump-camel"
).split("|")
WAYS = {
    "as it is": [],
    "shifted": ["--shift", "random"],
    "rotated": ["--rotate", "random"],
    "both": ["--shift", "random", "--rotate", "random"],
}


def arguments(function: str) -> list[str]:
    """The function's arguments of `cbo success`."""
    name, *rest = function.split()
    return [name, "--dim", *rest] if rest else [name]


def label(function: str) -> str:
    """The function as the table names it."""
    name, *rest = function.split()
    return name + (f" {rest[0]}-D" if rest else "") + (f", amplitude {rest[2]}" if rest[1:] else "")


def measure(program: Path, function: str, way: str, runs: int, threads: int) -> dict[str, object]:
    """The result of one cell."""
    command = [str(program), "success", *arguments(function), *WAYS[way], "--runs", str(runs), "--json"]
    command += ["--threads", str(threads)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return {"function": function, "way": way, **json.loads(done.stdout)}


def words(cell: dict[str, object] | None) -> str:
    """A cell of the table."""
    if not cell or 2 * int(str(cell["failed_runs"])) > int(str(cell["runs"])):
        return "–"
    low, high = (round(100 * float(str(cell[key]))) for key in ("wilson_low", "wilson_high"))
    evaluations = float(str(cell["median_evaluations"]))
    size = f"{evaluations:.0f}" if evaluations < 1000 else f"{evaluations / 1000:.3g}k"
    return f"{cell['successes']} [{low}, {high}] {size}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--program", type=Path, default=PROGRAM)
    parser.add_argument("--jobs", type=int, default=1, help="cells at a time; one alone has all cores")
    parser.add_argument("--write", action="store_true", help="put the table into docs/choosing.md")
    parser.add_argument("--tables", action="store_true", help="run nothing")
    parser.add_argument("words", nargs="*")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    file = options.out / f"{options.runs}.jsonl"
    cells: dict[tuple[str, str], dict[str, object]] = {}
    if file.exists():
        for line in file.read_text().splitlines():
            # A line that was being written when the program was killed is not whole.
            if line.endswith("}"):
                cell = json.loads(line)
                cells[cell["function"], cell["way"]] = cell
    chosen = [f for f in FUNCTIONS if not options.words or any(word in f for word in options.words)]
    missing = [(f, way) for f in chosen for way in WAYS if (f, way) not in cells and not options.tables]
    threads = 0 if options.jobs == 1 else 1
    with file.open("a") as kept, ThreadPoolExecutor(options.jobs) as pool:
        pending = {pool.submit(measure, options.program, *key, options.runs, threads): key for key in missing}
        for done in as_completed(pending):
            (function, way), cell = pending[done], done.result()
            cells[function, way] = cell
            print(f"{label(function)}, {way}: {words(cell)}", file=sys.stderr)
            print(json.dumps(cell), file=kept, flush=True)
    rows = [f"| function | {' | '.join(WAYS)} |", f"|{'---|' * (1 + len(WAYS))}"]
    for function in chosen:
        rows.append(f"| {label(function)} | {' | '.join(words(cells.get((function, way))) for way in WAYS)} |")
    table = "\n".join(rows)
    print(table)
    if options.write:
        before, rest = PAGE.read_text().split(BEGIN)
        after = rest.split(END)[1]
        PAGE.write_text(f"{before}{BEGIN}\n{table}\n{END}{after}")


if __name__ == "__main__":
    main()
