"""Code of others, unchanged, under transformations of NumPy arrays: what the docs say of it holds.

`tests/clients` has the calls and judges them, `docs/existing_code.json` has the verdicts. A call that starts to work
fails here until `python -m tests.clients --write` has written the new verdict.
"""

import contextlib
import importlib
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import xpand
from tests.clients import extra_calls
from tests.clients.__main__ import differences, judged, wrong
from tests.clients.sklearn_calls import OF_CLASSES, OF_PAIRS, OF_SCORES, OF_VALUES
from tests.clients.table import CLIENTS, TABLE, is_installed, stored, version_of
from tests.clients.verdicts import RIGHT, TRANSFORMATIONS, Call, Client, judge, verdicts
from xpand_extensions.autodiff import grad

KNOWN = stored()["clients"]
INSTALLED = [name for name, client in CLIENTS.items() if client.in_tests or is_installed(client)]


@pytest.mark.every_run
@pytest.mark.parametrize("name", INSTALLED)
def test_the_table_is_current(name: str) -> None:
    found = judged(name)
    assert wrong(found) == []
    assert differences(KNOWN[name]["calls"], found) == []
    assert KNOWN[name]["version"] == version_of(CLIENTS[name])


def test_the_table_has_every_client() -> None:
    assert list(KNOWN) == list(CLIENTS)
    for name, entry in KNOWN.items():
        assert entry["calls"], name
        assert entry["about"] == CLIENTS[name].about
        assert all(list(row) == list(TRANSFORMATIONS) for row in entry["calls"].values()), name


def test_scipy_is_transformed_as_far_as_before() -> None:
    """Support for SciPy may not shrink."""
    rows = KNOWN["SciPy"]["calls"].values()
    least = {"grad": 41, "jvp": 41, "jit": 30, "vmap": 33}
    assert all(sum(row[name] == RIGHT for row in rows) >= count for name, count in least.items())


@pytest.mark.parametrize("name", extra_calls.OF_TRACED)
def test_array_api_extra_on_the_strict_library(name: str) -> None:
    import array_api_strict as strict

    def loss(x: Any) -> Any:
        xp = xpand.array_namespace(x)
        return xp.sum(xp.sin(xp.asarray(extra_calls.OF_TRACED[name](x))))

    x = Call(abs).x
    found = grad(loss)(strict.asarray(np.array(x)))
    np.testing.assert_allclose(np.asarray(found), grad(loss)(x), rtol=1e-13)


# All that scikit-learn supports is judged


def _parts(client: str) -> set[str]:
    return {part.split(" ")[0] for call in KNOWN[client]["calls"] for part in call.replace(",", " ").split(".")}


def test_every_estimator_with_array_api_support_is_judged() -> None:
    from sklearn.linear_model import LinearRegression
    from sklearn.utils import all_estimators, get_tags

    supported = set()
    for name, estimator in all_estimators():
        for arguments in ((), (LinearRegression(),)):
            # Some need other arguments, or are deprecated.
            with contextlib.suppress(TypeError, AttributeError, FutureWarning):
                if get_tags(estimator(*arguments)).array_api_support:
                    supported.add(name)
    assert len(supported) >= 16
    assert supported <= _parts("scikit-learn")


def test_every_metric_with_array_api_support_is_judged() -> None:
    # scikit-learn's tests need marks of pytest that are unknown here.
    program = """
from sklearn.metrics.tests.test_common import array_api_metric_checkers
print(*{getattr(metric, "func", metric).__name__ for metric in array_api_metric_checkers})
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    supported = set(done.stdout.split())
    assert len(supported) >= 50
    assert supported <= _parts("scikit-learn")
    assert {*OF_CLASSES, *OF_PAIRS, *OF_SCORES, *OF_VALUES} <= _parts("scikit-learn")


# The page


def test_the_page_names_every_call_and_every_failed_test() -> None:
    sys.path.insert(0, str(TABLE.parent))
    try:
        tables: Any = importlib.import_module("_tables")
    finally:
        sys.path.remove(str(TABLE.parent))
    page, failed = tables.existing_code(TABLE), tables.suites(TABLE)
    for name, entry in KNOWN.items():
        assert f"| {name} | {entry['version']} | {len(entry['calls'])} |" in page
        assert all(f"`{call}`" in page for call in entry["calls"])
    for suite in stored()["suites"].values():
        assert all(f"`{test.partition('::')[2]}`" in failed for test in suite["default"]["failures"])


# The judge


def _client(**calls: Any) -> Client:
    return Client("tests", "pytest", "tests", lambda: calls)


def test_right_wrong_and_stopped_calls_are_told_apart() -> None:
    def reads_values(x: Any) -> Any:
        return x * float(x[0])

    def changes(x: Any) -> Any:
        return x * (1.0 if isinstance(x, np.ndarray) else 1.0 + 1e-5)

    found = judge(_client(square=lambda x: x * x, reads_values=reads_values, changes=changes))
    assert set(found["square"].values()) == {RIGHT}
    assert {row["error"] for row in found["reads_values"].values()} == {"TracedError"}  # type: ignore[index]
    assert {row["message"] for row in found["reads_values"].values()} == {"float(x)"}  # type: ignore[index]
    assert wrong({"reads_values": found["reads_values"]}) == []
    assert len(wrong({"changes": found["changes"]})) == 4


def test_expected_wrong_results_must_be_wrong() -> None:
    call = Call(lambda x: x * x, wrong={"grad": "NaN"})
    assert wrong({"square": verdicts("tests", call)}) == ["square: grad: right, although it should not be"]


def test_the_line_of_the_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XPAND_TRACEBACK", "full")
    found = verdicts("numpy", Call(lambda x: np.testing.assert_array_less(x, np.full(6, 5.0)) or x))
    assert found["jit"]["file"].startswith("numpy/")  # type: ignore[index]
    assert "(" in found["jit"]["code"]  # type: ignore[index]


@pytest.mark.parametrize(
    ("known", "found", "expected"),
    [
        ({"f": {"jit": RIGHT}}, {"f": {"jit": RIGHT}}, []),
        ({"f": {"jit": {"file": "a", "error": "E"}}}, {"f": {"jit": RIGHT}}, ["f: jit: is right, in the table {"]),
        ({"f": {"jit": {"file": "a", "error": "E"}}}, {"f": {"jit": {"file": "b", "error": "E"}}}, ["f: jit: is {"]),
        ({"f": {"jit": {"error": "E", "code": "a"}}}, {"f": {"jit": {"error": "E", "code": "b"}}}, []),
        ({"f": {}}, {}, ["f: not judged"]),
        ({}, {"f": {}}, ["f: judged, but not in the table"]),
    ],
)
def test_differences_from_the_table_are_named(known: Any, found: Any, expected: list[str]) -> None:
    texts = differences(known, found)
    assert len(texts) == len(expected)
    assert all(text.startswith(start) for text, start in zip(texts, expected))
