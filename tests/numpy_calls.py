"""The checker of NumPy's functions on traced arrays: values, data types, derivatives, batches, programs."""

import warnings
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

import numpy as np
import pytest

import xpand
from xpand import trees
from xpand_extensions.autodiff import grad, vjp
from xpand_extensions.jit import jit
from xpand_extensions.tracing import traced_namespace
from xpand_extensions.vmap import vmap

STEP: Final = 1e-6
"""The step of central differences."""


class Call(NamedTuple):
    """A call of NumPy's functions with one array."""

    text: str
    """An expression of `np`, of the array `x`, and of the constants of its module."""
    function: Callable[[Any], Any]
    x: Any
    stops: dict[str, str]
    """For transformations that refuse the call, a part of the error: `{"jit": "the size of its result depends"}`."""
    tolerance: float


def calls(
    constants: dict[str, Any], x: Any, *texts: str, stops: dict[str, str] | None = None, tolerance: float = 1e-12
) -> list[Any]:
    """Make parameters of a test from expressions."""
    scope = {"np": np, **constants}
    made = [Call(text, eval(f"lambda x: {text}", scope), x, stops or {}, tolerance) for text in texts]
    return [pytest.param(call, id=call.text) for call in made]


def leaves(result: Any) -> Iterator[Any]:
    """Yield the arrays and numbers of a result."""
    if isinstance(result, (list, tuple)):
        for part in result:
            yield from leaves(part)
    else:
        yield result


def is_floating(x: Any) -> bool:
    """Return whether a result is a number or an array with derivatives."""
    return hasattr(x, "dtype") and not isinstance(x, np.dtype) and x.dtype.kind in "fc"


def weighted(result: Any) -> Any:
    """Return one number that depends on all elements of a result differently."""
    total = 0.0
    for i, x in enumerate(leaves(result)):
        if is_floating(x):
            weights = np.cos(np.arange(x.size) + i).reshape(x.shape)
            is_complex = x.dtype.kind == "c"
            total = total + np.sum(np.sin(x.real if is_complex else x) * weights)
            if is_complex:
                total = total + np.sum(np.cos(x.imag) * weights * 2)
    return total


def differences(function: Callable[[Any], Any], x: Any) -> Any:
    """Return the gradient by central differences."""
    result = np.zeros_like(x)
    for i in np.ndindex(x.shape):
        step = np.zeros_like(x)
        step[i] = STEP
        result[i] = (float(weighted(function(x + step))) - float(weighted(function(x - step)))) / (2 * STEP)
    return result


def assert_same(result: Any, reference: Any, tolerance: float) -> None:
    """Assert that a result has the structure, shapes, data types and values of NumPy's."""
    if isinstance(reference, (list, tuple)):
        assert isinstance(result, (list, tuple)), type(result)
        assert len(result) == len(reference)
        assert getattr(type(result), "_fields", None) == getattr(type(reference), "_fields", None)
        for x, y in zip(result, reference):
            assert_same(x, y, tolerance)
    elif hasattr(reference, "dtype") and not isinstance(reference, np.dtype):
        assert result.dtype == reference.dtype
        np.testing.assert_equal(tuple(result.shape), reference.shape)
        np.testing.assert_allclose(np.asarray(result), reference, rtol=tolerance, atol=tolerance)
    else:
        assert result == reference


def check_values(call: Call) -> None:
    """Check a traced call against NumPy's result, without derivatives."""
    _check_program(call)


