"""Systems of equations by factors, and least squares: every library against NumPy and SciPy, transformations."""

import itertools
from functools import partial
from typing import Any

import numpy as np
import pytest
import scipy.linalg
from hypothesis import given, settings, strategies as st

from tests.laziness import nothing_computed
from tests.libraries import Library
from tests.operations import Case, Check, check_values, checked
from xpand import array_namespace
from xpand_extensions import linalg
from xpand_extensions.vmap import vmap

RNG = np.random.default_rng(0)
FLOATING = ["float32", "float64", "complex64", "complex128"]


def normal(*shape: int, dtype: str = "float64") -> np.ndarray:
    values = RNG.normal(size=shape)
    return (values + 1j * RNG.normal(size=shape) if dtype.startswith("c") else values).astype(dtype)


def regular(*shape: int, dtype: str = "float64") -> np.ndarray:
    """Make matrices whose inverses are of moderate size, as are those of their triangles."""
    return normal(*shape, dtype=dtype) + 4 * np.eye(shape[-1], dtype=dtype)


def tolerance(dtype: str) -> float:
    return 2e-4 if dtype in ("float32", "complex64") else 1e-11


def triangle(a: np.ndarray, lower: bool, transpose: bool, conjugate: bool, unit_diagonal: bool) -> np.ndarray:
    a = np.tril(a) if lower else np.triu(a)
    if unit_diagonal:
        a = np.where(np.eye(a.shape[-1], dtype=bool), a.dtype.type(1), a)
    a = a.mT if transpose else a
    return a.conj() if conjugate else a


