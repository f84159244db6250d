"""Compile functions for the library of their arrays, and inspect functions without running them.

The arrays of each call select the library, so one compiled function works with all libraries.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import update_wrapper
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Protocol, Self, TypeAlias, TypeVar, cast, overload
from weakref import ref

from xpand import trees
from xpand.extend import checks, library_of, trace_instead

from .._ambient import Bound, Setting, ambient
from .._direct_calls import compiled_as
from .._dispatch import pluggable
from .._elsewhere import elsewhere
from .._modules import make_callable
from .._signatures import compilation
from ._ahead import CompiledProgram, Lowered
from ._calls import (
    INSTEAD,
    MAX_ENTRIES,
    NUMBERS,
    Compiled,
    Flat,
    arrays_among,
    check_compiler,
    check_leaves,
    leaf_numbers,
    tracing,
)
from ._graph import ShapeDtype, eval_shape, lower, make_graph
from ._host import io_callback, lazy_apply, named_call, pure_callback
from ._statics import Statics, signature_of

__all__ = [
    "CompiledFunction",
    "CompiledProgram",
    "Lowered",
    "ShapeDtype",
    "disable_jit",
    "eval_shape",
    "io_callback",
    "jit",
    "lazy_apply",
    "lower",
    "make_graph",
    "named_call",
    "pure_callback",
]
__dir__ = __all__.copy

P = ParamSpec("P")
Q = ParamSpec("Q")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)
S = TypeVar("S")
Function: TypeAlias = Callable[..., Any]


class CompiledFunction(Protocol[P, R_co]):
    """The result of `jit`, a function of the same arguments."""

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co: ...

    @overload
    def __get__(self, instance: None, owner: type, /) -> Self: ...
    @overload
    def __get__(
        self: "CompiledFunction[Concatenate[S, Q], R]", instance: S, owner: type | None = None, /
    ) -> Callable[Q, R]: ...

    def lower(self, *args: P.args, **kwargs: P.kwargs) -> Lowered:
        """Return the program that the library would compile for these arguments, as `lower` does."""
        ...

    def clear_cache(self) -> None:
        """Drop all compiled programs."""
        ...


@compilation
@pluggable
def jit(
    function: Function,
    /,
    *,
    static_argnums: int | Sequence[int] | None = None,
    static_argnames: str | Iterable[str] | None = None,
    donate_argnums: int | Sequence[int] = (),
    compiler: str | None = None,
) -> CompiledFunction[..., Any]:
    """Compile a function.

    The function is called once for each *signature*, with traced arrays, which have shapes and data types but no
    values. Its operations on them are compiled, and later calls run the compiled program. So side effects, such as
    printing, happen only at the first call, and captured arrays become constants. The signature of a call consists of
    the structure of its arguments, the static values, the shapes and data types of the arrays, the settings (precision,
    default namespace, axis mapping), and the names and sizes of mapped axes. At most 256 programs are cached.

    On JAX this is `jax.jit`. Other libraries record the operations of the standard and of xpand, and on PyTorch its own
    functions, in a graph. It is simplified (constants are folded, equal operations merged, unused ones removed) and
    becomes a sequence of calls of the library's own functions. On NumPy and PyTorch, elementwise operations on large
    arrays are fused and run block by block. On Dask the result is lazy. Inside another transformation or compiled
    function, of xpand or of the library, the function becomes part of the outer program. Tensors that require gradients
    are not compiled by default, so that PyTorch records what the function does.

    Args:
        function: Takes trees of arrays and Python numbers, and static values; returns a tree of arrays and numbers.
            Numbers that it returns become arrays. Python numbers are traced, too: another value does not compile again.
            On libraries other than JAX, a real or complex number is traced as an array of shape () with the widest
            floating-point precision of the call's arrays, and an integer as one of int64. A number takes the data type
            of the arrays that it is combined with.
        static_argnums: The positions of arguments that the function's own Python code uses as values: sizes, names,
            functions. They must be hashable. Each value compiles again. Negative positions count from the end.
        static_argnames: The same by name. An argument declared by position is static by name, too, and vice versa.
        donate_argnums: The positions of arguments whose memory may be reused for results. Their arrays can't be used
            afterwards. Only JAX reuses the memory; other libraries ignore this.
        compiler: The compiler: "numpy", "native" or "xla" on NumPy, "xla" on JAX, "torch" or "inductor" on PyTorch.
            None: the default of the library. "native" compiles loops, branches and elementwise operations on NumPy
            arrays to machine code, with NumPy's values. It needs an x86-64 processor and `pip install 'xpand[native]'`.
            If installed, it is also used by default for loops that have taken longer than compiling takes. "inductor"
            compiles many small operations on PyTorch, in seconds; values differ in the last digits.

    Returns:
        A function of the same arguments. Its method `lower(*args)` returns the program before compilation, with
        `as_text()` and `compile()`.

    Raises:
        TypeError: `function` isn't callable. The returned function raises it if an argument is neither static nor a
            tree of arrays and numbers, a static argument is not hashable, the arrays belong to two libraries, the
            result is not a tree of arrays and numbers, or Python code asks for the value of a traced array.
        ValueError: An argument declared static or donated is not an argument of the function, or is declared both. The
            returned function raises it if the library doesn't have the compiler.
        ImportError: The returned function raises it if the compiler is not installed.
        UnsupportedError: The returned function raises it if TorchInductor fails.

    Source: `jax.jit`.

    >>> import torch
    >>> @jit
    ... def normal(x):
    ...     return torch.exp(-x * x / 2)
    >>> normal(torch.tensor([0.0, 1.0]))
    tensor([1.0000, 0.6065])
    """
    checks.function("jit", function)
    check_compiler("jit", compiler)
    statics = Statics("jit", function, static_argnums, static_argnames)
    donated = statics.donated(donate_argnums)
    signatures: Compiled[Function] = Compiled(function, "static values or structures of the arguments")

    # Calls with only arrays and numbers need no flattening: the types of the arguments identify the program, together
    # with the ambient state.
    def compiled(*args: Any, **kwargs: Any) -> Any:
        state = ambient() if Bound.ever or Setting.any_active else None
        if not kwargs:
            types = tuple([type(x) for x in args])
            known = signatures.by_types.get(types if state is None else (state, types))
            if known is not None and INSTEAD.get() is None:
                return known(*args)
        instead = INSTEAD.get()
        if instead is not None:
            itself = own()
            assert itself is not None, "it is being called"
            return instead(function, itself, args, kwargs)
        traced, values = statics.divide(args, kwargs)
        leaves, structure = trees.flatten(traced)
        try:
            make = jit.native(*arrays_among(leaves))
            key = (make, structure, signature_of(values) if values else (), state)
            found = signatures.get(key)
        except TypeError:
            check_leaves("jit", traced)
            statics.check(values)
            raise
        if found is None:
            statics.check(values)
            numbers = leaf_numbers(args, traced[0], values, donated)
            flat = make(Flat("jit", tracing(function), structure, values), donate_argnums=numbers, compiler=compiler)
            found = signatures.add(key, flat)
        arrays = [x for x in args if type(x) not in NUMBERS]
        if arrays and not kwargs and not statics.any and all(library_of(type(x)) for x in arrays):
            if len(signatures.by_types) >= MAX_ENTRIES:
                signatures.by_types.clear()
            signatures.by_types[types if state is None else (state, types)] = found
        return found(*leaves)

    own = ref(compiled)  # weak: otherwise the function would keep itself and its programs alive
    update_wrapper(compiled, function)
    attributes = {
        "lower": lower(function, static_argnums=static_argnums, static_argnames=static_argnames, compiler=compiler),
        "clear_cache": signatures.clear,
    }
    for name, value in attributes.items():
        setattr(compiled, name, value)
    # torch.compile traces the function itself, or treats it as opaque, but does not trace the look-up above
    return cast("CompiledFunction[..., Any]", compiled_as(function, compiled))


def _uncompiled(function: Function | None = None, /, **options: Any) -> Any:
    return _uncompiled if function is None else function


# torch.compile traces the function itself.
trace_instead(jit, _uncompiled)
trace_instead(named_call, _uncompiled)


@contextmanager
def disable_jit() -> Iterator[None]:
    """Run compiled functions uncompiled inside this context, to debug them.

    It applies to the thread or task that enters it.

    Source: `jax.disable_jit`.

    >>> import numpy as np
    >>> with disable_jit():
    ...     print(jit(lambda x: 2 * x)(np.asarray([1, 2])))
    [2 4]
    """
    token = INSTEAD.set(lambda function, compiled, args, kwargs: function(*args, **kwargs))
    try:
        yield
    finally:
        INSTEAD.reset(token)


if not TYPE_CHECKING:  # type checkers would accept any name
    __getattr__ = elsewhere(__name__)

make_callable(__name__)
