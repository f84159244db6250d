"""Sparse containers as nodes of PyTorch's trees."""

from functools import partial

from xpand.torch import _private as private
from xpand_extensions.sparse._native import CLASSES, flatten, unflatten

for _class in CLASSES:
    private.register_node(_class, flatten, partial(unflatten, _class))
