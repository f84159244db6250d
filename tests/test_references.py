"""Reference values that are stored."""

import numpy as np
import pytest

from tests import references
from tests.cases import Case

VALUES = (
    np.asarray([[1.0, -0.0, np.nan], [np.inf, 0.1, 5e-324]]),
    np.asarray(complex(0.5, -np.inf)),
    np.asarray([], dtype=np.float32),
)
CASE = Case(lambda x: x, (np.ones(2),))


@pytest.fixture
def folder(monkeypatch, tmp_path):
    """An empty folder of stored values, and none computed so far."""
    monkeypatch.setattr(references, "FOLDER", tmp_path)
    monkeypatch.setattr(references, "mode", "write")
    monkeypatch.setattr(references, "computed", {})
    references._values.cache_clear()
    yield tmp_path
    references._values.cache_clear()


def again(monkeypatch, mode):
    """Begin the running test again, in another mode."""
    monkeypatch.setattr(references, "mode", mode)
    references._values.cache_clear()
    references.calls.clear()


def test_values_are_read_as_they_were_written(folder, monkeypatch):
    references.stored(CASE, lambda: VALUES)
    references.write()
    again(monkeypatch, "use")
    found = references.stored(CASE, lambda: pytest.fail("computed again"))
    for x, wanted in zip(found, VALUES, strict=True):
        assert (x.dtype, x.shape) == (wanted.dtype, wanted.shape)
        assert x.tobytes() == wanted.tobytes()


def test_values_for_other_arrays_are_computed(folder, monkeypatch):
    references.stored(CASE, lambda: VALUES)
    references.write()
    again(monkeypatch, "use")
    other = Case(CASE.function, (np.zeros(2),))
    assert references.stored(other, lambda: (np.ones(()),)) == (1.0,)


def test_values_of_another_version_are_computed(folder, monkeypatch):
    pytest.importorskip("jax")
    references.stored(CASE, lambda: VALUES)
    references.write()
    path = folder / "test_references.json"
    path.write_text(path.read_text().replace("jax ", "jax 0"))
    again(monkeypatch, "use")
    assert references.stored(CASE, lambda: (np.ones(()),)) == (1.0,)


@pytest.mark.parametrize("factor", [1.0, 1.001])
def test_stored_values_are_compared(folder, monkeypatch, factor):
    references.stored(CASE, lambda: (np.asarray([1.0, 2.0]),))
    references.write()
    again(monkeypatch, "check")
    compute = lambda: (np.asarray([1.0, 2.0 * factor]),)
    if factor == 1.0:
        assert references.stored(CASE, compute)[0].tolist() == [1.0, 2.0]
    else:
        with pytest.raises(AssertionError, match="make references"):
            references.stored(CASE, compute)


def test_other_values_of_a_module_stay(folder, monkeypatch):
    references.stored(CASE, lambda: (np.asarray(1.0),))
    references.write()
    references._values.cache_clear()
    monkeypatch.setattr(references, "computed", {})
    references.stored(CASE, lambda: (np.asarray(2.0),))
    references.write()
    again(monkeypatch, "use")
    missing = lambda: pytest.fail("computed again")
    assert [references.stored(CASE, missing)[0] for _ in range(2)] == [1.0, 2.0]


def test_tests_that_fail_say_that_values_were_stored(pytestconfig, request):
    report = lambda: request.node.ihook.pytest_runtest_makereport(item=request.node, call=call)
    call = pytest.CallInfo.from_call(lambda: pytest.fail("different"), when="call")
    assert all(references.HINT not in text for _, text in report().sections)
    references.used.add(request.node.name)
    assert report().sections[-1][1] == references.HINT
