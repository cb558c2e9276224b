"""``scipy.optimize.minimize`` with ``method=cbo.scipy.method``."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import cbo

optimize = pytest.importorskip("scipy.optimize")

BOX = [(-2.0, 2.0)] * 3
SHORT = {"particles": 50, "maxiter": 40, "seed": 3}


def run(fun: Any = optimize.rosen, x0: Any = (0.5, 0.5, 0.5), **given: Any) -> Any:
    given.setdefault("options", SHORT)
    return optimize.minimize(fun, x0, method=cbo.scipy.method, **given)


def test_it_minimises_and_gives_scipys_result() -> None:
    def bowl(x: NDArray[np.float64]) -> float:
        return float(np.sum((x - 1.0) ** 2))

    result = run(bowl, bounds=BOX, options={"particles": 50, "seed": 3})
    assert isinstance(result, optimize.OptimizeResult)
    np.testing.assert_allclose(result.x, 1.0, atol=1e-3)
    assert result.fun == bowl(result.x)
    assert result.success and result.seed == 3 and "The swarm is smaller than" in result.message


def test_by_default_it_is_the_method_auto() -> None:
    result = run(bounds=BOX, options={"seed": 3, "maxfev": 900})
    assert result.method == "auto" and result.nfev <= 900 and result.fun < 1e-9
    np.testing.assert_allclose(result.x, 1.0, atol=1e-3)
    assert result.hess_inv.shape == (3, 3)
    far = run(lambda x: float(np.sum((x - 30.0) ** 2)), x0=[0.0, 0.0], options={"seed": 1})
    np.testing.assert_allclose(far.x, 30.0, atol=1e-3)
    chosen = run(bounds=BOX, options={"seed": 3, "method": "cbo", "maxfev": 900})
    assert chosen.method == "cbo"


def test_it_is_the_same_run_as_minimize() -> None:
    there = run(bounds=BOX)
    here = cbo.minimize(optimize.rosen, BOX, [0.5, 0.5, 0.5], particles=50, steps=40, seed=3)
    np.testing.assert_array_equal(there.x, here.x)
    assert (there.fun, there.nfev, there.nit) == (here.fun, here.nfev, here.nit)


@pytest.mark.parametrize(
    "bounds",
    [
        optimize.Bounds([-2, -2, -2], [2, 2, 2]),
        optimize.Bounds(-2, 2),
        np.array(BOX),
        [(-2, 2), (-2, 2), (-2, 2)],
    ],
)
def test_bounds_in_every_form(bounds: Any) -> None:
    np.testing.assert_array_equal(run(bounds=bounds).x, run(bounds=BOX).x)


def test_points_stay_within_bounds() -> None:
    seen: list[NDArray[np.float64]] = []

    def fun(x: NDArray[np.float64]) -> float:
        seen.append(x)
        return float(np.sum(x))

    run(fun, bounds=BOX)
    assert np.min(seen) >= -2.0 and np.max(seen) <= 2.0


def test_without_bounds_it_starts_around_x0() -> None:
    result = run(lambda x: float(np.sum((x - 3.0) ** 2)), x0=[2.5, 3.5], options={"seed": 1})
    np.testing.assert_allclose(result.x, 3.0, atol=1e-3)
    half = [(0.0, None), (None, None)]
    np.testing.assert_allclose(
        run(lambda x: float(np.sum((x - 3) ** 2)), [2.5, 3.5], bounds=half).x, 3, atol=0.5
    )


def test_args_tol_maxfev_and_disp(capsys: pytest.CaptureFixture[str]) -> None:
    def fun(x: NDArray[np.float64], shift: float) -> float:
        return float(np.sum((x - shift) ** 2))

    result = run(fun, args=(0.25,), bounds=BOX, tol=1e-6, options={"seed": 1, "disp": True})
    np.testing.assert_allclose(result.x, 0.25, atol=1e-5)
    assert result.stop == "diameter" and np.ptp(result.population) < 1e-5
    assert f"Function evaluations: {result.nfev}" in capsys.readouterr().out
    assert run(bounds=BOX, options={"particles": 50, "maxfev": 220}).nfev <= 220


def test_callback_with_a_point_and_with_a_result() -> None:
    points: list[Any] = []
    results: list[Any] = []

    def with_point(xk: Any) -> bool:
        points.append(xk)
        return True  # Means nothing to scipy.

    def with_result(intermediate_result: Any) -> None:
        results.append(intermediate_result)
        if len(results) == 5:
            raise StopIteration

    assert run(bounds=BOX, callback=with_point).nit == 40
    assert len(points) >= 40 and all(point.shape == (3,) for point in points)
    stopped = run(bounds=BOX, callback=with_result)
    assert len(results) == 5 and stopped.status == 99 and not stopped.success
    assert isinstance(results[0], optimize.OptimizeResult)
    assert results[4].fun == optimize.rosen(results[4].x)


def test_derivatives_are_ignored_with_a_warning() -> None:
    with pytest.warns(RuntimeWarning, match=r"does not use derivatives \(jac\)") as caught:
        result = run(bounds=BOX, jac=optimize.rosen_der)
    assert caught[0].filename == optimize.minimize.__code__.co_filename or caught[0].filename == __file__
    np.testing.assert_array_equal(result.x, run(bounds=BOX).x)
    with pytest.warns(RuntimeWarning, match="hess"):
        run(bounds=BOX, hess=optimize.rosen_hess)
    # A function that returns value and gradient.
    with pytest.warns(RuntimeWarning, match="jac"):
        both = run(lambda x: (optimize.rosen(x), optimize.rosen_der(x)), bounds=BOX, jac=True)
    np.testing.assert_array_equal(both.x, result.x)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run(bounds=BOX)


def test_constraints_are_honoured() -> None:
    for constraint in ({"type": "ineq", "fun": lambda x: 2 - np.sum(x)}, optimize.LinearConstraint(np.ones((1, 3)), -np.inf, 2)):
        result = run(bounds=BOX, constraints=constraint, options={"seed": 3, "maxfev": 2000})
        assert result.feasible and result.maxcv == 0.0 and np.sum(result.x) <= 2
    with pytest.raises(TypeError, match="constraints = 'x > 0': give scipy's"):
        run(bounds=BOX, constraints="x > 0")


def test_bad_options() -> None:
    with pytest.raises(TypeError, match="unknown keyword 'particle'; did you mean 'particles'"):
        run(bounds=BOX, options={"particle": 10})
    with pytest.raises(ValueError, match="maxiter = 10: steps = 20 is also given"):
        run(bounds=BOX, options={"maxiter": 10, "steps": 20})
    with pytest.raises(ValueError, match="bounds have 2 pairs"):
        run(bounds=BOX[:2])
    with pytest.raises(ValueError, match="spread"):
        run(bounds=BOX, options={"spread": -1.0})
