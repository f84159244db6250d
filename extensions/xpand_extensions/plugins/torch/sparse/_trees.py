"""Containers as nodes of PyTorch's trees."""

from functools import partial
from typing import Any

from xpand.torch import _private as private
from xpand_extensions.sparse._containers import Sparse
from xpand_extensions.sparse._trees import CLASSES


def _flatten(a: Sparse) -> tuple[list[Any], Any]:
    # None is a leaf for PyTorch, and leaves must be tensors.
    planned = a._plan is not None
    return [a._values, *a.pattern, *([a._plan] if planned else ())], (a._static(), planned)


def _unflatten(cls: type[Sparse], children: Any, context: Any) -> Sparse:
    (values, *pattern), (static, planned) = children, context
    return cls._of(values, tuple(pattern[:-1] if planned else pattern), static, pattern[-1] if planned else None)


for _class in CLASSES:
    private.register_node(
        _class, _flatten, partial(_unflatten, _class), serialized_type_name=f"{_class.__module__}.{_class.__name__}"
    )
