"""The structure of sparse arrays: duplicates, order, axes, parts, blocks, against dense arrays of NumPy."""

from typing import Any

import numpy as np
import pytest
import scipy.linalg
from hypothesis import given, settings, strategies as st

from tests.cases import library_of_name
from tests.libraries import EAGER_LIBRARIES, Library
from tests.operations import Case, Check, check_values, checked
from tests.sparse_problems import FORMATS, assert_means, examples, made, matrices
from xpand import array_namespace
from xpand_extensions import sparse

VALUES = np.asarray([1.5, -2.0, 0.5, 3.0, -1.0])
ROWS, COLUMNS = np.asarray([2, 0, 2, 1, 2]), np.asarray([1, 3, 0, 1, 1])
PROBLEM = ("csr", VALUES, ROWS, COLUMNS, (3, 4))
OTHER = ("csr", np.asarray([4.0, 2.0]), np.asarray([1, 1]), np.asarray([3, 0]), (3, 4))


def example(library: Library, format: str = "csr") -> tuple[Any, np.ndarray]:
    return made(library, (format, *PROBLEM[1:]))


# Order and duplicates


def test_order_and_duplicates(library: Library) -> None:
    @settings(max_examples=examples(library), deadline=None)
    @given(matrices())
    def check(problem: Any) -> None:
        a, x = made(library, problem)
        for found in (sparse.sort(a), sparse.sum_duplicates(a)):
            assert found.is_sorted
            assert_means(library, found, x, a.format)
        found = sparse.sum_duplicates(a, nse=8)
        assert found.nse == 8
        assert_means(library, found, x, a.format)
        if not library.lazy:
            assert sparse.sum_duplicates(a).nse == len(set(zip(problem[2].tolist(), problem[3].tolist())))
            kept = sparse.eliminate_zeros(a)
            assert kept.nse == np.count_nonzero(x)
            assert_means(library, kept, x, a.format)

    check()


@pytest.mark.parametrize("format", FORMATS)
def test_sorting_keeps_the_promise_of_different_positions(library: Library, format: str) -> None:
    parts = [library.asarray(x) for x in ([1.0, 2.0], [1, 0], [0, 3])]
    a = sparse.convert(sparse.COO(parts[0], tuple(parts[1:]), (2, 4), is_unique=True), format)
    found = sparse.sum_duplicates(a)
    assert (found.is_sorted, found.is_unique) == (True, True)
    assert_means(library, found, np.asarray([[0.0, 0.0, 0.0, 2.0], [1.0, 0.0, 0.0, 0.0]]), format)


@pytest.mark.parametrize("is_unique", [True, False])
@pytest.mark.parametrize("format", FORMATS)
def test_numbers_of_entries(library: Library, format: str, is_unique: bool) -> None:
    """A given number of entries holds, whatever a container promises."""
    coords = library.asarray([0, 0, 1]), library.asarray([0, 3, 2])
    a = sparse.COO(library.asarray([1.0, 2.0, 3.0]), coords, (2, 4), is_sorted=True, is_unique=is_unique)
    expected = np.asarray([[1.0, 0.0, 0.0, 2.0], [0.0, 0.0, 3.0, 0.0]])
    for nse in (3, 4, 9):
        found = sparse.sum_duplicates(sparse.convert(a, format), nse=nse)
        assert found.nse == nse
        assert_means(library, found, expected, format)
    if not library.lazy:
        with pytest.raises(ValueError, match="nse"):
            sparse.sum_duplicates(sparse.convert(a, format), nse=2)


@pytest.mark.parametrize("library", EAGER_LIBRARIES, ids=str)
def test_stacks_promise_what_all_arrays_promise(library: Library) -> None:
    coords = tuple(library.asarray(x) for x in (ROWS, COLUMNS))
    a = sparse.COO(library.asarray(VALUES), coords, (3, 4))
    tidy = sparse.sum_duplicates(a)
    for arrays in ([tidy, a], [a, tidy], [tidy, tidy, a]):
        found = sparse.stack(arrays)
        assert (found.is_sorted, found.is_unique) == (False, False)
        library.assert_equal(found.todense(), np.stack([library.to_numpy(a.todense())] * len(arrays)))
    found = sparse.stack([tidy, tidy])
    assert (found.is_sorted, found.is_unique) == (True, True)


