"""The default data types of new arrays.

By default, each library has its own. A precision sets them for all libraries. All functions that make arrays read them
here, such as the creation functions of the namespaces and random numbers. A precision does not affect existing arrays
or promotion.
"""

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from ._errors import UnsupportedError
from ._imports import trace_instead
from ._namespace import library_name
from ._settings import Setting
from .typing import Device, DType, Namespace

DefaultKind: TypeAlias = Literal["real floating", "complex floating", "integral", "indexing"]


@dataclass(frozen=True, slots=True)
class Precision:
    """The names of the default data types. Each library has its own types of these names."""

    bits: int
    real: str
    complex: str
    integral: str

    @property
    def is_wide(self) -> bool:
        """Whether a data type has parts of 64 bits, which JAX needs a switch for."""
        return self.real == "float64" or self.integral == "int64"


_REAL: Final = {"float16": 16, "bfloat16": 16, "float32": 32, "float64": 64}
_REAL_OF_BITS: Final = {16: "float16", 32: "float32", 64: "float64"}


def precision_of(real: str | int, integral: str | None = None) -> Precision:
    """Return the precision for the name of a real data type, or for a number of bits: 16, 32 or 64.

    Integers have 64 bits with float64, otherwise 32. Complex numbers have at least 64 bits: none have half precision.
    """
    name = _REAL_OF_BITS[real] if isinstance(real, int) else real
    wide = name == "float64"
    return Precision(
        _REAL[name], name, "complex128" if wide else "complex64", integral or ("int64" if wide else "int32")
    )


PRECISION: Final[Setting[Precision]] = Setting("xpand_precision", has_followers=True)

MATMUL: Final[Setting[str]] = Setting("xpand_matmul_precision", has_followers=True)
"""The precision of products of float32 matrices: "highest", "high" or "medium". Libraries with a switch follow it."""


def current() -> Precision | None:
    """Return the precision that is set here, or None if each library has its own defaults."""
    return PRECISION.current()


def _current_while_compiling() -> Precision | None:
    block = PRECISION.thread.block
    return PRECISION.value if block is None else block.value


# torch.compile cannot trace a context variable. It can read plain variables, and compiles again when they change.
trace_instead(current, _current_while_compiling)


def default_dtype(xp: Namespace, kind: DefaultKind = "real floating", device: Device | None = None) -> DType:
    """Return the data type of new arrays of a kind: that of the current precision, else the library's default.

    Raises:
        UnsupportedError: The library or the device lacks the data type of the precision.
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
    """Return the data type with a given name.

    Raises:
        UnsupportedError: The library or the device lacks this data type.
    """
    dtype = getattr(xp, name, None)
    # A device may lack data types of the standard. Other types, such as bfloat16, are not listed by device.
    if dtype is None or (
        device is not None and name != "float16" and name != "bfloat16" and name not in dtypes_of(xp, device)
    ):
        target = library_name(xp) if dtype is None else f"{library_name(xp)} on the device {device}"
        raise UnsupportedError(
            f"precision: the current precision gives new arrays {name}, which {target} does not have; set another "
            "with `precision(32)`, or pass dtype="
        )
    # In NumPy the name is a class of scalars, not a data type. Dask has no function `dtype` to convert it.
    return getattr(xp, "dtype", xp.result_type)(dtype) if isinstance(dtype, type) else dtype


def dtypes_of(xp: Namespace, device: Device | None = None) -> dict[str, DType]:
    """Return the data types of a library by name."""
    # Not every library has the standard's default for `kind`.
    return dict(xp.__array_namespace_info__().dtypes(device=device, kind=None))


def dtype_for(xp: Namespace, kind: DefaultKind, device: Device | None = None) -> DType | None:
    """Return the data type that a creation function should use, or None for the library's default."""
    setting = current()
    return None if setting is None else named_dtype(xp, _name(setting, kind), device)
