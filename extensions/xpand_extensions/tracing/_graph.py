"""The graph: a function of arrays as a list of operations.

A graph is typed: every variable has a shape and a data type. It can be printed, walked (`equations`, each with `op`,
`inputs`, `params`, `outputs`), drawn (`dot`), checked (`check`), and run on arrays of its own library or another one
(`run`). Running a graph applies its operations one by one, so interpreters can trace it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from importlib import import_module
from types import FunctionType
from typing import Any, Final

from xpand import array_namespace, library_name
from xpand.extend import DType, LibraryArray as Array, device_of

from .._drawing import Drawing, Node, drawn
from ._core import Aval, Op, TracedArray, bare, bind


class Variable:
    """An array of the graph: an input, a constant, or a result of an equation."""

    __slots__ = ("aval",)

    def __init__(self, aval: Aval) -> None:
        """Make the variable for an array with an abstract value."""
        self.aval = aval

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of elements along each axis."""
        return self.aval.shape

    @property
    def dtype(self) -> DType:
        """The data type, in the library on which the function was traced."""
        return self.aval.dtype


class Equation:
    """An operation of the graph on variables and numbers. It defines variables."""

    __slots__ = ("inputs", "op", "outputs", "params", "scope")

    def __init__(
        self, op: Op, inputs: Sequence[Any], params: dict[str, Any], outputs: Sequence[Variable], scope: str = ""
    ) -> None:
        """Make the equation `outputs = op(*inputs, **params)`, in the part of the function named `scope`."""
        self.op, self.inputs, self.params, self.outputs = op, tuple(inputs), params, tuple(outputs)
        self.scope = scope

    def with_inputs(self, inputs: Sequence[Any]) -> "Equation":
        """Return the equation with other inputs."""
        return Equation(self.op, inputs, self.params, self.outputs, self.scope)

    @property
    def effects(self) -> bool:
        """Whether the operation has side effects, also in the body of a loop or branch."""
        if self.op.effects:
            return True
        return any(each.effects for _, graph in graphs_within(self.params) for each in graph.equations)

    def applies(self, *names: str) -> bool:
        """Return whether the operation, or one in the body of a loop or branch, has one of the names."""
        inner = (each for _, graph in graphs_within(self.params) for each in graph.equations)
        return self.op.name in names or any(each.applies(*names) for each in inner)


_SHAPES: Final = {"input": "box", "constant": "note", "operation": "ellipse", "output": "box"}
"""The shapes of nodes in Graphviz."""


class GraphError(ValueError):
    """A graph that isn't well-formed."""

    __module__ = "xpand_extensions.tracing"  # where users import it from: tracebacks show this name


def described(op: Op, inputs: Sequence[Any], constants: Iterable[tuple[Variable, Any]]) -> list[Any]:
    """Return the abstract inputs of an operation, and the values of constants if it will be decomposed.

    Some decompositions need values of constants, such as the range of integers to count.
    """
    if op.shape is not None:
        return [x.aval if isinstance(x, Variable) else x for x in inputs]
    known = {variable: x for variable, x in constants if not isinstance(x, TracedArray)}
    return [known.get(x, x.aval) if isinstance(x, Variable) else x for x in inputs]


