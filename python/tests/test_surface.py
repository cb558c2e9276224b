"""Surfaces of the caller: where a Python function is zero."""

import cbo
import numpy as np
import pytest

# The point of the ellipse x^2 + 4 y^2 = 4 that is nearest to (1, 3), by Lagrange's multiplier.
TO = np.array([1.0, 3.0])
NEAREST = np.array([0.64818, 0.94603])


def ellipse(x):
    return x[0] ** 2 + 4 * x[1] ** 2 - 4


def distance(x):
    return np.sum((x - TO) ** 2, axis=-1)


START = dict(x0=[0.0, 0.0], spread=2.0, particles=100, steps=200, seed=3)


@pytest.mark.parametrize("precision", ["f64", "f32"])
@pytest.mark.parametrize("vectorized", [False, True])
def test_particles_keep_to_it(vectorized, precision):
    result = cbo.minimize(distance, surface=ellipse, vectorized=vectorized, precision=precision, **START)
    accuracy = 1e-12 if precision == "f64" else 1e-5
    assert result.method == "hypersurface:surface=level"
    assert abs(ellipse(result.x)) < accuracy and abs(ellipse(result.consensus)) < accuracy
    assert all(abs(ellipse(x)) < accuracy for x in result.population)
    assert np.allclose(result.x, NEAREST, atol=0.01)


def test_the_nearest_point_is_what_the_test_says():
    angle = np.linspace(0, 2 * np.pi, 1_000_001)
    points = np.stack([2 * np.cos(angle), np.sin(angle)], axis=-1)
    assert np.allclose(points[np.argmin(distance(points))], NEAREST, atol=1e-5)


@pytest.mark.parametrize("threads", [1, 2])
def test_it_is_the_same_for_built_in_functions_workers_and_ask_and_tell(threads):
    sphere = cbo.problems.sphere(2)
    options = dict(START, steps=20, surface=ellipse, threads=threads)
    built_in = cbo.minimize(sphere, **options)
    rows = cbo.minimize(lambda x: sphere(x), vectorized=True, **options)
    elsewhere = cbo.minimize(lambda x: sphere(x), workers=map, **options)
    optimizer = cbo.Optimizer(**options)
    while not optimizer.done:
        x = optimizer.ask()
        optimizer.tell(x, sphere(x))
    for other in (rows, elsewhere, optimizer.result()):
        assert np.array_equal(built_in.population, other.population)


def raises_at(call):
    calls = iter(range(call))

    def function(x):
        if next(calls, None) is None:
            raise ZeroDivisionError("in the surface")
        return ellipse(x)

    return function


@pytest.mark.parametrize("call", [0, 3000, 20_000])
@pytest.mark.parametrize("kind", ["point", "rows", "built-in", "workers"])
def test_what_it_raises_is_raised(kind, call):
    fun = cbo.problems.sphere(2) if kind == "built-in" else distance
    more = {"rows": dict(vectorized=True), "workers": dict(workers=map)}.get(kind, {})
    with pytest.raises(ZeroDivisionError, match="in the surface") as raised:
        cbo.minimize(fun, surface=raises_at(call), **(START | dict(steps=100_000)), **more)
    if call == 20_000:
        assert raised.value.result.nfev > 0


def test_what_it_raises_is_raised_by_ask_and_tell():
    with pytest.raises(ZeroDivisionError):
        cbo.Optimizer(surface=raises_at(0), **START)
    optimizer = cbo.Optimizer(surface=raises_at(5000), **START)
    with pytest.raises(ZeroDivisionError):
        while True:
            x = optimizer.ask()
            optimizer.tell(x, distance(x))


def test_many_runs():
    options = dict(surface=ellipse, x0=[0.0, 0.0], spread=2.0, particles=40, steps=20)
    assert cbo.success_rate(cbo.problems.sphere(2), runs=4, seed=1, **options).runs == 4
    with pytest.raises(ZeroDivisionError):
        cbo.success_rate(cbo.problems.sphere(2), runs=4, seed=1, **(options | dict(surface=raises_at(100))))


@pytest.mark.parametrize(
    ("surface", "error", "message"),
    [
        ("ellipse", TypeError, "surface = 'ellipse': must be a function of a point"),
        (lambda _: "near", TypeError, r"surface\(x\) = 'near': must be a number"),
        (lambda _: 1.0, ValueError, "init = .*: no initial position leads to the surface; begin nearer to it"),
    ],
)
def test_no_surface(surface, error, message):
    with pytest.raises(error, match=message):
        cbo.minimize(distance, surface=surface, **START)


def test_other_methods_have_none():
    with pytest.raises(ValueError, match="surface = a function: is for method hypersurface:surface=level, not cbo"):
        cbo.minimize(distance, surface=ellipse, method="cbo", **START)
    with pytest.raises(ValueError, match="surface = level: the function is missing; give it as the setting surface, in Rust or Python"):
        cbo.minimize(distance, method="hypersurface:surface=level", **START)


def test_it_cannot_be_saved(tmp_path):
    optimizer = cbo.Optimizer(surface=ellipse, **START)
    with pytest.raises(TypeError, match="surface is a function, which a file cannot hold"):
        optimizer.save(tmp_path / "run")
    assert not list(tmp_path.iterdir())
