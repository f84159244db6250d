"""Loops along an axis: against loops in NumPy and JAX's own, transformations, edge cases, bad input."""

from itertools import accumulate
from typing import Any

import jax
import numpy as np
import pytest
import torch
from hypothesis import given, settings, strategies as st

import xpand
from tests.libraries import LIBRARIES, Library
from tests.operations import Case, Check, check_values, checked
from xpand_extensions.autodiff import grad, hessian, jacfwd, jacrev
from xpand_extensions.control_flow import associative_scan, fori_loop, map, scan
from xpand_extensions.jit import jit, make_graph
from xpand_extensions.vmap import vmap

XS = np.linspace(-1.0, 2.0, 6).reshape(3, 2)
A = np.linspace(0.5, 1.1, 10).reshape(5, 2)
B = np.linspace(-1.0, 1.0, 10).reshape(5, 2)


def horner(c: Any, x: Any) -> tuple[Any, Any]:
    return c * 0.5 + x * x, {"before": c, "product": c * x}


def scanned(c: Any, xs: Any, reverse: bool = False) -> tuple[Any, Any, Any]:
    last, ys = scan(horner, c, xs, reverse=reverse)
    return last, ys["before"], ys["product"]


def scanned_in_numpy(c: np.ndarray, xs: np.ndarray, reverse: bool = False) -> tuple[np.ndarray, ...]:
    before, product = np.empty_like(xs), np.empty_like(xs)
    for i in range(len(xs))[:: -1 if reverse else 1]:
        before[i], product[i] = c, c * xs[i]
        c = c * 0.5 + xs[i] * xs[i]
    return c, before, product


def combine(first: Any, second: Any) -> tuple[Any, Any]:
    """The composition of affine functions, which does not commute."""
    return first[0] * second[0], first[1] * second[0] + second[1]


def affine(a: Any, b: Any, **options: Any) -> tuple[Any, Any]:
    return associative_scan(combine, (a, b), **options)


def affine_in_numpy(a: np.ndarray, b: np.ndarray, reverse: bool = False, axis: int = 0) -> tuple[np.ndarray, ...]:
    pairs = list(zip(np.moveaxis(a, axis, 0), np.moveaxis(b, axis, 0)))
    found = list(accumulate(pairs[:: -1 if reverse else 1], combine))[:: -1 if reverse else 1]
    return tuple(np.moveaxis(np.asarray([pair[k] for pair in found]), 0, axis) for k in (0, 1))


def squares(x: Any) -> Any:
    xp = xpand.array_namespace(x)
    return xp.sum(x * x), x * 2.0


