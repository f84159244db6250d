"""A traced array does what an array of the library under it does: writing in place, methods, copies, data types."""

import copy
import dataclasses
import operator
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import xpand
from tests.libraries import LIBRARIES, Library, unless
from xpand import trees
from xpand_extensions.autodiff import checkpoint, grad, jvp, linear_transpose, vjp
from xpand_extensions.control_flow import cond
from xpand_extensions.jit import ShapeDtype, eval_shape, jit
from xpand_extensions.linalg import lu_factor
from xpand_extensions.sorting import top_k
from xpand_extensions.tracing import TracedError
from xpand_extensions.tracing._methods import ATTRIBUTES, METHODS
from xpand_extensions.vmap import vmap

X = np.asarray([1.5, -2.0, 3.0])
N = np.asarray([5, 3, 6])
M = np.asarray([[2.0, 1.0], [0.5, -1.0]])

TRACED = {library.id: library for library in LIBRARIES if library.id in ("numpy", "strict", "strict-device1", "dask")}
"""The libraries that are transformed by tracing."""

Transform = Callable[[Callable[..., Any]], Callable[..., Any]]


def _of_one_lane(function: Callable[..., Any]) -> Callable[..., Any]:
    """Map over two lanes, and return the results of the second."""

    def both(*arrays: Any) -> Any:
        xp = xpand.array_namespace(*arrays)
        found = vmap(function)(*(xp.stack([xp.flip(x), x]) for x in arrays))
        return tuple(x[1, ...] for x in found) if isinstance(found, tuple) else found[1, ...]

    return both


TRANSFORMS: dict[str, Transform] = {
    "jit": jit,
    "jvp": lambda f: lambda *xs: jvp(f, xs, xs)[0],
    "vjp": lambda f: lambda *xs: vjp(f, *xs)[0],
    "vmap": _of_one_lane,
    "vmap of jit": lambda f: _of_one_lane(jit(f)),
    "jit of vjp": lambda f: jit(lambda *xs: vjp(f, *xs)[0]),
}


BLIND = {"jit", "vmap", "vmap of jit", "jit of vjp"}
"""The transformations under which no value is known."""


@pytest.fixture(params=TRACED)
def library(request: pytest.FixtureRequest) -> Library:
    return TRACED[request.param]


@pytest.fixture(params=TRANSFORMS)
def transform(request: pytest.FixtureRequest) -> Transform:
    return TRANSFORMS[request.param]


def _check(library: Library, transform: Transform, function: Callable[..., Any], *values: Any) -> None:
    """Check that a transformed function returns what the function returns for arrays that can be written into."""
    arrays = [library.asarray(x) for x in values]
    copies = [library.xp.asarray(x, copy=True) for x in arrays]
    expected = function(*copies)
    found = transform(function)(*arrays)
    for x, wanted in zip(_tuple(found), _tuple(expected), strict=True):
        library.assert_equal(x, np.asarray(library.to_numpy(wanted)), rtol=1e-15)
    for x, value in zip(arrays, values):
        library.assert_equal(x, np.asarray(value))  # no function writes into what it is given


def _tuple(x: Any) -> tuple[Any, ...]:
    return x if isinstance(x, tuple) else (x,)


# Data types and classes

WITH_DTYPES: dict[str, Callable[[Any, Any], Any]] = {
    "argument": lambda xp, x: x,
    "arange": lambda xp, x: xp.arange(3, dtype=xp.int32),
    "argmax": lambda xp, x: xp.argmax(x),
    "asarray": lambda xp, x: xp.asarray(x, dtype=xp.float32),
    "asarray of a number": lambda xp, x: xp.asarray(1.0, dtype=xp.float32),
    "astype": lambda xp, x: xp.astype(x, xp.float32),
    "comparison": lambda xp, x: x > 0.0,
    "complex": lambda xp, x: xp.astype(x, xp.complex64) + 1j,
    "cumulative_sum": lambda xp, x: xp.cumulative_sum(x, dtype=xp.float32),
    "empty_like": lambda xp, x: xp.empty_like(x, dtype=xp.uint8),
    "eye": lambda xp, x: xp.eye(2, dtype=xp.float32),
    "full": lambda xp, x: xp.full((2,), 1, dtype=xp.int8),
    "full_like": lambda xp, x: xp.full_like(x, 1, dtype=xp.int8),
    "top_k": lambda xp, x: top_k(x, 2).indices,
    "linspace": lambda xp, x: xp.linspace(0.0, 1.0, 3, dtype=xp.float32),
    "ones": lambda xp, x: xp.ones((2,), dtype=xp.bool),
    "prod": lambda xp, x: xp.prod(x, dtype=xp.float32),
    "sum": lambda xp, x: xp.sum(x, dtype=xp.float32),
    "sum of a result": lambda xp, x: xp.astype(x, xp.float32) + xp.zeros_like(x, dtype=xp.float32),
    "zeros": lambda xp, x: xp.zeros((2,), dtype=xp.float32),
    "zeros_like": lambda xp, x: xp.zeros_like(x, dtype=xp.int16),
}


