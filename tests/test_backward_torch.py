"""PyTorch's own derivatives (`backward`, torch.func) of xpand's rules, solutions, loops and compiled functions."""

import gc
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch.autograd import forward_ad
from torch.utils import _pytree as pytree

from tests.test_derivatives import NAMESPACE
from xpand_extensions import control_flow
from xpand_extensions.autodiff import checkpoint, custom_jvp, custom_linear_solve, custom_root, custom_vjp, grad
from xpand_extensions.control_flow import associative_scan, cond, fori_loop, scan, while_loop
from xpand_extensions.extend import contribution, factor, pluggable, register_rules
from xpand_extensions.generic.control_flow._loops import FEW_STEPS
from xpand_extensions.jit import jit
from xpand_extensions.linear_solve import solve
from xpand_extensions.optimize import minimize
from xpand_extensions.plugins.torch import bridge

X = torch.asarray([0.1, 0.55, 1.0], dtype=torch.float64)
W = torch.asarray(1.3, dtype=torch.float64)
EIGHT = 8.0 * torch.eye(3, dtype=torch.float64)


def sin(x: Any) -> Any:
    return NAMESPACE(x).sin(x)


def with_rule(x: Any, w: Any) -> Any:
    f = custom_jvp(lambda x: torch.sin(x) * w)
    f.defjvp(lambda p, t: (torch.sin(p[0]) * w, torch.cos(p[0]) * w * t[0]))
    return f(x)


def with_reverse_rule(x: Any, w: Any) -> Any:
    f = custom_vjp(lambda x: torch.sin(x) * w)
    f.defvjp(lambda x: (torch.sin(x) * w, x), lambda x, ct: (torch.cos(x) * w * ct,))
    return f(x)


def root(x: Any, w: Any) -> Any:
    return custom_root(lambda z: z**3 - x * w, torch.ones_like(x), solve=lambda z0: abs(x * w) ** (1 / 3))


def with_reverse_rule_of_namespace(x: Any, w: Any) -> Any:
    f = custom_vjp(lambda x, w: sin(x) * w)
    total = lambda xp, x, like: xp.sum(x) if like.ndim == 0 else x

    def backward(residuals: Any, ct: Any) -> Any:
        x, w = residuals
        xp = NAMESPACE(x)
        return xp.multiply(xp.cos(x) * w, ct), total(xp, xp.multiply(xp.sin(x), ct), w)

    f.defvjp(lambda x, w: (sin(x) * w, (x, w)), backward)
    return f(x, w)


@pluggable
def scaled_sine(x: Any, w: Any, /) -> Any:
    """An operation with rules, which PyTorch can't see into."""
    return scaled_sine.native(x, w)(x, w)


scaled_sine.default(lambda x, w, /: sin(x) * w)
register_rules(
    scaled_sine,
    derivative={
        "x": factor(lambda xp, out, x, w: xp.cos(x) * w),
        "w": contribution(lambda xp, t, out, x, w: xp.sin(x) * t),
    },
    batching=lambda xp, mapped, x, w: xp.sin(x) * (xp.expand_dims(w, axis=1) if mapped["w"] else w),
)


@scaled_sine.register("torch")
def _(x: Any, w: Any, /) -> Any:
    return torch.from_numpy(np.sin(x.numpy(force=True)) * w.numpy(force=True))


def repeated(count: int) -> Callable[[Any, Any], Any]:
    def f(x: Any, w: Any) -> Any:
        for _ in range(count):
            x = torch.sin(x) * w
        return x

    return f


