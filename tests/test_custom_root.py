"""Roots found by functions of one's own: derivatives by the implicit function theorem, on every library."""

from typing import Any

import numpy as np
import pytest
import torch

from tests.libraries import LIBRARIES, Library
from tests.test_custom_linear_solve import AS, BOTH, BS, A, B, Holder, Ours, cubes, narrowed, of_jax
from tests.test_derivatives import NAMESPACE, against_jax, total
from xpand_extensions.autodiff import check_grads, custom_linear_solve, custom_root, grad, jvp
from xpand_extensions.control_flow import while_loop
from xpand_extensions.jit import jit, make_graph
from xpand_extensions.tracing._simplify import simplified

pytestmark = pytest.mark.filterwarnings(
    # Of PyTorch's compiler, by the compiler itself.
    "ignore:<class 'torch.autograd.function.Function'> should not be instantiated:DeprecationWarning"
)


@pytest.fixture(params=[x for x in LIBRARIES if not x.lazy], ids=str)
def eager(request: pytest.FixtureRequest) -> Library:
    return request.param


def equation(x: Any, a: Any, b: Any) -> Any:
    return a @ x + x**3.0 / 10.0 - b


def newton(x: Any, a: Any, b: Any) -> Any:
    """Newton's method in a loop without a bound, which has no reverse mode."""
    xp = NAMESPACE(x, a, b)
    unit = xp.eye(3, dtype=x.dtype, device=getattr(x, "device", None))

    def step(x: Any) -> Any:
        return x - xp.linalg.solve(a + 0.3 * x**2.0 * unit, equation(x, a, b))

    return while_loop(lambda x: xp.max(xp.abs(equation(x, a, b))) > 1e-13, step, x)


def guess(b: Any) -> Any:
    xp = NAMESPACE(b)
    return xp.zeros(3, dtype=b.dtype, device=getattr(b, "device", None))


def by_args(a: Any, b: Any) -> Any:
    return custom_root(equation, guess(b), solve=newton, args=(a, b))


def by_closures(a: Any, b: Any) -> Any:
    return custom_root(lambda x: equation(x, a, b), guess(b), solve=lambda x: newton(x, a, b))


def by_products(a: Any, b: Any) -> Any:
    """The tangent's system solved by a function of one's own, here a direct one within another solver's rule."""

    def tangent_solve(g: Any, y: Any) -> Any:
        return custom_linear_solve(lambda x, a: g(x), y, solve=lambda y, a: eliminated(g, y), args=(a,),
                                   transpose_solve=lambda y, a: eliminated(g, y, transposed=True))  # fmt: skip

    return custom_root(equation, guess(b), solve=newton, args=(a, b), tangent_solve=tangent_solve)


def eliminated(g: Any, y: Any, *, transposed: bool = False) -> Any:
    xp = NAMESPACE(y)
    unit = xp.eye(3, dtype=y.dtype, device=getattr(y, "device", None))
    columns = xp.stack([g(unit[i, :]) for i in range(3)])
    return xp.linalg.solve(columns if transposed else xp.matrix_transpose(columns), y)


def reference(a: Any, b: Any) -> Any:
    """Newton's method, differentiated through: its steps converge with all of their derivatives."""
    import jax.numpy as jnp

    x = jnp.zeros(3)
    for _ in range(8):
        x = x - jnp.linalg.solve(a + 0.3 * x**2 * jnp.eye(3), equation(x, a, b))
    return x


NESTINGS = {
    "grad": lambda f, m: m.grad(cubes(f), BOTH),
    "jacfwd": lambda f, m: m.jacfwd(f, BOTH),
    "hessian": lambda f, m: m.hessian(cubes(f), BOTH),
}
DEEPER = {
    "jacrev-jacrev": lambda f, m: m.jacrev(m.jacrev(cubes(f)), BOTH),
    "jacrev-jacfwd": lambda f, m: m.jacrev(m.jacfwd(cubes(f)), BOTH),
    "jit-grad": lambda f, m: m.jit(m.grad(cubes(f), BOTH)),
    "grad-jit": lambda f, m: m.grad(m.jit(cubes(f)), BOTH),
}
MAPPED = {
    "vmap-grad": lambda f, m: m.vmap(m.grad(cubes(f), BOTH)),
    "grad-vmap": lambda f, m: m.grad(cubes(m.vmap(f)), BOTH),
}


