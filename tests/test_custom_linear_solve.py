"""Linear systems solved by functions of one's own: derivatives of the equation, in all nestings, on every library."""

from functools import cache, partial, wraps
from typing import Any

import numpy as np
import pytest

from tests.libraries import LIBRARIES, Library
from tests.test_derivatives import NAMESPACE, against_jax, total
from xpand import trees
from xpand_extensions import linear_solve
from xpand_extensions.autodiff import (
    check_grads,
    custom_linear_solve,
    grad,
    hessian,
    jacfwd,
    jacrev,
    jvp,
    linear_transpose,
    value_and_grad,
)
from xpand_extensions.control_flow import while_loop
from xpand_extensions.jit import jit, make_graph
from xpand_extensions.linear_solve import _factorization
from xpand_extensions.tracing import GraphError
from xpand_extensions.tracing._core import Aval
from xpand_extensions.tracing._simplify import simplified
from xpand_extensions.vmap import vmap

A = np.asarray([[3.0, 1.0, -0.5], [0.25, 2.5, 1.0], [0.5, -1.0, 4.0]])
B = np.asarray([1.0, -2.0, 0.5])
AS, BS = np.stack([A, A.T + 1.0]), np.stack([B, 2.0 * B + 1.0])

pytestmark = pytest.mark.filterwarnings(
    # Of PyTorch's compiler, by the compiler itself.
    "ignore:<class 'torch.autograd.function.Function'> should not be instantiated:DeprecationWarning"
)


@pytest.fixture(params=LIBRARIES, ids=str)
def able(request: pytest.FixtureRequest) -> Library:
    return request.param


@pytest.fixture(params=[x for x in LIBRARIES if not x.lazy], ids=str)
def eager(request: pytest.FixtureRequest) -> Library:
    return request.param


def turned(a: Any) -> Any:
    return NAMESPACE(a).matrix_transpose(a)


def by_elimination(b: Any, a: Any) -> Any:
    return NAMESPACE(a, b).linalg.solve(a, b)


def transposed_by_elimination(b: Any, a: Any) -> Any:
    return by_elimination(b, turned(a))


def by_args(a: Any, b: Any) -> Any:
    return custom_linear_solve(
        lambda x, a: a @ x, b, solve=by_elimination, transpose_solve=transposed_by_elimination, args=(a,)
    )


def by_closures(a: Any, b: Any) -> Any:
    return custom_linear_solve(
        lambda x: a @ x,
        b,
        solve=lambda b: by_elimination(b, a),
        transpose_solve=partial(transposed_by_elimination, a=a),
    )


def iterated(b: Any, a: Any, steps: Any) -> Any:
    """Solve by Richardson's iteration: its loop has no bound, and so no reverse mode."""
    xp = NAMESPACE(a, b)

    def step(carry: Any) -> Any:
        x = carry[0] + carry[1] / 4.0
        return x, b - a @ x, carry[2] + 1

    x, _, count = while_loop(lambda carry: xp.max(xp.abs(carry[1])) > 1e-14, step, (0.0 * b, b, steps))
    return x, {"steps": count, "by": "iteration"}


def by_iteration(a: Any, b: Any) -> Any:
    xp = NAMESPACE(a, b)
    a = (a + turned(a)) / 2.0
    steps = xp.zeros((), dtype=xp.int64, device=getattr(b, "device", None))
    return custom_linear_solve(lambda x, a, _: a @ x, b, solve=iterated, symmetric=True, args=(a, steps), has_aux=True)[
        0
    ]


def reference(a: Any, b: Any) -> Any:
    import jax

    return jax.numpy.linalg.solve(a, b)


@cache
def of_jax(make: Any, function: Any) -> Any:
    """Make of a function what JAX does, compiled: one program compiles quicker than each of its operations, and once.

    The same for all libraries.
    """
    import jax

    return jax.jit(make(function, jax))


