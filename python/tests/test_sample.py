"""Several minimisers, and draws from laws."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import cbo

BOX = [(-10, 10)] * 2


def energy(x: Any) -> Any:
    """Of a normal law with mean (1, -2) and standard deviations 2 and 1/2."""
    return 0.5 * np.sum(((x - [1.0, -2.0]) / [2.0, 0.5]) ** 2, axis=-1)


def assert_right(law: cbo.SampleResult) -> None:
    assert np.all(np.abs(law.mean - [1, -2]) < 5 * law.mean_errors)
    assert np.all(np.abs(law.covariance - np.diag([4, 0.25])) < 5 * law.covariance_errors)
    assert abs(law.log_normaliser - np.log(2 * np.pi)) < 5 * law.log_normaliser_error


def test_draws_have_the_law() -> None:
    law = cbo.sample(energy, BOX, seed=1, vectorized=True)
    assert_right(law)
    assert law.samples.shape == law.points.shape == (4000, 2) and law.weights.shape == law.energies.shape == (4000,)
    assert law.weights.sum() == pytest.approx(1) and 2000 < law.effective_sample_size <= 4000
    assert law.effective_sample_size == pytest.approx(1 / np.sum(law.weights**2))
    assert np.allclose(law.weights @ law.points, law.mean)
    assert law.run.method == "sampling:law=true" and law.run.minimisers == []
    inside = np.isfinite(law.energies).sum()
    assert law.nfev == law.run.nfev + inside and law.failed_evaluations == 0
    assert {tuple(row) for row in law.samples} <= {tuple(row) for row in law.points}


@pytest.mark.parametrize("precision", ["f32", "f64"])
def test_however_the_function_is_evaluated(precision: Any) -> None:
    settings: Any = {"seed": 3, "particles": 100, "steps": 30, "draws": 300, "precision": precision}
    together = cbo.sample(energy, BOX, vectorized=True, **settings)
    one_by_one = cbo.sample(energy, BOX, **settings)
    with ThreadPoolExecutor(2) as pool:
        elsewhere = cbo.sample(energy, BOX, workers=pool, **settings)
    assert (together.samples == one_by_one.samples).all() and (together.samples == elsewhere.samples).all()
    assert together.samples.dtype == {"f32": np.float32, "f64": np.float64}[precision]
    assert_right(cbo.sample(lambda x, shift: energy(x - shift), BOX, args=(0.0,), seed=1))


def test_built_in_problems_and_bounds() -> None:
    law = cbo.sample(cbo.problems.sphere(1), bounds=[(0, 4)], seed=2)
    # Half of a normal law of variance 1/2.
    assert abs(law.mean[0] - 1 / np.sqrt(np.pi)) < 5 * law.mean_errors[0]
    assert law.samples.min() >= 0 and np.isinf(law.energies[law.points[:, 0] < 0]).all()


@pytest.mark.parametrize(
    "settings, message",
    [
        ({"draws": 1}, "draws = 1: must be a whole number, 2 or more"),
        ({"draws": 2.5}, "draws = 2.5: must be a whole number"),
        ({"method": "cbo"}, "method = 'cbo': only the method sampling draws from a law"),
        ({"batch": 100}, "batch = 100: to draw from a law takes the energies of all particles"),
        ({"particles": 2}, "particles = 2: to draw from a law in 2 dimensions"),
        ({"sigma": 1.0}, "sigma = 1.0: is not a setting of method sampling"),
    ],
)
def test_wrong_settings(settings: Any, message: str) -> None:
    with pytest.raises(ValueError, match="^" + message):
        cbo.sample(energy, BOX, **settings)


def test_a_swarm_without_extent_has_no_law() -> None:
    with pytest.raises(RuntimeError, match="do not vary in all directions"):
        cbo.sample(energy, x0=np.ones((20, 2)))


def himmelblau(x: Any) -> Any:
    return (x[..., 0] ** 2 + x[..., 1] - 11) ** 2 + (x[..., 0] + x[..., 1] ** 2 - 7) ** 2


def test_a_polarised_swarm_finds_all_minimisers() -> None:
    result = cbo.minimize(himmelblau, [(-5, 5)] * 2, vectorized=True, method="polarised", seed=4)
    assert len(result.minimisers) == 4 and result.stop == "diameter"
    best = result.minimisers[0]
    assert best.fun == best["fun"] == himmelblau(best.x) and best.fun < 1e-9
    assert [found.fun for found in result.minimisers] == sorted(found.fun for found in result.minimisers)
    assert sum(found.particles for found in result.minimisers) > 390
    assert best.fraction == best.particles / 400
    optimizer = cbo.Optimizer([(-5, 5)] * 2, method="polarised", seed=4)
    while not optimizer.done:
        x = optimizer.ask()
        optimizer.tell(x, himmelblau(x))
    assert [found.fun for found in optimizer.result().minimisers] == [found.fun for found in result.minimisers]
    assert cbo.minimize(himmelblau, [(-5, 5)] * 2, vectorized=True, seed=4).minimisers == []
