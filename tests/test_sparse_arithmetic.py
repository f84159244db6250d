"""Arithmetic, elementwise functions, reductions and products of sparse arrays, against dense ones of NumPy."""

import math
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings, strategies as st

from tests.cases import library_of_name
from tests.libraries import EAGER_LIBRARIES, Library
from tests.operations import Case, Check, check_values, checked
from tests.sparse_problems import assert_means, examples, made, matrices
from xpand_extensions import autodiff, sparse
from xpand_extensions.jit import jit
from xpand_extensions.vmap import vmap

VALUES = np.asarray([1.5, -2.0, 0.5, 3.0, -1.0])
ROWS, COLUMNS = np.asarray([2, 0, 2, 1, 2]), np.asarray([1, 3, 0, 1, 1])
OTHER_ROWS, OTHER_COLUMNS = np.asarray([0, 2, 2, 1]), np.asarray([3, 1, 1, 2])
OTHER_VALUES = np.asarray([2.0, -1.0, 4.0, 0.5])
DENSE = np.cos(np.arange(12.0)).reshape(3, 4) + 2.0

OPERATORS = {"add": np.add, "subtract": np.subtract, "multiply": np.multiply}


def coo(values: Any, rows: Any, columns: Any, shape: tuple[int, int] = (3, 4)) -> sparse.COO:
    return sparse.COO(values, (rows, columns), shape)


