"""Arrays that functions capture: found, differentiated, and used in place of others; variables of functions."""

from collections.abc import Callable
from functools import partial
from types import FunctionType
from typing import Any

import numpy as np
import pytest
import torch

from tests.libraries import LIBRARIES
from tests.test_derivatives import NAMESPACE
from xpand_extensions._captures import captured, with_arrays, with_own_cells
from xpand_extensions.autodiff import (
    checkpoint,
    custom_jvp,
    custom_linear_solve,
    custom_root,
    custom_vjp,
    grad,
    hessian,
    jvp,
    vjp,
)
from xpand_extensions.control_flow import cond, fori_loop, scan, while_loop
from xpand_extensions.jit import jit
from xpand_extensions.linear_solve import LinearOperator, solve
from xpand_extensions.tracing import LeakedArrayError
from xpand_extensions.vmap import vmap

NUMBERS = (1.0, 2.0, 3.0)
X = 0.7


def sin(x: Any) -> Any:
    return NAMESPACE(x).sin(x)


def cos(x: Any) -> Any:
    return NAMESPACE(x).cos(x)


class Layer:
    """Something with an array in an attribute, and a function of it in a method."""

    def __init__(self, w: Any) -> None:
        self.parts = {"w": [w]}
        self.again = lambda c: self.call(c)  # it holds itself

    def call(self, c: Any) -> Any:
        return sin(c) * self.parts["w"][0]


class Slots:
    """Something with an array in a slot."""

    __slots__ = ("w",)

    def __init__(self, w: Any) -> None:
        self.w = w

    def __call__(self, c: Any) -> Any:
        return sin(c) * self.w


def recursive(w: Any) -> Callable[[Any], Any]:
    def f(c: Any, depth: int = 2) -> Any:
        return f(c, depth - 1) if depth else sin(c) * w

    return f


# Functions of `c` that are sin(c) * w, and hold `w` in different ways.
HOLDING: dict[str, Callable[[Any], Callable[[Any], Any]]] = {
    "closure": lambda w: lambda c: sin(c) * w,
    "closure of a closure": lambda w: (lambda f: lambda c: f(c))(lambda c: sin(c) * w),
    "default": lambda w: lambda c, w=w: sin(c) * w,
    "keyword": lambda w: partial(lambda c, w: sin(c) * w, w=w),
    "partial": lambda w: partial(lambda w, c: sin(c) * w, w),
    "tuple": lambda w: (lambda holder: lambda c: sin(c) * holder[0]["w"])(({"w": w},)),
    "method": lambda w: Layer(w).call,
    "attribute": lambda w: (lambda layer: lambda c: layer.again(c))(Layer(w)),
    "slot": Slots,
    "recursive": recursive,
    "jit": lambda w: jit(lambda c: sin(c) * w),
    "grad": lambda w: grad(lambda c: -cos(c) * w),
    "vmap": lambda w: lambda c: vmap(lambda d: sin(d) * w)(NAMESPACE(c).stack([c, c]))[0],
    "rule": lambda w: ruled(lambda c: sin(c) * w, lambda c: cos(c) * w),
}


def ruled(f: Callable[[Any], Any], derivative: Callable[[Any], Any]) -> Any:
    made = custom_jvp(f)
    made.defjvp(lambda primals, tangents: (f(primals[0]), derivative(primals[0]) * tangents[0]))
    return made


def reverse(f: Callable[[Any], Any], x: Any) -> Any:
    """Return f(x), whose rule for reverse mode says its derivative in x."""
    made = custom_vjp(lambda x: f(x))
    made.defvjp(lambda x: (f(x), grad(f)(x)), lambda slope, g: (slope * g,))
    return made(x)


# Callers of such a function: all return f(x) or a differentiable function of it.
CALLING: dict[str, Callable[[Callable[[Any], Any], Any], Any]] = {
    "checkpoint": lambda f, x: checkpoint(f)(x),
    "custom_vjp": reverse,
    "custom_linear_solve": lambda f, x: custom_linear_solve(
        lambda v: (2.0 + f(x)) * v, x, solve=lambda b: b / (2.0 + f(x)), symmetric=True
    ),
    "custom_root": lambda f, x: custom_root(lambda z: z - f(x), x, solve=lambda z0: f(x)),
    "cond": lambda f, x: cond(x > 0.0, f, lambda c: c, x),
    "scan": lambda f, x: scan(lambda c, _: (f(c), None), x, None, length=17)[0],
    "while_loop": lambda f, x: while_loop(lambda c: c[1] < 2, lambda c: (f(c[0]), c[1] + 1), (x, 0), max_iter=3)[0],
}

