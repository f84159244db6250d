"""Graphs: what a check finds, how they are printed, walked, transformed, simplified, and run on other libraries."""

import re
import shutil
import subprocess
import threading
import tracemalloc
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import xpand
from tests.libraries import EAGER_LIBRARIES, LIBRARIES, Library
from xpand_extensions import scatter, special
from xpand_extensions.autodiff import checkpoint, custom_jvp, custom_linear_solve, grad
from xpand_extensions.control_flow import cond, fori_loop, scan, while_loop
from xpand_extensions.jit import ShapeDtype, eval_shape, jit, make_graph, named_call, pure_callback
from xpand_extensions.plugins.numpy.jit import blocks
from xpand_extensions.tracing import Equation, Graph, GraphError, Variable, _blocks, traced_namespace
from xpand_extensions.tracing._blocks import LEAST
from xpand_extensions.tracing._compile import compiled, steps_of
from xpand_extensions.tracing._core import Aval
from xpand_extensions.tracing._functions import FUNCTIONS
from xpand_extensions.tracing._simplify import simplified
from xpand_extensions.vmap import vmap

NP = xpand.namespace("numpy")
TRACED = traced_namespace(NP)
X = np.asarray([0.5, -1.5, 2.0])
Y = np.asarray([[1.0, 2.0, 0.5], [0.25, -1.0, 3.0]])


def graph_of(function: Callable[..., Any], *arrays: Any) -> Graph:
    found: Graph = make_graph(function)(*arrays)
    return found


def names(graph: Graph) -> list[str]:
    return [equation.op.name for equation in graph.equations]


def wave(x: Any, y: Any) -> Any:
    xp = xpand.array_namespace(x)
    return xp.sin(x) * y + 2.0, xp.sum(y, axis=0)


# Checks


def parts() -> tuple[Graph, Variable, Variable]:
    """A graph `b = sin(a); return b`, and its variables."""
    a, b = (Variable(Aval((3,), NP.float64)) for _ in range(2))
    sin = TRACED.operations["sin"]
    return Graph(TRACED, [a], {}, [Equation(sin, [a], {}, [b])], [b]), a, b


def test_check_takes_what_is_well_formed() -> None:
    parts()[0].check()
    graph = graph_of(wave, X, Y)
    graph.check()
    simplified(graph).check()
    graph_of(lambda x: (x, 1.0), X).check()
    Graph(TRACED, [], {}, [], []).check()


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (lambda g, a, b: Graph(TRACED, [a, a], {}, g.equations, [b]), "a is defined twice"),
        (lambda g, a, b: Graph(TRACED, [a], {a: X}, g.equations, [b]), "a is defined twice"),
        (lambda g, a, b: Graph(TRACED, [a], {}, g.equations * 2, [b]), "b is defined twice"),
        (lambda g, a, b: Graph(TRACED, [], {}, g.equations, [b]), r"\? is used by sin before it is defined"),
        (lambda g, a, b: Graph(TRACED, [a], {}, [], [b]), r"\? is used as an output before it is defined"),
        (
            lambda g, a, b: Graph(TRACED, [a], {}, [g.equations[0].with_inputs([b])], [b]),
            "b is used by sin before it is defined",
        ),
        (
            lambda g, a, b: Graph(TRACED, [a], {}, [Equation(g.equations[0].op, [a], {}, [b, Variable(b.aval)])], [b]),
            "sin returns 1 arrays, not 2",
        ),
        (
            lambda g, a, b: Graph(TRACED, [a], {}, [_of_type(g, (4,), NP.float64)], []),
            r"sin returns float64\[3\], and b is float64\[4\]",
        ),
        (
            lambda g, a, b: Graph(TRACED, [a], {}, [_of_type(g, (3,), NP.float32)], []),
            r"sin returns float64\[3\], and b is float32\[3\]",
        ),
    ],
    ids=["input", "constant", "equation", "unknown", "output", "later", "number", "shape", "dtype"],
)
def test_check_finds(broken: Callable[..., Graph], message: str) -> None:
    with pytest.raises(GraphError, match=f"graph: {message}"):
        broken(*parts()).check()


def _of_type(graph: Graph, shape: tuple[int, ...], dtype: Any) -> Equation:
    (equation,) = graph.equations
    return Equation(equation.op, equation.inputs, equation.params, [Variable(Aval(shape, dtype))])


def test_check_finds_shapes_that_do_not_fit() -> None:
    a, b, c = (Variable(Aval((n,), NP.float64)) for n in (3, 4, 4))
    with pytest.raises(GraphError, match=r"graph: add takes no such inputs or parameters: .*can't be broadcast"):
        Graph(TRACED, [a, b], {}, [Equation(TRACED.operations["add"], [a, b], {}, [c])], [c]).check()
    with pytest.raises(GraphError, match=r"graph: sum takes no such .*axis 7 is out of bounds"):
        Graph(TRACED, [a], {}, [Equation(TRACED.operations["sum"], [a], {"axis": 7}, [c])], [c]).check()


def _mixed(x: Any, y: Any) -> Any:
    """Operations of all sorts: of the standard, of facades, with bodies, with arrays that may be left out."""
    xp = xpand.array_namespace(x)
    total = scatter.segment_sum(y, xp.asarray([0, 1]), num_segments=3)
    rows = scan(lambda c, row: (c + row, c), x, y)[1]
    chosen = cond(xp.sum(x) > 0, lambda q: q, lambda q: -q, x)
    looped = while_loop(lambda c: xp.sum(c) < 9.0, lambda c: c + 1.0, x)
    again = checkpoint(lambda x: xp.sin(x))(x)
    moved = xp.fft.fftshift(xp.clip(xp.take(rows, xp.asarray([1]), axis=0), 0.0), axes=0)
    norms = xp.linalg.vector_norm(y, axis=1, ord=2), xp.linalg.svd(y, full_matrices=False).S, xp.var(y, axis=0)
    return total[:, 1:], rows, chosen, looped, again, moved, norms, xp.searchsorted(x, chosen)


