"""Bad input of every kind: one sentence that names the argument, its value and what would be right."""

import cbo
import numpy as np
import pytest

BOX = [(-1.0, 1.0)] * 2


def sphere(x):
    return float(x @ x)


WRONG = [
    ({"sigma": "x"}, ValueError, "sigma = 'x': `x` is not a number"),
    ({"sigma": -1}, ValueError, "sigma = -1: must be zero or a positive finite number"),
    ({"alpha": [1]}, TypeError, "alpha = [1]: must be a number or a text"),
    ({"alpha": "ess:2"}, ValueError, "alpha = ess:2: the fraction must lie between 0 and 1"),
    ({"particles": 0}, ValueError, "particles = 0: must be at least 1"),
    ({"particles": 2.5}, ValueError, "particles = 2.5: must be a whole number"),
    ({"particles": "many"}, TypeError, "particles = 'many': must be a whole number"),
    ({"particles": True}, TypeError, "particles = True: must be a whole number"),
    ({"particels": 3}, TypeError, "unknown keyword 'particels'; did you mean 'particles'?"),
    ({"xyzzy": 3}, TypeError, "unknown keyword 'xyzzy'; the options are alpha, "),
    ({"lambda_": 1, "lambda": 1}, TypeError, "lambda is given twice"),
    ({"lambda": 0}, ValueError, "lambda_ = 0: must be a positive finite number"),
    ({"method": "cbo", "max_evaluations": 3}, ValueError, "max_evaluations = 3: contradicts the first step"),
    ({"seed": -1}, ValueError, "seed = -1: must be a whole number that is zero or positive"),
    ({"seed": "a"}, TypeError, "seed = 'a': must be a whole number"),
    ({"threads": 5000}, ValueError, "threads = 5000: at most 1024"),
    ({"diffusion": "round"}, ValueError, "diffusion = 'round': it is one of anisotropic, isotropic"),
    ({"diffusion": 3}, TypeError, "diffusion = 3: must be a text"),
    ({"precision": "f16"}, ValueError, "precision = 'f16': it is one of f32, f64"),
    ({"kick": "a"}, TypeError, "kick = 'a': must be a number"),
    ({"freeze": [1, 2, 3]}, ValueError, "freeze has the shape (3,): a point has 2 coordinates"),
    ({"freeze": "minimiser"}, ValueError, "freeze = 'minimiser': give a point, or"),
    ({"init": "norm"}, ValueError, "init = 'norm': an initial law is"),
    ({"reduction": "3"}, ValueError, "reduction = '3': a reduction is on, off or STRENGTH,LEAST"),
    ({"method": "cbo", "batch": 7}, ValueError, "batch = 7: must divide the number of particles, 400"),
    ({"strict": 3}, TypeError, "strict = 3: must be True or False"),
    ({"steps": 10, "time": 3.0}, ValueError, "steps = 10: contradicts time = 3"),
    ({"epoch_steps": 0}, ValueError, "epoch_steps = 0: must be at least 1"),
    ({"x0": [0, 0], "init": "normal:0,1"}, ValueError, "init and x0 both say where"),
    ({"x0": [9, 0]}, ValueError, "x0[0] = 9 lies outside its bounds (-1, 1)"),
    ({"x0": np.zeros((3, 2)), "particles": 5}, ValueError, "particles = 5: x0 has 3 points"),
    ({"x0": np.zeros((3, 2)), "spread": 5}, ValueError, "spread goes with one point"),
    ({"x0": [0, 0, 0]}, ValueError, "bounds have 2 pairs: there are 3 coordinates"),
    ({"x0": "abc"}, TypeError, "x0 is an array of <U3: it must hold real numbers"),
    ({"x0": [1j, 0]}, TypeError, "x0 is an array of complex128: it must hold real numbers"),
    ({"x0": [np.nan, 0]}, ValueError, "x0 holds nan: its numbers must be finite"),
    ({"x0": np.zeros((2, 2, 2))}, ValueError, "x0 has the shape (2, 2, 2): give one point"),
    ({"spread": 2}, ValueError, "spread is given without the point x0"),
    ({"x0": [0, 0], "spread": -1}, ValueError, "spread = -1: must be positive and finite"),
    ({"callback": 3}, TypeError, "callback = 3: must be a function"),
    ({"workers": 0}, ValueError, "workers = 0: "),
]


@pytest.mark.parametrize(("options", "kind", "sentence"), WRONG)
def test_settings(options, kind, sentence):
    with pytest.raises(kind) as caught:
        cbo.minimize(sphere, BOX, **options)
    assert str(caught.value).startswith(sentence) and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("bounds", "kind", "sentence"),
    [
        (None, ValueError, "bounds are missing"),
        ([(1, 2, 3)], ValueError, "bounds = [(1, 2, 3)]: must be a sequence of (low, high) pairs"),
        ([(2, 1)], ValueError, "bounds[0] = (2, 1): low must be below high"),
        ([(0, 1), (0, 0)], ValueError, "bounds[1] = (0, 0): low must be below high"),
        ([(float("nan"), 1)], ValueError, "bounds[0] = (nan, 1): low must be below high"),
        ([(None, 1)], ValueError, "bounds[0] = (-inf, 1): the swarm starts in a finite box"),
        ([1, 2], ValueError, "bounds = [1, 2]: must be a sequence"),
        ([("a", "b")], TypeError, "bounds is an array of <U1: it must hold real numbers"),
        ([], ValueError, "bounds have the shape (0,)"),
        (np.zeros((3, 3)), ValueError, "bounds have the shape (3, 3)"),
        (5, ValueError, "bounds = 5: must be a sequence"),
    ],
)
def test_bounds(bounds, kind, sentence):
    with pytest.raises(kind) as caught:
        cbo.minimize(sphere, bounds)
    assert str(caught.value).startswith(sentence)


