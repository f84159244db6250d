"""`jit(f, compiler="inductor")` on PyTorch: values and derivatives of all operations, loops, gradients, and errors."""

import importlib
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
import torch

from tests.cases import Case
from xpand import UnsupportedError, array_namespace, trees
from xpand_extensions.autodiff import custom_vjp, grad, hessian, jacrev
from xpand_extensions.control_flow import scan
from xpand_extensions.jit import jit, lower, pure_callback
from xpand_extensions.plugins.torch.jit import inductor
from xpand_extensions.vmap import vmap

of = array_namespace
X = torch.linspace(-1.0, 2.0, 12, dtype=torch.float64).reshape(4, 3)


def chain(x: Any) -> Any:
    """Ten operations, more than the least that are compiled."""
    xp = of(x)
    for _ in range(3):
        x = xp.sin(x) * x + 0.5
    return xp.sum(x)


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    return jit(function, compiler="inductor")


def assert_close(found: Any, expected: Any, rtol: float = 1e-9) -> None:
    for x, wanted in zip(trees.leaves(found), trees.leaves(expected), strict=True):
        torch.testing.assert_close(x, wanted, rtol=rtol, atol=rtol, equal_nan=True)


def test_settings_that_are_written_into_the_code() -> None:
    """A program is compiled again for another number of threads, and used again for the same."""
    keys, before = [], torch.get_num_threads()
    try:
        for threads in (1, 2, 1):
            torch.set_num_threads(threads)
            keys.append(inductor.BACKEND.signature([X]))
        torch.use_deterministic_algorithms(True)
        keys.append(inductor.BACKEND.signature([X]))
    finally:
        torch.set_num_threads(before)
        torch.use_deterministic_algorithms(False)
    assert keys[0] == keys[2]
    assert len(set(keys)) == 3


# All operations: those of a family are one program, since a program takes a second to compile

FAMILIES = ["elementwise", "fourier", "linalg", "products", "reductions", "searching", "windows"]


def cases_of(family: str) -> list[Case]:
    module = importlib.import_module(f"tests.test_rules_{family}")
    cases = getattr(module, "CASES", {})
    return [case for name, case in cases.items() if case.compiles and "no axes" not in name]


def tensors_of(case: Case) -> list[torch.Tensor]:
    return [torch.from_numpy(np.array(x)) for x in case.arrays]


@pytest.mark.parametrize("family", FAMILIES)
def test_values(family: str) -> None:
    cases = cases_of(family)
    arrays = list(map(tensors_of, cases))
    function = lambda arrays: [case.function(*given) for case, given in zip(cases, arrays)]
    assert_close(compiled(function)(arrays), function(arrays))


def total(cases: list[Case], arrays: list[Any], at: list[Any]) -> Any:
    """Sum the sines of all results, as a function of the arrays in which the cases are differentiable."""
    found = 0.0
    for case, given, chosen in zip(cases, arrays, at):
        full = list(given)
        for i, x in zip(case.differentiable, chosen):
            full[i] = x
        for x in trees.leaves(case.function(*full)):
            xp = of(x)
            x = xp.real(x) + 2.0 * xp.imag(x) if xp.isdtype(x.dtype, "complex floating") else x
            found = found + xp.sum(xp.sin(x)) if xp.isdtype(x.dtype, "real floating") else found
    return found


@pytest.mark.parametrize("family", [each for each in FAMILIES if each != "windows"])  # it takes minutes
def test_gradients(family: str) -> None:
    cases = [case for case in cases_of(family) if case.differentiable]
    arrays = list(map(tensors_of, cases))
    at = [[given[i] for i in case.differentiable] for case, given in zip(cases, arrays)]
    function = jacrev(lambda at: total(cases, arrays, at))
    assert_close(compiled(function)(at), function(at))


SAMPLE = [
    *("add", "atan2", "multiply", "divide", "pow", "exp", "tanh", "maximum", "hypot", "sqrt", "remainder of a number"),
    *("sum", "prod", "mean", "var", "max", "cumulative_sum", "cumulative_prod", "sort", "take", "take_along_axis"),
    *("matmul (2, 3) (3, 4)", "inv", "det 2", "cholesky", "rfft", "sliding_window_view"),
]


