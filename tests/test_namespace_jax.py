"""The JAX namespace: what it answers otherwise than `jax.numpy`, and that this holds under JAX's transformations."""

import cmath
import copy
import importlib
import inspect
import itertools
import math
import pickle
from fractions import Fraction

import numpy as np
import pytest

jax = pytest.importorskip("jax")
import jax.numpy as jnp  # noqa: E402

import xpand.jax as xp  # noqa: E402

inf, nan = math.inf, math.nan
WITH_CUTS = ["log", "log1p", "sqrt", "asin", "acos", "atan", "asinh", "acosh", "atanh"]
COMPLEX = ["exp", "expm1", "sin", "cos", "tan", "sinh", "cosh", "tanh", *WITH_CUTS]


def assert_identical(got, expected):
    """Equal, with the signs of zeros; real arrays."""
    np.testing.assert_array_equal(got, expected)
    keep = ~np.isnan(np.asarray(expected))
    np.testing.assert_array_equal(np.signbit(got)[keep], np.signbit(expected)[keep])


def test_superset_of_jax_numpy():
    for ours, theirs in ((xp, jnp), (xp.linalg, jnp.linalg), (xp.fft, jnp.fft)):
        public = {name for name in dir(theirs) if not name.startswith("_")}
        assert public <= set(ours.__all__)
        assert set(dir(ours)) == set(ours.__all__)
        assert all(hasattr(ours, name) for name in ours.__all__)


def test_extensions_are_submodules():
    from xpand.jax import fft, linalg

    for name, module in (("linalg", linalg), ("fft", fft)):
        assert module is importlib.import_module(f"xpand.jax.{name}") is getattr(xp, name)
        assert module.__name__ == f"xpand.jax.{name}"


def is_replaced(name):
    """Whether a function of JAX's namespace has another one in its place."""
    theirs = getattr(jnp, name, None)
    return callable(theirs) and not inspect.isclass(theirs) and getattr(xp, name) is not theirs


@pytest.mark.parametrize("name", sorted(filter(is_replaced, xp.__all__)))
def test_drop_in_signatures(name):
    ours, theirs = getattr(xp, name), getattr(jnp, name)
    have, want = inspect.signature(ours).parameters, inspect.signature(theirs).parameters
    positional = [p for p in want.values() if p.kind is p.POSITIONAL_ONLY]
    assert len([p for p in have.values() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]) >= len(positional)
    named = {p.name for p in want.values() if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)}
    assert named <= {p.name for p in have.values() if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)}


# --- complex elementwise functions


