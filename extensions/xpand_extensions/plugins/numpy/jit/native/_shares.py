"""Loops that several threads share.

Each is a separate function, which is called for one piece after the other. A program writes the function's arguments to
a frame, wakes a helper, and takes pieces until none is left. Helpers do the same. The program continues when all pieces
are done. So it never waits for a late helper, which finds no piece left. A job contains the frame and the program, to
keep them alive while a helper may use them.
"""

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from llvmlite import ir
from llvmlite.ir.instructions import ExtractValue, InsertValue

from ._flags import EXCEPTIONS, instruction, keep_flags, set_flags
from ._values import Call, Elementwise, Node, Shape, constant, nodes

if TYPE_CHECKING:
    from ._emit import Emitter

LEAST: Final = 1 << 18
"""The minimum work of a loop that threads share, in elements to copy or add. For 50 microseconds of work, two threads
take 0.9 of the time of one; for four times as much, 0.6."""
PIECE: Final = 1 << 14
"""The minimum work of a piece."""
MOST: Final = 64
"""The maximum number of pieces of a loop, since threads wait for each other while the system maps memory."""
CALL: Final = 6
"""The number of additions that take the time of a function of one element in NumPy."""
FUSED: Final = 4
"""The number of operations on an element that take the time to copy it."""
LONG: Final = 16
"""The length from which an axis is divided, unless all axes are shorter."""

PIECES, DONE, STATUS, SETTINGS, FUNCTION, ACTIVE, JOB, TEAM = range(8)
"""The words at the start of a frame: the numbers of pieces, in total and taken; the number of finished pieces; the
status; the floating-point settings; the function; the number of helpers; the job; and from `TEAM` on the words of
`_threads.team`."""
ARGUMENTS: Final = TEAM + 3
"""The first word of the program's arguments in a frame. Other values that a loop uses follow."""

_INTEGER: Final = ir.IntType(64)
_SHORT: Final = ir.IntType(32)
_POINTER: Final = ir.PointerType()
_VOID: Final = ir.VoidType()
_SPINS: Final = 4000
"""The number of checks of other threads (about 0.1 ms) before a thread lets others run."""
_LATE: Final = 1 << 18
"""The cycles (about 0.1 ms) that a program may wait for helpers, in addition to the time of its own pieces.

If it waits longer, the system has suspended a helper. The call then continues alone, with 0 in `TEAM`.
"""
_BITS: Final = 24
_FRONT: Final = 1
_BACK: Final = 1 << _BITS
_STATE: Final = ("b", "entry", "flags", "function", "pinned", "scopes", "sizes", "status", "workspace")


class Part(NamedTuple):
    """A range of positions along one axis, with known bounds."""

    axis: int
    start: Any
    stop: Any
    known: tuple[int, int]

    @property
    def is_whole(self) -> bool:
        """Whether the range contains all positions."""
        return isinstance(self.start, int)