def sample() -> list[Case]:
    found: dict[str, Case] = {}
    for family in FAMILIES:
        found |= getattr(importlib.import_module(f"tests.test_rules_{family}"), "CASES", {})
    return [found[name] for name in SAMPLE if name in found and found[name].differentiable and found[name].maps]


@pytest.mark.parametrize("transformation", ["vmap of grad", "hessian"])
def test_transformations(transformation: str) -> None:
    cases = sample()
    assert len(cases) > 12
    arrays = list(map(tensors_of, cases))
    at = [[given[i] for i in case.differentiable] for case, given in zip(cases, arrays)]
    scalar = lambda at: total(cases, arrays, at)
    if transformation == "hessian":
        function = lambda at: [
            hessian(lambda x, c=case, g=given: total([c], [g], [x]))(x) for case, given, x in zip(cases, arrays, at)
        ]
    else:
        function = vmap(grad(scalar))
        at = trees.map(lambda x: torch.stack([x, 0.9 * x, 1.1 * x]), at)
    assert_close(compiled(function)(at), function(at))


# Known faults of TorchInductor, on arrays that it computes with vector instructions


def test_nan_times_zero() -> None:
    def products(x: Any) -> Any:
        xp = of(x)
        zero = xp.zeros_like(x)
        return x * 0, 0 * x, x * 0.0, x * zero, zero * x, xp.multiply(x, 0), x - x, xp.sin(x) * 0 + x * 0

    x = torch.tensor([torch.nan, torch.inf, 1.0, -1.0]).repeat(32)
    assert_close(compiled(products)(x), products(x))


def test_remainders_of_large_numbers() -> None:
    def remainders(x: Any, y: Any) -> Any:
        xp = of(x)
        by_numbers = xp.remainder(x, 0.7), xp.floor_divide(x, 0.7), xp.remainder(7.0, y)
        return xp.remainder(x, y), x % y, xp.floor_divide(x, y), *by_numbers, chain(x), chain(y)

    x = torch.tensor([1e6 + 0.5, 3e6 + 0.25, -2e6 - 0.5, 7.0]).repeat(32)
    y = torch.tensor([3.0, 0.7, 3.0, -2.0]).repeat(32)
    assert_close(compiled(remainders)(x, y)[:6], remainders(x, y)[:6], rtol=0.0)


def test_gradients_of_repeated_rows_are_added_within_their_lane() -> None:
    index = torch.tensor([0, 0, 2] * 20)

    def function(x: Any) -> Any:
        xp = of(x)
        return xp.sum(xp.take(x, index, axis=0) ** 2) + xp.sum(xp.sin(xp.take(x, index, axis=0)))

    x = torch.linspace(0.0, 1.0, 33 * 40, dtype=torch.float64).reshape(40, 33)
    each = vmap(grad(function))
    assert_close(compiled(each)(x), each(x))


# Calls


def test_groups_loops_and_other_operations() -> None:
    def step(c: Any, row: Any) -> Any:
        for _ in range(4):
            c = of(c).sin(c) * row + c
        return c, of(c).sum(c)

    def function(x: Any) -> Any:
        last, sums = scan(step, x[0], x)
        inverse = of(x).linalg.inv(x.mT @ x + of(x).eye(3, dtype=x.dtype))
        return chain(last) + chain(sums) + chain(inverse) + pure_callback(np.sin, last[0], last[0])

    text = lower(function, compiler="inductor")(X).as_text()
    assert "scan" in text
    assert "not compiled: PyTorch's functions run its steps, with compiled bodies" in text
    program = compiled(function)
    for x in (X, X.flip(0), X.mT.contiguous().mT):  # the last one has other strides
        assert_close(program(x), function(x))
    with ThreadPoolExecutor(4) as pool:
        assert_close(list(pool.map(program, [X] * 8)), [function(X)] * 8)
    derivative = grad(lambda x: of(x).sum(scan(step, x[0], x)[1]))
    assert_close(compiled(derivative)(X), derivative(X))


