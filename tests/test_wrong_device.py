"""Helpers never make arrays on a wrong device: every function, of arrays that lie on another than the default one.

On array-api-strict arrays of two devices don't go together, and those of the cases lie on the second. On PyTorch the
default device is "meta", which has no values, and the arrays lie on the processor. On JAX there are two devices, and
nothing may be copied from one to the other by itself.
"""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import xpand
from tests import wrong_device
from tests.cases import Case, as_tuple, batches, library_of_name
from tests.libraries import Library
from tests.wrong_device import assert_there, cases, every, failures, modules, more, named, recorded
from xpand_extensions import autodiff, devices, jit, vmap
from xpand_extensions._dispatch import OPERATIONS

STRICT = library_of_name("strict-device1")
PROCESSOR = Library("torch", lambda: xpand.namespace("torch"), lambda: torch.device("cpu"))

NO_CASE = {
    "autodiff.value_and_grad": "a shortcut for arrays of the libraries that xpand wraps",
    "autodiff.checkpoint_name": "makes no array",
    "autodiff.closure_convert": "makes no array",
    "autodiff.is_differentiated": "makes no array",
    "autodiff.residuals": "PyTorch's",
    "bits.bitcast": "not for array-api-strict",
    "convert.exported": "gives arrays to another library, which has the devices it has",
    "convert.from_pointer": "of the processor's memory",
    "convert.imported": "of another library's arrays",
    "convert.pointer": "of the processor's memory",
    "debug.callback": "makes no array",
    "debug.leaks_checked": "makes no array",
    "devices.default_device": "makes no array",
    "devices.free": "makes no array",
    "devices.memory_stats": "makes no array",
    "devices.process_count": "makes no array",
    "devices.process_index": "makes no array",
    "devices.process_indices": "makes no array",
    "devices.set_default_device": "makes no array",
    "devices.use_device": "makes no array",
    "devices.wait": "makes no array",
    "jit.eval_shape": "makes no array",
    "jit.io_callback": "calls as pure_callback does",
    "jit.lower": "makes no array",
    "jit.make_graph": "makes no array",
    "jit.named_call": "makes no array",
    "plot.drawing": "makes a picture",
    "progress.computing": "makes no array",
    "random.native_generator": "array-api-strict has none",
    "sparse.csr_plan": "JAX's",
    "sparse.to_native": "array-api-strict has no sparse arrays",
    "vmap.axis_around": "JAX's",
    "vmap.pmap": "one device for each replica",
}


@pytest.fixture
def meta() -> Iterator[None]:
    """Have PyTorch make arrays without values where no device is named."""
    with devices.use_device("meta", xp="torch"):
        yield


def square(case: Case) -> Callable[..., Any]:
    """Make a number of the floating-point results."""

    def function(*arrays: Any) -> Any:
        total: Any = 0.0
        for result in as_tuple(case.function(*arrays)):
            xp = xpand.array_namespace(result)
            if xp.isdtype(result.dtype, "real floating"):
                total = total + xp.sum(result * result)
            elif xp.isdtype(result.dtype, "complex floating"):
                total = total + xp.sum(xp.real(result) ** 2) + xp.sum(xp.imag(result) ** 2)
        return total

    return function


def value(library: Library, case: Case) -> None:
    assert_there(case.function(*(library.asarray(x) for x in case.arrays)), library.device)


def gradient(library: Library, case: Case) -> None:
    if case.differentiable:
        arrays = [library.asarray(x) for x in case.arrays]
        assert_there(autodiff.grad(square(case), case.differentiable)(*arrays), library.device)


def mapped(library: Library, case: Case) -> None:
    if case.maps:
        arrays = [library.asarray(x) for x in batches(case)]
        with np.errstate(all="ignore"):
            assert_there(vmap.vmap(case.function)(*arrays), library.device)


def compiled(library: Library, case: Case) -> None:
    if case.compiles:
        assert_there(jit.jit(case.function)(*(library.asarray(x) for x in case.arrays)), library.device)


def check(library: Library, cases: dict[str, Case], *checks: Callable[[Library, Case], None]) -> None:
    found = [each for one in checks for each in failures(cases, lambda case, one=one: one(library, case))]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("module", modules())
@pytest.mark.filterwarnings("ignore:There is a performance drop:UserWarning")
@pytest.mark.usefixtures("meta")
def test_beside_meta(module: str) -> None:
    check(PROCESSOR, cases(module), value, gradient, mapped)


@pytest.mark.parametrize("module", modules())
def test_second_device(module: str) -> None:
    check(STRICT, cases(module), gradient, mapped, compiled)


@pytest.mark.usefixtures("meta")
def test_more_beside_meta() -> None:
    cases = {name: case for name, case in more().items() if name != "jit"}  # which PyTorch takes ten seconds for
    check(PROCESSOR, cases, value)


@pytest.mark.usefixtures("meta")
def test_named_functions_beside_meta() -> None:
    check(PROCESSOR, named(), value)


def test_named_functions_on_the_second_device() -> None:
    check(STRICT, named(), value)


def test_every_operation_on_the_second_device() -> None:
    with recorded() as called:
        check(STRICT, every(), value)
    names = {operation.qualified_name for operation in OPERATIONS.values() if operation.package == "xpand_extensions"}
    missing = sorted(names - called - set(NO_CASE))
    assert not missing, "operations that no case calls: tests/wrong_device.py is the place for one"
    assert set(NO_CASE) <= names


def test_jax_on_the_second_of_two_devices() -> None:
    environment = os.environ | {
        "XLA_FLAGS": f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count=2",
        "JAX_PLATFORMS": "cpu",
        "JAX_ENABLE_X64": "1",
    }
    run = subprocess.run(
        [sys.executable, "-m", "tests.wrong_device"],
        env=environment,
        cwd=Path(wrong_device.__file__).parents[1],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr


def test_a_wrong_device_is_found() -> None:
    """The checks can fail: on each library, by a helper that forgets the device."""
    x = np.asarray([1.0, 2.0])
    forgets = {"forgets": Case(lambda x: x + xpand.array_namespace(x).ones(2), (x,))}
    with pytest.raises(AssertionError, match="forgets"):
        check(STRICT, forgets, value)
    with devices.use_device("meta", xp="torch"), pytest.raises(AssertionError, match="forgets"):
        check(PROCESSOR, forgets, value)
