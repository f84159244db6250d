"""NumPy's indices of every kind, reduced to operations that every library has.

For all libraries, `select` reads an index and describes the selection in one of three forms: a basic index (numbers and
slices), rows (one flat integer index into the leading axes), or a mask.
"""

import math
import operator
from dataclasses import dataclass
from functools import reduce
from typing import Any, TypeAlias

from xpand import UnsupportedError, array_namespace, is_concrete
from xpand.extend import LibraryArray as Array, Namespace, checks, describe

from ._bounds import Bounds, Mode, index_dtype, out_of_bounds, resolve


@dataclass(frozen=True, slots=True)
class Basic:
    """Only numbers, slices and new axes: each element is selected at most once, and the library can index itself."""

    key: tuple[int | slice, ...]
    """One entry for each axis, slices within bounds."""
    sliced: tuple[int, ...]
    """The shape that `key` selects: the shape of the selection without new axes."""
    shape: tuple[int, ...]
    """The shape of the selection."""


@dataclass(frozen=True, slots=True)
class Rows:
    """A flat index into the leading axes.

    The selection consists of the rows `index` of the array reshaped to `(count, width)`, in order. The number `count`
    marks an index that is out of bounds and is dropped.
    """

    index: Array
    count: int
    width: int
    shape: tuple[int, ...]
    """The shape of the selection."""
    unique: bool
    """No row can occur twice, except dropped ones."""
    dropped: bool
    """Whether `index` may hold `count`."""


@dataclass(frozen=True, slots=True)
class Mask:
    """A mask over some axes. The other axes are taken whole."""

    mask: Array
    axis: int
    """The first axis that the mask covers."""


Selection: TypeAlias = Basic | Rows | Mask


@dataclass(frozen=True, slots=True)
class _Range:
    """A slice of one axis, resolved against its size."""

    dim: int
    start: int
    step: int
    size: int


@dataclass(frozen=True, slots=True)
class _Gather:
    """Integer arrays that broadcast together. Each indexes one axis. Without pairs: a single True or False."""

    pairs: tuple[tuple[int, Array], ...]
    shape: tuple[int, ...]
    unique: bool


def select(function: str, xp: Namespace, x: Array, index: Any, mode: Mode | None, bounds: Bounds) -> Selection:
    """Describe the selection of an index.

    Args:
        function: The name for messages.
        xp: The namespace of `x`.
        x: The array.
        index: Any index that NumPy accepts, except lists.
        mode: The treatment of indices out of bounds. None: raise if the values are known, else drop.
        bounds: Returns the minimum and the maximum of an index array.
    """
    shape = checks.known_shape(function, "x", x)
    items = check_types(function, xp, x, index)
    masks = [(p, i) for p, i in enumerate(items) if _is_mask(xp, i)]
    if len(masks) == 1 and all(
        isinstance(i, slice) and i == slice(None) for p, i in enumerate(items) if p != masks[0][0]
    ):
        position, mask = masks[0]
        if not isinstance(mask, bool):
            _check_mask(function, mask, position, shape)
            return Mask(mask, position)
    return _Reader(function, xp, x, shape, mode, bounds).read(items)


def rows_of_mask(function: str, xp: Namespace, x: Array, selection: Mask, bounds: Bounds) -> Basic | Rows:
    """Turn a mask with known values into rows."""
    items = [*([slice(None)] * selection.axis), selection.mask]
    items += [slice(None)] * (x.ndim - selection.axis - selection.mask.ndim)
    return _Reader(function, xp, x, tuple(x.shape), None, bounds).read(items)


def _is_array(item: Any) -> bool:
    # Compare types first: torch.compile can't read a slice's attributes.
    return not (item is None or item is Ellipsis or isinstance(item, (int, slice))) and hasattr(item, "dtype")


def _is_mask(xp: Namespace, item: Any) -> bool:
    return isinstance(item, bool) or (_is_array(item) and checks.kind(xp, item.dtype) == "bool")


def check_types(function: str, xp: Namespace, x: Array, index: Any) -> list[Any]:
    """Check the type of each entry of an index, and add entries for omitted axes."""
    items = [checks.plain_integer(item) for item in (index if isinstance(index, tuple) else (index,))]
    consumed = sum(_consumes(function, xp, x, item) for item in items)
    if consumed > x.ndim:
        raise IndexError(f"{function}: too many indices: index has {consumed} for the {x.ndim} axes of x")
    rest = [slice(None)] * (x.ndim - consumed)
    positions = [p for p, item in enumerate(items) if item is Ellipsis]
    if len(positions) > 1:
        raise IndexError(f"{function}: index has {len(positions)} ellipses ('...'), takes at most one")
    insertion = positions[0] if positions else len(items)
    return [*items[:insertion], *rest, *items[insertion + 1 :]]


