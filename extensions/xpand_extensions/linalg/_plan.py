"""The plan of an einsum: its formula, and the order in which operands are combined.

A plan is made once for each formula and shapes of operands.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from string import ascii_letters
from typing import Any, Final, TypeAlias

from xpand.extend import Array, describe, untraced

from .._optional import import_optional

Shape: TypeAlias = tuple[int, ...]

METHODS: Final = ("auto", "auto-hq", "optimal", "dp", "greedy", "branch-2", "branch-all", "random-greedy")
"""The strategies of opt_einsum for finding the order."""

_MAX_PLANS: Final = 4096
_plans: dict[tuple[str, tuple[Shape, ...], bool | str], "Plan"] = {}


@dataclass(frozen=True)
class Single:
    """The operations on one operand, before it is combined with others."""

    shape: Shape | None
    """The shape without the axes of size one that only broadcast. None: there are no such axes."""
    labels: str
    remaining: str
    """Labels of the result. Labels of `labels` that are missing here are summed over; repeated labels are diagonals."""

    @cached_property
    def subscripts(self) -> str:
        return f"{self.labels}->{self.remaining}"


@dataclass(frozen=True)
class Product:
    """A product of two arrays as a product of matrices; of broadcast arrays, if no axes are summed over.

    A field is None if its step changes nothing.
    """

    orders: tuple[Shape | None, Shape | None]
    """The permutation of the axes of each array."""
    shapes: tuple[Shape | None, Shape | None]
    """The shape of each array after it."""
    is_summed: bool
    """Whether to multiply them as matrices."""
    shape: Shape | None
    """The final shape of the product, before its permutation."""
    order: Shape | None
    """The permutation of the axes of the product."""


@dataclass(frozen=True)
class Pair:
    """A step of the plan: the product of two operands, which replaces them at the end of the list of operands."""

    first: int
    second: int
    subscripts: str
    """The product as a separate formula, without ellipses or repeated labels."""
    axes: tuple[Shape, Shape]
    """The axes to sum over, in both operands."""
    batch_axes: tuple[Shape, Shape]
    """The axes that both operands share and the product keeps."""
    order: Shape | None
    """The permutation of the axes of the product, which has the shared axes first, then the others of both. None:
    unchanged.
    """
    shapes: tuple[Shape, Shape]

    @cached_property
    def product(self) -> Product:
        return product_of(*self.shapes, self.axes, self.batch_axes, self.order)


@dataclass(frozen=True, slots=True, eq=False)  # compared by identity: there is one plan for each formula and shapes
class Plan:
    """All steps: first the operations on single operands, then the pairs."""

    singles: tuple[Single | None, ...]
    pairs: tuple[Pair, ...]
    is_pair: bool
    """Whether the product of two operands is the only step."""


def from_lists(arguments: Sequence[Any]) -> tuple[str, tuple[Array, ...]]:
    """Convert the interleaved form, alternating arrays and lists of labels, to the form with subscripts."""
    if len(arguments) < 2 or not all(isinstance(x, (list, tuple)) for x in (*arguments[1::2], arguments[-1])):
        raise TypeError(
            f"einsum: subscripts must be a string such as 'ij,jk->ik', got {describe(arguments[0])}; or pass arrays "
            "and lists of labels alternately"
        )
    try:
        symbols = sorted({label for labels in arguments[1::2] for label in labels if label is not Ellipsis})
    except TypeError:
        raise TypeError(
            "einsum: the labels in lists must be Ellipsis, or integers or strings that can be compared with each other"
        ) from None
    # Choose letters in the order of the labels: without `->`, the output is in alphabetic order.
    letters = dict(zip(symbols, sorted(map(_label, range(len(symbols))))))

    def term(labels: Sequence[Any]) -> str:
        for label in labels:
            if label is not Ellipsis and label not in letters:
                raise ValueError(f"einsum: the output has the label {label!r}, which no operand has")
        return "".join(["..." if label is Ellipsis else letters[label] for label in labels])

    subscripts = ",".join(map(term, arguments[1::2]))
    if len(arguments) % 2:
        subscripts += f"->{term(arguments[-1])}"
    return subscripts, tuple(arguments[: len(arguments) // 2 * 2 : 2])


def _label(number: int) -> str:
    """Return the label with a number: one of the 52 letters, then CJK characters, which count as letters, too."""
    return ascii_letters[number] if number < len(ascii_letters) else chr(0x4E00 + number)


def plan_of(subscripts: str, shapes: tuple[Shape, ...], optimize: bool | str) -> Plan:
    """Return the plan of an einsum, from a cache.

    Raises:
        ValueError: The formula is invalid, or does not fit the shapes.
    """
    key = (subscripts, shapes, optimize)
    found = _plans.get(key)
    if found is None:
        if len(_plans) >= _MAX_PLANS:
            _plans.clear()
        terms, output = _parse(subscripts, shapes)
        found = _plans[key] = _plan(terms, output, shapes, optimize)
    return found


def _parse(subscripts: str, shapes: Sequence[Shape]) -> tuple[list[str], str]:
    """Expand the ellipses of a formula and find its output, with one label for each axis."""
    text = "".join(subscripts.split())
    left, arrow, right = text.partition("->")
    terms = left.split(",")
    if len(terms) != len(shapes):
        raise ValueError(
            f"einsum: subscripts {subscripts!r} are for {len(terms)} operand(s), got {len(shapes)}; separate the "
            "labels of operands with commas"
        )
    for term in (*terms, right):
        letters = term.replace("...", "", 1)
        if letters and not letters.isalpha():
            raise ValueError(
                f"einsum: subscripts must be letters and at most one '...' for each operand, got {term!r} in "
                f"{subscripts!r}"
            )
    used = {label for label in text if label.isalpha()}
    ranks = [len(shape) - len(term.replace("...", "", 1)) for term, shape in zip(terms, shapes)]
    for position, (term, rank, shape) in enumerate(zip(terms, ranks, shapes)):
        if rank < 0 or (rank > 0 and "..." not in term):
            raise ValueError(
                f"einsum: operand {position} has {len(shape)} axes, of shape {shape}, but subscripts {term!r}; write "
                "one letter for each axis, and '...' for the rest"
            )
    broadcast = _fresh(used, max([rank for term, rank in zip(terms, ranks) if "..." in term], default=0))
    if arrow and broadcast and "..." not in right:
        raise ValueError(
            f"einsum: subscripts {subscripts!r} have '...' for {len(broadcast)} axes of the operands and none in the "
            "output; add it there, or give the axes letters"
        )
    terms = [term.replace("...", broadcast[len(broadcast) - rank :]) for term, rank in zip(terms, ranks)]
    if arrow:
        output = right.replace("...", broadcast)
    else:
        counts = Counter("".join(terms))
        output = broadcast + "".join(sorted(x for x, n in counts.items() if n == 1 and x not in broadcast))
    _check_output(subscripts, terms, output)
    return terms, output


def _fresh(used: set[str], count: int) -> str:
    """Find labels that a formula does not use."""
    found = ""
    number = 0
    while len(found) < count:
        label = _label(number)
        found += label if label not in used else ""
        number += 1
    return found


def _check_output(subscripts: str, terms: Sequence[str], output: str) -> None:
    known = set("".join(terms))
    for label, number in Counter(output).items():
        if label not in known:
            raise ValueError(f"einsum: the output of {subscripts!r} has {label!r}, which no operand has")
        if number > 1:
            raise ValueError(f"einsum: the output of {subscripts!r} has {label!r} twice; write it once")


def _plan(terms: Sequence[str], output: str, shapes: Sequence[Shape], optimize: bool | str) -> Plan:
    sizes = _sizes(terms, shapes)
    # Drop each axis of size one that broadcasts from its operand. Then all labels have their full size.
    remaining_axes = [[axis for axis, x in enumerate(t) if s[axis] == sizes[x]] for t, s in zip(terms, shapes)]
    reduced = ["".join(t[axis] for axis in axes) for t, axes in zip(terms, remaining_axes)]
    numbers = Counter("".join("".join(sorted(set(term))) for term in reduced))
    singles: list[Single | None] = []
    current: list[str] = []
    alone = len(terms) == 1
    for term, labels, axes, shape in zip(terms, reduced, remaining_axes, shapes):
        once = "".join(dict.fromkeys(labels))
        remaining = output if alone else "".join(x for x in once if numbers[x] > 1 or x in output)
        squeezed = None if len(labels) == len(term) else tuple(shape[axis] for axis in axes)
        idle = squeezed is None and remaining == labels
        singles.append(None if idle else Single(squeezed, *_renamed(labels, remaining)))
        current.append(remaining)
    pairs = []
    for first, second in _order(current, output, sizes, optimize):
        x2, x1 = current.pop(second), current.pop(first)
        pair, result = _pair(first, second, x1, x2, sizes, output if not current else None, {*output}.union(*current))
        pairs.append(pair)
        current.append(result)
    return Plan(tuple(singles), tuple(pairs), singles == [None, None])


def _sizes(terms: Sequence[str], shapes: Sequence[Shape]) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for position, (term, shape) in enumerate(zip(terms, shapes)):
        if len(set(zip(term, shape))) > len(set(term)):
            raise ValueError(
                f"einsum: a diagonal must be of axes of one size; operand {position} has the shape {shape} for the "
                f"labels {term!r}"
            )
        for label, size in zip(term, shape):
            known = sizes.setdefault(label, size)
            if known == 1:
                sizes[label] = size
            elif size not in (1, known):
                raise ValueError(
                    f"einsum: axes with one label must have one size, or broadcast from 1; label {label!r} has {known} "
                    f"and, in operand {position} of shape {shape}, {size}"
                )
    return sizes


def _order(terms: Sequence[str], output: str, sizes: dict[str, int], optimize: bool | str) -> list[tuple[int, int]]:
    """Return the two operands of each step as positions in the list, the smaller position first."""
    if optimize is False or len(terms) <= 2:
        # The result goes to the end of the list, so the next operand comes from the front.
        return [(0, len(terms) - 1 - step) if step else (0, 1) for step in range(len(terms) - 1)]
    shapes = ",".join([" ".join([f"{sizes[label]}" for label in term]) for term in terms])
    return list(_path(f"{','.join(terms)}->{output}", shapes, "auto" if optimize is True else optimize))


@untraced
def _path(formula: str, shapes: str, method: str) -> tuple[tuple[int, int], ...]:
    """Return opt_einsum's order. torch.compile calls this function instead of tracing it.

    The shapes are text, because sizes may be symbols in a trace.
    """
    opt_einsum = import_optional("opt_einsum", "einsum of three or more operands, unless optimize=False")
    each = [tuple(map(int, shape.split())) for shape in shapes.split(",")]
    path, _ = opt_einsum.contract_path(formula, *each, shapes=True, optimize=method)
    return tuple([(min(step), max(step)) for step in path])


def _pair(
    first: int, second: int, x1: str, x2: str, sizes: dict[str, int], output: str | None, needed: set[str]
) -> tuple[Pair, str]:
    """Describe the product of two operands, and return the labels of the result."""
    common = [label for label in x1 if label in x2]
    batch = [label for label in common if label in needed]
    summed = [label for label in common if label not in needed]
    natural = "".join([*batch, *(x for x in x1 if x not in common), *(x for x in x2 if x not in common)])
    result = natural if output is None else output
    order = None if result == natural else tuple(natural.index(label) for label in result)
    names = _renamed(x1, x2, result)
    pair = Pair(
        first,
        second,
        f"{names[0]},{names[1]}->{names[2]}",
        (tuple(x1.index(label) for label in summed), tuple(x2.index(label) for label in summed)),
        (tuple(x1.index(label) for label in batch), tuple(x2.index(label) for label in batch)),
        order,
        (tuple([sizes[label] for label in x1]), tuple([sizes[label] for label in x2])),
    )
    return pair, result


def product_of(
    shape1: Shape,
    shape2: Shape,
    axes: tuple[Sequence[int], Sequence[int]],
    batch_axes: tuple[Sequence[int], Sequence[int]],
    order: Shape | None = None,
) -> Product:
    """Describe the product of two arrays of given shapes, as `dot_general` followed by a permutation of axes."""
    (summed1, summed2), (batch1, batch2) = axes, batch_axes
    free1 = [axis for axis in range(len(shape1)) if axis not in summed1 and axis not in batch1]
    free2 = [axis for axis in range(len(shape2)) if axis not in summed2 and axis not in batch2]
    stack, rows = [shape1[axis] for axis in batch1], [shape1[axis] for axis in free1]
    columns = [shape2[axis] for axis in free2]
    if not summed1:
        # Both operands get the order of axes of the result, so the result need not be transposed.
        sources = [*batch1, *free1, *[None] * len(free2)], [*batch2, *[None] * len(free1), *free2]
        result = range(len(sources[0])) if order is None else order
        order1, reshaped1 = _broadcast(shape1, [sources[0][axis] for axis in result])
        order2, reshaped2 = _broadcast(shape2, [sources[1][axis] for axis in result])
        return Product((order1, order2), (reshaped1, reshaped2), False, None, None)
    inner = math.prod([shape1[axis] for axis in summed1])
    lead = [math.prod(stack)] if stack else []
    flat = (*lead, math.prod(rows), inner), (*lead, inner, *([math.prod(columns)] if columns or lead else []))
    product = (*flat[0][:-1], *flat[1][len(lead) + 1 :])
    orders = (*batch1, *free1, *summed1), (*batch2, *summed2, *free2)
    shape = (*stack, *rows, *columns)
    return Product(
        (_unless_sorted(orders[0]), _unless_sorted(orders[1])),
        (
            None if flat[0] == tuple([shape1[axis] for axis in orders[0]]) else flat[0],
            None if flat[1] == tuple([shape2[axis] for axis in orders[1]]) else flat[1],
        ),
        True,
        None if shape == product else shape,
        order,
    )


def _broadcast(shape: Shape, axes: Sequence[int | None]) -> tuple[Shape | None, Shape | None]:
    """Return how to permute and reshape an array so that it has the given axes; None stands for an axis of size one."""
    order = tuple([axis for axis in axes if axis is not None])
    start = next((position for position, axis in enumerate(axes) if axis is not None), len(axes))
    own = axes[start:]  # leading axes broadcast even if they are missing
    reshaped = tuple([1 if axis is None else shape[axis] for axis in own])
    return _unless_sorted(order), None if len(order) == len(own) else reshaped


def _unless_sorted(order: Shape) -> Shape | None:
    return None if order == tuple(range(len(order))) else order


def _renamed(*terms: str) -> list[str]:
    """Replace labels by the first letters of the alphabet: libraries support 52 labels in one product."""
    names = {label: _label(n) for n, label in enumerate(dict.fromkeys("".join(terms)))}
    return ["".join(names[label] for label in term) for term in terms]
