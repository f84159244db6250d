"""Products of containers with dense arrays and with each other."""

from typing import Any

from xpand.extend import Array
from xpand.extend import checks as _arguments

from . import _checks as checks
from ._containers import COO, CSC, CSR, Sparse, namespace_of
from ._convert import any_sparse, matrix_transpose
from ._products import coo_matmul, csr_matmul, csr_rmatmul
from ._sparse import matrix_product


def matmul(a: Any, b: Any, /) -> Any:
    """Multiply matrices, of which one or both are sparse, as `a @ b`.

    Args:
        a: A container of shape (*batch, m, n), or an array of shape (n,) or (…, m, n).
        b: An array of shape (n,) or (…, n, k), or a container of shape (*batch, n, k).

    Returns:
        An array as `xp.matmul` returns it. Of two containers one, sorted and unique, of their format, or COO where they
        have two; their patterns must be known. Where batch elements have patterns of their own, those of the
        product do too, with padding.

    Raises:
        TypeError: Neither is sparse, data types that don't promote, or two containers of patterns that aren't known:
            under jit, and the vmap of JAX and PyTorch, where they are arguments, and lazy ones.
        ValueError: Shapes that don't fit.

    >>> import numpy as np
    >>> from xpand_extensions.sparse import COO
    >>> a = COO(np.asarray([1.0, 2.0]), (np.asarray([0, 1]), np.asarray([2, 0])), (2, 3))
    >>> a @ np.asarray([1.0, 2.0, 3.0])
    array([3., 2.])
    """
    a, b = any_sparse("matmul", "a", a), any_sparse("matmul", "b", b)
    if isinstance(a, Sparse) and isinstance(b, Sparse):
        return matrix_product(a, b)
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
