"""Precision: the default data types of new arrays, and the precision of matrix products.

A setting applies to all libraries and changes only defaults: existing arrays keep their data types, and promotion
follows the standard.
"""

from collections.abc import Callable
from types import TracebackType
from typing import Any, Final, Literal, Protocol, TypeAlias, TypeVar, get_args

from xpand import array_namespace, trees
from xpand._precision import MATMUL, PRECISION, DefaultKind, Precision, current, precision_of
from xpand.extend import (
    Array,
    Device,
    DType,
    Namespace,
    checks,
    default_dtype as default_for,
    describe,
    namespace_or_default,
)

from ._transforms import as_array
from ._transforms_patterns import flatten_values, unflatten

__all__ = [
    "MatmulPrecision",
    "PrecisionBlock",
    "default_dtype",
    "get_matmul_precision",
    "get_precision",
    "matmul_precision",
    "precision",
    "set_matmul_precision",
    "set_precision",
    "to_complex",
    "to_float",
    "to_int",
]
__dir__ = __all__.copy


_Target = Callable[[Namespace, Array, Any], DType]


def to_float(tree: trees.Tree, /) -> trees.Tree:
    """Convert arrays to real floating-point numbers of the current precision.

    Args:
        tree: An array, a Python number, or a tree of them: real, integer or boolean. In sparse containers, the
            values are converted.

    Returns:
        The tree with arrays of the default real data type (see `default_dtype`). If no precision is set, floating-point
        arrays stay unchanged. An array that already has the data type is returned unchanged.

    Raises:
        TypeError: A leaf is neither an array nor a number, or complex: take `xp.real` of it first.
        UnsupportedError: The library, or the device, lacks the data type.

    Source: PhiML's `to_float`.

    >>> import numpy as np
    >>> to_float(np.asarray([1, 2]))
    array([1., 2.])
    """
    return _converted("to_float", tree, _float_for)


def to_complex(tree: trees.Tree, /) -> trees.Tree:
    """Convert arrays to complex numbers of the current precision.

    Args:
        tree: An array, a Python number, or a tree of them. In sparse containers, the values are converted.

    Returns:
        The tree with arrays of the default complex data type (see `default_dtype`). If no precision is set, complex
        arrays stay unchanged, and real ones become complex with parts of the same precision. An array that already has
        the data type is returned unchanged.

    Raises:
        TypeError: A leaf is neither an array nor a number.
        UnsupportedError: The library, or the device, lacks the data type.

    Source: PhiML's `to_complex`.

    >>> import numpy as np
    >>> to_complex(np.asarray([1.0, 2.0], dtype=np.float32)).dtype
    dtype('complex64')
    """
    return _converted("to_complex", tree, _complex_for)


def to_int(tree: trees.Tree, /) -> trees.Tree:
    """Convert arrays to integers of the current precision. Fractions are dropped.

    Args:
        tree: An array, a Python number, or a tree of them: real, integer or boolean. In sparse containers, the
            values are converted.

    Returns:
        The tree with arrays of the default integer data type (see `default_dtype`). If no precision is set, integer
        arrays stay unchanged. The result for NaN, and for numbers that the data type can't hold, depends on the
        library. An array that already has the data type is returned unchanged.

    Raises:
        TypeError: A leaf is neither an array nor a number, or complex: take `xp.real` of it first.

    Source: PhiML's `to_int32` and `to_int64`.

    >>> import numpy as np
    >>> to_int(np.asarray([1.5, -1.5]))
    array([ 1, -1])
    """
    return _converted("to_int", tree, _int_for)


def _converted(function: str, tree: trees.Tree, target: _Target) -> trees.Tree:
    leaves, structure = flatten_values(tree)
    like = next((leaf for leaf in leaves if checks.is_array(leaf)), None)

    def convert(leaf: Any) -> Array:
        x = as_array(f"{function}: the tree holds", leaf, like)
        xp = array_namespace(x)
        kind = checks.kind(xp, x.dtype)
        if kind is None or (kind == "complex" and target is not _complex_for):
            raise TypeError(
                f"{function}: takes real, integer and boolean arrays, got {x.dtype}; take `xp.real(x)` of complex "
                "numbers first"
            )
        dtype = target(xp, x, kind)
        return x if dtype == x.dtype else xp.astype(x, dtype)

    return unflatten(structure, [convert(leaf) for leaf in leaves])


def _is_set() -> bool:
    return PRECISION.active and current() is not None


