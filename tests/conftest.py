"""Fixtures and settings for all tests."""

import os
import sys
from collections.abc import Iterator

# Before any library is imported: 64-bit types in JAX, one thread each, since the tests run in parallel processes.
os.environ.setdefault("JAX_ENABLE_X64", "1")
os.environ.setdefault("JAX_PLATFORMS", "" if os.environ.get("CUDA_VISIBLE_DEVICES") else "cpu")
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import pytest
from hypothesis import settings

from tests.libraries import EAGER_LIBRARIES, LIBRARIES, Library

settings.register_profile("xpand", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("xpand")


@pytest.fixture(params=LIBRARIES, ids=str)
def library(request: pytest.FixtureRequest) -> Library:
    """Every library in turn."""
    return request.param


@pytest.fixture(params=EAGER_LIBRARIES, ids=str)
def eager_library(request: pytest.FixtureRequest) -> Library:
    """Every library whose arrays hold their values."""
    return request.param


@pytest.fixture(scope="module", autouse=True)
def compiled_functions_are_dropped() -> Iterator[None]:
    """Let go of what JAX compiled in a module, which adds up to gigabytes over all of them."""
    yield
    if "jax" in sys.modules:
        sys.modules["jax"].clear_caches()
