"""Tests for the rows of docs/coverage/*.toml about conversion."""

from typing import Any

import numpy as np
import pytest
import scipy.sparse

import xpand
from tests.coverage import A, Row
from tests.libraries import Library
from xpand_extensions import convert, sparse


def to_numpy(library: Library) -> None:
    made = convert.to_numpy(library.asarray(A))
    assert type(made) is np.ndarray
    np.testing.assert_array_equal(made, A)
    places = library.asarray(np.arange(3))
    diagonal = sparse.COO(library.asarray(A[0]), (places, places), (3, 3))
    parts = convert.to_numpy(diagonal)
    assert isinstance(parts, sparse.COO)
    np.testing.assert_array_equal(sparse.todense(parts), np.diag(A[0]))
    if library.id.startswith(("torch", "jax", "cupy")):
        theirs = convert.to_numpy(sparse.to_native(diagonal))
        assert isinstance(theirs, scipy.sparse.coo_array)
        np.testing.assert_array_equal(theirs.toarray(), np.diag(A[0]))


def converted(library: Library) -> None:
    tree = {"x": np.array(A), "a": sparse.from_dense(np.diag(A[0])), "name": "x"}
    made = convert.convert(tree, library.xp, device=library.device)
    library.assert_equal(made["x"], A)
    library.assert_equal(sparse.todense(made["a"]), np.diag(A[0]))
    assert made["name"] == "x"


def to_binary(library: Library) -> None:
    x = library.asarray(A)
    assert convert.to_bytes(x) == A.tobytes()
    assert convert.to_bytes(x, limit=2) == A.tobytes()[:16]


def from_binary(library: Library) -> None:
    made = convert.from_bytes(A.tobytes(), "float64", xp=library.xp, device=library.device)
    library.assert_equal(made, A.reshape(-1))


def pointers(library: Library) -> None:
    if library.lazy:
        with pytest.raises(xpand.UnsupportedError):
            convert.pointer(library.asarray(A))
        return
    x = library.asarray(A)
    pointer = convert.pointer(x)
    assert pointer.shape == A.shape
    assert pointer.owner is x
    made: Any = convert.from_pointer(pointer, xp="numpy")
    np.testing.assert_array_equal(made, A)
    assert convert.pointer(made).address == pointer.address


PHIML: dict[str, Row] = {"Backend.numpy": to_numpy, "convert": converted}

NX: dict[str, Row] = {
    "to_binary": to_binary,
    "from_binary": from_binary,
    "to_pointer": pointers,
    "from_pointer": pointers,
}