def test_layouts_and_results_that_are_arguments() -> None:
    def function(x: Any, y: Any) -> Any:
        z = chain(x) * y
        return y, z, x, of(x).exp(y) + of(x).cos(x) * z, z

    program = compiled(function)
    wide = torch.arange(24.0, dtype=torch.float64).reshape(4, 6)
    z = torch.complex(X, 1.0 - X)
    for x, y in [(X, X + 1.0), (X, X), (wide[:, ::2], X), (X.mT.contiguous().mT, wide[:, :3]), (z.conj().imag, X)]:
        assert_close(program(x, y), function(x, y))
    conjugates = compiled(lambda z: (chain(z), z * 2.0))
    assert_close(conjugates(z.conj()), (chain(z.conj()), z.conj().resolve_conj() * 2.0))


def test_gradients_by_pytorch() -> None:
    program = compiled(lambda x: chain(x) * 2.0)
    x = X.clone().requires_grad_()
    (found,) = torch.autograd.grad(program(x), x)
    assert_close(found, 2.0 * grad(chain)(X))
    with torch.no_grad():
        assert not program(x).requires_grad
    assert_close(program(X), 2.0 * chain(X))

    @custom_vjp
    def doubled(x: Any) -> Any:
        return x * 2.0

    doubled.defvjp(lambda x: (x * 2.0, None), lambda _, t: (t * 100.0,))
    with_rule = compiled(lambda x: chain(doubled(x)))
    assert_close(with_rule(X), chain(X * 2.0))
    assert_close(compiled(grad(lambda x: chain(doubled(x))))(X), grad(lambda x: chain(doubled(x)))(X))


def test_functions_that_torchinductor_warns_of() -> None:
    """Of diagonals it uses what is deprecated, of factorizations it has operations that check for errors."""

    def function(x: Any) -> Any:
        xp = of(x)
        return xp.linalg.trace(xp.linalg.cholesky(x @ x.mT)) * xp.linalg.diagonal(x, offset=-1) + chain(x)

    x = 3.0 * torch.eye(2, dtype=torch.float64) + X[:2, :2]
    assert_close(compiled(function)(x), function(x))


def test_long_graphs() -> None:
    """Each step reads the last one twice, so that computing values again would take 2**25 operations."""

    def function(x: Any) -> Any:
        y = x
        for _ in range(25):
            y = of(x).sin(y) * 0.5 + x * y / (1.0 + y * y)
        return y

    assert_close(compiled(function)(X), function(X))


# Errors


def test_levels_of_torch_func() -> None:
    program = compiled(chain)
    assert_close(torch.func.vmap(program)(X), torch.stack([chain(x) for x in X]))
    assert_close(torch.func.grad(program)(X), grad(chain)(X))


def test_without_a_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "no-such-compiler")
    assert shutil.which("no-such-compiler") is None
    with pytest.raises(
        ImportError, match=r"compiler='inductor' needs a C\+\+ compiler: install g\+\+, or name yours in"
    ):
        compiled(chain)(X)
    assert_close(jit(chain)(X), chain(X), rtol=0.0)


def test_failing_compilation(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("out of memory\nin a file")

    monkeypatch.setattr(inductor.private, "lookup_backend", lambda: lambda name: fails)
    with pytest.raises(UnsupportedError, match=r"compiler='inductor' could not compile the program; .*out of memory"):
        compiled(chain)(X)


def sines(count: int) -> Callable[[Any], Any]:
    def function(x: Any) -> Any:
        for _ in range(count):
            x = of(x).sin(x)
        return x

    return function


LARGEST = inductor._LARGE


@pytest.mark.parametrize(
    ("count", "size", "compiles"),
    [
        (inductor.LEAST - 1, 12, False),
        (inductor.LEAST, 12, True),
        (2, LARGEST, False),
        (2, LARGEST + 1, True),
        (1, LARGEST + 1, False),
    ],
)
def test_small_groups_are_left_to_pytorch(
    count: int, size: int, compiles: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, make = [], inductor._compiled
    monkeypatch.setattr(inductor, "_compiled", lambda *args: made.append(args) or make(*args))
    x = torch.linspace(-1.0, 1.0, size, dtype=torch.float64)
    assert_close(compiled(sines(count))(x), sines(count)(x))
    assert len(made) == compiles
