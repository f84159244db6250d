"""Compile functions by tracing them: one program for each signature."""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from xpand import array_namespace, choose_namespace, trees
from xpand._precision import default_dtype
from xpand._typing import Array

from ..jit._calls import NUMBERS, Compiled
from ._compile import Fuse, compiled, steps_of
from ._core import TracedArray, aval_of, bare, snapshot
from ._infinities import DERIVATIVES_TAKEN, run_without_warnings
from ._namespace import traced_namespace
from ._staging import stage

Signature: TypeAlias = Callable[[Sequence[Any]], Any]


def signature_of(leaves: Sequence[Any]) -> tuple[Any, ...]:
    """Return the signature that a program is compiled for: classes, shapes, data types and devices of arrays.

    Raises:
        AttributeError: One is a number.
    """
    return tuple([(type(x), x.shape, x.dtype, x.device) for x in leaves])


def _of_any(leaves: Sequence[Any]) -> tuple[Any, ...]:
    """Return the signature of arrays that may have no device, and of numbers, whatever their values."""
    return tuple(
        [
            type(x) if type(x) in NUMBERS else (type(x), tuple(x.shape), x.dtype, getattr(x, "device", None))
            for x in leaves
        ]
    )


def jit(function: Callable[..., Any], fuse: Fuse = steps_of, signature: Signature = signature_of) -> Callable[..., Any]:
    """Make the compiled version of a function of arrays and numbers that returns a tree."""
    programs: Compiled[Callable[..., Any]] = Compiled(function, "shapes or data types of the arrays")
    last: tuple[Any, Any] = (None, None)  # most calls have the signature of the previous one

    def call(*leaves: Any) -> Any:
        nonlocal last
        try:
            key = signature(leaves)
        except AttributeError:
            key = _of_any(leaves)
        known, program = last
        if key != known:
            program = programs.get(key)
            if program is None:
                program, result = _program(function, leaves, fuse)
                if program is None:
                    return result
                programs.add(key, program)
            last = key, program
        return program(*leaves)

    return call


def _program(function: Callable[..., Any], leaves: tuple[Any, ...], fuse: Fuse) -> tuple[Any, Any]:
    """Return the program for the arrays and numbers; or None and the result, if other transformations trace them."""
    if any(isinstance(bare(x), TracedArray) for x in leaves):
        # The call belongs to the outer transformation. As elsewhere, the function must not write into its arguments.
        return None, function(*map(snapshot, map(bare, leaves)))
    if any(isinstance(x, TracedArray) for x in leaves):
        wrap = next(x for x in leaves if isinstance(x, TracedArray))._namespace.wrap
        return None, trees.map(wrap, jit(function, fuse)(*map(bare, leaves)))
    if all(type(x) not in NUMBERS for x in leaves):
        return _of_arrays(function, leaves, (), fuse)
    positions = [i for i, x in enumerate(leaves) if type(x) in NUMBERS]
    arrays = [x for x in leaves if type(x) not in NUMBERS]
    xp = array_namespace(*arrays) if arrays else choose_namespace(*leaves)
    like = as_arrays(leaves, xp, arrays)
    run, result = _of_arrays(function, like, positions, fuse)
    if run is None:
        return None, result
    kinds = [(i, like[i].dtype, getattr(like[i], "device", None)) for i in positions]

    def program(*given: Any) -> Any:
        converted = list(given)
        for i, dtype, device in kinds:
            converted[i] = _as_array(given[i], xp, dtype, device)
        return run(*converted)

    return program, None


def as_arrays(leaves: Sequence[Any], xp: Any, arrays: Sequence[Any], name: str = "jit") -> tuple[Any, ...]:
    """Convert Python numbers to arrays of the widest precision among the arrays of a call, as everywhere under `jit`.

    Abstract values may stand for the arrays; `name` is that of the transformation.
    """
    device = getattr(arrays[0], "device", None) if arrays else None
    return tuple(
        _as_array(x, xp, _dtype_of_number(xp, x, arrays), device, name) if type(x) in NUMBERS else x for x in leaves
    )


def _as_array(x: Any, xp: Any, dtype: Any, device: Any, name: str = "jit") -> Array:
    try:
        return xp.asarray(x, dtype=dtype, device=device)
    except OverflowError as error:
        raise OverflowError(
            f"{name}: the number {x} is too large for {dtype}, as which it would be traced; pass an array of a data "
            "type that holds it, or declare it static"
        ) from error


def _dtype_of_number(xp: Any, x: Any, arrays: Sequence[Array]) -> Any:
    if isinstance(x, bool):
        return xp.bool
    if isinstance(x, int):
        return xp.int64
    floating = [y.dtype for y in arrays if xp.isdtype(y.dtype, ("real floating", "complex floating"))]
    dtype = xp.result_type(*floating) if floating else default_dtype(xp)
    return xp.result_type(dtype, xp.complex64) if isinstance(x, complex) else _real(xp, dtype)


def _real(xp: Any, dtype: Any) -> Any:
    return xp.finfo(dtype).dtype if xp.isdtype(dtype, "complex floating") else dtype


def _of_arrays(
    function: Callable[..., Any], leaves: tuple[Array, ...], weak: Sequence[int], fuse: Fuse
) -> tuple[Any, Any]:
    """Trace and compile; `weak` are the positions of arrays made from numbers."""
    namespace = traced_namespace(array_namespace(*leaves) if leaves else choose_namespace())
    structure: trees.Structure | None = None

    def flat(*inputs: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        nonlocal structure
        found, structure = trees.flatten(function(*inputs))
        return tuple(found), ()

    before = DERIVATIVES_TAKEN.get()
    graph, _ = stage(namespace, "jit", flat, [aval_of(x) for x in leaves], weak)
    derived = DERIVATIVES_TAKEN.get() != before
    made = structure
    assert made is not None, "the function has been called"
    if any(isinstance(x, TracedArray) for x in graph.constants.values()):
        return None, trees.unflatten(made, graph.run(*leaves))
    single = made == trees.structure(0)
    run = compiled(graph, fuse, single)
    if derived:
        run = run_without_warnings(run)
    if single:
        return run, None
    return lambda *arrays: trees.unflatten(made, run(*arrays)), None