Function = Callable[[Any, Any], Any]
# Functions of xpand of a vector and a number, which some of them capture, and the same in PyTorch.
FUNCTIONS: dict[str, tuple[Function, Function]] = {
    "custom_jvp": (with_rule, repeated(1)),
    "custom_vjp": (with_reverse_rule, repeated(1)),
    "custom_vjp by the namespace": (with_reverse_rule_of_namespace, repeated(1)),
    "registered rules": (scaled_sine, repeated(1)),
    "custom_root": (root, lambda x, w: (x * w) ** (1 / 3)),
    "custom_linear_solve": (
        lambda x, w: custom_linear_solve(lambda v: (x * w + 1) * v, x, solve=lambda b: b / (x * w + 1), symmetric=True),
        lambda x, w: x / (x * w + 1),
    ),
    "cg": (
        lambda x, w: solve(lambda v: (x * x * w + 1) * v, x, method="cg", rtol=1e-14).x,
        lambda x, w: x / (x * x * w + 1),
    ),
    "solve": (lambda x, w: solve(EIGHT * w + x, x).x, lambda x, w: torch.linalg.inv(EIGHT * w + x) @ x),
    "checkpoint": (lambda x, w: checkpoint(lambda c: torch.sin(torch.sin(c) * w) * w)(x), repeated(2)),
    "scan": (lambda x, w: scan(lambda c, _: (sin(c) * w, c), x, None, length=5)[0], repeated(5)),
    "long scan": (lambda x, w: scan(lambda c, _: (sin(c) * w, None), x, None, length=100)[0], repeated(100)),
    "fori_loop": (lambda x, w: fori_loop(0, 70, lambda i, c: sin(c) * w, x), repeated(70)),
    "while_loop": (
        lambda x, w: while_loop(
            lambda c: c[0] < 70, lambda c: (c[0] + 1, sin(c[1]) * w), (torch.asarray(0), x), max_iter=90
        )[1],
        repeated(70),
    ),
    "map": (lambda x, w: control_flow.map(lambda c: sin(c) * w, torch.stack([x] * 80))[79], repeated(1)),
    "cond": (lambda x, w: cond(w > 0, lambda c: sin(c) * w, lambda c: c, x), repeated(1)),
    "associative_scan": (
        lambda x, w: associative_scan(lambda a, b: a * b, torch.stack([x, x, x * w]))[2],
        lambda x, w: x**3 * w,
    ),
    "jit": (lambda x, w: jit(with_rule)(x, w), repeated(1)),
    "jit of scan": (
        jit(lambda x, w: scan(lambda c, _: (with_rule(c, w), None), x, None, length=40)[0]),
        repeated(40),
    ),
    "jit that captures": (lambda x, w: jit(lambda x: sin(x) * w)(x), repeated(1)),
}


def total(f: Function) -> Function:
    return lambda x, w: (f(x, w) * torch.asarray([1.0, 2.0, 3.0], dtype=torch.float64)).sum()


def differentiated(*arrays: Any) -> list[Any]:
    return [x.clone().requires_grad_() for x in arrays]


def backward(f: Function, x: Any, w: Any) -> Any:
    x, w = differentiated(x, w)
    total(f)(x, w).backward()
    return x.grad, w.grad


def to_third_order(f: Function, x: Any, w: Any) -> Any:
    given = differentiated(x, w)
    first = torch.autograd.grad(total(f)(*given), given, create_graph=True)
    second = torch.autograd.grad((first[0].sum() * first[1]).real, given, create_graph=True)
    return second, torch.autograd.grad((second[0].sum() + second[1]).real, given)


def dual(f: Function, x: Any, w: Any) -> Any:
    with forward_ad.dual_level():
        given = [forward_ad.make_dual(each, torch.ones_like(each)) for each in (x, w)]
        return forward_ad.unpack_dual(f(*given)).tangent


def of_lanes(f: Function, x: Any, w: Any) -> Any:
    (lanes,) = differentiated(torch.stack([x, x + 0.1]))
    return torch.autograd.grad(torch.func.vmap(total(f), (0, None))(lanes, w).sum(), lanes)


