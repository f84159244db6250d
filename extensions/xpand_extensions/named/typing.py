"""Annotations for the axes, and the kind of data type, of named arrays.

`NamedArray["batch", "feature"]` is `typing.Annotated[NamedArray, AxesSpec(…)]`. Annotations are not checked
automatically; `x.matches_axes(annotation)` checks them.

| annotation | axes |
| --- | --- |
| `NamedArray["batch", "feature"]`, `NamedArray["batch feature"]` | these, in this order |
| `NamedArray["batch ... feature"]` | others between them |
| `NamedArray[{"batch", "feature"}]` | these, in any order |
| `NamedArray[{"batch", "feature", ...}]` | these and others, in any order |
| `NamedArray["batch feature=3"]` | with a size |
| `Float[NamedArray, "batch feature"]` | with floating-point numbers |

>>> import numpy as np
>>> from xpand import named as hax
>>> x = hax.named(np.ones((2, 3)), ("batch", "feature"))
>>> x.matches_axes(NamedArray["batch", ...]), x.matches_axes("feature batch"), x.matches_axes({"feature", "batch"})
(True, False, True)
>>> x.matches_axes(Float[NamedArray, "batch feature=3"]), x.matches_axes(Int[NamedArray, "..."])
(True, False)
"""

from collections.abc import Sequence, Set as AbstractSet
from dataclasses import dataclass, replace
from typing import Annotated, Any, Final, get_args, get_origin

from xpand import array_namespace
from xpand.extend import describe

from . import _axis
from ._array import NamedArray
from ._methods import bind, method

__all__ = [
    "AxesSpec",
    "Bool",
    "Complex",
    "Complex64",
    "Complex128",
    "Float",
    "Float16",
    "Float32",
    "Float64",
    "Int",
    "Int8",
    "Int16",
    "Int32",
    "Int64",
    "Num",
    "UInt",
    "UInt8",
    "UInt16",
    "UInt32",
    "UInt64",
]
__dir__ = __all__.copy


@dataclass(frozen=True)
class AxesSpec:
    """The axes that an annotation requires.

    Args:
        first: The names and sizes of the first axes. A size is None if every size is accepted.
        last: The same for the last axes, after an ellipsis.
        ordered: Whether their order matters.
        others: Whether other axes are accepted.
        kind: The kind of data type, as in the standard's `isdtype`, or the name of a data type. None accepts all.
    """

    first: tuple[tuple[str, int | None], ...]
    last: tuple[tuple[str, int | None], ...] = ()
    ordered: bool = True
    others: bool = False
    kind: str | None = None

    def matches(self, x: NamedArray) -> bool:
        """Return whether a named array has these axes and a data type of this kind."""
        own = x.shape
        wanted = (*self.first, *self.last)
        if len(wanted) > len(own) or (len(wanted) < len(own) and not self.others):
            return False
        if self.ordered:
            end = x.names[len(own) - len(self.last) :]
            if (*x.names[: len(self.first)], *end) != tuple([name for name, _ in wanted]):
                return False
        if not all(name in own and size in (None, own[name]) for name, size in wanted):
            return False
        return self.kind is None or _is_kind(x, self.kind)


def _is_kind(x: NamedArray, kind: str) -> bool:
    xp = array_namespace(x.array)
    wanted = kind if kind in _KINDS else getattr(xp, kind, None)
    return wanted is not None and bool(xp.isdtype(x.array.dtype, wanted))


