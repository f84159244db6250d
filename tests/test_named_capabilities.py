"""xpand's own capabilities by name, compared with the positional functions, on every library."""

from typing import Any

import numpy as np
import pytest

from tests.libraries import Library
from xpand_extensions import (
    convolution,
    interpolation,
    named as hax,
    optimize,
    scatter,
    sparse,
    special,
    statistics,
    windows,
)

VALUES = np.random.default_rng(0).normal(size=(2, 3, 3))
NAMES = ("batch", "row", "column")
MATRICES = VALUES @ np.swapaxes(VALUES, 1, 2) + 3 * np.eye(3)


def named(library: Library, values: Any = VALUES, names: Any = NAMES) -> hax.NamedArray:
    return hax.named(library.asarray(values), names)


def assert_named(library: Library, found: Any, names: Any, expected: Any) -> None:
    assert found.names == tuple(names)
    library.assert_equal(found.array, expected, rtol=1e-10, atol=1e-12)


ALONG_AXES = {"log_softmax", "logsumexp", "softmax"}
ELEMENTWISE = (set(special.__all__) & set(vars(hax.special))) - ALONG_AXES
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
    elsewhere = {"cbrt", "exp2", "rsqrt", "sinc"}
    assert set(special.__all__) - elsewhere - ALONG_AXES == ELEMENTWISE


def test_special_functions_along_axes(library: Library) -> None:
    x = named(library)
    assert_named(library, hax.special.logsumexp(x, "row"), ("batch", "column"), special.logsumexp(VALUES, axis=1))
    assert_named(library, hax.special.logsumexp(x), (), special.logsumexp(VALUES))
    for name in ("softmax", "log_softmax"):
        found = getattr(hax.special, name)(x, "row")
        assert_named(library, found, NAMES, getattr(special, name)(VALUES, axis=1))


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
    assert_named(library, hax.statistics.median(x, ("row", "batch")), ("column",), np.median(VALUES, axis=(0, 1)))
    gaps = np.where(VALUES > 1, np.nan, VALUES)
    assert_named(library, hax.statistics.nanmedian(named(library, gaps)), (), np.nanmedian(gaps))
    found = hax.statistics.nanquantile(named(library, gaps), 0.5)
    assert_named(library, found, (), np.nanquantile(gaps, 0.5))


def test_running_extremes_and_windows(library: Library) -> None:
    x = named(library)
    for name in ("cumulative_max", "cumulative_min", "logcumsumexp"):
        expected = getattr(statistics, name)(VALUES, axis=1)
        assert_named(library, getattr(hax.statistics, name)(x, "row"), NAMES, expected)
    for name in ("window_sum", "window_mean", "window_max", "window_min", "window_prod"):
        expected = getattr(windows, name)(VALUES, (2, 3), axis=(2, 1))
        assert_named(library, getattr(hax.statistics, name)(x, {"column": 2, "row": 3}), NAMES, expected)


def test_convolutions(library: Library) -> None:
    x, kernel = named(library), named(library, VALUES[0, :2], ("column", "batch"))
    # A kernel of columns for each element of the batch; rows broadcast.
    by_position = np.swapaxes(VALUES[0, :2], 0, 1)[:2, None, :]
    kernel = named(library, by_position[:, 0].T, ("column", "batch"))
    for name in ("convolve", "correlate"):
        expected = getattr(convolution, name)(VALUES, by_position, axes=2, mode="same")
        assert_named(library, getattr(hax.convolution, name)(x, kernel, "column", mode="same"), NAMES, expected)


def test_convolutions_of_channels(library: Library) -> None:
    rng = np.random.default_rng(1)
    x, kernel = rng.normal(size=(2, 3, 4, 6, 5)), rng.normal(size=(7, 4, 3, 2))
    moved = named(library, np.moveaxis(x, 2, 0), ("in", "a", "b", "height", "width"))
    taps = named(library, np.moveaxis(kernel, 1, 3), ("out", "height", "width", "in"))
    found = hax.convolution.conv(moved, taps, ("height", "width"), ("in", "out"), strides=(2, 1))
    expected = convolution.conv(x.reshape(6, 4, 6, 5), kernel, strides=(2, 1))
    names = ("a", "b", "out", "height", "width")
    assert_named(library, found, names, expected.reshape(2, 3, *expected.shape[1:]))
    back = hax.convolution.conv_transpose(found, taps, ("height", "width"), ("out", "in"), strides=(2, 1))
    transposed = convolution.conv_transpose(expected, kernel, strides=(2, 1))
    assert_named(library, back, ("a", "b", "in", "height", "width"), transposed.reshape(2, 3, *transposed.shape[1:]))


