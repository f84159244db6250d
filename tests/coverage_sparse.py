"""Tests for the rows of docs/coverage/phiml.toml about sparse arrays."""

from typing import Any

import numpy as np
import scipy.sparse

from tests.coverage import Row
from tests.libraries import Library
from xpand_extensions import linalg, sparse

NATIVE = ("numpy", "torch", "jax", "cupy")
"""The libraries with their own sparse arrays."""

ROWS = np.asarray([[0, 0, 1, 2], [2, 0, 2, 1]])
COLUMNS = np.asarray([[1, 3, 0, 3], [0, 1, 3, 2]])
VALUES = np.asarray([[1.0, 2.0, 3.0, 4.0], [-1.0, 0.5, 2.5, 7.0]])
SHAPE = (3, 4)
DENSE = np.stack([scipy.sparse.coo_array((v, (i, j)), SHAPE).toarray() for v, i, j in zip(VALUES, ROWS, COLUMNS)])
X = np.arange(16.0).reshape(2, 4, 2) ** 1.5
# Two channels for each lane, and positions that occur twice.
TWICE_ROWS = np.asarray([[0, 0, 1, 2], [0, 1, 2, 2]])
TWICE_COLUMNS = np.asarray([[1, 1, 0, 3], [1, 2, 0, 0]])
CHANNELS = np.stack([VALUES, VALUES**2 + 1.0], axis=1)
SUMMED = np.zeros((2, 2, *SHAPE))
for _lane, _channel in np.ndindex(2, 2):
    np.add.at(SUMMED[_lane, _channel], (TWICE_ROWS[_lane], TWICE_COLUMNS[_lane]), CHANNELS[_lane, _channel])


