"""Padding: every library against numpy.pad and jax.lax.pad, transformations, bad input."""

from fractions import Fraction
from functools import cache
from math import floor
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from tests.laziness import nothing_computed
from tests.libraries import Library
from tests.operations import Case, Check, check_values, checked
from xpand_extensions.padding import pad

MODES = ["constant", "edge", "wrap", "symmetric", "reflect", "linear_ramp"]
INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
NUMERIC = [*INTEGERS, "float32", "float64", "complex64", "complex128"]


def reference(x: np.ndarray, widths: list[tuple[int, int]], mode: str = "constant", **options: Any) -> np.ndarray:
    """Pad by NumPy, then crop."""
    positive = [(max(low, 0), max(high, 0)) for low, high in widths]
    padded = np.pad(x, positive, mode=mode, **options)
    keys = [slice(max(-low, 0), size - max(-high, 0)) for (low, high), size in zip(widths, padded.shape)]
    return padded[tuple(keys)]


def ramp(x: np.ndarray, widths: list[tuple[int, int]], ends: list[tuple[int, int]]) -> np.ndarray:
    """Pad integers by linear ramps, in fractions: NumPy takes the way through float64."""

    def pad_row(row: np.ndarray, width: tuple[int, int], end: tuple[int, int]) -> np.ndarray:
        row = list(map(int, row))
        before, after = (
            [floor(value + Fraction(edge - value) * i / number) for i in range(number)]
            for value, edge, number in zip(end, (row[0], row[-1]), width)
        )
        return np.asarray([*before, *row, *after[::-1]], dtype=object)

    for axis, (width, end) in enumerate(zip(widths, ends)):
        x = np.apply_along_axis(pad_row, axis, x.astype(object), width, end)
    return x


@st.composite
def problems(draw: st.DrawFn) -> tuple[np.ndarray, list[tuple[int, int]], str, dict[str, Any]]:
    mode = draw(st.sampled_from(MODES))
    options: dict[str, Any] = {}
    if mode in ("symmetric", "reflect"):
        options["reflect_type"] = draw(st.sampled_from(["even", "odd"]))
    numeric = mode == "linear_ramp" or options.get("reflect_type") == "odd"
    dtypes = (
        ["float32", "float64", "complex128"] if mode == "linear_ramp" else NUMERIC if numeric else [*NUMERIC, "bool"]
    )
    dtype = draw(st.sampled_from(dtypes))
    shape = draw(st.lists(st.integers(0 if mode == "constant" else 1, 4), max_size=3))
    widths = [draw(st.tuples(st.integers(-n, 9), st.integers(-n, 9))) for n in shape]
    widths = [(low, high) if n + low + high >= 0 else (low, 9) for (low, high), n in zip(widths, shape)]
    values = np.asarray(np.random.default_rng(draw(st.integers(0, 99))).uniform(0, 9, shape)).astype(dtype)
    option = {"constant": "constant_values", "linear_ramp": "end_values"}.get(mode)
    if option and draw(st.booleans()):
        options[option] = [(draw(st.integers(0, 1)), draw(st.integers(0, 1))) for _ in shape]
    return values, widths, mode, options


def test_agrees_with_numpy(library: Library) -> None:
    @settings(max_examples=20 if library.lazy or library.id == "jax" else 100)
    @given(problem=problems())
    def run(problem: tuple[np.ndarray, list[tuple[int, int]], str, dict[str, Any]]) -> None:
        values, widths, mode, options = problem
        x = library.asarray(values)
        result = pad(x, widths, mode=mode, **options)
        tolerance = {"f": 1e-12, "c": 1e-12}.get(values.dtype.kind, 0.0) * (1 if values.dtype.itemsize >= 8 else 1e7)
        tolerance = 1e-4 if values.dtype in ("float32", "complex64") else tolerance
        expected = reference(values, widths, mode, **options) if values.ndim else values
        # NumPy reflects sums over and over, so its roundings add up.
        library.assert_equal(result, expected, rtol=tolerance, atol=100 * tolerance)
        library.assert_equal(x, values)

    run()


