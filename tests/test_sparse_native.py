"""Sparse arrays of libraries' own, to and from containers."""

import operator

import jax.numpy as jnp
import numpy as np
import pytest
import scipy.sparse
import torch
from jax.experimental import sparse as jax_sparse

import xpand
from tests.libraries import Library
from xpand_extensions import sparse
from xpand_extensions.autodiff import grad

pytestmark = [
    pytest.mark.filterwarnings("ignore:Sparse [BC]S[RC] tensor support is in beta"),
    pytest.mark.filterwarnings("ignore:bcoo_.*:UserWarning"),
]

DENSE = np.asarray([[0.0, 1.0, 0.0, 2.0], [3.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]])
BATCH = np.stack([DENSE, np.roll(DENSE, 1)])


@pytest.mark.parametrize("kind", ["array", "matrix"])
@pytest.mark.parametrize("format", ["coo", "csr", "csc", "dia", "lil", "dok", "bsr"])
def test_scipy(format: str, kind: str) -> None:
    x = getattr(scipy.sparse, f"csr_{kind}")(DENSE).asformat(format)
    assert sparse.is_sparse(x)
    assert sparse.sparse_format(x) == format
    a = sparse.from_native(x)
    np.testing.assert_array_equal(a.todense(), DENSE)
    assert (a.is_sorted, a.is_unique) == (True, True)
    if format in ("coo", "csr", "csc"):
        assert a.format == format
        assert np.shares_memory(a.values, x.data)
        parts = x.coords if format == "coo" else (x.indices, x.indptr)
        assert all(np.shares_memory(found, given) for found, given in zip(a.pattern, parts))
    back = sparse.to_native(a)
    assert back.format == a.format
    assert back.data is a.values
    np.testing.assert_array_equal(back.toarray(), DENSE)


def test_scipy_of_other_axes_and_indices() -> None:
    x = scipy.sparse.coo_array((np.ones(2), (np.asarray([0, 1]), np.asarray([2, 0]), np.asarray([1, 1]))), (2, 3, 4))
    a = sparse.from_native(x)
    np.testing.assert_array_equal(a.todense(), x.todense())
    np.testing.assert_array_equal(sparse.to_native(a).todense(), x.todense())
    line = sparse.from_native(scipy.sparse.csr_array(np.asarray([0.0, 3.0])))
    np.testing.assert_array_equal(line.todense(), [0.0, 3.0])
    # Indices of 64 bits stay so, without a copy; of two data types SciPy makes one.
    for dtype in (np.int64, np.int32):
        a = sparse.CSR(np.ones(1), np.asarray([2], dtype=np.int64), np.asarray([0, 1, 1], dtype=dtype), (2, 3))
        back = sparse.to_native(a)
        assert np.shares_memory(back.indices, a.indices)
        assert back.indices.dtype == back.indptr.dtype
        np.testing.assert_array_equal(back @ np.ones(3), [1.0, 0.0])


def test_scipy_is_told_no_more_than_is_promised() -> None:
    unsorted = scipy.sparse.csr_array((np.ones(3), np.asarray([2, 0, 0]), np.asarray([0, 3])), (1, 3))
    a = sparse.from_native(unsorted)
    assert (a.is_sorted, a.is_unique) == (False, False)
    assert not sparse.to_native(a).has_sorted_indices
    coo = scipy.sparse.coo_array((np.ones(2), (np.asarray([1, 1]), np.asarray([0, 0]))), (2, 2))
    assert not sparse.from_native(coo).is_unique
    np.testing.assert_array_equal(sparse.to_native(sparse.from_native(coo)).toarray(), [[0, 0], [2, 0]])


def test_padding_does_not_reach_memory_outside() -> None:
    a = sparse.COO(np.asarray([1.0, 9.0]), (np.asarray([0, 2]), np.asarray([1, 2])), (2, 2), check=False)
    np.testing.assert_array_equal(sparse.to_native(a).toarray(), [[0, 1], [0, 0]])
    np.testing.assert_array_equal(sparse.to_native(a, format="csr").toarray(), [[0, 1], [0, 0]])
    padded = sparse.CSR(np.asarray([1.0, 9.0]), np.asarray([1, 0]), np.asarray([0, 1, 1]), (2, 2))
    assert sparse.to_native(padded).nnz == 1


