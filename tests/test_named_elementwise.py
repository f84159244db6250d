"""Elementwise functions and reductions by name, on every library, against NumPy on the wrapped arrays."""

from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pytest
import scipy.special

from tests.libraries import LIBRARIES, Library
from xpand_extensions import named as hax
from xpand_extensions.named import NamedArray
from xpand_extensions.named._elementwise import BINARY, UNARY
from xpand_extensions.named._reductions import REDUCTIONS
from xpand_extensions.tracing.rules import AXES

A = np.asarray([[0.5, -1.5, 2.0, 0.25], [3.0, -0.25, 0.75, 1.0], [-0.5, 0.125, 6.0, -2.0]])
WITHIN = A / 8.0
INTEGERS = np.asarray([[3, 7, 5, 1], [2, 9, 0, 4], [8, 6, 10, 12]])
BOOLEANS = A > 0.3
INFINITE = np.asarray([[np.inf, -np.inf], [np.nan, -0.0]])

REFERENCES: dict[str, Callable[..., Any]] = {
    "bitwise_count": lambda x: np.bitwise_count(x).astype(np.int64),
    "cbrt": np.cbrt,
    "copy": np.copy,
    "fix": np.trunc,
    "i0": scipy.special.i0,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "round": np.round,
    "logaddexp2": np.logaddexp2,
}
ON: dict[str, np.ndarray] = {
    **dict.fromkeys(("arccos", "arcsin", "arctanh"), WITHIN),
    "arccosh": np.abs(A) + 1.0,
    **dict.fromkeys(("log", "log10", "log1p", "log2", "sqrt", "rsqrt"), np.abs(A)),
    **dict.fromkeys(("bitwise_count", "bitwise_invert", "bitwise_not", "invert"), INTEGERS),
    "logical_not": BOOLEANS,
    **dict.fromkeys(("isfinite", "isinf", "isnan", "isneginf", "isposinf", "signbit"), INFINITE),
    **dict.fromkeys(("angle", "conj", "conjugate", "imag", "iscomplex", "isreal", "real"), A + 1j * (A > 0)),
}


def of(library: Library, values: Any, axes: Any) -> NamedArray:
    return hax.named(library.asarray(values), axes)


def check(library: Library, found: NamedArray, names: tuple[str, ...], expected: Any, rtol: float = 1e-12) -> None:
    assert found.names == names
    library.assert_equal(found.array, expected, rtol=rtol, atol=rtol)


@pytest.mark.parametrize("library", LIBRARIES, ids=str)
def test_unary(library: Library) -> None:
    for name in UNARY:
        values = ON.get(name, A)
        expected = REFERENCES.get(name) or getattr(np, name)
        found = getattr(hax, name)(of(library, values, ("a", "b")))
        result = np.asarray(expected(values))
        if name == "bitwise_count":
            assert np.array_equal(library.to_numpy(found.array), result)
            continue
        check(library, found, ("a", "b"), result)


@pytest.mark.parametrize("library", LIBRARIES, ids=str)
def test_parts_of_real_numbers(library: Library) -> None:
    for values in (A, INTEGERS):
        x = of(library, values, ("a", "b"))
        check(library, x.real, ("a", "b"), values)
        check(library, x.imag, ("a", "b"), 0 * values)
        check(library, hax.isreal(x), ("a", "b"), np.isreal(values))
        check(library, hax.iscomplex(x), ("a", "b"), np.iscomplex(values))


def _operands(name: str) -> tuple[np.ndarray, np.ndarray]:
    if "shift" in name:
        return INTEGERS, INTEGERS[:, 0] % 3
    if name.startswith("bitwise"):
        return INTEGERS, INTEGERS[:, 1]
    if name.startswith("logical"):
        return BOOLEANS, BOOLEANS[:, 2]
    if name in ("power", "float_power"):
        return np.abs(A), np.abs(A[:, 0])
    return A, A[:, 0]