@pytest.mark.parametrize("library", EAGER_LIBRARIES, ids=str)
def test_zeros_of_dense_and_batch_axes(library: Library) -> None:
    """An entry is eliminated only if all of its elements are zero, in all lanes that share the pattern."""
    i = library.asarray([0, 1, 2, 3])
    of_dense = np.asarray([[0.0, 0.0], [0.0, 1.0], [2.0, 0.0], [3.0, 4.0]])
    found = sparse.eliminate_zeros(sparse.COO(library.asarray(of_dense), (i,), (5, 2), dense_ndim=1))
    assert found.nse == 3
    library.assert_equal(found.todense(), np.concatenate([of_dense, np.zeros((1, 2))]))
    found = sparse.eliminate_zeros(sparse.COO(library.asarray(of_dense.T), (i,), (2, 5)))
    assert found.nse == 3
    library.assert_equal(found.todense(), np.concatenate([of_dense, np.zeros((1, 2))]).T)


NARROW: dict[str, tuple[Any, Any]] = {
    "reshape": (lambda a: sparse.reshape(a, (200,)), lambda x: x.reshape(200)),
    "kron": (lambda a: sparse.kron(a, a), lambda x: np.kron(x, x)),
    "concat": (lambda a: sparse.concat([a, a, a]), lambda x: np.concatenate([x, x, x])),
    "concat of csr": (
        lambda a: sparse.concat([sparse.tocsr(a)] * 80, axis=1),
        lambda x: np.concatenate([x] * 80, axis=1),
    ),
    "stack": (lambda a: sparse.stack([a] * 140), lambda x: np.stack([x] * 140)),
    "block_diag": (lambda a: sparse.block_diag([a, a]), lambda x: np.kron(np.eye(2), x)),
    "outer": (lambda a: a @ a.mT, lambda x: x @ x.T),
    "csr": (sparse.tocsr, lambda x: x),
    "csc": (sparse.tocsc, lambda x: x),
    "add": (lambda a: a + a, lambda x: x + x),
    "sum_duplicates": (lambda a: sparse.sum_duplicates(a, nse=300), lambda x: x),
    "reversed": (lambda a: a[::-1, ::-1], lambda x: x[::-1, ::-1]),
    "sum": (lambda a: sparse.sum(a, axis=1), lambda x: x.sum(axis=1)),
    "max": (lambda a: sparse.max(a, axis=0), lambda x: x.max(axis=0)),
    "vector": (lambda a: a @ array_namespace(a.values).ones_like(a.values[:2]), lambda x: x @ np.ones(2)),
}


@pytest.mark.parametrize("name", NARROW)
@pytest.mark.parametrize("library", EAGER_LIBRARIES, ids=str)
def test_narrow_indices(library: Library, name: str) -> None:
    """Neither positions nor numbers of entries of a result must fit into the data type of the indices."""
    function, reference = NARROW[name]
    rows, columns = np.repeat(np.arange(100), 2), np.tile(np.arange(2), 100)
    for part in (slice(None), slice(1, None, 3)):
        i, j = (library.asarray(x[part].astype(np.int8)) for x in (rows, columns))
        values = np.arange(1.0, 201.0)[part]
        x = np.zeros((100, 2))
        x[rows[part], columns[part]] = values
        found = function(sparse.COO(library.asarray(values), (i, j), (100, 2)))
        library.assert_equal(found.todense() if sparse.is_sparse(found) else found, reference(x))