def test_interpolation(library: Library) -> None:
    points, values = np.asarray([0.0, 1.0, 3.0]), VALUES
    new = np.asarray([[-1.0, 0.5, 2.0, 5.0], [0.25, 1.0, 3.0, 2.5]])
    grid, y = named(library, points, "column"), named(library, values)
    # Each element of the batch has its own positions, and each row its own function.
    found = hax.interpolation.interp(named(library, new, ("batch", "new")), grid, y, "column", left=0.0)
    expected = [interpolation.interp(x, points, each, left=0.0) for x, each in zip(new, values)]
    assert_named(library, found, ("batch", "row", "new"), np.stack(expected))
    own = np.stack([points, 2 * points])
    found = hax.interpolation.interp(
        named(library, new[0], "new"), named(library, own, ("batch", "column")), y, "column"
    )
    expected = [interpolation.interp(new[0], x, each) for x, each in zip(own, values)]
    assert_named(library, found, ("batch", "row", "new"), np.stack(expected))


def test_samples_of_grids(library: Library) -> None:
    down, across = np.asarray([0.5, 1.5, 2.0]), np.asarray([[0.0, 1.25, 2.0], [2.5, -1.0, 0.5]])
    positions = {"row": named(library, down, "path"), "column": named(library, across, ("batch", "path"))}
    found = hax.interpolation.grid_sample(named(library), positions, extrapolation="periodic")
    both = np.stack([np.broadcast_to(down, across.shape), across], axis=-1)
    expected = interpolation.grid_sample(VALUES[..., None], both, extrapolation="periodic")[..., 0]
    assert_named(library, found, ("batch", "path"), expected)
    # An axis of the grid without positions stays, as the last.
    found = hax.interpolation.grid_sample(named(library), {"row": positions["row"]})
    line = interpolation.grid_sample(np.swapaxes(VALUES, 0, 1).reshape(1, 3, 6), down[None, :, None])
    assert_named(library, found, ("path", "batch", "column"), line.reshape(3, 2, 3))


def test_linear_systems(library: Library) -> None:
    a = named(library, np.moveaxis(MATRICES, 0, 1), ("row", "batch", "column"))
    b = named(library, VALUES[:, :2], ("batch", "case", "row"))
    axes, names = ("row", "column"), ("case", "batch", "column")
    expected = np.moveaxis(np.linalg.solve(MATRICES, np.swapaxes(VALUES[:, :2], 1, 2)), 2, 0)
    found = hax.linear_solve.solve(a, b, axes=axes)
    assert_named(library, found.x, names, expected)
    assert found.residual.names == ("case", "batch", "row")
    assert tuple(found.status.shape) == (2, 2)
    assert_named(library, hax.linear_solve.direct_solve(a, b, axes=axes), names, expected)
    lower = np.moveaxis(np.linalg.solve(np.tril(MATRICES), np.swapaxes(VALUES[:, :2], 1, 2)), 2, 0)
    assert_named(library, hax.linear_solve.solve_triangular(a, b, axes=axes), names, lower)


def test_least_squares_of_matrices(library: Library) -> None:
    a = named(library, MATRICES[:, :, :2])
    found = hax.linear_solve.lstsq(a, named(library, VALUES[0, 0], "row"), axes=("row", "column"))
    expected = [np.linalg.lstsq(x[:, :2], VALUES[0, 0]) for x in MATRICES]
    assert_named(library, found.x, ("batch", "column"), np.stack([each[0] for each in expected]))
    assert_named(library, found.residuals, ("batch",), np.concatenate([each[1] for each in expected]))
    assert_named(library, found.rank, ("batch",), [2, 2])
    values = np.stack([each[3] for each in expected])
    assert_named(library, found.singular_values, ("batch", "singular_value"), values)
    several = named(library, np.stack([VALUES[0, 0], VALUES[0, 1]]), ("side", "row"))
    found = hax.linear_solve.lstsq(a, several, axes=("row", "column"))
    assert_named(library, found.rank, ("side", "batch"), [[2, 2], [2, 2]])
    assert_named(library, found.singular_values, ("side", "batch", "singular_value"), np.stack([values, values]))


