"""Programs of solvers on NumPy and JAX: compiled once for a function that is compiled itself, and freed with it."""

import gc
import sys
from collections.abc import Callable
from functools import wraps
from typing import Any
from weakref import ref

import numpy as np
import pytest

from tests.libraries import LIBRARIES, Library
from xpand_extensions.autodiff import grad
from xpand_extensions.jit import jit
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
    f = (sys.modules["jax"].jit if own else jit)(counted)

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
