"""Rules of the facades for statistics, sorting and histograms.

Those that aren't here are made, in their generic implementation, of operations that all have rules.
"""

import math
from collections.abc import Callable
from typing import Any, Final

from xpand._arguments import device_of
from xpand_extensions.statistics._initial import with_initial

from ... import sorting, statistics
from ..._bounds import index_dtype
from .._core import Aval
from .._derivatives import joint
from .._shapes import broadcast
from .reductions import Function, dtype_of, index_batch, reduced_batch, reduced_shape, scanned
from .searching import searched

_REDUCTIONS: Final = ("nanmax", "nanmean", "nanmin", "nanprod", "nanstd", "nansum", "nanvar", "ptp")
_INDICES: Final = ("nanargmax", "nanargmin")
_CUMULATIVE: Final = ("cumulative_max", "cumulative_min", "logcumsumexp")
_PARTITIONS: Final = {"argpartition": "kth", "partition": "kth", "top_k": "k"}


def _of(facade: Function) -> Callable[[Any], Function]:
    return lambda xp: facade


# Derivatives


def _chosen(xp: Any, tangents: Any, out: Any, x: Any, k: int, axis: int, largest: bool) -> Any:
    return xp.take_along_axis(tangents["x"], out[1], axis=axis), None


def _scan(name: str, combine: str) -> Function:
    """Combine in the order in which JAX does it, so that elements that are equal have the same shares."""

    def rule(xp: Any, x: Any, axis: int, include_initial: bool = False) -> Any:
        return with_initial(scanned(getattr(xp, combine), x, axis), name, axis, include_initial)

    return rule


def _sums_of_exponentials(xp: Any, x: Any, axis: int, include_initial: bool = False) -> Any:
    # NumPy warns of NaN among exponentials: as in the generic version.
    nan = xp.isnan(x)
    total = scanned(xp.logaddexp, xp.where(nan, xp.zeros_like(x), x), axis)
    seen = xp.cumulative_sum(xp.astype(nan, index_dtype(xp, device_of(x))), axis=axis) > 0
    total = xp.where(seen, xp.full_like(total, math.nan), total)
    return with_initial(total, "logcumsumexp", axis, include_initial)


DERIVATIVES: Final[dict[str, Any]] = {"sorting.top_k": joint(_chosen)}

DECOMPOSITIONS: Final[dict[str, Any]] = {
    "statistics.cumulative_max": _scan("cumulative_max", "maximum"),
    "statistics.cumulative_min": _scan("cumulative_min", "minimum"),
    "statistics.logcumsumexp": _sums_of_exponentials,
}

CONSTANT: Final[dict[str, str]] = {
    **{f"statistics.{name}": "its result is an index" for name in _INDICES},
    **{f"sorting.{name}": "its results are indices" for name in ("argpartition", "searchsorted")},
    "histograms.digitize": "its results are indices",
}

# Batches


def _line(facade: Function, number: str | None = None) -> Function:
    """Make the rule of a facade along an axis, with a number after the array or none."""

    def rule(xp: Any, mapped: Any, x: Any, axis: int, **params: Any) -> Any:
        more = () if number is None else (params.pop(number),)
        return facade(x, *more, axis=axis + 1, **params)

    return rule


def _searched(xp: Any, mapped: Any, x1: Any, x2: Any, sorter: Any = None, side: Any = "left") -> Any:
    return searched(xp, (mapped["x1"], mapped["x2"], mapped.get("sorter")), x1, x2, sorter, side)


BATCHING: Final[dict[str, Any]] = {
    **{f"statistics.{name}": reduced_batch(name, _of(getattr(statistics, name))) for name in _REDUCTIONS},
    **{f"statistics.{name}": index_batch(name, _of(getattr(statistics, name))) for name in _INDICES},
    **{f"statistics.{name}": _line(getattr(statistics, name)) for name in _CUMULATIVE},
    **{f"sorting.{name}": _line(getattr(sorting, name), number) for name, number in _PARTITIONS.items()},
    "sorting.searchsorted": _searched,
}


# Shapes


def _same(namespace: Any, x: Aval, params: dict[str, Any]) -> Any:
    return x.dtype


_DTYPES: Final = {"nanprod": dtype_of("prod"), "nansum": dtype_of("sum")}


def _cumulative(namespace: Any, x: Aval, axis: int, include_initial: bool = False) -> Aval:
    shape = tuple([length + (include_initial and i == axis) for i, length in enumerate(x.shape)])
    return Aval(shape, x.dtype, device_of(x))


def _top(namespace: Any, x: Aval, k: int, axis: int, largest: bool) -> sorting.TopK:
    shape = (*x.shape[:axis], k, *x.shape[axis + 1 :])
    return sorting.TopK(
        Aval(shape, x.dtype, device_of(x)), Aval(shape, index_dtype(namespace, device_of(x)), device_of(x))
    )


def _indices(shape: Callable[..., tuple[int, ...]]) -> Function:
    """Make the rule of a function that returns indices."""

    def rule(namespace: Any, **arguments: Any) -> Aval:
        device = next(device_of(x) for x in arguments.values() if isinstance(x, Aval))
        return Aval(shape(**arguments), index_dtype(namespace, device), device)

    return rule


def _searched_shape(x1: Aval, x2: Aval, **options: Any) -> tuple[int, ...]:
    return x2.shape if x1.ndim == 1 else (*broadcast(x1.shape[:-1], x2.shape[:-1]), x2.shape[-1])


SHAPES: Final[dict[str, Any]] = {
    "histograms.digitize": _indices(lambda x, **options: x.shape),
    **{
        f"statistics.{name}": reduced_shape(name, _DTYPES.get(name, _same), needs_elements=name == "ptp")
        for name in _REDUCTIONS
    },
    **{f"statistics.{name}": reduced_shape(name, dtype_of("argmax")) for name in _INDICES},
    **{f"statistics.{name}": _cumulative for name in _CUMULATIVE},
    "sorting.argpartition": _indices(lambda x, **options: x.shape),
    "sorting.partition": lambda namespace, x, kth, axis: x,
    "sorting.searchsorted": _indices(_searched_shape),
    "sorting.top_k": _top,
}
