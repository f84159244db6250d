"""A test for each row of docs/coverage/phiml.toml, on every library, against NumPy, SciPy or JAX."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import scipy.linalg
import scipy.ndimage
import scipy.signal
import scipy.special

import xpand
import xpand_extensions
from tests import coverage_convert, coverage_devices, coverage_precision
from tests.coverage import (
    BOOLEANS,
    COMPLEX,
    INTEGERS,
    OTHER_BOOLEANS,
    OTHERS,
    POSITIVE,
    WITHIN,
    A,
    Row,
    check_name,
    check_row,
    created,
    standard,
    table,
    unfinished,
)
from tests.coverage_precision import CHECKS as PRECISION
from tests.coverage_profile import CHECKS as PROFILE
from tests.coverage_random import CHECKS as RANDOM
from tests.coverage_sparse import CHECKS as SPARSE, times_vectors
from tests.libraries import LIBRARIES, Library
from tests.operations import Case
from xpand import manipulation, trees
from xpand.inspection import nbytes
from xpand.manipulation import pad_to
from xpand_extensions import (
    arithmetic,
    autodiff,
    control_flow,
    convolution,
    devices,
    histograms,
    indexing,
    interpolation,
    jit,
    linalg,
    linear_solve,
    optimize,
    padding,
    precision,
    profile,
    scatter,
    sorting,
    sparse,
    special,
    statistics,
    vmap,
)

TABLE = table("phiml")

SHIFTS = np.asarray([[1, 0, 3], [2, 4, 1]])
GRID = np.arange(24.0).reshape(2, 3, 4) ** 1.5  # batch, space, channels
PLACES = np.asarray([[[0], [2], [1], [2]], [[1], [1], [0], [2]]])  # batch, points, index
UPDATES = np.arange(32.0).reshape(2, 4, 4) + 1.0
SQUARE = np.asarray([[4.0, 1.0, 0.5], [1.0, 3.0, -1.0], [0.5, -1.0, 5.0]])
# PhiML's names, and SciPy's for the same.
EXTRAPOLATIONS: dict[Any, str] = {
    "zeros": "grid-constant",
    "boundary": "nearest",
    "periodic": "grid-wrap",
    "symmetric": "reflect",
    "reflect": "mirror",
}
TALL = np.asarray([[1.0, 2.0], [3.0, -1.0], [0.5, 4.0]])


def name(library: Library) -> None:
    found = xpand.library_name(xpand.array_namespace(library.asarray(A)))
    assert library.id.startswith(found.removeprefix("array_api_"))


def supports(library: Library) -> None:
    support = xpand_extensions.capabilities()["scatter.segment_sum"]
    column = library.id if library.id in support else "other"
    assert support[column] in ("native", "generic")


def channels_come_first(library: Library) -> None:
    x, kernel = library.asarray(np.ones((1, 2, 5))), library.asarray(np.ones((3, 2, 2)))
    library.assert_equal(convolution.conv(x, kernel), np.full((1, 3, 4), 4.0))


def fixed_shapes(library: Library) -> None:
    known = library.xp.__array_namespace_info__().capabilities()["data-dependent shapes"]
    assert known is (library.id != "jax")


def as_registered(library: Library) -> None:
    assert xpand.namespace(xpand.library_name(library.xp)) is library.xp


def combine_types(library: Library) -> None:
    xp = library.xp
    assert xp.result_type(xp.float32, xp.float64) == xp.float64
    assert xp.result_type(xp.int32, xp.uint8) == xp.int32


def auto_cast(library: Library) -> None:
    arrays = [library.asarray([1, 2], "int32"), library.asarray([0.5, 1.5], "float64")]
    first, second = arithmetic.promote(*arrays, int_to_float=True)
    library.assert_equal(first, np.asarray([1.0, 2.0]))
    library.assert_equal(second, np.asarray([0.5, 1.5]))


def auto_cast1(library: Library) -> None:
    for bits, name in ((32, "float32"), (64, "float64")):
        with precision.precision(bits):
            library.assert_equal(precision.to_float(library.asarray(A, "float64")), A.astype(name))


def peak_memory(library: Library) -> None:
    stats = devices.memory_stats(library.device, xp=library.xp) if library.id != "strict-device1" else None
    assert stats is None or (stats.peak_bytes_in_use or 0) >= (stats.bytes_in_use or 0) >= 0


def peak_of_a_block(library: Library) -> None:
    for _ in range(2):  # the second time it begins anew
        with profile.profile(memory=True) as p:
            kept = library.xp.ones(1000, dtype=library.xp.float64, device=library.device)
        assert p.memory is not None
        assert p.memory.peak >= 0
        del kept


def padded_stack(library: Library) -> None:
    shorter, longer = library.asarray(A[:1]), library.asarray(A[:, :2])
    parts = [pad_to(pad_to(x, 2, axis=0, fill_value=-1.0), 3, axis=1, fill_value=-1.0) for x in (shorter, longer)]
    expected = np.full((2, 2, 3), -1.0)
    expected[0, :1], expected[1, :, :2] = A[:1], A[:, :2]
    library.assert_equal(library.xp.stack(parts), expected)


def size_in_bytes(library: Library) -> None:
    for dtype in ("bool", "int8", "uint16", "int32", "float32", "float64", "complex64", "complex128"):
        values = np.zeros((2, 3), dtype=dtype)
        assert nbytes(library.asarray(values)) == values.nbytes
    assert nbytes(library.asarray(A[:0])) == 0


def is_tensor(library: Library) -> None:
    assert xpand.is_array_api_obj(library.asarray(A))
    assert not xpand.is_array_api_obj([1.0])


def as_tensor(library: Library) -> None:
    xp = library.xp
    library.assert_equal(xp.asarray([[1.0, 2.0]], dtype=xp.float64, device=library.device), np.asarray([[1.0, 2.0]]))


def is_available(library: Library) -> None:
    assert xpand.is_concrete(library.asarray(A)) is not library.lazy


def dlpack(library: Library) -> None:
    source = library.asarray(A)
    if not hasattr(source, "__dlpack__") or library.device is not None:
        return  # Dask has no memory to hand over; the second device of array-api-strict is made up
    if library.read_only:
        source = np.array(A)  # NumPy hands over no read-only memory
    library.assert_equal(library.xp.from_dlpack(source), A)


def copy(library: Library) -> None:
    x = library.asarray(A)
    y = library.xp.asarray(x, copy=True)
    assert y is not x
    library.assert_equal(y, A)


def copy_leaves(library: Library) -> None:
    x = library.asarray(A)
    copied = trees.copy({"x": (x, 1)})
    assert copied["x"][0] is not x
    library.assert_equal(copied["x"][0], A)


def determine_size(library: Library) -> None:
    assert tuple(library.xp.broadcast_shapes((1, 3), (5, 1))) == (5, 3)


def stack_leaves(library: Library) -> None:
    stacked = trees.stack([{"x": library.asarray(A)}, {"x": library.asarray(2 * A)}], axis=1)
    library.assert_equal(stacked["x"], np.stack([A, 2 * A], axis=1))


def meshgrid(library: Library) -> None:
    coordinates = [np.asarray([1.0, 2.0]), np.asarray([3.0, 4.0, 5.0])]
    found = library.xp.meshgrid(*(library.asarray(x) for x in coordinates), indexing="ij")
    for actual, expected in zip(found, np.meshgrid(*coordinates, indexing="ij")):
        library.assert_equal(actual, expected)


def linspace(endpoint: bool) -> Row:
    def check(library: Library) -> None:
        xp = library.xp
        made = xp.linspace(1.0, 3.0, 5, dtype=xp.float64, device=library.device, endpoint=endpoint)
        library.assert_equal(made, np.linspace(1.0, 3.0, 5, endpoint=endpoint), rtol=1e-14)

    return check


def multiplied(a: Any, b: Any) -> Any:
    return xpand.array_namespace(a, b).matmul(a, b[..., None])[..., 0]


def cast(dtype: str, values: np.ndarray = POSITIVE) -> Case:
    def function(x: Any) -> Any:
        xp = xpand.array_namespace(x)
        return xp.astype(x, getattr(xp, dtype))

    return Case(function, (values,), lambda x: x.astype(dtype))


def shape(library: Library) -> None:
    assert tuple(library.asarray(A).shape) == (2, 3)


def scattered(grid: np.ndarray, places: np.ndarray, updates: np.ndarray) -> np.ndarray:
    grid = grid.copy()
    for batch in range(len(grid)):
        np.add.at(grid[batch], tuple(places[batch].T), updates[batch])
    return grid


def updated(grid: np.ndarray, places: np.ndarray, updates: np.ndarray) -> np.ndarray:
    grid = grid.copy()
    for place, update in zip(places, updates):
        grid[tuple(place)] = update
    return grid


def batched_histogram(x: np.ndarray, edges: np.ndarray, weights: np.ndarray) -> np.ndarray:
    return np.stack([np.histogram(a, e, weights=w)[0] for a, e, w in zip(x, edges, weights)])


def dtype(library: Library) -> None:
    assert library.asarray(A).dtype == library.xp.float64


def sampled(mode: str) -> Any:
    def reference(grid: np.ndarray, coordinates: np.ndarray) -> np.ndarray:
        return np.stack(
            [
                np.stack([scipy.ndimage.map_coordinates(g[..., k], c.T, order=1, mode=mode) for k in range(4)], axis=-1)
                for g, c in zip(grid, coordinates)
            ]
        )

    return reference


def convolved(x: np.ndarray, kernel: np.ndarray) -> np.ndarray:
    """Correlate each batch element with its kernel, or with the only one."""
    kernels = np.broadcast_to(kernel, (len(x), *kernel.shape[1:]))
    return np.stack(
        [
            [sum(scipy.signal.correlate(c, w, "same") for c, w in zip(lane, out)) for out in own]
            for lane, own in zip(x, kernels)
        ]
    )


def eigenvalues(library: Library) -> None:
    found = library.to_numpy(library.xp.linalg.eigvals(library.asarray(SQUARE)))
    np.testing.assert_allclose(np.sort(found.real), np.linalg.eigvalsh(SQUARE), rtol=1e-10)


def eigenvectors(library: Library) -> None:
    x = library.asarray(SQUARE)
    values, vectors = (library.to_numpy(part) for part in library.xp.linalg.eig(x))
    np.testing.assert_allclose(SQUARE @ vectors, vectors * values, rtol=1e-10, atol=1e-12)


def svd(library: Library) -> None:
    parts = library.xp.linalg.svd(library.asarray(TALL), full_matrices=False)
    u, s, vh = (library.to_numpy(part) for part in parts)
    np.testing.assert_allclose(u * s @ vh, TALL, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(s, np.linalg.svd(TALL)[1], rtol=1e-12)


def triangular_dense(library: Library) -> None:
    """Vectors of a batch, or one; what is above the diagonal, and on it, isn't read."""
    upper = linear_solve.solve_triangular(library.asarray(np.triu(SQUARE)), library.asarray(A), axis=-1, lower=False)
    expected = scipy.linalg.solve_triangular(np.triu(SQUARE), A.T, lower=False).T
    library.assert_equal(upper, expected, rtol=1e-12)
    stack = np.stack([SQUARE, SQUARE + 1.0])
    unit = linear_solve.solve_triangular(library.asarray(stack), library.asarray(A), axis=-1, unit_diagonal=True)
    expected = np.linalg.solve(np.tril(stack, -1) + np.eye(3), A[..., None])[..., 0]
    library.assert_equal(unit, expected, rtol=1e-12)
    if not library.lazy:
        with pytest.raises(ValueError, match="zero on the diagonal"):
            linear_solve.solve_triangular(library.asarray(SQUARE - 4.0 * np.eye(3)), library.asarray(A), axis=-1)


