"""Functions compiled by tracing: one graph for each signature."""

from collections.abc import Callable, Sequence
from typing import Any

from xpand import array_namespace, choose_namespace, trees
from xpand._typing import Array

from .._jit_calls import NUMBERS, Compiled
from ._compile import Fuse, compiled, steps_of
from ._core import TracedArray, aval_of, bare
from ._namespace import traced_namespace
from ._staging import stage


def jit(function: Callable[..., Any], fuse: Fuse = steps_of) -> Callable[..., Any]:
    """Make the compiled version of a function of arrays and numbers that returns a tree."""
    programs: Compiled[Callable[..., Any]] = Compiled(function, "shapes or data types of the arrays")

    def call(*leaves: Any) -> Any:
        try:
            key = tuple([(x.shape, x.dtype, x.device) for x in leaves])
        except AttributeError:  # a Python number
            arrays = [x for x in leaves if type(x) not in NUMBERS]
            xp = array_namespace(*arrays) if arrays else choose_namespace(*leaves)
            leaves = as_arrays(leaves, xp, arrays)
            key = tuple([(x.shape, x.dtype, x.device) for x in leaves])
        program = programs.get(key)
        if program is None:
            if any(isinstance(bare(x), TracedArray) for x in leaves):
                return function(*leaves)  # part of the transformation around it
            program, result = _program(function, tuple(map(bare, leaves)), fuse)
            if program is None:
                return result
            programs.add(key, program)
        if isinstance(leaves[0] if leaves else None, TracedArray) or any([isinstance(x, TracedArray) for x in leaves]):
            if any(isinstance(bare(x), TracedArray) for x in leaves):
                return function(*leaves)
            leaves = tuple(map(bare, leaves))
        return program(*leaves)

    return call


def as_arrays(leaves: Sequence[Any], xp: Any, arrays: Sequence[Array]) -> tuple[Any, ...]:
    """Make arrays of Python numbers: of the widest precision among the arrays of a call, as everywhere under `jit`."""
    device = getattr(arrays[0], "device", None) if arrays else None
    return tuple(
        xp.asarray(x, dtype=_dtype_of_number(xp, x, arrays), device=device) if type(x) in NUMBERS else x for x in leaves
    )


def _dtype_of_number(xp: Any, x: Any, arrays: Sequence[Array]) -> Any:
    if isinstance(x, bool):
        return xp.bool
    if isinstance(x, int):
        return xp.int64
    floating = [y.dtype for y in arrays if xp.isdtype(y.dtype, ("real floating", "complex floating"))]
    dtype = xp.result_type(*floating) if floating else xp.__array_namespace_info__().default_dtypes()["real floating"]
    return xp.result_type(dtype, xp.complex64) if isinstance(x, complex) else _real(xp, dtype)


def _real(xp: Any, dtype: Any) -> Any:
    return xp.finfo(dtype).dtype if xp.isdtype(dtype, "complex floating") else dtype


def _program(function: Callable[..., Any], leaves: tuple[Array, ...], fuse: Fuse) -> tuple[Any, Any]:
    """Trace and compile: the program; or None and the result where arrays that others follow are used."""
    namespace = traced_namespace(array_namespace(*leaves))
    structure: trees.Structure | None = None

    def flat(*inputs: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        nonlocal structure
        found, structure = trees.flatten(function(*inputs))
        return tuple(found), ()

    graph, _ = stage(namespace, "jit", flat, [aval_of(x) for x in leaves])
    made = structure
    assert made is not None, "the function has been called"
    if any(isinstance(x, TracedArray) for x in graph.constants.values()):
        return None, trees.unflatten(made, graph.run(*leaves))
    run = compiled(graph, fuse)
    single = made == trees.structure(0)
    return (lambda *arrays: run(*arrays)[0]) if single else (lambda *arrays: trees.unflatten(made, run(*arrays))), None
