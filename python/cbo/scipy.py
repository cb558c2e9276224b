"""Consensus-based optimization as a method of ``scipy.optimize.minimize``.

>>> import numpy as np
>>> import cbo
>>> from scipy.optimize import minimize, rosen
>>> options = {"maxfev": 2000, "seed": 1}
>>> result = minimize(rosen, [0.5, 0.5], method=cbo.scipy.method, bounds=[(-2, 2)] * 2, options=options)
>>> bool(np.allclose(result.x, [1, 1], atol=0.01))
True
"""

from __future__ import annotations

import importlib
import inspect
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _minimize, _space
from ._result import OptimizeResult

__all__ = ["method"]


def method(
    fun: Callable[..., Any],
    x0: Any,
    args: tuple[Any, ...] = (),
    *,
    jac: Any = None,
    hess: Any = None,
    hessp: Any = None,
    bounds: Any = None,
    constraints: Any = (),
    callback: Callable[..., Any] | None = None,
    tol: float | None = None,
    maxiter: int | None = None,
    maxfev: int | None = None,
    disp: bool = False,
    spread: Any = None,
    **options: Any,
) -> Any:
    """Pass it as ``method`` to ``scipy.optimize.minimize``; do not call it yourself.

    Parameters
    ----------
    fun, x0, args
        As for ``scipy.optimize.minimize``. The search starts around `x0`, see `spread`.
    jac, hess, hessp
        Not used, since no derivative is; a RuntimeWarning says so, as with ``"Nelder-Mead"``.
    bounds : sequence of (low, high) or scipy.optimize.Bounds, optional
        Where the search stays.
    constraints
        As for `cbo.minimize`.
    callback : callable, optional
        ``callback(xk)`` with the best point after each step, or, if its only parameter has that name,
        ``callback(intermediate_result=...)``. StopIteration ends the run.
    tol : float, optional
        End when the swarm is smaller than this, in the maximum norm (option ``diameter``). This is a setting
        of a swarm, and so means the method cbo.
    maxiter, maxfev : int, optional
        Most steps and most evaluations (options ``steps`` and ``max_evaluations``). The first is a setting of a
        swarm, and so means the method cbo; prefer the second.
    disp : bool, optional
        Print a summary at the end.
    spread : float or array, optional
        Standard deviation of the start around `x0`. If left out, a quarter of the width of the bounds,
        and 1 for a coordinate without finite bounds.
    **options
        Keywords of `cbo.minimize`: ``seed``, ``workers``, ``local``, ``particles``, ``sigma`` and so on. Its
        ``method`` goes here too.

    Returns
    -------
    scipy.optimize.OptimizeResult
        With everything that `cbo.minimize` returns.

    Examples
    --------
    >>> import cbo
    >>> from scipy.optimize import minimize
    >>> def fun(x):
    ...     return (x[0] - 3) ** 2
    >>> result = minimize(fun, [0.0], method=cbo.scipy.method, options={"seed": 1, "maxfev": 200})
    >>> round(float(result.x[0]), 4), result.method
    (3.0, 'auto')
    """
    for name, value in (("jac", jac), ("hess", hess), ("hessp", hessp)):
        if value is not None and value is not False:
            # The caller of scipy.optimize.minimize, two frames up, should see it.
            message = f"cbo.scipy.method does not use derivatives ({name})."
            warnings.warn(message, RuntimeWarning, stacklevel=3)
    start = np.asarray(x0)
    limits = (("maxiter", "steps", maxiter), ("maxfev", "max_evaluations", maxfev), ("tol", "diameter", tol))
    for name, own, value in limits:
        if value is not None and options.setdefault(own, value) != value:
            raise ValueError(
                f"{name} = {value}: {own} = {options[own]} is also given and means the same; give one of them"
            )
    result = _minimize.minimize(
        fun,
        bounds,
        start,
        args=args,
        constraints=constraints,
        spread=_default_spread(bounds, start) if spread is None and start.ndim == 1 else spread,
        callback=_as_scipy_calls(callback),
        **options,
    )
    found = importlib.import_module("scipy.optimize").OptimizeResult(result)
    if disp:
        print(
            found.message,
            f"Current function value: {found.fun:f}",
            f"Iterations: {found.nit}",
            f"Function evaluations: {found.nfev}",
            sep="\n         ",
        )
    return found


def _default_spread(bounds: Any, x0: NDArray[Any]) -> NDArray[np.float64]:
    """A quarter of the width of the bounds, where they are finite, otherwise 1."""
    spread = np.ones(len(x0))
    if bounds is not None:
        box = _space.read_bounds(bounds, len(x0))
        finite = np.isfinite(box).all(axis=1)
        spread[finite] = (box[finite, 1] - box[finite, 0]) / 4
    return spread


def _as_scipy_calls(callback: Callable[..., Any] | None) -> Callable[[OptimizeResult], None] | None:
    """What scipy hands to a callback depends on the name of its parameter; its answer does not matter."""
    if callback is None:
        return None
    try:
        named = set(inspect.signature(callback).parameters) == {"intermediate_result"}
    except (TypeError, ValueError):
        named = False
    if named:
        kind = importlib.import_module("scipy.optimize").OptimizeResult

        def with_result(result: OptimizeResult) -> None:
            callback(intermediate_result=kind(result))

        return with_result

    def with_point(result: OptimizeResult) -> None:
        callback(np.copy(result.x))

    return with_point
