"""The namespace `xpand.dask.array`: lazy, right over any chunks, with known shapes kept; NumPy's is the reference."""

import inspect
import math
import pickle
import warnings
from collections.abc import Callable
from operator import attrgetter
from typing import Any

import dask
import numpy as np
import pytest
from dask.utils import parse_bytes

import xpand
import xpand.numpy as xnp

da = pytest.importorskip("dask.array")
import array_api_compat.dask.array as compat  # noqa: E402

import xpand.dask.array as xp  # noqa: E402

INF, NAN = math.inf, math.nan


@pytest.fixture
def lazily():
    """Build graphs with a scheduler that refuses to run them."""

    def refuse(*args: Any, **kwargs: Any) -> None:
        raise AssertionError("a graph was computed while it was being built")

    return dask.config.set(scheduler=refuse)


def computed(value: Any) -> Any:
    return value.compute(scheduler="synchronous") if isinstance(value, da.Array) else value


def as_tuple(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)


def assert_matches(got: Any, expected: Any, *, static: bool = True) -> None:
    """Compare a lazy result with NumPy's, its shape and data type before it is computed."""
    assert isinstance(got, da.Array)
    expected = np.asarray(expected)
    assert got.dtype == expected.dtype
    assert got.ndim == expected.ndim
    if static:
        assert got.shape == expected.shape
    value = np.asarray(computed(got))
    assert value.shape == expected.shape
    assert value.dtype == expected.dtype
    if expected.dtype.kind in "fc":
        tolerance = 1e-4 if expected.dtype.itemsize // (1 + (expected.dtype.kind == "c")) == 4 else 1e-9
        np.testing.assert_allclose(value, expected, rtol=tolerance, atol=tolerance)
    else:
        np.testing.assert_array_equal(value, expected)


rng = np.random.default_rng(3)
V = rng.normal(size=11)
W = np.sort(rng.normal(size=9)).astype(np.float32)
M = rng.normal(size=(7, 5))
N = rng.normal(size=(5, 6))
T = rng.normal(size=(4, 6, 5))
S = rng.normal(size=(3, 4, 4)) + 4 * np.eye(4)
P = S @ np.swapaxes(S, -1, -2)
C = rng.normal(size=(6, 4)) + 1j * rng.normal(size=(6, 4))
I8 = rng.integers(-9, 9, size=(6, 5), dtype=np.int8)
U8 = rng.integers(0, 200, size=(5, 6), dtype=np.uint8)
B = rng.integers(0, 2, size=(6, 5)).astype(bool)
K = rng.integers(-5, 5, size=7)
SPECIAL = np.asarray([0.0, -0.0, 1.5, -2.0, INF, -INF, NAN])
COMPLEX = np.empty(49, dtype=np.complex128)
COMPLEX.real, COMPLEX.imag = np.repeat(SPECIAL, 7), np.tile(SPECIAL, 7)

_COMPLEX_FUNCTIONS = ["acos", "acosh", "asin", "asinh", "atan", "atanh", "cosh", "exp", "expm1", "log", "log1p"]
_COMPLEX_FUNCTIONS += ["sinh", "sqrt", "tanh"]

