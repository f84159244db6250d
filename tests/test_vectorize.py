"""Functions vectorized over loop dimensions: against NumPy's broadcasting, compositions, bad input."""

import re
from typing import Any

import jax
import numpy as np
import pytest
import torch
from hypothesis import given, settings, strategies as st

import xpand
from tests.libraries import LIBRARIES, Library
from tests.test_derivatives import total
from xpand_extensions.autodiff import grad
from xpand_extensions.jit import jit
from xpand_extensions.vmap import apply_along_axis, vectorize, vmap

X = np.arange(24.0).reshape(2, 3, 4) ** 1.5


@pytest.fixture(params=LIBRARIES, ids=str)
def able(request: pytest.FixtureRequest) -> Library:
    return request.param


def of_core(ndim: int) -> Any:
    """Check that a function is given the core dimensions alone."""

    def check(*arrays: Any) -> None:
        assert all(x.ndim == ndim for x in arrays)

    return check


def matvec(a: Any, b: Any) -> Any:
    of_core(2)(a)
    of_core(1)(b)
    return xpand.array_namespace(a).matmul(a, b)


@pytest.mark.parametrize("library", LIBRARIES, ids=str)
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_loop_dimensions_broadcast(library: Library, data: st.DataObject) -> None:
    shape = data.draw(st.lists(st.sampled_from([0, 1, 2, 3]), max_size=3))

    def part() -> list[int]:
        chosen = [data.draw(st.sampled_from([1, size])) for size in shape]
        return chosen[data.draw(st.integers(0, len(shape))) :]

    a = np.arange(float(np.prod([*(first := part()), 2, 3]))).reshape(*first, 2, 3)
    b = np.arange(float(np.prod([*(second := part()), 3]))).reshape(*second, 3) + 1.0
    found = vectorize(matvec, signature="(m,n),(n)->(m)")(library.asarray(a), library.asarray(b))
    library.assert_equal(found, np.matmul(a, b[..., None])[..., 0], rtol=1e-13)


@pytest.mark.parametrize("shapes", [((), ()), ((3,), ()), ((2, 1), (3,)), ((1, 1), (1,)), ((0, 1), (1,))])
def test_without_a_signature(able: Library, shapes: tuple[tuple[int, ...], ...]) -> None:
    x, y = (np.full(shape, i + 2.0) for i, shape in enumerate(shapes))

    def add(a: Any, b: Any) -> Any:
        of_core(0)(a, b)
        return a + b

    able.assert_equal(vectorize(add)(able.asarray(x), able.asarray(y)), x + y)
    if x.ndim:
        able.assert_equal(vectorize(add)(able.asarray(x), 2.0), x + 2.0)


def test_results_without_a_signature_have_any_shape_and_structure(able: Library) -> None:
    f = vectorize(lambda x: {"two": xpand.array_namespace(x).stack([x, x * 2])})
    able.assert_equal(f(able.asarray(X))["two"], np.stack([X, 2 * X], axis=-1))


def test_several_results(able: Library) -> None:
    f = vectorize(lambda x: (total(x), x * 2.0), signature="(n)->(),(n)")
    totals, double = f(able.asarray(X))
    able.assert_equal(totals, X.sum(axis=-1), rtol=1e-14)
    able.assert_equal(double, 2 * X)


def test_new_core_dimensions(able: Library) -> None:
    def outer(x: Any, y: Any) -> Any:
        xp = xpand.array_namespace(x)
        return xp.concat([x, y]), xp.concat([y, x, y])[:5]

    found, other = vectorize(outer, signature=" ( n ), (m) -> (k), (l)")(able.asarray(X), able.asarray(X[0, :, :2]))
    assert tuple(found.shape) == (2, 3, 6)
    assert tuple(other.shape) == (2, 3, 5)


def test_excluded_arguments(able: Library) -> None:
    x, weights = able.asarray(X), able.asarray(X[0, 0])

    def f(x: Any, weights: Any, *, shift: Any = 0.0, power: int = 1) -> Any:
        of_core(0)(x)
        of_core(1)(weights)
        return x + total(weights) ** power + shift

    shift = X[0, 0].sum()
    able.assert_equal(vectorize(f, excluded={1, 7})(x, weights), X + shift, rtol=1e-14)
    able.assert_equal(vectorize(f, excluded={1})(x, weights, power=2, shift=1.0), X + shift**2 + 1.0, rtol=1e-14)
    able.assert_equal(vectorize(f, excluded={"weights"})(x, weights=weights), X + shift, rtol=1e-14)
    named = vectorize(lambda mode, x: total(x) if mode == "sum" else x[0], excluded=[0], signature="(n)->()")
    able.assert_equal(named("sum", x), X.sum(axis=-1), rtol=1e-14)
    able.assert_equal(named("first", x), X[..., 0])


