"""The backend of PhiML in docs/examples: equal to PhiML's own for NumPy; derivatives and compilation on NumPy."""

import importlib
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import xpand
from tests.libraries import EAGER_LIBRARIES, Library

phiml = pytest.importorskip("phiml")

from phiml import math  # noqa: E402 (only if it is installed)
from phiml.backend import BACKENDS, NUMPY, Backend, ComputeDevice, convert  # noqa: E402
from phiml.math import DType  # noqa: E402

sys.path.insert(0, str(Path(__file__).parent.parent / "docs" / "examples"))
for_phiml = importlib.import_module("backends.for_phiml")

# PhiML's own code writes `x[i, j]` and `x // y`, which array-api-strict restricts.
LIBRARIES = [library for library in EAGER_LIBRARIES if not library.id.startswith("strict")]
on_libraries = pytest.mark.parametrize("library", LIBRARIES, ids=str)

RNG = np.random.default_rng(0)
SQUARE = RNG.normal(size=(4, 4)) + 4.0 * np.eye(4)
TALL = RNG.normal(size=(4, 3))
VECTOR = RNG.normal(size=4)
POSITIVE = np.abs(VECTOR) + 0.5
GRID = RNG.normal(size=(2, 4, 5, 3))
POINTS = np.asarray([[[0, 1], [3, 4], [0, 1]], [[2, 2], [1, 0], [3, 3]]])
KERNEL = RNG.normal(size=(1, 2, 3, 3))
SIGNAL = RNG.normal(size=(2, 3, 8))
IDS = np.asarray([0, 2, 1, 2])
LONG, INT, DOUBLE = DType(int, 64), DType(int, 32), DType(float, 64)

Values = Callable[[Any, Any], Any]


@pytest.fixture(autouse=True)
def _double() -> Iterator[None]:
    with math.precision(64):
        yield


def elementwise(names: str, x: Any = VECTOR) -> Values:
    return lambda b, a: [getattr(b, name)(a(x)) for name in names.split()]


