"""Shapes and data types of results, without their values."""

from collections.abc import Callable, Sequence
from typing import Any

from ._core import Aval, Op, TracedArray, aval_of


def avals_of_result(op: Op, avals: Sequence[Any], params: dict[str, Any]) -> Any:
    """Return the shape and the data type of an operation's result: an `Aval`, or a tuple of them.

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
    several = avals_of(op.namespace, avals, lambda *given: op.decompose(given, params))
    return tuple(several) if op.result is not None else several[0]


def avals_of(namespace: Any, avals: Sequence[Any], function: Callable[..., Any]) -> list[Aval]:
    """Return the shapes and the data types of the results of a function of traced arrays."""
    # The graph is discarded.
    from ._staging import Staging

    with Staging("eval_shape", namespace) as trace:
        given = [trace.variable(x) if isinstance(x, Aval) else _wrapped(namespace, x) for x in avals]
        out = function(*given)
        return list(map(_aval, out if isinstance(out, (tuple, list)) else [out]))


def _wrapped(namespace: Any, x: Any) -> Any:
    return namespace.wrap(x) if hasattr(x, "dtype") else x


def _aval(x: Any) -> Aval:
    found: Aval = x._value.aval if isinstance(x, TracedArray) and isinstance(x._trace, _staging()) else aval_of(x)
    return found


def _staging() -> type:
    from ._staging import Staging

    return Staging


def broadcast(*shapes: Sequence[int]) -> tuple[int, ...]:
    """Return the shape that shapes broadcast to, or raise `ValueError`."""
    ndim = max(map(len, shapes), default=0)
    result = []
    for i in range(-ndim, 0):
        lengths = {shape[i] for shape in shapes if len(shape) >= -i} - {1}
        if len(lengths) > 1:
            raise ValueError(f"shapes {', '.join(map(str, map(tuple, shapes)))} can't be broadcast together")
        result.append(lengths.pop() if lengths else 1)
    return tuple(result)
