"""The limits of data types, for libraries whose data types are NumPy's."""

from typing import Any

from .._typing import DType


class FloatInfo:
    """The limits of a floating-point data type: NumPy's `finfo`, the standard's attributes as Python numbers.

    `finfo` of the standard has `eps`, `max`, `min` and `smallest_normal` of type float, so that using one in an
    expression does not promote an array of lower precision. Everything else that NumPy's offers is passed on.
    """

    __slots__ = ("_native", "bits", "dtype", "eps", "max", "min", "smallest_normal")

    def __init__(self, native: Any) -> None:
        # A Python float can't hold the limits of long doubles: those stay NumPy scalars.
        number = float if native.bits <= 64 else lambda value: value
        self._native = native
        self.bits = int(native.bits)
        self.dtype = native.dtype
        self.eps = number(native.eps)
        self.max = number(native.max)
        self.min = number(native.min)
        self.smallest_normal = number(native.smallest_normal)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # what copying and pickling probe for before _native is there
            raise AttributeError(name)
        return getattr(self._native, name)

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (type(self._native), self.dtype)

    def __str__(self) -> str:
        return str(self._native)

    def __repr__(self) -> str:
        return repr(self._native)


def _restore(native: Any, dtype: DType) -> FloatInfo:
    return FloatInfo(native(dtype))
