"""Compiled functions: against the functions themselves; how often they are traced; bad input; threads."""

import functools
import math
import re
import threading
import warnings
from collections import namedtuple
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from enum import IntEnum
from fractions import Fraction
from typing import Any

import numpy as np
import optree
import pytest
from hypothesis import given, settings, strategies as st

import xpand
from tests.libraries import LIBRARIES, Library
from xpand import trees
from xpand._arguments import device_of
from xpand_extensions import histograms, indexing, scatter, special
from xpand_extensions.autodiff import grad, hessian, jvp, stop_gradient
from xpand_extensions.jit import disable_jit, jit
from xpand_extensions.jit._calls import MAX_ENTRIES, Compiled, leaf_numbers
from xpand_extensions.vmap import vmap

ABLE = LIBRARIES
Pair = namedtuple("Pair", "left right")

X = np.asarray([0.5, -1.5, 2.0])
Y = np.asarray([[1.0, 2.0, 0.5], [0.25, -1.0, 3.0]])


@pytest.fixture(params=ABLE, ids=str)
def able(request: pytest.FixtureRequest) -> Iterator[Library]:
    with xpand.use(xpand.library_name(request.param.xp)):
        yield request.param


class Counted:
    """A function that counts how often it is called: how often it is traced."""

    def __init__(self, function: Callable[..., Any]) -> None:
        functools.update_wrapper(self, function)
        self.function, self.count = function, 0

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self.count += 1
        return self.function(*args, **kwargs)


def total(x: Any) -> Any:
    return xpand.array_namespace(x).sum(x)


def mixed(x: Any, y: Any) -> Any:
    """Operations of all kinds: elementwise, products, reductions, indices, special functions, scatters."""
    xp = xpand.array_namespace(x)
    product = y @ xp.sin(x)
    cells = xp.asarray([1, 0, 1], device=device_of(x))
    sums = scatter.segment_sum(x * x, cells, num_segments=2)
    return xp.where(product > 0, product, 0.5) + sums, special.erf(y[:, ::2]), xp.argsort(x)


def assert_trees_equal(library: Library, actual: Any, expected: Any, rtol: float = 1e-13) -> None:
    assert trees.structure(actual) == trees.structure(expected)
    for x, wanted in zip(trees.leaves(actual), trees.leaves(expected)):
        library.assert_equal(x, library.to_numpy(wanted), rtol=rtol)


def test_values(able: Library) -> None:
    x, y = able.asarray(X), able.asarray(Y)
    compiled = jit(mixed)
    for _ in range(2):
        assert_trees_equal(able, compiled(x, y), mixed(x, y))


def test_one_function_for_all_libraries() -> None:
    counted = Counted(lambda x: x * 2.0)
    compiled = jit(counted)
    for _ in range(2):
        for library in ABLE:
            library.assert_equal(compiled(library.asarray(X)), 2 * X)
    assert counted.count == len(ABLE)


@pytest.mark.parametrize(
    "transformed",
    [
        grad(lambda x: total(x**3)),
        hessian(lambda x: total(x**3)),
        vmap(grad(lambda x: x**3)),
        lambda x: jvp(lambda x: xpand.array_namespace(x).exp(x), (x,), (2.0 * x,)),
        grad(lambda x: total(stop_gradient(x) * x)),
    ],
    ids=["grad", "hessian", "vmap of grad", "jvp", "stop_gradient"],
)
def test_of_transformations(able: Library, transformed: Callable[..., Any]) -> None:
    x = able.asarray(X)
    assert_trees_equal(able, jit(transformed)(x), transformed(x))


def test_the_compiler_takes_gradients_of_maps(able: Library) -> None:
    x, y = able.asarray(X), able.asarray(Y)
    row = lambda x, y: xpand.array_namespace(x).sum(special.gammaln(y * y + 1.0) * x**3)
    transformed = vmap(grad(row, (0, 1)), (None, 0))
    assert_trees_equal(able, jit(transformed)(x, y), transformed(x, y), rtol=1e-12)


