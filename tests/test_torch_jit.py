"""`jit` on PyTorch: operations that are one node in graphs, in loops and mapped, and zero derivatives."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from xpand import array_namespace, torch as xp
from xpand.torch import _private as private
from xpand_extensions import random
from xpand_extensions.autodiff import grad, hessian, jvp
from xpand_extensions.control_flow import scan, while_loop
from xpand_extensions.jit import jit, lower, make_graph, pure_callback
from xpand_extensions.linalg import logm
from xpand_extensions.vmap import vmap

X = 3.0 * torch.eye(2, dtype=torch.float64) + torch.linspace(0.0, 1.0, 12, dtype=torch.float64).reshape(3, 2, 2)


def repeated(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda x: scan(lambda carry, _: (function(carry), None), x, None, length=20)[0]


@pytest.mark.parametrize("within", [repeated(torch.sin), lambda x: logm(x) + X[0]], ids=["scan", "logm"])
def test_operations_within_loops_are_mapped(within: Callable[[Any], Any]) -> None:
    function = repeated(within)
    found = jit(vmap(function))(X)
    np.testing.assert_allclose(found, torch.stack([function(x) for x in X]), rtol=1e-12)


def thrice(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Make the third derivative, each from the one before by forward mode."""
    for _ in range(3):
        function = along_ones(function)
    return function