def triangular_sparse(library: Library) -> None:
    """The same of a sparse matrix; on Dask, whose values would have to be computed, an error."""
    rows, columns = np.nonzero(SQUARE)
    coords = (library.asarray(rows), library.asarray(columns))
    matrix = sparse.COO(library.asarray(SQUARE[rows, columns]), coords, (3, 3))
    solve = lambda lower, unit: linear_solve.solve_triangular(
        matrix, library.asarray(A), axis=-1, lower=lower, unit_diagonal=unit
    )
    if library.lazy:
        with pytest.raises(xpand.UnsupportedError, match="not available for dask"):
            solve(True, False)
        return
    for lower, unit in ((True, False), (False, False), (True, True)):
        part = np.tril(SQUARE) if lower else np.triu(SQUARE)
        options = {"lower": lower, "unit_diagonal": unit}
        library.assert_equal(solve(lower, unit), scipy.linalg.solve_triangular(part, A.T, **options).T, rtol=1e-12)
    matrix = matrix.with_values(library.asarray(SQUARE[rows, columns] - 4.0 * (rows == columns)))
    with pytest.raises(ValueError, match="zero on the diagonal"):
        solve(True, False)


def solved_by(*methods: str) -> Callable[[Library], None]:
    """A matrix, and a function with its trajectory, for several right-hand sides, by methods under PhiML's names."""

    def row(library: Library) -> None:
        matrix, given = library.asarray(SQUARE), library.asarray(A)
        expected = np.linalg.solve(SQUARE, A.T).T
        times = lambda x: library.xp.matmul(x, library.xp.matrix_transpose(matrix))
        operator = linear_solve.LinearOperator(times, transposed=times)
        for method in methods:
            if library.lazy:  # plans all steps there may be, which takes its time
                steps = linear_solve.solve(matrix, given, axis=-1, method=method, max_steps=(0, 3))
            else:
                found = linear_solve.solve(matrix, given, axis=-1, method=method)
                library.assert_equal(found.x, expected, rtol=1e-6, atol=1e-7)
                library.assert_equal(found.converged, [True, True])
                steps = linear_solve.solve(operator, given, method=method, max_steps=(0, 50), batch_ndim=1)
            library.assert_equal(steps.x[0, ...], np.zeros_like(A))
            library.assert_equal(steps.x[1, ...], expected, rtol=1e-6, atol=1e-7)
            library.assert_equal(steps.converged, [[False, False], [True, True]])

    return row


