"""The method auto: the default, any budget, any number of workers, in pieces, and what it tells about itself."""

import pickle
from concurrent.futures import ThreadPoolExecutor

import cbo
import numpy as np
import pytest

BOX = [(-5.0, 5.0)] * 3


def valley(x):
    return float(sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2))


def valleys(x):
    return np.sum(100 * (x[:, 1:] - x[:, :-1] ** 2) ** 2 + (1 - x[:, :-1]) ** 2, axis=1)


def bowl(x, centre=0.5):
    return float(np.sum((x - centre) ** 2))


def same(a, b):
    """Whether two results are those of the same run, bit for bit."""
    arrays = ("x", "consensus", "population", "population_energies", "hess_inv")
    others = ("fun", "nfev", "nit", "stop", "seed", "failed_evaluations", "phases", "explanation", "message")
    return all(
        (a[key] is None and b[key] is None) or np.array_equal(a[key], b[key], equal_nan=True) for key in arrays
    ) and all(a[key] == b[key] for key in others)


def finish(optimizer):
    while not optimizer.done:
        x = optimizer.ask()
        optimizer.tell(x, valleys(x))
    return optimizer.result()


def test_it_is_the_default_and_needs_nothing():
    result = cbo.minimize(valley, BOX, seed=1)
    assert result.method == "auto" and result.fun < 1e-9
    assert result.stop == "converged" and result.success and result.status == 0
    assert result.nfev < 10_000 * 3 and np.isnan(result.consensus_fun)
    assert same(result, cbo.minimize(valley, BOX, seed=1, method="auto"))
    assert cbo.Optimizer(BOX).result().method == "auto"


@pytest.mark.parametrize(
    "options",
    [
        {"particles": 20},
        {"lambda_": 1.0},
        {"lambda": 1.0},
        {"sigma": 1.0},
        {"alpha": 10.0},
        {"dt": 0.1},
        {"diffusion": "isotropic"},
        {"scheme": "drift-first"},
        {"steps": 5},
        {"time": 1.0},
        {"update": "full"},
        {"kick": 0.1},
        {"epoch_steps": 3},
        {"reduction": "on"},
        {"diameter": 0.1},
        {"freeze": [0.0] * 3},
        {"x0": np.random.default_rng(1).normal(size=(20, 3))},
    ],
)
def test_a_setting_of_the_dynamics_means_cbo(options):
    short = {"max_evaluations": 3000, "seed": 1}
    result = cbo.minimize(valley, BOX, **options, **short)
    assert result.method == "cbo" and result.phases == [] and result.explanation == []
    assert result.hess_inv is None and result.standard_errors is None
    assert np.array_equal(result.x, cbo.minimize(valley, BOX, method="cbo", **options, **short).x)
    assert cbo.Optimizer(BOX, **options).result().method == "cbo"
    if "reduction" not in options and "update" not in options:
        with pytest.raises(ValueError, match="only method=.auto. polishes, not .*means method=.cbo."):
            cbo.minimize(valley, BOX, local=True, **options)


@pytest.mark.parametrize(
    "options", [{"steps": None}, {"reduction": "off"}, {"kick": None}, {"batch": 4}, {"target": 0.1}]
)
def test_what_is_off_or_no_setting_of_the_dynamics_leaves_auto(options):
    assert cbo.minimize(valley, BOX, max_evaluations=50, seed=1, **options).method == "auto"