METHODS: dict[str, Values] = {
    "elementwise": elementwise("abs sign round ceil floor exp sin cos tan sinh cosh tanh arctan arcsinh"),
    "of positive": elementwise("sqrt log log2 log10 erf sigmoid softplus log_gamma factorial", POSITIVE),
    "of small": elementwise("arcsin arccos arctanh", VECTOR / 4),
    "arccosh": elementwise("arccosh", POSITIVE + 1.0),
    "of integers": elementwise("sqrt exp abs factorial mean std", IDS),
    "finite": elementwise("isfinite isnan isinf", np.asarray([1.0, np.nan, np.inf])),
    "complex": elementwise("real imag conj abs", VECTOR + 2j),
    "of real": elementwise("real imag"),
    "gamma": lambda b, a: [f(a(POSITIVE), a(POSITIVE[::-1].copy())) for f in (b.gamma_inc_l, b.gamma_inc_u)],
    "like": elementwise("zeros_like ones_like"),
    "binary": lambda b, a: [
        *(f(a(TALL), a(TALL[::-1].copy())) for f in (b.maximum, b.minimum, b.arctan2, b.equal, b.greater_than)),
        *(f(a(TALL), a(IDS[:3] + 1)) for f in (b.add, b.sub, b.mul, b.floordiv, b.maximum)),
        b.divide_no_nan(a(VECTOR), a(np.asarray([1.0, 0.0, 2.0, 0.0]))),
        b.clip(a(VECTOR), -0.5, 0.5),
    ],
    "reductions": lambda b, a: [
        f(a(TALL), axis=axis) for f in (b.sum, b.mean, b.std, b.max, b.min, b.prod) for axis in (None, 0, (0, 1))
    ],
    "of booleans": lambda b, a: [f(a(TALL > 0), axis=0) for f in (b.sum, b.mean, b.max, b.min, b.prod, b.any, b.all)],
    "keepdims": lambda b, a: [f(a(TALL), axis=1, keepdims=True) for f in (b.sum, b.mean, b.std, b.max, b.min)],
    "argmax": lambda b, a: [b.argmax(a(TALL), 1), b.argmin(a(TALL), 0, keepdims=True)],
    "new arrays": lambda b, a: [
        b.zeros((2, 3)),
        b.ones([2], INT),
        b.range(4),
        b.range(1, 9, 2, LONG),
        b.linspace(0.0, 1.0, 5),
        b.linspace_without_last(-1, 1, 4),
        *b.meshgrid(a(VECTOR), a(POSITIVE)),
    ],
    "shapes": lambda b, a: [
        b.reshape(a(TALL), [3, 4]),
        b.transpose(a(GRID), (3, 0, 2, 1)),
        b.stack([a(VECTOR), a(IDS)], 1),
        b.concat([a(TALL), a(SQUARE)], 1),
        b.flip(a(GRID), (1, 2)),
        b.expand_dims(a(TALL), 1, 2),
        b.expand_dims(a(TALL), -1),
        b.tile(a(TALL), [2, 1, 2]),
        b.repeat(a(TALL), a(IDS), 0),
        b.multi_slice(a(GRID), (slice(None), slice(None, None, -2), 1, slice(2, 0, -1))),
    ],
    "pad": lambda b, a: [
        b.pad(a(TALL), [(1, 2), (0, 1)], mode) for mode in ("constant", "symmetric", "periodic", "reflect", "boundary")
    ],
    "pad by values": lambda b, a: b.pad(a(IDS), [(1, 0)], "constant", 0.5),
    "gather": lambda b, a: [
        b.gather(a(GRID), a(IDS), 2),
        b.batched_gather_nd(a(GRID), a(POINTS)),
        b.batched_gather_1d(a(TALL), a(np.asarray([[0, 2]]))),
        b.boolean_mask(a(TALL), a(VECTOR > 0)),
        b.boolean_mask(a(TALL), a(VECTOR > 0), 0, new_length=4, fill_value=7),
    ],
    "where": lambda b, a: [
        b.where(a(TALL > 0), a(TALL), 0),
        b.where(a(TALL > 0)),
        b.nonzero(a(TALL > 0), 12),
    ],
    "scatter": lambda b, a: [
        b.scatter(a(GRID), a(POINTS[:1]), a(GRID[:, 0, :3]), mode) for mode in ("add", "max", "min")
    ],
    "scatter, broadcast": lambda b, a: b.scatter(a(GRID[:1]), a(POINTS[:, 1:]), a(GRID[:, 0, :2]), "update"),
    "indices": lambda b, a: [
        b.unravel_index(a(IDS), (2, 3)),
        *(b.ravel_multi_index(a(POINTS), (4, 5), mode) for mode in ("undefined", "periodic", "clamp", -1)),
        b.ravel_multi_index(a(POINTS), (2, 3), -1),
    ],
    "sorting": lambda b, a: [
        b.sort(a(TALL), 0),
        b.argsort(a(TALL)),
        b.searchsorted(a(np.sort(VECTOR)), a(POSITIVE), "left"),
        b.searchsorted(a(np.sort(TALL, 1)), a(TALL), "right"),
        b.cumsum(a(TALL), 1),
        b.quantile(a(TALL), [0.25, 0.5]),
        *b.unique(a(POINTS[0]), True, True, 0),
    ],
    "histograms": lambda b, a: [
        b.bincount(a(IDS), None, 4),
        b.bincount(a(IDS), a(VECTOR), 4),
        b.histogram1d(a(TALL), a(TALL**2), a(np.tile([-9.0, 0.0, 9.0], (4, 1)))),
        b.indexed_segment_sum(a(TALL), a(np.tile([0, 2], (4, 1))), 1),
    ],
    "products": lambda b, a: [
        b.tensordot(a(TALL), [0], a(SQUARE), [1]),
        b.einsum("ij,ik->jk", a(TALL), a(SQUARE)),
        b.mul_matrix_batched_vector(a(SQUARE), a(TALL.T)),
        b.get_diagonal(a(GRID), 1),
    ],
    "conv": lambda b, a: [
        b.conv(a(SIGNAL), a(KERNEL), [1], [8], False),
        b.conv(a(SIGNAL), a(KERNEL), [1], [6], False),
        b.conv(a(SIGNAL), a(np.concatenate([KERNEL, -KERNEL])), [1], [10], False),
    ],
    "transposed conv": lambda b, a: b.conv(a(SIGNAL), a(KERNEL), [1], [8], True),
    "fft": lambda b, a: [b.fft(a(GRID), [1, 2]), b.ifft(a(GRID + 1j), [1]), b.fft(a(GRID), [])],
    "linear algebra": lambda b, a: [
        b.solve_triangular_dense(a(SQUARE[None]), a(VECTOR[None, :, None]), False, False)[..., 0],
        b.matrix_solve_least_squares(a(TALL[None]), a(SQUARE[None]))[0],
        b.matrix_rank_dense(a(SQUARE[None])),
        b.svd(a(TALL))[1],
        b.sort(b.abs(b.eigvals(a(SQUARE)))),
    ],
    "dense of sparse": lambda b, a: [
        b.csr_to_dense(a(IDS[None, 1:]), a(np.asarray([[0, 1, 3]])), a(VECTOR[None, 1:, None]), (2, 3)),
        b.mul_csr_dense(
            *(a(IDS[None, 1:]), a(np.asarray([[0, 1, 3]])), a(VECTOR[None, 1:, None]), (2, 3)), a(GRID[:1, :3, :1])
        ),
    ],
    "casts": lambda b, a: [b.cast(a(VECTOR), INT), b.to_complex(a(IDS)), b.to_float(a(VECTOR > 0)), b.cast(2, DOUBLE)],
    "loop": lambda b, a: b.while_loop(lambda go, x: (go - 1, 2 * x), (a(np.asarray(3)), a(VECTOR)), 9)[1],
    "trajectory": lambda b, a: b.while_loop(lambda go, x: (go - 1, 2 * x), (a(np.asarray(3)), a(VECTOR)), [0, 2, 9])[1],
    "vectorized": lambda b, a: b.vectorized_call(lambda x, i: b.gather(x, i, 0), a(TALL), a(np.asarray([[2, 0]]))),
}


