"""The namespace of traced arrays: the standard over a library's namespace."""

import inspect
from collections.abc import Callable
from functools import cached_property, partial, wraps
from typing import Any, Final, NoReturn

from xpand import array_namespace, library_name
from xpand._namespace import LIBRARIES
from xpand._precision import dtypes_of
from xpand.extend import DType, checks, describe, import_module, register_wrapper

from .._dispatch import import_if_present, plugin_package
from .._elsewhere import instead_of
from .._plans import Memory
from .._subclasses import refuse_subclass
from . import rules
from ._advice import STANDARD, Advice
from ._aliases import MAY_RETURN, VIEWS
from ._array import array_class, own_module
from ._core import EVALUATION, Op, TracedArray, bind, is_traced, rebuilt, snapshot
from ._creation import CREATION
from ._functions import ALIASES, FUNCTIONS, Signature, parsed
from ._indexing import INDEXING
from ._methods import attributes_of, methods_of
from ._views import linked, linked_parts

_CONSTANTS: Final = ("e", "inf", "nan", "newaxis", "pi", "__array_api_version__")
_MORE_DTYPES: Final = ("float16", "bfloat16")

_NUMBERS: Final = (int, float, complex)
"""Python numbers, and other classes of numbers such as NumPy's. Operators accept them, and rules pass them on."""

_VIEWS: Final = ((VIEWS | MAY_RETURN) & FUNCTIONS.keys()) - {"conj", "linalg.matrix_power", "unstack"}
"""Functions whose result may be their first array, or a view of it."""

_BRIDGED: Final = frozenset(
    {
        "checkpoint",
        "custom_jvp",
        "custom_linear_solve",
        "custom_root",
        "custom_vjp",
        "pure_callback",
        "scan",
        "while_loop",
    }
)
"""Operations whose derivatives by the library itself would be those of another function, or need more memory."""

_NAMESPACES: Final[dict[int, "TracedNamespace"]] = {}


def traced_namespace(base: Any) -> "TracedNamespace":
    """Return the namespace of traced arrays over a library's namespace. A traced namespace is returned unchanged."""
    if isinstance(base, TracedNamespace):
        return base
    found = _NAMESPACES.get(id(base))
    if found is None:
        cls = getattr(own_module(base), "Namespace", TracedNamespace)
        found = _NAMESPACES.setdefault(id(base), cls(base))
    return found


def _namespace_over(base: str) -> "TracedNamespace":
    return traced_namespace(import_module(base))


def _missing(namespace: str, name: str) -> AttributeError:
    """Make the error for a name that is not in the standard."""
    _, _, part = namespace.removeprefix("traced.").partition(".")
    fix = "" if name.startswith("_") else f"; {instead_of(f'{part}.{name}' if part else name)}"
    return AttributeError(f"{namespace} has no {name!r}, which is not in the standard{fix}", name=name)


class _Part:
    """An extension of the standard, such as `linalg`."""

    def __init__(self, namespace: "TracedNamespace", name: str) -> None:
        self.__name__ = f"{namespace.__name__}.{name}"
        self._beyond = partial(namespace.beyond_standard, part=name)

    def __getattr__(self, name: str) -> Any:
        if name == "_beyond":  # a copy has no attributes yet
            raise AttributeError(name)
        return self._beyond(name)


