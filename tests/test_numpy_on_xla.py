"""`jit(function, compiler="xla")` on NumPy: values are NumPy's up to rounding, and results belong to the caller."""

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import xpand
from tests.test_control_flow_compiled import CASES as LOOPS
from tests.test_native import random_program
from xpand import trees
from xpand_extensions import control_flow, scatter
from xpand_extensions.autodiff import checkpoint, grad
from xpand_extensions.jit import disable_jit, jit, lower, pure_callback
from xpand_extensions.plugins.numpy.jit import xla

jax = pytest.importorskip("jax")

of = xpand.array_namespace
LARGE = 4_000
"""Elements of an array whose memory is handed over."""


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    return jit(function, compiler="xla")


def assert_close(found: Any, expected: Any, rtol: float = 1e-12) -> None:
    """Compare trees of arrays: structure, shapes, data types, and values."""
    assert trees.structure(found) == trees.structure(expected)
    for x, wanted in zip(trees.leaves(found), trees.leaves(expected)):
        assert isinstance(x, (np.ndarray, np.generic))
        assert (x.shape, x.dtype) == (wanted.shape, wanted.dtype)
        np.testing.assert_allclose(x, wanted, rtol=rtol, atol=rtol)


def aligned(size: int) -> Any:
    """Return an array whose memory XLA can read in place."""
    memory = np.empty(8 * size + 64, dtype=np.uint8)
    start = -memory.ctypes.data % 64
    return memory[start : start + 8 * size].view(np.float64)


# A few, since XLA takes long to compile.
@pytest.mark.parametrize(
    "name", ["while_loop mapped", "jvp of while_loop", "grad of fori_loop", "grad of bounded", "grad of cond", "rules"]
)
def test_loops_and_branches(name: str) -> None:
    function, arrays = LOOPS[name]
    assert_close(compiled(function)(*arrays), jit(function)(*arrays))


def test_a_long_loop_is_not_unrolled() -> None:
    def f(x: Any) -> Any:
        step = checkpoint(lambda c: of(c).sin(c) * x + 0.1)
        last, rows = control_flow.scan(lambda c, _: (step(c), of(c).sum(c)), x, None, length=3_000)
        return of(x).sum(last) + of(x).mean(rows**2)

    x = np.linspace(0.1, 0.9, 3)
    assert_close(compiled(grad(f))(x), jit(grad(f))(x), 1e-9)
    assert "#" not in lower(grad(f), compiler="xla")(x).as_text()


@pytest.mark.parametrize("seed", [0, 2, 5])
def test_random_programs(seed: int) -> None:
    choose = random.Random(seed)
    of_program = choose.random()
    f = lambda x, y: random_program(random.Random(of_program), x, y, 1)
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(3, 4)), rng.normal(size=(3, 4))
    with np.errstate(all="ignore"):
        assert_close(compiled(f)(x, y), jit(f)(x, y), 1e-10)  # which traces the steps once, too


@pytest.mark.parametrize("size", [3, LARGE])
def test_results_are_the_callers(size: int) -> None:
    def f(x: Any) -> Any:
        xp = of(x)
        return {
            "same": xp.positive(x),
            "rows": xp.reshape(x, (-1, 1)),
            "sines": (xp.sin(x), xp.sin(x)),
            "zeros": (xp.zeros(size), xp.zeros(size)),
            "sum": xp.sum(x),
        }

    program, x = compiled(f), np.asarray(aligned(size))
    x[...] = np.linspace(0.0, 1.0, size)
    before = x.copy()
    found, expected = program(x), f(before.copy())
    assert_close(found, expected)
    for k, leaf in enumerate(trees.leaves(found)):
        if leaf.ndim:
            leaf[...] = -k
    for k, leaf in enumerate(trees.leaves(found)):
        assert not leaf.ndim or np.all(leaf == -k)
    np.testing.assert_array_equal(x, before)
    assert_close(program(x), expected)


def test_memory_outlives_the_program() -> None:
    x = np.linspace(0.0, 1.0, LARGE)
    found = compiled(lambda x: x * 2.0 + 1.0)(x)
    others = [compiled(lambda x, i=i: x * 3.0 + i)(x) for i in range(2)]
    assert_close(found, x * 2.0 + 1.0)
    assert isinstance(found.base, xla._Memory)
    del others


