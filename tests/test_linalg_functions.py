"""The exponential and the logarithm of matrices: every library against mpmath and SciPy, transformations."""

from typing import Any

import mpmath
import numpy as np
import pytest
import scipy.linalg
import torch
from hypothesis import given, settings, strategies as st

from tests.laziness import nothing_computed
from tests.libraries import Library
from tests.operations import Case, Check, check_values, checked
from xpand import array_namespace
from xpand_extensions import linalg
from xpand_extensions.autodiff import jacfwd, jacrev, jvp
from xpand_extensions.jit import jit

RNG = np.random.default_rng(0)
FLOATING = ["float32", "float64", "complex64", "complex128"]


def normal(*shape: int, dtype: str = "float64") -> np.ndarray:
    values = RNG.normal(size=shape)
    return (values + 1j * RNG.normal(size=shape) if dtype.startswith("c") else values).astype(dtype)


def exact(function: Any, x: np.ndarray) -> np.ndarray:
    """A function of matrices by mpmath, with forty digits."""
    with mpmath.workdps(40):
        parts = [function(mpmath.matrix(m.astype(complex).tolist())).tolist() for m in x.reshape(-1, *x.shape[-2:])]
        result = np.asarray([[[complex(z) for z in row] for row in part] for part in parts]).reshape(x.shape)
    return (result if x.dtype.kind == "c" else result.real).astype(x.dtype)


def loggable(*shape: int, dtype: str = "float64") -> np.ndarray:
    """Matrices that have a real logarithm where they are real."""
    x = normal(*shape, dtype=dtype)
    x /= np.linalg.norm(x, axis=(-2, -1), keepdims=True) / 1.5
    return np.asarray(np.stack([scipy.linalg.expm(m) for m in x.reshape(-1, *x.shape[-2:])]).reshape(x.shape), dtype)


