"""Inspection of functions without running them, names, and host functions within compiled ones."""

import logging
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import xpand
from tests.libraries import LIBRARIES, Library, unless
from xpand import trees
from xpand_extensions.autodiff import grad, jvp, stop_gradient
from xpand_extensions.control_flow import cond
from xpand_extensions.jit import ShapeDtype, eval_shape, jit, lower, make_graph, named_call, pure_callback
from xpand_extensions.vmap import vmap

ABLE = LIBRARIES
X = np.asarray([0.5, -1.5, 2.0])
Y = np.asarray([[1.0, 2.0, 0.5], [0.25, -1.0, 3.0]])


@pytest.fixture(params=ABLE, ids=str)
def able(request: pytest.FixtureRequest) -> Iterator[Library]:
    with xpand.use(xpand.library_name(request.param.xp)):
        yield request.param


def of(library: Library, shape: tuple[int, ...], dtype: str = "float64") -> ShapeDtype:
    """Abstract arrays have data types like those of arrays."""
    return ShapeDtype(shape, library.asarray(0, dtype).dtype)


def total(x: Any) -> Any:
    return xpand.array_namespace(x).sum(x)


def wave(x: Any, n: int = 1) -> Any:
    return {"wave": xpand.array_namespace(x).sin(x) * n, "none": None}


# Graphs


def test_graphs_name_what_is_computed(able: Library) -> None:
    x = able.asarray(X)
    for graph in (make_graph(wave)(x), make_graph(wave)(of(able, (3,))), make_graph(wave, static_argnums=1)(x, 2)):
        assert "sin" in str(graph)
        assert "mul" in str(graph)
    assert "cos" in str(make_graph(grad(lambda x: total(wave(x)["wave"])))(x))
    assert "cos" not in str(make_graph(wave)(x))


def test_graphs_run(able: Library) -> None:
    x = able.asarray(X)
    graph = make_graph(wave)(x, 3.0)
    if able.id == "jax":
        import jax

        (found,) = jax.core.eval_jaxpr(graph.jaxpr, graph.consts, x, 3.0)
    else:
        (found,) = getattr(graph, "run", graph)(x, able.asarray(3.0))
    able.assert_equal(found, np.sin(X) * 3.0, rtol=1e-15)


def test_text_of_what_is_compiled(able: Library) -> None:
    x = able.asarray(X)
    texts = [
        lower(wave)(x).as_text(),
        jit(wave).lower(x).as_text(),
        jit(wave, static_argnames="n").lower(x, n=2).as_text(),
        lower(wave)(of(able, (3,))).as_text(),
    ]
    for text in texts:
        assert "sine" in text or "aten.sin" in text or "= sin(" in text
        assert "3xf64" in text or "f64[3]" in text or "float64[3]" in text
    assert make_graph(wave).__name__ == lower(wave).__name__ == "wave"


# Shapes


def test_shapes_without_computing(able: Library) -> None:
    huge = of(able, (1_000_000, 300_000), "float32")
    found = eval_shape(
        lambda x, *, y: {"product": x @ y, "pair": (y[0, :], None)}, huge, y=of(able, (300_000, 7), "float32")
    )
    assert found == {"product": of(able, (1_000_000, 7), "float32"), "pair": (of(able, (7,), "float32"), None)}
    assert found["product"].ndim == 2


def test_shapes_of_arrays_numbers_and_transformations(able: Library) -> None:
    x = able.asarray(X, "float32")
    assert eval_shape(lambda x, n: x * n, x, 2.0) == of(able, (3,), "float32")
    assert eval_shape(lambda: 1.0).shape == ()
    assert eval_shape(lambda x: x @ able.asarray(Y.T), of(able, (5, 3))) == of(able, (5, 2))
    assert eval_shape(vmap(grad(lambda x: total(x**2))), of(able, (4, 3))) == of(able, (4, 3))
    assert eval_shape(lambda x: xpand.array_namespace(x).argmax(x, axis=0), x).shape == ()
    assert eval_shape(lambda x: x, x[:0]) == of(able, (0,), "float32")


