"""Loops on PyTorch: Python loops, which its transformations trace, or operations of a graph.

Under `jit` these are xpand's own operations. In torch.compile a scan is unrolled, and a `while_loop` is
`torch.while_loop`, which supports no transformations of torch.func: inside those, a loop needs a bound.
"""

import math
from functools import partial
from typing import Any, Final

import torch

from xpand import UnsupportedError
from xpand.extend import LibraryArray as Array
from xpand.torch._concrete import is_traced
from xpand.torch._differentiated import is_differentiated_in_reverse
from xpand_extensions.autodiff import checkpoint
from xpand_extensions.control_flow._checkpointed import Primitives
from xpand_extensions.generic.control_flow import _loops as scans
from xpand_extensions.generic.control_flow._loops import counted, looped

from ..autodiff._levels import Arrays, Function
from ._branches import holds, is_known, must_be_inlined, unaliased
from ._traced import FEW_STEPS, in_blocks, is_long, repeated, scanned

_FEW_COMPILED_STEPS: Final = 16
"""The number of steps that are unrolled in a graph: each costs the compiler about 35 ms, an operation for all 0.5 s."""


def scan(
    f: Function, init: Arrays, xs: Any = None, length: Any = None, reverse: bool = False, unroll: Any = 1
) -> tuple[Arrays, Arrays]:
    if is_traced():
        if length <= _FEW_COMPILED_STEPS or torch.compiler.is_dynamo_compiling() or must_be_inlined():
            return scans.scan(f, init, xs, length, reverse)
        return scanned(f, init, xs, length, reverse)
    run = partial(scans.scan, reverse=reverse)
    library = Primitives(torch, run, lambda active, function, state: state, FEW_STEPS, checkpoint)
    return in_blocks(library, f, init, xs, length, reverse)


def map(f: Function, xs: Arrays, *, batch_size: int | None = None) -> Arrays:
    if batch_size is not None and xs[0].shape[0]:
        return tuple(torch.func.vmap(f, chunk_size=batch_size)(*xs))
    return scan(lambda _, x: ((), f(*x)), (), xs, xs[0].shape[0])[1]


def fori_loop(lower: Any, upper: Any, body_fun: Function, init_val: Arrays, *, unroll: Any = None) -> Arrays:
    bounds = (lower, upper)
    if not all(isinstance(x, int) or is_known(x) for x in bounds):
        return counted(lower, upper, body_fun, init_val, is_known, while_loop)
    dtype = next((x.dtype for x in bounds if not isinstance(x, int)), torch.int64)
    first, last = int(lower), max(int(lower), int(upper))
    if first == last:
        return init_val
    numbers = torch.arange(first, last, dtype=dtype, device=init_val[0].device)
    carry, _ = scan(lambda carry, i: (body_fun(*i, *carry), ()), init_val, (numbers,), last - first)
    return carry


def while_loop(cond_fun: Function, body_fun: Function, init_val: Arrays, *, max_iter: Any = None) -> Arrays:
    if not is_traced():
        if isinstance(max_iter, int) and is_long(max_iter):
            return _bounded_in_blocks(cond_fun, body_fun, init_val, max_iter)
        return looped(cond_fun, body_fun, init_val, max_iter, lambda active, bounded: holds(active))
    if must_be_inlined() and (max_iter is not None or torch.compiler.is_dynamo_compiling()):
        return looped(cond_fun, body_fun, init_val, max_iter, _undecided)
    if not isinstance(max_iter, tuple):
        return _compiled_while(cond_fun, body_fun, init_val, max_iter)
    carry, rows, before = init_val, {}, 0
    for stop in sorted(set(max_iter)):
        carry = rows[stop] = _compiled_while(cond_fun, body_fun, carry, stop - before)
        before = stop
    return tuple([torch.stack(each) for each in zip(*[rows[number] for number in max_iter])])


def _bounded_in_blocks(cond_fun: Function, body_fun: Function, carry: Arrays, max_iter: int) -> Arrays:
    """Step while a condition holds. If reverse mode saves the carry, step in blocks, which it computes again."""

    def block(carry: Arrays, length: int) -> Arrays:
        return looped(cond_fun, body_fun, carry, length, lambda active, bounded: holds(active))

    carry = block(carry, 1)
    if not any(is_differentiated_in_reverse(x) for x in carry):
        return block(carry, max_iter - 1)
    size = math.isqrt(max_iter)
    for start in range(1, max_iter, size):
        if not holds(cond_fun(*carry))[0]:
            break
        length = min(size, max_iter - start)
        carry = checkpoint(lambda *carry, length=length: block(carry, length))(*carry)
    return carry


def _undecided(active: Array, bounded: bool) -> tuple[bool, bool]:
    if bounded:
        return True, True
    raise UnsupportedError(
        "while_loop: torch.compile can't compile vmap or derivatives of a loop without a bound; give max_iter, or "
        "compile only the function inside vmap or grad"
    )


def _compiled_while(cond_fun: Function, body_fun: Function, init_val: Arrays, max_iter: int | None) -> Arrays:
    if not torch.compiler.is_dynamo_compiling():
        return repeated(cond_fun, body_fun, init_val, max_iter)
    step = unaliased(body_fun)
    if max_iter is None:
        return tuple(torch.while_loop(cond_fun, step, init_val))
    count = torch.zeros((), dtype=torch.int64, device=init_val[0].device)
    _, *found = torch.while_loop(
        lambda count, *carry: (count < max_iter) & cond_fun(*carry),
        lambda count, *carry: (count + 1, *step(*carry)),
        (count, *init_val),
    )
    return tuple(found)
