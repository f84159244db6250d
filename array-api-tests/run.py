"""Run the official array API test suite on xpand's namespaces, and check the lists of expected failures.

For each library, the suite runs in parallel processes with `<library>-xfails.txt` and `<library>-skips.txt` from this
folder. The run fails if an unlisted test fails, if a listed test passes, or if an entry matches no test or has no
reason. With `--write-table`, the results are written to `docs/conformance.json`.

    python array-api-tests/run.py --suite path/to/array-api-tests --library torch --examples 200 --jobs 2

The exit code is 0 if all libraries conform, 1 if one doesn't, and 2 if the suite couldn't be run.
"""

import argparse
import importlib.util
import json
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final

HERE: Final = Path(__file__).resolve().parent
TABLE: Final = HERE.parent / "docs" / "conformance.json"
OWN_CLONE: Final = HERE / ".suite"
RESULTS: Final = HERE / "results"

STANDARD: Final = "2025.12"
URL: Final = "https://github.com/data-apis/array-api-tests"
OLDEST: Final = "41379d15d26d67a1e66c840e775d41a8a7fb1516"
"""Tag 2026.02.26, the first with the tests of 2025.12. The lists are written for these tests."""
PINNED: Final = "55fcc60179efa2680ddd6cd926ddf17b83530e2b"
"""The cloned revision, 20 commits after the tag.

The commits fix two faults: `test_eig` and `test_eigvals` drew elements with products that overflow (pull request 427),
and the dlpack tests could not pass (pull request 433).
"""


UNKNOWN: Final = "unknown"
"""The revision of a copy of the suite without git's data."""


class SuiteError(Exception):
    """The suite can't be found or run. This is no result for a library."""


@dataclass(frozen=True)
class Target:
    """A namespace under test."""

    module: str
    distributions: tuple[str, ...]
    environment: dict[str, str] = field(default_factory=dict)
    reference: bool = False
    """Whether the target is only shown for comparison: its failures are counted, but the run does not fail."""
    package: str = ""
    """The package to install, if its name differs from the target's."""


TARGETS: Final = {
    "numpy": Target("xpand.numpy", ("numpy",)),
    "torch": Target("xpand.torch", ("torch",)),
    "jax": Target("xpand.jax", ("jax",), {"JAX_ENABLE_X64": "1"}),
    # Arrays are small, and two processes run already, so threads of Dask's scheduler would only slow each other down.
    "dask": Target("xpand.dask.array", ("dask",), {"DASK_SCHEDULER": "synchronous"}),
    # One distribution per version of CUDA.
    "cupy": Target("xpand.cupy", ("cupy-cuda13x", "cupy-cuda12x", "cupy")),
    # Traced arrays, with which xpand transforms functions of libraries that lack transformations: see
    # `traced_numpy.py`.
    "traced-numpy": Target(
        "traced_numpy",
        ("numpy",),
        {"PYTHONPATH": os.pathsep.join(filter(None, (str(HERE), os.environ.get("PYTHONPATH"))))},
        package="numpy",
    ),
}


def target_of(library: str) -> Target:
    """Find a library in the table. Other names are modules to run for reference, such as `array_api_strict`."""
    if library in TARGETS:
        return TARGETS[library]
    root = library.partition(".")[0]
    return Target(library, (root,), {"JAX_ENABLE_X64": "1"}, reference=True)


# The lists of expected failures


@dataclass(frozen=True)
class Entry:
    """One line of a list: the id of a test, or of a parametrized test with all its cases."""

    test: str
    reason: str

    def matches(self, test: str) -> bool:
        """Return whether this entry matches a test, by the rule of the suite's `conftest.py`."""
        return test == self.test or test.partition("[")[0] == self.test


def read_entries(path: Path) -> list[Entry]:
    """Read a list. A block of comment lines gives the reason of the ids that follow it, up to a blank line.

    A missing file is an empty list.
    """
    entries: list[Entry] = []
    reason: list[str] = []
    reason_is_complete = False
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        if line.startswith("#"):
            if reason_is_complete:
                reason = []
            reason.append(line.lstrip("#").strip())
            reason_is_complete = False
        elif line.strip():
            entries.append(Entry(line, " ".join(filter(None, reason))))
            reason_is_complete = True
        else:
            reason = []
    return entries


