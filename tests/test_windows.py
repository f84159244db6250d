"""Windows: every library against NumPy's reductions of views, transformations, memory, bad input."""

import tracemalloc
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from numpy.lib.stride_tricks import sliding_window_view as numpy_view

from tests.laziness import nothing_computed
from tests.libraries import Library
from tests.operations import Case, Check, check_values, checked, elements
from xpand_extensions import UnsupportedError, windows

INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
REAL = ["float32", "float64"]
COMPLEX = ["complex64", "complex128"]
DTYPES = {
    "window_sum": INTEGERS + REAL + COMPLEX,
    "window_prod": INTEGERS + REAL + COMPLEX,
    "window_min": ["bool", *INTEGERS, *REAL],
    "window_max": ["bool", *INTEGERS, *REAL],
    "window_mean": REAL + COMPLEX,
}
FUNCTIONS = list(DTYPES)
REDUCE = {
    "window_sum": np.sum,
    "window_prod": np.prod,
    "window_min": np.min,
    "window_max": np.max,
    "window_mean": np.mean,
}


def identity(function: str, dtype: np.dtype) -> Any:
    """The values outside of the array."""
    if function not in ("window_min", "window_max"):
        return int(function == "window_prod")
    if dtype.kind == "b":
        return function == "window_min"
    if dtype.kind == "f":
        return np.inf if function == "window_min" else -np.inf
    info = np.iinfo(dtype)
    return info.max if function == "window_min" else info.min


