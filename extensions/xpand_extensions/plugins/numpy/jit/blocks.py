"""Several elementwise operations on NumPy arrays in one pass over blocks that fit into the cache.

Python code runs loops on a few numbers (`_small_loops`).

NumPy's own functions compute the blocks, so values are the same as without blocks. A chain of twelve operations on 5e6
numbers takes 0.45 of the time of whole arrays (numexpr: 1.6, a ufunc compiled by numba: 0.6). `roll` and `concat` are
part of the same pass: they select rows, or parts of rows. Steps of a heat equation on 2,048 by 2,048 numbers take 0.3
of the time of whole arrays. `flip` is a view already.
"""

import math
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from typing import Any, ClassVar, Final

import numpy as np

from ....tracing._backend import Backend, signature_of_any
from ....tracing._compile import step_of
from ....tracing._graph import Equation, Graph, Variable
from ....tracing.rules import ELEMENTWISE
from . import _small_loops

BLOCK: Final = 32768
"""Elements in a block. Of 8,192 to 65,536, this is the fastest for a formula and for a stencil."""
LEAST: Final = BLOCK
"""Arrays of fewer elements are not divided."""


class Blocks(Backend):
    """Compiles elementwise operations on large arrays of the same shape together, and loops on a few numbers."""

    name: ClassVar[str] = "numpy"

    def accepts(self, equation: Equation) -> bool:
        if equation.op.name in _small_loops.LOOPS:
            return _small_loops.accepts(equation)
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
        return any(isinstance(x, Variable) and x.shape == out.shape for x in equation.inputs)

    def left(self, graph: Graph) -> dict[int, str]:
        return {id(each): self._reason(each) for each in graph.equations if not self.accepts(each)}

    def _reason(self, equation: Equation) -> str:
        if equation.op.name in _small_loops.LOOPS:
            return "NumPy computes its steps"
        is_known = equation.op.name in ELEMENTWISE or self.reads_whole(equation)
        is_small = all(math.prod(x.shape) < LEAST for x in equation.outputs)
        return f"fewer than {LEAST:,} elements" if is_known and is_small else "NumPy's own function computes it"

    def group_of(self, equation: Equation) -> Hashable:
        if equation.op.name in _small_loops.LOOPS:
            return id(equation)
        return equation.outputs[0].shape

    def reads_whole(self, equation: Equation) -> bool:
        return equation.op.name in ("concat", "roll")

    def lower(self, graph: Graph) -> Callable[..., Any] | None:
        if graph.equations[0].op.name in _small_loops.LOOPS:
            return _small_loops.function_of(graph, step_of(graph.equations[0], self))
        elementwise = [equation for equation in graph.equations if not self.reads_whole(equation)]
        return _Writer(graph).function() if elementwise and len(graph.equations) > 1 else None

    @staticmethod
    def signature(leaves: Sequence[Any]) -> Hashable:
        try:
            return tuple([(type(x), x.shape, x.dtype) for x in leaves])  # NumPy has one device
        except AttributeError:
            return signature_of_any(leaves)


BACKEND: Final = Blocks()


