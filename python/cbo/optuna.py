"""Consensus-based optimization as an optuna sampler.

>>> import optuna
>>> import cbo.optuna
>>> optuna.logging.set_verbosity(optuna.logging.WARNING)
>>> study = optuna.create_study(sampler=cbo.optuna.CboSampler(seed=1))
>>> study.optimize(lambda trial: (trial.suggest_float("x", -5, 5) - 2) ** 2, n_trials=200)
>>> abs(study.best_params["x"] - 2) < 0.1
True
"""

from __future__ import annotations

import hashlib
import json
import math
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from optuna.distributions import BaseDistribution  # type: ignore[import-not-found,unused-ignore]
from optuna.samplers import BaseSampler, RandomSampler  # type: ignore[import-not-found,unused-ignore]
from optuna.search_space import IntersectionSearchSpace  # type: ignore[import-not-found,unused-ignore]
from optuna.study import Study, StudyDirection  # type: ignore[import-not-found,unused-ignore]
from optuna.trial import FrozenTrial, TrialState  # type: ignore[import-not-found,unused-ignore]

from . import _lib
from ._method import is_auto, settle_method
from ._optimizer import Optimizer
from ._options import checked
from ._optuna_space import described, is_number, parameter
from ._space import Seed, fresh_seed, read_seed

__all__ = ["CboSampler"]

_SETTINGS = "cbo:settings"
_POINT = "cbo:point"


