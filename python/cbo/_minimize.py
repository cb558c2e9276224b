"""``cbo.minimize``: one run from beginning to end."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _constraints, _device, _lib, _progress, _ranks, _space
from ._evaluate import Evaluator, Failures
from ._method import settle_batch
from ._options import Options, checked
from ._result import OptimizeResult, result_of, step_of
from ._unfinished import carry
from ._values import convert

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._evaluate_futures import Executor
    from ._ranks import Communicator
    from ._space import Seed

_KEYWORDS = (
    "args",
    "bounds",
    "callback",
    "comm",
    "constraints",
    "device",
    "equality_tolerance",
    "jac",
    "like",
    "max_evaluations",
    "particles",
    "progress",
    "retries",
    "seed",
    "spread",
    "timeout",
    "vectorized",
    "workers",
    "x0",
)


def minimize(
    fun: Callable[..., Any],
    bounds: Any = None,
    x0: ArrayLike | None = None,
    *,
    args: tuple[Any, ...] = (),
    jac: Callable[..., Any] | None = None,
    constraints: Any = (),
    equality_tolerance: float = 1e-6,
    spread: ArrayLike | None = None,
    particles: int | None = None,
    max_evaluations: int | None = None,
    seed: Seed | None = None,
    vectorized: bool = False,
    workers: int | Callable[..., Iterable[Any]] | Executor = 1,
    timeout: float | None = None,
    retries: int = 0,
    callback: Callable[[OptimizeResult], Any] | None = None,
    progress: bool | Literal["force"] = False,
    device: str | None = None,
    like: Literal["torch", "jax", "cupy", "numpy"] | None = None,
    comm: Communicator | None = None,
    **options: Unpack[Options],
) -> OptimizeResult:
    """Minimises a function, without derivatives and without settings.

    By default the method is ``"auto"``, which chooses what the others leave to their user, and stops by
    itself when nothing more is to be gained. Where a setting of a swarm is given (``particles, lambda_,
    sigma, alpha, dt, diffusion, scheme, truncation, update, kick, freeze, epoch_steps, reduction, steps, time,
    diameter``, a GPU as `device`, or a point for each particle as `x0`), it is ``"cbo"``: particles that agree on where the
    global minimum is. The result's ``method`` says which it was.

    Parameters
    ----------
    fun : callable
        ``fun(x, *args) -> float`` of a point of shape (d,), or a problem of `cbo.problems` or a `cbo.Formula`,
        which are evaluated in Rust. NaN is a failed evaluation and infinity an infeasible point; both are counted and
        have no weight.
    bounds : sequence of (low, high) or object with ``lb`` and ``ub``, optional
        Where the swarm starts and stays, as ``scipy.optimize`` takes it. May be left out for a built-in
        problem, which has a domain, and with `x0`.
    x0 : array, optional
        One point, around which the search starts, at the distance `spread`; or an array of shape (N, d) with a
        point for each of N particles.
    args : tuple, optional
        Further arguments of `fun`.
    jac : callable, optional
        ``jac(x, *args)``, the gradient of `fun`, of shape (d,); with `vectorized` of all points, shape (N, d). Only the
        method memory with a drift along the gradient (``"memory:gradient=0.01"``) asks for it, and takes central differences
        of `fun` if it is left out.
    constraints : constraint or list of constraints, optional
        What a point has to meet besides the bounds, as ``scipy.optimize`` takes it: ``LinearConstraint``,
        ``NonlinearConstraint`` or dictionaries with ``type`` (``"ineq"``: fun(x) >= 0, ``"eq"``: fun(x) = 0),
        ``fun`` and perhaps ``args``. With `vectorized` their functions take rows too. Points that violate them
        are evaluated all the same, at a price; ``x`` is the best point that meets all of them, if one was found.
        The constraints of a built-in problem are always honoured.
    equality_tolerance : float, optional
        How far an equality may be missed by a point that meets it. Inequalities are meant as they stand.
    spread : float or array, optional
        Standard deviation around one point `x0`, for all coordinates or for each. A quarter of the bounds'
        width if left out; without finite bounds a swarm needs it, and the method auto takes the size of `x0`, at
        least 1.
    particles : int, optional
        Number of particles of a swarm.
    max_evaluations : int, optional
        Stop before more evaluations than this are spent. (`options` have other limits.)
    seed : int, numpy.random.Generator or numpy.random.SeedSequence, optional
        Seed of everything random. From a generator one is drawn, which moves it on; from a seed sequence always
        the same. Without it one is drawn from the system. The result has it as a number.
    vectorized : bool, optional
        Whether `fun` takes all points of a step at once, shape (N, d), and returns an array of shape (N,).
        The method auto then hands out at least ``batch`` points at once, 32 if that is left out. The points
        are a read-only view of the engine's memory: copy what you want to keep. (Keeping it is safe,
        but then the run copies.)
    workers : int, callable or executor, optional
        Where `fun` is evaluated: this many processes (-1: one per core), a map-like callable, or an object with
        ``submit``. The method auto hands out at least as many points at once as there are processes, or
        ``batch`` if that is more (8 for a map or an object with ``submit``, if it is left out). Apart from that
        the result does not depend on it.
    timeout : float, optional
        Seconds that one evaluation by a worker may take; then it counts as failed.
    retries : int, optional
        How often an evaluation is repeated if its worker died or took too long.
    callback : callable, optional
        Called after each step with an `OptimizeResult` of the run so far. The run stops if it raises
        StopIteration or returns True.
    progress : bool or "force", optional
        One line of progress on stderr, if that is a terminal (or in any case).
    device : str, optional
        Where the particles are: ``"cpu"``, or ``"cuda"`` or ``"cuda:1"`` for an NVIDIA GPU, which has the methods
        cbo and hopping, and of built-in problems and formulas memory. A function must be `vectorized` there, and is given all points where they are.
    like : str, optional
        What a function is given on a GPU: a tensor of ``"torch"``, ``"jax"`` or ``"cupy"``, without a copy; if left
        out, an object that has ``__dlpack__``, which ``from_dlpack`` of these libraries takes. It returns a tensor of
        any library that has ``__dlpack__``, on the same GPU, or an array of NumPy, which is copied.
    comm : communicator of mpi4py, optional
        Evaluates `fun` on all ranks of it, such as ``MPI.COMM_WORLD``: each calls its own `fun` with some of the points of a
        step, and all return the same result (or raise the same exception), which does not depend on their number. Settings
        and callbacks are those of the first rank. The method auto hands out at least 8 points at once, or ``batch``.
    **options
        Settings of the engine: ``method, local, lambda_, sigma, alpha, dt, diffusion, scheme, truncation, surface, init,
        batch, update, kick, freeze, bound_handling, epoch_steps, reduction, steps, time, max_seconds, target, diameter,
        stagnation, threads, strict, precision``. The guide says what they mean.

    Returns
    -------
    OptimizeResult
        The best point ``x``, its value ``fun``, and more.

    Raises
    ------
    TypeError, ValueError
        For an argument that cannot be used, or if `fun` does not return a number.
    RuntimeError
        If no particle has a finite value, or an evaluation failed in a ``strict`` run.
    KeyboardInterrupt, and whatever `fun` or `callback` raise
        With what was found so far as the attribute ``result``. All evaluations that were finished count, also
        those of a step that was not.

    Examples
    --------
    A function of your own:

    >>> import numpy as np
    >>> import cbo
    >>> def rosenbrock(x):
    ...     return (1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2
    >>> result = cbo.minimize(rosenbrock, bounds=[(-2, 2), (-1, 3)], seed=1)
    >>> bool(np.allclose(result.x, [1, 1], atol=0.01))
    True

    All points at once, which is much faster in NumPy:

    >>> def rastrigin(x):
    ...     return np.sum(x**2 + 2.5 * (1 - np.cos(2 * np.pi * x)), axis=1)
    >>> result = cbo.minimize(rastrigin, bounds=[(-5.12, 5.12)] * 4, vectorized=True, seed=1)
    >>> result.fun < 1e-6
    True

    Under a constraint:

    >>> inside = {"type": "ineq", "fun": lambda x: 1 - x[0] ** 2 - x[1] ** 2}
    >>> result = cbo.minimize(lambda x: x[0] + x[1], bounds=[(-2, 2)] * 2, constraints=inside, seed=1)
    >>> result.feasible, round(float(result.fun), 4)
    (True, -1.4142)

    A built-in function, a swarm with settings of its own, a limit:

    >>> ackley = cbo.problems.ackley(10)
    >>> result = cbo.minimize(ackley, particles=200, alpha="ess:0.1", max_evaluations=20_000, seed=1)
    >>> result.nfev <= 20_000, result.stop
    (True, 'evaluations')
    """
    place = workers
    if comm is not None:
        elsewhere = not (isinstance(workers, int) and workers == 1 and timeout is None and retries == 0)
        _ranks.check(comm, fun, elsewhere, device)
        if comm.Get_rank() > 0:
            found: OptimizeResult = _ranks.follow(comm, fun, tuple(args) if isinstance(args, (tuple, list)) else (args,))
            return found
        place = _ranks.OnRanks(comm)
    call = functools.partial(
        run,
        fun,
        bounds,
        x0,
        args=args,
        jac=jac,
        constraints=constraints,
        equality_tolerance=equality_tolerance,
        spread=spread,
        particles=particles,
        max_evaluations=max_evaluations,
        seed=seed,
        vectorized=vectorized,
        workers=place,
        timeout=timeout,
        retries=retries,
        callback=callback,
        progress=progress,
        options=options,
        device=device,
        like=like,
    )
    result: OptimizeResult = call()[0] if comm is None else _ranks.lead(comm, lambda: call()[0])
    return result


def run(
    fun: Callable[..., Any],
    bounds: Any,
    x0: ArrayLike | None,
    *,
    args: tuple[Any, ...],
    jac: Callable[..., Any] | None = None,
    constraints: Any = (),
    equality_tolerance: float = 1e-6,
    spread: ArrayLike | None,
    particles: int | None,
    max_evaluations: int | None,
    seed: Seed | None,
    vectorized: bool,
    workers: int | Callable[..., Iterable[Any]] | Executor,
    timeout: float | None,
    retries: int,
    callback: Callable[[OptimizeResult], Any] | None,
    progress: bool | Literal["force"],
    options: Options,
    draws: int | None = None,
    device: str | None = None,
    like: str | None = None,
) -> tuple[OptimizeResult, _lib.Proposal | None]:
    """`minimize`, and if `draws` is a number, what so many points can be drawn from afterwards."""
    if not callable(fun):
        raise TypeError(f"fun = {fun!r:.60}: must be a function of a point")
    if callback is not None and not callable(callback):
        raise TypeError(f"callback = {callback!r:.60}: must be a function of the result so far")
    if not isinstance(vectorized, (bool, np.bool_)):
        raise TypeError(f"vectorized = {vectorized!r:.60}: must be True or False")
    problem = fun if isinstance(fun, _lib.Problem) else None
    settings = run_settings(options, particles, max_evaluations, seed)
    elsewhere = not (isinstance(workers, int) and workers == 1 and timeout is None and retries == 0)
    there = _device.is_elsewhere(device)
    if device is not None:
        settings["device"] = device
    if there:
        _refuse(device, fun, vectorized, elsewhere, constraints, args, like)
    elif like is not None:
        raise ValueError(f"like = {like!r:.60}: only with device='cuda' points are on a GPU; leave it out")
    dim = _space.settle(problem, bounds, x0, spread, settings)
    formula = fun.at(dim) if isinstance(fun, _lib.Formula) else None
    settle_batch(settings, bool(vectorized) and problem is None and formula is None, workers)
    _lib.check(dim, settings)
    slope = _lib.follows_gradient(settings)
    if jac is not None and not (slope and callable(jac) and problem is None and formula is None):
        raise _unwanted(jac, slope)
    under = _constraints.settle(
        constraints, problem, dim, settings, vectorized=bool(vectorized), tolerance=equality_tolerance
    )
    arguments = tuple(args) if isinstance(args, (tuple, list)) else (args,)
    line = _progress.wanted(progress)
    unfinished: list[dict[str, Any]] = []
    listeners: Any = {
        "callback": _told(callback, settings),
        "progress": line,
        "unfinished": unfinished.append,
        "draws": draws,
    }
    failures = Failures()
    own = None if under is None else (under, under.count)
    known = problem if formula is None else formula
    try:
        if known is not None and not elsewhere and not arguments and not _constraints.is_given(constraints):
            raw = _lib.minimize_problem(known, settings, **listeners)
        elif there:
            del listeners["draws"]
            own_fun = _device.taking(fun, like)
            raw = _lib.minimize_on_device(
                own_fun, dim, settings, args=arguments, convert=convert, **listeners
            )
        elif slope and own is None:
            values = Evaluator(
                fun, args=arguments, vectorized=vectorized, workers=workers, timeout=timeout, retries=retries
            )
            failures = values.failures
            with values:
                slopes = None if jac is None else _slopes(jac, arguments, vectorized=bool(vectorized))
                raw = _lib.minimize_called(values, slopes, dim, settings, **listeners)
        elif not elsewhere:
            way: Literal["point", "points"] = "points" if vectorized else "point"
            raw = _lib.minimize_function(
                fun, dim, settings, args=arguments, way=way, convert=convert, constraints=own, **listeners
            )
        else:
            place = Evaluator(
                fun, args=arguments, vectorized=vectorized, workers=workers, timeout=timeout, retries=retries
            )
            failures = place.failures
            with place:
                raw = _lib.minimize_function(
                    place.answer,
                    dim,
                    settings,
                    args=(),
                    way="answers",
                    convert=convert,
                    constraints=own,
                    **listeners,
                )
    except BaseException as error:
        explained = _explained(error, failures)
        if unfinished:
            carry(explained, _result(unfinished[0], settings, failures))
        if explained is error:
            raise
        raise explained from error
    finally:
        if line is not None:
            line.close()
    proposal = raw.pop("proposal", None)
    return _result(raw, settings, failures), proposal


def _refuse(
    device: Any, fun: Any, vectorized: bool, elsewhere: bool, constraints: Any, args: Any, like: Any
) -> None:
    """Refuses what cannot be had on a GPU; the engine refuses settings of its own by their names."""
    compiled = isinstance(fun, (_lib.Problem, _lib.Formula))
    if not isinstance(device, str):
        raise TypeError(f"device = {device!r:.60}: must be a text: 'cpu', 'cuda' or 'cuda:N'")
    if elsewhere:
        raise ValueError(
            f"device = {device!r}: fun is called where the particles are; leave workers, timeout and retries out"
        )
    if _constraints.is_given(constraints):
        raise ValueError(f"device = {device!r}: constraints are not there yet; use device='cpu'")
    if compiled and (like is not None or args != ()):
        raise ValueError(f"device = {device!r}: a built-in problem or a formula takes no args and no like")
    if not compiled and not vectorized:
        raise ValueError(
            f"device = {device!r}: a function there is given all points at once; write it so, and give vectorized=True"
        )


def _unwanted(jac: Any, slope: bool) -> Exception:
    """Why a gradient is refused."""
    if not callable(jac):
        return TypeError(f"jac = {jac!r:.60}: must be a function of a point")
    if not slope:
        return ValueError("jac: only method memory with a gradient, as in 'memory:gradient=0.01', asks for it; leave it out")
    return ValueError("jac: built-in problems have gradients, and formulas differences; leave it out")


def _slopes(
    jac: Callable[..., Any], args: tuple[Any, ...], *, vectorized: bool
) -> Callable[[NDArray[np.floating[Any]]], NDArray[np.float64]]:
    """The gradients at the rows of an array."""

    def of_rows(x: NDArray[np.floating[Any]]) -> NDArray[np.float64]:
        slopes = jac(x, *args) if vectorized else [jac(row, *args) for row in x]
        return np.ascontiguousarray(slopes, dtype=np.float64)

    return of_rows


def _result(raw: dict[str, Any], settings: dict[str, Any], failures: Failures) -> OptimizeResult:
    result = result_of(raw, settings)
    if failures.lost:
        result["message"] += f"; {failures.lost} evaluations were lost to workers that died or took too long"
    return result


def _explained(error: BaseException, failures: Failures) -> BaseException:
    """The same exception, or one that adds that it was the workers who failed."""
    if isinstance(error, _lib.NoFiniteEnergy) and failures.lost:
        return _lib.NoFiniteEnergy(f"{error}; the last failure: {failures.messages[-1]}")
    return error


def run_settings(
    options: Any, particles: int | None, max_evaluations: int | None, seed: Seed | None
) -> dict[str, Any]:
    """The settings of a run, except where it takes place."""
    settings = checked(options, *_KEYWORDS)
    if particles is not None:
        settings["particles"] = particles
    settings["max_evaluations"] = max_evaluations
    settings["seed"] = _space.read_seed(seed)
    return settings


def _told(
    callback: Callable[[OptimizeResult], Any] | None, settings: dict[str, Any]
) -> Callable[[dict[str, Any]], bool] | None:
    if callback is None:
        return None

    def told(raw: dict[str, Any]) -> bool:
        try:
            answer = callback(step_of(raw, settings))
        except StopIteration:
            return True
        return answer is not None and bool(answer)

    return told
