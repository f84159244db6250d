"""Preconditioners as nodes of PyTorch's trees."""

from functools import partial
from typing import Any

from xpand.torch import _private as private
from xpand_extensions.linear_solve._preconditioners import CLASSES, Preconditioner, flatten, unflatten


def _flatten(M: Preconditioner) -> tuple[list[Any], Any]:
    # None is a leaf for PyTorch, and leaves must be tensors.
    children, static = flatten(M)
    return [each for each in children if each is not None], ([each is not None for each in children], static)


def _unflatten(cls: type[Preconditioner], children: Any, context: Any) -> Preconditioner:
    is_there, static = context
    found = iter(children)
    return unflatten(cls, static, [next(found) if each else None for each in is_there])


for _class in CLASSES:
    private.register_node(
        _class, _flatten, partial(_unflatten, _class), serialized_type_name=f"{_class.__module__}.{_class.__name__}"
    )
