"""``cbo.success_rate``: how often a minimum is found, over many seeds."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _lib, _space
from ._constraints import is_given
from ._method import is_auto
from ._minimize import minimize, run_settings

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._options import Options
    from ._space import Seed


@dataclass(frozen=True, repr=False)
class SuccessRate:
    """How often runs with different seeds found a minimum.

    Attributes
    ----------
    rate : float
        Successes divided by runs.
    low, high : float
        Ends of the 95 % Wilson interval of the rate.
    successes, runs : int
        The counts.
    fun, distance, nfev, nit : ndarray
        Of each run: the value of the point that counts, its distance to the nearest minimiser in the maximum
        norm (NaN if no minimiser is known), evaluations, steps.
    violation : ndarray
        Of each run: how far its best point violates its constraints; 0 if it meets them, or if there are none.
    seed : int
        Seed of the first run; the others follow.
    """

    rate: float
    low: float
    high: float
    successes: int
    runs: int
    fun: NDArray[np.float64]
    distance: NDArray[np.float64]
    violation: NDArray[np.float64]
    nfev: NDArray[np.int64]
    nit: NDArray[np.int64]
    seed: int

    @property
    def median_nfev(self) -> float:
        """The median of the evaluations."""
        return float(np.median(self.nfev))

    def __repr__(self) -> str:
        return (
            f"<success in {self.successes} of {self.runs} runs: {100 * self.rate:.1f} %, "
            f"95 % Wilson interval {100 * self.low:.1f} % to {100 * self.high:.1f} %>"
        )


def success_rate(
    fun: Callable[..., Any],
    bounds: Any = None,
    x0: ArrayLike | None = None,
    *,
    runs: int = 100,
    tolerance: float | None = None,
    judge: Literal["best", "consensus"] = "best",
    minimisers: ArrayLike | None = None,
    minimum: float | None = None,
    args: tuple[Any, ...] = (),
    constraints: Any = (),
    spread: ArrayLike | None = None,
    particles: int | None = None,
    max_evaluations: int | None = None,
    seed: Seed = 0,
    vectorized: bool = False,
    **options: Unpack[Options],
) -> SuccessRate:
    """Measures how often a minimum is found, over runs with different seeds.

    A run is a success if its best point is closer than `tolerance` to a minimiser, in the maximum norm, or,
    where only the `minimum` is given, if its best value lies less than `tolerance` above it. Under constraints the
    best point must meet all of them, and built-in problems with constraints are judged by their minimum.

    Parameters
    ----------
    fun : callable or problem
        As for `cbo.minimize`. The minimisers of a built-in problem are known, and its runs are spread over
        the threads.
    runs : int, optional
        Number of runs; run r has the seed ``seed + r``, where `seed` is as for `cbo.minimize`.
    tolerance : float, optional
        Distance, or difference of values, below which a run is a success: 0.25 if left out, or 1e-4 for a built-in
        problem with constraints.
    judge : "best" or "consensus", optional
        The point that counts: the best one, or, as in the papers on consensus-based optimization, the consensus
        point at the end. The method auto does not evaluate one, and is judged by its best point.
    minimisers : array of shape (d,) or (n, d), optional
        Where `fun` has its minimum.
    minimum : float, optional
        The least value of `fun`, instead of `minimisers`.
    bounds, x0, args, constraints, spread, particles, max_evaluations, vectorized, **options
        As for `cbo.minimize`.

    Returns
    -------
    SuccessRate

    Examples
    --------
    >>> import cbo
    >>> cbo.success_rate(cbo.problems.sphere(2), particles=50, steps=100, runs=20)
    <success in 20 of 20 runs: 100.0 %, 95 % Wilson interval 83.9 % to 100.0 %>
    """
    if isinstance(runs, bool) or not isinstance(runs, (int, np.integer)) or runs < 1:
        raise ValueError(f"runs = {runs!r}: must be a whole number of at least 1")
    known = fun if isinstance(fun, _lib.Problem) else None
    by_value = known is not None and bool(known.constraints) and minimisers is None and minimum is None
    if tolerance is None:
        tolerance = 1e-4 if by_value else 0.25
    if not (isinstance(tolerance, (int, float, np.number)) and 0 < tolerance < math.inf):
        raise ValueError(f"tolerance = {tolerance!r}: must be a positive finite number")
    if judge not in ("best", "consensus"):
        raise ValueError(f"judge = {judge!r}: must be 'best' or 'consensus'")
    if minimisers is not None and minimum is not None:
        raise ValueError("minimisers and minimum both say what a success is; give one of them")
    first: int = _space.read_seed(seed)
    if known is not None and minimisers is None and not args and not is_given(constraints):
        settings = run_settings(options, particles, max_evaluations, first)
        _space.settle(known, bounds, x0, spread, settings)
        raw = _lib.success_runs(known, settings, int(runs), judge)
    else:
        if minimisers is None and minimum is None:
            raise ValueError("minimisers are missing: say where fun has its minimum, or what its minimum is")
        place = dict(bounds=bounds, x0=x0, args=args, constraints=constraints, spread=spread, vectorized=vectorized)
        limits = dict(particles=particles, max_evaluations=max_evaluations)
        raw = _runs(fun, int(runs), first, minimisers, judge, {**place, **limits, **options})
    if by_value and known is not None:
        minimum = known.minimum
    found = raw["fun"] - minimum < tolerance if minimum is not None else raw["distance"] < tolerance
    found &= raw["violation"] == 0
    successes = int(np.count_nonzero(found))
    return SuccessRate(
        successes / runs, *_lib.wilson(successes, int(runs)), successes, int(runs), **raw, seed=first
    )


def _runs(
    fun: Callable[..., Any],
    runs: int,
    seed: int,
    minimisers: ArrayLike | None,
    judge: str,
    keywords: dict[str, Any],
) -> dict[str, NDArray[Any]]:
    """Runs one after the other."""
    results = [minimize(fun, seed=seed + run, **keywords) for run in range(runs)]
    by_best = [judge == "best" or is_auto(result) for result in results]
    points = np.stack([r.x if best else r.consensus for r, best in zip(results, by_best, strict=True)])
    distance = np.full(runs, np.nan)
    if minimisers is not None:
        wanted = np.atleast_2d(_space.numbers("minimisers", minimisers))
        if wanted.shape[1] != points.shape[1]:
            raise ValueError(
                f"minimisers have the shape {wanted.shape}: a point has {points.shape[1]} coordinates"
            )
        distance = np.abs(points[:, None, :] - wanted[None, :, :]).max(axis=2).min(axis=1)
    return {
        "fun": np.array([r.fun if best else r.consensus_fun for r, best in zip(results, by_best, strict=True)]),
        "distance": distance,
        "violation": np.array([result.violation for result in results]),
        "nfev": np.array([result.nfev for result in results]),
        "nit": np.array([result.nit for result in results]),
    }
