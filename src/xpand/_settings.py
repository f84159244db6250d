"""Settings for the process or for a block of code.

A block sets a context variable, so it does not affect other threads or asynchronous tasks. If a library has a switch
of its own, its namespace registers a follower, which changes the switch together with the setting.
"""

import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from contextvars import ContextVar
from typing import Any, ClassVar, Final, Generic, Protocol, TypeVar

from ._namespace import LIBRARIES, namespace

T = TypeVar("T")
S = TypeVar("S")
T_contra = TypeVar("T_contra", contravariant=True)


class Follower(Protocol[T_contra]):
    """Change the switches of a library when a setting changes. The value None means the library's default."""

    def entered(self, value: T_contra | None) -> None:
        """Change the switches for a block that this thread has entered."""

    def left(self, value: T_contra | None) -> None:
        """Change the switches back. Tasks may leave their blocks in any order, also blocks entered in other threads."""

    def process(self, value: T_contra | None) -> None:
        """Change the switches for the process. None restores their earlier values."""


class Block(Generic[T]):
    """The value that an open block sets, and the block around it."""

    __slots__ = ("around", "value")

    def __init__(self, value: T | None, around: "Block[T] | None") -> None:
        """Store the value of a block."""
        self.value, self.around = value, around


class _Thread(threading.local, Generic[T]):
    def __init__(self) -> None:
        # Not a class attribute: torch.compile would assume that it is equal in all threads.
        self.block: Block[T] | None = None


_ACTIVITY: Final = threading.Lock()


class Setting(Generic[T]):
    """A value for the process, and values for the open blocks of code. Values are hashable."""

    every: ClassVar[list["Setting[Any]"]] = []
    """All settings. The functions that a program is traced from may read them, so they are part of its key."""
    any_active: ClassVar[bool] = False
    """Whether any setting is active."""

    def __init__(self, name: str, *, has_followers: bool = False) -> None:
        """Create a setting without a value. If namespaces may have followers for it, setting a value loads them."""
        self.active = False
        """Whether a block is open in any thread, or the process has a value. Usually False, which is quick to check."""
        self._count = 0
        self.value: T | None = None
        """The value of the process."""
        self.thread: _Thread[T] = _Thread()
        """The block that this thread entered last, for torch.compile, which cannot read a context variable."""
        self._block: ContextVar[Block[T] | None] = ContextVar(name, default=None)
        self._followers: list[Follower[T]] = []
        self._has_followers = has_followers
        self._lock = threading.RLock()
        Setting.every.append(self)

    def current(self) -> T | None:
        """Return the value of the innermost block, else the value of the process, else None."""
        block = self._block.get()
        return self.value if block is None else block.value

    @contextmanager
    def block(self, value: T | None) -> Iterator[None]:
        """Set the value inside a `with` block. Inside a block of None, no value is set."""
        self._load_followers()
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
        """Set the value of the process. None removes it."""
        self._load_followers()
        with self._lock:
            self._add((value is not None) - (self.value is not None))
            self.value = value
            for follower in self._followers:
                follower.process(value)

    def follow(self, follower: Follower[T]) -> None:
        """Add a follower, and tell it the values that are already set."""
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

    def _load_followers(self) -> None:
        if self._has_followers:
            load_namespaces()

    def _add(self, change: int) -> None:
        with _ACTIVITY:
            self._count += change
            self.active = self._count > 0
            Setting.any_active = any(each.active for each in Setting.every)


def current_values() -> tuple[Any, ...]:
    """Return the current values of all settings. Call this only if `Setting.any_active` is True."""
    return tuple([each.current() for each in Setting.every])


class ProcessSwitch(Generic[T, S]):
    """A follower whose library has one switch for all threads. The open block that was entered last determines it.

    This block may belong to any thread. If its value is None, the switch follows the value of the process.
    """

    def __init__(self, read: Callable[[], S], turn: Callable[[T], None], restore: Callable[[S], None]) -> None:
        """Store functions that read the switch, change it to a value, and restore a state that was read."""
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
        # The value of each open block, and the library's contexts entered for it.
        self.open: list[tuple[Any, ExitStack]] = []


class ThreadSwitch(Generic[T]):
    """A follower whose library has a switch for each thread, which is changed by context managers.

    Tasks and generators of one thread may leave their blocks in any order, but contexts must be left in reverse order.
    If a block is left too early, all contexts are left, and entered again for the blocks that are still open.
    """

    def __init__(
        self,
        contexts: Callable[[Sequence[Any]], Sequence[AbstractContextManager[Any]] | None],
        process: Callable[[T | None], None] = lambda value: None,
    ) -> None:
        """Store functions that change the library's switches.

        Args:
            contexts: Takes the values of all open blocks, the innermost last, and returns the contexts for the
                innermost. None means: leave the contexts of the other blocks.
            process: Changes the switches of the process.
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
        """Set a value inside a `with` block."""
        self.entered(value)
        try:
            yield value
        finally:
            self.left(value)


def _last_position(values: list[Any], value: Any) -> int | None:
    """Return the last position of a value in a list, or None."""
    return next((i for i in range(len(values) - 1, -1, -1) if values[i] == value), None)


_loaded: set[str] = set()


def load_namespaces() -> None:
    """Load the namespaces of the imported libraries, so that they register their followers."""
    for library in LIBRARIES.values():
        module, attribute = library.array_types[0]
        if library.name not in _loaded and hasattr(sys.modules.get(module), attribute):
            namespace(library.name)
            _loaded.add(library.name)
