"""A run that ends within a step: the limits hold for each evaluation, and what was finished counts."""

from __future__ import annotations

import itertools
import multiprocessing
import os
import pathlib
import pickle
import time
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import cbo

BOX = [(-3.0, 3.0)] * 2
SWARM: dict[str, Any] = {"particles": 50, "seed": 5}
METHODS: list[dict[str, Any]] = [
    {"method": "auto", "batch": 20, "seed": 5},
    SWARM,
    {**SWARM, "batch": 25},
    {**SWARM, "precision": "f32"},
    {**SWARM, "method": "memory"},
    {**SWARM, "method": "memory:beta=2"},
]


def bowl(x: NDArray[np.float64]) -> float:
    return float(np.sum((x - 0.5) ** 2))


class Counted:
    """A bowl that does something else at one of its calls."""

    def __init__(self, at: int, then: Any) -> None:
        self.values: list[float] = []
        self._at = at
        self._then = then

    def __call__(self, x: NDArray[np.float64]) -> float:
        if len(self.values) + 1 == self._at and isinstance(self._then, BaseException):
            raise self._then
        self.values.append(self._then if len(self.values) + 1 == self._at else bowl(x))
        return self.values[-1]


def check(result: cbo.OptimizeResult, values: list[float]) -> None:
    """The result counts these evaluations, and no others."""
    assert (result.nfev, result.fun) == (len(values), min(values))
    assert np.isnan(result.consensus_fun) and np.isfinite(result.consensus).all()
    assert result.population_energies.shape == result.population.shape[:1]
    known = ~np.isnan(result.population_energies)
    at = [bowl(np.asarray(x, dtype=np.float64)) for x in result.population[known]]
    np.testing.assert_allclose(result.population_energies[known], at, rtol=1e-4)


@pytest.mark.parametrize("settings", METHODS)
@pytest.mark.parametrize("call", [2, 15, 77])
def test_what_was_finished_before_an_interrupt_counts(settings: dict[str, Any], call: int) -> None:
    fun = Counted(call, KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt) as caught:
        cbo.minimize(fun, BOX, **settings)
    result = caught.value.result  # type: ignore[attr-defined]
    assert len(fun.values) == call - 1
    check(result, fun.values)
    assert bowl(result.x) == pytest.approx(result.fun, rel=1e-5)
    assert (result.stop, result.status, result.success) == ("interrupt", 2, False)
    # Whole steps only.
    assert (result.history["evaluations"] < call).all()
    if settings is SWARM:
        assert result.nit == (call - 1) // 50 == len(result.history["step"])
        assert np.count_nonzero(~np.isnan(result.population_energies)) == (call - 1) % 50
        assert np.isnan(result.alpha) == (call <= 50)


@pytest.mark.parametrize("settings", METHODS)
@pytest.mark.parametrize("call", [1, 8, 77])
def test_a_target_ends_the_run_at_the_evaluation_that_reaches_it(settings: dict[str, Any], call: int) -> None:
    fun = Counted(call, -1.0)
    result = cbo.minimize(fun, BOX, target=-0.5, **settings)
    assert (result.nfev, result.fun, len(fun.values)) == (call, -1.0, call)
    assert (result.stop, result.status, result.success) == ("target", 0, True)
    assert result.message == "The target -0.5 is reached: the best value is -1."
    assert np.isnan(result.consensus_fun)


@pytest.mark.parametrize("settings", METHODS)
def test_the_time_ends_the_run_after_the_evaluation_that_exceeds_it(settings: dict[str, Any]) -> None:
    calls = []

    def fun(x: NDArray[np.float64]) -> float:
        calls.append(1)
        time.sleep(0.05)
        return bowl(x)

    result = cbo.minimize(fun, BOX, max_seconds=0.01, **settings)
    assert (len(calls), result.nfev, result.stop, result.status) == (1, 1, "seconds", 1)
    assert bowl(result.x) == pytest.approx(result.fun, rel=1e-5)
    assert result.message == "The 0.01 seconds allowed are over."