TRANSFORMED: dict[str, Callable[[Any], Callable[[Any], Any]]] = {
    "grad": grad,
    "jvp of grad": lambda f: lambda x: jvp(grad(f), (x,), (NAMESPACE(x).ones_like(x),))[1],
    "vjp": lambda f: lambda x: (lambda y, pull: pull(NAMESPACE(x).ones_like(y))[0])(*vjp(f, x)),
    "vmap of grad": lambda f: lambda x: vmap(grad(f))(NAMESPACE(x).stack([x, x + 0.1]))[0],
    "jit of grad": lambda f: jit(grad(f)),
    "backward": lambda f: partial(backward, f),
}


def backward(f: Callable[[Any], Any], x: Any) -> Any:
    x = x.clone().requires_grad_()
    f(x).backward()
    return x.grad


TRACED: dict[str, Callable[[Any], Any]] = {
    "numpy": np.asarray,
    "torch": lambda x: torch.asarray(x, dtype=torch.float64),
}
"""The libraries that xpand traces: the rest differ in their functions only."""

CASES = [(library, each) for library in TRACED for each in TRANSFORMED if each != "backward" or library == "torch"]


@pytest.mark.parametrize(("library", "transform"), CASES)
@pytest.mark.parametrize("calling", list(CALLING))
@pytest.mark.parametrize("holding", list(HOLDING))
def test_captured_arrays_are_differentiated(holding: str, calling: str, library: str, transform: str) -> None:
    f = lambda x: CALLING[calling](HOLDING[holding](x * 1.5 + 0.2), x)
    caller = (lambda f, x: f(x)) if calling == "custom_vjp" else CALLING[calling]
    plain = lambda x: caller(HOLDING["closure"](x * 1.5 + 0.2), x)
    expected = TRANSFORMED["grad" if transform == "backward" else transform](plain)(np.asarray(X))
    found = TRANSFORMED[transform](f)(TRACED[library](X))
    np.testing.assert_allclose(float(found), expected, rtol=1e-9)


GLOBAL: Any = None


def of_global(calling: str) -> Callable[[Any], Any]:
    def f(x: Any) -> Any:
        global GLOBAL
        GLOBAL = x * 1.5
        return CALLING[calling](lambda c: sin(c) * GLOBAL, x)

    return f


@pytest.mark.parametrize(("library", "transform"), CASES)
@pytest.mark.parametrize("calling", list(CALLING))
def test_global_arrays(calling: str, library: str, transform: str) -> None:
    """They can't be replaced in copies of functions, so rules raise: they would be constants of the derivative."""
    call, x = TRANSFORMED[transform](of_global(calling)), TRACED[library](X)
    if calling == "custom_vjp":
        with pytest.raises(TypeError, match="custom_vjp: a function uses an array that is differentiated"):
            call(x)
    else:
        plain = lambda x: CALLING[calling](HOLDING["closure"](x * 1.5), x)
        expected = TRANSFORMED["grad" if transform == "backward" else transform](plain)(np.asarray(X))
        np.testing.assert_allclose(float(call(x)), expected, rtol=1e-9)


@pytest.mark.parametrize(("library", "transform"), CASES)
@pytest.mark.parametrize("calling", ["custom_vjp", "custom_linear_solve", "custom_root"])
def test_hidden_arrays(calling: str, library: str, transform: str) -> None:
    """Arrays that are found nowhere show in the results: they are right, or an error."""

    def f(x: Any) -> Any:
        hidden = partial({0: x * 1.5}.get, 0)  # a method in C: nobody looks into it
        return CALLING[calling](lambda c: sin(c) * hidden(), x)

    if calling == "custom_vjp" or transform == "backward":
        with pytest.raises((TypeError, LeakedArrayError), match="differentiated|that has ended"):
            TRANSFORMED[transform](f)(TRACED[library](X))
        return
    plain = lambda x: CALLING[calling](lambda c: sin(c) * (x * 1.5), x)
    expected = TRANSFORMED[transform](plain)(np.asarray(X))
    np.testing.assert_allclose(float(TRANSFORMED[transform](f)(TRACED[library](X))), expected, rtol=1e-9)


