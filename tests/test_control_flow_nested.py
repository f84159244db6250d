"""Loops and branches within one another and under several transformations: against JAX's own of the same function."""

from collections.abc import Callable
from functools import cache
from types import SimpleNamespace
from typing import Any

import jax
import numpy as np
import pytest

import xpand
from tests.libraries import LIBRARIES, Library
from tests.test_derivatives import NAMESPACE, total
from xpand import trees
from xpand_extensions import autodiff, control_flow
from xpand_extensions.jit import jit
from xpand_extensions.vmap import vmap

X, W = np.asarray([0.4, -0.8, 1.3]), np.asarray([1.2, 0.7, 0.5])


def bounded_while_of_jax(condition: Any, step: Any, init: Any, max_iter: int) -> Any:
    """JAX has no reverse mode through its own: a scan over as many steps, that stays where the condition fails."""
    stay_or_step = lambda carry, _: (jax.lax.cond(condition(carry), step, lambda c: c, carry), None)
    return jax.lax.scan(stay_or_step, init, None, length=max_iter)[0]


OURS = SimpleNamespace(**{
    name: getattr(module, name)
    for module in (autodiff, control_flow)
    for name in module.__all__
}, jit=jit, vmap=vmap)  # fmt: skip
THEIRS = SimpleNamespace(
    **{
        name: getattr(jax, name)
        for name in ("grad", "hessian", "jacfwd", "jvp", "jit", "vmap", "custom_jvp", "custom_vjp", "checkpoint")
    },
    **{name: getattr(jax.lax, name) for name in ("scan", "map", "cond", "switch", "fori_loop", "associative_scan")},
    while_loop=bounded_while_of_jax,
)


# Programs: each makes, of the functions of a library for transformations, a function of two arrays


def scan_with_closure(m: Any) -> Any:
    def f(x: Any, w: Any) -> Any:
        xp = NAMESPACE(x)
        last, ys = m.scan(lambda c, row: (xp.sin(c) * w + row, c * row), x * 0.5, xp.stack([x, w, x * w]))
        return total(last) + total(ys * ys)

    return f


def nested_scans(m: Any) -> Any:
    def f(x: Any, w: Any) -> Any:
        xp = NAMESPACE(x)

        def outer(c: Any, row: Any) -> Any:
            inner, ys = m.scan(lambda d, e: (d * c + e, d * w[0]), row[0], w)
            return c * 0.5 + inner, total(ys)

        last, ys = m.scan(outer, x[0], xp.stack([x, w]))
        return last * last + total(ys)

    return f


def scan_with_integers(m: Any) -> Any:
    def f(x: Any, w: Any) -> Any:
        xp = NAMESPACE(x)
        step = lambda c, row: ((c[0] * row, c[1] + 1), (c[1], xp.sin(row)))
        (product, n), (counts, sines) = m.scan(
            step, (total(x), xp.asarray(0, dtype=xp.int32, device=xpand.device(x))), w
        )
        weights = xp.astype(counts * 2 + n, x.dtype)
        return product + total(weights * sines)

    return f


def scan_of_nothing(m: Any) -> Any:
    def f(x: Any, w: Any) -> Any:
        xp = NAMESPACE(x)
        _, ys = m.scan(lambda c, row: ((), row * row * w[0]), (), x)
        last, none = m.scan(lambda c, row: (c * row, c), total(w), x[:0])
        return total(ys) + last * last + xp.sum(none)

    return f


def checkpoint_in_scan(m: Any) -> Any:
    def f(x: Any, w: Any) -> Any:
        xp = NAMESPACE(x)
        body = m.checkpoint(lambda c, row: (xp.sin(c * row) + w[1], c * c))
        last, ys = m.scan(body, x[0], w)
        return last * total(ys)

    return f


def custom_rules_in_scan(m: Any) -> Any:
    """Rules that are not the derivative: so it is seen that they are what is asked."""
    forward = m.custom_jvp(lambda x: NAMESPACE(x).sin(x))
    forward.defjvp(lambda p, t: (NAMESPACE(p[0]).sin(p[0]), 2.0 * NAMESPACE(p[0]).cos(p[0]) * t[0]))

    def f(x: Any, w: Any) -> Any:
        last, ys = m.scan(lambda c, row: (forward(c * row) + c, forward(c)), x, NAMESPACE(x).stack([w, x]))
        return total(last) + total(ys * ys)

    return f


def reverse_rule_in_scan(m: Any) -> Any:
    clipped = m.custom_vjp(lambda x: x * 1.0)
    clipped.defvjp(lambda x: (x * 1.0, x), lambda x, g: (g * x * 3.0,))

    def f(x: Any, w: Any) -> Any:
        last, ys = m.scan(lambda c, row: (clipped(c * row), c), x, NAMESPACE(x).stack([w, x]))
        return total(last) + total(ys * ys)

    return f


