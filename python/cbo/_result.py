"""The result of a run: attributes and a dictionary at once, like scipy's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ._view import View

# Why a run ended: scipy's status (0 is success), and a sentence where the engine has none.
_ENDINGS: dict[str, tuple[int, str]] = {
    "target": (0, "The target value is reached."),
    "diameter": (0, "The swarm has contracted."),
    "stagnation": (0, "The best value no longer improves."),
    "converged": (0, "Nothing more is to be gained."),
    "steps": (1, "All steps are done."),
    "evaluations": (1, "The evaluations allowed are spent."),
    "seconds": (1, "The time allowed is up."),
    "interrupt": (2, "The run was interrupted."),
    "exception": (4, "An exception ended the run."),
    "": (3, "The run is not over."),
    "observer": (99, "The callback stopped the run."),
}

# Endings of which the engine does not know.
_OUTSIDE = ("interrupt", "exception", "", "observer")


class AttributeDict(dict[str, Any]):
    """A dictionary whose keys are attributes too."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"there is no {name!r} here, only {', '.join(self)}") from None

    def __setattr__(self, name: str, value: Any) -> None:
        self[name] = value

    def __delattr__(self, name: str) -> None:
        try:
            del self[name]
        except KeyError:
            raise AttributeError(name) from None

    def __dir__(self) -> list[str]:
        return [*self, *super().__dir__()]

    def copy(self) -> AttributeDict:
        """A copy of the same kind."""
        return type(self)(self)

    def __repr__(self) -> str:
        if not self:
            return f"{type(self).__name__}()"
        width = max(map(len, self)) + 1
        return "\n".join(f"{name:>{width}}: {_shown(value, width + 2)}" for name, value in self.items())


def _shown(value: Any, indent: int) -> str:
    if isinstance(value, np.ndarray) and value.ndim == 2:
        return f"array of shape {value.shape}"
    if isinstance(value, np.ndarray):
        with np.printoptions(precision=4, threshold=12, linewidth=100 - indent):
            return str(value).replace("\n", "\n" + " " * indent)
    if isinstance(value, list) and value:
        return f"list of {len(value)}"
    if isinstance(value, dict) and not isinstance(value, AttributeDict):
        return "{" + ", ".join(map(str, value)) + "}"
    return f"{value:.10g}" if isinstance(value, float) else str(value).replace("\n", "\n" + " " * indent)


class Phase(AttributeDict):
    """A phase of a run of the method auto. Every entry is an attribute and a key.

    Attributes
    ----------
    name : str
        What it was, in one or two words.
    start, stop : int
        The evaluations before and after it.
    best : float
        The best value of the whole run at its end.
    end : str
        Why it ended.
    """

    name: str
    start: int
    stop: int
    best: float
    end: str


class Minimiser(AttributeDict):
    """A minimiser that a polarised swarm found. Every entry is an attribute and a key.

    Attributes
    ----------
    x : ndarray
        The best particle there.
    fun : float
        Its value.
    particles : int
        How many particles belong to it.
    fraction : float
        The same as a fraction of the swarm.
    """

    x: NDArray[np.float64]
    fun: float
    particles: int
    fraction: float


