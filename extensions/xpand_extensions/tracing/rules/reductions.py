"""Rules of reductions and of what runs along an axis."""

import math
from collections.abc import Callable
from typing import Any, Final

from .._core import Aval
from .._derivatives import LINEAR, contribution
from .elementwise import dtype_of_result


def axes_of(axis: Any, ndim: int) -> tuple[int, ...]:
    """List the axes that a reduction goes over."""
    given = range(ndim) if axis is None else axis if isinstance(axis, (tuple, list)) else (axis,)
    found = []
    for i in given:
        if not -ndim <= i < max(ndim, 1):
            raise IndexError(f"axis {i} is out of bounds for an array of {ndim} axes")
        found.append(i % ndim if ndim else 0)
    return tuple(found) if ndim else ()


def spread_out(xp: Any, y: Any, x: Any, axis: Any, keepdims: bool) -> Any:
    """Give a reduced array the axes it was reduced over again, of length 1."""
    if keepdims:
        return y
    axes = axes_of(axis, len(x.shape))
    return xp.reshape(y, tuple(1 if i in axes else length for i, length in enumerate(x.shape)))


def _sum_transposed(xp: Any, ct: Any, x: Any, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
    return xp.broadcast_to(spread_out(xp, ct, x, axis, keepdims), tuple(x.shape))


def _mean_transposed(xp: Any, ct: Any, x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    count = math.prod(x.shape[i] for i in axes_of(axis, len(x.shape)))
    return _sum_transposed(xp, ct, x, axis, None, keepdims) / count


def _extremum(xp: Any, t: Any, out: Any, x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    """Push a tangent through a maximum or minimum: the mean over the elements that are it."""
    is_it = xp.astype(xp.equal(x, spread_out(xp, out, x, axis, keepdims)), x.dtype)
    count = xp.sum(is_it, axis=axis, keepdims=keepdims)
    return xp.sum(t * is_it, axis=axis, keepdims=keepdims) / count


DERIVATIVES: Final[dict[str, Any]] = {
    "max": (contribution(_extremum),),
    "mean": (LINEAR,),
    "min": (contribution(_extremum),),
    "sum": (LINEAR,),
}

TRANSPOSES: Final[dict[str, Any]] = {
    "mean": (_mean_transposed,),
    "sum": (_sum_transposed,),
}


def _shifted(name: str) -> Callable[..., Any]:
    """Make the rule of a reduction for batches: over the axes after the first."""

    def rule(xp: Any, mapped: tuple[bool, ...], x: Any, axis: Any = None, **params: Any) -> Any:
        axes = tuple(i + 1 for i in axes_of(axis, x.ndim - 1))
        return (
            getattr(xp, name)(x, axis=axes, **params)
            if axes
            else getattr(xp, name)(x[:, None], axis=1, **_kept(params))
        )

    return rule


def _kept(params: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in params.items() if name != "keepdims"}


def _reduced(name: str) -> Callable[..., Any]:
    def rule(namespace: Any, x: Any, axis: Any = None, keepdims: bool = False, **params: Any) -> Any:
        axes = axes_of(axis, x.ndim)
        shape = tuple(1 if i in axes else length for i, length in enumerate(x.shape) if keepdims or i not in axes)
        return Aval(shape, dtype_of_result(namespace, name, (x,), params), x.device)

    return rule


_REDUCTIONS: Final = ("all", "any", "count_nonzero", "max", "mean", "min", "prod", "std", "sum", "var")

BATCHING: Final[dict[str, Any]] = {name: _shifted(name) for name in _REDUCTIONS}

SHAPES: Final[dict[str, Any]] = {name: _reduced(name) for name in _REDUCTIONS}
