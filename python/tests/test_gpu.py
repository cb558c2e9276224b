"""Functions whose points are on a GPU: with torch, JAX and CuPy, beside the same runs on the processor.

Left out where there is no GPU. With pytest, or alone: ``python3 test_gpu.py``. A build of the package with the feature
``stand-in`` runs those tests that need NumPy alone on the processor, by the kernels of the GPU.
"""

from __future__ import annotations

import math
import os
import sys
import tempfile
import time
import traceback
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

import cbo
from cbo import _lib

try:
    import pytest
except ImportError:  # the tests run without it, too
    pytest = None  # type: ignore[assignment]


class Skip(Exception):
    """A test that cannot run here, and why."""


def _fault(device: str) -> str | None:
    try:
        _lib.check_device(device)
    except ValueError as error:
        return str(error)
    return None


NO_GPU = _fault("cuda:0")
STAND_IN = _fault("stand-in") is None
# What NumPy can see: the stand-in for a GPU; otherwise CuPy copies to it.
DEVICE = "cuda:0" if NO_GPU is None else "stand-in"

if pytest is not None:
    pytestmark = pytest.mark.skipif(NO_GPU is not None and not STAND_IN, reason=str(NO_GPU))


def skip(why: str) -> None:
    if pytest is not None and "PYTEST_CURRENT_TEST" in os.environ:
        pytest.skip(why)
    raise Skip(why)


def gpu() -> str:
    if NO_GPU is not None:
        skip(NO_GPU)
    return "cuda:0"


def library(name: str) -> Any:
    """A library that sees the GPU."""
    gpu()
    try:
        if name == "jax":
            os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
            import jax

            jax.config.update("jax_enable_x64", True)
            if jax.default_backend() not in ("gpu", "cuda"):
                skip("JAX does not see the GPU")
            return jax
        module = __import__(name)
    except ImportError:
        skip(f"{name} is not installed")
    if name == "torch" and not module.cuda.is_available():
        skip("torch does not see the GPU")
    return module


def raises(kind: type[BaseException], text: str, call: Callable[[], Any]) -> BaseException:
    try:
        call()
    except kind as error:
        assert text in str(error), str(error)
        return error
    raise AssertionError(f"no {kind.__name__}: {text}")


# Exactly the same on any processor: products and sums of few, small whole numbers of eighths.
def exact(x: Any) -> Any:
    """A function with the same bits in every library: no sum of more than two numbers in an order of its own."""
    total = (x[:, 0] - 1) * (x[:, 0] - 1)
    for k in range(1, x.shape[1]):
        total = total + (x[:, k] - 1) * (x[:, k] - 1)
    return total


SWARM: dict[str, Any] = dict(bounds=[(-5, 5)] * 5, particles=3000, steps=40, sigma=1.0, seed=7)

# Settings with which all runs are compared.
SETTINGS: list[dict[str, Any]] = [
    {},
    {"precision": "f32"},
    {"diffusion": "isotropic", "alpha": "ess:0.1", "bound_handling": "clip"},
    {"kick": 0.5, "scheme": "drift-first", "alpha": 1e3, "truncation": 2.0},
    {"target": 0.5},
    {"max_evaluations": 20_000},
    {"steps": None, "diameter": 1.0, "sigma": 0.3},
    {"particles": 1, "steps": 3},
    {"freeze": [1.0] * 5, "precision": "f32"},
]


def same(here: cbo.OptimizeResult, there: cbo.OptimizeResult) -> None:
    """Everything but times and the spread, which a GPU does not look at."""
    for name in here:
        if name in ("seconds", "history"):
            continue
        if isinstance(here[name], np.ndarray):
            np.testing.assert_array_equal(here[name], there[name], err_msg=name)
            assert here[name].dtype == there[name].dtype, name
        else:
            assert here[name] == there[name] or here[name] != here[name], (name, here[name], there[name])
    for name, column in here.history.items():
        if name != "spread":
            np.testing.assert_array_equal(column, there.history[name], err_msg=name)


def compared(fun: Callable[[Any], Any], like: Any, device: str) -> None:
    for settings in SETTINGS:
        given = {**SWARM, **settings}
        here = cbo.minimize(exact, vectorized=True, **given)
        same(here, cbo.minimize(fun, vectorized=True, device=device, like=like, **given))


