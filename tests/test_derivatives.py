"""Derivatives on every library: against JAX's own, with trees, of numbers of all kinds; bad input."""

from collections import namedtuple
from itertools import combinations
from threading import Thread
from typing import Any

import numpy as np
import pytest

import xpand
from tests.libraries import LIBRARIES, Library
from xpand import trees
from xpand_extensions import special
from xpand_extensions.autodiff import (
    grad,
    hessian,
    jacfwd,
    jacrev,
    jvp,
    linear_transpose,
    linearize,
    value_and_grad,
    vjp,
)
from xpand_extensions.jit import jit
from xpand_extensions.vmap import vmap

NAMESPACE = xpand.array_namespace
Pair = namedtuple("Pair", "left right")

X = np.asarray([0.5, -1.5, 2.0])
Y = np.asarray([[1.0, 2.0, 0.5], [0.25, -1.0, 3.0]])


@pytest.fixture(params=LIBRARIES, ids=str)
def able(request: pytest.FixtureRequest) -> Library:
    return request.param


def total(x: Any) -> Any:
    return NAMESPACE(x).sum(x)


def scalar(tree: Any) -> Any:
    """A number of a tree, by functions of all kinds."""
    x, y = tree["x"], tree["pair"].left
    xp = NAMESPACE(x)
    return xp.sum(xp.exp(y) @ xp.sin(x)) + xp.sum(special.erf(x)) * xp.prod(y[0, :])


def vector(x: Any, y: Any) -> Any:
    return {"product": NAMESPACE(x, y).matmul(y, x), "sum": total(x * x), "none": None}


def tree_of(library: Library) -> Any:
    return {"x": library.asarray(X), "pair": Pair(library.asarray(Y), (library.asarray(2.0),))}


def against_jax(library: Library, ours: Any, theirs: Any, *arrays: np.ndarray, rtol: float = 1e-12) -> None:
    """Compare a transformed function on a library with JAX's own transformation of it."""
    import jax

    given = [trees.map(lambda x: jax.numpy.asarray(np.asarray(x)), array) for array in arrays]
    expected = trees.leaves(theirs(*given))
    actual = trees.leaves(ours(*(trees.map(library.asarray, array) for array in arrays)))
    assert len(actual) == len(expected)
    for x, wanted in zip(actual, expected):
        library.assert_equal(x, np.asarray(wanted), rtol=rtol, atol=1e-14)


@pytest.mark.parametrize("argnums", [0, 1, (0, 1), (1, 0), -1, [0]])
def test_gradients_and_jacobians(able: Library, argnums: Any) -> None:
    import jax

    f = lambda x, y: total(vector(x, y)["product"] ** 3.0)
    numbers = tuple(argnums) if isinstance(argnums, list) else argnums
    against_jax(able, grad(f, argnums), jax.grad(f, numbers), X, Y)
    against_jax(able, value_and_grad(f, argnums), jax.value_and_grad(f, numbers), X, Y)
    against_jax(able, jacrev(vector, argnums), jax.jacrev(vector, numbers), X, Y)
    against_jax(able, jacfwd(vector, argnums), jax.jacfwd(vector, numbers), X, Y)
    against_jax(able, hessian(f, argnums), jax.hessian(f, numbers), X, Y)


def test_trees(able: Library) -> None:
    import jax

    tree = {"x": X, "pair": Pair(Y, (np.asarray(2.0),))}
    against_jax(able, grad(scalar), jax.grad(scalar), tree)
    found = grad(scalar)(tree_of(able))
    assert trees.structure(found) == trees.structure(tree)
    assert isinstance(found["pair"], Pair)
    against_jax(able, hessian(scalar), jax.hessian(scalar), tree)


def test_modes_agree(able: Library) -> None:
    x, y = able.asarray(X), able.asarray(Y)
    direction, weights = (
        able.asarray(X[::-1]),
        {"product": able.asarray([2.0, -1.0]), "sum": able.asarray(0.5), "none": None},
    )
    value, derivative = jvp(lambda x: vector(x, y), (x,), (direction,))
    again, pullback = vjp(lambda x: vector(x, y), x)
    (back,) = pullback(weights)
    for key in ("product", "sum"):
        able.assert_equal(value[key], able.to_numpy(again[key]))
    inner = lambda a, b: float(able.to_numpy(able.xp.sum(a * b)))
    forward = sum(inner(derivative[key], weights[key]) for key in ("product", "sum"))
    np.testing.assert_allclose(forward, inner(direction, back), rtol=1e-12)


