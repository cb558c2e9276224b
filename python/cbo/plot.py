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
from ._comparison import Comparison, Curve
from ._lib import Problem
from ._optimizer import Optimizer
from ._result import OptimizeResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["history", "swarm", "targets"]

# Readable by colour-blind people (Okabe and Ito), as in the pictures of the command line.
_BLUE, _VERMILLION, _GREEN, _BLACK, _GREY = "#0072B2", "#D55E00", "#009E73", "#000000", "#999999"
_COLOURS = (_BLUE, _VERMILLION, _GREEN, "#CC79A7", "#E69F00", "#56B4E9", _BLACK)

# Cells of a map along each side, and samples along each side of a cell; a Python function is called for every sample.
_CELLS, _SAMPLES = 400, 3
_CELLS_OF_CALLABLE = 120


def _axes(ax: Axes | None) -> Axes:
    if ax is not None:
        return ax
    _axes_needed()
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(layout="constrained")
    return axes


def _axes_needed() -> None:
    try:
        import matplotlib.pyplot  # noqa: F401
    except ImportError as error:
        raise ImportError("pictures need matplotlib: pip install matplotlib") from error


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


def targets(comparison: Comparison, problem: str | None = None, ax: Axes | None = None) -> Axes | list[Axes]:
    """Draws the part of the targets that each method of a comparison reached, over evaluations.

    Each curve has its band, which has 95 % of the curves of other samples of the runs, and its name at its end.

    Parameters
    ----------
    comparison : Comparison
        What `cbo.compare` found.
    problem : str, optional
        One of its problems; a panel for each if left out.
    ax : matplotlib axes, optional
        Where to draw, if it is one problem; a new figure if left out.

    Returns
    -------
    matplotlib axes, one for each problem that is drawn; not in a list if it is one
    """
    shown = comparison.problems if problem is None else [problem]
    if problem is not None and problem not in comparison.problems:
        raise ValueError(f"problem = {problem!r}: must be one of {', '.join(comparison.problems)}")
    if ax is not None and len(shown) > 1:
        raise ValueError(f"there are {len(shown)} problems: axes show one; say which")
    panels = [_axes(ax)] if len(shown) == 1 else _panels(len(shown))
    for name, axes in zip(shown, panels, strict=True):
        curves = [(method, comparison.curves[name, method]) for method in comparison.methods]
        _draw_targets(axes, name, curves)
    return panels[0] if len(panels) == 1 else panels


def _panels(count: int) -> list[Axes]:
    _axes_needed()
    from matplotlib import pyplot

    columns = min(count, 2)
    rows = -(-count // columns)
    size = (6.4 * columns, 4.6 * rows)
    figure, grid = pyplot.subplots(rows, columns, figsize=size, layout="constrained", squeeze=False)
    panels: list[Axes] = list(grid.flat)
    for empty in panels[count:]:
        figure.delaxes(empty)
    return panels[:count]


def _draw_targets(axes: Axes, name: str, curves: list[tuple[str, Curve]]) -> None:
    last = curves[0][1].evaluations[-1]
    first = 10.0 ** max(np.floor(np.log10(max(last, 2.0))) - 3, 0.0)
    for place, (_, curve) in enumerate(curves):
        style: dict[str, Any] = {"color": _COLOURS[place % len(_COLOURS)]}
        axes.fill_between(
            curve.evaluations, curve.low, curve.high, step="post", alpha=0.13, linewidth=0, **style
        )
        dashes = "--" if place // len(_COLOURS) % 2 else "-"
        axes.step(curve.evaluations, curve.reached, where="post", linestyle=dashes, **style)
    axes.set_xscale("log")
    axes.set_xlim(first, max(last, 1.1 * first))
    axes.set_ylim(0, 1.01)
    axes.grid(color="#DDDDDD", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_title(name)
    axes.set_xlabel("evaluations")
    axes.set_ylabel("targets reached")
    ends = np.array([curve.reached[-1] for _, curve in curves])
    for place, ((method, _), height) in enumerate(zip(curves, _apart(ends, 0.05), strict=True)):
        axes.annotate(
            method,
            xy=(1.0, ends[place] / 1.01),
            xytext=(1.06, height / 1.01),
            xycoords="axes fraction",
            textcoords="axes fraction",
            color=_COLOURS[place % len(_COLOURS)],
            va="center",
            arrowprops={"arrowstyle": "-", "color": _COLOURS[place % len(_COLOURS)], "linewidth": 0.8},
            annotation_clip=False,
        )


def _apart(wanted: NDArray[np.float64], least: float) -> NDArray[np.float64]:
    """Heights near the wanted ones, in the same order, that lie apart; of equal ones the first is above."""
    order = np.lexsort((-np.arange(len(wanted)), wanted))
    groups: list[tuple[float, int]] = []
    for height in wanted[order]:
        middle, count = float(height), 1
        while groups and groups[-1][0] + (groups[-1][1] + count) * least / 2 > middle:
            before, others = groups.pop()
            middle, count = (before * others + middle * count) / (others + count), others + count
            middle = max(middle, (count - 1) * least / 2)
        groups.append((middle, count))
    places = [middle + least * (k - (count - 1) / 2) for middle, count in groups for k in range(count)]
    moved = np.empty(len(wanted))
    moved[order] = places
    return moved


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
