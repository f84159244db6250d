"""A traced array does what an array of the library under it does: writing in place, methods, copies, data types."""

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import xpand
from tests.libraries import LIBRARIES, Library
from xpand_extensions.autodiff import checkpoint, grad, jvp, linear_transpose, vjp
from xpand_extensions.jit import jit
from xpand_extensions.tracing import TracedError
from xpand_extensions.vmap import vmap

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


# Writing in place

X = np.asarray([1.5, -2.0, 3.0])
N = np.asarray([5, 3, 6])
M = np.asarray([[2.0, 1.0], [0.5, -1.0]])

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
    """What a tape or a graph has kept of an array is what the array held then."""

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
        TracedError, match=r"(buffer\[i\] = x|conversion to NumPy).*xpand\.array_namespace.*test_traced_arrays"
    ):
        TRANSFORMS[transform](function)(X)