def symmetric_reference(a: Any, b: Any) -> Any:
    return reference((a + a.T) / 2.0, b)


def cubes(f: Any) -> Any:
    return lambda a, b: total(f(a, b) ** 3.0)


class Ours:
    grad, hessian, jacrev, jacfwd, vmap, jit = map(staticmethod, (grad, hessian, jacrev, jacfwd, vmap, jit))


BOTH = (0, 1)
NESTINGS = {
    "value": lambda f, m: f,
    "grad": lambda f, m: m.grad(cubes(f), BOTH),
    "grad-of-matrix": lambda f, m: m.grad(cubes(f)),
    "jacfwd": lambda f, m: m.jacfwd(f, BOTH),
    "hessian": lambda f, m: m.hessian(cubes(f), BOTH),
}
DEEPER = {
    "jacrev": lambda f, m: m.jacrev(f, BOTH),
    "jacrev-jacrev": lambda f, m: m.jacrev(m.jacrev(cubes(f)), BOTH),
    "jacrev-jacfwd": lambda f, m: m.jacrev(m.jacfwd(cubes(f)), BOTH),
    "third": lambda f, m: m.grad(lambda a, b: total(m.hessian(cubes(f), 1)(a, b) ** 2.0), BOTH),
    "jit": lambda f, m: m.jit(f),
    "jit-grad": lambda f, m: m.jit(m.grad(cubes(f), BOTH)),
    "grad-jit": lambda f, m: m.grad(m.jit(cubes(f)), BOTH),
}
MAPPED = {
    "vmap-grad": lambda f, m: m.vmap(m.grad(cubes(f), BOTH)),
    "grad-vmap": lambda f, m: m.grad(cubes(m.vmap(f)), BOTH),
    "hessian-vmap": lambda f, m: m.vmap(m.hessian(cubes(f), 1)),
    "jit-vmap-grad": lambda f, m: m.jit(m.vmap(m.grad(cubes(f), BOTH))),
}


@pytest.mark.parametrize("solver", [by_args, by_closures])
@pytest.mark.parametrize("nesting", NESTINGS)
def test_derivatives_are_those_of_elimination(able: Library, nesting: str, solver: Any) -> None:
    make = NESTINGS[nesting]
    ours = make(solver, Ours)
    against_jax(able, jit(ours) if able.id == "jax" else ours, of_jax(make, reference), A, B, rtol=1e-10)


@pytest.mark.parametrize("solver", [by_args, by_closures])
@pytest.mark.parametrize("nesting", DEEPER)
@pytest.mark.parametrize("name", ["numpy", "torch"])
def test_deeper_nestings(name: str, nesting: str, solver: Any) -> None:
    library = next(x for x in LIBRARIES if x.id == name)
    make = DEEPER[nesting]
    against_jax(library, make(solver, Ours), of_jax(make, reference), A, B, rtol=1e-9)


@pytest.mark.parametrize("solver", [by_args, by_closures])
@pytest.mark.parametrize("nesting", MAPPED)
@pytest.mark.parametrize("name", ["numpy", "torch"])
def test_mapped(name: str, nesting: str, solver: Any) -> None:
    library = next(x for x in LIBRARIES if x.id == name)
    make = MAPPED[nesting]
    against_jax(library, make(solver, Ours), of_jax(make, reference), AS, BS, rtol=1e-9)


def of_sides(f: Any, m: Any) -> Any:
    return m.vmap(m.grad(cubes(f), BOTH), in_axes=(None, 0))


def of_matrices(f: Any, m: Any) -> Any:
    return m.vmap(m.grad(cubes(f), BOTH), in_axes=(0, None))


def test_mapped_over_one(eager: Library) -> None:
    against_jax(eager, of_sides(by_args, Ours), of_jax(of_sides, reference), A, BS, rtol=1e-10)
    against_jax(eager, of_matrices(by_args, Ours), of_jax(of_matrices, reference), AS, B, rtol=1e-10)


