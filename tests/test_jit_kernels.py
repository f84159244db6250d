"""The kernels that `jit` writes for CuPy, compiled as C++ for the processor and held against NumPy."""

import ctypes
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import xpand
from xpand_extensions import jit
from xpand_extensions.plugins.cupy._kernels import C_TYPES, MOST_ARRAYS, OPTIONS, Kernels as CuPyKernels
from xpand_extensions.tracing._backend import FAILURES
from xpand_extensions.tracing._compile import compiled

COMPILER = shutil.which("g++")
pytestmark = pytest.mark.skipif(COMPILER is None, reason="the kernels are compiled with g++, which isn't installed")

FLOATS = np.asarray([-np.inf, -7.25, -1.0, -0.5, -0.0, 0.0, 0.3, 1.0, 2.5, 3e7, np.inf, np.nan])
X = np.repeat(FLOATS, FLOATS.size)
Y = np.tile(FLOATS, FLOATS.size)


class Kernels:
    """Replaces `cupy.ElementwiseKernel`: the body of the kernel in a loop over the elements."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.bodies = folder, []

    def __call__(self, takes: str, gives: str, body: str, name: str, *, options: tuple[str, ...]) -> Callable[..., Any]:
        assert options == OPTIONS
        self.bodies.append(body)
        inputs, outputs = ([part.split() for part in each.split(", ")] for each in (takes, gives))
        pointers = ", ".join(f"{C_TYPES[dtype]}* _{x}" for dtype, x in inputs + outputs)
        named = "".join(f"{C_TYPES[dtype]}& {x} = _{x}[i];\n" for dtype, x in inputs + outputs)
        source = self.folder / f"kernel{len(self.bodies)}.cpp"
        source.write_text(
            f'#include <cmath>\nusing namespace std;\nextern "C" void {name}(long size, {pointers}) {{\n'
            f"for (long i = 0; i < size; ++i) {{\n{named}{body}\n}}}}\n"
        )
        library = source.with_suffix(".so")
        flags = ["-shared", "-fPIC", "-O1", "-ffp-contract=off", "-Wall", "-Werror"]
        subprocess.run([COMPILER, *flags, "-o", library, source], check=True)
        function = ctypes.CDLL(str(library))[name]

        def kernel(*arrays: np.ndarray) -> Any:
            for x, (dtype, _) in zip(arrays, inputs, strict=True):
                assert x.dtype == dtype
            whole = [np.array(x, order="C") for x in np.broadcast_arrays(*arrays)]
            made = [np.empty(whole[0].shape, dtype) for dtype, _ in outputs]
            function(ctypes.c_long(whole[0].size), *(ctypes.c_void_p(x.ctypes.data) for x in whole + made))
            return tuple(made) if len(made) > 1 else made[0]

        return kernel


@pytest.fixture
def kernels(tmp_path: Path) -> Kernels:
    return Kernels(tmp_path)


def check(kernels: Kernels, function: Callable[..., Any], *arrays: np.ndarray, ulps: int = 0, alone: int = 0) -> str:
    """Compare a function with itself as kernels; `alone` of its operations are in none. Returns the kernels' text."""
    graph = jit.make_graph(function)(*arrays)
    run = compiled(graph, CuPyKernels(kernels))
    with np.errstate(all="ignore"):
        found, expected = run(*arrays), graph.run(*arrays)
    assert len(found) == len(expected)
    for ours, theirs in zip(found, expected):
        assert ours.dtype == theirs.dtype
        assert ours.shape == theirs.shape
        if ulps:
            info = np.finfo(theirs.dtype)
            np.testing.assert_allclose(ours, theirs, rtol=ulps * info.eps, atol=info.tiny)
        else:
            np.testing.assert_array_equal(ours, theirs)
    text = "\n".join(kernels.bodies)
    assert text.count(";") == len(graph.equations) - alone
    return text


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_arithmetic_of_floats_is_the_same_to_the_bit(kernels: Kernels, dtype: str) -> None:
    def function(x: Any, y: Any) -> Any:
        xp = xpand.array_namespace(x)
        return (
            x * y + 0.1 * x - y / 3,
            xp.square(x) - xp.abs(y) + (-x),
            xp.reciprocal(y),
            xp.sqrt(x) + xp.floor(y) + xp.ceil(x) + xp.trunc(y) + xp.round(x),
            xp.maximum(x, y),
            xp.minimum(x, y),
            xp.sign(x),
            xp.copysign(x, y),
            xp.clip(x, -1.0, 2.0),
            xp.clip(x, y, None),
            xp.where(x > y, x, float("inf")),
            xp.where(xp.isnan(x), float("nan"), -float("inf") * y),
        )

    check(kernels, function, X.astype(dtype), Y.astype(dtype))


