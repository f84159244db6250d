"""Arrays whose values are known in functions that are compiled: what asks for values takes them, on every library."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import xpand
from tests.libraries import EAGER_LIBRARIES, Library
from xpand import polynomial
from xpand_extensions import indexing, optimize, scatter
from xpand_extensions.jit import jit

V = np.asarray([3.0, 1.0, 2.0])
COUNTS, IDS, OFFSETS = np.asarray([1, 2, 0]), np.asarray([0, 1, 1]), np.asarray([0, 1, 3])
LOWER, UPPER = np.asarray([0.0, 0.0, 0.0]), np.asarray([1.0, 2.0, 1.5])

# Each takes an array that is traced and a function that makes a known one.
FUNCTIONS: dict[str, tuple[Callable[..., Any], tuple[np.ndarray, ...], np.ndarray]] = {
    "repeat": (indexing.repeat, (COUNTS,), np.repeat(V, COUNTS)),
    "segment_sum": (scatter.segment_sum, (IDS,), np.asarray([3.0, 3.0])),
    "segment_reduce": (scatter.segment_reduce, (OFFSETS,), np.asarray([3.0, 3.0])),
    "bounds": (
        lambda v, lower, upper: (
            optimize.minimize(
                lambda x: total((x - v) ** 2), 0.5 * (lower + upper), method="l-bfgs-b", bounds=(lower, upper)
            ).x
        ),
        (LOWER, UPPER),
        np.clip(V, LOWER, UPPER),
    ),
    "roots": (
        lambda v, p: v[:2] + xpand.array_namespace(p).real(polynomial.roots(p)),
        (np.asarray([1.0, 0.0, 1.0]),),
        V[:2],
    ),
    "check": (lambda v, known: (xpand.check(known, "no"), v)[1], (np.asarray([True, True]),), V),
}

WRONG: dict[str, tuple[Callable[..., Any], tuple[np.ndarray, ...], type[Exception], str]] = {
    "repeat": (indexing.repeat, (COUNTS - 1,), ValueError, "repeat: repeats must be at least 0"),
    "segment_reduce beyond": (scatter.segment_reduce, (OFFSETS + 1,), IndexError, "offset 4 is out of bounds"),
    "segment_reduce": (scatter.segment_reduce, (OFFSETS[::-1].copy(),), ValueError, "must not decrease"),
    "gather_nd": (
        lambda v, places: indexing.gather_nd(v, places),
        (np.asarray([[0], [7]]),),
        IndexError,
        "out of bounds",
    ),
    "bounds": (
        lambda v, lower, upper: optimize.minimize(lambda x: total(x * v), v, method="l-bfgs-b", bounds=(lower, upper)),
        (UPPER, LOWER),
        ValueError,
        "bounds must not cross",
    ),
    "roots": (lambda v, p: polynomial.roots(p), (np.asarray([0.0, 1.0]),), ValueError, "first coefficient"),
    "check": (lambda v, known: xpand.check(known, "no"), (np.asarray([True, False]),), ValueError, "no"),
}

# Within PyTorch's traces no value is known.
KNOWING = [library for library in EAGER_LIBRARIES if library.id != "torch"]


def total(x: Any) -> Any:
    return xpand.array_namespace(x).sum(x)


@pytest.mark.parametrize("library", KNOWING, ids=str)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_that_are_known_in_a_compiled_function(library: Library, name: str) -> None:
    function, known, expected = FUNCTIONS[name]
    arrays = [library.asarray(x) for x in known]
    found = jit(lambda v: function(v, *arrays))(library.asarray(V))
    np.testing.assert_allclose(library.to_numpy(found), expected, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("library", KNOWING, ids=str)
@pytest.mark.parametrize("name", WRONG)
def test_known_values_that_are_wrong_raise_in_a_compiled_function(library: Library, name: str) -> None:
    function, known, error, message = WRONG[name]
    arrays = [library.asarray(x) for x in known]
    with pytest.raises(error, match=message):
        jit(lambda v: function(v, *arrays))(library.asarray(V))