def compressed(cls: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Compute values, indices and pointers of the batch with SciPy."""
    lanes = [cls(each) for each in DENSE]
    return tuple(np.stack([getattr(x, name) for x in lanes]) for name in ("data", "indices", "indptr"))


def made(library: Library, format: str, lane: int | None = 0) -> Any:
    """Make a container of one batch element, or of all."""
    if format == "coo":
        parts, shape = (VALUES, ROWS, COLUMNS), SHAPE
    else:
        parts, shape = compressed(scipy.sparse.csr_array if format == "csr" else scipy.sparse.csc_array), SHAPE
    if lane is None:
        shape = (2, *shape)
    values, first, second = (library.asarray(x if lane is None else x[lane]) for x in parts)
    if format == "coo":
        return sparse.COO(values, (first, second), shape)
    return (sparse.CSR if format == "csr" else sparse.CSC)(values, first, second, shape)


def with_channels(library: Library, format: str) -> Any:
    """Make a container of all lanes and channels. Each has its own pattern, with duplicates."""
    repeated = lambda x: library.asarray(np.stack([x, x], axis=1))
    values, rows, columns = library.asarray(CHANNELS), repeated(TWICE_ROWS), repeated(TWICE_COLUMNS)
    if format == "coo":
        return sparse.COO(values, (rows, columns), SUMMED.shape)
    ends = np.stack([np.searchsorted(x, np.arange(SHAPE[0] + 1)) for x in TWICE_ROWS])
    return sparse.CSR(values, columns, repeated(ends), SUMMED.shape)


def constructed(format: str, lane: int | None) -> Row:
    def check(library: Library) -> None:
        a = made(library, format, lane)
        expected = DENSE if lane is None else DENSE[lane]
        assert sparse.sparse_format(a) == format
        library.assert_equal(sparse.todense(a), expected)
        if lane is not None and library.id.startswith(NATIVE):
            library.assert_equal(sparse.todense(sparse.to_native(a)), expected)

    return check


def densified(format: str) -> Row:
    """Check batches, channels, and duplicate entries, which are summed."""

    def check(library: Library) -> None:
        library.assert_equal(sparse.todense(made(library, format, None)), DENSE)
        library.assert_equal(sparse.todense(with_channels(library, format)), SUMMED)
        if format == "coo":  # COO supports PhiML's order too: channels last
            coords = (library.asarray(TWICE_ROWS), library.asarray(TWICE_COLUMNS))
            values = library.asarray(np.moveaxis(CHANNELS, 1, 2))
            last = sparse.COO(values, coords, (2, *SHAPE, 2), dense_ndim=1)
            library.assert_equal(sparse.todense(last), np.moveaxis(SUMMED, 1, -1))

    return check


def multiplied(format: str) -> Row:
    def check(library: Library) -> None:
        found = sparse.matmul(made(library, format, None), library.asarray(X))
        library.assert_equal(found, DENSE @ X, rtol=1e-14)
        x = np.stack([X, X[::-1] - 3.0], axis=1)
        found = sparse.matmul(with_channels(library, format), library.asarray(x))
        library.assert_equal(found, SUMMED @ x, rtol=1e-14, atol=1e-14)

    return check


def times_vectors(library: Library) -> None:
    """Check one sparse matrix for all vectors."""
    x = library.asarray(X[..., 0])
    for format in ("coo", "csr"):
        found = sparse.matmul(made(library, format), x[..., None])
        library.assert_equal(found[..., 0], X[..., 0] @ DENSE[0].T, rtol=1e-14)


def linear(library: Library) -> None:
    """Check what PhiML's `linear` accepts: a matrix for all vectors, dense or sparse, one for each, or a function."""
    vectors = X[..., 0]
    x = library.asarray(vectors)
    times_vectors(library)
    library.assert_equal(linalg.matvec(library.asarray(DENSE[0]), x), vectors @ DENSE[0].T, rtol=1e-14)
    library.assert_equal(linalg.matvec(library.asarray(DENSE), x), (DENSE @ X)[..., 0], rtol=1e-14)
    of_each = sparse.matmul(made(library, "csr", None), x[..., None])
    library.assert_equal(of_each[..., 0], (DENSE @ X)[..., 0], rtol=1e-14)


def is_sparse(library: Library) -> None:
    a = made(library, "csr")
    assert sparse.is_sparse(a)
    assert not sparse.is_sparse(library.asarray(X))
    assert sparse.is_sparse(scipy.sparse.csr_array(DENSE[0]))
    if library.id.startswith(NATIVE):
        assert sparse.is_sparse(sparse.to_native(a))


def sparse_format(library: Library) -> None:
    for format in ("coo", "csr", "csc"):
        a = made(library, format)
        assert sparse.sparse_format(a) == format
        if library.id.startswith(NATIVE):
            theirs = {"coo": "bcoo", "csr": "bcsr"} if library.id.startswith("jax") else {}
            assert sparse.sparse_format(sparse.to_native(a)) == theirs.get(format, format)
    assert sparse.sparse_format(library.asarray(X)) == "dense"


def disassemble(library: Library) -> None:
    a = made(library, "csr")
    assemble, arrays = sparse.disassemble({"a": a, "x": [library.asarray(X), "name"]})
    assert len(arrays) == 4
    again = assemble(*arrays)
    library.assert_equal(sparse.todense(again["a"]), DENSE[0])
    library.assert_equal(again["x"][0], X)
    assert again["x"][1] == "name"
    # Arrays of another library replace those of a container and of SciPy's sparse array.
    a = sparse.CSR(*(x[0] for x in compressed(scipy.sparse.csr_array)), SHAPE)
    assemble, arrays = sparse.disassemble(a)
    library.assert_equal(sparse.todense(assemble(*(library.asarray(x) for x in arrays))), DENSE[0])
    if library.id.startswith(NATIVE):
        assemble, arrays = sparse.disassemble(scipy.sparse.csr_array(DENSE[0]))
        again = assemble(*(library.asarray(x) for x in arrays))
        assert type(again) is type(sparse.to_native(made(library, "csr")))
        library.assert_equal(sparse.todense(again), DENSE[0])


def csr_to_coo(library: Library) -> None:
    a = made(library, "csr", None)
    found = sparse.tocoo(a)
    library.assert_equal(sparse.csr_rows(a.indptr, nse=a.nse), library.to_numpy(found.coords[0]))
    for i, lane in enumerate(DENSE):
        for x, expected in zip(found.coords, np.nonzero(lane)):
            library.assert_equal(x[i, ...], expected.astype(library.to_numpy(x).dtype))


CHECKS: dict[str, Row] = {
    "Backend.is_sparse": is_sparse,
    "Backend.get_sparse_format": sparse_format,
    "Backend.disassemble": disassemble,
    "Backend.sparse_coo_tensor": constructed("coo", 0),
    "Backend.sparse_coo_tensor_batched": constructed("coo", None),
    "Backend.mul_coo_dense": multiplied("coo"),
    "Backend.coo_to_dense": densified("coo"),
    "Backend.csr_matrix": constructed("csr", 0),
    "Backend.csr_matrix_batched": constructed("csr", None),
    "Backend.mul_csr_dense": multiplied("csr"),
    "Backend.linear": linear,
    "Backend.csr_to_coo": csr_to_coo,
    "Backend.csr_to_dense": densified("csr"),
    "Backend.csc_matrix": constructed("csc", 0),
    "Backend.csc_matrix_batched": constructed("csc", None),
}
