"""The PyTorch namespace: its corrections, clause by clause, and under PyTorch's own transformations.

The official suite computes what it expects with the operators of the array object, which PyTorch lacks for unsigned
integers. Those are held against NumPy here: every function of the standard that takes them.
"""

import math
import warnings
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any

import array_api_compat.torch as compat
import numpy as np
import pytest
import torch
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_array_equal

import xpand.torch as xp

UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
SIGNED = ("int8", "int16", "int32", "int64")
PAIRS = [(u, v) for u in UNSIGNED for v in UNSIGNED + SIGNED if not (u == "uint64" and v in SIGNED)]
INF, NAN = math.inf, math.nan


def tensor(a: np.ndarray) -> torch.Tensor:
    return torch.from_numpy(np.array(a))


def same(actual: Any, expected: Any) -> None:
    """Assert equal elements, shapes and data types, and equal signs of zeros."""
    actual, expected = np.asarray(actual), np.asarray(expected)
    assert actual.dtype == expected.dtype
    assert_array_equal(actual, expected, strict=True)
    if actual.dtype.kind == "f":
        assert_array_equal(np.signbit(actual) & ~np.isnan(actual), np.signbit(expected) & ~np.isnan(expected))


def integers(dtype: str, n: int = 60, seed: int = 0) -> np.ndarray:
    """Integers over the whole range of a type, its limits and small ones among them."""
    rng = np.random.default_rng(seed)
    limits = np.iinfo(dtype)
    x = rng.integers(limits.min, limits.max, n, dtype=dtype, endpoint=True)
    x[: n // 3] = rng.integers(0, 9, n // 3)
    x[n // 3 : n // 3 + 4] = [0, limits.max, limits.max // 2, limits.max // 2 + 1]
    return rng.permutation(x)


# Drop-in


@pytest.mark.parametrize("extension", ["", "linalg", "fft"])
def test_every_name_of_array_api_compat(extension: str) -> None:
    ours, theirs = (getattr(m, extension) if extension else m for m in (xp, compat))
    missing = [name for name in theirs.__all__ if name not in dir(ours) or not hasattr(ours, name)]
    assert not missing
    if extension:
        assert ours.__name__ == f"xpand.torch.{extension}"


def test_keywords_of_pytorch_stay() -> None:
    x, out = torch.tensor([1.0, 2.0]), torch.empty(2)
    assert xp.add(x, x, out=out) is out
    same(xp.subtract(x, x, alpha=3), np.array([-2, -4], np.float32))
    u, out = torch.tensor([1, 2], dtype=torch.uint64), torch.empty(2, dtype=torch.uint64)
    assert xp.multiply(u, u, out=out) is out
    same(out, np.array([1, 4], np.uint64))
    with pytest.raises(TypeError, match="'alpha'"):
        xp.add(u, u, alpha=2)


@pytest.mark.parametrize("copy", [None, True])
def test_from_dlpack_with_negative_strides(copy: bool | None) -> None:
    """PyTorch's own function would end the process."""
    x = np.arange(6.0).reshape(2, 3)[:, ::-1]
    same(xp.from_dlpack(x, copy=copy), x)
    with pytest.raises(BufferError, match="negative strides"):
        xp.from_dlpack(x, copy=False)
    assert xp.from_dlpack(x[:, ::-1]).data_ptr() == x[:, ::-1].ctypes.data


# Data types


@pytest.mark.parametrize(("u", "v"), PAIRS)
def test_result_type_of_unsigned_integers(u: str, v: str) -> None:
    a, b = getattr(torch, u), getattr(torch, v)
    expected = getattr(torch, str(np.result_type(u, v)))
    assert xp.result_type(a, b) is xp.result_type(torch.ones(2, dtype=b), a) is expected
    # A 0-d array is as strong as any other.
    assert xp.add(torch.ones(2, dtype=a), torch.ones((), dtype=b)).dtype is expected
    assert xp.where(torch.tensor(True), torch.ones((), dtype=a), torch.ones(2, dtype=b)).dtype is expected
    assert xp.can_cast(a, b) is (expected is b)


@pytest.mark.parametrize(
    "arguments", [(), (1,), (1.0,), (1j,), (True,), ("float64",), (None,), (1, 2, 3), (1, 2.0, 3, 4)]
)
def test_result_type_needs_an_array_or_a_data_type(arguments: tuple[Any, ...]) -> None:
    """As array-api-compat's; two scalars are promoted, as by `torch.result_type`."""
    with pytest.raises(ValueError, match="result_type: expected at least one array or data type, got "):
        xp.result_type(*arguments)


SCALARS: list[Any] = [True, 1, 2.0, 1j]


def test_result_type_of_two_scalars() -> None:
    for x, y in product(SCALARS, SCALARS):
        assert xp.result_type(x, y) is torch.result_type(x, y)


def test_result_type_of_mixed_arguments() -> None:
    """Scalars, arrays and data types in any order: array-api-compat is the reference."""
    arrays = [torch.ones(2, dtype=dtype) for dtype in (torch.int64, torch.float32, torch.bool)]
    others = [*SCALARS, *arrays, torch.float64, torch.uint8, torch.complex64]
    for arguments in product(others, repeat=3):
        if any(isinstance(x, torch.Tensor | torch.dtype) for x in arguments):
            assert xp.result_type(*arguments) is compat.result_type(*arguments), arguments


def test_result_type_of_scalars() -> None:
    for name in UNSIGNED + SIGNED:
        dtype = getattr(torch, name)
        assert xp.result_type(dtype, 1) is xp.result_type(True, torch.ones(2, dtype=dtype), 1) is dtype
        assert xp.result_type(dtype, 1.0) is torch.float32
        assert xp.result_type(dtype, 1j) is torch.complex64
    for dtype, complex_dtype in ((torch.float32, torch.complex64), (torch.float64, torch.complex128)):
        assert xp.result_type(1, dtype, 2.0) is dtype
        assert xp.result_type(1j, 1, torch.ones((), dtype=dtype)) is complex_dtype
        assert xp.result_type(complex_dtype, 1j, dtype) is complex_dtype
    assert xp.result_type(torch.uint16, torch.float64, torch.int8) is torch.float64
    assert xp.result_type(torch.bool, True) is torch.bool
    assert xp.result_type(torch.float16, torch.bfloat16) is torch.float32


def test_a_0d_array_is_not_weak() -> None:
    x, y = torch.ones(3, dtype=torch.float32), torch.tensor(1e-12, dtype=torch.float64)
    assert torch.add(x, y).dtype is torch.float32
    assert xp.add(x, y).dtype is xp.maximum(y, x).dtype is torch.float64
    assert xp.less(x, xp.add(y, 1.0)).all()


def test_types_without_a_common_one() -> None:
    x, y = torch.ones(2, dtype=torch.uint64), torch.ones(2, dtype=torch.int8)
    for call in (xp.result_type, xp.add, xp.less, xp.matmul, lambda *a: xp.concat(a)):
        with pytest.raises(TypeError, match=r"torch.uint64 and torch.int8 have no common data type"):
            call(x, y)
    with pytest.raises(ValueError, match="at least one array"):
        xp.result_type()
    with pytest.raises(TypeError, match="got ndarray"):
        xp.result_type(x, np.ones(2))
    with pytest.raises(TypeError, match="add: expected at least one array, got int and float"):
        xp.add(1, 2.0)


def test_finfo_and_iinfo() -> None:
    for name, real in (("float32", "float32"), ("float64", "float64"), ("complex64", "float32")):
        dtype = getattr(torch, name)
        for info in (xp.finfo(dtype), xp.finfo(torch.ones(2, dtype=dtype))):
            assert info.dtype is getattr(torch, real)
            expected = np.finfo(real)
            for attribute in ("eps", "max", "min", "smallest_normal"):
                assert type(getattr(info, attribute)) is float
                assert getattr(info, attribute) == float(getattr(expected, attribute))
            assert info.bits == expected.bits
    for name in UNSIGNED + SIGNED:
        info = xp.iinfo(torch.ones(2, dtype=getattr(torch, name)))
        expected = np.iinfo(name)
        assert (info.bits, info.max, info.min, info.dtype) == (
            expected.bits,
            expected.max,
            expected.min,
            getattr(torch, name),
        )
    for function, wrong in ((xp.finfo, torch.int8), (xp.iinfo, torch.float32), (xp.finfo, "float32")):
        with pytest.raises(TypeError, match=function.__name__):
            function(wrong)


def test_isdtype() -> None:
    assert xp.isdtype(torch.uint64, "unsigned integer")
    assert xp.isdtype(torch.uint64, ("bool", torch.uint64))
    assert not xp.isdtype(torch.float32, ("integral", torch.float64))
    with pytest.raises(ValueError, match="unknown kind 'float'"):
        xp.isdtype(torch.float32, "float")
    with pytest.raises(TypeError, match="nested tuple"):
        xp.isdtype(torch.float32, ("bool", ("integral",)))
    with pytest.raises(TypeError, match="`kind`"):
        xp.isdtype(torch.float32, float)


def test_inspection() -> None:
    info = xp.__array_namespace_info__()
    assert set(info.dtypes(kind="unsigned integer")) == set(UNSIGNED)
    assert info.dtypes(kind=("bool", "real floating")) == {
        "bool": torch.bool,
        "float32": torch.float32,
        "float64": torch.float64,
    }
    assert len(info.dtypes()) == 13
    assert "float64" not in info.dtypes(device=torch.device("mps"))
    assert info.default_device() in info.devices()
    for device in info.devices():
        assert xp.zeros(1, device=device).device == device
    with pytest.raises(ValueError, match="unknown kind"):
        info.dtypes(kind="int")


# Unsigned integers, which PyTorch stores but hardly computes with


ELEMENTWISE = (
    *("add", "subtract", "multiply", "bitwise_and", "bitwise_or", "bitwise_xor", "maximum", "minimum"),
    *("equal", "not_equal", "less", "less_equal", "greater", "greater_equal"),
)


@pytest.mark.parametrize(("u", "v"), PAIRS)
@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning")
def test_unsigned_pairs(u: str, v: str) -> None:
    a, b = integers(u), integers(v, seed=1)
    x, y = tensor(a), tensor(b)
    for name in ELEMENTWISE:
        same(getattr(xp, name)(x, y), getattr(np, name)(a, b))
        same(getattr(xp, name)(y, x[0]), getattr(np, name)(b, a[:1]))
    divisor = np.where(b == 0, np.array(1, v), b)
    same(xp.floor_divide(x, tensor(divisor)), np.floor_divide(a, divisor))
    same(xp.remainder(x, tensor(divisor)), np.remainder(a, divisor))
    places = (b % 8).astype(v)
    same(xp.bitwise_left_shift(x, tensor(places)), np.bitwise_left_shift(a, places))
    same(xp.bitwise_right_shift(x, tensor(places)), np.bitwise_right_shift(a, places))
    same(xp.pow(x, tensor(places)), np.power(a, places))
    same(xp.where(tensor(a > 5), x, y), np.where(a > 5, a, b))
    same(xp.concat([x, y]), np.concatenate([a, b]))
    same(xp.stack([x, y], axis=-1), np.stack([a, b], axis=-1))
    same(xp.isin(x, y), np.isin(a, b))
    same(xp.isin(x, y, invert=True), np.isin(a, b, invert=True))
    for side in ("left", "right"):
        same(xp.searchsorted(tensor(np.sort(b)), x, side=side), np.searchsorted(np.sort(b), a, side=side))
        order = np.argsort(b)
        same(xp.searchsorted(y, x, side=side, sorter=tensor(order)), np.searchsorted(b, a, side, order))
    same(xp.linalg.outer(x, y), np.outer(a, b))
    same(xp.vecdot(x, y), np.vecdot(a, b))
    m, n = a.reshape(4, 15), b.reshape(15, 4)
    same(xp.matmul(tensor(m), tensor(n)), m @ n)
    same(xp.tensordot(tensor(m), tensor(n), axes=((1,), (0,))), np.tensordot(m, n, axes=((1,), (0,))))
    p, q = a.reshape(5, 4, 3), b.reshape(5, 4, 3)[0]
    same(xp.linalg.cross(tensor(p), tensor(q)), np.cross(p, q))


@pytest.mark.parametrize("dtype", UNSIGNED)
@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning")
def test_unsigned_arrays(dtype: str) -> None:
    a = integers(dtype).reshape(5, 12)
    x = tensor(a)
    for name in ("abs", "negative", "positive", "square", "sign", "sort", "argsort", "flip", "diff", "tril", "triu"):
        keywords = {"stable": True} if name == "argsort" else {}
        same(getattr(xp, name)(x), getattr(np, name)(a, **keywords))
    same(xp.bitwise_invert(x), ~a)
    same(xp.logical_not(x), a == 0)
    for name, keepdims in product(("sum", "prod", "max", "min", "any", "all"), (True, False)):
        for axis in (None, 0, -1, (0, 1), (-1,)):
            function, reference = getattr(xp, name), getattr(np, name)
            same(function(x, axis=axis, keepdims=keepdims), reference(a, axis=axis, keepdims=keepdims))
    for name, axis in product(("argmax", "argmin", "count_nonzero"), (None, 0, 1)):
        expected = getattr(np, name)(a, axis=axis, keepdims=True)
        same(getattr(xp, name)(x, axis=axis, keepdims=True), expected)
    for name, other in product(("sum", "prod"), (*UNSIGNED, "int64")):
        same(getattr(xp, name)(x, axis=0, dtype=getattr(torch, other)), getattr(np, name)(a, axis=0, dtype=other))
    for name in ("cumulative_sum", "cumulative_prod"):
        function, reference = getattr(xp, name), getattr(np, name)
        same(function(x, axis=1, include_initial=True), reference(a, axis=1, include_initial=True))
        same(function(x, axis=0, dtype=x.dtype), reference(a, axis=0, dtype=dtype))
    same(xp.diff(x, axis=0, n=2, prepend=x[:1], append=x[:2]), np.diff(a, 2, 0, a[:1], a[:2]))
    same(xp.linalg.trace(x, offset=1), np.linalg.trace(a, offset=1))
    for got, expected in zip(xp.nonzero(x), np.nonzero(a), strict=True):
        same(got, expected)
    indices = np.array([0, -1, 3], np.int8)
    same(xp.take(x, tensor(indices), axis=1), np.take(a, indices, axis=1))
    same(xp.take(tensor(np.arange(300)), xp.remainder(x[:, 0], 7)), (a[:, 0] % 7).astype(np.int64))
    order = np.argsort(a, axis=1)
    same(xp.take_along_axis(x, tensor(order - 12), axis=1), np.sort(a, axis=1))
    counts = (a[0] % 3).astype(dtype)
    same(xp.repeat(x, tensor(counts), axis=1), np.repeat(a, counts.astype(np.int64), axis=1))
    top = int(np.iinfo(dtype).max)
    for low, high in ((3, 100), (None, top // 2 + 3), (-5, top + 10), (top // 2 + 1, None)):
        inside = (None if low is None else max(low, 0), None if high is None else min(high, top))
        same(xp.clip(x, low, high), np.clip(a, *inside))
    same(xp.clip(x, x[0], 100), np.clip(a, a[0], np.array(100, dtype)))
    same(xp.arange(top - 5, top, 2, dtype=x.dtype), np.arange(top - 5, top, 2, dtype=dtype))
    same(xp.arange(5, dtype=x.dtype), np.arange(5, dtype=dtype))
    same(xp.arange(0.0, 5.0, dtype=x.dtype), np.arange(5, dtype=dtype))
    same(xp.eye(3, 4, k=-1, dtype=x.dtype), np.eye(3, 4, -1, dtype))
    same(xp.linspace(0, 100, 5, dtype=x.dtype, endpoint=False), np.linspace(0, 100, 5, dtype=dtype, endpoint=False))
    same(xp.asarray([[x[0, 0], 3]], dtype=x.dtype), np.array([[a[0, 0], 3]], dtype))
    for scalar in (1, 2):
        for name in (*ELEMENTWISE, "floor_divide", "remainder", "pow"):
            same(getattr(xp, name)(x, scalar), getattr(np, name)(a, scalar))
        for name in ELEMENTWISE:
            same(getattr(xp, name)(scalar, x), getattr(np, name)(scalar, a))
        same(xp.where(tensor(a > 5), scalar, x), np.where(a > 5, np.array(scalar, dtype), a))
    assert xp.add(x, 0.5).dtype is torch.float32


def test_unsigned_shifts_by_every_place() -> None:
    for dtype in UNSIGNED[1:]:
        places = np.arange(np.iinfo(dtype).bits, dtype=dtype)
        ones = np.full_like(places, np.iinfo(dtype).max)
        same(xp.bitwise_right_shift(tensor(ones), tensor(places)), ones >> places)
        same(xp.bitwise_left_shift(tensor(ones), tensor(places)), ones << places)


@given(st.lists(st.integers(0, 2**64 - 1), min_size=1), st.lists(st.integers(1, 2**64 - 1), min_size=1))
def test_division_of_uint64(dividends: list[int], divisors: list[int]) -> None:
    a, b = np.array(dividends, np.uint64), np.array(divisors, np.uint64)[:, None]
    same(xp.floor_divide(tensor(a), tensor(b)), a // b)
    same(xp.remainder(tensor(a), tensor(b)), a % b)


# Special values


def _cast(values: list[int], dtype: Any) -> np.ndarray:
    with np.errstate(over="ignore"):
        return np.array(values, np.float64).astype(dtype)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_floor_divide_is_exact(dtype: Any) -> None:
    rng = np.random.default_rng(0)
    a = np.concatenate([rng.normal(size=200) * 100, np.round(rng.normal(size=200), 1), [1.0, 0.3, 6e4]]).astype(dtype)
    b = rng.permutation(a)
    a, b = a[b != 0], b[b != 0]
    exact = [math.floor(Fraction(float(x)) / Fraction(float(y))) for x, y in zip(a, b)]
    assert_array_equal(xp.floor_divide(tensor(a), tensor(b)), _cast(exact, dtype))
    tenths = [math.floor(Fraction(float(x)) / Fraction(float(dtype(0.1)))) for x in a]
    assert_array_equal(xp.floor_divide(tensor(a), 0.1), _cast(tenths, dtype))
    # The plain quotient of 1.0 and 0.1 is 10.
    assert xp.floor_divide(torch.tensor(1.0, dtype=torch.float64), 0.1) == 9


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64])
def test_floor_divide_at_special_values(dtype: torch.dtype) -> None:
    cases = [
        # "If x1_i is either +infinity or -infinity and x2_i is a finite number, the result is an infinity …"
        *((INF, 2.0, INF), (INF, -2.0, -INF), (-INF, 2.0, -INF), (-INF, -2.0, INF)),
        # "If x1_i is a positive (negative) finite number and x2_i is an infinity, the result is a zero …"
        *((2.0, INF, 0.0), (2.0, -INF, -0.0), (-2.0, INF, -0.0), (-2.0, -INF, 0.0)),
        # "If x1_i is a zero and x2_i is not, the result is a zero …"; "… x2_i is a zero, the result is an infinity …"
        *((0.0, 2.0, 0.0), (0.0, -2.0, -0.0), (-0.0, 2.0, -0.0), (-0.0, -2.0, 0.0)),
        *((2.0, 0.0, INF), (2.0, -0.0, -INF), (-2.0, 0.0, -INF), (-2.0, -0.0, INF)),
        # "If both are infinities, or both zeros, or either is NaN, the result is NaN."
        *((INF, INF, NAN), (0.0, -0.0, NAN), (NAN, 1.0, NAN), (1.0, NAN, NAN)),
        # Finite numbers: the sign of the divisor decides; a quotient that rounds to zero still has its floor.
        *((-1e-3, 1e3, -1.0), (1e-3, 1e3, 0.0), (5.0, -2.0, -3.0)),
    ]
    x, y, expected = (torch.tensor(c, dtype=dtype) for c in zip(*cases))
    same(xp.floor_divide(x, y), expected)
    for a, b, c in zip(x, y, expected):
        same(xp.floor_divide(a, b.item()), c)
        same(xp.floor_divide(a.item(), b), c)
    same(xp.floor_divide(torch.tensor([-7, 7]), 2), np.array([-4, 3]))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_zeros_of_remainder_have_the_sign_of_the_divisor(dtype: torch.dtype) -> None:
    x = torch.tensor([0.0, -0.0, 4.0, -4.0, 5.0, -5.0], dtype=dtype)
    for divisor, expected in ((2.0, [0.0, 0.0, 0.0, 0.0, 1.0, 1.0]), (-2.0, [-0.0, -0.0, -0.0, -0.0, -1.0, -1.0])):
        same(xp.remainder(x, divisor), torch.tensor(expected, dtype=dtype))
        same(xp.remainder(x, torch.full_like(x, divisor)), torch.tensor(expected, dtype=dtype))
    same(xp.remainder(torch.tensor([-7, 7]), torch.tensor([4, -4])), np.array([1, -1]))


COMPLEX_CASES = [
    # "If a is +infinity and b is +0, the result is +infinity + 0j", and so on through the lists of special cases
    *(("expm1", complex(INF, 0.0), complex(INF, 0.0)), ("expm1", complex(-INF, INF), complex(-1.0, 0.0))),
    *(("expm1", complex(INF, INF), complex(INF, NAN)), ("expm1", complex(-INF, NAN), complex(-1.0, 0.0))),
    *(("expm1", complex(NAN, 0.0), complex(NAN, 0.0)), ("expm1", complex(-0.0, 0.0), complex(0.0, 0.0))),
    *(("log1p", complex(INF, NAN), complex(INF, NAN)), ("log1p", complex(NAN, INF), complex(INF, NAN))),
    ("log1p", complex(1e-30, INF), complex(INF, math.pi / 2)),
    *(
        ("acos", complex(0.0, 0.0), complex(math.pi / 2, -0.0)),
        ("acos", complex(-0.0, 0.0), complex(math.pi / 2, -0.0)),
    ),
    *(("tanh", complex(INF, 3.0), complex(1.0, 0.0)), ("tanh", complex(INF, 1.5e34), complex(1.0, 0.0))),
    ("tan", complex(3.0, INF), complex(0.0, 1.0)),
    *(("sign", complex(-0.0, 0.0), 0j), ("sign", complex(0.0, -4.0), complex(0.0, -1.0))),
]


@pytest.mark.parametrize(("name", "z", "expected"), COMPLEX_CASES)
def test_complex_special_values(name: str, z: complex, expected: complex) -> None:
    # A long array too: PyTorch computes those with vector instructions.
    for size in (1, 65):
        result = getattr(xp, name)(torch.full((size,), z, dtype=torch.complex128))
        for part, wanted in ((result.real, expected.real), (result.imag, expected.imag)):
            same(part, np.full(size, wanted))


@pytest.mark.parametrize("name", ["expm1", "log1p", "acos", "tan", "tanh"])
def test_complex_ordinary_values_are_the_native_ones(name: str) -> None:
    rng = np.random.default_rng(0)
    z = tensor(rng.normal(size=50) + 1j * rng.normal(size=50))
    assert_array_equal(getattr(xp, name)(z), getattr(torch, name)(z))
    assert_array_equal(getattr(xp, name)(z.real.clone().clip(-0.9, 0.9)), getattr(torch, name)(z.real.clip(-0.9, 0.9)))
    out = torch.empty_like(z)
    assert getattr(xp, name)(z, out=out) is out


def test_sign_of_nan_and_zeros() -> None:
    same(xp.sign(torch.tensor([NAN, -INF, -2.0, 3.0])), np.array([NAN, -1, -1, 1], np.float32))
    assert_array_equal(xp.sign(torch.tensor([0.0, -0.0])), [0, 0])


@pytest.mark.parametrize("shape", [(4,), (100,), (10, 10)])
def test_numbers_whose_values_are_looked_at(shape: tuple[int, ...]) -> None:
    """Sign and floor_divide pass over finite numbers once, so each of other numbers has to be found."""
    x = torch.linspace(-5.0, 5.0, math.prod(shape), dtype=torch.float64).reshape(shape)
    same(xp.sign(x), np.sign(x.numpy()))
    y = torch.full_like(x, -0.7)
    for special in (NAN, INF, -INF):
        for values in (x, y):
            values.view(-1)[-1] = special
            same(xp.sign(values), np.sign(values.numpy()))
            one = [xp.floor_divide(a, b).item() for a, b in zip(x.view(-1), y.view(-1))]
            same(xp.floor_divide(x, y), np.asarray(one).reshape(shape))
            values.view(-1)[-1] = 1.0


def test_take_of_many_indices() -> None:
    a, rng = np.arange(7.0), np.random.default_rng(0)
    for low in (0, -7):
        indices = rng.integers(low, 7, 20_000)
        same(xp.take(tensor(a), tensor(indices)), a[indices])
        same(xp.take_along_axis(tensor(a), tensor(indices)), a[indices])
    for name in ("take", "take_along_axis"):
        with pytest.raises((IndexError, RuntimeError), match="out of"):
            getattr(xp, name)(tensor(a), torch.full((20_000,), -8))


def test_clip() -> None:
    x = torch.tensor([-INF, -1.0, 0.5, 3.0, NAN])
    assert_array_equal(xp.clip(x, 0, 1), [0, 0, 0.5, 1, NAN])
    assert_array_equal(xp.clip(x, max=torch.tensor(0.0)), [-INF, -1, 0, 0, NAN])
    assert_array_equal(xp.clip(x, torch.tensor([0.0]), 1), [0, 0, 0.5, 1, NAN])
    # "If min_i is NaN, the result is NaN."
    assert xp.isnan(xp.clip(x, NAN)).all()
    assert_array_equal(xp.clip(torch.tensor([1, 200], dtype=torch.uint8), -5, 300), [1, 200])
    copy = xp.clip(x)
    assert copy.data_ptr() != x.data_ptr()


def test_round_of_complex_numbers() -> None:
    z = torch.tensor([complex(0.5, -0.4), complex(1.5, 2.6)])
    same(xp.round(z).real, np.array([0, 2], np.float32))
    same(xp.round(z).imag, np.array([-0.0, 3], np.float32))


# Reductions, sets, searching, shapes


def test_reductions_over_no_axis() -> None:
    x = torch.tensor([[1, 2], [0, 5]], dtype=torch.int32)
    same(xp.sum(x, axis=()), np.array([[1, 2], [0, 5]], np.int64))
    same(xp.prod(x.to(torch.uint8), axis=()), np.array([[1, 2], [0, 5]], np.uint64))
    same(xp.max(x, axis=()), np.array([[1, 2], [0, 5]], np.int32))
    same(xp.any(x, axis=()), np.array([[True, True], [False, True]]))
    same(xp.count_nonzero(x, axis=()), np.array([[1, 1], [0, 1]]))
    same(xp.std(x.float(), axis=()), np.zeros((2, 2), np.float32))
    assert xp.max(x, axis=()).data_ptr() != x.data_ptr()


REDUCTIONS = ("sum", "prod", "mean", "std", "var", "any", "all")


@pytest.mark.parametrize("name", [*REDUCTIONS, "sort", "argsort", "concat", "stack"])
def test_names_of_pytorch_for_axes_raise(name: str) -> None:
    x = torch.ones(2, 3) > 0 if name in ("any", "all") else torch.ones(2, 3)
    with pytest.raises(TypeError, match=rf"^{name}: got dim=1; write axis=1$"):
        getattr(xp, name)([x, x] if name in ("concat", "stack") else x, dim=1)
    if name in REDUCTIONS:
        with pytest.raises(TypeError, match=f"^{name}: got keepdim=True; write keepdims=True$"):
            getattr(xp, name)(x, axis=0, keepdim=True)


@pytest.mark.parametrize("axis", [None, 0, -1, (0, 2), (-1, 0, 1)])
@pytest.mark.parametrize("keepdims", [True, False])
def test_reductions(axis: Any, keepdims: bool) -> None:
    a = np.random.default_rng(0).normal(size=(2, 3, 4))
    keywords = {"axis": axis, "keepdims": keepdims}
    for name in ("sum", "prod", "mean", "max", "min"):
        result = getattr(xp, name)(tensor(a), **keywords)
        np.testing.assert_allclose(result, getattr(np, name)(a, **keywords), rtol=1e-13, strict=True)
    for name, correction in product(("std", "var"), (0, 1, 0.5, 1.25)):
        result = getattr(xp, name)(tensor(a), correction=correction, **keywords)
        np.testing.assert_allclose(result, getattr(np, name)(a, ddof=correction, **keywords), rtol=1e-13, strict=True)
    for name in ("any", "all", "count_nonzero"):
        same(getattr(xp, name)(tensor(a > 0), **keywords), getattr(np, name)(a > 0, **keywords))


def test_reductions_reject_bad_axes() -> None:
    x = torch.ones((2, 3))
    for axis in ((0, 0), (0, -2), (0, 2)):
        with pytest.raises(IndexError, match="different axes of 2 dimensions"):
            xp.prod(x, axis=axis)
    for function in (xp.cumulative_sum, xp.cumulative_prod):
        with pytest.raises(ValueError, match=f"{function.__name__}: `axis` must be given for an array of 2"):
            function(x)


@pytest.mark.parametrize(
    "a",
    [
        np.array([3, 1, 3, 2, 1], np.int64),
        np.array([[NAN, 1.0], [-0.0, NAN], [0.0, 1.0]]),
        np.array([1 + 2j, 1 + 1j, 1 + 2j, 0.0]),
        np.array([complex(NAN, 1), complex(1, NAN), complex(NAN, 1), 1.0, 1.0]),
        np.array([2**63, 1, 2**63], np.uint64),
        np.array([True, False, True]),
        np.zeros((0, 2)),
    ],
    ids=str,
)
def test_unique(a: np.ndarray) -> None:
    expected = np.unique(a, return_index=True, return_inverse=True, return_counts=True, equal_nan=False)
    result = xp.unique_all(tensor(a))
    same(result.indices, expected[1])
    same(result.inverse_indices, expected[2].reshape(a.shape))
    for values, counts in ((result.values, result.counts), xp.unique_counts(tensor(a))):
        assert_array_equal(values, expected[0])
        same(counts, expected[3])
    values, inverse = xp.unique_inverse(tensor(a))
    assert_array_equal(values, expected[0])
    assert inverse.shape == a.shape
    assert_array_equal(values[inverse], a)
    assert_array_equal(xp.unique_values(tensor(a)), expected[0])


def test_searchsorted_with_scalars() -> None:
    x = torch.tensor([1.0, 2.0, 3.0])
    assert xp.searchsorted(x, 2) == 1
    assert xp.searchsorted(x, 2.0, side="right") == 2
    assert xp.searchsorted(torch.tensor([3, 1, 2]), 3, sorter=torch.tensor([1, 2, 0], dtype=torch.int32)) == 2
    assert xp.searchsorted(x, torch.tensor([[1, 5]])).dtype is torch.int64


@given(st.data())
def test_take_counts_negative_indices_from_the_end(data: st.DataObject) -> None:
    a = np.arange(24).reshape(2, 3, 4)
    axis = data.draw(st.integers(-3, 2))
    side = a.shape[axis]
    indices = data.draw(arrays(data.draw(st.sampled_from(SIGNED)), 5, elements=st.integers(-side, side - 1)))
    same(xp.take(tensor(a), tensor(indices), axis=axis), np.take(a, indices, axis=axis))
    several = indices[data.draw(st.sampled_from([0, slice(0, 0), [[0, 1], [2, 3]]]))]  # not of one axis, some
    same(xp.take(tensor(a), tensor(several), axis=axis), np.take(a, several, axis=axis))
    along = indices.reshape([-1 if i == axis % 3 else 1 for i in range(3)])
    same(xp.take_along_axis(tensor(a), tensor(along), axis=axis), np.take_along_axis(a, along.astype(int), axis=axis))


def test_shapes() -> None:
    x = torch.ones((2, 1, 3))
    assert xp.expand_dims(x, axis=(0, -1)).shape == (1, 2, 1, 3, 1)
    assert xp.expand_dims(x, axis=-1).shape == (2, 1, 3, 1)
    assert xp.squeeze(x, 1).shape == xp.squeeze(x, (-2,)).shape == (2, 3)
    assert xp.broadcast_shapes() == ()
    assert xp.broadcast_shapes((2, 1), (3,), ()) == (2, 3)
    assert xp.broadcast_shapes((0, 1), (1, 4)) == (0, 4)
    assert [a.shape for a in xp.broadcast_arrays(x, torch.ones(4, 1, 1, 1))] == [(4, 2, 1, 3)] * 2
    assert isinstance(xp.meshgrid(torch.ones(2), torch.ones(3)), tuple)
    assert xp.meshgrid() == xp.broadcast_arrays() == ()
    assert xp.unstack(x, axis=2)[1].shape == (2, 1)
    assert xp.matrix_transpose(x).shape == (2, 3, 1)
    y = torch.arange(6).reshape(2, 3)
    same(xp.roll(y, 1, axis=(0, 1)), np.roll(y.numpy(), 1, axis=(0, 1)))
    same(xp.flip(y, axis=1), y.numpy()[:, ::-1])
    view, copy = xp.reshape(y, (3, 2), copy=False), xp.reshape(y, (3, 2), copy=True)
    assert view.data_ptr() == y.data_ptr() != copy.data_ptr()
    same(xp.repeat(y, torch.tensor([1, 0, 2], dtype=torch.uint16), axis=1), np.repeat(y.numpy(), [1, 0, 2], axis=1))
    same(xp.concat([y, torch.ones(1)], axis=None), np.array([0, 1, 2, 3, 4, 5, 1], np.float32))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda x: xp.broadcast_shapes((2, 3), (2, 4)), ValueError, "sizes 3 and 4 meet on axis -1"),
        (lambda x: xp.squeeze(x, 0), ValueError, "squeeze: axis 0 of shape .2, 3. has size 2"),
        (lambda x: xp.expand_dims(x, axis=(0, 9)), IndexError, "expand_dims: `axis` is"),
        (lambda x: xp.expand_dims(x, axis=(0, -4)), ValueError, "names an axis twice"),
        (lambda x: xp.reshape(x.T, (6,), copy=False), ValueError, "takes a copy"),
        (lambda x: xp.take(x, torch.tensor([0])), ValueError, "take: `axis` must be given"),
        (lambda x: xp.take(x, torch.tensor([7]), axis=0), IndexError, "out of range"),
        (lambda x: xp.take(x, torch.tensor([-3]), axis=0), IndexError, "out of range"),
        (lambda x: xp.meshgrid(x[0], indexing="ji"), ValueError, "meshgrid: `indexing` is 'ji'"),
        (lambda x: xp.nonzero(x[0, 0]), ValueError, "nonzero: `x` has no dimension"),
        (lambda x: xp.unstack(x[0, 0]), ValueError, "unstack: `x` has no dimension"),
        (lambda x: xp.matrix_transpose(x[0]), ValueError, "matrix_transpose: `x` has 1 dimensions"),
        (lambda x: xp.vecdot(x, x[:, :1]), ValueError, "vecdot: `x1` has 3 elements"),
        (lambda x: xp.linalg.cross(x, x[:, :1]), ValueError, "cross: `x1` has 3 elements"),
        (lambda x: xp.add(x, np.ones(3)), TypeError, "ndarray"),
        (lambda x: xp.maximum(x, "1"), TypeError, "got str"),
    ],
)
def test_bad_input(call: Callable[[torch.Tensor], Any], error: type[Exception], message: str) -> None:
    x = torch.arange(6.0).reshape(2, 3)
    with pytest.raises(error, match=message):
        call(x)
    same(x, np.arange(6, dtype=np.float32).reshape(2, 3))


