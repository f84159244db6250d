"""Containers as nodes of JAX's trees."""

from functools import partial

import jax

from xpand_extensions.sparse._native import CLASSES, flatten, unflatten

for _class in CLASSES:
    jax.tree_util.register_pytree_node(_class, flatten, partial(unflatten, _class))
