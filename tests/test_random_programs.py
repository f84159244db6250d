"""Random programs of functions within functions, which use what is around all of them: PyTorch against NumPy."""

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from tests.test_derivatives import NAMESPACE, total
from xpand_extensions import linalg
from xpand_extensions.autodiff import (
    checkpoint,
    custom_jvp,
    custom_linear_solve,
    custom_root,
    custom_vjp,
    grad,
    jvp,
    stop_gradient,
    vjp,
)
from xpand_extensions.control_flow import associative_scan, cond, fori_loop, scan, switch, while_loop
from xpand_extensions.jit import ShapeDtype, jit, pure_callback
from xpand_extensions.vmap import psum, vmap

Function = Callable[[Any], Any]


def sin(x: Any) -> Any:
    return NAMESPACE(x).sin(x)


def tanh(x: Any) -> Any:
    return NAMESPACE(x).tanh(x)


def stacked(*xs: Any) -> Any:
    return NAMESPACE(*xs).stack(xs)


@custom_vjp
def by_reverse_rule(x: Any, y: Any) -> Any:
    return sin(x) * y


by_reverse_rule.defvjp(
    lambda x, y: (sin(x) * y, (x, y)),
    lambda residuals, ct: (ct * NAMESPACE(ct).cos(residuals[0]) * residuals[1], ct * sin(residuals[0])),
)


@custom_jvp
def by_forward_rule(x: Any, y: Any) -> Any:
    return tanh(x) * y


@by_forward_rule.defjvp
def _forward(primals: Any, tangents: Any) -> Any:
    (x, y), (t, u) = primals, tangents
    return tanh(x) * y, t * (1.0 - tanh(x) ** 2) * y + u * tanh(x)


def root(x: Any, y: Any) -> Any:
    def newton(z: Any) -> Any:
        for _ in range(30):
            z = z - (z**3 + z - x - y * y) / (3.0 * z * z + 1.0)
        return z

    return custom_root(lambda z: z**3 + z - x - y * y, x * 0.0, solve=newton)


def solution(x: Any, y: Any) -> Any:
    return custom_linear_solve(lambda z: (2.0 + x * x) * z, y, solve=lambda b: b / (2.0 + x * x), symmetric=True)


def host_sine(x: Any) -> Any:
    return pure_callback(np.sin, ShapeDtype(x.shape, x.dtype), stop_gradient(x), vmap_method="broadcast_all")


def leaf(choose: random.Random, x: Any, y: Any) -> Function:
    """Choose a function of one number that uses two from outside."""
    return choose.choice([
        lambda c: sin(c) * x + y,
        lambda c: tanh(c) * abs(x) - y,
        lambda c: NAMESPACE(c, x).where(c > x, c * y, x * c),
        lambda c: by_reverse_rule(c, x) + y,
        lambda c: by_forward_rule(c, y) * x,
        lambda c: c * host_sine(x),
        lambda c: linalg.expm(stacked(stacked(c, x), stacked(y, c)) * 0.1)[0, 1],
        lambda c: root(c, x) * 0.5 + y,
        lambda c: solution(c, x * y),
        lambda c: jvp(lambda z: sin(z) * x, (c,), (y,))[1],
        lambda c: grad(lambda z: sin(z * x) * z * y)(c),
        lambda c: vjp(lambda z, w: sin(z * w) * x, c, y)[1](c)[1],
        lambda c: checkpoint(lambda z: sin(z) * x * y)(c),
        lambda c: total(vmap(lambda z: z * c + y)(stacked(x, c))),
        lambda c: vmap(lambda z: z * x - psum(z * y, "i"), axis_name="i")(stacked(x, c))[0],
        lambda c: associative_scan(lambda a, b: a * b, stacked(c, x, y))[2],
    ])  # fmt: skip


