"""What a run had found when an exception ended it: the exception carries it as ``result``."""

from __future__ import annotations

import contextlib
import math

from ._result import OptimizeResult


def carry(error: BaseException, result: OptimizeResult) -> None:
    """Attaches the result to the exception, and a note that says so.

    An exception is somebody else's object: one that has a ``result`` of its own keeps it, and one that
    refuses attributes stays as it is.
    """
    with contextlib.suppress(Exception):
        # That of a run within `fun` makes way for that of the run that its caller sees.
        if isinstance(getattr(error, "result", result), OptimizeResult):
            error.result = result  # type: ignore[attr-defined]
            if math.isfinite(result.fun):
                _note(error, result)


def _note(error: BaseException, result: OptimizeResult) -> None:
    # Python 3.10 has no notes.
    if hasattr(error, "add_note"):
        count = "1 evaluation was" if result.nfev == 1 else f"{result.nfev} evaluations were"
        error.add_note(
            f"{count} finished, and the best value is {result.fun:.6g}; the attribute `result` has the rest"
        )
