"""Functions of xpand in graphs that PyTorch's own compiler makes."""

from typing import Any

import array_api_strict
import numpy as np
import pytest
import torch

from xpand import _kinds, array_namespace
from xpand_extensions import autodiff, control_flow, debug, linalg, linear_solve, optimize, vmap as mapping
from xpand_extensions._dispatch import OPERATIONS
from xpand_extensions._dtypes import is_narrow
from xpand_extensions.autodiff import checkpoint, custom_jvp, custom_linear_solve, custom_root, custom_vjp, grad
from xpand_extensions.control_flow import cond, fori_loop, map, scan, switch, while_loop
from xpand_extensions.jit import ShapeDtype, eval_shape, io_callback, jit, lower, make_graph, named_call, pure_callback
from xpand_extensions.plugins.torch._in_compile import _loops
from xpand_extensions.scatter import segment_sum
from xpand_extensions.vmap import axis_index, custom_vmap, pmap, psum, vmap

X = torch.linspace(0.1, 1.0, 5, dtype=torch.float64)
A = torch.eye(5, dtype=torch.float64) * 2.0 + 0.1


def compiled(function: Any, *args: Any) -> Any:
    torch.compiler.reset()
    return torch.compile(function, fullgraph=True, backend="eager")(*args)


def test_kinds_of_data_types_seen_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """PyTorch compiles no write into a table with data types of a library that compares them itself."""
    real = array_api_strict.float64
    monkeypatch.setattr(_kinds, "_kinds", {type(real): {real: "real"}})
    ids = torch.asarray([0, 1, 0])
    found = compiled(lambda x: segment_sum(x, ids, num_segments=2), torch.asarray([1.0, 2.0, 3.0]))
    assert found.tolist() == [4.0, 2.0]


def test_data_types_of_other_libraries_are_not_looked_at() -> None:
    """Facts about them are stored by type: torch.compile can't trace the hash of some, such as MLX's."""
    mlx = pytest.importorskip("mlx.core")
    assert not is_narrow(mlx, mlx.float32)
    x = torch.eye(2)
    found = compiled(linalg.expm, x)
    torch.testing.assert_close(found, torch.linalg.matrix_exp(x))


# Transformations inside the compiled function: the same results as outside


def f(x: Any) -> Any:
    xp = array_namespace(x)
    return xp.sum(xp.sin(x) * xp.exp(x))


def g(x: Any) -> Any:
    xp = array_namespace(x)
    return xp.sin(x) * xp.sum(x * x)


def total(x: Any) -> Any:
    return array_namespace(x).sum(x)


def two(x: Any) -> Any:
    return array_namespace(x).stack([x, 2.0 * x])


def root_or_line(x: Any) -> Any:
    """Return a value whose other branch has an infinite derivative at 0.5."""
    return cond(x > 0.5, lambda z: 3.0 * z, lambda z: array_namespace(z).sqrt(0.5 - z), x)


def doubled(x: Any, max_iter: Any = None) -> Any:
    return while_loop(lambda c: total(c) < 20.0, lambda c: c * 2.0, x, max_iter=max_iter)


def scanned(x: Any) -> Any:
    return scan(lambda c, row: (array_namespace(c).sin(c) * row + 0.1, c * row), x, two(x))


def counted(x: Any) -> Any:
    return fori_loop(0, 4, lambda i, c: c * i + 1.0, x)


def chosen(x: Any) -> Any:
    index = array_namespace(x).argmax(x)
    return switch(index, [lambda z: z, lambda z: z * z, lambda z: z**3], x)


