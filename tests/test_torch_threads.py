"""PyTorch's plug-ins work as usual while another thread traces or compiles."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
import torch

import xpand
from xpand_extensions.autodiff import grad
from xpand_extensions.control_flow import cond, while_loop
from xpand_extensions.indexing import take
from xpand_extensions.jit import ShapeDtype, jit, pure_callback
from xpand_extensions.scatter import at, segment_sum
from xpand_extensions.vmap import vmap

PATIENCE = 120.0


class Traced:
    """A function that waits while it is traced, until it is told to go on."""

    def __init__(self) -> None:
        self.started, self.resume = threading.Event(), threading.Event()

    def __call__(self, x: Any) -> Any:
        self.started.set()
        assert self.resume.wait(PATIENCE)
        return torch.sin(x)


def jitted(traced: Traced) -> None:
    jit(traced)(torch.ones(3))


def jitted_with_gradients(traced: Traced) -> None:
    jit(traced)(torch.ones(3, requires_grad=True))


def compiled(traced: Traced) -> None:
    def backend(module: Any, examples: Any) -> Any:
        traced(examples[0])
        return module

    torch.compile(lambda x: torch.cos(x), backend=backend)(torch.ones(3))


@contextmanager
def tracing(how: Callable[[Traced], None]) -> Iterator[None]:
    """Have another thread be in the middle of tracing."""
    traced, errors = Traced(), []

    def run() -> None:
        try:
            how(traced)
        except Exception as error:
            errors.append(error)

    other = threading.Thread(target=run)
    other.start()
    try:
        assert traced.started.wait(PATIENCE)
        yield
    finally:
        traced.resume.set()
        other.join()
    assert not errors


@pytest.mark.parametrize("how", [jitted, jitted_with_gradients, compiled])
def test_while_another_thread_traces(how: Callable[[Traced], None]) -> None:
    x = torch.tensor([1.0, 2.0, 3.0])
    already = torch.compile(lambda x: 2.0 * x, backend="eager")
    already(x)
    with tracing(how):
        assert xpand.is_concrete(x)
        for call in (
            lambda: segment_sum(x, torch.tensor([0, 1, 7]), num_segments=2),
            lambda: at(x, 7).get(),
            lambda: take(x, torch.tensor([7])),
        ):
            with pytest.raises(IndexError):
                call()
        # Only one branch runs, and Python sees what is carried at each step.
        seen = []
        found = while_loop(lambda s: s < 20.0, lambda s: seen.append(float(s)) or 2.0 * s, x[0])
        assert float(found) == 32.0
        assert seen == [1.0, 2.0, 4.0, 8.0, 16.0]
        assert float(cond(x[0] > 0.0, lambda: torch.asarray(float(x[1])), lambda: torch.asarray(1 / 0))) == 2.0
        np.testing.assert_array_equal(already(x), [2.0, 4.0, 6.0])


def test_a_function_of_the_host_is_not_traced() -> None:
    seen = []

    def host(x: Any) -> Any:
        seen.append(xpand.is_concrete(torch.from_numpy(x)))
        with pytest.raises(IndexError):
            segment_sum(torch.from_numpy(x), torch.tensor([0, 1, 7]), num_segments=2)
        return 2.0 * x

    def function(x: Any) -> Any:
        return torch.sin(x) + pure_callback(host, ShapeDtype((3,), torch.float32), x.detach())

    for x in (torch.ones(3), torch.ones(3, requires_grad=True)):  # with gradients, what is compiled is called at once
        np.testing.assert_allclose(jit(function)(x).detach(), np.sin(1.0) + 2.0, rtol=1e-6)
    assert seen == [True] * len(seen) != []


# Dynamo reads this from a tensor, and hides the answer.
@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf")
def test_what_torch_compile_has_compiled_is_called_in_what_is_traced() -> None:
    inner = torch.compile(lambda x: 2.0 * torch.exp(x - x) * x.shape[0], backend="eager")
    for x in (torch.ones(3), torch.ones(3, requires_grad=True)):
        np.testing.assert_array_equal(jit(lambda x: inner(x) + 1.0)(x).detach(), 7.0)
    np.testing.assert_array_equal(grad(lambda x: inner(x * x).sum())(torch.ones(3)), 0.0)
    np.testing.assert_array_equal(vmap(inner)(torch.ones(2, 3)), 6.0)


@pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf")
@pytest.mark.parametrize("function", [lambda x: 2.0 * x, torch.sin])
def test_one_graph_of_torch_compile_holds_no_traced_arrays(function: Any) -> None:
    inner = torch.compile(lambda x: function(x), backend="eager", fullgraph=True)
    with pytest.raises(
        torch._dynamo.exc.Unsupported, match="compiles with fullgraph=True got an array that a transfor"
    ):
        jit(inner)(torch.ones(3))