def test_what_passes_the_check_runs() -> None:
    """Changed inputs of equations, many at random, and parameters of other names: found, or without consequence."""
    x = np.asarray([0.5, 1.5, 2.0])
    graph = graph_of(_mixed, x, Y)
    graph.check()
    types = [(each.shape, each.dtype) for each in graph.run(x, Y)]
    random = np.random.default_rng(7)
    variables = list(graph.variables())
    for number, equation in enumerate(graph.equations):
        changed = [Equation(equation.op, [*equation.inputs, variables[0]], equation.params, equation.outputs)]
        changed += [equation.with_inputs(equation.inputs[1:])] if equation.inputs else []
        if equation.op.name in FUNCTIONS:
            for name in equation.params:
                rest = {key: value for key, value in equation.params.items() if key != name}
                renamed = {**rest, f"{name}_": equation.params[name]}
                changed += [Equation(equation.op, equation.inputs, each, equation.outputs) for each in (rest, renamed)]
        for place, variable in zip(range(len(equation.inputs)), random.permutation(len(variables))):
            given_inputs = list(equation.inputs)
            for given_inputs[place] in (variables[variable], "nonsense", None):
                changed.append(equation.with_inputs(given_inputs))
        for each in changed:
            equations = [*graph.equations[:number], each, *graph.equations[number + 1 :]]
            broken = Graph(TRACED, graph.inputs, graph.constants, equations, graph.outputs)
            try:
                broken.check()
            except GraphError:
                continue
            assert [(y.shape, y.dtype) for y in broken.run(x, Y)] == types, (each.op, each.inputs, each.params)


@pytest.mark.parametrize("constant", [np.ones(4), np.ones(3, dtype=np.float32), np.ones((3, 1)), 2.0])
def test_check_finds_constants_of_other_types(constant: Any) -> None:
    graph = graph_of(lambda x: x + CONSTANT, X)
    (variable,) = graph.constants
    graph.constants[variable] = constant
    with pytest.raises(GraphError, match=r"graph: the constant b is .*, not float64\[3\]"):
        graph.check()


def test_check_takes_functions_with_rules() -> None:
    for function in (second, lambda x, y: scan(lambda c, row: (second(row, c), c), x, y)):
        graph = graph_of(function, X, Y)
        graph.check()
    broken = graph_of(second, X, Y)
    broken.equations[0].outputs[0].aval = Aval((9,), NP.int8)
    with pytest.raises(GraphError, match=r"custom_jvp returns float64\[2,3\], and c is int8\[9\]"):
        broken.check()


def test_check_looks_into_loops_and_branches() -> None:
    for function in (
        lambda x: scan(lambda c, row: (c + row, c), x[0], x)[1],
        lambda x: cond(_total(x) > 0, lambda x: -x, lambda x: x, x),
        lambda x: while_loop(lambda c: _total(c) < 9.0, lambda c: c + 1.0, x),
    ):
        graph = graph_of(function, X)
        graph.check()
        bodies = [
            part.graph
            for equation in graph.equations
            for value in equation.params.values()
            for part in (value if isinstance(value, tuple) else (value,))
            if hasattr(part, "graph")
        ]
        broken = next(body for body in bodies if body.equations)
        broken.equations[0].outputs[0].aval = Aval((9,), NP.int8)
        with pytest.raises(GraphError, match=r"returns .* is int8\[9\]"):
            graph.check()


# Text, pictures, walks


def test_text() -> None:
    constant = np.asarray([1.0, 2.0, 3.0])
    named = named_call(lambda x: x * constant, name="scale")
    graph = graph_of(lambda x: named(xpand.array_namespace(x).sin(x)) + 2.0, X)
    assert str(graph) == repr(graph)
    assert str(graph).splitlines() == [
        "graph(a: float64[3]) over numpy:",
        "    b: float64[3] = [1. 2. 3.]",
        "    c: float64[3] = sin(a)",
        "    d: float64[3] = multiply(c, b)  # scale",
        "    e: float64[3] = add(d, 2.0)",
        "    return e",
    ]


def test_text_of_loops_branches_and_functions() -> None:
    def double(x: np.ndarray) -> np.ndarray:
        return x * 2.0

    def step(c: Any, row: Any) -> Any:
        c = cond(c[0] > 3.0, lambda c: c * 2.0, lambda c: c + row, c)
        return c, pure_callback(double, ShapeDtype((3,), "float64"), c)

    text = str(graph_of(lambda x, y: scan(step, x, y), X, Y)).splitlines()
    assert text[:11] == [
        "graph(a: float64[3], b: float64[2,3]) over numpy:",
        "    c: float64[3], d: float64[2,3] = scan(a, b, constants=0, carry=1, length=2)",
        "        body(a: float64[3], b: float64[3]):",
        "            c: float64[] = getitem(a, key=(0,))",
        "            d: bool[] = greater(c, 3.0)",
        "            e: float64[3] = cond(d, b, a, counts=(1, 0), skips=False)",
        "                bodies[0](a: float64[3], b: float64[3]):",
        "                    c: float64[3] = add(b, a)",
        "                    return c",
        "                bodies[1](a: float64[3]):",
        "                    b: float64[3] = multiply(a, 2.0)",
    ]
    assert "function=double" in text[12]
    assert text[13:] == ["            return e, f", "    return c, d"]


def test_more_than_26_names() -> None:
    def f(x: Any) -> Any:
        for _ in range(30):
            x = xpand.array_namespace(x).sin(x)
        return x

    text = str(graph_of(f, X))
    assert "z: float64[3] = sin(y)" in text
    assert "aa: float64[3] = sin(z)" in text
    assert "return ae" in text


