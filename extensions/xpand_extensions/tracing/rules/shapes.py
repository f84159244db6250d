"""Rules of functions that reshape or join arrays."""

import math
from collections.abc import Sequence
from string import ascii_lowercase
from typing import Any, Final

from xpand import is_concrete
from xpand.extend import device_of

from ..._bounds import index_dtype
from ...extend._derivatives import LINEAR, Each
from .._core import Aval, TracedArray
from .._fit import broadcast
from ._derived import Axes, axes_of, axis_of, flattened, lengthened, promoted, same, sizes_of

# Operations in terms of others


def _broadcast_arrays(xp: Any, *arrays: Any) -> tuple[Any, ...]:
    shape = broadcast(*(x.shape for x in arrays))
    return tuple([x if tuple(x.shape) == shape else xp.broadcast_to(x, shape) for x in arrays])


def _meshgrid(xp: Any, *arrays: Any, indexing: str = "xy") -> tuple[Any, ...]:
    if indexing not in ("xy", "ij"):
        raise ValueError(f"meshgrid: indexing must be 'xy' or 'ij', got {indexing!r}")
    position = list(range(len(arrays)))
    if indexing == "xy" and len(arrays) > 1:
        position[:2] = 1, 0
    lengths = [math.prod(x.shape) for x in arrays]
    shape = tuple([lengths[i] for i in position])
    lines = [
        xp.reshape(x, tuple([lengths[i] if j == position[i] else 1 for j in range(len(arrays))]))
        for i, x in enumerate(arrays)
    ]
    return tuple([xp.broadcast_to(line, shape) for line in lines])


def _repeat(xp: Any, x: Any, repeats: Any, axis: int | None = None) -> Any:
    """Broadcast along a new axis. If repeats differ, take elements at indices."""
    x, axis = (flattened(xp, x), 0) if axis is None else (x, axis_of("repeat", axis, len(x.shape)))
    before, (size, *after) = tuple(x.shape[:axis]), tuple(x.shape[axis:])
    if not hasattr(repeats, "dtype"):
        spread = xp.broadcast_to(xp.reshape(x, (*before, size, 1, *after)), (*before, size, repeats, *after))
        return xp.reshape(spread, (*before, size * repeats, *after))
    if not is_concrete(repeats) and isinstance(repeats, TracedArray):
        raise TypeError(
            "repeat: the size of the result depends on the values of repeats, which aren't known under "
            f"{repeats._trace.what}; use `xpand_extensions.indexing.repeat` with total_repeat_length"
        )
    while isinstance(repeats, TracedArray):
        repeats = repeats._trace.concrete(repeats, "repeat")
    base, device = getattr(xp, "base", xp), device_of(x)
    numbers = base.arange(size, dtype=index_dtype(base, device), device=device)
    return xp.take(x, base.repeat(numbers, repeats), axis=axis)


def _tile(xp: Any, x: Any, repetitions: Any) -> Any:
    shape, times = tuple(x.shape), sizes_of(repetitions)
    ndim = max(len(shape), len(times))
    shape, times = (1,) * (ndim - len(shape)) + shape, (1,) * (ndim - len(times)) + times
    pairs = xp.reshape(x, tuple([length for size in shape for length in (1, size)]))
    spread = xp.broadcast_to(pairs, tuple([length for pair in zip(times, shape) for length in pair]))
    return xp.reshape(spread, tuple([n * size for n, size in zip(times, shape)]))


DECOMPOSITIONS: Final[dict[str, Any]] = {
    "broadcast_arrays": _broadcast_arrays,
    "meshgrid": _meshgrid,
    "repeat": _repeat,
    "tile": _tile,
}

RESULTS: Final[dict[str, Any]] = {"broadcast_arrays": tuple, "meshgrid": tuple, "unstack": tuple}


# Derivatives: all are linear

_OF_ONE: Final = (
    "broadcast_to",
    "expand_dims",
    "flip",
    "matrix_transpose",
    "moveaxis",
    "permute_dims",
    "reshape",
    "roll",
    "squeeze",
    "tril",
    "triu",
    "unstack",
)

LINEAR_IN_ALL: Final = ("concat", "stack")

