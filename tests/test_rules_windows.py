"""Rules of windows, convolutions and interpolation: what the cases of their own test files leave out."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from tests.cases import Case
from tests.operations import Check, checked
from tests.traced import traced_forward, traced_grad, traced_second, traced_stage, traced_vmap
from xpand import array_namespace
from xpand_extensions import convolution, interpolation, windows
from xpand_extensions.autodiff import grad, jvp, linear_transpose, vjp
from xpand_extensions.vmap import vmap

TRACED = [traced_stage, traced_vmap, traced_forward, traced_grad]
RNG = np.random.default_rng(0)


def normal(*shape: int) -> np.ndarray:
    return RNG.normal(size=shape)


def case(function: Any, *arrays: np.ndarray, **options: Any) -> Case:
    return Case(function, arrays, differentiable=tuple(range(len(arrays))), atol=1e-13, **options)


def of_complex(function: Any) -> Any:
    """Make a function of two complex arrays one of their real and imaginary parts."""
    return lambda a, b, c, d: function(a + 1j * b, c - 1j * d)


def norm_of_features(x: Any, kernel: Any) -> Any:
    """Two layers: convolution, a rectifier, pooling of both kinds."""
    xp = array_namespace(x, kernel)
    hidden = convolution.conv(x, kernel, padding="same")
    hidden = xp.where(hidden > 0.01, hidden, 0.1 * hidden)
    pooled = windows.max_pool(hidden, 2)
    found = convolution.conv_transpose(pooled, kernel, strides=2, padding="same")
    return xp.sum(windows.avg_pool(found, 3, strides=1, padding="same", count_include_pad=False) ** 2, axis=(2, 3))


def at_fixed_points(x: Any, values: Any) -> Any:
    points = array_namespace(x, values).asarray([0.0, 1.0, 2.5])
    return interpolation.interp(x, points, values, right=2.0)


IMAGE, IMAGES, KERNELS = normal(6, 7), normal(2, 4, 5, 6), normal(4, 2, 3, 2)
CASES = {
    "sum, side by side": case(lambda x: windows.window_sum(x, (2, 3), strides=(2, 3)) ** 2, IMAGE),
    "sum, side by side, padded": case(
        lambda x: windows.window_sum(x, 3, strides=3, padding=((2, 1), (1, 0))) ** 2, IMAGE
    ),
    "sum, far apart": case(lambda x: windows.window_sum(x, 2, strides=3, padding=2) ** 2, IMAGE),
    "sum, of one": case(lambda x: windows.window_sum(x, 1, strides=2, padding=1) ** 2, IMAGE),
    "sum, dilated": case(lambda x: windows.window_sum(x, 3, window_dilation=2, strides=(1, 2), padding=1) ** 2, IMAGE),
    "sum, one axis": case(lambda x: windows.window_sum(x, 3, axis=-2, padding=((0, 4),)) ** 2, IMAGE),
    "sum, far outside": case(lambda x: windows.window_sum(x, 2, axis=0, padding=((5, 5),)) ** 2, IMAGE),
    "sum, complex": case(lambda x, y: windows.window_sum(x + 1j * y, 2, padding=1) ** 2, IMAGE, IMAGE[::-1]),
    "mean, outside": case(
        lambda x: windows.window_mean(x, 3, strides=2, padding=((2, 3), (0, 1)), count_include_pad=False) ** 2, IMAGE
    ),
    "max, outside": case(lambda x: windows.window_max(x, 2, axis=1, padding=((2, 1),))[:, 1:-1] ** 2, IMAGE),
    "min, dilated": case(lambda x: windows.window_min(x, (2, 3), window_dilation=2, strides=(2, 1)) ** 2, IMAGE),
    "prod, padded": case(lambda x: windows.window_prod(x, (2, 3), padding="same") ** 2, IMAGE),
    "view, side by side": case(lambda x: windows.sliding_window_view(x, (2, 3), strides=(2, 3)) ** 2, IMAGE),
    "view, dilated": case(
        lambda x: windows.sliding_window_view(x, 3, strides=(2, 1), window_dilation=(1, 2)) ** 2, IMAGE
    ),
    "view, one axis": case(lambda x: windows.sliding_window_view(x, 3, axis=0, strides=2) ** 2, IMAGE),
    "conv, groups of the batch": case(
        lambda x, k: convolution.conv(x, k, batch_groups=2, strides=2, padding="full"), IMAGES, normal(4, 4, 3, 2)
    ),
    "conv, groups": case(
        lambda x, k: convolution.conv(x, k, feature_groups=2, kernel_dilation=(1, 2), strides=(2, 1), padding="same"),
        IMAGES,
        KERNELS,
    ),
    "conv, many taps": case(
        lambda x, k: convolution.conv(x, k, feature_groups=2, strides=2, input_dilation=(2, 1), kernel_dilation=(1, 2)),
        normal(2, 4, 4, 7),
        normal(2, 2, 5, 3),
    ),
    "conv, a row": case(lambda x, k: convolution.conv(x, k, padding=((2, -1),)), normal(1, 1, 9), normal(1, 1, 3)),
    "conv, points alone": case(convolution.conv, normal(3, 2), normal(4, 2)),
    "conv, a kernel for all": case(
        lambda x, k: convolution.conv(x, k, input_dilation=2, padding=((1, 2), (-1, 0))),
        normal(2, 2, 3, 4),
        KERNELS[None],
    ),
    "conv, kernels in groups": case(
        lambda x, k: convolution.conv(x, k, feature_groups=2), IMAGES, np.stack([KERNELS, KERNELS[::-1]])
    ),
    "conv, all cut off": case(
        lambda x, k: convolution.conv(x, k, padding=((6, -5), (0, 0))), IMAGES, normal(2, 4, 3, 2)
    ),
    "conv, complex": case(
        of_complex(convolution.conv), *(normal(1, 2, 5) for _ in "ab"), *(normal(3, 2, 2) for _ in "ab")
    ),
    "conv_transpose, groups": case(
        lambda x, k: convolution.conv_transpose(
            x, k, feature_groups=2, strides=(3, 2), padding="same", output_padding=(2, 0)
        ),
        IMAGES,
        KERNELS,
    ),
    "conv_transpose, kernels of their own": case(
        lambda x, k: convolution.conv_transpose(x, k, kernel_dilation=2), IMAGES, np.stack([KERNELS, KERNELS[::-1]])
    ),
    "convolve, spread": case(lambda x, k: convolution.convolve(x, k, axes=1, mode="valid"), normal(3, 6), normal(1, 2)),
    "convolve, the kernel larger": case(convolution.convolve, normal(3), normal(7)),
    "correlate, both complex": case(
        of_complex(convolution.correlate), *(normal(4) for _ in "ab"), *(normal(3) for _ in "ab")
    ),
    "grid of complex numbers": case(
        lambda a, b, c: interpolation.grid_sample(a + 1j * b, c, extrapolation="reflect"),
        normal(1, 4, 3, 2),
        normal(1, 4, 3, 2),
        3 * normal(2, 5, 2),
    ),
    "one place for all grids": case(interpolation.grid_sample, normal(3, 4, 2), normal(1, 2, 2, 1)),
    "interp, places and values": case(at_fixed_points, normal(2, 3) + 1, normal(2, 3)),
    "layers": case(norm_of_features, normal(2, 2, 4, 6), normal(2, 2, 3, 3)),
}
SECOND = ("conv, groups of the batch", "conv, many taps", "layers", "max, outside", "sum, dilated", "view, dilated")
"""The cases of which second derivatives are checked: one of each kind, for JAX's take a second each to compile."""


