"""What is recorded of a run: how its best value improves, evaluation by evaluation, until the budget is spent."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._lib import Problem
from ._values import convert

Array = NDArray[np.float64]


class Spent(BaseException):
    """The evaluations are spent. Not an `Exception`: a solver that catches those must end, too."""


class Recorder:
    """A function that counts its evaluations, notes each improvement, and ends whoever wants more than the budget.

    It takes a point of shape (d,) for a float, or points of shape (..., d) for an array of values.
    """

    def __init__(
        self, fun: Callable[..., Any], dim: int, budget: int, distance: Callable[[Array], float]
    ) -> None:
        self._fun = fun
        self._dim = dim
        self._budget = budget
        self._distance = distance
        self._best = math.inf
        self._improvements: list[tuple[float, float, float]] = []
        self.evaluations = 0
        self.point: Array = np.full(dim, np.nan)

    def __call__(self, x: Any, *_: Any) -> Any:
        points = np.asarray(x, dtype=np.float64)
        if points.ndim == 0 or points.shape[-1] != self._dim:
            raise ValueError(
                f"a point has {self._dim} coordinates, but the solver asked for an array of shape {points.shape}"
            )
        rows = points.reshape(-1, self._dim)
        left = self._budget - self.evaluations
        values = self._values(rows[:left])
        for row, value in zip(rows, values, strict=False):
            self._note(row, float(value))
        if len(rows) > left:
            raise Spent
        return float(values[0]) if points.ndim == 1 else values.reshape(points.shape[:-1])

    def _values(self, rows: Array) -> Array:
        if len(rows) == 0:
            raise Spent
        if isinstance(self._fun, Problem):
            return np.asarray(self._fun(rows), dtype=np.float64)
        # Copies: a function may keep what it is given, and a solver may change it.
        values = [
            convert(self._fun(row.copy()), self.evaluations, place, rows) for place, row in enumerate(rows)
        ]
        return np.array(values, dtype=np.float64)

    def _note(self, point: Array, value: float) -> None:
        self.evaluations += 1
        if value < self._best and math.isfinite(value):
            self._best, self.point = value, point.copy()
            self._improvements.append((self.evaluations, value, self._distance(self.point)))

    def run(self, seed: int, judged: tuple[Array, float] | None = None) -> dict[str, Any]:
        """The run as it is judged: by its best point, or by another one at its end."""
        found = bool(self._improvements)
        value, distance = (self._improvements[-1][1:]) if found else (math.inf, math.inf)
        if judged is not None and found:
            value, distance = judged[1], self._distance(judged[0])
        return {
            "seed": seed,
            "value": value,
            "distance": distance,
            "evaluations": self.evaluations,
            "at_its_end": judged is not None,
            "finished": found,
            "history": np.array(self._improvements, dtype=np.float64).reshape(-1, 3),
        }


def solve(
    solver: Callable[..., Any], recorder: Recorder, bounds: Array, budget: int, seed: int, start: Array
) -> None:
    """Lets a solver in Python run, until it is done or the evaluations are spent."""
    pairs = [(float(low), float(high)) for low, high in bounds]
    more = {"x0s": start} if takes_start(solver) else {}
    try:
        solver(recorder, pairs, budget, seed, **more)
    except Spent:
        pass


def takes_start(solver: Callable[..., Any]) -> bool:
    """Whether a solver wants initial points: it has an argument ``x0s``, or takes any."""
    try:
        arguments = inspect.signature(solver).parameters.values()
    except (TypeError, ValueError):
        return False
    return any(each.name == "x0s" or each.kind is each.VAR_KEYWORD for each in arguments)
