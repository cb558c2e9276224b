"""`cbo.Optimizer`: ask and tell, in any order and in pieces, saved and loaded anywhere."""

import os
import pickle

import cbo
import numpy as np
import pytest

BOX = [(-5.0, 5.0)] * 3


def values(x):
    return np.sum(
        np.asarray(x, dtype=float) ** 2 + 2.5 * (1 - np.cos(2 * np.pi * np.asarray(x, dtype=float))), axis=1
    )


def make(**options):
    return cbo.Optimizer(BOX, **{"particles": 24, "steps": 12, "seed": 4, **options})


def finish(optimizer):
    while not optimizer.done:
        x = optimizer.ask()
        optimizer.tell(x, values(x))
    return optimizer.result()


def same(a, b):
    keys = (
        "x",
        "fun",
        "nfev",
        "nit",
        "consensus",
        "population",
        "population_energies",
        "stop",
        "failed_evaluations",
    )
    return all(np.array_equal(a[key], b[key], equal_nan=not isinstance(a[key], str)) for key in keys)


OPTIONS = [
    {},
    {"batch": 8},
    {"batch": 8, "update": "partial"},
    {"reduction": "on"},
    {"precision": "f32"},
    {"alpha": "ess:0.3"},
]


@pytest.mark.parametrize("options", OPTIONS)
def test_the_same_run_as_minimize(options):
    found = finish(make(**options))
    run = cbo.minimize(values, BOX, vectorized=True, particles=24, steps=12, seed=4, **options)
    assert np.array_equal(found.population, run.population)
    assert np.array_equal(found.consensus, run.consensus)
    # `minimize` evaluates the consensus point, too.
    assert found.nfev == run.nfev - 1 and found.fun >= run.fun
    assert found.nit == 12 and found.stop == "steps" and np.isnan(found.consensus_fun)


@pytest.mark.parametrize("precision", ["f32", "f64"])
def test_any_order_in_pieces(precision):
    reference = finish(make(precision=precision))
    optimizer, rng = make(precision=precision), np.random.default_rng(0)
    while not optimizer.done:
        x = optimizer.ask()
        for rows in np.array_split(rng.permutation(len(x)), 5):
            # As double precision, which is what JSON or a database would give back.
            optimizer.tell(x[rows].astype(float), values(x)[rows])
    assert same(optimizer.result(), reference)


def test_ask_gives_what_has_no_value_yet():
    optimizer = make()
    x = optimizer.ask()
    assert np.array_equal(optimizer.ask(), x) and optimizer.ask() is not x
    optimizer.tell(x[3], 1.0)
    optimizer.tell(x[5:7], [2.0, np.nan])
    assert np.array_equal(optimizer.ask(), np.delete(x, [3, 5, 6], axis=0))
    optimizer.tell(x[3], 1.0)  # again, the same
    optimizer.tell(x[6], np.nan)
    assert optimizer.step == 0 and optimizer.result().nfev == 0
    optimizer.ask()[:] = 0  # an array of one's own
    optimizer.tell(optimizer.ask(), np.ones(21))
    assert optimizer.result().failed_evaluations == 1 and optimizer.result().nfev == 24


def test_equal_points_are_told_one_after_the_other():
    optimizer = cbo.Optimizer(x0=np.ones((4, 2)), seed=1, steps=3)
    x = optimizer.ask()
    optimizer.tell(x[:2], [1.0, 2.0])
    assert len(optimizer.ask()) == 2
    optimizer.tell(x[2:], [3.0, 4.0])
    assert sorted(optimizer.result().population_energies) == [1, 2, 3, 4]


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("told", [0, 7])
def test_saved_and_loaded_anywhere(options, told, tmp_path):
    reference = finish(make(**options))
    optimizer = make(**options)
    path = tmp_path / "run.cbo"
    for _ in range(5):
        x = optimizer.ask()
        optimizer.tell(x, values(x))
    if told:
        x = optimizer.ask()
        optimizer.tell(x[:told], values(x)[:told])
    optimizer.save(path)
    again = cbo.Optimizer.load(path)
    assert again.step == optimizer.step
    assert np.array_equal(again.ask(), optimizer.ask())
    pickled = pickle.loads(pickle.dumps(optimizer))
    for run in (again, pickled, optimizer):
        result = finish(run)
        assert same(result, reference)
        assert np.array_equal(result.history["step"], reference.history["step"])
        assert np.array_equal(result.history["best"], reference.history["best"])
    assert os.listdir(tmp_path) == ["run.cbo"]


def test_saved_with_given_points(tmp_path):
    points = np.random.default_rng(1).normal(size=(10, 3))
    optimizer = cbo.Optimizer(x0=points, seed=2, steps=4, freeze=[0.0, 0.0, 0.0], target=np.float64(-1))
    optimizer.save(tmp_path / "a")
    assert same(finish(cbo.Optimizer.load(tmp_path / "a")), finish(optimizer))


