"""Progress of long computations, and the history of iterations."""

import contextlib
import io
import sys
from typing import Any

import jax
import numpy as np
import pytest

from tests.libraries import EAGER_LIBRARIES, LIBRARIES, Library, unless
from xpand import array_namespace, namespace
from xpand_extensions import named, optimize, sparse
from xpand_extensions.control_flow import fori_loop, scan, while_loop
from xpand_extensions.jit import jit
from xpand_extensions.linear_solve import solve
from xpand_extensions.optimize import minimize
from xpand_extensions.progress import Progress, reporting, tracked
from xpand_extensions.vmap import vmap

_RNG = np.random.default_rng(0)
_FACTOR = _RNG.normal(size=(6, 6))
MATRIX = _FACTOR @ _FACTOR.T + 6 * np.eye(6)
RIGHT = _RNG.normal(size=(3, 6))


@pytest.fixture(params=EAGER_LIBRARIES, ids=str)
def eager(request: pytest.FixtureRequest) -> Library:
    return request.param


def total(x: Any, **options: Any) -> Any:
    return array_namespace(x).sum(x, **options)


def steps_of(seen: list[Progress]) -> list[tuple[int, bool]]:
    jax.effects_barrier()
    return [(each.step, each.finished) for each in seen]


def to_end(steps: int) -> list[tuple[int, bool]]:
    return [*((i, False) for i in range(1, steps + 1)), (steps, True)]


@pytest.mark.parametrize("library", LIBRARIES, ids=str)
def test_the_history_of_a_solver_ends_with_its_residual(library: Library) -> None:
    """Each row, of one system of a batch, starts at the norm of the right-hand side and has a number for each step."""
    size, most = (3, 3) if library.lazy else (6, 9)
    a = library.asarray(MATRIX[:size, :size])
    b = library.asarray(RIGHT[:, :size] * np.asarray([[1.0], [0.0], [5.0]]))
    found = solve(a, b, axis=-1, method="cg", record_history=True, max_steps=most, throw=False)
    history, steps = library.to_numpy(found.history), library.to_numpy(found.iterations)
    norms = library.to_numpy(found.residual_norm)
    assert history.shape == (3, most + 1 if library.lazy else steps.max() + 1)
    np.testing.assert_allclose(history[:, 0], np.linalg.norm(library.to_numpy(b), axis=-1))
    for row, count, norm in zip(history, steps, norms):
        np.testing.assert_allclose(row[count], norm, atol=1e-12)
        assert np.isnan(row[count + 1 :]).all()
        assert not np.isnan(row[: count + 1]).any()


@pytest.mark.parametrize("method", ["bicg", "gmres(3)", "gcrot", "qmr", "cgs", "minres", "lsqr", "bicgstab(2)"])
def test_each_method_has_a_history_and_reports(method: str) -> None:
    seen: list[Progress] = []
    found = solve(MATRIX, RIGHT[0], method=method, record_history=True, progress=seen.append)
    steps = int(found.iterations)
    assert found.history.shape == (steps + 1,)
    np.testing.assert_allclose(found.history[[0, -1]], [np.linalg.norm(RIGHT[0]), found.residual_norm], atol=1e-8)
    assert steps_of(seen) == to_end(steps)
    assert {(each.name, each.total, each.label) for each in seen} == {(f"solve: {found.method}", 60, "residual")}
    np.testing.assert_allclose([each.value for each in seen[:-1]], found.history[1:])
    assert solve(MATRIX, RIGHT[0], method=method).history == ()


def test_a_solver_of_each_library_reports(eager: Library) -> None:
    seen: list[Progress] = []
    a, b = eager.asarray(MATRIX), eager.asarray(RIGHT[0])
    found = solve(a, b, method="cg", progress=seen.append)
    assert steps_of(seen) == to_end(int(found.iterations))


def test_scaled_systems_report_their_own_residuals() -> None:
    seen: list[Progress] = []
    found = solve(MATRIX * 1e200, RIGHT[0] * 1e180, method="cg", record_history=True, progress=seen.append)
    np.testing.assert_allclose(found.history[0], np.linalg.norm(RIGHT[0]) * 1e180)
    np.testing.assert_allclose([each.value for each in seen[:-1]], found.history[1:])


