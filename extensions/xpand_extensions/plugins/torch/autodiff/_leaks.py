"""Tensors that outlive the gradient they were made for: PyTorch takes them for constants, here to use one is an error.

PyTorch's levels keep no list of their tensors. But what depends on an argument holds, through its graph, the argument
as it was at the level. So it is enough to watch the arguments, which costs next to nothing: where one outlives the
outermost transformation, something of the level has been kept, and only then it is looked for among all objects.

Functions that are called again when a gradient is pulled back (`checkpoint`, rules, implicit solutions) may close over
tensors of levels that have ended. So nothing is looked for while there is a pullback, nor ever what a graph of
`backward` may have been made of.

Forward mode makes no graph, so it isn't watched; nor is what depends on no argument that is differentiated, or is
detached from it.
"""

import gc
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, TypeAlias
from weakref import ReferenceType, ref

import torch
from torch._C import _functorch as levels  # torch.func has no public way to tell its levels apart

from xpand._typing import Array

from .._plain import OF_NO_VALUES

_ENDED: Final = -2
"""The level that PyTorch says a tensor has whose own has ended."""

_MANY: Final = 1000

_LOOKS: Final = iter(range(20))
"""To look takes 15 ms in a process of 250,000 objects, too much for a program that keeps something at each step.

Some are in vain: graphs of many steps that nothing keeps are still being freed, piece by piece, when the pullback goes.
"""


References: TypeAlias = list[ReferenceType[Array]]


class _Within:
    """Where a thread is, and what it has met there."""

    __slots__ = ("__weakref__", "arguments", "is_within", "limit", "were_pulled")

    def __init__(self) -> None:
        """Begin outside of any transformation."""
        self.is_within = False
        """Whether it is in the outermost transformation, or in those within."""
        self.arguments: References = []
        """Those of functions called at the levels of these, as they are there."""
        self.limit = _MANY
        self.were_pulled = False
        """Whether a pullback was called meanwhile, of what the results may depend on."""

    def drop(self) -> None:
        """Drop the references to what is gone: in a loop, that of most steps."""
        self.arguments[:] = [x for x in self.arguments if x() is not None]
        self.limit = _MANY + 2 * len(self.arguments)


class _Thread(threading.local):
    """Of each thread its own, which go with it."""

    def __init__(self) -> None:
        """Be found by other threads."""
        self.within = _Within()
        _THREADS.add(ref(self.within, _THREADS.discard))


_THREADS: Final[set[ReferenceType[_Within]]] = set()
_THREAD: Final = _Thread()
_PULLBACKS: Final[set[int]] = set()
"""Those that there are."""
_LEFT: Final[References] = []
"""Those that outlived their transformation, while there is something that may be the reason: a pullback, or another
thread's transformation, which may have called a pullback that is gone."""


def _living(references: References) -> dict[int, Array]:
    """Return those that are still there, and are differentiated: the others are constants."""
    there = [x for x in [reference() for reference in references] if x is not None]
    if not there:
        return {}
    with torch._C.DisableTorchFunction():  # no concern of users' modes
        return {id(x): x for x in there if x.requires_grad}


