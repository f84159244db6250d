"""Branches; the facade is `control_flow`."""

from collections.abc import Callable, Sequence
from typing import Any

from xpand import array_namespace, trees
from xpand.extend import Array, checks, describe

from .._dispatch import in_one_namespace, pluggable
from .._transforms import as_array, is_python_number, weak_numbers
from .._where import clean_tracebacks
from ._signatures import cond_signature, switch_signature
from ._trees import Arrays, Results, described, filled, first_array, one_library, scalar_bool, skeleton

Branch = Callable[..., Any]


@cond_signature
@clean_tracebacks
@pluggable
def cond(pred: bool | Array, true_fun: Branch, false_fun: Branch, *operands: trees.Tree) -> trees.Tree:
    """Call one of two functions: the first if a condition holds, else the second.

    Args:
        pred: True or False, or an array of one bool.
        true_fun: Takes the operands; returns a tree of arrays.
        false_fun: Takes the operands; returns a tree of the same structure, shapes and data types.
        *operands: Trees of arrays and Python numbers, which are weakly typed.

    Returns:
        The result of the chosen function. If the condition is concrete, the other function is not called. If it is
        lazy, or differs between lanes of `vmap`, both functions are called, and each lane takes its own result. JAX
        always traces both functions and computes one.

    Raises:
        TypeError: The condition is not a bool, an argument is not a function, operands or results are not arrays or
            numbers or belong to two libraries, or the results differ in structure, shape or data type.
        ValueError: Arrays lie on two devices.

    Source: `jax.lax.cond`.

    >>> import numpy as np
    >>> x = np.asarray([3.0, -4.0])
    >>> cond(np.sum(x) > 0, lambda x: x, lambda x: -x, x)
    array([-3.,  4.])
    """
    checks.function("cond", true_fun, "true_fun")
    checks.function("cond", false_fun, "false_fun")
    known = type(pred).__name__ == "bool"  # a bool of Python or NumPy goes with arrays of any library
    chosen: Any = pred if known else scalar_bool("cond", "pred must be", pred, None)
    arrays, form = _operands("cond", operands, () if known else (chosen,))
    results, flat = _flattened("cond", (true_fun, false_fun), form, first_array((*arrays, chosen)))
    if known:
        return results.tree(flat[0 if pred else 1](*arrays))
    return results.tree(cond.native(chosen)(chosen, *flat, *arrays))


@switch_signature
@clean_tracebacks
@pluggable
def switch(index: int | Array, branches: Sequence[Branch], *operands: trees.Tree) -> trees.Tree:
    """Call one of several functions, selected by its number.

    Args:
        index: The number of the function: an integer, or an integer array of shape (). Numbers out of range select the
            first or the last function.
        branches: Functions that take the operands and return trees of one structure, shapes and data types.
        *operands: Trees of arrays and Python numbers, which are weakly typed.

    Returns:
        The result of the chosen function. The other functions are called in the same cases as in `cond`.

    Raises:
        TypeError: The index is not an integer, an argument is not a function, operands or results are not arrays or
            numbers or belong to two libraries, or the results differ in structure, shape or data type.
        ValueError: There are no branches, or arrays lie on two devices.

    Source: `jax.lax.switch`.

    >>> import numpy as np
    >>> x = np.asarray([3.0, -4.0])
    >>> switch(np.asarray(1), (np.cos, np.abs, np.sin), x)
    array([3., 4.])
    """
    if not isinstance(branches, (tuple, list)):
        raise TypeError(f"switch: branches must be a tuple or a list of functions, got {describe(branches)}")
    if not branches:
        raise ValueError("switch: branches must hold at least one function, got none")
    for number, branch in enumerate(branches):
        checks.function("switch", branch, f"branches[{number}]")
    chosen = checks.plain_integer(index)
    known = not checks.is_array(chosen)
    if known:
        chosen = checks.integer("switch", "index", chosen)
    elif tuple(chosen.shape) != () or not array_namespace(chosen).isdtype(chosen.dtype, "integral"):
        raise TypeError(f"switch: index must be an integer, or an array of one, got {described(chosen)}")
    arrays, form = _operands("switch", operands, () if known else (chosen,))
    results, flat = _flattened("switch", branches, form, first_array((*arrays, chosen)))
    if known:
        return results.tree(flat[min(max(chosen, 0), len(flat) - 1)](*arrays))
    return results.tree(switch.native(chosen)(chosen, flat, *arrays))


def _operands(
    function: str, operands: tuple[trees.Tree, ...], chosen: Sequence[Array]
) -> tuple[list[Array], trees.Tree]:
    """Split operands into arrays and the rest, which may contain Python numbers."""
    leaves = trees.leaves(operands)
    like = first_array((*leaves, *chosen))
    numbers_stay = weak_numbers(like)
    arrays = []
    for leaf in leaves:
        x = as_array(f"{function}: the operands hold", leaf, like)
        if not (numbers_stay and is_python_number(leaf)):
            arrays.append(x)
    one_library(function, **{"pred" if function == "cond" else "index": chosen}, operands=arrays)
    together = list(in_one_namespace(*arrays, *chosen))[: len(arrays)]
    return together, skeleton(operands, keep=is_python_number if numbers_stay else None)


def _flattened(
    function: str, branches: Sequence[Branch], form: trees.Tree, like: Array | None
) -> tuple[Results, tuple[Branch, ...]]:
    """Convert functions of trees to functions of arrays; their results must have the same structure."""
    results = Results(function, "what the functions return", like)

    def flat(branch: Branch) -> Branch:
        def of_arrays(*arrays: Array) -> Arrays:
            return results.flatten(branch(*filled(form, arrays)))

        return of_arrays

    return results, tuple([flat(branch) for branch in branches])
