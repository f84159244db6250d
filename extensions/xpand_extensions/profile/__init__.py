"""Profiling: records the calls of functions of namespaces and extensions, with their arrays and callers.

`with profile() as p:` records the calls in the block, on any library; `p.print()` shows them as a tree. Recording costs
a few microseconds per call, which are not part of the times. Without an active profile there is no cost.

Operators of arrays (`x + y`) belong to the libraries and can't be recorded; their time counts as outside of calls. A
function compiled by `jit` is one entry. A profile records only the thread or task that starts it.
"""

import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from xpand import library_name, namespace
from xpand.extend import Namespace, checks, describe, trace_instead

from .._modules import make_callable
from ..jit._statics import name_of
from ._entries import ArrayInfo, Entry, Label, MemoryUse, Place
from ._files import check_writeable
from ._record import CURRENT, Recorder
from ._results import Profile, Profiling, recording

__all__ = [
    "ArrayInfo",
    "Entry",
    "MemoryUse",
    "Place",
    "Profile",
    "call",
    "get_current_profile",
    "profile",
    "profile_function",
]
__dir__ = __all__.copy


def profile(
    *,
    libraries: Iterable[Namespace | str] | None = None,
    trace: bool = True,
    subtract_trace_time: bool = True,
    synchronize: bool = True,
    memory: bool = False,
    save: str | os.PathLike[str] | None = None,
) -> Profiling:
    """Record the calls of a block of code in a `Profile`.

    It records the functions of the namespaces of all imported libraries (`xp.sin`, `xp.linalg.qr`), those of xpand's
    extensions, functions passed to `call`, and compiled functions. Calls in a nested profile are recorded by both
    profiles.

    Args:
        libraries: The libraries whose calls are shown, namespaces or names; they are imported. By default: all.
        trace: Whether to record arguments and results (shapes, data types, devices; never the arrays), and the line of
            the user's code that made the call. False: only names and times, at half the cost.
        subtract_trace_time: Whether to subtract the time of recording.
        synchronize: Whether to wait after each call until the result is computed, if libraries and devices compute
            asynchronously, so that each call has its own time. Otherwise the time is that for which the program waits.
        memory: Whether to measure the memory of each call: that of Python's allocator (`tracemalloc`), which includes
            NumPy's arrays, and that reported by the libraries of devices. It makes everything several times slower.
        save: A file to which `Profile.save` saves the profile at the end.

    Returns:
        A context manager that returns the `Profile`.

    Raises:
        TypeError: An option has the wrong type.
        ValueError: An unknown library.
        OSError: The file can't be written.

    Source: PhiML's `profile`.

    >>> import numpy as np
    >>> from xpand_extensions.scatter import segment_sum
    >>> with profile() as p:
    ...     total = segment_sum(np.asarray([1.0, 2.0, 3.0]), np.asarray([0, 0, 1]), num_segments=2)
    >>> entry = p.entries[0]
    >>> entry.name, entry.arguments, [str(x) for x in entry.outputs]
    ('scatter.segment_sum', "float64(3,), int64(3,), num_segments=2, mode='raise'", ['float64(2,)'])
    """
    for name, value in (
        ("trace", trace),
        ("subtract_trace_time", subtract_trace_time),
        ("synchronize", synchronize),
        ("memory", memory),
    ):
        checks.boolean("profile", name, value)
    if save is not None:
        check_writeable("profile", save)
    options = {"trace": trace, "subtract": subtract_trace_time, "synchronize": synchronize}
    return Profiling(_names("profile", libraries), options, memory, save)


