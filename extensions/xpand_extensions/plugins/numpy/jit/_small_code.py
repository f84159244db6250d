"""Writes Python code of loops on a few numbers. Each element of an array is a Python variable."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from ....tracing._aliases import VIEWS
from ....tracing._branches import given_to
from ....tracing._compile import specialised
from ....tracing._flow import split
from ....tracing._graph import Equation, Graph, Variable
from ....tracing._keys import ARRAY
from ....tracing._simplify import simplified
from ....tracing.rules import ELEMENTWISE

SMALL: Final = 16
"""The maximum number of elements of an array. For larger arrays, a call of NumPy is faster."""
FEW: Final = 8
"""NumPy adds fewer numbers than this sequentially."""
_LIMIT: Final = 2**63

_KINDS: Final[Mapping[str, str]] = {"float64": "d", "int64": "q", "bool": "?"}
TYPES: Final[Mapping[str, Any]] = {"d": np.float64, "q": np.int64, "?": np.bool_}
_READ: Final[Mapping[str, str]] = {"d": "float", "q": "int", "?": "bool"}

_MOVES: Final = (VIEWS - {"imag", "real"}) | {"broadcast_arrays", "concat", "roll", "setitem", "stack", "tile"}
"""Operations that only move elements. Applied to numbers of elements, they show the origin of each element."""


class _Form(NamedTuple):
    """The code of an operation on numbers."""

    text: str
    kinds: str
    """The kinds of numbers that the code accepts."""
    passes: tuple[int, ...] = ()
    """If one of these operands is infinite or NaN, the result is infinite or NaN."""


_EXTREME: Final = (
    "{0} if {0} %s {1} else {1} if {1} %s {0} or {0} else float({f}({0}, {1}))"  # NumPy chooses between zeros
)
_SIGNS: Final = {
    "equal": "==",
    "greater": ">",
    "greater_equal": ">=",
    "less": "<",
    "less_equal": "<=",
    "not_equal": "!=",
}
_LOGIC: Final = {"and": "{0} and {1}", "not": "not {0}", "or": "{0} or {1}", "xor": "{0} != {1}"}
_SAME, _SQUARE = _Form("{0}", "dq?"), _Form("{0} * {0}", "dq", (0,))
_FORMS: Final[Mapping[str, _Form]] = {
    **{name: _Form(f"{{0}} {sign} {{1}}", "dq?") for name, sign in _SIGNS.items()},
    **{f"logical_{name}": _Form(text, "?") for name, text in _LOGIC.items()},
    **{f"bitwise_{name}": _Form(text, "?") for name, text in _LOGIC.items()},
    "abs": _Form("abs({0})", "dq", (0,)),
    "add": _Form("{0} + {1}", "dq", (0, 1)),
    "bitwise_invert": _Form("not {0}", "?"),
    "divide": _Form("{0} / {1}", "d", (0,)),
    "isfinite": _Form("{0} == {0}", "d"),  # checks find numbers that aren't finite
    "isinf": _Form("{0} != {0}", "d"),
    "isnan": _Form("{0} != {0}", "d"),
    "maximum": _Form(_EXTREME % (">", ">"), "d"),
    "minimum": _Form(_EXTREME % ("<", "<"), "d"),
    "multiply": _Form("{0} * {1}", "dq", (0, 1)),
    "negative": _Form("-{0}", "dq", (0,)),
    "reciprocal": _Form("1.0 / {0}", "d"),
    "sign": _Form("1.0 if {0} > 0.0 else -1.0 if {0} < 0.0 else 0.0", "d"),
    "sqrt": _Form("sqrt({0})", "d", (0,)),
    "square": _SQUARE,
    "subtract": _Form("{0} - {1}", "dq", (0, 1)),
}
_WHERE: Final = _Form("{1} if {0} else {2}", "dq?")


class RefusedError(Exception):
    """Raised to leave a loop to NumPy."""


class _Value(NamedTuple):
    """An array: the names and numbers of its elements, row by row."""

    kind: str
    shape: tuple[int, ...]
    texts: list[str]


class _Block:
    """The lines of a body, and its floats whose infinity or NaN would not reach a result."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.unchecked: dict[str, None] = {}


