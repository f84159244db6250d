"""NumPy's products and linear algebra on traced arrays: against NumPy itself and central differences."""

from typing import Any, Final

import numpy as np
import pytest

from tests.numpy_calls import Call, calls, check, check_aliases, check_types, differences, leaves, weighted
from xpand_extensions.autodiff import grad, vjp
from xpand_extensions.jit import jit
from xpand_extensions.tracing import TracedError
from xpand_extensions.vmap import vmap

X: Final = np.array([[0.31, 1.2, 0.73], [2.1, 1.5, 0.9]])
M: Final = np.array([[2.0, 0.3, 0.1], [0.4, 3.0, 0.2], [0.5, 0.6, 4.0]])
W: Final = np.array([0.5, -1.0, 2.0, 1.5, 0.7, -0.3])
R: Final = np.array([[0.2, -1.3, 0.5], [1.1, 0.4, -0.6], [0.3, 0.8, -0.2]])
CONSTANTS: Final = {"M": M, "W": W, "X": X, "R": R, "I": 1j * R}

PRODUCT_CALLS: Final = [
    *calls(
        CONSTANTS,
        X,
        "np.dot(x, M)",
        "np.dot(x, 2.0)",
        "np.dot(3, x)",
        "np.dot(x[0], x[1])",
        "np.dot(M, x[0])",
        "np.dot(x[None], M)",
        "np.dot(x, [1.0, 2.0, 3.0])",
        "np.dot(x[0, 0], x)",
        "np.dot(x[:, :0], M[:0])",
        "np.dot(x, M, out=x * 0.0)",
        "np.vdot(x, x)",
        "np.vdot(W, x)",
        "np.vdot(x, 1j * W.reshape(2, 3))",
        "np.vdot(1j * x, I[:2] + x)",
        "np.inner(x, x)",
        "np.inner(x, W[:3])",
        "np.inner(M, x)",
        "np.inner(x, 2.0)",
        "np.inner(x[None], x[0])",
        "np.outer(x, W)",
        "np.outer(W, x)",
        "np.outer(x[0], 3.0)",
        "np.outer(x[0], x[1], out=None)",
        "np.linalg.outer(x[0], x[1])",
        "np.linalg.outer(W, x[1])",
        "np.linalg.matmul(x, M)",
        "np.linalg.matmul(M, x[0])",
        "np.linalg.vecdot(x, x)",
        "np.linalg.vecdot(1j * x, x, axis=0)",
        "np.tensordot(x, M, 1)",
        "np.tensordot(x, M, axes=([1], [0]))",
        "np.tensordot(x, x, axes=(0, 0))",
        "np.tensordot(x, x, axes=((0, 1), (0, 1)))",
        "np.tensordot(x, x, axes=[[-1, 0], [-1, 0]])",
        "np.tensordot(x, x)",
        "np.tensordot(x, W, 0)",
        "np.tensordot(M, x, (1, 1))",
        "np.linalg.tensordot(x, M, axes=1)",
        "np.kron(x, W[:2])",
        "np.kron(W[:2], x)",
        "np.kron(x, x[0])",
        "np.kron(x, 2.0)",
        "np.kron(x[None], x)",
        "np.cross(x, W[:3])",
        "np.cross(x, x[::-1])",
        "np.cross(x.T, x.T[:, ::-1], axis=0)",
        "np.cross(x.T, M[:2], axisa=0, axisb=1, axisc=0)",
        "np.cross(W[:3], x[0])",
        "np.linalg.cross(x, W[:3])",
        "np.linalg.cross(x.T, x.T[:, ::-1], axis=0)",
        "np.linalg.multi_dot([x, M, M])",
        "np.linalg.multi_dot([x[0], M, M.T, W[:3]])",
        "np.linalg.multi_dot([M, x.T])",
        "np.linalg.multi_dot([x[0], M])",
        "np.linalg.multi_dot([M, M, x[1]])",
        "np.linalg.multi_dot([x, M], out=x * 0.0)",
    ),
]