def test_linalg() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 3, 3)), rng.normal(size=(2, 3))
    # x2 of two dimensions is a matrix by the standard, where PyTorch sees a stack of vectors.
    square = rng.normal(size=(3, 3, 3))
    expected = np.linalg.solve(square, a[0][None])
    np.testing.assert_allclose(xp.linalg.solve(tensor(square), tensor(a[0])), expected, rtol=1e-9)
    for order in (0, 1, 2, INF):
        expected = (b != 0).astype(float) if order == 0 else np.abs(b)
        same(xp.linalg.vector_norm(tensor(b), axis=(), ord=order), expected)
    p, q = rng.normal(size=(4, 3, 2)), rng.normal(size=(3, 2))
    np.testing.assert_allclose(
        xp.linalg.cross(tensor(p), tensor(q), axis=-2), np.cross(p, np.broadcast_to(q, p.shape), axis=-2)
    )
    z = rng.normal(size=(2, 3)) + 1j
    np.testing.assert_allclose(xp.vecdot(tensor(z), tensor(b)), np.vecdot(z, b))
    assert xp.matmul(torch.ones(2), torch.ones(2, dtype=torch.float64)).dtype is torch.float64


# Creation


def test_creation() -> None:
    assert xp.arange(5, 1).shape == xp.arange(1, 5, -1).shape == (0,)
    assert xp.arange(3, 1).dtype is torch.int64
    assert xp.arange(3.0, 1).dtype is torch.float32
    assert xp.full(3, 1).shape == (3,)
    for k in (-9, -2, 0, 1, 9):
        same(xp.eye(2, 4, k=k, dtype=torch.float64), np.eye(2, 4, k))
    same(xp.linspace(0, 1, 4, endpoint=False, dtype=torch.float64), np.linspace(0, 1, 4, endpoint=False))
    meta = torch.ones(2, device="meta")
    assert xp.asarray(meta).device == meta.device
    assert xp.astype(torch.ones(2), torch.int8, device=torch.device("meta")).device.type == "meta"
    x = torch.ones(2)
    assert xp.astype(x, torch.float32, copy=False) is x
    assert xp.astype(x, torch.float32) is not x