@pytest.mark.parametrize("layout", ["coo", "csr", "csc"])
def test_pytorch(layout: str) -> None:
    x = getattr(torch.tensor(DENSE), f"to_sparse_{layout}")()
    assert sparse.sparse_format(x) == layout
    a = sparse.from_native(x)
    assert a.values.data_ptr() == x.values().data_ptr()
    assert (a.is_sorted, a.is_unique) == (True, True)
    assert torch.equal(a.todense(), torch.tensor(DENSE))
    back = sparse.to_native(a)
    assert back.layout is x.layout
    assert back.values().data_ptr() == a.values.data_ptr()
    assert torch.equal(back.to_dense(), x.to_dense())
    assert not sparse.is_sparse(torch.tensor(DENSE))
    assert sparse.sparse_format(torch.tensor(DENSE)) == "dense"


def test_pytorch_batches_and_dense_axes() -> None:
    batch = torch.tensor(BATCH)
    for layout in ("csr", "csc"):
        x = getattr(torch.tensor(np.stack([DENSE, 2 * DENSE])), f"to_sparse_{layout}")()
        a = sparse.from_native(x)
        assert a.shape == (2, 3, 4)
        assert torch.equal(a.todense(), x.to_dense())
        assert torch.equal(sparse.to_native(a).to_dense(), x.to_dense())
        # One pattern for all, which PyTorch repeats.
        shared = sparse.convert(sparse.from_dense(batch, "coo", batch_ndim=1), layout)
        assert torch.equal(sparse.to_native(shared).to_dense(), batch)
    hybrid = torch.tensor(BATCH).to_sparse(2)
    a = sparse.from_native(hybrid)
    assert (a.sparse_ndim, a.dense_ndim) == (2, 1)
    assert torch.equal(a.todense(), hybrid.to_dense())
    assert torch.equal(sparse.to_native(a).to_dense(), hybrid.to_dense())
    blocks = torch.eye(4).to_sparse_bsr((2, 2))
    assert sparse.sparse_format(blocks) == "bsr"
    assert torch.equal(sparse.from_native(blocks).todense(), torch.eye(4))
    with pytest.raises(ValueError, match="from_native: PyTorch can't convert batches of blocks"):
        sparse.from_native(torch.stack([torch.eye(4)] * 2).to_sparse_bsr((2, 2)))
    with pytest.raises(ValueError, match="to_native: sparse arrays of PyTorch have no batch axes"):
        sparse.to_native(sparse.from_dense(batch, "coo", batch_ndim=1))


def test_pytorch_uncoalesced_and_its_derivative() -> None:
    values = torch.tensor([1.0, 2.0, 4.0], requires_grad=True)
    x = torch.sparse_coo_tensor(torch.tensor([[0, 0, 1], [1, 1, 0]]), values, (2, 2), check_invariants=True)
    a = sparse.from_native(x.detach())
    assert a.is_unique
    assert torch.equal(a.todense(), x.detach().to_dense())
    sparse.from_native(x).todense().square().sum().backward()
    assert torch.equal(values.grad, torch.tensor([6.0, 6.0, 8.0]))


@pytest.mark.parametrize("name", ["BCOO", "BCSR", "COO", "CSR", "CSC"])
def test_jax(name: str) -> None:
    x = getattr(jax_sparse, name).fromdense(jnp.asarray(DENSE))
    assert sparse.sparse_format(x) == name.lower()
    a = sparse.from_native(x)
    assert a.values is x.data
    np.testing.assert_array_equal(a.todense(), DENSE)
    back = sparse.to_native(a)
    assert type(back).__name__ == {"coo": "BCOO", "csr": "BCSR", "csc": "CSC"}[a.format]
    assert back.data is a.values
    np.testing.assert_array_equal(back.todense(), DENSE)


