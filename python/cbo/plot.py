"""Pictures of runs with matplotlib, which must be installed.

Examples
--------
>>> import matplotlib
>>> matplotlib.use("Agg")
>>> import cbo
>>> problem = cbo.problems.himmelblau()
>>> result = cbo.minimize(problem, particles=50, steps=10, seed=1)
>>> axes = cbo.plot.swarm(result, problem)
>>> axes.get_xlabel(), axes.get_ylabel()
('x[0]', 'x[1]')
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from . import _space
from ._lib import Problem
from ._optimizer import Optimizer
from ._result import OptimizeResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["history", "swarm"]

# Readable by colour-blind people (Okabe and Ito).
_BLUE, _ORANGE, _BLACK = "#0072B2", "#D55E00", "#000000"


def _axes(ax: Axes | None) -> Axes:
    if ax is not None:
        return ax
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError("pictures need matplotlib: pip install matplotlib") from error
    figure, axes = pyplot.subplots(layout="constrained")
    return axes


def history(result: OptimizeResult, ax: Axes | None = None) -> Axes:
    """Draws the best value over the evaluations, with the spread of the swarm, or the ends of the phases of auto.

    The axis is logarithmic if no value is negative.

    Parameters
    ----------
    result : OptimizeResult
        The run.
    ax : matplotlib axes, optional
        Where to draw; a new figure if left out.

    Returns
    -------
    matplotlib axes
    """
    axes = _axes(ax)
    evaluations, best, spread = (result.history[key] for key in ("evaluations", "best", "spread"))
    axes.plot(evaluations, best, color=_BLUE, label="best value")
    if result.phases:
        # The points of a round are no swarm.
        for number, phase in enumerate(result.phases):
            label = "end of a phase" if number == 0 else None
            axes.axvline(phase.stop, color=_ORANGE, linestyle=":", linewidth=0.8, label=label)
    elif result.method.split(":")[0] != "auto":
        axes.plot(evaluations, spread, color=_ORANGE, linestyle="--", label="spread of the swarm")
    # A best value of exactly 0 has no place there; the line ends before it.
    if len(best) and (best >= 0).all() and (best > 0).any():
        axes.set_yscale("log", nonpositive="mask")
    axes.set_xlabel("evaluations")
    axes.legend()
    return axes


def swarm(
    run: OptimizeResult | Optimizer,
    fun: Problem | Callable[[NDArray[np.float64]], Any] | None = None,
    bounds: Any = None,
    ax: Axes | None = None,
) -> Axes:
    """Draws the particles of a run in one or two dimensions, with their consensus point.

    Parameters
    ----------
    run : OptimizeResult or Optimizer
        The run.
    fun : callable, optional
        The function of one point, to be drawn as a curve or as contours below the swarm. Not needed
        for a problem.
    bounds : sequence of (low, high), optional
        What is shown; the domain of a problem, or where the particles are, if left out.
    ax : matplotlib axes, optional
        Where to draw; a new figure if left out.

    Returns
    -------
    matplotlib axes
    """
    result = run.result() if isinstance(run, Optimizer) else run
    points = np.asarray(result.population, dtype=np.float64)
    dim = points.shape[1]
    if dim > 2:
        raise ValueError(
            f"the swarm has {dim} dimensions: only one and two can be drawn; result.plot() shows the rest"
        )
    box = _view(fun, bounds, points)
    axes = _axes(ax)
    if dim == 1:
        _draw_line(axes, fun, box, result, points)
    else:
        _draw_plane(axes, fun, box, result, points)
    axes.legend()
    return axes


def _view(fun: Any, bounds: Any, points: NDArray[np.float64]) -> NDArray[np.float64]:
    if bounds is not None:
        return _space.read_bounds(bounds, points.shape[1])
    if isinstance(fun, Problem):
        return fun.bounds
    low, high = points.min(axis=0), points.max(axis=0)
    margin = np.maximum(0.1 * (high - low), 1e-12)
    return np.stack([low - margin, high + margin], axis=-1)


def _values(fun: Any, rows: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(
        fun(rows) if isinstance(fun, Problem) else [float(fun(row)) for row in rows], dtype=np.float64
    )


def _draw_line(
    axes: Axes, fun: Any, box: NDArray[np.float64], result: Any, points: NDArray[np.float64]
) -> None:
    energies = np.asarray(result.population_energies, dtype=np.float64)
    if fun is not None:
        x = np.linspace(box[0, 0], box[0, 1], 400)
        axes.plot(x, _values(fun, x[:, None]), color=_BLACK, linewidth=1)
    axes.scatter(points[:, 0], energies, s=12, color=_BLUE, alpha=0.6, label="particles")
    axes.axvline(float(result.consensus[0]), color=_ORANGE, linestyle="--", label="consensus")
    axes.set_xlim(*box[0])
    axes.set_xlabel("x[0]")
    axes.set_ylabel("value")


def _draw_plane(
    axes: Axes, fun: Any, box: NDArray[np.float64], result: Any, points: NDArray[np.float64]
) -> None:
    if fun is not None:
        side = 120
        across, up = (np.linspace(low, high, side) for low, high in box)
        x, y = np.meshgrid(across, up)
        z = _values(fun, np.column_stack([x.ravel(), y.ravel()])).reshape(side, side)
        axes.contourf(x, y, np.where(np.isfinite(z), z, np.nan), levels=30, cmap="Greys", alpha=0.7)
    axes.scatter(points[:, 0], points[:, 1], s=12, color=_BLUE, alpha=0.6, label="particles")
    x, y = result.consensus
    axes.scatter(x, y, s=80, marker="x", color=_ORANGE, label="consensus")
    axes.set_xlim(*box[0])
    axes.set_ylim(*box[1])
    axes.set_xlabel("x[0]")
    axes.set_ylabel("x[1]")
