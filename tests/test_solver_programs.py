"""Programs of solvers on NumPy and JAX: compiled once for a function that is compiled itself, and freed with it."""

import gc
import logging
from collections.abc import Callable, Iterator
from functools import wraps
from importlib import import_module
from typing import Any
from weakref import ref

import numpy as np
import pytest

from tests.libraries import LIBRARIES, Library
from xpand_extensions import sparse
from xpand_extensions.autodiff import grad
from xpand_extensions.jit import jit, lower
from xpand_extensions.linear_solve import solve
from xpand_extensions.optimize import brentq, minimize

pytestmark = pytest.mark.parametrize("library", [x for x in LIBRARIES if x.id in ("numpy", "jax")], ids=str)


class Counted:
    """A function that counts how often it is traced or called."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function, self.calls, self.__name__ = function, 0, "counted"

    def __call__(self, *args: Any) -> Any:
        self.calls += 1
        return self.function(*args)


@pytest.mark.parametrize("own", [False, True], ids=["xpand", "own"])
def test_optimizers_reuse_programs(library: Library, own: bool) -> None:
    if own and library.id != "jax":
        return  # it has no jit of its own
    counted = Counted(lambda x, c: x**3 - c)
    f = (import_module("jax").jit if own else jit)(counted)

    def found(c: float, **options: Any) -> float:
        return float(brentq(f, library.asarray(0.0), library.asarray(5.0), args=(library.asarray(c),), **options).x)

    assert found(8.0) == pytest.approx(2.0)
    before = counted.calls
    assert found(27.0) == pytest.approx(3.0)
    assert counted.calls == before
    # Options are part of the program.
    assert abs(found(27.0, atol=1.0) - 3.0) > 1e-5


def test_programs_are_freed_with_the_function(library: Library) -> None:
    def used() -> Any:
        f = jit(lambda x: x - 1.0)
        brentq(f, library.asarray(0.0), library.asarray(5.0))
        return ref(f)

    found = used()
    gc.collect()
    assert found() is None


def test_programs_are_not_those_of_other_functions(library: Library) -> None:
    ends = library.asarray(0.0), library.asarray(5.0)
    f = jit(lambda x: x - 1.0)
    assert float(brentq(f, *ends).x) == pytest.approx(1.0)

    @wraps(f)  # copies the attributes of f
    def shifted(x: Any) -> Any:
        return f(x) - 1.0

    assert float(brentq(jit(shifted), *ends).x) == pytest.approx(2.0)
    # A function that isn't compiled is read anew.
    limit = 1.0
    plain = lambda x: x - limit
    assert float(brentq(plain, *ends).x) == pytest.approx(1.0)
    limit = 3.0
    assert float(brentq(plain, *ends).x) == pytest.approx(3.0)


def test_static_values_are_part_of_the_program(library: Library) -> None:
    ends = library.asarray(0.0), library.asarray(5.0)
    f = jit(lambda x, name: x - {"one": 1.0, "two": 2.0}[name], static_argnums=1)
    for name, expected in (("one", 1.0), ("two", 2.0), ("one", 1.0)):
        assert float(brentq(f, *ends, args=(name,)).x) == pytest.approx(expected)


def test_derivatives_of_minima_reuse_programs(library: Library) -> None:
    counted = Counted(lambda x, a: ((x - a) ** 2).sum())
    f = jit(counted)
    slope = grad(lambda a: minimize(f, library.asarray([0.0, 0.0]), args=(a,), method="gradient-descent").x[0] ** 2)
    np.testing.assert_allclose(slope(library.asarray([1.0, 2.0])), [2.0, 0.0], atol=1e-4)
    before = counted.calls
    np.testing.assert_allclose(slope(library.asarray([3.0, 2.0])), [6.0, 0.0], atol=1e-4)
    # NumPy's derivatives are traced operation by operation.
    assert counted.calls == before or library.id == "numpy"


def test_linear_solvers_reuse_programs(library: Library) -> None:
    if library.id != "jax":
        return  # the steps of a linear solver on NumPy are operations on large arrays
    counted = Counted(lambda x, d: d * x)
    multiply = jit(counted)
    b = library.asarray([1.0, 2.0, 3.0])
    total = lambda d: solve(multiply, b, method="cg", args=(d,), symmetric=True).x.sum()
    slope = grad(total)
    before = 0
    for number, diagonal in enumerate(np.asarray([[1.0, 2.0, 4.0], [2.0, 2.0, 2.0]])):
        d = library.asarray(diagonal)
        assert float(total(d)) == pytest.approx(float(np.sum(np.asarray(b) / diagonal)), rel=1e-6)
        np.testing.assert_allclose(slope(d), -np.asarray(b) / diagonal**2, rtol=1e-6)
        if not number:
            before = counted.calls
    assert counted.calls == before


@pytest.fixture
def compiled(library: Library) -> Iterator[Callable[..., tuple[Any, int]]]:
    """Return a function that calls another, and returns its result and how often JAX compiled a solver's program."""
    if library.id != "jax":
        pytest.skip("only JAX compiles functions that the user has not compiled")
    jax, messages, logger = import_module("jax"), Messages(), logging.getLogger("jax")

    def called(function: Callable[..., Any], *args: Any) -> tuple[Any, int]:
        messages.found.clear()
        with jax.log_compiles():
            found = jax.block_until_ready(function(*args))
        return found, sum("Finished XLA compilation of jit(of_consts)" in each for each in messages.found)

    # Other tests may have compiled the same programs.
    import_module("xpand_extensions.plugins.jax._programs")._PROGRAMS.clear()
    logger.addHandler(messages)
    yield called
    logger.removeHandler(messages)