def test_auxiliary_data(able: Library) -> None:
    def f(x: Any) -> Any:
        return total(x * x), {"twice": 2.0 * x, "text": "kept", "n": 3, "none": None}

    x = able.asarray(X)
    for function in (grad, value_and_grad, jacfwd, jacrev):
        result = function(f, has_aux=True)(x)
        aux = result[0][1] if function is value_and_grad else result[1]
        gradient = result[1] if function is value_and_grad else result[0]
        assert (aux["text"], aux["n"], aux["none"]) == ("kept", 3, None)
        if function is not jacfwd:  # there `aux` is of one of the calls that are mapped
            able.assert_equal(aux["twice"], 2 * X)
        able.assert_equal(gradient, 2 * X)
    value, pullback, aux = vjp(f, x, has_aux=True)
    able.assert_equal(pullback(able.xp.ones_like(value))[0], 2 * X)
    able.assert_equal(jvp(f, (x,), (x,), has_aux=True)[2]["twice"], 2 * X)


def test_complex_numbers_follow_jax(able: Library) -> None:
    import jax

    z = X + 1j * X[::-1]
    real = lambda z: total(NAMESPACE(z).real(z * z * z))
    against_jax(able, grad(real), jax.grad(real), z)
    cube = lambda z: total(z * z * z)
    against_jax(able, grad(cube, holomorphic=True), jax.grad(cube, holomorphic=True), z)
    jacobian = lambda z: z * z * z
    against_jax(able, jacrev(jacobian, holomorphic=True), jax.jacrev(jacobian, holomorphic=True), z)
    against_jax(able, jacfwd(jacobian, holomorphic=True), jax.jacfwd(jacobian, holomorphic=True), z)
    against_jax(able, lambda z: vjp(real, z)[1](1.0), lambda z: jax.vjp(real, z)[1](1.0), z)


def test_jacobians_between_real_and_complex_numbers_follow_jax(able: Library) -> None:
    """Forward mode takes real arguments, to complex outputs too; reverse mode complex ones, to real outputs."""
    import jax

    to_complex = lambda x: x * x * 1j + x
    against_jax(able, jacfwd(to_complex), jax.jacfwd(to_complex), X)
    to_real = lambda z: NAMESPACE(z).real(z * z * z)
    z = X + 1j * X[::-1]
    against_jax(able, jacrev(to_real), jax.jacrev(to_real), z)
    for function, f, x, what in (
        (jacrev, to_complex, X, "jacrev: the output must be real, got .*complex128; take its real part"),
        (jacfwd, to_real, z, "jacfwd: the arguments must be real, got .*complex128; take the real and the imaginary"),
        (hessian, lambda z: total(to_real(z)), z, "hessian: the arguments must be real, got .*complex128"),
        (hessian, lambda x: total(to_complex(x)), X, "hessian: the output must be real, got .*complex128"),
    ):
        with pytest.raises(TypeError, match=what):
            function(f)(able.asarray(x))


def test_compositions(able: Library) -> None:
    import jax

    f = lambda x: total(NAMESPACE(x).sin(x) * x)
    against_jax(able, vmap(grad(f)), jax.vmap(jax.grad(f)), Y)
    against_jax(able, vmap(hessian(f)), jax.vmap(jax.hessian(f)), Y)
    third = lambda g: lambda x: g(g(g(lambda x: x**4.0)))(x)
    against_jax(able, third(grad), third(jax.grad), np.asarray(1.5))
    against_jax(able, vmap(third(grad)), jax.vmap(third(jax.grad)), X)
    outer = lambda grad: grad(lambda x: total(grad(f)(x) ** 2.0))
    against_jax(able, outer(grad), outer(jax.grad), X)
    # One, where the perturbations of the two are not confused.
    perturbed = lambda grad: grad(lambda x: x * grad(lambda y: x + y)(x * 0.0))
    against_jax(able, perturbed(grad), perturbed(jax.grad), np.asarray(2.0))


def test_python_numbers_and_keywords(able: Library) -> None:
    f = lambda x, y, *, power: (x * y) ** power
    with xpand.use(able.xp):
        assert float(able.to_numpy(grad(f)(3.0, 2.0, power=2))) == 24.0
    assert float(able.to_numpy(grad(f, 1)(able.asarray(3.0), 2.0, power=2))) == 36.0


def test_integer_outputs_have_no_derivative(able: Library) -> None:
    f = lambda x: (x * 2.0, NAMESPACE(x).astype(x, able.xp.int32))
    x = able.asarray(X)
    outs, derivatives = jvp(f, (x,), (x,))
    able.assert_equal(outs[1], X.astype("int32"))
    able.assert_equal(derivatives[0], 2 * X)
    assert not able.to_numpy(derivatives[1]).any()
    outs, pullback = vjp(f, x)
    (back,) = pullback((x, outs[1]))
    able.assert_equal(back, 2 * X)
    largest, derivative = jvp(lambda x: NAMESPACE(x).argmax(x), (x,), (x,))
    assert (int(largest), int(derivative)) == (int(X.argmax()), 0)


