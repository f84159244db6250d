"""Operations of facades, for the interpreters.

Arrays may be anywhere among the arguments, also in sequences. A `Template` holds the other arguments, so the operation
takes a flat list of arrays, like all operations. Rules are called with the facade's own arguments, by name, and tables
have these names as keys: `{"values": LINEAR}`. Without a rule, the generic implementation is traced. Its operations
have rules.
"""

import inspect
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import Any, Final

from xpand import is_concrete, library_name, trees
from xpand.extend import checks, import_module

from .._dispatch import OPERATIONS, Operation, UnsupportedError
from .._plans import exact
from .._transforms import HOLE
from ..extend._derivatives import LINEAR, contribution
from . import rules
from ._core import Op, TracedArray, TracedError, apart, aval_of, bind, rebuilt
from ._indexing import at
from ._staging import avals_of
from ._views import linked

INLINED: Final = frozenset(
    {
        "debug.callback",
        "devices.move",
        "linalg.diagonal",
        "linear_solve.krylov",
        "histograms.histogramdd",
        "sorting.unique",
        "sparse.eagerly",
        "sparse.are_concrete",
        "sparse.to_native",
        "statistics.gradient",
        "statistics.reduce",
        "windows.window_reduce",
    }
)
"""Operations whose generic implementation is always traced. They take functions, return more than arrays, or
share their name with a function of the standard with other rules."""

_INDICES: Final = frozenset({"indices", "multi_index"})
"""The names of arguments with indices, which the argument `mode` brings within bounds."""


_VIEWS: Final = frozenset({"windows.sliding_window_view"})
"""Operations on one array whose result may be a view of it."""


class Template:
    """The arguments of a call without their arrays."""

    __slots__ = ("names", "signature", "static", "structure")

    def __init__(
        self, signature: inspect.Signature, names: tuple[str, ...], static: tuple[Any, ...], structure: trees.Structure
    ) -> None:
        self.signature, self.names, self.static, self.structure = signature, names, static, structure

    @classmethod
    def of(
        cls, signature: inspect.Signature, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple["Template", list[Any]]:
        """Split the arguments of a call into the template and the arrays."""
        arguments = signature.bind(*args, **kwargs).arguments
        arrays: list[Any] = []
        names: list[str] = []
        static: list[Any] = []
        for name in sorted(arguments):  # sorted, like the keys of a dictionary in a tree
            is_static = signature.parameters[name].kind is not inspect.Parameter.POSITIONAL_ONLY
            for leaf in trees.leaves(arguments[name], is_leaf=_is_none):
                # Sizes and axes may be integers of NumPy, which are no arrays. Arrays are positional-only.
                leaf = checks.plain_integer(leaf) if is_static else leaf
                is_array = hasattr(leaf, "dtype") and hasattr(leaf, "shape") and not isinstance(leaf, type)
                if is_array:
                    arrays.append(leaf)
                    names.append(name)
                static.append(HOLE if is_array else leaf)
        structure = trees.structure(dict(arguments), is_leaf=_is_none)
        return cls(signature, tuple(names), tuple(static), structure), arrays

    def fill(self, arrays: Sequence[Any]) -> dict[str, Any]:
        """Return the arguments by name, with arrays in their positions."""
        given = iter(arrays)
        leaves = [next(given) if x is HOLE else x for x in self.static]
        filled: dict[str, Any] = trees.unflatten(self.structure, leaves)
        return filled

    def call(self, function: Callable[..., Any], arrays: Sequence[Any]) -> Any:
        """Call a function with the arguments."""
        return call_by_name(function, self.signature, self.fill(arrays))

    def __reduce__(self) -> Any:
        # Drop annotations: some can't be pickled, and nothing reads them.
        bare = [each.replace(annotation=each.empty) for each in self.signature.parameters.values()]
        return Template, (inspect.Signature(bare), self.names, self.static, self.structure)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Template)
            and (self.names, self.structure) == (other.names, other.structure)
            and exact(self.static, _typed) == exact(other.static, _typed)
        )

    def __hash__(self) -> int:
        return hash((self.names, self.structure))

    def __repr__(self) -> str:
        return ", ".join(f"{name}={value}" for name, value in self.fill([HOLE] * len(self.names)).items())


def call_by_name(function: Callable[..., Any], signature: inspect.Signature, arguments: dict[str, Any]) -> Any:
    """Call a function with arguments by name, also those that are positional-only in its signature."""
    in_order = {name: arguments[name] for name in signature.parameters if name in arguments}
    bound = inspect.BoundArguments(signature, in_order)
    return function(*bound.args, **bound.kwargs)


def _typed(value: Any) -> Any:
    return type(value), value


def _is_none(x: Any) -> bool:
    return x is None


