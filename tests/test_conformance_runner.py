"""The runner of the official suite, tried on a small suite made on the spot."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

RUNNER = Path(__file__).parent.parent / "array-api-tests" / "run.py"


def _load() -> ModuleType:
    # Its folder is named after the suite, with hyphens, so it is no package.
    spec = importlib.util.spec_from_file_location("conformance_runner", RUNNER)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


run = _load()

CONFTEST = """
from pathlib import Path
import pytest

def pytest_addoption(parser):
    parser.addoption("--max-examples", type=int)
    parser.addoption("--disable-deadline", action="store_true")
    parser.addoption("--hypothesis-derandomize", action="store_true", dest="derandomize")
    parser.addoption("--xfails-file")
    parser.addoption("--skips-file")

def pytest_collection_modifyitems(config, items):
    for option, mark in (("--xfails-file", pytest.mark.xfail), ("--skips-file", pytest.mark.skip)):
        lines = Path(config.getoption(option)).read_text().splitlines()
        listed = [line for line in lines if line and not line.startswith("#")]
        for item in items:
            if item.nodeid in listed or item.nodeid.split("[")[0] in listed:
                item.add_marker(mark)
"""

TESTS = """
import os
import pytest

def test_settings(request):
    assert os.environ["ARRAY_API_TESTS_MODULE"] == "xpand.numpy"
    assert os.environ["ARRAY_API_TESTS_VERSION"] == "2025.12"
    assert request.config.getoption("--max-examples") == 7

@pytest.mark.parametrize("case", ["x1 is nan -> nan", "x1 is inf -> -0", "x1 is 0 -> inf"])
def test_floordiv(case):
    assert "nan" in case

def test_hangs():
    raise SystemExit("this must be skipped")

def test_fails():
    assert False

@pytest.mark.skip(reason="no such extension")
def test_extension():
    pass
"""

XFAILS = """\
# Expected failures of NumPy.

# The operator is the object's own.
# https://example.org/1
array_api_tests/test_things.py::test_floordiv[x1 is inf -> -0]
array_api_tests/test_things.py::test_floordiv[x1 is 0 -> inf]

