"""The core of tracing: operations, interpreters, and how an operation finds the interpreter for its arrays.

An operation is a function with positional arrays and keyword-only static parameters. A *trace* is an
interpreter of operations: forward mode, linearization, batching, staging. Each application of a transformation makes a
trace with a level above all existing traces. The trace of the argument with the highest level interprets an operation.
The values of its arrays are arrays of lower levels, and the interpreter applies further operations to them. At the
bottom are the library's own arrays, on which an operation is the library's function.

Levels come from one counter and are stored in the arrays. So there is no stack to restore after errors or to share
between threads.
"""

import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import count
from typing import Any, ClassVar, Final, NoReturn, Protocol, Self
from weakref import ref

from xpand import is_concrete
from xpand.extend import Array, Device, DType, device_of, trace_instead

from .._dispatch import UnsupportedError
from .._where import position
from ._advice import Advice


class _Located(Exception):
    """An error that names the line of user code that caused it."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.where = position()

    def __str__(self) -> str:
        return f"{super().__str__()} (at {self.where})" if self.where else super().__str__()


class TracedError(_Located, TypeError):
    """The value of an abstract traced array was needed."""

    __module__ = "xpand_extensions.tracing"  # where users import it from: tracebacks show this name


class LeakedArrayError(_Located, RuntimeError):
    """A traced array was used after the transformation that made it has finished."""

    __module__ = "xpand_extensions.tracing"  # where users import it from: tracebacks show this name


class NonlinearError(_Located, TypeError):
    """A function that must be linear is not."""

    __module__ = "xpand_extensions.tracing"  # where users import it from: tracebacks show this name


def without_values(what: str, advice: Advice) -> str:
    """Say what to write in place of code that asks for the values of a traced array."""
    if what.startswith('f"'):
        return (
            f"use `debug.print({what[1:]}, x=x)` of `xpand_extensions.debug`, which prints values when the program runs"
        )
    numbers = f"{advice.numbers}; " if what in ("float(x)", "complex(x)") else ""
    return (
        f"{numbers}use `xp.where`, or `cond`, `fori_loop`, `while_loop` of `xpand_extensions.control_flow` in place of "
        "Python's `if`, `for` and `while`"
    )


class Aval:
    """The abstract value of an array: shape, data type, device."""

    __slots__ = ("device", "dtype", "shape")

    def __init__(self, shape: tuple[int, ...], dtype: DType, device: Device = None) -> None:
        self.shape, self.dtype, self.device = shape, dtype, device

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        size = 1
        for length in self.shape:
            size *= length
        return size

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.shape}, {self.dtype})"


def aval_of(x: Any) -> Any:
    """Return the abstract value of an array; return other objects unchanged."""
    return Aval(tuple(x.shape), x.dtype, getattr(x, "device", None)) if hasattr(x, "dtype") else x


class TracedArray:
    """An array of the standard, traced by an interpreter.

    Its content depends on its trace: the library's own array, an array of a lower level, or a variable.
    """

    # A class for one library adds `ATTRIBUTES`, unless it inherits others from the library's own class.
    __slots__ = ()

    __module__ = "xpand_extensions.tracing"  # where users import it from: errors show this name
    # NumPy's arrays defer operators to this class, also in place: `x += y` makes a new array.
    __array_priority__: ClassVar[float] = 1e6
    _namespace: ClassVar[Any]
    _trace: "Trace"
    _value: Any
    _extra: Any
    _is_array: bool
    _view: Any
    _views: Any

    def __init__(self, trace: "Trace", value: Any, extra: Any = None) -> None:
        self._trace, self._value, self._extra = trace, value, extra  # type: ignore[misc]
        self._view = None
        """The array that this one may share memory with, and the operation between them (`_views.py`)."""
        self._views = None
        """Weak references to arrays that may share memory with this one."""


ATTRIBUTES: Final = ("__weakref__", "_extra", "_is_array", "_trace", "_value", "_view", "_views")
"""The attributes of a traced array."""


class Namespace(Protocol):
    """The part of the traced namespace that the interpreters need."""

    base: Any
    array_type: type[TracedArray]
    operations: dict[str, "Op"]
    advice: Advice

    def is_floating(self, dtype: DType) -> bool: ...


_LEVELS: Final = count(1)
CURRENT: Final[ContextVar[Any]] = ContextVar("the graph that arrays made from nothing go into", default=None)


_MADE: Final[ContextVar[list[Any] | None]] = ContextVar("the interpreters that are checked for leaks", default=None)


class Trace:
    """An interpreter of operations."""

    __slots__ = ("__weakref__", "alive", "level", "namespace", "what")

    def __init__(self, what: str, namespace: Any) -> None:
        """Make an interpreter for the transformation called `what` and arrays of a namespace's library."""
        self.what, self.namespace = what, namespace
        self.level = next(_LEVELS)
        self.alive = True
        made = _MADE.get()
        if made is not None:
            made.append(ref(self))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: Any, error: BaseException | None, traceback: Any) -> None:
        self.alive = False
        if isinstance(error, ValueError) and isinstance(error.__cause__, TracedError):
            raise_not_storable(error, error.__cause__, self.namespace.advice)

    def process(self, op: "Op", args: Sequence[Any], params: dict[str, Any]) -> Any:
        """Apply an operation to arrays. Some belong to this trace; none has a higher level."""
        raise NotImplementedError

    def shape(self, x: TracedArray) -> tuple[int, ...]:
        """Return the shape of an array of this trace."""
        shape: tuple[int, ...] = x._value.shape
        return shape

    def dtype(self, x: TracedArray) -> DType:
        """Return the data type of an array of this trace."""
        return x._value.dtype

    def device(self, x: TracedArray) -> Device:
        """Return the device of an array of this trace."""
        return device_of(x._value)

    def concrete(self, x: TracedArray, what: str) -> Any:
        """Return an array with the concrete values of an array of this trace, or raise `TracedError`."""
        return x._value

    def is_traced(self, x: TracedArray) -> bool:
        """Return whether the values of an array of this trace are abstract."""
        return not is_concrete(x._value)

    def is_number(self, x: TracedArray) -> bool:
        """Return whether an array of this trace stands for a Python number."""
        return False

    def owns(self, x: Any) -> bool:
        """Return whether something is an array of this trace."""
        return isinstance(x, TracedArray) and x._trace is self

    def plain(self, x: Any) -> Any:
        """Return the value of an array of this trace at lower levels; return other objects unchanged."""
        return x._value if self.owns(x) else bare(x)


