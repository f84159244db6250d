"""A test for each row of docs/coverage/nx.toml, on every library, against NumPy, SciPy or JAX."""

from typing import Any

import numpy as np
import pytest
import scipy.linalg
import scipy.special
from numpy.lib.stride_tricks import sliding_window_view

import xpand
from tests import coverage_convert, coverage_devices
from tests.coverage import (
    BOOLEANS,
    COMPLEX,
    INTEGERS,
    OTHER_BOOLEANS,
    OTHERS,
    POSITIVE,
    WITHIN,
    A,
    Row,
    check_name,
    check_row,
    created,
    standard,
    table,
    unfinished,
)
from tests.libraries import LIBRARIES, Library
from tests.operations import Case
from tests.test_coverage_phiml import CASES as PHIML
from xpand.creation import iota
from xpand.inspection import inspect
from xpand.manipulation import broadcast_in_dim, to_batched
from xpand_extensions import (
    arithmetic,
    bits,
    convolution,
    indexing,
    jit,
    linalg,
    padding,
    pluggable,
    scatter,
    special,
    statistics,
    windows,
)
from xpand_extensions.tracing import Graph

TABLE = table("nx")

TIES = np.asarray([[1, 4, 1, 4], [7, 2, 2, 7]])
HALVES = np.asarray([0.5, 1.5, 2.5, -0.5, -1.5, -2.5, 0.49999999999999994, 2.4, -2.6, 2.0**52 + 1])
WITH_NAN = np.asarray([[np.nan, 2.0, -np.inf], [1.0, np.nan, np.inf]])
SHIFTS = np.asarray([[1, 0, 3], [2, 4, 1]])
IMAGE = np.asarray(
    [
        [7.0, 2.0, 5.0, 3.0, 10.0, 2.0],
        [3.0, 8.0, 9.0, 3.0, 4.0, 2.0],
        [1.0, 5.0, 7.0, 5.0, 6.0, 1.0],
        [0.0, 6.0, 2.0, 7.0, 2.0, 8.0],
    ]
)
SOURCE = np.asarray([[2.0, 6.0], [3.0, 1.0]])
TRIANGLE = np.asarray([[2.0, 0.0, 0.0], [1.0, 3.0, 0.0], [-1.0, 0.5, 4.0]])


def converted(library: Library) -> None:
    xp = library.xp
    library.assert_equal(xp.astype(library.asarray(A), xp.int32), A.astype("int32"))


def block(library: Library) -> None:
    @pluggable
    def scaled(x: Any, /, *, factor: float) -> Any:
        """Scale an array."""
        return scaled.native(x)(x, factor=factor)

    calls = []

    @scaled.default
    def _(x: Any, /, *, factor: float) -> Any:
        calls.append("default")
        return x * factor

    @scaled.register("torch")
    def _(x: Any, /, *, factor: float) -> Any:
        calls.append("torch")
        return x.mul(factor)

    library.assert_equal(scaled(library.asarray(A), factor=2.0), A * 2.0)
    assert calls == ["torch" if library.id.startswith("torch") else "default"]


def constant(library: Library) -> None:
    xp = library.xp
    library.assert_equal(xp.full((2, 3), 7.5, dtype=xp.float32, device=library.device), np.full((2, 3), 7.5, "float32"))


def inspected(library: Library) -> None:
    text = inspect(library.asarray(A), limit=3)
    assert "float64[2, 3]" in text
    assert text.endswith("values not known yet" if library.lazy else "[[0.5, -1.5, 2], …]")


def counted(library: Library) -> None:
    xp = library.xp
    made = iota((2, 3), axis=1, dtype=xp.int64, device=library.device, xp=xp)
    library.assert_equal(made, np.indices((2, 3))[1])


def bitcast(library: Library) -> None:
    try:
        found = bits.bitcast(library.asarray(A), library.xp.int64)
    except xpand.UnsupportedError as error:
        assert "bitcast" in str(error)  # noqa: PT017 - which libraries can't is the capability's to test
        assert library.id.startswith("strict")
    else:
        library.assert_equal(found, A.view("int64"))


def concatenated(*arrays: Any) -> Any:
    return xpand.array_namespace(*arrays).concat(arrays, axis=0)


