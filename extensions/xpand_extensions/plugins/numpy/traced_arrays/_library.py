"""Namespaces of the libraries whose traced arrays take part in NumPy's protocols, and errors for their arrays."""

from typing import Any, ClassVar

import numpy as np

from xpand import library_name
from xpand_extensions.tracing._core import TracedError
from xpand_extensions.tracing._namespace import TracedNamespace


class ProtocolNamespace(TracedNamespace):
    """The namespace of traced arrays that NumPy's functions accept."""

    own_class: ClassVar[type]
    """The library's class of arrays."""
    takes_numpy: ClassVar[bool] = True
    """Whether the library's own arrays combine with NumPy's arrays in NumPy's functions."""
    shares_memory: ClassVar[bool] = True
    """Whether a write into an array changes its views."""
    ufuncs: dict[np.ufunc, Any]
    """The operations that are universal functions for all data types: a shorter path for calls without options."""
    ufuncs_of_floats: dict[np.ufunc, Any]
    """Those that are for real floating-point data types only."""

    def takes(self, x: Any, other: Any) -> bool:
        """Return whether operators of an array of this namespace accept the other operand.

        The operators of NumPy's arrays call universal functions, which convert them where the library does.
        """
        if self.takes_numpy and isinstance(other, np.ndarray) and self.own_class is not np.ndarray:
            return False
        return super().takes(x, other)


def other_library(name: str, namespace: ProtocolNamespace) -> TypeError:
    """Make the error for NumPy's own arrays together with traced arrays of a library that does not take them."""
    library = library_name(namespace.base)
    return TypeError(
        f"np.{name}: arrays of two libraries, traced arrays of {library} and NumPy's own arrays; convert these with "
        f"`xp.asarray`, where `xp = xpand.namespace({library!r})`"
    )


def check_shares_memory(name: str, x: Any) -> None:
    """Check that a function may write into a traced array.

    Raises:
        TracedError: The library's arrays share no memory, so that views would keep the old values.
    """
    namespace = x._namespace
    if not namespace.shares_memory:
        raise TracedError(
            f"np.{name}: arrays of {library_name(namespace.base)} share no memory, so a write into an array would not "
            "change the array that it is a part of; write an expression, such as `x = np.where(mask, values, x)`, or "
            "`x = scatter.at(x)[index].set(values)`"
        )
