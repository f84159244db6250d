"""Calls of universal functions with NumPy's types and options."""

import sys
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Final

import numpy as np

from xpand_extensions.extend._ufuncs import REGISTERED
from xpand_extensions.tracing._core import TracedArray, TracedError

from ._arguments import array, contains_traced, written
from .known.reasons import UFUNC_REASONS
from .known.ufuncs import SAFE, UFUNCS

_PYTHON: Final[dict[str, type]] = {"i": int, "f": float, "c": complex}


def name_of(ufunc: Any) -> str:
    """Return the name of a universal function for error messages."""
    name: str = ufunc.__name__
    return name if getattr(np, name, None) is ufunc else name.lstrip("_")


def implementation(ufunc: np.ufunc) -> Callable[..., Any]:
    """Return the function of the traced namespace and of arrays for a universal function.

    Raises:
        TracedError: There is none.
    """
    function = UFUNCS.get(ufunc)
    if function is not None:
        return function
    own = REGISTERED.get(ufunc)
    if own is not None:
        return lambda xp, *arrays: own(*arrays)  # also in place of SciPy's function
    function = _of_scipy(ufunc)
    if function is None:
        raise _unsupported(ufunc)
    return function


def _of_scipy(ufunc: np.ufunc) -> Callable[..., Any] | None:
    """Return the function for a universal function of SciPy; None for others. SciPy is not imported for it."""
    if "scipy.special" not in sys.modules:
        return None
    from .known.special import function_of

    return function_of(ufunc)


def _unsupported(ufunc: np.ufunc) -> TracedError:
    """Make the error for a universal function without an implementation."""
    name = name_of(ufunc)
    reason = UFUNC_REASONS.get(name) if getattr(np, name, None) is ufunc else None
    if reason is None and name.endswith("(vectorized)"):
        reason = (
            "np.frompyfunc calls a function of Python's numbers; write it with functions of arrays, call "
            "`xpand.vmap(f)(x)`, or register a function for it with `xpand_extensions.extend.register_ufunc`"
        )
    elif reason is None:
        reason = (
            "this universal function has no derivative and no rule; register a function for it with "
            "`xpand_extensions.extend.register_ufunc`"
        )
    return TracedError(f"{name}: not for arrays that a transformation traces; {reason}")


def has_own_types(ufunc: np.ufunc) -> bool:
    """Return whether a function that a user has registered takes the arrays unchanged."""
    return ufunc in REGISTERED and ufunc not in UFUNCS


def call_plainly(xp: Any, ufunc: np.ufunc, inputs: Sequence[Any]) -> Any:
    """Call a universal function without options. Some operands are traced arrays."""
    inputs = [array(xp, x) if contains_traced(x) else x for x in inputs]
    arrays, dtypes = operands(xp, ufunc, inputs, None, "same_kind", (None,) * ufunc.nout)
    result = implementation(ufunc)(xp, *arrays)
    if dtypes is None:
        return tuple(result) if ufunc.nout > 1 else result
    if ufunc.nout == 1:
        return convert(xp, result, dtypes[0])
    return tuple([convert(xp, x, t) for x, t in zip(result, dtypes)])


def call(
    xp: Any,
    ufunc: np.ufunc,
    inputs: Sequence[Any],
    *,
    out: Any = None,
    where: Any = True,
    dtype: Any = None,
    casting: str = "same_kind",
    signature: Any = None,
    sig: Any = None,
    axes: Any = None,
    axis: Any = None,
    keepdims: bool = False,
    **layout: Any,
) -> Any:
    """Call a universal function with NumPy's options. Some operands are traced arrays."""
    for option in layout:
        if option not in ("order", "subok"):
            raise TypeError(f"np.{name_of(ufunc)}: there is no option {option}")
    outs = _outputs(ufunc, out)
    inputs = [array(xp, x) if contains_traced(x) else x for x in inputs]
    types = _signature(ufunc, dtype, signature if sig is None else sig)
    arrays, dtypes = operands(xp, ufunc, inputs, types, casting, outs)
    mask = None if where is True else _mask(xp, ufunc, where, outs)
    if mask is not None:
        safe = SAFE.get(ufunc, 0.5)
        arrays = [xp.where(mask, x, _safe_value(safe, x.dtype)) for x in arrays]
    move_back = None
    if axes is not None or axis is not None or keepdims:
        arrays, move_back = _move_axes(xp, ufunc, arrays, axes, axis, keepdims)
    result = implementation(ufunc)(xp, *arrays)
    results = list(result) if isinstance(result, (tuple, list)) else [result]
    if dtypes is not None:
        results = [convert(xp, x, t) for x, t in zip(results, dtypes)]
    if move_back is not None:
        results = [move_back(x) for x in results]
    for i, o in enumerate(outs):
        if o is not None:
            results[i] = _write(xp, ufunc, o, results[i], mask)
    return tuple(results) if ufunc.nout > 1 else results[0]


def _outputs(ufunc: np.ufunc, out: Any) -> tuple[Any, ...]:
    if out is None:
        return (None,) * ufunc.nout
    return out if isinstance(out, tuple) else (out,)


def operands(
    xp: Any, ufunc: np.ufunc, inputs: Sequence[Any], signature: Any, casting: str, outs: Sequence[Any]
) -> tuple[list[Any], Sequence[np.dtype] | None]:
    """Return the operands in the data types in which NumPy computes, and those of the results.

    Raises:
        TypeError: NumPy has no loop for the data types, or doesn't convert to them.
    """
    if has_own_types(ufunc):
        return [array(xp, x) for x in inputs], None
    kinds = [_described(x) for x in inputs]
    kinds += [None if o is None else o.dtype for o in outs]
    dtypes = resolve_dtypes(ufunc, tuple(kinds), signature, casting)
    return [convert(xp, x, t) for x, t in zip(inputs, dtypes)], dtypes[len(inputs) :]