# Transformations


def everything(x: torch.Tensor) -> dict[str, torch.Tensor]:
    """Call the functions that are more than native ones on an array whose last axis has three elements."""
    first, unsigned = x[..., 0], xp.isdtype(x.dtype, "unsigned integer")
    results = {
        name: getattr(xp, name)(x)
        for name in (
            *("abs", "negative", "square", "sign", "round", "sum", "prod", "max", "min", "argmax", "argmin", "any"),
            *("all", "count_nonzero", "sort", "argsort", "flip", "diff"),
        )
    }
    binary = ("add", "subtract", "multiply", "divide", "floor_divide", "remainder", "pow", "equal", "less", "maximum")
    for name in binary:
        function = getattr(xp, name)
        results |= {name: function(x, x), f"{name} 2": function(x, 2), f"2 {name}": function(2, x)}
    if not x.dtype.is_floating_point:
        for name in ("bitwise_and", "bitwise_left_shift", "bitwise_right_shift"):
            results[name] = getattr(xp, name)(x, 1)
        results["bitwise_invert"] = xp.bitwise_invert(x)
        results["iinfo"] = xp.add(x, xp.iinfo(x).bits)
    else:
        results["finfo"] = xp.add(x, xp.finfo(x.dtype).eps)
        for name in ("expm1", "log1p", "acos", "tanh"):
            results[name] = getattr(xp, name)(xp.astype(x, torch.complex128))
        results |= {"mean": xp.mean(x), "std": xp.std(x, axis=-1, correction=0.5), "var": xp.var(x)}
    return results | {
        "0-d": xp.add(x, xp.astype(xp.sum(xp.astype(x, torch.uint8)), torch.uint32 if unsigned else torch.int64)),
        "clip": xp.clip(x, 2, xp.max(x)),
        "clip scalars": xp.clip(x, 2, 5),
        "cumulative_sum": xp.cumulative_sum(x, axis=-1, include_initial=True),
        "cumulative_prod": xp.cumulative_prod(x, axis=-1),
        "sum over axes": xp.sum(x, axis=(-1,), keepdims=True),
        "prod over axes": xp.prod(x, axis=(-1,), keepdims=True),
        "matmul": xp.matmul(x, xp.eye(3, dtype=x.dtype)),
        "vecdot": xp.vecdot(x, x),
        "cross": xp.linalg.cross(x, x),
        "where": xp.where(xp.greater(x, 2), x, 3),
        "take": xp.take(x, torch.tensor([0, -1]), axis=-1),
        "take_along_axis": xp.take_along_axis(x, xp.argsort(x), axis=-1),
        "searchsorted": xp.searchsorted(xp.arange(9, dtype=x.dtype), x),
        "repeat": xp.repeat(x, 2),
        "stack": xp.stack([x, xp.astype(x, torch.uint8)]),
        "expand_dims": xp.expand_dims(x, axis=(0, -1)),
        "roll": xp.roll(x, 1),
        "broadcast": xp.broadcast_to(first, xp.broadcast_shapes((2, 1), first.shape)),
        "astype": xp.astype(x, xp.result_type(x, 1.0)),
        "outer": xp.linalg.outer(xp.reshape(x, (-1,)), xp.reshape(x, (-1,))),
        "tensordot": xp.tensordot(x, x, axes=((-1,), (-1,))),
    }


