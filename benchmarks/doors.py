"""The overhead of every call: finding the namespace and the implementation, and importing the package."""

import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import array_api_compat

import xpand
from xpand_extensions import pluggable

from ._measure import Budget, Call, Row
from .namespaces import libraries

NAMESPACE: Final = Budget(ratio=0.25)
DISPATCH: Final = Budget(extra=0.35e-6)
IMPORT: Final = Budget(extra=30e-3)
FIRST: Final = Budget(extra=60e-3)

_PARTS: Final = "modules of xpand take 40 to 55 ms, optree and the standard library 20"

GRADIENT: Final = """import numpy as np
from xpand_extensions.autodiff import grad
grad(lambda x: x * x)(np.asarray(2.0))
"""
SOLUTION: Final = """import numpy as np
from xpand_extensions.linear_solve import solve
solve(2.0 * np.eye(3), np.ones(3))
"""

_ARRAY_LIBRARIES: Final = ("numpy", "torch", "jax", "cupy", "dask", "array_api_strict", "array_api_compat.numpy")

SMALL: Final[dict[str, int]] = {}
"""The sizes with which the tests run every row."""


def rows() -> Iterator[Row]:
    yield from _array_namespace()
    yield from _pluggable()
    yield from _imports()


def _array_namespace() -> Iterator[Row]:
    for library in libraries():
        x, y = library.xp.ones(4), library.xp.ones(4)
        for arguments, names in (((x,), "x"), ((x, y), "x, y")):
            yield Row(
                "array_namespace",
                f"{library.name}: array_namespace({names})",
                Call(xpand.array_namespace, *arguments),
                {"array-api-compat": Call(array_api_compat.array_namespace, *arguments)},
                NAMESPACE,
            )


@pluggable
def _same(x: Any, /) -> Any:
    return _same.native(x)(x)


@_same.default
def _itself(x: Any, /) -> Any:
    return x


@pluggable
def _first(x: Any, y: Any, /) -> Any:
    return _first.native(x, y)(x, y)


@_first.default
def _first_itself(x: Any, y: Any, /) -> Any:
    return x


def _pluggable() -> Iterator[Row]:
    for library in libraries():
        x, y = library.xp.ones(4), library.xp.ones(4)
        yield Row(
            "a pluggable call",
            f"{library.name}: operation(x)",
            Call(_same, x),
            {"its implementation": Call(_itself, x)},
            DISPATCH,
        )
        yield Row(
            "a pluggable call",
            f"{library.name}: operation(x, y)",
            Call(_first, x, y),
            {"its implementation": Call(_first_itself, x, y)},
            DISPATCH,
        )


@dataclass(frozen=True)
class Program:
    """A program in a fresh interpreter. Its time is the CPU time of that process alone."""

    text: str

    def time(self, number: int) -> float:
        start = seconds_of_children()
        for _ in range(number):
            self.run()
        return seconds_of_children() - start

    def run(self) -> str:
        # The first run stores the bytecode of the modules, as installing a package does.
        env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        command = [sys.executable, "-c", self.text]
        return subprocess.run(command, check=True, capture_output=True, text=True, env=env).stdout


def seconds_of_children() -> float:
    """Return the CPU time of the finished child processes."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _imports() -> Iterator[Row]:
    text = f"import sys, xpand; print(*(name for name in {_ARRAY_LIBRARIES!r} if name in sys.modules))"
    imported = Program(text).run().split()
    fault = f"it imports {', '.join(imported)}" if imported else ""
    yield Row(
        "import", "import xpand", Program("import xpand"), {"an empty program": Program("pass")}, IMPORT, fault=fault
    )
    for name, first, reference, reason in (
        ("autodiff, and a gradient", GRADIENT, "import numpy", f"{_PARTS}; the derivatives of all operations 25"),
        ("linear_solve", "import numpy\nimport xpand_extensions.linear_solve", "import numpy", _PARTS),
        ("linear_solve, and a solution", SOLUTION, "import numpy, scipy.linalg", f"{_PARTS}; SciPy's sparse arrays 30"),
    ):
        yield Row("import", name, Program(first), {reference: Program(reference)}, FIRST, reason)
