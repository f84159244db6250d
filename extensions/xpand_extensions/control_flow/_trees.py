"""Shared code of loops and branches: flattens trees to tuples of arrays, and checks them at each step.

Libraries then see only functions of arrays, and all libraries support the same trees.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from itertools import count
from operator import itemgetter
from typing import Any, Final, TypeAlias

import optree

from xpand import array_namespace, trees
from xpand.extend import Array, DType, checks, describe, same_structure, trace_instead

from .._captures import Opaque
from .._transforms import as_array, promoted_number, weak_numbers
from .._transforms_patterns import flatten_without_plans, stackable, without_plans

Arrays: TypeAlias = "tuple[Array, ...]"

_RANKS: Final = {"unsigned": 0, "signed": 0, "real": 1, "complex": 2}


class _PromotedError(Exception):
    """Tells that an initial number of a `Carry` has another data type, so the loop must restart."""


class Carry(Opaque):
    """The carry of a loop: its structure, shapes and data types, which are checked at each step.

    Python numbers become arrays. They are weak, as in promotion: a float gets the data type of the other real arrays.
    If a step returns another data type for a number, the loop starts with this type. To find it, the first step is
    called with the number itself. This call also finds the library if the initial carry has no arrays.
    """

    def __init__(self, function: str, name: str, step: str, tree: trees.Tree, others: Sequence[Any] = ()) -> None:
        """Flatten `tree`, the argument `name`. The results of `step` must have the same structure."""
        self.function, self.name, self.step = function, name, step
        found = trees.leaves(tree)
        if len(found) > 1:
            tree = without_plans(tree)
            found = trees.leaves(tree)
        self.skeleton = skeleton(tree)
        self.tree: Callable[[Sequence[Array]], trees.Tree] = filler(self.skeleton)
        """The function that gives flat values the structure of the carry."""
        self._is_empty = not found
        if self._is_empty:  # libraries don't accept loops without a carry
            found = [0]
        given = [x for x in (*found, *others) if checks.is_array(x)]
        self._like = first_array(given)
        self._weak = [not checks.is_array(leaf) for leaf in found]
        self._promoted: dict[int, DType] = {}
        self.arrays: Arrays = tuple([promoted_number(f"{function}: {name} holds", leaf, given) for leaf in found])
        self._numbers: dict[int, Any] = {}
        if any(self._weak) and not self._is_empty and weak_numbers(self._like):
            real = any(array_namespace(x).isdtype(x.dtype, "real floating") for x in given)
            self._numbers = {i: x for i, x in enumerate(found) if self._weak[i] and not (isinstance(x, float) and real)}
        self.is_first = bool(self._numbers) or self._like is None
        """Whether the next step finds the library and the data types of numbers, in `stepped`."""
        self._kinds = Kinds(self.arrays)

    def run(self, loop: Callable[[Arrays], Any]) -> Any:
        """Call a loop with the initial carry."""
        while True:
            try:
                return loop(self.arrays)
            except _PromotedError as promoted:
                if promoted.args[0] is not self:
                    raise
            arrays = list(self.arrays)
            for i, dtype in self._promoted.items():
                self._weak[i] = False
                self._numbers.pop(i, None)
                arrays[i] = array_namespace(arrays[i]).astype(arrays[i], dtype)
            self.arrays = tuple(arrays)
            self._kinds = Kinds(arrays)
            self._promoted = {}
            self.is_first = bool(self._numbers)

    def stepped(self, call: Callable[[trees.Tree, bool], Any], arrays: Arrays) -> Any:
        """Call the user's function for a step.

        Args:
            call: Takes the carry, and whether the library is still unknown; returns the function's result.
            arrays: The flat carry.
        """
        if self.is_first:
            self.is_first = False
            given = [self._numbers.get(i, x) for i, x in enumerate(arrays)]
            try:
                found = call(self.tree(given), self._like is None)
            except (TypeError, AttributeError):
                pass  # the function takes only arrays: the next call, with arrays, reports real errors
            else:
                self._learn(found)
                if self._like is not None and all(arrays[i] is self.arrays[i] for i in self._numbers):
                    return found
        return call(self.tree(arrays), False)

    def evaluate_condition(self, condition: Callable[[trees.Tree], Any], arrays: Arrays) -> Any:
        """Call the user's condition, which may determine the library of the arrays."""
        if self.is_first and self._like is None:
            given = [self._numbers.get(i, x) for i, x in enumerate(arrays)]
            with suppress(TypeError, AttributeError):  # the function takes only arrays
                self._learn_library([condition(self.tree(given))])
        return condition(self.tree(arrays))

    def _learn(self, found: trees.Tree) -> None:
        """Find the library and the data types that a step returns for numbers, and restart the loop with them."""
        result = trees.leaves(found)
        self._learn_library(result)
        for i, number in self._numbers.items():
            if i < len(result) and checks.is_array(result[i]):
                x = result[i]
                kind = checks.kind(array_namespace(x), x.dtype)
                if x.dtype != self.arrays[i].dtype and _holds(kind, number):
                    self._promoted[i] = x.dtype
        if self._promoted:
            raise _PromotedError(self)

    def _learn_library(self, result: Sequence[Any]) -> None:
        if self._like is not None:
            return
        like = first_array(result)
        if like is None or array_namespace(like) is array_namespace(self.arrays[0]):
            return
        numbers = list(self._numbers.values()) or [0]
        self._like = like
        if not weak_numbers(like):
            self._numbers = {}
        self.arrays = tuple([as_array("", x, like) for x in numbers])
        self._kinds = Kinds(self.arrays)
        raise _PromotedError(self)

    def fit(self, tree: trees.Tree) -> Arrays:
        """Flatten the result of a step, which must have the structure, shapes and data types of the carry."""
        same = self._kinds.same(self.skeleton, tree)
        if same is not None:
            return same
        found, structure = trees.flatten(tree)
        if self._is_empty and not found:
            return self.arrays
        wanted = trees.structure(self.skeleton)
        if not same_structure(structure, wanted):  # data computed from the pattern of a container may differ
            found, structure = flatten_without_plans(tree)
        if not same_structure(structure, wanted):
            raise TypeError(
                f"{self.function}: the carry must keep its structure: {self.name} has {wanted}, and {self.step} made "
                f"it {structure}"
            )
        result = [self._as_array(leaf, x) for leaf, x in zip(found, self.arrays)]
        changed = [i for i, leaf in enumerate(result) if not _alike(leaf, self.arrays[i])]
        if changed:
            self._promote(result, changed)
        # NumPy's functions return scalars for arrays of shape (). Otherwise set nothing: torch.compile requires it.
        if any(type(leaf) is not type(x) for leaf, x in zip(result, self.arrays)):
            self._kinds = Kinds(result)
        return tuple(result)

    def _as_array(self, leaf: Any, x: Array) -> Array:
        if checks.is_array(leaf):
            return leaf
        array = as_array(f"{self.function}: {self.step} returned", leaf, x)
        return array_namespace(x).astype(array, x.dtype) if promotes(array, x.dtype) else array

    def _promote(self, result: list[Array], changed: list[int]) -> None:
        for i in changed:
            before, after = self.arrays[i], result[i]
            if not (self._weak[i] and same_shape(before.shape, after.shape) and promotes(before, after.dtype)):
                raise TypeError(
                    f"{self.function}: the carry must keep its shapes and data types: {self._path(i)} was "
                    f"{described(before)} and {self.step} made it {described(after)}; {_remedy(before.shape, after)}"
                )
        # `run` converts them: inside the loop, the library may be tracing.
        self._promoted = {i: result[i].dtype for i in changed}
        raise _PromotedError(self)

    def _path(self, number: int) -> str:
        return paths(self.name, self.skeleton)[number]


