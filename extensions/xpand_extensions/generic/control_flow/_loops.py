"""Loops, scans and branches for any library: Python runs one step at a time."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, partial
from itertools import count
from typing import Any, Final, TypeAlias

from xpand import UnsupportedError, array_namespace, is_concrete
from xpand.extend import Array, Namespace, checks, is_lazy
from xpand_extensions import control_flow as facade
from xpand_extensions.autodiff import checkpoint, stop_gradient
from xpand_extensions.control_flow._checkpointed import Primitives, checkpointed_scan, masked_step, selected

from ..._captures import captured
from ...tracing import traced_namespace
from ...tracing._core import bare, is_traced

INDICES: Final = 1024
"""The number of loop indices that are created together."""

FEW_STEPS: Final = 64
"""The number of steps from which blocks pay off if the library itself records them: blocks compute each step twice."""


def traced_among(arrays: Iterable[Array], *functions: Callable[..., Any]) -> Array | None:
    """Return a traced array among arrays and those that the functions capture, or None."""
    traced = next(filter(is_traced, arrays), None)
    return next(iter(captured(is_traced, *functions)), None) if traced is None else traced


Arrays: TypeAlias = "tuple[Array, ...]"
Decide: TypeAlias = "Callable[[Array, bool], tuple[bool, bool]]"
"""Takes a condition and whether the loop has a bound; returns whether to continue, and whether some lanes stopped."""


def while_loop(
    cond_fun: Callable[..., Any], body_fun: Callable[..., Any], init_val: Arrays, *, max_iter: Any = None
) -> Arrays:
    if isinstance(max_iter, int) and max_iter >= FEW_STEPS and init_val and _bridge(init_val) is not None:
        return _bounded(cond_fun, body_fun, init_val, max_iter)
    return _while_loop(cond_fun, body_fun, init_val, max_iter)


def _bounded(cond_fun: Callable[..., Any], body_fun: Callable[..., Any], carry: Arrays, max_iter: int) -> Arrays:
    """Step while a condition holds. If the library itself records the steps, checkpoint blocks of steps."""
    carry = _while_loop(cond_fun, body_fun, carry, 1)
    bridge = _recorder(carry, max_iter)
    if bridge is None:
        return _while_loop(cond_fun, body_fun, carry, max_iter - 1)
    if any(bridge.is_in_level(x) for x in carry):
        init = _wrapped(carry)
        results = facade.while_loop.native(init[0])(cond_fun, body_fun, init, max_iter=max_iter - 1)
        return _bare(results)
    size = math.isqrt(max_iter)
    for start in range(1, max_iter, size):
        if not bool(cond_fun(*carry)):
            break
        steps = min(size, max_iter - start)
        carry = checkpoint(lambda *carry, steps=steps: _while_loop(cond_fun, body_fun, carry, steps))(*carry)
    return carry


def _bridge(arrays: Iterable[Array]) -> Any:
    """Return the module of the library's own derivatives; None if it has none."""
    return traced_namespace(array_namespace(*arrays)).bridge


def _recorder(results: Arrays, length: int) -> Any:
    """Return the module of the library's own derivatives if it records the steps of a long loop; None otherwise.

    Args:
        results: The results of a step.
        length: The number of steps.
    """
    if length < FEW_STEPS or not results:
        return None
    bridge = _bridge(results)
    return None if bridge is None or not any(bridge.is_recorded(x) for x in results) else bridge


def _wrapped(arrays: Arrays) -> Arrays:
    """Wrap the library's own arrays. A loop on these is one operation, which the library can't record step by step."""
    return tuple([traced_namespace(array_namespace(x)).wrap(x) for x in arrays])


def _bare(arrays: Arrays) -> Arrays:
    return tuple([bare(x) for x in arrays])


