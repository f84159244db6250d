"""How many values there are of each integer, or in each bin: counts, weighted sums and densities, batched.

Bins are half-open, `edges[i] <= x < edges[i + 1]`, but for the last one, which holds its right edge too. Values in no
bin, NaN among them, are not counted. Equally spaced bins are found by arithmetic, and yet exactly as by a search.
"""

import builtins
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from xpand import check, is_concrete
from xpand.extend import Array, Namespace, checks

from ._bounds import MODES, Mode
from ._dispatch import pluggable
from ._dtypes import comparable

__all__ = ["Histogram", "HistogramDD", "bincount", "digitize", "histogram", "histogram_bin_edges", "histogramdd"]


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
        minlength: The least length of the result, where `length` isn't given.
        length: The length of the result, which makes its shape independent of the values. None: one more than the
            largest value, whose values must be known then.
        mode: The treatment of values below 0 or from `length` on: "raise" an `IndexError`, "drop" them (or "fill",
            which means the same here), "clip" them to 0 or `length - 1`, or "wrap" them around. None: "raise" where the
            values are known, else "drop".

    Returns:
        Shape `(..., length)`. Without weights, integers of the library's data type for indices; else of the data type
        of the weights, in which they are differentiable (integers wrap around where their sum is too large).

    Raises:
        TypeError: An argument is no array, of another library, or of another data type.
        IndexError: A value is out of bounds.
        ValueError: Shapes don't fit; both `minlength` and `length` are given; `length` isn't under tracing.

    Source: `numpy.bincount`, with `length` as in `jax.numpy.bincount`, and PhiML's `batched_bincount`.

    >>> import numpy as np
    >>> bincount(np.asarray([0, 2, 2, 5]), length=4, mode="drop")
    array([1, 0, 2, 0])
    >>> bincount(np.asarray([[0, 1], [1, 1]]), weights=np.asarray([0.5, 2.0]))
    array([[0.5, 2. ],
           [0. , 2.5]])
    """
    arrays = {"x": x} if weights is None else {"x": x, "weights": weights}
    xp = checks.namespace_of("bincount", **arrays)
    checks.dtype("bincount", "x", xp, x, checks.INTEGERS)
    if x.ndim == 0:
        raise ValueError("bincount: x must have at least one axis, got an array of one value")
    if weights is not None:
        weights = _weights("bincount", xp, x, weights, tuple(x.shape))
    if minlength != 0:
        minlength = checks.integer("bincount", "minlength", minlength, minimum=0)
    if mode is not None:
        checks.choice("bincount", "mode", mode, MODES)
    if length is not None:
        length = checks.integer("bincount", "length", length, minimum=0)
        if minlength:
            raise ValueError(f"bincount: takes minlength or length, got both: {minlength} and {length}; leave one out")
    return bincount.native(x, weights)(
        x, weights=weights, minlength=minlength, length=length, mode=_bincount_mode(x, length, mode)
    )


@pluggable
def histogram(
    x: Array,
    bins: int | Array = 10,
    /,
    *,
    range: tuple[float, float] | None = None,
    weights: Array | None = None,
    density: bool = False,
) -> Histogram:
    """Count the values in each bin, or add up their weights, along the last axis.

    Args:
        x: Integers or real floating-point numbers of shape `(..., n)`.
        bins: The number of bins, of equal width; or their edges, in ascending order: an array of shape `(bins + 1,)`,
            or `(..., bins + 1)` for different ones in each row of `x`, whose data type is then that of the comparison
            (where only one of `x` and the edges is floating-point, the other is converted to its data type).
        range: With a number of bins, the lowest and the highest edge, as Python numbers; half a unit is left on both
            sides where they are equal. None: the smallest and the largest value of each row, 0 and 1 where there are
            none.
        weights: The weight of each value, real or complex, of a shape that broadcasts to that of `x`. None: 1.
        density: Whether to divide by the total in all bins and the bin's width, so that the integral is 1. It is NaN
            where the total is zero.

    Returns:
        `hist`, of shape `(..., bins)`: integers of the library's data type for indices, or of the data type of the
        weights, or, for a density, floating-point. And `edges`: those given; `(bins + 1,)` for a `range`; else
        `(..., bins + 1)`. Their data type is that of `x`, or float64 (the library's default where it has none) for
        integers. `hist` is differentiable in the weights.

    Raises:
        TypeError: An argument is no array, of another library, or of another data type or type.
        ValueError: Shapes don't fit; edges are not in ascending order; the range, or the values it is taken from, is
            not finite, or too narrow for so many bins. (Under tracing, conditions on values aren't checked.)

    Source: `numpy.histogram`, for rows; PhiML's `histogram1d`.

    >>> import numpy as np
    >>> histogram(np.asarray([0.0, 0.5, 1.0, 2.0]), 4)
    Histogram(hist=array([1, 1, 1, 1]), edges=array([0. , 0.5, 1. , 1.5, 2. ]))
    >>> histogram(np.asarray([[1, 2], [2, 9]]), np.asarray([1, 2, 3])).hist
    array([[1, 1],
           [0, 1]])
    """
    arrays = {"x": x} if weights is None else {"x": x, "weights": weights}
    xp = checks.namespace_of("histogram", **arrays)
    x, bins, range = _binned("histogram", xp, x, bins, range)
    if weights is not None:
        weights = _weights("histogram", xp, x, weights, tuple(x.shape))
    checks.boolean("histogram", "density", density)
    return histogram.native(x, bins, weights)(x, bins, range=range, weights=weights, density=density)


@pluggable
def histogram_bin_edges(x: Array, bins: int = 10, /, *, range: tuple[float, float] | None = None) -> Array:
    """Compute the edges of bins of equal width for the values along the last axis.

    Arguments and errors are those of `histogram`; the result is the `edges` of its.

    Source: `numpy.histogram_bin_edges`, for rows.

    >>> import numpy as np
    >>> histogram_bin_edges(np.asarray([1.0, 3.0]), 4)
    array([1. , 1.5, 2. , 2.5, 3. ])
    """
    xp = checks.namespace_of("histogram_bin_edges", x=x)
    checks.integer("histogram_bin_edges", "bins", bins)
    x, bins, range = _binned("histogram_bin_edges", xp, x, bins, range)
    return histogram_bin_edges.native(x)(x, bins, range=range)


@pluggable
def histogramdd(
    sample: Array,
    bins: int | Sequence[int | Array] = 10,
    /,
    *,
    range: Sequence[tuple[float, float] | None] | None = None,
    weights: Array | None = None,
    density: bool = False,
) -> HistogramDD:
    """Count the points in each bin of several dimensions, or add up their weights.

    Args:
        sample: Integers or real floating-point numbers of shape `(..., n, d)`: n points of d coordinates.
        bins: The number of bins along all dimensions; or a sequence that gives for each the number or the edges, as
            `bins` of `histogram` does.
        range: For each dimension, as `range` of `histogram`. None: None for all.
        weights: As of `histogram`, of a shape that broadcasts to `(..., n)`.
        density: As of `histogram`, with the bin's volume.

    Returns:
        `hist`, of shape `(..., bins along the first dimension, …)` and the data type that `histogram` would give, and
        `edges`, a tuple with those of each dimension.

    Raises:
        TypeError, ValueError: As `histogram`; there isn't one entry in `bins` or `range` for each dimension.

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
    all_bins = _for_each("bins", bins if isinstance(bins, (tuple, list)) else (bins,) * dimensions, dimensions)
    all_ranges = _for_each("range", (None,) * dimensions if range is None else range, dimensions)
    checked = [
        _binned("histogramdd", xp, sample[..., i], all_bins[i], all_ranges[i]) for i in builtins.range(dimensions)
    ]
    if weights is not None:
        weights = _weights("histogramdd", xp, sample, weights, tuple(sample.shape[:-1]))
    checks.boolean("histogramdd", "density", density)
    all_bins = [each[1] for each in checked]
    return histogramdd.native(sample, weights, *all_bins)(
        sample, all_bins, range=[each[2] for each in checked], weights=weights, density=density
    )


@pluggable
def digitize(x: Array, edges: Array, /, *, right: bool = False) -> Array:
    """Find which of the intervals between edges each value is in.

    Args:
        x: Integers or real floating-point numbers of any shape.
        edges: Values of shape `(m,)`, in ascending or descending order. Where only one of the two arrays is
            floating-point, the other is converted to its data type.
        right: Whether intervals hold the larger of their edges, in place of the smaller.

    Returns:
        Integers of the shape of `x` and the library's data type for indices: the `i` with
        `edges[i - 1] <= x < edges[i]`, or `edges[i - 1] > x >= edges[i]` where they descend (with `right=True`, `<` and
        `<=` are exchanged, as are `>` and `>=`); 0 before the first edge and `m` after the last. NaN counts as the
        largest value.

    Raises:
        TypeError: An argument is no array, of another library, or of another data type.
        ValueError: `edges` has not one axis, or no order.

    Source: `numpy.digitize`.

    >>> import numpy as np
    >>> digitize(np.asarray([0.5, 1.0, 7.0]), np.asarray([0.0, 1.0, 2.0]))
    array([1, 2, 3])
    """
    xp = checks.namespace_of("digitize", x=x, edges=edges)
    checks.one_device("digitize", x=x, edges=edges)
    checks.dtype("digitize", "x", xp, x, checks.REAL_VALUED)
    checks.dtype("digitize", "edges", xp, edges, checks.REAL_VALUED)
    checks.boolean("digitize", "right", right)
    if edges.ndim != 1:
        raise ValueError(f"digitize: edges must have the shape (m,), got {tuple(edges.shape)}")
    x, edges = comparable("digitize", xp, mixed=True, x=x, edges=edges)
    if is_concrete(edges):
        ascending = xp.sort(edges)
        check(
            bool(xp.all(xp.equal(edges, ascending))) or bool(xp.all(xp.equal(edges, xp.flip(ascending)))),
            "digitize: edges must be in ascending or descending order, without NaN; sort them with `xp.sort`",
        )
    return digitize.native(x, edges)(x, edges, right=right)


def _bincount_mode(x: Array, length: int | None, mode: Mode | None) -> Mode:
    """Choose a mode if none is given; refuse one that needs values where these are unknown."""
    concrete = is_concrete(x)
    if length is None and not concrete:
        raise ValueError(
            "bincount: length must be given where the values of x aren't known (under jit or vmap, or in a lazy array),"
            " since it is the size of the result"
        )
    if mode == "raise" and not concrete:
        raise ValueError(
            "bincount: mode='raise' needs the values of x, which aren't known here (under jit or vmap, or in a lazy "
            "array); leave mode out to have those out of bounds dropped, or choose 'drop', 'clip' or 'wrap'"
        )
    if length == 0 and mode in ("clip", "wrap") and 0 not in x.shape:
        raise IndexError(f"bincount: mode={mode!r} has no place to move values to: length is 0")
    if mode is None:
        return "raise" if concrete else "drop"
    return "drop" if mode == "fill" else mode


def _weights(function: str, xp: Namespace, x: Array, weights: Array, shape: tuple[int, ...]) -> Array:
    """Check weights, and return them with the shape of the weighted values."""
    checks.one_device(function, x=x, weights=weights)
    checks.dtype(function, "weights", xp, weights, checks.NUMERIC)
    found = tuple(weights.shape)
    if found == shape:
        return weights
    tail = shape[len(shape) - len(found) :]
    if len(found) > len(shape) or any(a not in (1, b) for a, b in zip(found, tail)):
        raise ValueError(
            f"{function}: weights must have a shape that broadcasts to {shape}, one for each value, got {found}"
        )
    return xp.broadcast_to(weights, shape)


def _binned(function: str, xp: Namespace, x: Array, bins: Any, range: Any) -> tuple[Array, Any, Any]:
    """Check values and their bins; edges and values are of one data type then."""
    checks.dtype(function, "x", xp, x, checks.REAL_VALUED)
    shape = checks.known_shape(function, "x", x)
    if not shape:
        raise ValueError(f"{function}: x must have at least one axis, got an array of one value")
    if not hasattr(bins, "ndim") or (bins.ndim == 0 and not hasattr(bins, "__array_namespace__")):
        bins = checks.integer(function, "bins", bins, minimum=1)
        return x, bins, None if range is None else _range(function, range)
    if range is not None:
        raise ValueError(f"{function}: range is for a number of bins, which edges were given in place of; leave it out")
    xp = checks.namespace_of(function, x=x, bins=bins)
    checks.one_device(function, x=x, bins=bins)
    checks.dtype(function, "bins", xp, bins, checks.REAL_VALUED)
    edges = checks.known_shape(function, "bins", bins)
    if not edges or edges[-1] < 2 or (len(edges) > 1 and edges[:-1] != shape[:-1]):
        raise ValueError(
            f"{function}: bins must be a number or edges of shape (bins + 1,), at least two, or with the leading axes "
            f"of x too, whose shape is {shape}; got the shape {edges}"
        )
    if is_concrete(bins):
        check(
            xp.all(xp.equal(bins, xp.sort(bins, axis=-1))),
            f"{function}: edges must be in ascending order, without NaN; sort them with `xp.sort`",
        )
    x, bins = comparable(function, xp, mixed=True, x=x, bins=bins)
    return x, bins, None


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
