"""The harness of the benchmarks on fake rows, and every row's calls once, on small arrays."""

import ast
import importlib
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks import __main__ as program
from benchmarks._calls import CASES, INTEGER_CASES, NATIVE, NATIVE_INTEGERS
from benchmarks._measure import _LEAST_ROUNDS, Budget, Call, Result, Row, finished, measure, smallest_times
from benchmarks._samples import Samples
from tests.libraries import EAGER_LIBRARIES

ROOT = Path(__file__).resolve().parents[1]


class Fake:
    """Something that says how long it takes; the times come in turn, the last one for ever."""

    def __init__(self, *seconds):
        self.seconds = list(seconds)
        self.calls = 0

    def time(self, number):
        self.calls += number
        each = self.seconds.pop(0) if len(self.seconds) > 1 else self.seconds[0]
        return each * number


def fake_row(ours, *references, budget=Budget(), **details):  # noqa: B008 - immutable
    return Row("topic", "row", ours, {f"reference {i}": x for i, x in enumerate(references)}, budget, **details)


def test_the_smallest_time_counts():
    slow_at_first = Fake(9e-3, 9e-3, 9e-3, 9e-3, 8e-3, 1e-3, 7e-3)
    assert smallest_times([slow_at_first, Fake(2e-3)], 0.0) == [1e-3, 2e-3]


def test_the_fastest_reference_counts():
    result = measure(fake_row(Fake(2e-3), Fake(4e-3), Fake(1e-3)), seconds=0.0, attempts=1)
    assert result.reference_name == "reference 1"
    assert result.ratio == pytest.approx(2)
    assert not result.ok
    assert result.note == "no reason known"


def test_a_row_that_looks_missed_is_measured_again():
    each = 4 + _LEAST_ROUNDS  # times of an attempt: to find the size of a batch, and the rounds
    ours = Fake(*[5e-3] * each, *[1e-3] * each)
    result = measure(fake_row(ours, Fake(1e-3)), seconds=0.0, attempts=3)
    assert result.ok
    assert result.ratio == pytest.approx(1)
    assert ours.calls == 2 * each


def test_the_same_function_is_not_timed():
    x = np.ones(3)
    result = measure(fake_row(Call(np.add, x, x), Call(np.add, x, x)))
    assert (result.same, result.ok, result.ratio) == (True, True, 1.0)
    assert "ours_us" not in result.as_dict()
    assert not Call(np.add, x, x).is_same_as(Call(np.add, x, np.ones(3)))
    assert not Call(np.sum, x, axis=0).is_same_as(Call(np.sum, x))


def test_a_result_computed_beside_the_program_is_waited_for():
    from time import sleep

    class Later:
        def block_until_ready(self):
            sleep(2e-3)

    result = measure(fake_row(Call(Later), Call(sleep, 1e-3)), seconds=0.0, attempts=1)
    assert result.ours > 1.9e-3
    result = measure(fake_row(Call(lambda: (Later(), 1)), Call(sleep, 1e-3)), seconds=0.0, attempts=1)
    assert result.ours > 1.9e-3
    now = Call(sleep, 0)
    assert finished(now) is now


@pytest.mark.parametrize(
    ("budget", "ours", "reference", "ok"),
    [
        (Budget(), 1.02e-3, 1e-3, True),  # noise
        (Budget(), 1.04e-3, 1e-3, False),
        (Budget(extra=0.5e-6), 1.49e-6, 1e-6, True),
        (Budget(extra=0.5e-6), 1.6e-6, 1e-6, False),
        (Budget(ratio=0.25), 0.26e-6, 1e-6, True),
        (Budget(ratio=0.25), 0.3e-6, 1e-6, False),
    ],
)
def test_budgets(budget, ours, reference, ok):
    assert Result("topic", "row", "reference", ours, reference, budget).ok is ok


def test_how_budgets_are_written():
    assert str(Budget(extra=0.5e-6)) == "1× + 0.5 µs"
    assert str(Budget(extra=0.03)) == "1× + 30 ms"
    assert str(Budget(ratio=1.05)) == "1.05×"


def test_memory_is_written_in_megabytes():
    result = measure(fake_row(Fake(40e6), Fake(80e6), unit="B"), seconds=0.0, attempts=1)
    found = result.as_dict()
    assert (found["ours_mb"], found["reference_mb"], found["ratio"], found["ok"]) == (40.0, 80.0, 0.5, True)
    assert "ours_us" not in found
    assert program.amount_text(result.ours, result.unit) == "40 MB"
    assert program.amount_text(2e-3, "s") == "2 ms"


