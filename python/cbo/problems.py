"""Built-in benchmark functions, evaluated in Rust: ``cbo.problems.rastrigin(20)``.

Every function is an attribute of this module; `names` lists them. A problem can be called with a point or
with rows, and passed to `cbo.minimize`, which then works without the interpreter.

Examples
--------
>>> import cbo
>>> problem = cbo.problems.rastrigin(3, shift=1.5)
>>> problem([1.5, 1.5, 1.5])
0.0
>>> problem.minimisers
array([[1.5, 1.5, 1.5]])
>>> cbo.minimize(problem, seed=1).fun < 1e-6
True
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ._lib import Problem, problem_names
from ._space import Seed, read_seed

__all__ = ["Family", "Problem", "names"]


def names() -> list[str]:
    """The names of all functions.

    >>> import cbo
    >>> cbo.problems.names()[:3]
    ['ackley', 'alpine_1', 'beale']
    """
    return problem_names()


class Family:
    """A function in any dimension: call it to get a problem.

    Parameters
    ----------
    dim : int, optional
        Number of coordinates; functions of a fixed dimension do not need it.
    shift : float, sequence or "random", optional
        Moves the minimiser: by one number, by one for each coordinate, or to a random place that belongs to
        `seed`.
    rotate : int or "random", optional
        Turns the function about its minimiser by the random matrix of this seed (or of `seed`).
    seed : int, numpy.random.Generator or numpy.random.SeedSequence, optional
        Seed of what is random.
    **parameters : float
        Numbers in the formula, such as ``amplitude`` of rastrigin or ``condition`` of ellipsoid.

    Examples
    --------
    >>> import cbo
    >>> cbo.problems.rastrigin(10, amplitude=10, rotate=3)
    <cbo problem: rastrigin (amplitude 10), rotated (seed 3) in 10 dimensions>
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(
        self,
        dim: int | None = None,
        *,
        shift: float | Sequence[float] | NDArray[np.float64] | Literal["random"] | None = None,
        rotate: int | Literal["random"] | None = None,
        seed: Seed = 0,
        **parameters: float,
    ) -> Problem:
        """The problem in `dim` dimensions."""
        return Problem(self.name, dim, shift=shift, rotate=rotate, seed=read_seed(seed), **parameters)

    def __repr__(self) -> str:
        return f"<cbo function: {self.name}>"


def _rebuild(name: str, arguments: dict[str, Any]) -> Problem:
    """A problem from its pickle."""
    return Problem(name, **arguments)


def __getattr__(name: str) -> Family:
    known = problem_names()
    if name in known:
        return Family(name)
    near = difflib.get_close_matches(name, known, n=1)
    hint = f"did you mean {near[0]!r}?" if near else "cbo.problems.names() lists all"
    raise AttributeError(f"there is no function {name!r}; {hint}")


def __dir__() -> list[str]:
    return [*__all__, *problem_names()]
