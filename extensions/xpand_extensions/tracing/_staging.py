"""Staging: record operations in a graph instead of running them."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final, Self

from xpand.extend import Array, DType, checks

from .._subclasses import refuse_subclass
from ._core import CURRENT, Aval, Op, Trace, TracedArray, TracedError, aval_of, bare, rebuilt, snapshot, without_values
from ._functions import BINARY, COMPARISONS, OPERATORS, UNARY
from ._graph import Equation, Graph, Variable, described
from .rules._derived import key_of

SCOPE: Final[ContextVar[str]] = ContextVar("the name of the part of the function that is traced", default="")


@contextmanager
def scope(name: str) -> Iterator[None]:
    """Name the staged operations within this context, after the names of outer contexts."""
    around = SCOPE.get()
    token = SCOPE.set(f"{around}/{name}" if around else name)
    try:
        yield
    finally:
        SCOPE.reset(token)


class Staging(Trace):
    """The interpreter that records a graph. Its arrays contain variables."""

    __slots__ = ("around", "constants", "equations", "is_choice", "token", "weak")

    def __init__(self, what: str, namespace: Any, is_choice: bool = False) -> None:
        super().__init__(what, namespace)
        self.is_choice = is_choice
        """Whether the function isn't always called. If so, operations on only captured arrays are recorded, too.

        So they don't affect lanes that don't call the function, not even by NaN in derivatives.
        """
        self.equations: list[Equation] = []
        self.weak: set[Variable] = set()
        """Variables that stand for numbers. They get the data type of the arrays that they are combined with."""
        self.constants: dict[int | tuple[int, int, int], tuple[Variable, Any]] = {}

    def __enter__(self) -> Self:
        self.around = CURRENT.get()
        """The outer staging trace, for example of the function that contains a loop."""
        self.token = CURRENT.set(self)
        return self

    def __exit__(self, kind: Any, error: BaseException | None, traceback: Any) -> None:
        CURRENT.reset(self.token)
        super().__exit__(kind, error, traceback)

    def variable(self, aval: Aval) -> Any:
        """Make an array that stands for an argument."""
        aval.dtype = self.namespace.dtype_of_arrays(aval.dtype)
        return self.namespace.array_type(self, Variable(aval))

    def process(self, op: Op, args: Sequence[Any], params: dict[str, Any]) -> Any:
        """Record an operation."""
        override = op.overrides.get("stage")
        if override is not None:
            return override(self, op, args, params)
        return self.written(op, args, params)

    def written(self, op: Op, args: Sequence[Any], params: dict[str, Any]) -> Any:
        """Record an operation unchanged."""
        params = {name: _plain(value) for name, value in params.items()}
        inputs = [self.atom(x) for x in args]
        is_weak = False
        if self.weak and op.name in _COMBINING:
            inputs, is_weak = self.combined(op, inputs)
        avals = avals_of_result(op, described(op, inputs, self.constants.values()), params)
        found = self.equation(op, inputs, params, avals)
        if is_weak and any(isinstance(x, Variable) and x.dtype == avals.dtype for x in inputs):
            self.weak.add(found._value)
        return found

    def combined(self, op: Op, inputs: list[Any]) -> tuple[list[Any], bool]:
        """Convert variables of numbers to the data type of the arrays; return also whether there are no arrays."""
        first = 1 if op.name == "where" else 0  # the data type of the condition doesn't count
        arrays = [x for x in inputs[first:] if isinstance(x, Variable)]
        strong = [x.dtype for x in arrays if x not in self.weak]
        if not strong:
            return inputs, bool(arrays)
        base = self.namespace.base
        if op.name in _COMPARISONS and all(checks.kind(base, x.dtype) in checks.INTEGERS for x in arrays):
            return inputs, False  # the data type of the arrays may not hold the number
        dtype = strong[0] if len(set(strong)) == 1 else base.result_type(*strong)
        found = list(inputs)
        for i, x in enumerate(inputs):
            if i >= first and isinstance(x, Variable) and x in self.weak:
                wanted = _dtype_of_number(base, x.dtype, dtype)
                if wanted != x.dtype:
                    aval = Aval(x.shape, wanted, x.aval.device)
                    params = {"dtype": wanted, "copy": False}
                    found[i] = self.equation(self.namespace.operations["astype"], [x], params, aval)._value
        return found, False

    def equation(self, op: Op, inputs: list[Any], params: dict[str, Any], avals: Any) -> Any:
        """Add an equation; return the arrays that it defines."""
        outputs = [Variable(avals)] if isinstance(avals, Aval) else [Variable(aval) for aval in avals]
        self.equations.append(Equation(op, inputs, params, outputs, SCOPE.get()))
        arrays = [self.namespace.array_type(self, variable) for variable in outputs]
        return arrays[0] if isinstance(avals, Aval) else rebuilt(op, avals, arrays)

    def atom(self, x: Any) -> Any:
        """Return the variable of an array; return other objects, such as numbers, unchanged."""
        if isinstance(x, TracedArray):
            if x._trace is self:
                return x._value
            x = snapshot(bare(x))
        if not hasattr(x, "dtype"):
            return x
        # The current content identifies the array, since it may be written to. Store the content with the variable, so
        # that its id is not reused.
        key = (id(x._trace), id(x._value), id(x._extra)) if isinstance(x, TracedArray) else id(x)
        found = self.constants.get(key)
        if found is None:
            refuse_subclass(f"{self.what}, of a function with a constant array", type(x))
            found = self.constants[key] = Variable(aval_of(x)), x
        return found[0]

    def graph(self, inputs: Sequence[TracedArray], outputs: Sequence[Any]) -> Graph:
        """Make the graph from arguments to results."""
        results = [self.atom(x) for x in outputs]  # results may be constants
        constants = dict(self.constants.values())
        return Graph(self.namespace, [x._value for x in inputs], constants, self.equations, results)

    def shape(self, x: TracedArray) -> tuple[int, ...]:
        shape: tuple[int, ...] = x._value.aval.shape
        return shape

    def dtype(self, x: TracedArray) -> DType:
        return x._value.aval.dtype

    def device(self, x: TracedArray) -> Any:
        return x._value.aval.device

    def is_number(self, x: TracedArray) -> bool:
        return x._value in self.weak

    def is_traced(self, x: TracedArray) -> bool:
        return True

    def concrete(self, x: TracedArray, what: str) -> Any:
        raise TracedError(
            f"{what}: the value of a traced array of shape {self.shape(x)} and data type {self.dtype(x)} is not known "
            f"while `{self.what}` traces the function; {without_values(what, self.namespace.advice)}; or declare the "
            "argument static"
        )


_COMPARISONS: Final = frozenset(OPERATORS[name] for name in COMPARISONS)


def _plain(value: Any) -> Any:
    """Return a static parameter with Python integers in place of NumPy's, which shapes of results would contain."""
    if type(value) is tuple:
        return tuple([_plain(each) for each in value])
    if type(value) is list:
        return [_plain(each) for each in value]
    if type(value) is dict:
        return {key: _plain(each) for key, each in value.items()}
    if type(value) is slice:
        return slice(*[checks.plain_integer(each) for each in (value.start, value.stop, value.step)])
    return checks.plain_integer(value)