def _float_for(xp: Namespace, x: Array, kind: Any) -> DType:
    return x.dtype if kind == "real" and not _is_set() else default_for(xp, "real floating", checks.device_of(x))


def _complex_for(xp: Namespace, x: Array, kind: Any) -> DType:
    if kind in checks.FLOATING and not _is_set():
        if kind == "complex":
            return x.dtype
        return xp.complex128 if x.dtype == xp.float64 else xp.complex64
    return default_for(xp, "complex floating", checks.device_of(x))


def _int_for(xp: Namespace, x: Array, kind: Any) -> DType:
    if kind in checks.INTEGERS and not _is_set():
        return x.dtype
    return default_for(xp, "integral", checks.device_of(x))


F = TypeVar("F", bound=Callable[..., Any])

MatmulPrecision: TypeAlias = Literal["highest", "high", "medium"]
"""The accuracy of products of float32 matrices: all 24 bits, about half of them, or about a third."""

_BITS: Final = (16, 32, 64)
_REAL: Final = ("float16", "bfloat16", "float32", "float64")
_INTEGERS: Final = ("int32", "int64")


class PrecisionBlock(Protocol):
    """A setting inside a `with` block, or, as a decorator, inside the calls of a function."""

    def __enter__(self) -> None: ...

    def __exit__(
        self, cls: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None, /
    ) -> bool | None: ...

    def __call__(self, function: F, /) -> F: ...


def precision(real: int | str | DType | None, /, *, integer: int | str | DType | None = None) -> PrecisionBlock:
    """Set the data types of new arrays inside a `with` block, on every library.

    The setting applies to the standard's creation functions in xpand's namespaces (`zeros`, `ones`, `empty`, `full`,
    `arange`, `linspace`, `eye`, `asarray` of Python numbers, `fft.fftfreq`, `fft.rfftfreq`), to random numbers, and to
    all other functions of xpand that make new arrays. An explicit `dtype=` has priority. Libraries that xpand doesn't
    wrap ignore the setting: pass `dtype=default_dtype(xp=xp)`.

    The block applies only to its thread or asyncio task. Functions compiled inside the block, by `jit`, `jax.jit` or
    `torch.compile`, use its setting. JAX has 64-bit types only if they are enabled: if they are needed, the block
    enables them in its thread, and restores the setting at its end.

    Args:
        real: 16, 32 or 64 bits; or a real floating-point data type of any library, or its name, such as "bfloat16".
            None: each library's own defaults, also inside a block with another precision (PyTorch's own is
            `torch.get_default_dtype()`, which `set_precision` sets).
        integer: 32 or 64 bits, or one of these data types. By default: 64 where `real` has 64, else 32.

    Returns:
        The context manager, which is also a decorator. The parts of complex numbers have 64 bits if `real` has 64, else
        32: no library computes with complex numbers of half precision.

    Raises:
        TypeError: An argument is not such a data type.
        ValueError: Another number of bits.

    Functions that make arrays raise `UnsupportedError` if the library, or the device, lacks the data type: NumPy has no
    bfloat16, Apple's GPUs have no float64. No other type is used instead.

    Source: PhiML's `precision`; 64-bit types on JAX are `jax.enable_x64`.

    >>> from xpand import namespace
    >>> xp = namespace("numpy")
    >>> with precision(32):
    ...     print(xp.zeros(3).dtype, xp.asarray([1, 2]).dtype, xp.asarray(1j).dtype)
    float32 int32 complex64
    >>> print(xp.zeros(3).dtype)
    float64
    """
    return PRECISION.block(_setting("precision", real, integer))


def set_precision(real: int | str | DType | None, /, *, integer: int | str | DType | None = None) -> None:
    """Set the data types of new arrays for the process, outside of `precision` blocks.

    This also makes `real` PyTorch's own default data type, and enables JAX's 64-bit types if they are needed. Another
    precision, or None, restores both.

    Args:
        real: As for `precision`. None: each library's own defaults again.
        integer: As for `precision`.

    Raises:
        TypeError, ValueError: As `precision`.

    Source: PhiML's `set_global_precision`.

    >>> set_precision(32)
    >>> get_precision()
    32
    >>> set_precision(None)
    """
    PRECISION.set(_setting("set_precision", real, integer))


def get_precision(xp: Namespace | str | None = None) -> int:
    """Return the number of bits of new real arrays, by the current precision or the library's default.

    Args:
        xp: The namespace of the library, or its name; the default one if omitted.

    Raises:
        TypeError, ValueError, ModuleNotFoundError: `xp` is no namespace and no library's name.

    >>> get_precision("numpy")
    64
    """
    setting = current()
    if setting is not None:
        return setting.bits
    found = namespace_or_default(xp, "get_precision")
    return int(found.finfo(default_for(found)).bits)