@pytest.mark.parametrize("nesting", ["value", "grad", "jacfwd", "hessian"])
def test_loops_without_a_bound_have_derivatives(eager: Library, nesting: str) -> None:
    make = NESTINGS[nesting]
    ours = make(by_iteration, Ours)
    against_jax(eager, jit(ours) if eager.id == "jax" else ours, of_jax(make, symmetric_reference), A, B, rtol=1e-9)


@pytest.mark.parametrize("name", ["numpy", "jax", "torch"])
def test_loops_compiled_and_mapped(name: str) -> None:
    import jax

    library = next(x for x in LIBRARIES if x.id == name)
    for make, arrays in (
        (lambda f, m: m.jit(m.grad(cubes(f), BOTH)), (A, B)),
        (lambda f, m: m.vmap(m.grad(cubes(f), BOTH), in_axes=(None, 0)), (A, BS)),
    ):
        against_jax(library, make(by_iteration, Ours), make(symmetric_reference, jax), *arrays, rtol=1e-9)


def test_no_derivative_little_cost(able: Library) -> None:
    """Where nothing is traced, the solver and the product, which is checked at the solution, are called once each."""
    calls: list[str] = []

    def never(*args: Any) -> Any:
        raise AssertionError("called")

    def solve(b: Any, a: Any, text: str) -> Any:
        calls.append(text)
        return by_elimination(b, a)

    def product(x: Any, a: Any, text: str) -> Any:
        calls.append("product")
        return a @ x

    args = able.asarray(A), "text"
    x = custom_linear_solve(product, able.asarray(B), solve=solve, transpose_solve=never, args=args)
    able.assert_equal(x, np.linalg.solve(A, B), rtol=1e-14)
    assert calls == ["text", "product"]