class Evaluation(Trace):
    """The interpreter at the bottom. Its arrays contain the library's own. Operations are the library's functions."""

    __slots__ = ()

    def __init__(self) -> None:
        self.what, self.namespace, self.alive = "evaluation", None, True
        self.level = 0


EVALUATION: Final = Evaluation()


class Op:
    """An operation on the arrays of one library, with its rules."""

    __slots__ = (
        "batching",
        "constant",
        "decomposition",
        "derivative",
        "effects",
        "factors",
        "function",
        "is_elementwise",
        "linear",
        "name",
        "namespace",
        "overrides",
        "result",
        "shape",
        "transpose",
    )

    def __init__(self, name: str, function: Callable[..., Any], namespace: Any, rules: Any) -> None:
        """Take the rules for the operation `name` from the tables `rules`."""
        self.name, self.function, self.namespace = name, function, namespace
        self.derivative = rules.DERIVATIVES.get(name)
        self.transpose = rules.TRANSPOSES.get(name)
        self.batching = rules.BATCHING.get(name)
        self.shape = rules.SHAPES.get(name)
        self.decomposition = rules.DECOMPOSITIONS.get(name)
        self.constant = rules.CONSTANT.get(name)
        """The reason why the operation has no derivative, or None."""
        self.result = rules.RESULTS.get(name)
        """The class of a result of several arrays: a named tuple, `tuple` or `list`."""
        self.linear = name in rules.LINEAR
        """Whether the operation is jointly linear in all its arrays."""
        self.is_elementwise = name in rules.ELEMENTWISE
        """Whether each element of the result depends on only one element of each array."""
        self.effects = False
        """Whether the operation has side effects, and must not be removed or merged."""
        self.overrides = rules.OVERRIDES.get(name, {})
        """Replacements for rules, by the kind of interpreter."""
        entries = self.derivative
        simple = isinstance(entries, tuple) and all(
            isinstance(e, int) or getattr(e, "is_factor", False) for e in entries
        )
        self.factors: tuple[Any, ...] | None = None
        """The factors of an elementwise operation, or their functions, if its derivative has no other parts."""
        if simple:
            self.factors = tuple(e if isinstance(e, int) else e.of for e in entries)

    def entries(self, params: dict[str, Any]) -> Any:
        """Return the rules for the derivative in each array, one rule for all arrays, or None without a rule."""
        return self.derivative

    def transposes(self, params: dict[str, Any]) -> Any:
        """Return the transpose of the operation, for each array in which it is linear."""
        return self.transpose

    def named(self, values: Sequence[Any], params: dict[str, Any]) -> Any:
        """Return values, one for each array, in the form for the rules: in the order of the arrays."""
        return values

    def apply(
        self, rule: Callable[..., Any], first: tuple[Any, ...], args: Sequence[Any], params: dict[str, Any]
    ) -> Any:
        """Call a rule."""
        return rule(*first, *args, **params)

    def decompose(self, args: Sequence[Any], params: dict[str, Any]) -> Any:
        """Apply the operation in terms of others."""
        assert self.decomposition is not None
        return apart(self.decomposition(self.namespace, *args, **params))

    def bind(self, *args: Any, **params: Any) -> Any:
        """Apply the operation to arrays of any level. The library's own arrays are passed and returned bare."""
        return bind(self, args, params)

    def no_rule(self, what: str) -> UnsupportedError:
        """Make the error for an operation without a rule for an interpreter."""
        return UnsupportedError(f"{self.name}: there is no rule for {what}, and no decomposition into other operations")

    def __reduce__(self) -> Any:
        """Pickle the operation by its name. An operation outside of the standard is pickled with its function."""
        if self.name in self.namespace.standard:
            return _op_of, (self.namespace, self.name)
        return _op_of, (self.namespace, self.name, getattr(self.function, "__wrapped__", self.function))

    def __repr__(self) -> str:
        return self.name


