"""NumPy's functions that sort, search and compare arrays as sets, of traced arrays, against NumPy's own."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.numpy_calls import Call, assert_same, calls, check, check_values
from xpand_extensions.autodiff import grad
from xpand_extensions.jit import jit
from xpand_extensions.vmap import vmap

X = np.array([[0.31, 1.2, 0.73], [2.1, 1.5, 0.9]])
V = np.array([0.31, 1.2, 0.73, 2.1, 1.5, 0.9])
W = np.array([0.5, -1.0, 2.0, 1.5, 0.7, -0.3])
NAN = np.array([0.31, np.nan, 0.73, 0.31, np.nan, -0.0])
CONSTANTS = {"X": X, "V": V, "W": W, "C": np.exp(1j * np.arange(6.0)), "B": W > 0, "np": np}

SORTED = (
    *("np.sort(x)", "np.sort(x, axis=0)", "np.sort(x, None)", "np.sort(x, 1, kind='stable')"),
    *("np.sort(x, stable=True)", "np.sort(x[0])", "np.argsort(x)", "np.argsort(x, axis=0)", "np.argsort(x, axis=None)"),
    *("np.argsort(x, 0, 'heapsort')", "np.sort_complex(x)", "np.sort(x * np.reshape(C, (2, 3)))"),
    *("np.argsort(x * np.reshape(C, (2, 3)), axis=0)", "np.sort(x > 1)", "np.argsort(x > 1, axis=0)"),
    *("np.sort(np.sort(x, axis=0), axis=1)", "np.partition(x, 1)[:, 1]", "np.partition(x, 1, axis=0)[1]"),
    *("np.partition(x, (1, 3), axis=None)[[1, 3]]", "np.partition(x, -1)[:, -1]", "np.argpartition(x, 1)[:, 1]"),
    *("np.argpartition(x, [0, 2], axis=1)", "np.partition(x, [0, 1, 2], axis=1)", "np.partition(x > 1, 1)[:, 1]"),
    *("np.lexsort(x)", "np.lexsort((x[0], X[1]))", "np.lexsort((x, X), axis=0)", "np.searchsorted([0.5, 1.0, 2.0], x)"),
    *("np.searchsorted(np.sort(x[1]), [[0.5], [1.4]], side='right')", "np.searchsorted(np.sort(x[0]), 0.8)"),
    *("np.searchsorted([0.5, 1.0], x[0, 0])", "np.searchsorted(x[0], x[1], sorter=[0, 2, 1])"),
    *("np.searchsorted([1, 2], x)", "np.searchsorted(np.array([1, 2, 3]), (x * 2.1).astype(np.int64), 'right')"),
)
SELECTED = (
    *("np.extract(B, x)", "np.extract([True, False, True], x)", "np.compress(B, x)", "np.compress([True, False], x)"),
    *("np.compress([False, True, True], np.reshape(V, (2, 3)) * x[0], axis=1)", "np.compress(W > 9, x)"),
    *("np.isin(x, [1.2, 0.9])", "np.isin(x, x[:2])", "np.isin([1, 2], x)", "np.isin(x, [1.2], invert=True)"),
    *("np.isin(x, [[1], [2]], assume_unique=True)", "np.isin(1.2, x)"),
)


@pytest.mark.parametrize("call", calls(CONSTANTS, X, *SORTED))
def test_sorting(call: Call) -> None:
    check(call)


@pytest.mark.parametrize("call", calls(CONSTANTS, V, *SELECTED))
def test_selections_of_known_size(call: Call) -> None:
    check(call)


UNKNOWN_SIZES = (
    *("np.nonzero(x > 1)", "np.flatnonzero(x > 1)", "np.argwhere(x > 1)", "np.argwhere(x[0])", "np.nonzero(x - 1.2)"),
    *("np.extract(x > 1, x)", "np.compress(x > 1, W)", "np.extract(x > 1, W)"),
    *("np.trim_zeros(np.maximum(x - 0.8, 0.0))", "np.trim_zeros(np.maximum(x - 0.8, 0.0), 'f')"),
    *("np.trim_zeros(np.maximum(x - 1.0, 0.0), trim='b')", "np.trim_zeros(x * 0)", "np.unique(x)"),
    *("np.unique(x, return_inverse=True, return_counts=True)", "np.unique(np.reshape(V, (2, 3)) * x[0])"),
    *("np.unique(np.stack([x, x]), axis=0)", "np.unique(np.stack([x, W, x]), return_index=True, axis=0)"),
    "np.unique(np.stack([x, x], 1), axis=1, return_inverse=True, return_counts=True)",
    *("np.unique(x, True, True, True)", "np.unique(np.stack([x, x]), return_inverse=True)", "np.unique_values(x)"),
    *("np.unique_counts(x)", "np.unique_all(x)", "np.unique_inverse(x)", "np.union1d(x, [5.0, 6.0])"),
    *("np.union1d([1, 2], x)", "np.setdiff1d(x, x[1:2])", "np.setdiff1d(x, x[1:2], assume_unique=True)"),
    *("np.setdiff1d([2.2, 7.0, 3.0], x)", "np.intersect1d(x, x[::-1])"),
    *("np.intersect1d(x, x[1:4], return_indices=True)", "np.intersect1d(x[:3], x, assume_unique=True)"),
    *("np.setxor1d(x, x[:2])", "np.setxor1d(x, x[3:], assume_unique=True)", "np.setxor1d(np.stack([x, x]), [3, 3])"),
)
STOPS = dict.fromkeys(("jit", "vmap"), "the size of its result depends on values")


@pytest.mark.parametrize("call", calls(CONSTANTS, V, *UNKNOWN_SIZES, stops=STOPS))
def test_sizes_that_depend_on_values(call: Call) -> None:
    check(call)


OF_OTHERS = (
    *("np.sort(x)", "np.argsort(x, kind='stable')", "np.partition(x, 2)[2]", "np.searchsorted(np.sort(x), [1, 2])"),
    *("np.lexsort((x, W))", "np.isin(x, [1, 2])", "np.digitize(x, [1, 2])"),
)
OTHERS = [
    *(np.array([3, 0, 2, 5, 5, 1]).astype(dtype) for dtype in (np.int8, np.uint8, np.int64, np.float32, np.float16)),
    NAN,
    np.array([np.inf, 1.0, -np.inf, 2.0, np.nan, 0.0]),
]


@pytest.mark.parametrize("x", OTHERS, ids=lambda x: str(x.dtype))
@pytest.mark.parametrize("call", calls(CONSTANTS, V, *OF_OTHERS))
def test_other_data_types(call: Call, x: np.ndarray) -> None:
    check_values(call._replace(x=x))


OF_COMPLEX = np.array([1 + 2j, 1 + 1j, complex(np.nan, 1), complex(1, np.nan), 0j, complex(np.nan, 0)])


def test_order_of_complex_numbers() -> None:
    check_values(Call("sort", np.sort, OF_COMPLEX, {}, 0.0))
    check_values(Call("argsort", np.argsort, OF_COMPLEX, {}, 0.0))


SETS = (
    np.unique,
    lambda x: np.sort(np.unique_values(x)),
    np.unique_counts,
    np.unique_all,
    np.unique_inverse,
    lambda x: np.unique(x, equal_nan=False),
    lambda x: np.unique(x, True, True, True),
    lambda x: np.union1d(x, x),
    lambda x: np.intersect1d(x, x),
    lambda x: np.setdiff1d(x, x[:2]),
    lambda x: np.setxor1d(x, x[:2]),
    np.argwhere,
    np.nonzero,
    np.flatnonzero,
    lambda x: np.extract(x, x),
    lambda x: np.unique(x, axis=0),
)


@pytest.mark.parametrize("x", [*OTHERS, OF_COMPLEX, np.zeros(0), W > 0], ids=lambda x: str(x.dtype))
@pytest.mark.parametrize("function", SETS)
def test_sets_of_other_values(function: Callable[[Any], Any], x: np.ndarray) -> None:
    results = []

    def collect(like: Any) -> Any:
        results.append(function(np.asarray(x, like=like)))
        return like

    grad(collect)(1.0)
    assert_same(results[0], function(x), 0.0)


@pytest.mark.parametrize("axis", [None, 0, 1])
def test_trimming_of_several_axes(axis: int | None) -> None:
    x = np.array([[0.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 3.0, 1.0], [0.0, 0.0, 0.0]])
    gradient = grad(lambda x: np.sum(np.trim_zeros(x, axis=axis) ** 2))(x)
    np.testing.assert_array_equal(gradient, 2 * x)
    result = []
    grad(lambda x: (result.append(np.trim_zeros(x, axis=axis).shape), np.sum(x))[1])(x)
    assert result[0] == np.trim_zeros(x, axis=axis).shape


def test_errors() -> None:
    with pytest.raises((ValueError, IndexError), match="kth"):
        jit(lambda x: np.partition(x, 9))(V)
    with pytest.raises(ValueError, match="kth=9 is out of bounds"):
        jit(lambda x: np.partition(x, [1, 9]))(V)
    with pytest.raises(TypeError, match=r"np.unique: .*which `vmap` does not know .*sorting.unique"):
        vmap(np.unique)(X)


@pytest.mark.parametrize("function", [np.sort, np.argsort, np.partition])
def test_fields_have_no_order(function: Any) -> None:
    """`order` names fields of records here, and not the layout in memory."""
    options = {"kth": 1} if function is np.partition else {}
    with pytest.raises(TypeError, match="traced arrays take no order=, got 'name'"):
        grad(lambda x: np.sum(function(x, order="name", **options)))(np.asarray([2.0, 1.0, 3.0]))
