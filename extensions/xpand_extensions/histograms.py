"""Counts of integers, and histograms: counts, weighted sums and densities, also in batches.

Bins are half-open, `edges[i] <= x < edges[i + 1]`, except the last one, which includes its right edge. Values outside
of all bins, such as NaN, are not counted. Equally spaced bins are found by arithmetic, with the same result as by
search.
"""

import builtins
import math
from collections.abc import Sequence
from numbers import Number
from typing import TYPE_CHECKING, Any, NamedTuple

from xpand import array_namespace, check, is_concrete
from xpand.extend import Array, DType, Namespace, checks, eager

from ._bounds import MODES, Mode, checked_mode
from ._dispatch import pluggable
from ._dtypes import as_dtype, comparable_dtype
from ._elsewhere import arguments_elsewhere, elsewhere

__all__ = ["Histogram", "HistogramDD", "bincount", "digitize", "histogram", "histogram_bin_edges", "histogramdd"]
__dir__ = __all__.copy

if not TYPE_CHECKING:  # type checkers would accept any name
    __getattr__ = elsewhere(__name__)


class Histogram(NamedTuple):
    """The counts of the bins, and the edges between them."""

    hist: Array
    edges: Array


class HistogramDD(NamedTuple):
    """The counts of bins of several dimensions, and the edges along each."""

    hist: Array
    edges: tuple[Array, ...]


@pluggable
def bincount(
    x: Array,
    /,
    *,
    weights: Array | None = None,
    minlength: int = 0,
    length: int | None = None,
    mode: Mode | None = None,
) -> Array:
    """Count how often each integer occurs, or add up the weights of its occurrences, along the last axis.

    Args:
        x: Integers of shape `(..., n)`.
        weights: The weight of each occurrence, real or complex, of a shape that broadcasts to that of `x`. None: 1.
        minlength: The minimum length of the result if `length` isn't given.
        length: The length of the result. None: one more than the largest value; then the values must be known.
        mode: The treatment of values below 0 or at least `length`: "raise" an `IndexError`, "drop" them (here "fill"
            means the same), "clip" them to 0 or `length - 1`, or "wrap" them around. None: "raise" if the values are
            known, else "drop".

    Returns:
        Counts of shape `(..., length)` in the library's data type for indices; with weights, sums in the data type of
        the weights, differentiable in them. Sums of integers wrap around if they are too large.

    Raises:
        TypeError: An argument is not an array, belongs to another library, or has another data type.
        IndexError: A value is out of bounds.
        ValueError: Shapes don't fit; both `minlength` and `length` are given; `length` is omitted under tracing.

    Source: `numpy.bincount`, with `length` as in `jax.numpy.bincount`, and PhiML's `batched_bincount`.

    >>> import numpy as np
    >>> bincount(np.asarray([0, 2, 2, 5]), length=4, mode="drop")
    array([1, 0, 2, 0])
    >>> bincount(np.asarray([[0, 1], [1, 1]]), weights=np.asarray([0.5, 2.0]))
    array([[0.5, 2. ],
           [0. , 2.5]])
    """
    given = minlength, length, mode
    implementation, minlength, length, shape = bincount.planned(_check_bincount, (x, weights), *given)
    length, mode = _bincount_options(x, minlength, length, mode)
    return implementation(x, weights=_spread(weights, shape), minlength=minlength, length=length, mode=mode)


