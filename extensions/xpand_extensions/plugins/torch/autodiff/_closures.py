"""Arrays that functions bring along in closures, made arguments of theirs, on PyTorch."""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, TypeVar

import torch
from torch._C import _functorch as levels  # torch.func has no public way to tell its levels apart
from torch.autograd import forward_ad

from xpand._typing import Array
from xpand_extensions._variables import Variables
from xpand_extensions.autodiff._users import brought, closed_over, variables_of

from .._plain import has_tangent
from ._levels import is_followed_anywhere
from ._observers import USER_CODE, any_of, note_made, observed_by, observing, of_tensors, seen_by

R = TypeVar("R")

Arrays: TypeAlias = "tuple[Array, ...]"


class Brought(list[Array]):
    """The arrays that functions of users bring along, and that must be given to them as arguments."""

    def __init__(self, name: str, *users: Any) -> None:
        """Find those of functions given to the operation of a name."""
        super().__init__(brought(is_lent, *users))
        self._name, self._users = name, users
        self._by_each = list(map(self._of, users)) if self else []
        self.variables = Variables()
        self._kept: tuple[Any, ...] = ()

    def keep_variables(self, *functions: Any) -> None:
        """Have the variables of functions of arrays that are called later be what they are now."""
        self.variables, self._kept = variables_of(*functions), functions

    def check(self) -> None:
        """Check that the functions, with the variables that they had, still bring them along.

        Raises:
            TypeError: An attribute or an item has another value now, or a variable of what has those of then: the
                derivative would be that of another function.
        """
        now = [self.variables.bound(user) if user in self._kept else user for user in self._users]
        if any(not had <= self._of(user) for had, user in zip(self._by_each, now)):
            raise TypeError(
                f"{self._name}: an array that a function uses was another one when it was called (an attribute of an "
                "object, or a variable of the rule that pulls back); hand it over as an argument, or bind it "
                "(`lambda z, a=self.a: ...`)"
            )

    def _of(self, user: Any) -> set[int]:
        """Tell which of them a function brings along."""
        return {id(x) for x in closed_over(user)} & set(map(id, self))


def called_later(function: Callable[..., R], outer: Brought) -> Callable[..., R]:
    """Make a function that has the variables kept, and further arguments in the place of what it brings along."""
    return function if torch.compiler.is_dynamo_compiling() else with_arguments(outer.variables.kept(function), outer)


def with_arguments(function: Callable[..., R], outer: Brought) -> Callable[..., R]:
    """Make a function of further arguments last, used in the place of the arrays that it brings along."""
    if not outer:
        return function
    places = list(map(id, outer))

    def replaced(*given: Any) -> R:
        outer.check()
        count = len(given) - len(places)
        replacing = _Replacing(dict(zip(places, given[count:])))
        note_made(replacing, given)
        with observing(replacing):
            found = function(*given[:count])
        # What is only handed back is seen by no function of PyTorch's.
        return of_tensors(lambda x: replacing.replacements.get(id(x), x), found)  # type: ignore[no-any-return]

    return replaced


def is_followed(x: Array) -> bool:
    """Tell whether some level may differentiate with respect to an array that user code has, or map over it."""
    return any_of(is_followed_anywhere, (x,))


def is_lent(x: Array) -> bool:
    """Tell whether what a function brings along must be given to it: it is followed, or another stands for it.

    The latter does for as long as the function around is called, and derivatives are asked for later.
    """
    seen = USER_CODE.get()
    return is_followed(x) or (seen is not None and seen.resolve(x) is not x)


def check_arguments(name: str, function: Callable[..., Any], xs: Sequence[Array], args: Sequence[Array]) -> None:
    """Check that nothing that a function returns is followed where its arguments aren't: by arrays it brings along.

    Raises:
        TypeError: Something is: it would have no derivative.
    """
    seen = USER_CODE.get()
    given = (*xs, *args) if seen is None else tuple(map(seen.use, (*xs, *args)))
    with observed_by(None):
        values = tuple(map(_value, given))
    if any_of(_is_followed, seen_by(seen, function, values[: len(xs)], *values[len(xs) :])):
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

    def note_made(self, xs: Arrays) -> None:
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
        # Those around, when they call the function again, must know it as the function has it.
        return x if self.outer is None else self.outer.use(x)


class Closed(_Replacing):
    """The arrays from outside that a function uses, those that are wanted, to be replaced by others."""

    def __init__(self, wanted: Callable[[Array], bool] = is_followed_anywhere) -> None:
        """Say which are wanted."""
        super().__init__({})
        self._wanted = wanted
        self.found: list[Array] = []
        self._used: list[Array] = []
        """Those found, as the function has them."""
        self._known: set[int] = set()
        self._observing = False
        self._depth = 0
        self._variables = Variables()

    def use(self, x: Array) -> Array:
        """Note an array that the function uses, if that is what is being done, and say what stands for it."""
        stands = super().use(x)
        # What is at a deeper level is of a transformation within, which has told what it was given. (What is at a level
        # that there is not just now, since whoever observes has left those around it, is from outside; so is what is
        # known there, which may be at a level of the same number.)
        is_within = stands is x and self._depth < levels.maybe_get_level(x) <= levels.get_dynamic_layer_stack_depth()
        if self._observing and not is_within and id(x) not in self._known:
            self._known.add(id(x))
            with observed_by(None):
                is_wanted = self._wanted(stands)
            if is_wanted or stands is not x:  # which it is no longer when a derivative is asked for
                self._used.append(x)
                self.found.append(stands)
        return stands

    def note_made(self, xs: Arrays) -> None:
        """Note arrays that are not from outside."""
        self._known.update(map(id, xs))
        super().note_made(xs)

    def observe(self, function: Callable[..., Any], given: Arrays) -> None:
        """Call a function to find the arrays that it uses and neither makes nor is given."""
        self._variables = Variables(function)
        self.note_made(given)
        self._depth = levels.get_dynamic_layer_stack_depth()
        self._observing = True
        try:
            with observing(self):
                of_tensors(self.use, function(*given))  # what is only handed back is seen by no function of PyTorch's
        finally:
            self._observing = False

    def call(self, function: Callable[..., R], given: Arrays, arrays: Arrays) -> R:
        """Call the function that was observed, with others in the place of the arrays found."""
        before = self.replacements
        self.replacements = {id(x): y for x, y in zip(self._used, arrays)}
        self.note_made((*given, *arrays))
        try:
            with observing(self):
                return of_tensors(self.use, self._variables.bound(function)(*given))  # type: ignore[no-any-return]
        finally:
            self.replacements = before
