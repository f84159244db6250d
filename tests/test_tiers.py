"""Which tests `make test` and `make quick` run, the count of lines by `make sizes`, and the table of mutations."""

import importlib.util
import json
import subprocess
import sys
import tomllib
from functools import cache
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import tests.conftest
from tests import alone, tiers
from tests.cases import Case, check_values
from tests.libraries import LIBRARIES

NAMES = [f"tests/test_a.py::test_{i}[{library}]" for i in range(30) for library in ("numpy", "torch-jit", "jax")]


@cache
def tool(name):
    path = Path(__file__).parents[1] / "tools" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # where dataclasses look for it
    spec.loader.exec_module(module)
    return module


def test_each_slow_test_runs_on_one_of_ten_days(monkeypatch, tmp_path):
    monkeypatch.setattr(tiers, "LIST", tmp_path / "slow.txt")
    tiers.LIST.write_text("\n".join(f"{0.5 + i / 10:.1f} {name}" for i, name in enumerate(NAMES[:80])))
    days = [set(NAMES) - tiers.omitted(NAMES, tenth) for tenth in range(tiers.TENTHS)]
    for name in NAMES[:80]:
        assert sum(name in run for run in days) == 1
    for name in NAMES[80:]:
        assert all(name in run for run in days)
    assert tiers.omitted(NAMES, None) == set(NAMES[:80])


def test_every_tenth_takes_the_same_time():
    seconds = tiers.recorded()
    totals = [0.0] * tiers.TENTHS
    for name, tenth in tiers.tenth_of_each(seconds).items():
        totals[tenth] += seconds[name]
    assert max(totals) - min(totals) <= 1.0, totals


def test_no_test_takes_a_tenth_of_the_time_of_a_run():
    seconds = tiers.recorded()
    assert {name: cost for name, cost in seconds.items() if cost > 40.0} == {}


def test_marked_tests_run_each_day_but_not_in_quick_runs(monkeypatch, tmp_path):
    monkeypatch.setattr(tiers, "LIST", tmp_path / "slow.txt")
    tiers.LIST.write_text("\n".join(f"0.5 {name}" for name in NAMES))

    def item(name):
        return SimpleNamespace(nodeid=name, get_closest_marker=lambda mark: mark == "every_run" and name in NAMES[:30])

    items = [item(name) for name in NAMES]
    left = tests.conftest.slow_ones(items, ci=True)
    assert left.isdisjoint(NAMES[:30])
    assert len(left) == 0.9 * len(NAMES[30:])
    assert tests.conftest.slow_ones(items, ci=False) == set(NAMES)


def test_without_a_list_all_tests_run(monkeypatch, tmp_path):
    monkeypatch.setattr(tiers, "LIST", tmp_path / "missing.txt")
    assert tiers.omitted(NAMES, 0) == set()


def test_the_fastest_of_a_function_always_runs_unless_it_is_dear():
    seconds = {
        "tests/test_a.py::test_x[numpy-a]": 1.0,
        "tests/test_a.py::test_x[numpy-b]": 2.0,
        "tests/test_a.py::test_x[jax-a]": 3.0,
        "tests/test_a.py::test_x[jax-b]": 0.1,
        "tests/test_a.py::test_y": 0.9,
        "tests/test_a.py::test_z": 9.0,
    }
    names = [f"tests/test_a.py::test_x[{each}]" for each in ("jax-a", "numpy-a", "numpy-b")]
    assert tiers.slow_tests(seconds) == [*names, "tests/test_a.py::test_z"]


def test_durations_are_read_from_a_report(monkeypatch, tmp_path, capsys):
    report = tmp_path / "results.xml"
    report.write_text(
        '<testsuites><testsuite><testcase classname="tests.test_a" name="test_x[1]" time="0.1"/>'
        '<testcase classname="tests.test_a" name="test_x[2]" time="0.5"/></testsuite></testsuites>'
    )
    monkeypatch.setattr(tiers, "LIST", tmp_path / "slow.txt")
    monkeypatch.setattr(tiers, "MODULES", tmp_path / "modules.json")
    assert tiers.main(str(report)) == 0
    assert tiers.LIST.read_text() == "0.5 tests/test_a.py::test_x[2]\n"
    assert json.loads(tiers.MODULES.read_text()) == {"test_a": 0.1}
    assert "1 of 2 tests are slow" in capsys.readouterr().out


@pytest.mark.parametrize("partial", [True, False])
def test_slow_tests_that_a_partial_run_omits_stay_in_the_list(monkeypatch, tmp_path, capsys, partial):
    report = tmp_path / "results.xml"
    report.write_text(
        '<testsuites><testsuite><testcase classname="tests.test_a" name="test_x[1]" time="0.1"/>'
        '<testcase classname="tests.test_a" name="test_x[2]" time="0.2"/></testsuite></testsuites>'
    )
    monkeypatch.setattr(tiers, "LIST", tmp_path / "slow.txt")
    monkeypatch.setattr(tiers, "MODULES", tmp_path / "modules.json")
    tiers.LIST.write_text("0.5 tests/test_a.py::test_x[2]\n0.7 tests/test_a.py::test_x[3]\n")
    assert tiers.main(str(report), partial) == 0
    assert tiers.LIST.read_text() == ("0.7 tests/test_a.py::test_x[3]\n" if partial else "")
    assert json.loads(tiers.MODULES.read_text()) == {"test_a": 0.3}


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ("", 0),
        ('"""A docstring."""\n\n# A comment.\nx = 1  # one\n', 1),
        ('def f():\n    """Two\n    lines."""\n    return """a\nb"""\n', 3),
        ("x = (\n    1,\n\n    # why\n    2,\n)\n", 4),
    ],
)
def test_lines_of_code_are_counted(source, lines):
    assert tool("sizes").code_lines(source) == lines


