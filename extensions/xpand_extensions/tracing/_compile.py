"""Compile graphs to straight-line calls: of groups that a backend lowered, and of the library's own functions."""

import inspect
import math
import operator
from collections.abc import Callable, Collection, Hashable, Iterator, Sequence
from functools import partial
from typing import Any, Final, NamedTuple, TypeAlias

from xpand import is_writeable_array, trees
from xpand.extend import is_lazy

from ._aliases import to_be_copied
from ._backend import LIBRARY, QUIET, Automatic, Backend, attempted
from ._facades import FacadeOp, Template
from ._graph import Equation, Graph, Variable, graphs_within
from ._keys import ARRAY, passes_over
from ._simplify import simplified

_SCALAR: Final[dict[str, Callable[..., Any]]] = {
    "add": operator.add,
    "divide": operator.truediv,
    "multiply": operator.mul,
    "negative": operator.neg,
    "subtract": operator.sub,
}
"""Operators with the same values as functions. For NumPy's scalars, they take a tenth of the time."""


def _squared(x: Any, _: int) -> Any:
    """Return `xp.pow(x, 2)`, which NumPy computes as this product too."""
    return x * x


def _is_of_numbers(equation: Equation) -> bool:
    """Return whether all arrays of an operation are real floating-point numbers of shape ()."""
    isdtype = equation.op.namespace.base.isdtype
    arrays = [x for x in (*equation.inputs, *equation.outputs) if isinstance(x, Variable)]
    numbers = [x for x in equation.inputs if not isinstance(x, Variable)]
    return all(not x.shape and isdtype(x.dtype, "real floating") for x in arrays) and all(
        type(x) in (int, float) for x in numbers
    )


def specialised(equation: Equation) -> tuple[Callable[..., Any], dict[str, Any]]:
    """Return the function for an operation of a graph, and the remaining parameters to pass."""
    op, params = equation.op, equation.params
    if isinstance(op, FacadeOp):
        return _bound(op.implementation, params["template"]), {}
    if not params and _is_of_numbers(equation):
        if op.name in _SCALAR:
            return _SCALAR[op.name], {}
        if op.name == "pow" and type(equation.inputs[1]) is int and equation.inputs[1] == 2:
            return _squared, {}
    if op.name == "getitem" and not (is_lazy(op.namespace.base) and any(map(passes_over, params["key"]))):
        found = _item(params["key"])
        return (found, {}) if found is not None else (op.function, params)
    if op.name == "setitem" and len(equation.inputs) == 2:
        base = op.namespace.base
        if not is_lazy(base) and is_writeable_array(base.zeros((1,), dtype=base.float32)):
            return _writer(base.asarray, params["key"]), {}
    return op.function, params


def _item(key: tuple[Any, ...]) -> Callable[..., Any] | None:
    """Return the function that indexes with a key, or None if arrays are nested in the key."""
    if ARRAY not in [part for part in key if isinstance(part, str)]:
        return operator.itemgetter(key[0] if len(key) == 1 else key)
    return operator.getitem if len(key) == 1 else None


def _writer(asarray: Callable[..., Any], key: tuple[Any, ...]) -> Callable[..., Any]:
    """Return the function that sets the elements at a key in a copy."""

    def write(x: Any, value: Any) -> Any:
        x = asarray(x, copy=True)
        x[key] = value
        return x

    return write


class _Placeholder:
    """The placeholder of an array."""

    def __init__(self, number: int) -> None:
        self.number = number


def _bound(function: Callable[..., Any], template: Template) -> Callable[..., Any]:
    """Return a call as a function of only its arrays."""
    filled = template.fill([_Placeholder(i) for i in range(len(template.names))])
    in_order = {name: filled[name] for name in template.signature.parameters if name in filled}
    bound = inspect.BoundArguments(template.signature, in_order)
    scope: dict[str, Any] = {"function": function}
    given = [(f"{name}=", x) for name, x in bound.kwargs.items()]
    texts = [(name, _text(x, scope)) for name, x in [*(("", x) for x in bound.args), *given]]
    if any(text is None for _, text in texts):
        return partial(_called, function, template)
    arrays = ", ".join(f"a{i}" for i in range(len(template.names)))
    exec(f"def call({arrays}): return function({', '.join(f'{name}{text}' for name, text in texts)})", scope)
    call: Callable[..., Any] = scope.pop("call")  # avoids a cycle, since `call` refers to the scope
    return call


