"""Sparse matrices with traced values. Products go entry by entry, for which there are derivatives."""

from collections.abc import Callable
from typing import Any

from xpand import array_namespace, trees
from xpand.extend import Array, LibraryNamespace, is_array

from ...generic.sparse import coo_product as coo_product
from ...tracing._array import concrete


def eagerly(function: Callable[..., Any], /, *arrays: Array) -> Any:
    namespace: LibraryNamespace = array_namespace(*arrays)
    # In the traced namespace, `zeros` would become an operation of the graph, and its values unknown.
    found = function(*[concrete(x, "sparse") for x in arrays])
    return trees.map(lambda x: namespace.wrap(x) if is_array(x) else x, found)