def numbers(backend: Any, result: Any) -> Any:
    if isinstance(result, (tuple, list)):
        return [numbers(backend, part) for part in result]
    return backend.numpy(result)


@on_libraries
@pytest.mark.parametrize("name", METHODS)
def test_methods(library: Library, name: str) -> None:
    backend = for_phiml.backend_for(library.xp)
    expected, result = numbers(NUMPY, METHODS[name](NUMPY, np.asarray)), METHODS[name](backend, library.asarray)
    parts = zip(result, expected) if isinstance(expected, list) else [(result, expected)]
    for part, reference in parts:
        assert backend.is_tensor(part)
        np.testing.assert_allclose(backend.numpy(part), reference, rtol=1e-9, atol=1e-12)
        assert backend.dtype(part).kind is NUMPY.dtype(reference).kind


@on_libraries
def test_arrays_and_devices(library: Library) -> None:
    backend = for_phiml.register(library.xp)
    x = library.asarray(TALL)
    assert backend in BACKENDS
    assert for_phiml.register(library.xp) is backend
    assert sum(registered is backend for registered in BACKENDS) == 1
    assert backend.is_tensor(x, only_native=True)
    assert backend.is_tensor([1.0, x])
    assert not backend.is_tensor("text")
    assert backend.is_available(x)
    assert not backend.is_module(x)
    assert (backend.sizeof(x), backend.staticshape(x)) == (TALL.nbytes, (4, 3))
    assert all(isinstance(device, ComputeDevice) for device in backend.list_devices())
    assert backend.get_device(backend.zeros((2,))) == backend.get_default_device()
    np.testing.assert_array_equal(backend.numpy(convert(TALL, backend, use_dlpack=True)), TALL)
    moved = backend.allocate_on_device(x, backend.get_default_device())
    np.testing.assert_array_equal(backend.numpy(backend.copy(moved)), TALL)
    np.testing.assert_array_equal(backend.numpy(backend.as_tensor([x, TALL])), [TALL, TALL])


@on_libraries
def test_random_numbers(library: Library) -> None:
    backend = for_phiml.backend_for(library.xp)
    backend.seed(0)
    uniform = backend.numpy(backend.random_uniform((900,), -1.0, 3.0, None))
    normal = backend.numpy(backend.random_normal((900,), None))
    numbers = backend.numpy(backend.random_uniform((900,), 2, 5, INT))
    assert set(numbers.tolist()) == {2, 3, 4}
    np.testing.assert_allclose([uniform.mean(), uniform.var()], [1.0, 16 / 12], atol=0.15)
    np.testing.assert_allclose([normal.mean(), normal.var()], [0.0, 1.0], atol=0.15)
    square = backend.numpy(backend.random_uniform((900,), 0j, 1 + 2j, DType(complex, 128)))
    np.testing.assert_allclose(square.mean(), 0.5 + 1j, atol=0.1)
    rows = backend.numpy(backend.random_permutations(3, 5))
    np.testing.assert_array_equal(np.sort(rows, 1), np.tile(np.arange(5), (3, 1)))
    weights = library.asarray(np.asarray([0.0, 1.0, 1.0]))
    assert set(backend.numpy(backend.random_subsets(3, 2, 20, False, weights)).ravel().tolist()) == {1, 2}
    backend.seed(0)
    np.testing.assert_array_equal(backend.numpy(backend.random_uniform((900,), -1.0, 3.0, None)), uniform)


