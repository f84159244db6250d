"""Functions computed again for their derivatives: the same values and derivatives, and less that is kept."""

import gc
import tracemalloc
import weakref
from typing import Any

import numpy as np
import pytest

from tests.libraries import LIBRARIES, Library
from tests.test_derivatives import NAMESPACE, total
from xpand import trees
from xpand_extensions.autodiff import checkpoint, grad, hessian, jacfwd, jvp, vjp
from xpand_extensions.jit import jit
from xpand_extensions.vmap import vmap

X, Y = np.asarray([0.3, -0.7, 1.2]), np.asarray([1.5, 0.4, -0.2])


@pytest.fixture(params=LIBRARIES, ids=str)
def able(request: pytest.FixtureRequest) -> Library:
    return request.param


def loss(wrap: Any) -> Any:
    """A function of nested parts that use arrays from outside, one of them also given."""

    def f(x: Any, w: Any) -> Any:
        xp = NAMESPACE(x)
        inner = wrap(lambda x: xp.sin(x * w) * x)
        outer = wrap(lambda x, v: inner(x) * w + inner(v) * x)
        return total(wrap(lambda tree: {"y": tree["x"] ** 2.0})({"x": outer(x, w)})["y"])

    return f


NESTINGS = {
    "grad": lambda f: grad(f, (0, 1)),
    "hessian": lambda f: hessian(f, (0, 1)),
    "jacfwd-jacfwd": lambda f: jacfwd(jacfwd(f)),
    "grad-grad": lambda f: grad(lambda x, w: total(grad(f, 1)(x, w) ** 2.0), (0, 1)),
    "vmap-grad": lambda f: lambda x, w: vmap(grad(f, (0, 1)), (None, 0))(x, NAMESPACE(w).stack([w, 2.0 * w])),
    "grad-vmap": lambda f: grad(lambda x, w: total(vmap(f, (None, 0))(x, NAMESPACE(w).stack([w, 2.0 * w]))), (0, 1)),
    "jvp": lambda f: lambda x, w: jvp(f, (x, w), (w, x)),
}


@pytest.mark.parametrize("nesting", NESTINGS)
def test_nestings(able: Library, nesting: str) -> None:
    arrays = able.asarray(X), able.asarray(Y)
    expected = NESTINGS[nesting](loss(lambda f: f))(*arrays)
    found = NESTINGS[nesting](loss(checkpoint))(*arrays)
    for got, wanted in zip(trees.leaves(found), trees.leaves(expected)):
        able.assert_equal(got, able.to_numpy(wanted), rtol=1e-11, atol=1e-12)


def test_static_arguments(able: Library) -> None:
    def power(kind: str, x: Any, n: int, *, y: Any = 1.0) -> Any:
        return x**n * y if kind == "power" else -x

    x = able.asarray(X)
    for places in ((0, 2), [-1, 0]):
        f = checkpoint(power, static_argnums=places)
        able.assert_equal(f("power", x, 3), X**3, rtol=1e-15)
        able.assert_equal(grad(lambda x, f=f: total(f("power", x, 3, y=2.0)))(x), 6.0 * X**2, rtol=1e-14)
        able.assert_equal(grad(lambda x, f=f: total(f("other", x, 3)))(x), np.full(3, -1.0))
    with pytest.raises(ValueError, match="checkpoint: static_argnums names argument 5, .* called with 3 positional"):
        checkpoint(power, static_argnums=5)("power", x, 3)
    with pytest.raises(TypeError, match="checkpoint: static_argnums must be an integer"):
        checkpoint(power, static_argnums="n")  # type: ignore[arg-type]


def test_derivatives_within(able: Library) -> None:
    """What is computed again may itself differentiate, also where nothing differentiates it."""
    x = able.asarray(X)
    plain = lambda x: grad(lambda y: total(NAMESPACE(y).sin(y) * y * x))(x)
    again = checkpoint(plain)
    able.assert_equal(again(x), able.to_numpy(plain(x)))
    squared = lambda f: lambda x: total(f(x) * f(x))
    able.assert_equal(grad(squared(again))(x), able.to_numpy(grad(squared(plain))(x)), rtol=1e-12)
    able.assert_equal(checkpoint(lambda x: again(x) * x)(x), able.to_numpy(plain(x)) * X)


