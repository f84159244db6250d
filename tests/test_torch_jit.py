"""`jit` on PyTorch: the values of PyTorch's own functions, in blocks and by threads; tensors that PyTorch observes."""

import importlib
import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings, strategies as st
from torch.autograd import forward_ad
from torch.fx.experimental.proxy_tensor import make_fx

from tests.test_graph import inputs, programs, run_program
from xpand import array_namespace, torch as xp, trees
from xpand_extensions import random
from xpand_extensions.autodiff import grad, hessian, jvp
from xpand_extensions.control_flow import scan, while_loop
from xpand_extensions.jit import jit, lower, make_graph, pure_callback
from xpand_extensions.linalg import logm
from xpand_extensions.plugins.torch.jit import _direct
from xpand_extensions.plugins.torch.jit.blocks import BACKEND
from xpand_extensions.tracing import Graph, _blocks
from xpand_extensions.tracing._compile import steps_of
from xpand_extensions.tracing._simplify import simplified
from xpand_extensions.vmap import vmap

X = 3.0 * torch.eye(2, dtype=torch.float64) + torch.linspace(0.0, 1.0, 12, dtype=torch.float64).reshape(3, 2, 2)
LARGE = torch.linspace(-3.0, 3.0, 3 * _blocks.LEAST + 5, dtype=torch.float64)


def formula(x: Any) -> Any:
    xp = array_namespace(x)
    return xp.exp(-x * x / 2) * (1 + 0.3 * x) / (1 + xp.abs(x)) - 0.1 * x


def assert_equal_bits(found: Any, expected: Any) -> None:
    for x, wanted in zip(trees.leaves(found), trees.leaves(expected), strict=True):
        assert (x.dtype, x.shape) == (wanted.dtype, wanted.shape)
        np.testing.assert_array_equal(x.resolve_conj().numpy(), wanted.resolve_conj().numpy(), strict=True)


# Values

FAMILIES = ["elementwise", "fourier", "linalg", "products", "reductions", "searching", "windows"]


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=str)
@pytest.mark.parametrize("family", FAMILIES)
def test_programs_return_the_values_of_eager_calls(family: str, dtype: torch.dtype) -> None:
    for name, case in importlib.import_module(f"tests.test_rules_{family}").CASES.items():
        if not case.compiles or "no axes" in name:
            continue
        arrays = [torch.from_numpy(np.array(x)) for x in case.arrays]
        arrays = [x.to(dtype) if x.dtype is torch.float64 else x for x in arrays]
        assert_equal_bits(jit(case.function)(*arrays), case.function(*arrays))


@settings(max_examples=120, deadline=None)
@given(inputs(), programs(), st.sampled_from([1, 6, 16]), st.sampled_from([1, 2]))
def test_blocks_give_what_pytorch_gives(arrays: list[np.ndarray], program: Any, block: int, threads: int) -> None:
    tensors = [torch.from_numpy(x.copy(order="K")) for x in arrays]
    before = [x.clone() for x in tensors]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_blocks, "BLOCK", block)
        patch.setattr(_blocks, "LEAST", 2 * block)
        patch.setattr(torch, "get_num_threads", lambda: threads)
        found = jit(lambda *arrays: run_program(program, *arrays))(*tensors)
    assert_equal_bits(found, run_program(program, *tensors))
    assert_equal_bits(tensors, before)


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_large_arrays_run_in_blocks(threads: int, dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "get_num_threads", lambda: threads)
    x = LARGE.to(dtype)
    assert len(steps_of(simplified(graph_of(formula, x)), BACKEND)) == 1
    with ThreadPoolExecutor(3) as pool:
        compiled = jit(formula)
        for found in pool.map(lambda _: compiled(x), range(6)):
            assert_equal_bits(found, formula(x))
    with torch.inference_mode():
        inside = compiled(x * 1.0)
    assert inside.is_inference()
    assert_equal_bits(inside, formula(x))


def test_an_error_in_a_helping_thread_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "get_num_threads", lambda: 3)

    def fails(x: Any, out: Any) -> Any:
        raise MemoryError("mine")

    monkeypatch.setattr(torch, "tanh", fails)
    with pytest.raises(MemoryError, match="mine"):
        BACKEND.functions.run(lambda start, stop: torch.tanh(LARGE, out=LARGE), 40, 1)