def _op_of(namespace: Any, name: str, function: Callable[..., Any] | None = None) -> Op:
    found: Op = namespace.operations[name] if function is None else namespace.operation(name, function)
    return found


def bind(op: Op, args: Sequence[Any], params: dict[str, Any]) -> Any:
    """Apply an operation with the interpreter of the highest level among the arrays.

    Results that are not traced are returned as the library's own arrays.
    """
    top: Trace = EVALUATION
    level = 0
    for x in args:
        if isinstance(x, TracedArray):
            trace = x._trace
            if trace is not top and trace.level > level:
                top, level = trace, trace.level
    if not level:
        return op.function(*[x._value if isinstance(x, TracedArray) else x for x in args], **params)
    if not top.alive:
        raise leaked(op.name, top.what)
    current = CURRENT.get()
    if current is None or current.level <= level:
        return top.process(op, args, params)
    # The arrays are captured by the function that is being staged. The operation is not part of its graph, unless the
    # function isn't always called.
    while current is not None and current.level > level and not current.is_choice:
        current = current.around
    interpreter = top if current is None or current.level <= level else current
    token = CURRENT.set(current)
    try:
        return interpreter.process(op, args, params)
    finally:
        CURRENT.reset(token)


def compiled(*args: Any, **kwargs: Any) -> NoReturn:
    """Raise where torch.compile would compile operations on traced arrays."""
    raise UnsupportedError(
        "a function that torch.compile compiles with fullgraph=True got an array that a transformation of xpand "
        "traces; compile it without fullgraph=True, or pass the function itself to the transformation, and compile by "
        "`xpand_extensions.jit.jit`"
    )


