"""The rules of all operations: one table for each transformation, collected from the families.

A family is a module of this package. Its tables have the names below.
"""

import importlib
import pkgutil
from collections.abc import Mapping
from typing import Any, Final

from .._functions import BINARY, UNARY
from ._derived import Axes
from ._derived_batches import batching_rule
from ._derived_shapes import shape_rule

_FAMILIES: Final = [
    importlib.import_module(f"{__name__}.{module.name}")
    for module in pkgutil.iter_modules(__path__)
    if not module.name.startswith("_")
]


def _table(name: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for family in _FAMILIES:
        part: Mapping[str, Any] = getattr(family, name, {})
        twice = found.keys() & part.keys()
        assert not twice, f"two rules in {name} for {sorted(twice)}"
        found.update(part)
    return found


DERIVATIVES: Final = _table("DERIVATIVES")
"""The derivative in each array, see `extend._derivatives`."""
TRANSPOSES: Final = _table("TRANSPOSES")
"""The transpose in each array of a linear operation: `rule(xp, ct, *args, **params)`; linear arguments are `Aval`s."""
AXES: Final[dict[str, Axes]] = _table("AXES")
"""The axes of an operation. They determine its rules for batches and shapes."""
BATCHING: Final[dict[str, Any]] = {
    **{name: batching_rule(name, axes) for name, axes in AXES.items() if axes.has_batches},
    **_table("BATCHING"),
}
"""The operation on all batch elements: `rule(xp, mapped, *args, **params)`."""
SHAPES: Final[dict[str, Any]] = {**{name: shape_rule(name, axes) for name, axes in AXES.items()}, **_table("SHAPES")}
"""The shape and data type of the result: `rule(namespace, *avals, **params)`."""
DECOMPOSITIONS: Final = _table("DECOMPOSITIONS")
"""The operation in terms of others: `rule(xp, *args, **params)`."""
CONSTANT: Final = _table("CONSTANT")
"""The reason why an operation has no derivative."""
RESULTS: Final = _table("RESULTS")
"""The class of a result that consists of several arrays."""
LINEAR: Final = frozenset(name for family in _FAMILIES for name in getattr(family, "LINEAR_IN_ALL", ()))
"""Operations that are linear in all their arrays together."""
OVERRIDES: Final = _table("OVERRIDES")
"""Functions that an interpreter calls instead of its rules, by kind of interpreter."""
ELEMENTWISE: Final = frozenset((*UNARY, *BINARY, "astype", "clip", "where"))
"""Operations that act element by element, so they can run on parts of their arrays."""
