"""Fixtures and settings for all tests."""

import gc
import importlib.metadata
import importlib.util
import inspect
import logging.handlers
import os
import sys
from collections.abc import Generator, Iterable, Iterator
from pathlib import Path
from typing import Any

# Set these before any library is imported. `tests/libraries.py` expects 64-bit types in JAX and the strictest flags.
# Tests run in parallel processes, so each library gets one thread.
os.environ.setdefault("JAX_ENABLE_X64", "1")
os.environ.setdefault("ARRAY_API_STRICT_API_VERSION", "2025.12")
os.environ.setdefault("DASK_SCHEDULER", "synchronous")
os.environ.setdefault("JAX_PLATFORMS", "" if os.environ.get("CUDA_VISIBLE_DEVICES") else "cpu")
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

# Compilation takes most of JAX's time in tests. XLA's older emitters take a third less time than its present ones. A
# jaxlib without this flag would end the process.
if importlib.util.find_spec("jaxlib") and importlib.metadata.version("jaxlib").startswith("0.10."):
    os.environ.setdefault("XLA_FLAGS", "--xla_cpu_use_fusion_emitters=false")
# Compiled programs are stored for the other processes and for later runs, also of other checkouts.
_CACHES = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(_CACHES / "xpand-tests" / "jax"))
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1")

import numpy as np
import pytest
from hypothesis import settings

# Before they are imported: asserts of shared modules show values, as those of test modules do.
pytest.register_assert_rewrite(
    *(
        f"tests.{path.stem}"
        for path in Path(__file__).parent.glob("*.py")
        if not path.stem.startswith(("test_", "conftest", "_"))
    )
)

from tests import alone, references
from tests.libraries import EAGER_LIBRARIES, LIBRARIES, Library
from tests.tiers import omitted, tenth_of_today

settings.register_profile("xpand", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("xpand")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options for the tier and for reference values."""
    parser.addoption(
        "--tier", choices=("quick", "ci", "deep"), default="deep", help="which slow tests run: none, a tenth, all"
    )
    parser.addoption("--libraries", default="", help="run tests only on these libraries: torch,jax")
    parser.addoption(
        "--alone", action="store_true", help="with --libraries: import no other library, skip tests that need one"
    )
    parser.addoption("--references", choices=("use", "check", "write"), default="use", help="JAX's stored values")


def pytest_configure(config: pytest.Config) -> None:
    """Choose the tenth of the slow tests for all processes of the run, and set how reference values are used."""
    tenth_of_today()
    references.mode = config.getoption("references")
    if config.getoption("alone"):
        alone.exclude(config.getoption("libraries").split(","))


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write the reference values that this process computed, with `--references=write`."""
    if references.mode == "write":
        references.write()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[Any, Any, Any]:
    """Add a hint to the report of a failed test that used stored values."""
    report = yield
    if report.failed and item.name in references.used:
        report.sections.append(("reference values", references.HINT))
    return report


def pytest_report_header(config: pytest.Config) -> str | None:
    """Report which slow tests run."""
    if config.getoption("tier") != "ci":
        return None
    return f"slow tests: one in ten, XPAND_TEST_TENTH={tenth_of_today()} runs the same again"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect tests that don't apply to their parameters, and, by the options, slow tests and other libraries."""
    unwanted = {item.nodeid for item in items if not _applies(item) or alone.Placeholder in map(type, _params(item))}
    if config.getoption("tier") != "deep":
        unwanted |= slow_ones(items, ci=config.getoption("tier") == "ci")
    if wanted := {name for name in config.getoption("libraries").split(",") if name}:
        unwanted |= {item.nodeid for item in items if not _libraries_of(item) <= wanted}
    if unwanted:
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid in unwanted])
        items[:] = [item for item in items if item.nodeid not in unwanted]


def slow_ones(items: list[pytest.Item], *, ci: bool) -> set[str]:
    """Return the slow tests to omit. `ci` keeps a tenth of them, and those marked `every_run`."""
    names = [item.nodeid for item in items if not (ci and item.get_closest_marker("every_run"))]
    return omitted(names, tenth_of_today() if ci else None)


def _applies(item: pytest.Item) -> bool:
    return not any(
        condition(*(item.callspec.params[name] for name in inspect.signature(condition).parameters))
        for marker in item.iter_markers("unless")
        for condition in marker.args
    )


def _libraries_of(item: pytest.Item) -> set[str]:
    return {value.id.partition("-")[0] for value in _params(item) if isinstance(value, Library)}


def _params(item: pytest.Item) -> Iterable[Any]:
    callspec = getattr(item, "callspec", None)
    return callspec.params.values() if callspec is not None else ()


def pytest_collection_finish() -> None:
    """Make the garbage collector ignore imported objects, and run less often. It would take 6 % of the time."""
    alone.collecting = False
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Reset the module's random generators, so that a test draws the same numbers regardless of earlier tests."""
    module = getattr(item, "module", None)
    for name, generator in vars(module).items() if module else ():
        if isinstance(generator, np.random.Generator):
            state = _generator_states.setdefault((module.__name__, name), generator.bit_generator.state)
            generator.bit_generator.state = state


_generator_states: dict[tuple[str, str], Any] = {}


@pytest.fixture(scope="module")
def only_new_objects() -> None:
    """Freeze all objects for the garbage collector before the tests of a module, so that collections are short."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def records() -> Iterator[list[logging.LogRecord]]:
    """The log messages of a test. pytest's own plug-in is off: it adds a handler to forty loggers six times a test."""
    handler = logging.handlers.BufferingHandler(10_000)
    loggers = [logging.getLogger(name) for name in (None, "jax", "torch")]
    for logger in loggers:
        logger.addHandler(handler)
    yield handler.buffer
    for logger in loggers:
        logger.removeHandler(handler)


@pytest.fixture(params=LIBRARIES, ids=str)
def library(request: pytest.FixtureRequest) -> Library:
    """Every library in turn."""
    return request.param


@pytest.fixture(params=EAGER_LIBRARIES, ids=str)
def eager_library(request: pytest.FixtureRequest) -> Library:
    """Every library with concrete arrays, in turn."""
    return request.param


@pytest.fixture
def own_operations() -> Iterator[None]:
    """Forget the operations that a test defines."""
    from xpand_extensions._capabilities import import_facades
    from xpand_extensions._dispatch import OPERATIONS

    import_facades()
    before = dict(OPERATIONS)
    yield
    OPERATIONS.clear()
    OPERATIONS.update(before)


@pytest.fixture(autouse=True)
def no_compiler_fails() -> Iterator[None]:
    """Fail if a compiler failed that a test did not name: the library would hide it."""
    yield
    module = sys.modules.get("xpand_extensions.tracing._backend")
    failed = [] if module is None else list(module.FAILURES.items())
    if failed:
        module.FAILURES.clear()
    assert not failed


@pytest.fixture(scope="module", autouse=True)
def compiled_functions_are_dropped() -> Iterator[None]:
    """Drop the programs that JAX compiled for a module. Those of all modules would take gigabytes."""
    yield
    if "jax" in sys.modules:
        sys.modules["jax"].clear_caches()
