"""Constraints as ``scipy.optimize`` takes them, read without importing it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _lib

# Rows of shape (n, d) in; (n, m) out, each met where it is zero or less.
Function = Callable[[NDArray[Any]], NDArray[np.float64]]

_KINDS = (
    "give scipy's LinearConstraint or NonlinearConstraint, a dictionary with 'type' and 'fun', or a list of such"
)


class Constraints:
    """All constraints of a run, as the engine wants them.

    Parameters
    ----------
    given
        What the user gave.
    dim : int
        Number of coordinates.
    probe : ndarray
        A point at which functions are called once, to see how many numbers they return.
    vectorized : bool
        Whether functions take rows.
    tolerance : float
        How far an equality may be missed.
    """

    def __init__(
        self, given: Any, dim: int, probe: NDArray[np.float64], vectorized: bool, tolerance: float
    ) -> None:
        self._dim, self._vectorized, self._tolerance = dim, vectorized, tolerance
        self._parts: list[tuple[Function, NDArray[np.float64], NDArray[np.float64]]] = []
        self.count = 0
        for number, one in enumerate(_listed(given)):
            name = "constraints" if one is given else f"constraints[{number}]"
            fun, low, high = self._read(one, name)
            values = _rows(name, fun, probe[None, :])
            low, high = _limits(name, low, high, values.shape[1])
            self._parts.append((_named(name, fun), low, high))
            self.count += self._sides(values, low, high).shape[1]

    def add(self, fun: Function, count: int) -> None:
        """Constraints that are known to be functions of rows, of which there are this many."""
        limits = np.full(count, -np.inf), np.zeros(count)
        self._parts.insert(0, (fun, *limits))
        self.count += count

    def __call__(self, rows: NDArray[Any]) -> NDArray[np.float64]:
        """The constraints of rows of shape (n, d), one row after the other in one array."""
        rows = np.asarray(rows, dtype=np.float64)
        sides = [self._sides(fun(rows), low, high) for fun, low, high in self._parts]
        return np.ascontiguousarray(np.concatenate(sides, axis=1)).ravel()

    def _sides(
        self, values: NDArray[np.float64], low: NDArray[np.float64], high: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        slack = np.where(low == high, self._tolerance, 0.0)
        upper, lower = np.isfinite(high), np.isfinite(low)
        above = values[:, upper] - high[upper] - slack[upper]
        below = low[lower] - values[:, lower] - slack[lower]
        return np.concatenate([above, below], axis=1)

    def _read(self, one: Any, name: str) -> tuple[Function, Any, Any]:
        """A function of rows, and the limits of what it returns."""
        if isinstance(one, dict):
            return self._of_dict(one, name)
        if not (hasattr(one, "lb") and hasattr(one, "ub")):
            raise TypeError(f"{name} = {one!r:.60}: {_KINDS}")
        if hasattr(one, "A"):
            matrix = self._matrix(one.A, name)
            return (lambda rows: rows @ matrix.T), one.lb, one.ub
        if hasattr(one, "fun"):
            return self._of_points(one.fun, (), name), one.lb, one.ub
        # scipy's Bounds.
        return (lambda rows: rows), one.lb, one.ub

    def _of_dict(self, one: dict[str, Any], name: str) -> tuple[Function, Any, Any]:
        unknown = one.keys() - {"type", "fun", "args", "jac", "hess"}
        if unknown:
            raise ValueError(f"{name} has the key {sorted(unknown)[0]!r}: the keys are 'type', 'fun' and 'args'")
        kind, fun = one.get("type"), one.get("fun")
        if kind not in ("ineq", "eq"):
            raise ValueError(f"{name} has the type {kind!r}: it must be 'ineq' (fun(x) >= 0) or 'eq' (fun(x) = 0)")
        args = one.get("args", ())
        args = tuple(args) if isinstance(args, (tuple, list)) else (args,)
        return self._of_points(fun, args, name), 0.0, np.inf if kind == "ineq" else 0.0

    def _of_points(self, fun: Any, args: tuple[Any, ...], name: str) -> Function:
        if not callable(fun):
            raise TypeError(f"{name} has fun = {fun!r:.60}: it must be a function of a point")
        if self._vectorized:

            def of_rows(rows: NDArray[Any]) -> NDArray[np.float64]:
                values = np.asarray(fun(rows, *args), dtype=np.float64)
                return values[:, None] if values.ndim == 1 else values

            return of_rows

        def of_each(rows: NDArray[Any]) -> NDArray[np.float64]:
            return np.stack([np.atleast_1d(np.asarray(fun(x.copy(), *args), dtype=np.float64)) for x in rows])

        return of_each

    def _matrix(self, given: Any, name: str) -> NDArray[np.float64]:
        dense = given.toarray() if hasattr(given, "toarray") else given
        matrix = np.atleast_2d(np.asarray(dense, dtype=np.float64))
        if matrix.ndim != 2 or matrix.shape[1] != self._dim:
            raise ValueError(f"{name} has A of shape {matrix.shape}: its rows have {self._dim} coefficients")
        if not np.isfinite(matrix).all():
            raise ValueError(f"{name} has A with {matrix[~np.isfinite(matrix)][0]}: it must be finite")
        return matrix


def settle(
    given: Any,
    problem: _lib.Problem | None,
    dim: int,
    settings: dict[str, Any],
    *,
    vectorized: bool,
    tolerance: Any,
) -> Constraints | None:
    """The constraints of a run, with those of a built-in problem; None if there are none."""
    try:
        slack = float(tolerance)
    except (TypeError, ValueError):
        slack = np.nan
    if not (slack >= 0 and np.isfinite(slack)):
        raise ValueError(f"equality_tolerance = {tolerance!r:.60}: must be zero or a positive finite number")
    constraints = Constraints(given, dim, _probe(settings, dim), vectorized, slack)
    if problem is not None and problem.constraints:
        constraints.add(problem.constraint_values, len(problem.constraints))
    return constraints if constraints.count else None


def is_given(given: Any) -> bool:
    """Whether there are any."""
    return given is not None and not (isinstance(given, (list, tuple)) and len(given) == 0)


def _listed(given: Any) -> Iterable[Any]:
    if not is_given(given):
        return []
    return given if isinstance(given, (list, tuple)) else [given]


def _probe(settings: dict[str, Any], dim: int) -> NDArray[np.float64]:
    """A point where the search starts."""
    for name in ("init_mean", "init_points"):
        if name in settings:
            return np.asarray(np.atleast_2d(settings[name])[0], dtype=np.float64)
    box = settings.get("init_box")
    return np.zeros(dim) if box is None else np.asarray(box, dtype=np.float64).mean(axis=1)


def _rows(name: str, fun: Function, rows: NDArray[np.float64]) -> NDArray[np.float64]:
    values = fun(rows)
    if values.ndim != 2 or len(values) != len(rows):
        raise ValueError(
            f"{name}: its function returned the shape {values.shape} for {len(rows)} rows; it must return a row of "
            f"numbers, or one number, for each"
        )
    return values


def _named(name: str, fun: Function) -> Function:
    return lambda rows: _rows(name, fun, rows)


def _limits(
    name: str, low: Any, high: Any, count: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    def one(end: str, given: Any) -> NDArray[np.float64]:
        try:
            return np.broadcast_to(np.asarray(given, dtype=np.float64), count)
        except ValueError:
            raise ValueError(
                f"{name} has {end} = {given!r:.60}: there are {count} functions, give one number or {count}"
            ) from None

    ends = one("lb", low), one("ub", high)
    if np.isnan(ends).any() or (ends[0] > ends[1]).any():
        raise ValueError(f"{name} has lb = {low!r:.40} and ub = {high!r:.40}: lb must not be larger than ub")
    return ends
