"""Where a run takes place: bounds, the start of the particles, and the settings that follow from them."""

from __future__ import annotations

import os
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _reals
from ._lib import Problem
from ._method import is_auto, settle_method

Array = NDArray[np.float64]

Seed: TypeAlias = "int | np.random.Generator | np.random.SeedSequence"
"""A whole number, or what gives one: a generator (which moves on by one draw) or a seed sequence (which does not)."""


def numbers(name: str, value: Any) -> Array:
    """The value as an array of floats, or an error that says what it was."""
    if np.ma.is_masked(value):
        raise ValueError(f"{name} has masked entries: it must hold a number everywhere; fill them in")
    try:
        array = _reals.array(value)
    except TypeError:
        array = np.empty(0, dtype=object)
    except OverflowError:
        raise ValueError(f"{name} = {_reals.shown(value)}: a number is too large for a float") from None
    if array.dtype.kind not in "fiu" or array.dtype.itemsize > 8 and array.dtype.kind == "f":
        what = (
            f"an array of {array.dtype}"
            if array.dtype != object
            else f"{type(value).__name__} {_reals.shown(value)}"
        )
        raise TypeError(f"{name} is {what}: it must hold real numbers")
    return np.asarray(array, dtype=np.float64)


def _pairs(bounds: Any, dim: int | None) -> Array:
    if hasattr(bounds, "lb") and hasattr(bounds, "ub"):
        low, high = np.broadcast_arrays(
            *(np.atleast_1d(numbers("bounds", side)) for side in (bounds.lb, bounds.ub))
        )
        if dim is None and len(low) == 1:
            # The object does not tell one pair for all coordinates from the pair of the only one.
            raise ValueError(
                f"bounds = {_reals.shown(bounds)}: one pair for all coordinates does not say how many there are; "
                f"give x0, or pairs: [({low[0]:g}, {high[0]:g})] * d"
            )
        pairs: Array = np.stack([low, high], axis=-1)
        return np.repeat(pairs, dim, axis=0) if dim is not None and len(pairs) == 1 else pairs
    if not isinstance(bounds, np.ndarray):
        try:
            bounds = [
                [end if value is None else value for value, end in zip(pair, (-np.inf, np.inf), strict=True)]
                for pair in bounds
            ]
        except (TypeError, ValueError):
            raise ValueError(
                f"bounds = {bounds!r:.60}: must be a sequence of (low, high) pairs, one for each coordinate"
            ) from None
    return numbers("bounds", bounds)


def read_bounds(bounds: Any, dim: int | None) -> Array:
    """Bounds as scipy takes them, as an array of shape (d, 2); ``dim`` if it is known otherwise."""
    pairs = _pairs(bounds, dim)
    if pairs.ndim != 2 or pairs.shape[1] != 2 or len(pairs) == 0:
        raise ValueError(
            f"bounds have the shape {pairs.shape}: they must be (low, high) pairs, one for each coordinate"
        )
    if dim is not None and len(pairs) != dim:
        raise ValueError(f"bounds have {len(pairs)} pairs: there are {dim} coordinates")
    wrong = np.flatnonzero(~(pairs[:, 0] < pairs[:, 1]))
    if len(wrong):
        low, high = pairs[wrong[0]]
        raise ValueError(f"bounds[{wrong[0]}] = ({low:g}, {high:g}): low must be below high")
    return np.ascontiguousarray(pairs)


def _spread(spread: Any, bounds: Array | None, dim: int, auto: bool) -> Array:
    if spread is None:
        width: Array = np.full(dim, np.inf) if bounds is None else bounds[:, 1] - bounds[:, 0]
        if auto:
            # Where there is none, the method takes the size of the point.
            return np.where(np.isfinite(width), width / 4, 0.0)
        if not np.isfinite(width).all():
            raise ValueError(
                "spread is missing: one point x0 without finite bounds needs the distance to search around it"
            )
        return width / 4
    widths = numbers("spread", spread)
    if widths.shape not in ((), (dim,)):
        raise ValueError(
            f"spread has the shape {widths.shape}: give one number, or one for each of {dim} coordinates"
        )
    if not (np.isfinite(widths).all() and (widths > 0).all()):
        raise ValueError(f"spread = {spread!r:.60}: must be positive and finite")
    return np.broadcast_to(widths, (dim,)).copy()


