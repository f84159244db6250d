"""The programs on the page of PyTorch's bugs can be reported as they are; `test_docs.py` runs them."""

import ast
import builtins
import re
import sys
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import mpmath
import pytest

from tests.test_docs import ROOT, blocks_of

PAGE = (ROOT / "docs" / "pytorch-bugs.md").read_text(encoding="utf-8")
ENTRIES = dict(re.findall(r"^### (.*?)\n(.*?)(?=^##|\Z)", PAGE, re.MULTILINE | re.DOTALL))


@pytest.mark.parametrize("title", ENTRIES)
def test_an_entry_can_be_reported(title: str) -> None:
    """It has a program of PyTorch alone, which says what it prints, the right result, and what xpand does."""
    text = ENTRIES[title]
    (block,) = blocks_of(text)
    tree = list(ast.walk(ast.parse(block.code)))
    modules = {alias.name for node in tree if isinstance(node, ast.Import) for alias in node.names}
    modules |= {str(node.module) for node in tree if isinstance(node, ast.ImportFrom)}
    assert {module.partition(".")[0] for module in modules} <= {"torch", *sys.stdlib_module_names}
    assert re.search(r"print\(.*\)  # \S", block.code), "it says what PyTorch prints"
    assert "**Right:** " in text
    assert re.search(r"^\*\*xpand:\*\* ", text, re.MULTILINE)


def _of_hermitian_part(function: Callable[[Any], Any], x: Any, direction: Any) -> Any:
    """Differentiate a function of symmetric matrices along a direction."""
    part = (direction + direction.T) / 2
    return mpmath.diff(lambda t: function(x + t * part), 0)


def _cholesky_sum(x: Any) -> Any:
    return sum(mpmath.cholesky(x))


def _slope_of_eigenvectors(x: Any) -> Any:
    """Return the derivative of the sum of eigenvectors**4 along the direction of the entry."""
    fourth = lambda x: sum(each**4 for each in mpmath.eigsy(x)[1])
    return _of_hermitian_part(fourth, x, mpmath.matrix([[2, 1], [1, 3]]))


def _unit(i: int, j: int) -> Any:
    found = mpmath.zeros(2)
    found[i, j] = 1
    return found


RIGHT: dict[str, Callable[[], dict[str, Any]]] = {
    "Second derivatives of `solve`, `det` and `slogdet` by forward mode": lambda: {
        "0.25": mpmath.diff(lambda x: 1 / x, 2, 2),
        "10": mpmath.diff(lambda x: (2 * x) * (3 * x) - x * x, 2, 2),
        "-0.5": mpmath.diff(lambda x: mpmath.log((2 * x) * (3 * x) - x * x), 2, 2),
    },
    "Derivatives of the determinant of a singular matrix": lambda: {"4": mpmath.diff(lambda t: (1 + t) * 4 - 4, 0)},
    "The derivatives of `cholesky` differ between the modes": lambda: {
        "0.195": _of_hermitian_part(_cholesky_sum, mpmath.matrix([[2, 1], [1, 3]]), _unit(0, 1))
    },
    "Reverse mode over forward mode through eigenvectors is NaN": lambda: {
        text: _of_hermitian_part(_slope_of_eigenvectors, mpmath.matrix([[2, 1], [1, 4]]), _unit(*place))
        for text, place in (("0.125", (0, 0)), ("0.25", (0, 1)), ("-0.125", (1, 1)))
    },
    "The second derivative of `cumprod` after a zero by forward mode": lambda: {
        "0": mpmath.diff(lambda t: 2 + t, 0, 2),
        "2": mpmath.diff(lambda t: (2 + t) * t, 0, 2),
        "10": mpmath.diff(lambda t: (2 + t) * t * (3 + t), 0, 2),
    },
    "The mixed second derivative of `x**y` where y is 0": lambda: {
        "0.25": mpmath.diff(lambda x, y: x**y, (4, 0), (1, 1))
    },
    "The second derivative of `sinc` at 0": lambda: {"-3.29": mpmath.diff(lambda x: mpmath.sinc(mpmath.pi * x), 0, 2)},
    "A scalar dividend has no derivative": lambda: {"-1": mpmath.diff(lambda x: 5 - x * mpmath.floor(5 / x), 3)},
    "`polygamma` has nine digits": lambda: {"1.6449340668482264": mpmath.polygamma(1, 1)},
    "`digamma` loses digits near its zero": lambda: {"-3.110625123034165e-05": mpmath.digamma(1.4616)},
    "`gammainc` has nine digits, and no derivative in its first argument": lambda: {
        "0.06450160511300618": mpmath.gammainc(67.54381530234456, 0, 55.52636229788672, regularized=True)
    },
    "`i0` and `i1` overflow early": lambda: {"6.705e+307": mpmath.besseli(0, 713)},
    "`ndtr` loses its lower tail": lambda: {"7.62e-24": mpmath.ncdf(-10)},
}
"""By entry: numbers in its right result, as written, and their values."""


@pytest.mark.parametrize("title", RIGHT)
def test_the_right_results_are_right(title: str) -> None:
    (right,) = re.findall(r"\*\*Right:\*\* (.*)", ENTRIES[title])
    written = re.findall(r"(?<![\w.])-?\d+(?:\.\d+)?(?:e[+-]\d+)?", right)
    with mpmath.workdps(50):
        for text, value in RIGHT[title]().items():
            assert text in written
            places = Decimal(text).as_tuple().exponent
            assert isinstance(places, int)
            assert abs(mpmath.mpf(text) - value) <= 0.6 * mpmath.mpf(10) ** places, (text, value)


@pytest.mark.parametrize("title", ENTRIES)
def test_a_program_needs_no_other_one(title: str) -> None:
    (block,) = blocks_of(ENTRIES[title])
    made, read = set(dir(builtins)), set()
    for node in ast.walk(ast.parse(block.code)):
        if isinstance(node, ast.Name):
            (read if isinstance(node.ctx, ast.Load) else made).add(node.id)
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            made.add(node.name)
        elif isinstance(node, ast.arg):
            made.add(node.arg)
        elif isinstance(node, ast.alias):
            made.add((node.asname or node.name).partition(".")[0])
        elif isinstance(node, ast.ExceptHandler):
            made.add(str(node.name))
    assert not read - made
