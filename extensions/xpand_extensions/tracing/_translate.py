"""Translate a graph from one library to another."""

from typing import Any, Final

from xpand import is_concrete, library_name
from xpand._precision import dtypes_of
from xpand.extend import Device, DType, is_lazy

from ..convert import convert
from ..jit._graph import ShapeDtype, library_of_dtype
from ._bodies import Body
from ._core import Aval, Op
from ._creation import CREATION
from ._facades import FacadeOp, Template
from ._functions import BINARY, FUNCTIONS, UNARY
from ._graph import Equation, Graph, Variable
from ._keys import backwards, forwards
from ._namespace import traced_namespace

_OF_LIBRARIES: Final = frozenset((*CREATION, *FUNCTIONS))
"""Operations that each library implements. Others are built from operations, or call host functions."""

_PROMOTING: Final = frozenset(
    (*UNARY, *BINARY, "concat", "matmul", "mean", "stack", "std", "tensordot", "var", "vecdot", "where")
)
"""Operations whose result has the promoted data type of their arrays, unless it is boolean."""

_OF_USERS: Final = frozenset({"equation", "run"})
"""Parameters with functions of one library: functions with custom rules, and functions of solvers."""


def translated(graph: Graph, xp: Any, device: Device = None) -> Graph:
    """Return the graph on a device, with operations, data types and constants of the library of a namespace.

    Raises:
        TypeError: The other library lacks an operation or a data type.
    """
    namespace = traced_namespace(xp)
    dtypes = Dtypes(graph.namespace.base, namespace.base, device)
    variables: dict[Variable, Variable] = {
        x: Variable(Aval(x.shape, dtypes.of(x.dtype), device)) for x in graph.variables()
    }

    def of(x: Any) -> Any:
        return variables[x] if isinstance(x, Variable) else x

    equations: list[Equation] = []
    for equation in graph.equations:
        inputs, outputs = [of(x) for x in equation.inputs], [of(x) for x in equation.outputs]
        params = params_on(equation.op, equation.params, dtypes, xp)
        if equation.op.name in CREATION and not inputs:  # default data types differ between libraries
            params = {**params, "kwargs": {**params["kwargs"], "dtype": outputs[0].dtype}}
        op = operation_on(equation.op, namespace)
        equation = Equation(op, inputs, params, outputs, equation.scope)
        equations += _promoted(equation) if op.name in _PROMOTING else _forwards(equation)
    constants = {variables[x]: _array(value, namespace.base, device) for x, value in graph.constants.items()}
    return Graph(namespace, [of(x) for x in graph.inputs], constants, equations, [of(x) for x in graph.outputs])


class Dtypes:
    """The mapping of one library's data types to another's, and the device there."""

    def __init__(self, source: Any, target: Any, device: Device = None) -> None:
        """Take both namespaces and the device of new arrays. None means the default device."""
        names = dtypes_of(source)
        self.found = [(dtype, getattr(target, name, None)) for name, dtype in names.items()]
        self.library = library_of_dtype(self.found[0][0])
        self.target, self.device = target, device

    def of(self, dtype: DType) -> DType:
        """Return the data type of the other library.

        Raises:
            TypeError: The other library lacks the data type.
        """
        # Compare by equality: an equal object may stand for a data type, such as NumPy's classes.
        found = next((mine for theirs, mine in self.found if theirs == dtype), None)
        if found is None:
            raise TypeError(f"graph: {library_name(self.target)} has no data type {dtype}, which the graph uses")
        return found

    def of_any(self, value: Any) -> Any:
        """Translate a value if it is a data type; return other objects unchanged."""
        if library_of_dtype(value) != self.library:
            return value
        return next((mine for theirs, mine in self.found if theirs == value), value)