both, func = (0, 1), torch.func
lanes = lambda x: torch.stack([x, x + 0.1])
DERIVATIVES: dict[str, Callable[[Function, Any, Any], Any]] = {
    "backward": backward,
    "third order": to_third_order,
    "dual numbers": dual,
    "backward of vmap": of_lanes,
    "grad": lambda f, x, w: func.grad(total(f), both)(x, w),
    "vjp": lambda f, x, w: (lambda y, pull: pull(torch.ones_like(y)))(*func.vjp(f, x, w)),
    "jvp": lambda f, x, w: func.jvp(f, (x, w), (torch.ones_like(x), torch.ones_like(w))),
    "jacrev": lambda f, x, w: func.jacrev(f, both)(x, w),
    "jacfwd": lambda f, x, w: func.jacfwd(f, both)(x, w),
    "vmap": lambda f, x, w: func.vmap(f)(lanes(x), lanes(w)),
    "vmap of captured": lambda f, x, w: func.vmap(f, (None, 0))(x, lanes(w)),
    "vmap(grad)": lambda f, x, w: func.vmap(func.grad(total(f), both))(lanes(x), lanes(w)),
    "grad(vmap)": lambda f, x, w: func.grad(lambda w: func.vmap(total(f), (None, 0))(x, w).sum())(lanes(w)),
    "grad(grad)": lambda f, x, w: func.grad(lambda x, w: func.grad(total(f))(x, w).sum(), both)(x, w),
    "hessian": lambda f, x, w: func.hessian(total(f), both)(x, w),
    "grad of xpand's": lambda f, x, w: func.grad(lambda w: grad(total(f))(x, w).sum())(w),
    "vmap of xpand's": lambda f, x, w: func.vmap(lambda x: grad(total(f))(x, w))(lanes(x)),
}
FORWARD = frozenset({"dual numbers", "jvp", "jacfwd", "hessian"})
WRITING = frozenset({"solve", "map", "associative_scan"})
"""Functions whose reverse mode adds up derivatives of parts of an array in place, which `torch.func.vmap` forbids."""


@pytest.mark.parametrize("derivative", DERIVATIVES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_as_in_pytorch(name: str, derivative: str) -> None:
    (ours, theirs), of = FUNCTIONS[name], DERIVATIVES[derivative]
    if name.startswith("custom_vjp") and derivative in FORWARD:
        with pytest.raises(TypeError, match="custom_vjp: a function with a rule for reverse mode has no derivative by"):
            of(ours, X, W)
        return
    if name in WRITING and derivative == "vmap of xpand's":
        with pytest.raises(RuntimeError, match="vmap: inplace arithmetic"):
            of(ours, X, W)
        return
    for found, expected in zip(pytree.tree_leaves(of(ours, X, W)), pytree.tree_leaves(of(theirs, X, W)), strict=True):
        torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-11)


def loops_of(steps: int) -> dict[str, tuple[Function, Function]]:
    """Return loops of xpand of a number of steps, and the same in PyTorch."""
    limited = lambda c: c[0] < steps
    step = lambda c: (c[0] + 1, sin(c[1]) * W)
    return {
        "scan": (lambda x, w: scan(lambda c, _: (sin(c) * w, None), x, None, length=steps)[0], repeated(steps)),
        "fori_loop": (lambda x, w: fori_loop(0, steps, lambda i, c: sin(c) * w, x), repeated(steps)),
        "while_loop": (
            lambda x, w: while_loop(limited, step, (torch.asarray(0), x * w), max_iter=steps)[1],
            lambda x, w: repeated(steps)(x * w, W),
        ),
        "while_loop that stops early": (
            lambda x, w: while_loop(limited, step, (torch.asarray(0), x * w), max_iter=steps + 1)[1],
            lambda x, w: repeated(steps)(x * w, W),
        ),
        "map": (lambda x, w: control_flow.map(lambda c: sin(c) * w, torch.stack([x] * steps))[-1], repeated(1)),
    }


@pytest.mark.parametrize("name", loops_of(1))
@pytest.mark.parametrize("steps", [1, FEW_STEPS - 1, FEW_STEPS, FEW_STEPS + 1, 2 * FEW_STEPS + 2])
def test_loops_with_few_and_many_steps(steps: int, name: str) -> None:
    """From `FEW_STEPS` on, blocks of steps are stored and computed again."""
    ours, theirs = loops_of(steps)[name]
    for of in (backward, to_third_order):
        for x, expected in zip(pytree.tree_leaves(of(ours, X, W)), pytree.tree_leaves(of(theirs, X, W)), strict=True):
            torch.testing.assert_close(x, expected, rtol=1e-9, atol=1e-11)