@pytest.mark.parametrize("library", LIBRARIES, ids=str)
def test_binary_with_any_axes(library: Library) -> None:
    for name in BINARY:
        x, y = _operands(name)
        function, expected = getattr(hax, name), getattr(np, name)
        values = expected(x, y[:, None])
        check(library, function(of(library, x, ("a", "b")), of(library, y, "a")), ("a", "b"), values)
        # The same by name for permuted axes, and where the other has more axes.
        check(library, function(of(library, x.T, ("b", "a")), of(library, y, "a")), ("b", "a"), values.T)
        check(library, function(of(library, y, "a"), of(library, x, ("a", "b"))), ("a", "b"), expected(y[:, None], x))
        check(library, function(of(library, x, ("a", "b")), of(library, x.T, ("b", "a"))), ("a", "b"), expected(x, x))
        check(library, function(of(library, x, ("a", "b")), of(library, x, ("a", "b"))), ("a", "b"), expected(x, x))


@pytest.mark.parametrize("library", LIBRARIES, ids=str)
def test_arrays_of_which_neither_has_all_axes(library: Library) -> None:
    found = of(library, A, ("a", "b")) * of(library, A.T[:, :2], ("b", "c"))
    check(library, found, ("a", "b", "c"), A[:, :, None] * A.T[None, :, :2])


