"""Problems, success rates, theory and pictures."""

import pickle

import cbo
import numpy as np
import pytest


@pytest.mark.parametrize("name", cbo.problems.names())
def test_every_problem(name):
    family = getattr(cbo.problems, name)
    try:
        problem = family()
    except ValueError:
        problem = family(3)
    point = problem.minimisers[0]
    assert abs(problem(point) - problem.minimum) < 1e-6 * max(1, abs(problem.minimum))
    rows = np.random.default_rng(0).uniform(problem.bounds[:, 0], problem.bounds[:, 1], (37, problem.dim))
    values = problem(rows)
    # Points that violate constraints may be lower.
    assert values.shape == (37,) and (problem.constraints or (values >= problem.minimum - 1e-9).all())
    assert np.allclose([problem(row) for row in rows], values)
    assert np.array_equal(pickle.loads(pickle.dumps(problem))(rows), values)
    assert cbo.minimize(problem, particles=20, steps=5, seed=1).x.shape == (problem.dim,)
    assert problem.distance(point) == 0 and name in repr(problem).replace("-", "_")


def test_problems_are_moved_and_turned():
    problem = cbo.problems.rastrigin(3, shift=[1, -1, 0.5], rotate=7, amplitude=10)
    assert np.allclose(problem.minimisers, [[1, -1, 0.5]]) and problem.minimum == 0
    assert problem.description == "rastrigin (amplitude 10), shifted, rotated (seed 7)"
    again = pickle.loads(pickle.dumps(problem))
    assert again([0.1, 0.2, 0.3]) == problem([0.1, 0.2, 0.3])
    a, b = (cbo.problems.ackley(4, shift="random", rotate="random", seed=seed) for seed in (1, 2))
    assert not np.allclose(a.minimisers, b.minimisers)
    assert problem(np.float32([[1, -1, 0.5]])).dtype == np.float64
    assert problem([[1, -1, 0.5]])[0] == 0


def test_confined_problems_are_bounded():
    problem = cbo.problems.eggholder()
    result = cbo.minimize(problem, particles=100, steps=50, seed=1)
    assert problem.confined and result.infeasible_evaluations == 0


def test_success_rate():
    problem = cbo.problems.rastrigin(4)
    keywords = dict(particles=40, steps=60, runs=30, seed=5)
    rate = cbo.success_rate(problem, **keywords)
    assert 0 <= rate.low <= rate.rate <= rate.high <= 1 and rate.runs == 30 == len(rate.fun)
    for run in (0, 17, 29):
        alone = cbo.minimize(problem, particles=40, steps=60, seed=5 + run)
        assert rate.fun[run] == alone.fun and rate.nfev[run] == alone.nfev and rate.nit[run] == alone.nit
        assert rate.distance[run] == problem.distance(alone.x)
    assert rate.successes == np.count_nonzero(rate.distance < 0.25)
    own = cbo.success_rate(
        lambda x: problem(x),
        problem.bounds,
        vectorized=True,
        minimisers=problem.minimisers,
        bound_handling="none",
        **keywords,
    )
    assert own.successes == rate.successes and np.array_equal(own.fun, rate.fun)
    by_value = cbo.success_rate(problem, minimum=0.0, tolerance=0.5, **keywords)
    assert by_value.successes == np.count_nonzero(rate.fun < 0.5)
    assert "95 % Wilson interval" in repr(rate)


def test_success_rate_refuses():
    problem = cbo.problems.sphere(2)
    for options, sentence in [
        ({"runs": 0}, "runs = 0"),
        ({"runs": 2.5}, "runs = 2.5"),
        ({"tolerance": -1}, "tolerance = -1"),
        ({"minimum": 0.0, "minimisers": [0, 0]}, "minimisers and minimum both"),
        ({"sigma": -1}, "sigma = -1"),
    ]:
        with pytest.raises(ValueError, match=sentence):
            cbo.success_rate(problem, **options)
    with pytest.raises(ValueError, match="minimisers are missing"):
        cbo.success_rate(lambda x: x[0], [(0, 1)])


