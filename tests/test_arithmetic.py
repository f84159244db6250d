"""Promotion and division: every library against Python and the C library, transformations, bad input."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from tests.libraries import Library
from tests.operations import Case, Check, check_values, checked
from xpand_extensions import arithmetic

INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]


def divided(x: int, y: int) -> int:
    return 0 if y == 0 else abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)


def left(x: int, y: int) -> int:
    return x - divided(x, y) * y


def each(function: Any, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    x, y = np.broadcast_arrays(x, y)
    modulus = 2 ** (8 * x.dtype.itemsize)
    values = [function(int(a), int(b)) % modulus for a, b in zip(x.ravel(), y.ravel())]
    return np.asarray(values, dtype=f"u{x.dtype.itemsize}").view(x.dtype).reshape(x.shape)


WHOLE = {"quotient": divided, "truncated_remainder": left}


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("function", WHOLE)
def test_division_of_integers(library: Library, function: str, dtype: str) -> None:
    info = np.iinfo(dtype)
    values = [int(info.min), int(info.min) + 1, 0, 1, 2, 3, 7, 8, int(info.max) - 1, int(info.max)]
    values += [-1, -2, -3, -7, -8] if info.min else []
    x = np.asarray(values, dtype=dtype)
    check_values(
        library,
        Case(getattr(arithmetic, function), (x[:, None], x), reference=lambda x, y: each(WHOLE[function], x, y)),
    )
    for shape in ((), (0,)):
        a, b = np.full(shape, info.min, dtype=dtype), np.full(shape, info.max, dtype=dtype)
        for y in (a, b, np.zeros(shape, dtype=dtype), np.full(shape, -1 if info.min else 1, dtype=dtype)):
            result = getattr(arithmetic, function)(library.asarray(a), library.asarray(y))
            library.assert_equal(result, each(WHOLE[function], a, y))
    library.assert_equal(
        getattr(arithmetic, function)(library.asarray(x), 3), each(WHOLE[function], x, x[:1] * 0 + np.asarray(3, dtype))
    )


@pytest.mark.parametrize("function", WHOLE)
def test_division_agrees_with_python(library: Library, function: str) -> None:
    @settings(max_examples=8 if library.id in ("dask", "jax") else 25)
    @given(data=st.data(), dtype=st.sampled_from(INTEGERS))
    def run(data: st.DataObject, dtype: str) -> None:
        info = np.iinfo(dtype)
        some = st.integers(int(info.min), int(info.max)) | st.integers(max(int(info.min), -3), 3)
        x, y = (np.asarray(data.draw(st.lists(some, min_size=5, max_size=5)), dtype=dtype) for _ in range(2))
        result = getattr(arithmetic, function)(library.asarray(x), library.asarray(y))
        library.assert_equal(result, each(WHOLE[function], x, y))

    run()


SPECIAL = np.asarray([0.0, -0.0, 1.0, -1.0, 2.5, -7.5, 1e300, -1e-310, np.inf, -np.inf, np.nan])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_remainder_of_floats(library: Library, dtype: str) -> None:
    with np.errstate(over="ignore"):
        # Subnormal numbers are zeros to XLA.
        x = np.where(np.abs(SPECIAL) < 1e-300, 0.0625, SPECIAL).astype(dtype)
    x[0], x[1] = 0.0, -0.0

    def reference(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        def fmod(a: float, b: float) -> float:
            return math.nan if math.isinf(a) or b == 0 else math.fmod(a, b)

        return np.vectorize(fmod, otypes=[x.dtype])(x, y)

    check_values(library, Case(arithmetic.truncated_remainder, (x[:, None], x), reference=reference))
    result = library.to_numpy(arithmetic.truncated_remainder(library.asarray(x), 1.0))
    defined = np.isfinite(x)
    assert np.signbit(result[defined]).tolist() == np.signbit(x[defined]).tolist()


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_divide_no_nan(library: Library, dtype: str) -> None:
    x = np.asarray([[1.0, 0.0, np.nan, np.inf], [-2.0, 3.0, 0.5, -np.inf]]).astype(dtype)
    y = np.asarray([[2.0, 0.0, 0.0, -0.0], [0.0, 4.0, -0.25, 0.0]]).astype(dtype)

    def reference(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return np.where(y == 0, 0, x / np.where(y == 0, 1, y)).astype(dtype)

    rtol = 1e-6 if dtype in ("float32", "complex64") else 1e-14
    check_values(library, Case(arithmetic.divide_no_nan, (x, y), reference=reference, rtol=rtol))
    library.assert_equal(arithmetic.divide_no_nan(library.asarray(x), 0), np.zeros_like(x))
    library.assert_equal(arithmetic.divide_no_nan(1, library.asarray(y)), reference(np.ones_like(y), y), rtol=rtol)
    for shape in ((), (0, 2)):
        zeros = np.zeros(shape, dtype=dtype)
        library.assert_equal(arithmetic.divide_no_nan(library.asarray(zeros), library.asarray(zeros)), zeros)
    if dtype[0] == "c":
        return  # NumPy warns of complex division by NaN itself
    nan = library.asarray(np.asarray([np.nan], dtype=dtype))
    assert np.isnan(library.to_numpy(arithmetic.divide_no_nan(library.asarray(x[:1, :1]), nan))).all()


def test_derivatives_at_zero() -> None:
    import jax
    import torch

    def total(x: Any, y: Any) -> Any:
        return arithmetic.divide_no_nan(x, y).sum()

    x, y = [1.0, 0.0, 6.0], [0.0, 0.0, 2.0]
    gradients = [
        *jax.grad(total, (0, 1))(jax.numpy.asarray(x), jax.numpy.asarray(y)),
        *torch.func.grad(total, (0, 1))(torch.asarray(x), torch.asarray(y)),
    ]
    assert [g.tolist() for g in gradients] == [[0.0, 0.0, 0.5], [0.0, 0.0, -1.5]] * 2
    second = jax.grad(lambda y: jax.grad(total, 1)(jax.numpy.asarray(x), y).sum())(jax.numpy.asarray(y))
    assert second.tolist() == [0.0, 0.0, 1.5]


# --- promotion ------------------------------------------------------------------------------------------------------


def test_promote_as_the_standard(library: Library) -> None:
    pairs = {
        ("int8", "int16"): "int16",
        ("uint8", "int8"): "int16",
        ("uint32", "int8"): "int64",
        ("float32", "float64"): "float64",
        ("float32", "complex64"): "complex64",
        ("float64", "complex64"): "complex128",
        ("bool", "bool"): "bool",
        ("uint64", "uint8"): "uint64",
    }
    for (one, other), expected in pairs.items():
        x, y = np.asarray([[1, 0]], dtype=one), np.asarray(1, dtype=other)
        results = arithmetic.promote(library.asarray(x), library.asarray(y))
        for result, value in zip(results, (x, y)):
            library.assert_equal(result, value.astype(expected))


def test_promote_three_and_scalars(library: Library) -> None:
    x, y, z = np.ones(2, dtype=np.int8), np.ones(3, dtype=np.uint8), np.ones((), dtype=np.int32)
    results = arithmetic.promote(library.asarray(x), 7, library.asarray(y), library.asarray(z))
    for result, value in zip(results, (x, 7, y, z)):
        library.assert_equal(result, np.asarray(value, dtype=np.int32))
    (one,) = arithmetic.promote(library.asarray(x))
    library.assert_equal(one, x)
    _, b = arithmetic.promote(library.asarray(np.ones(2, dtype=np.float32)), 0.1)
    library.assert_equal(b, np.asarray(0.1, dtype=np.float32))


def test_promote_with_options(library: Library) -> None:
    mask, whole = np.asarray([True, False]), np.asarray([3, 4], dtype=np.int16)
    real = np.asarray([0.5, 1.5], dtype=np.float32)
    m, w, r = library.asarray(mask), library.asarray(whole), library.asarray(real)
    defaults = library.xp.__array_namespace_info__().default_dtypes(device=library.device)

    def check(results: Any, expected: Any) -> None:
        for result, value in zip(results, expected, strict=True):
            library.assert_equal(result, value)

    check(arithmetic.promote(m, w, bool_to_int=True), (mask.astype(np.int16), whole))
    check(arithmetic.promote(w, r, int_to_float=True), (whole.astype(np.float32), real))
    both = {"bool_to_int": True, "int_to_float": True}
    check(
        arithmetic.promote(m, w, r, True, 2, **both),
        (mask.astype("f4"), whole.astype("f4"), real, np.float32(1), np.float32(2)),
    )
    (alone,) = arithmetic.promote(m, bool_to_int=True)
    assert alone.dtype == defaults["integral"]
    (alone,) = arithmetic.promote(w, int_to_float=True)
    assert alone.dtype == defaults["real floating"]
    (alone,) = arithmetic.promote(m, **both)
    assert alone.dtype == defaults["real floating"]
    check(arithmetic.promote(m, int_to_float=True), (mask,))


# --- transformations ------------------------------------------------------------------------------------------------

X, Y = np.asarray([[7, -7, 127], [0, -128, 1]], dtype=np.int8), np.asarray([[2, 2, 0], [5, -1, -3]], dtype=np.int8)
A, B = np.asarray([[7.5, -7.5, 1.0], [0.25, 2.0, -3.0]]), np.asarray([[2.0, 2.2, -0.7], [5.0, 0.6, 1.7]])
CASES = {
    "quotient": Case(arithmetic.quotient, (X, Y)),
    "remainder of integers": Case(arithmetic.truncated_remainder, (X, Y)),
    "remainder of floats": Case(arithmetic.truncated_remainder, (A, B), differentiable=(0, 1)),
    "divide_no_nan": Case(arithmetic.divide_no_nan, (A, B), differentiable=(0, 1)),
    "promote": Case(lambda x, y: arithmetic.promote(x, y, 2, int_to_float=True), (X, A), differentiable=(1,)),
}


@checked(CASES)
def test_transformations(case: Case, transformation: Check) -> None:
    transformation(case)


# --- bad input ------------------------------------------------------------------------------------------------------


def raises(error: type[Exception], match: str, function: Any, *args: Any, **options: Any) -> None:
    with pytest.raises(error, match=match) as caught:
        function(*args, **options)
    assert str(caught.value).startswith(f"{function.__name__}: ")


@pytest.mark.parametrize("function", ["divide_no_nan", "quotient", "truncated_remainder"])
def test_bad_operands(library: Library, function: str) -> None:
    call = getattr(arithmetic, function)
    good, bad = ([1.0, 2.0], [1, 2]) if function == "divide_no_nan" else ([1, 2], [True, False])
    x = library.asarray(good)
    raises(TypeError, r"takes at least one array, got x \(int\), y \(float\)", call, 1, 2.0)
    raises(TypeError, "y must have", call, x, library.asarray(bad))
    raises(TypeError, "y must be an array, got list", call, x, [1])
    raises(TypeError, "y is the bool True", call, x, True)
    raises(ValueError, "takes arrays that broadcast together", call, x, library.asarray(good + good[:1]))
    import torch

    raises(TypeError, "arrays of one library", call, x, np.ones(2) if library.id != "numpy" else torch.ones(2))


def test_bad_kinds(library: Library) -> None:
    whole, real = library.asarray([1, 2]), library.asarray([1.0, 2.0])
    raises(TypeError, "x must have an integer data type", arithmetic.quotient, real, real)
    raises(TypeError, "the standard promotes to one", arithmetic.truncated_remainder, whole, real)
    raises(TypeError, "y is the float 0.5", arithmetic.quotient, whole, 0.5)
    raises(OverflowError, "y=1000 does not fit", arithmetic.quotient, library.asarray(np.ones(1, np.int8)), 1000)


def test_bad_promotion(library: Library) -> None:
    whole, real, mask = library.asarray([1]), library.asarray([1.0]), library.asarray([True])
    large = library.asarray(np.ones(1, dtype=np.uint64))
    promote = arithmetic.promote
    raises(TypeError, "takes at least one array, got nothing", promote)
    raises(TypeError, r"takes at least one array, got operand 0 \(int\)", promote, 1)
    raises(TypeError, "got operand 0 of .*int64, operand 1 of .*float64", promote, whole, real)
    raises(TypeError, "the standard promotes to one", promote, whole, real, bool_to_int=True)
    raises(TypeError, "the standard promotes to one", promote, mask, real, int_to_float=True)
    raises(TypeError, "the standard promotes to one", promote, mask, whole)
    raises(TypeError, "the standard promotes to one", promote, whole, large)
    raises(TypeError, "the standard promotes to one", promote, whole, large, int_to_float=True)
    raises(TypeError, "operand 1 is the float 0.5", promote, whole, 0.5)
    raises(TypeError, "operand 1 is the bool True", promote, whole, True)
    raises(TypeError, "operand 1 must be an array, got list", promote, whole, [1])
    raises(TypeError, "bool_to_int must be True or False", promote, whole, bool_to_int=1)
    raises(TypeError, "int_to_float must be True or False", promote, whole, int_to_float="yes")


def test_two_devices() -> None:
    import array_api_strict as strict

    one, other = strict.ones(2), strict.ones(2, device=strict.Device("device1"))
    for function in (arithmetic.divide_no_nan, arithmetic.truncated_remainder, arithmetic.promote):
        raises(ValueError, "takes arrays on one device", function, one, other)