@pytest.mark.parametrize(
    ("options", "kind", "sentence"),
    [
        ({"method": "auto", "sigma": 1.0}, ValueError, "sigma = 1.0: is a setting of method cbo"),
        ({"method": "auto", "steps": 9}, ValueError, "steps = 9: limits a swarm; use max_evaluations"),
        ({"method": "auto", "particles": 9}, ValueError, "particles = 9: is a setting of method cbo"),
        ({"method": "atuo"}, ValueError, "method = 'atuo': it is one of auto, cbo, memory, hopping"),
        ({"method": 3}, TypeError, "method = 3: must be a text"),
        ({"method": "cbo", "local": True}, ValueError, "local = True: only method='auto' polishes, not method"),
        ({"sigma": 1.0, "local": True}, ValueError, "local = True: only method='auto' polishes, not sigma"),
        ({"local": 1}, TypeError, "local = 1: must be True or False"),
        ({"locl": True}, TypeError, "unknown keyword 'locl'; did you mean 'local'?"),
        ({"batch": 0}, ValueError, "batch = 0: must be at least 1"),
        ({"batch": 2.5}, ValueError, "batch = 2.5: must be a whole number"),
        ({"batch": "a"}, TypeError, "batch = 'a': must be a whole number"),
        ({"batch": True}, TypeError, "batch = True: must be a whole number"),
        ({"max_evaluations": 0}, ValueError, "max_evaluations = 0: must be at least 1"),
        ({"workers": 0}, ValueError, "workers = 0: must be at least 1"),
        ({"workers": "a"}, TypeError, "workers = 'a': must be a number of processes"),
    ],
)
def test_what_is_wrong_is_refused_by_its_name(options, kind, sentence):
    with pytest.raises(kind) as caught:
        cbo.minimize(valley, BOX, **options)
    assert str(caught.value).startswith(sentence) and "\n" not in str(caught.value)


@pytest.mark.parametrize("most", [1, 2, 3, 7, 50, 123])
def test_the_budget_is_kept_exactly(most):
    calls = []

    def fun(x):
        calls.append(valley(x))
        return calls[-1]

    result = cbo.minimize(fun, BOX, max_evaluations=most, seed=2)
    assert result.nfev == len(calls) == most and result.fun == min(calls) and result.stop == "evaluations"
    assert "allowed" in result.message and result.status == 1
    rows = cbo.minimize(valleys, BOX, max_evaluations=most, seed=2, vectorized=True)
    assert rows.nfev == most
    problem = cbo.problems.rosenbrock(3)
    assert cbo.minimize(problem, max_evaluations=most, seed=2).nfev == most
    assert finish(cbo.Optimizer(BOX, max_evaluations=most, seed=2, batch=5)).nfev == most


def test_other_limits():
    by_target = cbo.minimize(valley, BOX, target=1e-3, seed=1)
    assert by_target.stop == "target" and by_target.fun <= 1e-3 and "0.001" in by_target.message
    by_time = cbo.minimize(valley, BOX, max_seconds=1e-9, seed=1)
    assert by_time.stop == "seconds" and by_time.nfev >= 1
    by_callback = cbo.minimize(valley, BOX, callback=lambda step: step.nfev > 20, seed=1)
    assert by_callback.stop == "observer" and by_callback.message == "The callback stopped the run."
    with pytest.raises(RuntimeError, match="none of the 40 points evaluated has a finite energy"):
        cbo.minimize(lambda x: float("nan"), BOX, max_evaluations=40)
    with pytest.raises(RuntimeError, match="the energy is NaN, and the run is strict"):
        cbo.minimize(lambda x: float("nan"), BOX, strict=True)
    often = cbo.minimize(lambda x: float("nan") if x[0] > 1 else bowl(x), BOX, seed=1, max_evaluations=800)
    assert often.fun < 1e-6 and often.failed_evaluations > 0


def test_starts():
    short = {"max_evaluations": 600, "seed": 1}
    far = cbo.minimize(bowl, x0=[40.0, -3.0], **short)
    assert far.method == "auto" and far.fun < 1e-8
    near = cbo.minimize(bowl, x0=[4.0, -3.0], spread=[1.0, 0.1], **short)
    assert near.fun < 1e-8
    half = cbo.minimize(bowl, [(1.0, None), (None, 0.0)], [3.0, -3.0], **short)
    assert np.allclose(half.x, [1.0, 0.0], atol=1e-6) and half.x[0] >= 1 and half.x[1] <= 0
    both = cbo.minimize(bowl, [(1.0, 4.0), (None, None)], [3.0, -3.0], **short)
    assert np.allclose(both.x, [1.0, 0.5], atol=1e-4)
    points = np.random.default_rng(1).normal(size=(7, 2))
    many = cbo.minimize(bowl, x0=points, method="auto", **short)
    assert many.method == "auto" and many.fun < 1e-8
    with pytest.raises(ValueError, match="the swarm starts in a finite box; give x0"):
        cbo.minimize(bowl, [(0, None)])
    with pytest.raises(ValueError, match="spread is missing"):
        cbo.minimize(bowl, x0=[1.0], method="cbo")