PHIML_METHODS = {
    "CG": "cg",
    "CG-adaptive": "cg-adaptive",
    "biCG": "bicg",
    "biCG-stab(0)": "bicg",
    "biCG-stab": "bicgstab(1)",
    "biCG-stab(2)": "bicgstab(2)",
    "scipy-direct": "lu",
    "scipy-CG": "cg",
    "scipy-GMres": "gmres(30)",
    "scipy-biCG": "bicg",
    "scipy-biCG-stab": "bicgstab(1)",
    "scipy-CGS": "cgs",
    "scipy-QMR": "qmr",
    "scipy-GCrotMK": "gcrot(20)",
    "auto": "lu",
}


def named(library: Library) -> None:
    """All of PhiML's names: what they mean, and that they solve."""
    matrix, given = library.asarray(SQUARE), library.asarray(A)
    expected = np.linalg.solve(SQUARE, A.T).T
    # To plan the steps of the others takes Dask long; those of "biCG" and "biCG-stab(2)" have their own row.
    names = ("CG", "scipy-direct", "auto") if library.lazy else tuple(PHIML_METHODS)
    for name in names:
        method = PHIML_METHODS[name]
        found = linear_solve.solve(matrix, given, axis=-1, method=name, max_steps=3 if library.lazy else None)
        assert found.method.split(" ")[0] == method, name
        library.assert_equal(found.x, expected, rtol=1e-6, atol=1e-7)


def of_each(library: Library) -> None:
    """A matrix for each system, dense and sparse, tolerances for each, a preconditioner."""
    matrices = np.stack([SQUARE, SQUARE + np.eye(3)])
    rows, columns = np.nonzero(SQUARE)
    places = library.asarray(rows), library.asarray(columns)
    kept = [sparse.COO(library.asarray(x[rows, columns]), places, (3, 3)) for x in matrices]
    expected = np.linalg.solve(matrices, A[..., None])[..., 0]
    tolerances = np.asarray([0.5, 1e-10])
    by_half = lambda residual: 0.5 * residual
    for a in (library.asarray(matrices), sparse.stack(kept)):
        options = {"rtol": library.asarray(tolerances), "max_steps": 3, "preconditioner": by_half}
        found = linear_solve.solve(a, library.asarray(A), axis=-1, method="CG", **options)
        library.assert_equal(found.converged, [True, True])
        library.assert_equal(found.x[1, ...], expected[1], rtol=1e-8)
        steps, left = library.to_numpy(found.iterations), library.to_numpy(found.residual_norm)
        assert steps[0] < steps[1]
        assert np.all(left <= tolerances * np.linalg.norm(A, axis=1))


def minimize(library: Library) -> None:
    """Two problems at once, and where they were. Dask takes a number of steps that is known."""
    target = library.asarray([[1.0, 2.0, 3.0], [-1.0, 0.0, 0.5]])
    expected = library.to_numpy(target)
    f = lambda x, target: xpand.array_namespace(x).sum((x - target) ** 2, axis=-1)
    descent = {"method": "GD", "learning_rate": 0.5, "max_steps": (0, 2)}
    options = descent if library.lazy else {"method": "L-BFGS-B", "max_steps": (0, 50)}
    found = optimize.minimize(f, 0.0 * target, args=(target,), batch_ndim=1, **options)
    library.assert_equal(found.x, expected, rtol=1e-6, atol=1e-6)
    library.assert_equal(found.converged, [True, True])
    library.assert_equal(found.trajectory.x, np.stack([0.0 * expected, expected]), rtol=1e-6, atol=1e-6)
    if not library.lazy:
        found = optimize.minimize(f, 0.0 * target, args=(target,), batch_ndim=1, method="SLSQP")
        library.assert_equal(found.x, expected, rtol=1e-5, atol=1e-5)