@cache
def ramps(dtype: str) -> list[tuple[np.ndarray, list[tuple[int, int]], list[tuple[int, int]], np.ndarray]]:
    """Return integers, widths and ends, and the ramps: fractions take long, so those of all libraries are the same."""
    low, high = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    x = np.asarray([[low, 3], [high, high - 1]], dtype=dtype)
    wide = [(3, 7), (1, 49)], [(high, low), (5, high)]
    wider = [(98, 1), (300, 0)], [(low, 0), (high, 0)]
    return [(x, widths, ends, ramp(x, widths, ends).astype(dtype)) for widths, ends in (wide, wider)]


@pytest.mark.parametrize("dtype", INTEGERS)
def test_linear_ramps_of_integers_are_exact(library: Library, dtype: str) -> None:
    for x, widths, ends, expected in ramps(dtype):
        result = pad(library.asarray(x), widths, mode="linear_ramp", end_values=ends)
        library.assert_equal(result, expected)


@pytest.mark.parametrize("dtype", [*NUMERIC, "bool"])
@pytest.mark.parametrize("interior", [0, 2, (1, 0)])
def test_interior_padding_agrees_with_lax(library: Library, dtype: str, interior: Any) -> None:
    import jax

    x = np.arange(6).reshape(2, 3).astype(dtype)
    value = 1 if dtype == "bool" else 7
    widths = [(1, -2), (-1, 2)]
    each = interior if isinstance(interior, tuple) else (interior, interior)
    expected = jax.lax.pad(
        jax.numpy.asarray(x),
        jax.numpy.asarray(value, dtype=dtype),
        [(low, high, between) for (low, high), between in zip(widths, each)],
    )
    result = pad(library.asarray(x), widths, interior=interior, constant_values=value)
    library.assert_equal(result, np.asarray(expected))


def test_interior_padding_of_few_elements(library: Library) -> None:
    for size in (0, 1):
        x = library.asarray(np.ones((2, size)))
        library.assert_equal(pad(x, ((0, 0), (1, 0)), interior=(0, 3)), np.asarray([[0.0] + [1.0] * size] * 2))


def test_cropping_reaches_into_the_padding(library: Library) -> None:
    x = library.asarray([1.0, 2.0, 3.0])
    library.assert_equal(pad(x, (-4, 5), constant_values=9.0), [9.0, 9.0, 9.0, 9.0])
    library.assert_equal(pad(x, (5, -4)), [0.0] * 4)
    library.assert_equal(pad(x, (-4, 5), mode="wrap"), [2.0, 3.0, 1.0, 2.0])
    library.assert_equal(pad(x, (-4, 5), mode="edge"), [3.0] * 4)
    library.assert_equal(pad(x, (-1, -2)), np.zeros(0))


@pytest.mark.parametrize("mode", MODES)
def test_nothing_but_cropping_gives_a_new_array(eager_library: Library, mode: str) -> None:
    values = np.arange(12.0).reshape(3, 4)
    x = eager_library.asarray(values)
    for widths in (0, -1):
        result = pad(x, widths, mode=mode)
        eager_library.assert_equal(result, values[1:-1, 1:-1] if widths else values)
        if eager_library.id in ("numpy", "torch"):
            assert not np.shares_memory(np.asarray(result), np.asarray(x))


@pytest.mark.parametrize("mode", ["wrap", "reflect", "symmetric", "edge"])
@pytest.mark.parametrize("widths", [(-3, 2), (-3, 1), (2, -3), (-5, 2), (-4, 3), (2, -5)])
def test_what_is_left_of_the_padding_is_a_new_array(mode: Any, widths: tuple[int, int]) -> None:
    x = np.arange(3.0)
    low, high = widths
    result = pad(x, widths, mode=mode)
    whole = np.pad(x, (max(low, 0), max(high, 0)), mode=mode)
    np.testing.assert_array_equal(result, whole[max(-low, 0) : len(whole) - max(-high, 0)])
    assert not np.shares_memory(result, x)


