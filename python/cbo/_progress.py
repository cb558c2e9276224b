"""One line of progress on stderr."""

from __future__ import annotations

import sys
from typing import Literal


class Progress:
    """Shows step, best value and evaluations on one line, which is wiped at the end."""

    def __init__(self) -> None:
        self._width = 0

    def __call__(self, step: int, last: int | None, best: float, evaluations: int) -> None:
        """Shows a step; ``last`` is the last one, if it is known."""
        part = f"step {step}" if last is None else f"step {step} of at most {last}"
        line = f"{part}, best {best:.6g}, {evaluations} evaluations"
        self._write(f"\r{line:<{self._width}}")
        self._width = len(line)

    def close(self) -> None:
        """Wipes the line."""
        if self._width:
            self._write("\r" + " " * self._width + "\r")
            self._width = 0

    @staticmethod
    def _write(text: str) -> None:
        try:
            sys.stderr.write(text)
            sys.stderr.flush()
        except (OSError, ValueError):
            pass  # a closed stderr leaves nobody to tell


def wanted(progress: bool | Literal["force"]) -> Progress | None:
    """A line of progress, if it is wanted and somebody sees it."""
    if not (isinstance(progress, bool) or progress == "force"):
        raise TypeError(f"progress = {progress!r:.60}: must be True, False or 'force'")
    terminal = sys.stderr is not None and sys.stderr.isatty()
    return Progress() if progress == "force" or (progress and terminal) else None
