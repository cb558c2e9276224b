"""Real numbers of any kind as floats: exact fractions, decimals, whatever has ``__float__``, masked arrays."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np
from numpy.typing import NDArray


def number(value: Any) -> float:
    """One real number as a float.

    Raises
    ------
    TypeError
        If it is not a real number. Texts are not, nor complex numbers, whatever they could be turned into.
    OverflowError
        If it is too large.
    """
    is_complex = isinstance(value, numbers.Complex) and not isinstance(value, numbers.Real)
    if is_complex or isinstance(value, (str, bytes)) or not hasattr(type(value), "__float__"):
        raise TypeError(f"{type(value).__name__} is not a real number")
    try:
        return float(value)
    except ValueError as error:
        raise TypeError(str(error)) from None


def array(value: Any) -> NDArray[Any]:
    """The value as an array, whose numbers are floats if NumPy has no type for them; raises as `number` does.

    What is masked becomes NaN.
    """
    if isinstance(value, np.ma.MaskedArray):
        plain = array(np.ma.getdata(value))
        hidden = np.ma.getmaskarray(value)
        return np.where(hidden, np.nan, plain) if hidden.any() else plain
    try:
        found = np.asarray(value)
    except ValueError as error:  # rows of different lengths
        raise TypeError(str(error)) from None
    if found.dtype == object:
        floats = np.array([number(item) for item in found.ravel()], dtype=np.float64)
        return floats.reshape(found.shape)
    return found


def shown(value: Any) -> str:
    """A short text of a value for a message; Python refuses to write down whole numbers of thousands of digits."""
    try:
        return f"{value!r:.60}"
    except Exception:  # whatever the value's own text does
        return f"a {type(value).__name__}"
