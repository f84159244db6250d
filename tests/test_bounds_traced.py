"""Indices out of bounds in traced functions are dropped, on every library, by every function that has a mode."""

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from tests.libraries import LIBRARIES, Library
from xpand import trees
from xpand_extensions import histograms, indexing, jit, scatter, vmap
from xpand_extensions._bounds import MODES
from xpand_extensions._capabilities import import_facades
from xpand_extensions._dispatch import OPERATIONS

X = np.arange(6.0).reshape(2, 3)
ROW, VALUES = X[0], np.asarray([5.0, 6.0, 7.0, 8.0])
INDEX = np.asarray([1, 7, -9, -1])
IDS = np.asarray([1, 7, -9, 0])


def _of_segments(reduce: Callable[..., Any], x: Any, row: Any, values: Any, i: Any, ids: Any, **mode: Any) -> Any:
    return reduce(values, ids, num_segments=2, **mode)


CALLS: dict[str, Callable[..., Any]] = {
    "indexing.gather": lambda x, row, values, i, ids, **mode: indexing.gather(x, i, axis=1, **mode),
    "indexing.gather_nd": lambda x, row, values, i, ids, **mode: indexing.gather_nd(x, i[:, None], axes=(1,), **mode),
    "indexing.ravel_multi_index": lambda x, row, values, i, ids, **mode: indexing.ravel_multi_index(
        (ids, ids), (2, 3), **mode
    ),
    "indexing.take": lambda x, row, values, i, ids, **mode: indexing.take(x, i, axis=1, **mode),
    "indexing.take_along_axis": lambda x, row, values, i, ids, **mode: indexing.take_along_axis(row, i, **mode),
    "indexing.unravel_index": lambda x, row, values, i, ids, **mode: indexing.unravel_index(ids, (2, 3), **mode),
    "scatter.scatter": lambda x, row, values, i, ids, **mode: scatter.scatter(row, i, values, **mode),
    "scatter.scatter_nd": lambda x, row, values, i, ids, **mode: scatter.scatter_nd(row, i[:, None], values, **mode),
    "histograms.bincount": lambda x, row, values, i, ids, **mode: histograms.bincount(ids, length=2, **mode),
    "scatter.at.get": lambda x, row, values, i, ids, **mode: scatter.at(row)[i].get(**mode),
    "scatter.at.add": lambda x, row, values, i, ids, **mode: scatter.at(row)[i].add(values, **mode),
    "scatter.at.set": lambda x, row, values, i, ids, **mode: scatter.at(row)[i].set(values, **mode),
}
for _name in ("sum", "prod", "min", "max", "mean"):
    CALLS[f"scatter.segment_{_name}"] = partial(_of_segments, getattr(scatter, f"segment_{_name}"))


def test_every_function_with_a_mode_is_listed() -> None:
    import_facades()
    found = {
        operation.qualified_name
        for operation in OPERATIONS.values()
        if operation.is_own and "Mode |" in str(inspect.signature(operation.facade).parameters.get("mode"))
    }
    assert found - set(CALLS) <= {"indexing.dynamic_slice", "indexing.put_slice"}, "these move slices"


def _arrays(library: Library) -> list[Any]:
    return [library.asarray(x) for x in (X, ROW, VALUES, INDEX, IDS)]


def _assert_equal(library: Library, found: Any, expected: Any) -> None:
    for x, y in zip(trees.leaves(found), trees.leaves(expected), strict=True):
        np.testing.assert_array_equal(library.to_numpy(x), library.to_numpy(y))


@pytest.mark.parametrize("name", CALLS)
def test_traced_calls_drop_and_eager_ones_raise(library: Library, name: str) -> None:
    call, arrays = CALLS[name], _arrays(library)
    expected = call(*arrays, mode="drop")
    _assert_equal(library, jit(call)(*arrays), expected)
    if not library.lazy:
        with pytest.raises(IndexError, match="out of bounds"):
            call(*arrays)


@pytest.mark.parametrize("name", CALLS)
def test_captured_indices_are_known(name: str) -> None:
    arrays = _arrays(LIBRARIES[0])
    with pytest.raises(IndexError, match="out of bounds"):
        jit(lambda x, row, values: CALLS[name](x, row, values, *arrays[3:]))(*arrays[:3])


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("mode", [mode for mode in MODES if mode != "raise"])
def test_numpy_does_the_same_within_transformations(name: str, mode: Any) -> None:
    library = LIBRARIES[0]
    call, arrays = CALLS[name], _arrays(library)
    options = {} if mode is None else {"mode": mode}
    expected = call(*arrays, mode="drop") if mode is None else call(*arrays, **options)
    lanes = [library.xp.stack([x, x]) for x in arrays]
    traced = lambda *given: call(*given, **options)
    _assert_equal(library, jit(traced)(*arrays), expected)
    for mapped in (vmap(traced), jit(vmap(traced)), vmap(jit(traced))):
        _assert_equal(library, trees.map(lambda x: x[1, ...], mapped(*lanes)), expected)