def test_products_of_our_own_are_not_evaluated_to_be_checked(able: Library, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    factors = linear_solve.factorize(able.asarray(A))
    product, solve = _factorization._PLAIN
    counted = wraps(product)(lambda *args: calls.append("product") or product(*args))
    monkeypatch.setattr(_factorization, "_PLAIN", (counted, solve))
    able.assert_equal(factors.solve(able.asarray(B)), np.linalg.solve(A, B), rtol=1e-14)
    assert calls == []


def test_what_the_solver_alone_uses_has_no_derivative(eager: Library) -> None:
    def f(a: Any, inverse: Any, b: Any) -> Any:
        return custom_linear_solve(
            lambda x, a, _: a @ x,
            b,
            solve=lambda b, _, inverse: inverse @ b,
            transpose_solve=lambda b, _, inverse: turned(inverse) @ b,
            args=(a, inverse),
        )

    a, inverse, b = eager.asarray(A), eager.asarray(np.linalg.inv(A)), eager.asarray(B)
    found = grad(lambda a, inverse, b: total(f(a, inverse, b)), (0, 1, 2))(a, inverse, b)
    x, back = np.linalg.solve(A, B), np.linalg.solve(A.T, np.ones(3))
    eager.assert_equal(found[0], -np.outer(back, x), rtol=1e-12)
    eager.assert_equal(found[1], np.zeros((3, 3)))
    eager.assert_equal(found[2], back, rtol=1e-12)


def test_trees_indices_and_auxiliary_data(eager: Library) -> None:
    """A cyclic system, whose rows and unknowns are trees; which is which is said by an index array."""
    xp = eager.xp

    def matvec(x: Any, diagonal: Any, more: Any) -> Any:
        return {
            "first": diagonal * NAMESPACE(diagonal).take(x["first"], more["places"]),
            "second": [more["two"] * x["second"][0]],
        }

    def solve(b: Any, diagonal: Any, more: Any) -> Any:
        places = NAMESPACE(diagonal).argsort(more["places"])
        x = NAMESPACE(diagonal).take(b["first"] / diagonal, places)
        return {"first": x, "second": [b["second"][0] / more["two"]]}, (more["places"], "aux")

    def transpose_solve(x: Any, diagonal: Any, more: Any) -> Any:
        first = NAMESPACE(diagonal).take(x["first"], more["places"]) / diagonal
        return {"first": first, "second": [x["second"][0] / more["two"]]}, None

    places = eager.asarray(np.asarray([1, 2, 0]))

    def f(diagonal: Any, b: Any) -> Any:
        return custom_linear_solve(
            matvec,
            b,
            solve=solve,
            transpose_solve=transpose_solve,
            args=(diagonal, {"places": places, "two": 2.0}),
            has_aux=True,
        )

    d, b = eager.asarray(np.asarray([2.0, 4.0, 8.0])), {"first": eager.asarray(B), "second": [eager.asarray(B[:2])]}
    x, (found, text) = f(d, b)
    eager.assert_equal(x["first"], (B / [2.0, 4.0, 8.0])[[2, 0, 1]])
    eager.assert_equal(x["second"][0], B[:2] / 2.0)
    eager.assert_equal(found, np.asarray([1, 2, 0]))
    assert text == "aux"

    def loss(d: Any, b: Any) -> Any:
        x, aux = f(d, b)
        return total(x["first"] ** 2.0) + total(x["second"][0] ** 2.0), aux

    (_, aux), (of_d, of_b) = value_and_grad(loss, (0, 1), has_aux=True)(d, b)
    assert aux[1] == "aux"
    eager.assert_equal(of_d, -2.0 * B**2 / np.asarray([2.0, 4.0, 8.0]) ** 3, rtol=1e-14)
    eager.assert_equal(of_b["first"], 2.0 * B / np.asarray([2.0, 4.0, 8.0]) ** 2, rtol=1e-14)
    eager.assert_equal(of_b["second"][0], B[:2] / 2.0, rtol=1e-14)
    tangent = jvp(lambda b: f(d, b)[0], (b,), (b,))[1]
    eager.assert_equal(tangent["second"][0], B[:2] / 2.0)
    assert xp.isdtype(found.dtype, "integral")


def test_complex_numbers_follow_jax(able: Library) -> None:
    import jax

    real = lambda f: lambda a, b: total(NAMESPACE(b).real(f(a, b) * (1.0 + 2.0j)))
    a, b = A + 0.5j * A.T, B - 1j * B[::-1]
    against_jax(able, grad(real(by_args), BOTH), jax.grad(real(reference), BOTH), a, b, rtol=1e-12)


@pytest.mark.parametrize("name", ["numpy", "jax", "torch"])
def test_check_grads(name: str) -> None:
    library = next(x for x in LIBRARIES if x.id == name)
    check_grads(by_args, (library.asarray(A), library.asarray(B)), order=2)


def test_single_precision(eager: Library) -> None:
    a, b = eager.asarray(A, "float32"), eager.asarray(B, "float32")
    found = grad(cubes(by_args), BOTH)(a, b)
    assert [x.dtype for x in found] == [eager.xp.float32] * 2


@pytest.mark.parametrize("name", ["numpy", "jax", "torch", "strict-device1"])
def test_transposed(name: str) -> None:
    """The solution is linear in the right-hand side."""
    library = next(x for x in LIBRARIES if x.id == name)
    a, b = library.asarray(A), library.asarray(B)
    (found,) = linear_transpose(lambda b: by_args(a, b), b)(b)
    library.assert_equal(found, np.linalg.solve(A.T, B), rtol=1e-13)


@pytest.mark.parametrize("solver", [by_args, by_closures, by_iteration])
def test_graphs_are_checked(solver: Any) -> None:
    """The results of the operation follow from its solver, at each check."""
    mapped = vmap(solver, in_axes=(None, 0))
    for function, arrays in ((solver, (A, B)), (grad(cubes(solver), BOTH), (A, B)), (mapped, (A, BS))):
        graph = make_graph(function)(*arrays)
        assert any(each.op.name == "custom_linear_solve" for each in graph.equations)
        graph.check()
        simplified(graph).check()
    one = next(each for each in graph.equations if each.op.name == "custom_linear_solve")
    one.outputs[0].aval = Aval((2, 4), one.outputs[0].dtype)
    with pytest.raises(GraphError, match="custom_linear_solve returns"):
        graph.check()


def test_empty(eager: Library) -> None:
    a, b = eager.asarray(np.zeros((0, 0))), eager.asarray(np.zeros(0))
    found = grad(lambda a, b: total(custom_linear_solve(lambda x, a: a @ x, b, solve=lambda b, a: b, symmetric=True,
                                                        args=(a,))), BOTH)(a, b)  # fmt: skip
    eager.assert_equal(found[0], np.zeros((0, 0)))
    eager.assert_equal(found[1], np.zeros(0))


def test_pytorchs_own_derivatives_and_compiler() -> None:
    import torch

    a, b = (torch.asarray(x).requires_grad_() for x in (A, B))
    for solver in (by_args, by_closures):
        value = cubes(solver)(a, b)
        expected = torch.autograd.grad(cubes(lambda a, b: torch.linalg.solve(a, b))(a, b), (a, b))
        first = torch.autograd.grad(value, (a, b), create_graph=True)
        torch.testing.assert_close(first, expected)
        direct = cubes(lambda a, b: torch.linalg.inv(a) @ b)
        squares = lambda found: sum(torch.sum(x**2) for x in found)
        second = torch.autograd.grad(squares(first), (a, b))
        wanted = torch.autograd.grad(squares(torch.autograd.grad(direct(a, b), (a, b), create_graph=True)), (a, b))
        torch.testing.assert_close(second, wanted)
        torch.compiler.reset()
        compiled = torch.compile(cubes(solver), fullgraph=True, backend="eager")
        torch.testing.assert_close(torch.autograd.grad(compiled(a, b), (a, b)), expected)
        torch.testing.assert_close(compiled(a.detach(), b.detach()), value.detach())


class Holder:
    """A place for an array where it isn't looked for."""

    __slots__ = ("array",)


def test_hidden_arrays_are_never_forgotten(eager: Library) -> None:
    """An array that is brought along where nobody sees it is differentiated, or an error raised."""
    holder = Holder()

    def f(a: Any, b: Any) -> Any:
        holder.array = a
        return total(
            custom_linear_solve(
                lambda x: holder.array @ x,
                b,
                solve=lambda b: by_elimination(b, holder.array),
                transpose_solve=lambda b: transposed_by_elimination(b, holder.array),
            )
        )

    a, b = eager.asarray(A), eager.asarray(B)
    expected = -np.outer(np.linalg.solve(A.T, np.ones(3)), np.linalg.solve(A, B))
    for argnums in (0, BOTH):
        try:
            found = grad(f, argnums)(a, b)
        except TypeError as error:
            assert "pass it as one of `args`" in str(error)  # noqa: PT017 -- either will do
        else:
            eager.assert_equal(found if argnums == 0 else found[0], expected, rtol=1e-12)


def narrowed(x: Any) -> Any:
    return NAMESPACE(x).astype(x, NAMESPACE(x).float32)


@pytest.mark.parametrize(
    ("solve", "symmetric", "message", "kind"),
    [
        (lambda b: b[:2], False, r"solve must return a tree like b, of the shape \(3,\), got \(2,\)", ValueError),
        (lambda b: (b, b), False, "solve must return a tree like b, of the structure", TypeError),
        (lambda b: (b,), True, "solve must return a tree like b, of the structure", TypeError),
        (lambda b: b[:, None], True, "solve must return a tree like b, of the shape", ValueError),
        (narrowed, True, "solve must return a tree like b, of the data type", TypeError),
    ],
)
def test_solutions_are_checked_at_the_call(
    eager: Library, solve: Any, symmetric: bool, message: str, kind: Any
) -> None:
    with pytest.raises(kind, match=f"custom_linear_solve: .*{message}"):
        custom_linear_solve(lambda x: x, eager.asarray(B), solve=solve, symmetric=symmetric)


def test_bad_input(eager: Library) -> None:
    a, b = eager.asarray(A), eager.asarray(B)
    matvec = lambda x, a: a @ x
    with pytest.raises(TypeError, match="custom_linear_solve: matvec must be a function, got int"):
        custom_linear_solve(3, b, solve=by_elimination)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="custom_linear_solve: solve must be a function, got None"):
        custom_linear_solve(matvec, b, solve=None)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="custom_linear_solve: args must be a tuple.*got"):
        custom_linear_solve(matvec, b, solve=by_elimination, args=a)
    with pytest.raises(TypeError, match="custom_linear_solve: b must have floating-point data types"):
        custom_linear_solve(matvec, eager.asarray(np.arange(3)), solve=by_elimination, args=(a,))
    with pytest.raises(TypeError, match="custom_linear_solve: b holds str"):
        custom_linear_solve(matvec, "b", solve=by_elimination, args=(a,))
    with pytest.raises(TypeError, match=r"solve must return a pair .* with has_aux=True"):
        custom_linear_solve(matvec, b, solve=by_elimination, args=(a,), has_aux=True)


