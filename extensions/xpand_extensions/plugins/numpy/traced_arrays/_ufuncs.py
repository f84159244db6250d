"""NumPy's protocol for universal functions: `__array_ufunc__`."""

from typing import Any

import numpy as np

from xpand_extensions.tracing._core import EVALUATION, TracedArray, TracedError, bind

from ._arguments import operand
from ._functions import subclass_error
from .known.ufuncs import OPERATIONS, UFUNCS


def fast_operations(namespace: Any) -> dict[np.ufunc, Any]:
    """Return the operations of a namespace that are universal functions of NumPy."""
    operations = namespace.operations
    return {ufunc: operations[name] for ufunc, name in OPERATIONS.items() if name in operations}


def array_ufunc(self: Any, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
    """Apply a universal function of NumPy to arguments of which some are traced arrays."""
    xp = self._namespace
    if not kwargs and method == "__call__":
        op = xp.ufuncs.get(ufunc)
        if op is not None:
            # As fast as the operators of traced arrays.
            known = xp.known
            for x in inputs:
                if type(x) not in known or (type(x) is np.ndarray and x.dtype.hasobject):
                    break
            else:
                result = bind(op, inputs, {})
                return result if isinstance(result, TracedArray) else xp.array_type(EVALUATION, result)
    for x in inputs:
        if isinstance(x, np.ndarray) and type(x) is not np.ndarray:
            raise subclass_error(ufunc.__name__, type(x))
        if hasattr(x, "__array_ufunc__") and not isinstance(x, (TracedArray, np.ndarray, np.generic)):
            return NotImplemented
    if method == "__call__" and not kwargs:
        return implementation(ufunc)(xp, *[operand(xp, x) for x in inputs])
    raise TracedError(f"np.{ufunc.__name__}: method {method}, options {sorted(kwargs)} are not supported yet")


def implementation(ufunc: np.ufunc) -> Any:
    """Return the function of the traced namespace for a universal function.

    Raises:
        TracedError: There is none.
    """
    function = UFUNCS.get(ufunc)
    if function is None:
        raise TracedError(
            f"{ufunc.__name__}: no derivative and no rule for this universal function; register it with "
            "`xpand_extensions.extend`, or wrap it in `pure_callback` and `custom_jvp`"
        )
    return function
