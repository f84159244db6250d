"""Signatures: arrays are given by position, as in the standard; other arguments by position or by name."""

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import xpand
from xpand import creation, manipulation, polynomial, trees
from xpand_extensions import (
    autodiff,
    bits,
    convert,
    devices,
    histograms,
    indexing,
    linear_solve,
    optimize,
    padding,
    sorting,
    sparse,
    statistics,
    windows,
)
from xpand_extensions.jit import jit

X = np.asarray([[4.0, 1.0, 3.0, 2.0], [0.5, 2.5, -1.0, 7.0]])
V = X[0]
IDS = np.asarray([0, 2, 1])
MATRIX = sparse.COO(V, (np.arange(4), np.arange(4)), shape=(4, 4))
cubic = lambda x: x**3 - V

# A function, its arrays, and the arguments that may have names.
CALLS: list[tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]] = [
    (bits.bitcast, (V,), {"dtype": "uint64"}),
    (convert.convert, (V,), {"to": "numpy"}),
    (creation.one_hot, (IDS,), {"num_classes": 3}),
    (devices.to_device, (V,), {"device": "cpu"}),
    (histograms.histogram, (V,), {"bins": 3}),
    (histograms.histogram_bin_edges, (V,), {"bins": 3}),
    (histograms.histogramdd, (X,), {"bins": 2}),
    (indexing.dynamic_slice, (V,), {"starts": (1,), "sizes": (2,)}),
    (indexing.put_slice, (V, V[:2]), {"starts": (1,)}),
    (indexing.ravel_multi_index, ((IDS, IDS),), {"shape": (3, 3)}),
    (indexing.repeat, (V,), {"repeats": 2}),
    (indexing.unravel_index, (IDS,), {"shape": (2, 2)}),
    (manipulation.broadcast_in_dim, (V,), {"shape": (2, 4)}),
    (manipulation.pad_to, (V,), {"size": 6}),
    (manipulation.tile_to, (V,), {"size": 8}),
    (optimize.bracketed_root, (lambda x: x - 1.0,), {"a": 0.5, "b": np.asarray(3.0)}),
    (optimize.fixed_point, (lambda x: 0.5 * x,), {"x0": V}),
    (optimize.least_squares, (cubic,), {"x0": V}),
    (optimize.minimize, (lambda x: ((x - V) ** 2).sum(),), {"x0": 0 * V}),
    (optimize.root, (cubic,), {"x0": V}),
    (padding.pad, (V,), {"pad_width": 2}),
    (polynomial.polyder, (V,), {"m": 2}),
    (polynomial.polyfit, (np.arange(4.0), V), {"degree": 1}),
    (polynomial.polyint, (V,), {"m": 2}),
    (polynomial.vander, (V,), {"n": 2}),
    (sorting.argpartition, (V,), {"kth": 2}),
    (sorting.partition, (V,), {"kth": 2}),
    (sorting.top_k, (V,), {"k": 2}),
    (sparse.convert, (MATRIX,), {"format": "csr"}),
    (sparse.power, (MATRIX,), {"exponent": 2.0}),
    (sparse.reshape, (MATRIX,), {"shape": (2, 8)}),
    (statistics.nanquantile, (V,), {"q": 0.3}),
    (statistics.quantile, (V,), {"q": [0.3, 0.5]}),
    (statistics.reduce, (V,), {"function": lambda x, y: x * y, "initial": 1.0}),
    (windows.max_pool, (X[:, None, :, None],), {"window_shape": (2, 1)}),
    (windows.sliding_window_view, (V,), {"window_shape": 2}),
    (windows.window_sum, (V,), {"window_shape": 2}),
]
OPTIONS = {"broadcast_in_dim": {"axes": 1}}


@pytest.mark.parametrize(("function", "arrays", "named"), CALLS, ids=lambda x: getattr(x, "__name__", ""))
def test_options_by_name(function: Callable[..., Any], arrays: tuple[Any, ...], named: dict[str, Any]) -> None:
    options = OPTIONS.get(function.__name__, {})
    wanted = trees.leaves(function(*arrays, *named.values(), **options))
    for found in (function(*arrays, **named, **options), _compiled(function, arrays, named, options)):
        for x, y in zip(trees.leaves(found), wanted, strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-12)


def _compiled(function: Callable[..., Any], arrays: Any, named: dict[str, Any], options: dict[str, Any]) -> Any:
    """Call a function of arrays inside `jit`; one of functions or on the host directly."""
    if callable(arrays[0]) or function in (convert.convert, devices.to_device):
        return function(*arrays, **named, **options)
    return jit(lambda *arrays: function(*arrays, **named, **options))(*arrays)


def test_derivatives_and_systems_by_name() -> None:
    value, change = autodiff.jvp(lambda x: x * x, primals=(V,), tangents=(V,))
    np.testing.assert_array_equal(value, V**2)
    np.testing.assert_array_equal(change, 2 * V**2)
    matrix, _ = linear_solve.matrix_from_function(lambda x: 2.0 * x, example=V)
    np.testing.assert_array_equal(matrix.todense(), 2 * np.eye(4))
    assert bytes(V.tobytes()) == convert.from_bytes(V.tobytes(), dtype="float64", shape=4).tobytes()


ARRAYS = ("Array", "Sparse", "Tree", "Scalar", "CSRAssembly", "NamedArray", "Any")
BY_POSITION = {
    "apply_where": "array-api-extra takes its functions by position too",
    "at": "the index follows the array",
    "io_callback": "the arguments of the callback may have any names",
    "pure_callback": "the arguments of the callback may have any names",
}


def _facades() -> Iterator[Callable[..., Any]]:
    modules = (autodiff, bits, convert, creation, devices, histograms, indexing, linear_solve, manipulation, optimize)
    for module in (*modules, padding, polynomial, sorting, sparse, statistics, windows):
        for name in module.__all__ if hasattr(module, "__all__") else dir(module):
            found = getattr(module, name)
            if inspect.isfunction(found) and not name.startswith("_") and found.__module__.startswith("xpand"):
                yield found


def test_only_arrays_are_positional_only() -> None:
    """The first argument may be anything; a later one that has no name for callers is an array, or a tree of arrays."""
    wrong = []
    for function in _facades():
        parameters = list(inspect.signature(inspect.unwrap(function)).parameters.values())[1:]
        given = [x for x in parameters if x.kind is x.POSITIONAL_ONLY and not _is_of_arrays(x.annotation)]
        if given and function.__name__ not in BY_POSITION:
            wrong.append(f"{function.__name__}: {', '.join(x.name for x in given)}")
    assert not wrong


def _is_of_arrays(annotation: Any) -> bool:
    return annotation is Any or any(name in str(annotation) for name in ARRAYS) or annotation is xpand.typing.Array
