"""Products of containers with dense arrays and with each other."""

from typing import Any

from xpand import _arguments
from xpand._typing import Array

from . import _sparse_checks as checks
from . import scatter
from ._sparse_containers import Sparse, namespace_of
from ._sparse_convert import any_sparse, matrix_transpose, tocoo
from ._sparse_sparse import matrix_product


def matmul(a: Any, b: Any, /) -> Any:
    """Multiply matrices, of which one or both are sparse, as `a @ b`.

    Args:
        a: A container of shape (*batch, m, n), or an array of shape (n,) or (…, m, n).
        b: An array of shape (n,) or (…, n, k), or a container of shape (*batch, n, k).

    Returns:
        An array as `xp.matmul` returns it. Of two containers one, sorted and unique, of their format, or COO where they
        have two; their patterns must be known.

    Raises:
        TypeError: Neither is sparse, data types that don't promote, or two containers of patterns that aren't known:
            under jit, where they are arguments, and lazy ones.
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
    checks.matrix("matmul", "a", a)
    xp = _arguments.namespace_of("matmul", a=a.values, b=x)
    if x.ndim == 1:
        return _times_dense(a, x[:, None])[..., 0]
    if a.shape[-1] != x.shape[-2]:
        raise ValueError(f"matmul: a of shape {a.shape} and b of shape {tuple(x.shape)} do not fit together")
    coo = tocoo(a)
    rows, columns = coo.coords
    products = coo.values[..., None] * xp.take(x, columns, axis=-2)
    zeros = xp.zeros(
        (*products.shape[:-2], a.shape[-2], x.shape[-1]), dtype=products.dtype, device=_arguments.device_of(x)
    )
    return scatter.at(zeros)[(..., rows, slice(None))].add(products, mode="drop")