@checked(CASES, TRACED)
def test_transformations(case: Case, transformation: Check) -> None:
    transformation(case)


@pytest.mark.parametrize("name", SECOND)
def test_second_derivatives(name: str) -> None:
    traced_second(CASES[name])


@pytest.mark.parametrize("function", ["window_max", "window_min"])
def test_the_first_of_equal_elements_is_taken(function: str) -> None:
    import jax

    x = np.asarray([[1.0, 2.0, 2.0, 0.0], [2.0, 2.0, 0.0, 0.0], [1.0, 1.0, 1.0, 1.0]])
    initial, computation = (-np.inf, jax.lax.max) if function == "window_max" else (np.inf, jax.lax.min)
    theirs = lambda x: jax.lax.reduce_window(x, initial, computation, (2, 2), (1, 1), "VALID")
    weights = np.arange(1.0, 7.0).reshape(2, 3)
    expected = jax.grad(lambda x: (theirs(x) * weights).sum())(jax.numpy.asarray(x))
    found = grad(lambda x: array_namespace(x).sum(getattr(windows, function)(x, 2) * weights))(x)
    np.testing.assert_array_equal(found, np.asarray(expected))


def test_extremes_of_what_is_not_finite() -> None:
    x = np.asarray([-np.inf, -np.inf, np.nan, 1.0, np.nan, 2.0])
    out, pull = vjp(lambda x: windows.window_max(x, 2, padding=1), x)
    np.testing.assert_array_equal(out, [-np.inf, -np.inf, np.nan, np.nan, np.nan, np.nan, 2.0])
    (found,) = pull(np.asarray([1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0]))
    # Never what lies outside; NaN before all else.
    np.testing.assert_array_equal(found, [3.0, 0.0, 12.0, 0.0, 48.0, 64.0])


