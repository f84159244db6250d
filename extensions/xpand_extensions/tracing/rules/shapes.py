"""Rules of the functions that give arrays other shapes, or put arrays together."""

import math
from collections.abc import Sequence
from string import ascii_lowercase
from typing import Any, Final

from xpand.extend import device_of

from ..._bounds import index_dtype
from ..._dtypes import plain_sum
from ...extend._derivatives import LINEAR, First
from .._core import Aval, Each
from .._fit import broadcast
from ._derived import Axes, axes_of, axis_of, flattened, promoted, same, sizes_of

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


DECOMPOSITIONS: Final[dict[str, Any]] = {"broadcast_arrays": _broadcast_arrays, "meshgrid": _meshgrid}

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
    "tile",
    "tril",
    "triu",
    "unstack",
)

LINEAR_IN_ALL: Final = ("concat", "stack")

DERIVATIVES: Final[dict[str, Any]] = {
    **dict.fromkeys(_OF_ONE, (LINEAR,)),
    **dict.fromkeys(LINEAR_IN_ALL, Each(LINEAR)),
    "repeat": First(LINEAR),
}


def _part_of_concat(xp: Any, ct: Any, i: int, *arrays: Any, axis: int | None = 0) -> Any:
    x = arrays[i]
    if axis is None:
        start = sum(other.size if isinstance(other, Aval) else math.prod(other.shape) for other in arrays[:i])
        return xp.reshape(ct[start : start + math.prod(x.shape)], tuple(x.shape))
    axis = axis_of("concat", axis, len(x.shape))
    start = sum(other.shape[axis] for other in arrays[:i])
    return ct[(slice(None),) * axis + (slice(start, start + x.shape[axis]), ...)]


def _lane_of_stack(xp: Any, ct: Any, i: int, *arrays: Any, axis: int = 0) -> Any:
    return ct[(slice(None),) * axis_of("stack", axis, len(ct.shape)) + (i, ...)]


def _permuted_back(xp: Any, ct: Any, x: Any, axes: Sequence[int]) -> Any:
    axes = axes_of("permute_dims", tuple(axes), len(x.shape))
    return xp.permute_dims(ct, tuple([axes.index(i) for i in range(len(axes))]))


def _rolled_back(xp: Any, ct: Any, x: Any, shift: Any, axis: Any = None) -> Any:
    back = tuple([-s for s in shift]) if isinstance(shift, (tuple, list)) else -shift
    return xp.roll(ct, back, axis=axis)