class TracedNamespace:
    """The standard over the arrays of a library, with functions that interpreters trace.

    It has the library's data types and devices. Its functions also take the library's own arrays, as constants.
    """

    advice: Advice = STANDARD
    """Replacements for code that cannot be traced, for error messages."""
    holder_of_objects: type | None = None
    """The library's class of arrays whose elements may be Python objects, which have no derivatives; or None."""
    with_options: Callable[..., Any] | None = None
    """A method for calls with options of the library beyond the standard: it takes the name of the function, its
    arrays, the options of the standard, further arguments by position, and further options. None: there are no others.
    """

    def __init__(self, base: Any) -> None:
        """Build every function of the standard over the library's namespace `base`."""
        self.base = base
        self.__name__ = f"traced.{library_name(base)}"
        self.operations: dict[str, Op] = {}
        self.known: set[type] = {bool, int, float, complex}
        """Classes of objects that may be combined with arrays of this namespace."""
        self._floating: dict[DType, bool] = {}
        self._complex: dict[DType, bool] = {}
        self._dtypes: dict[DType, DType] = {}
        self._result_classes: dict[Op, Any] = {}
        self.shapes_of_results = Memory()
        """The shapes and data types of results of operations without a rule for them."""
        self.dtypes_of_results: dict[Any, Any] = {}
        """A cache of the data types of results, filled by `rules`."""
        self.linearizer: Any = None
        """The library's own subclass of `Linearize`, or None."""
        self.stager: Any = None
        """The library's own subclass of `Staging`, or None."""
        self.known_views = Memory()
        """Whether results are views, by their operations: a cache that `_views` fills."""
        parts = {name: _Part(self, name) for name in ("linalg", "fft") if hasattr(base, name)}
        for name in (*_CONSTANTS, *dtypes_of(base), *_MORE_DTYPES):
            if hasattr(base, name):
                setattr(self, name, getattr(base, name))
        for name, part in parts.items():
            setattr(self, name, part)
        for name, signature in FUNCTIONS.items():
            if hasattr(_part(self, name), "__name__") and _find(base, name) is not None:
                self._add(name, _function(self, name, signature))
        for name, original in ALIASES.items():
            if _find(base, name) is not None:
                self._add(name, getattr(self, original))
        for name, function in INDEXING.items():
            self.operations[name] = Op(name, function(base), self, rules)
        for name, make in CREATION.items():
            if _find(base, name) is not None:
                self._add(name, make(self))
        self.standard: Final = frozenset(self.operations)
        """The names of the operations that every traced namespace has."""
        self.array_type: type[TracedArray] = array_class(self)
        self.known.add(self.array_type)
        itself: Any = self  # it takes the place of a module
        register_wrapper(self.array_type, itself)

    def _add(self, name: str, function: Callable[..., Any]) -> None:
        setattr(_part(self, name), name.rpartition(".")[2], function)

    @cached_property
    def methods(self) -> dict[str, Callable[..., Any]]:
        """The methods of the library's own arrays beyond the standard, for traced arrays."""
        return methods_of(type(self.base.ones(1, dtype=self.base.float32)))

    @cached_property
    def attributes(self) -> dict[str, Callable[..., Any]]:
        """The attributes of the library's own arrays beyond the standard, for traced arrays."""
        return attributes_of(type(self.base.ones(1, dtype=self.base.float32)))

    @cached_property
    def takes_lists(self) -> bool:
        """Whether the library's own arrays take lists as indices."""
        try:
            self.base.ones(2, dtype=self.base.float32)[[0, 1]]
        except Exception:  # any error means no
            return False
        return True

    @cached_property
    def writes_in_place(self) -> tuple[bool, bool]:
        """Whether `x += y` writes into the library's own arrays, and into results of functions with shape ()."""
        x = self.base.ones(1, dtype=self.base.float32)
        return hasattr(x, "__iadd__"), hasattr(self.base.sum(x), "__iadd__")

    def result_class(self, op: Op) -> Any:
        """Return the library's own class of several results, so that trees keep their structure."""
        found = self._result_classes.get(op)
        if found is None:
            found = op.result
            if op.name in FUNCTIONS:
                one = self.base.ones((1, 1) if op.name.startswith("linalg.") else (1,), dtype=self.base.float32)
                theirs = type(op.function(one))
                if theirs in (tuple, list) or getattr(theirs, "_fields", None) == getattr(found, "_fields", ()):
                    found = theirs
            self._result_classes[op] = found
        return found

    def operation(self, name: str, function: Callable[..., Any], **attributes: Any) -> Op:
        """Return an operation outside of the namespace.

        The first call makes it from `function`. `attributes` of `Op` are rules that the tables don't have.
        """
        op = self.operations.get(name)
        if op is None:
            op = Op(name, function, self, rules)
            for attribute, rule in attributes.items():
                setattr(op, attribute, rule)
            if self.bridge is not None and name in _BRIDGED:
                op.function = self.bridge.differentiable(op)
            op = self.operations.setdefault(name, op)
        return op

    @cached_property
    def bridge(self) -> Any:
        """The plug-in's module that connects the library's own derivatives to operations; None without one."""
        package = plugin_package(library_name(self.base))
        return None if package is None else import_if_present(f"{package}.bridge")

    @cached_property
    def is_transformed(self) -> Callable[[Any], bool]:
        """Return whether a transformation traces an array, or one of the library itself differentiates it."""
        return is_traced if self.bridge is None else _traced_or(self.bridge.is_differentiated)

    @cached_property
    def is_variable(self) -> Callable[[Any], bool]:
        """Return whether an array is no constant of a program: it is traced, or the library may differentiate it."""
        return is_traced if self.bridge is None else _traced_or(self.bridge.may_be_differentiated)

    def wrap(self, x: Any) -> Any:
        """Wrap the library's own array. A view becomes an array of its own."""
        if not isinstance(x, TracedArray):
            return self.array_type(EVALUATION, x)
        return x if x._view is None else snapshot(x)

    def argument(self, x: Any) -> Any:
        """Wrap an array for a function that may write to it."""
        return snapshot(x) if isinstance(x, TracedArray) else self.array_type(EVALUATION, x)

    def wraps(self, base: Any) -> bool:
        """Return whether this namespace takes the arrays of another one."""
        return base is self.base

    def check(self, x: Any) -> None:
        """Check that an array may be combined with arrays of this namespace.

        Raises:
            TypeError: The array is from another library.
        """
        is_other = type(x) not in self.known and (isinstance(x, TracedArray) or checks.is_array(x))
        if is_other:
            xp: Any = array_namespace(x)
            if xp is not self and xp is not self.base and not isinstance(x, _NUMBERS):
                raise TypeError(
                    f"arrays of two libraries: traced arrays of {library_name(self.base)}, and {describe(x)}; convert "
                    "one to the other's library first, for example with `xp.asarray` or `xp.from_dlpack`"
                )
            refuse_subclass("an operation on traced arrays", type(x))
            self.known.add(type(x))

    def refuse_objects(self, x: Any) -> NoReturn:
        """Raise a `TypeError` for an array of Python objects."""
        raise TypeError(
            f"traced arrays combine with arrays of numbers and booleans, got {describe(x)} of data type {x.dtype}"
        )

    def takes(self, x: Any, other: Any) -> bool:
        """Return whether operators of an array of this namespace accept the other operand.

        Raises:
            TypeError: The operand is an array of another library.
        """
        if isinstance(other, _NUMBERS):
            return True
        if not isinstance(other, TracedArray) and not checks.is_array(other):
            return False
        self.check(other)
        return True

    def dtype_of_arrays(self, dtype: DType) -> DType:
        """Return the data type of arrays that are made with `dtype`: an `np.dtype` for NumPy's class `float32`."""
        found = self._dtypes.get(dtype)
        if found is None:
            found = self._dtypes[dtype] = self.base.empty((0,), dtype=dtype).dtype
        return found

    def is_floating(self, dtype: DType) -> bool:
        """Return whether a data type is floating-point, real or complex."""
        found = self._floating.get(dtype)
        if found is None:
            found = self._floating[dtype] = checks.kind(self.base, dtype) in checks.FLOATING
        return found

    def is_complex(self, dtype: DType) -> bool:
        """Return whether a data type is complex."""
        found = self._complex.get(dtype)
        if found is None:
            found = self._complex[dtype] = checks.kind(self.base, dtype) == "complex"
        return found

    def __array_namespace_info__(self) -> Any:
        """Return the library's information about its data types and devices."""
        return self.base.__array_namespace_info__()

    def beyond_standard(self, name: str, part: str = "") -> Any:
        """Return an object of a name that the standard does not have, in a part such as `linalg` or in the namespace.

        Raises:
            AttributeError: There is none. The error names a replacement.
        """
        raise _missing(f"{self.__name__}.{part}" if part else self.__name__, name)

    def __getattr__(self, name: str) -> Any:
        return self.beyond_standard(name)

    def __reduce__(self) -> Any:
        """Pickle the namespace by the name of the library's namespace."""
        return _namespace_over, (self.base.__name__,)

    def __repr__(self) -> str:
        return f"<namespace {self.__name__!r}>"