def stacked(*arrays: Any) -> Any:
    return xpand.array_namespace(*arrays).stack(arrays, axis=-1)


def leading_zeros(x: np.ndarray) -> np.ndarray:
    return np.vectorize(lambda v: x.dtype.itemsize * 8 - (int(v) & (2 ** (x.dtype.itemsize * 8) - 1)).bit_length())(
        x
    ).astype(x.dtype)


def window(reduce: Any) -> Any:
    return lambda x: reduce(sliding_window_view(x, (2, 3))[::2, ::1], axis=(-2, -1))


def scatter_windows(select: Any) -> Any:
    """Add each value of SOURCE where the extreme of its 2 x 3 window is: windows that don't overlap."""

    def reference(x: np.ndarray, source: np.ndarray) -> np.ndarray:
        out = np.zeros_like(x)
        for i in range(2):
            for j in range(2):
                tile = x[2 * i : 2 * i + 2, 3 * j : 3 * j + 3]
                place = np.unravel_index(select(tile), tile.shape)
                out[2 * i + place[0], 3 * j + place[1]] += source[i, j]
        return out

    return reference


def convolved(x: np.ndarray, kernel: np.ndarray) -> np.ndarray:
    import jax

    with jax.default_matmul_precision("highest"):
        return np.asarray(
            jax.lax.conv_general_dilated(x, kernel, (2,), [(1, 2)], rhs_dilation=(2,), feature_group_count=2)
        )


def convolved_in_groups(x: np.ndarray, kernel: np.ndarray) -> np.ndarray:
    import jax

    with jax.default_matmul_precision("highest"):
        return np.asarray(
            jax.lax.conv_general_dilated(x, kernel, (1,), [(-1, 3)], lhs_dilation=(2,), batch_group_count=2)
        )


def last_argmax(x: Any) -> Any:
    xp = xpand.array_namespace(x)
    return x.shape[1] - 1 - xp.argmax(xp.flip(x, axis=1), axis=1)


def rounded_away_from_zero(x: Any) -> Any:
    xp = xpand.array_namespace(x)
    t = xp.trunc(x)
    return xp.where(xp.abs(x - t) < 0.5, t, t + xp.sign(x))


def scattered_overlapping(x: np.ndarray, source: np.ndarray) -> np.ndarray:
    out = np.full_like(x, 0.5)
    for i in range(source.shape[0]):
        for j in range(source.shape[1]):
            place = np.unravel_index(np.argmax(x[i : i + 2, j : j + 2]), (2, 2))
            out[i + place[0], j + place[1]] += source[i, j]
    return out


def padded_windows(reduce: Any, fill: float) -> Any:
    """Reduce windows of 2 x 2, whose rows lie two apart, over the ends by one row above and two columns behind."""

    def reference(x: np.ndarray) -> np.ndarray:
        padded = np.pad(x, [(1, 0), (0, 2)], constant_values=fill)
        return reduce(sliding_window_view(padded, (3, 2))[:, ::3, ::2, :], axis=(-2, -1))

    return reference


PADDED: dict[str, Any] = {"strides": (1, 3), "padding": [(1, 0), (0, 2)], "window_dilation": (2, 1)}


def binary_backend(library: Library) -> None:
    assert xpand.default_namespace() is xpand.namespace("numpy")


def softmax(x: Any) -> Any:
    xp = xpand.array_namespace(x)
    powers = xp.exp(x - xp.max(x, axis=-1, keepdims=True))
    return powers / xp.sum(powers, axis=-1, keepdims=True)


def templates(library: Library) -> None:
    template = jit.ShapeDtype((100_000, 1_000_000), library.xp.float32)
    found = jit.eval_shape(lambda x: {"softmax": softmax(x), "sign": xpand.array_namespace(x).all(x > 0)}, template)
    assert found["softmax"] == template
    assert (found["sign"].shape, found["sign"].dtype) == ((), library.xp.bool)


