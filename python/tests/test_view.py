"""The read-only view of the engine's memory that vectorised functions get: it can be kept without harm."""

import gc
import threading

import cbo
import numpy as np
import pytest

BOX = [(-1.0, 1.0)] * 5


def values(x):
    return np.einsum("ij,ij->i", x, x)


def test_it_is_a_view_and_read_only():
    seen = set()

    def fun(x):
        if len(x) > 1:
            seen.add(
                (x.__array_interface__["data"][0], x.flags.owndata, x.flags.writeable, x.base is not None)
            )
            with pytest.raises(ValueError):
                x[0, 0] = 1.0
            with pytest.raises(ValueError):
                x.flags.writeable = True
        return values(x)

    cbo.minimize(fun, BOX, vectorized=True, particles=30, steps=20)
    [(address, owns, writeable, based)] = seen  # the same memory in every step
    assert address and not owns and not writeable and based


KEEPERS = {
    "the array": lambda x: x,
    "a slice": lambda x: x[:, 1],
    "a slice of a slice": lambda x: x[3:][::2].T,
    "a memoryview": memoryview,
    "a buffer": lambda x: np.frombuffer(x, dtype=x.dtype),
    "its base": lambda x: x.base,
    "an interface": lambda x: np.lib.stride_tricks.as_strided(x),
}


@pytest.mark.parametrize("keep", KEEPERS.values(), ids=KEEPERS.keys())
@pytest.mark.parametrize("batch", [None, 10])
def test_what_is_kept_stays_as_it_was(keep, batch):
    kept, copies = [], []

    def fun(x):
        kept.append(keep(x))
        copies.append(np.array(keep(x.copy()) if keep is not KEEPERS["its base"] else 0))
        return values(x)

    keywords = dict(vectorized=True, particles=30, steps=20, seed=1, batch=batch)
    result = cbo.minimize(fun, BOX, **keywords)
    reference = cbo.minimize(values, BOX, **keywords)
    assert np.array_equal(result.x, reference.x) and np.array_equal(result.population, reference.population)
    gc.collect()
    if keep is not KEEPERS["its base"]:
        for a, b in zip(kept, copies, strict=True):
            assert np.array_equal(np.asarray(a), b)


def test_it_survives_in_tracebacks():
    def fun(x):
        part = x[2:]
        total = part.sum()
        raise ArithmeticError(total)

    with pytest.raises(ArithmeticError) as caught:
        cbo.minimize(fun, BOX, vectorized=True, particles=3000, seed=1)
    gc.collect()
    frame = caught.traceback[-1].frame
    local = frame.f_locals
    assert local["part"].sum() == caught.value.args[0]
    assert local["x"].shape == (3000, 5) and np.abs(local["x"]).max() <= 1


def test_another_thread_may_read_it_for_ever():
    done = threading.Event()
    trouble = []

    def fun(x):
        if len(threads) < 1:
            before = x.copy()

            def watch():
                while not done.is_set():
                    if not np.array_equal(x, before):
                        trouble.append("changed")
                        return

            threads.append(threading.Thread(target=watch))
            threads[0].start()
        return values(x)

    threads = []
    cbo.minimize(fun, BOX, vectorized=True, particles=200, steps=300, seed=1)
    done.set()
    threads[0].join()
    assert not trouble


def test_points_of_plain_functions_are_their_own():
    kept = []

    def fun(x):
        kept.append((x, x.copy()))
        value = float(x @ x)
        x[:] = np.nan  # as scratch
        kept[-1][0][:] = kept[-1][1]
        return value

    cbo.minimize(fun, BOX, particles=20, steps=5)
    assert all(np.array_equal(a, b) for a, b in kept) and len({id(a) for a, _ in kept}) == len(kept)
