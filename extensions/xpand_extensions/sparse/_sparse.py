"""Products of sparse arrays with each other: pairs of entries are found once, and their values multiplied."""

from math import prod
from typing import Any

from xpand import array_namespace
from xpand.extend import Array
from xpand.extend import checks as _arguments

from . import _checks as checks
from ._containers import COO, Sparse, namespace_of
from ._convert import convert, matrix_transpose, tocoo
from ._forms import coo_of, over_entries, shared_format
from ._join import stack
from ._operands import with_like_patterns
from ._pattern import Merge, along, are_concrete, eagerly, full, joined, merge, numbered, pattern_work, summed, used


def intersection(a: COO, b: COO) -> COO:
    """Multiply element by element arrays that are sorted and unique.

    Where patterns aren't known, or differ among the batch elements, the positions are those of `a`.
    """
    if are_concrete(*a.coords, *b.coords) and a.coords[0].ndim == b.coords[0].ndim == 1:
        return _common(a, b)
    a, b = with_like_patterns(a, b)
    xp, half = namespace_of(a), a.sparse_ndim
    if not b.nse:
        return a._replace(xp.zeros_like(a.values))

    def work(*given: Array) -> tuple[Array, Array]:
        names = array_namespace(*given)
        (left, right), beyond = numbered(names, [given[:half], given[half:]], a._sparse_shape)
        locations = positions(names, right, left)
        met = names.take_along_axis(right, locations, axis=-1)
        return locations, (met == left) & (left < full(left, beyond))

    locations, met = pattern_work(work, *a.coords, *b.coords)
    met = over_entries(a, met)
    # Both are masked: the derivative of a product that isn't used must not be infinite times zero.
    left, right = a.values, along(b.values, locations, b.batch_ndim)
    return a._replace(xp.where(met, left, full(left, 0)) * xp.where(met, right, full(right, 0)))


def _common(a: COO, b: COO) -> COO:
    half = a.sparse_ndim

    def work(*given: Array) -> tuple[Array, Array, tuple[Array, ...]]:
        xp = array_namespace(*given)
        (left, right), beyond = numbered(xp, [given[:half], given[half:]], a._sparse_shape)
        if not right.shape[0] or not left.shape[0]:
            none = xp.zeros((0,), dtype=xp.int64, device=_arguments.device_of(left))
            return none, none, tuple(x[:0] for x in given[:half])
        locations = positions(xp, right, left)
        (matching,) = xp.nonzero((xp.take(right, locations) == left) & (left < full(left, beyond)))
        return matching, xp.take(locations, matching), tuple(xp.take(x, matching) for x in given[:half])

    first, second, coords = eagerly(work, *a.coords, *b.coords)
    values = along(a.values, first, a.batch_ndim) * along(b.values, second, b.batch_ndim)
    return coo_of(values, coords, a._sparse_shape, is_sorted=True, is_unique=True, dense_ndim=a.dense_ndim)


def positions(xp: Any, sorted_numbers: Array, numbers: Array) -> Array:
    """Return where in sorted numbers each number stands, or the last position where it is greater than all."""
    if numbers.ndim > 1:
        lanes = [positions(xp, x, y) for x, y in zip(_lanes(xp, sorted_numbers), _lanes(xp, numbers), strict=True)]
        if not lanes:
            return xp.zeros_like(numbers)
        return xp.reshape(xp.stack(lanes), numbers.shape)
    found = xp.searchsorted(sorted_numbers, numbers)
    return xp.minimum(found, full(found, sorted_numbers.shape[0] - 1))


def _lanes(xp: Any, x: Array) -> list[Array]:
    flat = xp.reshape(x, (prod(x.shape[:-1]), x.shape[-1]))
    return [flat[i, :] for i in range(flat.shape[0])]


