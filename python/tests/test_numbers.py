"""Numbers of any kind are taken for what they are, or refused in words: masked, exact, huge, seeds of NumPy."""

from decimal import Decimal
from fractions import Fraction

import cbo
import numpy as np
import pytest

BOX = [(-2, 2)] * 2
HUGE = 10**400
LONGER = 10**5000  # which Python does not even write down


def sphere(x):
    return float(x @ x)


def run(fun, **options):
    return cbo.minimize(fun, BOX, seed=1, max_evaluations=60, **options)


class Measured:
    """A number with a unit, say."""

    def __init__(self, value):
        self.value = value

    def __float__(self):
        return self.value


@pytest.mark.parametrize("kind", [Decimal, Fraction, Measured, lambda v: np.array(Measured(v), dtype=object)])
@pytest.mark.parametrize("workers", [1, map])
def test_whatever_is_a_real_number_may_be_returned(kind, workers):
    result = run(lambda x: kind(sphere(x)), workers=workers)
    assert np.array_equal(result.x, run(sphere, workers=workers).x)
    together = {"vectorized": True, "workers": workers, "batch": 5}
    result = run(lambda x: [kind(sphere(row)) for row in x], **together)
    assert np.array_equal(result.x, run(lambda x: np.array([sphere(row) for row in x]), **together).x)


@pytest.mark.parametrize("workers", [1, map])
@pytest.mark.parametrize("wrong", ["1.5", np.complex128(1), [Measured("a")], [Decimal(1), "2"]])
def test_what_is_none_is_refused(wrong, workers):
    with pytest.raises((TypeError, ValueError), match="^fun returned "):
        run(lambda x: wrong, workers=workers)


@pytest.mark.parametrize("workers", [1, map])
@pytest.mark.parametrize(
    "huge", [HUGE, Fraction(HUGE, 3), LONGER, [HUGE]], ids=["int", "fraction", "longer", "list"]
)
def test_a_value_too_large_for_a_float(huge, workers):
    with pytest.raises(ValueError, match="^fun returned .*too large for a float.*infinity"):
        run(lambda x: huge, workers=workers)


@pytest.mark.parametrize("workers", [1, map])
def test_what_is_masked_is_a_failed_evaluation(workers):
    """The number below the mask is the best by far, and must not be seen."""

    def some(x):
        f = np.sum(x**2, axis=1)
        bad = x[:, 0] > 0.5
        return np.ma.array(np.where(bad, -1e9, f), mask=bad)

    def one(x):
        return np.ma.masked if x[0] > 0.5 else sphere(x)

    for result in (run(some, vectorized=True, workers=workers, batch=10), run(one, workers=workers)):
        assert result.fun >= 0 and result.failed_evaluations > 0
    plain = run(lambda x: np.ma.array(np.sum(x**2, axis=1)), vectorized=True, workers=workers)
    assert plain.failed_evaluations == 0


@pytest.mark.parametrize("name", ["x0", "spread", "bounds", "freeze"])
def test_masked_and_huge_arguments(name):
    given = {"bounds": BOX, "x0": [0.5, 0.5]}
    masked = np.ma.array(BOX if name == "bounds" else [1.0, 1.0])
    huge = [(0, HUGE)] * 2 if name == "bounds" else [HUGE, 1]
    cbo.minimize(
        sphere, **{**given, name: masked}, max_evaluations=50, **({"particles": 5} if name == "freeze" else {})
    )
    masked[0] = np.ma.masked
    with pytest.raises(ValueError, match=f"^{name} has masked entries"):
        cbo.minimize(sphere, **{**given, name: masked})
    with pytest.raises(ValueError, match=f"^{name} = .*too large for a float"):
        cbo.minimize(sphere, **{**given, name: huge})


@pytest.mark.parametrize(
    "name", ["seed", "max_evaluations", "steps", "batch", "dt", "sigma", "target", "max_seconds"]
)
@pytest.mark.parametrize("huge", [HUGE, LONGER], ids=["huge", "longer"])
def test_settings_too_large_for_a_number(name, huge):
    with pytest.raises(ValueError, match=f"^{name} = .*too large"):
        cbo.minimize(sphere, BOX, **{name: huge})


def test_too_many_particles():
    with pytest.raises((ValueError, MemoryError), match="^particles = "):
        cbo.minimize(sphere, BOX, particles=HUGE)


def test_bounds_that_do_not_say_how_many_coordinates_there_are():
    scipy = pytest.importorskip("scipy.optimize")
    with pytest.raises(
        ValueError, match=r"one pair for all coordinates .* give x0, or pairs: \[\(0, 1\)\] \* d"
    ):
        cbo.minimize(sphere, scipy.Bounds(0, 1))
    assert cbo.minimize(sphere, scipy.Bounds(0, 1), x0=[0.5] * 3, max_evaluations=50).x.shape == (3,)
    assert cbo.minimize(cbo.problems.sphere(3), scipy.Bounds(0, 1), max_evaluations=50).x.shape == (3,)
    assert cbo.minimize(sphere, scipy.Bounds([0, 0], 1), max_evaluations=50).x.shape == (2,)


def test_seeds_of_numpy():
    def found(seed):
        return cbo.minimize(sphere, BOX, particles=5, steps=2, seed=seed)

    first, again = np.random.default_rng(3), np.random.default_rng(3)
    one, two = found(first), found(first)
    assert np.array_equal(one.x, found(again).x) and np.array_equal(two.x, found(again).x)
    assert one.seed != two.seed and isinstance(one.seed, int)
    assert np.array_equal(found(one.seed).x, one.x)
    sequence = np.random.SeedSequence(3)
    assert found(sequence).seed == found(sequence).seed == found(np.random.SeedSequence(3)).seed
    assert len({found(child).seed for child in sequence.spawn(5)}) == 5
    optimizer = cbo.Optimizer(BOX, particles=5, steps=2, seed=np.random.SeedSequence(3))
    assert optimizer.result().seed == found(sequence).seed
    rate = cbo.success_rate(cbo.problems.sphere(2), particles=5, steps=2, runs=2, seed=np.random.default_rng(3))
    assert rate.seed == one.seed
    problem = cbo.problems.sphere(2, shift="random", seed=np.random.SeedSequence(3))
    assert np.array_equal(
        problem.minimisers, cbo.problems.sphere(2, shift="random", seed=found(sequence).seed).minimisers
    )
    with pytest.raises(TypeError, match="^seed = "):
        found("3")