@pytest.mark.skipif(not os.access("/proc/self/clear_refs", os.W_OK), reason="Linux counts the pages of a process")
def test_peak_memory_is_that_of_one_call():
    from benchmarks.compilation import Peak

    peak = Peak(Call(np.ones, 5_000_000))
    assert peak.time(1) == pytest.approx(40e6, rel=0.1)


def test_a_first_call_uses_a_new_program():
    from benchmarks.compilation import First

    programs = []
    first = First(lambda: programs.append(sum) or len, ([1],))
    assert 0.0 <= first.time(3) < 0.1
    assert programs == [sum] * 3


def test_a_fault_is_missed_whatever_the_time():
    result = measure(fake_row(Fake(1e-3), Fake(1e-3), fault="it imports numpy"), seconds=0.0)
    assert not result.ok
    assert result.as_dict()["note"] == "it imports numpy"


def test_a_broken_function_is_a_missed_row():
    def broken():
        raise ZeroDivisionError("oh")

    result = measure(fake_row(Call(broken), Fake(1e-3)))
    assert not result.ok
    assert result.note == "raises ZeroDivisionError: oh"
    json.dumps(result.as_dict(), allow_nan=False)


def test_a_call_passes_its_arguments():
    seen = []
    call = Call(lambda *args, **kwargs: seen.append((args, kwargs)), 1, "two", three=3)
    call.time(2)
    call()
    assert seen == [((1, "two"), {"three": 3})] * 3


def test_what_a_long_table_shows():
    def result(name, ours, same=False):
        return Result("topic", name, "native", ours, 1e-3, Budget(), same=same)

    results = [result(f"fine {i}", 0.5e-3 + i * 1e-5) for i in range(20)] + [result("same", 0.0, same=True)]
    assert [r.name for r in program.shown(results)] == ["fine 19", "fine 18", "fine 17", "fine 16", "fine 15"]
    missed = [result(f"missed {i}", 2e-3) for i in range(7)]
    assert {r.name for r in program.shown(results + missed)} == {r.name for r in missed}
    assert program.table("topic", results + missed).row_count == 7


@pytest.mark.parametrize("part", range(8))
def test_every_row_runs(part):
    topics = program.TOPICS[part::8]
    # In a process of their own: the benchmarks set the libraries up as the other tests don't want them.
    script = f"""
import importlib
from benchmarks._measure import Call
for topic in {topics}:
    module = importlib.import_module("benchmarks." + topic)
    for row in module.rows(**module.SMALL):
        calls = [row.ours, *row.references.values()]
        for timed in calls:
            if isinstance(timed, Call) and not any(timed.is_same_as(other) for other in calls if other is not timed):
                try:
                    timed()
                except Exception as error:
                    raise SystemExit(f"{{topic}}: {{row.name}} raises {{error!r}}")
        print(topic)
"""
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, env=os.environ)
    assert done.returncode == 0, done.stdout[-200:] + done.stderr
    rows = done.stdout.splitlines()
    for topic in topics:
        assert rows.count(topic) >= {"doors": 13, "segments": 8, "namespaces": 1000}.get(topic, 1), topic


WITH_RECIPES = [library for library in EAGER_LIBRARIES if library.id in ("numpy", "torch", "jax")]


@pytest.mark.parametrize("library", WITH_RECIPES, ids=str)
def test_ours_and_the_recipes_agree(library):
    from benchmarks.segments import RECIPES
    from xpand_extensions import scatter

    for shape in ((30,), (30, 8)):
        values = library.asarray(np.random.default_rng(0).uniform(size=shape))
        ids = library.asarray(np.random.default_rng(1).integers(0, 5, 30))
        ours = scatter.segment_sum(values, ids, num_segments=5)
        for name, recipe in RECIPES[library.id](values, ids, 5).items():
            np.testing.assert_allclose(np.asarray(recipe()), np.asarray(ours), rtol=1e-12, err_msg=name)


def test_every_function_of_the_standard_has_a_case():
    import array_api_strict as strict

    def functions(module, prefix=""):
        return {
            prefix + name
            for name in module.__all__
            if callable(getattr(module, name))
            and not isinstance(getattr(module, name), type)
            and not name.startswith("_")
        }

    names = functions(strict) | functions(strict.linalg, "linalg.") | functions(strict.fft, "fft.")
    names = {name for name in names if "array_api_strict" not in name}
    dtypes = {name for name in names if isinstance(getattr(strict, name, None), type(strict.float64))}
    # New in 2025.12, and not in array-api-strict yet.
    assert set(CASES) == (names - dtypes) | {"linalg.eig", "linalg.eigvals"}
    assert set(INTEGER_CASES) <= set(CASES)
    for natives, cases in ((NATIVE, CASES), (NATIVE_INTEGERS, INTEGER_CASES)):
        for library in natives.values():
            assert set(library) <= set(cases)


