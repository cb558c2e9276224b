"""``cbo.compare``: methods side by side, those of the engine, baselines, and solvers of your own."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _lib, _space
from ._compare_record import Recorder, solve
from ._comparison import Comparison, Curve
from ._lib import Problem
from ._method import is_auto
from ._minimize import minimize, run_settings
from ._options import checked

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._options import Options
    from ._space import Seed

Array = NDArray[np.float64]

# Initial points that a solver is given.
_POINTS = 100


@dataclass
class _Course:
    """A problem: built-in, one for each run, or a function with what is known of it."""

    name: str
    fun: Callable[..., Any]
    problems: list[Problem] | None
    bounds: Array
    minimum: float | None
    minimisers: Array | None

    def of_run(self, run: int) -> Callable[..., Any]:
        return self.fun if self.problems is None else self.problems[run]

    def distance(self, run: int) -> Callable[[Array], float]:
        if self.problems is not None:
            return self.problems[run].distance
        wanted = self.minimisers
        if wanted is None:
            return lambda _: math.nan
        return lambda x: float(np.abs(wanted - x).max(axis=1).min())


@dataclass
class _Method:
    """A method: in the words of the engine or of a baseline, or a solver in Python."""

    name: str
    text: str | None
    baseline: bool
    solver: Callable[..., Any] | None
    options: dict[str, Any]


def compare(
    problems: Any,
    methods: Any,
    bounds: Any = None,
    *,
    dim: int | None = None,
    shift: float | ArrayLike | Literal["random"] | None = None,
    rotate: int | Literal["random"] | None = None,
    runs: int = 20,
    max_evaluations: int | None = None,
    tolerance: float = 0.25,
    judge: Literal["best", "consensus"] = "best",
    minimum: float | None = None,
    minimisers: ArrayLike | None = None,
    particles: int | None = None,
    seed: Seed = 0,
    **options: Unpack[Options],
) -> Comparison:
    """Compares methods: how often and how fast they find the minimum, and whether their differences are chance.

    Run r has the seed ``seed + r``, and the same problem and the same initial points for all methods.

    Parameters
    ----------
    problems : str, problem, callable, or several of them
        Names of built-in functions (``"rastrigin, ackley"``), problems of `cbo.problems`, functions of a point; a
        sequence of these, or a mapping from names of your choice. A name gives each run a problem of its own if
        `shift` or `rotate` is ``"random"``.
    methods : str, callable, or several of them
        Methods of the engine and baselines by their names (``"auto, memory:beta=100, pso"``), and solvers in
        Python; a sequence of these, or a mapping from names of your choice, where ``(text, options)`` gives a
        method settings of its own. A solver is called with ``(fun, bounds, budget, seed)``, and with ``x0s``,
        100 initial points, if it has such an argument. What it returns is ignored: its evaluations are counted
        and recorded, and it is ended when they are spent.
    bounds : sequence of (low, high), optional
        The box of functions of your own, and of built-in ones if it is not to be their domain.
    dim : int, optional
        Number of coordinates of functions that are given by their names.
    shift, rotate : optional
        How these are moved and turned, as `cbo.problems` takes it.
    runs : int, optional
        Runs of each method.
    max_evaluations : int, optional
        Evaluations of a run; 10 000 for each coordinate if left out.
    tolerance : float, optional
        A run is a success if its point is nearer to a minimiser than this, in the maximum norm; for a function
        whose minimisers are not known, if its value is less than this above the minimum.
    judge : "best" or "consensus", optional
        The point that counts: the best one, or, as in the papers on consensus-based optimization, the consensus
        point at the end. The method auto, baselines and solvers have none, and are judged by their best points.
    minimum : float, optional
        The least value of functions of your own; the least that any method found, if left out.
    minimisers : array of shape (d,) or (n, d), optional
        Where they have it.
    particles : int, optional
        Number of particles of the methods of the engine but auto.
    seed : int, numpy.random.Generator or numpy.random.SeedSequence, optional
        Seed of the first run.
    **options
        Settings of the methods of the engine but auto, as for `cbo.minimize`; ``threads`` and ``precision`` are
        for all.

    Returns
    -------
    Comparison
        ``print`` shows its table; ``table``, ``tests``, ``runs`` and ``curves`` have the numbers, ``plot()``
        draws them.

    Examples
    --------
    >>> import cbo
    >>> found = cbo.compare("sphere", "auto, pso, random", dim=2, runs=5, max_evaluations=4000)
    >>> [(row["method"], row["successes"]) for row in found.table]
    [('auto', 5), ('pso', 5), ('random', 5)]
    """
    count = _whole("runs", runs)
    limit = None if max_evaluations is None else _whole("max_evaluations", max_evaluations)
    if not (isinstance(tolerance, (int, float, np.number)) and 0 < tolerance < math.inf):
        raise ValueError(f"tolerance = {tolerance!r}: must be a positive finite number")
    if judge not in ("best", "consensus"):
        raise ValueError(f"judge = {judge!r}: must be 'best' or 'consensus'")
    first = _whole("seed", _space.read_seed(seed), least=0)
    family: dict[str, Any] = {"dim": dim, "shift": shift, "rotate": rotate}
    known = {"minimum": minimum, "minimisers": minimisers}
    courses = _courses(problems, bounds, family, known, _seeds(first, count))
    entrants = _methods(methods, _options({"particles": particles, **options}))
    found = Comparison([], [], [], {}, judge=judge, tolerance=float(tolerance), seed=first)
    for course in courses:
        budget = 10_000 * len(course.bounds) if limit is None else limit
        _compare(found, course, entrants, bounds, _seeds(first, count), budget)
    return found


def _options(given: Mapping[str, Any]) -> dict[str, Any]:
    """The options of methods, of which the number of particles is one."""
    options = {name: value for name, value in given.items() if name != "particles"}
    settled = checked(options, *(compare.__kwdefaults__ or {}))
    particles = given.get("particles")
    return settled if particles is None else {**settled, "particles": particles}


def _seeds(first: int, count: int) -> list[int]:
    return [(first + run) % 2**64 for run in range(count)]


def _whole(name: str, value: Any, least: int = 1) -> int:
    """A whole number, or a float that is one."""
    real = isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
    if not real or not math.isfinite(value) or int(value) != value or value < least:
        raise ValueError(f"{name} = {value!r:.60}: must be a whole number of at least {least}")
    return int(value)


def _named(given: Any, what: str, is_one: Callable[[Any], bool]) -> list[tuple[str | None, Any]]:
    """One of them, several, or a mapping, as pairs of names and things."""
    if is_one(given):
        return [(None, given)]
    if isinstance(given, Mapping):
        return [(str(name), thing) for name, thing in given.items()]
    if not isinstance(given, Iterable):
        raise TypeError(f"{what} = {given!r:.60}: must be a text, a callable, a sequence of these or a mapping")
    return [(None, thing) for thing in given]


def _label(thing: Any) -> str:
    return str(getattr(thing, "__name__", type(thing).__name__))


def _distinct(what: str, names: list[str]) -> None:
    if not names:
        raise ValueError(f"{what} are missing: give one at least")
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ValueError(f"{what}: {twice!r} is given twice; a mapping gives them names of your choice")


def _courses(
    problems: Any, bounds: Any, family: dict[str, Any], known: dict[str, Any], seeds: list[int]
) -> list[_Course]:
    courses = []
    given = _named(problems, "problems", lambda one: isinstance(one, str) or callable(one))
    words = [word for _, thing in given if isinstance(thing, str) for word in _words(thing)]
    for name, thing in given:
        if isinstance(thing, str):
            for word in _words(thing):
                # The dimension is for those that can have it.
                own = {**family, "dim": None} if len(words) > 1 and _has_a_fixed_dim(word) else family
                made = [Problem(word, **own, seed=seed) for seed in seeds]
                courses.append(_built_in(name or word, made, bounds))
        elif isinstance(thing, Problem):
            courses.append(_built_in(name or thing.name, [thing] * len(seeds), bounds))
        elif callable(thing):
            courses.append(_own(name or _label(thing), thing, bounds, **known))
        else:
            raise TypeError(
                f"problems: {thing!r:.60} must be the name of a built-in function, a problem or a function of a point"
            )
    _distinct("problems", [course.name for course in courses])
    return courses


def _words(text: str) -> list[str]:
    return [word for word in map(str.strip, text.split(",")) if word]


def _has_a_fixed_dim(name: str) -> bool:
    try:
        Problem(name)
    except ValueError:
        return False
    return True


def _built_in(name: str, problems: list[Problem], bounds: Any) -> _Course:
    problem = problems[0]
    box = problem.bounds if bounds is None else _box(bounds, problem.dim)
    return _Course(name, problem, problems, box, problem.minimum, problem.minimisers)


def _own(name: str, fun: Callable[..., Any], bounds: Any, minimum: Any, minimisers: Any) -> _Course:
    if bounds is None:
        raise ValueError(f"bounds are missing: {name} needs (low, high) for each coordinate")
    box = _box(bounds, None)
    wanted = None if minimisers is None else np.atleast_2d(_space.numbers("minimisers", minimisers))
    if wanted is not None and wanted.shape[1] != len(box):
        raise ValueError(f"minimisers have the shape {wanted.shape}: a point has {len(box)} coordinates")
    if minimum is not None and not (isinstance(minimum, (int, float, np.number)) and math.isfinite(minimum)):
        raise ValueError(f"minimum = {minimum!r}: must be a finite number")
    return _Course(name, fun, None, box, None if minimum is None else float(minimum), wanted)


def _box(bounds: Any, dim: int | None) -> Array:
    box = _space.read_bounds(bounds, dim)
    if not np.isfinite(box).all():
        raise ValueError("bounds: a comparison needs a finite box, which all methods can search")
    return box


def _methods(methods: Any, options: dict[str, Any]) -> list[_Method]:
    if "method" in options or "local" in options:
        raise ValueError("method, local: a comparison has several methods; give them as methods")
    entrants = []
    for name, thing in _named(methods, "methods", lambda one: isinstance(one, str) or callable(one)):
        own: dict[str, Any] = {}
        if isinstance(thing, tuple) and len(thing) == 2 and isinstance(thing[1], Mapping):
            thing, own = thing[0], _options(thing[1])
        if isinstance(thing, str):
            texts = _lib.compare_methods(thing)
            if name is not None and len(texts) > 1:
                raise ValueError(f"methods: {name!r} has {len(texts)} methods; a name is for one")
            for text, baseline in texts:
                entrants.append(_Method(name or text, text, baseline, None, {**options, **own}))
        elif callable(thing) and not own:
            entrants.append(_Method(name or _label(thing), None, False, thing, options))
        else:
            raise TypeError(
                f"methods: {thing!r:.60} must be the name of a method or a solver(fun, bounds, budget, seed)"
            )
    _distinct("methods", [method.name for method in entrants])
    return entrants


def _settings(method: _Method, course: _Course, bounds: Any, budget: int, seed: int) -> dict[str, Any]:
    """The settings of a method: all for a swarm of the engine, only those of the computation for others."""
    swarm = method.text is not None and not method.baseline and not is_auto({"method": method.text})
    for_all = ("threads", "precision", "target")
    options = {name: value for name, value in method.options.items() if swarm or name in for_all}
    settings = run_settings(options, options.pop("particles", None), budget, seed)
    settings["method"] = "cbo" if method.baseline else method.text
    _space.settle(course.problems[0] if course.problems else None, bounds, None, None, settings)
    return settings


def _compare(
    found: Comparison, course: _Course, methods: list[_Method], bounds: Any, seeds: list[int], budget: int
) -> None:
    """Adds one problem to the comparison."""
    judge = found.judge
    entries: list[tuple[str, list[dict[str, Any]]]] = []
    scale = None
    for method in methods:
        if course.problems is not None and method.text is not None:
            settings = _settings(method, course, bounds, budget, seeds[0])
            scale = _lib.compare_scale(course.problems[0], settings)
            trials = _lib.compare_trials(course.problems, method.text, settings, judge)
        else:
            trials = [_trial(course, method, run, budget, seed, judge) for run, seed in enumerate(seeds)]
        entries.append((method.name, trials))
    histories = [trial["history"] for _, trials in entries for trial in trials if len(trial["history"])]
    least = min((float(history[-1, 1]) for history in histories), default=0.0)
    minimum = least if course.minimum is None else course.minimum
    if scale is None:
        scale = float(np.median([history[0, 1] for history in histories])) - minimum if histories else 1.0
    raw = _lib.compare_summary(
        entries,
        tolerance=found.tolerance,
        by_distance=course.minimisers is not None,
        minimum=minimum,
        scale=scale,
        budget=budget,
    )
    about = {"problem": course.name, "dim": len(course.bounds), "max_evaluations": budget, "minimum": minimum}
    found.table += [{**about, **raw["rows"][place]} for place in raw["ranking"]]
    found.tests += [{"problem": course.name, **test} for test in raw["tests"]]
    for (name, trials), outcomes, curve in zip(entries, raw["outcomes"], raw["curves"], strict=True):
        found.curves[course.name, name] = Curve(*curve.T)
        for trial, (success, success_at) in zip(trials, outcomes, strict=True):
            kept = {
                key: trial[key] for key in ("seed", "value", "distance", "evaluations", "finished", "history")
            }
            found.runs.append(
                {"problem": course.name, "method": name, "success": success, "success_at": success_at, **kept}
            )


def _trial(course: _Course, method: _Method, run: int, budget: int, seed: int, judge: str) -> dict[str, Any]:
    """One run that calls Python."""
    recorder = Recorder(course.of_run(run), len(course.bounds), budget, course.distance(run))
    start = _lib.compare_cloud(course.bounds, seed, _POINTS)
    if method.solver is not None:
        solve(method.solver, recorder, course.bounds, budget, seed, start)
        return recorder.run(seed)
    assert method.text is not None
    if method.baseline:
        _lib.compare_baseline(method.text, recorder, course.bounds, start, budget, seed)
        return recorder.run(seed)
    auto = is_auto({"method": method.text})
    options = {
        name: value for name, value in method.options.items() if not auto or name in ("threads", "target")
    }
    try:
        result = minimize(
            recorder, course.bounds, method=method.text, max_evaluations=budget, seed=seed, **options
        )
    except _lib.NoFiniteEnergy:
        return recorder.run(seed)
    judged = (result.consensus, result.consensus_fun) if judge == "consensus" and not auto else None
    return recorder.run(seed, judged)