def test_numpy_on_the_stand_in() -> None:
    if not STAND_IN:
        skip("this build has no stand-in for a GPU")
    compared(exact, "numpy", "stand-in")


def test_torch() -> None:
    library("torch")
    compared(exact, "torch", gpu())


def test_cupy() -> None:
    library("cupy")
    compared(exact, "cupy", gpu())


def test_jax() -> None:
    jax = library("jax")
    # Not compiled: a compiler may fuse multiplications and additions.
    compared(exact, "jax", gpu())
    compiled = jax.jit(lambda x: jax.numpy.sum((x - 1) ** 2, axis=1))
    for precision in ("f64", "f32"):
        result = cbo.minimize(
            compiled, vectorized=True, device=gpu(), like="jax", **{**SWARM, "precision": precision}
        )
        assert result.fun < 0.1, result


def test_what_a_function_is_given() -> None:
    """No copy: the tensors of all libraries lie where the points do, coordinate by coordinate."""
    torch = library("torch")
    seen: list[Any] = []

    def fun(points: Any) -> Any:
        if not seen:
            assert points.__dlpack_device__() == (2, 0) and points.device == "cuda:0" and points.dtype == "float32"
            assert points.shape == (3000, 5) and len(points) == 3000
            x = torch.from_dlpack(points)
            seen.append((x.data_ptr(), x.stride(), x.shape, x.dtype, x.device.type))
            for name in ("cupy", "jax"):
                try:
                    module = library(name)
                except ImportError:
                    continue
                y = (module.numpy if name == "jax" else module).from_dlpack(points)
                np.testing.assert_array_equal(
                    x.cpu().numpy(), module.asnumpy(y) if name == "cupy" else np.asarray(y)
                )
                if name == "cupy":
                    assert y.data.ptr == x.data_ptr()
            raises(BufferError, "are not copied", lambda: points.__dlpack__(copy=True))
            raises(BufferError, "not copied to cpu", lambda: points.__dlpack__(dl_device=(1, 0)))
            raises(ValueError, "stream = 0", lambda: points.__dlpack__(stream=0))
            for stream in (None, -1, 1, 2):
                for version in (None, (1, 0), (0, 8)):
                    points.__dlpack__(stream=stream, max_version=version)
        return exact(torch.from_dlpack(points))

    result = cbo.minimize(fun, vectorized=True, device="cuda", precision="f32", **SWARM)
    same(cbo.minimize(exact, vectorized=True, precision="f32", **SWARM), result)
    [(pointer, stride, shape, dtype, device)] = seen
    assert pointer % 256 == 0 and stride == (1, 3000) and shape == (3000, 5)
    assert dtype == torch.float32 and device == "cuda"


def test_work_on_other_streams_is_waited_for() -> None:
    """Long work on a stream of the function's own, before the points are read and before the values are there."""
    torch = library("torch")
    side = torch.cuda.Stream()
    matrix = torch.rand(3000, 3000, device="cuda")

    def slow(x: Any) -> Any:
        for _ in range(3):
            torch.mm(matrix, matrix)
        return exact(x)

    def beside(points: Any) -> Any:
        with torch.cuda.stream(side):
            values = slow(torch.from_dlpack(points))
        torch.cuda.current_stream().wait_stream(side)
        return values

    def within(points: Any) -> Any:
        # The object is made and given back on the side stream, which is current where it is exported.
        with torch.cuda.stream(side):
            return Exported(slow(torch.from_dlpack(points)), torch, side)

    here = cbo.minimize(exact, vectorized=True, **SWARM)
    for fun, like in ((slow, "torch"), (beside, None), (within, None)):
        same(here, cbo.minimize(fun, vectorized=True, device=gpu(), like=like, **SWARM))
    cupy = library("cupy")
    stream = cupy.cuda.Stream(non_blocking=True)

    def other(points: Any) -> Any:
        with stream:
            big = cupy.ones((3000, 3000), dtype=cupy.float32)
            cupy.matmul(big, big)
            values = exact(cupy.from_dlpack(points))
        cupy.cuda.get_current_stream().wait_event(stream.record())
        return values

    same(here, cbo.minimize(other, vectorized=True, device=gpu(), **SWARM))