def reason_of(test: str, entries: Iterable[Entry]) -> str:
    """Find the reason for a test; "" if it isn't listed."""
    return next((entry.reason for entry in entries if entry.matches(test)), "")


def stale_entries(xfails: Sequence[Entry], skips: Sequence[Entry], outcomes: dict[str, str]) -> list[dict[str, str]]:
    """Find outdated entries: ids without a test, listed tests that pass, missing reasons."""
    stale = [
        {"test": entry.test, "why": why}
        for entry in (*xfails, *skips)
        for why, holds in (
            ("matches no test", not any(entry.matches(test) for test in outcomes)),
            ("has no reason: put a comment above it", not entry.reason),
        )
        if holds
    ]
    return stale + [
        {"test": test, "why": "is listed as a failure, but passes"}
        for test, outcome in outcomes.items()
        if outcome == "xpassed"
    ]


# The suite


def git(folder: Path, *arguments: str) -> str:
    """Run git in a folder and return what it prints."""
    command = ["git", "-c", f"safe.directory={folder.resolve()}", "-C", str(folder), *arguments]
    quiet = {**os.environ, "GIT_TERMINAL_PROMPT": "0"}  # fail instead of asking for a password
    done = subprocess.run(command, capture_output=True, text=True, env=quiet)
    if done.returncode != 0:
        raise SuiteError(f"`git {' '.join(arguments)}` failed in {folder}: {done.stderr.strip()}")
    return done.stdout.strip()


def clone_suite(folder: Path = OWN_CLONE, url: str = URL, revision: str = PINNED) -> Path:
    """Clone the pinned revision of the suite, unless it is already there."""
    if (folder / ".git").exists() and git(folder, "rev-parse", "HEAD") == revision and _is_complete(folder):
        return folder
    print(f"cloning {url} at {revision[:7]} into {folder}", flush=True)
    folder.mkdir(parents=True, exist_ok=True)
    try:
        git(folder, "init", "--quiet")
        git(folder, "fetch", "--quiet", "--depth", "1", url, revision)
        git(folder, "checkout", "--quiet", "--force", "FETCH_HEAD")
        git(folder, "submodule", "--quiet", "update", "--init", "--depth", "1")
    except SuiteError as error:
        raise SuiteError(
            f"the suite could not be cloned from {url}: {error}\nGive a checkout of it instead: --suite PATH (with "
            f"make: `make conformance SUITE=PATH`), of revision {revision} with its submodule"
        ) from None
    return folder


def _short(revision: str) -> str:
    commit, *modified = revision.split("-")
    return "-".join([commit[:7], *modified])


def _is_complete(suite: Path) -> bool:
    return (suite / "array-api" / "src").is_dir()


def suite_revision(suite: Path, oldest: str = OLDEST) -> str:
    """Check that a folder is a complete and recent checkout of the suite; return its revision.

    The revision of a modified checkout is marked, so that its results are not taken for others. The revision of a copy
    without git's folder is unknown.
    """
    if not (suite / "conftest.py").exists() or not (suite / "array_api_tests").is_dir():
        raise SuiteError(f"{suite} is no checkout of {URL}")
    if not _is_complete(suite):
        raise SuiteError(f"{suite} lacks its submodule: run `git submodule update --init` there")
    if not (suite / ".git").exists():
        return UNKNOWN
    revision = git(suite, "rev-parse", "HEAD")
    if revision not in (oldest, PINNED):  # a clone without history has these two
        try:
            git(suite, "merge-base", "--is-ancestor", oldest, "HEAD")
        except SuiteError:
            raise SuiteError(
                f"{suite} is at {revision[:7]}, which does not contain {oldest[:7]} (tag 2026.02.26, the oldest that "
                f"has the tests of {STANDARD}); check out {PINNED}, with its history if it is another revision"
            ) from None
    modified = git(suite, "status", "--porcelain", "--untracked-files=no", "--ignore-submodules=dirty")
    return f"{revision}-modified" if modified else revision


# One library


