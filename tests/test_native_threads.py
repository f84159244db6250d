"""Several threads share the large loops of native NumPy programs: the values are those of one thread."""

import gc
import multiprocessing
import os
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import xpand
from xpand_extensions import control_flow
from xpand_extensions.autodiff import grad
from xpand_extensions.jit import make_graph
from xpand_extensions.vmap import vmap

pytest.importorskip("llvmlite")

from tests.test_native import assert_same_bits, native, samples
from xpand_extensions.plugins.numpy.jit.native import BACKEND, _blocks, _reductions, _shares, _threads
from xpand_extensions.plugins.numpy.jit.native._program import Program
from xpand_extensions.tracing._simplify import simplified

if not BACKEND.is_available():
    pytest.skip("not an x86-64 machine", allow_module_level=True)

of = xpand.array_namespace
ROWS, COLUMNS = 23, 37


@pytest.fixture(autouse=True)
def restored() -> Iterator[None]:
    """Restore the number of threads after each test."""
    count = _threads.threads()
    _threads._until = 0.0
    yield
    _threads.limit(count)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Share loops of few elements too, and return a list to which they are added."""
    for name, value in {"LEAST": 16, "PIECE": 16, "LONG": 3}.items():
        monkeypatch.setattr(_shares, name, value)
    monkeypatch.setattr(_reductions, "LEAST", 16)
    monkeypatch.setattr(_blocks, "BLOCK", 32)
    found: list[Any] = []

    def share(frame: int, space: int, make: Any = _shares.Share) -> Any:
        found.append(make(frame, space))
        return found[-1]

    monkeypatch.setattr(_shares, "Share", share)
    return found


def numbers(*shape: int, dtype: str = "float64", seed: int = 0) -> Any:
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


def formula(x: Any) -> Any:
    xp = of(x)
    return xp.exp(-0.5 * x * x) * (1 + 0.3 * x) / (1 + xp.abs(x)) - 0.1 * x


def reduced(x: Any) -> list[Any]:
    xp = of(x)
    names = ("sum", "max", "min", "prod", "mean", "var", "all", "any", "argmax", "argmin")
    return [getattr(xp, name)(x, axis=axis) for name in names for axis in (None, *range(x.ndim))]


def summed(x: Any) -> list[Any]:
    """Add up as many elements as NumPy divides in different ways, and negative zeros."""
    sizes = (16, 127, 128, 129, 136, 137, 255, 1000, 1033, 4099, x.shape[0])
    xp = of(x)
    return [*[xp.sum(x[:size]) for size in sizes], xp.sum(-0.0 * xp.abs(x)), xp.sum(x[:4000], keepdims=True)]


def heat(u: Any) -> Any:
    xp = of(u)
    for _ in range(2):
        around = [xp.roll(u, shift, axis=axis) for axis in range(u.ndim) for shift in (1, -2)]
        u = u + 0.1 * (sum(around[1:], around[0]) - 4 * u)
    return u


def rearranged(x: Any, y: Any) -> list[Any]:
    xp = of(x)
    joined = xp.concat([x, y[::-1, :] * 2.0, xp.flip(x, axis=1)], axis=0)
    return [
        joined,
        joined.mT + 1.0,
        xp.stack([x, y], axis=2) - y[:, :1, None],
        xp.tile(x[0, :], (3,)),
        y[3:, ::2] * x[0, 0],
    ]


def selected(x: Any, i: Any) -> list[Any]:
    xp = of(x)
    along = xp.take_along_axis(x, xp.broadcast_to(i[:, None], (i.shape[0], x.shape[1])), axis=0)
    return [x[i], xp.take(x, i, axis=0), xp.take(x, i, axis=1), x[i, i], along, xp.cumulative_sum(x, axis=1)]


def matrices(a: Any, b: Any) -> list[Any]:
    xp = of(a)
    spd = a @ a.mT + 4 * xp.eye(a.shape[-1])
    return [a @ b, xp.linalg.solve(spd, b), xp.linalg.cholesky(spd), xp.linalg.inv(spd), *xp.linalg.slogdet(spd)]


def path(start: Any) -> Any:
    """Scan lanes of a system of two numbers."""
    xp = of(start)

    def step(y: Any, _: Any) -> Any:
        y = y + 0.01 * xp.stack([y[0] - y[0] * y[1], y[0] * y[1] - y[1]])
        return y, xp.sin(y[0])

    return control_flow.scan(step, start, None, length=5)


def root(a: Any) -> Any:
    """Compute a square root by Newton's method, in as many steps as it takes."""
    xp = of(a)
    step = lambda carry: (0.5 * (carry[0] + a / carry[0]), carry[1] + 1)
    return control_flow.while_loop(lambda carry: xp.abs(carry[0] * carry[0] - a) > 1e-12 * a, step, (a, xp.asarray(0)))