class FacadeOp(Op):
    """An operation of a facade, on the arrays of one library."""

    __slots__ = ("__dict__", "_decomposition", "operation")

    def __init__(self, operation: Operation[..., Any], namespace: Any) -> None:
        super().__init__(operation.qualified_name, self.evaluate, namespace, rules)
        self.operation = operation
        self.own: Any = operation.rules
        if self.own is not None:
            self.batching = self.own.batching
            self.derivative = self._differentiated(self.own.derivative)
            if self.own.axes is not None and operation.generic_implementation() is None:
                self.shape = self.own.axes.shape
        if self.result is None:
            self.result = _result_class(_annotation(operation.facade))

    def _differentiated(self, derivative: Any) -> Any:
        """Return another package's derivative in the form of the tables."""
        if derivative == {}:
            self.constant = "its rules say so"
            return None
        if isinstance(derivative, dict):
            return {
                name: contribution(partial(self._along, name)) if entry is LINEAR else entry
                for name, entry in derivative.items()
            }
        return derivative

    def _along(self, name: str, xp: Any, t: Any, out: Any, /, **arguments: Any) -> Any:
        """Apply the generic implementation to a tangent, since its operations can be transposed."""
        self.own.check_linear(name, arguments[name])
        generic = self.operation.generic_implementation()
        if generic is None:
            raise self.no_rule(f"its derivative in {name}")
        return call_by_name(generic, inspect.signature(self.operation.facade), {**arguments, name: t})

    def __reduce__(self) -> Any:
        """Pickle the operation by the name of the facade."""
        return _op_of_facade, (self.namespace, self.operation.facade.__module__, self.operation.path)

    @cached_property
    def implementation(self) -> Callable[..., Any]:
        """Return the implementation for the library of the namespace."""
        return self.operation.implementation(library_name(self.namespace.base))

    def evaluate(self, *arrays: Any, template: Template) -> Any:
        """Apply the operation to the library's own arrays."""
        return template.call(self.implementation, arrays)

    def entries(self, params: dict[str, Any]) -> Any:
        template, found = params["template"], self.derivative
        if callable(found):  # it depends on static arguments
            found = found(template.fill([None] * len(template.names)))
        if not isinstance(found, dict):
            return found
        if self.own is not None and self.result is not None:
            raise self.own.several()
        return tuple(found.get(name) for name in template.names)

    def transposes(self, params: dict[str, Any]) -> Any:
        if self.transpose is None:
            return None
        return tuple(self.transpose.get(name) for name in params["template"].names)

    def named(self, values: Sequence[Any], params: dict[str, Any]) -> Any:
        return params["template"].fill(values)

    def apply(
        self, rule: Callable[..., Any], first: tuple[Any, ...], args: Sequence[Any], params: dict[str, Any]
    ) -> Any:
        return rule(*first, **params["template"].fill(args))

    @property
    def decomposition(self) -> Any:
        """The generic implementation, unless a rule replaces it."""
        return self._decomposition or self.operation.generic_implementation()

    @decomposition.setter
    def decomposition(self, rule: Any) -> None:
        self._decomposition = rule

    def decompose(self, args: Sequence[Any], params: dict[str, Any]) -> Any:
        template = params["template"]
        if self._decomposition is not None:
            return apart(self._decomposition(self.namespace, **template.fill(args)))
        return self.inlined(args, template)

    def inlined(self, args: Sequence[Any], template: Template) -> Any:
        """Apply the generic implementation of the operation."""
        generic = self.operation.generic_implementation()
        if generic is None:
            raise self.no_rule("it")
        return apart(template.call(generic, [self.namespace.wrap(x) for x in args]))


def _annotation(facade: Callable[..., Any]) -> Any:
    """Return the annotated result of a facade, also if annotations are strings."""
    try:
        return inspect.signature(facade, eval_str=True).return_annotation
    except NameError:  # imported only for type checkers
        return inspect.Signature.empty


def _observed_class(op: FacadeOp, arrays: Sequence[Any], template: Template) -> Any:
    """Find the class of several results from the generic implementation, if the facade isn't annotated."""
    found = None

    def run(*given: Any) -> Any:
        nonlocal found
        out = op.inlined(given, template)
        found = _result_class(type(out)) if isinstance(out, (tuple, list)) else None
        return out

    try:
        avals_of(op.namespace, [aval_of(x) for x in arrays], run)
    except (TracedError, UnsupportedError):  # it needs values, or does not exist
        return None
    return found


def _result_class(annotation: Any) -> Any:
    if annotation in (tuple, list):
        return annotation
    if isinstance(annotation, type) and hasattr(annotation, "_fields"):
        return annotation
    return tuple if getattr(annotation, "__origin__", None) is tuple else None


def implementation(operation: Operation[..., Any]) -> Callable[..., Any] | None:
    """Make the implementation of a facade for traced arrays, or return None to trace the generic one."""
    if operation.qualified_name == "scatter.at":
        return at
    if operation.qualified_name in INLINED or is_transformation(operation):
        return None
    signature = inspect.signature(operation.facade)
    has_mode = operation.is_own and "mode" in signature.parameters
    indices = [i for i, name in enumerate(signature.parameters) if has_mode and name in _INDICES]

    def traced(*args: Any, **kwargs: Any) -> Any:
        if indices and kwargs.get("mode") is None and not all(map(is_concrete, trees.leaves(args[indices[0]]))):
            # The library's implementation will get concrete indices, and by default would raise.
            kwargs["mode"] = "drop"
        template, arrays = Template.of(signature, args, kwargs)
        first = next(x for x in arrays if isinstance(x, TracedArray))
        namespace = first._namespace
        op = namespace.operations.get(operation.path)
        if op is None or op.operation is not operation or op.own is not operation.rules:
            op = FacadeOp(operation, namespace)
            if op.result is None and _annotation(operation.facade) is inspect.Signature.empty:
                op.result = _observed_class(op, arrays, template)
            namespace.operations[operation.path] = op
        result = bind(op, arrays, {"template": template})
        if op.result is None:
            result = namespace.wrap(result)
            return linked(result, first, op, {"template": template}) if operation.qualified_name in _VIEWS else result
        return rebuilt(op, result, [namespace.wrap(x) for x in result])

    return traced


def _op_of_facade(namespace: Any, module: str, path: str) -> FacadeOp:
    import_module(module)
    found: FacadeOp | None = namespace.operations.get(path)
    return namespace.operations.setdefault(path, FacadeOp(OPERATIONS[path], namespace)) if found is None else found


def is_transformation(operation: Operation[..., Any]) -> bool:
    """Return whether an operation takes a function to transform."""
    return operation.qualified_name.partition(".")[0] in ("autodiff", "control_flow", "jit", "vmap")