def dense_of(values: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    found = np.zeros((3, 4), dtype=values.dtype)
    np.add.at(found, (rows, columns), values)
    return found


def example(library: Library, format: str = "csr", *, other: bool = False) -> tuple[Any, np.ndarray]:
    parts = (OTHER_VALUES, OTHER_ROWS, OTHER_COLUMNS) if other else (VALUES, ROWS, COLUMNS)
    a = coo(*(library.asarray(x) for x in parts))
    return sparse.convert(a, format), dense_of(*parts)  # type: ignore[arg-type]


# Two sparse arrays


def test_sums_that_cancel_are_part_of_a_product(eager_library: Library) -> None:
    a = sparse.from_dense(eager_library.asarray([[1.0, 1.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 0.0]]))
    b = sparse.from_dense(eager_library.asarray([[1.0, 2.0, 0.0], [-1.0, 3.0, 0.0], [0.0, 0.0, 4.0]]))
    product = a @ b
    assert product.nse == 4
    eager_library.assert_equal(product.indices, np.asarray([0, 1, 0, 1]))
    eager_library.assert_equal(product.todense(), np.asarray([[0.0, 5.0, 0.0], [-2.0, 6.0, 0.0], [0.0, 0.0, 0.0]]))


@pytest.mark.parametrize("name", OPERATORS)
def test_pairs(library: Library, name: str) -> None:
    @settings(max_examples=examples(library), deadline=None)
    @given(st.data())
    def check(data: st.DataObject) -> None:
        first = data.draw(matrices(dtypes=["float32", "float64", "complex128"]))
        second = data.draw(matrices(shape=first[4], dtypes=["float32", "float64", "complex128"]))
        (a, x), (b, y) = made(library, first), made(library, second)
        found = getattr(sparse, name)(a, b)
        assert_means(library, found, OPERATORS[name](x, y), a.format if a.format == b.format else "coo")
        assert library.lazy or (found.is_unique or sparse.sum_duplicates(a).nse == a.nse)

    check()


@pytest.mark.parametrize("dtype", ["int8", "uint8", "uint16", "uint64", "int64", "float32", "complex64"])
def test_data_types(library: Library, dtype: str) -> None:
    values = np.asarray([1, 2, 3, 4, 5]).astype(dtype)
    a, x = coo(*(library.asarray(each) for each in (values, ROWS, COLUMNS))), dense_of(values, ROWS, COLUMNS)
    assert_means(library, sparse.sum_duplicates(a), x)
    if library.id != "torch" or dtype not in ("uint16", "uint64"):  # which PyTorch itself doesn't add and multiply
        assert_means(library, sparse.add(a, a), x + x)
        assert_means(library, sparse.multiply(a, a), x * x)
        assert_means(library, sparse.multiply(a, 3), x * x.dtype.type(3))
    library.assert_equal(sparse.sum(a, axis=0), _sum(x, library))


@pytest.mark.parametrize("format", ["coo", "csr"])
def test_differences_are_taken_in_the_common_type(library: Library, format: str) -> None:
    parts = (OTHER_VALUES.astype(np.int8), OTHER_ROWS, OTHER_COLUMNS)
    small = sparse.convert(coo(*map(library.asarray, parts)), format)
    values = np.asarray([1, 2, 3, 4, 5], dtype=np.uint8)
    unsigned = sparse.convert(coo(*map(library.asarray, (values, ROWS, COLUMNS))), format)
    expected = dense_of(*parts).astype(np.int16) - dense_of(values, ROWS, COLUMNS)
    assert_means(library, small - unsigned, expected, format)
    assert_means(library, unsigned - small, -expected, format)


def _sum(x: np.ndarray, library: Library) -> np.ndarray:
    return np.asarray(library.to_numpy(library.xp.sum(library.asarray(x), axis=0)))


def test_booleans_are_joined(library: Library) -> None:
    values = np.asarray([True, False, True, True, True])
    a = coo(*(library.asarray(each) for each in (values, ROWS, COLUMNS)))
    found = sparse.sum_duplicates(a)
    assert found.dtype == library.xp.bool
    expected = np.zeros((3, 4), dtype=bool)
    expected[ROWS[values], COLUMNS[values]] = True
    library.assert_equal(sparse.astype(found, library.xp.int64).todense(), expected.astype(np.int64))


def test_equal_patterns_are_kept(library: Library) -> None:
    a, x = example(library)
    for found, dense in ((a + a, x + x), (a - a, x - x)):
        assert all(i is j for i, j in zip(found.pattern, a.pattern))
        assert_means(library, found, dense, "csr")
    if not library.lazy:
        other = sparse.CSR(a.values, a.indices + 0, a.indptr + 0, a.shape)
        assert (a + other).indices is a.indices


def test_duplicates_are_summed_before_they_are_multiplied(library: Library) -> None:
    a, x = example(library, "coo")
    assert_means(library, a * a, x * x)
    assert_means(library, abs(a), abs(x))


def test_batches(library: Library) -> None:
    a, x = example(library)
    batch = a.with_values(library.xp.stack([a.values, 2 * a.values]))
    b, y = example(library, other=True)
    both = np.stack([x, 2 * x])
    assert_means(library, batch + b, both + y, "csr")
    assert_means(library, b * batch, both * y, "csr")
    assert_means(library, a * library.asarray(np.stack([DENSE, x])), np.stack([x * DENSE, x * x]), "csr")
    apart = sparse.stack([sparse.sum_duplicates(a), b])
    assert_means(library, apart - batch, np.stack([x, y]) - both)
    assert_means(library, apart * batch, np.stack([x, y]) * both)
    assert_means(library, apart * library.asarray(DENSE), np.stack([x, y]) * DENSE)
    library.assert_equal(sparse.sum(apart, axis=(0, 2)), np.stack([x, y]).sum(axis=(0, 2)))
    library.assert_equal(sparse.max(apart, axis=1), np.stack([x, y]).max(axis=1))


def test_dense_axes(library: Library) -> None:
    values = np.cos(np.arange(10.0)).reshape(5, 2)
    a = sparse.COO(
        *(library.asarray(values), (library.asarray(ROWS), library.asarray(COLUMNS))), (3, 4, 2), dense_ndim=1
    )
    x = np.zeros((3, 4, 2))
    np.add.at(x, (ROWS, COLUMNS), values)
    factors = np.arange(1.0, 3.0)
    assert_means(library, a * library.asarray(factors), x * factors, rtol=1e-14)
    assert_means(library, a + sparse.sum_duplicates(a), x + x, rtol=1e-14)
    assert_means(library, abs(a), abs(x), rtol=1e-14)
    library.assert_equal(sparse.sum(a, axis=(0, 2)), x.sum(axis=(0, 2)), rtol=1e-12)
    library.assert_equal(sparse.min(a, axis=0, keepdims=True), x.min(axis=0, keepdims=True), rtol=1e-12)


# A sparse and a dense array, or a number


@pytest.mark.parametrize("format", ["coo", "csr", "csc"])
def test_dense(library: Library, format: str) -> None:
    a, x = example(library, format)
    for y in (DENSE, DENSE[:1], DENSE[:, :1], DENSE[0], DENSE[0, 0]):
        b = library.asarray(y)
        library.assert_equal(a + b, x + y, rtol=1e-15)
        library.assert_equal(sparse.subtract(b, a), y - x, rtol=1e-15)
        assert_means(library, a * b, x * y, format, rtol=1e-15)
        assert_means(library, sparse.multiply(b, a), x * y, format, rtol=1e-15)
        assert_means(library, a / b, x / y, format, rtol=1e-15)
    assert_means(library, a * 2.0, x * 2, format)
    assert_means(library, 2 * a, x * 2, format)
    assert_means(library, a / 4.0, x / 4, format)
    assert_means(library, -a, -x, format)


@pytest.mark.parametrize("library", EAGER_LIBRARIES, ids=str)
def test_dense_arrays_beside_traced_containers(library: Library) -> None:
    a, x = example(library)
    b = library.asarray(DENSE)
    library.assert_equal(jit(lambda a: sparse.subtract(b, a))(a), DENSE - x, rtol=1e-15)
    library.assert_equal(jit(lambda a: sparse.add(b, a))(a), DENSE + x, rtol=1e-15)
    assert_means(library, jit(lambda a: sparse.multiply(b, a))(a), DENSE * x, rtol=1e-15)


def test_operators_of_arrays_leave_it_to_containers(library: Library) -> None:
    if library.id.startswith("strict"):
        pytest.skip("array-api-strict raises for what it doesn't know, and asks nobody")
    a, x = example(library)
    b = library.asarray(DENSE)
    library.assert_equal(b + a, DENSE + x)
    library.assert_equal(b - a, DENSE - x)
    assert_means(library, b * a, x * DENSE)


def test_what_is_not_kept_stays_zero(library: Library) -> None:
    a, x = example(library)
    factors = np.where(x != 0, 2.0, np.asarray([np.nan, np.inf, -np.inf, np.nan]))
    assert_means(library, a * library.asarray(factors), 2 * x)
    assert_means(library, a / library.asarray(factors), x / 2)


# Functions of elements


def test_functions(library: Library) -> None:
    a, x = example(library, "coo")
    xp = library.xp
    for name in ("sin", "expm1", "floor", "tanh"):
        assert_means(library, sparse.map_values(getattr(xp, name), a), getattr(np, name)(x), rtol=1e-12)
    assert_means(library, sparse.sign(a), np.sign(x))
    assert_means(library, sparse.square(a), x * x)
    assert_means(library, sparse.sqrt(sparse.abs(a)), np.sqrt(abs(x)), rtol=1e-15)
    assert_means(library, sparse.power(a, 3), x**3, rtol=1e-15)
    assert_means(library, sparse.real(a), x)
    assert_means(library, sparse.conj(a), x)
    assert_means(library, sparse.imag(a), 0 * x)
    assert_means(library, sparse.astype(a, xp.float32), x.astype(np.float32))
    assert_means(library, sparse.astype(a, xp.int64), x.astype(np.int64))
    z = a * library.asarray(np.asarray(1 + 2j)) if _promotes(library) else sparse.astype(a, xp.complex128) * (1 + 2j)
    w = x * (1 + 2j)
    for name in ("conj", "real", "imag", "abs"):
        assert_means(library, getattr(sparse, name)(z), getattr(np, name)(w), rtol=1e-14)


def _promotes(library: Library) -> bool:
    return not library.id.startswith("strict")


def test_entries_without_a_factor_have_no_gradient() -> None:
    """Also beside infinite ones, for patterns that are not known."""
    promises: Any = {"is_sorted": True, "is_unique": True}
    a = sparse.COO(np.asarray([1.0, 2.0]), (np.asarray([0, 1]),), (3,), **promises)
    b = sparse.COO(np.asarray([np.inf]), (np.asarray([0]),), (3,), **promises)
    loss = lambda a, b: sparse.sum(sparse.multiply(a, b))
    with np.errstate(all="ignore"):
        of_a, of_b = jit(autodiff.grad(loss, argnums=(0, 1)))(a, b)
    np.testing.assert_array_equal(of_a.values, [np.inf, 0.0])
    np.testing.assert_array_equal(of_b.values, [1.0])


# Reductions


@pytest.mark.parametrize("name", ["sum", "mean", "max", "min", "count_nonzero"])
def test_reductions(library: Library, name: str) -> None:
    @settings(max_examples=examples(library), deadline=None)
    @given(st.data())
    def check(data: st.DataObject) -> None:
        a, x = made(library, data.draw(matrices(dtypes=["float64"])))
        axis = data.draw(st.sampled_from([None, 0, 1, -1, (0, 1), (-1, 0), ()]))
        keepdims = data.draw(st.booleans())
        count = np.prod([x.shape[i] for i in (range(2) if axis is None else np.atleast_1d(axis).astype(int))])
        if count == 0 and name in ("max", "min"):
            with pytest.raises(ValueError, match="nothing to choose from"):
                getattr(sparse, name)(a, axis=axis)
        elif count == 0 and name == "mean":
            assert np.isnan(library.to_numpy(sparse.mean(a, axis=axis))).all()
        else:
            expected = np.asarray(getattr(np, name)(x, axis=axis, keepdims=keepdims))
            library.assert_equal(getattr(sparse, name)(a, axis=axis, keepdims=keepdims), expected, rtol=1e-14)

    check()


def test_extremes_of_nan_and_infinity(library: Library) -> None:
    values = np.asarray([np.nan, -np.inf, np.inf, -1.0, -2.0])
    rows, columns = np.asarray([0, 1, 2, 2, 2]), np.asarray([0, 1, 2, 0, 1])
    a = coo(*(library.asarray(x) for x in (values, rows, columns)), shape=(3, 3))
    x = np.zeros((3, 3))
    x[rows, columns] = values
    for name in ("max", "min"):
        for axis in (0, 1):
            found = getattr(sparse, name)(a, axis=axis)
            library.assert_equal(found, getattr(np, name)(x, axis=axis))


def test_norms_and_diagonals(library: Library) -> None:
    for format in ("coo", "csr", "csc"):
        a, x = example(library, format)
        for ord in ("fro", 1, math.inf):
            expected = np.asarray(np.linalg.norm(x, ord))
            library.assert_equal(sparse.norm(a, ord=ord), expected, rtol=1e-14)  # type: ignore[arg-type]
        for offset in (-3, -2, -1, 0, 1, 3, 4):
            expected = np.diagonal(x, offset) if -3 < offset < 4 else np.zeros(0)
            library.assert_equal(a.diagonal(offset=offset), expected)
        library.assert_equal(sparse.trace(a, offset=1), np.asarray(np.trace(x, 1)))


# Sparse times sparse


def test_products(library: Library) -> None:
    if library.lazy:
        pytest.skip("products of two lazy sparse matrices raise: test_errors")

    @settings(max_examples=examples(library), deadline=None)
    @given(st.data())
    def check(data: st.DataObject) -> None:
        first = data.draw(matrices(dtypes=["float32", "float64", "complex128"]))
        n = data.draw(st.integers(0, 4))
        second = data.draw(matrices(shape=(first[4][1], n), dtypes=["float32", "float64", "complex128"]))
        (a, x), (b, y) = made(library, first), made(library, second)
        found = a @ b
        assert found.is_unique
        assert_means(library, found, (x @ y).astype(np.result_type(x, y)), a.format if a.format == b.format else "coo")

    check()


@pytest.mark.parametrize("library", EAGER_LIBRARIES, ids=str)
def test_products_of_batches(library: Library) -> None:
    a, x = example(library)
    b, y = example(library, other=True)
    batch = a.with_values(library.xp.stack([a.values, 2 * a.values]))
    assert_means(library, batch @ b.T.tocsr(), np.stack([x, 2 * x]) @ y.T, "csr")


# Transformations: of values, over patterns that are closed over, and with patterns as arguments

OF_PARTS = {
    "add": lambda a, b: a + b,
    "multiply": lambda a, b: a * b,
    "abs": lambda a, b: sparse.abs(a),
    "max": lambda a, b: sparse.max(a, axis=1),
    "sum": lambda a, b: a.sum(axis=0),
    "norm": lambda a, b: sparse.norm(a),
    "diagonal": lambda a, b: a.diagonal(offset=1),
}


def _dense(x: Any) -> Any:
    return x.todense() if isinstance(x, sparse.Sparse) else x


def _case(operation: Any, of_both: bool) -> Case:
    def function(*parts: Any) -> Any:
        return _dense(operation(coo(*parts[:3]), coo(*parts[3:])))

    arrays = (VALUES, ROWS, COLUMNS, OTHER_VALUES, OTHER_ROWS, OTHER_COLUMNS)
    reference = lambda *parts: np.asarray(function(*parts))
    return Case(function, arrays, reference=reference, differentiable=(0, 3) if of_both else (0,), gradient_rtol=1e-5)


CASES = {name: _case(operation, name in OPERATORS) for name, operation in OF_PARTS.items()}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_values(library: Library, case: Case) -> None:
    check_values(library, case)


@checked(CASES)
def test_transformations(case: Case, transformation: Check) -> None:
    transformation(case)


CLOSED = {
    "product": lambda a, b: a @ b.T,
    "product_of_results": lambda a, b: (a + b) @ (a * b).T,
    "map_values": lambda a, b: sparse.power(a - b, 2),
}


@pytest.mark.parametrize("operation", CLOSED.values(), ids=CLOSED)
@pytest.mark.parametrize("name", ["numpy", "torch", "jax"])
def test_closed_patterns(name: str, operation: Any) -> None:
    library = library_of_name(name)
    (a, _), (b, _) = example(library), example(library, other=True)
    function = lambda v, w: operation(a.with_values(v), b.with_values(w))
    dense = lambda v, w: function(v, w).todense()
    expected = function(a.values, b.values)
    fixed = library.to_numpy(expected.todense())
    if name != "torch":  # where patterns aren't known in what is compiled
        found = jit(function)(a.values, b.values)
        assert found.nse == expected.nse
        library.assert_equal(found.todense(), fixed, rtol=1e-12, atol=1e-12)
    pair = [library.xp.stack([v, 2 * v]) for v in (a.values, b.values)]
    wanted = np.stack([fixed, library.to_numpy(dense(pair[0][1], pair[1][1]))])
    library.assert_equal(vmap(dense)(*pair), wanted, rtol=1e-12, atol=1e-12)
    autodiff.check_grads(dense if name != "jax" else jit(dense), (a.values, b.values), order=2, modes=("fwd", "rev"))


def test_patterns_inside_of_derivatives_on_pytorch() -> None:
    """PyTorch wraps patterns that are arguments as it wraps values; those of each batch element are unknown."""
    library = library_of_name("torch")
    a, b = (sparse.tocoo(example(library, other=other)[0]) for other in (False, True))
    product = lambda a, b: ((a + b) @ (a * b).T).todense()
    of_dense = lambda a, b: (a.todense() + b.todense()) @ (a.todense() * b.todense()).T

    def total(operation: Any) -> Any:
        return lambda v, w, *pattern: (operation(coo(v, *pattern[:2]), coo(w, *pattern[2:])) ** 2).sum()

    arrays = (a.values, b.values, *a.coords, *b.coords)
    shared = (0, *(None for _ in arrays[1:]))
    stacked = tuple(torch.stack([x, x]) for x in arrays)
    for transformed in (
        lambda f: torch.func.grad(f, 1)(*arrays),
        lambda f: torch.func.jacfwd(torch.func.jacfwd(f), 1)(*arrays),
        lambda f: torch.func.jacrev(torch.func.jacfwd(f), 1)(*arrays),
        lambda f: torch.func.vmap(torch.func.grad(f), shared)(stacked[0], *arrays[1:]),
    ):
        expected = library.to_numpy(transformed(total(of_dense)))
        library.assert_equal(transformed(total(product)), expected, rtol=1e-12, atol=1e-12)
    with pytest.raises(TypeError, match="the number of entries of the product of two sparse matrices isn't known"):
        torch.func.vmap(torch.func.grad(total(product)))(*stacked)


# Bad input


def test_errors(library: Library) -> None:
    a, _ = example(library)
    short = sparse.eye(2, xp=library.xp, device=library.device)
    dense = library.asarray(DENSE)
    with pytest.raises(TypeError, match=r"add: b is the number 1, .* `sparse.todense`"):
        a + 1
    with pytest.raises(TypeError, match="subtract: a is the number 1.0"):
        1.0 - a
    with pytest.raises(TypeError, match="add: takes at least one sparse array"):
        sparse.add(dense, dense)
    with pytest.raises(TypeError, match="multiply: b must be sparse"):
        sparse.multiply(dense, dense)
    with pytest.raises(TypeError, match="divide: b is sparse"):
        a / a
    with pytest.raises(TypeError, match="divide: b is sparse"):
        sparse.divide(dense, a)
    with pytest.raises(ValueError, match="add: takes sparse arrays of one shape"):
        a + short
    with pytest.raises(ValueError, match="multiply: b of shape"):
        a * library.asarray(np.ones((5, 4)))
    whole = sparse.astype(a, library.xp.int64)
    with pytest.raises(TypeError, match="add: takes data types that the standard promotes"):
        a + whole
    with pytest.raises(TypeError, match="divide: a must have a floating-point data type"):
        whole / 2
    with pytest.raises(TypeError, match=r"multiply: b is the float 0.5"):
        whole * 0.5
    if not library.lazy:  # of which nothing is computed for a check
        with pytest.raises(ValueError, match="map_values: function must map zero to zero"):
            sparse.map_values(library.xp.cos, a)
    with pytest.raises(ValueError, match="map_values: function must keep the shape"):
        sparse.map_values(lambda x: x[:1] * 0, a)
    with pytest.raises(TypeError, match="map_values: function must be a function"):
        sparse.map_values(1, a)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="power: exponent=0 must be positive"):
        sparse.power(a, 0)
    with pytest.raises(TypeError, match="power: exponent must be a number"):
        sparse.power(a, "2")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="astype: a is complex"):
        sparse.astype(sparse.astype(a, library.xp.complex128), library.xp.float64)
    with pytest.raises(TypeError, match="sqrt: a must have a floating-point"):
        sparse.sqrt(whole)
    with pytest.raises(ValueError, match="sum: axis=2 is out of range"):
        a.sum(axis=2)
    with pytest.raises(ValueError, match="names an axis twice"):
        a.sum(axis=(0, 0))
    with pytest.raises(TypeError, match="sum: a must be sparse"):
        sparse.sum(dense)
    with pytest.raises(ValueError, match="norm: ord must be"):
        sparse.norm(a, ord=2)
    with pytest.raises(TypeError, match="diagonal: offset must be an integer"):
        a.diagonal(offset=0.5)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="matmul: a of shape"):
        a @ a
    if library.lazy:
        with pytest.raises(TypeError, match="matmul: the number of entries"):
            a @ a.T


def test_patterns_as_arguments() -> None:
    import jax

    library = library_of_name("jax")
    (a, x), (b, y) = example(library), example(library, other=True)
    found = jax.jit(lambda a, b: a + b)(a, b)
    assert found.nse == a.nse + b.nse
    assert_means(library, found, x + y, "csr")
    assert_means(library, jax.jit(lambda a, b: a * b)(a, b), x * y)
    with pytest.raises(TypeError, match="close over the containers"):
        jax.jit(lambda a, b: a @ b.T)(a, b)
