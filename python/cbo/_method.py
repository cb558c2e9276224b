"""Which method a run has where its settings do not say so, and how many points each of its rounds gets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ._device import is_elsewhere
from ._evaluate import worker_count

__all__ = ["is_auto", "means_cbo", "settle_batch", "settle_method"]

# The settings of a swarm, which the method auto does not have.
_DYNAMICS = (
    "particles",
    "lambda_",
    "sigma",
    "alpha",
    "dt",
    "diffusion",
    "scheme",
    "truncation",
    "update",
    "kick",
    "freeze",
    "epoch_steps",
    "reduction",
    "steps",
    "time",
    "diameter",
)

# Points of a round of the method auto, where nobody says how many: rows that NumPy takes in about the time of
# one, and calls that keep the workers of a map or of an executor busy.
_ROWS = 32
_CALLS = 8


def is_auto(settings: dict[str, Any]) -> bool:
    """Whether the run has the method auto."""
    method = settings.get("method")
    return isinstance(method, str) and method.split(":")[0] == "auto"


def _of_the_dynamics(settings: dict[str, Any], swarm: bool) -> str | None:
    """The first setting given that only a swarm has."""
    for name in _DYNAMICS:
        value = settings.get(name)
        off = value is None or name == "reduction" and isinstance(value, str) and value == "off"
        if not off:
            return name.rstrip("_")
    if is_elsewhere(settings.get("device")):
        return "device"
    return "x0 with a row for each particle" if swarm else None


def means_cbo(options: Mapping[str, Any]) -> bool:
    """Whether options mean the method cbo."""
    method, surface = options.get("method"), options.get("surface")
    given = _of_the_dynamics(dict(options), swarm=False)
    return surface is None and (method == "cbo" or method is None and given is not None)


def settle_method(settings: dict[str, Any], swarm: bool) -> None:
    """Adds the method to ``settings``: that of a surface, or auto, or cbo if a setting of a swarm is given."""
    if settings.get("surface") is not None:
        settings.setdefault("method", "hypersurface:surface=level")
    given = None if "method" in settings else _of_the_dynamics(settings, swarm)
    settings.setdefault("method", "auto" if given is None else "cbo")
    local = settings.pop("local", None)
    if local is None:
        return
    if not isinstance(local, (bool, np.bool_)):
        raise TypeError(f"local = {local!r:.60}: must be True or False")
    if is_auto(settings):
        settings["method"] = "auto:local=true" if local else "auto"
    elif local:
        other = f"method = {settings['method']!r}" if given is None else f"{given}, which means method='cbo'"
        raise ValueError(f"local = True: only method='auto' polishes, not {other}; leave one of them out")


def settle_batch(settings: dict[str, Any], vectorized: bool, workers: Any) -> None:
    """Gives each round of the method auto enough points for all workers, or for a vectorised function."""
    if not is_auto(settings):
        return
    batch, count = settings.get("batch"), worker_count(workers)
    least: Any = batch
    if batch is None:
        least = _ROWS if vectorized else _CALLS if count is None else 1
    elif isinstance(batch, bool) or not isinstance(batch, (int, float, np.number)) or not batch >= 1:
        return  # The engine refuses it by its name.
    settings["batch"] = max(least, count or 1)