@pytest.mark.parametrize("dtype", [torch.uint64, torch.int32, torch.float32])
def test_compiled_in_one_graph(dtype: torch.dtype) -> None:
    x = torch.tensor([[3, 1, 2], [5, 2, 7]]).to(dtype)
    torch._dynamo.reset()
    compiled = torch.compile(everything, fullgraph=True, backend="eager")(x)
    for name, expected in everything(x).items():
        assert compiled[name].dtype is expected.dtype, name
        assert_array_equal(compiled[name], expected, err_msg=name)


@pytest.mark.parametrize("dtype", [torch.uint16, torch.uint64, torch.int32, torch.float32])
def test_mapped(dtype: torch.dtype) -> None:
    x = torch.tensor([[3, 1, 2], [5, 2, 7]]).to(dtype)
    mapped = torch.func.vmap(everything)(x)
    rows = [everything(row) for row in x]
    for name, result in mapped.items():
        expected = torch.stack([row[name] for row in rows])
        assert result.dtype is expected.dtype, name
        torch.testing.assert_close(result, expected, equal_nan=True, msg=name)


@pytest.mark.parametrize("name", ["floor_divide", "remainder"])
def test_mapped_over_one_argument(name: str) -> None:
    x, y = torch.tensor([1.0, -2.5, 4.0], dtype=torch.float64), torch.tensor([0.1, -3.0], dtype=torch.float64)
    function = getattr(xp, name)
    same(torch.func.vmap(function, (None, 0))(x, y), function(x, y[:, None]))
    same(torch.func.vmap(function, (0, None))(x, y), function(x[:, None], y))


