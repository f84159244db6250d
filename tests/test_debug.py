"""Values printed and handed out from transformed functions, side effects, and leaks, on every library."""

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest

from tests.libraries import EAGER_LIBRARIES, LIBRARIES, Library
from tests.test_derivatives import total
from xpand import UnsupportedError, array_namespace, trees
from xpand_extensions import debug
from xpand_extensions.autodiff import grad, hessian, jvp, linearize, vjp
from xpand_extensions.control_flow import cond, scan, while_loop
from xpand_extensions.jit import ShapeDtype, io_callback, jit, make_graph
from xpand_extensions.tracing import LeakedArrayError
from xpand_extensions.vmap import vmap

NAMED = {library.id: library for library in LIBRARIES}
TRACED = [library for library in EAGER_LIBRARIES if not library.id.startswith(("torch", "jax"))]


@pytest.fixture(params=EAGER_LIBRARIES, ids=str)
def eager(request: pytest.FixtureRequest) -> Library:
    return request.param


class Seen:
    """The arguments of callbacks."""

    def __init__(self) -> None:
        self.values: list[Any] = []

    def __call__(self, *values: Any) -> None:
        assert all(type(x) is np.ndarray for x in trees.leaves(values))
        self.values.append(np.asarray(values[0]).tolist())

    def take(self) -> list[Any]:
        jax.effects_barrier()
        found, self.values = self.values, []
        return found


def shown(seen: Seen, f: Callable[[Any], Any] = lambda x: x * x) -> Callable[[Any], Any]:
    def function(x: Any) -> Any:
        debug.callback(seen, x)
        return f(x)

    return function


def test_values_under_transformations(eager: Library) -> None:
    seen = Seen()
    f, x, xs = shown(seen), eager.asarray(3.0), eager.asarray([1.0, 2.0])
    for function, given, expected, result in (
        (f, x, [3.0], 9.0),
        (grad(f), x, [3.0], 6.0),
        (grad(grad(f)), x, [3.0], 2.0),
        (lambda x: jvp(f, (x,), (x,))[1], x, [3.0], 18.0),
        (vmap(f), xs, [1.0, 2.0], [1.0, 4.0]),
        (vmap(grad(f)), xs, [1.0, 2.0], [2.0, 4.0]),
        (grad(lambda x: total(vmap(f)(x))), xs, [1.0, 2.0], [2.0, 4.0]),
    ):
        eager.assert_equal(function(given), np.asarray(result))
        assert seen.take() == expected


def test_values_in_loops_and_branches(eager: Library) -> None:
    """Each step is seen once, also where a derivative computes steps again."""
    seen = Seen()
    step = shown(seen, lambda c: c * 2.0)
    steps = eager.xp.zeros(3, device=eager.device)
    run = lambda x: scan(lambda c, _: (step(c), None), x, steps)[0]
    chosen = lambda x: cond(x > 0, step, lambda x: -x, x)
    looped = lambda x: while_loop(lambda c: c < 5.0, step, x, max_iter=4)
    x = eager.asarray(1.0)
    for function, result, expected in (
        (run, 8.0, [1.0, 2.0, 4.0]),
        (grad(run), 8.0, [1.0, 2.0, 4.0]),
        (chosen, 2.0, [1.0]),
        (grad(chosen), 2.0, [1.0]),
        (looped, 8.0, [1.0, 2.0, 4.0]),
    ):
        eager.assert_equal(function(x), np.asarray(result))
        assert seen.take() == expected


def test_values_of_compiled_functions(eager: Library) -> None:
    """At each call, for what isn't used and for constants too; in each step of a loop, in the order of the program."""
    seen = Seen()

    @jit
    def f(x: Any) -> Any:
        xp = array_namespace(x)
        seven = xp.full_like(x, 7.0)
        debug.callback(seen, x)
        debug.callback(seen, seven)
        debug.callback(seen, seven)
        if not eager.id.startswith("torch"):  # whose compiler takes ten seconds for a loop
            scan(lambda c, y: (shown(seen)(c) + y, None), x, xp.stack([seven, seven]))
        derivative = grad(shown(seen))(x)
        debug.callback(seen, derivative)
        return vmap(shown(seen))(xp.stack([x, x + 1.0]))

    for start in (2.0, 1.0):
        found = f(eager.asarray(start))
        eager.assert_equal(found, np.asarray([start**2, (start + 1.0) ** 2]))
        steps = [] if eager.id.startswith("torch") else [start, start**2 + 7.0]
        expected = [start, 7.0, 7.0, *steps, start, 2.0 * start, start, start + 1.0]
        values = seen.take()
        if eager.id.startswith("jax"):  # which keeps no order unless it is asked to
            values, expected = sorted(values), sorted(expected)
        assert values == expected


