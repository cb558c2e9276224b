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

from . import _landscape, _space
from ._lib import Problem
from ._optimizer import Optimizer
from ._result import OptimizeResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["history", "swarm"]

# Readable by colour-blind people (Okabe and Ito), as in the pictures of the command line.
_BLUE, _VERMILLION, _GREEN, _BLACK, _GREY = "#0072B2", "#D55E00", "#009E73", "#000000", "#999999"

# Cells of a map along each side, and samples along each side of a cell; a Python function is called for every sample.
_CELLS, _SAMPLES = 400, 3
_CELLS_OF_CALLABLE = 120


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
            axes.axvline(phase.stop, color=_GREY, linestyle="--", linewidth=0.8, label=label)
    elif result.method.split(":")[0] != "auto":
        axes.plot(evaluations, spread, color=_GREEN, linestyle="--", label="spread of the swarm")
    # A best value of exactly 0 has no place there; the line ends before it.
    if len(best) and (best >= 0).all() and (best > 0).any():
        axes.set_yscale("log", nonpositive="mask")
        _whole_decades(axes)
    axes.set_xlabel("evaluations")
    _legend(axes)
    return axes


def _whole_decades(axes: Axes) -> None:
    """Whole decades on the vertical axis, and numbers at decades alone."""
    from matplotlib.ticker import NullFormatter

    low, high = np.log10(axes.get_ylim())
    axes.set_ylim(10.0 ** np.floor(low), 10.0 ** max(np.ceil(high), np.floor(low) + 1))
    axes.yaxis.set_minor_formatter(NullFormatter())


def _legend(axes: Axes) -> None:
    """The legend below, where nothing is hidden by it."""
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=3, frameon=False)


def swarm(
    run: OptimizeResult | Optimizer,
    fun: Problem | Callable[[NDArray[np.float64]], Any] | None = None,
    bounds: Any = None,
    ax: Axes | None = None,
) -> Axes:
    """Draws the particles of a run in one or two dimensions, with their consensus point.

    Low is dark; the bar gives the values. The legend counts particles that are not in the picture.

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
    _legend(axes)
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
    axes.scatter(points[:, 0], energies, **_dots(points, box))
    axes.axvline(float(result.consensus[0]), color=_BLACK, linestyle="--", label="consensus")
    axes.set_xlim(*box[0])
    axes.set_xlabel("x[0]")
    axes.set_ylabel("value")


def _dots(points: NDArray[np.float64], box: NDArray[np.float64]) -> dict[str, Any]:
    """The look of particles, and in their name how many are not in the picture."""
    outside = int(((points < box[:, 0]) | (points > box[:, 1])).any(axis=1).sum())
    count = "all" if outside == len(points) else outside
    label = f"particles ({count} outside)" if outside else "particles"
    return {"s": 14, "color": _VERMILLION, "edgecolors": "#1A1A1A", "linewidths": 0.5, "label": label}


def _draw_plane(
    axes: Axes, fun: Any, box: NDArray[np.float64], result: Any, points: NDArray[np.float64]
) -> None:
    if fun is not None:
        _draw_map(axes, fun, box)
    axes.scatter(points[:, 0], points[:, 1], **_dots(points, box))
    x, y = result.consensus
    axes.scatter(x, y, s=60, marker="D", color=_BLACK, edgecolors="white", linewidths=1.2, label="consensus")
    axes.set_xlim(*box[0])
    axes.set_ylim(*box[1])
    axes.set_xlabel("x[0]")
    axes.set_ylabel("x[1]")


def _draw_map(axes: Axes, fun: Any, box: NDArray[np.float64]) -> None:
    """The map of a function, with lines of equal height and a bar."""
    if isinstance(fun, Problem):
        minimum, cells, samples = fun.minimum, _CELLS, _SAMPLES
    else:
        minimum, cells, samples = None, _CELLS_OF_CALLABLE, 1
    rows, scale, least = _landscape.heights(lambda x: _values(fun, x), box, minimum, cells, samples)
    (left, right), (low, high) = box.tolist()
    image = axes.imshow(
        rows, origin="lower", extent=(left, right, low, high), aspect="auto", cmap="viridis", vmin=0, vmax=1, interpolation="nearest"
    )
    values = scale.ticks()
    places = scale.height(np.array(values))
    levels = np.union1d(places[1:], (places + np.append(places[1:], 1.0)) / 2)
    x, y = (a + (b - a) * (np.arange(cells) + 0.5) / cells for a, b in box)
    axes.contour(x, y, _landscape.smoothed(rows), levels=levels, colors="white", linewidths=0.4)
    label = "value above the minimum" if minimum is not None else f"value above {least:.3g}"
    bar = axes.figure.colorbar(image, ax=axes, label=label)
    bar.set_ticks(list(places), labels=[_number(value) for value in values])


def _number(value: float) -> str:
    """A value of the bar: a power of ten as one where it is far from 1."""
    exponent = np.log10(value) if value > 0 else 0.0
    if abs(exponent - round(exponent)) < 1e-9 and not -2 <= exponent < 2.5:
        return f"$10^{{{round(exponent)}}}$"
    return f"{value:g}"
