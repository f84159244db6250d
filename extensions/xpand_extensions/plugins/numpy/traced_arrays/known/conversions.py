"""Arrays made of anything: `np.array(…, like=x)` and its like."""

from typing import Any

from .._collect import array
from .._table import implements


@implements("array")
def _array(xp: Any, object: Any, dtype: Any = None, *, copy: bool | None = True, ndmin: int = 0, ndmax: int = 0) -> Any:
    return array(xp, object, dtype, copy=copy, ndmin=ndmin, ndmax=ndmax)


@implements("asarray", "asanyarray")
def _asarray(xp: Any, a: Any, dtype: Any = None, *, copy: bool | None = None) -> Any:
    return array(xp, a, dtype, copy=copy)


@implements("asfortranarray")
def _asfortranarray(xp: Any, a: Any, dtype: Any = None) -> Any:
    return array(xp, a, dtype, copy=None)


@implements("ascontiguousarray")
def _ascontiguousarray(xp: Any, a: Any, dtype: Any = None) -> Any:
    return array(xp, a, dtype, copy=None, ndmin=1)


@implements("require")
def _require(xp: Any, a: Any, dtype: Any = None, requirements: Any = None) -> Any:
    return array(xp, a, dtype, copy=None)  # traced arrays have no layout in memory