def _tile_sizes(shape: Sequence[int], repetitions: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Give the shape of an array and the repetitions the same number of axes."""
    times = sizes_of(repetitions)
    ndim = max(len(shape), len(times))
    return (1,) * (ndim - len(shape)) + tuple(shape), (1,) * (ndim - len(times)) + times


def _untiled(xp: Any, ct: Any, x: Any, repetitions: Any) -> Any:
    sizes, times = _tile_sizes(x.shape, repetitions)
    pairs = xp.reshape(ct, tuple([length for pair in zip(times, sizes) for length in pair]))
    return xp.reshape(plain_sum(xp, pairs, axis=tuple(range(0, 2 * len(sizes), 2))), tuple(x.shape))


def _unrepeated(xp: Any, ct: Any, x: Any, repeats: Any, axis: int | None = None) -> Any:
    """Sum the copies of each repeated element."""
    shape = tuple(x.shape) if axis is not None else (math.prod(x.shape),)
    axis = 0 if axis is None else axis_of("repeat", axis, len(shape))
    size = shape[axis]
    if not hasattr(repeats, "dtype"):
        pairs = xp.reshape(ct, (*shape[: axis + 1], repeats, *shape[axis + 1 :]))
        return xp.reshape(plain_sum(xp, pairs, axis=axis + 1), tuple(x.shape))
    from xpand_extensions.scatter import segment_sum

    base = getattr(xp, "base", xp)
    ids = base.repeat(base.arange(size, dtype=index_dtype(base, device_of(x)), device=device_of(x)), repeats)
    return xp.reshape(segment_sum(ct, ids, num_segments=size, axis=axis, indices_are_sorted=True), tuple(x.shape))


TRANSPOSES: Final[dict[str, Any]] = {
    "broadcast_to": (lambda xp, ct, x, shape: ct,),  # the caller sums over the axes that are new
    "concat": Each(_part_of_concat),
    "expand_dims": (lambda xp, ct, x, axis=0: xp.reshape(ct, tuple(x.shape)),),
    "flip": (lambda xp, ct, x, axis=None: xp.flip(ct, axis=axis),),
    "matrix_transpose": (lambda xp, ct, x: xp.matrix_transpose(ct),),
    "moveaxis": (lambda xp, ct, x, source, destination: xp.moveaxis(ct, destination, source),),
    "permute_dims": (_permuted_back,),
    "repeat": First(_unrepeated),
    "reshape": (lambda xp, ct, x, shape, copy=None: xp.reshape(ct, tuple(x.shape)),),
    "roll": (_rolled_back,),
    "squeeze": (lambda xp, ct, x, axis: xp.reshape(ct, tuple(x.shape)),),
    "stack": Each(_lane_of_stack),
    "tile": (_untiled,),
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
    x = xp.reshape(x, (x.shape[0], *(1,) * (len(sizes) - x.ndim + 1), *x.shape[1:]))
    return xp.broadcast_to(x, (x.shape[0], *sizes))


def broadcast_to_shape(function: str, shape: tuple[int, ...], target: tuple[int, ...]) -> None:
    """Raise `ValueError` if a shape doesn't broadcast to another."""
    if broadcast(shape, target) != target:
        raise ValueError(f"{function}: shape {shape} doesn't broadcast to {target}")


def _batched_repeat(xp: Any, mapped: Any, x: Any, repeats: Any, axis: int | None = None) -> Any:
    if mapped[1]:
        raise _unknown_repeats("vmap")
    if axis is None:
        return xp.repeat(flattened(xp, x, True), repeats, axis=1)
    return xp.repeat(x, repeats, axis=axis_of("repeat", axis, x.ndim - 1) + 1)


def _unknown_repeats(where: str) -> TypeError:
    return TypeError(
        f"repeat: the size of the result depends on the values of repeats, which aren't known under {where}; use "
        "`xpand_extensions.indexing.repeat` with total_repeat_length"
    )


def _batched_roll(xp: Any, mapped: Any, x: Any, shift: Any, axis: Any = None) -> Any:
    if axis is None:
        return xp.reshape(xp.roll(flattened(xp, x, True), shift, axis=1), tuple(x.shape))
    several = isinstance(axis, (tuple, list))
    # An axis may be rolled twice.
    axes = tuple([axis_of("roll", one, x.ndim - 1) + 1 for one in (axis if several else (axis,))])
    return xp.roll(x, shift, axis=axes if several else axes[0])


def _batched_tile(xp: Any, mapped: Any, x: Any, repetitions: Any) -> Any:
    sizes, times = _tile_sizes(x.shape[1:], repetitions)
    return xp.tile(xp.reshape(x, (x.shape[0], *sizes)), (1, *times))


def _batched_moveaxis(xp: Any, mapped: Any, x: Any, source: Any, destination: Any) -> Any:
    of, to = (_shifted(axes_of("moveaxis", axes, x.ndim - 1)) for axes in (source, destination))
    return xp.moveaxis(x, of, to)


def _batched_permute_dims(xp: Any, mapped: Any, x: Any, axes: Any) -> Any:
    return xp.permute_dims(x, (0, *_shifted(axes_of("permute_dims", tuple(axes), x.ndim - 1))))


def _batched_reshape(xp: Any, mapped: Any, x: Any, shape: Any, copy: Any = None) -> Any:
    return xp.reshape(x, (x.shape[0], *_reshaped(None, Aval(tuple(x.shape[1:]), None), shape).shape))


BATCHING: Final[dict[str, Any]] = {
    "broadcast_to": _batched_broadcast_to,
    "moveaxis": _batched_moveaxis,
    "permute_dims": _batched_permute_dims,
    "repeat": _batched_repeat,
    "reshape": _batched_reshape,
    "roll": _batched_roll,
    "tile": _batched_tile,
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


def _repeated_shape(namespace: Any, x: Any, repeats: Any, axis: int | None = None) -> Aval:
    if hasattr(repeats, "dtype"):
        raise _unknown_repeats("jit")
    if axis is None:
        return _with(x, (x.size * repeats,))
    axis = axis_of("repeat", axis, x.ndim)
    return _with(x, (*x.shape[:axis], x.shape[axis] * repeats, *x.shape[axis + 1 :]))


def _rolled_shape(namespace: Any, x: Any, shift: Any, axis: Any = None) -> Aval:
    for one in () if axis is None else axis if isinstance(axis, (tuple, list)) else (axis,):
        axis_of("roll", one, x.ndim)
    return _with(x, x.shape)


SHAPES: Final[dict[str, Any]] = {
    "broadcast_to": _broadcast_shape,
    "repeat": _repeated_shape,
    "reshape": _reshaped,
    "roll": _rolled_shape,
    "tile": lambda namespace, x, repetitions: _with(x, [n * m for n, m in zip(*_tile_sizes(x.shape, repetitions))]),
}

REASONS: Final[dict[str, str]] = {
    "broadcast_to": "the parameter is the whole shape",
    "moveaxis": "the axes are moved by number, so the batch axis takes part",
    "permute_dims": "the axes are moved by number, so the batch axis takes part",
    "repeat": "the repeats may be an array, whose values decide the size",
    "reshape": "axes are merged and split",
    "roll": "an axis may be named twice",
    "tile": "there may be more repetitions than axes",
}


def _moved(ndims: Sequence[int], source: Any, destination: Any) -> str:
    of, to = (axes_of("moveaxis", axes, ndims[0]) for axes in (source, destination))
    if len(of) != len(to):
        raise ValueError(f"moveaxis: source and destination must be as many, got {source} and {destination}")
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
        raise ValueError(f"squeeze: axis {axis} hasn't size 1")


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
