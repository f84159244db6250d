"""Traced arrays over NumPy beside NumPy's own arrays, in code that does not know xpand.

`array_namespace` of array-api-compat and of its copies in SciPy and scikit-learn accepts both. Older versions are
downloaded from PyPI. The traced namespace has NumPy's names; what NumPy offers no protocol for says what to write.
"""

import copy
import importlib
import math
import pickle
import subprocess
import sys
import threading
import timeit
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import array_api_compat
import numpy as np
import pytest

import xpand
import xpand.numpy
from tests.central import differences_of
from xpand_extensions.autodiff import grad, stop_gradient
from xpand_extensions.jit import jit
from xpand_extensions.tracing import TracedError
from xpand_extensions.tracing._namespace import traced_namespace
from xpand_extensions.vmap import vmap

X: Final = np.asarray([0.3, 1.2, 0.7])
W: Final = np.asarray([1.0, -2.0, 0.5])
TABLE: Final = np.arange(6.0)
COPIES: Final = ("array_api_compat", "scipy._lib.array_api_compat", "sklearn.externals.array_api_compat")
VERSIONS: Final = ("1.13.0", "1.15.0", "1.16.0")
ORDERS: Final = ("v", "vv", "vw", "wv", "vwv", "wvw", "wwv", "vs", "sv", "vn", "nwv2")
"""Arguments of `array_namespace`: v is traced, w NumPy's own, s one of its scalars, n is None, 2 a number."""


# `array_namespace` of array-api-compat


