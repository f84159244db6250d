"""The class of traced arrays over a library: operators, attributes, indexing."""

import operator as python_operators
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, Final

from xpand import library_name
from xpand.extend import Device, DType

from .._dispatch import import_if_present, plugin_package
from ._core import ATTRIBUTES, EVALUATION, TracedArray, TracedError, bind, leaked, library_array
from ._functions import COMPARISONS, OPERATORS
from ._keys import taken_apart
from ._views import check_writable, is_selected, is_view, linked, selected, write

_VALUES: Final = (
    "values are concrete outside the transformation: return the array; inside, `float(stop_gradient(x))` works where "
    "only derivatives are traced, and `pure_callback` passes values to a function elsewhere"
)
_CHUNKS: Final = (
    "it is not divided into chunks; write NumPy's functions in place of Dask's, such as `np.cumsum(x)` in place of "
    "`da.cumsum(x)`"
)
_LAYOUT: Final = "its elements have no places in memory; use it as an array in row-major order"
_INSTEAD: Final = {
    **dict.fromkeys(("base", "byteswap", "ctypes", "data", "flags", "getfield", "setflags", "strides"), _LAYOUT),
    **dict.fromkeys(("dump", "dumps", "tobytes", "tofile"), _VALUES),
    "flat": "write `xp.reshape(x, (-1,))`",
    **dict.fromkeys(("_meta", "chunks", "compute", "map_blocks", "numblocks", "persist", "rechunk"), _CHUNKS),
    "numpy": _VALUES,
    "item": _VALUES,
    "tolist": f"`list(x)` has traced elements; {_VALUES}",
    "detach": "write `stop_gradient(x)`",
    "flatten": "write `xp.reshape(x, (-1,))`",
    "ravel": "write `xp.reshape(x, (-1,))`",
    "view": "write `xp.reshape(x, shape)`; masked arrays can't hold traced values: write `np.where(mask, x, 0.0)`",
    "transpose": "write `xp.permute_dims(x, axes)`, or `x.mT` for the last two axes",
    "clone": "write `xp.asarray(x, copy=True)`",
    "copy": "write `xp.asarray(x, copy=True)`",
    "at": "write `scatter.at(x)[index]`",
    "backward": "take derivatives with `autodiff.grad`",
    "requires_grad_": "take derivatives with `autodiff.grad`",
}
"""Suggested replacements for attributes of some libraries' arrays without a function in the standard."""