def test_a_vectorized_function_is_one_piece() -> None:
    calls = []

    def fun(x: NDArray[np.float64]) -> NDArray[np.float64]:
        calls.append(len(x))
        if len(calls) == 3:
            raise KeyboardInterrupt
        return np.sum((x - 0.5) ** 2, axis=1)

    with pytest.raises(KeyboardInterrupt) as caught:
        cbo.minimize(fun, BOX, vectorized=True, **SWARM)
    assert caught.value.result.nfev == 100  # type: ignore[attr-defined]


def test_the_second_call_of_a_step_is_left_out_if_the_first_is_enough() -> None:
    calls = []

    def fun(x: NDArray[np.float64]) -> NDArray[np.float64]:
        calls.append(len(x))
        return np.sum((x - 0.5) ** 2, axis=1) - 100.0 * (len(calls) == 2)

    # After its first step a smooth memory asks for the positions and for what the particles remember.
    result = cbo.minimize(fun, BOX, vectorized=True, method="memory:beta=2", target=-1.0, **SWARM)
    assert (calls, result.nfev, result.nit, result.stop) == ([50, 50], 100, 1, "target")
    assert result.fun < -1.0


@pytest.mark.parametrize("stop", ["target", "max_seconds", "callback"])
def test_the_consensus_point_is_not_evaluated_when_the_run_is_to_end(stop: str) -> None:
    keywords: dict[str, Any] = {
        "target": {"target": 1e9},
        "max_seconds": {"max_seconds": 1e-9},
        "callback": {"callback": lambda step: True},
    }[stop]
    for vectorized in (True, False):
        calls = []

        def fun(x: NDArray[np.float64], calls: list[int] = calls) -> Any:
            calls.append(1 if x.ndim == 1 else len(x))
            return np.sum(x**2, axis=-1)

        result = cbo.minimize(fun, BOX, vectorized=vectorized, **keywords, **SWARM)
        assert result.nfev == sum(calls) and np.isnan(result.consensus_fun)
        assert result.nfev == (50 if vectorized or stop == "callback" else 1)


def test_any_exception_carries_the_result() -> None:
    for error in (LookupError("no such simulation"), SystemExit("enough")):
        fun = Counted(15, error)
        with pytest.raises(type(error)) as caught:
            cbo.minimize(fun, BOX, **SWARM)
        assert caught.value is error and str(error) in ("'no such simulation'", "no such simulation", "enough")
        result = error.result  # type: ignore[union-attr]
        check(result, fun.values)
        assert (result.stop, result.status, result.success) == ("exception", 4, False)
        assert result.message == "An exception ended the run."
        if hasattr(error, "add_note"):
            (note,) = error.__notes__
            assert note.startswith(f"14 evaluations were finished, and the best value is {result.fun:.6g}")
        assert pickle.loads(pickle.dumps(error)).result.fun == result.fun


def test_an_exception_of_the_callback_or_of_the_engine_carries_it_too() -> None:
    def refuses(step: Any) -> None:
        raise LookupError("no")

    for fun in (bowl, cbo.problems.sphere(2)):
        with pytest.raises(LookupError) as caught:
            cbo.minimize(fun, BOX, callback=refuses, **SWARM)
        assert caught.value.result.nfev >= 50  # type: ignore[attr-defined]
    with pytest.raises(RuntimeError) as strict:
        cbo.minimize(Counted(60, float("nan")), BOX, strict=True, **SWARM)
    assert strict.value.result.nfev == 100  # type: ignore[attr-defined]
    with pytest.raises(RuntimeError) as nothing:
        cbo.minimize(lambda x: float("inf"), BOX, **SWARM)
    result = nothing.value.result  # type: ignore[attr-defined]
    assert (result.fun, result.infeasible_evaluations) == (np.inf, 50) and np.isnan(result.x).all()
    assert not hasattr(nothing.value, "__notes__")


def test_exceptions_that_are_not_ours_to_change_stay_as_they_are() -> None:
    class Refuses(Exception):
        def __setattr__(self, name: str, value: Any) -> None:
            raise TypeError("frozen")

    class HasOne(Exception):
        result = "its own"

    for kind in (Refuses, HasOne):
        error = kind("from within")
        with pytest.raises(kind) as caught:
            cbo.minimize(Counted(15, error), BOX, **SWARM)
        assert caught.value is error
        assert getattr(error, "result", None) in (None, "its own") and not hasattr(error, "__notes__")