EINSUM_CALLS: Final = [
    *calls(
        CONSTANTS,
        X,
        "np.einsum('ij,jk->ik', x, M)",
        "np.einsum('ij,jk', x, M)",
        "np.einsum('ij, jk -> ki', x, M)",
        "np.einsum('ij->j', x)",
        "np.einsum('ij->', x)",
        "np.einsum('ij->ji', x)",
        "np.einsum('ji', x)",
        "np.einsum('ij', x)",
        "np.einsum('ii', x[:, :2])",
        "np.einsum('ii->i', x[:, :2])",
        "np.einsum('iji->ij', x[:, :, None] * M[0, :2])",
        "np.einsum('iij->ji', x[:, :2, None] * M[0])",
        "np.einsum('iijj->ij', x[:, :2, None, None] * M)",
        "np.einsum('iii->i', x[:, :2, None] * W[:2])",
        "np.einsum(x, [0, 1], M, [1, 2], [0, 2])",
        "np.einsum(x, [0, 1], M, [1, 2])",
        "np.einsum(x, [0, 1])",
        "np.einsum(x, [1, 0])",
        "np.einsum(x, [0, 1], [])",
        "np.einsum(x, [Ellipsis, 1], W[:3], [1])",
        "np.einsum('i...->...', x)",
        "np.einsum('...j->j...', x)",
        "np.einsum('...', x)",
        "np.einsum('...ij->...ji', x[None])",
        "np.einsum('...ii->...i', x[None, :, :2])",
        "np.einsum('...i,i->...', x, W[:3])",
        "np.einsum('...,...', x, W[:3])",
        "np.einsum('ij,ij,ij->', x, x, x, optimize=True)",
        "np.einsum('ij,jk,kl->il', x, M, M, optimize='greedy')",
        "np.einsum('ij,jk->ik', x, M, optimize=['einsum_path', (0, 1)])",
        "np.einsum('i,j', x[0], W)",
        "np.einsum(',ij', 2.0, x)",
        "np.einsum('ij,ij->ij', x[:1], x)",
        "np.einsum('ij,ij->i', x, x[:, :1])",
        "np.einsum('ij,jk->ik', M[:2], M * x[0])",
        "np.einsum('ij->j', x, out=x[0] * 0.0)",
        "np.einsum('ij,j->i', x, [1, 2, 3])",
        "np.einsum('ij,jk->ik', x, M, dtype=np.complex128)",
    ),
]

