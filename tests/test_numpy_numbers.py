"""Polynomials, and Python's functions of numbers, on traced arrays over NumPy."""

import fractions
import math
import statistics
from typing import Any

import numpy as np
import pytest

from xpand_extensions.autodiff import grad
from xpand_extensions.jit import jit
from xpand_extensions.tracing import TracedError


def test_polynomials_stay_polynomials() -> None:
    """NumPy's functions of `np.poly1d` return it, and its index is a power."""
    x = np.array([0.5, 1.5, -0.7, 2.0])
    for text in ("np.polyadd(p, x)", "np.polysub(x, p)", "np.polymul(p, x)", "np.polydiv(x, p)[0]"):
        function: Any = eval(f"lambda x: {text}", {"np": np, "p": np.poly1d([1.0, 2.0])})
        assert isinstance(function(x), np.poly1d)
        results: list[Any] = []

        def value(x: Any, function: Any = function, results: list[Any] = results) -> Any:
            results.append(function(x))
            return results[-1][1] ** 2 + results[-1](0.3)

        gradient = grad(value)(x)
        assert isinstance(results[0], np.poly1d)
        steps = [(value(x + h) - value(x - h)) / 2e-6 for h in 1e-6 * np.eye(4)]
        np.testing.assert_allclose(gradient, steps, rtol=1e-6, atol=1e-8)
    with pytest.raises(TypeError, match="np.polyval: x must be numbers"):
        grad(lambda x: np.polyval(x, np.poly1d([1.0, 2.0]))[0])(x)


def test_methods_of_numbers() -> None:
    """Python's functions of numbers call methods of NumPy's numbers."""
    x = np.array([2.14, 1.45])
    np.testing.assert_array_equal(grad(lambda x: divmod(x[0], x[1])[1])(x), grad(lambda x: np.remainder(*x))(x))
    np.testing.assert_array_equal(grad(lambda x: sum(divmod(5.0, x)[1]))(x), grad(lambda x: np.sum(np.fmod(5.0, x)))(x))
    np.testing.assert_array_equal(jit(lambda x: round(x[0], 1) * x)(x), round(x[0], 1) * x)
    assert grad(lambda x: round(x[0]) * x[1])(x).tolist() == [0.0, 2.0]
    with pytest.raises(TypeError, match=r"write `np.round\(x, decimals\)`"):
        grad(lambda x: round(x).sum())(x)
    for text in ("statistics.variance(x)", "statistics.harmonic_mean(x)", "fractions.Fraction(x[0])"):
        with pytest.raises(TypeError, match=r"float\(x\): the number would have no derivative|argument should be"):
            grad(eval(f"lambda x: float({text})", {"statistics": statistics, "fractions": fractions}))(x)
    with pytest.raises(TracedError, match="np.frompyfunc calls a function of Python's numbers"):
        grad(lambda x: np.frompyfunc(math.sin, 1, 1)(x).sum())(x)


@pytest.mark.parametrize("name", ["flags", "strides", "data", "base", "ctypes"])
def test_layouts(name: str) -> None:
    with pytest.raises(AttributeError, match="no places in memory; use it as an array in row-major order"):
        grad(lambda x: getattr(x, name))(np.ones(3))