def program(choose: random.Random, x: Any, y: Any, depth: int) -> Function:
    """Choose a function that calls others, to a depth, all of which use two numbers from outside, or from around."""
    if depth == 0:
        return leaf(choose, x, y)
    number, length = choose.randrange(16), choose.choice([2, 3, 9])
    seeds = choose.random(), choose.random()

    def inner(a: Any, b: Any) -> Function:
        return program(random.Random(seeds[0]), a, b, depth - 1)

    def bounded(holds: Function, step: Function, c: Any, most: int) -> Any:
        zero = NAMESPACE(c).asarray(0)
        return while_loop(lambda d: holds(d), lambda d: (step(d[0]), d[1] + 1), (c, zero), max_iter=most)[0]

    same, other = inner(x, y), leaf(random.Random(seeds[1]), x, y)
    return [
        lambda c: scan(lambda d, z: (tanh(same(d) * 0.7 + z), d * z), c, stacked(x, y, c))[0],
        lambda c: total(scan(lambda d, z: (tanh(inner(z, d)(d)), d * z), c, stacked(x, y))[1]),
        lambda c: fori_loop(0, length, lambda i, d: tanh(same(d) + other(d)), c),
        lambda c: bounded(lambda d: d[1] < min(length, 4), lambda d: tanh(same(d)) + 0.1 * d, c, length),
        lambda c: bounded(lambda d: (d[0] < 0.9) & (d[1] < 3), lambda d: tanh(same(d)) ** 2 + d + 0.3, c, 6),
        lambda c: cond(c > x, same, other, c),
        lambda c: cond(y > c, lambda d: inner(d, y)(d), other, c),
        lambda c: switch(NAMESPACE(c).astype(c > 0, NAMESPACE(c).int32), [same, other], c),
        lambda c: checkpoint(same)(c),
        lambda c: checkpoint(lambda d, e: inner(d, e)(d))(c, x),
        lambda c: grad(lambda d: tanh(same(d)) * d)(c),
        lambda c: jvp(lambda d: inner(d, x)(d), (c,), (y,))[1],
        lambda c: total(vmap(lambda d: same(d) * d)(stacked(c, y))),
        lambda c: total(vmap(lambda d, e: inner(d, e)(d), in_axes=(0, None))(stacked(c, y), x)),
        lambda c: jit(lambda d, e: inner(d, e)(d + e))(c, x),
        lambda c: total(vmap(grad(same))(stacked(c, x))),
    ][number]  # fmt: skip


X, Y = np.asarray([0.7, -0.4, 0.2]), np.asarray([0.3, 0.5, -0.8])


def transformed(f: Callable[[Any, Any], Any]) -> dict[str, Callable[[Any, Any], Any]]:
    """Of vectors; those of numbers at the first elements."""
    of_numbers: dict[str, Callable[[Any, Any], Any]] = {
        "value": f,
        "grad": grad(f),
        "grad in both": lambda x, y: stacked(*grad(f, (0, 1))(x, y)),
        "grad(grad)": grad(grad(f), 1),
        "jvp": lambda x, y: jvp(f, (x, y), (y, x))[1],
        "jvp(grad)": lambda x, y: jvp(grad(f), (x, y), (y, x))[1],
        "grad(jvp)": grad(lambda x, y: jvp(f, (x, y), (y, x))[1]),
        "jvp(jvp)": lambda x, y: jvp(lambda x, y: jvp(f, (x, y), (y, x))[1], (x, y), (x, y))[1],
        "grad(jit)": grad(jit(f), 1),
    }
    return {
        **{name: (lambda x, y, g=g: g(x[0], y[0])) for name, g in of_numbers.items()},
        "vmap": vmap(f),
        "vmap over one": lambda x, y: vmap(f, in_axes=(0, None))(x, y[0]),
        "vmap(grad)": vmap(grad(f, 1)),
        "vmap(grad) over one": lambda x, y: vmap(grad(f, 1), in_axes=(0, None))(x, y[0]),
        "grad(vmap)": grad(lambda x, y: total(vmap(f)(x, y))),
        "grad(vmap) over one": grad(lambda x, y: total(vmap(f, in_axes=(0, None))(x, y[0]))),
        "vmap(vmap)": lambda x, y: vmap(vmap(f, in_axes=(None, 0)), in_axes=(0, None))(x, y),
        "vmap(grad(grad))": vmap(grad(grad(f), 1)),
    }


