"""Sizes, axes and positions that are integers of NumPy, such as those that `np.prod` returns, count as Python's."""

import importlib
import inspect
import pkgutil
import re
import sys
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any, Final

import numpy as np
import pytest

import xpand_extensions
from tests.libraries import LIBRARIES, Library, unless
from xpand import (
    array_namespace as NAMESPACE,
    creation,
    is_array_api_obj,
    manipulation,
    polynomial,
    sampled,
    sets,
    trees,
)
from xpand_extensions import (
    autodiff,
    bits,
    control_flow,
    convert,
    convolution,
    histograms,
    indexing,
    jit,
    linalg,
    linear_solve,
    optimize,
    padding,
    precision,
    random,
    scatter,
    sorting,
    sparse,
    special,
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


# Every function


M: Final = np.arange(12.0).reshape(3, 4) / 8 + 0.5
SQUARE: Final = np.asarray([[4.0, 1.0, 0.5], [1.0, 3.0, 0.25], [0.5, 0.25, 5.0]])
ENTRIES: Final = (np.asarray([1.0, 2.0, 3.0]), np.asarray([0, 0, 2]), np.asarray([0, 2, 1]))
ROWS: Final = (np.asarray([1.0, 2.0, 3.0]), np.asarray([0, 1, 1]), np.asarray([0, 2, 2, 3]))

EVERY: dict[str, Callable[[Any, Any, Any], Any]] = {
    # x makes an array of the library of NumPy's, k an integer; xp is the namespace.
    "create_diagonal": lambda x, k, xp: creation.create_diagonal(x(X), offset=k(1)),
    "diag_indices": lambda x, k, xp: creation.diag_indices(k(3), ndim=k(2), xp=xp),
    "iota": lambda x, k, xp: creation.iota((k(2), k(3)), axis=k(1), xp=xp),
    "one_hot": lambda x, k, xp: creation.one_hot(x(IDS), k(3), axis=k(0)),
    "tril_indices": lambda x, k, xp: creation.tril_indices(k(3), offset=k(1), m=k(4), xp=xp),
    "triu_indices": lambda x, k, xp: creation.triu_indices(k(3), offset=k(1), m=k(4), xp=xp),
    "atleast_nd": lambda x, k, xp: manipulation.atleast_nd(x(X), ndim=k(2)),
    "broadcast_in_dim": lambda x, k, xp: manipulation.broadcast_in_dim(x(X), (k(3), k(2)), axes=(k(0),)),
    "fill_diagonal": lambda x, k, xp: manipulation.fill_diagonal(x(M), 9.0, offset=k(1)),
    "pad_to": lambda x, k, xp: manipulation.pad_to(x(X), k(5), axis=k(0)),
    "tile_to": lambda x, k, xp: manipulation.tile_to(x(X), k(6), axis=k(0)),
    "to_batched": lambda x, k, xp: [*manipulation.to_batched(x(M), batch_size=k(2), axis=k(1))],
    "polyder": lambda x, k, xp: polynomial.polyder(x(X), m=k(1)),
    "polyfit": lambda x, k, xp: polynomial.polyfit(x(X), x(X), k(1)),
    "polyint": lambda x, k, xp: polynomial.polyint(x(X), m=k(2)),
    "vander": lambda x, k, xp: polynomial.vander(x(X), n=k(2)),
    "cumulative_trapezoid": lambda x, k, xp: sampled.cumulative_trapezoid(x(M), axis=k(0)),
    "simpson": lambda x, k, xp: sampled.simpson(x(M), axis=k(0)),
    "trapezoid": lambda x, k, xp: sampled.trapezoid(x(M), axis=k(0)),
    "unwrap": lambda x, k, xp: sampled.unwrap(x(M), axis=k(0)),
    "intersect1d": lambda x, k, xp: sets.intersect1d(x(IDS), x(IDS), size=k(3)),
    "setdiff1d": lambda x, k, xp: sets.setdiff1d(x(IDS), x(IDS), size=k(3)),
    "setxor1d": lambda x, k, xp: sets.setxor1d(x(IDS), x(IDS), size=k(3)),
    "union1d": lambda x, k, xp: sets.union1d(x(IDS), x(IDS), size=k(3)),
    "trees.concat": lambda x, k, xp: trees.concat([x(M), x(M)], axis=k(1)),
    "trees.stack": lambda x, k, xp: trees.stack([x(M), x(M)], axis=k(1)),
    "trees.unstack": lambda x, k, xp: trees.unstack(x(M), axis=k(1)),
    "check_grads": lambda x, k, xp: autodiff.check_grads(lambda v: v * v, (x(X),), order=k(1)),
    "checkpoint": lambda x, k, xp: autodiff.checkpoint(lambda v, n: v * n, static_argnums=k(1))(x(X), 3),
    "custom_jvp": lambda x, k, xp: autodiff.custom_jvp(lambda v, n: v * n, nondiff_argnums=(k(1),)).nondiff_argnums,
    "custom_vjp": lambda x, k, xp: autodiff.custom_vjp(lambda v, n: v * n, nondiff_argnums=(k(1),)).nondiff_argnums,
    "grad": lambda x, k, xp: autodiff.grad(_total, argnums=k(1))(x(X), x(X)),
    "grad of both": lambda x, k, xp: autodiff.grad(_total, argnums=(k(0), k(1)))(x(X), x(X)),
    "hessian": lambda x, k, xp: autodiff.hessian(_total, argnums=k(1))(x(X), x(X)),
    "jacfwd": lambda x, k, xp: autodiff.jacfwd(_total, argnums=k(1))(x(X), x(X)),
    "jacrev": lambda x, k, xp: autodiff.jacrev(_total, argnums=k(1))(x(X), x(X)),
    "value_and_grad": lambda x, k, xp: autodiff.value_and_grad(_total, argnums=k(1))(x(X), x(X)),
    "packbits": lambda x, k, xp: bits.packbits(x(M > 1), axis=k(1)),
    "unpackbits": lambda x, k, xp: bits.unpackbits(x(np.asarray([[7, 9]], "uint8")), axis=k(1), count=k(11)),
    "associative_scan": lambda x, k, xp: control_flow.associative_scan(xp.add, x(M), axis=k(1)),
    "fori_loop": lambda x, k, xp: control_flow.fori_loop(k(1), k(4), lambda i, c: c + i, x(X), unroll=k(2)),
    "map": lambda x, k, xp: control_flow.map(lambda row: row * row, x(M), batch_size=k(2)),
    "scan": lambda x, k, xp: control_flow.scan(lambda c, _: (c + 1, c), x(X), None, length=k(3), unroll=k(2)),
    "switch": lambda x, k, xp: control_flow.switch(k(1), [lambda v: v, lambda v: 2 * v], x(X)),
    "while_loop": lambda x, k, xp: control_flow.while_loop(
        lambda c: xp.sum(c) < 20, lambda c: 2 * c, x(X), max_iter=k(5)
    ),
    "from_bytes": lambda x, k, xp: convert.from_bytes(bytes(8), "float32", (k(2),), xp=xp),
    "to_bytes": lambda x, k, xp: convert.to_bytes(x(X), limit=k(2)),
    "conv": lambda x, k, xp: convolution.conv(
        x(M[None, None]),
        x(M[None, None, :2, :2]),
        strides=k(1),
        padding=((k(1), k(0)), (k(0), k(2))),
        input_dilation=(k(1), k(2)),
        kernel_dilation=k(1),
        feature_groups=k(1),
        batch_groups=k(1),
    ),
    "conv_transpose": lambda x, k, xp: convolution.conv_transpose(
        x(M[None, None]),
        x(M[None, None, :2, :2]),
        strides=k(2),
        padding=((k(1), k(0)), (k(0), k(1))),
        output_padding=k(1),
        kernel_dilation=k(1),
        feature_groups=k(1),
    ),
    "convolve": lambda x, k, xp: convolution.convolve(x(M), x(M[:2, :1]), axes=(k(0), k(1))),
    "correlate": lambda x, k, xp: convolution.correlate(x(M), x(M[:1]), axes=k(1)),
    "bincount": lambda x, k, xp: histograms.bincount(x(IDS), minlength=k(4)),
    "bincount, length": lambda x, k, xp: histograms.bincount(x(IDS), length=k(4)),
    "histogram": lambda x, k, xp: histograms.histogram(x(X), bins=k(3), range=(0.0, 4.0)),
    "histogram_bin_edges": lambda x, k, xp: histograms.histogram_bin_edges(x(X), bins=k(3), range=(0.0, 4.0)),
    "histogramdd": lambda x, k, xp: histograms.histogramdd(x(M[:, :2]), bins=(k(3), k(2)), range=((0.0, 2.0),) * 2),
    "argwhere": lambda x, k, xp: indexing.argwhere(x(X > 1), size=k(4), fill_value=k(-1)),
    "boolean_mask": lambda x, k, xp: indexing.boolean_mask(x(M), x(X > 1), axis=k(0), size=k(4)),
    "dynamic_slice": lambda x, k, xp: indexing.dynamic_slice(x(M), (k(1), k(0)), (k(2), k(2)), strides=(k(1), k(2))),
    "gather": lambda x, k, xp: indexing.gather(x(M), x(IDS[:, None]), axis=k(1), batch_dims=k(1)),
    "gather_nd": lambda x, k, xp: indexing.gather_nd(x(M), x(IDS[:, None, None]), batch_dims=k(1), axes=(k(1),)),
    "nonzero": lambda x, k, xp: indexing.nonzero(x(X > 1), size=k(4), fill_value=k(-1)),
    "put_slice": lambda x, k, xp: indexing.put_slice(x(M), x(M[:2, :2]), (k(1), k(2))),
    "ravel_multi_index": lambda x, k, xp: indexing.ravel_multi_index(
        (x(IDS), x(IDS)), (k(2), k(3)), mode="drop", fill_value=k(-2)
    ),
    "repeat": lambda x, k, xp: indexing.repeat(x(M), k(2), axis=k(1), total_repeat_length=k(9)),
    "take": lambda x, k, xp: indexing.take(x(M), x(IDS), axis=k(1)),
    "take_along_axis": lambda x, k, xp: indexing.take_along_axis(x(M), x(IDS[:, None]), axis=k(1)),
    "unravel_index": lambda x, k, xp: indexing.unravel_index(x(IDS), (k(2), k(3)), mode="drop", fill_value=k(-2)),
    "jit": lambda x, k, xp: jit.jit(lambda v, n, w: v * n + w, static_argnums=k(1))(x(X), 2, x(X)),
    "jit, donated": lambda x, k, xp: jit.jit(lambda v, w: v + w, donate_argnums=k(1))(x(X), x(X) + 0),
    "lower": lambda x, k, xp: str(jit.lower(lambda v, n: v * n, static_argnums=k(1))(x(X), 2)) > "",
    "make_graph": lambda x, k, xp: str(jit.make_graph(lambda v, n: v * n, static_argnums=k(1))(x(X), 2)) > "",
    "linalg.diagonal": lambda x, k, xp: linalg.diagonal(x(M), offset=k(1), axis1=k(0), axis2=k(1)),
    "dot_general": lambda x, k, xp: linalg.dot_general(
        x(M), x(M), axes=((k(1),), (k(1),)), batch_axes=((k(0),), (k(0),))
    ),
    "linalg.lstsq": lambda x, k, xp: linalg.lstsq(x(M[:, :2]), x(M.T), axis=k(-1)).x,
    "linear_solve.solve": lambda x, k, xp: (
        linear_solve.solve(x(SQUARE), x(M.T), method="cg", axis=k(-1), max_steps=k(4), batch_ndim=k(0)).x
    ),
    "direct_solve": lambda x, k, xp: linear_solve.direct_solve(x(SQUARE), x(M.T), axis=k(-1)),
    "solve_triangular": lambda x, k, xp: linear_solve.solve_triangular(x(SQUARE), x(M.T), axis=k(-1)),
    "linear_solve.lstsq": lambda x, k, xp: linear_solve.lstsq(x(M[:, :2]), x(M.T), axis=k(-1)).x,
    "block_jacobi": lambda x, k, xp: linear_solve.block_jacobi(x(SQUARE), block_size=k(3))(x(X)),
    "chebyshev": lambda x, k, xp: linear_solve.chebyshev(x(SQUARE), degree=k(3))(x(X)),
    "minimize": lambda x, k, xp: optimize.minimize(_square, x(X), max_steps=k(20), history=k(5), batch_ndim=k(0)).x,
    "minimize by products": lambda x, k, xp: optimize.minimize(_square, x(X), method="newton-cg", max_products=k(5)).x,
    "least_squares": lambda x, k, xp: optimize.least_squares(lambda v: v - 1, x(X), max_steps=k(9), batch_ndim=k(0)).x,
    "root": lambda x, k, xp: optimize.root(lambda v: v * v - 2, x(X), max_steps=k(20), batch_ndim=k(0)).x,
    "root, history": lambda x, k, xp: optimize.root(lambda v: 2 * v - 1, x(X), method="anderson", history=k(3)).x,
    "fixed_point": lambda x, k, xp: (
        optimize.fixed_point(lambda v: v / 2, x(X), method="anderson", max_steps=k(90), history=k(3), batch_ndim=k(0)).x
    ),
    "bracketed_root": lambda x, k, xp: optimize.bracketed_root(lambda v: v - 1, x(X) * 0, x(X) * 2, max_steps=k(60)).x,
    "brentq": lambda x, k, xp: optimize.brentq(lambda v: v - 1, x(X) * 0, x(X) * 2, max_steps=k(60)).x,
    "bisect": lambda x, k, xp: optimize.bisect(lambda v: v - 1, x(X) * 0, x(X) * 2, max_steps=k(60)).x,
    "pad": lambda x, k, xp: padding.pad(x(M), k(1)),
    "pad, interior": lambda x, k, xp: padding.pad(x(M), k(1), interior=(k(1), k(0))),
    "pad, each": lambda x, k, xp: padding.pad(x(M), ((k(1), k(0)), (k(2), k(1))), mode="reflect"),
    "precision": lambda x, k, xp: _in_precision(k(32), k(32), lambda: xp.ones(3)),
    "Generator": lambda x, k, xp: random.Generator(k(3), xp=xp).split(num=k(2))[1].uniform((k(2),)),
    "ball": lambda x, k, xp: random.ball(random.key(0, xp=xp), k(3), shape=(k(2),)),
    "categorical": lambda x, k, xp: random.categorical(random.key(0, xp=xp), x(M), axis=k(0)),
    "choice": lambda x, k, xp: random.choice(random.key(0, xp=xp), k(5), (k(2),), replace=False),
    "choice of rows": lambda x, k, xp: random.choice(random.key(0, xp=xp), x(M), (k(2),), axis=k(1)),
    "fold_in": lambda x, k, xp: random.fold_in(random.key(0, xp=xp), k(7)),
    "key": lambda x, k, xp: random.key(k(7), xp=xp),
    "orthogonal": lambda x, k, xp: random.orthogonal(random.key(0, xp=xp), k(3), (k(2),), m=k(2)),
    "permutation": lambda x, k, xp: random.permutation(random.key(0, xp=xp), k(5)),
    "permutation of rows": lambda x, k, xp: random.permutation(random.key(0, xp=xp), x(M), axis=k(1)),
    "randint": lambda x, k, xp: random.randint(random.key(0, xp=xp), (k(2),), k(1), k(9)),
    "shuffle": lambda x, k, xp: random.shuffle(random.key(0, xp=xp), x(M), axis=k(1)),
    "split": lambda x, k, xp: random.split(random.key(0, xp=xp), k(3)),
    "split, shape": lambda x, k, xp: random.split(random.key(0, xp=xp), (k(3), k(2))),
    "at": lambda x, k, xp: scatter.at(x(M))[k(1), k(0) : k(2)].add(1.0),
    "at, index": lambda x, k, xp: scatter.at(x(M), k(1)).get(),
    "at, slice": lambda x, k, xp: scatter.at(x(M))[:: k(2)].get(),
    "indexed_add": lambda x, k, xp: scatter.indexed_add(x(M), x(IDS[:, None]), x(M[:, :3].T), axes=(k(1),)),
    "indexed_put": lambda x, k, xp: scatter.indexed_put(x(M), x(IDS[:, None]), x(M[:, :3].T), axes=(k(1),)),
    "scatter": lambda x, k, xp: scatter.scatter(
        x(M), x(IDS[:, None]), x(X[:, None]), operation="add", axis=k(1), batch_dims=k(1)
    ),
    "scatter_nd": lambda x, k, xp: scatter.scatter_nd(
        x(M), x(IDS[:, None, None]), x(X[:, None]), operation="add", batch_dims=k(1), axes=(k(1),)
    ),
    **{
        name: lambda x, k, xp, name=name: getattr(scatter, name)(
            x(M), x(np.asarray([0, 1, 1, 0])), num_segments=k(2), axis=k(1)
        )
        for name in ("segment_max", "segment_mean", "segment_min", "segment_prod", "segment_sum")
    },
    "segment_reduce": lambda x, k, xp: scatter.segment_reduce(x(M), x(IDS), operation="add", axis=k(0)),
    "argpartition": lambda x, k, xp: sorting.argpartition(x(M), k(1), axis=k(1)),
    "lexsort": lambda x, k, xp: sorting.lexsort([x(M), x(M)], axis=k(0)),
    "partition": lambda x, k, xp: sorting.partition(x(M), k(1), axis=k(1)),
    "sort_with_order": lambda x, k, xp: sorting.sort_with_order(x(M), axis=k(0)),
    "top_k": lambda x, k, xp: sorting.top_k(x(M), k(2), axis=k(0)),
    "unique": lambda x, k, xp: sorting.unique(x(M), axis=k(0), size=k(4)),
    "csr_assembly": lambda x, k, xp: sparse.csr_assembly(x(IDS), x(IDS), shape=(k(3), k(2)), size=k(3)).indices,
    "csr_matmul": lambda x, k, xp: sparse.csr_matmul(*map(x, ROWS), x(M[:2]), shape=(k(3), k(2))),
    "csr_rmatmul": lambda x, k, xp: sparse.csr_rmatmul(*map(x, ROWS), x(M), shape=(k(3), k(2))),
    "csr_rows": lambda x, k, xp: sparse.csr_rows(x(ROWS[2]), nse=k(3)),
    "csr_todense": lambda x, k, xp: sparse.csr_todense(*map(x, ROWS), shape=(k(3), k(2))),
    "csr_plan": lambda x, k, xp: sparse.csr_plan(*map(x, ROWS[1:]), shape=(k(3), k(2))) is None,
    "coo_matmul": lambda x, k, xp: sparse.coo_matmul(*map(x, ENTRIES), x(M), shape=(k(3), k(3))),
    "coo_todense": lambda x, k, xp: sparse.coo_todense(*map(x, ENTRIES), shape=(k(3), k(3))),
    "COO": lambda x, k, xp: sparse.COO(x(X), (x(IDS), x(IDS)), (k(3), k(2))).todense(),
    "sparse.concat": lambda x, k, xp: sparse.concat([_sparse(x), _sparse(x)], axis=k(1)).todense(),
    "sparse.count_nonzero": lambda x, k, xp: sparse.count_nonzero(_sparse(x), axis=k(1)),
    "sparse.diagonal": lambda x, k, xp: sparse.diagonal(_sparse(x), offset=k(1)),
    "sparse.diags": lambda x, k, xp: sparse.diags([x(X)], offsets=(k(1),), shape=(k(4), k(4))).todense(),
    "sparse.eye": lambda x, k, xp: sparse.eye(k(3), k(4), k=k(1), xp=xp).todense(),
    "sparse.from_dense": lambda x, k, xp: sparse.from_dense(
        x(SQUARE), nse=k(9), batch_ndim=k(0), dense_ndim=k(0)
    ).todense(),
    "sparse.max": lambda x, k, xp: sparse.max(_sparse(x), axis=k(0)),
    "sparse.mean": lambda x, k, xp: sparse.mean(_sparse(x), axis=k(0)),
    "sparse.min": lambda x, k, xp: sparse.min(_sparse(x), axis=k(0)),
    "sparse.reshape": lambda x, k, xp: sparse.reshape(_sparse(x), (k(9), k(1))).todense(),
    "sparse.sum": lambda x, k, xp: sparse.sum(_sparse(x), axis=(k(0), k(1))),
    "sparse.sum_duplicates": lambda x, k, xp: sparse.sum_duplicates(_sparse(x), nse=k(5)).todense(),
    "sparse.trace": lambda x, k, xp: sparse.trace(_sparse(x), offset=k(1)),
    "sparse.transpose": lambda x, k, xp: sparse.transpose(_sparse(x), axes=(k(1), k(0))).todense(),
    "sparse.tril": lambda x, k, xp: sparse.tril(_sparse(x), k=k(1)).todense(),
    "sparse.triu": lambda x, k, xp: sparse.triu(_sparse(x), k=k(1)).todense(),
    "sparse index": lambda x, k, xp: _sparse(x)[k(0), k(0) : k(2)].todense(),
    "logsumexp": lambda x, k, xp: special.logsumexp(x(M), axis=(k(0), k(1))),
    "softmax": lambda x, k, xp: special.softmax(x(M), axis=k(0)),
    "log_softmax": lambda x, k, xp: special.log_softmax(x(M), axis=k(0)),
    "polygamma": lambda x, k, xp: special.polygamma(k(2), x(X)),
    "average": lambda x, k, xp: statistics.average(x(M), axis=k(0)),
    "gradient": lambda x, k, xp: statistics.gradient(x(M), axis=k(0), edge_order=k(2)),
    "reduce": lambda x, k, xp: statistics.reduce(x(M), xp.add, 0.0, axis=(k(0),)),
    **{
        name: lambda x, k, xp, name=name: getattr(statistics, name)(x(M), axis=k(0))
        for name in (
            *("cumulative_max", "cumulative_min", "kurtosis", "logcumsumexp", "median", "mode", "nanargmax"),
            *("nanargmin", "nanmax", "nanmean", "nanmedian", "nanmin", "nanprod", "nanstd", "nansum", "nanvar", "ptp"),
            *("rankdata", "skew"),
        )
    },
    "quantile": lambda x, k, xp: statistics.quantile(x(M), 0.3, axis=(k(0), k(1))),
    "nanquantile": lambda x, k, xp: statistics.nanquantile(x(M), 0.3, axis=k(1)),
    "all_gather": lambda x, k, xp: _mapped(lambda v: vmap.all_gather(v, "i", axis=k(1)), x),
    "all_to_all": lambda x, k, xp: vmap.vmap(lambda v: vmap.all_to_all(v, "i", k(0), k(0)), axis_name="i")(x(SQUARE)),
    "ppermute": lambda x, k, xp: _mapped(lambda v: vmap.ppermute(v, "i", [(k(0), k(2))]), x),
    "psum_scatter": lambda x, k, xp: vmap.vmap(
        lambda v: vmap.psum_scatter(v, "i", scatter_dimension=k(0)), axis_name="i"
    )(x(SQUARE)),
    "apply_along_axis": lambda x, k, xp: vmap.apply_along_axis(xp.sum, k(1), x(M)),
    "vectorize": lambda x, k, xp: vmap.vectorize(lambda v, n: v * n, excluded={k(1)})(x(X), 2),
    "vmap": lambda x, k, xp: vmap.vmap(lambda v, w: v * w, in_axes=(k(1), None), out_axes=k(1), axis_size=k(4))(
        x(M), 2.0
    ),
    "vmap over one axis": lambda x, k, xp: vmap.vmap(lambda v: v * v, in_axes=k(1))(x(M)),
    "vmap of trees": lambda x, k, xp: vmap.vmap(lambda t: t["a"] + t["b"], in_axes=({"a": k(0), "b": k(1)},))(
        {"a": x(M), "b": x(M.T)}
    ),
    "pmap": lambda x, k, xp: vmap.pmap(
        lambda v, n: v * n,
        in_axes=(k(1), None),
        out_axes=k(1),
        axis_size=k(1),
        static_broadcasted_argnums=k(1),
        donate_argnums=k(0),
    )(x(M[:, :1]) + 0, 2),
    **{
        name: lambda x, k, xp, name=name: getattr(windows, name)(
            x(M[None, ..., None]),
            window_shape=(k(2), k(2)),
            strides=k(1),
            padding=((k(0), k(1)), (k(1), k(0))),
            window_dilation=k(1),
        )
        for name in ("avg_pool", "max_pool", "min_pool")
    },
    "sliding_window_view": lambda x, k, xp: windows.sliding_window_view(
        x(M), (k(2),), axis=(k(1),), strides=k(2), window_dilation=k(1)
    ),
    **{
        name: lambda x, k, xp, name=name: getattr(windows, name)(
            x(M), k(2), axis=k(1), strides=k(1), padding=[(k(0), k(1))], window_dilation=k(2)
        )
        for name in ("window_max", "window_mean", "window_min", "window_prod", "window_sum")
    },
    "window_reduce": lambda x, k, xp: windows.window_reduce(
        x(M), xp.add, 0.0, k(2), axis=k(1), strides=k(1), padding=[(k(0), k(1))], window_dilation=k(2)
    ),
    "window_scatter_max": lambda x, k, xp: windows.window_scatter_max(
        x(M), x(M[:, :3]), 0.0, k(2), axis=k(1), strides=k(1), padding=[(k(0), k(0))]
    ),
    "window_scatter_min": lambda x, k, xp: windows.window_scatter_min(
        x(M), x(M[:, :3]), 0.0, k(2), axis=k(1), strides=k(1), padding=[(k(0), k(0))]
    ),
}


STANDARD: dict[str, Callable[[Any, Any, Any], Any]] = {
    "reshape": lambda x, k, xp: xp.reshape(x(M), (k(4), k(-1))),
    "broadcast_to": lambda x, k, xp: xp.broadcast_to(x(X), (k(2), k(3))),
    "tile": lambda x, k, xp: xp.tile(x(X), (k(2), k(1))),
    "zeros": lambda x, k, xp: xp.zeros((k(3),)),
    "ones": lambda x, k, xp: xp.ones(k(3)),
    "full": lambda x, k, xp: xp.full((k(3), k(2)), 2.0),
    "empty": lambda x, k, xp: xp.empty((k(3), k(0))),
    "eye": lambda x, k, xp: xp.eye(k(3), k(4), k=k(1)),
    "linspace": lambda x, k, xp: xp.linspace(0.0, 1.0, k(3)),
    "fftfreq": lambda x, k, xp: xp.fft.fftfreq(k(3)),
    "rfftfreq": lambda x, k, xp: xp.fft.rfftfreq(k(3)),
    "fft": lambda x, k, xp: xp.fft.rfft(x(M), n=k(5), axis=k(0)),
    "fftn": lambda x, k, xp: xp.fft.rfftn(x(M), s=(k(3), k(5)), axes=(k(0), k(1))),
    "fftshift": lambda x, k, xp: xp.fft.fftshift(x(M), axes=(k(1),)),
    "repeat": lambda x, k, xp: xp.repeat(x(M), k(2), axis=k(1)),
    "roll": lambda x, k, xp: xp.roll(x(M), (k(2), k(1)), axis=(k(0), k(1))),
    "slice": lambda x, k, xp: x(M)[k(0) : k(3) : k(2), k(1)],
    "moveaxis": lambda x, k, xp: xp.moveaxis(x(M), k(0), k(1)),
    "permute_dims": lambda x, k, xp: xp.permute_dims(x(M), (k(1), k(0))),
    "expand_dims": lambda x, k, xp: xp.expand_dims(x(M), axis=k(1)),
    "squeeze": lambda x, k, xp: xp.squeeze(x(M[:, None]), axis=k(1)),
    "flip": lambda x, k, xp: xp.flip(x(M), axis=(k(1),)),
    **{
        name: lambda x, k, xp, name=name: [
            getattr(xp, name)(x(M), axis=k(1)),
            getattr(xp, name)(x(M), axis=(k(0), k(1)), keepdims=True),
        ]
        for name in ("all", "any", "count_nonzero", "max", "mean", "min", "prod", "std", "sum", "var")
    },
    "correction": lambda x, k, xp: xp.std(x(M), axis=k(0), correction=k(1)),
    "argmax": lambda x, k, xp: xp.argmax(x(M), axis=k(1)),
    "cumulative_sum": lambda x, k, xp: xp.cumulative_sum(x(M), axis=k(0)),
    "diff": lambda x, k, xp: xp.diff(x(M), n=k(2), axis=k(0)),
    "tril": lambda x, k, xp: xp.tril(x(M), k=k(1)),
    "triu": lambda x, k, xp: xp.triu(x(M), k=k(1)),
    "concat": lambda x, k, xp: xp.concat([x(M), x(M)], axis=k(1)),
    "stack": lambda x, k, xp: xp.stack([x(M), x(M)], axis=k(1)),
    "unstack": lambda x, k, xp: [*xp.unstack(x(M), axis=k(1))],
    "sort": lambda x, k, xp: [xp.sort(x(M), axis=k(0)), xp.argsort(x(M), axis=k(0))],
    "take": lambda x, k, xp: xp.take(x(M), x(IDS), axis=k(1)),
    "take_along_axis": lambda x, k, xp: xp.take_along_axis(x(M), x(IDS[:, None]), axis=k(1)),
    "tensordot": lambda x, k, xp: [
        xp.tensordot(x(M), x(M.T), axes=k(1)),
        xp.linalg.tensordot(x(M), x(M.T), axes=k(1)),
        xp.tensordot(x(M), x(M), axes=((k(0), k(1)), (k(0), k(1)))),
    ],
    "vecdot": lambda x, k, xp: xp.vecdot(x(M), x(M), axis=k(0)),
    "diagonal": lambda x, k, xp: [xp.linalg.diagonal(x(M), offset=k(1)), xp.linalg.trace(x(M), offset=k(1))],
    "matrix_power": lambda x, k, xp: xp.linalg.matrix_power(x(SQUARE), k(3)),
    "vector_norm": lambda x, k, xp: [
        xp.linalg.vector_norm(x(M), axis=k(0)),
        xp.linalg.vector_norm(x(M), axis=(k(0), k(1))),
    ],
    "cross": lambda x, k, xp: xp.linalg.cross(x(M), x(M + 1), axis=k(0)),
}


def _in_precision(real: Any, integer: Any, function: Callable[[], Any]) -> Any:
    with precision.precision(real, integer=integer):
        return function()


def _total(x: Any, y: Any) -> Any:
    return NAMESPACE(x).sum(x * y * y)


def _square(x: Any) -> Any:
    return NAMESPACE(x).sum((x - 1.0) ** 2)


def _sparse(x: Any) -> Any:
    values, rows, columns = map(x, ENTRIES)
    return sparse.COO(values, (rows, columns), (3, 3))


def _mapped(function: Callable[[Any], Any], x: Any) -> Any:
    return vmap.vmap(function, axis_name="i")(x(M))


# JAX compiles optimizers for seconds, and Dask computes each step from the start.
@unless(lambda library, name: library.id in ("jax", "dask") and "optimize" in EVERY[name].__code__.co_names)
@pytest.mark.parametrize("library", LIBRARIES, ids=str)
@pytest.mark.parametrize("name", EVERY)
def test_every_size(library: Library, name: str) -> None:
    """Calls with integers of NumPy before and after one with Python's have the same results."""
    check(library, EVERY[name])


# array-api-strict takes Python's integers alone.
@unless(lambda library: library.id.startswith("strict"))
@pytest.mark.parametrize("library", LIBRARIES, ids=str)
@pytest.mark.parametrize("name", STANDARD)
def test_every_size_of_namespaces(library: Library, name: str) -> None:
    check(library, STANDARD[name])


def check(library: Library, function: Callable[[Any, Any, Any], Any]) -> None:
    """Compare the results of calls with integers of NumPy before and after one with Python's."""

    def call(integer: Integer) -> Any:
        return function(library.asarray, integer, library.xp)

    try:
        expected = call(int)
    except Exception as error:  # the library can't do this
        if library.id == "numpy":
            raise
        with pytest.raises(type(error)):
            call(np.int64)
        return
    for integer in (np.int64, int, np.int32):
        found = call(integer)
        assert trees.structure(found) == trees.structure(expected)
        for a, b in zip(trees.leaves(found), trees.leaves(expected), strict=True):
            if is_array_api_obj(b):
                assert all(type(size) is int for size in a.shape)
                assert a.dtype == b.dtype
                np.testing.assert_array_equal(library.to_numpy(a), library.to_numpy(b))
            else:
                assert a == b


class Marked(np.int64):
    """An integer that a function gets from a call above."""


def _has_marked(value: Any) -> bool:
    if isinstance(value, (tuple, list, set, frozenset)):
        return any(map(_has_marked, value))
    return any(map(_has_marked, value.values())) if isinstance(value, dict) else isinstance(value, Marked)


def _public_functions() -> Iterator[tuple[str, Any]]:
    """Yield the functions of all modules but those of named arrays, whose sizes are those of axes."""
    names = [name for _, name, _ in pkgutil.iter_modules(xpand_extensions.__path__) if name[0] != "_"]
    others = {"cli", "extend", "generic", "named", "plot", "plugins", "profile", "progress", "tracing"}
    modules = [importlib.import_module(f"xpand_extensions.{name}") for name in names if name not in others]
    for module in (creation, manipulation, polynomial, sampled, sets, trees, *modules):
        for name in module.__all__:
            function = inspect.unwrap(getattr(module, name))
            if isinstance(function, FunctionType):
                yield f"{module.__name__.rpartition('.')[2]}.{name}", function


def _sizes(function: Any) -> set[str]:
    """Return the parameters that are integers, or may be: not those that also take floating-point numbers."""
    found = set()
    for name, parameter in inspect.signature(function).parameters.items():
        annotation = parameter.annotation
        text = annotation.__name__ if isinstance(annotation, type) else str(annotation)
        words = set(re.findall(r"\w+", text))
        if "int" in words and not words & {"float", "complex", "Literal"}:
            found.add(name)
    return found


OTHER_INTEGERS: Final = {
    "bits.shift_left": "elements",
    "bits.shift_right": "elements",
    "bits.shift_right_logical": "elements",
    "linear_solve.multilevel": "needs another package",
    "precision.set_precision": "changes the state of the process",
    "random.native_generator": "the library's own generator checks its seed",
    "random.seed": "changes the state of the process",
    "optimize.iterate": "a generator",
}


def test_every_integer_is_one_of_numpy_above() -> None:
    functions = dict(_public_functions())
    seen: dict[Any, set[str]] = {function.__code__: set() for function in functions.values()}

    def record(frame: Any, event: str, _: Any) -> None:
        if event == "call" and frame.f_code in seen:
            seen[frame.f_code] |= {key for key, value in frame.f_locals.items() if _has_marked(value)}

    xp = LIBRARIES[0].xp
    sys.setprofile(record)
    try:
        for call in EVERY.values():
            call(LIBRARIES[0].asarray, Marked, xp)
    finally:
        sys.setprofile(None)
    missing = {name: _sizes(function) - seen[function.__code__] for name, function in functions.items()}
    assert {name: found for name, found in missing.items() if found and name not in OTHER_INTEGERS} == {}