def test_a_failed_save_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "run.cbo"
    optimizer = make()
    optimizer.save(path)
    before = path.read_bytes()
    monkeypatch.setattr(os, "replace", lambda a, b: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        optimizer.save(path)
    assert path.read_bytes() == before and os.listdir(tmp_path) == ["run.cbo"]
    with pytest.raises(FileNotFoundError):
        optimizer.save(tmp_path / "nowhere" / "run.cbo")


def test_files_that_are_something_else(tmp_path):
    path = tmp_path / "x"
    optimizer = make()
    x = optimizer.ask()
    optimizer.tell(x[:3], [1, 2, 3])
    optimizer.save(path)
    good = path.read_bytes()
    np.savez(tmp_path / "other.npz", a=np.zeros(3))
    wrong = [b"", b"hello", good[: len(good) // 2], (tmp_path / "other.npz").read_bytes(), pickle.dumps(3)]
    for data in wrong:
        path.write_bytes(data)
        with pytest.raises(ValueError, match="path = .*: this is not a saved optimizer, or it is damaged"):
            cbo.Optimizer.load(path)
    with pytest.raises(FileNotFoundError):
        cbo.Optimizer.load(tmp_path / "nothing")


def test_every_flipped_bit_and_every_truncation_is_an_error(tmp_path):
    path = tmp_path / "x"
    optimizer = cbo.Optimizer(bounds=[(-1, 1)], particles=2, seed=1, steps=3)
    x = optimizer.ask()
    optimizer.tell(x[:1], [1])
    optimizer.save(path)
    good = path.read_bytes()

    def wrong(data):
        try:
            cbo.Optimizer._from_bytes(data)
        except ValueError as error:
            assert "damaged" in str(error)
        else:
            raise AssertionError("a damaged file was loaded")

    for bit in range(8 * len(good)):
        wrong(good[: bit // 8] + bytes([good[bit // 8] ^ 1 << bit % 8]) + good[bit // 8 + 1 :])
    for length in range(len(good)):
        wrong(good[:length])
    wrong(good + b"x")
    path.write_bytes(good[:-1])
    with pytest.raises(ValueError, match="path = .*damaged"):
        cbo.Optimizer.load(path)


def test_files_of_the_version_before(tmp_path):
    """An archive without a checksum: read, and whatever is found to be wrong is told at once."""
    path = tmp_path / "x"
    optimizer = make()
    x = optimizer.ask()
    optimizer.tell(x[:3], [1, 2, 3])
    archive = optimizer._to_bytes()
    archive = archive[archive.index(b"PK\x03\x04") :].replace(b'"\x00\x00\x00version', b"version")
    path.write_bytes(archive)
    again = cbo.Optimizer.load(path)
    assert np.array_equal(again.ask(), optimizer.ask())
    for place in range(0, len(archive), 7):
        path.write_bytes(archive[:place] + bytes([archive[place] ^ 1]) + archive[place + 1 :])
        try:
            loaded = cbo.Optimizer.load(path)
        except ValueError as error:
            assert str(error).startswith("path = ")
        else:
            loaded.ask()
            loaded.result()


def test_masked_values_are_failed_evaluations():
    told, masked = make(), make()
    x = told.ask()
    f = values(x)
    hidden = np.arange(len(f)) % 5 == 0
    told.tell(x, np.where(hidden, np.nan, f))
    masked.tell(masked.ask(), np.ma.array(f, mask=hidden))
    assert told.result().failed_evaluations == masked.result().failed_evaluations == hidden.sum()
    assert np.array_equal(told.ask(), masked.ask())


def test_misuse():
    optimizer = make()
    with pytest.raises(RuntimeError, match="tell before ask"):
        optimizer.tell([[0, 0, 0]], [1])
    x = optimizer.ask()
    for points, told, kind, sentence in [
        (x + 1e-9, values(x), ValueError, "is not one of the points last asked for"),
        (x, values(x)[1:], ValueError, r"f has the shape \(23,\): 24 points have 24 values"),
        (x[:, :2], values(x), ValueError, r"x has the shape \(24, 2\): points are rows of 3 numbers"),
        (x, ["a"] * 24, TypeError, "f is an array of <U1: it must hold real numbers"),
        (x, values(x) * 1j, TypeError, "f is an array of complex128"),
        (x, None, TypeError, "f is .*None"),
        (x[0], [1.0], ValueError, r"x has the shape \(3,\)"),
    ]:
        with pytest.raises(kind, match=sentence):
            optimizer.tell(points, told)
    assert len(optimizer.ask()) == 24
    optimizer.tell(x[0], 1.0)
    with pytest.raises(ValueError, match=r"x\[0\] already has the value .*1.0.*, and is now told .*2.0"):
        optimizer.tell(x[0], 2.0)
    # Nothing of a refused call is taken.
    with pytest.raises(ValueError):
        optimizer.tell(np.vstack([x[1], x[0]]), [5.0, 2.0])
    assert len(optimizer.ask()) == 23
    finish(optimizer)
    with pytest.raises(RuntimeError, match=r"the run has ended \(steps\)"):
        optimizer.ask()
    with pytest.raises(TypeError, match="did you mean 'particles'"):
        cbo.Optimizer(BOX, particle=3)


def test_a_step_without_values_ends_the_run(tmp_path):
    optimizer = make()
    x = optimizer.ask()
    with pytest.raises(RuntimeError, match="none of the 24 points evaluated has a finite energy"):
        optimizer.tell(x, np.full(24, np.nan))
    for run in (optimizer, pickle.loads(pickle.dumps(optimizer))):
        with pytest.raises(RuntimeError, match="the run has ended with an error: .*none of the 24"):
            run.ask()


def test_results_before_the_first_step():
    result = make().result()
    assert np.isnan(result.x).all() and result.fun == np.inf and result.nfev == 0 and result.stop == ""
    assert (result.status, result.success) == (3, False)
