"""Rules of the functions that give arrays other shapes, or put arrays together."""

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

from xpand._arguments import device_of

from ..._bounds import index_dtype
from ..._sums import plain_sum
from .._core import Aval, Each
from .._derivatives import LINEAR, First
from .._shapes import broadcast
from ._axes import axes_of, axis_of, flattened, sizes_of, spread_over_batch

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
    """Bring the sizes of an array and the repetitions to one number of axes."""
    times = sizes_of(repetitions)
    ndim = max(len(shape), len(times))
    return (1,) * (ndim - len(shape)) + tuple(shape), (1,) * (ndim - len(times)) + times


def _untiled(xp: Any, ct: Any, x: Any, repetitions: Any) -> Any:
    sizes, times = _tile_sizes(x.shape, repetitions)
    pairs = xp.reshape(ct, tuple([length for pair in zip(times, sizes) for length in pair]))
    return xp.reshape(plain_sum(xp, pairs, axis=tuple(range(0, 2 * len(sizes), 2))), tuple(x.shape))


def _unrepeated(xp: Any, ct: Any, x: Any, repeats: Any, axis: int | None = None) -> Any:
    """Add up what was repeated."""
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
    """Raise `ValueError` where a shape doesn't broadcast to another."""
    if broadcast(shape, target) != target:
        raise ValueError(f"{function}: shape {shape} doesn't broadcast to {target}")


def _batched_concat(xp: Any, mapped: Any, *arrays: Any, axis: int | None = 0) -> Any:
    given = spread_over_batch(xp, mapped, arrays)
    if axis is None:
        return xp.concat([flattened(xp, x, True) for x in given], axis=1)
    return xp.concat(given, axis=axis_of("concat", axis, given[0].ndim - 1) + 1)


def _batched_stack(xp: Any, mapped: Any, *arrays: Any, axis: int = 0) -> Any:
    given = spread_over_batch(xp, mapped, arrays)
    return xp.stack(given, axis=axis_of("stack", axis, given[0].ndim) + 1)


def _batched_expand_dims(xp: Any, mapped: Any, x: Any, axis: Any = 0) -> Any:
    more = len(sizes_of(axis))
    axes = _shifted(axes_of("expand_dims", axis, x.ndim - 1 + more))
    return xp.expand_dims(x, axis=axes if isinstance(axis, (tuple, list)) else axes[0])


def _batched_matrices(name: str) -> Callable[..., Any]:
    def rule(xp: Any, mapped: Any, x: Any, **params: Any) -> Any:
        check_matrices(name, x.ndim - 1)
        return getattr(xp, name)(x, **params)

    return rule


def check_matrices(function: str, ndim: int) -> None:
    """Raise `ValueError` where there are fewer than two axes."""
    if ndim < 2:
        raise ValueError(f"{function}: takes arrays of two axes or more, got one of {ndim}")


def _batched_moveaxis(xp: Any, mapped: Any, x: Any, source: Any, destination: Any) -> Any:
    of, to = (_shifted(axes_of("moveaxis", axes, x.ndim - 1)) for axes in (source, destination))
    return xp.moveaxis(x, of, to)


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


