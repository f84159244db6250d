"""Functions of a namespace that was stored before the transformation: `self.xp = xpand.numpy` in a constructor.

Each function of the standard gets traced arrays under `grad`, `jvp`, `jit` and `vmap`, alone and beside constants.
"""

from collections.abc import Callable
from operator import attrgetter
from typing import Any, Final

import numpy as np
import pytest

import xpand.numpy as xp
from tests.central import differences_of
from xpand_extensions.autodiff import grad, jvp
from xpand_extensions.jit import jit
from xpand_extensions.tracing import TracedError
from xpand_extensions.tracing._namespace import traced_namespace
from xpand_extensions.vmap import vmap

X: Final = np.asarray([0.31, 1.22, 0.73, 2.14, 1.45, 0.96])
T: Final = np.linspace(0.1, 1.0, 6)
INDICES: Final = np.asarray([2, 0, 1])


def _matrix(v: Any) -> Any:
    return np.eye(3) * 2 + v[:3, None] * v[None, :3] * 0.1


def _sorted(v: Any) -> Any:
    """Integers that depend on values."""
    return v.argsort()


UNARY: Final = (
    *("abs", "asin", "asinh", "atan", "atanh", "acos", "ceil", "conj", "cos", "cosh", "exp", "expm1", "floor", "log"),
    *("log1p", "log2", "log10", "negative", "positive", "real", "reciprocal", "round", "sign", "sin", "sinh", "square"),
    *("sqrt", "tan", "tanh", "trunc", "isfinite", "isinf", "isnan", "signbit"),
)
BINARY: Final = (
    *("add", "subtract", "multiply", "divide", "pow", "atan2", "hypot", "logaddexp", "maximum", "minimum", "copysign"),
    *("nextafter", "equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "floor_divide", "remainder"),
)
LOGICAL: Final = ("logical_and", "logical_or", "logical_xor", "bitwise_and", "bitwise_or", "bitwise_xor")
REDUCTIONS: Final = (
    *("sum", "prod", "mean", "max", "min", "std", "var", "all", "any", "argmax", "argmin", "count_nonzero"),
    *("cumulative_sum", "cumulative_prod", "sort", "argsort", "diff", "flip"),
)
SPECTRA: Final = ("fft", "ifft", "fftn", "ifftn", "rfft", "irfft", "rfftn", "irfftn", "hfft", "ihfft")
OF_MATRICES: Final = (
    *("cholesky", "det", "inv", "pinv", "svdvals", "eigvalsh", "matrix_norm", "trace", "diagonal", "matrix_rank"),
    *("vector_norm", "matrix_transpose", "eigvals"),
)

CALLS: Final[dict[str, Callable[[Any], Any]]] = {
    **{name: lambda v, name=name: getattr(xp, name)(v / 3.0) for name in UNARY},
    "acosh": lambda v: xp.acosh(v + 1.0),
    "imag": lambda v: xp.imag(v * 1j),
    **{name: lambda v, name=name: getattr(xp, name)(v, T) for name in BINARY},
    **{f"{name} of a constant": lambda v, name=name: getattr(xp, name)(T, v) for name in BINARY},
    **{f"{name} and a number": lambda v, name=name: getattr(xp, name)(v, 2.0) for name in BINARY},
    **{name: lambda v, name=name: getattr(xp, name)(v > 1, T > 0.5) for name in LOGICAL},
    "logical_not": lambda v: xp.logical_not(v > 1),
    "bitwise_invert": lambda v: xp.bitwise_invert(v > 1),
    "bitwise_left_shift": lambda v: xp.bitwise_left_shift(_sorted(v), 1),
    "bitwise_right_shift": lambda v: xp.bitwise_right_shift(_sorted(v), 1),
    **{name: lambda v, name=name: getattr(xp, name)(v) for name in REDUCTIONS},
    **{f"{name} along an axis": lambda v, name=name: getattr(xp, name)(_matrix(v), axis=0) for name in REDUCTIONS},
    "sum with options": lambda v: xp.sum(v, keepdims=True, dtype=xp.float64),
    "std with a correction": lambda v: xp.std(v, correction=1.0),
    "cumulative_sum from zero": lambda v: xp.cumulative_sum(v, include_initial=True),
    "cumulative_sum of a data type": lambda v: xp.cumulative_sum(v, dtype=xp.float64),
    "cumulative_prod from one": lambda v: xp.cumulative_prod(v, include_initial=True),
    "sort, descending": lambda v: xp.sort(v, descending=True),
    "argsort, descending": lambda v: xp.argsort(v, descending=True, stable=False),
    "diff with ends": lambda v: xp.diff(v, prepend=T[:1], append=v[:1]),
    "clip": lambda v: xp.clip(v, 0.5, 1.0),
    "clip of a constant": lambda v: xp.clip(T, v - 1, v),
    "clip by a constant": lambda v: xp.clip(v, T, None),
    "where": lambda v: xp.where(v > 1, v, T),
    "where of constants": lambda v: xp.where(v > 1, 1.0, T),
    "where by a constant": lambda v: xp.where(T > 0.5, v, 0.0),
    "asarray": lambda v: xp.asarray(v),
    "asarray of a list": lambda v: xp.asarray([v[0], 1.0]),
    "asarray of lists": lambda v: xp.asarray([[v[0], v[1]], [0, 1]], copy=True),
    "asarray of a data type": lambda v: xp.asarray([v[0], 2], dtype=xp.float64),
    "asarray without a copy": lambda v: xp.asarray(v, copy=False),
    "astype": lambda v: xp.astype(v, xp.float64),
    "astype of booleans": lambda v: xp.astype(v > 1, xp.float64),
    "zeros_like": lambda v: xp.zeros_like(v) + v,
    "ones_like": lambda v: xp.ones_like(v, dtype=xp.float64) * v,
    "empty_like": lambda v: xp.empty_like(v).shape[0] * v,
    "full_like": lambda v: xp.full_like(v, 2.0) * v,
    "full_like of a constant": lambda v: xp.full_like(T, v[0]),
    "full": lambda v: xp.full((2,), v[1]),
    "full of a data type": lambda v: xp.full(3, v[0], dtype=xp.float64),
    "linspace": lambda v: xp.linspace(v[0], v[1], 4),
    "linspace from a number": lambda v: xp.linspace(0.0, v[1], num=4),
    "eye": lambda v: xp.eye(6) * v,
    "arange": lambda v: xp.arange(6.0) * v,
    "zeros": lambda v: xp.zeros(6) + v,
    "ones": lambda v: xp.ones(6) * v,
    "stack": lambda v: xp.stack([v, T]),
    "stack of numbers": lambda v: xp.stack([v[0], v[1], T[0]]),
    "concat": lambda v: xp.concat([v, T]),
    "concat after a constant": lambda v: xp.concat([T, v], axis=0),
    "reshape": lambda v: xp.reshape(v, (2, 3)),
    "permute_dims": lambda v: xp.permute_dims(_matrix(v), (1, 0)),
    "matrix_transpose": lambda v: xp.matrix_transpose(_matrix(v)),
    "squeeze": lambda v: xp.squeeze(v[None], axis=0),
    "expand_dims": lambda v: xp.expand_dims(v, axis=0),
    "roll": lambda v: xp.roll(v, 2),
    "repeat": lambda v: xp.repeat(v, 2),
    "tile": lambda v: xp.tile(v, (2,)),
    "moveaxis": lambda v: xp.moveaxis(_matrix(v), 0, 1),
    "broadcast_to": lambda v: xp.broadcast_to(v, (2, 6)),
    "broadcast_arrays": lambda v: xp.broadcast_arrays(v, T)[0],
    "broadcast_shapes": lambda v: v * xp.broadcast_shapes((1,), (6,))[0],
    "unstack": lambda v: xp.unstack(v)[1],
    "meshgrid": lambda v: xp.meshgrid(v, T)[0],
    "tril": lambda v: xp.tril(_matrix(v)),
    "triu": lambda v: xp.triu(_matrix(v), k=1),
    "take": lambda v: xp.take(v, INDICES, axis=0),
    "take of a constant": lambda v: xp.take(T, _sorted(v), axis=0) * v,
    "take_along_axis": lambda v: xp.take_along_axis(v, INDICES),
    "searchsorted": lambda v: xp.searchsorted(T, v),
    "searchsorted of a constant": lambda v: xp.searchsorted(xp.cumulative_sum(v), T, side="right"),
    "isin": lambda v: xp.isin(v, T),
    "matmul": lambda v: xp.matmul(v, T),
    "matmul of a constant": lambda v: xp.matmul(_matrix(T), _matrix(v)),
    "tensordot": lambda v: xp.tensordot(v, T, axes=1),
    "vecdot": lambda v: xp.vecdot(v, T),
    "isdtype": lambda v: v * xp.isdtype(v.dtype, "real floating"),
    "result_type": lambda v: xp.astype(v, xp.result_type(v, xp.float32)),
    "can_cast": lambda v: v * xp.can_cast(v.dtype, xp.float64),
    "finfo": lambda v: v * xp.finfo(v).bits,
    "iinfo": lambda v: v * xp.iinfo(_sorted(v)).bits,
    "nonzero": lambda v: xp.nonzero(v > 1)[0],
    "unique_values": lambda v: xp.unique_values(v),
    "unique_counts": lambda v: xp.unique_counts(v).counts,
    "unique_inverse": lambda v: xp.unique_inverse(v).inverse_indices,
    "unique_all": lambda v: xp.unique_all(v).indices,
    **{f"linalg.{name}": lambda v, name=name: getattr(xp.linalg, name)(_matrix(v)) for name in OF_MATRICES},
    "linalg.solve": lambda v: xp.linalg.solve(_matrix(v), T[:3]),
    "linalg.solve of a constant": lambda v: xp.linalg.solve(_matrix(T), v[:3]),
    "linalg.eigh": lambda v: xp.linalg.eigh(_matrix(v)).eigenvalues,
    "linalg.eig": lambda v: xp.linalg.eig(_matrix(v)).eigenvalues,
    "linalg.qr": lambda v: abs(xp.linalg.qr(_matrix(v)).R),
    "linalg.svd": lambda v: xp.linalg.svd(_matrix(v)).S,
    "linalg.slogdet": lambda v: xp.linalg.slogdet(_matrix(v)).logabsdet,
    "linalg.cross": lambda v: xp.linalg.cross(v[:3], T[:3]),
    "linalg.outer": lambda v: xp.linalg.outer(v, T),
    "linalg.matrix_power": lambda v: xp.linalg.matrix_power(_matrix(v), 2),
    "linalg.matmul": lambda v: xp.linalg.matmul(_matrix(v), T[:3]),
    "linalg.tensordot": lambda v: xp.linalg.tensordot(v, T, axes=1),
    "linalg.vecdot": lambda v: xp.linalg.vecdot(v, T),
    **{f"fft.{name}": lambda v, name=name: getattr(xp.fft, name)(v) for name in SPECTRA},
    "fft.fftshift": lambda v: xp.fft.fftshift(v),
    "fft.ifftshift": lambda v: xp.fft.ifftshift(v),
    "fft.fftfreq": lambda v: v * xp.fft.fftfreq(6),
    "fft.rfftfreq": lambda v: v[:4] * xp.fft.rfftfreq(6),
}
"""Calls of functions of the standard, by name."""

NOT_CALLED: Final = {"empty", "from_dlpack"}
"""Functions without traced arrays as arguments or with undefined results."""

SIZES: Final = {"nonzero", "unique_values", "unique_counts", "unique_inverse", "unique_all"}
"""Functions whose results have a size that depends on values, which `jit` and `vmap` refuse."""


def _weighted(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    traced = traced_namespace(xp)

    def weighted(v: Any) -> Any:
        result = traced.wrap(np.asarray(function(v)) if isinstance(v, np.ndarray) else function(v))
        parts = [result]
        if result.dtype.kind == "c":
            parts = [traced.real(result), traced.imag(result)]
        total = 0.0
        for part in parts:
            part = part if part.dtype.kind == "f" else traced.astype(part, traced.float64)
            weights = np.cos(np.arange(float(part.size))).reshape(part.shape)
            total = total + traced.sum(traced.sin(part) * weights)
        return total

    return weighted


def _check(result: Any, expected: Any, tolerance: float) -> None:
    assert result.shape == expected.shape
    assert result.dtype == expected.dtype
    np.testing.assert_allclose(result, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", CALLS)
def test_each_function(name: str) -> None:
    function = CALLS[name]
    with np.errstate(all="ignore"):
        expected = np.asarray(function(X))
        slope = differences_of(_weighted(function), X)
        _check(grad(_weighted(function))(X), slope, 1e-5)
        np.testing.assert_allclose(jvp(_weighted(function), (X,), (T,))[1], slope @ T, rtol=1e-5, atol=1e-5)
        batch = np.stack([X, X])
        if name in SIZES:
            for transform, x in ((jit, X), (vmap, batch)):
                with pytest.raises(TracedError, match="size"):
                    transform(function)(x)
        else:
            _check(jit(function)(X), expected, 1e-13)
            _check(vmap(function)(batch)[1], expected, 1e-12)


def test_all_functions_of_the_standard_are_called() -> None:
    called = {name.partition(" ")[0].rstrip(",") for name in CALLS}
    standard = {name for name in traced_namespace(xp).standard if _has(xp, name)} - {"getitem", "setitem"}
    assert called | NOT_CALLED >= standard - {"to_device", "stop_gradient"}
    assert all(_has(xp, name) for name in called | NOT_CALLED)


def _has(namespace: Any, name: str) -> bool:
    try:
        attrgetter(name)(namespace)
    except AttributeError:
        return False
    return True


class _Model:
    def __init__(self, namespace: Any) -> None:
        self.xp = namespace
        self.weights = namespace.asarray([1.0, -2.0, 0.5])

    def energy(self, x: Any) -> Any:
        xp = self.xp
        hidden = xp.tanh(xp.stack([x, self.weights]) * self.weights)
        return xp.sum(hidden * hidden)


@pytest.mark.parametrize("name", ["xpand.numpy", "array_api_compat.numpy", "numpy"])
def test_a_stored_namespace(name: str) -> None:
    model = _Model(pytest.importorskip(name))
    x = X[:3]
    np.testing.assert_allclose(grad(model.energy)(x), differences_of(model.energy, x), rtol=1e-6)
    np.testing.assert_allclose(jit(model.energy)(x), model.energy(x), rtol=1e-14)
    np.testing.assert_allclose(vmap(model.energy)(np.stack([x, x])), [model.energy(x)] * 2, rtol=1e-14)
