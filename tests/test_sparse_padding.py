"""Padding of sparse arrays, empty ones, and what functions of dense arrays say of sparse ones."""

from itertools import product
from typing import Any

import jax.experimental.sparse as jax_sparse
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.sparse

from tests.libraries import EAGER_LIBRARIES, Library
from xpand import array_namespace
from xpand._arguments import device_of
from xpand_extensions import sparse
from xpand_extensions.jit import jit

FORMATS = ("coo", "csr", "csc")
DENSE = np.asarray([[1.0, 0.0, 2.0], [0.0, 3.0, 0.0]])


def padded(library: Library, format: str) -> Any:
    """Three entries, and two that count as nothing."""
    of, values = library.asarray, library.asarray([1.0, 2.0, 3.0, 7.0, 9.0])
    if format == "coo":
        coords = of([0, 0, 1, 2, 1]), of([0, 2, 1, 0, 3])
        return sparse.COO(values, coords, (2, 3), check=False)
    if format == "csr":
        return sparse.CSR(values, of([0, 2, 1, 0, 0]), of([0, 2, 3]), (2, 3))
    values = library.asarray([1.0, 3.0, 2.0, 7.0, 9.0])
    return sparse.CSC(values, of([0, 1, 0, 0, 0]), of([0, 1, 2, 3]), (2, 3))


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("library", EAGER_LIBRARIES, ids=str)
def test_products_with_dense_arrays(library: Library, format: str) -> None:
    a = padded(library, format)
    library.assert_equal(a.todense(), DENSE)
    for x in (1.0 + np.arange(6.0).reshape(2, 3), np.ones((4, 2, 3))):
        library.assert_equal((a * library.asarray(x)).todense(), DENSE * x)
        library.assert_equal(sparse.multiply(library.asarray(x), a).todense(), DENSE * x)
        library.assert_equal((a / library.asarray(x)).todense(), DENSE / x)


def consistent(library: Library, a: Any) -> None:
    """Indices are as many as values, and in bounds, so that the constructor takes them."""
    assert a.indices.shape[-1] == a.nse == a.values.shape[-1]
    type(a)(a.values, a.indices, a.indptr, a.shape)


@pytest.mark.parametrize("is_sorted", [True, False])
@pytest.mark.parametrize("library", EAGER_LIBRARIES, ids=str)
def test_padding_in_other_formats(library: Library, is_sorted: bool) -> None:
    """Padding that only the column, or only the row, puts out of bounds."""
    order = np.asarray([0, 1, 2, 4, 3]) if is_sorted else np.asarray([3, 4, 1, 0, 2])
    values, rows, columns = (
        np.asarray(x)[order] for x in ([1.0, 2.0, 3.0, 7.0, 9.0], [0, 0, 1, 2, 1], [0, 2, 1, 0, 3])
    )
    coords = library.asarray(rows), library.asarray(columns)
    batch = np.stack([values, 2.0 * values])
    own = tuple(library.asarray(np.stack([x, x])) for x in (rows, columns))
    for a, dense in (
        (sparse.COO(library.asarray(values), coords, (2, 3), is_sorted=is_sorted, check=False), DENSE),
        (
            sparse.COO(library.asarray(batch), own, (2, 2, 3), is_sorted=is_sorted, check=False),
            np.stack([DENSE, 2.0 * DENSE]),
        ),
    ):
        for found in (a.tocsr(), a.tocsc()):
            library.assert_equal(found.todense(), dense)
            consistent(library, found)