@pytest.mark.parametrize("nesting", NESTINGS)
def test_derivatives_are_those_of_all_steps(eager: Library, nesting: str) -> None:
    make = NESTINGS[nesting]
    ours = make(by_args, Ours)
    against_jax(eager, jit(ours) if eager.id == "jax" else ours, of_jax(make, reference), A, B, rtol=1e-9)


@pytest.mark.parametrize("nesting", DEEPER)
@pytest.mark.parametrize("name", ["numpy", "torch"])
def test_deeper_nestings(name: str, nesting: str) -> None:
    library = next(x for x in LIBRARIES if x.id == name)
    make = DEEPER[nesting]
    against_jax(library, make(by_closures, Ours), of_jax(make, reference), A, B, rtol=1e-9)


@pytest.mark.parametrize("nesting", ["grad", "jacfwd"])
@pytest.mark.parametrize("name", ["numpy", "jax"])
def test_solvers_of_the_tangents_system(name: str, nesting: str) -> None:
    library = next(x for x in LIBRARIES if x.id == name)
    make = NESTINGS[nesting]
    against_jax(library, make(by_products, Ours), of_jax(make, reference), A, B, rtol=1e-9)


@pytest.mark.parametrize("nesting", MAPPED)
@pytest.mark.parametrize("name", ["numpy", "torch", "jax"])
def test_mapped(name: str, nesting: str) -> None:
    library = next(x for x in LIBRARIES if x.id == name)
    make = MAPPED[nesting]
    against_jax(library, make(by_args, Ours), of_jax(make, reference), AS, BS, rtol=1e-9)


def test_the_guess_has_no_derivative(eager: Library) -> None:
    f = lambda x0, b: total(custom_root(lambda x, b: x**2.0 - b, x0, solve=lambda x0, b: b**0.5, args=(b,)))
    b = eager.asarray(np.asarray([4.0, 9.0]))
    of_guess, of_b = grad(f, BOTH)(eager.asarray(np.ones(2)), b)
    eager.assert_equal(of_guess, np.zeros(2))
    eager.assert_equal(of_b, np.asarray([0.25, 1.0 / 6.0]), rtol=1e-14)


def test_trees_and_auxiliary_data(eager: Library) -> None:
    def f(x: Any, p: Any, power: int) -> Any:
        return {"a": x["a"] ** power - p["u"], "b": x["b"] * p["v"] - total(x["a"])}

    def solve(x0: Any, p: Any, power: int) -> Any:
        a = p["u"] ** (1.0 / power)
        steps = NAMESPACE(a).ones((2,), dtype=NAMESPACE(a).int32, device=getattr(a, "device", None))
        return {"a": a, "b": total(a) / p["v"]}, {"steps": steps, "why": "done", "norm": total(a)}

    p = {"u": eager.asarray(np.asarray([8.0, 27.0])), "v": eager.asarray(2.0)}
    x0 = {"a": eager.asarray(np.ones(2)), "b": eager.asarray(1.0)}
    root = lambda p: custom_root(f, x0, solve=solve, args=(p, 3), has_aux=True)
    x, aux = root(p)
    eager.assert_equal(x["b"], np.asarray(2.5), rtol=1e-14)
    assert aux["why"] == "done"
    eager.assert_equal(aux["steps"], np.ones(2, np.int32))
    found, aux = grad(lambda p: (lambda x, aux: (x["b"] + 0.0 * aux["norm"], aux))(*root(p)), has_aux=True)(p)
    assert aux["why"] == "done"
    eager.assert_equal(found["u"], np.asarray([1.0 / 12.0, 1.0 / 27.0]) / 2.0, rtol=1e-12)
    eager.assert_equal(found["v"], np.asarray(-1.25), rtol=1e-12)
    tangents = jvp(lambda p: root(p)[0], (p,), (p,))[1]
    eager.assert_equal(tangents["a"], np.asarray([2.0, 3.0]) / 3.0, rtol=1e-12)


