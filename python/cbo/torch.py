"""Trains the parameters of a ``torch.nn.Module`` without gradients."""

from __future__ import annotations

import importlib
import numbers
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _device, _lib, _minimize
from ._method import means_cbo
from ._result import OptimizeResult

__all__ = ["minimize"]


def minimize(
    module: Any,
    loss: Callable[[Any], Any],
    *,
    spread: float | NDArray[np.float64] = 1.0,
    trainable_only: bool = True,
    callback: Callable[[OptimizeResult], Any] | None = None,
    device: str | None = None,
    **options: Any,
) -> OptimizeResult:
    """Trains a module by trying many values of its parameters; the best ones are left in it.

    No gradient is computed: the loss need not be differentiable, and the module may hold anything.

    Parameters
    ----------
    module : torch.nn.Module
        What is trained. Its parameters are overwritten during the run, on the device where they are; at the
        end, even after an exception or Ctrl-C, they are the best ones found, or the first ones if nothing was
        found.
    loss : callable
        ``loss(module) -> float`` or a tensor of one number. Called without gradients, once for each
        evaluation. Buffers (the running statistics of batch normalisation) are not touched here: call
        ``module.eval()`` first, or the data that one evaluation saw change the loss of the next.
    spread : float or array, optional
        Standard deviation of the start around the parameters that the module has.
    trainable_only : bool, optional
        Leave parameters with ``requires_grad=False`` as they are.
    callback : callable, optional
        As for `cbo.minimize`.
    device : str, optional
        Where the particles are, as for `cbo.minimize`: ``"cpu"``, ``"cuda"`` or ``"cuda:1"``. If it is left out they
        are on the GPU of the parameters, if that has all of them and the run: that of the method cbo (a swarm, for
        which ``particles``, ``steps`` or the like is given) without ``batch``, ``reduction`` and ``constraints``.
        There a loss stays on the GPU until the step is over, so that nobody waits for single evaluations; limits
        and the target hold between steps.
    **options
        Keywords of `cbo.minimize`: ``max_evaluations``, ``particles``, ``seed``, ``bounds`` and so on, except
        ``x0`` and those that say how a function is called (``args``, ``vectorized``, ``workers``, ``timeout``,
        ``retries``).

    Returns
    -------
    cbo.OptimizeResult
        ``x`` holds the parameters in the order of ``module.parameters()``, flattened.

    Raises
    ------
    ImportError
        If torch is not installed.

    Examples
    --------
    >>> import torch  # doctest: +SKIP
    >>> import cbo.torch  # doctest: +SKIP
    >>> inputs = torch.linspace(-1, 1, 50)[:, None]  # doctest: +SKIP
    >>> module = torch.nn.Sequential(  # doctest: +SKIP
    ...     torch.nn.Linear(1, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1)
    ... )
    >>> def loss(module):
    ...     return torch.mean((module(inputs) - inputs**2) ** 2)
    >>> result = cbo.torch.minimize(module, loss, particles=200, steps=300, seed=1)  # doctest: +SKIP
    >>> float(loss(module)) == result.fun  # doctest: +SKIP
    True
    """
    for name in ("args", "vectorized", "workers", "timeout", "retries", "x0"):
        if name in options:
            value = options[name]
            raise TypeError(f"{name} = {value!r:.60}: the particles share one module here; leave it out")
    torch = importlib.import_module("torch")
    parameters = [p for p in module.parameters() if p.requires_grad or not trainable_only]
    if not parameters:
        raise ValueError(f"module = {type(module).__name__}: it has no parameters to train")
    flat = _Flat(torch, parameters)
    start = flat.read()
    where = device if device is not None else _gpu(parameters, options)
    if _device.is_elsewhere(where):
        return _on_gpu(torch, module, loss, flat, start, spread, callback, where, options)
    best, least = start, np.inf

    def objective(x: NDArray[np.float64]) -> Any:
        nonlocal best, least
        flat.write(x)
        returned = loss(module)
        found = returned.item() if hasattr(returned, "item") else returned
        # The engine refuses what is not a number.
        if isinstance(found, numbers.Real) and found < least:
            best, least = x.copy(), float(found)
        return found

    with torch.no_grad():
        try:
            return _minimize.minimize(objective, x0=start, spread=spread, callback=callback, **options)
        finally:
            flat.write(best)


def _gpu(parameters: list[Any], options: dict[str, Any]) -> str | None:
    """The GPU that has all parameters, if it can have the run too."""
    places = {str(getattr(p, "device", "cpu")) for p in parameters}
    [place, *others] = places
    not_there = ("batch", "reduction", "constraints")
    if others or not place.startswith("cuda") or not means_cbo(options) or any(map(options.get, not_there)):
        return None
    try:
        _lib.check_device(place)
    except ValueError:
        return None
    return place


def _on_gpu(
    torch: Any,
    module: Any,
    loss: Callable[[Any], Any],
    flat: _Flat,
    start: NDArray[np.float64],
    spread: Any,
    callback: Any,
    device: Any,
    options: dict[str, Any],
) -> OptimizeResult:
    """The same with the particles on a GPU: parameters are copied there, and losses stay there."""

    def objective(points: Any) -> Any:
        losses = torch.empty(len(points), dtype=points.dtype, device=points.device)
        for place, point in enumerate(points):
            flat.copy(point)
            losses[place] = loss(module)
        return losses

    best = start
    try:
        result = _minimize.minimize(
            objective,
            x0=start,
            spread=spread,
            callback=callback,
            vectorized=True,
            device=device,
            like="torch",
            **options,
        )
        best = result.x
    except BaseException as error:
        found = getattr(error, "result", None)
        if isinstance(found, OptimizeResult) and np.isfinite(found.x).all():
            best = found.x
        raise
    finally:
        with torch.no_grad():
            flat.write(best)
    return result


class _Flat:
    """Parameters as one vector."""

    def __init__(self, torch: Any, parameters: list[Any]) -> None:
        self._torch = torch
        self._parameters = parameters

    def read(self) -> NDArray[np.float64]:
        parts = [p.detach().cpu().double().reshape(-1).numpy() for p in self._parameters]
        flat: NDArray[np.float64] = np.concatenate(parts)
        return flat

    def write(self, x: NDArray[np.float64]) -> None:
        self.copy(self._torch.from_numpy(np.array(x)))

    def copy(self, values: Any) -> None:
        """Takes the values of a tensor."""
        for parameter, part in zip(
            self._parameters, values.split([p.numel() for p in self._parameters]), strict=True
        ):
            # copy_ converts to the type and the device of the parameter.
            parameter.data.copy_(part.reshape(parameter.shape))
