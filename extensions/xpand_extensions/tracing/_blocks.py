"""Several elementwise operations on large arrays in one pass over blocks that fit into the cache.

The library's own functions compute the blocks, so values are the same as without blocks. `roll` and `concat` are part
of the same pass: they select rows, or parts of rows. A library states how it computes blocks (`Blocks.call`,
`Blocks.functions`) and who runs them (`Functions.run`).
"""

import math
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import Any, ClassVar, Final, NamedTuple

from ._backend import Backend
from ._graph import Equation, Graph, Variable
from .rules import ELEMENTWISE

BLOCK: Final = 32768
"""Elements in a block. Of 8,192 to 65,536, this is the fastest for a formula and for a stencil."""
LEAST: Final = BLOCK
"""Arrays of fewer elements are not divided."""


class Call(NamedTuple):
    """A call of a library's function for one block."""

    function: Callable[..., Any]
    inputs: Sequence[Any]
    params: dict[str, Any]
    writes: bool
    """Whether the function has an argument `out`."""


class Functions(NamedTuple):
    """A library's functions of whole arrays and of blocks."""

    empty: Callable[..., Any]
    """Make an array of a shape and data type."""
    flat: Callable[[Any], Any]
    """Return the elements as a vector in row order."""
    scalar: Callable[[Any], Any]
    """Return the only element of an array, without axes."""
    join: Callable[..., Any]
    """Write arrays that are joined along an axis: `join(arrays, axis, out)`."""
    run: Callable[[Callable[[int, int], None], int, int], None]
    """Call a function of ranges until it has computed all rows: `run(part, length, rows of a block)`."""


class Blocks(Backend):
    """Compiles elementwise operations on large arrays of the same shape together."""

    functions: ClassVar[Functions]

    @abstractmethod
    def call(self, equation: Equation) -> Call | None:
        """Return the call that computes blocks of an elementwise operation; None if it must see whole arrays."""

    def accepts(self, equation: Equation) -> bool:
        if self.reads_whole(equation):
            axis, out = equation.params["axis"], equation.outputs[0]
            shape, alike = out.shape, [isinstance(x, Variable) and x.dtype == out.dtype for x in equation.inputs]
            large = len(shape) > 1 and shape[0] > 1 and math.prod(shape) >= LEAST
            is_static = type(axis) is int and type(equation.params.get("shift", 0)) is int and all(alike)
            return is_static and large and math.prod(shape[1:]) <= BLOCK
        if equation.op.name not in ELEMENTWISE or len(equation.outputs) != 1:
            return False
        out = equation.outputs[0]
        if math.prod(out.shape) < LEAST or out.shape[0] < 2:
            return False
        whole = any(isinstance(x, Variable) and x.shape == out.shape for x in equation.inputs)
        return whole and self.call(equation) is not None

    def left(self, graph: Graph) -> dict[int, str]:
        return {id(each): self.reason(each) for each in graph.equations if not self.accepts(each)}

    def reason(self, equation: Equation) -> str:
        """Return the reason why an operation is not accepted."""
        is_known = equation.op.name in ELEMENTWISE or self.reads_whole(equation)
        is_small = all(math.prod(x.shape) < LEAST for x in equation.outputs)
        return f"fewer than {LEAST:,} elements" if is_known and is_small else "the library's own function computes it"

    def group_of(self, equation: Equation) -> Hashable:
        return equation.outputs[0].shape

    def reads_whole(self, equation: Equation) -> bool:
        return equation.op.name in ("concat", "roll")

    def lower(self, graph: Graph) -> Callable[..., Any] | None:
        elementwise = [equation for equation in graph.equations if not self.reads_whole(equation)]
        return _Writer(graph, self).function() if elementwise and len(graph.equations) > 1 else None