@pytest.mark.parametrize("name", WITH_DTYPES)
def test_data_types_are_those_of_arrays(library: Library, transform: Transform, name: str) -> None:
    """Not the classes that NumPy's namespace has under the names of data types."""
    seen: list[Any] = []

    def function(x: Any) -> Any:
        seen.append(WITH_DTYPES[name](xpand.array_namespace(x), x).dtype)
        return x

    x = library.asarray(X)
    function(x)
    transform(function)(x)
    eager, *traced = seen
    for dtype in traced:
        assert type(dtype) is type(eager)
        assert dtype == eager
        assert hash(dtype) == hash(eager)


@pytest.mark.parametrize("dtype", ["float32", "int64", "bool"])
def test_data_types_of_what_stands_for_arrays(library: Library, dtype: str) -> None:
    seen: list[Any] = []
    given = ShapeDtype((2,), getattr(library.xp, dtype))
    found = eval_shape(lambda x: (seen.append(x.dtype), x)[1], given)
    expected = library.xp.zeros((2,), dtype=getattr(library.xp, dtype)).dtype
    for each in (found.dtype, *seen):
        assert type(each) is type(expected)
        assert each == expected


SEVERAL: dict[str, Callable[[Any, Any], Any]] = {
    **{name: lambda xp, x, name=name: getattr(xp.linalg, name)(x) for name in ("eig", "eigh", "qr", "slogdet", "svd")},
    **{name: lambda xp, x, name=name: getattr(xp, name)(x) for name in ("nonzero", "unstack")},
    "broadcast_arrays": lambda xp, x: xp.broadcast_arrays(x, x[0, ...]),
    "meshgrid": lambda xp, x: xp.meshgrid(x[0, ...], x[1, ...]),
    "lu_factor": lambda xp, x: lu_factor(x),
    "top_k": lambda xp, x: top_k(x, 1),
}
UNKNOWN_SIZES = {"nonzero"}


@pytest.mark.parametrize("name", SEVERAL)
@unless(lambda name, transform: name in UNKNOWN_SIZES and transform in BLIND)
def test_results_have_the_classes_of_the_library(library: Library, transform: Transform, name: str) -> None:
    """So that trees of traced and of plain arrays are alike."""
    seen: list[Any] = []

    def function(x: Any) -> Any:
        found = SEVERAL[name](xpand.array_namespace(x), x)
        seen.append(trees.structure(found))
        return x

    x = library.asarray(M @ M.T)
    function(x)
    transform(function)(x)
    assert all(structure == seen[0] for structure in seen[1:])


@pytest.mark.parametrize("name", ["unique_all", "unique_counts", "unique_inverse"])
def test_results_of_unknown_sizes_have_the_classes_of_the_library(name: str) -> None:
    def function(x: Any) -> Any:
        assert type(getattr(xpand.array_namespace(x), name)(x)) is type(getattr(library.xp, name)(library.asarray(X)))
        return x

    for library in TRACED.values():
        vjp(function, library.asarray(X))


def test_factors_as_cotangents_and_branches(library: Library) -> None:
    """The structures of a plain and of a traced factorization are one."""
    x = library.asarray(M @ M.T)
    eigh = library.xp.linalg.eigh(x)
    _, pull = vjp(lambda y: xpand.array_namespace(y).linalg.eigh(y), x)
    assert pull(eigh)[0].shape == (2, 2)
    if not library.lazy:
        found = jit(lambda y: cond(y[0, 0] > 0.0, lambda: xpand.array_namespace(y).linalg.eigh(y), lambda: eigh))(x)
        assert type(found) is type(eigh)


