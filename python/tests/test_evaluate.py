"""Values of a function at the rows of an array, in this process and on executors that the user brought."""

from __future__ import annotations

import os
import threading
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from fractions import Fraction
from multiprocessing import get_context
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from cbo._evaluate import Evaluator

ROWS = np.random.default_rng(1).uniform(-1.0, 1.0, (12, 3))


def sphere(x: NDArray[np.float64], shift: float = 0.0) -> float:
    return float(np.sum((x - shift) ** 2))


def sphere_rows(x: NDArray[np.float64], shift: float = 0.0) -> NDArray[np.float64]:
    return np.array([sphere(row, shift) for row in x])


def late_first(x: NDArray[np.float64]) -> float:
    """The first rows finish last."""
    time.sleep(0.02 * (3.0 - x[0]))
    return float(x[0])


def fails(x: NDArray[np.float64]) -> float:
    raise KeyError("no such simulation")


def ends_its_process(x: NDArray[np.float64]) -> float:
    os._exit(3)


EXPECTED = np.array([sphere(x) for x in ROWS])
SHIFTED = np.array([sphere(x, 0.5) for x in ROWS])


def test_every_place_gives_the_same_bits() -> None:
    with (
        ThreadPoolExecutor(2) as threads,
        ProcessPoolExecutor(2, mp_context=get_context("spawn")) as processes,
    ):
        for workers in (1, 2, threads, processes, map):
            with Evaluator(sphere, args=(0.5,), workers=workers) as values:
                np.testing.assert_array_equal(values(ROWS), SHIFTED)
            with Evaluator(sphere_rows, args=(0.5,), vectorized=True, workers=workers) as values:
                np.testing.assert_array_equal(values(ROWS), SHIFTED)
        # They are the user's: still open.
        assert threads.submit(sphere, ROWS[0]).result() == EXPECTED[0]
        assert processes.submit(sphere, ROWS[0]).result() == EXPECTED[0]


def test_order_of_completion_does_not_matter() -> None:
    rows = np.arange(4.0).reshape(4, 1)
    with ThreadPoolExecutor(4) as threads, Evaluator(late_first, workers=threads) as values:
        np.testing.assert_array_equal(values(rows), rows[:, 0])


def test_precision_reaches_the_function() -> None:
    seen: list[Any] = []

    def fun(x: NDArray[Any]) -> float:
        seen.append(x.dtype)
        return float(x[0])

    assert Evaluator(fun)(ROWS.astype(np.float32)).dtype == np.float64
    assert set(seen) == {np.dtype(np.float32)}


def test_function_cannot_change_the_points() -> None:
    def fun(x: NDArray[np.float64]) -> float:
        x[:] = 7.0
        return 0.0

    rows = ROWS.copy()
    Evaluator(fun)(rows)
    np.testing.assert_array_equal(rows, ROWS)


def test_vectorized_rows_are_split_into_one_block_a_worker() -> None:
    sizes: list[int] = []

    def fun(x: NDArray[np.float64]) -> NDArray[np.float64]:
        sizes.append(len(x))
        return sphere_rows(x)

    with ThreadPoolExecutor(5) as threads, Evaluator(fun, vectorized=True, workers=threads) as values:
        np.testing.assert_array_equal(values(ROWS), EXPECTED)
        values(ROWS[:2])
    assert sorted(sizes) == [1, 1, 2, 2, 2, 3, 3]


def test_nan_and_infinity_pass_through() -> None:
    rows = np.array([[np.nan], [np.inf], [-np.inf], [1.0]])
    np.testing.assert_array_equal(Evaluator(lambda x: x[0])(rows), rows[:, 0])


@pytest.mark.parametrize(
    "returned",
    [1.5, np.float32(1.5), np.array(1.5), np.array([1.5]), np.array([[1.5]]), [1.5], Fraction(3, 2)],
)
def test_one_number_in_any_form(returned: Any) -> None:
    assert Evaluator(lambda x: returned)(ROWS[:1]) == [1.5]


@pytest.mark.parametrize(
    ("returned", "words"),
    [
        (None, "returned None; "),
        ("1.5", "returned '1.5' (str)"),
        (1.5 + 0j, "returned (1.5+0j) (complex)"),
        ([1.0, 2.0], "returned [1.0, 2.0] (list)"),
        (np.ones(2), "an array of shape (2,) and dtype float64"),
    ],
)
def test_what_is_no_number_is_named(returned: Any, words: str) -> None:
    with pytest.raises((TypeError, ValueError)) as caught:
        Evaluator(lambda x: returned)(ROWS)
    assert words in str(caught.value)
    assert "x = [" in str(caught.value)


@pytest.mark.parametrize(
    ("returned", "words"),
    [
        (1.5, "returned 1.5 (float)"),
        (np.ones(11), "shape (11,)"),
        (np.ones((12, 3)), "shape (12, 3)"),
        (np.ones(12, dtype=complex), "dtype complex128"),
        (["a"] * 12, "(list)"),
        ([[1.0], [1.0, 2.0]], "[[1.0], [1.0, 2.0]]"),
        (None, "returned None"),
    ],
)
def test_wrong_shape_of_a_vectorized_function_is_named(returned: Any, words: str) -> None:
    with pytest.raises((TypeError, ValueError)) as caught:
        Evaluator(lambda x: returned, vectorized=True)(ROWS)
    assert words in str(caught.value)
    assert "12 real numbers" in str(caught.value)


