"""Loops and branches on traced arrays: operations whose bodies are graphs."""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from xpand import array_namespace, is_concrete
from xpand.extend import Array, LibraryNamespace, device_of

from ..._dispatch import in_one_namespace
from ...generic.control_flow import associative_scan as _associative_scan, cond as _cond, switch as _switch
from ...tracing import _branches, _scan, _while

Arrays: TypeAlias = "tuple[Array, ...]"


def scan(
    f: Callable[..., Any], init: Arrays, xs: Any = None, length: Any = None, reverse: bool = False, unroll: Any = 1
) -> tuple[Arrays, Arrays]:
    namespace: LibraryNamespace = array_namespace(*init, *xs)

    def turned(x: Array) -> Array:
        return namespace.flip(x, axis=0) if reverse else x

    rows = [turned(x) for x in xs]
    carry, ys = _scan.scan(namespace, f, init, rows, length)
    return _wrapped(namespace, carry), tuple(turned(namespace.wrap(y)) for y in ys)


def map(f: Callable[..., Any], xs: Arrays, *, batch_size: int | None = None) -> Arrays:
    namespace = array_namespace(*xs)
    _, ys = _scan.scan(namespace, lambda _, row: ((), f(*row)), (), xs, xs[0].shape[0])
    return _wrapped(namespace, ys)


def fori_loop(lower: Any, upper: Any, body_fun: Callable[..., Any], init_val: Arrays, *, unroll: Any = None) -> Arrays:
    bounds = [x for x in (lower, upper) if not isinstance(x, int)]
    namespace = array_namespace(*init_val, *bounds)
    device = device_of(init_val[0])
    dtype = next((x.dtype for x in bounds), namespace.int64)

    def as_index(i: Any) -> Array:
        return i if hasattr(i, "dtype") else namespace.asarray(i, dtype=dtype, device=device)

    if all(isinstance(x, int) or is_concrete(x) for x in (lower, upper)):
        steps = namespace.arange(int(lower), max(int(lower), int(upper)), dtype=dtype, device=device)
        step = lambda carry, row: (body_fun(row[0], *carry), ())
        return _wrapped(namespace, _scan.scan(namespace, step, init_val, (steps,), steps.shape[0])[0])
    last = as_index(upper)
    stepped = lambda i, *carry: (i + 1, *body_fun(i, *carry))
    is_running = lambda i, *_: namespace.less(i, last)  # a function, since only one of the two may be traced
    found = _while.while_loop(namespace, is_running, stepped, (as_index(lower), *init_val), None)
    return _wrapped(namespace, found[1:])


def while_loop(
    cond_fun: Callable[..., Any], body_fun: Callable[..., Any], init_val: Arrays, *, max_iter: Any = None
) -> Arrays:
    namespace = array_namespace(*init_val)
    if not isinstance(max_iter, tuple):
        return _wrapped(namespace, _while.while_loop(namespace, cond_fun, body_fun, init_val, max_iter))
    # The trajectory: from each requested number of steps to the next.
    found: dict[int, Arrays] = {}
    carry, done = init_val, 0
    for number in sorted(set(max_iter)):
        carry = _wrapped(namespace, _while.while_loop(namespace, cond_fun, body_fun, carry, number - done))
        found[number], done = carry, number
    return tuple(namespace.stack(list(column)) for column in zip(*[found[number] for number in max_iter]))


def associative_scan(fn: Callable[..., Any], elems: Arrays, reverse: bool = False, axis: int = 0) -> Arrays:
    return _associative_scan(fn, in_one_namespace(*elems), reverse, axis)


def cond(pred: Array, true_fun: Callable[..., Any], false_fun: Callable[..., Any], *operands: Array) -> Arrays:
    if is_concrete(pred):
        return _cond(pred, true_fun, false_fun, *operands)
    namespace = array_namespace(pred, *operands)
    return _wrapped(namespace, _branches.cond(namespace, pred, [false_fun, true_fun], operands))


def switch(index: Array, branches: Sequence[Callable[..., Any]], *operands: Array) -> Arrays:
    if is_concrete(index):
        return _switch(index, branches, *operands)
    namespace = array_namespace(index, *operands)
    return _wrapped(namespace, _branches.cond(namespace, index, branches, operands))


def _wrapped(namespace: Any, arrays: Sequence[Any]) -> Arrays:
    return tuple(namespace.wrap(x) for x in arrays)
