"""Views of traced arrays: arrays that share memory in the library have the same elements when traced."""

import gc
import math
import operator
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import xpand
from tests.libraries import LIBRARIES, Library
from xpand_extensions.autodiff import grad, jvp, stop_gradient, vjp
from xpand_extensions.control_flow import cond, fori_loop
from xpand_extensions.jit import jit
from xpand_extensions.tracing import LeakedArrayError, TracedError, traced_namespace
from xpand_extensions.tracing._functions import FUNCTIONS, parsed
from xpand_extensions.tracing._views import View, _with_elements
from xpand_extensions.vmap import vmap
from xpand_extensions.windows import sliding_window_view

X = np.asarray([[1.0, 2.0, -0.5], [0.5, -1.5, 3.0]])
V = np.asarray([1.0, 2.0, 3.0, 4.0])

NAMES = ("numpy", "torch", "strict", "strict-device1", "dask")
TRACED = {library.id: library for library in LIBRARIES if library.id in NAMES}
"""The libraries that are transformed by tracing."""

Transform = Callable[[Callable[..., Any]], Callable[..., Any]]
TRANSFORMS: dict[str, Transform] = {
    "jit": jit,
    "jvp": lambda f: lambda x: jvp(f, (x,), (x,))[0],
    "jit of jvp": lambda f: jit(lambda x: jvp(f, (x,), (x,))[0]),
}