def test_theory_has_the_numbers_of_the_paper():
    for dim, alpha_0 in [(1, "7.3e+05"), (2, "6.1e+06"), (4, "5.1e+07"), (16, "3.3e+09")]:
        answer = cbo.theory(cbo.problems.rastrigin(dim))
        assert f"{answer.constants.alpha_0[0]:.1e}" == alpha_0
    assert answer.covered and answer.mean_square_stable and answer["assumptions"]["exact"]
    assert answer.sharp is None and cbo.theory(cbo.problems.rastrigin(2), sharp=True).sharp.alpha_0[0] > 0
    assert all(len(sentence) == 3 for sentence in answer.advice)
    loud = cbo.theory(cbo.problems.rastrigin(2), sigma=3, dt=0.1, alpha=np.inf, particles=400)
    assert not loud.covered and loud.constants is None
    for options, sentence in [
        ({"tau": 2}, "tau = 2"),
        ({"epsilon_ratio": 0}, "epsilon_ratio = 0"),
        ({"sigma": "geometric:1,0.5"}, "sigma"),
        ({"r0": "some"}, "r0 = "),
        ({"init": "normal:1"}, "init = 'normal:1'"),
    ]:
        with pytest.raises(ValueError, match=sentence):
            cbo.theory(cbo.problems.rastrigin(2), **options)
    with pytest.raises(TypeError, match="must be a built-in problem"):
        cbo.theory(lambda x: x)


def test_pictures(tmp_path):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    for problem in (cbo.problems.rastrigin(1), cbo.problems.himmelblau()):
        result = cbo.minimize(problem, particles=30, steps=10, seed=1)
        axes = cbo.plot.swarm(result, problem)
        [particles] = [c for c in axes.collections if str(c.get_label()).startswith("particles")]
        assert np.array_equal(particles.get_offsets()[:, 0], result.population[:, 0])
        axes.figure.savefig(tmp_path / "swarm.png")
        lines = result.plot().get_lines()
        assert np.array_equal(lines[0].get_ydata(), result.history["best"])
    optimizer = cbo.Optimizer([(-1, 1)] * 2, particles=10, seed=1)
    x = optimizer.ask()
    optimizer.tell(x, x[:, 0])
    assert cbo.plot.swarm(optimizer, lambda x: x[0], bounds=[(-2, 2)] * 2).get_xlim() == (-2, 2)
    with pytest.raises(ValueError, match="the swarm has 3 dimensions"):
        cbo.plot.swarm(cbo.minimize(cbo.problems.sphere(3), particles=5, steps=1))
    pyplot.close("all")


def test_maps_are_those_of_the_command_line():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from cbo import _landscape
    from matplotlib import pyplot

    # Ackley's function has 65 ripples along a side: cells are means, as of many more samples.
    problem = cbo.problems.ackley(2)
    rows, scale, least = _landscape.heights(problem, problem.bounds, problem.minimum, 400, 3)
    (left, right), (low, high) = problem.bounds
    assert least == problem.minimum and rows.min() >= 0 and rows.max() <= 1
    part = (np.arange(40) + 0.5) / 40
    for i, j in [(7, 311), (150, 201), (200, 200), (333, 17), (399, 0)]:
        x, y = np.meshgrid(left + (right - left) * (i + part) / 400, low + (high - low) * (j + part) / 400)
        fine = scale.height(problem(np.column_stack([x.ravel(), y.ravel()])) - least).mean()
        assert abs(rows[j, i] - fine) < 0.01
    # Low is dark.
    result = cbo.minimize(problem, method="cbo", particles=20, steps=3, seed=1)
    axes = cbo.plot.swarm(result, problem, bounds=[(100, 101)] * 2)
    [image] = axes.get_images()
    red, green, blue, _ = image.cmap([0.0, 1.0]).T
    light = 0.2126 * red + 0.7152 * green + 0.0722 * blue
    assert light[0] < 0.1 and light[1] > 0.8
    assert len(axes.figure.axes) == 2, "a bar"
    assert "particles (all outside)" in [text.get_text() for text in axes.get_legend().get_texts()]
    pyplot.close("all")


def test_logarithmic_axes_have_whole_decades():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    axes = cbo.minimize(cbo.problems.rastrigin(3), method="cbo", particles=20, steps=5, seed=1).plot()
    decades = np.log10(axes.get_ylim())
    assert np.allclose(decades, np.round(decades)) and decades[1] > decades[0]
    pyplot.close("all")