@pytest.mark.parametrize(
    ("library", "transform"), [("torch", "backward"), *[(x, y) for x in TRACED for y in ("grad", "jvp", "vmap")]]
)
@pytest.mark.parametrize("calling", ["custom_linear_solve", "custom_root"])
def test_arrays_hidden_in_an_equation(calling: str, transform: str, library: str) -> None:
    """They count, or raise, also if the solver doesn't use them: the derivative would be zero."""

    def f(a: Any) -> Any:
        hidden = partial({0: a}.get, 0)
        if calling == "custom_root":
            return custom_root(lambda z: z - hidden(), 0.0 * a, solve=lambda z: z + X)
        return custom_linear_solve(lambda v: v * hidden(), 1.0 + 0.0 * a, solve=lambda b: b / X, symmetric=True)

    x = TRACED[library](X)
    if transform == "backward":
        with pytest.raises(TypeError, match=f"{calling}: a function uses an array that is differentiated"):
            backward(f, x)
        return
    calls = {"grad": lambda: grad(f)(x), "jvp": lambda: jvp(f, (x,), (x / x,))[1], "vmap": lambda: vmap(f)(x[None])[0]}
    if (calling, transform) == ("custom_root", "grad"):  # the pullback calls the function again
        with pytest.raises(LeakedArrayError, match="that has ended"):
            calls[transform]()
        return
    value, slope = (X, 1.0) if calling == "custom_root" else (1.0 / X, -1.0 / X**2)
    np.testing.assert_allclose(float(calls[transform]()), value if transform == "vmap" else slope, rtol=1e-14)


# Variables that have other values when a derivative is taken


def program(each: Callable[[Any, Any, Any], Any]) -> Callable[[Any], Any]:
    def run(x: Any) -> Any:
        y = 0.0 * x
        for k in NUMBERS:
            y = y + each(x, x * k, k)
        return y

    return run


def looped(make: str) -> Callable[[Any], Any]:
    """Return a program whose functions have the variables `a` and `k` of a loop."""

    def run(x: Any) -> Any:
        y = 0.0 * x
        for k in NUMBERS:
            a = x * k
            if make == "checkpoint":
                y = y + checkpoint(lambda c: sin(c) * a * k)(x)  # noqa: B023 -- this is what is tested
            elif make == "rule":
                f = custom_jvp(lambda c: sin(c) * k)  # noqa: B023
                f.defjvp(lambda p, t: (sin(p[0]) * k, 2.0 * cos(p[0]) * k * t[0]))  # noqa: B023
                y = y + f(x)
            elif make == "rule in reverse":
                g = custom_vjp(lambda c: sin(c) * k)  # noqa: B023
                g.defvjp(lambda c: (sin(c) * k, cos(c) * k), lambda residuals, ct: (2.0 * residuals * ct,))  # noqa: B023
                y = y + g(x)
            elif make == "root":
                root = lambda z0: (abs(a) * k) ** (1.0 / 3.0)  # noqa: B023
                y = y + custom_root(lambda z: z**3.0 - a * k, x, solve=root)  # noqa: B023
            elif make == "solution":
                solve = lambda b: b / (a * k)  # noqa: B023
                y = y + custom_linear_solve(lambda v: a * k * v, sin(x), solve=solve, symmetric=True)  # noqa: B023
            else:
                y = y + scan(lambda c, _: (0.5 * sin(c) * a * k, None), x, None, length=17)[0]  # noqa: B023
        return y

    return run


@pytest.mark.parametrize("transform", list(TRANSFORMED))
@pytest.mark.parametrize("make", ["checkpoint", "rule", "rule in reverse", "root", "solution", "scan"])
@pytest.mark.parametrize("library", ["numpy", "torch"])
def test_variables_of_a_function_have_their_values_at_the_call(library: str, make: str, transform: str) -> None:
    if library == "numpy" and transform == "backward":
        pytest.skip("PyTorch's own")
    if make == "rule in reverse" and transform == "jvp of grad":
        pytest.skip("it has no forward mode")
    unrolled: dict[str, Callable[[Any, Any, Any], Any]] = {
        "checkpoint": lambda x, a, k: sin(x) * a * k,
        "rule": lambda x, a, k: doubled(k)(x),
        "rule in reverse": lambda x, a, k: doubled(k)(x),
        "root": lambda x, a, k: (a * k) ** (1.0 / 3.0),
        "solution": lambda x, a, k: sin(x) / (a * k),
        "scan": lambda x, a, k: nested(x, a, k),
    }
    plain = "grad" if transform == "backward" else transform
    expected = TRANSFORMED[plain](program(unrolled[make]))(np.asarray(X))
    x = np.asarray(X) if library == "numpy" else torch.asarray(X, dtype=torch.float64)
    np.testing.assert_allclose(float(TRANSFORMED[transform](looped(make))(x)), expected, rtol=1e-7)


