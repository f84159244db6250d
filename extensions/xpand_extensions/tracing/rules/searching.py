"""Rules of sorting, searching, sets, statistics and histograms."""

import math
from typing import Any, Final

from xpand._common.sorting import UniqueAllResult, UniqueCountsResult, UniqueInverseResult
from xpand.extend import device_of
from xpand_extensions.statistics._arguments import with_initial

from ... import sorting
from ..._bounds import index_dtype
from ...extend._derivatives import joint
from .._core import Aval, TracedError
from ._derived import Axes, dtype_of_result, flattened, of_example, spread_over_batch
from .reductions import Function, initial, nonempty, scanned


def _sorted(xp: Any, x: Any, axis: int = -1, descending: bool = False, stable: bool = True) -> Any:
    """Take the elements in sorted order, with ties in JAX's order: descending is the reverse of ascending."""
    order = xp.argsort(x, axis=axis, stable=stable)
    return xp.take_along_axis(x, xp.flip(order, axis=axis) if descending else order, axis=axis)


# Sorted values of several lanes are rows, which `sorting.searchsorted` searches.


def searched(xp: Any, mapped: Any, x1: Any, x2: Any, sorter: Any = None, side: Any = "left") -> Any:
    """Find positions in a batch, with one search if all lanes have the same sorted values."""
    lanes, of_values, of_sorter = mapped
    ndim = x1.ndim - lanes
    if not lanes and not of_sorter and ndim == 1:
        return xp.searchsorted(x1, x2, side=side, sorter=sorter)
    if sorter is not None:
        x1, sorter = spread_over_batch(xp, (lanes, of_sorter), (x1, sorter))
        x1 = xp.take_along_axis(x1, sorter, axis=-1)
    elif not lanes:
        x1 = xp.expand_dims(x1, axis=0)
    x2 = x2 if of_values else xp.expand_dims(x2, axis=0)
    if ndim == 1:
        found = sorting.searchsorted(x1, flattened(xp, x2, batched=True), side=side)
        return xp.reshape(found, (found.shape[0], *x2.shape[1:]))
    ndim = max(x1.ndim, x2.ndim)
    x1, x2 = (xp.reshape(x, (x.shape[0], *(1,) * (ndim - x.ndim), *x.shape[1:])) for x in (x1, x2))
    return sorting.searchsorted(x1, x2, side=side)


def _searched(xp: Any, mapped: Any, x1: Any, x2: Any, sorter: Any = None, side: Any = "left") -> Any:
    _check_sorted(x1.ndim - mapped[0])
    return searched(xp, mapped, x1, x2, sorter, side)


def _check_sorted(ndim: int) -> None:
    if ndim != 1:
        raise ValueError(f"searchsorted: x1 must have one axis, got {ndim}; use `searchsorted` of `{sorting.__name__}`")


def _is_in(xp: Any, mapped: Any, x1: Any, x2: Any, invert: bool = False) -> Any:
    if not mapped[1]:
        return xp.isin(x1, x2, invert=invert)
    values = flattened(xp, x2, batched=True)
    ndim = x1.ndim - mapped[0] if hasattr(x1, "dtype") else 0
    values = xp.reshape(values, (values.shape[0], *(1,) * ndim, values.shape[1]))
    found = xp.any(xp.equal(xp.expand_dims(x1, axis=-1) if hasattr(x1, "dtype") else x1, values), axis=-1)
    return xp.logical_not(found) if invert else found


# Results whose size depends on values


def _no_shape(name: str, instead: str) -> Any:
    def rule(namespace: Any, *args: Any, **params: Any) -> Any:
        raise TracedError(
            f"{name}: the size of its result depends on the values of its argument, which are not known while a "
            f"transformation traces the function; use {instead}"
        )

    return rule


_NONZERO: Final = "`nonzero` of `xpand_extensions.indexing` with size="
_UNIQUE: Final = "`unique` of `xpand_extensions.sorting` with size="
_SIZED_BY_VALUES: Final = {
    "nonzero": _NONZERO,
    **dict.fromkeys(["unique_all", "unique_counts", "unique_inverse", "unique_values"], _UNIQUE),
}


def _unique_counts(xp: Any, x: Any) -> Any:
    found = xp.unique_all(x)
    return UniqueCountsResult(found.values, found.counts)


def _unique_inverse(xp: Any, x: Any) -> Any:
    found = xp.unique_all(x)
    return UniqueInverseResult(found.values, found.inverse_indices)


_INDICES: Final = ("nanargmax", "nanargmin")
_CUMULATIVE: Final = ("cumulative_max", "cumulative_min", "logcumsumexp")


# Derivatives


def _scan(name: str, combine: str) -> Function:
    """Combine in JAX's order, so that equal elements share derivatives like in JAX."""

    def rule(xp: Any, x: Any, axis: int, include_initial: bool = False) -> Any:
        return with_initial(scanned(getattr(xp, combine), x, axis), name, axis, include_initial)

    return rule


