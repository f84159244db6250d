"""Arguments of rules with `symbolic_zeros`: zero derivatives, and marks of the differentiated arguments."""

from dataclasses import dataclass
from math import prod
from typing import Any

from xpand import trees
from xpand.extend import DType, describe


@dataclass(frozen=True)
class SymbolicZero:
    """The derivative of an array that is not differentiated; rules with `symbolic_zeros` get and may return it.

    It has the shape and data type of an array and none of its operations. There is one class for all libraries.

    Source: `jax.custom_derivatives.SymbolicZero`.

    >>> import numpy as np
    >>> from xpand_extensions.autodiff import custom_jvp, jvp
    >>> f = custom_jvp(lambda x, y: x * y)
    >>> def rule(primals, tangents):
    ...     (x, y), (dx, dy) = primals, tangents
    ...     return x * y, dx * y if isinstance(dy, SymbolicZero) else dx * y + x * dy
    >>> f.defjvp(rule, symbolic_zeros=True) is rule
    True
    >>> jvp(lambda x: f(x, np.asarray(3.0)), (np.asarray(2.0),), (np.asarray(1.0),))[1]
    np.float64(3.0)
    """

    shape: tuple[int, ...]
    dtype: DType

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return prod(self.shape)


@dataclass
class CustomVJPPrimal:
    """An array or number of the arguments of `custom_vjp`, as `forward` gets it with `symbolic_zeros`.

    Source: `jax.custom_derivatives.CustomVJPPrimal`.
    """

    value: Any
    perturbed: bool
    """Whether a derivative with respect to it is taken; where it is False, its cotangent is not used."""


def custom_vjp_primal_tree_values(tree: trees.Tree) -> trees.Tree:
    """Return a tree of `CustomVJPPrimal` with each replaced by its value.

    Args:
        tree: An argument of the rule `forward` of a `custom_vjp` with `symbolic_zeros`.

    Raises:
        TypeError: The tree has another leaf.

    Source: `jax.custom_derivatives.custom_vjp_primal_tree_values`.

    >>> custom_vjp_primal_tree_values({"x": CustomVJPPrimal(2.0, perturbed=True)})
    {'x': 2.0}
    """

    def value(leaf: Any) -> Any:
        if not isinstance(leaf, CustomVJPPrimal):
            raise TypeError(
                "custom_vjp_primal_tree_values: takes arguments of the rule `forward` with symbolic_zeros, a tree of "
                f"CustomVJPPrimal; it holds {describe(leaf)}"
            )
        return leaf.value

    return trees.map(value, tree)
