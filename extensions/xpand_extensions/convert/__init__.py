"""Arrays of one library as arrays of another: without copies where both allow it; as bytes; as addresses.

Memory is shared wherever that is possible, so that a write to one array may show in the other: `copy=True`
gives an array of its own. Nothing is converted silently: the values of a lazy array are computed because they are asked
for, and arrays that a transformation traces, whose derivatives would be lost, raise.
"""

from .._modules import make_callable
from ._arrays import convert, exported, imported, to_numpy
from ._bytes import ByteOrder, from_bytes, to_bytes
from ._pointers import Pointer, from_pointer, pointer

__all__ = [
    "ByteOrder",
    "Pointer",
    "convert",
    "exported",
    "from_bytes",
    "from_pointer",
    "imported",
    "pointer",
    "to_bytes",
    "to_numpy",
]
__dir__ = __all__.copy

make_callable(__name__)
