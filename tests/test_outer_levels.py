"""Functions that close over arrays of the transformations around them, against JAX: what is written into one graph, or
onto one tape, is not confused with what is around it."""

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import jax
import numpy as np
import pytest

from tests.cases import library_of_name
from tests.libraries import LIBRARIES, Library, unless
from tests.test_derivatives import NAMESPACE, total
from xpand import trees
from xpand_extensions.autodiff import checkpoint, custom_jvp, custom_vjp, grad, jacfwd, jacrev, jvp, linearize, vjp
from xpand_extensions.control_flow import cond, scan, switch, while_loop
from xpand_extensions.jit import jit
from xpand_extensions.scatter import segment_sum
from xpand_extensions.vmap import vmap

X = np.asarray([0.4, -0.8, 1.3])

Function = Callable[[Any], Any]


def shapes_within(x: Any) -> Any:
    """Of operations whose rules make arrays, which belong to no graph but theirs."""
    xp = NAMESPACE(x)
    return xp.min(x) * xp.cumulative_prod(x)


def sums_within(x: Any) -> Any:
    xp = NAMESPACE(x)
    return segment_sum(x, xp.astype(xp.argsort(x), xp.int64) % 2, num_segments=3)


def a_rule(function: Function) -> Function:
    """A rule that is no derivative, and uses that of the function."""
    f = custom_jvp(function)
    f.defjvp(lambda p, t: (f(p[0]), 0.5 * jvp(function, p, t)[1] * total(p[0])))
    return f


def halved(x: Any) -> Any:
    """A function with a rule that is used of values alone: as is the rule's own."""
    xp = NAMESPACE(x)
    loop = lambda x: scan(lambda c, r: (c * r + x, xp.sin(c) * r), x, xp.stack([x, x * 0.5]))
    f = custom_jvp(lambda x: total(loop(x)[0]))

    @f.defjvp
    def rule(p: Any, t: Any) -> Any:
        (last, ys), (d_last, d_ys) = jvp(loop, p, t)
        return total(last), total(d_last * last) + total(ys * d_ys)

    return f(x)


def chosen(x: Any) -> Any:
    return cond(total(x) > 0.5, lambda x: NAMESPACE(x).sin(x), lambda x: x * x, x)


def numbered(x: Any) -> Any:
    branches = [lambda x: x * x, lambda x: NAMESPACE(x).cos(x), lambda x: x * 0.5]
    return switch(NAMESPACE(x).astype(x[0] * 4.0, NAMESPACE(x).int32), branches, x)


def until(x: Any) -> Any:
    """Ends sooner for some lanes than for others."""
    grown = while_loop(lambda c: c[0] < 3.0, lambda c: (c[0] * 1.7, c[1] * x), (x[0] * x[0] + 0.1, x), max_iter=6)
    return grown[1] * grown[0]


FUNCTIONS: dict[str, Function] = {
    "closed over by jit": lambda x: jit(lambda y: y * 2.0 + total(shapes_within(x)))(x * x),
    "closed over by cond": lambda x: cond(
        total(x) > 0, lambda y: y * total(sums_within(x)), lambda y: y + total(shapes_within(x)), x
    ),
    "closed over by scan": lambda x: scan(
        lambda c, r: (c * 0.5 + total(shapes_within(x)) * r, c + total(sums_within(x))), total(x), x
    )[1],
    "closed over by a loop in a loop": lambda x: scan(
        lambda c, r: scan(lambda d, s: (d + NAMESPACE(x).max(x) * NAMESPACE(c).min(c) * s, d), c, x), x, x
    )[0],
    "closed over by checkpoint": lambda x: checkpoint(lambda y: y * 2.0 + total(shapes_within(x)))(x * x),
    "mapped, of the level around": lambda x: vmap(lambda y: (NAMESPACE(x).sort(x), y), out_axes=0)(
        NAMESPACE(x).arange(2, dtype=NAMESPACE(x).float64)
    )[0],
    "a branch of nothing": lambda x: (
        cond(total(x) > 5.0, lambda y: x * x, lambda y: NAMESPACE(y).ones_like(y), x * 2.0) * x
    ),
    "a rule over cond": a_rule(chosen),
    "a rule over switch": a_rule(numbered),
    "a rule over while_loop": a_rule(until),
    "a rule over a rule": a_rule(a_rule(lambda x: NAMESPACE(x).sin(x))),
    "a rule over values of a loop": halved,
}


