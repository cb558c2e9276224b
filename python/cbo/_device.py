"""Where a run is computed, and what a function is given of points that are on a GPU."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

LIKE = ("torch", "jax", "cupy", "numpy")


def is_elsewhere(device: Any) -> bool:
    """Whether the particles are not in this machine's memory."""
    return device is not None and device != "cpu"


def importer(like: Any) -> Callable[[Any], Any] | None:
    """What makes a tensor of the points for the library `like`; None if it is None."""
    if like is None:
        return None
    if like not in LIKE:
        known = ", ".join(map(repr, LIKE))
        raise ValueError(f"like = {like!r:.60}: it is one of {known}, or None for an object with __dlpack__")
    try:
        library = importlib.import_module("jax.numpy" if like == "jax" else like)
    except ImportError as error:
        raise ImportError(f"like = {like!r}: {error}") from error
    return library.from_dlpack  # type: ignore[no-any-return]


def taking(fun: Callable[..., Any], like: Any) -> Callable[..., Any]:
    """The function of the points as they come from the engine, where `fun` takes tensors of the library `like`."""
    tensor = importer(like)
    if tensor is None:
        return fun
    if like != "torch":
        return lambda points, *args: fun(tensor(points), *args)
    torch = importlib.import_module("torch")

    def without_gradients(points: Any, *args: Any) -> Any:
        with torch.no_grad():
            return fun(tensor(points), *args)

    return without_gradients
