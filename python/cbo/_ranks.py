"""Evaluations on all ranks of an MPI communicator of mpi4py: the first holds the run, all evaluate."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from . import _lib
from ._evaluate_values import WithArgs, shown


class Communicator(Protocol):
    """What is asked of a communicator, as ``mpi4py.MPI.COMM_WORLD`` has it."""

    def Get_rank(self) -> int:
        """Which rank this is."""

    def Get_size(self) -> int:
        """How many there are."""

    def bcast(self, obj: Any, root: int = 0) -> Any:
        """Hands an object of one rank to all."""

    def scatter(self, sendobj: Sequence[Any] | None, root: int = 0) -> Any:
        """Hands one object of a list to each rank."""

    def gather(self, sendobj: Any, root: int = 0) -> list[Any] | None:
        """Brings an object of each rank to one."""


def check(comm: Any, fun: Any, elsewhere: bool, device: Any) -> None:
    """Refuses what cannot be spread over ranks."""
    if not all(hasattr(comm, name) for name in ("Get_rank", "Get_size", "bcast", "scatter", "gather")):
        raise TypeError(f"comm = {shown(comm)}: must be a communicator of mpi4py, such as MPI.COMM_WORLD")
    if isinstance(fun, (_lib.Problem, _lib.Formula)):
        raise ValueError(
            "comm: a built-in problem or a formula is evaluated in Rust; on several ranks run it with the command `cbo`"
        )
    if elsewhere:
        raise ValueError("comm: the ranks evaluate; leave workers, timeout and retries out")
    if device not in (None, "cpu"):
        raise ValueError(f"device = {device!r:.60}: the ranks of comm evaluate in their memory; leave one of them out")


class OnRanks:
    """A map that spreads its calls over the ranks, each of which calls a function of its own.

    Parameters
    ----------
    comm : communicator
        The ranks; this is the first of them, and the others are in `follow`.
    """

    def __init__(self, comm: Communicator) -> None:
        self._comm = comm
        self.width = comm.Get_size()

    def __call__(self, fun: Callable[[Any], Any], tasks: Sequence[Any]) -> list[Any]:
        """What `fun` gives for each task."""
        comm, count = self._comm, len(tasks)
        comm.bcast(True)
        ends = [count * rank // self.width for rank in range(self.width + 1)]
        own = comm.scatter([tasks[low:high] for low, high in zip(ends, ends[1:])])
        values: list[Any] = []
        first: BaseException | None = None
        for rank, told in enumerate(comm.gather(_evaluated(fun, own)) or []):
            given, error = pickle.loads(told)
            values.extend(given)
            if error is not None and first is None:
                first = error
                if rank > 0 and hasattr(first, "add_note"):
                    first.add_note(f"on rank {rank}")
        if first is not None:
            raise first
        return values


def _evaluated(fun: Callable[[Any], Any], tasks: Sequence[Any]) -> bytes:
    """What `fun` gives for the tasks, or what it raises, pickled here: the others wait for it, also if it cannot be sent."""
    try:
        values = [fun(x.copy()) for x in tasks]
    except BaseException as error:  # all ranks hear of it, whatever it is
        return pickle.dumps(([], _travelling(error)))
    try:
        return pickle.dumps((values, None))
    except Exception as error:
        return pickle.dumps(([], TypeError(f"fun returned {shown(values[0])}, which cannot be sent to rank 0: {error}")))


def _travelling(error: BaseException) -> BaseException:
    """The same exception, or one that says as much if it cannot be sent."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error


def lead(comm: Communicator, run: Callable[[], Any]) -> Any:
    """Does `run` on the first rank, and hands its result, or what it raises, to all."""
    try:
        result = run()
        told = pickle.dumps((result, None))
    except BaseException as error:
        comm.bcast(False)
        comm.bcast(pickle.dumps((None, _travelling(error))))
        raise
    comm.bcast(False)
    comm.bcast(told)
    return result


def follow(comm: Communicator, fun: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """Evaluates what the first rank hands out, until its run is over; then returns its result, or raises as it does."""
    own = WithArgs(fun, args)
    while comm.bcast(None):
        comm.gather(_evaluated(own, comm.scatter(None)))
    result, error = pickle.loads(comm.bcast(None))
    if error is not None:
        raise error
    return result
