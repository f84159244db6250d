"""A graph traced on one library, for another."""

from typing import Any

from xpand import is_concrete, library_name
from xpand._typing import DType

from ._core import Aval, Op
from ._facades import FacadeOp
from ._graph import Equation, Graph, Variable


def translated(graph: Graph, xp: Any) -> Graph:
    """Return the graph over the library of a namespace: its operations, data types and constants.

    Raises:
        TypeError: The other library lacks an operation or a data type.
    """
    from ._namespace import traced_namespace

    namespace = traced_namespace(xp)
    dtypes = _Dtypes(graph.namespace.base, namespace.base)
    variables: dict[Variable, Variable] = {
        x: Variable(Aval(x.shape, dtypes.of(x.dtype), None)) for x in graph.variables()
    }
    of = lambda x: variables[x] if isinstance(x, Variable) else x
    equations = [
        Equation(
            _operation(equation.op, namespace),
            [of(x) for x in equation.inputs],
            {name: _param(name, value, dtypes) for name, value in equation.params.items()},
            [of(x) for x in equation.outputs],
            equation.scope,
        )
        for equation in graph.equations
    ]
    constants = {variables[x]: _array(value, namespace.base) for x, value in graph.constants.items()}
    return Graph(namespace, [of(x) for x in graph.inputs], constants, equations, [of(x) for x in graph.outputs])


class _Dtypes:
    """The data types of one library, as those of another."""

    def __init__(self, source: Any, target: Any) -> None:
        names = source.__array_namespace_info__().dtypes()
        self.found = {dtype: getattr(target, name, None) for name, dtype in names.items()}
        self.source, self.target = source, target

    def of(self, dtype: DType) -> DType:
        found = self.found.get(dtype)
        if found is None:
            raise TypeError(f"graph: {library_name(self.target)} has no data type {dtype}, which the graph uses")
        return found


def _operation(op: Op, namespace: Any) -> Op:
    if isinstance(op, FacadeOp):
        path = op.operation.path
        return namespace.operations.get(path) or namespace.operations.setdefault(
            path, FacadeOp(op.operation, namespace)
        )  # type: ignore[no-any-return]
    found = namespace.operations.get(op.name)
    if found is None:
        raise TypeError(f"graph: {library_name(namespace.base)} has no {op.name}, which the graph uses")
    return found  # type: ignore[no-any-return]


def _param(name: str, value: Any, dtypes: _Dtypes) -> Any:
    if name == "device":
        return None
    if isinstance(value, dict):
        return {key: _param(key, x, dtypes) for key, x in value.items()}
    if isinstance(value, tuple) and not hasattr(value, "_fields"):
        return tuple(_param("", x, dtypes) for x in value)
    return dtypes.of(value) if name == "dtype" and value is not None else value


def _array(value: Any, base: Any) -> Any:
    if not is_concrete(value):
        raise TypeError("graph: it holds arrays that are traced, and can't be translated; pass them as arguments")
    return base.from_dlpack(value)
