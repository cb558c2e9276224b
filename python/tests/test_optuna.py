"""``cbo.optuna.CboSampler``: generations, storage, parallel trials, trials that fail."""

from __future__ import annotations

import math
import pathlib
import pickle
import subprocess
import sys
import textwrap
import warnings
from collections import Counter
from typing import Any

import numpy as np
import pytest

optuna = pytest.importorskip("optuna")

from optuna.distributions import (  # noqa: E402
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from optuna.trial import TrialState  # noqa: E402

import cbo  # noqa: E402
from cbo._optuna_space import is_number, parameter  # noqa: E402
from cbo.optuna import CboSampler  # noqa: E402

optuna.logging.set_verbosity(optuna.logging.ERROR)


def sphere(trial: Any) -> float:
    return float(
        (trial.suggest_float("x", -4.0, 4.0) - 1.0) ** 2 + (trial.suggest_float("y", -4.0, 4.0) + 1.0) ** 2
    )


def rosenbrock(trial: Any) -> float:
    x, y = (trial.suggest_float(name, -4.0, 4.0) for name in ("x", "y"))
    return float((1.0 - x) ** 2 + 100.0 * (y - x * x) ** 2)


def params(study: Any) -> list[dict[str, Any]]:
    return [trial.params for trial in study.trials]


def new_study(seed: int = 1, particles: int = 10, **given: Any) -> Any:
    return optuna.create_study(sampler=CboSampler(particles=particles, seed=seed), **given)


def test_trials_are_the_points_of_an_optimizer() -> None:
    study = new_study()
    study.optimize(sphere, n_trials=41)
    # The first trial tells which parameters there are.
    swarm = cbo.Optimizer(bounds=[(0, 1)] * 2, particles=10, seed=1)
    for generation in range(4):
        points = swarm.ask()
        trials = study.trials[1 + 10 * generation : 11 + 10 * generation]
        np.testing.assert_allclose(
            [[t.params["x"], t.params["y"]] for t in trials], 8.0 * points - 4.0, atol=1e-12
        )
        swarm.tell(points, [t.value for t in trials])


def test_by_default_trials_are_the_points_of_the_method_auto() -> None:
    study = optuna.create_study(sampler=CboSampler(seed=1))
    study.optimize(rosenbrock, n_trials=61)
    run = cbo.Optimizer(bounds=[(0, 1)] * 2, seed=1)
    points = np.empty((0, 2))
    while len(points) < 60:
        asked = run.ask()
        trials = study.trials[1 + len(points) :][: len(asked)]
        points = np.vstack([points, asked])
        if len(points) <= 60:
            run.tell(asked, [t.value for t in trials])
    found = [[t.params["x"], t.params["y"]] for t in study.trials[1:]]
    np.testing.assert_allclose(found, 8.0 * points[:60] - 4.0, atol=1e-12)
    assert study.best_value < 1.0


def test_auto_ends_and_begins_again() -> None:
    study = optuna.create_study(sampler=CboSampler(seed=1))
    # The coordinates act alone, and that is soon seen.
    study.optimize(sphere, n_trials=200)
    assert study.best_value < 1e-9


def test_auto_goes_on_after_trials_that_failed() -> None:
    study = optuna.create_study(sampler=CboSampler(seed=1, batch=3))

    def objective(trial: Any) -> float:
        value = sphere(trial)
        return math.nan if trial.number in range(1, 12) else value

    study.optimize(objective, n_trials=120)
    assert study.best_value < 1e-2


def test_it_finds_the_minimum_and_the_maximum() -> None:
    study = new_study(particles=20)
    study.optimize(sphere, n_trials=401)
    assert study.best_value < 0.01
    up = new_study(particles=20, direction="maximize")
    up.optimize(lambda trial: -sphere(trial), n_trials=401)
    assert params(up) == params(study)


def test_all_kinds_of_parameters() -> None:
    def objective(trial: Any) -> float:
        kind = trial.suggest_categorical("kind", ["a", "b"])
        rate = trial.suggest_float("rate", 1e-4, 1e-1, log=True)
        size = trial.suggest_int("size", 3, 9, step=2)
        width = trial.suggest_int("width", 1, 1000, log=True)
        part = trial.suggest_float("part", 0.0, 1.0, step=0.25)
        fixed = trial.suggest_int("fixed", 7, 7)
        if kind == "b":
            trial.suggest_float("only_b", 0.0, 1.0)
        assert fixed == 7 and size in (3, 5, 7, 9) and part * 4 == int(part * 4)
        cost = abs(math.log10(rate) + 2.0) + abs(size - 5) + abs(math.log(width / 30)) + abs(part - 0.5)
        return float(cost + (kind == "b"))

    study = new_study(particles=20)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        study.optimize(objective, n_trials=301)
    assert study.best_params["kind"] == "a" and study.best_params["size"] == 5
    assert study.best_value < 0.5
    assert {trial.params["kind"] for trial in study.trials[-50:]} == {"a", "b"}


@pytest.mark.parametrize(
    "distribution",
    [
        FloatDistribution(-3.0, 5.0),
        FloatDistribution(1e-6, 1e3, log=True),
        FloatDistribution(0.0, 0.7, step=0.1),
        IntDistribution(-3, 4),
        IntDistribution(2, 11, step=3),
        IntDistribution(1, 100, log=True),
    ],
)
def test_every_coordinate_is_a_value_of_the_distribution(distribution: Any) -> None:
    values = [parameter(distribution, float(u)) for u in np.linspace(0.0, 1.0, 1001)]
    assert all(distribution._contains(distribution.to_internal_repr(value)) for value in values)
    assert values == sorted(values)
    assert values[0] == pytest.approx(distribution.low) and values[-1] == pytest.approx(distribution.high)
    if isinstance(distribution, IntDistribution):
        assert all(isinstance(value, int) for value in values)
        assert len(set(values)) == len(range(distribution.low, distribution.high + 1, distribution.step))


def test_grid_points_have_equal_shares() -> None:
    shares = Counter(parameter(IntDistribution(0, 3), float(u)) for u in (np.arange(4000) + 0.5) / 4000)
    assert set(shares.values()) == {1000}


def test_what_has_no_coordinate() -> None:
    assert not is_number(CategoricalDistribution([1, 2]))
    assert not is_number(IntDistribution(2, 2))
    assert is_number(FloatDistribution(0, 1))


def test_failed_pruned_and_nan_trials_have_no_weight() -> None:
    def objective(trial: Any) -> float:
        value = sphere(trial)
        if trial.number % 5 == 1:
            raise RuntimeError("the simulator crashed")
        if trial.number % 5 == 2:
            trial.report(value, 0)
            raise optuna.TrialPruned
        return math.nan if trial.number % 5 == 3 else value

    study = new_study(particles=20)
    study.optimize(objective, n_trials=401, catch=(RuntimeError,))
    states = Counter(trial.state for trial in study.trials)
    assert states[TrialState.PRUNED] == 80 and states[TrialState.FAIL] == 160
    assert study.best_value < 0.05
    # Each point was tried once: what failed is not repeated.
    places = [tuple(trial.system_attrs["cbo:point"]) for trial in study.trials[1:]]
    assert len(set(places)) == 400


def test_a_generation_that_failed_as_a_whole_is_followed_by_a_fresh_swarm() -> None:
    def objective(trial: Any) -> float:
        value = sphere(trial)
        return math.nan if 1 <= trial.number <= 10 else value

    study = new_study(particles=10)
    study.optimize(objective, n_trials=21)
    fresh = 8.0 * cbo.Optimizer(bounds=[(0, 1)] * 2, particles=10, seed=2).ask() - 4.0
    np.testing.assert_allclose([[t.params["x"], t.params["y"]] for t in study.trials[11:]], fresh, atol=1e-12)


def test_a_swarm_that_has_ended_is_followed_by_a_fresh_one() -> None:
    swarm, generations = cbo.Optimizer(bounds=[(0, 1)] * 2, particles=5, seed=1, steps=3), 0
    while not swarm.done:
        swarm.tell(swarm.ask(), np.arange(5.0))
        generations += 1
    study = optuna.create_study(sampler=CboSampler(particles=5, seed=1, steps=3))
    study.optimize(sphere, n_trials=1 + 5 * (generations + 1))
    fresh = 8.0 * cbo.Optimizer(bounds=[(0, 1)] * 2, particles=5, seed=2).ask() - 4.0
    np.testing.assert_allclose([[t.params["x"], t.params["y"]] for t in study.trials[-5:]], fresh, atol=1e-12)


def test_two_jobs_at_once() -> None:
    study = new_study(particles=10)
    study.optimize(sphere, n_trials=121, n_jobs=2)
    assert len(study.trials) == 121 and all(trial.state == TrialState.COMPLETE for trial in study.trials)
    places = Counter(
        tuple(trial.system_attrs["cbo:point"][1:]) for trial in study.trials if trial.system_attrs
    )
    generations = Counter(generation for generation, _ in places)
    # Every generation is complete, and at most one extra trial a generation repeats a point.
    assert all(count == 10 for generation, count in generations.items() if generation < max(generations))
    assert sum(places.values()) - len(places) <= len(generations)
    # The points are those of one job: values of a generation do not depend on who computed them.
    alone = new_study(particles=10)
    alone.optimize(sphere, n_trials=81)
    points = {tuple(t.system_attrs["cbo:point"][1:]): t.params for t in study.trials if t.system_attrs}
    for trial in alone.trials[1:]:
        assert points[tuple(trial.system_attrs["cbo:point"][1:])] == trial.params


def test_a_trial_that_never_ends_does_not_hold_up_the_study() -> None:
    study = new_study(particles=5)
    study.optimize(sphere, n_trials=3)
    lost = study.ask()
    sphere(lost)
    study.optimize(sphere, n_trials=12)
    generations = [trial.system_attrs["cbo:point"][1] for trial in study.trials[1:]]
    assert max(generations) == 2
    # The value comes late, and is no news.
    study.tell(lost, 0.0)
    study.optimize(sphere, n_trials=1)


def test_a_trial_with_values_of_the_user_is_no_particle() -> None:
    study = new_study(particles=5)
    study.optimize(sphere, n_trials=1)
    study.enqueue_trial({"x": 1.0, "y": -1.0})
    study.optimize(sphere, n_trials=6)
    assert study.best_value == 0.0
    assert "cbo:point" not in study.trials[1].system_attrs
    assert [t.system_attrs["cbo:point"][2] for t in study.trials[2:]] == [0, 1, 2, 3, 4]


def test_the_sampler_pickles_and_goes_on() -> None:
    study = new_study(particles=5)
    study.optimize(sphere, n_trials=14)
    study.sampler = pickle.loads(pickle.dumps(study.sampler))
    study.optimize(sphere, n_trials=10)
    whole = new_study(particles=5)
    whole.optimize(sphere, n_trials=24)
    assert params(study) == params(whole)


PROGRAM = """
    import sys
    import optuna
    from cbo.optuna import CboSampler
    from test_optuna import sphere

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    # No seed: the study has one.
    study = optuna.load_study(study_name="s", storage=sys.argv[1], sampler=CboSampler(particles=10))
    study.optimize(sphere, n_trials=int(sys.argv[2]))
"""


def test_a_study_in_sqlite_goes_on_in_another_process(tmp_path: pathlib.Path) -> None:
    storage = f"sqlite:///{tmp_path}/study.db"
    study = new_study(study_name="s", storage=storage)
    # The end is in the middle of a generation.
    study.optimize(sphere, n_trials=17)
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(PROGRAM), storage, "18"],
        capture_output=True,
        text=True,
        timeout=60.0,
        cwd=pathlib.Path(__file__).parent,
    )
    assert done.returncode == 0, done.stderr
    whole = new_study()
    whole.optimize(sphere, n_trials=35)
    assert params(optuna.load_study(study_name="s", storage=storage)) == params(whole)


