"""`convert.collecting_traced`: NumPy's conversions collect traced numbers while a context is active."""

import threading
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pytest

from tests.central import differences_of
from xpand_extensions.autodiff import grad, jvp
from xpand_extensions.convert import collecting_traced
from xpand_extensions.jit import jit
from xpand_extensions.tracing import TracedError
from xpand_extensions.vmap import vmap

X: Final = np.asarray([2.0, 3.0, 4.0])
NAMES: Final = ("array", "asarray", "asanyarray", "ascontiguousarray", "asfortranarray")
ORIGINALS: Final = {name: getattr(np, name) for name in NAMES}

COLLECTED: dict[str, Callable[[Any], Any]] = {
    "list": lambda v: np.array([v[0], v[1]]),
    "tuple": lambda v: np.array((v[0], v[1])),
    "nested": lambda v: np.array([[v[0], 1.0], [v[1], v[2] * v[0]]]),
    "deep": lambda v: np.array([[[v[0]], (v[1],)], [[0], [np.float64(2.0)]]]),
    "rows": lambda v: np.array([v, np.ones(3), [1, 2, 3]]),
    "mixed data types": lambda v: np.array([1, True, v[0]]),
    "dtype": lambda v: np.array([v[0], v[1]], dtype=np.float32),
    "dtype by position": lambda v: np.array([v[0], v[1]], float),
    "dtype of integers": lambda v: np.asarray([v[0], v[1]], dtype=np.int64),
    "ndmin": lambda v: np.array([v[0]], ndmin=3),
    "copy": lambda v: np.array(v, copy=True),
    "copy of None": lambda v: np.asarray(v, copy=None),
    "order": lambda v: np.array([[v[0], v[1]]], order="F"),
    "subok": lambda v: np.array([v[0]], subok=True),
    "by keyword": lambda v: np.array(object=[v[0], v[2]]),
    "asarray by keyword": lambda v: np.asarray(a=[v[0], v[2]], dtype=None),
    "array": lambda v: np.asarray(v),
    "number": lambda v: np.asarray(v[0]),
    "asanyarray": lambda v: np.asanyarray([v[1]]),
    "ascontiguousarray": lambda v: np.ascontiguousarray(v[1]),
    "asfortranarray": lambda v: np.asfortranarray([[v[1], v[0]]]),
    "comprehension": lambda v: np.array([x * x for x in v]),
}


def _weighted(result: Any) -> Any:
    return np.sum(np.sin(result) * np.cos(np.arange(float(result.size))).reshape(result.shape))


@pytest.mark.parametrize("name", COLLECTED)
def test_values_and_derivatives(name: str) -> None:
    function = COLLECTED[name]
    expected = function(X)
    with collecting_traced():
        result = jit(function)(X)
        assert (result.shape, result.dtype) == (expected.shape, expected.dtype)
        np.testing.assert_array_equal(result, expected)
        np.testing.assert_array_equal(vmap(function)(np.stack([X, X]))[1], expected)
        if expected.dtype == np.float64:
            slope = differences_of(lambda v: _weighted(function(v)), X)
            np.testing.assert_allclose(grad(lambda v: _weighted(function(v)))(X), slope, rtol=1e-6, atol=1e-8)
            np.testing.assert_allclose(jvp(lambda v: _weighted(function(v)), (X,), (X,))[1], slope @ X, rtol=1e-6)
            np.testing.assert_allclose(grad(jit(lambda v: _weighted(function(v))))(X), slope, rtol=1e-6, atol=1e-8)
    _assert_restored()


def _assert_restored() -> None:
    assert {name: getattr(np, name) for name in NAMES} == ORIGINALS


def test_never_on_by_default() -> None:
    _assert_restored()
    for function in (lambda v: np.array([v[0], v[1]]), np.asarray):
        with pytest.raises(TracedError, match="collecting_traced"):
            grad(lambda v, function=function: np.sum(function(v)))(X)