def steps_of_heat(u: Any) -> Any:
    return control_flow.fori_loop(0, 3, lambda _, u: heat(u), u)


def loss(w: Any, x: Any) -> Any:
    xp = of(w)
    return xp.sum(xp.tanh(w * x)) ** 2


PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "formula": (formula, (numbers(ROWS * COLUMNS),)),
    "formula in single precision": (formula, (numbers(ROWS, COLUMNS, dtype="float32"),)),
    "special numbers": (lambda x: [formula(x), x > 0, x / 0.7, of(x).sign(x)], (samples("float64", 500, 0),)),
    "complex numbers": (
        lambda z: [z * (z[0] + 2.0) / 3.0, of(z).exp(z), of(z).sum(z, axis=0), abs(z)],
        (numbers(ROWS, COLUMNS) * (1 + 2j),),
    ),
    "complex numbers in registers": (
        lambda z, c: [z * (c[0] * c[1] + 1j), of(z).exp(z * c[0]), of(z).sum(z / (c[1] + 1.0), axis=1)],
        (numbers(ROWS, COLUMNS) * (1 + 2j), numbers(2) * 1j),
    ),
    "arrays in the order of columns": (reduced, (np.asfortranarray(numbers(ROWS, COLUMNS)),)),
    "integers": (lambda x: [x * x + 3, x // 3, x << 1, x % 5], (samples("int32", 500, 0) | 1,)),
    "broadcasting": (lambda x: formula(x[:, None]) + of(x).exp(x) * x[:, None], (numbers(ROWS),)),
    "rearrangements": (rearranged, (numbers(ROWS, COLUMNS), numbers(ROWS, COLUMNS, seed=1))),
    "reductions of a vector": (reduced, (numbers(1000),)),
    "reductions of a matrix": (reduced, (numbers(ROWS, COLUMNS),)),
    "reductions of three axes": (reduced, (numbers(5, ROWS, 7, dtype="float32"),)),
    "reductions of integers": (reduced, (samples("int64", ROWS * COLUMNS, 0).reshape(ROWS, COLUMNS),)),
    "sums": (summed, (numbers(9001) * 10.0 ** (np.arange(9001) % 9),)),
    "sums in single precision": (summed, (numbers(9001, dtype="float32"),)),
    "stencil": (heat, (numbers(ROWS, COLUMNS),)),
    "stencil of a vector": (heat, (numbers(ROWS * COLUMNS),)),
    "stencil in a loop": (steps_of_heat, (numbers(ROWS, COLUMNS),)),
    "gradient of a stencil": (grad(lambda u: of(u).sum(heat(u) ** 2)), (numbers(ROWS, COLUMNS),)),
    "indices": (selected, (numbers(ROWS, ROWS), np.arange(40) * 7 % ROWS - 5)),
    "matrices": (matrices, (numbers(ROWS, 3, 3), numbers(ROWS, 3, 3, seed=1))),
    "larger matrices": (matrices, (numbers(7, 18, 18), numbers(7, 18, 18, seed=1))),
    "lanes of a scan": (vmap(path, in_axes=1), (numbers(2, 50),)),
    "gradient of lanes": (vmap(grad(lambda y: of(y).sum(path(y)[1])), in_axes=1), (numbers(2, 50),)),
    "lanes of a while loop": (vmap(root), (10.0 ** np.linspace(-8, 8, 50),)),
    "many lanes of a while loop": (vmap(root), (10.0 ** np.linspace(-8, 8, 300),)),
    "gradients of examples": (vmap(grad(loss), in_axes=(None, 0)), (numbers(7), numbers(ROWS, 7))),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_values_do_not_depend_on_the_number_of_threads(small: list[Any], name: str) -> None:
    function, arrays = PROGRAMS[name]
    program = native(function)
    with np.errstate(all="ignore"):
        expected = function(*arrays)
        for count in (1, 2, 3):
            _threads.limit(count)
            for _ in range(3):
                assert_same_bits(program(*arrays), expected)
    assert small  # the loops that threads share


def test_helpers_do_a_part_of_large_loops() -> None:
    program, x = native(formula), numbers(2_000_000)
    expected = program(x)

    def seconds_of_helpers(count: int) -> float:
        _threads.limit(count)
        before = time.process_time() - time.thread_time()
        for _ in range(5):
            assert_same_bits(program(x), expected)
        return time.process_time() - time.thread_time() - before

    end = time.monotonic() + 20
    while (found := seconds_of_helpers(2)) < 0.005 and time.monotonic() < end:
        pass
    assert found >= 0.005
    assert seconds_of_helpers(1) < 0.005


def test_small_loops_are_not_shared() -> None:
    x = numbers(100)
    assert not Program(simplified(make_graph(formula)(x))).shares


@pytest.mark.parametrize("position", [0, 400, 799])
def test_warnings_of_all_threads(small: list[Any], position: int) -> None:
    program = native(lambda x: of(x).sqrt(x) + of(x).exp(x) / 2.0)
    _threads.limit(3)
    x = np.ones(800)
    for _ in range(5):
        program(x)  # which doesn't warn
    x[position] = -1.0
    for _ in range(5):
        with pytest.warns(RuntimeWarning, match="invalid value encountered in sqrt"):
            found = program(x)
        assert np.isnan(found[position])
    with np.errstate(invalid="raise"), pytest.raises(FloatingPointError, match="sqrt"):
        program(x)
    with np.errstate(invalid="ignore"):
        program(x)


def test_errors_of_all_threads(small: list[Any]) -> None:
    take, solve = native(lambda x, i: x[i] * 2.0 + 1.0), native(lambda a, b: 1.0 - of(a).linalg.solve(a, b) * 2.0)
    _threads.limit(3)
    x, indices = numbers(ROWS, 3), np.arange(200) % ROWS
    a, b = numbers(40, 3, 3), numbers(40, 3, 3)
    take(x, indices), solve(a, b)
    indices[150], a[20] = ROWS, 0.0
    with pytest.raises(IndexError, match=f"{ROWS} is out of bounds"):
        take(x, indices)
    with np.errstate(all="ignore"), pytest.raises(np.linalg.LinAlgError):
        solve(a, b)
    assert small


def test_several_threads_call_a_program(small: list[Any]) -> None:
    program = native(lambda x: [heat(x), of(x).sum(formula(x), axis=0)])
    _threads.limit(3)
    arrays = [numbers(ROWS, COLUMNS, seed=seed) for seed in range(6)]
    expected = [program(x) for x in arrays]
    wrong: list[Any] = []

    def run(number: int) -> None:
        try:
            for _ in range(20):
                assert_same_bits(program(arrays[number]), expected[number])
        except AssertionError as error:
            wrong.append(error)

    callers = [threading.Thread(target=run, args=(number,)) for number in range(6)]
    for each in callers:
        each.start()
    for each in callers:
        each.join()
    assert not wrong


def test_exceptions_of_signal_handlers_arrive(small: list[Any]) -> None:
    signal = pytest.importorskip("signal")
    if not hasattr(signal, "setitimer"):
        pytest.skip("no timers")

    class Interrupt(Exception):
        pass

    def interrupt(*_: Any) -> None:
        raise Interrupt

    def repeat(function: Any, x: Any) -> None:
        end = time.monotonic() + 20
        signal.setitimer(signal.ITIMER_REAL, 0.002)
        while time.monotonic() < end:
            function(x)

    program, x = native(heat), numbers(ROWS, COLUMNS)
    expected = program(x)
    _threads.limit(3)
    before = signal.signal(signal.SIGALRM, interrupt)
    gc.disable()  # Python ignores exceptions in JAX's callback of the garbage collector
    try:
        for _ in range(20):
            with pytest.raises(Interrupt):
                repeat(program, x)
            assert_same_bits(program(x), expected)
    finally:
        gc.enable()
        signal.signal(signal.SIGALRM, before)


def test_programs_run_alone_after_a_helper_was_suspended(small: list[Any]) -> None:
    program, x = native(heat), numbers(ROWS, COLUMNS)
    _threads.limit(3)
    expected = program(x)
    _threads.rest()
    assert _threads.team()[0] == 1
    assert_same_bits(program(x), expected)
    _threads._until = 0.0
    assert _threads.team()[0] == 3


def test_the_memory_of_a_call_is_freed(small: list[Any]) -> None:
    program = native(heat)
    _threads.limit(2)
    x, arrays = numbers(ROWS, COLUMNS), []
    for _ in range(50):
        found = program(x)
        arrays.append(weakref.ref(found))
        del found
    assert not any(each() is not None for each in arrays)


# Processes


def same_in_child(program: Any, x: Any, expected: Any) -> None:
    _threads._until = 0.0
    assert_same_bits(program(x), expected)
    assert len(_threads._HELPERS) == _threads.threads() - 1 > 0


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.filterwarnings("ignore:.*fork:RuntimeWarning")
def test_programs_survive_a_fork(small: list[Any]) -> None:
    program, x = native(formula), numbers(500)
    _threads.limit(3)
    expected = program(x)
    for _ in range(2):
        child = multiprocessing.get_context("fork").Process(target=same_in_child, args=(program, x, expected))
        child.start()
        child.join(60)
        assert child.exitcode == 0
        same_in_child(program, x, expected)


CHILD = """
import numpy as np
from xpand import array_namespace
from xpand_extensions.jit import jit
from xpand_extensions.plugins.numpy.jit.native import _threads

x = np.linspace(0.0, 1.0, 1_000_000)
program = jit(lambda x: array_namespace(x).exp(x) * 2.0 + 1.0, compiler="native")
assert np.array_equal(program(x), np.exp(x) * 2.0 + 1.0)
print(_threads.threads(), len(_threads._HELPERS))
"""


@pytest.mark.parametrize(
    ("given", "expected"), [("1", "1 0"), ("3", "3 2"), ("4,2", "4 3"), ("many", None), (None, None)]
)
def test_the_environment_limits_threads(given: str | None, expected: str | None) -> None:
    variables = {key: value for key, value in os.environ.items() if key != "OMP_NUM_THREADS"}
    variables |= {} if given is None else {"OMP_NUM_THREADS": given}
    done = subprocess.run([sys.executable, "-c", CHILD], env=variables, capture_output=True, text=True, timeout=120)
    assert not done.stderr
    assert not done.returncode
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    assert done.stdout.strip() == (expected or f"{count} {count - 1}")


def test_threadpoolctl_limits_threads() -> None:
    threadpoolctl = pytest.importorskip("threadpoolctl")
    x = np.linspace(0.0, 1.0, 300_000)
    assert Program(simplified(make_graph(formula)(x))).shares  # from now on it is known to threadpoolctl
    _threads.limit(2)
    with threadpoolctl.threadpool_limits(limits=1):
        assert _threads.threads() == 1
    assert _threads.threads() == 2
    with threadpoolctl.threadpool_limits(limits=3, user_api="openmp"):
        assert _threads.threads() == 3
    with threadpoolctl.threadpool_limits(limits=1, user_api="blas"):
        assert _threads.threads() == 2
