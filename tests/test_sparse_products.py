"""Sparse products on parts: every library against dense products, transformations, bad input."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import xpand
from tests.libraries import Library
from tests.operations import TRANSFORMATIONS, Case, check_values, transformation_id
from xpand_extensions import _sparse_products as products

M, N = 4, 3
ROWS = np.asarray([0, 0, 1, 3, 3, 3, 3])
COLUMNS = np.asarray([2, 0, 1, 0, 1, 2, 1])  # the last two but one share a place with none, the last one with a third
INDPTR = np.asarray([0, 2, 3, 3, 7])
SHUFFLED = np.asarray([3, 0, 6, 2, 5, 1, 4])
VALUES = np.asarray([1.0, -2.0, 0.5, 3.0, 1.5, -1.0, 2.0])
X = np.asarray([0.7, -1.2, 2.5])
XS = np.linspace(-1.0, 2.0, N * 2).reshape(N, 2)
Y = np.asarray([0.3, 1.0, -2.0, 0.9])
YS = np.linspace(-2.0, 1.0, M * 2).reshape(M, 2)


def dense(values: np.ndarray, rows: np.ndarray = ROWS, columns: np.ndarray = COLUMNS) -> np.ndarray:
    out = np.zeros((*values.shape[:-1], M, N), dtype=values.dtype)
    for e in range(len(rows)):
        out[..., rows[e], columns[e]] += values[..., e]
    return out


def like(x: Any, pattern: np.ndarray) -> Any:
    """Make an index array of the library of `x`, and on its device."""
    xp = xpand.array_namespace(x)
    return xp.asarray(pattern, device=getattr(x, "device", None))


def csr(function: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    return lambda v, x: function(v, like(v, COLUMNS), like(v, INDPTR), x, shape=(M, N), **options)


def coo(v: Any, x: Any) -> Any:
    rows, columns = like(v, ROWS[SHUFFLED]), like(v, COLUMNS[SHUFFLED])
    return products.coo_matmul(v, rows, columns, x, shape=(M, N))


BATCH = np.stack([VALUES, 2.0 - VALUES])
BATCH_X = np.stack([XS, XS[::-1] + 0.5])
CASES = {
    "csr-vector": Case(csr(products.csr_matmul), (VALUES, X), lambda v, x: dense(v) @ x, (0, 1)),
    "csr-matrix": Case(csr(products.csr_matmul), (VALUES, XS), lambda v, x: dense(v) @ x, (0, 1)),
    "csr-batch": Case(csr(products.csr_matmul), (BATCH, XS), lambda v, x: dense(v) @ x, (0, 1)),
    "csr-batches": Case(csr(products.csr_matmul), (BATCH, BATCH_X), lambda v, x: dense(v) @ x, (0, 1)),
    "csr-stack-of-x": Case(csr(products.csr_matmul), (VALUES, BATCH_X), lambda v, x: dense(v) @ x, (0, 1)),
    "csr-transposed-vector": Case(csr(products.csr_rmatmul), (VALUES, Y), lambda v, x: dense(v).T @ x, (0, 1)),
    "csr-transposed-matrix": Case(csr(products.csr_rmatmul), (VALUES, YS), lambda v, x: dense(v).T @ x, (0, 1)),
    "coo-vector": Case(coo, (VALUES[SHUFFLED], X), lambda v, x: dense(v[np.argsort(SHUFFLED)]) @ x, (0, 1)),
    "coo-matrix": Case(coo, (VALUES[SHUFFLED], XS), lambda v, x: dense(v[np.argsort(SHUFFLED)]) @ x, (0, 1)),
    "coo-pattern": Case(
        lambda v, r, c, x: products.coo_matmul(v, r, c, x, shape=(M, N)),
        (VALUES, ROWS, COLUMNS, X),
        lambda v, r, c, x: dense(v) @ x,
        (0, 3),
    ),
    "sampled": Case(
        lambda x, y: products.sampled_matmul(x, y, like(x, ROWS), like(x, COLUMNS)),
        (YS, XS.T),
        lambda x, y: (x @ y)[ROWS, COLUMNS],
        (0, 1),
    ),
    "sampled-vectors": Case(
        lambda x, y: products.sampled_matmul(x[:, None], y[None, :], like(x, ROWS), like(x, COLUMNS)),
        (Y, X),
        lambda x, y: np.outer(x, y)[ROWS, COLUMNS],
        (0, 1),
    ),
    "sampled-pattern": Case(
        products.sampled_matmul,
        (YS, XS.T, ROWS, COLUMNS),
        lambda x, y, r, c: (x @ y)[r, c],
        (0, 1),
    ),
    "dense": Case(
        lambda v: products.coo_todense(v, like(v, ROWS), like(v, COLUMNS), shape=(M, N)), (VALUES,), dense, (0,)
    ),
    "dense-pattern": Case(
        lambda v, r, c: products.coo_todense(v, r, c, shape=(M, N)),
        (VALUES, ROWS, COLUMNS),
        lambda v, r, c: dense(v),
        (0,),
    ),
    "dense-csr": Case(
        lambda v: products.csr_todense(v, like(v, COLUMNS), like(v, INDPTR), shape=(M, N)), (BATCH,), dense, (0,)
    ),
    "rows": Case(
        lambda p: products.csr_rows(p, nse=8),
        (np.stack([INDPTR, [0, 0, 5, 7, 8]]),),
        lambda p: np.stack([[*ROWS, 4], [1] * 5 + [2] * 2 + [3]]),
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_values(library: Library, case: Case) -> None:
    check_values(library, case)


@pytest.mark.parametrize("transformation", TRANSFORMATIONS, ids=transformation_id)
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_transformations(case: Case, transformation: Callable[[Case], None]) -> None:
    transformation(case)
