"""Worker processes of our own: one pipe each, so that one that dies or hangs can be replaced alone."""

from __future__ import annotations

import contextlib
import multiprocessing
import multiprocessing.connection
import os
import pickle
import signal
import time
import weakref
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from typing import Any

from cbo._evaluate_values import Batch, shown
from cbo._evaluate_worker import RemoteTraceback, serve

# Never fork: the engine and NumPy have threads, whose locks a forked child may find held for ever.
_CONTEXT = multiprocessing.get_context("spawn")

# How many workers may fail to start in a row, once the first ones were fine.
_MOST_FALSE_STARTS = 3

_SECONDS_TO_LEAVE = 1.0


class _Worker:
    """One process and our end of its pipe."""

    def __init__(self) -> None:
        self.pipe, other_end = _CONTEXT.Pipe()
        self.process = _CONTEXT.Process(target=serve, args=(other_end,), name="cbo-worker", daemon=True)
        # Ctrl-C is ours to handle, from the first moment of the process.
        with _no_interrupt():
            self.process.start()
        # Only the process may hold its end, so that its death shows as the end of the pipe.
        other_end.close()
        self.ready = False
        self.reading = False
        self.task: int | None = None
        self.deadline = float("inf")

    @property
    def idle(self) -> bool:
        return self.ready and self.task is None

    def kill(self) -> str:
        """Ends the process and what it started; says how it ended."""
        if os.name == "posix" and self.process.pid is not None:
            # No such group yet: the process is still starting and has started nothing itself.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.process.pid, signal.SIGKILL)
        self.process.kill()
        return self.reap()

    def reap(self) -> str:
        """Collects an ended process, so that no zombie remains; says how it ended."""
        self.process.join(_SECONDS_TO_LEAVE)
        code = self.process.exitcode
        self.pipe.close()
        if code is not None:
            self.process.close()
        if code is not None and code < 0:
            with contextlib.suppress(ValueError):
                return signal.Signals(-code).name
        return f"exit code {code}"


@contextlib.contextmanager
def _no_interrupt() -> Iterator[None]:
    if os.name != "posix":
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _kill_all(workers: list[_Worker]) -> None:
    while workers:
        workers.pop().kill()