def test_inside_transformations(able: Library) -> None:
    x = able.asarray(X)
    compiled = jit(lambda x: x**3)
    able.assert_equal(compiled(x), X**3, rtol=1e-14)
    able.assert_equal(vmap(compiled)(x), X**3, rtol=1e-14)
    able.assert_equal(grad(lambda x: total(compiled(x)))(x), 3 * X**2, rtol=1e-14)
    able.assert_equal(vmap(grad(compiled))(x), 3 * X**2, rtol=1e-14)
    able.assert_equal(jit(vmap(jit(grad(compiled))))(x), 3 * X**2, rtol=1e-14)
    able.assert_equal(grad(lambda x: grad(compiled)(x))(x[2]), np.asarray(12.0), rtol=1e-14)


def test_inside_itself(able: Library) -> None:
    inner = Counted(lambda x: x + 1.0)
    compiled = jit(inner)
    outer = jit(lambda x: compiled(x) * compiled(2.0 * x))
    able.assert_equal(outer(able.asarray(X)), (X + 1) * (2 * X + 1), rtol=1e-15)
    before = inner.count
    outer(able.asarray(X))
    assert inner.count == before


# Number of traces


def test_traced_once_for_each_signature(able: Library) -> None:
    counted = Counted(lambda tree, n=1: {"sum": tree["x"] + tree["y"][0], "n": tree["x"] * n})
    compiled = jit(counted)
    tree = lambda x: {"y": (able.asarray(x), None), "x": able.asarray(x)}
    for _ in range(3):
        compiled(tree(X))
    assert counted.count == 1
    compiled(tree(X + 1))
    assert counted.count == 1
    compiled(tree(Y))
    assert counted.count == 2
    compiled(tree(X.astype(np.float32)))
    assert counted.count == 3
    compiled(tree(X), 2)
    compiled(tree(X), 3)
    assert counted.count == 4
    compiled(tree(X), n=3)
    assert counted.count == 5
    compiled(tree(Y)), compiled(tree(X))
    assert counted.count == 5


def test_strides_and_views(able: Library) -> None:
    counted = Counted(lambda x: x * 2.0 + 1.0)
    compiled = jit(counted)
    y = able.asarray(np.arange(24.0).reshape(4, 6))
    for x in (y, y[::2, ::3], able.xp.permute_dims(y, (1, 0)), y[:0, :], y[2, 3]):
        able.assert_equal(compiled(x), able.to_numpy(x) * 2.0 + 1.0)


def test_static_arguments(able: Library) -> None:
    @Counted
    def power(x: Any, n: int = 2, *, name: str = "double", scale: float = 1.0) -> Any:
        for _ in range(n - 1):
            x = x * x
        return x * {"double": 2.0, "half": 0.5}[name] * scale

    x = able.asarray(X)
    for compiled in (
        jit(power, static_argnums=1, static_argnames="name"),
        jit(power, static_argnums=(-1,), static_argnames=["name"]),
        functools.partial(jit, static_argnames=("n", "name"))(power),
    ):
        power.count = 0
        able.assert_equal(compiled(x), 2 * X**2, rtol=1e-15)
        able.assert_equal(compiled(x, 3), 2 * X**4, rtol=1e-15)
        able.assert_equal(compiled(x, n=3, name="half"), X**4 / 2, rtol=1e-15)
        able.assert_equal(compiled(x, 3, name="half", scale=3.0), X**4 * 1.5, rtol=1e-15)
        assert power.count == 4
        for _ in range(2):
            able.assert_equal(compiled(x, 3, name="half", scale=4.0), X**4 * 2, rtol=1e-15)
            able.assert_equal(compiled(x, 3), 2 * X**4, rtol=1e-15)
        assert power.count == 4


def test_static_values_that_are_equal_and_not_the_same(able: Library) -> None:
    compiled = jit(lambda x, flag: x if flag is True else -x, static_argnums=1)
    x = able.asarray(X)
    able.assert_equal(compiled(x, True), X)
    able.assert_equal(compiled(x, 1), -X)
    able.assert_equal(compiled(x, 1.0), -X)
    counted = Counted(lambda x, n: x * math.copysign(1.0, n[0][0]))
    signs = jit(counted, static_argnums=1)
    for number in (0.0, -0.0, 0, math.nan, float("nan")):
        able.assert_equal(signs(x, ((number,), "name")), X * math.copysign(1.0, number))
    assert counted.count == 4