def test_views_of_blocks_outlast_them() -> None:
    """The real part is a view of a block, which later operations must not overwrite."""

    def function(x: Any) -> Any:
        xp = array_namespace(x)
        real = xp.real(x * 1j)
        other = x * 2j
        return real + xp.imag(other), xp.real(other * other)

    z = torch.complex(LARGE, 1.0 - LARGE)
    assert_equal_bits(jit(function)(z), function(z))
    assert all(map(np.array_equal, jit(function)(z.numpy()), function(z.numpy())))


FORKS = """
import os
import torch

from xpand import array_namespace
from xpand_extensions.jit import jit


def formula(x):
    xp = array_namespace(x)
    return xp.exp(-x * x) * (1.0 + x)


LARGE = torch.linspace(-3.0, 3.0, 100_000)
torch.get_num_threads = lambda: 2
expected = jit(formula)(LARGE)
child = os.fork()
if not child:
    os._exit(not torch.equal(jit(formula)(LARGE), expected))
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_forked_processes_have_threads_of_their_own() -> None:
    subprocess.run([sys.executable, "-c", FORKS], check=True, timeout=120)


# Calls


def graph_of(function: Callable[..., Any], *arrays: Any) -> Graph:
    graph = make_graph(function)(*arrays)
    assert isinstance(graph, Graph)
    return graph


DIRECT: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "a number": (lambda x: x + 0.5, torch.add),
    "a number on the left": (lambda x: 2.0 / x, torch.divide),
    "a number that becomes a tensor": (lambda x: array_namespace(x).maximum(x, 0.5), torch.maximum),
    "a reduction": (lambda x: array_namespace(x).sum(x, axis=0), torch.sum),
    "joined": (lambda x: array_namespace(x).stack([x, x], axis=1), torch.stack),
    "several calls": (lambda x: array_namespace(x).floor_divide(x, 0.3), None),
    "a look at values": (lambda x: array_namespace(x).sign(x), None),
}


@pytest.mark.parametrize("name", DIRECT)
def test_programs_call_pytorchs_functions(name: str) -> None:
    function, expected = DIRECT[name]
    x = X[0]
    (equation,) = simplified(graph_of(function, x)).equations
    call = _direct.direct(equation)
    assert (None if call is None else call.function) is expected
    assert_equal_bits(jit(function)(x), function(x))


@pytest.mark.parametrize("name", ["a reduction", "joined"])
@pytest.mark.parametrize("rows", [_direct.MOST // 4, _direct.MOST // 4 + 1])
def test_large_arrays_are_not_looked_at(rows: int, name: str) -> None:
    """Above `MOST` elements, functions of whole arrays keep their checks. The values are the same."""
    function, expected = DIRECT[name]
    x = torch.linspace(-1.0, 1.0, 4 * rows, dtype=torch.float64).reshape(rows, 4)
    x = x[: rows // 2] if name == "joined" else x  # the result is twice as large
    (equation,) = simplified(graph_of(function, x)).equations
    is_small = all(y.aval.size <= _direct.MOST for y in (*equation.inputs, *equation.outputs))
    call = _direct.direct(equation)
    assert (None if call is None else call.function) is (expected if is_small else None)
    assert_equal_bits(jit(function)(x), function(x))


def test_numbers_become_tensors_only_where_the_result_is_the_same() -> None:
    for dtype, value in [(torch.float32, 0.1), (torch.float32, 2**24 + 1), (torch.float16, 0.1), (torch.int32, 3)]:
        x = torch.arange(1, 5).to(dtype)
        for function in (lambda x, value=value: x * value, lambda x, value=value: value - x, lambda x: x**2):
            assert_equal_bits(jit(function)(x), function(x))


def test_unknown_compilers() -> None:
    with pytest.raises(ValueError, match="compiler must be None or 'torch' or 'inductor'"):
        jit(torch.sin, compiler="native")(X)


def test_simplified_graphs() -> None:
    """A power of one, products with ones, and values of which only the shape is used are left out of programs."""
    function = grad(lambda x: array_namespace(x).sum(x**2 + array_namespace(x).sin(x) * 3.0))
    text = lower(function)(X).as_text()
    assert "sin(" not in text
    assert "sum(" not in text
    assert text.count("multiply(") == 2
    np.testing.assert_array_equal(jit(function)(X), 2.0 * X + 3.0 * torch.cos(X))


def test_results_of_equal_operations_share_no_memory() -> None:
    function = jit(lambda x: (x * 2.0, x * 2.0, (x * 2.0).T, x**1, torch.sin(x * 2.0)))
    x = X[0].clone()
    results = function(x)
    assert len({result.untyped_storage().data_ptr() for result in (x, *results)}) == 6
    np.testing.assert_array_equal(results[2], 2.0 * x.T)


def test_functions_that_write() -> None:
    def function(x: Any) -> Any:
        first, y = torch.zeros_like(x), torch.zeros_like(x)
        y += x
        return first, y + torch.zeros_like(x)

    first, y = jit(function)(X)
    np.testing.assert_array_equal(first, np.zeros_like(X))
    np.testing.assert_array_equal(y, X)


@pytest.mark.parametrize("steps", [0, 30])
def test_what_is_the_same_for_all_steps_is_computed_once(steps: int) -> None:
    calls = []

    def host(x: Any) -> Any:
        calls.append(1)
        return np.sin(x)

    def scanned(x: Any) -> Any:
        return scan(lambda c, _: (c * 0.5 + pure_callback(host, x, x) * 2.0, None), x, None, length=30)[0]

    def repeated(x: Any) -> Any:
        step = lambda state: (state[0] + 1, state[1] * 0.5 + pure_callback(host, x, x) * 2.0)
        return while_loop(lambda state: state[0] < steps, step, (torch.tensor(0), x))[1]

    expected = X
    for _ in range(steps):
        expected = expected * 0.5 + torch.sin(X) * 2.0
    for function in [scanned, repeated][steps == 0 :]:
        calls.clear()
        np.testing.assert_allclose(jit(function)(X), expected, rtol=1e-14)
        assert len(calls) == (steps > 0)


# Loops and transformations


def repeated(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda x: scan(lambda carry, _: (function(carry), None), x, None, length=20)[0]


@pytest.mark.parametrize("within", [repeated(torch.sin), lambda x: logm(x) + X[0]], ids=["scan", "logm"])
def test_operations_within_loops_are_mapped(within: Callable[[Any], Any]) -> None:
    function = repeated(within)
    found = jit(vmap(function))(X)
    np.testing.assert_allclose(found, torch.stack([function(x) for x in X]), rtol=1e-12)


def along_ones(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda x: jvp(function, (x,), (torch.ones_like(x),))[1]


def bent(x: Any) -> Any:
    return torch.floor(x) * x + torch.where(x > 0.0, torch.log(x), x * x)


def spread(x: Any) -> Any:
    return (torch.sin(x)[:, None].expand(-1, 3) * x[:, None]).sum(1)


VECTOR = torch.tensor([1.5, -2.0], dtype=torch.float64)
THIRD = {
    "sin": (torch.sin, VECTOR),
    "pieces": (bent, VECTOR),
    "expanded": (spread, VECTOR),
    "a number": (torch.sin, VECTOR[0]),
}


@pytest.mark.parametrize("name", THIRD)
def test_third_derivatives(name: str) -> None:
    function, x = THIRD[name]
    third = along_ones(along_ones(along_ones(function)))
    torch.testing.assert_close(jit(third)(x), third(x))


def test_mapped_hessians() -> None:
    curvatures = vmap(hessian(lambda x: torch.sum(torch.floor(x) * x + 0.5 * x * x)))
    torch.testing.assert_close(jit(curvatures)(X[:, 0]), curvatures(X[:, 0]))


def test_functions_that_ask_whether_they_are_traced_mapped_within_loops() -> None:
    """The arrays that they read, below the level that maps, don't come from outside of the loop."""

    def step(x: Any) -> Any:
        return xp.sort(xp.logaddexp(xp.abs(x), xp.copysign(x, x - 1.0)), descending=True)

    function = lambda x: while_loop(lambda x: torch.sum(x) < 40.0, vmap(step), x, max_iter=3)
    x = X[:, 0]
    found = jit(function)(x)
    assert type(found) is torch.Tensor
    torch.testing.assert_close(found, function(x))