class Exported:
    """A tensor that is exported while a stream of its own is current."""

    def __init__(self, tensor: Any, torch: Any = None, stream: Any = None) -> None:
        self.tensor, self.torch, self.stream = tensor, torch, stream

    def __dlpack_device__(self) -> Any:
        return self.tensor.__dlpack_device__()

    def __dlpack__(self, **named: Any) -> Any:
        if self.stream is None:
            return self.tensor.__dlpack__(**named)
        with self.torch.cuda.stream(self.stream):
            return self.tensor.__dlpack__(**named)


def test_values_may_be_copied_up() -> None:
    """Values of NumPy, and of tensors that are not on the GPU."""
    torch = library("torch")
    here = cbo.minimize(exact, vectorized=True, **SWARM)
    ways: list[Callable[[Any], Any]] = [lambda x: exact(x).cpu().numpy(), lambda x: exact(x).cpu()]
    ways.append(lambda x: exact(x).cpu().tolist())
    for way in ways:
        same(here, cbo.minimize(way, vectorized=True, device=gpu(), like="torch", **SWARM))
    assert torch.is_grad_enabled()


def array_module() -> tuple[Any, str, Any]:
    """A library for arrays on the device, its name for `like`, and what wraps its values so that they are tensors."""
    if NO_GPU is None:
        return library("cupy"), "cupy", lambda values: values
    return np, "numpy", Exported


def test_wrong_values_are_named() -> None:
    xp, like, tensor = array_module()
    place = "cuda:0" if like == "cupy" else "cpu"

    def minimize(fun: Callable[[Any], Any], **settings: Any) -> Any:
        return cbo.minimize(fun, vectorized=True, device=DEVICE, like=like, **{**SWARM, **settings})

    right = f"for points of shape (3000, 5) it returns a contiguous tensor of shape (3000,) and dtype float64 on {place}"
    for wrong, what in [
        (lambda x: tensor(xp.zeros((3000, 1))), f"a tensor of shape (3000, 1) and dtype float64 on {place}"),
        (lambda x: tensor(xp.zeros(7)), f"a tensor of shape (7,) and dtype float64 on {place}"),
        (lambda x: tensor(xp.zeros(3000, dtype="float32")), f"of shape (3000,) and dtype float32 on {place}"),
        (lambda x: tensor(xp.zeros(3000, dtype="int64")), f"of shape (3000,) and dtype int64 on {place}"),
        (lambda x: tensor(xp.zeros(6000)[::2]), f"not contiguous, of shape (3000,) and dtype float64 on {place}"),
    ]:
        error = raises(ValueError, what, lambda wrong=wrong: minimize(wrong))  # type: ignore[misc]
        assert "fun returned a tensor" in str(error) and f"in step 0: {right}" in str(error), error
    raises(TypeError, "fun returned None in step 0", lambda: minimize(lambda x: None))
    raises(ValueError, "an array of shape (2,)", lambda: minimize(lambda x: np.zeros(2)))
    raises(ValueError, "dtype float64", lambda: minimize(lambda x: tensor(xp.zeros(3000)), precision="f32"))
    raises(ValueError, "like = 'tensorflow'", lambda: cbo.minimize(exact, vectorized=True, device=DEVICE, like="tensorflow", **SWARM))  # type: ignore[arg-type]


