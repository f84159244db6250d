"""Errors in a transformation are alike on every library: one type, the function, what it got, the fix."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

import xpand
from tests.libraries import Library
from xpand_extensions.autodiff import grad, hessian, jacfwd, jvp, value_and_grad, vjp
from xpand_extensions.control_flow import cond, fori_loop, scan, switch, while_loop
from xpand_extensions.jit import eval_shape, jit, lower, make_graph
from xpand_extensions.vmap import axis_index, pmean, psum, vmap


def of(x: Any) -> Any:
    return xpand.array_namespace(x)


def total(x: Any) -> Any:
    return of(x).sum(x)


def branching(x: Any) -> Any:
    return x if total(x) > 0 else -x


CALLS: dict[str, tuple[Callable[[Any], Any], type[Exception], str]] = {
    "grad of an array": (
        lambda x: grad(lambda x: 2.0 * x)(x),
        TypeError,
        r"grad: .*one number.*shapes \[\(3,\)\]; sum it, or use `jacrev`",
    ),
    "grad of an object": (
        lambda x: grad(lambda p: total(p.x))(SimpleNamespace(x=x)),
        TypeError,
        r"grad: the arguments hold .*SimpleNamespace, .*; register its class with `xpand.trees.register`",
    ),
    "grad of nothing": (
        lambda x: grad(lambda x: None)(x),
        TypeError,
        r"grad: .*one number, got None; does it lack a `return`",
    ),
    "grad of a truth value": (
        lambda x: grad(lambda x: total(x) > 0)(x),
        TypeError,
        r"grad: the output must be real.*bo",
    ),
    "grad of an integer": (
        lambda x: value_and_grad(lambda x: of(x).argmax(x))(x),
        TypeError,
        r"value_and_grad: the output must be real.*int64; convert it with `xp.astype`",
    ),
    "grad of a complex number": (lambda x: grad(lambda x: total(x) * 1j)(x), TypeError, r"real.*holomorphic=True"),
    "integers": (lambda x: grad(total)(of(x).argsort(x)), TypeError, r"grad: .*floating-point.*int64; .*xp\.astype"),
    "hessian of integers": (lambda x: hessian(total)(of(x).argsort(x)), TypeError, r"hessian: .*floating-point"),
    "hessian of a text": (lambda x: hessian(lambda x: "text")(x), TypeError, r"hessian: the function returned str"),
    "jacfwd": (lambda x: jacfwd(lambda x: "text")(x), TypeError, r"jacfwd: the function returned str"),
    "structure": (lambda x: jvp(lambda x: x, ([x],), ((x, x),)), TypeError, r"jvp: tangents must have the structure"),
    "shape": (lambda x: vjp(lambda x: x, x)[1](x[:1]), ValueError, r"vjp: cotangents .* shape \(3,\), got \(1,\)"),
    "in_axes": (lambda x: vmap(lambda x: x, in_axes=3)(x), ValueError, r"vmap: in_axes=3 is out of range.* -1 to 0"),
    "out_axes": (lambda x: vmap(lambda x: x, out_axes=-3)(x), ValueError, r"vmap: out_axes=-3 is out of range"),
    "out_axes None": (
        lambda x: vmap(lambda x: x, out_axes=None)(x),
        ValueError,
        r"vmap: out_axes has None for a result that differs",
    ),
    "sizes": (
        lambda x: vmap(lambda x, y: x)(x, x[:1]),
        ValueError,
        r"vmap: .*one size.*\(3,\) along 0, \(1,\) along 0",
    ),
    "unhashable": (lambda x: jit(lambda x, n: x, static_argnums=1)(x, [1]), TypeError, r"static argument 1.*hashable"),
    "unbound": (lambda x: psum(x, "i"), NameError, r"psum: no mapped axis is called 'i' .* axis_name='i'"),
    "unbound in jit": (lambda x: jit(lambda x: pmean(x, "i"))(x), NameError, r"pmean: no mapped axis is called 'i'"),
    "another bound": (
        lambda x: vmap(lambda x: x + axis_index("j"), axis_name="i")(x),
        NameError,
        r"axis_index: no mapped axis is called 'j' here; those bound are: 'i'",
    ),
    "carried shape": (
        lambda x: scan(lambda c, row: (of(c).stack([c, c]), row), total(x), x),
        TypeError,
        r"scan: the carry must keep its shapes.*shape \(\) and f made it .* shape \(2,\); reshape",
    ),
    "carried data type": (
        lambda x: fori_loop(0, 2, lambda i, c: of(c).astype(c, of(c).float32), x),
        TypeError,
        r"fori_loop: the carry must keep .*float64.*float32.*; convert one of them with `xp.astype`",
    ),
    "carried tree": (
        lambda x: scan(lambda c, row: ((c, c), row), x, x),
        TypeError,
        r"scan: the carry must keep its structure: init has",
    ),
    "no pair": (lambda x: scan(lambda c, row: c, total(x), x), TypeError, r"scan: f must return a pair"),
    "branches": (
        lambda x: jit(lambda x: cond(total(x) > 0, lambda x: x, total, x))(x),
        TypeError,
        r"cond: what the functions return must have one shape and data type",
    ),
    "several conditions": (
        lambda x: while_loop(lambda c: c > 0, lambda c: c - 1.0, x, max_iter=2),
        TypeError,
        r"while_loop: cond_fun must return one bool.*\(3,\); reduce it with `xp\.any`",
    ),
    "no condition": (
        lambda x: while_loop(lambda c: total(c), lambda c: c, x, max_iter=2),
        TypeError,
        r"while_loop: cond_fun must return one bool.*float64 of shape \(\); compare it",
    ),
    "index": (lambda x: switch(total(x), [lambda x: x], x), TypeError, r"switch: index must be an integer.*float64"),
}


@pytest.mark.parametrize("name", CALLS)
def test_errors(library: Library, name: str) -> None:
    call, error, message = CALLS[name]
    with pytest.raises(error, match=message):
        call(library.asarray([0.5, 1.5, 2.0]))


ASKING: dict[str, Callable[[Any], Any]] = {
    "vmap": lambda x: vmap(branching)(x),
    "vmap over a named axis": lambda x: vmap(branching, axis_name="i", axis_size=3)(x),
    "float": lambda x: vmap(lambda x: x * float(x))(x),
    "jit": lambda x: jit(branching)(x),
    "make_graph": lambda x: make_graph(branching)(x),
    "lower": lambda x: lower(branching)(x),
    "eval_shape": lambda x: eval_shape(branching, x),
}


@pytest.mark.parametrize("name", ASKING)
def test_values_asked_for(library: Library, name: str) -> None:
    """Errors say on every library what to write instead; JAX's own errors do in a note."""
    with pytest.raises(TypeError) as caught:
        ASKING[name](library.asarray([0.5, 1.5, 2.0]))
    text = "\n".join([str(caught.value), *getattr(caught.value, "__notes__", ())])
    for word in ("xp.where", "control_flow", "while_loop", "test_transformation_errors.py"):
        assert word in text


def test_sizes_asked_for(library: Library) -> None:
    with pytest.raises((TypeError, IndexError)) as caught:
        vmap(lambda x: x[x > 0])(library.asarray([[0.5, -1.5], [1.0, 2.0]]))
    assert "size" in "\n".join([str(caught.value), *getattr(caught.value, "__notes__", ())])