@pytest.mark.parametrize(
    ("file", "capabilities", "modules", "libraries"),
    [
        ("extensions/xpand_extensions/scatter/__init__.py", {"scatter"}, set(), None),
        ("extensions/xpand_extensions/generic/scatter/_at.py", {"scatter"}, set(), None),
        ("extensions/xpand_extensions/plugins/torch/scatter.py", {"scatter"}, set(), {"torch"}),
        ("extensions/xpand_extensions/bits.py", {"bits"}, set(), None),
        ("src/xpand/dask/array/linalg.py", set(), {"test_namespace_dask"}, {"dask"}),
        ("tests/test_bits.py", set(), {"test_bits"}, None),
        ("docs/start.md", set(), {"test_docs"}, None),
        ("pyproject.toml", set(), set(), set()),
    ],
)
def test_files_name_capabilities_modules_and_libraries(file, capabilities, modules, libraries):
    change = tool("quick").change_of([file])
    assert (change.capabilities, change.modules) == (capabilities, modules)
    assert change.every_library if libraries is None else change.libraries == libraries


def test_helpers_of_tests_name_the_modules_that_use_them():
    assert "test_tiers" in tool("quick").change_of(["tests/tiers.py"]).modules


def test_tests_of_a_capability_come_first_and_the_quickest_of_the_others():
    quick = tool("quick")
    change = quick.change_of(["extensions/xpand_extensions/scatter/__init__.py"])
    run, left = quick.selected(change, {})
    assert run[:2] == ["test_scatter", "test_scatter_nd"]
    assert "test_graph" in run + left
    run, left = quick.selected(change, {"test_scatter_nd": 2 * quick.BUDGET, "test_graph": 0.1})
    assert run[0] == "test_scatter"
    assert "test_scatter_nd" in left
    assert not set(run) & set(left)


@pytest.mark.every_run
def test_runs_on_numpy_alone_import_no_other_library():
    arguments = [
        "tests/test_rules_searching.py",
        "-k",
        "sort and (traced_grad or indices)",
        "-q",
        "-p",
        "no:cacheprovider",
    ]
    program = f"""
import sys, pytest
status = pytest.main({arguments} + ["--libraries", "numpy", "--alone"])
print("imported:", *{{"torch", "jax", "dask"}}.intersection(sys.modules))
sys.exit(status)
"""
    root = Path(__file__).parents[1]
    done = subprocess.run([sys.executable, "-c", program], cwd=root, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    assert "imported:\n" in done.stdout
    assert " passed" in done.stdout
    assert "skipped" not in done.stdout


def test_tests_that_need_a_library_that_is_not_wanted_are_skipped():
    unwanted = alone.Unwanted(["jax", "dask"])
    with pytest.raises(pytest.skip.Exception, match="it needs jax"):
        unwanted.find_spec("jax")
    assert unwanted.find_spec("torch") is None
    assert unwanted.find_spec("jax.numpy") is None, "jax comes first"


MODULE = """
import missing.part as m
from jax import numpy as jnp
import pytest
from xpand_extensions.plugins.torch import jit

class Annotated:
    def of(self, x: jnp.ndarray | None) -> "m.Type": ...

def test_a():
    assert True

def test_b():
    jnp.ones(3)

@m.decorated(1)
def test_c():
    pass

@pytest.mark.parametrize("name", ["a", "b"])
def test_d(name):
    with jit.mode():
        pass
"""


def test_tests_that_need_no_other_library_run_alone_in_modules_that_import_one(tmp_path):
    """Also where the other libraries are not installed."""
    root = Path(__file__).parents[1]
    path = tmp_path / "test_some.py"
    path.write_text(MODULE)
    program = f"""
import pathlib, sys, pytest
from tests import alone
alone._FOLDERS = (pathlib.Path({str(tmp_path)!r}),)
options = "-q -p tests.conftest -p no:cacheprovider -W error::pytest.PytestCollectionWarning".split()
sys.exit(pytest.main([{str(path)!r}, *options, "--rootdir", {str(tmp_path)!r}, *"--libraries numpy --alone".split()]))
"""
    done = subprocess.run([sys.executable, "-c", program], cwd=root, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed, 4 skipped" in done.stdout


def test_the_oldest_dependencies_are_those_of_the_project():
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
    found = dict(each.split("==") for each in tool("oldest").lower_bounds(project))
    assert {"array-api-compat", "numpy", "optree", "scipy", "llvmlite", "pytest"} <= found.keys()
    assert not {"torch", "jax", "dask"} & found.keys()
    assert all((Path(__file__).parents[1] / name.partition("::")[0]).exists() for name in tool("oldest").omitted())


def test_each_mutation_can_be_made():
    for mutation in tool("mutations").mutations():
        source = (tiers.LIST.parents[1] / mutation.path).read_text()
        assert mutation.applied(source) != source, mutation.old
        for name in mutation.tests.split():
            assert not name.startswith("tests/") or (tiers.LIST.parents[1] / name).exists(), name


def test_mutations_that_do_not_fit_are_refused():
    mutation = tool("mutations").Mutation("bits.py", "x", "y", "tests/test_bits.py")
    with pytest.raises(ValueError, match="occurs 2 times in extensions/xpand_extensions/bits.py, not once: x"):
        mutation.applied("x = x")


def test_asserts_of_shared_modules_show_values():
    case = Case(lambda x: (x, x), (np.ones(2),), reference=lambda x: x)
    with pytest.raises(AssertionError, match="assert 2 == 1"):
        check_values(LIBRARIES[0], case)