RESULTS: dict[str, Any] = {
    "abs": sparse.abs,
    "add": lambda a: sparse.add(a, a),
    "astype": lambda a: sparse.astype(a, "float32"),
    "block": lambda a: sparse.block([[a, None], [None, a]]),
    "block_diag": lambda a: sparse.block_diag([a, a]),
    "columns": lambda a: a[:, 1:3],
    "concat of columns": lambda a: sparse.concat([a, a], axis=1),
    "concat of rows": lambda a: sparse.concat([a, a], axis=0),
    "coo": sparse.tocoo,
    "csc": sparse.tocsc,
    "csr": sparse.tocsr,
    "csr of coo": lambda a: sparse.tocsr(sparse.tocoo(a)),
    "divide": lambda a: a / 2.0,
    "eliminate_zeros": sparse.eliminate_zeros,
    "kron": lambda a: sparse.kron(a, a),
    "matmul": lambda a: a @ a.mT,
    "mT": lambda a: a.mT,
    "matrix_transpose": sparse.matrix_transpose,
    "mT of mT": lambda a: a.mT.mT,
    "multiply": lambda a: a * a,
    "negative": sparse.negative,
    "power": lambda a: sparse.power(a, 2.0),
    "reshape": lambda a: sparse.reshape(a, (2, 6)),
    "reversed rows": lambda a: a[::-1],
    "reversed columns": lambda a: a[:, ::-1],
    "rows": lambda a: a[1:],
    "sort": sparse.sort,
    "stack": lambda a: sparse.stack([a, a]),
    "sparse stack": lambda a: sparse.stack([sparse.sum_duplicates(a), a], as_batch=False),
    "concat after a sorted one": lambda a: sparse.concat([sparse.sum_duplicates(a), a]),
    "add to a sorted one": lambda a: sparse.sum_duplicates(a) + a,
    "multiply a sorted one": lambda a: sparse.sum_duplicates(a) * a,
    "subtract": lambda a: a - a,
    "sum_duplicates": sparse.sum_duplicates,
    "transpose": sparse.transpose,
    "transpose of a transpose": lambda a: sparse.transpose(sparse.transpose(a, (1, 0)), (1, 0)),
    "tril": sparse.tril,
    "triu": sparse.triu,
}


def checked_again(a: Any) -> None:
    """Make a container of the same parts, with a check of all promises."""
    promises = {"is_sorted": a.is_sorted, "is_unique": a.is_unique, "check": True}
    if a.format == "coo":
        sparse.COO(a.values, a.coords, a.shape, dense_ndim=a.dense_ndim, **promises)
    else:
        type(a)(a.values, a.indices, a.indptr, a.shape, **promises)


@pytest.mark.parametrize("library", EAGER_LIBRARIES, ids=str)
@pytest.mark.parametrize("name", RESULTS)
def test_promises_of_results_hold(library: Library, name: str) -> None:
    """Of arrays whose entries are sorted by row, but not by column, or not at all, or twice at one position."""
    different = VALUES[:4], ROWS[:4], COLUMNS[:4]
    order = np.lexsort(different[:0:-1])
    for (values, rows, columns), is_sorted, is_unique in (
        (tuple(x[order] for x in different), True, True),
        (different, False, True),
        ((VALUES, ROWS, COLUMNS), False, False),
    ):
        coords = library.asarray(rows), library.asarray(columns)
        coo = sparse.COO(library.asarray(values), coords, (3, 4), is_sorted=is_sorted, is_unique=is_unique)
        for format in FORMATS:
            a = sparse.convert(coo, format)
            checked_again(a)
            checked_again(RESULTS[name](a))


@pytest.mark.parametrize("format", FORMATS)
def test_triangles_and_axes(library: Library, format: str) -> None:
    a, x = example(library, format)
    for k in (-4, -1, 0, 2):
        assert_means(library, sparse.tril(a, k=k), np.tril(x, k), format)
        assert_means(library, sparse.triu(a, k=k), np.triu(x, k), format)
    assert_means(library, a.T, x.T, {"coo": "coo", "csr": "csc", "csc": "csr"}[format])
    assert_means(library, sparse.transpose(a, (0, 1)), x, format)
    for shape in ((2, 6), (-1,), (2, 3, 2), (12, -1)):
        assert_means(library, sparse.reshape(a, shape), x.reshape(shape), "coo")


