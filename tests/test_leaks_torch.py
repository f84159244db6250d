"""Tensors that leak from transformations on PyTorch: to use them is an error, as on other libraries."""

import gc
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from typing import Any

import pytest
import torch

from xpand_extensions.autodiff import (
    checkpoint,
    custom_root,
    custom_vjp,
    grad,
    hessian,
    jacrev,
    jvp,
    linearize,
    value_and_grad,
    vjp,
)
from xpand_extensions.control_flow import scan
from xpand_extensions.jit import eval_shape, jit
from xpand_extensions.plugins.torch.autodiff import _leaks
from xpand_extensions.tracing import LeakedArrayError
from xpand_extensions.vmap import vmap

pytestmark = pytest.mark.usefixtures("only_new_objects")

X = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64)


@pytest.fixture(autouse=True)
def looks_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_leaks, "_LOOKS", count())


TRANSFORMS: dict[str, Callable[[Callable[..., Any]], Any]] = {
    "vmap": lambda f: vmap(f)(X),
    "jit": lambda f: jit(f)(X),
    "jit of grad": lambda f: jit(grad(lambda x: f(x).sum()))(X),
    "jit of vmap": lambda f: jit(vmap(f))(X),
    "jit of what requires a gradient": lambda f: jit(f)(X.clone().requires_grad_()),
    "eval_shape": lambda f: eval_shape(f, X),
}

USES: dict[str, Callable[[Any], Any]] = {
    "operator": lambda x: x + 1.0,
    "operator on the right": lambda x: 2.0 * x,
    "function": torch.sin,
    "several": lambda x: torch.stack([X[0], x.sum()]),
    "index": lambda x: x[...],
    "list": lambda x: x.tolist(),
    "numpy": lambda x: x.detach().numpy(),
    "float": lambda x: float(x.sum()),
    "bool": lambda x: bool((x > 0).all()),
    "jit": lambda x: jit(lambda y: y + x)(X),  # what is compiled would read memory that isn't there
    "grad": lambda x: grad(lambda y: (y + x).sum())(X),
}


# What PyTorch itself refuses.
OWN_ERRORS = {
    "vmap": "|may have escaped|batched == nullptr|storage",
    "jit of grad": "|storage",
    "jit of vmap": "|may have escaped|batched == nullptr|storage",
}

MADE: dict[str, Callable[[Any], Any]] = {
    "values": lambda x: x * 2.0,
    "a number": lambda x: x.sum(),
    "the argument": lambda x: x,
}


@pytest.mark.parametrize("made", MADE)
@pytest.mark.parametrize("transform", TRANSFORMS)
def test_what_leaks_is_an_error_to_use(transform: str, made: str) -> None:
    kept: list[Any] = []
    TRANSFORMS[transform](lambda x: (kept.append(MADE[made](x)), x * 1.0)[1])
    error = RuntimeError if transform in OWN_ERRORS else LeakedArrayError
    for name, use in USES.items():
        with pytest.raises(error, match="has ended; return it from the function" + OWN_ERRORS.get(transform, "")):
            pytest.fail(f"{name}: {use(kept[0])}")
    assert tuple(kept[0].shape) in ((), (3,))
    assert "shape" in repr(kept[0]) or "size" in repr(kept[0]) or transform in OWN_ERRORS


DERIVATIVES: dict[str, Callable[[Callable[..., Any]], Any]] = {
    "grad": lambda f: grad(lambda x: f(x).sum())(X),
    "grad, called directly": lambda f: [g := grad(lambda x: f(x).sum() if x[0] == 1 else x.sum()), g(X + 1), g(X)],
    "grad of trees": lambda f: grad(lambda p: f(p["x"]).sum() + p["y"])({"x": X, "y": X[0]}),
    "value_and_grad with aux": lambda f: value_and_grad(lambda x: (f(x).sum(), x + 1), has_aux=True)(X),
    "vjp": lambda f: vjp(f, X)[1](X),
    "vjp, not pulled back": lambda f: vjp(f, X)[0],
    "linearize": lambda f: linearize(f, X)[1](X),
    "jacrev": lambda f: jacrev(f)(X),
    "hessian": lambda f: hessian(lambda x: (f(x) ** 2).sum())(X),
    "grad of grad": lambda f: grad(lambda x: grad(lambda y: f(y).sum())(x).sum())(X),
    "grad of jvp": lambda f: grad(lambda x: jvp(f, (x,), (x,))[1].sum())(X),
    "grad of jit": lambda f: grad(lambda x: jit(f)(x).sum())(X),
    "vmap of grad": lambda f: vmap(grad(lambda x: f(x).sum()))(X),
    "grad of vmap": lambda f: grad(lambda x: vmap(f)(x).sum())(X),
    "grad of a loop": lambda f: grad(lambda x: scan(lambda c, _: (f(c), None), x, None, length=3)[0].sum())(X),
    "grad of a rule": lambda f: grad(lambda x: with_rule(f(x)).sum())(X),
}


