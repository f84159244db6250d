"""The check of derivatives passes what is right and finds what is wrong, in each mode and order."""

from typing import Any

import numpy as np
import pytest

import xpand
from tests.libraries import Library
from tests.test_derivatives import WITH_DERIVATIVES
from xpand_extensions.autodiff import check_grads, custom_jvp, custom_vjp

WITH_RULES = [library for library in WITH_DERIVATIVES if library.id in ("torch", "jax", "torch-cuda")]
X, Y = np.asarray([0.3, -0.7, 1.2]), np.asarray([1.5, 0.4, -0.2])


@pytest.fixture(params=WITH_RULES, ids=str)
def able(request: pytest.FixtureRequest) -> Library:
    return request.param


def smooth(tree: Any, y: Any) -> Any:
    xp = xpand.array_namespace(y)
    return {"a": xp.sin(tree["x"]) * y, "b": (xp.sum(xp.exp(y)), None), "n": xp.astype(y, xp.int32)}


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
def test_right_derivatives(able: Library, dtype: str) -> None:
    x, y = (able.asarray((each + (0.5j if dtype == "complex128" else 0)).astype(dtype)) for each in (X, Y))
    f = smooth if dtype != "complex128" else lambda tree, y: able.xp.conj(tree["x"]) * y * y
    check_grads(f, ({"x": x}, y), 2 if dtype != "float32" else 1)


def test_wrong_derivatives(able: Library) -> None:
    x = able.asarray(X)
    f = custom_jvp(lambda x: able.xp.sin(x))
    f.defjvp(lambda p, t: (able.xp.sin(p[0]), 1.00001 * able.xp.cos(p[0]) * t[0]))
    with pytest.raises(AssertionError, match=r"check_grads: fwd: output\['a'\]\[0\]: differences give .*derivative is"):
        check_grads(lambda x: {"a": [f(x)]}, (x,))
    with pytest.raises(AssertionError, match="check_grads: rev: the product of the differences"):
        check_grads(f, (x,), modes="rev")
    check_grads(f, (x,), rtol=1e-3)
    g = custom_vjp(lambda x: able.xp.sin(x))
    g.defvjp(lambda x: (able.xp.sin(x), x), lambda x, g: (2 * g * able.xp.cos(x),))
    with pytest.raises(AssertionError, match="check_grads: rev"):
        check_grads(g, (x,), modes=["rev"])


def test_wrong_second_derivatives(able: Library) -> None:
    x = able.asarray(X)
    cosine = custom_jvp(lambda x: able.xp.cos(x))
    cosine.defjvp(lambda p, t: (able.xp.cos(p[0]), -1.1 * able.xp.sin(p[0]) * t[0]))
    f = custom_jvp(lambda x: able.xp.sin(x))
    f.defjvp(lambda p, t: (f(p[0]), cosine(p[0]) * t[0]))
    check_grads(f, (x,), 1)
    for mode in ("fwd", "rev"):
        with pytest.raises(AssertionError, match=f"check_grads: {mode} > {mode}"):
            check_grads(f, (x,), 2, modes=mode)


def test_bad_input(able: Library) -> None:
    x = able.asarray(X)
    with pytest.raises(TypeError, match="check_grads: args must be a tuple or a list"):
        check_grads(able.xp.sin, x)
    with pytest.raises(ValueError, match="check_grads: order must be at least 1, got 0"):
        check_grads(able.xp.sin, (x,), 0)
    with pytest.raises(ValueError, match="check_grads: modes"):
        check_grads(able.xp.sin, (x,), modes="both")
    with pytest.raises(TypeError, match="check_grads: args must have floating-point data types"):
        check_grads(able.xp.sin, (able.asarray([1, 2]),))
    with pytest.raises(TypeError, match="check_grads: takes a function, got int"):
        check_grads(3, (x,))  # type: ignore[arg-type]
