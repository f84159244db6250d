"""Arrays as sets of values."""

import math
from typing import Any, Final

from . import _arguments
from ._arguments import device_of
from ._namespace import is_concrete, is_lazy
from .typing import Array, DType, Namespace, Scalar

__all__ = ["intersect1d", "nunique", "setdiff1d", "setxor1d", "union1d"]
__dir__ = __all__.copy


def nunique(x: Array, /) -> Array:
    """Count the different elements of an array, as an integer array of shape (). Each NaN counts as different.

    The function works under `jit`, except for complex numbers, which cannot be sorted.

    Raises:
        TypeError: `x` is not an array.

    Source: `array_api_extra.nunique`.

    >>> import numpy as np
    >>> int(nunique(np.asarray([3, 1, 3, 2])))
    3
    """
    xp = _arguments.namespace_of("nunique", x=x)
    dtype = _index_dtype(xp, x)
    flat = xp.reshape(x, (-1,))
    kind = _arguments.kind(xp, x.dtype)
    if not flat.shape[0]:
        return xp.zeros((), dtype=dtype, device=device_of(x))
    if kind == "complex":
        return xp.asarray(xp.unique_values(flat).shape[0], dtype=dtype, device=device_of(x))
    if kind == "bool":
        return xp.astype(xp.any(flat), dtype) + xp.astype(~xp.all(flat), dtype)
    ordered = xp.sort(flat, stable=False)
    return xp.sum(xp.astype(ordered[1:] != ordered[:-1], dtype), dtype=dtype) + 1


def union1d(a: Array, b: Array, /, *, size: int | None = None, fill_value: Scalar | None = None) -> Array:
    """Return the values that are in at least one of two arrays, each once, in ascending order.

    Args:
        a: An array of any shape.
        b: An array of any shape.
        size: The number of values to return. The shape of the result then does not depend on values, as jit and vmap
            require. If there are more, the first ones are returned. If there are fewer, `fill_value` is appended.
        fill_value: A Python scalar for missing values up to `size`. None: the first value, or zero if there is none.

    Returns:
        An array with one axis, of the promoted data type. Each NaN is a value of its own. Without `size`, values must
        be concrete, and lazy arrays have results of unknown sizes.

    Raises:
        TypeError: An argument is not an array, the arrays belong to two libraries, `fill_value` doesn't promote to
            their data type, or `size` is given for complex numbers under tracing.
        ValueError: The arrays lie on two devices; `size` is omitted under tracing; `fill_value` is given without
            `size`.

    Source: `numpy.union1d`, `array_api_extra.union1d`; `jax.numpy.union1d` for `size`.

    >>> import numpy as np
    >>> union1d(np.asarray([3, 1]), np.asarray([[1, 2]]))
    array([1, 2, 3])
    >>> union1d(np.asarray([3, 1]), np.asarray([1, 2]), size=4, fill_value=0)
    array([1, 2, 3, 0])
    """
    return _combined("union1d", {"a": a, "b": b}, size, fill_value)


def intersect1d(
    x1: Array,
    x2: Array,
    /,
    *,
    assume_unique: bool = False,
    return_indices: bool = False,
    size: int | None = None,
    fill_value: Scalar | None = None,
) -> Any:
    """Return the values that are in both of two arrays, each once, in ascending order.

    Args:
        x1: An array of any shape.
        x2: An array of any shape.
        assume_unique: A promise that no value occurs twice in `x1`, or twice in `x2`, which saves a step.
        return_indices: Whether to return the positions of the values too.
        size: As in `union1d`.
        fill_value: As in `union1d`.

    Returns:
        An array with one axis, of the promoted data type. NaN equals no value. With `return_indices`, a tuple of it and
        of the positions of the first occurrences in the flattened `x1` and `x2`: integers of the library's data type
        for indices. Missing ones up to `size` are 0. Without `size`, values must be concrete, and lazy arrays have
        results of unknown sizes.

    Raises:
        TypeError: As for `union1d`.
        ValueError: As for `union1d`; or `return_indices` for lazy arrays of unknown sizes.

    Source: `numpy.intersect1d`; `jax.numpy.intersect1d` for `size`.

    >>> import numpy as np
    >>> intersect1d(np.asarray([3, 1, 3, 2]), np.asarray([2, 3, 5]))
    array([2, 3])
    """
    _arguments.boolean("intersect1d", "assume_unique", assume_unique)
    _arguments.boolean("intersect1d", "return_indices", return_indices)
    return _combined("intersect1d", {"x1": x1, "x2": x2}, size, fill_value, assume_unique, return_indices)


