"""Transformations within transformations, and functions that close over arrays of every level, against JAX."""

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import xpand
from tests.libraries import LIBRARIES, Library
from xpand_extensions.autodiff import grad, hessian, jacfwd, jacrev, jvp, vjp
from xpand_extensions.jit import jit
from xpand_extensions.scatter import at
from xpand_extensions.special import gammaln
from xpand_extensions.vmap import vmap

NUMPY, JAX, STRICT = (next(library for library in LIBRARIES if library.id == id) for id in ("numpy", "jax", "strict"))
ON = pytest.mark.parametrize("library", [NUMPY, STRICT], ids=str)
V = np.asarray([0.7, -1.3, 2.1])
M = np.asarray([[0.2, 1.5, -0.4], [1.1, -0.9, 0.3]])


def _sum(x: Any) -> Any:
    return xpand.array_namespace(x).sum(x)


def _exp(x: Any) -> Any:
    return xpand.array_namespace(x).exp(x)


def _sin(x: Any) -> Any:
    return xpand.array_namespace(x).sin(x)


def _push(f: Callable[..., Any], x: Any, t: Any) -> Any:
    return jvp(f, (x,), (t,))[1]


def _pull(f: Callable[..., Any], x: Any, ct: Any) -> Any:
    return vjp(f, x)[1](ct)[0]


# Perturbation confusion: each derivative is of its own level only

CONFUSION: dict[str, Callable[[Any], Any]] = {
    "x·d(x+y)/dy": lambda x: grad(lambda x: x * grad(lambda y: x + y)(1.0 * x))(x),
    "x·d(x·y)/dy": lambda x: grad(lambda x: x * grad(lambda y: x * y)(x))(x),
    "forward in forward": lambda x: _push(lambda x: x * _push(lambda y: x + y, x, x / x), x, x / x),
    "forward in reverse": lambda x: grad(lambda x: x * _push(lambda y: x * y * y, x, x))(x),
    "reverse in forward": lambda x: _push(lambda x: x * grad(lambda y: x * y * y)(x), x, x),
    "of what doesn't depend": lambda x: grad(lambda x: x + grad(lambda y: x * x)(x))(x),
    "twice the same": lambda x: grad(grad(lambda x: grad(lambda x: x**4)(x) * x))(x),
    "tangent of the outer": lambda x: _push(lambda x: _push(lambda y: y * y, x, x), x, x),
    "cotangent of the outer": lambda x: grad(lambda x: _pull(lambda y: y * y, x, x) * x)(x),
    "kept pullback": lambda x: grad(lambda x: vjp(lambda y: x * _sin(y), x)[1](x)[0])(x),
    "a shift": lambda x: grad(lambda s: _shifted(grad, s)(x))(x),
    "a shift forward": lambda x: _push(lambda s: _shifted(lambda f: lambda x: _push(f, x, x / x), s)(x), x, x),
}


def _shifted(derivative: Any, s: Any) -> Any:
    """The derivative of a function that is shifted by an amount of the outer level."""
    return derivative(lambda x: _exp(x + s) * (x + s))


@ON
@pytest.mark.parametrize("name", CONFUSION)
def test_perturbations_are_not_confused(library: Library, name: str) -> None:
    function = CONFUSION[name]
    expected = np.asarray(function(JAX.asarray(0.6)))
    library.assert_equal(function(library.asarray(0.6)), expected, rtol=1e-14)
    if library is NUMPY:
        library.assert_equal(jit(function)(library.asarray(0.6)), expected, rtol=1e-14)
        library.assert_equal(vmap(function)(library.asarray([0.6, 0.6])), np.stack([expected] * 2), rtol=1e-14)


def test_known_values() -> None:
    x = NUMPY.asarray(3.0)
    assert CONFUSION["x·d(x+y)/dy"](x) == 1.0
    assert CONFUSION["x·d(x·y)/dy"](x) == 6.0
    assert CONFUSION["of what doesn't depend"](x) == 1.0
    assert CONFUSION["twice the same"](x) == 4 * 4 * 3 * 9.0


# Levels of several kinds


def _f(x: Any) -> Any:
    xp = xpand.array_namespace(x)
    return xp.sum(xp.tanh(x) * xp.flip(x) * x)


def _outer(x: Any) -> Any:
    xp = xpand.array_namespace(x)
    return xp.sin(xp.expand_dims(x, axis=-1) * x) @ x


