"""The memory that derivatives of loops keep on NumPy: it grows as the square root of the steps, and less is kept."""

import gc
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from xpand import array_namespace
from xpand_extensions.autodiff import checkpoint, grad
from xpand_extensions.control_flow import fori_loop, scan
from xpand_extensions.jit import jit

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
    few, many = (peak(jit(grad(loop(steps))), X) for steps in (100, 1600))
    # Sixteen times the steps: four times the arrays. What doesn't grow makes it less.
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
