"""Operands and results of functions on containers: shapes, data types, patterns and formats."""

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from xpand import array_namespace, library_name
from xpand.extend import Array, Namespace, checks, describe

from .._bounds import index_dtype
from .._dispatch import in_one_namespace
from ._containers import COO, Sparse, namespace_of
from ._convert import Format, convert, matrix_transpose, tocoo
from ._pattern import along, are_concrete, bounded, eagerly, full, joined_index, pattern_work


def same_positions(a: Sparse, b: Sparse) -> bool:
    """Return whether two containers are known to have the same entries, in the same order."""
    if a.format != b.format or a._sparse_shape != b._sparse_shape:
        return False
    if all(x is y for x, y in zip(a.pattern, b.pattern)):
        return True
    pairs = list(zip(a.pattern, b.pattern))
    if any(tuple(x.shape) != tuple(y.shape) for x, y in pairs) or not are_concrete(*a.pattern, *b.pattern):
        return False
    return all(eagerly(lambda x, y: bool(array_namespace(x, y).all(x == y)), x, y) for x, y in pairs)


def with_promises(a: Sparse, b: Sparse, values: Array) -> Any:
    """Return a container with new values at the common positions of two containers, and the promises of both."""
    found = type(a)._of(values, a.pattern, a._static(), a.plan)
    found._is_sorted, found._is_unique = a.is_sorted or b.is_sorted, a.is_unique or b.is_unique
    return found


def common_namespace(function: str, a: Sparse, b: Sparse) -> Namespace:
    """Return the namespace that the values of two containers share.

    Raises:
        TypeError: The containers belong to two libraries.
    """
    try:
        return checks.namespace_of(function, a=a.values, b=b.values)
    except TypeError:
        raise TypeError(
            f"{function}: takes sparse arrays of one library, got a, a {a.format.upper()} with values in "
            f"{describe(a.values)}, and b, a {b.format.upper()} with values in {describe(b.values)}; convert one to "
            f"the other's library first, such as `convert(b, {library_name(namespace_of(a))!r})` of "
            "`xpand.convert`"
        ) from None


def promoted(function: str, a: Sparse, b: Sparse) -> tuple[Any, Any]:
    """Convert two containers to one data type and the same batch axes.

    Raises:
        TypeError: Two libraries, or data types that don't promote.
        ValueError: Shapes that don't fit, or two devices.
    """
    xp = common_namespace(function, a, b)
    checks.one_device(function, a=a.values, b=b.values)
    axes = (a.sparse_ndim, a.dense_ndim)
    if a._sparse_shape != b._sparse_shape or axes != (b.sparse_ndim, b.dense_ndim) or _dense(a) != _dense(b):
        raise ValueError(
            f"{function}: takes sparse arrays of one shape (batch axes may differ), got {a!r} and {b!r} with "
            f"{a.dense_ndim} and {b.dense_ndim} dense axes"
        )
    batch = checks.broadcast_shapes(function, a=batch_of(a), b=batch_of(b))
    x, y = checks.promote(function, xp, a=a.values, b=b.values)
    x, y = in_one_namespace(x, y)
    return spread(a, x, batch), spread(b, y, batch)


def _dense(a: Sparse) -> tuple[int, ...]:
    return tuple(a.values.shape[a.batch_ndim + 1 :])


def batch_of(a: Sparse) -> tuple[int, ...]:
    """Return the sizes of a container's batch axes."""
    return tuple(a.values.shape[: a.batch_ndim])


def spread(a: Sparse, values: Array, batch: tuple[int, ...]) -> Sparse:
    """Broadcast a container over batch axes; a common pattern is not repeated."""
    xp = namespace_of(a)
    if batch_of(a) != batch:
        values = xp.broadcast_to(values, (*batch, a.nse, *_dense(a)))
    pattern = tuple(xp.broadcast_to(x, (*batch, x.shape[-1])) if x.ndim > 1 else x for x in a.pattern)
    return type(a)._of(values, pattern, a._static(), a.plan)


def with_like_patterns(a: COO, b: COO) -> tuple[COO, COO]:
    """Give each lane of both arrays its own pattern, if one array has several patterns."""
    return _with_pattern_ndim(a, b.coords[0].ndim), _with_pattern_ndim(b, a.coords[0].ndim)


def _with_pattern_ndim(a: COO, ndim: int) -> COO:
    return a if a.coords[0].ndim >= ndim else with_own_patterns(a)


def with_own_patterns(a: Any) -> Any:
    """Give each lane its own pattern."""
    batch = batch_of(a)
    if all(x.ndim == len(batch) + 1 for x in a.pattern):
        return a

    def work(*given: Array) -> tuple[Array, ...]:
        return tuple(array_namespace(x).broadcast_to(x, (*batch, x.shape[-1])) for x in given)

    return type(a)._of(a.values, pattern_work(work, *a.pattern), a._static())