def doubled(k: float) -> Callable[[Any], Any]:
    return ruled(lambda c: sin(c) * k, lambda c: 2.0 * cos(c) * k)


def nested(x: Any, a: Any, k: float) -> Any:
    for _ in range(17):
        x = 0.5 * sin(x) * a * k
    return x


class Holder:
    """Something with an attribute."""

    array: Any


@pytest.mark.parametrize("library", list(TRACED))
@pytest.mark.parametrize("each", ["custom_root", "custom_linear_solve", "custom_jvp"])
def test_attributes_have_their_values_at_the_call(each: str, library: str) -> None:
    holder = Holder()
    operations = {
        "custom_root": lambda x: custom_root(
            lambda z: z**3.0 - holder.array, x, solve=lambda z0: abs(holder.array) ** (1.0 / 3.0)
        ),
        "custom_linear_solve": lambda x: custom_linear_solve(
            lambda v: holder.array * v, x, solve=lambda b: b / holder.array, symmetric=True
        ),
        "custom_jvp": ruled(lambda c: sin(c) * holder.array, lambda c: cos(c) * holder.array),
    }

    def f(x: Any) -> Any:
        y = x
        for k in NUMBERS:
            holder.array = x * k
            y = y + operations[each](x)
        return y

    expected = {
        "custom_root": 1.0 + sum(k / 3.0 * (X * k) ** (-2.0 / 3.0) for k in NUMBERS),
        "custom_linear_solve": 1.0,
        "custom_jvp": 1.0 + sum(NUMBERS) * (np.sin(X) + X * np.cos(X)),
    }
    np.testing.assert_allclose(float(grad(f)(TRACED[library](X))), expected[each], rtol=1e-12)


@pytest.mark.parametrize("library", list(TRACED))
def test_traced_arrays_of_pullbacks_have_their_values_at_the_call(library: str) -> None:
    def f(x: Any) -> Any:
        y = x
        for k in NUMBERS:
            a = x * k
            rule = custom_vjp(lambda c: sin(c) * a)  # noqa: B023 -- this is what is tested
            rule.defvjp(lambda c: (sin(c) * a, c), lambda c, ct: (cos(c) * a * ct,))  # noqa: B023
            y = y + rule(x)
        return y

    expected = 1.0 + sum(NUMBERS) * (np.sin(X) + X * np.cos(X))
    np.testing.assert_allclose(float(grad(f)(TRACED[library](X))), expected, rtol=1e-12)


# Copies of functions


def test_only_wanted_arrays_are_listed_once() -> None:
    w, v, names = np.ones(2), np.zeros(2), ["a"]
    f = lambda: (w, v, names)
    g = partial(lambda f, w: f, f, w)
    assert list(map(id, captured(lambda x: x is w, f, g, None, 3))) == [id(w)]
    assert sorted(map(id, captured(lambda x: True, g))) == sorted([id(w), id(v)])


def test_copies_have_what_the_functions_have() -> None:
    w = np.ones(2)

    def f(x: int, y: Any = w, *, z: Any = w) -> Any:
        """Add."""
        return w + x + y + z

    f.note = "given"  # type: ignore[attr-defined]
    copy = with_arrays(f, {id(w): 10.0})
    assert isinstance(copy, FunctionType)
    assert (copy(1), copy(1, 2), copy(1, 2, z=3)) == (31.0, 23.0, 16.0)
    assert (copy.__doc__, copy.__qualname__, copy.__dict__) == (f.__doc__, f.__qualname__, {"note": "given"})
    np.testing.assert_array_equal(f(1), [4.0, 4.0])


