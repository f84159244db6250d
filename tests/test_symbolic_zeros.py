"""Rules that are told what is not differentiated, against JAX's own under all nestings; what they may return."""

from typing import Any

import numpy as np
import pytest

from tests.libraries import LIBRARIES, Library
from tests.test_derivatives import NAMESPACE, against_jax, total
from xpand_extensions.autodiff import (
    CustomVJPPrimal,
    SymbolicZero,
    custom_jvp,
    custom_vjp,
    custom_vjp_primal_tree_values,
    grad,
    jacfwd,
    jacrev,
    jvp,
    vjp,
)
from xpand_extensions.jit import jit
from xpand_extensions.vmap import vmap

X, Y = np.asarray([0.3, -0.7, 1.2]), np.asarray([1.5, 0.4, -0.2])


@pytest.fixture(params=LIBRARIES, ids=str)
def able(request: pytest.FixtureRequest) -> Library:
    return request.param


def zeros_like(t: Any, x: Any) -> Any:
    return NAMESPACE(x).zeros_like(x)


def forward_rule(decorator: Any, zero: type) -> Any:
    """A function whose derivative tells which of its arguments are differentiated."""

    @decorator
    def f(x: Any, y: Any) -> Any:
        return x * y

    def rule(primals: Any, tangents: Any) -> Any:
        (x, y), (dx, dy) = primals, tangents
        scale = 2.0 if isinstance(dx, zero) else 3.0 if isinstance(dy, zero) else 5.0
        dx, dy = (zeros_like(t, x) if isinstance(t, zero) else t for t in (dx, dy))
        return x * y, scale * (dx * y + x * dy)

    f.defjvp(rule, symbolic_zeros=True)
    return f


def reverse_rule(decorator: Any, zero: type) -> Any:
    @decorator
    def f(x: Any, y: Any) -> Any:
        return x * y, x + y

    def forward(x: Any, y: Any) -> Any:
        residuals = (x.value if y.perturbed else None, y.value if x.perturbed else None)
        return (x.value * y.value, x.value + y.value), residuals

    def backward(residuals: Any, cotangents: Any) -> Any:
        (x, y), (of_product, of_sum) = residuals, cotangents
        like = y if x is None else x
        scale = 2.0 if isinstance(of_sum, zero) else 3.0
        of_product, of_sum = (zeros_like(t, like) if isinstance(t, zero) else t for t in cotangents)
        return (
            None if y is None else scale * (of_product * y + of_sum),
            None if x is None else 7.0 * scale * (of_product * x + of_sum),
        )

    f.defvjp(forward, backward, symbolic_zeros=True)
    return f


class Ours:
    grad, jacrev, jacfwd, vmap, jit = map(staticmethod, (grad, jacrev, jacfwd, vmap, jit))


def squares(f: Any) -> Any:
    def of_squares(x: Any, y: Any) -> Any:
        found = f(x, y)
        return total((found[0] if isinstance(found, tuple) else found) ** 2.0)

    return of_squares


NESTINGS = {
    "first": lambda f, m: m.grad(squares(f)),
    "second": lambda f, m: m.grad(squares(f), 1),
    "both": lambda f, m: m.grad(squares(f), (0, 1)),
    "grad-grad": lambda f, m: m.grad(lambda x, y: total(m.grad(squares(f))(x, y) ** 2.0), 1),
    "vmap-grad": lambda f, m: m.vmap(m.grad(squares(f))),
    "grad-vmap": lambda f, m: m.grad(squares(m.vmap(f)), 1),
    "of-all-outputs": lambda f, m: m.grad(lambda x, y: sum(map(total, f(x, y))), 1),
}
FORWARD = {
    "jacfwd": lambda f, m: m.jacfwd(f, 1),
    "jacfwd-of-vmap": lambda f, m: m.jacfwd(m.vmap(f)),
    "jacrev-jacfwd": lambda f, m: m.jacrev(m.jacfwd(squares(f)), 1),
}
COMPILED = {"jit-grad": lambda f, m: m.jit(m.grad(squares(f))), "grad-jit": lambda f, m: m.grad(m.jit(squares(f)), 1)}


