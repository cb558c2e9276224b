"""``cbo.Optimizer``: the same run, with a loop of your own."""

from __future__ import annotations

import os
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _device, _lib, _reals, _saved, _space
from ._minimize import run_settings
from ._result import OptimizeResult, result_of
from ._values import convert

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._options import Options
    from ._space import Seed


def _engine(settings: dict[str, Any]) -> dict[str, Any]:
    """The settings that the engine knows."""
    return {key: value for key, value in settings.items() if key != "like"}


class Optimizer:
    """A run that asks for points and is told their values.

    It goes through the same steps as `cbo.minimize` with the same settings, seed and values. The consensus
    point itself is never asked for, so ``consensus_fun`` of the result is NaN. With the method auto ``batch``
    says how many points each `ask` gives at least, while the evaluations last: one if it is left out.

    Parameters
    ----------
    bounds, x0, spread, particles, max_evaluations, seed, **options
        As for `cbo.minimize`.
    constraints : int, optional
        How many constraints each point has to meet; their values are told with those of the points.
    device, like : str, optional
        As for `cbo.minimize`: with a GPU `ask` gives a tensor there, without a copy, which the next `ask` after a
        `tell` overwrites, and `tell` takes one, all values at once.

    Examples
    --------
    >>> import numpy as np
    >>> import cbo
    >>> optimizer = cbo.Optimizer(bounds=[(-5, 5)] * 2, batch=10, seed=1)
    >>> while not optimizer.done:
    ...     x = optimizer.ask()
    ...     optimizer.tell(x, np.sum((x - 1) ** 2, axis=1))
    >>> bool(np.allclose(optimizer.result().x, 1, atol=1e-3))
    True

    Values may come in any order and in pieces, NaN for those that failed:

    >>> optimizer = cbo.Optimizer(bounds=[(-5, 5)] * 2, particles=4, seed=1)
    >>> x = optimizer.ask()
    >>> optimizer.tell(x[2:], [3.0, float("nan")])
    >>> optimizer.step, len(optimizer.ask())
    (0, 2)
    >>> optimizer.tell(x[:2], [1.0, 2.0])
    >>> optimizer.ask().shape, optimizer.step, optimizer.result().failed_evaluations
    ((4, 2), 1, 1)
    """

    def __init__(
        self,
        bounds: Any = None,
        x0: ArrayLike | None = None,
        *,
        spread: ArrayLike | None = None,
        particles: int | None = None,
        max_evaluations: int | None = None,
        seed: Seed | None = None,
        constraints: int = 0,
        device: str | None = None,
        like: Literal["torch", "jax", "cupy", "numpy"] | None = None,
        **options: Unpack[Options],
    ) -> None:
        if isinstance(constraints, bool) or not isinstance(constraints, (int, np.integer)) or constraints < 0:
            raise TypeError(f"constraints = {constraints!r:.60}: must be their number; their values go to tell")
        settings = run_settings(options, particles, max_evaluations, seed)
        if device is not None and not isinstance(device, str):
            raise TypeError(f"device = {device!r:.60}: must be a text: 'cpu', 'cuda' or 'cuda:N'")
        if device is not None:
            settings["device"] = device
        if _device.is_elsewhere(device) and constraints:
            raise ValueError(f"device = {device!r}: constraints are not there yet; use device='cpu'")
        if not _device.is_elsewhere(device) and like is not None:
            raise ValueError(f"like = {like!r:.60}: only with device='cuda' points are on a GPU; leave it out")
        if like is not None:
            settings["like"] = like
        _device.importer(like)
        dim = _space.settle(None, bounds, x0, spread, settings)
        self._begin(dim, settings, _lib.Run(dim, _engine(settings), int(constraints)), {})

    def _begin(
        self, dim: int, settings: dict[str, Any], run: _lib.Run, earlier: dict[str, NDArray[Any]]
    ) -> None:
        self._dim, self._settings, self._run = dim, settings, run
        # The history before the run was loaded, which the engine does not have.
        self._earlier = earlier
        self._error: str | None = None
        self._asked: NDArray[Any] | None = None
        # On a GPU: the points of this step, if they were asked for, and what makes a tensor of them.
        self._there: _lib.Points | None = None
        self._tensor = _device.importer(settings.get("like"))
        self._values: NDArray[np.float64] = np.empty(0)
        self._constraints: NDArray[np.float64] = np.empty((0, run.constraints))
        self._told: NDArray[np.bool_] = np.empty(0, dtype=bool)
        self._places: dict[bytes, list[int]] | None = None

    @property
    def step(self) -> int:
        """The step of the points last asked for, from 0."""
        return self._run.step

    @property
    def stop(self) -> str:
        """Why the run has ended (see `cbo.OptimizeResult`); empty while it is running."""
        return self._run.stopped or ""

    @property
    def done(self) -> bool:
        """Whether the run has ended."""
        return self._run.stopped is not None

    def ask(self) -> Any:
        """The points of this step that have no value yet, one per row, in an array of your own.

        On a GPU it is a tensor of all points there, a view that the next step overwrites; it must not be written to.

        Raises
        ------
        RuntimeError
            If the run has ended.
        """
        self._check_alive()
        if _device.is_elsewhere(self._settings.get("device")):
            self._there = self._run.ask_there()
            return self._there if self._tensor is None else self._tensor(self._there)
        if self._asked is None:
            self._ask()
        points: NDArray[Any] = self._points()[~self._told]
        return points

    def _ask(self) -> None:
        self._asked = self._run.ask()
        self._values = np.full(len(self._asked), np.nan)
        self._constraints = np.full((len(self._asked), self._run.constraints), np.nan)
        self._told = np.zeros(len(self._asked), dtype=bool)
        self._places = None

    def _points(self) -> NDArray[Any]:
        if self._asked is None:
            raise RuntimeError("tell before ask: no points are waiting for values")
        return self._asked

    def _check_alive(self) -> None:
        if self._error is not None:
            raise RuntimeError(f"the run has ended with an error: {self._error}")
        if self.done:
            raise RuntimeError(f"the run has ended ({self.stop}); result() has what it found")

    def tell(self, x: Any, f: Any, constraints: ArrayLike | None = None) -> None:
        """Takes the values of points that were asked for: all or some, in any order.

        On a GPU all values are told at once, in the order of the points, as a tensor there or as an array; of `x`
        only the shape is looked at.

        Parameters
        ----------
        x : array of shape (n, d) or (d,)
            Points of the last `ask`, unchanged.
        f : array of shape (n,) or float
            Their values; NaN for an evaluation that failed (or masked), infinity for an infeasible point.
        constraints : array of shape (n, m), or (m,) for one point
            Their constraints, if the run has m of them: each is met where it is zero or less, and violated by as
            much as it is more. NaN for an evaluation that failed.

        Examples
        --------
        >>> import numpy as np
        >>> import cbo
        >>> optimizer = cbo.Optimizer(bounds=[(-2, 2)] * 2, batch=20, max_evaluations=2000, seed=1, constraints=1)
        >>> while not optimizer.done:
        ...     x = optimizer.ask()
        ...     optimizer.tell(x, x.sum(axis=1), (x**2).sum(axis=1, keepdims=True) - 1)
        >>> result = optimizer.result()
        >>> result.feasible, round(float(result.fun), 3)
        (True, -1.414)

        Raises
        ------
        ValueError
            If a point was not asked for, or was told another value before. Then no values are taken.
        RuntimeError
            If nothing was asked for, or if no point of the step has a finite value.
        """
        self._check_alive()
        if _device.is_elsewhere(self._settings.get("device")):
            self._tell_there(x, f, constraints)
            return
        asked = self._points()
        points, values = self._read(x, f)
        limits = self._read_constraints(constraints, len(points))
        # The usual case, all that was asked for in its order, needs no search.
        rest = np.flatnonzero(~self._told)
        if len(points) == len(rest) and points.tobytes() == asked[rest].tobytes():
            places = rest
        else:
            places = self._find(points, values)
        self._values[places] = values
        self._constraints[places] = limits
        self._told[places] = True
        if self._told.all():
            self._finish_step()

    def _tell_there(self, x: Any, f: Any, constraints: Any) -> None:
        points = self._there
        if points is None:
            raise RuntimeError("tell before ask: no points are waiting for values")
        if constraints is not None:
            raise ValueError("constraints are given: a run on a GPU has none")
        if tuple(getattr(x, "shape", ())) != points.shape:
            shape = getattr(x, "shape", None)
            raise ValueError(f"x has the shape {shape}: on a GPU all {points.shape[0]} points are told at once")
        try:
            self._run.tell_there(points, f, convert)
        except RuntimeError as error:
            self._error = str(error)
            raise
        self._there = None

    def _read(self, x: ArrayLike, f: ArrayLike) -> tuple[NDArray[Any], NDArray[np.float64]]:
        given = _space.numbers("x", x)
        # What is masked has no value: a failed evaluation.
        values = _space.numbers("f", _reals.array(f) if np.ma.is_masked(f) else f)
        if given.ndim == 1 and values.ndim == 0:
            given, values = given[None, :], values[None]
        if given.ndim != 2 or given.shape[1] != self._dim:
            raise ValueError(f"x has the shape {given.shape}: points are rows of {self._dim} numbers")
        if values.shape != (len(given),):
            raise ValueError(f"f has the shape {values.shape}: {len(given)} points have {len(given)} values")
        return np.ascontiguousarray(given, dtype=self._points().dtype), values

    def _read_constraints(self, given: ArrayLike | None, points: int) -> NDArray[np.float64]:
        count = self._run.constraints
        if given is None and count > 0:
            raise ValueError(f"constraints are missing: each point has {count}")
        if given is None:
            return np.empty((points, 0))
        values = _space.numbers("constraints", given)
        if values.ndim == 1 and points == 1:
            values = values[None, :]
        if values.shape != (points, count):
            raise ValueError(f"constraints have the shape {values.shape}: {points} points have {(points, count)}")
        return values

    def _find(self, points: NDArray[Any], values: NDArray[np.float64]) -> NDArray[np.intp]:
        """The places of the points. Equal points take their values one after the other."""
        if self._places is None:
            self._places = defaultdict(list)
            for place, row in enumerate(self._points()):
                self._places[row.tobytes()].append(place)
        found, taken = [], self._told.copy()
        told = self._values.copy()
        for index, (point, value) in enumerate(zip(points, values, strict=True)):
            places = self._places.get(point.tobytes())
            if not places:
                raise ValueError(f"x[{index}] = {point!s:.80} is not one of the points last asked for")
            free = [place for place in places if not taken[place]]
            if not free:
                same = [
                    place
                    for place in places
                    if told[place] == value or np.isnan(told[place]) and np.isnan(value)
                ]
                if not same:
                    before = float(told[places[0]])
                    raise ValueError(
                        f"x[{index}] already has the value {before}, and is now told {float(value)}"
                    )
                free = same
            found.append(free[0])
            taken[free[0]], told[free[0]] = True, value
        return np.array(found, dtype=np.intp)

    def _finish_step(self) -> None:
        values, self._asked = self._values, None
        try:
            self._run.tell(values, self._constraints.ravel())
        except RuntimeError as error:
            self._error = str(error)
            raise

    def result(self) -> OptimizeResult:
        """What the run has found so far.

        Values of a step count when all of them are told. ``success`` and ``stop`` say whether it is over.
        """
        raw = self._run.result()
        if raw["nfev"] == 0:
            raw["x"][:] = np.nan
            raw["consensus"][:] = np.nan
        if self._earlier:
            history = raw["history"]
            raw["history"] = {key: np.concatenate([self._earlier[key], history[key]]) for key in history}
        return result_of(raw, self._settings)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the whole state to a file, from which `load` continues bit for bit.

        The file is complete or absent: an interrupted save leaves the previous one. It includes the values told
        for an unfinished step.

        Examples
        --------
        >>> import os, tempfile
        >>> import cbo
        >>> optimizer = cbo.Optimizer(bounds=[(-1, 1)], particles=3, seed=1)
        >>> x = optimizer.ask()
        >>> optimizer.tell(x[1], 0.5)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     optimizer.save(os.path.join(folder, "run.cbo"))
        ...     again = cbo.Optimizer.load(os.path.join(folder, "run.cbo"))
        >>> bool((again.ask() == optimizer.ask()).all()), len(again.ask())
        (True, 2)
        """
        _saved.write(Path(path), self._to_bytes())

    @classmethod
    def load(cls, path: str | os.PathLike[str], device: str | None = None) -> Optimizer:
        """Continues where `save` was called, on the same device or on another.

        Raises
        ------
        ValueError
            If the file is not one of `save`, or is damaged.
        """
        try:
            return cls._from_bytes(Path(path).read_bytes(), device)
        except ValueError as error:
            raise ValueError(f"path = {str(path)!r}: {error}") from None

    def _to_bytes(self) -> bytes:
        half = {} if self._asked is None else {"values": self._values, "told": self._told}
        if half and self._run.constraints:
            half["constraints"] = self._constraints
        history = {f"history.{key}": column for key, column in self.result()["history"].items()}
        state = np.frombuffer(self._run.save(), dtype=np.uint8)
        return _saved.pack(self._dim, self._settings, {**half, **history, "state": state}, self._error)

    @classmethod
    def _from_bytes(cls, data: bytes, device: str | None = None) -> Optimizer:
        dim, settings, arrays, error = _saved.unpack(data)
        if device is not None:
            settings["device"] = device
            if not _device.is_elsewhere(device):
                settings.pop("like", None)
        optimizer = cls.__new__(cls)
        history = {key.removeprefix("history."): column for key, column in arrays.items() if "." in key}
        damaged = ValueError(_saved.DAMAGED)
        try:
            run = _lib.Run.load(dim, _engine(settings), arrays["state"].tobytes())
        except (TypeError, KeyError):
            raise damaged from None
        # Files of version 1 have no checksum: what is used later is looked at now.
        if history.keys() != run.result()["history"].keys() or "seed" not in settings:
            raise damaged
        optimizer._begin(dim, settings, run, history)
        optimizer._error = error
        if "told" in arrays and not _device.is_elsewhere(settings.get("device")):
            optimizer._ask()
            values, told = arrays["values"].copy(), arrays["told"].copy()
            limits = arrays["constraints"].copy() if "constraints" in arrays else optimizer._constraints
            pairs = ((values, optimizer._values), (told, optimizer._told), (limits, optimizer._constraints))
            if any(one.dtype != other.dtype or one.shape != other.shape for one, other in pairs):
                raise damaged
            optimizer._values, optimizer._told, optimizer._constraints = values, told, limits
        return optimizer

    def __reduce__(self) -> tuple[Any, tuple[bytes]]:
        return Optimizer._from_bytes, (self._to_bytes(),)

    def __repr__(self) -> str:
        ending = f", {self.stop}" if self.done else ""
        return f"<cbo.Optimizer: {self._dim} dimensions, step {self.step}{ending}>"
