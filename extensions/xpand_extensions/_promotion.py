"""The data type that arrays of several promote to, or the error that they don't."""

from typing import Final

from xpand import _arguments
from xpand._typing import Array, DType, Namespace

_MIXTURES: Final = (frozenset({"real", "complex"}), frozenset({"signed", "unsigned"}))


def promote(function: str, xp: Namespace, **arrays: Array) -> tuple[Array, ...]:
    """Bring named arrays to the data type that they promote to by the standard.

    Raises:
        TypeError: The standard does not promote them.
    """
    first, *rest = arrays.values()
    if all(x.dtype == first.dtype for x in rest):
        return first, *rest
    dtype = _promoted(function, xp, arrays)
    return tuple(x if x.dtype == dtype else xp.astype(x, dtype) for x in arrays.values())


def _promoted(function: str, xp: Namespace, arrays: dict[str, Array]) -> DType:
    dtypes = [x.dtype for x in arrays.values()]
    kinds = frozenset(_arguments.kind(xp, dtype) for dtype in dtypes)
    # The standard promotes uint64 with no signed type.
    unpromoted = "signed" in kinds and any(
        _arguments.kind(xp, dtype) == "unsigned" and _arguments.integer_range(xp, dtype)[1] >= 2**64 - 1
        for dtype in dtypes
    )
    if unpromoted or (len(kinds) > 1 and kinds not in _MIXTURES):
        listed = ", ".join(f"{name} of {x.dtype}" for name, x in arrays.items())
        raise TypeError(
            f"{function}: takes data types that the standard promotes to one, got {listed}; convert one of them "
            "first, with `xp.astype`"
        )
    return xp.result_type(*dtypes)