def test_arguments_that_are_none(able: Library) -> None:
    f = lambda x, y: x if y is None else x + y
    able.assert_equal(vectorize(f)(able.asarray(X), None), X)
    able.assert_equal(vectorize(f, signature="(n),()->(n)")(able.asarray(X), None), X)
    able.assert_equal(vectorize(f, signature="(n),()->(n)")(able.asarray(X), able.asarray(1.0)), X + 1.0)


def test_compositions(able: Library) -> None:
    a, b = X[:, :, :3], X[0, :, :3]
    f = vectorize(matvec, signature="(m,n),(n)->(m)")
    arrays = able.asarray(a), able.asarray(b)
    expected = np.einsum("imn,jn->ijm", a, b)
    able.assert_equal(vmap(f, (0, None))(*arrays), expected, rtol=1e-13)
    found = grad(lambda a, b: total(f(a[:, None, ...], b)))(*arrays)
    able.assert_equal(found, np.broadcast_to(b.sum(axis=0), a.shape), rtol=1e-13)
    expected_slopes = np.broadcast_to(a.sum(axis=1)[:, None, :], (2, *b.shape))
    slopes = vectorize(grad(lambda a, b: total(matvec(a, b)), 1), signature="(m,n),(n)->(n)")
    able.assert_equal(slopes(arrays[0][:, None, ...], arrays[1]), expected_slopes, rtol=1e-13)


def test_under_the_compilers() -> None:
    f = lambda a, b: vectorize(matvec, signature="(m,n),(n)->(m)")(a[:, None, ...], b)
    torch.compiler.reset()
    compile_of = {"jax": jax.jit, "torch": lambda f: torch.compile(f, fullgraph=True, backend="eager")}
    for library in (library for library in LIBRARIES if library.id.partition("-")[0] in compile_of):
        arrays = library.asarray(X), library.asarray(X[0])
        found = compile_of[library.id.partition("-")[0]](f)(*arrays)
        library.assert_equal(found, np.einsum("imn,jn->ijm", X, X[0]), rtol=1e-13)
    torch.compiler.reset()


def test_bad_functions_and_options() -> None:
    with pytest.raises(TypeError, match="vectorize: takes a function, got int"):
        vectorize(3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="vectorize: signature must be a string, got int"):
        vectorize(matvec, signature=3)  # type: ignore[arg-type]
    for bad in ("", "(n->(n)", "(n)->", "->(n)", "(n)", "(n),->()", "(n,)->()", "n->n", "(n)(m)->()", "(-1)->()"):
        with pytest.raises(ValueError, match=rf"vectorize: signature must name the core .* got {re.escape(repr(bad))}"):
            vectorize(matvec, signature=bad)
    for excluded in ("name", 3):
        with pytest.raises(TypeError, match="vectorize: excluded must be a set of positions and names, got"):
            vectorize(matvec, excluded=excluded)  # type: ignore[arg-type]
    for excluded in ({1.5}, {True}):
        with pytest.raises(TypeError, match="vectorize: excluded must hold positions and names, got"):
            vectorize(matvec, excluded=excluded)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="vectorize: positions in excluded must not be negative, got -1"):
        vectorize(matvec, excluded={-1})


def test_bad_calls(able: Library) -> None:
    x = able.asarray(X)
    dot = vectorize(lambda a, b: total(a * b), signature="(n),(n)->()")
    with pytest.raises(
        TypeError, match=r"vectorize: the signature '\(n\),\(n\)->\(\)' takes 2 positional arguments .* got 1"
    ):
        dot(x)
    with pytest.raises(ValueError, match=r"vectorize: argument 1 must have the core dimensions \(n\), got shape \(\)"):
        dot(x, 2.0)
    with pytest.raises(
        ValueError,
        match=r"vectorize: core dimension 'n' must have one size, got 4 and, in argument 1 of shape \(3,\), 3",
    ):
        dot(x, x[0, :, 0])
    with pytest.raises(ValueError, match=r"vectorize: .*broadcast"):
        dot(x, able.asarray(np.zeros((5, 4))))
    with pytest.raises(TypeError, match="vectorize: at least one positional argument"):
        vectorize(lambda: 1.0)()
    with pytest.raises(TypeError, match="vectorize: at least one positional argument"):
        vectorize(lambda x: x)(None)
    with pytest.raises(TypeError, match="vectorize: the arguments hold str"):
        dot(x, "text")
    for tree in ([x, x], {"x": x}, ()):
        with pytest.raises(TypeError, match="vectorize: argument 1 must be an array or a number, got"):
            dot(x, tree)