NESTED: dict[str, Callable[[Any], Any]] = {
    "vmap in grad in vmap": lambda m: vmap(grad(lambda v: _sum(vmap(lambda a: a * _sin(a) * v[0])(v))))(m),
    "grad in vmap in grad": lambda m: grad(lambda m: _sum(vmap(grad(_f))(m) * m))(m),
    "jvp of vjp of jvp": lambda m: _push(
        lambda m: _pull(lambda m: _push(lambda m: _sin(m) * m, m, m * 2.0), m, m), m, m
    ),
    "vjp of jvp of vjp": lambda m: _pull(
        lambda m: _push(lambda m: _pull(lambda m: _sin(m) * m, m, m * 2.0), m, m), m, m
    ),
    "hessian in vmap": lambda m: vmap(hessian(_f))(m),
    "jacobians of a gradient": lambda m: jacfwd(jacrev(grad(_f)))(m[0, ...]),
    "jacobian of products": lambda m: vmap(jacrev(_outer))(m),
    "four derivatives": lambda m: grad(grad(grad(grad(lambda a: _exp(2.0 * a) * a))))(m[0, 0]),
    "four kinds": lambda m: vmap(lambda v: _push(lambda v: grad(lambda v: _f(jit(_sin)(v)))(v), v, v))(m),
    "vmap of vmap": lambda m: vmap(lambda v: vmap(lambda a: grad(lambda b: _sin(b * a) * _sum(v))(a))(v))(m),
    "in_axes": lambda m: vmap(vmap(lambda a, v: grad(_f)(v) * a, in_axes=(0, None)), in_axes=(1, 1))(m, m),
    "jit in grad in jit": lambda m: jit(grad(lambda m: _sum(jit(lambda m: _sin(m) * m)(m))))(m),
}


@ON
@pytest.mark.parametrize("name", NESTED)
def test_levels(library: Library, name: str) -> None:
    function = NESTED[name]
    expected = np.asarray(function(JAX.asarray(M)))
    library.assert_equal(function(library.asarray(M)), expected, rtol=1e-12, atol=1e-13)
    if library is NUMPY:
        library.assert_equal(jit(function)(library.asarray(M)), expected, rtol=1e-12, atol=1e-13)


# Closures: raw arrays of the library through every door, beside traced ones

W = np.asarray([2.0, 3.0, 0.5])
PLACES = np.asarray([2, 0, 2])
LEFT = ("add", "sub", "mul", "truediv", "pow", "floordiv", "mod")


def _closures(library: Library) -> dict[str, Callable[[Any], Any]]:
    w, i, one = library.asarray(W), library.asarray(PLACES), library.asarray(2.0)
    mask = library.asarray(W > 1.0)
    square = library.asarray(np.outer(W, W) + np.eye(3))
    names: dict[str, Callable[[Any], Any]] = {}
    for name in LEFT:
        op = getattr(operator, name)
        positive = (lambda x: _exp(x)) if name in ("pow", "mod", "floordiv") else (lambda x: x)
        names[f"x {name} w"] = lambda x, op=op, positive=positive: op(positive(x), w)
        names[f"w {name} x"] = lambda x, op=op, positive=positive: op(w, positive(x))
        names[f"0-d {name} x"] = lambda x, op=op, positive=positive: op(one, positive(x))
        names[f"x {name} 0-d"] = lambda x, op=op, positive=positive: op(positive(x), one)
    on = xpand.array_namespace
    names |= {
        "x @ m": lambda x: x @ square,
        "m @ x": lambda x: square @ x,
        "compare": lambda x: on(x).where(w > x, x, w * x),
        "function": lambda x: on(x).multiply(w, x) + on(x).maximum(x, w),
        "where": lambda x: on(x).where(mask, x * x, w),
        "concat": lambda x: on(x).concat([w, x, w[:1] * x[:1]]),
        "stack": lambda x: on(x).stack([x, w]),
        "tensordot": lambda x: on(x).tensordot(square, x, axes=1),
        "linalg": lambda x: on(x).linalg.solve(square, x),
        "index arrays": lambda x: x[i] * x,
        "take": lambda x: on(x).take(x, i) + on(x).take(w, i),
        "facade": lambda x: at(x * 1.0)[i[:1]].add(w[:1]) + gammaln(w) * x,
        "facade of a constant": lambda x: at(w)[i[:2]].multiply(x[:2]),
        "set": lambda x: _set(x, w),
        "asarray": lambda x: on(x).asarray(w) * x,
        "sum of lists": lambda x: sum([x, w, 1.0, x]),
    }
    return names