@arguments_elsewhere()
@pluggable
def histogram(
    x: Array,
    /,
    bins: int | Array = 10,
    *,
    range: tuple[float, float] | None = None,
    weights: Array | None = None,
    density: bool = False,
) -> Histogram:
    """Count the values in each bin, or add up their weights, along the last axis.

    Args:
        x: Integers or real floating-point numbers of shape `(..., n)`.
        bins: The number of bins, of equal width; or their edges, in ascending order: an array of shape `(bins + 1,)`,
            or `(..., bins + 1)` for different edges in each row of `x`. If only one of `x` and the edges is
            floating-point, the other is converted to its data type.
        range: For a number of bins, the lowest and the highest edge, as Python numbers. If they are equal, half a unit
            is added on both sides. None: the smallest and the largest value of each row; 0 and 1 if the row is empty.
        weights: The weight of each value, real or complex, of a shape that broadcasts to that of `x`. None: 1.
        density: Whether to divide by the total of all bins and by the bin's width, so that the integral is 1. The
            density is NaN if the total is zero.

    Returns:
        `hist`, of shape `(..., bins)`: counts in the library's data type for indices, sums in the data type of the
        weights, or a floating-point density. It is differentiable in the weights. And `edges`: the given ones, or of
        shape `(bins + 1,)` for a `range`, else `(..., bins + 1)`. They have the data type of `x`; for integers,
        float64, or the library's default if it lacks float64.

    Raises:
        TypeError: An argument is not an array, belongs to another library, or has another data type or type.
        ValueError: Shapes don't fit; edges are not in ascending order; the range, given or computed, is not finite or
            too narrow for so many bins. Under tracing, values aren't checked.

    Source: `numpy.histogram`, for rows; PhiML's `histogram1d`.

    >>> import numpy as np
    >>> histogram(np.asarray([0.0, 0.5, 1.0, 2.0]), 4)
    Histogram(hist=array([1, 1, 1, 1]), edges=array([0. , 0.5, 1. , 1.5, 2. ]))
    >>> histogram(np.asarray([[1, 2], [2, 9]]), np.asarray([1, 2, 3])).hist
    array([[1, 1],
           [0, 1]])
    """
    edges: Any = None if _is_number(bins) else bins
    given = bins if edges is None else None, range, density
    implementation, bins, range, dtype, shape = histogram.planned(_check_histogram, (x, weights, edges), *given)
    if edges is not None:
        _check_ascending("histogram", edges)
        x, bins = as_dtype(dtype, x, edges)
    return implementation(x, bins, range=range, weights=_spread(weights, shape), density=density)


@pluggable
def histogram_bin_edges(x: Array, /, bins: int = 10, *, range: tuple[float, float] | None = None) -> Array:
    """Compute the edges of bins of equal width for the values along the last axis.

    Arguments and errors are those of `histogram`; the result is its `edges`.

    Source: `numpy.histogram_bin_edges`, for rows.

    >>> import numpy as np
    >>> histogram_bin_edges(np.asarray([1.0, 3.0]), 4)
    array([1. , 1.5, 2. , 2.5, 3. ])
    """
    xp = checks.namespace_of("histogram_bin_edges", x=x)
    checks.integer("histogram_bin_edges", "bins", bins)
    bins, range, _ = _check_bins("histogram_bin_edges", xp, x, bins, range)
    return histogram_bin_edges.native(x)(x, bins, range=range)


@arguments_elsewhere()
@pluggable
def histogramdd(
    sample: Array,
    /,
    bins: int | Sequence[int | Array] = 10,
    *,
    range: Sequence[tuple[float, float] | None] | None = None,
    weights: Array | None = None,
    density: bool = False,
) -> HistogramDD:
    """Count the points in each bin of several dimensions, or add up their weights.

    Args:
        sample: Integers or real floating-point numbers of shape `(..., n, d)`: n points of d coordinates.
        bins: The number of bins along all dimensions; or a sequence with the number or the edges for each dimension,
            like `bins` of `histogram`.
        range: A sequence with the `range` of `histogram` for each dimension. None: None for all.
        weights: As for `histogram`, of a shape that broadcasts to `(..., n)`.
        density: As for `histogram`, with the bin's volume.

    Returns:
        `hist`, of shape `(..., bins along the first dimension, …)` and the data type that `histogram` would give, and
        `edges`, a tuple with the edges of each dimension.

    Raises:
        TypeError, ValueError: As for `histogram`; `bins` or `range` does not have one entry for each dimension.

    Source: `numpy.histogramdd`, for batches.

    >>> import numpy as np
    >>> histogramdd(np.asarray([[0.0, 0.0], [1.0, 3.0], [1.0, 4.0]]), (2, 2)).hist
    array([[1, 0],
           [0, 2]])
    """
    arrays = {"sample": sample} if weights is None else {"sample": sample, "weights": weights}
    xp = checks.namespace_of("histogramdd", **arrays)
    if sample.ndim < 2:
        raise ValueError(
            f"histogramdd: sample must have the shape (..., points, dimensions), got {tuple(sample.shape)}; for one "
            "dimension use `histogram`"
        )
    dimensions = checks.known_shape("histogramdd", "sample", sample)[-1]
    if not dimensions:
        raise ValueError(f"histogramdd: sample must have at least one dimension, got shape {tuple(sample.shape)}")
    all_bins = list(_for_each("bins", bins if isinstance(bins, (tuple, list)) else (bins,) * dimensions, dimensions))
    all_ranges = list(_for_each("range", (None,) * dimensions if range is None else range, dimensions))
    for i in builtins.range(dimensions):
        x, edges = sample[..., i], all_bins[i]
        all_bins[i], all_ranges[i], dtype = _check_bins("histogramdd", xp, x, edges, all_ranges[i])
        if not _is_number(edges):
            _check_ascending("histogramdd", edges)
            _, all_bins[i] = as_dtype(dtype, x, edges)
    shape = _check_weights("histogramdd", xp, sample, weights, tuple(sample.shape[:-1]))
    checks.boolean("histogramdd", "density", density)
    return histogramdd.native(sample, weights, *all_bins)(
        sample, all_bins, range=all_ranges, weights=_spread(weights, shape), density=density
    )


