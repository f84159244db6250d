"""Backends of `jit`: one that is registered here and runs Python, against eager NumPy; groups, and finding backends."""

import random
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import xpand
from tests.libraries import LIBRARIES
from tests.test_control_flow_compiled import CASES as LOOPS
from tests.test_jit import X, Y, mixed
from tests.test_random_programs import X as OF_X, Y as OF_Y, program as random_program, transformed
from xpand import trees
from xpand_extensions import control_flow
from xpand_extensions._dispatch import OPERATIONS
from xpand_extensions.autodiff import grad
from xpand_extensions.jit import ShapeDtype, disable_jit, io_callback, jit, make_graph
from xpand_extensions.plugins.numpy.jit import blocks
from xpand_extensions.tracing import Equation, Graph, Variable
from xpand_extensions.tracing._backend import FAILURES, LIBRARY, Backend, Backends
from xpand_extensions.tracing._blocks import BLOCK, LEAST
from xpand_extensions.tracing._compile import compiled, steps_of
from xpand_extensions.tracing._jit import jit_by, lower_by

of = xpand.array_namespace


class Python(Backend):
    """Evaluates its groups equation by equation, and counts them."""

    def __init__(self, *refused: str) -> None:
        self.refused, self.lowered, self.calls = refused, list[Graph](), 0

    def accepts(self, equation: Equation) -> bool:
        return equation.op.name not in self.refused and self.accepts_bodies(equation)

    def lower(self, graph: Graph) -> Callable[..., Sequence[Any]]:
        graph.check()
        assert not any(equation.effects for equation in graph.equations)
        self.lowered.append(graph)
        run = compiled(Graph(graph.namespace, [*graph.inputs, *graph.constants], {}, graph.equations, graph.outputs))

        def call(*arrays: Any) -> tuple[Any, ...]:
            assert len(arrays) == len(graph.inputs) + len(graph.constants)
            self.calls += 1
            found: tuple[Any, ...] = run(*arrays)
            return found

        return call


Register = Callable[..., None]


@pytest.fixture
def register() -> Iterator[Register]:
    """Register a backend for a library, until the test ends."""
    operation = OPERATIONS["xpand_extensions.jit.jit"]
    before = dict(operation.registered)
    yield lambda backend, library="numpy": jit.register(library)(jit_by(backend))
    operation.registered = before
    operation.forget()


def assert_same(found: Any, expected: Any, rtol: float = 0.0) -> None:
    """Compare trees of arrays: their values, shapes and data types, and that they can be written to."""
    assert trees.structure(found) == trees.structure(expected)
    for x, wanted in zip(trees.leaves(found), trees.leaves(expected)):
        x, wanted = np.asarray(x), np.asarray(wanted)
        assert (x.shape, x.dtype) == (wanted.shape, wanted.dtype)
        np.testing.assert_allclose(x, wanted, rtol=rtol, atol=rtol)


# Values


@pytest.mark.parametrize("name", LOOPS)
def test_loops_and_branches_are_taken_whole(register: Register, name: str) -> None:
    function, arrays = LOOPS[name]
    register(Python())
    assert_same(jit(function)(*arrays), function(*arrays))


@pytest.mark.parametrize("refused", [("scan", "while_loop", "cond"), ("add", "sin")], ids=["loops", "operations"])
@pytest.mark.parametrize("name", LOOPS)
def test_bodies_of_loops_that_are_left_to_the_library(register: Register, name: str, refused: tuple[str, ...]) -> None:
    function, arrays = LOOPS[name]
    backend = Python(*refused)
    register(backend)
    assert_same(jit(function)(*arrays), function(*arrays))
    assert backend.calls > len(backend.lowered) > 0 or "cond" in name or "rules" in name
    assert not any(each.op.name in refused for graph in backend.lowered for each in graph.equations)


@pytest.mark.parametrize("seed", [0, 1, 2, 3, 5, 8, 9, 11, 13, 14, 15, 16, 17, 18, 19])  # programs of a moderate size
def test_random_programs(register: Register, seed: int) -> None:
    choose = random.Random(seed)
    depth, of_program = choose.choice([1, 2, 2]), choose.random()
    functions = transformed(lambda x, y: random_program(random.Random(of_program), x, y, depth)(x * 0.9 + y * 0.1))
    backend = Python(*choose.sample(["add", "multiply", "sin", "stack", "where", "scan", "cond"], 3))
    register(backend)
    for name in choose.sample(sorted(functions), 3):
        with disable_jit():
            try:
                expected = functions[name](OF_X, OF_Y)
            except TypeError as error:  # of a rule for the other mode
                if "forward mode" not in str(error):
                    raise
                continue
        assert_same(jit(functions[name])(OF_X, OF_Y), expected, 1e-12)