def matrix_product(a: Sparse, b: Sparse) -> Any:
    """Multiply sparse matrices, of which a pattern is known: the product is sorted and unique.

    Raises:
        TypeError: A pattern isn't known, or data types that don't promote.
        ValueError: Shapes that don't fit.
    """
    for name, x in (("a", a), ("b", b)):
        checks.matrix("matmul", name, x)
    xp = _arguments.namespace_of("matmul", a=a.values, b=b.values)
    _arguments.one_device("matmul", a=a.values, b=b.values)
    for name, x in (("a", a), ("b", b)):
        _arguments.dtype("matmul", name, xp, x.values, _arguments.NUMERIC)
    if a.shape[-1] != b.shape[-2]:
        raise ValueError(f"matmul: a of shape {a.shape} and b of shape {b.shape} do not fit together")
    batch = _arguments.broadcast_shapes("matmul", a=a.shape[:-2], b=b.shape[:-2])
    if not are_concrete(*a.pattern, *b.pattern):
        raise TypeError(
            "matmul: how many entries the product of two sparse matrices has isn't known under jit and JAX's and "
            "PyTorch's vmap where containers are arguments, nor for lazy arrays; close over the containers and make "
            "their values arguments, use `xpand_extensions.vmap`, or multiply with `sparse.todense(b)`"
        )
    x, y = _arguments.promote("matmul", xp, a=a.values, b=b.values)
    a, b = a._replace(x), b._replace(y)
    if a.pattern[0].ndim > 1 or b.pattern[0].ndim > 1:
        return _one_by_one(a, b, batch)
    if shared_format((a, b)) == "csc":
        return matrix_transpose(convert(_by_rows(tocoo(matrix_transpose(b)), tocoo(matrix_transpose(a))), "csr"))
    return convert(_by_rows(tocoo(a), tocoo(b)), shared_format((a, b)))


def _one_by_one(a: Sparse, b: Sparse, batch: tuple[int, ...]) -> Any:
    """Multiply lanes that have patterns of their own: the products do too, with padding, but are of one size."""
    if 0 in batch:
        return matrix_product(_of_nothing(a), _of_nothing(b))
    found = stack([matrix_product(x, y) for x, y in zip(_apart(a, batch), _apart(b, batch))])
    xp = namespace_of(found)

    def work(*given: Array) -> tuple[Array, ...]:
        names = array_namespace(*given)
        return tuple([x if x.ndim == 1 else names.reshape(x, (*batch, x.shape[-1])) for x in given])

    pattern = pattern_work(work, *found.pattern)
    return found._replace(xp.reshape(found.values, (*batch, found.nse)), pattern)


def _apart(a: Sparse, batch: tuple[int, ...]) -> list[Sparse]:
    """Return the batch elements, broadcast to a larger one."""
    count = prod(batch)

    def rows(x: Array) -> list[Array]:
        names = array_namespace(x)
        flat = names.reshape(names.broadcast_to(x, (*batch, x.shape[-1])), (count, x.shape[-1]))
        return [flat[i, :] for i in range(count)]

    patterns = eagerly(lambda *given: tuple([rows(x) for x in given]), *a.pattern)
    return [type(a)._of(values, tuple(pattern), a._static()) for values, *pattern in zip(rows(a.values), *patterns)]


def _of_nothing(a: Sparse) -> Sparse:
    """Return a container without entries, of one pattern, for an empty batch."""

    def work(*given: Array) -> tuple[Array, ...]:
        xp = array_namespace(*given)
        sizes = [0 if isinstance(a, COO) or i == 0 else x.shape[-1] for i, x in enumerate(given)]
        return tuple([xp.zeros(n, dtype=x.dtype, device=_arguments.device_of(x)) for n, x in zip(sizes, given)])

    return type(a)._of(a.values[..., :0], pattern_work(work, *a.pattern), a._static())


def _by_rows(a: COO, b: COO) -> COO:
    sizes = (a._sparse_shape[0], b._sparse_shape[1])

    def work(*given: Array) -> tuple[Array, Array, Merge]:
        xp = array_namespace(*given)
        left, right = given[:2], given[2:]
        # Padding of either side meets nothing: each gets a number that the other side has none of.
        inner, outer = xp.astype(left[1], xp.int64), xp.astype(right[0], xp.int64)
        inner = xp.where(used(xp, left, a._sparse_shape), inner, full(inner, -1))
        outer = xp.where(used(xp, right, b._sparse_shape), outer, full(outer, -2))
        first, second = joined(inner, outer)
        plan = merge((xp.take(left[0], first), xp.take(right[1], second)), sizes)
        return xp.take(first, plan.order), xp.take(second, plan.order), plan

    first, second, plan = eagerly(work, *a.coords, *b.coords)
    products = along(a.values, first, a.batch_ndim) * along(b.values, second, b.batch_ndim)
    values = summed(products, plan.ids, plan.size, products.ndim - 1, is_sorted=True)
    return coo_of(values, plan.coords, sizes, is_sorted=True, is_unique=True)