class Graph:
    """A function of arrays as a list of operations, each after the operations that it depends on."""

    __slots__ = ("constants", "equations", "inputs", "namespace", "outputs")

    def __init__(
        self,
        namespace: Any,
        inputs: Sequence[Variable],
        constants: dict[Variable, Any],
        equations: Sequence[Equation],
        outputs: Sequence[Any],
    ) -> None:
        """Make a graph over the library of a traced namespace. Outputs are variables and numbers."""
        self.namespace = namespace
        self.inputs, self.constants = tuple(inputs), constants
        self.equations, self.outputs = list(equations), tuple(outputs)

    def run(self, *arrays: Array) -> tuple[Array, ...]:
        """Run the operations on arrays of the graph's library or another one, traced or not.

        Raises:
            TypeError: The number of arrays differs from that of the inputs.
            ValueError: The shape of an array differs from that of its input.
        """
        given = self.on_library_of(arrays).checked(arrays)
        values: dict[Variable, Any] = {**given.constants, **dict(zip(given.inputs, map(bare, arrays)))}
        for equation in given.equations:
            args = [values[x] if isinstance(x, Variable) else x for x in equation.inputs]
            found = bind(equation.op, args, equation.params)
            if equation.op.result is None:
                values[equation.outputs[0]] = bare(found)
            else:
                values.update(zip(equation.outputs, map(bare, found)))
        return tuple(values[x] if isinstance(x, Variable) else x for x in given.outputs)

    def checked(self, arrays: Sequence[Array]) -> "Graph":
        """Check the arrays, and return the graph."""
        if len(arrays) != len(self.inputs):
            raise TypeError(f"graph: takes {len(self.inputs)} arrays, got {len(arrays)}")
        for i, (variable, x) in enumerate(zip(self.inputs, arrays)):
            if tuple(x.shape) != variable.shape:
                raise ValueError(
                    f"graph: array {i} must have the shape {variable.shape}, as when the function was traced, got "
                    f"{tuple(x.shape)}; trace it again for other shapes"
                )
        return self

    def on_library_of(self, arrays: Sequence[Array]) -> "Graph":
        """Return the graph for the library of the arrays: itself, or its translation."""
        found = array_namespace(*arrays) if arrays else self.namespace
        if (
            found is self.namespace
            or found is self.namespace.base
            or getattr(found, "base", None) is self.namespace.base
        ):
            return self
        module = import_module("._translate", __package__)  # it imports this module
        translated: Graph = module.translated(self, found, device_of(bare(arrays[0])))
        return translated

    def variables(self) -> Iterator[Variable]:
        """Yield all variables in the order of their definition."""
        yield from self.inputs
        yield from self.constants
        for equation in self.equations:
            yield from equation.outputs

    def check(self) -> None:
        """Check that each variable is defined once, before it is used, and has the type that its operation returns.

        Operations must get the right number of arrays, and parameters of the right names. The values of parameters are
        not checked. The graphs of loops and branches are checked, too.

        Raises:
            GraphError: The graph isn't well-formed.
        """
        import_module("._check", __package__).check(self)  # it imports this module

    def __str__(self) -> str:
        return self.text({})

    def text(self, notes: Mapping[int, str]) -> str:
        """Return the graph as text, with notes on equations by their `id`."""
        return "\n".join(_lines(self, "graph", f" over {library_name(self.namespace.base)}", notes))

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return drawn(drawing_of(self, f"graph over {library_name(self.namespace.base)}"))

    def dot(self) -> str:
        """Return the graph in the language of Graphviz. Graphs of loops and branches have boxes."""
        return "\n".join(["digraph {", "    node [fontname=monospace];", *_drawn(drawing_of(self, ""), ""), "}"])


def graphs_within(params: dict[str, Any]) -> Iterator[tuple[str, Graph]]:
    """Yield the names and graphs of loops and branches among parameters."""
    for name, value in params.items():
        graph = getattr(value, "graph", None)
        if isinstance(graph, Graph):
            yield name, graph
        elif isinstance(value, tuple):
            yield from ((f"{name}[{i}]", part.graph) for i, part in enumerate(value) if hasattr(part, "graph"))


def _lines(graph: Graph, title: str, over: str, notes: Mapping[int, str]) -> list[str]:
    names = Names(graph)
    heading = ", ".join(f"{names[x]}: {written_type(x.aval)}" for x in graph.inputs)
    lines = [f"{title}({heading}){over}:"]
    for variable, value in graph.constants.items():
        lines.append(f"    {names[variable]}: {written_type(variable.aval)} = {_short(value)}")
    for equation in graph.equations:
        left = ", ".join(f"{names[x]}: {written_type(x.aval)}" for x in equation.outputs)
        comments = [each for each in (equation.scope, notes.get(id(equation))) if each]
        part = f"  # {'; '.join(comments)}" if comments else ""
        left = f"{left} = " if left else ""
        lines.append(f"    {left}{equation.op}({', '.join(_arguments(equation, names))}){part}")
        for name, inner in graphs_within(equation.params):
            lines += [f"        {line}" for line in _lines(inner, name, "", notes)]
    lines.append(f"    return {', '.join(names[x] for x in graph.outputs)}")
    return lines