def test_objects_are_copied_only_if_an_array_in_them_is_replaced() -> None:
    w = np.ones(2)
    fixed, changed = Layer(np.zeros(2)), Layer(w)
    first, second = with_arrays(lambda: (fixed, changed), {id(w): 5.0})()
    assert first is fixed
    assert second is not changed
    assert (second.parts["w"], changed.parts["w"][0] is w) == ([5.0], True)
    assert second.again.__closure__[0].cell_contents is second


def test_copies_share_variables_that_hold_none_of_the_arrays() -> None:
    w, count = np.ones(2), 0

    def up() -> None:
        nonlocal count
        count += 1

    def both() -> tuple[Any, int]:
        up()
        return w, count

    copy = with_arrays(both, {id(w): 5.0})
    assert (copy(), copy(), count) == ((5.0, 1), (5.0, 2), 2)


def test_chains_of_functions() -> None:
    w = np.ones(2)
    f: Callable[[], Any] = lambda: w
    for _ in range(2000):
        f = (lambda f: lambda: f)(f)  # noqa: B023 -- its own
    copy = with_arrays(f, {id(w): 5.0})
    for _ in range(2001):
        copy = copy()
    assert copy == 5.0


def test_own_cells() -> None:
    a = 1
    fixed = lambda: fixed is not None

    def f(b: int) -> int:
        return a + b

    copies = with_own_cells(f), with_own_cells(partial(f, 1)), with_own_cells(len)
    a = 10
    assert (copies[0](1), copies[1](), copies[2]([]), f(1)) == (2, 2, 0, 11)

    def unset() -> int:
        return later

    copy = with_own_cells(unset)
    later = 3
    with pytest.raises(NameError):
        copy()
    assert unset() == 3
    assert with_own_cells(fixed)()


@pytest.mark.parametrize("transform", ["grad", "vmap of grad", "jit of grad", "backward"])
@pytest.mark.parametrize("calling", list(CALLING))
@pytest.mark.parametrize("library", ["numpy", "jax", "strict"])
def test_captured_arrays_of_other_libraries_are_constants(library: str, calling: str, transform: str) -> None:
    factors = next(x for x in LIBRARIES if x.id == library).asarray(np.asarray([1.5, 2.5]))
    f = lambda x: CALLING[calling](lambda c: sin(c) * float(factors[0]), x)
    plain = lambda x: CALLING[calling](lambda c: sin(c) * 1.5, x)
    expected = TRANSFORMED["grad" if transform == "backward" else transform](plain)(np.asarray(X))
    found = TRANSFORMED[transform](f)(torch.asarray(X, dtype=torch.float64))
    np.testing.assert_allclose(float(found), expected, rtol=1e-9)
    np.testing.assert_allclose(float(f(torch.asarray(X, dtype=torch.float64))), float(plain(np.asarray(X))))


# Captures in loops, branches and solvers


def with_rule(kind: str, c: Any, i: Any) -> Any:
    """A function with a rule that captures arrays of the loop around it."""
    if kind == "jvp":
        rule = custom_jvp(lambda y: c * y + i)
        rule.defjvp(lambda primals, tangents: (c * primals[0] + i, c * tangents[0]))
        return rule
    rule = custom_vjp(lambda y: c * y + i)
    rule.defvjp(lambda y: (c * y + i, ()), lambda residuals, ct: (c * ct,))
    return rule


def floating(i: Any, x: Any) -> Any:
    return NAMESPACE(i).astype(i, x.dtype)


def rows(x: Any) -> Any:
    return NAMESPACE(x).stack([x, x + 1.0, x + 2.0])


WITHIN: dict[str, Callable[[str, Any], Any]] = {
    "carry": lambda kind, x: fori_loop(0, 3, lambda i, c: with_rule(kind, c, 1.0)(x) + 1.0, x),
    "index": lambda kind, x: fori_loop(0, 3, lambda i, c: with_rule(kind, 2.0, floating(i, x))(x) + c, x),
    "carry of itself": lambda kind, x: fori_loop(0, 3, lambda i, c: with_rule(kind, c, floating(i, x))(c) / 4.0, x),
    "while": lambda kind, x: while_loop(lambda c: c < 9.0, lambda c: with_rule(kind, c, 1.0)(x) + 1.0, x, max_iter=6),
    "row": lambda kind, x: scan(lambda c, row: (with_rule(kind, c, row)(x), c), x, rows(x))[0],
    "cond": lambda kind, x: cond(x > 0.0, lambda y: with_rule(kind, y, 2.0)(x), lambda y: y, x),
    "lane": lambda kind, x: NAMESPACE(x).sum(vmap(lambda z: with_rule(kind, z, z)(x))(rows(x))),
}