def branches_in_scan(m: Any) -> Any:
    def f(x: Any, w: Any) -> Any:
        xp = NAMESPACE(x)

        def step(c: Any, row: Any) -> Any:
            c = m.cond(total(c * row) > 0, lambda c: xp.sin(c) * w, lambda c: c - row * w, c)
            return c, total(c)

        last, ys = m.scan(step, x, xp.stack([x, w, -x]))
        return total(last) * total(ys)

    return f


def switch_in_fori(m: Any) -> Any:
    def f(x: Any, w: Any) -> Any:
        xp = NAMESPACE(x)
        branches = (lambda c: xp.sin(c), lambda c: c * w, lambda c: c * c - w)
        turn = lambda i, c: m.switch((i + xp.astype(x[0] > 0, i.dtype)) % 3, branches, c)
        return total(m.fori_loop(0, 5, turn, x))

    return f


def while_with_closures(m: Any) -> Any:
    """As many steps as the argument asks for, which differ between the batch elements."""

    def f(x: Any, w: Any) -> Any:
        xp = NAMESPACE(x)
        step = lambda c: (c[0] * (1.5 + w[0] * w[0]) + x[1] * 0.01, c[1] * xp.cos(x))
        last, product = m.while_loop(lambda c: c[0] < 4.0 + w[1], step, (0.2 + xp.abs(x[0]), w), max_iter=12)
        return last * last + total(product)

    return f


def while_in_scan(m: Any) -> Any:
    def f(x: Any, w: Any) -> Any:
        def step(c: Any, row: Any) -> Any:
            grown = m.while_loop(lambda d: d < 3.0, lambda d: d * 1.7 + w[0] * row * row, 0.3 + row * row, max_iter=7)
            return c + grown, grown * c

        last, ys = m.scan(step, total(w), x)
        return last * total(ys)

    return f


def maps_and_associative_scans(m: Any) -> Any:
    def f(x: Any, w: Any) -> Any:
        xp = NAMESPACE(x)
        affine = lambda a, b: (a[0] * b[0], a[1] * b[0] + b[1])
        a, b = m.associative_scan(affine, (x, w))
        c = m.map(lambda row: total(xp.sin(row) * w) * a, xp.stack([x, b]))
        return total(b) + total(c * c)

    return f


def derivatives_inside(m: Any) -> Any:
    """Newton's steps, each with the derivatives of a function that uses what is around it."""

    def f(x: Any, w: Any) -> Any:
        g = lambda y: total(w * w * y * y * y * y) * 0.1 + total(x * y)
        step = lambda i, y: y - 0.1 * m.grad(g)(y) + 0.01 * m.jvp(m.grad(g), (y,), (x,))[1]
        return total(m.fori_loop(0, 4, step, w))

    return f


def derivatives_deep_inside(m: Any) -> Any:
    """Loops and branches in a loop, and in them derivatives and maps that use what is around all of them."""

    def f(x: Any, w: Any) -> Any:
        xp = NAMESPACE(x)

        def inner(y: Any) -> Any:
            slope = m.grad(lambda z: total(xp.sin(z * x) * w))(y)
            return slope + m.jvp(lambda z: xp.cos(z) * x, (y,), (w,))[1] + total(m.vmap(lambda z: z * y[0])(x)) * 0.1

        def repeated(step: Any, y: Any) -> Any:
            bounded = lambda c: (0.5 * xp.tanh(step(c[0])) + x * 0.1, c[1] + 1.0)
            return m.while_loop(lambda c: c[1] < 2.0, bounded, (y, total(y) * 0.0), max_iter=3)[0]

        chosen = lambda y: m.cond(y[0] > 0.0, inner, lambda y: y * w, y)
        return total(repeated(lambda y: repeated(chosen, y), x * 0.9) ** 2.0)

    return f


def whiles_in_a_while(m: Any) -> Any:
    def f(x: Any, w: Any) -> Any:
        xp = NAMESPACE(x)
        grown = lambda c: m.while_loop(
            lambda d: d < 1.5 * c, lambda d: 1.1 * d + 0.1 * xp.abs(x[0] * w[1]), c, max_iter=7
        )
        return m.while_loop(lambda c: c < 5.0 + w[0], grown, 0.5 + total(x * x), max_iter=7)

    return f


def checkpoints_in_checkpoints(m: Any) -> Any:
    def f(x: Any, w: Any) -> Any:
        xp = NAMESPACE(x)
        first = m.checkpoint(lambda y: xp.sin(y) * x)
        second = m.checkpoint(lambda y: first(y) * w + y)
        third = m.checkpoint(lambda y: second(y * y) + first(second(y)))
        return total(third(x * 0.9) * x)

    return f


