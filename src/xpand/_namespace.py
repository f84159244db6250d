"""Find the library of an array. No other module of the core names libraries.

`array_namespace` is the entry point. Every function that is written against the standard calls it, so it has to be
fast: one dictionary look-up by type. The table `LIBRARIES` has each library's name, its namespace, and the test whether
an array has values.
"""

import sys
import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from importlib.util import find_spec
from numbers import Number
from typing import Any, Final

from ._imports import import_module, trace_instead, untraced
from .typing import Array, ArrayLike, LibraryNamespace, Namespace, StandardNamespace

_PACKAGE: Final = __name__.rpartition(".")[0]  # "xpand", or wherever a vendored copy lives
API_VERSION: Final = "2025.12"
ADVICE: Final = "convert one to the other's library first, for example with `xp.asarray` or `xp.from_dlpack`"
"""Advice for arrays of two libraries."""
_OLDER_API_VERSIONS: Final = frozenset({"2021.12", "2022.12", "2023.12", "2024.12"})


def _always(x: Array) -> bool:
    return True


def _never(x: Array) -> bool:
    return False


def _jax_is_concrete(x: Array) -> bool:
    import jax

    return not isinstance(x, jax.core.Tracer)


def _jax_eager() -> AbstractContextManager[None]:
    import jax

    context: AbstractContextManager[None] = jax.ensure_compile_time_eval()
    return context


@dataclass(frozen=True, slots=True)
class _Library:
    """A library that xpand wraps: how to recognize its arrays, and where its functions are."""

    name: str
    """The name of the library for users, as in `use("torch")`."""
    array_types: tuple[tuple[str, str], ...]
    """(module, attribute) of each base class of its arrays."""
    namespace: str
    """The conforming namespace, relative to this package."""
    native: str
    """The library's own namespace."""
    is_concrete: Callable[[Array], bool] | str
    """Returns whether an array's values can be read now; or a module with this function, relative to this package."""
    networks: tuple[tuple[str, str], ...] = ()
    """(module, attribute) of each base class of neural networks that use its arrays, the library's own class first."""
    eager: Callable[[], AbstractContextManager[None]] = nullcontext
    """Returns a context in which operations on concrete values are eager, also while a function is traced."""


LIBRARIES: Final = {
    library.name: library
    for library in (
        _Library("numpy", (("numpy", "ndarray"), ("numpy", "generic")), ".numpy", "numpy", _always),
        _Library(
            "torch", (("torch", "Tensor"),), ".torch", "torch", ".torch._concrete", networks=(("torch.nn", "Module"),)
        ),
        # Since JAX 0.8.2, tracers are not instances of jax.Array.
        _Library(
            "jax",
            (("jax", "Array"), ("jax.core", "Tracer")),
            ".jax",
            "jax.numpy",
            _jax_is_concrete,
            networks=(("flax.nnx", "Module"), ("flax.linen", "Module"), ("equinox", "Module")),
            eager=_jax_eager,
        ),
        _Library("cupy", (("cupy", "ndarray"),), ".cupy", "cupy", _always),
        _Library("dask", (("dask.array", "Array"),), ".dask.array", "dask.array", _never),
    )
}

# The hot path: array type -> namespace, for the libraries above only. In other libraries, the namespace may depend on
# the array (a wrapper around arrays of several libraries), so `__array_namespace__` is called each time.
_BY_TYPE: dict[type, StandardNamespace] = {}
_MAX_TYPES: Final = 4096  # limits the cache in programs that keep making array classes

# Classes of arrays whose namespace also accepts arrays of another namespace, as constants.
_WRAPPERS: dict[type, StandardNamespace] = {}

_CONCRETE_BY_TYPE: dict[type, Callable[[Array], bool]] = {}

_NUMPY: Namespace | None = None  # xpand.numpy, once it is loaded


