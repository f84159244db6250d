"""Linear functions: the derivative of a function at a point, and the transpose of a linear function."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeAlias

from xpand import array_namespace, trees
from xpand.extend import Array, Namespace, checks, describe

from .._dispatch import pluggable
from .._signatures import linearization
from .._transforms import ArraySpec, Flat, Structure, as_array, differentiable, like_tree, unflatten
from .._transforms_patterns import Patterned, flatten_values
from .._where import clean_tracebacks
from ._arguments import Floating

Function: TypeAlias = Callable[..., Any]
Native = Callable[..., Sequence[Array]]


@pluggable
def residuals(function: Native, /, *specs: ArraySpec) -> tuple[list[Array], Native]:
    """Split a function of arrays into its captured arrays, and a function that takes a list of these first.

    In the new function, the arguments of the original one come after the list.
    """
    return residuals.native_for(specs[0].xp)(function, *specs)


class LinearFunction:
    """A linear function of trees. It is a tree itself, whose leaves are its residuals.

    As a tree, a pullback can be returned from `jit` and `vmap`, carried through a loop, and passed as an argument.
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
        """Store the function that the transformation `name` returns.

        Args:
            name: The transformation, for messages.
            argument: The name of the argument in messages.
            native: The function of arrays of floating-point data types. None if the result is zero.
            takes: The structure of the argument, and its leaves.
            gives: The structure of the result, and its leaves. Leaves that are integers are zeros.
            spread: Whether the argument is a tuple whose parts are passed as separate arguments.
        """
        self._name, self._argument, self._native, self._takes, self._gives = name, argument, native, takes, gives
        self._spread = spread
        self._parts: tuple[list[Array], Any] | None = None

    @clean_tracebacks
    def __call__(self, *args: trees.Tree) -> Any:
        """Apply the function to a tree, or to one tree for each argument of the linearized function.

        Raises:
            TypeError: The number, structure or data types of the arguments are wrong.
            ValueError: A shape is wrong.
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
        """Pickle the function as its residuals and the function of these."""
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


@linearization
@clean_tracebacks
@pluggable
def linearize(function: Function, /, *primals: trees.Tree, has_aux: bool = False) -> tuple[Any, ...]:
    """Evaluate a function, and return its derivative at that point as a function of directions.

    The derivative is that of `jvp`, but does not evaluate the function again for each direction. The residuals stay in
    memory. They are as large as those of reverse mode.

    Args:
        function: Takes trees of arrays and returns one.
        *primals: The arguments at which to evaluate: trees of arrays. Directions of integers and booleans count as
            zeros.
        has_aux: Whether the function returns a pair: the output, and auxiliary data that is not differentiated.

    Returns:
        The output and the derivative; with `has_aux`, followed by the auxiliary data. The derivative takes a direction
        like each argument and returns a tree like the output. It is itself a tree, of its residuals, so `jit` and
        `vmap` can take and return it.

    Raises:
        TypeError: Arguments are not arrays. The derivative raises it for directions of another structure or data type.
        ValueError: The derivative raises it for directions of another shape.

    Source: `jax.linearize`.

    >>> import torch
    >>> value, derivative = linearize(lambda x: x * x, torch.tensor(3.0))
    >>> value, derivative(torch.tensor(1.0)), derivative(torch.tensor(2.0))
    (tensor(9.), tensor(6.), tensor(12.))
    """
    checks.function("linearize", function)
    call = Floating("linearize", function, primals, has_aux)
    arrays = call.chosen(call.leaves)
    if arrays:
        outs, push, aux = linearize.native(*call.leaves)(call, *arrays, has_aux=True)
    else:
        (outs, aux), push = call(), None
    values, rest = call.finished(outs, aux)
    takes, gives = call.inputs_and_outputs(values)
    return call.flat.output(values), LinearFunction("linearize", "tangents", push, takes, gives, spread=True), *rest


@clean_tracebacks
@pluggable
def linear_transpose(function: Function, /, *primals: trees.Tree) -> Function:
    """Return the transpose of a linear function, which is its pullback at any point.

    Args:
        function: Takes trees of arrays and returns one. It is linear in all arguments together.
        *primals: Its arguments: trees of floating-point arrays, or of other objects with `shape` and `dtype`. Values
            are not used.

    Returns:
        A function that takes a tree like the output and returns a tuple with a tree like each argument. It is itself a
        tree, like a pullback of `vjp`.

    Raises:
        TypeError: Arguments are not floating-point. A function that turns out to be nonlinear raises it when it is
            transposed, or when the transpose is called; added constants and choices by a condition may not be detected.
            The transpose raises it for a tree of another structure or data type than the output.
        ValueError: The transpose raises it for a tree of other shapes.

    Source: `jax.linear_transpose`.

    >>> import numpy as np
    >>> transposed = linear_transpose(lambda x: 3.0 * x[:2], np.zeros(3))
    >>> transposed(np.asarray([1.0, 2.0]))
    (array([3., 6., 0.]),)
    """
    checks.function("linear_transpose", function)
    found, structure = flatten_values(primals)
    like = next((x for x in found if checks.is_array(x)), None)
    if like is not None:
        return _transposed(function, found, structure, like)

    def transposed(cotangents: trees.Tree) -> Any:
        # The arguments select the library, so the function can't be transposed earlier.
        given = next((x for x in trees.leaves(cotangents) if checks.is_array(x)), None)
        return _transposed(function, found, structure, as_array("", 0.0, given))(cotangents)

    for leaf in found:
        _check_template(leaf)
    return transposed


def _transposed(
    function: Callable[..., Any], templates: list[Any], structure: Structure, like: Array
) -> LinearFunction:
    """Transpose a linear function of arrays of one library."""
    xp = array_namespace(like)
    leaves = [_stand_in(xp, x, like) for x in templates]
    differentiable("linear_transpose", "primals", leaves)
    flat = Flat("linear_transpose", function, structure, False)
    outputs: list[ArraySpec] = []

    def of_arrays(*arrays: Array) -> tuple[Array, ...]:
        outs, _ = flat(*arrays)
        differentiable("linear_transpose", "the output", outs)
        device = checks.device_of(like)
        outputs[:] = [ArraySpec(xp, tuple(x.shape), x.dtype, device) for x in outs]
        return outs

    pull = linear_transpose.native(*leaves)(of_arrays, *leaves)
    assert flat.result is not None, "the function has been called"
    takes, gives = (flat.result, tuple(outputs)), (structure, tuple(map(ArraySpec.of, leaves)))
    return LinearFunction("linear_transpose", "cotangents", pull, takes, gives)


def _check_template(x: Any) -> None:
    if not isinstance(x, (bool, int, float, complex)) and not (hasattr(x, "shape") and hasattr(x, "dtype")):
        raise TypeError(f"linear_transpose: primals must be arrays, or have `shape` and `dtype`, got {describe(x)}")


def _stand_in(xp: Namespace, x: Any, like: Array) -> Array:
    """Return an array unchanged, or make one with the shape and data type of another object."""
    if checks.is_array(x):
        return x
    _check_template(x)
    if not hasattr(x, "dtype"):
        return as_array("linear_transpose: primals holds", x, like)
    name = getattr(x.dtype, "name", None) or getattr(x.dtype, "__name__", None) or str(x.dtype).rpartition(".")[2]
    return xp.zeros(tuple(x.shape), dtype=getattr(xp, name), device=checks.device_of(like))
