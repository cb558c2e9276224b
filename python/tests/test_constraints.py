"""Constraints: as scipy gives them, in every way of evaluating, and with a loop of one's own."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import cbo

BOX = [(-3.0, 3.0)] * 2
DISC = {"type": "ineq", "fun": lambda x: 1 - x[0] ** 2 - x[1] ** 2}


def slope(x: Any) -> float:
    return float(x[0] + 2 * x[1])


def linear(matrix: Any, lb: Any, ub: Any) -> Any:
    """What scipy's LinearConstraint is, without scipy."""
    return SimpleNamespace(A=matrix, lb=lb, ub=ub)


def nonlinear(fun: Any, lb: Any, ub: Any) -> Any:
    """What scipy's NonlinearConstraint is."""
    return SimpleNamespace(fun=fun, lb=lb, ub=ub)


@pytest.mark.parametrize("method", ["auto", "cbo", "memory"])
def test_a_disc(method: str) -> None:
    result = cbo.minimize(slope, BOX, constraints=DISC, method=method, seed=1)
    assert result.feasible is True and result.violation == 0.0
    assert result.maxcv == result.constr_violation == 0.0
    assert result.fun == slope(result.x) and -(5**0.5) - 1e-9 <= result.fun < -(5**0.5) + 0.05
    assert "violation" in result.history and result.history["violation"][-1] == 0.0


def test_results_without_constraints_have_no_maxcv() -> None:
    result = cbo.minimize(slope, BOX, max_evaluations=100, seed=1)
    assert result.feasible and result.violation == 0.0
    assert "maxcv" not in result and "violation" not in result.history


def test_all_kinds_say_the_same() -> None:
    """A half-plane in eight ways, and the same run in each."""

    def run(constraints: Any, **more: Any) -> Any:
        return cbo.minimize(slope, BOX, constraints=constraints, max_evaluations=600, seed=3, **more).x

    expected = run({"type": "ineq", "fun": lambda x: x[0] + x[1] - 1})
    assert expected.sum() >= 1
    kinds = [
        [{"type": "ineq", "fun": lambda x: x[0] + x[1] - 1}],
        ({"type": "ineq", "fun": lambda x, shift: [x[0] + x[1] - shift], "args": (1,)},),
        linear([1, 1], 1, np.inf),
        linear(np.ones((1, 2)), [1], [np.inf]),
        [linear([[1.0, 1.0]], 1.0, np.inf)],
        nonlinear(lambda x: x[0] + x[1], 1, np.inf),
        nonlinear(lambda x: np.array([x[0] + x[1]]), [1], [np.inf]),
        linear(SimpleNamespace(toarray=lambda: np.ones((1, 2))), 1, np.inf),
    ]
    for constraints in kinds:
        assert (run(constraints) == expected).all(), constraints


def test_equalities_and_their_tolerance() -> None:
    for kind in (
        {"type": "eq", "fun": lambda x: x[0] + x[1] - 1},
        linear([[1, 1]], 1, 1),
        nonlinear(lambda x: x[0] + x[1], 1, 1),
    ):
        result = cbo.minimize(lambda x: float(x @ x), BOX, constraints=kind, seed=1)
        assert result.feasible and abs(result.x.sum() - 1) <= 1.000001e-6
        assert np.allclose(result.x, 0.5, atol=1e-3)
    wide = cbo.minimize(
        lambda x: float(x @ x), BOX, constraints=linear([[1, 1]], 1, 1), equality_tolerance=0.5, seed=1
    )
    assert wide.feasible and abs(wide.x.sum() - 0.5) < 1e-3


def test_several_with_vectors_and_both_sides() -> None:
    box = nonlinear(lambda x: x, [0.5, -np.inf], [1.0, -0.25])
    result = cbo.minimize(lambda x: float(x @ x), BOX, constraints=[box, linear([[1, 1]], -1, 1)], seed=1)
    assert result.feasible and np.allclose(result.x, [0.5, -0.25], atol=1e-5)
    bounds = SimpleNamespace(lb=[0.5, -3], ub=[3, 3])
    result = cbo.minimize(lambda x: float(x @ x), BOX, constraints=bounds, seed=1)
    assert result.feasible and np.allclose(result.x, [0.5, 0], atol=1e-4)


def test_however_it_is_evaluated_the_run_is_the_same() -> None:
    """Batches fixed, so that all ways ask for the same points."""

    def rows(x: Any) -> Any:
        return x[:, 0] + 2 * x[:, 1]

    disc_of_rows = {"type": "ineq", "fun": lambda x: 1 - x[:, 0] ** 2 - x[:, 1] ** 2}
    for more in ({"batch": 8}, {"particles": 40, "steps": 15}):
        one = cbo.minimize(slope, BOX, constraints=DISC, max_evaluations=400, seed=2, **more)
        all_at_once = cbo.minimize(
            rows, BOX, constraints=disc_of_rows, vectorized=True, max_evaluations=400, seed=2, **more
        )
        two = cbo.minimize(slope, BOX, constraints=DISC, workers=map, max_evaluations=400, seed=2, **more)
        assert (one.x == all_at_once.x).all() and (one.x == two.x).all()
        assert one.violation == all_at_once.violation == two.violation == 0.0


