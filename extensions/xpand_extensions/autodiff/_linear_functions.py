"""Linear functions that transformations return (pullbacks, derivatives at a point, transposes) as nodes of trees."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from xpand import trees
from xpand.extend import Array

from .._dispatch import pluggable
from .._transforms import ArraySpec, Structure, like_tree, unflatten
from .._transforms_patterns import Patterned
from .._where import clean_tracebacks

Native = Callable[..., Sequence[Array]]


@pluggable
def residuals(function: Native, /, *specs: ArraySpec) -> tuple[list[Array], Native]:
    """Split a function of arrays into its captured arrays, and a function that takes a list of these first.

    The arguments of the original function come after the list.
    """
    return residuals.native_for(specs[0].xp)(function, *specs)


class LinearFunction:
    """A linear function of trees. It is a tree itself, whose leaves are its residuals.

    So a pullback can be returned from `jit` and `vmap`, carried through a loop, and passed as an argument.
    """

    __slots__ = ("_argument", "_gives", "_name", "_native", "_parts", "_spread", "_takes")

    def __init__(
        self,
        name: str,
        argument: str,
        native: Native | None,
        takes: tuple[Structure, tuple[ArraySpec, ...]],
        gives: tuple[Structure, tuple[ArraySpec, ...]],
        spread: bool = False,
    ) -> None:
        """Make the function that the transformation `name` returns.

        Args:
            name: The transformation, for messages.
            argument: What the argument is called in messages.
            native: The function of arrays: those of floating-point data types alone. None where all is zero.
            takes: The structure of the argument, and its leaves.
            gives: The structure of the result, and its leaves. Leaves that are integers are zeros.
            spread: Whether the argument is a tuple whose parts are separate arguments.
        """
        self._name, self._argument, self._native, self._takes, self._gives = name, argument, native, takes, gives
        self._spread = spread
        self._parts: tuple[list[Array], Any] | None = None

    @clean_tracebacks
    def __call__(self, *args: trees.Tree) -> Any:
        """Apply the function to a tree, or to one tree for each argument of the function that was linearized.

        Raises:
            TypeError: Another number of arguments, another structure or other data types.
            ValueError: Other shapes.
        """
        if not self._spread and len(args) != 1:
            raise TypeError(
                f"{self._name}: {self._argument} must be one tree like the output, got {len(args)} arguments"
            )
        structure, specs = self._takes
        arrays = like_tree(self._name, self._argument, args if self._spread else args[0], structure, specs)
        native, given = self._native, [x for x, like in zip(arrays, specs) if like.is_floating]
        structure, specs = self._gives
        if native is None:
            return unflatten(structure, [like.zeros() for like in specs])
        found = iter(native(*given))
        return unflatten(structure, [next(found) if like.is_floating else like.zeros() for like in specs])

    def __reduce__(self) -> Any:
        """Pickle the function by its residuals and the function of these."""
        leaves, static = flatten(self)
        return unflatten_linear, (static, leaves)

    def __repr__(self) -> str:
        return f"<the linear function of {self._argument} that {self._name} returned>"


def flatten(function: LinearFunction) -> tuple[list[Array], Any]:
    if function._parts is None:  # cached: `jit` reuses its program for an equal structure
        specs = [like for like in function._takes[1] if like.is_floating]
        arrays, call = residuals(function._native, *specs) if function._native and specs else ([], None)
        takes, patterns = _without_patterns(function._takes)
        gives, more = _without_patterns(function._gives)
        counts = len(arrays), len(patterns)
        static = function._name, function._argument, call, takes, gives, function._spread, counts
        function._parts = [*arrays, *patterns, *more], static
    return function._parts


def unflatten_linear(static: Any, leaves: Any) -> LinearFunction:
    name, argument, call, takes, gives, spread, (arrays, patterns) = static
    given = list(leaves)
    taken, more = given[arrays : arrays + patterns], given[arrays + patterns :]
    native = call and partial(call, given[:arrays])
    function = LinearFunction(name, argument, native, _with(takes, taken), _with(gives, more), spread)
    function._parts = given, static
    return function


def _without_patterns(
    side: tuple[Structure, tuple[ArraySpec, ...]],
) -> tuple[tuple[Structure, tuple[ArraySpec, ...]], Any]:
    """Remove the patterns of sparse arrays from a structure."""
    structure, specs = side
    if not isinstance(structure, Patterned):
        return side, ()
    structure = structure.copy()
    patterns = structure.take()
    return (structure, specs), patterns


def _with(
    side: tuple[Structure, tuple[ArraySpec, ...]], patterns: list[Array]
) -> tuple[Structure, tuple[ArraySpec, ...]]:
    structure, specs = side
    if isinstance(structure, Patterned):
        structure = structure.copy()
        structure.give(patterns)
    return structure, specs


trees.register(LinearFunction, flatten, unflatten_linear)
