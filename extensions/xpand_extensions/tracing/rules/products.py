"""Rules of products of matrices and tensors.

The transpose of a product is a product with the other factor, without conjugation.
"""

from collections.abc import Sequence
from string import ascii_lowercase
from typing import Any, Final

from ... import linalg as linalg  # has `dot_general`
from ..._dispatch import for_library
from ...extend._derivatives import LINEAR
from ._derived import Axes, dtype_of_result, lengthened


def is_complex(xp: Any, x: Any) -> bool:
    """Return whether an array is complex."""
    return bool(xp.isdtype(x.dtype, "complex floating"))


def conjugate(xp: Any, x: Any) -> Any:
    """Conjugate complex arrays; return real ones unchanged."""
    return xp.conj(x) if is_complex(xp, x) else x


def device_of(*arrays: Any) -> Any:
    """Return the device of the first concrete or abstract array that has one."""
    return next((x.device for x in arrays if getattr(x, "device", None) is not None), None)


def zeros_of(xp: Any, like: Any, x: Any) -> Any:
    """Make zeros with the shape of `x` and the data type of another array."""
    return xp.zeros(tuple(x.shape), dtype=like.dtype, device=device_of(x))


# matmul


def _matmul_first(xp: Any, ct: Any, x1: Any, x2: Any) -> Any:
    if x2.ndim == 1:
        return ct[..., None] * x2
    if x1.ndim == 1:
        if x2.ndim == 2:
            return xp.matmul(x2, ct)
        return xp.matmul(x2, ct[..., None])[..., 0]
    if x1.ndim == 2 and x2.ndim > 2:
        others = (*range(x2.ndim - 2), x2.ndim - 1)
        return xp.tensordot(ct, x2, axes=(others, others))
    return xp.matmul(ct, xp.matrix_transpose(x2))


def _matmul_second(xp: Any, ct: Any, x1: Any, x2: Any) -> Any:
    if x1.ndim == 1:
        return x1 * ct if x2.ndim == 1 else x1[:, None] * ct[..., None, :]
    if x2.ndim == 1 or (x2.ndim == 2 and x1.ndim > 2):
        rows = tuple(range(x1.ndim - 1))
        return xp.tensordot(x1, ct, axes=(rows, rows))
    return xp.matmul(xp.matrix_transpose(x1), ct)


def _matmul_lanes(xp: Any, mapped: tuple[bool, ...], x1: Any, x2: Any) -> Any:
    (is_mapped1, is_mapped2), ndim1, ndim2 = mapped, x1.ndim - mapped[0], x2.ndim - mapped[1]
    if not is_mapped2 and (ndim1 == 1 or ndim2 == 1) and ndim2 <= 2:
        return xp.matmul(x1, x2)  # the vectors become the rows of one matrix
    if not is_mapped1 and ndim2 == 1 and ndim1 <= 2:
        return xp.matmul(x2, x1 if ndim1 == 1 else xp.matrix_transpose(x1))
    if ndim1 == 1:
        x1 = x1[..., None, :]
    if ndim2 == 1:
        x2 = x2[..., None]
    ndim = max(ndim1, ndim2, 2)
    out = xp.matmul(lengthened(xp, x1, is_mapped1, ndim), lengthened(xp, x2, is_mapped2, ndim))
    if ndim2 == 1:
        out = out[..., 0]
    if ndim1 == 1:
        out = out[..., 0] if ndim2 == 1 else out[..., 0, :]
    return out


def _product_dtype(namespace: Any, avals: Any, params: Any) -> Any:
    return dtype_of_result(namespace, "multiply", tuple(avals), {})


# tensordot


def _summed(axes: Any, ndim1: int, ndim2: int) -> tuple[list[int], list[int]]:
    """List the axes to sum over, counted from the front."""
    if isinstance(axes, int):
        return list(range(ndim1 - axes, ndim1)), list(range(axes))
    first, second = ([x] if isinstance(x, int) else list(x) for x in axes)
    return [axis % ndim1 for axis in first], [axis % ndim2 for axis in second]


def _free(ndim: int, summed: Sequence[int]) -> list[int]:
    return [axis for axis in range(ndim) if axis not in summed]


def _tensordot_first(xp: Any, ct: Any, x1: Any, x2: Any, axes: Any = 2) -> Any:
    summed1, summed2 = _summed(axes, x1.ndim, x2.ndim)
    free1, free2 = _free(x1.ndim, summed1), _free(x2.ndim, summed2)
    found = xp.tensordot(ct, x2, axes=(tuple(range(len(free1), ct.ndim)), tuple(free2)))
    # The last axes are those summed over, in the order of the other array.
    return _ordered(xp, found, [*free1, *(summed1[summed2.index(axis)] for axis in sorted(summed2))])


