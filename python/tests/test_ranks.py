"""`comm=`: the same result on all ranks, which are threads here; test_mpi.py has real ones."""

from __future__ import annotations

import pickle
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import cbo


class Ranks:
    """Communicators of threads that hand objects to each other, as those of mpi4py do."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.barrier = threading.Barrier(size, timeout=20.0)
        self.places: list[Any] = [None] * size


class Rank:
    """One of them."""

    def __init__(self, ranks: Ranks, number: int) -> None:
        self.ranks = ranks
        self.number = number

    def Get_rank(self) -> int:
        return self.number

    def Get_size(self) -> int:
        return self.ranks.size

    def _put(self, value: Any) -> list[Any]:
        self.ranks.places[self.number] = pickle.dumps(value)
        self.ranks.barrier.wait()
        seen = [pickle.loads(place) for place in self.ranks.places]
        self.ranks.barrier.wait()
        return seen

    def bcast(self, obj: Any, root: int = 0) -> Any:
        return self._put(obj)[root]

    def scatter(self, sendobj: Any, root: int = 0) -> Any:
        return self._put(sendobj)[root][self.number]

    def gather(self, sendobj: Any, root: int = 0) -> list[Any] | None:
        seen = self._put(sendobj)
        return seen if self.number == root else None


def on_ranks(size: int, work: Any) -> list[Any]:
    ranks = Ranks(size)
    with ThreadPoolExecutor(size) as pool:
        return [future.result() for future in [pool.submit(work, Rank(ranks, i)) for i in range(size)]]


def sphere(x: Any) -> float:
    return float(np.sum(x**2))


def sphere_rows(x: Any) -> Any:
    return np.sum(x**2, axis=1)


@pytest.mark.parametrize("vectorized", [False, True])
@pytest.mark.parametrize("options", [{"particles": 40, "steps": 6}, {"max_evaluations": 300}])
def test_all_ranks_have_the_same_result_at_any_number(vectorized: bool, options: dict[str, Any]) -> None:
    fun = sphere_rows if vectorized else sphere
    run: dict[str, Any] = {"vectorized": vectorized, "seed": 3, **options}
    found = [
        on_ranks(size, lambda comm: cbo.minimize(fun, [(-3.0, 4.0)] * 3, comm=comm, **run)) for size in (1, 2, 3)
    ]
    first = found[0][0]
    for result in [result for results in found for result in results]:
        assert np.array_equal(result.x, first.x) and (result.fun, result.nfev) == (first.fun, first.nfev)
    if "particles" in options:
        alone = cbo.minimize(fun, [(-3.0, 4.0)] * 3, **run)
        assert np.array_equal(alone.population, first.population)


def test_an_exception_on_one_rank_is_raised_on_all() -> None:
    def work(comm: Rank) -> str:
        def fun(x: Any) -> float:
            if comm.number == 2:
                raise KeyError("no such simulation")
            return sphere(x)

        with pytest.raises(KeyError, match="no such simulation"):
            cbo.minimize(fun, [(-3.0, 4.0)] * 2, comm=comm, particles=10, steps=3, seed=1)
        return "raised"

    assert on_ranks(3, work) == ["raised"] * 3


def test_a_value_that_cannot_be_sent_is_an_error_on_all_ranks() -> None:
    def work(comm: Rank) -> str:
        def fun(x: Any) -> Any:
            return (v for v in x) if comm.number == 1 else sphere(x)

        with pytest.raises(TypeError, match="cannot be sent"):
            cbo.minimize(fun, [(-3.0, 4.0)] * 2, comm=comm, particles=10, steps=3, seed=1)
        return "raised"

    assert on_ranks(2, work) == ["raised"] * 2


def test_each_rank_evaluates_its_own_points() -> None:
    calls = [0, 0, 0]

    def work(comm: Rank) -> None:
        def fun(x: Any) -> float:
            calls[comm.number] += 1
            return sphere(x)

        cbo.minimize(fun, [(-3.0, 4.0)] * 2, comm=comm, particles=30, steps=2, seed=1)

    on_ranks(3, work)
    assert min(calls) >= 30 and sum(calls) in (90, 91)


def test_what_cannot_be_spread_is_refused() -> None:
    one = Rank(Ranks(1), 0)
    for options, says in [
        ({"workers": 2}, "leave workers"),
        ({"device": "cuda"}, "leave one of them out"),
        ({"comm": 3}, "communicator of mpi4py"),
    ]:
        with pytest.raises((TypeError, ValueError), match=says):
            cbo.minimize(sphere, [(-1.0, 1.0)], **{"comm": one, **options})  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="evaluated in Rust"):
        cbo.minimize(cbo.problems.sphere(2), comm=one)