def _consumes(function: str, xp: Namespace, x: Array, item: Any) -> int:
    """Count the axes that one entry of the index stands for."""
    if item is None or item is Ellipsis or isinstance(item, bool):
        return 0
    if isinstance(item, (int, slice)):
        return 1
    if isinstance(item, (list, tuple, str, float, complex)) and not hasattr(item, "dtype"):
        raise TypeError(
            f"{function}: index holds {describe(item)}; takes integers, slices, None, '...', and integer or boolean "
            "arrays; turn a list into an array with `xp.asarray`"
        )
    try:
        other = array_namespace(item)
    except TypeError:
        if hasattr(item, "__index__"):
            return 1
        raise TypeError(
            f"{function}: index holds {describe(item)}; takes integers, slices, None, '...', and integer or boolean "
            "arrays"
        ) from None
    if other is not xp and _apart(xp, x, item):
        raise TypeError(
            f"{function}: takes arrays of one library, got x ({describe(x)}), index ({describe(item)}); convert one "
            "to the other's library first, for example with `xp.asarray` or `xp.from_dlpack`"
        )
    kind = checks.kind(xp, item.dtype)
    if kind != "bool" and kind not in checks.INTEGERS:
        raise TypeError(f"{function}: index must have an integer or boolean data type, got {item.dtype}")
    checks.one_device(function, x=x, index=item)
    return int(item.ndim) if kind == "bool" else 1


def _apart(xp: Namespace, x: Array, item: Array) -> bool:
    """Return whether an index belongs to another library than the array, or than the values of a traced array."""
    try:
        return array_namespace(x, item) is not xp
    except TypeError:
        return True


def _check_mask(function: str, mask: Array, dim: int, shape: tuple[int, ...]) -> None:
    covered = shape[dim : dim + mask.ndim]
    if checks.known_shape(function, "the mask", mask) != covered:
        raise IndexError(
            f"{function}: the mask of shape {tuple(mask.shape)} doesn't match the axes that it covers, of shape "
            f"{covered}"
        )