def test_bad_input(able: Library) -> None:
    x, i = able.asarray(X), able.asarray([1, 2])
    with pytest.raises(TypeError, match="grad: takes a function, got int"):
        grad(3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="grad: argnums must be an integer, got 'x'"):
        grad(total, "x")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="grad: argnums names argument 1, and the function was called with 1"):
        grad(total, 1)(x)
    with pytest.raises(ValueError, match="gives an argument twice"):
        grad(lambda x, y: x, (0, -2))(x, x)
    with pytest.raises(TypeError, match="grad: the arguments must have floating-point data types.*got.*int64"):
        grad(total)(i)
    with pytest.raises(TypeError, match=r"grad: the function must return one number.*shapes \[\(3,\)\].*jacrev"):
        grad(lambda x: x)(x)
    with pytest.raises(TypeError, match="value_and_grad: the function must return one number"):
        value_and_grad(lambda x: (total(x), total(x)))(x)
    with pytest.raises(TypeError, match="grad: the output must be real, got.*complex.*holomorphic=True"):
        grad(lambda x: total(NAMESPACE(x).astype(x, able.xp.complex128)))(x)
    with pytest.raises(
        TypeError, match="with holomorphic=True the arguments must be complex|the output must be complex"
    ):
        jacrev(lambda x: x, holomorphic=True)(x)
    with pytest.raises(TypeError, match="grad: the function returned str"):
        grad(lambda x: "text")(x)
    with pytest.raises(TypeError, match="grad: the arguments hold str"):
        grad(total)("text")
    with pytest.raises(TypeError, match="grad: with has_aux=True the function must return a pair"):
        grad(total, has_aux=True)(x)
    with pytest.raises(TypeError, match="jvp: primals must be a tuple or a list"):
        jvp(total, x, x)
    with pytest.raises(TypeError, match="jvp: tangents must have the structure"):
        jvp(total, (x,), (x, x))
    with pytest.raises(ValueError, match=r"jvp: tangents must have the shape \(3,\), got \(2,\)"):
        jvp(total, (x,), (x[:2],))
    with pytest.raises(TypeError, match="jvp: tangents must have the data type"):
        jvp(total, (x,), (able.xp.astype(x, able.xp.float32),))
    with pytest.raises(TypeError, match="vjp: cotangents must have the structure"):
        vjp(total, x)[1]((x,))
    with pytest.raises(ValueError, match="vjp: cotangents must have the shape"):
        vjp(lambda x: x, x)[1](x[:1])


@pytest.mark.parametrize("value", [1j, complex(2.0)])
def test_complex_directions_of_real_arrays_are_refused(able: Library, value: complex) -> None:
    """Neither numbers nor arrays without axes lose their imaginary parts; real numbers for complex arrays are fine."""
    x, z = able.asarray(1.0), able.asarray(1.0 + 2.0j)
    double = lambda x: 2 * x
    calls: dict[str, Any] = {
        "vjp: cotangents": lambda x, t: vjp(double, x)[1](t),
        "jvp: tangents": lambda x, t: jvp(double, (x,), (t,)),
        "linearize: tangents": lambda x, t: linearize(double, x)[1](t),
        "linear_transpose: cotangents": lambda x, t: linear_transpose(double, x)(t),
    }
    for name, call in calls.items():
        for given in (value, able.asarray(value)):
            with pytest.raises(TypeError, match=f"{name} must be real, of the data type .*float64, got the complex"):
                call(x, given)
            call(z, given)
        call(z, 2.0)
    with pytest.raises(TypeError, match="cotangents must be real"), xpand.use(able.xp):
        vjp(double, 1.0)[1](value)
    with pytest.raises(TypeError, match="cotangents must be real, of the data type .*float64"):
        vjp(lambda z: NAMESPACE(z).real(z), z)[1](value)


def test_state_is_as_before_after_failing_calls(able: Library) -> None:
    x = able.asarray(X)

    def fails(x: Any) -> Any:
        raise ZeroDivisionError

    for _ in range(200):
        with pytest.raises(ZeroDivisionError):
            grad(fails)(x)
        with pytest.raises(ZeroDivisionError):
            vmap(grad(fails))(x)
    able.assert_equal(grad(lambda x: total(x * x))(x), 2 * X)


