"""Variables that have got other values by the time a derivative is taken: what counts is what they were at the call."""

import gc
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from types import FunctionType
from typing import Any

import numpy as np
import pytest
import torch

from tests.libraries import LIBRARIES
from tests.test_derivatives import NAMESPACE
from xpand_extensions._variables import Variables
from xpand_extensions.autodiff import (
    checkpoint,
    custom_jvp,
    custom_linear_solve,
    custom_root,
    custom_vjp,
    grad,
    jvp,
    vjp,
)
from xpand_extensions.control_flow import cond, fori_loop, scan, switch, while_loop
from xpand_extensions.jit import jit
from xpand_extensions.plugins.torch.jit import _inductor
from xpand_extensions.vmap import vmap

NUMBERS = (1.0, 2.0, 3.0)


def sin(x: Any) -> Any:
    return NAMESPACE(x).sin(x)


def cos(x: Any) -> Any:
    return NAMESPACE(x).cos(x)


def stepped(x: Any, a: Callable[[], Any], k: Callable[[], Any]) -> Callable[..., Any]:
    return lambda c, _=None: (0.5 * sin(c) * a() * k(), c)


def counted(x: Any, a: Callable[[], Any], k: Callable[[], Any], max_iter: int) -> Any:
    step = lambda c: (c[0] + 1, 0.5 * sin(c[1]) * a() * k())
    return while_loop(lambda c: c[0] < 2.0 * k(), step, (NAMESPACE(x).zeros_like(x), x), max_iter=max_iter)[1]


def ruled(k: Callable[[], Any]) -> Any:
    """Return a function whose rule says twice its derivative."""
    f = custom_jvp(lambda c: sin(c) * k())
    f.defjvp(lambda primals, tangents: (sin(primals[0]) * k(), 2.0 * cos(primals[0]) * k() * tangents[0]))
    return f


def ruled_by_argument(x: Any, k: Callable[[], Any]) -> Any:
    f = custom_jvp(lambda w, c: w(c), nondiff_argnums=(0,))
    f.defjvp(lambda w, primals, tangents: (w(primals[0]), 2.0 * w(primals[0]) * tangents[0]))
    return f(lambda c: sin(c) * k(), x)


def ruled_in_reverse(k: Callable[[], Any]) -> Any:
    f = custom_vjp(lambda c: sin(c) * k())
    f.defvjp(lambda c: (sin(c) * k(), cos(c) * k()), lambda kept, cotangent: (2.0 * kept * cotangent,))
    return f


def scaled(f: Callable[[Any], Any], a: Callable[[], Any]) -> Callable[[Any], Any]:
    return lambda c: f(c) * a()


def root(c: Any, a: Callable[[], Any], k: Callable[[], Any]) -> Any:
    cube_root = lambda z0: (abs(a()) * k()) ** (1.0 / 3.0)
    return custom_root(lambda z: z**3.0 - a() * k(), c, solve=cube_root)


def solution(c: Any, a: Callable[[], Any], k: Callable[[], Any], **options: Any) -> Any:
    return custom_linear_solve(lambda v: a() * k() * v, sin(c), solve=lambda b: b / (a() * k()), **options)


