"""A program that uses the whole interface; mypy --strict must find nothing in it, and it must run."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

import cbo
import numpy as np
from numpy.typing import NDArray


def sphere(x: NDArray[np.float64]) -> float:
    return float(x @ x)


def rows(x: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(np.sum(x**2, axis=1))


def watch(result: cbo.OptimizeResult) -> bool:
    return result.fun < 1e-12


def main() -> None:
    box = [(-1.0, 1.0)] * 2
    result = cbo.minimize(sphere, box, seed=1, alpha="ess:0.3", sigma=2.0, lambda_=1.0, callback=watch)
    best: float = result.fun
    point: NDArray[np.float64] = result.x
    evaluations: int = result.nfev
    message: str = result.message
    print(best, point, evaluations, message, result.history["best"][-1])

    cbo.minimize(
        rows, box, vectorized=True, precision="f32", batch=10, particles=20, steps=5, max_evaluations=1000
    )
    own = cbo.minimize(sphere, box, x0=[0.5, 0.5], method="auto", local=True, batch=4, max_evaluations=50)
    names: list[str] = [phase.name for phase in own.phases]
    errors: NDArray[np.float64] | None = own.standard_errors
    print(names, own.explanation, own.hess_inv, errors, own.method)

    problem = cbo.problems.rastrigin(2, shift=0.5, rotate=3)
    cbo.minimize(problem, x0=[0.0, 0.0], spread=1.0, diffusion="isotropic", steps=5, target=None)
    value: float = problem([0.5, 0.5])
    print(value, problem.minimum, problem.minimisers.shape)

    optimizer = cbo.Optimizer(box, particles=10, steps=3, seed=1)
    while not optimizer.done:
        x = optimizer.ask()
        optimizer.tell(x, rows(x))
    with tempfile.TemporaryDirectory() as folder:
        optimizer.save(Path(folder) / "run.cbo")
        again = cbo.Optimizer.load(Path(folder) / "run.cbo")
    print(again.step, again.result().success)

    rate: cbo.SuccessRate = cbo.success_rate(cbo.problems.sphere(2), runs=3, steps=20, particles=20)
    print(rate.rate, rate.low, rate.high, rate.median_nfev)

    def solver(
        fun: Callable[[NDArray[np.float64]], float], bounds: list[tuple[float, float]], budget: int, seed: int
    ) -> None:
        rng = np.random.default_rng(seed)
        for _ in range(budget):
            fun(np.array([rng.uniform(low, high) for low, high in bounds]))

    found: cbo.Comparison = cbo.compare(
        {"bowl": sphere},
        ["auto", "pso:particles=10", solver],
        box,
        runs=2,
        max_evaluations=100,
        minimum=0.0,
        judge="best",
    )
    curve: cbo.Curve = found.curves["bowl", "solver"]
    print(found, found.table[0]["rate"], found.tests, curve.reached[-1])
    answer: cbo.Theory = cbo.theory(cbo.problems.rastrigin(2), tau=0.5)
    print(answer.covered, answer.v0)


if __name__ == "__main__":
    main()
