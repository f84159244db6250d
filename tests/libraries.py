"""The list of all libraries on which the tests run.

Each entry is as strict as its library allows: NumPy arrays are read-only, JAX has 64-bit types, array-api-strict has
its strictest flags and runs once on a device that is not the default. Warnings are errors everywhere.
"""

import importlib.util
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest

import xpand
from xpand_extensions.devices import device_count


@dataclass(frozen=True)
class Library:
    """A library, or a library on one of its devices. It is imported when a test first uses it."""

    id: str
    load: Callable[[], Any] = field(repr=False)
    load_device: Callable[[], Any] = field(default=lambda: None, repr=False)
    to_numpy: Callable[[Any], np.ndarray] = field(default=np.asarray, repr=False)
    read_only: bool = False
    lazy: bool = False

    @cached_property
    def xp(self) -> Any:
        """The namespace."""
        return self.load()

    @cached_property
    def device(self) -> Any:
        """The device of arrays; None for the library's default."""
        return self.load_device()

    def asarray(self, values: Any, dtype: Any = None) -> Any:
        """Make an array from values on this entry's device, with the library's data type called `dtype`."""
        values = np.asarray(values)
        dtype = getattr(self.xp, str(values.dtype) if dtype is None else str(np.dtype(dtype)))
        # Copy to writeable memory: torch warns of read-only sources.
        x = self.xp.asarray(np.array(values), dtype=dtype, device=self.device)
        if self.read_only:
            x.flags.writeable = False
        return x

    def assert_equal(self, actual: Any, expected: Any, *, rtol: float = 0.0, atol: float = 0.0) -> None:
        """Assert that a result belongs to this library and device, and equals a NumPy array. NaN equals NaN."""
        expected = np.asarray(expected)
        assert xpand.array_namespace(actual) is self.xp, f"{type(actual)} is not of {self.id}"
        assert xpand.device(actual) == self.expected_device, f"on {xpand.device(actual)}, not {self.expected_device}"
        result = np.asarray(self.to_numpy(actual))
        assert result.dtype == expected.dtype, f"{result.dtype} is not {expected.dtype}"
        assert result.shape == expected.shape, f"{result.shape} is not {expected.shape}"
        np.testing.assert_allclose(result, expected, rtol=rtol, atol=atol, equal_nan=True)

    @property
    def expected_device(self) -> Any:
        """The device of this entry's arrays."""
        return xpand.device(self.asarray(0.0)) if self.device is None else self.device

    def __str__(self) -> str:
        """Name the entry in test ids."""
        return self.id


def _strict_to_numpy(x: Any) -> np.ndarray:
    import array_api_strict as strict

    return np.asarray(x.to_device(strict.Device("CPU_DEVICE")))


@cache
def _strict() -> Any:
    import array_api_strict as strict

    strict.set_array_api_strict_flags(api_version="2025.12")
    return strict


def _jax() -> Any:
    import jax

    jax.config.update("jax_enable_x64", True)
    return xpand.namespace("jax")


def _dask() -> Any:
    import dask

    # More threads would only slow the tests down.
    dask.config.set(scheduler="synchronous")
    return xpand.namespace("dask")


def _libraries() -> list[Library]:
    return [
        Library("numpy", partial(xpand.namespace, "numpy"), read_only=True),
        Library("torch", partial(xpand.namespace, "torch"), to_numpy=_torch_to_numpy),
        Library("jax", _jax),
        Library("strict", _strict, to_numpy=_strict_to_numpy),
        Library("strict-device1", _strict, lambda: _strict().Device("device1"), to_numpy=_strict_to_numpy),
        Library("dask", _dask, lazy=True),
        *(_on_gpus() if any(map(Path.exists, _GPUS)) else ()),
    ]


_GPUS: Final = (Path("/dev/nvidiactl"), Path("/dev/dxg"))
"""The devices of GPUs on Linux, and on Linux within Windows. If none exists, libraries are not asked for GPUs."""


def _torch_to_numpy(x: Any) -> np.ndarray:
    return x.detach().cpu().resolve_conj().resolve_neg().numpy()


def _on_gpus() -> list[Library]:
    """List the libraries with a GPU here: PyTorch, CuPy, and JAX if its platform allows one."""
    import jax
    import torch

    found = []
    if torch.cuda.is_available():
        cuda = partial(torch.device, "cuda:0")
        found.append(Library("torch-cuda", partial(xpand.namespace, "torch"), cuda, to_numpy=_torch_to_numpy))
    if "cuda" in os.environ.get("JAX_PLATFORMS", "") and device_count("jax", "gpu"):
        found.append(Library("jax-cuda", _jax, lambda: jax.devices("gpu")[0]))
    if importlib.util.find_spec("cupy") is not None:
        import cupy

        if cupy.cuda.is_available():
            found.append(Library("cupy", partial(xpand.namespace, "cupy"), to_numpy=cupy.asnumpy))
    return found


LIBRARIES = _libraries()
EAGER_LIBRARIES = [library for library in LIBRARIES if not library.lazy]


def unless(condition: Callable[..., bool]) -> pytest.MarkDecorator:
    """Skip a test for parameters that fulfil a condition. The condition names parameters by its arguments."""
    return pytest.mark.unless(condition)