def test_numbers_too_large_to_be_traced() -> None:
    compiled = jit(lambda x, n: x + n)
    for library in (each for each in ABLE if not each.id.startswith(("torch", "jax"))):
        x = library.asarray([1, 2])
        compiled(x, 3)
        with pytest.raises(
            OverflowError, match=r"jit: the number 9223372036854775808 is too large for .*int64.*pass an"
        ):
            compiled(x, 2**63)
        library.assert_equal(compiled(x, 2**62), np.asarray([1, 2]) + 2**62)


def test_donated_arguments_are_counted_in_leaves() -> None:
    """Each argument may be a tree, and static ones are none of the leaves."""
    args = ((X, X), X, {"a": X, "b": X}, X)
    for donated, expected in (
        ((0,), (0, 1)),
        ((1,), (2,)),
        ((2,), (3, 4)),
        ((-1, 1), (2, 5)),
        ((0, 1, 2, 3), range(6)),
    ):
        assert leaf_numbers(args, args, (), donated) == tuple(expected)
    with_static = (args[0], "name", *args[1:])
    assert leaf_numbers(with_static, args, ((1, "name", "name"),), (2, 4)) == (2, 5)


class Number(IntEnum):
    TWO = 2


def test_static_values_of_different_types_have_programs_of_their_own() -> None:
    """Also if they are equal, and hash alike."""
    values: list[Any] = [2, 2.0, 2 + 0j, Fraction(2), Decimal(2), Number.TWO]
    values += [(value,) for value in values] + [(Fraction(2), True), (Fraction(2), 1), frozenset({2})]
    seen: list[Any] = []
    compiled = jit(lambda x, value: seen.append(value) or x, static_argnums=1)
    for value in values:
        compiled(X, value)
    kinds = lambda value: (type(value), [type(x) for x in value] if isinstance(value, tuple) else None)
    assert list(map(kinds, seen)) == list(map(kinds, values))
    for value in values:
        compiled(X, value)
    assert len(seen) == len(values)


def test_static_data_types_and_classes(able: Library) -> None:
    x = able.asarray([1.0, 2.0])
    compiled = jit(lambda x, dtype: xpand.array_namespace(x).astype(x, dtype), static_argnums=1)
    for dtype in (able.xp.float32, *([np.float32, np.dtype("float32")] if able.id == "numpy" else [])):
        assert compiled(x, dtype).dtype == able.xp.float32
    convert = lambda x, kind: kind(2.5) * x
    able.assert_equal(jit(convert, static_argnums=1)(x, int), [2.0, 4.0])
    for kind in (np.float32, np.ndarray, type(x)):
        result = jit(lambda x, cls: x * len(cls.__mro__), static_argnums=1)(x, kind)
        able.assert_equal(result, np.asarray([1.0, 2.0]) * len(kind.__mro__))
    with pytest.raises(TypeError, match="traced argument 1 is the type numpy.float32"):
        jit(convert)(x, np.float32)


def test_static_among_others(able: Library) -> None:
    compiled = jit(lambda a, f, b, g, **named: g(f(a, b)) + named["c"], static_argnums=(1, 3))
    x = able.asarray(X)
    found = compiled(x, lambda a, b: a - b, 2.0 * x, abs, c=able.asarray(1.0))
    able.assert_equal(found, np.abs(X) + 1.0)
    varying = jit(lambda *args: args[0] * args[-1], static_argnums=-1)
    able.assert_equal(varying(x, x, 3), 3 * X)
    able.assert_equal(varying(x, 2), 2 * X)


@optree.register_pytree_node_class(namespace="test_jit")
class Registered:
    """A class that optree has as a node only in a namespace of its own: here it is a leaf that is no array."""

    def tree_flatten(self) -> Any:
        return (), None, None

    @classmethod
    def tree_unflatten(cls, metadata: Any, children: Any) -> Any:
        return cls()