DERIVATIVES: Final[dict[str, Any]] = {
    **dict.fromkeys(_OF_ONE, (LINEAR,)),
    **dict.fromkeys(LINEAR_IN_ALL, Each(LINEAR)),
}


def _part_of_concat(xp: Any, ct: Any, i: int, *arrays: Any, axis: int | None = 0) -> Any:
    x = arrays[i]
    if axis is None:
        start = sum(other.size if isinstance(other, Aval) else math.prod(other.shape) for other in arrays[:i])
        return xp.reshape(ct[start : start + math.prod(x.shape)], tuple(x.shape))
    axis = axis_of("concat", axis, len(x.shape))
    start = sum(other.shape[axis] for other in arrays[:i])
    return ct[(slice(None),) * axis + (slice(start, start + x.shape[axis]), ...)]


def _permuted_back(xp: Any, ct: Any, x: Any, axes: Sequence[int]) -> Any:
    axes = axes_of("permute_dims", tuple(axes), len(x.shape))
    return xp.permute_dims(ct, tuple([axes.index(i) for i in range(len(axes))]))


def _rolled_back(xp: Any, ct: Any, x: Any, shift: Any, axis: Any = None) -> Any:
    back = tuple([-s for s in shift]) if isinstance(shift, (tuple, list)) else -shift
    return xp.roll(ct, back, axis=axis)


TRANSPOSES: Final[dict[str, Any]] = {
    "broadcast_to": (lambda xp, ct, x, shape: ct,),  # the caller sums over the new axes
    "concat": Each(_part_of_concat),
    "expand_dims": (lambda xp, ct, x, axis=0: xp.reshape(ct, tuple(x.shape)),),
    "flip": (lambda xp, ct, x, axis=None: xp.flip(ct, axis=axis),),
    "matrix_transpose": (lambda xp, ct, x: xp.matrix_transpose(ct),),
    "moveaxis": (lambda xp, ct, x, source, destination: xp.moveaxis(ct, destination, source),),
    "permute_dims": (_permuted_back,),
    "reshape": (lambda xp, ct, x, shape, copy=None: xp.reshape(ct, tuple(x.shape)),),
    "roll": (_rolled_back,),
    "squeeze": (lambda xp, ct, x, axis: xp.reshape(ct, tuple(x.shape)),),
    "stack": Each(lambda xp, ct, i, *arrays, axis=0: ct[(slice(None),) * (axis % len(ct.shape)) + (i, ...)]),
    "tril": (lambda xp, ct, x, k=0: xp.tril(ct, k=k),),
    "triu": (lambda xp, ct, x, k=0: xp.triu(ct, k=k),),
    "unstack": (lambda xp, ct, i, x, axis=0: xp.stack(ct, axis=axis),),
}


# Batches


def _shifted(axes: tuple[int, ...]) -> tuple[int, ...]:
    return tuple([axis + 1 for axis in axes])


def _batched_broadcast_to(xp: Any, mapped: Any, x: Any, shape: Any) -> Any:
    sizes = sizes_of(shape)
    broadcast_to_shape("broadcast_to", tuple(x.shape[1:]), sizes)
    return xp.broadcast_to(lengthened(xp, x, True, len(sizes)), (x.shape[0], *sizes))


def broadcast_to_shape(function: str, shape: tuple[int, ...], target: tuple[int, ...]) -> None:
    """Raise `ValueError` if a shape doesn't broadcast to another."""
    if broadcast(shape, target) != target:
        raise ValueError(f"{function}: shape {shape} doesn't broadcast to {target}")


def _batched_roll(xp: Any, mapped: Any, x: Any, shift: Any, axis: Any = None) -> Any:
    if axis is None:
        return xp.reshape(xp.roll(flattened(xp, x, True), shift, axis=1), tuple(x.shape))
    several = isinstance(axis, (tuple, list))
    # An axis may be rolled twice.
    axes = tuple([axis_of("roll", one, x.ndim - 1) + 1 for one in (axis if several else (axis,))])
    return xp.roll(x, shift, axis=axes if several else axes[0])


def _batched_moveaxis(xp: Any, mapped: Any, x: Any, source: Any, destination: Any) -> Any:
    of, to = (_shifted(axes_of("moveaxis", axes, x.ndim - 1)) for axes in (source, destination))
    return xp.moveaxis(x, of, to)


