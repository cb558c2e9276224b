"""Consensus-based optimization: a swarm of particles agrees on where the global minimum is, no gradient
needed.

>>> import cbo
>>> result = cbo.minimize(lambda x: (x[0] - 1) ** 2 + (x[1] + 2) ** 2, bounds=[(-5, 5), (-5, 5)], seed=1)
>>> [round(float(v), 3) for v in result.x]
[1.0, -2.0]
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from . import problems
from ._compare import compare
from ._comparison import Comparison, Curve
from ._lib import Formula, __version__
from ._minimize import minimize
from ._optimizer import Optimizer
from ._result import OptimizeResult
from ._sample import SampleResult, sample
from ._success import SuccessRate, success_rate
from ._theory import Theory, theory
from ._view import View, view

if TYPE_CHECKING:
    from . import optuna, plot, scipy, torch

__all__ = [
    "Comparison",
    "Curve",
    "Formula",
    "OptimizeResult",
    "Optimizer",
    "SampleResult",
    "SuccessRate",
    "Theory",
    "View",
    "__version__",
    "compare",
    "minimize",
    "optuna",
    "plot",
    "problems",
    "sample",
    "scipy",
    "success_rate",
    "theory",
    "torch",
    "view",
]

# Imported when they are first used: `import cbo` needs only NumPy.
_LAZY = ("optuna", "plot", "scipy", "torch")


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return importlib.import_module(f"cbo.{name}")
    raise AttributeError(f"module 'cbo' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
