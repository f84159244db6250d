"""Python numbers beside arrays: one meaning in every library, eager, traced, staged and mapped.

The reference is Python: its integers have no range, so comparisons are exact, and a value fits a data type or not.
"""

import math
import operator
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from tests.libraries import LIBRARIES, Library
from xpand._common import integers
from xpand_extensions import named
from xpand_extensions.jit import jit
from xpand_extensions.scatter import at
from xpand_extensions.tracing import traced_namespace
from xpand_extensions.tracing._functions import BINARY, UNARY
from xpand_extensions.vmap import vmap

# array-api-strict raises for all integers out of range, also in comparisons: the standard leaves them undefined.
EXACT = [library for library in LIBRARIES if not library.id.startswith("strict")]

NUMPY = next(library for library in LIBRARIES if library.id == "numpy")

INTEGERS = ("int8", "int64", "uint8", "uint32", "uint64")
COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "equal": operator.eq,
    "greater": operator.gt,
    "greater_equal": operator.ge,
    "less": operator.lt,
    "less_equal": operator.le,
    "not_equal": operator.ne,
}
VALUES: dict[str, Callable[[int, int], int]] = {
    "add": operator.add,
    "bitwise_and": operator.and_,
    "bitwise_or": operator.or_,
    "bitwise_xor": operator.xor,
    "floor_divide": operator.floordiv,
    "maximum": max,
    "minimum": min,
    "multiply": operator.mul,
    "remainder": operator.mod,
    "subtract": operator.sub,
}
UNSIGNED_ONLY = ("bitwise_left_shift", "bitwise_right_shift", "pow")


def _limits(dtype: str) -> tuple[int, int]:
    info = np.iinfo(dtype)
    return int(info.min), int(info.max)


def _elements(dtype: str) -> list[int]:
    low, high = _limits(dtype)
    return sorted({low, low + 1, 1, 3, high - 1, high})


def _numbers(dtype: str) -> list[int]:
    """Return integers on both sides of every limit."""
    low, high = _limits(dtype)
    return sorted({low - 1, low, -1, 0, 1, 127, 128, high, high + 1, 2**31, 2**63 - 1, 2**63, 2**64, 2**70, -(2**70)})


def raises_overflow(call: Callable[[], Any]) -> bool:
    try:
        call()
    except OverflowError:
        return True
    return False


def _wrapped(values: list[int], dtype: str) -> np.ndarray:
    low, high = _limits(dtype)
    return np.asarray([(value - low) % (high - low + 1) + low for value in values], dtype)


def _ways(library: Library, f: Callable[[Any], Any], x: Any) -> dict[str, Callable[[], Any]]:
    """Return calls of an elementwise function: eager, traced, staged and mapped."""
    traced = traced_namespace(library.xp)
    ways: dict[str, Callable[[], Any]] = {"eager": lambda: f(x)}
    if library.id in ("numpy", "dask"):
        ways["traced"] = lambda: f(traced.asarray(x))._value
    if not library.lazy:
        ways["staged"] = lambda: jit(f)(x)
        ways["mapped"] = lambda: vmap(f)(x)
    return ways


def test_each_binary_function_follows_the_rule() -> None:
    """The namespace of PyTorch writes its functions out; the others are made from the list."""
    assert pytest.importorskip("xpand.torch._binary").__all__ == BINARY
    assert set(COMPARISONS) == set(integers.COMPARISONS)
    assert {*COMPARISONS, *VALUES, *UNSIGNED_ONLY, *integers.FLOATING, *integers.LOGICAL} == set(BINARY)


@pytest.mark.parametrize("library", EXACT, ids=str)
@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("name", COMPARISONS)
def test_comparisons_are_exact(library: Library, name: str, dtype: str) -> None:
    elements = _elements(dtype)
    x = library.asarray(np.asarray(elements, dtype))
    compare, function = COMPARISONS[name], getattr(library.xp, name)
    for number in _numbers(dtype):
        library.assert_equal(function(x, number), [compare(element, number) for element in elements])
        library.assert_equal(function(number, x), [compare(number, element) for element in elements])