def spec_of(function: str, axes: Any) -> AxesSpec:
    """Read an annotation, a string, names, or a set of them.

    Raises:
        TypeError: The argument is none of these.
        ValueError: There are two ellipses, a name twice, or a size that is not a number.
    """
    if isinstance(axes, AxesSpec):
        return axes
    if get_origin(axes) is Annotated:
        for each in get_args(axes)[1:]:
            if isinstance(each, AxesSpec):
                return each
    if isinstance(axes, str):
        axes = tuple(axes.split())
    if isinstance(axes, AbstractSet):
        named = _entries(function, [each for each in axes if not _is_dots(each)])
        return AxesSpec(tuple(sorted(named)), ordered=False, others=any(map(_is_dots, axes)))
    if axes is Ellipsis or isinstance(axes, _axis.Axis):
        axes = (axes,)
    if not isinstance(axes, Sequence):
        raise TypeError(
            f"{function}: takes a string, names of axes, a set of them, or an annotation, got {describe(axes)}"
        )
    entries = [part for each in axes for part in (each.split() if isinstance(each, str) else [each])]
    dots = [i for i, each in enumerate(entries) if _is_dots(each)]
    if len(dots) > 1:
        raise ValueError(f"{function}: takes one ellipsis, got {len(dots)}")
    if not dots:
        return AxesSpec(_entries(function, entries))
    first, last = _entries(function, entries[: dots[0]]), _entries(function, entries[dots[0] + 1 :])
    _axis.different(function, [name for name, _ in (*first, *last)])
    return AxesSpec(first, last, others=True)


def _is_dots(entry: Any) -> bool:
    return entry is Ellipsis or entry == "..."


def _entries(function: str, entries: Sequence[Any]) -> tuple[tuple[str, int | None], ...]:
    found = []
    for each in entries:
        name, equals, size = each.partition("=") if isinstance(each, str) else ("", "", "")
        if equals and not size.isdecimal():
            raise ValueError(f"{function}: the size of axis {name!r} must be a number, got {size!r} in {each!r}")
        found.append((name, int(size)) if equals else _axis.selector(function, each))
    _axis.different(function, [name for name, _ in found])
    return tuple(found)


def _annotation(cls: type, axes: Any) -> Any:
    return Annotated[cls, spec_of("NamedArray[...]", axes)]


@method
def matches_axes(x: NamedArray, spec: Any) -> bool:
    """Return whether an array has the axes of an annotation, of a string, or of names."""
    return spec_of("matches_axes", spec).matches(x)


bind("__class_getitem__", classmethod(_annotation))


class Kind:
    """Annotations for a kind of data type: `Float[NamedArray, "batch feature"]`."""

    def __init__(self, name: str, kind: str) -> None:
        self._name = name
        self._kind = kind

    def __getitem__(self, item: Any) -> Any:
        """Return the annotation of a pair: `NamedArray`, and axes."""
        if not isinstance(item, tuple) or len(item) < 2 or item[0] is not NamedArray:
            raise TypeError(f"{self._name}[...]: takes NamedArray and axes, got {describe(item)}")
        axes = item[1] if len(item) == 2 else item[1:]
        return Annotated[NamedArray, replace(spec_of(f"{self._name}[...]", axes), kind=self._kind)]

    def __repr__(self) -> str:
        return self._name

    def __reduce__(self) -> str:
        return self._name  # pickled by its name, since there is one of each


_KINDS: Final = frozenset(
    {"bool", "complex floating", "real floating", "signed integer", "unsigned integer", "numeric"}
)
Bool = Kind("Bool", "bool")
Complex = Kind("Complex", "complex floating")
Float = Kind("Float", "real floating")
Int = Kind("Int", "signed integer")
UInt = Kind("UInt", "unsigned integer")
Num = Kind("Num", "numeric")
Float16 = Kind("Float16", "float16")
Float32 = Kind("Float32", "float32")
Float64 = Kind("Float64", "float64")
Complex64 = Kind("Complex64", "complex64")
Complex128 = Kind("Complex128", "complex128")
Int8 = Kind("Int8", "int8")
Int16 = Kind("Int16", "int16")
Int32 = Kind("Int32", "int32")
Int64 = Kind("Int64", "int64")
UInt8 = Kind("UInt8", "uint8")
UInt16 = Kind("UInt16", "uint16")
UInt32 = Kind("UInt32", "uint32")
UInt64 = Kind("UInt64", "uint64")