def _while_loop(cond_fun: Callable[..., Any], body_fun: Callable[..., Any], init_val: Arrays, max_iter: Any) -> Arrays:
    outer = cache(lambda: traced_among((), cond_fun, body_fun))
    traced: Array | None = None
    masks = False

    def decide(active: Array, bounded: bool) -> tuple[bool, bool]:
        nonlocal traced, masks
        if is_concrete(active):
            return bool(active), False
        traced = active if is_traced(active) else outer()
        if traced is not None:
            return False, False
        if not bounded:
            raise UnsupportedError(
                "while_loop: the condition's value is not known, because the arrays are lazy; give max_iter, which "
                "bounds the steps, or compute the arrays first"
            )
        masks = True
        return True, True

    last = looped(cond_fun, body_fun, init_val, max_iter, decide)
    if masks and traced is None:
        # The search may miss a captured array. Then a result is traced.
        traced = traced_among(last)
    if traced is None:
        return last
    # Start again with the transformation that traces the captured array, now that it is known.
    wrap = array_namespace(traced).asarray
    native = facade.while_loop.native(traced)
    results: Arrays = native(cond_fun, body_fun, tuple([wrap(x) for x in init_val]), max_iter=max_iter)
    return results


def fori_loop(lower: Any, upper: Any, body_fun: Callable[..., Any], init_val: Arrays, *, unroll: Any = None) -> Arrays:
    return counted(lower, upper, body_fun, init_val, is_concrete, while_loop)


def looped(
    cond_fun: Callable[..., Any], body_fun: Callable[..., Any], init_val: Arrays, max_iter: Any, decide: Decide
) -> Arrays:
    """Run a loop, and stack the values at the requested steps if `max_iter` is a tuple."""
    wanted = max_iter if isinstance(max_iter, tuple) else ()
    last = init_val
    saved = {}
    for number, last in enumerate(_states(cond_fun, body_fun, init_val, max(wanted, default=max_iter), decide)):
        if number in wanted:
            saved[number] = last
    if not wanted:
        return last
    rows = [saved.get(number, last) for number in wanted]
    return tuple([array_namespace(*each).stack(each) for each in zip(*rows)])


def counted(
    lower: Any,
    upper: Any,
    body_fun: Callable[..., Any],
    init_val: Arrays,
    is_known: Callable[[Array], bool],
    while_loop: Callable[..., Arrays],
) -> Arrays:
    """Run a loop over a range, or a `while_loop` if the bounds of the range are unknown."""
    like = init_val[0]
    xp = array_namespace(like)
    dtype = next((x.dtype for x in (lower, upper) if not isinstance(x, int)), None)
    device = checks.device_of(like)

    def as_index(i: Any) -> Array:
        return xp.asarray(i, dtype=dtype, device=device) if isinstance(i, int) else i

    if all(isinstance(x, int) or is_known(x) for x in (lower, upper)):
        first, end = int(lower), int(upper)
        if first >= end:
            return init_val
        carry = body_fun(as_index(first), *init_val)
        traced = _staged(carry, init_val)
        if traced is not None:
            wrap = array_namespace(traced).asarray
            native = facade.fori_loop.native(traced)
            return tuple(native(lower, upper, body_fun, tuple([wrap(x) for x in init_val])))
        bridge = _recorder(carry, end - first)
        if bridge is not None:
            numbers = xp.arange(first, end, dtype=dtype, device=device)
            step = lambda carry, row: (body_fun(row[0], *carry), ())
            return _in_blocks(bridge, step, init_val, (numbers,), end - first)[0]
        if is_traced(like) or is_lazy(xp):
            for i in range(first + 1, end):
                carry = body_fun(as_index(i), *carry)
            return carry
        for start in range(first + 1, end, INDICES):  # a slice is faster than a new array
            indices = xp.arange(start, min(start + INDICES, end), dtype=dtype, device=device)
            for i in range(min(INDICES, end - start)):
                carry = body_fun(indices[i, ...], *carry)
        return carry
    last = as_index(upper)

    stepped = lambda i, *carry: (i + 1, *body_fun(i, *carry))
    _, *carried = while_loop(lambda i, *_: i < last, stepped, (as_index(lower), *init_val))
    return tuple(carried)