def test_local_polishes_from_x0():
    def two_wells(x):
        return float(np.sum((x**2 - 1) ** 2 + 0.3 * x))

    box = [(-2.0, 2.0)] * 2
    short = {"max_evaluations": 2000, "seed": 1}
    local = cbo.minimize(two_wells, box, [0.9, 0.9], spread=0.05, local=True, **short)
    assert local.method == "auto:local=true" and np.allclose(local.x, 0.96, atol=0.01)
    assert np.allclose(cbo.minimize(two_wells, box, [0.9, 0.9], **short).x, -1.036, atol=0.01)
    assert same(local, cbo.minimize(two_wells, box, [0.9, 0.9], spread=0.05, method="auto", local=True, **short))
    assert cbo.minimize(two_wells, box, local=False, max_evaluations=9).method == "auto"


def test_workers_change_nothing_but_the_points_of_a_round():
    short = {"max_evaluations": 300, "seed": 3}
    one = cbo.minimize(valley, BOX, batch=5, **short)
    for workers in (2, 5):
        assert same(cbo.minimize(valley, BOX, batch=5, workers=workers, **short), one)
    assert same(cbo.minimize(valley, BOX, workers=5, **short), one)
    rows = cbo.minimize(valleys, BOX, batch=5, vectorized=True, **short)
    assert rows.nit == one.nit and np.allclose(rows.x, one.x)
    with ThreadPoolExecutor(3) as pool:
        assert same(cbo.minimize(valley, BOX, batch=5, workers=pool, **short), one)
        eight = cbo.minimize(valley, BOX, workers=pool, **short)
    assert same(eight, cbo.minimize(valley, BOX, workers=map, **short))
    assert same(eight, cbo.minimize(valley, BOX, batch=8, **short))
    assert eight.nit < one.nit < cbo.minimize(valley, BOX, **short).nit


def round_sizes(**options):
    sizes = []

    def rows(x):
        sizes.append(len(x))
        return valleys(x)

    result = cbo.minimize(rows, BOX, vectorized=True, max_evaluations=2000, seed=1, **options)
    assert sum(sizes) == 2000 and result.nit + 1 == len(sizes)
    return np.array(sizes[:-1])


def test_a_vectorized_function_gets_many_points_at_once():
    assert np.array_equal(round_sizes(), round_sizes(batch=32)) and np.median(round_sizes()) >= 32
    assert round_sizes(batch=1).min() == 1


@pytest.mark.parametrize("batch", [4, 8, 20, 32])
def test_every_round_has_as_many_points_as_wanted(batch):
    assert round_sizes(batch=batch).min() >= batch


def test_a_kept_view_does_not_change():
    kept, copies = [], []

    def rows(x):
        kept.append(x)
        copies.append(x.copy())
        return valleys(x)

    result = cbo.minimize(rows, BOX, vectorized=True, max_evaluations=400, seed=1)
    assert all(np.array_equal(a, b) for a, b in zip(kept, copies, strict=True))
    assert same(result, cbo.minimize(valleys, BOX, vectorized=True, max_evaluations=400, seed=1))


def test_built_in_problems_take_the_same_way():
    problem = cbo.problems.rosenbrock(4)
    built_in = cbo.minimize(problem, seed=3, max_evaluations=900)
    points = cbo.minimize(lambda x: problem(x), problem.bounds, seed=3, max_evaluations=900)
    inside = cbo.minimize(problem, problem.bounds, seed=3, max_evaluations=900)
    assert same(points, inside) and built_in.nfev == 900
    rate = cbo.success_rate(cbo.problems.sphere(3), runs=5, max_evaluations=300, tolerance=1e-3)
    assert rate.rate == 1.0 and (rate.nfev <= 300).all()


def test_ask_and_tell_is_the_same_run(tmp_path):
    settings = {"batch": 4, "max_evaluations": 400, "seed": 5}
    whole = cbo.minimize(valleys, BOX, vectorized=True, **settings)
    assert same(finish(cbo.Optimizer(BOX, **settings)), whole)
    # Any order, in pieces.
    optimizer, rng = cbo.Optimizer(BOX, **settings), np.random.default_rng(0)
    while not optimizer.done:
        x = optimizer.ask()
        for rows in np.array_split(rng.permutation(len(x)), min(3, len(x))):
            optimizer.tell(x[rows], valleys(x[rows]))
    assert same(optimizer.result(), whole)
    with pytest.raises(RuntimeError, match=r"the run has ended \(evaluations\)"):
        optimizer.ask()