def _called(function: Callable[..., Any], template: Template, *arrays: Any) -> Any:
    return template.call(function, arrays)


def _text(x: Any, scope: dict[str, Any]) -> str | None:
    """Return the source of an argument, or None for a tree of arrays, which has no source."""
    if isinstance(x, _Placeholder):
        return f"a{x.number}"
    if not any(isinstance(leaf, _Placeholder) for leaf in trees.leaves(x)):
        name = f"c{len(scope)}"
        scope[name] = x
        return name
    if type(x) not in (list, tuple):
        return None
    parts = [_text(part, scope) for part in x]
    if any(part is None for part in parts):
        return None
    inside = "".join(f"{part}, " for part in parts)
    return f"[{inside}]" if type(x) is list else f"({inside})"


LARGE: Final = 1024
"""Arrays with at least this many elements are deleted after their last use, others at the end of the program."""

Users: TypeAlias = dict[Variable, list[Any]]
"""The equations that use each variable. None stands for the outputs of the graph."""


class Step(NamedTuple):
    """A call `outputs = function(*inputs, **params)` of a program.

    `several`: the function returns a sequence. Inputs are variables, constants, and lists and tuples of these.
    """

    function: Callable[..., Any]
    inputs: Sequence[Any]
    params: dict[str, Any]
    outputs: Sequence[Variable]
    several: bool


def compiled(graph: Graph, backend: Backend = LIBRARY, single: bool = False) -> Callable[..., Any]:
    """Compile a graph to a function of the library's own arrays.

    Args:
        graph: The graph.
        backend: Compiles the accepted equations of the simplified graph.
        single: Whether to return the one output instead of a tuple of outputs.
    """
    short = simplified(graph)
    steps, copied = steps_of(short, backend), to_be_copied(graph, short)
    found = program(short, steps, copied, single)
    if steps and all(hasattr(step.function, QUIET) for step in steps):
        quiet = [step._replace(function=getattr(step.function, QUIET)) for step in steps]
        setattr(found, QUIET, program(short, quiet, copied, single))
    return found


def steps_of(graph: Graph, backend: Backend) -> list[Step]:
    """Make the steps of a graph: one for each group that a backend lowers, and one for each other equation."""
    if backend is LIBRARY:
        return [step_of(equation, LIBRARY) for equation in graph.equations]
    if isinstance(backend, Automatic):
        make = partial(_steps_of, graph, backend.backend, backend)
        return attempted(graph, str(backend.backend), make, partial(steps_of, graph, LIBRARY))
    try:
        return _steps_of(graph, backend, backend)
    except Exception as error:
        error.add_note(f"jit: compiler={backend.name!r} failed; without compiler=, the library computes this program")
        raise


def _steps_of(graph: Graph, backend: Backend, of_bodies: Backend) -> list[Step]:
    users, left = users_of(graph), backend.left(graph)
    steps: list[Step] = []
    groups: dict[Hashable, list[Equation]] = {}  # open groups, by kind; no group depends on another
    where: dict[Variable, Hashable] = {}

    def flush(kind: Hashable) -> None:
        equations = groups.pop(kind)
        for equation in equations:
            for x in equation.outputs:
                del where[x]
        part = part_of(graph, equations, users)
        function = backend.lower(part)
        if function is None:
            steps.extend(step_of(equation, of_bodies) for equation in equations)
        else:
            steps.append(Step(function, [*part.inputs, *part.constants], {}, part.outputs, True))

    for equation in graph.equations:
        joins = id(equation) not in left and not equation.effects
        kind = backend.group_of(equation) if joins else None
        stays = joins and not backend.reads_whole(equation)
        for x in equation.inputs:
            if isinstance(x, Variable) and x in where and not (stays and where[x] == kind):
                flush(where[x])
        if joins:
            groups.setdefault(kind, []).append(equation)
            where.update(dict.fromkeys(equation.outputs, kind))
        else:
            steps.append(step_of(equation, of_bodies))
    for kind in list(groups):
        flush(kind)
    return steps


