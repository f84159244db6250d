"""Loops and branches inside `jit` on PyTorch, under any nesting of the other transformations; against NumPy."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from xpand import UnsupportedError, array_namespace, trees
from xpand_extensions.autodiff import custom_jvp, grad, jacfwd, jvp
from xpand_extensions.control_flow import cond, fori_loop, scan, while_loop
from xpand_extensions.jit import jit
from xpand_extensions.vmap import psum, vmap

W, X = np.asarray(0.9), np.asarray([0.3, 0.5])
ROWS = np.stack([X, 2.0 * X, -X])


def _total(x: Any) -> Any:
    return array_namespace(x).sum(x)


def squared(x: Any) -> Any:
    """Without bound."""
    return while_loop(lambda s: s[1] < 100.0, lambda s: (s[0] + 1, s[1] * s[1]), (0, x))


def counted(w: Any, x: Any) -> Any:
    return _total(fori_loop(0, 20, lambda i, s: array_namespace(s).sin(s * w) + 0.1 * x * w, x))


def bounded(w: Any, x: Any) -> Any:
    return _total(while_loop(lambda s: _total(s) < 3.0, lambda s: s * w + x, x, max_iter=20))


def scanned(w: Any, x: Any) -> Any:
    xp = array_namespace(x)
    rows = xp.linspace(0.0, 1.0, 20, dtype=x.dtype)
    last, ys = scan(lambda c, y: (xp.sin(c * w) + y, c), x, rows, reverse=True)
    return _total(last * w) + _total(ys**2)


def branched(w: Any, x: Any) -> Any:
    return _total(cond(_total(x) * w > 0, lambda x: x * w, lambda x: x**2, x))


def by_rule(w: Any, x: Any) -> Any:
    """With a derivative of its own, that its operations don't have."""
    double = custom_jvp(lambda x: 2.0 * x)
    double.defjvp(lambda primals, tangents: (double(primals[0]), 3.0 * tangents[0]))
    return _total(fori_loop(0, 20, lambda i, s: 0.5 * double(s) * w, x)) + _total(cond(w > 0, double, lambda w: w, w))


def _grads(f: Callable[..., Any]) -> Callable[..., Any]:
    return grad(f, argnums=(0, 1))


CASES: dict[str, tuple[Callable[..., Any], tuple[np.ndarray, ...]]] = {
    "while_loop mapped": (vmap(squared), (np.asarray([2.0, 3.0, 1.5, 200.0]),)),
    "while_loop mapped twice": (vmap(vmap(squared)), (np.asarray([[2.0, 3.0], [1.5, 200.0]]),)),
    "jvp of while_loop": (lambda x: jvp(lambda x: squared(x)[1], (x,), (x,)), (np.asarray(2.0),)),
    "vmap of jvp of while_loop": (vmap(lambda x: jvp(lambda x: squared(x)[1], (x,), (x,))), (np.asarray([2.0, 3.0]),)),
    "fori_loop": (counted, (W, X)),
    "grad of fori_loop": (_grads(counted), (W, X)),
    "vmap of grad of fori_loop": (vmap(_grads(counted), in_axes=(None, 0)), (W, ROWS)),
    "grad of bounded": (_grads(bounded), (W, X)),
    "grad of vmap of bounded": (grad(lambda w, x: _total(vmap(bounded, in_axes=(None, 0))(w, x))), (W, ROWS)),
    "scan": (scanned, (W, X)),
    "scan mapped over what it closes over": (vmap(scanned, in_axes=(0, None)), (np.asarray([0.1, -0.2]), X)),
    "grad of grad of scan": (grad(lambda w, x: _total(grad(scanned, argnums=1)(w, x) ** 2)), (W, X)),
    "jacfwd of scan": (jacfwd(scanned), (W, X)),
    "grad of cond": (_grads(branched), (W, X)),
    "vmap of grad of cond": (vmap(_grads(branched), in_axes=(None, 0)), (W, ROWS)),
    "rules": (_grads(by_rule), (W, X)),
}


@pytest.mark.parametrize("name", CASES)
def test_graphs_are_as_on_numpy(name: str) -> None:
    _compare(name)


@pytest.mark.parametrize("name", ["while_loop mapped", "vmap of grad of fori_loop", "scan", "grad of cond"])
def test_what_is_compiled_is_as_on_numpy(name: str) -> None:
    _compare(name)


def _compare(name: str) -> None:
    function, arrays = CASES[name]
    found = trees.leaves(jit(function)(*map(torch.asarray, arrays)))
    for x, expected in zip(found, trees.leaves(function(*arrays)), strict=True):
        np.testing.assert_allclose(x.numpy(), expected, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("function", [scanned, branched])
def test_backward_through_what_is_compiled(function: Callable[..., Any]) -> None:
    arrays = [torch.asarray(x).requires_grad_() for x in (W, X)]
    found = torch.autograd.grad(jit(function)(*arrays), arrays)
    for x, expected in zip(found, _grads(function)(W, X), strict=True):
        np.testing.assert_allclose(x.numpy(), expected, rtol=1e-11)


def test_a_loop_without_bound_has_no_reverse_mode() -> None:
    with pytest.raises(UnsupportedError, match="give max_iter"):
        jit(grad(lambda x: squared(x)[1]))(torch.asarray(2.0))


def test_derivatives_of_lanes_together() -> None:
    def function(x: Any) -> Any:
        return cond(x > 0, lambda x: psum(x * x, "i"), lambda x: psum(array_namespace(x).sin(x), "i") * x, x)

    def along(x: Any) -> Any:
        return jvp(function, (x,), (x,))[1]

    x = np.asarray([1.0, -2.0, 3.0])
    for derivative in (grad(function), grad(grad(function)), along):
        mapped = vmap(derivative, axis_name="i")
        np.testing.assert_allclose(jit(mapped)(torch.asarray(x)).numpy(), mapped(x), rtol=1e-12)


def test_lanes_together_within_a_loop() -> None:
    def function(x: Any) -> Any:
        return fori_loop(0, 20, lambda i, s: s + psum(0.01 * s, "i"), x)

    mapped, x = vmap(function, axis_name="i"), torch.asarray([1.0, 2.0])
    torch.testing.assert_close(jit(mapped)(x), mapped(x))