@pytest.mark.parametrize("library", [x for x in LIBRARIES if not x.lazy], ids=str)
@pytest.mark.parametrize("kind", ["jvp", "vjp"])
@pytest.mark.parametrize("name", WITHIN)
def test_rules_capture_arrays_of_loops_around_them(library: Any, name: str, kind: str) -> None:
    program = partial(WITHIN[name], kind)
    xs = [library.asarray(2.0), library.asarray(-0.5)]
    expected = np.asarray([library.to_numpy(program(x)) for x in xs])
    lanes = library.xp.stack(xs)
    calls = {"vmap": vmap(program), "vmap of jit": vmap(jit(program)), "jit of vmap": jit(vmap(program))}
    for what, call in calls.items():
        np.testing.assert_allclose(library.to_numpy(call(lanes)), expected, rtol=1e-12, err_msg=what)
    np.testing.assert_allclose(library.to_numpy(jit(program)(xs[0])), expected[0], rtol=1e-12)


def without_rule(kind: str, c: Any, i: Any) -> Any:
    return lambda y: c * y + i


@pytest.mark.parametrize("library", [x for x in LIBRARIES if not x.lazy and x.id != "jax"], ids=str)
@pytest.mark.parametrize("kind", ["jvp", "vjp"])
@pytest.mark.parametrize("name", WITHIN)
def test_derivatives_in_captured_arrays_are_those_of_the_function(
    library: Any, name: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    f, x = partial(WITHIN[name], kind), library.asarray(2.0)
    lanes = library.xp.stack([x, x + 1.0])
    calls: dict[str, Callable[[], Any]] = {
        "grad": lambda: grad(f)(x),
        "vmap of grad": lambda: vmap(grad(f))(lanes),
        "grad of vmap": lambda: grad(lambda lanes: NAMESPACE(lanes).sum(vmap(f)(lanes)))(lanes),
        "jit of grad": lambda: jit(grad(f))(x),
        "grad of jit": lambda: grad(jit(f))(x),
    }
    if kind == "jvp":
        calls["hessian"] = lambda: hessian(f)(x)
        calls["jvp"] = lambda: jvp(f, (x,), (x,))[1]
    found = {what: library.to_numpy(call()) for what, call in calls.items()}
    monkeypatch.setitem(globals(), "with_rule", without_rule)
    for what, call in calls.items():
        np.testing.assert_allclose(found[what], library.to_numpy(call()), rtol=1e-12, err_msg=what)


def scaled(kind: str, w: Any) -> Any:
    """Return a function `w * x`, whose rule says that the derivative in `x` is ten times as large."""
    if kind == "jvp":
        rule = custom_jvp(lambda x: times(x, w))
        rule.defjvp(lambda primals, tangents: (times(primals[0], w), 10.0 * times(tangents[0], w)))
        return rule
    rule = custom_vjp(lambda x: times(x, w))
    rule.defvjp(lambda x: (times(x, w), ()), lambda residuals, ct: (10.0 * times(ct, w),))
    return rule


CAPTURING = [x for x in LIBRARIES if not x.lazy and x.id != "jax"]


@pytest.mark.parametrize("library", CAPTURING, ids=str)
@pytest.mark.parametrize("kind", ["jvp", "vjp"])
def test_rules_hold_for_arguments_only(library: Any, kind: str) -> None:
    x, w = library.asarray(3.0), library.asarray(2.0)
    f = lambda w, x: scaled(kind, w)(x)
    of_both = lambda x: scaled(kind, x)(x)
    cases: dict[str, tuple[Any, float]] = {
        "argument": (grad(lambda x: f(w, x))(x), 20.0),
        "captured": (grad(lambda w: f(w, x))(w), 3.0),
        "both": (grad(of_both)(x), 33.0),
        "captured, then argument": (grad(lambda x: grad(lambda w: f(w, x))(w))(x), 1.0),
        "argument, then captured": (grad(lambda w: grad(lambda x: f(w, x))(x))(w), 10.0),
        "argument inside captured": (grad(lambda w: grad(lambda x: times(f(w, x), w))(x) + f(w, x))(w), 43.0),
    }
    if kind == "jvp":
        cases["jvp of both"] = jvp(of_both, (x,), (library.asarray(1.0),))[1], 33.0
        cases["hessian of both"] = hessian(of_both)(x), 11.0
    for what, (found, expected) in cases.items():
        np.testing.assert_allclose(library.to_numpy(found), expected, rtol=1e-12, err_msg=what)


def test_rules_with_a_captured_index_are_differentiated() -> None:
    for kind in ("jvp", "vjp"):
        f = lambda x, kind=kind: fori_loop(0, 3, lambda i, c: with_rule(kind, 2.0, i)(x) + c, x)
        for found in (grad(f)(np.asarray(2.0)), jit(grad(f))(np.asarray(2.0)), grad(jit(f))(np.asarray(2.0))):
            assert float(found) == 7.0
        np.testing.assert_array_equal(vmap(grad(f))(np.asarray([2.0, 3.0])), [7.0, 7.0])


def times(x: Any, c: Any) -> Any:
    """Multiply by a function: operators of array-api-strict refuse traced arrays on the right."""
    return NAMESPACE(x, c).multiply(x, c)


SOLVERS: dict[str, Callable[[Any, Any], Any]] = {
    "cg": lambda b, c: solve(lambda v: times(v, c), b, method="cg").x,
    "default": lambda b, c: solve(lambda v: times(v, c), b).x,
    "preconditioner": lambda b, c: solve(lambda v: times(v, c), b, method="bicgstab", preconditioner=lambda r: r / c).x,
    "transposed": lambda b, c: (
        solve(LinearOperator(lambda v: times(v, c), transposed=lambda v: times(v, c)), b, method="gmres").x
    ),
    "least squares": lambda b, c: solve(lambda v: times(v, c), b, method="lsmr").x,
    "in arguments": lambda b, c: custom_linear_solve(
        lambda v, f: f(v), b, solve=lambda b, f: b / f(b) * b, symmetric=True, args=(lambda v: times(v, c),)
    ),
    "custom_linear_solve": lambda b, c: custom_linear_solve(
        lambda v: times(v, c), b, solve=lambda b: b / c, symmetric=True
    ),
    "custom_root": lambda b, c: custom_root(
        lambda x: NAMESPACE(x, c, b).subtract(times(x, c), b), b * 0.0, solve=lambda x: NAMESPACE(b, c).divide(b, c)
    ),
}


@pytest.mark.parametrize("library", [x for x in LIBRARIES if not x.lazy and x.id != "strict-device1"], ids=str)
@pytest.mark.parametrize("name", SOLVERS)
def test_solvers_capture_arrays(library: Any, name: str) -> None:
    """The solution is b / c."""
    solution, b, c = SOLVERS[name], np.asarray([1.0, 2.0]), 2.0
    given, scale = library.asarray(b), library.asarray(c)
    scales, batch = library.asarray([2.0, 4.0]), library.asarray([[1.0, 2.0], [3.0, 4.0]])
    value = lambda c: NAMESPACE(c).sum(solution(given, c))
    checks = {
        "grad": (grad(value)(scale), -b.sum() / c**2),
        "grad of b": (grad(lambda b: NAMESPACE(b).sum(solution(b, scale)))(given), np.full(2, 1 / c)),
        "vmap": (vmap(solution)(batch, scales), [[0.5, 1.0], [0.75, 1.0]]),
        "vmap of one": (vmap(lambda c: solution(given, c))(scales), b / np.asarray([[2.0], [4.0]])),
    }
    if library.id in ("numpy", "strict"):
        checks |= {
            "jvp": (jvp(lambda c: solution(given, c), (scale,), (scale,))[1], -b / c),
            "hessian": (hessian(value)(scale), 2 * b.sum() / c**3),
            "jit": (jit(solution)(given, scale), b / c),
            "jit of one": (jit(lambda c: solution(given, c))(scale), b / c),
            "jit of grad": (jit(grad(value))(scale), -b.sum() / c**2),
            "vmap of grad": (vmap(grad(value))(scales), -b.sum() / np.asarray([2.0, 4.0]) ** 2),
            "loop": (
                jit(lambda c: fori_loop(0, 2, lambda i, x: solution(x, c + floating(i, c)), given))(scale),
                b / 6.0,
            ),
        }
    for what, (found, expected) in checks.items():
        np.testing.assert_allclose(library.to_numpy(found), expected, rtol=1e-6, err_msg=what)