class Processes:
    """Calls a function in ``count`` processes, which start at the first call."""

    def __init__(
        self,
        fun: Callable[..., Any],
        args: tuple[Any, ...],
        *,
        vectorized: bool,
        count: int,
        timeout: float | None,
    ) -> None:
        if multiprocessing.current_process().daemon:
            raise ValueError(
                f"workers = {count}: this process is itself a daemonic worker and may not start processes; "
                "use workers=1 here, or an executor"
            )
        check_picklable(fun, args)
        self._payload = pickle.dumps((fun, args, vectorized))
        self._fun = fun
        self._count = count
        self._timeout = timeout
        self._workers: list[_Worker] = []
        self._any_ready = False
        self._false_starts = 0
        # For an evaluator that is forgotten without close(), and for the end of the interpreter.
        self._finalizer = weakref.finalize(self, _kill_all, self._workers)

    def width(self) -> int:
        """How many calls can run at the same time."""
        return self._count

    def run(self, batch: Batch) -> None:
        """Makes the calls of a batch."""
        try:
            while batch.goes_on():
                self._hand_out(batch)
                self._collect(batch)
        except BaseException:
            self._keep_finished(batch)
            # Workers may be in the middle of something nobody waits for any more.
            _kill_all(self._workers)
            raise

    def close(self) -> None:
        """Ends all processes: the idle ones by asking, the busy ones by force."""
        leaving = [worker for worker in self._workers if worker.idle]
        for worker in leaving:
            self._workers.remove(worker)
            worker.pipe.close()
        _kill_all(self._workers)
        until = time.monotonic() + _SECONDS_TO_LEAVE
        for worker in leaving:
            worker.process.join(max(0.0, until - time.monotonic()))
            worker.kill()

    def _hand_out(self, batch: Batch) -> None:
        while len(self._workers) < min(self._count, batch.left):
            self._workers.append(_Worker())
        for worker in [worker for worker in self._workers if worker.idle]:
            if not batch.waiting:
                return
            task = batch.waiting.popleft()
            try:
                worker.pipe.send(batch.tasks[task])
            except OSError:
                # It died while it had nothing to do (out of memory, say): not the fault of this point.
                batch.waiting.appendleft(task)
                self._drop(worker)
                continue
            worker.task = task
            worker.deadline = float("inf") if self._timeout is None else time.monotonic() + self._timeout

    def _collect(self, batch: Batch) -> None:
        watched = {worker.pipe: worker for worker in self._workers if not worker.idle}
        if not watched:
            return
        first = min(worker.deadline for worker in watched.values())
        patience = None if first == float("inf") else max(0.0, first - time.monotonic())
        heard = multiprocessing.connection.wait(list(watched), patience)
        for pipe in heard:
            if isinstance(pipe, Connection):
                self._listen(watched[pipe], batch)
        now = time.monotonic()
        for worker in watched.values():
            if worker.task is not None and worker.deadline <= now and self._timeout is not None:
                task = worker.task
                self._drop(worker)
                batch.timed_out(task, self._timeout)

    def _keep_finished(self, batch: Batch) -> None:
        """Takes the values that have come in while nobody listened."""
        # An interrupt may have left a message half read: what follows in that pipe is no message.
        busy = {worker.pipe: worker for worker in self._workers if worker.task is not None and not worker.reading}
        for pipe in multiprocessing.connection.wait(list(busy), 0.0):
            if isinstance(pipe, Connection):
                # A worker that raised or died has no value, and one exception is enough.
                with contextlib.suppress(Exception):
                    kind, content = pipe.recv()
                    if kind == "value":
                        batch.succeed(busy[pipe].task or 0, content)

    def _listen(self, worker: _Worker, batch: Batch) -> None:
        kind: str | None = None
        with contextlib.suppress(EOFError, OSError):
            worker.reading = True
            kind, content = worker.pipe.recv()
            worker.reading = False
            if kind == "hello":
                worker.pipe.send_bytes(self._payload)
        if kind is None:
            self._lost(worker, batch)
        elif kind == "ready":
            worker.ready = self._any_ready = True
            self._false_starts = 0
        elif kind == "value" and worker.task is not None:
            batch.succeed(worker.task, content)
            worker.task = None
        elif kind == "refused":
            raise content
        elif kind == "raised":
            error, text = content
            raise error from RemoteTraceback(text)
        elif kind == "unloadable":
            raise TypeError(
                f"fun = {shown(self._fun)}: a worker process cannot load it; define it at module level in a "
                "file that the workers can import (not in a notebook or a console), or use threads"
            ) from RemoteTraceback(content)

    def _lost(self, worker: _Worker, batch: Batch) -> None:
        task, how = worker.task, self._drop(worker)
        if task is not None:
            batch.crashed(task, f"ended its worker process ({how})")
            return
        self._false_starts += 1
        if not self._any_ready or self._false_starts >= _MOST_FALSE_STARTS:
            raise RuntimeError(
                f"workers = {self._count}: a worker process ended ({how}) before it was ready; a script that "
                'starts workers must do so under `if __name__ == "__main__":` and must be a file of its own'
            )

    def _drop(self, worker: _Worker) -> str:
        self._workers.remove(worker)
        return worker.kill()


def check_picklable(
    fun: Callable[..., Any], args: tuple[Any, ...], dumps: Callable[[Any], bytes] = pickle.dumps
) -> None:
    """Raises a TypeError with the remedy if the function or its arguments cannot go to another process."""
    try:
        dumps(fun)
    except Exception as error:
        raise TypeError(
            f"fun = {shown(fun)}: it cannot be pickled for worker processes ({error}); define it at module "
            "level, or use vectorized=True with workers=1, or threads (workers=ThreadPoolExecutor())"
        ) from None
    try:
        dumps(args)
    except Exception as error:
        raise TypeError(
            f"args = {shown(args)}: they cannot be pickled for worker processes ({error}); pass plain data, "
            "or use threads (workers=ThreadPoolExecutor())"
        ) from None