DERIVATIVES: dict[str, Any] = {
    "grad": grad(f),
    "value_and_grad": autodiff.value_and_grad(lambda x: (f(x), {"aux": x * 2.0}), has_aux=True),
    "grad of a tree": grad(lambda tree: f(tree["a"] * tree["b"])),
    "grad of two": grad(lambda x, y: f(x * y), (0, 1)),
    "grad of complex numbers": lambda x: grad(lambda z: total(abs(z * z)))(torch.complex(x, x + 1.0)),
    "third derivatives": grad(lambda x: total(grad(lambda x: total(grad(f)(x)))(x))),
    "vjp": lambda x: autodiff.vjp(g, x)[1](x),
    "vjp with aux": lambda x: autodiff.vjp(lambda z: (g(z), z), x, has_aux=True)[2],
    "vjp of integers": lambda x: autodiff.vjp(lambda z: (array_namespace(z).argmax(z), g(z)), x)[0],
    "jvp": lambda x: autodiff.jvp(g, (x,), (x,)),
    "jvp of an expanded array": lambda x: autodiff.jvp(g, (x[:1].expand(5),), (x,)),
    "linearize": lambda x: autodiff.linearize(g, x)[1](x),
    "linear_transpose": lambda x: autodiff.linear_transpose(lambda z: A @ z, x)(x),
    "jacrev": autodiff.jacrev(g),
    "jacfwd": autodiff.jacfwd(g),
    "hessian": autodiff.hessian(f),
    "stop_gradient": grad(lambda x: f(x * autodiff.stop_gradient(x))),
    "checkpoint": grad(checkpoint(f)),
}
MAPS: dict[str, Any] = {
    "vmap": lambda x: vmap(g)(two(x)),
    "vmap of grad": lambda x: vmap(grad(f))(two(x)),
    "vmap over other axes": lambda x: vmap(lambda a, b: a @ b, in_axes=(1, None), out_axes=-1)(A, x),
    "vmap with shared results": lambda x: vmap(lambda a: (2.0 * a, x), out_axes=(0, None))(x),
    "axis_index": lambda x: vmap(lambda a: a * axis_index("i"), axis_name="i")(x),
    "vectorize": lambda x: mapping.vectorize(lambda a, b: a @ b, signature="(n),(n)->()")(A, x),
    "vmap of checkpoint": lambda x: vmap(checkpoint(g))(two(x)),
}
LOOPS: dict[str, Any] = {
    "scan": scanned,
    "scan backwards": lambda x: scan(lambda c, row: (c * row, c), x, A, reverse=True),
    "scan without rows": lambda x: scan(lambda c, row: (c * row, c), x, A[:0]),
    "map": lambda x: map(g, A),
    "map in batches": lambda x: map(g, A, batch_size=2),
    "fori_loop": counted,
    "fori_loop to an array": lambda x: fori_loop(0, torch.asarray(4), lambda i, c: c * i + 1.0, x),
    "while_loop": doubled,
    "while_loop with a bound": lambda x: doubled(x, 3),
    "while_loop at two steps": lambda x: doubled(x, (1, 3)),
    "cond": lambda x: root_or_line(x[0]),
    "switch": chosen,
    "associative_scan": lambda x: control_flow.associative_scan(lambda a, b: a * b, x),
    "branch in a scan": lambda x: scan(lambda c, _: (root_or_line(c[0]) * c, None), x, length=2),
    "branch in a branch": lambda x: cond(x[0] > 0.0, lambda z: root_or_line(z[0]), lambda z: z[1], x),
    "loop in a map": lambda x: map(doubled, two(x)),
    "loop in a loop": lambda x: while_loop(lambda c: total(c) < 40.0, lambda c: doubled(c * 2.0), x),
    "grad in a loop": lambda x: while_loop(lambda c: f(c) > 1.0, lambda c: c - 0.1 * grad(f)(c), x),
    "grad of scan": grad(lambda x: total(scanned(x)[1])),
    "grad of fori_loop": grad(lambda x: total(counted(x))),
    "grad of while_loop": grad(lambda x: total(doubled(x, 6))),
    "grad of switch": grad(lambda x: total(chosen(x))),
    "grad of associative_scan": grad(lambda x: total(control_flow.associative_scan(lambda a, b: a * b, x))),
    "vmap of scan": lambda x: vmap(scanned)(two(x)),
    "vmap of while_loop": lambda x: vmap(lambda x: doubled(x, 6))(two(x)),
    "vmap of cond": vmap(root_or_line),
    "vmap of grad of cond": vmap(grad(root_or_line)),
}
OTHERS: dict[str, Any] = {
    "jit": jit(g),
    "jit inside": lambda x: jit(lambda x, n: g(x) * n, static_argnums=1)(x, 2),
    "grad of jit": grad(jit(f)),
    "named_call": lambda x: named_call(g, name="g")(x),
    "named_call outside": named_call(g, name="g"),
    "solve": lambda x: linear_solve.solve(A, x).x,
    "cg": lambda x: linear_solve.solve(A, x, method="cg").x,
    "root": lambda x: optimize.root(lambda z: z * z - x, torch.ones_like(x)).x,
    "minimize": lambda x: optimize.minimize(lambda z: total((z - x) ** 2), torch.zeros_like(x)).x,
}
INSIDE = DERIVATIVES | MAPS | LOOPS | OTHERS


@pytest.mark.parametrize("name", INSIDE)
def test_inside(name: str) -> None:
    function = INSIDE[name]
    x = {"grad of a tree": {"a": X, "b": X + 1.0}}.get(name, X)
    args = (X, X + 1.0) if name == "grad of two" else (x,)
    torch.testing.assert_close(compiled(function, *args), function(*args), rtol=1e-12, atol=1e-12)