class OptimizeResult(AttributeDict):
    """What a run found. Every entry is an attribute and a key, as in ``scipy.optimize.OptimizeResult``.

    Attributes
    ----------
    x : ndarray
        The best point ever evaluated.
    fun : float
        Its value. If the method auto found noise, it is the mean of several evaluations; the ``explanation`` has
        their number and the standard error.
    feasible : bool
        Whether it meets all constraints. If no point was found that does, ``x`` is the one that violates them least.
    violation : float
        How far it violates the worst of its constraints; 0 if it meets all of them. Under constraints also called
        ``maxcv`` and ``constr_violation``, as in scipy.
    nfev, nit : int
        Evaluations and steps.
    success : bool
        Whether the run ended because it was done (it converged, the swarm contracted, a target was reached, the
        best value no longer improved), and not because something (steps, evaluations, time) ran out; and whether
        its point is feasible.
    status : int
        0 success, 1 a limit was reached, 2 interrupted, 3 not yet over, 4 ended by an exception, 99 stopped by the
        callback.
    message : str
        Why the run ended, in a sentence.
    stop : str
        The same in a word: ``converged`` (the method auto has nothing more to gain), ``target``, ``diameter``,
        ``stagnation``, ``steps``, ``evaluations``, ``seconds``, ``observer`` (the callback), ``interrupt`` or
        ``exception``; empty while it is running.
    method : str
        The method that was used.
    phases : list of Phase
        What the method auto did, phase by phase: ``name``, ``start`` and ``stop`` in evaluations, the ``best``
        value at its end, and why it came to its ``end``. Empty for other methods.
    explanation : list of str
        What the method auto saw and why it did what it did, in sentences. Empty for other methods.
    minimisers : list of Minimiser
        What a swarm of the method polarised found, the best first: ``x``, its value ``fun``, how many
        ``particles`` belong to it, and what ``fraction`` of the swarm that is. Empty for other methods.
    hess_inv : ndarray or None
        From the method auto, if it has come so far: an estimate of the inverse of the Hessian at the minimum,
        of shape (d, d), from its quadratic model or else from the covariance of its particles. None where a run
        ended before that, where the coordinates act alone, and for other methods.
    standard_errors : ndarray or None
        The square roots of its diagonal: the standard errors of the coordinates if `fun` is a negative
        log-likelihood (for a sum of squared residuals multiply by the square root of twice their variance).
    consensus : ndarray
        The consensus point at the end, and ``consensus_fun`` its value (NaN if it was not evaluated, as with
        the method auto, and where a function in Python is to be called no more: `stop` is ``target``, ``seconds``,
        ``observer``, ``interrupt`` or ``exception``).
    population, population_energies : ndarray
        The swarm at the end (or the points of the last round), one particle per row (read-only), and the
        energies; NaN for particles that the last step did not evaluate, because it has a batch or because the
        run ended within it.
    history : dict of ndarray
        ``step, time, evaluations, best, least, alpha, sigma, effective_sample_size, spread`` (and in up to 64
        dimensions ``consensus``, under constraints ``violation``) of up to 1024 evenly spaced steps: at first every step of a swarm of up to
        1000 coordinates, every 16th of one of up to 16384, every 32nd of a larger one.
    failed_evaluations, infeasible_evaluations : int
        Evaluations that gave NaN, and that gave infinity.
    alpha, sigma : float
        The last ones used.
    seed : int
        The seed with which the run can be repeated.
    time, seconds : float
        Time of the dynamics, and time that the run took.

    Examples
    --------
    >>> import cbo
    >>> result = cbo.minimize(lambda x: (x[0] - 1) ** 2, bounds=[(-3, 3)], seed=1)
    >>> result.success, result["stop"], round(float(result.x[0]), 3)
    (True, 'converged', 1.0)
    """

    x: NDArray[np.float64]
    fun: float
    feasible: bool
    violation: float
    nfev: int
    nit: int
    success: bool
    status: int
    message: str
    stop: str
    method: str
    phases: list[Phase]
    explanation: list[str]
    minimisers: list[Minimiser]
    hess_inv: NDArray[np.float64] | None
    standard_errors: NDArray[np.float64] | None
    consensus: NDArray[np.float64]
    consensus_fun: float
    population: NDArray[Any]
    population_energies: NDArray[Any]
    history: dict[str, NDArray[Any]]
    failed_evaluations: int
    infeasible_evaluations: int
    alpha: float
    sigma: float
    seed: int
    time: float
    seconds: float

    def copy(self) -> OptimizeResult:
        """A copy that shares the arrays."""
        return OptimizeResult(self)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draws the best value over the evaluations (needs matplotlib).

        With it come the ends of the phases of auto, or the spread of a swarm.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw; a new figure if left out.
        """
        from . import plot

        return plot.history(self, ax=ax)

    def view(self, height: int = 720) -> View:
        """The curves of the run and its swarm, to look at in a notebook: zoom, values under the cursor.

        Parameters
        ----------
        height : int
            Pixels of the frame in the notebook.

        Returns
        -------
        View
            What a notebook shows. Its ``save`` writes an HTML file that needs nothing else.
        """
        from ._view import view_result

        return view_result(self, height)


_FIRST = ("message", "success", "status", "stop", "fun", "x", "feasible", "violation", "nit", "nfev")


def result_of(raw: dict[str, Any], settings: dict[str, Any]) -> OptimizeResult:
    """The result from what the engine reports."""
    status, message = _ENDINGS[raw["stop"]]
    if raw["message"] and raw["stop"] not in _OUTSIDE:
        message = raw["message"]
    shape = raw["hess_inv"]
    constrained = raw.pop("constrained")
    entries = {
        **raw,
        "success": status == 0 and raw["feasible"],
        "status": status,
        "message": message,
        "phases": [Phase(phase) for phase in raw["phases"]],
        "minimisers": [Minimiser(found) for found in raw["minimisers"]],
        "standard_errors": None if shape is None else np.sqrt(np.diagonal(shape)),
        **_origin(settings),
    }
    if constrained:
        entries["maxcv"] = entries["constr_violation"] = raw["violation"]
    return OptimizeResult({name: entries.pop(name) for name in _FIRST} | entries)


def step_of(raw: dict[str, Any], settings: dict[str, Any]) -> OptimizeResult:
    """The result so far, for a callback."""
    return OptimizeResult(raw | _origin(settings))


def _origin(settings: dict[str, Any]) -> dict[str, Any]:
    # Optimizers that were saved before there was a choice have no method.
    return {"seed": settings["seed"], "method": settings.get("method", "cbo")}