class Kinds:
    """The classes, data types and shapes of arrays: by these, a loop in Python recognises the results of its steps."""

    __slots__ = ("_kinds",)

    def __init__(self, arrays: Sequence[Array]) -> None:
        # Do not store the arrays themselves: they may be tracers and would leak.
        self._kinds = [(type(x), x.dtype, x.shape) for x in arrays]

    def same(self, skeleton: trees.Tree, tree: trees.Tree) -> "Arrays | None":
        """Return the arrays of a tree if it has this structure and these kinds, and is one array or a flat tuple; else
        None.
        """
        if type(skeleton) is _Placeholder:  # the carry of most loops; saves a loop over the leaves
            kind, dtype, shape = self._kinds[0]
            is_same = type(tree) is kind and (tree.dtype is dtype or tree.dtype == dtype) and tree.shape == shape
            return (tree,) if is_same else None
        found: Arrays
        if skeleton is None and tree is None:
            found = ()
        elif type(skeleton) is tuple and type(tree) is tuple and len(tree) == len(skeleton):
            found = tree
        else:
            return None
        if len(found) != len(self._kinds):  # nested, or without arrays
            return None
        for x, (kind, dtype, shape) in zip(found, self._kinds):
            if type(x) is not kind or (x.dtype is not dtype and x.dtype != dtype) or x.shape != shape:
                return None
        return found


