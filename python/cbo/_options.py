"""The options of a run, which are the settings of the engine by their names."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from typing import Any, Literal, TypedDict

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._lib import Surface


class Options(TypedDict, total=False):
    """Settings of the engine. What is left out has the engine's default; ``None`` turns off what can be off.

    ``lambda`` is a Python keyword: write ``lambda_``, or pass ``**{"lambda": 1.0}``.
    """

    method: str
    """``"auto"``, which needs no settings; ``"cbo"``, the swarm of the paper; ``"memory[:NAME=VALUE,...]"``,
    particles that remember their best points; ``"hopping[:NAME=VALUE,...]"``, particles drawn around a centre that
    hops; ``"polarised[:NAME=VALUE,...]"``, which finds several minimisers; ``"sampling"``, whose particles agree on a
    covariance too; ``"jumps[:NAME=VALUE,...]"``, which sends some particles far; ``"adam[:NAME=VALUE,...]"``, with
    moments of the distance; ``"mirror[:map=MAP,...]"``, which keeps to a box, a simplex, a ball or to sparse points;
    ``"sphere[:radius=R]"`` and ``"hypersurface[:surface=SURFACE,...]"``, which keep to a sphere, a torus, to
    orthonormal columns or to a ``surface`` of yours. If it is left out: auto, or cbo where a setting of its dynamics is given."""
    local: bool
    """Method auto: only polishes the start, without restarts elsewhere."""
    lambda_: float
    """Drift towards the consensus point."""
    sigma: float | str
    """Diffusion: a number, ``"geometric:START,FACTOR[,CAP][,step|epoch]"``, ``"log:START[,step|epoch]"``,
    ``"falling:START,END"`` (over the run)."""
    alpha: float | str
    """Weight parameter: a number, ``inf``, ``"ess:ETA"``, ``"geometric:..."`` or ``"log:..."``."""
    dt: float
    """Time step."""
    diffusion: Literal["anisotropic", "isotropic"]
    """Kind of noise."""
    scheme: Literal["euler-maruyama", "drift-first"]
    """Time discretisation."""
    truncation: float | None
    """Cuts off the distance in the noise at this length."""
    surface: Callable[[NDArray[np.float64]], float] | None
    """A function of a point that is zero on the surface to which the particles keep, which makes the method
    ``"hypersurface:surface=level"``."""
    init: str
    """Where particles start, if x0 does not say it: ``"normal:MEAN,VARIANCE"`` or ``"uniform:LOW,HIGH"``."""
    batch: int | None
    """Method auto: points that each round of evaluations should have at least. Others: particles evaluated in a
    step, a divisor of their number; all if ``None``."""
    update: Literal["full", "partial"]
    """Which particles move when ``batch`` is given."""
    kick: float | None
    """Kicks the swarm by plain noise when the consensus point moved less than this."""
    freeze: ArrayLike | Literal["minimiser"] | None
    """A consensus point that does not move, for tests of the theory."""
    bound_handling: Literal["reflect", "clip", "none"]
    """What happens at the bounds; with ``"none"`` they are used only for the start."""
    epoch_steps: int | None
    """Steps in an epoch; one round of particle batches if ``None``."""
    reduction: str | None
    """Shrinks the swarm with its variance, once an epoch: ``"on"``, ``"STRENGTH,LEAST"`` or ``None``."""
    steps: int | None
    """Stop after this many steps."""
    time: float | None
    """Stop at this time of the dynamics, a multiple of dt."""
    max_seconds: float | None
    """Stop after this many seconds."""
    target: float | None
    """Stop when a value this low is found."""
    diameter: float | None
    """Stop when the swarm is smaller than this, in the maximum norm."""
    stagnation: int | None
    """Stop when the best value has not improved for this many steps."""
    threads: int
    """Threads of the engine; 0 for one per core. The result does not depend on it."""
    strict: bool
    """Makes the first failed evaluation (NaN) an error."""
    precision: Literal["f32", "f64"]
    """Precision of positions and energies."""


def checked(options: Mapping[str, Any], *others: str) -> dict[str, Any]:
    """The options by their names, or a TypeError that knows the nearest one.

    ``others`` are further keywords of the caller, so that they can be suggested.
    """
    known = Options.__annotations__
    found: dict[str, Any] = {}
    for name, value in options.items():
        own = "lambda_" if name == "lambda" else name
        if own not in known:
            near = difflib.get_close_matches(name, [*known, *others], n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"the options are {', '.join(sorted(known))}"
            raise TypeError(f"unknown keyword {name!r}; {hint}")
        if own in found:
            raise TypeError("lambda is given twice, as 'lambda' and as 'lambda_'")
        # The engine reads Python numbers; NumPy's may be arrays of dimension 0.
        found[own] = value.item() if isinstance(value, np.ndarray) and value.ndim == 0 else value
    if found.get("surface") is not None:
        found["surface"] = Surface(found["surface"])
    return found
