"""Functions of array-api-extra, under the same names, and related ones: every library against NumPy."""

import math
from typing import Any

import array_api_extra as xpx
import array_api_strict as strict
import numpy as np
import pytest

import xpand
from tests.coverage import check_name, table
from tests.libraries import Library
from tests.operations import Case, Check, check_values, checked
from xpand.comparison import allclose, array_equal, isclose
from xpand.creation import create_diagonal, diag_indices, one_hot, tril_indices, triu_indices
from xpand.elementwise import angle, apply_where, deg2rad, nan_to_num, piecewise, rad2deg
from xpand.manipulation import atleast_nd, fill_diagonal
from xpand.sets import nunique, setdiff1d, union1d
from xpand_extensions import sparse
from xpand_extensions.autodiff import grad
from xpand_extensions.jit import jit, lazy_apply
from xpand_extensions.sorting import sort_with_order

TABLE = table("extra")


def test_the_table_has_every_function() -> None:
    assert set(TABLE) == set(xpx.__all__) - {"__version__", "testing"}


@pytest.mark.parametrize("row", TABLE)
def test_what_the_table_names_exists(row: str) -> None:
    assert TABLE[row]["xpand"].rpartition(".")[2] == row, "under the same name"
    check_name(TABLE[row])


def of(x: Any) -> Any:
    return xpand.array_namespace(x)


X = np.asarray([[0.5, -1.5, 2.0], [3.0, 0.25, -0.75]])
ODD = np.asarray([1.0, np.nan, np.inf, -np.inf, -0.0])
N = np.asarray([2, 0, 7, 1])


def filled(x: np.ndarray, value: Any, offset: int = 1) -> np.ndarray:
    """The reference of `fill_diagonal`, by NumPy's indices."""
    result = x.copy()
    number = len(np.diagonal(x, offset))
    result[np.arange(number) + max(-offset, 0), np.arange(number) + max(offset, 0)] = value
    return result


