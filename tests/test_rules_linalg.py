"""Rules of linear algebra: derivatives in both modes, batches and shapes, against JAX's."""

from typing import Any

import numpy as np
import pytest

from tests.cases import Case
from tests.operations import Check, checked
from tests.traced import traced_forward, traced_grad, traced_second, traced_stage, traced_vmap
from xpand import UnsupportedError, array_namespace
from xpand_extensions import linalg
from xpand_extensions.autodiff import grad, jvp
from xpand_extensions.tracing import traced_namespace
from xpand_extensions.tracing._core import Aval
from xpand_extensions.tracing._staging import stage
from xpand_extensions.vmap import vmap

TRACED = [traced_stage, traced_vmap, traced_forward, traced_grad]
RNG = np.random.default_rng(0)
SINGULAR = np.asarray([[1.0, 2.0, 3.0, 0.0], [2.0, 4.0, 6.5, 1.0], [0.5, 1.0, 0.0, -1.0], [3.0, 6.0, 2.0, 4.0]])
INF = float("inf")


def normal(*shape: int) -> np.ndarray:
    return RNG.normal(size=shape)


def positive(*shape: int) -> np.ndarray:
    x = normal(*shape)
    return np.asarray(x @ x.mT + np.eye(shape[-1]))


def of(name: str, **options: Any) -> Any:
    return lambda *arrays: getattr(array_namespace(*arrays).linalg, name)(*arrays, **options)


def part(name: str, *places: int, **options: Any) -> Any:
    """Take some of several results."""
    return lambda x: tuple(of(name, **options)(x)[i] for i in places)


def hermitian(function: Any) -> Any:
    """Make a function of complex positive definite matrices one of real and imaginary parts of any."""

    def of_parts(a: Any, b: Any) -> Any:
        xp = array_namespace(a)
        x = a + 1j * b
        return function(xp.matmul(x, xp.conj(xp.matrix_transpose(x))))

    return of_parts


def of_complex(function: Any) -> Any:
    return lambda a, b: function(a + 1j * b)


def invariant(name: str, **options: Any) -> Any:
    """Make of factors what doesn't depend on the factor of each vector, which libraries choose in their own ways."""

    def of_factors(*arrays: Any) -> Any:
        xp = array_namespace(*arrays)
        return tuple(
            xp.real(x) if i == 1 and name == "svd" else xp.abs(x) for i, x in enumerate(of(name, **options)(*arrays))
        )

    return of_factors


def case(function: Any, *arrays: np.ndarray, **options: Any) -> Case:
    return Case(function, arrays, differentiable=tuple(range(len(arrays))), **options)


