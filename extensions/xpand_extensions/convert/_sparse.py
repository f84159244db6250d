"""Conversion of sparse arrays by their parts."""

from collections.abc import Callable
from typing import Any

from xpand import array_namespace
from xpand.extend import Namespace

from ..sparse._convert import is_sparse as is_sparse
from ..sparse._libraries import module_of
from ..sparse._native import from_native, to_native
from ._dtypes import copy_needed


def has_sparse(cls: type) -> bool:
    """Return whether instances of a class of arrays may be sparse."""
    return module_of(cls) is not None


def converted(x: Any, xp: Namespace, copy: bool | None, convert: Callable[[Any], Any]) -> Any:
    """Convert the parts of a sparse array, and combine them in the same format.

    Plans that a library computed from the pattern are dropped.
    """
    a = from_native(x)
    here = array_namespace(a.values) is xp
    if a is not x:
        if here and not copy:
            return x
        if copy is False:
            raise copy_needed("the library's own sparse arrays are always copied")
    values, pattern = convert(a.values), tuple(convert(part) for part in a.pattern)
    if here and values is a.values and all(new is old for new, old in zip(pattern, a.pattern)):
        return x
    made = a._of(values, pattern, a._static())
    return made if a is x else to_native(made)