class LeakedTensor(torch.Tensor):  # type: ignore[misc]
    """A tensor whose derivative has ended."""

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Raise; what is no value may be asked for."""
        if func in OF_NO_VALUES:
            with torch._C.DisableTorchFunctionSubclass():
                return func(*args, **(kwargs or {}))
        from xpand_extensions.tracing._core import leaked  # nothing else of tracing is needed

        raise leaked(func.__name__, "grad` or `vjp")

    def __repr__(self) -> str:
        """Write what is known without values."""
        return f"LeakedTensor(shape={tuple(self.shape)}, dtype={self.dtype})"


class Pullback:
    """A function that pulls cotangents back, and keeps what its level made for as long as there is need of it."""

    __slots__ = ("__weakref__", "function")

    def __init__(self) -> None:
        """Say that there is one, before its level begins."""
        self.function: Callable[..., tuple[Array, ...]] | None = None
        _PULLBACKS.add(id(self))

    def __call__(self, *cotangents: Array) -> tuple[Array, ...]:
        """Pull cotangents back."""
        assert self.function is not None, "the level has begun"
        found = self.function(*cotangents)
        # What keeps them then may be a graph of `backward`, or a pullback of PyTorch's own.
        if _LEFT:
            if _THREAD.within.is_within:
                _THREAD.within.were_pulled = True
            elif _are_kept(found) or not _is_outermost():
                _LEFT.clear()
        return found

    def __del__(self) -> None:
        """Look for what is kept otherwise."""
        self.function = None
        _PULLBACKS.discard(id(self))
        if _LEFT and not sys.is_finalizing() and not _THREAD.within.is_within and _is_outermost():
            _look()


def watched(transformed: Callable[..., Any], *args: Any) -> Any:
    """Call what torch.func transforms, and see that what it made at its levels has gone with them.

    `watch` is told of the arguments at each level meanwhile.
    """
    within = _THREAD.within
    if within.is_within or levels.maybe_current_level() is not None or torch._C._len_torch_dispatch_stack():
        return transformed(*args)
    arguments = within.arguments
    left: dict[int, Array] = {}
    within.is_within = True
    within.were_pulled = False
    within.limit = _MANY
    try:
        result = transformed(*args)
        for reference in arguments:
            if reference() is not None:
                left = _living(arguments)
                break
        were_pulled = within.were_pulled
    finally:
        arguments.clear()
        within.is_within = False
    if left or _LEFT:
        are_kept = (left or were_pulled) and _are_kept(result)
        if are_kept and were_pulled:
            _LEFT.clear()
        if left and not are_kept:
            _LEFT.extend(map(ref, left.values()))
        left.clear()
        _look()
    return result


def watch(arguments: Iterable[Array]) -> None:
    """Note the arguments of a function as they are at its level."""
    within = _THREAD.within
    if within.is_within:
        within.arguments.extend(map(ref, arguments))
        if len(within.arguments) > within.limit:
            within.drop()


def _are_kept(results: Any) -> bool:
    """Tell whether a graph of `backward` keeps what led to results: it may call functions again that close over it."""
    if isinstance(results, (tuple, list)):
        return any(map(_are_kept, results))
    return isinstance(results, torch.Tensor) and bool(results.requires_grad)


def _is_outermost() -> bool:
    """Tell whether there is no level of torch.func around, and nothing is traced, which keeps what it meets."""
    return levels.maybe_current_level() is None and not torch._C._len_torch_dispatch_stack()


def _look() -> None:
    """Make what is left of levels that have ended an error to use, once there is no reason for it."""
    if _PULLBACKS or any(within.is_within for within in [x() for x in tuple(_THREADS)] if within is not None):
        return
    arguments = _living(_LEFT)
    _LEFT.clear()
    if not arguments or next(_LOOKS, None) is None:
        return
    known: dict[Any, bool] = {}
    with torch._C.DisableTorchFunction():
        # An object refers to its class. (A list of all objects would hold tuples that other threads are making.)
        for x in gc.get_referrers(torch.Tensor):
            if type(x) is torch.Tensor and _comes_from(x, arguments, known):
                x.__class__ = LeakedTensor


def _comes_from(x: Array, arguments: dict[int, Array], known: dict[Any, bool]) -> bool:
    """Tell whether a tensor was computed from arguments at a level that has ended."""
    while levels.is_functorch_wrapped_tensor(x):
        has_ended = levels.is_gradtrackingtensor(x) and levels.maybe_get_level(x) == _ENDED
        if has_ended and (id(x) in arguments or _reaches(_graph_of(x), arguments, known)):
            return True
        x = levels.get_unwrapped(x)
    return False


def _graph_of(x: Array) -> Any:
    try:
        return x.grad_fn
    except RuntimeError:  # a view of what was changed in place: PyTorch allows no use of it
        return None


def _reaches(node: Any, arguments: dict[int, Array], known: dict[Any, bool]) -> bool:
    """Tell whether arguments are among what a node of a graph was computed from; collect what is known of nodes."""
    path: list[tuple[Any, Iterator[tuple[Any, int]]]] = [(None, iter([(node, 0)]))]
    while path:
        for before, _ in path[-1][1]:
            if before is None or known.get(before) is False:
                continue
            if before in known or id(getattr(before, "variable", None)) in arguments:
                known.update((passed, True) for passed, _ in path)
                return True
            path.append((before, iter(before.next_functions)))
            break
        else:
            known[path.pop()[0]] = False
    return False