@pytest.mark.parametrize("solver", [by_args, by_closures])
def test_graphs_are_checked(solver: Any) -> None:
    for function, arrays in (
        (solver, (A, B)),
        (grad(cubes(solver), BOTH), (A, B)),
        (Ours.vmap(solver), (AS, BS)),
        (lambda a, b: custom_root(equation, guess(b), solve=with_aux, args=(a, b), has_aux=True)[1], (A, B)),
    ):
        graph = make_graph(function)(*arrays)
        assert any(each.op.name == "custom_root" for each in graph.equations)
        graph.check()
        simplified(graph).check()


def with_aux(x: Any, a: Any, b: Any) -> Any:
    found = newton(x, a, b)
    return found, {"residual": equation(found, a, b) @ found}


@pytest.mark.parametrize("library", LIBRARIES, ids=str)
def test_no_derivative_little_cost(library: Library) -> None:
    """Where nothing is traced, the solver and the equation, which is checked at the solution, are called once each."""
    calls: list[Any] = []

    def f(x: Any, b: Any) -> Any:
        calls.append(x)
        return x - 2.0 * b

    never = lambda *args: pytest.fail("called")
    root = custom_root(f, library.asarray(B), solve=lambda x, b: x + b, tangent_solve=never, args=(library.asarray(B),))
    library.assert_equal(root, 2.0 * B)
    assert len(calls) == 1
    library.assert_equal(calls[0], 2.0 * B)


def test_complex_numbers_follow_jax(eager: Library) -> None:
    import jax

    ours = lambda b: custom_root(lambda x, b: x * x - b, b, solve=lambda x, b: b**0.5, args=(b,))
    theirs = lambda b: b**0.5
    real = lambda f: lambda b: total(NAMESPACE(b).real(f(b) * (1.0 + 2.0j)))
    b = np.asarray([1.0 + 2.0j, 3.0 - 0.5j])
    against_jax(eager, grad(real(ours)), jax.grad(real(theirs)), b)


@pytest.mark.parametrize("name", ["numpy", "torch"])
def test_check_grads(name: str) -> None:
    library = next(x for x in LIBRARIES if x.id == name)
    check_grads(by_args, (library.asarray(A), library.asarray(B)), order=2)


def test_pytorchs_own_derivatives_and_compiler() -> None:

    a, b = (torch.asarray(x).requires_grad_() for x in (A, B))
    solve = lambda x, a, b: torch.linalg.solve(a, b)
    f = cubes(lambda a, b: custom_root(lambda x, a, b: a @ x - b, guess(b), solve=solve, args=(a, b)))
    expected = torch.autograd.grad(cubes(lambda a, b: torch.linalg.solve(a, b))(a, b), (a, b))
    torch.testing.assert_close(torch.autograd.grad(f(a, b), (a, b)), expected)
    torch.compiler.reset()
    compiled = torch.compile(f, fullgraph=True, backend="eager")
    torch.testing.assert_close(torch.autograd.grad(compiled(a, b), (a, b)), expected)


@pytest.mark.parametrize("name", ["numpy", "torch"])
def test_hidden_arrays_are_never_forgotten(name: str) -> None:
    eager = next(x for x in LIBRARIES if x.id == name)
    holder = Holder()

    def f(a: Any, b: Any) -> Any:
        holder.array = a
        hidden = lambda x, b: equation(x, holder.array, b)
        return total(custom_root(hidden, guess(b), solve=lambda x, b: newton(x, holder.array, b), args=(b,)))

    a, b = eager.asarray(A), eager.asarray(B)
    for argnums in (0, BOTH):
        expected = grad(lambda a, b: total(by_args(a, b)), argnums)(a, b)
        try:
            found = grad(f, argnums)(a, b)
        except TypeError as error:
            assert "pass it as one of `args`" in str(error)  # noqa: PT017 -- either will do
        else:
            wanted = expected if argnums == 0 else expected[0]
            eager.assert_equal(found if argnums == 0 else found[0], eager.to_numpy(wanted), rtol=1e-9)


