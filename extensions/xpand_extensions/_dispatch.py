"""From a facade to the implementation for the arrays at hand.

A facade is a plain function: its docstring documents the operation, and its body checks the arguments and ends with
`return facade.native(array)(array, …)`. `native` finds the implementation for the array's library on the first call
with an array type and stores it; later calls cost one look-up. A function without an array argument takes a namespace
or the name of a library as the option `xp`, and calls `facade.native_for(xp)`. The implementation is searched in this
order:

1. the function registered for the library with `facade.register("library")`;
2. the library's plug-in: the function of the facade's name in `<package>.plugins.<library>.<capability>`, or in the
   package that another distribution names for the library in the entry-point group `xpand.plugins`;
3. the default: the function registered with `facade.default`, or the function of the facade's name in
   `<package>.generic.<capability>`.

A plug-in module that needs an optional package, such as SciPy, is skipped if the package isn't installed.

`<package>.<capability>` is the module of the facade; for a private part such as `special._gamma`, it is the public
package around it. Any other module that exists but can't be imported raises; it never counts as absent. A plug-in
package can also make implementations of operations for which it has no module: its function `implementation(operation)`
returns one, or None.
"""

import importlib
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from types import FunctionType, ModuleType
from typing import Any, Final, Generic, NoReturn, ParamSpec, Protocol, TypeAlias, TypeVar, cast

from xpand import UnsupportedError as UnsupportedError, array_namespace, library_name
from xpand.extend import (
    Array,
    Namespace,
    import_module,
    is_array,
    knows_namespace,
    namespace_or_default,
    trace_instead,
    untraced,
)

from ._optional import import_if_usable, missing_package, not_installed
from ._plans import Memory, signature
from ._subclasses import ALSO_FOR_SUBCLASSES, refuse_subclass

P = ParamSpec("P")
R_co = TypeVar("R_co", covariant=True)
F = TypeVar("F", bound=Callable[..., Any])

ENTRY_POINTS: Final = "xpand.plugins"
_OTHER: Final = "other"  # a library without a plug-in
_PACKAGE: Final = __name__.rpartition(".")[0]
_SCALARS: Final = (bool, int, float, complex, type(None))
_MAX_TYPES: Final = 4096  # as in the core: a bound for programs that keep making classes


class Pluggable(Protocol[P, R_co]):
    """The result of `pluggable`: the same function with these attributes."""

    __name__: str
    __module__: str

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co: ...

    def native(self, *arrays: Any) -> Callable[P, R_co]:
        """Return the implementation for the library of the arrays."""
        ...

    def planned(self, check: Callable[..., tuple[Any, ...]], arrays: tuple[Any, ...], *options: Any) -> Any:
        """Return the implementation and the result of `check(name, *arrays, *options)`, which runs once a signature."""
        ...

    def native_for(self, xp: Namespace | str | None, /) -> Callable[P, R_co]:
        """Return the implementation for a library, by its namespace or name; None: the default namespace's."""
        ...

    def default(self, implementation: F, /) -> F:
        """Register the implementation for libraries without their own."""
        ...

    def register(self, library: str, /) -> Callable[[F], F]:
        """Register the implementation for one library, by its name or root module."""
        ...


class OwnRules(Protocol):
    """The derivatives and the batching rule of an operation that another package defines."""

    derivative: Any
    batching: Callable[..., Any] | None
    axes: Any

    def several(self) -> TypeError:
        """Make the error for a derivative by arguments where the operation has several results."""
        ...

    def check_linear(self, name: str, value: Any) -> None:
        """Check that an argument in which the operation is linear is one array."""
        ...

    def around(self, implementation: Callable[..., Any], library: str) -> Callable[..., Any]:
        """Return an implementation that has the rules for the transformations of its library."""
        ...


