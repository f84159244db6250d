"""The types that public signatures speak of.

An array of "any library" has no common static type that a checker could verify across libraries, so `Array`, `DType`
and `Device` are names for `Any`: they document the signature and leave the call site free.
"""

from collections.abc import Sequence
from types import ModuleType
from typing import Any, TypeAlias

Array: TypeAlias = Any
"""An array of any library that follows the standard."""

DType: TypeAlias = Any
"""A data type of the library of the arrays at hand."""

Device: TypeAlias = Any
"""A device of the library of the arrays at hand."""

Namespace: TypeAlias = ModuleType
"""A namespace that follows the array API standard."""

Scalar: TypeAlias = bool | int | float | complex
"""A Python scalar: weakly typed, it takes the data type of the array it meets."""

Axis: TypeAlias = int | Sequence[int] | None
"""One axis, several, or all."""
