"""Interpolation on regular grids of any number of dimensions, and of functions of one variable.

Both interpolate linearly between neighbours, and are differentiable in values and positions.
"""

from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from xpand.extend import Array, Scalar, checks

from ._dispatch import pluggable
from ._elsewhere import arguments_elsewhere, elsewhere

__all__ = ["Extrapolation", "grid_sample", "interp"]
__dir__ = __all__.copy

if not TYPE_CHECKING:  # type checkers would accept any name
    __getattr__ = elsewhere(__name__)

Extrapolation: TypeAlias = Literal["undefined", "zeros", "boundary", "periodic", "symmetric", "reflect"]
"""The rule for values outside of a grid."""

_EXTRAPOLATIONS: Final = (None, "undefined", "zeros", "boundary", "periodic", "symmetric", "reflect")


@pluggable
def grid_sample(grid: Array, coordinates: Array, /, *, extrapolation: Extrapolation | None = "undefined") -> Array:
    """Sample a regular grid at given positions, linearly between its points.

    Args:
        grid: Values of shape `(batch, *spatial, channel)`, of a real or complex floating-point data type.
        coordinates: Positions, in steps of the grid: of shape `(batch, *points, d)` for `d` spatial axes, of a real
            floating-point data type. The first point of an axis lies at 0, the last one of `n` at `n - 1`. A batch of
            size 1 broadcasts.
        extrapolation: The values outside. For an axis with the points `abc`: "boundary": `aaa abc ccc`; "zeros":
            `000 abc 000`, so that values fall to 0 over one step; "periodic": `abc abc abc`; "symmetric":
            `cba abc cba`; "reflect": `bcb abc bab`. "undefined" and None leave the choice to the implementation, which
            takes "boundary".

    Returns:
        An array of shape `(batch, *points, channel)`, of the promoted data type. It is NaN where a coordinate is NaN,
        or infinite, unless "boundary" or "zeros" treats that as far outside. Neighbours are multiplied by their weights
        even if these are 0, so a neighbour that isn't finite makes NaN.

    Raises:
        TypeError: Not two arrays of one library, or data types that aren't floating-point.
        ValueError: Shapes that don't fit together, a grid without points, an unknown extrapolation, arrays on two
            devices.

    Takes `2 ** d` look-ups in the grid for each position.

    Source: `grid_sample` of PhiML; `scipy.ndimage.map_coordinates` of order 1 with the modes "nearest",
    "grid-constant", "grid-wrap", "reflect" and "mirror".

    >>> import numpy as np
    >>> grid = np.asarray([[[0.0], [10.0], [30.0]]])
    >>> positions = np.asarray([[[0.5], [1.5], [2.5]]])
    >>> grid_sample(grid, positions, extrapolation="zeros")[0, :, 0]
    array([ 5., 20., 15.])
    >>> grid_sample(grid, positions, extrapolation="periodic")[0, :, 0]
    array([ 5., 20., 15.])
    """
    implementation, extrapolation = grid_sample.planned(_check_grid_sample, (grid, coordinates), extrapolation)
    return implementation(grid, coordinates, extrapolation=extrapolation)


@arguments_elsewhere()
@pluggable
def interp(
    x: Array,
    points: Array,
    values: Array,
    /,
    *,
    left: Scalar | None = None,
    right: Scalar | None = None,
    period: float | None = None,
) -> Array:
    """Interpolate functions of one variable linearly between increasing points.

    Args:
        x: The points at which to evaluate: any shape, a real floating-point data type.
        points: The points with given values: of shape `(n,)`, or `(*batch, n)` for other points of each function, with
            `n` at least 1; increasing unless `period` is given. The order isn't checked. Equal neighbours make a jump;
            the value at the jump is that on its right.
        values: The values at `points`: of shape `(*batch, n)`, a real or complex floating-point data type. The batches
            of points and values broadcast.
        left: The value below the first point; None: the value at the first point.
        right: The value above the last point; None: the value at the last point.
        period: The period of the functions. If given, `points` may have any order, and `left` and `right` are ignored.

    Returns:
        An array of shape `(*batch, *x.shape)`, of the promoted data type of all arrays. NaN where `x` is NaN.

    Raises:
        TypeError: Not three arrays of one library; data types that aren't floating-point; `left`, `right` or `period`
            that isn't a number, or is complex and may not be.
        ValueError: Shapes that don't fit together, no points, a period that isn't positive, arrays on two devices.

    Takes time in proportion to the size of the result, plus a binary search for each element of `x`.

    Source: `numpy.interp`.

    >>> import numpy as np
    >>> points, values = np.asarray([0.0, 1.0, 3.0]), np.asarray([10.0, 20.0, 40.0])
    >>> interp(np.asarray([-1.0, 0.5, 2.0]), points, values, left=0.0)
    array([ 0., 15., 30.])
    """
    (implementation,) = interp.planned(_check_interp, (x, points, values), left, right, period)
    return implementation(x, points, values, left=left, right=right, period=period)