class Operation(Generic[P, R_co]):
    """The record of a pluggable function: the modules of its implementations, and the implementations found so far."""

    def __init__(self, facade: Callable[P, R_co]) -> None:
        """Record a facade. Implementations are looked up later."""
        self.facade = facade
        self.name = facade.__name__
        module = facade.__module__
        while "._" in module:  # a part of a capability that is a package
            module = module.rpartition(".")[0]
        self.package, _, self.capability = module.rpartition(".")
        self.registered: dict[str, Callable[..., Any]] = {}
        self.default: Callable[..., Any] | None = None
        self.by_library: dict[str, Callable[..., Any]] = {}
        self.by_type: dict[type | tuple[type, ...], Callable[..., Any]] = {}
        self.plans = Memory()
        """The results of `planned`, by signature."""
        self.rules: OwnRules | None = None
        """The rules that `extend.register_rules` has registered; None if there are none."""

    @property
    def is_own(self) -> bool:
        """Whether the operation is xpand's. The examples of `extend` define others."""
        return self.package == _PACKAGE and self.capability != "extend"

    @property
    def path(self) -> str:
        """The public path of the function, as a key: `xpand_extensions.scatter.segment_sum`."""
        return ".".join(part for part in (self.package, self.capability, self.name) if part)

    @property
    def qualified_name(self) -> str:
        """The name in tables: `scatter.segment_sum`, with its package if that isn't xpand_extensions."""
        name = f"{self.capability}.{self.name}" if self.capability else self.name
        return name if self.package == _PACKAGE else f"{self.package}.{name}".lstrip(".")

    def resolve(self, key: type | tuple[type, ...], arrays: tuple[Any, ...]) -> Callable[..., Any]:
        """Find the implementation for the arrays, and store it under `key`."""
        try:
            xp = array_namespace(*arrays)
        except TypeError as error:
            raise TypeError(str(error).replace("array_namespace:", f"{self.name}:", 1)) from None
        types = key if isinstance(key, tuple) else (key,)
        if self.is_own and not {self.capability, self.qualified_name} & ALSO_FOR_SUBCLASSES:
            for each in types:
                refuse_subclass(self.name, each)
        found = self.observed(self.resolve_library(library_name(xp)))
        # Store it by type only if the type determines the library: a third-party array may choose its namespace.
        if len(self.by_type) < _MAX_TYPES and all(t in _SCALARS or knows_namespace(t) for t in types):
            self.by_type[key] = found
        return found

    def plan(
        self, check: Callable[..., Any], arrays: tuple[Any, ...], options: tuple[Any, ...], key: Any
    ) -> tuple[Any, ...]:
        """Check the arguments of a call, find its implementation, and store both under `key` unless it is None."""
        plans = self.plans  # `forget_types` replaces `self.plans`; a plan made meanwhile is dropped
        checked = check(self.name, *arrays, *options)
        found = self.facade.native(*arrays), *checked  # type: ignore[attr-defined]
        types = tuple([type(x) for x in arrays])
        if key is not None and (types if len(types) > 1 else types[0]) in self.by_type:
            plans.add(key, found)
        return found

    def resolve_library(self, library: str) -> Callable[..., Any]:
        """Find the implementation for a library, and store it."""
        found = self.by_library.get(library)
        if found is None:
            found = self.by_library[library] = self.implementation(library)
        return found

    def observed(self, implementation: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function that a call runs: the implementation, or the observer's wrapper."""
        return implementation if _observer is None else _observe(_observer, self, implementation)

    def forget(self) -> None:
        """Forget the implementations found so far, because one was registered."""
        self.by_library.clear()
        self.forget_types()

    def forget_types(self) -> None:
        """Forget the implementations found for types of arrays."""
        self.by_type.clear()
        self.plans = Memory()

    def implementation(self, library: str) -> Callable[..., Any]:
        """Find the implementation for a library, or raise `UnsupportedError`."""
        found = self.native_implementation(library) or self.generic_implementation()
        if found is None:
            module = self.plugin_name(library)
            missing = None if module is None else missing_package(module)
            if missing is not None:
                raise not_installed(missing, f"{self.name} for arrays of {library}")
            raise UnsupportedError(
                f"{self.name}: not available for {library}, and there is no generic version; convert the arrays to "
                f"a library that has it, or register one with `{self.name}.register({library!r})`"
            )
        return found if self.rules is None else self.rules.around(found, library)

    def native_implementation(self, library: str) -> Callable[..., Any] | None:
        """Return a library's own implementation; None if there is none."""
        if library in self.registered:
            return self.registered[library]
        module = self.plugin_module(library)
        if module is None:
            return self.made_implementation(library)
        reason = getattr(module, "UNSUPPORTED", {}).get(self.name)
        if reason is not None:
            raise UnsupportedError(f"{self.name}: not available for {library}: {reason}")
        # No `cast`: torch.compile loses the origin of its result, and can't put it into the cache.
        found: Callable[..., Any] | None = getattr(module, self.name, None)
        return found

    def made_implementation(self, library: str) -> Callable[..., Any] | None:
        """Ask a library's plug-in package for an implementation; None if it makes none."""
        package = plugin_package(library)
        make = None if package is None else getattr(import_module(package), "implementation", None)
        return None if make is None else make(self)

    def plugin_module(self, library: str) -> ModuleType | None:
        """Import a library's plug-in module for this capability; None if there is none, or its packages are missing."""
        name = self.plugin_name(library)
        return None if name is None else import_if_usable(name)

    def plugin_name(self, library: str) -> str | None:
        """Name a library's plug-in module for this capability; None if there is none."""
        package = plugin_package(library, self.package)
        name = f"{package}.{self.capability}"
        return name if package is not None and _exists(name) else None

    def generic_implementation(self) -> Callable[..., Any] | None:
        """Return the implementation for any library; None if there is none."""
        if self.default is not None:
            return self.default
        module = import_if_present(f"{self.package}.generic.{self.capability}") if self.package else None
        return None if module is None else getattr(module, self.name, None)


OPERATIONS: Final[dict[str, Operation[..., Any]]] = {}

Observer: TypeAlias = Callable[[Operation[..., Any], Callable[..., Any]], Callable[..., Any]]
_observer: Observer | None = None


def _observe(observer: Observer, operation: Operation[..., Any], found: Callable[..., Any]) -> Callable[..., Any]:
    return observer(operation, found)


# torch.compile compiles the implementation.
trace_instead(_observe, lambda observer, operation, found: found)


def observe(observer: Observer | None) -> None:
    """Have an observer wrap all implementations; None: remove it.

    Dispatch stores the wrappers in place of the implementations, so calls without an observer cost nothing extra.
    """
    global _observer
    _observer = observer
    for operation in list(OPERATIONS.values()):
        operation.forget_types()


def pluggable(facade: Callable[P, R_co], /) -> Pluggable[P, R_co]:
    """Turn a function into the facade of an operation that each library can implement.

    The function is not wrapped, so a call costs no more than its body. It gets the attributes `native(*arrays)`, to be
    called in its body, or `native_for(xp)` if it takes no array; `planned(check, arrays, *options)`, which also checks
    the arguments, once for each signature; `register(library)`, to add a version for one library; and `default`, for
    all other libraries.

    Args:
        facade: The function. The generic and plug-in modules have the name of its module, or of the package around a
            private module.

    Raises:
        TypeError: `facade` is not a plain function.

    >>> import numpy as np
    >>> @pluggable
    ... def double(x, /):
    ...     "Twice `x`, of any shape."
    ...     return double.native(x)(x)
    >>> @double.default
    ... def _(x, /):
    ...     return x + x
    >>> @double.register("torch")
    ... def _(x, /):
    ...     return x.mul(2)
    >>> double(np.asarray([1, 2])).tolist()
    [2, 4]
    """
    if not isinstance(facade, FunctionType):
        raise TypeError(f"pluggable: takes a plain function, got {type(facade).__qualname__}")
    operation = Operation(facade)
    found = operation.by_type

    def native(*arrays: Array) -> Callable[..., Any]:
        key = type(arrays[0]) if len(arrays) == 1 else tuple([type(x) for x in arrays])
        implementation = found.get(key)
        return operation.resolve(key, arrays) if implementation is None else implementation

    def planned(check: Callable[..., tuple[Any, ...]], arrays: tuple[Any, ...], *options: Any) -> Any:
        key: Any
        try:
            key = signature(arrays, options)
            found = operation.plans.get(key)
        except (AttributeError, TypeError):  # no array, or an option without a hash
            key = found = None
        return operation.plan(check, arrays, options, key) if found is None else found

    def unplanned(check: Callable[..., tuple[Any, ...]], arrays: tuple[Any, ...], *options: Any) -> Any:
        checked = check(operation.name, *arrays, *options)
        return native(*arrays), *checked

    trace_instead(planned, unplanned)  # torch.compile runs the checks while it compiles

    def native_for(xp: Namespace | str | None, /) -> Callable[..., Any]:
        return operation.observed(operation.resolve_library(library_name(namespace_or_default(xp, operation.name))))

    def default(implementation: F, /) -> F:
        operation.default = implementation
        operation.forget()
        return implementation

    def register(library: str, /) -> Callable[[F], F]:
        if not isinstance(library, str):
            raise TypeError(f"{operation.name}.register: library must be a name such as 'torch', got {library!r}")

        def add(implementation: F) -> F:
            operation.registered[library] = implementation
            operation.forget()
            return implementation

        return add

    for attribute in (native, planned, native_for, default, register):
        setattr(facade, attribute.__name__, attribute)
    OPERATIONS[operation.path] = operation
    return cast("Pluggable[P, R_co]", facade)


def for_library(path: str, library: str = _OTHER) -> Callable[..., Any]:
    """Return the implementation of an operation of this package for a library, by default the generic one.

    Args:
        path: The operation's capability and name, such as "control_flow.cond". Its facade must have been imported.
        library: The name of the library.
    """
    return operation_at(path).resolve_library(library)


def operation_at(path: str) -> Operation[..., Any]:
    """Return an operation of this package by its capability and name. Its facade must have been imported."""
    return OPERATIONS[f"{_PACKAGE}.{path}"]


def operation_of(function: Any) -> Operation[..., Any] | None:
    """Return the record of a pluggable function; None for anything else."""
    found = OPERATIONS.get(Operation(function).path) if isinstance(function, FunctionType) else None
    return found if found is not None and found.facade is function else None


def forwards_to(other: Callable[..., Any], /) -> Callable[[F], F]:
    """Decorate an implementation that passes options on to another one, and give it the signature of the other.

    Args:
        other: The other implementation, or the facade.

    >>> from inspect import signature
    >>> def scaled(x, /, *, by=2.0, offset=0.0):
    ...     return by * x + offset
    >>> @forwards_to(scaled)
    ... def scaled_quickly(x, /, *, offset=0.0, **options):
    ...     return scaled(x, offset=offset, **options)
    >>> signature(scaled_quickly)
    <Signature (x, /, *, by=2.0, offset=0.0)>
    """

    def decorate(function: F) -> F:
        cast("Any", function).__wrapped__ = other
        return function

    return decorate


def untraceable(facade: F, /) -> F:
    """Have torch.compile raise an error where it would trace a facade. Put it above all other decorators."""

    def raises(*args: Any, **kwargs: Any) -> NoReturn:
        raise UnsupportedError(
            f"{facade.__name__}: torch.compile cannot trace it; use `xpand.jit` in place of "
            "torch.compile, or call it outside of the compiled function"
        )

    trace_instead(facade, raises)
    return facade


def in_one_namespace(*arrays: Any) -> tuple[Any, ...]:
    """Convert concrete arrays to constants if one of the arrays is traced; otherwise return all unchanged.

    After that, the namespace of any array accepts all of them. None and numbers stay unchanged.
    """
    for x in arrays:
        # Look in the class: a missing attribute of a module costs a microsecond.
        namespace: Any = getattr(type(x), "_namespace", None)
        if namespace is not None:
            return tuple([_constant(namespace, y) if is_array(y) else y for y in arrays])
    return arrays


def _constant(namespace: Any, x: Array) -> Array:
    namespace.check(x)
    return namespace.wrap(x)


@untraced
def plugin_package(library: str, package: str = _PACKAGE) -> str | None:
    """Name the package with a library's plug-in modules; None if there is none."""
    own = f"{package}.plugins"
    if package and find_spec(package) is not None and find_spec(own) is not None:
        name = f"{own}.{library}"
        if find_spec(name) is not None:
            return name
    if package != _PACKAGE or library == _OTHER:
        return None
    found = third_party_plugins().get(library)
    if found is not None:
        importlib.import_module(found)  # an entry point without a module is a broken plug-in, not an absent one
    return found


@cache
def third_party_plugins() -> dict[str, str]:
    """Return the libraries that other distributions add, each with the package of its plug-in modules.

    Raises:
        RuntimeError: Two distributions claim the same library.
    """
    from importlib.metadata import entry_points  # its import takes longer than the rest of this package

    found: dict[str, str] = {}
    for point in entry_points(group=ENTRY_POINTS):
        if found.setdefault(point.name, point.value) != point.value:
            raise RuntimeError(
                f"two installed distributions bring xpand plug-ins for {point.name!r}: {found[point.name]} and "
                f"{point.value}; uninstall one"
            )
    return found


def import_if_present(name: str) -> ModuleType | None:
    """Import a module; None if it doesn't exist. Errors inside the module are raised."""
    return import_module(name) if _exists(name) else None


@untraced
def _exists(name: str) -> bool:
    parent = name.rpartition(".")[0]
    if find_spec(parent.partition(".")[0]) is None or find_spec(parent) is None:
        return False
    # The search imports the module's parent, perhaps a plug-in that needs an optional package.
    return missing_package(parent) is None and find_spec(name) is not None
