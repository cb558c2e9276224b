"""`cbo.minimize`: what it finds, and that nothing but the seed decides it."""

import copy
import pickle
from fractions import Fraction
from types import SimpleNamespace

import cbo
import numpy as np
import pytest

BOX = [(-5.12, 5.12)] * 3


def rastrigin(x):
    return float(np.sum(x**2 + 2.5 * (1 - np.cos(2 * np.pi * x))))


def rastrigin_rows(x):
    return np.sum(x**2 + 2.5 * (1 - np.cos(2 * np.pi * x)), axis=1)


def same(a, b):
    """Whether two results are those of the same run, bit for bit."""
    arrays = ("x", "consensus", "population", "population_energies")
    numbers = ("fun", "nfev", "nit", "stop", "alpha", "seed", "failed_evaluations")
    return all(np.array_equal(a[key], b[key], equal_nan=True) for key in arrays) and all(
        a[k] == b[k] for k in numbers
    )


def test_gradients_of_built_in_problems_take_no_evaluations():
    found = cbo.minimize(cbo.problems.rastrigin(3), BOX, method="memory:gradient=0.01", particles=10, steps=3)
    assert found.nfev == 10 * 4 + 1


def test_functions_have_gradients_or_differences():
    def slope(x):
        return 2 * x + 5 * np.pi * np.sin(2 * np.pi * x)

    run = {"method": "memory:gradient=0.01", "particles": 10, "steps": 3, "seed": 5}
    points = cbo.minimize(rastrigin, BOX, jac=slope, **run)
    rows = cbo.minimize(rastrigin_rows, BOX, jac=slope, vectorized=True, **run)
    differences = cbo.minimize(rastrigin_rows, BOX, vectorized=True, **run)
    shifted = cbo.minimize(lambda x, a: rastrigin(x) + a, BOX, jac=lambda x, a: slope(x) + 0 * a, args=(0.0,), **run)
    assert points.nfev == rows.nfev == 10 * 4 + 1
    assert differences.nfev == 10 * 4 * 7 + 1
    assert same(points, rows) and same(points, shifted)
    built_in = cbo.minimize(cbo.problems.rastrigin(3), BOX, **run)
    for other in (differences, built_in):
        np.testing.assert_allclose(points.population, other.population, atol=1e-5)
    seen = []
    cbo.minimize(rastrigin, BOX, jac=slope, callback=lambda step: seen.append(step.nit), **run)
    assert seen == [0, 1, 2, 3]
    single = cbo.minimize(rastrigin, BOX, jac=slope, precision="f32", **run)
    assert np.array_equal(single.x, single.x.astype(np.float32))


def test_gradients_that_cannot_be_used():
    run = {"method": "memory:gradient=0.01", "particles": 10, "steps": 3}
    with pytest.raises(ValueError, match="jac: only method memory with a gradient"):
        cbo.minimize(rastrigin, BOX, jac=lambda x: x)
    with pytest.raises(ValueError, match="jac: built-in problems have gradients"):
        cbo.minimize(cbo.problems.rastrigin(3), BOX, jac=lambda x: x, **run)
    with pytest.raises(TypeError, match="jac = 3"):
        cbo.minimize(rastrigin, BOX, jac=3, **run)
    with pytest.raises(ValueError, match=r"jac must return an array of shape \(10, 3\), not \[10, 2\]"):
        cbo.minimize(rastrigin, BOX, jac=lambda x: x[:2], **run)

    def raises(x):
        raise ZeroDivisionError("no slope")

    with pytest.raises(ZeroDivisionError, match="no slope") as caught:
        cbo.minimize(rastrigin, BOX, jac=raises, **run)
    assert caught.value.result.message == "An exception ended the run."
    with pytest.raises(ValueError, match="ask and tell is told no gradients"):
        inside = {"type": "ineq", "fun": lambda x: 1 - x[0]}
        cbo.minimize(rastrigin, BOX, constraints=inside, **run)