# Each case is a call written against a namespace, and the arrays it takes.
Case = tuple[str, Callable[..., Any], tuple[Any, ...]]
CASES: list[Case] = [
    # elementwise
    ("clip", lambda xp, x: xp.clip(x, -0.5, 0.5), (T,)),
    ("clip-min", lambda xp, x: xp.clip(x, min=-0.5), (T,)),
    ("clip-max", lambda xp, x, y: xp.clip(x, max=y), (T, T[0] / 2)),
    ("clip-none", lambda xp, x: xp.clip(x), (I8,)),
    ("clip-arrays", lambda xp, x, lo, hi: xp.clip(x, lo, hi), (M, M[0] - 1, M[:, :1] + 1)),
    ("floor_divide", lambda xp, x, y: xp.floor_divide(x, y), (SPECIAL[:, None], SPECIAL)),
    ("floor_divide-int", lambda xp, x: xp.floor_divide(x, 4), (I8,)),
    ("remainder", lambda xp, x, y: xp.remainder(x, y), (SPECIAL[:, None], SPECIAL)),
    ("remainder-scalar", lambda xp, x: xp.remainder(x, 2.5), (T,)),
    ("add-scalar", lambda xp, x: xp.add(x, 1), (U8,)),
    ("sign", lambda xp, x: xp.sign(x), (C,)),
    ("sign-real", lambda xp, x: xp.sign(x), (T,)),
    ("where", lambda xp, c, x: xp.where(c, x, 1), (B, I8)),
    ("isin", lambda xp, x, y: xp.isin(x, y), (I8, K)),
    ("isin-invert", lambda xp, x: xp.isin(x, 3, invert=True), (I8,)),
    *((f"{name}-complex", lambda xp, x, name=name: getattr(xp, name)(x), (COMPLEX,)) for name in _COMPLEX_FUNCTIONS),
    *((f"{name}-real", lambda xp, x, name=name: getattr(xp, name)(x), (V,)) for name in ("exp", "tanh", "expm1")),
    # manipulation
    ("broadcast_arrays", lambda xp, x, y: xp.broadcast_arrays(x, y), (M, M[0])),
    ("broadcast_to", lambda xp, x: xp.broadcast_to(x, (3, 7, 5)), (M,)),
    ("concat", lambda xp, x, y: xp.concat([x, y], axis=1), (M, M[:, :2].astype(np.float32))),
    ("concat-none", lambda xp, x, y: xp.concat((x, y), axis=None), (M, N)),
    ("expand_dims", lambda xp, x: xp.expand_dims(x, axis=-1), (M,)),
    ("expand_dims-tuple", lambda xp, x: xp.expand_dims(x, axis=(0, -2)), (M,)),
    ("flip", lambda xp, x: xp.flip(x, axis=(0, 1)), (M,)),
    ("matrix_transpose", lambda xp, x: xp.matrix_transpose(x), (T,)),
    ("moveaxis", lambda xp, x: xp.moveaxis(x, 0, -1), (T,)),
    ("permute_dims", lambda xp, x: xp.permute_dims(x, (2, 0, 1)), (T,)),
    ("repeat", lambda xp, x: xp.repeat(x, 3, axis=1), (M,)),
    ("repeat-flat", lambda xp, x: xp.repeat(x, 2), (M,)),
    ("reshape", lambda xp, x: xp.reshape(x, (6, -1), copy=True), (T,)),
    ("roll", lambda xp, x: xp.roll(x, 2), (M,)),
    ("roll-axes", lambda xp, x: xp.roll(x, 2, axis=(0, 1)), (M,)),
    ("roll-shifts", lambda xp, x: xp.roll(x, (2, -8), axis=(0, 1)), (M,)),
    ("squeeze", lambda xp, x: xp.squeeze(x, axis=1), (M[:, :1],)),
    ("stack", lambda xp, x, y: xp.stack([x, y], axis=-1), (M, 2 * M)),
    ("tile", lambda xp, x: xp.tile(x, (2, 1, 3)), (M,)),
    ("tril", lambda xp, x: xp.tril(x, k=1), (T,)),
    ("triu", lambda xp, x: xp.triu(x, k=-1), (T,)),
    ("unstack", lambda xp, x: xp.unstack(x, axis=1), (M,)),
    ("meshgrid", lambda xp, x, y: xp.meshgrid(x, y, indexing="ij"), (V, W)),
    # sorting, searching
    ("sort", lambda xp, x: xp.sort(x, axis=1), (T,)),
    ("sort-descending", lambda xp, x: xp.sort(x, axis=0, descending=True), (I8,)),
    ("argsort", lambda xp, x: xp.argsort(x, descending=True), (I8,)),
    ("argsort-axis", lambda xp, x: xp.argsort(x, axis=-2), (T,)),
    ("argmax", lambda xp, x: xp.argmax(x, axis=1, keepdims=True), (M,)),
    ("argmin", lambda xp, x: xp.argmin(x), (M,)),
    ("searchsorted", lambda xp, x, y: xp.searchsorted(x, y), (W, T)),
    ("searchsorted-right", lambda xp, x, y: xp.searchsorted(x, y, side="right"), (np.sort(K), K)),
    ("searchsorted-sorter", lambda xp, x, y: xp.searchsorted(x, y, sorter=xp.argsort(x)), (V, M)),
    ("searchsorted-scalar", lambda xp, x: xp.searchsorted(x, 0.25), (W,)),
    ("take", lambda xp, x, i: xp.take(x, i, axis=0), (M, K)),
    ("take-flat", lambda xp, x, i: xp.take(x, i), (V, K)),
    ("take_along_axis", lambda xp, x: xp.take_along_axis(x, xp.argsort(x, axis=1), axis=1), (T,)),
    ("take_along_axis-broadcast", lambda xp, x, i: xp.take_along_axis(x, i), (M, np.asarray([[3, -1, 0]]))),
    # statistics
    ("count_nonzero", lambda xp, x: xp.count_nonzero(x, axis=0, keepdims=True), (I8,)),
    ("count_nonzero-all", lambda xp, x: xp.count_nonzero(x), (B,)),
    ("cumulative_sum", lambda xp, x: xp.cumulative_sum(x, axis=1), (I8,)),
    ("cumulative_sum-initial", lambda xp, x: xp.cumulative_sum(x, axis=-2, include_initial=True), (T,)),
    ("cumulative_sum-vector", lambda xp, x: xp.cumulative_sum(x, dtype=xp.float32), (V,)),
    ("cumulative_prod", lambda xp, x: xp.cumulative_prod(x, axis=0, include_initial=True), (U8,)),
    ("diff", lambda xp, x: xp.diff(x, axis=0, n=2), (M,)),
    ("mean", lambda xp, x: xp.mean(x, axis=(0, 2)), (T,)),
    ("std", lambda xp, x: xp.std(x, axis=1, correction=1, keepdims=True), (M,)),
    ("sum", lambda xp, x: xp.sum(x, axis=1), (U8,)),
    ("var", lambda xp, x: xp.var(x, correction=0.5), (M,)),
    # linear algebra
    ("matmul", lambda xp, x, y: xp.matmul(x, y), (M, N)),
    ("matmul-stack", lambda xp, x, y: xp.matmul(x, y), (T, N)),
    ("matmul-vector", lambda xp, x, y: xp.matmul(x, y), (T, N[:, 0])),
    ("matmul-int8", lambda xp, x, y: xp.matmul(x, y), (I8, I8.T.copy())),
    ("tensordot", lambda xp, x, y: xp.tensordot(x, y, axes=((1,), (-1,))), (T, I8.T.astype(np.float32).copy())),
    ("tensordot-uint8", lambda xp, x, y: xp.tensordot(x, y, axes=1), (U8, U8.T.copy())),
    ("tensordot-outer", lambda xp, x, y: xp.tensordot(x, y, axes=0), (M, W)),
    ("tensordot-axes", lambda xp, x, y: xp.tensordot(x, y, axes=((2, -2), (-1, 0))), (T, np.ones((6, 3, 5)))),
    ("vecdot", lambda xp, x, y: xp.vecdot(x, y), (C, C[0])),
    ("vecdot-axis", lambda xp, x, y: xp.linalg.vecdot(x, y, axis=-2), (I8, I8)),
    ("outer", lambda xp, x, y: xp.linalg.outer(x, y), (V, W)),
    ("cross", lambda xp, x, y: xp.linalg.cross(x, y), (M[:, :3], N[0, :3])),
    ("cross-axis", lambda xp, x, y: xp.linalg.cross(x, y, axis=-2), (T[:, :3], T[:, 1:4])),
    ("diagonal", lambda xp, x: xp.linalg.diagonal(x, offset=-1), (T,)),
    ("trace", lambda xp, x: xp.linalg.trace(x, offset=1), (T,)),
    ("det", lambda xp, x: xp.linalg.det(x), (S,)),
    ("slogdet", lambda xp, x: xp.linalg.slogdet(x), (S.astype(np.complex64),)),
    ("inv", lambda xp, x: xp.linalg.inv(x), (S,)),
    ("solve", lambda xp, x, y: xp.linalg.solve(x, y), (S, S[0, :, :2])),
    ("solve-vector", lambda xp, x, y: xp.linalg.solve(x, y), (S, S[0, 0])),
    ("cholesky", lambda xp, x: xp.linalg.cholesky(x), (P,)),
    ("cholesky-upper", lambda xp, x: xp.linalg.cholesky(x, upper=True), (P[0],)),
    ("eigvals", lambda xp, x: xp.sum(xp.linalg.eigvals(x), axis=-1), (S,)),
    ("eigvalsh", lambda xp, x: xp.linalg.eigvalsh(x), (P.astype(np.float32),)),
    ("svdvals", lambda xp, x: xp.linalg.svdvals(x), (C,)),
    ("svdvals-stack", lambda xp, x: xp.linalg.svdvals(x), (T,)),
    ("matrix_rank", lambda xp, x: xp.linalg.matrix_rank(x), (T * [1, 1, 1, 0, 0],)),
    ("matrix_rank-rtol", lambda xp, x, r: xp.linalg.matrix_rank(x, rtol=r), (T, np.asarray([0.1, 0.5, 0.9, 0.01]))),
    ("pinv", lambda xp, x: xp.linalg.pinv(x), (T,)),
    ("pinv-complex", lambda xp, x: xp.linalg.pinv(x, rtol=0.5), (C,)),
    ("matrix_power", lambda xp, x: xp.linalg.matrix_power(x, 6), (S,)),
    ("matrix_power-negative", lambda xp, x: xp.linalg.matrix_power(x, -3), (S,)),
    ("matrix_power-zero", lambda xp, x: xp.linalg.matrix_power(x, 0), (S,)),
    *(
        (f"matrix_norm-{ord}", lambda xp, x, ord=ord: xp.linalg.matrix_norm(x, ord=ord, keepdims=True), (T,))
        for ord in ("fro", "nuc", 1, -1, 2, -2, INF, -INF)
    ),
    *(
        (f"vector_norm-{ord}", lambda xp, x, ord=ord: xp.linalg.vector_norm(x, axis=(0, 2), ord=ord), (T,))
        for ord in (0, 1, 2, 3.5, -1, INF, -INF)
    ),
    ("vector_norm-all", lambda xp, x: xp.linalg.vector_norm(x, keepdims=True), (C.astype(np.complex64),)),
    # Fourier transforms
    *(
        (f"{name}-{n}", lambda xp, x, name=name, n=n: getattr(xp.fft, name)(x, n=n, axis=0, norm="ortho"), (C,))
        for name in ("fft", "ifft", "irfft", "hfft")
        for n in (None, 5, 9)
    ),
    *(
        (f"{name}-{n}", lambda xp, x, name=name, n=n: getattr(xp.fft, name)(x, n=n), (M.astype(np.float32),))
        for name in ("rfft", "ihfft")
        for n in (None, 4)
    ),
    *(
        (
            f"{name}-{norm}-{s}",
            lambda xp, x, name=name, norm=norm, s=s: getattr(xp.fft, name)(x, s=s, axes=(1, 0), norm=norm),
            (M if name == "rfftn" else C,),
        )
        for name in ("fftn", "ifftn", "rfftn", "irfftn")
        for norm in ("backward", "ortho", "forward")
        for s in (None, (3, 8))
    ),
    ("fftn", lambda xp, x: xp.fft.fftn(x, axes=(0, 2)), (T,)),
    ("fftn-s", lambda xp, x: xp.fft.fftn(x, s=(3, 8), axes=(1, 2), norm="forward"), (T,)),
    ("ifftn", lambda xp, x: xp.fft.ifftn(x), (C,)),
    ("rfftn", lambda xp, x: xp.fft.rfftn(x), (T,)),
    ("irfftn", lambda xp, x: xp.fft.irfftn(x, s=(4, 7), axes=(0, 1)), (C,)),
    ("fftshift", lambda xp, x: xp.fft.fftshift(x, axes=(0,)), (M,)),
    ("ifftshift", lambda xp, x: xp.fft.ifftshift(x), (M,)),
]


