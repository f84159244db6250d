"""Data types, shared memory, and texts of arrays."""

import inspect
from typing import Any

import numpy as np

from xpand import is_concrete
from xpand_extensions.tracing._array import concrete
from xpand_extensions.tracing._core import TracedArray

from .._arguments import array
from .._table import Implementation, find, implements, with_signature


def _dtype(x: Any) -> Any:
    is_array = isinstance(x, TracedArray)
    return x.dtype if is_array else x


@implements("result_type")
def _result_type(xp: Any, *arrays_and_dtypes: Any) -> Any:
    return np.result_type(*map(_dtype, arrays_and_dtypes))


@implements("common_type")
def _common_type(xp: Any, *arrays: Any) -> Any:
    return np.common_type(*(np.empty(0, dtype=array(xp, x).dtype) for x in arrays))


@implements("can_cast")
def _can_cast(xp: Any, from_: Any, to: Any, casting: Any = "safe") -> bool:
    return np.can_cast(_dtype(from_), _dtype(to), casting)


@implements("min_scalar_type")
def _min_scalar_type(xp: Any, a: Any) -> Any:
    return a.dtype if a.ndim else np.min_scalar_type(concrete(a, "np.min_scalar_type"))


implements("iscomplexobj")(lambda xp, x: xp.is_complex(array(xp, x).dtype))
implements("isrealobj")(lambda xp, x: not xp.is_complex(array(xp, x).dtype))


def _root(x: Any) -> Any:
    """Return the array whose memory a view shares."""
    while isinstance(x, TracedArray) and x._view is not None and x._view.base is not None:
        x = x._view.base
    return x


@implements("may_share_memory")
def _may_share_memory(xp: Any, a: Any, b: Any, max_work: Any = 0) -> bool:
    return _root(a) is _root(b)


@implements("shares_memory")
def _shares_memory(xp: Any, a: Any, b: Any, max_work: Any = -1) -> bool:
    if a is b:
        return bool(a.size)
    if _root(a) is not _root(b):
        return False
    raise TypeError(
        "np.shares_memory: traced arrays have no memory, so an overlap of two views is not known; use "
        "`np.may_share_memory`"
    )


def _text(name: str) -> Implementation:
    """Make a function that shows an array: its values, or where they are abstract, its shape and data type."""
    (first, *_) = inspect.signature(find(name)).parameters

    def show(xp: Any, **options: Any) -> str:
        x = options[first]
        return find(name)(**{**options, first: concrete(x, f"np.{name}")}) if is_concrete(x) else repr(x)

    return with_signature(name, show)


implements("array2string")(_text("array2string"))
implements("array_repr")(_text("array_repr"))
implements("array_str")(_text("array_str"))
