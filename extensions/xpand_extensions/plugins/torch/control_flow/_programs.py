"""Loops and branches as one PyTorch operation in graphs: each holds its own graphs, which are compiled separately.

PyTorch 2.13 has operators for loops, but TorchInductor refuses most of them: if an array is both carried and captured,
if the layout of the carry changes, and under vmap.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from typing import Any, Final, Protocol, TypeAlias

import torch
from torch.fx.experimental.proxy_tensor import disable_proxy_modes_tracing

from xpand.extend import Array
from xpand.torch import _private as private

from ..jit._trace import graph_of, tracing, without_values

Arrays: TypeAlias = "tuple[Array, ...]"
Function: TypeAlias = Callable[..., Arrays]
Like: TypeAlias = "list[tuple[tuple[int, ...], Any]]"


# Tracing forward mode turns additions of zero into this operation, for which `vmap` warns.
_MAPPABLE: Final = {
    torch.ops.prims.add.default: torch.ops.aten.add.Tensor,
    torch.ops.prims.mul.default: torch.ops.aten.mul.Tensor,
    torch.ops.prims.sub.default: torch.ops.aten.sub.Tensor,
}


def _mappable(target: Any) -> Any:
    return _applied if target is torch.ops.xpand.program.default else _MAPPABLE.get(target, target)


class Step:
    """A function of arrays as a graph, compiled at its first call with concrete arrays."""

    def __init__(self, function: Function, arrays: Sequence[Array]) -> None:
        """Trace a function, which must not capture arrays, at arrays like the given ones."""
        described = [(tuple(x.shape), x.dtype, x.device) for x in arrays]
        with _apart(arrays):
            given = [torch.empty(shape, dtype=dtype, device=device) for shape, dtype, device in described]
            self.module = graph_of(lambda *xs: tuple([x.contiguous() for x in function(*xs)]), given)
        _check_constants(self.module)
        for node in self.module.graph.nodes:
            node.target = _mappable(node.target)
        self.module.recompile()
        (self._outputs,) = next(iter(reversed(self.module.graph.nodes))).args
        self._run: Callable[..., Any] | None = None

    @property
    def like(self) -> Like:
        """Tell the shapes and data types of the results."""
        values = [node.meta["val"] for node in self._outputs]
        return [(tuple(x.shape), x.dtype) for x in values]

    def __call__(self, *arrays: Array) -> Arrays:
        """Call the function, compiled."""
        if self._run is None:
            with tracing():
                from ..jit._inductor import compiled_graph

                self._run = compiled_graph("a step of a loop", self.module, without_values(), arrays)
        return tuple(self._run(*arrays))


@contextmanager
def _apart(arrays: Sequence[Array]) -> Iterator[None]:
    """Leave all outer tracing, maps and derivatives."""
    mode = private.fake_mode_of(arrays) or without_values()
    no_levels, no_functions, no_graph = (
        private.without_levels(),
        private.without_functional_mode(),
        disable_proxy_modes_tracing(),
    )
    with no_levels, no_functions, no_graph, mode:
        yield


def _check_constants(module: Any) -> None:
    """Check that a graph captures no traced arrays."""
    for node in module.graph.nodes:
        if node.op == "get_attr" and isinstance(getattr(module, node.target, None), private.FakeTensor):
            raise TypeError(
                "jit: the function of a loop or a branch uses a traced array that it neither takes nor has in its "
                "closure, its bound arguments or an attribute of an object in these; hand it over as an argument"
            )


class Program(Protocol):
    """The program of an operation."""

    @property
    def like(self) -> Like: ...

    def run(self, arrays: Sequence[Array]) -> Arrays: ...

    def mapped(self, arrays: Sequence[Array], axes: Sequence[int | None], size: int) -> Arrays: ...


# An operation takes only tensors and numbers, so programs have numbers. A graph may live as long as the process.
_PROGRAMS: Final[dict[int, Program]] = {}
_NUMBERS: Final = count()


def apply(program: Program, arrays: Sequence[Array]) -> Arrays:
    """Apply a program to its arrays below all levels of torch.func, none of which differentiates it."""
    if private.are_levels_active():
        # Not by the operation's vmap rule, in which PyTorch 2.13 can't map functions.
        interpreter = private.interpreter()
        if private.is_vmap(interpreter):
            return _apply_mapped(program, arrays, interpreter)
        with interpreter.lower():
            outs = apply(program, [private.unwrap_grad(x, interpreter.level()) for x in arrays])
        return tuple(private.wrap_grad(x, interpreter.level()) for x in outs)
    number = next(_NUMBERS)
    _PROGRAMS[number] = program
    return tuple(_operation(list(arrays), number))


@torch.library.custom_op("xpand::program", mutates_args=())  # type: ignore[untyped-decorator]
def _operation(arrays: list[torch.Tensor], number: int) -> list[torch.Tensor]:
    given = [x.contiguous() for x in arrays]
    there = {x.untyped_storage().data_ptr() for x in (*arrays, *given)}
    found: list[Array] = []
    for x in _PROGRAMS[number].run(given):
        y = x.clone() if x.untyped_storage().data_ptr() in there else x  # an operation must return new arrays
        there.add(y.untyped_storage().data_ptr())
        found.append(y)
    return found


def _applied(arrays: list[Array], number: int) -> list[Array]:
    """Apply an operation within a step, which may be mapped."""
    if private.are_levels_active():
        return list(apply(_PROGRAMS[number], arrays))
    found: list[Array] = _operation(arrays, number)
    return found


@_operation.register_fake  # type: ignore[untyped-decorator]
def _(arrays: list[torch.Tensor], number: int) -> list[torch.Tensor]:
    return [arrays[0].new_empty(shape, dtype=dtype) for shape, dtype in _PROGRAMS[number].like]


def _apply_mapped(program: Program, arrays: Sequence[Array], interpreter: Any) -> Arrays:
    pairs = [private.unwrap_mapped(x, interpreter.level()) for x in arrays]
    with interpreter.lower():
        if all(axis is None for _, axis in pairs):
            return apply(program, arrays)
        first = [x if axis is None else x.movedim(axis, 0) for x, axis in pairs]
        outs = program.mapped(first, [None if axis is None else 0 for _, axis in pairs], interpreter.batch_size())
    return tuple(private.wrap_mapped(x, 0, interpreter.level()) for x in outs)


class Scan:
    """Steps over rows: map the carry, a row, and arrays that are the same for all steps to the carry and a row."""

    def __init__(self, step: Step, carried: int, across: int, reverse: bool) -> None:
        self.step, self.carried, self.across, self.reverse = step, carried, across, reverse
        self.length = 0

    @classmethod
    def of(cls, function: Function, arrays: Arrays, carried: int, across: int, reverse: bool) -> "Scan":
        """Make the program of a function for the carry, the rows, and the arrays that are the same for all steps."""
        rows = [x[0] for x in arrays[carried : carried + across]]
        step = Step(function, (*arrays[:carried], *rows, *arrays[carried + across :]))
        made = cls(step, carried, across, reverse)
        made.length = arrays[carried].shape[0]
        return made

    @property
    def like(self) -> Like:
        """Return the shapes and data types of the last carry, and of all rows."""
        found = self.step.like
        return found[: self.carried] + [((self.length, *shape), dtype) for shape, dtype in found[self.carried :]]

    def run(self, arrays: Sequence[Array]) -> Arrays:
        """Run all steps."""
        carry, xs = tuple(arrays[: self.carried]), arrays[self.carried : self.carried + self.across]
        same = arrays[self.carried + self.across :]
        rows: list[Arrays] = []
        for row in list(zip(*[x.unbind(0) for x in xs]))[:: -1 if self.reverse else 1]:
            found = self.step(*carry, *row, *same)
            carry = found[: self.carried]
            rows.append(found[self.carried :])
        return (*carry, *[torch.stack(column) for column in zip(*rows[:: -1 if self.reverse else 1])])

    def mapped(self, arrays: Sequence[Array], axes: Sequence[int | None], size: int) -> Arrays:
        """Run the steps of all lanes together."""
        carry = _filled(arrays[: self.carried], axes[: self.carried], size)
        rest = axes[self.carried :]
        rows = [
            x if axis is None else x.movedim(0, 1)
            for x, axis in zip(arrays[self.carried : self.carried + self.across], rest)
        ]
        function = _each(self.step.module, (*(0 for _ in carry), *rest), size)
        given = (*carry, *rows, *arrays[self.carried + self.across :])
        made = Scan.of(function, given, self.carried, self.across, self.reverse)
        made.length = self.length
        found = apply(made, given)
        return (*found[: self.carried], *[y.movedim(1, 0) for y in found[self.carried :]])


class While:
    """Steps as long as a condition holds: map the carry and arrays shared by all steps to the carry and a bool."""

    def __init__(self, holds: Function, body: Function, arrays: Arrays, carried: int) -> None:
        """Trace the condition, which returns a tuple of one bool, and the step at arrays."""
        self.carried = carried
        same = slice(carried, None)
        self._first = Step(holds, arrays)
        self._step = Step(lambda *xs: _and_whether(holds, body(*xs), xs[same]), arrays)

    @property
    def like(self) -> Like:
        """Return the shapes and data types of the carry."""
        return self._step.like[:-1]

    def run(self, arrays: Sequence[Array]) -> Arrays:
        """Run the steps."""
        carry, same = tuple(arrays[: self.carried]), arrays[self.carried :]
        (running,) = self._first.module(*arrays)
        while running:
            *found, running = self._step(*carry, *same)
            carry = tuple(found)
        return carry

    def mapped(self, arrays: Sequence[Array], axes: Sequence[int | None], size: int) -> Arrays:
        """Run the steps until the last lane has finished."""
        carry = _filled(arrays[: self.carried], axes[: self.carried], size)
        positions = (*(0 for _ in carry), *axes[self.carried :])
        holds, body = (_each(step.module, positions, size) for step in (self._first, self._step))

        def step(*xs: Array) -> Arrays:
            (active,) = holds(*xs)
            wide = [active.reshape(-1, *(1,) * (x.ndim - 1)) for x in carry]
            return tuple([torch.where(each, new, old) for each, new, old in zip(wide, body(*xs)[:-1], xs)])

        given = (*carry, *arrays[self.carried :])
        return apply(While(lambda *xs: (torch.any(holds(*xs)[0]),), step, given, self.carried), given)


def _and_whether(holds: Function, carry: Arrays, same: Arrays) -> Arrays:
    return (*carry, *holds(*carry, *same))


class Choice:
    """One of two functions, called with a bool before their arguments."""

    def __init__(self, chosen: Function, other: Function, arrays: Arrays, is_for_any: bool = False) -> None:
        """Trace the functions at the bool and their arguments; `is_for_any`: a lane's choice runs the first for all."""
        self._chosen, self._other = Step(chosen, arrays[1:]), Step(other, arrays[1:])
        self._is_for_any = is_for_any

    @property
    def like(self) -> Like:
        """Tell the shapes and data types of the results."""
        return self._chosen.like

    def run(self, arrays: Sequence[Array]) -> Arrays:
        """Call the chosen function."""
        return (self._chosen if arrays[0] else self._other)(*arrays[1:])

    def mapped(self, arrays: Sequence[Array], axes: Sequence[int | None], size: int) -> Arrays:
        """Call one function if it serves all lanes, otherwise both."""
        chosen, other = (_each(step.module, tuple(axes[1:]), size) for step in (self._chosen, self._other))
        if axes[0] is None or self._is_for_any:
            given = (arrays[0] if axes[0] is None else torch.any(arrays[0], dim=0), *arrays[1:])
            return apply(Choice(chosen, other, given, self._is_for_any), given)
        pairs = zip(chosen(*arrays[1:]), other(*arrays[1:]))
        return tuple([torch.where(arrays[0].reshape(-1, *(1,) * (x.ndim - 1)), x, y) for x, y in pairs])


def _filled(arrays: Sequence[Array], axes: Sequence[int | None], size: int) -> list[Array]:
    """Add the axis of the lanes to arrays that don't have it."""
    return [x.expand(size, *x.shape) if axis is None else x for x, axis in zip(arrays, axes)]


def _each(function: Function, axes: Sequence[int | None], size: int) -> Function:
    """Map a function, also over no lanes."""
    if all(axis is None for axis in axes):
        return lambda *xs: tuple([x.expand(size, *x.shape) for x in function(*xs)])
    mapped: Function = torch.func.vmap(function, tuple(axes))
    return mapped
