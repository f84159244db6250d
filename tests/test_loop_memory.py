"""The memory that derivatives of loops keep: it grows as the square root of the steps, and less is kept."""

import gc
import tracemalloc
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from xpand import array_namespace
from xpand_extensions.autodiff import checkpoint, grad, jacfwd
from xpand_extensions.control_flow import fori_loop, scan, while_loop
from xpand_extensions.jit import jit
from xpand_extensions.vmap import vmap

SIZE = 2_000
BYTES = 8 * SIZE
"""Of what is carried."""


def scanned(steps: int) -> Callable[[Any], Any]:
    def step(state: Any, _: Any) -> tuple[Any, None]:
        return array_namespace(state).sin(state) * 1.1, None

    return lambda x: array_namespace(x).sum(scan(step, x, None, length=steps)[0])


def counted(steps: int) -> Callable[[Any], Any]:
    def step(i: Any, state: Any) -> Any:
        return array_namespace(state).sin(state) * 1.1

    return lambda x: array_namespace(x).sum(fori_loop(0, steps, step, x))


def bounded(steps: int) -> Callable[[Any], Any]:
    def step(state: Any) -> Any:
        return array_namespace(state[1]).sin(state[1]) * 1.1

    def total(x: Any) -> Any:
        xp = array_namespace(x)
        found = while_loop(lambda s: s[0] >= 0, lambda s: (s[0] + 1, step(s)), (xp.asarray(0), x), max_iter=steps)
        return xp.sum(found[1])

    return total


def peak(function: Callable[..., Any], x: np.ndarray) -> float:
    """Return how many arrays like the argument a call needs at the same time, once what is made once has been made."""
    function(x)
    gc.collect()
    tracemalloc.start()
    try:
        function(x)
        return tracemalloc.get_traced_memory()[1] / BYTES
    finally:
        tracemalloc.stop()


X = np.linspace(-1.0, 1.0, SIZE)


@pytest.mark.parametrize("loop", [scanned, counted])
def test_memory_grows_as_the_square_root_of_the_steps(loop: Callable[[int], Any]) -> None:
    # Native code holds less; and by default it may be compiled while memory is measured.
    few, many = (peak(jit(grad(loop(steps)), compiler="numpy"), X) for steps in (100, 1600))
    # Sixteen times the steps: four times the arrays. Constant parts reduce the factor.
    assert many < 4.5 * few
    assert many < 1600 / 8


