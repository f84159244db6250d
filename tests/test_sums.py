"""Sums of many numbers: in every function that adds, the error does not grow with their number."""

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pytest

from tests.libraries import Library
from xpand_extensions import histograms, scatter, sparse, statistics
from xpand_extensions.autodiff import grad

Total = Callable[[Any, Any, Any], Any]
"""Adds values in a function: takes a namespace, the values, and as many zeros of the index type."""


def _sparse(values: Any, rows: Any, columns: Any, shape: tuple[int, int]) -> Any:
    return sparse.COO(values, (rows, columns), shape)


def _row(xp: Any, v: Any, zeros: Any) -> Any:
    """Make a matrix of one row."""
    n = v.shape[0]
    indptr = xp.astype(xp.asarray([0, n]), zeros.dtype)
    return sparse.CSR(v, _numbers(xp, zeros), indptr, (1, n))


def _numbers(xp: Any, zeros: Any) -> Any:
    return xp.cumulative_sum(zeros + 1, dtype=zeros.dtype) - 1


def _gradient(read: Callable[..., Any]) -> Total:
    """Return the gradient of reading one element for each value."""

    def total(xp: Any, v: Any, zeros: Any) -> Any:
        return xp.sum(grad(lambda x: xp.sum(xp.real(read(x, zeros) * xp.conj(v))))(v[:3] * 0))

    return total


def _of_columns(function: Total) -> Total:
    """Add the values of the second of three columns."""

    def total(xp: Any, v: Any, zeros: Any) -> Any:
        return function(xp, xp.stack([v * 0, v, v * 0], axis=-1), zeros)[..., 1]

    return total


SUMS: Final[dict[str, Total]] = {
    "segment_sum": lambda xp, v, zeros: scatter.segment_sum(v, zeros, num_segments=2)[0, ...],
    "segment_reduce": lambda xp, v, zeros: scatter.segment_reduce(v, xp.asarray([0, v.shape[0]]))[0, ...],
    "scatter": lambda xp, v, zeros: scatter.scatter(v[:2, ...] * 0, zeros, v, operation="add")[0, ...],
    "scatter_nd": lambda xp, v, zeros: scatter.scatter_nd(v[:2, ...] * 0, zeros[:, None], v, operation="add")[0, ...],
    "at": lambda xp, v, zeros: scatter.at(v[:2, ...] * 0)[zeros].add(v)[0, ...],
    "at.subtract": lambda xp, v, zeros: -scatter.at(v[:2, ...] * 0)[zeros].subtract(v)[0, ...],
}
MEANS: Final[dict[str, Total]] = {
    "segment_mean": lambda xp, v, zeros: scatter.segment_mean(v, zeros, num_segments=2)[0, ...],
    "segment_reduce": lambda xp, v, zeros: scatter.segment_reduce(v, xp.asarray([0, v.shape[0]]), operation="mean")[0],
    "scatter": lambda xp, v, zeros: scatter.scatter(v[:2, ...] * 0, zeros, v, operation="mean")[0, ...],
    "average": lambda xp, v, zeros: statistics.average(v, axis=0),
    "average with weights": lambda xp, v, zeros: statistics.average(v, axis=0, weights=xp.ones_like(v)),
    "nanmean": lambda xp, v, zeros: statistics.nanmean(v, axis=0),
}
ELEMENTWISE: Final[dict[str, Total]] = {
    **SUMS,
    **{f"{name} of columns": _of_columns(function) for name, function in SUMS.items()},
    "few rows": lambda xp, v, zeros: scatter.at(xp.broadcast_to(v[:1] * 0, (20 * v.shape[0],)))[zeros].add(v)[0],
    "pairs": lambda xp, v, zeros: scatter.at(xp.reshape(v[:4] * 0, (2, 2)))[zeros, zeros].add(v)[0, 0],
    "bincount": lambda xp, v, zeros: histograms.bincount(zeros, weights=v, length=2)[0],
    "sparse.sum": lambda xp, v, zeros: sparse.sum(_sparse(v, zeros, _numbers(xp, zeros), (1, v.shape[0]))),
    "sparse.sum of rows": lambda xp, v, zeros: sparse.sum(_row(xp, v, zeros), axis=1)[0],
    "todense": lambda xp, v, zeros: sparse.todense(_sparse(v, zeros, zeros, (2, 2)))[0, 0],
    "CSR": lambda xp, v, zeros: (_row(xp, v, zeros) @ xp.ones_like(v))[0],
    "CSR of columns": lambda xp, v, zeros: (_row(xp, v, zeros) @ xp.stack([v * 0, xp.ones_like(v)], axis=-1))[0, 1],
    "CSC": lambda xp, v, zeros: (xp.ones_like(v) @ _row(xp, v, zeros).T)[0],
    "COO": lambda xp, v, zeros: (_sparse(v, zeros, _numbers(xp, zeros), (1, v.shape[0])) @ xp.ones_like(v))[0],
}  # fmt: skip


def numbers(dtype: str, n: int) -> np.ndarray:
    x = np.random.default_rng(0).random(n) * 0.05
    return (x * (1 + 1j) if dtype == "complex64" else x.astype(np.float32)).astype(
        "float32" if dtype == "bfloat16" else dtype
    )


def checked(library: Library, function: Total, dtype: str, n: int, *, mean: bool = False) -> None:
    xp = library.xp
    if not hasattr(xp, dtype):
        pytest.skip(f"{library} has no {dtype}")
    v = xp.astype(library.asarray(numbers(dtype, n)), getattr(xp, dtype))
    zeros = library.asarray(np.zeros(n, np.int64))
    kind = np.complex128 if dtype == "complex64" else np.float64
    read = lambda x: np.asarray(library.to_numpy(xp.astype(x, xp.float32) if "16" in dtype else x)).astype(kind)
    exact = np.sum(read(v))
    found = function(xp, v, zeros)
    assert found.dtype == v.dtype
    bound = {"float16": 2**-10, "bfloat16": 2**-7}.get(dtype, 1e-6)
    np.testing.assert_allclose(read(found), exact / n if mean else exact, rtol=bound)


@pytest.mark.parametrize("dtype", ["float32", "complex64", "float16", "bfloat16"])
@pytest.mark.parametrize("name", ELEMENTWISE)
def test_sums(library: Library, name: str, dtype: str) -> None:
    checked(library, ELEMENTWISE[name], dtype, 100_000 if library.id in ("numpy", "torch", "jax") else 20_000)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("name", MEANS)
def test_means(library: Library, name: str, dtype: str) -> None:
    checked(library, MEANS[name], dtype, 70_000, mean=True)