class Scaled(torch.nn.Module):
    """A module with rules that use its parameter."""

    def __init__(self) -> None:
        super().__init__()
        self.w = torch.nn.Parameter(W.clone())

    def forward(self, x: Any) -> Any:
        f = custom_jvp(lambda x: torch.sin(x) * self.w)
        f.defjvp(lambda p, t: (torch.sin(p[0]) * self.w, torch.cos(p[0]) * self.w * t[0]))
        found = custom_root(lambda z: z**3 - x * self.w, torch.ones_like(x), solve=lambda z: (x * self.w) ** (1 / 3))
        return f(x) + found + checkpoint(lambda c: torch.sin(c) * self.w)(x)


def test_parameters_of_modules() -> None:
    module = Scaled()
    total(lambda x, w: module(x))(X, W).backward()
    expected = backward(lambda x, w: 2 * torch.sin(x) * w + (x * w) ** (1 / 3), X, W)[1]
    torch.testing.assert_close(module.w.grad, expected, rtol=1e-12, atol=0.0)


@pytest.mark.parametrize("name", ["custom_root", "custom_linear_solve", "rule"])
def test_gradients_of_complex_numbers_are_conjugates(name: str) -> None:
    operations: dict[str, Function] = {
        "custom_root": lambda x, w: custom_root(lambda z: z * w - x, x * 0.0, solve=lambda z: x / w),
        "custom_linear_solve": lambda x, w: custom_linear_solve(
            lambda v: v * w, x, solve=lambda b: b / w, transpose_solve=lambda b: b / w
        ),
        "rule": lambda x, w: quotient(x, w),
    }
    quotient = custom_vjp(lambda x, w: x / w)
    quotient.defvjp(lambda x, w: (x / w, (x, w)), lambda xw, ct: (ct / xw[1], (-ct * xw[0] / xw[1] ** 2).sum()))
    x, w = torch.complex(X, X + 1.0), torch.complex(W, 2 * W)
    loss = lambda f: lambda x, w: (abs(f(x, w)) ** 2 + f(x, w).imag).sum()
    for order in (backward, to_third_order):
        found, expected = (order(loss(f), x, w) for f in (operations[name], lambda x, w: x / w))
        for ours, theirs in zip(pytree.tree_leaves(found), pytree.tree_leaves(expected), strict=True):
            torch.testing.assert_close(ours, theirs, rtol=1e-10, atol=1e-12)


