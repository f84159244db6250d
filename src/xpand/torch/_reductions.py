"""Reductions and cumulative functions.

PyTorch differs from the standard: `axis=()` means all axes, not none
(https://github.com/pytorch/pytorch/issues/29137), the sum of unsigned integers is int64, not an unsigned type, and
there are no kernels for uint16 to uint64.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch

from ..typing import Axis, DType, LibraryArray as Array
from . import _private as private
from ._binary import output, refuse_names
from ._differentiated import is_all_false, product_of_few, with_derivatives
from ._dtypes import KINDS, SIGNED, from_ordered, result_type, to_ordered, to_signed

__all__ = [
    "all",
    "any",
    "count_nonzero",
    "cumulative_prod",
    "cumulative_sum",
    "diff",
    "max",
    "mean",
    "min",
    "prod",
    "std",
    "sum",
    "var",
]

_UNSIGNED = KINDS["unsigned integer"]


def _accumulate(function: Callable[..., Array], x: Array, dtype: DType | None, *args: Any, **kwargs: Any) -> Array:
    """Compute a sum or product in the standard's data type: int64 for signed, uint64 for unsigned integers."""
    if dtype is None:
        if x.dtype not in _UNSIGNED:
            return function(x, *args, **kwargs)
        dtype = torch.uint64
    if dtype not in SIGNED:
        return function(x, *args, dtype=dtype, **kwargs)
    # The result in int64 has the same bits as in uint64 and the smaller types.
    result = function(x if x.dtype in _UNSIGNED else x.to(torch.int64), *args, dtype=torch.int64, **kwargs)
    return result.view(dtype) if dtype is torch.uint64 else result.to(dtype)


def _no_axis(x: Array, *, dtype: DType | None = None) -> Array:
    """Return a sum or product over no axis, which is a copy in the data type of the result."""
    if dtype is None and not (x.dtype.is_floating_point or x.dtype.is_complex):
        dtype = torch.int64
    return x.to(x.dtype if dtype is None else dtype, copy=True)


def _prod_over_axes(
    x: Array, axis: tuple[int, ...] | None, keepdims: bool, *, dtype: DType | None = None, **kwargs: Any
) -> Array:
    """Compute `torch.prod` over all or several axes. PyTorch's function takes one axis."""
    axes = range(x.ndim) if axis is None else sorted(_positive(axis, x.ndim))
    if len(axes) == x.ndim:
        result = torch.prod(x, dtype=dtype)
        return output(result.reshape([1] * x.ndim) if keepdims else result, kwargs)
    for a in reversed(axes):  # the last one first: the numbers of the others stay the same
        x = torch.prod(x, a, keepdims, dtype=dtype)
    return output(x, kwargs)


def _positive(axis: tuple[int, ...], ndim: int) -> set[int]:
    """Return axes counted from the front, and check them."""
    axes = {a + ndim if a < 0 else a for a in axis}
    if not axes.issubset(range(ndim)) or len(axes) < len(axis):
        raise IndexError(f"`axis` is {axis}; expected different axes of {ndim} dimensions, {-ndim} to {ndim - 1}")
    return axes


def sum(x: Array, /, *, axis: Axis = None, dtype: DType | None = None, keepdims: bool = False, **kwargs: Any) -> Array:
    """Return the sum over axes; int64 for signed and uint64 for unsigned integers."""
    if kwargs:
        refuse_names("sum", kwargs)
    if isinstance(axis, tuple) and not axis:
        return _accumulate(_no_axis, x, dtype)
    if dtype is None and x.dtype not in _UNSIGNED:
        return torch.sum(x, axis, keepdims, **kwargs)
    return _accumulate(torch.sum, x, dtype, axis, keepdims, **kwargs)


def prod(x: Array, /, *, axis: Axis = None, dtype: DType | None = None, keepdims: bool = False, **kwargs: Any) -> Array:
    """Return the product over axes; int64 for signed and uint64 for unsigned integers."""
    if kwargs:
        refuse_names("prod", kwargs)
    if isinstance(axis, tuple) and not axis:
        return _accumulate(_no_axis, x, dtype)
    if axis is not None and not isinstance(axis, (tuple, list)):
        return _accumulate(torch.prod, x, dtype, axis, keepdims, **kwargs)
    if axis is None and not keepdims and not kwargs:
        return _accumulate(torch.prod, x, dtype)
    return _accumulate(_prod_over_axes, x, dtype, axis, keepdims, **kwargs)


def _as_tuple(axis: Any) -> tuple[int, ...]:
    return tuple(axis) if isinstance(axis, (tuple, list)) else (axis,)


def _named(function: Callable[..., Array], name: str, doc: str) -> Callable[..., Array]:
    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    return function


def _extremum(native: Callable[..., Array], along: Callable[..., Array], doc: str) -> Callable[..., Array]:
    def function(x: Array, /, *, axis: Axis = None, keepdims: bool = False) -> Array:
        if isinstance(axis, tuple) and not axis:
            return x.clone()
        if x.dtype in SIGNED:
            return from_ordered(along(to_ordered(x), axis, keepdims), x.dtype)
        # For integers, the native function over all elements is three times as fast.
        return native(x) if axis is None and not keepdims else along(x, axis, keepdims)

    return _named(function, native.__name__, doc)


max = _extremum(torch.max, torch.amax, "Return the largest element over axes.")
min = _extremum(torch.min, torch.amin, "Return the smallest element over axes.")