def test_windows_of_nothing() -> None:
    empty = np.zeros((0, 3))
    for function in ("window_sum", "window_max", "window_prod", "window_mean"):
        reduce = getattr(windows, function)
        out, pull = vjp(lambda x: reduce(x, 2, padding=2), empty)  # noqa: B023
        assert pull(np.ones(out.shape))[0].shape == (0, 3)
        out, pull = vjp(lambda x: reduce(x, 5), np.ones((3, 3)))  # noqa: B023
        assert out.shape == (0, 0)
        np.testing.assert_array_equal(pull(out)[0], np.zeros((3, 3)))
    only_outside = lambda x: windows.window_mean(x, 1, padding=1, count_include_pad=False)
    out, tangent = jvp(only_outside, (np.ones(2),), (np.ones(2),))
    np.testing.assert_array_equal(out, [np.nan, 1.0, 1.0, np.nan])
    np.testing.assert_array_equal(tangent, [0.0, 1.0, 1.0, 0.0])


@st.composite
def convolutions(draw: st.DrawFn) -> tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]:
    """Shapes and options of a convolution over one or two axes."""
    n = draw(st.integers(1, 2))
    each = lambda low, high: tuple(draw(st.integers(low, high)) for _ in range(n))
    groups, batch_groups = draw(st.sampled_from([(1, 1), (2, 1), (1, 2)]))
    batch, into = draw(st.integers(1, 2)) * batch_groups, draw(st.integers(1, 2))
    kernel = (2 * draw(st.integers(1, 2)), into, *each(1, 4))
    if batch_groups == 1:
        kernel = draw(st.sampled_from([kernel, (1, *kernel), (batch, *kernel)]))
    options = {
        "strides": each(1, 3),
        "padding": tuple(zip(each(-1, 3), each(-1, 3))),
        "input_dilation": each(1, 2),
        "kernel_dilation": each(1, 2),
        "feature_groups": groups,
        "batch_groups": batch_groups,
    }
    return (batch, into * groups, *each(1, 6)), kernel, options


@settings(max_examples=60, deadline=None)
@given(convolutions(), st.booleans())
def test_convolutions_are_transposed(problem: Any, is_mapped: bool) -> None:
    """The products with a convolution's derivative and with its transpose agree, in both arrays; of batches too."""
    shape, taps, options = problem
    numbers = np.random.default_rng(1)
    x, kernel = numbers.normal(size=shape), numbers.normal(size=taps)
    conv = lambda x, kernel: convolution.conv(x, kernel, **options)
    out, pull = vjp(conv, x, kernel)
    ct, dx, dk = (numbers.normal(size=each) for each in (out.shape, shape, taps))
    _, tangent = jvp(conv, (x, kernel), (dx, dk))
    np.testing.assert_allclose(tangent, conv(dx, kernel) + conv(x, dk), rtol=1e-12, atol=1e-12)
    pulled = pull(ct)
    total = np.sum(pulled[0] * dx) + np.sum(pulled[1] * dk)
    np.testing.assert_allclose(total, np.sum(tangent * ct), rtol=1e-10, atol=1e-10)
    if is_mapped:
        for axes in ((0, 0), (0, None), (None, 0)):
            lanes = [np.stack([each, 2 * each[::-1]]) if axis == 0 else each for each, axis in zip((x, kernel), axes)]
            of = lambda i: [each[i] if axis == 0 else each for each, axis in zip(lanes, axes)]  # noqa: B023
            expected = np.stack([conv(*of(0)), conv(*of(1))])
            np.testing.assert_allclose(vmap(conv, in_axes=axes)(*lanes), expected, rtol=1e-12, atol=1e-12)


@st.composite
def sums(draw: st.DrawFn) -> tuple[tuple[int, ...], dict[str, Any]]:
    shape = tuple(draw(st.lists(st.integers(0, 7), min_size=1, max_size=3)))
    axis = tuple(draw(st.permutations(range(len(shape))))[: draw(st.integers(1, len(shape)))])
    each = lambda low, high: tuple(draw(st.integers(low, high)) for _ in axis)
    where = {"window_shape": each(1, 4), "axis": axis, "strides": each(1, 4), "window_dilation": each(1, 2)}
    return shape, {**where, "padding": tuple(zip(each(0, 4), each(0, 4)))}


@settings(max_examples=60, deadline=None)
@given(sums())
def test_sums_are_transposed(problem: Any) -> None:
    """The transpose of sums and views of windows is that of the matrix they are."""
    shape, where = problem
    window = where.pop("window_shape")
    size = math.prod(shape)
    unit = np.eye(size).reshape(size, *shape)
    view = {name: value for name, value in where.items() if name != "padding"}
    for function in (
        lambda x: windows.window_sum(x, window, **where),
        lambda x: windows.sliding_window_view(x, window, **view),
    ):
        like = function(np.zeros(shape))
        ct = np.random.default_rng(2).normal(size=like.shape)
        (found,) = linear_transpose(function, np.zeros(shape))(ct)
        expected = [np.sum(function(each) * ct) for each in unit]
        np.testing.assert_allclose(found, np.reshape(expected, shape), rtol=1e-12, atol=1e-12)