def _sums_of_exponentials(xp: Any, x: Any, axis: int, include_initial: bool = False) -> Any:
    # Avoid NumPy's warning for NaN among exponentials, like the generic version.
    nan = xp.isnan(x)
    total = scanned(xp.logaddexp, xp.where(nan, xp.zeros_like(x), x), axis)
    seen = xp.cumulative_sum(xp.astype(nan, index_dtype(xp, device_of(x))), axis=axis) > 0
    total = xp.where(seen, xp.full_like(total, math.nan), total)
    return with_initial(total, "logcumsumexp", axis, include_initial)


def _indices_dtype(namespace: Any, avals: Any, params: Any) -> Any:
    return index_dtype(namespace, device_of(avals[0]))


DERIVATIVES: Final[dict[str, Any]] = {
    "unique_all": joint(
        lambda xp, tangents, out, x: (xp.take(flattened(xp, tangents[0]), out[1], axis=0), None, None, None)
    ),
    "sorting.top_k": joint(
        lambda xp, tangents, out, x, k, axis, largest: (xp.take_along_axis(tangents["x"], out[1], axis=axis), None)
    ),
}

DECOMPOSITIONS: Final[dict[str, Any]] = {
    "sort": _sorted,
    "unique_counts": _unique_counts,
    "unique_inverse": _unique_inverse,
    "unique_values": lambda xp, x: xp.unique_all(x).values,
    "statistics.cumulative_max": _scan("cumulative_max", "maximum"),
    "statistics.cumulative_min": _scan("cumulative_min", "minimum"),
    "statistics.logcumsumexp": _sums_of_exponentials,
}

RESULTS: Final[dict[str, Any]] = {
    "nonzero": tuple,
    "unique_all": UniqueAllResult,
    "unique_counts": UniqueCountsResult,
    "unique_inverse": UniqueInverseResult,
}

CONSTANT: Final[dict[str, str]] = {
    **dict.fromkeys(["argsort", "nonzero", "searchsorted"], "its results are indices"),
    "isin": "its result is boolean",
    **{f"statistics.{name}": "its result is an index" for name in _INDICES},
    **{f"sorting.{name}": "its results are indices" for name in ("argpartition", "searchsorted")},
    "histograms.digitize": "its results are indices",
}

# The second array of these functions has any shape, or the size of the result depends on values.
BATCHING: Final[dict[str, Any]] = {
    "isin": _is_in,
    "searchsorted": _searched,
    **{name: _no_shape(name, instead) for name, instead in _SIZED_BY_VALUES.items()},
    "sorting.searchsorted": lambda xp, mapped, x1, x2, sorter=None, side="left": searched(
        xp, (mapped["x1"], mapped["x2"], mapped.get("sorter")), x1, x2, sorter, side
    ),
}


def _search_shape(namespace: Any, x1: Aval, x2: Any, sorter: Any = None, side: Any = "left") -> Aval:
    if sorter is not None and (sorter.shape != x1.shape or not namespace.base.isdtype(sorter.dtype, "integral")):
        raise TypeError(f"searchsorted: sorter must be integers of the shape {x1.shape}, got {sorter}")
    _check_sorted(x1.ndim)
    dtype = dtype_of_result(namespace, "searchsorted", (Aval((1,), x1.dtype), Aval((1,), x1.dtype), None), {})
    return Aval(getattr(x2, "shape", ()), dtype, device_of(x1))


SHAPES: Final[dict[str, Any]] = {
    "isin": lambda namespace, x1, x2, invert=False: Aval(
        getattr(x1, "shape", ()), namespace.bool, device_of(x1) if isinstance(x1, Aval) else device_of(x2)
    ),
    "searchsorted": _search_shape,
    **{name: _no_shape(name, instead) for name, instead in _SIZED_BY_VALUES.items()},
}


AXES: Final[dict[str, Axes]] = {
    **dict.fromkeys(("argsort", "sort"), Axes("...[(axis=-1)]->...[(axis)]")),
    "histograms.digitize": Axes("x:...,edges:[n]->...", dtype=_indices_dtype),
    "statistics.nansum": Axes("...(axis)->...", dtype=of_example("sum")),
    "statistics.nanprod": Axes("...(axis)->...", dtype=of_example("prod")),
    **{f"statistics.{name}": Axes("...(axis)->...") for name in ("nanmax", "nanmin")},
    **{f"statistics.{name}": Axes("...[(axis)]->...") for name in ("nanmean", "nanstd", "nanvar")},
    "statistics.ptp": Axes("...[(axis)]->...", check=nonempty("ptp")),
    **{f"statistics.{name}": Axes("...[(axis)]->...", dtype=of_example("argmax"), flat=True) for name in _INDICES},
    **{f"statistics.{name}": Axes("...[(axis)]->...[(axis:k)]", sizes=initial) for name in _CUMULATIVE},
    "sorting.argpartition": Axes("...[(axis)]->...[(axis)]", dtype=_indices_dtype),
    "sorting.partition": Axes("...[(axis)]->...[(axis)]"),
    "sorting.top_k": Axes(
        "...[(axis)]->...[(axis:k)],...[(axis:k)]",
        sizes=lambda lengths, k, **params: {"k": k},
        dtype=lambda namespace, avals, params: (avals[0].dtype, _indices_dtype(namespace, avals, params)),
    ),
}
