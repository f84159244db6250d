"""Loops along the first axis of arrays; the facade is `control_flow`."""

from collections.abc import Callable
from typing import Any

from xpand import trees
from xpand.extend import Array, checks, describe

from .._dispatch import pluggable
from .._transforms import as_array
from .._transforms_patterns import sliceable
from .._where import clean_tracebacks
from ..progress import To, emit, tracked
from ._signatures import scan_signature
from ._trees import (
    Arrays,
    Carry,
    Results,
    check_unroll,
    dispatched_by,
    filled,
    filler,
    first_array,
    one_library,
    paths,
    skeleton,
)


@scan_signature
@clean_tracebacks
@pluggable
def scan(
    f: Callable[..., Any],
    init: trees.Tree,
    xs: trees.Tree = None,
    length: int | None = None,
    reverse: bool = False,
    unroll: int | bool = 1,
    *,
    progress: To = False,
) -> tuple[trees.Tree, trees.Tree]:
    """Loop along the first axis of arrays with a carry, and stack the results of the steps.

    Args:
        f: Takes the carry and a slice of `xs` at one position of the first axis; returns a pair: the next carry, a tree
            of the same structure, shapes and data types, and a tree of arrays to stack.
        init: The initial carry, a tree of arrays and Python numbers, as in `while_loop`.
        xs: A tree of arrays of one size along their first axes, or None.
        length: The number of steps. Needed if `xs` has no arrays.
        reverse: Start at the last position. The stacked arrays keep the positions of `xs`.
        unroll: How many steps a compiled loop unrolls; True for all, False for one. A hint, for JAX.
        progress: Show the number of steps; or a function of a `Progress`: see `xpand.progress`.

    Returns:
        A pair: the last carry, and the results of the steps, stacked along a new first axis. Without steps `f` is still
        called once, with zeros, to learn the shapes.

    Raises:
        TypeError: `f` is not a function or does not return a pair; leaves are not arrays or numbers, or belong to two
            libraries; or a carry or step result changes its structure, shape or data type.
        ValueError: The arrays have several sizes along their first axes, another size than `length`, or no size at all;
            or they are on two devices.

    Reverse mode on JAX and by PyTorch's `backward` takes memory for the stacked outputs and about the square root of
    the number of steps, and computes each step twice.

    Source: `jax.lax.scan`.

    >>> import numpy as np
    >>> total, sums = scan(lambda total, x: (total + x, total + x), 0.0, np.asarray([1.0, 2.0, 3.0]))
    >>> float(total), sums
    (6.0, array([1., 3., 6.]))
    """
    checks.function("scan", f, "f")
    checks.boolean("scan", "reverse", reverse)
    check_unroll("scan", unroll)
    xs = sliceable("scan", "xs", xs)
    parts, form = trees.leaves(xs), skeleton(xs)
    carry = Carry("scan", "init", "f", init, parts)
    parts = [as_array("scan: xs holds", x, first_array((*carry.arrays, *parts))) for x in parts]
    steps = _length("scan", xs, parts, length)
    one_library("scan", init=carry.arrays, xs=parts)
    if progress is not False:
        with tracked("scan", steps, progress=progress) as report:

            def counted(state: tuple[Array, trees.Tree], x: trees.Tree) -> Any:
                result = f(state[1], x)
                if steps:  # without steps, `f` is called only for the shapes
                    emit(report, state[0] + 1)
                is_pair = isinstance(result, tuple) and len(result) == 2
                return ((state[0] + 1, result[0]), result[1]) if is_pair else result

            (_, last), ys = scan(counted, (0, init), xs, length, reverse, unroll)
            return last, ys

    row = filler(form)

    def loop(arrays: Arrays) -> tuple[trees.Tree, trees.Tree]:
        yields = Results("scan", "the second result of f", arrays[0])

        def step(carried: Arrays, x: Arrays) -> tuple[Arrays, Arrays]:
            if carry.is_first:
                result = carry.stepped(lambda value, _: f(value, row(x)), carried)
            else:
                result = f(carry.tree(carried), row(x))
            if not isinstance(result, tuple) or len(result) != 2:
                raise TypeError(
                    f"scan: f must return a pair, (next carry, result to stack or None), got {describe(result)}"
                )
            return carry.fit(result[0]), yields.flatten(result[1])

        native = scan.native(*dispatched_by((*arrays, *parts)))
        last, ys = native(step, arrays, tuple(parts), length=steps, reverse=reverse, unroll=unroll)
        return carry.tree(last), yields.tree(ys)

    pair: tuple[trees.Tree, trees.Tree] = carry.run(loop)
    return pair