def _copy(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError:  # other versions of SciPy and scikit-learn contain it elsewhere
        pytest.skip(f"{name} is not in this version")


def _check_mixing(copy_of_compat: ModuleType) -> None:
    plain: dict[bool | None, Any] = {
        use: copy_of_compat.array_namespace(W, use_compat=use) for use in (None, True, False)
    }
    assert plain[False] is np
    assert plain[None] is plain[True]
    for use in (None, False):
        for order in ORDERS:

            def total(v: Any, use: Any = use, order: str = order) -> Any:
                arguments = {"v": v, "w": W, "s": np.float64(2.0), "n": None, "2": 2.0}
                xp = copy_of_compat.array_namespace(*[arguments[name] for name in order], use_compat=use)
                assert xp is xpand.array_namespace(v), order
                assert xp.__name__ == "traced.numpy"
                assert not copy_of_compat.is_numpy_namespace(xp)
                return xp.sum(xp.exp(v) * W)

            np.testing.assert_allclose(grad(total)(X), np.exp(X) * W, rtol=1e-14)
            np.testing.assert_allclose(jit(total)(X), np.exp(X) @ W, rtol=1e-14)
            np.testing.assert_allclose(vmap(total)(np.stack([X, X])), [np.exp(X) @ W] * 2, rtol=1e-14)
        for arguments in ((W,), (W, W), (W, np.float64(1.0), 2.0, None)):  # unchanged, also after traced arrays
            assert copy_of_compat.array_namespace(*arguments, use_compat=use) is plain[use]


@pytest.mark.parametrize("name", COPIES)
def test_copies_of_array_api_compat(name: str) -> None:
    _check_mixing(_copy(name))


@pytest.fixture(scope="module")
def versions(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Install several versions of array-api-compat as copies in packages of their own."""
    folder = tmp_path_factory.mktemp("copies")
    for version in VERSIONS:
        package = folder / f"copy_of_{version.replace('.', '_')}"
        package.mkdir()
        (package / "__init__.py").touch()
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--disable-pip-version-check"]
        subprocess.run([*command, "--target", str(package), f"array-api-compat=={version}"], check=True)
    sys.path.insert(0, str(folder))
    yield folder
    sys.path.remove(str(folder))


@pytest.mark.parametrize("version", VERSIONS)
def test_versions_of_array_api_compat(versions: Path, version: str) -> None:
    module = importlib.import_module(f"copy_of_{version.replace('.', '_')}.array_api_compat")
    assert module.__version__ == version
    _check_mixing(module)


@pytest.mark.parametrize("name", COPIES)
def test_other_libraries_stay_apart(name: str) -> None:
    strict = pytest.importorskip("array_api_strict")
    module = _copy(name)
    for other in (strict.asarray([1.0, 2.0, 3.0]), pytest.importorskip("torch").ones(3)):
        for order in (lambda v, other: (v, other), lambda v, other: (other, v), lambda v, other: (W, other, v)):
            with pytest.raises(TypeError, match="Multiple namespaces"):
                grad(lambda v, other=other, order=order: module.array_namespace(*order(v, other)).sum(v))(X)


def test_use_compat_true_has_no_wrapper() -> None:
    """A wrapped namespace is one of array-api-compat's own, which the traced one is not."""
    with pytest.raises(ValueError, match="does not have an array-api-compat wrapper"):
        grad(lambda v: array_api_compat.array_namespace(v, use_compat=True).sum(v))(X)


def test_strict_libraries_stay_strict() -> None:
    strict = pytest.importorskip("array_api_strict")
    with pytest.raises(AttributeError, match="has no 'einsum'"):
        grad(lambda v: xpand.array_namespace(v).einsum("i,i", v, v))(strict.asarray([1.0, 2.0]))


def test_threads_ask_different_copies() -> None:
    """Each thread has the name of its own copy, while others compare namespaces."""
    modules = [_copy(name) for name in COPIES]
    errors: list[BaseException] = []

    def work(module: ModuleType, use: bool | None) -> None:
        def total(v: Any) -> Any:
            for _ in range(200):
                assert module.array_namespace(v, W, use_compat=use) is xpand.array_namespace(v)
            return xpand.array_namespace(v).sum(v)

        try:
            grad(total)(X)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(m, use)) for m in modules for use in (None, False)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors, errors


def test_equality_elsewhere_is_identity() -> None:
    xp = traced_namespace(xpand.numpy)
    assert xp == xp
    assert xp not in (np, xpand.numpy, array_api_compat.numpy, None, "numpy")
    assert len({xp, np, array_api_compat.numpy, xp}) == 3
    assert pickle.loads(pickle.dumps(xp)) is xp
    assert copy.copy(xp.linalg).__name__ == "traced.numpy.linalg"


def _array_namespace_of_another_package(*xs: Any) -> Any:
    """A function of the same name outside of array-api-compat sees the namespace's own name."""

    def array_namespace(*xs: Any) -> Any:
        namespaces = {x.__array_namespace__() for x in xs}
        return {xp.__name__ for xp in namespaces}

    return array_namespace(*xs)


def test_only_array_api_compat_sees_another_name() -> None:
    def names(v: Any) -> Any:
        assert _array_namespace_of_another_package(v, W) == {"traced.numpy", "numpy"}
        return xpand.array_namespace(v).sum(v)

    grad(names)(X)


def test_the_cost_is_a_few_microseconds() -> None:
    """A traced array costs 4 µs more than NumPy's own on an idle machine; the bound is loose for a busy one."""
    seconds: dict[str, float] = {}

    def measure(v: Any) -> Any:
        for name, arguments in (("traced", (v, W)), ("plain", (W, W))):
            call = lambda arguments=arguments: array_api_compat.array_namespace(*arguments)
            seconds[name] = min(timeit.repeat(call, number=500, repeat=20)) / 500
        return xpand.array_namespace(v).sum(v)

    grad(measure)(X)
    assert seconds["traced"] < seconds["plain"] + 15e-6


# NumPy's names in the traced namespace


def _squares(xp: Any, v: Any) -> Any:
    return xp.sum(v * v)


NAMES: dict[str, Callable[[Any, Any], Any]] = {
    "array": lambda xp, v: _squares(xp, xp.array([v[0], v[1] * v[2], 2.0])),
    "array nested": lambda xp, v: _squares(xp, xp.array([[v[0], 1], [2, v[1]]])),
    "asanyarray": lambda xp, v: _squares(xp, xp.asanyarray(v)),
    "ascontiguousarray": lambda xp, v: _squares(xp, xp.ascontiguousarray(v[0])),
    "asfortranarray": lambda xp, v: _squares(xp, xp.asfortranarray(v)),
    "constants": lambda xp, v: _squares(xp, v * xp.pi + xp.e + xp.euler_gamma),
    "arctan2": lambda xp, v: _squares(xp, xp.arctan2(v, W)),
    "power": lambda xp, v: _squares(xp, xp.power(v, 2.0)),
    "absolute": lambda xp, v: _squares(xp, xp.absolute(v - 1.0)),
    "tri": lambda xp, v: _written(xp, xp.tri(3), v),
    "identity": lambda xp, v: _written(xp, xp.identity(3), v),
    "errstate": lambda xp, v: _in_errstate(xp, v),
    "dtypes": lambda xp, v: _squares(xp, xp.astype(v, xp.double) + xp.float64(1.0)),
    "special": lambda xp, v: _squares(xp, xp.special.gammaln(v + 1.0) + xp.special.xlogy(W * W, v)),
    "special of integers": lambda xp, v: _squares(xp, v * xp.special.gammaln(np.asarray([2, 3, 4]))),
    "finfo": lambda xp, v: _squares(xp, v) * xp.finfo(v.dtype).resolution * 1e15,
    "ndim": lambda xp, v: _squares(xp, v) * isinstance(xp.float64(1), xp.floating),
}


def _written(xp: Any, buffer: Any, v: Any) -> Any:
    buffer[0, 0] = v[1] * v[1]
    return _squares(xp, buffer)


def _in_errstate(xp: Any, v: Any) -> Any:
    with xp.errstate(all="ignore"):
        return xp.sum(xp.log(v))


@pytest.mark.parametrize("name", NAMES)
def test_names_of_numpy(name: str) -> None:
    """The results are those of the same function with NumPy's own namespace, except where SciPy has it."""

    def function(v: Any) -> Any:
        return NAMES[name](xpand.array_namespace(v), v)

    traced = traced_namespace(xpand.numpy)

    def plain(v: Any) -> Any:
        return float(NAMES[name](traced, traced.wrap(np.asarray(v))))

    np.testing.assert_allclose(grad(function)(X), differences_of(plain, X), rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(jit(function)(X), plain(X), rtol=1e-14)
    np.testing.assert_allclose(vmap(function)(np.stack([X, X * 1.1])), [plain(X), plain(X * 1.1)], rtol=1e-13)


def test_names_are_numpys() -> None:
    """Each name of NumPy's namespace is in the traced one, and data types, constants and classes are the same."""
    xp = traced_namespace(xpand.numpy)
    for module, part in ((np, xp), (np.linalg, xp.linalg), (np.fft, xp.fft)):
        for name in (x for x in module.__all__ if not x.startswith("_")):
            value = getattr(part, name)
            if isinstance(getattr(module, name), type) and name not in ("finfo", "iinfo"):
                assert value is getattr(module, name), name


def test_results_for_constants_are_traced_arrays() -> None:
    """So code can write traced values into them."""
    xp = traced_namespace(xpand.numpy)
    for result in (xp.tri(2), xp.hanning(3), xp.array([1.0]), xp.vander(W)):
        assert isinstance(result, xp.array_type)
    assert xp.isscalar(2.0) is True


def test_names_that_do_not_exist() -> None:
    xp = traced_namespace(xpand.numpy)
    with pytest.raises(AttributeError, match=r"traced\.numpy has no 'summ', which is not in the standard; use"):
        _ = xp.summ
    with pytest.raises(AttributeError, match=r"traced\.numpy\.linalg has no 'norms', which is not in the standard"):
        _ = xp.linalg.norms
    with pytest.raises(AttributeError, match=r"special has no 'softmax'; it has the universal functions of"):
        _ = xp.special.softmax
    assert not hasattr(xp, "__file__")


def test_special_functions_are_scipys() -> None:
    scipy = pytest.importorskip("scipy.special")
    xp = traced_namespace(xpand.numpy)
    arguments = {"polygamma": (2, X), "zeta": (X + 2.0, X + 1.0), "xlogy": (X, X), "xlog1py": (X, X), "jv": (2, X)}
    arguments |= {"betainc": (X + 1.0, X + 2.0, X / 2.0), "gammainc": (X, X), "gammaincc": (X, X), "betaln": (X, X)}
    arguments |= dict.fromkeys(("erfinv", "erfcinv", "logit", "ndtri"), (X / 2.0,))
    arguments |= dict.fromkeys(("erf", "gamma", "digamma", "expit", "i0e", "kv", "log_ndtr"), (X,))
    arguments["kv"] = (1.5, X)
    for name, values in arguments.items():
        result = getattr(xp.special, name)(*values)
        np.testing.assert_allclose(np.asarray(result), getattr(scipy, name)(*values), rtol=1e-12, err_msg=name)


# What NumPy has no protocol for


def _put(v: Any) -> Any:
    buffer = np.zeros(3)
    buffer[0] = v[0]
    return np.sum(buffer)


def _put_all(v: Any) -> Any:
    buffer = np.zeros(3)
    buffer[:] = v
    return np.sum(buffer)


def _solved(v: Any) -> Any:
    import scipy.linalg

    return scipy.linalg.solve(np.eye(3), v)[0]


def _series(v: Any) -> Any:
    import pandas

    return pandas.Series(v).sum()


def _tensor(v: Any) -> Any:
    import torch

    return torch.from_dlpack(v).sum()


CONVERSION: Final = (
    r"conversion to NumPy: .*`np\.stack\(\[x, y\]\)` or `np\.array\(\[x, y\], like=x\)`.*collecting_traced"
)
BUFFER: Final = r"`np\.zeros_like\(x, shape=…\)`.*np\.stack|np\.stack.*`np\.zeros_like\(x, shape=…\)`"
NUMBER: Final = r"write `np\.sin\(x\)` in place of `math\.sin\(x\)`"
WITHOUT_PROTOCOL: dict[str, tuple[Callable[[Any], Any], str]] = {
    "np.array of elements": (lambda v: np.array([v[0], v[1]]).sum(), CONVERSION),
    "np.asarray": (lambda v: np.asarray(v).sum(), CONVERSION),
    "np.float64": (lambda v: np.float64(v[0]), CONVERSION),
    "element of a buffer": (_put, BUFFER),
    "buffer": (_put_all, BUFFER),
    "math.sin": (lambda v: math.sin(v[0]), NUMBER),
    "math.fsum": (lambda v: math.fsum(v), NUMBER),
    "float": (lambda v: float(v[0]), NUMBER),
    "complex": (lambda v: complex(v[0]).real, NUMBER),
    "compiled function": (_solved, r"conversion to NumPy: .*compiled functions, pandas .*pure_callback"),
    "pandas": (_series, r"conversion to NumPy: .*compiled functions, pandas .*pure_callback"),
    "PyTorch": (_tensor, r"x\.__dlpack.*pure_callback"),
    "tolist": (lambda v: sum(v.tolist()), r"no 'tolist': `list\(x\)` has traced elements.*stop_gradient"),
    "item": (lambda v: v[0].item(), r"no 'item': .*stop_gradient.*pure_callback"),
}


@pytest.mark.parametrize("transform", [grad, jit, vmap], ids=["grad", "jit", "vmap"])
@pytest.mark.parametrize("name", WITHOUT_PROTOCOL)
def test_errors_say_what_to_write(name: str, transform: Any) -> None:
    function, message = WITHOUT_PROTOCOL[name]
    with pytest.raises((TypeError, AttributeError), match=message) as caught:
        transform(function)(np.stack([X, X]) if transform is vmap else X)
    assert "np.sin(x)`, can't compute" not in str(caught.value)


@pytest.mark.parametrize("transform", [jit, vmap], ids=["jit", "vmap"])
def test_indices_say_what_to_write(transform: Any) -> None:
    indices = np.asarray([[2, 0, 1]])
    message = r"to index a constant array with it, write `np\.asarray\(table, like=x\)\[x\]` in place of `table\[x\]`"
    with pytest.raises(TracedError, match=message):
        transform(lambda i: TABLE[i])(indices)
    np.testing.assert_array_equal(transform(lambda i: np.asarray(TABLE, like=i)[i])(indices), TABLE[indices])


def test_what_the_errors_advise() -> None:
    np.testing.assert_allclose(grad(lambda v: np.sum(np.stack([v[0], v[1]])))(X), [1.0, 1.0, 0.0])
    np.testing.assert_allclose(grad(lambda v: np.sum(np.array([v[0], 2.0], like=v)))(X), [1.0, 0.0, 0.0])
    np.testing.assert_allclose(grad(lambda v: v[0] * float(stop_gradient(v[1])))(X), [1.2, 0.0, 0.0])
    np.testing.assert_allclose(grad(lambda v: np.sin(v[0]))(X), [np.cos(0.3), 0.0, 0.0])
    np.testing.assert_allclose(grad(lambda v: sum(list(v)))(X), [1.0, 1.0, 1.0])


CONVERSIONS: dict[str, Callable[[Any], Any]] = {
    "array": lambda v: np.array([v[0], 1], like=v),
    "array of a data type": lambda v: np.array([v[0], 1], dtype=np.float32, like=v),
    "array with axes": lambda v: np.array(v, ndmin=3, like=v),
    "array of a constant": lambda v: np.array(W, like=v) * v,
    "array, uncopied": lambda v: np.array(v, copy=None, like=v),
    "asarray": lambda v: np.asarray([v, v], like=v),
    "asarray of integers": lambda v: np.asarray([1, 2, 3], like=v) * v,
    "asanyarray": lambda v: np.asanyarray(v[1], like=v),
    "ascontiguousarray": lambda v: np.ascontiguousarray(v[1], like=v),
    "asfortranarray": lambda v: np.asfortranarray([[v[1]]], like=v),
}


@pytest.mark.parametrize("name", CONVERSIONS)
def test_conversions_like_traced_arrays(name: str) -> None:
    function = CONVERSIONS[name]
    expected = function(X)
    result = jit(function)(X)
    assert (result.shape, result.dtype) == (expected.shape, expected.dtype)
    np.testing.assert_array_equal(result, expected)
    np.testing.assert_array_equal(vmap(function)(np.stack([X, X]))[1], expected)
    if expected.dtype == np.float64:
        slope = grad(lambda v: np.sum(function(v) * function(v)))(X)
        np.testing.assert_allclose(slope, differences_of(lambda v: np.sum(function(v) ** 2), X), rtol=1e-6, atol=1e-8)


def test_copies_are_copies() -> None:
    def copied(v: Any) -> Any:
        other = np.array(v, like=v)
        other[0] = 5.0
        same = np.asarray(v, like=v)
        assert same is v
        return np.sum(v * v)

    np.testing.assert_allclose(grad(copied)(X), 2 * X)
    with pytest.raises(ValueError, match="a copy is needed"):
        grad(lambda v: np.sum(np.array([v[0]], copy=False, like=v)))(X)
    with pytest.raises(ValueError, match="their shapes are equal"):
        grad(lambda v: np.sum(np.array([v[0], [v[1]]], like=v)))(X)
    with pytest.raises(TypeError, match="numbers or booleans"):
        grad(lambda v: np.sum(np.array([v[0], v[1]], dtype=object, like=v)))(X)


def test_options_by_position_are_those_of_numpy() -> None:
    """scikit-learn passes them so to NumPy's namespace."""
    x = np.arange(12.0).reshape(3, 4)
    xp = traced_namespace(xpand.numpy)
    traced = xp.wrap(x)
    for name, options in {
        **dict.fromkeys(("sum", "mean", "std", "max", "argmax", "argsort", "sort", "cumsum", "flip"), (0,)),
        "diff": (2, 0),
        "roll": (1, 0),
        "repeat": (2, 1),
        "take": ([1, 2], 1),
        "expand_dims": (1,),
        "tensordot": (x.T, 1),
    }.items():
        result = getattr(xp, name)(traced, *options)
        np.testing.assert_allclose(np.asarray(result), getattr(np, name)(x, *options), err_msg=name)
    assert [index.shape for index in xp.where(traced > 3)] == [(8,), (8,)]
    np.testing.assert_allclose(np.asarray(xp.concat([traced, x], 1)), np.concat([x, x], 1))
    np.testing.assert_allclose(np.asarray(xp.stack([traced, x], 1)), np.stack([x, x], 1))
    with pytest.raises(TypeError, match="sin"):
        xp.sin(traced, 1)