def setxor1d(
    x1: Array,
    x2: Array,
    /,
    *,
    assume_unique: bool = False,
    size: int | None = None,
    fill_value: Scalar | None = None,
) -> Array:
    """Return the values that are in exactly one of two arrays, each once, in ascending order.

    Arguments, result and errors are those of `union1d`, and `assume_unique` is as in `intersect1d`.

    Source: `numpy.setxor1d`; `jax.numpy.setxor1d` for `size`.

    >>> import numpy as np
    >>> setxor1d(np.asarray([3, 1, 3, 2]), np.asarray([2, 3, 5]))
    array([1, 5])
    """
    _arguments.boolean("setxor1d", "assume_unique", assume_unique)
    return _combined("setxor1d", {"x1": x1, "x2": x2}, size, fill_value, assume_unique)


def setdiff1d(
    x1: Array,
    x2: Array,
    /,
    *,
    assume_unique: bool = False,
    size: int | None = None,
    fill_value: Scalar | None = None,
) -> Array:
    """Return the values of one array that are not in another.

    Args:
        x1: The values to select from, of any shape.
        x2: The values to exclude, of any shape.
        assume_unique: A promise that no value of `x1` occurs twice. The result then has the order of `x1`; by default,
            it has ascending order.
        size: As in `union1d`.
        fill_value: As in `union1d`.

    Returns:
        An array with one axis, of the promoted data type. NaN equals no value.

    Raises:
        TypeError: As for `union1d`.
        ValueError: As for `union1d`.

    Source: `numpy.setdiff1d`, `array_api_extra.setdiff1d`; `jax.numpy.setdiff1d` for `size`.

    >>> import numpy as np
    >>> setdiff1d(np.asarray([3, 1, 3, 2]), np.asarray([1, 5]))
    array([2, 3])
    """
    _arguments.boolean("setdiff1d", "assume_unique", assume_unique)
    return _combined("setdiff1d", {"x1": x1, "x2": x2}, size, fill_value, assume_unique)


def _combined(
    name: str,
    arrays: dict[str, Array],
    size: int | None,
    fill_value: Scalar | None,
    assume_unique: bool = False,
    return_indices: bool = False,
) -> Any:
    """Check the arguments of a function of two sets, and compute it."""
    xp = _arguments.together(name, **arrays)
    dtype = xp.result_type(*arrays.values())
    x1, x2 = (xp.astype(xp.reshape(x, (-1,)), dtype, copy=False) for x in arrays.values())
    kind = _arguments.kind(xp, dtype)
    if size is not None:
        size = _arguments.integer(name, "size", size, minimum=0)
        if kind == "complex":
            raise TypeError(
                f"{name}: size is not available for complex numbers, got {dtype}; `xpand.sorting.unique` "
                "takes it for one array"
            )
    elif fill_value is not None:
        raise ValueError(f"{name}: fill_value is for missing values; give size too")
    elif not is_lazy(xp) and not (is_concrete(x1) and is_concrete(x2)):
        raise ValueError(
            f"{name}: size must be given where the values of arrays aren't known (under jit or vmap), since it is the "
            "size of the result"
        )
    if fill_value is not None:
        _arguments.castable(name, "fill_value", xp, fill_value, x1, "the result's")
    if kind == "complex":
        values, numbers = xp.unique_inverse(xp.concat([x1, x2]))
        x1, x2 = numbers[: x1.shape[0]], numbers[x1.shape[0] :]
    elif kind == "bool":
        x1, x2 = (xp.astype(x, xp.uint8) for x in (x1, x2))
    if name == "setxor1d" and not assume_unique and size is None and not is_lazy(xp):
        # Removing duplicates first takes less time than two searches.
        (x1, new1), (x2, new2) = _distinct(xp, x1, False), _distinct(xp, x2, False)
        x1, x2, assume_unique = x1[new1], x2[new2], True
    results = list(_FUNCTIONS[name](xp, x1, x2, assume_unique, return_indices))
    mask = results.pop(0)
    if size is None:
        results = [x if mask is None else x[mask] for x in results]
    else:
        results = _first_ones(xp, mask, results, size, fill_value)
    if kind == "complex":
        results[0] = xp.take(values, results[0])
    elif kind == "bool":
        results[0] = xp.astype(results[0], xp.bool)
    return tuple(results) if return_indices else results[0]


def _union(xp: Namespace, x1: Array, x2: Array, assume_unique: bool, return_indices: bool) -> tuple[Any, ...]:
    values, new = _distinct(xp, xp.concat([x1, x2]), False)
    return new, values