@pytest.mark.parametrize("nesting", [x for x in (*NESTINGS, *FORWARD) if x != "of-all-outputs"])
def test_forward_rules(able: Library, nesting: str) -> None:
    import jax
    from jax.custom_derivatives import SymbolicZero as Theirs

    make = {**NESTINGS, **FORWARD}[nesting]
    ours, theirs = forward_rule(custom_jvp, SymbolicZero), forward_rule(jax.custom_jvp, Theirs)
    against_jax(able, make(ours, Ours), make(theirs, jax), X, Y)


@pytest.mark.parametrize("nesting", NESTINGS)
def test_reverse_rules(able: Library, nesting: str) -> None:
    import jax
    from jax.custom_derivatives import SymbolicZero as Theirs

    make = NESTINGS[nesting]
    ours, theirs = reverse_rule(custom_vjp, SymbolicZero), reverse_rule(jax.custom_vjp, Theirs)
    against_jax(able, make(ours, Ours), make(theirs, jax), X, Y)


@pytest.mark.parametrize("nesting", COMPILED)
@pytest.mark.parametrize("name", ["numpy", "jax"])
def test_compiled(name: str, nesting: str) -> None:
    import jax
    from jax.custom_derivatives import SymbolicZero as Theirs

    library, make = next(x for x in LIBRARIES if x.id == name), COMPILED[nesting]
    for of, ours, theirs in ((forward_rule, custom_jvp, jax.custom_jvp), (reverse_rule, custom_vjp, jax.custom_vjp)):
        against_jax(library, make(of(ours, SymbolicZero), Ours), make(of(theirs, Theirs), jax), X, Y)


def test_compiled_by_pytorch() -> None:
    """Tangents can be symbolic zeros in torch.compile. Cotangents can't: all outputs are used here."""
    import torch

    def of_all(f: Any) -> Any:
        def of_squares(x: Any, y: Any) -> Any:
            found = f(x, y)
            return sum(total(part**2.0) for part in (found if isinstance(found, tuple) else (found,)))

        return of_squares

    x, y = torch.asarray(X), torch.asarray(Y)
    leaf = x.clone().requires_grad_()
    for f in (forward_rule(custom_jvp, SymbolicZero), reverse_rule(custom_vjp, SymbolicZero)):
        torch.compiler.reset()
        compiled = torch.compile(of_all(f), fullgraph=True, backend="eager")
        (found,) = torch.autograd.grad(compiled(leaf, y), leaf)
        torch.testing.assert_close(found, grad(of_all(f))(x, y))


pytestmark = pytest.mark.filterwarnings(
    # Of PyTorch's compiler, by the compiler itself.
    "ignore:<class 'torch.autograd.function.Function'> should not be instantiated:DeprecationWarning"
)


def test_shapes_and_data_types_of_marks(able: Library) -> None:
    seen: list[Any] = []
    f = custom_jvp(lambda tree, n, number: tree["x"] * number)

    def rule(primals: Any, tangents: Any) -> Any:
        (tree, _, number), (dtree, dn, dnumber) = primals, tangents
        seen[:] = [dtree["y"], dn, dnumber]
        return tree["x"] * number, dtree["x"] * number

    assert f.defjvp(rule, symbolic_zeros=True) is rule
    y, n = able.xp.astype(able.asarray(np.ones((2, 1))), able.xp.float32), able.asarray(np.asarray([1, 2]))
    able.assert_equal(grad(lambda x: total(f({"x": x, "y": y}, n, 2.0)))(able.asarray(X)), np.full(3, 2.0))
    of_y, of_n, of_number = seen
    assert of_y == SymbolicZero((2, 1), y.dtype)
    assert (of_y.ndim, of_y.size) == (2, 2)
    assert of_n == SymbolicZero((2,), n.dtype)
    assert isinstance(of_number, SymbolicZero)
    assert of_number.shape == ()