def test_bad_input(eager: Library) -> None:
    a, b, x0 = eager.asarray(A), eager.asarray(B), eager.asarray(np.zeros(3))
    with pytest.raises(TypeError, match="custom_root: f must be a function, got int"):
        custom_root(3, x0, solve=newton, args=(a, b))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="custom_root: tangent_solve must be a function, got str"):
        custom_root(equation, x0, solve=newton, tangent_solve="x", args=(a, b))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="custom_root: args must be a tuple"):
        custom_root(equation, x0, solve=newton, args=[a, b])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="custom_root: initial_guess must have floating-point data types"):
        custom_root(equation, eager.asarray(np.arange(3)), solve=newton, args=(a, b))
    with pytest.raises(TypeError, match="solve must return a tree like initial_guess, of the structure"):
        custom_root(equation, x0, solve=lambda x, a, b: (x, x), args=(a, b))
    with pytest.raises(ValueError, match=r"solve must return a tree like initial_guess, of the shape \(3,\)"):
        custom_root(equation, x0, solve=lambda x, a, b: x[:2], args=(a, b))
    with pytest.raises(TypeError, match="solve must return a tree like initial_guess, of the data type"):
        custom_root(equation, x0, solve=lambda x, a, b: narrowed(x), args=(a, b))
    with pytest.raises(TypeError, match=r"solve must return a pair .* with has_aux=True"):
        custom_root(equation, x0, solve=newton, args=(a, b), has_aux=True)


@pytest.mark.parametrize(
    ("functions", "message", "kind"),
    [
        ({"f": lambda x, a, b: (x, x)}, "f must return a tree like initial_guess, of the structure", TypeError),
        ({"f": lambda x, a, b: b[:2] * x[:2]}, "f must return a tree like initial_guess, of the shape", ValueError),
        ({"f": lambda x, a, b: narrowed(x)}, "f must return a tree like initial_guess, of the data type", TypeError),
        ({"tangent_solve": lambda g, y: y[:2]}, "tangent_solve must return a tree like initial_guess", ValueError),
        ({"tangent_solve": lambda g, y: (y,)}, "tangent_solve .* like initial_guess, of the structure", TypeError),
        (
            {"tangent_solve": lambda g, y: narrowed(y)},
            "tangent_solve .* like initial_guess, of the data type",
            TypeError,
        ),
        ({"tangent_solve": lambda g, y: g((y, y))}, "the derivative of f takes a tree like initial_guess", TypeError),
    ],
)
def test_wrong_functions(eager: Library, functions: Any, message: str, kind: Any) -> None:
    f = functions.get("f", equation)
    root = lambda b: custom_root(
        f, guess(b), solve=newton, tangent_solve=functions.get("tangent_solve"), args=(eager.asarray(A), b)
    )
    with pytest.raises(kind, match=message):
        grad(lambda b: total(root(b)))(eager.asarray(B))
    if "f" in functions:
        with pytest.raises(kind, match=f"custom_root: {message}"):
            root(eager.asarray(B))


def test_variables_of_functions_have_their_values_at_the_call(eager: Library) -> None:
    def f(x: Any) -> Any:
        y = x
        for k in range(3):
            a, scale = x * (k + 1.0), float(k + 1)
            solve = lambda z0, x=None, a=a: abs(a) ** (1.0 / 3.0)
            y = y + custom_root(lambda z: z**3.0 - a, a, solve=solve)  # noqa: B023 -- this is what is tested
            cubed = lambda z, x: z**3.0 - x * scale  # noqa: B023
            y = y + custom_root(cubed, a, solve=solve, args=(x,))
        return y

    x = eager.asarray(np.asarray(0.7))
    expected = 1.0 + 2.0 * sum((k / 3.0) * (k * 0.7) ** (-2.0 / 3.0) for k in (1.0, 2.0, 3.0))
    np.testing.assert_allclose(float(grad(f)(x)), expected, rtol=1e-7)
    np.testing.assert_allclose(float(jvp(f, (x,), (x,))[1]), 0.7 * expected, rtol=1e-7)


def test_arrays_that_are_others_when_a_derivative_is_taken(eager: Library) -> None:
    def f(x: Any) -> Any:
        y = x
        for k in range(3):
            a = x * (k + 1.0)
            now = lambda: a  # noqa: B023 -- a variable of a function that a function uses
            y = y + custom_root(lambda z: z**3.0 - now(), a, solve=lambda z0, a=a: abs(a) ** (1.0 / 3.0))  # noqa: B023
        return y

    expected = 1.0 + sum((k / 3.0) * (k * 0.7) ** (-2.0 / 3.0) for k in (1.0, 2.0, 3.0))
    np.testing.assert_allclose(float(grad(f)(eager.asarray(np.asarray(0.7)))), expected, rtol=1e-7)
