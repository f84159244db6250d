"""Run the array API tests of scikit-learn and SciPy with xpand in place of their vendored array-api-compat.

As a pytest plug-in (`PYTEST_PLUGINS=tests.dropin_swap`, which reaches the processes of pytest-xdist in time), this
module makes the replacement in the package that `XPAND_SWAP` names. As a script
(`python tests/dropin_swap.py scipy --jobs 2`), it runs a package's tests both ways and compares: a test that passes
without xpand must pass with it.
"""

import argparse
import importlib
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import pytest

PLUGIN = "tests.dropin_swap"
VARIABLE = "XPAND_SWAP"
ROOT = Path(__file__).resolve().parent.parent
BAD = ("failed", "error")
HEADER = "{}'s namespace of NumPy is {}"


@dataclass(frozen=True)
class Package:
    """A package with a copy of array-api-compat."""

    name: str
    vendored: str
    """The package's copy of array-api-compat."""
    helpers: str
    """The package's module with NumPy's namespace as `np_compat`."""
    selection: tuple[str, ...]
    """The options of pytest that select the array API tests."""
    expected: dict[str, str] = field(default_factory=dict)
    """The reasons of tests that can't pass with xpand, by a part of their names."""

    def expects(self, test: str) -> bool:
        """Return whether a test can't pass with xpand."""
        return any(part in test for part in self.expected)


PACKAGES: Final = {
    "sklearn": Package(
        "sklearn", "sklearn.externals.array_api_compat", "sklearn.utils._array_api", ("-k", "array_api")
    ),
    "scipy": Package(
        "scipy",
        "scipy._lib.array_api_compat",
        "scipy._lib._array_api",
        ("-m", "array_api_backends"),
        {
            "TestArrayAPI::test_array_namespace": "expects the name of array-api-compat's module",
            "TestArrayAPI::test_jax_zero_gradient_array": "expects jax.numpy itself as the namespace",
            "TestChandrupatlaMinimize::test_input_validation[torch]": "expects the message of another PyTorch function",
            "TestFindRoot::test_input_validation[torch]": "expects the message of another PyTorch function",
            "::test_device[numpy": "expects devices as a list, as in versions of the standard before 2025.12",
        },
    ),
}


def swap(package: Package) -> None:
    """Replace a package's copy of array-api-compat by xpand."""
    if package.helpers in sys.modules:
        raise RuntimeError(f"{package.name} is imported already, with its own array_api_compat")
    places = ["", ".common"]
    for library in (".numpy", ".torch", ".cupy", ".dask.array"):
        if find_spec(library.split(".")[1]) is not None:
            places += [library, f"{library}.linalg", f"{library}.fft"]
    for place in places:
        sys.modules[package.vendored + place] = importlib.import_module(f"xpand{place}")
    # SciPy reads the name of the package from a private module of array-api-compat, to name namespaces.
    private: Any = ModuleType(f"{package.vendored}.common._helpers")
    private._compat_module_name = lambda: "xpand"
    sys.modules[private.__name__] = private
    if package.name == "sklearn":  # scikit-learn recognizes NumPy's namespace by its module's name
        importlib.import_module(package.helpers)._NUMPY_NAMESPACE_NAMES.add("xpand.numpy")


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests() -> None:
    """Make the replacement before the package's `conftest.py` imports the package."""
    swap(PACKAGES[os.environ[VARIABLE]])


def pytest_report_header(config: object) -> str:
    """Report the namespace that the package really uses."""
    name = os.environ[VARIABLE]
    helpers = importlib.import_module(PACKAGES[name].helpers)
    return HEADER.format(name, helpers.np_compat.__name__)


def run(package: Package, selection: Sequence[str], *, swapped: bool, jobs: int = 0) -> dict[str, str]:
    """Run tests of a package in a separate process; return the outcome of each.

    The selection consists of module names and options of pytest, such as `("sklearn.utils", "-k", "array_api")`, or of
    names of tests from such a result.
    """
    spec = find_spec(package.name)
    assert spec is not None
    assert spec.origin is not None
    place = Path(spec.origin).parent
    with tempfile.TemporaryDirectory() as folder:
        settings, report = Path(folder, "pytest.ini"), Path(folder, "report.json")
        settings.write_text("[pytest]\n", encoding="utf-8")  # run the package's tests without xpand's settings
        command = [sys.executable, "-m", "pytest", "-c", str(settings), "--rootdir", str(place), "-p"]
        command += ["no:cacheprovider", "--tb=short", "--disable-warnings", f"--numprocesses={jobs}", "-rfE"]
        command += ["--json-report", f"--json-report-file={report}", "--json-report-omit", "log", "streams", "keywords"]
        command += ["--pyargs", *(str(place / each) if "::" in each else each for each in selection)]
        environment = {**os.environ, "SCIPY_ARRAY_API": "1", "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
        environment |= {"PYTEST_PLUGINS": PLUGIN, VARIABLE: package.name} if swapped else {}
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
        if done.returncode not in (0, 1) or not report.exists():
            raise RuntimeError(f"the tests of {package.name} stopped:\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}")
        if swapped and HEADER.format(package.name, "xpand.numpy") not in done.stdout:
            raise RuntimeError(f"the replacement had no effect:\n{done.stdout[:2000]}")
        tests = json.loads(report.read_text(encoding="utf-8"))["tests"]
    return {test["nodeid"]: _outcome(test) for test in tests}


def _outcome(test: dict[str, Any]) -> str:
    crash = test.get("call", {}).get("crash", {}).get("message", "")
    return f"{test['outcome']}: {crash.splitlines()[0]}" if crash and test["outcome"] in BAD else str(test["outcome"])


def lost(package: Package, without: dict[str, str], with_xpand: dict[str, str]) -> list[str]:
    """Name the tests that pass with the package's own copy but not with xpand, and new failures."""
    found = []
    for test in sorted(without.keys() | with_xpand.keys()):
        before, after = without.get(test, "absent"), with_xpand.get(test, "absent")
        newly_fails = after.startswith(BAD) and not before.startswith(BAD)
        if (newly_fails or (before == "passed" and after != "passed")) and not package.expects(test):
            found.append(f"{test}: {before} without, {after} with xpand")
    return found


def check(package: Package, selection: Sequence[str], least: int) -> None:
    """Assert that tests of a package pass with xpand if they pass without, and that at least `least` of them pass."""
    with_xpand = run(package, [*selection, *package.selection], swapped=True)
    others = {test: outcome for test, outcome in with_xpand.items() if outcome != "passed"}
    assert len(with_xpand) - len(others) >= least, "the part has lost its tests"
    # Tests that pass with xpand need not run without it.
    others = {test: outcome for test, outcome in others.items() if not package.expects(test)}
    if others:
        assert lost(package, run(package, [*others], swapped=False), others) == []


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main() -> int:
    """Compare on all array API tests of a package."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("package", choices=PACKAGES)
    parser.add_argument("modules", nargs="*", help="modules such as scipy.stats; by default, the whole package")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    options = parser.parse_args()
    package, outcomes = PACKAGES[options.package], {}
    for swapped in (False, True):
        name = "with xpand" if swapped else "without"
        selection = [*(options.modules or [package.name]), *package.selection]
        outcomes[swapped] = run(package, selection, swapped=swapped, jobs=options.jobs)
        counts = Counter(outcome.partition(":")[0] for outcome in outcomes[swapped].values())
        _say(f"{name}: " + ", ".join(f"{count} {outcome}" for outcome, count in counts.most_common()))
    worse = lost(package, outcomes[False], outcomes[True])
    _say("\n".join(worse) or "nothing is lost")
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