def _states(
    cond_fun: Callable[..., Any], body_fun: Callable[..., Any], carry: Arrays, limit: int | None, decide: Decide
) -> Iterator[Arrays]:
    """Yield the carry before the first step, and after each."""
    first: Arrays | None = None
    start = carry
    yield carry
    for _ in count() if limit is None else range(limit):
        active = cond_fun(*carry)
        running, masked = decide(active, limit is not None)
        if not running:
            return
        if masked:
            first = tuple([stop_gradient(x) for x in start]) if first is None else first
            carry = masked_step(active, body_fun, carry, first)
        else:
            carry = body_fun(*carry)
        yield carry


def scan(
    f: Callable[..., Any], init: Arrays, xs: Any = None, length: Any = None, reverse: bool = False, unroll: Any = 1
) -> tuple[Arrays, Arrays]:
    if not length:
        xp = array_namespace((*init, *xs)[0])
        return init, _no_rows(xp, f(init, _zeros(xp, xs))[1])
    return _scan(f, init, xs, length, reverse, unroll)


def _in_blocks(
    bridge: Any, f: Callable[..., Any], init: Arrays, xs: Arrays, length: int, reverse: bool = False
) -> tuple[Arrays, Arrays]:
    """Scan in blocks. The library saves the carry between them, and computes the steps again."""
    first = (*init, *xs)[0]
    if any(bridge.is_in_level(x) for x in (*init, *xs)):
        results = facade.scan.native(*_wrapped((first,)))(f, _wrapped(init), _wrapped(xs), length, reverse)
        return _bare(results[0]), _bare(results[1])
    run = partial(_scan, reverse=reverse, is_block=True)
    library = Primitives(array_namespace(first), run, lambda _, function, state: state, FEW_STEPS, checkpoint)
    return checkpointed_scan(library, f, init, xs, length, reverse)


def _scan(
    f: Callable[..., Any],
    init: Arrays,
    xs: Arrays,
    length: int,
    reverse: bool = False,
    unroll: Any = 1,
    is_block: bool = False,
) -> tuple[Arrays, Arrays]:
    xp = array_namespace((*init, *xs)[0])
    parts = cut(xs, length, reverse)
    carry, row = f(init, parts[0])
    traced = _staged((*carry, *row), (*init, *xs))
    if traced is not None:
        wrap = array_namespace(traced).asarray
        init, xs = tuple([wrap(x) for x in init]), tuple([wrap(x) for x in xs])
        scanned: tuple[Arrays, Arrays] = facade.scan.native(traced)(f, init, xs, length, reverse, unroll)
        return scanned
    bridge = None if is_block else _recorder((*carry, *row), length)
    if bridge is not None:
        return _in_blocks(bridge, f, init, xs, length, reverse)
    carry, rest = steps(f, carry, parts[1:])
    rows = [row, *rest]
    return carry, stacked(_shared(rows, xp), rows[::-1] if reverse else rows)


def _staged(results: Arrays, arguments: Arrays) -> Array | None:
    """Return a result that compilation traces because of a captured array, if no argument is traced.

    The whole loop then becomes one operation of the program.
    """
    traced = next((x for x in results if is_traced(x) and not is_concrete(x)), None)
    return None if traced is None or any(is_traced(x) for x in arguments) else traced


def map(f: Callable[..., Any], xs: Arrays, *, batch_size: int | None = None) -> Arrays:
    xp = array_namespace(xs[0])
    if not xs[0].shape[0]:
        return _no_rows(xp, f(*_zeros(xp, xs)))
    parts = zip(*[xp.unstack(x) for x in xs])
    rows = [f(*next(parts))]
    bridge = _recorder(rows[0], xs[0].shape[0])
    if bridge is not None:
        return _in_blocks(bridge, lambda _, x: ((), f(*x)), (), xs, xs[0].shape[0])[1]
    rows += [f(*row) for row in parts]
    return stacked(_shared(rows, xp), rows)