class Results(Opaque):
    """The outputs of a function besides its carry: flattened trees of arrays, of the same structure each time."""

    def __init__(self, function: str, what: str, like: Array | None) -> None:
        """Take the name of the trees for messages, `what`, and `like`: numbers become arrays of its library."""
        self.function, self.what, self._like = function, what, like
        self._first: list[tuple[trees.Tree, list[tuple[str, Any, tuple[Any, ...]]], Kinds]] = []
        """The structure, the descriptions and the kinds of the first tree. A list: torch.compile loses attributes
        that are set after a branch or a loop in the function.
        """

    def flatten(self, tree: trees.Tree) -> Arrays:
        """Flatten a tree, which must have the structure of the previous ones."""
        if self._first:
            form, _, kinds = self._first[0]
            same = kinds.same(form, tree)
            if same is not None:
                return same
        tree = stackable(tree)
        found, structure = trees.flatten(tree)
        like = self._like if self._like is not None else first_array(found)
        arrays = [as_array(f"{self.function}: {self.what} holds", leaf, like) for leaf in found]
        if not self._first:
            # Do not store the arrays themselves: they may be tracers and would leak.
            texts = [(described(x), x.dtype, tuple(x.shape)) for x in arrays]
            self._first.append((skeleton(tree), texts, Kinds(arrays)))
        form, texts, _ = self._first[0]
        wanted = trees.structure(form)
        if not same_structure(structure, wanted):
            raise TypeError(f"{self.function}: {self.what} must have one structure, got {wanted} and {structure}")
        for i, ((text, dtype, shape), x) in enumerate(zip(texts, arrays)):
            if dtype != x.dtype or not (shape == x.shape or same_shape(shape, x.shape)):
                raise TypeError(
                    f"{self.function}: {self.what} must have one shape and data type, got {text} and {described(x)} "
                    f"for {paths('the result', tree)[i]}; {_remedy(shape, x)}"
                )
        return tuple(arrays)

    def tree(self, arrays: Sequence[Array]) -> trees.Tree:
        """Give flat values the structure of the trees."""
        return filled(self._first[0][0], arrays)


def skeleton(tree: trees.Tree, keep: Callable[[Any], bool] | None = None) -> trees.Tree:
    """Return the structure of a tree as a tree of its leaves' numbers.

    Keep the leaves for which `keep` holds. torch.compile passes such a tree between traced and untraced code, but not a
    structure of optree.
    """
    found, structure = trees.flatten(tree)
    numbers = count()
    return trees.unflatten(
        structure, [x if keep is not None and keep(x) else _Placeholder(next(numbers)) for x in found]
    )


def filled(skeleton: trees.Tree, arrays: Sequence[Array]) -> trees.Tree:
    """Replace the leaves of a tree by arrays."""
    return filler(skeleton)(arrays)


def filler(skeleton: trees.Tree) -> Callable[[Sequence[Array]], trees.Tree]:
    """Return a function that replaces the leaves of a tree by arrays. Loops in Python call it at every step."""
    if type(skeleton) is _Placeholder:
        return itemgetter(0)
    if skeleton and type(skeleton) is tuple and _FLAT.issuperset(map(type, skeleton)):
        return tuple
    if skeleton is None:
        return _none
    return partial(_mapped, skeleton)


def _none(arrays: Sequence[Array]) -> None:
    return None


def _mapped(skeleton: trees.Tree, arrays: Sequence[Array]) -> trees.Tree:
    return trees.map(lambda x: arrays[x.number] if type(x) is _Placeholder else x, skeleton)


class _Placeholder:
    """The number of a leaf. A plain integer would be a constant, for which PyTorch 2.13 can't trace optree."""

    __slots__ = ("number",)

    def __init__(self, number: int) -> None:
        self.number = number


