"""Evaluation on a Dask cluster of two processes on this machine."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import cbo
from cbo._evaluate import Evaluator

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")

ROWS = np.arange(8.0).reshape(8, 1)


def square(x: NDArray[np.float64]) -> float:
    return float(x[0] ** 2)


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    settings = {
        # One death is enough: by default Dask tries a point on three more workers before it tells.
        "distributed.scheduler.allowed-failures": 0,
        "distributed.worker.daemon": True,
    }
    with dask.config.set(settings):
        cluster = distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, host="127.0.0.1"
        )
        with cluster, distributed.Client(cluster) as client:
            yield client


def test_values_in_the_order_of_the_points(client: Any) -> None:
    with Evaluator(square, workers=client) as values:
        np.testing.assert_array_equal(values(ROWS), ROWS[:, 0] ** 2)
    with Evaluator(lambda x: x[:, 0] ** 2, vectorized=True, workers=client) as values:
        np.testing.assert_array_equal(values(ROWS), ROWS[:, 0] ** 2)
    assert client.submit(square, ROWS[2]).result() == 4.0


def test_a_run_on_the_cluster_is_the_run_here(client: Any) -> None:
    settings: dict[str, Any] = {"particles": 10, "steps": 4, "seed": 2}
    here = cbo.minimize(square, [(-1.0, 2.0)], **settings)
    there = cbo.minimize(square, [(-1.0, 2.0)], workers=client, timeout=60.0, **settings)
    np.testing.assert_array_equal(here.population, there.population)
    assert (here.fun, here.nfev) == (there.fun, there.nfev)


def test_equal_points_are_evaluated_each(client: Any) -> None:
    def draw(x: NDArray[np.float64]) -> float:
        return float(np.random.default_rng().uniform())

    with Evaluator(draw, workers=client) as values:
        drawn = values(np.zeros((6, 1)))
    assert len(set(drawn)) == 6


def test_exception_propagates(client: Any) -> None:
    def fails(x: NDArray[np.float64]) -> float:
        raise KeyError("no such simulation")

    with Evaluator(fails, workers=client) as values, pytest.raises(KeyError, match="no such simulation"):
        values(ROWS)


def test_a_call_over_its_time_is_abandoned(client: Any) -> None:
    def hangs(x: NDArray[np.float64]) -> float:
        if x[0] == 1.0:
            time.sleep(4.0)
        return float(x[0])

    with Evaluator(hangs, workers=client, timeout=2.0) as values:
        np.testing.assert_array_equal(values(ROWS[:4]), [0.0, np.nan, 2.0, 3.0])
    assert values.failures.timeouts == 1


def test_a_worker_that_dies_costs_its_point(client: Any) -> None:
    def dies(x: NDArray[np.float64]) -> float:
        if x[0] == 1.0:
            os._exit(3)
        return float(x[0])

    with Evaluator(dies, workers=client, retries=1) as values:
        found = values(ROWS[:2])
    # A point that shared the worker with the deadly one is repeated by Dask or by us.
    np.testing.assert_array_equal(found, [0.0, np.nan])
    assert values.failures.crashes >= 2
    assert "KilledWorker" in values.failures.messages[-1]