def test_trees(able: Library) -> None:
    def f(tree: Any, *rest: Any, **named: Any) -> Any:
        return {
            "pair": Pair(tree["pair"].right + 1.0, [rest[0], None]),
            "none": None,
            "named": named,
            "empty": {},
            "nested": ((tree["pair"].left,),),
        }

    x, y = able.asarray(X), able.asarray(Y)
    args, kwargs = ({"pair": Pair(x, y), "b": None}, y), {"k": [x, (y, x)]}
    found = jit(f)(*args, **kwargs)
    assert_trees_equal(able, found, f(*args, **kwargs))
    assert isinstance(found["pair"], Pair)
    assert isinstance(found["pair"].right, list)


def test_results_that_differ_by_shape(able: Library) -> None:
    """The structure of the result belongs to the signature, and not to the function."""
    compiled = jit(lambda x: {"row": x} if x.ndim == 1 else [x, x + 1.0])
    x, y = able.asarray(X), able.asarray(Y)
    for _ in range(2):
        able.assert_equal(compiled(x)["row"], X)
        able.assert_equal(compiled(y)[1], Y + 1.0)


def test_results_that_are_numbers_arguments_constants_or_nothing(able: Library) -> None:
    x, constant = able.asarray(X), able.asarray(Y)
    found = jit(lambda x: (x, 1.0, 2, True, constant, x, None))(x)
    able.assert_equal(found[0], X)
    able.assert_equal(found[5], X)
    able.assert_equal(found[4], Y)
    assert [tuple(each.shape) for each in found[1:4]] == [(), (), ()]
    assert [float(each) for each in found[1:4]] == [1.0, 2.0, 1.0]
    assert jit(lambda x: None)(x) is None
    assert jit(lambda x: ())(x) == ()
    able.assert_equal(jit(lambda: constant + 1.0)(), Y + 1.0)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_numbers_do_not_widen_nor_compile_again(able: Library, dtype: str) -> None:
    counted = Counted(lambda x, scale: xpand.array_namespace(x).multiply(x * scale, scale))
    compiled = jit(counted)
    x = able.asarray(X, dtype)
    for scale in (0.1, 0.3, -1e-3):
        expected = (X.astype(dtype) * np.asarray(scale, dtype)) * np.asarray(scale, dtype)
        able.assert_equal(compiled(x, scale), expected, rtol=1e-6 if dtype == "float32" else 1e-15)
    assert counted.count == 1
    number = jit(lambda a, b: a * b + 1)(3, 4)
    assert (int(number), tuple(number.shape)) == (13, ())


DTYPES = ["bool", "int8", "uint8", "int16", "int32", "int64", "float32", "float64", "complex64", "complex128"]


@pytest.mark.parametrize("dtype", DTYPES)
def test_data_types(able: Library, dtype: str) -> None:
    x = able.asarray([[1, 0, 1], [0, 1, 1]], dtype)

    def f(x: Any) -> Any:
        xp = xpand.array_namespace(x)
        real = xp.real(x) if "complex" in dtype else x  # which the standard does not convert to truth values
        return x == xp.flip(x), x[:, 0], xp.astype(real, xp.bool)

    assert_trees_equal(able, jit(f)(x), f(x))


def test_complex_numbers(able: Library) -> None:
    z = able.asarray([1 + 2j, -3j])
    compiled = jit(lambda z: z * z + 1.0)
    for x in (z, able.xp.conj(z), able.xp.imag(able.xp.conj(z))):
        able.assert_equal(compiled(x), able.to_numpy(x) ** 2 + 1.0, rtol=1e-15)


@settings(max_examples=8)
@given(st.lists(st.integers(0, 4), max_size=3), st.floats(-3, 3), st.booleans())
@pytest.mark.parametrize("library", ABLE, ids=str)
def test_any_shape_and_number(library: Library, shape: list[int], number: float, nan: bool) -> None:
    values = np.arange(float(np.prod(shape, dtype=int))).reshape(shape) - 1.5
    values = np.where(values > 2, np.nan, values) if nan else values
    found = jit(lambda x, a: {"r": [x * a - x, xpand.array_namespace(x).sum(x)]})(library.asarray(values), number)
    library.assert_equal(found["r"][0], values * number - values, rtol=1e-14, atol=1e-14)
    library.assert_equal(found["r"][1], np.asarray(values.sum()), rtol=1e-14, atol=1e-14)


