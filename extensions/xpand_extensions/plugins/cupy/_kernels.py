"""Kernels for CuPy that compute several elementwise operations at once.

A kernel is C++ code with one line for each operation. Its lines use the data types and special cases of CuPy's own
kernels. Contraction of multiplications and additions is off, so the values are those of the separate operations. Some
operations need more than a line (complex numbers, half precision, remainders, shifts) and stay separate.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Final, TypeAlias

import numpy as np

from ...tracing._backend import Backend, report
from ...tracing._compile import compiled, part_of, program, steps_of
from ...tracing._graph import Equation, Graph, Variable

MakeKernel: TypeAlias = Callable[..., Callable[..., Any]]
"""`cupy.ElementwiseKernel`, or a class with its signature."""

MOST_ARRAYS: Final = 32
"""The maximum number of inputs and outputs of a kernel. Larger groups are divided."""
OPTIONS: Final = ("--fmad=false",)

C_TYPES: Final = {
    "bool": "bool",
    "int8": "signed char",
    "int16": "short",
    "int32": "int",
    "int64": "long long",
    "uint8": "unsigned char",
    "uint16": "unsigned short",
    "uint32": "unsigned int",
    "uint64": "unsigned long long",
    "float32": "float",
    "float64": "double",
}
_FLOATING: Final = frozenset({"float32", "float64"})

_OF_FLOATS: Final = {
    **{name: f"{name}({{a}})" for name in ("acos", "acosh", "asin", "asinh", "atan", "atanh", "cos", "cosh", "exp")},
    **{name: f"{name}({{a}})" for name in ("expm1", "log", "log10", "log1p", "log2", "sin", "sinh", "sqrt", "tan")},
    **{name: f"{name}({{a}})" for name in ("ceil", "floor", "tanh", "trunc")},
    "round": "rint({a})",
    "reciprocal": "1 / {a}",
    "abs": "fabs({a})",
    "negative": "-{a}",
    "positive": "{a}",
    "sign": "isnan({a}) ? {a} : (T)(({a} > 0) - ({a} < 0))",
    "square": "{a} * {a}",
    "add": "{a} + {b}",
    "subtract": "{a} - {b}",
    "multiply": "{a} * {b}",
    "divide": "{a} / {b}",
    "pow": "pow({a}, {b})",
    "atan2": "atan2({a}, {b})",
    "copysign": "copysign({a}, {b})",
    "hypot": "hypot({a}, {b})",
    "maximum": "isnan({a}) || {a} > {b} ? {a} : {b}",
    "minimum": "isnan({a}) || {a} < {b} ? {a} : {b}",
}
"""Operations whose operands all have the result's floating-point data type T."""

_OF_INTEGERS: Final = {
    **dict.fromkeys(("ceil", "floor", "positive", "round", "trunc"), "{a}"),
    "abs": "{a} < 0 ? (T)(0 - (U){a}) : {a}",
    "negative": "0 - (U){a}",
    "sign": "({a} > 0) - ({a} < 0)",
    "square": "(U){a} * (U){a}",
    "add": "(U){a} + (U){b}",
    "subtract": "(U){a} - (U){b}",
    "multiply": "(U){a} * (U){b}",
    "bitwise_invert": "~{a}",
    "bitwise_and": "{a} & {b}",
    "bitwise_or": "{a} | {b}",
    "bitwise_xor": "{a} ^ {b}",
    "maximum": "{a} > {b} ? {a} : {b}",
    "minimum": "{a} < {b} ? {a} : {b}",
}
"""The same for integers. Sums and products are computed in an unsigned type U, whose overflow is defined."""

_OF_BOOLS: Final = {
    **dict.fromkeys(("bitwise_invert", "logical_not"), "!{a}"),
    **dict.fromkeys(("bitwise_and", "logical_and"), "{a} && {b}"),
    **dict.fromkeys(("bitwise_or", "logical_or"), "{a} || {b}"),
    **dict.fromkeys(("bitwise_xor", "logical_xor"), "{a} != {b}"),
}

_COMPARISONS: Final = {
    "equal": "{a} == {b}",
    "not_equal": "{a} != {b}",
    "less": "{a} < {b}",
    "less_equal": "{a} <= {b}",
    "greater": "{a} > {b}",
    "greater_equal": "{a} >= {b}",
}
"""Operations whose operands have their common data type."""

_PREDICATES: Final = {
    "isfinite": "isfinite({a})",
    "isinf": "isinf({a})",
    "isnan": "isnan({a})",
    "signbit": "signbit({a})",
}