@pytest.mark.parametrize(
    ("settings", "kind", "words"),
    [
        ({"workers": 0}, ValueError, "workers = 0"),
        ({"workers": -2}, ValueError, "workers = -2"),
        ({"workers": True}, TypeError, "workers = True"),
        ({"workers": 2.5}, TypeError, "workers = 2.5"),
        ({"workers": "all"}, TypeError, "workers = 'all'"),
        ({"timeout": 0}, ValueError, "timeout = 0"),
        ({"timeout": float("nan")}, ValueError, "timeout = nan"),
        ({"timeout": "1 s"}, ValueError, "timeout = '1 s'"),
        ({"retries": -1}, ValueError, "retries = -1"),
        ({"retries": 0.5}, ValueError, "retries = 0.5"),
        ({"workers": map, "timeout": 1.0}, ValueError, "timeout = 1.0"),
        ({"workers": map, "retries": 1}, ValueError, "retries = 1"),
    ],
)
def test_bad_settings(settings: dict[str, Any], kind: type[Exception], words: str) -> None:
    with pytest.raises(kind) as caught:
        Evaluator(sphere, **settings)
    assert words in str(caught.value)


def test_a_pool_without_submit_is_told_what_to_pass() -> None:
    class Pool:
        def map(self, fun: Any, rows: Any) -> Any:
            return map(fun, rows)

    with pytest.raises(TypeError, match="pass its map method"):
        Evaluator(sphere, workers=Pool())  # type: ignore[arg-type]
    np.testing.assert_array_equal(Evaluator(sphere, workers=Pool().map)(ROWS), EXPECTED)


def test_a_map_that_loses_values() -> None:
    with pytest.raises(ValueError, match="gave 1 values for 12 calls"):
        Evaluator(sphere, workers=lambda fun, rows: [fun(rows[0])])(ROWS)


def test_bad_points_and_closed_evaluator() -> None:
    values = Evaluator(sphere)
    with pytest.raises(ValueError, match="one point per row"):
        values(ROWS[0])
    values.close()
    with pytest.raises(RuntimeError, match="closed"):
        values(ROWS)


def test_exception_on_an_executor_propagates_and_leaves_it_healthy() -> None:
    with ThreadPoolExecutor(2) as threads:
        with Evaluator(fails, workers=threads) as values, pytest.raises(KeyError, match="no such simulation"):
            values(ROWS)
        assert threads.submit(sphere, ROWS[0]).result() == EXPECTED[0]


def test_an_exception_that_is_a_timeout_is_no_timeout() -> None:
    def fun(x: NDArray[np.float64]) -> float:
        raise TimeoutError("the licence server does not answer")

    with ThreadPoolExecutor(1) as threads, Evaluator(fun, workers=threads, timeout=30.0) as values:
        with pytest.raises(TimeoutError, match="licence"):
            values(ROWS)
    assert values.failures.timeouts == 0


def test_time_in_the_queue_does_not_count() -> None:
    def fun(x: NDArray[np.float64]) -> float:
        time.sleep(0.1)
        return 1.0

    with ThreadPoolExecutor(2) as threads, Evaluator(fun, workers=threads, timeout=1.0) as values:
        np.testing.assert_array_equal(values(np.zeros((30, 1))), np.ones(30))
    assert values.failures.timeouts == 0


def test_a_call_over_its_time_is_abandoned() -> None:
    free = threading.Event()

    def fun(x: NDArray[np.float64]) -> float:
        if x[0] == 1.0:
            free.wait(60.0)
        return float(x[0])

    rows = np.arange(6.0).reshape(6, 1)
    with ThreadPoolExecutor(3) as threads:
        with Evaluator(fun, workers=threads, timeout=0.5, retries=1) as values:
            np.testing.assert_array_equal(values(rows), [0.0, np.nan, 2.0, 3.0, 4.0, 5.0])
            assert (values.failures.timeouts, values.failures.lost) == (2, 1)
            free.set()
            # The two threads that hung are back.
            np.testing.assert_array_equal(values(rows), rows[:, 0])


def test_when_all_workers_hang_the_error_says_so() -> None:
    free = threading.Event()
    with ThreadPoolExecutor(2) as threads:
        with Evaluator(lambda x: free.wait(60.0), workers=threads, timeout=0.1) as values:
            with pytest.raises(RuntimeError, match="all 2 workers of the executor hang"):
                values(ROWS)
        free.set()


def test_a_broken_executor_is_explained() -> None:
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as processes:
        with Evaluator(ends_its_process, workers=processes) as values:
            with pytest.raises(RuntimeError, match="ProcessPoolExecutor: it broke as a whole"):
                values(ROWS)


def test_unpicklable_function_on_a_process_executor() -> None:
    with ProcessPoolExecutor(1) as processes, pytest.raises(TypeError, match="module level"):
        Evaluator(lambda x: 0.0, workers=processes)
