"""Arithmetic of sparse arrays with each other, with dense arrays and with numbers."""

from typing import Any, Final

from xpand.extend import Array, Scalar, checks, describe

from .. import arithmetic as operands
from ._containers import COO, Sparse, namespace_of
from ._convert import any_sparse, container, tocoo, todense, trimmed
from ._operands import (
    at_positions,
    by_coordinates,
    chosen,
    coo_of,
    over_entries,
    promoted,
    same_positions,
    with_batch_of,
    with_like_patterns,
    with_promises,
)
from ._pattern import along, are_concrete, eagerly, full, lookup, merge, merged_values, pattern_work
from ._structure import sort, sum_duplicates

_SCALARS: Final = operands.SCALARS


def add(a: Any, b: Any, /) -> Any:
    """Add two arrays, at least one of them sparse.

    Args:
        a: A container, or an array.
        b: A container, or an array. Two containers must have the same shape; only batch axes broadcast.

    Returns:
        For two containers, a container of their format, or COO if the formats differ; sorted and unique if both
        patterns are known. Otherwise (under jit with containers as arguments, and for lazy arrays) it has the entries
        of both, with duplicates. For a container and an array, an array.

    Raises:
        TypeError: Neither is sparse, one is a number, arrays of two libraries, or data types that don't promote.
        ValueError: Shapes that don't fit, or arrays on two devices.

    Source: `a + b` of SciPy's sparse arrays.

    >>> import numpy as np
    >>> from xpand_extensions.sparse import COO
    >>> a = COO(np.asarray([1.0, 2.0]), (np.asarray([0, 1]),), (3,))
    >>> b = COO(np.asarray([5.0]), (np.asarray([1]),), (3,))
    >>> add(a, b).todense()
    array([1., 7., 0.])
    >>> add(a, np.asarray([1.0, 1.0, 1.0]))
    array([2., 3., 1.])
    """
    a, b = _pair("add", a, b)
    if not isinstance(a, Sparse) or not isinstance(b, Sparse):
        return _dense_sum("add", a, b, 1)
    return _sum("add", a, b, 1)


def subtract(a: Any, b: Any, /) -> Any:
    """Subtract two arrays, at least one of them sparse: `a - b`. See `add`.

    >>> import numpy as np
    >>> from xpand_extensions.sparse import COO
    >>> a = COO(np.asarray([1.0, 2.0]), (np.asarray([0, 1]),), (3,))
    >>> subtract(a, a).values
    array([0., 0.])
    """
    a, b = _pair("subtract", a, b)
    if not isinstance(a, Sparse) or not isinstance(b, Sparse):
        return _dense_sum("subtract", a, b, -1)
    return _sum("subtract", a, b, -1)


def multiply(a: Any, b: Any, /) -> Any:
    """Multiply two arrays element by element, at least one of them sparse, or a sparse array by a number.

    Args:
        a: A container, an array or a number.
        b: The same. An array must broadcast to the sparse and dense axes of the container; it may have more batch axes.

    Returns:
        A container. For an array or a number it has the pattern of the container (without padding, for an array):
        elements that are not stored stay zero, also where the array is infinite or NaN. For two containers it has their
        format, or COO if the formats differ, and the positions that both have; if a pattern is unknown, the positions
        of `a`.

    Raises:
        TypeError: Neither is sparse, arrays of two libraries, or data types that don't promote.
        ValueError: Shapes that don't fit, or arrays on two devices.

    >>> import numpy as np
    >>> from xpand_extensions.sparse import COO
    >>> a = COO(np.asarray([1.0, 2.0]), (np.asarray([0, 1]),), (3,))
    >>> multiply(a, np.asarray([10.0, 20.0, 30.0])).values
    array([10., 40.])
    """
    if type(a) in _SCALARS:
        a, b = b, a
    a = any_sparse("multiply", "a", a)
    if type(b) in _SCALARS:
        return _scaled("multiply", container("multiply", a), b)
    b = any_sparse("multiply", "b", b)
    if not isinstance(a, Sparse):
        a, b = container("multiply", b, "b"), a
    if isinstance(b, Sparse):
        return _product(a, b)
    return _times_array("multiply", a, b)


def divide(a: Any, b: Any, /) -> Any:
    """Divide a sparse array by an array or a number, element by element.

    Args:
        a: A container of a floating-point data type.
        b: An array, which broadcasts to the sparse and dense axes of `a`, or a number.

    Returns:
        A container of the pattern of `a`: elements that are not stored stay zero, also where `b` is zero or NaN.

    Raises:
        TypeError: `a` is not sparse, `b` is sparse, integers, arrays of two libraries, or data types that don't
            promote.
        ValueError: Shapes that don't fit, or arrays on two devices.

    >>> import numpy as np
    >>> from xpand_extensions.sparse import COO
    >>> divide(COO(np.asarray([1.0, 2.0]), (np.asarray([0, 1]),), (3,)), 2.0).values
    array([0.5, 1. ])
    """
    if isinstance(b, Sparse) or (type(b) not in _SCALARS and isinstance(any_sparse("divide", "b", b), Sparse)):
        raise TypeError(
            "divide: b is sparse, so elements would be divided by zero; divide by `sparse.todense(b)`, or use "
            "`multiply` with the inverse of its values"
        )
    a = container("divide", a)
    checks.dtype("divide", "a", namespace_of(a), a.values, checks.FLOATING)
    return _scaled("divide", a, b) if type(b) in _SCALARS else _times_array("divide", a, b)


