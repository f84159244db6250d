"""The first call of compiled programs, and the memory of later ones, compared with other compilers."""

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from time import process_time
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np

from xpand_extensions import autodiff, control_flow
from xpand_extensions.jit import jit

from . import _pytensor
from ._measure import Budget, Call, Row
from .compilers import chain, formula, heat, on_jax, predators
from .doors import seconds_of_children

SMALL: Final[dict[str, int]] = {"elements": 30, "steps": 9, "links": 2, "side": 20}
"""The sizes with which the tests run every row."""

SOONER: Final = Budget(ratio=0.2)
LIMIT: Final = Budget(extra=0.3)
RUN: Final = Budget(ratio=0.7)
LESS: Final = Budget(ratio=1.0)
_LLVM: Final = "LLVM alone takes 0.08 s for the loops, and 0.06 s for the formula"
BLOCKS: Final = Budget(ratio=2.0)


@dataclass(frozen=True)
class First:
    """The first call of a program, in seconds of CPU time."""

    make: Callable[[], Callable[..., Any]]
    """Makes the program again, without cached parts of earlier ones."""
    arrays: tuple[Any, ...]

    def time(self, number: int) -> float:
        total = 0.0
        for _ in range(number):
            program = self.make()
            start = _seconds()
            jax.block_until_ready(program(*self.arrays))
            total += _seconds() - start
        return total


@dataclass(frozen=True)
class Peak:
    """The peak memory of a call without its arguments, in bytes. Linux counts the pages of the process."""

    call: Call

    def time(self, number: int) -> float:
        self.call()
        Path("/proc/self/clear_refs").write_text("5")  # reset the peak
        before = _memory("VmRSS")
        self.call()
        return number * max(_memory("VmHWM") - before, 1.0)


def rows(elements: int = 5_000_000, steps: int = 1_000, links: int = 50, side: int = 2_048) -> Iterator[Row]:
    if find_spec("llvmlite") is None:
        return
    jax.config.update("jax_enable_x64", True)
    rng = np.random.default_rng(0)
    x = rng.normal(size=elements)
    yield from _formulas(x)
    gradient = autodiff.grad(predators(steps)(control_flow.scan))
    arrays = np.asarray([1.1, 0.4, 0.1, 0.4]), np.asarray([10.0, 10.0])
    ours = First(lambda: jit(gradient, compiler="native"), arrays)
    of_jax = First(_on_jax(jax.grad(predators(steps)(jax.lax.scan))), tuple(map(jnp.asarray, arrays)))
    topic = f"first call of the gradient of a scan of {steps:,} steps"
    yield Row(topic, "against jax.jit", ours, {"jax.jit": of_jax}, SOONER, _LLVM)
    yield Row(topic, "in seconds", ours, {"nothing": First(lambda: lambda *arrays: None, arrays)}, LIMIT)
    if _pytensor.is_installed():
        of_pytensor = First(lambda: _pytensor.gradient_of_scan(steps), arrays)
        yield Row(topic, "against PyTensor", ours, {"PyTensor": of_pytensor}, SOONER)
        topic, name = "machine code and PyTensor", f"gradient of a scan of {steps:,} steps"
        theirs = Call(of_pytensor.make(), *arrays)
        yield Row(topic, name, Call(ours.make(), *arrays), {"PyTensor": theirs}, Budget(0.6))
        ten, name = np.ones(10), f"gradient of {3 * links} operations on ten numbers"
        program, theirs = jit(autodiff.grad(chain(links)), compiler="native"), _pytensor.gradient_of_chain(links)
        yield Row(topic, name, Call(program, ten), {"PyTensor": Call(theirs, ten)}, Budget(0.8))
    if not os.access("/proc/self/clear_refs", os.W_OK):
        return
    for name, function, array in (
        (f"a formula of {elements:,} numbers", formula, x),
        (f"ten steps of heat, {side} by {side}", heat, rng.normal(size=(side, side))),
    ):
        peak = Peak(Call(jit(function, compiler="native"), array))
        others = {"jax.jit": Peak(on_jax(function, (array,))), "numpy": Peak(Call(function, array))}
        yield Row("peak memory of NumPy programs", name, peak, others, LESS, unit="B")