def test_arguments_may_change_after_the_call() -> None:
    x = aligned(200_000)
    program = compiled(lambda x: of(x).cumulative_sum(of(x).sin(x)) + x)
    x[...] = 1.0
    expected = program(x).copy()
    for _ in range(5):
        x[...] = 1.0
        found = program(x)
        x[...] = 5.0
        np.testing.assert_array_equal(found, expected)


def test_arguments_of_any_layout() -> None:
    x = np.arange(12.0).reshape(3, 4)
    x.flags.writeable = False
    f = lambda x, n: {"all": x * 2 + n, "rows": of(x).sum(x, axis=0)}
    program = compiled(f)
    for given in (x, np.asfortranarray(x), x[::-1, ::2], x[:0]):
        assert_close(program(given, 3), f(given, 3))


def test_configuration_of_jax_stays() -> None:
    x = np.linspace(0.0, 1.0, 5)
    f = lambda x: of(x).exp(x) * np.asarray([1.0, 2.0, 3.0, 4.0, 5.0]) + of(x).astype(of(x).arange(5), of(x).float64)
    with jax.enable_x64(False):
        program = compiled(f)
        for _ in range(2):
            assert_close(program(x), f(x))
        assert jax.numpy.ones(1).dtype == jax.numpy.float32
    with jax.enable_x64(True):
        assert_close(program(x), f(x))
    with disable_jit():
        assert_close(program(x), f(x))


def test_what_jax_cannot_do_is_left_to_numpy() -> None:
    def f(x: Any) -> Any:
        y = pure_callback(lambda x: x + 1.0, x, x * 2.0)
        return of(x).sin(y) * 2.0

    x = np.linspace(0.0, 1.0, 3)
    assert_close(compiled(f)(x), np.sin(x * 2.0 + 1.0) * 2.0)
    text = lower(f, compiler="xla")(x).as_text()
    assert "not compiled: it calls a function of the host" in text
    assert text.count("#") == 1


def test_integers_have_the_data_types_of_numpy() -> None:
    """JAX alone gives quotients of int32 in single precision, and sums of int64 and float32."""
    f = lambda i, x: (i / 3, of(i).mean(i), x + of(x).astype(i, of(x).int64), i * 0.1)
    i, x = np.asarray([7, -1, 5], np.int32), np.asarray([0.1, 2.5, 3.0], np.float32)
    assert_close(compiled(f)(i, x), f(i, x))


def test_documented_differences() -> None:
    """Each line of docs/compilers.md on values that differ from NumPy's."""
    np.testing.assert_array_equal(compiled(lambda x: (x * 0.5, x > 0.0))(np.asarray([1e-310, 1.0])), [[0, 0.5], [0, 1]])
    assert np.isnan(
        compiled(lambda z: of(z).abs(z))(np.asarray([complex(np.inf, np.nan)]))
    ).all()  # NumPy's is infinite
    i = np.asarray([7, -7])
    assert compiled(lambda i, j: i // j)(i, i * 0).tolist() != [0, 0]
    x = np.arange(3.0)
    assert np.isnan(compiled(lambda x, n: of(x).take(x, n, axis=0))(x, np.asarray([5]))).all()
    np.testing.assert_array_equal(compiled(lambda x, n: scatter.at(x)[n].set(9.0))(x, np.asarray([5])), x)
    assert compiled(lambda x: of(x).astype(x, of(x).int32))(np.asarray([np.nan, 1e20])).tolist() == [0, 2**31 - 1]


def test_without_jax(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xla, "find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r"compiler='xla' needs JAX: pip install 'xpand\[jax\]'"):
        compiled(lambda x: x)(np.ones(3))
    np.testing.assert_array_equal(jit(lambda x: x * 2.0)(np.ones(3)), 2.0)


def test_indices_out_of_bounds() -> None:
    x, i = np.arange(3.0), np.asarray([5, -7])
    np.testing.assert_array_equal(compiled(lambda x, i: x[i])(x, i), [2.0, 0.0])
    np.testing.assert_array_equal(compiled(lambda x, i: of(x).take(x, i))(x, i), [np.nan, np.nan])


def test_an_argument_that_is_returned() -> None:
    x = aligned(LARGE)
    x[:] = 1.0
    first, second, new = compiled(lambda x: (x, x, x + 1.0))(x)
    assert first is second is x
    assert not np.shares_memory(new, x)