def grad_value(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Evaluate a function in reverse mode."""
    return lambda x: vjp(function, x)[0]


@pytest.fixture(params=TRANSFORMS)
def transform(request: pytest.FixtureRequest) -> Transform:
    return TRANSFORMS[request.param]


# Random programs

UPDATES = (operator.iadd, operator.isub, operator.imul)


def _key(
    rng: np.random.Generator, shape: tuple[int, ...], adds_axes: bool = True, *, reverses: bool = True
) -> tuple[Any, ...]:
    """Return a random key of integers and slices. `reverses`: some have the step -1, which PyTorch does not take."""
    parts: list[Any] = []
    for size in shape:
        start, stop = sorted(int(each) for each in rng.integers(0, size + 1, 2))
        kinds: list[Any] = [slice(start, stop), slice(start, None), slice(None, stop), slice(start, None, 2)]
        kinds += [slice(None), slice(None), slice(None, None, -1) if reverses else slice(None)]
        number = int(rng.integers(-size, max(size, 1)))
        kinds += [number] * (size > 0)
        parts.append(kinds[rng.integers(len(kinds))])
    if rng.integers(4) == 0 and adds_axes:
        parts.insert(int(rng.integers(len(parts) + 1)), None)
    return (*parts, ...)


def _reverses(xp: Any) -> bool:
    return xpand.library_name(xp, underlying=True) != "torch"


def _in_rows(xp: Any, x: Any) -> Any:
    """Return a copy in row-major order, which traced arrays are taken to have."""
    return xp.take(xp.stack([x]), xp.asarray([0], device=getattr(x, "device", None)), axis=0)[0, ...]


def _made_from(x: Any, rng: np.random.Generator, has_methods: bool) -> Any:
    """Apply a random function, whose result may be a view, a copy, or the array itself."""
    xp = xpand.array_namespace(x)
    shape = x.shape
    n, size = len(shape), math.prod(shape)
    axis = int(rng.integers(n))
    rows = int(rng.choice([k for k in range(1, size + 1) if size % k == 0])) if size else 0
    key = _key(rng, shape, reverses=_reverses(xp))
    axes = tuple(int(each) for each in rng.permutation(n))
    zero = xp.asarray([0] * (shape[axis] > 0), dtype=xp.int64, device=getattr(x, "device", None))
    functions: list[Callable[[], Any]] = [
        *[lambda: x[key]] * 4,
        *[lambda: xp.reshape(x, (size,))] * 2,
        lambda: xp.reshape(x, (rows, size // rows) if size else (2, 0)),
        lambda: xp.permute_dims(x, axes),
        lambda: xp.permute_dims(x, tuple(range(n))[::-1]),
        lambda: xp.moveaxis(x, axis, 0),
        lambda: xp.expand_dims(x, axis=axis),
        lambda: xp.squeeze(x, axis=axis) if shape[axis] == 1 else x,
        lambda: xp.flip(x, axis=axis),
        lambda: xp.astype(x, x.dtype, copy=False),
        lambda: xp.broadcast_to(x, (2, *shape)),
        lambda: xp.broadcast_to(x, shape),
        lambda: xp.broadcast_arrays(x, x)[0],
        lambda: xp.unstack(x, axis=axis)[-1] if shape[axis] else x,
        lambda: xp.matrix_transpose(x) if n > 1 else x,
        lambda: x.T if n == 2 else x,
        lambda: xp.linalg.diagonal(x) if n > 1 else x,
        lambda: _in_rows(xp, x),
        lambda: _in_rows(xp, x * 0.5),
        lambda: xp.roll(x, 0),
        lambda: xp.take(x, zero, axis=axis),
    ]
    if has_methods:
        functions += [
            lambda: x.ravel(),
            lambda: x.flatten(),
            lambda: x.reshape(-1) if size else x,
            lambda: x.transpose(),
            lambda: x.swapaxes(0, axis),
            lambda: x[zero] if axis == 0 else x,
            lambda: next(iter(x)) if shape[0] and n > 1 else x,
        ]
    return functions[rng.integers(len(functions))]()


def run(seed: int, x: Any, refused: list[int], has_methods: bool) -> list[Any]:
    """Run a random program on aliases. It depends only on the seed and on shapes, so it is the same for all libraries.

    `refused` gets the numbers of the steps that write into read-only arrays.
    """
    rng = np.random.default_rng(seed)
    arrays = [_in_rows(xpand.array_namespace(x), x)]
    for step in range(int(rng.integers(6, 16))):
        i = int(rng.integers(len(arrays)))
        target, number = arrays[i], float(rng.integers(-3, 4)) / 2.0
        shape = target.shape
        fitting = [
            y
            for y in arrays
            if len(y.shape) <= len(shape) and all(m in (1, n) for m, n in zip(y.shape[::-1], shape[::-1]))
        ]
        value = fitting[rng.integers(len(fitting))] if rng.integers(2) else number
        update = UPDATES[rng.integers(len(UPDATES))]
        key = _key(rng, shape, has_methods, reverses=_reverses(xpand.array_namespace(x)))
        kind = rng.integers(9)
        try:
            if kind < 4:
                made = _made_from(target, rng, has_methods)
                arrays += [made] * bool(made.shape)
            elif kind == 4:
                arrays[i] = update(target, value)
            elif kind == 5:
                target[key] = number
            elif kind == 6:
                target[key] = update(target[key], number)
            elif kind == 7:
                target[...] = value
            elif has_methods and len(shape) > 1:
                for row in target:
                    update(row, number)
        except (ValueError, RuntimeError) as error:
            if "input tensor and the written-to tensor" in str(error):
                pytest.skip("PyTorch itself refuses arrays that share memory with the written one")
            refused.append(step)
    return arrays


def _weighted_sum(arrays: list[Any]) -> Any:
    total = 0.0
    for number, y in enumerate(arrays, 1):
        xp = xpand.array_namespace(y)
        size = math.prod(y.shape)
        flat = xp.reshape(y, (size,))
        weights = xp.astype(xp.arange(size, device=getattr(y, "device", None)), y.dtype) * 0.25 + number
        total = total + xp.sum(flat * flat * weights)
    return total


def _programs(number: int) -> Iterator[Any]:
    """Yield parameters: the library, the seed, and whether the program calls methods."""
    counts = (number, number, number // 3, 4, number // 10)
    for name, count in zip(NAMES, counts, strict=True):
        if name in TRACED:
            yield from (pytest.param(TRACED[name], seed, name == "numpy", id=f"{name}-{seed}") for seed in range(count))


def _expected(library: Library, seed: int, x: np.ndarray, has_methods: bool) -> tuple[list[np.ndarray], list[int]]:
    refused: list[int] = []
    try:
        found = run(seed, library.asarray(x), refused, has_methods)
    except IndexError:
        assert library.id == "dask"
        pytest.skip("Dask's own assignment fails for empty selections")
    if refused and library.id == "dask":
        pytest.skip("Dask's own assignment fails for empty selections")
    return [np.array(library.to_numpy(y)) for y in found], refused


@pytest.mark.parametrize(("library", "seed", "has_methods"), list(_programs(60)))
def test_random_programs(library: Library, seed: int, has_methods: bool) -> None:
    """Aliases have the values that they have in the library; what is read-only there, is when traced."""
    expected, refused = _expected(library, seed, X, has_methods)
    for name, transform in TRANSFORMS.items():
        steps: list[int] = []
        found = transform(lambda x, steps=steps: tuple(run(seed, x, steps, has_methods)))(library.asarray(X))
        assert steps == refused, name
        for x, wanted in zip(found, expected, strict=True):
            library.assert_equal(x, wanted, rtol=1e-12, atol=1e-12)
    mapped = vmap(lambda x: tuple(run(seed, x, [], has_methods)))(library.asarray(np.stack([X, 2.0 * X - 1.0])))
    others, _ = _expected(library, seed, 2.0 * X - 1.0, has_methods)
    for x, first, second in zip(mapped, expected, others, strict=True):
        library.assert_equal(x, np.stack([first, second]), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("seed", range(60))
def test_gradients_of_random_programs(seed: int) -> None:
    """The derivative of NumPy's own aliases: the imaginary part for a tiny imaginary step."""

    def loss(x: Any) -> Any:
        return _weighted_sum(run(seed, x, [], True))

    expected = np.zeros_like(X)
    for i in np.ndindex(X.shape):
        stepped = X + 0j
        stepped[i] += 1e-30j
        expected[i] = np.imag(loss(stepped)) / 1e-30
    np.testing.assert_allclose(grad(loss)(X), expected, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(jit(grad(loss))(X), expected, rtol=1e-10, atol=1e-10)


# Programs of users

PROGRAMS: dict[str, Callable[[Any], Any]] = {}


def program(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    PROGRAMS[function.__name__] = function
    return function


@program
def slice_in_place(x: Any) -> Any:
    y = x * 1.0
    p = y[:2]
    p *= x[0]
    return y


@program
def slice_of_slice(x: Any) -> Any:
    y = x * 1.0
    y[1:][:2][0] = x[3]
    y[::-1][1:][0] += x[0]
    return y


@program
def rows(x: Any) -> Any:
    y = xpand.array_namespace(x).stack([x, x, x])
    for i, row in enumerate(y):
        row += x * i
    return y


@program
def recurrence_over_elements(x: Any) -> Any:
    """The loop reads elements that it has written."""
    y = x * 1.0
    for i, v in enumerate(y[:-1]):
        y[i + 1] += v
    return y


@program
def rows_that_are_written_meanwhile(x: Any) -> Any:
    y = xpand.array_namespace(x).stack([x, x, x])
    for i, row in enumerate(y):
        y[i:, :] += row
    return y


@program
def transposes(x: Any) -> Any:
    y = x.reshape(2, 2) * 1.0
    y.T[0] = x[:2] * x[1]
    y.mT[1] *= 2.0
    return y


@program
def flat_index(x: Any) -> Any:
    y = x.reshape(2, 2) * 1.0
    y.reshape(-1)[3] = x[0]
    y.ravel()[0] = x[1]
    y.flatten()[1] = 100.0
    y.T.reshape(-1)[1] = 100.0
    y.reshape(-1)[::2].ravel()[...] = 100.0
    return y


@program
def sibling(x: Any) -> Any:
    y = x * 1.0
    first, last = y[:3], y[1:]
    first *= x[1]
    y[0] = 7.0
    return first * last, y


@program
def rows_that_are_exchanged(x: Any) -> Any:
    """NumPy's known trap."""
    y = x.reshape(2, 2) * 1.0
    y[0], y[1] = y[1], y[0]
    return y


@program
def element_as_array(x: Any) -> Any:
    y = x * 1.0
    s, t = y[0, ...], y[1]
    s += 5.0
    s[...] = s * x[2]
    t += 100.0
    return y, t


@program
def element_of_a_copy(x: Any) -> Any:
    xp = xpand.array_namespace(x)
    y = x * 1.0
    s = xp.sum(y)
    t = xp.reshape(s, (1,))
    t += 1.0
    return s, t


@program
def parts_of_complex_numbers(x: Any) -> Any:
    xp = xpand.array_namespace(x)
    z = xp.astype(x, xp.complex128) * (1 + 2j)
    z[1] = complex("inf+3j")
    r = z.real
    r *= 3.0
    xp.imag(z)[2:] += x[0]
    return xp.real(z), xp.imag(z)


@program
def methods_that_write(x: Any) -> Any:
    y = x * 1.0
    y[:1].fill(9.0)
    y[1:][::-1].sort()
    y[2:].swapaxes(0, 0)[0] = x[0]
    return y


@program
def computed_positions(x: Any) -> Any:
    xp = xpand.array_namespace(x)
    y = x * 1.0
    p = y[1:]
    p[xp.argmax(x) - 1] = 0.0
    y[xp.argmin(x)] = 50.0
    p[p > 2.5] = -1.0
    copied = p[xp.asarray([0, 1])]
    copied += 100.0
    return y


@program
def windows(x: Any) -> Any:
    y = x * 1.0
    found = sliding_window_view(y, 2)
    y[1] = x[3]
    return found * 1.0


@program
def diagonal(x: Any) -> Any:
    y = x.reshape(2, 2) * 1.0
    found = xpand.array_namespace(x).linalg.diagonal(y)
    y[1] = x[3]
    return found * 1.0


@program
def full(x: Any) -> Any:
    """It is an array of its own, though each of its elements is the same."""
    xp = xpand.array_namespace(x)
    y = xp.full((2, 4), x[1])
    y += x
    z = xp.tile(x, (2, 1))
    z *= x
    return y, z


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(transform: Transform, name: str) -> None:
    with np.errstate(invalid="ignore"):
        found, expected = transform(PROGRAMS[name])(V), PROGRAMS[name](V.copy())
    pairs = zip(found, expected, strict=True) if isinstance(expected, tuple) else [(found, expected)]
    for x, wanted in pairs:
        np.testing.assert_array_equal(x, wanted)


# Loops, branches and nested transformations


def within_a_loop(x: Any) -> Any:
    xp = xpand.array_namespace(x)

    def body(i: Any, carry: Any) -> Any:
        y = xp.asarray(carry, copy=True)
        p = y[1:3]
        p *= y[0]
        xp.reshape(y, (2, 2))[1, :] += x[:2]
        return y

    return fori_loop(0, 3, body, x)


def within_a_branch(x: Any) -> Any:
    xp = xpand.array_namespace(x)
    y = xp.asarray(x, copy=True)

    def written(v: Any) -> Any:
        v = xp.asarray(v, copy=True)
        v[1:] *= 2.0
        v[None][0, 0] = 5.0
        return v

    z = cond(xp.sum(y) > 0.0, written, lambda v: v * 1.0, y[1:])
    p = y[:2]
    p += z[:2]
    return y


def around_a_gradient(x: Any) -> Any:
    xp = xpand.array_namespace(x)
    y = xp.asarray(x, copy=True)
    p = y[:2]
    gradient = 2.0 * y * p[0] if xp.isdtype(x.dtype, "complex floating") else grad(lambda u: xp.sum(u * u * p[0]))(y)
    gradient *= 2.0
    gradient[:2] += p
    p *= gradient[:2]
    return y * gradient


@pytest.mark.parametrize("function", [within_a_loop, within_a_branch, around_a_gradient])
def test_writes_within_loops_branches_and_transformations(function: Callable[[Any], Any]) -> None:
    expected = function(V)
    for transform in TRANSFORMS.values():
        np.testing.assert_allclose(transform(function)(V), expected, rtol=1e-15)
    lanes = np.stack([V, -V])
    np.testing.assert_allclose(vmap(function)(lanes), [function(V), function(-V)], rtol=1e-15)
    derivative = np.zeros((4, 4))
    for i in range(4):
        derivative[i] = jvp(function, (V,), (np.eye(4)[i],))[1]
    if function is around_a_gradient:
        steps = V + 1e-30j * np.eye(4)
        np.testing.assert_allclose(derivative, [np.imag(function(each)) / 1e-30 for each in steps], rtol=1e-12)
    gradient = grad(lambda x: xpand.array_namespace(x).sum(function(x)))(V)
    np.testing.assert_allclose(gradient, np.sum(derivative, axis=1), rtol=1e-12)


PARTS = [0, 3, -1, *[slice(*ends) for ends in ((None,), (1, None), (2,), (1, 3), (0,), (None, None, 2), (1, None, 2))]]
PARTS += [slice(*ends) for ends in ((None, None, -1), (None, 1, -1), (2, None, -1), (None, None, -2), (2, 0, -2))]


@pytest.mark.parametrize("key", PARTS, ids=str)
def test_parts_that_overlap_have_the_same_elements(key: Any) -> None:
    """A write to one part reaches exactly the others that share elements with it."""

    def f(x: Any) -> list[Any]:
        found = []
        for other in PARTS:
            y = x * 1.0
            part = y[other]
            y[key] = y[key] * 10.0
            found += [part + 0.0, y]
            part *= 3.0
            found += [y + 0.0]
        return found

    x = np.arange(1.0, 9.0).reshape(4, 2)
    for found, expected in zip(jit(f)(x), f(x), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_whether_a_result_is_a_view_depends_on_all_parameters() -> None:
    def written(function: Callable[[Any, Any], Any]) -> Callable[[Any], Any]:
        def f(x: Any) -> Any:
            y = x * 1.0
            function(xpand.array_namespace(x), y)[...] = 7.0
            return y

        return f

    x = np.arange(12.0).reshape(3, 2, 2)
    functions = [
        lambda xp, y, shape=shape, axes=axes: xp.reshape(xp.permute_dims(y, axes), shape)
        for axes in ((0, 1, 2), (1, 0, 2), (2, 1, 0), (0, 2, 1))
        for shape in ((12,), (3, 4), (4, 3), (2, 1, 3, 2), (1, 2, 6), (3, 2, 2), (2, 2, 3), (6, 2))
    ]
    functions += [lambda xp, y, dtype=dtype: xp.astype(y, dtype, copy=False) for dtype in (np.float64, np.float32)]
    functions += [lambda xp, y, copy=copy: xp.reshape(y, (12,), copy=copy) for copy in (True, False, None)]
    for functions_in_order in (functions, functions[::-1]):
        for each in functions_in_order:
            np.testing.assert_array_equal(jit(written(each))(x), written(each)(x))


def test_writes_into_captured_arrays_are_an_error() -> None:
    def function(x: Any) -> Any:
        y = x * 1.0
        p = y[:2]

        def lane(r: Any) -> Any:
            p[0] = r
            return r

        return vmap(lane)(x) + y

    with pytest.raises(LeakedArrayError, match="vmap"):
        jit(function)(V)


# What can't be written to

READ_ONLY: dict[str, Callable[[Any, Any], Any]] = {
    "broadcast_to": lambda xp, x: xp.broadcast_to(x, (2, 4)),
    "part of broadcast_to": lambda xp, x: xp.broadcast_to(x, (2, 4))[0, ...],
    "diagonal": lambda xp, x: xp.linalg.diagonal(xp.stack([x, x])),
    "imag of real numbers": lambda xp, x: xp.imag(x),
    "sliding_window_view": lambda xp, x: sliding_window_view(x, 2),
}


@pytest.mark.parametrize("name", READ_ONLY)
def test_read_only_views(transform: Transform, name: str) -> None:
    def function(x: Any) -> Any:
        made = READ_ONLY[name](xpand.array_namespace(x), x)
        made += 1.0
        return made

    with pytest.raises(ValueError, match="read-only"):
        function(V.copy())
    with pytest.raises(ValueError, match=r"read-only; copy the result first with `xp\.asarray\(x, copy=True\)`"):
        transform(function)(V)


def test_writes_into_the_result_of_stop_gradient(transform: Transform) -> None:
    def written(x: Any) -> Any:
        y = x * 1.0
        stopped = stop_gradient(y)
        stopped *= 2.0
        return y

    def of_a_result(x: Any) -> Any:
        stopped = stop_gradient(x * 1.0)
        stopped[1:] *= 2.0
        return stopped * x

    with pytest.raises(TracedError, match="the derivative of the argument would be lost; copy"):
        transform(written)(V)
    np.testing.assert_array_equal(transform(of_a_result)(V), of_a_result(V))


# The machinery


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("getitem", {"key": (slice(1, None), 0)}),
        ("getitem", {"key": (None, ..., slice(None, None, -2))}),
        ("matrix_transpose", {}),
        ("flip", {"axis": 1}),
        ("permute_dims", {"axes": (2, 0, -2)}),
        ("moveaxis", {"source": (0, 1), "destination": (-1, 0)}),
        ("expand_dims", {"axis": 1}),
        ("reshape", {"shape": (6, 4), "copy": None}),
        ("linalg.diagonal", {"offset": 1}),
    ],
)
def test_elements_return_to_the_base(name: str, params: dict[str, Any]) -> None:
    """Also for functions without an inverse, whose results are not writable in NumPy."""
    namespace = traced_namespace(xpand.namespace("numpy"))
    base = namespace.wrap(np.arange(24.0).reshape(2, 3, 4))
    op = namespace.operations[name]
    x = namespace.wrap(op.function(base._value, **params))
    written = _with_elements(base, x * 100.0, View(base, op, params, op.function))
    positions = op.function(np.arange(24).reshape(2, 3, 4), **params)
    expected = np.arange(24.0)
    expected[positions] *= 100.0
    np.testing.assert_array_equal(written._value, expected.reshape(2, 3, 4))


ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "broadcast_to": ((2, 2, 2),),
    "linalg.matrix_power": (1,),
    "moveaxis": (0, 1),
    "permute_dims": ((1, 0),),
    "repeat": (1,),
    "reshape": ((4,),),
    "roll": (0,),
    "squeeze": ((),),
    "tile": ((1, 1),),
}


OF_OTHER_SHAPES = {"linalg.cross", "linalg.outer", "take", "take_along_axis"}


@pytest.mark.parametrize("name", sorted(FUNCTIONS.keys() - OF_OTHER_SHAPES))
@np.errstate(all="ignore")
def test_functions_share_memory_as_in_the_library(name: str) -> None:
    """Any function may return a view. A write into its results changes the argument where NumPy changes it."""

    def function(x: Any, log: list[str]) -> Any:
        xp = xpand.array_namespace(x)
        y = x * 1
        called = operator.attrgetter(name)(xp)
        signature = parsed(FUNCTIONS[name])
        given: Any = [y] * (3 if name == "where" else len(signature.arrays))
        if signature.is_sequence and not signature.is_variadic:
            given = [[y, y]]
        found = called(*given, *ARGUMENTS.get(name, ()))
        for part in found if isinstance(found, (tuple, list)) else [found]:
            if part.shape:
                try:
                    part[...] = xp.zeros_like(part)
                except ValueError as error:
                    log.append(type(error).__name__)
        return y

    x = np.asarray([[2, 3], [5, 7]])
    for dtype in ("int64", "float64", "complex128"):
        expected: list[str] = []
        try:
            wanted = function(x.astype(dtype), expected)
        except (TypeError, ValueError):  # not a function of such arrays
            continue
        for transform in (grad_value if dtype == "float64" else jit, jit):
            log: list[str] = []
            try:
                found = transform(lambda x, log=log: function(x, log))(x.astype(dtype))
            except TracedError:  # the size of the result is unknown
                continue
            np.testing.assert_array_equal(found, wanted, err_msg=dtype)
            assert log == expected


def test_views_do_not_keep_each_other_alive() -> None:
    found: list[Any] = []

    def function(x: Any) -> Any:
        y = x * 1.0
        for _ in range(200):
            found.append(weakref.ref(y[:2]))
        assert len(y._views) < 100
        p = y[1:]
        p *= 2.0
        found.append(weakref.ref(y))
        found.append(weakref.ref(p))
        return y

    gc.disable()
    try:
        jit(function)(V)
        assert all(each() is None for each in found)
    finally:
        gc.enable()


def test_programs_without_aliases_record_no_more_operations() -> None:
    """`y[1:] += v` is one read, one sum and one write, and views of other elements are left as they are."""

    def function(x: Any) -> Any:
        y = x * 2.0
        other = y[:1]
        y[1:] += x[1:]
        return y, other

    equations = jit(function).lower(V).as_text()
    assert equations.count("setitem") == 1
    assert equations.count("getitem") == 3


@pytest.mark.parametrize("kind", [float, np.asarray], ids=["numbers", "arrays"])
def test_results_between_bounds_are_new_arrays(kind: Any) -> None:
    def f(x: Any) -> Any:
        xp = xpand.array_namespace(x)
        bounded = xp.clip(x, kind(-1.0), kind(1.0))
        bounded[0] = x[1]
        return xp.sum(bounded * x)

    x = np.asarray([0.5, 2.0, -3.0])
    np.testing.assert_allclose(grad(f)(x), [2.0, 1.5, -1.0])
    assert float(jit(f)(x)) == f(x.copy())
    np.testing.assert_allclose(x, [0.5, 2.0, -3.0])