def test_values_integers_and_keywords(able: Library) -> None:
    f = checkpoint(
        lambda x, *, n: {"x": x * NAMESPACE(x).astype(n, NAMESPACE(x).float64), "n": n + 1}, prevent_cse=False
    )
    x, n = able.asarray(X), able.asarray(np.asarray([1, 2, 3]))
    able.assert_equal(f(x, n=n)["n"], np.asarray([2, 3, 4]))
    able.assert_equal(grad(lambda x: total(f(x, n=n)["x"]))(x), np.asarray([1.0, 2.0, 3.0]))


def test_complex_numbers(able: Library) -> None:
    z = able.asarray(X + 1j * Y)
    f = lambda wrap: lambda z: total(NAMESPACE(z).real(wrap(lambda z: z * NAMESPACE(z).exp(z))(z)))
    able.assert_equal(grad(f(checkpoint))(z), able.to_numpy(grad(f(lambda g: g))(z)), rtol=1e-13)


def test_less_is_kept(eager_library: Library) -> None:
    assert kept(eager_library, checkpoint) <= 2 < 9 <= kept(eager_library, lambda f: f)
    nested = lambda f: checkpoint(lambda x: checkpoint(f)(NAMESPACE(x).sin(x)))
    assert kept(eager_library, nested) <= 2


def kept(library: Library, wrap: Any) -> int:
    """Count the values of the steps of a function that are alive while its pullback is."""
    alive = []

    def chain(x: Any) -> Any:
        for _ in range(10):
            x = NAMESPACE(x).sin(x)
            if library.id.startswith("torch"):
                alive.append(weakref.ref(x))
        return x

    x = library.asarray(np.ones(1000))
    if library.id == "jax":  # its tracers are not what is kept
        import jax

        return len(jax.tree.leaves(jax.vjp(wrap(chain), x)[1]))
    vjp(wrap(chain), x)  # what is made once, is made
    tracemalloc.start()
    try:
        _, pullback = vjp(wrap(chain), x)
        gc.collect()
        count = sum(ref() is not None for ref in alive)
        if not alive:  # of NumPy's arrays, which are followed by arrays of ours
            count = tracemalloc.get_traced_memory()[0] // 8000
    finally:
        tracemalloc.stop()
    assert pullback(x)[0].shape == (1000,)
    return count


def test_what_is_first_compiled_inside() -> None:
    """PyTorch counts what is saved for derivatives, not what is so while it compiles."""
    import torch

    x = torch.tensor(0.6, dtype=torch.float64, requires_grad=True)
    compiled = jit(lambda x: x.sin() * x)
    checkpoint(lambda x: compiled(x))(x).backward()
    assert x.grad is not None
    torch.testing.assert_close(x.grad, x.cos() * x + x.sin())


def test_pytorchs_own_derivatives_and_compiler() -> None:
    import torch

    def f(wrap: Any) -> Any:
        return lambda x, w: wrap(lambda x: torch.sin(x * w) * x)(x).sum()

    x, w = (torch.asarray(each).requires_grad_() for each in (X, Y))
    expected = grad(f(lambda g: g), (0, 1))(x.detach(), w.detach())
    torch.compiler.reset()
    for call in (f(checkpoint), torch.compile(f(checkpoint), backend="eager", fullgraph=True)):
        for found, wanted in zip(torch.autograd.grad(call(x, w), (x, w)), expected):
            torch.testing.assert_close(found, wanted)


def test_bad_input(able: Library) -> None:
    with pytest.raises(TypeError, match="checkpoint: takes a function, got int"):
        checkpoint(3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="checkpoint: policy must be None, got Keeping; everything inside"):
        checkpoint(lambda x: x, policy=type("Keeping", (), {}))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="checkpoint: the arguments holds str"):
        checkpoint(lambda x: x)("text")

    def fails(x: Any) -> Any:
        raise ZeroDivisionError

    x = able.asarray(X)
    for _ in range(20):
        with pytest.raises(ZeroDivisionError):
            grad(checkpoint(fails))(x)
    able.assert_equal(grad(checkpoint(lambda x: total(x * x)))(x), 2 * X)