def test_the_result_is_that_of_the_outer_run() -> None:
    calls = itertools.count()

    def outer(x: NDArray[np.float64]) -> float:
        fun = Counted(7 if next(calls) == 3 else -1, LookupError("no"))
        return cbo.minimize(fun, BOX, max_evaluations=20, seed=1).fun

    with pytest.raises(LookupError) as caught:
        cbo.minimize(outer, BOX, **SWARM)
    assert caught.value.result.nfev == 3  # type: ignore[attr-defined]


def test_nothing_is_found_before_the_first_evaluation() -> None:
    with pytest.raises(KeyboardInterrupt) as caught:
        cbo.minimize(Counted(1, KeyboardInterrupt()), BOX, **SWARM)
    result = caught.value.result  # type: ignore[attr-defined]
    assert (result.nfev, result.nit, result.fun) == (0, 0, np.inf)
    assert np.isnan(result.x).all() and np.isnan(result.alpha) and not hasattr(caught.value, "__notes__")


# Workers: what they do must be importable, and folders count their calls.


def marked(x: NDArray[np.float64], folder: str) -> int:
    """Counts this call, and the calls before it."""
    for number in itertools.count():
        try:
            os.close(os.open(pathlib.Path(folder) / str(number), os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            continue
        return number + 1
    raise AssertionError


def reaches_at_8(x: NDArray[np.float64], folder: str) -> float:
    return -1.0 if marked(x, folder) == 8 else bowl(x)


def raises_at_15(x: NDArray[np.float64], folder: str) -> float:
    if marked(x, folder) == 15:
        raise LookupError("no such simulation")
    return bowl(x)


def dies_at_15(x: NDArray[np.float64], folder: str) -> float:
    if marked(x, folder) == 15:
        os._exit(3)
    return bowl(x)


def slow(x: NDArray[np.float64], folder: str) -> float:
    marked(x, folder)
    time.sleep(0.05)
    return bowl(x)


def calls_in(folder: pathlib.Path) -> int:
    return len(list(folder.iterdir()))


def spawned(count: int) -> ProcessPoolExecutor:
    return ProcessPoolExecutor(count, mp_context=get_context("spawn"))


@pytest.mark.parametrize("settings", METHODS)
def test_processes_are_given_no_more_points_than_needed(settings: dict[str, Any], tmp_path: pathlib.Path) -> None:
    result = cbo.minimize(reaches_at_8, BOX, args=(str(tmp_path),), workers=2, target=-0.5, **settings)
    assert (result.stop, result.fun) == ("target", -1.0) and np.isnan(result.consensus_fun)
    assert 8 <= result.nfev == calls_in(tmp_path) <= 9
    assert multiprocessing.active_children() == []


def test_the_time_of_processes_is_kept(tmp_path: pathlib.Path) -> None:
    result = cbo.minimize(slow, BOX, args=(str(tmp_path),), workers=2, max_seconds=0.01, **SWARM)
    assert (result.stop, result.nit) == ("seconds", 0)
    assert 1 <= result.nfev == calls_in(tmp_path) <= 2


def test_what_processes_have_finished_counts(tmp_path: pathlib.Path) -> None:
    with pytest.raises(LookupError) as caught:
        cbo.minimize(raises_at_15, BOX, args=(str(tmp_path),), workers=2, **SWARM)
    result = caught.value.result  # type: ignore[attr-defined]
    # All but the one that raised, and the one that was in flight then; never the whole step.
    assert 13 <= result.nfev <= calls_in(tmp_path) - 1 < 49
    assert (result.stop, result.nit) == ("exception", 0) and bowl(result.x) == result.fun


def test_a_process_that_dies_is_a_failed_evaluation_of_an_unfinished_run(tmp_path: pathlib.Path) -> None:
    calls = itertools.count()

    def stop(step: Any) -> None:
        if next(calls) == 1:
            raise LookupError("no")

    with pytest.raises(LookupError) as caught:
        cbo.minimize(dies_at_15, BOX, args=(str(tmp_path),), workers=2, callback=stop, **SWARM)
    result = caught.value.result  # type: ignore[attr-defined]
    assert (result.nfev, result.failed_evaluations) == (100, 1)
    assert "1 evaluations were lost" in result.message


def test_threads_take_no_more_points_than_needed(tmp_path: pathlib.Path) -> None:
    with ThreadPoolExecutor(2) as pool:
        result = cbo.minimize(slow, BOX, args=(str(tmp_path),), workers=pool, max_seconds=0.01, **SWARM)
    # Nothing was finished when the time was over: two calls, and two that the threads took up after them at most.
    assert result.stop == "seconds" and 1 <= result.nfev == calls_in(tmp_path) <= 4


def test_an_executor_of_processes_takes_few_points_more(tmp_path: pathlib.Path) -> None:
    with spawned(2) as pool:
        result = cbo.minimize(reaches_at_8, BOX, args=(str(tmp_path),), workers=pool, target=-0.5, **SWARM)
    # It takes some calls in advance, which cannot be taken back.
    assert result.stop == "target" and 8 <= result.nfev == calls_in(tmp_path) < 50


def test_what_an_executor_has_finished_counts(tmp_path: pathlib.Path) -> None:
    with ThreadPoolExecutor(2) as pool, pytest.raises(LookupError) as caught:
        cbo.minimize(raises_at_15, BOX, args=(str(tmp_path),), workers=pool, **SWARM)
    assert 13 <= caught.value.result.nfev <= 49  # type: ignore[attr-defined]


def test_what_an_executor_had_finished_when_it_broke_counts(tmp_path: pathlib.Path) -> None:
    with spawned(1) as pool, pytest.raises(RuntimeError, match="broke as a whole") as caught:
        cbo.minimize(dies_at_15, BOX, args=(str(tmp_path),), workers=pool, **SWARM)
    result = caught.value.result  # type: ignore[attr-defined]
    assert (result.nfev, result.failed_evaluations) == (14, 0) and bowl(result.x) == result.fun


class Interrupted:
    """An executor in which Ctrl-C comes while calls that are done have not been looked at."""

    def __init__(self) -> None:
        self.calls = 0

    def submit(self, fun: Any, *args: Any) -> Any:
        self.calls += 1
        if self.calls == 15:
            raise KeyboardInterrupt
        future: Future[Any] = Future()
        future.set_result(fun(*args))
        return future


def test_calls_that_are_done_but_not_looked_at_count() -> None:
    with pytest.raises(KeyboardInterrupt) as caught:
        cbo.minimize(bowl, BOX, workers=Interrupted(), **SWARM)
    assert caught.value.result.nfev == 14  # type: ignore[attr-defined]


class Queue:
    """An executor that makes one call, and lets the others wait."""

    def __init__(self) -> None:
        self.futures: list[Future[Any]] = []

    def submit(self, fun: Any, *args: Any) -> Any:
        self.futures.append(Future())
        if len(self.futures) == 1:
            self.futures[0].set_result(fun(*args))
        return self.futures[-1]


def test_calls_that_wait_are_taken_back_when_the_time_is_over() -> None:
    queue = Queue()
    result = cbo.minimize(bowl, BOX, workers=queue, max_seconds=0.2, **SWARM)
    assert (result.nfev, result.stop, len(queue.futures)) == (1, "seconds", 50)
    assert all(future.cancelled() for future in queue.futures[1:])


def test_a_lazy_map_is_asked_one_by_one() -> None:
    fun = Counted(8, -1.0)
    result = cbo.minimize(fun, BOX, workers=map, target=-0.5, **SWARM)
    assert (result.nfev, len(fun.values), result.stop) == (8, 8, "target")
    fun = Counted(15, KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt) as caught:
        cbo.minimize(fun, BOX, workers=map, **SWARM)
    check(caught.value.result, fun.values)  # type: ignore[attr-defined]


def test_a_map_that_returns_a_list_is_one_piece() -> None:
    def own_map(fun: Any, points: Any) -> list[float]:
        return [fun(x) for x in points]

    result = cbo.minimize(Counted(8, -1.0), BOX, workers=own_map, target=-0.5, **SWARM)
    assert (result.nfev, result.fun, result.stop) == (50, -1.0, "target")