@pytest.mark.parametrize(("dtype", "ulps"), [("float32", 8), ("float64", 4)])
def test_functions(kernels: Kernels, dtype: str, ulps: int) -> None:
    both = ["acos", "acosh", "asin", "asinh", "atan", "atanh", "cos", "cosh", "sin", "sinh", "tan", "tanh"]
    names = [*both, "exp", "expm1", "log", "log10", "log1p", "log2"]

    def function(x: Any, y: Any) -> Any:
        xp = xpand.array_namespace(x)
        return (*(getattr(xp, name)(x) for name in names), xp.atan2(x, y), xp.hypot(x, y), x**y, x**2)

    # One number less than MOST_ARRAYS arrays go in and out: a single kernel.
    check(kernels, function, X.astype(dtype), Y.astype(dtype), ulps=ulps)
    assert len(kernels.bodies) == 1


def test_comparisons_and_logic(kernels: Kernels) -> None:
    def function(x: Any, y: Any, i: Any) -> Any:
        xp = xpand.array_namespace(x)
        less, equal = x < y, x == y
        return (
            xp.logical_and(less, xp.logical_not(equal)),
            xp.logical_xor(x >= 0, y <= 1),
            (x != y) | (less & ~equal) ^ xp.isfinite(x),
            xp.isinf(x),
            xp.signbit(y),
            i > 3,
            i == x,
            xp.astype(x, xp.bool),
            xp.astype(less, xp.float32) + xp.astype(i, xp.float32),
        )

    check(kernels, function, X, Y.astype(np.float32), np.arange(X.size, dtype=np.int16))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"])
def test_integers_go_round(kernels: Kernels, dtype: str) -> None:
    info = np.iinfo(dtype)
    some = np.asarray([info.min, info.min + 1, 0, 1, 3, info.max // 3, info.max - 1, info.max], dtype=dtype)
    x, y = np.repeat(some, some.size), np.tile(some, some.size)

    def function(x: Any, y: Any) -> Any:
        xp = xpand.array_namespace(x)
        return (
            x * y + 7,
            x - y,
            -x,
            xp.abs(x),
            xp.square(x) + xp.sign(y),
            (x & y) | (~x ^ 5),
            xp.maximum(x, y) + xp.minimum(x, 2) + xp.floor(y),
            xp.clip(x, 1, 9),
            xp.where(x > y, x, int(info.min)),
            xp.where(x < info.max, y, int(info.max)),
            xp.astype(xp.astype(x, xp.float64) * 0.25, xp.int64),
        )

    check(kernels, function, x, y)


def test_shapes_spread(kernels: Kernels) -> None:
    row, column = np.arange(4.0), np.arange(3.0)[:, None]
    whole = np.arange(12.0).reshape(3, 4)

    def function(x: Any, row: Any, column: Any, number: Any) -> Any:
        return (x * row + column) / (1 + number) - x

    text = check(kernels, function, whole, row, column, np.asarray(0.5), alone=1)
    assert len(kernels.bodies) == 1
    assert re.search(r"t\d+ = ", text), "what is used inside alone is no array"


def test_what_has_no_line_stands_alone(kernels: Kernels) -> None:
    def function(x: Any, z: Any) -> Any:
        xp = xpand.array_namespace(x)
        y = xp.exp(x) * 2.0
        return xp.sum(y + 1.0) + (y % 3.0) * 4.0 - 1.0, z * z

    check(kernels, function, np.arange(5.0) / 7, np.arange(5.0) * 1j, alone=3, ulps=2)


def test_groups_with_many_arrays_are_divided(kernels: Kernels) -> None:
    arrays = [np.linspace(k, k + 1, 6) for k in range(MOST_ARRAYS + 8)]

    def function(*arrays: Any) -> Any:
        total = arrays[0] * 2.0
        for x in arrays[1:]:
            total = total + x * 0.5
        return total

    check(kernels, function, *arrays)
    assert 1 < len(kernels.bodies) < 6


def test_empty_and_scalar_shapes(kernels: Kernels) -> None:
    def function(x: Any) -> Any:
        return x * 2.0 + 1.0

    check(kernels, function, np.empty((0, 3)))
    kernels.bodies.clear()
    check(kernels, function, np.asarray(3.0))


def test_cupy_runs_kernels_that_cannot_be_compiled() -> None:
    class CompileError(Exception):
        pass

    class OnDevice(CuPyKernels):
        errors = (CompileError,)

    attempts = []

    def make(*_: Any, **options: Any) -> Callable[..., Any]:
        def kernel(*arrays: np.ndarray) -> Any:
            attempts.append(arrays)
            raise CompileError("no such instruction")

        return kernel

    f = lambda x, y: (xpand.array_namespace(x).sin(x) * y + 1.0, x + y)
    graph = jit.make_graph(f)(X, Y)
    run = compiled(graph, OnDevice(make))
    with np.errstate(all="ignore"):
        for _ in range(2):
            for found, expected in zip(run(X, Y), f(X, Y), strict=True):
                np.testing.assert_array_equal(found, expected)
    assert len(attempts) == 1
    assert ["raised" in each for each in FAILURES.values()] == [True]
    FAILURES.clear()