CASES = {
    "angle, real": Case(lambda x: angle(x), (X,), lambda x: np.angle(x), ()),
    "angle, degrees": Case(lambda x: angle(x, deg=True), (X + 1j,), lambda x: np.angle(x, deg=True), ()),
    "deg2rad": Case(deg2rad, (X,), np.deg2rad, (0,)),
    "rad2deg": Case(rad2deg, (X,), np.rad2deg, (0,)),
    "nan_to_num": Case(lambda x: nan_to_num(x, fill_value=7.0), (ODD,), lambda x: np.nan_to_num(x, nan=7.0), ()),
    "nan_to_num, integers": Case(nan_to_num, (N,), lambda x: x, ()),
    "atleast_nd": Case(lambda x: atleast_nd(x, ndim=4), (X,), lambda x: x[None, None], (0,)),
    "atleast_nd, enough": Case(lambda x: atleast_nd(x, ndim=1), (X,), lambda x: x, (0,)),
    "create_diagonal": Case(create_diagonal, (X[0],), np.diag, (0,)),
    "create_diagonal, above": Case(
        lambda x: create_diagonal(x, offset=2), (X,), lambda x: np.stack([np.diag(row, 2) for row in x]), (0,)
    ),
    "create_diagonal, below": Case(lambda x: create_diagonal(x, offset=-1), (ODD,), lambda x: np.diag(x, -1), ()),
    "fill_diagonal": Case(lambda x, v: fill_diagonal(x, v, offset=1), (X, X[0, :2]), filled, (0, 1)),
    "fill_diagonal, below": Case(
        lambda x: fill_diagonal(x, 7, offset=-1),
        (np.stack([X, -X, X]),),
        lambda x: np.stack([filled(row, 7.0, -1) for row in x]),
        (0,),
    ),
    "piecewise": Case(
        lambda x: piecewise(x, [x < 0.4, x > 1.5, x > 2.5], [lambda x: -x, of(x).exp, 5]),
        (X,),
        lambda x: np.piecewise(x, [x < 0.4, x > 1.5, x > 2.5], [lambda x: -x, np.exp, 5]),
        (0,),
    ),
    "piecewise, otherwise": Case(
        lambda x: piecewise(x, [x < 0, x > 5], [lambda x, a: a - x, 1, lambda x, a: x * a], kwargs={"a": 3}),
        (N - 1,),
        lambda x: np.piecewise(x, [x < 0, x > 5], [lambda x: 3 - x, 1, lambda x: x * 3]),
    ),
    "one_hot": Case(lambda x: one_hot(x, 3, dtype=of(x).float64), (N,), lambda x: np.eye(8)[x][:, :3], ()),
    "one_hot, first": Case(
        lambda x: one_hot(x, 3, dtype=of(x).float64, axis=0), (N,), lambda x: np.eye(8)[x][:, :3].T, ()
    ),
    "isclose": Case(lambda a, b: isclose(a, b, atol=1e-3), (X, X + 1e-4), lambda a, b: np.isclose(a, b, atol=1e-3), ()),
    "isclose, not finite": Case(
        lambda a: isclose(a, of(a).flip(a), equal_nan=True),
        (ODD,),
        lambda a: np.isclose(a, a[::-1], equal_nan=True),
        (),
    ),
    "isclose, a number": Case(lambda a: isclose(a, 2), (X,), lambda a: np.isclose(a, 2), ()),
    "isclose, integers": Case(lambda a: isclose(a, 2, atol=1.0), (N,), lambda a: np.isclose(a, 2, atol=1.0), ()),
    "allclose": Case(allclose, (X, X + 1e-9), lambda a, b: np.asarray(np.allclose(a, b)), ()),
    "array_equal": Case(array_equal, (X, X.copy()), lambda a, b: np.asarray(True), ()),
    "array_equal, NaN": Case(lambda a: array_equal(a, a, equal_nan=True), (ODD,), lambda a: np.asarray(True), ()),
    "array_equal, another shape": Case(lambda a: array_equal(a, a[:1, :]), (X,), lambda a: np.asarray(False), ()),
    "nunique": Case(nunique, (np.asarray([[3, 1], [3, 2]]),), lambda x: np.asarray(3), ()),
    "sort_with_order": Case(
        lambda x: tuple(sort_with_order(x, axis=0, descending=True)),
        (X,),
        lambda x: (-np.sort(-x, axis=0), np.argsort(-x, axis=0)),
        (),
    ),
    "apply_where": Case(
        lambda c, x: apply_where(c > 0, x, lambda x: 2.0 * x, lambda x: x - 1.0),
        (X, X),
        lambda c, x: np.where(c > 0, 2.0 * x, x - 1.0),
        (1,),
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_values(library: Library, case: Case) -> None:
    check_values(library, case)


@checked(CASES)
def test_transformations(case: Case, transformation: Check) -> None:
    transformation(case)


@pytest.mark.parametrize("shape", [(0, 0), (0, 2), (3, 0), (1, 4), (4, 1), (3, 3)])
@pytest.mark.parametrize("offset", [-5, -1, 0, 1, 5])
def test_diagonals_of_all_shapes(library: Library, shape: tuple[int, int], offset: int) -> None:
    x = np.ones(shape, dtype=np.int16)
    values = -np.arange(len(np.diagonal(x, offset)), dtype=np.int8)
    found = fill_diagonal(library.asarray(x), library.asarray(values), offset=offset)
    library.assert_equal(found, filled(x, values, offset))


def test_piecewise_of_values_that_others_cannot_take(eager_library: Library) -> None:
    """Each function gets its own elements: NumPy would warn of others."""
    xp = eager_library.xp
    x = eager_library.asarray([-1.0, 4.0, 0.0])
    found = piecewise(x, [x > 0.0, x < 0.0], [xp.log, xp.abs, xp.asarray(2.0, device=x.device)])
    eager_library.assert_equal(found, np.asarray([1.0, math.log(4.0), 2.0]), rtol=1e-15)


def test_complex_numbers(library: Library) -> None:
    x = np.asarray([1.0 + 2.0j, complex(np.nan, np.inf)])
    library.assert_equal(nan_to_num(library.asarray(x)), np.nan_to_num(x))
    library.assert_equal(isclose(library.asarray(x), library.asarray(x), equal_nan=True), np.asarray([True, True]))
    library.assert_equal(create_diagonal(library.asarray(x[:1])), np.diag(x[:1]))


@pytest.mark.parametrize(
    ("n", "m", "offset"), [(3, 3, 0), (3, 5, 1), (4, 2, -1), (3, 3, 5), (3, 3, -5), (0, 2, 0), (2, 0, 0)]
)
def test_triangles(library: Library, n: int, m: int, offset: int) -> None:
    for function, reference in ((tril_indices, np.tril_indices), (triu_indices, np.triu_indices)):
        found = function(n, offset=offset, m=m, xp=library.xp, device=library.device)
        for mine, expected in zip(found, reference(n, offset, m)):
            assert tuple(mine.shape) == expected.shape
            np.testing.assert_array_equal(library.to_numpy(mine), expected)


def test_diagonal_indices(library: Library) -> None:
    found = diag_indices(3, ndim=3, xp=library.xp, device=library.device)
    assert len(found) == 3
    for mine in found:
        np.testing.assert_array_equal(library.to_numpy(mine), [0, 1, 2])


def test_sets(eager_library: Library) -> None:
    library = eager_library
    a, b = np.asarray([[3, 1], [3, 7]]), np.asarray([5, 1])
    library.assert_equal(union1d(library.asarray(a), library.asarray(b)), np.union1d(a, b))
    library.assert_equal(setdiff1d(library.asarray(a), library.asarray(b)), np.setdiff1d(a, b))
    library.assert_equal(setdiff1d(library.asarray(a[1]), library.asarray(b), assume_unique=True), np.asarray([3, 7]))


@pytest.mark.parametrize(("dtype", "b"), [("bool", [False]), ("float32", [0.0, np.nan]), ("complex128", [0.0, 2j])])
def test_difference_of_sets_of_other_types(eager_library: Library, dtype: str, b: list[complex]) -> None:
    x1, x2 = np.asarray([3.5, 0.0, np.nan, 3.5, -0.0]).astype(dtype), np.asarray(b).astype(dtype)
    found = setdiff1d(eager_library.asarray(x1), eager_library.asarray(x2))
    eager_library.assert_equal(found, np.setdiff1d(x1, x2))


def test_functions_get_their_own_elements(eager_library: Library) -> None:
    """So that the root of a negative number is not taken, of which NumPy warns."""
    library = eager_library
    x = library.asarray([4.0, -1.0, 9.0])
    sqrt = library.xp.sqrt
    library.assert_equal(apply_where(x >= 0, x, sqrt, fill_value=0.0), np.asarray([2.0, 0.0, 3.0]))
    library.assert_equal(
        apply_where(x >= 0, (x, x[:1]), lambda x, y: sqrt(x) + y, lambda x, y: x), np.asarray([6.0, -1.0, 7.0])
    )


def test_functions_of_known_values(library: Library) -> None:
    x = library.asarray([2.0, 3.0])
    library.assert_equal(lazy_apply(np.cumsum, x, as_numpy=True), np.asarray([2.0, 5.0]))
    library.assert_equal(jit(lambda x: lazy_apply(np.cumsum, x, as_numpy=True))(x), np.asarray([2.0, 5.0]))
    found = lazy_apply(lambda x: (x.sum(), x), x, shape=[(), (2,)], dtype=[x.dtype, x.dtype], as_numpy=True)
    library.assert_equal(found[0], np.asarray(5.0))
    library.assert_equal(found[1], np.asarray([2.0, 3.0]))


@pytest.mark.parametrize("make", [sparse.tocsr, sparse.tocoo, sparse.tocsc])
def test_a_copy_of_a_sparse_array(library: Library, make: Any) -> None:
    values = np.asarray([[0.0, 2.0], [3.0, 0.0]])
    a = make(sparse.from_dense(library.asarray(values), nse=2))
    b = a.copy()
    assert type(b) is type(a)
    library.assert_equal(b.todense(), values)
    if library.id == "numpy":
        for mine, other in zip((a.values, *a.pattern), (b.values, *b.pattern)):
            assert not np.shares_memory(mine, other)


X1 = np.ones(3)
MISTAKES = {
    "no array": (lambda: isclose(1.0, 2.0), TypeError, "isclose: a or b must be an array, got float and float"),
    "tolerance": (lambda: allclose(X1, X1, rtol=-1.0), ValueError, "allclose: rtol must not be negative"),
    "a text": (lambda: isclose(X1, "a"), TypeError, "isclose: takes arrays and numbers, got str"),
    "a number that doesn't fit": (lambda: isclose(N, 0.5), TypeError, "isclose: the number is the float 0.5"),
    "degrees of integers": (lambda: deg2rad(N), TypeError, "deg2rad: x must have a real floating-point"),
    "angle of integers": (lambda: angle(N), TypeError, "angle: z must have a floating-point"),
    "fill_value": (lambda: nan_to_num(X1, fill_value=1j), TypeError, "nan_to_num: fill_value must be a real number"),
    "one_hot": (lambda: one_hot(X1, 3), TypeError, "one_hot: x must have an integer data type"),
    "diagonal": (lambda: create_diagonal(np.asarray(1.0)), ValueError, "create_diagonal: x must have an axis"),
    "fill_diagonal": (lambda: fill_diagonal(X1, 0.0), ValueError, "fill_diagonal: x must have at least two axes"),
    "fill_diagonal's values": (
        lambda: fill_diagonal(np.ones((3, 4)), np.ones(4)),
        ValueError,
        r"fill_diagonal: value must broadcast to the shape of the diagonal, \(3,\), got \(4,\)",
    ),
    "fill_diagonal's type": (lambda: fill_diagonal(np.ones((3, 4), int), 0.5), TypeError, "value is the float 0.5"),
    "piecewise's conditions": (lambda: piecewise(X1, X1 > 0, [1.0]), TypeError, "piecewise: condlist must be a list"),
    "piecewise's booleans": (lambda: piecewise(X1, [X1], [1.0]), TypeError, r"condlist\[0\] must be booleans"),
    "piecewise's shapes": (
        lambda: piecewise(X1, [np.ones(2, bool)], [1.0]),
        ValueError,
        r"condlist\[0\] must broadcast to the shape of x, \(3,\), got \(2,\)",
    ),
    "piecewise's functions": (
        lambda: piecewise(X1, [X1 > 0], [1.0, 2.0, 3.0]),
        ValueError,
        "piecewise: funclist must have 1 or 2 entries for 1 conditions, got 3",
    ),
    "piecewise's values": (lambda: piecewise(N, [N > 0], [0.5]), TypeError, r"funclist\[0\] is the float 0.5"),
    "piecewise's results": (
        lambda: piecewise(N, [N > 0], [lambda x: x / 2.0]),
        TypeError,
        r"piecewise: the result of funclist\[0\] has float64, which does not promote to x's int64",
    ),
    "piecewise's shape": (
        lambda: piecewise(X1, [X1 > 0], [lambda x: x[:1]]),
        ValueError,
        r"funclist\[0\] must return an array of the shape of its argument, \(3,\), got shape \(1,\)",
    ),
    "cond": (lambda: apply_where(X1, X1, np.sin, np.cos), TypeError, "apply_where: cond must be booleans"),
    "neither": (lambda: apply_where(X1 > 0, X1, np.sin), TypeError, "apply_where: takes either a second function or"),
    "shape": (
        lambda: apply_where(X1 > 0, X1, lambda x: x[:1], fill_value=0.0),
        ValueError,
        r"apply_where: f1 must return an array of the shape of its arguments, \(3,\), got shape \(1,\)",
    ),
    "lazy_apply": (lambda: lazy_apply(np.sin, 1.0), TypeError, "lazy_apply: an argument must be an array"),
    "lazy_apply's lists": (
        lambda: jit(lambda x: lazy_apply(np.sin, x, shape=[()], dtype=[x.dtype, x.dtype])[0])(X1),
        ValueError,
        "lazy_apply: got 1 shapes and 2 data types",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes(name: str) -> None:
    call, error, message = MISTAKES[name]
    with pytest.raises(error, match=message):
        call()


def test_a_safe_derivative() -> None:
    """Of traced arrays both functions get all elements: what isn't chosen has no part in the derivative."""
    x = np.asarray([4.0, 1.0])
    found = grad(lambda x: of(x).sum(apply_where(x > 2.0, x, lambda x: x**2, lambda x: -x)))(x)
    np.testing.assert_array_equal(found, [8.0, -1.0])
    assert math.isclose(float(angle(np.asarray(-1.0))), math.pi)


def test_apply_where_without_masks() -> None:
    """A library may lack boolean indexing, such as cubed; the standard makes it optional."""
    x = strict.asarray([4.0, -1.0, 9.0])
    with strict.ArrayAPIStrictFlags(boolean_indexing=False):
        with pytest.raises(RuntimeError):
            x[x > 0]
        result = apply_where(x >= 0, x, lambda x: 2.0 * x, lambda x: x - 1.0)
    np.testing.assert_array_equal(np.asarray(result), [8.0, -2.0, 18.0])