def test_results_are_arrays_of_their_own() -> None:
    same = custom_vjp(lambda x: (x, x[1:], torch.argmax(x)))
    same.defvjp(lambda x: (same.function(x), ()), lambda _, cts: (3.0 * cts[0],))
    (x,) = differentiated(X)
    y, rest, number = same(x)
    assert (y.requires_grad, rest.requires_grad, number.requires_grad) == (True, True, False)
    y.sum().backward()
    assert x.grad.tolist() == [3.0] * 3
    with torch.no_grad():
        y[1] = 7.0
        rest[0] = 9.0
    assert x.tolist() == X.tolist()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_derivatives_in_some_of_the_arrays(name: str) -> None:
    """They need not be those in which others are possible."""
    ours, theirs = map(total, FUNCTIONS[name])
    for chosen in (0, 1):
        found, expected = [], []
        for f, results in ((ours, found), (theirs, expected)):
            given = differentiated(X, W)
            results += torch.autograd.grad(f(*given), given[chosen])
            alone = [x if i == chosen else x.detach() for i, x in enumerate(given)]
            results += torch.autograd.grad(f(*alone), given[chosen])
            (first,) = torch.autograd.grad(f(*given), given[chosen], create_graph=True)
            results += torch.autograd.grad(first.sum(), given[1 - chosen])
        torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_no_derivatives_without_gradients(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither under `no_grad` nor for tensors that require none."""
    monkeypatch.setattr(bridge, "bridged", None)
    monkeypatch.setattr(bridge, "checkpoint", None)
    f = FUNCTIONS[name][0]
    expected = f(X, W)
    with torch.no_grad():
        found = f(*differentiated(X, W))
    assert not found.requires_grad
    torch.testing.assert_close(found, expected, rtol=0.0, atol=0.0)


@pytest.mark.parametrize("uses_alone", [False, True])
def test_compiled_functions_have_derivatives_in_captured_parameters(uses_alone: bool) -> None:
    """Their values are no constants of the program, which would drop a factor of 1 and ignore new values."""
    w = torch.nn.Parameter(torch.ones((), dtype=torch.float64))
    plain = lambda x: torch.sin(x) * w * (torch.cos(w) if uses_alone else 1.0)
    f = jit(plain)
    with torch.no_grad():
        assert not f(X).requires_grad
    for value in (1.0, 2.0):
        w.data.fill_(value)
        found, expected = (torch.autograd.grad(g(X).sum(), w) for g in (f, plain))
        torch.testing.assert_close(found, expected, rtol=1e-12, atol=0.0)


# Memory


def residual_of_rule(watched: list[Any]) -> Callable[[Any], Any]:
    f = custom_vjp(lambda x: torch.sin(x))

    def forward(x: Any) -> Any:
        slope = torch.cos(x)
        watched.append(weakref.ref(slope))
        return torch.sin(x), slope

    f.defvjp(forward, lambda slope, ct: (slope * ct,))
    return f


def alive(watched: list[Any]) -> int:
    gc.collect()
    return sum(reference() is not None for reference in watched)


def test_backward_frees_residuals() -> None:
    watched: list[Any] = []
    f = residual_of_rule(watched)
    (x,) = differentiated(X)
    y = f(x).sum()
    assert alive(watched) == 1
    y.backward(retain_graph=True)
    assert alive(watched) == 1
    y.backward()
    assert alive(watched) == 0
    torch.testing.assert_close(x.grad, 2.0 * torch.cos(X), rtol=1e-15, atol=0.0)
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        y.backward()


def test_graphs_are_freed() -> None:
    watched: list[Any] = []
    (x,) = differentiated(X)
    f = residual_of_rule(watched)
    f(x)
    assert len(watched) == 1
    assert watched[0]() is None  # without the garbage collector


@pytest.mark.parametrize("loop", ["scan", "fori_loop", "while_loop"])
def test_long_loops_save_few_residuals_of_rules(loop: str) -> None:
    watched: list[Any] = []
    f, steps = residual_of_rule(watched), 400
    (x,) = differentiated(X)
    loops: dict[str, Callable[[], Any]] = {
        "scan": lambda: scan(lambda c, _: (f(c), None), x, None, length=steps)[0],
        "fori_loop": lambda: fori_loop(0, steps, lambda i, c: f(c), x),
        "while_loop": lambda: while_loop(
            lambda c: c[0] < steps, lambda c: (c[0] + 1, f(c[1])), (torch.asarray(0), x), max_iter=steps
        )[1],
    }
    y = loops[loop]()
    assert alive(watched) <= 21
    y.sum().backward()
    (other,) = differentiated(X)
    repeated(steps)(other, torch.ones_like(W)).sum().backward()
    torch.testing.assert_close(x.grad, other.grad, rtol=1e-12, atol=0.0)


def test_checkpoints_save_no_residuals_of_rules() -> None:
    watched: list[Any] = []
    f = residual_of_rule(watched)
    (x,) = differentiated(X)
    y = checkpoint(lambda x: f(f(f(x))))(x)
    assert alive(watched) == 0
    y.sum().backward()
    (other,) = differentiated(X)
    repeated(3)(other, torch.ones_like(W)).sum().backward()
    torch.testing.assert_close(x.grad, other.grad, rtol=1e-14, atol=0.0)


def test_minimizers_are_differentiated() -> None:
    (x,) = differentiated(X)
    found = minimize(lambda z: ((z - 2.0 * x) ** 2).sum() + (z**4).sum(), torch.zeros_like(X), atol=1e-10).x
    (slope,) = torch.autograd.grad(found.sum(), x)
    expected = 4.0 / (2.0 + 12.0 * found.detach() ** 2)
    np.testing.assert_allclose(slope.numpy(), expected.numpy(), rtol=1e-6)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_no_grad_around_xpands_derivatives(name: str) -> None:
    """It only keeps PyTorch from recording, as for torch.func."""
    f = total(FUNCTIONS[name][0])
    expected = grad(f, (0, 1))(X, W)
    with torch.no_grad():
        found = grad(f, (0, 1))(*differentiated(X, W))
    torch.testing.assert_close(found, expected, rtol=1e-14, atol=0.0)
    assert not any(x.requires_grad for x in found)
