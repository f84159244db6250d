"""Solvers and optimizers of lazy arrays: planned step by step, differentiated, mapped and compiled without values."""

from typing import Any

import numpy as np
import pytest

import xpand
from tests.laziness import nothing_computed
from tests.systems import convection_diffusion, poisson, vector
from xpand_extensions.autodiff import grad, hessian, jvp
from xpand_extensions.jit import jit
from xpand_extensions.linear_solve import solve
from xpand_extensions.optimize import minimize
from xpand_extensions.vmap import vmap

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
SIZE = 2


def lazy(x: np.ndarray) -> Any:
    return da.from_array(x, chunks=1)


def squares(x: Any) -> Any:
    return xpand.array_namespace(x).sum(x * x)


def test_solutions_have_derivatives() -> None:
    a, b = convection_diffusion(0.5, SIZE), vector(SIZE)
    inverse = np.linalg.inv(a)

    def loss(a: Any, b: Any) -> Any:
        return squares(solve(a, b, method="bicgstab", max_steps=SIZE, rtol=1e-12).x)

    with nothing_computed():
        of_a, of_b = grad(loss, argnums=(0, 1))(lazy(a), lazy(b))
        _, tangent = jvp(lambda b: loss(lazy(a), b), (lazy(b),), (lazy(np.ones(SIZE)),))
    x = inverse @ b
    np.testing.assert_allclose(np.asarray(of_b), 2 * inverse.T @ x, rtol=1e-9)
    np.testing.assert_allclose(np.asarray(of_a), -np.outer(2 * inverse.T @ x, x), rtol=1e-9)
    np.testing.assert_allclose(float(np.asarray(tangent)), 2 * x @ inverse @ np.ones(SIZE), rtol=1e-9)


def test_second_derivatives() -> None:
    a, b = poisson(SIZE), vector(SIZE)
    inverse = np.linalg.inv(a)
    loss = lambda b: squares(solve(lazy(a), b, method="cg", max_steps=SIZE, rtol=1e-12).x)
    np.testing.assert_allclose(np.asarray(hessian(loss)(lazy(b))), 2 * inverse.T @ inverse, rtol=1e-8)


def test_solutions_are_mapped_and_compiled() -> None:
    a, b = poisson(SIZE), np.stack([vector(SIZE), np.zeros(SIZE)])
    found = lambda b: solve(lazy(a), b, method="cg", max_steps=SIZE)
    with nothing_computed():
        mapped = vmap(found)(lazy(b))
        compiled = jit(found)(lazy(b[0]))
    np.testing.assert_allclose(np.asarray(mapped.x), b @ np.linalg.inv(a).T, rtol=1e-9, atol=1e-12)
    assert np.asarray(mapped.status).tolist() == [0, 0]
    # A zero right-hand side is solved by zero before the first step; the other system continues alone.
    assert np.asarray(mapped.iterations).tolist()[1] == 0
    assert int(np.asarray(mapped.iterations)[0]) > 0
    np.testing.assert_allclose(np.asarray(compiled.x), np.linalg.inv(a) @ b[0], rtol=1e-9)


def test_a_status_says_what_has_not_converged() -> None:
    a, b = poisson(3), np.stack([vector(3), np.zeros(3)])
    status = vmap(lambda b: solve(lazy(a), b, method="cg", max_steps=1).status)(lazy(b))
    assert np.asarray(status).tolist() == [1, 0]


def test_a_number_of_steps_must_be_given_under_transformations_too() -> None:
    for transformed in (lambda f: f, jit, vmap, grad):
        b = np.ones((2, 300)) if transformed is vmap else np.ones(300)
        loss = lambda b: squares(solve(lambda x: 2.0 * x, b, method="cg").x)
        with pytest.raises(xpand.UnsupportedError, match="give max_steps, at most 500"):
            transformed(loss)(lazy(b))
    with pytest.raises(xpand.UnsupportedError, match="give lazy_steps|max_steps"):
        vmap(lambda x: minimize(lambda x: squares(x - 1.0), x, method="gradient-descent").x)(lazy(np.zeros((2, 2))))


def test_minima_are_mapped() -> None:
    goals = np.asarray([[1.0, 2.0], [0.0, 0.5]])

    def nearest(goal: Any) -> Any:
        return minimize(lambda x, goal: squares(x - goal), 0.0 * goal, args=(goal,), method="bfgs", max_steps=2).x

    np.testing.assert_allclose(np.asarray(vmap(nearest)(lazy(goals))), goals, rtol=1e-6)


@pytest.mark.parametrize("compute", [
    lambda x: x.compute(),
    lambda x: x.persist(),
    lambda x: dask.compute(x),
    lambda x: dask.persist(x),
    lambda x: dask.optimize(x)[0].sum().compute(),
    lambda x: x[x > 0].compute_chunk_sizes(),
    np.asarray,
    lambda x: float(x[0]),
    lambda x: bool(x[0]),
    lambda x: int(x[0]),
    lambda x: x.to_delayed()[0].compute(),
])  # fmt: skip
def test_whatever_computes_is_noticed(compute: Any) -> None:
    x = lazy(np.arange(1.0, 4.0))
    with pytest.raises(AssertionError, match="a lazy array was computed"), nothing_computed():
        compute(x)
    compute(x)
