"""The graph: what a function does to its arrays, as a list of operations."""

from collections.abc import Sequence
from typing import Any

from xpand._typing import Array, DType

from ._core import Aval, Op, bare, bind


class Variable:
    """An array of the graph: an input, a constant, or what an equation defines."""

    __slots__ = ("aval",)

    def __init__(self, aval: Aval) -> None:
        self.aval = aval

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of elements along each axis."""
        return self.aval.shape

    @property
    def dtype(self) -> DType:
        """The data type, of the library on which the function was traced."""
        return self.aval.dtype


class Equation:
    """An operation of the graph, on variables and numbers, that defines variables."""

    __slots__ = ("inputs", "op", "outputs", "params")

    def __init__(self, op: Op, inputs: Sequence[Any], params: dict[str, Any], outputs: Sequence[Variable]) -> None:
        self.op, self.inputs, self.params, self.outputs = op, tuple(inputs), params, tuple(outputs)


class Graph:
    """A function of arrays, as a list of operations, each of which comes after those it needs."""

    def __init__(
        self,
        namespace: Any,
        inputs: Sequence[Variable],
        constants: dict[Variable, Any],
        equations: Sequence[Equation],
        outputs: Sequence[Any],
    ) -> None:
        self.namespace = namespace
        self.inputs, self.constants = tuple(inputs), constants
        self.equations, self.outputs = list(equations), tuple(outputs)

    def run(self, *arrays: Array) -> tuple[Array, ...]:
        """Do the operations on arrays, traced ones too."""
        values: dict[Variable, Any] = dict(self.constants)
        values.update(zip(self.inputs, map(bare, arrays)))
        for equation in self.equations:
            given = [values[x] if isinstance(x, Variable) else x for x in equation.inputs]
            found = bind(equation.op, given, equation.params)
            if equation.op.result is None:
                values[equation.outputs[0]] = bare(found)
            else:
                values.update(zip(equation.outputs, map(bare, found)))
        return tuple(values[x] if isinstance(x, Variable) else x for x in self.outputs)
