"""``cbo.torch.minimize``: a module is trained in place, without gradients."""

from __future__ import annotations

import math
import sys
import types
from typing import Any

import numpy as np
import pytest

import cbo.torch

# A module of few lines stands in for torch where it is not installed, so that the logic is tested everywhere.


class FakeParameter:
    def __init__(self, values: Any, requires_grad: bool = True) -> None:
        self.array = np.array(values, dtype=np.float32)
        self.requires_grad = requires_grad
        self.shape = self.array.shape
        self.data = self

    def numel(self) -> int:
        return self.array.size

    def copy_(self, other: FakeParameter) -> None:
        self.array[...] = other.array

    def detach(self) -> FakeParameter:
        return self

    cpu = double = detach

    def reshape(self, *shape: Any) -> FakeParameter:
        fake = FakeParameter(0.0)
        fake.array = self.array.reshape(*shape)
        return fake

    def numpy(self) -> Any:
        return self.array.astype(np.float64)

    def split(self, sizes: list[int]) -> list[FakeParameter]:
        return [self._part(part) for part in np.split(self.array, np.cumsum(sizes)[:-1])]

    def _part(self, array: Any) -> FakeParameter:
        fake = FakeParameter(0.0)
        fake.array = array
        return fake


class FakeNoGrad:
    active = False

    def __enter__(self) -> None:
        FakeNoGrad.active = True

    def __exit__(self, *_: object) -> None:
        FakeNoGrad.active = False


class FakeModule:
    def __init__(self) -> None:
        self.weight = FakeParameter([[0.5, -0.5]])
        self.bias = FakeParameter([0.0])
        self.frozen = FakeParameter([7.0], requires_grad=False)

    def parameters(self) -> list[FakeParameter]:
        return [self.weight, self.bias, self.frozen]


@pytest.fixture
def fake_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    fake = types.ModuleType("torch")
    fake.no_grad = FakeNoGrad  # type: ignore[attr-defined]
    fake.from_numpy = FakeParameter  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "torch", fake)


def fake_loss(module: FakeModule) -> float:
    assert FakeNoGrad.active
    weight, bias = module.weight.array, module.bias.array
    return float((weight[0, 0] - 1.0) ** 2 + (weight[0, 1] - 2.0) ** 2 + (bias[0] - 3.0) ** 2)


@pytest.mark.usefixtures("fake_torch")
def test_the_best_parameters_are_left_in_the_module() -> None:
    module = FakeModule()
    result = cbo.torch.minimize(module, fake_loss, particles=100, steps=100, seed=1)
    assert result.fun < 0.01
    assert not FakeNoGrad.active
    np.testing.assert_allclose([*module.weight.array[0], *module.bias.array], result.x, rtol=1e-6)
    np.testing.assert_array_equal(module.frozen.array, [7.0])


@pytest.mark.usefixtures("fake_torch")
def test_by_default_it_is_the_method_auto() -> None:
    module = FakeModule()
    result = cbo.torch.minimize(module, fake_loss, max_evaluations=300, seed=1)
    assert result.method == "auto" and result.fun < 1e-6 and result.nfev <= 300
    np.testing.assert_allclose([*module.weight.array[0], *module.bias.array], result.x, rtol=1e-6)


@pytest.mark.usefixtures("fake_torch")
def test_an_exception_leaves_the_best_parameters_so_far() -> None:
    module, calls, values = FakeModule(), 0, []

    def loss(module: FakeModule) -> float:
        nonlocal calls
        calls += 1
        if calls == 150:
            raise RuntimeError("out of memory")
        values.append(fake_loss(module))
        return values[-1]

    with pytest.raises(RuntimeError, match="out of memory"):
        cbo.torch.minimize(module, loss, particles=100, seed=1)
    with FakeNoGrad():
        assert fake_loss(module) == min(values)


@pytest.mark.usefixtures("fake_torch")
def test_a_module_that_never_has_a_value_is_left_as_it_was() -> None:
    module = FakeModule()
    with pytest.raises(RuntimeError, match="finite"):
        cbo.torch.minimize(module, lambda module: math.nan, particles=10, seed=1)
    np.testing.assert_array_equal(module.weight.array, [[0.5, -0.5]])


@pytest.mark.usefixtures("fake_torch")
def test_all_parameters_on_request() -> None:
    module = FakeModule()
    result = cbo.torch.minimize(module, fake_loss, particles=10, steps=2, seed=1, trainable_only=False)
    assert result.x.shape == (4,)


@pytest.mark.usefixtures("fake_torch")
def test_bad_arguments() -> None:
    class Empty:
        def parameters(self) -> list[Any]:
            return []

    with pytest.raises(ValueError, match="module = Empty: it has no parameters"):
        cbo.torch.minimize(Empty(), fake_loss)
    with pytest.raises(TypeError, match="workers = 2"):
        cbo.torch.minimize(FakeModule(), fake_loss, workers=2)
    with pytest.raises(TypeError, match="unknown keyword 'particle'"):
        cbo.torch.minimize(FakeModule(), fake_loss, particle=10)
    with pytest.raises(TypeError, match="returned str '0'"):
        cbo.torch.minimize(FakeModule(), lambda module: "0", particles=10)


def test_a_real_module() -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    torch.manual_seed(1)
    inputs = torch.linspace(-1.0, 1.0, 40)[:, None]
    targets = inputs**2
    module = torch.nn.Sequential(torch.nn.Linear(1, 6), torch.nn.Tanh(), torch.nn.Linear(6, 1))
    module[0].bias.requires_grad_(False)
    bias = module[0].bias.clone()

    def loss(module: Any) -> Any:
        assert not torch.is_grad_enabled()
        return torch.mean((module(inputs) - targets) ** 2)

    with torch.no_grad():
        before = float(loss(module))
    result = cbo.torch.minimize(module, loss, particles=100, steps=200, seed=1)
    assert result.x.shape == (13,)
    with torch.no_grad():
        assert float(loss(module)) == result.fun < before / 10
    assert torch.equal(module[0].bias, bias)
    # It can still be trained with gradients.
    assert torch.is_grad_enabled()
    torch.mean((module(inputs) - targets) ** 2).backward()
    assert module[2].weight.grad is not None