class _Writer:
    """The text of a kernel."""

    def __init__(self, graph: Graph) -> None:
        self.equations, self.outputs = graph.equations, graph.outputs
        self.inputs = [*graph.inputs, *graph.constants]
        self.shape = shape = graph.equations[0].outputs[0].shape
        self.scope: dict[str, Any] = {"empty": np.empty, "flat": _flat, "rows": _rows, "join": np.concatenate}
        self.scope["joined_rows"] = _joined_rows
        inner = math.prod(shape[1:])
        # Use whole rows if they are short, since parts of rows in slices of other arrays would have to be copied.
        by_lines = len(shape) == 1 or inner > BLOCK
        self.flat = by_lines and all(x.shape == shape or math.prod(x.shape) == 1 for x in self.inputs)
        inner = 1 if self.flat else inner
        self.rows = max(1, BLOCK // inner)
        self.length = math.prod(shape) if self.flat else shape[0]
        self.inner = () if self.flat else shape[1:]
        self.buffers: list[np.dtype[Any]] = []
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
                head.append(f"i{k} = i{k}.reshape(())[()]")
        for k, x in enumerate(self.outputs):
            head.append(f"o{k} = empty({(self.length, *self.inner)}, {self._bound(x.dtype)})")
        body = self._body(names)
        head += [
            f"t{k} = empty({(self.rows, *self.inner)}, {self._bound(dtype)})" for k, dtype in enumerate(self.buffers)
        ]
        loop += [f"u{k} = t{k}[: e - s]" for k in range(len(self.buffers))]
        shaped = f".reshape({self.shape})" if self.flat else ""
        lines = [
            f"def kernel({', '.join(f'i{k}' for k in range(len(self.inputs)))}):",
            *(f"    {line}" for line in head),
            f"    for s in range(0, {self.length}, {self.rows}):",
            f"        e = min(s + {self.rows}, {self.length})",
            *(f"        {line}" for line in (*loop, *body)),
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
            given = [names[x] if isinstance(x, Variable) else self._bound(x) for x in equation.inputs]
            for x in equation.inputs:
                if isinstance(x, Variable):
                    left[x] -= 1
                    if not left[x] and x in buffers:
                        self.free.append(buffers.pop(x))
            names[out] = name = f"y{len(names)}"
            if equation.op.name == "roll":
                lines += self._rolled(equation, name, given[0], buffers)
                continue
            if equation.op.name == "concat":
                lines += self._joined(equation, name, given, buffers)
                continue
            function = equation.op.function
            call = f"{self._bound(function)}({', '.join(given)}"
            if isinstance(function, np.ufunc) and not equation.params:
                lines += [f"{name} = {self._target(out, buffers)}", f"{call}, out={name})"]
                continue
            params = "".join(f", {key}={self._bound(value)}" for key, value in equation.params.items())
            lines.append(f"{name} = {call}{params})")
            if out in self.outputs:
                lines.append(f"{self._target(out, buffers)} = {name}")
        return lines

    def _target(self, out: Variable, buffers: dict[Variable, int]) -> str:
        """Return the memory for one block of an array: rows of a result, or a buffer."""
        if out in self.outputs:
            return f"o{self.outputs.index(out)}[s:e]"
        buffers[out] = self._buffer(np.dtype(out.dtype))
        return f"u{buffers[out]}"

    def _rolled(self, equation: Equation, name: str, part: str, buffers: dict[Variable, int]) -> list[str]:
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
            f"{name}[{before}{shift}:] = {part}[{before}: {self.shape[axis] - shift}]",
            f"{name}[{before}: {shift}] = {part}[{before}{self.shape[axis] - shift} :]",
        ]

    def _joined(self, equation: Equation, name: str, parts: Sequence[str], buffers: dict[Variable, int]) -> list[str]:
        """Write the rows of arrays that are joined along an axis."""
        axis, target = equation.params["axis"] % len(self.shape), self._target(equation.outputs[0], buffers)
        if axis:
            return [f"{name} = join(({', '.join(parts)},), axis={axis}, out={target})"]
        whole = [f"i{self.inputs.index(x)}" for x in equation.inputs]
        return [f"{name} = joined_rows(({', '.join(whole)},), s, e, {target})"]

    def _buffer(self, dtype: np.dtype[Any]) -> int:
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


def _rows(x: Any, start: int, stop: int) -> Any:
    """Return rows of an array, which continues with the first row after the last one."""
    size = len(x)
    start, stop = start % size, (stop - 1) % size + 1
    return x[start:stop] if start < stop else np.concatenate((x[start:], x[:stop]))


def _joined_rows(parts: Sequence[Any], start: int, stop: int, out: Any) -> Any:
    """Copy rows of joined arrays."""
    position = 0
    for part in parts:
        first, last = max(start, position), min(stop, position + len(part))
        if first < last:
            out[first - start : last - start] = part[first - position : last - position]
        position += len(part)
    return out


def _flat(x: Any) -> Any:
    return np.ascontiguousarray(x).reshape(-1)