def test_closures_are_constants(able: Library) -> None:
    constant, cells = able.asarray(Y), able.asarray([1, 0, 1])

    def f(x: Any) -> Any:
        return scatter.segment_sum(x, cells, num_segments=2) + constant[:, 0]

    able.assert_equal(jit(f)(able.asarray(X)), np.asarray([-1.5, 2.5]) + Y[:, 0])


def test_disable_jit(able: Library) -> None:
    counted = Counted(lambda x, n=2: x * n if float(x[0]) > 0 else x)
    compiled = jit(counted)
    x = able.asarray(X)
    with disable_jit():
        for _ in range(3):
            able.assert_equal(compiled(x), 2 * X)
    assert counted.count == 3
    with pytest.raises(TypeError):
        compiled(x)
    with pytest.raises(RuntimeError, match="mine"), disable_jit():
        raise RuntimeError("mine")
    with pytest.raises(TypeError):
        compiled(x)
    seen = []

    def elsewhere() -> None:
        with pytest.raises(TypeError) as error:
            compiled(x)
        seen.append(error)

    with disable_jit():
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
    assert len(seen) == 1


def test_clear_cache(able: Library) -> None:
    counted = Counted(lambda x: x + 1.0)
    compiled = jit(lambda x: counted(x))
    compiled(able.asarray(X))
    compiled.clear_cache()
    compiled(able.asarray(X))
    assert counted.count == 2


def test_donation(able: Library) -> None:
    compiled = jit(lambda tree, y, z: (tree["a"] + y, z), donate_argnums=(0,))
    a, y, z = able.asarray(X), able.asarray(X), able.asarray(Y)
    found, _ = compiled({"a": a}, y, z)
    able.assert_equal(found, 2 * X)
    able.assert_equal(y, X)
    if able.id == "jax":
        assert a.is_deleted()
        assert not y.is_deleted()
    else:
        able.assert_equal(a, X)


def test_donation_beside_static_arguments(able: Library) -> None:
    """Positions count all arguments, static ones among them."""
    compiled = jit(lambda n, x, tree, y: (tree["a"] * n + y, x), static_argnums=0, donate_argnums=2)
    x, a, y = able.asarray(X), able.asarray(X), able.asarray(X)
    able.assert_equal(compiled(2, x, {"a": a}, y)[0], 3 * X)
    for array, is_donated in ((x, False), (a, True), (y, False)):
        if able.id == "jax":
            assert array.is_deleted() == is_donated
        else:
            able.assert_equal(array, X)


def test_endless_compilation_is_said(able: Library) -> None:
    compiled = jit(lambda x, n: None, static_argnums=1)
    x = able.asarray(X)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        for n in range(70):
            compiled(x, n)
    (warning,) = [each for each in found if "jit:" in str(each.message)]
    assert "has been compiled 65 times, each time for other static values or structures" in str(warning.message)
    assert warning.filename == __file__


def test_what_is_compiled_is_bounded() -> None:
    compiled: Compiled[int] = Compiled(len, "sizes")
    with pytest.warns(UserWarning, match="len has been compiled 65 times"):
        assert [compiled.add(n, n) for n in range(MAX_ENTRIES)] == list(range(MAX_ENTRIES))
    assert compiled.get(0) == 0
    assert compiled.add(0, 7) == 0
    compiled.add("new", -1)
    assert (compiled.get(0), compiled.get(1), compiled.get(2), compiled.get("new")) == (0, None, 2, -1)


# Bad input, and what is left after it


