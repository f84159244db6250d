"""The data types that arrays get where none is named: the one place that holds them.

With nothing set they are each library's own. A precision sets them for all libraries alike; the creation functions of
the namespaces, random numbers, and all other functions that make arrays ask here. Existing arrays, and promotion,
have no part in it.
"""

from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from ._errors import UnsupportedError
from ._imports import trace_instead
from ._namespace import library_name
from ._settings import Setting
from .typing import Device, DType, Namespace

DefaultKind: TypeAlias = Literal["real floating", "complex floating", "integral", "indexing"]


@dataclass(frozen=True, slots=True)
class Precision:
    """The default data types that are set, by name: libraries have types of their own under the same names."""

    bits: int
    real: str
    complex: str
    integral: str

    @property
    def is_wide(self) -> bool:
        """Whether one of them has parts of 64 bits, which JAX has to be told."""
        return self.real == "float64" or self.integral == "int64"


_REAL: Final = {"float16": 16, "bfloat16": 16, "float32": 32, "float64": 64}
_REAL_OF_BITS: Final = {16: "float16", 32: "float32", 64: "float64"}


def precision_of(real: str | int, integral: str | None = None) -> Precision:
    """Make the setting of a real data type's name, or of a number of bits: 16, 32 or 64.

    Integers have 64 bits with float64, and else 32. There are no complex numbers of half precision.
    """
    name = _REAL_OF_BITS[real] if isinstance(real, int) else real
    wide = name == "float64"
    return Precision(
        _REAL[name], name, "complex128" if wide else "complex64", integral or ("int64" if wide else "int32")
    )


PRECISION: Final[Setting[Precision]] = Setting("xpand_precision")

MATMUL: Final[Setting[str]] = Setting("xpand_matmul_precision")
"""How exact products of float32 matrices are: "highest", "high" or "medium"; libraries with a switch for it follow."""


def current() -> Precision | None:
    """Return the precision that is set here; None where each library has its own defaults."""
    return PRECISION.current()


def _current_while_compiling() -> Precision | None:
    block = PRECISION.thread.block
    return PRECISION.value if block is None else block.value


def compiled_for() -> Any:
    """Return the settings that compiled code depends on, where one is active: `active` of either."""
    return PRECISION.current(), MATMUL.current()


# torch.compile reads this instead. It can't trace a context variable; it guards the variables that it reads.
trace_instead(current, _current_while_compiling)


def default_dtype(xp: Namespace, kind: DefaultKind = "real floating", device: Device | None = None) -> DType:
    """Return the data type of new arrays of a kind: that of the precision set, else the library's own.

    Raises:
        UnsupportedError: The library, or the device, lacks the data type of the precision.
    """
    setting = current() if PRECISION.active else None
    if setting is None or kind == "indexing":
        return xp.__array_namespace_info__().default_dtypes(device=device)[kind]
    return named_dtype(xp, _name(setting, kind), device)


def _name(setting: Precision, kind: str) -> str:
    if kind == "real floating":
        return setting.real
    return setting.complex if kind == "complex floating" else setting.integral


def named_dtype(xp: Namespace, name: str, device: Device | None = None) -> DType:
    """Return the data type of a name.

    Raises:
        UnsupportedError: The library, or the device, has none.
    """
    dtype = getattr(xp, name, None)
    # The standard's types may be missing on a device; types beyond the standard, such as bfloat16, aren't listed.
    if dtype is None or (
        device is not None and name != "float16" and name != "bfloat16" and name not in dtypes_of(xp, device)
    ):
        target = library_name(xp) if dtype is None else f"{library_name(xp)} on the device {device}"
        raise UnsupportedError(
            f"precision: the current precision gives new arrays {name}, which {target} does not have; set another "
            "with `precision(32)`, or pass dtype="
        )
    # NumPy's name is a class of scalars, and Dask has no function that makes a data type of it.
    return getattr(xp, "dtype", xp.result_type)(dtype) if isinstance(dtype, type) else dtype


def dtypes_of(xp: Namespace, device: Device | None = None) -> dict[str, DType]:
    """Return the data types of a library by name. `kind` is stated: not every library has the standard's default."""
    found: dict[str, DType] = xp.__array_namespace_info__().dtypes(device=device, kind=None)
    return found


def dtype_for(xp: Namespace, kind: DefaultKind, device: Device | None = None) -> DType | None:
    """Return the data type that a creation function is to use; None for the library's default."""
    setting = current()
    return None if setting is None else named_dtype(xp, _name(setting, kind), device)
