"""Functions that order, add, merge, split, join, select and multiply axes by name.

Source: Haliax's functions of the same names.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from xpand.extend import DType

from . import _index as _index, _products as _products, _rearrange as _rearrange, _shapes as _shapes
from ._array import NamedArray
from ._axis import Axis, AxisSelector, AxisSpec
from ._calls import call

__all__ = [
    "broadcast_axis",
    "broadcast_to",
    "concatenate",
    "dot",
    "einsum",
    "flatten",
    "flatten_axes",
    "index",
    "ravel",
    "rearrange",
    "rename",
    "slice",
    "split",
    "stack",
    "take",
    "unbind",
    "unflatten_axis",
    "updated_slice",
]


def rename(array: NamedArray, renames: Mapping[Any, AxisSelector]) -> NamedArray:
    """Rename axes, from the keys of a dictionary to its values.

    Raises:
        ValueError: There is no such axis, a name would be there twice, or an `Axis` has another size.

    >>> import numpy as np
    >>> rename(NamedArray(np.zeros((2, 3)), ("a", "b")), {"a": "c"}).shape
    {'c': 2, 'b': 3}
    """
    return call.rename(array, renames)


def broadcast_to(a: Any, axes: AxisSpec, ensure_order: bool = True, enforce_no_extra_axes: bool = True) -> NamedArray:
    """Repeat an array, or a number, so that it has certain axes.

    Args:
        a: A named array or a number.
        axes: The axes of the result, with sizes.
        ensure_order: Whether the axes of the result have that order. Otherwise those of the array keep theirs, with the
            new ones in front.
        enforce_no_extra_axes: Whether axes of the array that `axes` lacks are an error. Otherwise they come first.

    Raises:
        ValueError: Extra axes, or an axis of another size.

    >>> import numpy as np
    >>> broadcast_to(NamedArray(np.zeros(3), "b"), {"a": 2, "b": 3}).shape
    {'a': 2, 'b': 3}
    """
    return call.broadcast_to(a, axes, ensure_order, enforce_no_extra_axes)


def broadcast_axis(a: NamedArray, axis: AxisSpec) -> NamedArray:
    """Add the axes that an array lacks, as `broadcast_to` does without extra axes being an error."""
    return call.broadcast_axis(a, axis)


def concatenate(axis: AxisSelector, arrays: Sequence[NamedArray]) -> NamedArray:
    """Join arrays along an axis that all have. Their other axes are brought into the order of the first.

    Raises:
        ValueError: No array, different axes, or a size that isn't the sum of the arrays'.

    >>> import numpy as np
    >>> x = NamedArray(np.zeros((2, 3)), ("a", "b"))
    >>> concatenate("a", [x, x.rearrange(("b", "a"))]).shape
    {'a': 4, 'b': 3}
    """
    return call.concatenate(axis, arrays)


def stack(axis: AxisSelector, arrays: Sequence[NamedArray]) -> NamedArray:
    """Join arrays along a new axis, which is the first of the result.

    Raises:
        ValueError: No array, different axes, or an `Axis` whose size isn't the number of arrays.

    >>> import numpy as np
    >>> stack("s", [NamedArray(np.zeros(3), "a")] * 2).shape
    {'s': 2, 'a': 3}
    """
    return call.stack(axis, arrays)


def split(a: NamedArray, axis: AxisSelector, new_axes: Sequence[Axis]) -> list[NamedArray]:
    """Cut an array along an axis into parts, each with one of the new axes in its place.

    Raises:
        ValueError: The sizes of the new axes don't add up to that of the axis.

    >>> import numpy as np
    >>> [x.shape for x in split(NamedArray(np.zeros(3), "a"), "a", [Axis("b", 1), Axis("c", 2)])]
    [{'b': 1}, {'c': 2}]
    """
    return call.split(a, axis, new_axes)


def unbind(array: NamedArray, axis: AxisSelector) -> list[NamedArray]:
    """Return the parts of an array at each position along an axis, without that axis."""
    return call.unbind(array, axis)


def flatten_axes(array: Any, old_axes: Any, new_axis: AxisSelector | None = None) -> Any:
    """Merge axes into one, which takes the place of the first of them in the array.

    Args:
        array: A named array; or axes with sizes, for which the result is such axes.
        old_axes: The axes to merge, the last of which varies fastest. It may be omitted for a specification of axes
            all of which are merged.
        new_axis: The new axis.

    Raises:
        ValueError: There is no such axis, or the new axis has another size than the merged ones together.

    >>> import numpy as np
    >>> x = NamedArray(np.zeros((2, 3, 4)), ("a", "b", "c"))
    >>> flatten_axes(x, ("a", "b"), "d").shape
    {'d': 6, 'c': 4}
    >>> flatten_axes(x.axes, "e")
    Axis(name='e', size=24)
    """
    return call.flatten_axes(array, old_axes, new_axis)


def unflatten_axis(array: NamedArray, axis: AxisSelector, new_axes: AxisSpec) -> NamedArray:
    """Make several axes of one, the last of which varies fastest.

    Raises:
        ValueError: The sizes of the new axes don't multiply to that of the axis.

    >>> import numpy as np
    >>> unflatten_axis(NamedArray(np.zeros(6), "a"), "a", {"b": 2, "c": 3}).shape
    {'b': 2, 'c': 3}
    """
    return call.unflatten_axis(array, axis, new_axes)


def ravel(array: NamedArray, new_axis_name: AxisSelector) -> NamedArray:
    """Merge all axes into one."""
    return call.ravel(array, new_axis_name)


def flatten(array: NamedArray, new_axis_name: AxisSelector) -> NamedArray:
    """Merge all axes into one, as `ravel` does."""
    return call.ravel(array, new_axis_name)


def rearrange(array: NamedArray, *args: Any, **bindings: AxisSelector | int) -> NamedArray:
    """Order, merge and split axes.

    Args:
        array: A named array.
        *args: A sequence of axes, where `...` stands for the rest; or a string. One that starts with a brace finds
            axes by name, and may omit some, `"{H W} -> ... W H"`; any other lists all axes in their order,
            `"B H W -> B (E: H W)"`. `(E: H W)` is one axis `E` for two: before the arrow it is split, after it the two
            are merged.
        **bindings: For names in the string: sizes of the parts of axes that are split, names of axes, or both as
            `Axis`.

    Returns:
        The array, by at most two reshapes and a transpose: none where it isn't needed.

    Raises:
        TypeError: Something else than a string or a sequence of axes.
        ValueError: An unknown, missing or repeated axis, sizes that don't fit, a string that can't be read.

    >>> import numpy as np
    >>> x = NamedArray(np.zeros((8, 4, 6)), ("B", "H", "W"))
    >>> rearrange(x, ("W", ..., "B")).shape
    {'W': 6, 'H': 4, 'B': 8}
    >>> rearrange(x, "{B (H: h1 H) (W: w1 W)} -> (B: B h1 w1) ... H W", H=2, W=3).shape
    {'B': 32, 'H': 2, 'W': 3}
    """
    return call.rearrange(array, *args, **bindings)


def index(array: NamedArray, slices: Mapping[Any, Any]) -> NamedArray:
    """Select along axes, as `array[slices]` does.

    Args:
        array: A named array.
        slices: For each axis an integer, which removes it; a slice, or a `dslice`; a named array of integers, whose
            axes take its place; a list or an array of integers with one axis, which keeps its name; or a mask of one
            axis.

    Axes of indices that the array has, too, run along: `x[{"token": best}]` with `best` over "batch" selects a token
    for each batch element. The new axes take the place of the first axis that they select from.

    Raises:
        TypeError: An index that is none.
        ValueError: There is no such axis, or one would be there twice.
        IndexError: A position out of bounds, where it is known.

    >>> import numpy as np
    >>> x = NamedArray(np.asarray([[1, 2, 3], [4, 5, 6]]), ("a", "b"))
    >>> index(x, {"a": 0, "b": [1, 2]})
    NamedArray({'b': 2}, array([2, 3]))
    >>> x["b", NamedArray(np.asarray([2, 0]), "a")]
    NamedArray({'a': 2}, array([3, 4]))
    """
    return call.index(array, slices)


def slice(array: NamedArray, *args: Any, **kwargs: Any) -> NamedArray:
    """Cut out a part: `slice(array, axis, new_axis=None, start=0, length=None)` or `slice(array, start, length)`.

    The second form has dictionaries from axes to starts, and to lengths or new axes. Starts may be arrays without axes,
    also traced ones.

    Raises:
        ValueError: There is no such axis, or a length is missing that is needed.
        IndexError: The part doesn't lie within the array.

    >>> import numpy as np
    >>> x = NamedArray(np.asarray([1, 2, 3, 4]), "a")
    >>> slice(x, "a", "b", start=1, length=2)
    NamedArray({'b': 2}, array([2, 3]))
    """
    return call.slice(array, *args, **kwargs)


def updated_slice(array: NamedArray, start: Mapping[Any, Any], update: NamedArray) -> NamedArray:
    """Return an array in which a part has been replaced.

    Args:
        array: A named array.
        start: Where the part starts along axes, 0 along others: integers, or arrays, named or not.
        update: The new part, whose sizes are those of the part.

    >>> import numpy as np
    >>> x = NamedArray(np.asarray([1, 2, 3, 4]), "a")
    >>> updated_slice(x, {"a": 1}, NamedArray(np.asarray([7, 8]), "a"))
    NamedArray({'a': 4}, array([1, 7, 8, 4]))
    """
    return call.updated_slice(array, start, update)


def take(array: NamedArray, axis: AxisSelector, index: Any) -> NamedArray:
    """Select along an axis, by an integer or by an array, whose axes take its place: see `index`."""
    return call.take(array, axis, index)


def dot(
    *arrays: Any,
    precision: Any = None,
    preferred_element_type: DType | None = None,
    out_axes: Any = None,
    dot_general: Callable[..., Any] | None = None,
    **kwargs: Any,
) -> NamedArray:
    """Multiply arrays and sum over axes; the other axes that they share run along.

    Args:
        *arrays: Named arrays.
        precision: The precision of the products of matrices, as `precision.matmul_precision` takes it.
        preferred_element_type: The data type in which to multiply and sum, and of the result.
        out_axes: The order of the result's axes, where `...` stands for those not listed. By default they have the
            order in which they come in the arrays.
        dot_general: A function with the signature of `jax.lax.dot_general`, to use for the products of two arrays, on
            any library.
        **kwargs: `axis`, the axes to sum over, which at least one array must have; None: all; `()`: none. It may also
            be the first argument.

    Raises:
        TypeError: No array, or one without names; `axis` is missing.
        ValueError: No array has the axis, or two have it with different sizes.

    >>> import numpy as np
    >>> x, y = NamedArray(np.ones((2, 3)), ("a", "b")), NamedArray(np.ones((3, 4)), ("b", "c"))
    >>> dot(x, y, axis="b").shape, dot(x, y, axis="b", out_axes=("c", ...)).shape
    ({'a': 2, 'c': 4}, {'c': 4, 'a': 2})
    """
    return call.dot(
        *arrays,
        precision=precision,
        preferred_element_type=preferred_element_type,
        out_axes=out_axes,
        dot_general=dot_general,
        **kwargs,
    )


def einsum(
    equation: str,
    /,
    *arrays: NamedArray,
    precision: Any = None,
    preferred_element_type: DType | None = None,
    _dot_general: Callable[..., Any] | None = None,
    **axis_aliases: AxisSelector,
) -> NamedArray:
    """Sum products of arrays, as Einstein's notation with names says.

    Args:
        equation: One of three forms. `"h w d, d w h -> h w"` lists the axes of each array in order.
            `"{H W D} -> H W"` finds axes by name: those in braces that the result lacks are summed over, all others
            remain. `"-> H W"` sums over all axes but these. `...` stands for the axes not listed; without it they come
            first.
        *arrays: Named arrays.
        precision: As for `dot`.
        preferred_element_type: As for `dot`.
        _dot_general: As for `dot`.
        **axis_aliases: The axes that names in the equation stand for.

    Raises:
        TypeError: No array, or one without names.
        ValueError: An equation that can't be read or doesn't fit the arrays.

    >>> import numpy as np
    >>> x, y = NamedArray(np.ones((2, 3)), ("a", "b")), NamedArray(np.ones((3, 4)), ("b", "c"))
    >>> einsum("i j, j k -> k i", x, y).shape, einsum("{b} -> ", x, y).shape, einsum("-> c", x, y).shape
    ({'c': 4, 'a': 2}, {'a': 2, 'c': 4}, {'c': 4})
    """
    return call.einsum(
        equation,
        *arrays,
        precision=precision,
        preferred_element_type=preferred_element_type,
        _dot_general=_dot_general,
        **axis_aliases,
    )