MATRIX_CALLS: Final = [
    *calls(
        CONSTANTS,
        M,
        "np.linalg.inv(x)",
        "np.linalg.inv(x + I)",
        "np.linalg.inv(np.stack([x, M]))",
        "np.linalg.det(x)",
        "np.linalg.det(x[:0, :0])",
        "np.linalg.slogdet(x)",
        "np.linalg.slogdet(-x)",
        "np.linalg.slogdet(x + I)",
        "np.linalg.solve(x, W[:3])",
        "np.linalg.solve(x, np.ones((3, 2)))",
        "np.linalg.solve(M, x)",
        "np.linalg.solve(M, x[0])",
        "np.linalg.solve(np.stack([x, M]), W[:3])",
        "np.linalg.solve(x, [1, 2, 3])",
        "np.linalg.cholesky(x)",
        "np.linalg.cholesky(x, upper=True)",
        "np.linalg.cholesky(x + 0.1 * I)",
        "np.linalg.cholesky(x + 0.1 * I, upper=True)",
        "np.linalg.eigvalsh(x)",
        "np.linalg.eigvalsh(x, 'U')",
        "np.linalg.eigvalsh(x + I, UPLO='u')",
        "np.linalg.eigh(x)",
        "np.linalg.eigh(x, 'U')",
        "np.linalg.eigh(np.stack([x, x.T]), UPLO='U')",
        "np.linalg.eigh(R + R.T + x)",
        "np.linalg.eigh(R + x, 'U')",
        "np.linalg.eigh(x + I)[0]",
        "np.linalg.eigh(x + I, 'U').eigenvalues",
        "np.linalg.svd(x, compute_uv=False)",
        "np.linalg.svd(x)",
        "np.linalg.svd(x[:, :2], full_matrices=False)",
        "np.linalg.svd(x[:2], full_matrices=False)",
        "np.linalg.svd(x + x.T, hermitian=True)",
        "np.linalg.svd(R + x, hermitian=True)",
        "np.linalg.svd(R + x, hermitian=True, compute_uv=False)",
        "np.linalg.svdvals(x)",
        "np.linalg.svdvals(x[:2])",
        "np.linalg.qr(x)",
        "np.linalg.qr(x[:, :2])",
        "np.linalg.qr(x[:2])",
        "np.linalg.qr(x, 'r')",
        "np.linalg.qr(x, mode='complete')",
        "np.linalg.pinv(x)",
        "np.linalg.pinv(x[:, :2])",
        "np.linalg.pinv(x, rcond=1e-3)",
        "np.linalg.pinv(x, rtol=None)",
        "np.linalg.pinv(x, rtol=0.6)",
        "np.linalg.pinv(x, rtol=0.9)",
        "np.linalg.pinv(x + I, rcond=0.6)",
        "np.linalg.pinv(x[:, :2], rcond=0.8)",
        "np.linalg.pinv(x[:2] + I[:2], rcond=0.8)",
        "np.linalg.pinv(R + x, rcond=0.5, hermitian=True)",
        "np.linalg.pinv(np.stack([x, M.T * 2]), rcond=np.array([0.5, 0.9]))",
        "np.linalg.lstsq(x[:, :2], W[:3], rcond=0.8)[0]",
        "np.linalg.lstsq(M, x[0], rcond=0.6)[0]",
        "np.linalg.pinv(x, hermitian=True)",
        "np.linalg.pinv(np.stack([x, M]), rcond=np.array([1e-3, 1e-9]))",
        "np.linalg.matrix_power(x, 3)",
        "np.linalg.matrix_power(x, -1)",
        "np.linalg.matrix_power(x, -2)",
        "np.linalg.matrix_power(x, 0)",
        "np.linalg.matrix_power(x, 1)",
        "np.linalg.matrix_rank(x)",
        "np.linalg.matrix_rank(x, tol=3.0)",
        "np.linalg.matrix_rank(x, rtol=0.5)",
        "np.linalg.matrix_rank(x, hermitian=True)",
        "np.linalg.matrix_rank(np.stack([x, x * 0.0]), tol=[3.0, 1.0])",
        "np.linalg.matrix_rank(x[:0])",
        "np.linalg.cond(x)",
        "np.linalg.cond(x, 1)",
        "np.linalg.cond(x, 'fro')",
        "np.linalg.cond(x, -2)",
        "np.linalg.cond(x, np.inf)",
        "np.linalg.cond(np.stack([x, M]), 2)",
        "np.linalg.lstsq(x[:, :2] * R[:, :2], W[:3], rcond=None)",
        "np.linalg.lstsq(x[:, :2] * R[:, :2], np.ones((3, 2)), rcond=None)",
        "np.linalg.lstsq(x, W[:3])",
        "np.linalg.lstsq(x[:2], x[:2, :2])",
        "np.linalg.lstsq(x, x[0], rcond=-1)",
        "np.linalg.lstsq(M[:, :2], x[0], rcond=1e-10)",
        "np.linalg.tensorsolve(x, W[:3])",
        "np.linalg.tensorsolve(np.reshape(x, (3, 1, 3)), np.reshape(W[:3], (3, 1)))",
        "np.linalg.tensorsolve(np.reshape(x, (1, 3, 3)), W[:3], axes=(0, 1))",
        "np.linalg.tensorinv(x, ind=1)",
        "np.linalg.tensorinv(np.reshape(x, (3, 1, 3)))",
        "np.linalg.diagonal(x, offset=1)",
        "np.linalg.trace(x)",
        "np.linalg.trace(x[None], offset=-1)",
        tolerance=1e-11,
    ),
]

