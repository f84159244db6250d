"""LLVM instructions for one element of an elementwise operation, with NumPy's values."""

from collections.abc import Callable
from functools import cache
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
from llvmlite import ir

from .....tracing._graph import Equation, Variable
from ._complex import complex_instructions, intrinsic, joined, parts
from ._ufuncs import Loop, least_step, loop_of

Instructions: TypeAlias = Callable[..., Any]
"""A function of a builder, the data type of the operands, and the operands."""

CODES: Final = frozenset("?bBhHiIlLfdFD")
"""The data types that can be compiled."""
_FLOATS: Final[dict[str, ir.Type]] = {
    "f": ir.FloatType(),
    "d": ir.DoubleType(),
    "F": ir.LiteralStructType([ir.FloatType()] * 2),
    "D": ir.LiteralStructType([ir.DoubleType()] * 2),
}
BIT: Final = ir.IntType(1)
BYTE: Final = ir.IntType(8)


def type_of(dtype: np.dtype[Any]) -> ir.Type:
    """Return the type of an element in a register."""
    return BIT if dtype.kind == "b" else _FLOATS.get(dtype.char) or ir.IntType(8 * dtype.itemsize)


def stored_type_of(dtype: np.dtype[Any]) -> ir.Type:
    """Return the type of an element in memory."""
    return BYTE if dtype.kind == "b" else type_of(dtype)


def is_compiled(dtype: Any) -> bool:
    """Return whether elements of a data type can be compiled."""
    dtype = np.dtype(dtype)
    return dtype.isnative and (dtype.char in CODES or (dtype.kind in "iu" and dtype.itemsize <= 8))


def literal(x: Any, dtype: np.dtype[Any]) -> ir.Constant:
    """Return a number as an element."""
    value = np.asarray(x, dtype=dtype)[()]
    if dtype.kind == "c":
        return ir.Constant(type_of(dtype), [literal(part, part_of(dtype)) for part in (value.real, value.imag)])
    return ir.Constant(type_of(dtype), float(value) if dtype.kind == "f" else int(value))