@custom_vjp
def with_rule(x: Any) -> Any:
    """Twice the sine, whose rule keeps an array."""
    return 2 * x.sin()


with_rule.defvjp(lambda x: (2 * x.sin(), x), lambda x, g: (2 * g * x.cos(),))


@pytest.mark.parametrize("made", MADE)
@pytest.mark.parametrize("transform", DERIVATIVES)
def test_what_leaks_from_a_derivative_is_an_error_to_use(transform: str, made: str) -> None:
    kept: list[Any] = []
    DERIVATIVES[transform](lambda x: (kept.append(MADE[made](x)), x * 1.0)[1])
    for name, use in USES.items():
        with pytest.raises(LeakedArrayError, match="of `grad` or `vjp` that has ended; return it from the function"):
            pytest.fail(f"{name}: {use(kept[0])}")
    assert tuple(kept[0].shape) in ((), (3,))
    assert kept[0].dtype == torch.float64
    assert "LeakedTensor(shape=" in repr(kept[0])


def test_what_leaks_at_each_call() -> None:
    kept: list[Any] = []
    slope = grad(lambda x: (kept.append(x * 2.0), (x * x).sum())[1])
    for _ in range(3):
        torch.testing.assert_close(slope(X), 2.0 * X)
    for each in kept:
        with pytest.raises(LeakedArrayError):
            pytest.fail(f"{each + 1.0}")


def test_leaks_are_looked_for_some_times(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_leaks, "_LOOKS", iter(range(1)))
    first, second = leak(), leak()
    with pytest.raises(LeakedArrayError):
        pytest.fail(f"{first + 1.0}")
    torch.testing.assert_close(second + 1.0, 2.0 * X + 1.0)


def leak() -> Any:
    """Have an array leak, and be looked for."""
    kept: list[Any] = []
    grad(lambda x: (kept.append(x * 2.0), (x * x).sum())[1])(X)
    return kept[0]


def brings(x: Any, inner: Callable[[Callable[..., Any]], Callable[..., Any]]) -> Any:
    """Call a function that closes over an array of the level around; three times the cube."""
    doubled = 3.0 * x
    return inner(lambda y: y * y * doubled)(x)


def ruled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Give a function a rule of its own that calls it again."""
    rule = custom_vjp(function)
    rule.defvjp(lambda y: (function(y), y), lambda y, g: vjp(function, y)[1](g))
    return rule


def implicit(function: Callable[..., Any]) -> Callable[..., Any]:
    """Have a function's result as the solution of an equation."""
    return lambda y: custom_root(
        lambda z, y: z - function(y),
        torch.zeros_like(y),
        solve=lambda guess, y: function(y),
        tangent_solve=lambda g, z: z,
        args=(y,),
    )


AGAIN: dict[str, Callable[[Callable[..., Any]], Callable[..., Any]]] = {
    "checkpoint": checkpoint,
    "a rule": ruled,
    "an implicit solution": implicit,
    "a loop": lambda f: lambda y: scan(lambda c, _: (f(y) + 0 * c, None), y, None, length=3)[0],
}


@pytest.mark.parametrize("again", AGAIN)
def test_functions_called_again_may_bring_arrays_of_levels_that_have_ended(again: str) -> None:
    """A derivative that is pulled back later calls them, whatever else has leaked and been looked for."""
    function = lambda x: brings(x, AGAIN[again])
    expected = 9.0 * X**2
    _, pull = vjp(function, X)
    leak()
    torch.testing.assert_close(pull(torch.ones_like(X))[0], expected)
    _, push = linearize(function, X)
    leak()
    torch.testing.assert_close(push(torch.ones_like(X)), expected)
    _, theirs = torch.func.vjp(function, X)
    leak()
    torch.testing.assert_close(theirs(torch.ones_like(X))[0], expected)
    _, theirs = torch.func.vjp(lambda x, pull=pull: pull(x)[0], X)
    del pull, push
    leak()
    torch.testing.assert_close(theirs(torch.ones_like(X))[0], expected)
    leaf = X.clone().requires_grad_()
    slope = grad(lambda x: function(x).sum())(leaf)
    leak()
    slope.sum().backward()
    torch.testing.assert_close(leaf.grad, 18.0 * X)


def test_what_is_returned_or_depends_on_nothing_is_no_leak() -> None:
    kept: list[Any] = []
    _, (aux, same) = grad(lambda x: (x.sum(), (2.0 * x, x)), has_aux=True)(X)
    torch.testing.assert_close(aux - same, X)
    grad(lambda x: (kept.append(X + 1.0), kept.append(x.detach() * 2.0), x.sum())[2])(X)
    torch.testing.assert_close(kept[0] - 1.0, X)
    torch.testing.assert_close(kept[1] * 0.5, X)


