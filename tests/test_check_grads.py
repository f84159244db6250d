"""The check of derivatives passes what is right and finds what is wrong, in each mode and order."""

from typing import Any

import numpy as np
import pytest

from tests.libraries import LIBRARIES, Library
from tests.test_derivatives import NAMESPACE
from xpand_extensions.autodiff import check_grads, custom_jvp, custom_vjp

X, Y = np.asarray([0.3, -0.7, 1.2]), np.asarray([1.5, 0.4, -0.2])


@pytest.fixture(params=LIBRARIES, ids=str)
def able(request: pytest.FixtureRequest) -> Library:
    return request.param


def sine(x: Any) -> Any:
    return NAMESPACE(x).sin(x)


def cosine(x: Any) -> Any:
    return NAMESPACE(x).cos(x)


def smooth(tree: Any, y: Any) -> Any:
    xp = NAMESPACE(y)
    return {"a": xp.sin(tree["x"]) * y, "b": (xp.sum(xp.exp(y)), None), "n": xp.astype(y, xp.int32)}


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
def test_right_derivatives(able: Library, dtype: str) -> None:
    x, y = (able.asarray((each + (0.5j if dtype == "complex128" else 0)).astype(dtype)) for each in (X, Y))
    f = smooth if dtype != "complex128" else lambda tree, y: NAMESPACE(y).conj(tree["x"]) * y * y
    check_grads(f, ({"x": x}, y), 2 if dtype != "float32" else 1)


def test_wrong_derivatives(able: Library) -> None:
    x = able.asarray(X)
    f = custom_jvp(sine)
    f.defjvp(lambda p, t: (sine(p[0]), 1.00001 * cosine(p[0]) * t[0]))
    with pytest.raises(AssertionError, match=r"(?s)check_grads: fwd: output\['a'\]\[0\]: differences give .*derivative is"):
        check_grads(lambda x: {"a": [f(x)]}, (x,))
    with pytest.raises(AssertionError, match="check_grads: rev: the product of the differences"):
        check_grads(f, (x,), modes="rev")
    check_grads(f, (x,), rtol=1e-3)
    g = custom_vjp(sine)
    g.defvjp(lambda x: (sine(x), x), lambda x, g: (2.0 * g * cosine(x),))
    with pytest.raises(AssertionError, match="check_grads: rev"):
        check_grads(g, (x,), modes=["rev"])


def test_wrong_second_derivatives(able: Library) -> None:
    x = able.asarray(X)
    wrong = custom_jvp(cosine)
    wrong.defjvp(lambda p, t: (cosine(p[0]), -1.1 * sine(p[0]) * t[0]))
    f = custom_jvp(sine)
    f.defjvp(lambda p, t: (f(p[0]), wrong(p[0]) * t[0]))
    check_grads(f, (x,), 1)
    for mode in ("fwd", "rev"):
        with pytest.raises(AssertionError, match=f"check_grads: {mode} > {mode}"):
            check_grads(f, (x,), 2, modes=mode)


def test_bad_input(able: Library) -> None:
    x = able.asarray(X)
    with pytest.raises(TypeError, match="check_grads: args must be a tuple or a list"):
        check_grads(sine, x)
    with pytest.raises(ValueError, match="check_grads: order must be at least 1, got 0"):
        check_grads(sine, (x,), 0)
    with pytest.raises(ValueError, match="check_grads: modes"):
        check_grads(sine, (x,), modes="both")
    with pytest.raises(TypeError, match="check_grads: args must have floating-point data types"):
        check_grads(sine, (able.asarray([1, 2]),))
    with pytest.raises(TypeError, match="check_grads: takes a function, got int"):
        check_grads(3, (x,))  # type: ignore[arg-type]
