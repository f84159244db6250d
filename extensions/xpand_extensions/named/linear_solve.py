"""Linear systems of named arrays.

A matrix has two named axes, `axes=("row", "column")`, or is a container of `xpand.sparse`, whose axes `axes`
names. The solution has the column axis in place of the row axis of the right-hand side. All other axes of both are
mapped over. Options, methods and errors are those of the functions of the same names in
`xpand.linear_solve`.

>>> import numpy as np
>>> from xpand import named as hax
>>> a = hax.named(np.asarray([[4.0, 1.0], [1.0, 3.0]]), ("i", "j"))
>>> b = hax.named(np.asarray([[1.0, 2.0], [0.0, 0.0], [4.0, 1.0]]), ("place", "i"))
>>> hax.linear_solve.solve(a, b, axes=("i", "j")).x.array.round(3)
array([[0.091, 0.636],
       [0.   , 0.   ],
       [1.   , 0.   ]])
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from xpand import trees

from .. import linear_solve as _linear_solve
from . import _axis
from ._array import NamedArray, check_rank, interned, make, no_axis
from ._axis import AxisSelection, AxisSelector
from ._plans import check_named, rest_of, selected, step, stepped
from ._shapes import permuted, reordered
from .optimize import _like, _starting

__all__ = ["direct_solve", "lstsq", "solve", "solve_triangular"]
__dir__ = __all__.copy

Axes = Sequence[AxisSelector]


def solve(
    a: Any, b: trees.Tree, *, axes: Axes | None = None, batch: AxisSelection = (), x0: trees.Tree = None, **options: Any
) -> _linear_solve.SolveResult:
    """Solve the linear system `a x = b`: see `xpand.linear_solve.solve`.

    Args:
        a: Matrices: a named array or a sparse container, with `axes`; or a linear function of a tree of named arrays.
        b: The right-hand sides, with the row axis; for functions, a tree of named arrays.
        axes: The row and the column axis of the matrices. For a sparse container: all its axes, these two as the last.
        batch: For functions: the axes of independent systems.
        x0: The initial guess of an iteration, with the axes of the solution.
        **options: Options of the positional function, such as `method` and `rtol`.

    Returns:
        A `SolveResult` in which `x` and `residual` are named. The other fields are arrays without names; their axes are
        those of the systems, in the order of `x`.

    Raises:
        ValueError: An array lacks an axis, or sizes differ.
        ConvergenceError: A system has not converged, and `throw` is true.
    """
    if axes is None:
        b, names = _starting("solve", b, batch)
        x0 = _starting("solve", x0, names)[0]
        a = _like("solve", a, b, "a") if callable(a) else a
        return _linear_solve.solve(a, b, x0=x0, batch_ndim=len(names), **options)
    system = _system("solve", a, b, axes)
    if isinstance(x0, NamedArray):
        x0 = reordered("solve", x0, system.x, "x0 must have").array
    found = _linear_solve.solve(system.matrix, system.b, axis=-1, x0=x0, **options)
    return found._replace(x=make(found.x, system.x), residual=make(found.residual, system.residual))


def direct_solve(a: Any, b: NamedArray, *, axes: Axes, **options: Any) -> NamedArray:
    """Solve linear systems by factorization: see `xpand.linear_solve.direct_solve`."""
    return _direct(_linear_solve.direct_solve, a, b, axes, options)


def solve_triangular(a: Any, b: NamedArray, *, axes: Axes, **options: Any) -> NamedArray:
    """Solve linear systems with triangular matrices: see `xpand.linear_solve.solve_triangular`."""
    return _direct(_linear_solve.solve_triangular, a, b, axes, options)


def lstsq(a: NamedArray, b: NamedArray, *, axes: Axes, rtol: float | None = None) -> _linear_solve.LstsqResult:
    """Minimize the sum of squares of `a x - b`: see `xpand.linear_solve.lstsq`.

    Returns:
        A `LstsqResult` of named arrays. The singular values lie along the axis "singular_value".

    >>> import numpy as np
    >>> from xpand import named as hax
    >>> a = hax.named(np.asarray([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]]), ("time", "term"))
    >>> lstsq(a, hax.named(np.asarray([1.0, 3.0, 5.0]), "time"), axes=("time", "term")).x.array.round(6)
    array([1., 2.])
    """
    check_named("lstsq", "a", a)
    system = _system("lstsq", a, b, axes)
    found: Any = _linear_solve.lstsq(system.matrix, system.b, axis=-1, rtol=rtol)
    batch = interned(system.x[:-1])
    return found._replace(
        x=make(found.x, system.x),
        residuals=make(found.residuals, batch),
        rank=make(found.rank, batch),
        singular_values=make(found.singular_values, interned((*batch, "singular_value"))),
    )


class _System(NamedTuple):
    """Matrices and right-hand sides by position."""

    matrix: Any
    b: Any
    x: tuple[str, ...]
    residual: tuple[str, ...]


def _direct(positional: Callable[..., Any], a: Any, b: NamedArray, axes: Axes, options: dict[str, Any]) -> NamedArray:
    system = _system(positional.__name__, a, b, axes)
    return make(positional(system.matrix, system.b, axis=-1, **options), system.x)


def _system(function: str, a: Any, b: NamedArray, axes: Axes) -> _System:
    check_named(function, "b", b)
    matrix, stack, row, column = matrices(function, a, axes)
    if row not in b.names:
        raise no_axis(function, b, row)
    for name, size in zip((*stack, row), matrix.shape):
        if name in b.names and b.shape[name] != size:
            raise ValueError(f"{function}: axis {name!r} has size {size} in the matrices and {b.shape[name]} in b")
    # The axes of the matrices come last, so that the matrices need no new axes.
    batch = (*rest_of(b.names, (*stack, row)), *stack)
    way = step(b.names, (*batch, row), pad=True)
    result = interned((*batch, column))
    _axis.different(function, result)
    return _System(matrix, b.array if way is None else stepped(b.array, way), result, interned((*batch, row)))


def matrices(function: str, a: Any, axes: Axes) -> tuple[Any, tuple[str, ...], str, str]:
    """Return matrices without names, the names of their other axes, and those of the row and the column axis."""
    if isinstance(a, NamedArray):
        check_rank(function, a)
        names = selected(function, a, axes)
        a = permuted(a, (*rest_of(a.names, names), *names))
        names, a = a.names, a.array
        count = 2 if len(axes) == 2 else 0
    else:
        names = tuple([name for name, _ in _axis.pairs(function, axes)])
        _axis.different(function, names)
        count = len(names) if len(getattr(a, "shape", ())) == len(names) else 0
    if count < 2:
        raise ValueError(
            f"{function}: axes must be the row and the column axis of a NamedArray, or all axes of a sparse container, "
            f"got {axes!r}"
        )
    return a, names[:-2], names[-2], names[-1]
