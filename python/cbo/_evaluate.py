"""How a Python function is evaluated for a batch of points: in this process or elsewhere."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Generator, Iterable, Iterator
from types import TracebackType
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from cbo._evaluate_futures import Executor, Futures
from cbo._evaluate_processes import Processes
from cbo._ranks import OnRanks
from cbo._evaluate_values import (
    Answers,
    Batch,
    Failures,
    Rows,
    WithArgs,
    as_value,
    as_values,
    cores,
    shown,
)

__all__ = ["Evaluator", "Failures"]


class _Place(Protocol):
    """Where calls are made."""

    def width(self) -> int:
        """How many calls can run at the same time."""

    def run(self, batch: Batch) -> None:
        """Makes the calls of a batch, until all are made or the answers are enough."""

    def close(self) -> None:
        """Frees what was made here."""


class _All:
    """The values of all rows."""

    def __init__(self, rows: int) -> None:
        self.values = np.full(rows, math.nan)

    def give(self, row: int, value: float) -> None:
        self.values[row] = value

    def are_enough(self) -> bool:
        return False

    def have_limits(self) -> bool:
        return False

    def seconds_left(self) -> float | None:
        return None


class Evaluator:
    """Values of a function at the rows of an array, wherever they are computed.

    Parameters
    ----------
    fun : callable
        ``fun(x, *args) -> float`` for one point or, if `vectorized`, ``fun(X, *args) -> (n,)`` for the rows
        of ``X``.
    args : tuple, optional
        Further arguments of `fun`.
    vectorized : bool, optional
        Whether `fun` takes many points at once. The rows are then split into one block per worker, and
        `timeout` and `retries` apply to a block: leave it False for a function that may crash at single
        points.
    workers : int, callable or executor, optional
        - 1: in this process. With `timeout` or `retries`, in one process of its own, since only a process can
          be ended.
        - another int: this many processes, -1 for one per core. `fun` and `args` must pickle, and a script must
          start its work under ``if __name__ == "__main__":``. A process that dies or hangs is replaced.
        - a map-like callable, called as ``workers(fun, rows)``: ``map`` of a pool of `multiprocessing` or of
          ``ray.util.multiprocessing``, for example.
        - an object with ``submit``: an executor of `concurrent.futures`, ``dask.distributed.Client``,
          ``mpi4py.futures.MPIPoolExecutor``. It is never shut down here.
    timeout : float, optional
        Seconds that one call may take. A process that takes longer is ended with everything it started; a call
        on an executor can only be abandoned, and its worker stays busy until the call ends. Not for a
        map-like callable.
    retries : int, optional
        How often a call is repeated if its worker died or took too long. Not for a map-like callable.

    Raises
    ------
    TypeError, ValueError
        When an argument cannot be used, before anything is evaluated.

    Notes
    -----
    An exception in `fun` is raised here, with the traceback of the worker as its cause. A point without a
    value after all attempts is NaN, and is counted in `failures`.

    Processes are started fresh (never forked), in about half a second, and are kept until `close`; a call
    then costs 0.1 to 0.2 ms above that of `fun`.

    With Ray, pass the ``map`` of its pool, or (for `timeout` and `retries`) an object with ``submit``::

        class OnRay:
            def submit(self, fun, *args):
                return ray.remote(max_retries=0)(fun).remote(*args).future()

    Examples
    --------
    >>> import numpy as np
    >>> from cbo._evaluate import Evaluator
    >>> with Evaluator(lambda x, shift: float(np.sum((x - shift) ** 2)), args=(1.0,)) as values:
    ...     values(np.array([[1.0, 1.0], [2.0, 3.0]]))
    array([0., 5.])

    Threads, for a function that frees the interpreter lock, as most of NumPy and waiting for a simulator do:

    >>> from concurrent.futures import ThreadPoolExecutor
    >>> with ThreadPoolExecutor(2) as pool, Evaluator(np.sum, workers=pool) as values:
    ...     values(np.array([[1.0, 2.0], [3.0, 4.0]]))
    array([3., 7.])
    """

    def __init__(
        self,
        fun: Callable[..., Any],
        *,
        args: tuple[Any, ...] = (),
        vectorized: bool = False,
        workers: int | Callable[..., Iterable[Any]] | Executor = 1,
        timeout: float | None = None,
        retries: int = 0,
    ) -> None:
        if not callable(fun):
            raise TypeError(f"fun = {shown(fun)}: must be a function of a point")
        if not isinstance(args, tuple):
            args = (args,)
        self.failures = Failures()
        self._vectorized = bool(vectorized)
        self._retries = _check_retries(retries)
        self._place = self._choose(fun, args, workers, _check_timeout(timeout))
        self._closed = False

    def __call__(self, x: Rows) -> NDArray[np.float64]:
        """The values at the rows of `x`; NaN where every attempt failed."""
        all_values = _All(len(x))
        self.answer(x, all_values)
        return all_values.values

    def answer(self, x: Rows, answers: Answers) -> None:
        """Gives the values at the rows of `x` as they come in, until they are enough.

        What was finished before an exception is given too. Calls that have begun when the answers are enough are
        waited for, if `workers` are a number or an executor.
        """
        if self._closed:
            raise RuntimeError("this evaluator is closed; make a new one")
        # A copy: a call that is abandoned may look at its points long after this one has returned.
        x = np.array(x, order="C")
        if x.ndim != 2 or x.dtype.kind != "f":
            raise ValueError(f"x = {shown(x)}: must be an array of floats with one point per row")
        tasks = list(x)
        if self._vectorized:
            tasks = np.array_split(x, max(1, min(len(x), self._place.width())))
        self._place.run(Batch(tasks, answers, self._retries, self.failures))

    def close(self) -> None:
        """Ends the processes that were started here; a user's executor is left alone."""
        self._closed = True
        self._place.close()

    def __enter__(self) -> Evaluator:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _choose(
        self,
        fun: Callable[..., Any],
        args: tuple[Any, ...],
        workers: Any,
        timeout: float | None,
    ) -> _Place:
        if hasattr(workers, "submit"):
            return Futures(
                fun,
                args,
                vectorized=self._vectorized,
                executor=cast(Executor, workers),
                timeout=timeout,
            )
        if callable(workers):
            for name, value, default in (("timeout", timeout, None), ("retries", self._retries, 0)):
                if value != default:
                    raise ValueError(
                        f"{name} = {value}: a map-like workers={shown(workers)} cannot give up single calls; "
                        "use workers=N (processes) or an executor"
                    )
            return _Map(fun, args, workers, self._vectorized)
        count = _check_count(workers)
        if count == 1 and timeout is None and self._retries == 0:
            return _Here(fun, args, self._vectorized)
        return Processes(
            fun,
            args,
            vectorized=self._vectorized,
            count=count,
            timeout=timeout,
        )


