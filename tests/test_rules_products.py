"""Rules of products: derivatives in both modes, batches and shapes, against JAX's."""

from typing import Any

import numpy as np
import pytest

from tests.cases import Case
from tests.operations import Check, checked
from tests.traced import traced_forward, traced_grad, traced_second, traced_stage, traced_vmap
from xpand import array_namespace
from xpand_extensions import linalg
from xpand_extensions.autodiff import grad, jvp
from xpand_extensions.tracing import traced_namespace
from xpand_extensions.tracing._core import Aval
from xpand_extensions.tracing._staging import stage
from xpand_extensions.vmap import vmap

TRACED = [traced_stage, traced_vmap, traced_forward, traced_grad]
RNG = np.random.default_rng(0)


def normal(*shape: int) -> np.ndarray:
    return RNG.normal(size=shape)


def matmul(x1: Any, x2: Any) -> Any:
    return array_namespace(x1, x2).matmul(x1, x2)


def tensordot(axes: Any) -> Any:
    return lambda x1, x2: array_namespace(x1, x2).tensordot(x1, x2, axes=axes)


def vecdot(axis: int = -1) -> Any:
    return lambda x1, x2: array_namespace(x1, x2).vecdot(x1, x2, axis=axis)


def outer(x1: Any, x2: Any) -> Any:
    return array_namespace(x1, x2).linalg.outer(x1, x2)


def cross(axis: int = -1) -> Any:
    return lambda x1, x2: array_namespace(x1, x2).linalg.cross(x1, x2, axis=axis)


def of_complex(function: Any) -> Any:
    """Make a function of two complex arrays one of their real and imaginary parts."""
    return lambda a, b, c, d: function(a + 1j * b, c - 1j * d)


def case(function: Any, *arrays: np.ndarray, **options: Any) -> Case:
    return Case(function, arrays, differentiable=tuple(range(len(arrays))), **options)


SHAPES = [
    ((3,), (3,)),
    ((3,), (3, 4)),
    ((2, 3), (3,)),
    ((2, 3), (3, 4)),
    ((3,), (5, 3, 4)),
    ((5, 2, 3), (3,)),
    ((2, 3), (5, 3, 4)),
    ((5, 2, 3), (3, 4)),
    ((5, 2, 3), (5, 3, 4)),
    ((5, 1, 2, 3), (6, 3, 4)),
    ((1, 2, 3), (5, 3, 4)),
    ((3,), (6, 5, 3, 4)),
]
CASES = {
    **{f"matmul {a} {b}": case(matmul, normal(*a), normal(*b)) for a, b in SHAPES},
    "matmul, complex": case(of_complex(matmul), normal(2, 3), normal(2, 3), normal(3, 4), normal(3, 4)),
    "matmul, complex with vectors": case(of_complex(matmul), normal(3), normal(3), normal(2, 3, 4), normal(2, 3, 4)),
    "matmul, real with complex": case(lambda a, b, c: matmul(a, b + 1j * c), normal(2, 3), normal(3, 2), normal(3, 2)),
    "matmul, no elements to sum": case(matmul, normal(2, 0), normal(0, 3)),
    "matmul with itself": case(lambda a: matmul(a, matmul(a, a)), normal(3, 3)),
    "operator": case(lambda a, b: a @ b, normal(2, 3), normal(3)),
    "tensordot": case(tensordot(2), normal(4, 2, 3), normal(2, 3, 5)),
    "tensordot, one axis": case(tensordot(1), normal(2, 3), normal(3, 4, 2)),
    "tensordot, none": case(tensordot(0), normal(2), normal(3, 2)),
    "tensordot, crossed axes": case(tensordot(((0, -1), (1, 0))), normal(2, 4, 3), normal(3, 2, 5)),
    "tensordot, all axes": case(tensordot(((1, 0), (0, 1))), normal(2, 3), normal(3, 2)),
    "tensordot, three axes": case(tensordot(((0, 1, 2), (2, 0, 1))), normal(2, 3, 4, 2), normal(3, 4, 2)),
    "tensordot, complex": case(of_complex(tensordot(1)), normal(2, 3), normal(2, 3), normal(3, 2), normal(3, 2)),
    "vecdot": case(vecdot(), normal(2, 3), normal(2, 3)),
    "vecdot, vectors": case(vecdot(), normal(3), normal(3)),
    "vecdot, first axis": case(vecdot(-2), normal(3, 2), normal(3, 2)),
    "vecdot, broadcast": case(vecdot(), normal(3), normal(4, 2, 3)),
    "vecdot, complex": case(of_complex(vecdot()), normal(2, 3), normal(2, 3), normal(2, 3), normal(2, 3)),
    "outer": case(outer, normal(3), normal(4)),
    "outer, complex": case(of_complex(outer), normal(2), normal(2), normal(3), normal(3)),
    "cross": case(cross(), normal(2, 3), normal(2, 3)),
    "cross, first axis": case(cross(-2), normal(3, 2), normal(3, 2)),
    "cross, complex": case(of_complex(cross()), normal(3), normal(3), normal(3), normal(3)),
    "einsum": case(lambda a, b, c: linalg.einsum("ij,jk,ikl->l", a, b, c), normal(2, 3), normal(3, 4), normal(2, 4, 2)),
    "einsum, diagonal": case(lambda a, b: linalg.einsum("iij,j->i", a, b), normal(3, 3, 2), normal(2)),
    "dot_general": case(
        lambda a, b: linalg.dot_general(a, b, axes=((2,), (1,)), batch_axes=((0,), (0,))), normal(2, 3, 4), normal(2, 4)
    ),
    "matvec": case(linalg.matvec, normal(2, 3, 4), normal(2, 4)),
    "kron": case(linalg.kron, normal(2, 3), normal(3, 2)),
}