CASES = {
    "scan": Case(scanned, (XS[0], XS), scanned_in_numpy, (0, 1)),
    "scan in reverse": Case(
        lambda c, x: scanned(c, x, True), (XS[0], XS), lambda c, x: scanned_in_numpy(c, x, True), (0, 1)
    ),
    "map": Case(lambda x: map(squares, x), (XS,), lambda x: ((x * x).sum(axis=1), 2 * x), (0,)),
    "map in batches": Case(
        lambda x: map(squares, x, batch_size=2), (XS,), lambda x: ((x * x).sum(axis=1), 2 * x), (0,)
    ),
    "associative": Case(affine, (A, B), affine_in_numpy, (0, 1)),
    "associative in reverse": Case(
        lambda a, b: affine(a, b, reverse=True, axis=-1), (A, B), lambda a, b: affine_in_numpy(a, b, True, -1), (0, 1)
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_values(library: Library, case: Case) -> None:
    check_values(library, case)


@checked(CASES)
def test_transformations(case: Case, transformation: Check) -> None:
    transformation(case)


# The size of 40 is cut into blocks on JAX, with a rest.
@settings(max_examples=10)
@given(size=st.sampled_from([1, 2, 5, 31, 32, 36, 40]), reverse=st.booleans())
def test_scan_of_many_sizes(size: int, reverse: bool) -> None:
    xs = np.cos(np.arange(2.0 * size)).reshape(size, 2)
    expected = scanned_in_numpy(xs[0], xs, reverse)
    for library in LIBRARIES:
        found = scanned(library.asarray(xs[0]), library.asarray(xs), reverse)
        for result, wanted in zip(found, expected):
            library.assert_equal(result, wanted, rtol=1e-12, atol=1e-12)


@settings(max_examples=10)
@given(size=st.integers(0, 17), reverse=st.booleans(), axis=st.sampled_from([0, 1, -1]))
def test_associative_scan_of_many_sizes(size: int, reverse: bool, axis: int) -> None:
    a, b = (np.moveaxis(np.cos(k + np.arange(2.0 * size)).reshape(size, 2), 0, axis) for k in (0, 1))
    expected = affine_in_numpy(a, b, reverse, axis) if size else (a, b)
    for library in LIBRARIES:
        found = affine(library.asarray(a), library.asarray(b), reverse=reverse, axis=axis)
        for result, wanted in zip(found, expected):
            library.assert_equal(result, wanted, rtol=1e-12, atol=1e-12)


def test_associative_scan_along_the_last_axes_of_arrays_of_several_ranks(library: Library) -> None:
    fn = lambda x, y: {"m": x["m"] + y["m"], "v": x["v"] * y["v"]}
    found = associative_scan(fn, {"m": library.asarray(A), "v": library.asarray(B[0])}, reverse=True, axis=-1)
    library.assert_equal(found["m"], np.cumsum(A[:, ::-1], axis=1)[:, ::-1], rtol=1e-15)
    library.assert_equal(found["v"], np.cumprod(B[0, ::-1])[::-1], rtol=1e-15)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "uint64", "int64", "float32", "complex64"])
def test_data_types(library: Library, dtype: str) -> None:
    xs = np.asarray([1, 2, 3], dtype)
    last, ys = scan(lambda c, x: (c * x, c), library.asarray(np.ones((), dtype)), library.asarray(xs))
    library.assert_equal(last, np.asarray(6, dtype))
    library.assert_equal(ys, np.asarray([1, 1, 2], dtype))
    library.assert_equal(associative_scan(lambda x, y: x * y, library.asarray(xs)), np.asarray([1, 2, 6], dtype))
    library.assert_equal(map(lambda x: x * x, library.asarray(xs)), xs * xs)


def test_bools_and_nan(library: Library) -> None:
    xs = library.asarray([True, False, True])
    xp = library.xp
    library.assert_equal(associative_scan(xp.logical_and, xs), [True, False, False])
    library.assert_equal(scan(lambda c, x: (xp.logical_or(c, x), c), xs[1], xs)[1], [False, True, True])
    x = np.asarray([np.nan, np.inf, -0.0])
    library.assert_equal(map(lambda x: x * 1.0, library.asarray(x)), x)


def test_no_steps(library: Library) -> None:
    c, xs = library.asarray([1.0, 2.0]), library.asarray(np.zeros((0, 2), np.float32))
    last, (y, z) = scan(lambda c, x: (c + 1.0, (c[:1, ...], x > 0)), c, xs)
    library.assert_equal(last, [1.0, 2.0])
    library.assert_equal(y, np.zeros((0, 1)))
    library.assert_equal(z, np.zeros((0, 2), bool))
    library.assert_equal(scan(lambda c, _: (c, c), c, length=0)[1], np.zeros((0, 2)))
    for batch_size in (None, 2):
        library.assert_equal(map(lambda x: x[0], xs, batch_size=batch_size), np.zeros(0, np.float32))
    library.assert_equal(associative_scan(lambda x, y: x + y, xs), np.zeros((0, 2), np.float32))