def work_of(node: Node) -> int:
    """Return the work to compute an expression."""
    return node.size * (1 + len(nodes(node, Elementwise)) // FUSED + CALL * len(nodes(node, Call)))


class Share(NamedTuple):
    """The memory for a shared loop: words of a frame, and bytes for each thread."""

    frame: int
    space: int


@contextmanager
def shared(
    emitter: "Emitter", shape: Shape, work: int, axes: Sequence[int] | None = None, low: int = 0
) -> Iterator[Part]:
    """Emit a loop, which several threads share if it is large. Yield the positions of this thread.

    No position may need results of another position. Memory that is allocated in the context belongs to one thread.

    Args:
        emitter: Writes the instructions.
        shape: The axes of the loop.
        work: The number of elements to copy or add, or that could be copied in the same time.
        axes: The axes with independent positions; all by default.
        low: The first position along the first axis.
    """
    axes = [k for k in (range(len(shape)) if axes is None else axes) if shape[k] > 1]
    if emitter.frame is None or work < LEAST or not axes:
        high = low + (shape[0] if shape else 1)
        yield Part(0, low, high, (low, high))
        return
    axis = next((k for k in axes if shape[k] >= LONG), max(axes, key=lambda k: shape[k]))
    length, first = shape[axis], low if axis == 0 else 0
    rows = math.ceil(length / min(MOST, work // PIECE, length))
    pieces = math.ceil(length / rows)
    program, frame, kinds = emitter.function, emitter.frame, [x.type for x in emitter.function.args]
    name = f"share{len(emitter.shares)}"
    function = _function(emitter.module, name, _SHORT, [*kinds, _POINTER, _INTEGER, _INTEGER])
    *_, space, start, stop = function.args
    state = {name: getattr(emitter, name) for name in _STATE}
    emitter.frame, emitter.sizes, emitter.pinned, emitter.scopes = None, [], [], []
    emitter.start(function, space)
    yield Part(axis, start, stop, (first, first + length))
    keep_flags(emitter)
    emitter.b.ret(emitter.b.load(emitter.status, typ=_SHORT))
    used = _captured(emitter, program)
    emitter.entry.branch(function.blocks[1])
    share = Share(ARGUMENTS + len(kinds) + 2 * len(used), sum(emitter.sizes))
    vars(emitter).update(state, frame=frame)
    emitter.shares.append(share)
    b = emitter.b
    for number, value in enumerate(used):
        b.store(value, _word(b, frame, ARGUMENTS + len(kinds) + 2 * number))
    piece = _write_piece(emitter.module, function, rows, length, first)
    memory = emitter.allocated((share.space,), np.dtype(np.uint8)).pointer
    found = b.call(_divide(emitter.module), [frame, memory, piece, constant(pieces)])
    b.store(b.or_(b.load(emitter.status, typ=_SHORT), found), emitter.status)
    set_flags(emitter, found)


def _captured(emitter: "Emitter", program: ir.Function) -> list[Any]:
    """Pass a function the values of the program that it uses. Return the values that it reads from its frame."""
    function, entry = emitter.function, emitter.entry
    frame = function.args[len(program.args) - 1]
    found: dict[int, Any] = {}
    read: list[Any] = []

    def given(x: Any) -> Any:
        if isinstance(x, ir.Argument) and x.parent is program:
            return function.args[program.args.index(x)]
        if not isinstance(x, ir.Instruction) or x.function is function:
            return x
        if id(x) not in found:
            if isinstance(x, ir.GEPInstr) and isinstance(x.pointer, ir.Argument):
                indices = list(map(given, x.indices))
                found[id(x)] = entry.gep(given(x.pointer), indices, x.inbounds, source_etype=x.source_etype)
            else:
                word = _word(entry, frame, ARGUMENTS + len(program.args) + 2 * len(read))
                read.append(x)
                found[id(x)] = entry.load(word, align=8, typ=x.type)
        return found[id(x)]

    for block in function.blocks[1:]:
        for each in block.instructions:
            used = [x for x, _ in each.incomings] if isinstance(each, ir.PhiInstr) else each.operands
            for x in used:
                if given(x) is not x:
                    each.replace_usage(x, given(x))
            # `replace_usage` changes only operands.
            if isinstance(each, ir.GEPInstr):
                each.pointer, *each.indices = each.operands
            elif isinstance(each, InsertValue):
                each.aggregate, each.value = each.operands
            elif isinstance(each, ExtractValue):
                (each.aggregate,) = each.operands
    if not any(isinstance(x.type, ir.PointerType) for x in read):
        for x, outer in zip(function.args, program.args):
            if "noalias" in outer.attributes:
                x.add_attribute("noalias")
    return read


def needs_help(frame: Any) -> bool:
    """Return whether pieces of a loop are left for another thread."""
    word, mask = int(frame[PIECES]), (1 << _BITS) - 1
    is_left = (word & mask) + (word >> _BITS & mask) < word >> 2 * _BITS
    return is_left and bool(frame[ACTIVE] + 2 < frame[TEAM])


# The functions that threads call


def _function(module: ir.Module, name: str, result: ir.Type, kinds: Sequence[ir.Type]) -> ir.Function:
    found = ir.Function(module, ir.FunctionType(result, kinds), name)
    found.linkage = "internal"
    return found


def _word(b: ir.IRBuilder, frame: Any, number: int) -> Any:
    return b.gep(frame, [constant(number)], source_etype=_INTEGER)


def _write_piece(module: ir.Module, function: ir.Function, rows: int, length: int, first: int) -> ir.Function:
    """Write the function that runs a piece of a loop, given its number."""
    found = _function(module, f"{function.name}.piece", _SHORT, [_POINTER, _POINTER, _INTEGER])
    frame, space, number = found.args
    b = ir.IRBuilder(found.append_basic_block())
    start = b.mul(number, constant(rows))
    stop = b.add(start, constant(rows))
    stop = b.select(b.icmp_signed("<", stop, constant(length)), stop, constant(length))
    arguments = [b.load(_word(b, frame, ARGUMENTS + i), typ=x.type) for i, x in enumerate(function.args[:-3])]
    b.ret(b.call(function, [*arguments, space, b.add(start, constant(first)), b.add(stop, constant(first))]))
    return found


def _taken(b: ir.IRBuilder, word: Any) -> tuple[Any, Any, Any]:
    """Return the numbers of pieces taken from the front, taken from the back, and in total.

    These numbers are in one word, which is read and changed atomically.
    """
    mask = constant((1 << _BITS) - 1)
    return b.and_(word, mask), b.and_(b.lshr(word, constant(_BITS)), mask), b.lshr(word, constant(2 * _BITS))


def _take(module: ir.Module) -> ir.Function:
    """Return the function that runs pieces of a loop until none is left. Helpers take pieces from the back.

    So a thread probably reads, in the next loop, the parts of an array that it has computed in this one.
    """
    if "take" in module.globals:
        return module.globals["take"]
    found = _function(module, "take", _VOID, [_POINTER, _POINTER, _INTEGER])
    frame, space, one = found.args
    b = ir.IRBuilder(found.append_basic_block())
    loop, work, end = (found.append_basic_block() for _ in range(3))
    own = b.alloca(_SHORT)
    b.call(instruction(module, "stmxcsr"), [own])
    b.branch(loop)
    b.position_at_end(loop)
    front, back, count = _taken(b, b.atomic_rmw("add", _word(b, frame, PIECES), one, "acq_rel"))
    b.cbranch(b.icmp_signed("<", b.add(front, back), count), work, end)
    b.position_at_end(work)
    b.call(instruction(module, "ldmxcsr"), [_word(b, frame, SETTINGS)])
    kind = ir.FunctionType(_SHORT, [_POINTER, _POINTER, _INTEGER])
    piece = b.inttoptr(b.load(_word(b, frame, FUNCTION), typ=_INTEGER), kind.as_pointer())
    is_first = b.icmp_signed("==", one, constant(_FRONT))
    number = b.select(is_first, front, b.sub(b.sub(count, back), constant(1)))
    b.atomic_rmw("or", _word(b, frame, STATUS), b.call(piece, [frame, space, number]), "monotonic")
    b.atomic_rmw("add", _word(b, frame, DONE), constant(1), "release")
    b.branch(loop)
    b.position_at_end(end)
    b.call(instruction(module, "ldmxcsr"), [own])
    b.ret_void()
    return found


def _divide(module: ir.Module) -> ir.Function:
    """Return the function that shares a loop with helpers, and returns the status when all pieces are finished."""
    if "divide" in module.globals:
        return module.globals["divide"]
    found = _function(module, "divide", _SHORT, [_POINTER, _POINTER, _POINTER, _INTEGER])
    frame, space, piece, count = found.args
    b = ir.IRBuilder(found.append_basic_block())
    settings = _word(b, frame, SETTINGS)
    b.call(instruction(module, "stmxcsr"), [settings])
    b.store(b.and_(b.load(settings, typ=_SHORT), ir.Constant(_SHORT, ~EXCEPTIONS)), settings)
    b.store(piece, _word(b, frame, FUNCTION))
    for number in (DONE, STATUS):
        b.store(constant(0), _word(b, frame, number))
    # Write this last: from now on, a late helper of the previous loop may take a piece of this one.
    b.atomic_rmw("xchg", _word(b, frame, PIECES), b.shl(count, constant(2 * _BITS)), "release")
    threads, wake, rest = (b.load(_word(b, frame, TEAM + i), typ=_INTEGER) for i in range(3))
    active = b.load_atomic(_word(b, frame, ACTIVE), "monotonic", 8, typ=_INTEGER)
    with b.if_then(b.icmp_signed("<", b.add(active, constant(1)), threads)):
        job = b.load(_word(b, frame, JOB), typ=_POINTER)
        b.call(b.inttoptr(wake, ir.FunctionType(_VOID, [_POINTER]).as_pointer()), [job])
    start = _cycles(b)
    b.call(_take(module), [frame, space, constant(_FRONT)])
    middle = _cycles(b)
    wait, spin, sleep, end = (found.append_basic_block() for _ in range(4))
    before = b.block
    b.branch(wait)
    b.position_at_end(wait)
    spins = b.phi(_INTEGER)
    spins.add_incoming(constant(0), before)
    done = b.load_atomic(_word(b, frame, DONE), "acquire", 8, typ=_INTEGER)
    b.cbranch(b.icmp_signed("<", done, count), spin, end)
    b.position_at_end(spin)
    b.call(instruction(module, "pause", "sse2", ()), [])
    more = b.add(spins, constant(1))
    spins.add_incoming(more, spin)
    b.cbranch(b.icmp_signed("<", more, constant(_SPINS)), wait, sleep)
    b.position_at_end(sleep)
    b.call(b.inttoptr(rest, ir.FunctionType(_SHORT, []).as_pointer()), [])
    spins.add_incoming(more, sleep)
    b.branch(wait)
    b.position_at_end(end)
    longest = b.add(b.sub(middle, start), constant(_LATE))
    with b.if_then(b.icmp_signed(">", b.sub(_cycles(b), middle), longest), likely=False):
        b.store(constant(0), _word(b, frame, TEAM))
    b.ret(b.load(_word(b, frame, STATUS), typ=_SHORT))
    return found


def start_frame(b: ir.IRBuilder, frame: Any, team: Any, job: Any) -> None:
    """Write the values that all shared loops of a call have in common."""
    for number in (PIECES, ACTIVE):
        b.store(constant(0), _word(b, frame, number))
    b.store(job, _word(b, frame, JOB))
    for i in range(ARGUMENTS - TEAM):
        b.store(b.load(_word(b, team, i), typ=_INTEGER), _word(b, frame, TEAM + i))


def store_arguments(b: ir.IRBuilder, program: ir.Function) -> None:
    """Write a program's arguments to its frame."""
    for i, x in enumerate(program.args):
        b.store(x, _word(b, program.args[-1], ARGUMENTS + i))


def _cycles(b: ir.IRBuilder) -> Any:
    """Read the processor's clock."""
    name = "llvm.readcyclecounter"
    found = b.module.globals.get(name) or ir.Function(b.module, ir.FunctionType(_INTEGER, []), name)
    return b.call(found, [])


def write_help(module: ir.Module, data: int) -> None:
    """Write the function that a helper calls with two Python arrays: a frame, and its own memory.

    It waits a moment for the next loop, since waking a helper takes as long as many loops. `data` is the offset of the
    address of an array's elements.
    """
    found = ir.Function(module, ir.FunctionType(_VOID, [_POINTER, _POINTER]), "help")
    b = ir.IRBuilder(found.append_basic_block())
    frame, space = (b.load(b.gep(x, [constant(data)], source_etype=ir.IntType(8)), typ=_POINTER) for x in found.args)
    active, end = _word(b, frame, ACTIVE), found.append_basic_block()
    more, wait, spin = (found.append_basic_block() for _ in range(3))
    before = b.atomic_rmw("add", active, constant(1), "monotonic")
    threads = b.load(_word(b, frame, TEAM), typ=_INTEGER)
    b.cbranch(b.icmp_signed("<", b.add(before, constant(1)), threads), more, end)
    b.position_at_end(more)
    b.call(_take(module), [frame, space, constant(_BACK)])
    b.branch(wait)
    b.position_at_end(wait)
    spins = b.phi(_INTEGER)
    spins.add_incoming(constant(0), more)
    front, back, count = _taken(b, b.load_atomic(_word(b, frame, PIECES), "monotonic", 8, typ=_INTEGER))
    is_over = b.or_(b.icmp_signed("==", count, constant(0)), b.icmp_signed(">", spins, constant(_SPINS)))
    b.cbranch(is_over, end, spin)
    b.position_at_end(spin)
    b.call(instruction(module, "pause", "sse2", ()), [])
    spins.add_incoming(b.add(spins, constant(1)), spin)
    b.cbranch(b.icmp_signed("<", b.add(front, back), count), more, wait)
    b.position_at_end(end)
    b.atomic_rmw("sub", active, constant(1), "monotonic")
    b.ret_void()


def finish(b: ir.IRBuilder, frame: Any) -> None:
    """Tell helpers that no loop follows."""
    b.atomic_rmw("xchg", _word(b, frame, PIECES), constant(0), "monotonic")