def test_linear_functions(eager_library: Library) -> None:
    library = eager_library
    a, b = named(library, MATRICES), named(library, VALUES[:, 0], ("batch", "row"))
    times = lambda x: hax.dot(x.rename({"row": "column"}), a, axis="column")
    found = hax.linear_solve.solve(
        times, b.rearrange(("row", "batch")), batch="batch", method="cg", positive_definite=True
    )
    expected = np.linalg.solve(MATRICES, VALUES[:, 0][..., None])[..., 0]
    assert found.x.names == ("batch", "row")
    library.assert_equal(found.x.array, expected, rtol=1e-6, atol=1e-8)


def test_minima_and_roots(eager_library: Library) -> None:
    library = eager_library
    target = named(library, VALUES[:, 0], ("batch", "row"))
    start = (0.0 * target).rearrange(("row", "batch"))
    found = hax.optimize.minimize(lambda x: ((x - target) ** 2.0).sum("row"), start, batch="batch")
    assert found.x.names == ("batch", "row")
    assert found.fun.names == ("batch",)
    library.assert_equal(found.x.array, VALUES[:, 0], rtol=1e-4, atol=1e-4)
    cube = hax.optimize.root(lambda x: x**3.0 - target**3.0, start + 2.0, batch="batch")
    library.assert_equal(cube.x.array, VALUES[:, 0], rtol=1e-4, atol=1e-4)


def test_bounds_residuals_and_trajectories() -> None:
    target = hax.named(VALUES[:, 0], ("batch", "row"))
    start = (0.0 * target).rearrange(("row", "batch"))
    bounded = hax.optimize.minimize(lambda x: ((x - target) ** 2.0).sum(), start, bounds=(None, 0.0 * target))
    np.testing.assert_allclose(bounded.x.array, np.minimum(VALUES[:, 0], 0).T, atol=1e-4)
    fitted = hax.optimize.least_squares(lambda x: {"gap": x - target}, start, batch="batch")
    np.testing.assert_allclose(fitted.x.array, VALUES[:, 0], atol=1e-4)
    assert fitted.fun["gap"].names == ("batch", "row")
    still = hax.optimize.fixed_point(lambda x: 0.5 * (x + target), start, batch="batch", max_steps=[1, 100])
    np.testing.assert_allclose(still.x.array, VALUES[:, 0], atol=1e-4)
    assert still.trajectory is not None
    assert still.trajectory.x.shape == {"step": 2, "batch": 2, "row": 3}
    own = hax.optimize.minimize(
        lambda x: ((x - target) ** 2.0).sum(), start, gradient=lambda x: 2.0 * (target - x) * -1.0, max_steps=[2, 50]
    )
    np.testing.assert_allclose(own.x.array, VALUES[:, 0].T, atol=1e-4)
    assert own.trajectory is not None
    assert own.trajectory.fun.names == ("step",)


@pytest.mark.parametrize("name", ["bisect", "bracketed_root", "brentq"])
def test_roots_in_intervals(eager_library: Library, name: str) -> None:
    low, squares = np.asarray([0.0, 1.0, 2.0]), np.asarray([[5.0], [8.0]])
    a, both = named(eager_library, low, "row"), named(eager_library, squares + 0.0 * low, ("batch", "row"))
    found = getattr(hax.optimize, name)(lambda x: (x * x).rearrange(("row", "batch")) - both, a, both)
    assert found.x.names == found.fun.names == ("batch", "row")
    eager_library.assert_equal(found.x.array, np.sqrt(squares + 0.0 * low), rtol=1e-10, atol=1e-12)


def test_sparse_arrays(eager_library: Library) -> None:
    library, axes = eager_library, ("row", "column")
    values = np.where(VALUES[0] > 0, VALUES[0], 0)
    a = hax.sparse.from_dense(named(library, values.T, ("column", "row")), axes)
    assert_named(library, hax.sparse.todense(a, axes), axes, values)
    found = hax.sparse.matmul(a, named(library, VALUES, ("batch", "column", "case")), axes=axes)
    assert_named(library, found, ("row", "batch", "case"), np.einsum("ij,bjc->ibc", values, VALUES))
    for name in ("sum", "mean", "max", "min"):
        found = getattr(hax.sparse, name)(a, "row", axes=axes)
        assert_named(library, found, ("column",), getattr(np, name)(values, axis=0))
    assert_named(library, hax.sparse.sum(a, axes=axes), (), values.sum())


