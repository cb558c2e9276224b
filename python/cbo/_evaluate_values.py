"""What an objective returns, and the record of a batch of calls: shared by all ways to evaluate."""

from __future__ import annotations

import collections
import dataclasses
import itertools
import math
import numbers
import os
from collections.abc import Callable
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from . import _reals

Rows: TypeAlias = NDArray[np.floating[Any]]
"""Points, one per row, in the precision of the run."""


class WithArgs:
    """``fun(x, *args)`` as a function of ``x`` alone that pickles whenever its parts do."""

    def __init__(self, fun: Callable[..., Any], args: tuple[Any, ...]) -> None:
        self.fun = fun
        self.args = args

    def __call__(self, x: Any) -> Any:
        return self.fun(x, *self.args)


def cores() -> int:
    """How many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def shown(x: Any, most: int = 60) -> str:
    """A short text of a value for a message."""
    try:
        text = " ".join(repr(x).split())
    except Exception:  # a whole number of thousands of digits, or whatever the value's own text does
        text = f"a {type(x).__name__}"
    return text if len(text) <= most else f"{text[: most - 3]}..."


def _described(returned: Any) -> str:
    if isinstance(returned, np.ndarray):
        return f"an array of shape {returned.shape} and dtype {returned.dtype}"
    return "None" if returned is None else f"{shown(returned)} ({type(returned).__name__})"


def _too_large(returned: Any) -> ValueError:
    return ValueError(
        f"fun returned {_described(returned)}: too large for a float; return infinity for an infeasible point"
    )


def _read(returned: Any, wanted: str) -> NDArray[np.float64]:
    """What was returned as an array of floats, or a TypeError that says what came back."""
    problem = TypeError(f"fun returned {_described(returned)}; {wanted}")
    try:
        array = _reals.array(returned)
    except TypeError:
        raise problem from None
    except OverflowError:
        raise _too_large(returned) from None
    if array.dtype.kind not in "fiub":
        raise problem
    return np.asarray(array, dtype=np.float64)


def as_value(returned: Any, x: Rows) -> float:
    """The float that ``fun`` returned for the point ``x``, or an error that says what came back."""
    if isinstance(returned, numbers.Real):
        try:
            return float(returned)
        except OverflowError:
            raise _too_large(returned) from None
    wanted = f"at x = {shown(x.tolist())} it must return one real number"
    array = _read(returned, f"{wanted} (is a return missing?)" if returned is None else wanted)
    # An array of one number is accepted, as in scipy.
    if array.size != 1:
        message = f"fun returned {_described(returned)}; {wanted} (for many points at once set vectorized=True)"
        raise ValueError(message)
    return float(array.reshape(()))


def as_values(returned: Any, x: Rows) -> NDArray[np.float64]:
    """The values that a vectorised ``fun`` returned for the rows of ``x``, or an error that names them."""
    n, d = x.shape
    wanted = f"for points of shape ({n}, {d}) it must return {n} real numbers in an array of shape ({n},)"
    array = _read(returned, wanted)
    if array.shape != (n,):
        raise ValueError(f"fun returned {_described(returned)}; {wanted}")
    # A copy, since the function may use its array again.
    return np.array(array)


@dataclasses.dataclass
class Failures:
    """Attempts that gave no value because a worker died or took too long."""

    crashes: int = 0
    """Attempts that ended with the death of their worker."""
    timeouts: int = 0
    """Attempts that took longer than ``timeout``."""
    lost: int = 0
    """Points that have no value after all attempts."""
    messages: collections.deque[str] = dataclasses.field(default_factory=lambda: collections.deque(maxlen=10))
    """The last few failures in words."""


class Answers(Protocol):
    """Where values go, as soon as they are known."""

    def give(self, row: int, value: float, /) -> None:
        """Gives the value of a row."""

    def are_enough(self) -> bool:
        """Whether no further evaluation is to begin: the time is over, or the target is reached."""

    def have_limits(self) -> bool:
        """Whether they may be enough before all are there."""

    def seconds_left(self) -> float | None:
        """Seconds until the time is over; None if there is no such limit."""


class Batch:
    """The calls of one batch: which wait, how often each was tried, and where their values go.

    Values are given by row, so the order in which calls finish does not matter.
    """

    def __init__(self, tasks: list[Rows], answers: Answers, retries: int, failures: Failures) -> None:
        self.tasks = tasks
        self.waiting = collections.deque(range(len(tasks)))
        self.left = len(tasks)
        self.answers = answers
        sizes = [1 if task.ndim == 1 else len(task) for task in tasks]
        self._first_rows = list(itertools.accumulate(sizes, initial=0))
        self._attempts = [0] * len(tasks)
        self._most_attempts = retries + 1
        self._failures = failures

    def goes_on(self) -> bool:
        """Whether there is anything to hand out or to wait for; if the answers are enough, nothing is handed out."""
        if self.waiting and self.answers.are_enough():
            self.left -= len(self.waiting)
            self.waiting.clear()
        return self.left > 0

    def succeed(self, task: int, value: float | NDArray[np.float64]) -> None:
        """Passes on the value of a call."""
        values = [value] if isinstance(value, float) else value.tolist()
        for row, number in enumerate(values, self._first_rows[task]):
            self.answers.give(row, number)
        self.left -= 1

    def take_back(self) -> None:
        """Counts a call that will not be made."""
        self.left -= 1

    def crashed(self, task: int, how: str) -> None:
        """Counts an attempt whose worker died."""
        self._failures.crashes += 1
        self._failed(task, how)

    def timed_out(self, task: int, timeout: float) -> None:
        """Counts an attempt that took too long."""
        self._failures.timeouts += 1
        self._failed(task, f"took longer than timeout={timeout:g} seconds")

    def _failed(self, task: int, how: str) -> None:
        self._attempts[task] += 1
        attempt = f"attempt {self._attempts[task]} of {self._most_attempts}"
        at = self.tasks[task]
        where = f"x = {shown(at.tolist())}" if at.ndim == 1 else f"a block of {len(at)} points"
        self._failures.messages.append(f"fun {how} at {where} ({attempt})")
        if self._attempts[task] < self._most_attempts:
            self.waiting.append(task)
        else:
            self._failures.lost += 1 if at.ndim == 1 else len(at)
            self.succeed(task, math.nan if at.ndim == 1 else np.full(len(at), math.nan))