class _Methods(TracedArray):
    """The attributes that the arrays of all libraries have."""

    __slots__ = ()

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        return self._namespace

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of elements along each axis."""
        return self._trace.shape(self)

    @property
    def dtype(self) -> DType:
        """The data type of the library."""
        return self._trace.dtype(self)

    @property
    def device(self) -> Device:
        """The device of the library."""
        return self._trace.device(self)

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self._trace.shape(self))

    @property
    def size(self) -> int:
        """The number of elements."""
        size = 1
        for length in self._trace.shape(self):
            size *= length
        return size

    @property
    def is_traced(self) -> bool:
        """Whether the values are abstract."""
        return self._trace.is_traced(self)

    @property
    def T(self) -> Any:
        """The transpose of a matrix; in NumPy and similar libraries, the array with all axes reversed."""
        if self.ndim != 2:
            if "transpose" in self._namespace.methods:
                return self.transpose()
            raise ValueError(f"x.T: x must have two axes, got {self.ndim}; use `x.mT` for the last two")
        return self._namespace.matrix_transpose(self)

    @property
    def mT(self) -> Any:
        """The array with its last two axes exchanged."""
        return self._namespace.matrix_transpose(self)

    def to_device(self, device: Device, /, *, stream: Any = None) -> Any:
        """Move to a device."""
        namespace = self._namespace
        op, params = namespace.operations["to_device"], {"device": device}
        return linked(namespace.wrap(bind(op, (self,), params)), self, op, params)

    def _taken_apart(self, key: Any) -> tuple[tuple[Any, ...], list[Any]]:
        if type(key) is int:  # as in a loop over elements
            return (key,), []

        def from_list(part: Sequence[Any]) -> Any:
            namespace = self._namespace
            dtype = None if part else namespace.int64  # an empty list selects nothing
            return namespace.asarray(part, dtype=dtype, device=self.device)

        return taken_apart(key, from_list if self._namespace.takes_lists else None)

    def __getitem__(self, key: Any) -> Any:
        namespace = self._namespace
        parts, arrays = self._taken_apart(key)
        for x in arrays:
            namespace.check(x)
        found = namespace.wrap(bind(namespace.operations["getitem"], (self, *arrays), {"key": parts}))
        return found if arrays else selected(found, self, parts)

    def __setitem__(self, key: Any, value: Any) -> None:
        namespace = self._namespace
        parts, arrays = self._taken_apart(key)
        for x in arrays:
            namespace.check(x)
        if hasattr(value, "dtype"):
            namespace.check(value)
        else:
            value = namespace.base.asarray(value, dtype=self.dtype, device=self.device)
        if self._view is not None:
            check_writable(self)
        if self._views and not arrays and is_selected(value, self, parts):
            return  # `x[key] += v` has written the elements into the view before
        found = namespace.wrap(bind(namespace.operations["setitem"], (self, value, *arrays), {"key": parts}))
        write(self, found, None if arrays else parts)

    def _take(self, found: TracedArray) -> None:
        """Replace the elements by those of another array."""
        self._trace, self._value, self._extra = found._trace, found._value, found._extra  # type: ignore[misc]

    def _is_written_in_place(self) -> bool:
        """Return whether `x += y` writes into the array, as in the library, or makes a new array.

        NumPy's functions return immutable scalars instead of arrays of shape (). So a traced array of shape () counts
        as a scalar, unless a creation function made it or it has been written to.
        """
        trace = self._trace
        of_arrays, of_scalars = self._namespace.writes_in_place
        if not of_arrays or trace.is_number(self):
            return False
        return of_scalars or bool(trace.shape(self)) or getattr(self, "_is_array", False) or is_view(self)

    def __len__(self) -> int:
        shape = self._trace.shape(self)
        if not shape:
            raise TypeError("len() of an array without axes")
        return shape[0]

    def __iter__(self) -> Iterator[Any]:
        if not len(self):
            return iter(())
        # Use one operation. With one per element, each derivative would build a gradient of full size.
        return self._rows(bind(self._namespace.operations["unstack"], (self,), {"axis": 0}))

    def _rows(self, rows: Sequence[Any]) -> Iterator[Any]:
        """Yield the rows, and those after a write as they are by then."""
        trace, value, extra = self._trace, self._value, self._extra
        for i, row in enumerate(rows):
            key = (i,) if len(self.shape) == 1 else (i, ...)
            if self._value is value and self._trace is trace and self._extra is extra:
                yield selected(self._namespace.wrap(row), self, key)
            else:
                yield self[key]

    def __bool__(self) -> bool:
        return bool(concrete(self, "bool(x)"))

    def __int__(self) -> int:
        return int(concrete(self, "int(x)"))

    def __float__(self) -> float:
        return float(_constant(self, "float(x)"))

    def __complex__(self) -> complex:
        return complex(_constant(self, "complex(x)"))

    def __format__(self, spec: str) -> str:
        # A string may show concrete values, because it loses no derivative.
        return format(concrete(self, f'f"{{x:{spec}}}"'), spec) if spec else str(self)

    def __index__(self) -> int:
        found: int = concrete(self, "range(x), or x as an index").__index__()
        return found

    def __dlpack__(
        self, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: bool | None = None
    ) -> Any:
        given = {"stream": stream, "max_version": max_version, "dl_device": dl_device, "copy": copy}
        given = {name: value for name, value in given.items() if value is not None}
        return library_array(self, "x.__dlpack__").__dlpack__(**given)

    def __dlpack_device__(self) -> Any:
        return library_array(self, "x.__dlpack_device__").__dlpack_device__()

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        return library_array(self, "conversion to NumPy").__array__(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        namespace = self._namespace
        if name in namespace.methods:
            return partial(namespace.methods[name], self)
        if name in namespace.attributes:
            return namespace.attributes[name](self)
        known = "with `xp = xpand.array_namespace(x, …)`, called with all arrays of the expression"
        if name in _INSTEAD:
            fix = _INSTEAD[name]
        elif name.startswith("_"):  # a library's function looks for its own protocol
            fix = f"where a function of a library was given it, write that of the standard {known}"
        elif hasattr(self._namespace, name):
            fix = f"write `xp.{name}(x)` {known}"
        else:
            fix = f"use the functions of the standard {known}"
        raise AttributeError(f"a traced array has no {name!r}: {fix}")

    def to_dask_array(self) -> Any:
        # Dask takes any object with a shape for an array, and fails late or never.
        return library_array(self, "conversion to Dask")

    def __dask_tokenize__(self) -> Any:
        # `dask.array.from_array`, and so `chunk` of xarray, would make an array without a derivative of it.
        array = library_array(self, "conversion to Dask")
        return str(array.dtype), tuple(array.shape), array.__array__().tobytes()

    def __copy__(self) -> Any:
        return self._namespace.asarray(self, copy=True)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return self._namespace.asarray(self, copy=True)

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TracedError(
            f"pickle: an array that `{self._trace.what}` traces has no meaning outside of the call; pickle the arrays "
            "that the transformed function returns"
        )

    def __repr__(self) -> str:
        if self._trace is EVALUATION:
            return f"Traced({self._value!r})"
        return f"Traced(shape={self.shape}, dtype={self.dtype}, by={self._trace.what})"

    __hash__ = None  # type: ignore[assignment]


def concrete(x: Any, what: str) -> Any:
    """Return the library's own array with the values of a traced array, or raise `TracedError`."""
    while isinstance(x, TracedArray):
        if not x._trace.alive:
            raise leaked(what, x._trace.what)
        x = x._trace.concrete(x, what)
    return x


