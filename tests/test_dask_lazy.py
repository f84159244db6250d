"""Every operation on Dask: nothing is computed, and the declared shapes and data types are those of the values.

The cases are those of all test files, see `tests.wrong_device`.
"""

import itertools
import math
import warnings
from typing import Any

import numpy as np
import pytest

from tests.cases import Case
from tests.laziness import nothing_computed
from tests.wrong_device import KEY, cases, failures, modules, more
from xpand import trees

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")

NOT_LAZY = {
    "from_bytes": "bytes are values",
    "krylov": "test_lazy_solvers has it, with few steps",
    "minimize": "needs a number of steps: test_lazy_solvers",
    "product of two csr": "the number of entries depends on values",
    "root": "as minimize",
    "root, differentiated": "as minimize",
    "sparse 0": "factors of sparse matrices are made on the host",
}


def _is_declared(x: Any) -> None:
    values = np.asarray(x)
    assert x.dtype == values.dtype, f"declared {x.dtype}, and computed {values.dtype}"
    assert x._meta.ndim == x.ndim == values.ndim
    sizes = itertools.zip_longest(x.shape, values.shape)
    assert all(math.isnan(size) or size == found for size, found in sizes), f"declared {x.shape}, not {values.shape}"


def _is_lazy(case: Case) -> None:
    arrays = [da.from_array(np.asarray(x), chunks=2) for x in case.arrays]
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with nothing_computed():
            found = case.function(*arrays)
        for x in trees.leaves(found):
            if isinstance(x, da.Array):
                _is_declared(x)


def _lazy(cases: dict[str, Case]) -> dict[str, Case]:
    return {name: case for name, case in cases.items() if name not in NOT_LAZY}


@pytest.mark.parametrize("module", modules())
def test_operations_are_lazy(module: str) -> None:
    found = failures(_lazy(cases(module)), _is_lazy)
    assert not found, "\n".join(found)


def test_more_operations_are_lazy() -> None:
    found = failures(_lazy(more()), _is_lazy)
    assert not found, "\n".join(found)


def test_random_numbers_do_not_depend_on_chunks() -> None:
    def check(case: Case) -> None:
        expected = case.function(*case.arrays)
        with dask.config.set({"array.chunk-size": "8B"}):  # the chunks of one element
            found = case.function(*[da.from_array(x, chunks=1) for x in case.arrays])
        for x, values in zip(trees.leaves(found), trees.leaves(expected), strict=True):
            np.testing.assert_allclose(np.asarray(x), values, rtol=1e-12)

    of_keys = {name: case for name, case in more().items() if case.arrays[0] is KEY}
    assert len(of_keys) > 40
    found = failures(of_keys, check)
    assert not found, "\n".join(found)