def test_shapes_are_those_of_the_compiled_function(able: Library) -> None:
    """Numbers have the data type that they have beside arrays, also beside what only stands for arrays."""
    f = lambda x, n: (n, n * 2, x * n, x)
    for dtype, n in (("float64", 2.0), ("complex64", 2j), ("int16", 2), ("float32", 2.0)):
        x = able.asarray([1, 2], dtype)
        found = eval_shape(f, of(able, (2,), dtype), n)
        assert found == eval_shape(f, x, n)
    assert found == trees.map(lambda x: ShapeDtype(tuple(x.shape), x.dtype), jit(f)(x, n))


def test_names_of_data_types(able: Library) -> None:
    expected = of(able, (3,), "float32")
    assert eval_shape(lambda x: x + 1.0, ShapeDtype((3,), "float32")) == expected
    assert eval_shape(lambda x, y: x + y, able.asarray(X[0], "float32"), ShapeDtype((3,), "float32")) == expected
    assert "sin" in str(make_graph(wave)(ShapeDtype((3,), "float32")))
    for dtype, match in (("nonsense", "'nonsense'"), (float, "the type float"), (None, "NoneType")):
        with pytest.raises(TypeError, match=f"eval_shape: a placeholder for an array must have a .* got {match}"):
            eval_shape(lambda x: x, ShapeDtype((3,), dtype))


def test_what_stands_for_an_array_of_another_library() -> None:
    import torch

    x = torch.asarray(X)
    for name, call in (
        ("eval_shape", lambda: eval_shape(lambda x, y: x + y, x, ShapeDtype((3,), np.float64))),
        ("eval_shape", lambda: eval_shape(lambda x, y: x + y, X, ShapeDtype((3,), torch.float64))),
        ("make_graph", lambda: make_graph(lambda x, y: x)(ShapeDtype((), torch.int8), ShapeDtype((3,), np.float64))),
        ("lower", lambda: lower(lambda x, y: x + y)(ShapeDtype((), torch.int8), X)),
    ):
        with pytest.raises(TypeError, match=f"{name}: arrays of two libraries: .*; name the data type by a string"):
            call()


def test_what_stands_for_arrays(able: Library) -> None:
    class Like:
        shape = (2, 3)
        dtype = able.xp.float32

    assert eval_shape(lambda x: x[0, :], Like()).shape == (3,)
    assert ShapeDtype([2, 3], able.xp.float32).shape == (2, 3)  # type: ignore[arg-type]
    assert ShapeDtype((2,), able.xp.int32) != ShapeDtype((2,), able.xp.int64)
    with pytest.raises(ValueError, match="ShapeDtype: shape must be at least 0, got -1"):
        ShapeDtype((-1,), able.xp.float32)


def test_the_library_is_that_of_the_data_type() -> None:
    import torch

    found = eval_shape(lambda x: x.sum(), ShapeDtype((2,), torch.float32))
    assert found == ShapeDtype((), torch.float32)


def test_bad_input(able: Library) -> None:
    x = able.asarray(X)
    for name, function in (("make_graph", make_graph), ("lower", lower), ("eval_shape", eval_shape)):
        with pytest.raises(TypeError, match=f"{name}: takes a function, got int"):
            function(3)  # type: ignore[operator]
    with pytest.raises(TypeError, match="eval_shape: traced argument 0 is str"):
        eval_shape(wave, "text")
    with pytest.raises(TypeError, match="make_graph: traced argument 1 is str"):
        make_graph(wave)(x, "text")
    with pytest.raises(TypeError, match="lower: the static argument 1 must be hashable, got list"):
        lower(wave, static_argnums=1)(x, [1])
    with pytest.raises(ValueError, match="make_graph: static_argnums names argument 5"):
        make_graph(wave, static_argnums=5)
    with pytest.raises(TypeError, match="eval_shape: the function returned str"):
        eval_shape(lambda x: "text", x)
    if able.id != "jax":  # whose errors are its own
        for name, call in (
            ("eval_shape", eval_shape),
            ("make_graph", lambda f, *args: make_graph(f)(*args)),
            ("lower", lambda f, *args: lower(f)(*args)),
        ):
            with pytest.raises(TypeError, match=f"^{name}: |while `{name}` traces"):
                call(lambda x: x if total(x) > 0 else -x, x)
            with pytest.raises(OverflowError, match=f"{name}: the number 1000000000000000000000 is too large"):
                call(lambda x, n: x * n, x, 10**21)


