"""Shapes and dtypes of all kinds."""

import cbo
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

# The same examples in every run.
examples = settings(max_examples=60, derandomize=True, deadline=None, database=None)

FLOATS = st.sampled_from(["float32", "float64", "float16", ">f8", ">f4", "int32", "int8", "uint16"])


@examples
@given(
    particles=st.integers(1, 40),
    dim=st.integers(1, 9),
    dtype=FLOATS,
    order=st.sampled_from("CF"),
    step=st.integers(1, 2),
)
def test_x0_of_any_shape_and_dtype(particles, dim, dtype, order, step):
    points = np.asarray(np.arange(particles * dim * step) % 100, dtype=dtype).reshape(
        particles * step, dim, order=order
    )
    points = points[::step]
    seen = []

    def fun(x):
        seen.append(x.copy())
        return x[:, 0].astype(float)

    result = cbo.minimize(fun, x0=points, vectorized=True, steps=1, seed=0)
    assert np.array_equal(seen[0], points.astype(float)) and seen[0].shape == (particles, dim)
    assert result.population.shape == (particles, dim) and result.population_energies.shape == (particles,)
    assert result.x.shape == (dim,) == result.consensus.shape and result.nfev == 2 * particles + 1


@examples
@given(
    dtype=st.sampled_from(["f2", "f4", "f8", ">f8", "i8", "u1", "?"]),
    stride=st.integers(1, 3),
    wrap=st.booleans(),
)
def test_values_of_any_dtype(dtype, stride, wrap):
    def fun(x):
        values = np.repeat((np.arange(len(x)) % 2 + 1).astype(dtype), stride)[::stride]
        return list(values) if wrap else values

    result = cbo.minimize(fun, [(-1, 1)] * 2, vectorized=True, particles=6, steps=2, seed=0)
    assert result.fun == 1.0
    assert list(result.population_energies) == list((np.arange(6) % 2 + 1).astype(dtype).astype(float))


@examples
@given(
    bounds=hnp.arrays(np.float64, st.tuples(st.integers(1, 5), st.just(2)), elements=st.floats(-1e6, 1e6)),
    handling=st.sampled_from(["reflect", "clip"]),
    precision=st.sampled_from(["f32", "f64"]),
)
def test_particles_stay_in_any_box(bounds, handling, precision):
    bounds = np.sort(bounds, axis=1)
    bounds[:, 1] += np.maximum(1e-3, 1e-3 * np.abs(bounds).max(axis=1))
    low, high = (side.astype(np.float32 if precision == "f32" else np.float64) for side in bounds.T)

    def fun(x):
        assert (x >= low).all() and (x <= high).all()
        return x.sum(axis=1, dtype=float)

    cbo.minimize(
        fun,
        bounds,
        vectorized=True,
        particles=8,
        steps=4,
        seed=1,
        bound_handling=handling,
        precision=precision,
    )


@examples
@given(cuts=st.lists(st.integers(0, 12), max_size=4), data=st.data())
def test_tell_in_any_pieces(cuts, data):
    order = data.draw(st.permutations(range(12)))
    a, b = (cbo.Optimizer([(-1, 1)] * 3, particles=12, seed=1) for _ in range(2))
    x = a.ask()
    values = x[:, 0] ** 2
    a.tell(x, values)
    b.ask()
    for piece in np.split(np.array(order), sorted(cuts)):
        if len(piece):
            b.tell(x[piece], values[piece])
    assert np.array_equal(a.ask(), b.ask()) and b.step == 1
