"""Rules of operations that contain functions or graphs: loops, branches, solvers, custom rules, host.

The rules are functions of modules of `tracing` that import the tables, so they are imported when called.
"""

import importlib
from collections.abc import Callable, Sequence
from typing import Any, Final

from xpand import UnsupportedError, array_namespace
from xpand.extend import device_of

from ...extend._derivatives import LINEAR, contribution, joint
from .._core import Aval, bind


def late(module: str, name: str) -> Callable[..., Any]:
    """Return a function that imports and calls a function of a module of `tracing`."""

    def rule(*args: Any, **params: Any) -> Any:
        return getattr(importlib.import_module(f"..{module}", __package__), name)(*args, **params)

    return rule


def _late(module: str, prefix: str, *kinds: str) -> dict[str, Any]:
    """Return the rules of an operation. Their names start with `prefix`."""
    return {kind: late(module, f"{prefix}_{kind}") for kind in kinds}


_INTERPRETED: Final = ("batch", "forward", "linearize")
_BODIES: Final = (*_INTERPRETED, "depends", "tape")
_CUSTOM: Final = ("custom_jvp", "custom_vjp", "custom_vmap")
_SOLVERS: Final = ("custom_linear_solve", "custom_root")
_OF_BODIES: Final = {
    "checkpoint": ("_custom", "checkpoint"),
    "cond": ("_branches", "cond"),
    "scan": ("_scan", "scan"),
    "while_loop": ("_while", "while"),
}


def _transposed(xp: Any, ct: Any, x: Any, position: Any, *, kind: str, sources: Any, size: int) -> Any:
    from .._batching import _not_mapped

    other = {"sum": "sum", "gather": "scatter", "scatter": "gather", "permute": "permute"}[kind]
    destinations = tuple(sorted(range(len(sources)), key=sources.__getitem__))
    op = type(position)._namespace.operation("collective", _not_mapped)
    return bind(op, (ct, position), {"kind": other, "sources": destinations, "size": size})


def _shape(namespace: Any, x: Any, position: Any, *, kind: str, sources: Any, size: int) -> Any:
    shape = {"gather": (size, *x.shape), "scatter": x.shape[1:]}.get(kind, x.shape)
    return Aval(shape, x.dtype, device_of(x))


def _shapes(namespace: Any, *avals: Any, declared: Any, **params: Any) -> Any:
    device = next((device_of(x) for x in avals if isinstance(x, Aval)), None)
    return tuple(Aval(tuple(x.shape), x.dtype, device) for x in declared)


def _no_derivative(name: str) -> joint:
    def rule(xp: Any, tangents: Any, out: Any, *args: Any, declared: Any, **params: Any) -> Any:
        if not declared:
            return ()  # nothing is returned, so there is no derivative
        raise UnsupportedError(
            f"{name}: a function of the host has no derivative; take its arguments out of differentiation with "
            "`stop_gradient`, or give the function around it one with `custom_jvp` or `custom_vjp`"
        )

    return joint(rule)


def _wider(mapped: tuple[bool, ...], args: Sequence[Any], declared: Any) -> tuple[int, tuple[Any, ...]]:
    """Return the number of lanes, and the declared results with a new first axis."""
    size = next(x.shape[0] for x, is_mapped in zip(args, mapped) if is_mapped)
    return size, tuple([type(each)((size, *each.shape), each.dtype) for each in declared])


def _batched(
    xp: Any, mapped: tuple[bool, ...], *args: Any, function: Callable[..., Any], declared: Any, vmap_method: str
) -> Any:
    from .._host import pure_callback

    size, wider = _wider(mapped, args, declared)
    if vmap_method == "sequential":
        called = _one_by_one(function, mapped, wider, size)
    else:
        called = function
        args = tuple(x if is_mapped else xp.expand_dims(x, axis=0) for x, is_mapped in zip(args, mapped))
        if vmap_method == "broadcast_all":
            args = tuple(xp.broadcast_to(x, (size, *x.shape[1:])) for x in args)
    return pure_callback(called, wider, args, vmap_method)


def _one_by_one(
    function: Callable[..., Any], mapped: tuple[bool, ...], wider: tuple[Any, ...], size: int
) -> Callable[..., Any]:
    """Make a function that calls another for each lane, in order."""
    from ...jit._graph import dtype_of

    def called(*arrays: Any) -> Any:
        host = array_namespace(*arrays)
        lanes = [function(*(x[i] if is_mapped else x for x, is_mapped in zip(arrays, mapped))) for i in range(size)]
        if not lanes:
            dtypes = [dtype_of("pure_callback", each.dtype, host) for each in wider]
            return tuple(host.zeros(each.shape, dtype=dtype) for each, dtype in zip(wider, dtypes))
        return tuple(host.stack(results) for results in zip(*lanes))

    return called


def _batched_effects(
    xp: Any, mapped: tuple[bool, ...], *args: Any, function: Callable[..., Any], declared: Any, lazily: Any
) -> Any:
    from .._host import io_callback

    size, wider = _wider(mapped, args, declared)
    return io_callback(_one_by_one(function, mapped, wider, size), wider, args, lazily)


OVERRIDES: Final[dict[str, Any]] = {
    **{name: _late(*of, *_BODIES) for name, of in _OF_BODIES.items()},
    **{
        name: {
            "affine": late("_affine", "custom_affine"),
            "stage": late("_captured", "custom_stage"),
            "tape": late("_custom", "custom_tape"),
            **_late("_custom", name, *_INTERPRETED),
        }
        for name in _CUSTOM
    },
    **{name: _late("_solve", "implicit", *_INTERPRETED, "stage") for name in _SOLVERS},
    "gradient_if": {"batch": late("_while", "gradient_if_batch")},
    "collective": {"batch": late("_batching", "collective_batch")},
}
OVERRIDES["custom_linear_solve"]["tape"] = late("_solve", "implicit_tape")
OVERRIDES["scan"]["prune"] = late("_scan", "scan_prune")
for _name in ("checkpoint", "scan", "while_loop"):
    OVERRIDES[_name]["affine"] = late("_affine", f"{_OF_BODIES[_name][1]}_affine")

DECOMPOSITIONS: Final[dict[str, Any]] = {
    "gradient_if": lambda xp, x, active: x,
    "safe_values": late("_while", "safe_values"),
}
DERIVATIVES: Final[dict[str, Any]] = {
    "gradient_if": (contribution(late("_while", "gradient_if_along")), None),
    "collective": (LINEAR, None),
    "io_callback": _no_derivative("io_callback"),
    "pure_callback": _no_derivative("pure_callback"),
}
RESULTS: Final[dict[str, Any]] = {
    **dict.fromkeys((*_OF_BODIES, *_CUSTOM, *_SOLVERS, "safe_values"), tuple),
    "io_callback": tuple,
    "pure_callback": tuple,
}
SHAPES: Final[dict[str, Any]] = {
    **{name: late(module, f"{prefix}_shapes") for name, (module, prefix) in _OF_BODIES.items()},
    **dict.fromkeys(_CUSTOM, late("_custom", "custom_shapes")),
    **dict.fromkeys(_SOLVERS, late("_solve", "implicit_shapes")),
    "gradient_if": lambda namespace, x, active: x,
    "safe_values": lambda namespace, active, *arrays: arrays,
    "collective": _shape,
    "io_callback": _shapes,
    "pure_callback": _shapes,
}

TRANSPOSES: Final[dict[str, Any]] = {"collective": (_transposed, None)}

BATCHING: Final[dict[str, Any]] = {"io_callback": _batched_effects, "pure_callback": _batched}