@dataclasses.dataclass
class _State:
    x: Any
    count: int


COPIES: dict[str, Callable[[Any], Any]] = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "asdict": lambda x: dataclasses.asdict(_State(x, 1))["x"],
    "in a tree": lambda x: copy.deepcopy({"a": [x]})["a"][0],
}


@pytest.mark.parametrize("name", COPIES)
def test_copies_are_arrays_of_their_own(library: Library, transform: Transform, name: str) -> None:
    def function(x: Any) -> Any:
        y = x * 2.0
        other = COPIES[name](y)
        other[0] = 7.0
        return y, other

    if name != "copy" or library.id == "numpy":  # the strict library's own are views
        _check(library, transform, function, X)


def test_traced_arrays_are_not_pickled(transform: Transform) -> None:
    with pytest.raises(TracedError, match=r"pickle: .*traces .*transformed function returns"):
        transform(lambda x: pickle.loads(pickle.dumps(x)))(X)


# Methods and indices of the library's own arrays

CUBE = np.asarray([[[3.5, -1.0, 2.0], [0.0, 7.25, -4.0]]])
CALLS: dict[str, tuple[Callable[[Any], Any], ...]] = {
    "T": (lambda x: x.T, lambda x: x[0, 0].T),
    "all": (lambda x: (x > 0.0).all(), lambda x: (x > 0.0).all(axis=1), lambda x: (x > 0.0).all(2, keepdims=True)),
    "any": (lambda x: (x > 6.0).any(axis=(0, 2)),),
    "argmax": (lambda x: x.argmax(), lambda x: x.argmax(axis=-1)),
    "argmin": (lambda x: x.argmin(axis=1),),
    "argsort": (lambda x: x.argsort(), lambda x: x.argsort(axis=None)),
    "astype": (lambda x: x.astype("float32"), lambda x: x.astype(np.int64, copy=False), lambda x: x.astype(bool)),
    "clip": (lambda x: x.clip(-2.0, 3.0), lambda x: x.clip(min=0.0), lambda x: x.clip(max=1.0)),
    "conj": (lambda x: (x * 1j).conj(), lambda x: x.conj()),
    "conjugate": (lambda x: (x * 1j).conjugate(),),
    "copy": (lambda x: x.copy(),),
    "cumprod": (lambda x: x.cumprod(axis=2), lambda x: (x > 0.0).cumprod(axis=1)),
    "cumsum": (lambda x: x.cumsum(1), lambda x: x.cumsum(axis=2, dtype="float32")),
    "diagonal": (lambda x: x[0].diagonal(), lambda x: x.diagonal(1, 1, 2)),
    "dot": (
        lambda x: x.dot(x[0].T),
        lambda x: x[0, 0].dot(x[0, 1]),
        lambda x: x[0].dot(x[0, 1]),
        lambda x: x[0, 1].dot(x[0].T),
        lambda x: x.dot(2.0),
    ),
    "fill": (lambda x: _after(x * 1.0, lambda y: y.fill(2.5)),),
    "flatten": (lambda x: x.flatten(),),
    "imag": (lambda x: (x * 2j).imag, lambda x: x.imag),
    "itemsize": (lambda x: x * x.itemsize,),
    "list": (
        lambda x: x[0, [1, 0]],
        lambda x: x[[0]],
        lambda x: x[..., [True, False, True]],
        lambda x: x[:, :, [-1, 0]],
        lambda x: x[[]],
    ),
    "list as a place": (lambda x: _after(x * 1.0, lambda y: y.__setitem__((0, [1, 0]), 5.0)),),
    "lists": (lambda x: x[0][[0, 1], [2, 0]], lambda x: x[0, [[0], [1]], [0, 2]]),
    "max": (lambda x: x.max(), lambda x: x.max(axis=(0, 1)), lambda x: (x > 0.0).max(axis=2)),
    "mean": (
        lambda x: x.mean(),
        lambda x: x.mean(axis=1),
        lambda x: (x > 0.0).mean(),
        lambda x: x.mean(dtype="float32"),
    ),
    "min": (lambda x: x.min(axis=2, keepdims=True), lambda x: (x > 0.0).min()),
    "nbytes": (lambda x: x * x.nbytes,),
    "prod": (lambda x: x.prod(axis=1), lambda x: (x > 0.0).prod()),
    "ravel": (lambda x: x.ravel(),),
    "real": (lambda x: (x + 2j).real, lambda x: x.real),
    "repeat": (lambda x: x.repeat(2), lambda x: x.repeat(3, axis=1), lambda x: x.repeat([1, 0, 2], 2)),
    "reshape": (
        lambda x: x.reshape(3, 2),
        lambda x: x.reshape((6,)),
        lambda x: x.reshape(-1),
        lambda x: x.reshape(2, -1),
    ),
    "round": (lambda x: x.round(), lambda x: (x / 3.0).round(2), lambda x: (x * 30.0).round(-1)),
    "searchsorted": (lambda x: x[0, 0].cumsum(0).searchsorted([2.0, 4.0], side="right"),),
    "sort": (lambda x: _after(x * 1.0, lambda y: y.sort()), lambda x: _after(x * 1.0, lambda y: y.sort(axis=1))),
    "squeeze": (lambda x: x.squeeze(), lambda x: x.squeeze(axis=0)),
    "std": (lambda x: x.std(), lambda x: x.std(axis=2, ddof=1)),
    "sum": (lambda x: x.sum(axis=0), lambda x: (x > 0.0).sum(axis=2), lambda x: x.sum((0, 1), keepdims=True)),
    "swapaxes": (lambda x: x.swapaxes(0, -1),),
    "take": (lambda x: x.take([1, 4]), lambda x: x.take(1, axis=1), lambda x: x.take([[0, 1]], axis=-1)),
    "trace": (lambda x: x[0].trace(), lambda x: x.trace(1, 1, 2), lambda x: (x > 0.0).trace(0, 1, 2)),
    "transpose": (lambda x: x.transpose(), lambda x: x.transpose(2, 0, 1), lambda x: x.transpose((1, 0, 2))),
    "var": (lambda x: x.var(axis=(0, 2)), lambda x: (x > 0.0).var(ddof=1)),
}
OF_DASK = {name for name in CALLS if hasattr(TRACED["dask"].asarray(X), name)} | {"list"}