@dataclass
class Result:
    """The results of a run on one library."""

    library: str
    version: str
    module: str
    reference: bool
    examples: int
    passed: int
    skipped: int
    expected_failures: list[dict[str, str]]
    skips: list[dict[str, str]]
    unexpected: list[str]
    stale: list[dict[str, str]]
    seconds: float

    @property
    def conforms(self) -> bool:
        """Whether every failure is listed, and every entry of the lists is up to date."""
        return self.reference or not (self.unexpected or self.stale)

    def as_json(self) -> dict[str, Any]:
        """Return the record for the table of results."""
        return {name: value for name, value in vars(self).items() if name != "library"}


def installed(library: str) -> bool:
    """Return whether a library can be tested. CuPy needs a GPU."""
    target = target_of(library)
    if importlib.util.find_spec(target.package or library.partition(".")[0]) is None:
        return False
    if target.module == "xpand.cupy":
        import cupy

        return bool(cupy.cuda.is_available())
    return True


def version_of(target: Target) -> str:
    """Find the version of the library under test."""
    for distribution in target.distributions:
        try:
            return version(distribution)
        except PackageNotFoundError:
            continue
    return "unknown"


def run_library(
    library: str, suite: Path, *, examples: int, jobs: int, lists: Path = HERE, results: Path = RESULTS
) -> Result:
    """Run the suite on one library and evaluate the outcomes."""
    target = target_of(library)
    xfails_file, skips_file = (lists / f"{library}-{kind}.txt" for kind in ("xfails", "skips"))
    xfails, skips = read_entries(xfails_file), read_entries(skips_file)
    results.mkdir(parents=True, exist_ok=True)
    report = results / f"{library}.json"
    report.unlink(missing_ok=True)
    command = [sys.executable, "-m", "pytest", "array_api_tests", "-q", "--no-header", "--tb=short", "-rN"]
    command += ["-p", "no:cacheprovider", "--disable-warnings", f"--max-examples={examples}", "--disable-deadline"]
    # The same examples on every run and machine, so that an entry is either always outdated or never.
    command += ["--hypothesis-derandomize"]
    command += [f"--numprocesses={jobs if jobs > 1 else 0}", "--dist=worksteal"]  # the suite's slow tests are adjacent
    command += ["--json-report", f"--json-report-file={report}", "--json-report-omit", "log", "streams", "keywords"]
    # Always pass these options: otherwise the suite would read lists from its own folder.
    command += [
        f"--{path.stem.rpartition('-')[2]}-file={_or_empty(path, results)}" for path in (xfails_file, skips_file)
    ]
    started = time.monotonic()
    done = subprocess.run(command, cwd=suite, env=_environment(target, results / f"{library}-hypothesis"))
    seconds = time.monotonic() - started
    if done.returncode not in (0, 1) or not report.exists():
        raise SuiteError(f"{library}: the suite stopped with exit code {done.returncode} before it was done; see above")
    tests = json.loads(report.read_text(encoding="utf-8"))["tests"]
    outcomes = {test["nodeid"]: test["outcome"] for test in tests}
    if not outcomes:
        raise SuiteError(f"{library}: the suite has no tests in {suite}")
    count = Counter(outcomes.values())
    return Result(
        library=library,
        version=version_of(target),
        module=target.module,
        reference=target.reference,
        examples=examples,
        passed=count["passed"] + count["xpassed"],
        skipped=count["skipped"],
        expected_failures=_reasoned(outcomes, "xfailed", xfails),
        skips=[skip for skip in _reasoned(outcomes, "skipped", skips) if skip["reason"]],
        unexpected=sorted(test for test, outcome in outcomes.items() if outcome in ("failed", "error")),
        stale=stale_entries(xfails, skips, outcomes),
        seconds=round(seconds, 1),
    )


def _or_empty(path: Path, folder: Path) -> Path:
    if path.exists():
        return path
    empty = folder / "empty.txt"
    empty.write_text("", encoding="utf-8")
    return empty


def _environment(target: Target, database: Path) -> dict[str, str]:
    return {
        **os.environ,
        "ARRAY_API_TESTS_MODULE": target.module,
        "ARRAY_API_TESTS_VERSION": STANDARD,
        # Earlier failing examples are tried first, so that a listed failure remains a failure.
        "HYPOTHESIS_STORAGE_DIRECTORY": str(database),
        # The processes must collect the same tests in the same order.
        "PYTHONHASHSEED": "0",
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
        **target.environment,
    }


