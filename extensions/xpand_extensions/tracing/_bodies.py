"""Graphs as bodies of loops and branches, traced from functions and transformed into other graphs."""

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, Concatenate, NamedTuple, ParamSpec, TypeVar

from xpand import library_name
from xpand.extend import LibraryArray as Array

from .._dispatch import for_library
from .._transforms import replaced
from ._backend import LIBRARY, Backend
from ._batching import batched, spread_out
from ._compile import compiled
from ._core import TracedArray, aval_of, bare, uses_outer
from ._fit import zeros
from ._flow import chosen
from ._forward import jvp
from ._graph import Equation, Graph, Variable
from ._reverse import linearize
from ._simplify import without_unused
from ._staging import stage

P = ParamSpec("P")
T = TypeVar("T")


def cached(method: "Callable[Concatenate[Body, P], T]") -> "Callable[Concatenate[Body, P], T]":
    """Cache the results of a method of a body. The body itself is not stored, since its arrays would stay alive."""

    @wraps(method)
    def found(self: "Body", /, *args: P.args, **named: P.kwargs) -> T:
        key = (method.__name__, *args, *sorted(named.items()))
        if key in self._made:
            return self._made[key]
        made = method(self, *args, **named)
        return made if made is self else self._made.setdefault(key, made)

    return found