def _check_grid_sample(function: str, grid: Array, coordinates: Array, extrapolation: Any) -> tuple[Any]:
    xp = checks.together(function, grid=grid, coordinates=coordinates)
    checks.dtype(function, "grid", xp, grid, checks.FLOATING)
    checks.dtype(function, "coordinates", xp, coordinates, checks.REAL)
    checks.choice(function, "extrapolation", extrapolation, _EXTRAPOLATIONS)
    shape = checks.known_shape(function, "grid", grid)
    positions = checks.known_shape(function, "coordinates", coordinates)
    if len(shape) < 2:
        raise ValueError(f"{function}: grid must have the axes (batch, *spatial, channel), got the shape {shape}")
    if len(positions) < 2 or positions[-1] != len(shape) - 2:
        raise ValueError(
            f"{function}: coordinates must have the axes (batch, *points, {len(shape) - 2}), the last one for the "
            f"spatial axes of the grid of shape {shape}; got the shape {positions}"
        )
    if shape[0] != positions[0] and 1 not in (shape[0], positions[0]):
        raise ValueError(
            f"{function}: grid and coordinates must have batches of one size, or one of 1, got {shape[0]} and "
            f"{positions[0]}"
        )
    if 0 in shape[1:-1]:
        raise ValueError(f"{function}: grid must have points along each spatial axis, got the shape {shape}")
    return ("boundary" if extrapolation in (None, "undefined") else extrapolation,)


def _check_interp(
    function: str, x: Array, points: Array, values: Array, left: Any, right: Any, period: Any
) -> tuple[()]:
    arrays = {"x": x, "points": points, "values": values}
    xp = checks.together(function, **arrays)
    checks.dtype(function, "x", xp, x, checks.REAL)
    checks.dtype(function, "points", xp, points, checks.REAL)
    checks.dtype(function, "values", xp, values, checks.FLOATING)
    for name, option in (("left", left), ("right", right)):
        if option is not None:
            _number(function, name, option, complex if xp.isdtype(values.dtype, "complex floating") else float)
    if period is not None:
        _number(function, "period", period, float)
        if not 0 < period < float("inf"):
            raise ValueError(f"{function}: period must be positive and finite, got {period}")
    shape = checks.known_shape(function, "points", points)
    checks.known_shape(function, "x", x)
    given = checks.known_shape(function, "values", values)
    if not shape or not shape[-1]:
        raise ValueError(f"{function}: points must have the shape (*batch, n), with n at least 1, got {shape}")
    if given[-1:] != shape[-1:]:
        raise ValueError(
            f"{function}: values must have the shape (*batch, {shape[-1]}), one value for each of the points; got "
            f"{given}"
        )
    checks.broadcast_shapes(function, points=shape, values=given)
    return ()


def _number(function: str, name: str, value: Any, widest: type) -> None:
    takes: tuple[type, ...] = (int, float) if widest is float else (int, float, complex)
    if isinstance(value, bool) or not isinstance(value, takes):
        names = " or ".join(kind.__name__ for kind in takes)
        raise TypeError(f"{function}: {name} must be {names}, or None, got {value!r}; numbers of arrays: `float(x)`")
