"""Functions computed again for their derivatives, on PyTorch, under torch.func too, where its own way doesn't work."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeAlias

import torch
import torch.utils.checkpoint
from torch._C import _functorch as levels  # torch.func has no public way to tell its levels apart
from torch.autograd import forward_ad
from torch.overrides import TorchFunctionMode

from xpand._typing import Array
from xpand_extensions.vmap._names import are_bound

from .._plain import OF_NO_VALUES
from ._levels import USER_CODE, Rule, call, is_floating, is_followed_anywhere, observed_by, of_tensors
from ._products import jvp, vjp

Arrays: TypeAlias = "tuple[Array, ...]"
Function: TypeAlias = Callable[..., Arrays]


def checkpoint(
    function: Function,
    /,
    *,
    prevent_cse: bool = True,
    policy: None = None,
    static_argnums: int | Sequence[int] = (),
) -> Function:
    def checkpointed(*xs: Array) -> Arrays:
        if torch.compiler.is_dynamo_compiling():
            function(*xs)  # what it notes of its results can't be noted inside a graph
            return _by_hooks(function, xs)
        # Below the levels of torch.func, PyTorch's own way is closed, to forward mode and maps not in every version.
        if torch._C._autograd._saved_tensors_hooks_is_enabled() and not torch._C._are_functorch_transforms_active():
            try:
                return _by_hooks(function, xs)
            except RuntimeError as error:
                if "saved tensor hooks" not in str(error):  # which it can't have where it differentiates itself
                    raise
        # What is kept must be told, and what the function uses from outside is seen only when it runs.
        closed = Closed()
        if closed.outer is not None:
            xs = tuple(map(closed.outer.resolve, xs))
        aliases = [x.detach() for x in xs]  # what is given may be used from outside, too
        with torch.no_grad(), forward_ad._set_fwd_grad_enabled(False), closed.observing(aliases):
            function(*aliases)

        def of_all(*arrays: Array) -> Arrays:
            with closed.replaced(arrays[len(xs) :]):
                return function(*arrays[: len(xs)])

        return _recomputed(of_all, (*xs, *closed.found))

    return checkpointed


def _by_hooks(function: Function, xs: Arrays) -> Arrays:
    found: Arrays = torch.utils.checkpoint.checkpoint(function, *xs, use_reentrant=False)
    return found


def _recomputed(function: Function, xs: Arrays) -> Arrays:
    def pull(kept: Arrays, cotangents: Arrays) -> Arrays:
        return pulled_back(function, kept, cotangents)

    def push(kept: Arrays, tangents: Arrays) -> Arrays:
        return pushed_forward(function, kept, tangents)[1]

    # What uses other members' arrays can't be computed again when the map has ended, for derivatives around it.
    forward = lambda *arrays: (_recomputed(function, arrays), arrays)
    return call(Rule(function, forward, pull, push, within=are_bound()), xs)


def pulled_back(function: Function, primals: Arrays, cotangents: Arrays) -> Arrays:
    """Pull cotangents of a function's results back to its arguments, in JAX's convention; to zeros for integers."""
    floating = filter(is_floating, primals)
    back = iter(vjp(partial(_of_floating, function, primals), *floating, has_aux=True)[1](*cotangents))
    return tuple(next(back) if is_floating(x) else torch.zeros_like(x) for x in primals)


def pushed_forward(function: Function, primals: Arrays, tangents: Arrays) -> tuple[Arrays, Arrays]:
    """Return a function's results, and the tangents of them."""
    given = tuple(t for x, t in zip(primals, tangents) if is_floating(x))
    floating = tuple(filter(is_floating, primals))
    outs, found, _ = jvp(partial(_of_floating, function, primals), floating, given, has_aux=True)
    return outs, found


def _of_floating(function: Function, primals: Arrays, *floating: Array) -> tuple[Arrays, Arrays]:
    given = iter(floating)
    return function(*(next(given) if is_floating(x) else x for x in primals)), ()


class Closed:
    """The arrays from outside that a function uses, those that are wanted, to be replaced by others."""

    def __init__(self, wanted: Callable[[Array], bool] = is_followed_anywhere) -> None:
        self._wanted = wanted
        self.found: list[Array] = []
        self._used: list[Array] = []
        """Those found, as the function has them."""
        self.outer = USER_CODE.get()
        self._known: set[int] = set()
        self._replacements: dict[int, Array] = {}
        self._observing = False
        self._depth = 0

    def resolve(self, x: Array) -> Array:
        """Say what stands for an array that the function uses."""
        if id(x) in self._replacements:
            return self._replacements[id(x)]
        return x if self.outer is None else self.outer.resolve(x)

    def use(self, x: Array) -> Array:
        """Note an array that the function uses, if that is what is being done, and say what stands for it."""
        stands = self.resolve(x)
        if stands is not x and id(x) not in self._replacements and self.outer is not None:
            # Those around, when they call the function again, must know it as the function has it.
            stands = self.outer.use(x)
        # What is at a deeper level is of a transformation within, which has told what it was given. (What is at a level
        # that there is not just now, since whoever observes has left those around it, is from outside; so is what is
        # known there, which may be at a level of the same number.)
        is_within = stands is x and self._depth < levels.maybe_get_level(x) <= levels.get_dynamic_layer_stack_depth()
        if self._observing and not is_within and id(x) not in self._known and self._wanted(stands):
            self._known.add(id(x))
            self._used.append(x)
            self.found.append(stands)
        return stands

    def note_made(self, xs: Sequence[Array]) -> None:
        """Note arrays that are not from outside."""
        self._known.update(map(id, xs))

    @contextmanager
    def observing(self, xs: Sequence[Array]) -> Iterator[None]:
        """Find the arrays that are used in this context and neither made in it nor given."""
        self.note_made(xs)
        self._depth = levels.get_dynamic_layer_stack_depth()
        self._observing = True
        try:
            with observed_by(self), _Mode(self):
                yield
        finally:
            self._observing = False

    @contextmanager
    def replaced(self, arrays: Sequence[Array]) -> Iterator[None]:
        """Use others in the place of those found."""
        before = self._replacements
        self._replacements = {id(x): y for x, y in zip(self._used, arrays)}
        try:
            with observed_by(self), _Mode(self):
                yield
        finally:
            self._replacements = before


class _Mode(TorchFunctionMode):  # type: ignore[misc]
    """Sees the arrays given to each of PyTorch's functions in user code, and those it returns."""

    def __init__(self, closed: Closed) -> None:
        super().__init__()
        self.closed = closed

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if USER_CODE.get() is not self.closed or function in OF_NO_VALUES:
            return function(*args, **(kwargs or {}))
        use = self.closed.use
        result = function(*of_tensors(use, args), **(of_tensors(use, kwargs) if kwargs else {}))
        self.closed.note_made(list(_tensors(result)))
        return result


def _tensors(result: Any) -> Iterator[Array]:
    if isinstance(result, torch.Tensor):
        yield result
    elif isinstance(result, (tuple, list)):
        for each in result:
            yield from _tensors(each)
