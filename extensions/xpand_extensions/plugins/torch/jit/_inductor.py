"""Compile a function for given tensors by TorchInductor, without torch.compile, which would read its bytecode."""

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import Any, Final

import torch
from torch.fx import GraphModule

from xpand import trees
from xpand.extend import LibraryArray as Array
from xpand.torch import _private as private
from xpand_extensions._where import stacklevel
from xpand_extensions.jit._calls import Flattened
from xpand_extensions.jit._statics import name_of

from .._errors import with_errors
from ._trace import Graph, compiled_may_be_called, stand_ins

# By default, TorchInductor computes a value again in each kernel that reads it, if this takes up to 30 operations. Long
# graphs then take twice as long to compile, and are not faster.
_MANY_OPERATIONS: Final = 100
_FOR_MANY: Final = {"realize_opcount_threshold": 8}

BY_INDUCTOR: Final = ContextVar("by_inductor", default=True)
"""Whether TorchInductor compiles the graphs that are being made; otherwise PyTorch runs their operations."""


def compiled(function: Callable[..., Any], leaves: Sequence[Array], by_inductor: bool = True) -> Callable[..., Any]:
    """Compile a function for the signature of tensors."""
    token = BY_INDUCTOR.set(by_inductor)
    try:
        return _compiled(function, leaves)
    finally:
        BY_INDUCTOR.reset(token)


def _compiled(function: Callable[..., Any], leaves: Sequence[Array]) -> Callable[..., Any]:
    if any(x.is_neg() or x.is_conj() for x in leaves):  # compiled code reads the memory directly
        inner = _compiled(function, [_resolved(x) for x in leaves])
        return lambda *leaves: inner(*[_resolved(x) for x in leaves])
    graph = Graph(function, leaves)
    name = name_of(function)
    run: Callable[..., Any]
    if torch.is_grad_enabled() and any(x.requires_grad for x in graph.constants()):
        warnings.warn(
            f"jit: {name} captures tensors that require gradients, such as the parameters of a module, and therefore "
            "runs without being compiled; pass them as arguments, for example with torch.func.functional_call",
            stacklevel=stacklevel(),
        )
        run = lambda *leaves: trees.leaves(function(*leaves))
    elif torch.is_grad_enabled() and any(x.requires_grad for x in leaves):
        run = _with_gradients(name, function, leaves)
    else:
        run = compiled_graph(name, graph.module, graph.mode, leaves)
    graph.mode.ended = "jit"
    structure = graph.structure
    if structure.is_leaf():
        return lambda *leaves: run(*leaves)[0]
    return lambda *leaves: trees.unflatten(structure, run(*leaves))


def _resolved(x: Array) -> Array:
    return x.resolve_neg().resolve_conj()


def compiled_graph(name: str, module: GraphModule, mode: Any, leaves: Sequence[Array]) -> Callable[..., Any]:
    """Compile a graph for the signature of tensors; `mode` is that of tensors without values."""
    if not BY_INDUCTOR.get():
        return module
    try:
        with _own_warnings():
            options = _FOR_MANY if len(module.graph.nodes) > _MANY_OPERATIONS else None
            run: Callable[..., Any] = private.inductor_compile()(module, stand_ins(mode, leaves), options=options)
    except private.inductor_error() as error:
        _warn(name, error)
        return module
    return run


def _with_gradients(name: str, function: Callable[..., Any], leaves: Sequence[Array]) -> Callable[..., Any]:
    """Compile a function and its derivative together. A graph of the function would lack its custom derivatives."""
    flat = compiled_may_be_called(Flattened(function))
    uncompiled = partial(private.aot_function(), flat, fw_compiler=private.aot_uncompiled())
    kernels = private.inductor_kernels()
    compiled = partial(
        private.aot_function(),
        flat,
        fw_compiler=kernels,
        bw_compiler=partial(kernels, is_backward=True),
        partition_fn=private.aot_partition(),
        decompositions=private.inductor_rules()(),
    )
    run: Callable[..., Any] = compiled() if BY_INDUCTOR.get() else uncompiled()
    try:
        with _own_warnings():
            with_errors("jit", run, *leaves)  # it compiles at its first call
    except private.inductor_error() as error:
        _warn(name, error)
        return uncompiled()
    return run


@contextmanager
def _own_warnings() -> Iterator[None]:
    """Hide TorchInductor's warnings about complex operations, for which it calls PyTorch's kernels, and about its own
    use of deprecated functions.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Torchinductor does not support code generation for complex")
        warnings.filterwarnings("ignore", "`torch._prims_common.check` is deprecated", FutureWarning)
        yield


def _warn(name: str, error: Exception) -> None:
    message = f"jit: TorchInductor did not compile {name}; PyTorch runs its graph instead: {error}"
    warnings.warn(message, stacklevel=stacklevel())
