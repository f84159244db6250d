"""Compile functions by tracing them: one program for each signature."""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import partial
from typing import Any

from xpand import array_namespace, choose_namespace, trees
from xpand.extend import Array, checks, default_dtype

from .._subclasses import more_than_data
from ..jit._ahead import Lowering
from ..jit._calls import NUMBERS, Flattened, Lower, Make, by_signature, jit_with, lower_with, unknown_compiler
from ..jit._graph import namespace_with
from ._backend import FAILURES, LIBRARY, QUIET, Automatic, Backend, Backends, Run, attempted, failures
from ._compile import compiled, left_to_library
from ._core import TracedArray, aval_of, bare, snapshot
from ._forward import DERIVATIVES_TAKEN, run_without_warnings
from ._graph import Graph
from ._namespace import traced_namespace
from ._simplify import simplified
from ._staging import stage


def jit_by(backend: Backend, others: Backends | None = None) -> Callable[..., Any]:
    """Make the implementation of `jit` for a library, with a default backend and others that users name."""

    def named(compiler: str) -> Make:
        if others is None:
            raise unknown_compiler(compiler, ())
        return _make(others.named(compiler), is_named=True)

    candidates = () if others is None else others.all
    return jit_with(_make(backend, candidates), named, dict if others is None else others.names)


def lower_by(others: Backends | None = None) -> Callable[..., Any]:
    """Make the implementation of `lower` for a library with backends that users name.

    The text shows the simplified graph. With a named backend, notes say which operations are left to the library, and
    why. By default, notes say which operations another backend compiles later, and when, or why it failed.
    """

    def made(backend: Backend) -> Lower:
        def lowering(function: Callable[..., Any], leaves: Sequence[Any]) -> Lowering:
            graph = simplified(staged("lower", function, leaves)[0])
            notes: dict[int, str] = {}
            if backend is LIBRARY:
                for each in () if others is None else others.all:
                    notes |= attempted(graph, str(each), partial(each.plan, graph), dict)
            else:
                left = left_to_library(graph, backend)
                notes |= {number: f"not compiled: {reason}" for number, reason in left.items()}
            return Lowering(graph.text(notes | failures(graph)))

        return lowering

    def named(compiler: str) -> Lower:
        if others is None:
            raise unknown_compiler(compiler, ())
        return made(others.named(compiler))

    return lower_with(made(LIBRARY), named)


def _make(backend: Backend, others: Sequence[Backend] = (), is_named: bool = False) -> Make:
    def make(function: Callable[..., Any], donate_argnums: Any) -> Callable[..., Any]:
        compile_for = partial(_program, function, backend, others, is_named)
        return by_signature(function, "shapes or data types of the arrays", backend.signature, compile_for)

    return make


def _program(
    function: Callable[..., Any], backend: Backend, others: Sequence[Backend], is_named: bool, leaves: Sequence[Any]
) -> tuple[Callable[..., Any], bool]:
    """Make the program for arrays and numbers like these, and return whether to cache it."""
    if any(isinstance(bare(x), TracedArray) for x in leaves):
        # The call belongs to the outer transformation. Copies protect the arguments from writes.
        return lambda *given: function(*map(snapshot, map(bare, given))), False
    if any(isinstance(x, TracedArray) for x in leaves):
        wrap = next(x for x in leaves if isinstance(x, TracedArray))._namespace.wrap
        return lambda *given: trees.map(wrap, jit_by(backend)(function)(*map(bare, given))), False
    if any(more_than_data(type(x)) for x in leaves):
        return function, True  # the library's own operators and functions see the masks, and all else, of the arrays
    if not backend.takes(leaves):
        return function, True
    before = DERIVATIVES_TAKEN.get()
    whole, structure, numbers = staged("jit", function, leaves)
    if not backend.takes(leaves, whole):
        return function, True
    graph, given, is_lasting = _lifted(whole)
    is_cached = is_lasting and not any(isinstance(x, TracedArray) for x in graph.constants.values())
    single = is_cached and structure.is_leaf()
    by = backend if is_named or backend is LIBRARY else Automatic(backend)
    run = compiled(graph, by, single) if is_cached else graph.run
    for other in others if is_cached else ():
        run = _improved(graph, run, other, single)
    if given:
        run = partial(run, *given)
    if numbers:
        run = _of_numbers(run, whole, numbers)
    is_tuple = structure == trees.structure((0,) * len(graph.outputs))  # `run` returns such a tuple
    if is_cached and backend.warns and DERIVATIVES_TAKEN.get() != before:
        run = getattr(run, QUIET, None) or run_without_warnings(run)
    return run if single or is_tuple else lambda *arrays: trees.unflatten(structure, run(*arrays)), is_cached