def _reasoned(outcomes: dict[str, str], outcome: str, entries: Sequence[Entry]) -> list[dict[str, str]]:
    found = sorted(test for test, is_outcome in outcomes.items() if is_outcome == outcome)
    return [{"test": test, "reason": reason_of(test, entries)} for test in found]


# Results


def merge(table: dict[str, Any], revision: str, results: Iterable[Result]) -> dict[str, Any]:
    """Update the table of results for the libraries that ran.

    Raises:
        SuiteError: The table holds results of another revision of the suite.
    """
    libraries = dict(table.get("libraries", {}))
    libraries |= {result.library: result.as_json() for result in results}
    kept = libraries.keys() - {result.library for result in results}
    if kept and (table["suite"], table["standard"]) != (revision, STANDARD):
        raise SuiteError(
            f"the table has results of {', '.join(sorted(kept))} with the suite at {_short(table['suite'])}, and this "
            f"run used {_short(revision)}; run all libraries"
        )
    return {"suite": revision, "standard": STANDARD, "libraries": dict(sorted(libraries.items()))}


def summary(results: Sequence[Result]) -> str:
    """Write the results as a table, then each reason with its count, and each unexpected result with its test."""
    head = ("library", "version", "examples", "passed", "expected failures", "skipped", "unexpected", "stale", "time")
    rows = [
        (
            *(r.library, r.version, r.examples, r.passed, len(r.expected_failures), r.skipped),
            *(len(r.unexpected), len(r.stale), f"{r.seconds:.0f} s"),
        )
        for r in results
    ]
    cells = [head, *(tuple(map(str, row)) for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells]
    for r in results:
        for kind, listed in (("expected", r.expected_failures), ("skipped", r.skips)):
            for reason, count in Counter(test["reason"] for test in listed).most_common():
                lines.append(f"{r.library}: {count} {kind}: {reason}")
        lines += [f"{r.library}: UNEXPECTED {test}" for test in r.unexpected]
        lines += [f"{r.library}: STALE {entry['test']} {entry['why']}" for entry in r.stale]
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the suite by the options of the command line; return the exit code."""
    parser = argparse.ArgumentParser(description="Run the official array API test suite on xpand's namespaces.")
    parser.add_argument("--suite", default="", help=f"a checkout of {URL}; without it, one is cloned")
    parser.add_argument(
        "--library",
        default="all",
        help=f"all that are installed, one of {', '.join(TARGETS)}, or a module to run for reference "
        "(`array_api_strict`, `array_api_compat.torch`), without effect on the exit code",
    )
    parser.add_argument("--examples", type=int, default=200, help="examples that hypothesis tries per test")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--write-table", action="store_true", help=f"write the results into {TABLE.name} of the docs")
    options = parser.parse_args(arguments)
    try:
        return _run(options)
    except SuiteError as error:
        print(f"conformance: {error}", file=sys.stderr)
        return 2


def _run(options: argparse.Namespace) -> int:
    asked = options.library or "all"
    libraries = [name for name in TARGETS if installed(name)] if asked == "all" else [asked]
    if missing := [name for name in libraries if not installed(name)]:
        raise SuiteError(
            f"{missing[0]!r} can't be run: not installed, or no device for it; known are {', '.join(TARGETS)}, and "
            "any installed module for reference"
        )
    suite = Path(options.suite).resolve() if options.suite else clone_suite()
    revision = suite_revision(suite)
    if options.write_table and revision == UNKNOWN:
        raise SuiteError(f"{suite} is a copy without git's folder, so its revision, which the table states, is unknown")
    results = []
    for library in libraries:
        print(
            f"{library}: array-api-tests {_short(revision)}, array API {STANDARD}, {options.examples} examples",
            flush=True,
        )
        results.append(run_library(library, suite, examples=options.examples, jobs=options.jobs))
    print(f"\narray-api-tests {revision}, array API {STANDARD}\n{summary(results)}")
    if options.write_table:
        table = json.loads(TABLE.read_text(encoding="utf-8")) if TABLE.exists() else {}
        TABLE.write_text(json.dumps(merge(table, revision, results), indent=1) + "\n", encoding="utf-8")
    return 0 if all(result.conforms for result in results) else 1


if __name__ == "__main__":
    sys.exit(main())
