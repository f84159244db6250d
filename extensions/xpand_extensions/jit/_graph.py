"""Inspect a function without running it: its graph, its program as text, the shapes of its results."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any

from xpand import array_namespace, default_namespace, library_name, namespace, trees
from xpand.extend import Array, DType, Namespace, checks, describe

from .._dispatch import OPERATIONS, pluggable, untraceable
from .._signatures import keeps_parameters
from .._where import clean_tracebacks
from ._ahead import CompiledProgram, Executable, Lowered, Lowering, signature_of
from ._calls import NUMBERS, Flat, arrays_among, check_compiler, check_leaves
from ._statics import Statics, name_of


@dataclass(frozen=True, slots=True)
class ShapeDtype:
    """A placeholder for an array: its shape, and its data type or the name of one.

    >>> import numpy as np
    >>> ShapeDtype((2, 3), np.float32)
    ShapeDtype(shape=(2, 3), dtype=<class 'numpy.float32'>)
    """

    shape: tuple[int, ...]
    dtype: DType

    def __post_init__(self) -> None:
        """Check the shape."""
        object.__setattr__(self, "shape", checks.shape("ShapeDtype", "shape", self.shape))

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)


@untraceable
@keeps_parameters
@pluggable
def make_graph(
    function: Callable[..., Any],
    /,
    *,
    static_argnums: int | Sequence[int] | None = None,
    static_argnames: str | Iterable[str] | None = None,
) -> Callable[..., Any]:
    """Return a function that returns the graph of `function` for arguments of given shapes.

    Args:
        function: As in `jit`.
        static_argnums: As in `jit`.
        static_argnames: As in `jit`.

    Returns:
        A function of the same arguments. It uses only their shapes and data types, and any object with a shape and a
        data type can replace an array. The function returns a `jax.core.ClosedJaxpr` on JAX, and xpand's graph on other
        libraries. `str` returns its text.

    Raises:
        TypeError, ValueError: As `jit`.

    Source: `jax.make_jaxpr`.

    >>> import torch
    >>> make_graph(lambda x: torch.sin(x) * x)(torch.ones(2))
    graph(a: float32[2]) over torch:
        b: float32[2] = sin(a)
        c: float32[2] = multiply(b, a)
        return c
    """
    checks.function("make_graph", function)
    statics = Statics("make_graph", function, static_argnums, static_argnames)

    def traced(*args: Any, **kwargs: Any) -> Any:
        flat, leaves, like, _ = _call(statics, "make_graph", function, args, kwargs)
        return make_graph.native(*like)(flat)(*leaves)

    traced.__name__ = name_of(function)
    return traced


def _jit() -> Any:
    return OPERATIONS[f"{__package__}.jit"].facade


@untraceable
@keeps_parameters
@pluggable
def lower(
    function: Callable[..., Any],
    /,
    *,
    static_argnums: int | Sequence[int] | None = None,
    static_argnames: str | Iterable[str] | None = None,
    compiler: str | None = None,
) -> Callable[..., Lowered]:
    """Return a function that returns the program of `function` before compilation: `lower(f)(x).as_text()`.

    Arguments and errors are as in `jit`; `jit(function).lower` is the same. On libraries other than JAX, the text for a
    named compiler says which operations it leaves to the library, and why.

    Returns:
        A function of the same arguments. It returns a `Lowered`, whose method `compile` returns a `CompiledProgram`: a
        function of the non-static arguments, only for these shapes and data types. On JAX, it has XLA's `cost_analysis`
        and `memory_analysis`.

    Source: `jax.jit(function).lower`, formerly `jax.xla_computation`.

    >>> import torch
    >>> print(lower(torch.sin)(torch.ones(2)).as_text())
    graph(a: float32[2]) over torch:
        b: float32[2] = sin(a)
        return b
    >>> import numpy as np
    >>> lower(lambda x: 2 * x)(ShapeDtype((2,), np.float64)).compile()(np.ones(2))
    array([2., 2.])
    """
    checks.function("lower", function)
    check_compiler("lower", compiler)
    statics = Statics("lower", function, static_argnums, static_argnames)

    def lowered(*args: Any, **kwargs: Any) -> Lowered:
        flat, leaves, like, structure = _call(statics, "lower", function, args, kwargs)
        found: Any = lower.native(*like)(flat, compiler=compiler)(*leaves)
        lowering: Lowering = found

        def compiled() -> CompiledProgram:
            if lowering.compile is None:
                executable = Executable(_jit().native(*like)(flat, compiler=compiler), lowering.text)
            else:
                executable = lowering.compile()
            return CompiledProgram(executable, name_of(function), structure, tuple(map(signature_of, leaves)))

        return Lowered(lowering.text, compiled)

    return wraps(function)(lowered) if hasattr(function, "__name__") else lowered


def _call(
    statics: Statics, name: str, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Flat, list[Any], list[Array], trees.Structure]:
    """Split a call into a function of leaves, the leaves, arrays of their library, and the structure of the traced
    arguments.
    """
    traced, values = statics.divide(args, kwargs)
    leaves, structure = trees.flatten(traced)
    statics.check(values)
    leaves, like = _of_one_library(name, leaves, traced)
    return Flat(name, function, structure, values), leaves, like, structure


@untraceable
@clean_tracebacks
@pluggable
def eval_shape(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """Return the shapes and data types of a function's results, without computing them.

    Args:
        function: Takes trees of arrays and Python numbers and returns one.
        *args: Its arguments. Any object with a `shape` and a `dtype`, such as `ShapeDtype`, can replace an array. The
            data type may be a name.
        **kwargs: Its keyword arguments, likewise.

    Returns:
        The tree that the function returns, with a `ShapeDtype` in place of each array. The library is that of the
        arrays in the arguments. Without arrays, it is the library of the given data types. For names, it is the default
        library; also for NumPy's data types, if the default library uses them.

    Raises:
        TypeError: As `jit`; or a placeholder has a data type of another library.

    Source: `jax.eval_shape`.

    >>> import torch
    >>> x = ShapeDtype((1_000_000, 3_000_000), torch.float32)
    >>> eval_shape(lambda x: x @ x.T, x)
    ShapeDtype(shape=(1000000, 1000000), dtype=torch.float32)
    """
    checks.function("eval_shape", function)
    leaves, structure = trees.flatten((args, kwargs))
    leaves, like = _of_one_library("eval_shape", leaves, (args, kwargs))
    return eval_shape.native(*like)(Flat("eval_shape", function, structure, ()), *leaves)


def _of_one_library(name: str, leaves: Sequence[Any], traced: trees.Tree) -> tuple[list[Any], list[Array]]:
    """Return the leaves of a call, and arrays of its library. Abstract leaves become arrays of this library.

    Raises:
        TypeError: A leaf can't be traced, or stands for an array of another library.
    """
    check_leaves(name, trees.map(lambda x: 0 if _stands_for_array(x) else x, traced))
    standing = [x for x in leaves if _stands_for_array(x)]
    if not standing:
        return list(leaves), arrays_among(leaves)
    for x in standing:
        _check_dtype(name, x.dtype)
    arrays = [x for x in leaves if type(x) not in NUMBERS and not _stands_for_array(x)]
    if not arrays:
        named = next((x.dtype for x in standing if not isinstance(x.dtype, str)), None)
        arrays = [(default_namespace() if named is None else namespace_with(named)).asarray(0)]
    xp = array_namespace(*arrays)
    return [_with_dtype(name, x, xp) if _stands_for_array(x) else x for x in leaves], arrays


def _stands_for_array(x: Any) -> bool:
    return hasattr(x, "shape") and hasattr(x, "dtype") and not isinstance(x, type) and not checks.is_array(x)


def _with_dtype(name: str, x: Any, xp: Namespace) -> Any:
    """Return an abstract array with a library's own data type."""
    if library_of_dtype(x.dtype) in _libraries_of_dtypes(xp):
        return x
    if isinstance(x.dtype, str):
        return ShapeDtype(tuple(x.shape), getattr(xp, x.dtype))
    raise TypeError(
        f"{name}: arrays of two libraries: of {library_name(xp)}, and {describe(x)} with the data type {x.dtype}; name "
        f"the data type by a string, as {dtype_name(x.dtype)!r}, or use one of the arrays' library"
    )


