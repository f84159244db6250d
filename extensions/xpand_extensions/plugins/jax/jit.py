"""Compilation on JAX."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import jax
import jax.experimental
import jax.numpy as jnp

from xpand import is_concrete, trees
from xpand.extend import Array

from ..._dispatch import forwards_to
from ...jit._ahead import Executable, Lowering
from ...jit._calls import jit_with, lower_with, one_of, traced_with
from ...jit._graph import ShapeDtype
from ...jit._host import pure_callback as facade
from ...jit._reused import reused_by
from ._explained import explained


class _Result:
    """An optree tree as a node of JAX's trees. Its structure is part of the program."""

    __slots__ = ("leaves", "structure")

    def __init__(self, leaves: Any, structure: trees.Structure) -> None:
        self.leaves, self.structure = leaves, structure


jax.tree_util.register_pytree_node(
    _Result, lambda x: (x.leaves, x.structure), lambda structure, leaves: _Result(leaves, structure)
)


def _jit(function: Callable[..., Any], donate_argnums: Any) -> Callable[..., Any]:
    compiled = jax.jit(_of_results("jit", function), donate_argnums=donate_argnums)

    def call(*leaves: Any) -> Any:
        result = compiled(*leaves)
        return trees.unflatten(result.structure, result.leaves) if type(result) is _Result else result

    return call


jit = jit_with(_jit, one_of({"xla": _jit}), lambda: {"xla": ""})


def _jit_reused(function: Callable[..., Any], *, compiler: str | None) -> Callable[..., Any]:
    program = jit(function, compiler=compiler)

    def call(*arrays: Array) -> Any:
        if not all(map(is_concrete, arrays)):
            # XLA computes what depends only on constants, such as the largest entry of a captured matrix, while it
            # compiles an outer program. This takes seconds for a million entries.
            arrays = tuple([x if isinstance(x, jax.core.Tracer) else jax.lax.optimization_barrier(x) for x in arrays])
        return program(*arrays)

    return call


reused = reused_by(_jit_reused, lambda function: isinstance(function, jax.stages.Wrapped))


def _lower(function: Callable[..., Any], leaves: Sequence[Any]) -> Lowering:
    found = jax.jit(_of_results("lower", function)).lower(*map(_struct, leaves))
    return Lowering(found.as_text(), partial(_executable, found))


make_graph = traced_with(
    lambda function, leaves: jax.make_jaxpr(_of_results("make_graph", function))(*map(_struct, leaves))
)
lower = lower_with(_lower, one_of({"xla": _lower}))


def _executable(lowered: Any) -> Executable:
    compiled = lowered.compile()
    run = lambda *leaves: _tree(compiled(*leaves))
    return Executable(run, compiled.as_text(), compiled.cost_analysis(), compiled.memory_analysis())


def _tree(result: Any) -> Any:
    return trees.unflatten(result.structure, result.leaves) if type(result) is _Result else result


def eval_shape(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    found = _tree(jax.eval_shape(_of_results("eval_shape", function), *map(_struct, args)))
    return trees.map(lambda x: ShapeDtype(tuple(x.shape), x.dtype), found)


def named_call(function: Callable[..., Any], /, *, name: str | None = None) -> Callable[..., Any]:
    named: Callable[..., Any] = jax.named_call(function, name=name)
    return named


@forwards_to(facade)
def pure_callback(function: Any, result_shape_dtypes: Any, /, *args: Array, vmap_method: str) -> Any:
    declared = tuple(map(_struct, result_shape_dtypes))
    return jax.pure_callback(_Host(function), declared, *args, vmap_method=vmap_method)


def io_callback(
    function: Callable[..., Any], result_shape_dtypes: Any, /, *args: Array, ordered: bool = False, **kwargs: Array
) -> Any:
    declared = tuple(map(_struct, result_shape_dtypes))
    return jax.experimental.io_callback(_Host(function), declared, *args, ordered=ordered)


class _Host:
    """A call of a host function. Calls of the same function are equal, so JAX does not compile them again."""

    __slots__ = ("_function", "_key")

    def __init__(self, function: Any) -> None:
        self._function = function
        called, positions, of_results, *types = function.args
        try:
            hash(called)
        except TypeError:
            called = id(called)  # the id of values that are stored with the function
        self._key = called, trees.structure(positions), trees.structure(of_results), *types

    def __call__(self, *arrays: Array) -> Any:
        return self._function(*map(jax.device_get, arrays))  # JAX passes its own arrays to the host

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Host) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)


def _of_results(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    traced = explained(name, function)

    def flat(*leaves: Any) -> Any:
        result = traced(*leaves)
        # One array is a tree for JAX, too. Returning it as it is saves time.
        return result if isinstance(result, jax.Array | jax.core.Tracer) else _Result(*trees.flatten(result))

    flat.__name__ = getattr(function, "__name__", "function")
    return flat


def _struct(x: Any) -> Any:
    """Convert placeholders for arrays to JAX's; return arrays and numbers unchanged."""
    if isinstance(x, jax.Array | jax.core.Tracer) or not hasattr(x, "dtype"):
        return x
    return jax.ShapeDtypeStruct(tuple(x.shape), jnp.dtype(x.dtype))
