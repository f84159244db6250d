"""Products of containers with dense arrays and with each other."""

from typing import Any

from xpand import array_namespace
from xpand.extend import Array, checks as _arguments

from .._bounds import index_dtype
from . import _checks as checks
from ._containers import COO, CSC, CSR, Sparse, namespace_of
from ._convert import any_sparse, convert, matrix_transpose, tocoo
from ._operands import common_namespace, coo_of, shared_format
from ._pattern import Merge, along, are_concrete, eagerly, full, joined, merge, summed, used
from ._products import coo_matmul, coo_product, csr_matmul, csr_rmatmul


def matmul(a: Any, b: Any, /) -> Any:
    """Multiply matrices, at least one of them sparse: `a @ b`.

    Args:
        a: A container of shape (*batch, m, n), or an array of shape (n,) or (…, m, n).
        b: An array of shape (n,) or (…, n, k), or a container of shape (*batch, n, k).

    Returns:
        If one is an array, an array, as `xp.matmul` returns. For two containers, whose patterns must be known and the
        same for all lanes, a sorted and unique container of their format, or COO if the formats differ.

    Raises:
        TypeError: Neither is sparse, data types that don't promote, or two containers with an unknown pattern: lazy
            ones, and arguments of functions under jit or the vmap of JAX and PyTorch.
        ValueError: Shapes that don't fit, or two containers, one with a pattern for each lane.

    >>> import numpy as np
    >>> from xpand_extensions.sparse import COO
    >>> a = COO(np.asarray([1.0, 2.0]), (np.asarray([0, 1]), np.asarray([2, 0])), (2, 3))
    >>> a @ np.asarray([1.0, 2.0, 3.0])
    array([3., 2.])
    """
    a, b = any_sparse("matmul", "a", a), any_sparse("matmul", "b", b)
    if isinstance(a, Sparse) and isinstance(b, Sparse):
        return _sparse_product(a, b)
    if isinstance(a, Sparse):
        return _times_dense(a, b)
    if b.ndim < 2:
        raise ValueError(f"matmul: b must be a matrix, got {b!r}")
    xp = namespace_of(b)
    if a.ndim == 1:
        return _times_dense(matrix_transpose(b), a)
    return xp.matrix_transpose(_times_dense(matrix_transpose(b), xp.matrix_transpose(a)))


def _times_dense(a: Sparse, x: Array) -> Array:
    """Multiply a container with a vector, or matrices."""
    checks.matrix("matmul", "a", a)
    _arguments.namespace_of("matmul", a=a.values, b=x)
    m, n = a._sparse_shape
    if not x.ndim or x.shape[0 if x.ndim == 1 else -2] != n:
        raise ValueError(f"matmul: a of shape {a.shape} and b of shape {tuple(x.shape)} do not fit together")
    if isinstance(a, CSR):
        return csr_matmul(a.values, a.indices, a.indptr, x, shape=(m, n), plan=a._plan_for_products())
    if isinstance(a, CSC):
        return csr_rmatmul(a.values, a.indices, a.indptr, x, shape=(n, m), plan=a._plan_for_products())
    assert isinstance(a, COO), "there are three formats"
    rows, columns = a.coords
    return coo_matmul(a.values, rows, columns, x, shape=(m, n), rows_are_sorted=a.is_sorted)


def _sparse_product(a: Sparse, b: Sparse) -> Any:
    """Multiply sparse matrices with known patterns. The product is sorted and has no duplicates.

    Raises:
        TypeError: A pattern isn't known, or data types that don't promote.
        ValueError: Shapes that don't fit, or a pattern for each lane.
    """
    for name, x in (("a", a), ("b", b)):
        checks.matrix("matmul", name, x)
    xp = common_namespace("matmul", a, b)
    _arguments.one_device("matmul", a=a.values, b=b.values)
    for name, x in (("a", a), ("b", b)):
        _arguments.dtype("matmul", name, xp, x.values, _arguments.NUMERIC)
    if a.shape[-1] != b.shape[-2]:
        raise ValueError(f"matmul: a of shape {a.shape} and b of shape {b.shape} do not fit together")
    _arguments.broadcast_shapes("matmul", a=a.shape[:-2], b=b.shape[:-2])
    if not are_concrete(*a.pattern, *b.pattern):
        raise TypeError(
            "matmul: the number of entries of the product of two sparse matrices isn't known under jit and JAX's and "
            "PyTorch's vmap where containers are arguments, nor for lazy arrays; close over the containers and make "
            "their values arguments, use `xpand.vmap`, or multiply with `sparse.todense(b)`"
        )
    for name, pattern in (("a", a.pattern), ("b", b.pattern)):
        if pattern[0].ndim > 1:
            raise ValueError(
                f"matmul: {name} has a pattern for each matrix of the batch, and so would the product; multiply the "
                "matrices one by one and join the products with `sparse.stack`, or multiply with `sparse.todense(b)`"
            )
    x, y = _arguments.promote("matmul", xp, a=a.values, b=b.values)
    a, b = a._replace(x), b._replace(y)
    if shared_format((a, b)) == "csc":
        return matrix_transpose(convert(_by_rows(tocoo(matrix_transpose(b)), tocoo(matrix_transpose(a))), "csr"))
    return convert(_by_rows(tocoo(a), tocoo(b)), shared_format((a, b)))


def _by_rows(a: COO, b: COO) -> COO:
    sizes = (a._sparse_shape[0], b._sparse_shape[1])
    if a.values.ndim == b.values.ndim == 1:
        (rows, columns), (other_rows, other_columns) = a.coords, b.coords
        inner = a._sparse_shape[1]
        found = coo_product(a.values, rows, columns, b.values, other_rows, other_columns, shape=sizes, inner=inner)
        if found is not None:
            return coo_of(found[0], found[1:], sizes, is_sorted=True, is_unique=True)

    def work(*given: Array) -> tuple[Array, Array, Merge]:
        xp = array_namespace(*given)
        left, right = given[:2], given[2:]
        # Padding must not match: each side's gets a number that the other side doesn't have.
        inner, outer = xp.astype(left[1], index_dtype(xp)), xp.astype(right[0], index_dtype(xp))
        inner = xp.where(used(left, a._sparse_shape), inner, full(inner, -1))
        outer = xp.where(used(right, b._sparse_shape), outer, full(outer, -2))
        first, second = joined(inner, outer)
        plan = merge((xp.take(left[0], first), xp.take(right[1], second)), sizes)
        return xp.take(first, plan.order), xp.take(second, plan.order), plan

    first, second, plan = eagerly(work, *a.coords, *b.coords)
    products = along(a.values, first, a.batch_ndim) * along(b.values, second, b.batch_ndim)
    values = summed(products, plan.ids, plan.size, products.ndim - 1, is_sorted=True)
    return coo_of(values, plan.coords, sizes, is_sorted=True, is_unique=True)
