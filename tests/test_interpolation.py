"""Interpolation: every library against SciPy's map_coordinates and np.interp, transformations, bad input."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import ndimage

import xpand
from tests.libraries import Library
from tests.operations import Case, Check, check_values, checked
from xpand_extensions import interpolation
from xpand_extensions.vmap import vmap

MODES = {
    "boundary": "nearest",
    "undefined": "nearest",
    None: "nearest",
    "zeros": "grid-constant",
    "periodic": "grid-wrap",
    "symmetric": "reflect",
    "reflect": "mirror",
}
WORDS = [mode for mode in MODES if mode]


def normal(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape)


def by_scipy(grid: np.ndarray, coordinates: np.ndarray, extrapolation: str | None) -> np.ndarray:
    """Sample each batch element and each channel with SciPy, in double precision."""
    size = max(len(grid), len(coordinates)) if min(len(grid), len(coordinates)) else 0
    out = np.empty((size, *coordinates.shape[1:-1], grid.shape[-1]), np.result_type(grid, coordinates))
    for lane in range(size):
        places = np.reshape(coordinates[lane % len(coordinates)], (-1, grid.ndim - 2)).astype(np.float64).T
        for channel in range(grid.shape[-1]):
            table = grid[lane % len(grid), ..., channel]
            table = table.astype(np.result_type(table, np.float64))
            values = ndimage.map_coordinates(table, places, order=1, mode=MODES[extrapolation])
            out[lane, ..., channel] = values.reshape(out.shape[1:-1])
    return out


@st.composite
def samples(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, str | None]:
    d = draw(st.integers(1, 3))
    spatial = draw(st.lists(st.integers(1, 4), min_size=d, max_size=d))
    points = draw(st.lists(st.integers(0, 3), max_size=2))
    grids, lanes = draw(st.sampled_from([(1, 1), (1, 3), (3, 1), (2, 2), (0, 1), (0, 0)]))
    grid = normal(grids, *spatial, draw(st.integers(0, 3)))
    dtype = draw(st.sampled_from(["float32", "float64", "complex64", "complex128"]))
    grid = (grid + 1j * grid[::-1] if dtype[0] == "c" else grid).astype(dtype)
    # Quarters are exact in all types: whether a place lies outside is no matter of rounding.
    count = lanes * int(np.prod(points)) * d
    places = draw(st.lists(st.integers(-40, 40), min_size=count, max_size=count))
    coordinates = (np.asarray(places) / 4).astype(draw(st.sampled_from(["float32", "float64"])))
    return grid, coordinates.reshape(lanes, *points, d), draw(st.sampled_from(list(MODES)))


def test_agrees_with_map_coordinates(library: Library) -> None:
    @settings(max_examples=8 if library.lazy or library.id == "jax" else 50)
    @given(problem=samples())
    def run(problem: tuple[np.ndarray, np.ndarray, str | None]) -> None:
        grid, coordinates, extrapolation = problem
        result = interpolation.grid_sample(
            library.asarray(grid), library.asarray(coordinates), extrapolation=extrapolation
        )
        expected = by_scipy(grid, coordinates, extrapolation)
        rtol = 1e-5 if expected.dtype in ("float32", "complex64") else 1e-13
        library.assert_equal(result, expected, rtol=rtol, atol=rtol)

    run()


@pytest.mark.parametrize("extrapolation", WORDS)
@pytest.mark.parametrize("channels", [1, 3])
def test_more_places_than_a_block(eager_library: Library, extrapolation: str, channels: int) -> None:
    grid = normal(2, 7, 5, channels)
    places = np.random.default_rng(1).uniform(-12, 15, (2, 6000, 2))
    places[:, :4500] = np.clip(places[:, :4500], 0, 4)  # a block within, one partly outside
    result = interpolation.grid_sample(
        eager_library.asarray(grid), eager_library.asarray(places), extrapolation=extrapolation
    )
    eager_library.assert_equal(result, by_scipy(grid, places, extrapolation), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("extrapolation", WORDS)
def test_at_points_values_are_exact(library: Library, extrapolation: str) -> None:
    grid = normal(1, 4, 3, 2)
    places = np.stack(np.meshgrid(np.arange(4.0), np.arange(3.0), indexing="ij"), axis=-1)[None]
    result = interpolation.grid_sample(library.asarray(grid), library.asarray(places), extrapolation=extrapolation)
    library.assert_equal(result, grid)


@pytest.mark.parametrize("extrapolation", WORDS)
@pytest.mark.parametrize(("dtype", "error"), [("float32", 4e-6), ("float64", 1e-14)])
def test_kernel_of_torch_is_as_exact_as_its_coordinates(extrapolation: str, dtype: str, error: float) -> None:
    import torch

    # A few units in the last place of 61, the size of an axis, times slopes below 1.
    random = np.random.default_rng(3)
    grid = random.uniform(size=(2, 61, 33, 3)).astype(dtype)
    places = random.uniform(-30, 90, (1, 4000, 2)).astype(dtype)
    mode: Any = extrapolation
    result = interpolation.grid_sample(torch.asarray(grid), torch.asarray(places), extrapolation=mode)
    assert result.dtype == getattr(torch, dtype)
    expected = by_scipy(grid.astype("float64"), places.astype("float64"), extrapolation)
    np.testing.assert_allclose(result.numpy(), expected, rtol=0, atol=error)


def test_forward_derivatives_of_torch() -> None:
    import torch
    from torch.autograd import forward_ad

    grid, places = torch.asarray([[[1.0], [3.0], [4.0]]]), torch.asarray([[[0.5], [1.5]]])
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(places, torch.ones_like(places))
        tangent = forward_ad.unpack_dual(interpolation.grid_sample(grid, dual)).tangent
    assert tangent.flatten().tolist() == [2.0, 1.0]


@pytest.mark.parametrize("extrapolation", WORDS)
def test_places_that_are_not_finite(library: Library, extrapolation: str) -> None:
    grid = library.asarray(np.asarray([1.0, 2.0, 4.0]).reshape(1, 3, 1))
    places = np.asarray([np.nan, np.inf, -np.inf, 0.5, -0.0, 1e300]).reshape(1, 6, 1)
    result = interpolation.grid_sample(grid, library.asarray(places), extrapolation=extrapolation)
    found = np.asarray(library.to_numpy(result))[0, :, 0]
    outside = {"boundary": [4.0, 1.0], "undefined": [4.0, 1.0], "zeros": [0.0, 0.0]}.get(extrapolation, [np.nan] * 2)
    np.testing.assert_array_equal(found[:5], [np.nan, *outside, 1.5, 1.0])
    if extrapolation in ("boundary", "zeros"):
        assert found[5] == outside[0]
    else:
        assert 1.0 <= found[5] <= 4.0


def test_what_lies_outside_is_zero_beside_nan(library: Library) -> None:
    grid = library.asarray(np.asarray([np.nan, 2.0, np.inf]).reshape(1, 3, 1))
    places = library.asarray(np.asarray([-3.0, -1.0, 4.0, -0.5, 0.5, 2.5, 1e9]).reshape(1, 7, 1))
    result = interpolation.grid_sample(grid, places, extrapolation="zeros")
    library.assert_equal(result, np.reshape([0, 0, 0, np.nan, np.nan, np.inf, 0.0], (1, 7, 1)))


def test_no_spatial_axes(library: Library) -> None:
    grid = normal(1, 3)
    result = interpolation.grid_sample(library.asarray(grid), library.asarray(np.empty((2, 5, 0))))
    library.assert_equal(result, np.broadcast_to(grid[:, None], (2, 5, 3)))


PLACES = np.asarray([[-1.75, 0.25], [0.3, 3.7], [2.6, 1.2], [4.4, -2.2]])
LINE, POINTS = np.asarray([-0.7, 0.3, 1.25, 2.75, 4.5, 9.0]), np.asarray([0.0, 1.0, 2.5, 4.0, 6.0])
CASES = {
    extrapolation: Case(
        lambda g, c, extrapolation=extrapolation: interpolation.grid_sample(g, c, extrapolation=extrapolation),
        (normal(2, 3, 4, 2), np.stack([PLACES, PLACES + 0.15])),
        lambda g, c, extrapolation=extrapolation: by_scipy(g, c, extrapolation),
        differentiable=(0, 1),
        atol=1e-13,
    )
    for extrapolation in WORDS
    if extrapolation != "undefined"
} | {
    "one grid": Case(
        lambda g, c: interpolation.grid_sample(g[None, ...], c, extrapolation="zeros"),
        (normal(3, 4, 2), np.stack([PLACES, PLACES + 0.15])),
        lambda g, c: by_scipy(g[None], c, "zeros"),
        differentiable=(0, 1),
        atol=1e-13,
    ),
    "one set of places": Case(
        lambda g, c: interpolation.grid_sample(g, c[None, ...], extrapolation="periodic"),
        (normal(2, 3, 4, 2), PLACES),
        lambda g, c: by_scipy(g, c[None], "periodic"),
        differentiable=(0, 1),
        atol=1e-13,
    ),
    "interp": Case(
        lambda x, p, f: interpolation.interp(x, p, f, left=0.5),
        (LINE, POINTS, normal(5)),
        lambda x, p, f: np.interp(x, p, f, left=0.5),
        differentiable=(0, 1, 2),
        maps=False,  # points reversed don't increase
        atol=1e-14,
    ),
    "interp, a batch of values": Case(
        lambda x, f: interpolation.interp(x, xpand.array_namespace(x).cumulative_sum(x[0, :] * 0 + 1.5), f, right=-1.0),
        (np.reshape(LINE, (2, 3)), normal(2, 3)),
        lambda x, f: np.stack([np.interp(x, [1.5, 3.0, 4.5], row, right=-1.0) for row in f]),
        differentiable=(1,),
        atol=1e-14,
    ),
    "interp, a batch of points": Case(
        lambda x, p, f: interpolation.interp(x, p, f, left=0.5),
        (
            np.asarray([0.1, 2.3, 4.4, -1.0]),
            np.asarray([[0.0, 1.5, 4.0], [0.3, 2.0, 2.5]]),
            np.asarray([1.0, 3.0, 2.0]),
        ),
        lambda x, p, f: np.stack([np.interp(x, row, f, left=0.5) for row in p]),
        differentiable=(0, 1, 2),
    ),
    "interp, periodic": Case(
        lambda x, p, f: interpolation.interp(x, p, f, period=3.7),
        (LINE + 0.05, POINTS[[2, 0, 3, 4, 1]], normal(5)),
        lambda x, p, f: np.interp(x, p, f, period=3.7),
        differentiable=(0, 2),
        atol=1e-13,
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_values(library: Library, case: Case) -> None:
    check_values(library, case)


@checked(CASES)
def test_transformations(case: Case, transformation: Check) -> None:
    transformation(case)


def test_derivatives_at_the_ends() -> None:
    """Within the grid, its last points included, a place's derivative is the slope beside it; outside it is zero."""
    import jax
    import torch

    grid = np.asarray([1.0, 3.0, 7.0]).reshape(1, 3, 1)
    places = np.asarray([-1.0, 0.0, 0.5, 1.0, 2.0, 2.5]).reshape(1, 6, 1)
    for grad, asarray in ((jax.grad, jax.numpy.asarray), (torch.func.grad, torch.asarray)):
        table = asarray(grid)
        slopes = grad(lambda places, table=table: interpolation.grid_sample(table, places).sum())(asarray(places))
        np.testing.assert_array_equal(np.ravel(slopes), [0.0, 2.0, 2.0, 4.0, 4.0, 0.0])