GRADIENTS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "remainder": lambda x: xp.remainder(x, 2.0),
    "remainder of arrays": lambda x: xp.remainder(x, x**2 + 1),
    "clip": lambda x: xp.clip(x, -0.5, torch.tensor(1.0, dtype=x.dtype)),
    "prod": lambda x: xp.prod(x, axis=(0,)),
    "std": lambda x: xp.std(x, correction=0.5),
    "cumulative_prod": lambda x: xp.cumulative_prod(x, include_initial=True),
    "take": lambda x: xp.take(x, torch.tensor([0, -1, 0])),
    "where": lambda x: xp.where(xp.greater(x, 0), x, 0.0),
    "vecdot": lambda x: xp.vecdot(x, x),
    "cross": lambda x: xp.linalg.cross(x[:3], x[1:]),
    "expm1": lambda x: xp.abs(xp.expm1(torch.complex(x, x))),
    "log1p": lambda x: xp.abs(xp.log1p(torch.complex(x, x))),
    "acos": lambda x: xp.abs(xp.acos(torch.complex(x, x))),
    "tanh": lambda x: xp.abs(xp.tanh(torch.complex(x, x))),
    "sign": lambda x: xp.abs(xp.sign(torch.complex(x, x) + 1) - 1),
}


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients(name: str) -> None:
    x = torch.tensor([0.3, -0.7, 1.9, -3.1], dtype=torch.float64)
    function = GRADIENTS[name]
    total = lambda x: xp.sum(function(x) ** 2)
    gradient = torch.func.grad(total)(x)
    tangent = torch.tensor([1.0, -2.0, 0.5, 3.0], dtype=torch.float64)
    step = 1e-6 * tangent
    expected = (total(x + step) - total(x - step)) / 2e-6
    torch.testing.assert_close(gradient @ tangent, expected, rtol=1e-6, atol=1e-7)
    torch.testing.assert_close(torch.func.jvp(total, (x,), (tangent,))[1], gradient @ tangent)