@pytest.mark.parametrize("library", EXACT, ids=str)
@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("name", VALUES)
@pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")
def test_values_fit_or_raise(library: Library, name: str, dtype: str) -> None:
    """A result wraps around, but an argument must fit."""
    low, high = _limits(dtype)
    elements = [element for element in _elements(dtype) if element > 0]
    x = library.asarray(np.asarray(elements, dtype))
    compute, function = VALUES[name], getattr(library.xp, name)
    for number in _numbers(dtype):
        for call, result in (
            (lambda number=number: function(x, number), lambda e, number=number: compute(e, number)),
            (lambda number=number: function(number, x), lambda e, number=number: compute(number, e)),
        ):
            if not low <= number <= high:
                with pytest.raises(OverflowError):
                    call()
            elif number:
                library.assert_equal(call(), _wrapped([result(element) for element in elements], dtype))


@pytest.mark.parametrize("library", EXACT, ids=str)
@pytest.mark.parametrize("dtype", INTEGERS)
def test_other_functions_of_a_value(library: Library, dtype: str) -> None:
    low, high = _limits(dtype)
    xp, target = library.xp, getattr(library.xp, dtype)
    x = library.asarray(np.asarray([1, 2], dtype))
    mask = library.asarray([True, False])
    for number in _numbers(dtype):
        calls: dict[str, tuple[Callable[[], Any], list[int]]] = {
            "asarray": (lambda n=number: xp.asarray([n, 1], dtype=target), [number, 1]),
            "asarray of a number": (lambda n=number: xp.reshape(xp.asarray(n, dtype=target), (1,)), [number]),
            "full": (lambda n=number: xp.full((2,), n, dtype=target), [number, number]),
            "full_like": (lambda n=number: xp.full_like(x, n), [number, number]),
            "where": (lambda n=number: xp.where(mask, n, x), [number, 2]),
            "where, reversed": (lambda n=number: xp.where(mask, x, n), [1, number]),
            "at.set": (lambda n=number: at(x)[:1].set(n), [number, 2]),
        }
        if number + 1 not in (2**63, 2**70 + 1):  # PyTorch raises for ends above the largest number
            calls["arange"] = (lambda n=number: xp.arange(n - 1, n + 1, dtype=target), [number - 1, number])
        for what, (call, values) in calls.items():
            if all(low <= value <= high for value in values):
                library.assert_equal(call(), np.asarray(values, dtype))
            else:
                assert raises_overflow(call), (what, number)
        for name in UNSIGNED_ONLY:
            if not low <= number <= high:
                with pytest.raises(OverflowError):
                    getattr(xp, name)(x, number)


@pytest.mark.parametrize("library", EXACT, ids=str)
@pytest.mark.parametrize("dtype", INTEGERS)
def test_searches_and_bounds_are_exact(library: Library, dtype: str) -> None:
    low, high = _limits(dtype)
    elements = _elements(dtype)
    x, xp = library.asarray(np.asarray(elements, dtype)), library.xp
    for number in _numbers(dtype):
        library.assert_equal(xp.isin(x, number), [element == number for element in elements])
        library.assert_equal(xp.isin(x, number, invert=True), [element != number for element in elements])
        library.assert_equal(xp.isin(number, x), number in elements)
        left, right = sum(e < number for e in elements), sum(e <= number for e in elements)
        library.assert_equal(xp.searchsorted(x, number), left)
        library.assert_equal(xp.searchsorted(x, number, side="right"), right)
        bound = min(max(number, low), high)
        library.assert_equal(xp.clip(x, number, None), np.asarray([max(e, bound) for e in elements], dtype))
        library.assert_equal(xp.clip(x, None, number), np.asarray([min(e, bound) for e in elements], dtype))
        library.assert_equal(xp.clip(x, number, high), np.asarray([max(e, bound) for e in elements], dtype))


@pytest.mark.parametrize("library", EXACT, ids=str)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_large_integers_beside_floats(library: Library, dtype: str) -> None:
    x, xp = library.asarray(np.asarray([1.0, -3.0], dtype)), library.xp
    for number in (2**31, 2**63, 2**64, 2**70, -(2**63) - 1):
        value = np.asarray(number, dtype)
        for name in (
            "add",
            "maximum",
            "multiply",
            "divide",
            "hypot",
            "atan2",
            "copysign",
            "less",
            "equal",
            "remainder",
        ):
            result, expected = getattr(xp, name)(x, number), getattr(np, name)(np.asarray([1.0, -3.0], dtype), value)
            library.assert_equal(result, expected, rtol=1e-6)
        library.assert_equal(xp.where(library.asarray([True, False]), x, number), np.asarray([1.0, number], dtype))
        library.assert_equal(xp.clip(x, None, number), np.asarray([min(1.0, number), min(-3.0, number)], dtype))
        library.assert_equal(xp.isin(x, number), [False, False])