def test_nothing_feasible() -> None:
    never = {"type": "ineq", "fun": lambda x: x[0] - 5}
    result = cbo.minimize(lambda x: x[0], [(-4, 4)], constraints=never, seed=1, target=100.0, max_evaluations=400)
    assert not result.feasible and not result.success and result.stop != "target"
    assert abs(result.violation - 1) < 1e-3 and result.maxcv == result.violation
    assert "No point was found that meets all constraints" in result.message


def test_targets_need_feasible_points() -> None:
    result = cbo.minimize(slope, BOX, constraints=DISC, target=-2.0, seed=1)
    assert result.stop == "target" and result.feasible and result.fun <= -2.0


def test_built_in_problems_bring_their_own() -> None:
    problem = cbo.problems.g06()
    assert problem.constraints == ["(x - 5)^2 + (y - 5)^2 >= 100", "(x - 6)^2 + (y - 5)^2 <= 82.81"]
    values = problem.constraint_values(problem.minimisers[0])
    assert values.shape == (2,) and (np.abs(values) < 1e-9).all()
    assert problem.constraint_values(np.full((5, 2), 20.0)).shape == (5, 2)
    assert cbo.problems.sphere(2).constraints == []
    result = cbo.minimize(problem, seed=1)
    assert result.feasible and abs(result.fun - problem.minimum) < 1e-4
    # In every way in which it may be evaluated.
    elsewhere = cbo.minimize(problem, seed=1, workers=map, batch=1)
    assert elsewhere.feasible and abs(elsewhere.fun - problem.minimum) < 1e-4
    more = cbo.minimize(problem, constraints=linear([[0, 1]], 1.5, np.inf), seed=1)
    assert more.feasible and more.x[1] >= 1.5 and more.fun > problem.minimum + 1
    assert (problem.constraint_values(more.x) <= 0).all()


def test_success_rates() -> None:
    rate = cbo.success_rate(cbo.problems.g24(), runs=5)
    assert rate.successes == 5 and (rate.violation == 0).all()
    none = cbo.success_rate(cbo.problems.g10(), runs=2, max_evaluations=25)
    assert none.successes == 0
    own = cbo.success_rate(slope, BOX, constraints=DISC, minimum=-(5**0.5), tolerance=1e-3, runs=3)
    assert own.successes == 3
    with pytest.raises(ValueError, match="constraints, about which the theorem"):
        cbo.theory(cbo.problems.g09())


def test_ask_and_tell(tmp_path: Path) -> None:
    def constraints(x: Any) -> Any:
        return np.stack([(x**2).sum(axis=-1) - 1, x[..., 0] - x[..., 1]], axis=-1)

    def fresh() -> cbo.Optimizer:
        return cbo.Optimizer(BOX, particles=30, steps=25, seed=4, constraints=2)

    expected = cbo.minimize(
        slope,
        BOX,
        constraints=[nonlinear(lambda x: x @ x, -np.inf, 1), nonlinear(lambda x: x[0] - x[1], -np.inf, 0)],
        particles=30,
        steps=25,
        seed=4,
    )
    optimizer = fresh()
    step = 0
    while not optimizer.done:
        x = optimizer.ask()
        # In pieces, one of them a single point, and through a file.
        optimizer.tell(x[5:], x[5:] @ [1, 2], constraints(x[5:]))
        optimizer.tell(x[0], x[0] @ [1, 2], constraints(x[0]))
        if step % 7 == 0:
            optimizer.save(tmp_path / "run.cbo")
            optimizer = cbo.Optimizer.load(tmp_path / "run.cbo")
        rest = optimizer.ask()
        optimizer.tell(rest, rest @ [1, 2], constraints(rest))
        step += 1
    result = optimizer.result()
    assert result.feasible and (result.x == expected.x).all() and result.violation == 0.0
    assert (result.population == expected.population).all()


def test_what_tell_refuses() -> None:
    optimizer = cbo.Optimizer(BOX, particles=4, seed=1, constraints=2)
    x = optimizer.ask()
    with pytest.raises(ValueError, match="constraints are missing: each point has 2"):
        optimizer.tell(x, np.zeros(4))
    with pytest.raises(ValueError, match=r"constraints have the shape \(4, 1\): 4 points have \(4, 2\)"):
        optimizer.tell(x, np.zeros(4), np.zeros((4, 1)))
    optimizer.tell(x, np.zeros(4), np.zeros((4, 2)))
    with pytest.raises(TypeError, match="constraints = .*must be their number"):
        cbo.Optimizer(BOX, constraints=DISC)  # type: ignore[arg-type]