PADDING = [(2, 0), (0, 3), (1, 3), (2, 3), (9, 11)]
OPERATIONS: dict[str, tuple[Any, Any]] = {
    "todense": (lambda a: a.todense(), lambda x: x),
    "transpose": (lambda a: a.mT.todense(), lambda x: x.T),
    "csr": (lambda a: a.tocsr().todense(), lambda x: x),
    "csc": (lambda a: a.tocsc().todense(), lambda x: x),
    "vector": (lambda a: a @ _ones(a, 3), lambda x: x @ np.ones(3)),
    "vector on the left": (lambda a: sparse.matmul(_ones(a, 2), a), lambda x: np.ones(2) @ x),
    "matrix": (lambda a: a @ _ones(a, 3, 2), lambda x: x @ np.ones((3, 2))),
    "matrix on the left": (lambda a: sparse.matmul(_ones(a, 4, 2), a), lambda x: np.ones((4, 2)) @ x),
    "outer square": (lambda a: (a @ a.mT).todense(), lambda x: x @ x.T),
    "inner square": (lambda a: (a.mT @ a).todense(), lambda x: x.T @ x),
    "square of csr": (lambda a: (a.tocsr() @ a.mT.tocsr()).todense(), lambda x: x @ x.T),
    "add": (lambda a: (a + a).todense(), lambda x: 2.0 * x),
    "multiply": (lambda a: (a * _ones(a, 2, 3)).todense(), lambda x: x),
    "multiply sparse": (lambda a: (a * a).todense(), lambda x: x * x),
    "sum": (lambda a: sparse.sum(a), np.sum),
    "sum of columns": (lambda a: sparse.sum(a, axis=0), lambda x: x.sum(axis=0)),
    "sum of rows": (lambda a: sparse.sum(a, axis=1), lambda x: x.sum(axis=1)),
    "mean": (lambda a: sparse.mean(a, axis=0), lambda x: x.mean(axis=0)),
    "max": (lambda a: sparse.max(-a, axis=1), lambda x: (-x).max(axis=1)),
    "min": (lambda a: sparse.min(a, axis=0), lambda x: x.min(axis=0)),
    "count_nonzero": (lambda a: sparse.count_nonzero(a, axis=0), lambda x: np.count_nonzero(x, axis=0)),
    "norm": (lambda a: sparse.norm(a), np.linalg.norm),
    "norm of columns": (lambda a: sparse.norm(a, ord=1), lambda x: np.linalg.norm(x, 1)),
    "norm of rows": (lambda a: sparse.norm(a, ord=np.inf), lambda x: np.linalg.norm(x, np.inf)),
    "trace": (lambda a: sparse.trace(a, offset=1), lambda x: np.asarray(np.trace(x, 1))),
    "tril": (lambda a: sparse.tril(a, k=1).todense(), lambda x: np.tril(x, 1)),
    "triu": (lambda a: sparse.triu(a).todense(), np.triu),
    "reshape": (lambda a: sparse.reshape(a, (3, 2)).todense(), lambda x: x.reshape(3, 2)),
    "kron": (lambda a: sparse.kron(a, a).todense(), lambda x: np.kron(x, x)),
    "concat": (lambda a: sparse.concat([a, a], axis=1).todense(), lambda x: np.concatenate([x, x], axis=1)),
    "sum_duplicates": (lambda a: sparse.sum_duplicates(a).todense(), lambda x: x),
    "sort": (lambda a: sparse.sort(a).todense(), lambda x: x),
    "diagonal": (lambda a: sparse.diagonal(a), np.diagonal),
    "row": (lambda a: a[1].todense(), lambda x: x[1]),
    "columns": (lambda a: a[:, 1:].todense(), lambda x: x[:, 1:]),
    "sampled": (
        lambda a: sparse.sampled_matmul(_ones(a, 2, 4), _ones(a, 4, 3), *a.coords),
        lambda x: np.asarray([4.0, 4.0, 4.0, 0.0]),
    ),
}


def _ones(a: Any, *shape: int) -> Any:
    xp = array_namespace(a.values)
    return xp.ones(shape, dtype=a.values.dtype, device=device_of(a.values))


@pytest.mark.parametrize("library", EAGER_LIBRARIES, ids=str)
@pytest.mark.parametrize("name", OPERATIONS)
def test_padding_that_is_out_in_one_coordinate_alone(library: Library, name: str) -> None:
    """No other entry of the array may make a check of the other coordinate notice it."""
    function, reference = OPERATIONS[name]
    for row, column in PADDING:
        coords = library.asarray([0, 0, 1, row]), library.asarray([0, 2, 1, column])
        for is_unique in (False, True):
            a = sparse.COO(library.asarray([1.0, 2.0, 3.0, 7.0]), coords, (2, 3), is_unique=is_unique, check=False)
            library.assert_equal(function(a), np.asarray(reference(DENSE)), rtol=1e-15)


