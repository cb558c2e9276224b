"""Worker processes of our own: they may crash, hang, raise or be interrupted, and never stay behind."""

from __future__ import annotations

import gc
import multiprocessing
import os
import pathlib
import signal
import subprocess
import sys
import textwrap
import time
import traceback
from collections.abc import Iterator

import numpy as np
import pytest
from numpy.typing import NDArray

from cbo._evaluate import Evaluator

ROWS = np.arange(6.0).reshape(6, 1)


class Picky(Exception):
    """Cannot be unpickled: it needs two arguments and remembers one."""

    def __init__(self, text: str, code: int) -> None:
        super().__init__(text)
        self.code = code


class SlowToLoad:
    """Takes longer to load in a worker than an evaluation may."""

    def __setstate__(self, state: object) -> None:
        time.sleep(1.2)

    def __getstate__(self) -> object:
        return 1


def value(x: NDArray[np.float64], *_: object) -> float:
    return float(x[0])


def rows_die(x: NDArray[np.float64]) -> NDArray[np.float64]:
    if 1.0 in x:
        os._exit(3)
    return x[:, 0] + 0.0


def dies(x: NDArray[np.float64]) -> float:
    if x[0] == 1.0:
        os._exit(3)
    if x[0] == 4.0:
        os.kill(os.getpid(), signal.SIGKILL)
    return float(x[0])


def dies_once(x: NDArray[np.float64], folder: str) -> float:
    mark = pathlib.Path(folder) / str(int(x[0]))
    if not mark.exists():
        mark.touch()
        os._exit(1)
    return float(x[0])


def hangs(x: NDArray[np.float64], folder: str) -> float:
    """Hangs with a program that it started, as a simulator would."""
    if x[0] == 1.0:
        program = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(100)"])
        (pathlib.Path(folder) / str(program.pid)).touch()
        program.wait()
    return float(x[0])


def raises(x: NDArray[np.float64]) -> float:
    raise Picky("no such simulation", 2) if x[0] == 5.0 else KeyError("no such key")


def exits(x: NDArray[np.float64]) -> float:
    sys.exit("enough")


def returns_text(x: NDArray[np.float64]) -> str:
    return "1.0"


def process_id(x: NDArray[np.float64]) -> float:
    return float(os.getpid())


def alive(pid: int) -> bool:
    """Whether a process runs; a dead one that nobody has collected yet does not."""
    try:
        status = pathlib.Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return False
    return status.rpartition(")")[2].split()[0] not in "ZX"


def gone(pid: int) -> bool:
    until = time.monotonic() + 5.0
    while alive(pid) and time.monotonic() < until:
        time.sleep(0.01)
    return not alive(pid)


@pytest.fixture(autouse=True)
def no_child_stays() -> Iterator[None]:
    yield
    assert multiprocessing.active_children() == []


def test_a_worker_that_dies_costs_its_point_only() -> None:
    with Evaluator(dies, workers=2) as values:
        np.testing.assert_array_equal(values(ROWS), [0.0, np.nan, 2.0, 3.0, np.nan, 5.0])
        # And the next batch is no worse for it.
        np.testing.assert_array_equal(values(ROWS[2:4]), [2.0, 3.0])
    assert (values.failures.crashes, values.failures.lost) == (2, 2)
    text = " ".join(values.failures.messages)
    assert "exit code 3" in text and "SIGKILL" in text and "attempt 1 of 1" in text


def test_a_dead_attempt_is_repeated(tmp_path: pathlib.Path) -> None:
    with Evaluator(dies_once, args=(str(tmp_path),), workers=2, retries=1) as values:
        np.testing.assert_array_equal(values(ROWS[:3]), [0.0, 1.0, 2.0])
    assert (values.failures.crashes, values.failures.lost) == (3, 0)


def test_one_worker_with_a_timeout_is_a_process(tmp_path: pathlib.Path) -> None:
    with Evaluator(hangs, args=(str(tmp_path),), timeout=1.0) as values:
        np.testing.assert_array_equal(values(ROWS[:3]), [0.0, np.nan, 2.0])
    assert (values.failures.timeouts, values.failures.lost) == (1, 1)
    # The program that the worker waited for is ended with it.
    started = [int(mark.name) for mark in tmp_path.iterdir()]
    assert len(started) == 1
    assert gone(started[0])


def test_starting_does_not_count_as_evaluating() -> None:
    with Evaluator(value, args=(SlowToLoad(),), workers=2, timeout=1.0) as values:
        np.testing.assert_array_equal(values(ROWS), ROWS[:, 0])
    assert values.failures.timeouts == 0


def test_a_block_that_dies_is_lost_as_a_whole() -> None:
    with Evaluator(rows_die, vectorized=True, workers=2) as values:
        np.testing.assert_array_equal(values(ROWS), [np.nan, np.nan, np.nan, 3.0, 4.0, 5.0])
    assert (values.failures.crashes, values.failures.lost) == (1, 3)


def test_exception_comes_with_the_traceback_of_the_worker() -> None:
    with Evaluator(raises, workers=2) as values:
        with pytest.raises(KeyError) as caught:
            values(ROWS)
        text = "".join(traceback.format_exception(caught.value))
        assert "in raises" in text and "test_evaluate_processes.py" in text
        # What does not pickle arrives in words.
        with pytest.raises(RuntimeError, match="Picky: no such simulation"):
            values(ROWS[5:])
        with pytest.raises(KeyError):
            values(ROWS)
    assert values.failures.crashes == 0