def test_exceptions_callbacks_and_failures() -> None:
    xp, like, tensor = array_module()
    steps = []

    def fragile(x: Any) -> Any:
        steps.append(len(x))
        if len(steps) == 6:
            raise OSError("the disk is full")
        return tensor(exact(x))

    given: dict[str, Any] = {"vectorized": True, "device": DEVICE, "like": like, **SWARM}
    error = raises(OSError, "the disk is full", lambda: cbo.minimize(fragile, **given))
    here = cbo.minimize(exact, vectorized=True, **{**SWARM, "steps": 4})
    result = error.result  # type: ignore[attr-defined]
    assert result.nfev == 5 * 3000 and result.stop == "exception" and result.fun == here.population_energies.min()

    def stop(step: cbo.OptimizeResult) -> bool:
        assert step.population.shape == (3000, 5)
        return step.nit == 3

    same(
        cbo.minimize(exact, vectorized=True, callback=stop, **SWARM),
        cbo.minimize(lambda x: tensor(exact(x)), callback=stop, **given),
    )

    def failing(module: Any) -> Callable[[Any], Any]:
        return lambda x: module.where(x[:, 0] > 1, module.nan, module.where(x[:, 1] > 1, module.inf, exact(x)))

    there = cbo.minimize(lambda x: tensor(failing(xp)(x)), **given)
    same(cbo.minimize(failing(np), vectorized=True, **SWARM), there)
    assert there.failed_evaluations > 0 and there.infeasible_evaluations > 0
    raises(RuntimeError, "finite", lambda: cbo.minimize(lambda x: tensor(exact(x) * math.nan), **given))
    raises(RuntimeError, "particle", lambda: cbo.minimize(lambda x: tensor(failing(xp)(x)), strict=True, **given))


def test_the_consensus_point_is_evaluated_too() -> None:
    xp, like, tensor = array_module()
    counts: list[int] = []

    def fun(x: Any, offset: float) -> Any:
        counts.append(len(x))
        return tensor(exact(x) + offset)

    result = cbo.minimize(fun, args=(2.0,), vectorized=True, device=DEVICE, like=like, **SWARM)
    assert counts == [3000] * 41 + [1] and result.nfev == 41 * 3000 + 1 and result.method == "cbo"
    assert result.consensus_fun >= 2.0


def test_memory_lives_as_long_as_a_tensor() -> None:
    xp, like, tensor = array_module()
    kept: list[Any] = []

    def fun(x: Any) -> Any:
        kept.append(x)
        return tensor(exact(x))

    result = cbo.minimize(fun, vectorized=True, device=DEVICE, like=like, **SWARM)
    # The last but one is a view of the swarm at the end; the last is the consensus point.
    last = kept[-2].get() if like == "cupy" else kept[-2]
    np.testing.assert_array_equal(last, result.population)
    reference = weakref.ref(result)
    del result
    assert reference() is None


def test_problems_and_formulas() -> None:
    for precision in ("f64", "f32"):
        given: dict[str, Any] = {"particles": 3000, "steps": 40, "seed": 3, "precision": precision}
        problem = cbo.problems.rastrigin(5, shift=1.0, rotate=2)
        same(cbo.minimize(problem, **given), cbo.minimize(problem, device=DEVICE, **given))
        formula = cbo.Formula("sum(x^2 + a*(1 - cos(2*pi*x)))", a=2.5)
        box = [(-5, 5)] * 5
        same(cbo.minimize(formula, box, **given), cbo.minimize(formula, box, device=DEVICE, **given))
        given |= {"batch": 300}
        same(cbo.minimize(problem, **given), cbo.minimize(problem, device=DEVICE, **given))
    result = cbo.minimize(cbo.problems.rastrigin(5), device=DEVICE, seed=1)
    assert result.method == "cbo"
    raises(ValueError, "adam", lambda: cbo.minimize(cbo.problems.sphere(2), device=DEVICE, method="adam"))
    raises(ValueError, "auto", lambda: cbo.minimize(cbo.problems.sphere(2), device=DEVICE, method="auto"))
    raises(ValueError, "update = partial", lambda: cbo.minimize(cbo.problems.sphere(2), device=DEVICE, batch=100, update="partial"))


