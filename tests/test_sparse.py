"""Containers: what they are made of, what is checked, and conversions between formats."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from tests.libraries import LIBRARIES, Library
from xpand_extensions import sparse
from xpand_extensions.jit import jit

FORMATS = ["coo", "csr", "csc"]
DENSE = np.asarray([[0.0, 1.0, 0.0, 2.0], [3.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]])


def ints(library: Library, values: Any) -> Any:
    return library.asarray(np.asarray(values, dtype=np.int64))


def coo(library: Library, coords: Any = ((0, 0, 1), (1, 3, 0)), shape: Any = (3, 4), **options: Any) -> sparse.COO:
    values = library.asarray(np.asarray([1.0, 2.0, 3.0]))
    return sparse.COO(values, tuple(ints(library, x) for x in coords), shape, **options)


def csr(library: Library, indices: Any = (1, 3, 0), indptr: Any = (0, 2, 3, 3), **options: Any) -> sparse.CSR:
    values = library.asarray(np.asarray([1.0, 2.0, 3.0]))
    return sparse.CSR(values, ints(library, indices), ints(library, indptr), (3, 4), **options)


def test_attributes(library: Library) -> None:
    for a in (coo(library), csr(library, is_sorted=True, is_unique=True), sparse.tocsc(csr(library))):
        assert (a.shape, a.ndim, a.nse) == ((3, 4), 2, 3)
        assert (a.batch_ndim, a.sparse_ndim, a.dense_ndim) == (0, 2, 0)
        assert a.dtype == library.xp.float64
        assert sparse.is_sparse(a)
        assert sparse.sparse_format(a) == a.format
        assert repr(a) == f"<{type(a).__name__} of shape (3, 4), 3 entries of float64>"
        library.assert_equal(a.todense(), DENSE)
        library.assert_equal(a.with_values(2 * a.values).todense(), 2 * DENSE)
    assert not sparse.is_sparse(library.asarray(DENSE))
    assert sparse.sparse_format(library.asarray(DENSE)) == "dense"


def test_batches_and_dense_axes(library: Library) -> None:
    values = np.arange(1.0, 13.0).reshape(2, 3, 2)
    a = sparse.COO(library.asarray(values), (ints(library, [0, 2, 2]),), (2, 3, 2), dense_ndim=1)
    expected = np.zeros((2, 3, 2))
    expected[:, 0], expected[:, 2] = values[:, 0], values[:, 1] + values[:, 2]
    assert (a.batch_ndim, a.sparse_ndim, a.dense_ndim, a.nse) == (1, 1, 1, 3)
    library.assert_equal(a.todense(), expected)


@pytest.mark.parametrize("dtype", ["float32", "complex128", "int8", "uint8", "int64", "bool"])
def test_data_types(library: Library, dtype: str) -> None:
    dense = (DENSE != 0) if dtype == "bool" else DENSE
    for format in FORMATS:
        if library.lazy:
            continue
        a = sparse.from_dense(library.asarray(dense, dtype), format)
        library.assert_equal(a.todense(), dense.astype(dtype))


def check_conversions(library: Library, dense: np.ndarray) -> None:
    for first in FORMATS:
        a = sparse.from_dense(library.asarray(dense), first)
        assert a.nse == np.count_nonzero(dense)
        for second in FORMATS:
            found = sparse.convert(a, second)
            assert found.format == second
            library.assert_equal(sparse.todense(found), dense)
            library.assert_equal(sparse.todense(sparse.matrix_transpose(found)), dense.T)


@pytest.mark.parametrize("lib", [each for each in LIBRARIES if not each.lazy], ids=str)
@settings(max_examples=8)
@given(data=st.data())
def test_conversions(lib: Library, data: st.DataObject) -> None:
    shape = data.draw(st.tuples(st.integers(0, 4), st.integers(0, 4)))
    values = data.draw(st.lists(st.integers(-1, 1), min_size=shape[0] * shape[1], max_size=shape[0] * shape[1]))
    check_conversions(lib, np.asarray(values, dtype=np.float64).reshape(shape))


def test_entries_of_one_place_are_summed(library: Library) -> None:
    a = coo(library, ((1, 1, 0), (2, 2, 0)))
    expected = np.zeros((3, 4))
    expected[1, 2], expected[0, 0] = 3.0, 3.0
    for format in FORMATS:
        library.assert_equal(sparse.convert(a, format).todense(), expected)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda lib: coo(lib, ((0, 0, 3), (1, 3, 0))), IndexError, r"COO: coords\[0\] holds 3, .* axis of size 3"),
        (lambda lib: coo(lib, ((0, 0, 1), (1, -1, 0))), IndexError, r"COO: coords\[1\] holds -1"),
        (lambda lib: csr(lib, (1, 4, 0)), IndexError, "CSR: indices holds 4, .* axis of size 4"),
        (lambda lib: csr(lib, indptr=(1, 2, 3, 3)), ValueError, "CSR: indptr must begin with 0"),
        (lambda lib: csr(lib, indptr=(0, 2, 3, 4)), ValueError, "CSR: indptr must begin with 0 and end with at most"),
        (lambda lib: csr(lib, indptr=(0, 3, 2, 3)), ValueError, "CSR: indptr must never fall"),
        (lambda lib: csr(lib, (3, 1, 0), is_sorted=True), ValueError, "CSR: is_sorted=True, but the entries"),
        (lambda lib: csr(lib, (1, 1, 0), is_unique=True), ValueError, "CSR: is_unique=True, but two entries"),
        (
            lambda lib: coo(lib, ((1, 0, 0), (0, 1, 3)), is_sorted=True),
            ValueError,
            "COO: is_sorted=True, but the entries",
        ),
        (
            lambda lib: coo(lib, ((1, 0, 1), (0, 1, 0)), is_unique=True),
            ValueError,
            "COO: is_unique=True, but two entries",
        ),
    ],
)
def test_patterns_are_checked(eager_library: Library, make: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        make(eager_library)


def test_wrong_parts(library: Library) -> None:
    values, index = library.asarray(np.ones(3)), ints(library, [0, 1, 2])
    ends = ints(library, [0, 1, 2, 3])
    with pytest.raises(TypeError, match="COO: coords must be a tuple"):
        sparse.COO(values, index, (3,))
    with pytest.raises(TypeError, match="COO: coords must be a tuple"):
        sparse.COO(values, (), (3,))
    with pytest.raises(TypeError, match=r"COO: coords\[0\]"):
        sparse.COO(values, (values,), (3,))
    with pytest.raises(TypeError, match="COO: values must be an array"):
        sparse.COO([1.0, 2.0, 3.0], (index,), (3,))
    with pytest.raises(ValueError, match="COO: shape"):
        sparse.COO(values, (index,), (3, 3))
    with pytest.raises(ValueError, match=r"COO: coords\[0\] must have the shape"):
        sparse.COO(values, (index[:2],), (3,))
    with pytest.raises(ValueError, match="COO: values must have an axis of entries"):
        sparse.COO(values, (index,), (3,), dense_ndim=1)
    with pytest.raises(TypeError, match="COO: is_sorted"):
        sparse.COO(values, (index,), (3,), is_sorted=1)
    for cls in (sparse.CSR, sparse.CSC):
        name = cls.__name__
        with pytest.raises(TypeError, match=f"{name}: indices"):
            cls(values, values, ends, (3, 3))
        with pytest.raises(ValueError, match=rf"{name}: indptr must have the shape \(4,\)"):
            cls(values, index, index, (3, 3))
        with pytest.raises(ValueError, match=f"{name}: shape"):
            cls(values, index, ends, (3,))
        with pytest.raises(ValueError, match=f"{name}: indices must have the shape"):
            cls(values, index[:2], ends, (3, 3))
    a = csr(library)
    with pytest.raises(ValueError, match="CSR.with_values: values must have the shape"):
        a.with_values(values[:2])
    with pytest.raises(TypeError, match="tocsr: a must be sparse"):
        sparse.tocsr(values)
    with pytest.raises(TypeError, match="todense: a must be an array or a sparse container"):
        sparse.todense("a")
    with pytest.raises(ValueError, match="convert: format"):
        sparse.convert(a, "dia")
    with pytest.raises(ValueError, match="tocsr: a must have two sparse axes"):
        sparse.tocsr(sparse.COO(values, (index,), (3,)))


def test_two_libraries_and_two_devices() -> None:
    by_id = {library.id: library for library in LIBRARIES}
    values, index = by_id["numpy"].asarray(np.ones(1)), ints(by_id["torch"], [0])
    with pytest.raises(TypeError, match="COO: takes arrays of one library"):
        sparse.COO(values, (index,), (3,))
    values, index = by_id["strict"].asarray(np.ones(1)), ints(by_id["strict-device1"], [0])
    with pytest.raises(ValueError, match="COO: takes arrays on one device"):
        sparse.COO(values, (index,), (3,))


def test_traced_patterns_are_not_checked(library: Library) -> None:
    # Out of bounds counts as padding.
    values, index = library.asarray(np.asarray([1.0, 2.0])), ints(library, [1, 5])
    found = jit(lambda v, i: sparse.COO(v, (i,), (3,), is_sorted=True, is_unique=True).todense())(values, index)
    library.assert_equal(found, np.asarray([0.0, 1.0, 0.0]))


def test_from_dense_with_room(library: Library) -> None:
    for format in FORMATS:
        a = sparse.from_dense(library.asarray(DENSE), format, nse=5)
        assert a.nse == 5 or format != "coo"
        library.assert_equal(a.todense(), DENSE)
    with pytest.raises(ValueError, match="from_dense: 2 axes with batch_ndim=1"):
        sparse.from_dense(library.asarray(DENSE), batch_ndim=1)
    if library.lazy:
        with pytest.raises(TypeError, match="from_dense: the number of nonzero elements .* give `nse`"):
            sparse.from_dense(library.asarray(DENSE))
    else:
        with pytest.raises(ValueError, match="from_dense: nse=2 is too few for the 3 nonzero elements"):
            sparse.from_dense(library.asarray(DENSE), nse=2)


def test_data_types_and_devices(library: Library) -> None:
    a = sparse.from_dense(library.asarray(DENSE), "coo", nse=5)
    assert a.astype(library.xp.float32).dtype == library.xp.float32
    moved = a.to_device(library.expected_device)
    assert moved.device == a.device
    library.assert_equal(moved.todense(), DENSE)


def test_another_device() -> None:
    by_id = {library.id: library for library in LIBRARIES}
    there = by_id["strict-device1"].device
    moved = sparse.from_dense(by_id["strict"].asarray(DENSE)).to_device(there)
    assert {x.device for x in (moved.values, *moved.pattern)} == {there}
    by_id["strict-device1"].assert_equal(moved.todense(), DENSE)
