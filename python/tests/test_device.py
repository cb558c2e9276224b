"""``device=``: what is refused where there is no GPU, or where it would mean nothing; and formulas."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import cbo
from cbo import _lib

BOX = [(-5.0, 5.0)] * 3


def rows(x: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(np.sum(x**2, axis=1))


def no_gpu() -> bool:
    try:
        _lib.check_device("cuda:0")
    except ValueError:
        return True
    return False


def test_a_gpu_that_is_not_there_is_said_in_a_sentence() -> None:
    device = "cuda" if no_gpu() else "cuda:99"
    for run in (
        lambda: cbo.minimize(rows, BOX, vectorized=True, device=device),
        lambda: cbo.minimize(cbo.problems.rastrigin(3), device=device),
        lambda: cbo.minimize(cbo.Formula("sum(x^2)"), BOX, device=device),
        lambda: cbo.Optimizer(BOX, device=device),
    ):
        with pytest.raises(ValueError, match=rf"^device = '{device}': .*; use device='cpu'$"):
            run()


@pytest.mark.parametrize(
    ("arguments", "kind", "text"),
    [
        ({"device": "gpu"}, ValueError, "device = 'gpu': must be 'cpu', 'cuda' or 'cuda:N'"),
        ({"device": "cuda:x"}, ValueError, "device = 'cuda:x': must be"),
        ({"device": 0}, TypeError, "device = 0: must be a text"),
        ({"device": "cuda", "workers": 2}, ValueError, "leave workers, timeout and retries out"),
        ({"device": "cuda", "vectorized": False}, ValueError, "give vectorized=True"),
        ({"device": "cuda", "constraints": {"type": "ineq", "fun": sum}}, ValueError, "constraints are not there yet"),
        ({"like": "torch"}, ValueError, "like = 'torch': only with device='cuda'"),
        ({"device": "cpu", "like": "jax"}, ValueError, "like = 'jax': only with device='cuda'"),
        ({"device": "cuda", "local": True}, ValueError, "local = True: .*device, which means method='cbo'"),
    ],
)
def test_what_cannot_be(arguments: dict[str, Any], kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=text):
        cbo.minimize(rows, BOX, **{"vectorized": True, **arguments})


def test_optimizers_refuse_the_same() -> None:
    with pytest.raises(TypeError, match="device = 1: must be a text"):
        cbo.Optimizer(BOX, device=1)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="constraints are not there yet"):
        cbo.Optimizer(BOX, device="cuda", constraints=1)
    with pytest.raises(ValueError, match="only with device='cuda'"):
        cbo.Optimizer(BOX, like="torch")


def test_experiments_have_no_device() -> None:
    with pytest.raises(TypeError, match="unknown keyword 'device'"):
        cbo.success_rate(cbo.problems.sphere(2), device="cuda")  # type: ignore[call-arg]


def test_the_processor_may_be_named() -> None:
    here = cbo.minimize(rows, BOX, vectorized=True, seed=1)
    named = cbo.minimize(rows, BOX, vectorized=True, seed=1, device="cpu")
    assert named.method == "auto" and (named.x == here.x).all() and named.nfev == here.nfev


def test_a_formula_is_minimised_like_a_function() -> None:
    formula = cbo.Formula("sum(x^2 + a*(1 - cos(2*pi*x)))", a=2.5)
    assert (formula.dim, formula.text, formula.constants) == (None, "sum(x^2 + a*(1 - cos(2*pi*x)))", {"a": 2.5})
    result = cbo.minimize(formula, BOX, seed=1)
    assert result.method == "auto" and result.fun < 1e-6
    swarm = cbo.minimize(formula, BOX, seed=1, particles=100, steps=50)
    same = cbo.minimize(formula, BOX, seed=1, particles=100, steps=50, workers=list_of)
    assert (swarm.x == same.x).all() and swarm.fun == same.fun


def list_of(fun: Any, points: Any) -> list[Any]:
    return [fun(x) for x in points]


def test_a_formula_is_called_with_points_and_rows() -> None:
    formula = cbo.Formula("sum(i, 1, d-1, 100*(x[i+1] - x[i]^2)^2 + (1 - x[i])^2)")
    assert formula([1.0, 3.0]) == 400.0 and isinstance(formula([1.0, 3.0]), float)
    np.testing.assert_array_equal(formula(np.array([[1.0, 1.0, 1.0], [0.0, 0.0, 0.0]])), [0.0, 2.0])
    assert formula(np.zeros((0, 2))).shape == (0,)
    again = pickle.loads(pickle.dumps(cbo.Formula("a*sum(x)", 2, a=3)))
    assert again([1.0, 2.0]) == 9.0 and again.dim == 2 and repr(again) == "<cbo formula: a*sum(x) in 2 dimensions>"


def test_a_wrong_formula_is_pointed_at() -> None:
    with pytest.raises(ValueError) as error:
        cbo.Formula("sum(x^2) + con(x[1])", 2)
    assert str(error.value) == (
        "formula, column 12: unknown function `con`; did you mean `cos`?\n  sum(x^2) + con(x[1])\n             ^"
    )
    with pytest.raises(ValueError, match=r"column 14: x\[i \+ 1\] is x\[4\]"):
        cbo.minimize(cbo.Formula("sum(i, 1, d, x[i+1]^2)"), BOX)
    with pytest.raises(ValueError, match="the formula has 2 coordinates, and the search 3"):
        cbo.minimize(cbo.Formula("sum(x)", 2), BOX)
    with pytest.raises(ValueError, match="x has 3 coordinates, and the formula 2"):
        cbo.Formula("sum(x)", 2)([1.0, 2.0, 3.0])
    with pytest.raises(TypeError, match=r"x has the shape \(1, 1, 1\)"):
        cbo.Formula("sum(x)")([[[1.0]]])
    with pytest.raises(TypeError, match="a = 'b': must be a number"):
        cbo.Formula("a*sum(x)", a="b")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="dim = 0"):
        cbo.Formula("sum(x)", 0)
