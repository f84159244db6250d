"""Every namespace has every name of the 2025.12 standard, with the standard's parameter names.

The list is array-api-strict's: it holds the standard and nothing else. What the functions compute is the business of
the official suite (`make conformance`); this is its cheap part, run with every change.
"""

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from inspect import Parameter
from typing import Any

import array_api_strict as strict
import numpy as np
import pytest

from tests.libraries import LIBRARIES

NAMESPACES = [entry for entry in LIBRARIES if not entry.id.startswith("strict")]
EXTENSIONS = ("linalg", "fft")
# array-api-strict's own switches, and what the standard has only since 2025.12 and array-api-strict doesn't have yet.
NOT_STANDARD = {"ArrayAPIStrictFlags", "Device", "__version__"}
NEWER = {"eig": ["x"], "eigvals": ["x"]}


@dataclass(frozen=True)
class Function:
    """A function of the standard."""

    extension: str
    name: str
    positional: tuple[str, ...]
    by_name: tuple[str, ...]

    def find(self, xp: Any) -> Any:
        return getattr(getattr(xp, self.extension) if self.extension else xp, self.name, None)

    def __str__(self) -> str:
        return f"{self.extension}.{self.name}".lstrip(".")


def _functions() -> Iterator[Function]:
    for extension in ("", *EXTENSIONS):
        module = getattr(strict, extension) if extension else strict
        for name in module.__all__:
            function = getattr(module, name)
            if inspect.isfunction(function) and "strict" not in name:
                parameters = inspect.signature(function).parameters.values()
                positional = tuple(p.name for p in parameters if p.kind is Parameter.POSITIONAL_ONLY)
                named = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)
                yield Function(extension, name, positional, tuple(p.name for p in parameters if p.kind in named))
    have = set(strict.linalg.__all__)
    yield from (Function("linalg", name, tuple(names), ()) for name, names in NEWER.items() if name not in have)


FUNCTIONS = tuple(_functions())


def test_the_list_is_the_standard() -> None:
    names = {str(function) for function in FUNCTIONS}
    assert len(FUNCTIONS) >= 170
    assert {"clip", "searchsorted", "isin", "broadcast_shapes", "unique_all", "linalg.eig", "fft.rfftfreq"} <= names


@pytest.fixture(params=NAMESPACES, ids=str)
def xp(request: pytest.FixtureRequest) -> Any:
    return request.param.xp


def test_names(xp: Any) -> None:
    names = {name for name in strict.__all__ if "strict" not in name} - NOT_STANDARD
    missing = {name for name in names if not hasattr(xp, name)}
    missing |= {str(function) for function in FUNCTIONS if function.find(xp) is None}
    assert not missing
    assert xp.__array_api_version__ == "2025.12"


def test_names_are_public(xp: Any) -> None:
    listed = {"": xp.__all__, **{extension: getattr(xp, extension).__all__ for extension in EXTENSIONS}}
    hidden = {str(function) for function in FUNCTIONS if function.name not in listed[function.extension]}
    assert not hidden
    undefined = [name for name in xp.__all__ if not hasattr(xp, name)]
    assert not undefined


def test_parameter_names(xp: Any) -> None:
    problems = [f"{function}: {why}" for function in FUNCTIONS for why in _parameter_problems(function, xp)]
    assert not problems


def _parameter_problems(function: Function, xp: Any) -> Iterator[str]:
    found = function.find(xp)
    try:
        parameters = inspect.signature(found).parameters
    except ValueError:  # a function in C that doesn't say: it must take what the standard names
        yield from _call_problems(function, found, xp)
        return
    by_name = {p.name for p in parameters.values() if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)}
    if missing := set(function.by_name) - by_name:
        yield f"lacks {sorted(missing)}"
    positional = sum(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in parameters.values())
    if positional < len(function.positional) and not any(p.kind is p.VAR_POSITIONAL for p in parameters.values()):
        yield f"takes {positional} positional arguments, fewer than {function.positional}"


# A valid value for each parameter name of the standard that a function in C may have.
VALUES: dict[str, Callable[[Any], Any]] = {
    "x": lambda xp: xp.eye(3, dtype=xp.float64),
    "x1": lambda xp: xp.eye(3, dtype=xp.float64),
    "x2": lambda xp: xp.eye(3, dtype=xp.float64),
    "axis": lambda xp: -1,
    "d": lambda xp: 0.5,
    "destination": lambda xp: 1,
    "device": lambda xp: None,
    "dtype": lambda xp: xp.float32,
    "fill_value": lambda xp: 2.0,
    "full_matrices": lambda xp: False,
    "keepdims": lambda xp: True,
    "mode": lambda xp: "complete",
    "n": lambda xp: 2,
    "norm": lambda xp: "ortho",
    "offset": lambda xp: 1,
    "ord": lambda xp: 1,
    "repetitions": lambda xp: (1, 2),
    "rtol": lambda xp: 0.1,
    "source": lambda xp: 0,
    "upper": lambda xp: True,
}


def _call_problems(function: Function, found: Callable[..., Any], xp: Any) -> Iterator[str]:
    complex_only = function.name in ("imag", "real")
    values = {name: VALUES[name](xp) for name in (*function.positional, *function.by_name)}
    if complex_only:
        values["x"] = xp.astype(values["x"], xp.complex128)
    try:
        found(*(values[name] for name in function.positional), **{name: values[name] for name in function.by_name})
    except TypeError as error:
        yield f"does not take the standard's parameters: {error}"


OF_AXES = (
    "sum prod max min mean std var count_nonzero argmax cumulative_sum sort flip diff expand_dims linalg.vector_norm"
)


@pytest.mark.parametrize("name", OF_AXES.split())
def test_an_axis_may_be_an_integer_of_numpy(xp: Any, name: str) -> None:
    values = np.asarray([[3.0, 1.0, 2.0], [0.0, 5.0, 4.0]])
    extension, _, name = name.rpartition(".")
    function = getattr(getattr(xp, extension) if extension else xp, name)
    for axis in (0, 1):
        expected = np.asarray(function(xp.asarray(values), axis=axis))
        np.testing.assert_array_equal(np.asarray(function(xp.asarray(values), axis=np.int64(axis))), expected)


def test_sizes_may_be_integers_of_numpy(xp: Any) -> None:
    two = np.int64(2)
    x = xp.reshape(xp.arange(np.int64(4)), (two, two))
    assert tuple(np.asarray(xp.squeeze(x[None], axis=np.int64(0))).shape) == (2, 2)
    assert np.asarray(xp.roll(x, np.int64(1), axis=(np.int64(0), 1))).tolist() == [[3, 2], [1, 0]]
    for made in (xp.ones(two), xp.zeros(two), xp.full(two, 1.0), xp.linspace(0.0, 1.0, two), xp.empty(two)):
        assert tuple(made.shape) == (2,)


def test_none_may_be_given_for_optional_arrays(xp: Any) -> None:
    x = xp.asarray([1.0, 4.0, 9.0])
    assert np.asarray(xp.diff(x, prepend=None, append=None)).tolist() == [3.0, 5.0]
    assert np.asarray(xp.diff(x, prepend=x[:1], append=None)).tolist() == [0.0, 3.0, 5.0]
    assert np.asarray(xp.searchsorted(x, x, sorter=None)).tolist() == [0, 1, 2]