@pytest.mark.parametrize("name", ["floor_divide", "sign"])
def test_gradients_of_steps_are_zero(name: str) -> None:
    function = {"floor_divide": lambda x: xp.floor_divide(x, 2.0), "sign": xp.sign}[name]
    for dtype in (torch.float32, torch.float64):
        x = torch.tensor([0.3, -0.7, 1.9], dtype=dtype)
        same(torch.func.grad(lambda x: xp.sum(function(x)))(x) + 0.0, torch.zeros_like(x))


def test_inputs_stay_as_they_are() -> None:
    for dtype in (torch.uint64, torch.float32, torch.float64):
        x = torch.tensor([[3, 1, 2], [5, 2, 7]]).to(dtype)
        before = x.clone()
        everything(x)
        assert torch.equal(x, before)


# Differentiation where the corrections act


@pytest.mark.parametrize(
    ("dividend", "divisor"),
    [
        (torch.tensor([6.0, -6.0, 7.0]), torch.tensor([3.0, -3.0, -3.0])),
        (torch.tensor([6.0, -6.0, 7.0]), -3.0),
        (torch.tensor([6.0, -6.0, 7.0]), 3.0),
        (6.0, torch.tensor([3.0, -3.0, 4.0])),
    ],
)
def test_gradient_of_remainder_at_its_zeros(dividend: Any, divisor: Any) -> None:
    # x1 - floor(x1 / x2) * x2, the floor as a constant.
    operands = [o.clone().requires_grad_() if isinstance(o, torch.Tensor) else o for o in (dividend, divisor)]
    xp.remainder(*operands).sum().backward()
    expected = (1.0, -torch.floor(torch.as_tensor(dividend) / divisor))
    for operand, derivative in zip(operands, expected, strict=True):
        if isinstance(operand, torch.Tensor):
            assert_array_equal(operand.grad, torch.broadcast_to(torch.as_tensor(derivative), operand.shape))


