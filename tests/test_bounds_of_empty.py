"""Indices out of bounds of arrays without elements: an error like any other, by every function that takes indices."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.libraries import Library
from xpand_extensions import indexing, scatter

OPERATIONS = ("set", "add", "multiply", "min", "max")
UPDATES = ("set", "add", "subtract", "multiply", "divide", "power", "min", "max")
REDUCTIONS = ("sum", "prod", "min", "max", "mean")


class Arrays:
    """Arrays without elements of a library, and indices that are out of bounds of each of their axes."""

    def __init__(self, library: Library) -> None:
        self.a = library.asarray
        self.none, self.rows, self.columns = self.zeros(0), self.zeros(0, 3), self.zeros(3, 0)
        self.cube = self.zeros(4, 0, 3)
        self.five = self.fives(1)

    def zeros(self, *shape: int) -> Any:
        return self.a(np.zeros(shape))

    def fives(self, *shape: int) -> Any:
        return self.a(np.full(shape, 5))


Call = Callable[[Arrays, dict[str, Any]], Any]

CALLS: dict[str, Call] = {
    "take of none": lambda e, k: indexing.take(e.none, e.five, **k),
    **{f"take rows {i}": lambda e, k, i=i: indexing.take(e.rows, e.five, axis=i, **k) for i in range(2)},
    **{f"take columns {i}": lambda e, k, i=i: indexing.take(e.columns, e.five, axis=i, **k) for i in range(2)},
    **{f"take cube {i}": lambda e, k, i=i: indexing.take(e.cube, e.five, axis=i, **k) for i in range(3)},
    "take_along_axis 0": lambda e, k: indexing.take_along_axis(e.rows, e.fives(2, 3), axis=0, **k),
    "take_along_axis 1": lambda e, k: indexing.take_along_axis(e.columns, e.fives(3, 2), axis=1, **k),
    **{f"gather rows {i}": lambda e, k, i=i: indexing.gather(e.rows, e.five, axis=i, **k) for i in range(2)},
    **{f"gather columns {i}": lambda e, k, i=i: indexing.gather(e.columns, e.five, axis=i, **k) for i in range(2)},
    "gather of a batch": lambda e, k: indexing.gather(e.cube, e.fives(4, 2), axis=2, batch_dims=1, **k),
    "gather_nd rows": lambda e, k: indexing.gather_nd(e.rows, e.fives(2, 1), **k),
    "gather_nd columns": lambda e, k: indexing.gather_nd(e.columns, e.fives(2, 1), **k),
    "gather_nd axis": lambda e, k: indexing.gather_nd(e.rows, e.fives(2, 1), axes=(1,), **k),
    "gather_nd cube": lambda e, k: indexing.gather_nd(e.cube, e.fives(2, 3), **k),
    "gather_nd of a batch": lambda e, k: indexing.gather_nd(e.cube, e.fives(4, 2, 1), batch_dims=1, **k),
    "dynamic_slice": lambda e, k: indexing.dynamic_slice(e.columns, (5, 0), (1, 0), **k),
    "put_slice": lambda e, k: indexing.put_slice(e.columns, e.zeros(1, 0), (5, 0), **k),
    "indexed_add": lambda e, k: scatter.indexed_add(e.columns, e.fives(1, 1), e.zeros(1, 0), **k),
    "indexed_put": lambda e, k: scatter.indexed_put(e.columns, e.fives(1, 1), e.zeros(1, 0), **k),
}
for operation in OPERATIONS:
    CALLS |= {
        f"scatter columns {operation}": lambda e, k, o=operation: scatter.scatter(
            e.columns, e.five, e.zeros(1, 0), operation=o, **k
        ),
        f"scatter rows {operation}": lambda e, k, o=operation: scatter.scatter(
            e.rows, e.five, e.zeros(1, 3), operation=o, **k
        ),
        f"scatter_nd columns {operation}": lambda e, k, o=operation: scatter.scatter_nd(
            e.columns, e.fives(1, 1), e.zeros(1, 0), operation=o, **k
        ),
        f"scatter_nd elements {operation}": lambda e, k, o=operation: scatter.scatter_nd(
            e.rows, e.fives(1, 2), e.zeros(1), operation=o, **k
        ),
    }
for update in UPDATES:
    CALLS |= {
        f"at none {update}": lambda e, k, u=update: getattr(scatter.at(e.none)[e.five], u)(1.0, **k),
        f"at rows {update}": lambda e, k, u=update: getattr(scatter.at(e.rows)[e.five], u)(1.0, **k),
        f"at columns {update}": lambda e, k, u=update: getattr(scatter.at(e.columns)[e.five], u)(1.0, **k),
        f"at cube {update}": lambda e, k, u=update: getattr(scatter.at(e.cube)[:, e.five], u)(1.0, **k),
    }
CALLS |= {
    "at rows get": lambda e, k: scatter.at(e.rows)[e.five].get(**k),
    "at columns get": lambda e, k: scatter.at(e.columns)[e.five].get(**k),
    "at elements get": lambda e, k: scatter.at(e.columns)[e.five, e.five].get(**k),
}
for reduction in REDUCTIONS:
    CALLS |= {
        f"segment_{reduction}": lambda e, k, r=reduction: getattr(scatter, f"segment_{r}")(
            e.zeros(1, 0), e.five, num_segments=3, **k
        ),
        f"segment_{reduction} none": lambda e, k, r=reduction: getattr(scatter, f"segment_{r}")(
            e.zeros(1), e.five, num_segments=0, **k
        ),
    }


@pytest.mark.parametrize("call", list(CALLS))
def test_indices_out_of_bounds_of_empty_arrays(eager_library: Library, call: str) -> None:
    for options in ({}, {"mode": "raise"}):
        with pytest.raises(IndexError, match=r"5 is out of bounds|\[5, 6\)|start"):
            CALLS[call](Arrays(eager_library), options)


def test_no_indices_are_within_bounds(eager_library: Library) -> None:
    e = Arrays(eager_library)
    assert tuple(indexing.take(e.columns, e.fives(0), axis=0).shape) == (0, 0)
    assert tuple(indexing.take_along_axis(e.columns, e.fives(1, 0), axis=0).shape) == (1, 0)
    assert tuple(scatter.scatter(e.columns, e.fives(0), e.zeros(0, 0)).shape) == (3, 0)
