"""NumPy's functions on traced arrays over Dask: against NumPy itself and central differences."""

import warnings
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pytest

from tests.numpy_calls import assert_same, differences, is_floating, leaves
from xpand_extensions.autodiff import grad
from xpand_extensions.jit import jit
from xpand_extensions.tracing import TracedError
from xpand_extensions.vmap import vmap

da: Any = pytest.importorskip("dask.array")

X: Final = np.array([[0.31, 1.22, 0.73], [2.14, 1.45, 0.96], [0.52, 0.27, 1.81]])
W: Final = np.array([[0.5, -1.0, 2.0], [1.5, 0.7, -0.3], [0.2, 0.9, 1.1]])

FUNCTIONS: Final = (
    *("np.sin(x)", "np.exp(x) * W", "np.log1p(x)", "np.sqrt(x) + np.tanh(x)", "np.arctan2(x, W)", "np.hypot(x, 1)"),
    *("np.maximum(x, W)", "np.fmin(x, 1.0)", "np.power(x, 3)", "np.square(x[0])", "np.float_power(x, W)", "np.cbrt(x)"),
    *("np.multiply(x, W, dtype=np.float64)", "np.add.reduce(x, axis=1)", "np.multiply.outer(x[0], x[1])"),
    *(
        "np.add.accumulate(x)",
        "np.logaddexp.reduce(x, axis=0)",
        "np.maximum.reduce(x)",
        "np.modf(x)",
        "np.divmod(x, 2)",
    ),
    *("np.sum(x)", "np.sum(x, axis=0, keepdims=True)", "np.mean(x, axis=1)", "np.std(x, ddof=1)", "np.var(x, axis=0)"),
    *("np.prod(x, axis=1)", "np.max(x, axis=0)", "np.ptp(x, axis=1)", "np.median(x, axis=0)", "np.quantile(x, 0.3)"),
    *("np.cumsum(x, axis=1)", "np.cumprod(x[0])", "np.nansum(x)", "np.average(x, weights=W**2)", "np.diff(x, axis=0)"),
    *(
        "np.gradient(x[0])",
        "np.trapezoid(x, axis=0)",
        "np.clip(x, 0.5, 1.5)",
        "np.where(x > 1, x, W)",
        "np.round(x + 0.013, 1)",
    ),
    *("np.select([x > 1], [x**2], x)", "np.piecewise(x, [x < 1], [np.sin, np.cos])", "np.nan_to_num(x)", "np.sinc(x)"),
    *("np.concatenate([x, W])", "np.stack([x, W], axis=1)", "np.vstack([x[0], W])", "np.block([[x, W], [W, x]])"),
    *(
        "np.split(x, 3)",
        "np.reshape(x, (1, 9))",
        "np.ravel(x)",
        "np.transpose(x)",
        "np.moveaxis(x, 0, 1)",
        "np.pad(x, 1)",
    ),
    *("np.flip(x, 0)", "np.roll(x, 1, axis=1)", "np.tile(x, (1, 2))", "np.repeat(x, [1, 0, 2], axis=0)", "np.diag(x)"),
    *("np.repeat(x, 2)", "np.delete(x, 1, axis=0)", "np.insert(x, 1, 5.0, axis=1)", "np.append(x, 1.0)", "np.triu(x)"),
    *(
        "np.take(x, [0, 2], axis=1)",
        "np.take_along_axis(x, np.array([[0], [2], [1]]), 1)",
        "np.trace(x)",
        "np.rot90(x)",
    ),
    *("np.take_along_axis(x, np.array([[0, -1, 1]]), axis=0)", "np.take(x, np.argmax(x))", "np.sort(x, axis=0)"),
    *(
        "np.dot(x, W)",
        "np.matmul(W, x)",
        "np.einsum('ij,jk->ik', x, W)",
        "np.tensordot(x, W, 1)",
        "np.outer(x[0], x[1])",
    ),
    *("np.inner(x, W)", "np.kron(x, W)", "np.cross(x, W)", "np.vdot(x, W)", "np.linalg.norm(x)", "np.linalg.det(x)"),
    *("np.linalg.solve(x, W)", "np.linalg.inv(x)", "np.linalg.cholesky(x @ x.T)", "np.linalg.eigh(x + x.T)[0]"),
    *("np.linalg.matrix_power(x, 2)", "np.linalg.cond(x, 1)", "np.abs(np.fft.fft(x))", "np.fft.irfft(x)", "np.cov(x)"),
    *("np.convolve(x[0], W[1])", "np.interp(x, [0.0, 1.0, 3.0], [1.0, 4.0, 2.0])", "np.polyval(x[0], W[0])"),
    *("np.zeros_like(x, shape=(2,)) + x[0, 0]", "np.linspace(x[0, 0], x[0, 1], 4)", "np.full_like(x, 2.0) * x"),
    *("W * x", "x * W", "x @ W", "W - x", "np.float32(2) * x", "x + np.ones(3)", "np.array([x[0, 0], 1.0], like=x)"),
    *("np.argsort(x, axis=1)", "np.isclose(x, W)", "np.floor(x)", "np.asarray(W, like=x) * x"),
)