STACK = normal(2, 3, 3)
CASES = {
    "expm": Case(
        linalg.expm, (STACK[0, :2, :2],), reference=lambda x: exact(mpmath.expm, x), differentiable=(0,), atol=1e-13
    ),
    "expm, large": Case(linalg.expm, (20 * STACK,), reference=scipy.linalg.expm, rtol=1e-8),
    "expm of exchanged stacks": Case(
        lambda x: linalg.expm(array_namespace(x).permute_dims(x, (1, 0, 2, 3))),
        (normal(2, 3, 3, 3),),
        reference=lambda x: scipy.linalg.expm(x.transpose(1, 0, 2, 3)),
        rtol=1e-12,
    ),
    "logm": Case(
        linalg.logm,
        (loggable(2, 2),),
        reference=lambda x: exact(mpmath.logm, x),
        differentiable=(0,),
        rtol=1e-10,
        atol=1e-12,
    ),
    "logm, complex": Case(
        linalg.logm,
        (normal(2, 3, 3, dtype="complex128"),),
        reference=lambda x: exact(mpmath.logm, x),
        rtol=1e-10,
        atol=1e-12,
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_values(library: Library, case: Case) -> None:
    check_values(library, case)


@checked({name: CASES[name] for name in ["expm", "logm"]})
def test_transformations(case: Case, transformation: Check) -> None:
    transformation(case)


def test_derivatives_of_the_logarithm_compiled_by_torch() -> None:
    x = torch.asarray(loggable(2, 2))
    for derivative in (jacfwd(linalg.logm), jacrev(linalg.logm)):
        torch.testing.assert_close(jit(derivative)(x), derivative(x))


@pytest.mark.parametrize("dtype", FLOATING)
def test_every_type(library: Library, dtype: str) -> None:
    rtol = 1e-4 if dtype in ("float32", "complex64") else 1e-11
    for scale in (1e-3, 0.3, 2.0, 8.0):
        x = (scale * normal(4, 4)).astype(dtype)
        expected = exact(mpmath.expm, x)
        result = linalg.expm(library.asarray(x))
        library.assert_equal(result, expected, rtol=0, atol=rtol * np.max(np.abs(expected)))
    x = loggable(4, 4, dtype=dtype)
    expected = exact(mpmath.logm, x)
    library.assert_equal(linalg.logm(library.asarray(x)), expected, rtol=0, atol=20 * rtol * np.max(np.abs(expected)))


@st.composite
def matrices(draw: st.DrawFn) -> np.ndarray:
    stack = draw(st.lists(st.integers(0, 2), max_size=2))
    size = draw(st.integers(0, 4))
    rng = np.random.default_rng(draw(st.integers(0, 999)))
    # Of norms whose exponentials have an inverse, and no eigenvalue with a part beyond pi.
    x = rng.normal(size=(*stack, size, size))
    norm = draw(st.sampled_from([0.0, 1e-3, 1.0, 3.0]))
    x *= norm / np.maximum(np.linalg.norm(x, axis=(-2, -1), keepdims=True), 1e-9)
    return x.astype(complex) if draw(st.booleans()) else x


def test_the_logarithm_undoes_the_exponential(library: Library) -> None:
    # JAX compiles each shape anew.
    @settings(max_examples=4 if library.id == "jax" else 8 if library.lazy else 25)
    @given(x=matrices())
    def run(x: np.ndarray) -> None:
        result = linalg.expm(library.asarray(x))
        expected = scipy.linalg.expm(x) if x.size else x
        library.assert_equal(result, expected, rtol=1e-10, atol=1e-11)
        library.assert_equal(linalg.logm(result), x, rtol=1e-8, atol=1e-10)

    run()


@pytest.mark.parametrize("shape", [(0, 0), (2, 0, 0), (0, 3, 3)])
def test_no_values(library: Library, shape: tuple[int, ...]) -> None:
    for function in (linalg.expm, linalg.logm):
        library.assert_equal(function(library.asarray(np.zeros(shape))), np.zeros(shape))


def test_known_exponentials(library: Library) -> None:
    nilpotent = np.diag([1.0, 2.0, 3.0], k=1)
    expected = np.eye(4) + nilpotent + nilpotent @ nilpotent / 2 + nilpotent @ nilpotent @ nilpotent / 6
    library.assert_equal(linalg.expm(library.asarray(nilpotent)), expected, rtol=1e-14)
    library.assert_equal(linalg.expm(library.asarray(np.zeros((2, 2)))), np.eye(2), rtol=1e-15)
    # Each of a stack needs another number of squarings, and the largest has an exponential of 1e304.
    sizes = np.asarray([0.0, 1.0, 700.0, -800.0])
    stack = sizes[:, None, None] * np.eye(2)
    expected = np.where(np.eye(2, dtype=bool), np.exp(sizes)[:, None, None], 0.0)
    library.assert_equal(linalg.expm(library.asarray(stack)), expected, rtol=1e-12)
    turn = np.asarray([[0.0, -1e6], [1e6, 0.0]])
    expected = np.asarray([[np.cos(1e6), -np.sin(1e6)], [np.sin(1e6), np.cos(1e6)]])
    library.assert_equal(linalg.expm(library.asarray(turn)), expected, rtol=0, atol=1e-7)


def test_known_logarithms(library: Library) -> None:
    jordan = np.asarray([[1.0, 1.0, 0.0], [0.0, 1.0, 1.0], [0.0, 0.0, 1.0]])
    expected = np.asarray([[0.0, 1.0, -0.5], [0.0, 0.0, 1.0], [0.0, 0.0, 0.0]])
    library.assert_equal(linalg.logm(library.asarray(jordan)), expected, atol=1e-14)
    # As numbers do: negative ones have no real logarithm, and πi times that of their size as a complex one.
    stack = np.stack([-2 * np.eye(2), 3 * np.eye(2), np.diag([1e150, 1e-150])])
    expected = np.stack([np.full((2, 2), np.nan), np.log(3) * np.eye(2), np.diag(np.log([1e150, 1e-150]))])
    library.assert_equal(linalg.logm(library.asarray(stack)), expected, rtol=1e-12, atol=1e-12)
    expected = expected.astype(complex)
    expected[0] = (np.log(2) + 1j * np.pi) * np.eye(2)
    library.assert_equal(linalg.logm(library.asarray(stack.astype(complex))), expected, rtol=1e-12, atol=1e-12)
    # Near the cut, on both sides; and a matrix that has none.
    angles = np.asarray([3.1, -3.1, 3.141592])
    turns = np.moveaxis(np.asarray([[np.cos(angles), -np.sin(angles)], [np.sin(angles), np.cos(angles)]]), -1, 0)
    expected = angles[:, None, None] * np.asarray([[0.0, -1.0], [1.0, 0.0]])
    stack = np.concatenate([turns, np.diag([0.0, 1.0])[None]])
    expected = np.concatenate([expected, np.full((1, 2, 2), np.nan)])
    # The condition is the inverse of the distance to the cut, 1e-6.
    library.assert_equal(linalg.logm(library.asarray(stack)), expected, atol=1e-8)


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_logarithms_of_larger_matrices_on_numpy(dtype: str) -> None:
    """They are SciPy's, except where SciPy's result isn't the principal logarithm."""
    x = normal(60, 60, dtype=dtype) / 30.0
    power = scipy.linalg.expm(x)
    stack = np.stack([power, -1e3 * np.eye(60) + np.triu(x), np.diag(np.arange(60.0)) + np.triu(x, 1), power / 1e200])
    stack[3] *= 1e50
    found = linalg.logm(stack)
    tolerance = 1e-10 * np.linalg.norm(x)
    assert np.linalg.norm(found[0] - x) < tolerance
    assert np.isnan(found[1]).all() == (dtype == "float64")
    assert np.isnan(found[2]).all()
    np.testing.assert_allclose(found[3], x - 150.0 * np.log(10.0) * np.eye(60), atol=tolerance)
    direction = normal(60, 60, dtype=dtype)
    along = jvp(linalg.logm, (power,), (direction,))[1]
    np.testing.assert_allclose(scipy.linalg.expm_frechet(x, along, compute_expm=False), direction, atol=1e-10)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("function", [linalg.expm, linalg.logm], ids=["expm", "logm"])
def test_what_is_not_finite(library: Library, function: Any, value: float) -> None:
    # One matrix of the stack; the other is as it would be alone.
    x = np.stack([loggable(3, 3)] * 2)
    x[1, 0, 2] = value
    result = np.asarray(library.to_numpy(function(library.asarray(x))))
    assert np.isnan(result[1]).all()
    np.testing.assert_allclose(result[0], np.asarray(library.to_numpy(function(library.asarray(x[0])))), rtol=1e-12)


@pytest.mark.parametrize("function", [linalg.expm, linalg.logm], ids=["expm", "logm"])
def test_second_derivatives(function: Any) -> None:
    import jax
    import torch

    x, direction, step = loggable(3, 3), normal(3, 3), 1e-5
    total = lambda x: (function(x) ** 3).sum()
    gradient = torch.func.grad(total)
    up, down = (gradient(torch.asarray(x + s * direction)).numpy() for s in (step, -step))
    expected = (up - down) / (2 * step)
    rtol = {"rtol": 1e-5, "atol": 1e-7 * np.max(np.abs(expected))}
    twice = torch.func.grad(lambda x: (gradient(x) * torch.asarray(direction)).sum())
    np.testing.assert_allclose(twice(torch.asarray(x)).numpy(), expected, **rtol)
    again = jax.grad(lambda x: (jax.grad(total)(x) * direction).sum())
    np.testing.assert_allclose(again(jax.numpy.asarray(x)), expected, **rtol)


@pytest.mark.parametrize("function", [linalg.expm, linalg.logm], ids=["expm", "logm"])
def test_complex_gradients(function: Any) -> None:
    import jax
    import torch

    total = lambda x: (abs(function(x)) ** 2).sum()
    x, direction, step = loggable(3, 3, dtype="complex128"), normal(3, 3, dtype="complex128"), 1e-6
    expected = (total(x + step * direction) - total(x - step * direction)) / (2 * step)
    # JAX's gradient is the conjugate of PyTorch's.
    found = np.sum(np.asarray(jax.grad(total)(jax.numpy.asarray(x))) * direction).real
    assert found == pytest.approx(expected, rel=1e-6)
    y = torch.asarray(x).requires_grad_()
    total(y).backward()
    assert np.sum(y.grad.numpy().conj() * direction).real == pytest.approx(expected, rel=1e-6)


def test_dask_stays_lazy() -> None:
    import dask.array as da

    values = loggable(2, 3, 3)
    x = da.from_array(values, chunks=(1, 2, 3))
    with nothing_computed():
        results = linalg.expm(x), linalg.logm(x)
    for result, expected in zip(results, (linalg.expm(values), linalg.logm(values))):
        np.testing.assert_allclose(np.asarray(result), expected, rtol=1e-12)


@pytest.mark.parametrize("name", ["expm", "logm"])
def test_bad_input(library: Library, name: str) -> None:
    function = getattr(linalg, name)
    with pytest.raises(TypeError, match=f"{name}: x must be an array, got list"):
        function([[1.0]])
    with pytest.raises(TypeError, match=f"{name}: x must have a floating-point data type"):
        function(library.asarray([[1]]))
    for shape in ((), (3,), (2, 3)):
        with pytest.raises(ValueError, match=rf"{name}: x must hold square matrices, \(..., n, n\)"):
            function(library.asarray(np.ones(shape)))
