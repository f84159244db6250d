"""Check the arguments of `linear_solve.solve`: methods, vectors, tolerances, numbers of steps, null spaces."""

import re
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any, Final, NamedTuple

from xpand import array_namespace, check
from xpand.extend import Array, checks, describe

from .._dispatch import in_one_namespace
from ..linalg._checks import stack_of
from ..sparse._containers import Sparse
from ._operators import LinearOperator, Matrix
from ._results import norm
from ._vectors import Vectors, vectors_of

DIRECT: Final = ("direct", "lu", "cholesky", "qr", "lower", "upper")
LEAST_SQUARES: Final = ("lsqr", "lsmr")
_ORDERS: Final = {"bicgstab": 1, "gmres": 30, "gcrot": 20}
_KRYLOV: Final = ("cg", "cg-adaptive", "bicg", "bicgstab", "cgs", "qmr", "gmres", "gcrot", "minres", *LEAST_SQUARES)
METHODS: Final = ("auto", *DIRECT, "lstsq", *_KRYLOV, "bicgstab(2)", "gmres(30)", "gcrot(20)")
_NAME: Final = re.compile(r"([a-z][a-z-]*[a-z])(?:\((\d+)\))?")


class Method(NamedTuple):
    """A method and its order: the degree of the polynomials for `bicgstab`, the steps between restarts for others."""

    name: str
    order: int = 0

    def __str__(self) -> str:
        """Return the name of the method, with its order."""
        return f"{self.name}({self.order})" if self.order else self.name


def method_of(method: Any) -> Method:
    """Parse the name of a method, also a name of PhiML.

    Raises:
        TypeError: Not a string.
        ValueError: An unknown name, or an order of 0.
    """
    if not isinstance(method, str):
        raise TypeError(f"solve: method must be one of {_listed()}, got {method!r} ({describe(method)})")
    found = _NAME.fullmatch(
        method.lower().removeprefix("scipy-").replace("bicg-stab", "bicgstab").replace("gcrotmk", "gcrot")
    )
    name = found[1] if found else method
    if found is None or name not in METHODS or (found[2] and name not in _ORDERS):
        close = get_close_matches(method.lower(), METHODS, n=1)
        meant = f"; did you mean {close[0]!r}?" if close else ""
        raise ValueError(f"solve: method must be one of {_listed()}, got {method!r}{meant}")
    if name not in _ORDERS:
        return Method(name)
    order = int(found[2]) if found[2] else _ORDERS[name]
    if name == "bicgstab" and order == 0:
        return Method("bicg")
    if order < 1:
        raise ValueError(f"solve: method={method!r} must keep one direction or more, such as 'gmres(30)'")
    return Method(name, order)


def chosen(is_dense: bool, is_square: bool, symmetric: bool, positive_definite: bool) -> Method:
    """Choose a method from the known properties of the matrix."""
    if not is_square:
        return Method("lstsq") if is_dense else Method("lsmr")
    if is_dense:
        return Method("cholesky" if positive_definite else "lu")
    if positive_definite:
        return Method("cg")
    return Method("minres") if symmetric else Method("bicgstab", 2)


def _listed() -> str:
    return ", ".join(map(repr, METHODS))


class LinearProblem(NamedTuple):
    """A system with its right-hand sides and its initial guess as flat vectors."""

    operator: Matrix | LinearOperator
    b: Array
    x0: Array | None
    rows: Vectors
    columns: Vectors


def problem_of_matrix(operator: Matrix, b: Any, x0: Any, axis: int, batch_ndim: int) -> LinearProblem:
    """Check the vectors `b` and `x0` of a system of matrices; convert them to vectors along the last axis.

    Raises:
        TypeError: Vectors that are not arrays of the matrices' library, or not of a floating-point data type.
        ValueError: Shapes that don't fit, arrays on two devices.
    """
    matrix = operator.values
    values = matrix.values if isinstance(matrix, Sparse) else matrix
    given = {"A": values, "b": b} | ({} if x0 is None else {"x0": x0})
    xp = checks.namespace_of("solve", **given)
    checks.one_device("solve", **given)
    whole = tuple(matrix.shape)
    rows, columns = whole[-2:]
    for name, size in (("b", rows), ("x0", columns))[: len(given) - 1]:
        x = given[name]
        checks.dtype("solve", name, xp, x, checks.FLOATING)
        # A guess has the layout of the solution.
        along = axis if name == "b" or len(b.shape) > 1 else -1
        stack_of("solve", name, whole, checks.known_shape("solve", name, x), along, size)
    promoted = checks.promote("solve", xp, **given)
    if not isinstance(matrix, Sparse):  # a sparse matrix keeps its known pattern
        promoted = in_one_namespace(*promoted)
    if promoted[0] is not values:
        matrix = matrix.with_values(promoted[0]) if isinstance(matrix, Sparse) else promoted[0]
    is_columns = axis == -2 and len(b.shape) > 1
    stack = tuple(matrix.shape)[:-2]
    if is_columns:
        stack = (*stack, 1) if stack else stack
        transposed = [x if x.ndim == 1 else array_namespace(x).matrix_transpose(x) for x in promoted[1:]]
        promoted = (promoted[0], *transposed)
    shapes = {name: tuple(x.shape[:-1]) for name, x in zip(list(given)[1:], promoted[1:])}
    batch = checks.broadcast_shapes("solve", A=stack, **shapes)
    if batch_ndim not in (0, len(batch)):
        raise ValueError(
            f"solve: batch_ndim is for A that is a function; with matrices the axes of the batch are those of b, here "
            f"{len(batch)}, got batch_ndim={batch_ndim}"
        )
    operator = Matrix(matrix, operator.symmetric, operator.positive_definite)
    right = _spread(promoted[1], (*batch, rows))
    start = None if x0 is None else _spread(promoted[2], (*batch, columns))
    spaces = [Vectors(0, [(size,)], batch, right.dtype, is_columns) for size in (rows, columns)]
    return LinearProblem(operator, right, start, *spaces)