def test_dot() -> None:
    graph = graph_of(wave, X, Y)
    text = graph.dot()
    nodes = set(re.findall(r"^    (\w+) \[", text, re.MULTILINE)) - {"node"}
    edges = re.findall(r"^    (\w+) -> (\w+);$", text, re.MULTILINE)
    assert {end for edge in edges for end in edge} <= nodes
    assert len(text.splitlines()) == len(nodes) + len(edges) + 3
    assert len([node for node in nodes if node.startswith("op")]) == len(graph.equations)
    if shutil.which("dot"):
        subprocess.run(["dot", "-Tsvg"], input=text, text=True, check=True, capture_output=True)


def test_dot_of_loops() -> None:
    graph = graph_of(lambda x: while_loop(lambda c: _total(c) < 9.0, lambda c: c + 1.0, x), X)
    text = graph.dot()
    nodes = re.findall(r"^ +(\w+) \[", text, re.MULTILINE)
    edges = re.findall(r"^ +(\w+) -> (\w+);$", text, re.MULTILINE)
    assert len(set(nodes)) == len(nodes)
    assert {end for edge in edges for end in edge} <= {*nodes}
    assert re.findall(r'label="(\w+ of \w+)"', text) == ["test of while_loop", "body of while_loop"]
    assert len(nodes) == 1 + 3 + 4 + 3  # "node", and those of the graph, of the condition, and of the body
    if shutil.which("dot"):
        subprocess.run(["dot", "-Tsvg"], input=text, text=True, check=True, capture_output=True)


def test_dot_of_numbers_and_quotes() -> None:
    graph = graph_of(lambda x: (x, xpand.array_namespace(x).astype(x, NP.float32), 3.0), X)
    for line in graph.dot().splitlines():
        assert line.count('"') in (0, 2)


def test_walks_and_replacements() -> None:
    """A user replaces an operation by another, and leaves the rest."""
    graph = graph_of(wave, X, Y)
    assert names(graph) == ["sin", "multiply", "add", "sum"]
    assert [equation.params for equation in graph.equations][:2] == [{}, {}]
    assert [x.shape for x in graph.variables()] == [(3,), (2, 3), (3,), (2, 3), (2, 3), (3,)]
    cos = graph.namespace.operations["cos"]
    equations = [
        Equation(cos if each.op.name == "sin" else each.op, each.inputs, each.params, each.outputs)
        for each in graph.equations
    ]
    changed = Graph(graph.namespace, graph.inputs, graph.constants, equations, graph.outputs)
    changed.check()
    found, total = changed.run(X, Y)
    np.testing.assert_allclose(found, np.cos(X) * Y + 2.0, rtol=1e-15)
    np.testing.assert_allclose(total, Y.sum(axis=0), rtol=1e-15)
    np.testing.assert_allclose(compiled(changed)(X, Y)[0], found, rtol=1e-15)


def test_graphs_are_traced_by_transformations() -> None:
    graph = graph_of(lambda x: xpand.array_namespace(x).sum(x**3), X)
    np.testing.assert_allclose(grad(lambda x: graph.run(x)[0])(X), 3 * X**2, rtol=1e-14)
    again = graph_of(lambda x: graph.run(x)[0], X)
    assert names(again) == names(graph)


def test_graphs_refuse_other_arrays() -> None:
    graph = graph_of(wave, X, Y)
    with pytest.raises(TypeError, match="graph: takes 2 arrays, got 1"):
        graph.run(X)
    with pytest.raises(ValueError, match=r"graph: array 1 must have the shape \(2, 3\), .* got \(3,\); trace it again"):
        graph.run(X, X)


# On other libraries

CONSTANT = np.asarray([3.0, -1.0, 0.25])


def many(x: Any, y: Any) -> Any:
    """Constants, data types, arrays made from nothing, facades."""
    xp = xpand.array_namespace(x)
    narrow = xp.astype(x + CONSTANT, xp.float32)
    sums = scatter.segment_sum(x, xp.asarray([0, 1, 0]), num_segments=2)
    return narrow, sums, special.erf(y) + xp.arange(3, dtype=xp.float64), xp.argmax(y, axis=1), y > xp.zeros(3)


def loops(x: Any, y: Any) -> Any:
    """Graphs within graphs."""
    xp = xpand.array_namespace(x)
    carried, rows = scan(lambda c, row: (c + row, c * row), x, y)
    chosen = cond(xp.sum(x) > 0, lambda a: xp.sin(a), lambda a: a * CONSTANT, x)
    last = while_loop(lambda c: xp.sum(c) < 50.0, lambda c: c + 1.5, xp.abs(x))
    return carried, rows, chosen, last


def slope(x: Any, y: Any) -> Any:
    return grad(lambda x: _total(wave(x, y)[0]))(x)


@pytest.mark.parametrize(
    ("library", "function"),
    # A loop without bound asks for values.
    [(each, f) for each in LIBRARIES for f in (wave, many, loops, slope) if f is not loops or not each.lazy],
    ids=lambda x: getattr(x, "__name__", str(x)),
)
def test_run_on_another_library(library: Library, function: Callable[..., Any]) -> None:
    graph = graph_of(function, X, Y)
    expected = graph.run(X, Y)
    for wanted, found in zip(expected, graph.run(library.asarray(X), library.asarray(Y)), strict=True):
        library.assert_equal(found, wanted, rtol=1e-6 if wanted.dtype == np.float32 else 1e-13)


def _total(x: Any) -> Any:
    return xpand.array_namespace(x).sum(x)


@pytest.mark.parametrize("library", LIBRARIES, ids=str)
def test_constants_of_any_kind_go_to_the_library_and_the_device(library: Library) -> None:
    read_only = CONSTANT.copy()
    read_only.flags.writeable = False
    for constant in (CONSTANT[::-1], read_only, np.broadcast_to(CONSTANT[0], (3,)), np.float64(2.5), np.asarray(2.5)):
        graph = graph_of(lambda x, constant=constant: (x * constant + of(x).zeros(3), of(x).zeros(3)), X)
        product, made = graph.run(library.asarray(X))
        library.assert_equal(product, X * constant)
        library.assert_equal(made, np.zeros(3))