def test_forms_of_widths_and_values(library: Library) -> None:
    values = np.arange(6.0).reshape(2, 3)
    x = library.asarray(values)
    for widths in (2, (1, 2), ((1, 2),), ((1, 2), (0, 3)), [[1], [2]], np.int64(2)):
        given = (
            [list(w) for w in widths] if isinstance(widths, (tuple, list)) and isinstance(widths[0], tuple) else widths
        )
        library.assert_equal(pad(x, widths), np.pad(values, given))
    for constants in (3.0, (1.0, 2.0), ((1.0, 2.0),), ((1, 2), (3, 4))):
        library.assert_equal(pad(x, 1, constant_values=constants), np.pad(values, 1, constant_values=constants))
        ramps = pad(x, 3, mode="linear_ramp", end_values=constants)
        library.assert_equal(ramps, np.pad(values, 3, mode="linear_ramp", end_values=constants), rtol=1e-12)
    one, two = library.asarray(1.0), library.asarray(2.0)
    library.assert_equal(pad(x, 1, constant_values=one), np.pad(values, 1, constant_values=1.0))
    library.assert_equal(pad(x, 1, constant_values=(one, two)), np.pad(values, 1, constant_values=(1.0, 2.0)))
    library.assert_equal(pad(x, 1, interior=1, constant_values=two)[0, :], np.full(7, 2.0))
    mixed = pad(x, 2, mode="linear_ramp", end_values=(one, 2.0))
    library.assert_equal(mixed, np.pad(values, 2, mode="linear_ramp", end_values=(1.0, 2.0)), rtol=1e-12)


def test_special_values_stay_where_they_are(library: Library) -> None:
    x = library.asarray([np.inf, -0.0, 1.0, np.nan])
    library.assert_equal(pad(x, (2, 0), mode="linear_ramp"), [0.0, np.inf, np.inf, -0.0, 1.0, np.nan])
    library.assert_equal(pad(x[1:], (0, 2), mode="linear_ramp"), [-0.0, 1.0, np.nan, np.nan, 0.0])
    library.assert_equal(pad(x[:3], (0, 1), mode="wrap"), [np.inf, -0.0, 1.0, np.inf])
    library.assert_equal(pad(x[1:3], (1, 1), mode="reflect", reflect_type="odd"), [-1.0, -0.0, 1.0, 2.0])
    library.assert_equal(pad(x[2:], 1, constant_values=np.inf), [np.inf, 1.0, np.nan, np.inf])
    ramp = pad(x[1:3], (0, 2), mode="linear_ramp", end_values=np.inf)
    library.assert_equal(ramp, [-0.0, 1.0, np.nan, np.inf])
    odd = pad(x[:3], (1, 1), mode="reflect", reflect_type="odd")
    library.assert_equal(odd, [np.inf, np.inf, -0.0, 1.0, 2.0])


@pytest.mark.parametrize("mode", MODES)
def test_empty_and_zero_dimensional(library: Library, mode: str) -> None:
    library.assert_equal(pad(library.asarray(2.0), 3, mode=mode), 2.0)
    x = library.asarray(np.zeros((0, 2)))
    library.assert_equal(pad(x, ((0, 0), (1, 1)), mode=mode), np.zeros((0, 4)))
    if mode == "constant":
        library.assert_equal(pad(x, ((1, 1), (0, 0)), mode=mode), np.zeros((2, 2)))
    else:
        with pytest.raises(ValueError, match="pad: axis 0 is empty, which mode="):
            pad(x, ((1, 1), (0, 0)), mode=mode)