def mean(x: Array, /, *, axis: Axis = None, keepdims: bool = False, **kwargs: Any) -> Array:
    """Return the arithmetic mean over axes."""
    if kwargs:
        refuse_names("mean", kwargs)
    return (
        torch.mean(x[None], 0, **kwargs)
        if isinstance(axis, tuple) and not axis
        else torch.mean(x, axis, keepdims, **kwargs)
    )


def _spread(native: Callable[..., Array], doc: str) -> Callable[..., Array]:
    def function(
        x: Array, /, *, axis: Axis = None, correction: float = 0.0, keepdims: bool = False, **kwargs: Any
    ) -> Array:
        if kwargs:
            refuse_names(native.__name__, kwargs)
        if isinstance(axis, tuple) and not axis:
            x, axis, keepdims = x[None], 0, False
        if correction:
            count = math.prod(x.shape if axis is None else [x.shape[a] for a in _as_tuple(axis)])
            if 0 < count <= correction:  # PyTorch warns, and the result is infinite
                return native(x, axis, correction=0, keepdim=keepdims, **kwargs) * math.nan
        return native(x, axis, correction=correction, keepdim=keepdims, **kwargs)

    return _named(function, native.__name__, doc)


std = _spread(torch.std, "Return the standard deviation over axes; the divisor is the number minus `correction`.")
var = _spread(torch.var, "Return the variance over axes; the divisor is the number minus `correction`.")


def _to_boolean(native: Callable[..., Array], doc: str) -> Callable[..., Array]:
    def function(x: Array, /, *, axis: Axis = None, keepdims: bool = False, **kwargs: Any) -> Array:
        if kwargs:
            refuse_names(native.__name__, kwargs)
        if isinstance(axis, tuple) and not axis:
            return x.to(torch.bool)
        result = native(x, axis, keepdims, **kwargs)
        return result.to(torch.bool) if x.dtype is torch.uint8 else result

    return _named(function, native.__name__, doc)


any = _to_boolean(torch.any, "Return whether any element over axes is true; a boolean also for uint8, unlike PyTorch.")
all = _to_boolean(
    torch.all, "Return whether all elements over axes are true; a boolean also for uint8, unlike PyTorch."
)


def count_nonzero(x: Array, /, *, axis: Axis = None, keepdims: bool = False) -> Array:
    """Return the number of elements that are not zero, over axes."""
    if x.dtype in SIGNED:
        x = to_signed(x)
    if isinstance(axis, tuple) and not axis:
        return torch.ne(x, 0).to(torch.int64)
    if keepdims:
        return torch.sum(torch.ne(x, 0), axis, True)
    return torch.count_nonzero(x, axis)


def _cumprod(x: Array, axis: int, *, dtype: DType | None = None, **kwargs: Any) -> Array:
    """Compute `torch.cumprod` with correct second derivatives: in forward mode, PyTorch's are wrong after a zero."""
    plain = torch.cumprod(x, axis, dtype=dtype, **kwargs)
    if kwargs or not private.in_forward_mode():
        return plain
    x = x.to(plain.dtype)
    zero = x == 0
    if is_all_false(zero):
        return plain
    count = torch.cumsum(zero, axis)
    factors = torch.where(zero, x, 0.0)
    of_zeros = product_of_few(count, torch.cumsum(factors, axis), torch.cumsum(factors**2, axis))
    others = torch.cumprod(torch.where(zero, 1.0, x), axis)
    found = others * of_zeros
    return torch.where(count == 0, others, with_derivatives(plain, found))


def _cumulative(native: Callable[..., Array], initial: int, name: str, doc: str) -> Callable[..., Array]:
    def function(
        x: Array,
        /,
        *,
        axis: int | None = None,
        dtype: DType | None = None,
        include_initial: bool = False,
        **kwargs: Any,
    ) -> Array:
        if axis is None:
            if x.ndim != 1:
                raise ValueError(f"{name}: `axis` must be given for an array of {x.ndim} dimensions")
            axis = 0
        result = _accumulate(native, x, dtype, axis, **kwargs)
        if not include_initial:
            return result
        shape = list(x.shape)
        shape[axis] = 1
        first = torch.full(shape, initial, dtype=result.dtype, device=x.device)
        return torch.concat((first, result), axis)

    return _named(function, name, doc)


cumulative_sum = _cumulative(
    torch.cumsum, 0, "cumulative_sum", "Return the running sum along an axis, after a zero if `include_initial`."
)
cumulative_prod = _cumulative(
    _cumprod, 1, "cumulative_prod", "Return the running product along an axis, after a one if `include_initial`."
)


def diff(
    x: Array, /, *, axis: int = -1, n: int = 1, prepend: Array | None = None, append: Array | None = None
) -> Array:
    """Return the `n`-th difference along an axis; for unsigned integers modulo 2**bits."""
    dtype = x.dtype
    if prepend is not None or append is not None:
        dtype = result_type(*(a for a in (x, prepend, append) if a is not None))
        x, prepend, append = (a if a is None or a.dtype is dtype else a.to(dtype) for a in (x, prepend, append))
    if dtype not in SIGNED:
        return torch.diff(x, n, axis, prepend, append)
    x, prepend, append = (a if a is None else to_signed(a) for a in (x, prepend, append))
    return torch.diff(x, n, axis, prepend, append).view(dtype)