def problem_of_function(
    operator: LinearOperator, b: Any, x0: Any, batch_ndim: int, may_be_rectangular: bool
) -> LinearProblem:
    """Check the vectors `b` and `x0` of a system of a function, which are trees of arrays.

    Raises:
        TypeError: Leaves that aren't arrays of one library and one floating-point data type; an `x0` unlike `b`.
        ValueError: Arrays on two devices, different batch axes, or an `x0` unlike `b`.
    """
    flat, rows = vectors_of("solve", "b", b, batch_ndim)
    if x0 is None:
        return LinearProblem(operator, flat, None, rows, rows)
    if not may_be_rectangular:
        return LinearProblem(operator, flat, rows.flat("solve: x0 must be", x0), rows, rows)
    start, columns = vectors_of("solve", "x0", x0, batch_ndim)
    checks.namespace_of("solve", b=flat, x0=start)
    if columns.dtype != rows.dtype or columns.batch != rows.batch:
        raise ValueError(
            f"solve: x0 must have the data type and the batch of b, {rows.dtype} and {rows.batch}, got "
            f"{columns.dtype} and {columns.batch}"
        )
    return LinearProblem(operator, flat, start, rows, columns)


def tolerance(name: str, value: Any, b: Array, default: float) -> Array:
    """Check a tolerance, for all systems or for each, and return it as a real array.

    Raises:
        TypeError: Neither a number nor a real array.
        ValueError: A negative number or NaN, or a shape that doesn't broadcast with the batch.
    """
    xp = array_namespace(b)
    real = xp.abs(b[..., :0]).dtype
    if value is None:
        value = default
    if isinstance(value, float):
        value = float(value)  # NumPy's float64 is also an array of NumPy
    if checks.is_array(value):
        checks.namespace_of("solve", b=b, **{name: value})
        checks.dtype("solve", name, xp, value, checks.REAL)
        checks.broadcast_shapes("solve", batch=tuple(b.shape[:-1]), **{name: tuple(value.shape)})
        if len(value.shape) > b.ndim - 1:
            raise ValueError(
                f"solve: {name} must be a number, or of a shape that broadcasts to the batch {tuple(b.shape[:-1])}, "
                f"got the shape {tuple(value.shape)}"
            )
        check(value >= 0, f"solve: {name} must be at least 0")
        return xp.astype(value, real)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"solve: {name} must be a number or an array of them, got {value!r} ({describe(value)})")
    if not value >= 0:
        raise ValueError(f"solve: {name} must be at least 0, got {value}")
    return xp.asarray(float(value), dtype=real, device=checks.device_of(b))


def stops_of(max_steps: Any, size: int) -> tuple[int, ...]:
    """Check `max_steps`, and return the numbers of steps.

    Raises:
        TypeError: Neither an integer nor a sequence of integers.
        ValueError: A negative number, or an empty sequence.
    """
    if max_steps is None:
        return (10 * max(size, 1),)
    if isinstance(max_steps, (list, tuple, range)):
        if not max_steps:
            raise ValueError(
                "solve: max_steps must be a number of steps or a sequence of numbers, got an empty sequence"
            )
        return tuple([checks.integer("solve", "max_steps", each, minimum=0) for each in max_steps])
    return (checks.integer("solve", "max_steps", max_steps, minimum=0),)


def basis_of(nullspace: Any, problem: LinearProblem) -> Array | None:
    """Return orthonormal vectors, (k, n), that span the given null space.

    Raises:
        TypeError: Neither "constant" nor a vector like `b` nor a list of vectors.
        ValueError: A vector with another shape than `b`, or an unknown string.
    """
    if nullspace is None:
        return None
    xp, size = array_namespace(problem.b), problem.b.shape[-1]
    if isinstance(nullspace, str):
        checks.choice("solve", "nullspace", nullspace, ("constant",))
        value = 1.0 / max(size, 1) ** 0.5
        return xp.full((1, size), value, dtype=problem.b.dtype, device=checks.device_of(problem.b))
    vectors: Sequence[Any] = nullspace if isinstance(nullspace, list) else [nullspace]
    space = Vectors(problem.columns.tree(problem.b), problem.columns.shapes, (), problem.columns.dtype)
    rows = [
        space.flat("solve: nullspace must be 'constant', or a vector or a list of vectors without batch, each", each)
        for each in vectors
    ]
    return xp.stack(_orthonormal(rows))


def _orthonormal(vectors: Sequence[Array]) -> list[Array]:
    """Orthonormalize vectors one after the other; return zeros for dependent and zero vectors."""
    xp, found = array_namespace(vectors[0]), list[Array]()
    for vector in vectors:
        least = norm(vector) * (100 * float(xp.finfo(vector.dtype).eps))
        for each in found * 2:  # twice, to reduce rounding errors
            vector = vector - xp.astype(xp.vecdot(each, vector), vector.dtype)[..., None] * each
        size = norm(vector)
        is_new = (size > least) | ~xp.isfinite(size)
        scale = xp.where(is_new & (size > 0), size, xp.ones_like(size))
        weight = xp.astype(is_new, size.dtype) / scale
        found.append(vector * xp.astype(weight, vector.dtype)[..., None])
    return found


def _spread(x: Array, shape: tuple[int, ...]) -> Array:
    return x if tuple(x.shape) == shape else array_namespace(x).broadcast_to(x, shape)


def is_square(problem: LinearProblem) -> bool:
    """Return whether there are as many rows as columns."""
    return problem.rows.size == problem.columns.size
