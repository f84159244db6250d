"""Arguments of NumPy's functions, converted for the functions of the standard."""

from collections.abc import Sequence
from operator import index
from typing import Any, Final

import numpy as np

from xpand import is_concrete
from xpand.extend import describe
from xpand_extensions.tracing._array import concrete
from xpand_extensions.tracing._core import TracedArray, TracedError
from xpand_extensions.tracing._reductions import written as write

from ._library import check_shares_memory

KINDS: Final = "biufc"
"""The kinds of data types that traced arrays combine with: booleans and numbers."""


def contains_traced(x: Any) -> bool:
    """Return whether an argument is a traced array, or a list or tuple that contains one."""
    return _contains(x, TracedArray)


def _contains(x: Any, classes: Any) -> bool:
    return isinstance(x, classes) or (isinstance(x, (list, tuple)) and any(_contains(part, classes) for part in x))


def array(xp: Any, x: Any) -> Any:
    """Return a traced array of an array, a number, or a nested sequence that may contain traced arrays."""
    if isinstance(x, TracedArray):
        return x
    own = xp.own_class
    if isinstance(x, (list, tuple)) and _contains(x, TracedArray if own is np.ndarray else (TracedArray, own)):
        return _stack(xp, x)
    values = x if type(x) is own else np.asarray(x)
    if values.dtype.kind not in KINDS:
        raise TypeError(
            f"traced arrays combine with arrays of numbers and booleans, got {describe(x)} of data type {values.dtype}"
        )
    return xp.wrap(values if isinstance(values, own) else xp.base.asarray(values))


def _stack(xp: Any, parts: Sequence[Any]) -> Any:
    """Return the array that NumPy makes of nested sequences."""
    arrays = [array(xp, x) for x in parts]
    shapes = {x.shape for x in arrays}
    if len(shapes) > 1:
        raise ValueError(f"a sequence of arrays becomes one array only if their shapes are equal, got {sorted(shapes)}")
    return xp.stack(common(xp, arrays))


def ndim(x: Any) -> int:
    """Return the number of axes of an array, a number, or a nested sequence that may contain traced arrays."""
    if isinstance(x, (list, tuple)):
        return 1 + ndim(x[0]) if x else 1
    return int(x.ndim) if hasattr(x, "ndim") else 0


def array_list(xp: Any, xs: Any) -> list[Any]:
    """Return traced arrays of the items of a sequence, or of the rows of an array."""
    if isinstance(xs, TracedArray):
        return xp.unstack(xs)
    return [x if isinstance(x, TracedArray) else array(xp, x) for x in xs]


def is_real(xp: Any, x: Any) -> bool:
    """Return whether functions of the standard compute with an argument as NumPy does: a traced array of floats."""
    return type(x) is xp.array_type and x._trace.dtype(x).kind == "f"


def numeric(xp: Any, x: Any) -> Any:
    """Return an array for functions of the traced namespace: they also take the library's own arrays."""
    if isinstance(x, TracedArray) or (type(x) is xp.own_class and x.dtype.kind in KINDS):
        return x
    return array(xp, x)


def common(xp: Any, xs: Sequence[Any]) -> list[Any]:
    """Convert arrays to their common data type."""
    first = xs[0].dtype
    for x in xs:
        if x.dtype is not first:
            break
    else:
        return list(xs)
    dtype = np.result_type(*[x.dtype for x in xs])
    return [cast(xp, x, dtype) for x in xs]


def cast(xp: Any, x: Any, dtype: Any) -> Any:
    """Return an array of a data type: the array itself if it has it."""
    return x if x.dtype == dtype else xp.astype(x, dtype)


def common_dtype(xp: Any, xs: Sequence[Any]) -> Any:
    """Return the common data type of arrays and numbers. Python's numbers adapt to the others."""
    return np.result_type(*(x if type(x) in (bool, int, float, complex) else array(xp, x).dtype for x in xs))


def operand(xp: Any, x: Any) -> Any:
    """Return an operand: numbers stay numbers, which do not determine the data type of a result."""
    return x if isinstance(x, (int, float, complex, np.generic)) else array(xp, x)


def floating(xp: Any, x: Any) -> Any:
    """Return an array of floating-point numbers: integers and booleans become float64, as in NumPy."""
    x = array(xp, x)
    return x if xp.is_floating(x.dtype) else xp.astype(x, xp.float64)


def dtype_of(dtype: Any) -> Any:
    """Return a data type of NumPy for a type, a name or a data type; None stays."""
    if dtype is None:
        return None
    dtype = np.dtype(dtype)
    if dtype.kind not in KINDS:
        raise TypeError(f"traced arrays are arrays of numbers and booleans, not of data type {dtype}")
    return dtype


def values_of(name: str, x: Any, instead: str) -> Any:
    """Return the values of an array, for a function with a result whose size depends on them.

    Raises:
        TracedError: The values are abstract.
    """
    if not is_concrete(x):
        value = x
        while isinstance(value, TracedArray):
            value = value._value
        is_lazy = isinstance(value, x._namespace.own_class) and not is_concrete(value)
        reason = "are lazy until they are computed" if is_lazy else f"`{x._trace.what}` does not know while it traces"
        raise TracedError(f"np.{name}: the size of its result depends on values, which {reason}; {instead}")
    return np.asarray(concrete(x, f"np.{name}"))


def integers(x: Any) -> Any:
    """Return an integer, or a tuple of integers, for an axis, a shape or other sizes; None stays."""
    if x is None or type(x) is int:
        return x
    if isinstance(x, (list, tuple)) or (isinstance(x, np.ndarray) and x.ndim):
        return tuple(map(index, x))
    return index(x)


def constant(function: str, name: str, x: Any) -> Any:
    """Return an argument with values that must be concrete, such as positions, without traced arrays.

    Raises:
        TracedError: The values are abstract.
    """
    if isinstance(x, (list, tuple)):
        return [constant(function, name, part) for part in x]
    if isinstance(x, TracedArray):
        x = concrete(x, f"{function}: {name} determines the size of the result")
    return np.asarray(x) if hasattr(x, "__array__") else x


def shape_of(shape: Any) -> tuple[int, ...]:
    """Return a shape of a shape or a length."""
    sizes = integers(shape)
    return sizes if isinstance(sizes, tuple) else (sizes,)


def all_axes(x: Any, axis: Any) -> tuple[int, ...]:
    """Return non-negative axes; all for None."""
    if axis is None:
        return tuple(range(x.ndim))
    axes = integers(axis)
    return tuple(np.lib.array_utils.normalize_axis_tuple(axes, x.ndim))


def written(out: Any, result: Any, name: str) -> Any:
    """Write a result to the argument `out`, and return it.

    Raises:
        TracedError: The array is NumPy's own, which cannot hold traced values.
    """
    if isinstance(out, tuple):
        (out,) = out
    if not isinstance(out, TracedArray):
        raise holds_no_traced(f"np.{name}(…, out=…)")
    check_shares_memory(f"{name}(…, out=…)", out)
    return write(f"np.{name}", out, result)


def holds_no_traced(what: str) -> TracedError:
    """Make the error for a write of traced values to NumPy's own array."""
    return TracedError(
        f"{what}: NumPy's own array can't hold values that a transformation traces; make it with `np.zeros_like(x)` or "
        "`np.zeros(shape, like=x)` of a traced array x"
    )


def writable(name: str, x: Any) -> Any:
    """Return an array that a function writes to.

    Raises:
        TracedError: The array is NumPy's own.
    """
    if not isinstance(x, TracedArray):
        raise holds_no_traced(f"np.{name}")
    check_shares_memory(name, x)
    return x
