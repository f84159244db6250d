"""Staging: operations are written down in a graph and not done."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final

from xpand._typing import Array, DType

from ._core import Aval, Op, Trace, TracedArray, TracedError, aval_of, bare, rebuilt
from ._graph import Equation, Graph, Variable
from ._shapes import avals_of_result

CURRENT: Final[ContextVar["Staging | None"]] = ContextVar(
    "the graph that arrays made from nothing go into", default=None
)


SCOPE: Final[ContextVar[str]] = ContextVar("the name of the part of the function that is traced", default="")


@contextmanager
def scope(name: str) -> Iterator[None]:
    """Within this context, operations that are written down bear a name, after those of the contexts around it."""
    around = SCOPE.get()
    token = SCOPE.set(f"{around}/{name}" if around else name)
    try:
        yield
    finally:
        SCOPE.reset(token)


class Staging(Trace):
    """The interpreter that writes a graph: its arrays hold variables."""

    __slots__ = ("constants", "equations", "held", "token")

    def __init__(self, what: str, namespace: Any) -> None:
        super().__init__(what, namespace)
        self.equations: list[Equation] = []
        self.constants: dict[int, tuple[Variable, Any]] = {}

    def __enter__(self) -> "Staging":
        self.token = CURRENT.set(self)
        return self

    def __exit__(self, *exception: object) -> None:
        CURRENT.reset(self.token)
        self.alive = False

    def variable(self, aval: Aval) -> Any:
        """Make an array that stands for an argument."""
        return self.namespace.array(self, Variable(aval))

    def process(self, op: Op, args: Sequence[Any], params: dict[str, Any]) -> Any:
        """Write down an operation."""
        override = op.overrides.get("stage")
        if override is not None:
            return override(self, op, args, params)
        return self.written(op, args, params)

    def written(self, op: Op, args: Sequence[Any], params: dict[str, Any]) -> Any:
        """Write down an operation as it is."""
        inputs = [self.atom(x) for x in args]
        avals = avals_of_result(op, [x.aval if isinstance(x, Variable) else x for x in inputs], params)
        return self.equation(op, inputs, params, avals)

    def equation(self, op: Op, inputs: list[Any], params: dict[str, Any], avals: Any) -> Any:
        """Add an equation; return the array, or the arrays, that it defines."""
        outputs = [Variable(avals)] if isinstance(avals, Aval) else [Variable(aval) for aval in avals]
        self.equations.append(Equation(op, inputs, params, outputs, SCOPE.get()))
        arrays = [self.namespace.array(self, variable) for variable in outputs]
        return arrays[0] if isinstance(avals, Aval) else rebuilt(op, avals, arrays)

    def atom(self, x: Any) -> Any:
        """Return the variable of an array; what is no array, such as a number, as it is."""
        if isinstance(x, TracedArray):
            if x._trace is self:
                return x._value
            x = bare(x)
        if not hasattr(x, "dtype"):
            return x
        # Kept with the variable, so that the identity isn't taken by another.
        found = self.constants.get(id(x))
        if found is None:
            found = self.constants[id(x)] = Variable(aval_of(x)), x
        return found[0]

    def graph(self, inputs: Sequence[TracedArray], outputs: Sequence[Any]) -> Graph:
        """Make the graph from arguments to results."""
        results = [self.atom(x) for x in outputs]  # which may be constants themselves
        constants = dict(self.constants.values())
        return Graph(self.namespace, [x._value for x in inputs], constants, self.equations, results)

    def shape(self, x: TracedArray) -> tuple[int, ...]:
        shape: tuple[int, ...] = x._value.aval.shape
        return shape

    def dtype(self, x: TracedArray) -> DType:
        return x._value.aval.dtype

    def device(self, x: TracedArray) -> Any:
        return x._value.aval.device

    def is_traced(self, x: TracedArray) -> bool:
        return True

    def concrete(self, x: TracedArray, what: str) -> Any:
        raise TracedError(
            f"{what}: the value of a traced array of shape {self.shape(x)} and data type {self.dtype(x)} is not known "
            f"while `{self.what}` traces the function; use `xp.where`, or `cond`, `switch`, `while_loop` of "
            "`xpand_extensions.control_flow` in place of Python's control flow, or make the argument that it depends on static"
        )


def stage(
    namespace: Any, what: str, function: Callable[..., Any], avals: Sequence[Aval]
) -> tuple[Graph, tuple[Array, ...]]:
    """Write down a function of arrays that returns two tuples of arrays: the graph's outputs, and what comes beside.

    Returns:
        The graph, and what comes beside.
    """
    with Staging(what, namespace) as trace:
        inputs = [trace.variable(aval) for aval in avals]
        # Others than the inputs, since what the function sets elements of becomes another array.
        outs, beside = function(*(namespace.array(trace, x._value) for x in inputs))
        return trace.graph(inputs, outs), beside