# Another one.
array_api_tests/test_things.py::test_fails
"""
SKIPS = "# It never ends.\narray_api_tests/test_things.py::test_hangs\n"
FILE = "array_api_tests/test_things.py"


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    """A suite of a few tests, with lists that are true of it beside it."""
    folder = tmp_path / "suite"
    (folder / "array_api_tests").mkdir(parents=True)
    (folder / "array-api" / "src").mkdir(parents=True)
    (folder / "array-api" / "src" / "stubs.py").write_text("")
    (folder / "pytest.ini").write_text("[pytest]\n")
    (folder / "conftest.py").write_text(CONFTEST)
    (folder / "array_api_tests" / "test_things.py").write_text(TESTS)
    (tmp_path / "numpy-xfails.txt").write_text(XFAILS)
    (tmp_path / "numpy-skips.txt").write_text(SKIPS)
    return folder


def _run(suite: Path, library: str = "numpy", jobs: int = 1) -> Any:
    lists = suite.parent
    return run.run_library(library, suite, examples=7, jobs=jobs, lists=lists, results=lists / "results")


def _commit(folder: Path, message: str) -> str:
    who = ["-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "init.defaultBranch=main"]
    for command in (["init", "--quiet"], ["add", "."], ["commit", "--quiet", "--allow-empty", "-m", message]):
        subprocess.run(["git", "-C", str(folder), *who, *command], check=True)
    return str(run.git(folder, "rev-parse", "HEAD"))


@pytest.mark.parametrize("jobs", [1, 2])
def test_true_lists_conform(suite: Path, jobs: int) -> None:
    result = _run(suite, jobs=jobs)
    assert result.conforms
    assert (result.passed, result.skipped, result.unexpected, result.stale) == (2, 2, [], [])
    operator = "The operator is the object's own. https://example.org/1"
    assert result.expected_failures == [
        {"test": f"{FILE}::test_fails", "reason": "Another one."},
        {"test": f"{FILE}::test_floordiv[x1 is 0 -> inf]", "reason": operator},
        {"test": f"{FILE}::test_floordiv[x1 is inf -> -0]", "reason": operator},
    ]
    assert result.skips == [{"test": f"{FILE}::test_hangs", "reason": "It never ends."}]
    assert result.version != "unknown"


def test_false_lists_do_not_conform(suite: Path) -> None:
    (suite.parent / "numpy-xfails.txt").write_text(
        f"# All of it.\n{FILE}::test_floordiv\n\n{FILE}::test_settings\n# Gone.\n{FILE}::test_of_last_year\n"
    )
    result = _run(suite)
    assert not result.conforms
    assert result.unexpected == [f"{FILE}::test_fails"]
    assert {(entry["test"], entry["why"].partition(":")[0]) for entry in result.stale} == {
        (f"{FILE}::test_of_last_year", "matches no test"),
        (f"{FILE}::test_settings", "has no reason"),
        (f"{FILE}::test_settings", "is listed as a failure, but passes"),
        (f"{FILE}::test_floordiv[x1 is nan -> nan]", "is listed as a failure, but passes"),
    }
    text = run.summary([result])
    assert f"UNEXPECTED {FILE}::test_fails" in text
    assert f"STALE {FILE}::test_of_last_year matches no test" in text


def test_a_reference_run_fails_nothing(suite: Path) -> None:
    (suite / "array_api_tests" / "test_things.py").write_text("def test_fails(): assert False\ndef test_ok(): pass\n")
    result = _run(suite, "array_api_strict")
    assert result.unexpected == [f"{FILE}::test_fails"]
    assert result.conforms


def test_a_suite_that_breaks_is_no_result(suite: Path) -> None:
    (suite / "array_api_tests" / "test_things.py").write_text("import no_such_module\n")
    with pytest.raises(run.SuiteError, match="numpy: the suite stopped with exit code 2"):
        _run(suite)


def test_a_process_that_crashes_is_unexpected(suite: Path) -> None:
    tests = suite / "array_api_tests" / "test_things.py"
    tests.write_text("import os\ndef test_ok(): pass\ndef test_crashes(): os._exit(3)\n")
    (suite.parent / "numpy-xfails.txt").unlink()
    (suite.parent / "numpy-skips.txt").unlink()
    result = _run(suite, jobs=2)
    assert result.unexpected == [f"{FILE}::test_crashes"]
    assert not result.conforms


def test_reasons_end_at_a_blank_line(tmp_path: Path) -> None:
    path = tmp_path / "list.txt"
    path.write_text("# The head of the file.\n\na::b\n# One\n#\n# reason.\na::c\na::d[e f]\n# Next.\na::g\n\na::h\n")
    assert [(entry.test, entry.reason) for entry in run.read_entries(path)] == [
        ("a::b", ""),
        ("a::c", "One reason."),
        ("a::d[e f]", "One reason."),
        ("a::g", "Next."),
        ("a::h", ""),
    ]
    assert run.read_entries(tmp_path / "absent.txt") == []


def test_entries_match_whole_tests() -> None:
    entry = run.Entry("a.py::test_add", "why")
    assert entry.matches("a.py::test_add")
    assert entry.matches("a.py::test_add[case[0]]")
    assert not entry.matches("a.py::test_add_more")
    assert not run.Entry("a.py", "why").matches("a.py::test_add")


def test_lists_in_the_repository_have_reasons() -> None:
    for path in sorted(RUNNER.parent.glob("*-*.txt")):
        library, _, kind = path.stem.rpartition("-")
        assert library in run.TARGETS, f"{path.name}: no such library"
        assert kind in ("xfails", "skips"), f"{path.name}: no such list"
        for entry in run.read_entries(path):
            assert entry.reason, f"{path.name}: {entry.test} has no reason above it"
            assert "::" in entry.test, f"{path.name}: {entry.test} is no single test"
            assert entry.test == entry.test.strip(), f"{path.name}: {entry.test!r} ends in a space"


def test_merge_changes_only_what_ran(suite: Path) -> None:
    result = _run(suite)
    first = run.merge({}, "abc", [result])
    assert first["suite"] == "abc"
    assert first["standard"] == "2025.12"
    assert json.loads(json.dumps(first))["libraries"]["numpy"]["passed"] == 2
    earlier = {"suite": "abc", "standard": "2025.12", "libraries": {"torch": {"passed": 5}, "numpy": {"passed": 1}}}
    merged = run.merge(earlier, "abc", [result])
    assert list(merged["libraries"]) == ["numpy", "torch"]
    assert merged["libraries"]["torch"] == {"passed": 5}
    assert merged["libraries"]["numpy"]["passed"] == 2
    assert earlier["libraries"]["numpy"] == {"passed": 1}
    with pytest.raises(run.SuiteError, match="results of torch"):
        run.merge(earlier, "def", [result])


def test_the_revision_must_be_recent_and_complete(suite: Path, tmp_path: Path) -> None:
    oldest = _commit(suite, "the oldest that serves")
    assert run.suite_revision(suite, oldest) == oldest
    newer = _commit(suite, "newer")
    assert run.suite_revision(suite, oldest) == newer
    (suite / "conftest.py").write_text("# changed\n")
    assert run.suite_revision(suite, oldest) == f"{newer}-modified"
    with pytest.raises(run.SuiteError, match="does not contain 4137"):
        run.suite_revision(suite)
    (suite / "array-api" / "src").rename(tmp_path / "away")
    with pytest.raises(run.SuiteError, match="submodule"):
        run.suite_revision(suite, oldest)
    with pytest.raises(run.SuiteError, match="no checkout"):
        run.suite_revision(tmp_path, oldest)


def test_a_copy_without_git_serves_for_everything_but_the_table(
    suite: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run.suite_revision(suite) == "unknown"
    assert run.main(["--suite", str(suite), "--library", "numpy", "--write-table"]) == 2
    assert "is a copy without git's folder" in capsys.readouterr().err


def test_the_pinned_revision_is_cloned_once(suite: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    revision = _commit(suite, "pinned")
    _commit(suite, "later")
    clone = tmp_path / "clone"
    url = suite.as_uri()
    assert run.clone_suite(clone, url, revision) == clone
    assert run.git(clone, "rev-parse", "HEAD") == revision
    assert (clone / "conftest.py").exists()
    assert "cloning" in capsys.readouterr().out
    assert run.clone_suite(clone, "file:///nowhere", revision) == clone
    assert capsys.readouterr().out == ""


def test_a_clone_that_fails_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    absent = (tmp_path / "absent").as_uri()
    clone = run.clone_suite
    monkeypatch.setattr(run, "clone_suite", lambda: clone(tmp_path / "clone", absent))
    assert run.main(["--library", "numpy"]) == 2
    message = capsys.readouterr().err
    assert f"could not be cloned from {absent}" in message
    assert "--suite PATH" in message


def test_an_unknown_library_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert run.main(["--library", "no_such_library"]) == 2
    assert "'no_such_library' can't be run" in capsys.readouterr().err


@pytest.mark.parametrize("truth", [True, False])
def test_exit_code_and_table(
    suite: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], truth: bool
) -> None:
    if not truth:
        (suite.parent / "numpy-xfails.txt").unlink()
    revision = _commit(suite, "the oldest that serves")
    table = suite.parent / "conformance.json"
    monkeypatch.setattr(run, "TABLE", table)
    monkeypatch.setattr(run, "suite_revision", lambda suite: revision)
    monkeypatch.setattr(run.run_library, "__kwdefaults__", {"lists": suite.parent, "results": suite.parent / "results"})
    arguments = ["--suite", str(suite), "--library", "numpy", "--examples", "7", "--jobs", "1", "--write-table"]
    assert run.main(arguments) == (0 if truth else 1)
    record = json.loads(table.read_text())
    assert record["suite"] == revision
    assert record["libraries"]["numpy"]["examples"] == 7
    assert len(record["libraries"]["numpy"]["unexpected"]) == (0 if truth else 3)
    assert revision in capsys.readouterr().out