def test_half_precision() -> None:
    import jax.numpy as jnp
    import torch

    for mode in MODES:
        for x in (
            torch.ones(3, dtype=torch.bfloat16),
            torch.ones(3, dtype=torch.float16),
            jnp.ones(3, dtype="bfloat16"),
        ):
            assert pad(x, 2, mode=mode).dtype == x.dtype


def test_dask_stays_lazy() -> None:
    import dask.array as da

    values = np.arange(24.0).reshape(6, 4)
    x = da.from_array(values, chunks=(4, 3))
    with nothing_computed():
        results = {mode: pad(x, ((3, 2), (1, 5)), mode=mode) for mode in MODES}
        interior = pad(x, 1, interior=2)
    for mode, result in results.items():
        np.testing.assert_allclose(np.asarray(result), np.pad(values, ((3, 2), (1, 5)), mode=mode))
    np.testing.assert_array_equal(np.asarray(interior)[1:-1:3, 1:-1:3], values)


VALUES = np.random.default_rng(0).normal(size=(3, 4))
WIDTHS = ((2, -1), (1, 6))
CASES = {
    mode: Case(
        lambda x, mode=mode: pad(x, WIDTHS, mode=mode),
        (VALUES,),
        lambda x, mode=mode: reference(x, list(WIDTHS), mode),
        differentiable=(0,),
    )
    for mode in MODES
}
for each in ("edge", "wrap", "reflect"):
    # Small widths, for which PyTorch has its own functions.
    CASES[f"{each} by little"] = Case(
        lambda x, mode=each: pad(x, ((0, 2), (1, 3)), mode=mode),
        (VALUES,),
        lambda x, mode=each: np.pad(x, ((0, 2), (1, 3)), mode=mode),
        differentiable=(0,),
    )
CASES["odd"] = Case(
    lambda x: pad(x, WIDTHS, mode="reflect", reflect_type="odd"),
    (VALUES,),
    lambda x: reference(x, list(WIDTHS), "reflect", reflect_type="odd"),
    differentiable=(0,),
)
CASES["value"] = Case(
    lambda x, value: pad(x, 1, constant_values=value),
    (VALUES, np.asarray(3.0)),
    lambda x, value: np.pad(x, 1, constant_values=value),
    differentiable=(0, 1),
)
CASES["interior"] = Case(
    lambda x, value: pad(x, ((-1, 1), (0, 2)), constant_values=value, interior=(1, 0)),
    (VALUES, np.asarray(3.0)),
    lambda x, value: np.pad(np.insert(x, [1, 2], value, axis=0), ((0, 1), (0, 2)), constant_values=value)[1:],
    differentiable=(0, 1),
)
CASES["end value"] = Case(
    lambda x, value: pad(x, 3, mode="linear_ramp", end_values=value),
    (VALUES, np.asarray(3.0)),
    lambda x, value: np.pad(x, 3, mode="linear_ramp", end_values=value),
    differentiable=(0, 1),
)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_values(library: Library, case: Case) -> None:
    check_values(library, case)


@checked(CASES)
def test_transformations(case: Case, transformation: Check) -> None:
    transformation(case)


@pytest.mark.parametrize("mode", MODES)
def test_second_derivatives(mode: str) -> None:
    import torch

    x = torch.asarray(VALUES).requires_grad_()
    for widths in (WIDTHS, ((0, 2), (1, 3))):
        assert torch.autograd.gradgradcheck(lambda x, widths=widths: pad(x, widths, mode=mode) ** 2, (x,))


