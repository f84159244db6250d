"""Arguments of gradients and Jacobians: selection of the differentiated ones, and checks of data types."""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import compress
from operator import not_
from typing import Any

from xpand import array_namespace, trees
from xpand.extend import Array, checks

from .._transforms import (
    ArraySpec,
    Flat,
    Structure,
    differentiable,
    is_floating,
    replaced,
    unflatten,
    values_of,
    without_arrays,
)
from .._transforms_patterns import Patterned, in_namespace_of


class Floating:
    """A function of floating-point arrays, made from a function of trees. Integer results become auxiliary data."""

    def __init__(self, name: str, function: Callable[..., Any], primals: trees.Tree, has_aux: bool) -> None:
        """Store the function and all its arguments, for the transformation `name`."""
        self.leaves, self.structure = values_of(name, "primals", primals)
        self.flat = Flat(name, function, self.structure, has_aux)
        self._positions = [i for i, x in enumerate(self.leaves) if is_floating(array_namespace(x), x)]
        self._is_floating: list[bool] = []

    def chosen(self, arrays: Sequence[Any]) -> list[Any]:
        """Select the values for arguments of floating-point data types."""
        return [arrays[i] for i in self._positions]

    def __call__(self, *arrays: Array) -> tuple[tuple[Array, ...], tuple[Array, ...]]:
        """Call the function. Return the floating-point outputs, and the other results."""
        outs, aux = self.flat(*_replaced(self.leaves, self._positions, arrays))
        self._is_floating = [is_floating(array_namespace(x), x) for x in outs]
        return tuple(compress(outs, self._is_floating)), (*compress(outs, map(not_, self._is_floating)), *aux)

    def finished(self, outs: Sequence[Array], aux: Sequence[Array]) -> tuple[list[Array], tuple[Any, ...]]:
        """Return the arrays of the output of a call, and a tuple with the auxiliary data if there is any."""
        count = self._is_floating.count(False)
        floating, others = iter(outs), iter(aux[:count])
        aux = self.flat.take_patterns(aux[count:])
        values = [next(floating) if each else next(others) for each in self._is_floating]
        return values, (self.flat.aux(aux),) if self.flat.has_aux else ()

    def inputs_and_outputs(self, values: Sequence[Array]) -> list[tuple[Structure, tuple[ArraySpec, ...]]]:
        """Return the structure of the arguments and of the output, with the types of their arrays."""
        assert self.flat.result is not None, "the function has been called"
        sides = (self.structure, self.leaves), (self.flat.result, values)
        return [(structure, tuple(map(ArraySpec.of, arrays))) for structure, arrays in sides]

    def derivatives(self, outs: Sequence[Array], found: Sequence[Array]) -> list[Array]:
        """List the derivatives of all outputs: the given ones, and zeros for integers."""
        given = iter(found)
        return [next(given) if each else ArraySpec.of(x).zeros() for x, each in zip(outs, self._is_floating)]


class Chosen:
    """The differentiated arguments of a call as arrays, and the function of the floating-point ones."""

    def __init__(
        self,
        name: str,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        numbers: tuple[int, ...],
        *,
        has_aux: bool,
        allow_int: bool,
    ) -> None:
        """Select the arguments at the positions `numbers`, for the transformation `name`; the others are constants."""
        positions = positions_of(name, numbers, len(args))
        chosen = tuple(args[position] for position in positions)
        self.leaves, self.structure = values_of(name, "the arguments", chosen, (args, *kwargs.values()))
        if not allow_int:
            differentiable(name, "the arguments", self.leaves)
        # Do not use a method of this object: a cycle of references would keep the arguments alive until garbage
        # collection.
        self.flat = Flat(name, partial(_called, function, args, kwargs, positions), self.structure, has_aux)
        self._positions = [i for i, x in enumerate(self.leaves) if is_floating(array_namespace(x), x)]

    @property
    def name(self) -> str:
        """The name of the transformation."""
        return self.flat.name

    @property
    def arrays(self) -> list[Array]:
        """The differentiated arrays."""
        return [self.leaves[i] for i in self._positions]

    def __call__(self, *arrays: Array) -> tuple[tuple[Array, ...], tuple[Array, ...]]:
        """Call the function with other arrays in place of the differentiated ones."""
        return self.flat(*_replaced(self.leaves, self._positions, arrays))

    def tree(self, derivatives: Sequence[Array], shape: tuple[int, ...] = ()) -> Any:
        """Make a tree like the arguments from derivatives of a result: their first axes are its axes, of the given
        shape.

        Derivatives of integers are zeros of their own data types.
        """
        found = {i: _of_one_kind(x, self.leaves[i]) for i, x in zip(self._positions, derivatives)}
        for i, x in enumerate(self.leaves):
            if i not in found:
                xp = array_namespace(x)
                found[i] = xp.zeros((*shape, *x.shape), dtype=x.dtype, device=checks.device_of(x))
        leaves = [found[i] for i in range(len(self.leaves))]
        if isinstance(self.structure, Patterned):
            return self.structure.tree(leaves, shape)
        return unflatten(self.structure, leaves)