@pytest.mark.parametrize(("method", "batch"), [("cbo", None), ("auto", 1), ("auto", 9)])
def test_three_kinds_of_objective_find_the_same(method, batch):
    problem = cbo.problems.rastrigin(3)
    built_in = cbo.minimize(problem, BOX, seed=3, method=method, batch=batch)
    rows = cbo.minimize(lambda x: problem(x), BOX, seed=3, method=method, batch=batch, vectorized=True)
    points = cbo.minimize(lambda x: problem(x), BOX, seed=3, method=method, batch=batch)
    assert built_in.fun < 1e-10
    assert same(built_in, rows) and same(rows, points)
    for key, column in built_in.history.items():
        assert np.array_equal(column, rows.history[key], equal_nan=True), key


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"batch": 20},
        {"batch": 20, "update": "partial"},
        {"reduction": "on"},
        {"method": "memory"},
        {"method": "memory:drift=0.4,beta=2"},
        {"method": "jumps:rate=2,size=1"},
        {"method": "adam:beta2=0.9"},
    ],
)
def test_options_mean_the_same_for_all_objectives(options):
    problem = cbo.problems.ackley(4)
    keywords = dict(particles=100, steps=60, seed=9, kick=1e-6, **options)
    built_in = cbo.minimize(problem, problem.bounds, **keywords)
    rows = cbo.minimize(lambda x: problem(x), problem.bounds, vectorized=True, **keywords)
    assert same(built_in, rows)


@pytest.mark.parametrize(
    ("method", "inside"),
    [
        ("mirror", lambda x: (abs(x) <= 5.12).all()),
        ("mirror:map=simplex", lambda x: (x >= 0).all() and abs(x.sum() - 1) < 1e-12),
        ("mirror:map=ball,radius=2", lambda x: np.linalg.norm(x) <= 2),
        ("sphere:radius=3", lambda x: abs(np.linalg.norm(x) - 3) < 1e-12),
        ("hypersurface:surface=torus", lambda x: abs(np.hypot(np.hypot(x[0], x[1]) - 2, x[2]) - 1) < 1e-12),
    ],
)
def test_sets_and_surfaces_are_kept_to(method, inside):
    handling = "reflect" if method == "mirror" else "none"  # the box is where the others start
    result = cbo.minimize(rastrigin, BOX, method=method, bound_handling=handling, steps=50, seed=2)
    assert inside(result.x) and inside(result.consensus)
    assert all(inside(x) for x in result.population)


def test_bounds_contradict_surfaces():
    with pytest.raises(ValueError, match="bounds = 3 pairs: particles of method sphere stay on their surface"):
        cbo.minimize(rastrigin, BOX, method="sphere")


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_threads_and_workers_change_nothing(threads):
    problem = cbo.problems.rastrigin(10)
    keywords = dict(particles=4000, steps=20, seed=5)
    reference = cbo.minimize(problem, threads=1, **keywords)
    assert same(cbo.minimize(problem, threads=threads, **keywords), reference)
    rows = cbo.minimize(lambda x: problem(x), problem.bounds, threads=threads, vectorized=True, **keywords)
    assert same(cbo.minimize(problem, problem.bounds, threads=1, **keywords), rows)


def test_workers_change_nothing():
    here = cbo.minimize(rastrigin, BOX, particles=20, steps=5, seed=5)
    there = cbo.minimize(rastrigin, BOX, particles=20, steps=5, seed=5, workers=map)
    assert same(here, there)


def test_a_seed_is_drawn_and_told():
    first, second = (cbo.minimize(rastrigin, BOX, particles=10, steps=5) for _ in range(2))
    assert first.seed != second.seed
    assert same(cbo.minimize(rastrigin, BOX, particles=10, steps=5, seed=first.seed), first)


@pytest.mark.parametrize("vectorized", [False, True])
def test_evaluations_are_counted_truly(vectorized):
    count = 0

    def fun(x):
        nonlocal count
        count += len(x) if vectorized else 1
        return rastrigin_rows(x) if vectorized else rastrigin(x)

    result = cbo.minimize(fun, BOX, particles=30, max_evaluations=500, vectorized=vectorized, seed=1)
    assert result.nfev == count <= 500
    assert (result.stop, result.status, result.success) == ("evaluations", 1, False)


def test_failed_and_infeasible_points():
    def fun(x):
        values = rastrigin_rows(x)
        values[x[:, 0] < 0] = np.nan
        values[x[:, 1] < -1] = np.inf
        return values

    result = cbo.minimize(fun, BOX, vectorized=True, particles=50, steps=50, seed=1)
    assert result.failed_evaluations > 0 and result.infeasible_evaluations > 0
    assert result.x[0] >= 0 and np.isfinite(result.fun)
    with pytest.raises(RuntimeError, match="step 0, particle .* strict"):
        cbo.minimize(fun, BOX, vectorized=True, particles=50, steps=50, seed=1, strict=True)
    with pytest.raises(RuntimeError, match="none of the 50 points evaluated has a finite energy"):
        cbo.minimize(lambda x: np.nan, BOX, particles=50)