def drawing_of(graph: Graph, title: str) -> Drawing:
    """Return the nodes of a graph, its loops and branches."""
    nodes = [Node("input", "input", (), written_type(x.aval)) for x in graph.inputs]
    nodes += [Node(_short(value), "constant", (), written_type(x.aval)) for x, value in graph.constants.items()]
    numbers = {x: i for i, x in enumerate([*graph.inputs, *graph.constants])}
    parts = []
    for equation in graph.equations:
        inputs = tuple([numbers[x] for x in equation.inputs if isinstance(x, Variable)])
        numbers.update(dict.fromkeys(equation.outputs, len(nodes)))
        types = ", ".join(written_type(x.aval) for x in equation.outputs)
        nodes.append(Node(str(equation.op), "operation", inputs, types))
        parts += [drawing_of(inner, f"{name} of {equation.op}") for name, inner in graphs_within(equation.params)]
    for x in graph.outputs:
        is_variable = isinstance(x, Variable)
        nodes.append(Node("output" if is_variable else repr(x), "output", (numbers[x],) if is_variable else ()))
    return Drawing(title, nodes, parts)


def _drawn(drawing: Drawing, prefix: str) -> Iterator[str]:
    """Write nodes and edges, with a prefix for the names of nodes."""
    for number, node in enumerate(drawing.nodes):
        name, label = f"{prefix}{node.kind}{number}", f"{node.label} {node.types}".strip()
        yield f'    {name} [shape={_SHAPES[node.kind]}, label="{label}"];'
        yield from (f"    {prefix}{drawing.nodes[i].kind}{i} -> {name};" for i in node.inputs)
    for number, part in enumerate(drawing.parts):
        name = f"{prefix}part{number}"
        yield from (f"    subgraph cluster_{name} {{", f'    label="{part.title}";', *_drawn(part, f"{name}_"), "    }")


class Names(dict[Any, str]):
    """Names for the variables of a graph, in order: a, b, …, z, aa, …. A number is its own name."""

    def __init__(self, graph: Graph) -> None:
        super().__init__((variable, _letters(i)) for i, variable in enumerate(dict.fromkeys(graph.variables())))

    def __missing__(self, key: Any) -> str:
        return "?" if isinstance(key, Variable) else repr(key)


def _letters(number: int) -> str:
    name = chr(ord("a") + number % 26)
    return name if number < 26 else _letters(number // 26 - 1) + name


def written_type(aval: Aval) -> str:
    """Return the type of an array as text."""
    return f"{_dtype_name(aval.dtype)}[{','.join(map(str, aval.shape))}]"


def _short(value: Any) -> str:
    if isinstance(value, TracedArray):
        return repr(value)
    size = 1
    for length in value.shape:
        size *= length
    return f"{value}".replace("\n", " ") if size <= 4 else "..."


def _arguments(equation: Equation, names: Names) -> Iterator[str]:
    for x in equation.inputs:
        yield names[x]
    params = equation.params
    if params.keys() == {"args", "kwargs"}:  # a creation function: its arguments
        yield from map(_written, params["args"])
        params = {name: value for name, value in params["kwargs"].items() if value is not None}
    within = {name.partition("[")[0] for name, _ in graphs_within(params)}
    for name, value in params.items():
        if name not in within:
            yield f"{name}={_written(value)}"


def _written(value: Any) -> str:
    """Return a parameter as text. Data types and functions are written by name."""
    while isinstance(value, partial):
        value = next(filter(callable, value.args), value.func)
    if isinstance(value, FunctionType):
        return value.__name__
    found = _dtype_name(value)
    return found if found.isidentifier() and not isinstance(value, str) else f"{value}"


def _dtype_name(value: Any) -> str:
    return str(value).rpartition(".")[2].removesuffix("'>").strip("'")
