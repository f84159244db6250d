"""Axis signatures: the origin of each axis of a result in the arguments, and the permitted changes of axes.

Each operation has a signature in the table `AXES` of its family in `rules`. The rules for shapes and batches are
derived from it (`rules._derived_shapes`, `rules._derived_batches`). The grammar extends that of NumPy's generalized
ufuncs:

| signature | operation |
| --- | --- |
| `...,...->...` | `add`: `...` are axes that broadcast |
| `...ij,...jk->...ik` | a product of matrices: an axis that the result lacks is summed over |
| `...[nn]->...[nn]` | `inv`: an axis in brackets must stay whole |
| `...[mn]->...[k]` | `svdvals`: `Axes.sizes` has the size of an axis that only the result has |
| `...(axis)->...` | `sum`: the axes that the parameter `axis` names, among those of `...`; None names all |
| `...[(axis=-1)]->...[(axis)]` | `sort`: a parameter that is omitted has the default after `=` |
| `...[(axis)]->...[(axis:k)]` | `rfft`: the same axes with other sizes |
| `...->...(axis)` | `expand_dims`: new axes of size 1 at the positions of the parameter |
| `...[k]->...{num}[k]` | `random.split`: one or several axes with the size in the parameter `num` |
| `*...[(axis=0)]->...[(axis:k)]` | `concat`: any number of arrays |
| `key:...[k],data:...->...[k]` | arguments with the names of a facade's parameters |

Axes outside of brackets may be moved, renamed and split: the operation on a part returns this part of the result, or
the reduction of this part. An operation with the parameter `keepdims` keeps the axes that it reduces, with size 1.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple


class Axis(NamedTuple):
    """One axis of a signature, or the axes that one parameter names."""

    kind: str
    """"letter", "named" (a parameter has the position) or "sized" (a parameter has the size)."""
    name: str
    """The letter or the parameter."""
    whole: bool
    """Whether the axis must stay whole."""
    size: str | None = None
    """The letter of the new size of a named axis of a result."""
    default: int | None = None
    """The position of a named axis if the parameter is omitted. None means all axes."""


class Array(NamedTuple):
    """The axes of one argument or result."""

    name: str | None
    """The parameter, if the signature names it."""
    repeated: bool
    """Whether this stands for any number of arrays."""
    broadcasts: bool
    """Whether leading axes broadcast."""
    axes: tuple[Axis, ...]

    @property
    def letters(self) -> tuple[str, ...]:
        """The axes at the end, by letter."""
        return tuple([axis.name for axis in self.axes if axis.kind == "letter"])

    @property
    def named(self) -> Axis | None:
        """The axes that a parameter names."""
        return next((axis for axis in self.axes if axis.kind == "named"), None)


Positions = Callable[[Axis, int], tuple[int, ...]]


class Dimension(NamedTuple):
    """An axis of a result, or a reduced axis."""

    sources: tuple[tuple[int, int], ...]
    """The axes of arguments that it comes from: number of the argument and axis, both from 0."""
    whole: bool
    """Whether the axis must stay whole. Other axes may be moved, renamed and split."""
    broadcasts: bool = False
    """Whether a source may have size 1 if others are larger."""
    size: int | tuple[str, int] | None = None
    """The size, if it differs from the sources: a number, or a letter and the number of the axis among its axes."""


class Layout(NamedTuple):
    """The origin of the axes of results, for arguments with given numbers of axes."""

    results: tuple[tuple[Dimension, ...], ...]
    reduced: tuple[Dimension, ...]
    """The axes of arguments that all results lack."""
    positions: Mapping[str, tuple[int, ...]]
    """The axes that each parameter names, counted from the front of the broadcast shape."""
    ndim: int
    """The number of axes of the broadcast leading axes."""


class Signature(NamedTuple):
    """The axes of all arguments and results of an operation."""

    arguments: tuple[Array, ...]
    results: tuple[Array, ...]
    text: str
    """The signature as it was written, without spaces."""

    def __str__(self) -> str:
        return self.text

    @property
    def is_elementwise(self) -> bool:
        """Whether all axes broadcast."""
        return all(each.broadcasts and not each.axes for each in (*self.arguments, *self.results))

    @property
    def has_letters_only(self) -> bool:
        """Whether no parameter has the position or size of an axis, so leading axes may be added."""
        return all(axis.kind == "letter" for each in (*self.arguments, *self.results) for axis in each.axes)

    @property
    def taken(self) -> frozenset[str]:
        """The parameters that name axes of arguments. Others name new axes of results."""
        return frozenset([each.named.name for each in self.arguments if each.named is not None])

    def argument(self, i: int) -> Array:
        """Return the axes of argument number `i`; the last one may be repeated."""
        return self.arguments[min(i, len(self.arguments) - 1)]

    def layout(self, ndims: Sequence[int], params: Mapping[str, Any], positions: Positions) -> Layout:
        """Return the origin of the axes of the results.

        Args:
            ndims: The number of axes of each argument, at least the number of its letters.
            params: The static parameters.
            positions: Returns the axes that a parameter names, given their total number.
        """
        leads = [ndim - len(self.argument(i).letters) for i, ndim in enumerate(ndims)]
        total = max(leads, default=0)
        found: dict[str, tuple[int, ...]] = {}
        for argument in self.arguments:
            axis = argument.named
            if axis is not None and axis.name not in found:
                found[axis.name] = positions(axis, total)
                if found[axis.name] and not total:
                    total = 1  # a number counts as one element
        sources: dict[int | str, list[tuple[int, int]]] = {}
        wholes: set[int | str] = set()
        equal: set[int | str] = set()
        for i, lead in enumerate(leads):
            argument = self.argument(i)
            axis = argument.named
            for j in range(lead):
                sources.setdefault(total - lead + j, []).append((i, j))
            if axis is not None:
                wholes.update(found[axis.name] if axis.whole else ())
                equal.update(found[axis.name] if all(each.named for each in self.arguments) else ())
            for j, each in enumerate([axis for axis in argument.axes if axis.kind == "letter"]):
                sources.setdefault(each.name, []).append((i, lead + j))
                equal.add(each.name)
                wholes.update(each.name if each.whole else ())
        dimensions = {
            label: Dimension(tuple(sources.get(label, ())), label in wholes, label not in equal)
            for label in (*range(total), *(label for label in sources if isinstance(label, str)))
        }
        left = dict(dimensions)
        named = {position: name for name, each in found.items() for position in each}
        results = [_dimensions(each, dimensions, left, named, total, params, positions, found) for each in self.results]
        return Layout(tuple(results), tuple(each for each in left.values() if each.sources), found, total)


def _dimensions(
    result: Array,
    dimensions: Mapping[int | str, Dimension],
    left: dict[int | str, Dimension],
    named: Mapping[int, str],
    total: int,
    params: Mapping[str, Any],
    positions: Positions,
    found: dict[str, tuple[int, ...]],
) -> tuple[Dimension, ...]:
    """Return the axes of one result, and remove them from the remaining axes."""
    keepdims = bool(params.get("keepdims"))
    one = Dimension((), True, size=1)
    own = result.named
    made: list[Dimension] = []
    for position in range(total if result.broadcasts else 0):
        name = named.get(position)
        if name is None or (own is not None and own.name == name):
            each = dimensions[position]
            left.pop(position, None)
            if name is not None and own is not None and own.size is not None:
                each = each._replace(size=(own.size, found[name].index(position)))
            made.append(each)
        elif keepdims:
            made.append(one)
    for axis in result.axes:
        if axis.kind == "letter":
            left.pop(axis.name, None)
            made.append(dimensions.get(axis.name) or Dimension((), axis.whole, size=(axis.name, 0)))
        elif axis.kind == "sized":
            size = params[axis.name]
            made.extend(
                Dimension((), axis.whole, size=n) for n in (size if isinstance(size, (tuple, list)) else (size,))
            )
    if keepdims:
        made.extend(one for label in dimensions if isinstance(label, str) and label not in result.letters)
    if own is None or own.name in found:
        return tuple(made)
    new = params.get(own.name, own.default)
    ndim = len(made) + (len(new) if isinstance(new, (tuple, list)) else 1)
    found[own.name] = positions(own, ndim)
    old = iter(made)
    size = 1 if own.size is None else (own.size, 0)
    return tuple([Dimension((), own.whole, size=size) if i in found[own.name] else next(old) for i in range(ndim)])


_ARRAY: Final = re.compile(r"(\*)?(?:([a-z]\w*):)?(\.\.\.)?(.*)")
_AXIS: Final = re.compile(
    r"(?P<letter>[a-z])|\((?P<named>\w+)(?:=(?P<default>-?\d+))?(?::(?P<size>[a-z]))?\)|\{(?P<sized>\w+)\}|(?P<bracket>[][])"
)


@lru_cache(maxsize=1024)
def parse(text: str) -> Signature:
    """Read a signature.

    Raises:
        ValueError: The signature doesn't follow the grammar, or its axes don't fit each other.

    >>> signature = parse("...ij,...jk->...ik")
    >>> layout = signature.layout((2, 2), {}, lambda axis, ndim: ())
    >>> [axis.sources for axis in layout.results[0]]
    [((0, 0),), ((1, 1),)]
    >>> [axis.sources for axis in layout.reduced]
    [((0, 1), (1, 0))]
    """
    written = text.replace(" ", "")
    sides = written.split("->")
    if len(sides) != 2:
        raise _error(text, "it must have one '->'")
    arguments, results = (tuple([_array(text, part) for part in side.split(",")]) for side in sides)
    given = {(axis.kind, axis.name) for each in arguments for axis in each.axes}
    if any(axis.kind == "sized" or axis.size is not None for each in arguments for axis in each.axes):
        raise _error(text, "only results have sizes of their own")
    if any(each.repeated for each in arguments[:-1]):
        raise _error(text, "only the last argument is repeated")
    if any(each.broadcasts for each in results) and not any(each.broadcasts for each in arguments):
        raise _error(text, "no argument has the axes '...' of the result")
    names = [each.name for each in arguments if each.name is not None]
    if len(set(names)) < len(names):
        raise _error(text, "names of arguments must be different")
    for each in (*arguments, *results):
        named = [axis for axis in each.axes if axis.kind == "named"]
        if named and not each.broadcasts:
            raise _error(text, "axes that a parameter names are among those of '...'")
        if len(named) > 1:
            raise _error(text, "one parameter names axes of an array")
    for result in results:
        for axis in result.axes:
            if axis.kind == "named" and axis.default is not None and ("named", axis.name) in given:
                raise _error(text, "the default of a parameter belongs to the argument")
    return Signature(arguments, results, written)


def shape_of(array: Array) -> str:
    """Return the shape of an argument as text: `(..., n, n)`."""
    parts = [*(["..."] if array.broadcasts else []), *array.letters]
    return f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"


def _array(text: str, part: str) -> Array:
    found = _ARRAY.fullmatch(part)
    assert found is not None  # the last group matches anything
    star, name, dots, rest = found.groups()
    axes, whole, end = [], False, 0
    for match in _AXIS.finditer(rest):
        if match.start() != end:
            break
        end = match.end()
        if match["bracket"]:
            if whole == (match["bracket"] == "["):
                raise _error(text, "brackets must be closed, and aren't nested")
            whole = not whole
        elif match["letter"]:
            axes.append(Axis("letter", match["letter"], whole))
        elif match["sized"]:
            axes.append(Axis("sized", match["sized"], whole))
        else:
            default = None if match["default"] is None else int(match["default"])
            axes.append(Axis("named", match["named"], whole, match["size"], default))
    if end != len(rest):
        raise _error(text, f"{rest[end:]!r} isn't an axis: write a letter, (parameter), {{parameter}} or [axes]")
    if whole:
        raise _error(text, "brackets must be closed, and aren't nested")
    return Array(name, star is not None, dots is not None, tuple(axes))


def _error(text: str, what: str) -> ValueError:
    return ValueError(f"axis signature {text!r}: {what}")
