"""Checks what an objective returned, if it is not plainly a float or an array of floats."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _reals


def _described(result: Any) -> str:
    if isinstance(result, np.ndarray):
        return f"an array of shape {result.shape} and dtype {result.dtype}"
    if result is None:
        return "None"
    return f"{type(result).__name__} {_reals.shown(result)}"


def _where(step: int, row: int | None) -> str:
    return f"in step {step}" if row is None else f"in step {step} for point {row}"


def _missing(result: Any) -> str:
    return " (is a return statement missing?)" if result is None else ""


def convert(result: Any, step: int, row: int | None, points: NDArray[Any]) -> float | NDArray[np.float64]:
    """The value of one point (``row`` given) or the values of all points, as floats.

    Raises
    ------
    TypeError
        If it is not made of real numbers.
    ValueError
        If there are too many or too few of them, or one is too large.
    """
    if row is None:
        return _values(result, step, points)
    if isinstance(result, numbers.Real):
        try:
            return float(result)
        except OverflowError:
            raise _too_large(result, step, row) from None
    array = _real(result, step, row, "a function of one point returns a float")
    if array.size != 1:
        raise ValueError(
            f"fun returned {_described(result)} {_where(step, row)}: "
            "a function of one point returns a float; with vectorized=True it is given all points at once"
        )
    return float(array.reshape(()))


def _values(result: Any, step: int, points: NDArray[Any]) -> NDArray[np.float64]:
    count = len(points)
    right = f"a vectorized function returns an array of shape ({count},) for points of shape {points.shape}"
    array = _real(result, step, None, right)
    if array.shape != (count,):
        raise ValueError(f"fun returned {_described(result)} {_where(step, None)}: {right}")
    return np.ascontiguousarray(array)


def _too_large(result: Any, step: int, row: int | None) -> ValueError:
    return ValueError(
        f"fun returned {_described(result)} {_where(step, row)}: too large for a float; "
        "return infinity for a point that is infeasible"
    )


def _real(result: Any, step: int, row: int | None, right: str) -> NDArray[np.float64]:
    """The result as an array of floats; a value that is masked is one that failed."""
    problem = TypeError(f"fun returned {_described(result)} {_where(step, row)}: {right}{_missing(result)}")
    try:
        array = _reals.array(result)
    except TypeError:
        raise problem from None
    except OverflowError:
        raise _too_large(result, step, row) from None
    if array.dtype.kind not in "fiub":
        raise problem
    return array.astype(np.float64, copy=False)