def _after(x: Any, write: Callable[[Any], None]) -> Any:
    write(x)
    return x


@pytest.mark.parametrize("name", sorted(CALLS))
def test_methods_of_the_library(transform: Transform, name: str) -> None:
    for call in CALLS[name]:
        _check(TRACED["numpy"], transform, call, CUBE)


@pytest.mark.parametrize("name", sorted(OF_DASK))
@pytest.mark.parametrize("transform", ["jit", "vjp"])
def test_methods_of_dask(transform: str, name: str) -> None:
    library = TRACED["dask"]
    for call in CALLS[name]:
        try:
            call(library.asarray(CUBE))
        except (AttributeError, NotImplementedError, TypeError, ValueError):  # arguments that Dask doesn't take
            continue
        x = library.asarray(CUBE)
        library.assert_equal(TRANSFORMS[transform](call)(x), np.asarray(call(x)), rtol=1e-15)


def test_all_methods_have_cases() -> None:
    assert (METHODS.keys() | ATTRIBUTES.keys()) - CALLS.keys() == {"nonzero"}


def test_indices_of_nonzero_elements() -> None:
    found: list[Any] = []
    jvp(lambda x: (found.append(x.nonzero()), x)[1], (CUBE,), (CUBE,))
    np.testing.assert_array_equal(np.stack([np.asarray(x) for x in found[0]]), np.stack(CUBE.nonzero()))


@pytest.mark.parametrize("transform", ["jit", "jvp", "vjp", "vmap"])
def test_every_attribute_of_numpy_is_there_or_says_what_to_write(transform: str) -> None:
    names = [name for name in dir(np.ndarray) if not name.startswith("_")]

    def function(x: Any) -> Any:
        for name in names:
            if not hasattr(x, name):
                with pytest.raises(AttributeError, match=rf"no '{name}'.*(write|use|values are concrete)"):
                    getattr(x, name)
        return x

    TRANSFORMS[transform](function)(M)


