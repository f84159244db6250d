"""The inner loops of NumPy's ufuncs, as addresses for compiled code.

The C structures of ufuncs and arrays are public, in NumPy's headers `ufuncobject.h` and `ndarraytypes.h`.
"""

import ctypes
from collections.abc import Sequence
from functools import cache
from itertools import product, starmap
from typing import Any, Final, NamedTuple

import numpy as np

HEAD: Final = object.__basicsize__
"""The size of a Python object's header in bytes."""


class _Ufunc(ctypes.Structure):
    _fields_ = (
        ("head", ctypes.c_byte * HEAD),
        ("nin", ctypes.c_int),
        ("nout", ctypes.c_int),
        ("nargs", ctypes.c_int),
        ("identity", ctypes.c_int),
        ("functions", ctypes.POINTER(ctypes.c_void_p)),
        ("data", ctypes.POINTER(ctypes.c_void_p)),
        ("ntypes", ctypes.c_int),
    )


_LOOP: Final = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)


class Loop(NamedTuple):
    """The inner loop of a ufunc for some data types, and the pointer to call it with."""

    address: int
    data: int


@cache
def loop_of(ufunc: np.ufunc, types: str) -> Loop | None:
    """Return the inner loop for data types such as "dd->d", or None if no loop has the values of the ufunc."""
    loop = untested_loop_of(ufunc, types) if ufunc.nout == 1 else None
    return loop if loop is not None and _is_equal(ufunc, loop, types) else None


def untested_loop_of(ufunc: np.ufunc, types: str) -> Loop | None:
    """Return the inner loop for data types, or None."""
    fields = _Ufunc.from_address(id(ufunc))
    if (fields.nin, fields.nout, fields.nargs, fields.ntypes) != (ufunc.nin, ufunc.nout, ufunc.nargs, ufunc.ntypes):
        return None
    if types not in ufunc.types:
        return None
    number = ufunc.types.index(types)
    loop = Loop(fields.functions[number] or 0, fields.data[number] or 0 if fields.data else 0)
    return loop if loop.address else None


def _is_equal(ufunc: np.ufunc, loop: Loop, types: str) -> bool:
    """Compare a loop with its ufunc: for many elements, for single elements, and for one shared element."""
    codes, result = types.split("->")
    given = [samples(np.dtype(code), number) for number, code in enumerate(codes)]
    shared = [*given[:-1], given[-1][5:6].repeat(len(given[-1]))]
    with np.errstate(all="ignore"):
        expected = ufunc(*given, dtype=None if ufunc.nin == 1 else result if codes == result * 2 else None)
        if expected.dtype.char != result:
            return False
        each = np.concatenate([_called(loop, [x[i : i + 1] for x in given], result) for i in range(len(given[0]))])
        found = [_called(loop, given, result), each]
        wanted = [expected, expected]
        if len(given) > 1:
            found.append(_called(loop, [*given[:-1], given[-1][5:6]], result))
            wanted.append(ufunc(*shared))
    return all(is_same(x, y) for x, y in zip(found, wanted, strict=True))


def is_same(x: Any, y: Any) -> bool:
    """Return whether two arrays have the same bits, except for NaNs."""
    if x.dtype != y.dtype or x.shape != y.shape:
        return False
    if x.dtype.kind == "c":
        return is_same(x.real, y.real) and is_same(x.imag, y.imag)
    if x.dtype.kind == "f":
        return bool(np.all((x == y) & (np.signbit(x) == np.signbit(y)) | np.isnan(x) & np.isnan(y)))
    return bool(np.all(x == y))


@cache
def least_step(ufunc: np.ufunc, types: str) -> int | None:
    """Return the smallest stride, -1 or 1 elements, at which the values of a ufunc are the same, or None.

    Some of NumPy's functions of complex numbers round differently for negative strides.
    """
    codes, _ = types.split("->")
    given = [samples(np.dtype(code), number) for number, code in enumerate(codes)]

    def is_same_with(*steps: int) -> bool:
        return is_same(ufunc(*map(_with_step, given, steps)), expected)

    with np.errstate(all="ignore"):
        expected = ufunc(*given)
        if not all(starmap(is_same_with, product((1, 2, 3), repeat=len(given)))):
            return None
        return -1 if all(starmap(is_same_with, product((1, -1, -2), repeat=len(given)))) else 1


def _with_step(x: Any, step: int) -> Any:
    return np.repeat(x, step)[::step] if step > 0 else _with_step(x[::-1], -step)[::-1]


def samples(dtype: np.dtype[Any], number: int) -> Any:
    """Return numbers of a data type, including special ones. Each `number` gives other numbers."""
    random = np.random.default_rng(number)
    if dtype.kind == "c":
        re, im = (samples(np.dtype(np.float64), each) for each in (number, number + 5))
        found = np.empty(re.shape, np.complex128)
        found.real, found.imag = re, random.permutation(im)
        return found.astype(dtype)
    if dtype.kind == "f":
        special = [0.0, -0.0, np.inf, -np.inf, np.nan, 2.0, 0.5, 1.0, -1.0, 1e-310, 700.0, -700.0, 1e30]
        found = np.concatenate([special, random.normal(size=40), random.uniform(-1, 1, 30), random.lognormal(0, 9, 30)])
        return np.roll(found, number).astype(dtype)
    if dtype.kind == "b":
        return random.integers(0, 2, 100).astype(dtype)
    limits = np.iinfo(dtype)
    special = [0, 1, 2, limits.min, limits.max, 2]
    found = np.concatenate([np.asarray(special, dtype), random.integers(0, 100, 90).astype(dtype)])
    return np.roll(found, number)


def _called(loop: Loop, given: list[Any], result: str) -> Any:
    arrays = list(map(np.ascontiguousarray, given))
    size = max(x.size for x in arrays)
    out = np.empty(size, result)
    steps = [x.itemsize if x.size == size else 0 for x in arrays]
    call_loop(loop, [*arrays, out], [size], [*steps, out.itemsize])
    return out


def call_loop(loop: Loop, arrays: Sequence[Any], sizes: Sequence[int], strides: Sequence[int]) -> None:
    """Call an inner loop with arrays."""
    pointers = (ctypes.c_void_p * len(arrays))(*[x.ctypes.data for x in arrays])
    lengths, steps = ((ctypes.c_ssize_t * len(x))(*x) for x in (sizes, strides))
    _LOOP(loop.address)(pointers, lengths, steps, loop.data)


def fused(x: Any, y: Any, z: Any) -> Any:
    """Return x * y + z, rounded once, for numbers that are not near the largest or the smallest."""
    if x.dtype.char == "f":
        return (x.astype(np.longdouble) * y + z).astype(np.float32)
    exact, error = _exact_product(x, y)
    total = exact + z
    part = total - exact
    return total + (((exact - (total - part)) + (z - part)) + error)


def _exact_product(x: Any, y: Any) -> tuple[Any, Any]:
    """Return a product and its rounding error (T. J. Dekker, A floating-point technique, 1971)."""
    (x1, x2), (y1, y2) = (_halves(each) for each in (x, y))
    rounded = x * y
    return rounded, ((x1 * y1 - rounded) + x1 * y2 + x2 * y1) + x2 * y2


def _halves(x: Any) -> tuple[Any, Any]:
    scaled = x * (2.0**27 + 1)
    high = scaled - (scaled - x)
    return high, x - high