def test_plain_arrays_are_unaffected() -> None:
    a = np.ones((2, 3))
    with collecting_traced():
        assert np.asarray(a) is a
        assert np.array(a) is not a
        assert type(np.asanyarray(np.ma.masked_array(a))) is np.ma.MaskedArray
        assert np.asfortranarray(a).flags.f_contiguous
        assert np.ascontiguousarray(2.0).shape == (1,)
        assert np.array([1, None]).dtype == object
        assert np.array(["a"]).dtype.kind == "U"
        with pytest.raises(ValueError, match="inhomogeneous"):
            np.array([[1.0], [1.0, 2.0]])
        with pytest.raises(ValueError, match="could not convert"):
            np.array(["a"], dtype=float)
        with pytest.raises(ValueError, match="copy"):
            np.array([1.0], copy=False)
        with pytest.raises(TypeError):
            np.array([1.0], nonsense=1)
        with pytest.raises(TypeError):
            np.array()
        assert np.array.__name__ == "array"
        assert np.array.__doc__ == ORIGINALS["array"].__doc__


def test_objects_are_refused() -> None:
    bad: dict[str, Callable[[Any], Any]] = {
        "dtype": lambda v: np.array([v[0], v[1]], dtype=object),
        "None": lambda v: np.array([v[0], None]),
        "text": lambda v: np.array([v[0], "a"]),
        "dict": lambda v: np.array([v[0], {}]),
        "strings": lambda v: np.asarray(v, dtype="U5"),
    }
    with collecting_traced():
        for function in bad.values():
            for transform in (jit, vmap, lambda f: grad(lambda v, f=f: np.sum(f(v)))):
                with pytest.raises((TypeError, ValueError), match="numbers|booleans|shapes"):
                    transform(function)(np.stack([X, X]) if transform is vmap else X)
        with pytest.raises(ValueError, match="their shapes are equal"):
            jit(lambda v: np.array([v[0], [v[1]]]))(X)
        with pytest.raises(ValueError, match="a copy is needed"):
            jit(lambda v: np.array([v[0]], copy=False))(X)


def test_other_libraries_are_not_collected() -> None:
    torch = pytest.importorskip("torch")
    with collecting_traced(), pytest.raises(TracedError, match="conversion to NumPy"):
        grad(lambda v: np.asarray(v).sum())(torch.ones(3))


def test_exceptions_restore() -> None:
    with pytest.raises(RuntimeError, match="on purpose"), collecting_traced(), collecting_traced():
        raise RuntimeError("on purpose")
    _assert_restored()


def test_nested_use() -> None:
    with collecting_traced():
        replaced = np.array
        assert replaced is not ORIGINALS["array"]
        with collecting_traced():
            assert np.array is replaced
        assert np.array is replaced
        np.testing.assert_array_equal(grad(lambda v: np.sum(np.array([v[0]])))(X), [1.0, 0.0, 0.0])
    _assert_restored()


def test_as_a_decorator_and_inside_the_function() -> None:
    @collecting_traced()
    def total(v: Any) -> Any:
        return np.sum(np.array([v[0], v[1]]))

    np.testing.assert_array_equal(grad(total)(X), [1.0, 1.0, 0.0])
    np.testing.assert_array_equal(jit(total)(X), 5.0)
    _assert_restored()


def test_functions_imported_in_the_context_end_with_it() -> None:
    with collecting_traced():
        imported = np.array
    np.testing.assert_array_equal(imported([1.0, 2.0]), [1.0, 2.0])
    with pytest.raises(TracedError, match="conversion to NumPy"):
        jit(lambda v: imported([v[0], v[1]]))(X)


def test_a_replacement_by_somebody_else_stays() -> None:
    def own(*args: Any, **kwargs: Any) -> Any:
        return ORIGINALS["array"](*args, **kwargs)

    try:
        with collecting_traced():
            np.array = own
        assert np.array is own
    finally:
        np.array = ORIGINALS["array"]
    _assert_restored()


def test_threads() -> None:
    """A context of one thread does not end that of another."""
    errors: list[BaseException] = []
    start = threading.Barrier(8)

    def work() -> None:
        try:
            start.wait()
            for _ in range(50):
                with collecting_traced():
                    slope = grad(lambda v: np.sum(np.array([v[0], v[1] * v[1]])))(X)
                    np.testing.assert_array_equal(slope, [1.0, 6.0, 0.0])
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors, errors
    _assert_restored()


def test_names_of_the_traced_namespace() -> None:
    """`xp.array` and `np.array(…, like=x)` work in the context, too."""
    import xpand

    with collecting_traced():
        for function in (
            lambda v: np.array([v[0], v[1]], like=v),
            lambda v: xpand.array_namespace(v).array([v[0], v[1]]),
            lambda v: xpand.numpy.asarray([v[0], v[1]]),
        ):
            np.testing.assert_array_equal(jit(function)(X), [2.0, 3.0])