class CboSampler(BaseSampler):  # type: ignore[misc,unused-ignore]
    """Samples the numbers of a trial by the method auto, or from a swarm of particles.

    Trials are the points of a `cbo.Optimizer`, one generation after the other. By default it has the method
    auto, which needs no settings. With ``particles`` or another setting of the dynamics it is a swarm of the
    method cbo; when that has contracted, or when a whole generation failed, a fresh swarm starts.

    Parameters
    ----------
    particles : int, optional
        Trials of a generation of a swarm: 20 if another setting of the dynamics is given and this is not. Fewer
        may do better in short studies.
    seed : int, optional
        Seed of the swarm and of the independent sampler.
    independent_sampler : optuna.samplers.BaseSampler, optional
        For what is not a coordinate of the swarm: categorical parameters, parameters that only some trials
        have, and all parameters until a first trial has shown which there are. ``RandomSampler`` by default.
    **options
        Settings of the engine, as for `cbo.minimize`: ``sigma``, ``alpha`` and so on. ``batch`` is the least
        number of trials that the method auto asks for at once: as many as run at once (``n_jobs``) do well.

    Notes
    -----
    Floats and ints are coordinates, with ``log`` on a logarithmic scale and with ``step`` in equal shares.

    The storage of the study remembers the settings and, for each trial, which particle it is. From these and
    the values of the trials the swarm is recomputed, so a study can be loaded in another process, or be
    shared by several processes, and continues as if nothing had happened (with the same version of this
    package; another version starts a fresh swarm).

    Trials that failed, were pruned or returned NaN have no weight in the swarm. A trial that asks for a point
    while the last ones of a generation still run gets a point that is already running, so that a trial that
    never ends (its process was killed, say) does not hold up the study. The first value of a point counts.

    Examples
    --------
    >>> import optuna
    >>> import cbo.optuna
    >>> optuna.logging.set_verbosity(optuna.logging.WARNING)
    >>> def objective(trial):
    ...     rate = trial.suggest_float("rate", 1e-5, 1e-1, log=True)
    ...     layers = trial.suggest_int("layers", 1, 8)
    ...     return (layers - 3) ** 2 + abs(rate - 1e-3)
    >>> study = optuna.create_study(sampler=cbo.optuna.CboSampler(seed=1))
    >>> study.optimize(objective, n_trials=150)
    >>> study.best_params["layers"]
    3
    """

    def __init__(
        self,
        *,
        particles: int | None = None,
        seed: Seed | None = None,
        independent_sampler: BaseSampler | None = None,
        **options: Any,
    ) -> None:
        self._settings: dict[str, Any] = _settled(particles, options)
        self._seed: int | None = None if seed is None else read_seed(seed)
        self._independent = RandomSampler(seed=self._seed) if independent_sampler is None else independent_sampler
        self._search_space = IntersectionSearchSpace()
        self._swarm: _Swarm | None = None
        self._lock = threading.Lock()
        # Settings that the engine refuses are refused here, not in the middle of a study.
        _Swarm("", 1, self._settings, 0)
        try:
            json.dumps(self._settings)
        except TypeError as error:
            message = f"options = {options!r:.60}: they must be plain numbers and texts ({error})"
            raise TypeError(message) from None

    def __getstate__(self) -> dict[str, Any]:
        # The swarm is in the storage.
        return {**self.__dict__, "_lock": None, "_swarm": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock = threading.Lock()

    def reseed_rng(self) -> None:
        """Reseeds the independent sampler, as optuna wants for ``n_jobs`` above 1; the swarm is shared."""
        self._independent.reseed_rng()

    def infer_relative_search_space(self, study: Study, trial: FrozenTrial) -> dict[str, BaseDistribution]:
        """The numbers that all completed trials have."""
        with self._lock:
            space = self._search_space.calculate(study)
        return {name: space[name] for name in sorted(space) if is_number(space[name])}

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        """The parameters of a particle that waits for its value."""
        if len(study.directions) > 1:
            raise ValueError(f"directions = {study.directions}: CboSampler takes studies with one objective")
        # A trial with the user's values would not be the point of the particle it stands for.
        if not search_space or "fixed_params" in trial.system_attrs:
            return {}
        with self._lock:
            swarm = self._current_swarm(study, search_space)
            taken = swarm.catch_up(study)
            row = _choose(taken, len(swarm.points))
            study._storage.set_trial_system_attr(trial._trial_id, _POINT, [swarm.key, swarm.generation, row])
            point = swarm.points[row]
        names = sorted(search_space)
        return {name: parameter(search_space[name], float(u)) for name, u in zip(names, point, strict=True)}

    def sample_independent(
        self, study: Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        """A parameter from the independent sampler."""
        return self._independent.sample_independent(study, trial, param_name, param_distribution)

    def before_trial(self, study: Study, trial: FrozenTrial) -> None:
        """Passed on to the independent sampler."""
        self._independent.before_trial(study, trial)

    def after_trial(
        self, study: Study, trial: FrozenTrial, state: TrialState, values: Sequence[float] | None
    ) -> None:
        """Passed on to the independent sampler."""
        self._independent.after_trial(study, trial, state, values)

    def _current_swarm(self, study: Study, search_space: dict[str, BaseDistribution]) -> _Swarm:
        settings = self._stored_settings(study)
        text = "\n".join([_lib.__version__, json.dumps(settings, sort_keys=True), described(search_space)])
        key = hashlib.sha256(text.encode()).hexdigest()[:16]
        if self._swarm is None or self._swarm.key != key:
            seed = settings.pop("seed")
            self._swarm = _Swarm(key, len(search_space), settings, seed)
        return self._swarm

    def _stored_settings(self, study: Study) -> dict[str, Any]:
        """The settings of the study: those of the sampler that was here first."""
        storage, number = study._storage, study._study_id
        if _SETTINGS not in storage.get_study_system_attrs(number):
            seed = fresh_seed() if self._seed is None else self._seed
            storage.set_study_system_attr(number, _SETTINGS, json.dumps({**self._settings, "seed": seed}))
        stored: dict[str, Any] = json.loads(storage.get_study_system_attrs(number)[_SETTINGS])
        stored.setdefault("method", "cbo")  # studies begun before there was a choice
        wanted = self._settings if self._seed is None else {**self._settings, "seed": self._seed}
        for name in sorted(stored.keys() | wanted.keys()):
            if name not in wanted and name == "seed":
                continue
            if wanted.get(name) != stored.get(name):
                raise ValueError(
                    f"{name} = {wanted.get(name)}: the study {study.study_name!r} was begun with "
                    f"{stored.get(name)}; use the same, or begin a new study"
                )
        return stored


def _settled(particles: int | None, options: dict[str, Any]) -> dict[str, Any]:
    """The settings of an optimizer, with a method."""
    settings = checked(options, "particles", "seed", "independent_sampler")
    if particles is not None:
        settings = {"particles": particles, **settings}
    settle_method(settings, swarm=False)
    if not is_auto(settings):
        settings.setdefault("particles", 20)
    return settings


def _choose(taken: dict[int, list[FrozenTrial]], count: int) -> int:
    """A row without a trial, or the one of which the trials have run longest."""
    for row in range(count):
        if row not in taken:
            return row
    running = {row: trials for row, trials in taken.items() if not any(t.state.is_finished() for t in trials)}
    return min(running, key=lambda row: (len(running[row]), running[row][0].number))


class _Swarm:
    """The swarm of one study and search space, as far as the values of the trials go."""

    def __init__(self, key: str, dim: int, settings: dict[str, Any], seed: int) -> None:
        self.key = key
        self.generation = 0
        self._dim, self._settings, self._seed = dim, settings, seed
        self._begin()

    def _begin(self) -> None:
        self._optimizer = Optimizer(bounds=[(0.0, 1.0)] * self._dim, seed=self._seed, **self._settings)
        self.points: NDArray[np.float64] = self._optimizer.ask()

    def catch_up(self, study: Study) -> dict[int, list[FrozenTrial]]:
        """Tells the generations that are complete; gives the trials of the current one by their rows."""
        sign = -1.0 if study.direction == StudyDirection.MAXIMIZE else 1.0
        generations: dict[int, dict[int, list[FrozenTrial]]] = {}
        for trial in study.get_trials(deepcopy=False):
            key, generation, row = trial.system_attrs.get(_POINT, ("", 0, 0))
            if key == self.key and generation >= self.generation:
                generations.setdefault(generation, {}).setdefault(row, []).append(trial)
        while True:
            taken = generations.get(self.generation, {})
            values = [_value(taken.get(row, []), sign) for row in range(len(self.points))]
            known = [value for value in values if value is not None]
            if len(known) < len(values):
                return taken
            self._tell(np.array(known))

    def _tell(self, values: NDArray[np.float64]) -> None:
        self.generation += 1
        # A swarm cannot continue where no particle has a value; the method auto can.
        if is_auto(self._settings) or np.isfinite(values).any():
            try:
                self._optimizer.tell(self.points, values)
            except _lib.NoFiniteEnergy:
                pass  # not one value in a whole run of the method auto
            else:
                if not self._optimizer.done:
                    self.points = self._optimizer.ask()
                    return
        self._seed += 1
        self._begin()


def _value(trials: list[FrozenTrial], sign: float) -> float | None:
    """The value of a point that has these trials; NaN if all of them failed, None if it has none yet."""
    finished = [trial for trial in trials if trial.state.is_finished()]
    if not finished:
        return None
    first = min(finished, key=lambda trial: (trial.datetime_complete, trial.number))
    return sign * first.value if first.state == TrialState.COMPLETE and first.value is not None else math.nan
