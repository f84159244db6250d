"""The record of a call in a profile: the function, the caller, the arrays, the time.

Recording formats nothing and stores no arrays. Shapes, data types and devices are stored as the library returns them,
and converted on request.
"""

import linecache
import re
import sys
import tracemalloc
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from types import CodeType
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from xpand import array_namespace, wrapped_libraries

from ..devices import listed, memory_stats

_COUNTED_HERE: Final = ("cpu", "meta")
"""The kinds of devices without memory of their own."""


class MemoryUse(NamedTuple):
    """The memory of a call in bytes: on the host, measured by Python, and on devices, if their libraries report it."""

    allocated: int
    """The bytes allocated and not freed; negative if more was freed."""
    peak: int
    """The peak above the memory in use before the call. On devices it is measured at the ends of recorded calls."""


class Meter:
    """Measures the memory of nested calls."""

    def __init__(self) -> None:
        """Start measuring."""
        self._started = not tracemalloc.is_tracing()
        if self._started:
            tracemalloc.start()
        self._devices = [
            _counter(library, info.device)
            for library in wrapped_libraries()
            if library in sys.modules
            # Use the implementation: an outer profile would record the facade.
            for info in listed.native_for(library)(xp=library)
            if info.kind not in _COUNTED_HERE and memory_stats.native_for(library)(info.device, xp=library) is not None
        ]
        self._open: list[tuple[int, int]] = []  # for each call: the bytes in use before it, and the maximum since

    def start(self) -> None:
        """Start a call."""
        current = self._measure()
        self._open.append((current, current))
        tracemalloc.reset_peak()

    def end(self) -> MemoryUse:
        """End the call that was started last."""
        current = self._measure()
        before, most = self._open.pop()
        if self._open:
            outer, outer_most = self._open[-1]
            self._open[-1] = (outer, max(outer_most, most))
        tracemalloc.reset_peak()
        return MemoryUse(current - before, most - before)

    def close(self) -> None:
        """Stop measuring."""
        if self._started:
            tracemalloc.stop()

    def _measure(self) -> int:
        """Return the bytes in use; update the peak of the innermost open call."""
        on_devices = sum(count() for count in self._devices)
        current, peak = tracemalloc.get_traced_memory()
        if self._open:
            before, most = self._open[-1]
            self._open[-1] = (before, max(most, peak + on_devices))
        return current + on_devices


def _counter(library: str, device: object) -> Callable[[], int]:
    read = memory_stats.native_for(library)

    def count() -> int:
        stats = read(device, xp=library)
        return 0 if stats is None else stats.bytes_in_use or 0

    return count


Kind: TypeAlias = Literal["namespace", "extension", "call", "compiled", "compilation"]
"""The kind of a function: of a namespace, of an extension, passed to `call`, compiled, or traced for compilation."""

Frames: TypeAlias = "Sequence[tuple[CodeType, int]]"
"""The user functions, from the innermost outwards, each with the offset of its instruction."""
Raw: TypeAlias = "tuple[str, Any, Any, Any]"
"""An array's library, shape, data type and device, as the library returns them."""

_SCALARS: Final = (bool, int, float, complex, str, type(None))
_BITS: Final = re.compile(r"\d+")
_MAX_TYPES: Final = 4096
_SHOWN: Final = 8  # of a sequence
_LONGEST: Final = 40  # characters of a value


class Place(NamedTuple):
    """A line of the user's code."""

    file: str
    line: int
    function: str

    @property
    def code(self) -> str:
        """The text of the line; empty if the source isn't available."""
        return linecache.getline(self.file, self.line).strip()


@dataclass(frozen=True, slots=True)
class ArrayInfo:
    """The record of an array."""

    shape: tuple[int | None, ...]
    """None for unknown sizes of lazy arrays."""
    dtype: str
    device: str | None
    library: str

    @property
    def bytes(self) -> int | None:
        """The bytes of all elements; None if the shape isn't known."""
        if None in self.shape:
            return None
        bits = 8 if self.dtype == "bool" else int((_BITS.search(self.dtype) or ["0"])[0])
        return prod(size or 0 for size in self.shape) * bits // 8

    def __str__(self) -> str:
        """Return data type and shape: `float32(3, 4)`."""
        sizes = ", ".join("?" if size is None else str(size) for size in self.shape)
        return f"{self.dtype}({sizes}{',' if len(self.shape) == 1 else ''})"


