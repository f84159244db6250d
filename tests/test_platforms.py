"""Other processors and systems: what is installed there, what runs, and what errors say."""

import os
import re
import tomllib
from importlib.util import find_spec
from pathlib import Path
from platform import machine

import numpy as np
import pytest
from packaging.requirements import Requirement

from xpand_extensions import statistics
from xpand_extensions.generic.statistics import _order
from xpand_extensions.jit import jit
from xpand_extensions.plugins.numpy.jit import native

ROOT = Path(__file__).parents[1]
IS_X86 = machine().lower() in ("x86_64", "amd64")


@pytest.mark.skipif(not IS_X86, reason="native code is for x86-64")
@pytest.mark.skipif(not (os.environ.get("CI") or find_spec("llvmlite")), reason="needs llvmlite, which CI installs")
def test_native_code_is_available_on_x86() -> None:
    """If it were not, all of its tests would be skipped."""
    assert native.BACKEND.is_available()
    x = np.ones(3)
    np.testing.assert_array_equal(jit(lambda x: x * 2.0 + 1.0, compiler="native")(x), x * 3.0)


def test_the_requirement_of_native_code_is_that_of_the_processor() -> None:
    assert native.needs_on("x86_64") == native.needs_on("AMD64") == "llvmlite: pip install 'xpand[native]'"
    for processor in ("aarch64", "arm64", "ppc64le", "s390x", ""):
        assert "a processor of the kind x86-64" in (text := native.needs_on(processor))
        assert processor in text
        assert "pip install" not in text
    assert native.BACKEND.needs == native.needs_on(machine())


@pytest.mark.parametrize("method", ["linear", "midpoint", "median_unbiased"])
def test_quantiles_where_indices_have_32_bits(monkeypatch: pytest.MonkeyPatch, method: str) -> None:
    """Positions are computed with 64 bits, if the library has them."""
    x = np.random.default_rng(0).normal(size=100_003)
    monkeypatch.setattr(_order, "index_dtype", lambda *_: np.int32)
    for q in (0.3, 0.777):
        expected = np.quantile(x, q, method=method)
        np.testing.assert_allclose(_order.quantile(x, q, axis=(0,), method=method), expected, rtol=1e-13)
        np.testing.assert_allclose(_order.nanquantile(x, q, axis=(0,), method=method), expected, rtol=1e-13)
    assert statistics.quantile(x, 0.3).dtype == np.float64


SYSTEMS = {
    "Linux": ("linux", "x86_64", {"llvmlite", "torch", "jax", "dask"}),
    "Linux on ARM": ("linux", "aarch64", {"torch", "jax", "dask"}),
    "macOS": ("darwin", "arm64", {"torch", "jax", "dask"}),
    "macOS on Intel": ("darwin", "x86_64", {"llvmlite", "dask"}),
    "Windows": ("win32", "AMD64", {"llvmlite", "torch", "jax", "dask"}),
    "Windows on ARM": ("win32", "ARM64", {"dask"}),
}


@pytest.mark.parametrize(("system", "processor", "expected"), SYSTEMS.values(), ids=SYSTEMS)
def test_extras_can_be_installed(system: str, processor: str, expected: set[str]) -> None:
    """PyTorch and jaxlib have no wheels for Intel Macs and for Windows on ARM."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]

    def installed(extra: str) -> set[str]:
        found = set()
        for each in map(Requirement, extras[extra]):
            if each.marker is None or each.marker.evaluate({"sys_platform": system, "platform_machine": processor}):
                found |= set.union(*map(installed, each.extras)) if each.name == "xpand" else {each.name}
        return found

    packages = {"llvmlite", "torch", "jax", "dask"}
    assert (installed("all") | installed("native")) & packages == expected


def test_the_readme_has_no_picture_that_a_package_index_lacks() -> None:
    pictures = re.findall(r"!\[[^\]]*\]\(([^)]*)\)", (ROOT / "README.md").read_text())
    assert all(each.startswith("https://") for each in pictures)