def least_squares(library: Library) -> None:
    """A stack of matrices, one of lower rank, with two right-hand sides each: by NumPy, and by the pseudoinverse."""
    matrices = np.stack([TALL, np.outer([1.0, 2.0, -1.0], [0.5, 3.0])])
    sides = np.stack([A.T, A.T[::-1] + 1.0])
    x, residuals, rank, values = linalg.lstsq(library.asarray(matrices), library.asarray(sides))
    expected = np.linalg.pinv(matrices) @ sides
    library.assert_equal(x, expected, rtol=1e-12, atol=1e-12)
    library.assert_equal(residuals, np.sum((matrices @ expected - sides) ** 2, axis=-2), rtol=1e-10)
    np.testing.assert_array_equal(library.to_numpy(rank), [2, 1])
    library.assert_equal(values, np.linalg.svd(matrices, compute_uv=False), rtol=1e-12, atol=1e-14)


def size(library: Library) -> None:
    assert xpand.size(library.asarray(A)) == 6


def ndims(library: Library) -> None:
    assert library.asarray(A).ndim == 2


def use(library: Library) -> None:
    with xpand.use(library.xp) as xp:
        assert xp is library.xp
        assert xpand.default_namespace() is library.xp
    assert xpand.default_namespace() is xpand.namespace("numpy")


def choose(library: Library) -> None:
    assert xpand.choose_namespace(library.asarray(A), 1.0, [2.0]) is library.xp
    with xpand.use(library.xp):
        assert xpand.choose_namespace([1.0], None) is library.xp


def set_default(library: Library) -> None:
    xpand.set_default_namespace(library.xp)
    try:
        assert xpand.default_namespace() is library.xp
    finally:
        xpand.set_default_namespace(None)
    assert xpand.default_namespace() is xpand.namespace("numpy")


def no_backend(library: Library) -> None:
    with pytest.raises(TypeError, match="choose_namespace"):
        xpand.choose_namespace(object())
    other = next(x for x in LIBRARIES if x.id == ("torch" if library.id != "torch" else "jax"))
    if library.id != "numpy":  # NumPy arrays go with any library
        with pytest.raises(TypeError, match="choose_namespace"):
            xpand.choose_namespace(library.asarray(A), other.asarray(A))


def energy(x: Any, y: Any) -> Any:
    xp = xpand.array_namespace(x)
    return xp.sum(xp.sin(x) * y**2)


def vectorized(library: Library) -> None:
    diagonal = lambda x: xpand.array_namespace(x).sum(x**2)
    expected = np.sum(GRID**2, axis=(1, 2))
    library.assert_equal(vmap.vmap(diagonal)(library.asarray(GRID)), expected, rtol=1e-14)
    library.assert_equal(control_flow.map(diagonal, library.asarray(GRID)), expected, rtol=1e-14)


def on_the_host(library: Library) -> None:
    declared = {"sorted": jit.ShapeDtype(A.shape, library.xp.float64)}
    call = lambda x: jit.pure_callback(lambda x: {"sorted": np.sort(x, axis=-1)}, declared, x)["sorted"]
    for function in (call, jit.jit(call)):
        library.assert_equal(function(library.asarray(A)), np.sort(A, axis=-1))


def compiled(library: Library) -> None:
    fast = jit.jit(lambda state: {"next": energy(state["x"], 2.0) + state["x"]})
    for x in (A, WITHIN):
        library.assert_equal(
            fast({"x": library.asarray(x)})["next"], 4.0 * np.sum(np.sin(x)) + x, rtol=1e-14, atol=1e-14
        )


GRADIENT = np.cos(A) * POSITIVE**2


def differentiated(transform: Callable[..., Any]) -> Row:
    def check(library: Library) -> None:
        x, y = library.asarray(A), library.asarray(POSITIVE)
        value, gradient = transform(autodiff.value_and_grad(energy))(x, y)
        library.assert_equal(value, np.sum(np.sin(A) * POSITIVE**2), rtol=1e-14)
        library.assert_equal(gradient, GRADIENT, rtol=1e-14)
        library.assert_equal(transform(autodiff.grad(energy))(x, y), GRADIENT, rtol=1e-14)

    return check


def jacobian(library: Library) -> None:
    product = lambda x, y: x * y
    found = autodiff.jacrev(product, argnums=(0, 1))(library.asarray(A[0]), library.asarray(A[1]))
    for x, expected in zip(found, (np.diag(A[1]), np.diag(A[0]))):
        library.assert_equal(x, expected)


def twice_differentiated(transform: Callable[..., Any]) -> Row:
    def check(library: Library) -> None:
        x, y = A[0], POSITIVE[0]
        given = library.asarray(x), library.asarray(y)
        expected = np.diag(-np.sin(x) * y**2), np.diag(2.0 * np.cos(x) * y)
        for x, second in zip(transform(autodiff.hessian(energy, argnums=(0, 1)))(*given)[0], expected):
            library.assert_equal(x, second, rtol=1e-14)

    return check


def own_gradient(library: Library) -> None:
    @autodiff.custom_vjp
    def clipped(x: Any) -> Any:
        return x

    clip = lambda _, g: (xpand.array_namespace(g).clip(g, -1.0, 1.0),)
    clipped.defvjp(lambda x: (x, None), clip)
    gradient = autodiff.grad(lambda x: energy(clipped(x), 2.0))
    expected = np.clip(4.0 * np.cos(A), -1.0, 1.0)
    for function in (gradient, jit.jit(gradient)):
        library.assert_equal(function(library.asarray(A)), expected, rtol=1e-14)


