"""Reductions and cumulative functions: the methods of traced arrays, also without the elements that are NaN."""

from typing import Any

import numpy as np

from xpand import check
from xpand_extensions.statistics import nanargmax, nanargmin, nanmax, nanmin, ptp
from xpand_extensions.tracing._reductions import METHODS

from .._arguments import array, dtype_of, integers, is_real
from .._table import Implementation, implements


def _skipping_nan(xp: Any, a: Any, where: Any) -> tuple[Any, Any]:
    """Return the array, and the mask of the elements to reduce: those that are not NaN."""
    a = array(xp, a)
    if not xp.is_floating(a.dtype):
        return a, where
    proper = ~xp.isnan(a)
    return a, proper if where is True else proper & array(xp, where)


def _sum_or_product(name: str, skips_nan: bool) -> Implementation:
    method = METHODS[name]

    def reduce(
        xp: Any,
        a: Any,
        axis: Any = None,
        dtype: Any = None,
        keepdims: bool = False,
        initial: Any = None,
        where: Any = True,
    ) -> Any:
        if where is True and initial is None and dtype is None and not skips_nan and is_real(xp, a):
            return getattr(xp, name)(a, axis=integers(axis), keepdims=keepdims)
        a, where = _skipping_nan(xp, a, where) if skips_nan else (array(xp, a), where)
        return method(a, integers(axis), dtype=dtype_of(dtype), keepdims=keepdims, initial=initial, where=where)

    return reduce


def _any_or_all(name: str) -> Implementation:
    method = METHODS[name]

    def reduce(xp: Any, a: Any, axis: Any = None, keepdims: bool = False, *, where: Any = True) -> Any:
        if where is True and type(a) is xp.array_type:
            return getattr(xp, name)(a, axis=integers(axis), keepdims=keepdims)
        return method(array(xp, a), integers(axis), keepdims=keepdims, where=where)

    return reduce


def _extreme(name: str) -> Implementation:
    method = METHODS[name]

    def reduce(
        xp: Any, a: Any, axis: Any = None, keepdims: bool = False, initial: Any = None, where: Any = True
    ) -> Any:
        if where is True and initial is None and is_real(xp, a):
            return getattr(xp, name)(a, axis=integers(axis), keepdims=keepdims)
        return method(array(xp, a), integers(axis), keepdims=keepdims, initial=initial, where=where)

    return reduce


def _extreme_without_nan(name: str) -> Implementation:
    method, without_nan = METHODS[name], {"max": nanmax, "min": nanmin}[name]

    def reduce(
        xp: Any, a: Any, axis: Any = None, keepdims: bool = False, initial: Any = None, where: Any = True
    ) -> Any:
        a = array(xp, a)
        if initial is None and where is True and xp.is_floating(a.dtype):
            return without_nan(a, axis=integers(axis), keepdims=keepdims)
        a, where = _skipping_nan(xp, a, where) if initial is not None else (a, where)
        return method(a, integers(axis), keepdims=keepdims, initial=initial, where=where)

    return reduce


def _mean(skips_nan: bool) -> Implementation:
    method = METHODS["mean"]

    def reduce(
        xp: Any, a: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False, *, where: Any = True
    ) -> Any:
        if where is True and dtype is None and not skips_nan and is_real(xp, a):
            return xp.mean(a, axis=integers(axis), keepdims=keepdims)
        a, where = _skipping_nan(xp, a, where) if skips_nan else (array(xp, a), where)
        return method(a, integers(axis), dtype=dtype_of(dtype), keepdims=keepdims, where=where)

    return reduce


def _variance(name: str, skips_nan: bool) -> Implementation:
    method = METHODS[name]

    def reduce(
        xp: Any,
        a: Any,
        axis: Any = None,
        dtype: Any = None,
        ddof: float = 0,
        keepdims: bool = False,
        *,
        where: Any = True,
        mean: Any = None,
        correction: Any = None,
    ) -> Any:
        a, where = _skipping_nan(xp, a, where) if skips_nan else (array(xp, a), where)
        options = {"dtype": dtype_of(dtype), "ddof": ddof, "keepdims": keepdims, "mean": mean, "correction": correction}
        result = method(a, integers(axis), where=where, **options)
        if not skips_nan or where is True:
            return result
        # NumPy's result for too few elements is NaN here, but an infinity or NaN without the prefix.
        left = xp.sum(xp.astype(xp.broadcast_to(where, a.shape), xp.float64), axis=integers(axis), keepdims=keepdims)
        return xp.where(left > (ddof if correction is None else correction), result, xp.full_like(result, np.nan))

    return reduce