@on_libraries
def test_sparse_matrices(library: Library) -> None:
    backend, dense = for_phiml.backend_for(library.xp), np.asarray([[0.0, 2.0, 0.0], [3.0, 0.0, 4.0]])
    a = library.asarray
    made = {
        "coo": backend.sparse_coo_tensor(a(np.asarray([[0, 1], [1, 0], [1, 2]])), a(dense[dense > 0]), (2, 3)),
        "csr": backend.csr_matrix(a(np.asarray([1, 0, 2])), a(np.asarray([0, 1, 3])), a(dense[dense > 0]), (2, 3)),
        "csc": backend.csc_matrix(
            a(np.asarray([0, 1, 2, 3])), a(np.asarray([1, 0, 1])), a(np.asarray([3.0, 2.0, 4.0])), (2, 3)
        ),
    }
    for name, matrix in made.items():
        assert (backend.get_sparse_format(matrix), backend.is_sparse(matrix)) == (name, True)
        np.testing.assert_array_equal(backend.numpy(matrix).toarray(), dense)
        product = backend.mul_matrix_batched_vector(matrix, a(TALL))
        np.testing.assert_allclose(backend.numpy(product), TALL @ dense.T)
    lower = np.tril(SQUARE)
    triangle = backend.csr_matrix(
        a(np.nonzero(lower)[1]), a(np.asarray([0, 1, 3, 6, 10])), a(lower[np.nonzero(lower)]), (4, 4)
    )
    solution = backend.solve_triangular(triangle, a(SQUARE), True, False)
    np.testing.assert_allclose(backend.numpy(solution) @ lower.T, SQUARE, rtol=1e-9)


@on_libraries
@pytest.mark.parametrize("method", [*for_phiml.SOLVERS, "CG", "CG-adaptive", "biCG-stab", "biCG-stab(2)", "scipy-CG"])
def test_linear_solves(library: Library, method: str) -> None:
    """With the methods of PhiML, of SciPy and of xpand."""
    backend, matrix = for_phiml.backend_for(library.xp), SQUARE @ SQUARE.T
    a, tolerance, steps = library.asarray, np.full(3, 1e-10), np.full((1, 3), 50)
    result = backend.linear_solve(
        method, a(matrix), a(TALL.T), a(0 * TALL.T), a(tolerance), a(0 * tolerance), steps, None, None
    )
    assert backend.numpy(result.converged).all()
    assert not backend.numpy(result.diverged).any()
    np.testing.assert_allclose(backend.numpy(result.x), np.linalg.solve(matrix, TALL).T, rtol=1e-6, atol=1e-8)


def test_what_is_unsupported_raises_as_in_phiml() -> None:
    backend = for_phiml.backend_for(xpand.namespace("numpy"))
    for feature in ("nn_library", "variable", "module"):
        assert not backend.supports(feature)
    with pytest.raises(NotImplementedError):
        backend.variable(VECTOR)
    zeros = np.zeros((1, 4))
    with pytest.raises(NotImplementedError, match="no method"):
        backend.linear_solve("no method", SQUARE, zeros, zeros, zeros[0], zeros[0], np.ones((1, 1)), None, None)


# Programs: derivatives and compilation, which PhiML's own backend for NumPy has none of


@partial(math.jit_compile_linear, forget_traces=True)
def implicit(u: Any) -> Any:
    return u - 0.1 * math.laplace(u, padding=math.extrapolation.PERIODIC)


def diffuse(u: Any, diffusivity: Any) -> Any:
    """Take a step of explicit diffusion and one of implicit diffusion."""
    explicit = u + 0.1 * diffusivity * math.laplace(u, padding=math.extrapolation.PERIODIC)
    return math.solve_linear(
        implicit, explicit, math.Solve("CG", 1e-12, 1e-12, x0=math.zeros(u.shape), rank_deficiency=0)
    )


def distance(u: Any, diffusivity: Any) -> Any:
    return math.l2_loss(diffuse(u, diffusivity) ** 2)