@pytest.mark.parametrize("library", [each for each in LIBRARIES if each.id != "jax"], ids=str)
def test_keys_that_go_backwards_on_other_libraries(library: Library) -> None:
    """PyTorch takes no negative steps; Dask, where there is an integer as well, sets other elements."""
    x, y = np.arange(24.0).reshape(2, 3, 4), Y[[0, 1, 0]][:, [0, 1, 2, 0]]

    def function(x: Any, y: Any) -> Any:
        first, second, third = (of(x).asarray(x, copy=True) for _ in range(3))
        first[0, ::-2, ...] = y[:2, :]
        second[:, 2:0:-1, 1] = 7.0
        third[..., 1::-1] = x[:, :, :2]
        return x[:, ::-1, 1], x[1, None, 3:0:-2, ::-1], x[..., 0:3:-1], first, second, third

    expected, arrays = function(x, y), (library.asarray(x), library.asarray(y))
    for found, wanted in zip(graph_of(function, x, y).run(*arrays), expected, strict=True):
        library.assert_equal(found, wanted)
    if library.lazy:  # also in what is traced on it
        for found, wanted in zip(jit(function)(*arrays), expected, strict=True):
            library.assert_equal(found, wanted)


def test_elements_set_on_dask_do_not_write_its_graph_down() -> None:
    """Where Dask assigns, it goes through all of its graph: a gradient of many elements would take its square."""
    (lazy,) = [each for each in LIBRARIES if each.lazy]
    x = np.arange(24.0).reshape(2, 3, 4)

    def function(x: Any) -> Any:
        first, second, third, fourth = (of(x).asarray(x, copy=True) for _ in range(4))
        first[-1, ..., 2] = x[0, :, 0]
        second[...] = 7
        third[:, 0] = x[0, 1, :]
        fourth[1, 2, 3] = -1.0
        return first, second, third, fourth, first[0:0, 1]

    found = jit(function)(lazy.asarray(x))
    for actual, wanted in zip(found, function(x), strict=True):
        assert not any("setitem" in name for name in actual.dask.layers)
        lazy.assert_equal(actual, wanted)
    gradient = grad(lambda x: x[1, 2, 0] * x[0, 0, -1])(lazy.asarray(x))
    assert not any("setitem" in name for name in gradient.dask.layers)
    for key in (np.s_[1, 2, 0], np.s_[0, ::-2], np.s_[..., 1, ::-1], np.s_[:, 2:0:-1, 1], np.s_[0, 1:], np.s_[0, :0]):
        derivative = grad(lambda x, key=key: _total(x[key] ** 3))
        lazy.assert_equal(derivative(lazy.asarray(x)), derivative(x), rtol=1e-15)
    with pytest.raises(IndexError):
        jit(lambda x: (x.__setitem__((0, 3), 1.0), x)[1])(lazy.asarray(x))


def test_rows_and_steps_backwards_on_pytorch() -> None:
    x, rows = np.arange(24.0).reshape(2, 3, 4), np.asarray([[True, False], [True, True]])
    graph = graph_of(lambda x: (x[np.asarray([1, 0]), ::-2, None, 3:0:-2], x[:, ::-1][rows[:, :1], ::-1]), x[:, :1])
    for found, wanted in zip(graph.run(xpand.namespace("torch").asarray(x[:, :1].copy())), graph.run(x[:, :1])):
        np.testing.assert_array_equal(found.numpy(), wanted)


def test_loops_compiled_by_jax() -> None:
    def program(x: Any) -> Any:
        doubled = while_loop(lambda c: of(c).sum(c) < 100.0, lambda c: c * 2.0, x)
        last, rows = scan(lambda c, row: (c * row, c + row), x[0, ...], x)
        return doubled, last, rows, cond(of(x).sum(x) > 0.0, lambda c: -c, lambda c: c, last)

    (library,) = [each for each in LIBRARIES if each.id == "jax"]
    graph = graph_of(program, X)
    for found, wanted in zip(jit(graph.run)(library.asarray(X)), program(X), strict=True):
        library.assert_equal(found, wanted, rtol=1e-14)


MIXED = (np.asarray([3, -1, 7], np.int32), np.asarray([0.1, 0.7, 2.0], np.float32), np.asarray([2, 5, 9]), np.int8(3))


@pytest.mark.parametrize("library", LIBRARIES, ids=str)
def test_mixed_data_types_are_promoted_as_on_the_first_library(library: Library) -> None:
    """NumPy's quotients of int32 have 64 bits, and so have sums of int64 and float32."""

    def f(i: Any, x: Any, n: Any, one: Any) -> Any:
        xp = of(x)
        quotients = i / 2, 1.5 * n, i / n, x * n, xp.atan2(x, i), xp.sin(i), xp.mean(i), xp.std(n)
        joined = xp.concat([x, n]), xp.where(n > 3, i, x), xp.stack([i, n]), xp.matmul(x, n), xp.vecdot(i, x)
        return *quotients, *joined, i + one, n * one, x - one, (n > 3) * i, 1j * x + i, xp.isfinite(x), n == i

    graph = graph_of(f, *MIXED)
    for wanted, found in zip(graph.run(*MIXED), graph.run(*map(library.asarray, MIXED)), strict=True):
        library.assert_equal(found, wanted, rtol=1e-6 if wanted.dtype == np.float32 else 1e-15)


def test_a_library_that_lacks_a_data_type() -> None:
    graph = graph_of(lambda x: xpand.array_namespace(x).astype(x, np.longdouble), X)
    with pytest.raises(TypeError, match="graph: torch has no data type .*(longdouble|float128), which the graph uses"):
        graph.run(xpand.namespace("torch").asarray(X.copy()))


def test_what_can_not_be_translated() -> None:
    @custom_jvp
    def f(x: Any) -> Any:
        return x * 2.0

    f.defjvp(lambda primals, tangents: (f(*primals), tangents[0]))
    graph = graph_of(f, X)
    np.testing.assert_array_equal(graph.run(X)[0], 2 * X)
    with pytest.raises(TypeError, match="a function with custom rules .* trace it on torch"):
        graph.run(xpand.namespace("torch").asarray(X.copy()))


