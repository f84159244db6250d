"""Shapes with sizes that are unknown."""

import math
from typing import Any

import dask.array as da
import numpy as np
import pytest

import xpand
from tests.libraries import Library
from xpand import shapes


def of_unknown_size() -> Any:
    x = da.from_array(np.arange(12.0).reshape(4, 3), chunks=(2, 2))
    return x[x[:, 0] > 2.0]


def test_known_shapes(library: Library) -> None:
    x = library.asarray(np.ones((2, 0, 3)))
    assert shapes.shape(x) == (2, 0, 3)
    assert shapes.has_known_shape(x)
    assert shapes.compute_shape(x) is x
    assert shapes.shape(library.asarray(1.0)) == ()


def test_unknown_shapes() -> None:
    x = of_unknown_size()
    assert shapes.shape(x) == (None, 3)
    assert not shapes.has_known_shape(x)
    assert xpand.size(x) is None


def test_computed_shapes() -> None:
    """The argument does not change, and the result is lazy, with sizes that are Python's integers."""
    x = of_unknown_size()
    found = shapes.compute_shape(x)
    assert math.isnan(x.shape[0])
    assert isinstance(found, da.Array)
    assert found.shape == (3, 3)
    assert all(type(size) is int for along in found.chunks for size in along)
    np.testing.assert_array_equal(np.asarray(found[1:]), np.arange(6.0, 12.0).reshape(2, 3))
    np.testing.assert_array_equal(np.asarray(xpand.array_namespace(found).sort(found, axis=0)), np.asarray(x))


def test_of_lazy_arrays_of_other_libraries() -> None:
    ndonnx = pytest.importorskip("ndonnx")
    x = ndonnx.argument(shape=(None, 3), dtype=ndonnx.float64)
    assert shapes.shape(x) == (None, 3)
    with pytest.raises(ValueError, match=r"compute_shape: x has the shape \(None, 3\), and its library can't"):
        shapes.compute_shape(x)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ([], ()),
        ([(2, 3)], (2, 3)),
        ([(2, 1), (3,), ()], (2, 3)),
        ([(None, 3), (1, 1)], (None, 3)),
        ([(None, 3), (4, 1)], (4, 3)),
        ([(math.nan,), (5, 1)], (5, None)),
        ([(None,), (math.nan,)], (None,)),
        ([(0,), (1,)], (0,)),
    ],
)
def test_broadcast(given: Any, expected: Any) -> None:
    assert shapes.broadcast_shapes(*given) == expected
    assert shapes.broadcast_shapes(*given[::-1]) == expected


def test_mistakes() -> None:
    with pytest.raises(
        ValueError, match=r"broadcast_shapes: shapes must broadcast together, got \(2, None\), \(3, 1\)"
    ):
        shapes.broadcast_shapes((2, None), (3, 1))
    for function in (shapes.shape, shapes.has_known_shape, shapes.compute_shape):
        with pytest.raises(TypeError, match="x must be an array"):
            function([1.0])