def _set(x: Any, w: Any) -> Any:
    x[1:] = w[1:] * x[:-1]
    return x


@pytest.mark.parametrize("name", _closures(NUMPY))
def test_closures(name: str) -> None:
    x, theirs = NUMPY.asarray(V), JAX.asarray(V)
    ours, reference = _closures(NUMPY)[name], _closures(JAX)[name]
    if name == "set":  # JAX's arrays can't be set
        reference = lambda x: x.at[1:].set(W[1:] * x[:-1])
    weighted = lambda f: lambda x: _sum(_sin(f(x)))
    expected = np.asarray(reference(theirs))
    NUMPY.assert_equal(jit(ours)(x), expected, rtol=1e-13)
    gradient = np.asarray(grad(weighted(reference))(theirs))
    NUMPY.assert_equal(grad(weighted(ours))(x), gradient, rtol=1e-11, atol=1e-13)
    NUMPY.assert_equal(jit(grad(weighted(ours)))(x), gradient, rtol=1e-11, atol=1e-13)
    NUMPY.assert_equal(vmap(grad(weighted(ours)))(np.stack([x, x])), np.stack([gradient] * 2), rtol=1e-11, atol=1e-13)
    NUMPY.assert_equal(_push(ours, x, x), np.asarray(_push(reference, theirs, theirs)), rtol=1e-11, atol=1e-13)


CONSTANT_FIRST = {"compare", "concat", "facade", "set"}  # in which a constant stands on the left of an operator


@pytest.mark.parametrize(
    "name",
    [name for name in _closures(STRICT) if not name.startswith(("w ", "0-d ", "m @")) and name not in CONSTANT_FIRST],
)
def test_closures_of_the_strict_library(name: str) -> None:
    """Its own operators refuse traced arrays on their right: see the next test."""
    ours, reference = _closures(STRICT)[name], _closures(JAX)[name]
    weighted = lambda f: lambda x: _sum(_sin(f(x)))
    gradient = np.asarray(grad(weighted(reference))(JAX.asarray(V)))
    STRICT.assert_equal(grad(weighted(ours))(STRICT.asarray(V)), gradient, rtol=1e-11, atol=1e-13)


def test_operators_of_the_strict_library() -> None:
    """array-api-strict raises where the standard lets an operator leave the work to the other operand."""
    w = STRICT.asarray(W)
    with pytest.raises(TypeError, match=r"Expected Array or Python scalar; got .*TracedArray"):
        grad(lambda x: _sum(w * x))(STRICT.asarray(V))
    STRICT.assert_equal(grad(lambda x: _sum(x * w))(STRICT.asarray(V)), W)


@pytest.mark.parametrize(
    "transform", [lambda f: grad(lambda x: _sum(f(x))), jit, vmap, lambda f: lambda x: _push(f, x, x)]
)
@pytest.mark.parametrize("scalar", [np.float64(2.0), np.float32(2.0), np.int64(2), np.bool_(True), 2.0, 2, True])
def test_scalars(transform: Any, scalar: Any) -> None:
    x = NUMPY.asarray(V)
    for op in (operator.add, operator.mul, operator.sub):
        for function in (lambda x, op=op: op(scalar, x) * x, lambda x, op=op: x * op(x, scalar)):
            if isinstance(scalar, (bool, np.bool_)) and op is operator.sub:
                continue
            found = transform(function)(x)
            theirs = lambda x, op=op, function=function: function(x)
            expected = _of_jax(transform, theirs)
            NUMPY.assert_equal(found, expected, rtol=1e-14)


def _of_jax(transform: Any, function: Any) -> np.ndarray:
    return np.asarray(transform(function)(JAX.asarray(V)))


def test_lists_of_both() -> None:
    """A list of traced arrays, raw ones and numbers is an array, as with JAX."""
    on = xpand.array_namespace

    def function(x: Any) -> Any:
        return on(x).sum(on(x).asarray([x[0, ...], 2.0 * x[1, ...], x[0, ...] * x[2, ...]]) * NUMPY.asarray(W))

    np.testing.assert_allclose(grad(function)(NUMPY.asarray(V)), [2 + 0.5 * 2.1, 6.0, 0.5 * 0.7])
    np.testing.assert_allclose(jit(grad(function))(NUMPY.asarray(V)), [2 + 0.5 * 2.1, 6.0, 0.5 * 0.7])