@unless(lambda eager: eager.id.startswith("torch"))  # which takes Inductor half a minute
def test_a_history_within_transformations(eager: Library) -> None:
    a, b = eager.asarray(MATRIX), eager.asarray(RIGHT)
    one = lambda b: solve(a, b, method="cg", record_history=True, max_steps=9).history
    expected = np.full((3, 10), np.nan)
    for row, right in zip(expected, RIGHT):
        found = solve(MATRIX, right, method="cg", record_history=True).history
        row[: found.shape[0]] = found
    expected[expected < 1e-8] = 0
    for function in (jit(lambda b: one(b[0, :])), vmap(one)):
        history = eager.to_numpy(function(b)).copy()
        history[history < 1e-8] = 0
        np.testing.assert_allclose(history, expected if history.ndim == 2 else expected[0], rtol=1e-6)


def test_sparse_systems_and_named_ones() -> None:
    a = sparse.from_dense(MATRIX)
    found = solve(a, RIGHT[0], method="cg", record_history=True)
    assert found.history.shape == (int(found.iterations) + 1,)
    b = named.named(RIGHT[0], "i")
    same = named.linear_solve.solve(a, b, axes=("i", "j"), method="cg", record_history=True)
    np.testing.assert_array_equal(same.history, found.history)


def test_a_direct_method_has_no_history_and_no_reports() -> None:
    seen: list[Progress] = []
    found = solve(MATRIX, RIGHT[0], record_history=True, progress=seen.append)
    assert found.history == ()
    assert not seen


@pytest.mark.parametrize("method", ["l-bfgs", "nelder-mead", "adam", "newton-cg", "scipy-bfgs", "scipy-cobyla"])
def test_minimizers_have_a_history_and_report(method: str) -> None:
    seen: list[Progress] = []
    f = lambda x: total((x - 1.0) ** 2) + x[0] ** 4
    options = {"method": method, "max_steps": 25, "throw": False}
    found = minimize(f, np.asarray([2.0, 3.0]), record_history=True, progress=seen.append, **options)
    steps = int(found.iterations)
    history = found.history
    assert history.objective.shape == history.optimality.shape
    assert history.objective[0] == 1.0 + 4.0 + 16.0
    if method != "scipy-cobyla":  # which counts evaluations
        assert history.objective.shape == (steps + 1,)
        np.testing.assert_allclose(history.objective[steps], found.fun, rtol=1e-12)
        assert steps_of(seen) == to_end(steps)
    assert seen[-1].name == f"minimize: {method}"
    assert (seen[-1].label, seen[-1].total) == ("objective", 25)
    assert minimize(f, np.asarray([2.0, 3.0]), **options).history is None


@pytest.mark.parametrize("library", LIBRARIES, ids=str)
def test_the_history_of_a_batch_of_minima(library: Library) -> None:
    x = library.asarray([[1.0, 2.0], [0.0, 0.0]])
    steps = {"max_steps": 2} if library.lazy else {}
    f = lambda x: total(x**4, axis=-1)
    found = minimize(f, x, batch_ndim=1, method="gradient-descent", record_history=True, throw=False, **steps)
    objective, counts = library.to_numpy(found.history.objective), library.to_numpy(found.iterations)
    assert objective.shape == (2, 3 if library.lazy else counts.max() + 1)
    np.testing.assert_allclose(objective[:, 0], [17.0, 0.0])
    np.testing.assert_allclose(objective[0, counts[0]], library.to_numpy(found.fun)[0])
    assert np.isnan(objective[1, 1:]).all()


@unless(lambda eager: eager.id.startswith("torch"))
def test_a_history_of_a_compiled_minimum(eager: Library) -> None:
    x = eager.asarray([1.0, 2.0])
    run = lambda x: minimize(lambda x: total(x**2), x, method="gradient-descent", record_history=True, max_steps=6)
    history = eager.to_numpy(jit(run)(x).history.objective)
    own = minimize(lambda x: total(x**2), np.asarray([1.0, 2.0]), method="gradient-descent", record_history=True)
    size = own.history.objective.shape[0]
    np.testing.assert_allclose(history[:size], own.history.objective, atol=1e-12)
    assert history.shape == (7,)
    assert np.isnan(history[size:]).all()


@pytest.mark.parametrize("method", ["newton", "broyden", "anderson"])
def test_roots_have_a_history_of_residuals(method: str) -> None:
    seen: list[Progress] = []
    f = lambda x: x * x - np.asarray([4.0, 9.0])
    found = optimize.root(f, np.asarray([1.0, 2.0]), method=method, record_history=True, progress=seen.append)
    np.testing.assert_allclose(found.history.objective[[0, -1]], [np.sqrt(9 + 25), np.linalg.norm(found.fun)])
    np.testing.assert_allclose(found.history.optimality[-1], found.optimality)
    assert steps_of(seen) == to_end(int(found.iterations))
    assert seen[0].label == "residual"