@pytest.mark.parametrize("library", [each for each in LIBRARIES if each.id in ("numpy", "strict", "dask")], ids=str)
def test_any_library(register: Register, library: Any) -> None:
    backend = Python()
    register(backend, xpand.library_name(library.xp))
    x, y = library.asarray(X), library.asarray(Y)
    for found, expected in zip(jit(mixed)(x, y), mixed(x, y), strict=True):
        library.assert_equal(found, library.to_numpy(expected))
    (graph,) = backend.lowered
    assert len(graph.equations) > 5


# The equations offered, and their groups


def steps(function: Callable[..., Any], backend: Backend, *arrays: Any) -> list[str]:
    """Return the names of the operations of each step."""
    graph = make_graph(function)(*arrays)
    made = steps_of(graph, backend)
    assert_same(compiled(graph, backend)(*arrays), graph.run(*arrays))
    assert {x for each in made for x in each.outputs} >= {x for x in graph.outputs if isinstance(x, Variable)}
    return ["group" if each.several and not each.params else "library" for each in made]


def test_an_unsupported_operation_is_left_to_the_library() -> None:
    f = lambda x: of(x).sin(of(x).cumulative_sum(x * x) + 1.0) * 2.0
    assert steps(f, LIBRARY, X) == ["library"] * 5
    assert steps(f, Python(), X) == ["group"]
    assert steps(f, Python("cumulative_sum"), X) == ["group", "library", "group"]
    assert steps(f, Python("multiply", "add", "sin"), X) == ["library", "group", "library", "library", "library"]


def test_what_does_not_depend_on_a_group_does_not_divide_it() -> None:
    f = lambda x, y: (of(x).exp(of(x).sin(x)), of(y).cumulative_sum(y, axis=0), of(x).cos(x))
    backend = Python("cumulative_sum")
    assert steps(f, backend, X, Y) == ["library", "group"]
    assert [len(graph.equations) for graph in backend.lowered] == [3, 3]


def test_groups_of_several_kinds() -> None:
    class ByShape(Python):
        def group_of(self, equation: Equation) -> Any:
            return equation.outputs[0].shape

    def f(x: Any, y: Any) -> Any:
        a, b = x * 2.0, y * 3.0
        return a + 1.0, b + 1.0, of(x).sin(a) + y

    backend = ByShape()
    assert steps(f, backend, X, Y) == ["group", "group"]
    assert sorted(len(graph.equations) for graph in backend.lowered[:2]) == [3, 3]


def test_a_group_may_be_left_to_the_library() -> None:
    class Picky(Python):
        def lower(self, graph: Graph) -> Any:
            return None if len(graph.equations) < 3 else super().lower(graph)

    f = lambda x: of(x).cumulative_sum(x * 2.0) * 3.0 + 1.0 - x
    assert steps(f, Picky("cumulative_sum"), X) == ["library", "library", "group"]


def test_side_effects_are_left_to_the_library_in_their_order(register: Register) -> None:
    backend, seen = Python(), list[float]()
    register(backend)

    def told(x: Any) -> Any:
        io_callback(lambda x: seen.append(float(x)), None, of(x).sum(x))
        return x

    def f(x: Any) -> Any:
        told(x)
        y = control_flow.fori_loop(0, 3, lambda i, x: told(x * 2.0), x)
        told(x + y)
        return y

    for _ in range(2):
        np.testing.assert_array_equal(jit(f)(np.ones(1)), [8.0])
        assert seen == [1.0, 2.0, 4.0, 8.0, 9.0]
        seen.clear()
    assert backend.lowered


def test_groups_have_the_constants_that_they_use(register: Register) -> None:
    backend, constant = Python(), np.arange(3.0)
    register(backend)
    assert_same(jit(lambda x: x * constant + 1.0)(X), X * constant + 1.0)
    (graph,) = backend.lowered
    assert len(graph.inputs) == len(graph.constants) == 1
    assert next(iter(graph.constants.values())) is constant


def test_programs_are_found_by_the_signature_of_the_backend(register: Register) -> None:
    class OfDtypes(Python):
        @staticmethod
        def signature(leaves: Sequence[Any]) -> Any:
            return tuple(getattr(x, "dtype", type(x)) for x in leaves)

    backend, traced = OfDtypes(), []
    register(backend)
    compiled = jit(lambda x: (traced.append(x.shape), x + 1.0)[1])
    for shape in (3, 3, 4):
        compiled(np.ones(shape))
    assert traced == [(3,)]
    compiled(np.ones(3, dtype=np.float32))
    assert len(traced) == 2


def test_derivatives_are_compiled_too(register: Register) -> None:
    backend = Python()
    register(backend)
    loop = lambda x: of(x).sum(control_flow.scan(lambda c, _: (of(c).sin(c) * x, c), x, None, length=40)[1])
    assert_same(jit(grad(loop))(X), grad(loop)(X), 1e-13)
    assert {"scan"} & {each.op.name for graph in backend.lowered for each in graph.equations}


def test_a_backend_that_accepts_must_lower() -> None:
    class Half(Backend):
        def accepts(self, equation: Equation) -> bool:
            return True

    with pytest.raises(NotImplementedError, match="Half accepts equations, and so must define `lower`"):
        compiled(make_graph(lambda x: x + 1.0)(ShapeDtype((3,), np.float64)), Half())