@pytest.mark.parametrize("chunks", [2, -1], ids=["chunked", "whole"])
@pytest.mark.parametrize(("call", "arrays"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_lazy_and_equal_to_numpy(call: Callable[..., Any], arrays: tuple[Any, ...], chunks: int, lazily: Any) -> None:
    lazy = [da.from_array(x, chunks=chunks) for x in arrays]
    with lazily:
        results = call(xp, *lazy)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        expected = call(xnp, *arrays)
        if hasattr(expected, "_fields"):
            assert results._fields == expected._fields
        results, expected = as_tuple(results), as_tuple(expected)
        assert len(results) == len(expected)
        for got, want in zip(results, expected):
            assert_matches(got, want)


def conjugate_transpose(x: Any) -> Any:
    return np.conj(np.swapaxes(x, -1, -2))


# Factors are unique up to signs or phases only: what they multiply to is compared.
FACTORIZATIONS: list[Case] = [
    ("qr", lambda x: (lambda f: f.Q @ f.R)(xp.linalg.qr(x)), (M,)),
    ("qr-complete", lambda x: (lambda f: f.Q @ f.R)(xp.linalg.qr(x, mode="complete")), (T,)),
    ("qr-tall", lambda x: (lambda f: f.Q @ f.R)(xp.linalg.qr(x)), (np.vstack([M] * 6),)),
    ("svd", lambda x: (lambda f: (f.U[..., :5] * f.S[..., None, :]) @ f.Vh)(xp.linalg.svd(x)), (T,)),
    ("svd-wide", lambda x: (lambda f: (f.U * f.S) @ f.Vh)(xp.linalg.svd(x, full_matrices=False)), (C.T.copy(),)),
    ("svd-tall", lambda x: (lambda f: (f.U * f.S) @ f.Vh)(xp.linalg.svd(x, False)), (np.vstack([C] * 6),)),
    ("eigh", lambda x: (lambda f: (f[1] * f[0][..., None, :]) @ xp.matrix_transpose(f[1]))(xp.linalg.eigh(x)), (P,)),
    ("eig", lambda x: (lambda f: (f[1] * f[0][..., None, :]) @ xp.linalg.inv(f[1]))(xp.linalg.eig(x)), (S + 0j,)),
]


@pytest.mark.parametrize("chunks", [2, (6, -1), -1], ids=["chunked", "rows", "whole"])
@pytest.mark.parametrize(("call", "arrays"), [c[1:] for c in FACTORIZATIONS], ids=[c[0] for c in FACTORIZATIONS])
def test_factors_multiply_to_the_matrix(
    call: Callable[..., Any], arrays: tuple[Any, ...], chunks: Any, lazily: Any
) -> None:
    (x,) = arrays
    with lazily:
        product = call(da.from_array(x, chunks=chunks if isinstance(chunks, int) else (*[1] * (x.ndim - 2), *chunks)))
    assert_matches(product, x)


# Sizes that depend on the data: unknown before, right afterwards.


@pytest.mark.parametrize("chunks", [2, -1], ids=["chunked", "whole"])
@pytest.mark.parametrize("name", ["unique_all", "unique_counts", "unique_inverse", "unique_values"])
def test_unique(name: str, chunks: int, lazily: Any) -> None:
    x = np.asarray([[3.0, 1.0, NAN, 1.0], [0.0, NAN, 3.0, -0.0]])
    with lazily:
        results = getattr(xp, name)(da.from_array(x, chunks=chunks))
    expected = getattr(xnp, name)(x)
    if name != "unique_values":
        assert results._fields == expected._fields
    for got, want in zip(as_tuple(results), as_tuple(expected)):
        assert_matches(got, want, static=False)
    if name in ("unique_all", "unique_inverse"):
        assert results.inverse_indices.shape == x.shape
    assert all(math.isnan(got.shape[0]) for got in as_tuple(results) if got.ndim == 1)


def test_nonzero(lazily: Any) -> None:
    with lazily:
        results = xp.nonzero(da.from_array(B, chunks=2))
    for got, want in zip(results, np.nonzero(B), strict=True):
        assert_matches(got, want, static=False)


@pytest.mark.parametrize("repeats", [np.asarray([2, 0, 1, 3, 1]), np.asarray([3])], ids=["each", "one"])
def test_repeat_of_lazy_and_known_counts(repeats: Any, lazily: Any) -> None:
    x = da.from_array(M, chunks=2)
    with lazily:
        known = xp.repeat(x, repeats, axis=1)
        lazy = xp.repeat(x, da.from_array(repeats), axis=1)
    expected = np.repeat(M, repeats, axis=1)
    assert_matches(known, expected)
    assert math.isnan(lazy.shape[1])
    assert_matches(lazy, expected, static=False)


@pytest.mark.parametrize("name", ["sort", "argsort", "cumulative_sum", "unique_values", "cumulative_prod"])
def test_arrays_of_unknown_size(name: str, lazily: Any) -> None:
    x = da.from_array(V, chunks=3)
    with lazily:
        result = getattr(xp, name)(x[x > 0])
    assert_matches(result, getattr(xnp, name)(V[V > 0]), static=False)


def test_factors_of_unknown_numbers_of_rows(lazily: Any) -> None:
    x = np.vstack([M] * 4)
    rows = da.from_array(x, chunks=(14, 5))
    with lazily:
        rows = rows[rows[:, 0] > -INF]
        q, r = xp.linalg.qr(rows)
        s = xp.linalg.svdvals(rows)
    np.testing.assert_allclose(computed(q @ r), x)
    np.testing.assert_allclose(computed(s), np.linalg.svd(x)[1])


# Creation.


@pytest.mark.parametrize(
    "arguments",
    [(5,), (2, 9), (2, 9, 2), (9, 2, -3), (0.5, 3), (1, 2, 0.3), (3, 3), (-(2**63), 2**63 - 1, 2**62), (0,)],
    ids=str,
)
def test_arange(arguments: tuple[float, ...], lazily: Any) -> None:
    with lazily:
        result = xp.arange(*arguments, chunks=2)
    integral = all(isinstance(a, int) for a in arguments)
    expected = np.asarray(list(range(*arguments)), dtype=np.int64) if integral else np.arange(*arguments)
    assert_matches(result, expected)


def test_arange_of_the_largest_integers() -> None:
    assert_matches(
        xp.arange(2**64 - 5, 2**64 - 1, dtype=xp.uint64), np.asarray(range(2**64 - 5, 2**64 - 1), dtype=np.uint64)
    )


@pytest.mark.parametrize("endpoint", [True, False])
@pytest.mark.parametrize("num", [0, 1, 2, 7])
@pytest.mark.parametrize(("start", "stop"), [(0, 1), (0.1, -0.3), (0.0, 5e-324), (1j, 2), (2.0, 2.0)])
def test_linspace(start: complex, stop: complex, num: int, endpoint: bool, lazily: Any) -> None:
    with lazily:
        result = xp.linspace(start, stop, num, endpoint=endpoint, chunks=3)
    expected = np.linspace(start, stop, num, endpoint=endpoint)
    assert_matches(result, expected)
    if endpoint and num > 1:
        assert computed(result)[-1] == stop
    longer = computed(xp.linspace(start, stop, num + 1))[:-1]
    if not endpoint:
        np.testing.assert_array_equal(computed(result), longer)


@pytest.mark.parametrize("shape", [(3,), (3, 5), (5, 3), (0, 2), (0,)], ids=str)
@pytest.mark.parametrize("k", [0, 1, -4, 10])
def test_eye(shape: tuple[int, ...], k: int) -> None:
    assert_matches(xp.eye(*shape, k=k, dtype=xp.float32, chunks="auto"), np.eye(*shape, k=k, dtype=np.float32))
    if 0 not in shape:
        assert_matches(xp.eye(*shape, k=k, chunks=2), np.eye(*shape, k=k))


def test_eye_of_many_rows_is_chunked() -> None:
    assert max(xp.eye(10**6).chunksize) < 10**5


def test_asarray_stacks_lazy_elements(lazily: Any) -> None:
    x = da.from_array(V, chunks=2)
    with lazily:
        result = xp.asarray([[x[0], 1.0], [x[1], 2.0]])
        small = xp.asarray([x[0], 1], dtype=xp.float32)
    assert_matches(result, [[V[0], 1.0], [V[1], 2.0]])
    assert_matches(small, np.asarray([V[0], 1], dtype=np.float32))


def test_asarray_promotes_lazy_elements(lazily: Any) -> None:
    one, half, wide = (da.from_array(np.asarray(x)) for x in (1, 0.5, 1.5 + 2.5j))
    with lazily:
        found = [xp.asarray(items) for items in ([one, half], [half, one], [one, wide], [[one, True], [half, wide]])]
    for result, expected in zip(found, ([1, 0.5], [0.5, 1], [1, 1.5 + 2.5j], [[1, 1], [0.5, 1.5 + 2.5j]])):
        assert_matches(result, np.asarray(expected))


def test_asarray_copies_its_source() -> None:
    source = np.arange(3)
    array = xp.asarray(source)
    source[0] = 9
    assert_matches(array, [0, 1, 2])


def test_asarray_of_arrays_and_scalars() -> None:
    x = xp.asarray([1, 2])
    assert xp.asarray(x) is x
    assert xp.asarray(x, copy=True) is not x
    assert_matches(xp.asarray(x, dtype=xp.float32), np.asarray([1, 2], dtype=np.float32))
    assert_matches(xp.asarray(2**64 - 1, dtype=xp.uint64), np.asarray(2**64 - 1, dtype=np.uint64))
    with pytest.raises(ValueError, match="copy=False"):
        xp.asarray(x, dtype=xp.float32, copy=False)
    with pytest.raises(ValueError, match="always copied"):
        xp.asarray([1.0], copy=False)


def test_from_dlpack() -> None:
    x = xp.asarray([1, 2])
    assert xp.from_dlpack(x) is x
    assert_matches(xp.from_dlpack(np.arange(3.0)), np.arange(3.0))
    with pytest.raises(ValueError, match="copy=False"):
        xp.from_dlpack(np.arange(3.0), copy=False)


@pytest.mark.parametrize("name", ["empty", "zeros", "ones", "full"])
def test_filled(name: str) -> None:
    value = (2,) if name == "full" else ()
    made = getattr(xp, name)((2, 3), *value, dtype=xp.int8, device="cpu")
    like = getattr(xp, f"{name}_like")(made, *value, dtype=xp.float32)
    assert (made.shape, made.dtype) == ((2, 3), xp.int8)
    assert (like.shape, like.dtype) == ((2, 3), xp.float32)
    if name != "empty":
        expected = {"zeros": 0, "ones": 1, "full": 2}[name]
        assert_matches(made, np.full((2, 3), expected, dtype=np.int8))
        assert_matches(like, np.full((2, 3), expected, dtype=np.float32))


def test_names_say_what_arrays_are_made_of() -> None:
    """As Dask's own do: what is the same is computed once, and nothing else is taken for it."""
    x = xp.asarray(np.ones((4, 2)))

    def made() -> list[da.Array]:
        return [
            xp.zeros((4, 2)),
            xp.zeros((2, 4)),
            xp.zeros((4, 2), chunks=2),
            xp.zeros((4, 2), dtype=xp.float32),
            xp.zeros((4, 2), order="F"),
            xp.ones((4, 2)),
            xp.empty((4, 2)),
            xp.full((4, 2), 0.0),
            xp.full((4, 2), -0.0),
            xp.full((4, 2), math.nan),
            xp.full((4, 2), 1, dtype=xp.float64),
            xp.zeros_like(x),
            xp.ones_like(x, dtype=xp.int8),
            xp.empty_like(x),
            xp.full_like(x, 2.0),
            xp.full_like(x, 3.0),
        ]

    first, second = [x.name for x in made()], [x.name for x in made()]
    assert first == second
    assert len(set(first)) == len(first)
    assert xp.zeros(3, name="mine").name == "mine"
    with dask.config.set({"array.chunk-size": "16B"}):  # on which chunks depend that aren't those of the array
        assert xp.zeros_like(x, chunks="auto").name != xp.zeros_like(x).name
        small = xp.zeros_like(x, shape=(8,))
    joined = xp.concat([small, xp.zeros_like(x, shape=(8,))])
    assert joined.compute().shape == (16,)
    of_unknown_size = [xp.zeros_like(x[x > limit]) for limit in (0.0, 2.0)]
    assert of_unknown_size[0].name != of_unknown_size[1].name
    assert [len(x.compute()) for x in of_unknown_size] == [8, 0]
    assert np.signbit(xp.full((1,), -0.0).compute()).all()


def test_cumulative_sum_over_empty_blocks() -> None:
    x = da.concatenate(
        [da.from_array(I8[:, :2]), da.ones((6, 3), dtype=np.int8)[:, :0], da.from_array(I8[:, 2:])], axis=1
    )
    x = da.Array(x.dask, x.name, x.chunks, dtype=x.dtype)
    for initial in (False, True):
        result = xp.cumulative_sum(x.rechunk((6, (2, 0, 3))), axis=1, include_initial=initial)
        assert_matches(result, xnp.cumulative_sum(I8, axis=1, include_initial=initial))


# Arrays without elements.

EMPTY: list[Case] = [
    ("full", lambda xp, x: xp.full(x.shape, 2, dtype=xp.float32), (T[:, :0],)),
    ("max", lambda xp, x: xp.max(x, axis=(0, 2)), (T[:, :0],)),
    ("min", lambda xp, x: xp.min(x, axis=-1, keepdims=True), (T[:0],)),
    ("roll", lambda xp, x: xp.roll(x, 1), (T[:, :0],)),
    ("repeat", lambda xp, x: xp.repeat(x, 2, axis=1), (T[:, :0],)),
    ("sort", lambda xp, x: xp.sort(x, axis=1), (T[:, :0],)),
    ("take", lambda xp, x, i: xp.take(x, i, axis=1), (T, K[:0])),
    ("matmul", lambda xp, x, y: xp.matmul(x, y), (M[:, :0], N[:0])),
    ("tensordot", lambda xp, x, y: xp.tensordot(x, y, axes=1), (M[:, :0], N[:0])),
    ("det", lambda xp, x: xp.linalg.det(x), (S[:0],)),
    ("svdvals", lambda xp, x: xp.linalg.svdvals(x), (T[:, :0],)),
    ("pinv", lambda xp, x: xp.linalg.pinv(x), (T[:0],)),
    ("pinv-no-rows", lambda xp, x: xp.linalg.pinv(x), (T[:, :0],)),
    ("matrix_rank", lambda xp, x: xp.linalg.matrix_rank(x), (T[:, :0],)),
    ("matrix_norm", lambda xp, x: xp.linalg.matrix_norm(x, ord=2), (T[:, :0],)),
    ("vector_norm", lambda xp, x: xp.linalg.vector_norm(x, ord=INF), (V[:0],)),
]


@pytest.mark.parametrize(("call", "arrays"), [case[1:] for case in EMPTY], ids=[case[0] for case in EMPTY])
def test_arrays_without_elements(call: Callable[..., Any], arrays: tuple[Any, ...], lazily: Any) -> None:
    lazy = [xp.asarray(x) for x in arrays]
    with lazily:
        result = call(xp, *lazy)
    assert_matches(result, call(xnp, *arrays))


@pytest.mark.parametrize("shape", [(0, 4), (4, 0), (2, 0, 3)])
def test_empty_arrays_in_chunks_are_flattened(shape: tuple[int, ...]) -> None:
    x = da.zeros(shape, chunks=2)
    for result in (xp.concat([x, x], axis=None), xp.repeat(x, 2), xp.unique_values(x), *xp.nonzero(x)):
        assert result.compute().shape == (0,)


def test_extrema_of_nothing_are_an_error() -> None:
    with pytest.raises(ValueError, match="zero-size array"):
        xp.max(xp.asarray(T[:, :0]), axis=1)


# Data types.


def test_data_types() -> None:
    x = xp.asarray([1, 2], dtype=xp.int8)
    assert xp.finfo(xp.asarray(1.0, dtype=xp.float32)).bits == 32
    assert type(xp.finfo(xp.complex64).eps) is float
    assert xp.iinfo(x).max == 127
    assert xp.result_type(x, xp.uint8, 1) == xp.int16
    assert xp.can_cast(x, xp.int16)
    assert not xp.can_cast(x, xp.uint8)
    assert xp.isdtype(x.dtype, "signed integer")
    assert xp.astype(x, xp.int8, copy=False) is x
    assert_matches(xp.astype(x, xp.float32), np.asarray([1, 2], dtype=np.float32))


FACTORS = ("qr", "svd", "svdvals", "eigh", "eigvalsh", "eig", "eigvals", "cholesky", "inv", "det", "slogdet")


@pytest.mark.parametrize("dtype", ["int8", "int64", "uint8", "float32", "complex64"])
@pytest.mark.parametrize("name", FACTORS)
def test_data_types_of_factors(name: str, dtype: str, lazily: Any) -> None:
    """They are declared before anything is computed, also for integers."""
    x = np.asarray([[4, 1, 0], [1, 3, 1], [0, 1, 2]]).astype(dtype)
    with lazily:
        found = as_tuple(getattr(xp.linalg, name)(da.from_array(x, chunks=2)))
    for part, expected in zip(found, as_tuple(getattr(xnp.linalg, name)(x)), strict=True):
        assert part.dtype == part.compute().dtype == expected.dtype


def test_broadcast_shapes() -> None:
    assert xp.broadcast_shapes() == ()
    assert xp.broadcast_shapes((3, 1), (4,), ()) == (3, 4)
    assert xp.broadcast_shapes((None, 1), (3, None)) == (None, None)
    assert math.isnan(xp.broadcast_shapes((NAN,), (1,))[0])
    with pytest.raises(ValueError, match=r"\(3,\), \(4,\) do not broadcast"):
        xp.broadcast_shapes((3,), (4,))


# Chunks.


def test_axes_that_need_not_be_whole_keep_their_chunks() -> None:
    x = da.ones((8, 9, 10), chunks=(2, 3, 4))
    assert xp.sort(x, axis=-1).chunks == ((2,) * 4, (3,) * 3, (10,))
    assert xp.linalg.svdvals(x).chunks == ((2,) * 4, (9,))
    assert xp.take(x, da.asarray([1, 2]), axis=1).chunks == ((2,) * 4, (2,), (4, 4, 2))


def test_blocks_do_not_outgrow_the_chunk_size() -> None:
    x = da.ones((64, 64), chunks=(64, 8))
    with dask.config.set({"array.chunk-size": "4kiB"}):
        result = xp.sort(x, axis=1)
    assert result.chunksize == (8, 64)


def test_the_namespace_of_the_blocks_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    from xpand.dask.array import _blocks

    seen = []

    def spy(*blocks: Any) -> Any:
        seen.append(tuple(type(block) for block in blocks))
        return xnp

    monkeypatch.setattr(_blocks, "array_namespace", spy)
    computed(xp.sort(da.ones((4, 4), chunks=2)))
    assert seen == [(np.ndarray,)] * 2


def test_graphs_can_be_sent_to_workers() -> None:
    x = da.from_array(T, chunks=2)
    results = (xp.linalg.svd(x).S, xp.clip(x, 0, 1), xp.sort(x), xp.arange(5), xp.unique_values(x), xp.fft.fftn(x))
    for result in results:
        copy = pickle.loads(pickle.dumps(result))
        np.testing.assert_array_equal(computed(copy), computed(result))


# Bad input.

BAD: list[tuple[str, Callable[[], Any], str]] = [
    ("device", lambda: xp.zeros(3, device="tpu"), "zeros: device must be one of"),
    ("arange", lambda: xp.arange(0, 3, 0), "arange: step must not be zero"),
    ("take", lambda: xp.take(xp.ones((2, 2)), xp.asarray([0])), "take: axis must be given"),
    ("take_along_axis", lambda: xp.take_along_axis(xp.ones((2, 2)), xp.asarray([0])), "as many axes as x"),
    ("searchsorted", lambda: xp.searchsorted(xp.ones((2, 2)), xp.ones(2)), r"x1 must have one axis.*\(2, 2\)"),
    ("searchsorted", lambda: xp.searchsorted(xp.ones(2), xp.ones(2), side="centre"), "got 'centre'"),
    ("cumulative_sum", lambda: xp.cumulative_sum(xp.ones((2, 2))), "cumulative_sum: axis must be given"),
    ("nonzero", lambda: xp.nonzero(xp.asarray(1)), "nonzero: x must have one or more axes"),
    ("repeat", lambda: xp.repeat(xp.ones(4), np.asarray([1, 2])), r"repeats must have shape \(1,\) or \(4,\)"),
    ("unstack", lambda: xp.unstack(xp.unique_values(xp.ones(3))), "compute_chunk_sizes"),
    ("expand_dims", lambda: xp.expand_dims(xp.ones(3), axis=3), "out of bounds"),
    ("sort", lambda: xp.sort(xp.ones(3), axis=1), "out of bounds"),
    ("matrix_transpose", lambda: xp.matrix_transpose(xp.ones(3)), r"two axes, got shape \(3,\)"),
    ("matmul", lambda: xp.matmul(xp.ones((3, 1)), xp.ones((4, 2))), r"inner sizes are \(1, 4\)"),
    ("matmul", lambda: xp.matmul(xp.ones(()), xp.ones(3)), "one or more axes"),
    ("tensordot", lambda: xp.tensordot(xp.ones((3, 1)), xp.ones((4, 2)), axes=1), "do not fit along axes"),
    ("vecdot", lambda: xp.vecdot(xp.ones(3), xp.ones(1)), "same size along axis -1"),
    ("cross", lambda: xp.linalg.cross(xp.ones(3), xp.ones(2)), "cross: x1 and x2 must have size 3"),
    ("inv", lambda: xp.linalg.inv(xp.ones((3, 2))), r"inv: x must be square matrices.*got shape \(3, 2\)"),
    ("svd", lambda: xp.linalg.svd(xp.ones(3)), r"svd: x must be matrices.*got shape \(3,\)"),
    ("solve", lambda: xp.linalg.solve(xp.ones((3, 3)), xp.ones(2)), "solve: x2 must have 3 rows"),
    ("qr", lambda: xp.linalg.qr(xp.ones((3, 3)), mode="raw"), "'reduced' or 'complete', got 'raw'"),
    ("matrix_norm", lambda: xp.linalg.matrix_norm(xp.ones((3, 3)), ord=3), "got 3"),
    ("fft", lambda: xp.fft.fft(xp.ones(3), norm="no"), "fft: norm must be"),
    ("fft", lambda: xp.fft.fft(xp.ones(3), n=0), "length n of 1 or more, got 0"),
    ("fftn", lambda: xp.fft.fftn(xp.ones(3), s=(2, 3), axes=(0,)), "fftn: s and axes"),
    ("floor_divide", lambda: xp.floor_divide(xp.ones(3), "a"), "floor_divide: not defined for"),
]


@pytest.mark.parametrize(("call", "message"), [case[1:] for case in BAD], ids=[case[0] for case in BAD])
def test_bad_input(call: Callable[[], Any], message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        call()


# The namespace itself.


@pytest.mark.parametrize("part", ["", "linalg", "fft"])
def test_drop_in_for_array_api_compat(part: str) -> None:
    ours, theirs = (getattr(module, part) if part else module for module in (xp, compat))
    assert set(theirs.__all__) <= set(ours.__all__)
    assert all(hasattr(ours, name) for name in ours.__all__)
    assert sorted(dir(ours)) == sorted(ours.__all__)


def test_submodules_are_ours() -> None:
    import xpand.dask.array.fft
    import xpand.dask.array.linalg
    from xpand.dask.array import fft, linalg

    assert linalg is xp.linalg is xpand.dask.array.linalg
    assert fft is xp.fft is xpand.dask.array.fft
    assert linalg.__name__ == "xpand.dask.array.linalg"


def test_array_namespace_finds_it() -> None:
    assert xpand.array_namespace(xp.ones(3)) is xp
    assert xp.__array_api_version__ == "2025.12"


def test_keywords_of_array_api_compat_are_taken() -> None:
    x = xp.asarray([[4.0, 1.0], [1.0, 3.0]])
    out = da.empty_like(x)
    xp.exp(x, out=out)
    assert_matches(out, np.exp(computed(x)))
    np.testing.assert_allclose(computed(xp.linalg.solve(x, x[0], assume_a="pos")), [1.0, 0.0])
    assert xp.cumulative_sum(x, axis=0, method="blelloch").shape == (2, 2)
    values, step = xp.linspace(0, 1, 3, retstep=True)
    assert (values.shape, step) == ((3,), 0.5)


def test_public_functions_have_documentation() -> None:
    own = {
        name: value
        for module in (xp, xp.linalg, xp.fft)
        for name, value in vars(module).items()
        if inspect.isfunction(value) and value.__module__.startswith("xpand.dask") and not name.startswith("_")
    }
    assert len(own) > 90
    assert [name for name, function in own.items() if not function.__doc__] == []


def test_linspace_of_integers_rounds_down():
    a = xp.linspace(-10, 0, 4, dtype=np.int64, chunks=2)
    np.testing.assert_array_equal(a.compute(), np.linspace(-10, 0, 4, dtype=np.int64))


def test_repeats_of_no_axes():
    x = da.arange(3, chunks=2)
    np.testing.assert_array_equal(xp.repeat(x, da.asarray(2)).compute(), [0, 0, 1, 1, 2, 2])


@pytest.mark.parametrize("shape", [(0, 8), (0,), (4, 0, 4), (2, -1, 3)])
def test_arrays_without_elements_have_any_shape_without(shape: tuple[int, ...]) -> None:
    x = da.zeros((2, 0, 8), chunks=((1, 1), (0,), (3, 5)), dtype="int16")
    found = xp.reshape(x, shape)
    assert found.compute().shape == np.zeros((2, 0, 8)).reshape(shape).shape
    assert found.dtype == np.int16
    with pytest.raises(ValueError, match="size"):
        xp.reshape(x, (3,))


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_triangles_of_complex_matrices_without_a_warning(dtype: str) -> None:
    x = (np.arange(24).reshape(2, 3, 4) * (1 + 2j)).astype(dtype)
    lazy = da.from_array(x, chunks=2)
    for k in (-5, -1, 0, 2, 5):
        for name in ("tril", "triu"):
            found = np.asarray(getattr(xp, name)(lazy, k=k))
            assert found.dtype == x.dtype
            np.testing.assert_array_equal(found, getattr(np, name)(x, k))


@pytest.mark.parametrize(
    ("shape", "chunks"), [((20_000, 20_000), "auto"), ((2, 2**27), "auto"), ((2, 2**27), (1, -1)), ((2**28,), 2**20)]
)
@pytest.mark.parametrize("name", ["sort", "argsort", "cumulative_sum", "fft.fft"])
def test_chunks_stay_small(name: str, shape: tuple[int, ...], chunks: Any) -> None:
    """An axis that is brought into one chunk is split again, unless it was one chunk before. Nothing is computed."""
    x = da.zeros(shape, chunks=chunks)
    found = attrgetter(name)(xp)(x, axis=-1)
    block = math.prod(found.chunksize) * found.dtype.itemsize
    assert found.chunks == x.chunks or block <= parse_bytes(dask.config.get("array.chunk-size"))


@pytest.mark.parametrize("name", ["sort", "argsort"])
def test_sorted_and_split_again(name: str) -> None:
    values = np.random.default_rng(0).random((3, 40))
    with dask.config.set({"array.chunk-size": "128 B"}):
        found = getattr(xp, name)(da.from_array(values, chunks=(3, 5)), axis=-1)
        assert max(found.chunks[1]) <= 16
    np.testing.assert_array_equal(found.compute(), getattr(np, name)(values))