@pytest.mark.parametrize(
    ("answer", "kind", "sentence"),
    [
        (
            None,
            TypeError,
            "fun returned None in step 0 for point 0: a function of one point returns a float (is a return",
        ),
        ("a", TypeError, "fun returned str 'a' in step 0 for point 0"),
        (1j, TypeError, "fun returned complex 1j in step 0 for point 0"),
        ([1, 2], ValueError, "fun returned list [1, 2] in step 0 for point 0"),
        (
            np.zeros(2),
            ValueError,
            "fun returned an array of shape (2,) and dtype float64 in step 0 for point 0",
        ),
        ({}, TypeError, "fun returned dict {} in step 0 for point 0"),
    ],
)
def test_what_a_function_returns(answer, kind, sentence):
    with pytest.raises(kind) as caught:
        cbo.minimize(lambda x: answer, BOX)
    assert str(caught.value).startswith(sentence)


@pytest.mark.parametrize(
    ("answer", "kind", "sentence"),
    [
        (
            lambda x: None,
            TypeError,
            "fun returned None in step 0: a vectorized function returns an array of shape (400,)",
        ),
        (lambda x: 1.0, ValueError, "fun returned float 1.0 in step 0: a vectorized"),
        (lambda x: x, ValueError, "fun returned an array of shape (400, 2) and dtype float64 in step 0"),
        (
            lambda x: x[:, :1],
            ValueError,
            "fun returned an array of shape (400, 1) and dtype float64 in step 0",
        ),
        (
            lambda x: x[:, 0] * 1j,
            TypeError,
            "fun returned an array of shape (400,) and dtype complex128 in step 0",
        ),
        (lambda x: [None] * len(x), TypeError, "fun returned list [None, "),
        (
            lambda x: np.array(["a"] * len(x)),
            TypeError,
            "fun returned an array of shape (400,) and dtype <U1 in step 0",
        ),
    ],
)
def test_what_a_vectorized_function_returns(answer, kind, sentence):
    with pytest.raises(kind) as caught:
        cbo.minimize(answer, BOX, method="cbo", vectorized=True)
    assert str(caught.value).startswith(sentence)


def test_exceptions_propagate_unchanged_and_leave_all_well():
    class Strange(Exception):
        pass

    error = Strange("from within")

    def fun(x):
        raise error

    for vectorized in (False, True):
        with pytest.raises(Strange) as caught:
            cbo.minimize(fun, BOX, vectorized=vectorized)
        assert caught.value is error
        assert caught.traceback[-1].name == "fun"
    assert cbo.minimize(sphere, BOX, particles=10, steps=5).nit == 5


def test_not_a_function():
    with pytest.raises(TypeError, match="fun = 3: must be a function of a point"):
        cbo.minimize(3, BOX)


def test_too_much_is_refused_at_once():
    with pytest.raises(MemoryError, match="particles = 4294967296: "):
        cbo.minimize(sphere, [(-1, 1)] * 10_000, particles=2**32)  # more than any machine can address
    with pytest.raises((ValueError, MemoryError), match="particles = "):
        cbo.minimize(sphere, BOX, particles=2**60)
    with pytest.raises(ValueError, match="dim = 1000000000000: must lie between 1 and"):
        cbo.problems.rastrigin(10**12)
    with pytest.raises(ValueError, match="dim = 100000: must lie between 1 and 5000 with a rotation"):
        cbo.problems.rastrigin(10**5, rotate=1)


def test_problems():
    with pytest.raises(AttributeError, match="did you mean 'rastrigin'?"):
        cbo.problems.rastrign  # noqa: B018
    for make, sentence in [
        (lambda: cbo.problems.rastrigin(), "rastrigin needs a dimension"),
        (lambda: cbo.problems.rastrigin(0), "dimension 0 of rastrigin is too small"),
        (lambda: cbo.problems.beale(3), "beale is defined in 2 dimensions, not 3"),
        (lambda: cbo.problems.rastrigin(2, shift=[1, 2, 3]), "shift has 3 coordinates"),
        (lambda: cbo.problems.rastrigin(2, wobble=1), "rastrigin has no parameter `wobble`"),
        (
            lambda: cbo.problems.rastrigin(2)([1, 2, 3]),
            "x has the shape (3,): rastrigin takes a point (2,) or rows",
        ),
    ]:
        with pytest.raises(ValueError) as caught:
            make()
        assert str(caught.value).startswith(sentence)
    with pytest.raises(TypeError, match="rotate = 'b': must be a whole number"):
        cbo.problems.rastrigin(2, rotate="b")
    with pytest.raises(TypeError, match="shift = x: must be a number, one for each coordinate"):
        cbo.problems.rastrigin(2, shift="x")
