"""Loops along the first axis, for any library: those of Python, a step at a time."""

from collections.abc import Callable
from typing import Any, TypeAlias

from xpand import array_namespace
from xpand.extend import Array, Namespace, checks

Arrays: TypeAlias = "tuple[Array, ...]"


def scan(
    f: Callable[..., Any], init: Arrays, xs: Any = None, length: Any = None, reverse: bool = False, unroll: Any = 1
) -> tuple[Arrays, Arrays]:
    xp = array_namespace((*init, *xs)[0])
    if not length:
        return init, _no_rows(xp, f(init, _zeros(xp, xs))[1])
    carry, rows = steps(f, init, cut(xs, length, reverse))
    return carry, stacked(_shared(rows, xp), rows[::-1] if reverse else rows)


def map(f: Callable[..., Any], xs: Arrays, *, batch_size: int | None = None) -> Arrays:
    xp = array_namespace(xs[0])
    if not xs[0].shape[0]:
        return _no_rows(xp, f(*_zeros(xp, xs)))
    rows = [f(*row) for row in zip(*[xp.unstack(x) for x in xs])]
    return stacked(_shared(rows, xp), rows)


def associative_scan(fn: Callable[..., Any], elems: Arrays, reverse: bool = False, axis: int = 0) -> Arrays:
    xp = array_namespace(elems[0])
    first = [xp.moveaxis(x, axis, 0) for x in elems]
    ahead = tuple([xp.flip(x, axis=0) for x in first] if reverse else first)
    combine = lambda a, b: _moved(fn(_moved(a, 0, axis), _moved(b, 0, axis)), axis, 0)
    found = _combined(combine, ahead)
    if reverse:
        found = tuple([array_namespace(x).flip(x, axis=0) for x in found])
    return _moved(found, 0, axis)


def cut(xs: Arrays, length: int, reverse: bool) -> list[Arrays]:
    """Cut arrays along their first axis, in the order of a scan."""
    # At once: differentiated, a row taken by its index costs the size of the whole.
    columns = [array_namespace(x).unstack(x) for x in xs]
    return [tuple([column[i] for column in columns]) for i in (range(length)[::-1] if reverse else range(length))]


def steps(f: Callable[..., Any], carry: Arrays, rows: list[Arrays]) -> tuple[Arrays, list[Arrays]]:
    """Step over rows; list the outputs of each step."""
    found = []
    for row in rows:
        carry, y = f(carry, row)
        found.append(y)
    return carry, found


def stacked(xp: Namespace, rows: list[Arrays]) -> Arrays:
    """Stack the outputs of the steps."""
    return tuple([xp.stack(column) for column in zip(*rows)])


def _combined(fn: Callable[..., Any], elems: Arrays) -> Arrays:
    """Combine pairs, scan those, which gives every second position, and fill in the ones between."""
    size = elems[0].shape[0]
    if size < 2:
        return elems
    # No slice ends later than right behind its last element, where Dask would keep a chunk of none.
    pairs = fn(tuple([x[: size // 2 * 2 - 1 : 2, ...] for x in elems]), tuple([x[1::2, ...] for x in elems]))
    odd = _combined(fn, pairs)
    xp = array_namespace(*odd, *elems)
    before = tuple([x[: (size - 1) // 2, ...] for x in odd])
    even = fn(before, tuple([x[2::2, ...] for x in elems])) if size > 2 else before
    even = tuple([xp.concat([x[:1, ...], y]) for x, y in zip(elems, even)])
    return tuple([_interleaved(xp, x, y) for x, y in zip(even, odd)])


def _interleaved(xp: Namespace, even: Array, odd: Array) -> Array:
    size = odd.shape[0]
    both = xp.reshape(xp.stack([even[:size, ...], odd], axis=1), (2 * size, *odd.shape[1:]))
    return both if even.shape[0] == size else xp.concat([both, even[size:, ...]])


def _moved(arrays: Arrays, source: int, destination: int) -> Arrays:
    return tuple([array_namespace(x).moveaxis(x, source, destination) for x in arrays])


def _shared(rows: list[Arrays], xp: Namespace) -> Namespace:
    """Return the namespace of the outputs: not `xp` where the function uses traced arrays from outside."""
    found = [y for row in rows for y in row]
    return array_namespace(*found) if found else xp


def _zeros(xp: Namespace, xs: Arrays) -> Arrays:
    return tuple([xp.zeros(x.shape[1:], dtype=x.dtype, device=checks.device_of(x)) for x in xs])


def _no_rows(xp: Namespace, arrays: Arrays) -> Arrays:
    return tuple([xp.zeros((0, *x.shape), dtype=x.dtype, device=checks.device_of(x)) for x in arrays])
