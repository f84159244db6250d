"""Sparse arrays for tests, with the dense arrays that they represent."""

from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import strategies as st

from tests.libraries import Library
from xpand_extensions import sparse

FORMATS = ["coo", "csr", "csc"]
DTYPES = ["float32", "float64", "complex128", "int64", "int32"]


@st.composite
def matrices(
    draw: st.DrawFn, shape: tuple[int, int] | None = None, dtypes: list[str] | None = None, formats: Any = None
) -> tuple[str, np.ndarray, np.ndarray, np.ndarray, tuple[int, int]]:
    """Draw a format, values, rows, columns and a shape: with duplicates, in any order, perhaps empty."""
    m, n = shape if shape is not None else (draw(st.integers(0, 4)), draw(st.integers(0, 4)))
    nse = draw(st.integers(0, 7)) if m and n else 0
    index = draw(st.sampled_from(["int32", "int64"]))
    rows = np.asarray(draw(st.lists(st.integers(0, max(m - 1, 0)), min_size=nse, max_size=nse)), dtype=index)
    columns = np.asarray(draw(st.lists(st.integers(0, max(n - 1, 0)), min_size=nse, max_size=nse)), dtype=index)
    dtype = draw(st.sampled_from(dtypes or DTYPES))
    # Small integers have exact sums and products.
    values = np.asarray(draw(st.lists(st.integers(-3, 3), min_size=nse, max_size=nse))).astype(dtype)
    if np.dtype(dtype).kind == "c":
        values = values * (1 - 2j)
    return draw(st.sampled_from(formats or FORMATS)), values, rows, columns, (m, n)


def made(library: Library, problem: Any) -> tuple[Any, np.ndarray]:
    """Make the container and the dense array of a drawn matrix."""
    format, values, rows, columns, shape = problem
    dense = np.zeros(shape, dtype=values.dtype)
    np.add.at(dense, (rows, columns), values)
    coo = sparse.COO(library.asarray(values), (library.asarray(rows), library.asarray(columns)), shape)
    return sparse.convert(coo, format), dense


def assert_means(library: Library, a: Any, dense: np.ndarray, format: str | None = None, rtol: float = 0.0) -> None:
    """Assert that a container represents a dense array, and that its flags are true."""
    assert isinstance(a, sparse.Sparse)
    assert format is None or a.format == format
    assert a.shape == dense.shape
    library.assert_equal(a.todense(), dense, rtol=rtol)
    coo = a.tocoo()
    if coo.nse == a.nse and all((library.to_numpy(x) < size).all() for x, size in zip(coo.coords, coo._sparse_shape)):
        again: Callable[..., Any] = type(a)
        pattern = (a.pattern,) if a.format == "coo" else a.pattern
        options = {"dense_ndim": a.dense_ndim} if a.format == "coo" else {}
        again(a.values, *pattern, a.shape, is_sorted=a.is_sorted, is_unique=a.is_unique, **options)


def examples(library: Library) -> int:
    """Set the number of examples to draw."""
    return 4 if library.id in ("jax", "dask") else 20