def test_numbers_that_are_none_fail() -> None:
    def holes(x: Any) -> float:
        return float("nan") if x[0] > 0 else 1.0

    result = cbo.minimize(slope, BOX, constraints={"type": "ineq", "fun": holes}, max_evaluations=300, seed=1)
    assert result.failed_evaluations > 0 and result.x[0] <= 0
    with pytest.raises(RuntimeError, match="strict"):
        cbo.minimize(slope, BOX, constraints={"type": "ineq", "fun": holes}, strict=True, seed=1)


def test_exceptions_of_a_constraint_come_through() -> None:
    calls = []

    def tired(x: Any) -> float:
        calls.append(x)
        if len(calls) > 50:
            raise LookupError("no more")
        return 1.0

    with pytest.raises(LookupError, match="no more") as caught:
        cbo.minimize(slope, BOX, constraints={"type": "ineq", "fun": tired}, seed=1)
    assert caught.value.result.nfev > 0  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("constraints", "message"),
    [
        (3, r"constraints = 3: give scipy's LinearConstraint"),
        ([DISC, "x > 0"], r"constraints\[1\] = 'x > 0': give scipy's"),
        ({"fun": slope}, r"constraints has the type None: it must be 'ineq'"),
        ({"type": "le", "fun": slope}, r"has the type 'le': it must be 'ineq'"),
        ({"type": "ineq"}, r"has fun = None: it must be a function"),
        ({"type": "ineq", "func": slope}, r"has the key 'func': the keys are"),
        (linear([[1, 2, 3]], 0, 1), r"A of shape \(1, 3\): its rows have 2 coefficients"),
        (linear([[1, np.nan]], 0, 1), r"A with nan: it must be finite"),
        (linear([[1, 1]], 1, 0), r"lb must not be larger than ub"),
        (linear([[1, 1]], np.nan, 0), r"lb must not be larger than ub"),
        (linear([[1, 1]], [0, 0, 0], 1), r"lb = \[0, 0, 0\]: there are 1 functions"),
    ],
)
def test_wrong_constraints_are_refused(constraints: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        cbo.minimize(slope, BOX, constraints=constraints, seed=1)


def test_a_vectorised_constraint_must_return_a_row_for_each() -> None:
    def rows(x: Any) -> Any:
        return x.sum(axis=1)

    with pytest.raises(ValueError, match=r"returned the shape \(1, 2, 1\)"):
        wrong = nonlinear(lambda x: np.zeros((1, 2, 1)), 0, 1)
        cbo.minimize(rows, BOX, vectorized=True, constraints=wrong, seed=1)
    for tolerance in (-1, np.nan, "tight"):
        with pytest.raises(ValueError, match="equality_tolerance = .*zero or a positive"):
            cbo.minimize(slope, BOX, constraints=DISC, equality_tolerance=tolerance, seed=1)  # type: ignore[arg-type]


def test_scipy_is_not_imported() -> None:
    import subprocess

    code = (
        "import sys, cbo; cbo.minimize(lambda x: x[0], [(-1, 1)], constraints={'type': 'ineq', 'fun': lambda x: x[0]},"
        " max_evaluations=50, seed=1); assert not any(name.split('.')[0] == 'scipy' for name in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_scipys_own_classes() -> None:
    optimize = pytest.importorskip("scipy.optimize")
    sparse = pytest.importorskip("scipy.sparse")
    constraints = [
        optimize.LinearConstraint([[1, -2]], -1, -1),
        optimize.NonlinearConstraint(lambda x: x[0] ** 2 / 4 + x[1] ** 2, -np.inf, 1),
    ]

    def fun(x: Any) -> float:
        return float((x[0] - 2) ** 2 + (x[1] - 1) ** 2)

    result = cbo.minimize(fun, [(-5, 5)] * 2, constraints=constraints, seed=1)
    reference = optimize.minimize(fun, [0, 0], method="SLSQP", constraints=constraints)
    assert result.feasible and np.allclose(result.x, reference.x, atol=1e-4)
    thin = optimize.LinearConstraint(sparse.csr_matrix([[1.0, -2.0]]), -1, -1)
    assert cbo.minimize(fun, [(-5, 5)] * 2, constraints=[thin, constraints[1]], seed=1).feasible
    dropped_in = optimize.minimize(
        fun,
        [0, 0],
        method=cbo.scipy.method,
        bounds=optimize.Bounds(-5, 5),
        constraints=constraints,
        options={"seed": 1},
    )
    assert dropped_in.feasible and np.allclose(dropped_in.x, reference.x, atol=1e-4)