# Parameters of these functions number all axes, are a whole shape, or name an axis twice.
BATCHING: Final[dict[str, Any]] = {
    "broadcast_to": _batched_broadcast_to,
    "moveaxis": _batched_moveaxis,
    "permute_dims": lambda xp, mapped, x, axes: xp.permute_dims(
        x, (0, *_shifted(axes_of("permute_dims", tuple(axes), x.ndim - 1)))
    ),
    "reshape": lambda xp, mapped, x, shape, copy=None: xp.reshape(
        x, (x.shape[0], *_reshaped(None, Aval(tuple(x.shape[1:]), None), shape).shape)
    ),
    "roll": _batched_roll,
}


# Shapes


def _with(x: Any, shape: Sequence[int], dtype: Any = None) -> Aval:
    return Aval(tuple(shape), x.dtype if dtype is None else dtype, device_of(x))


def _reshaped(namespace: Any, x: Any, shape: Any, copy: Any = None) -> Any:
    shape = sizes_of(shape)
    known = math.prod(length for length in shape if length != -1)
    if shape.count(-1) == 1 and known:
        shape = tuple([x.size // known if length == -1 else length for length in shape])
    found = _with(x, shape)
    if found.size != x.size or any(length < 0 for length in shape):
        raise ValueError(f"reshape: an array of shape {x.shape} can't have the shape {shape}")
    return found


def _broadcast_shape(namespace: Any, x: Any, shape: Any) -> Aval:
    broadcast_to_shape("broadcast_to", x.shape, sizes_of(shape))
    return _with(x, sizes_of(shape))


def _rolled_shape(namespace: Any, x: Any, shift: Any, axis: Any = None) -> Aval:
    for one in () if axis is None else axis if isinstance(axis, (tuple, list)) else (axis,):
        axis_of("roll", one, x.ndim)
    return _with(x, x.shape)


SHAPES: Final[dict[str, Any]] = {
    "broadcast_to": _broadcast_shape,
    "reshape": _reshaped,
    "roll": _rolled_shape,
}


def _moved(ndims: Sequence[int], source: Any, destination: Any) -> str:
    of, to = (axes_of("moveaxis", axes, ndims[0]) for axes in (source, destination))
    if len(of) != len(to):
        raise ValueError(f"moveaxis: source and destination must have the same length, got {source} and {destination}")
    moved = dict(zip(to, of))
    rest = iter([i for i in range(ndims[0]) if i not in of])
    return _permuted(ndims, [moved[i] if i in moved else next(rest) for i in range(ndims[0])])


def _permuted(ndims: Sequence[int], axes: Sequence[int]) -> str:
    found = axes_of("permute_dims", tuple(axes), ndims[0])
    if len(found) != ndims[0]:
        raise ValueError(f"permute_dims: axes must name each of the {ndims[0]} axes once, got {axes}")
    return f"{ascii_lowercase[: ndims[0]]}->{''.join([ascii_lowercase[i] for i in found])}"


def _all_one(lengths: Any, axis: Any) -> None:
    if any(length != 1 for length in lengths["axis"]):
        raise ValueError(f"squeeze: the size of axis {axis} is not 1")


AXES: Final[dict[str, Axes]] = {
    "concat": Axes(
        "*...[(axis=0)]->...[(axis:k)]",
        sizes=lambda lengths, **params: {"k": sum(lengths["axis"])},
        dtype=promoted,
        flat=True,
        same_shape=True,
    ),
    "expand_dims": Axes("...->...(axis=0)", dtype=same),
    "flip": Axes("...[(axis)]->...[(axis)]", dtype=same),
    "matrix_transpose": Axes("...mn->...nm", dtype=same),
    "moveaxis": Axes(_moved, dtype=same),
    "permute_dims": Axes(_permuted, dtype=same),
    "squeeze": Axes("...[(axis)]->...", dtype=same, check=_all_one),
    "stack": Axes(
        "*...->...[(axis=0:k)]", sizes=lambda lengths, **params: {"k": lengths["*"]}, dtype=promoted, same_shape=True
    ),
    **dict.fromkeys(("tril", "triu"), Axes("...[mn]->...[mn]", dtype=same)),
    "unstack": Axes("...[(axis=0)]->*...", dtype=same),
}
