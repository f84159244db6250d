"""The rows of docs/coverage/phiml.toml that are about sparse arrays, each with its test."""

from typing import Any

import numpy as np
import scipy.sparse

from tests.coverage import Row
from tests.libraries import Library
from xpand_extensions import linalg, sparse

ROWS = np.asarray([[0, 0, 1, 2], [2, 0, 2, 1]])
COLUMNS = np.asarray([[1, 3, 0, 3], [0, 1, 3, 2]])
VALUES = np.asarray([[1.0, 2.0, 3.0, 4.0], [-1.0, 0.5, 2.5, 7.0]])
SHAPE = (3, 4)
DENSE = np.stack([scipy.sparse.coo_array((v, (i, j)), SHAPE).toarray() for v, i, j in zip(VALUES, ROWS, COLUMNS)])
X = np.arange(16.0).reshape(2, 4, 2) ** 1.5


def compressed(cls: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return values, indices and pointers of the batch, by SciPy."""
    members = [cls(each) for each in DENSE]
    return tuple(np.stack([getattr(x, name) for x in members]) for name in ("data", "indices", "indptr"))


def made(library: Library, format: str, member: int | None = 0) -> Any:
    """Make a container: of one member of the batch, or of all."""
    if format == "coo":
        parts, shape = (VALUES, ROWS, COLUMNS), SHAPE
    else:
        parts, shape = compressed(scipy.sparse.csr_array if format == "csr" else scipy.sparse.csc_array), SHAPE
    if member is None:
        shape = (2, *shape)
    values, first, second = (library.asarray(x if member is None else x[member]) for x in parts)
    if format == "coo":
        return sparse.COO(values, (first, second), shape)
    return (sparse.CSR if format == "csr" else sparse.CSC)(values, first, second, shape)


def constructed(format: str, member: int | None) -> Row:
    def check(library: Library) -> None:
        a = made(library, format, member)
        assert sparse.sparse_format(a) == format
        library.assert_equal(sparse.todense(a), DENSE if member is None else DENSE[member])

    return check


def multiplied(format: str) -> Row:
    def check(library: Library) -> None:
        found = sparse.matmul(made(library, format, None), library.asarray(X))
        library.assert_equal(found, DENSE @ X, rtol=1e-14)

    return check


def linear(library: Library) -> None:
    """PhiML's `linear` takes one matrix for all vectors, dense or sparse, matrices for each, or a function."""
    vectors = X[..., 0]
    x = library.asarray(vectors)
    library.assert_equal(linalg.matvec(library.asarray(DENSE[0]), x), vectors @ DENSE[0].T, rtol=1e-14)
    library.assert_equal(linalg.matvec(library.asarray(DENSE), x), (DENSE @ X)[..., 0], rtol=1e-14)
    of_each = sparse.matmul(made(library, "csr", None), x[..., None])
    library.assert_equal(of_each[..., 0], (DENSE @ X)[..., 0], rtol=1e-14)


def is_sparse(library: Library) -> None:
    assert sparse.is_sparse(made(library, "csr"))
    assert not sparse.is_sparse(library.asarray(X))
    assert sparse.is_sparse(scipy.sparse.csr_array(DENSE[0]))


def sparse_format(library: Library) -> None:
    assert [sparse.sparse_format(made(library, format)) for format in ("coo", "csr", "csc")] == ["coo", "csr", "csc"]
    assert sparse.sparse_format(library.asarray(X)) == "dense"


def disassemble(library: Library) -> None:
    a = made(library, "csr")
    assemble, arrays = sparse.disassemble({"a": a, "x": [library.asarray(X), "name"]})
    assert len(arrays) == 4
    again = assemble(*arrays)
    library.assert_equal(sparse.todense(again["a"]), DENSE[0])
    library.assert_equal(again["x"][0], X)
    assert again["x"][1] == "name"


def csr_to_coo(library: Library) -> None:
    found = sparse.tocoo(made(library, "csr", None))
    for i, member in enumerate(DENSE):
        for x, expected in zip(found.coords, np.nonzero(member)):
            library.assert_equal(x[i, ...], expected.astype(library.to_numpy(x).dtype))


CHECKS: dict[str, Row] = {
    "Backend.is_sparse": is_sparse,
    "Backend.get_sparse_format": sparse_format,
    "Backend.disassemble": disassemble,
    "Backend.sparse_coo_tensor": constructed("coo", 0),
    "Backend.sparse_coo_tensor_batched": constructed("coo", None),
    "Backend.mul_coo_dense": multiplied("coo"),
    "Backend.coo_to_dense": constructed("coo", None),
    "Backend.csr_matrix": constructed("csr", 0),
    "Backend.csr_matrix_batched": constructed("csr", None),
    "Backend.mul_csr_dense": multiplied("csr"),
    "Backend.linear": linear,
    "Backend.csr_to_coo": csr_to_coo,
    "Backend.csr_to_dense": constructed("csr", None),
    "Backend.csc_matrix": constructed("csc", 0),
    "Backend.csc_matrix_batched": constructed("csc", None),
}