def test_padding_in_patterns_that_are_not_known() -> None:
    a = sparse.COO(
        np.arange(1.0, 4.0), (np.asarray([0, 1, 1]), np.asarray([0, 1, 3])), (2, 3), is_sorted=True, check=False
    )
    for convert in (sparse.tocsr, sparse.tocsc):
        found = jit(lambda a, convert=convert: convert(a))(a)
        np.testing.assert_array_equal(found.todense(), [[1.0, 0.0, 0.0], [0.0, 2.0, 0.0]])
        consistent(EAGER_LIBRARIES[0], found)


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("library", EAGER_LIBRARIES, ids=str)
def test_empty_arrays(library: Library, format: str) -> None:
    for shape, batch in product([(0, 3), (3, 0), (0, 0)], [(), (2,), (0,)] if library.id != "jax" else [(2,)]):
        x = library.asarray(np.zeros((*batch, *shape)))
        a = sparse.from_dense(x, format, nse=0, batch_ndim=len(batch))
        assert a.shape == (*batch, *shape)
        assert a.nse == 0
        library.assert_equal(a.todense(), np.zeros((*batch, *shape)))
        padded = sparse.from_dense(x, format, nse=2, batch_ndim=len(batch))
        assert (padded.shape, padded.nse) == (a.shape, 2 if format == "coo" else 0)
        library.assert_equal(padded.todense(), np.zeros((*batch, *shape)))
        library.assert_equal((padded + padded).todense(), np.zeros((*batch, *shape)))
        v = library.asarray(np.ones((shape[1], 2)))
        library.assert_equal(padded @ v, np.zeros((*batch, shape[0], 2)))


@pytest.mark.parametrize("library", EAGER_LIBRARIES, ids=str)
def test_sums_of_padded_batches(library: Library) -> None:
    """Of two lanes, and of none."""
    for count, (f, g) in product((0, 2), product(FORMATS, FORMATS) if library.id != "jax" else [("csr", "coo")]):
        x, y = (np.stack([DENSE * (i + 1.0) for i in range(count)] or [DENSE])[:count] * k for k in (1.0, -2.0))
        a, b = (
            sparse.from_dense(library.asarray(each), format, nse=nse, batch_ndim=1)
            for each, format, nse in ((x, f, 5), (y, g, 4))
        )
        library.assert_equal((a + b).todense(), x + y)
        library.assert_equal((a - b).todense(), x - y)
        library.assert_equal((a * b).todense(), x * y)


@pytest.mark.parametrize("library", EAGER_LIBRARIES, ids=str)
def test_dense_functions_of_sparse_arrays(library: Library) -> None:
    a = padded(library, "csr")
    with pytest.raises(TypeError, match=r"asarray: obj must be .*, got a sparse CSR; write `a.todense\(\)`"):
        np.asarray(a)
    if library.id == "numpy":
        with pytest.raises(TypeError, match=r"sum: takes dense arrays, got a sparse CSR; write `sparse.sum\(a\)`"):
            library.xp.sum(a)
        with pytest.raises(TypeError, match=r"sort: takes dense arrays, .* write `np.sort\(a.todense\(\)\)`"):
            library.xp.sort(a)


def test_arrays_of_librarys_own_sparse_arrays() -> None:
    import xpand.jax
    import xpand.numpy
    import xpand.torch

    native = scipy.sparse.csr_array(DENSE), scipy.sparse.coo_matrix(DENSE), jax_sparse.BCOO.fromdense(jnp.eye(2))
    for xp, x in product((xpand.numpy, xpand.torch, xpand.jax), native):
        if xp is xpand.numpy and x is not native[2]:  # as in NumPy, which scikit-learn relies on
            assert xp.asarray(x).dtype == object
            continue
        with pytest.raises(TypeError, match=rf"asarray: .*, got a sparse {type(x).__name__}; write .*from_native"):
            xp.asarray(x)
