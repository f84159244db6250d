"""Emit LLVM instructions for arrays: loops over elements, copies, calls of NumPy's inner loops."""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import Any, Final

import numpy as np
from llvmlite import ir

from ._blocks import store_in_blocks
from ._complex import joined, parts
from ._flags import STATUS, keep_flags
from ._scalars import converted, part_of, stored_type_of
from ._shares import Part, Share, shared, work_of
from ._ufuncs import Loop
from ._values import (
    SMALL,
    Buffer,
    Call,
    Elementwise,
    Index,
    Node,
    Order,
    Pieces,
    Place,
    Shape,
    Small,
    View,
    constant,
    contiguous,
    is_flat,
    is_shared_element,
    is_turned,
    nodes,
    rearranged,
    slots_of,
    turned_shape,
)

ALIGNMENT: Final = 64
INTEGER: Final = ir.IntType(64)
POINTER: Final = ir.PointerType()
_LOOP: Final = ir.FunctionType(ir.VoidType(), [POINTER, POINTER, POINTER, INTEGER])


class Emitter:
    """Writes the body of a function, and plans its workspace."""

    def __init__(self, module: ir.Module, function: ir.Function) -> None:
        """Start a function. Its last arguments are the workspace, the addresses of NumPy's loops, and the frame."""
        self.module = module
        *_, workspace, self.addresses, self.frame = function.args
        self.shares: list[Share] = []
        """The loops that threads share."""
        self.loops: dict[Loop, int] = {}
        self.sizes: list[int] = []
        """The bytes of each slot of the workspace."""
        self.scopes: list[dict[Any, Node]] = []
        self.pinned: list[int] = []
        self.targets: list[Buffer | None] = []
        """The memory for the results of the current equation. None means any memory."""
        self.counted: set[int] = set()
        """The `id` of the equations of loops that need a step."""
        self.orders: dict[int, tuple[Order, ...]] = {}
        """The memory order of operands of products and reductions in NumPy, by the `id` of their equation."""
        self.block: tuple[Any, dict[int, Any]] | None = None
        self.start(function, workspace)

    def start(self, function: ir.Function, workspace: Any) -> None:
        """Write instructions to another function from now on."""
        self.function, self.workspace = function, workspace
        self.entry = ir.IRBuilder(function.append_basic_block("entry"))
        self.b = ir.IRBuilder(function.append_basic_block("start"))
        self.status = self.cell(STATUS)
        self.entry.store(ir.Constant(STATUS, 0), self.status)
        self.flags = self.cell(STATUS)

    # Memory

    def cell(self, kind: ir.Type, count: int = 1) -> Any:
        """Return memory on the stack. A loop uses the same memory in each step."""
        found = self.entry.alloca(kind, ir.Constant(INTEGER, count))
        found.align = 32
        return found

    def slot(self, size: int) -> int:
        """Return the number of an unused slot of the workspace."""
        used = {*self.pinned, *slots_of(node for scope in self.scopes for node in scope.values())}
        for number, each in enumerate(self.sizes):
            if each == size and number not in used:
                return number
        self.sizes.append(size)
        return len(self.sizes) - 1

    @contextmanager
    def equation(self) -> Iterator[None]:
        """Reserve memory that is allocated in this context until its end, in addition to the arrays of `scopes`."""
        count = len(self.pinned)
        yield
        del self.pinned[count:]

    def allocated(self, shape: Shape, dtype: np.dtype[Any]) -> Buffer:
        """Return memory of the workspace for an array."""
        size = -(-math.prod(shape) * dtype.itemsize // ALIGNMENT) * ALIGNMENT
        slot = self.slot(size)
        self.pinned.append(slot)
        pointer = self.entry.gep(self.workspace, [constant(sum(self.sizes[:slot]))], source_etype=ir.IntType(8))
        return Buffer(shape, dtype, pointer, slots=(slot,))

    def result(self, shape: Shape, dtype: np.dtype[Any], number: int = 0) -> Buffer:
        """Return memory for a result of the current equation, if possible that of the program's result."""
        target = self.targets[number] if number < len(self.targets) else None
        if target is None or target.shape != shape or target.dtype != dtype:
            return self.allocated(shape, dtype)
        self.targets[number] = None
        return target

    def address(self, buffer: Buffer, place: Sequence[Index]) -> Any:
        """Return the address of an element."""
        offset, terms = buffer.offset, []
        for index, stride, length in zip(place, buffer.strides, buffer.shape, strict=True):
            if stride and length > 1:
                if isinstance(index.value, ir.Constant):
                    offset += index.value.constant * stride
                else:
                    terms.append(self.b.mul(index.value, constant(stride)) if stride != 1 else index.value)
        total: Any = None
        for term in terms:
            total = term if total is None else self.b.add(total, term)
        if total is None:
            total = constant(offset)
        elif offset:
            total = self.b.add(total, constant(offset))
        return self.b.gep(buffer.pointer, [total], inbounds=True, source_etype=stored_type_of(buffer.dtype))

    def part(self, buffer: Buffer, place: Sequence[Index]) -> Buffer:
        """Return the part of an array at positions on its first axes."""
        n = len(place)
        lead = Buffer(buffer.shape[:n], buffer.dtype, buffer.pointer, buffer.strides[:n], buffer.offset)
        pointer = self.address(lead, place)
        return Buffer(buffer.shape[n:], buffer.dtype, pointer, buffer.strides[n:], slots=buffer.slots)

    def read(self, pointer: Any, dtype: np.dtype[Any]) -> Any:
        """Load an element."""
        if dtype.kind == "c":
            return joined(self.b, *[self.read(each, part_of(dtype)) for each in self._parts_at(pointer, dtype)])
        found = self.b.load(pointer, typ=stored_type_of(dtype))
        return self.b.icmp_unsigned("!=", found, ir.Constant(found.type, 0)) if dtype.kind == "b" else found

    def write(self, value: Any, pointer: Any, dtype: np.dtype[Any]) -> None:
        """Store an element."""
        if dtype.kind == "c":
            for part, each in zip(parts(self.b, value), self._parts_at(pointer, dtype)):
                self.b.store(part, each)
            return
        self.b.store(self.b.zext(value, stored_type_of(dtype)) if dtype.kind == "b" else value, pointer)

    def _parts_at(self, pointer: Any, dtype: np.dtype[Any]) -> tuple[Any, Any]:
        kind = stored_type_of(part_of(dtype))
        first = self.b.bitcast(pointer, kind.as_pointer())
        return first, self.b.gep(first, [constant(1)], inbounds=True, source_etype=kind)

    # Control flow

    def block_of(self, name: str) -> Any:
        """Append a block of instructions."""
        return self.function.append_basic_block(name)

    def loop(self, low: Any, high: Any, body: Callable[[Index], object], known: tuple[int, int] | None = None) -> None:
        """Repeat for the integers of a range. `known` bounds the integers if the range is not known."""
        first, last = (constant(x) if isinstance(x, int) else x for x in (low, high))
        lowest, highest = known or (low, high)
        if isinstance(low, int) and isinstance(high, int) and high - low < 2:
            if high > low:
                body(Index(first, low, high))
            return
        b, before = self.b, self.b.block
        head, end = self.block_of("loop"), self.block_of("end")
        b.branch(head)
        b.position_at_end(head)
        i = b.phi(INTEGER)
        i.add_incoming(first, before)
        body(Index(i, lowest, highest))
        following = b.add(i, constant(1), flags=("nsw", "nuw"))
        i.add_incoming(following, b.block)
        b.cbranch(b.icmp_signed("<", following, last), head, end)
        b.position_at_end(end)

    def nest(
        self,
        shape: Shape,
        body: Callable[[Place], None],
        cuts: Sequence[int] = (),
        place: Place = (),
        part: Part | None = None,
    ) -> None:
        """Repeat for all positions in a shape, or in a part of it. The loop over the last axis is divided at `cuts`."""
        if not shape:
            body(place)
            return
        inner = lambda index: self.nest(shape[1:], body, cuts, (*place, index), part)
        if part is not None and part.axis == len(place):
            self.loop(part.start, part.stop, inner, part.known)
            return
        bounds = [0, *(sorted(set(cuts)) if len(shape) == 1 else ()), shape[0]]
        for low, high in pairwise(bounds):
            self.loop(low, high, inner)

    # Elements

    def element(self, node: Node, place: Sequence[Index]) -> Any:
        """Return an element of an array in a register."""
        if isinstance(node, Small):
            if node.size == 1:
                return node.values[0]
            position = sum(int(i.value.constant) * step for i, step in zip(place, contiguous(node.shape)))
            return node.values[position]
        if isinstance(node, Buffer):
            return self.read(self.address(node, place), node.dtype)
        if isinstance(node, Elementwise):
            values = [
                converted(self.b, self.element(x, place), x.dtype, dtype) for x, dtype in zip(node.args, node.dtypes)
            ]
            return node.instructions(self.b, node.dtypes[-1], *values)
        if isinstance(node, Pieces):
            return self._element_in_pieces(node, place)
        assert isinstance(node, Call)
        assert self.block is not None
        return self.read(self._address_in_block(node, place), node.dtype)

    def _element_in_pieces(self, node: Pieces, place: Sequence[Index]) -> Any:
        index, b = place[node.axis], self.b
        found: list[tuple[int, Buffer | Elementwise, list[Index]]] = []
        for start, part in zip(node.starts, node.pieces):
            length = part.shape[node.axis]
            if start < index.high and start + length > index.low and length:
                low, high = max(index.low - start, 0), min(index.high - start, length)
                moved = Index(b.sub(index.value, constant(start)) if start else index.value, low, high)
                if isinstance(index.value, ir.Constant):
                    moved = Index(constant(index.value.constant - start), low, high)
                found.append((start, part, [*place[: node.axis], moved, *place[node.axis + 1 :]]))
        if len(found) == 1:
            return self.element(*found[0][1:])
        if all(isinstance(part, Buffer) for part in node.pieces):
            address: Any = None
            for start, part, where in found:
                each = self.address(part, where)  # type: ignore[arg-type]
                is_before = None if address is None else b.icmp_signed("<", index.value, constant(start))
                address = each if address is None else b.select(is_before, address, each)
            return self.read(address, node.dtype)
        cell = self.cell(stored_type_of(node.dtype))
        for start, part, where in found:
            is_in = b.icmp_unsigned("<", b.sub(index.value, constant(start)), constant(part.shape[node.axis]))
            with b.if_then(is_in):
                self.write(self.element(part, where), cell, node.dtype)
        return self.read(cell, node.dtype)

    # Arrays

    def small(self, node: Node) -> Small:
        """Return an array of a few elements in registers."""
        if isinstance(node, Small):
            return node
        if isinstance(node, Call):
            return self._called(node)
        if nodes(node, Call):  # their elements are computed together
            node = self.in_memory(node)
        values = []
        for position in np.ndindex(*node.shape):
            place = [Index(constant(i), i, i + 1) for i in position]
            values.append(self.element(node, place))
        return Small(node.shape, node.dtype, values)

    def in_registers(self, node: Node) -> Node:
        """Return an array in registers if it has only a few elements."""
        return self.small(node) if node.size <= SMALL else node

    def in_memory(self, node: Node) -> Buffer:
        """Return an array in memory."""
        if isinstance(node, Buffer):
            return node
        if isinstance(node, Small):
            kind = stored_type_of(node.dtype)
            found = Buffer(node.shape, node.dtype, self.cell(kind, max(1, node.size)))
        else:
            found = self._allocated_like(node)
        self.store(node, found)
        return found

    def _allocated_like(self, node: Node) -> Buffer:
        """Return memory for an array, by columns if it is computed from arrays by columns."""
        if not is_turned(node):
            return self.allocated(node.shape, node.dtype)
        return self.allocated(turned_shape(node), node.dtype).viewed(np.matrix_transpose)

    def viewed(self, node: Node, view: View) -> Node:
        """Return a view of an array, or an expression of views of the arrays that it is computed from."""
        if isinstance(node, Elementwise) and not nodes(node, (Call, Pieces)):
            args = [x if is_shared_element(x) else self.viewed(x, view) for x in node.args]
            found = node.with_args(next(x.shape for x in args if not is_shared_element(x)), args)
            return self.in_registers(found)
        if isinstance(node, Small):
            positions = view(np.arange(node.size).reshape(node.shape))
            if positions.size <= SMALL:
                return Small(positions.shape, node.dtype, [node.values[i] for i in positions.ravel()])
        part = self.in_memory(node).viewed(view)
        return self.in_registers(part)

    def spread(self, node: Node, shape: Shape) -> Node:
        """Return an array as an operand of an elementwise operation of a shape."""
        if node.shape == shape:
            return node
        if node.size == 1 and math.prod(shape) != 1:
            return self.small(node)
        if isinstance(node, (Elementwise, Call, Pieces)):  # compute it once, not again for each row
            node = self.in_memory(node)
        return self.viewed(node, lambda x: np.broadcast_to(x, shape))

    def stretched(self, node: Node, shape: Shape) -> Node:
        """Broadcast an array to a shape, also in registers."""
        if node.shape == shape:
            return node
        node = node if isinstance(node, Small) else self.in_memory(node)
        lead = len(node.shape) - len(shape)
        if lead > 0:
            node = self.viewed(node, lambda x: x.reshape(x.shape[lead:]))
        return self.viewed(node, lambda x: np.broadcast_to(x, shape))

    def dense(self, node: Node) -> Buffer:
        """Return an array in memory with adjacent elements, row by row."""
        buffer = self.in_memory(node)
        if buffer.is_contiguous:
            return buffer
        copy = self.allocated(buffer.shape, buffer.dtype)
        self.store(buffer, copy)
        return copy

    def cast(self, node: Node, dtype: np.dtype[Any]) -> Node:
        """Convert the elements of an array."""
        if node.dtype == dtype:
            return node
        source = node.dtype
        found = Elementwise(node.shape, dtype, lambda b, _, x: converted(b, x, source, dtype), [source], [node])
        return self.in_registers(found)

    def store(self, node: Node, target: Buffer) -> None:
        """Write an array to memory."""
        if not node.size:
            return
        if isinstance(node, Small):
            for position, value in zip(np.ndindex(*node.shape), node.values):
                self.write(value, self.address(target, [Index(constant(i), i, i + 1) for i in position]), node.dtype)
            return
        if is_turned(node) and is_turned(target):
            node = rearranged(node, turned_shape(node), np.matrix_transpose)
            target = target.viewed(np.matrix_transpose)
        if is_flat(node) and target.is_contiguous and len(node.shape) > 1:
            flat: View = lambda x: x.reshape(-1)
            node, target = rearranged(node, (node.size,), flat), target.viewed(flat)
        calls = nodes(node, Call)
        if calls:
            store_in_blocks(self, node, calls, target)
            return

        def write(place: Place) -> None:
            self.write(self.element(node, place), self.address(target, place), node.dtype)

        if not node.shape:
            write(())
            return
        last = len(node.shape) - 1
        cuts = sorted({start for x in nodes(node, Pieces) if x.axis == last for start in x.starts[1:]})
        cuts = [x for x in cuts if 0 < x < node.shape[-1]]
        work = work_of(node)
        for low, high in pairwise([0, *(cuts if last == 0 else ()), node.shape[0]]):
            shape = (high - low, *node.shape[1:])
            with shared(self, shape, work // node.shape[0] * shape[0], low=low) as part:
                self.nest(shape, write, cuts, part=part)

    # Inner loops of NumPy

    def call(self, loop: Loop, pointers: Sequence[Any], sizes: Sequence[Any], strides: Sequence[Any]) -> None:
        """Call an inner loop of NumPy. Save earlier floating-point flags, since some loops clear them."""
        b, count = self.b, len(pointers)
        keep_flags(self)
        args, steps, lengths = (
            self.cell(POINTER, count),
            self.cell(INTEGER, len(strides)),
            self.cell(INTEGER, len(sizes)),
        )
        for cells, kind, values in ((args, POINTER, pointers), (steps, INTEGER, strides), (lengths, INTEGER, sizes)):
            for i, x in enumerate(values):
                b.store(constant(x) if isinstance(x, int) else x, b.gep(cells, [constant(i)], source_etype=kind))
        self.call_address(loop, _LOOP, [args, lengths, steps], with_data=True)

    def call_address(
        self, loop: Loop, kind: ir.FunctionType, arguments: Sequence[Any], with_data: bool = False
    ) -> None:
        """Call a function of another library. The program gets its address as an argument."""
        b, number = self.b, self.loops.setdefault(loop, len(self.loops))
        code, data = (
            b.load(b.gep(self.addresses, [constant(2 * number + i)], source_etype=INTEGER), typ=INTEGER) for i in (0, 1)
        )
        b.call(b.inttoptr(code, kind.as_pointer()), [*arguments, *[data] * with_data])

    def _called(self, node: Call) -> Small:
        """Return the results of an inner loop for a few elements."""
        arrays = [self.operand(x, dtype) for x, dtype in zip(node.args, node.dtypes)]
        out = Buffer(node.shape, node.dtype, self.cell(stored_type_of(node.dtype), node.size))
        strides = [x.dtype.itemsize if x.size == node.size else 0 for x in arrays]
        pointers = [self.address(x, [Index(constant(0), 0, 1)] * len(x.shape)) for x in (*arrays, out)]
        self.call(node.loop, pointers, [node.size], [*strides, node.dtype.itemsize])
        return self.small(out)

    def operand(self, node: Node, dtype: np.dtype[Any]) -> Buffer:
        """Return a few adjacent elements in memory, with a data type."""
        if isinstance(node, Buffer) and node.dtype == dtype and node.is_contiguous:
            return node
        values = [converted(self.b, x, node.dtype, dtype) for x in self.small(node).values]
        return self.in_memory(Small(node.shape, dtype, values))

    def _address_in_block(self, node: Call, place: Sequence[Index]) -> Any:
        assert self.block is not None
        number, results = self.block
        return self.b.gep(results[id(node)], [number], source_etype=stored_type_of(node.dtype))