PROGRAMS = [
    scan_with_closure, nested_scans, scan_with_integers, scan_of_nothing, checkpoint_in_scan, custom_rules_in_scan,
    reverse_rule_in_scan, branches_in_scan, switch_in_fori, while_with_closures, while_in_scan,
    maps_and_associative_scans, derivatives_inside, derivatives_deep_inside, whiles_in_a_while,
    checkpoints_in_checkpoints,
]  # fmt: skip
BOTH = (0, 1)
TRANSFORMED: dict[str, Callable[[Any, Any], Any]] = {
    "grad": lambda m, f: m.grad(f, BOTH),
    "jit(grad)": lambda m, f: m.jit(m.grad(f, BOTH)),
    "jit(vmap(grad))": lambda m, f: lambda x, w: m.jit(m.vmap(m.grad(f, BOTH), (0, None)))(batch_of(x, w), w),
    "grad(vmap)": lambda m, f: m.grad(lambda x, w: total(m.vmap(f, (0, None))(batch_of(x, w), w) ** 2.0), BOTH),
    "hessian": lambda m, f: m.hessian(f, BOTH),
    "grad(grad)": lambda m, f: m.jit(m.grad(lambda x, w: total(m.grad(f)(x, w) ** 2.0), BOTH)),
    "vmap(jvp)": lambda m, f: lambda x, w: m.vmap(lambda x: m.jvp(f, (x, w), (w, x)))(batch_of(x, w)),
}


def batch_of(x: Any, w: Any) -> Any:
    return NAMESPACE(x, w).stack([x, w, x * 0.5 - w])


@cache
def of_jax(program: Any, transformation: str) -> list[np.ndarray]:
    found = TRANSFORMED[transformation](THEIRS, program(THEIRS))
    return [np.asarray(x) for x in jax.tree.leaves(found(jax.numpy.asarray(X), jax.numpy.asarray(W)))]


def check(library: Library, program: Any, transformation: str) -> None:
    found = TRANSFORMED[transformation](OURS, program(OURS))(library.asarray(X), library.asarray(W))
    for ours, theirs in zip(trees.leaves(found), of_jax(program, transformation), strict=True):
        library.assert_equal(ours, theirs, rtol=1e-11, atol=1e-12)


ON: dict[str, tuple[str, ...]] = {
    "numpy": tuple(TRANSFORMED),
    "strict": ("grad(vmap)",),
    "strict-device1": ("grad(vmap)", "grad(grad)"),
    "dask": ("grad(vmap)",),
    "torch": ("grad(vmap)", "jit(grad)", "jit(vmap(grad))", "grad(grad)"),
}


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
@pytest.mark.parametrize(
    ("library", "transformation"),
    [(library, each) for library in LIBRARIES for each in ON.get(library.id, ())],
    ids=str,
)
def test_as_on_jax(library: Library, transformation: str, program: Any) -> None:
    if program is reverse_rule_in_scan and transformation == "vmap(jvp)":
        with pytest.raises(TypeError, match="forward mode"):
            check(library, program, transformation)
        return
    check(library, program, transformation)


def test_constants_that_lanes_share_while_one_takes_no_step(library: Library) -> None:
    """A part of the body depends on the constant alone, and has a derivative for the other lanes, of any order."""
    values, rate = np.asarray([0.5, 3.0, 1.2]), 0.4
    steps = np.maximum(np.ceil(np.log(2.0 / values) / rate), 0.0)
    assert sorted(steps > 0.0) == [False, True, True]
    second = steps**2 * values * np.exp(steps * rate)
    xs, w = library.asarray(values), library.asarray(np.asarray(rate))

    def grown(x: Any, w: Any) -> Any:
        xp = NAMESPACE(x, w)
        return control_flow.while_loop(lambda c: c < 2.0, lambda c: c * xp.exp(w), x, max_iter=12)

    grad, jvp = autodiff.grad, autodiff.jvp
    of_all = lambda w: total(vmap(lambda x: grown(x, w))(xs))
    library.assert_equal(grad(of_all)(w), np.sum(steps * values * np.exp(steps * rate)), rtol=1e-12)
    library.assert_equal(grad(grad(of_all))(w), np.sum(second), rtol=1e-12)
    one = library.asarray(np.asarray(1.0))
    library.assert_equal(jvp(grad(of_all), (w,), (one,))[1], np.sum(second), rtol=1e-12)
    library.assert_equal(grad(lambda w: jvp(of_all, (w,), (one,))[1])(w), np.sum(second), rtol=1e-12)
    for inner in (grad(grown, 1), lambda x, w: jvp(lambda w: grown(x, w), (w,), (one,))[1]):
        for outer in (grad(inner, 1), lambda x, w, inner=inner: jvp(lambda w: inner(x, w), (w,), (one,))[1]):
            library.assert_equal(vmap(outer, in_axes=(0, None))(xs, w), second, rtol=1e-12)
        # Three levels: a derivative of the map of a derivative.
        of_slopes = lambda w, inner=inner: total(vmap(inner, in_axes=(0, None))(xs, w))
        library.assert_equal(grad(of_slopes)(w), np.sum(second), rtol=1e-12)
        library.assert_equal(jvp(of_slopes, (w,), (one,))[1], np.sum(second), rtol=1e-12)
