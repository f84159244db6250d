"""The matrix of a linear function, against the function called with each unit vector."""

import time

import numpy as np
import pytest

from tests.libraries import LIBRARIES, Library
from xpand import array_namespace, trees
from xpand_extensions import (
    autodiff,
    control_flow,
    convolution,
    jit,
    linalg,
    linear_solve,
    padding,
    scatter,
    sparse,
    windows,
)
from xpand_extensions.tracing import NonlinearError, TracedError

X = np.random.default_rng(3).standard_normal((4, 5))
W = np.random.default_rng(4).standard_normal((5, 3))


def xp(x):
    return array_namespace(x)


def known(x, values, dtype=None):
    """Make a constant beside an array."""
    return xp(x).asarray(values, dtype=dtype, device=getattr(x, "device", None))


def laplace(u, **options):
    p = padding.pad(u, 1, **options)
    return p[2:, 1:-1] + p[:-2, 1:-1] + p[1:-1, 2:] + p[1:-1, :-2] - 4.0 * u


FUNCTIONS = {
    "periodic": lambda x: xp(x).roll(x, 1, axis=0) + xp(x).roll(x, -1, axis=1) - 4 * x,
    "affine": lambda x: 2.0 - x / 3.0 + known(x, X),
    "constant": lambda x: xp(x).ones_like(x),
    "zeros": lambda x: laplace(x, mode="constant"),
    "border": lambda x: laplace(x, mode="constant", constant_values=2.0),
    "edge": lambda x: laplace(x, mode="edge"),
    "reflect": lambda x: laplace(x, mode="reflect"),
    "wrap": lambda x: laplace(x, mode="wrap"),
    "cancels": lambda x: x[1:, :] - x[1:, :] + x[:-1, :],
    "sum": lambda x: xp(x).sum(x, axis=0),
    "mean": lambda x: xp(x).mean(x, axis=1, keepdims=True),
    "total": lambda x: xp(x).sum(x),
    "cumulative_sum": lambda x: xp(x).cumulative_sum(x, axis=1),
    "cumulative_initial": lambda x: xp(x).cumulative_sum(x[0, :], include_initial=True),
    "matmul": lambda x: x @ known(x, W),
    "left_matmul": lambda x: known(x, W).T @ x.T,
    "vector": lambda x: x @ known(x, W[:, 0]),
    "tensordot": lambda x: xp(x).tensordot(x, known(x, W), axes=((1,), (0,))),
    "vecdot": lambda x: xp(x).vecdot(x, known(x, W[:, 0])),
    "einsum": lambda x: linalg.einsum("ij,jk->ki", x, known(x, W)),
    "transposed": lambda x: xp(x).reshape(x.T, (-1,))[::-2],
    "concat": lambda x: xp(x).concat([x, 3 * x, xp(x).ones_like(x)], axis=1),
    "stack": lambda x: xp(x).stack([x[0, :], x[1, :] + x[2, :], x[3, :] * 0.0]),
    "unstack": lambda x: xp(x).unstack(x, axis=1),
    "where": lambda x: xp(x).where(known(x, X > 0), x, 2 * x + 1),
    "take": lambda x: xp(x).take(x, known(x, [3, 0, 0]), axis=0),
    "take_along_axis": lambda x: xp(x).take_along_axis(x, known(x, [[1, 1], [0, 4], [2, 0], [3, 3]]), axis=1),
    "tril": lambda x: xp(x).tril(x),
    "broadcast": lambda x: xp(x).broadcast_to(x[None, :1, :], (2, 3, 5)),
    "repeat": lambda x: xp(x).repeat(x, 2, axis=0),
    "diff": lambda x: xp(x).diff(x, axis=0, n=2),
    "set": lambda x: scatter.at(x)[1].set(0.5),
    "add": lambda x: scatter.at(x)[known(x, [1, 1, 2])].add(x[0, :]),
    "segment_sum": lambda x: scatter.segment_sum(x, known(x, [0, 2, 2, 0]), num_segments=3),
    "conv": lambda x: convolution.convolve(x[0, :], known(x, [1.0, 2.0, 3.0])),
    "window_mean": lambda x: windows.window_mean(x, (2, 2)),
    "diagonal": lambda x: xp(x).linalg.diagonal(x),
    "trace": lambda x: xp(x).linalg.trace(x),
    "spectrum": lambda x: xp(x).real(xp(x).fft.rfft(x[:, :4])),
    "loop": lambda x: control_flow.fori_loop(0, 3, lambda i, u: u + xp(u).roll(u, 1, axis=0), x),
    "scan": lambda x: control_flow.scan(lambda c, row: (0.5 * c + row, c), x[0, :], x)[1],
    "checkpoint": lambda x: autodiff.checkpoint(lambda u: 2 * u)(x),
    "product": lambda x: sparse.from_dense(known(x, W.T)) @ x.T,
}
ON_EVERY_LIBRARY = ("affine", "border", "matmul", "sum", "add", "loop")