class Body:
    """A graph whose inputs and outputs are arrays, with a cache of the graphs derived from it."""

    __slots__ = ("_made", "backend", "graph", "is_in_block")

    def __init__(self, graph: Graph, backend: Backend = LIBRARY, is_in_block: bool = False) -> None:
        self.graph, self.backend, self.is_in_block = graph, backend, is_in_block
        """`is_in_block`: a scan with this body isn't cut into blocks for reverse mode."""
        self._made: dict[Any, Any] = {}

    def __reduce__(self) -> Any:
        """Pickle the graph without its cache."""
        return Body, (self.graph, LIBRARY, self.is_in_block)

    @property
    @cached
    def in_block(self) -> "Body":
        """The body of a scan that isn't cut into blocks for reverse mode."""
        return self if self.is_in_block else Body(self.graph, self.backend, True)

    def made(self, key: Any, make: Callable[[], Any]) -> Any:
        """Return the cached object for a key. The first call makes it."""
        return self._made[key] if key in self._made else self._made.setdefault(key, make())

    @property
    def avals(self) -> list[Any]:
        """The types of the results."""
        return [aval_of(x.aval) if hasattr(x, "aval") else x for x in self.graph.outputs]

    def results(self, given: Sequence[Any]) -> list[Any]:
        """Return the types of the results for arguments of the given types.

        Raises:
            ValueError: They aren't those of the inputs.
        """
        wanted = [(x.shape, x.dtype) for x in self.graph.inputs]
        if len(given) != len(wanted) or any(
            hasattr(x, "dtype") and (tuple(x.shape), x.dtype) != each for x, each in zip(given, wanted)
        ):
            raise ValueError(f"the graph within takes {wanted}, got {list(given)}")
        return self.avals

    @property
    @cached
    def program(self) -> Callable[..., tuple[Any, ...]]:
        """The graph, compiled."""
        return compiled(self.graph, self.backend)

    @cached
    def compiled_by(self, backend: Backend) -> "Body":
        """Return the body whose program a backend compiles."""
        return Body(self.graph, backend)

    def run(self, *arrays: Array) -> tuple[Any, ...]:
        """Run the graph: compiled, and operation by operation where an array is traced."""
        given = tuple(map(bare, arrays))
        return self.graph.run(*given) if any(isinstance(x, TracedArray) for x in given) else self.program(*given)

    def floats(self, which: str) -> tuple[bool, ...]:
        """Return which inputs or outputs are floating-point."""
        is_floating = self.graph.namespace.is_floating
        return tuple(is_floating(x.dtype) for x in getattr(self.graph, which))

    def depends(self, on: tuple[bool, ...]) -> tuple[bool, ...]:
        """Return which outputs depend on some of the inputs."""
        graph = self.graph
        found = {x for x, each in zip(graph.inputs, on) if each}
        for equation in graph.equations:
            given = tuple(isinstance(x, Variable) and x in found for x in equation.inputs)
            if any(given):
                which = equation.op.overrides.get("depends")
                outputs = equation.outputs
                found.update(outputs if which is None else chosen(outputs, which(given, **equation.params)))
        return tuple(isinstance(x, Variable) and x in found for x in graph.outputs)

    def depends_at_last(self, on: tuple[bool, ...], constants: int, carry: int) -> tuple[bool, ...]:
        """Return which outputs depend on them after any number of steps. Inputs after the constants are the carry."""
        while True:
            found = self.depends(on)
            after = tuple(x or y for x, y in zip(on[constants : constants + carry], found))
            if after == on[constants : constants + carry]:
                return (*after, *found[carry:])
            on = (*on[:constants], *after, *on[constants + carry :])

    @cached
    def pushed(self, has: tuple[bool, ...]) -> "Body":
        """Return the body of forward mode, from inputs and their tangents to outputs and their tangents.

        `has` says which inputs have tangents. Floating-point outputs have tangents.
        """
        graph, count = self.graph, len(self.graph.inputs)
        floats = self.floats("outputs")

        def function(*arrays: Array) -> tuple[Any, Any]:
            primals, tangents = arrays[:count], iter(arrays[count:])
            chosen = [i for i, each in enumerate(has) if each]
            run = lambda *given: (graph.run(*replaced(primals, chosen, given)), ())
            if not chosen:
                outs = graph.run(*primals)
                derivatives: Sequence[Any] = [zeros(graph.namespace, x) for x in outs]
            else:
                outs, derivatives, _ = jvp(graph.namespace, run, [primals[i] for i in chosen], list(tangents))
            return (*outs, *(t for t, each in zip(derivatives, floats) if each)), ()

        avals = [x.aval for x in graph.inputs]
        return body_of(graph.namespace, function, [*avals, *(x for x, each in zip(avals, has) if each)])

    @cached
    def with_rules(self, wanted: tuple[bool, ...]) -> "Body":
        """Return the body whose outputs come from custom rules, as if some inputs are differentiated.

        So a second derivative differentiates the rules, like outside of loops.
        """
        if not any(wanted) or not self.applies("custom_jvp", "custom_vjp"):
            return self
        graph = self.graph
        chosen = [i for i, each in enumerate(wanted) if each]

        def function(*arrays: Array) -> tuple[Any, Any]:
            run = lambda *x: (graph.run(*replaced(arrays, chosen, x)), ())
            return linearize(graph.namespace, "vjp", run, [arrays[i] for i in chosen])[0], ()

        return Body(without_unused(body_of(graph.namespace, function, [x.aval for x in graph.inputs]).graph))

    def applies(self, *names: str) -> bool:
        """Return whether an operation of the body has one of the names."""
        return any(each.applies(*names) for each in self.graph.equations)

    @cached
    def parted(self, count: int, only: str = "") -> "Parts | None":
        """Split off the operations that depend only on the first `count` inputs; return None if there are none.

        `only`: split off only the operations with this name, and those that they need.
        """
        graph = self.graph
        given = graph.inputs[:count]
        others, fixed = set(graph.inputs[count:]), set(given)
        for equation in graph.equations:
            if equation.effects or any(x in others for x in equation.inputs):
                others.update(equation.outputs)
            elif any(x in fixed for x in equation.inputs):
                fixed.update(equation.outputs)
        if only:
            fixed = _needed(graph, fixed, only)
        early = [each for each in graph.equations if others.isdisjoint(each.outputs) and not each.effects]
        late = [each for each in graph.equations if fixed.isdisjoint(each.outputs)]
        used = dict.fromkeys(x for inputs in (*(each.inputs for each in late), graph.outputs) for x in inputs)
        outputs = [x for x in used if x in fixed and x not in given]
        if not outputs:
            return None
        some = tuple(i for i, x in enumerate(given) if x in used)
        inputs = [*(given[i] for i in some), *outputs, *graph.inputs[count:]]
        before = Graph(graph.namespace, given, graph.constants, early, outputs)
        after = Graph(graph.namespace, inputs, graph.constants, late, graph.outputs)
        first, rest = (Body(without_unused(each), self.backend) for each in (before, after))
        return Parts(first, rest, some)

    @property
    @cached
    def silent(self) -> "Body":
        """The body without calls of functions that return nothing, to recompute steps."""
        if not any(each.effects for each in self.graph.equations):
            return self
        return Body(_silenced(self.graph))

    @cached
    def pulled(self, wanted: tuple[bool, ...]) -> "Body":
        """Return the body of reverse mode: from inputs and cotangents of outputs to cotangents of `wanted` inputs."""
        graph, count = self.silent.graph, len(self.graph.inputs)
        floats = self.floats("outputs")
        chosen = [i for i, each in enumerate(wanted) if each]

        def function(*arrays: Array) -> tuple[Any, Any]:
            primals, given = arrays[:count], iter(arrays[count:])
            run = lambda *x: (tuple(y for y, each in zip(graph.run(*replaced(primals, chosen, x)), floats) if each), ())
            if not chosen:
                return (), ()
            _, _, linear = linearize(graph.namespace, "vjp", run, [primals[i] for i in chosen])
            return linear.pull(*given), ()

        avals = [x.aval for x in graph.inputs]
        outs = [x for x, each in zip(self.avals, floats) if each]
        return Body(without_unused(body_of(graph.namespace, function, [*avals, *outs]).graph))

    @cached
    def mapped(self, axes: tuple[bool, ...], size: int, wanted: tuple[bool, ...] | None = None) -> tuple["Body", Any]:
        """Return the body of a batch, and which outputs have the batch axis. `axes` says which inputs have it.

        All `wanted` outputs get the axis.
        """
        namespace = self.graph.namespace
        which: tuple[bool, ...] = ()

        def function(*arrays: Array) -> tuple[Any, Any]:
            nonlocal which
            outs, is_mapped = batched(namespace, self.graph.run, arrays, [0 if each else None for each in axes], size)
            requested = wanted or (False,) * len(outs)
            which = tuple(mine or each for mine, each in zip(is_mapped, requested))
            pairs = zip(outs, is_mapped, requested)
            return tuple(x if mine or not each else spread_out(namespace, x, size) for x, mine, each in pairs), ()

        avals = [_wider(x.aval, size) if each else x.aval for x, each in zip(self.graph.inputs, axes)]
        body = body_of(namespace, function, avals)
        return body, which

    def mapped_loop(
        self, axes: tuple[bool, ...], size: int, constants: int, carry: int
    ) -> tuple["Body", tuple[bool, ...]]:
        """Return the body of a batch of loops, and which outputs have the axis.

        Inputs after the constants are the carry. An array of the carry has the axis only if it depends on an array
        with the axis.
        """
        depends = self.depends_at_last(axes, constants, carry)
        while True:
            given = (*axes[:constants], *depends[:carry], *axes[constants + carry :])
            body, which = self.mapped(given, size, depends)
            if which[:carry] == depends[:carry]:
                return body, which
            depends = which