class _Here:
    """Calls in this process, one after the other."""

    def __init__(self, fun: Callable[..., Any], args: tuple[Any, ...], vectorized: bool) -> None:
        self._fun = fun
        self._args = args
        self._vectorized = vectorized

    def width(self) -> int:
        return 1

    def run(self, batch: Batch) -> None:
        while batch.goes_on():
            task = batch.waiting.popleft()
            x = batch.tasks[task]
            # A copy of a point, so that a function may keep or change its argument.
            returned = self._fun(x if self._vectorized else x.copy(), *self._args)
            batch.succeed(task, as_values(returned, x) if self._vectorized else as_value(returned, x))

    def close(self) -> None:
        pass


class _Map:
    """Calls through a map-like callable of the user."""

    def __init__(
        self,
        fun: Callable[..., Any],
        args: tuple[Any, ...],
        workers: Callable[..., Iterable[Any]],
        vectorized: bool,
    ) -> None:
        self._fun = WithArgs(fun, args) if args else fun
        self._map = workers
        self._check = as_values if vectorized else as_value

    def width(self) -> int:
        # Ranks know how many they are; other maps do not say.
        return self._map.width if isinstance(self._map, OnRanks) else cores()

    def run(self, batch: Batch) -> None:
        returned = self._map(self._fun, batch.tasks)
        if isinstance(returned, Iterator):
            # Computed as they are asked for, as by the built-in map: what is not needed is not asked for.
            try:
                self._pass_on(returned, batch, lambda: batch.answers.are_enough())
            finally:
                # A generator may have more to do than to forget: that of an executor cancels its calls.
                if isinstance(returned, Generator):
                    returned.close()
            return
        values = list(returned)
        if len(values) != len(batch.tasks):
            raise self._miscounted(len(values), len(batch.tasks))
        self._pass_on(iter(values), batch, lambda: False)

    def _pass_on(self, values: Iterator[Any], batch: Batch, enough: Callable[[], bool]) -> None:
        for task, x in enumerate(batch.tasks):
            if enough():
                return
            try:
                value = next(values)
            except StopIteration:
                raise self._miscounted(task, len(batch.tasks)) from None
            batch.succeed(task, self._check(value, x))

    def _miscounted(self, count: int, wanted: int) -> ValueError:
        return ValueError(
            f"workers = {shown(self._map)}: gave {count} values for {wanted} calls; it must behave like the "
            "built-in map"
        )

    def close(self) -> None:
        pass


def worker_count(workers: Any) -> int | None:
    """How many evaluations run at once; None if `workers` (a map, an executor) do not say so."""
    return None if callable(workers) or hasattr(workers, "submit") else _check_count(workers)


def _check_count(workers: Any) -> int:
    hint = (
        "an executor has submit; for a pool pass its map method"
        if hasattr(workers, "map")
        else "or an executor"
    )
    if isinstance(workers, bool):
        raise TypeError(
            f"workers = {workers}: must be a number of processes, -1 for one per core, a map, {hint}"
        )
    try:
        count = operator.index(workers)
    except TypeError:
        raise TypeError(
            f"workers = {shown(workers)}: must be a number of processes, -1 for one per core, a map, {hint}"
        ) from None
    if count < -1 or count == 0:
        raise ValueError(f"workers = {count}: must be at least 1, or -1 for one per core")
    return cores() if count == -1 else count


def _check_timeout(timeout: Any) -> float | None:
    if timeout is None:
        return None
    try:
        seconds = math.nan if isinstance(timeout, (bool, str)) else float(timeout)
    except (TypeError, ValueError):
        seconds = math.nan
    if not 0.0 < seconds < math.inf:
        raise ValueError(
            f"timeout = {shown(timeout)}: must be a positive number of seconds, or None for no limit"
        )
    return seconds


def _check_retries(retries: Any) -> int:
    try:
        count = -1 if isinstance(retries, bool) else operator.index(retries)
    except TypeError:
        count = -1
    if count < 0:
        raise ValueError(f"retries = {shown(retries)}: must be a whole number, 0 or more")
    return count