def library_of(cls: type) -> str | None:
    """Return the name of the wrapped library whose arrays have the type `cls`, without importing any library."""
    if cls in _WRAPPERS:  # its arrays may be instances of the library's class, too
        return None
    for library in LIBRARIES.values():
        for module_name, attribute in library.array_types:
            module = sys.modules.get(module_name)
            # A partly imported module may not have the attribute yet.
            base = getattr(module, attribute, None) if module is not None else None
            if base is not None and issubclass(cls, base):
                return library.name
    return None


def register_wrapper(cls: type, xp: Namespace) -> None:
    """Register a class of arrays whose namespace `xp` also accepts arrays of other namespaces.

    `xp.wraps(other)` returns whether it accepts those of `other`. Then `xp` is the namespace of arrays of both.
    """
    _WRAPPERS[cls] = _BY_TYPE[cls] = xp


def namespace_of_traced(*arguments: Any) -> LibraryNamespace | None:
    """Return the namespace of the first traced array in arguments and in lists and tuples; None without one.

    Functions of a stored namespace call it after an error, so that plain arrays cost nothing.
    """
    for x in arguments:
        xp = namespace_of_traced(*x) if isinstance(x, (list, tuple)) else _WRAPPERS.get(type(x))
        if xp is not None:
            return xp
    return None


def knows_namespace(cls: type) -> bool:
    """Return whether the type of an array alone determines its namespace."""
    return cls in _WRAPPERS or library_of(cls) is not None


def _wraps(xp: Namespace, other: Namespace) -> bool:
    wraps = getattr(xp, "wraps", None) if xp in _WRAPPERS.values() else None
    return wraps is not None and wraps(other)


def array_namespace(
    *arrays: ArrayLike | None, api_version: str | None = None, use_compat: bool | None = None
) -> StandardNamespace:
    """Return the array API namespace that the given arrays share.

    Args:
        *arrays: Arrays of one library: NumPy, PyTorch, JAX, CuPy, Dask, or any with `__array_namespace__`. Tracers and
            subclasses are arrays, too. Python scalars and None are ignored.
        api_version: The version of the standard that the caller needs, such as "2024.12". The wrapped namespaces follow
            2025.12. For an older version, they are returned with a warning.
        use_compat: None or True for xpand's conforming namespace, False for the library's own (`torch` itself).

    Returns:
        A module such as `xpand.torch`; for a library that xpand does not wrap, the result of `__array_namespace__`.

    Raises:
        TypeError: Arrays of two libraries, no array at all, or an object that is not an array.
        ValueError: An unknown `api_version`, or `use_compat=True` for a library that xpand does not wrap.

    Source: `array_api_compat.array_namespace`, with the same arguments.

    >>> import numpy as np
    >>> array_namespace(np.ones(3), 2.0, None).__name__
    'xpand.numpy'
    """
    if api_version is None and use_compat is None and arrays:
        x: Any = arrays[0]
        xp = _BY_TYPE.get(type(x))
        if (
            xp is not None
            and (
                len(arrays) == 1
                or (len(arrays) == 2 and _BY_TYPE.get(type(arrays[1])) is xp)
                or (len(arrays) > 2 and all(_BY_TYPE.get(type(y)) is xp for y in arrays))
            )
            # JAX's gradients of integers are NumPy arrays of a void type (`float0`), but belong to JAX.
            and (xp is not _NUMPY or (x.dtype.char != "V" and (len(arrays) == 1 or _none_void(arrays))))
        ):
            return xp
    return _resolve(arrays, api_version, use_compat)


def _none_void(arrays: tuple[Any, ...]) -> bool:
    return arrays[1].dtype.char != "V" and (len(arrays) == 2 or all(x.dtype.char != "V" for x in arrays))


# The older name in array-api-compat.
get_namespace = array_namespace