def default_dtype(
    kind: DefaultKind = "real floating", /, *, xp: Namespace | str | None = None, device: Device | None = None
) -> DType:
    """Return the default data type of new arrays.

    Args:
        kind: "real floating", "complex floating", "integral" or "indexing", as in the standard's `default_dtypes`. A
            precision does not change "indexing", the type of the indices that functions return.
        xp: The namespace of the library, or its name; the default one if omitted.
        device: The device of the array.

    Raises:
        TypeError, ValueError, ModuleNotFoundError: `xp` is no namespace and no library's name, or there is no such
            kind.
        UnsupportedError: The library, or the device, lacks the data type of the current precision.

    >>> default_dtype(xp="numpy")
    dtype('float64')
    >>> with precision(32):
    ...     default_dtype("complex floating", xp="numpy")
    dtype('complex64')
    """
    checks.choice("default_dtype", "kind", kind, get_args(DefaultKind))
    return default_for(namespace_or_default(xp, "default_dtype"), kind, device)


def matmul_precision(level: MatmulPrecision | None, /) -> PrecisionBlock:
    """Set the precision of float32 matrix products inside a `with` block.

    GPUs and TPUs multiply matrices of shorter numbers several times as fast as float32. "high" permits TensorFloat32,
    or two or three bfloat16 numbers in place of one float32; "medium" permits bfloat16. Sums and results are still
    float32. Other data types and CPUs are not affected. The setting is `jax.default_matmul_precision` ("high", and
    "default" for "medium"), `torch.set_float32_matmul_precision`, and CuPy's compute type. Other libraries use all
    bits.

    On JAX, the block applies to its thread. PyTorch and CuPy have one setting for the process: the block entered last,
    by any thread, determines it, and the end of the last block restores it.

    Args:
        level: "highest", "high" or "medium"; None: the level of the process.

    Raises:
        TypeError, ValueError: Not one of them.

    >>> with matmul_precision("high"):
    ...     get_matmul_precision()
    'high'
    """
    return MATMUL.block(checks.choice("matmul_precision", "level", level, (*get_args(MatmulPrecision), None)))


def set_matmul_precision(level: MatmulPrecision | None, /) -> None:
    """Set the precision of float32 matrix products for the process, outside of `matmul_precision` blocks.

    Args:
        level: As for `matmul_precision`; None restores the earlier values of the libraries' own settings.

    Raises:
        TypeError, ValueError: Not one of them.

    >>> set_matmul_precision("high")
    >>> set_matmul_precision(None)
    """
    MATMUL.set(checks.choice("set_matmul_precision", "level", level, (*get_args(MatmulPrecision), None)))


def get_matmul_precision() -> MatmulPrecision | None:
    """Return the precision of float32 matrix products; None if each library's own setting applies.

    >>> get_matmul_precision() is None
    True
    """
    return MATMUL.current() or MATMUL.value  # type: ignore[return-value]


def _setting(function: str, real: Any, integer: Any) -> Precision | None:
    if real is None:
        if integer is not None:
            raise TypeError(
                f"{function}: integer={integer!r} is set together with a precision of real numbers, not None"
            )
        return None
    name = _name(function, "the precision", real, _BITS, _REAL, "a real floating-point data type")
    if integer is None:
        return precision_of(name)
    found = _name(function, "integer", integer, _BITS[1:], _INTEGERS, "int32 or int64")
    return precision_of(name, found if isinstance(found, str) else f"int{found}")


def _name(function: str, what: str, value: Any, bits: tuple[int, ...], names: tuple[str, ...], takes: str) -> int | str:
    listed = f"{', '.join(map(str, bits[:-1]))} or {bits[-1]}"
    value = checks.plain_integer(value)
    if isinstance(value, int) and not isinstance(value, bool):
        if value not in bits:
            raise ValueError(f"{function}: {what} must have {listed} bits, got {value}")
        return value
    # Libraries write data types in different ways: `torch.float32`, `<class 'numpy.float32'>`, `float32`.
    name = value.__name__ if hasattr(value, "__name__") else str(value).rpartition(".")[2]
    if name not in names or isinstance(value, (bool, float, complex)):
        raise TypeError(
            f"{function}: {what} must be a number of bits, {listed}, or {takes}, got {value!r} ({describe(value)})"
        )
    return name
