"""Functions on a GPU compared with the libraries' own; each call waits for its result. No rows without a GPU."""

import warnings
from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np

import xpand
from xpand_extensions import devices, linalg, scatter, sparse, special

from ._measure import Budget, Call, Row
from .sparse import laplacian

BUDGET: Final = Budget(ratio=1.2)

KINDS: Final = ("gpu",)
"""The kinds of devices to measure. The tests use the CPU, so that they run every row."""

SMALL: Final[dict[str, Any]] = {"size": 30, "kinds": ("cpu", "gpu")}


def rows(size: int = 10_000_000, kinds: tuple[str, ...] = KINDS) -> Iterator[Row]:
    topic = f"on a GPU, {size:,} float32, waited for"
    for name in ("torch", "jax", "cupy"):
        for info in _first(name, kinds):
            xp = xpand.namespace(name)
            rng = np.random.default_rng(0)
            x = xp.asarray(rng.uniform(0.1, 0.9, size).astype("float32"), device=info.device)
            ids = xp.asarray(rng.integers(0, max(size // 100, 1), size), device=info.device)
            for what, ours, theirs in _pairs(name, xp, x, ids, max(size // 100, 1)):
                natives = {f"{name}'s own": Call(_waited(theirs), x)}
                yield Row(topic, f"{what}, {name}", Call(_waited(ours), x), natives, BUDGET)


def _first(name: str, kinds: tuple[str, ...]) -> tuple[devices.DeviceInfo, ...]:
    try:
        found = devices.devices(name)
    except ModuleNotFoundError:
        return ()
    return tuple(each for each in found if each.kind in kinds)[:1]


def _waited(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda x: devices.synchronize(function(x))


Pair = tuple[str, Callable[[Any], Any], Callable[[Any], Any]]


def _pairs(name: str, xp: Any, x: Any, ids: Any, segments: int) -> Iterator[Pair]:
    """Yield functions: the name, xpand's version, and the library's."""
    yield "sin", xp.sin, _native(name).sin
    ours = lambda x: scatter.segment_sum(x, ids, num_segments=segments, mode="drop")
    yield "segment_sum", ours, _segment_sum(name, ids, segments)
    side = min(int(x.shape[0] ** 0.5), 2000)
    square = xp.reshape(x[: side * side], (side, side))
    yield "einsum", lambda _: linalg.einsum("ij,kj->ik", square, square), lambda _: square @ square.T
    yield "erf", special.erf, _erf(name)
    matrix = laplacian(min(side, 1000)).astype("float32")
    parts = [xp.asarray(part, device=x.device) for part in (matrix.data, matrix.indices, matrix.indptr)]
    ours_of = sparse.CSR(parts[0], parts[1], parts[2], matrix.shape)
    vector = x[: matrix.shape[1]]
    theirs_of = _csr(name, parts, matrix.shape)
    yield "sparse product", lambda _: ours_of @ vector, lambda _: theirs_of @ vector


def _native(name: str) -> Any:
    if name == "jax":
        import jax.numpy

        return jax.numpy
    return __import__(name)


def _segment_sum(name: str, ids: Any, segments: int) -> Callable[[Any], Any]:
    if name == "torch":
        import torch

        return lambda x: torch.zeros(segments, dtype=x.dtype, device=x.device).index_add_(0, ids, x)
    if name == "jax":
        import jax

        return jax.jit(lambda x: jax.ops.segment_sum(x, ids, num_segments=segments))
    import cupy

    return lambda x: cupy.bincount(ids, x, minlength=segments)


def _erf(name: str) -> Callable[[Any], Any]:
    if name == "torch":
        import torch

        return torch.erf  # type: ignore[no-any-return]
    if name == "jax":
        import jax

        return jax.scipy.special.erf  # type: ignore[no-any-return]
    import cupyx.scipy.special

    return cupyx.scipy.special.erf  # type: ignore[no-any-return]


def _csr(name: str, parts: list[Any], shape: tuple[int, int]) -> Any:
    values, indices, indptr = parts
    if name == "torch":
        import torch

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # PyTorch warns that its CSR may change
            return torch.sparse_csr_tensor(indptr, indices, values, size=shape)
    if name == "jax":
        from jax.experimental.sparse import BCSR

        return BCSR((values, indices, indptr), shape=shape)
    import cupyx.scipy.sparse

    return cupyx.scipy.sparse.csr_matrix((values, indices, indptr), shape=shape)