# Names


def test_names(able: Library) -> None:
    x = able.asarray(X)
    named = named_call(lambda x, *, y: x * y, name="swell")
    able.assert_equal(named(x, y=2.0), 2 * X)
    able.assert_equal(jit(named)(x, y=2.0), 2 * X)
    graph = make_graph(named)(x, y=x)
    # JAX keeps names beside what it prints.
    assert "swell" in (graph.jaxpr.pretty_print(name_stack=True) if able.id == "jax" else str(graph))
    assert named_call(wave).__name__ == "wave"
    able.assert_equal(grad(lambda x: total(named(x, y=3.0)))(x), np.full(3, 3.0))
    able.assert_equal(vmap(lambda x: named(x, y=x))(x), X**2)
    assert named_call(lambda n: n + 1)(2) == 3
    with pytest.raises(TypeError, match="named_call: takes a function, got str"):
        named_call("swell")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="named_call: name must be a string, got int"):
        named_call(wave, name=3)  # type: ignore[arg-type]


# Functions of the host


@pytest.fixture(params=ABLE, ids=str)
def hosted(request: pytest.FixtureRequest) -> Iterator[Library]:
    with xpand.use(xpand.library_name(request.param.xp)):
        yield request.param


def test_host_functions_are_called_when_lazy_arrays_are_computed() -> None:
    (lazy,) = [library for library in ABLE if library.lazy]
    calls: list[int] = []

    def pair(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        calls.append(1)
        return x[:2], x > 0

    def f(x: Any) -> Any:
        return pure_callback(pair, (of(lazy, (2,)), of(lazy, (3,), "bool")), x)

    for function in (f, jit(f)):
        first, second = function(lazy.asarray(X))
        assert not calls
        lazy.assert_equal(first + xpand.array_namespace(second).sum(second), X[:2] + 2.0)
        assert calls == [1]
        calls.clear()
    huge = pure_callback(lambda x: x, of(lazy, (1_000_000, 1_000_000)), lazy.asarray(X))
    assert huge.shape == (1_000_000, 1_000_000)


def host(tree: dict[str, np.ndarray], n: np.ndarray) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Call functions that no library can trace: values decide, and NumPy gets its own arrays."""
    x, y = tree["x"], tree["y"]
    assert type(x) is np.ndarray
    assert type(n) is np.ndarray
    return np.cumsum(x)[::-1] * n if x[0] > 0 else x, {"argmax": np.argmax(y, axis=-1).astype(np.int32)}


def called(x: Any, y: Any) -> Any:
    xp = xpand.array_namespace(x)
    library = next(each for each in ABLE if each.xp is getattr(xp, "base", xp))
    declared = (of(library, (3,)), {"argmax": of(library, (2,), "int32")})
    return pure_callback(host, declared, {"x": x, "y": y}, 2.0)


def test_host_functions(hosted: Library) -> None:
    x, y = hosted.asarray(X), hosted.asarray(Y)
    expected, argmax = np.cumsum(X)[::-1] * 2.0, np.asarray([1, 2], dtype=np.int32)
    for function in (called, jit(called)):
        found, second = function(x, y)
        hosted.assert_equal(found, expected)
        hosted.assert_equal(second["argmax"], argmax)
    after = jit(lambda x, y: called(-x, y)[0] + called(x * 1.0, y)[0])(x, y)
    hosted.assert_equal(after, -X + expected)
    assert trees.map(lambda each: each.shape, eval_shape(called, x, y)) == ((3,), {"argmax": (2,)})


@pytest.mark.parametrize("method", ["sequential", "expand_dims", "broadcast_all"])
def test_host_functions_mapped(hosted: Library, method: str) -> None:
    x, y = hosted.asarray(X), hosted.asarray(Y)
    shapes: list[tuple[int, ...]] = []

    def product(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        shapes.append((x.shape, y.shape))
        return x * y

    f = lambda x, y: pure_callback(product, of(hosted, (2,)), x, y, vmap_method=method)
    for mapped in (vmap(f, (0, None)), jit(vmap(f, (0, None)))):
        shapes.clear()
        hosted.assert_equal(mapped(hosted.asarray(Y.T), y[:, 0]), Y.T * Y[:, 0])
        assert set(shapes) == {
            {"sequential": ((2,), (2,)), "expand_dims": ((3, 2), (1, 2)), "broadcast_all": ((3, 2), (3, 2))}[method]
        }
    twice = vmap(
        vmap(lambda a, b: pure_callback(product, of(hosted, ()), a, b, vmap_method=method), (None, 0)), (0, None)
    )
    hosted.assert_equal(twice(x, y[0, :]), np.outer(X, Y[0]))


def test_host_functions_with_keywords(hosted: Library) -> None:
    def scaled(x: np.ndarray, *, by: dict[str, np.ndarray]) -> np.ndarray:
        return x * by["a"] + by["n"]

    x, y = hosted.asarray(X), hosted.asarray(Y)
    f = lambda x, a: pure_callback(scaled, of(hosted, (3,)), x, by={"a": a, "n": 2.0})
    for function in (f, jit(f)):
        hosted.assert_equal(function(x, y[0, :]), X * Y[0] + 2.0)
    hosted.assert_equal(vmap(f, (None, 0))(x, y), X * Y + 2.0)


def test_host_functions_of_nothing(hosted: Library) -> None:
    found = pure_callback(lambda: np.arange(3.0), of(hosted, (3,)))
    np.testing.assert_array_equal(hosted.to_numpy(found), np.arange(3.0))
    if hosted.device is None:  # what is made from nothing is on the default device
        added = jit(lambda x: x + pure_callback(lambda: np.arange(3.0), of(hosted, (3,))))
        hosted.assert_equal(added(hosted.asarray(X)), X + np.arange(3))
    assert pure_callback(lambda x: (), (), hosted.asarray(X)) == ()


@pytest.mark.parametrize("method", ["sequential", "expand_dims", "broadcast_all"])
def test_host_functions_mapped_over_nothing(hosted: Library, method: str) -> None:
    f = lambda x: pure_callback(lambda x: np.cumsum(x, axis=-1), of(hosted, (2,)), x, vmap_method=method)
    for mapped in (vmap(f), jit(vmap(f))):
        hosted.assert_equal(mapped(hosted.asarray(np.zeros((0, 2)))), np.zeros((0, 2)))


def test_the_host_can_return_any_layout(hosted: Library) -> None:
    x = hosted.asarray(Y)
    for turn in (lambda x: x[::-1], lambda x: np.asfortranarray(x), lambda x: np.broadcast_to(x[0], x.shape)):
        f = lambda x, turn=turn: pure_callback(turn, of(hosted, (2, 3)), x)
        for function in (f, jit(f)):
            hosted.assert_equal(function(x), turn(Y))


def test_the_host_may_write_into_what_it_is_given(hosted: Library) -> None:
    x = hosted.asarray(X)
    before = hosted.to_numpy(x).copy()

    def add(x: np.ndarray) -> np.ndarray:
        assert type(x) is np.ndarray
        x += 1.0
        return x

    whole = lambda x: pure_callback(add, of(hosted, (3,)), x)
    each = lambda x: pure_callback(add, of(hosted, ()), x)
    for function in (whole, vmap(each), jit(vmap(each)), jit(lambda x: whole(x + 0.0) + (x + 0.0) - x)):
        hosted.assert_equal(function(x), X + 1.0)
    hosted.assert_equal(x, before)


def test_host_functions_beside_what_is_differentiated(hosted: Library) -> None:
    x, i = hosted.asarray(X), hosted.asarray([3, 1, 2])
    for y in (i, hosted.asarray([3.0, 1.0, 2.0])):
        f = lambda x, y=y: total(x * x * pure_callback(lambda y: y * 2.0, of(hosted, (3,)), y))
        for gradient in (grad(f), jit(grad(f))):
            hosted.assert_equal(gradient(x), 4.0 * X * np.asarray([3.0, 1.0, 2.0]))
        hosted.assert_equal(jvp(f, (x,), (x,))[1], np.sum(4.0 * X**2 * np.asarray([3.0, 1.0, 2.0])), rtol=1e-15)


def test_host_functions_that_have_no_hash(hosted: Library) -> None:
    class Scale(list[float]):
        def __call__(self, x: np.ndarray) -> np.ndarray:
            return x * self[0]

    two, three = Scale([2.0]), Scale([3.0])
    x = hosted.asarray(X)
    for scale in (two, three, two):
        hosted.assert_equal(pure_callback(scale, of(hosted, (3,)), x), scale[0] * X)


def test_what_the_host_returns_is_copied(hosted: Library) -> None:
    shared = np.zeros(3)
    found = pure_callback(lambda x: shared, of(hosted, (3,)), hosted.asarray(X))
    if not hosted.lazy:
        shared += 1
    first = hosted.to_numpy(found)
    shared += 1
    np.testing.assert_array_equal(first, np.zeros(3))


def test_host_functions_have_no_derivative(hosted: Library) -> None:
    x = hosted.asarray(X)
    f = lambda x: pure_callback(lambda x: x * x, of(hosted, (3,)), x)
    one = lambda x: pure_callback(lambda x: x * x, of(hosted, ()), x)
    for derivative in (
        lambda: grad(lambda x: total(f(x)))(x),
        lambda: jvp(f, (x,), (x,)),
        lambda: vmap(grad(one))(x),
        lambda: jvp(vmap(one), (x,), (x,)),
        lambda: jit(grad(lambda x: total(f(x))))(x),
    ):
        with pytest.raises((TypeError, ValueError), match="no derivative|do not support JVP"):
            derivative()
    hosted.assert_equal(jit(grad(lambda x: total(f(stop_gradient(x)) * x)))(x), X * X)


def test_bad_host_functions(hosted: Library) -> None:
    x = hosted.asarray(X)
    declared = of(hosted, (3,))
    with pytest.raises(TypeError, match="pure_callback: takes a function, got int"):
        pure_callback(3, declared, x)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="result_shape_dtypes must hold objects with a shape and a dtype .*, got float"):
        pure_callback(host, 1.0, x)
    with pytest.raises(ValueError, match="vmap_method must be one of .*did you mean 'sequential'"):
        pure_callback(host, declared, x, vmap_method="sequentially")
    with pytest.raises(TypeError, match="pure_callback: the arguments hold str"):
        pure_callback(host, declared, "text")
    for function, match in (
        (lambda x: (x, x), "the function must return the structure declared"),
        (lambda x: x[:2], "the function must return the shape declared"),
        (lambda x: x.astype(np.float32), "the function must return the data type declared, .*float64, got float32"),
        (lambda x: np.stack([x, x]), "shape"),
        (lambda x: {}["mine"], "mine"),
    ):
        with pytest.raises(Exception, match=match):
            np.asarray(hosted.to_numpy(pure_callback(function, declared, x)))
    for dtype, match in (("nonsense", "'nonsense'"), (float, "the type float"), (None, "NoneType")):
        with pytest.raises(TypeError, match=f"pure_callback: a placeholder for an array must have a .* got {match}"):
            pure_callback(host, ShapeDtype((3,), dtype), x)


def test_host_functions_leave_nothing_behind(records: list[logging.LogRecord]) -> None:
    """JAX compiles a call of the same function again only for other types."""
    import jax

    sort = lambda x: pure_callback(np.sort, ShapeDtype((3,), x.dtype), x)
    x = jax.numpy.asarray(X)
    sort(x)
    with jax.log_compiles():
        np.testing.assert_array_equal(sort(x), np.sort(X))
        assert not records
        pure_callback(np.cumsum, ShapeDtype((3,), x.dtype), x)
        assert records


def test_functions_that_make_arrays_are_written_as_called() -> None:
    def function(x: Any) -> Any:
        xp = xpand.array_namespace(x)
        return xp.zeros((2, 3), dtype=x.dtype) + xp.arange(3, dtype=x.dtype) + xp.sum(x)

    text = str(make_graph(function)(np.ones(2)))
    assert "zeros((2, 3), dtype=float64)" in text
    assert "arange(3, None, 1, dtype=float64)" in text


def test_pure_callback_takes_the_data_types_of_any_library(hosted: Library) -> None:
    x = hosted.asarray([1.0, 2.0], "float32")
    for dtype in ("float32", np.float32, np.dtype("float32"), x.dtype):
        found = pure_callback(np.cumsum, ShapeDtype((2,), dtype), x)
        assert found.dtype == x.dtype
        hosted.assert_equal(found, np.asarray([1.0, 3.0], dtype=np.float32))


# Compiled ahead of the first call


def test_compiled_ahead(library: Library) -> None:
    def f(power: int, tree: Any, *, scale: Any) -> Any:
        return {"product": tree["x"] ** power * scale, "shape": [tree["y"] * 2, None]}

    x, y = np.asarray([1.0, 2.0, 3.0]), np.asarray([[2, 3]])
    stands = {"x": library.asarray(x), "y": ShapeDtype((1, 2), "int64")}
    compiled = lower(f, static_argnums=0)(2, stands, scale=2.0).compile()
    for _ in range(2):
        found = compiled({"x": library.asarray(x), "y": library.asarray(y)}, scale=3.0)
        library.assert_equal(found["product"], x**2 * 3.0)
        library.assert_equal(found["shape"][0], 2 * y)
    assert compiled.name == "f"
    assert compiled.as_text()
    cost, memory = compiled.cost_analysis(), compiled.memory_analysis()
    if library.id == "jax":
        assert cost is not None
        assert cost["flops"] > 0
        assert memory.output_size_in_bytes >= 3 * 8 + 2 * 8
    else:
        assert cost is memory is None
    given = {"x": library.asarray(x), "y": library.asarray(y)}
    for arguments, options, message in (
        ((2, given), {"scale": 1.0}, "f: compiled for arguments of the structure"),
        ((given,), {}, "f: compiled for arguments of the structure"),
        ((given,), {"scale": 1}, "f: compiled for an argument of the type float, got one of the type int"),
        (({**given, "x": given["x"][:2]},), {"scale": 1.0}, r"of shape \(3,\) .*, got one of shape \(2,\)"),
        (({**given, "y": given["x"]},), {"scale": 1.0}, r"int64.*, got one of shape \(3,\) .*float64"),
    ):
        with pytest.raises(TypeError, match=message):
            compiled(*arguments, **options)


@unless(lambda library: library.id == "torch")  # whose compiler takes seconds, and has done so above
def test_compiled_by_the_method_of_a_compiled_function(library: Library) -> None:
    x = library.asarray([1.0, 2.0])
    library.assert_equal(jit(lambda x: x + 1.0).lower(x).compile()(x), np.asarray([2.0, 3.0]))


def test_numbers_in_programs_have_the_bits_of_arrays() -> None:
    """Programs use Python's operators for numbers, and `x * x` for a square."""
    x = np.random.default_rng(0).normal(size=80) * 10.0 ** np.linspace(-15, 15, 80)
    f = lambda x, y: ((x + y) * 3 - 1.5 / (x - y), -x / 7, x**2 * 0.1)
    for dtype in ("float64", "float32"):
        values = x.astype(dtype)
        wanted = f(values, values[::-1])
        found = [jit(f)(a, b) for a, b in zip(values, values[::-1])]
        for each, whole in zip(zip(*found), wanted):
            assert {y.dtype for y in each} == {np.dtype(dtype)}
            np.testing.assert_array_equal(np.asarray(each), whole)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("name", ["tan", "square", "sqrt", "log", "tanh"])
def test_derivatives_of_complex_numbers_have_the_bits_of_eager_ones(name: str, dtype: str) -> None:
    """NumPy rounds x * y and y * x differently, and so derivatives are multiplied in one order."""
    rng = np.random.default_rng(0)
    z = (rng.normal(size=20) + 1j * rng.normal(size=20)).astype(dtype)

    def f(z: Any) -> Any:
        xp = xpand.array_namespace(z)
        return xp.cumulative_prod(getattr(xp, name)(z)) / (z + 2.0)

    def pushed(z: Any) -> Any:
        return jvp(f, (z,), (xpand.array_namespace(z).cos(z),))[1]

    slope = grad(lambda z: total(xpand.array_namespace(z).real(f(z)) + xpand.array_namespace(z).imag(f(z)) * 0.5))
    for each in (pushed, slope, lambda z: jvp(slope, (z,), (z,))[1]):
        np.testing.assert_array_equal(jit(each, compiler="numpy")(z), each(z))


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("power", [2, 0.5, -1, 3, 2.0, 1, 1.5])
def test_powers_of_complex_arrays_have_the_bits_of_the_operator(power: float, dtype: str) -> None:
    """NumPy's operator squares, takes roots and divides; its function `power` rounds differently."""
    rng = np.random.default_rng(0)
    z = (rng.normal(size=50) + 1j * rng.normal(size=50)).astype(dtype)

    def written(z: Any) -> Any:
        y = z * 1
        y **= power
        return y

    for f in (lambda z: z**power, written, lambda z: jvp(lambda z: z**power, (z,), (z,))[0]):
        np.testing.assert_array_equal(jit(f, compiler="numpy")(z), z**power)
        np.testing.assert_array_equal(f(z), z**power)


@pytest.mark.parametrize("compiler", [None, "native"])
def test_constants_that_fail_or_warn_are_computed_where_they_are_used(compiler: str | None) -> None:
    """As eagerly: a branch that isn't chosen does nothing."""

    zeros = lambda x, shape: xpand.array_namespace(x).zeros(shape)
    singular = lambda x: x * xpand.array_namespace(x).linalg.inv(zeros(x, (2, 2)))[0]
    infinite = lambda x: x * xpand.array_namespace(x).log(zeros(x, 2))
    for branch in (singular, infinite):
        found = jit(lambda x, branch=branch: cond(x[0] > 0, lambda x: 2 * x, branch, x), compiler=compiler)
        np.testing.assert_array_equal(found(np.asarray([1.0, 2.0])), [2.0, 4.0])


def test_constants_warn_at_each_call() -> None:
    compiled = jit(lambda x: x * xpand.array_namespace(x).log(xpand.array_namespace(x).zeros(2)))
    for _ in range(2):
        with pytest.warns(RuntimeWarning, match="divide by zero"):
            compiled(np.ones(2))
    with np.errstate(divide="ignore"):
        np.testing.assert_array_equal(compiled(np.ones(2)), [-np.inf, -np.inf])