def _intersection(xp: Namespace, x1: Array, x2: Array, assume_unique: bool, return_indices: bool) -> tuple[Any, ...]:
    if not return_indices:
        values, new = _distinct(xp, x1, assume_unique)
        return _both(new, _contains(xp, x2, values)), values
    for name, x in (("x1", x1), ("x2", x2)):
        _arguments.known_shape("intersect1d", name, x)
    first, second = xp.argsort(x1), xp.argsort(x2)
    values, others = xp.take(x1, first), xp.take(x2, second)
    new = None if assume_unique else _is_new(xp, values)
    mask = _both(new, _is_among(xp, others, values))
    if not x2.shape[0]:
        return mask, values, first, first
    return mask, values, first, xp.take(second, _positions(xp, others, values))


def _difference(xp: Namespace, x1: Array, x2: Array, assume_unique: bool, return_indices: bool) -> tuple[Any, ...]:
    values, new = (x1, None) if assume_unique else _distinct(xp, x1, False)
    return _both(new, ~_contains(xp, x2, values)), values


def _exclusive(xp: Namespace, x1: Array, x2: Array, assume_unique: bool, return_indices: bool) -> tuple[Any, ...]:
    values, new = _distinct(xp, xp.concat([x1, x2]), False)
    if assume_unique and new is not None and values.shape[0]:  # a value occurs at most twice
        return new & xp.concat([new[1:], xp.ones_like(new[:1])]), values
    common = _contains(xp, x1, values) & _contains(xp, x2, values)
    return _both(new, ~common), values


_FUNCTIONS: Final = {
    "union1d": _union,
    "intersect1d": _intersection,
    "setdiff1d": _difference,
    "setxor1d": _exclusive,
}
"""Each returns a mask, None for all, and the arrays from which it selects: ascending values, and their positions."""


def _distinct(xp: Namespace, x: Array, assume_unique: bool) -> tuple[Array, Array | None]:
    """Sort values; return them, and the mask of the first ones of equal values: None if all differ."""
    if is_lazy(xp):  # Dask can't compare neighbours without the size, and removes duplicates block by block
        return xp.unique_values(x), None
    values = xp.sort(x, stable=False)
    return values, None if assume_unique else _is_new(xp, values)


def _is_new(xp: Namespace, values: Array) -> Array:
    """Return whether each sorted value differs from the one before."""
    first = xp.ones((min(values.shape[0], 1),), dtype=xp.bool, device=device_of(values))
    return xp.concat([first, values[1:] != values[:-1]]) if values.shape[0] else first


def _both(mask: Array | None, other: Array) -> Array:
    return other if mask is None else mask & other


def _contains(xp: Namespace, others: Array, values: Array) -> Array:
    """Return whether each value is among others."""
    if is_lazy(xp):
        return xp.isin(values, others)  # on Dask, it takes all data types, and works block by block
    return _is_among(xp, xp.sort(others, stable=False), values)


def _is_among(xp: Namespace, ordered: Array, values: Array) -> Array:
    """Return whether each value is among sorted ones."""
    if not ordered.shape[0]:
        return xp.zeros_like(values, dtype=xp.bool)
    return xp.take(ordered, _positions(xp, ordered, values)) == values


def _positions(xp: Namespace, ordered: Array, values: Array) -> Array:
    """Return the position of each value among sorted ones; any position if it is not there."""
    if _arguments.kind(xp, ordered.dtype) == "real":
        # Not all libraries search among NaN. Infinities come first.
        ordered = xp.where(xp.isnan(ordered), math.inf, ordered)
    found = xp.searchsorted(ordered, values)
    return xp.minimum(found, xp.full_like(found, ordered.shape[0] - 1))


def _first_ones(
    xp: Namespace, mask: Array | None, arrays: list[Array], size: int, fill_value: Scalar | None
) -> list[Array]:
    """Select the first `size` elements from the values and their positions, and fill missing ones."""
    values = arrays[0]
    device = device_of(values)
    dtype = _index_dtype(xp, values)
    number = xp.astype(xp.ones_like(values, dtype=xp.bool) if mask is None else mask, dtype)
    wanted = xp.arange(1, size + 1, dtype=dtype, device=device)
    # Missing values get the position after the last one, which has the value to fill in.
    count = xp.sum(number)
    index = xp.searchsorted(xp.cumulative_sum(number), xp.minimum(wanted, count + 1))
    results = []
    for x in arrays:
        fill = fill_value if x is values and fill_value is not None else 0
        end = xp.full((1,), int(fill) if isinstance(fill, bool) else fill, dtype=x.dtype, device=device)
        found = index
        if x is values and fill_value is None:
            found = xp.where(wanted <= count, index, index[: min(size, 1)])
        results.append(xp.take(xp.concat([x, end]), found))
    return results


def _index_dtype(xp: Namespace, x: Array) -> DType:
    found: DType = xp.__array_namespace_info__().default_dtypes(device=device_of(x))["indexing"]
    return found