def test_more_axes(library: Library) -> None:
    a, x = example(library)
    cube = sparse.reshape(a, (2, 3, 2))
    x = x.reshape(2, 3, 2)
    assert_means(library, sparse.transpose(cube, (2, 0, 1)), x.transpose(2, 0, 1))
    assert_means(library, cube[1], x[1])
    assert_means(library, cube[:, 1:, ::-1], x[:, 1:, ::-1])
    library.assert_equal(cube[1, 2, 0], x[1, 2, 0])
    library.assert_equal(sparse.sum(cube, axis=(0, 2)), x.sum(axis=(0, 2)))
    assert_means(library, sparse.concat([cube, cube], axis=1), np.concatenate([x, x], axis=1))
    # Places that no integer can number.
    coords = tuple(library.asarray(np.asarray([5, 0, 5])) for _ in range(3))
    large = sparse.COO(library.asarray(np.asarray([1.0, 2.0, 4.0])), coords, (2**31, 2**31, 2**31))
    library.assert_equal(large[5, 5, 5], np.asarray(5.0))
    library.assert_equal(sparse.sum(sparse.sort(large)), np.asarray(7.0))
    other = sparse.COO(large.values, (coords[0], coords[1], coords[2] + 1), large.shape)
    numbering = [sparse.sum_duplicates, lambda a: a * other]
    if library.lazy:  # a sum with unknown patterns has the entries of both
        library.assert_equal(sparse.sum(large + other), np.asarray(14.0))
    else:
        numbering.append(lambda a: a + other)
    for function in numbering:
        with pytest.raises(ValueError, match=r"sparse: .*int64 can't number the \d+ positions along axes of sizes"):
            function(large)


# Parts

INDICES = [
    0,
    -1,
    slice(1, 3),
    slice(None, None, -1),
    slice(2, 0, -2),
    slice(0, 0),
    ...,
    (slice(None), 2),
    (slice(None), slice(3, 0, -2)),
    (1, 3),
    (..., 1),
    (np.asarray([0, 1]), np.asarray([2, -1])),
    (np.asarray([[0], [2]]), np.asarray([0, 1, 3])),
    (2, np.asarray([1, 1])),
]
CONCRETE = [
    np.asarray([2, 0, 2]),
    np.asarray([], dtype=np.int64),
    np.asarray([True, False, True]),
    (slice(1, 3), np.asarray([3, 0])),
    (np.asarray([1, 2]), 3),
]


@pytest.mark.parametrize("format", FORMATS)
def test_parts(library: Library, format: str) -> None:
    a, x = example(library, format)
    for index in INDICES + ([] if library.lazy else CONCRETE):
        given = tuple(_item(library, each) for each in index) if isinstance(index, tuple) else _item(library, index)
        found, expected = a[given], x[index]
        if isinstance(found, sparse.Sparse):
            assert_means(library, found, expected, format if expected.ndim == 2 else "coo")
        else:
            library.assert_equal(found, expected)


def _item(library: Library, item: Any) -> Any:
    return library.asarray(item) if isinstance(item, np.ndarray) else item


def test_parts_at_random(library: Library) -> None:
    bounds = st.none() | st.integers(-5, 5)
    slices = st.builds(slice, bounds, bounds, st.sampled_from([None, 1, 2, -1, -2]))

    @settings(max_examples=examples(library), deadline=None)
    @given(matrices(), slices, slices)
    def check(problem: Any, first: slice, second: slice) -> None:
        a, x = made(library, problem)
        assert_means(library, a[first, second], x[first, second], a.format)

    check()