def test_samples_have_the_size_asked_for():
    samples = Samples(np.asarray, 1000)
    assert samples.floats.shape == samples.integers.shape == (1000,)
    assert samples.matrix.shape == (31, 31)
    assert samples.matrices.shape == (10, 10, 10)
    assert np.all(np.linalg.eigvalsh(samples.matrices) > 0)


def test_the_program_writes_what_the_docs_read(tmp_path, monkeypatch, capsys):
    class Module:
        @staticmethod
        def rows():
            return [fake_row(Fake(1e-3), Fake(1e-3)), fake_row(Fake(9e-3), Fake(1e-3), reason="slow by nature")]

    monkeypatch.setattr(program, "OUTPUT", tmp_path / "benchmarks.json")
    monkeypatch.setattr(program, "TOPICS", ("fake",))
    importlib.import_module("jax")  # before the import below is replaced: JAX would not come to an end
    monkeypatch.setattr(program, "machine", lambda: {"cores": 2})
    monkeypatch.setattr(importlib, "import_module", lambda name, package=None: Module)
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "XLA_FLAGS"):
        monkeypatch.setenv(variable, os.environ.get(variable, ""))
    assert program.main(["--quick", "--write"]) == 0
    assert "1 of 2 within budget" in capsys.readouterr().out
    document = json.loads((tmp_path / "benchmarks.json").read_text(encoding="utf-8"))
    assert set(document) == {"machine", "settings", "versions", "topics"}
    assert document["settings"]["OMP_NUM_THREADS"] == "1"
    assert [row["ok"] for row in document["topics"][0]["rows"]] == [True, False]
    assert document["topics"][0]["rows"][1]["note"] == "slow by nature"


def test_topics_measured_anew_take_the_place_of_the_old():
    old = [{"topic": "a", "rows": [1]}, {"topic": "b", "rows": [2]}]
    new = [{"topic": "c", "rows": [3]}, {"topic": "a", "rows": [4]}]
    assert [(topic["topic"], topic["rows"]) for topic in program.merged(old, new)] == [
        ("a", [4]),
        ("b", [2]),
        ("c", [3]),
    ]


def test_topics_of_another_processor_name_it():
    old = {"machine": {"processor": "A"}, "topics": [{"topic": "a", "rows": [1]}, {"topic": "b", "rows": [2]}]}
    new = {"machine": {"processor": "B"}, "topics": [{"topic": "a", "rows": [4]}]}
    found = program.updated(old, new)
    assert found["machine"] == {"processor": "A"}
    assert [topic.get("processor") for topic in found["topics"]] == ["B", None]
    again = program.updated(found, old)
    assert [topic.get("processor") for topic in again["topics"]] == [None, None]


@pytest.mark.parametrize("arguments", [["--only", "nothing"], ["--only"], ["--fast"]])
def test_a_wrong_option_is_refused(arguments, capsys):
    with pytest.raises(SystemExit, match="2"):
        program.main(arguments)
    assert "error:" in capsys.readouterr().err


def test_the_environment_is_set_before_a_library_is_imported():
    for name in ("__main__.py", "_measure.py"):
        tree = ast.parse((ROOT / "benchmarks" / name).read_text(encoding="utf-8"))
        imported = {alias.name for node in tree.body if isinstance(node, ast.Import) for alias in node.names}
        imported |= {node.module for node in tree.body if isinstance(node, ast.ImportFrom)}
        assert not imported & {"numpy", "torch", "jax", "xpand", "namespaces", "doors", "segments"}


def test_a_run_names_its_machine_and_settings(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    found = program.machine()
    assert found["cores"] == os.cpu_count()
    assert found["processor"]
    assert found["memory"].endswith("GiB")
    assert program.settings()["OMP_NUM_THREADS"] == "1"


def test_changes_between_two_runs_are_those_beyond_noise():
    def run(**ratios):
        rows = [{"row": name, "ratio": ratio} for name, ratio in ratios.items()]
        return {"topics": [{"topic": "sorting", "rows": rows}]}

    table = program.changes(
        run(same=1.0, slower=1.0, faster=2.0, gone=1.0), run(same=1.1, slower=1.5, faster=0.5, new=3.0)
    )
    assert table.title == "2 of 3 ratios differ by more than 1.15×"
    cells = [list(column.cells) for column in table.columns]
    assert cells[1] == ["faster", "slower"]
    assert cells[2:] == [["2.00", "1.00"], ["0.50", "1.50"], ["0.25×", "1.50×"]]