def total_of(f: Function) -> Function:
    return lambda x: total(f(x) * f(x))


TRANSFORMED: dict[str, Callable[[Function], Function]] = {
    "jit(grad)": lambda f: jit(grad(total_of(f))),
    "jacrev(jacfwd)": lambda f: jit(jacrev(jacfwd(f))),
    "vmap(linearize)": lambda f: (
        lambda x: vmap(lambda x: linearize(f, x)[1](x * 2.0))(NAMESPACE(x).stack([x, -x, x * 0.5]))
    ),
    "jit(vmap(vjp))": lambda f: jit(
        lambda x: vmap(lambda x: vjp(f, x)[1](f(x))[0])(NAMESPACE(x).stack([x, -x, x * 0.5]))
    ),
}


@cache
def of_jax(name: str, transformation: str) -> list[np.ndarray]:
    found = jax.jit(TRANSFORMED[transformation](FUNCTIONS[name]))(jax.numpy.asarray(X))
    return [np.asarray(x) for x in jax.tree.leaves(found)]


ON = {
    "numpy": tuple(TRANSFORMED),
    "strict": ("jacrev(jacfwd)", "jit(vmap(vjp))"),
    "strict-device1": ("vmap(linearize)",),
    "dask": ("jit(grad)",),
    "torch": ("vmap(linearize)",),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize(
    ("library", "transformation"),
    [(library, each) for library in LIBRARIES for each in ON.get(library.id, ())],
    ids=str,
)
def test_as_on_jax(library: Library, transformation: str, name: str) -> None:
    found = trees.leaves(TRANSFORMED[transformation](FUNCTIONS[name])(library.asarray(X)))
    for ours, theirs in zip(found, of_jax(name, transformation), strict=True):
        library.assert_equal(ours, theirs, rtol=1e-11, atol=1e-12)


# Functions with rules that close over what is mapped, or differentiated, around them


def forward_rule(x: Any, c: Any) -> Any:
    f = custom_jvp(lambda x: NAMESPACE(x).sin(x) * c)
    f.defjvp(lambda p, t: (f(p[0]), 3.0 * t[0] * c))
    return f(x)


def reverse_rule(x: Any, c: Any) -> Any:
    f = custom_vjp(lambda x: NAMESPACE(x).sin(x) * c)
    f.defvjp(lambda x: (f(x), x), lambda residuals, ct: (3.0 * ct * c,))
    return f(x)


CLOSED: dict[str, Callable[[Any], Callable[[Any, Any], Any]]] = {
    "vmap": lambda f: vmap(f),
    "vmap(grad)": lambda f: vmap(grad(lambda x, c: total(f(x, c)))),
    "grad(vmap)": lambda f: grad(lambda x, c: total(vmap(f)(x, c))),
    "grad(vmap) of what is not mapped": lambda f: grad(lambda x, c: total(vmap(f, (None, 0))(x, c))),
    "vmap(jit)": lambda f: vmap(lambda x, c: jit(lambda x: f(x, c))(x)),
}


@pytest.mark.parametrize("id", ["numpy", "strict", "dask", "jax", "torch"])
@pytest.mark.parametrize("name", CLOSED)
@pytest.mark.parametrize("function", [forward_rule, reverse_rule])
# Which JAX refuses.
@unless(
    lambda id, name, function: (
        id == "jax" and (name == "vmap(jit)" or (function is reverse_rule and name.startswith("grad")))
    )
)
def test_rules_that_close_over_what_is_mapped(function: Any, name: str, id: str) -> None:
    library = library_of_name(id)
    x, c = np.asarray([[0.5, 1.0, -2.0], [3.0, 0.1, 0.2]]), np.asarray([[1.0, 2.0, 3.0], [-1.0, 4.0, 0.5]])
    expected = {
        "vmap": np.sin(x) * c,
        "vmap(grad)": 3.0 * c,
        "grad(vmap)": 3.0 * c,
        "grad(vmap) of what is not mapped": np.stack([3.0 * np.sum(c, axis=0)] * 2),
        "vmap(jit)": np.sin(x) * c,
    }[name]
    if name.endswith("not mapped"):
        x, expected = x[0], expected[0]
    library.assert_equal(CLOSED[name](function)(library.asarray(x), library.asarray(c)), expected, rtol=1e-14)


class Scaled:
    """Brings along an array as an attribute, and has a rule in which it is used."""

    __slots__ = ("c", "f")

    def __init__(self, c: Any) -> None:
        self.c = c
        self.f = custom_vjp(self.value)

    def value(self, x: Any) -> Any:
        return NAMESPACE(x).sin(x) * self.c

    def forward(self, x: Any) -> Any:
        return self.f(x), (x, {"c": self.c})  # kept as it is


def of_methods(x: Any, c: Any) -> Any:
    scaled = Scaled(c)
    scaled.f.defvjp(scaled.forward, lambda residuals, ct: (3.0 * ct * residuals[1]["c"],))
    return scaled.f(x)


def of_nested_functions(x: Any, c: Any) -> Any:
    times = partial(lambda c, y: y * c, c)
    outside = [lambda y: times(y)]
    f = custom_jvp(lambda x: (outside[0](NAMESPACE(x).sin(x)), c)[0])
    f.defjvps(lambda t, out, x: outside[0](3.0 * t))
    return f(x)


def of_objects(x: Any, c: Any) -> Any:
    f = custom_jvp(lambda g, x: g(NAMESPACE(x).sin(x)), nondiff_argnums=(0,))
    f.defjvp(lambda g, p, t: (f(g, p[0]), g(3.0 * t[0])))
    return f(lambda y: y * c, x)


WITHIN = {f.__name__: f for f in (forward_rule, of_methods, of_nested_functions, of_objects)}
NESTED: dict[str, Callable[[Any], Callable[[Any, Any], Any]]] = {
    "grad(vmap(vmap)), of the outer": lambda f: grad(
        lambda x, c: total(vmap(lambda row, b: vmap(lambda y: f(y * x, total(b)))(row))(c, c))
    ),
    "grad(vmap(vmap)), of both": lambda f: grad(
        lambda x, c: total(vmap(lambda row: vmap(lambda y: f(x, total(row) * y))(row))(c))
    ),
    "vmap(grad(vmap))": lambda f: vmap(
        lambda x, row: grad(lambda x: total(vmap(lambda y: f(x, total(row) * y))(row)))(x), (None, 0)
    ),
    "grad(vmap(grad))": lambda f: grad(
        lambda x, c: total(vmap(vmap(lambda y: grad(lambda z: f(z * z, y) * z)(x)))(c))
    ),
    "grad(grad(vmap))": lambda f: grad(grad(lambda x, c: total(vmap(vmap(lambda y: f(x * x, y)))(c)))),
}  # fmt: skip


@pytest.mark.parametrize("id", ["numpy", "torch"])
@pytest.mark.parametrize("name", NESTED)
@pytest.mark.parametrize("function", WITHIN.values(), ids=WITHIN)
def test_rules_that_close_over_several_levels(function: Any, name: str, id: str) -> None:
    """As JAX has them of the function of the same rule whose array from outside is an argument."""
    f = jax.custom_jvp(lambda x, c: jax.numpy.sin(x) * c)
    f.defjvp(lambda p, t: (f(*p), 3.0 * t[0] * p[1]))
    x, c = np.asarray(0.7), np.asarray([[1.0, 2.0, 3.0], [-1.0, 4.0, 0.5]])
    expected = NESTED[name](f)(jax.numpy.asarray(x), jax.numpy.asarray(c))
    library = library_of_name(id)
    found = NESTED[name](function)(library.asarray(x), library.asarray(c))
    library.assert_equal(found, np.asarray(expected), rtol=1e-13)


@pytest.mark.parametrize("id", ["numpy", "torch"])
@pytest.mark.parametrize("function", WITHIN.values(), ids=WITHIN)
def test_rules_have_the_derivative_of_the_function_in_what_they_close_over(function: Any, id: str) -> None:
    library = library_of_name(id)
    x, c = np.asarray([0.5, 1.0, -2.0]), np.asarray(1.5)
    for found in (
        grad(lambda c: total(function(library.asarray(x), c)))(library.asarray(c)),
        grad(lambda c: total(vmap(lambda x: function(x, c))(library.asarray(x))))(library.asarray(c)),
    ):
        library.assert_equal(found, np.sum(np.sin(x)), rtol=1e-14)
    # Where it is differentiated twice, by what it is given first.
    mixed = grad(lambda c: grad(lambda x: function(x, c))(library.asarray(x[0])))(library.asarray(c))
    library.assert_equal(mixed, np.asarray(3.0), rtol=1e-14)


BOTH = (0, 1)
IN_BOTH: dict[str, Callable[[Any], Callable[[Any, Any], Any]]] = {
    "jit(grad(vmap))": lambda f: jit(grad(lambda x, c: total(vmap(f)(x, c)), BOTH)),
    "jit(grad(vmap)) of one for all": lambda f: jit(grad(lambda x, c: total(vmap(f, (None, 0))(x[0], c)), BOTH)),
    "jit(grad(vmap(vmap)))": lambda f: jit(
        grad(lambda x, c: total(vmap(lambda a: vmap(lambda b: f(a, b))(c))(x)), BOTH)
    ),
    "jit(vmap(grad))": lambda f: jit(vmap(grad(f, BOTH))),
    "grad(jit(vmap))": lambda f: grad(lambda x, c: total(jit(vmap(f))(x, c)), BOTH),
    "grad(jit(vmap)) of one for all": lambda f: grad(lambda x, c: total(jit(vmap(f, (None, 0)))(x[0], c)), BOTH),
    "vmap(grad(jit))": lambda f: vmap(grad(lambda x, c: jit(lambda x: f(x, c))(x), BOTH)),
    "jit(vmap(jvp))": lambda f: jit(vmap(lambda x, c: jvp(f, (x, c), (x * 2.0, c + 1.0))[1])),
    "jit(jacfwd(jacrev(vmap)))": lambda f: jit(
        jacfwd(jacrev(lambda x, c: total(vmap(f)(x * x, c * c) * x), BOTH), BOTH)
    ),
    "vmap(jacfwd(jacrev))": lambda f: vmap(jacfwd(jacrev(lambda x, c: f(x * x, c * c) * x, BOTH), BOTH)),
    "grad(grad in what it closes over)": lambda f: grad(lambda x, c: grad(lambda c: f(x[0], c[0]))(c)[0]),
}


@pytest.mark.parametrize(
    ("function", "name"),
    [
        *[(function, name) for function in (forward_rule, of_nested_functions, of_objects) for name in IN_BOTH],
        *[(of_methods, name) for name in ("jit(grad(vmap))", "jit(vmap(grad))", "grad(jit(vmap))", "vmap(grad(jit))")],
    ],
)
def test_rules_that_close_over_what_is_differentiated_with_their_arguments(function: Any, name: str) -> None:
    """As a rule that says that the derivative in it is the function's."""
    c = np.asarray([1.0, 2.0, -3.0])
    found, expected = IN_BOTH[name](function)(X, c), IN_BOTH[name](rule_for_both)(X, c)
    for ours, theirs in zip(trees.leaves(found), trees.leaves(expected), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-13)


def rule_for_both(x: Any, c: Any) -> Any:
    f = custom_jvp(lambda x, c: NAMESPACE(x).sin(x) * c)
    f.defjvp(lambda p, t: (f(*p), 3.0 * t[0] * p[1] + NAMESPACE(p[0]).sin(p[0]) * t[1]))
    return f(x, c)


def test_rules_that_close_over_what_only_an_inner_level_differentiates() -> None:
    x, c = X, np.asarray([1.0, 2.0, -3.0])
    np.testing.assert_allclose(grad(lambda x: total(vmap(grad(forward_rule, 1))(x, c)))(x), np.cos(x), rtol=1e-13)
    found = grad(lambda x: grad(lambda c: reverse_rule(x[0], c[0]))(c)[0])(x)
    np.testing.assert_allclose(found[0], np.cos(x[0]), rtol=1e-13)


# Branches that close over what is mapped and differentiated, and are undefined for lanes that choose another


def root_or_cube(x: Any) -> Any:
    return cond(x > 0, lambda y: NAMESPACE(x).sqrt(x) * y, lambda y: x * x * y, x)


def one_of_three(x: Any) -> Any:
    xp = NAMESPACE(x)
    index = xp.astype(x > 0, xp.int32) + xp.astype(x > 3, xp.int32)
    ways = [lambda: xp.sqrt(-x) * x, lambda: xp.log(x) * x, lambda: xp.sqrt(x - 3.0) * x]
    return switch(index, ways)


def within_another(x: Any) -> Any:
    """The inner branch, a compiled function and a gradient are of the outer one."""
    xp = NAMESPACE(x)
    inner = lambda y: cond(x > 3, lambda: grad(lambda z: xp.sqrt(x) * z * z)(y) * 0.5, lambda: xp.sqrt(x) * y)
    return cond(x > 0, inner, lambda y: scan(lambda c, _: (c * xp.sqrt(-x), c), y, None, length=4)[0], x)


_AT = np.asarray([4.0, -1.0, 2.0, -3.0])
_HALF = 1.5 * np.sqrt(np.abs(_AT))
_SLOPES = {
    root_or_cube: np.where(_AT > 0, _HALF, 3.0 * _AT**2),
    one_of_three: np.asarray([3.0, _HALF[1], np.log(2.0) + 1.0, _HALF[3]]),
    within_another: np.where(_AT > 0, _HALF, 3.0 * _AT**2),
}
_OVER: dict[str, Callable[[Function], Function]] = {
    "vmap(grad)": lambda f: vmap(grad(f)),
    "vmap(grad) with a name": lambda f: vmap(grad(f), axis_name="i"),
    "jit(vmap(grad))": lambda f: jit(vmap(grad(f))),
    "vmap(jvp)": lambda f: vmap(lambda x: jvp(f, (x,), (x * 0.0 + 1.0,))[1]),
    "grad(vmap)": lambda f: grad(lambda x: total(vmap(f)(x))),
    "grad(jit(vmap)) with a name": lambda f: grad(jit(lambda x: total(vmap(f, axis_name="i")(x)))),
}


@pytest.mark.parametrize(
    ("id", "over"),
    [
        *[("numpy", each) for each in _OVER],
        ("strict", "vmap(grad)"),
        ("strict", "grad(vmap)"),
        ("torch", "vmap(grad)"),
        ("torch", "vmap(grad) with a name"),
        ("torch", "grad(vmap)"),
        ("jax", "jit(vmap(grad))"),
    ],
)
@pytest.mark.parametrize("function", _SLOPES)
def test_branches_that_close_over_what_they_are_not_chosen_for(function: Function, id: str, over: str) -> None:
    library = library_of_name(id)
    library.assert_equal(_OVER[over](function)(library.asarray(_AT)), _SLOPES[function], rtol=1e-13)