# What is done at each pass of a loop of Python, with an array and a number of the pass, asked for where they are used.
PASSES: dict[str, Callable[[Any, Any, Any], Any]] = {
    "checkpoint": lambda x, a, k: checkpoint(lambda c: sin(c) * a() * k())(x),
    "checkpoint in checkpoint": lambda x, a, k: checkpoint(lambda c: checkpoint(lambda d: sin(d) * a())(c) * k())(x),
    "checkpoint of partial": lambda x, a, k: checkpoint(partial(lambda w, c: w(c) * k(), lambda c: sin(c) * a()))(x),
    "checkpoint of default": lambda x, a, k: checkpoint(lambda c, w=lambda c: sin(c) * a(): w(c) * k())(x),
    "checkpoint of grad": lambda x, a, k: checkpoint(grad(lambda c: sin(c) * a() * k()))(x),
    "checkpoint of vmap": lambda x, a, k: checkpoint(vmap(lambda c: sin(c) * k()))(NAMESPACE(x).stack([x, a()]))[1],
    "checkpoint of jit": lambda x, a, k: checkpoint(jit(lambda c: sin(c) * k()))(x),
    "checkpoint of rule": lambda x, a, k: checkpoint(scaled(ruled(k), a))(x),
    "checkpoint of root": lambda x, a, k: checkpoint(lambda c: root(c, a, k) * c)(x),
    "checkpoint of solution": lambda x, a, k: checkpoint(lambda c: solution(c, a, k, symmetric=True))(x),
    "checkpoint of scan": lambda x, a, k: checkpoint(lambda c: scan(stepped(x, a, k), c, None, length=3)[0])(x),
    "rule": lambda x, a, k: ruled(k)(x),
    "rule by argument": lambda x, a, k: ruled_by_argument(x, k),
    "rule in reverse": lambda x, a, k: ruled_in_reverse(k)(x),
    "root": root,
    "solution": lambda x, a, k: solution(x, a, k, symmetric=True),
    "solution of numbers": lambda x, a, k: custom_linear_solve(
        lambda v: k() * v, sin(x), solve=lambda b: b / k(), symmetric=True
    ),
    "root of numbers": lambda x, a, k: custom_root(
        lambda z, c: z**3.0 - k() * c, x, solve=lambda z0, c: (abs(c) * k()) ** (1.0 / 3.0), args=(x,)
    ),
    "solution by two": lambda x, a, k: solution(x, a, k, transpose_solve=lambda b: b / (a() * k())),
    "scan": lambda x, a, k: scan(stepped(x, a, k), x, None, length=3)[0],
    "long scan": lambda x, a, k: 1e-20 * scan(stepped(x, a, k), x, None, length=70)[0],
    "fori_loop": lambda x, a, k: fori_loop(0, 3, lambda i, c: stepped(x, a, k)(c)[0], x),
    "while_loop": lambda x, a, k: counted(x, a, k, 7),
    "long while_loop": lambda x, a, k: counted(x, a, k, 80),
    "cond": lambda x, a, k: cond(x > 0.0, lambda c: sin(c) * a() * k(), lambda c: c, x),
    "cond of rule": lambda x, a, k: cond(x > 0.0, scaled(ruled(k), a), lambda c: c, x),
    "switch": lambda x, a, k: switch(
        NAMESPACE(x).astype(x, NAMESPACE(x).int32) + 1, [sin, lambda c: cos(c) * a() * k(), sin], x
    ),
}


def program(each: Callable[[Any, Any, Any], Any], numbers: tuple[float, ...]) -> Callable[[Any], Any]:
    def run(x: Any) -> Any:
        y = 0.0 * x
        for k in numbers:
            a = x * k
            y = y + each(x, lambda: a, lambda: k)  # noqa: B023 -- this is what is tested
        return y

    return run


def backward(f: Callable[[Any], Any], x: Any) -> Any:
    x = x.clone().requires_grad_()
    f(x).backward()
    return x.grad


TRANSFORMED: dict[str, Callable[[Any], Callable[[Any], Any]]] = {
    "grad": grad,
    "jvp": lambda f: lambda x: jvp(f, (x,), (NAMESPACE(x).ones_like(x),))[1],
    "vjp": lambda f: lambda x: (lambda y, pull: pull(NAMESPACE(x).ones_like(y))[0])(*vjp(f, x)),
    "grad of grad": lambda f: grad(grad(f)),
    "jvp of grad": lambda f: lambda x: jvp(grad(f), (x,), (NAMESPACE(x).ones_like(x),))[1],
    "jit of grad": lambda f: jit(grad(f)),
    "jit of grad of grad": lambda f: jit(grad(grad(f))),
    "vmap of grad": lambda f: lambda x: vmap(grad(f))(NAMESPACE(x).stack([x, x + 0.1]))[0],
    "backward": lambda f: partial(backward, f),
}


# Of PyTorch, everything; of the others, what calls functions again.
CASES = [
    (name, each, transform)
    for name, transforms in {
        "numpy": [x for x in TRANSFORMED if x != "backward"],
        "torch": list(TRANSFORMED),
        "jax": ["grad"],
        "dask": ["grad"],
        "strict": ["grad", "jit of grad"],
    }.items()
    for transform in transforms
    for each in PASSES
    if not (each == "rule in reverse" and transform in ("jvp", "jvp of grad"))  # it has no forward mode
    if not (each.startswith("long") and name == "dask")  # which would write out all that is never done
]