@clean_tracebacks
@pluggable
def map(f: Callable[..., Any], xs: trees.Tree, *, batch_size: int | None = None) -> trees.Tree:
    """Call a function for each position along the first axis of arrays, one after the other, and stack the results.

    `vmap` computes all positions together; this function needs the memory of only one.

    Args:
        f: Takes a slice of `xs` at one position of the first axis; returns a tree of arrays.
        xs: A tree of arrays of one size along their first axes.
        batch_size: How many positions to compute together by `vmap`, on libraries that can. None: one.

    Returns:
        The results, stacked along a new first axis. Without positions `f` is still called once, with zeros, to learn
        the shapes.

    Raises:
        TypeError: `f` is not a function; leaves are not arrays, or belong to two libraries; or results change their
            structure, shape or data type.
        ValueError: The arrays have several sizes along their first axes, or are on two devices; or `batch_size` is not
            positive.

    Source: `jax.lax.map`.

    >>> import numpy as np
    >>> map(lambda x: x * x, np.asarray([1.0, 2.0, 3.0]))
    array([1., 4., 9.])
    """
    checks.function("map", f, "f")
    if batch_size is not None:
        batch_size = checks.integer("map", "batch_size", batch_size, minimum=1)
    xs = sliceable("map", "xs", xs)
    parts, form = trees.leaves(xs), skeleton(xs)
    if not parts:
        raise TypeError("map: xs must hold an array, got none")
    parts = [as_array("map: xs holds", x, first_array(parts)) for x in parts]
    _length("map", xs, parts, None)
    one_library("map", xs=parts)
    results = Results("map", "the result of f", parts[0])
    native = map.native(*dispatched_by(tuple(parts)))
    row = filler(form)
    found = native(lambda *x: results.flatten(f(row(x))), tuple(parts), batch_size=batch_size)
    return results.tree(found)


@clean_tracebacks
@pluggable
def associative_scan(fn: Callable[..., Any], elems: trees.Tree, reverse: bool = False, axis: int = 0) -> trees.Tree:
    """Combine all elements up to each position by an associative function, in a logarithmic number of passes.

    Args:
        fn: Takes two trees like `elems`, with fewer positions along the axis, and combines them position by position;
            returns a tree of their structure, shapes and data types. `fn(a, fn(b, c))` must equal `fn(fn(a, b), c)`, up
            to rounding.
        elems: A tree of arrays of one size along the axis.
        reverse: Start at the last position.
        axis: The axis of each array.

    Returns:
        A tree like `elems`: each position holds the combination of all elements up to it, from the start of the axis.

    Raises:
        TypeError: `fn` is not a function or returns a tree unlike its arguments; or leaves are not arrays or belong to
            two libraries.
        ValueError: There is no such axis, or the arrays have several sizes along it or are on two devices.

    Source: `jax.lax.associative_scan`.

    >>> import numpy as np
    >>> associative_scan(lambda x, y: x * y, np.asarray([1.0, 2.0, 3.0, 4.0]))
    array([ 1.,  2.,  6., 24.])
    """
    checks.function("associative_scan", fn, "fn")
    checks.boolean("associative_scan", "reverse", reverse)
    parts, form = trees.leaves(elems), skeleton(elems)
    if not parts:
        raise TypeError("associative_scan: elems must hold an array, got none")
    parts = [as_array("associative_scan: elems holds", x, first_array(parts)) for x in parts]
    one_library("associative_scan", elems=parts)
    axes = [checks.axis("associative_scan", axis, x.ndim) for x in parts]
    _one_size("associative_scan", "elems", elems, [x.shape[k] for x, k in zip(parts, axes)])

    def combined(a: Arrays, b: Arrays) -> Arrays:
        like = Carry("associative_scan", "the arguments", "fn", filled(form, a))
        return like.fit(fn(like.tree(a), like.tree(b)))

    native = associative_scan.native(*dispatched_by(tuple(parts)))
    # Count the axis from the front if that is the same axis for all arrays.
    where = axes[0] if len(set(axes)) == 1 else axis
    return filled(form, native(combined, tuple(parts), reverse=reverse, axis=where))


def _length(function: str, xs: trees.Tree, parts: list[Array], length: int | None) -> int:
    """Find the number of steps."""
    if length is not None:
        length = checks.integer(function, "length", length, minimum=0)
    for i, x in enumerate(parts):
        if not len(x.shape):
            raise ValueError(
                f"{function}: {paths('xs', xs)[i]} is an array of shape (), which has no axis to loop over"
            )
        checks.known_shape(function, "xs", x)
    if not parts:
        if length is None:
            raise ValueError(f"{function}: with no arrays in xs, length must be the number of steps")
        return length
    size = _one_size(function, "xs", xs, [x.shape[0] for x in parts])
    if length not in (None, size):
        raise ValueError(f"{function}: length={length} differs from the size of the arrays in xs, {size}")
    return size


def _one_size(function: str, name: str, tree: trees.Tree, sizes: list[Any]) -> int:
    if any(size != sizes[0] for size in sizes):
        listed = ", ".join(f"{size} of {path}" for size, path in zip(sizes, paths(name, tree)))
        raise ValueError(f"{function}: the arrays must have one size along the axis, got {listed}")
    return int(sizes[0])