BATCHING: Final[dict[str, Any]] = {
    "broadcast_to": _batched_broadcast_to,
    "concat": _batched_concat,
    "expand_dims": _batched_expand_dims,
    "flip": lambda xp, mapped, x, axis=None: xp.flip(x, axis=_shifted(axes_of("flip", axis, x.ndim - 1))),
    "moveaxis": _batched_moveaxis,
    "permute_dims": lambda xp, mapped, x, axes: xp.permute_dims(
        x, (0, *_shifted(axes_of("permute_dims", tuple(axes), x.ndim - 1)))
    ),
    "repeat": _batched_repeat,
    "reshape": lambda xp, mapped, x, shape, copy=None: xp.reshape(
        x, (x.shape[0], *_reshaped(None, Aval(tuple(x.shape[1:]), None), shape).shape)
    ),
    "roll": _batched_roll,
    "squeeze": lambda xp, mapped, x, axis: xp.squeeze(x, axis=_shifted(axes_of("squeeze", axis, x.ndim - 1))),
    "stack": _batched_stack,
    "tile": _batched_tile,
    **{name: _batched_matrices(name) for name in ("matrix_transpose", "tril", "triu")},
    "unstack": lambda xp, mapped, x, axis=0: xp.unstack(x, axis=axis_of("unstack", axis, x.ndim - 1) + 1),
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


def _dtype_of(namespace: Any, arrays: Sequence[Any]) -> Any:
    found = arrays[0].dtype
    for x in arrays[1:]:
        found = found if x.dtype == found else namespace.base.result_type(found, x.dtype)
    return found


def _concat_shape(namespace: Any, *arrays: Any, axis: int | None = 0) -> Aval:
    dtype = _dtype_of(namespace, arrays)
    if axis is None:
        return _with(arrays[0], (sum(x.size for x in arrays),), dtype)
    first = arrays[0].shape
    axis = axis_of("concat", axis, len(first))
    rest = first[:axis] + first[axis + 1 :]
    if any(x.ndim != len(first) or x.shape[:axis] + x.shape[axis + 1 :] != rest for x in arrays):
        raise ValueError(f"concat: shapes must agree but along axis {axis}, got {[x.shape for x in arrays]}")
    return _with(arrays[0], (*first[:axis], sum(x.shape[axis] for x in arrays), *first[axis + 1 :]), dtype)


def _stack_shape(namespace: Any, *arrays: Any, axis: int = 0) -> Aval:
    first = arrays[0].shape
    if any(x.shape != first for x in arrays):
        raise ValueError(f"stack: arrays must have one shape, got {[x.shape for x in arrays]}")
    axis = axis_of("stack", axis, len(first) + 1)
    return _with(arrays[0], (*first[:axis], len(arrays), *first[axis:]), _dtype_of(namespace, arrays))


def _expanded_shape(namespace: Any, x: Any, axis: Any = 0) -> Aval:
    ndim = x.ndim + len(sizes_of(axis))
    axes = axes_of("expand_dims", axis, ndim)
    old = iter(x.shape)
    return _with(x, [1 if i in axes else next(old) for i in range(ndim)])


def _flipped_shape(namespace: Any, x: Any, axis: Any = None) -> Aval:
    axes_of("flip", axis, x.ndim)
    return _with(x, x.shape)


def _matrices_shape(name: str) -> Callable[..., Any]:
    def rule(namespace: Any, x: Any, **params: Any) -> Aval:
        check_matrices(name, x.ndim)
        *batch, rows, columns = x.shape
        return _with(x, (*batch, columns, rows) if name == "matrix_transpose" else x.shape)

    return rule


def _moved_shape(namespace: Any, x: Any, source: Any, destination: Any) -> Aval:
    of, to = (axes_of("moveaxis", axes, x.ndim) for axes in (source, destination))
    if len(of) != len(to):
        raise ValueError(f"moveaxis: source and destination must be as many, got {source} and {destination}")
    moved = dict(zip(to, of))
    rest = iter([i for i in range(x.ndim) if i not in of])
    return _with(x, [x.shape[moved[i] if i in moved else next(rest)] for i in range(x.ndim)])


def _permuted_shape(namespace: Any, x: Any, axes: Any) -> Aval:
    found = axes_of("permute_dims", tuple(axes), x.ndim)
    if len(found) != x.ndim:
        raise ValueError(f"permute_dims: axes must name each of the {x.ndim} axes once, got {axes}")
    return _with(x, [x.shape[i] for i in found])


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


def _squeezed_shape(namespace: Any, x: Any, axis: Any) -> Aval:
    axes = axes_of("squeeze", axis, x.ndim)
    if any(x.shape[i] != 1 for i in axes):
        raise ValueError(f"squeeze: axis {axis} of an array of shape {x.shape} hasn't size 1")
    return _with(x, [length for i, length in enumerate(x.shape) if i not in axes])


def _unstacked_shape(namespace: Any, x: Any, axis: int = 0) -> tuple[Aval, ...]:
    axis = axis_of("unstack", axis, x.ndim)
    lane = _with(x, x.shape[:axis] + x.shape[axis + 1 :])
    return tuple([lane] * x.shape[axis])


SHAPES: Final[dict[str, Any]] = {
    "broadcast_to": _broadcast_shape,
    "concat": _concat_shape,
    "expand_dims": _expanded_shape,
    "flip": _flipped_shape,
    "moveaxis": _moved_shape,
    "permute_dims": _permuted_shape,
    "repeat": _repeated_shape,
    "reshape": _reshaped,
    "roll": _rolled_shape,
    "squeeze": _squeezed_shape,
    "stack": _stack_shape,
    "tile": lambda namespace, x, repetitions: _with(x, [n * m for n, m in zip(*_tile_sizes(x.shape, repetitions))]),
    **{name: _matrices_shape(name) for name in ("matrix_transpose", "tril", "triu")},
    "unstack": _unstacked_shape,
}