@pytest.fixture
def without_inductor(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without TorchInductor, which would take minutes for all of them."""
    monkeypatch.setattr(_inductor, "compiled_graph", lambda name, module, mode, leaves: module)


@pytest.mark.usefixtures("without_inductor")
@pytest.mark.parametrize(("name", "each", "transform"), CASES)
def test_each_pass_has_its_own_values(name: str, each: str, transform: str) -> None:
    library = next(x for x in LIBRARIES if x.id == name)
    transformed = TRANSFORMED["grad" if transform == "backward" else transform]
    x = np.asarray(0.7)
    expected = sum(float(transformed(program(PASSES[each], (k,)))(x)) for k in NUMBERS)
    found = TRANSFORMED[transform](program(PASSES[each], NUMBERS))(library.asarray(x))
    np.testing.assert_allclose(library.to_numpy(found), expected, rtol=1e-9)


def drawn(x: Any) -> Any:
    """A value that a function makes when it first needs it, which a variable keeps."""
    w, rng = None, np.random.default_rng(0)

    def layer(c: Any) -> Any:
        nonlocal w
        if w is None:
            w = float(rng.normal())
        return sin(c) * w

    return checkpoint(layer)(x)


def handed_over(x: Any) -> Any:
    """A value that a function finds where another has put it, which are not of one another."""
    scale = x

    def put(k: Any) -> None:
        nonlocal scale
        scale = k * cos(x)

    layers = [lambda c: sin(c) * scale]

    def step(c: Any, k: float) -> Any:
        put(k)
        return layers[0](c)

    return checkpoint(lambda c: step(c, 1.0))(x) + checkpoint(lambda c: step(c, 2.0))(x)


def within_contexts(x: Any) -> Any:
    """A variable that is set for a while by what is not changed, and read by what is."""
    level = 0.0

    @contextmanager
    def setting(value: float) -> Iterator[None]:
        nonlocal level
        before, level = level, value
        try:
            yield
        finally:
            level = before

    y = 0.0 * x
    for k in NUMBERS:

        def step(c: Any) -> Any:
            with setting(2.0):
                return sin(c) * level * k  # noqa: B023 -- this is what is tested

        y = y + checkpoint(step)(x)
    return y


def with_attributes(x: Any) -> Any:
    """Functions made again have what the functions have been given."""
    y = 0.0 * x
    for k in NUMBERS:
        f = partial(lambda c: sin(c) * k)  # noqa: B023 -- this is what is tested
        f.scale = 2.0  # type: ignore[attr-defined]
        y = y + checkpoint(lambda c: f(c) * f.scale)(x)  # type: ignore[attr-defined]  # noqa: B023
    return y


def chained(x: Any) -> Any:
    """A long chain of functions that call one another."""
    y = 0.0 * x
    for k in NUMBERS:
        f = lambda c: sin(c) * k  # noqa: B023 -- this is what is tested
        for _ in range(300):
            f = scaled(f, lambda: 1.0)
        y = y + checkpoint(f)(x)
    return y


STATES = {
    "drawn": (drawn, float(np.random.default_rng(0).normal()) * np.cos(0.7)),
    "handed over": (handed_over, 3.0 * np.cos(1.4)),
    "within contexts": (within_contexts, 12.0 * np.cos(0.7)),
    "with attributes": (with_attributes, 12.0 * np.cos(0.7)),
    "chained": (chained, 6.0 * np.cos(0.7)),
}


@pytest.mark.parametrize("transform", ["grad", "backward"])
@pytest.mark.parametrize("state", list(STATES))
def test_functions_with_state(state: str, transform: str) -> None:
    f, expected = STATES[state]
    x = torch.asarray(0.7, dtype=torch.float64)
    np.testing.assert_allclose(float(TRANSFORMED[transform](f)(x)), expected, rtol=1e-12)


def test_what_a_function_leaves_in_a_variable_is_not_kept() -> None:
    made: list[Any] = []
    last = None

    def layer(c: Any) -> Any:
        nonlocal last
        last = torch.sin(c)
        made.append(weakref.ref(last))
        return torch.cos(last * 2.0)

    y = torch.ones(3, requires_grad=True)
    for _ in range(10):
        y = checkpoint(layer)(y)
    assert sum(each() is not None for each in made) == 1
    y.sum().backward()


class Held:
    """Something with an attribute."""

    array: Any


@pytest.mark.parametrize("each", ["custom_root", "custom_linear_solve", "custom_jvp"])
def test_attributes_that_get_other_values_are_told_of(each: str) -> None:
    held = Held()
    ruled = custom_jvp(lambda c: sin(c) * held.array)
    ruled.defjvp(lambda primals, tangents: (sin(primals[0]) * held.array, cos(primals[0]) * held.array * tangents[0]))
    operations = {
        "custom_root": lambda x: custom_root(
            lambda z: z**3.0 - held.array, x, solve=lambda z0: abs(held.array) ** (1.0 / 3.0)
        ),
        "custom_linear_solve": lambda x: custom_linear_solve(
            lambda v: held.array * v, x, solve=lambda b: b / held.array, symmetric=True
        ),
        "custom_jvp": ruled,
    }

    def f(x: Any) -> Any:
        y = x
        for k in NUMBERS:
            held.array = x * k
            y = y + operations[each](x)
        return y

    with pytest.raises(TypeError, match=f"{each}: an array that a function uses was another one when it was called"):
        grad(f)(torch.asarray(0.7))


def test_rules_that_pull_back_with_another_array_are_told_of() -> None:
    def f(x: Any) -> Any:
        y = x
        for k in NUMBERS:
            a = x * k
            ruled = custom_vjp(lambda c: sin(c) * a)  # noqa: B023 -- this is what is tested
            ruled.defvjp(
                lambda c: (sin(c) * a, c),  # noqa: B023
                lambda c, cotangent: (cos(c) * a * cotangent,),  # noqa: B023
            )
            y = y + ruled(x)
        return y

    with pytest.raises(TypeError, match="custom_vjp: an array that a function uses was another one"):
        grad(f)(torch.asarray(0.7))


def test_functions_share_variables() -> None:
    a, count = 1, 0

    def up() -> int:
        nonlocal count
        count += a
        return count

    now = lambda: (a, count)
    variables = Variables(up, now)
    a = 10
    again = variables.bound(up)
    assert (again(), again(), variables.bound(now)(), now()) == (1, 2, (1, 2), (10, 2)), "what one assigns is state"
    assert variables.bound(up) is again, "something may have been compiled for it"


def test_functions_that_use_one_another() -> None:
    last = 0

    def even(n: int) -> bool:
        return last == 0 if n == 0 else odd(n - 1)

    def odd(n: int) -> bool:
        return last != 0 if n == 0 else even(n - 1)

    variables = Variables(even)
    last = 1
    assert not even(4)
    assert variables.bound(even)(4)
    assert variables.bound(odd)(5)


def test_functions_are_made_again_as_they_were() -> None:
    a = 1

    def f(x: int, y: int = 2, *, z: int = 3) -> int:
        """Add."""
        return a + x + y + z

    f.note = "kept"  # type: ignore[attr-defined]
    variables = Variables(f)
    a = 10
    again = variables.bound(f)
    assert isinstance(again, FunctionType)
    assert (again(1), again(1, 1, z=1), f(1)) == (7, 4, 16)
    assert (again.__doc__, again.__qualname__, again.__dict__) == (f.__doc__, f.__qualname__, {"note": "kept"})
    a = 1
    assert variables.bound(f) is f


def test_variables_without_values() -> None:
    def f() -> int:
        return a  # noqa: F821 -- it is deleted in the end

    variables = Variables(f)
    a = 1
    assert variables.bound(f) is f
    assert Variables(f).bound(f)() == 1
    variables = Variables(f)
    del a
    assert variables.bound(f)() == 1


def test_only_what_uses_a_variable_is_made_again() -> None:
    a = 1
    fixed = lambda: 1
    changed = lambda: a
    pair = partial(lambda f, g: (f, g), fixed, changed)
    variables = Variables(pair, fixed)
    a = 2
    first, second = variables.bound(pair)()
    assert first is fixed
    assert second is not changed
    assert (second(), changed()) == (1, 2)
    assert variables.bound(fixed) is fixed


class Bound:
    """An object with a method and state."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, x: Any) -> Any:
        self.calls += 1
        return sin(x)


def test_objects_are_as_they_are() -> None:
    layer = Bound()
    x = torch.asarray(0.7)
    k = 1.0
    f = checkpoint(lambda c: layer(c) * k)
    torch.testing.assert_close(grad(f)(x), torch.cos(x))
    assert layer.calls >= 2, "its calls are counted, also when it is computed again"


def test_nothing_is_kept_when_the_derivative_is_gone() -> None:
    kept: list[Any] = []

    def f(x: Any) -> Any:
        y = x
        for k in NUMBERS:
            held = Bound()
            kept.append(weakref.ref(held))
            y = y + checkpoint(lambda c: held(c) * k)(x)  # noqa: B023 -- this is what is tested
        return y

    x = torch.asarray(0.7).requires_grad_()
    gc.collect()
    gc.disable()
    try:
        y = f(x)
        assert all(each() is not None for each in kept)
        y.backward()
        del y
        assert [each() for each in kept] == [None] * 3
    finally:
        gc.enable()