def test_solutions_can_not_be_translated() -> None:
    solve = lambda b: custom_linear_solve(lambda x: 2.0 * x, b, solve=lambda b: b / 2.0, symmetric=True)
    graph = graph_of(solve, X)
    np.testing.assert_array_equal(graph.run(X)[0], X / 2)
    with pytest.raises(TypeError, match=r"custom_linear_solve.*can't be translated; trace it on torch"):
        graph.run(xpand.namespace("torch").asarray(X.copy()))


def test_functions_of_the_host_on_another_library() -> None:
    graph = graph_of(lambda x: pure_callback(lambda x: x[::-1], ShapeDtype((3,), NP.float64), x), X)
    for library in EAGER_LIBRARIES:
        if library.device is None:
            library.assert_equal(graph.run(library.asarray(X))[0], X[::-1])


# Simplification


def short(function: Callable[..., Any], *arrays: Any) -> list[str]:
    """The operations that are left; that they give what all of them give is checked."""
    graph = graph_of(function, *arrays)
    found = simplified(graph)
    found.check()
    for program in (found.run, compiled(graph), compiled(graph, blocks.BACKEND)):
        for actual, expected in zip(program(*arrays), graph.run(*arrays), strict=True):
            assert actual.dtype == expected.dtype
            assert np.asarray(actual).tobytes() == np.asarray(expected).tobytes()
    return names(found)


EDGES = np.asarray([0.0, -0.0, np.nan, np.inf, -np.inf, 1.5])


def test_what_does_nothing_is_left_out() -> None:
    assert short(lambda x: of(x).reshape(of(x).astype(x * 1.0, x.dtype), (6,)) / 1, EDGES) == []
    assert short(lambda x: 1 * of(x).broadcast_to(+x, (6,)), EDGES) == []
    assert short(lambda x: x * NP.asarray(1.0), EDGES) == []
    # These change the sign of zeros, the shape, the data type, or infinities.
    assert short(lambda x: x + 0.0, EDGES) == ["add"]
    assert short(lambda x: x * NP.ones((2, 1)), EDGES) == ["multiply"]
    assert short(lambda x: x * 1.0, np.arange(3)) == ["multiply"]
    assert short(lambda x: 1 / x, np.asarray([1.0, -0.0, np.inf]) + 2) == ["divide"]
    with np.errstate(invalid="ignore"):
        assert short(lambda x: x * 1.0, np.asarray([complex(np.inf, 1.0)])) == ["multiply"]


def of(x: Any) -> Any:
    return xpand.array_namespace(x)


def test_equal_operations_are_done_once() -> None:
    assert short(lambda x: of(x).sin(x) + of(x).sin(x), X) == ["sin", "add"]
    assert short(lambda x: (x[1:], x[1:], x[:-1]), X) == ["getitem", "getitem"]
    ids = np.asarray([0, 1, 0])

    def sums(x: Any, n: int) -> Any:
        return scatter.segment_sum(x, ids, num_segments=n)

    assert short(lambda x: sums(x, 2) + sums(x, 2), X) == ["scatter.segment_sum", "add"]
    assert len(short(lambda x: (sums(x, 2), sums(x, 3)), X)) == 2
    host = lambda x: x + 1.0

    def call(x: Any) -> Any:
        return pure_callback(host, ShapeDtype((3,), NP.float64), x)

    assert len(short(lambda x: (call(x), call(2.0 * x)), X)) == 3


def test_numbers_that_are_equal_and_not_the_same() -> None:
    assert short(lambda x: (x * 0.0, x * -0.0), X) == ["multiply"] * 2
    assert len(short(lambda x: (x * 2, x * 2.0), np.arange(3))) == 2
    assert len(short(lambda x: (of(x).where(x > 0, x, 0.0), of(x).where(x > 0, x, -0.0)), EDGES)) == 3

    def filled(x: Any, value: float) -> Any:
        return x * of(x).full((400_000, 1), value)

    graph = simplified(graph_of(lambda x: (filled(x, 0.0), filled(x, -0.0)), X))
    assert names(graph).count("full") == 2


def test_what_is_known_is_computed_once_and_what_is_large_is_not_kept() -> None:
    assert short(lambda x: x + of(x).sum(of(x).arange(10.0)), X) == ["add"]
    assert short(lambda x: scatter.segment_sum(NP.arange(3.0), NP.asarray([0, 1, 0]), num_segments=3) + x, X) == ["add"]
    graph = simplified(graph_of(lambda x: x + of(x).zeros(10_000_000)[0], X))
    assert names(graph) == ["zeros", "getitem", "add"]
    assert not graph.constants


def test_unused_is_left_out() -> None:
    def f(x: Any) -> Any:
        of(x).sin(x) + NP.asarray(Y)
        return x * 2.0

    graph = simplified(graph_of(f, X))
    assert (names(graph), graph.constants) == (["multiply"], {})


def test_broadcasting_is_left_to_the_operation() -> None:
    assert short(lambda x, y: of(x).broadcast_to(x, (2, 3)) * y, X, Y) == ["multiply"]
    assert len(short(lambda x: of(x).broadcast_to(x, (2, 3)) * 2.0, X)) == 2
    assert len(short(lambda x: of(x).broadcast_to(x, (2, 3)) * x, X)) == 2


def test_results_share_no_memory_that_they_did_not_share() -> None:
    constant = np.asarray([1.0, 2.0, 3.0])

    @jit
    def f(x: Any) -> Any:
        xp = of(x)
        return x * 1.0, xp.sin(x), xp.sin(x), xp.sin(x)[:2], constant, xp.astype(x, x.dtype), x

    x = X.copy()
    found = f(x)
    before = [np.array(each) for each in found]
    for i, each in enumerate(found[:-1]):
        each += 100.0
        for j, other in enumerate(found):
            if j > i:
                np.testing.assert_array_equal(other, before[j])
    np.testing.assert_array_equal(x, X)
    np.testing.assert_array_equal(constant, [1.0, 2.0, 3.0])
    again = f(x)
    np.testing.assert_array_equal(again[4], constant)