# Gradients of the compiled function by `backward`


sine_by_jvp = custom_jvp(lambda x: array_namespace(x).sin(x))
sine_by_jvp.defjvp(lambda primals, tangents: (sine_by_jvp(*primals), 3.0 * tangents[0]))
sine_by_vjp = custom_vjp(lambda x: array_namespace(x).sin(x))
sine_by_vjp.defvjp(lambda x: (sine_by_vjp(x), x), lambda x, ct: (5.0 * ct,))
branch_by_vjp = custom_vjp(lambda x: chosen(x))
branch_by_vjp.defvjp(lambda x: (branch_by_vjp(x), x), lambda x, ct: (chosen(x) * ct,))


def solved(a: Any, b: Any) -> Any:
    matvec, solve = lambda x, a: a @ x, lambda b, a: torch.linalg.solve(a, b)
    back = lambda b, a: torch.linalg.solve(a.mT, b)
    return custom_linear_solve(matvec, b, solve=solve, transpose_solve=back, args=(a,))


def square_root(x: Any) -> Any:
    return custom_root(lambda y, x: y * y - x, torch.ones_like(x), solve=lambda y, x: torch.sqrt(x), args=(x,))


BACKWARD: dict[str, tuple[Any, Any]] = {
    "custom_jvp": (sine_by_jvp, lambda x: torch.full_like(x, 3.0)),
    "custom_vjp": (sine_by_vjp, lambda x: torch.full_like(x, 5.0)),
    "custom_vjp with a branch": (branch_by_vjp, lambda x: x**3),
    "custom_vjp in a branch": (lambda x: cond(x[0] > 0.0, sine_by_vjp, lambda z: z, x), lambda x: 5.0 * x**0),
    "custom_linear_solve": (lambda x: solved(A, x), lambda x: torch.linalg.solve(A.mT, torch.ones_like(x))),
    "captured by custom_linear_solve": (
        lambda x: custom_linear_solve(lambda z: x * z, torch.ones_like(x), solve=lambda b: b / x, symmetric=True),
        lambda x: -1.0 / x**2,
    ),
    "custom_root": (square_root, lambda x: 0.5 / torch.sqrt(x)),
    "custom_root in a scan": (
        lambda x: scan(lambda c, _: (square_root(c), None), x, length=2)[0],
        lambda x: 0.25 * x**-0.75,
    ),
    "scan": (lambda x: scan(lambda c, _: (c * c, None), x, length=3)[0], lambda x: 8.0 * x**7),
    "while_loop": (doubled, lambda x: torch.full_like(x, 8.0)),
    "cond": (lambda x: cond(x[0] > 0.0, lambda z: z * z, lambda z: z, x), lambda x: 2.0 * x),
    "checkpoint": (checkpoint(lambda x: x**3), lambda x: 3.0 * x**2),
    "grad": (grad(lambda x: total(x**3)), lambda x: 6.0 * x),
    "vmap": (vmap(lambda x: x**3), lambda x: 3.0 * x**2),
    "stop_gradient": (lambda x: x * autodiff.stop_gradient(x), lambda x: x),
}


pytestmark = pytest.mark.filterwarnings(
    # Dynamo makes an instance of an autograd function, and PyTorch warns of such.
    "ignore:.*should not be instantiated:DeprecationWarning"
)


@pytest.mark.parametrize(("function", "slope"), BACKWARD.values(), ids=BACKWARD)
def test_backward(function: Any, slope: Any) -> None:
    x = X.clone().requires_grad_()
    compiled(function, x).sum().backward()
    torch.testing.assert_close(x.grad, slope(X), rtol=1e-12, atol=1e-12)


# What raises

_D5 = ShapeDtype((5,), torch.float64)
_WEIGHTS = torch.full((5,), 2.0, dtype=torch.float64, requires_grad=True)


weighted = custom_vjp(lambda x: x * _WEIGHTS)
weighted.defvjp(lambda x: (weighted(x), None), lambda _, ct: (ct,))
with_own_batches = custom_vmap(lambda x: 2.0 * x)
with_own_batches.def_vmap(lambda size, batched, x: (2.0 * x, True))