def chain(steps: int, wrap: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Blocks of ten steps written one after another."""

    def block(x: Any) -> Any:
        for _ in range(10):
            x = array_namespace(x).sin(x) * 1.1
        return x

    def total(x: Any) -> Any:
        for _ in range(steps // 10):
            x = wrap(block)(x)
        return array_namespace(x).sum(x)

    return total


@pytest.mark.parametrize(("transform", "most"), [(grad, 65), (lambda f: jit(grad(f)), 30)], ids=["grad", "jit"])
def test_a_checkpoint_keeps_less(transform: Callable[[Any], Any], most: int) -> None:
    whole, checkpointed = (peak(transform(chain(100, wrap)), X) for wrap in (lambda f: f, checkpoint))
    assert whole > 100  # at each step what the derivative needs
    # At each of ten blocks its argument, and of one block all; eagerly also what the programs of the blocks keep for
    # when they are run again.
    assert checkpointed < most
    np.testing.assert_allclose(
        transform(chain(100, checkpoint))(X), transform(chain(100, lambda f: f))(X), rtol=1e-13, atol=0
    )


class Alive(TorchDispatchMode):  # type: ignore[misc]
    """Counts the storages of PyTorch's arrays like the argument that are there at the same time."""

    def __init__(self) -> None:
        super().__init__()
        self.there: set[int] = set()
        self.most = 0

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        found = function(*args, **(kwargs or {}))
        for x in found if isinstance(found, (tuple, list)) else (found,):
            if isinstance(x, torch.Tensor) and x.numel() >= SIZE:
                self._note(x.untyped_storage())
        self.most = max(self.most, len(self.there))
        return found

    def _note(self, storage: Any) -> None:
        if storage._cdata not in self.there:
            self.there.add(storage._cdata)
            weakref.finalize(storage, self.there.discard, storage._cdata)


def torch_peak(function: Callable[..., Any]) -> int:
    with Alive() as alive:
        function(torch.asarray(X))
    return alive.most


@pytest.mark.parametrize("loop", [scanned, counted, bounded])
@pytest.mark.parametrize("transform", [grad, torch.func.grad], ids=["ours", "theirs"])
def test_memory_on_torch_grows_as_the_square_root_of_the_steps(
    loop: Callable[[int], Any], transform: Callable[[Any], Any]
) -> None:
    few, many = (torch_peak(transform(loop(steps))) for steps in (100, 900))
    assert many < 3.3 * few
    assert many < 900 / 8


def allocated(function: Callable[..., Any]) -> float:
    """Return how many arrays like the argument PyTorch allocates at the same time, also within what is compiled."""
    x = torch.asarray(X)
    function(x)
    with torch.profiler.profile(profile_memory=True) as profile:
        function(x)
    events = sorted(
        (event.start_ns(), event.nbytes())
        for event in profile.profiler.kineto_results.events()
        if event.name() == "[memory]"
    )
    return max(np.cumsum([change for _, change in events])) / BYTES


@pytest.mark.parametrize("loop", [scanned, bounded])
def test_memory_under_jit_on_torch_grows_as_the_square_root_of_the_steps(loop: Callable[[int], Any]) -> None:
    few, many = (allocated(jit(grad(loop(steps)))) for steps in (100, 900))
    assert many < 3.3 * few
    assert many < 900 / 8


def closing_over(length: int, reverse: bool = False) -> Callable[[Any, Any], Any]:
    """A scan whose steps use an array from outside, rows and integers."""

    def total(w: Any, x: Any) -> Any:
        xp = array_namespace(x)

        def step(state: Any, row: Any) -> Any:
            new = xp.sin(state * w + row[0]) + xp.astype(row[1], state.dtype) / length
            return new, new * w

        rows = xp.linspace(0.0, 1.0, length, dtype=x.dtype)
        last, ys = scan(step, x, (rows, xp.arange(length)), reverse=reverse)
        return xp.sum(last) + xp.sum(ys**2) / length

    return total


COMPOSITIONS: dict[str, Callable[[Any], Any]] = {
    "grad": lambda f: grad(f, argnums=(0, 1)),
    "grad of grad": lambda f: grad(lambda w, x: array_namespace(x).sum(grad(f, argnums=1)(w, x) ** 2), argnums=(0, 1)),
    "vmap of grad": lambda f: lambda w, x: vmap(grad(f, argnums=(0, 1)), in_axes=(None, 0))(w, x),
    "grad of vmap": lambda f: grad(
        lambda w, x: array_namespace(x).sum(vmap(f, in_axes=(None, 0))(w, x)), argnums=(0, 1)
    ),
    "jacfwd of grad": lambda f: jacfwd(grad(f)),
}


@pytest.mark.parametrize("name", COMPOSITIONS)
def test_long_loops_have_the_same_derivatives_on_torch(name: str) -> None:
    w, x = np.asarray(0.9), np.linspace(-1.0, 1.0, 3)
    composed = COMPOSITIONS[name](closing_over(70))
    assert_same(composed(torch.asarray(w), torch.asarray(x)), composed(w, x))


def assert_same(ours: Any, others: Any) -> None:
    for found, expected in zip(*((y if isinstance(y, tuple) else (y,)) for y in (ours, others)), strict=True):
        np.testing.assert_allclose(found.numpy(), expected, rtol=1e-11, atol=1e-14)


@pytest.mark.parametrize(("length", "reverse"), [(64, False), (70, True)])  # whole blocks, and some steps left over
@pytest.mark.parametrize("name", COMPOSITIONS)
def test_long_loops_have_the_same_derivatives_under_jit_on_torch(name: str, length: int, reverse: bool) -> None:
    w, x = np.asarray(0.9), np.linspace(-1.0, 1.0, 3)
    composed = COMPOSITIONS[name](closing_over(length, reverse))
    assert_same(jit(composed)(torch.asarray(w), torch.asarray(x)), composed(w, x))
