"""How many of xpand's functions a call runs through, and in how many files, once everything is loaded."""

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

import xpand
import xpand_extensions
from tests.libraries import LIBRARIES
from xpand_extensions._ambient import Bound
from xpand_extensions.autodiff import grad
from xpand_extensions.control_flow import scan
from xpand_extensions.jit import jit
from xpand_extensions.linear_solve import solve
from xpand_extensions.scatter import segment_sum

PACKAGES = tuple(str(Path(package.__file__).parent) for package in (xpand, xpand_extensions))
AVAILABLE = {library.id: library for library in LIBRARIES}


def path_of(function: Callable[[], Any]) -> tuple[int, int]:
    """Count the calls of xpand's functions, and their files, in the third call of a function."""
    files: list[str] = []

    def count(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(PACKAGES):
            files.append(frame.f_code.co_filename)

    function()
    function()
    sys.setprofile(count)
    try:
        function()
    finally:
        sys.setprofile(None)
    return len(files), len(set(files))


def summed() -> Any:
    torch = AVAILABLE["torch"]
    values, ids = torch.asarray(np.ones(5)), torch.asarray(np.asarray([0, 1, 1, 0, 2]))
    return lambda: segment_sum(values, ids, num_segments=3)


def differentiated() -> Any:
    def loss(x: Any) -> Any:
        xp = xpand.array_namespace(x)
        return xp.sum(xp.sin(x) * x)

    gradient, x = grad(loss), np.linspace(0.0, 1.0, 5)
    return lambda: gradient(x)


def solved() -> Any:
    jax = AVAILABLE["jax"]
    a, b = jax.asarray(np.diag([1.0, 2.0, 3.0])), jax.asarray(np.ones(3))
    return lambda: solve(a, b)


def compiled() -> Any:
    import torch

    def total(x: Any) -> Any:
        return scan(lambda c, _: (torch.sin(c) * c, None), x, None, length=20)[0].sum()

    gradient, x = jit(grad(total)), torch.linspace(0.0, 1.0, 5)
    return lambda: gradient(x)


@pytest.mark.parametrize(
    ("call", "most_calls", "most_files"),
    [(summed, 14, 8), (differentiated, 112, 16), (compiled, 77, 15), (solved, 30, 10)],
)
def test_calls_are_short(
    monkeypatch: pytest.MonkeyPatch, call: Callable[[], Any], most_calls: int, most_files: int
) -> None:
    monkeypatch.setattr(Bound, "ever", False)  # programs that name mapped axes look for names
    calls, files = path_of(call())
    assert 0 < calls <= most_calls
    assert 0 < files <= most_files
