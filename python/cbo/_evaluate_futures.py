"""Evaluation on an executor that the user brought: anything with ``submit`` that gives futures."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import importlib
import itertools
import queue
import time
from collections.abc import Callable
from typing import Any, Protocol, cast

from cbo._evaluate_processes import check_picklable
from cbo._evaluate_values import (
    Batch,
    as_value,
    as_values,
    cores,
)


class Executor(Protocol):
    """What an executor must have; `concurrent.futures`, Dask and mpi4py all have it."""

    def submit(self, fn: Any, /, *args: Any) -> Any:
        """Starts a call; the future has ``add_done_callback``, ``result`` and ``cancel``."""


class Futures:
    """Calls a function on somebody else's executor, which is never shut down here.

    Only the user's function and numbers travel, so the machines of a cluster need not have this package.
    """

    def __init__(
        self,
        fun: Callable[..., Any],
        args: tuple[Any, ...],
        *,
        vectorized: bool,
        executor: Executor,
        timeout: float | None,
    ) -> None:
        # Dask pickles more than most, so this is left to it.
        library = type(executor).__module__.partition(".")[0]
        if isinstance(executor, concurrent.futures.ProcessPoolExecutor):
            check_picklable(fun, args)
        elif library == "mpi4py":
            check_picklable(fun, args, importlib.import_module("mpi4py.MPI").pickle.dumps)
        self._fun = fun
        self._args = args
        self._check = as_values if vectorized else as_value
        self._executor = executor
        # Dask takes equal calls for one call, unless told that the function is not pure: a retry would be
        # no new call.
        self._dask = library == "distributed"
        self._extra: dict[str, Any] = {"pure": False} if self._dask else {}
        self._timeout = timeout
        self._tickets = itertools.count()
        self._finished: queue.SimpleQueue[int] = queue.SimpleQueue()
        # Calls over their time that could not be cancelled: each still holds a worker.
        self._stuck: dict[int, Any] = {}

    def width(self) -> int:
        """How many calls can run at the same time, as far as the executor says."""
        if self._dask:
            threads: dict[str, int] = cast(Any, self._executor).nthreads()
            return max(1, sum(threads.values()))
        for name in ("_max_workers", "num_workers"):
            count = getattr(self._executor, name, None)
            if isinstance(count, int) and count > 0:
                return count
        return cores()

    def run(self, batch: Batch) -> None:
        """Makes the calls of a batch."""
        # ticket -> (task, future, deadline), oldest first.
        flying: dict[int, tuple[int, Any, float]] = {}
        try:
            while batch.goes_on():
                self._submit(batch, flying)
                self._wait(batch, flying)
                if batch.answers.are_enough():
                    self._take_back(batch, flying)
        except BaseException:
            self._keep_finished(batch, flying)
            for _, future, _ in flying.values():
                future.cancel()
            raise

    def close(self) -> None:
        """Lets go of calls that are still stuck; the executor stays as it is."""
        for future in self._stuck.values():
            future.cancel()
        self._stuck.clear()

    def _submit(self, batch: Batch, flying: dict[int, tuple[int, Any, float]]) -> None:
        # With a timeout no more calls are in flight than can run: the clock must not count time in a queue. Nor
        # on Dask if the run may end within the step: what it has queued looks like what is running.
        queues = self._timeout is None and not (self._dask and batch.answers.have_limits())
        room = len(batch.tasks) if queues else self.width() - len(self._stuck)
        while batch.waiting and len(flying) < room:
            task, ticket = batch.waiting.popleft(), next(self._tickets)
            try:
                future = self._executor.submit(self._fun, batch.tasks[task], *self._args, **self._extra)
            except concurrent.futures.BrokenExecutor as error:
                raise self._broken() from error
            deadline = float("inf") if self._timeout is None else time.monotonic() + self._timeout
            flying[ticket] = (task, future, deadline)
            future.add_done_callback(lambda _, ticket=ticket: self._finished.put(ticket))

    def _wait(self, batch: Batch, flying: dict[int, tuple[int, Any, float]]) -> None:
        if flying:
            first = min(deadline for _, _, deadline in flying.values())
        else:
            first = time.monotonic() + (self._timeout or 0.0)
        # Calls that wait in a queue are taken back as soon as the time of the run is over.
        until = min(first, time.monotonic() + (batch.answers.seconds_left() or float("inf")))
        patience = None if until == float("inf") else max(0.0, until - time.monotonic())
        with contextlib.suppress(queue.Empty):
            ticket = self._finished.get(timeout=patience)
            self._stuck.pop(ticket, None)
            if ticket in flying:
                task, future, _ = flying.pop(ticket)
                self._settle(batch, task, future)
            return
        now = time.monotonic()
        if not flying and now >= first:
            raise RuntimeError(
                f"timeout = {self._timeout}: all {len(self._stuck)} workers of the executor hang in calls "
                "that took longer; only workers=N (processes) can end such calls"
            )
        for ticket in [ticket for ticket, (_, _, deadline) in flying.items() if deadline <= now]:
            task, future, _ = flying.pop(ticket)
            # A cancelled Dask call keeps its thread, but the scheduler would count that thread as free.
            if self._dask or not future.cancel():
                self._stuck[ticket] = future
            batch.timed_out(task, self._timeout or 0.0)

    def _take_back(self, batch: Batch, flying: dict[int, tuple[int, Any, float]]) -> None:
        """Cancels the calls that have not begun; those that run are waited for."""
        for ticket in [] if self._dask else list(flying):
            if flying[ticket][1].cancel():
                del flying[ticket]
                batch.take_back()

    def _keep_finished(self, batch: Batch, flying: dict[int, tuple[int, Any, float]]) -> None:
        """Takes the values that have come in while nobody looked."""
        for task, future, _ in flying.values():
            # A call that raised has no value, and one exception is enough.
            with contextlib.suppress(Exception, asyncio.CancelledError):
                if future.done():
                    self._settle(batch, task, future)

    def _settle(self, batch: Batch, task: int, future: Any) -> None:
        try:
            returned = future.result()
        except concurrent.futures.BrokenExecutor as error:
            raise self._broken() from error
        except (concurrent.futures.CancelledError, asyncio.CancelledError):
            batch.crashed(task, "was cancelled by the executor")
        except Exception as error:
            if not _worker_died(error):
                raise
            batch.crashed(task, f"ended its worker ({type(error).__name__})")
        else:
            batch.succeed(task, self._check(returned, batch.tasks[task]))

    def _broken(self) -> RuntimeError:
        return RuntimeError(
            f"workers = {type(self._executor).__name__}: it broke as a whole when one of its workers died; "
            "workers=N (processes) replaces a dead worker and continues"
        )


def _worker_died(error: Exception) -> bool:
    """Whether the exception means a lost worker of Dask or Ray; by type name, as neither need be installed."""
    kind = type(error)
    library = kind.__module__.partition(".")[0]
    return (library, kind.__name__) in (("distributed", "KilledWorker"), ("ray", "WorkerCrashedError"))
