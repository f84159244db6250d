"""Conversion of arrays between libraries, without copies where possible; to bytes; to memory addresses.

Memory is shared wherever that is possible, so that a write to one array may show in the other: `copy=True` gives an
array of its own. A lazy array is computed. A traced array raises, because its derivatives would be lost.
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