_COMBINING: Final = frozenset((*BINARY, *UNARY, "clip", "where"))
_HOLDS: Final[dict[str | None, frozenset[str | None]]] = {
    "bool": frozenset({"bool"}),
    "signed": frozenset({"signed", "unsigned", "real", "complex"}),
    "real": frozenset({"real", "complex"}),
    "complex": frozenset({"complex"}),
}
"""The kinds of data types that can hold each kind of number."""


def _dtype_of_number(base: Any, number: DType, dtype: DType) -> DType:
    """Return the data type of a number that is combined with arrays: that of the arrays, if it can hold this kind."""
    mine, theirs = checks.kind(base, number), checks.kind(base, dtype)
    if theirs in _HOLDS[mine]:
        return dtype
    return base.result_type(dtype, base.complex64) if (mine, theirs) == ("complex", "real") else number


def stage(
    namespace: Any,
    what: str,
    function: Callable[..., Any],
    avals: Sequence[Aval],
    weak: Sequence[int] = (),
    is_choice: bool = False,
) -> tuple[Graph, tuple[Array, ...]]:
    """Stage a function of arrays that returns two tuples of arrays: the graph's outputs and auxiliary data.

    Args:
        namespace: The namespace of the traced arrays.
        what: The transformation.
        function: The function.
        avals: The abstract values of its arguments.
        weak: The positions of arguments that are numbers, and get the data type of the arrays combined with them.
        is_choice: Whether the function isn't always called.

    Returns:
        The graph, and the auxiliary data.
    """
    with (namespace.stager or Staging)(what, namespace, is_choice) as trace:
        inputs = [trace.variable(aval) for aval in avals]
        trace.weak.update(inputs[i]._value for i in weak)
        # Pass copies, since an array whose elements the function sets becomes another array.
        outs, aux = function(*(namespace.array_type(trace, x._value) for x in inputs))
        return trace.graph(inputs, outs), aux


def avals_of_result(op: Op, avals: Sequence[Any], params: dict[str, Any]) -> Any:
    """Return the shape and data type of the result of an operation: an `Aval`, or a tuple of them.

    Args:
        op: The operation.
        avals: An `Aval` or a concrete array for each array; other arguments unchanged.
        params: Its static parameters.
    """
    if op.shape is not None:
        found = op.apply(op.shape, (op.namespace,), avals, params)
        for aval in (found,) if isinstance(found, Aval) else found:
            aval.dtype = op.namespace.dtype_of_arrays(aval.dtype)
        return found
    if op.decomposition is None:
        raise op.no_rule("the shape of its result")
    known = op.namespace.shapes_of_results
    abstract = [(x.shape, type(x.dtype), x.dtype, x.device) if isinstance(x, Aval) else x for x in avals]
    is_known = all(x is None or isinstance(x, tuple) for x in abstract)
    key = key_of(op, *abstract, params=params) if is_known else None
    found = known.get(key)
    if found is None:
        found = avals_of(op.namespace, avals, lambda *given: op.decompose(given, params))
        if key is not None:
            known.add(key, found)
    return tuple(found) if op.result is not None else found[0]


def avals_of(namespace: Any, avals: Sequence[Any], function: Callable[..., Any]) -> list[Aval]:
    """Return the shapes and data types of the results of a function of traced arrays."""
    # The graph is discarded.
    with Staging("eval_shape", namespace) as trace:
        arrays = [trace.variable(x) if isinstance(x, Aval) else x for x in avals]
        given = [namespace.wrap(x) if hasattr(x, "dtype") else x for x in arrays]
        out = function(*given)
        return list(map(_aval, out if isinstance(out, (tuple, list)) else [out]))


def _aval(x: Any) -> Aval:
    found: Aval = x._value.aval if isinstance(x, TracedArray) and isinstance(x._trace, Staging) else aval_of(x)
    return found