def _pair(function: str, a: Any, b: Any) -> tuple[Any, Any]:
    """Check the terms of a sum: numbers are refused, since they would also change elements that are not stored."""
    for name, x in (("a", a), ("b", b)):
        if type(x) in _SCALARS:
            raise TypeError(
                f"{function}: {name} is the number {x!r}, which would make every element nonzero; use "
                f"`sparse.todense`, or `sparse.map_values` to change only the stored values"
            )
    a, b = any_sparse(function, "a", a), any_sparse(function, "b", b)
    if not isinstance(a, Sparse) and not isinstance(b, Sparse):
        raise TypeError(f"{function}: takes at least one sparse array, got {describe(a)} and {describe(b)}")
    return a, b


def _numeric(function: str, a: Any, b: Any) -> None:
    for name, x in (("a", a), ("b", b)):
        values = x.values if isinstance(x, Sparse) else x
        xp = checks.namespace_of(function, **{name: values})
        checks.dtype(function, name, xp, values, checks.NUMERIC)


def _dense_sum(function: str, a: Any, b: Any, sign: int) -> Array:
    _numeric(function, a, b)
    x, y = todense(a), todense(b)
    xp = checks.namespace_of(function, a=x, b=y)
    checks.one_device(function, a=x, b=y)
    x, y = checks.promote(function, xp, a=x, b=y)
    checks.broadcast_shapes(function, a=tuple(x.shape), b=tuple(y.shape))
    # No operators here: those of array-api-strict refuse traced arrays.
    total: Array = xp.add(x, y) if sign > 0 else xp.subtract(x, y)
    return total


def _sum(function: str, a: Sparse, b: Sparse, sign: int) -> Any:
    _numeric(function, a, b)
    a, b = promoted(function, a, b)
    if sign < 0:
        b = b._replace(-b.values)
    if same_positions(a, b):
        return with_promises(a, b, a.values + b.values)
    return by_coordinates(_union, a, b)


def _union(a: COO, b: COO) -> COO:
    a, b = with_like_patterns(a, b)
    xp = namespace_of(a)
    joined = xp.concat([a.values, b.values], axis=a.batch_ndim)
    sizes = a._sparse_shape

    def work(*given: Array) -> tuple[Array, ...]:
        half = len(sizes)
        names = checks.namespace_of("add", a=given[0], b=given[half])
        return tuple(names.concat(each, axis=-1) for each in zip(given[:half], given[half:]))

    coords = pattern_work(work, *a.coords, *b.coords)
    if not are_concrete(*coords):
        return coo_of(joined, coords, sizes, dense_ndim=a.dense_ndim)
    plan = merge(coords, sizes)
    values = merged_values(joined, plan, a.batch_ndim)
    return coo_of(values, plan.coords, sizes, is_sorted=True, is_unique=True, dense_ndim=a.dense_ndim)


def _product(a: Sparse, b: Sparse) -> Any:
    _numeric("multiply", a, b)
    a, b = promoted("multiply", a, b)
    # A product of sums is not the sum of the entries' products.
    a, b = sum_duplicates(a), sum_duplicates(b)
    if same_positions(a, b):
        return with_promises(a, b, a.values * b.values)
    return by_coordinates(lambda x, y: _intersection(sort(x), sort(y)), a, b)


def _scaled(function: str, a: Sparse, number: Scalar) -> Sparse:
    xp = namespace_of(a)
    checks.dtype(function, "a", xp, a.values, checks.NUMERIC)
    factor = operands.cast(function, "b", xp, number, a.values)
    return a._replace(a.values * factor if function == "multiply" else a.values / factor)


def _times_array(function: str, a: Sparse, x: Array) -> Sparse:
    _numeric(function, a, x)
    xp = checks.namespace_of(function, a=a.values, b=x)
    checks.one_device(function, a=a.values, b=x)
    a = a if isinstance(a, COO) else trimmed(a)  # padding has no position, and so no factor
    values, x = checks.promote(function, xp, a=a.values, b=x)
    a = with_batch_of(function, a._replace(values), x)
    factors = at_positions(function, a, tocoo(a).coords if x.ndim else (), x)
    return a._replace(a.values * factors if function == "multiply" else a.values / factors)


def _intersection(a: COO, b: COO) -> COO:
    """Multiply sorted arrays without duplicates element by element.

    If patterns are unknown, or differ among batch elements, the result has the positions of `a`.
    """
    a, b = with_like_patterns(a, b)
    xp = namespace_of(a)
    if not b.nse:
        return chosen(a, lambda *coords: coords[0] < full(coords[0], 0))
    locations, met = lookup(b.coords, a.coords, a._sparse_shape)
    if met.ndim == 1 and are_concrete(met):
        a = chosen(a, lambda met, *coords: met, met)
        locations = eagerly(lambda locations, met: locations[met], locations, met)
        return a._replace(a.values * along(b.values, locations, b.batch_ndim))
    there = over_entries(a, met)
    # Mask both: the derivative of an unused product must not be infinity times zero.
    left, right = a.values, along(b.values, locations, b.batch_ndim)
    return a._replace(xp.where(there, left, full(left, 0)) * xp.where(there, right, full(right, 0)))