def test_bad_input(able: Library) -> None:
    x = able.asarray(X)
    f = lambda x, n=1: x
    with pytest.raises(TypeError, match="jit: takes a function, got int"):
        jit(3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="static_argnums names argument 2, and <lambda> takes 2 positional arguments"):
        jit(f, static_argnums=2)
    with pytest.raises(ValueError, match="static_argnums names argument -3"):
        jit(f, static_argnums=-3)
    with pytest.raises(ValueError, match="static_argnames names 'm', and <lambda> takes the arguments x, n"):
        jit(f, static_argnames=["n", "m"])
    with pytest.raises(TypeError, match="static_argnums must be an integer, got 'n'"):
        jit(f, static_argnums="n")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="static_argnames must be a name or names, got int"):
        jit(f, static_argnames=[1])  # type: ignore[list-item]
    two = lambda x, y: x * y
    for numbers in (7, (0, -3)):
        with pytest.raises(ValueError, match="jit: donate_argnums names argument .*, and <lambda> takes 2 positional"):
            jit(two, donate_argnums=numbers)
    for static in ({"static_argnums": 1}, {"static_argnums": -1}, {"static_argnames": "y"}):
        with pytest.raises(ValueError, match="jit: argument 1 is declared static and has no memory to reuse"):
            jit(two, donate_argnums=(0, 1), **static)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="donate_argnums must be an integer, got 1.5"):
        jit(f, donate_argnums=1.5)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="the static argument 1 must be hashable, got list; pass an equal value"):
        jit(f, static_argnums=1)(x, [1])
    with pytest.raises(TypeError, match="the static argument 'n' must be hashable, got dict"):
        jit(f, static_argnums=1)(x, n={})
    with pytest.raises(TypeError, match="the static argument 0 must not be an array"):
        jit(f, static_argnums=0)(x)
    with pytest.raises(TypeError, match="jit: traced argument 1 is str; .* static_argnums"):
        jit(f)(x, "text")
    with pytest.raises(TypeError, match="jit: traced argument 'n' contains object; traced arguments are"):
        jit(f)(x, n=[x, object()])
    with pytest.raises(TypeError, match="is tests.test_jit.Registered"):
        jit(f)(Registered())
    with pytest.raises(TypeError, match="jit: the function returned str, which is neither an array nor a number"):
        jit(lambda x: (x, "text"))(x)
    other = next(library for library in LIBRARIES if library.xp is not able.xp)
    with pytest.raises(TypeError, match="arrays of two libraries"):
        jit(f)(x, other.asarray(X))
    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        jit(lambda a, b: a)(x)
    with pytest.raises(KeyError, match="mine"):
        jit(lambda x: {}["mine"])(x)


@pytest.mark.parametrize(
    "function", [lambda x: x if total(x) > 0 else -x, lambda x: x * float(x[0])], ids=["if", "float"]
)
def test_values_asked_for(able: Library, function: Callable[..., Any]) -> None:
    x = able.asarray(X)
    with pytest.raises(TypeError) as error:
        jit(function)(x)
    if able.id != "jax":
        assert re.search(r"(bool|float)\(x\): the value of a traced array .* is not known", str(error.value))
        assert "xpand_extensions.control_flow" in str(error.value)
    able.assert_equal(function(x), X if "total" in str(function.__code__.co_names) else X * 0.5)


def test_shapes_that_depend_on_values(able: Library) -> None:
    with pytest.raises((TypeError, IndexError)) as error:
        jit(lambda x: x[x > 0])(able.asarray(X))
    if able.id != "jax":
        assert "the size of the result depends on the values of the mask" in str(error.value)


def test_no_state_is_left_by_errors(able: Library) -> None:
    x = able.asarray(X)

    def f(x: Any, fail: bool) -> Any:
        y = x * 2.0
        if fail:
            raise RuntimeError("mine")
        return y

    compiled = jit(f, static_argnums=1)
    for _ in range(50):
        with pytest.raises(RuntimeError, match="mine"):
            compiled(x, True)
    assert xpand.is_concrete(x) is not able.lazy
    able.assert_equal(compiled(x, False), 2 * X)
    with pytest.raises(ValueError if able.lazy else IndexError):
        scatter.segment_sum(x, able.asarray([0, 1, 9]), num_segments=2, mode="raise")


# Threads


def test_sixteen_threads_call_first(able: Library) -> None:
    compiled = jit(lambda x, n: {"y": x * n + 1.0}, static_argnums=1)
    x = able.asarray(X)
    barrier = threading.Barrier(16)

    def work(i: int) -> Any:
        barrier.wait()
        try:
            if i % 5 == 4:
                return jit(lambda x: {}["mine"])(x)
            return [compiled(x, 2)["y"], compiled(x, i % 2 + 2)["y"]]
        except KeyError:
            return None

    with ThreadPoolExecutor(16) as pool:
        for i, found in enumerate(pool.map(work, range(16))):
            if i % 5 == 4:
                assert found is None
                continue
            able.assert_equal(found[0], 2 * X + 1.0)
            able.assert_equal(found[1], (i % 2 + 2) * X + 1.0)