def repeated(library: Library) -> None:
    x = library.asarray(1.0)
    grown = lambda max_iter: control_flow.while_loop(lambda x: x < 100.0, lambda x: 2.0 * x, x, max_iter=max_iter)
    if not library.lazy:  # asks for the condition's value
        library.assert_equal(grown(None), np.asarray(128.0))
    library.assert_equal(grown(3), np.asarray(8.0))
    library.assert_equal(grown((0, 2, 20)), np.asarray([1.0, 4.0, 128.0]))


def recorded(library: Library) -> None:
    value, pull = autodiff.vjp(energy, library.asarray(A), library.asarray(POSITIVE))
    library.assert_equal(value, np.sum(np.sin(A) * POSITIVE**2), rtol=1e-14)
    library.assert_equal(pull(value)[0], GRADIENT * np.sum(np.sin(A) * POSITIVE**2), rtol=1e-13)


TRANSFORMATIONS: dict[str, Row] = {
    "Backend.vectorized_call": vectorized,
    "Backend.numpy_call": on_the_host,
    "Backend.jit_compile": compiled,
    "Backend.jacobian": (differentiated(lambda f: f), jacobian),
    "Backend.hessian": twice_differentiated(lambda f: f),
    "Backend.custom_gradient": own_gradient,
    "Backend.jit_compile_grad": differentiated(jit.jit),
    "Backend.jit_compile_hessian": twice_differentiated(jit.jit),
    "Backend.while_loop": repeated,
    "Backend.variable": recorded,
}