def test_exit_in_the_function_is_an_exit_here() -> None:
    with Evaluator(exits, workers=2) as values, pytest.raises(SystemExit, match="enough"):
        values(ROWS)


def test_what_is_no_number_is_named() -> None:
    with (
        Evaluator(returns_text, workers=2) as values,
        pytest.raises(TypeError, match=r"returned '1.0' \(str\)"),
    ):
        values(ROWS)


def test_unpicklable_function_is_refused_before_anything_starts() -> None:
    for bad in (lambda x: 0.0, open(os.devnull).readline):
        with pytest.raises(TypeError, match="module level"):
            Evaluator(bad, workers=2)
    with pytest.raises(TypeError, match="args = "):
        Evaluator(value, args=(lambda: 0,), workers=2)


def test_workers_are_kept_between_batches_and_end_with_close() -> None:
    with Evaluator(process_id, workers=2) as values:
        first = {int(pid) for pid in np.concatenate([values(ROWS) for _ in range(3)])}
        assert 1 <= len(first) <= 2 and os.getpid() not in first
    assert all(gone(pid) for pid in first)


def test_a_forgotten_evaluator_leaves_no_process() -> None:
    values = Evaluator(process_id, workers=1, retries=1)
    pid = int(values(ROWS)[0])
    del values
    gc.collect()
    assert gone(pid)


def test_a_worker_killed_between_batches_is_replaced() -> None:
    with Evaluator(process_id, workers=1, retries=0, timeout=60.0) as values:
        first = int(values(ROWS)[0])
        os.kill(first, signal.SIGKILL)
        # Until all its threads are gone its end of the pipe is open, and would still take a point.
        until = time.monotonic() + 30.0
        while multiprocessing.active_children() and time.monotonic() < until:
            time.sleep(0.01)
        assert int(values(ROWS)[0]) != first
    assert values.failures.lost == 0


PROGRAM = """
    import os, pathlib, sys, time
    import numpy as np
    from cbo._evaluate import Evaluator

    def fun(x):
        (pathlib.Path(sys.argv[1]) / str(os.getpid())).touch()
        time.sleep(100.0 if len(sys.argv) > 2 else 0.0)
        return 0.0

    GUARD
        values = Evaluator(fun, workers=2)
        print(values(np.zeros((2, 1))))
"""


def program(tmp_path: pathlib.Path, *, guard: bool = True) -> str:
    """A script that starts workers and never closes them."""
    path = tmp_path / "program.py"
    path.write_text(
        textwrap.dedent(PROGRAM).replace("GUARD", 'if __name__ == "__main__":' if guard else "if True:")
    )
    return str(path)


def allow_interrupts() -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_workers_end_with_an_interrupted_program(tmp_path: pathlib.Path, number: signal.Signals) -> None:
    marks = tmp_path / "marks"
    marks.mkdir()
    caller = subprocess.Popen(
        [sys.executable, program(tmp_path), str(marks), "hang"],
        stderr=subprocess.PIPE,
        # A test run in the background may have interrupts off, which a child inherits.
        preexec_fn=allow_interrupts,
    )
    try:
        until = time.monotonic() + 20.0
        while len(list(marks.iterdir())) < 2 and time.monotonic() < until:
            time.sleep(0.01)
        workers = [int(mark.name) for mark in marks.iterdir()]
        assert len(workers) == 2 and all(alive(pid) for pid in workers)
        caller.send_signal(number)
        _, errors = caller.communicate(timeout=10.0)
        assert caller.returncode == -number
        assert all(gone(pid) for pid in workers)
        assert errors.count(b"KeyboardInterrupt") == (number == signal.SIGINT)
    finally:
        caller.kill()


def test_a_program_that_forgets_to_close_ends(tmp_path: pathlib.Path) -> None:
    caller = subprocess.run(
        [sys.executable, program(tmp_path), str(tmp_path)], capture_output=True, text=True, timeout=20.0
    )
    assert (caller.returncode, caller.stdout.strip(), caller.stderr) == (0, "[0. 0.]", "")
    workers = [int(mark.name) for mark in tmp_path.iterdir() if mark.name.isdigit()]
    assert workers and all(gone(pid) for pid in workers)


def test_a_script_without_guard_is_told(tmp_path: pathlib.Path) -> None:
    caller = subprocess.run(
        [sys.executable, program(tmp_path, guard=False), str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=20.0,
    )
    assert caller.returncode == 1
    assert 'under `if __name__ == "__main__":`' in caller.stderr.splitlines()[-1]


def test_a_function_of_an_interactive_session_is_refused() -> None:
    code = """
import numpy as np
from cbo._evaluate import Evaluator
def f(x): return 0.0
Evaluator(f, workers=2)(np.zeros((2, 1)))
"""
    caller = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=20.0)
    assert caller.returncode == 1
    assert caller.stderr.splitlines()[-1].startswith("TypeError: fun = <function f")
    assert "a worker process cannot load it" in caller.stderr
