"""Runs HIPS autograd's own tests with NumPy and SciPy in place of its wrappers, by the names of `autograd_names.py`.

python -m tests.clients.autograd_suite [--source PATH] [--write] runs them twice: as they are, and with
`convert.collecting_traced`. Without a path, pip gets the source distribution of the installed version. Outcomes are
compared with the table of the docs; `--write` writes them.
"""

import argparse
import importlib.metadata
import json
import os
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Generator
from pathlib import Path
from typing import Any, Final

import pytest

from tests.clients.table import store, stored
from tests.clients.verdicts import describe, shortened, stopped_at

ROOT: Final = Path(__file__).resolve().parents[2]
NAME: Final = "HIPS autograd"
WAYS: Final = ("default", "collecting")
PASSED: Final = "passed"

OWN: Final = {
    "test_abs": "expects 0 as the derivative of `abs` at 0, which is 1 here as in JAX",
    "test_absolute": "expects 0 as the derivative of `abs` at 0, which is 1 here as in JAX",
    "test_assignment_raises_error": "expects an error for `x[i] = y`, which works here",
    "test_const_graph_args": "`jit` replaces `const_graph`, and calls a function with side effects once",
    "test_convolve_generalization": "autograd's `convolve` has further arguments",
    "test_convolve_ignore": "autograd's `convolve` has further arguments",
    "test_convolve_ignore_dot": "autograd's `convolve` has further arguments",
    "test_custom_where": "NumPy's own `where` takes no keywords",
    "test_custom_where_dtypes": "expects types of autograd's `where` that NumPy's does not give",
    "test_diagonal": "needs autograd's `make_diagonal`",
    "test_isinstance": "autograd's `isinstance` treats traced arrays as NumPy arrays",
    "test_make_diagonal": "needs autograd's `make_diagonal`",
    "test_no_jvp_def": "expects an error for a primitive without rules, which is differentiated here",
    "test_no_vjp_def": "expects an error for a primitive without rules, which is differentiated here",
    "test_pinv": "calls a private function of autograd's wrapper",
    "test_rfftn_odd_not_implemented": "expects an error for a derivative that is implemented here",
}
"""Why tests of autograd's own functions fail."""


# In the process that runs the tests

_outcomes: dict[str, Any] = {}


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[Any, Any, Any]:
    """Record the outcome of a test, and the error that it fails with."""
    report = yield
    name = item.nodeid.removeprefix("tests/")
    if report.failed and call.excinfo is not None:
        _outcomes[name] = _reason(item.name, call.excinfo.value)
    elif report.when == "call":
        _outcomes[name] = report.outcome
    return report


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write the outcomes."""
    Path(os.environ["XPAND_OUTCOMES"]).write_text(json.dumps(_outcomes), encoding="utf-8")


def _reason(name: str, error: BaseException) -> str:
    own = OWN.get(name.partition("[")[0])
    found = describe(error)
    file = stopped_at(error.__traceback__, "scipy").get("file")
    where = f" in {file}" if file else ""
    return own or shortened(f"{found['error']}: {found['message']}{where}", 160)


# In the process that starts them


def run(source: Path, way: str) -> dict[str, str]:
    """Run the tests, and return the outcome of each.

    Raises:
        RuntimeError: pytest itself fails.
    """
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "outcomes.json"
        paths = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
        variables = {
            "PYTHONPATH": paths,
            "XPAND_AUTOGRAD": str(source),
            "XPAND_COLLECTING": str(int(way == "collecting")),
            "XPAND_OUTCOMES": str(file),
            "XPAND_TRACEBACK": "full",
        }
        plugins = ("-p", "tests.clients.autograd_names", "-p", "tests.clients.autograd_suite", "-p", "no:cacheprovider")
        options = ("-c", os.devnull, "--rootdir", str(source), "-q", "-W", "ignore", "--tb=no", *plugins)
        command = [sys.executable, "-m", "pytest", *options, str(source / "tests")]
        environment = os.environ | variables
        # With this variable, of any value, SciPy's special functions convert what is traced to NumPy's arrays.
        environment.pop("SCIPY_ARRAY_API", None)
        done = subprocess.run(command, cwd=source, env=environment, capture_output=True, text=True)
        if done.returncode not in (0, 1):
            raise RuntimeError(f"{NAME}: {done.stdout}{done.stderr}")
        outcomes: dict[str, str] = json.loads(file.read_text(encoding="utf-8"))
        return dict(sorted(outcomes.items()))


def get_source(folder: Path) -> Path:
    """Get the source distribution of the installed version, which has the tests."""
    wanted = f"autograd=={importlib.metadata.version('autograd')}"
    options = ("--quiet", "--no-deps", "--no-build-isolation", "--no-binary", ":all:", "--dest", str(folder))
    subprocess.run([sys.executable, "-m", "pip", "download", *options, wanted], check=True)
    (archive,) = folder.glob("autograd-*.tar.gz")
    with tarfile.open(archive) as file:
        file.extractall(folder, filter="data")
    return folder / archive.name.removesuffix(".tar.gz")


def entry_of(outcomes: dict[str, dict[str, str]]) -> dict[str, Any]:
    """Make the table's entry: for each way, the count of tests, the count that pass, and the reasons of others."""
    entry: dict[str, Any] = {"version": importlib.metadata.version("autograd")}
    for way, of_tests in outcomes.items():
        failures = {test: outcome for test, outcome in of_tests.items() if outcome != PASSED}
        entry[way] = {"total": len(of_tests), "passed": len(of_tests) - len(failures), "failures": failures}
    return entry


def differences(known: dict[str, Any], entry: dict[str, Any]) -> list[str]:
    """List the tests that pass or fail otherwise than in the table."""
    texts = (
        [] if known.get("version") == entry["version"] else [f"version {entry['version']}, not {known.get('version')}"]
    )
    for way in WAYS:
        before, now = (x.get(way, {}).get("failures", {}) for x in (known, entry))
        texts += [f"{way}: {test} fails: {now[test]}" for test in now.keys() - before.keys()]
        texts += [f"{way}: {test} passes, in the table it fails" for test in before.keys() - now.keys()]
    return texts


def main(arguments: list[str]) -> int:
    """Run the tests, and compare with the table or write it."""
    parser = argparse.ArgumentParser(prog="python -m tests.clients.autograd_suite", description=__doc__)
    parser.add_argument("--source", help="the folder of autograd's source")
    parser.add_argument("--write", action="store_true", help="write the table")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        source = Path(options.source).resolve() if options.source else get_source(Path(folder))
        entry = entry_of({way: run(source, way) for way in WAYS})
    for way in WAYS:
        sys.stdout.write(f"{NAME}, {way}: {entry[way]['passed']} of {entry[way]['total']} pass\n")
    if options.write:
        store("suites", NAME, entry)
    texts = differences(stored()["suites"].get(NAME, {}), entry)
    sys.stdout.write("".join(f"  {text}\n" for text in texts))
    return bool(texts)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