def expressions(library: Library) -> None:
    x = library.asarray(A)
    graph = jit.make_graph(softmax)(x)
    text = str(graph)
    assert text.index("exp") < text.index("div")
    if isinstance(graph, Graph):  # of a library that has none of its own
        graph.check()
        assert [equation.op.name for equation in graph.equations] == ["max", "subtract", "exp", "sum", "divide"]
        assert graph.dot().startswith("digraph {")
        assert [x.shape for x in graph.outputs] == [A.shape]
        for other in LIBRARIES:  # also on those with graphs of their own
            (found,) = graph.run(other.asarray(A))
            other.assert_equal(found, scipy.special.softmax(A, axis=-1), rtol=1e-14)


CASES: dict[str, Row] = {
    "abs": standard("abs", INTEGERS),
    "add": standard("add", INTEGERS, OTHERS),
    "all": standard("all", BOOLEANS, axis=0),
    "any": standard("any", BOOLEANS, axis=(0, 1)),
    "argmax": (
        standard("argmax", INTEGERS, axis=1, keepdims=True),
        standard("argmax", TIES, axis=1),
        standard("argmax", [1.0, np.nan, np.inf, np.nan]),
        Case(last_argmax, (TIES,), lambda x: np.asarray([3, 3])),
    ),
    "argmin": (standard("argmin", INTEGERS), standard("argmin", TIES, axis=1)),
    "argsort": (
        standard("argsort", INTEGERS, axis=1),
        standard(
            "argsort", TIES, axis=1, descending=True, reference=lambda x: np.asarray([[1, 3, 0, 2], [0, 3, 1, 2]])
        ),
    ),
    "as_type": converted,
    "atan2": standard("atan2", A, POSITIVE),
    "bitcast": bitcast,
    "bitwise_and": standard("bitwise_and", INTEGERS, OTHERS),
    "block": block,
    "broadcast": Case(
        lambda x: broadcast_in_dim(x, (2, 4, 3), axes=(0, 2)),
        (A,),
        lambda x: np.broadcast_to(x[:, None, :], (2, 4, 3)).copy(),
    ),
    "cbrt": Case(special.cbrt, (A,), np.cbrt, rtol=1e-15),
    "clip": (standard("clip", INTEGERS, min=-2, max=5), standard("clip", WITH_NAN, min=-1.0, max=1.5)),
    "concatenate": Case(concatenated, (A, POSITIVE), lambda *x: np.concatenate(x)),
    "constant": constant,
    "conv": (
        Case(
            lambda x, k: convolution.conv(x, k, strides=2, padding=[(1, 2)], kernel_dilation=2, feature_groups=2),
            (np.arange(32.0).reshape(1, 4, 8), np.arange(16.0).reshape(4, 2, 2) - 3.0),
            convolved,
            rtol=1e-12,
        ),
        Case(
            lambda x, k: convolution.conv(x, k, padding=[(-1, 3)], input_dilation=2, batch_groups=2),
            (np.arange(64.0).reshape(4, 2, 8), np.arange(24.0).reshape(4, 2, 3) - 3.0),
            convolved_in_groups,
            rtol=1e-12,
        ),
    ),
    "count_leading_zeros": Case(bits.count_leading_zeros, (INTEGERS.astype("int32"),), leading_zeros),
    "dot": Case(
        lambda x, y: linalg.dot_general(x, y, axes=((2,), (1,)), batch_axes=((0,), (0,))),
        (np.arange(12.0).reshape(2, 3, 2), np.arange(8.0).reshape(2, 2, 2)),
        lambda x, y: np.einsum("bij,bjk->bik", x, y),
    ),
    "equal": standard("equal", INTEGERS, OTHERS),
    "erf_inv": Case(special.erfinv, (WITHIN,), scipy.special.erfinv, rtol=1e-14),
    "erfc": Case(special.erfc, (A,), scipy.special.erfc, rtol=1e-14),
    "expm1": standard("expm1", A * 1e-8),
    "eye": created("eye", 3, 4),
    "fft": standard("fft.fft", COMPLEX, n=4, axis=1),
    "gather": Case(
        lambda x, i: indexing.gather_nd(x, i, axes=(1,)), (A, np.asarray([[2], [0]])), lambda x, i: x[:, i[:, 0]].T
    ),
    "greater": standard("greater", INTEGERS, OTHERS),
    "greater_equal": standard("greater_equal", INTEGERS, INTEGERS[::-1]),
    "ifft": standard("fft.ifft", COMPLEX, axis=0),
    "indexed_add": (
        Case(
            scatter.indexed_add,
            (A, np.asarray([[0, 1], [1, 2], [0, 1]]), np.asarray([1.0, 2.0, 4.0])),
            lambda x, i, v: x + np.asarray([[0.0, 5.0, 0.0], [0.0, 0.0, 2.0]]),
        ),
        Case(
            lambda x, i, v: scatter.indexed_add(x, i, v, axes=(1,)),
            (A, np.asarray([[2], [0], [2]]), np.asarray([[1.0, 2.0], [4.0, 8.0], [16.0, 32.0]])),
            lambda x, i, v: x + np.asarray([[4.0, 0.0, 17.0], [8.0, 0.0, 34.0]]),
        ),
    ),
    "indexed_put": Case(
        scatter.indexed_put,
        (A, np.asarray([[0, 1], [1, 2], [0, 1]]), np.asarray([1.0, 2.0, 4.0])),
        lambda x, i, v: np.asarray([[0.5, 4.0, 2.0], [3.0, -0.25, 2.0]]),
    ),
    "inspect": inspected,
    "iota": counted,
    "is_infinity": standard("isinf", [np.inf, -np.inf, np.nan, 1.0]),
    "is_nan": standard("isnan", [np.inf, -np.inf, np.nan, 1.0]),
    "left_shift": (
        Case(bits.shift_left, (INTEGERS, SHIFTS), np.left_shift),
        Case(bits.shift_left, (INTEGERS, np.asarray([-1, 64, 99])), lambda x, n: np.zeros_like(x)),
    ),
    "less": standard("less", INTEGERS, OTHERS),
    "less_equal": standard("less_equal", INTEGERS, OTHERS),
    "log1p": standard("log1p", POSITIVE * 1e-9),
    "logical_and": standard("logical_and", BOOLEANS, OTHER_BOOLEANS),
    "logical_or": standard("logical_or", BOOLEANS, OTHER_BOOLEANS),
    "logical_xor": standard("logical_xor", BOOLEANS, OTHER_BOOLEANS),
    "max": (standard("maximum", INTEGERS, OTHERS), standard("maximum", WITH_NAN, WITH_NAN[::-1])),
    "min": (standard("minimum", INTEGERS, OTHERS), standard("minimum", WITH_NAN, WITH_NAN[::-1])),
    "multiply": standard("multiply", A, COMPLEX.real),
    "negate": standard("negative", A),
    "not_equal": standard("not_equal", INTEGERS, OTHERS),
    "pad": Case(
        lambda x: padding.pad(x, [(1, -1), (0, 2)], constant_values=9.0, interior=(1, 0)),
        (A,),
        lambda x: np.pad(np.stack([np.full(3, 9.0), x[0], np.full(3, 9.0)]), [(0, 0), (0, 2)], constant_values=9.0),
    ),
    "population_count": Case(
        bits.population_count,
        (INTEGERS.astype("uint8"),),
        lambda x: np.vectorize(lambda v: int(v).bit_count())(x).astype("uint8"),
    ),
    "product": (standard("prod", A, axis=1), standard("prod", np.asarray([100, 100, 100], "int8"))),
    "put_slice": (
        Case(
            lambda x, v: indexing.put_slice(x, v, (0, 1)),
            (A, np.asarray([[9.0, 8.0]])),
            lambda x, v: np.asarray([[0.5, 9.0, 8.0], [3.0, -0.25, 0.75]]),
        ),
        Case(
            lambda x, v, i: indexing.put_slice(x, v, (i, 2), mode="clip"),
            (A, np.asarray([[9.0, 8.0]]), np.asarray(7)),
            lambda x, v, i: np.asarray([[0.5, -1.5, 2.0], [3.0, 9.0, 8.0]]),
        ),
    ),
    "quotient": (
        Case(arithmetic.quotient, (INTEGERS, OTHERS), lambda x, y: np.trunc(x / y).astype("int64")),
        Case(arithmetic.quotient, (INTEGERS, np.asarray(0)), lambda x, y: np.zeros_like(x)),
    ),
    "reduce": Case(
        lambda x: statistics.reduce(x, xpand.array_namespace(x).maximum, 1.0, axis=1),
        (A,),
        lambda x: np.max(x, axis=1, initial=1.0),
    ),
    "reduce_max": (standard("max", INTEGERS, axis=1), standard("max", WITH_NAN, axis=0)),
    "reduce_min": (standard("min", INTEGERS, axis=0), standard("min", WITH_NAN, axis=1)),
    "remainder": (
        Case(arithmetic.truncated_remainder, (INTEGERS, OTHERS), np.fmod),
        Case(arithmetic.truncated_remainder, (A, np.asarray([0.75, -1.0, 0.5])), np.fmod),
        Case(arithmetic.truncated_remainder, (INTEGERS, np.asarray(0)), lambda x, y: x),
    ),
    "reshape": standard("reshape", A, shape=(6,), reference=np.ravel),
    "reverse": standard("flip", A, axis=1),
    "right_shift": (
        Case(bits.shift_right, (INTEGERS, SHIFTS), np.right_shift),
        Case(bits.shift_right, (np.asarray([200, 7], "uint8"), np.asarray([3, 1], "uint8")), np.right_shift),
        Case(bits.shift_right, (INTEGERS, np.asarray([-1, 64, 99])), lambda x, n: np.where(x < 0, -1, 0)),
    ),
    "round": (
        standard("round", HALVES),
        Case(rounded_away_from_zero, (HALVES,), lambda x: np.where(x % 1 == 0.5, x + np.sign(x) * 0.5, np.round(x))),
    ),
    "rsqrt": Case(special.rsqrt, (POSITIVE,), lambda x: 1.0 / np.sqrt(x), rtol=1e-15),
    "select": standard("where", BOOLEANS, INTEGERS, OTHERS),
    "sigmoid": Case(special.sigmoid, (A,), scipy.special.expit, rtol=1e-14),
    "sign": standard("sign", INTEGERS),
    "slice": (
        Case(
            lambda x, i: indexing.dynamic_slice(x, (i, 0), (1, 2), strides=(1, 2)),
            (A, np.asarray(1)),
            lambda x, i: x[int(i) : int(i) + 1, 0:3:2],
        ),
        Case(
            lambda x, i: indexing.dynamic_slice(x, (0, i), (2, 2), mode="clip"),
            (A, np.asarray(9)),
            lambda x, i: x[:, 1:],
        ),
    ),
    "sort": (
        standard("sort", INTEGERS, axis=0),
        standard("sort", TIES, axis=1, descending=True, reference=lambda x: np.sort(x, axis=1)[:, ::-1].copy()),
    ),
    "squeeze": standard("squeeze", A[:, None, :], axis=1),
    "stack": Case(stacked, (A, POSITIVE), lambda *x: np.stack(x, axis=-1)),
    "subtract": standard("subtract", INTEGERS, OTHERS),
    "sum": (
        standard("sum", INTEGERS, axis=(0, 1)),
        standard("sum", np.asarray([200, 100], "uint8")),
        standard("sum", np.asarray([100, 100], "int8")),
    ),
    "to_batched": Case(lambda x: tuple(to_batched(x, 2, axis=1)), (A,), lambda x: (x[:, :2], x[:, [2, 0]])),
    "transpose": standard("permute_dims", A, axes=(1, 0), reference=np.transpose),
    "triangular_solve": (
        Case(
            linalg.triangular_solve,
            (TRIANGLE, A.T.copy()),
            lambda a, b: scipy.linalg.solve_triangular(a, b, lower=True),
            rtol=1e-12,
        ),
        Case(
            lambda a, b: linalg.triangular_solve(a, b, transpose=True, left_side=False),
            (TRIANGLE, A),
            lambda a, b: np.linalg.solve(a, b.T).T,
            rtol=1e-12,
        ),
    ),
    "window_max": (
        Case(lambda x: windows.window_max(x, (2, 3), strides=(2, 1)), (IMAGE,), window(np.max)),
        Case(
            lambda x: windows.window_max(-x, (2, 2), **PADDED), (IMAGE,), lambda x: -padded_windows(np.min, np.inf)(x)
        ),
    ),
    "window_min": (
        Case(lambda x: windows.window_min(x, (2, 3), strides=(2, 1)), (IMAGE,), window(np.min)),
        Case(lambda x: windows.window_min(x, (2, 2), **PADDED), (IMAGE,), padded_windows(np.min, np.inf)),
    ),
    "window_product": (
        Case(lambda x: windows.window_prod(x, (2, 3), strides=(2, 1)), (IMAGE,), window(np.prod)),
        Case(lambda x: windows.window_prod(x, (2, 2), **PADDED), (IMAGE,), padded_windows(np.prod, 1.0)),
    ),
    "window_reduce": (
        Case(
            lambda x: windows.window_reduce(x, xpand.array_namespace(x).maximum, 0.0, (2, 3), strides=(2, 1)),
            (IMAGE,),
            window(np.max),
        ),
        Case(
            lambda x: windows.window_reduce(x, xpand.array_namespace(x).maximum, 4.5, (2, 2), **PADDED),
            (IMAGE,),
            padded_windows(lambda x, axis: np.max(x, axis=axis, initial=4.5), 4.5),
        ),
    ),
    "window_scatter_max": (
        Case(
            lambda x, s: windows.window_scatter_max(x, s, 0.0, (2, 3), strides=(2, 3)),
            (IMAGE, SOURCE),
            scatter_windows(np.argmax),
        ),
        Case(  # windows that overlap, and places that are as large
            lambda x, s: windows.window_scatter_max(x, s, 0.5, (2, 2)),
            (TIES.astype("float64"), np.asarray([[1.0, 2.0, 4.0]])),
            scattered_overlapping,
        ),
    ),
    "window_scatter_min": Case(
        lambda x, s: windows.window_scatter_min(x, s, 0.0, (2, 3), strides=(2, 3)),
        (IMAGE, SOURCE),
        scatter_windows(np.argmin),
    ),
    "window_sum": (
        Case(lambda x: windows.window_sum(x, (2, 3), strides=(2, 1)), (IMAGE,), window(np.sum)),
        Case(lambda x: windows.window_sum(x, (2, 2), **PADDED), (IMAGE,), padded_windows(np.sum, 0.0)),
    ),
    "BinaryBackend (a default that needs no library)": binary_backend,
    "TemplateBackend (shapes and dtypes without data)": templates,
    "Defn.Expr (a public expression graph)": expressions,
}