@pytest.mark.parametrize("name", WITH_CUTS)
def test_conjugate_symmetry_on_the_real_axis(name):
    # "f(conj(x)) must equal conj(f(x))": the lower lip of a cut has its own value.
    above = jnp.asarray([complex(a, 0.0) for a in (-3.0, -1.5, -0.5, 0.25, 2.0)])
    below = getattr(xp, name)(jnp.conj(above))
    np.testing.assert_array_equal(below, jnp.conj(getattr(xp, name)(above)))
    expected = [
        getattr(cmath, name)(z) if name != "log1p" else cmath.log(complex(1 + z.real, z.imag))
        for z in np.conj(np.asarray(above))
    ]
    np.testing.assert_allclose(below, expected, rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("name", ["asinh", "atan"])
def test_odd_symmetry_on_the_imaginary_axis(name):
    points = [complex(a, b) for a in (0.0, -0.0) for b in (-3.0, -1.5, 1.5, 3.0)]
    expected = [getattr(cmath, name)(z) for z in points]
    np.testing.assert_allclose(getattr(xp, name)(jnp.asarray(points)), expected, rtol=1e-13, atol=1e-15)


def test_atan_keeps_the_sign_of_a_zero_imaginary_part():
    z = jnp.asarray([complex(a, b) for a in (0.0, -0.0, 1.0, -2.5) for b in (0.0, -0.0)])
    assert_identical(xp.atan(z).imag, z.imag)


@pytest.mark.parametrize("name", COMPLEX)
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_complex_values_match_numpy(name, dtype):
    rng = np.random.default_rng(3)
    z = (rng.normal(size=300) * 10.0 ** rng.integers(-6, 2, 300) + 1j * rng.normal(size=300)).astype(dtype)
    got = getattr(xp, name)(jnp.asarray(z))
    assert got.dtype == dtype
    expected = getattr(np, name)(z.astype("complex128"))
    # asin and similar functions lose digits near their branch points: compare with the size of the argument in view
    np.testing.assert_allclose(got, expected, rtol=50 * np.finfo(dtype).eps, atol=4 * np.finfo(dtype).eps)


@pytest.mark.parametrize("name", ["sinh", "cosh", "expm1", "log1p"])
def test_small_complex_arguments_keep_their_digits(name):
    mpmath = pytest.importorskip("mpmath")
    points = [1e-10 + 1e-10j, 1e-5 - 3e-7j, -1e-12 + 2j]
    with mpmath.workdps(40):
        expected = [complex(getattr(mpmath, name)(z)) for z in points]
    np.testing.assert_allclose(getattr(xp, name)(jnp.asarray(points)), expected, rtol=1e-15)


def test_hyperbolic_overflow_only_where_the_result_does():
    # exp(710.7) / 2 overflows, its product with the cosine of 1.5 does not.
    expected = math.exp(710.7 - math.log(2) + math.log(math.cos(1.5)))
    np.testing.assert_allclose(xp.sinh(jnp.asarray([710.7 + 1.5j, -710.7 + 1.5j])).real, [expected, -expected])
    np.testing.assert_allclose(xp.cosh(jnp.asarray([710.7 + 1.5j, -710.7 + 1.5j])).real, [expected, expected])


@pytest.mark.parametrize("name", [*COMPLEX, "sign"])
def test_real_arguments_are_left_to_jax(name):
    x = jnp.asarray([0.0, 0.25, 0.5, 1.0, 3.0, -0.5, -inf, inf, nan])
    for argument in (x, x.astype("float32"), jnp.asarray([0, 1])):
        np.testing.assert_array_equal(getattr(xp, name)(argument), getattr(jnp, name)(argument))
        assert getattr(xp, name)(argument).dtype == getattr(jnp, name)(argument).dtype


@pytest.mark.parametrize("name", COMPLEX)
def test_transformations(name):
    function = getattr(xp, name)
    z = jnp.asarray([0.3 + 0.4j, 0.5 + 0j, complex(inf, nan), complex(-inf, 2), complex(nan, 0)])
    np.testing.assert_array_equal(jax.jit(jax.vmap(lambda w: function(w)))(z.reshape(5, 1))[:, 0], function(z))
    ours, native = (jax.jit(jax.vmap(jax.grad(f, holomorphic=True))) for f in (function, getattr(jnp, name)))
    np.testing.assert_allclose(ours(z[:2]), native(z[:2]), rtol=1e-12)


@pytest.mark.parametrize("name", ["sqrt", "acosh", "log"])
def test_derivatives_below_the_cut(name):
    below = complex(-3.0, -0.0) if name != "acosh" else complex(0.5, -0.0)
    function = getattr(xp, name)
    derivative, above = jax.jit(jax.vmap(jax.grad(function, holomorphic=True)))(jnp.asarray([below, below.conjugate()]))
    np.testing.assert_allclose(derivative, jnp.conj(above), rtol=1e-12)
    step = 1e-6j
    difference = (function(jnp.asarray(below - step)) - function(jnp.asarray(below - 3 * step))) / (2 * step)
    np.testing.assert_allclose(derivative, difference, rtol=1e-4)


def test_scalars_stay_weakly_typed():
    assert xp.exp(1j).weak_type
    assert (jnp.ones(2, "complex64") * xp.sqrt(-1 - 0j)).dtype == "complex64"
    assert (jnp.ones(2, "float32") * xp.floor_divide(7.0, 2)).dtype == "float32"
    assert xp.floor_divide(jnp.ones(2, "float32"), 3.0).dtype == "float32"
    assert xp.floor_divide(3.0, jnp.ones(2, "float32")).dtype == "float32"
    assert xp.remainder(5, jnp.asarray(3.0, "float32")).dtype == "float32"


def test_isin_takes_integers_that_only_uint64_holds():
    x = jnp.asarray([1, 2**63], dtype=jnp.uint64)
    assert xp.isin(x, 2**63).tolist() == [False, True]
    assert xp.isin(x, 2**63, invert=True).tolist() == [True, False]
    assert bool(xp.isin(2**63, x))
    assert not bool(xp.isin(2**64 - 1, x))
    assert jax.jit(lambda x: xp.isin(x, 2**63))(x).tolist() == [False, True]


def test_floor_divide_of_a_tiny_dividend():
    """The remainder `x - floor * y` is not representable here, and rounds to `y`."""
    x, y = np.asarray([1.0, -1.0, 1.0, 3.0]), np.asarray([-9007199254740996.0, 9007199254740996.0, -(2.0**53), -1e300])
    np.testing.assert_array_equal(xp.floor_divide(jnp.asarray(x), jnp.asarray(y)), np.floor_divide(x, y))
    small, large = np.float32([1, -1, 3]), np.float32([-16777218, 16777218, -1e38])
    np.testing.assert_array_equal(
        xp.floor_divide(jnp.asarray(small), jnp.asarray(large)), np.floor_divide(small, large)
    )


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_real_sign_of_zeros(dtype):
    out = np.asarray(xp.sign(jnp.asarray([0.0, -0.0, -2.0, jnp.nan], dtype=dtype)))
    np.testing.assert_array_equal(out, [0.0, 0.0, -1.0, np.nan])
    assert not np.signbit(out[:2]).any()


def test_complex_sign_of_zeros():
    # "If a is either -0 or +0 and b is either -0 or +0, the result is 0 + 0j."
    out = xp.sign(jnp.asarray([complex(a, b) for a in (0.0, -0.0) for b in (0.0, -0.0)]))
    assert not np.signbit(out.real).any()
    assert not np.signbit(out.imag).any()
    np.testing.assert_allclose(xp.sign(jnp.asarray([3 + 4j])), [0.6 + 0.8j])


@pytest.mark.parametrize("bad", [[1.0], "x", None])
@pytest.mark.parametrize("name", ["exp", "sqrt", "sign"])
def test_elementwise_rejects_what_is_no_array(name, bad):
    with pytest.raises(TypeError):
        getattr(xp, name)(bad)


# --- division

DIVISION = [
    # dividend, divisor, quotient: the special cases of `floor_divide`
    (inf, 2.0, inf), (inf, -2.0, -inf), (-inf, 2.0, -inf), (-inf, -2.0, inf), (inf, inf, nan), (-inf, inf, nan),
    (2.0, inf, 0.0), (2.0, -inf, -0.0), (-2.0, inf, -0.0), (-2.0, -inf, 0.0), (0.0, 3.0, 0.0), (-0.0, 3.0, -0.0),
    (0.0, -3.0, -0.0), (-0.0, -3.0, 0.0), (0.0, 0.0, nan), (2.0, 0.0, inf), (2.0, -0.0, -inf), (-2.0, 0.0, -inf),
    (nan, 1.0, nan), (1.0, nan, nan), (1.0, 0.1, 9.0), (-1.0, 0.1, -10.0), (6.0, 0.1, 59.0), (0.7, -0.1, -7.0),
    (-1e-300, 1e300, -1.0), (-1.0, 3.0, -1.0),
]  # fmt: skip


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_floor_divide_special_cases(dtype):
    x, y, expected = (np.asarray(values) for values in zip(*DIVISION[:20], strict=True))
    assert_identical(xp.floor_divide(jnp.asarray(x, dtype), jnp.asarray(y, dtype)), expected.astype(dtype))


def test_floor_divide_values():
    for x, y, expected in DIVISION:
        for function in (xp.floor_divide, jax.jit(xp.floor_divide)):
            assert_identical(function(x, jnp.asarray(y)), np.asarray(expected))
            assert_identical(function(jnp.asarray(x), y), np.asarray(expected))


@pytest.mark.parametrize("dtype", [np.float16, jnp.bfloat16])
def test_floor_divide_of_short_floats(dtype):
    x, y = jnp.asarray([7.0, -7.0, inf, -1.0], dtype), jnp.asarray([2.0, 2.0, 2.0, inf], dtype)
    out = xp.floor_divide(x, y)
    assert out.dtype == dtype
    assert_identical(out.astype("float32"), np.asarray([3.0, -4.0, inf, -0.0], "float32"))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_floor_divide_is_exact(dtype):
    rng = np.random.default_rng(5)
    bits = np.finfo(dtype).nmant
    divisor = (rng.uniform(1, 2, 2000) * 2.0 ** rng.integers(-100, 60, 2000) * rng.choice([-1, 1], 2000)).astype(dtype)
    quotient = np.floor(rng.uniform(1, 2, 2000) * 2.0 ** rng.integers(0, bits - 1, 2000)) * rng.choice([-1, 1], 2000)
    at = (quotient * divisor).astype(dtype)  # near integers, where the rounded quotient may be one off
    for dividend in (at, np.nextafter(at, dtype(inf)), np.nextafter(at, dtype(-inf))):
        got = np.asarray(xp.floor_divide(jnp.asarray(dividend), jnp.asarray(divisor)))
        exact = [math.floor(Fraction(float(x)) / Fraction(float(y))) for x, y in zip(dividend, divisor, strict=True)]
        small = np.abs(np.asarray(exact, float)) < 2.0**bits
        assert small.sum() > 1500
        np.testing.assert_array_equal(got[small], np.asarray(exact, float)[small])


def test_floor_divide_of_integers():
    x, y = jnp.asarray([7, -7, 7, -7]), jnp.asarray([2, 2, -2, -2])
    np.testing.assert_array_equal(xp.floor_divide(x, y), [3, -4, -4, 3])
    assert xp.floor_divide(x, 2).dtype == x.dtype
    assert xp.floor_divide(x[:, None], y.astype("float32")).shape == (4, 4)
    with pytest.raises(TypeError, match="complex"):
        xp.floor_divide(1j, 2)


def test_floor_divide_under_transformations():
    x, y = jnp.asarray([7.5, -7.5, inf]), jnp.asarray([2.0, 2.0, 2.0])
    np.testing.assert_array_equal(jax.vmap(xp.floor_divide)(x, y), [3.0, -4.0, inf])
    np.testing.assert_array_equal(jax.vmap(xp.floor_divide, in_axes=(0, None))(x, 2.0), [3.0, -4.0, inf])
    np.testing.assert_array_equal(jax.grad(lambda v: xp.floor_divide(v, y).sum())(x), jnp.zeros(3))


def test_remainder_has_the_sign_of_the_divisor():
    x = jnp.asarray([0.0, -0.0, 4.0, -4.0, 5.0, -5.0])
    assert_identical(xp.remainder(x, 2.0), np.asarray([0.0, 0.0, 0.0, 0.0, 1.0, 1.0]))
    assert_identical(xp.remainder(x, -2.0), np.asarray([-0.0, -0.0, -0.0, -0.0, -1.0, -1.0]))
    assert_identical(xp.mod(x, jnp.asarray(-2.0)), xp.remainder(x, -2.0))
    np.testing.assert_array_equal(xp.remainder(jnp.asarray([-7, 7]), 3), [2, 1])
    assert jax.grad(xp.remainder, argnums=1)(7.5, 2.0) == -3.0


def test_quotient_and_remainder_belong_together():
    rng = np.random.default_rng(2)
    x, y = jnp.asarray(rng.normal(size=500) * 100), jnp.asarray(rng.normal(size=500))
    np.testing.assert_allclose(xp.floor_divide(x, y) * y + xp.remainder(x, y), x, rtol=1e-12)


# --- the rest


def test_tuples_where_the_standard_asks_for_them():
    x, y = jnp.arange(3), jnp.arange(2)
    for out in (xp.broadcast_arrays(x[:, None], y), xp.meshgrid(x, y, indexing="ij")):
        assert type(out) is tuple
        assert [a.shape for a in out] == [(3, 2), (3, 2)]
    assert [a.shape for a in xp.meshgrid(x, y, sparse=True)] == [(1, 3), (2, 1)]
    with pytest.raises(ValueError, match="indexing"):
        xp.meshgrid(x, y, indexing="ji")


def test_expand_dims():
    x = jnp.ones((2, 3))
    for axis in (0, 1, 2, -1, -3, (0, 2), [0, -1], (-1, 0), (), np.int64(1)):
        expected = np.expand_dims(np.ones((2, 3)), tuple(axis) if isinstance(axis, list) else axis)
        assert xp.expand_dims(x, axis).shape == expected.shape
    assert xp.expand_dims(x, axis=1).shape == (2, 1, 3)
    assert xp.expand_dims(x).shape == (1, 2, 3)
    assert xp.expand_dims(5.0, 0).shape == (1,)
    assert jax.vmap(lambda row: xp.expand_dims(row, -1))(x).shape == (2, 3, 1)
    for axis in (3, -4, (0, 4)):
        with pytest.raises(IndexError, match="expand_dims.*out of bounds"):
            xp.expand_dims(x, axis)
    with pytest.raises(ValueError, match="repeated"):
        xp.expand_dims(x, (0, 0))
    with pytest.raises(TypeError):
        xp.expand_dims(x, 1.5)


def test_permute_dims():
    x = jnp.ones((2, 3, 4))
    for axes in itertools.permutations(range(3)):
        for shifted in (axes, [axis - 3 for axis in axes], (axes[0], axes[1] - 3, axes[2])):
            assert xp.permute_dims(x, shifted).shape == x.transpose(axes).shape
    assert xp.permute_dims(jnp.asarray(1.0), ()).shape == ()
    for bad in ((0, 1), (0, 1, 1), (0, 1, 3), (0, 1, -4)):
        with pytest.raises((TypeError, ValueError)):
            xp.permute_dims(x, bad)


@pytest.mark.parametrize("side", ["left", "right"])
def test_searchsorted_returns_the_default_index_type(side):
    x = np.asarray([1, 3, 3, 7], "uint16")
    for v in (np.asarray([[0, 3], [4, 9]], "uint16"), 3):
        got = xp.searchsorted(jnp.asarray(x), v if isinstance(v, int) else jnp.asarray(v), side=side)
        assert got.dtype == xp.__array_namespace_info__().default_dtypes()["indexing"]
        np.testing.assert_array_equal(got, np.searchsorted(x, v, side=side))
    order = np.asarray([3, 0, 2, 1])
    unsorted = np.empty_like(x)
    unsorted[order] = x
    got = xp.searchsorted(jnp.asarray(unsorted), jnp.asarray(x), side=side, sorter=jnp.asarray(order))
    np.testing.assert_array_equal(got, np.searchsorted(x, x, side=side))
    np.testing.assert_array_equal(jax.vmap(lambda v: xp.searchsorted(jnp.asarray(x), v))(jnp.arange(9)).shape, (9,))


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int64", "uint32", "float32", "complex64"])
@pytest.mark.parametrize("include_initial", [False, True])
def test_cumulative_prod(dtype, include_initial):
    x = np.asarray([[1, 2, 1], [0, 3, 1]]).astype(dtype)
    for axis in (0, 1, -1):
        got = xp.cumulative_prod(jnp.asarray(x), axis=axis, include_initial=include_initial)
        expected = np.cumulative_prod(x, axis=axis, include_initial=include_initial)
        assert got.dtype == expected.dtype
        np.testing.assert_array_equal(got, expected)
    assert xp.cumulative_prod(jnp.asarray(x[0]), dtype=jnp.complex128).dtype == "complex128"
    with pytest.raises(ValueError, match="axis"):
        xp.cumulative_prod(jnp.asarray(x))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64", "complex128"])
def test_finfo(dtype):
    info, expected = xp.finfo(jnp.dtype(dtype)), np.finfo(dtype)
    for name in ("eps", "max", "min", "smallest_normal"):
        assert type(getattr(info, name)) is float
        assert getattr(info, name) == float(getattr(expected, name))
    assert info.bits == expected.bits
    assert info.dtype == expected.dtype
    assert info.tiny == expected.tiny
    assert (
        xp.finfo(jnp.ones(2, dtype)) == info == xp.finfo(dtype) == pickle.loads(pickle.dumps(info)) == copy.copy(info)
    )
    with pytest.raises(AttributeError, match="nothing"):
        _ = info.nothing
    with pytest.raises(ValueError, match="int32"):
        xp.finfo(jnp.int32)


def test_iinfo():
    info = xp.iinfo(jnp.asarray([1], "uint8"))
    assert (info.bits, info.min, info.max, info.dtype) == (8, 0, 255, jnp.dtype("uint8"))
    assert (type(info.max), info.kind) == (int, "u")
    assert xp.iinfo(jnp.int64).min == -(2**63)


def test_devices():
    info = xp.__array_namespace_info__()
    devices = info.devices()
    assert type(devices) is tuple
    assert jnp.ones(2).device in devices
    for device in devices:
        for make in (xp.zeros, xp.ones, xp.empty):
            assert make(3, device=device).device == device
        assert xp.asarray([1.0, 2.0], device=device).device == device
    assert xp.zeros(2, device=info.default_device()).device in devices
    assert info.capabilities()["max dimensions"] >= 32
    assert info.default_dtypes()["real floating"] == jnp.zeros(()).dtype
    assert "float64" in info.dtypes(kind="real floating")
    assert set(info.dtypes(kind=("bool", "signed integer"))) == {"bool", "int8", "int16", "int32", "int64"}


def test_inspection_follows_the_precision():
    with jax.enable_x64(False):
        info = xp.__array_namespace_info__()
        assert "float64" not in info.dtypes()
        assert info.default_dtypes()["real floating"] == jnp.float32
        assert xp.cumulative_prod(jnp.ones(2, "uint8")).dtype == "uint32"
        assert xp.searchsorted(jnp.ones(2), jnp.ones(2)).dtype == "int32"
        assert xp.floor_divide(1.0, 0.1).dtype == "float32"


@pytest.mark.parametrize("name", ["all", "any"])
def test_imaginary_numbers_are_true(name):
    function, reference = getattr(xp, name), getattr(np, name)
    for values in ([1j, 2j], [0j, 1j], [0j, 0j], [1.0, 0.0], [True, True], []):
        assert function(jnp.asarray(values)) == reference(values)
    x = np.asarray([[1j, 0], [1, 2]])
    np.testing.assert_array_equal(function(jnp.asarray(x), axis=1), reference(x, axis=1))
    np.testing.assert_array_equal(jax.vmap(function)(jnp.asarray(x)), reference(x, axis=1))
    assert function(jnp.asarray(x), axis=(0, 1), keepdims=True).shape == (1, 1)
    assert function(jnp.asarray(x), where=jnp.asarray([[True, False], [True, True]]))
    assert function(1j)


def test_derivatives_of_remainder_at_its_zeros():
    x, y = jnp.asarray([6.0, 6.0, -6.0, 0.0]), jnp.asarray([3.0, -3.0, 3.0, -3.0])
    np.testing.assert_array_equal(jax.vmap(jax.grad(xp.remainder))(x, y), np.ones(4))
    np.testing.assert_array_equal(jax.vmap(jax.grad(xp.remainder, 1))(x, y), -np.floor(x / y))
    np.testing.assert_array_equal(jax.jvp(lambda x: xp.remainder(x, -3), (x,), (jnp.ones(4),))[1], np.ones(4))


def test_derivative_of_acos_at_zero():
    assert jax.grad(xp.acos, holomorphic=True)(0j) == -1


@pytest.mark.parametrize(
    "z", [2 + 0j, 2 - 0j, -2 + 0j, -2 - 0j, 0.3 + 0j, -0.3 + 0j, -0.3 - 0j, -20 - 3j, -1 + 2j, 3 + 1j]
)
@pytest.mark.parametrize("name", ["asin", "acos", "acosh"])
def test_derivatives_on_either_side_of_branch_cuts(name, z):
    # A difference quotient in the direction that stays on this side of the real axis.
    step = complex(0, math.copysign(1e-6, z.imag))
    reference = getattr(np, name)
    expected = (reference(z + step) - reference(z)) / step
    derivative = jax.grad(getattr(xp, name), holomorphic=True)
    np.testing.assert_allclose(derivative(z), expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(jax.jit(jax.vmap(derivative))(jnp.asarray([z]))[0], expected, rtol=1e-4, atol=1e-5)


SIZES = [((3, 4), 1), ((16, 16, 16), (1, 2)), ((5000,), None), ((256, 16), 0), ((1000, 5), 1)]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("shape", "axis"), SIZES, ids=str)
def test_nan_is_the_largest_and_the_smallest(shape, axis, dtype):
    """Also of some thousand numbers, where XLA leaves it out."""
    x = np.linspace(-2.0, 3.0, math.prod(shape), dtype=dtype).reshape(shape)
    x[tuple(n // 2 for n in shape)] = nan
    x[(0,) * len(shape)] = inf
    for name in ("max", "min"):
        ours, theirs = getattr(xp, name), getattr(np, name)
        for keepdims in (False, True):
            got = ours(jnp.asarray(x), axis=axis, keepdims=keepdims)
            assert got.dtype == dtype
            assert_identical(got, theirs(x, axis=axis, keepdims=keepdims))
        finite = np.where(np.isnan(x), 0, x)
        assert_identical(ours(jnp.asarray(finite), axis=axis), theirs(finite, axis=axis))
        keep = ~np.isnan(x)
        assert_identical(
            ours(jnp.asarray(x), axis=axis, initial=1.0, where=jnp.asarray(keep)),
            theirs(x, axis=axis, initial=1.0, where=keep),
        )


def test_nan_is_the_largest_of_each_lane():
    x = np.ones((600, 10))
    x[300, 4] = nan
    np.testing.assert_array_equal(jax.vmap(xp.max)(x), np.max(x, axis=1))
    x = jnp.asarray(x[300:302])
    np.testing.assert_allclose(
        jax.grad(lambda x: xp.sum(xp.max(x, axis=1)))(x), np.stack([np.full(10, nan), np.full(10, 0.1)])
    )
    assert xp.max(jnp.asarray([3, 1])).dtype == jnp.asarray(3).dtype
    assert xp.max(2.0).weak_type == jnp.max(2.0).weak_type


def test_norms_of_nan():
    x = np.ones((4, 100, 100))
    x[2, 3, 4] = nan
    for order in (inf, -inf):
        got = xp.linalg.vector_norm(jnp.asarray(x), axis=(1, 2), ord=order)
        np.testing.assert_array_equal(got, [1.0, 1.0, nan, 1.0])
    for order in (inf, -inf, 1, -1):
        got = xp.linalg.matrix_norm(jnp.asarray(x), ord=order, keepdims=True)
        np.testing.assert_array_equal(got[:, 0, 0], [100.0, 100.0, nan, 100.0])


_NUMBERS = [0, 1, -1, 7, 300, 2**31, 2**40, 2**63, 2**64, True, 1.5, -0.0, 0.1, 1e-300, float("nan"), float("inf"), 2j]


@pytest.mark.parametrize("device", [None, 0])
@pytest.mark.parametrize("dtype", ["bool_", "int8", "int32", "uint8", "uint64", "bfloat16", "float32", "float64"])
def test_asarray_of_a_number_is_that_of_jax(dtype: str, device: int | None) -> None:
    options = {"dtype": jnp.dtype(getattr(jnp, dtype)), "device": None if device is None else jax.devices()[device]}
    for number in _NUMBERS:
        found = [_described(asarray, number, options) for asarray in (xp.asarray, jnp.asarray)]
        assert found[0] == found[1], number


def _described(asarray, number, options):
    try:
        x = asarray(number, **options)
    except (OverflowError, TypeError, ValueError) as error:
        return type(error), str(error)
    return x.dtype, np.asarray(x).tobytes(), x.committed, x.weak_type, x.device
