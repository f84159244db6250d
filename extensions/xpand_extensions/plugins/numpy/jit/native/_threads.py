"""The threads that share large loops of native programs with the calling thread.

They wait for jobs in a queue. They are stopped before a fork and at the end of the interpreter; the next program starts
new ones. The environment variable `OMP_NUM_THREADS`, the processors that this process may use, and threadpoolctl limit
their number.
"""

import atexit
import ctypes
import importlib
import os
import sys
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from queue import SimpleQueue
from threading import Lock, Thread
from time import monotonic
from typing import Any, Final

import numpy as np

from ._shares import needs_help

_JOBS: Final[SimpleQueue[Any]] = SimpleQueue()
_HELPERS: Final[list[Thread]] = []
_LOCK: Final = Lock()
# Programs call it without Python code, because signal handlers might raise in Python code.
_wake: Final = ctypes.CFUNCTYPE(None, ctypes.py_object)(_JOBS.put)


def _processors() -> int:
    """Return the number of threads that the environment or the processors allow."""
    first = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0].strip()
    if first.isdigit() and int(first):
        return int(first)
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


def _address_of_yield() -> int:
    """Return the address of the system function that lets other threads run."""
    if sys.platform == "win32":
        function = ctypes.windll.kernel32.SwitchToThread
    else:
        function = ctypes.CDLL(None).sched_yield
    return ctypes.cast(function, ctypes.c_void_p).value or 0


_TEAM: Final = np.asarray([_processors(), ctypes.cast(_wake, ctypes.c_void_p).value, _address_of_yield()], np.int64)
"""For programs: the number of threads, and the functions that wake a helper and that let other threads run."""


_ALONE: Final = np.asarray([1, 0, 0], np.int64)
_PAUSE: Final = 0.2
"""The seconds for which programs run alone after the system has suspended a helper."""
_until = 0.0


def rest() -> None:
    """Let programs run in one thread for a while, because there are more running threads than processors."""
    global _until
    _until = monotonic() + _PAUSE


def team() -> Any:
    """Return the words that a program reads at each call, and start missing helpers."""
    if monotonic() < _until:
        return _ALONE
    if len(_HELPERS) + 1 < _TEAM[0]:
        _start()
    return _TEAM


def threads() -> int:
    """Return the number of threads that may share a loop."""
    return int(_TEAM[0])


def limit(count: int) -> None:
    """Set the number of threads that may share a loop."""
    _TEAM[0] = max(1, count)


def _start() -> None:
    with _LOCK, suppress(RuntimeError):  # threads can't start while the interpreter shuts down
        while len(_HELPERS) + 1 < _TEAM[0]:
            helper = Thread(target=_help, name="xpand", daemon=True)
            helper.start()
            _HELPERS.append(helper)


def _stop() -> None:
    with _LOCK:
        if _HELPERS:
            _JOBS.put(None)
        while _HELPERS:
            _HELPERS.pop().join()
        while not _JOBS.empty():
            _JOBS.get()


def _help() -> None:
    space: Any = np.empty(0, np.uint8)
    while True:
        job = _JOBS.get()
        if job is None:
            _JOBS.put(None)
            return
        function, frame, size, _ = job
        if needs_help(frame):  # each helper wakes the next one
            _JOBS.put(job)
        if space.size < size:
            space = np.empty(size, np.uint8)
        function(frame, space)
        del job, function, frame, _  # a waiting helper must not keep a program alive


atexit.register(_stop)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_stop)


@cache
def follow_threadpoolctl() -> None:
    """Let `threadpoolctl.threadpool_limits` limit native programs like programs with OpenMP."""
    if find_spec("threadpoolctl") is None:
        return
    threadpoolctl = importlib.import_module("threadpoolctl")
    if not hasattr(threadpoolctl, "register"):
        return

    class Controller(threadpoolctl.LibController):  # type: ignore[misc, name-defined]
        """Limits native programs. threadpoolctl finds this class by the library llvmlite."""

        user_api = "openmp"
        internal_api = "xpand"
        filename_prefixes = ("libllvmlite", "llvmlite")

        def get_num_threads(self) -> int:
            return threads()

        def set_num_threads(self, num_threads: int) -> None:
            limit(num_threads)

        def get_version(self) -> None:
            return None

    threadpoolctl.register(Controller)
