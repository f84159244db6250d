"""Arrays that functions bring along in closures, made arguments of theirs, on PyTorch."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from torch._C import _functorch as levels  # torch.func has no public way to tell its levels apart
from torch.autograd import forward_ad
from torch.overrides import TorchFunctionMode

from xpand._typing import Array

from .._plain import has_tangent
from ._levels import USER_CODE, observed_by, of_tensors

R = TypeVar("R")


def with_arguments(function: Callable[..., R], brought: Sequence[Array]) -> Callable[..., R]:
    """Make a function of further arguments last, used in the place of the arrays that it brings along."""
    if not brought:
        return function
    places = list(map(id, brought))

    def replaced(*given: Any) -> R:
        count = len(given) - len(places)
        replacing = _Replacing(dict(zip(places, given[count:])))
        with observed_by(replacing), _Mode(replacing):
            found = function(*given[:count])
        # What is only handed back is seen by no function of PyTorch's.
        return of_tensors(lambda x: replacing.replacements.get(id(x), x), found)  # type: ignore[no-any-return]

    return replaced


def check_arguments(name: str, function: Callable[..., Any], xs: Sequence[Array], args: Sequence[Array]) -> None:
    """Check that nothing that a function returns is followed where its arguments aren't: by arrays it brings along.

    Raises:
        TypeError: Something is: it would have no derivative.
    """
    if any(map(_is_followed, function(tuple(map(_value, xs)), *map(_value, args)))):
        raise outer_error(name)


def outer_error(name: str, given: str = "one of `args`") -> TypeError:
    """Make the error of an array that is brought along where it isn't found."""
    return TypeError(
        f"{name}: a function uses an array from outside that is being differentiated or mapped over; hand it over as "
        f"{given}"
    )


def _is_followed(x: Array) -> bool:
    """Tell whether some level differentiates with respect to an array or maps over it, and not only has made it."""
    while True:
        if x.requires_grad or has_tangent(x):
            return True
        if levels.maybe_get_level(x) <= 0:
            return False
        if levels.is_batchedtensor(x):
            return True
        x = levels.get_unwrapped(x)


def _value(x: Array) -> Array:
    """Return the values of an array, those of one member of a batch, as nothing follows them."""
    while (level := levels.maybe_get_level(x)) > 0:
        if levels.is_batchedtensor(x):
            x, axis = levels._unwrap_batched(x, level)
            if axis is not None:
                x = x.select(axis, 0) if x.shape[axis] else x.new_zeros(x.movedim(axis, 0).shape[1:])
        else:
            x = levels.get_unwrapped(x)
    return forward_ad.unpack_dual(x).primal.detach() if forward_ad._current_level >= 0 else x.detach()


class _Replacing:
    """Says what is used in the place of arrays, to operations with derivatives of their own too."""

    def __init__(self, replacements: dict[int, Array]) -> None:
        self.replacements, self.outer = replacements, USER_CODE.get()

    def note_made(self, xs: Any) -> None:
        """Tell the observer around this one."""
        if self.outer is not None:
            self.outer.note_made(xs)

    def resolve(self, x: Array) -> Array:
        """Say what stands for an array."""
        if id(x) in self.replacements:
            return self.replacements[id(x)]
        return x if self.outer is None else self.outer.resolve(x)

    def use(self, x: Array) -> Array:
        """Say what stands for an array that is used, and tell the observer around this one."""
        if id(x) in self.replacements:
            return self.replacements[id(x)]
        return x if self.outer is None else self.outer.use(x)


class _Mode(TorchFunctionMode):  # type: ignore[misc]
    """Replaces the arrays given to each of PyTorch's functions in user code."""

    def __init__(self, replacing: _Replacing) -> None:
        super().__init__()
        self.replacing = replacing

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if USER_CODE.get() is self.replacing:
            args, kwargs = of_tensors(self.replacing.resolve, (args, kwargs or {}))
        return function(*args, **(kwargs or {}))
