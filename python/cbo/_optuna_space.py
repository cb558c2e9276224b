"""Search spaces of optuna as boxes of the swarm, each parameter a coordinate from 0 to 1."""

from __future__ import annotations

import math
from typing import Any

from optuna.distributions import (  # type: ignore[import-not-found,unused-ignore]
    BaseDistribution,
    FloatDistribution,
    IntDistribution,
    distribution_to_json,
)

__all__ = ["described", "is_number", "parameter"]


def is_number(distribution: BaseDistribution) -> bool:
    """Whether the swarm can move along it: a float or an int of more than one value."""
    return isinstance(distribution, (FloatDistribution, IntDistribution)) and not distribution.single()


def parameter(distribution: Any, u: float) -> Any:
    """The value of a parameter (of a float or int distribution) at the coordinate ``u`` in [0, 1]."""
    low, high, step = distribution.low, distribution.high, distribution.step
    if isinstance(distribution, IntDistribution) and distribution.log:
        # Each whole number has its share of the logarithmic scale, the first and the last one too.
        value = round(_between(math.log(low - 0.5), math.log(high + 0.5), u, math.exp))
        return min(max(value, low), high)
    if step is not None:
        # Each grid point has the same share of [0, 1].
        count = round((high - low) / step) + 1
        value = low + min(int(u * count), count - 1) * step
        return value if isinstance(distribution, IntDistribution) else min(value, high)
    if distribution.log:
        return min(max(_between(math.log(low), math.log(high), u, math.exp), low), high)
    return min(max(low + u * (high - low), low), high)


def _between(low: float, high: float, u: float, back: Any) -> float:
    return float(back(low + u * (high - low)))


def described(search_space: dict[str, BaseDistribution]) -> str:
    """A text that is equal for equal search spaces."""
    return "\n".join(f"{name} {distribution_to_json(search_space[name])}" for name in sorted(search_space))