# Rows of functions that a row of PhiML's table tests on the same arrays.
TESTED_AS: dict[str, str] = {
    "acos": "Backend.arccos",
    "acosh": "Backend.arccosh",
    "asin": "Backend.arcsin",
    "asinh": "Backend.arcsinh",
    "atan": "Backend.arctan",
    "atanh": "Backend.arctanh",
    "bitwise_not": "Backend.invert",
    "bitwise_or": "Backend.or_",
    "bitwise_xor": "Backend.xor",
    "ceil": "Backend.ceil",
    "conjugate": "Backend.conj",
    "cos": "Backend.cos",
    "cosh": "Backend.cosh",
    "divide": "Backend.div",
    "erf": "Backend.erf",
    "exp": "Backend.exp",
    "floor": "Backend.floor",
    "imag": "Backend.imag",
    "log": "Backend.log",
    "pow": "Backend.pow",
    "real": "Backend.real",
    "sin": "Backend.sin",
    "sinh": "Backend.sinh",
    "sqrt": "Backend.sqrt",
    "tan": "Backend.tan",
    "tanh": "Backend.tanh",
}

CASES |= coverage_devices.NX
CASES |= coverage_convert.NX


@pytest.mark.parametrize("row", CASES)
def test_row(library: Library, row: str) -> None:
    check_row(library, CASES[row])


def test_every_row_is_tested_or_open() -> None:
    assert set(CASES) | TESTED_AS.keys() | unfinished("nx") == set(TABLE)
    assert not set(CASES) & (TESTED_AS.keys() | unfinished("nx"))


@pytest.mark.parametrize("row", TESTED_AS)
def test_rows_of_the_other_table_test_the_same_function(row: str) -> None:
    other = TESTED_AS[row]
    assert other in PHIML
    assert table("phiml")[other]["xpand"] == TABLE[row]["xpand"]


@pytest.mark.parametrize("row", CASES)
def test_what_the_table_names_exists(row: str) -> None:
    check_name(TABLE[row])
