"""The binding to the engine; the package around it is the interface."""

from collections.abc import Callable, Sequence
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import NDArray

__version__: str

class NoFiniteEnergy(RuntimeError):
    """No particle of a step has a finite energy."""

class Answers:
    """Takes the values of points that are evaluated elsewhere, in any order."""

    def give(self, row: int, value: float) -> None: ...
    def are_enough(self) -> bool: ...
    def have_limits(self) -> bool: ...

class Problem:
    """A built-in benchmark function in a number of dimensions."""

    def __new__(
        cls,
        name: str,
        dim: int | None = None,
        *,
        shift: float | Sequence[float] | NDArray[np.float64] | Literal["random"] | None = None,
        rotate: int | Literal["random"] | None = None,
        seed: int = 0,
        **parameters: float,
    ) -> Problem: ...
    @property
    def name(self) -> str: ...
    @property
    def dim(self) -> int: ...
    @property
    def description(self) -> str: ...
    @property
    def formula(self) -> str: ...
    @property
    def source(self) -> str: ...
    @property
    def bounds(self) -> NDArray[np.float64]: ...
    @property
    def confined(self) -> bool: ...
    @property
    def minimum(self) -> float: ...
    @property
    def minimisers(self) -> NDArray[np.float64]: ...
    def distance(self, x: Sequence[float] | NDArray[np.float64]) -> float: ...
    @overload
    def __call__(self, x: Sequence[float]) -> float: ...
    @overload
    def __call__(self, x: NDArray[Any] | Sequence[Sequence[float]]) -> Any: ...

class Run:
    """A run, step by step."""

    def __new__(cls, dim: int, settings: dict[str, Any]) -> Run: ...
    @staticmethod
    def load(dim: int, settings: dict[str, Any], state: bytes) -> Run: ...
    def ask(self) -> NDArray[Any]: ...
    def tell(self, energies: NDArray[np.float64]) -> str | None: ...
    @property
    def step(self) -> int: ...
    @property
    def told(self) -> bool: ...
    @property
    def stopped(self) -> str | None: ...
    def save(self) -> bytes: ...
    def result(self) -> dict[str, Any]: ...

def problem_names() -> list[str]: ...
def check(dim: int, settings: dict[str, Any]) -> None: ...
def defaults() -> dict[str, Any]: ...
def minimize_function(
    fun: Callable[..., Any],
    dim: int,
    settings: dict[str, Any],
    *,
    args: tuple[Any, ...],
    way: Literal["point", "points", "answers"],
    convert: Callable[..., Any],
    unfinished: Callable[[dict[str, Any]], None],
    callback: Callable[[dict[str, Any]], bool] | None = None,
    progress: Callable[..., None] | None = None,
) -> dict[str, Any]: ...
def minimize_problem(
    problem: Problem,
    settings: dict[str, Any],
    *,
    unfinished: Callable[[dict[str, Any]], None],
    callback: Callable[[dict[str, Any]], bool] | None = None,
    progress: Callable[..., None] | None = None,
) -> dict[str, Any]: ...
def success_runs(problem: Problem, settings: dict[str, Any], runs: int) -> dict[str, Any]: ...
def wilson(successes: int, runs: int) -> tuple[float, float]: ...
def theory(
    problem: Problem,
    settings: dict[str, Any],
    *,
    tau: float,
    epsilon: float | None,
    epsilon_ratio: float,
    c: float | None,
    r0: float | str | None,
    sharp: bool,
) -> dict[str, Any]: ...