def view(x: np.ndarray, window: tuple, axis: tuple, strides: tuple, pairs: tuple, dilation: tuple, fill: Any) -> Any:
    """Pad an array, and list its windows in as many axes at the end."""
    widths = [(0, 0)] * x.ndim
    for k, pair in zip(axis, pairs):
        widths[k] = pair
    x = np.pad(x, widths, constant_values=fill) if x.ndim else x
    spans = [(size - 1) * step + 1 for size, step in zip(window, dilation)]
    if any(x.shape[k] < span for k, span in zip(axis, spans)):
        shape = list(x.shape)
        for k, span, stride in zip(axis, spans, strides):
            shape[k] = max((x.shape[k] - span) // stride + 1, 0)
        return np.zeros((*shape, *window), dtype=x.dtype)
    x = numpy_view(x, spans, axis=axis)
    key = [slice(None)] * x.ndim
    for number, k in enumerate(axis):
        key[k] = slice(None, None, strides[number])
        key[number - len(axis)] = slice(None, None, dilation[number])
    return x[tuple(key)]


def reference(function: str, x: np.ndarray, *where: Any) -> np.ndarray:
    seen = view(x, *where, identity(function, x.dtype))
    ends = tuple(range(x.ndim, seen.ndim))
    if function == "window_mean":
        return (np.sum(seen, axis=ends) / np.prod(where[0])).astype(x.dtype)
    options = {"dtype": x.dtype} if function in ("window_sum", "window_prod") else {}
    return np.asarray(REDUCE[function](seen, axis=ends, **options))


def tolerance(dtype: np.dtype) -> float:
    return 0.0 if dtype.kind in "biu" else 1e-5 if dtype in ("float32", "complex64") else 1e-12


@st.composite
def places(draw: st.DrawFn, most_axes: int = 3) -> tuple[list[int], tuple[Any, ...]]:
    """A shape, and what says where windows are: sizes, axes, strides, padding, dilation."""
    shape = draw(st.lists(st.integers(0, 9), max_size=most_axes))
    axis = tuple(draw(st.permutations(range(len(shape))))[: draw(st.integers(0, len(shape)))])
    each = lambda low, high: tuple(draw(st.integers(low, high)) for _ in axis)
    pairs = tuple(zip(each(0, 3), each(0, 3)))
    return shape, (each(1, 9), axis, each(1, 3), pairs, each(1, 2))


@st.composite
def problems(draw: st.DrawFn, function: str) -> tuple[np.ndarray, tuple[Any, ...]]:
    dtype = draw(st.sampled_from(DTYPES[function]))
    shape, where = draw(places())
    count = int(np.prod(shape))
    few = draw(st.lists(elements(dtype), min_size=1, max_size=5))
    flat = np.resize(np.asarray(few, dtype=dtype), count)
    return flat.reshape(shape), where


def call(function: str, x: Any, where: tuple[Any, ...], **options: Any) -> Any:
    window, axis, strides, pairs, dilation = where
    return getattr(windows, function)(
        x, window, axis=axis, strides=strides, padding=pairs, window_dilation=dilation, **options
    )


@pytest.mark.parametrize("function", FUNCTIONS)
def test_agrees_with_reductions_of_views(library: Library, function: str) -> None:
    @settings(max_examples=8 if library.lazy or library.id == "jax" else 40)
    @given(problem=problems(function))
    def run(problem: tuple[np.ndarray, tuple[Any, ...]]) -> None:
        values, where = problem
        x = library.asarray(values)
        with np.errstate(all="ignore"):
            result = call(function, x, where)
            expected = reference(function, values, *where)
            # Roundings are those of the largest term, which may cancel.
            rtol = tolerance(values.dtype)
            library.assert_equal(result, expected, rtol=rtol, atol=rtol * 100)
        library.assert_equal(x, values)

    run()


@pytest.mark.parametrize("function", ["window_sum", "window_max"])
@pytest.mark.parametrize("size", [2, 3, 7, 16, 37, 300])
def test_sizes_of_windows(eager_library: Library, function: str, size: int) -> None:
    values = np.random.default_rng(size).uniform(0.9, 1.1, 700)
    for stride in (1, 5, 40):
        where = ((size,), (0,), (stride,), ((20, 30),), (2 if size < 100 else 1,))
        result = call(function, eager_library.asarray(values), where)
        eager_library.assert_equal(result, reference(function, values, *where), rtol=1e-12)


@pytest.mark.parametrize("library", ["numpy", "torch"])
@pytest.mark.parametrize("function", ["window_sum", "window_max"])
@pytest.mark.parametrize("shape", [(300_000,), (600, 500), (500, 600, 1), (1, 2, 450, 333), (50_000, 6)])
def test_arrays_of_several_tiles(library: str, function: str, shape: tuple[int, ...]) -> None:
    lib = next(each for each in _all_libraries() if each.id == library)
    values = np.random.default_rng(0).normal(size=shape)
    for axis, dtype in ((None, "float64"), (len(shape) - 1, "float32"), (0, "int32")):
        axes = tuple(range(len(shape))) if axis is None else (axis,)
        size = tuple(min(5 if len(axes) > 1 else 40, shape[k]) for k in axes)
        pairs = tuple((n // 2, n - 1) for n in size)
        for stride in (1, 3):
            where = (size, axes, (stride,) * len(axes), pairs, (1,) * len(axes))
            x = (100 * values).astype(dtype)
            wanted = _shifted_sums(function, x, where)
            rtol = 1e-5 if dtype == "float32" else 1e-12
            lib.assert_equal(call(function, lib.asarray(x), where), wanted, rtol=rtol, atol=rtol * 1e4)


def _all_libraries() -> list[Library]:
    from tests.libraries import LIBRARIES

    return LIBRARIES


def _shifted_sums(function: str, x: np.ndarray, where: tuple[Any, ...]) -> np.ndarray:
    """Add up, or take the largest of, slices: a view of all windows would not fit into memory's cache."""
    fill = identity(function, x.dtype)
    combine = np.add if function == "window_sum" else np.maximum
    for size, k, stride, pair, _ in zip(*where):
        widths = [pair if axis == k else (0, 0) for axis in range(x.ndim)]
        x = np.pad(x, widths, constant_values=fill)
        count = (x.shape[k] - size) // stride + 1
        moved = np.moveaxis(x, k, 0)
        total = moved[: (count - 1) * stride + 1 : stride].copy()
        for offset in range(1, size):
            total = combine(total, moved[offset : offset + (count - 1) * stride + 1 : stride])
        x = np.moveaxis(total, 0, k)
    return x


@pytest.mark.parametrize("function", ["window_sum", "window_max"])
def test_same_padding(library: Library, function: str) -> None:
    for length, size, stride, dilation in product((6, 7), (2, 5), (1, 3), (1, 2)):
        values = np.random.default_rng(length).uniform(0.5, 2.0, length)
        span = (size - 1) * dilation + 1
        total = max((-(-length // stride) - 1) * stride + span - length, 0)
        where = ((size,), (0,), (stride,), ((total // 2, total - total // 2),), (dilation,))
        x = library.asarray(values)
        result = getattr(windows, function)(x, size, strides=stride, padding="same", window_dilation=dilation)
        library.assert_equal(result, reference(function, values, *where), rtol=1e-12)
        assert result.shape == (-(-length // stride),)


def test_means_of_what_is_in_the_array(library: Library) -> None:
    values = np.random.default_rng(0).normal(size=(5, 6))
    for window, strides, pairs, dilation in (
        ((3, 2), (1, 2), ((1, 1), (2, 0)), (1, 2)),
        ((2, 4), (3, 1), ((4, 3), (0, 5)), (2, 1)),
    ):
        where = (window, (0, 1), strides, pairs, dilation)
        seen = view(values, *where, np.nan)
        number = np.sum(~np.isnan(seen), axis=(2, 3))
        expected = np.nansum(seen, axis=(2, 3))
        with np.errstate(invalid="ignore"):
            expected = np.where(number > 0, expected / number, np.nan)
        result = call("window_mean", library.asarray(values), where, count_include_pad=False)
        library.assert_equal(result, expected, rtol=1e-12, atol=1e-14)
        pooled = windows.avg_pool(
            library.asarray(values[None, None]),
            window,
            strides=strides,
            padding=pairs,
            window_dilation=dilation,
            count_include_pad=False,
        )
        library.assert_equal(pooled, expected[None, None], rtol=1e-12, atol=1e-14)


def test_what_is_not_finite_stays_in_its_windows(library: Library) -> None:
    values = np.ones(40)
    values[[3, 30]], values[20] = np.nan, np.inf
    for size in (2, 5, 11):
        where = ((size,), (0,), (1,), ((0, 0),), (1,))
        for function in FUNCTIONS:
            result = call(function, library.asarray(values), where)
            library.assert_equal(result, reference(function, values, *where), rtol=1e-12)


def test_means_of_complex_infinities() -> None:
    values = np.asarray([1 + 2j, complex(np.inf, 3), 5 + 4j])
    for options in ({}, {"count_include_pad": False, "padding": ((0, 1),)}):
        result = windows.window_mean(values, 2, **options)
        np.testing.assert_array_equal(result[:2].real, [np.inf, np.inf])
        np.testing.assert_array_equal(result[:2].imag, [2.5, 3.5])


def test_sums_do_not_cancel(library: Library) -> None:
    # Differences of cumulative sums would have errors of the size of 1e17 * 2**-53.
    values = np.asarray([1e17, *np.random.default_rng(0).uniform(size=50)])
    result = windows.window_sum(library.asarray(values), 13)
    expected = numpy_view(values, 13).sum(axis=1)
    library.assert_equal(result[1:], expected[1:], rtol=1e-15 * 5)


# --- views ------------------------------------------------------------------------------------------------------------


def test_views_agree_with_numpy(library: Library) -> None:
    @settings(max_examples=8 if library.lazy or library.id == "jax" else 30)
    @given(place=places(), dtype=st.sampled_from(["float64", "int8", "uint32", "bool", "complex64"]))
    def run(place: tuple[list[int], tuple[Any, ...]], dtype: str) -> None:
        shape, (window, axis, strides, _, dilation) = place
        values = np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(dtype)
        result = windows.sliding_window_view(
            library.asarray(values), window, axis=axis, strides=strides, window_dilation=dilation
        )
        expected = view(values, window, axis, strides, ((0, 0),) * len(axis), dilation, 0)
        library.assert_equal(result, expected)

    run()


def test_views_share_memory() -> None:
    import torch

    x = np.arange(12.0).reshape(3, 4)
    seen = windows.sliding_window_view(x, (2, 2), strides=(1, 2))
    assert np.shares_memory(seen, x)
    assert not seen.flags.writeable
    tensor = torch.arange(12.0).reshape(3, 4)
    seen = windows.sliding_window_view(tensor, (2, 2), window_dilation=(1, 2))
    assert seen.untyped_storage().data_ptr() == tensor.untyped_storage().data_ptr()


# --- functions of the user's ------------------------------------------------------------------------------------------


def test_user_functions_keep_the_order(library: Library) -> None:
    xp = library.xp

    def last_nonzero(a: Any, b: Any) -> Any:
        """Associative, but a and b are not to be exchanged."""
        return xp.where(b != 0, b, a)

    @settings(max_examples=5 if library.lazy or library.id == "jax" else 20)
    @given(place=places(2), seed=st.integers(0, 9))
    def run(place: tuple[list[int], tuple[Any, ...]], seed: int) -> None:
        shape, where = place
        window, axis, strides, pairs, dilation = where
        # The elements of a window are in the order of the axes of the array.
        order = np.argsort(axis)
        values = np.random.default_rng(seed).integers(-2, 3, shape)
        result = windows.window_reduce(
            library.asarray(values),
            last_nonzero,
            7,
            window,
            axis=axis,
            strides=strides,
            padding=pairs,
            window_dilation=dilation,
        )
        where = tuple(tuple(each[i] for i in order) for each in where)
        seen = view(values, *where, 7).reshape((*result.shape, int(np.prod(window))))
        expected = np.full(result.shape, 7)
        for k in range(seen.shape[-1]):
            expected = np.where(seen[..., k] != 0, seen[..., k], expected)
        library.assert_equal(result, expected)

    run()


@pytest.mark.parametrize("dtype", ["int16", "float64", "complex64", "bool"])
def test_user_functions_on_data_types(library: Library, dtype: str) -> None:
    xp = library.xp
    values = np.asarray([1, 0, 1, 1, 0, 1]).astype(dtype)
    function, initial = (xp.logical_xor, False) if dtype == "bool" else (xp.add, 1)
    for start in (initial, library.asarray(np.asarray(initial, dtype=dtype))):
        result = windows.window_reduce(library.asarray(values), function, start, 3, padding=1)
        seen = numpy_view(np.pad(values, 1, constant_values=np.asarray(initial, dtype=dtype)), 3)
        expected = np.logical_xor.reduce(seen, axis=1) if dtype == "bool" else seen.sum(axis=1, dtype=dtype) + 1
        library.assert_equal(result, expected.astype(dtype))


# --- scatter to extremes ----------------------------------------------------------------------------------------------


def scattered(x: np.ndarray, source: np.ndarray, initial: float, where: tuple[Any, ...], largest: bool) -> np.ndarray:
    """Go through the windows one by one."""
    window, axis, strides, pairs, _ = where
    out = np.full(x.shape, initial, dtype=source.dtype)
    for index in np.ndindex(source.shape):
        places = [[i] for i in index]
        for size, k, stride, (low, _) in zip(window, axis, strides, pairs):
            start = index[k] * stride - low
            places[k] = [i for i in range(start, start + size) if 0 <= i < x.shape[k]]
        candidates = list(product(*places))
        if candidates:
            values = np.asarray([x[c] for c in candidates])
            out[candidates[int(np.argmax(values) if largest else np.argmin(values))]] += source[index]
    return out


@pytest.mark.parametrize("function", ["window_scatter_max", "window_scatter_min"])
def test_scatter_agrees_with_a_loop(library: Library, function: str) -> None:
    dtypes = st.sampled_from(["bool", *INTEGERS, *REAL])
    source_types = st.sampled_from(["float64", "int32", "complex128"])

    @settings(max_examples=5 if library.lazy or library.id == "jax" else 20)
    @given(place=places(2), dtype=dtypes, source_type=source_types, data=st.data())
    def run(place: tuple[list[int], tuple[Any, ...]], dtype: str, source_type: str, data: Any) -> None:
        shape, (window, axis, strides, pairs, _) = place
        where = (window, axis, strides, pairs, (1,) * len(axis))
        few = data.draw(st.lists(elements(dtype), min_size=1, max_size=6))
        x = np.resize(np.asarray(few, dtype=dtype), int(np.prod(shape))).reshape(shape)
        result_shape = view(x, *where, 0).shape[: len(shape)]
        source = np.arange(1, 1 + np.prod(result_shape, dtype=int)).reshape(result_shape).astype(source_type)
        arrays = library.asarray(x), library.asarray(source)
        result = getattr(windows, function)(*arrays, 3, window, axis=axis, strides=strides, padding=pairs)
        library.assert_equal(result, scattered(x, source, 3, where, function.endswith("max")), rtol=1e-12)

    run()


# --- pooling ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("spatial", [1, 2, 3])
def test_pools_agree_with_torch(library: Library, spatial: int) -> None:
    import torch
    import torch.nn.functional as F

    values = np.random.default_rng(0).normal(size=(2, 3, *(7, 6, 5)[:spatial]))
    for window, strides, padding, dilation in ((2, None, 0, 1), (3, 2, 1, 1), (2, 1, 1, 2)):
        x, tensor = library.asarray(values), torch.asarray(values)
        native = getattr(F, f"max_pool{spatial}d")
        options = {"strides": strides, "padding": padding, "window_dilation": dilation}
        largest = native(tensor, window, strides, padding, dilation).numpy()
        library.assert_equal(windows.max_pool(x, window, **options), largest)
        smallest = -native(-tensor, window, strides, padding, dilation).numpy()
        library.assert_equal(windows.min_pool(x, window, **options), smallest)
        if dilation == 1:
            for include in (True, False):
                mean = getattr(F, f"avg_pool{spatial}d")(tensor, window, strides, padding, count_include_pad=include)
                ours = windows.avg_pool(x, window, count_include_pad=include, **options)
                library.assert_equal(ours, mean.numpy(), rtol=1e-12, atol=1e-14)


# --- edges ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("function", FUNCTIONS)
def test_empty_and_zero_dimensional(library: Library, function: str) -> None:
    reduce = getattr(windows, function)
    library.assert_equal(reduce(library.asarray(2.0), ()), 2.0)
    library.assert_equal(reduce(library.asarray(2.0), 3), 2.0)
    library.assert_equal(reduce(library.asarray(np.zeros((0, 4))), (1, 2)), np.zeros((0, 3)))
    library.assert_equal(reduce(library.asarray(np.ones(3)), 5), np.zeros(0))
    nothing = np.full(3, identity(function, np.dtype("float64")), dtype="float64")
    library.assert_equal(reduce(library.asarray(np.zeros(0)), 2, padding=2), nothing)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_results_share_no_memory(function: str) -> None:
    import torch

    for x in (np.arange(6.0), torch.arange(6.0), np.arange(300_000.0), torch.arange(300_000.0)):
        for options in ({}, {"strides": 2}, {"axis": (), "strides": ()}):
            window = () if "axis" in options else 1
            result = getattr(windows, function)(x, window, **options)
            assert not np.shares_memory(np.asarray(result), np.asarray(x))


def test_half_precision() -> None:
    import jax.numpy as jnp
    import torch

    for x in (torch.ones(9, dtype=torch.bfloat16), jnp.ones(9, dtype="bfloat16"), np.ones(9, dtype=np.float16)):
        for function in FUNCTIONS:
            result = getattr(windows, function)(x, 3, padding="same")
            assert result.dtype == x.dtype
            assert float(result[4]) == (3.0 if function == "window_sum" else 1.0)


def test_masked_arrays_are_refused() -> None:
    x = np.ma.masked_array(np.ones(4), [0, 1, 0, 0])
    for function in (*FUNCTIONS, "sliding_window_view"):
        with pytest.raises(UnsupportedError, match=f"{function}: not available for numpy.ma.MaskedArray"):
            getattr(windows, function)(x, 2)


@pytest.mark.parametrize("function", ["window_sum", "window_max", "window_mean"])
def test_peak_memory(function: str) -> None:
    for shape, size in (((1_000_000,), 9), ((1000, 1000), (5, 7)), ((1000, 1000), 100)):
        x = np.ones(shape)
        tracemalloc.start()
        result = getattr(windows, function)(x, size, padding="same")
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak + x.nbytes <= 2 * (x.nbytes + result.nbytes)


def test_dask_stays_lazy() -> None:
    import dask.array as da

    values = np.random.default_rng(0).normal(size=(9, 8))
    x = da.from_array(values, chunks=(4, 3))
    source = da.ones((8, 7), chunks=4)
    with nothing_computed():
        results = {function: getattr(windows, function)(x, 3, padding=1, strides=2) for function in FUNCTIONS}
        seen = windows.sliding_window_view(x, (2, 5))
        reduced = windows.window_reduce(x, lambda a, b: a + b, 0, 2)
        placed = windows.window_scatter_max(x, source, 0, 2)
    where = ((3, 3), (0, 1), (2, 2), ((1, 1), (1, 1)), (1, 1))
    for function, result in results.items():
        np.testing.assert_allclose(np.asarray(result), reference(function, values, *where), rtol=1e-12)
    np.testing.assert_array_equal(np.asarray(seen), numpy_view(values, (2, 5)))
    np.testing.assert_allclose(np.asarray(reduced), numpy_view(values, (2, 2)).sum(axis=(2, 3)), atol=1e-14)
    where = ((2, 2), (0, 1), (1, 1), ((0, 0), (0, 0)), (1, 1))
    np.testing.assert_allclose(np.asarray(placed), scattered(values, np.ones((8, 7)), 0, where, True))


# --- transformations --------------------------------------------------------------------------------------------------

VALUES = np.random.default_rng(5).normal(size=(4, 6))
OPTIONS = {"padding": ((1, 0), (2, 1)), "strides": (1, 2), "window_dilation": (2, 1)}
WHERE = ((2, 3), (0, 1), (1, 2), ((1, 0), (2, 1)), (2, 1))
CASES = {
    function: Case(
        lambda x, function=function: getattr(windows, function)(x, (2, 3), **OPTIONS),
        (VALUES,),
        lambda x, function=function: reference(function, x, *WHERE),
        differentiable=(0,),
    )
    for function in FUNCTIONS
}
CASES["window_mean inside"] = Case(
    lambda x: windows.window_mean(x, (2, 3), padding="same", count_include_pad=False), (VALUES,), None, (0,)
)
CASES["sliding_window_view"] = Case(
    lambda x: windows.sliding_window_view(x, (3, 2), strides=(1, 2)),
    (VALUES,),
    lambda x: numpy_view(x, (3, 2))[:, ::2],
    differentiable=(0,),
)
CASES["window_reduce"] = Case(
    lambda x, initial: windows.window_reduce(x, lambda a, b: a + b + a * b, initial, 3, axis=1, padding=1),
    (VALUES, np.asarray(0.5)),
    None,
    differentiable=(0, 1),
)
for each in ("window_scatter_max", "window_scatter_min"):
    CASES[each] = Case(
        lambda x, source, initial, each=each: getattr(windows, each)(x, source, initial, 2, padding=((0, 1), (0, 0))),
        (VALUES, np.random.default_rng(6).normal(size=(4, 5)), np.asarray(2.0)),
        lambda x, source, initial, each=each: scattered(
            x, source, initial, ((2, 2), (0, 1), (1, 1), ((0, 1), (0, 0)), (1, 1)), each.endswith("max")
        ),
        differentiable=(1, 2),  # in x it is constant but for jumps
    )


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.reference is not None])
def test_values(library: Library, name: str) -> None:
    check_values(library, CASES[name])


@checked(CASES)
def test_transformations(case: Case, transformation: Check) -> None:
    transformation(case)


@pytest.mark.parametrize("function", ["window_sum", "window_prod", "window_mean"])
def test_second_derivatives(function: str) -> None:
    import jax
    import torch

    x = torch.asarray(VALUES).requires_grad_()
    assert torch.autograd.gradgradcheck(lambda x: CASES[function].function(x) ** 2, (x,))
    total = lambda x: (CASES[function].function(x) ** 2).sum()
    hessian = jax.hessian(total)(jax.numpy.asarray(VALUES))
    expected = torch.func.hessian(total)(torch.asarray(VALUES))
    np.testing.assert_allclose(np.asarray(hessian), expected.numpy(), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("function", ["window_max", "window_min"])
def test_gradients_of_large_tensors(function: str) -> None:
    import torch

    # Large ones are reduced in tiles where nothing is recorded; here something is.
    x = torch.rand(200_000, dtype=torch.float64, requires_grad=True)
    getattr(windows, function)(x, 5, strides=5).sum().backward()
    assert float(x.grad.sum()) == 40_000
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(x.detach(), torch.ones_like(x))
        tangent = torch.autograd.forward_ad.unpack_dual(getattr(windows, function)(dual, 5)).tangent
    assert float(tangent.sum()) == 200_000 - 4


# --- bad input --------------------------------------------------------------------------------------------------------

COMMON: dict[str, tuple[Any, dict[str, Any], Any, str]] = {
    "list of sizes too long": ((1, 2, 3), {}, ValueError, "window_shape must have one integer for each of the 2"),
    "size of zero": (0, {}, ValueError, "window_shape must be at least 1, got 0"),
    "fractional size": (2.0, {}, TypeError, "window_shape must be an integer or a sequence of them, got 2.0"),
    "bool in sizes": ((True, 2), {}, TypeError, "window_shape must be an integer, got True"),
    "stride of zero": (2, {"strides": 0}, ValueError, "strides must be at least 1, got 0"),
    "three strides": (2, {"strides": (1, 1, 1)}, ValueError, "strides must have one integer for each of the 2"),
    "axis": (2, {"axis": 2}, ValueError, "axis=2 is out of range for 2 axes"),
    "axis twice": ((2, 2), {"axis": (0, -2)}, ValueError, "names an axis twice"),
    "fractional axis": (2, {"axis": 0.5}, TypeError, "axis must be an integer, got 0.5"),
    "sizes for one axis": ((2, 2), {"axis": 1}, ValueError, "for each of the 1 windowed axes"),
}
PADDING: dict[str, tuple[Any, dict[str, Any], Any, str]] = {
    "misspelt padding": (2, {"padding": "sane"}, ValueError, "did you mean 'same'?"),
    "negative padding": (2, {"padding": -1}, ValueError, "padding must be at least 0, got -1"),
    "negative pair": (2, {"padding": ((0, -1), (0, 0))}, ValueError, "padding must be at least 0, got -1"),
    "one pair": (2, {"padding": ((1, 1),)}, ValueError, "padding must have one pair (low, high) for each of the 2"),
    "numbers for pairs": (2, {"padding": (1, 2)}, TypeError, "may be meant as [(1, 1), (2, 2)]"),
    "type of padding": (2, {"padding": 1.5}, TypeError, "padding must be 'valid', 'same', an integer, or a pair"),
}
DILATION: dict[str, tuple[Any, dict[str, Any], Any, str]] = {
    "dilation of zero": (2, {"window_dilation": 0}, ValueError, "window_dilation must be at least 1, got 0"),
}


@pytest.mark.parametrize("function", [*FUNCTIONS, "sliding_window_view", "window_reduce", "window_scatter_max"])
def test_bad_input(eager_library: Library, function: str) -> None:
    x = eager_library.asarray(np.ones((4, 5)))
    first: tuple[Any, ...] = (x,)
    calls = dict(COMMON)
    if function != "sliding_window_view":
        calls |= PADDING
    if function == "window_scatter_max":
        first = (x, x, 0)
    else:
        calls |= DILATION
    if function == "window_reduce":
        first = (x, lambda a, b: a, 0)
    for name, (window, options, error, message) in calls.items():
        try:
            getattr(windows, function)(*first, window, **options)
        except (TypeError, ValueError) as raised:
            caught = raised
        else:
            pytest.fail(f"{name}: nothing was raised")
        assert type(caught) is error, f"{name}: {caught!r}"
        assert message in str(caught), f"{name}: {caught}"
        assert str(caught).startswith(f"{function}: "), f"{name}: {caught}"
    with pytest.raises(TypeError, match=f"{function}: x must be an array, got list"):
        getattr(windows, function)([1.0], *first[1:], 2)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_bad_data_types(library: Library, function: str) -> None:
    wrong = {"window_mean": "int64", "window_min": "complex128", "window_max": "complex128"}.get(function, "bool")
    with pytest.raises(TypeError, match=f"{function}: x must have .*, got .*{wrong}"):
        getattr(windows, function)(library.asarray(np.ones(4), dtype=wrong), 2)


def test_bad_pools(library: Library) -> None:
    x = library.asarray(np.ones((2, 3, 4)))
    for function in ("max_pool", "min_pool", "avg_pool"):
        pool = getattr(windows, function)
        with pytest.raises(ValueError, match=rf"{function}: x must have the axes batch, channel .*\(2, 3\)"):
            pool(x[:, :, 0], 2)
        with pytest.raises(ValueError, match=f"{function}: window_shape must have one integer for each of the 1"):
            pool(x, (2, 2))
        with pytest.raises(TypeError, match=f"{function}: x must be an array"):
            pool([[[1.0]]], 1)
    with pytest.raises(TypeError, match="avg_pool: count_include_pad must be True or False, got 1"):
        windows.avg_pool(x, 2, count_include_pad=1)
    with pytest.raises(TypeError, match="window_mean: count_include_pad must be True or False, got None"):
        windows.window_mean(x, 2, count_include_pad=None)


def test_bad_functions(eager_library: Library) -> None:
    xp = eager_library.xp
    x = eager_library.asarray(np.ones((4, 5)))
    reduce = windows.window_reduce
    with pytest.raises(TypeError, match="window_reduce: function must be a function of two arrays, got int"):
        reduce(x, 0, xp.add, 2)
    with pytest.raises(TypeError, match="window_reduce: function must return the data type that it is given"):
        reduce(x, lambda a, b: a < b, 0, 2)
    with pytest.raises(ValueError, match="window_reduce: function must return the shape that it is given"):
        reduce(x, lambda a, b: xp.sum(a + b), 0, 2)
    with pytest.raises(TypeError, match="window_reduce: the function's result must be an array, got NoneType"):
        reduce(x, lambda a, b: None, 0, 2)
    with pytest.raises(TypeError, match="window_reduce: initial is the complex 1j, which does not promote"):
        reduce(x, xp.add, 1j, 2)
    with pytest.raises(ValueError, match=r"window_reduce: initial must be a scalar, got the shape \(4, 5\)"):
        reduce(x, xp.add, x, 2)


def test_bad_scatter(library: Library) -> None:
    x, source = library.asarray(np.ones((4, 5))), library.asarray(np.ones((3, 4)))
    for function in ("window_scatter_max", "window_scatter_min"):
        scatter = getattr(windows, function)
        with pytest.raises(ValueError, match=rf"{function}: source must have .* the shape \(3, 4\) .*, got \(4, 5\)"):
            scatter(x, x, 0, 2)
        with pytest.raises(TypeError, match=f"{function}: source must be an array, got float"):
            scatter(x, 1.0, 0, 2)
        with pytest.raises(TypeError, match=f"{function}: initial is the complex 1j, which does not promote"):
            scatter(x, source, 1j, 2)
        with pytest.raises(ValueError, match=rf"{function}: initial must be a scalar, got the shape \(3, 4\)"):
            scatter(x, source, source, 2)
        with pytest.raises(TypeError, match=f"{function}: x must have a boolean or real-valued data type"):
            scatter(library.asarray(np.ones((4, 5)), dtype="complex128"), source, 0, 2)


def test_two_libraries_and_two_devices() -> None:
    import array_api_strict as strict
    import torch

    with pytest.raises(TypeError, match="window_scatter_max: takes arrays of one library"):
        windows.window_scatter_max(torch.ones(3), np.ones(2), 0, 2)
    other = strict.Device("device1")
    with pytest.raises(ValueError, match="window_scatter_min: takes arrays on one device"):
        windows.window_scatter_min(strict.ones(3), strict.ones(2, device=other), 0, 2)
    with pytest.raises(ValueError, match="window_reduce: takes arrays on one device"):
        windows.window_reduce(strict.ones(3), strict.add, strict.zeros((), device=other), 2)
