"""``cbo.theory``: what the paper's theorem says about a setting."""

from __future__ import annotations

from typing import Any, Literal

from . import _lib, _space
from ._result import AttributeDict


class Theory(AttributeDict):
    """The answer of `cbo.theory`; every entry is an attribute and a key.

    Attributes
    ----------
    v0, epsilon : float
        Half the mean square distance to the minimiser at the start, and the accuracy asked for.
    assumptions : AttributeDict
        ``eta, nu, r0, e_inf`` of assumption A2, and whether they are ``exact``.
    constants, sharp : AttributeDict or None
        The constants of the theorem, each a pair of value and natural logarithm; None where the theorem has
        none, or where the sharper ones were not asked for.
    covered : bool
        Whether the theorem covers the setting.
    mean_square_stable, almost_surely_contracting : bool
        Whether the step contracts in the mean square, and almost surely.
    advice : list of (topic, whether it holds or None, sentence)
        The same for people.
    """

    v0: float
    epsilon: float
    covered: bool
    mean_square_stable: bool
    almost_surely_contracting: bool
    advice: list[tuple[str, bool | None, str]]


def theory(
    problem: _lib.Problem,
    *,
    tau: float = 0.7,
    epsilon: float | None = None,
    epsilon_ratio: float = 0.01,
    c: float | None = None,
    r0: float | Literal["auto"] | None = None,
    sharp: bool = False,
    lambda_: float | None = None,
    sigma: float | None = None,
    alpha: float | None = None,
    dt: float | None = None,
    particles: int | None = None,
    diffusion: Literal["anisotropic", "isotropic"] | None = None,
    scheme: Literal["euler-maruyama", "drift-first"] | None = None,
    init: str | None = None,
) -> Theory:
    """The constants of the paper's convergence theorem for a problem and a setting, and what follows from
    them.

    What is left out is as in the paper's Figure 1: lambda 1, sigma 0.32, alpha 1e15, dt 0.01, 320 000
    particles.

    Parameters
    ----------
    problem : Problem
        A built-in problem.
    tau : float, optional
        The fraction of the rate that is given away, between 0 and 1.
    epsilon, epsilon_ratio : float, optional
        The accuracy, or the accuracy as a fraction of V_0.
    c : float, optional
        The constant c of the mass bound; the best one if left out.
    r0 : float or "auto", optional
        The radius R_0 of assumption A2.
    sharp : bool, optional
        Whether to add sharper constants with which the same proof holds.
    lambda_, sigma, alpha, dt, particles, diffusion, scheme, init
        The setting, as for `cbo.minimize`.

    Returns
    -------
    Theory

    Examples
    --------
    >>> import cbo
    >>> answer = cbo.theory(cbo.problems.rastrigin(4))
    >>> f"{answer.constants.alpha_0[0]:.1e}"
    '5.1e+07'
    """
    if not isinstance(problem, _lib.Problem):
        raise TypeError(
            f"problem = {problem!r:.60}: must be a built-in problem, such as cbo.problems.rastrigin(4)"
        )
    if problem.constraints:
        raise ValueError(f"problem = {problem.name}: it has constraints, about which the theorem says nothing")
    given = dict(lambda_=lambda_, sigma=sigma, alpha=alpha, dt=dt, particles=particles)
    words = dict(diffusion=diffusion, scheme=scheme, init=init)
    settings: dict[str, Any] = {key: value for key, value in {**given, **words}.items() if value is not None}
    for name, value in (("tau", tau), ("epsilon", epsilon), ("epsilon_ratio", epsilon_ratio), ("c", c)):
        if value is not None and _space.numbers(name, value).ndim != 0:
            raise TypeError(f"{name} = {value!r:.60}: must be a number")
    raw = _lib.theory(
        problem,
        settings,
        tau=tau,
        epsilon=epsilon,
        epsilon_ratio=epsilon_ratio,
        c=c,
        r0=r0,
        sharp=bool(sharp),
    )
    nested = ("assumptions", "constants", "sharp")
    return Theory({key: AttributeDict(v) if key in nested and v is not None else v for key, v in raw.items()})
