"""What a comparison found: a table, tests, curves."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class Curve(NamedTuple):
    """The part of all targets that the runs of a method reached, over evaluations, with its band of 95 %."""

    evaluations: NDArray[np.float64]
    reached: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]


@dataclass(repr=False)
class Comparison:
    """Methods side by side.

    Attributes
    ----------
    table : list of dict
        A row for each problem and method, the best method of a problem first: ``problem, dim, max_evaluations,
        minimum, method, runs, successes, rate, low`` and ``high`` (the 95 % Wilson interval of the rate),
        ``median_evaluations`` to a success (None without any), ``expected_evaluations`` to the first success if
        runs are repeated, ``median_value``, ``targets_reached`` (the part of the heights above the minimum, from
        that of a typical start down to 1e-8 of it, that runs reach), ``better_than`` and ``worse_than`` (so many
        methods, by `tests`), ``failed_runs``. ``pandas.DataFrame(table)`` reads it.
    tests : list of dict
        For each two methods on a problem, ``first`` and ``second``: which has the ``lower`` values, ``value_p`` (the
        probability of Wilcoxon's signed rank test that the difference is chance), in how many runs ``only_first``
        and ``only_second`` succeeded, and ``success_p`` of McNemar's test; both corrected for the number of pairs
        as Holm does.
    runs : list of dict
        Every run: ``problem, method, seed, success, success_at`` (evaluations), ``value, distance, evaluations,
        finished`` and ``history``, an array of evaluations, values and distances at which the best value improved.
    curves : dict
        For each (problem, method) a `Curve`.
    judge, tolerance, seed
        As given.
    """

    table: list[dict[str, Any]]
    tests: list[dict[str, Any]]
    runs: list[dict[str, Any]]
    curves: dict[tuple[str, str], Curve]
    judge: str
    tolerance: float
    seed: int

    @property
    def problems(self) -> list[str]:
        """The problems, in their order."""
        return list(dict.fromkeys(problem for problem, _ in self.curves))

    @property
    def methods(self) -> list[str]:
        """The methods, in their order."""
        return list(dict.fromkeys(method for _, method in self.curves))

    def __repr__(self) -> str:
        problems, methods = len(self.problems), len(self.methods)
        return f"<comparison of {methods} methods on {problems} problem{'s' if problems > 1 else ''}; print shows its table>"

    def __str__(self) -> str:
        return "\n\n".join(self._text(problem) for problem in self.problems)

    def _text(self, problem: str) -> str:
        rows = [row for row in self.table if row["problem"] == problem]
        one = rows[0]
        minimum = "" if one["minimum"] == 0 else f", minimum {one['minimum']:.6g}"
        head = f"{problem} in {one['dim']} dimensions: {one['runs']} runs of {one['max_evaluations']} evaluations{minimum}"
        heading = (
            *("method", "success", "interval", "evaluations", "expected"),
            *(f"{self.judge} value", "targets", "better", "worse"),
        )
        cells = [heading, *(tuple(_cells(row)) for row in rows)]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        lines = [
            "  ".join(
                [
                    line[0].ljust(widths[0]),
                    *(cell.rjust(w) for cell, w in zip(line[1:], widths[1:], strict=True)),
                ]
            ).rstrip()
            for line in cells
        ]
        return "\n".join([head, "", *lines])

    def plot(self, problem: str | None = None, ax: Axes | None = None) -> Axes | list[Axes]:
        """Draws the part of the targets that each method reached over evaluations (needs matplotlib).

        Parameters
        ----------
        problem : str, optional
            One of the problems; a panel for each if left out.
        ax : matplotlib axes, optional
            Where to draw, if it is one problem; a new figure if left out.

        Returns
        -------
        matplotlib axes, one for each problem that is drawn; not in a list if it is one
        """
        from . import plot

        return plot.targets(self, problem, ax=ax)


def _cells(row: dict[str, Any]) -> Iterator[str]:
    def whole(value: float | None) -> str:
        return "-" if value is None or not math.isfinite(value) else f"{value:.0f}"

    yield row["method"]
    yield f"{100 * row['rate']:.0f} %"
    yield f"{100 * row['low']:.0f} to {100 * row['high']:.0f} %"
    yield whole(row["median_evaluations"])
    yield whole(row["expected_evaluations"])
    yield f"{row['median_value']:.4g}"
    yield f"{row['targets_reached']:.2f}"
    yield str(row["better_than"])
    yield str(row["worse_than"])