@pytest.mark.parametrize(
    ("functions", "message", "kind"),
    [
        ({"matvec": lambda x, a: (a @ x)[:2]}, r"matvec must return a tree like b, of the shape \(3,\)", ValueError),
        ({"matvec": lambda x, a: (a @ x, x)}, "matvec must return a tree like b, of the structure", TypeError),
        (
            {"matvec": lambda x, a: NAMESPACE(x).astype(x, NAMESPACE(x).complex128)},
            "matvec must return a tree like b, of the data type .*float64, got .*complex128; convert",
            TypeError,
        ),
        ({"transpose_solve": lambda b, a: (b, b)}, "transpose_solve must return a tree like b", TypeError),
        ({"transpose_solve": lambda b, a: b[:2]}, "transpose_solve must return a tree like b", ValueError),
        ({"transpose_solve": None}, "needs? .*transpose|[Tt]ranspose", (TypeError, NotImplementedError)),
        (
            {"transpose_solve": lambda b, a: narrowed(b)},
            "transpose_solve must return a tree like b, of the data",
            TypeError,
        ),
        ({"solve": lambda b, a: "text"}, "solve must return a tree of arrays like b; it holds str", TypeError),
        ({"solve": lambda b, a: b[:2]}, r"solve must return a tree like b, of the shape .* got \(2,\)", ValueError),
    ],
)
def test_wrong_functions(eager: Library, functions: Any, message: str, kind: Any) -> None:
    given = {"solve": by_elimination, "transpose_solve": transposed_by_elimination, **functions}
    matvec = given.pop("matvec", lambda x, a: a @ x)
    with pytest.raises(kind, match=message):
        grad(lambda a, b: total(custom_linear_solve(matvec, b, args=(a,), **given)), BOTH)(
            eager.asarray(A), eager.asarray(B)
        )
    if "transpose_solve" not in functions:
        with pytest.raises(kind, match=message):
            custom_linear_solve(matvec, eager.asarray(B), args=(eager.asarray(A),), **given)


def test_forward_mode_needs_no_transposed_solver(eager: Library) -> None:
    f = lambda a, b: custom_linear_solve(lambda x, a: a @ x, b, solve=by_elimination, args=(a,))
    a, b = eager.asarray(A), eager.asarray(B)
    x, dx = jvp(f, (a, b), (a, b))
    eager.assert_equal(x, np.linalg.solve(A, B), rtol=1e-13)
    eager.assert_equal(dx, np.zeros(3), atol=1e-14)
    assert trees.structure(dx) == trees.structure(x)