def test_forward_derivative_of_remainder_at_its_zeros() -> None:
    x, y = torch.tensor([6.0, -6.0, -0.0]), torch.tensor([-3.0, 3.0, 2.0])
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*torch.jit.script", category=DeprecationWarning)
        _, tangent = torch.func.jvp(lambda x: xp.remainder(x, y), (x,), (torch.ones(3),))
    assert_array_equal(tangent, np.ones(3))


def test_gradient_of_acos_at_zero() -> None:
    def gradient(f: Callable[[torch.Tensor], torch.Tensor]) -> torch.Tensor:
        return torch.func.grad(lambda p: f(torch.complex(p[0], p[1])).real)(torch.zeros(2))

    same(gradient(xp.acos), gradient(torch.acos))


def test_asarray_keeps_the_graph() -> None:
    x = torch.ones(3, requires_grad=True)
    assert xp.asarray(x) is x
    assert xp.asarray(x, copy=False) is x
    assert x.requires_grad
    for y in (xp.asarray(x, copy=True), xp.asarray(x, dtype=torch.float64), xp.asarray(x * 2)):
        assert y.requires_grad
        assert y.data_ptr() != x.data_ptr()
    with pytest.raises(ValueError, match=r"torch.float32 on cpu becomes torch.float64 on cpu by a copy"):
        xp.asarray(x, dtype=torch.float64, copy=False)
    function = torch.compile(lambda x: xp.asarray(x) * 2, fullgraph=True, backend="eager")
    assert function(x).requires_grad


# Arguments of PyTorch's own functions


def test_out_is_written_where_no_kernel_writes_it() -> None:
    x = torch.tensor([1, 2**15 + 5], dtype=torch.uint16)
    for function in (
        xp.abs,
        xp.negative,
        xp.square,
        xp.bitwise_invert,
        xp.clip,
        lambda x, out: xp.clip(x, 2, 9, out=out),
    ):
        out = torch.zeros_like(x)
        assert function(x, out=out) is out
        same(out, function(x, out=torch.empty_like(x)))
        assert out.any()
    real, out = torch.tensor([1.5, 2.5]), torch.zeros(2)
    assert xp.clip(real, out=out) is out
    same(out, real)
    out = torch.zeros(3)
    assert xp.prod(torch.full((2, 3, 2), 2.0), axis=(0, 2), out=out) is out
    same(out, torch.full((3,), 16.0))


@pytest.mark.filterwarnings("ignore:.*[Dd]egrees of freedom", "ignore:invalid value")
@pytest.mark.parametrize("name", ["std", "var", "mean"])
def test_statistics_over_no_axis(name: str) -> None:
    a = np.asarray([1.0, NAN, INF])
    same(getattr(xp, name)(tensor(a), axis=()), getattr(np, name)(a, axis=()))
    if name == "mean":
        assert xp.mean(torch.ones(2), axis=(), dtype=torch.float64).dtype is torch.float64
    else:
        same(getattr(xp, name)(tensor(a), axis=(), correction=1), getattr(np, name)(a, axis=(), correction=1))
        same(getattr(xp, name)(torch.tensor([1j]), axis=()), np.zeros(1, np.float32))


