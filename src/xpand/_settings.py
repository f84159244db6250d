"""Settings that hold for the process, or for a block of code, and that libraries with switches of their own follow.

A block sets a context variable: a thread or an asynchronous task that sets it leaves the others alone. A
library whose own switches have to be turned too registers a follower when its namespace is loaded.
"""

import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from contextvars import ContextVar
from typing import Any, Generic, Protocol, TypeVar

from ._namespace import LIBRARIES, namespace

T = TypeVar("T")
S = TypeVar("S")
T_contra = TypeVar("T_contra", contravariant=True)


class Follower(Protocol[T_contra]):
    """Turn the switches of a library as a setting changes. None stands for the library's default."""

    def entered(self, value: T_contra | None) -> None:
        """Turn the library's switches for a block that this thread has entered."""

    def left(self, value: T_contra | None) -> None:
        """Turn them back: tasks of a thread may leave their blocks in any order, and some were never entered here."""

    def process(self, value: T_contra | None) -> None:
        """Turn the library's switches for the process; None: back to their earlier values."""


class Block(Generic[T]):
    """The value that an open block sets, and the block around it."""

    __slots__ = ("around", "value")

    def __init__(self, value: T | None, around: "Block[T] | None") -> None:
        """Keep the value of a block."""
        self.value, self.around = value, around


class _Thread(threading.local, Generic[T]):
    def __init__(self) -> None:
        # Set on the thread, not on the class: torch.compile takes class attributes for equal in all threads.
        self.block: Block[T] | None = None


class Setting(Generic[T]):
    """A value for the process, and for the blocks of code that are open."""

    def __init__(self, name: str) -> None:
        """Make a setting that is not set."""
        self.active = False
        """Whether a block is open in any thread, or the process has a value: quick to ask, where mostly nothing is."""
        self._count = 0
        self.value: T | None = None
        """The value of the process."""
        self.thread: _Thread[T] = _Thread()
        """The block that this thread has entered last: for torch.compile, which can't ask a context variable."""
        self._block: ContextVar[Block[T] | None] = ContextVar(name, default=None)
        self._followers: list[Follower[T]] = []
        self._lock = threading.RLock()

    def current(self) -> T | None:
        """Return the value of the innermost block, else that of the process, None where there is neither."""
        block = self._block.get()
        return self.value if block is None else block.value

    @contextmanager
    def block(self, value: T | None) -> Iterator[None]:
        """Set the value inside a `with` block; None: as if nothing were set."""
        load_namespaces()
        block = Block(value, self._block.get())
        token = self._block.set(block)
        self._add(1)
        self.thread.block = block
        try:
            for follower in tuple(self._followers):
                follower.entered(value)
            yield
        finally:
            for follower in tuple(self._followers):
                follower.left(value)
            self.thread.block = block.around
            self._add(-1)
            self._block.reset(token)

    def set(self, value: T | None) -> None:
        """Set the value of the process; None: nothing."""
        load_namespaces()
        with self._lock:
            self._add((value is not None) - (self.value is not None))
            self.value = value
            for follower in self._followers:
                follower.process(value)

    def follow(self, follower: Follower[T]) -> None:
        """Have a library follow from now on, settings that are already active included."""
        with self._lock:
            self._followers.append(follower)
            if self.value is not None:
                follower.process(self.value)
        block, values = self._block.get(), []
        while block is not None:
            values.append(block.value)
            block = block.around
        for value in reversed(values):
            follower.entered(value)

    def _add(self, change: int) -> None:
        with self._lock:
            self._count += change
            self.active = self._count > 0


class ProcessSwitch(Generic[T, S]):
    """A follower whose library has one switch for all threads: it stands as the block entered last asks.

    Of several blocks that are open, in one thread or in many, that is the last one that has not been left. One of None
    asks for what holds for the process.
    """

    def __init__(self, read: Callable[[], S], turn: Callable[[T], None], restore: Callable[[S], None]) -> None:
        """Keep how the switch is read, turned to a value, and put back to what was read."""
        self._read, self._turn, self._restore = read, turn, restore
        self._open: list[T | None] = []
        self._value: T | None = None
        self._before: list[S] = []
        self._lock = threading.Lock()

    def entered(self, value: T | None) -> None:
        with self._lock:
            self._open.append(value)
            self._follow()

    def left(self, value: T | None) -> None:
        with self._lock:
            position = _last_position(self._open, value)
            if position is not None:
                del self._open[position]
            self._follow()

    def process(self, value: T | None) -> None:
        with self._lock:
            self._value = value
            self._follow()

    def _follow(self) -> None:
        value = self._open[-1] if self._open else None
        value = self._value if value is None else value
        if value is not None:
            if not self._before:
                self._before.append(self._read())
            self._turn(value)
        elif self._before:
            self._restore(self._before.pop())


class _OfThread(threading.local):
    def __init__(self) -> None:
        # The value of each open block, and the library's contexts that stand for it.
        self.open: list[tuple[Any, ExitStack]] = []


class ThreadSwitch(Generic[T]):
    """A follower whose library has switches that belong to a thread, turned by contexts.

    Tasks of one thread, and generators, may leave their blocks in any order; contexts may not. Where they do, all
    contexts are left, and entered again for the blocks that are still open.
    """

    def __init__(
        self,
        contexts: Callable[[Sequence[Any]], Sequence[AbstractContextManager[Any]] | None],
        process: Callable[[T | None], None] = lambda value: None,
    ) -> None:
        """Keep how the library's switches are turned.

        Args:
            contexts: Makes the contexts for the innermost of the blocks that are open, given the values of all, its own
                last. None: those of the blocks around it are to hold no more.
            process: Turns the switches of the process.
        """
        self._contexts, self.process = contexts, process
        self._thread = _OfThread()

    def entered(self, value: T | None) -> None:
        blocks = self._thread.open
        contexts = self._contexts([*(each for each, _ in blocks), value])
        if contexts is None:
            for _, around in reversed(blocks):
                around.close()
        with ExitStack() as stack:
            for context in contexts or ():
                stack.enter_context(context)
            blocks.append((value, stack.pop_all()))

    def left(self, value: T | None) -> None:
        blocks = self._thread.open
        values = [each for each, _ in blocks]
        position = _last_position(values, value)
        if position is None:
            return
        if position == len(blocks) - 1 and self._contexts(values) is not None:
            blocks.pop()[1].close()
            return
        while blocks:
            blocks.pop()[1].close()
        for each in (*values[:position], *values[position + 1 :]):
            self.entered(each)

    @contextmanager
    def block(self, value: T) -> Iterator[T]:
        """Return the block in which a value holds."""
        self.entered(value)
        try:
            yield value
        finally:
            self.left(value)


def _last_position(values: list[Any], value: Any) -> int | None:
    """Return the position of the last of the equal values."""
    return next((i for i in range(len(values) - 1, -1, -1) if values[i] == value), None)


_loaded: set[str] = set()


def load_namespaces() -> None:
    """Load the namespaces of the libraries that are in use, so that they follow."""
    for library in LIBRARIES.values():
        module, attribute = library.array_types[0]
        if library.name not in _loaded and hasattr(sys.modules.get(module), attribute):
            namespace(library.name)
            _loaded.add(library.name)
