"""NumPy's protocol for universal functions: `__array_ufunc__`."""

from typing import Any, Final

import numpy as np

from xpand.extend import describe
from xpand_extensions._subclasses import refuse_subclass
from xpand_extensions.tracing._core import EVALUATION, TracedArray, TracedError, bind

from ._arguments import KINDS, is_real
from ._library import other_library
from ._replacement import invalidate, is_in_place, is_replaceable, not_replaceable
from ._ufunc_calls import call, call_plainly, fit, implementation, name_of, operands
from ._ufunc_methods import METHODS
from .known.ufuncs import OPERATIONS, OPERATIONS_OF_FLOATS

_ARRAY: Final = np.ndarray


def fast_operations(namespace: Any) -> tuple[dict[np.ufunc, Any], dict[np.ufunc, Any]]:
    """Return the operations that are universal functions of NumPy: for all data types, and for floats only."""
    operations = namespace.operations
    of_all, of_floats = (
        {ufunc: operations[name] for ufunc, name in names.items() if name in operations}
        for names in (OPERATIONS, OPERATIONS_OF_FLOATS)
    )
    return of_all, of_floats


def array_ufunc(self: Any, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
    """Apply a universal function of NumPy. Some operands are traced arrays."""
    xp = self._namespace
    if not kwargs and method == "__call__":
        op = xp.ufuncs.get(ufunc)
        if op is not None:
            # As fast as the operators of traced arrays.
            known = xp.known
            for x in inputs:
                cls = type(x)
                if x.dtype.kind not in KINDS if cls is _ARRAY else cls not in known:
                    break
            else:
                result = bind(op, inputs, {})
                return result if type(result) is xp.array_type else xp.array_type(EVALUATION, result)
        op = xp.ufuncs_of_floats.get(ufunc)
        if op is not None and all(is_real(xp, x) for x in inputs):
            return xp.wrap(bind(op, inputs, {}))
    if not _are_operands(xp, ufunc, inputs, kwargs):
        return NotImplemented
    if method == "__call__":
        if is_in_place(inputs, kwargs):
            # No variable here refers to the array, since its references are counted.
            return _replace(xp, ufunc, inputs, kwargs, is_replaceable(kwargs))
        return call(xp, ufunc, inputs, **kwargs) if kwargs else call_plainly(xp, ufunc, inputs)
    apply = METHODS.get(method)
    if apply is None:
        raise TracedError(f"np.{name_of(ufunc)}.{method}: traced arrays don't have this method")
    return apply(xp, ufunc, *inputs, **kwargs)


def _are_operands(xp: Any, ufunc: np.ufunc, inputs: Any, kwargs: dict[str, Any]) -> bool:
    """Return whether no other class takes part that may act itself.

    Raises:
        TypeError: A subclass of NumPy's arrays takes part, or an array of another library.
    """
    for x in (*inputs, *kwargs.get("out", ())):
        if isinstance(x, np.ndarray) and type(x) is not np.ndarray:
            refuse_subclass(f"np.{name_of(ufunc)}", type(x))
        if hasattr(x, "__array_ufunc__") and not isinstance(x, (TracedArray, xp.own_class, np.ndarray, np.generic)):
            return False
    for x in inputs:
        if isinstance(x, (TracedArray, xp.own_class)):
            xp.check(x)
        elif isinstance(x, np.ndarray) and not xp.takes_numpy:
            raise other_library(name_of(ufunc), xp)
        if isinstance(x, (TracedArray, xp.own_class, np.ndarray, np.generic)):
            _check_kind(ufunc, x)
    return True


def _check_kind(ufunc: np.ufunc, x: Any) -> None:
    if x.dtype.kind not in KINDS:
        raise TypeError(
            f"np.{name_of(ufunc)}: traced arrays combine with arrays of numbers and booleans, got {describe(x)} of "
            f"data type {x.dtype}"
        )


def _replace(xp: Any, ufunc: np.ufunc, inputs: Any, kwargs: dict[str, Any], is_operator: bool) -> Any:
    """Return the array that replaces NumPy's own array in `b += x`."""
    (out,) = kwargs["out"]
    if not is_operator:
        raise not_replaceable(name_of(ufunc))
    if not out.flags.writeable:
        raise ValueError(f"np.{name_of(ufunc)} in place: the array is read-only")
    # A derivative may need the old values, and `out` loses them.
    arrays, _ = operands(xp, ufunc, (out.copy(), *inputs[1:]), None, "same_kind", (out,))
    result = fit(xp, out, implementation(ufunc)(xp, *arrays))
    if result.shape != out.shape:
        raise ValueError(
            f"np.{name_of(ufunc)} in place: an array of shape {out.shape} can't hold a result of shape "
            f"{tuple(result.shape)}; write `b = b + x` in place of `b += x`"
        )
    invalidate(out)
    result = xp.asarray(result, copy=True)  # `x *= 1` may return x
    result._is_array = True
    return result
