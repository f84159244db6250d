"""Loops and branches as single operations of graphs. Each has graphs of its own, which are compiled separately.

PyTorch 2.13 has operators for loops, but TorchInductor raises for most of them: if an array is both carried and
captured, if the memory layout of the carry changes, and under vmap.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

import torch
from torch.fx.experimental.proxy_tensor import disable_proxy_modes_tracing

from xpand.extend import LibraryArray as Array
from xpand.torch import _private as private

from .._operators import Program, numbered, run_program
from ..autodiff._levels import Arrays, Function
from ..jit._inductor import BY_INDUCTOR, compiled_graph
from ..jit._simplify import invariants
from ..jit._trace import graph_of, tracing, without_values

_FEW_OPERATIONS: Final = 16
"""The number of operations below which a step with another loop inside is not compiled: it would be no faster."""


class Step:
    """A function of arrays as a graph, compiled at its first call with concrete arrays."""

    def __init__(self, function: Function, arrays: Sequence[Array], varying: int | None = None) -> None:
        """Trace a function that captures no arrays, at arrays like the given ones.

        If `varying` is given, only so many first arrays differ between calls: calls take these, and then the arrays
        that `fixed` returns.
        """
        described = [(tuple(x.shape), x.dtype, x.device) for x in arrays]
        mode = private.fake_mode_of(arrays) or without_values()
        # Outside of all traces and levels.
        with private.without_levels(), private.without_functional_mode(), disable_proxy_modes_tracing(), mode:
            given = [torch.empty(shape, dtype=dtype, device=device) for shape, dtype, device in described]
            self.module = graph_of(lambda *xs: tuple([x.contiguous() for x in function(*xs)]), given)
        _check_constants(self.module)
        (outputs,) = next(iter(reversed(self.module.graph.nodes))).args
        self.like = [(tuple(node.meta["val"].shape), node.meta["val"].dtype) for node in outputs]
        self._before = None
        if varying is not None and (parts := invariants(self.module, varying)) is not None:
            self._before, self.module = parts
        operations = [node.target for node in self.module.graph.nodes if node.op == "call_function"]
        is_around = torch.ops.xpand.program.default in operations and len(operations) < _FEW_OPERATIONS
        self._run: Callable[..., Any] | None = self.module if is_around or not BY_INDUCTOR.get() else None

    def fixed(self, arrays: Sequence[Array]) -> Sequence[Array]:
        """Compute the part that depends only on the arrays that are the same for all calls."""
        return arrays if self._before is None else [x.contiguous() for x in self._before(*arrays)]

    def __call__(self, *arrays: Array) -> Arrays:
        """Call the compiled function."""
        if self._run is None:
            with tracing():
                self._run = compiled_graph("a step of a loop", self.module, without_values(), arrays)
        return tuple(self._run(*arrays))


def _check_constants(module: Any) -> None:
    """Check that a graph captures no traced arrays."""
    for node in module.graph.nodes:
        if node.op == "get_attr" and isinstance(getattr(module, node.target, None), private.FakeTensor):
            raise TypeError(
                "jit: the function of a loop or a branch uses a traced array that is neither an argument, nor in its "
                "closure, its bound arguments or an attribute of an object in these; pass it as an argument"
            )


def _applied(run: Callable[[Sequence[Array]], Arrays], like: Sequence[Any], arrays: Arrays) -> Arrays:
    return tuple(run_program(list(arrays), numbered(Program(run, like))))


def scan(function: Function, arrays: Arrays, carried: int, across: int, reverse: bool) -> Arrays:
    """Step over rows.

    Args:
        function: Takes the carry, a row of each array, and the arrays that are the same for all steps; returns the
            next carry and a row of each result.
        arrays: The carry, the rows, and the arrays that are the same for all steps.
        carried: The number of arrays in the carry.
        across: The number of arrays that are scanned row by row.
        reverse: Whether to start at the last row.
    """
    ahead, same = slice(carried, carried + across), slice(carried + across, None)
    step = Step(function, (*arrays[:carried], *[x[0] for x in arrays[ahead]], *arrays[same]), carried + across)
    order = slice(None, None, -1 if reverse else 1)
    length = arrays[carried].shape[0]

    def run(arrays: Sequence[Array]) -> Arrays:
        carry = tuple(arrays[:carried])
        rows: list[Arrays] = []
        fixed = step.fixed(arrays[same])
        for row in list(zip(*[x.unbind(0) for x in arrays[ahead]]))[order]:
            found = step(*carry, *row, *fixed)
            carry = found[:carried]
            rows.append(found[carried:])
        return (*carry, *[torch.stack(column) for column in zip(*rows[order])])

    like = step.like[:carried] + [((length, *shape), dtype) for shape, dtype in step.like[carried:]]
    return _applied(run, like, arrays)


def repeat(holds: Function, body: Function, arrays: Arrays, carried: int) -> Arrays:
    """Step while a condition holds.

    Args:
        holds: Takes the carry and the arrays that are the same for all steps; returns a tuple of one bool.
        body: Takes the same; returns the next carry.
        arrays: The carry, and the arrays that are the same for all steps.
        carried: The number of arrays in the carry.
    """
    first = Step(holds, arrays)

    def body_and_condition(*xs: Array) -> Arrays:
        carry = body(*xs)
        return (*carry, *holds(*carry, *xs[carried:]))

    step = Step(body_and_condition, arrays, carried)

    def run(arrays: Sequence[Array]) -> Arrays:
        carry = tuple(arrays[:carried])
        (running,) = first.module(*arrays)
        fixed = step.fixed(arrays[carried:]) if running else ()
        while running:
            *found, running = step(*carry, *fixed)
            carry = tuple(found)
        return carry

    return _applied(run, step.like[:-1], arrays)


def choose(chosen: Function, other: Function, arrays: Arrays) -> Arrays:
    """Call one of two functions with all arrays but the first, a bool."""
    first, second = Step(chosen, arrays[1:]), Step(other, arrays[1:])
    return _applied(lambda arrays: (first if arrays[0] else second)(*arrays[1:]), first.like, arrays)
