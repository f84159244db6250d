"""Functions of NumPy and SciPy that are called on the values of traced arrays, with rules for their derivatives."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from xpand import array_namespace, library_name
from xpand_extensions.autodiff import SymbolicZero, custom_jvp, stop_gradient
from xpand_extensions.jit import ShapeDtype, pure_callback
from xpand_extensions.tracing._core import TracedError

Derivative = Callable[..., Any]
"""Returns the derivative by one argument, given the result and all arguments; a tuple for several results."""


def of_integers(ufunc: np.ufunc, number: int, xp: Any, *arrays: Any) -> Any:
    """Call a universal function whose result has the derivative zero. `number` selects one of several results."""
    function = ufunc if ufunc.nout == 1 else lambda *xs: ufunc(*xs)[number]
    return _called(function, _dtypes(ufunc, arrays)[number], *map(stop_gradient, arrays))


def _dtypes(ufunc: np.ufunc, arrays: Sequence[Any]) -> Sequence[Any]:
    kinds: Any = (*[x.dtype for x in arrays], *[None] * ufunc.nout)
    return ufunc.resolve_dtypes(kinds)[ufunc.nin :]


def _called(function: Callable[..., Any], dtypes: Any, *arrays: Any) -> Any:
    """Call a function of NumPy's arrays, one with an axis for batches at a time."""
    shape = np.broadcast_shapes(*(x.shape for x in arrays))
    xp = array_namespace(*arrays)
    arrays = tuple([x if x.shape == shape else xp.broadcast_to(x, shape) for x in arrays])
    if isinstance(dtypes, np.dtype):
        declared: Any = ShapeDtype(shape, dtypes)
    else:
        declared = tuple([ShapeDtype(shape, dtype) for dtype in dtypes])
    return pure_callback(lambda *xs: _arrays(function(*xs)), declared, *arrays, vmap_method="broadcast_all")


def _arrays(result: Any) -> Any:
    """Return arrays in place of NumPy's scalars."""
    if isinstance(result, tuple):
        return tuple(map(_arrays, result))
    return np.asarray(result) if isinstance(result, np.generic) else result


def host_function(ufunc: np.ufunc, name: str, derivatives: Sequence[Derivative | None]) -> Callable[..., Any]:
    """Make a function of a traced namespace and arrays that calls a universal function on their values.

    Args:
        ufunc: The universal function.
        name: Its name, for errors.
        derivatives: The derivative in each argument; None where it is not known: differentiation is an error then.
    """

    def values(*arrays: Any) -> Any:
        dtypes = _dtypes(ufunc, arrays)
        return _called(ufunc, dtypes[0] if ufunc.nout == 1 else dtypes, *arrays)

    function = custom_jvp(values)

    def rule(primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> Any:
        out = function(*primals)
        total: list[Any] = [None] * ufunc.nout
        for i, (tangent, derivative) in enumerate(zip(tangents, derivatives)):
            if isinstance(tangent, SymbolicZero):
                continue
            if derivative is None:
                raise TracedError(
                    f"scipy.special.{name}: no derivative is known in argument {i + 1} of {ufunc.nin}; register a "
                    "function that has one with `xpand_extensions.extend.register_ufunc`, or use `stop_gradient`"
                )
            factors = derivative(out, *primals)
            for j, factor in enumerate(factors if isinstance(factors, tuple) else (factors,)):
                part = factor * tangent
                total[j] = part if total[j] is None else total[j] + part
        outs = (out,) if ufunc.nout == 1 else out
        parts = [array_namespace(y).zeros_like(y) if t is None else _like(t, y) for t, y in zip(total, outs)]
        return out, parts[0] if ufunc.nout == 1 else tuple(parts)

    def call(xp: Any, *arrays: Any) -> Any:
        if not xp.takes_numpy:
            raise TracedError(
                f"scipy.special.{name}: SciPy computes it on NumPy's arrays, and arrays of {library_name(xp.base)} are "
                "on another device; use a function of `xpand_extensions.special`, or register a function with "
                "`xpand_extensions.extend.register_ufunc`"
            )
        return function(*arrays)

    function.defjvp(rule, symbolic_zeros=True)
    return call


def _like(tangent: Any, out: Any) -> Any:
    return tangent if tangent.dtype == out.dtype else array_namespace(tangent).astype(tangent, out.dtype)