class Parts(NamedTuple):
    """A body split into the part that depends only on its first inputs, and the rest."""

    before: Body
    after: Body
    """The second part. Its inputs are some of the first inputs, the results of the first part, and the other inputs."""
    some: tuple[int, ...]

    def rest(self, given: Sequence[Any], found: Sequence[Any]) -> tuple[Body, list[Any]]:
        """Return the second part and its first inputs."""
        return self.after, [*(given[i] for i in self.some), *found]


def _needed(graph: Graph, among: set[Variable], name: str) -> set[Variable]:
    """Return the variables that operations with a name compute or need."""
    found: set[Variable] = set()
    for equation in reversed(graph.equations):
        outputs = equation.outputs
        if not among.isdisjoint(outputs) and (equation.applies(name) or not found.isdisjoint(outputs)):
            found.update(outputs)
            found.update(x for x in equation.inputs if isinstance(x, Variable))
    return found & among | among.intersection(graph.inputs)


def _silenced(graph: Graph) -> Graph:
    def within(value: Any) -> Any:
        return value.silent if isinstance(value, Body) else value

    equations = [
        Equation(
            each.op,
            each.inputs,
            {name: tuple(map(within, x)) if type(x) is tuple else within(x) for name, x in each.params.items()},
            each.outputs,
            each.scope,
        )
        for each in graph.equations
        if each.outputs or not each.op.effects
    ]
    return Graph(graph.namespace, graph.inputs, graph.constants, equations, graph.outputs)


def _wider(aval: Any, size: int) -> Any:
    return type(aval)((size, *aval.shape), aval.dtype, aval.device)


def native(body: Body, name: str) -> Callable[..., Any]:
    """Return the loop or choice of the library of a body's arrays."""
    return for_library(f"control_flow.{name}", library_name(body.graph.namespace.base))


def body_of(namespace: Any, function: Callable[..., Any], avals: Sequence[Any]) -> Body:
    """Make the body of a function that captures no traced arrays."""
    body, outer = closed(namespace, "loop", function, avals)
    if outer:  # a rule reads them in an object that is not searched
        raise uses_outer("a custom rule in a loop, a branch or `checkpoint`")
    return body


def closed(
    namespace: Any, what: str, function: Callable[..., Any], avals: Sequence[Any], is_choice: bool = False
) -> tuple[Body, list[TracedArray]]:
    """Make the body of a function. Captured traced arrays become its first inputs, and are returned.

    `is_choice`: the function isn't always called, so all its operations belong in the body.
    """
    graph, _ = stage(namespace, what, function, avals, is_choice=is_choice)
    constants = graph.constants
    if namespace.bridge is not None:
        constants = {variable: namespace.bridge.constant(x) for variable, x in constants.items()}
    outer = {variable: x for variable, x in constants.items() if namespace.is_variable(x)}
    known = {variable: x for variable, x in constants.items() if variable not in outer}
    lifted = Graph(namespace, [*outer, *graph.inputs], known, graph.equations, graph.outputs)
    return Body(lifted), list(outer.values())