trace_instead(bind, compiled)


@contextmanager
def leaks_checked() -> Iterator[None]:
    """Watch, within this context, which interpreters outlive their calls because an array still refers to them."""
    made: list[Any] = []
    token = _MADE.set(made)
    try:
        yield
    finally:
        _MADE.reset(token)
    gc.collect()
    left = [trace for trace in (reference() for reference in made) if trace is not None and not trace.alive]
    if left:
        names = ", ".join(f"`{name}`" for name in dict.fromkeys(trace.what for trace in left))
        raise LeakedArrayError(
            f"checking_leaks: arrays traced by {names} outlive the call that they were made for; return them from the "
            "transformed function instead of keeping them elsewhere (in a list, an attribute, a global variable)"
        )


def leaked(what: str, transformation: str) -> LeakedArrayError:
    """Make the error for an array whose transformation has finished."""
    return LeakedArrayError(
        f"{what}: got a traced array of a call of `{transformation}` that has ended; return it from the function that "
        "is transformed instead of keeping it elsewhere (in a list, an attribute, a global variable)"
    )


def raise_not_storable(error: ValueError, cause: TracedError, advice: Advice) -> None:
    """Raise `TracedError` instead of NumPy's error for `buffer[i] = x`, which does not say that `x` is traced."""
    if str(error).startswith("setting an array element"):
        better = TracedError(
            f"buffer[i] = x: an array of the library itself can't hold a traced element; {advice.buffer}"
        )
        better.where = cause.where
        raise better.with_traceback(error.__traceback__) from cause


def bare(x: Any) -> Any:
    """Return the library's own array in a traced array that no interpreter traces; return other objects unchanged.

    Raises:
        LeakedArrayError: The transformation that made the array has finished.
    """
    if isinstance(x, TracedArray):
        trace = x._trace
        if trace is EVALUATION:
            return x._value
        if not trace.alive:
            raise leaked("an argument or a result", trace.what)
    return x


def is_traced(x: Any) -> bool:
    """Return whether an interpreter traces an array. It does not if the transformation has finished."""
    return isinstance(x, TracedArray) and x._trace is not EVALUATION and x._trace.alive


def uses_outer(name: str) -> TypeError:
    """Make the error for a traced array that a function uses, and that is in no argument or closure."""
    return TypeError(
        f"{name}: a function uses an array that is differentiated or mapped over, but is not its argument; pass it as "
        "an argument, or in the closure of the function"
    )


def library_array(x: TracedArray, what: str) -> Any:
    """Return the library's own array in a traced array.

    Raises:
        TracedError: A transformation traces the array.
        LeakedArrayError: The transformation has finished.
    """
    found = bare(x)
    if found is x:
        if not x._trace.alive:
            raise leaked(what, x._trace.what)
        namespace = x._namespace
        advice = namespace.advice.functions
        if not namespace.is_floating(x.dtype):  # it may be an index
            advice = f"{namespace.advice.index}; {advice}"
        raise TracedError(
            f"{what}: `{x._trace.what}` traces this array, so code that reads its values can't compute with it; "
            f"{advice}"
        )
    return found


def snapshot(x: Any) -> Any:
    """Return a copy of a traced array that does not change when the original is written to."""
    return x._namespace.array_type(x._trace, x._value, x._extra) if isinstance(x, TracedArray) else x


def apart(result: Any) -> Any:
    """Return one or several arrays as arrays that are not views of others."""
    if not isinstance(result, (tuple, list)):
        return snapshot(result)
    parts = map(snapshot, result)
    return type(result)(*parts) if hasattr(result, "_fields") else type(result)(parts)


def rebuilt(op: Op, like: Any, results: Sequence[Array]) -> Any:
    """Pack the arrays of a result in the class that the operation returns."""
    make = type(like) if op.result is None else op.namespace.result_class(op)
    return make(*results) if hasattr(make, "_fields") else make(results)