_FLAT: Final = frozenset({_Placeholder})


def one_library(function: str, **arguments: Sequence[Array]) -> None:
    """Check that the arrays of some arguments are of one library and on one device."""
    named = {
        name if len(arrays) == 1 else f"{name}[{i}]": x
        for name, arrays in arguments.items()
        for i, x in enumerate(arrays)
    }
    if named:
        checks.namespace_of(function, **named)
        checks.one_device(function, **named)


def dispatched_by(arrays: Arrays) -> Arrays:
    """Return the arrays whose types select the implementation of a loop: one, if all have the same type.

    If a transformation traces some of them, it must trace the loop.
    """
    first = arrays[0]
    return (first,) if all(type(x) is type(first) for x in arrays) else arrays


def first_array(values: Sequence[Any]) -> Array | None:
    """Find the first array among values."""
    return next((x for x in values if checks.is_array(x)), None)


def check_unroll(function: str, unroll: int | bool | None) -> None:
    """Check the number of steps to unroll; True means all, False one."""
    if unroll is not None and not isinstance(unroll, bool):
        checks.integer(function, "unroll", unroll, minimum=0)


def scalar_bool(function: str, what: str, value: Any, like: Array | None) -> Array:
    """Check that a value is True, False, or an array of one bool, and return it as an array.

    Raises:
        TypeError: It is something else.
    """
    dtype = _BOOL.get(type(value))
    if dtype is not None and value.dtype == dtype and value.shape == ():  # loops ask at each step
        return value
    if isinstance(value, bool):
        return as_array(f"{function}: {what}", value, like)
    if not checks.is_array(value):
        raise TypeError(f"{function}: {what} one bool, True, False or an array of shape (), got {describe(value)}")
    if tuple(value.shape) != () or checks.kind(array_namespace(value), value.dtype) != "bool":
        remedy = "reduce it with `xp.any` or `xp.all`" if tuple(value.shape) else "compare it with something"
        raise TypeError(f"{function}: {what} one bool, an array of shape (), got {described(value)}; {remedy}")
    _store(type(value), value.dtype)
    return value


_BOOL: Final[dict[type, DType]] = {}
"""The boolean data type of arrays that `scalar_bool` has checked, by their type."""
_MOST: Final = 64


def _store(kind: type, dtype: DType) -> None:
    if len(_BOOL) < _MOST:
        _BOOL[kind] = dtype


trace_instead(_store, lambda kind, dtype: None)  # `torch.while_loop` forbids side effects


def _holds(kind: str | None, number: Any) -> bool:
    """Return whether data types of a kind hold a Python number."""
    if isinstance(number, bool):
        return kind == "bool"
    return kind in _RANKS and _RANKS[kind] >= (2 if isinstance(number, complex) else isinstance(number, float))


def promotes(x: Array, dtype: DType) -> bool:
    """Return whether a number, given as an array, can be converted to a data type. Its kind decides, as for Python
    numbers.
    """
    xp = array_namespace(x)
    before, after = checks.kind(xp, x.dtype), checks.kind(xp, dtype)
    if before is None or after is None or "bool" in (before, after):
        return before == after
    return _RANKS[before] <= _RANKS[after]


def same_shape(first: Sequence[Any], second: Sequence[Any]) -> bool:
    """Return whether two shapes are equal; unknown sizes match any."""
    return len(first) == len(second) and all(
        m == n or None in (m, n) or m != m or n != n for m, n in zip(first, second)
    )


def described(x: Array) -> str:
    """Write the data type and shape of an array."""
    return f"{x.dtype} of shape {tuple(x.shape)}"


def paths(name: str, tree: trees.Tree) -> list[str]:
    """Describe the path to each leaf of a tree, in the tree's order."""
    return [str(accessor.codify(name)) for accessor in optree.tree_accessors(tree)]


def _alike(x: Array, y: Array) -> bool:
    return bool(x.dtype == y.dtype) and same_shape(x.shape, y.shape)


def _remedy(shape: Sequence[Any], after: Array) -> str:
    if not same_shape(shape, after.shape):
        return "reshape or broadcast one of them"
    return f"convert one of them with `xp.astype`, for example to {after.dtype}"