def _tensordot_second(xp: Any, ct: Any, x1: Any, x2: Any, axes: Any = 2) -> Any:
    summed1, summed2 = _summed(axes, x1.ndim, x2.ndim)
    free1, free2 = _free(x1.ndim, summed1), _free(x2.ndim, summed2)
    found = xp.tensordot(x1, ct, axes=(tuple(free1), tuple(range(len(free1)))))
    return _ordered(xp, found, [*(summed2[summed1.index(axis)] for axis in sorted(summed1)), *free2])


def _ordered(xp: Any, x: Any, positions: list[int]) -> Any:
    """Move each axis to its position."""
    order = tuple(positions.index(axis) for axis in range(len(positions)))
    return x if order == tuple(range(len(order))) else xp.permute_dims(x, order)


def _tensordot_lanes(xp: Any, mapped: tuple[bool, ...], x1: Any, x2: Any, axes: Any = 2) -> Any:
    is_mapped1, is_mapped2 = mapped
    summed1, summed2 = _summed(axes, x1.ndim - is_mapped1, x2.ndim - is_mapped2)
    axes1, axes2 = [axis + is_mapped1 for axis in summed1], [axis + is_mapped2 for axis in summed2]
    if is_mapped1 and is_mapped2:
        return for_library("linalg.dot_general")(x1, x2, axes=(axes1, axes2), batch_axes=((0,), (0,)))
    out = xp.tensordot(x1, x2, axes=(tuple(axes1), tuple(axes2)))
    return out if is_mapped1 else xp.moveaxis(out, x1.ndim - len(axes1), 0)


# Products of vectors


def _vecdot_first(xp: Any, ct: Any, x1: Any, x2: Any, axis: int = -1) -> Any:
    found = xp.expand_dims(ct, axis=axis) * x2
    return conjugate(xp, found) if is_complex(xp, x1) else found


DERIVATIVES: Final[dict[str, Any]] = dict.fromkeys(
    ["linalg.cross", "linalg.outer", "matmul", "tensordot", "vecdot"], (LINEAR, LINEAR)
)

TRANSPOSES: Final[dict[str, Any]] = {
    "linalg.cross": (
        lambda xp, ct, x1, x2, axis=-1: xp.linalg.cross(*xp.broadcast_arrays(x2, ct), axis=axis),
        lambda xp, ct, x1, x2, axis=-1: xp.linalg.cross(*xp.broadcast_arrays(ct, x1), axis=axis),
    ),
    "linalg.outer": (lambda xp, ct, x1, x2: xp.matmul(ct, x2), lambda xp, ct, x1, x2: xp.matmul(x1, ct)),
    "matmul": (_matmul_first, _matmul_second),
    "tensordot": (_tensordot_first, _tensordot_second),
    "vecdot": (_vecdot_first, lambda xp, ct, x1, x2, axis=-1: xp.expand_dims(ct, axis=axis) * conjugate(xp, x1)),
}

# `outer` takes vectors only, no stacks of them. In `matmul`, vectors of a batch become the rows of one matrix: one
# product instead of many. `tensordot` names axes by number for each array, and two batches need a product with a batch.
BATCHING: Final[dict[str, Any]] = {
    "linalg.outer": lambda xp, mapped, x1, x2: x1[..., :, None] * x2[..., None, :],
    "matmul": _matmul_lanes,
    "tensordot": _tensordot_lanes,
}


def _matmul(ndims: Sequence[int]) -> str:
    if 0 in ndims:
        raise ValueError("matmul: takes arrays of at least one axis, got a number")
    i, k = ("i" if ndims[0] > 1 else ""), ("k" if ndims[1] > 1 else "")
    return f"...{i}j,...j{k}->...{i}{k}"


def _tensordot(ndims: Sequence[int], axes: Any = 2) -> str:
    summed1, summed2 = _summed(axes, *ndims)
    first, second = list(ascii_lowercase[: ndims[0]]), list(ascii_lowercase[ndims[0] : sum(ndims)])
    for i, j in zip(summed1, summed2):
        second[j] = first[i]
    free = [first[i] for i in _free(ndims[0], summed1)] + [second[j] for j in _free(ndims[1], summed2)]
    return f"{''.join(first)},{''.join(second)}->{''.join(free)}"


def _three(lengths: Any, axis: int = -1) -> None:
    if lengths["axis"] != (3,):
        raise ValueError(f"cross: vectors have three elements, got {lengths['axis'][0]} along axis {axis}")


AXES: Final[dict[str, Axes]] = {
    "linalg.cross": Axes(
        "...[(axis=-1)],...[(axis=-1)]->...[(axis)]", dtype=_product_dtype, check=_three, same_shape=True
    ),
    "linalg.outer": Axes("i,j->ij", dtype=_product_dtype),
    "matmul": Axes(_matmul, dtype=_product_dtype),
    "tensordot": Axes(_tensordot, dtype=_product_dtype),
    "vecdot": Axes("...(axis=-1),...(axis=-1)->...", dtype=_product_dtype),
}
