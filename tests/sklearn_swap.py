"""scikit-learn's own array API tests, with its vendored array-api-compat replaced by xpand.

As a pytest plug-in (`PYTEST_PLUGINS=tests.sklearn_swap`, which reaches the processes of pytest-xdist in time) this
module makes the replacement. As a script (`python tests/sklearn_swap.py --jobs 2`) it runs the tests both ways and
compares: no test may fail or be skipped with xpand that passes without.
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
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

VENDORED = "sklearn.externals.array_api_compat"
PLUGIN = "tests.sklearn_swap"
ROOT = Path(__file__).resolve().parent.parent
BAD = ("failed", "error")
HEADER = "scikit-learn's array_api_compat is {}, its namespace of NumPy {}"


def swap() -> None:
    """Put xpand where scikit-learn has its copy of array-api-compat."""
    if "sklearn" in sys.modules:
        raise RuntimeError("sklearn is imported already, with its own array_api_compat")
    places = ["", ".common"]
    for library in (".numpy", ".torch", ".cupy", ".dask.array"):
        if find_spec(library.split(".")[1]) is not None:
            places += [library, f"{library}.linalg", f"{library}.fft"]
    for place in places:
        sys.modules[VENDORED + place] = importlib.import_module(f"xpand{place}")
    from sklearn.utils import _array_api

    # scikit-learn knows the namespace of NumPy by its module's name.
    _array_api._NUMPY_NAMESPACE_NAMES.add("xpand.numpy")


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests() -> None:
    """Make the replacement before scikit-learn's `conftest.py` imports scikit-learn."""
    swap()


def pytest_report_header(config: object) -> str:
    """Say what scikit-learn really uses."""
    from sklearn.utils import _array_api

    return HEADER.format(_array_api.array_api_compat.__name__, _array_api.np_compat.__name__)


def run(selection: Sequence[str], *, swapped: bool, jobs: int = 0) -> dict[str, str]:
    """Run tests of scikit-learn in a process of their own; return the outcome of each.

    The selection is module names and options of pytest, such as `("sklearn.utils", "-k", "array_api")`, or tests by the
    names that the result has.
    """
    spec = find_spec("sklearn")
    assert spec is not None
    assert spec.origin is not None
    package = Path(spec.origin).parent
    with tempfile.TemporaryDirectory() as folder:
        settings, report = Path(folder, "pytest.ini"), Path(folder, "report.json")
        settings.write_text("[pytest]\n", encoding="utf-8")  # scikit-learn's tests, not under the settings of ours
        command = [sys.executable, "-m", "pytest", "-c", str(settings), "--rootdir", str(package), "-p"]
        command += ["no:cacheprovider", "--tb=short", "--disable-warnings", f"--numprocesses={jobs}", "-rfE"]
        command += ["--json-report", f"--json-report-file={report}", "--json-report-omit", "log", "streams", "keywords"]
        command += ["--pyargs", *(str(package / each) if "::" in each else each for each in selection)]
        environment = {**os.environ, "SCIPY_ARRAY_API": "1", "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
        environment |= {"PYTEST_PLUGINS": PLUGIN} if swapped else {}
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
        if done.returncode not in (0, 1) or not report.exists():
            raise RuntimeError(f"the tests of scikit-learn stopped:\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}")
        if swapped and HEADER.format("xpand", "xpand.numpy") not in done.stdout:
            raise RuntimeError(f"the replacement had no effect:\n{done.stdout[:2000]}")
        tests = json.loads(report.read_text(encoding="utf-8"))["tests"]
    return {test["nodeid"]: _outcome(test) for test in tests}


def _outcome(test: dict[str, Any]) -> str:
    crash = test.get("call", {}).get("crash", {}).get("message", "")
    return f"{test['outcome']}: {crash.splitlines()[0]}" if crash and test["outcome"] in BAD else str(test["outcome"])


def lost(without: dict[str, str], with_xpand: dict[str, str]) -> list[str]:
    """Name the tests that pass with scikit-learn's own copy and don't with xpand, and those that newly fail."""
    found = []
    for test in sorted(without.keys() | with_xpand.keys()):
        before, after = without.get(test, "absent"), with_xpand.get(test, "absent")
        newly_fails = after.startswith(BAD) and not before.startswith(BAD)
        if newly_fails or (before == "passed" and after != "passed"):
            found.append(f"{test}: {before} without, {after} with xpand")
    return found


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main() -> int:
    """Compare on all of scikit-learn's array API tests."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-k", default="array_api", help="which tests, as pytest's -k")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    options = parser.parse_args()
    outcomes = {}
    for swapped in (False, True):
        name = "with xpand" if swapped else "without"
        outcomes[swapped] = run(["sklearn", "-k", options.k], swapped=swapped, jobs=options.jobs)
        counts = Counter(outcome.partition(":")[0] for outcome in outcomes[swapped].values())
        _say(f"{name}: " + ", ".join(f"{count} {outcome}" for outcome, count in counts.most_common()))
    worse = lost(outcomes[False], outcomes[True])
    _say("\n".join(worse) or "nothing is lost")
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