@pytest.mark.parametrize("library", EXACT, ids=str)
def test_floats_are_weak_in_searches(library: Library) -> None:
    x, xp = library.asarray(np.asarray([0.1, 0.2, 0.3], "float32")), library.xp
    library.assert_equal(xp.isin(x, 0.1), [True, False, False])
    library.assert_equal(xp.isin(0.3, x), True)
    library.assert_equal(xp.searchsorted(x, 0.1, side="right"), 1)
    library.assert_equal(xp.searchsorted(x, 0.3), 2)


@pytest.mark.parametrize("library", EXACT, ids=str)
@pytest.mark.parametrize("dtype", ["uint8", "int8", "int64", "uint64"])
def test_transformations_agree(library: Library, dtype: str) -> None:
    low, high = _limits(dtype)
    elements = [1, 3, high]
    x = library.asarray(np.asarray(elements, dtype))
    for number in (low - 1, high, high + 1):
        fits = low <= number <= high
        for name, compare in COMPARISONS.items():
            f = lambda x, name=name, number=number: getattr(_namespace(x, library), name)(x, number)
            for call in _ways(library, f, x).values():
                library.assert_equal(call(), [compare(e, number) for e in elements])
        for name in ("add", "bitwise_xor", "maximum", "where", "clip"):
            f = lambda x, name=name, number=number: _call(_namespace(x, library), name, x, number)
            for how, call in _ways(library, f, x).items():
                if fits or name == "clip":
                    library.assert_equal(call(), library.to_numpy(f(x)))
                else:
                    assert raises_overflow(call), (name, number, how)


def _namespace(x: Any, library: Library) -> Any:
    return getattr(x, "_namespace", library.xp)


def _call(xp: Any, name: str, x: Any, number: int) -> Any:
    if name == "where":
        return xp.where(x == 1, x, number)
    return xp.clip(x, number, None) if name == "clip" else getattr(xp, name)(x, number)


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int64", "uint64"])
def test_comparisons_with_a_number_that_is_an_argument(dtype: str) -> None:
    low, high = _limits(dtype)
    elements = _elements(dtype)
    x = np.asarray(elements, dtype)
    for name, compare in COMPARISONS.items():
        f = jit(lambda x, n, name=name: getattr(_namespace(x, NUMPY), name)(x, n))
        for number in (low, 3, min(high, 2**63 - 1), max(low - 1, -(2**63)), min(high + 1, 2**63 - 1)):
            np.testing.assert_array_equal(f(x, number), [compare(element, number) for element in elements])


@pytest.mark.parametrize("library", EXACT, ids=str)
def test_named_arrays(library: Library) -> None:
    x = named.named(library.asarray(np.asarray([0, 200], "uint8")), "a")
    library.assert_equal((x > -1).array, [True, True])
    library.assert_equal((x == 256).array, [False, False])
    library.assert_equal((x < 256).array, [True, True])
    library.assert_equal((x < 300).array, [True, True])
    library.assert_equal(named.clip(x, -5, 100).array, np.asarray([0, 100], "uint8"))
    for call in (
        lambda: x + 256,
        lambda: x - 256,
        lambda: -1 * x,
        lambda: named.maximum(x, -1),
        lambda: named.where(x > 0, x, 300),
        lambda: x & -1,
        lambda: named.full_like(x, 300),
    ):
        with pytest.raises(OverflowError):
            call()