NORM_CALLS: Final = [
    *calls(
        CONSTANTS,
        M,
        "np.linalg.norm(x)",
        "np.linalg.norm(x, 'fro')",
        "np.linalg.norm(x, 'nuc')",
        "np.linalg.norm(x, 2)",
        "np.linalg.norm(x, -2)",
        "np.linalg.norm(x, 1)",
        "np.linalg.norm(x, -1)",
        "np.linalg.norm(x, np.inf)",
        "np.linalg.norm(x, -np.inf)",
        "np.linalg.norm(x, axis=0)",
        "np.linalg.norm(x, 1, axis=1)",
        "np.linalg.norm(x, axis=(0, 1))",
        "np.linalg.norm(x, np.inf, axis=1, keepdims=True)",
        "np.linalg.norm(x, -np.inf, axis=0)",
        "np.linalg.norm(x, keepdims=True)",
        "np.linalg.norm(x[None], keepdims=True)",
        "np.linalg.norm(x[None])",
        "np.linalg.norm(x[0], 2)",
        "np.linalg.norm(x[0], 3)",
        "np.linalg.norm(x[0], -1)",
        "np.linalg.norm(x[0], 0.5)",
        "np.linalg.norm(x[0], 0)",
        "np.linalg.norm(x[0], ord=1, axis=(0,))",
        "np.linalg.norm(x[0, 0])",
        "np.linalg.norm(x, axis=(1, 0), ord=1, keepdims=True)",
        "np.linalg.norm(x[None], 'nuc', axis=(2, 0))",
        "np.linalg.norm(x[:, None], 2, axis=(-1, 0), keepdims=True)",
        "np.linalg.norm(x + I)",
        "np.linalg.norm(x + I, axis=1)",
        "np.linalg.norm(x + I, 1)",
        "np.linalg.matrix_norm(x)",
        "np.linalg.matrix_norm(x[None], ord='nuc', keepdims=True)",
        "np.linalg.matrix_norm(x, ord=1)",
        "np.linalg.vector_norm(x)",
        "np.linalg.vector_norm(x, axis=1)",
        "np.linalg.vector_norm(x, axis=(0, 1), keepdims=True, ord=3)",
        "np.linalg.vector_norm(x[None], axis=(0, 1))",
    ),
]


ALL_CALLS: Final = [*PRODUCT_CALLS, *EINSUM_CALLS, *MATRIX_CALLS, *NORM_CALLS]
DTYPES: Final = ("bool", "int8", "int64", "float32", "complex128")


@pytest.mark.parametrize("call", ALL_CALLS)
def test_values_and_derivatives(call: Call) -> None:
    check(call)


@pytest.mark.parametrize("call", ALL_CALLS)
def test_types(call: Call) -> None:
    check_types(call, *DTYPES)


@pytest.mark.parametrize("call", ALL_CALLS)
def test_aliases(call: Call) -> None:
    check_aliases(call)


# Calls whose results the checker does not compare


def test_paths_of_sums() -> None:
    paths: list[Any] = []

    def function(x: Any) -> Any:
        paths.append(np.einsum_path("ij,jk,kl->il", x, M, M, optimize="optimal"))
        return np.sum(x)

    function(X)
    for transform in (grad, jit, vmap):
        transform(function)(X[None] if transform is vmap else X)
    assert len(paths) == 4
    assert all(path == paths[0] for path in paths)