def test_threads(able: Library) -> None:
    """Threads don't affect each other, even if one fails."""
    x, f = able.asarray(X), lambda x: total(NAMESPACE(x).sin(x) * x)
    squares = lambda: vmap(grad(lambda a: a * a))(x)
    work = [lambda: grad(f)(x), lambda: hessian(f)(x), lambda: jvp(grad(f), (x,), (x,))[1], squares]
    expected = [able.to_numpy(each()) for each in work]
    errors: list[Exception] = []

    def run() -> None:
        try:
            for each, wanted in zip(work * 2, expected * 2):
                with pytest.raises(ZeroDivisionError):
                    jvp(lambda x: 1 // 0, (x,), (x,))
                able.assert_equal(each(), wanted)
        except Exception as error:
            errors.append(error)

    threads = [Thread(target=run) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors


def test_two_libraries_are_refused() -> None:
    for one, other in combinations((library for library in LIBRARIES if library.device is None), 2):
        with pytest.raises(TypeError, match="grad: takes arrays of one library"):
            grad(lambda x, y: x, (0, 1))(one.asarray(X), other.asarray(X))


def test_integers_have_zeros_for_gradients_where_they_are_allowed(able: Library) -> None:
    tree = {"x": able.asarray(X), "n": able.asarray([1, 2, 3])}
    f = lambda tree: total(tree["x"] * NAMESPACE(tree["n"]).astype(tree["n"], able.xp.float64))
    for found in (grad(f, allow_int=True)(tree), value_and_grad(f, allow_int=True)(tree)[1]):
        able.assert_equal(found["x"], np.asarray([1.0, 2.0, 3.0]))
        able.assert_equal(found["n"], np.asarray([0, 0, 0]))
    g = lambda tree: tree["x"] * NAMESPACE(tree["n"]).astype(tree["n"], able.xp.float64)
    found = jacrev(g, allow_int=True)(tree)
    able.assert_equal(found["x"], np.diag([1.0, 2.0, 3.0]))
    able.assert_equal(found["n"], np.zeros((3, 3), dtype=int))
    able.assert_equal(grad(lambda n: able.asarray(2.0), allow_int=True)(tree["n"]), np.asarray([0, 0, 0]))
    with pytest.raises(TypeError, match="floating-point data types"):
        grad(f)(tree)


def test_infinite_derivatives_are_no_warning(eager_library: Library) -> None:
    root, x, ones = (
        (lambda x: total(NAMESPACE(x).sqrt(x))),
        *map(eager_library.asarray, (np.asarray([0.0, 1.0]), np.ones(2))),
    )
    expected = np.asarray([np.inf, 0.5])
    eager_library.assert_equal(grad(root)(x), expected)
    eager_library.assert_equal(jvp(root, (x,), (ones,))[1], np.asarray(np.inf))
    eager_library.assert_equal(jacfwd(grad(root))(x)[0, 0], np.asarray(-np.inf))
    eager_library.assert_equal(grad(lambda x: total(x / NAMESPACE(x).zeros_like(x)))(ones), np.full(2, np.inf))


def test_infinite_derivatives_are_no_warning_where_compiled() -> None:
    root = lambda x: NAMESPACE(x).sqrt(x)
    compiled = jit(grad(root))
    assert np.isinf(compiled(np.asarray(0.0)))
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError, match="divide by zero"):
        compiled(np.asarray(0.0))
    with pytest.warns(RuntimeWarning, match="divide by zero"):  # of what is no derivative it does
        jit(lambda x: 1.0 / x)(np.asarray(0.0))


def test_numpy_still_raises_where_it_was_told_to() -> None:
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError, match="divide by zero"):
        grad(lambda x: NAMESPACE(x).sqrt(x))(np.asarray(0.0))
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        np.ones(2) / np.zeros(2)  # as before


def test_trees_without_arrays(able: Library) -> None:
    x = able.asarray(X)
    f = lambda tree: NAMESPACE(x).sum(x) if not tree["none"] else None
    empty: Any = {"none": [], "more": ()}
    assert grad(f)(empty) == empty
    value, found = value_and_grad(lambda empty, x: NAMESPACE(x).sum(x), argnums=(0, 1))(empty, x)
    able.assert_equal(value, X.sum(), rtol=1e-15)
    assert found[0] == empty
    able.assert_equal(found[1], np.ones(3))
    assert jacrev(lambda _: x)(()) == jacfwd(lambda _: x)(()) == ()
    able.assert_equal(jvp(lambda _: x, (empty,), (empty,))[1], np.zeros(3))
    assert vjp(lambda _: x, empty)[1](x) == (empty,)
    able.assert_equal(linearize(lambda _: x, empty)[1](empty), np.zeros(3))