def profile_function(
    function: Callable[..., Any],
    /,
    args: Iterable[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    *,
    libraries: Iterable[Namespace | str] | None = None,
    trace: bool = True,
    subtract_trace_time: bool = True,
    retime: bool = True,
    warmup: int = 1,
    repeats: int = 1,
    synchronize: bool = True,
    memory: bool = False,
) -> Profile:
    """Profile a function.

    Args:
        function: The function, which must do the same in each run.
        args: Its positional arguments.
        kwargs: Its keyword arguments.
        libraries: As in `profile`.
        trace: As in `profile`.
        subtract_trace_time: As in `profile`.
        retime: Whether to run the function again without recording arguments and callers, and to use those times.
        warmup: The number of runs before recording, so that the profile excludes compilation and filling of caches.
        repeats: The number of timed runs. Times are their means.
        synchronize: As in `profile`.
        memory: As in `profile`.

    Raises:
        TypeError: `function` isn't callable, or an option has the wrong type.
        ValueError: `warmup` is negative, `repeats` is less than one, or an unknown library.
        RuntimeError: The function made different calls in different runs.

    Source: PhiML's `profile_function`, whose `call_count` is `repeats`.

    >>> import xpand
    >>> xp = xpand.namespace("numpy")
    >>> p = profile_function(lambda x: xp.sum(xp.sin(x)), [xp.ones(100)], repeats=3)
    >>> [entry.name for entry in p.entries]
    ['numpy.sin', 'numpy.sum']
    """
    checks.function("profile_function", function)
    checks.boolean("profile_function", "retime", retime)
    warmup = checks.integer("profile_function", "warmup", warmup, minimum=0)
    repeats = checks.integer("profile_function", "repeats", repeats, minimum=1)
    named = dict(kwargs or {})
    given = tuple(args)
    block = profile(
        libraries=libraries,
        trace=trace,
        subtract_trace_time=subtract_trace_time,
        synchronize=synchronize,
        memory=memory,
    )
    for _ in range(warmup):
        function(*given, **named)
    with block as found:
        function(*given, **named)
    if retime or repeats > 1:
        again: list[Recorder] = []
        for _ in range(repeats):
            again.append(Recorder(**(block.options | {"trace": trace and not retime})))
            with recording(again[-1], found):
                function(*given, **named)
        found._retime(again)
    return found


def get_current_profile() -> Profile | None:
    """Return the innermost active profile of this thread or task, or None.

    Source: PhiML's `get_current_profile`.

    >>> with profile() as p:
    ...     get_current_profile() is p
    True
    >>> get_current_profile() is None
    True
    """
    recorder = CURRENT.get()
    return None if recorder is None or recorder.stop_ns else recorder.profile


def call(function: Callable[..., Any], /, *args: Any, name: str | None = None, **kwargs: Any) -> Any:
    """Call a function and return its result; record the call as an entry of the active profile, if there is one.

    Args:
        function: The function.
        *args: Its positional arguments.
        name: The name of the entry. By default: the name of the function.
        **kwargs: Its keyword arguments.

    Raises:
        TypeError: `function` isn't callable, or `name` is not a string.

    Source: PhiML's `Backend.call`.

    >>> with profile() as p:
    ...     call(max, 1, 2, name="largest")
    2
    >>> p.entries[0].name
    'largest'
    """
    recorder = CURRENT.get()
    checks.function("call", function)
    if not (name is None or isinstance(name, str)):
        raise TypeError(f"call: name must be a string, got {describe(name)}")
    if recorder is None:
        return function(*args, **kwargs)
    return recorder.run(Label(name or name_of(function), "call"), function, args, kwargs)


def _called(function: Callable[..., Any], /, *args: Any, name: str | None = None, **kwargs: Any) -> Any:
    return function(*args, **kwargs)


# torch.compile can't trace thread-local data, so it uses this function instead of `call`.
trace_instead(call, _called)


def _names(function: str, libraries: Iterable[Namespace | str] | None) -> frozenset[str] | None:
    """Import the requested libraries, and return their names."""
    if libraries is None:
        return None
    if isinstance(libraries, str) or not isinstance(libraries, Iterable):
        raise TypeError(f"{function}: libraries must be a sequence of namespaces or names, got {describe(libraries)}")
    return frozenset(library_name(namespace(each) if isinstance(each, str) else each) for each in libraries)


make_callable(__name__)