@pluggable
def digitize(x: Array, edges: Array, /, *, right: bool = False) -> Array:
    """Find the interval between edges that contains each value.

    Args:
        x: Integers or real floating-point numbers of any shape.
        edges: Values of shape `(m,)`, in ascending or descending order. If only one of the two arrays is
            floating-point, the other is converted to its data type.
        right: Whether an interval includes its larger edge instead of its smaller one.

    Returns:
        Integers of the shape of `x` and the library's data type for indices: the `i` with
        `edges[i - 1] <= x < edges[i]`, or `edges[i - 1] > x >= edges[i]` for descending edges; 0 before the first edge
        and `m` after the last. `right=True` exchanges `<` with `<=`, and `>` with `>=`. NaN counts as the largest
        value.

    Raises:
        TypeError: An argument is not an array, belongs to another library, or has another data type.
        ValueError: `edges` does not have one axis, or is not in order.

    Source: `numpy.digitize`.

    >>> import numpy as np
    >>> digitize(np.asarray([0.5, 1.0, 7.0]), np.asarray([0.0, 1.0, 2.0]))
    array([1, 2, 3])
    """
    implementation, dtype = digitize.planned(_check_digitize, (x, edges), right)
    x, edges = as_dtype(dtype, x, edges)
    if is_concrete(edges):
        xp = array_namespace(edges)
        with eager(xp):
            holds = bool(is_ascending(edges)) or bool(is_ascending(xp.flip(edges)))
        check(holds, "digitize: edges must be in ascending or descending order, without NaN; sort them with `xp.sort`")
    return implementation(x, edges, right=right)


def _check_bincount(
    function: str, x: Array, weights: Array | None, minlength: Any, length: Any, mode: Any
) -> tuple[int, int | None, tuple[int, ...] | None]:
    xp = _namespace(function, x, weights)
    checks.dtype(function, "x", xp, x, checks.INTEGERS)
    if x.ndim == 0:
        raise ValueError(f"{function}: x must have at least one axis, got an array of one value")
    shape = _check_weights(function, xp, x, weights, tuple(x.shape))
    minlength = checks.integer(function, "minlength", minlength, minimum=0)
    checks.choice(function, "mode", mode, MODES)
    if length is not None:
        length = checks.integer(function, "length", length, minimum=0)
        if minlength:
            raise ValueError(f"{function}: takes minlength or length, got both: {minlength} and {length}; omit one")
    return minlength, length, shape


def _check_histogram(
    function: str, x: Array, weights: Array | None, edges: Array | None, number: Any, range: Any, density: Any
) -> tuple[Any, tuple[float, float] | None, DType | None, tuple[int, ...] | None]:
    xp = _namespace(function, x, weights)
    bins, range, dtype = _check_bins(function, xp, x, number if edges is None else edges, range)
    shape = _check_weights(function, xp, x, weights, tuple(x.shape))
    checks.boolean(function, "density", density)
    return None if edges is not None else bins, range, dtype, shape


def _check_digitize(function: str, x: Array, edges: Array, right: Any) -> tuple[DType | None]:
    xp = checks.together(function, checks.REAL_VALUED, x=x, edges=edges)
    checks.boolean(function, "right", right)
    if edges.ndim != 1:
        raise ValueError(f"{function}: edges must have the shape (m,), got {tuple(edges.shape)}")
    return (comparable_dtype(function, xp, mixed=True, x=x, edges=edges),)


def _namespace(function: str, x: Array, weights: Array | None) -> Namespace:
    return checks.namespace_of(function, **({"x": x} if weights is None else {"x": x, "weights": weights}))


