"""Fixtures and settings for all tests."""

import gc
import importlib.metadata
import os
import sys
from collections.abc import Iterator
from pathlib import Path

# Before any library is imported: 64-bit types in JAX, one thread each, since the tests run in parallel processes.
os.environ.setdefault("JAX_ENABLE_X64", "1")
os.environ.setdefault("JAX_PLATFORMS", "" if os.environ.get("CUDA_VISIBLE_DEVICES") else "cpu")
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

# Compiling takes most of JAX's time in tests. XLA's older emitters take a third less of it than its present ones; a
# jaxlib without this flag would end the process.
if importlib.metadata.version("jaxlib").startswith("0.10."):
    os.environ.setdefault("XLA_FLAGS", "--xla_cpu_use_fusion_emitters=false")
# What is compiled is kept for the other processes, and for the next run.
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(Path(__file__).parents[1] / ".pytest_cache" / "jax"))
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1")

import pytest
from hypothesis import settings

from tests.libraries import EAGER_LIBRARIES, LIBRARIES, Library

settings.register_profile("xpand", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("xpand")


def pytest_collection_finish() -> None:
    """Have the collector pass over all that is imported, which lives as long as the process."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="module")
def only_new_objects() -> None:
    """Have the collector pass over all that there is before the tests of a module: so each of its looks is short."""
    gc.collect()
    gc.freeze()


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