class Writer:
    """Writes loops. A line goes into the outermost body in which its operands are known."""

    def __init__(self) -> None:
        self.blocks = [_Block()]
        self.levels: dict[str, int] = {}
        """The number of the block in which each name gets its value."""
        self.least = 0
        """The block of the innermost branch, whose lines don't run in other cases."""
        self.reverses = False
        self.scope: dict[str, Any] = {}
        self.numbers = self.operations = 0
        self.calls = 0.0

    # Lines

    def write(self, line: str) -> None:
        self.blocks[-1].lines.append(line)

    def bound(self, x: Any) -> str:
        name = f"c{len(self.scope)}"
        self.scope[name] = x
        return name

    def name(self, kind: str, level: int) -> str:
        name = f"x{len(self.levels)}"
        self.levels[name] = level
        if kind == "d":
            self.blocks[level].unchecked[name] = None
        return name

    def level(self, operands: Sequence[str]) -> int:
        """Return the number of the outermost block for a line with these operands."""
        return max(self.least, *(self.levels.get(x, 0) for x in operands), 0)

    def named(self, like: _Value, level: int) -> _Value:
        return like._replace(texts=[self.name(like.kind, level) for _ in like.texts])

    def pass_on(self, names: Sequence[str], level: int) -> None:
        for name in names:
            if self.levels.get(name) == level:
                self.blocks[level].unchecked.pop(name, None)

    def define(self, kind: str, text: str, operands: Sequence[str], passes: Sequence[str] = ()) -> str:
        """Write the line that computes a number, and return its name."""
        level = self.level(operands)
        self.pass_on(passes, level)
        name = self.name(kind, level)
        self.numbers += 1
        lines = self.blocks[level].lines
        lines.append(f"{name} = {text}")
        if kind == "q":
            lines.append(f"if not {-_LIMIT} <= {name} < {_LIMIT}: raise OverflowError")
        return name

    def check(self, later: Sequence[str] = ()) -> None:
        """Write checks of the floats of the innermost body, except those that are checked later."""
        block = self.blocks[-1]
        names = [name for name in block.unchecked if name not in later]
        block.unchecked = {name: None for name in block.unchecked if name in later}
        if names:
            self.write(f"x = {' + '.join(names)}")
            self.write("if x - x: raise FloatingPointError")

    # Arrays

    def read(self, x: Variable, name: str) -> _Value:
        """Write the line that reads an array."""
        value = self.named(_Value(_kind_of(x), x.shape, [""] * _size(x)), 0)
        targets = f"{''.join(f'{each}, ' for each in value.texts)} = {name}.ravel().tolist()"
        self.write(targets if x.shape else f"{value.texts[0]} = {_READ[value.kind]}({name})")
        return value

    def array(self, x: _Value) -> str:
        """Return the text of a new array."""
        dtype = self.bound(TYPES[x.kind])
        shape = f".reshape({x.shape})" if len(x.shape) > 1 else ""
        whole = f"array(({''.join(f'{text}, ' for text in x.texts)}), {dtype}){shape}"
        return whole if x.shape else f"{dtype}({x.texts[0]})"

    def graph(self, graph: Graph, given: Sequence[_Value]) -> list[_Value]:
        """Write the operations of a graph."""
        graph = simplified(graph)
        values = dict(zip(graph.inputs, given))
        values.update((x, _constant(x, value)) for x, value in graph.constants.items())

        def read(x: Any) -> _Value:
            return values[x] if isinstance(x, Variable) else _number(x)

        for equation in graph.equations:
            operands = [read(x) for x in equation.inputs]
            self.operations += 1
            nested = {"checkpoint": self.checkpoint, "cond": self.cond, "while_loop": self.while_loop}
            found = nested.get(equation.op.name, self.operation)(equation, operands)
            values.update(zip(equation.outputs, found, strict=True))
        return [read(x) for x in graph.outputs]

    def operation(self, equation: Equation, given: list[_Value]) -> list[_Value]:
        name, out = equation.op.name, equation.outputs[0]
        kind, sizes = _kind_of(out), [_size(x) for x in equation.outputs]
        if name in _MOVES:
            found, reverses = _moved(equation, [self.converted(x, kind) for x in given])
            self.reverses |= reverses
            return found
        if name in ("all", "any", "sum"):
            return [self.reduction(equation, given[0])]
        if name not in ELEMENTWISE or len(sizes) > 1:
            raise RefusedError
        common = "d" if kind == "d" else max((x.kind for x in given), key="?qd".index)
        kinds, form = [common] * len(given), _FORMS.get(name)
        if name == "where":
            kinds, form = ["?", kind, kind], _WHERE
        elif name == "astype":
            kinds, form = [kind], _SAME
        elif name == "pow" and given[1].texts in (["2"], ["2.0"]):
            form = _SQUARE
        values = [self.converted(x, each) for x, each in zip(given, kinds)]
        is_ufunc = isinstance(equation.op.function, np.ufunc)
        if form is None or kinds[-1] not in form.kinds or ("{f}" in form.text and not is_ufunc):
            return [self.called(equation, values)]
        function, texts = self.bound(equation.op.function) if "{f}" in form.text else "", []
        for row in zip(*[_spread(x, out.shape) for x in values]):
            text = form.text.format(*row, f=function)
            texts.append(row[0] if form is _SAME else self.define(kind, text, row, [row[i] for i in form.passes]))
        return [_Value(kind, out.shape, texts)]

    def converted(self, x: _Value, kind: str) -> _Value:
        """Convert elements like NumPy."""
        if x.kind == kind:
            return x
        if x.kind == "d" and kind == "q":
            raise RefusedError
        texts = []
        for text in x.texts:
            is_literal = text not in self.levels and (x.kind, kind) == ("q", "d")
            texts.append(repr(float(text)) if is_literal else self.define(kind, f"{_READ[kind]}({text})", [text]))
        return x._replace(kind=kind, texts=texts)

    def called(self, equation: Equation, given: Sequence[_Value]) -> _Value:
        """Write a call of a NumPy function."""
        out, kind = equation.outputs[0], _kind_of(equation.outputs[0])
        if equation.params or any(x.kind != "d" for x in given):
            raise RefusedError
        self.calls += 1 if out.shape else 0.5
        function = self.bound(equation.op.function)
        operands = [text for x in given for text in x.texts]
        if not out.shape:
            of_float = "{}" if isinstance(equation.op.function, np.ufunc) else f"{self.bound(np.float64)}({{}})"
            text = f"{_READ[kind]}({function}({', '.join(map(of_float.format, operands))}))"
            return _Value(kind, (), [self.define(kind, text, operands)])
        arrays = [self.array(x) for x in given]
        level = self.level(operands)
        found = self.named(_Value(kind, out.shape, [""] * _size(out)), level)
        targets = "".join(f"{text}, " for text in found.texts)
        self.blocks[level].lines.append(f"{targets} = {function}({', '.join(arrays)}).ravel().tolist()")
        return found

    def reduction(self, equation: Equation, x: _Value) -> _Value:
        """Write a sum, `any` or `all` of all elements."""
        out, kind = equation.outputs[0], _kind_of(equation.outputs[0])
        if _size(out) > 1 or x.kind != kind or (kind == "d" and (len(x.shape) > 1 or len(x.texts) >= FEW)):
            raise RefusedError
        join = {"all": " and ", "any": " or ", "sum": " + "}[equation.op.name]
        first = ["0.0"] if kind == "d" else []
        text = join.join([*first, f"({join.join(x.texts)})"])
        return _Value(kind, out.shape, [self.define(kind, text, x.texts, x.texts)])

    # Loops and branches

    def scan(self, equation: Equation, given: Sequence[_Value], xs: Sequence[str]) -> list[str]:
        """Write a scan over arrays of rows, and return its results as texts."""
        params = equation.params
        body, count, length = params["body"].graph, params["carry"], params["length"]
        if not length:
            raise RefusedError
        fixed, init = split(given, params["constants"])
        carry = self.opened(init)
        rows, targets, columns = [], [], []
        for x, name in zip(body.inputs[len(given) :], xs):
            row = self.named(_Value(_kind_of(x), x.shape, [""] * _size(x)), len(self.blocks) - 1)
            rows.append(row)
            targets.append(f"({''.join(f'{text}, ' for text in row.texts)})" if x.shape else row.texts[0])
            columns.append(f"{name}.reshape(({length}, -1)).tolist()" if x.shape else f"{name}.tolist()")
        found = self.graph(body, [*fixed, *carry, *rows])
        stacked = []
        for number, (y, out) in enumerate(zip(found[count:], equation.outputs[count:])):
            y = self.converted(y, _kind_of(out))
            self.blocks[0].lines.append(f"y{number} = []")
            self.write(f"y{number}.append({y.texts[0]})" if not y.shape else f"y{number} += {', '.join(y.texts)},")
            shape = f".reshape({(length, *y.shape)})" if y.shape else ""
            stacked.append(f"array(y{number}, {self.bound(TYPES[y.kind])}){shape}")
        if len(xs) == 1:
            head = f"for {targets[0]} in {columns[0]}:"
        else:
            head = f"for {', '.join(targets)} in zip({', '.join(columns)}):" if xs else f"for _ in range({length}):"
        return [*map(self.array, self.closed(head, carry, found[:count])), *stacked]

    def while_loop(self, equation: Equation, given: Sequence[_Value]) -> list[_Value]:
        params = equation.params
        of_test, of_body, init = split(given, params["tested"], params["constants"])
        limit = params["limit"]
        carry = self.opened(init)
        (running,) = self.graph(params["test"].graph, [*of_test, *carry])
        self.check([text for x in carry if x.kind == "d" for text in x.texts])
        self.write(f"if not {running.texts[0]}: break")
        found = self.graph(params["body"].graph, [*of_body, *carry])
        return self.closed("while True:" if limit is None else f"for _ in range({limit}):", carry, found)

    def checkpoint(self, equation: Equation, given: Sequence[_Value]) -> list[_Value]:
        return self.graph(equation.params["body"].graph, given)

    def cond(self, equation: Equation, given: Sequence[_Value]) -> list[_Value]:
        index, *given = given
        bodies, counts, outside = equation.params["bodies"], equation.params["counts"], self.least
        if len(bodies) < 2:
            raise RefusedError
        like = [_Value(_kind_of(x), x.shape, [""] * _size(x)) for x in equation.outputs]
        results = [self.named(x, len(self.blocks) - 1) for x in like]
        for number, body in enumerate(bodies):
            self.blocks.append(_Block())
            self.least = len(self.blocks) - 1
            self.assign(results, self.graph(body.graph, given_to(number, counts, given)), self.least)
            self.check()
            lines = self.blocks.pop().lines
            head = f"{'elif' if number else 'if'} {index.texts[0]} <= {number}"
            self.blocks[-1].lines += [f"{head if number < len(bodies) - 1 else 'else'}:", *indented(lines or ["pass"])]
        self.least = outside
        return results

    def opened(self, init: Sequence[_Value]) -> list[_Value]:
        """Write the initial carry of a loop, and start its body."""
        self.blocks.append(_Block())
        carry = [self.named(x, len(self.blocks) - 1) for x in init]
        self.assign(carry, init, len(self.blocks) - 2)
        return carry

    def closed(self, head: str, carry: Sequence[_Value], found: Sequence[_Value]) -> list[_Value]:
        """Write the next values, and end the body."""
        found = [self.converted(x, target.kind) for x, target in zip(found, carry)]
        self.pass_on([text for x in found for text in x.texts], len(self.blocks) - 1)
        self.check()  # before the next values replace the values that the step has used
        self.assign(carry, found, len(self.blocks) - 1)
        body = self.blocks.pop()
        self.blocks[-1].lines += [head, *indented(body.lines or ["pass"])]
        last = [self.named(x, len(self.blocks) - 1) for x in carry]
        self.assign(last, carry, len(self.blocks) - 1)
        return last

    def assign(self, targets: Sequence[_Value], values: Sequence[_Value], level: int) -> None:
        values = [self.converted(x, target.kind) for x, target in zip(values, targets, strict=True)]
        names, texts = ([text for x in each for text in x.texts] for each in (targets, values))
        self.pass_on(texts, level)
        if names:
            self.blocks[level].lines.append(f"{', '.join(names)} = {', '.join(texts)}")


