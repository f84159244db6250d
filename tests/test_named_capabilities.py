"""xpand's own capabilities by name, compared with the positional functions, on every library."""

from typing import Any

import numpy as np
import pytest

from tests.libraries import Library
from xpand_extensions import named as hax
from xpand_extensions import scatter, special, statistics, windows

VALUES = np.random.default_rng(0).normal(size=(2, 3, 3))
NAMES = ("batch", "row", "column")
MATRICES = VALUES @ np.swapaxes(VALUES, 1, 2) + 3 * np.eye(3)


def named(library: Library, values: Any = VALUES, names: Any = NAMES) -> hax.NamedArray:
    return hax.named(library.asarray(values), names)


def assert_named(library: Library, found: Any, names: Any, expected: Any) -> None:
    assert found.names == tuple(names)
    library.assert_equal(found.array, expected, rtol=1e-10, atol=1e-12)


ELEMENTWISE = set(special.__all__) & set(vars(hax.special))
UNARY = sorted(ELEMENTWISE - {"betainc", "betaln", "gammainc", "gammaincc", "polygamma", "xlog1py", "xlogy", "zeta"})


@pytest.mark.parametrize("name", UNARY)
def test_special_functions(eager_library: Library, name: str) -> None:
    values = 1 / (1 + np.exp(-VALUES))  # from 0 to 1, where all are defined
    found = getattr(hax.special, name)(named(eager_library, values))
    expected = getattr(special, name)(eager_library.asarray(values))
    assert_named(eager_library, found, NAMES, eager_library.to_numpy(expected))


def test_special_functions_of_several_arrays_broadcast_by_name(library: Library) -> None:
    x, y = named(library, np.abs(VALUES)), named(library, np.abs(VALUES[0].T), ("column", "row"))
    found = hax.special.xlogy(x, y)
    assert_named(library, found, NAMES, np.abs(VALUES) * np.log(np.abs(VALUES[0])))
    found = hax.special.gammainc(2.0, x)
    assert_named(library, found, NAMES, special.gammainc(2.0, np.abs(VALUES)))


def test_every_elementwise_special_function_is_there() -> None:
    elsewhere = {"cbrt", "exp2", "log_softmax", "logsumexp", "rsqrt", "sinc", "softmax"}
    assert set(special.__all__) - elsewhere == ELEMENTWISE


@pytest.mark.parametrize("name", hax.scatter.__all__)
def test_segments(library: Library, name: str) -> None:
    ids, teams = np.asarray([1, 0, 1]), hax.Axis("team", 2)
    found = getattr(hax.scatter, name)(named(library), named(library, ids, "row"), teams)
    expected = getattr(scatter, name)(VALUES, ids, num_segments=2, axis=1)
    assert_named(library, found, ("batch", "column", "team"), np.swapaxes(expected, 1, 2))


def test_segments_for_each_batch_element(library: Library) -> None:
    ids = np.asarray([[1, 0, 1], [0, 0, 1]])
    found = hax.scatter.segment_sum(
        named(library), named(library, ids, ("batch", "row")), hax.Axis("team", 2), axis="row"
    )
    expected = [scatter.segment_sum(x, i, num_segments=2).T for x, i in zip(VALUES, ids)]
    assert_named(library, found, ("batch", "column", "team"), np.stack(expected))


def test_linear_algebra(library: Library) -> None:
    a = named(library, np.moveaxis(MATRICES, 0, 1), ("row", "batch", "column"))
    b = named(library, VALUES[:, 0], ("batch", "row"))
    axes = ("row", "column")
    solution = np.linalg.solve(MATRICES, VALUES[:, 0][..., None])[..., 0]
    assert_named(library, hax.linalg.solve(a, b, axes=axes), ("batch", "column"), solution)
    inverse = np.linalg.inv(MATRICES)
    assert_named(library, hax.linalg.inv(a, axes=axes), ("batch", "column", "row"), inverse)
    assert_named(library, hax.linalg.det(a, axes=axes), ("batch",), np.linalg.det(MATRICES))
    assert_named(library, hax.linalg.cholesky(a, axes=axes), NAMES, np.linalg.cholesky(MATRICES))


