"""How exact products of float32 matrices are: the libraries' own switches follow, and are turned back."""

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
import torch

from tests.libraries import Library
from tests.test_namespace_cupy import STAND_IN
from xpand_extensions.jit import jit
from xpand_extensions.precision import get_matmul_precision, matmul_precision, set_matmul_precision

OF_JAX = {"highest": "highest", "high": "high", "medium": "default"}
LEVELS = list(OF_JAX)


def of_torch() -> tuple[str, str, str]:
    backends = torch.backends.cuda.matmul, torch.backends.mkldnn.matmul
    return torch.get_float32_matmul_precision(), *(backend.fp32_precision for backend in backends)


def of_jax() -> str | None:
    found: str | None = jax.config.jax_default_matmul_precision
    return found


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    """After every test all switches are what they were."""
    before = of_torch(), of_jax()
    assert get_matmul_precision() is None
    yield
    assert get_matmul_precision() is None
    assert (of_torch(), of_jax()) == before


@pytest.mark.parametrize("level", LEVELS)
def test_block(level: Any) -> None:
    with matmul_precision(level):
        assert get_matmul_precision() == level
        assert torch.get_float32_matmul_precision() == level
        assert of_jax() == OF_JAX[level]


def test_nested_blocks_and_errors() -> None:
    before = of_torch(), of_jax()
    with suppress(ZeroDivisionError), matmul_precision("high"):
        with suppress(ZeroDivisionError), matmul_precision("medium"):
            assert (torch.get_float32_matmul_precision(), of_jax()) == ("medium", "default")
            with matmul_precision(None):
                assert get_matmul_precision() is None
                assert (of_torch(), of_jax()) == before
            raise ZeroDivisionError
        assert (torch.get_float32_matmul_precision(), of_jax()) == ("high", "high")
        raise ZeroDivisionError


def test_process() -> None:
    try:
        set_matmul_precision("high")
        seen: list[Any] = []
        look = lambda: seen.append((get_matmul_precision(), torch.get_float32_matmul_precision(), of_jax()))
        thread = threading.Thread(target=look)
        thread.start()
        thread.join()
        assert seen == [("high", "high", "high")]
        with matmul_precision("medium"):
            look()
            with matmul_precision(None):
                look()
        assert seen[1:] == [("medium", "medium", "default"), ("high", "high", "high")]
    finally:
        set_matmul_precision(None)


def test_blocks_of_threads_that_overlap() -> None:
    """JAX's switch is the thread's; PyTorch's is as the block entered last asks, of those that are open."""
    entered, leave = threading.Event(), threading.Event()
    seen: list[Any] = []

    def work() -> None:
        with matmul_precision("medium"):
            entered.set()
            leave.wait()
            seen.append((get_matmul_precision(), of_jax()))

    thread = threading.Thread(target=work)
    with ExitStack() as stack:
        stack.enter_context(matmul_precision("high"))
        thread.start()
        entered.wait()
        assert (get_matmul_precision(), of_jax(), torch.get_float32_matmul_precision()) == ("high", "high", "medium")
    assert torch.get_float32_matmul_precision() == "medium"
    leave.set()
    thread.join()
    assert seen == [("medium", "default")]


def test_switch_of_torch_by_its_newer_names() -> None:
    """PyTorch has two ways to say the same, and refuses to answer in one what was said in the other."""
    backend = torch.backends.cuda.matmul
    before = backend.fp32_precision
    backend.fp32_precision = "tf32"
    try:
        with matmul_precision("medium"):
            assert torch.get_float32_matmul_precision() == "medium"
        assert backend.fp32_precision == "tf32"
    finally:
        backend.fp32_precision = before


def test_products(library: Library) -> None:
    """On a processor without faster units, and for other data types, nothing changes."""
    a = np.asarray([[1.0, 1e-9], [3.0, 4.0]])
    for level in (*LEVELS, None):
        with matmul_precision(level):
            library.assert_equal(library.xp.matmul(library.asarray(a), library.asarray(a)), a @ a, rtol=1e-15)


def test_jit() -> None:
    """Programs compiled for one level aren't used for another; JAX's own jit ensures that by itself."""
    traced = []

    @jit
    def product(x: Any) -> Any:
        traced.append(get_matmul_precision())
        return x @ x

    x = np.ones((2, 2), np.float32)
    for level in (None, "high", "highest", "high", None):
        with matmul_precision(level):  # type: ignore[arg-type]
            assert product(x)[0, 0] == 2
    assert traced == [None, "high", "highest"]


def test_precision_in_what_jax_compiles() -> None:
    x = jax.numpy.ones((2, 2), jax.numpy.float32)
    for level, written in (("highest", "HIGHEST"), ("high", "HIGH")):
        with matmul_precision(level):  # type: ignore[arg-type]
            assert written in str(jax.make_jaxpr(lambda x: x @ x)(x))


ROUTINES = """
COMPUTE_TYPE_DEFAULT, COMPUTE_TYPE_FP32, COMPUTE_TYPE_BF16, COMPUTE_TYPE_TF32 = 1, 4, 6, 7
types = {"float32": 1}
set_compute_type, get_compute_type = types.__setitem__, types.__getitem__
"""

ON_CUPY = """
import cupy
from cupy._core._routines_linalg import types
from xpand import namespace
from xpand_extensions.precision import matmul_precision, precision

xp = namespace("cupy")
cupy.cuda.Device.compute_capability = "90"
with matmul_precision("high"):
    assert types["float32"] == 7
    with matmul_precision("highest"):
        assert types["float32"] == 4
    with matmul_precision("medium"):
        assert types["float32"] == 6
    cupy.cuda.Device.compute_capability = "75"
    with matmul_precision("medium"):
        assert types["float32"] == 4
assert types["float32"] == 1

made = lambda: [
    str(x.dtype)
    for x in (
        xp.zeros(3), xp.ones(3), xp.empty(3), xp.eye(2), xp.linspace(0, 1, 3), xp.full(3, 1.5), xp.arange(3.0),
        xp.asarray([1.5]), xp.fft.fftfreq(4), xp.fft.rfftfreq(4), xp.arange(3), xp.arange(1, 3), xp.asarray(1),
        xp.full(3, 2), xp.linspace(0, 1j, 3), xp.asarray([1j]),
    )
]
for bits, integer, complex_ in ((16, 32, 64), (32, 32, 64), (64, 64, 128), (None, 64, 128)):
    with precision(bits):
        wanted = [f"float{bits or 64}"] * 10 + [f"int{integer}"] * 4 + [f"complex{complex_}"] * 2
        assert made() == wanted, (bits, made())
        assert str(xp.__array_namespace_info__().default_dtypes()["integral"]) == f"int{integer}"
"""


def test_cupy(tmp_path: Path) -> None:
    """On a stand-in for CuPy: the switch is turned and turned back, not on old processors; and what is created."""
    core = tmp_path / "cupy" / "_core"
    core.mkdir(parents=True)
    (tmp_path / "cupy" / "__init__.py").write_text(STAND_IN)
    (core / "__init__.py").write_text("")
    (core / "_routines_linalg.py").write_text(ROUTINES)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])}
    command = [sys.executable, "-c", ON_CUPY]
    done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("function", [matmul_precision, set_matmul_precision])
def test_bad_input(function: Any) -> None:
    with pytest.raises(
        ValueError, match=f"{function.__name__}: level must be one of 'highest', 'high', 'medium'.*mean"
    ):
        function("highst")
    with pytest.raises(TypeError, match=rf"{function.__name__}: level must be one of .*, got 32 \(int\)"):
        function(32)