def check(call: Call) -> None:
    """Check a call under `grad`, `jit` and `vmap`."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        _check_gradient(call)
        _check_program(call)
        _check_batch(call)


def check_types(call: Call, *dtypes: str, refused: frozenset[tuple[str, str]] = frozenset()) -> None:
    """Check values and data types for arrays of other types; `refused` has texts of calls, with types, that raise."""
    for dtype in dtypes:
        x = (call.x * (3 if dtype.startswith("int") else 1)).astype(dtype)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                reference = call.function(x)
            except Exception:  # not a function of such arrays
                continue
            tolerance = 1e-4 if dtype == "float32" else call.tolerance
            for transform in (_evaluated, jit) if "jit" not in call.stops else (_evaluated,):
                if (call.text, dtype) in refused:
                    with pytest.raises((TypeError, ValueError)):
                        transform(call.function)(x)
                else:
                    assert_same(transform(call.function)(x), reference, tolerance)


def _evaluated(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Apply a function to a traced array with known values, and return NumPy's arrays."""
    namespace = traced_namespace(xpand.namespace("numpy"))

    def evaluate(x: Any) -> Any:
        return trees.map(lambda y: y._value if isinstance(y, namespace.array_type) else y, function(namespace.wrap(x)))

    return evaluate


def check_aliases(call: Call) -> None:
    """Check that results share memory with the argument where NumPy's do, and are read-only where NumPy's are."""

    def write_to_results(x: Any, refused: list[bool]) -> Any:
        y = x * 1
        for part in leaves(call.function(y)):
            if getattr(part, "shape", ()):
                try:
                    part[...] = part[::-1] * 2
                    refused.append(False)
                except ValueError as error:
                    assert "read-only" in str(error)  # noqa: PT017  (both NumPy's error and that of traced arrays)
                    refused.append(True)
        return y

    def write_to_argument(x: Any, refused: list[bool]) -> Any:
        y = x * 1
        results = call.function(y)
        y[...] = y * 2 + 1
        return [part * 1 for part in leaves(results) if is_floating(part)]

    for function in (write_to_results, write_to_argument):
        expected: list[bool] = []
        with warnings.catch_warnings():  # NumPy's about results of `broadcast_arrays`, which are read-only here
            warnings.simplefilter("error")
            try:
                reference = function(call.x, expected)
            except DeprecationWarning:
                continue
        for transform in (lambda f: lambda x: vjp(f, x)[0], jit):
            if "jit" in call.stops and transform is jit:
                continue
            refused: list[bool] = []
            result = transform(lambda x, f=function, refused=refused: f(x, refused))(call.x)
            assert refused == expected
            for part, other in zip(leaves(result), leaves(reference), strict=True):
                np.testing.assert_allclose(part, other, rtol=1e-9, atol=1e-9)


def _check_gradient(call: Call) -> None:
    results: list[Any] = []

    def number(x: Any) -> Any:
        results.append(call.function(x))
        return np.sum(x) * 0.0 + weighted(results[-1])

    if "grad" in call.stops:
        with pytest.raises(Exception, match=call.stops["grad"]):
            grad(number)(call.x)
        return
    gradient = grad(number)(call.x)
    reference = call.function(call.x)
    for result, expected in zip(leaves(results[0]), leaves(reference), strict=True):
        shape = getattr(expected, "shape", ())
        assert tuple(getattr(result, "shape", ())) == shape
        if hasattr(expected, "dtype"):
            assert result.dtype == expected.dtype
    np.testing.assert_allclose(gradient, differences(call.function, call.x), rtol=2e-5, atol=2e-6)


def _check_program(call: Call) -> None:
    if "jit" in call.stops:
        with pytest.raises(Exception, match=call.stops["jit"]):
            jit(call.function)(call.x)
        return
    program = jit(call.function)
    for _ in range(2):
        assert_same(program(call.x), call.function(call.x), call.tolerance)


def _check_batch(call: Call) -> None:
    batch = np.stack([call.x, call.x * 1.1]) if call.x.dtype.kind in "fc" else np.stack([call.x, call.x])
    if "vmap" in call.stops:
        with pytest.raises(Exception, match=call.stops["vmap"]):
            vmap(call.function)(batch)
        return
    results = list(leaves(vmap(call.function)(batch)))
    references = [list(leaves(call.function(x))) for x in batch]
    for i, result in enumerate(results):
        parts = [lane[i] for lane in references]
        if hasattr(parts[0], "dtype"):
            assert_same(result, np.stack(parts), call.tolerance)