def _start(x0: Array, spread: Any, bounds: Array | None, settings: dict[str, Any]) -> None:
    """Adds where the particles start to the settings."""
    if not np.isfinite(x0).all():
        raise ValueError(f"x0 holds {x0[~np.isfinite(x0)][0]}: its numbers must be finite")
    if bounds is not None and settings.get("bound_handling") != "none":
        outside = np.argwhere((x0 < bounds[:, 0]) | (x0 > bounds[:, 1]))
        if len(outside):
            at, (low, high) = tuple(map(int, outside[0])), bounds[outside[0][-1]]
            place = ", ".join(map(str, at))
            raise ValueError(f"x0[{place}] = {x0[at]:g} lies outside its bounds ({low:g}, {high:g})")
    if x0.ndim == 1:
        settings["init_mean"] = x0
        settings["init_variance"] = _spread(spread, bounds, len(x0), is_auto(settings)) ** 2
        return
    if spread is not None:
        raise ValueError("spread goes with one point x0; an array of points is the swarm itself")
    if not is_auto(settings) and settings.setdefault("particles", len(x0)) != len(x0):
        raise ValueError(f"particles = {settings['particles']}: x0 has {len(x0)} points; leave particles out")
    settings["init_points"] = np.ascontiguousarray(x0)


def settle(
    problem: Problem | None,
    bounds: Any,
    x0: ArrayLike | None,
    spread: Any,
    settings: dict[str, Any],
) -> int:
    """Adds method, bounds and start to ``settings``, and returns the dimension."""
    start = None
    if x0 is not None:
        start = np.atleast_1d(numbers("x0", x0))
        if start.ndim > 2 or start.size == 0:
            raise ValueError(f"x0 has the shape {start.shape}: give one point (d,) or one per particle (N, d)")
        if "init" in settings:
            raise ValueError("init and x0 both say where the particles start; give one of them")
    elif spread is not None:
        raise ValueError("spread is given without the point x0 that it belongs to")
    settle_method(settings, swarm=start is not None and start.ndim == 2)
    dim: int | None = start.shape[-1] if start is not None else None
    if problem is not None:
        if dim is not None and dim != problem.dim:
            raise ValueError(f"x0 has {dim} coordinates, but {problem.name} has {problem.dim}")
        dim = problem.dim
    box = read_bounds(bounds, dim) if bounds is not None else None
    # Outside its domain a confined function has no values.
    if box is None and problem is not None and problem.confined and settings.get("bound_handling") != "none":
        box = problem.bounds
    if box is not None:
        dim, settings["bounds"] = len(box), box
    if dim is None:
        raise ValueError("bounds are missing: give (low, high) for each coordinate, or x0 and spread")
    if start is not None:
        _start(start, spread, box, settings)
    elif "init" not in settings:
        domain = box if box is not None else problem.bounds if problem is not None else None
        settings["init_box"] = _finite(domain)
    _freeze(problem, settings, dim)
    _check_memory(dim, settings)
    return dim


def _check_memory(dim: int, settings: dict[str, Any]) -> None:
    """Refuses a swarm that cannot fit, before the system ends the process. Only Linux says what is free."""
    particles = settings.get("particles", 0)
    if not isinstance(particles, (int, float)) or particles < 1_000_000:
        return
    try:
        with open("/proc/meminfo") as file:
            [free] = [int(line.split()[1]) * 1024 for line in file if line.startswith("MemAvailable:")]
    except (OSError, ValueError):
        return
    needed = particles * dim * (4 if settings.get("precision") == "f32" else 8)
    if needed > free:
        # Whole numbers of Python have no limit, floats do.
        size = f"{needed / 2**30:.1f} GiB" if needed < 2**100 else "far too much"
        raise MemoryError(
            f"particles = {_reals.shown(particles)}: the swarm needs {size} of memory, "
            f"and {free / 2**30:.1f} GiB is free; use fewer, or precision='f32'"
        )


def _finite(box: Array | None) -> Array:
    assert box is not None
    infinite = np.flatnonzero(~np.isfinite(box).all(axis=1))
    if len(infinite):
        low, high = box[infinite[0]]
        raise ValueError(
            f"bounds[{infinite[0]}] = ({low:g}, {high:g}): the swarm starts in a finite box; "
            "give x0 with spread where a side is infinite"
        )
    return box


def _freeze(problem: Problem | None, settings: dict[str, Any], dim: int) -> None:
    freeze = settings.get("freeze")
    if freeze is None:
        return
    if isinstance(freeze, str):
        if freeze not in ("minimiser", "minimizer") or problem is None:
            raise ValueError(f"freeze = {freeze!r}: give a point, or 'minimiser' with a built-in problem")
        freeze = problem.minimisers[0]
    point = numbers("freeze", freeze)
    if point.shape != (dim,):
        raise ValueError(f"freeze has the shape {point.shape}: a point has {dim} coordinates")
    settings["freeze"] = np.ascontiguousarray(point)


def read_seed(seed: Seed | None) -> Any:
    """The seed as the engine takes it: a whole number, or whatever it will refuse."""
    if seed is None:
        return fresh_seed()
    if isinstance(seed, np.random.Generator):
        return int(seed.integers(2**63))
    if isinstance(seed, np.random.SeedSequence):
        return int(seed.generate_state(1, np.uint64)[0]) >> 1
    return seed


def fresh_seed() -> int:
    """A seed from the operating system."""
    return int.from_bytes(os.urandom(8), "little") >> 1
