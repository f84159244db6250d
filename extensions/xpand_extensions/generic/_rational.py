"""Polynomials and rational functions with Python numbers as coefficients, for special functions."""

from collections.abc import Sequence

from xpand.extend import Array


def polynomial(x: Array, coefficients: Sequence[float]) -> Array:
    """Evaluate a polynomial, coefficients from the constant on, by Horner's rule.

    Recursive, not a loop: without names for intermediate results, NumPy computes all steps in place.
    """
    if len(coefficients) == 2:
        return coefficients[1] * x + coefficients[0]
    return polynomial(x, coefficients[1:]) * x + coefficients[0]


def rational(x: Array, numerator: Sequence[float], denominator: Sequence[float]) -> Array:
    """Evaluate the quotient of two polynomials, coefficients from the constant on."""
    return polynomial(x, numerator) / polynomial(x, denominator)
