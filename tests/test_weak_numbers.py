"""Python numbers that enter a transformation are weakly typed, and functions may take no arrays at all."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch

from tests.libraries import LIBRARIES, Library
from xpand import array_namespace
from xpand_extensions.autodiff import checkpoint, custom_jvp, custom_vjp, grad, jvp, linearize, value_and_grad, vjp
from xpand_extensions.control_flow import cond, fori_loop, scan, switch, while_loop
from xpand_extensions.jit import eval_shape, jit
from xpand_extensions.vmap import vmap

EACH = pytest.mark.parametrize("library", LIBRARIES, ids=str)
NOT_LAZY = [library for library in LIBRARIES if not library.lazy]


def _with_jvp(x: Any) -> Callable[..., Any]:
    f = custom_jvp(lambda s: s * x)
    f.defjvp(lambda primals, tangents: (primals[0] * x, tangents[0] * x))
    return f


def _with_vjp(x: Any) -> Callable[..., Any]:
    f = custom_vjp(lambda s, y: s * y)
    f.defvjp(lambda s, y: (s * y, s), lambda s, g: (None, s * g))
    return lambda s: f(s, x)


PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "vmap": lambda x: vmap(lambda s, x: s * x, in_axes=(None, 0))(2.0, x),
    "vmap integer": lambda x: vmap(lambda s, x: s * x, in_axes=(None, 0))(2, x),
    "cond": lambda x: cond(True, lambda s: s * x, lambda s: x, 2.0),
    "cond of an array": lambda x: cond(x[0] > 0, lambda s, y: s * y, lambda s, y: y, 2.0, x),
    "switch": lambda x: switch(0, (lambda s: s * x, lambda s: x), 2),
    "checkpoint": lambda x: checkpoint(lambda s: s * x)(2.0),
    "checkpoint of an array": lambda x: checkpoint(lambda s, y: s * y["y"])(2.0, {"y": x}),
    "custom_jvp": lambda x: _with_jvp(x)(2.0),
    "custom_vjp": lambda x: _with_vjp(x)(2.0),
    "fori_loop": lambda x: fori_loop(0, 2, lambda i, c: c + x[i], 0.0),
    "fori_loop integer": lambda x: fori_loop(0, 2, lambda i, c: c + x[0], 0),
    "fori_loop one by the other": lambda x: fori_loop(0, 2, lambda i, c: (c[0] + x[0], c[1] + c[0]), (0.0, 1.0))[1],
    "while_loop": lambda x: while_loop(lambda c: c[0] < 2, lambda c: (c[0] + 1, c[1] * x[0]), (0, 1.0), max_iter=3)[1],
    "scan": lambda x: scan(lambda c, y: (c + y, c), 0.0, x)[0],
    "scan of a constant": lambda x: scan(lambda c, _: (c + x[0], c * x), 0.0, None, length=2)[1],
    "jvp": lambda x: jvp(lambda s, y: s * y, (2.0, x), (1.0, x))[1],
    "value_and_grad": lambda x: value_and_grad(lambda s, y: (s * y)[0])(2.0, x)[0],
}


@pytest.mark.parametrize("library", NOT_LAZY, ids=str)
@pytest.mark.parametrize("name", PROGRAMS)
def test_numbers_take_the_data_type_of_arrays(library: Library, name: str) -> None:
    x = library.asarray([1.5, 2.5], "float32")
    result = PROGRAMS[name](x)
    assert array_namespace(result) is library.xp
    assert result.dtype == library.xp.float32


# One library that is traced and has 64-bit numbers by default; JAX traces the loops of the test above, too.
@pytest.mark.parametrize("name", PROGRAMS)
def test_numbers_take_the_data_type_of_traced_arrays(name: str) -> None:
    x = np.asarray([1.5, 2.5], np.float32)
    program = PROGRAMS[name]
    assert eval_shape(program, x).dtype == np.float32
    assert vjp(program, x)[0].dtype == np.float32
    assert vmap(program)(x[None]).dtype == np.float32


@pytest.mark.parametrize("name", PROGRAMS)
def test_numbers_are_as_on_jax(name: str) -> None:
    expected = jax.eval_shape(PROGRAMS[name], jax.ShapeDtypeStruct((2,), jnp.float32))
    assert expected.dtype == jnp.float32
    x = np.asarray([1.5, 2.5])
    narrow, wide = PROGRAMS[name](x.astype(np.float32)), PROGRAMS[name](x)
    assert wide.dtype == np.float64
    np.testing.assert_allclose(narrow, wide, rtol=1e-6)


def test_derivatives_beside_numbers() -> None:
    x = np.asarray([1.5, 2.5], np.float32)
    for name in ("cond", "cond of an array", "checkpoint of an array", "custom_vjp", "fori_loop", "scan"):
        total = lambda x, name=name: array_namespace(x).sum(PROGRAMS[name](x))
        gradient = grad(total)(x)
        assert gradient.dtype == np.float32
        np.testing.assert_allclose(gradient, jax.grad(total)(jnp.asarray(x)), rtol=1e-6)


def test_numbers_alone_have_the_default_data_type() -> None:
    double = lambda c: 2 * c
    for result in (
        cond(True, double, double, 1.5),
        checkpoint(double)(1.5),
        fori_loop(0, 1, lambda i, c: 2 * c, 1.5),
        while_loop(lambda c: c < 3, double, 1.5),
        fori_loop(0, 0, lambda i, c: 2 * c, 3.0),
    ):
        assert result.dtype == np.float64
        assert float(result) == 3.0
    assert jvp(double, (1.5,), (1.0,))[1].dtype == np.float64


def test_functions_that_take_arrays_alone() -> None:
    """A step that asks a number for what only arrays have is called with an array."""
    x = np.asarray([1.0, 2.0])
    result = fori_loop(0, 2, lambda i, c: np.where(c.shape == (), c, 0.0) + x[i], 0.0)
    assert float(result) == 3.0


@EACH
def test_no_arrays(library: Library) -> None:
    x = library.asarray([1.0, 2.0])
    library.assert_equal(checkpoint(lambda: 2 * x)(), [2.0, 4.0])
    value, tangent = jvp(lambda: 2 * x, (), ())
    library.assert_equal(value, [2.0, 4.0])
    library.assert_equal(tangent, [0.0, 0.0])
    value, pullback = vjp(lambda: 2 * x)
    library.assert_equal(value, [2.0, 4.0])
    assert pullback(x) == ()
    value, push = linearize(lambda: 2 * x)
    library.assert_equal(push(), [0.0, 0.0])
    f = custom_jvp(lambda: 2 * x)
    f.defjvp(lambda primals, tangents: (2 * x, 0 * x))
    library.assert_equal(f(), [2.0, 4.0])
    g = custom_vjp(lambda: 2 * x)
    g.defvjp(lambda: (2 * x, None), lambda residuals, cotangent: ())
    library.assert_equal(g(), [2.0, 4.0])
    library.assert_equal(cond(True, lambda: 2 * x, lambda: x), [2.0, 4.0])


@pytest.mark.parametrize("library", NOT_LAZY, ids=str)
def test_loops_without_arrays(library: Library) -> None:
    x = library.asarray([1.0, 2.0])
    carry, rows = scan(lambda c, _: (None, 2 * x), None, None, length=3)
    assert carry is None
    library.assert_equal(rows, [[2.0, 4.0]] * 3)
    assert while_loop(lambda _: False, lambda _: (), ()) == ()
    assert while_loop(lambda _: True, lambda c: c, (None, []), max_iter=2) == (None, [])
    assert fori_loop(0, 2, lambda i, c: c, {}) == {}


@pytest.mark.parametrize("library", NOT_LAZY, ids=str)
def test_loops_that_begin_with_numbers_take_the_library_of_what_they_close_over(library: Library) -> None:
    t = library.asarray([1.0, 2.0])
    library.assert_equal(fori_loop(0, 2, lambda i, c: c + t[i], 0.0), 3.0)
    library.assert_equal(fori_loop(0, 2, lambda i, c: t[0] + c, 0), 2.0)
    library.assert_equal(scan(lambda c, _: (c + t[0], c), 0.0, None, length=2)[1], [0.0, 1.0])
    library.assert_equal(while_loop(lambda c: c < 3 * t[0], lambda c: c + t[0], 0.0), 3.0)
    last = while_loop(lambda c: c < 3 * t[0], lambda c: c + 1, 0.0)
    assert float(last) == 3.0
    assert array_namespace(last) is library.xp


def test_loops_that_begin_with_numbers_in_compiled_functions() -> None:
    program = lambda t: fori_loop(0, 2, lambda i, c: c + t[i], 0.0)
    assert float(jit(program)(jnp.asarray([1.0, 2.0]))) == 3.0
    np.testing.assert_array_equal(grad(program)(torch.tensor([1.0, 2.0])), [1.0, 1.0])


@EACH
def test_vmap_passes_what_is_no_array(library: Library) -> None:
    x = library.asarray([1.0, 2.0])
    seen = []

    def apply(f: Any, options: Any, x: Any) -> Any:
        seen.append((f, options))
        return f(x) * options["scale"]

    result = vmap(apply, in_axes=(None, None, 0))(abs, {"scale": 3, "name": "text"}, x)
    library.assert_equal(result, [3.0, 6.0])
    assert seen[0] == (abs, {"scale": 3, "name": "text"})
    with pytest.raises(TypeError, match="vmap: the arguments hold str"):
        vmap(apply, in_axes=(None, 0, 0))(abs, {"name": "text"}, x)
