"""Mixed data types: what the standard promotes is promoted by every operation of several arrays, the rest is refused.

What becomes of indices out of bounds and of duplicates is tested likewise, in the tests of `indexing` and `scatter`.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from tests.libraries import Library
from tests.operations import as_tuple
from xpand import polynomial
from xpand_extensions import arithmetic, bits, convolution, interpolation, linalg, special

UNSIGNED = ["uint8", "uint16", "uint32", "uint64"]
SIGNED = ["int8", "int16", "int32", "int64"]
REAL = ["float32", "float64"]
COMPLEX = ["complex64", "complex128"]

ALL = [*UNSIGNED, *SIGNED, *REAL, *COMPLEX]
FLOATING = [*REAL, *COMPLEX]
INTEGERS = [*UNSIGNED, *SIGNED]

VECTOR = np.asarray([1, 2, 3])
MATRIX = np.asarray([[4, 1, 0], [1, 3, 1], [0, 1, 2]])
IMAGE = VECTOR[None, None, :]

# The function, the values of its two arrays, and the data types that it takes.
OPERATIONS: dict[str, tuple[Callable[[Any, Any], Any], np.ndarray, np.ndarray, list[str]]] = {
    "polyadd": (polynomial.polyadd, VECTOR, VECTOR, ALL),
    "polysub": (polynomial.polysub, VECTOR, VECTOR, ALL),
    "polymul": (polynomial.polymul, VECTOR, VECTOR, ALL),
    "polyval": (polynomial.polyval, VECTOR, VECTOR, ALL),
    "polydiv": (polynomial.polydiv, VECTOR, VECTOR, FLOATING),
    "einsum": (lambda x, y: linalg.einsum("i,i->", x, y), VECTOR, VECTOR, ALL),
    "dot_general": (lambda x, y: linalg.dot_general(x, y, axes=((1,), (0,))), MATRIX, MATRIX, ALL),
    "matvec": (linalg.matvec, MATRIX, VECTOR, ALL),
    "kron": (linalg.kron, MATRIX, MATRIX, ALL),
    "triangular_solve": (linalg.triangular_solve, np.tril(MATRIX), VECTOR, FLOATING),
    "cho_solve": (linalg.cho_solve, np.tril(MATRIX), VECTOR, FLOATING),
    "lstsq": (lambda a, b: linalg.lstsq(a, b).x, MATRIX, VECTOR, FLOATING),
    "conv": (convolution.conv, IMAGE, IMAGE, ALL),
    "conv_transpose": (convolution.conv_transpose, IMAGE, IMAGE, ALL),
    "convolve": (convolution.convolve, VECTOR, VECTOR, ALL),
    "correlate": (convolution.correlate, VECTOR, VECTOR, ALL),
    "interp": (lambda x, y: interpolation.interp(x, x, y), VECTOR, VECTOR, REAL),
    "divide_no_nan": (arithmetic.divide_no_nan, VECTOR, VECTOR, FLOATING),
    "quotient": (arithmetic.quotient, VECTOR, VECTOR, INTEGERS),
    "truncated_remainder": (arithmetic.truncated_remainder, VECTOR, VECTOR, [*INTEGERS, *REAL]),
    "promote": (arithmetic.promote, VECTOR, VECTOR, ALL),
    "shift_left": (bits.shift_left, VECTOR, VECTOR, INTEGERS),
    "shift_right": (bits.shift_right, VECTOR, VECTOR, INTEGERS),
    "xlogy": (special.xlogy, VECTOR, VECTOR, REAL),
    "betaln": (special.betaln, VECTOR, VECTOR, REAL),
    "gammainc": (special.gammainc, VECTOR, VECTOR, REAL),
}


def promoted(first: str, second: str) -> str | None:
    """The standard's table: integers with integers, floating-point types with such, uint64 with no signed type."""
    if (first in INTEGERS) != (second in INTEGERS) or ("uint64" in (first, second) and {first, second} & {*SIGNED}):
        return None
    return str(np.result_type(first, second))


@pytest.mark.parametrize("name", OPERATIONS)
def test_promotion(library: Library, name: str) -> None:
    function, x, y, dtypes = OPERATIONS[name]

    @settings(max_examples=6 if library.lazy or library.id == "jax" else 20)
    @given(st.sampled_from(dtypes), st.sampled_from(dtypes))
    def run(first: str, second: str) -> None:
        arrays = library.asarray(x, first), library.asarray(y, second)
        expected = promoted(first, second)
        if expected is None:
            with pytest.raises(TypeError, match=f"{name}: .*{first}.*{second}"):
                function(*arrays)
        else:
            for result in as_tuple(function(*arrays)):
                assert library.to_numpy(result).dtype == expected, f"{first} with {second} gave {result.dtype}"

    run()


@pytest.mark.parametrize("name", [name for name in OPERATIONS if name != "promote"])
def test_booleans_are_no_numbers(library: Library, name: str) -> None:
    function, x, y, dtypes = OPERATIONS[name]
    with pytest.raises(TypeError, match=f"{name}: "):
        function(library.asarray(x, dtypes[0]), library.asarray(y, "bool"))


def test_namespaces_leave_other_kinds_to_the_library(library: Library) -> None:
    """As docs/meaning.md says: what the standard leaves undefined is what the library's own operators do."""
    x, y = library.asarray(VECTOR), library.asarray(VECTOR.astype(np.float32))
    if library.id.startswith("strict"):
        for mixed in (lambda: library.xp.add(x, y), lambda: x + y):
            with pytest.raises(TypeError, match=r"int64 and .*float32"):
                mixed()
        return
    found, by_operator = library.xp.add(x, y), x + y
    assert found.dtype == by_operator.dtype == library.xp.result_type(x, y)
    np.testing.assert_array_equal(library.to_numpy(found), 2.0 * VECTOR)