def test_bounds_hold_and_can_be_given_in_many_ways():
    inside = []

    def fun(x):
        inside.append(bool((x >= [-1, 0]).all() and (x <= [0.5, 2]).all()))
        return float(x @ x)

    keywords = dict(particles=20, steps=30, seed=2)
    pairs = cbo.minimize(fun, [(-1, 0.5), (0, 2)], **keywords)
    assert all(inside) and len(inside) > 500
    array = cbo.minimize(fun, np.array([[-1, 0.5], [0, 2]]), **keywords)
    scipy_like = cbo.minimize(fun, SimpleNamespace(lb=[-1, 0], ub=[0.5, 2]), **keywords)
    assert same(pairs, array) and same(array, scipy_like)
    one_for_all = cbo.minimize(fun, SimpleNamespace(lb=0.0, ub=0.5), [0.25, 0.25], **keywords)
    assert one_for_all.x.shape == (2,)
    free = cbo.minimize(lambda x: float((x[0] - 7) ** 2), [(-1, 1)], bound_handling="none", seed=1)
    assert abs(free.x[0] - 7) < 1e-3
    half = cbo.minimize(lambda x: float((x[0] - 7) ** 2), [(0, None)], [1.0], spread=2.0, seed=1)
    assert abs(half.x[0] - 7) < 1e-3


def test_starts():
    seen = []

    def fun(x):
        seen.append(x.copy())
        return rastrigin_rows(x)

    points = np.random.default_rng(0).uniform(-1, 1, (17, 3))
    cbo.minimize(fun, x0=points, vectorized=True, steps=1, seed=0)
    assert np.array_equal(seen[0], points)
    seen.clear()
    cbo.minimize(fun, x0=[1, 2, 3], spread=[0.1, 1e-3, 2], particles=4000, vectorized=True, steps=1, seed=0)
    # Four to five standard errors of mean and standard deviation.
    assert np.all(np.abs(seen[0].mean(axis=0) - [1, 2, 3]) < 5 * np.array([0.1, 1e-3, 2]) / 4000**0.5)
    assert np.allclose(seen[0].std(axis=0), [0.1, 1e-3, 2], rtol=5 / 8000**0.5)
    seen.clear()
    cbo.minimize(fun, [(0, 4)] * 3, [0.5, 2, 2], particles=4000, vectorized=True, steps=1, seed=0)
    assert seen[0].min() >= 0 and abs(seen[0][:, 1].std() - 1) < 0.1
    cbo.minimize(fun, BOX, init="normal:1,0", vectorized=True, steps=1, seed=0)
    assert (seen[-2] == 1).all()


def test_arguments_reach_the_function():
    def fun(x, shift, scale):
        return scale * float(np.sum((x - shift) ** 2))

    result = cbo.minimize(fun, BOX, args=(2.0, 3.0), seed=1)
    assert np.allclose(result.x, 2, atol=1e-3)
    assert np.allclose(
        cbo.minimize(lambda x, a: (x[0] - a) ** 2, [(-3, 3)], args=1.5, seed=1).x, 1.5, atol=1e-3
    )


@pytest.mark.parametrize(
    "value", [1, True, np.float32(1.0), np.int8(1), np.array(1.0), np.array([1]), Fraction(1, 1)]
)
def test_numbers_of_all_kinds_are_values(value):
    assert cbo.minimize(lambda x: value, BOX, particles=5, steps=2).fun == 1.0


def test_single_precision():
    dtypes = set()

    def fun(x):
        dtypes.add(x.dtype)
        return rastrigin_rows(x)

    result = cbo.minimize(fun, BOX, vectorized=True, precision="f32", seed=1)
    assert dtypes == {np.dtype("float32")} and result.population.dtype == np.float32
    assert result.fun < 1e-6