BAD = {
    "no array": (([1.0], 1), {}, TypeError, "x must be an array, got list"),
    "fractional width": ((None, 1.5), {}, TypeError, "pad_width must be an integer, got 1.5"),
    "three widths": ((None, (1, 2, 3)), {}, ValueError, "a pair (low, high) for all axes"),
    "pairs of three axes": ((None, ((1, 2), (1, 2), (0, 0))), {}, ValueError, "for each of the 2 axes"),
    "mixed form": ((None, (1, (2, 3))), {}, (ValueError, TypeError), "pad_width"),
    "taking away too much": (
        (None, -2),
        {},
        ValueError,
        "removes more elements than there are along axis 0, of size 3",
    ),
    "the same at one end": (
        (None, ((1, -9), (0, 0))),
        {},
        ValueError,
        "removes more elements than there are along axis 0",
    ),
    "name of a mode elsewhere": ((None, 1), {"mode": "boundary"}, ValueError, "which is 'edge' here"),
    "another such name": ((None, 1), {"mode": "periodic"}, ValueError, "which is 'wrap' here"),
    "misspelt mode": ((None, 1), {"mode": "symetric"}, ValueError, "did you mean 'symmetric'?"),
    "type of mode": ((None, 1), {"mode": 1}, TypeError, "mode must be one of"),
    "value of an edge": ((None, 1), {"mode": "edge", "constant_values": 2.0}, ValueError, "for mode='constant'"),
    "end of a constant": ((None, 1), {"end_values": 2.0}, ValueError, "end_values is for mode='linear_ramp'"),
    "odd constants": ((None, 1), {"reflect_type": "odd"}, ValueError, "reflect_type is for mode='symmetric' and"),
    "type of reflection": ((None, 1), {"mode": "wrap", "reflect_type": "odds"}, ValueError, "'odd'"),
    "interior of an edge": ((None, 1), {"mode": "edge", "interior": 1}, ValueError, "interior is for mode='constant'"),
    "negative interior": ((None, 1), {"interior": -1}, ValueError, "interior must be at least 0"),
    "three interiors": ((None, 1), {"interior": (1, 1, 1)}, ValueError, "for each of the 2 axes"),
    "interior of two values": ((None, 1), {"interior": 1, "constant_values": (1, 2)}, ValueError, "must be one value"),
    "complex value": ((None, 1), {"constant_values": 1j}, TypeError, "does not promote to x's"),
    "text for a value": ((None, 1), {"constant_values": "0"}, TypeError, "constant_values must be an array"),
    "three values": ((None, 1), {"constant_values": (1, 2, 3)}, ValueError, "constant_values"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input(library: Library, name: str) -> None:
    args, options, error, message = BAD[name]
    x = library.asarray(np.ones((3, 4)))
    with pytest.raises(error) as raised:
        pad(*(x if arg is None else arg for arg in args), **options)
    assert str(raised.value).startswith("pad: ")
    assert message in str(raised.value)


def test_bad_arrays(library: Library) -> None:
    x = library.asarray(np.ones((3, 4)))
    with pytest.raises(ValueError, match=r"pad: constant_values must be numbers or 0-dimensional arrays.*\(2,\)"):
        pad(x, 1, constant_values=library.asarray([1.0, 2.0]))
    with pytest.raises(TypeError, match="pad: constant_values has .*int64, which does not promote"):
        pad(library.asarray(np.ones(3, dtype=bool)), 1, constant_values=library.asarray(1))
    with pytest.raises(TypeError, match="pad: x with mode='linear_ramp' must have a numeric data type, got .*bool"):
        pad(library.asarray([True]), 1, mode="linear_ramp")
    with pytest.raises(TypeError, match="pad: x with reflect_type='odd' must have a numeric data type, got .*bool"):
        pad(library.asarray([True]), 1, mode="reflect", reflect_type="odd")
    with pytest.raises(OverflowError, match="pad: constant_values=300 does not fit into x's"):
        pad(library.asarray(np.ones(3, dtype=np.uint8)), 1, constant_values=300)


def test_two_libraries_and_two_devices() -> None:
    import array_api_strict as strict
    import torch

    with pytest.raises(TypeError, match="pad: takes arrays of one library"):
        pad(torch.ones(2), 1, constant_values=np.zeros((2,))[()])
    with pytest.raises(ValueError, match="pad: takes arrays on one device"):
        pad(strict.ones(2), 1, constant_values=strict.zeros((), device=strict.Device("device1")))