class Kernels(Backend):
    """Several elementwise operations in one kernel, with results of one shape."""

    errors: ClassVar[tuple[type[Exception], ...]] = ()
    """The errors of kernels that can't be compiled, which is at their first call. CuPy's own functions replace them."""

    def __init__(self, make: MakeKernel) -> None:
        """Store `make`, which compiles kernels."""
        self.make = make

    def accepts(self, equation: Equation) -> bool:
        if len(equation.outputs) != 1:
            return False
        shape = equation.outputs[0].shape
        whole = any(isinstance(x, Variable) and x.shape == shape for x in equation.inputs)
        return whole and line(equation, [""] * len(equation.inputs)) is not None

    def group_of(self, equation: Equation) -> tuple[int, ...]:
        return equation.outputs[0].shape

    def lower(self, graph: Graph) -> Callable[..., Any] | None:
        if len(graph.equations) == 1:
            return None
        graph = Graph(graph.namespace, [*graph.inputs, *graph.constants], {}, graph.equations, graph.outputs)
        if len(graph.inputs) + len(graph.outputs) <= MOST_ARRAYS:
            return self.kernel(graph)
        half = len(graph.equations) // 2
        halves = [part_of(graph, each) for each in (graph.equations[:half], graph.equations[half:])]
        return program(graph, [step for each in halves for step in steps_of(each, self)])

    def kernel(self, graph: Graph) -> Callable[..., Any]:
        """Make the kernel of a group."""
        names = {x: f"x{k}" for k, x in enumerate(graph.inputs)} | {x: f"y{k}" for k, x in enumerate(graph.outputs)}
        lines = []
        for k, equation in enumerate(graph.equations):
            out = equation.outputs[0]
            declared = "" if out in names else f"{C_TYPES[_name(out)]} "
            given = [names.get(x, "") if isinstance(x, Variable) else "" for x in equation.inputs]
            lines.append(f"{declared}{names.setdefault(out, f't{k}')} = {line(equation, given)};")
        takes, gives = (", ".join(f"{_name(x)} {names[x]}" for x in xs) for xs in (graph.inputs, graph.outputs))
        kernel = self.make(takes, gives, "\n".join(lines), "xpand_elementwise", options=OPTIONS)
        call = kernel if len(graph.outputs) > 1 else lambda *arrays: (kernel(*arrays),)

        def run(*arrays: Any) -> Any:
            nonlocal call
            try:
                return call(*arrays)
            except self.errors as error:
                report(graph, str(self), error)
                call = compiled(graph)
                return call(*arrays)

        return run


def line(equation: Equation, names: Sequence[str]) -> str | None:
    """Write an operation on named variables as an expression. Return None if the operation has none.

    Args:
        equation: The operation.
        names: The name of the variable of each input; unused for numbers.
    """
    name, result = equation.op.name, _name(equation.outputs[0])
    types = [_name(x) for x in equation.inputs if isinstance(x, Variable)]
    if result not in C_TYPES or any(each not in C_TYPES for each in types):
        return None
    if name == "astype":
        given = names[0]
        return f"{given} != 0" if result == "bool" else f"({C_TYPES[result]}){given}"
    if name == "where":
        condition, *values = _operands(equation, names, ("bool", result, result))
        return None if None in (condition, *values) else f"{condition} ? {values[0]} : {values[1]}"
    if name == "clip":
        return _clipped(equation, names, result)
    table, common = _table(name, result, types)
    if name not in table:
        return None
    operands = _operands(equation, names, (common,) * len(names))
    if None in operands:
        return None
    text = table[name].format(**dict(zip("ab", operands)))
    wide = "unsigned long long" if common.endswith("64") else "unsigned int"
    return f"({C_TYPES[result]})({text.replace('(T)', f'({C_TYPES[common]})').replace('(U)', f'({wide})')})"


def _table(name: str, result: str, types: Sequence[str]) -> tuple[dict[str, str], str]:
    """Choose the table of an operation and the data type of its operands."""
    if name in _COMPARISONS:
        return _COMPARISONS, str(np.result_type(*types))
    if name in _PREDICATES:
        return (_PREDICATES if types[0] in _FLOATING else {}), types[0]
    if result == "bool":
        return (_OF_BOOLS if all(each == "bool" for each in types) else {}), "bool"
    if result in _FLOATING:
        return _OF_FLOATS, result
    return _OF_INTEGERS, result


def _clipped(equation: Equation, names: Sequence[str], result: str) -> str | None:
    x, *bounds = _operands(equation, names, (result,) * len(names))
    table = _OF_FLOATS if result in _FLOATING else _OF_INTEGERS
    for which, bound, given in zip(("maximum", "minimum"), bounds, equation.inputs[1:]):
        if given is None:
            continue
        if bound is None:
            return None
        # Test the bound first: it wins if it is NaN, and x wins if both are equal.
        x = f"({table[which].format(a=bound, b=x)})"
    return x


def _operands(equation: Equation, names: Sequence[str], types: Sequence[str]) -> list[str | None]:
    """Write the inputs of an operation in a data type; None if a number doesn't fit it."""
    return [
        f"(({C_TYPES[each]}){name})" if isinstance(x, Variable) else _number(x, each)
        for x, name, each in zip(equation.inputs, names, types)
    ]


def _number(x: Any, dtype: str) -> str | None:
    kind = C_TYPES.get(dtype)
    if kind is None or type(x) not in (bool, int, float) or (dtype == "bool") is not isinstance(x, bool):
        return None
    if dtype in _FLOATING:
        if math.isnan(x):
            return f"(({kind})0 / ({kind})0)"
        if math.isinf(x):
            return f"(({kind}){'-' if x < 0 else ''}1 / ({kind})0)"
        return f"(({kind}){float(x)!r})"
    if isinstance(x, bool):
        return "true" if x else "false"
    if isinstance(x, float) or not np.iinfo(dtype).min <= x <= np.iinfo(dtype).max:
        return None
    # The lowest integer has no literal.
    return f"(({kind})({x + 1}LL - 1))" if x < 0 else f"(({kind}){x}{'ULL' if dtype == 'uint64' else 'LL'})"


def _name(x: Variable) -> str:
    return np.dtype(x.dtype).name