def test_other_searches_have_a_history() -> None:
    options: dict[str, Any] = {"record_history": True, "progress": lambda each: seen.append(each.name)}
    seen: list[str] = []
    target = np.asarray([4.0, 9.0])
    optimize.least_squares(lambda x: x * x - target, np.asarray([1.0, 2.0]), **options)
    optimize.fixed_point(np.cos, np.asarray([0.5]), **options)
    for search in (optimize.bracketed_root, optimize.brentq, optimize.bisect):
        found = search(lambda x: x * x - target, 0.0, np.asarray([5.0, 12.0]), **options)
        assert found.history.objective.shape == (2, found.iterations.max() + 1)
    names = ["least_squares: levenberg-marquardt", "fixed_point: iteration", "bracketed_root: brent"]
    assert list(dict.fromkeys(seen)) == [*names, "brentq: brent", "bisect: bisect"]


def test_a_trajectory_has_the_history_beside_it() -> None:
    f = lambda x: total(x**4)
    found = minimize(f, np.asarray([1.0, 2.0]), max_steps=(0, 3), record_history=True, throw=False)
    np.testing.assert_array_equal(found.history.objective[[0, 3]], found.trajectory.fun)


def test_loops_report_each_step(eager: Library) -> None:
    seen: list[Progress] = []
    x = eager.asarray([1.0, 2.0, 3.0])
    last, rows = scan(lambda c, x: (c + x, c), 0.0, x, reverse=True, progress=seen.append)
    eager.assert_equal(last, np.asarray(6.0))
    eager.assert_equal(rows, np.asarray([5.0, 3.0, 0.0]))
    eager.assert_equal(fori_loop(2, 5, lambda i, c: c + 1.0, x, progress=seen.append), np.asarray([4.0, 5.0, 6.0]))
    found = while_loop(lambda c: total(c) < 30, lambda c: c * 2.0, x, max_iter=(1, 4), progress=seen.append)
    eager.assert_equal(found, np.asarray([[2.0, 4.0, 6.0], [8.0, 16.0, 24.0]]))
    assert steps_of(seen) == to_end(3) * 3
    assert [(each.name, each.total) for each in seen[::4]] == [("scan", 3), ("fori_loop", 3), ("while_loop", 4)]


def test_compiled_and_differentiated_loops_report(eager: Library) -> None:
    seen: list[Progress] = []
    x = eager.asarray([1.0, 2.0, 3.0])
    f = lambda x: scan(lambda c, x: (c * x, None), 1.0, x, progress=seen.append)[0]
    eager.assert_equal(jit(f)(x), np.asarray(6.0))
    assert [each for each in steps_of(seen) if not each[1]] == to_end(3)[:-1]


def test_the_outermost_call_reports() -> None:
    def inner(x: Any) -> Any:
        return total(solve(MATRIX, x, method="cg").x * x)

    seen: list[Progress] = []
    minimize(inner, RIGHT[0], max_steps=2, throw=False, progress=seen.append)
    with reporting(seen.append):
        minimize(inner, RIGHT[0], max_steps=2, throw=False)
    assert {each.name for each in seen} == {"minimize: l-bfgs"}
    assert len(seen) == 6
    solve(MATRIX, RIGHT[0], method="cg")
    assert len(seen) == 6


def test_computations_of_dask_report_their_tasks() -> None:
    xp, seen = namespace("dask"), []
    x = xp.sum(xp.ones((8, 8), chunks=4)) + 1.0
    with reporting(seen.append):
        assert float(x) == 65.0
    assert seen[-1].finished
    assert seen[-1].name == "compute"
    assert seen[-1].step == seen[-1].total == len(seen) - 1 > 4
    count = len(seen)
    assert float(x + 1.0) == 66.0
    assert len(seen) == count


def test_empty_batches_and_loops_without_steps_report_nothing(eager: Library) -> None:
    seen: list[Progress] = []
    x = eager.asarray(np.zeros((0, 2)))
    options: dict[str, Any] = {"record_history": True, "progress": seen.append, "max_steps": 5}
    found = minimize(lambda x: total((x - 1.0) ** 2, axis=-1), x, batch_ndim=1, **options)
    assert found.history.objective.shape == (0, 1)
    assert solve(eager.asarray(np.eye(2)), x, axis=-1, method="cg", **options).history.shape == (0, 1)
    scan(lambda c, x: (c + total(x), x), eager.asarray(0.0), x, progress=seen.append)
    fori_loop(3, 1, lambda i, c: c + 1.0, x, progress=seen.append)
    assert not steps_of(seen)


