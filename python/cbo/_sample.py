"""``cbo.sample``: draws from the law of density proportional to exp(-fun)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _lib
from ._evaluate import Evaluator
from ._minimize import run as run_swarm
from ._result import AttributeDict, OptimizeResult

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._evaluate_futures import Executor
    from ._options import Options
    from ._space import Seed


class SampleResult(AttributeDict):
    """Draws from a law, and what they tell of it. Every entry is an attribute and a key.

    Attributes
    ----------
    samples : ndarray of shape (draws, d)
        Draws of equal weight. Where the weights differ, a point is there more than once.
    mean, mean_errors : ndarray of shape (d,)
        The mean of the law and its standard errors.
    covariance, covariance_errors : ndarray of shape (d, d)
        The covariance of the law and its standard errors.
    log_normaliser, log_normaliser_error : float
        The logarithm of the integral of exp(-fun), and its standard error.
    effective_sample_size : float
        How many independent draws from the law the weighted ones are worth.
    points, weights, energies : ndarray
        The points that were drawn, their weights, which sum up to 1, and the values of `fun` there (infinite
        outside the bounds).
    nfev : int
        Evaluations, those of the run included.
    failed_evaluations : int
        How many of them gave NaN. Such points count as outside the law.
    run : OptimizeResult
        The run that came before.
    """

    samples: NDArray[Any]
    mean: NDArray[np.float64]
    mean_errors: NDArray[np.float64]
    covariance: NDArray[np.float64]
    covariance_errors: NDArray[np.float64]
    log_normaliser: float
    log_normaliser_error: float
    effective_sample_size: float
    points: NDArray[Any]
    weights: NDArray[np.float64]
    energies: NDArray[Any]
    nfev: int
    failed_evaluations: int
    run: OptimizeResult


def sample(
    fun: Callable[..., Any],
    bounds: Any = None,
    x0: ArrayLike | None = None,
    *,
    draws: int = 4000,
    args: tuple[Any, ...] = (),
    spread: ArrayLike | None = None,
    particles: int | None = None,
    max_evaluations: int | None = None,
    seed: Seed | None = None,
    vectorized: bool = False,
    workers: int | Callable[..., Iterable[Any]] | Executor = 1,
    timeout: float | None = None,
    retries: int = 0,
    callback: Callable[[OptimizeResult], Any] | None = None,
    progress: bool | Literal["force"] = False,
    **options: Unpack[Options],
) -> SampleResult:
    """Draws from the law of density proportional to ``exp(-fun)``, restricted to the bounds.

    A run of the method ``"sampling:law=true"`` brings a swarm near the law; then points are drawn around it, round by
    round, and weighted by importance, so that they have the law itself. `fun` is a negative log-density, up to a constant.

    Parameters
    ----------
    fun, bounds, x0, args, spread, particles, seed, vectorized, workers, timeout, retries, callback, progress, **options
        As for `cbo.minimize`. The method is settled.
    draws : int, optional
        Points that are drawn after the run, with an evaluation for each.
    max_evaluations : int, optional
        Those of the run. The draws come after them.

    Returns
    -------
    SampleResult
        Draws of equal weight ``samples``; ``mean``, ``covariance`` and ``log_normaliser`` with standard errors.

    Raises
    ------
    TypeError, ValueError, RuntimeError
        As `cbo.minimize`; and RuntimeError if the swarm does not vary in all directions, or no draw has a finite
        value.

    Examples
    --------
    >>> import numpy as np
    >>> import cbo
    >>> law = cbo.sample(lambda x: (x[0] - 1) ** 2 / 8 + 2 * x[1] ** 2, bounds=[(-9, 9), (-9, 9)], seed=1)
    >>> bool(np.all(np.abs(law.mean - [1, 0]) < 5 * law.mean_errors))
    True
    >>> law.samples.shape
    (4000, 2)
    """
    if isinstance(draws, bool) or not isinstance(draws, (int, np.integer)) or draws < 2:
        raise ValueError(f"draws = {draws!r:.60}: must be a whole number, 2 or more")
    method = options.setdefault("method", "sampling:law=true")
    if isinstance(method, str) and method.partition(":")[0].strip() != "sampling":
        raise ValueError(f"method = {method!r:.60}: only the method sampling draws from a law; leave it out")
    options["method"] = "sampling:law=true"
    run, proposal = run_swarm(
        fun,
        bounds,
        x0,
        args=args,
        spread=spread,
        particles=particles,
        max_evaluations=max_evaluations,
        seed=seed,
        vectorized=vectorized,
        workers=workers,
        timeout=timeout,
        retries=retries,
        callback=callback,
        progress=progress,
        options=options,
        draws=int(draws),
    )
    assert proposal is not None
    arguments = tuple(args) if isinstance(args, (tuple, list)) else (args,)
    together = bool(vectorized) or isinstance(fun, _lib.Problem)
    with Evaluator(
        fun, args=arguments, vectorized=together, workers=workers, timeout=timeout, retries=retries
    ) as values:
        while True:
            points, inside = proposal.draw()
            if len(points) == 0:
                break
            energies = np.full(len(points), np.inf)
            if inside.any():
                energies[inside] = values(points[inside])
            proposal.tell(energies)
    raw = proposal.weigh()
    raw["nfev"] = run.nfev + raw.pop("evaluations")
    raw["failed_evaluations"] += run.failed_evaluations
    return SampleResult({**raw, "run": run})
