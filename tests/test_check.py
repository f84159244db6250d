"""`check`: raises on concrete arrays, is silent on traced ones, computes nothing lazy."""

import jax
import jax.numpy as jnp
import pytest
import torch

import xpand
from xpand import check


def test_concrete(eager_library):
    x = eager_library.asarray([1.0, 2.0])
    check(x > 0, "fine")
    check(eager_library.xp.all(x > 0), "fine")
    with pytest.raises(ValueError, match="must be above one"):
        check(x > 1, "must be above one")
    with pytest.raises(IndexError, match="must be above one"):
        check(x > 1, "must be above one", error=IndexError)


def test_empty_and_nan(eager_library):
    check(eager_library.asarray([], dtype="bool"), "an empty condition holds")
    check(eager_library.asarray(True), "0-d")
    with pytest.raises(ValueError, match="NaN compares false"):
        check(eager_library.asarray([float("nan")]) > 0, "NaN compares false")


def test_python_bool():
    check(True, "fine")
    with pytest.raises(ValueError, match="no"):
        check(False, "no")


@pytest.mark.parametrize("transform", [jax.jit, jax.vmap, lambda f: jax.jit(jax.grad(lambda x: f(x).sum()))])
def test_silent_under_jax(transform):
    def f(x):
        check(xpand.array_namespace(x).all(x > 5), "traced")
        return x * 2

    transform(f)(jnp.ones(3))


def test_a_comparison_under_grad_of_jax_is_concrete():
    def f(x):
        check(x > 0, "must be positive")
        return (x * 2).sum()

    assert jax.grad(f)(jnp.ones(3)).tolist() == [2, 2, 2]
    with pytest.raises(ValueError, match="must be positive"):
        jax.grad(f)(-jnp.ones(3))


def test_silent_under_torch_transformations():
    def f(x):
        check(x > 5, "traced")
        return (x * 2).sum()

    torch.func.vmap(f)(torch.ones(2, 3))
    torch.func.grad(f)(torch.ones(3))
    compiled = torch.compile(f, fullgraph=True, backend="eager")
    assert compiled(torch.ones(3)) == 6
    f(torch.ones(3, device="meta"))


def test_lazy_is_not_computed():
    da = pytest.importorskip("dask.array")
    import dask

    def refuse(*args, **kwargs):
        raise AssertionError("computed")

    x = da.ones(3, chunks=1)
    with dask.config.set(scheduler=refuse):
        check(x > 5, "lazy")


def test_bad_input(eager_library):
    with pytest.raises(TypeError, match="check: condition must be a bool or a boolean array, got an array of"):
        check(eager_library.asarray([1, 2]), "not boolean")
    for bad in (1, 1.0, "yes", None):
        with pytest.raises(TypeError, match="check: condition must be a bool or a boolean array, got"):
            check(bad, "not boolean")