def test_bad_results(able: Library) -> None:
    x = able.asarray(X)
    for signature, function, error, message in (
        ("(n)->()", lambda x: x, ValueError, r"a result must have the core dimensions \(\), got shape \(4,\)"),
        ("(n)->(n)", lambda x: x[1:], ValueError, r"a result must have the core dimensions \(n\), got shape \(3,\)"),
        ("(n)->(m),(m)", lambda x: (x, x[1:]), ValueError, r"core dimensions \(m\), got shape \(3,\)"),
        ("(n)->(n)", lambda x: (x, x), TypeError, "must return 1 arrays?, got 2"),
        ("(n)->(n),(n)", lambda x: (x, x, x), TypeError, "must return 2 arrays, got 3"),
        ("(n)->(n),(n)", lambda x: x, TypeError, "must return a tuple of 2 arrays, got"),
        ("(n)->(n)", lambda x: {"x": x}, TypeError, "must return arrays, got dict"),
        ("(n)->(n)", lambda x: None, TypeError, "must return arrays, got None"),
    ):
        with pytest.raises(error, match=rf"vectorize: by the signature {re.escape(repr(signature))} .*{message}"):
            vectorize(function, signature=signature)(x)


def test_none_has_no_core_dimensions(able: Library) -> None:
    x = able.asarray(X)
    able.assert_equal(vectorize(lambda x, y: 2.0 * x)(x, None), 2 * X)
    able.assert_equal(vectorize(lambda x, y: total(x), signature="(n),()->()")(x, None), X.sum(axis=-1), rtol=1e-14)
    with pytest.raises(ValueError, match=r"argument 1 is None, and must have the core dimensions \(m\)"):
        vectorize(lambda x, y: x, signature="(n),(m)->(n)")(x, None)


ALONG = {
    "a vector": (lambda xp, row: row[:2] * 2.0, lambda row: row[:2] * 2.0),
    "a matrix": (lambda xp, row: row[:2, None] * row[None, 1:], lambda row: row[:2, None] * row[None, 1:]),
    "a number": (lambda xp, row: xp.sum(row), np.sum),
}


@pytest.mark.parametrize("name", ALONG)
def test_along_an_axis(able: Library, name: str) -> None:
    mine, reference = ALONG[name]
    for x in (X, X[0], X[0, :, 0]):
        for axis in range(-x.ndim, x.ndim):
            found = apply_along_axis(lambda row: mine(xpand.array_namespace(row), row), axis, able.asarray(x))
            able.assert_equal(found, np.asarray(np.apply_along_axis(reference, axis, x)), rtol=1e-14)


def test_along_an_axis_with_further_arguments(library: Library) -> None:
    found = apply_along_axis(lambda row, a, b=0.0: row * a + b, 0, library.asarray(X), 3.0, b=1.0)
    library.assert_equal(found, X * 3.0 + 1.0)


def test_along_an_axis_under_transformations(eager_library: Library) -> None:
    if eager_library.id in ("numpy", "jax"):
        function = lambda x: apply_along_axis(lambda row: row[::-1] * row[0], 1, x)
        expected = X[:, ::-1] * X[:, :1]
        x = eager_library.asarray(X)
        eager_library.assert_equal(jit(function)(x), expected)
        eager_library.assert_equal(vmap(function)(x[:, None]), expected[:, None])
        gradient = grad(lambda x: total(function(x)))(x)
        wanted = np.broadcast_to(X[:, :1], X.shape).copy()
        wanted[:, 0] += X.sum(axis=1)
        eager_library.assert_equal(gradient, wanted, rtol=1e-14)


def test_mistakes_along_an_axis() -> None:
    with pytest.raises(TypeError, match="apply_along_axis: function"):
        apply_along_axis(3, 0, X)
    with pytest.raises(TypeError, match="apply_along_axis: x must be an array"):
        apply_along_axis(np.sum, 0, [1.0])
    with pytest.raises(ValueError, match="apply_along_axis: axis=3 is out of range"):
        apply_along_axis(np.sum, 3, X)
    with pytest.raises(ValueError, match="apply_along_axis: x must have slices along axis 0"):
        apply_along_axis(np.sum, 0, X[:, :0])