def part_of(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the data type of the parts of complex numbers."""
    return np.dtype(dtype.char.lower())


# Instructions by the kind of operands: f for floating point, i for integers, b for booleans


def _compared(sign: str) -> dict[str, Instructions]:
    unordered = sign == "!="

    def floats(b: Any, dtype: Any, x: Any, y: Any) -> Any:
        return (b.fcmp_unordered if unordered else b.fcmp_ordered)(sign, x, y)

    def integers(b: Any, dtype: Any, x: Any, y: Any) -> Any:
        return (b.icmp_signed if dtype.kind == "i" else b.icmp_unsigned)(sign, x, y)

    return {"f": floats, "i": integers, "b": integers}


def _extreme(sign: str) -> dict[str, Instructions]:
    def floats(b: Any, dtype: Any, x: Any, y: Any) -> Any:
        """Choose NaN, or the second of equal numbers."""
        takes_first = b.or_(b.fcmp_ordered(sign, x, y), b.fcmp_unordered("uno", x, x))
        return b.select(takes_first, x, y)

    def integers(b: Any, dtype: Any, x: Any, y: Any) -> Any:
        return b.select(_compared(sign)["i"](b, dtype, x, y), x, y)

    return {"f": floats, "i": integers}


def _shifted(method: str) -> Instructions:
    """Shift by any number of bits. Shifts beyond the width give zeros, or copies of the sign."""

    def shift(b: Any, dtype: Any, x: Any, y: Any) -> Any:
        width = ir.Constant(x.type, 8 * dtype.itemsize)
        fits = b.icmp_unsigned("<", y, width)
        beyond = ir.Constant(x.type, 0)
        if method == "right" and dtype.kind == "i":
            beyond = b.ashr(x, ir.Constant(x.type, 8 * dtype.itemsize - 1))
        right = b.ashr if dtype.kind == "i" else b.lshr
        found = (b.shl if method == "left" else right)(x, b.select(fits, y, ir.Constant(x.type, 0)))
        return b.select(fits, found, beyond)

    return shift


def _sign_of_float(b: Any, dtype: Any, x: Any) -> Any:
    one, zero = ir.Constant(x.type, 1.0), ir.Constant(x.type, 0.0)
    negative = b.select(b.fcmp_ordered("<", x, zero), ir.Constant(x.type, -1.0), b.select(_is_nan(b, x), x, zero))
    return b.select(b.fcmp_ordered(">", x, zero), one, negative)


def _sign_of_integer(b: Any, dtype: Any, x: Any) -> Any:
    zero, one = ir.Constant(x.type, 0), ir.Constant(x.type, 1)
    found = b.select(b.icmp_unsigned("!=", x, zero), one, zero)
    return b.select(b.icmp_signed("<", x, zero), ir.Constant(x.type, -1), found) if dtype.kind == "i" else found


def _is_nan(b: Any, x: Any) -> Any:
    return b.fcmp_unordered("uno", x, x)


def _magnitude(b: Any, dtype: Any, x: Any) -> Any:
    if dtype.kind == "u":
        return x
    return b.select(b.icmp_signed("<", x, ir.Constant(x.type, 0)), b.neg(x), x)


def _signbit(b: Any, dtype: Any, x: Any) -> Any:
    integer = ir.IntType(8 * dtype.itemsize)
    return b.icmp_signed("<", b.bitcast(x, integer), ir.Constant(integer, 0))


def _against_infinity(sign: str) -> Instructions:
    return lambda b, dtype, x: b.fcmp_ordered(sign, intrinsic(b, "fabs", x), ir.Constant(x.type, float("inf")))


def _same(b: Any, dtype: Any, x: Any) -> Any:
    return x


def _one_of_each(name: str) -> Instructions:
    return lambda b, dtype, x, y: getattr(b, name)(x, y)


def _logical(name: str) -> dict[str, Instructions]:
    def of_any(b: Any, dtype: Any, *given: Any) -> Any:
        bits = [converted(b, x, dtype, np.dtype(bool)) for x in given]
        return b.not_(*bits) if name == "not_" else getattr(b, name)(*bits)

    return dict.fromkeys("fibc", of_any)


_INSTRUCTIONS: Final[dict[str, dict[str, Instructions]]] = {
    "abs": {"f": lambda b, dtype, x: intrinsic(b, "fabs", x), "i": _magnitude},
    "add": {"f": _one_of_each("fadd"), "i": _one_of_each("add"), "b": _one_of_each("or_")},
    "bitwise_and": dict.fromkeys("ib", _one_of_each("and_")),
    "bitwise_invert": dict.fromkeys("ib", lambda b, dtype, x: b.not_(x)),
    "bitwise_left_shift": {"i": _shifted("left")},
    "bitwise_or": dict.fromkeys("ib", _one_of_each("or_")),
    "bitwise_right_shift": {"i": _shifted("right")},
    "bitwise_xor": dict.fromkeys("ib", _one_of_each("xor")),
    "ceil": {"f": lambda b, dtype, x: intrinsic(b, "ceil", x)},
    "conj": dict.fromkeys("fi", _same),
    "copysign": {"f": lambda b, dtype, x, y: intrinsic(b, "copysign", x, y)},
    "divide": {"f": _one_of_each("fdiv")},
    "equal": _compared("=="),
    "floor": {"f": lambda b, dtype, x: intrinsic(b, "floor", x)},
    "greater": _compared(">"),
    "greater_equal": _compared(">="),
    "isfinite": {"f": _against_infinity("<")},
    "isinf": {"f": _against_infinity("==")},
    "isnan": {"f": lambda b, dtype, x: _is_nan(b, x)},
    "less": _compared("<"),
    "less_equal": _compared("<="),
    "logical_and": _logical("and_"),
    "logical_not": _logical("not_"),
    "logical_or": _logical("or_"),
    "logical_xor": _logical("xor"),
    "maximum": _extreme(">"),
    "minimum": _extreme("<"),
    "multiply": {"f": _one_of_each("fmul"), "i": _one_of_each("mul"), "b": _one_of_each("and_")},
    "negative": {"f": lambda b, dtype, x: b.fneg(x), "i": lambda b, dtype, x: b.neg(x)},
    "not_equal": _compared("!="),
    "positive": {"f": _same, "i": _same},
    "reciprocal": {"f": lambda b, dtype, x: b.fdiv(ir.Constant(x.type, 1.0), x)},
    "sign": {"f": _sign_of_float, "i": _sign_of_integer},
    "signbit": {"f": _signbit},
    "sqrt": {"f": lambda b, dtype, x: intrinsic(b, "sqrt", x)},
    "square": {"f": lambda b, dtype, x: b.fmul(x, x), "i": lambda b, dtype, x: b.mul(x, x)},
    "subtract": {"f": _one_of_each("fsub"), "i": _one_of_each("sub")},
    "trunc": {"f": lambda b, dtype, x: intrinsic(b, "trunc", x)},
}


def instructions_of(name: str, dtype: np.dtype[Any]) -> Instructions:
    """Return the instructions of an operation on elements of one data type."""
    found = _instructions(name, dtype)
    assert found is not None
    return found


def _instructions(name: str, dtype: np.dtype[Any]) -> Instructions | None:
    found = _INSTRUCTIONS.get(name, {}).get("i" if dtype.kind == "u" else dtype.kind)
    return complex_instructions(name, dtype.char) if found is None and dtype.kind == "c" else found


_CALLED: Final = {"expm1": np.expm1, "log1p": np.log1p, "tanh": np.tanh}
"""Functions that are NumPy's ufuncs for real numbers; for complex numbers, xpand wraps them."""


def _ufunc_of(equation: Equation, out: np.dtype[Any]) -> Any:
    name = equation.op.name
    if name == "round":
        return np.rint
    if name == "floor_divide" and out.kind in "iu":
        return np.floor_divide
    return equation.op.function if out.kind == "c" else _CALLED.get(name, equation.op.function)


def converted(b: ir.IRBuilder, x: Any, source: np.dtype[Any], target: np.dtype[Any]) -> Any:
    """Convert an element to another data type that `is_convertible` allows."""
    if source == target:
        return x
    to = type_of(target)
    if target.kind == "c":
        part = part_of(target)
        if source.kind != "c":
            return joined(b, converted(b, x, source, part), literal(0, part))
        return joined(b, *[converted(b, each, part_of(source), part) for each in parts(b, x)])
    if source.kind == "c":
        return b.or_(*[converted(b, each, part_of(source), target) for each in parts(b, x)])
    if target.kind == "b":
        zero = ir.Constant(x.type, 0.0 if source.kind == "f" else 0)
        return b.fcmp_unordered("!=", x, zero) if source.kind == "f" else b.icmp_unsigned("!=", x, zero)
    if target.kind == "f":
        if source.kind == "f":
            return b.fpext(x, to) if target.itemsize > source.itemsize else b.fptrunc(x, to)
        return (b.sitofp if source.kind == "i" else b.uitofp)(x, to)
    if source.kind == "f":
        return _truncated(b, x, to)
    if to.width <= x.type.width:
        return b.trunc(x, to) if to.width < x.type.width else x
    return (b.sext if source.kind == "i" else b.zext)(x, to)


def is_convertible(source: np.dtype[Any], target: np.dtype[Any]) -> bool:
    """Return whether elements can be converted."""
    return (
        source.kind != "f" or target.kind in "fbc" or (target.kind == "i" and _is_truncated(source.char, target.char))
    )


def _truncated(b: ir.IRBuilder, x: Any, to: ir.IntType) -> Any:
    """Convert a floating-point number by the processor's instruction, which defines all results and sets flags."""
    width, is_double = max(32, to.width), isinstance(x.type, ir.DoubleType)
    lanes = ir.VectorType(x.type, 2 if is_double else 4)
    name = ("llvm.x86.sse2.cvttsd2si" if is_double else "llvm.x86.sse.cvttss2si") + ("64" if width == 64 else "")
    kind = ir.FunctionType(ir.IntType(width), [lanes])
    function = b.module.globals.get(name) or ir.Function(b.module, kind, name)
    vector = b.insert_element(ir.Constant(lanes, ir.Undefined), x, ir.Constant(ir.IntType(32), 0))
    found = b.call(function, [vector])
    return b.trunc(found, to) if to.width < width else found


@cache
def _is_truncated(source: str, target: str) -> bool:
    """Return whether NumPy converts numbers that don't fit like the processor's instruction."""
    bits = 64 if np.dtype(target).itemsize == 8 else 32
    limit = 2.0 ** (bits - 1)
    special = [0.0, -0.5, 2.9, -7.1, 130.0, -40000.0, 3e9, -3e9, 1e19, -1e19, 1e300, np.inf, -np.inf, np.nan]
    with np.errstate(all="ignore"):
        x = np.asarray(special * 5, dtype=source)  # long enough for vector instructions
        fits = (x >= -limit) & (x < limit)
        wide = np.where(fits, np.where(fits, x, 0).astype(np.int64), -int(limit)).astype(np.int64)
        found = [x.astype(target), np.asarray([each.astype(target) for each in x])]
    return all(np.array_equal(each, wide.astype(target)) for each in found)


class Plan(NamedTuple):
    """The computation of elements: data types of operands, and instructions or a loop of NumPy."""

    dtypes: tuple[np.dtype[Any], ...]
    instructions: Instructions | None
    loop: Loop | None = None
    is_forward: bool = False
    """Whether NumPy's values are the same only for nonnegative strides."""


def plan_of(equation: Equation) -> Plan | str:
    """Return the plan for an elementwise operation, or the reason why it isn't compiled."""
    name, inputs, out = equation.op.name, equation.inputs, np.dtype(equation.outputs[0].dtype)
    given = [np.dtype(x.dtype) if isinstance(x, Variable) else None for x in inputs]
    if name == "astype":
        source = np.dtype(inputs[0].dtype)
        if not is_convertible(source, out):
            return f"cast of {source} to {out}"
        return Plan((source,), lambda b, dtype, x: converted(b, x, dtype, out))
    if name == "where":
        wanted = [np.dtype(bool), out, out]
        return _checked(Plan(tuple(wanted), _where), inputs, given)
    if name == "clip":
        if out.kind not in "fiu" or any(dtype != out for dtype in given if dtype is not None) or None in inputs:
            return "data types"
        return _checked(Plan((out,) * 3, _clip), inputs, given)
    ufunc = _ufunc_of(equation, out)
    if not isinstance(ufunc, np.ufunc) or equation.params:
        return "no native code for it"
    weak = [dtype or type(x) for x, dtype in zip(inputs, given)]
    try:
        *operands, result = ufunc.resolve_dtypes((*weak, None))
    except TypeError:
        return "data types"
    if result != out or not all(map(is_compiled, operands)):
        return "data type"
    if name == "pow" and result.kind not in "fc":
        return "operation that raises errors"
    kinds = {"i" if dtype.kind == "u" else dtype.kind for dtype in operands}
    if name == "pow" and isinstance(inputs[1], (int, float)) and inputs[1] == 2 and kinds == {"f"}:
        return _checked(Plan((operands[0], operands[1]), lambda b, dtype, x, y: b.fmul(x, x)), inputs, given)
    if name in _DIVISIONS and kinds == {"i"} and isinstance(inputs[1], int) and inputs[1] > 0:
        return _checked(Plan((operands[0], operands[1]), _DIVISIONS[name]), inputs, given)
    types = f"{''.join(dtype.char for dtype in operands)}->{result.char}"
    least = least_step(ufunc, types) if "c" in kinds else -1
    if least is None:
        return "order of the elements in memory"
    instructions = _instructions(name, operands[0]) if len(set(operands)) == 1 else None
    loop = loop_of(ufunc, types) if instructions is None else None
    if loop is None and instructions is None:
        return "no inner loop of NumPy"
    return _checked(Plan(tuple(operands), instructions, loop, least > 0), inputs, given)


def _checked(plan: Plan, inputs: Any, given: Any) -> Plan | str:
    for x, source, target in zip(inputs, given, plan.dtypes):
        if source is None:
            try:
                np.asarray(x, dtype=target)
            except (OverflowError, TypeError):
                return f"number {x}"
        elif not is_convertible(source, target):
            return f"cast of {source} to {target}"
    return plan


def _clip(b: Any, dtype: Any, x: Any, least: Any, most: Any) -> Any:
    kind = "f" if dtype.kind == "f" else "i"
    return _extreme("<")[kind](b, dtype, _extreme(">")[kind](b, dtype, x, least), most)


def _quotient(b: Any, dtype: Any, x: Any, y: Any) -> Any:
    """Divide integers by a positive constant, rounded down."""
    if dtype.kind == "u":
        return b.udiv(x, y)
    count = y.constant.bit_length() - 1
    if y.constant == 1 << count:
        return b.ashr(x, ir.Constant(x.type, count))
    found, zero = b.sdiv(x, y), ir.Constant(x.type, 0)
    is_above = b.icmp_signed("<", b.srem(x, y), zero)
    return b.select(is_above, b.sub(found, ir.Constant(x.type, 1)), found)


def _remainder(b: Any, dtype: Any, x: Any, y: Any) -> Any:
    """Return the nonnegative remainder of a division by a positive constant."""
    if y.constant & (y.constant - 1) == 0:
        return b.and_(x, ir.Constant(x.type, y.constant - 1))
    if dtype.kind == "u":
        return b.urem(x, y)
    found = b.srem(x, y)
    return b.select(b.icmp_signed("<", found, ir.Constant(x.type, 0)), b.add(found, y), found)


_DIVISIONS: Final[dict[str, Instructions]] = {"floor_divide": _quotient, "remainder": _remainder}
"""Divisions of integers by a positive number. For others, use NumPy's loops, which warn about zero."""


def _where(b: Any, dtype: Any, condition: Any, x: Any, y: Any) -> Any:
    if dtype.kind == "c":
        return joined(b, *[b.select(condition, *each) for each in zip(parts(b, x), parts(b, y))])
    return b.select(condition, x, y)
