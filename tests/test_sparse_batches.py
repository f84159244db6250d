"""Products of batches whose lanes have patterns of their own, and patterns that are known in what is compiled."""

from typing import Any

import numpy as np
import pytest

from tests.libraries import EAGER_LIBRARIES, Library
from xpand import array_namespace
from xpand_extensions import sparse
from xpand_extensions.autodiff import grad
from xpand_extensions.jit import jit

BY_ID = {library.id: library for library in EAGER_LIBRARIES}
LIBRARIES = [BY_ID[name] for name in ("numpy", "torch", "jax")]


def example(library: Library, batch: tuple[int, ...], m: int, n: int, format: str) -> tuple[Any, np.ndarray]:
    """Make a batch of numbers of entries that differ, with padding, and the dense array."""
    rng = np.random.default_rng(m + n)
    dense = rng.integers(1, 4, size=(*batch, m, n)) * (rng.random((*batch, m, n)) < 0.5) * 1.0
    stacked = sparse.convert(sparse.stack([sparse.from_dense(x) for x in dense.reshape(-1, m, n)]), format)
    assert stacked.pattern[0].ndim == 2
    values, *pattern = (library.asarray(x.reshape(*batch, -1)) for x in (stacked.values, *stacked.pattern))
    if format == "coo":
        return sparse.COO(values, tuple(pattern), dense.shape, check=False), dense
    return type(stacked)(values, *pattern, dense.shape, check=False), dense


@pytest.mark.parametrize("library", EAGER_LIBRARIES, ids=str)
@pytest.mark.parametrize("formats", [("csr", "csr"), ("coo", "csc"), ("csc", "csc")], ids=str)
def test_products_of_lanes(library: Library, formats: tuple[str, str]) -> None:
    a, x = example(library, (2, 1), 3, 4, formats[0])
    b, y = example(library, (3,), 4, 2, formats[1])
    with pytest.raises(ValueError, match=r"matmul: a has a pattern for each matrix of the batch.*`sparse.stack`"):
        _ = a @ b
    one = sparse.from_dense(library.asarray(x[1, 0]))
    with pytest.raises(ValueError, match=r"matmul: b has a pattern for each matrix of the batch"):
        _ = one @ b
    library.assert_equal(one @ b.todense(), x[1, 0] @ y, rtol=0)
    lanes = [sparse.from_dense(library.asarray(each)) for each in y]
    library.assert_equal(sparse.stack([one @ each for each in lanes]).todense(), x[1, 0] @ y, rtol=0)


@pytest.mark.parametrize("format", ["coo", "csr", "csc"])
def test_no_lanes(format: str) -> None:
    a, _ = example(BY_ID["numpy"], (3,), 4, 2, format)
    none = type(a)._of(a.values[:0], tuple([x[:0] for x in a.pattern]), a._static())
    b = sparse.eye(2, 5, xp=np)
    assert (none @ b.todense()).shape == (0, 4, 5)


@pytest.mark.parametrize("library", LIBRARIES, ids=str)
@pytest.mark.parametrize("format", ["csr", "csc"])
def test_lanes_without_entries(library: Library, format: str) -> None:
    values, places = library.asarray(np.zeros((1, 2, 0))), library.asarray(np.zeros((1, 2, 0), dtype=np.int64))
    a = sparse.convert(sparse.COO(values, (places, places), (1, 2, 0, 3)), format)
    for found in (sparse.sum_duplicates(a), sparse.sort(a), a + a, a * a):
        assert found.format == format
        assert found.todense().shape == (1, 2, 0, 3)
    library.assert_equal(a.mT @ a.todense(), np.zeros((1, 2, 3, 3)))


@pytest.mark.parametrize("library", LIBRARIES, ids=str)
def test_derivatives_in_the_values_of_lanes(library: Library) -> None:
    a, x = example(library, (2,), 3, 4, "csr")
    b, y = example(library, (2,), 4, 2, "csr")
    weights = library.asarray(np.cos(np.arange(12.0)).reshape(2, 3, 2))

    def total(values: Any) -> Any:
        product = a.with_values(values) @ b.todense()
        return array_namespace(product).sum(weights * product)

    of_dense = library.to_numpy(weights) @ np.swapaxes(y, -1, -2)
    coo = a.tocoo()
    rows, columns = (library.to_numpy(each) for each in coo.coords)
    is_entry = rows < 3
    expected = of_dense[np.arange(2)[:, None], np.minimum(rows, 2), np.minimum(columns, 3)] * is_entry
    found = library.to_numpy(grad(total)(a.values))
    np.testing.assert_allclose(np.where(is_entry, found, 0.0), expected, rtol=1e-12)
    np.testing.assert_allclose(x, library.to_numpy(a.todense()))


@pytest.mark.parametrize("library", [BY_ID["jax"], BY_ID["numpy"]], ids=str)
def test_patterns_of_diagonals_are_known_in_what_is_compiled(library: Library) -> None:
    def product(v: Any) -> Any:
        a = sparse.diags([v, v[:2]], offsets=(0, 1))
        # The number of entries of this product is found while it is compiled.
        return (a @ a + sparse.eye(3, xp=library.xp)).todense()

    v = np.asarray([1.0, 2.0, 3.0])
    a = np.diag(v) + np.diag(v[:2], 1)
    compiled = jit(product) if library.id == "jax" else product
    library.assert_equal(compiled(library.asarray(v)), a @ a + np.eye(3), rtol=1e-14)


def test_what_is_unknown_names_vmap() -> None:
    a = sparse.eye(3, xp=BY_ID["jax"].xp)
    with pytest.raises(TypeError, match=r"use `xpand.vmap`"):
        jit(lambda a: (a @ a).todense())(a)