def test_eigenvalues_are_real_where_values_are_known() -> None:
    dtypes: list[Any] = []

    def function(x: Any) -> Any:
        values, vectors = np.linalg.eig(x)
        dtypes.append((values.dtype, vectors.dtype, np.linalg.eigvals(x).dtype))
        return np.sum(np.sin(np.real(values)) * np.abs(vectors[0]))

    rotation = np.array([[0.0, -1.0, 0.3], [1.0, 0.2, 0.0], [0.1, 0.0, 2.0]])
    for x in (M, rotation):
        dtypes.clear()
        function(x)
        gradient = grad(lambda y: weighted(function(y)))(x)
        assert dtypes[1] == dtypes[0]
        np.testing.assert_allclose(gradient, differences(function, x), rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(jit(function)(x), function(x), rtol=1e-12)
    values, vectors = jit(np.linalg.eig)(M)  # known only when the program runs, so that they are complex
    reference = np.linalg.eig(M)
    assert values.dtype == complex
    np.testing.assert_allclose(values, reference.eigenvalues, rtol=1e-12)
    np.testing.assert_allclose(vectors, reference.eigenvectors, rtol=1e-12)


def test_residuals_of_a_lower_rank() -> None:
    x = np.ones((3, 2))
    results: list[Any] = []

    def function(y: Any) -> Any:
        results.append(np.linalg.lstsq(y, W[:3]))
        return np.sum(results[0][0])

    grad(function)(x)
    assert results[0][1].shape == np.linalg.lstsq(x, W[:3])[1].shape == (0,)
    program = jit(lambda y: np.linalg.lstsq(y, W[:3]))
    assert np.isnan(program(x)[1]).all()  # their number depends on the rank
    np.testing.assert_allclose(program(M[:, :2])[1], np.linalg.lstsq(M[:, :2], W[:3])[1])


@pytest.mark.parametrize("p", [None, 1, -1, 2, -2, np.inf, "fro"])
def test_condition_numbers_of_singular_matrices(p: Any) -> None:
    infinite = np.where(np.eye(3) == 1, np.inf, M)
    for x in (np.zeros((3, 3)), np.diag([1.0, 0.0, 2.0]), np.diag([1.0, np.nan, 2.0]), infinite):
        if p in (None, 2, -2) and np.isnan(x).any():
            with pytest.raises(np.linalg.LinAlgError):
                jit(lambda y: np.linalg.cond(y, p))(x)
            continue
        np.testing.assert_array_equal(jit(lambda y: np.linalg.cond(y, p))(x), np.linalg.cond(x, p))


def test_singular_values_of_singular_hermitian_matrices() -> None:
    for x in (np.zeros((3, 3)), np.diag([1.0, 0.0, -2.0])):
        result = jit(lambda y: np.linalg.svd(y, hermitian=True))(x)
        for part, reference in zip(result, np.linalg.svd(x, hermitian=True), strict=True):
            np.testing.assert_allclose(part, reference, atol=1e-15)


@pytest.mark.parametrize("name", ["cholesky", "eigh", "eigvalsh"])
@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("unit", [0.0, 1j])
def test_one_triangle_is_read(name: str, upper: bool, unit: complex) -> None:
    """Also if the other one and the imaginary parts of the diagonal have arbitrary values."""
    rng = np.random.default_rng(3)
    x = 6 * np.eye(4) + rng.normal(size=(4, 4)) + unit * rng.normal(size=(4, 4))
    options: dict[str, Any] = {"upper": upper} if name == "cholesky" else {"UPLO": "U" if upper else "L"}
    function = getattr(np.linalg, name)
    result, reference = jit(lambda y: function(y, **options))(x), function(x, **options)
    for part, other in zip(leaves(result), leaves(reference), strict=True):
        np.testing.assert_allclose(part, other, rtol=1e-12, atol=1e-12)
    spoilt = np.where(np.tri(4, k=-1) == 1, np.nan, x) if upper else np.where(np.tri(4) == 0, np.nan, x)
    for part, other in zip(leaves(jit(lambda y: function(y, **options))(spoilt)), leaves(reference), strict=True):
        np.testing.assert_allclose(part, other, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8, 30])