def test_ask_and_tell() -> None:
    xp, like, tensor = array_module()
    for precision in ("f64", "f32"):
        given: dict[str, Any] = {**SWARM, "precision": precision}
        here, there = cbo.Optimizer(**given), cbo.Optimizer(device=DEVICE, like=like, **given)
        raises(RuntimeError, "tell before ask", lambda there=there: there.tell(np.zeros((3000, 5)), np.zeros(3000)))  # type: ignore[misc]
        while not here.done:
            x = here.ask()
            here.tell(x, exact(x))
            y = there.ask()
            assert there.step == here.step
            np.testing.assert_array_equal(x, y.get() if like == "cupy" else y)
            assert there.ask().shape == (3000, 5)
            # Now and then from this machine's memory.
            there.tell(y, exact(x) if here.step % 5 == 0 else tensor(exact(y)))
            if here.step == 20:
                with tempfile.TemporaryDirectory() as folder:
                    path = os.path.join(folder, "run.cbo")
                    there.save(path)
                    there = cbo.Optimizer.load(path)
                    processor = cbo.Optimizer.load(path, device="cpu")
        assert there.done and there.stop == here.stop == "steps"
        same(here.result(), there.result())
        while not processor.done:
            x = processor.ask()
            processor.tell(x, exact(x))
        same(here.result(), processor.result())
    there = cbo.Optimizer(device=DEVICE, like=like, **SWARM)
    x = there.ask()
    raises(ValueError, "x has the shape (2, 5)", lambda: there.tell(x[:2], tensor(xp.zeros(2))))
    raises(ValueError, "a tensor of shape (2,)", lambda: there.tell(x, tensor(xp.zeros(2))))
    # Nothing was told.
    there.tell(x, tensor(exact(x)))
    assert there.step == 0 and there.result().nfev == 3000


def test_a_module_on_the_gpu_is_trained_there() -> None:
    torch = library("torch")
    torch.manual_seed(1)
    inputs = torch.linspace(-1.0, 1.0, 40)[:, None]

    def module(device: str) -> Any:
        torch.manual_seed(2)
        layers = torch.nn.Linear(1, 6), torch.nn.Tanh(), torch.nn.Linear(6, 1)
        return torch.nn.Sequential(*layers).to(device)

    calls: list[str] = []

    def loss(net: Any) -> Any:
        assert not torch.is_grad_enabled()
        x = inputs.to(net[0].weight.device)
        calls.append(x.device.type)
        return torch.mean((net(x) - x**2) ** 2)

    def close(found: Any, value: float) -> None:
        with torch.no_grad():
            assert math.isclose(float(loss(found)), value, rel_tol=1e-4, abs_tol=1e-7)

    settings: dict[str, Any] = {"particles": 60, "steps": 30, "seed": 1}
    there, here = module("cuda"), module("cpu")
    with torch.no_grad():
        before = float(loss(there))
    result = cbo.torch.minimize(there, loss, **settings)
    assert result.nfev == 60 * 31 + 1 and result.fun < before / 2 and set(calls) == {"cuda"}
    # On a GPU the history does not look at the positions: this tells where the run was.
    assert np.isnan(result.history["spread"]).all()
    close(there, result.fun)
    # A module that is elsewhere may be trained by particles on the GPU, and the other way round.
    asked = cbo.torch.minimize(here, loss, device="cuda", **settings)
    assert np.isnan(asked.history["spread"]).all()
    close(here, asked.fun)
    away = cbo.torch.minimize(module("cuda"), loss, device="cpu", **settings)
    assert not np.isnan(away.history["spread"]).any()
    # Auto stays on the processor.
    net = module("cuda")
    assert cbo.torch.minimize(net, loss, max_evaluations=200, seed=1).method == "auto"
    # An exception leaves the best parameters so far.
    net, left = module("cuda"), [200]

    def fragile(net: Any) -> Any:
        left[0] -= 1
        if left[0] < 0:
            raise RuntimeError("out of memory")
        return loss(net)

    error = raises(RuntimeError, "out of memory", lambda: cbo.torch.minimize(net, fragile, **settings))
    close(net, error.result.fun)  # type: ignore[attr-defined]


def main() -> int:
    """All tests, one after the other; the number of those that failed."""
    if NO_GPU is not None and not STAND_IN:
        print(f"left out: {NO_GPU}")
        return 0
    failed = 0
    for name, test in list(globals().items()):
        if not name.startswith("test_"):
            continue
        start = time.perf_counter()
        try:
            test()
            outcome = "ok"
        except Skip as why:
            outcome = f"left out: {why}"
        except Exception:
            failed += 1
            outcome = "FAILED\n" + traceback.format_exc()
        print(f"{name}: {outcome} ({time.perf_counter() - start:.1f} s)", flush=True)
    print(f"{failed} failed")
    return failed


if __name__ == "__main__":
    sys.exit(1 if main() else 0)