def test_primals_of_reverse_rules(able: Library) -> None:
    seen: list[bool] = []
    f = custom_vjp(lambda scale, tree, n, number: tree["x"] * number, nondiff_argnums=(0,))

    def forward(scale: float, tree: Any, n: Any, number: Any) -> Any:
        seen[:] = [x.perturbed for x in (tree["x"], tree["y"], n, number)]
        values = custom_vjp_primal_tree_values(tree)
        return values["x"] * number.value, number.value

    f.defvjp(forward, lambda scale, number, g: ({"x": scale * g * number, "y": None}, None, None), symbolic_zeros=True)
    n = able.asarray(np.asarray([1, 2]))
    call = lambda x, y: total(f(5.0, {"x": x, "y": y}, n, 2.0))
    able.assert_equal(grad(call)(able.asarray(X), able.asarray(Y)), np.full(3, 10.0))
    assert seen == [True, False, False, False]
    able.assert_equal(grad(call, (0, 1))(able.asarray(X), able.asarray(Y))[1], 0 * Y)
    assert seen == [True, True, False, False]


def test_zeros_that_rules_return(able: Library) -> None:
    x, y = able.asarray(X), able.asarray(Y)
    f = custom_jvp(lambda x, y: (x * 1.0, y * 1.0))
    f.defjvp(lambda primals, tangents: (primals, tangents), symbolic_zeros=True)
    found = jvp(lambda x: f(x, y), (x,), (x,))[1]
    able.assert_equal(found[0], X)
    able.assert_equal(found[1], 0 * Y)
    g = custom_vjp(lambda x, y: (x * 1.0, y * 1.0))
    g.defvjp(lambda x, y: ((x.value, y.value), None), lambda _, cotangents: cotangents, symbolic_zeros=True)
    of_x, of_y = grad(lambda x, y: total(g(x, y)[0]), (0, 1))(x, y)
    able.assert_equal(of_x, np.ones(3))
    able.assert_equal(of_y, 0 * Y)


def test_other_rules_get_arrays(able: Library) -> None:
    x, y = able.asarray(X), able.asarray(Y)
    f, g = custom_jvp(lambda x, y: x * y), custom_vjp(lambda x, y: (x * y, x))
    f.defjvp(lambda primals, tangents: (primals[0] * primals[1], tangents[0] * primals[1] + primals[0] * tangents[1]))
    g.defvjp(
        lambda x, y: ((x * y, x), (x, y)),
        lambda residuals, ct: (ct[0] * residuals[1] + ct[1], ct[0] * residuals[0] + ct[1]),
    )
    able.assert_equal(grad(lambda x: total(f(x, y)))(x), Y)
    able.assert_equal(grad(lambda x: total(g(x, y)[0]))(x), Y)
    f.defjvp(lambda primals, tangents: 1 / 0, symbolic_zeros=True)
    f.defjvps(lambda t, out, x, y: t * y, lambda t, out, x, y: t * x)  # which have no symbolic zeros
    able.assert_equal(grad(lambda x: total(f(x, y)))(x), Y)


def test_wrong_rules(able: Library) -> None:
    x, y = able.asarray(X), able.asarray(Y)
    f = custom_jvp(lambda x, y: x * y)
    wrong = SymbolicZero((2,), x.dtype)
    f.defjvp(lambda primals, tangents: (primals[0] * primals[1], wrong), symbolic_zeros=True)
    with pytest.raises(TypeError, match=r"custom_jvp: .*the tangent, leaf 0, is a SymbolicZero of the shape \(2,\)"):
        jvp(f, (x, y), (x, y))
    g = custom_vjp(lambda x, y: x * y)
    g.defvjp(lambda x, y: (x.value * y.value, x), lambda residuals, ct: (ct, ct), symbolic_zeros=True)
    with pytest.raises(TypeError, match="forward must not return a CustomVJPPrimal; return its `value`"):
        vjp(g, x, y)
    g.defvjp(lambda x, y: (x, None), lambda residuals, ct: (ct, ct), symbolic_zeros=True)
    with pytest.raises(TypeError, match="forward must not return a CustomVJPPrimal; return its `value`"):
        vjp(g, x, y)
    with pytest.raises(TypeError, match="custom_vjp_primal_tree_values: .* it holds"):
        custom_vjp_primal_tree_values((CustomVJPPrimal(x, True), x))