def test_parts_of_batches(library: Library) -> None:
    a, x = example(library)
    b, y = made(library, OTHER)
    both = np.stack([x, y])
    batch = sparse.stack([a, b])
    for index in (0, (0, 1), (slice(None), slice(None, None, -1), slice(0, 2)), (..., 1), (1, 2, 0)):
        found = batch[index]
        library.assert_equal(found.todense() if isinstance(found, sparse.Sparse) else found, both[index])
    rows = library.asarray(np.asarray([1, 2]))
    library.assert_equal(batch[:, rows, 1], both[:, [1, 2], 1])


def test_parts_of_batch_and_dense_axes(library: Library) -> None:
    values, rows = np.arange(12.0).reshape(2, 2, 3), np.asarray([[0, 3], [1, 1]])
    x = np.zeros((2, 4, 3))
    np.add.at(x, (np.asarray([[0], [1]]), rows), values)
    a = sparse.COO(library.asarray(values), (library.asarray(rows),), (2, 4, 3), dense_ndim=1)
    full = slice(None)
    for part in (slice(-9, 9), slice(None, None, -1), slice(1, -9, -1), slice(5, 7), slice(7, 0, -2), np.int64(-1)):
        assert_means(library, a[part], x[part])
        assert_means(library, a[full, full, part], x[:, :, part])
        assert_means(library, a[part, ::2, ::-1], x[part][..., ::2, ::-1])
    for index in (2, (full, 0, 3), (-3,), (full, full, -4)):
        with pytest.raises(IndexError, match="getitem: index .* is out of bounds"):
            a[index]
    with pytest.raises(TypeError, match="takes integers and slices for batch and dense axes"):
        a[library.asarray(np.asarray([0, 1]))]


# Building


def test_building(library: Library) -> None:
    xp, device = library.xp, library.device
    for arguments in ((3,), (2, 4), (4, 2), (0, 3)):
        for k in (-5, -1, 0, 2):
            for format in FORMATS:
                found = sparse.eye(*arguments, xp=xp, k=k, device=device, dtype=xp.float32, format=format)
                assert_means(library, found, np.eye(*arguments, k=k, dtype=np.float32), format)
    values = [np.asarray([1.0, 2.0, 3.0]), np.asarray([4.0]), np.asarray([5.0, 6.0])]
    given = [library.asarray(x) for x in values]
    dense = np.diag(values[0]) + np.diag(np.full(2, 4.0), -1) + np.diag(values[2], 1)
    assert_means(library, sparse.diags(given, offsets=(0, -1, 1)), dense, "csr")
    wide = sparse.diags([library.asarray(np.ones((2, 1)))], offsets=(1,), shape=(2, 5), format="csc")
    assert_means(library, wide, np.stack([np.eye(2, 5, 1)] * 2), "csc")


@pytest.mark.parametrize("format", FORMATS)
def test_joining(library: Library, format: str) -> None:
    a, x = example(library, format)
    b, y = made(library, (format, *OTHER[1:]))
    assert_means(library, sparse.kron(a, b), np.kron(x, y), format)
    assert_means(library, sparse.concat([a, b, a]), np.concatenate([x, y, x]), format)
    assert_means(library, sparse.concat([a, b], axis=-1), np.concatenate([x, y], axis=-1), format)
    assert_means(library, sparse.block([[a, None], [b, a]]), np.block([[x, np.zeros((3, 4))], [y, x]]), format)
    assert_means(library, sparse.block_diag([a, b]), scipy.linalg.block_diag(x, y), format)
    assert_means(library, sparse.stack([a, b]), np.stack([x, y]), format)
    assert_means(library, sparse.stack([a, b], as_batch=False), np.stack([x, y]), "coo")
    same = sparse.stack([a, 2 * a])
    assert all(i is j for i, j in zip(same.pattern, a.pattern))
    assert_means(library, same, np.stack([x, 2 * x]), format)
    mixed = sparse.stack([a, b])
    assert_means(library, sparse.kron(mixed, b), np.stack([np.kron(x, y), np.kron(y, y)]), format)
    assert_means(library, sparse.concat([mixed, a], axis=1), np.stack([np.concatenate([z, x]) for z in (x, y)]), format)
    assert_means(library, sparse.transpose(mixed, (0, 2, 1)), np.stack([x.T, y.T]))
    assert_means(library, sparse.sum_duplicates(mixed), np.stack([x, y]), format)
    assert_means(library, sparse.tril(mixed), np.tril(np.stack([x, y])), format)