@custom_jvp
def second(x: Any, y: Any) -> Any:
    """Return what it is given."""
    return y


second.defjvp(lambda primals, tangents: (primals[1], tangents[1]))

UNCHANGED: dict[str, Callable[..., Any]] = {
    "while_loop": lambda x, y: while_loop(lambda c: _total(c) < _total(x) - 100.0, lambda c: c + 1.0, y),
    "what is carried on": lambda x, y: while_loop(lambda c: c[0] < 2.0, lambda c: (c[0] + x[1], c[1]), (x[0], y))[1],
    "fori_loop": lambda x, y: fori_loop(0, of(x).astype(x[0], of(x).int64), lambda i, c: c + 1.0, y),
    "scan": lambda x, y: scan(lambda c, row: (c, row), y, x)[0],
    "cond": lambda x, y: cond(x[0] > -1.0, lambda y: y, lambda y: -y, y),
    "custom_jvp": second,
    "checkpoint": lambda x, y: checkpoint(lambda x, y: y)(x, y),
    "broadcast_arrays": lambda x, y: of(x).broadcast_arrays(x[:1], y)[1],
    "diff": lambda x, y: of(x).diff(y, n=0),
}


@pytest.mark.parametrize("function", UNCHANGED.values(), ids=UNCHANGED)
def test_results_are_not_what_the_program_keeps(function: Callable[..., Any]) -> None:
    """Zeros are made anew at each call, and what does nothing to an argument returns it: neither is written into."""
    x = np.asarray([0.5, 1.5, 2.0])
    made = jit(lambda x: function(x, of(x).zeros((3, 3, 3))[0, 0, :]))
    copied = jit(lambda x: function(x, x * 1.0))
    for program, expected in ((made, function(x, np.zeros(3))), (copied, function(x, x * 1.0))):
        for _ in range(2):
            found = program(x)
            np.testing.assert_array_equal(found, expected)
            found[...] = -77.0
    np.testing.assert_array_equal(x, [0.5, 1.5, 2.0])


# Numbers take the data type of the arrays beside them


@pytest.mark.parametrize("library", [each for each in LIBRARIES if each.id in ("numpy", "strict", "dask")], ids=str)
def test_numbers_are_weak(library: Library) -> None:
    x, i = library.asarray(X, "float32"), library.asarray([1, 2, 3], "int8")

    def f(x: Any, i: Any, n: Any, a: Any) -> Any:
        return x * n, (n + n) * x - n, x + a, of(x).where(x > 0, x, a), i * n, i + n * n, x ** (-n)

    numbers = jit(f)
    for n, a in ((2, 0.5), (3, 0.25)):
        for found, expected in zip(numbers(x, i, n, a), f(x, i, n, a), strict=True):
            library.assert_equal(found, library.to_numpy(expected), rtol=1e-6)


# Repeated and concurrent runs


def test_a_thousand_failing_calls_leave_no_state() -> None:
    def f(x: Any, fail: bool) -> Any:
        y = of(x).sin(x) + of(x).zeros(3)
        if fail:
            raise RuntimeError("mine")
        return y

    def work(_: int) -> bool:
        compiled = jit(f, static_argnums=1)
        for _ in range(1000):
            with pytest.raises(RuntimeError, match="mine"):
                compiled(X, True)
        assert isinstance(traced_namespace(NP).zeros(2)._value, np.ndarray)
        return bool(np.array_equal(compiled(X, False), np.sin(X)))

    assert work(0)
    with ThreadPoolExecutor(16) as pool:
        assert all(pool.map(lambda i: work(i), range(2)))


def test_sixteen_threads_share_a_program() -> None:
    compiled = jit(lambda x: of(x).cumulative_sum(x * 2.0, axis=0) + 1.0)
    barrier = threading.Barrier(16)
    shapes = [(n % 4 + 1,) for n in range(16)]

    def work(i: int) -> bool:
        barrier.wait()
        x: np.ndarray = np.arange(float(shapes[i][0])) + i
        return all(np.array_equal(compiled(x), np.cumsum(x * 2.0) + 1.0) for _ in range(50))

    with ThreadPoolExecutor(16) as pool:
        assert all(pool.map(work, range(16)))


def test_shapes_without_end_are_said() -> None:
    compiled = jit(lambda x: x + 1.0)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        for n in range(70):
            compiled(np.zeros(n))
    (warning,) = found
    assert "compiled 65 times, each time for other shapes or data types" in str(warning.message)
    assert warning.filename == __file__


# Elementwise operations block by block

UNARY = ["sin", "abs", "negative", "square", "floor", "isnan"]
BINARY = ["add", "multiply", "subtract", "maximum", "less", "copysign"]
DTYPES = ["float32", "float64", "int32", "int8"]


@st.composite
def inputs(draw: st.DrawFn) -> list[np.ndarray]:
    """Arrays that broadcast together, of few elements or many, of any layout."""
    shape = draw(st.sampled_from([(40,), (5, 8), (3, 2, 9), (7, 9), (64, 1), (2, 30), (0, 4), ()]))
    arrays = []
    for _ in range(draw(st.integers(1, 3))):
        mine = tuple(draw(st.sampled_from([n, n, n, 1])) for n in shape)[draw(st.integers(0, 1)) * (len(shape) > 1) :]
        dtype = draw(st.sampled_from(DTYPES))
        x: np.ndarray = (np.arange(np.prod(mine, dtype=int)).reshape(mine) * 3 - 7).astype(dtype)
        layout = draw(st.sampled_from(["C", "F", "strided", "reversed"]))
        if layout == "F":
            x = np.asfortranarray(x)
        elif layout == "strided" and x.ndim:
            x = np.repeat(x, 2, axis=-1)[..., ::2]
        elif layout == "reversed" and x.ndim:
            x = x[::-1]
        x = np.asarray(x)  # an operation on an array without axes returns an element
        x.flags.writeable = draw(st.booleans())
        arrays.append(x)
    return arrays


