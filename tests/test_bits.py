"""Bits of integers: every library against Python's integers and NumPy's views, transformations, bad input."""

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from tests.laziness import nothing_computed
from tests.libraries import LIBRARIES, Library
from tests.operations import Case, Check, check_values, checked
from xpand_extensions import UnsupportedError, bits

SIGNED = ["int8", "int16", "int32", "int64"]
UNSIGNED = ["uint8", "uint16", "uint32", "uint64"]
INTEGERS = SIGNED + UNSIGNED


def each(function: Any, *arrays: np.ndarray) -> np.ndarray:
    """Apply a function of Python's integers, and of the width, to each element."""
    dtype = arrays[0].dtype
    width = 8 * dtype.itemsize
    broadcast = np.broadcast_arrays(*arrays)
    values = [function(*(int(v) for v in row), width) for row in zip(*(x.ravel() for x in broadcast))]
    wrapped = [int(v) % 2**width for v in values]
    return np.asarray(wrapped, dtype=f"u{dtype.itemsize}").reshape(broadcast[0].shape).view(dtype)


def within(n: int, width: int) -> bool:
    return 0 <= n < width


REFERENCES = {
    "population_count": lambda x, width: (x % 2**width).bit_count(),
    "count_leading_zeros": lambda x, width: width - (x % 2**width).bit_length(),
    "shift_left": lambda x, n, width: x << n if within(n, width) else 0,
    "shift_right": lambda x, n, width: x >> n if within(n, width) else -(x < 0),
    "shift_right_logical": lambda x, n, width: (x % 2**width) >> n if within(n, width) else 0,
}
ONE = ["population_count", "count_leading_zeros"]
SHIFTS = ["shift_left", "shift_right", "shift_right_logical"]