def test_systems_of_sparse_matrices(eager_library: Library) -> None:
    library, axes = eager_library, ("row", "column")
    if library.id.startswith("jax"):
        pytest.skip("the same as of functions, and slow to compile")
    matrix = np.eye(3) * 4.0 + np.where(VALUES[0] > 0, VALUES[0], 0)
    a = hax.sparse.from_dense(named(library, matrix, axes), axes)
    found = hax.linear_solve.solve(a, named(library, VALUES[0], ("case", "row")), axes=axes).x
    assert found.names == ("case", "column")
    library.assert_equal(found.array, np.linalg.solve(matrix, VALUES[0].T).T, rtol=1e-6, atol=1e-7)


def test_stacks_of_sparse_matrices(eager_library: Library) -> None:
    values = np.where(VALUES > 0, VALUES, 0)
    a = sparse.from_dense(eager_library.asarray(values), batch_ndim=1)
    found = hax.sparse.matmul(a, named(eager_library, VALUES[0], ("column", "case")), axes=NAMES)
    assert_named(eager_library, found, ("batch", "row", "case"), values @ VALUES[0])


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
    x, kernel = hax.named(VALUES, NAMES), hax.named(np.ones((2, 2)), ("row", "batch"))
    with pytest.raises(ValueError, match="convolve: no axis 'column'"):
        hax.convolution.convolve(x, kernel, "column")
    with pytest.raises(ValueError, match="correlate: axis 'row' has size 3 in one array and 2"):
        hax.convolution.correlate(x, kernel, "batch")
    taps = hax.named(np.ones((1, 2, 3, 3)), ("out", "batch", "column", "row"))
    with pytest.raises(ValueError, match=r"conv: kernel has the axes \('row',\) in addition"):
        hax.convolution.conv(x, taps, "column", ("batch", "out"))
    with pytest.raises(ValueError, match="interp: x has the axis 'row' of the points"):
        hax.interpolation.interp(x, ids, x, "row")
    with pytest.raises(TypeError, match="grid_sample: coordinates must be a dictionary"):
        hax.interpolation.grid_sample(x, ids)
    with pytest.raises(ValueError, match=r"the coordinates have the axes \['row'\] of the grid"):
        hax.interpolation.grid_sample(x, {"row": ids})
    with pytest.raises(ValueError, match="solve: axes must be the row and the column axis"):
        hax.linear_solve.solve(x, ids, axes=("row", "column", "batch"))
    with pytest.raises(ValueError, match="solve: axis 'batch' has size 2 in the matrices and 3 in b"):
        hax.linear_solve.solve(x, hax.named(np.ones((3, 3)), ("batch", "row")), axes=("row", "column"))
    with pytest.raises(ValueError, match="matmul: no axis 'column'"):
        hax.sparse.matmul(sparse.from_dense(VALUES[0]), ids, axes=("row", "column"))
    with pytest.raises(ValueError, match="sum: no axis 'depth'"):
        hax.sparse.sum(sparse.from_dense(VALUES[0]), "depth", axes=("row", "column"))
    with pytest.raises(ValueError, match=r"minimize: f must return an array with the axes \('batch',\)"):
        hax.optimize.minimize(lambda x: x.sum("row"), x, batch="batch")
    with pytest.raises(ValueError, match=r"root: f must return an array with the axes \('batch',"):
        hax.optimize.root(lambda x: x.sum("row"), x)
    system, b = hax.named(np.eye(3), ("row", "column")), hax.named(np.ones((2, 3)), ("batch", "row"))
    with pytest.raises(ValueError, match=r"solve: x0 must have the axes \('batch', 'column'\), got \{'column': 3\}"):
        hax.linear_solve.solve(system, b, axes=("row", "column"), x0=hax.named(np.ones(3), "column"), method="cg")
    with pytest.raises(ValueError, match="quantile: new axis 'level' has size 3, but there are 2 quantiles"):
        hax.statistics.quantile(x, [0.1, 0.2], "row", new=hax.Axis("level", 3))
    with pytest.raises(ValueError, match="root: no axis 'depth'"):
        hax.optimize.root(lambda x: x, x, batch="depth")
    assert issubclass(optimize.ConvergenceError, Exception)
    with pytest.raises(optimize.ConvergenceError):
        hax.optimize.brentq(lambda x: x - 5.0, 0.0, hax.named(np.ones(2), "row"))
