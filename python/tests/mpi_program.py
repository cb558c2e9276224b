"""Started by test_mpi.py under mpirun: evaluates on the other ranks and prints what it saw."""

from __future__ import annotations

import json
import os
import time
from typing import Any

import numpy as np
from mpi4py.futures import MPIPoolExecutor
from numpy.typing import NDArray

import cbo
from cbo._evaluate import Evaluator


def square(x: NDArray[np.float64], shift: float) -> float:
    return float((x[0] - shift) ** 2)


def square_rows(x: NDArray[np.float64]) -> NDArray[np.float64]:
    return x[:, 0] ** 2


def process_id(x: NDArray[np.float64]) -> float:
    time.sleep(0.05)
    return float(os.getpid())


def fails(x: NDArray[np.float64]) -> float:
    raise KeyError("no such simulation")


def slow(x: NDArray[np.float64]) -> float:
    time.sleep(1.5 if x[0] == 1.0 else 0.0)
    return float(x[0])


def main() -> None:
    rows = np.arange(6.0).reshape(6, 1)
    seen: dict[str, object] = {"caller": os.getpid()}
    with MPIPoolExecutor() as executor:
        with Evaluator(square, args=(1.0,), workers=executor) as values:
            seen["squares"] = values(rows).tolist()
        run: dict[str, Any] = {"args": (1.0,), "particles": 10, "steps": 4, "seed": 2}
        here = cbo.minimize(square, [(-1.0, 2.0)], **run)
        there = cbo.minimize(square, [(-1.0, 2.0)], workers=executor, **run)
        seen["same"] = bool(np.array_equal(here.population, there.population)) and here.fun == there.fun
        with Evaluator(square_rows, vectorized=True, workers=executor) as values:
            seen["rows"] = values(rows).tolist()
        with Evaluator(process_id, workers=executor) as values:
            seen["processes"] = sorted(set(values(rows)))
        with Evaluator(fails, workers=executor) as values:
            try:
                values(rows)
            except KeyError as error:
                seen["raised"] = str(error)
        with Evaluator(slow, workers=executor, timeout=0.7) as values:
            seen["slow"] = values(rows).tolist()
            seen["timeouts"] = values.failures.timeouts
        try:
            Evaluator(lambda x: 0.0, workers=executor)
        except TypeError as error:
            seen["unpicklable"] = str(error)
        # Still open: it is not ours.
        seen["after"] = executor.submit(abs, -1).result()
    print(json.dumps(seen))


if __name__ == "__main__":
    main()
