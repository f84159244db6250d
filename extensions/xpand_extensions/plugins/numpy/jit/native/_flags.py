"""The floating-point flags of the processor, and the status of a program, which collects them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from llvmlite import ir

if TYPE_CHECKING:
    from ._emit import Emitter

STATUS: Final = ir.IntType(32)
EXCEPTIONS: Final = 0x3F
"""The bits of MXCSR for floating-point exceptions. The other bits are settings."""
AGAIN: Final = 1 << 9
"""The status of a program that NumPy must run again, for example if an index is out of bounds."""
_POINTER: Final = ir.PointerType()


def instruction(
    module: ir.Module, name: str, family: str = "sse", kinds: Sequence[ir.Type] = (_POINTER,)
) -> ir.Function:
    """Return an instruction of the processor without a result."""
    name = f"llvm.x86.{family}.{name}"
    found = module.globals.get(name)
    return ir.Function(module, ir.FunctionType(ir.VoidType(), kinds), name) if found is None else found


def keep_flags(emitter: "Emitter") -> None:
    """Add the current flags to the status."""
    found = emitter.b.and_(_current(emitter), ir.Constant(STATUS, EXCEPTIONS))
    _add_status(emitter, found)


def clear_flags(emitter: "Emitter") -> None:
    """Clear the flags."""
    _write(emitter, emitter.b.and_(_current(emitter), ir.Constant(STATUS, ~EXCEPTIONS)))


def set_flags(emitter: "Emitter", status: Any) -> None:
    """Set the flags of a status."""
    b, current = emitter.b, _current(emitter)
    _write(emitter, b.or_(current, b.and_(status, ir.Constant(STATUS, EXCEPTIONS))))


def fail(emitter: "Emitter", condition: Any) -> None:
    """Let NumPy repeat the program if a condition is True."""
    _add_status(emitter, emitter.b.select(condition, ir.Constant(STATUS, AGAIN), ir.Constant(STATUS, 0)))


def fail_if_invalid(emitter: "Emitter") -> None:
    """Let NumPy repeat the program if an operation was invalid, and clear the flags."""
    b = emitter.b
    invalid = b.and_(_current(emitter), ir.Constant(STATUS, 1))
    fail(emitter, b.icmp_unsigned("!=", invalid, ir.Constant(STATUS, 0)))
    clear_flags(emitter)


def _current(emitter: "Emitter") -> Any:
    """Read MXCSR."""
    b = emitter.b
    b.call(instruction(emitter.module, "stmxcsr"), [emitter.flags])
    return b.load(emitter.flags, typ=STATUS)


def _write(emitter: "Emitter", value: Any) -> None:
    """Write MXCSR."""
    b = emitter.b
    b.store(value, emitter.flags)
    b.call(instruction(emitter.module, "ldmxcsr"), [emitter.flags])


def _add_status(emitter: "Emitter", found: Any) -> None:
    b = emitter.b
    b.store(b.or_(b.load(emitter.status, typ=STATUS), found), emitter.status)