def along_ones(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda x: jvp(function, (x,), (torch.ones_like(x),))[1]


def bent(x: Any) -> Any:
    return torch.floor(x) * x + torch.where(x > 0.0, torch.log(x), x * x)


def spread(x: Any) -> Any:
    return (torch.sin(x)[:, None].expand(-1, 3) * x[:, None]).sum(1)


VECTOR = torch.tensor([1.5, -2.0], dtype=torch.float64)
THIRD = {"sin": (torch.sin, VECTOR), "pieces": (bent, VECTOR), "expanded": (spread, VECTOR)}


@pytest.mark.parametrize("name", THIRD)
def test_zeros_of_forward_mode_in_graphs(name: str) -> None:
    function, x = THIRD[name]
    (found,) = make_graph(thrice(function))(x)(x)
    torch.testing.assert_close(found, thrice(function)(x))


def test_zeros_of_forward_mode_compiled() -> None:
    x = VECTOR[0]
    assert float(jit(thrice(torch.sin))(x)) == pytest.approx(-float(torch.cos(x)))


def test_zeros_of_forward_mode_mapped() -> None:
    curvatures = vmap(hessian(lambda x: torch.sum(torch.floor(x) * x + 0.5 * x * x)))
    (found,) = make_graph(curvatures)(X[:, 0])(X[:, 0])
    torch.testing.assert_close(found, curvatures(X[:, 0]))


def test_functions_that_ask_whether_they_are_traced_mapped_within_loops() -> None:
    """The arrays that they read, below the level that maps, don't come from outside of the loop."""

    def step(x: Any) -> Any:
        return xp.sort(xp.logaddexp(xp.abs(x), xp.copysign(x, x - 1.0)), descending=True)

    function = lambda x: while_loop(lambda x: torch.sum(x) < 40.0, vmap(step), x, max_iter=3)
    x = X[:, 0]
    (found,) = make_graph(lambda x: (function(x),))(x)(x)
    assert type(found) is torch.Tensor
    torch.testing.assert_close(found, function(x))


def test_functions_that_torchinductor_warns_of() -> None:
    """Of diagonals it uses what is deprecated, of factorizations it has operations that check for errors."""

    def function(x: Any) -> Any:
        xp = array_namespace(x)
        return xp.linalg.trace(xp.linalg.cholesky(x @ x.mT)) * xp.linalg.diagonal(x, offset=-1)

    torch.testing.assert_close(jit(function)(X[0]), function(X[0]))


def test_conjugates_in_mapped_graphs() -> None:
    x = torch.complex(X, X - 1.0)
    f = lambda x: array_namespace(x).conj(x) * 2.0
    for function in (vmap(f), vmap(vmap(f, 1, 1), 1, 1)):
        (found,) = make_graph(function)(x)(x)
        torch.testing.assert_close(found, f(x).resolve_conj())


NESTED: dict[str, Callable[[Callable[[Any], Any]], Callable[[Any], Any]]] = {
    "vmap": vmap,
    "vmap of vmap": lambda f: vmap(vmap(f)),
    "grad of vmap": lambda f: grad(lambda x: vmap(f)(x).sum()),
    "vmap of jvp": lambda f: vmap(along_ones(f)),
}


@pytest.mark.parametrize("name", NESTED)
def test_graphs_of_nested_loops_hold_no_arrays_of_what_made_them(name: str) -> None:
    graph = make_graph(NESTED[name](repeated(repeated(torch.sin))))(X).graph
    assert not [node for node in graph.nodes if node.op == "get_attr"]


def test_the_graph_without_torchinductor(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*args: Any, **kwargs: Any) -> Any:
        raise AssertionError("TorchInductor is called")

    monkeypatch.setattr(private, "inductor_compile", lambda: refused)
    monkeypatch.setattr(private, "inductor_kernels", lambda: refused)
    traced = []

    def f(x: Any, y: Any) -> Any:
        traced.append(x)
        scanned = scan(lambda c, row: (torch.sin(c) * row + y, c), x, torch.ones(20, 3))
        return {"last": scanned[0], "sum": torch.sum(scanned[1] ** 2)}

    x, y = torch.linspace(0.0, 1.0, 3), torch.asarray(0.5)
    compiled = jit(f, compiler="eager")
    for _ in range(2):
        found, expected = compiled(x, y), f(x, y)
        assert torch.equal(found["last"], expected["last"])
        assert torch.equal(found["sum"], expected["sum"])
    assert len(traced) == 3
    given = y.requires_grad_()
    (found,) = torch.autograd.grad(compiled(x, given)["sum"], given)
    (expected,) = torch.autograd.grad(f(x, given)["sum"], given)
    torch.testing.assert_close(found, expected)
    assert "xpand.program" in lower(f, compiler="eager")(x, torch.asarray(0.5)).as_text()
    with pytest.raises(ValueError, match="compiler must be None or 'inductor' or 'eager'"):
        jit(f, compiler="native")(x, torch.asarray(0.5))


def test_random_numbers_of_many_keys_are_one_operation() -> None:
    keys = random.split(random.key(0, xp=xp), (4, 3))
    numbers = torch.arange(12).reshape(4, 3)

    def f(key: Any, number: Any) -> Any:
        return random.normal(random.fold_in(key, number), (2,), dtype=torch.float64)

    every = vmap(vmap(f, in_axes=(0, 0)), in_axes=(1, 1), out_axes=1)
    expected = torch.stack([torch.stack([f(*each) for each in zip(*row)]) for row in zip(keys, numbers)])
    assert torch.equal(every(keys, numbers), expected)
    names = [str(node.target) for node in make_graph(every)(keys, numbers).graph.nodes]
    assert (names.count("xpand.fold_in.default"), names.count("xpand.random.default")) == (1, 1)
    (found,) = make_graph(every)(keys, numbers)(keys, numbers)
    assert torch.equal(found, expected)
    assert every(keys[:0], numbers[:0]).shape == (0, 3, 2)


def test_derivatives_without_superfluous_operations() -> None:
    """A power of one, products with ones, and values of which only the shape is used are left out of graphs."""
    graph = make_graph(grad(lambda x: torch.sum(x**2 + torch.sin(x) * 3.0)))(X)
    names = [str(node.target) for node in graph.graph.nodes if node.op == "call_function"]
    assert not {"aten.sin.default", "aten.ones_like.default", "aten.sum.default"} & set(names)
    assert names.count("aten.pow.Tensor_Scalar") == 0
    np.testing.assert_array_equal(graph(X)[0], 2.0 * X + 3.0 * torch.cos(X))


def of_elements(x: Any) -> Any:
    return torch.sin(x[0]) * x[1] * x[-1] + x[2] ** 2 * x[0]


def of_columns(x: Any) -> Any:
    return torch.sum(torch.sin(x[:, 0]) * x[:, -1] + x[:, 1] ** 2)


def of_shared_gradients(x: Any) -> Any:
    # The gradient in the middle is used twice: added to itself, and as a result of the inner function.
    y, gradient = x * 2.0, torch.func.grad(lambda z: z[0] * z[1] * z[2])(x)
    return torch.sum((gradient + gradient) * y) + of_elements(gradient)


@pytest.mark.parametrize("function", [of_elements, of_columns, of_shared_gradients])
@pytest.mark.parametrize("order", [1, 2])
def test_gradients_of_elements_are_stacked(function: Any, order: int) -> None:
    x = torch.linspace(-1.0, 2.0, 12, dtype=torch.float64).reshape(4, 3)
    x = x if function is of_columns else x[1]
    derivative = first = torch.func.grad(function)
    if order == 2:
        derivative = torch.func.grad(lambda x: torch.sum(torch.cos(first(x))))
    graph = make_graph(derivative)(x)
    torch.testing.assert_close(graph(x)[0], derivative(x), rtol=1e-15, atol=1e-15)
    names = [str(node.target) for node in graph.graph.nodes if node.op == "call_function"]
    assert "aten.stack.default" in names
    assert order == 2 or "aten.select_backward.default" not in names


def test_stacked_gradients_have_the_signs_of_zeros_of_sums() -> None:
    derivative = torch.func.grad(lambda x: x[0] * -0.0 + x[1] * -0.0 + x[2] * 0.0)
    x = torch.ones(3, dtype=torch.float64)
    graph = make_graph(derivative)(x)
    assert "aten.stack.default" in [str(node.target) for node in graph.graph.nodes]
    assert torch.signbit(graph(x)[0]).tolist() == torch.signbit(derivative(x)).tolist() == [False] * 3


def test_stacked_gradients_are_added_in_the_same_order() -> None:
    def function(x: Any) -> Any:
        parts = [1e16 * x[0], x[0] * x[1], -1e16 * x[0] + 3.0 * x[1]]
        return parts[0] + (parts[1] + parts[2])

    derivative = torch.func.grad(function)
    x = torch.tensor([1.0, 0.3], dtype=torch.float64)
    graph = make_graph(derivative)(x)
    assert "aten.stack.default" in [str(node.target) for node in graph.graph.nodes]
    torch.testing.assert_close(graph(x)[0], derivative(x), rtol=0.0, atol=0.0)


def test_gradients_of_some_elements_are_not_stacked() -> None:
    x = torch.linspace(-1.0, 2.0, 100, dtype=torch.float64)
    derivative = torch.func.grad(lambda x: torch.sin(x[0]) * x[1])
    graph = make_graph(derivative)(x)
    assert "aten.stack.default" not in [str(node.target) for node in graph.graph.nodes]
    torch.testing.assert_close(graph(x)[0], derivative(x), rtol=0.0, atol=0.0)


def test_results_of_equal_operations_share_no_memory() -> None:
    function = jit(lambda x: (x * 2.0, x * 2.0, (x * 2.0).T, x**1, torch.sin(x * 2.0)), compiler="eager")
    x = X[0].clone()
    results = function(x)
    assert len({result.untyped_storage().data_ptr() for result in (x, *results)}) == 6
    np.testing.assert_array_equal(results[2], 2.0 * x.T)


def test_graphs_that_write_are_not_simplified() -> None:
    def function(x: Any) -> Any:
        first, y = torch.zeros_like(x), torch.zeros_like(x)
        y += x
        return first, y + torch.zeros_like(x)

    first, y = jit(function, compiler="eager")(X)
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
        np.testing.assert_allclose(jit(function, compiler="eager")(X), expected, rtol=1e-14)
        assert len(calls) == (steps > 0)


def test_a_long_graph_compiled() -> None:
    def function(x: Any) -> Any:
        y = x
        for _ in range(25):
            y = torch.sin(y) * 0.5 + x * y / (1.0 + y * y)
        return y

    np.testing.assert_allclose(jit(function)(X), function(X), rtol=1e-12)


def test_autocast_is_part_of_the_signature() -> None:
    product = jit(lambda x: x @ x, compiler="eager")
    x = torch.ones(2, 2)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert product(x).dtype is torch.bfloat16
    assert product(x).dtype is torch.float32
    with torch.autocast("cpu", dtype=torch.float16):
        assert product(x).dtype is torch.float16