class _Reader:
    """Reads one index: checks bounds, resolves entries, and orders their axes as NumPy does."""

    def __init__(
        self, function: str, xp: Namespace, x: Array, shape: tuple[int, ...], mode: Mode | None, bounds: Bounds
    ) -> None:
        self.function = function
        self.xp = xp
        self.device = checks.device_of(x)
        self.shape = shape
        self.mode = mode
        self.bounds = bounds
        self.dropped = False

    def read(self, items: list[Any]) -> Basic | Rows:
        entries: list[int | _Range | _Gather | None] = []
        dims: list[int] = []  # the first axis of each entry
        dim = 0
        for item in items:
            dims.append(dim)
            if item is None:
                entries.append(None)
                continue
            if isinstance(item, slice):
                entries.append(self._range(dim, item))
            elif _is_mask(self.xp, item):
                gather = self._mask(dim, item)
                entries.append(gather)
                dim += len(gather.pairs)
                continue
            elif _is_array(item):
                entries.append(self._array(dim, item))
            else:
                entries.append(self._number(dim, operator.index(item)))
            dim += 1
        if any(isinstance(entry, _Gather) for entry in entries):
            return self._rows(entries, dims)
        return self._basic(entries)

    # --- entries -----------------------------------------------------------------------------------------------

    def _range(self, dim: int, item: slice) -> _Range:
        try:
            start, stop, step = item.indices(self.shape[dim])
        except TypeError:
            raise TypeError(
                f"{self.function}: index holds {item!r}; the start, stop and step of a slice must be known integers"
            ) from None
        except ValueError:
            raise ValueError(f"{self.function}: index holds {item!r}; the step of a slice must not be zero") from None
        return _Range(dim, start, step, len(range(start, stop, step)))

    def _number(self, dim: int, number: int) -> int | _Gather:
        size = self.shape[dim]
        if -size <= number < size:
            return number % size
        if self.mode is None or self.mode == "raise" or (size == 0 and self.mode in ("clip", "wrap")):
            raise out_of_bounds(self.function, number, dim, size)
        if self.mode == "wrap":
            return number % size
        if self.mode == "clip":
            return 0 if number < 0 else size - 1
        self.dropped = True
        index = self.xp.full((), size, dtype=self._index_dtype(), device=self.device)
        return _Gather(((dim, index),), (), True)

    def _array(self, dim: int, item: Array) -> _Gather:
        shape = checks.known_shape(self.function, "index", item)
        index, dropped = resolve(
            self.function, self.xp, item, self.shape[dim], self.mode, self.bounds, axis=dim, from_end=True
        )
        self.dropped |= dropped
        return _Gather(((dim, index),), shape, math.prod(shape) <= 1)

    def _mask(self, dim: int, item: Array | bool) -> _Gather:
        if isinstance(item, bool) or (item.ndim == 0 and is_concrete(item)):
            return _Gather((), (int(bool(item)),), True)
        _check_mask(self.function, item, dim, self.shape)
        if not is_concrete(item):
            raise _unknown_mask(self.function)
        positions = self.xp.nonzero(item)
        pairs = tuple((dim + j, self.xp.astype(p, self._index_dtype(), copy=False)) for j, p in enumerate(positions))
        return _Gather(pairs, tuple(positions[0].shape), True)

    def _index_dtype(self) -> Any:
        return index_dtype(self.xp, self.device)

    # --- layout ------------------------------------------------------------------------------------------------

    def _basic(self, entries: list[Any]) -> Basic:
        key = tuple(_as_slice(entry) if isinstance(entry, _Range) else entry for entry in entries if entry is not None)
        sliced = tuple(entry.size for entry in entries if isinstance(entry, _Range))
        shape = tuple(1 if entry is None else entry.size for entry in entries if not isinstance(entry, int))
        return Basic(key, sliced, shape)

    def _rows(self, entries: list[Any], dims: list[int]) -> Rows:
        """Order the axes of the selection as NumPy does, and number the rows."""
        advanced = [p for p, entry in enumerate(entries) if isinstance(entry, (int, _Gather))]
        gathers = [entry for entry in entries if isinstance(entry, _Gather)]
        group = self._broadcast([gather.shape for gather in gathers])
        # The axes of the broadcast arrays and numbers are put in their position, or first if other entries are between.
        together = advanced[-1] - advanced[0] + 1 == len(advanced)
        basic = [entry for entry in entries if entry is None or isinstance(entry, _Range)]
        insertion = advanced[0] if together else 0
        axes: list[Any] = [*basic[:insertion], *group, *basic[insertion:]]
        sizes = tuple([axis.size if isinstance(axis, _Range) else 1 if axis is None else axis for axis in axes])

        # The last axes form the width of a row if they are taken whole.
        lead = len(self.shape)
        while lead and any(isinstance(axis, _Range) and self._is_whole(axis, lead - 1) for axis in axes):
            lead -= 1
        cut = len(axes)
        while cut > insertion + len(group) and (axes[cut - 1] is None or axes[cut - 1].dim >= lead):
            cut -= 1

        strides = [math.prod(self.shape[dim + 1 : lead]) for dim in range(lead)]
        offset = sum(entries[p] * strides[dims[p]] for p in advanced if isinstance(entries[p], int))
        parts: list[Array] = []
        inside: list[Array] = []
        for dim, index in [pair for gather in gathers for pair in gather.pairs]:
            index = self._along(index, insertion + len(group) - index.ndim, cut)
            parts.append(index if strides[dim] == 1 else index * strides[dim])
            if self.dropped:
                inside.append(index < self.shape[dim])
        for position, axis in enumerate(axes[:cut]):
            if isinstance(axis, _Range):
                steps = self.xp.arange(axis.size, dtype=self._index_dtype(), device=self.device)
                parts.append(self._along((steps * axis.step + axis.start) * strides[axis.dim], position, cut))
        if not parts:
            parts.append(self.xp.zeros((1,) * cut, dtype=self._index_dtype(), device=self.device))
        index = reduce(operator.add, parts)
        index = index + offset if offset else index
        count = math.prod(self.shape[:lead])
        if inside:
            beyond = self.xp.full((), count, dtype=index.dtype, device=self.device)
            index = self.xp.where(reduce(operator.and_, inside), index, beyond)
        index = self.xp.reshape(self.xp.broadcast_to(index, sizes[:cut]), (math.prod(sizes[:cut]),))
        # A single mask or a single row selects nothing twice.
        several = sum([bool(gather.pairs and gather.shape) for gather in gathers]) > 1
        unique = math.prod(group) <= 1 or (not several and all(gather.unique for gather in gathers))
        return Rows(index, count, math.prod(self.shape[lead:]), sizes, unique, self.dropped)

    def _is_whole(self, axis: _Range, dim: int) -> bool:
        return axis.dim == dim and (axis.start, axis.step, axis.size) == (0, 1, self.shape[dim])

    def _along(self, x: Array, first: int, ndim: int) -> Array:
        """Reshape an array to `ndim` axes; its own axes start at `first`."""
        return self.xp.reshape(x, (1,) * first + tuple(x.shape) + (1,) * (ndim - first - x.ndim))

    def _broadcast(self, shapes: list[tuple[int, ...]]) -> tuple[int, ...]:
        try:
            return checks.broadcast(*shapes)
        except ValueError:
            listed = ", ".join(map(str, shapes))
            raise IndexError(
                f"{self.function}: the index arrays don't broadcast together, their shapes are {listed}"
            ) from None


def _as_slice(entry: _Range) -> slice:
    """Write a resolved slice that stays within bounds, as the strictest library requires."""
    if entry.size == 0:
        return slice(0, 0, 1)
    stop = entry.start + entry.step * entry.size
    if entry.step > 0:
        return slice(entry.start, min(stop, entry.start + entry.step * (entry.size - 1) + 1), entry.step)
    last = entry.start + entry.step * (entry.size - 1)
    return slice(entry.start, last - 1 if last > 0 else None, entry.step)


def _unknown_mask(function: str) -> UnsupportedError:
    return UnsupportedError(
        f"{function}: a boolean mask whose values aren't known (under jit or vmap, or in a lazy array) has a selection "
        "of unknown size; use `xp.where(mask, …, …)`, or index with the mask alone and broadcast one value"
    )