def left_to_library(graph: Graph, backend: Backend) -> dict[int, str]:
    """Return the reasons why operations of a graph, and of loops that the library runs, are not compiled."""
    left = backend.left(graph)
    found = {id(each): "side effects" if each.effects else left.get(id(each), "") for each in graph.equations}
    for equation in graph.equations:
        if found[id(equation)]:
            for _, inner in graphs_within(equation.params):
                found.update(left_to_library(inner, backend))
    return {number: reason for number, reason in found.items() if reason}


def part_of(graph: Graph, equations: Sequence[Equation], users: Users | None = None) -> Graph:
    """Return some equations of a graph as a graph. Its outputs are the variables that the other equations use."""
    users = users_of(graph) if users is None else users
    inside = set(map(id, equations))
    made = {x: None for equation in equations for x in equation.outputs}
    used = (x for equation in equations for x in equation.inputs if isinstance(x, Variable) and x not in made)
    given = list(dict.fromkeys(used))
    constants = {x: graph.constants[x] for x in given if x in graph.constants}
    outputs = [x for x in made if any(id(user) not in inside for user in users.get(x, ()))]
    return Graph(graph.namespace, [x for x in given if x not in constants], constants, equations, outputs)


def users_of(graph: Graph) -> Users:
    """Return the operations that use each array. None stands for the outputs of the graph."""
    users: Users = {}
    for user, inputs in (*((each, each.inputs) for each in graph.equations), (None, graph.outputs)):
        for x in inputs:
            if isinstance(x, Variable):
                users.setdefault(x, []).append(user)
    return users


def step_of(equation: Equation, backend: Backend) -> Step:
    """Make the step of an operation that the library runs. A backend compiles the bodies of loops and branches."""
    call = backend.direct(equation)
    if call is not None:
        return Step(*call, equation.outputs, False)
    function, params = specialised(equation)
    if backend is not LIBRARY:
        params = {name: _compiled_by(backend, value) for name, value in params.items()}
    return Step(function, equation.inputs, params, equation.outputs, equation.op.result is not None)


def _compiled_by(backend: Backend, value: Any) -> Any:
    if type(value) is tuple:
        return tuple([_compiled_by(backend, part) for part in value])
    return value.compiled_by(backend) if hasattr(type(value), "compiled_by") else value


def program(
    graph: Graph, steps: Sequence[Step], copied: Collection[int] = (), single: bool = False
) -> Callable[..., Any]:
    """Make the function that runs the steps of a graph one by one.

    Args:
        graph: The graph.
        steps: Its steps, each after the steps that it needs.
        copied: The positions of outputs that are copied.
        single: As in `compiled`.
    """
    source = _Source(graph)
    last: dict[Variable, int] = {}
    for number, step in enumerate(steps):
        last.update(dict.fromkeys(variables_of(step.inputs), number))
    lasting = {x for x in graph.outputs if isinstance(x, Variable)} | set(graph.constants)
    for number, step in enumerate(steps):
        source.call(step)
        used = dict.fromkeys(x for x in (*variables_of(step.inputs), *step.outputs) if x not in lasting)
        source.forget([x for x in used if last.get(x, number) == number and x.aval.size >= LARGE])
    return source.function(copied, single)


def variables_of(inputs: Sequence[Any]) -> Iterator[Variable]:
    """Yield the variables among the inputs of a step."""
    for x in inputs:
        if isinstance(x, Variable):
            yield x
        elif type(x) in (list, tuple):
            yield from variables_of(x)


class _Source:
    """The source lines of a function, and the values of its names."""

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
        """Return the source of an operand, a variable or a number."""
        if isinstance(x, Variable):
            return self.name(x)
        if type(x) in (int, bool) or x is None or (type(x) is float and math.isfinite(x)):
            return f"({x!r})"
        if type(x) in (list, tuple) and any(isinstance(part, Variable) for part in x):
            inside = "".join(f"{self.value(part)}, " for part in x)
            return f"[{inside}]" if type(x) is list else f"({inside})"
        return self.bound(x)

    def bound(self, x: Any) -> str:
        """Bind a value without source, and return its name."""
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

    def function(self, copied: Collection[int], single: bool) -> Callable[..., Any]:
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
        run: Callable[..., Any] = self.scope.pop("run")  # avoids a cycle, since `run` refers to the scope
        return run
