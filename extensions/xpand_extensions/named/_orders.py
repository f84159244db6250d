"""Orders of axes that leave some open."""

from collections.abc import Sequence
from types import EllipsisType
from typing import Any

from . import _axis
from ._axis import Pair


def entries(function: str, axes: Any) -> tuple[Pair | EllipsisType, ...]:
    """Return the name and size of each axis, and each `...`, of a sequence that has both."""
    if isinstance(axes, (str, _axis.Axis)) or axes is Ellipsis:
        axes = (axes,)
    return tuple([axis if axis is Ellipsis else _axis.selector(function, axis) for axis in axes])


def completed(function: str, natural: tuple[str, ...], wanted: Sequence[str | EllipsisType]) -> tuple[str, ...]:
    """Return an order of axes. `...` stands for those that are not listed.

    Of several `...`, each but the last takes the axes before which, in the natural order, there is none that has no
    place yet.

    Raises:
        ValueError: An axis that isn't there, or twice, or one that has no place.
    """
    listed = [name for name in wanted if isinstance(name, str)]
    _axis.different(function, listed)
    if missing := [name for name in listed if name not in natural]:
        raise ValueError(f"{function}: no axis {', '.join(map(repr, missing))}; there are the axes {natural}")
    free = [name for name in natural if name not in listed]
    last = max([i for i, name in enumerate(wanted) if name is Ellipsis], default=None)
    if free and last is None:
        raise ValueError(
            f"{function}: the order {tuple(listed)} lacks {', '.join(map(repr, free))} of the axes {natural}; list "
            "them, or write ... for the rest"
        )
    found: list[str] = []
    for i, name in enumerate(wanted):
        if isinstance(name, str):
            found.append(name)
            continue
        for each in list(free):
            if i == last or all(before in found for before in natural[: natural.index(each)]):
                found.append(each)
                free.remove(each)
    return tuple(found)