def _lifted(graph: Graph) -> tuple[Graph, list[Any], bool]:
    """Make constants that the library itself may differentiate first inputs of a graph.

    Otherwise, their values would become part of the program, which would have no derivatives in them.

    Returns:
        The graph, these constants, and whether later calls can use them.
    """
    bridge = graph.namespace.bridge
    if bridge is None:
        return graph, [], True
    lifted = {name: x for name, x in graph.constants.items() if bridge.may_be_differentiated(x)}
    if not lifted:
        return graph, [], True
    constants = {name: x for name, x in graph.constants.items() if name not in lifted}
    given = list(lifted.values())
    new = Graph(graph.namespace, [*lifted, *graph.inputs], constants, graph.equations, graph.outputs)
    return new, given, all(map(bridge.is_lasting, given))


def _improved(graph: Graph, run: Run, backend: Backend, single: bool) -> Run:
    """Return the program that a backend makes in place of `run`."""

    def compile_graph() -> Run:
        program = compiled(graph, Automatic(backend), single)
        return run if FAILURES and failures(simplified(graph)) else program

    return attempted(graph, str(backend), lambda: backend.improved(graph, run, compile_graph), lambda: run)


def as_arrays(leaves: Sequence[Any], xp: Any, arrays: Sequence[Any], name: str = "jit") -> tuple[Any, ...]:
    """Convert Python numbers to arrays with the widest precision among the arrays of a call, as always under `jit`.

    Only data types and devices of `arrays` matter. `name` is the name of the transformation.
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
            f"{name}: the number {x} is too large for {dtype}, in which it would be traced; pass an array with a "
            "wider data type, or declare it static"
        ) from error


def _dtype_of_number(xp: Any, x: Any, arrays: Sequence[Array]) -> Any:
    if isinstance(x, bool):
        return xp.bool
    if isinstance(x, int):
        return xp.int64
    floating = [y.dtype for y in arrays if xp.isdtype(y.dtype, ("real floating", "complex floating"))]
    dtype = xp.result_type(*floating) if floating else default_dtype(xp)
    if isinstance(x, complex):
        return xp.result_type(dtype, xp.complex64)
    return xp.finfo(dtype).dtype if xp.isdtype(dtype, "complex floating") else dtype


def staged(
    name: str, function: Callable[..., Any], leaves: Sequence[Any]
) -> tuple[Graph, trees.Structure, Sequence[int]]:
    """Trace a function from arrays, abstract values and numbers to a tree, for the transformation `name`.

    Returns:
        The graph, the structure of the result, and the positions of the numbers.
    """
    numbers = [i for i, x in enumerate(leaves) if type(x) in NUMBERS]
    others = [x for x in leaves if type(x) not in NUMBERS]
    arrays = [x for x in others if checks.is_array(x)]
    if others and not arrays:
        base = namespace_with(others[0].dtype)
    else:
        base = array_namespace(*arrays) if arrays else choose_namespace(*leaves)
    namespace = traced_namespace(base)
    flat = Flattened(function)
    avals = [aval_of(x) for x in as_arrays(leaves, namespace.base, others, name)]
    with nullcontext() if namespace.bridge is None else namespace.bridge.recording():
        graph, _ = stage(namespace, name, lambda *inputs: (flat(*inputs), ()), avals, numbers)
    return graph, flat.structure, numbers


def _of_numbers(run: Callable[..., Any], graph: Graph, numbers: Sequence[int]) -> Callable[..., Any]:
    """Make the program that converts Python numbers at some positions to arrays."""
    xp = graph.namespace.base
    kinds = [(i, graph.inputs[i].aval.dtype, graph.inputs[i].aval.device) for i in numbers]

    def program(*given: Any) -> Any:
        converted = list(given)
        for i, dtype, device in kinds:
            converted[i] = _as_array(given[i], xp, dtype, device)
        return run(*converted)

    return program