@lru_cache(maxsize=1024)
def resolve_dtypes(ufunc: np.ufunc, kinds: tuple[Any, ...], signature: Any, casting: str) -> tuple[Any, ...]:
    """Return the data types in which NumPy computes, for those of the operands and of the outputs."""
    options = {} if signature is None else {"signature": signature}
    dtypes: Any = ufunc.resolve_dtypes(kinds, casting=casting, **options)  # type: ignore[arg-type]
    return dtypes


def _described(x: Any) -> Any:
    """Return the data type of an operand; for Python's numbers, their class: they adapt to arrays."""
    if isinstance(x, TracedArray):
        dtype = x._trace.dtype(x)
        return _PYTHON.get(dtype.kind, dtype) if x._trace.is_number(x) else dtype
    if type(x) in (int, float, complex):
        return type(x)
    return x.dtype if hasattr(x, "dtype") else np.asarray(x).dtype


def convert(xp: Any, x: Any, dtype: Any) -> Any:
    """Return a traced array of a data type."""
    if isinstance(x, TracedArray):
        return x if x._trace.dtype(x) == dtype else xp.astype(x, dtype)
    if type(x) in (int, float, complex):
        return array(xp, np.asarray(x, dtype=dtype))
    return convert(xp, array(xp, x), dtype)


def _signature(ufunc: np.ufunc, dtype: Any, signature: Any) -> Any:
    if dtype is None:
        return signature
    if signature is not None:
        raise TypeError(f"np.{name_of(ufunc)}: takes dtype= or signature=, not both")
    return (None,) * ufunc.nin + (np.dtype(dtype),) * ufunc.nout


def _mask(xp: Any, ufunc: np.ufunc, where: Any, outs: Sequence[Any]) -> Any:
    name = name_of(ufunc)
    if ufunc.signature is not None:
        raise TypeError(f"np.{name}: takes no where=, since it is not elementwise")
    mask = mask_of(xp, where)
    if any(o is None for o in outs):
        raise TypeError(
            f"np.{name}: where= without out= leaves the other elements undefined; give them by out=, or write "
            f"`np.where(mask, np.{name}(x), others)`"
        )
    return mask


def mask_of(xp: Any, where: Any) -> Any:
    """Return the mask of the option `where`: an array, or a list or number that NumPy converts to booleans."""
    if not isinstance(where, (np.ndarray, np.generic)) and not contains_traced(where):
        where = np.asarray(where, dtype=np.bool_)
    mask = array(xp, where)
    if mask.dtype != np.bool_:
        raise TypeError(f"where must be an array of booleans, got {mask.dtype}; write `where=mask != 0`")
    return mask


def _safe_value(value: float, dtype: Any) -> Any:
    return value if dtype.kind in "fc" else dtype.type(1)


def _write(xp: Any, ufunc: np.ufunc, out: Any, result: Any, mask: Any) -> Any:
    """Write a result to an array, in its data type and shape."""
    return written(out, fit(xp, out, result, mask), name_of(ufunc))


def fit(xp: Any, out: Any, result: Any, mask: Any = None) -> Any:
    """Convert a result to the data type of an output, and broadcast it to its shape if possible."""
    result = convert(xp, result, out.dtype)
    if mask is not None:
        result = xp.where(mask, result, out)
    if result.shape == out.shape or np.broadcast_shapes(result.shape, out.shape) != out.shape:
        return result
    return xp.broadcast_to(result, out.shape)


# Axes of generalized universal functions


def _move_axes(
    xp: Any, ufunc: np.ufunc, arrays: Sequence[Any], axes: Any, axis: Any, keepdims: bool
) -> tuple[list[Any], Callable[[Any], Any]]:
    """Move the axes that a function combines to the end; return a function that moves those of a result back."""
    name = name_of(ufunc)
    if ufunc.signature is None:
        raise TypeError(f"np.{name}: takes no axes=, axis= or keepdims=, since it is elementwise")
    counts = [len([x for x in part.strip("()").split(",") if x]) for part in _core_parts(ufunc)]
    is_inner = counts[ufunc.nin :] == [0] and len(set(counts[: ufunc.nin])) == 1
    if (axis is not None or keepdims) and not is_inner:
        raise TypeError(f"np.{name}: takes axes=, but no axis= or keepdims=; its core dimensions are {ufunc.signature}")
    if axis is not None:
        if axes is not None:
            raise TypeError(f"np.{name}: takes axes= or axis=, not both")
        axes = [axis] * ufunc.nin
    if axes is None:
        axes = [tuple(range(-n, 0)) for n in counts[: ufunc.nin]]
    core = [tuple(a) if isinstance(a, (tuple, list)) else (a.__index__(),) for a in axes]
    moved = [xp.moveaxis(x, a, tuple(range(-len(a), 0))) if a else x for x, a in zip(arrays, core)]
    last = core[ufunc.nin] if len(core) > ufunc.nin else core[0] if keepdims else ()

    def move_back(result: Any) -> Any:
        if keepdims:
            return xp.expand_dims(result, axis=last[0])
        return xp.moveaxis(result, tuple(range(-len(last), 0)), last) if last else result

    return moved, move_back


def _core_parts(ufunc: np.ufunc) -> list[str]:
    """Split a signature such as `(m,n),(n)->(m)` into its parts."""
    signature: str = ufunc.signature  # type: ignore[assignment]
    given, _, result = signature.partition("->")
    return [*given.replace("),(", ");(").split(";"), *result.replace("),(", ");(").split(";")]