@st.composite
def programs(draw: st.DrawFn) -> tuple[list[tuple[str, int, int]], list[int]]:
    """Operations on values, counted from the last one, and which values are returned."""
    steps = draw(
        st.lists(
            st.tuples(st.sampled_from([*UNARY, *BINARY, "roll"]), st.integers(0, 9), st.integers(0, 9)),
            min_size=1,
            max_size=8,
        )
    )
    return steps, draw(st.lists(st.integers(0, 9), min_size=1, max_size=3))


def run_program(program: tuple[list[tuple[str, int, int]], list[int]], *arrays: Any) -> tuple[Any, ...]:
    steps, returned = program
    xp = xpand.array_namespace(*arrays)
    values = list(arrays)
    for name, i, j in steps:
        x, y = values[-1 - i % len(values)], values[-1 - j % len(values)]
        if name == "roll":
            values.append(xp.roll(x, i - 4, axis=j % x.ndim) if x.ndim else x)
            continue
        if "bool" in str(x.dtype):
            x = xp.astype(x, xp.float64)
        if name in ("sin", "copysign") and "int" in str(x.dtype):
            x = xp.astype(x, xp.float64)
        if name in UNARY:
            values.append(getattr(xp, name)(x))
        else:
            values.append(getattr(xp, name)(x, xp.astype(y, x.dtype)))
    return tuple(values[-1 - i % len(values)] for i in returned)


@settings(max_examples=120, deadline=None)
@given(inputs(), programs(), st.sampled_from([1, 6, 16]))
def test_blocks_give_what_numpy_gives(arrays: list[np.ndarray], program: Any, block: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_blocks, "BLOCK", block)
        patch.setattr(_blocks, "LEAST", 2 * block)
        compiled = jit(lambda *arrays: run_program(program, *arrays))
        before = [x.copy() for x in arrays]
        with np.errstate(all="ignore"):
            found, expected = compiled(*arrays), run_program(program, *arrays)
    for actual, wanted in zip(found, expected, strict=True):
        assert (actual.dtype, actual.shape) == (wanted.dtype, wanted.shape)
        assert np.asarray(actual).tobytes() == np.asarray(wanted).tobytes()
    for x, old in zip(arrays, before):
        np.testing.assert_array_equal(x, old)


def test_large_arrays_are_done_block_by_block() -> None:
    x = np.linspace(-3.0, 3.0, 3 * LEAST + 5)
    wide = x[: 2 * LEAST].reshape(-1, 256)

    def f(x: Any) -> Any:
        return x * of(x).exp(-x * x) + 1.0, of(x).sum(of(x).cos(x) ** 2)

    for each in (x, wide, wide.T, x[::2]):
        steps = steps_of(simplified(graph_of(f, each)), blocks.BACKEND)
        assert len(steps) < len(graph_of(f, each).equations)
        for actual, wanted in zip(jit(f)(each), f(each)):
            np.testing.assert_array_equal(actual, wanted)


def test_blocks_write_no_buffer_that_is_read_again() -> None:
    def f(x: Any) -> Any:
        y = of(x).sin(x)
        z = y * 2.0
        return z * y + y

    x = np.linspace(-3.0, 3.0, 2 * LEAST)
    assert len(steps_of(simplified(graph_of(f, x)), blocks.BACKEND)) == 1
    np.testing.assert_array_equal(jit(f)(x), f(x))


def test_blocks_of_square_arrays_take_whole_rows() -> None:
    x, row = np.linspace(-3.0, 3.0, 200 * 200).reshape(200, 200), np.linspace(0.0, 1.0, 200)
    function = lambda x, row: of(x).exp(x * row) + row
    assert len(steps_of(simplified(graph_of(function, x, row)), blocks.BACKEND)) == 1
    np.testing.assert_array_equal(jit(function)(x, row), function(x, row))


def test_blocks_of_rows_that_are_rolled() -> None:
    x = np.sin(np.arange(300.0 * 4 * 50)).reshape(300, 4, 50)

    def neighbours(x: Any) -> Any:
        found = x
        for axis in range(-3, 3):
            found = found + of(x).roll(x, 3 - axis, axis=axis) * 0.1
        return found

    def twice(x: Any) -> Any:
        y = neighbours(x)
        return neighbours(y), of(x).roll(x, 7, axis=0), of(x).roll(y, -5, axis=2)

    assert len(steps_of(simplified(graph_of(neighbours, x)), blocks.BACKEND)) == 1
    assert len(steps_of(simplified(graph_of(twice, x)), blocks.BACKEND)) <= 4
    for each in (x, x[::-1], np.asfortranarray(x)):
        for actual, wanted in zip(jit(twice)(each), twice(each), strict=True):
            np.testing.assert_array_equal(actual, wanted)


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_blocks_of_rows_that_are_joined(axis: int) -> None:
    x = np.sin(np.arange(300.0 * 4 * 50)).reshape(300, 4, 50)

    def mirrored(x: Any) -> Any:
        """Average with the neighbours; those of the first and last element are these themselves."""
        xp, first = of(x), of(x).moveaxis(x, axis, 0)
        before, after = (first[:1, ...], first[:-1, ...]), (first[1:, ...], first[-1:, ...])
        pairs = [xp.concat([xp.moveaxis(each, 0, axis) for each in pair], axis=axis) for pair in (before, after)]
        return xp.exp(0.5 * x + 0.25 * (pairs[0] + pairs[1])), pairs[0] * 2.0

    def parts(x: Any) -> Any:
        xp = of(x)
        joined = xp.concat([x[100:, ...], x[:7, ...] * 2.0, x[:0, ...], x[7:100, ...]], axis=0)
        return joined, joined + x, xp.concat([x, x], axis=0) * 0.5, xp.concat([x, xp.astype(x, xp.float32)], axis=0)

    steps = steps_of(simplified(graph_of(mirrored, x)), blocks.BACKEND)
    assert sum(len(step.outputs) == 2 for step in steps) == 1  # both results, by one pass
    for each in (x, x[::-1], x[..., ::-1], np.asfortranarray(x)):
        for function in (mirrored, parts):
            for actual, wanted in zip(jit(function, compiler="numpy")(each), function(each), strict=True):
                np.testing.assert_array_equal(actual, wanted)