def test_jax_padding_batches_and_dense_axes() -> None:
    for x in (
        jax_sparse.BCOO.fromdense(jnp.asarray(DENSE), nse=7),
        jax_sparse.BCOO.fromdense(jnp.asarray(BATCH), n_batch=1),
        jax_sparse.BCSR.fromdense(jnp.asarray(BATCH), n_batch=1),
        jax_sparse.BCOO.fromdense(jnp.asarray(BATCH), n_dense=1),
        jax_sparse.BCSR.fromdense(jnp.asarray(BATCH), n_dense=1),
    ):
        a = sparse.from_native(x)
        assert a.shape == x.shape
        np.testing.assert_array_equal(a.todense(), x.todense())
        np.testing.assert_array_equal(sparse.to_native(a).todense(), x.todense())
    # One pattern for all stays one.
    for format in ("coo", "csr"):
        shared = sparse.convert(sparse.from_dense(jnp.asarray(BATCH), "coo", batch_ndim=1), format)
        native = sparse.to_native(shared)
        assert native.indices.shape[0] == 1
        assert sparse.from_native(native).pattern[0].ndim == 1
        np.testing.assert_array_equal(native.todense(), BATCH)
    with pytest.raises(ValueError, match="to_native: sparse arrays of JAX have no batch axes"):
        sparse.to_native(shared, format="csc")
    with pytest.raises(ValueError, match="from_native: a BCOO without sparse axes"):
        sparse.from_native(jax_sparse.BCOO.fromdense(jnp.asarray(DENSE), n_dense=2))


@pytest.mark.parametrize(
    "native",
    [
        scipy.sparse.csr_array(DENSE),
        torch.tensor(DENSE).to_sparse_coo(),
        jax_sparse.BCOO.fromdense(jnp.asarray(DENSE)),
    ],
    ids=["scipy", "torch", "jax"],
)
def test_functions_take_native_arrays(native: object) -> None:
    a = sparse.from_native(native)
    xp = xpand.array_namespace(a.values)
    x = xp.arange(4, dtype=a.dtype)
    np.testing.assert_array_equal(np.asarray(sparse.matmul(native, x)), DENSE @ np.arange(4.0))
    np.testing.assert_array_equal(np.asarray(sparse.todense(sparse.matrix_transpose(native))), DENSE.T)
    assert sparse.from_native(a) is a
    assemble, arrays = sparse.disassemble({"a": native, "n": 3})
    again = assemble(*map(operator.neg, arrays[:1]), *arrays[1:])
    assert type(again["a"]).__module__.partition(".")[0] == type(native).__module__.partition(".")[0]
    np.testing.assert_array_equal(np.asarray(sparse.todense(again["a"])), -DENSE)
    assert again["n"] == 3
    with pytest.raises(ValueError, match="assemble: takes as many arrays as `disassemble` found"):
        assemble(*arrays[1:])


def test_wrong_arguments(library: Library) -> None:
    x = library.asarray(DENSE)
    with pytest.raises(TypeError, match="from_native: x must be a sparse array of a library's own"):
        sparse.from_native(x)
    with pytest.raises(TypeError, match="to_native: a must be a container"):
        sparse.to_native(x)
    a = sparse.COO(library.asarray([1.0]), (library.asarray([0]), library.asarray([1])), (2, 2), check=False)
    with pytest.raises(ValueError, match="to_native: format"):
        sparse.to_native(a, format="dia")
    if library.id.startswith(("strict", "dask")):
        with pytest.raises(xpand.UnsupportedError, match="to_native: not available"):
            sparse.to_native(a)


def test_derivatives_take_containers() -> None:
    x = scipy.sparse.csr_array(DENSE)
    with pytest.raises(TypeError, match="grad: the arguments hold .*csr_array.*; convert it with `sparse.from_native`"):
        grad(lambda a: a.sum())(x)