def _traced_or(test: Callable[[Any], bool]) -> Callable[[Any], bool]:
    """Return the test whether an interpreter traces an array, or another test is True for the library's own array."""

    def found(x: Any) -> bool:
        if isinstance(x, TracedArray):
            return is_traced(x) or (x._trace is EVALUATION and test(x._value))
        return test(x)

    return found


def _part(namespace: Any, name: str) -> Any:
    part, _, _ = name.rpartition(".")
    return getattr(namespace, part, None) if part else namespace


def _find(base: Any, name: str) -> Any:
    found = base
    for part in name.split("."):
        found = getattr(found, part, None)
    return found


_COUNTS: Final = frozenset({"k", "n", "shift"})
"""Parameters that rules compute with, so they must be Python integers: the negative of NumPy's `uint8` wraps around."""


def _function(namespace: TracedNamespace, name: str, signature: str) -> Callable[..., Any]:
    """Make the function of the standard that applies the operation of the same name."""
    parts = parsed(signature)
    found = _find(namespace.base, name)
    if name == "sum" and library_name(namespace.base) not in LIBRARIES:
        found = _without_dtype(namespace.base)
    given = ", ".join([*parts.arrays, *parts.extra])
    params = ", ".join(f"'{part}': {f'plain({part})' if part in _COUNTS else part}" for part in parts.static)
    header = parts.header
    if parts.is_sequence and not parts.is_variadic:
        header = header.replace("*arrays", "arrays", 1)
    op = namespace.operations[name] = Op(name, _called(found, parts), namespace, rules)
    result = "result if isinstance(result, TracedArray) else wrap(result)"
    if name in _VIEWS:
        view = f"linked({result}, {parts.arrays[0]}, op, params)"
        # With bounds of `clip`, or more elements for `diff`, the result is a new array.
        absent = " and ".join(f"{x} is None" for x in parts.extra)
        result = f"{view} if {absent} else {result}" if absent else view
    elif name == "linalg.matrix_power":  # the first power may be the matrix itself
        result = f"linked({result}, x, op, params) if n == 1 else {result}"
    elif name in ("broadcast_arrays", "unstack"):
        result = f"linked_parts(op, {result}, args, params)"
    # An elementwise operation on objects would give objects without derivatives.
    refusal = (
        ""
        if namespace.holder_of_objects is None
        else "        elif type(argument) is holder and argument.dtype.hasobject: refuse_objects(argument)\n"
    )
    more = ""
    if namespace.with_options is not None:
        rest = "rest" if "*, " in header else "()"
        header = f"{header.replace('*, ', '*rest, ')}, **more"
        more = f"    if more or {rest}: return with_options('{name}', args, params, {rest}, more)\n"
    source = (
        f"def {name.rpartition('.')[2]}({header}):\n"
        f"    args = ({given},)\n"
        f"    for argument in args:\n"
        f"        if type(argument) not in known: check(argument)\n"
        f"{refusal}"
        f"    params = {{{params}}}\n{more}"
        f"    result = bind(op, args, params)\n"
        f"    return {result}\n"
    )
    scope = {"bind": bind, "op": op, "TracedArray": TracedArray, "wrap": _wrapper(namespace, op)}
    scope |= {"plain": checks.plain_integer, "with_options": namespace.with_options}
    scope |= {"holder": namespace.holder_of_objects, "refuse_objects": namespace.refuse_objects}
    scope |= {"known": namespace.known, "check": namespace.check, "linked": linked, "linked_parts": linked_parts}
    exec(source, scope)
    made: Callable[..., Any] = scope[name.rpartition(".")[2]]  # type: ignore[assignment]
    made.__doc__ = getattr(found, "__doc__", None)
    made.__module__ = namespace.__name__
    if more:
        parameters = [x for x in inspect.signature(made).parameters.values() if x.name not in ("more", "rest")]
        made.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return _with_both_factors(made) if name == "linalg.qr" else made