def test_diff_promotes_unsigned_integers() -> None:
    x, first = np.asarray([3, 1], np.uint16), np.asarray([-7], np.int32)
    same(xp.diff(tensor(x), prepend=tensor(first)), np.diff(x, prepend=first))
    same(xp.diff(tensor(first), append=tensor(x)), np.diff(first, append=x))


def test_clip_of_other_types_says_so() -> None:
    with pytest.raises(TypeError, match=r"clip: `x` is of type torch.bool"):
        xp.clip(torch.tensor([True]), 0, 1)


def test_arange_without_a_step() -> None:
    with pytest.raises(ValueError, match=r"arange: `step` is 0"):
        xp.arange(0, 3, 0)


def test_default_device_follows_the_choice() -> None:
    info = xp.__array_namespace_info__()
    with torch.device("meta"):
        assert info.default_device() == xp.zeros(1).device == torch.device("meta")
    assert info.default_device() == xp.zeros(1).device


def test_moveaxis_and_default_dtypes_under_transformations() -> None:
    x = torch.ones(2, 3, 4)
    assert torch.func.vmap(lambda x: xp.moveaxis(x, 0, 1))(x).shape == (2, 4, 3)

    def widened(x):
        return x + torch.ones(3, dtype=xp.__array_namespace_info__().default_dtypes()["complex floating"])

    assert torch.compile(widened, fullgraph=True, backend="eager")(torch.ones(3)).dtype == torch.complex64


def test_the_device_is_known_under_compile() -> None:
    import xpand

    compiled = torch.compile(lambda x: x + torch.ones(3, device=xpand.device(x)), fullgraph=True, backend="eager")
    assert compiled(torch.ones(3)).tolist() == [2.0, 2.0, 2.0]


# Rules of torch.func.vmap, PyTorch's own or those of `_mapping`


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_bits_are_mapped(axis: int) -> None:
    x = torch.arange(24, dtype=torch.float32).reshape(2, 3, 4)
    mapped = torch.func.vmap(lambda a: a.view(torch.int32), in_dims=axis, out_dims=axis)
    assert_array_equal(mapped(x), x.view(torch.int32))
    assert_array_equal(torch.func.vmap(mapped)(x.expand(2, 2, 3, 4)), x.view(torch.int32).expand(2, 2, 3, 4))
    assert_array_equal(torch.compile(mapped, fullgraph=True, backend="aot_eager")(x), x.view(torch.int32))


def test_bits_of_another_size_are_mapped() -> None:
    x = torch.arange(24, dtype=torch.int32).reshape(2, 3, 4)
    for dtype in (torch.int16, torch.int64):
        assert_array_equal(torch.func.vmap(lambda a, dtype=dtype: a.view(dtype))(x), x.view(dtype))
    with pytest.raises(RuntimeError, match="view"):
        torch.func.vmap(lambda a: a.view(torch.int16))(x[0, 0])
    with pytest.raises(RuntimeError, match="view"):
        torch.func.vmap(lambda a: a.view(torch.int64))(x[0, 0])


def test_derivatives_of_what_takes_mapped_bits() -> None:
    x = torch.tensor([[1.5, -2.0], [0.0, 3.0]])
    cleared = lambda a: (a * (a.view(torch.int32) != 0)).sum()
    assert_array_equal(torch.func.vmap(torch.func.grad(cleared))(x), [[1, 1], [0, 1]])
    assert_array_equal(torch.func.grad(lambda a: torch.func.vmap(cleared)(a).sum())(x), [[1, 1], [0, 1]])


@pytest.mark.parametrize("axis", [None, 0, -1, (0, 1), ()])
def test_mapped_count_nonzero(axis: int | tuple[int, ...] | None) -> None:
    x = torch.tensor([[[1.0, NAN, 0.0], [0.0, -0.0, 2.0]], [[0.0] * 3, [1.0] * 3]])
    mapped = torch.func.vmap(lambda a: xp.count_nonzero(a, axis=axis), in_dims=1)(x)
    assert mapped.dtype is torch.int64
    assert_array_equal(
        mapped, np.stack([np.count_nonzero(x[:, i], axis=axis) if axis != () else x[:, i] != 0 for i in (0, 1)])
    )
    assert_array_equal(torch.func.vmap(xp.count_nonzero)(x[0, 0]), [1, 1, 0])


@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft", "fftn", "ifftn", "rfftn", "irfftn"])
def test_transforms_of_empty_stacks(name: str) -> None:
    of_real = name in ("rfft", "ihfft", "rfftn")
    for shape, places, size in (
        ((0, 8), [1], None),
        ((0, 8), [-1], 5),
        ((4, 0, 6), [0], 3),
        ((0, 4, 0, 6), [1, -1], 3),
    ):
        if name.endswith("n"):
            options: dict[str, Any] = {"axes": places, "s": None if size is None else [size] * len(places)}
        else:
            options = {"axis": places[0], "n": size}
        x = torch.zeros(shape, dtype=torch.float64 if of_real else torch.complex128)
        expected = getattr(np.fft, name)(x.numpy(), **options)
        found = getattr(xp.fft, name)(x, **options)
        assert (tuple(found.shape), found.resolve_conj().numpy().dtype) == (expected.shape, expected.dtype)
        assert torch.func.vmap(partial(getattr(xp.fft, name), **options))(x.expand(2, *shape)).shape[1:] == found.shape
        differentiated = x.clone().requires_grad_()
        getattr(xp.fft, name)(differentiated, **options).abs().sum().backward()
        assert differentiated.grad is not None
        assert differentiated.grad.shape == x.shape
    # Mapped over nothing, where the array that is seen has elements.
    x = torch.zeros((2, 0, 3, 4), dtype=torch.float64 if of_real else torch.complex128)
    function = getattr(xp.fft, name)
    expected = getattr(np.fft, name)(x.numpy(), **({"axes": (-2, -1)} if name.endswith("n") else {}))
    for mapped in (torch.func.vmap(function, 1, 1), torch.func.vmap(torch.func.vmap(function))):
        found, pull = torch.func.vjp(mapped, x)
        assert (tuple(found.shape), found.resolve_conj().numpy().dtype) == (expected.shape, expected.dtype)
        assert pull(found)[0].shape == x.shape
        assert torch.func.jvp(mapped, (x,), (x,))[1].shape == found.shape
    with pytest.raises(RuntimeError, match="Invalid number of data points"):
        getattr(xp.fft, name)(torch.zeros((0,), dtype=torch.float64 if of_real else torch.complex128))


def test_options_of_transforms_are_pytorchs_too() -> None:
    x = torch.arange(12.0, dtype=torch.float64).reshape(3, 4)
    same(xp.fft.fft(x, 2, dim=0, norm=None), torch.fft.fft(x, 2, dim=0))
    same(xp.fft.rfftn(x, (2,), dim=(0,), norm="ortho"), torch.fft.rfftn(x, (2,), dim=(0,), norm="ortho"))
    out = torch.zeros((3, 4), dtype=torch.complex128)
    assert xp.fft.fft(x, out=out) is out