@pytest.mark.parametrize("name", ["strict", "strict-device1"])
def test_a_strict_library_stays_strict(transform: Transform, name: str) -> None:
    def function(x: Any) -> Any:
        for method in (*METHODS, *ATTRIBUTES):
            assert not hasattr(x, method)
        with pytest.raises(AttributeError, match=r"no 'sum': write `xp\.sum"):
            x.sum()
        with pytest.raises(TypeError, match=r"x\[key\]: takes integers.*xp\.asarray"):
            x[[0, 1]]
        return x

    transform(function)(TRACED[name].asarray(X))


REFUSED: dict[str, Callable[[Any], Any]] = {
    "reshape, order": lambda x: x.reshape(3, 1, order="F"),
    "astype, casting": lambda x: x.astype(np.int64, casting="safe"),
    "take, mode": lambda x: x.take([5], mode="clip"),
    "round, decimals of integers": lambda x: x.astype(np.int64).round(-1),
    "sum, no such option": lambda x: x.sum(axes=0),
}


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize("transform", ["jit", "vjp"])
def test_options_without_counterpart(transform: str, name: str) -> None:
    with pytest.raises((TypeError, ValueError), match=r"x\.\w+: .*(xp\.|xpand\.|use 0)|axes"):
        TRANSFORMS[transform](REFUSED[name])(X)


NUMPY_OPTIONS: dict[str, Callable[[Any], Any]] = {
    "sum, where": lambda x: x.sum(where=x > 0.0),
    "sum, initial": lambda x: x.sum(axis=1, initial=True),
    "max, initial": lambda x: x.max(axis=0, initial=1.3),
    "min, initial and where": lambda x: x.min(initial=1.3, where=x > 0.0, keepdims=True),
    "prod, where": lambda x: x.prod(axis=1, where=x > 0.5),
    "mean, where": lambda x: x.mean(axis=1, where=x > 0.0),
    "var, where and ddof": lambda x: x.var(where=x > 0.0, ddof=1),
    "std, mean": lambda x: x.std(axis=1, mean=x.mean(axis=1, keepdims=True), keepdims=True),
    "any, where": lambda x: (x > 0.5).any(axis=0, where=x > 0.0),
    "all, where": lambda x: (x > 0.5).all(axis=0, where=x > 0.0),
    "mean, out": lambda x: x.mean(axis=0, out=x[0] * 0.0),
}


@pytest.mark.parametrize("name", NUMPY_OPTIONS)
@pytest.mark.parametrize("transform", ["jit", "vjp"])
def test_options_of_reductions(transform: str, name: str) -> None:
    result = TRANSFORMS[transform](NUMPY_OPTIONS[name])(M)
    reference = NUMPY_OPTIONS[name](M)
    assert result.dtype == reference.dtype
    np.testing.assert_allclose(result, reference, rtol=1e-15)


def test_out_must_be_traced() -> None:
    with pytest.raises(TypeError, match=r"mean\(…, out=…\): the library's own array"):
        jit(lambda x: x.mean(out=np.zeros(())))(X)
    with pytest.raises(ValueError, match=r"mean: out must have the shape of the result, \(\), got \(3,\)"):
        jit(lambda x: x.mean(out=x))(X)
    with pytest.raises(TypeError, match=r"mean: out must have a data type that can hold float64, got int64"):
        jit(lambda x: x.mean(out=x[0].astype(np.int64)))(X)


@pytest.mark.parametrize("name", ["max", "min", "cumsum"])
def test_errors_name_the_method(name: str) -> None:
    with pytest.raises((TypeError, ValueError), match=rf"{name}.*where"):
        TRANSFORMS["jit"](lambda x: getattr(x > 0.0, name)(where=3))(X)


def test_functions_of_numpy_that_call_methods() -> None:
    for function in (np.sum, np.mean, np.max, np.std, np.transpose, np.cumsum, np.any):
        np.testing.assert_array_equal(jit(function)(M), function(M))
    np.testing.assert_array_equal(grad(lambda x: np.sum(x * x))(X), 2.0 * X)


# Writing in place