def _without_dtype(base: Any) -> Callable[..., Any]:
    """Make `sum(dtype=)` from a sum that may lack the option, like MLX's: convert the array first."""

    def total(x: Any, *, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
        x = x if dtype is None else base.astype(x, dtype)
        found = base.sum(x, axis=axis, keepdims=keepdims)
        return found if dtype is None or found.dtype == dtype else base.astype(found, dtype)

    return total


def _with_both_factors(qr: Callable[..., Any]) -> Callable[..., Any]:
    """Refuse a library's own modes of `qr`, which have other results."""

    @wraps(qr)
    def factors(x: Any, /, *, mode: Any = "reduced") -> Any:
        return qr(x, mode=checks.choice("qr", "mode", mode, ("reduced", "complete")))

    return factors


def _wrapper(namespace: TracedNamespace, op: Op) -> Callable[..., Any]:
    def wrap(result: Any) -> Any:
        if op.result is None:
            return namespace.array_type(EVALUATION, result)
        return rebuilt(op, result, [namespace.wrap(x) for x in result])

    return wrap


def _called(found: Callable[..., Any], parts: Signature) -> Callable[..., Any]:
    """Wrap a library's function to take all arrays by position and all other arguments by name."""
    positional, extra = parts.positional, parts.extra
    if parts.is_sequence and not parts.is_variadic:
        return lambda *arrays, **params: found(arrays, **params)
    if positional:
        return lambda *arrays, **params: found(*arrays, *[params.pop(name) for name in positional], **params)
    if extra:
        return lambda x, *rest, **params: found(x, *rest[: len(rest) - len(extra)], **_given(extra, rest), **params)
    return found


def _given(names: list[str], values: tuple[Any, ...]) -> dict[str, Any]:
    return {name: value for name, value in zip(names, values[len(values) - len(names) :]) if value is not None}