def at_positions(function: str, a: Sparse, coords: tuple[Array, ...], x: Array) -> Array:
    """Return the elements of an array at a container's positions; the array broadcasts to the container's shape.

    Returns:
        An array that broadcasts with the values. It has the additional batch axes of `x`, if any.

    Raises:
        ValueError: `x` doesn't broadcast to the sparse and dense axes.
    """
    xp = namespace_of(a)
    inner = a.sparse_ndim + a.dense_ndim
    x = xp.reshape(x, (*(1 for _ in range(inner - x.ndim)), *x.shape))
    batch = tuple(x.shape[: x.ndim - inner])
    sizes = tuple(x.shape[x.ndim - inner : x.ndim - a.dense_ndim])
    dense = tuple(x.shape[x.ndim - a.dense_ndim :])
    checks.broadcast_shapes(function, a=batch_of(a), b=batch)
    for size, limit in zip((*sizes, *dense), (*a._sparse_shape, *_dense(a))):
        if size not in (1, limit):
            raise ValueError(
                f"{function}: b of shape {tuple(x.shape)} must broadcast to the sparse and dense axes of a of shape "
                f"{a.shape}; use `todense` for results of another shape"
            )
    if prod(sizes) == 1:
        return xp.reshape(x, (*batch, 1, *dense))
    if 0 in sizes:
        shape = (*batch, a.nse, *dense)
        return xp.zeros(shape, dtype=x.dtype, device=checks.device_of(x))

    def work(*given: Array) -> Array:
        names = array_namespace(*given)
        return joined_index(
            [names.astype(bounded(names, x, size), index_dtype(names)) for x, size in zip(given, sizes)], sizes
        )

    index = pattern_work(work, *coords)
    x = xp.reshape(x, (*batch, prod(sizes), *dense))
    if index.ndim > 1:
        return along(xp.broadcast_to(x, (*batch_of(a), prod(sizes), *dense)), index, a.batch_ndim)
    return along(x, index, len(batch))


def with_batch_of(function: str, a: Sparse, x: Array) -> Sparse:
    """Broadcast a container with several patterns over additional batch axes of an operand."""
    inner = a.sparse_ndim + a.dense_ndim
    if a.pattern[0].ndim == 1 or x.ndim <= inner:
        return a
    return spread(a, a.values, checks.broadcast_shapes(function, a=batch_of(a), b=tuple(x.shape[: x.ndim - inner])))


Shape = tuple[int, ...]


def shared_format(containers: Sequence[Sparse]) -> Format:
    """Return the format of a result: the common format of all containers, or "coo"."""
    found = {a.format for a in containers}
    return found.pop() if len(found) == 1 else "coo"  # type: ignore[return-value]


def by_coordinates(function: Callable[..., COO], *containers: Sparse) -> Any:
    """Call a function of COO arrays with containers of any format.

    If all containers have the same format, the result has it, too. Otherwise it is a COO.
    The function must commute with transposition: a CSC is passed as its transpose by rows, which is sorted.
    """
    name = shared_format(containers)
    if name == "csc":
        return matrix_transpose(convert(function(*(tocoo(matrix_transpose(a)) for a in containers)), "csr"))
    return convert(function(*(tocoo(a) for a in containers)), name)


def coo_of(
    values: Array,
    coords: Sequence[Array],
    sizes: Sequence[int],
    *,
    is_sorted: bool = False,
    is_unique: bool = False,
    dense_ndim: int = 0,
) -> COO:
    """Make a COO without checks of its parts."""
    return COO._of(values, tuple(coords), (tuple(sizes), is_sorted, is_unique, dense_ndim))


def over_entries(a: Sparse, mask: Array) -> Array:
    """Add dense axes to an array of shape (nse,) or (*batch, nse), so that it broadcasts with the values."""
    xp = namespace_of(a)
    return xp.reshape(mask, (*mask.shape, *(1 for _ in range(a.dense_ndim))))


def chosen(a: COO, mask: Callable[..., Array], *given: Array) -> COO:
    """Keep the entries for which a function of given arrays and of the coordinates is true, in their order.

    If the pattern is unknown, or lanes have different patterns, the other entries become padding.
    """
    first = len(given)
    if are_concrete(*given, *a.coords) and a.coords[0].ndim == 1:

        def work(*arrays: Array) -> tuple[Array, tuple[Array, ...]]:
            xp = array_namespace(*arrays)
            (found,) = xp.nonzero(mask(*arrays))
            return found, tuple(xp.take(x, found) for x in arrays[first:])

        found, coords = eagerly(work, *given, *a.coords)
        if found.shape[0] == a.nse:
            return a
        values = namespace_of(a).take(a.values, found, axis=a.batch_ndim)
        return COO._of(values, coords, a._static())

    def pad(*arrays: Array) -> tuple[Array, ...]:
        xp, selected = array_namespace(*arrays), mask(*arrays)
        return tuple(xp.where(selected, x, full(x, size)) for x, size in zip(arrays[first:], a._sparse_shape))

    coords = pattern_work(pad, *given, *a.coords)
    return coo_of(a.values, coords, a._sparse_shape, is_unique=a.is_unique, dense_ndim=a.dense_ndim)
