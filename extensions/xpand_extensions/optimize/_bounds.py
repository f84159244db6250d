"""Check the bounds of variables."""

from typing import Any

from xpand import array_namespace, is_concrete, trees
from xpand.extend import Array, checks, describe, eager, same_structure

from .._solver_status import Status
from .._transforms import as_array
from ._algorithms._box import Box
from ._arguments import Vectors
from ._results import status_like
from ._tasks import Record


def box_of(function: str, bounds: Any, vectors: Vectors) -> Box:
    """Check bounds, and convert them to vectors.

    Raises:
        TypeError: Bounds that are not a pair, a bound that is neither a number nor an array, or complex variables.
        ValueError: Shapes that don't fit, NaN, or lower bounds above upper ones.
    """
    if bounds is None:
        return Box()
    if not isinstance(bounds, (tuple, list)) or len(bounds) != 2:
        raise TypeError(
            f"{function}: bounds must be a pair (lower, upper) for all variables, each a number, a tree like x0 or "
            f"None, got {describe(bounds)}"
        )
    if any(checks.kind(vectors.xp, dtype) == "complex" for dtype in vectors.dtypes):
        raise TypeError(f"{function}: bounds are for real variables, and x0 holds complex ones")
    lower, upper = (_vector(function, name, each, vectors) for name, each in zip(("lower", "upper"), bounds))
    for name, bound in (("lower", lower), ("upper", upper)):
        if bound is None or not is_concrete(bound):
            continue
        xp = array_namespace(bound)
        impossible = xp.inf if name == "lower" else -xp.inf
        with eager(xp):
            has_nan, has_impossible = bool(xp.any(xp.isnan(bound))), bool(xp.any(bound == impossible))
        if has_nan:
            raise ValueError(f"{function}: the {name} bounds hold NaN; use infinity where there is no bound")
        if has_impossible:
            raise ValueError(f"{function}: the {name} bounds hold {impossible}, so no number satisfies them")
    if lower is not None and upper is not None and is_concrete(lower) and is_concrete(upper):
        xp = array_namespace(lower, upper)
        with eager(xp):
            is_crossed = bool(xp.any(lower > upper))
        if is_crossed:
            raise ValueError(f"{function}: bounds must not cross: a lower bound is above its upper one")
    return Box(lower, upper)


def with_crossed_failed(box: Box, record: Record) -> Record:
    """Mark problems with crossing bounds as failed: `box_of` can't check abstract bounds."""
    if box.lower is None or box.upper is None:
        return record
    xp = array_namespace(record.status)
    crossed = xp.any(box.lower > box.upper, axis=-1)
    return record._replace(status=xp.where(crossed, status_like(record.status, Status.BREAKDOWN), record.status))


def _vector(function: str, name: str, bound: Any, vectors: Vectors) -> Array | None:
    if bound is None:
        return None
    structure = vectors.structure
    leaves, found = trees.flatten(bound)
    if not same_structure(found, structure):
        if len(leaves) != 1 or checks.is_array(leaves[0]) or leaves[0] is not bound:
            like = "an array" if structure.num_nodes == 1 else f"of the structure {structure}"
            raise TypeError(
                f"{function}: the {name} bound must be a number or a tree like x0, {like}, got {describe(bound)}; "
                "bounds are a pair (lower, upper) for all variables"
            )
        leaves = [bound] * structure.num_leaves
    wide = []
    for leaf, shape, dtype in zip(leaves, vectors.shapes, vectors.dtypes):
        x = as_array(f"{function}: bounds hold", leaf, vectors.like)
        xp = array_namespace(x)
        if checks.kind(xp, x.dtype) not in checks.REAL_VALUED:
            raise TypeError(f"{function}: the {name} bound must be real, got {x.dtype}")
        x = x if x.dtype == dtype else xp.astype(x, dtype)
        try:
            wide.append(xp.broadcast_to(x, shape))
        except (ValueError, RuntimeError, TypeError):
            raise ValueError(
                f"{function}: the {name} bound must broadcast to the shape {shape} of x0, got {tuple(x.shape)}"
            ) from None
    return vectors.flatten("bounds must be", trees.unflatten(structure, wide))