@pytest.mark.parametrize("library", LIBRARIES, ids=str)
def test_operators_and_numbers(library: Library) -> None:
    x = of(library, A, ("a", "b"))
    for found, expected in (
        (x + 1.0, A + 1.0),
        (1.0 - x, 1.0 - A),
        (x * x / 2.0, A * A / 2.0),
        (2.0 / x, 2.0 / A),
        (x // 0.75, A // 0.75),
        (x % 0.75, A % 0.75),
        (abs(x) ** 2.0, np.abs(A) ** 2.0),
        (-x, -A),
        (+x, A),
        (x < 0.5, A < 0.5),
        (x >= x, A >= A),
        (x == 0.5, A == 0.5),
        (x != 0.5, A != 0.5),
        (~(x > 0.0) | (x > 1.0) & (x < 3.0) ^ (x > 5.0), ~(A > 0) | (A > 1) & (A < 3) ^ (A > 5)),
        (of(library, INTEGERS, ("a", "b")) << 1 >> 2, INTEGERS << 1 >> 2),
        (x + of(library, 2.0, ()), A + 2.0),
        (x + library.asarray(2.0), A + 2.0),
    ):
        check(library, found, ("a", "b"), expected)
    quotient, remainder = divmod(x, 0.75)
    check(library, quotient, ("a", "b"), A // 0.75)
    check(library, remainder, ("a", "b"), A % 0.75)
    check(library, x @ of(library, A[0], "b"), ("a",), A @ A[0])


@pytest.mark.parametrize("library", LIBRARIES, ids=str)
def test_functions_with_more_arrays_or_results(library: Library) -> None:
    x = of(library, A, ("a", "b"))
    # XLA takes subnormal numbers for zero.
    numbers = [3.0, -0.1, 0.0, 1e300, 1.0, *([] if library.id == "jax" else [5e-310])]
    mantissa, exponent = hax.frexp(of(library, numbers, "a"))
    expected = np.frexp(numbers)
    library.assert_equal(mantissa.array, expected[0], rtol=1e-15)
    library.assert_equal(exponent.array, expected[1].astype(np.int32))
    check(library, hax.round(x * 1.23456, 2), ("a", "b"), np.round(A * 1.23456, 2))
    check(library, x.round(), ("a", "b"), np.round(A))
    tens = np.asarray([123456789, 25, 35, -25, -126])
    check(library, of(library, tens, "a").round(-1), ("a",), np.round(tens, -1))
    check(library, hax.round(of(library, tens, "a"), 1), ("a",), tens)
    check(library, of(library, np.asarray([100, -60], "int8"), "a").round(-2), ("a",), np.asarray([100, -100], "int8"))
    check(library, of(library, np.asarray([100], "int8"), "a").round(-3), ("a",), np.asarray([0], "int8"))
    check(library, hax.float_power(of(library, INTEGERS, ("a", "b")), 0.5), ("a", "b"), INTEGERS**0.5)
    check(library, hax.float_power(2, of(library, INTEGERS, ("a", "b"))), ("a", "b"), 2.0**INTEGERS)
    flags = of(library, [True, False], "a")
    check(library, hax.where(flags, 1, 0), ("a",), np.asarray([1, 0]))
    check(library, hax.where(True, x, 0.0), ("a", "b"), A)
    low = of(library, [0.0, 0.5, 1.0], "a")
    check(library, hax.clip(x, low, 2.0), ("a", "b"), np.clip(A, np.asarray([[0.0], [0.5], [1.0]]), 2.0))
    check(library, hax.clip(x, None, low), ("a", "b"), np.minimum(A, np.asarray([[0.0], [0.5], [1.0]])))
    check(library, x.clip(0.5), ("a", "b"), np.maximum(A, 0.5))
    check(library, x.clip(), ("a", "b"), A)
    check(library, hax.where(x > low, x, 0.0), ("a", "b"), np.where(np.asarray([[0.0], [0.5], [1.0]]) < A, A, 0.0))
    check(library, hax.isclose(x, x + 1e-9), ("a", "b"), np.isclose(A, A + 1e-9))
    assert bool(hax.allclose(x, x.rearrange(("b", "a"))))
    assert hax.array_equal(x, x.rearrange(("b", "a")))
    assert not hax.array_equal(x, x + 1.0)
    assert not hax.array_equal(x, low)
    assert not hax.array_equal(x * 0.0, 0.0)
    assert hax.array_equiv(x * 0.0, 0.0)
    assert bool(hax.allclose(x.array, x.array + 1e-9))
    assert hax.array_equiv(x * 0.0, low * 0.0)
    assert not hax.array_equiv(x, of(library, [1.0, 2.0], "a"))


AXES_OF: list[Any] = [None, "a", "c", ("a", "c"), ["b", "a"], {"b": None}, hax.Axis("b", 4), ()]
CUBE = np.random.default_rng(0).normal(size=(3, 4, 2))
NAMES = ("a", "b", "c")


def _positions(axis: Any) -> Any:
    if axis is None:
        return (0, 1, 2)
    if isinstance(axis, str | hax.Axis):
        return NAMES.index(hax.axis_name(axis))
    return tuple(NAMES.index(each) for each in axis)


@pytest.mark.parametrize("library", LIBRARIES, ids=str)
@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions(library: Library, name: str) -> None:
    method = {"product": "prod"}.get(name, name)
    reference: Any = getattr(np, method)
    values = CUBE > 0 if name in ("all", "any") else CUBE
    if name.startswith("nan"):
        values = np.where(CUBE > 1.0, np.nan, CUBE)
    x = of(library, values, NAMES)
    moved = of(library, np.transpose(values, (2, 0, 1)), ("c", "a", "b"))
    function: Any = getattr(hax, name, None) or NamedArray.product
    for axis in AXES_OF:
        if axis == () and name not in ("sum", "max"):
            continue
        positions = _positions(axis)
        removed = positions if isinstance(positions, tuple) else (positions,)
        names = tuple(each for i, each in enumerate(NAMES) if i not in removed)
        expected = np.asarray(reference(values, axis=positions))
        check(library, function(x, axis), names, expected)
        found = function(moved, axis)
        assert set(found.names) == set(names)
        check(library, found.rearrange(names), names, expected)
    if method not in ("all", "any", "ptp"):
        mask = np.asarray([True, False, True])
        full = np.broadcast_to(mask[:, None, None], values.shape)
        options = {"initial": -np.inf if "max" in name else np.inf} if method.endswith(("max", "min")) else {}
        expected = reference(values, axis=(0, 2), where=full, **options)
        check(library, function(x, ("a", "c"), where=of(library, mask, "a")), ("b",), expected)
    with pytest.raises(ValueError, match=r"no axis 'q'; the array has the axes \{'a': 3, 'b': 4, 'c': 2\}"):
        function(x, "q")
    with pytest.raises(ValueError, match="no axis 'a' of size 5"):
        function(x, hax.Axis("a", 5))


@pytest.mark.parametrize("library", LIBRARIES, ids=str)
def test_options_of_reductions(library: Library) -> None:
    x = of(library, CUBE, NAMES)
    check(library, hax.std(x, "a", ddof=1), ("b", "c"), CUBE.std(axis=0, ddof=1))
    check(library, x.var(("a", "b"), ddof=2), ("c",), CUBE.var(axis=(0, 1), ddof=2))
    check(library, x.sum("a", where=True), ("b", "c"), CUBE.sum(0))
    for function in (hax.sum, hax.prod, hax.mean, hax.cumsum, hax.cumprod):
        assert function(x, "a", dtype="float32").dtype == library.xp.float32
    assert hax.dot(x, x, axis="a", preferred_element_type="float32").dtype == library.xp.float32
    nothing = of(library, [False] * 3, "a")
    for function in (hax.mean, hax.std, hax.nanmean, hax.var):
        check(library, function(x, "a", where=nothing), ("b", "c"), np.full((4, 2), np.nan))
    check(
        library,
        hax.var(x, "a", where=of(library, [False, True, False], "a"), ddof=1),
        ("b", "c"),
        np.full((4, 2), np.nan),
    )
    if hasattr(library.xp, "float16"):
        many = hax.named(library.xp.ones((5000,), dtype=library.xp.float16, device=library.device), "a")
        assert hax.mean(many, where=many > 0.0).item() == 1.0
    mask = CUBE > 0
    check(library, hax.ptp(x, where=x > 0.0), (), np.asarray(np.ptp(CUBE[mask])))
    check(library, hax.std(x, where=x > 0.0, ddof=1), (), np.asarray(np.std(CUBE[mask], ddof=1)))
    check(library, hax.all(x > -9.0, where=x > 0.0), (), np.asarray(True))
    check(
        library,
        hax.sum(of(library, INTEGERS, ("a", "b")), "a", dtype=library.xp.float64),
        ("b",),
        INTEGERS.sum(0) * 1.0,
    )
    for nan_function in (hax.nansum, hax.nanprod):
        assert nan_function(x, "a", dtype=library.xp.float32).dtype == library.xp.float32
    check(library, hax.argmax(x, "b"), ("a", "c"), CUBE.argmax(1))
    check(library, x.argmin(), (), np.asarray(CUBE.argmin()))
    holes = np.where(CUBE > 1.0, np.nan, CUBE)
    check(library, hax.nanargmax(of(library, holes, NAMES), "b"), ("a", "c"), np.nanargmax(holes, 1))
    check(library, hax.nanargmin(of(library, holes, NAMES), "b"), ("a", "c"), np.nanargmin(holes, 1))
    with pytest.raises(ValueError, match="where has the axes 'q', which the array lacks"):
        x.sum("a", where=of(library, [True, False], "q"))


def test_positional_functions_are_elementwise() -> None:
    for source in (*UNARY.values(), *BINARY.values()):
        if isinstance(source, str) and source in AXES:
            assert cast("Any", AXES[source].signature).is_elementwise, source


@pytest.mark.parametrize("library", LIBRARIES, ids=str)
def test_bad_operands(library: Library) -> None:
    x = of(library, A, ("a", "b"))
    with pytest.raises(TypeError, match=r"add: got .*whose 2 axes have no names"):
        x + library.asarray(A)
    with pytest.raises(TypeError):
        library.asarray(A) + x
    with pytest.raises(ValueError, match=r"add: axis 'a' has size 3 in one array and 2 in another; the axes are"):
        x + of(library, [1.0, 2.0], "a")
    with pytest.raises(ValueError, match="axis 'a' has size 3 in one array and 1 in another"):
        x + of(library, A[:1], ("a", "b"))
    with pytest.raises(TypeError, match="takes named arrays and numbers"):
        x + "text"
    with pytest.raises(TypeError, match="must be a NamedArray"):
        hax.sum(library.asarray(A), "a")