def test_blocks_of_slices_copy_nothing() -> None:
    x = np.sin(np.arange(600.0 * 500)).reshape(600, 500)

    def f(x: Any) -> Any:
        return (x[1:, 1:] - x[:-1, :-1]) * 2.0 + x[:-1, 1:]

    compiled = jit(f)
    np.testing.assert_array_equal(compiled(x), f(x))
    tracemalloc.start()
    try:
        compiled(x)
        assert tracemalloc.get_traced_memory()[1] < 1.5 * x.nbytes  # the result, and a few blocks
    finally:
        tracemalloc.stop()


def test_blocks_take_less_memory() -> None:
    x = np.linspace(-3.0, 3.0, 1_000_000)

    def f(x: Any) -> Any:
        return of(x).exp(-x * x / 2) * (1 + 0.3 * x) / (1 + of(x).abs(x))

    def peak(function: Callable[..., Any]) -> int:
        function(x)
        tracemalloc.start()
        try:
            function(x)
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    assert peak(jit(f)) < 1.2 * x.nbytes  # the result, and a few blocks
    assert peak(f) > 1.9 * x.nbytes


def test_arrays_that_are_done_with_are_given_up() -> None:
    x = np.ones((500, 500))

    def f(x: Any) -> Any:
        for _ in range(8):
            x = x @ x / 500.0
        return x

    tracemalloc.start()
    try:
        jit(f)(x)
        assert tracemalloc.get_traced_memory()[1] < 4.5 * x.nbytes
    finally:
        tracemalloc.stop()


# Inside other transformations


@pytest.mark.parametrize("library", [each for each in LIBRARIES if each.id in ("numpy", "strict", "dask")], ids=str)
def test_closures_over_arrays_that_others_trace(library: Library) -> None:
    x, y = library.asarray(X), library.asarray(Y)

    def f(x: Any) -> Any:
        inner = jit(lambda y, n: y * x * n)
        return _total(inner(y, 2.0) * inner(y, 3.0) * inner(x, 1))

    gradient = 6 * np.sum(Y * Y, axis=0) * 4 * X**3
    library.assert_equal(grad(f)(x), gradient, rtol=1e-13)
    library.assert_equal(jit(grad(f))(x), gradient, rtol=1e-13)
    library.assert_equal(jit(grad(jit(f)))(x), gradient, rtol=1e-13)
    library.assert_equal(vmap(grad(f))(library.asarray(np.stack([X, 2 * X])))[1, :], 8 * gradient, rtol=1e-13)


def test_compiled_inside_loops() -> None:
    step = jit(lambda c, x: (c * x, of(c).sin(c)))
    f = lambda x: scan(step, x, Y)[0]
    np.testing.assert_allclose(jit(f)(X), X * Y[0] * Y[1], rtol=1e-15)
    np.testing.assert_allclose(jit(grad(lambda x: _total(f(x))))(X), Y[0] * Y[1], rtol=1e-15)


# Shapes of what would not fit into memory

N = 10**7


@pytest.mark.parametrize(
    ("function", "shapes", "expected"),
    [
        (lambda x, y: of(x).exp(x) * y + of(x).where(x > 0, x, y), [(N, N), (N,)], (N, N)),
        (lambda x: of(x).sum(of(x).max(x, axis=0), keepdims=True), [(N, N)], (1,)),
        (lambda x: of(x).cumulative_sum(of(x).sort(x, axis=0), axis=1), [(N, N)], (N, N)),
        (lambda x: of(x).reshape(of(x).permute_dims(x, (1, 0))[::2, 1:], (-1,)), [(N, N)], (N // 2 * (N - 1),)),
        (lambda x, y: of(x).concat([x, y]) @ of(x).stack([x[0, :], y[0, :]], axis=1), [(N, N), (N, N)], (2 * N, 2)),
        (
            lambda x: x + of(x).arange(N) + of(x).zeros((N, N)) + of(x).linspace(0, 1, N) + of(x).ones_like(x),
            [(N,)],
            (N, N),
        ),
        (lambda x: of(x).fft.rfft(x, axis=0), [(N, N)], (N // 2 + 1, N)),
        (lambda x, y: of(x).linalg.solve(of(x).linalg.cholesky(x), y), [(N, N), (N, 3)], (N, 3)),
        (lambda x: of(x).linalg.svd(x, full_matrices=False).Vh, [(2 * N, N)], (N, N)),
        (lambda x: of(x).take(x, of(x).argmax(x, axis=1), axis=0), [(N, N)], (N, N)),
        (lambda x: of(x).tile(of(x).repeat(of(x).flip(x), 3, axis=0), (2, 1)), [(N, N)], (6 * N, N)),
        (lambda x: of(x).std(x, axis=1) + of(x).searchsorted(x[0, :], x[:, 1]), [(N, N)], (N,)),
        (lambda x: special.erf(special.logsumexp(x, axis=0)), [(N, N)], (N,)),
        (lambda x: scan(lambda c, row: (c + row, c), x[0, :], x)[1], [(N, N)], (N, N)),
        (lambda x: vmap(grad(lambda x: _total(of(x).tanh(x) ** 2)))(x), [(N, N)], (N, N)),
    ],
)
def test_shapes_without_memory(function: Callable[..., Any], shapes: Any, expected: Any) -> None:
    given = [ShapeDtype(shape, NP.float64) for shape in shapes]
    eval_shape(function, *given)  # what is imported and remembered the first time isn't counted
    tracemalloc.start()
    try:
        found = eval_shape(function, *given)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert found.shape == expected
    assert peak < 10**6
