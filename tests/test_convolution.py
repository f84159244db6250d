"""Convolutions: every library against XLA's and SciPy's, adjoints, transformations, bad input."""

import tracemalloc
from functools import partial
from typing import Any

import jax
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import signal

from tests.libraries import LIBRARIES, Library
from tests.operations import Case, Check, check_values, checked
from xpand_extensions import convolution
from xpand_extensions.convolution import _pieces as pieces
from xpand_extensions.vmap import vmap

INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
DTYPES = [*INTEGERS, "float32", "float64", "complex64", "complex128"]


def normal(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape)


def numbers(dtype: str, *shape: int, seed: int = 0) -> np.ndarray:
    random = np.random.default_rng(seed)
    if np.dtype(dtype).kind in "iu":
        info = np.iinfo(dtype)
        return random.integers(info.min, info.max, shape, dtype=dtype, endpoint=True)
    values = random.normal(size=shape)
    return (values + 1j * random.normal(size=shape) if dtype[0] == "c" else values).astype(dtype)


def tolerance(dtype: str) -> float:
    return 0.0 if np.dtype(dtype).kind in "iu" else 1e-5 if dtype in ("float32", "complex64") else 1e-12


def by_definition(
    x: np.ndarray,
    kernel: np.ndarray,
    strides: tuple[int, ...],
    padding: Any,
    input_dilation: tuple[int, ...],
    kernel_dilation: tuple[int, ...],
    feature_groups: int = 1,
    batch_groups: int = 1,
) -> np.ndarray:
    """The sum of the definition, element by element; padding in pairs."""
    n = x.ndim - 2
    spread = np.zeros(
        (*x.shape[:2], *((s - 1) * d + 1 if s else 0 for s, d in zip(x.shape[2:], input_dilation))), x.dtype
    )
    spread[(..., *(slice(None, None, d) for d in input_dilation))] = x
    positive = [(max(low, 0), max(high, 0)) for low, high in padding]
    spread = np.pad(spread, [(0, 0), (0, 0), *positive])
    cut = [slice(max(-low, 0), size - max(-high, 0)) for size, (low, high) in zip(spread.shape[2:], padding)]
    spread = spread[(..., *cut)]
    taps = kernel.shape[kernel.ndim - n :]
    reach = [(k - 1) * d + 1 for k, d in zip(taps, kernel_dilation)]
    sizes = [max((s - r) // step + 1, 0) if s >= r else 0 for s, r, step in zip(spread.shape[2:], reach, strides)]
    outputs, into = kernel.shape[kernel.ndim - n - 2], kernel.shape[kernel.ndim - n - 1]
    batch = x.shape[0] // batch_groups
    out = np.zeros((batch, outputs, *sizes), x.dtype)
    for b, o, *place in np.ndindex(*out.shape):
        own = kernel if kernel.ndim == n + 2 else kernel[b % len(kernel)]
        group = o // (outputs // feature_groups)
        lane = b + batch * (o // (outputs // batch_groups))
        key = tuple(slice(p * s, p * s + r, d) for p, s, r, d in zip(place, strides, reach, kernel_dilation))
        met = spread[(lane, slice(group * into, (group + 1) * into), *key)]
        out[(b, o, *place)] = np.sum(met * own[o], dtype=x.dtype)
    return out


@st.composite
def problems(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, dict[str, Any]]:
    n = draw(st.sampled_from([0, 1, 1, 2, 2, 3, 4]))
    dtype = draw(st.sampled_from(DTYPES))
    each = lambda low, high: tuple(draw(st.lists(st.integers(low, high), min_size=n, max_size=n)))
    feature_groups = draw(st.sampled_from([1, 1, 2]))
    batch_groups = draw(st.sampled_from([1, 2])) if feature_groups == 1 else 1
    into, out = draw(st.integers(1, 2)), draw(st.integers(1, 2)) * feature_groups * batch_groups
    batch = draw(st.integers(0, 2)) * batch_groups
    x = numbers(dtype, batch, into * feature_groups, *each(0 if n < 3 else 1, 5 if n < 3 else 3))
    own = draw(st.sampled_from([(), (), (1,), (batch,)])) if batch_groups == 1 and batch else ()
    kernel = numbers(dtype, *own, out, into, *each(1, 3 if n < 3 else 2), seed=1)
    options = {
        "strides": each(1, 3),
        "padding": tuple(zip(each(-2, 3), each(-2, 3))),
        "input_dilation": each(1, 2),
        "kernel_dilation": each(1, 2),
        "feature_groups": feature_groups,
        "batch_groups": batch_groups,
    }
    return x, kernel, options


def test_conv_is_its_definition(library: Library) -> None:
    @settings(max_examples=8 if library.lazy or library.id == "jax" else 40)
    @given(problem=problems())
    def run(problem: tuple[np.ndarray, np.ndarray, dict[str, Any]]) -> None:
        x, kernel, options = problem
        result = convolution.conv(library.asarray(x), library.asarray(kernel), **options)
        rtol = 10 * tolerance(str(x.dtype))
        library.assert_equal(result, by_definition(x, kernel, **options), rtol=rtol, atol=rtol)

    run()


@pytest.mark.parametrize("dtype", DTYPES)
def test_data_types(library: Library, dtype: str) -> None:
    x, kernel = numbers(dtype, 2, 3, 6, 5), numbers(dtype, 2, 3, 3, 2, seed=1)
    expected = by_definition(x, kernel, (1, 1), ((0, 0), (0, 0)), (1, 1), (1, 1))
    rtol = 10 * tolerance(dtype)
    library.assert_equal(convolution.conv(library.asarray(x), library.asarray(kernel)), expected, rtol=rtol, atol=rtol)
    single = by_definition(x[:1, :1], kernel[:1, :1], (1, 1), ((0, 0), (0, 0)), (1, 1), (1, 1))
    result = convolution.conv(library.asarray(x[:1, :1]), library.asarray(kernel[:1, :1]))
    library.assert_equal(result, single, rtol=rtol, atol=rtol)
    transposed = convolution.conv_transpose(library.asarray(expected), library.asarray(kernel), strides=2)
    assert tuple(transposed.shape) == (2, 3, 9, 8)
    forward = by_definition(library.to_numpy(transposed), kernel, (2, 2), ((0, 0), (0, 0)), (1, 1), (1, 1))
    if np.dtype(dtype).kind in "iu":  # exactly the transpose, in arithmetic modulo the width
        left = np.sum(forward * expected, dtype=dtype)
        right = np.sum(library.to_numpy(transposed) ** 2, dtype=dtype)
        assert left == right


@pytest.mark.parametrize("dilation", [1, 3])
@pytest.mark.parametrize("padding", [((9, 8),), ((0, 20),), ((17, 0),), ((-2, 11),)], ids=str)
def test_more_padding_than_a_block(padding: Any, dilation: int) -> None:
    """On Dask, some blocks of the result see only padding."""
    da = pytest.importorskip("dask.array")
    x, kernel = numbers("float64", 1, 2, 4), numbers("float64", 3, 2, 2, seed=1)
    options: Any = {"padding": padding, "kernel_dilation": (dilation,), "strides": (1,), "input_dilation": (1,)}
    expected = by_definition(x, kernel, feature_groups=1, batch_groups=1, **options)
    for chunks in (1, 2, 4):
        found = convolution.conv(da.from_array(x, chunks=(1, 2, chunks)), da.from_array(kernel), **options)
        assert found.shape == expected.shape
        np.testing.assert_allclose(found.compute(), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("padding", ["valid", "same", "full"])
@pytest.mark.parametrize("strides", [1, 2, (3, 1)])
@pytest.mark.parametrize("dilation", [1, 2])
def test_named_padding_is_that_of_xla(library: Library, padding: str, strides: Any, dilation: int) -> None:
    x, kernel = normal(1, 2, 7, 6), normal(3, 2, 3, 2, seed=1)
    steps = strides if isinstance(strides, tuple) else (strides, strides)
    reach = [(k - 1) * dilation + 1 for k in kernel.shape[2:]]
    ends: Any = [(r - 1, r - 1) for r in reach] if padding == "full" else padding.upper()
    expected = jax.lax.conv_general_dilated(x, kernel, steps, ends, rhs_dilation=(dilation, dilation))
    result = convolution.conv(
        library.asarray(x), library.asarray(kernel), strides=strides, padding=padding, kernel_dilation=dilation
    )
    library.assert_equal(result, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("shape", [(1, 1, 20000), (2, 3, 9000), (1, 1, 150, 150), (1, 4, 5, 60, 50), (3, 40, 40, 40)])
@pytest.mark.parametrize("multiplier", [1, 2])
def test_larger_than_a_block(eager_library: Library, shape: tuple[int, ...], multiplier: int) -> None:
    groups, n = shape[1], len(shape) - 2
    x, kernel = normal(*shape), normal(groups * multiplier, 1, *(3, 2, 2)[:n], seed=1)
    ends = ((1, 2), (0, 1), (2, 0))[:n]
    expected = jax.lax.conv_general_dilated(x, kernel, (1,) * n, ends, feature_group_count=groups)
    result = convolution.conv(
        eager_library.asarray(x), eager_library.asarray(kernel), padding=ends, feature_groups=groups
    )
    eager_library.assert_equal(result, expected, rtol=1e-11, atol=1e-11)


@st.composite
def transposes(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, np.ndarray, dict[str, Any], tuple[int, ...]]:
    """Return a convolution's result, its kernel, an input for it, and the options of its transpose."""
    n = draw(st.sampled_from([0, 1, 2, 2, 3]))
    each = lambda low, high: tuple(draw(st.lists(st.integers(low, high), min_size=n, max_size=n)))
    groups = draw(st.integers(1, 2))
    sizes, taps, strides, dilation = each(1, 3), each(1, 3), each(1, 3), each(1, 2)
    more = tuple(draw(st.integers(0, s - 1)) for s in strides)
    padding = tuple(zip(each(-1, 2), each(-1, 2)))
    own = draw(st.sampled_from([(), (2,)]))
    v, kernel = normal(2, 2 * groups, *sizes), normal(*own, 2 * groups, 2, *taps, seed=1)
    full = [(s - 1) * step + (k - 1) * d + 1 for s, step, k, d in zip(sizes, strides, taps, dilation)]
    points = tuple(max(f - low - high + extra, 0) for f, (low, high), extra in zip(full, padding, more))
    u = normal(2, 2 * groups, *points, seed=2)
    options = {"strides": strides, "padding": padding, "kernel_dilation": dilation, "feature_groups": groups}
    return v, kernel, u, options, more


def test_conv_transpose_is_the_transpose(library: Library) -> None:
    @settings(max_examples=8 if library.lazy or library.id == "jax" else 40)
    @given(problem=transposes())
    def run(problem: Any) -> None:
        v, kernel, u, options, more = problem
        result = convolution.conv_transpose(library.asarray(v), library.asarray(kernel), output_padding=more, **options)
        assert tuple(result.shape) == u.shape
        ones = (1,) * (u.ndim - 2)
        forward = by_definition(
            u,
            kernel,
            options["strides"],
            options["padding"],
            ones,
            options["kernel_dilation"],
            options["feature_groups"],
        )
        if forward.shape == v.shape:
            np.testing.assert_allclose(
                np.sum(library.to_numpy(result) * u), np.sum(forward * v), rtol=1e-10, atol=1e-10
            )

    run()


@pytest.mark.parametrize(("strides", "taps"), [(1, 3), (2, 3), (3, 2), (2, 4)])
def test_conv_transpose_of_same(library: Library, strides: int, taps: int) -> None:
    v, kernel, u = normal(1, 2, 4), normal(2, 3, taps, seed=1), normal(1, 3, 4 * strides, seed=2)
    result = convolution.conv_transpose(library.asarray(v), library.asarray(kernel), strides=strides, padding="same")
    forward = np.asarray(jax.lax.conv_general_dilated(u, kernel, (strides,), "SAME"))
    assert tuple(result.shape) == u.shape
    np.testing.assert_allclose(np.sum(library.to_numpy(result) * u), np.sum(forward * v), rtol=1e-12)


def test_values_that_are_not_finite(library: Library) -> None:
    x = np.asarray([[[1.0, np.nan, 2.0, 3.0, np.inf, -0.0, 4.0]]])
    kernel = np.asarray([[[1.0, 0.5]]])
    with np.errstate(invalid="ignore"):
        result = convolution.conv(library.asarray(x), library.asarray(kernel))
    library.assert_equal(result, [[[np.nan, np.nan, 3.5, np.inf, np.inf, 2.0]]])


def test_infinities_of_neighbouring_rows_do_not_meet(library: Library) -> None:
    x, kernel = np.ones((1, 1, 4, 5)), np.asarray([[[[1.0, 2.0], [3.0, 4.0]]]])
    x[0, 0, 1:3, -1], x[0, 0, 1:3, 0] = np.inf, -np.inf
    expected = np.full((1, 1, 3, 4), 10.0)
    expected[..., 0], expected[..., -1] = -np.inf, np.inf
    library.assert_equal(convolution.conv(library.asarray(x), library.asarray(kernel)), expected)


@pytest.mark.parametrize("pair", [(-3, 9), (9, -3), (-2, 9), (9, -7), (-7, 9), (-1, 9)])
def test_padding_that_cuts_more_than_there_is(library: Library, pair: tuple[int, int]) -> None:
    x, kernel = normal(1, 2, 2, 3), normal(3, 2, 2, 2, seed=1)
    padding = (pair, (0, 1))
    options: Any = {"padding": padding, "kernel_dilation": 2}
    wide = np.zeros((1, 2, 2 + 20, 3 + 1))
    wide[:, :, 10:12, :3] = x
    wide = wide[:, :, 10 - pair[0] : 12 + pair[1]]
    forward = np.asarray(jax.lax.conv_general_dilated(wide, kernel, (1, 1), "VALID", rhs_dilation=(2, 2)))
    result = convolution.conv(library.asarray(x), library.asarray(kernel), **options)
    library.assert_equal(result, forward, rtol=1e-12, atol=1e-14)

    low, high = pair
    v, twice = normal(1, 3, 2, 3), normal(3, 2, 2, 2, seed=1)
    whole = np.asarray(convolution.conv_transpose(v, twice))  # 3 by 4 points
    framed = np.zeros((1, 2, 3 + 20, 4))
    framed[:, :, 10:13] = whole
    back = convolution.conv_transpose(library.asarray(v), library.asarray(twice), padding=((low, high), (0, 0)))
    library.assert_equal(back, framed[:, :, 10 + low : 13 - high], rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("taps", [1, 3, 8])
def test_conv_transpose_of_one_channel(library: Library, taps: int) -> None:
    v, kernel = normal(5) + 1j * normal(5, seed=1), normal(taps, seed=2) + 1j * normal(taps, seed=3)
    arrays = library.asarray(v[None, None]), library.asarray(kernel[None, None])
    whole = np.convolve(v, kernel)[None, None]
    library.assert_equal(convolution.conv_transpose(*arrays), whole, rtol=1e-12, atol=1e-14)
    expected = np.pad(whole, ((0, 0), (0, 0), (1, 0)))[..., :-2]
    library.assert_equal(convolution.conv_transpose(*arrays, padding=[(-1, 2)]), expected, rtol=1e-12, atol=1e-14)


def test_types_promote(library: Library) -> None:
    x, kernel = np.ones((1, 1, 3), "float32"), np.ones((1, 1, 2), "complex128")
    result = convolution.conv(library.asarray(x), library.asarray(kernel))
    library.assert_equal(result, np.full((1, 1, 2), 2.0 + 0j))
    ints = convolution.convolve(library.asarray(np.ones(2, "int8")), library.asarray(np.ones(2, "uint8")))
    library.assert_equal(ints, np.asarray([1, 2, 1], "int16"))


# Convolutions of signals


@st.composite
def signals(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, str, str]:
    n = draw(st.integers(1, 3))
    dtype = draw(st.sampled_from(["int32", "uint64", "float32", "float64", "complex128"]))
    method = draw(st.sampled_from(["auto", "direct", "fft"])) if dtype[0] in "fc" else "auto"
    mode = draw(st.sampled_from(["full", "same", "valid"]))
    shape = draw(st.lists(st.integers(1, 6), min_size=n, max_size=n))
    taps = draw(st.lists(st.integers(1, 6), min_size=n, max_size=n))
    if mode == "valid":
        shape, taps = [max(s, k) for s, k in zip(shape, taps)], [min(s, k) for s, k in zip(shape, taps)]
        if draw(st.booleans()):
            shape, taps = taps, shape
    return numbers(dtype, *shape), numbers(dtype, *taps, seed=1), mode, method


@pytest.mark.parametrize("function", ["convolve", "correlate"])
def test_agrees_with_scipy(library: Library, function: str) -> None:
    @settings(max_examples=8 if library.lazy or library.id == "jax" else 40)
    @given(problem=signals())
    def run(problem: tuple[np.ndarray, np.ndarray, str, str]) -> None:
        x, kernel, mode, method = problem
        ours = getattr(convolution, function)(library.asarray(x), library.asarray(kernel), mode=mode, method=method)
        expected = getattr(signal, function)(x, kernel, mode=mode, method="direct")
        rtol = 100 * tolerance(str(x.dtype))
        library.assert_equal(ours, expected.astype(x.dtype), rtol=rtol, atol=rtol)

    run()


@pytest.mark.parametrize(
    ("shape", "taps", "axes"),
    [
        ((3, 8), (1, 3), -1),
        ((1, 8), (3, 3), 1),
        ((3, 8), (3, 3), (1,)),
        ((8, 3), (5, 3), 0),
        ((3, 1, 6, 5), (1, 2, 2, 3), (-2, -1)),
        ((2, 6, 2, 5), (1, 2, 2, 3), (3, 1)),
        ((2, 3), (2, 3), ()),
        ((), (), None),
    ],
)
@pytest.mark.parametrize("method", ["direct", "fft"])
def test_axes(library: Library, shape: Any, taps: Any, axes: Any, method: str) -> None:
    x, kernel = normal(*shape), normal(*taps, seed=1)
    result = convolution.convolve(library.asarray(x), library.asarray(kernel), axes=axes, method=method)
    expected = x * kernel if axes in ((), None) else signal.fftconvolve(x, kernel, axes=axes)
    library.assert_equal(result, expected, rtol=1e-12, atol=1e-12)


def test_long_arrays_take_transforms(eager_library: Library) -> None:
    x, kernel = normal(3000), normal(1500, seed=1)
    result = convolution.convolve(eager_library.asarray(x), eager_library.asarray(kernel), mode="same")
    eager_library.assert_equal(result, signal.convolve(x, kernel, "same", "direct"), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    ("shape", "taps"),
    [((1, 1, 1 << 20), (1, 1, 5)), ((1, 1, 800, 900), (1, 1, 5, 3)), ((2, 8, 200, 200), (8, 8, 3, 3))],
)
@pytest.mark.parametrize("padding", ["valid", "same"])
def test_memory(shape: tuple[int, ...], taps: tuple[int, ...], padding: Any) -> None:
    x, kernel = normal(*shape), normal(*taps)
    convolution.conv(x[..., :9], kernel, padding=padding)  # what is imported and kept by the first call
    tracemalloc.start()
    result = convolution.conv(x, kernel, padding=padding)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak + x.nbytes + kernel.nbytes <= 2 * (x.nbytes + kernel.nbytes + result.nbytes)


def test_transforms_are_taken_where_they_are_faster() -> None:
    long, taps, image, stamp = normal(100_000), normal(1000), normal(200, 200), normal(25, 25)
    for x, kernel, axes in ((long, taps, (0,)), (image, stamp, (0, 1))):
        assert pieces.takes_fft(x, kernel, axes, "auto")
        assert not pieces.takes_fft(x, kernel, axes, "direct")
        assert not pieces.takes_fft(x.astype(int), kernel.astype(int), axes, "auto")
    assert not pieces.takes_fft(long, taps[:100], (0,), "auto")
    assert pieces.takes_fft(long, taps[:100], (0,), "auto", 1.5)


@pytest.mark.parametrize(("n", "k"), [(0, 3), (3, 0), (0, 0), (0, 1)])
def test_sums_of_nothing(library: Library, n: int, k: int) -> None:
    x, kernel = library.asarray(np.ones(n)), library.asarray(np.ones(k))
    library.assert_equal(convolution.convolve(x, kernel), np.zeros(max(n + k - 1, 0)))
    library.assert_equal(convolution.convolve(x, kernel, mode="same"), np.zeros(n))
    library.assert_equal(convolution.correlate(x, kernel, mode="valid"), np.zeros(abs(n - k) + 1))


def test_infinities_stay_where_they_are_directly(library: Library) -> None:
    x = np.asarray([1.0, np.inf, 1.0, 1.0, np.nan])
    result = convolution.convolve(library.asarray(x), library.asarray(np.asarray([1.0, 2.0])), method="direct")
    library.assert_equal(result, [1.0, np.inf, np.inf, 3.0, np.nan, np.nan])


IMAGES, KERNELS = normal(2, 2, 4, 5), normal(4, 2, 3, 2, seed=1)
CASES = {
    "conv": Case(
        lambda x, k: convolution.conv(x, k, strides=(1, 2), padding="same"),
        (IMAGES, KERNELS),
        lambda x, k: np.asarray(jax.lax.conv_general_dilated(x, k, (1, 2), "SAME")),
        differentiable=(0, 1),
        atol=1e-14,
    ),
    "conv, grouped": Case(
        lambda x, k: convolution.conv(x, k, padding=((1, 0), (-1, 2)), input_dilation=2, feature_groups=2),
        (IMAGES, KERNELS[:, :1]),
        lambda x, k: by_definition(x, k, (1, 1), ((1, 0), (-1, 2)), (2, 2), (1, 1), 2),
        differentiable=(0, 1),
        atol=1e-14,
    ),
    "conv, kernels of their own": Case(
        lambda x, k: convolution.conv(x, k),
        (IMAGES, np.stack([KERNELS, 2 * KERNELS])),
        lambda x, k: by_definition(x, k, (1, 1), ((0, 0), (0, 0)), (1, 1), (1, 1)),
        differentiable=(0, 1),
        atol=1e-14,
    ),
    "conv, four axes": Case(
        lambda x, k: convolution.conv(x, k),
        (normal(1, 1, 2, 2, 3, 2), normal(1, 1, 1, 2, 2, 1, seed=1)),
        lambda x, k: by_definition(x, k, (1,) * 4, ((0, 0),) * 4, (1,) * 4, (1,) * 4),
        differentiable=(0, 1),
        atol=1e-14,
    ),
    "conv, integers": Case(
        lambda x, k: convolution.conv(x, k),
        (numbers("uint16", 1, 2, 4, 3), numbers("uint16", 2, 2, 2, 2)),
        lambda x, k: by_definition(x, k, (1, 1), ((0, 0), (0, 0)), (1, 1), (1, 1)),
    ),
    "conv_transpose": Case(
        lambda x, k: convolution.conv_transpose(x, k, strides=2, padding=((1, 0), (0, 2)), output_padding=1),
        (normal(2, 4, 2, 3), KERNELS),
        lambda x, k: np.asarray(
            jax.vjp(lambda u: jax.lax.conv_general_dilated(u, k, (2, 2), ((1, 0), (0, 2))), np.zeros((2, 2, 5, 5)))[1](
                jax.numpy.asarray(x)
            )[0]
        ),
        differentiable=(0, 1),
        atol=1e-14,
    ),
    "convolve": Case(
        lambda x, k: convolution.convolve(x, k, mode="same"),
        (normal(5, 4), normal(2, 3, seed=1)),
        lambda x, k: signal.convolve(x, k, "same", "direct"),
        differentiable=(0, 1),
        atol=1e-14,
    ),
    "convolve, by transforms": Case(
        lambda x, k: convolution.convolve(x, k, method="fft"),
        (normal(5, 4), normal(2, 3, seed=1)),
        lambda x, k: signal.convolve(x, k, method="direct"),
        differentiable=(0, 1),
        atol=1e-14,
    ),
    "correlate": Case(
        lambda x, k: convolution.correlate(x, k + 0.5j),
        (normal(5), normal(3, seed=1)),
        lambda x, k: signal.correlate(x + 0j, k + 0.5j, method="direct"),
        differentiable=(0, 1),
        atol=1e-14,
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_values(library: Library, case: Case) -> None:
    check_values(library, case)


@checked(CASES)
def test_transformations(case: Case, transformation: Check) -> None:
    transformation(case)


def test_second_derivatives() -> None:
    import torch

    x, kernel = normal(1, 1, 5), normal(1, 1, 2, seed=1)
    square = lambda k, x: (convolution.conv(x, k, padding="same") ** 2).sum()
    ours = jax.hessian(square)(jax.numpy.asarray(kernel), jax.numpy.asarray(x))
    theirs = torch.func.hessian(square)(torch.asarray(kernel), torch.asarray(x))
    shifted = np.concatenate([x[0, 0, 1:], [0.0]])
    expected = 2 * np.asarray([[x[0, 0] @ x[0, 0], x[0, 0] @ shifted], [x[0, 0] @ shifted, shifted @ shifted]])
    np.testing.assert_allclose(np.asarray(ours).reshape(2, 2), expected, rtol=1e-12)
    np.testing.assert_allclose(np.asarray(theirs).reshape(2, 2), expected, rtol=1e-12)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision(dtype: str) -> None:
    import torch

    for asarray, types in ((torch.asarray, torch), (jax.numpy.asarray, jax.numpy)):
        kind = getattr(types, dtype)
        x, kernel = asarray(np.ones((1, 1, 8)), dtype=kind), asarray(np.ones((1, 1, 3)), dtype=kind)
        result = convolution.conv(x, kernel, padding="same")
        assert result.dtype == kind
        assert [float(value) for value in result[0, 0]] == [2, 3, 3, 3, 3, 3, 3, 2]
        assert convolution.convolve(x[0, 0], kernel[0, 0]).dtype == kind
        for function in (convolution.convolve, convolution.correlate):
            by_fft = function(x[0, 0], kernel[0, 0], mode="same", method="fft")
            assert by_fft.dtype == kind
            assert [float(value) for value in by_fft] == [2, 3, 3, 3, 3, 3, 3, 2]


@pytest.mark.parametrize("library", [each for each in LIBRARIES if hasattr(each.xp, "float16")], ids=str)
def test_transforms_of_half_precision(library: Library) -> None:
    x, kernel = normal(40).astype(np.float16), normal(9, seed=1).astype(np.float16)
    found = convolution.convolve(library.asarray(x, "float16"), library.asarray(kernel, "float16"), method="fft")
    expected = np.convolve(x.astype(np.float64), kernel.astype(np.float64)).astype(np.float16)
    library.assert_equal(found, expected, rtol=2e-3, atol=2e-3)


X, K = np.ones((2, 4, 5, 5)), np.ones((4, 4, 3, 3))


@pytest.mark.parametrize("function", ["conv", "conv_transpose"])
@pytest.mark.parametrize(
    ("x", "kernel", "options", "error", "message"),
    [
        (X, [1.0], {}, TypeError, "kernel must be an array"),
        (X > 0, K, {}, TypeError, "x must have a numeric data type"),
        (X, K.astype(int), {}, TypeError, "x of float64, kernel of int64"),
        (X.astype(np.uint64), K.astype(np.int8), {}, TypeError, "x of uint64, kernel of int8"),
        (X[0, 0, 0], K, {}, ValueError, r"x must have the axes \(batch, channels"),
        (X, K[0, 0], {}, ValueError, "kernel must have 4 axes"),
        (X, np.ones((3, 4, 4, 3, 3)), {}, ValueError, "one entry, or one for each of the 2 batch elements"),
        (X, K[..., :0], {}, ValueError, "kernel must have taps"),
        (X, np.ones((3, 3, 3, 3)), {}, ValueError, "4 channels"),
        (X, K, {"strides": 0}, ValueError, "strides must be at least 1"),
        (X, K, {"strides": (1, 1, 1)}, ValueError, "strides must have one integer for each of the 2"),
        (X, K, {"kernel_dilation": 1.5}, TypeError, "kernel_dilation must be an integer"),
        (X, K, {"padding": "smae"}, ValueError, "did you mean 'same'"),
        (X, K, {"padding": 1}, TypeError, "padding must be one of"),
        (X, K, {"padding": [(1, 1)]}, ValueError, "a pair"),
        (X, K, {"padding": [(1, 1), (1.5, 1)]}, TypeError, "padding must be an integer"),
        (X, K, {"feature_groups": 0}, ValueError, "feature_groups must be at least 1"),
    ],
)
def test_bad_input(function: str, x: Any, kernel: Any, options: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=f"{function}: .*{message}|{function}: {message}"):
        getattr(convolution, function)(x, kernel, **options)


def test_bad_groups() -> None:
    with pytest.raises(ValueError, match="takes groups of features or of the batch"):
        convolution.conv(X, K[:, :2], feature_groups=2, batch_groups=2)
    with pytest.raises(ValueError, match="feature_groups=2 must divide the kernel's outputs, which are 3"):
        convolution.conv(X, K[:3, :2], feature_groups=2)
    with pytest.raises(ValueError, match="batch_groups=4 must divide the batch, which are 2"):
        convolution.conv(X, K, batch_groups=4)
    with pytest.raises(ValueError, match="takes one kernel for all"):
        convolution.conv(X, np.stack([K, K]), batch_groups=2)
    with pytest.raises(ValueError, match=r"output_padding must be below the strides \(2, 2\), got \(2, 2\)"):
        convolution.conv_transpose(X, K, strides=2, output_padding=2)
    with pytest.raises(ValueError, match="feature_groups=3 must divide"):
        convolution.conv_transpose(X, K, feature_groups=3)


@pytest.mark.parametrize("function", ["convolve", "correlate"])
@pytest.mark.parametrize(
    ("x", "kernel", "options", "error", "message"),
    [
        (1.0, np.ones(2), {}, TypeError, "x must be an array"),
        (np.ones(2, bool), np.ones(2), {}, TypeError, "x must have a numeric data type"),
        (np.ones(2), np.ones(2, int), {}, TypeError, "x of float64, kernel of int64"),
        (np.ones(2), np.ones((2, 2)), {}, ValueError, "as many axes"),
        (np.ones(2), np.ones(2), {"mode": "ful"}, ValueError, "did you mean 'full'"),
        (np.ones(2), np.ones(2), {"method": "fast"}, ValueError, "method must be one of"),
        (np.ones(2, int), np.ones(2, int), {"method": "fft"}, TypeError, "method='fft' takes floating-point"),
        (np.ones((2, 3)), np.ones((3, 2)), {"mode": "valid"}, ValueError, "larger along all axes"),
        (np.ones((2, 3)), np.ones((3, 3)), {"axes": 1}, ValueError, "axis 0 is not convolved over"),
        (np.ones((2, 3)), np.ones((2, 3)), {"axes": (1, -1)}, ValueError, "names an axis twice"),
        (np.ones((2, 3)), np.ones((2, 3)), {"axes": 2}, ValueError, "axes=2 is out of range"),
    ],
)
def test_bad_signals(function: str, x: Any, kernel: Any, options: Any, error: Any, message: str) -> None:
    with pytest.raises(error, match=message):
        getattr(convolution, function)(x, kernel, **options)


def test_two_libraries_and_two_devices() -> None:
    import array_api_strict as strict
    import torch

    with pytest.raises(TypeError, match="takes arrays of one library"):
        convolution.conv(torch.ones(1, 1, 3), np.ones((1, 1, 2)))
    with pytest.raises(ValueError, match="takes arrays on one device"):
        convolution.convolve(strict.ones(3), strict.ones(2, device=strict.Device("device1")))


def test_unknown_sizes() -> None:
    import dask.array as da

    x = da.ones(6, chunks=3)
    with pytest.raises(ValueError, match="x has a shape not known yet"):
        convolution.convolve(x[x > 2], da.ones(3))


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("name", ["conv", "conv_transpose"])
def test_mapped_over_an_empty_axis(name: str, groups: int) -> None:
    """Signals, kernels, or both."""
    function = partial(getattr(convolution, name), feature_groups=groups)
    kernel = np.ones((4, 3, 3) if name == "conv_transpose" else (6, 4 // groups, 3))
    x = np.ones((2, 4, 5))
    shape = function(x, kernel).shape
    none = [np.zeros((0, *each.shape)) for each in (x, kernel)]
    for axes in ((0, 0), (0, None), (None, 0)):
        given = [empty if axis == 0 else each for axis, empty, each in zip(axes, none, (x, kernel))]
        assert vmap(function, in_axes=axes)(*given).shape == (0, *shape)