UNTRACEABLE: dict[str, Any] = {
    "make_graph": lambda x: make_graph(g)(x),
    "lower": lambda x: lower(g)(x),
    "eval_shape": lambda x: eval_shape(g, x),
    "pure_callback": lambda x: pure_callback(np.sin, _D5, x),
    "io_callback": lambda x: io_callback(np.sin, _D5, x),
    "callback": lambda x: debug.callback(print, x),
    "print": lambda x: debug.print("{}", x),
    "closure_convert": lambda x: autodiff.closure_convert(lambda z: z * x, x),
    "pmap": lambda x: pmap(g)(two(x)),
    "psum": lambda x: vmap(lambda a: psum(a, "i"), axis_name="i")(x),
}
REFUSED: dict[str, tuple[Any, str]] = {
    **{name: (call, f"{name}: torch.compile cannot trace it; use") for name, call in UNTRACEABLE.items()},
    "grad of custom_jvp": (grad(lambda x: total(sine_by_jvp(x))), "custom_jvp: inside torch.compile, functions with"),
    "vmap of custom_vjp": (vmap(sine_by_vjp), "custom_vjp: inside torch.compile, functions with derivatives"),
    "torch.func of custom_vjp": (torch.func.grad(lambda x: total(sine_by_vjp(x))), "custom_vjp: inside torch.compile"),
    "grad of custom_linear_solve": (grad(lambda x: total(solved(A, x))), "custom_linear_solve: inside torch.compile"),
    "jvp of custom_root": (lambda x: autodiff.jvp(square_root, (x,), (x,)), "custom_root: inside torch.compile"),
    "captured by custom_vjp": (weighted, "custom_vjp: inside torch.compile, a captured array that requires gradients"),
    "custom_vmap": (vmap(with_own_batches), "custom_vmap: inside torch.compile, functions with rules of their own"),
    "linear_transpose": (lambda x: autodiff.linear_transpose(g, x)(x), "linear_transpose: the function is not linear"),
    "grad of an endless loop": (grad(lambda x: total(doubled(x))), "while_loop: inside torch.compile, loops without"),
    "many steps": (
        lambda x: fori_loop(0, 10**6, lambda i, c: c, x),
        "fori_loop: torch.compile unrolls loops of at most",
    ),
    "many rows": (lambda x: scan(lambda c, _: (c, None), x, length=10**6), "scan: torch.compile unrolls loops of at"),
}


@pytest.mark.parametrize(("function", "message"), REFUSED.values(), ids=REFUSED)
def test_what_is_refused(function: Any, message: str) -> None:
    with pytest.raises(torch._dynamo.exc.TorchDynamoException, match=message):
        compiled(function, X.clone().requires_grad_())


@pytest.mark.parametrize("name", ["fori_loop", "scan", "while_loop"])
def test_the_largest_number_of_steps(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_loops, "_MAX_STEPS", 3)
    function = lambda count: {
        "fori_loop": lambda x: fori_loop(0, count, lambda i, c: c * 2.0, x),
        "scan": lambda x: scan(lambda c, _: (c * 2.0, None), x, length=count)[0],
        # Only loops within derivatives are unrolled.
        "while_loop": grad(lambda x: total(while_loop(lambda c: total(c) < 1e9, lambda c: c * 2.0, x, max_iter=count))),
    }[name]
    torch.testing.assert_close(compiled(function(3), X), function(3)(X))
    with pytest.raises(torch._dynamo.exc.TorchDynamoException, match=f"{name}: torch.compile unrolls loops of at most"):
        compiled(function(4), X)


@pytest.mark.parametrize("name", ["vmap of custom_vjp", "grad of custom_linear_solve", "grad of an endless loop"])
def test_what_is_refused_in_parts_of_a_program(name: str) -> None:
    """Without fullgraph=True, PyTorch would compile xpand's own tracing piece by piece, for minutes."""
    function, message = REFUSED[name]
    torch.compiler.reset()
    with pytest.raises(torch._dynamo.exc.TorchDynamoException, match=message):
        torch.compile(function, backend="eager")(X)


def test_nothing_of_xpands_tracing_is_traced() -> None:
    """Each operation whose generic version traces has another one for torch.compile."""
    for name in ("autodiff", "control_flow", "jit", "vmap"):
        vmap.native(X), cond.native(X)
        own = [x for x in OPERATIONS.values() if x.is_own and x.capability == name]
        assert own
        for operation in own:
            generic = operation.generic_implementation()
            facade = getattr(operation, "facade", None)
            module = __import__(f"xpand_extensions.{name}", fromlist=["_"])
            public = getattr(module, operation.name, facade)
            is_replaced = any(hasattr(x, "_torchdynamo_inline") for x in (generic, public))
            assert is_replaced or operation.name in TRACEABLE, operation.name


TRACEABLE = {
    *("associative_scan", "checkpoint_name", "is_differentiated", "stop_gradient"),  # need no tracing on PyTorch
    *("axis_around", "reused"),
}