def central_differences(function: Callable[[np.ndarray], float], x: np.ndarray, step: float = 1e-5) -> np.ndarray:
    shifts = step * np.eye(x.size).reshape(x.size, *x.shape)
    return np.asarray([(function(x + s) - function(x - s)) / (2 * step) for s in shifts]).reshape(x.shape)


@on_libraries
def test_gradient_of_diffusion(library: Library) -> None:
    def value(x: np.ndarray) -> float:
        return float(distance(math.tensor(x, math.spatial("x")), math.wrap(0.5)))

    expected = central_differences(value, VECTOR)
    with for_phiml.register(library.xp):
        u = math.tensor(library.asarray(VECTOR), math.spatial("x"))
        gradient = math.gradient(distance, "u", get_output=False)
        compiled = math.jit_compile(gradient)
        for result in (gradient(u, math.wrap(0.5)), compiled(u, math.wrap(0.5)), compiled(u, math.wrap(0.5))):
            assert xpand.array_namespace(result.native("x")) is library.xp
            np.testing.assert_allclose(result.numpy("x"), expected, rtol=1e-6, atol=1e-8)


def test_phiml_has_no_derivatives_on_numpy() -> None:
    with NUMPY, pytest.raises(AssertionError, match="not supported by numpy"):
        math.gradient(distance, "u")(math.tensor(VECTOR, math.spatial("x")), math.wrap(0.5))


@on_libraries
def test_compiled_step(library: Library) -> None:
    traced = []

    @math.jit_compile
    def step(u: Any) -> Any:
        traced.append(u)
        return diffuse(u, 0.5)

    with NUMPY:
        expected = diffuse(math.tensor(VECTOR, math.spatial("x")), 0.5).numpy("x")
    with for_phiml.register(library.xp):
        u = math.tensor(library.asarray(VECTOR), math.spatial("x"))
        for _ in range(2):
            np.testing.assert_allclose(step(u).numpy("x"), expected, rtol=1e-9)
    assert len(traced) == 1


@on_libraries
def test_hessian_of_a_batch(library: Library) -> None:
    """One Hessian for each batch element, next to outputs and gradients."""
    backend = for_phiml.backend_for(library.xp)

    def cubes(x: Any) -> Any:
        value = backend.sum(x**3)
        return value, (value,)

    for transform in (backend.hessian, backend.jit_compile_hessian):
        outputs, gradients, hessians = transform(cubes, (0,), True, True)(library.asarray(TALL))
        np.testing.assert_allclose(backend.numpy(outputs[0]), (TALL**3).sum(1))
        np.testing.assert_allclose(backend.numpy(gradients[0]), 3 * TALL**2)
        expected = np.stack([np.diag(6 * row) for row in TALL])
        np.testing.assert_allclose(backend.numpy(hessians[0][0]), expected, atol=1e-12)


@on_libraries
def test_custom_gradient_and_gradient_of_complex(library: Library) -> None:
    backend = for_phiml.backend_for(library.xp)
    x = library.asarray(VECTOR)
    tripled = backend.custom_gradient(lambda x: (x + 0.0,), lambda x, y, dy: (3.0 * dy[0],))
    (slope,) = backend.jacobian(lambda x: (backend.sum(tripled(x)[0]), ()), (0,), False, True)(x)
    np.testing.assert_allclose(backend.numpy(slope), np.full(4, 3.0))
    squares = backend.jit_compile_grad(lambda z: (backend.sum(backend.abs(z) ** 2), ()), (0,), False, True)
    (slope,) = squares(library.asarray(VECTOR + 2j))
    np.testing.assert_allclose(backend.numpy(slope), 2.0 * (VECTOR + 2j))


def test_callbacks_and_sizes_in_compiled_functions() -> None:
    backend: Backend = for_phiml.backend_for(xpand.namespace("numpy"))

    def program(x: Any) -> Any:
        assert not backend.is_available(x)
        pair = backend.numpy_call(np.divmod, ((4,), (4,)), (DOUBLE, DOUBLE), x, 0.5 * x**0)
        return (
            pair[0],
            backend.gather(x, x < 0, 0),
            backend.while_loop(lambda go, x: (go - 1, 2 * x), (np.asarray(3), x), 9)[1],
        )

    expected = (*np.divmod(VECTOR, 0.5)[:1], VECTOR[(VECTOR < 0).astype(int)], 8 * VECTOR)
    for result, reference in zip(backend.jit_compile(program)(VECTOR), expected, strict=True):
        np.testing.assert_allclose(result, reference)