CASES = {
    "cholesky": case(of("cholesky"), positive(2, 3, 3)),
    "cholesky, upper": case(of("cholesky", upper=True), positive(2, 3, 3)),
    "cholesky, complex": case(hermitian(of("cholesky")), normal(2, 2), normal(2, 2)),
    "cholesky, complex and upper": case(hermitian(of("cholesky", upper=True)), normal(2, 2), normal(2, 2)),
    **{f"det {n}": case(of("det"), normal(2, n, n)) for n in (1, 2, 3, 4)},
    "det, complex": case(of_complex(of("det")), normal(4, 4), normal(4, 4)),
    "slogdet": case(of("slogdet"), normal(2, 3, 3)),
    "slogdet, complex": case(of_complex(of("slogdet")), normal(3, 3), normal(3, 3)),
    "inv": case(of("inv"), normal(2, 3, 3)),
    "inv, complex": case(of_complex(of("inv")), normal(2, 2), normal(2, 2)),
    **{f"matrix_power {n}": case(lambda x, n=n: of_power(x, n), normal(3, 3)) for n in (-2, 0, 1, 5)},
    "pinv, tall": case(of("pinv"), normal(2, 4, 2)),
    "pinv, wide": case(of("pinv"), normal(2, 3)),
    "pinv, complex": case(of_complex(of("pinv")), normal(3, 2), normal(3, 2)),
    "pinv, equal singular values": case(of("pinv"), 2.0 * np.eye(3, 2)),
    "solve": case(of("solve"), normal(2, 3, 3), normal(2, 3, 2)),
    "solve, vector": case(of("solve"), normal(3, 3), normal(3)),
    "solve, vector for a stack": case(of("solve"), normal(2, 3, 3), normal(3)),
    "solve, broadcast": case(of("solve"), normal(3, 3), normal(2, 3, 1)),
    "solve, complex": case(lambda a, b: of("solve")(a + 1j * b, b), normal(2, 2), normal(2, 2)),
    "diagonal": case(of("diagonal"), normal(2, 3, 4)),
    "diagonal, above": case(of("diagonal", offset=2), normal(3, 4)),
    "diagonal, below": case(of("diagonal", offset=-1), normal(4, 2)),
    "diagonal, outside": case(lambda x: (of("diagonal", offset=5)(x), x), normal(3, 2)),
    "trace": case(of("trace"), normal(2, 3, 4)),
    "trace, above": case(of("trace", offset=1), normal(3, 3)),
    "eigh": case(of("eigh"), positive(2, 3, 3)),
    "eigh, complex": case(hermitian(invariant("eigh")), normal(3, 3), normal(3, 3)),
    "eigvalsh": case(of("eigvalsh"), positive(2, 3, 3)),
    "eigvals": Case(of("eigvals"), (normal(2, 3, 3),)),
    "qr": case(of("qr"), normal(2, 3, 3)),
    "qr, tall": case(of("qr"), normal(4, 2)),
    "qr, wide": case(of("qr"), normal(2, 4)),
    "qr, complex": case(of_complex(of("qr")), normal(3, 2), normal(3, 2)),
    "qr, complete": case(of("qr", mode="complete"), normal(2, 3)),
    "qr, complete and tall": Case(of("qr", mode="complete"), (normal(4, 2),)),
    "svd": case(of("svd"), normal(2, 3, 3)),
    "svd, tall": case(of("svd", full_matrices=False), normal(4, 2)),
    "svd, wide": case(of("svd", full_matrices=False), normal(2, 4)),
    "svd, complex": case(of_complex(invariant("svd", full_matrices=False)), normal(3, 2), normal(3, 2)),
    "svdvals": case(of("svdvals"), normal(2, 3, 2)),
    **{f"vector_norm {p}": case(of("vector_norm", ord=p), normal(3)) for p in (2, 1, 0, 3, 2.5, -1, INF, -INF)},
    "vector_norm, complex": case(of_complex(of("vector_norm", axis=0)), normal(3, 2), normal(3, 2)),
    "vector_norm, complex, 3": case(of_complex(of("vector_norm", ord=3)), normal(3), normal(3)),
    "vector_norm, axes": case(of("vector_norm", axis=(0, -1), keepdims=True), normal(2, 3, 2)),
    **{
        f"matrix_norm {p}": case(of("matrix_norm", ord=p), normal(3, 2))
        for p in ("fro", "nuc", 1, -1, 2, -2, INF, -INF)
    },
    "matrix_norm, keepdims": case(of("matrix_norm", ord="nuc", keepdims=True), normal(2, 3, 2)),
}


def of_power(x: Any, n: int) -> Any:
    return array_namespace(x).linalg.matrix_power(x, n)


# Of second derivatives those whose rules no other case has: JAX compiles each for seconds.
ONCE = {
    *(f"matrix_norm {p}" for p in ("fro", 1, -1, 2, -2, INF, -INF)),
    *(f"vector_norm {p}" for p in (1, 0, 2.5, INF, -INF)),
    *("vector_norm, complex, 3", "matrix_norm, keepdims", "matrix_power 0", "matrix_power 1", "det 1", "det, complex"),
    *("cholesky, complex and upper", "pinv, complex", "solve, broadcast", "solve, complex", "inv, complex"),
    *("svd, complex", "svdvals", "qr, complete", "qr, complex", "diagonal, above", "diagonal, outside", "trace, above"),
}


@checked(CASES, TRACED)
def test_derivatives(case: Case, transformation: Check) -> None:
    transformation(case)


@pytest.mark.parametrize("name", [name for name in CASES if CASES[name].differentiable and name not in ONCE])
def test_second_derivatives(name: str) -> None:
    traced_second(CASES[name])


def sum_of(function: Any) -> Any:
    return lambda *arrays: array_namespace(*arrays).sum(function(*arrays))


def grad_sum(function: Any) -> Any:
    """Make a function whose gradient holds second derivatives."""
    return lambda x: array_namespace(x).sum(grad(function)(x))


def central(function: Any, x: np.ndarray, direction: np.ndarray, step: float = 1e-5) -> Any:
    return (function(x + step * direction) - function(x - step * direction)) / (2 * step)