def test_without_arrays_to_go_along(library: Library) -> None:
    last, ys = scan(lambda c, _: ((c[1], c[0] + c[1]), c[0]), (library.asarray(0), library.asarray(1)), length=10)
    assert [int(library.to_numpy(x)) for x in last] == [55, 89]
    np.testing.assert_array_equal(library.to_numpy(ys), [0, 1, 1, 2, 3, 5, 8, 13, 21, 34])
    last, ys = scan(lambda c, x: (None, {"y": x + 1.0, "none": None}), None, library.asarray([1.0, 2.0]))
    assert last is None
    assert ys["none"] is None
    library.assert_equal(ys["y"], [2.0, 3.0])


def test_numbers(library: Library) -> None:
    """Those carried take the data type of the arrays; those stacked are arrays of their own."""
    xs = library.asarray([1.5, 2.5], "float32")
    last, (ys, ones) = scan(lambda c, x: (x + c, (x * c, True)), 0.0, xs)
    library.assert_equal(last, np.float32(4.0))
    library.assert_equal(ys, np.asarray([0.0, 3.75], np.float32))
    library.assert_equal(ones, [True, True])


# Transformations


@pytest.mark.parametrize("size", [5, 40])
def test_derivatives_as_jax_has_them(library: Library, size: int) -> None:
    xs = np.cos(np.arange(2.0 * size)).reshape(size, 2)

    def total(scan: Any) -> Any:
        def f(c: Any, xs: Any) -> Any:
            last, ys = scan(horner, c, xs)
            xp = xpand.array_namespace(c)
            return xp.sum(last * last) + xp.sum(ys["product"] ** 2)

        return f

    with_jax = jax.jit(jax.grad(total(jax.lax.scan), (0, 1)))(xs[0], xs)
    found = grad(total(scan), (0, 1))(library.asarray(xs[0]), library.asarray(xs))
    for ours, theirs in zip(found, with_jax):
        library.assert_equal(ours, np.asarray(theirs), rtol=1e-11, atol=1e-13)
    second = hessian(total(scan))(library.asarray(xs[0]), library.asarray(xs))
    wanted = jax.jit(jax.hessian(total(jax.lax.scan)))(xs[0], xs)
    library.assert_equal(second, np.asarray(wanted), rtol=1e-11, atol=1e-13)


def test_modes_agree_under_vmap(library: Library) -> None:
    f = lambda x: scan(horner, x[0, ...], x)[0]
    batch = library.asarray(np.stack([XS, -2 * XS]))
    forward, reverse = vmap(jacfwd(f))(batch), vmap(jacrev(f))(batch)
    library.assert_equal(forward, library.to_numpy(reverse), rtol=1e-13, atol=1e-15)
    library.assert_equal(forward[1, ...], library.to_numpy(jacfwd(f)(batch[1, ...])), rtol=1e-13, atol=1e-15)


def test_closures_are_differentiated(library: Library) -> None:
    xs = library.asarray(np.ones(40))
    f = lambda a: scan(lambda c, x: (a * x + c, None), library.asarray(0.0), xs)[0]
    library.assert_equal(grad(f)(library.asarray(3.0)), 40.0)
    library.assert_equal(grad(lambda a: map(lambda x: a * x, xs, batch_size=3)[-1])(library.asarray(3.0)), 1.0)
    scanned = lambda scan, xs: lambda a: scan(lambda x, y: a * x + y, xs, reverse=True)[0]
    wanted = jax.grad(scanned(jax.lax.associative_scan, np.ones(40)))(1.5)
    library.assert_equal(grad(scanned(associative_scan, xs))(library.asarray(1.5)), np.asarray(wanted), rtol=1e-13)


def test_memory_grows_as_the_square_root_on_jax() -> None:
    x = jax.numpy.full((100,), 0.5)

    def saved(steps: int) -> int:
        f = lambda x: scan(lambda c, _: (jax.numpy.sin(c), None), x, length=steps)[0]
        return sum(leaf.size for leaf in jax.tree.leaves(jax.eval_shape(lambda x: jax.vjp(f, x)[1], x)))

    assert saved(1600) < 1600 * 100 / 15
    assert saved(6400) < 2.2 * saved(1600)