# PyTorch alone


def test_torch_gradients_through_backward() -> None:
    import torch

    class Clipped(torch.autograd.Function):
        @staticmethod
        def forward(x: Any) -> Any:
            return x * 2

        @staticmethod
        def setup_context(context: Any, inputs: Any, output: Any) -> None:
            pass

        @staticmethod
        def backward(context: Any, gradient: Any) -> Any:
            return gradient * 100

    x = torch.tensor(X, requires_grad=True)
    y = torch.tensor(Y)
    compiled = jit(lambda x, y: {"y": (y @ torch.sin(x)).sum() + (Clipped.apply(x) + x.detach() * x).sum()})
    for _ in range(2):
        x.grad = None
        compiled(x, y)["y"].backward()
        np.testing.assert_allclose(x.grad.numpy(), Y.sum(axis=0) * np.cos(X) + 100 + X, rtol=1e-14)
    with torch.no_grad():
        assert not compiled(x, y)["y"].requires_grad
    module = torch.nn.Linear(3, 2, dtype=torch.float64)
    jit(lambda x: module(x))(y).sum().backward()
    assert module.weight.grad is not None


def test_torch_compile_takes_a_compiled_function() -> None:
    import torch

    compiled = jit(lambda x: x * 2.0)
    x = torch.tensor(X)
    for function in (compiled, lambda x: compiled(x) + 0.0):
        torch.compiler.reset()
        found = torch.compile(function, fullgraph=True, backend="eager")(x)
        np.testing.assert_array_equal(found.numpy(), 2 * X)


def test_one_array_given_twice_on_torch_is_compiled_as_two() -> None:
    torch = pytest.importorskip("torch")
    compiled = jit(lambda a, b: a - 2.0 * b)
    x, y = torch.asarray([1.0, 2.0]), torch.asarray([10.0, 20.0])
    assert compiled(x, x).tolist() == [-1.0, -2.0]
    assert compiled(x, y).tolist() == [-19.0, -38.0]


INDICES, COUNTS, MASK = np.asarray([0, 2, 2]), np.asarray([2, 0, 1]), np.asarray([True, False, True])
TRACED = ("numpy", "strict", "strict-device1")  # whose arrays of known values are none that `jit` traces
DECIDED_BY_VALUES: dict[str, tuple[Callable[[Any, Any], Any], np.ndarray, Any]] = {
    "bincount": (lambda x, i: histograms.bincount(i, weights=x), INDICES, [0.5, 0.0, 0.5]),
    "bincount of a length": (lambda x, i: histograms.bincount(i, weights=x, length=4), INDICES, [0.5, 0.0, 0.5, 0.0]),
    "repeat": (lambda x, n: indexing.repeat(x, n), COUNTS, [0.5, 0.5, 2.0]),
    "boolean_mask": (lambda x, mask: indexing.boolean_mask(x, mask), MASK, [0.5, 2.0]),
}


@pytest.mark.parametrize(
    ("able", "name"),
    [(x, name) for x in ABLE for name in DECIDED_BY_VALUES if x.id in TRACED or name == "bincount of a length"],
    ids=str,
    indirect=["able"],
)
def test_known_arrays_beside_traced_ones(able: Library, name: str) -> None:
    function, known, expected = DECIDED_BY_VALUES[name]
    constant = able.asarray(known)
    compiled = jit(lambda x: function(x, constant))
    able.assert_equal(compiled(able.asarray(X)), np.asarray(expected))


def test_static_arguments_that_cannot_be_compared(able: Library) -> None:
    class Odd:
        def __hash__(self) -> int:
            return 1

        def __eq__(self, other: object) -> bool:
            raise RuntimeError("not comparable")

    f, x = jit(lambda x, odd: x, static_argnums=1), able.asarray(X)
    able.assert_equal(f(x, Odd()), X)
    with pytest.raises(ValueError, match=r"jit: <lambda> has a static argument.*`__eq__` raised RuntimeError"):
        f(x, Odd())
    for wrong in (3, [1]):
        with pytest.raises(TypeError, match="jit: static_argnames must be a name or names, got int"):
            jit(lambda x, n: x, static_argnames=wrong)  # type: ignore[arg-type]