@pytest.mark.parametrize("library", TRACED, ids=str)
def test_compiled_derivatives_of_loops(library: Library) -> None:
    seen = Seen()
    run = lambda x: scan(lambda c, y: (shown(seen)(c) * y, None), x, library.xp.ones(2, device=library.device))[0]
    library.assert_equal(jit(grad(run))(library.asarray(2.0)), np.asarray(4.0 * 8.0))
    assert seen.take() == [2.0, 4.0]
    graph = make_graph(lambda x: (run(x), x)[1])(library.asarray(2.0))
    graph.check()
    assert "\n            io_callback(" in str(graph), "no result is named"
    assert seen.take() == []


def test_ordered_calls_of_jax() -> None:
    seen = Seen()
    f = jit(lambda x: [debug.callback(seen, x + i, ordered=True) for i in range(4)] and x)
    f(NAMED["jax"].asarray(1.0))
    assert seen.take() == [1.0, 2.0, 3.0, 4.0]


def test_printed(eager: Library, capsys: pytest.CaptureFixture[str]) -> None:
    def f(x: Any) -> Any:
        debug.print("{:.2f} {n} {name} {tree[a]}", x, n=3, name="text", tree={"a": x * 2.0})
        return x * x

    eager.assert_equal(grad(f)(eager.asarray(1.5)), np.asarray(3.0))
    jax.effects_barrier()
    assert capsys.readouterr().out == "1.50 3 text 3.0\n"
    debug.print("{{}} no arrays {}", "at all")
    assert capsys.readouterr().out == "{} no arrays at all\n"
    if not eager.id.startswith("torch"):  # whose compiler takes seconds, and is tested above
        compiled = jit(f)
        for _ in range(2):
            compiled(eager.asarray(1.5))
        jax.effects_barrier()
        assert capsys.readouterr().out == "1.50 3 text 3.0\n" * 2


def test_lazy_arrays_are_not_computed(capsys: pytest.CaptureFixture[str]) -> None:
    dask = NAMED["dask"]
    x = dask.asarray([1.0, 2.0])
    debug.print("x = {}", x)
    assert "dask.array" in capsys.readouterr().out
    with pytest.raises(UnsupportedError, match="lazy arrays of dask are not computed for a function that returns"):
        debug.callback(lambda x: None, x)
    with pytest.raises(UnsupportedError, match="lazy arrays of dask"):
        io_callback(lambda x: None, None, x)
    calls = []
    found = io_callback(lambda x: (calls.append(1), 2.0 * x)[1], ShapeDtype((2,), "float64"), x)
    assert calls == []
    dask.assert_equal(found, np.asarray([2.0, 4.0]))
    assert calls


# Functions with side effects that return something


def test_functions_with_side_effects(eager: Library) -> None:
    count = [0]

    def counted(x: Any) -> Any:
        count[0] += 1
        return {"count": np.asarray(count[0]), "x": x * 2.0}

    like = {"count": ShapeDtype((), "int64"), "x": ShapeDtype((), "float64")}
    call = lambda x: io_callback(counted, like, x)
    x = eager.asarray(1.5)
    for number in (1, 2):
        found = call(x)
        eager.assert_equal(found["count"], np.asarray(number))
        eager.assert_equal(found["x"], np.asarray(3.0))
    found = vmap(call)(eager.asarray([1.0, 2.0]))
    eager.assert_equal(found["count"], np.asarray([3, 4]))
    eager.assert_equal(found["x"], np.asarray([2.0, 4.0]))
    twice = jit(lambda x: (call(x), call(x))[0]["x"])  # equal, and the second not used
    eager.assert_equal(twice(x), np.asarray(3.0))
    eager.assert_equal(twice(x), np.asarray(3.0))
    assert count == [8]
    with pytest.raises((TypeError, ValueError), match="derivative|JVP"):
        grad(lambda x: call(x)["x"])(x)