def written(equation: Equation, names: Mapping[Variable, str]) -> "tuple[Writer, list[str]]":
    """Write a loop on arguments with names; return its results as texts."""
    writer = Writer()
    params, inputs = equation.params, equation.inputs
    rows = params["constants"] + params["carry"] if equation.op.name == "scan" else len(inputs)
    values = [writer.read(x, names[x]) if isinstance(x, Variable) else _number(x) for x in inputs[:rows]]
    if equation.op.name == "scan":
        results = writer.scan(equation, values, [names[x] for x in inputs[rows:]])
    else:
        results = [writer.array(x) for x in writer.while_loop(equation, values)]
    writer.check()
    if writer.calls and writer.reverses:
        raise RefusedError
    return writer, results


def indented(lines: Sequence[str]) -> list[str]:
    return [f"    {line}" for line in lines]


def _kind_of(x: Any) -> str:
    dtype = np.dtype(x.dtype)
    if dtype.name not in _KINDS or not dtype.isnative:
        raise RefusedError
    return _KINDS[dtype.name]


def _size(x: Variable) -> int:
    size: int = x.aval.size
    if not 0 < size <= SMALL:
        raise RefusedError
    return size


def _number(x: Any) -> _Value:
    kind = {float: "d", int: "q", bool: "?"}.get(type(x))
    if kind is None or not math.isfinite(x) or (kind == "q" and not -_LIMIT <= x < _LIMIT):
        raise RefusedError
    return _Value(kind, (), [repr(x)])