class Label:
    """The part of the record that is the same for all calls of a function."""

    __slots__ = ("closed", "kind", "library", "name")

    def __init__(self, name: str, kind: Kind, library: str = "") -> None:
        """Store the name and kind of a function, and its library if all its calls are of one library."""
        self.name, self.kind, self.library = name, kind, library
        # Calls inside functions of libraries, or inside compiled functions, are not recorded.
        self.closed = kind in ("namespace", "compiled")


class _Named:
    """The name of a value that isn't stored."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name


def _itself(value: Any) -> Any:
    return value


def _sequence(values: Any) -> list[Any]:
    return list(map(read, values))


_READERS: Final[dict[type, Callable[[Any], Any]]] = {list: _sequence, tuple: _sequence}
_READERS.update((cls, _itself) for cls in _SCALARS)


def read(value: Any) -> Any:
    """Return the parts of an argument or a result to store: the properties of an array, or a small value."""
    reader = _READERS.get(type(value))
    try:
        return _first(value) if reader is None else reader(value)
    except Exception:  # arrays without a shape, such as PyTorch's nested tensors, must not make a call fail
        return _Named(type(value).__name__)


def _first(value: Any) -> Any:
    """Read a value of a new type, and store the reader for that type."""
    cls = type(value)
    reader = _reader(value)
    if len(_READERS) < _MAX_TYPES:
        _READERS[cls] = reader
    return reader(value)


def _reader(value: Any) -> Callable[[Any], Any]:
    cls = type(value)
    if isinstance(value, tuple):  # named tuples of results
        return _sequence
    if isinstance(value, _SCALARS) and not hasattr(value, "dtype"):
        return _itself
    try:
        xp = array_namespace(value)
    except TypeError:
        return lambda value: _Named(_described(value))
    name: str = getattr(xp, "__name__", cls.__module__)
    traced = name.startswith("traced.")
    library = name.removeprefix("traced.").removeprefix("xpand.").partition(".")[0]
    if traced or getattr(value, "is_traced", False):
        return lambda x: (library, x.shape, x.dtype, None)
    if hasattr(value, "aval") and hasattr(
        value, "sharding"
    ):  # JAX's attributes, which are faster than shape and device
        return lambda x: (library, x.aval, None, x.sharding)
    if hasattr(value, "aval") or not hasattr(value, "device"):
        return lambda x: (library, x.shape, x.dtype, None)
    if hasattr(value, "is_cpu"):  # PyTorch, which makes a new device object each time
        return lambda x: (library, x.shape, x.dtype, "cpu" if x.is_cpu else x.device)
    return lambda x: (library, x.shape, x.dtype, x.device)


def _described(value: Any) -> str:
    if not isinstance(value, type) and hasattr(value, "shape") and hasattr(value, "dtype"):  # a container of arrays
        return f"{type(value).__name__}{tuple(value.shape)}"
    if callable(value):
        return str(getattr(value, "__name__", type(value).__name__))
    return _dtype_name(value) if hasattr(value, "itemsize") else type(value).__name__


def _info(raw: Raw) -> ArrayInfo:
    library, shape, dtype, device = raw
    if hasattr(shape, "shape"):
        shape, dtype = shape.shape, shape.dtype
    if hasattr(device, "device_set"):
        device = ", ".join(sorted(map(str, device.device_set)))
    sizes = tuple(int(size) if size is not None and size == size else None for size in shape)
    return ArrayInfo(sizes, _dtype_name(dtype), None if device is None else str(device), library)


def _dtype_name(dtype: Any) -> str:
    return str(getattr(dtype, "__name__", dtype)).rpartition(".")[2]


def _raws(value: Any) -> Iterator[Raw]:
    if isinstance(value, tuple):
        yield value
    elif isinstance(value, list):
        for each in value:
            yield from _raws(each)


def _text(value: Any) -> str:
    if isinstance(value, tuple):
        return str(_info(value))
    if isinstance(value, _Named):
        return value.name
    if isinstance(value, list):
        return f"[{', '.join(map(_text, value[:_SHOWN]))}{', …' if len(value) > _SHOWN else ''}]"
    text = repr(value)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


class Record(NamedTuple):
    """The raw record of a call, while the profile is active."""

    label: Label
    frames: Frames
    args: Sequence[Any]
    kwargs: Mapping[str, Any]
    result: Any
    error: type[BaseException] | None
    concrete: bool
    start: int
    stop: int
    memory: MemoryUse | None
    children: Sequence[tuple[Any, ...]]


Written: TypeAlias = "tuple[Any, ...]"
"""The fields of a `Record`, which is made only on request because that takes time."""


class Entry:
    """A recorded call."""

    __slots__ = ("_record", "children", "start", "stop")

    def __init__(self, record: Record, origin: int) -> None:
        """Make the entry of a raw record; `origin` is the start of the profile, in nanoseconds."""
        self._record = record
        self.start = (record.start - origin) * 1e-9
        """Seconds from the start of the profile to the start of the call."""
        self.stop = (record.stop - origin) * 1e-9
        """Seconds from the start of the profile to the end of the call."""
        self.children = tuple(Entry(Record(*child), origin) for child in record.children)
        """The calls inside this call."""

    @property
    def name(self) -> str:
        """Return the name of the function: `numpy.linalg.qr`, `scatter.segment_sum`, or the name given to `call`."""
        return self._record.label.name

    @property
    def kind(self) -> Kind:
        """Return the kind of the function."""
        return self._record.label.kind

    @property
    def library(self) -> str:
        """The library of the arrays; empty if there are no arrays."""
        if self._record.label.library:
            return self._record.label.library
        return next((raw[0] for raw in _raws([*self._given(), self._record.result])), "")

    @property
    def duration(self) -> float:
        """The time of the call, in seconds."""
        return self.stop - self.start

    @property
    def own_duration(self) -> float:
        """The time of the call without the calls recorded inside it, in seconds."""
        return self.duration - sum(child.duration for child in self.children)

    @property
    def is_concrete(self) -> bool:
        """Whether the arrays are concrete. If not, they are traced or lazy, and the time is that of tracing."""
        return self._record.concrete

    @property
    def error(self) -> str | None:
        """The type of the exception that the call raised; None if it returned."""
        error = self._record.error
        return None if error is None else error.__name__

    @property
    def memory(self) -> MemoryUse | None:
        """The memory that the call used; None if the profile does not measure memory."""
        return self._record.memory

    @property
    def arguments(self) -> str:
        """The arguments as text, with the data types and shapes of arrays."""
        named = [f"{name}={_text(value)}" for name, value in self._record.kwargs.items()]
        return ", ".join([*map(_text, self._record.args), *named])

    @property
    def inputs(self) -> tuple[ArrayInfo, ...]:
        """The arrays among the arguments."""
        return tuple(map(_info, _raws(self._given())))

    @property
    def outputs(self) -> tuple[ArrayInfo, ...]:
        """The arrays among the results."""
        return tuple(map(_info, _raws(self._record.result)))

    @property
    def stack(self) -> tuple[Place, ...]:
        """The lines of the call stack, from the innermost outwards, up to the enclosing call or the profile's block."""
        return tuple(_place(code, offset) for code, offset in self._record.frames)

    @property
    def place(self) -> Place | None:
        """The line of the user's code that made the call; None inside another call of xpand, or without `trace`."""
        return _place(*self._record.frames[0]) if self._record.frames else None

    def with_children(self, children: "tuple[Entry, ...]") -> "Entry":
        """Return a copy of the entry with other calls inside it."""
        copy = Entry(self._record._replace(children=()), 0)
        copy.start, copy.stop, copy.children = self.start, self.stop, children
        return copy

    def walk(self) -> Iterator["Entry"]:
        """Yield the entry and those inside it, in call order."""
        yield self
        for child in self.children:
            yield from child.walk()

    def _given(self) -> list[Any]:
        return [*self._record.args, *self._record.kwargs.values()]

    def __repr__(self) -> str:
        return f"<{self.name}({self.arguments}): {self.duration:.3g} s>"


def _place(code: CodeType, offset: int) -> Place:
    line = code.co_firstlineno
    for first, last, number in code.co_lines():
        if first <= offset < last and number is not None:
            line = number
    return Place(code.co_filename, line, code.co_qualname)