def test_bad_input(library: Library) -> None:
    x = library.asarray(1.0)
    like = ShapeDtype((), "float64")
    for bad, error, message in (
        (lambda: debug.callback(3, x), TypeError, "callback: takes a function, got int"),
        (lambda: debug.callback(print, x, ordered=1), TypeError, "callback: ordered must be"),
        (lambda: debug.print(3, x), TypeError, "print: fmt must be a format string"),
        (lambda: debug.print("{} {}", x), ValueError, "print: fmt='{} {}' has the field '1', for which"),
        (lambda: debug.print("{1}", x), ValueError, "has the field '1'"),
        (lambda: debug.print("{y.shape}", x, x=x), ValueError, "has the field 'y'"),
        (lambda: debug.print("{", x), ValueError, "Single '{'|expected '}'"),
        (lambda: io_callback(3, like, x), TypeError, "io_callback: takes a function"),
        (lambda: io_callback(lambda x: x, 3, x), TypeError, "io_callback: result_shape_dtypes must hold objects with"),
        (lambda: io_callback(lambda x: x, like, x, ordered=None), TypeError, "io_callback: ordered must be"),
        (lambda: io_callback(lambda x: x, like, "text"), TypeError, "io_callback: the arguments hold str"),
    ):
        with pytest.raises(error, match=message):
            bad()
    if library.id in ("numpy", "torch"):
        with pytest.raises(ValueError, match=r"io_callback: the function must return the shape declared, \(2,\)"):
            io_callback(lambda x: x, ShapeDtype((2,), "float64"), x)


@pytest.mark.parametrize("library", TRACED, ids=str)
def test_equal_side_effects_all_happen(library: Library) -> None:
    calls = []

    def count(x: Any) -> Any:
        calls.append(x)
        return x + float(len(calls))

    def ask(x: Any) -> Any:
        return io_callback(count, ShapeDtype((), "float64"), x)

    x = library.asarray(0.5)
    library.assert_equal(jit(lambda x: ask(x) + 10.0 * ask(x))(x), np.asarray(1.5 + 25.0))
    assert len(calls) == 2


# Leaks


@pytest.mark.parametrize("library", TRACED, ids=str)
def test_leaks(library: Library) -> None:
    x, leaked = library.asarray([1.0, 2.0]), []
    leaking = lambda x: (leaked.append(x), total(x * x))[1]
    for name, transformed in {"jit": jit(leaking), "grad": grad(leaking), "vmap": vmap(leaking)}.items():
        given = library.xp.stack([x, x]) if name == "vmap" else x
        message = f"checking_leaks: arrays traced by `{name}` outlive the call"
        with pytest.raises(LeakedArrayError, match=message), debug.checking_leaks():
            transformed(given)
        leaked.clear()
    leaked.clear()


def test_errors_come_before_leaks() -> None:
    leaked: list[Any] = []
    with pytest.raises(ZeroDivisionError), debug.checking_leaks():
        jit(lambda x: (leaked.append(x), 1 / 0))(np.asarray(1.0))


def test_nothing_leaks(library: Library) -> None:
    """Objects that transformations store for later, such as programs and pullbacks, are no leaks."""
    x = library.asarray(2.0)
    f = lambda x: x * x * x
    leaked: list[Any] = []
    with debug.checking_leaks():
        leaked += [jit(grad(f))] if library.id != "torch" else []
        leaked += [vjp(f, x), linearize(f, x), vjp(grad(f), x), hessian(f), vmap(f)]
        leaked += [scan(lambda c, y: (c * y, c), x, library.xp.ones(3, device=library.device))]
        leaked += [leaked[0](x)] if library.id != "torch" else []
        leaked += [make_graph(f)(x)]


def test_leaks_of_jax() -> None:
    leaked: list[Any] = []
    with pytest.raises(Exception, match="Leaked trace"), debug.checking_leaks():
        jit(lambda x: (leaked.append(x), x)[1])(NAMED["jax"].asarray(1.0))