def test_conjugates_that_are_mapped() -> None:
    x = torch.complex(X, X - 1.0)
    f = lambda x: array_namespace(x).conj(x) * 2.0
    for function in (vmap(f), vmap(vmap(f, 1, 1), 1, 1)):
        torch.testing.assert_close(jit(function)(x), f(x).resolve_conj())
        torch.testing.assert_close(jit(function)(x.conj()), f(x.conj()).resolve_conj())


def test_random_numbers_of_many_keys() -> None:
    keys = random.split(random.key(0, xp=xp), (4, 3))
    numbers = torch.arange(12).reshape(4, 3)

    def f(key: Any, number: Any) -> Any:
        return random.normal(random.fold_in(key, number), (2,), dtype=torch.float64)

    every = vmap(vmap(f, in_axes=(0, 0)), in_axes=(1, 1), out_axes=1)
    expected = torch.stack([torch.stack([f(*each) for each in zip(*row)]) for row in zip(keys, numbers)])
    assert torch.equal(every(keys, numbers), expected)
    assert torch.equal(jit(every)(keys, numbers), expected)
    assert every(keys[:0], numbers[:0]).shape == (0, 3, 2)


# Tensors that PyTorch observes: functions run as they are

OBSERVED = {"few numbers": X[0], "many numbers": LARGE}


