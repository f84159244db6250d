"""What a function computes, seen without running it: its graph, its text, the shapes of its results."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any

from xpand import _arguments, default_namespace, namespace, trees
from xpand._namespace import describe
from xpand._typing import Array, DType, Namespace

from .._dispatch import pluggable
from ._calls import NUMBERS, Flat, Statics, arrays_among, check_leaves, name_of


@dataclass(frozen=True, slots=True)
class ShapeDtype:
    """What stands for an array where only its shape and its data type matter.

    >>> import numpy as np
    >>> ShapeDtype((2, 3), np.float32)
    ShapeDtype(shape=(2, 3), dtype=<class 'numpy.float32'>)
    """

    shape: tuple[int, ...]
    dtype: DType

    def __post_init__(self) -> None:
        """Check the shape."""
        object.__setattr__(self, "shape", _arguments.shape("ShapeDtype", "shape", self.shape))

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)


@dataclass(frozen=True, slots=True)
class Lowered:
    """What a library would compile."""

    text: str

    def as_text(self) -> str:
        """Return it as text: StableHLO on JAX, a graph of ATen's operations on PyTorch, xpand's graph elsewhere."""
        return self.text


@pluggable
def make_graph(
    function: Callable[..., Any],
    /,
    *,
    static_argnums: int | Sequence[int] | None = None,
    static_argnames: str | Iterable[str] | None = None,
) -> Callable[..., Any]:
    """Make the function that returns the graph of another: what it computes for arguments of given shapes.

    Args:
        function: As in `jit`.
        static_argnums: As in `jit`.
        static_argnames: As in `jit`.

    Returns:
        A function of the same arguments, of which only shapes and data types matter; anything that has these can stand
        for an array. It returns the library's own graph: a `jax.core.ClosedJaxpr`, a `torch.fx.GraphModule`, or xpand's
        graph elsewhere; `str` of it is its text.

    Raises:
        TypeError, ValueError: As `jit`.

    Source: `jax.make_jaxpr`.

    >>> import torch
    >>> graph = make_graph(lambda x: torch.sin(x) * x)(torch.ones(2)).graph
    >>> [node.name for node in graph.nodes]
    ['arg0_1', 'sin', 'mul', 'output']
    """
    return _seen("make_graph", make_graph, function, static_argnums, static_argnames)


@pluggable
def lower(
    function: Callable[..., Any],
    /,
    *,
    static_argnums: int | Sequence[int] | None = None,
    static_argnames: str | Iterable[str] | None = None,
) -> Callable[..., Lowered]:
    """Make the function that returns what the library would compile of another: `lower(f)(x).as_text()`.

    Arguments and errors are those of `make_graph`; `jit(function).lower` is the same.

    Source: `jax.jit(function).lower`, before it `jax.xla_computation`.

    >>> import torch
    >>> "aten.sin" in lower(torch.sin)(torch.ones(2)).as_text()
    True
    """
    text = _seen("lower", lower, function, static_argnums, static_argnames)

    def lowered(*args: Any, **kwargs: Any) -> Lowered:
        return Lowered(text(*args, **kwargs))

    return wraps(function)(lowered) if hasattr(function, "__name__") else lowered


def _seen(
    name: str,
    operation: Any,
    function: Callable[..., Any],
    static_argnums: int | Sequence[int] | None,
    static_argnames: str | Iterable[str] | None,
) -> Callable[..., Any]:
    if not callable(function):
        raise TypeError(f"{name}: takes a function, got {describe(function)}")
    statics = Statics(name, function, static_argnums, static_argnames)

    def seen(*args: Any, **kwargs: Any) -> Any:
        traced, values = statics.divide(args, kwargs)
        leaves, structure = trees.flatten(traced)
        statics.check(values)
        native = operation.native(*_like(name, leaves, traced))
        return native(Flat(name, function, structure, values))(*leaves)

    seen.__name__ = name_of(function)
    return seen


@pluggable
def eval_shape(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """Return the shapes and data types of what a function returns, without computing it.

    Args:
        function: Takes trees of arrays and Python numbers and returns one.
        *args: Its arguments. Anything with a `shape` and a `dtype` can stand for an array, such as `ShapeDtype`.
        **kwargs: Its keyword arguments, likewise.

    Returns:
        The tree that the function returns, with a `ShapeDtype` in place of each array. The library is that of the
        arrays among the arguments; where there are none, the one whose data types are named, or, of the libraries that
        have NumPy's, the default one.

    Raises:
        TypeError: As `jit`.

    Source: `jax.eval_shape`.

    >>> import torch
    >>> x = ShapeDtype((1_000_000, 3_000_000), torch.float32)
    >>> eval_shape(lambda x: x @ x.T, x)
    ShapeDtype(shape=(1000000, 1000000), dtype=torch.float32)
    """
    if not callable(function):
        raise TypeError(f"eval_shape: takes a function, got {describe(function)}")
    leaves, structure = trees.flatten((args, kwargs))
    native = eval_shape.native(*_like("eval_shape", leaves, (args, kwargs)))
    return native(Flat("eval_shape", function, structure, ()), *leaves)


def _like(name: str, leaves: Sequence[Any], traced: trees.Tree) -> list[Array]:
    """Return arrays of the library of a call's leaves, some of which may only stand for arrays."""
    standing = [x for x in leaves if _stands_for_array(x)]
    arrays = [x for x in leaves if type(x) not in NUMBERS and not _stands_for_array(x)]
    check_leaves(name, trees.map(lambda x: 0 if _stands_for_array(x) else x, traced))
    if standing and not arrays:
        return [namespace_with(standing[0].dtype).asarray(0)]
    return arrays_among(arrays or leaves)


def _stands_for_array(x: Any) -> bool:
    return hasattr(x, "shape") and hasattr(x, "dtype") and not _arguments.is_array(x)


def namespace_with(dtype: DType) -> Namespace:
    """Return the namespace with a data type: the default one among those that share it."""
    default = default_namespace()
    if library_of_dtype(dtype) in (library_of_dtype(default.float32), library_of_dtype(default.asarray(0).dtype)):
        return default
    return namespace(library_of_dtype(dtype))


def library_of_dtype(dtype: DType) -> str:
    """Name the package that a data type is from."""
    cls = dtype if isinstance(dtype, type) else type(dtype)
    return cls.__module__.partition(".")[0]
