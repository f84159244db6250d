"""Arrays of a program during compilation: in registers, in memory, or as expressions to compute later."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import IntFlag
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
from llvmlite import ir
from numpy.lib.stride_tricks import as_strided

from ._scalars import Instructions
from ._ufuncs import Loop

SMALL: Final = 8
"""Arrays of up to this number of elements are in registers."""

Shape: TypeAlias = tuple[int, ...]
View: TypeAlias = Callable[[Any], Any]
"""A function that returns a view of a NumPy array, or a rearranged copy."""


class Order(IntFlag):
    """The known memory order of a NumPy array. NumPy sums elements in this order."""

    OTHER = 0
    """Any order."""
    ROWS = 1
    """The strides decrease from the first axis to the last. So elementwise operations return `DENSE` arrays."""
    PARTS = 3
    """`ROWS`, and the elements of each part along the first axis are adjacent, row by row."""
    FORWARD = 32
    """No stride is negative."""
    EVEN = 97
    """The elements are row by row, at equal distances."""
    DENSE = 103
    """The elements are adjacent, row by row."""
    COLUMNS = 40
    """The elements of each matrix of a stack are adjacent, column by column, so its transpose is `DENSE`."""
    NEUTRAL = 128
    """Each matrix of a stack is one row or one column, which may be repeated."""
    SLICES = 16
    """Each part along the first axis is `ROWS`."""

    @property
    def of_part(self) -> "Order":
        """The order of the parts along the first axis."""
        if Order.PARTS in self or Order.EVEN in self:
            return Order.DENSE if Order.PARTS in self else Order.EVEN
        return self & Order.FORWARD | (Order.ROWS if self & (Order.ROWS | Order.SLICES) else Order.OTHER)


def all_are(order: Order, orders: Iterable[Order]) -> bool:
    """Return whether several arrays have an order."""
    return all(order in each for each in orders)


class Index(NamedTuple):
    """A position along an axis, in a register, with known bounds."""

    value: Any
    low: int
    high: int


Place: TypeAlias = tuple[Index, ...]
"""A position along each axis."""


class Node:
    """An array with a shape and data type."""

    __slots__ = ("dtype", "shape")

    def __init__(self, shape: Shape, dtype: Any) -> None:
        self.shape, self.dtype = tuple(shape), np.dtype(dtype)

    @property
    def size(self) -> int:
        """The number of elements."""
        return math.prod(self.shape)

    @property
    def parts(self) -> "Sequence[Node]":
        """The arrays from which this one is computed."""
        return ()


class Small(Node):
    """An array in registers, row by row."""

    __slots__ = ("values",)

    def __init__(self, shape: Shape, dtype: Any, values: Sequence[Any]) -> None:
        super().__init__(shape, dtype)
        self.values = list(values)


class Buffer(Node):
    """An array in memory: a pointer, an offset and strides in elements.

    `slots` are the parts of the workspace that may contain it.
    """

    __slots__ = ("offset", "pointer", "slots", "strides")

    def __init__(
        self,
        shape: Shape,
        dtype: Any,
        pointer: Any,
        strides: Shape | None = None,
        offset: int = 0,
        slots: Sequence[int] = (),
    ) -> None:
        super().__init__(shape, dtype)
        self.pointer, self.offset, self.slots = pointer, offset, tuple(slots)
        self.strides = contiguous(self.shape) if strides is None else tuple(strides)

    @property
    def is_contiguous(self) -> bool:
        """Whether the elements are adjacent, row by row."""
        return all(n == 1 or a == b for n, a, b in zip(self.shape, self.strides, contiguous(self.shape)))

    def viewed(self, view: View) -> "Buffer":
        """Return a view. NumPy computes it on an array with these strides, without memory."""
        base: Any = np.zeros(1, np.int8)
        dummy = view(as_strided(base, self.shape, self.strides))
        moved = dummy.__array_interface__["data"][0] - base.__array_interface__["data"][0]
        return Buffer(dummy.shape, self.dtype, self.pointer, dummy.strides, self.offset + moved, self.slots)


class Elementwise(Node):
    """An operation on arrays of its own shape, or of one element, computed wherever an element is needed."""

    __slots__ = ("args", "dtypes", "instructions")

    def __init__(
        self, shape: Shape, dtype: Any, instructions: Instructions, dtypes: Sequence[Any], args: Sequence[Node]
    ) -> None:
        super().__init__(shape, dtype)
        self.instructions, self.dtypes, self.args = instructions, tuple(dtypes), tuple(args)

    @property
    def parts(self) -> Sequence[Node]:
        return self.args

    def with_args(self, shape: Shape, args: Sequence[Node]) -> "Elementwise":
        """Return the operation on other arrays."""
        return Elementwise(shape, self.dtype, self.instructions, self.dtypes, args)


class Call(Node):
    """The call of an inner loop of NumPy for many elements."""

    __slots__ = ("args", "dtypes", "loop")

    def __init__(self, shape: Shape, dtype: Any, loop: Loop, dtypes: Sequence[Any], args: Sequence[Node]) -> None:
        super().__init__(shape, dtype)
        self.loop, self.dtypes, self.args = loop, tuple(dtypes), tuple(args)

    @property
    def parts(self) -> Sequence[Node]:
        return self.args

    def with_args(self, shape: Shape, args: Sequence[Node]) -> "Call":
        """Return the call for other arrays."""
        return Call(shape, self.dtype, self.loop, self.dtypes, args)


class Pieces(Node):
    """Concatenated arrays along an axis, in memory or computed wherever an element is needed."""

    __slots__ = ("axis", "pieces", "starts")

    def __init__(self, shape: Shape, dtype: Any, axis: int, pieces: Sequence[Buffer | Elementwise]) -> None:
        super().__init__(shape, dtype)
        self.axis, self.pieces = axis, tuple(pieces)
        self.starts = tuple(sum(x.shape[axis] for x in pieces[:i]) for i in range(len(pieces)))

    @property
    def parts(self) -> Sequence[Node]:
        return self.pieces


def contiguous(shape: Shape) -> Shape:
    """Return the strides, in elements, of an array with adjacent elements."""
    return tuple(math.prod(shape[i + 1 :]) for i in range(len(shape)))


def leaves(node: Node) -> Iterator[Node]:
    """Yield the arrays, in registers and in memory, from which an expression is computed."""
    if not node.parts:
        yield node
    for part in node.parts:
        yield from leaves(part)


def slots_of(given: Iterable[Node]) -> set[int]:
    """Return the slots of the workspace that expressions use."""
    return {slot for node in given for x in leaves(node) if isinstance(x, Buffer) for slot in x.slots}


def nodes(node: Node, kind: type[Any] | tuple[type[Any], ...]) -> list[Any]:
    """Return the nodes of a kind in an expression, without duplicates, each after the nodes that it needs."""
    found: dict[int, Node] = {}

    def visit(each: Node) -> None:
        for part in each.parts:
            visit(part)
        if isinstance(each, kind):
            found.setdefault(id(each), each)

    visit(node)
    return list(found.values())


def is_shared_element(node: Node) -> bool:
    """Return whether an array has one element, in a register, which is combined with all elements of others."""
    return isinstance(node, Small) and node.size == 1


def is_flat(node: Node) -> bool:
    """Return whether all arrays of an expression have adjacent elements, row by row."""
    return not nodes(node, Pieces) and all(
        is_shared_element(x) or (isinstance(x, Buffer) and x.shape == node.shape and x.is_contiguous)
        for x in leaves(node)
    )


def is_turned(node: Node) -> bool:
    """Return whether all arrays of an expression have adjacent elements in each matrix, column by column."""
    arrays = [x for x in leaves(node) if not is_shared_element(x)]
    return (
        len(node.shape) > 1
        and min(node.shape[-2:]) > 1
        and bool(arrays)
        and not nodes(node, Pieces)
        and all(
            isinstance(x, Buffer) and x.shape == node.shape and x.viewed(np.matrix_transpose).is_contiguous
            for x in arrays
        )
    )


def turned_shape(node: Node) -> Shape:
    return (*node.shape[:-2], node.shape[-1], node.shape[-2])


def rearranged(node: Node, shape: Shape, view: View) -> Node:
    """Return an expression of views with a shape."""
    if is_shared_element(node):
        return node
    if isinstance(node, Buffer):
        return node.viewed(view)
    assert isinstance(node, (Elementwise, Call))
    return node.with_args(shape, [rearranged(x, shape, view) for x in node.args])


def constant(value: int) -> ir.Constant:
    """Return an integer in a register."""
    return ir.Constant(ir.IntType(64), value)