def test_other_settings_than_those_of_the_study_are_refused() -> None:
    study = new_study(particles=5)
    study.optimize(sphere, n_trials=3)
    study.sampler = CboSampler(particles=6, seed=1)
    with pytest.raises(ValueError, match="particles = 6: the study .* was begun with 5"):
        study.optimize(sphere, n_trials=1)
    study.sampler = CboSampler(seed=1)
    with pytest.raises(ValueError, match="method = auto: the study .* was begun with cbo"):
        study.optimize(sphere, n_trials=1)
    study.sampler = CboSampler(particles=5, seed=2)
    with pytest.raises(ValueError, match="seed = 2"):
        study.optimize(sphere, n_trials=1)


def test_bad_settings() -> None:
    with pytest.raises(ValueError, match="particles = 0"):
        CboSampler(particles=0)
    with pytest.raises(TypeError, match="unknown keyword 'sgima'; did you mean 'sigma'"):
        CboSampler(sgima=1.0)
    study = optuna.create_study(directions=["minimize", "maximize"], sampler=CboSampler(seed=1))
    study.add_trial(
        optuna.create_trial(params={"x": 0.5}, distributions={"x": FloatDistribution(0, 1)}, values=[0, 0])
    )
    with pytest.raises(ValueError, match="one objective"):
        study.optimize(lambda trial: (trial.suggest_float("x", 0, 1), 0.0), n_trials=1)