# Transformations, with patterns as arguments


def _case(operation: Any) -> Case:
    def function(values: Any, rows: Any, columns: Any) -> Any:
        found = operation(sparse.COO(values, (rows, columns), (3, 4)))
        return found.todense() if isinstance(found, sparse.Sparse) else found

    reference = lambda *parts: np.asarray(function(*parts))
    return Case(function, (VALUES, ROWS, COLUMNS), reference=reference, differentiable=(0,))


CASES = {
    "sum_duplicates": _case(lambda a: sparse.sum_duplicates(a.tocsr())),
    "reshape": _case(lambda a: sparse.reshape(sparse.tril(a), (2, 6))),
    "slices": _case(lambda a: a.tocsr()[1:, ::-2]),
    "element": _case(lambda a: a[2, 1]),
    "kron": _case(lambda a: sparse.kron(a, a)),
    "block": _case(lambda a: sparse.block_diag([a, a.T])),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_values(library: Library, case: Case) -> None:
    check_values(library, case)


@checked(CASES)
def test_transformations(case: Case, transformation: Check) -> None:
    transformation(case)


def test_patterns_as_arguments() -> None:
    import jax

    library = library_of_name("jax")
    a, x = example(library)
    found = jax.jit(lambda a: sparse.sum_duplicates(a)[1:])(a)
    assert found.nse == a.nse
    assert_means(library, found, x[1:], "csr")
    for function in (sparse.eliminate_zeros, lambda a: a[np.asarray([0, 1])], lambda a: a[a.values > 0]):
        with pytest.raises((TypeError, IndexError)):
            jax.jit(function)(a)


# Bad input


def test_errors(library: Library) -> None:
    a, _ = example(library)
    batch = a.with_values(library.xp.stack([a.values, a.values]))
    xp = library.xp
    eye = lambda *sizes: sparse.eye(*sizes, xp=xp, device=library.device)
    if not library.lazy:
        with pytest.raises(ValueError, match="sum_duplicates: nse=1 is too few for the 4 different positions"):
            sparse.sum_duplicates(a, nse=1)
        with pytest.raises(IndexError, match="the mask of shape"):
            a[library.asarray(np.asarray([True]))]
        with pytest.raises(IndexError, match="getitem: index 7 is out of bounds for axis 0 of size 3"):
            a[library.asarray(np.asarray([7]))]
    else:
        with pytest.raises(TypeError, match="eliminate_zeros: the number of nonzero"):
            sparse.eliminate_zeros(a)
        with pytest.raises(TypeError, match="getitem: the number of elements that a mask selects"):
            a[library.asarray(np.asarray([True, False, True]))]
        with pytest.raises(TypeError, match="getitem: the number of entries"):
            a[library.asarray(np.asarray([1]))]
    for function in (sparse.sort, sparse.sum_duplicates, sparse.eliminate_zeros, sparse.tril, sparse.transpose):
        with pytest.raises(TypeError, match="a must be sparse"):
            function(library.asarray(np.ones((2, 2))))
    with pytest.raises(TypeError, match="tril: k must be an integer"):
        sparse.tril(a, k=0.5)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="transpose: axes must be given"):
        sparse.transpose(batch)
    with pytest.raises(ValueError, match="transpose: axes="):
        sparse.transpose(batch, (1, 0, 2))
    with pytest.raises(ValueError, match="reshape: shape"):
        sparse.reshape(a, (5, 2))
    with pytest.raises(ValueError, match="reshape: shape"):
        sparse.reshape(batch, (24,))
    with pytest.raises(IndexError, match="getitem: index 3 is out of bounds for axis 0 of size 3"):
        a[3]
    with pytest.raises(IndexError, match="too many indices"):
        a[0, 0, 0]
    with pytest.raises(IndexError, match="ellipses"):
        a[..., ...]
    with pytest.raises(TypeError, match="index holds None"):
        a[None]
    with pytest.raises(TypeError, match="index holds"):
        a[[0, 1]]
    with pytest.raises(TypeError, match="index must have a boolean or integer data type"):
        a[library.asarray(np.asarray([0.5]))]
    with pytest.raises(TypeError, match="takes integers and slices for batch and dense axes"):
        batch[library.asarray(np.asarray([0]))]
    with pytest.raises(ValueError, match="concat: axis=0 must be one of the 2 sparse axes"):
        sparse.concat([batch, batch])
    with pytest.raises(ValueError, match="concat: takes arrays whose sizes are the same"):
        sparse.concat([eye(2), eye(3)])
    with pytest.raises(ValueError, match="concat: takes one sparse array at least"):
        sparse.concat([])
    with pytest.raises(TypeError, match=r"concat: arrays\[1\] must be sparse"):
        sparse.concat([a, library.asarray(np.ones((3, 4)))])  # type: ignore[list-item]
    with pytest.raises(ValueError, match="stack: takes arrays of one shape"):
        sparse.stack([eye(2), eye(3)])
    with pytest.raises(ValueError, match="stack: a new sparse axis"):
        sparse.stack([batch, batch], as_batch=False)
    with pytest.raises(ValueError, match="block: blocks of row 0 must have one size"):
        sparse.block([[eye(2), eye(3)]])
    with pytest.raises(ValueError, match="no block at all"):
        sparse.block([[eye(2), None]])
    with pytest.raises(ValueError, match="block: rows must have as many blocks"):
        sparse.block([[eye(2)], []])
    with pytest.raises(TypeError, match="block: blocks must be a list of lists"):
        sparse.block(eye(2))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="block_diag: arrays must be a list"):
        sparse.block_diag([])
    with pytest.raises(ValueError, match="kron: takes sparse arrays of as many axes"):
        sparse.kron(a, sparse.reshape(a, (12,)))
    with pytest.raises(ValueError, match=r"eye: rows must be at least 0"):
        eye(-1)
    with pytest.raises(ValueError, match="diags: offsets must name a diagonal"):
        sparse.diags([a.values], offsets=(0, 1))
    with pytest.raises(ValueError, match=r"diags: diagonals\[0\] must have 2 elements"):
        sparse.diags([a.values], shape=(2, 2))
    with pytest.raises(TypeError, match="diags: diagonals must be a list"):
        sparse.diags(a.values)


@pytest.mark.parametrize("format", ["coo", "csr", "csc"])
def test_assembly_in_one_pass(library: Library, format: str) -> None:
    rng = np.random.default_rng(2)
    rows, columns, values = rng.integers(0, 6, 40), rng.integers(0, 5, 40), rng.standard_normal(40)
    expected = np.zeros((6, 5))
    np.add.at(expected, (rows, columns), values)
    coo = sparse.COO(library.asarray(values), tuple(library.asarray(x) for x in (rows, columns)), (6, 5))
    found = sparse.sum_duplicates(coo, format=format)
    assert (found.format, found.is_unique) == (format, True)
    # Where the pattern isn't known, there is padding.
    assert found.nse == (40 if library.lazy else len(set(zip(rows.tolist(), columns.tolist()))))
    library.assert_equal(found.todense(), expected, rtol=1e-14, atol=1e-14)
    with pytest.raises(ValueError, match="sum_duplicates: format must be one of"):
        sparse.sum_duplicates(coo, format="dia")
