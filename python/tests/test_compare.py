"""Comparisons: of methods by their names, on problems by theirs, and of solvers and functions in Python."""

from __future__ import annotations

import math
from typing import Any

import cbo
import numpy as np
import pytest
from cbo import _lib
from cbo._compare_record import Recorder, Spent

BOX = [(-5.0, 5.0)] * 3


def sphere(x):
    assert x.shape == (3,)
    return float(np.sum((x - 1) ** 2))


def uniform(fun, bounds, budget, seed):
    """Random search with a generator of its own, which never ends by itself."""
    rng = np.random.default_rng(seed)
    low, high = np.transpose(bounds)
    while True:
        fun(rng.uniform(low, high))


def rows_of(found: cbo.Comparison, problem: str) -> dict[str, dict[str, Any]]:
    return {row["method"]: row for row in found.table if row["problem"] == problem}


def test_names_of_problems_and_methods():
    found = cbo.compare(
        "rastrigin, sphere",
        "auto, cbo, memory:drift=0.5,beta=100, pso,particles=20, random",
        dim=3,
        shift="random",
        rotate="random",
        runs=6,
        max_evaluations=3000,
        seed=4,
    )
    methods = ["auto", "cbo", "memory:drift=0.5,beta=100.0", "pso:particles=20", "random"]
    assert found.problems == ["rastrigin", "sphere"] and found.methods == methods
    assert len(found.table) == 10 and len(found.tests) == 20 and len(found.runs) == 60
    # The same runs as those of success_rate, on the same problems.
    for run in [run for run in found.runs if run["problem"] == "rastrigin" and run["method"] == "cbo"]:
        problem = cbo.problems.rastrigin(3, shift="random", rotate="random", seed=run["seed"])
        alone = cbo.minimize(problem, method="cbo", max_evaluations=3000, seed=run["seed"])
        assert run["value"] == alone.fun and run["evaluations"] == alone.nfev
        assert run["distance"] == problem.distance(alone.x) and run["success"] == (run["distance"] < 0.25)
        assert run["history"][-1, 1] == alone.fun
    for row in found.table:
        successes = [
            run["success"]
            for run in found.runs
            if (run["problem"], run["method"]) == (row["problem"], row["method"])
        ]
        assert row["successes"] == sum(successes) and row["runs"] == 6
        assert 0 <= row["low"] <= row["rate"] <= row["high"] <= 1
        curve = found.curves[row["problem"], row["method"]]
        assert curve.reached[-1] == pytest.approx(row["targets_reached"])
        assert (curve.low <= curve.reached).all() and (curve.reached <= curve.high).all()
    text = str(found)
    for part in ("rastrigin in 3 dimensions: 6 runs of 3000 evaluations", "pso:particles=20", "best value"):
        assert part in text
    assert repr(found) == "<comparison of 5 methods on 2 problems; print shows its table>"


def test_threads_do_not_matter():
    keywords: Any = dict(dim=2, rotate="random", runs=5, max_evaluations=800, particles=20)
    one = cbo.compare("ackley", "auto, cbo, de", threads=1, **keywords)
    two = cbo.compare("ackley", "auto, cbo, de", threads=3, **keywords)
    assert one.table == two.table and str(one) == str(two)


def test_solvers_are_counted_and_ended():
    calls = []

    def greedy(fun, bounds, budget, seed, x0s):
        """Asks for more than there is, many points at once, and hides exceptions."""
        calls.append((bounds, budget, seed, x0s.shape))
        assert fun(x0s[0]) == fun(x0s[:1])[0]
        rng = np.random.default_rng(seed)
        while True:
            try:
                assert fun(rng.uniform(-5, 5, (4, 5, 3))).shape == (4, 5)
            except Exception:
                pass

    def modest(fun, bounds, budget, seed, **more):
        assert list(more) == ["x0s"]
        return min(fun(x) for x in more["x0s"][:7])

    found = cbo.compare(
        sphere, [greedy, modest, uniform, "pso"], BOX, runs=3, max_evaluations=99, minimisers=[1, 1, 1]
    )
    assert found.problems == ["sphere"] and found.methods == ["greedy", "modest", "uniform", "pso"]
    assert [seed for _, _, seed, _ in calls] == [0, 1, 2]
    assert calls[0][0] == BOX and calls[0][1] == 99 and calls[0][3] == (100, 3)
    spent = {(run["method"], run["evaluations"]) for run in found.runs}
    assert spent == {("greedy", 99), ("modest", 7), ("uniform", 99), ("pso", 99)}
    # The same initial points for all: the first evaluation of each run is that of the same point.
    for seed in range(3):
        firsts = {
            run["history"][0, 1] for run in found.runs if run["seed"] == seed and run["method"] != "uniform"
        }
        start = _lib.compare_cloud(np.array(BOX), seed, 1)[0]
        assert firsts == {sphere(start)}
    for run in found.runs:
        assert (np.diff(run["history"][:, 1]) < 0).all() and (np.diff(run["history"][:, 0]) > 0).all()
        assert run["value"] == run["history"][-1, 1]