def operation_on(op: Op, namespace: Any) -> Any:
    """Return the same operation over the library of another traced namespace."""
    if isinstance(op, FacadeOp):
        path = op.operation.path
        found = namespace.operations.get(path)
        return namespace.operations.setdefault(path, FacadeOp(op.operation, namespace)) if found is None else found
    found = namespace.operations.get(op.name)
    if found is not None:
        return found
    if op.name in _OF_LIBRARIES:
        raise TypeError(f"graph: {library_name(namespace.base)} has no {op.name}, which the graph uses")
    return namespace.operation(op.name, op.function)


def params_on(op: Op, params: dict[str, Any], dtypes: Dtypes, xp: Any) -> dict[str, Any]:
    """Return the static parameters of an operation for another library."""
    if not _OF_USERS.isdisjoint(params):
        raise TypeError(
            f"graph: it contains a function with custom rules ({op.name}), which can't be translated; trace it on "
            f"{library_name(xp)}"
        )
    return {name: _param(name, value, dtypes, xp) for name, value in params.items()}


def _param(name: str, value: Any, dtypes: Dtypes, xp: Any) -> Any:
    if name == "device":
        return dtypes.device
    if isinstance(value, Body):
        return Body(translated(value.graph, xp, dtypes.device))
    if isinstance(value, Template):
        static = tuple(map(dtypes.of_any, value.static))
        if is_lazy(dtypes.target):  # with mode "raise", indices were concrete and in bounds
            static = tuple(["drop" if isinstance(x, str) and x == "raise" else x for x in static])
        return Template(value.signature, value.names, static, value.structure)
    if isinstance(value, ShapeDtype):
        return ShapeDtype(value.shape, dtypes.of(value.dtype))
    if isinstance(value, dict):
        return {key: _param(key, x, dtypes, xp) for key, x in value.items()}
    if type(value) in (tuple, list):
        return type(value)(_param("", x, dtypes, xp) for x in value)
    return dtypes.of(value) if name == "dtype" and value is not None else value


def _promoted(equation: Equation) -> list[Equation]:
    """Cast arrays to the data type of the result: libraries promote integers and arrays without axes differently."""
    op, inputs, (out,) = equation.op, list(equation.inputs), equation.outputs
    isdtype = op.namespace.base.isdtype

    def ranks(x: Any) -> list[bool]:
        return [isdtype(x.dtype, kind) for kind in ("complex floating", "real floating", "integral", "bool")]

    casts = []
    for i, x in enumerate(inputs):
        is_condition = op.name == "where" and i == 0
        if isinstance(x, Variable) and x.dtype != out.dtype and ranks(x) <= ranks(out) and not is_condition:
            inputs[i] = Variable(Aval(x.shape, out.dtype, x.aval.device))
            params = {"dtype": out.dtype, "copy": True}
            casts.append(Equation(op.namespace.operations["astype"], [x], params, [inputs[i]], equation.scope))
    return [*casts, Equation(op, inputs, equation.params, equation.outputs, equation.scope)]


def _forwards(equation: Equation) -> list[Equation]:
    """Replace negative steps in keys by flips of the array, since PyTorch doesn't accept them."""
    op, key = equation.op, equation.params.get("key", ())
    if op.name not in ("getitem", "setitem") or not backwards(key):
        return [equation]
    x, *rest = equation.inputs
    (out,) = equation.outputs
    key, axes = forwards(op.namespace, x.shape, key, rest[op.name == "setitem" :])

    def flipped(x: Variable, out: Variable) -> Equation:
        return Equation(op.namespace.operations["flip"], [x], {"axis": axes}, [out], equation.scope)

    turned = Variable(x.aval)
    if op.name == "getitem":
        return [flipped(x, turned), Equation(op, [turned, *rest], {"key": key}, [out], equation.scope)]
    made = Variable(out.aval)
    written = Equation(op, [turned, *rest], {"key": key}, [made], equation.scope)
    return [flipped(x, turned), written, flipped(made, out)]


def _array(value: Any, base: Any, device: Device) -> Any:
    if not is_concrete(value):
        raise TypeError("graph: it contains traced arrays, and can't be translated; pass them as arguments")
    return convert(value, base, device=device)