def _cumulative(name: str, neutral: int | None = None) -> Implementation:
    method = METHODS[name]

    def accumulate(xp: Any, a: Any, axis: Any = None, dtype: Any = None) -> Any:
        a = array(xp, a)
        if neutral is not None and xp.is_floating(a.dtype):
            a = xp.where(xp.isnan(a), xp.full_like(a, neutral), a)
        return method(a, integers(axis), dtype=dtype_of(dtype))

    return accumulate


def _cumulative_along(name: str) -> Implementation:
    """Make the cumulative functions of the standard, which do not flatten their argument."""
    method = METHODS[{"cumulative_sum": "cumsum", "cumulative_prod": "cumprod"}[name]]

    def accumulate(xp: Any, x: Any, axis: Any = None, dtype: Any = None, include_initial: bool = False) -> Any:
        x = array(xp, x)
        if axis is None:
            if x.ndim != 1:
                raise ValueError(f"np.{name}: x has {x.ndim} axes; unless it has one, name the axis: axis=0")
            axis = 0
        result = method(x, integers(axis), dtype=dtype_of(dtype))
        if not include_initial:
            return result
        shape = tuple(1 if i == axis % x.ndim else size for i, size in enumerate(x.shape))
        first = xp.full(shape, int(name == "cumulative_prod"), dtype=result.dtype)
        return xp.concat([first, result], axis=integers(axis))

    return accumulate


def _position(name: str) -> Implementation:
    method = METHODS[name]

    def reduce(xp: Any, a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
        if is_real(xp, a):
            return getattr(xp, name)(a, axis=integers(axis), keepdims=keepdims)
        return method(array(xp, a), integers(axis), keepdims=keepdims)

    return reduce


def _position_without_nan(name: str) -> Implementation:
    search = {"nanargmax": nanargmax, "nanargmin": nanargmin}[name]

    def reduce(xp: Any, a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
        a = array(xp, a)
        if not xp.is_floating(a.dtype) or xp.is_complex(a.dtype):
            return METHODS[name.removeprefix("nan")](a, integers(axis), keepdims=keepdims)
        result = search(a, axis=integers(axis), keepdims=keepdims)
        check(result >= 0, f"np.{name}: a slice has no element that is not NaN")
        return result

    return reduce


for _name in ("sum", "prod"):
    implements(_name)(_sum_or_product(_name, skips_nan=False))
    implements(f"nan{_name}")(_sum_or_product(_name, skips_nan=True))
for _name in ("all", "any"):
    implements(_name)(_any_or_all(_name))
for _name in ("max", "min"):
    implements(_name, f"a{_name}")(_extreme(_name))
    implements(f"nan{_name}")(_extreme_without_nan(_name))
    implements(f"arg{_name}")(_position(f"arg{_name}"))
    implements(f"nanarg{_name}")(_position_without_nan(f"nanarg{_name}"))
implements("mean")(_mean(skips_nan=False))
implements("nanmean")(_mean(skips_nan=True))
for _name in ("std", "var"):
    implements(_name)(_variance(_name, skips_nan=False))
    implements(f"nan{_name}")(_variance(_name, skips_nan=True))
for _name, _neutral in (("cumsum", 0), ("cumprod", 1)):
    implements(_name)(_cumulative(_name))
    implements(f"nan{_name}")(_cumulative(_name, _neutral))
for _name in ("cumulative_sum", "cumulative_prod"):
    implements(_name)(_cumulative_along(_name))


@implements("count_nonzero")
def _count_nonzero(xp: Any, a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    return xp.count_nonzero(array(xp, a), axis=integers(axis), keepdims=keepdims)


@implements("ptp")
def _ptp(xp: Any, a: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return ptp(array(xp, a), axis=integers(axis), keepdims=keepdims)
