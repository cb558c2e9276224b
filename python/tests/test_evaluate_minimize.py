"""``cbo.minimize`` with ``workers``, ``timeout`` and ``retries``: the same run, wherever it is evaluated."""

from __future__ import annotations

import math
import multiprocessing
import os
import pathlib
import signal
import subprocess
import sys
import textwrap
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from test_evaluate_processes import alive, allow_interrupts

import cbo

BOX = [(-3.0, 3.0)] * 2
SHORT: dict[str, Any] = {"particles": 12, "steps": 4, "seed": 5}


def bowl(x: NDArray[np.float64], shift: float = 0.5) -> float:
    return float(np.sum((x - shift) ** 2))


def bowl_rows(x: NDArray[np.float64], shift: float = 0.5) -> NDArray[np.float64]:
    return np.array([bowl(row, shift) for row in x])


def dies_far_out(x: NDArray[np.float64]) -> float:
    if x[0] > 2.5:
        os._exit(1)
    return bowl(x)


def fails_far_out(x: NDArray[np.float64]) -> float:
    return math.nan if x[0] > 2.5 else bowl(x)


def raises(x: NDArray[np.float64]) -> float:
    raise LookupError("no such simulation")


def same(a: cbo.OptimizeResult, b: cbo.OptimizeResult) -> None:
    np.testing.assert_array_equal(a.x, b.x)
    np.testing.assert_array_equal(a.population, b.population)
    np.testing.assert_array_equal(a.population_energies, b.population_energies)
    assert (a.fun, a.nfev, a.nit, a.failed_evaluations) == (b.fun, b.nfev, b.nit, b.failed_evaluations)


def test_the_result_does_not_depend_on_the_workers() -> None:
    here = cbo.minimize(bowl, BOX, args=(0.25,), **SHORT)
    with (
        ThreadPoolExecutor(2) as threads,
        ProcessPoolExecutor(2, mp_context=get_context("spawn")) as processes,
    ):
        for workers in (2, threads, processes, map):
            same(cbo.minimize(bowl, BOX, args=(0.25,), workers=workers, **SHORT), here)
            rows = cbo.minimize(bowl_rows, BOX, args=(0.25,), workers=workers, vectorized=True, **SHORT)
            same(rows, here)
    same(cbo.minimize(bowl, BOX, args=(0.25,), timeout=60.0, retries=1, **SHORT), here)


def test_a_run_in_single_precision_does_not_depend_on_the_workers() -> None:
    here = cbo.minimize(bowl, BOX, precision="f32", **SHORT)
    same(cbo.minimize(bowl, BOX, precision="f32", workers=map, **SHORT), here)


def test_a_run_survives_workers_that_die() -> None:
    here = cbo.minimize(fails_far_out, BOX, **SHORT)
    assert here.failed_evaluations > 0
    same(cbo.minimize(dies_far_out, BOX, workers=2, **SHORT), here)
    assert multiprocessing.active_children() == []


def test_an_exception_ends_the_run_and_the_workers() -> None:
    with pytest.raises(LookupError, match="no such simulation"):
        cbo.minimize(raises, BOX, workers=2, **SHORT)
    assert multiprocessing.active_children() == []


def test_unpicklable_function_is_refused() -> None:
    with pytest.raises(TypeError, match="module level"):
        cbo.minimize(lambda x: 0.0, BOX, workers=2, **SHORT)


PROGRAM = """
    import os, pathlib, sys, time
    import cbo

    def fun(x):
        mark = pathlib.Path(sys.argv[1]) / str(os.getpid())
        if mark.exists() and len(list(mark.parent.iterdir())) > 1:
            time.sleep(100.0)
        mark.touch()
        return float(x[0] ** 2)

    if __name__ == "__main__":
        try:
            cbo.minimize(fun, [(-1, 1)], workers=2, particles=50, seed=1)
        except KeyboardInterrupt as interrupt:
            print(interrupt.result.stop, flush=True)
            os.kill(os.getpid(), 9)
"""


def test_an_interrupt_ends_the_workers_at_once(tmp_path: pathlib.Path) -> None:
    script = tmp_path / "program.py"
    script.write_text(textwrap.dedent(PROGRAM))
    marks = tmp_path / "marks"
    marks.mkdir()
    caller = subprocess.Popen(
        [sys.executable, str(script), str(marks)], stdout=subprocess.PIPE, preexec_fn=allow_interrupts
    )
    try:
        until = time.monotonic() + 20.0
        while len(list(marks.iterdir())) < 2 and time.monotonic() < until:
            time.sleep(0.01)
        time.sleep(0.2)
        start = time.monotonic()
        caller.send_signal(signal.SIGINT)
        assert caller.stdout is not None
        assert caller.stdout.readline() == b"interrupt\n"
        taken = time.monotonic() - start
        # They were gone before the exception reached the program, which ends without a chance to clean up.
        workers = [int(mark.name) for mark in marks.iterdir()]
        assert len(workers) == 2 and not any(alive(pid) for pid in workers)
        caller.communicate(timeout=10.0)
        # 0.2 s on a machine at rest.
        assert taken < 2.0
    finally:
        caller.kill()
        caller.wait()


def dies(x: NDArray[np.float64]) -> float:
    os._exit(3)


def test_what_the_workers_lost_is_told() -> None:
    result = cbo.minimize(dies_far_out, BOX, workers=1, retries=1, **SHORT)
    assert result.failed_evaluations > 0
    assert f"{result.failed_evaluations} evaluations were lost to workers" in result.message
    with pytest.raises(RuntimeError, match="finite energy.*the last failure: fun ended its worker.*exit code 3"):
        cbo.minimize(dies, BOX, workers=1, retries=1, particles=2, steps=2, seed=1)