def associative_scan(fn: Callable[..., Any], elems: Arrays, reverse: bool = False, axis: int = 0) -> Arrays:
    xp = array_namespace(elems[0])
    first = [xp.moveaxis(x, axis, 0) for x in elems]
    ahead = tuple([xp.flip(x, axis=0) for x in first] if reverse else first)
    combine = lambda a, b: _moved(fn(_moved(a, 0, axis), _moved(b, 0, axis)), axis, 0)
    prefixes = _combined(combine, ahead)
    if reverse:
        prefixes = tuple([array_namespace(x).flip(x, axis=0) for x in prefixes])
    return _moved(prefixes, 0, axis)


def cut(xs: Arrays, length: int, reverse: bool) -> list[Arrays]:
    """Cut arrays along their first axis, in the order of a scan."""
    # Take all rows together: the derivative of reading one row costs as much as the whole array.
    columns = [array_namespace(x).unstack(x) for x in xs]
    return [tuple([column[i] for column in columns]) for i in (range(length)[::-1] if reverse else range(length))]


def steps(f: Callable[..., Any], carry: Arrays, rows: list[Arrays]) -> tuple[Arrays, list[Arrays]]:
    """Step over rows; list the outputs of each step."""
    outputs = []
    for row in rows:
        carry, y = f(carry, row)
        outputs.append(y)
    return carry, outputs


def stacked(xp: Namespace, rows: list[Arrays]) -> Arrays:
    """Stack the outputs of the steps."""
    return tuple([xp.stack(column) for column in zip(*rows)])


def _combined(fn: Callable[..., Any], elems: Arrays) -> Arrays:
    """Combine pairs and scan them, which gives every second result; then compute the results in between."""
    size = elems[0].shape[0]
    if size < 2:
        return elems
    # Slices end right after their last element: otherwise Dask keeps an empty chunk.
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
    """Return the namespace of the outputs. It differs from `xp` if the function uses captured traced arrays."""
    outputs = [y for row in rows for y in row]
    return array_namespace(*outputs) if outputs else xp


def _zeros(xp: Namespace, xs: Arrays) -> Arrays:
    return tuple([xp.zeros(x.shape[1:], dtype=x.dtype, device=checks.device_of(x)) for x in xs])


def _no_rows(xp: Namespace, arrays: Arrays) -> Arrays:
    return tuple([xp.zeros((0, *x.shape), dtype=x.dtype, device=checks.device_of(x)) for x in arrays])


Branch: TypeAlias = Callable[..., Any]


def cond(pred: Array, true_fun: Branch, false_fun: Branch, *operands: Array) -> Arrays:
    if is_concrete(pred):
        return tuple((true_fun if bool(pred) else false_fun)(*operands))
    results, traced = _called((true_fun, false_fun), operands)
    if traced is None:
        return selected(pred, *results)
    chosen: Arrays = facade.cond.native(traced)(array_namespace(traced).asarray(pred), true_fun, false_fun, *operands)
    return chosen


def switch(index: Array, branches: Sequence[Branch], *operands: Array) -> Arrays:
    if is_concrete(index):
        return tuple(branches[min(max(int(index), 0), len(branches) - 1)](*operands))
    results, traced = _called(branches, operands)
    chosen: Arrays
    if traced is not None:
        chosen = facade.switch.native(traced)(array_namespace(traced).asarray(index), branches, *operands)
        return chosen
    chosen = results[0]
    for number, result in enumerate(results[1:], 1):
        chosen = selected(index >= number, result, chosen)
    return chosen


def _called(branches: Sequence[Branch], operands: Arrays) -> tuple[list[Arrays], Array | None]:
    """Call all branches. If a transformation traces their arrays, return an array that it traces as well.

    This transformation must then trace the choice: results joined by `where` would include the derivative of the other
    branch times 0, which may be NaN.
    """
    traced = traced_among(operands, *branches)
    if traced is not None:
        return [], traced
    results = [tuple(branch(*operands)) for branch in branches]
    # The search may miss a captured array. Then a result is traced.
    return results, traced_among([x for result in results for x in result])
