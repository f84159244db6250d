"""Conversion of arrays to other libraries, without copies if possible; to bytes; and to memory addresses.

Memory is shared whenever possible, so a write to one array may change the other. `copy=True` makes an independent
array. Lazy arrays are computed. Traced arrays raise, because their derivatives would be lost.
"""

from .._modules import make_callable
from ._arrays import convert, exported, imported, to_numpy
from ._bytes import ByteOrder, from_bytes, to_bytes
from ._collecting import collecting_traced
from ._pointers import Pointer, from_pointer, pointer

__all__ = [
    "ByteOrder",
    "Pointer",
    "collecting_traced",
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