def _resolve(arrays: tuple[object, ...], api_version: str | None, use_compat: bool | None) -> StandardNamespace:
    """Return the namespace as `array_namespace` does, for all arguments that its fast path does not handle."""
    if use_compat is not None and not isinstance(use_compat, bool):
        raise ValueError(f"array_namespace: use_compat must be None, True or False, got {use_compat!r}")
    found: Namespace | None = None
    first: object = None
    for x in arrays:
        xp = _namespace_of(x, api_version, use_compat)
        if xp is None:
            continue
        if found is None or (xp is not found and _wraps(xp, found)):
            found, first = xp, x
        elif xp is not found and not _wraps(found, xp):
            raise TypeError(
                # "Multiple namespaces" and "array_namespace requires" are array-api-compat's words. Packages' tests
                # look for them.
                f"array_namespace: arrays of two libraries: {describe(first)} and {describe(x)} (Multiple namespaces); "
                + (f"make {x!r} a Python number: `x.item()`" if isinstance(x, Number) else ADVICE)
            )
    if found is None:
        got = ", ".join(describe(x) for x in arrays) or "nothing"
        raise TypeError(
            f"array_namespace: no array among the arguments, got {got}; array_namespace requires at least one array; "
            "use `default_namespace()` where there may be none"
        )
    return found


def _namespace_of(x: object, api_version: str | None, use_compat: bool | None) -> StandardNamespace | None:
    """Return the namespace of one argument, or None for a Python scalar or None."""
    cls = type(x)
    wrapper = _WRAPPERS.get(cls)
    if wrapper is not None and not use_compat:
        return wrapper
    name = library_of(cls)
    if name is None:
        # Checked after the libraries, because np.float64 is an array and a float.
        if x is None or isinstance(x, (int, float, complex)):
            return None
        method = getattr(x, "__array_namespace__", None)
        if method is None or isinstance(x, type):
            raise TypeError(
                f"array_namespace: {describe(x)} is not a supported array; pass an array of an installed library, a "
                f"Python scalar or None{conversion(x)}"
            )
        if use_compat:
            raise ValueError(
                f"array_namespace: use_compat=True, but xpand wraps no namespace for {describe(x)}; "
                "omit use_compat to get the library's own"
            )
        xp = method(api_version=api_version)
        spec = getattr(x, "spec", None)
        if spec is not None:
            from ._specs import with_spec  # few libraries have specs

            return with_spec(xp, spec)
        return xp
    zero_gradient = name == "numpy" and _is_jax_zero_gradient(x)
    if zero_gradient:
        name = "jax"
    _check_api_version(api_version)
    if use_compat is False:
        return import_module(LIBRARIES[name].native)
    xp = namespace(name)
    if len(_BY_TYPE) < _MAX_TYPES and not zero_gradient:
        _BY_TYPE[cls] = xp
        if name == "numpy":
            global _NUMPY
            _NUMPY = xp
    return xp


def _is_jax_zero_gradient(x: Any) -> bool:
    """Return whether a NumPy array is JAX's gradient of an integer, which has the void type `float0`."""
    return "jax" in sys.modules and x.dtype.char == "V" and x.dtype == sys.modules["jax"].float0


def _check_api_version(api_version: str | None) -> None:
    if api_version is None or api_version == API_VERSION:
        return
    if api_version not in _OLDER_API_VERSIONS:
        raise ValueError(
            f"array_namespace: api_version={api_version!r} is not known; the newest is {API_VERSION!r}, older ones are "
            f"{', '.join(sorted(_OLDER_API_VERSIONS))}"
        )
    warnings.warn(
        f"array_namespace: version {api_version} of the standard was requested; the namespace follows {API_VERSION}",
        stacklevel=5,
    )


def conversion(x: object) -> str:
    """Say how to get an array from an object that is none, for an error message; "" if it is not known."""
    if isinstance(x, (list, tuple)):
        return "; turn lists into arrays with the `asarray` of a namespace, such as `xpand.numpy.asarray`"
    if hasattr(x, "todense"):  # a container of its own, whose attributes hold only the stored elements
        own = type(x).__module__.partition(".")[0] == "xpand_extensions"
        write = "it is sparse: use" if own else "convert it with `sparse.from_native` for"
        return f"; {write} the functions of `xpand.sparse`, or write `x.todense()`"
    if hasattr(x, "to_numpy"):  # columns of pandas and others may have other types than arrays
        return "; write `x.to_numpy()`"
    for name in ("array", "data", "values"):  # of named arrays, xarray and others
        cls = type(getattr(x, name, None))
        if library_of(cls) is not None or hasattr(cls, "__array_namespace__"):
            return f"; it holds an array: pass its attribute `{name}`"
    return ""