IN_PLACE = {
    "iadd": (operator.iadd, X, 2.0 * X),
    "isub": (operator.isub, X, X[:1]),
    "imul": (operator.imul, X, X),
    "itruediv": (operator.itruediv, X, X + 0.25),
    "ifloordiv": (operator.ifloordiv, X, X + 0.25),
    "imod": (operator.imod, X, X + 0.25),
    "ipow": (operator.ipow, X * X, X),
    "imatmul": (operator.imatmul, M, M + 1.0),
    "iand": (operator.iand, N, N + 1),
    "ior": (operator.ior, N, N + 1),
    "ixor": (operator.ixor, N, N + 1),
    "ilshift": (operator.ilshift, N, np.asarray([1, 2, 3])),
    "irshift": (operator.irshift, N, np.asarray([1, 2, 3])),
}


@pytest.mark.parametrize(
    ("transform", "name"),
    [
        (f, name)
        for name, (_, x, _) in IN_PLACE.items()
        for f in TRANSFORMS
        if x.dtype == np.float64 or f[-3:] not in ("jvp", "vjp")
    ],
)
def test_in_place_operators_write_where_the_library_writes(library: Library, transform: str, name: str) -> None:
    update, x, y = IN_PLACE[name]

    def function(x: Any, y: Any) -> Any:
        out = x + 0
        alias = out
        update(out, y)
        out = update(out, y)
        return alias, out

    _check(library, TRANSFORMS[transform], function, x, y)


PROGRAMS: dict[str, Callable[[Any], Any]] = {}


