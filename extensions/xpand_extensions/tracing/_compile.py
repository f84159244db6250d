"""Compile graphs to straight-line calls of the library's own functions, without dispatch between them.

A plug-in may fuse several operations into one step where its library runs them faster together.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

from ._aliases import to_be_copied
from ._graph import Equation, Graph, Variable
from ._simplify import simplified
from ._specialise import specialised

LARGE: Final = 1024
"""Arrays with at least this many elements are dropped after their last use; others when the program ends."""


class Step:
    """A call of a function of arrays and numbers that defines variables."""

    __slots__ = ("function", "inputs", "outputs", "params", "several")

    def __init__(
        self,
        function: Callable[..., Any],
        inputs: Sequence[Any],
        params: dict[str, Any],
        outputs: Sequence[Variable],
        several: bool,
    ) -> None:
        """Make the step `outputs = function(*inputs, **params)`; `several`: the function returns a sequence."""
        self.function, self.inputs, self.params, self.outputs = function, tuple(inputs), params, tuple(outputs)
        self.several = several


Fuse: TypeAlias = Callable[[Graph], list[Step]]


def steps_of(graph: Graph) -> list[Step]:
    """Make a step for each operation."""
    return [step_of(equation) for equation in graph.equations]


def step_of(equation: Equation) -> Step:
    """Make the step for an operation."""
    function, params = specialised(equation)
    return Step(function, equation.inputs, params, equation.outputs, equation.op.result is not None)


def compiled(graph: Graph, fuse: Fuse = steps_of, single: bool = False) -> Callable[..., Any]:
    """Compile a graph to a function of the library's own arrays.

    Args:
        graph: The graph.
        fuse: Makes steps of a simplified graph.
        single: The function returns the one output itself, and not a tuple of outputs.
    """
    short = simplified(graph)
    steps = fuse(short)
    source = _Source(short)
    last: dict[Variable, int] = {}
    for number, step in enumerate(steps):
        last.update((x, number) for x in step.inputs if isinstance(x, Variable))
    lasting = {x for x in short.outputs if isinstance(x, Variable)} | set(short.constants)
    for number, step in enumerate(steps):
        source.call(step)
        used = dict.fromkeys(x for x in (*step.inputs, *step.outputs) if isinstance(x, Variable) and x not in lasting)
        source.forget([x for x in used if last.get(x, number) == number and x.aval.size >= LARGE])
    return source.function(to_be_copied(graph, short), single)


class _Source:
    """The source lines of the function, and the values that its names refer to."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.scope: dict[str, Any] = {}
        self.names: dict[Variable, str] = {}
        self.lines: list[str] = []
        for variable in graph.inputs:
            self.name(variable)
        for variable, value in graph.constants.items():
            self.scope[self.name(variable)] = value

    def name(self, variable: Variable) -> str:
        found = self.names.get(variable)
        return self.names.setdefault(variable, f"v{len(self.names)}") if found is None else found

    def value(self, x: Any) -> str:
        """Write an operand: a variable, or a number."""
        if isinstance(x, Variable):
            return self.name(x)
        if type(x) in (int, bool) or x is None or (type(x) is float and math.isfinite(x)):
            return f"({x!r})"
        return self.bound(x)

    def bound(self, x: Any) -> str:
        """Bind a value that can't be written as source, and return its name."""
        name = f"c{len(self.scope)}"
        self.scope[name] = x
        return name

    def call(self, step: Step) -> None:
        given = [self.value(x) for x in step.inputs] + [f"{key}={self.bound(x)}" for key, x in step.params.items()]
        outputs = ", ".join(self.name(x) for x in step.outputs)
        comma = "," if step.several and len(step.outputs) == 1 else ""
        left = f"{outputs}{comma} = " if step.outputs else ""
        self.lines.append(f"{left}{self.bound(step.function)}({', '.join(given)})")

    def forget(self, variables: Sequence[Variable]) -> None:
        if variables:
            self.lines.append(f"del {', '.join(self.name(x) for x in variables)}")

    def function(self, copied: set[int], single: bool) -> Callable[..., Any]:
        asarray = self.graph.namespace.base.asarray
        copy = self.bound(lambda x: asarray(x, copy=True)) if copied else ""
        results = [
            f"{copy}({self.value(x)})" if position in copied else self.value(x)
            for position, x in enumerate(self.graph.outputs)
        ]
        arguments = ", ".join(self.names[x] for x in self.graph.inputs)
        last = results[0] if single else f"({''.join(f'{each}, ' for each in results)})"
        body = "".join(f"    {line}\n" for line in (*self.lines, f"return {last}"))
        exec(f"def run({arguments}):\n{body}", self.scope)
        run: Callable[..., Any] = self.scope.pop("run")  # which holds the scope, with the constants
        return run