CASES: dict[str, Row] = (
    TRANSFORMATIONS
    | {
        "Backend.name": name,
        "Backend.supports": supports,
        "Backend.prefers_channels_last": channels_come_first,
        "Backend.requires_fixed_shapes_when_tracing": fixed_shapes,
        "Backend.as_registered": as_registered,
        "Backend.combine_types": combine_types,
        "Backend.auto_cast": auto_cast,
        "Backend.auto_cast1": auto_cast1,
        "Backend.from_external_array_dlpack": dlpack,
        "Backend.get_peak_memory": peak_memory,
        "Backend.module": coverage_precision.nn_library,
        "Backend.pad_stack": padded_stack,
        "Backend.reset_peak_memory": peak_of_a_block,
        "Backend.sizeof": size_in_bytes,
        "Backend.is_tensor": is_tensor,
        "Backend.as_tensor": as_tensor,
        "Backend.is_available": is_available,
        "Backend.to_dlpack": dlpack,
        "Backend.from_dlpack": dlpack,
        "Backend.copy": copy,
        "Backend.copy_leaves": copy_leaves,
        "Backend.determine_size": determine_size,
        "Backend.tile_to": Case(lambda x: manipulation.tile_to(x, 4, axis=0), (A,), lambda x: np.tile(x, (2, 1))),
        "Backend.transpose": standard(
            "permute_dims", GRID, axes=(2, 0, 1), reference=lambda x: np.transpose(x, (2, 0, 1))
        ),
        "Backend.stack": Case(
            lambda x, y: xpand.array_namespace(x, y).stack([x, y], axis=1),
            (A, POSITIVE),
            lambda x, y: np.stack([x, y], axis=1),
        ),
        "Backend.stack_leaves": stack_leaves,
        "Backend.concat": Case(
            lambda x, y: xpand.array_namespace(x, y).concat([x, y], axis=1),
            (A, POSITIVE),
            lambda x, y: np.concatenate([x, y], axis=1),
        ),
        "Backend.pad": Case(
            lambda x: padding.pad(x, [(1, 0), (2, 1)], mode="wrap"),
            (A,),
            lambda x: np.pad(x, [(1, 0), (2, 1)], mode="wrap"),
        ),
        "Backend.pad_to": Case(
            lambda x: manipulation.pad_to(x, 5, fill_value=9.0),
            (A,),
            lambda x: np.pad(x, [(0, 0), (0, 2)], constant_values=9.0),
        ),
        "Backend.reshape": standard("reshape", A, shape=(3, 2), reference=lambda x: x.reshape(3, 2)),
        "Backend.flip": standard("flip", A, axis=(0, 1)),
        "Backend.sum": standard("sum", A, axis=1, keepdims=True),
        "Backend.prod": standard("prod", A, axis=0),
        "Backend.divide_no_nan": Case(
            arithmetic.divide_no_nan,
            (A, np.asarray([0.0, 2.0, -0.0])),
            lambda x, y: np.where(y == 0, 0.0, x / np.where(y == 0, 1.0, y)),
        ),
        "Backend.where": standard("where", BOOLEANS, A, POSITIVE),
        "Backend.nonzero": (
            Case(
                lambda x: indexing.argwhere(x, size=5, fill_value=-1),
                (INTEGERS % 2,),
                lambda x: np.pad(np.argwhere(x), [(0, 1), (0, 0)], constant_values=-1),
            ),
            Case(lambda x: indexing.argwhere(x, size=2), (INTEGERS % 2,), lambda x: np.argwhere(x)[:2]),
        ),
        "Backend.mean": standard("mean", A, axis=0),
        "Backend.range": created("arange", 1, 9, 2, dtype="int32"),
        "Backend.zeros": created("zeros", (2, 3), dtype="complex64"),
        "Backend.zeros_like": standard("zeros_like", A),
        "Backend.ones": created("ones", (2, 3), dtype="int64"),
        "Backend.ones_like": standard("ones_like", INTEGERS),
        "Backend.meshgrid": meshgrid,
        "Backend.linspace": linspace(True),
        "Backend.linspace_without_last": linspace(False),
        "Backend.tensordot": standard("tensordot", GRID, A[:, :, None], axes=((0, 1), (0, 1))),
        "Backend.mul_matrix_batched_vector": (
            Case(multiplied, (SQUARE, A), lambda a, b: np.einsum("ij,bj->bi", a, b), rtol=1e-12),
            times_vectors,
        ),
        "Backend.einsum": Case(
            lambda x, y: linalg.einsum("bsc,bs->c", x, y),
            (GRID, A),
            lambda x, y: np.einsum("bsc,bs->c", x, y),
            rtol=1e-12,
        ),
        "Backend.cumsum": standard("cumulative_sum", A, axis=1, reference=lambda x: np.cumsum(x, axis=1)),
        "Backend.abs": standard("abs", COMPLEX),
        "Backend.sign": standard("sign", A),
        "Backend.round": standard("round", np.append(A, [0.5, 1.5, -0.5, 2.5])),
        "Backend.ceil": standard("ceil", A),
        "Backend.floor": standard("floor", A),
        "Backend.max": standard("max", A, axis=0),
        "Backend.min": standard("min", A, axis=1, keepdims=True),
        "Backend.maximum": standard("maximum", A, POSITIVE - 2.0),
        "Backend.minimum": standard("minimum", A, POSITIVE - 2.0),
        "Backend.clip": standard("clip", A, min=-1.0, max=1.0),
        "Backend.argmax": (standard("argmax", A, axis=1), standard("argmax", BOOLEANS * 3, axis=1, keepdims=True)),
        "Backend.argmin": (standard("argmin", A, axis=0), standard("argmin", BOOLEANS * 3, axis=1)),
        "Backend.sqrt": standard("sqrt", POSITIVE),
        "Backend.exp": standard("exp", A),
        "Backend.erf": Case(special.erf, (A,), scipy.special.erf, rtol=1e-14),
        "Backend.softplus": Case(special.softplus, (A * 100,), lambda x: np.logaddexp(0.0, x), rtol=1e-14),
        "Backend.log_gamma": Case(special.gammaln, (POSITIVE,), scipy.special.gammaln, rtol=1e-13),
        "Backend.gamma_inc_l": Case(special.gammainc, (POSITIVE, POSITIVE[::-1]), scipy.special.gammainc, rtol=1e-12),
        "Backend.gamma_inc_u": Case(special.gammaincc, (POSITIVE, POSITIVE[::-1]), scipy.special.gammaincc, rtol=1e-12),
        "Backend.factorial": Case(
            special.factorial, (np.asarray([0, 1, 5, 12]),), lambda x: np.asarray([1, 1, 120, 479001600])
        ),
        "Backend.conv": tuple(
            Case(
                lambda x, k: convolution.conv(x, k, padding="same"),
                (np.moveaxis(GRID, 2, 1), np.arange(36.0 * kernels).reshape(kernels, 3, 4, 3)),
                convolved,
                rtol=1e-12,
            )
            for kernels in (1, 2)
        ),
        "Backend.expand_dims": standard("expand_dims", A, axis=(0, 2)),
        "Backend.shape": shape,
        "Backend.staticshape": shape,
        "Backend.cast": cast("float32"),
        "Backend.to_int32": cast("int32"),
        "Backend.to_int64": cast("int64"),
        "Backend.unravel_index": Case(
            lambda i: indexing.unravel_index(i, (3, 4)),
            (np.asarray([0, 5, 11]),),
            lambda i: np.unravel_index(i, (3, 4)),
        ),
        "Backend.ravel_multi_index": (
            *(
                Case(
                    lambda i, j, mode=mode: indexing.ravel_multi_index((i, j), (3, 4), mode=mode),
                    (np.asarray([0, 4, -1]), np.asarray([3, -2, 9])),
                    lambda i, j, mode=mode: np.ravel_multi_index((i, j), (3, 4), mode=mode),
                )
                for mode in ("wrap", "clip")
            ),
            Case(
                lambda i, j: indexing.ravel_multi_index((i, j), (3, 4), mode="fill", fill_value=-7),
                (np.asarray([0, 4, -1, 2]), np.asarray([3, 1, 2, 4])),
                lambda i, j: np.asarray([3, -7, -7, -7]),
            ),
        ),
        "Backend.gather": Case(
            lambda x, i: indexing.take(x, i, axis=1), (A, np.asarray([2, 0, 2])), lambda x, i: x[:, i]
        ),
        "Backend.gather_by_component_indices": Case(
            lambda x, i, j: scatter.at(x)[i, j].get(),
            (A, np.asarray([1, 0]), np.asarray([2, 1])),
            lambda x, i, j: x[i, j],
        ),
        "Backend.batched_gather_nd": tuple(
            Case(  # as many batches on both sides, or one on either
                lambda x, i: indexing.gather_nd(x, i, batch_dims=1),
                (grid, places),
                lambda x, i: np.stack([x[b % len(x), i[b % len(i), :, 0]] for b in range(2)]),
            )
            for grid, places in ((GRID, PLACES), (GRID[:1], PLACES), (GRID, PLACES[:1]))
        ),
        "Backend.batched_gather_1d": Case(
            lambda x, i: indexing.gather(x, i, axis=1, batch_dims=1),
            (A, np.asarray([[0, 2], [1, 1]])),
            lambda x, i: np.take_along_axis(x, i, axis=1),
        ),
        "Backend.gather_nd": Case(
            indexing.gather_nd, (GRID, np.asarray([[0, 2], [1, 0]])), lambda x, i: x[i[:, 0], i[:, 1]]
        ),
        "Backend.gather_1d": Case(
            lambda x, i: indexing.take(x, i, axis=0), (A, np.asarray([1, 1, 0])), lambda x, i: x[i]
        ),
        "Backend.flatten": standard("reshape", A, shape=(-1,), reference=np.ravel),
        "Backend.std": standard("std", A, axis=1),
        "Backend.boolean_mask": Case(
            lambda x, m: indexing.boolean_mask(x, m, axis=1, size=3, fill_value=7.0),
            (A, np.asarray([True, False, True])),
            lambda x, m: np.pad(x[:, m], [(0, 0), (0, 1)], constant_values=7.0),
        ),
        "Backend.isfinite": standard("isfinite", [1.0, np.nan, np.inf]),
        "Backend.isnan": standard("isnan", [1.0, np.nan, np.inf]),
        "Backend.isinf": standard("isinf", [1.0, np.nan, -np.inf]),
        "Backend.scatter": tuple(
            Case(
                lambda x, i, v: scatter.scatter_nd(x, i, v, batch_dims=1, operation="add"),
                (GRID, places, updates),
                lambda x, i, v: scattered(x, np.broadcast_to(i, PLACES.shape), np.broadcast_to(v, UPDATES.shape)),
                rtol=1e-14,
            )
            for places, updates in (
                (PLACES, UPDATES),
                (PLACES[:1], UPDATES),
                (PLACES, UPDATES[:1]),
                (PLACES, UPDATES[:1, :1]),
                (PLACES, UPDATES[:1, :, :1]),
            )
        ),
        "Backend.scatter_nd": Case(scatter.scatter_nd, (GRID[0], PLACES[0], UPDATES[0]), updated),
        "Backend.scatter_1d_scalar": Case(
            lambda x, i, v: scatter.scatter(x, i, v, operation="add"),
            (A[0], np.asarray([2, 0, 2]), np.asarray([1.0, 2.0, 4.0])),
            lambda x, i, v: x + np.asarray([2.0, 0.0, 5.0]),
        ),
        "Backend.scatter_nd_scalar": Case(
            lambda x, i, v: scatter.scatter_nd(x, i, v, operation="max"),
            (A, np.asarray([[0, 1], [1, 2], [0, 1]]), np.asarray([1.0, -5.0, 2.0])),
            lambda x, i, v: np.asarray([[0.5, 2.0, 2.0], [3.0, -0.25, 0.75]]),
        ),
        "Backend.histogram1d": Case(
            lambda x, e, w: histograms.histogram(x, e, weights=w)[0],
            (A, np.asarray([[-2.0, 0.0, 2.0], [-1.0, 1.0, 3.0]]), POSITIVE),
            batched_histogram,
            rtol=1e-14,
        ),
        "Backend.bincount": Case(
            lambda x, w: histograms.bincount(x, weights=w, length=5),
            (np.asarray([0, 3, 3]), np.asarray([0.5, 1.0, 2.0])),
            lambda x, w: np.bincount(x, w, minlength=5),
        ),
        "Backend.batched_bincount": Case(
            lambda x: histograms.bincount(x, length=5),
            (np.asarray([[0, 3, 3], [1, 1, 4]]),),
            lambda x: np.stack([np.bincount(row, minlength=5) for row in x]),
        ),
        "Backend.unique": Case(
            lambda x: sorting.unique(x, axis=1, return_inverse=True, return_counts=True, size=2),
            (np.asarray([[2, 1, 2], [0, 3, 0]]),),
            lambda x: np.unique(x, axis=1, return_inverse=True, return_counts=True),
        ),
        "Backend.any": standard("any", BOOLEANS, axis=0, keepdims=True),
        "Backend.all": standard("all", BOOLEANS, axis=1),
        "Backend.quantile": Case(
            lambda x, q: statistics.quantile(x, q, axis=-1),
            (A, np.asarray([0.1, 0.5])),
            lambda x, q: np.quantile(x, q, axis=-1),
            rtol=1e-14,
        ),
        "Backend.argsort": standard("argsort", A, axis=0),
        "Backend.sort": standard("sort", A, axis=1),
        "Backend.searchsorted": Case(
            lambda s, v: sorting.searchsorted(s, v, side="right"),
            (np.asarray([[1.0, 2.0, 4.0], [0.0, 0.5, 9.0]]), np.asarray([[2.0, 0.0], [0.7, 10.0]])),
            lambda s, v: np.stack([np.searchsorted(a, b, side="right") for a, b in zip(s, v)]),
        ),
        "Backend.fft": standard("fft.fftn", COMPLEX, axes=(0, 1)),
        "Backend.ifft": standard("fft.ifftn", COMPLEX, axes=(1,)),
        "Backend.imag": standard("imag", COMPLEX),
        "Backend.real": standard("real", COMPLEX),
        "Backend.conj": standard("conj", COMPLEX),
        "Backend.sin": standard("sin", A),
        "Backend.arcsin": standard("asin", WITHIN),
        "Backend.cos": standard("cos", A),
        "Backend.arccos": standard("acos", WITHIN),
        "Backend.tan": standard("tan", A),
        "Backend.arctan": standard("atan", A),
        "Backend.arctan2": standard("atan2", A, POSITIVE - 2.0),
        "Backend.sinh": standard("sinh", A),
        "Backend.arcsinh": standard("asinh", A),
        "Backend.cosh": standard("cosh", A),
        "Backend.arccosh": standard("acosh", POSITIVE),
        "Backend.tanh": standard("tanh", A),
        "Backend.arctanh": standard("atanh", WITHIN),
        "Backend.log": standard("log", POSITIVE),
        "Backend.log2": standard("log2", POSITIVE),
        "Backend.log10": standard("log10", POSITIVE),
        "Backend.sigmoid": Case(special.sigmoid, (A * 100,), scipy.special.expit, rtol=1e-14),
        "Backend.dtype": dtype,
        "Backend.tile": Case(lambda x: xpand.array_namespace(x).tile(x, (2, 2)), (A,), lambda x: np.tile(x, (2, 2))),
        "Backend.repeat": Case(
            lambda x, r: indexing.repeat(x, r, axis=1, total_repeat_length=4),
            (A, np.asarray([2, 0, 2])),
            lambda x, r: np.repeat(x, r, axis=1),
        ),
        "Backend.get_diagonal": Case(
            lambda x: xpand.array_namespace(x).matrix_transpose(linalg.diagonal(x, offset=1, axis1=1, axis2=2)),
            (np.arange(36.0).reshape(2, 3, 3, 2),),
            lambda x: np.stack([x[:, 0, 1], x[:, 1, 2]], axis=1),
        ),
        "Backend.indexed_segment_sum": (
            Case(
                lambda x, o: scatter.segment_reduce(x, o, axis=1),
                (GRID, np.asarray([0, 2, 2, 3])),
                lambda x, o: np.stack([x[:, a:b].sum(axis=1) for a, b in pairwise(o)], axis=1),
                rtol=1e-14,
            ),
            Case(
                lambda x, o: scatter.segment_reduce(x, o, axis=1),
                (GRID, np.asarray([[0, 2, 3], [0, 1, 3]])),
                lambda x, o: np.stack([[m[a:b].sum(axis=0) for a, b in pairwise(own)] for m, own in zip(x, o)]),
                rtol=1e-14,
            ),
        ),
        "Backend.minimize": minimize,
        "Backend.linear_solve": (named, of_each),
        "Backend.conjugate_gradient": solved_by("CG"),
        "Backend.conjugate_gradient_adaptive": solved_by("CG-adaptive"),
        "Backend.bi_conjugate_gradient": solved_by("biCG-stab(0)", "biCG-stab(2)"),
        "Backend.matrix_solve_least_squares": least_squares,
        "Backend.solve_triangular": (triangular_dense, triangular_sparse),
        "Backend.solve_triangular_dense": triangular_dense,
        "Backend.solve_triangular_sparse": triangular_sparse,
        "Backend.stop_gradient": Case(autodiff.stop_gradient, (A,), lambda x: x),
        "Backend.stop_gradient_tree": Case(lambda x: autodiff.stop_gradient({"x": (x,)})["x"], (A,), lambda x: (x,)),
        "Backend.grid_sample": (
            *(
                Case(
                    lambda g, c, name=name: interpolation.grid_sample(g, c, extrapolation=name),
                    (GRID, np.asarray([[[0.5], [1.75], [-1.0], [-0.25]], [[2.0], [0.25], [7.0], [2.5]]])),
                    sampled(mode),
                    rtol=1e-12,
                )
                for name, mode in EXTRAPOLATIONS.items()
            ),
            Case(
                lambda g, c: interpolation.grid_sample(g, c, extrapolation="undefined"),
                (GRID, np.asarray([[[0.5], [2.0]], [[0.0], [1.25]]])),  # within the grid, where it is defined
                sampled("nearest"),
                rtol=1e-12,
            ),
        ),
        "Backend.ndims": ndims,
        "Backend.size": size,
        "Backend.multi_slice": Case(
            lambda x, i: indexing.dynamic_slice(x, (0, i), (2, 2)),
            (A, np.asarray(1)),
            lambda x, i: x[:, int(i) : int(i) + 2],
        ),
        "Backend.batch_gather": Case(
            lambda x, i: indexing.take(x, i, axis=0), (GRID, np.asarray([1])), lambda x, i: x[i]
        ),
        "Backend.unstack": standard("unstack", A, axis=1, reference=lambda x: tuple(x.T.copy())),
        "Backend.equal": standard("equal", INTEGERS, np.asarray([3, 9, 5])),
        "Backend.not_equal": standard("not_equal", INTEGERS, np.asarray([3, 9, 5])),
        "Backend.greater_than": standard("greater", A, POSITIVE - 2.0),
        "Backend.greater_or_equal": standard("greater_equal", A, A),
        "Backend.add": standard("add", A, POSITIVE),
        "Backend.sub": standard("subtract", A, POSITIVE),
        "Backend.mul": standard("multiply", A, POSITIVE),
        "Backend.div": standard("divide", A, POSITIVE),
        "Backend.pow": standard("pow", POSITIVE, A),
        "Backend.mod": standard("remainder", INTEGERS, OTHERS),
        "Backend.and_": standard("bitwise_and", BOOLEANS, OTHER_BOOLEANS),
        "Backend.or_": standard("bitwise_or", INTEGERS, OTHERS),
        "Backend.xor": standard("bitwise_xor", INTEGERS, OTHERS),
        "Backend.floordiv": standard("floor_divide", INTEGERS, OTHERS),
        "Backend.shift_bits_left": standard("bitwise_left_shift", INTEGERS, SHIFTS),
        "Backend.shift_bits_right": standard("bitwise_right_shift", INTEGERS, SHIFTS),
        "Backend.invert": standard("bitwise_invert", INTEGERS),
        "Backend.eig": eigenvectors,
        "Backend.eigvals": eigenvalues,
        "Backend.svd": svd,
        "Backend.matrix_rank_dense": standard("linalg.matrix_rank", SQUARE, reference=lambda x: np.asarray(3)),
        "Backend.__enter__ (with backend:)": use,
        "choose_backend": choose,
        "context_backend": use,
        "default_backend": use,
        "set_global_default_backend": set_default,
        "NoBackendFound": no_backend,
    }
    | PROFILE
    | SPARSE
    | RANDOM
    | PRECISION
)

CASES |= coverage_devices.PHIML
CASES |= coverage_convert.PHIML


@pytest.mark.parametrize("row", CASES)
def test_row(library: Library, row: str) -> None:
    check_row(library, CASES[row])


def test_every_row_is_tested_or_open() -> None:
    assert set(CASES) | unfinished("phiml") == set(TABLE)
    assert not set(CASES) & unfinished("phiml")


@pytest.mark.parametrize("row", CASES)
def test_what_the_table_names_exists(row: str) -> None:
    check_name(TABLE[row])