# Functions of one variable


@st.composite
def functions(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
    n = draw(st.integers(1, 5))
    dtype = draw(st.sampled_from(["float32", "float64"]))
    period = draw(st.sampled_from([None, None, 2.0, 5.0]))
    numbers = lambda size: np.asarray(draw(st.lists(st.integers(-20, 20), min_size=size, max_size=size))) / 4
    points = np.asarray(draw(st.lists(st.integers(-15, 15), min_size=n, max_size=n, unique=True))) / 4
    if period is None:
        points = np.sort(points)
    elif len(np.unique(points % period)) < n:
        points = np.arange(n) * period / n
    options = {"left": draw(st.sampled_from([None, -1.5])), "right": draw(st.sampled_from([None, 7]))}
    values = numbers(n).astype(dtype)
    if draw(st.booleans()):
        values = (values + 1j * values[::-1]).astype(np.result_type(values, np.complex64))
    shape = draw(st.sampled_from([(), (3,), (2, 2), (0,)]))
    x = numbers(int(np.prod(shape))).reshape(shape).astype(dtype)
    return x, points.astype(dtype), values, options | {"period": period}


def test_agrees_with_numpy(library: Library) -> None:
    @settings(max_examples=8 if library.lazy or library.id == "jax" else 50)
    @given(problem=functions())
    def run(problem: tuple[np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]) -> None:
        x, points, values, options = problem
        result = interpolation.interp(library.asarray(x), library.asarray(points), library.asarray(values), **options)
        expected = np.asarray(np.interp(x, points, values, **options)).astype(np.result_type(x, values))
        rtol = 1e-5 if x.dtype == np.float32 else 1e-12
        library.assert_equal(result, expected, rtol=rtol, atol=rtol)

    run()


def test_interp_of_what_is_not_finite(library: Library) -> None:
    x = np.asarray([np.nan, np.inf, -np.inf, 0.0, 0.5, 1.0, 1.5, 2.0, 3.0])
    points, values = np.asarray([0.0, 1.0, 2.0, 3.0]), np.asarray([1.0, 2.0, np.inf, 5.0])
    result = interpolation.interp(library.asarray(x), library.asarray(points), library.asarray(values))
    library.assert_equal(result, [np.nan, 5.0, 1.0, 1.0, 1.5, 2.0, np.inf, np.inf, 5.0])


def test_interp_of_jumps(library: Library) -> None:
    """Also at the ends: the first value counts below, the last one above; for one function and for several."""
    points, values = np.asarray([0.0, 0.0, 1.0, 1.0, 1.0, 2.0, 2.0]), np.asarray([0.0, 3.0, 4.0, 9.0, 6.0, 7.0, 1.0])
    x = np.asarray([-1.0, 0.0, 0.5, 1.0, 1.5, 2.0, 3.0, np.nan])
    arrays = library.asarray(x), library.asarray(points)
    expected = np.interp(x, points, values)
    assert expected[0] == 0.0
    assert expected[-2] == 1.0
    library.assert_equal(interpolation.interp(*arrays, library.asarray(values)), expected)
    library.assert_equal(interpolation.interp(*arrays, library.asarray(values[None])), expected[None])
    lanes = vmap(interpolation.interp, (None, 0, 0))(
        arrays[0], library.asarray(points[None]), library.asarray(values[None])
    )
    library.assert_equal(lanes, expected[None])


def test_interp_of_a_single_point(library: Library) -> None:
    x, points = library.asarray([np.nan, -1.0, 0.0, 2.0]), library.asarray([0.0])
    result = interpolation.interp(x, points, library.asarray([5.0]), left=1.0, right=np.inf)
    library.assert_equal(result, [np.nan, 1.0, 5.0, np.inf])


INFINITE = {
    "first": ([-np.inf, 0.0, 1.0, 2.0], [5.0, 1.0, 2.0, 3.0]),
    "last": ([0.0, 1.0, 2.0, np.inf], [5.0, 1.0, 2.0, 3.0]),
    "both": ([-np.inf, 0.0, 2.0, np.inf], [5.0, 1.0, 2.0, 3.0]),
    "alone": ([-np.inf, np.inf], [1.0, 2.0]),
}


@pytest.mark.parametrize("case", INFINITE)
def test_infinite_points(library: Library, case: str) -> None:
    """Between a finite point and an infinite one is the value of the finite one."""
    x = np.asarray([-np.inf, -3.0, 0.0, 0.5, 2.0, 3.0, np.inf, np.nan])
    points, values = map(np.asarray, INFINITE[case])
    with np.errstate(all="ignore"):
        found = interpolation.interp(library.asarray(x), library.asarray(points), library.asarray(values))
        library.assert_equal(found, np.interp(x, points, values), rtol=1e-15)


def test_periodic_functions_have_no_value_at_infinity(library: Library) -> None:
    x = library.asarray([np.inf, 1.25, -np.inf, np.nan])
    points, values = library.asarray([0.0, 0.5]), library.asarray([1.0, 3.0])
    result = interpolation.interp(x, points, values, period=1.0)
    library.assert_equal(result, [np.nan, 2.0, np.nan, np.nan])


@pytest.mark.parametrize("size", [1, 2, 6])
@pytest.mark.parametrize("options", [{}, {"left": -7.0, "right": 9.0}, {"period": 1.75}], ids=str)
def test_interp_between_points_of_each_function(library: Library, size: int, options: dict[str, float]) -> None:
    rng = np.random.default_rng(size)
    x = rng.normal(size=(2, 5)) * 3
    for of_points, of_values in (((3,), (3,)), ((3,), ()), ((2, 1), (3,)), ((3,), (2, 1)), ((1,), (3,))):
        points, values = np.sort(rng.normal(size=(*of_points, size))), rng.normal(size=(*of_values, size))
        x[1, 1] = points.flat[0]
        batch = np.broadcast_shapes(of_points, of_values)
        whole = [np.broadcast_to(array, (*batch, size)) for array in (points, values)]
        expected = np.empty((*batch, *x.shape))
        for i in np.ndindex(batch):
            expected[i] = np.interp(x, whole[0][i], whole[1][i], **options)
        found = interpolation.interp(*map(library.asarray, (x, points, values)), **options)
        library.assert_equal(found, expected, rtol=1e-12, atol=1e-12)


def test_lanes_of_interp_with_a_batch_of_points(eager_library: Library) -> None:
    """Lanes come before the batches of points and of values, whichever are mapped."""
    rng = np.random.default_rng(0)
    x, points, values = rng.normal(size=(4, 5)), np.sort(rng.normal(size=(4, 3, 6))), rng.normal(size=(4, 6))
    for mapped in ((None, 0, 0), (0, None, None), (None, None, 0), (None, 0, None), (0, 0, 0)):
        given = [array if axis == 0 else array[0] for array, axis in zip((x, points, values), mapped)]
        whole = [array if axis == 0 else np.stack([array] * 4) for array, axis in zip(given, mapped)]
        expected = np.stack([[np.interp(a, row, f) for row in p] for a, p, f in zip(*whole)])
        found = vmap(interpolation.interp, mapped)(*map(eager_library.asarray, given))
        eager_library.assert_equal(found, expected, rtol=1e-12, atol=1e-12)


def test_interp_batches(library: Library) -> None:
    x, points, values = normal(2, 3), np.asarray([-1.0, 0.0, 1.0]), normal(4, 2, 3, seed=1)
    result = interpolation.interp(library.asarray(x), library.asarray(points), library.asarray(values), right=0.0)
    expected = [np.interp(x, points, row, right=0.0) for row in values.reshape(8, 3)]
    library.assert_equal(result, np.reshape(expected, (4, 2, 2, 3)), rtol=1e-12, atol=1e-14)


GRID, AT = np.ones((2, 3, 4, 1)), np.ones((2, 5, 2))


@pytest.mark.parametrize(
    ("grid", "coordinates", "options", "error", "message"),
    [
        (GRID, [[1.0]], {}, TypeError, "coordinates must be an array"),
        (GRID.astype(int), AT, {}, TypeError, "grid must have a floating-point data type, got int64"),
        (GRID, AT.astype(int), {}, TypeError, "coordinates must have .*, got int64"),
        (GRID, AT + 0j, {}, TypeError, "coordinates must have .*, got complex128"),
        (GRID, AT, {"extrapolation": "zero"}, ValueError, "did you mean 'zeros'"),
        (GRID, AT, {"extrapolation": 0.0}, TypeError, "extrapolation must be one of"),
        (GRID[0, 0, 0], AT, {}, ValueError, r"grid must have the axes \(batch, \*spatial, channel\)"),
        (GRID, AT[..., :1], {}, ValueError, r"coordinates must have the axes \(batch, \*points, 2\)"),
        (GRID, np.ones((3, 5, 2)), {}, ValueError, "batches of one size, or one of 1, got 2 and 3"),
        (GRID[:, :0], AT, {}, ValueError, "grid must have points along each spatial axis"),
    ],
)
def test_bad_samples(grid: Any, coordinates: Any, options: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=f"grid_sample: {message}|grid_sample: .*{message}"):
        interpolation.grid_sample(grid, coordinates, **options)


@pytest.mark.parametrize(
    ("arrays", "options", "error", "message"),
    [
        ((1.0, POINTS, POINTS), {}, TypeError, "x must be an array"),
        ((LINE, POINTS.astype(int), POINTS), {}, TypeError, "points must have"),
        ((LINE, POINTS, POINTS.astype(int)), {}, TypeError, "values must have a floating-point data type"),
        ((LINE, POINTS[0, ...], POINTS), {}, ValueError, r"points must have the shape \(\*batch, n\)"),
        ((LINE, np.ones((2, 3)), np.ones((4, 3))), {}, ValueError, "takes arrays that broadcast together"),
        ((LINE, POINTS[:0], POINTS[:0]), {}, ValueError, "with n at least 1"),
        ((LINE, POINTS, POINTS[:2]), {}, ValueError, r"values must have the shape \(\*batch, 5\)"),
        ((LINE, POINTS, POINTS), {"left": "0"}, TypeError, "left must be int or float, or None, got '0'"),
        ((LINE, POINTS, POINTS), {"right": 1j}, TypeError, "right must be int or float"),
        ((LINE, POINTS, POINTS), {"period": 0}, ValueError, "period must be positive and finite, got 0"),
        ((LINE, POINTS, POINTS), {"period": True}, TypeError, "period must be int or float"),
    ],
)
def test_bad_functions(arrays: Any, options: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=f"interp: .*{message}|interp: {message}"):
        interpolation.interp(*arrays, **options)


def test_two_libraries_and_two_devices() -> None:
    import array_api_strict as strict
    import torch

    with pytest.raises(TypeError, match="takes arrays of one library"):
        interpolation.grid_sample(torch.ones(1, 3, 1), np.ones((1, 2, 1)))
    x = strict.ones(3)
    with pytest.raises(ValueError, match="takes arrays on one device"):
        interpolation.interp(x, x, strict.ones(3, device=strict.Device("device1")))


def test_unknown_sizes() -> None:
    import dask.array as da

    x = da.ones(6, chunks=3)
    with pytest.raises(ValueError, match="x has a shape not known yet"):
        interpolation.interp(x[x > 2], x, x)