def test_callback():
    steps = []
    result = cbo.minimize(rastrigin, BOX, particles=10, steps=50, seed=1, callback=lambda r: steps.append(r))
    assert [r.nit for r in steps] == list(range(51)) == [r["nit"] for r in steps]
    assert all(a.fun >= b.fun for a, b in zip(steps, steps[1:], strict=False))
    assert steps[-1].population.shape == (10, 3) and steps[0].nfev == 10
    assert np.array_equal(steps[-1].population, result.population)
    values = [rastrigin(x) for x in steps[7].population]
    assert np.allclose(steps[7].population_energies, values)


@pytest.mark.parametrize("fun", [rastrigin, cbo.problems.rastrigin(3)])
def test_callback_stops(fun):
    def stop(r):
        if r.nit == 7:
            raise StopIteration

    by_exception = cbo.minimize(fun, BOX, seed=1, callback=stop)
    by_answer = cbo.minimize(fun, BOX, seed=1, callback=lambda r: r.nit == 7)
    assert (by_exception.nit, by_exception.stop, by_exception.status) == (7, "observer", 99)
    assert same(by_exception, by_answer)
    with pytest.raises(ZeroDivisionError):
        cbo.minimize(fun, BOX, seed=1, callback=lambda r: 1 / 0)


def test_stops():
    problem = cbo.problems.sphere(2)
    stops = {
        "target": dict(target=1e-3),
        "diameter": dict(diameter=0.1),
        "stagnation": dict(stagnation=1, steps=1000, sigma=0.0),
        "steps": dict(steps=3),
        "seconds": dict(max_seconds=1e-9),
    }
    for stop, options in stops.items():
        result = cbo.minimize(problem, seed=1, **options)
        assert result.stop == stop
        assert result.success == (stop in ("target", "diameter", "stagnation"))
        assert result.success == (result.status == 0)
    assert cbo.minimize(problem, seed=1, time=1.0, dt=0.25).nit == 4


def test_result_is_a_dictionary_that_pickles_and_copies():
    result = cbo.minimize(rastrigin, BOX, particles=10, steps=5, seed=1)
    assert result["x"] is result.x and set(result.keys()) <= set(dir(result))
    for again in (
        pickle.loads(pickle.dumps(result)),
        copy.copy(result),
        copy.deepcopy(result),
        result.copy(),
    ):
        assert type(again) is cbo.OptimizeResult and same(again, result)
    text = repr(result)
    assert "message: The 5 steps allowed are taken." in text and "population: array of shape (10, 3)" in text
    with pytest.raises(AttributeError, match="no 'xx'"):
        result.xx  # noqa: B018
    history = result.history
    assert list(history["step"]) == [0, 1, 2, 3, 4, 5] and list(history["evaluations"]) == [
        10,
        20,
        30,
        40,
        50,
        60,
    ]
    assert history["consensus"].shape == (6, 3) and history["best"][-1] >= result.fun


def test_lambda_by_both_names():
    a = cbo.minimize(rastrigin, BOX, particles=10, steps=5, seed=1, lambda_=0.5)
    b = cbo.minimize(rastrigin, BOX, particles=10, steps=5, seed=1, **{"lambda": 0.5})
    c = cbo.minimize(rastrigin, BOX, particles=10, steps=5, seed=1)
    assert same(a, b) and not same(a, c)


def test_texts_of_settings():
    keywords = dict(particles=50, steps=20, seed=1)
    ess = cbo.minimize(rastrigin, BOX, alpha="ess:0.3", **keywords)
    assert np.isfinite(ess.alpha) and np.allclose(ess.history["effective_sample_size"], 15, rtol=1e-3)
    assert cbo.minimize(rastrigin, BOX, alpha=float("inf"), **keywords).alpha == np.inf
    cooled = cbo.minimize(rastrigin, BOX, sigma="geometric:1,0.5,0.25", **keywords)
    assert list(cooled.history["sigma"][:4]) == [1, 0.5, 0.25, 0.25]


def test_progress(capfd):
    cbo.minimize(rastrigin, BOX, particles=10, steps=5, progress=True)
    assert capfd.readouterr().err == ""  # not a terminal
    slow = dict(particles=100, max_seconds=0.4, progress="force")
    for fun in (rastrigin, cbo.problems.rastrigin(3)):
        cbo.minimize(fun, BOX, **slow)
        shown = capfd.readouterr()
        assert "best" in shown.err and shown.err.endswith("\r") and shown.out == ""