def describe(x: object) -> str:
    """Name the type of a value for an error message."""
    cls = x if isinstance(x, type) else type(x)
    name = cls.__qualname__ if cls.__module__ == "builtins" else f"{cls.__module__}.{cls.__qualname__}"
    return f"the type {name}" if isinstance(x, type) else name


def namespace(name: str) -> StandardNamespace:
    """Import the conforming namespace of a library by its name, such as "torch".

    The name of any other installed module that is a namespace of the standard is accepted, too.

    Raises:
        ValueError: No library of this name is known.
        ModuleNotFoundError: The library is known but not installed; the message says how to install it.

    >>> namespace("numpy").__name__
    'xpand.numpy'
    """
    if not isinstance(name, str):
        raise TypeError(f"namespace: name must be a string such as 'numpy', got {describe(name)}")
    library = LIBRARIES.get(name.partition(".")[0])
    if library is not None and name in (library.name, library.native, _PACKAGE + library.namespace):
        try:  # without `find_spec` first, which some versions of PyTorch cannot compile
            return import_module(_PACKAGE + library.namespace)
        except ModuleNotFoundError as error:
            if error.name != library.name:
                raise
            # There is no extra for NumPy, because xpand depends on it. NumPy may be missing for a vendored copy.
            package = "numpy" if library.name == "numpy" else f"'xpand[{library.name}]'"
            raise ModuleNotFoundError(
                f"namespace: {library.name!r} is not installed; `pip install {package}` adds it", name=library.name
            ) from error
    if all(part.isidentifier() for part in name.split(".")) and find_spec(name.partition(".")[0]) is not None:
        module = import_module(name)
        if hasattr(module, "__array_namespace_info__"):
            return module
    from difflib import get_close_matches  # slow to import

    close = get_close_matches(name, LIBRARIES, n=1)
    meant = f"; did you mean {close[0]!r}?" if close else ""
    raise ValueError(
        f"namespace: {name!r} is no known array library; known are {', '.join(LIBRARIES)}, and the module name of any "
        f"installed library whose namespace follows the standard, such as 'array_api_strict'{meant}"
    )


def library_name(xp: Namespace, *, underlying: bool = False) -> str:
    """Return the name of a namespace's library: "torch" for `xpand.torch` and for `torch` itself.

    Args:
        xp: A namespace.
        underlying: The result for the namespace of traced arrays, which transformations use on NumPy, CuPy and Dask.
            False: "traced". True: the library whose arrays are traced.

    Raises:
        TypeError: `xp` is not a namespace. For an array, call `array_namespace` first.

    >>> import numpy as np
    >>> library_name(np)
    'numpy'
    """
    name: str | None = getattr(xp, "__name__", None)
    if name is None:
        if not hasattr(xp, "asarray"):
            raise TypeError(
                f"library_name: xp must be a namespace, got {describe(xp)}; for an array, pass `array_namespace(x)`"
            )
        name = type(xp).__module__
    if underlying and xp in _WRAPPERS.values():
        wrapper: LibraryNamespace = xp
        return library_name(wrapper.base, underlying=True)
    return name.removeprefix(_PACKAGE + ".").partition(".")[0]


def is_lazy(xp: Namespace) -> bool:
    """Return whether a wrapped library is lazy, which means that it computes values only on request."""
    library = LIBRARIES.get(library_name(xp))
    return library is not None and library.is_concrete is _never