@pytest.mark.parametrize("precision", ["f64", "f32"])
@pytest.mark.parametrize("rounds", [0, 1, 9, 40])
@pytest.mark.parametrize("told", [0, 2])
def test_saved_and_loaded_anywhere(precision, rounds, told, tmp_path):
    settings = {"batch": 4, "max_evaluations": 400, "seed": 5, "precision": precision}
    reference = finish(cbo.Optimizer(BOX, **settings))
    optimizer = cbo.Optimizer(BOX, **settings)
    for _ in range(rounds):
        x = optimizer.ask()
        optimizer.tell(x, valleys(x))
    if told:
        x = optimizer.ask()
        optimizer.tell(x[:told], valleys(x[:told]))
    optimizer.save(tmp_path / "run.cbo")
    for run in (cbo.Optimizer.load(tmp_path / "run.cbo"), pickle.loads(pickle.dumps(optimizer)), optimizer):
        result = finish(run)
        assert same(result, reference)
        assert np.array_equal(result.history["best"], reference.history["best"])


def test_what_it_tells_about_itself():
    result = cbo.minimize(valley, BOX, seed=1)
    assert "restarts" in result.message and result.message.endswith(".")
    assert len(result.phases) > 1
    for phase in result.phases:
        assert phase.name and phase.end and phase["start"] == phase.start
        assert 0 <= phase.start <= phase.stop <= result.nfev and phase.best >= result.fun
    best = [phase.best for phase in result.phases]
    assert best == sorted(best, reverse=True)
    assert result.explanation and all(isinstance(sentence, str) for sentence in result.explanation)
    assert result.hess_inv.shape == (3, 3) and np.array_equal(result.hess_inv, result.hess_inv.T)
    assert (np.linalg.eigvalsh(result.hess_inv) > 0).all()
    assert np.array_equal(result.standard_errors**2, np.sqrt(np.diagonal(result.hess_inv)) ** 2)
    assert same(pickle.loads(pickle.dumps(result)), result)
    text = repr(result)
    assert "phases: list of" in text and "hess_inv: array of shape (3, 3)" in text
    unfinished = cbo.minimize(valley, BOX, seed=1, max_evaluations=1)
    assert unfinished.hess_inv is None and unfinished.standard_errors is None


def test_the_inverse_hessian():
    turn = np.linalg.qr(np.random.default_rng(3).normal(size=(3, 3)))[0]
    hessian = turn @ np.diag([1.0, 4.0, 25.0]) @ turn.T
    for factor in (1e-9, 1.0, 1e9):
        result = cbo.minimize(lambda x, c=factor: float(c / 2 * (x - 1) @ hessian @ (x - 1)), BOX, seed=1)
        wanted = np.linalg.inv(hessian)
        assert np.abs(result.hess_inv * factor - wanted).max() < 1e-3
        assert np.allclose(result.standard_errors * np.sqrt(factor), np.sqrt(np.diagonal(wanted)), rtol=1e-3)


def test_pictures_mark_the_phases():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    result = cbo.minimize(valley, BOX, seed=1)
    axes = result.plot()
    ends = [line.get_xdata()[0] for line in axes.lines[1:]]
    assert ends == [phase.stop for phase in result.phases]
    assert len(cbo.minimize(valley, BOX, max_evaluations=1, seed=1).plot().lines) == 1
    assert len(cbo.minimize(valley, BOX, particles=9, steps=3, seed=1).plot().lines) == 2
    matplotlib.pyplot.close("all")


def test_large_and_small_scales():
    def scaled(x):
        return 1e-30 * ((x[0] * 1e9 - 0.3) ** 2 + (x[1] * 1e-9 - 0.2) ** 2)

    result = cbo.minimize(scaled, [(-1e-9, 1e-9), (-1e9, 1e9)], seed=1, max_evaluations=500)
    assert np.allclose(result.x * [1e9, 1e-9], [0.3, 0.2], atol=1e-4)