def _constant(x: Variable, value: Any) -> _Value:
    if _size(x) and not np.isfinite(value).all():
        raise RefusedError
    return _Value(_kind_of(x), x.shape, [repr(each) for each in np.ravel(value).tolist()])


def _spread(x: _Value, shape: tuple[int, ...]) -> list[str]:
    """Return the elements of a broadcast array."""
    numbers = np.broadcast_to(np.arange(len(x.texts)).reshape(x.shape), shape)
    return [x.texts[i] for i in numbers.ravel().tolist()]


def _moved(equation: Equation, given: Sequence[_Value]) -> tuple[list[_Value], bool]:
    """Move elements; return also whether a result is a view with a negative stride."""
    if ARRAY in [part for part in equation.params.get("key", ()) if isinstance(part, str)]:
        raise RefusedError
    texts = [text for x in given for text in x.texts]
    ends = np.cumsum([0, *(len(x.texts) for x in given)])
    numbers = [np.arange(i, j).reshape(x.shape) for x, i, j in zip(given, ends, ends[1:])]
    function, params = specialised(equation)
    found = function(*numbers, **params)
    outputs = [found] if equation.op.result is None else found
    arrays = list(map(np.asarray, outputs))
    values = [_Value(given[0].kind, x.shape, [texts[i] for i in x.ravel().tolist()]) for x in arrays]
    return values, any(stride < 0 for x in arrays for stride in x.strides)