def test_a_list_that_collects_reports_may_be_empty() -> None:
    class Log(list[Progress]):
        def __call__(self, progress: Progress) -> None:
            self.append(progress)

    log = Log()
    fori_loop(0, 3, lambda i, c: c + 1.0, RIGHT[0], progress=log)
    assert steps_of(log) == to_end(3)
    log = Log()
    with reporting(log):
        solve(MATRIX, RIGHT[0], method="cg")
    assert log


def test_errors_name_the_argument() -> None:
    for function, run in (
        ("solve", lambda **k: solve(MATRIX, RIGHT[0], method="cg", **k)),
        ("minimize", lambda **k: minimize(lambda x: total(x**2), RIGHT[0], **k)),
        ("scan", lambda **k: scan(lambda c, x: (c, x), 0.0, RIGHT[0], **k)),
    ):
        with pytest.raises(TypeError, match=f"{function}: progress must be True, False or a function"):
            run(progress=3)
    with pytest.raises(TypeError, match="solve: record_history must be"):
        solve(MATRIX, RIGHT[0], record_history=1)
    with pytest.raises(TypeError, match="root: record_history must be"):
        optimize.root(np.cos, np.asarray([1.0]), record_history="yes")
    with pytest.raises(ValueError, match="solve: record_history needs one number of steps"):
        solve(MATRIX, RIGHT[0], method="cg", max_steps=(1, 2), record_history=True)


def test_an_error_ends_the_report_and_leaves_no_trace() -> None:
    seen: list[Progress] = []

    def fails(report: Any) -> None:
        report(1)
        raise KeyError("stop")

    with contextlib.suppress(KeyError), tracked("own", progress=seen.append) as report:
        fails(report)
    assert steps_of(seen) == to_end(1)
    with tracked("other") as report:
        assert report is None


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def _shown(monkeypatch: pytest.MonkeyPatch, stream: Any, setting: str = "") -> None:
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("XPAND_PROGRESS", setting)
    solve(MATRIX, RIGHT[0], method="cg", progress=True)


def test_a_terminal_has_a_bar_and_a_file_has_lines(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    terminal, log = _Terminal(), tmp_path / "log"
    _shown(monkeypatch, terminal)
    assert "solve: cg, residual" in terminal.getvalue()
    assert "6/6" in terminal.getvalue()
    with log.open("w") as file:
        _shown(monkeypatch, file)
    (line,) = log.read_text().splitlines()
    assert line.startswith("solve: cg: 6 of 60, residual ")
    assert line.endswith(" s, finished")
    text = io.StringIO()
    _shown(monkeypatch, text, "off")
    assert not text.getvalue()
    _shown(monkeypatch, text, "lines")
    assert text.getvalue().startswith("solve: cg: 6 of 60")
    with pytest.raises(ValueError, match=r"XPAND_PROGRESS: .* must be one of 'bar', 'lines', 'off', got 'line'"):
        _shown(monkeypatch, text, "line")


def test_a_compiled_loop_starts_no_bar_that_nothing_would_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = _Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("XPAND_PROGRESS", "")
    monkeypatch.setattr("xpand_extensions.progress._SECONDS_PER_LINE", 0.0)
    compiled = jit(lambda x: fori_loop(0, 2, lambda i, c: c + x, x, progress=True))
    np.testing.assert_array_equal(compiled(np.ones(2)), [3.0, 3.0])
    assert [line.partition(",")[0] for line in terminal.getvalue().splitlines()] == [
        "fori_loop: 1 of 2",
        "fori_loop: 2 of 2",
    ]


def test_a_pipe_stays_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    import os

    read, write = os.pipe()
    with open(read) as reader, open(write, "w") as writer:
        _shown(monkeypatch, writer)
        writer.close()
        assert not reader.read()


def test_lines_come_every_few_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    now = iter([0.0, 1.0, 2.5, 3.0, 5.0, 5.5])
    monkeypatch.setattr("time.monotonic", lambda: next(now))
    text = io.StringIO()
    monkeypatch.setattr(sys, "stderr", text)
    monkeypatch.setenv("XPAND_PROGRESS", "lines")
    with tracked("own", 4, "value", progress=True) as report:
        for i in range(1, 5):
            report(i, 0.5)
    assert text.getvalue().splitlines() == [
        "own: 2 of 4, value 0.5, 2.5 s",
        "own: 4 of 4, value 0.5, 5.0 s",
        "own: 4 of 4, value 0.5, 5.5 s, finished",
    ]