def solve(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.linalg.solve(a, b)


def solve_triangle(a: np.ndarray, b: np.ndarray, **options: bool) -> np.ndarray:
    return solve(triangle(a, **options, unit_diagonal=False), b)


def solve_complex(function: Any, a: Any, b: Any, **options: bool) -> Any:
    """Solve a complex system of real and imaginary parts; return those of the solution."""
    xp = array_namespace(a, b)
    a, b = (xp.astype(x[0, ...], xp.complex128) + 1j * xp.astype(x[1, ...], xp.complex128) for x in (a, b))
    found = function(a, b, **options)
    return xp.stack([xp.real(found), xp.imag(found)])


def lu_reference(x: np.ndarray) -> tuple[np.ndarray, ...]:
    inverse, lower, upper = scipy.linalg.lu(x, p_indices=True)
    return np.argsort(inverse, axis=-1), lower, upper


def lstsq_reference(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, ...]:
    """Each system by NumPy, the residuals by their definition."""
    stack = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    a = np.broadcast_to(a, (*stack, *a.shape[-2:]))
    b = b if b.ndim == 1 else np.broadcast_to(b, (*stack, *b.shape[-2:]))
    parts = []
    for index in np.ndindex(stack):
        right = b if b.ndim == 1 else b[index]
        x, _, rank, s = np.linalg.lstsq(a[index], right)
        rank = np.asarray(rank, dtype=np.int64)
        parts.append((x, np.sum(np.abs(right - a[index] @ x) ** 2, axis=0), rank, s))
    return tuple(np.reshape(np.stack(p), (*stack, *p[0].shape)) for p in zip(*parts))


A, M, V = regular(4, 4), normal(4, 2), normal(4)
STACK, SIDES = regular(2, 3, 3), normal(2, 3, 2)
POSITIVE = STACK @ STACK.mT
TALL, WIDE = normal(2, 5, 3), normal(2, 3, 5)
EQUAL = np.linalg.qr(normal(5, 3))[0]  # all singular values are equal
DEFICIENT = np.concatenate([TALL, TALL[..., :1]], axis=-1)
CASES = {
    "triangular_solve": Case(
        linalg.triangular_solve, (STACK, SIDES), reference=lambda a, b: solve(np.tril(a), b), differentiable=(0, 1)
    ),
    "triangular_solve, vector": Case(
        lambda a, b: linalg.triangular_solve(a, b, lower=False, transpose=True),
        (A, V),
        reference=lambda a, b: solve(np.triu(a).T, b),
        differentiable=(0, 1),
    ),
    "triangular_solve, right": Case(
        lambda a, b: linalg.triangular_solve(a, b, left_side=False, unit_diagonal=True),
        (A, M.T),
        reference=lambda a, b: solve(triangle(a, True, True, False, True), b.T).T,
        differentiable=(0, 1),
    ),
    "cho_solve": Case(
        linalg.cho_solve,
        (np.linalg.cholesky(POSITIVE), SIDES),
        reference=lambda c, b: solve(np.tril(c) @ np.tril(c).mT, b),
        differentiable=(0, 1),
        rtol=1e-10,
    ),
    "cho_solve, upper": Case(
        lambda c, b: linalg.cho_solve(c, b, lower=False),
        (np.linalg.cholesky(POSITIVE), normal(3)),
        reference=lambda c, b: solve(np.triu(c).mT @ np.triu(c), b),
        differentiable=(0, 1),
        rtol=1e-10,
    ),
    "lu": Case(linalg.lu, (STACK,), reference=lu_reference, differentiable=(0,), atol=1e-13),
    "lu, tall": Case(linalg.lu, (TALL[0],), reference=lu_reference, differentiable=(0,), atol=1e-13),
    "lu, wide": Case(linalg.lu, (WIDE[0],), reference=lu_reference, differentiable=(0,), atol=1e-13),
    "lu_solve": Case(
        lambda a, b: linalg.lu_solve(*linalg.lu_factor(a), b),
        (normal(2, 3, 3), SIDES),
        reference=solve,
        differentiable=(0, 1),
        rtol=1e-9,
    ),
    "lu_solve, transposed": Case(
        lambda a, b: linalg.lu_solve(*linalg.lu_factor(a), b, transpose=True),
        (A[::-1].copy(), V),
        reference=lambda a, b: solve(a.T, b),
        differentiable=(0, 1),
        rtol=1e-10,
    ),
    "lstsq, tall": Case(
        linalg.lstsq, (TALL, normal(2, 5, 2)), reference=lstsq_reference, differentiable=(0, 1), rtol=1e-10
    ),
    "lstsq, wide": Case(
        lambda a, b: linalg.lstsq(a, b).x,
        (WIDE, normal(3)),
        reference=lambda a, b: lstsq_reference(a, b)[0],
        differentiable=(0, 1),
        rtol=1e-10,
    ),
    "lstsq, equal singular values": Case(
        lambda a, b: linalg.lstsq(a, b).x,
        (EQUAL, normal(5)),
        reference=lambda a, b: lstsq_reference(a, b)[0],
        differentiable=(0, 1),
        rtol=1e-10,
    ),
    # In the matrix it is differentiable only where the rank stays, which differences don't.
    "lstsq, not of full rank": Case(
        lambda a, b: linalg.lstsq(a, b, rtol=1e-9)[:2],
        (DEFICIENT, normal(2, 5, 2)),
        reference=lambda a, b: lstsq_reference(a, b)[:2],
        differentiable=(1,),
        rtol=1e-9,
    ),
}
CASES |= {
    f"triangular_solve, complex, {['upper', 'lower'][lower]}{', conjugate' * conjugate}": Case(
        partial(solve_complex, linalg.triangular_solve, lower=lower, transpose=True, conjugate=conjugate),
        (np.stack([regular(3, 3), 0.3 * normal(3, 3)]), normal(2, 3, 2)),
        reference=partial(solve_complex, solve_triangle, lower=lower, transpose=True, conjugate=conjugate),
        differentiable=(0, 1),
    )
    for lower in (True, False)
    for conjugate in (True, False)
}
COMPILED = ("triangular_solve", "cho_solve", "lu", "lu_solve", "lstsq, tall")


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_values(library: Library, case: Case) -> None:
    check_values(library, case)


# Variants have their derivatives checked; the rest is as in the first of their kind.
@checked(CASES, only=lambda name, check: name in COMPILED or check.__name__.endswith("grad"))
def test_transformations(case: Case, transformation: Check) -> None:
    transformation(case)


FLAGS = list(itertools.product([True, False], repeat=4))


@pytest.mark.parametrize("dtype", FLOATING)
def test_every_option_of_triangular_solve(library: Library, dtype: str) -> None:
    a, b = regular(2, 1, 3, 3, dtype=dtype), normal(3, 3, 2, dtype=dtype)
    rtol = tolerance(dtype)
    # Each is compiled on JAX, so that there the narrow types take a few.
    some = 5 if library.id == "jax" and dtype != "complex128" else 1
    for lower, transpose, conjugate, unit_diagonal in FLAGS[::some]:
        options = {"lower": lower, "transpose": transpose, "conjugate": conjugate, "unit_diagonal": unit_diagonal}
        expected = solve(triangle(a, **options), b)
        # Elements that aren't read may be anything.
        unread = np.triu(np.ones((3, 3), dtype=bool), k=1)
        unread = (unread if lower else unread.T) | (np.eye(3, dtype=bool) & unit_diagonal)
        x = library.asarray(np.where(unread, np.asarray(np.nan, dtype=dtype), a))
        result = linalg.triangular_solve(x, library.asarray(b), **options)
        library.assert_equal(result, expected, rtol=rtol, atol=rtol)
        expected = solve(triangle(a, **options).mT, b).mT
        result = linalg.triangular_solve(x, library.asarray(b.mT), **options, left_side=False)
        library.assert_equal(result, expected, rtol=rtol, atol=rtol)


@pytest.mark.parametrize("left_side", [True, False])
def test_a_vector_beside_a_stack(library: Library, left_side: bool) -> None:
    a, c = library.asarray(STACK), library.asarray(np.linalg.cholesky(POSITIVE))
    v = normal(3)
    expected = np.stack([solve(np.tril(x) if left_side else np.tril(x).T, v) for x in STACK])
    library.assert_equal(linalg.triangular_solve(a, library.asarray(v), left_side=left_side), expected, rtol=1e-11)
    library.assert_equal(linalg.cho_solve(c, library.asarray(v)), np.stack([solve(x, v) for x in POSITIVE]), rtol=1e-9)
    result = linalg.lu_solve(*linalg.lu_factor(a), library.asarray(v))
    library.assert_equal(result, np.stack([solve(x, v) for x in STACK]), rtol=1e-10)


@st.composite
def systems(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, str]:
    dtype = draw(st.sampled_from(FLOATING))
    stack = draw(st.lists(st.integers(0, 3), max_size=2))
    size, columns = draw(st.integers(0, 5)), draw(st.integers(0, 3))
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    a = rng.normal(size=(*stack, size, size)) + 4 * np.eye(size)
    b = rng.normal(size=(*(stack if draw(st.booleans()) else ()), size, columns))
    if dtype[0] == "c":
        a, b = a + 1j * rng.normal(size=a.shape), b + 1j * rng.normal(size=b.shape)
    return a.astype(dtype), b.astype(dtype), dtype


def test_systems_are_solved(library: Library) -> None:
    @settings(max_examples=8 if library.lazy or library.id == "jax" else 25)
    @given(system=systems())
    def run(system: tuple[np.ndarray, np.ndarray, str]) -> None:
        a, b, dtype = system
        rtol = tolerance(dtype)
        positive = a @ a.conj().mT
        x, y = library.asarray(a), library.asarray(b)
        library.assert_equal(linalg.triangular_solve(x, y), solve(np.tril(a), b), rtol=rtol, atol=rtol)
        factor = library.asarray(np.linalg.cholesky(positive))
        library.assert_equal(linalg.cho_solve(factor, y), solve(positive, b), rtol=rtol, atol=rtol)
        found = linalg.lu_factor(x)
        library.assert_equal(linalg.lu_solve(*found, y), solve(a, b), rtol=rtol, atol=rtol)
        adjoint = linalg.lu_solve(*found, y, transpose=True, conjugate=True)
        library.assert_equal(adjoint, solve(a.conj().mT, b), rtol=rtol, atol=rtol)
        library.assert_equal(linalg.lu_solve(*found, y, conjugate=True), solve(a.conj(), b), rtol=rtol, atol=rtol)

    run()


@pytest.mark.parametrize("dtype", FLOATING)
@pytest.mark.parametrize("shape", [(2, 4, 4), (3, 5), (5, 3), (0, 3, 3), (0, 4), (4, 0), (2, 0, 0)])
def test_lu_of_every_type_and_shape(library: Library, dtype: str, shape: tuple[int, ...]) -> None:
    x = normal(*shape, dtype=dtype)
    permutation, lower, upper = linalg.lu(library.asarray(x))
    expected = lu_reference(x) if x.size else (None, None, None)
    if x.size:
        for result, wanted in zip((permutation, lower, upper), expected):
            rtol = 0.0 if wanted.dtype.kind == "i" else tolerance(dtype)
            library.assert_equal(result, wanted, rtol=rtol, atol=rtol)
    size = min(shape[-2:])
    assert tuple(permutation.shape) == shape[:-1]
    assert tuple(lower.shape) == (*shape[:-1], size)
    assert tuple(upper.shape) == (*shape[:-2], size, shape[-1])


def test_lu_mapped_twice(eager_library: Library) -> None:
    x = normal(2, 3, 4, 4)
    found = vmap(vmap(linalg.lu))(eager_library.asarray(x))
    for result, expected in zip(found, lu_reference(x)):
        eager_library.assert_equal(result, expected, rtol=1e-12, atol=1e-12)


def test_singular_matrices(library: Library) -> None:
    # A zero on the diagonal is divided by: no error, and nothing finite.
    a = library.asarray([[1.0, 0.0], [3.0, 0.0]])
    with np.errstate(all="ignore"):
        x = np.asarray(library.to_numpy(linalg.triangular_solve(a, library.asarray([1.0, 2.0]))))
    assert x[0] == 1.0
    assert not np.isfinite(x[1])
    # A column of zeros is eliminated by zeros.
    x = np.asarray([[0.0, 1.0], [0.0, 2.0]])
    for result, expected in zip(linalg.lu(library.asarray(x)), (np.arange(2), np.eye(2), x)):
        library.assert_equal(result, expected)


@pytest.mark.parametrize("dtype", FLOATING)
@pytest.mark.parametrize("shape", [(6, 3), (3, 6), (2, 4, 4), (0, 3), (3, 0), (0, 3, 2)])
def test_lstsq_of_every_type_and_shape(library: Library, dtype: str, shape: tuple[int, ...]) -> None:
    a = normal(*shape, dtype=dtype)
    rtol = tolerance(dtype)
    for b in (normal(shape[-2], dtype=dtype), normal(*shape[:-1], 2, dtype=dtype)):
        result = linalg.lstsq(library.asarray(a), library.asarray(b))
        if shape[0] and len(shape) >= 2:
            expected = lstsq_reference(a, b)
        else:
            tail = () if b.ndim == 1 else (2,)
            expected = (
                np.zeros((*shape[:-2], shape[-1], *tail), dtype),
                np.zeros((*shape[:-2], *tail)),
                np.zeros(shape[:-2], int),
                np.zeros((*shape[:-2], min(shape[-2:]))),
            )
        real = np.zeros(0, dtype).real.dtype
        for name, wanted, kind in zip(result._fields, expected, (dtype, real, "int64", real)):
            wanted = wanted.astype(kind)
            library.assert_equal(getattr(result, name), wanted, rtol=10 * rtol, atol=10 * rtol)


def test_lstsq_of_low_rank(library: Library) -> None:
    a, b = np.repeat(normal(4, 1), 3, axis=1), normal(4, 2)
    result = linalg.lstsq(library.asarray(a), library.asarray(b))
    for actual, wanted in zip(result, lstsq_reference(a, b)):
        library.assert_equal(actual, wanted, rtol=1e-9, atol=1e-12)
    diagonal = np.diag([1.0, 1e-3, 1e-9])
    for rtol, rank in ((None, 3), (1e-6, 2), (0.1, 1), (0.0, 3)):
        result = linalg.lstsq(library.asarray(diagonal), library.asarray(np.ones(3)), rtol=rtol)
        library.assert_equal(result.rank, np.asarray(rank))
        expected = [1.0, 1e3, 1e9][:rank] + [0.0] * (3 - rank)
        library.assert_equal(result.x, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_lstsq_of_what_is_not_finite(library: Library, value: float) -> None:
    stack = np.stack([TALL[0], TALL[0]])
    stack[1, 0, 0] = value
    b = normal(5)
    result = linalg.lstsq(library.asarray(stack), library.asarray(b))
    x = np.stack([np.linalg.lstsq(TALL[0], b)[0], np.full(3, np.nan)])
    library.assert_equal(result.x, x, rtol=1e-10)
    library.assert_equal(result.rank, np.asarray([3, 0]))
    b[2] = value
    result = linalg.lstsq(library.asarray(TALL[0]), library.asarray(b))
    library.assert_equal(result.x, np.full(3, np.nan))
    library.assert_equal(result.residuals, np.asarray(np.nan))


SECOND = {
    "triangular_solve": linalg.triangular_solve,
    "cho_solve": linalg.cho_solve,
    "lu_solve": lambda a, b: linalg.lu_solve(*linalg.lu_factor(a), b),
    "lstsq": lambda a, b: linalg.lstsq(a, b).x,
}


@pytest.mark.parametrize("function", SECOND.values(), ids=SECOND)
def test_second_derivatives(function: Any) -> None:
    import jax
    import torch

    a, b, direction, step = regular(3, 3), torch.asarray(normal(3)), normal(3, 3), 1e-5
    total = lambda a, b: (function(a, b) ** 3).sum()
    gradient = torch.func.grad(total)
    up, down = (gradient(torch.asarray(a + s * direction), b).numpy() for s in (step, -step))
    expected = (up - down) / (2 * step)
    _, result = torch.func.jvp(lambda x: gradient(x, b), (torch.asarray(a),), (torch.asarray(direction),))
    np.testing.assert_allclose(result.numpy(), expected, rtol=1e-5, atol=1e-7)
    right = jax.numpy.asarray(b.numpy())
    twice = jax.grad(lambda x: (jax.grad(total)(x, right) * direction).sum())
    np.testing.assert_allclose(twice(jax.numpy.asarray(a)), expected, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("name", ["triangular_solve", "cho_solve", "lu_solve", "lstsq"])
def test_complex_gradients(name: str) -> None:
    """The derivative along one direction, by each library, is that of differences."""
    import jax
    import torch

    def total(a: Any, b: Any) -> Any:
        if name == "lu_solve":
            x = linalg.lu_solve(*linalg.lu_factor(a), b)
        elif name == "lstsq":
            x = linalg.lstsq(a, b).x
        else:
            x = getattr(linalg, name)(a, b)
        return (abs(x) ** 2).sum()

    a, b = regular(3, 3, dtype="complex128"), normal(3, dtype="complex128")
    direction, step = normal(3, 3, dtype="complex128"), 1e-6
    expected = (total(a + step * direction, b) - total(a - step * direction, b)) / (2 * step)
    # JAX's gradient is the conjugate of PyTorch's.
    found = np.sum(np.asarray(jax.grad(total)(jax.numpy.asarray(a), jax.numpy.asarray(b))) * direction).real
    assert found == pytest.approx(expected, rel=1e-6)
    x = torch.asarray(a).requires_grad_()
    total(x, torch.asarray(b)).backward()
    assert np.sum(x.grad.numpy().conj() * direction).real == pytest.approx(expected, rel=1e-6)


def test_dask_stays_lazy() -> None:
    import dask.array as da

    a, b = da.from_array(STACK, chunks=(1, 2, 3)), da.from_array(SIDES, chunks=(2, 1, 1))
    with nothing_computed():
        results = [
            (linalg.triangular_solve(a, b), solve(np.tril(STACK), SIDES)),
            (linalg.cho_solve(a, b), solve(np.tril(STACK) @ np.tril(STACK).mT, SIDES)),
            (linalg.lu_solve(*linalg.lu_factor(a), b), solve(STACK, SIDES)),
            (linalg.lu(a).upper, lu_reference(STACK)[2]),
            (linalg.lstsq(a, b).x, solve(STACK, SIDES)),
        ]
    for result, expected in results:
        np.testing.assert_allclose(np.asarray(result), expected, rtol=1e-9, atol=1e-12)


def bad_calls(library: Library) -> list[tuple[Any, type, str]]:
    a, v = library.asarray(A), library.asarray(V)
    tall, integers = library.asarray(TALL), library.asarray(np.eye(4, dtype=int))
    stack = library.asarray(np.ones((3, 4, 1)))
    two = library.asarray(np.ones((2, 4, 4)))
    order = library.asarray(np.arange(4))
    calls: list[tuple[Any, type, str]] = [
        (lambda: linalg.triangular_solve(a, v, left_side=1), TypeError, "left_side must be True or False"),
        (lambda: linalg.triangular_solve(a, v, lower="no"), TypeError, "lower must be True or False"),
        (lambda: linalg.triangular_solve(a, library.asarray(1.0)), ValueError, r"b must have the shape \(4,\)"),
        (lambda: linalg.triangular_solve(a, a[:, :2], left_side=False), ValueError, r"or \(..., k, 4\)"),
        (lambda: linalg.cho_solve(a, v, lower=None), TypeError, "cho_solve: lower must be True or False"),
        (lambda: linalg.lu_solve(a, v, v), TypeError, "lu_solve: permutation must have an integer data type"),
        (lambda: linalg.lu_solve(a, order[:3], v), ValueError, r"lu_solve: permutation must have the shape \(4,\)"),
        (lambda: linalg.lu_solve(a, order, v, transpose=1), TypeError, "transpose must be True or False"),
        (lambda: linalg.lu_solve(tall, order, v), ValueError, "factors must hold square matrices"),
        (lambda: linalg.lu_solve(a, order, v[:2]), ValueError, "lu_solve: b must have the shape"),
        (lambda: linalg.lu_solve(a, [0, 1], v), TypeError, "lu_solve: permutation must be an array"),
        (lambda: linalg.lu(v), ValueError, "lu: x must hold matrices"),
        (lambda: linalg.lu(integers), TypeError, "lu: x must have a floating-point data type"),
        (lambda: linalg.lu([[1.0]]), TypeError, "lu: x must be an array"),
        (lambda: linalg.lu_factor(v), ValueError, "lu_factor: x must hold matrices"),
        (lambda: linalg.lu_factor(integers), TypeError, "lu_factor: x must have a floating-point data type"),
        (lambda: linalg.lstsq(a, v, rtol=-1.0), ValueError, "lstsq: rtol must be at least 0, got -1.0"),
        (lambda: linalg.lstsq(a, v, rtol=float("nan")), ValueError, "lstsq: rtol must be at least 0, got nan"),
        (lambda: linalg.lstsq(a, v, rtol="small"), TypeError, "lstsq: rtol must be a number or None"),
        (lambda: linalg.lstsq(v, v), ValueError, "lstsq: A must hold matrices"),
    ]
    for function, name in ((linalg.triangular_solve, "a"), (linalg.cho_solve, "c")):
        calls += [
            (lambda f=function: f(tall, v), ValueError, f"{name} must hold square matrices"),
        ]
    for function in (linalg.triangular_solve, linalg.cho_solve, linalg.lstsq):
        calls += [
            (lambda f=function: f(integers, v), TypeError, "must have a floating-point data type"),
            (lambda f=function: f(a, [1.0]), TypeError, f"{function.__name__}: b must be an array, got list"),
            (lambda f=function: f(a, v[:3]), ValueError, rf"{function.__name__}: b must have the shape \(4,\)"),
            (
                lambda f=function: f(two, stack),
                ValueError,
                rf"{function.__name__}: (the stacks of a|takes arrays that broad)",
            ),
        ]
    return calls


def test_bad_input(library: Library) -> None:
    for call, error, message in bad_calls(library):
        with pytest.raises(error, match=message):
            call()


def test_two_libraries_and_two_devices() -> None:
    import array_api_strict as strict
    import torch

    there = strict.ones(2, device=strict.Device("device1"))
    order = np.arange(2)
    calls = {
        "triangular_solve": linalg.triangular_solve,
        "cho_solve": linalg.cho_solve,
        "lstsq": linalg.lstsq,
        "lu_solve": lambda a, b: linalg.lu_solve(a, strict.asarray(order) if isinstance(a, type(there)) else order, b),
    }
    for name, call in calls.items():
        with pytest.raises(TypeError, match=f"{name}: takes arrays of one library"):
            call(np.eye(2), torch.ones(2, dtype=torch.float64))
        with pytest.raises(ValueError, match=f"{name}: takes arrays on one device"):
            call(strict.eye(2), there)


NARROW: dict[str, Any] = {
    "triangular_solve": lambda x: (linalg.triangular_solve(x, x[0, :]),),
    "cho_solve": lambda x: (linalg.cho_solve(x, x),),
    "lu_factor": linalg.lu_factor,
    "lu": linalg.lu,
    "lu_solve": lambda x: (linalg.lu_solve(*linalg.lu_factor(x), x[0, :]),),
    "lstsq": lambda x: linalg.lstsq(x, x[:, 0]),
    "lstsq of low rank": lambda x: linalg.lstsq(x * x.reshape(-1)[0] / x[:, :1], x[:, 0]),
    "expm": lambda x: (linalg.expm(x),),
    "logm": lambda x: (linalg.logm(x),),
    "einsum": lambda x: (linalg.einsum("ij,jk,kl->il", x, x, x),),
    "kron": lambda x: (linalg.kron(x, x),),
    "matvec": lambda x: (linalg.matvec(x, x[0, :]),),
}


@pytest.mark.parametrize("name", NARROW)
def test_narrow_types(name: str) -> None:
    import jax.numpy as jnp
    import torch

    values = np.asarray([[2.0, 0.5], [0.25, 3.0]])
    for xp, dtype in (
        (np, np.float16),
        (torch, torch.float16),
        (torch, torch.bfloat16),
        (jnp, jnp.float16),
        (jnp, jnp.bfloat16),
    ):
        x = xp.asarray(values, dtype=dtype)
        eps = float(xp.finfo(dtype).eps)
        for result, expected in zip(NARROW[name](x), NARROW[name](values), strict=True):
            assert result.dtype == x.dtype or "int" in str(result.dtype)
            assert np.asarray(result.tolist()) == pytest.approx(np.asarray(expected), rel=8 * eps, abs=8 * eps)


def test_longdouble_is_not_taken_for_float64() -> None:
    x = np.eye(2, dtype=np.longdouble)
    if x.dtype.itemsize == 8:
        pytest.skip("longdouble is float64 on this platform")
    for function, arrays in ((linalg.triangular_solve, (x, x)), (linalg.cho_solve, (x, x)), (linalg.lu_factor, (x,))):
        with pytest.raises(TypeError, match="LAPACK does not support"):
            function(*arrays)