def numbers(library: Library, x) -> np.ndarray:
    return np.asarray(library.to_numpy(x))


def flat(library: Library, tree) -> np.ndarray:
    return np.concatenate([numbers(library, x).ravel() for x in trees.leaves(tree)])


def by_columns(library: Library, function, shape, dtype=None):
    """Find the matrix and the offset by calling the function with each unit vector."""
    size = int(np.prod(shape))
    call = lambda x: flat(library, function(library.asarray(x.reshape(shape), dtype=dtype)))
    offset = call(np.zeros(size))
    columns = [call(row) - offset for row in np.eye(size)]
    return np.stack(columns, axis=1), offset


@pytest.mark.parametrize("name", FUNCTIONS)
def test_structure(name):
    check(next(x for x in LIBRARIES if x.id == "numpy"), FUNCTIONS[name])


@pytest.mark.parametrize("name", ON_EVERY_LIBRARY)
@pytest.mark.parametrize("library", [x for x in LIBRARIES if x.id != "numpy"], ids=str)
def test_every_library(library, name):
    if library.lazy and name not in ("sum", "loop"):
        # Constants whose values would have to be computed.
        with pytest.raises(TracedError, match="needs concrete values"):
            linear_solve.matrix_from_function(FUNCTIONS[name], library.asarray(X))
        return
    check(library, FUNCTIONS[name])


