"""Memory, threads and the interpreter lock."""

import gc
import os
import subprocess
import sys
import threading
import time

import cbo
import numpy as np
import pytest

BOX = [(-1.0, 1.0)] * 3


def memory():
    """Bytes of this process in memory."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def rows(x):
    return np.einsum("ij,ij->i", x, x)


def point(x):
    return float(x @ x)


def failing(x):
    raise ArithmeticError


def keeping(x, kept=[]):  # noqa: B006
    kept[:] = [x]
    return rows(x)


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="reads the memory in use from Linux")
def test_ten_thousand_runs_do_not_grow():
    problem = cbo.problems.sphere(3)

    def runs(count):
        for seed in range(count):
            cbo.minimize(problem, particles=10, steps=2, seed=seed)
            cbo.minimize(rows, BOX, particles=10, steps=2, seed=seed, vectorized=True)
            cbo.minimize(point, BOX, particles=4, steps=1, seed=seed)
            cbo.minimize(keeping, BOX, particles=10, steps=2, seed=seed, vectorized=True)
            with pytest.raises(ArithmeticError):
                cbo.minimize(failing, BOX, particles=10, vectorized=True)
        gc.collect()

    runs(400)
    before = memory()
    runs(2000)  # five runs each
    # A leak of a swarm or of a result a run would be 10 MB and more.
    assert memory() - before < 4e6


def test_the_interpreter_is_free_while_the_engine_works():
    """Another thread makes progress during one long call."""
    count = 0
    stop = threading.Event()

    def counter():
        nonlocal count
        while not stop.is_set():
            count += 1
            time.sleep(1e-4)

    thread = threading.Thread(target=counter)
    thread.start()
    try:
        for run in (
            lambda: cbo.minimize(cbo.problems.rastrigin(20), particles=2000, max_seconds=0.3, steps=10**9),
            # The function itself takes no time: what is left is the engine.
            lambda: cbo.minimize(
                lambda x: np.zeros(len(x)), [(-1, 1)] * 100, particles=20_000, vectorized=True, steps=3
            ),
        ):
            before = count
            run()
            assert count - before > 20
    finally:
        stop.set()
        thread.join()


def test_runs_in_several_threads_do_not_disturb_each_other():
    reference = [cbo.minimize(point, BOX, particles=20, steps=20, seed=seed).fun for seed in range(4)]
    found = [0.0] * 4

    def run(seed):
        found[seed] = cbo.minimize(point, BOX, particles=20, steps=20, seed=seed).fun

    threads = [threading.Thread(target=run, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == reference


def test_a_run_within_a_run():
    def outer(x):
        return cbo.minimize(lambda y: float((y[0] - x[0]) ** 2), [(-1, 1)], particles=5, steps=2, seed=0).fun

    assert cbo.minimize(outer, [(-1, 1)], particles=5, steps=2, seed=0).fun >= 0


@pytest.mark.skipif(not os.path.exists("/proc/self/task"), reason="counts threads on Linux")
def test_no_thread_stays():
    big = cbo.problems.rastrigin(20)
    before = len(os.listdir("/proc/self/task"))
    cbo.minimize(big, particles=4000, steps=3, threads=3)
    cbo.minimize(big, particles=4000, steps=3, threads=3, callback=lambda r: None)
    cbo.minimize(lambda x: big(x), big.bounds, particles=4000, steps=3, threads=3, vectorized=True)
    cbo.success_rate(big, particles=10, steps=2, runs=3, threads=3)
    with pytest.raises(ZeroDivisionError):
        cbo.minimize(big, particles=4000, threads=3, callback=lambda r: 1 / 0)
    # Threads that have ended may be counted for a moment.
    for _ in range(100):
        if len(os.listdir("/proc/self/task")) <= before:
            break
        time.sleep(0.02)
    assert len(os.listdir("/proc/self/task")) <= before


def test_import_needs_numpy_only():
    program = """
import sys, cbo
heavy = {"scipy", "optuna", "torch", "matplotlib", "dask", "multiprocessing.pool"} & set(sys.modules)
assert not heavy, heavy
assert {"plot", "scipy", "optuna", "torch"} <= set(dir(cbo))
"""
    subprocess.run([sys.executable, "-c", program], check=True)