def _replaced(leaves: Sequence[Array], positions: Sequence[int], arrays: Sequence[Array]) -> list[Array]:
    """Replace the arrays at some positions, and convert the others to the namespace of the new ones."""
    given = replaced(leaves, positions, arrays)
    return in_namespace_of(arrays, given) if len(arrays) < len(given) else given


def _of_one_kind(x: Array, like: Array) -> Array:
    """Convert the derivative of a number to an array: NumPy's operations return scalars, too."""
    return x if type(x) is type(like) or x.shape != () else array_namespace(x).asarray(x)


def _called(
    function: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any], positions: Sequence[int], *chosen: Any
) -> Any:
    """Call a function with some arguments replaced."""
    given = list(args)
    if len(chosen) < len(given) or kwargs:
        given, kwargs = in_namespace_of(trees.leaves(chosen), (given, kwargs))
    for position, value in zip(positions, chosen):
        given[position] = value
    return function(*given, **kwargs)


def argnums_of(name: str, argnums: int | Sequence[int], argument: str = "argnums") -> tuple[int, ...]:
    """Check and list positions of arguments."""
    argnums = checks.plain_integer(argnums)
    if checks.is_array(argnums):
        raise TypeError(
            f"{name}: {argument} must be an integer or a tuple of integers, got an array; `{name}` returns a function, "
            f"which takes the arrays: `{name}(f)(x)`"
        )
    given = argnums if isinstance(argnums, (tuple, list)) else (argnums,)
    return tuple(checks.integer(name, argument, number) for number in given)


def positions_of(name: str, numbers: tuple[int, ...], count: int, argument: str = "argnums") -> list[int]:
    """Convert positions of arguments that may be negative, counted from the end, to nonnegative positions.

    Raises:
        ValueError: There is no such argument, or it is given twice.
    """
    for number in numbers:
        if not -count <= number < count:
            raise ValueError(
                f"{name}: {argument} names argument {number}, and the function was called with {count} positional "
                "arguments; pass arguments with derivatives by position"
            )
    positions = [number % count for number in numbers]
    if len(set(positions)) < len(positions):
        raise ValueError(f"{name}: {argument}={numbers} gives an argument twice")
    return positions


def check_scalar(name: str, flat: Flat, outs: Sequence[Array], holomorphic: bool) -> None:
    """Check that a function to be differentiated returned one number."""
    if not outs:
        raise TypeError(f"{name}: the function must return one number, got {without_arrays(flat.output(outs))}")
    shapes = [tuple(x.shape) for x in outs]
    if shapes != [()]:
        fix = "sum it" if len(outs) == 1 else "return one of them, and the others as auxiliary data with has_aux=True"
        raise TypeError(
            f"{name}: the function must return one number, an array of shape (), got arrays of shapes {shapes}; {fix}, "
            "or use `jacrev` for all derivatives"
        )
    check_field(name, "the output", outs[0], holomorphic, True)


def check_field(name: str, what: str, x: Array, holomorphic: bool, must_be_real: bool) -> None:
    """Check that an array is complex if the function is holomorphic, and otherwise that it is real if needed."""
    xp = array_namespace(x)
    if holomorphic and checks.kind(xp, x.dtype) != "complex":
        raise TypeError(f"{name}: with holomorphic=True {what} must be complex, got {x.dtype}")
    if not holomorphic and must_be_real and checks.kind(xp, x.dtype) != "real":
        if not is_floating(xp, x):
            remedy = "convert it with `xp.astype`"
        elif what == "the output":
            remedy = "take its real part, or pass holomorphic=True"
        else:
            remedy = "take the real and the imaginary part as two, use `jacrev`, or pass holomorphic=True"
        raise TypeError(f"{name}: {what} must be real, got {x.dtype}; {remedy}")