def _formulas(x: Any) -> Iterator[Row]:
    """Compare compilers by their first and later calls of a formula."""
    name, given = f"a formula of {x.size:,} numbers", (x,)
    programs: dict[str, tuple[Callable[[], Callable[..., Any]], tuple[Any, ...]]] = {
        "jax.jit": (_on_jax(formula), (jnp.asarray(x),)),
        "torch.compile": (_on_torch, (_tensor(x),)),
    }
    if find_spec("numba") is not None:
        programs["numba"] = _on_numba, given
    if find_spec("numexpr") is not None:
        programs["numexpr"] = _on_numexpr, given
    if _pytensor.is_installed():
        programs["PyTensor"] = _pytensor.formula, given
    ours = {each: partial(jit, formula, compiler=each) for each in ("native", "numpy")}
    first = {each: First(make, given) for each, make in ours.items()}
    later = {each: Call(make(), x) for each, make in ours.items()}
    for peer, (make, arrays) in programs.items():
        reference = {peer: First(make, arrays)}
        budget = LIMIT if peer == "numexpr" else LESS  # numexpr compiles nothing
        yield Row(f"first call of {name}", f"native, against {peer}", first["native"], reference, budget, _LLVM)
    for peer, (make, arrays) in programs.items():
        yield Row(
            f"later calls of {name}", f"native, against {peer}", later["native"], {peer: Call(make(), *arrays)}, RUN
        )
    yield Row(f"first call of {name}", "numpy, against native", first["numpy"], {"native": first["native"]}, LESS)
    yield Row(f"later calls of {name}", "numpy, against native", later["numpy"], {"native": later["native"]}, BLOCKS)


def _on_jax(function: Callable[..., Any]) -> Callable[[], Callable[..., Any]]:
    def make() -> Callable[..., Any]:
        jax.clear_caches()
        return jax.jit(function)

    return make


def _tensor(x: Any) -> Any:
    import torch

    return torch.asarray(x)


def _on_torch() -> Callable[..., Any]:
    import torch

    def of_tensors(x: Any) -> Any:
        return torch.exp(-0.5 * x * x) * (1 + 0.3 * x) / (1 + torch.abs(x)) - 0.1 * x

    torch.set_num_threads(1)
    os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = "1"  # the time of workers would not be counted
    torch.compiler.config.force_disable_caches = True
    torch.compiler.reset()
    compiled: Callable[..., Any] = torch.compile(of_tensors)
    return compiled


def _on_numba() -> Callable[..., Any]:
    """Compile the loop over elements that users of numba write."""
    from math import exp

    from numba import njit

    def loop(x: Any) -> Any:
        y = np.empty_like(x)
        for i in range(x.size):
            y[i] = exp(-0.5 * x[i] * x[i]) * (1 + 0.3 * x[i]) / (1 + abs(x[i])) - 0.1 * x[i]
        return y

    compiled: Callable[..., Any] = njit(loop)
    return compiled


def _on_numexpr() -> Callable[..., Any]:
    numexpr = import_module("numexpr")
    numexpr.set_num_threads(1)
    text = "exp(-0.5 * x * x) * (1 + 0.3 * x) / (1 + abs(x)) - 0.1 * x"
    return lambda x: numexpr.NumExpr(text, [("x", np.float64)])(x)


def _seconds() -> float:
    """Return the CPU time of this process and of compilers in their own processes."""
    return process_time() + seconds_of_children()


def _memory(name: str) -> float:
    """Return an entry of this process's status, in bytes."""
    found = re.search(rf"{name}:\s+(\d+) kB", Path("/proc/self/status").read_text())
    return 1024.0 * float(found[1]) if found else 0.0