def integers(dtype: str) -> np.ndarray:
    info = np.iinfo(dtype)
    low, high, width = int(info.min), int(info.max), info.bits
    values = [0, 1, 2, 3, low, low + 1, high, high - 1, 2 ** (width // 2), 2 ** (width // 2) - 1, 85, 2 ** (width - 2)]
    values += [-1, -2] if low else []
    rng = np.random.default_rng(3)
    return np.asarray([*values, *rng.integers(low, high, 26 - len(values), dtype=dtype).tolist()], dtype=dtype)


def places(dtype: str) -> np.ndarray:
    width = np.iinfo(dtype).bits
    values = [0, 1, 2, width // 2, width - 2, width - 1, width, width + 1, 100, 127]
    values += [-1, -2, -100, int(np.iinfo(dtype).min)] if dtype[0] == "i" else [int(np.iinfo(dtype).max)]
    return np.asarray(values, dtype=dtype)


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("function", ONE)
def test_counts(library: Library, function: str, dtype: str) -> None:
    values = integers(dtype).reshape(2, 13)
    case = Case(getattr(bits, function), (values,), reference=lambda x: each(REFERENCES[function], x))
    check_values(library, case)
    for shape in ((), (0,), (2, 0)):
        x = np.full(shape, 5, dtype=dtype)
        library.assert_equal(getattr(bits, function)(library.asarray(x)), each(REFERENCES[function], x))


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("function", SHIFTS)
def test_shifts(library: Library, function: str, dtype: str) -> None:
    values, n = integers(dtype)[:, None], places(dtype)
    case = Case(getattr(bits, function), (values, n), reference=lambda x, n: each(REFERENCES[function], x, n))
    check_values(library, case)
    x = library.asarray(values[:, 0])
    for count in (0, 3, np.iinfo(dtype).bits, 120):
        wanted = each(REFERENCES[function], values[:, 0], np.asarray(count, dtype=dtype))
        library.assert_equal(getattr(bits, function)(x, count), wanted)
        scalar = getattr(bits, function)(library.asarray(values[3, 0]), library.asarray(np.asarray(count, dtype=dtype)))
        library.assert_equal(scalar, wanted[3])
    one = each(REFERENCES[function], np.asarray(1, dtype=dtype), n)
    library.assert_equal(getattr(bits, function)(1, library.asarray(n)), one)


@pytest.mark.parametrize("function", SHIFTS)
def test_shifts_promote(library: Library, function: str) -> None:
    x, n = integers("int8"), np.asarray([40], dtype=np.uint8)
    result = getattr(bits, function)(library.asarray(x), library.asarray(n))
    library.assert_equal(result, each(REFERENCES[function], x.astype(np.int16), n))


@pytest.mark.parametrize("function", SHIFTS)
def test_shifts_agree_with_python(library: Library, function: str) -> None:
    @settings(max_examples=8 if library.id in ("dask", "jax") else 25)
    @given(data=st.data(), dtype=st.sampled_from(INTEGERS))
    def run(data: st.DataObject, dtype: str) -> None:
        info = np.iinfo(dtype)
        numbers = st.lists(st.integers(int(info.min), int(info.max)), min_size=4, max_size=4)
        x = np.asarray(data.draw(numbers), dtype=dtype)
        n = np.asarray(data.draw(st.lists(st.integers(-1 if info.min else 0, info.bits + 1), min_size=4, max_size=4)))
        n = n.astype(dtype)
        result = getattr(bits, function)(library.asarray(x), library.asarray(n))
        library.assert_equal(result, each(REFERENCES[function], x, n))

    run()


# --- bitcast --------------------------------------------------------------------------------------------------------


NUMERIC = [*INTEGERS, "float32", "float64", "complex64", "complex128"]
BY_WIDTH = sorted(NUMERIC, key=lambda name: np.dtype(name).itemsize)


def seen_as(x: np.ndarray, dtype: str) -> np.ndarray:
    old, new = x.dtype.itemsize, np.dtype(dtype).itemsize
    shape = x.shape if old == new else (*x.shape, old // new) if new < old else x.shape[:-1]
    return np.frombuffer(x.tobytes(), dtype=dtype).reshape(shape)


@pytest.mark.parametrize("dtype", NUMERIC)
def test_bitcast(library: Library, dtype: str) -> None:
    if library.id.startswith("strict"):
        with pytest.raises(UnsupportedError, match="bitcast: not available for array_api_strict"):
            bits.bitcast(library.asarray(np.zeros(2, dtype=dtype)), getattr(library.xp, dtype))
        return
    random = np.random.default_rng(5)
    for other in NUMERIC:
        ratio = max(1, np.dtype(other).itemsize // np.dtype(dtype).itemsize)
        # Made of the bits of ordinary numbers: JAX takes subnormal parts of complex ones for zero.
        size = 6 * ratio * np.dtype(dtype).itemsize
        ordinary = random.uniform(1, 2, size).astype(np.float32).view(np.uint8)[:size]
        values = ordinary.view(dtype).reshape(3, 2, ratio)
        result = bits.bitcast(library.asarray(values), getattr(library.xp, other))
        expected = seen_as(values, other)
        library.assert_equal(result, expected)
        strided = library.asarray(np.repeat(values, 2, axis=0))[::2]
        library.assert_equal(bits.bitcast(strided, getattr(library.xp, other)), expected)
        empty = np.zeros((0, ratio), dtype=dtype)
        library.assert_equal(bits.bitcast(library.asarray(empty), getattr(library.xp, other)), seen_as(empty, other))
    scalar = np.asarray(3, dtype=dtype)
    library.assert_equal(bits.bitcast(library.asarray(scalar), library.xp.uint8), seen_as(scalar, "uint8"))


@pytest.mark.parametrize("library", [x for x in LIBRARIES if not x.id.startswith("strict")], ids=str)
def test_bitcast_of_special_values(library: Library) -> None:
    x = np.asarray([0.0, -0.0, np.inf, -np.inf, np.nan])
    result = bits.bitcast(library.asarray(x), library.xp.int64)
    library.assert_equal(result, x.view(np.int64))
    library.assert_equal(bits.bitcast(result, library.xp.float64), x)


@pytest.mark.parametrize(("one", "other"), list(itertools.product(["float32", "int8"], ["int32", "uint8", "float64"])))
def test_bitcast_under_jit_and_compile(one: str, other: str) -> None:
    import jax
    import torch

    ratio = max(1, np.dtype(other).itemsize // np.dtype(one).itemsize)
    values = np.arange(2 * ratio).reshape(2, ratio).astype(one)
    expected = seen_as(values, other)
    compiled = jax.jit(lambda x: bits.bitcast(x, getattr(jax.numpy, other)))
    np.testing.assert_array_equal(compiled(jax.numpy.asarray(values)), expected)
    mapped = jax.vmap(lambda x: bits.bitcast(x, getattr(jax.numpy, other)))
    np.testing.assert_array_equal(mapped(jax.numpy.asarray(values)), expected)
    graph = torch.compile(lambda x: bits.bitcast(x, getattr(torch, other)), fullgraph=True, backend="eager")
    np.testing.assert_array_equal(graph(torch.asarray(values)).numpy(), expected)


# --- packbits -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bitorder", ["big", "little"])
@pytest.mark.parametrize("axis", [None, 0, 1, -1])
@pytest.mark.parametrize("shape", [(3, 17), (8, 2), (0, 3), (9, 0)])
def test_packbits(library: Library, shape: tuple[int, ...], axis: int | None, bitorder: Any) -> None:
    values = np.random.default_rng(1).integers(0, 2, shape).astype(bool)
    packed = np.packbits(values, axis=axis, bitorder=bitorder)
    for dtype in ("bool", "int64", "uint16", "int8"):
        x = library.asarray(values * (1 if dtype == "bool" else 64), dtype=dtype)
        library.assert_equal(bits.packbits(x, axis=axis, bitorder=bitorder), packed)
    size = values.size if axis is None else shape[axis]
    total = packed.size * 8 if axis is None else packed.shape[axis] * 8
    for count in (None, size, size + 20, 0, 3, -1, -total):
        if count is not None and count < -total:
            continue
        result = bits.unpackbits(library.asarray(packed), axis=axis, count=count, bitorder=bitorder)
        library.assert_equal(result, unpacked(packed, axis, count, bitorder))


def unpacked(packed: np.ndarray, axis: int | None, count: int | None, bitorder: Any) -> np.ndarray:
    x = packed.ravel() if axis is None else np.moveaxis(packed, axis, -1)
    order = range(8) if bitorder == "little" else range(7, -1, -1)
    found = np.stack([x >> n & 1 for n in order], axis=-1).reshape(*x.shape[:-1], 8 * x.shape[-1])
    size = found.shape[-1]
    if count is not None:
        count = count if count >= 0 else max(size + count, 0)
        extra = max(0, count - size)
        found = np.concatenate([found[..., :count], np.zeros((*found.shape[:-1], extra), np.uint8)], axis=-1)
    return found if axis is None else np.moveaxis(found, -1, axis)


def test_bits_of_one_value(library: Library) -> None:
    library.assert_equal(bits.packbits(library.asarray(True)), np.asarray([128], dtype=np.uint8))
    byte = library.asarray(np.asarray(5, dtype=np.uint8))
    library.assert_equal(bits.unpackbits(byte), np.asarray([0, 0, 0, 0, 0, 1, 0, 1], dtype=np.uint8))


def test_dask_stays_lazy() -> None:
    import dask.array as da

    x = da.from_array(np.arange(24, dtype=np.int32).reshape(4, 6), chunks=(2, 3))
    with nothing_computed():
        results = [bits.population_count(x), bits.shift_right_logical(x, 1), bits.packbits(x, axis=1)]
        results += [bits.bitcast(x, np.uint8), bits.bitcast(bits.bitcast(x, np.uint8), np.int32)]
    np.testing.assert_array_equal(np.asarray(results[-1]), np.asarray(x))


# --- transformations ------------------------------------------------------------------------------------------------

X, N = np.asarray([[5, -3, 127], [0, -128, 1]], dtype=np.int32), np.asarray([[1, 31, 32], [40, -1, 0]], dtype=np.int32)
CASES = {
    "population_count": Case(bits.population_count, (X,)),
    "population_count of uint32": Case(bits.population_count, (X.view(np.uint32),)),
    "count_leading_zeros": Case(bits.count_leading_zeros, (X,)),
    **{name: Case(getattr(bits, name), (X, N)) for name in SHIFTS},
    "shift_right of uint32": Case(bits.shift_right, (X.view(np.uint32), N.view(np.uint32))),
    "shift by a number": Case(lambda x: bits.shift_left(x, 3), (X,)),
    "packbits": Case(lambda x: bits.packbits(x, axis=-1), (X,)),
    "unpackbits": Case(lambda x: bits.unpackbits(x, axis=0, count=5), (X.astype(np.uint8),)),
    "bitcast": Case(lambda x: bits.population_count(x), (X,)),
}


@checked(CASES)
def test_transformations(case: Case, transformation: Check) -> None:
    transformation(case)


# --- bad input ------------------------------------------------------------------------------------------------------


def raises(error: type[Exception], match: str, function: Any, *args: Any, **options: Any) -> None:
    with pytest.raises(error, match=match) as caught:
        function(*args, **options)
    assert str(caught.value).startswith(f"{function.__name__}: ")


@pytest.mark.parametrize("function", ONE)
def test_bad_counts(library: Library, function: str) -> None:
    count = getattr(bits, function)
    raises(TypeError, "x must be an array, got int", count, 5)
    raises(TypeError, "x must have an integer data type", count, library.asarray([1.0]))
    raises(TypeError, "x must have an integer data type, got .*bool", count, library.asarray([True]))


@pytest.mark.parametrize("function", SHIFTS)
def test_bad_shifts(library: Library, function: str) -> None:
    shift, x = getattr(bits, function), library.asarray([1, 2])
    raises(TypeError, r"takes at least one array, got x \(int\), n \(int\)", shift, 1, 2)
    raises(TypeError, "n must have an integer data type", shift, x, library.asarray([1.0, 2.0]))
    raises(TypeError, "n is the float 0.5", shift, x, 0.5)
    raises(TypeError, "n is the bool True", shift, x, True)
    raises(TypeError, "n must be an array, got list", shift, x, [1])
    raises(TypeError, "the standard promotes to one", shift, x, library.asarray(np.ones(2, dtype=np.uint64)))
    raises(
        ValueError,
        "takes arrays that broadcast together, got x of shape \\(2,\\), n of shape \\(3,\\)",
        shift,
        x,
        library.asarray([1, 2, 3]),
    )
    raises(OverflowError, "n=300 does not fit", shift, library.asarray(np.ones(2, dtype=np.int8)), 300)
    import torch

    other = np.asarray([1]) if library.id != "numpy" else torch.asarray([1])
    raises(TypeError, "takes arrays of one library", shift, x, other)


def test_two_devices() -> None:
    import array_api_strict as strict

    with pytest.raises(ValueError, match="shift_left: takes arrays on one device"):
        bits.shift_left(
            strict.ones(2, dtype=strict.int64), strict.ones(2, dtype=strict.int64, device=strict.Device("device1"))
        )


def test_bad_bitcast(library: Library) -> None:
    x = library.asarray([1, 2, 3])
    xp = library.xp
    raises(TypeError, "x must be an array, got list", bits.bitcast, [1], xp.int32)
    raises(TypeError, "x must have a numeric data type", bits.bitcast, library.asarray([True]), xp.int8)
    raises(TypeError, "dtype must be a numeric data type", bits.bitcast, x, xp.bool)
    raises(TypeError, "dtype must be a data type or the name of one", bits.bitcast, x, "nonsense")
    raises(TypeError, "dtype must be a numeric data type", bits.bitcast, x, None)
    raises(ValueError, "must have the size 2, got the shape \\(3,\\)", bits.bitcast, x, xp.complex128)
    raises(ValueError, "must have the size 2, got the shape \\(\\)", bits.bitcast, library.asarray(1), xp.complex128)


def test_bad_packing(library: Library) -> None:
    x, byte = library.asarray([[1, 0]]), library.asarray(np.ones((1, 2), dtype=np.uint8))
    raises(TypeError, "x must be an array", bits.packbits, [1])
    raises(TypeError, "x must have a boolean or integer data type", bits.packbits, library.asarray([1.0]))
    raises(ValueError, "axis=2 is out of range", bits.packbits, x, axis=2)
    raises(ValueError, "did you mean 'little'", bits.packbits, x, bitorder="litle")
    raises(TypeError, "bitorder must be one of", bits.packbits, x, bitorder=1)
    raises(TypeError, "x must have uint8, got .*int64", bits.unpackbits, x)
    raises(TypeError, "x must be an array", bits.unpackbits, 7)
    raises(ValueError, "axis=-3 is out of range", bits.unpackbits, byte, axis=-3)
    raises(TypeError, "count must be an integer", bits.unpackbits, byte, count=1.5)
    raises(ValueError, "count must be at least -16, got -17", bits.unpackbits, byte, count=-17)
    raises(ValueError, "bitorder must be one of", bits.unpackbits, byte, bitorder="middle")