def test_engine_and_baselines_on_a_function_in_python():
    """A built-in function as a function in Python: the same points, and the same values but for the last bits."""
    problem = cbo.problems.rastrigin(3, rotate=3)
    methods = "auto, cbo, memory, pso, nelder-mead"
    keywords: Any = dict(runs=2, max_evaluations=1000, particles=30)
    fast = cbo.compare(problem, methods, problem.bounds, **keywords)

    def slow(x):
        return problem(x)

    plain = cbo.compare(slow, methods, problem.bounds, minimum=0.0, minimisers=problem.minimisers, **keywords)
    for a, b in zip(fast.runs, plain.runs, strict=True):
        assert a["method"] == b["method"] and a["evaluations"] == b["evaluations"]
        assert a["history"][0, 1] == pytest.approx(b["history"][0, 1], rel=1e-12)
        assert a["history"][0, 0] == b["history"][0, 0]


def test_the_judge():
    keywords: Any = dict(dim=2, runs=4, max_evaluations=200, particles=20, alpha=1.0)
    best = cbo.compare("rastrigin", "auto, cbo, pso", **keywords)
    consensus = cbo.compare("rastrigin", "auto, cbo, pso", judge="consensus", **keywords)
    for a, b in zip(best.runs, consensus.runs, strict=True):
        assert a["value"] == b["value"] or a["method"] == "cbo" and a["value"] < b["value"]
    assert [run["value"] for run in best.runs] != [run["value"] for run in consensus.runs]
    assert "consensus value" in str(consensus)
    problem = cbo.problems.rastrigin(2)
    alone = cbo.minimize(problem, method="cbo", particles=20, alpha=1.0, max_evaluations=200, seed=0)
    [first] = [run for run in consensus.runs if run["method"] == "cbo" and run["seed"] == 0]
    assert first["value"] == alone.consensus_fun
    # A function in Python is judged in the same way.
    own = cbo.compare(
        lambda x: problem(x),
        "cbo",
        problem.bounds,
        judge="consensus",
        minimum=0.0,
        runs=2,
        max_evaluations=200,
        particles=20,
        alpha=1.0,
    )
    assert own.runs[0]["value"] > own.runs[0]["history"][-1, 1] and own.problems == ["<lambda>"]
    rate = cbo.success_rate(problem, judge="consensus", runs=3, particles=20, alpha=1.0, max_evaluations=200)
    assert rate.fun[0] == alone.consensus_fun and rate.distance[0] == problem.distance(alone.consensus)
    slow = cbo.success_rate(
        lambda x: problem(x),
        problem.bounds,
        judge="consensus",
        runs=1,
        particles=20,
        alpha=1.0,
        max_evaluations=200,
        minimum=0.0,
        bound_handling="none",
    )
    assert slow.fun[0] == pytest.approx(alone.consensus_fun, rel=1e-9)
    with pytest.raises(ValueError, match="judge = 'mean'"):
        cbo.success_rate(problem, judge="mean")  # type: ignore[arg-type]


def test_settings_and_names_of_ones_own():
    found = cbo.compare(
        {"bowl": cbo.problems.sphere(2), "bumps": "ackley"},
        {"plain": "cbo", "quiet": ("cbo", {"sigma": 0.3}), "mine": uniform},
        dim=2,
        runs=3,
        max_evaluations=500,
        particles=20,
    )
    assert found.problems == ["bowl", "bumps"] and found.methods == ["plain", "quiet", "mine"]
    values = rows_of(found, "bumps")
    assert values["plain"]["median_value"] != values["quiet"]["median_value"]


def test_a_minimum_that_nobody_knows():
    def shifted(x):
        return 3.0 + sphere(x)

    found = cbo.compare(shifted, "auto, random", BOX, runs=3, max_evaluations=300, tolerance=0.01)
    best = rows_of(found, "shifted")
    assert best["auto"]["minimum"] == min(run["value"] for run in found.runs)
    assert best["auto"]["successes"] == 3 and best["random"]["successes"] == 0
    assert all(math.isnan(run["distance"]) for run in found.runs)
    assert "minimum 3" in str(found)


def test_failures_count_and_exceptions_come_out():
    def nowhere(x):
        return math.nan

    found = cbo.compare(nowhere, ["cbo", "pso", uniform], BOX, runs=2, max_evaluations=50, particles=10)
    assert all(row["failed_runs"] == 2 and row["median_value"] == math.inf for row in found.table)
    assert not any(run["finished"] for run in found.runs)

    def broken(x):
        raise OSError("the disk is full")

    for method in ("auto", "cbo", "de", uniform):
        with pytest.raises(OSError, match="the disk is full"):
            cbo.compare(broken, [method], BOX, runs=1, max_evaluations=50, particles=10)

    def wrong(fun, bounds, budget, seed):
        fun([1.0, 2.0])

    with pytest.raises(ValueError, match="a point has 3 coordinates"):
        cbo.compare(sphere, wrong, BOX, runs=1, max_evaluations=50)
    with pytest.raises(TypeError, match="fun returned None"):
        cbo.compare(lambda x: None, "pso", BOX, runs=1, max_evaluations=50)