def test_backward_through_many_steps_on_torch() -> None:
    """Those that are cut into blocks, with a rest; to second order."""
    xs = torch.cos(torch.arange(70.0, dtype=torch.float64)).requires_grad_()

    def total(scan: Any) -> Any:
        last, ys = scan(lambda c, x: (c * torch.sin(x) + x, c * x), torch.zeros((), dtype=torch.float64), xs)
        return last**2 + (ys**2).sum()

    def loop(f: Any, c: Any, xs: Any) -> Any:
        ys = []
        for x in xs:
            c, y = f(c, x)
            ys.append(y)
        return c, torch.stack(ys)

    found = []
    for each in (scan, loop):
        (first,) = torch.autograd.grad(total(each), xs, create_graph=True)
        found.append((first, *torch.autograd.grad((first**2).sum(), xs)))
    for ours, theirs in zip(*found):
        torch.testing.assert_close(ours, theirs, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("kind", ["scan", "reverse", "rows", "fori"])
def test_a_loop_that_captures_what_is_compiled_is_one_operation(kind: str) -> None:
    """Its first carry is known, and its rows: the first step shows that the loop is part of the program."""
    init, xs = np.ones(2), np.linspace(0.0, 1.0, 300)

    def loop(p: Any) -> Any:
        if kind == "fori":
            return fori_loop(0, 300, lambda i, c: c * p + 0.1, init)
        if kind == "rows":
            return scan(lambda _, x: ((), x * p), (), xs)[1]
        return scan(lambda c, x: (c * p + x, c[0] * x), init, xs, reverse=kind == "reverse")[1]

    p = np.asarray(0.5)
    assert len(str(make_graph(loop)(p)).splitlines()) < 25
    np.testing.assert_array_equal(jit(loop)(p), loop(p))
    wanted = jacfwd(loop)(p)
    np.testing.assert_allclose(jit(jacfwd(loop))(p), wanted, rtol=1e-12)
    np.testing.assert_allclose(vmap(jit(jacrev(loop)))(p[None])[0], wanted, rtol=1e-12)


def test_many_steps_compiled_on_torch() -> None:
    """More than `jit` would unroll."""
    torch.compiler.reset()
    xs = np.cos(np.arange(50.0)).reshape(25, 2)
    compiled = torch.compile(scanned, fullgraph=True, backend="eager")
    found = compiled(torch.asarray(xs[0]), torch.asarray(xs), True)
    for result, wanted in zip(found, scanned_in_numpy(xs[0], xs, True)):
        np.testing.assert_allclose(result.numpy(), wanted, rtol=1e-13)
    mapped = torch.compile(lambda x: map(squares, x), fullgraph=True, backend="eager")(torch.asarray(xs))
    np.testing.assert_allclose(mapped[0].numpy(), (xs * xs).sum(axis=1), rtol=1e-14)
    counted = torch.compile(lambda c: scan(lambda c, _: (c + 1, c), c, length=20), fullgraph=True, backend="eager")
    np.testing.assert_array_equal(counted(torch.asarray(3))[1].numpy(), np.arange(3, 23))


# Bad input


def test_bad_functions(library: Library) -> None:
    x = library.asarray([1.0, 2.0])
    for function, match in (
        (lambda: scan(3, x, x), "scan: f must be a function, got int"),
        (lambda: map("f", x), "map: f must be a function, got str"),
        (lambda: associative_scan(None, x), "associative_scan: fn must be a function, got NoneType"),
        (lambda: scan(lambda c, x: c, x[0], x), "scan: f must return a pair"),
        (lambda: scan(lambda c, x: (c, "text"), x[0], x), "scan: the second result of f holds str"),
        (lambda: map(lambda x: "text", x), "map: the result of f holds str"),
    ):
        with pytest.raises(TypeError, match=match):
            function()


def test_bad_arrays(library: Library) -> None:
    x, y = library.asarray([1.0, 2.0]), library.asarray([[1.0, 2.0, 3.0]])
    other = np.ones(2) if library.id != "numpy" else torch.ones(2)
    f = lambda c, x: (c, None)
    for function, error, match in (
        (lambda: scan(f, x, {"x": x, "y": y}), ValueError, r"one size .* got 2 of xs\['x'\], 1 of xs\['y'\]"),
        (lambda: scan(f, x, x, length=3), ValueError, "length=3 differs from the size of the arrays in xs, 2"),
        (lambda: scan(f, x), ValueError, "with no arrays in xs, length must be the number of steps"),
        (lambda: scan(f, x, length=-1), ValueError, "length must be at least 0, got -1"),
        (lambda: scan(f, x, length=2.0), TypeError, "length must be an integer, got 2.0"),
        (lambda: scan(f, x, (x, 3.0)), ValueError, r"scan: xs\[1\] is an array of shape \(\), which has no axis"),
        (lambda: scan(f, x, other), TypeError, "scan: takes arrays of one library"),
        (lambda: scan(f, x, x, reverse=1), TypeError, "scan: reverse must be True or False"),
        (lambda: map(f, []), TypeError, "map: xs must hold an array, got none"),
        (lambda: map(lambda x: x, (x, other)), TypeError, "map: takes arrays of one library"),
        (lambda: map(lambda x: x, x[0]), ValueError, r"map: xs is an array of shape \(\)"),
        (lambda: map(lambda x: x, x, batch_size=0), ValueError, "batch_size must be at least 1, got 0"),
        (lambda: associative_scan(f, ()), TypeError, "associative_scan: elems must hold an array, got none"),
        (lambda: associative_scan(f, x, axis=1), ValueError, "associative_scan: axis=1 is out of range for 1 axes"),
        (lambda: associative_scan(f, (x, y)), ValueError, r"got 2 of elems\[0\], 1 of elems\[1\]"),
        (lambda: associative_scan(f, x, reverse="no"), TypeError, "reverse must be True or False"),
    ):  # fmt: skip
        with pytest.raises(error, match=match):
            function()


def test_results_that_change(library: Library) -> None:
    x = library.asarray([1.0, 2.0])
    xp = library.xp
    with pytest.raises(
        TypeError, match=r"init was .*float64 of shape \(\) and f made it .*float32 of shape \(\); convert"
    ):
        scan(lambda c, x: (xp.astype(c, xp.float32), None), x[0], x)
    with pytest.raises(TypeError, match="the carry must keep its structure: init has .* f made it"):
        scan(lambda c, x: ((c, c), None), x[0], x)
    with pytest.raises(
        TypeError, match=r"the arguments was .* of shape \(1,\) and fn made it .* of shape \(\); reshape"
    ):
        associative_scan(lambda x, y: xp.sum(x), x)
    if library.id == "jax":
        return  # it calls the function once
    turns = iter([(x[0], x[1]), x[0]])
    with pytest.raises(TypeError, match="map: the result of f must have one structure"):
        map(lambda _: next(turns), x)
    more = iter([x, x[:1, ...]])
    with pytest.raises(
        TypeError, match=r"scan: the second result of f must have one shape and data type, .*\(2,\) and .*\(1,\)"
    ):
        scan(lambda c, _: (c, next(more)), x[0], x)


def test_steps_to_unroll(library: Library) -> None:
    xs = library.asarray(XS)
    for unroll in (True, False, 0, 2):
        library.assert_equal(scan(lambda c, x: (c + x, None), 0.0 * xs[0, :], xs, unroll=unroll)[0], XS.sum(axis=0))
    for function in (
        lambda unroll: scan(lambda c, x: (c, x), 0.0, xs, unroll=unroll),
        lambda unroll: fori_loop(0, 3, lambda i, c: c, xs, unroll=unroll),
    ):
        with pytest.raises(ValueError, match="unroll must be at least 0, got -1"):
            function(-1)
        with pytest.raises(TypeError, match="unroll must be an integer"):
            function("all")