def _in_chunks(x: Any, size: int) -> Any:
    return da.from_array(x, chunks=size)


def _function(text: str, constant: Any) -> Callable[[Any], Any]:
    function: Callable[[Any], Any] = eval(f"lambda x: {text}", {"np": np, "W": constant})
    return function


def _computed(result: Any) -> Any:
    if isinstance(result, (list, tuple)):
        parts = [_computed(part) for part in result]
        return type(result)(*parts) if hasattr(result, "_fields") else type(result)(parts)
    return np.asarray(result)


def _weighted(result: Any) -> Any:
    """Return one number that depends on all elements of a result differently."""
    total = 0.0
    for i, x in enumerate(leaves(result)):
        if is_floating(x):
            total = total + np.sum(np.sin(x) * np.cos(np.arange(x.size) + i).reshape(x.shape))
    return total


@pytest.mark.parametrize("of_numpy", [False, True], ids=["W is Dask's", "W is NumPy's"])
@pytest.mark.parametrize("text", FUNCTIONS)
def test_values_gradients_programs_and_batches(text: str, of_numpy: bool) -> None:
    if of_numpy and "W" not in text:
        return
    reference = _function(text, W)
    function = _function(text, W if of_numpy else _in_chunks(W, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for size in (2, 3):
            x = _in_chunks(X, size)
            assert_same(_computed(jit(function)(x)), _computed(reference(X)), 1e-10)
        gradient = grad(lambda x: np.sum(x) * 0.0 + _weighted(function(x)))(x)
        assert isinstance(gradient, da.Array)
        np.testing.assert_allclose(gradient, differences(reference, X), rtol=2e-5, atol=2e-6)
        batch = vmap(function)(_in_chunks(np.stack([X, X * 1.1]), 3))
        lanes = [list(leaves(_computed(reference(x)))) for x in (X, X * 1.1)]
        for result, *parts in zip(leaves(_computed(batch)), *lanes, strict=True):
            np.testing.assert_allclose(result, np.stack(parts), rtol=1e-10, atol=1e-10)


def test_many_functions() -> None:
    assert len(set(FUNCTIONS)) == len(FUNCTIONS) > 100


@pytest.mark.parametrize("text", ["da.sin(x)", "da.maximum(x, 1.0)", "da.hypot(x, x)", "da.linalg.norm(x)"])
def test_functions_of_dask_that_call_numpy(text: str) -> None:
    function = eval(f"lambda x: {text}", {"da": da})
    reference = eval(f"lambda x: {text.replace('da.', 'np.')}", {"np": np})
    x = _in_chunks(X, 2)
    np.testing.assert_allclose(jit(function)(x), reference(X), rtol=1e-12)
    gradient = grad(lambda x: np.sum(function(x) ** 2))(x)
    np.testing.assert_allclose(gradient, grad(lambda x: np.sum(reference(x) ** 2))(X), rtol=1e-12)


@pytest.mark.parametrize(
    "text",
    [
        *("da.sum(x)", "da.mean(x)", "da.where(x > 1, x, 0.0)", "da.concatenate([x, x])", "da.stack([x, y])"),
        *("da.add(x, y)", "da.add(y, x)", "da.dot(y, x)", "da.einsum('ij,ij', x, y)", "da.asarray(x)", "da.pad(x, 1)"),
        *("da.cumsum(x, axis=0)", "da.round(x, 1)", "da.median(x, axis=0)", "da.searchsorted(y[0], x[0])"),
        *("da.map_blocks(np.sin, x)", "da.from_array(x)", "x.compute()", "x.rechunk(2)", "da.topk(x, 1)"),
    ],
)
@pytest.mark.parametrize("transform", [grad, jit, vmap])
def test_functions_of_dask_name_those_of_numpy(text: str, transform: Any) -> None:
    """Dask's functions do not dispatch: an error says what to write."""
    scope = {"da": da, "np": np, "y": _in_chunks(X, 3)}
    function = eval(f"lambda x: np.sum({text})", scope)
    x = _in_chunks(np.stack([X, X]) if transform is vmap else X, 3)
    with pytest.raises((TracedError, AttributeError), match="NumPy's function"):
        transform(function)(x)


@pytest.mark.parametrize(
    "text",
    [
        *("np.add(x, 1.0, out=x)", "np.put(x[0], 0, 1.0)", "np.copyto(x[:1], 1.0)", "np.add.at(x, 0, 1.0)"),
        *("np.fill_diagonal(x, 0.0)", "np.cumsum(x, out=np.ravel(x))", "np.putmask(x, x > 1, 0.0)"),
    ],
)
def test_writes_raise(text: str) -> None:
    """Arrays of Dask share no memory: a write into a part would be lost."""
    function = eval(f"lambda x: np.sum(x if ({text}) is None else x)", {"np": np})
    for transform in (grad, jit):
        with pytest.raises(TracedError, match="share no memory"):
            transform(function)(_in_chunks(X, 3))


@pytest.mark.parametrize("text", ["np.nonzero(x)[0]", "np.unique(x)", "np.extract(x > 1, x)"])
def test_sizes_that_depend_on_values(text: str) -> None:
    function = eval(f"lambda x: np.sum({text})", {"np": np})
    for transform, reason in ((grad, "are lazy until they are computed"), (jit, "`jit` does not know")):
        with pytest.raises(TracedError, match=f"the size of its result depends on values, which {reason}"):
            transform(function)(_in_chunks(X, 3))


@pytest.mark.parametrize("name", ["gamma", "erf", "expit", "j0", "exprel"])
def test_functions_of_scipy(name: str) -> None:
    function = getattr(pytest.importorskip("scipy.special"), name)
    x = _in_chunks(X, 2)
    np.testing.assert_allclose(jit(function)(x), function(X), rtol=1e-12)
    gradient = grad(lambda x: np.sum(function(x)))(x)
    np.testing.assert_allclose(gradient, grad(lambda x: np.sum(function(x)))(X), rtol=1e-10)


def test_transformations_compute_nothing() -> None:
    """Values that are computed while a function is traced would be computed twice."""

    def fail(block: Any, block_info: Any = None) -> Any:
        if block_info is not None and block_info:
            raise AssertionError("a block was computed")
        return block

    x = da.from_array(X, chunks=2).map_blocks(fail, dtype=X.dtype, meta=np.empty((0, 0)))
    gradient = grad(lambda x: np.sum(np.sin(x) @ np.take(x, [0, 2, 1], axis=0)) + np.linalg.norm(x))(x)
    assert isinstance(gradient, da.Array)
    with pytest.raises(AssertionError, match="a block was computed"):
        gradient.compute()