def _constant(x: Any, what: str) -> Any:
    """Return the values of an array. Raise if a derivative would be lost silently."""
    found = concrete(x, what)
    if x._trace is not EVALUATION and x._namespace.is_floating(x.dtype):
        raise TracedError(
            f"{what}: the number would have no derivative, and x has one, which `{x._trace.what}` traces; "
            f"{x._namespace.advice.numbers}; or write `{what[:-2]}stop_gradient(x))`"
        )
    return found


def own_module(base: Any) -> Any:
    """Return the plug-in's module on traced arrays over a library's namespace; None without one."""
    package = plugin_package(library_name(base))
    return None if package is None else import_if_present(f"{package}.traced_arrays")


def array_class(namespace: Any) -> type[TracedArray]:
    """Make the class of traced arrays for a namespace, with its operators."""
    methods: dict[str, Any] = {"__slots__": ATTRIBUTES, "_namespace": namespace, "__hash__": None}
    for operator, name in OPERATORS.items():
        op = namespace.operations[name]
        unary = operator in ("abs", "invert", "neg", "pos")
        methods[f"__{operator}__"] = _unary(namespace, op) if unary else _binary(namespace, op, False)
        if not unary and operator not in COMPARISONS:
            methods[f"__r{operator}__"] = _binary(namespace, op, True)
            methods[f"__i{operator}__"] = _in_place(namespace, op, f"i{operator}")
    methods["__pow__"] = _power(namespace, methods["__pow__"])
    for name, method in methods.items():
        if callable(method):
            method.__name__ = name
    own = own_module(namespace.base)
    found: type[TracedArray] = (
        type("TracedArray", (_Methods,), methods) if own is None else own.class_of(namespace, _Methods, methods)
    )
    found.__module__ = TracedArray.__module__
    return found


_POWERS: Final = {(int, 2): "square", (int, -1): "reciprocal", (float, 0.5): "sqrt"}
"""The powers that NumPy's operator computes by other functions, which round complex numbers differently."""


def _power(namespace: Any, general: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def operator(self: Any, other: Any) -> Any:
        name = _POWERS.get((type(other), other)) if type(other) in (int, float) else None
        if name is None or not self.shape or not namespace.is_complex(self.dtype):
            return general(self, other)
        return getattr(namespace, name)(self)

    return operator


def _unary(namespace: Any, op: Any) -> Callable[..., Any]:
    def operator(self: Any) -> Any:
        found = bind(op, (self,), {})
        return found if isinstance(found, TracedArray) else namespace.array_type(EVALUATION, found)

    return operator


def _in_place(namespace: Any, op: Any, name: str) -> Callable[..., Any]:
    known, holder, refuse_objects = namespace.known, namespace.holder_of_objects, namespace.refuse_objects
    in_place = getattr(python_operators, name)

    def operator(self: Any, other: Any) -> Any:
        if type(other) not in known and not namespace.takes(self, other):
            return NotImplemented
        if type(other) is holder and other.dtype.hasobject:
            refuse_objects(other)
        found = self**other if op.name == "pow" else bind(op, (self, other), {})
        if not isinstance(found, TracedArray):
            found = namespace.array_type(EVALUATION, found)
        if not self._is_written_in_place():
            return found
        if self._view is not None:
            check_writable(self)
        if found.shape != self.shape:
            raise ValueError(
                f"{op.name} in place: an array of shape {self.shape} can't hold a result of shape {found.shape}; write "
                "`x = x + y` in place of `x += y`"
            )
        if found.dtype != self.dtype:
            # Try with arrays of one element whether the library casts the result.
            base = namespace.base
            one = base.ones((), dtype=self.dtype)
            in_place(one, base.ones((), dtype=other.dtype) if hasattr(other, "dtype") else other)
            found = namespace.astype(found, self.dtype)
        write(self, found)
        return self

    return operator


def _binary(namespace: Any, op: Any, reflected: bool) -> Callable[..., Any]:
    known, holder, refuse_objects = namespace.known, namespace.holder_of_objects, namespace.refuse_objects

    def operator(self: Any, other: Any) -> Any:
        if type(other) not in known and not namespace.takes(self, other):
            return NotImplemented
        if type(other) is holder and other.dtype.hasobject:
            refuse_objects(other)
        found = bind(op, (other, self) if reflected else (self, other), {})
        return found if type(found) is type(self) else namespace.array_type(EVALUATION, found)

    return operator
