"""Which tests `make test` runs, and the count of lines by `make sizes`."""

import importlib.util
from pathlib import Path

import pytest

from tests import tiers

NAMES = [f"tests/test_a.py::test_{i}[{library}]" for i in range(30) for library in ("numpy", "torch-jit", "jax")]


def load_sizes():
    path = Path(__file__).parents[1] / "tools" / "sizes.py"
    spec = importlib.util.spec_from_file_location("sizes", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_each_slow_test_runs_on_one_of_ten_days(monkeypatch, tmp_path):
    monkeypatch.setattr(tiers, "LIST", tmp_path / "slow.txt")
    tiers.LIST.write_text("\n".join(NAMES[:80]))
    days = [set(NAMES) - tiers.left_out(NAMES, tenth) for tenth in range(tiers.TENTHS)]
    for name in NAMES[:80]:
        assert sum(name in run for run in days) == 1
    for name in NAMES[80:]:
        assert all(name in run for run in days)


def test_without_a_list_all_tests_run(monkeypatch, tmp_path):
    monkeypatch.setattr(tiers, "LIST", tmp_path / "missing.txt")
    assert tiers.left_out(NAMES, 0) == set()


def test_the_fastest_of_a_function_on_a_library_always_runs():
    seconds = {
        "tests/test_a.py::test_x[numpy-a]": 1.0,
        "tests/test_a.py::test_x[numpy-b]": 2.0,
        "tests/test_a.py::test_x[jax-a]": 3.0,
        "tests/test_a.py::test_x[jax-b]": 0.1,
        "tests/test_a.py::test_y": 9.0,
    }
    assert tiers.slow_tests(seconds) == ["tests/test_a.py::test_x[jax-a]", "tests/test_a.py::test_x[numpy-b]"]


def test_durations_are_read_from_a_report(monkeypatch, tmp_path, capsys):
    report = tmp_path / "results.xml"
    report.write_text(
        '<testsuites><testsuite><testcase classname="tests.test_a" name="test_x[1]" time="0.1"/>'
        '<testcase classname="tests.test_a" name="test_x[2]" time="0.5"/></testsuite></testsuites>'
    )
    monkeypatch.setattr(tiers, "LIST", tmp_path / "slow.txt")
    assert tiers.main(str(report)) == 0
    assert tiers.LIST.read_text() == "tests/test_a.py::test_x[2]\n"
    assert "1 of 2 tests are slow" in capsys.readouterr().out


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
    assert load_sizes().code_lines(source) == lines