class Messages(logging.Handler):
    """The messages of a logger."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.found.append(record.getMessage())


def test_functions_that_are_not_compiled_reuse_programs(library: Library, compiled: Any) -> None:
    data = [library.asarray(0.0)]

    def square(x: Any) -> Any:
        return ((x - data[0]) ** 2 * (1.0 + x**2)).sum()

    def minimum(c: float) -> Any:
        data[0] = library.asarray(c)
        return minimize(square, library.asarray([0.5, 1.5]), method="l-bfgs", max_steps=300).x

    found, count = compiled(minimum, 1.0)
    np.testing.assert_allclose(found, 1.0, rtol=1e-5)
    assert count == 1
    found, count = compiled(minimum, 2.0)  # arrays that it captures are read at each call
    np.testing.assert_allclose(found, 2.0, rtol=1e-5)
    assert not count
    np.testing.assert_allclose(minimum(np.float64(0.5)), 0.5, rtol=1e-5)

    def matrix(scale: float) -> Callable[[Any], Any]:
        diagonal = np.asarray([1.0, 2.0, 4.0]) * scale
        return lambda x: diagonal * x

    b = library.asarray([1.0, 2.0, 3.0])
    solution = lambda scale: solve(matrix(scale), b, method="cg", symmetric=True).x
    for scale, programs in ((1.0, 1), (2.0, 0)):
        found, count = compiled(solution, scale)
        np.testing.assert_allclose(found, np.asarray([1.0, 1.0, 0.75]) / scale, rtol=1e-6)
        assert count == programs


def test_derivatives_reuse_programs_of_functions_that_are_not_compiled(library: Library, compiled: Any) -> None:
    jax = import_module("jax")
    start = library.asarray([0.0, 0.0])

    def first(a: Any) -> Any:
        return minimize(lambda x: ((x - a) ** 2).sum(), start, method="gradient-descent").x[0] ** 2

    for a, programs in ((1.0, 1), (3.0, 0)):
        found, count = compiled(grad(first), library.asarray(a))
        assert float(found) == pytest.approx(2.0 * a, abs=1e-4)
        assert count == programs
    np.testing.assert_allclose(jax.vmap(grad(first))(library.asarray([1.0, 2.0])), [2.0, 4.0], atol=1e-4)
    assert float(jax.jit(grad(first))(library.asarray(2.0))) == pytest.approx(4.0, abs=1e-4)
    with jax.disable_jit():
        assert float(first(library.asarray(2.0))) == pytest.approx(4.0, abs=1e-4)


def test_rules_and_callbacks_of_functions_that_are_not_compiled(library: Library) -> None:
    if library.id != "jax":
        return  # the rules and callbacks are JAX's
    jax = import_module("jax")
    ends = library.asarray(0.0), library.asarray(5.0)
    shape = jax.ShapeDtypeStruct((), ends[0].dtype)
    for c in (1.0, 2.0):
        shifted = lambda x, c=c: jax.pure_callback(lambda x: np.asarray(x - c), shape, x)
        assert float(brentq(shifted, *ends).x) == pytest.approx(c)

    def ruled(scale: float) -> Callable[[Any], Any]:
        """Make a function whose derivative, by its rule, is too large by a factor."""
        f = jax.custom_jvp(lambda x: x)
        f.defjvp(lambda primals, tangents: (f(primals[0]), scale * tangents[0]))
        return f

    def slope(scale: float) -> Any:
        f = ruled(scale)
        return grad(lambda a: brentq(lambda x: x - f(a), *ends).x)(library.asarray(1.0))

    assert float(slope(1.0)) == pytest.approx(1.0)
    assert float(slope(3.0)) == pytest.approx(3.0)


def test_xla_does_not_evaluate_captured_matrices(library: Library) -> None:
    """XLA computes what depends only on constants while it compiles, which took seconds for large matrices."""
    if library.id != "jax":
        pytest.skip("only XLA does this")
    a = sparse.from_dense(library.asarray([[2.0, 1.0], [1.0, 3.0]]))
    b = library.asarray([3.0, 4.0])
    solution = lambda b: solve(a, b, method="cg", symmetric=True).x
    assert lower(solution)(b).as_text().count("optimization_barrier") >= 3  # values, indices and starts of the rows
    np.testing.assert_allclose(jit(solution)(b), [1.0, 1.0])
    np.testing.assert_allclose(jit(grad(lambda b: solution(b)[0]))(b), [0.6, -0.2])


OPTIONS: dict[str, list[Any]] = {
    "learning_rate": [{"method": "adam", "learning_rate": each} for each in (0.1, 0.3)],
    "beta1": [{"method": "adam", "beta1": each} for each in (0.5, 0.9)],
    "history": [{"method": "l-bfgs", "history": each} for each in (1, 5)],
    "initial_size": [{"method": "nelder-mead", "initial_size": each} for each in (0.1, 0.5)],
    "max_steps": [{"method": "bfgs", "max_steps": each} for each in (1, 4)],
    "method": [{"method": each} for each in ("bfgs", "gradient-descent")],
}


@pytest.mark.parametrize("name", OPTIONS)
def test_options_are_part_of_programs(library: Library, name: str) -> None:
    """A call with another option does not reuse the program of an earlier one."""

    def f(x: Any) -> Any:
        return (1.0 - x[..., 0]) ** 2 + 10.0 * (x[..., 1] - x[..., 0] ** 2) ** 2

    compiled, start = jit(f), library.asarray([[-1.2, 1.0]])
    solved = lambda f, options: np.asarray(
        minimize(f, start, batch_ndim=1, throw=False, **{"max_steps": 6, **options}).x
    )
    expected = [solved(f, options) for options in OPTIONS[name]]
    assert not np.allclose(*expected)
    for _ in range(2):
        for options, wanted in zip(OPTIONS[name], expected):
            np.testing.assert_allclose(solved(compiled, options), wanted, rtol=1e-9)