def test_blocks_do_the_bodies_of_loops() -> None:
    x = np.linspace(0.0, 1.0, LEAST + 1)
    loop = lambda x: control_flow.fori_loop(0, 3, lambda i, c: of(c).cos(c) * 0.5 + x, x)
    (equation,) = [each for each in make_graph(loop)(x).equations if each.op.name == "scan"]
    body = equation.params["body"].compiled_by(blocks.BACKEND)
    assert len(steps_of(body.graph, body.backend)) < len(body.graph.equations)
    assert_same(jit(loop)(x), loop(x))


@pytest.mark.parametrize("size", [BLOCK + i for i in (-4, 0, 4)] + [2 * BLOCK + i for i in (-4, 0, 4)])
def test_rows_that_fill_blocks(size: int) -> None:
    def f(x: Any) -> list[Any]:
        xp = of(x)
        rolled = [xp.roll(x, shift, axis=axis) * 2.0 - x for shift in (5, -3, 0) for axis in (0, 1)]
        return [*rolled, xp.concat([x[3:, :], x[:3, :]], axis=0) * 2.0 + x, xp.sin(x) * x + 1.0]

    x = np.random.default_rng(0).normal(size=(size // 4, 4))
    assert_same(jit(f)(x), f(x))
    assert_same(jit(lambda x: of(x).sin(x) * x + 1.0)(x.ravel()[1:]), np.sin(x.ravel()[1:]) * x.ravel()[1:] + 1.0)


# Backends that fail


class Failing(Python):
    """Fails in one of its methods."""

    name = "failing"

    def __init__(self, where: str) -> None:
        super().__init__("scan")
        self.where = where

    def fail(self, where: str) -> None:
        if self.where == where:
            raise AssertionError(f"in {where}\nof this backend")

    def left(self, graph: Graph) -> dict[int, str]:
        self.fail("left")
        return super().left(graph)

    def group_of(self, equation: Equation) -> Any:
        self.fail("group_of")
        return super().group_of(equation)

    def lower(self, graph: Graph) -> Any:
        self.fail("lower")
        if any(each.op.name == "cos" for each in graph.equations):  # only in the body
            self.fail("body")
        return super().lower(graph)

    def improved(self, graph: Graph, run: Any, compile_graph: Any) -> Any:
        self.fail("improved")
        return compile_graph()

    def plan(self, graph: Graph) -> dict[int, str]:
        self.fail("plan")
        return {}


def looped(x: Any) -> Any:
    return control_flow.fori_loop(0, 40, lambda i, c: of(c).cos(c) * 0.5 + x, of(x).sin(x) + 1.0)


@pytest.mark.parametrize("where", ["left", "group_of", "lower", "body", "improved", "plan"])
@pytest.mark.parametrize("is_default", [True, False], ids=["default", "later"])
def test_an_automatic_backend_that_fails_is_replaced_by_the_library(where: str, is_default: bool) -> None:
    """`lower` reports it. A backend that is named raises."""
    backends = Backends("", [])
    backends.all = [Failing(where)]
    compile_by = jit_by(backends.all[0] if is_default else LIBRARY, backends)
    run, expected = compile_by(looped), looped(X)
    for _ in range(3):
        np.testing.assert_array_equal(run(X), expected)
    text = lower_by(backends)(looped)(X).text
    assert f"  # not compiled: failing raised AssertionError: in {where}" in text
    assert "of this backend" not in text
    assert FAILURES
    FAILURES.clear()
    if where not in ("improved", "plan"):
        with pytest.raises(AssertionError, match=f"in {where}") as error:
            compile_by(looped, compiler="failing")(X)
        assert error.value.__notes__[-1].startswith("jit: compiler='failing' failed; without compiler=, the library")
    FAILURES.clear()


def test_reasons_of_failures_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("xpand_extensions.tracing._backend._MOST_FAILURES", 3)
    run = jit_by(Failing("lower"))(lambda x: x * 2.0 + 1.0)
    for size in range(5):
        assert_same(run(np.ones(size)), np.full(size, 3.0))
        assert len(FAILURES) <= 3
    FAILURES.clear()


# Finding backends


def test_the_backend_with_the_highest_priority_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (
        "from xpand_extensions.tracing._backend import Backend\nclass B(Backend):\n    priority = {}\nBACKEND = B()\n"
    )
    package = tmp_path / "some_backends"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "_helper.py").write_text("raise AssertionError('private')\n")
    (package / "slow.py").write_text(text.format(0))
    monkeypatch.syspath_prepend(str(tmp_path))
    found = lambda: type(Backends("some_backends", [str(package)]).preferred()).__module__
    assert found() == "some_backends.slow"
    (package / "quick").mkdir()
    (package / "quick" / "__init__.py").write_text(text.format(2))
    (package / "absent.py").write_text("BACKEND = None\n")
    assert found() == "some_backends.quick"
