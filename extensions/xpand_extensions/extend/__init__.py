"""The public interface for packages that add operations, derivatives, batching rules and libraries.

`pluggable` makes a function an operation that each library can implement in its own way. `register_rules` gives an
operation its own derivative, and its own batching rule or axis signature, for the transformations of every library.
`register_ufunc` gives traced arrays an implementation of another package's universal function.
`check_plugin` checks a package that implements xpand's operations for a library. `row_kernels` makes the package's
reads and writes at indices. The core's functions for extensions, such as the checks of arguments, are in
`xpand.extend`. The guide is in the documentation, under "Extend xpand".
"""

from .._capabilities import capabilities, check_plugin
from .._dispatch import Pluggable, forwards_to, in_one_namespace, pluggable
from .._transformed import Transformation, transformation
from .._where import clean_tracebacks
from ._derivatives import LINEAR, contribution, factor, joint, pullback, scale
from ._row_kernels import row_kernels
from ._rules import register_rules
from ._ufuncs import register_ufunc

__all__ = [
    "LINEAR",
    "Pluggable",
    "Transformation",
    "capabilities",
    "check_plugin",
    "clean_tracebacks",
    "contribution",
    "factor",
    "forwards_to",
    "in_one_namespace",
    "joint",
    "pluggable",
    "pullback",
    "register_rules",
    "register_ufunc",
    "row_kernels",
    "scale",
    "transformation",
]