def check(library: Library, function) -> None:
    expected, offset = by_columns(library, function, X.shape)
    matrix, found = linear_solve.matrix_from_function(function, library.asarray(X))
    assert isinstance(matrix, sparse.CSR)
    assert (matrix.is_sorted, matrix.is_unique) == (True, True)
    assert array_namespace(matrix.values) is library.xp
    library.assert_equal(found, offset, rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(numbers(library, matrix.todense()), expected, rtol=1e-12, atol=1e-13)
    assert matrix.nse == np.count_nonzero(np.abs(expected) > 1e-14)


@pytest.mark.parametrize("format", ["csr", "csc", "coo"])
def test_formats(format):
    matrix, _ = linear_solve.matrix_from_function(FUNCTIONS["edge"], X, format=format)
    assert matrix.format == format
    np.testing.assert_allclose(matrix.todense(), linear_solve.matrix_from_function(FUNCTIONS["edge"], X)[0].todense())


def test_trees_and_arguments():
    def function(tree, a):
        return {"y": tree["u"] * a + tree["v"][0], "z": (tree["v"][1:],)}

    example = {"u": np.zeros(2), "v": np.zeros(3)}
    matrix, offset = linear_solve.matrix_from_function(function, example, args=(3.0,))
    np.testing.assert_array_equal(
        matrix.todense(),
        [[3, 0, 1, 0, 0], [0, 3, 1, 0, 0], [0, 0, 0, 1, 0], [0, 0, 0, 0, 1]],
    )
    np.testing.assert_array_equal(offset, np.zeros(4))


def test_what_stands_for_an_array_will_do():
    matrix, _ = linear_solve.matrix_from_function(lambda x: x[1:] - x[:-1], jit.ShapeDtype((3,), np.float32))
    assert matrix.dtype == np.float32
    np.testing.assert_array_equal(matrix.todense(), [[-1, 1, 0], [0, -1, 1]])


def test_complex():
    phase = np.exp(1j * np.arange(3.0))
    matrix, offset = linear_solve.matrix_from_function(lambda x: xp(x).fft.fft(phase * x) + 1j, np.zeros(3, complex))
    np.testing.assert_allclose(matrix.todense(), np.fft.fft(np.diag(phase), axis=0), atol=1e-14)
    np.testing.assert_array_equal(offset, np.full(3, 1j))
    with pytest.raises(NonlinearError, match="`real`"):
        linear_solve.matrix_from_function(lambda x: xp(x).real(x), np.zeros(3, complex))


@pytest.mark.parametrize("shape", [(0,), (0, 3), (1,)])
def test_small(shape):
    matrix, offset = linear_solve.matrix_from_function(lambda x: 2 * x, np.zeros(shape))
    size = int(np.prod(shape))
    assert (matrix.shape, offset.shape) == ((size, size), (size,))
    np.testing.assert_array_equal(matrix.todense(), 2 * np.eye(size))


NONLINEAR = {
    "exp": lambda x: xp(x).exp(x),
    "multiply": lambda x: x * x,
    "divide": lambda x: 1.0 / (x + 2.0),
    "abs": lambda x: abs(x),
    "argsort": lambda x: xp(x).sort(x),
    "greater": lambda x: xp(x).where(x > 0, x, 0.0),
    "maximum": lambda x: xp(x).maximum(x, 0.0),
    "matmul": lambda x: x @ x.T,
    "clip": lambda x: xp(x).clip(x, -5.0, 1e300),
}


@pytest.mark.parametrize("operation", NONLINEAR)
def test_nonlinear(operation):
    with pytest.raises(NonlinearError, match=f"must be linear.*`{operation}`.*test_matrix_from_function.py"):
        linear_solve.matrix_from_function(NONLINEAR[operation], X)


def test_bad_input():
    make = linear_solve.matrix_from_function
    with pytest.raises(TypeError, match="matrix_from_function: takes a function, got int"):
        make(3, X)
    with pytest.raises(TypeError, match="floating-point data type, got int64"):
        make(lambda x: x, np.zeros(3, np.int64))
    with pytest.raises(TypeError, match=r"example must be a tree of arrays.*got float"):
        make(lambda x: x, 1.0)
    with pytest.raises(TypeError, match="example must hold an array"):
        make(lambda x: x, ())
    with pytest.raises(ValueError, match="format must be one of"):
        make(lambda x: x, X, format="dia")
    with pytest.raises(TypeError, match="must return arrays, got str"):
        make(lambda x: "no", X)
    with pytest.raises(TracedError, match="has no conditions on its argument"):
        make(lambda x: x if bool(x[0, 0]) else -x, X)
    with pytest.raises(TracedError, match="has no conditions on its argument|while `matrix_from_function`"):
        make(lambda x: x * float(x[0, 0]), X)
    with pytest.raises(NonlinearError, match="too many elements to try each"):
        make(lambda x: xp(x).fft.rfft(x), np.zeros(3000))


def test_no_silent_loss_of_a_derivative():
    with pytest.raises(TracedError, match="no derivative with respect to them"):
        autodiff.grad(lambda a: xp(a).sum(linear_solve.matrix_from_function(lambda x: a * x, X[0, :])[0].values))(
            np.ones(5)
        )


def test_a_large_stencil_takes_less_than_a_second():
    u = np.zeros((512, 512))
    linear_solve.matrix_from_function(FUNCTIONS["zeros"], u[:4, :4])
    start = time.process_time()
    matrix, _ = linear_solve.matrix_from_function(FUNCTIONS["zeros"], u)
    # Process time of one thread: other programs on the machine don't count.
    assert time.process_time() - start < 1.0
    assert matrix.nse == 5 * 512**2 - 4 * 512