# Second derivatives are those of the transposed products: a few cases have all, and JAX compiles each for seconds.
TWICE = ("matmul (2, 3) (5, 3, 4)", "matmul (5, 2, 3) (3, 4)", "matmul (3,) (3, 4)", "matmul, complex")
TWICE += ("tensordot, crossed axes", "vecdot, complex", "outer", "cross", "einsum", "einsum, diagonal")


@checked(CASES, TRACED)
def test_derivatives(case: Case, transformation: Check) -> None:
    transformation(case)


@pytest.mark.parametrize("name", TWICE)
def test_second_derivatives(name: str) -> None:
    traced_second(CASES[name])


@pytest.mark.parametrize(
    "function", [matmul, tensordot(1), vecdot(), outer], ids=["matmul", "tensordot", "vecdot", "outer"]
)
@pytest.mark.parametrize("dtypes", [("float32", "float64"), ("float32", "complex128"), ("float64", "float32")], ids=str)
def test_gradients_have_the_type_of_the_array(function: Any, dtypes: tuple[str, str]) -> None:
    arrays = [normal(3).astype(dtype) for dtype in dtypes]
    gradients = grad(lambda x1, x2: np.real(1) * array_namespace(x1).sum(abs(function(x1, x2))), (0, 1))(*arrays)
    assert tuple(str(x.dtype) for x in gradients) == dtypes
    tangent = jvp(function, tuple(arrays), tuple(arrays))[1]
    assert tangent.dtype == np.result_type(*dtypes)
    np.testing.assert_allclose(tangent, 2 * function(*arrays), rtol=1e-6)


@pytest.mark.parametrize("axes", [(0, 0), (0, None), (None, 0), (2, 1), (None, 2), (1, 0)], ids=str)
@pytest.mark.parametrize(
    ("function", "shapes"),
    [
        (matmul, ((4, 3), (3, 5))),
        (matmul, ((6, 4, 3), (6, 3, 5))),
        (matmul, ((4, 3), (6, 3, 5))),
        (tensordot(((1,), (0,))), ((4, 3), (3, 5))),
    ],
)
def test_any_axis_can_be_mapped(function: Any, shapes: Any, axes: Any) -> None:
    arrays, lanes = [], []
    for shape, axis in zip(shapes, axes):
        lanes.append(normal(2, *shape) if axis is not None else np.broadcast_to(normal(*shape), (2, *shape)))
        arrays.append(lanes[-1][0] if axis is None else np.moveaxis(lanes[-1], 0, axis))
    expected = np.stack([function(x1, x2) for x1, x2 in zip(*lanes)])
    np.testing.assert_allclose(vmap(function, in_axes=axes)(*arrays), expected, rtol=1e-12)


def predicted(function: Any, *shapes: tuple[int, ...], dtype: Any = np.float64) -> Any:
    """Trace a function of arrays of certain shapes without values."""
    avals = [Aval(shape, np.dtype(dtype)) for shape in shapes]
    return stage(traced_namespace(array_namespace(np.ones(1))), "jit", lambda *x: ((function(*x),), ()), avals)[0]


@pytest.mark.parametrize(
    ("function", "shapes", "match"),
    [
        (matmul, ((), (3,)), "matmul: takes arrays of at least one axis"),
        (matmul, ((2, 3), (2, 3)), "matmul: shapes .* don't fit"),
        (matmul, ((2, 2, 3), (3, 3, 2)), "can't be broadcast"),
        (tensordot(1), ((2, 3), (2, 3)), "tensordot: axes 1 of shapes"),
        (vecdot(), ((2, 3), (2, 1)), "vecdot: shapes .* differ in length"),
        (outer, ((2, 3), (2,)), r"outer: x1 must hold vectors, \(i,\)"),
        (cross(), ((4,), (4,)), "cross: vectors have three elements"),
    ],
)
def test_shapes_that_do_not_fit(function: Any, shapes: Any, match: str) -> None:
    with pytest.raises(ValueError, match=match):
        predicted(function, *shapes)


def test_an_axis_that_is_not_there() -> None:
    with pytest.raises(IndexError, match="axis 2 is out of bounds"):
        predicted(vecdot(2), (2, 3), (2, 3))


def test_integers_are_no_obstacle() -> None:
    x, counts = normal(2, 3), np.arange(6).reshape(3, 2)
    found = grad(lambda x: array_namespace(x).sum(matmul(x, counts.astype(np.float64)) ** 2))(x)
    np.testing.assert_allclose(found, 2 * x @ counts @ counts.T, rtol=1e-12)
    np.testing.assert_array_equal(vmap(matmul)(np.stack([counts] * 2), np.stack([counts.T] * 2))[1], counts @ counts.T)