def _bincount_options(x: Array, minlength: int, length: int | None, mode: Mode | None) -> tuple[int | None, Mode]:
    """Complete the options that depend on the values. For the mode "raise", implementations find the length."""
    concrete = is_concrete(x)
    if length is None and not concrete:
        raise ValueError(
            "bincount: length must be given where the values of x aren't known (under jit or vmap, or in a lazy array),"
            " since it is the size of the result"
        )
    if mode is None:
        return length, "raise" if concrete else "drop"
    if length is None and mode != "raise":
        xp = array_namespace(x)
        with eager(xp):
            length = minlength if 0 in x.shape else max(int(xp.max(x)) + 1, minlength)
    has_none = length == 0 and 0 not in x.shape
    return length, checked_mode("bincount", "x", mode, "length", has_none=has_none, concrete=concrete)


def _check_weights(
    function: str, xp: Namespace, x: Array, weights: Array | None, shape: tuple[int, ...]
) -> tuple[int, ...] | None:
    """Check weights; return the shape to broadcast them to, or None if they already have it."""
    if weights is None:
        return None
    checks.one_device(function, x=x, weights=weights)
    checks.dtype(function, "weights", xp, weights, checks.NUMERIC)
    found = tuple(weights.shape)
    if found == shape:
        return None
    if not checks.broadcasts_to(found, shape):
        raise ValueError(
            f"{function}: weights must have a shape that broadcasts to {shape}, one for each value, got {found}"
        )
    return shape


def _spread(weights: Array | None, shape: tuple[int, ...] | None) -> Array | None:
    return weights if shape is None or weights is None else array_namespace(weights).broadcast_to(weights, shape)


def _is_number(bins: Any) -> bool:
    """Return whether bins are given by their number, not by edges."""
    return isinstance(bins, Number) or not hasattr(bins, "ndim")


@pluggable
def is_ascending(edges: Array, /) -> Array:
    """Return whether values are in ascending order along the last axis, without NaN: one boolean."""
    return is_ascending.native(edges)(edges)


def _check_ascending(function: str, edges: Array) -> None:
    if is_concrete(edges):
        with eager(array_namespace(edges)):
            holds = bool(is_ascending(edges))
        check(holds, f"{function}: edges must be in ascending order, without NaN; sort them with `xp.sort`")


def _check_bins(
    function: str, xp: Namespace, x: Array, bins: Any, range: Any
) -> tuple[Any, tuple[float, float] | None, DType | None]:
    """Check values and bins; return bins, range, and the data type to convert edges and values to, or None."""
    checks.dtype(function, "x", xp, x, checks.REAL_VALUED)
    shape = checks.known_shape(function, "x", x)
    if not shape:
        raise ValueError(f"{function}: x must have at least one axis, got an array of one value")
    if _is_number(bins):
        bins = checks.integer(function, "bins", bins, minimum=1)
        return bins, None if range is None else _range(function, range), None
    if range is not None:
        raise ValueError(f"{function}: range is for a number of bins, and edges were given; omit it")
    xp = checks.together(function, x=x, bins=bins)
    checks.dtype(function, "bins", xp, bins, checks.REAL_VALUED)
    edges = checks.known_shape(function, "bins", bins)
    if not edges or edges[-1] < 2 or (len(edges) > 1 and edges[:-1] != shape[:-1]):
        raise ValueError(
            f"{function}: bins must be a number or edges of shape (bins + 1,), at least two, or with the leading axes "
            f"of x too, whose shape is {shape}; got the shape {edges}"
        )
    return bins, None, comparable_dtype(function, xp, mixed=True, x=x, bins=bins)


def _range(function: str, range: Any) -> tuple[float, float]:
    try:
        low, high = (float(each) for each in range)
    except (TypeError, ValueError):
        raise TypeError(f"{function}: range must be a pair of Python numbers, got {range!r}") from None
    if not (math.isfinite(low) and math.isfinite(high - low) and low <= high):
        raise ValueError(f"{function}: range must be finite, the lower edge first, got ({low}, {high})")
    return (low, high) if low < high else (low - 0.5, high + 0.5)


def _for_each(name: str, values: Any, dimensions: int) -> Any:
    if not isinstance(values, (tuple, list)):
        raise TypeError(f"histogramdd: {name} must be a sequence with an entry for each dimension, got {values!r}")
    if len(values) != dimensions:
        raise ValueError(
            f"histogramdd: {name} must have an entry for each of the {dimensions} dimensions of sample, got "
            f"{len(values)}"
        )
    return values
