"""PyTorch programs: by PyTorch's own calls, in blocks, and by TorchInductor."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from xpand_extensions import autodiff, control_flow
from xpand_extensions.jit import jit

from ._measure import Budget, Call, Row
from .compilation import First
from .compilers import chain, formula, predators

FIRST: Final = "first call of PyTorch programs"
LATER: Final = "later calls of PyTorch programs"
INDUCTOR: Final = "PyTorch programs by TorchInductor"
LARGE: Final = "formulas of large PyTorch arrays"
SMALL: Final[dict[str, int]] = {"links": 4, "elements": 70_000, "steps": 9}
"""The sizes with which the tests run every row."""

_CALLS: Final = "PyTorch takes 0.85 µs for an operation on few numbers, NumPy 0.2 µs"
_PASSES: Final = "each operation is a pass over a block by PyTorch's own function; TorchInductor does all in registers"


@dataclass(frozen=True)
class Threaded:
    """A call with a number of PyTorch's threads."""

    call: Call
    threads: int

    def time(self, number: int) -> float:
        with _threads(self.threads):
            return self.call.time(number)


@contextmanager
def _threads(count: int) -> Iterator[None]:
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def rows(links: int = 50, elements: int = 5_000_000, steps: int = 100) -> Iterator[Row]:
    import torch

    torch.set_num_threads(1)
    yield from _small(links)
    yield from _loop(steps)
    yield from _large(elements)


def _small(links: int) -> Iterator[Row]:
    """Measure the gradient of a chain of operations on ten numbers."""
    import torch

    x = np.linspace(0.1, 0.3, 10)
    of_torch = torch.asarray(x)
    program, name = autodiff.grad(chain(links)), f"gradient of {3 * links} operations on ten numbers"

    def eager(x: Any) -> Any:
        return torch.func.grad(_chain_of_torch(links))(x)

    compiled = {"torch.compile": First(lambda: _compiled(eager), (of_torch,))}
    yield Row(FIRST, name, First(lambda: jit(program), (of_torch,)), compiled, Budget(0.05))
    by_numpy = {"NumPy's program": Call(jit(program, compiler="numpy"), x)}
    yield Row(LATER, name, Call(jit(program), of_torch), by_numpy, Budget(1.5), _CALLS)
    yield Row(
        LATER,
        f"{name}, against eager",
        Call(jit(program), of_torch),
        {"torch.func": Call(eager, of_torch)},
        Budget(0.5),
    )
    by_inductor = Call(jit(program, compiler="inductor"), of_torch)
    yield Row(INDUCTOR, name, by_inductor, {"torch.compile": Call(_compiled(eager), of_torch)}, Budget(1.1))


def _loop(steps: int) -> Iterator[Row]:
    """Measure the gradient of a loop, which PyTorch runs step by step."""
    import torch

    arrays = torch.asarray([1.1, 0.4, 0.1, 0.4]), torch.asarray([10.0, 10.0])
    program, name = autodiff.grad(predators(steps)(control_flow.scan)), f"gradient of a scan of {steps:,} steps"
    by_default = {"by default": Call(jit(program), *arrays)}
    yield Row(INDUCTOR, name, Call(jit(program, compiler="inductor"), *arrays), by_default, Budget(1.1))


def _large(elements: int) -> Iterator[Row]:
    import torch

    for dtype, reason in ((torch.float64, ""), (torch.float32, _PASSES)):
        x = torch.asarray(np.random.default_rng(0).normal(size=elements)).to(dtype)
        name = f"{elements:,} numbers of {str(dtype).removeprefix('torch.')}"
        ours, eager = Call(jit(formula), x), Call(formula, x)
        compiled = Call(_compiled(_formula_of_torch), x)
        yield Row(LARGE, f"{name}, against torch.compile", ours, {"torch.compile": compiled}, Budget(1.5), reason)
        yield Row(LARGE, f"{name}, against eager", ours, {"eager": eager}, Budget(1.0))
        threads = min(4, os.cpu_count() or 1)
        if threads > 1:
            yield Row(
                LARGE,
                f"{name}, several threads, against eager",
                Threaded(ours, threads),
                {"eager": Threaded(eager, threads)},
                Budget(1.0),
            )


def _chain_of_torch(links: int) -> Callable[[Any], Any]:
    import torch

    def total(x: Any) -> Any:
        for _ in range(links):
            x = torch.sin(x) * 1.01 + 0.1
        return torch.sum(x)

    return total


def _formula_of_torch(x: Any) -> Any:
    import torch

    return torch.exp(-0.5 * x * x) * (1 + 0.3 * x) / (1 + torch.abs(x)) - 0.1 * x


def _compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    import torch

    os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = "1"  # the time of workers would not be counted
    torch.compiler.config.force_disable_caches = True
    torch.compiler.reset()
    compiled: Callable[..., Any] = torch.compile(function, fullgraph=True, dynamic=False)
    return compiled