def test_arguments_that_are_not_differentiated_are_no_leak() -> None:
    kept: list[Any] = []
    slope = grad(lambda x, y: (kept.append(y), kept.append(2.0 * y), (x * y).sum())[2])
    for _ in range(3):  # directly, where it is called again
        slope(X, X)
    for each in kept:
        assert float(each.sum()) in (6.0, 12.0)


KEEPING: dict[str, Callable[[Callable[[Any], Any], Any], Any]] = {
    "vmap": lambda pull, y: vmap(pull)(y[None]),
    "grad, called directly": lambda pull, y: [g := grad(lambda y: (pull(y) ** 2).sum()), g(X), g(X), g(y)][-1],
    "jvp": lambda pull, y: jvp(pull, (y,), (y,))[1],
}


@pytest.mark.parametrize("name", KEEPING)
def test_what_a_graph_of_backward_keeps_is_no_leak(name: str) -> None:
    """Where a pullback was called in another transformation, and is gone when the graph is used."""
    closed: list[Any] = []
    pulls = [vjp(lambda x: brings(x, lambda f: implicit(lambda y: (closed.append(x), f(y))[1])), X)[1]]
    leaf = X.clone().requires_grad_()
    result = KEEPING[name](lambda y: pulls[0](y)[0], leaf)
    pulls.clear()
    leak()
    torch.testing.assert_close(closed[0] + 0.0, X)
    result.sum().backward()
    assert leaf.grad is not None


def test_leaks_of_pullbacks_that_are_gone_within_another_transformation() -> None:
    kept: list[Any] = []
    pulls: list[Any] = []
    slope = grad(lambda x: (x * (pulls.pop()(X)[0] if pulls else 1.0)).sum())
    slope(X), slope(X)  # it is called directly then, and has no pullback of its own
    pulls.append(vjp(lambda x: (kept.append(x * 2.0), x * 1.0)[1], X)[1])
    slope(X)
    with pytest.raises(LeakedArrayError):
        pytest.fail(f"{kept[0] + 1.0}")


def test_views_of_what_was_changed_in_place_may_be_kept() -> None:
    kept: list[Any] = []

    def changed(x: Any) -> Any:
        y = x * 1.0
        kept.append((x, y.unbind()))  # of which PyTorch tells no graph
        return y.mul_(2.0).sum()

    slope = grad(changed)
    for _ in range(3):
        torch.testing.assert_close(slope(X), torch.full_like(X, 2.0))
    with pytest.raises(LeakedArrayError):
        pytest.fail(f"{kept[-1][0] + 1.0}")


def test_many_leaks_are_found_in_linear_time() -> None:
    kept: list[Any] = []
    asked = 0

    class Arguments(dict[int, Any]):
        def __contains__(self, key: object) -> bool:
            nonlocal asked
            asked += 1
            return super().__contains__(key)

    x = y = X.clone().requires_grad_()
    for _ in range(500):
        y = torch.sin(y) + y
        kept.append(y)
    known: dict[Any, bool] = {}
    assert all(_leaks._reaches(each.grad_fn, Arguments({id(x): x}), known) for each in reversed(kept))
    assert not _leaks._reaches((X.clone().requires_grad_() * 2.0).grad_fn, Arguments({id(x): x}), known)
    assert asked < 5000


def test_leaks_in_several_threads() -> None:
    def work(_: int) -> list[Any]:
        found = []
        for _ in range(3):
            found.append(leak())
            _, pull = vjp(lambda x: brings(x, checkpoint), X)
            torch.testing.assert_close(pull(torch.ones_like(X))[0], 9.0 * X**2)
            # Those of tuples that are being made by others.
            assert len(tuple(tuple(str(j) for j in range(20)) for _ in range(200))) == 200
        return found

    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(work, range(16)))
    gc.collect()
    leak()  # when no other thread has a pullback
    assert all(type(each).__name__ in ("Tensor", "LeakedTensor") for found in results for each in found)


def test_threads_that_have_ended_are_not_kept() -> None:
    def work(_: int) -> None:
        grad(lambda x: (x * x).sum())(X)

    work(0)
    before = len(_leaks._THREADS)
    for _ in range(3):
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(work, range(8)))
    assert len(_leaks._THREADS) == before


def test_references_of_many_steps_are_dropped() -> None:
    steps = 3 * _leaks._MANY
    most = 0

    def step(c: torch.Tensor, _: Any) -> tuple[torch.Tensor, None]:
        nonlocal most
        most = max(most, len(_leaks._THREAD.within.arguments))
        return c + 0.0 * grad(lambda y: y * y)(c), None

    found = vmap(lambda x: scan(step, x, None, length=steps)[0])(X)
    torch.testing.assert_close(found, X)
    assert _leaks._MANY <= most < _leaks._MANY + 10


def test_what_leaks_from_forward_mode_is_a_constant() -> None:
    kept: list[Any] = []
    jvp(lambda x: (kept.append(x * 2.0), x * 1.0)[1], (X,), (X,))
    torch.testing.assert_close(kept[0] + 1.0, 2.0 * X + 1.0)