@pytest.mark.parametrize("seed", range(16))
def test_random_program(seed: int) -> None:
    choose = random.Random(seed)
    depth, seed_of_program = choose.choice([1, 2, 2, 3, 3]), choose.random()
    of = transformed(lambda x, y: program(random.Random(seed_of_program), x, y, depth)(x * 0.9 + y * 0.1))
    for name in choose.sample(sorted(of), 3):
        try:
            expected = of[name](X, Y)
        except TypeError as error:  # of a rule for the other mode, on NumPy as on PyTorch
            if "forward mode" not in str(error):
                raise
            continue
        for call in (of[name], jit(of[name])):
            found = call(torch.from_numpy(X), torch.from_numpy(Y))
            np.testing.assert_allclose(found.numpy(), expected, rtol=1e-7, atol=1e-9, err_msg=f"{name}, {call}")


def test_checkpoints_in_two_loops_are_given_what_is_around_both() -> None:
    def loop(step: Function, c: Any) -> Any:
        zero = NAMESPACE(c).asarray(0)
        return while_loop(lambda d: d[1] < 3, lambda d: (tanh(step(d[0])) + 0.3, d[1] + 1), (c, zero), max_iter=5)[0]

    def f(x: Any, y: Any) -> Any:
        inner = checkpoint(lambda c, d: sin(c) * d)
        return loop(lambda c: loop(lambda d: inner(d, x), c), x * 0.9 + y * 0.1)

    x, y = np.asarray(0.7), np.asarray(0.3)
    for number in (0, 1):
        derivative = grad(f, number)
        for call in (derivative, jit(derivative)):
            found = call(torch.from_numpy(x), torch.from_numpy(y))
            np.testing.assert_allclose(found.numpy(), derivative(x, y), rtol=1e-9)


def test_derivatives_along_derivatives_of_what_is_closed_over() -> None:
    """Forward mode has one place for the tangents of all levels."""
    ways: list[Callable[[Any, Any], Any]] = [
        lambda e, x: cond(e > 0, lambda c: c * x, lambda c: c, e),
        lambda e, x: scan(lambda c, _: (c * x, None), e, None, length=20)[0],
        lambda e, x: while_loop(lambda c: c[1] < 2, lambda c: (c[0] * x, c[1] + 1), (e, NAMESPACE(e).asarray(0)))[0],
        lambda e, x: checkpoint(lambda c: c * x)(e),
        lambda e, x: solution(e, x),
    ]
    for way in ways:
        inner = lambda x, y, way=way: jvp(lambda e: way(e, x), (y,), (y,))[1]
        outer = lambda x, y, inner=inner: jvp(inner, (x, y), (y, x))[1]
        x, y = np.asarray(0.7), np.asarray(0.3)
        for call in (outer, jit(outer)):
            np.testing.assert_allclose(call(torch.from_numpy(x), torch.from_numpy(y)).numpy(), outer(x, y), rtol=1e-9)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.complex64], ids=str)
def test_tangents_have_the_data_type_of_what_they_are_of(dtype: torch.dtype) -> None:
    """PyTorch's of a Python number added to an array of no axes is float64."""
    x = torch.tensor(0.7, dtype=dtype)
    for f in (lambda x: 2.0 + x * x, lambda x: (2.0 + x * x) * x):
        along = lambda x, f=f: jvp(f, (x,), (x,))[1]
        for found in (along(x), jit(along)(x), jvp(along, (x,), (x,))[1], vmap(along)(torch.stack([x, x]))):
            assert found.dtype == dtype