def wrapped_libraries() -> tuple[str, ...]:
    """Return the names of the libraries that xpand wraps, installed or not.

    >>> wrapped_libraries()
    ('numpy', 'torch', 'jax', 'cupy', 'dask')
    """
    return tuple(LIBRARIES)


@untraced
def imported_libraries() -> tuple[str, ...]:
    """Return the names of the wrapped libraries that this process has imported."""
    return tuple(
        library.name
        for library in LIBRARIES.values()
        if all(module in sys.modules for module, _ in library.array_types)
    )


def is_concrete(x: Array) -> bool:
    """Return whether the values of an array can be read now. Nothing is computed.

    Return False for JAX's tracers, tensors inside `torch.func` and `torch.compile`, tensors on the meta device, and
    arrays of Dask, cubed and others with a method `compute`. Return True for Python scalars.

    >>> import numpy as np
    >>> is_concrete(np.ones(3))
    True
    """
    test = _CONCRETE_BY_TYPE.get(type(x))
    if test is not None:
        return test(x)
    name = library_of(type(x))
    if name is not None:
        found = LIBRARIES[name].is_concrete
        check: Callable[[Array], bool]
        check = import_module(_PACKAGE + found).is_concrete if isinstance(found, str) else found
        if len(_CONCRETE_BY_TYPE) < _MAX_TYPES:
            _CONCRETE_BY_TYPE[type(x)] = check
        return check(x)
    # xpand's traced arrays have the attribute `is_traced`. `bool(x)` would compute lazy arrays of other libraries.
    return not (getattr(x, "is_traced", False) or hasattr(type(x), "compute"))


def compute_sizes(x: Array) -> Array | None:
    """Compute the unknown sizes of a lazy array; return None if its library has no way to do so."""
    if library_of(type(x)) != "dask":
        return None
    found: Array = import_module(_PACKAGE + ".dask.array._blocks").with_sizes(x)
    return found


def eager(xp: Namespace) -> AbstractContextManager[None]:
    """Return a context in which operations on concrete values are eager, also while JAX traces a function.

    Without it, JAX would stage the operations, and a check could not read their results.

    >>> import numpy as np
    >>> with eager(np):
    ...     bool(np.all(np.asarray([1, 2]) > 0))
    True
    """
    library = LIBRARIES.get(library_name(xp))
    return nullcontext() if library is None else library.eager()


def without_numpy_warnings(reaction: str = "ignore") -> AbstractContextManager[Any]:
    """Silence NumPy's warnings in this context. Errors and calls that users have set with `np.errstate` remain.

    `reaction` is NumPy's reaction in place of a warning, such as "raise".

    >>> import numpy as np
    >>> with without_numpy_warnings():
    ...     float(np.float64(1.0) / np.float64(0.0))
    inf
    """
    numpy = sys.modules.get("numpy")
    if numpy is None:
        return nullcontext()
    reactions = numpy.geterr()
    if "warn" not in reactions.values():
        return nullcontext()
    context: AbstractContextManager[Any] = numpy.errstate(
        **{kind: reaction for kind, current in reactions.items() if current == "warn"}
    )
    return context


trace_instead(without_numpy_warnings, lambda reaction="ignore": nullcontext())  # torch.compile can't trace `geterr`


def _namespace_test(name: str) -> Callable[[Any], bool]:
    """Make the function `is_<library>_namespace`."""
    library = LIBRARIES[name]
    names = {library.native, _PACKAGE + library.namespace, "array_api_compat" + library.namespace}

    def is_namespace(xp: Namespace) -> bool:
        return xp.__name__ in names

    is_namespace.__name__ = is_namespace.__qualname__ = f"is_{name}_namespace"
    is_namespace.__doc__ = (
        f"""Return whether `xp` is a namespace of {name}: the library's own, or the conforming one."""
    )
    return is_namespace


is_numpy_namespace = _namespace_test("numpy")
is_torch_namespace = _namespace_test("torch")
is_jax_namespace = _namespace_test("jax")
is_cupy_namespace = _namespace_test("cupy")
is_dask_namespace = _namespace_test("dask")