class _Writer:
    """The text of a kernel."""

    def __init__(self, graph: Graph, blocks: Blocks) -> None:
        self.equations, self.outputs, self.blocks = graph.equations, graph.outputs, blocks
        self.inputs = [*graph.inputs, *graph.constants]
        self.shape = shape = graph.equations[0].outputs[0].shape
        self.scope: dict[str, Any] = {**blocks.functions._asdict(), "joined_rows": _joined_rows}
        self.scope["rows"] = partial(_rows, blocks.functions)
        inner = math.prod(shape[1:])
        # Use whole rows if they are short, since parts of rows in slices of other arrays would have to be copied.
        by_lines = len(shape) == 1 or inner > BLOCK
        self.flat = by_lines and all(x.shape == shape or math.prod(x.shape) == 1 for x in self.inputs)
        inner = 1 if self.flat else inner
        self.rows = max(1, BLOCK // inner)
        self.length = math.prod(shape) if self.flat else shape[0]
        self.inner = () if self.flat else shape[1:]
        self.buffers: list[Any] = []
        self.free: list[int] = []

    def function(self) -> Callable[..., Any]:
        names: dict[Variable, str] = {x: f"i{k}" for k, x in enumerate(self.inputs)}
        head, loop = [], []
        for k, x in enumerate(self.inputs):
            if len(x.shape) == len(self.shape) and x.shape[0] == self.shape[0]:  # divided
                if self.flat:
                    head.append(f"i{k} = flat(i{k})")
                loop.append(f"x{k} = i{k}[s:e]")
                names[x] = f"x{k}"
            elif self.flat and x.shape:
                head.append(f"i{k} = scalar(i{k})")
        for k, x in enumerate(self.outputs):
            head.append(f"o{k} = empty({(self.length, *self.inner)}, {self._bound(x.dtype)})")
        body = self._body(names)
        buffers = [
            f"t{k} = empty({(self.rows, *self.inner)}, {self._bound(dtype)})" for k, dtype in enumerate(self.buffers)
        ]
        loop += [f"u{k} = t{k}[: e - s]" for k in range(len(self.buffers))]
        shaped = f".reshape({self.shape})" if self.flat else ""
        lines = [
            f"def kernel({', '.join(f'i{k}' for k in range(len(self.inputs)))}):",
            *(f"    {line}" for line in head),
            "    def part(start, stop):",
            *(f"        {line}" for line in buffers),
            f"        for s in range(start, stop, {self.rows}):",
            f"            e = min(s + {self.rows}, stop)",
            *(f"            {line}" for line in (*loop, *body)),
            f"    run(part, {self.length}, {self.rows})",
            f"    return ({''.join(f'o{k}{shaped}, ' for k in range(len(self.outputs)))})",
        ]
        exec("\n".join(lines), self.scope)
        kernel: Callable[..., Any] = self.scope.pop("kernel")
        return kernel

    def _body(self, names: dict[Variable, str]) -> list[str]:
        """Write the operations on one block. Buffers are reused after their last use."""
        left = Counter(x for equation in self.equations for x in equation.inputs if isinstance(x, Variable))
        buffers: dict[Variable, int] = {}
        lines = []
        for equation in self.equations:
            out = equation.outputs[0]
            call = None if self.blocks.reads_whole(equation) else self.blocks.call(equation)
            inputs = equation.inputs if call is None else call.inputs
            given = [names[x] if isinstance(x, Variable) else self._bound(x) for x in inputs]
            is_view = call is not None and not call.writes  # the result may be a view of the buffer
            for x in equation.inputs:
                if isinstance(x, Variable):
                    left[x] -= 1
                    if not left[x] and x in buffers and not is_view:
                        self.free.append(buffers.pop(x))
            names[out] = name = f"y{len(names)}"
            if call is None:
                write = self._rolled if equation.op.name == "roll" else self._joined
                lines += write(equation, name, given, buffers)
                continue
            params = "".join(f", {key}={self._bound(value)}" for key, value in call.params.items())
            text = f"{self._bound(call.function)}({', '.join(given)}{params}"
            if call.writes:
                lines += [f"{name} = {self._target(out, buffers)}", f"{text}, out={name})"]
                continue
            lines.append(f"{name} = {text})")
            if out in self.outputs:
                lines.append(f"{self._target(out, buffers)} = {name}")
        return lines

    def _target(self, out: Variable, buffers: dict[Variable, int]) -> str:
        """Return the memory for one block of an array: rows of a result, or a buffer."""
        if out in self.outputs:
            return f"o{self.outputs.index(out)}[s:e]"
        buffers[out] = self._buffer(out.dtype)
        return f"u{buffers[out]}"

    def _rolled(self, equation: Equation, name: str, parts: Sequence[str], buffers: dict[Variable, int]) -> list[str]:
        """Write the rows of an array that is rolled along an axis: other rows, or the same rows rolled."""
        x, out = equation.inputs[0], equation.outputs[0]
        axis = equation.params["axis"] % len(self.shape)
        shift = equation.params["shift"] % self.shape[axis] if self.shape[axis] else 0
        if not axis:
            lines = [f"{name} = rows(i{self.inputs.index(x)}, s - {shift}, e - {shift})"]
            return [*lines, f"{self._target(out, buffers)} = {name}"] if out in self.outputs else lines
        before = ":, " * axis
        return [
            f"{name} = {self._target(out, buffers)}",
            f"{name}[{before}{shift}:] = {parts[0]}[{before}: {self.shape[axis] - shift}]",
            f"{name}[{before}: {shift}] = {parts[0]}[{before}{self.shape[axis] - shift} :]",
        ]

    def _joined(self, equation: Equation, name: str, parts: Sequence[str], buffers: dict[Variable, int]) -> list[str]:
        """Write the rows of arrays that are joined along an axis."""
        axis, target = equation.params["axis"] % len(self.shape), self._target(equation.outputs[0], buffers)
        if axis:
            return [f"{name} = {target}", f"join(({', '.join(parts)},), {axis}, {name})"]
        whole = [f"i{self.inputs.index(x)}" for x in equation.inputs]
        return [f"{name} = joined_rows(({', '.join(whole)},), s, e, {target})"]

    def _buffer(self, dtype: Any) -> int:
        for k in self.free:
            if self.buffers[k] == dtype:
                self.free.remove(k)
                return k
        self.buffers.append(dtype)
        return len(self.buffers) - 1

    def _bound(self, x: Any) -> str:
        name = f"c{len(self.scope)}"
        self.scope[name] = x
        return name


def _rows(functions: Functions, x: Any, start: int, stop: int) -> Any:
    """Return rows of an array, which continues with the first row after the last one."""
    size = len(x)
    start, stop = start % size, (stop - 1) % size + 1
    if start < stop:
        return x[start:stop]
    found = functions.empty((size - start + stop, *x.shape[1:]), x.dtype)
    functions.join((x[start:], x[:stop]), 0, found)
    return found


def _joined_rows(parts: Sequence[Any], start: int, stop: int, out: Any) -> Any:
    """Copy rows of joined arrays."""
    position = 0
    for part in parts:
        first, last = max(start, position), min(stop, position + len(part))
        if first < last:
            out[first - start : last - start] = part[first - position : last - position]
        position += len(part)
    return out