def program(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    PROGRAMS[function.__name__] = function
    return function


@program
def argument(x: Any) -> Any:
    alias = x
    x += 1.0
    return alias * 2.0, x


@program
def accumulator_that_was_created(x: Any) -> Any:
    total = xpand.array_namespace(x).zeros((3,), dtype=x.dtype, device=getattr(x, "device", None))
    alias = total
    for _ in range(3):
        total += x
    return alias, total


@program
def scalar_that_was_created(x: Any) -> Any:
    xp = xpand.array_namespace(x)
    total = xp.zeros((), dtype=x.dtype, device=getattr(x, "device", None))
    alias = total
    for _ in range(3):
        total += xp.sum(x)
    return alias, total


@program
def result_of_a_reduction(x: Any) -> Any:
    """NumPy's is an immutable scalar."""
    xp = xpand.array_namespace(x)
    total = xp.sum(x)
    before = total
    total += xp.sum(x)
    return before * 1.0, total


@program
def elements(x: Any) -> Any:
    y = x * 1.0
    alias = y
    y[0] += x[1]
    y[1:] *= 2.0
    y[0:1] -= y[1:2]
    return alias, y


@program
def float32(x: Any) -> Any:
    xp = xpand.array_namespace(x)
    y = xp.astype(x, xp.float32)
    alias = y
    y += 0.5
    return alias, y


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_that_write(library: Library, transform: Transform, name: str) -> None:
    _check(library, transform, PROGRAMS[name], X)


def _sum(x: Any) -> Any:
    return xpand.array_namespace(x).sum(x)


def _added_to(out: Any, y: Any) -> None:
    out += y


WRITES = {
    "operator": _added_to,
    "index": lambda out, y: out.__setitem__(..., out + y),
}


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
@pytest.mark.parametrize("name", ["numpy", "strict"])
def test_gradients_of_writes(name: str, write: Any) -> None:
    library = TRACED[name]

    def function(x: Any) -> Any:
        y = x * x
        alias = y
        write(y, 3.0 * x)
        return _sum(alias * y)

    x = library.asarray(X)
    library.assert_equal(grad(function)(x), 2.0 * (X * X + 3.0 * X) * (2.0 * X + 3.0))
    library.assert_equal(jit(grad(function))(x), 2.0 * (X * X + 3.0 * X) * (2.0 * X + 3.0))


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_writes_do_not_change_derivatives_taken_before(write: Any) -> None:
    """The values that a tape or a graph stores are those of the array at that time."""

    def after_vjp(x: Any) -> Any:
        _, pull = vjp(lambda v: v * v, x)
        write(x, 100.0)
        return pull(xpand.array_namespace(x).ones_like(x))[0]

    def within_grad(x: Any) -> Any:
        def inner(y: Any) -> Any:
            z = y * x
            write(x, 100.0)
            return _sum(z)

        return grad(inner)(x * 1.0)

    def within_transpose(x: Any) -> Any:
        def linear(y: Any) -> Any:
            z = y * x
            write(x, 100.0)
            return z

        return linear_transpose(linear, X)(x * 1.0 * 0.0 + 1.0)[0]

    def within_checkpoint(x: Any) -> Any:
        out, pull = vjp(lambda v: checkpoint(lambda u, w: u * w)(v, x), X)
        write(x, 100.0)
        return pull(out * 0.0 + 1.0)[0]

    for function, expected in (
        (after_vjp, 2.0 * X),
        (within_grad, X),
        (within_transpose, X),
        (within_checkpoint, X),
    ):
        for transform in (jit, TRANSFORMS["vjp"], TRANSFORMS["jvp"]):
            np.testing.assert_array_equal(transform(function)(X.copy()), expected, err_msg=function.__name__)


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_transformed_functions_do_not_write_into_what_they_are_given(write: Any) -> None:
    """Not where they are called within another transformation, either."""

    def written(y: Any, x: Any) -> Any:
        write(y, 1.0)
        return _sum(y * x)

    for inner in (jit(written), grad(written), grad(written, 1), vmap(written, in_axes=(None, 0))):

        def outer(x: Any, inner: Any = inner) -> Any:
            y = 2.0 * x
            inner(y, x)
            return y

        for transform in (jit, TRANSFORMS["vjp"], TRANSFORMS["jvp"]):
            np.testing.assert_array_equal(transform(outer)(X), 2.0 * X)


def test_numbers_are_not_written_into(library: Library) -> None:
    """Where Python makes another number of `s += x`, so does a traced one."""

    def function(x: Any, s: Any) -> Any:
        before = s
        s += x
        return before * x, s

    x = library.asarray(X)
    for found, expected in zip(jit(function)(x, 2.0), function(X, 2.0)):
        library.assert_equal(found, expected)


@pytest.mark.parametrize("name", ["numpy", "strict"])
def test_what_does_not_fit_in_place(transform: Transform, name: str) -> None:
    library = TRACED[name]

    def to_float(x: Any) -> Any:
        n = xpand.array_namespace(x).astype(x, xpand.array_namespace(x).int64)
        n += x
        return n

    def wider(x: Any) -> Any:
        x += xpand.array_namespace(x).stack([x, x])
        return x

    with pytest.raises(TypeError, match="float64"):
        to_float(library.xp.asarray(library.asarray(X), copy=True))
    with pytest.raises(TypeError, match="float64"):
        transform(to_float)(library.asarray(X))
    with pytest.raises(
        ValueError, match=r"add in place: .*shape \(3,\) can't hold .*shape \(2, 3\); write `x = x \+ y`"
    ):
        transform(wider)(library.asarray(X))


def test_numpy_casts_to_narrower_arrays_in_place(transform: Transform) -> None:
    def function(x: Any, y: Any) -> Any:
        y += x
        return y

    _check(TRACED["numpy"], transform, function, X / 3.0, np.ones(3, np.float32))


BUFFERS = {
    "element": lambda buffer, x: buffer.__setitem__(0, x[0]),
    "sum": lambda buffer, x: buffer.__setitem__((0,), _sum(x)),
    "slice": lambda buffer, x: buffer.__setitem__(slice(1), x[0]),
    "fill": lambda buffer, x: buffer.fill(x[0]),
    "list": lambda buffer, x: np.asarray([x[0], 1.0]),
}


@pytest.mark.parametrize("write", BUFFERS.values(), ids=BUFFERS)
@pytest.mark.parametrize("transform", ["jit", "jvp", "vjp", "vmap"])
def test_buffers_of_the_library_itself_cannot_hold_traced_elements(transform: str, write: Any) -> None:
    def function(x: Any) -> Any:
        write(np.zeros(2), x)
        return x

    with pytest.raises(
        TracedError,
        match=r"(buffer\[i\] = x|conversion to NumPy).*np\.stack.*test_traced_arrays",
    ) as caught:
        TRANSFORMS[transform](function)(X)
    assert "`np.zeros_like(x, shape=…)`" in str(caught.value)
