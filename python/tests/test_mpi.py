"""Evaluation on the ranks of an MPI job, through mpi4py.futures under mpirun."""

from __future__ import annotations

import json
import math
import pathlib
import shutil
import subprocess
import sys

import pytest

pytest.importorskip("mpi4py")


def mpirun() -> str:
    """The launcher that belongs to this environment, or the one on the path."""
    beside = pathlib.Path(sys.executable).with_name("mpirun")
    found = str(beside) if beside.exists() else shutil.which("mpirun")
    if found is None:
        pytest.skip("mpirun is not installed")
    return found


def lines(program: str, *options: str) -> list[str]:
    """What a program beside this file prints on three ranks."""
    launcher = mpirun()
    place = str(pathlib.Path(__file__).with_name(program))
    command = [launcher, "-n", "3", sys.executable, *options, place]
    version = subprocess.run([launcher, "--version"], capture_output=True, text=True, check=True).stdout
    if "Open MPI" in version or "OpenRTE" in version:
        command[1:1] = ["--oversubscribe", "--allow-run-as-root"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60.0)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_one_run_on_all_ranks() -> None:
    assert sorted(lines("mpi_ranks.py")) == ["rank 0: True", "rank 1: True", "rank 2: True"]


def test_evaluation_on_the_ranks_of_an_mpi_job() -> None:
    seen = json.loads(lines("mpi_program.py", "-m", "mpi4py.futures")[-1])
    assert seen["squares"] == [1.0, 0.0, 1.0, 4.0, 9.0, 16.0]
    assert seen["same"]
    assert seen["rows"] == [0.0, 1.0, 4.0, 9.0, 16.0, 25.0]
    assert len(seen["processes"]) == 2 and seen["caller"] not in seen["processes"]
    assert "no such simulation" in seen["raised"]
    assert [value for value in seen["slow"] if not math.isnan(value)] == [0.0, 2.0, 3.0, 4.0, 5.0]
    assert math.isnan(seen["slow"][1]) and seen["timeouts"] == 1
    assert "module level" in seen["unpicklable"]
    assert seen["after"] == 1
