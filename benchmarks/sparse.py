"""Sparse products, and the assembly of a sparse matrix, compared with SciPy and each library's own functions.

The matrix is the five-point Laplacian of a square of cells: 2.4 million entries.
"""

import warnings
from collections.abc import Iterator
from typing import Any, Final

import numpy as np
from scipy import sparse

from xpand_extensions.sparse import from_native, matmul
from xpand_extensions.sparse._assembly import assembled_values, csr_assembly
from xpand_extensions.sparse._products import csr_matmul, csr_plan

from ._measure import Budget, Call, Row
from .namespaces import libraries

SMALL: Final[dict[str, int]] = {"side": 5, "columns": 2, "entries": 40}
"""The sizes with which the tests run every row."""

BUDGETS: Final = {"numpy": Budget(ratio=1.05), "torch": Budget(), "jax": Budget(ratio=2.0)}
"""For a product with a vector. On JAX the reference is SciPy: JAX's sparse arrays take ten times as long."""

SQUARE: Final = Budget(ratio=1.5)
SQUARE_REASON: Final = (
    "entries are converted from rows to positions and back; the pattern keeps sums that are zero, which are counted"
)
"""Why a product of two sparse matrices is over the budget."""

ASSEMBLY: Final = Budget(ratio=1.2)

REASON: Final = "the checks of the parts take a tenth of a millisecond more while the caches are cold"
"""Why a product is over the budget."""

REASONS: Final = {"jax": "the pattern is computed on the host, and XLA gathers the values from random positions"}
"""Why an assembly is over the budget."""


def rows(side: int = 700, columns: int = 16, entries: int = 5_000_000) -> Iterator[Row]:
    matrix = laplacian(side)
    random = np.random.default_rng(0)
    for library in libraries():
        for width in (1, columns):
            x = random.uniform(size=(matrix.shape[1],) if width == 1 else (matrix.shape[1], width))
            yield _product(library, matrix, x)
    numpy = libraries()[0]
    ours = from_native(matrix)
    references = {"scipy.sparse, sorted": Call(_sorted_square, matrix)}
    topic = f"product of two sparse matrices, {matrix.nnz:,} entries each"
    yield Row(topic, numpy.name, Call(matmul, ours, ours), references, SQUARE, SQUARE_REASON)
    for library in libraries():
        yield _assembly(library, side**2, entries)


def laplacian(side: int) -> Any:
    """Make SciPy's matrix of the five-point Laplacian on `side` times `side` cells."""
    line = sparse.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(side, side))
    one = sparse.eye_array(side)
    return (sparse.kron(one, line) + sparse.kron(line, one)).tocsr()


def _sorted_square(matrix: Any) -> Any:
    return (matrix @ matrix).sorted_indices()


def _product(library: Any, matrix: Any, x: np.ndarray) -> Row:
    topic = f"sparse product, {matrix.nnz:,} entries"
    values, indices, indptr = (library.xp.asarray(part) for part in (matrix.data, matrix.indices, matrix.indptr))
    given = library.xp.asarray(x)
    ours = Call(csr_matmul, values, indices, indptr, given, shape=matrix.shape)
    name = library.name if x.ndim == 1 else f"{library.name}, {x.shape[1]} columns"
    references = {"scipy.sparse": Call(matrix.__matmul__, x)}
    budget = BUDGETS[library.name] if x.ndim == 1 else Budget()
    if library.name == "torch":
        references = {"torch CSR": _torch(values, indices, indptr, given, matrix.shape)}
    if library.name == "jax":
        ours = _compiled(values, indices, indptr, given, matrix.shape)
        if x.ndim > 1:
            references = {"jax BCSR": _bcsr(values, indices, indptr, given, matrix.shape)}
    return Row(topic, name, ours, references, budget, REASON)


def _torch(values: Any, indices: Any, indptr: Any, x: Any, shape: tuple[int, int]) -> Call:
    import torch

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch warns that its CSR may change
        matrix = torch.sparse_csr_tensor(indptr, indices, values, size=shape)
    return Call(torch.matmul, matrix, x)


def _compiled(values: Any, indices: Any, indptr: Any, x: Any, shape: tuple[int, int]) -> Call:
    import jax

    plan = csr_plan(indices, indptr, shape=shape)
    ours = jax.jit(lambda v, i, p, x, plan: csr_matmul(v, i, p, x, shape=shape, plan=plan))
    return Call(ours, values, indices, indptr, x, plan)


def _bcsr(values: Any, indices: Any, indptr: Any, x: Any, shape: tuple[int, int]) -> Call:
    import jax
    from jax.experimental.sparse import BCSR

    return Call(jax.jit(lambda matrix, x: matrix @ x), BCSR((values, indices, indptr), shape=shape), x)


def _assembly(library: Any, size: int, entries: int) -> Row:
    """Compare the assembly of entries near the diagonal, like those of a mesh."""
    random = np.random.default_rng(0)
    rows = random.integers(0, size, entries).astype(np.int32)
    columns = np.clip(rows + random.integers(-2, 3, entries), 0, size - 1).astype(np.int32)
    values = random.uniform(size=entries)

    def assemble(values: Any, rows: Any, columns: Any) -> Any:
        return assembled_values(values, csr_assembly(rows, columns, shape=(size, size)))

    def scipy(values: Any, rows: Any, columns: Any) -> Any:
        made = sparse.coo_array((values, (rows, columns)), shape=(size, size)).tocsr()
        made.sum_duplicates()
        return made

    ours = Call(assemble, *(library.xp.asarray(part) for part in (values, rows, columns)))
    references = {"scipy.sparse": Call(scipy, values, rows, columns)}
    topic = f"assembly of {entries:,} entries by rows"
    return Row(topic, library.name, ours, references, ASSEMBLY, REASONS.get(library.name, ""))