def test_the_recorder_keeps_the_budget_exactly():
    for budget in range(1, 30):
        recorder = Recorder(lambda x: float(x[0]), 1, budget, lambda x: math.nan)
        asked = 0
        with pytest.raises(Spent):
            while True:
                asked += 7
                recorder(np.linspace(5, 1, 7)[:, None] - asked)
        assert recorder.evaluations == budget


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"runs": 0}, "runs = 0"),
        ({"runs": 2.5}, "runs = 2.5"),
        ({"max_evaluations": 0}, "max_evaluations = 0"),
        ({"tolerance": 0}, "tolerance = 0"),
        ({"seed": -1}, "seed = -1"),
        ({"seed": "a"}, "seed = 'a'"),
        ({"judge": "mean"}, "judge = 'mean'"),
        ({"methods": "cbo, psoo"}, "`psoo` is not a method; there are auto, cbo"),
        ({"methods": "beta=1"}, "no method stands before it"),
        ({"methods": ["cbo", "cbo"]}, "'cbo' is given twice"),
        ({"methods": []}, "methods are missing"),
        ({"methods": {"two": "cbo, pso"}}, "'two' has 2 methods"),
        ({"problems": "spheer"}, "spheer"),
        ({"problems": ["sphere", "sphere"]}, "'sphere' is given twice"),
        ({"problems": []}, "problems are missing"),
        ({"problems": sphere}, "bounds are missing: sphere needs"),
        ({"problems": sphere, "bounds": [(0, math.inf)]}, "a finite box"),
        ({"problems": sphere, "bounds": BOX, "minimisers": [1, 2]}, "minimisers have the shape"),
        ({"problems": sphere, "bounds": BOX, "minimum": math.nan}, "minimum = nan"),
        ({"max_evaluations": 50}, "contradicts the first step"),
        ({"sigma": -1}, "sigma = -1"),
        ({"method": "cbo"}, "give them as methods"),
    ],
)
def test_what_is_refused(change, sentence):
    arguments: dict[str, Any] = {
        "problems": "sphere",
        "methods": "cbo",
        "dim": 2,
        "runs": 1,
        "max_evaluations": 500,
    }
    with pytest.raises(ValueError, match=sentence.replace("(", r"\(")):
        cbo.compare(**{**arguments, **change})


def test_problems_keep_what_is_theirs():
    found = cbo.compare("rastrigin, himmelblau", "random", dim=4, runs=2, max_evaluations=1e2, seed=2**64 - 1)
    assert [row["dim"] for row in found.table] == [4, 2] and found.table[0]["max_evaluations"] == 100
    assert [run["seed"] for run in found.runs][:2] == [2**64 - 1, 0]
    with pytest.raises(ValueError, match="himmelblau"):
        cbo.compare("himmelblau", "random", dim=4)


def test_what_has_the_wrong_type():
    for change in ({"methods": 3}, {"methods": [3]}, {"problems": 3}, {"problems": [3]}):
        with pytest.raises(TypeError, match="must be"):
            cbo.compare(**{"problems": "sphere", "methods": "cbo", "dim": 2, **change})
    with pytest.raises(TypeError, match="did you mean 'particles'"):
        cbo.compare("sphere", "cbo", dim=2, partikles=3)  # type: ignore[call-arg]


def test_pictures(tmp_path):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    methods = [
        "auto",
        "cbo",
        "random",
        "annealing",
        "genetic",
        "programming",
        "ants",
        "pso",
        "de",
        "nelder-mead",
    ]
    found = cbo.compare("ackley, sphere, rastrigin", methods, dim=2, runs=3, max_evaluations=600, particles=20)
    panels = found.plot()
    assert isinstance(panels, list) and [axes.get_title() for axes in panels] == found.problems
    for axes in panels:
        assert [text.get_text() for text in axes.texts] == methods and len(axes.lines) == len(methods)
        heights = sorted(text.xyann[1] for text in axes.texts)
        assert min(np.diff(heights)) > 0.049
        curve = found.curves[axes.get_title(), "pso"]
        line = axes.lines[methods.index("pso")]
        assert np.array_equal(line.get_ydata(), curve.reached)
    panels[0].figure.savefig(tmp_path / "all.png")
    one = found.plot("ackley")
    assert not isinstance(one, list) and one.get_title() == "ackley"
    _, own = pyplot.subplots()
    assert found.plot("sphere", ax=own) is own
    with pytest.raises(ValueError, match="must be one of ackley, sphere, rastrigin"):
        found.plot("sphear")
    with pytest.raises(ValueError, match="there are 3 problems"):
        found.plot(ax=own)
    pyplot.close("all")