@pytest.mark.parametrize("name", OBSERVED)
def test_gradients_by_pytorch(name: str) -> None:
    compiled = jit(formula)
    compiled(OBSERVED[name])  # a program exists already
    x = OBSERVED[name].clone().requires_grad_()
    (found,) = torch.autograd.grad(compiled(x).sum(), x)
    (expected,) = torch.autograd.grad(formula(x).sum(), x)
    assert_equal_bits(found, expected)
    with torch.no_grad():
        assert not compiled(x).requires_grad
    captured = OBSERVED[name].clone().requires_grad_()
    of_two = jit(lambda x: formula(x) * captured)
    (found,) = torch.autograd.grad(of_two(OBSERVED[name]).sum(), captured)
    assert_equal_bits(found, formula(OBSERVED[name]))


@pytest.mark.parametrize("name", OBSERVED)
def test_levels_and_modes_of_pytorch(name: str) -> None:
    compiled, x = jit(formula), OBSERVED[name]
    expected = compiled(x)
    torch.testing.assert_close(torch.func.vmap(compiled)(x[None])[0], expected)
    torch.testing.assert_close(
        torch.func.grad(lambda x: compiled(x).sum())(x), torch.func.grad(lambda x: formula(x).sum())(x)
    )
    with forward_ad.dual_level():
        primal, tangent = forward_ad.unpack_dual(compiled(forward_ad.make_dual(x, torch.ones_like(x))))
    assert_equal_bits((primal, tangent), torch.func.jvp(formula, (x,), (torch.ones_like(x),)))
    graph = make_fx(compiled)(x)
    torch.testing.assert_close(graph(x + 1.0), formula(x + 1.0))


def test_autocast_and_defaults_are_part_of_the_key() -> None:
    product = jit(lambda x: x @ x)
    x = torch.ones(2, 2)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert product(x).dtype is torch.bfloat16
    assert product(x).dtype is torch.float32
    with torch.autocast("cpu", dtype=torch.float16):
        assert product(x).dtype is torch.float16
    ones = jit(lambda x: x + array_namespace(x).ones(2, device=x.device))
    assert ones(x).dtype is torch.float32
    torch.set_default_dtype(torch.float64)
    try:
        assert ones(x).dtype is torch.float64
    finally:
        torch.set_default_dtype(torch.float32)
    made = jit(lambda x: (x * 2.0, array_namespace(x).zeros(3)))
    assert made(x)[1].device.type == "cpu"
    with torch.device("meta"):
        assert made(x)[1].device.type == "meta"
