"""Arrays that NumPy's inner loops compute block by block. Each block stays in the cache between calls."""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from ._scalars import converted, stored_type_of
from ._shares import shared, work_of
from ._values import Buffer, Call, Index, Node, Place, constant, contiguous, is_shared_element

if TYPE_CHECKING:
    from ._emit import Emitter

BLOCK: Final = 2048
"""The number of elements in one call of an inner loop of NumPy."""


def store_in_blocks(emitter: "Emitter", node: Node, calls: Sequence[Call], target: Buffer) -> None:
    """Write an array block by block. Each block stays in the cache between calls."""
    shape = node.shape
    axis = next(k for k in range(len(shape)) if math.prod(shape[k + 1 :]) <= BLOCK or k == len(shape) - 1)
    rows = min(shape[axis], max(1, BLOCK // math.prod(shape[axis + 1 :])))
    blocks = (*shape[:axis], -(-shape[axis] // rows))
    with shared(emitter, blocks, work_of(node)) as part:
        of_block = _of_block(emitter, node, calls, target, axis, rows)
        emitter.nest(blocks, of_block, part=part)


def _of_block(
    emitter: "Emitter", node: Node, calls: Sequence[Call], target: Buffer, axis: int, rows: int
) -> Callable[[Place], None]:
    """Allocate the memory of a block, and return the function that emits the instructions for one."""
    shape = node.shape
    inner = math.prod(shape[axis + 1 :])
    count = rows * inner
    memory: Callable[[Any], Any] = lambda dtype: emitter.allocated((count,), dtype).pointer
    results = {id(each): memory(each.dtype) for each in calls}
    single: dict[int, Any] = {}  # operands with one element, stored once
    for each in calls:
        for x, dtype in zip(each.args, each.dtypes):
            if is_shared_element(x):
                single[id(x)] = emitter.operand(x, dtype).pointer
    operands: dict[tuple[int, int], Any] = {}
    for each in calls:
        for i, (x, dtype) in enumerate(zip(each.args, each.dtypes)):
            if not (is_shared_element(x) or (x.dtype == dtype and (isinstance(x, Call) or _is_dense(x, axis)))):
                operands[id(each), i] = memory(dtype)

    def over(outer: Place, start: Index, stop: Any, body: Callable[[Place, Any], None]) -> None:
        """Repeat for the elements of a block, numbered within the block."""

        def of_row(index: Index) -> None:
            local = emitter.b.mul(emitter.b.sub(index.value, start.value), constant(inner))

            def of_element(place: Place) -> None:
                number = local
                for i, step in zip(place, contiguous(shape[axis + 1 :])):
                    number = emitter.b.add(number, emitter.b.mul(i.value, constant(step)))
                body((*outer, index, *place), number)

            emitter.nest(shape[axis + 1 :], of_element)

        emitter.loop(start.value, stop, of_row, (0, shape[axis]))

    def of_block(place: Place) -> None:
        outer, number, b = place[:-1], place[-1], emitter.b
        start = Index(b.mul(number.value, constant(rows)), 0, shape[axis])
        stop = b.add(start.value, constant(rows))
        stop = b.select(b.icmp_signed("<", stop, constant(shape[axis])), stop, constant(shape[axis]))
        length = b.mul(b.sub(stop, start.value), constant(inner))
        first = (*outer, start, *[Index(constant(0), 0, 1)] * (len(shape) - axis - 1))
        for each in calls:
            pointers, strides = [], []
            for i, (x, dtype) in enumerate(zip(each.args, each.dtypes)):
                strides.append(0 if is_shared_element(x) else dtype.itemsize)
                if is_shared_element(x):
                    pointers.append(single[id(x)])
                elif (id(each), i) in operands:
                    cells = operands[id(each), i]
                    pointers.append(cells)

                    def fill(place: Place, number: Any, x: Node = x, dtype: Any = dtype, cells: Any = cells) -> None:
                        with _in_block(emitter, number, results):
                            value = converted(emitter.b, emitter.element(x, place), x.dtype, dtype)
                        pointer = emitter.b.gep(cells, [number], source_etype=stored_type_of(dtype))
                        emitter.write(value, pointer, dtype)

                    over(outer, start, stop, fill)
                elif isinstance(x, Call):
                    pointers.append(results[id(x)])
                else:
                    assert isinstance(x, Buffer)
                    pointers.append(emitter.address(x, first))
            direct = each is node and _is_dense(target, axis)
            pointers.append(emitter.address(target, first) if direct else results[id(each)])
            emitter.call(each.loop, pointers, [length], [*strides, each.dtype.itemsize])
            if direct:
                return

        def write(place: Place, number: Any) -> None:
            with _in_block(emitter, number, results):
                value = emitter.element(node, place)
            emitter.write(value, emitter.address(target, place), node.dtype)

        over(outer, start, stop, write)

    return of_block


@contextmanager
def _in_block(emitter: "Emitter", number: Any, results: dict[int, Any]) -> Iterator[None]:
    before = emitter.block
    emitter.block = (number, results)
    try:
        yield
    finally:
        emitter.block = before


def _is_dense(node: Node, axis: int) -> bool:
    """Return whether the elements of a buffer are adjacent from an axis on."""
    if not isinstance(node, Buffer):
        return False
    dense = contiguous(node.shape)
    return all(n == 1 or a == b for n, a, b in list(zip(node.shape, node.strides, dense))[axis:])