def test_eigenvalues_and_exponentials(library: Library) -> None:
    if library.lazy:
        pytest.skip("Dask has no eigenvalues")
    a, axes = named(library, MATRICES), ("row", "column")
    values = np.linalg.eigvalsh(MATRICES)
    assert_named(library, hax.linalg.eigvalsh(a, axes=axes), ("batch", "column"), values)
    found = hax.linalg.eigh(a, axes=axes)
    vectors = found.eigenvectors
    assert vectors.names == NAMES
    product = hax.dot(a.rename({"column": "k"}), vectors.rename({"row": "k"}), axis="k")
    scaled = (vectors * found.eigenvalues).rearrange(product.names)
    np.testing.assert_allclose(library.to_numpy(product.array), library.to_numpy(scaled.array), atol=1e-10)
    small = hax.linalg.expm(named(library, np.stack([np.diag([0.0, 1.0, 2.0])] * 2)), axes=axes)
    assert_named(library, small, NAMES, np.stack([np.diag(np.exp([0.0, 1.0, 2.0]))] * 2))


def test_quantiles(library: Library) -> None:
    x = named(library)
    assert_named(library, hax.statistics.quantile(x, 0.3, "row"), ("batch", "column"), np.quantile(VALUES, 0.3, axis=1))
    found = hax.statistics.quantile(x, [0.25, 0.5], ("column", "batch"), new="level")
    assert_named(library, found, ("level", "row"), np.quantile(VALUES, [0.25, 0.5], axis=(0, 2)))
    gaps = np.where(VALUES > 1, np.nan, VALUES)
    found = hax.statistics.nanquantile(named(library, gaps), 0.5)
    assert_named(library, found, (), np.nanquantile(gaps, 0.5))


def test_running_extremes_and_windows(library: Library) -> None:
    x = named(library)
    for name in ("cumulative_max", "cumulative_min", "logcumsumexp"):
        expected = getattr(statistics, name)(VALUES, axis=1)
        assert_named(library, getattr(hax.statistics, name)(x, "row"), NAMES, expected)
    for name in ("window_sum", "window_mean", "window_max", "window_min"):
        expected = getattr(windows, name)(VALUES, (2, 3), axis=(2, 1))
        assert_named(library, getattr(hax.statistics, name)(x, {"column": 2, "row": 3}), NAMES, expected)


def test_bad_arguments() -> None:
    x, ids = hax.named(VALUES, NAMES), hax.named(np.asarray([0, 1, 0]), "row")
    with pytest.raises(TypeError, match="segments must be an Axis"):
        hax.scatter.segment_sum(x, ids, 2)
    with pytest.raises(ValueError, match=r"segment_ids has the axes .*choose one with axis="):
        hax.scatter.segment_sum(x, hax.named(np.zeros((2, 3), int), ("batch", "row")), hax.Axis("team", 2))
    with pytest.raises(ValueError, match="'depth'"):
        hax.scatter.segment_sum(x, ids.rename({"row": "depth"}), hax.Axis("team", 2))
    with pytest.raises(ValueError, match=r"solve: the matrices must be square, got sizes 2 and 3"):
        hax.linalg.solve(x, ids, axes=("batch", "row"))
    with pytest.raises(ValueError, match="solve: .*'row'"):
        hax.linalg.solve(x, hax.named(np.ones(3), "depth"), axes=("row", "column"))
    with pytest.raises(ValueError, match="the row and the column axis, got 1"):
        hax.linalg.inv(x, axes="row")
    with pytest.raises(TypeError, match="window must be a dictionary"):
        hax.statistics.window_sum(x, 2)
    with pytest.raises(ValueError, match="'depth'"):
        hax.statistics.quantile(x, 0.5, "depth")
    with pytest.raises(ValueError, match="must be different"):
        hax.statistics.quantile(x, [0.5], "row", new="batch")
