"""Shared code of the segment reductions: a library's kernel only reduces along the first axis."""

import math
from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from xpand import array_namespace
from xpand.extend import Array, DType, Namespace, checks

from .._bounds import index_dtype
from .._dtypes import is_narrow

Combination: TypeAlias = Literal["add", "multiply", "min", "max"]

SegmentMode: TypeAlias = Literal["raise", "drop", "clip", "wrap"]
"""The treatment of segment ids out of bounds. With "raise", only concrete ids are checked."""

_COMBINATIONS: Final[dict[str, Combination]] = {
    "segment_sum": "add",
    "segment_prod": "multiply",
    "segment_min": "min",
    "segment_max": "max",
    "segment_mean": "add",
}


class Reduction(NamedTuple):
    """The arguments of a kernel in addition to the arrays."""

    function: str
    """The function called, for messages."""
    combination: Combination
    num_segments: int
    is_sorted: bool
    mode: SegmentMode


Kernel: TypeAlias = Callable[[Reduction, Array, Array], Array]
"""Reduces values of shape `(n, …)` with ids of shape `(n,)` to `(num_segments, …)`."""


def reducers(kernel: Kernel, mean: Kernel | None = None) -> Iterator[Callable[..., Array]]:
    """Make a library's `segment_sum`, `segment_prod`, `segment_min`, `segment_max` and `segment_mean` from its kernel.

    The facade has completed the options: `num_segments` is a number, and `axis` counts from the front. By default, the
    kernel of means is `mean_of(kernel)`.
    """
    for function, combination in _COMBINATIONS.items():
        yield _reducer(function, combination, (mean or mean_of(kernel)) if function == "segment_mean" else kernel)


def _reducer(function: str, combination: Combination, kernel: Kernel) -> Callable[..., Array]:

    def reduce(
        values: Array,
        segment_ids: Array,
        /,
        *,
        num_segments: Any = None,
        axis: int = 0,
        indices_are_sorted: bool = False,
        mode: Any = None,
    ) -> Array:
        what = Reduction(function, combination, num_segments, indices_are_sorted, mode)
        if axis == 0:
            return kernel(what, values, segment_ids)
        xp = array_namespace(values)
        return xp.moveaxis(kernel(what, xp.moveaxis(values, axis, 0), segment_ids), 0, axis)

    reduce.__name__ = reduce.__qualname__ = function
    reduce.__module__ = kernel.__module__
    return reduce


def mean_of(kernel: Kernel) -> Kernel:
    """Make a kernel of means from a kernel of sums. Sums and counts of 16-bit numbers might overflow in float16."""

    @wraps(kernel)  # so that the implementation belongs to the kernel's module
    def mean(what: Reduction, values: Array, ids: Array) -> Array:
        xp, dtype = array_namespace(values), values.dtype
        if is_narrow(xp, dtype):
            return xp.astype(mean(what, xp.astype(values, xp.float32), ids), dtype)
        total = kernel(what, values, ids)
        ones = xp.ones_like(ids, dtype=index_dtype(xp, checks.device_of(ids)))
        number = kernel(what, ones, ids)
        number = xp.reshape(number, (-1, *(1 for _ in values.shape[1:]))) if values.ndim > 1 else number
        # Divide empty segments by one: 0 / 0 would warn, and make all gradients NaN.
        divisor = xp.astype(xp.maximum(number, xp.ones_like(number)), values.dtype)
        return xp.where(number > 0, total / divisor, math.nan)

    return mean


def identity(xp: Namespace, dtype: DType, combination: Combination) -> bool | int | float:
    """Return the result of an empty reduction."""
    if combination in ("add", "multiply"):
        return int(combination == "multiply")
    kind = checks.kind(xp, dtype)
    if kind == "bool":
        return combination == "min"
    if kind == "real":
        return math.inf if combination == "min" else -math.inf
    low, high = checks.integer_range(xp, dtype)
    return high if combination == "min" else low


def nothing(xp: Namespace, values: Array, what: Reduction) -> Array:
    """Make the result of segments without values."""
    fill = identity(xp, values.dtype, what.combination)
    return xp.full((what.num_segments, *values.shape[1:]), fill, dtype=values.dtype, device=checks.device_of(values))