def namespace_with(dtype: DType) -> Namespace:
    """Return the namespace with a data type; if several have it, prefer the default one."""
    default = default_namespace()
    return default if library_of_dtype(dtype) in _libraries_of_dtypes(default) else namespace(library_of_dtype(dtype))


def _libraries_of_dtypes(xp: Namespace) -> tuple[str, str]:
    return library_of_dtype(xp.float32), library_of_dtype(xp.asarray(0).dtype)


def library_of_dtype(dtype: DType) -> str:
    """Return the name of the package that defines a data type."""
    cls = dtype if isinstance(dtype, type) else type(dtype)
    return cls.__module__.partition(".")[0]


def dtype_of(function: str, dtype: DType, xp: Namespace) -> DType:
    """Convert a data type of another library to this library's data type of the same name. Return types without a name
    unchanged.

    Raises:
        TypeError: It is a string that is not the name of a data type, or a type of Python.
    """
    _check_dtype(function, dtype)
    return getattr(xp, dtype_name(dtype), dtype)


def _check_dtype(function: str, dtype: DType) -> None:
    if library_of_dtype(dtype) == "builtins" and not (isinstance(dtype, str) and checks.is_dtype_name(dtype)):
        what = repr(dtype) if isinstance(dtype, str) else describe(dtype)
        raise TypeError(
            f"{function}: a placeholder for an array must have a data type of a library, or the name of one, such as "
            f"'float64', got {what}"
        )


def dtype_name(dtype: DType) -> str:
    """Return NumPy's name of a data type of any library."""
    return str(getattr(dtype, "__name__", dtype)).rpartition(".")[2]