@pytest.mark.parametrize("triangle", ["L", "U"])
def test_eigenvectors_have_the_signs_of_numpy(size: int, triangle: Any) -> None:
    rng = np.random.default_rng(size)

    def function(y: Any) -> Any:
        return np.linalg.eigh(y, triangle)

    for x in (rng.normal(size=(3, size, size)), rng.normal(size=(size, size)) + 1j * rng.normal(size=(size, size))):
        reference = function(x)
        for result in (jit(function)(x), vjp(function, x)[0]):
            assert type(result) is type(reference)
            np.testing.assert_allclose(result.eigenvectors, reference.eigenvectors, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("np.linalg.qr(x, 'raw')", ValueError, "'reduced', 'complete' or 'r'"),
        ("np.linalg.eigh(x, 'X')", ValueError, "UPLO"),
        ("np.linalg.norm(x[0], 'fro')", ValueError, "for vectors"),
        ("np.linalg.norm(x[None], 2)", ValueError, "number of dimensions"),
        ("np.linalg.norm(x, 3)", ValueError, "norm order"),
        ("np.linalg.norm(x, axis=(0, 0), ord=1)", ValueError, "[Dd]uplicate|repeated"),
        ("np.linalg.cholesky(x[0])", np.linalg.LinAlgError, "two-dimensional"),
        ("np.linalg.lstsq(x[None], x)", np.linalg.LinAlgError, "one matrix"),
        ("np.linalg.tensorinv(x, 0)", ValueError, "positive"),
        ("np.linalg.tensorsolve(x, W)", np.linalg.LinAlgError, "as many elements"),
        ("np.linalg.multi_dot([x])", ValueError, "at least two"),
        ("np.linalg.multi_dot([x, x[0], x])", np.linalg.LinAlgError, "must be matrices"),
        ("np.linalg.pinv(x, rcond=1e-3, rtol=1e-3)", ValueError, "both"),
        ("np.cross(x[:, :2], x[:, :2])", ValueError, "three elements"),
        ("np.einsum('ijk->i', x)", ValueError, "2 axes"),
        ("np.einsum('ij->iij', x)", ValueError, "twice"),
        ("np.einsum('ii->i', x[:2])", ValueError, "one size"),
        ("np.einsum('ij->ji', x, dtype=int)", TypeError, "cast"),
        ("np.dot(x, M, out=np.zeros((3, 3)))", TracedError, r"np\.zeros_like"),
        ("np.dot(x, M[:2])", ValueError, "matmul"),
    ],
)
def test_errors(text: str, error: type[Exception], message: str) -> None:
    function = eval(f"lambda x: {text}", {"np": np, **CONSTANTS})
    for transform in (jit, lambda f: lambda x: vjp(f, x)[0]):
        with pytest.raises(error, match=message):
            transform(function)(M)


# Random sums


def random_sum(seed: int) -> tuple[str, list[Any]]:
    """Return random subscripts for Einstein's summation, and arrays."""
    rng = np.random.default_rng(seed)
    letters = "abcde"
    sizes = dict(zip(letters, rng.integers(1, 4, len(letters)).tolist()))
    terms = ["".join(rng.choice(list(letters), rng.integers(0, 4))) for _ in range(rng.integers(1, 4))]
    dots = bool(rng.integers(3) == 0)
    shapes = [tuple(sizes[letter] for letter in term) for term in terms]
    if dots:
        terms = [f"{term}..." for term in terms]
        shapes = [(*shape, *(2, 3)[rng.integers(3) :]) for shape in shapes]
    used = sorted({letter for term in terms for letter in term} - {"."})
    output = "".join(rng.permutation(used)[: rng.integers(len(used) + 1)]) + "..." * dots
    arrow = "" if rng.integers(3) == 0 else f"->{output}"
    return ",".join(terms) + arrow, [rng.normal(size=shape) for shape in shapes]


@pytest.mark.parametrize("seed", range(80))
def test_random_sums(seed: int) -> None:
    subscripts, arrays = random_sum(seed)
    for i, x in enumerate(arrays):

        def function(y: Any, i: int = i) -> Any:
            return np.einsum(subscripts, *arrays[:i], y, *arrays[i + 1 :])

        call = Call(subscripts, function, x, {}, 1e-12)
        check(call)
        if x.ndim:  # NumPy's results for numbers are not writable
            check_aliases(call)