@pytest.mark.parametrize("library", LIBRARIES, ids=str)
@pytest.mark.parametrize("index", [np.asarray([0, 2]), np.asarray([2, 2, 0])], ids=["different", "repeated"])
def test_updates_by_a_number(library: Library, index: np.ndarray) -> None:
    """A number takes the data type of the array: it is rounded once, and exact for integers."""
    large = np.asarray([2**63 + 1, 2**64 - 9, 2**53 + 1], "uint64")
    i = library.asarray(index)
    for number in (1, 2**53 + 1, 2**63 + 5):
        expected = large.copy()
        for k in index:
            expected[k] = np.uint64((int(expected[k]) + number) % 2**64)
        library.assert_equal(at(library.asarray(large))[i].add(number), expected)
        expected = large.copy()
        expected[index] = np.maximum(expected[index], np.uint64(number))
        library.assert_equal(at(library.asarray(large))[i].max(number), expected)
    with pytest.raises(OverflowError):
        at(library.asarray(large))[i].add(-1)
    with pytest.raises(OverflowError):  # after a call with a number that fits
        at(library.asarray(large))[i].max(2**64)
    values = np.random.default_rng(0).normal(size=1000).astype("float32")
    positions = np.arange(1000)
    updated = at(library.asarray(values))[library.asarray(positions)].add(0.1)
    library.assert_equal(updated, values + np.float32(0.1))
    assert math.isclose(
        float(at(library.asarray(values))[library.asarray(positions)].multiply(0.1)[0]), values[0] * 0.1, rel_tol=1e-6
    )


SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, 2.5, -3.0, math.inf, -math.inf, math.nan, 1e30, 7.0]
COMPLEX = [0, 1, -1, 1j, 1 - 2j, complex(math.inf, 0), complex(math.nan, 1), complex(-0.0, -0.0), complex(0, math.inf)]
PYTHON_NUMBERS = [0, 1, -1, 2, 300, 2**63, 0.5, -0.0, math.inf, math.nan, True, 1j]


def _special_values(dtype: str) -> np.ndarray:
    kind = np.dtype(dtype).kind
    values: list[Any] = [False, True] if kind == "b" else SPECIAL if kind == "f" else COMPLEX
    with np.errstate(over="ignore"):
        return np.asarray(_elements(dtype) if kind in "iu" else values, dtype)


def _outcome(call: Callable[[], Any]) -> Any:
    """Return the bytes of a result, where all NaNs are the same, or the type of an error."""
    try:
        found = np.asarray(call())
    except (ArithmeticError, TypeError, ValueError) as error:
        return "OverflowError" if isinstance(error, OverflowError) else "error"
    parts = (found.real, found.imag) if found.dtype.kind == "c" else (found,)
    return (
        found.dtype,
        found.shape,
        [np.where(part != part, part.dtype.type(1), part).tobytes() for part in parts],
        [(part != part).tolist() for part in parts],
    )


def _calls(name: str) -> dict[str, Callable[[Any], Any]]:
    """Return calls of an elementwise function of an array, or of an array and a Python number in either order."""

    def call(x: Any, *, before: tuple[Any, ...] = (), after: tuple[Any, ...] = ()) -> Any:
        return getattr(_namespace(x, NUMPY), name)(*before, x, *after)

    if name in UNARY:
        return {"": call}
    calls: dict[str, Callable[[Any], Any]] = {}
    for number in PYTHON_NUMBERS:
        if name == "clip":
            calls[f"from {number}"] = partial(call, after=(number, None))
            calls[f"up to {number}"] = partial(call, after=(None, number))
        elif name == "where":
            calls[f"{number}"] = lambda x, n=number: _namespace(x, NUMPY).where(x == 1, x, n)
            calls[f"{number}, reversed"] = lambda x, n=number: _namespace(x, NUMPY).where(x == 1, n, x)
        else:
            calls[f"{number}"] = partial(call, after=(number,))
            calls[f"{number}, reversed"] = partial(call, before=(number,))
    return calls


@pytest.mark.parametrize(
    "dtype", ["bool", "int8", "uint8", "int64", "uint64", "float16", "float32", "float64", "complex64", "complex128"]
)
def test_special_values_agree_eager_traced_staged_and_mapped(dtype: str) -> None:
    x = _special_values(dtype)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in (*UNARY, *BINARY, "clip", "where"):
            for what, f in _calls(name).items():
                outcomes = {how: _outcome(call) for how, call in _ways(NUMPY, f, x).items()}
                assert all(each == outcomes["eager"] for each in outcomes.values()), (name, what, outcomes)
