"""Sizes, axes and positions that are integers of NumPy, such as those that `np.prod` returns, count as Python's."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from xpand import array_namespace as NAMESPACE
from xpand_extensions import (
    control_flow,
    convolution,
    histograms,
    indexing,
    jit,
    padding,
    random,
    scatter,
    sorting,
    statistics,
    vmap,
    windows,
)
from xpand_extensions.autodiff import grad

X = np.asarray([1.0, 2.0, 3.0])
IDS = np.asarray([0, 1, 1])
Integer = Callable[[int], Any]

CALLS: dict[str, Callable[[Any, Integer], Any]] = {
    "reshape": lambda x, k: NAMESPACE(x).reshape(x[:2], (k(2),)),
    "broadcast_to": lambda x, k: NAMESPACE(x).broadcast_to(x[:1], (k(3),)),
    "tile": lambda x, k: NAMESPACE(x).tile(x, (k(2),)),
    "zeros": lambda x, k: NAMESPACE(x).zeros((k(3),)) + x,
    "ones": lambda x, k: NAMESPACE(x).ones(k(3)) + x,
    "full": lambda x, k: NAMESPACE(x).full((k(3),), 2.0) + x,
    "eye": lambda x, k: (NAMESPACE(x).eye(k(3), k(3), k=k(1)) @ x)[...],
    "arange": lambda x, k: NAMESPACE(x).arange(k(3)) + x,
    "linspace": lambda x, k: NAMESPACE(x).linspace(0.0, 1.0, k(3)) + x,
    "fftfreq": lambda x, k: NAMESPACE(x).fft.fftfreq(k(3)) + x,
    "irfft": lambda x, k: NAMESPACE(x).fft.irfft(x, n=k(5), axis=k(0)),
    "repeat": lambda x, k: NAMESPACE(x).repeat(x, k(2)),
    "roll": lambda x, k: NAMESPACE(x).roll(x, k(2), axis=k(0)),
    "slice": lambda x, k: x[k(0) : k(3) : k(2)],
    "integer": lambda x, k: x[k(1)] * x,
    "moveaxis": lambda x, k: NAMESPACE(x).moveaxis(x[None], k(0), k(1))[:, 0],
    "permute_dims": lambda x, k: NAMESPACE(x).permute_dims(x[None], (k(1), k(0)))[:, 0],
    "expand_dims": lambda x, k: NAMESPACE(x).expand_dims(x, axis=k(1))[:, 0],
    "sum": lambda x, k: NAMESPACE(x).sum(x[None], axis=k(0)) + NAMESPACE(x).sum(x[None], axis=(k(0), k(1))),
    "cumulative_sum": lambda x, k: NAMESPACE(x).cumulative_sum(x, axis=k(0)),
    "diff": lambda x, k: NAMESPACE(x).diff(x, n=k(1)),
    "tril": lambda x, k: NAMESPACE(x).tril(x[:, None] * x, k=k(1))[1],
    "concat": lambda x, k: NAMESPACE(x).concat([x, x], axis=k(0)),
    "take": lambda x, k: indexing.take(x, IDS, axis=k(0)),
    "dynamic_slice": lambda x, k: indexing.dynamic_slice(x, (k(1),), (k(2),)),
    "unravel_index": lambda x, k: indexing.unravel_index(IDS, (k(2), k(2)))[1] * x,
    "pad": lambda x, k: padding.pad(x, ((k(2), k(1)),)),
    "top_k": lambda x, k: sorting.top_k(x, k(2))[0],
    "segment_sum": lambda x, k: scatter.segment_sum(x, IDS, num_segments=k(2)),
    "bincount": lambda x, k: histograms.bincount(IDS, length=k(2)) * x[:2],
    "window_sum": lambda x, k: windows.window_sum(x, k(2)),
    "sliding_window_view": lambda x, k: windows.sliding_window_view(x, k(2))[0],
    "median": lambda x, k: statistics.median(x[None], axis=k(0)),
    "normal": lambda x, k: random.normal(random.key(0), (k(3),)) + x,
    "scan": lambda x, k: control_flow.scan(lambda c, _: (c + x, c), x, None, k(3))[0],
    "fori_loop": lambda x, k: control_flow.fori_loop(k(0), k(3), lambda i, c: c + i, x),
}


@pytest.mark.parametrize("integer", [np.int64, np.uint8, np.int32])
@pytest.mark.parametrize("name", CALLS)
def test_sizes_of_numpy_in_graphs(name: str, integer: Any) -> None:
    """The shape of the result is used by another function. Calls before and after have Python's integers."""

    def of(integer: Integer) -> Callable[[Any], Any]:
        def function(x: Any) -> Any:
            found = CALLS[name](x, integer)
            assert all(type(size) is int for size in found.shape)
            return NAMESPACE(x).sum(convolution.convolve(found, padding.pad(x, 1)) ** 2)

        return function

    plain = of(int)
    expected, gradient = plain(X), grad(plain)(X)
    for function in (of(integer), plain, of(integer)):
        np.testing.assert_allclose(jit(function)(X), expected)
        np.testing.assert_allclose(vmap(function)(np.stack([X, X])), [expected, expected])
        np.testing.assert_allclose(grad(function)(X), gradient)
        np.testing.assert_allclose(jit(grad(function))(X), gradient)