@pytest.mark.parametrize("size", [2, 3, 4, 5])
@pytest.mark.parametrize("rank", [0, 1, 2, 3, 4])
def test_determinants_of_singular_matrices(size: int, rank: int) -> None:
    # JAX's gradient is zero for some of them, where the polynomial's isn't: minors are what it is.
    x = np.round(4 * normal(size, rank)) @ np.round(4 * normal(rank, size))
    x = np.stack([x, np.eye(size)])
    x[:, 0] = x[:, 1]  # so that what LAPACK finds is exactly zero
    minors = lambda m: np.asarray(
        [
            [(-1) ** (i + j) * np.linalg.det(np.delete(np.delete(m, i, 0), j, 1)) for j in range(size)]
            for i in range(size)
        ]
    )
    expected = np.round(np.stack([minors(m) for m in x]))  # of integers
    rounding = 1e-14 * max(1.0, np.linalg.norm(x[0])) ** (size - 1)
    for found in (grad(sum_of(of("det")))(x), vmap(grad(of("det")))(x)):
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10 + rounding)


def test_second_derivatives_of_singular_determinants() -> None:
    gradient, direction = grad(of("det")), normal(4, 4)
    tangent = jvp(gradient, (SINGULAR,), (direction,))[1]
    np.testing.assert_allclose(tangent, central(gradient, SINGULAR, direction, 1e-4), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_eigenvectors(dtype: str) -> None:
    # JAX refuses: they are differentiated as LAPACK scales them.
    # Of its own seed: eigenvalues that nearly coincide would make the central differences inexact.
    x, direction = np.random.default_rng(1).normal(size=(2, 4, 4)).astype(dtype)
    for function in (lambda x: of("eig")(x)[0], lambda x: of("eig")(x)[1], of("eigvals")):
        tangent = jvp(function, (x,), (direction,))[1]
        np.testing.assert_allclose(tangent, central(function, x, direction), rtol=1e-6, atol=1e-8)
    total = lambda x: array_namespace(x).sum(array_namespace(x).real(of("eigvals")(x)) ** 3)
    if dtype == "float64":
        gradient = grad(total)
        assert np.sum(gradient(x) * direction) == pytest.approx(central(total, x, direction), rel=1e-6)
        second = jvp(gradient, (x,), (direction,))[1]
        np.testing.assert_allclose(second, central(gradient, x, direction), rtol=1e-5, atol=1e-6)


def test_norms_of_zero() -> None:
    # The finite subgradient, where JAX's derivative is NaN.
    for ord in (2, 0, 3, 2.5):
        np.testing.assert_array_equal(grad(of("vector_norm", ord=ord))(np.zeros(3)), np.zeros(3))
        np.testing.assert_array_equal(grad(grad_sum(of("vector_norm", ord=ord)))(np.zeros(3)), np.zeros(3))


def test_logarithms_of_singular_determinants() -> None:
    x = np.stack([np.zeros((2, 2)), np.diag([2.0, 4.0])])
    with np.errstate(all="ignore"):
        found = grad(lambda x: array_namespace(x).sum(of("slogdet")(x)[1]))(x)
    assert np.isnan(found[0]).all()
    np.testing.assert_allclose(found[1], np.diag([0.5, 0.25]))


@pytest.mark.parametrize("shape", [(3, 2), (2, 3), (3, 3)])
def test_factors_of_complex_matrices_change_together(shape: tuple[int, int]) -> None:
    """The product of the factors is the matrix, whatever phases the vectors have: so is that of their changes."""

    def product(x: Any) -> Any:
        xp = array_namespace(x)
        u, s, vh = xp.linalg.svd(x, full_matrices=False)
        return xp.matmul(u * xp.astype(s, u.dtype), vh)

    x, t = normal(*shape) + 1j * normal(*shape)[::-1], normal(*shape)[::-1] - 2j * normal(*shape)
    found, change = jvp(product, (x,), (t,))
    np.testing.assert_allclose(found, x, atol=1e-13)
    np.testing.assert_allclose(change, t, atol=1e-12)


def test_equal_values() -> None:
    # The values alone have derivatives, the vectors have none.
    np.testing.assert_allclose(grad(sum_of(of("eigvalsh")))(np.eye(3)), np.eye(3))
    np.testing.assert_allclose(grad(sum_of(of("svdvals")))(np.eye(3)), np.eye(3), atol=1e-15)
    assert np.isnan(grad(lambda x: of("eigh")(x)[1][0, 1])(np.eye(2))).any()


@pytest.mark.parametrize(
    ("function", "match"),
    [
        (part("svd", 0), "svd: the derivative of the full factors .* use `full_matrices=False`"),
        (part("qr", 0, mode="complete"), "qr: the derivative of the complete factor .* use `mode='reduced'`"),
    ],
)
def test_factors_that_are_not_determined(function: Any, match: str) -> None:
    with pytest.raises(UnsupportedError, match=match):
        grad(lambda x: array_namespace(x).sum(function(x)[0]))(normal(3, 2))


def test_what_is_constant() -> None:
    x = normal(3, 3)
    np.testing.assert_array_equal(
        grad(lambda x: array_namespace(x).sum(x) * float(of("matrix_rank")(x)))(x), 3 * np.ones((3, 3))
    )
    assert vmap(of("matrix_rank"))(np.stack([x, np.ones((3, 3))])).tolist() == [3, 1]
    tolerances = np.asarray([1e-3, 10.0])
    ranks = vmap(lambda x, rtol: array_namespace(x, rtol).linalg.matrix_rank(x, rtol=rtol), in_axes=(None, 0))(
        x, tolerances
    )
    assert ranks.tolist() == [3, 0]


def test_constants_beside_traced_arrays() -> None:
    a, b = np.tril(normal(3, 3)) + 3 * np.eye(3), normal(3)
    inverse = np.linalg.inv(a)
    for function, expected in (
        (lambda b: linalg.triangular_solve(a, b), inverse),
        (lambda b: linalg.matvec(a, b), a),
        (lambda b: linalg.einsum("ij,j->i", a, b), a),
        (lambda b: linalg.dot_general(a, b, axes=((1,), (0,))), a),
        (lambda b: linalg.cho_solve(a, b), inverse.T @ inverse),
        (lambda b: linalg.lu_solve(*linalg.lu_factor(a), b), inverse),
        (lambda b: linalg.lstsq(a, b).x, inverse),
        (lambda b: of("solve")(a, b), inverse),
    ):
        np.testing.assert_allclose(grad(sum_of(function))(b), np.sum(expected, axis=0), rtol=1e-10)
        np.testing.assert_allclose(vmap(function)(np.stack([b, 2 * b])), np.stack([expected @ b, expected @ (2 * b)]))


@pytest.mark.parametrize("axes", [(0, None), (None, 0), (0, 0), (None, -1)])
@pytest.mark.parametrize(
    "shapes", [((3, 3), (3,)), ((3, 3), (3, 2)), ((4, 3, 3), (3,)), ((4, 3, 3), (3, 2)), ((3, 3), (4, 3, 2))]
)
def test_batches_of_systems(shapes: Any, axes: Any) -> None:
    lanes, arrays = [], []
    for shape, axis in zip(shapes, axes):
        x = normal(2, *shape) + (3 * np.eye(3) if shape[-2:] == (3, 3) else 0)
        lanes.append(x if axis is not None else np.broadcast_to(x[0], x.shape))
        arrays.append(x[0] if axis is None else np.moveaxis(x, 0, axis))
    functions = [of("solve"), linalg.triangular_solve, linalg.cho_solve]
    functions.append(lambda a, b: linalg.triangular_solve(a, b, lower=False, transpose=True))
    if len(shapes[1]) > 1:
        functions.append(lambda a, b: linalg.triangular_solve(a, b.mT, left_side=False))
    for function in functions:
        expected = np.stack([function(a, b) for a, b in zip(*lanes)])
        np.testing.assert_allclose(vmap(function, in_axes=axes)(*arrays), expected, rtol=1e-10)


@pytest.mark.parametrize(
    ("function", "shapes", "match"),
    [
        *((of(name), ((2, 3),), f"{name}: x must hold square matrices") for name in ("det", "inv", "eigh", "cholesky")),
        *((of(name), ((3,),), f"{name}: x must hold matrices") for name in ("svd", "qr", "pinv", "trace", "diagonal")),
        (of("solve"), ((3, 3), (2,)), r"solve: shapes \(3, 3\), \(2,\) don't fit"),
    ],
)
def test_shapes_that_do_not_fit(function: Any, shapes: Any, match: str) -> None:
    avals = [Aval(shape, np.dtype(np.float64)) for shape in shapes]
    with pytest.raises(ValueError, match=match):
        stage(traced_namespace(array_namespace(np.ones(1))), "jit", lambda *x: ((function(*x),), ()), avals)
