"""Shared code of the transformations. They turn a function of trees into one of arrays, which libraries transform.

Trees are therefore the same on every library: optree determines the nodes.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, TypeVar

from xpand import array_namespace, choose_namespace, library_name, namespace, trees, wrapped_libraries
from xpand.extend import Array, Device, DType, Namespace, checks, describe, import_module, same_structure, untraced

from ._subclasses import refuse_subclass
from ._transforms_patterns import Patterned, flatten_values, unflatten as unflatten_values

F = TypeVar("F", bound=Callable[..., Any])
S = TypeVar("S")

Structure: TypeAlias = "trees.Structure | Patterned | Partial"


class Flat:
    """A function of arrays that calls a function of trees, and stores the parts of the result that are no arrays.

    A call returns two tuples of arrays: from the result and from the auxiliary data (`has_aux`).
    """

    __slots__ = ("_aux", "_flatten", "_result", "function", "has_aux", "name", "structure")

    def __init__(
        self,
        name: str,
        function: Callable[..., Any],
        structure: Structure,
        has_aux: bool,
        flatten: Callable[[trees.Tree], tuple[list[Any], Structure]] = flatten_values,
    ) -> None:
        """Store the function, which the transformation `name` calls with trees of a structure.

        The patterns of containers in its result are appended to the auxiliary data, unless `flatten` makes them leaves.
        """
        self.name, self.function, self.structure, self.has_aux = name, function, structure, has_aux
        self._flatten = flatten
        # Lists: torch.compile loses attributes that are set after a branch or a loop in the function.
        self._result: list[Structure] = []
        self._aux: list[Partial] = []

    @property
    def result(self) -> "Structure | None":
        """The structure of the last result."""
        return self._result[0] if self._result else None

    @result.setter
    def result(self, structure: "Structure") -> None:
        self._result[:] = [structure]

    def __call__(self, *leaves: Array) -> tuple[tuple[Array, ...], tuple[Array, ...]]:
        """Call the function of trees."""
        result = self.function(*unflatten(self.structure, leaves))
        aux: tuple[Array, ...] = ()
        if self.has_aux:
            if not isinstance(result, tuple) or len(result) != 2:
                raise TypeError(
                    f"{self.name}: with has_aux=True the function must return a pair (output, auxiliary data), got "
                    f"{describe(result)}"
                )
            result, aux = result
            aux, rest = divided(aux)
            self._aux[:] = [rest]
        arrays, self.result = self._flatten(result)
        if type(self.result) is Patterned:
            aux += self.result.take()
        like = next((leaf for leaf in (*arrays, *leaves) if checks.is_array(leaf)), None)
        return tuple(as_array(f"{self.name}: the function returned", leaf, like) for leaf in arrays), aux

    def output(self, arrays: Sequence[Array]) -> trees.Tree:
        """Combine the arrays of the result with its structure."""
        return unflatten(self._result[0], arrays)

    def take_patterns(self, aux: Sequence[Array]) -> Sequence[Array]:
        """Take the patterns of the result from the end of the auxiliary data, and return the rest."""
        return self.result.give(aux) if type(self.result) is Patterned else aux

    def aux(self, arrays: Sequence[Array]) -> trees.Tree:
        """Combine the arrays of the auxiliary data with its other parts."""
        return self._aux[0].tree(arrays)


@dataclass(frozen=True)
class ArraySpec:
    """The library, shape, data type and device of an array, without its values."""

    xp: Namespace
    shape: tuple[int, ...]
    dtype: DType
    device: Device

    def __reduce__(self) -> Any:
        """Pickle the namespace by its name."""
        return _spec, (self.xp.__name__, self.shape, self.dtype, self.device)

    @property
    def is_floating(self) -> bool:
        """Whether the data type is floating-point, real or complex."""
        return checks.kind(self.xp, self.dtype) in checks.FLOATING

    @classmethod
    def of(cls, x: Array) -> "ArraySpec":
        """Describe an array."""
        return cls(array_namespace(x), tuple(x.shape), x.dtype, checks.device_of(x))

    def zeros(self) -> Array:
        """Make an array of zeros with this spec."""
        return self.xp.zeros(self.shape, dtype=self.dtype, device=self.device)

    def conforming(self, what: str, leaf: Any) -> Array:
        """Check that a derivative has this type, and return it. Derivatives of integers are always zero."""
        if not self.is_floating:
            return self.zeros()
        leaf = self.array(what, leaf)
        if tuple(leaf.shape) != self.shape:
            raise TypeError(f"{what} must have the shape {self.shape}, got {tuple(leaf.shape)}")
        if leaf.dtype != self.dtype:
            raise TypeError(f"{what} must have the data type {self.dtype}, got {leaf.dtype}")
        return leaf

    def array(self, what: str, leaf: Any) -> Array:
        """Return an array unchanged; convert a number to this data type."""
        if isinstance(leaf, (bool, int, float)):
            return self.xp.asarray(leaf, dtype=self.dtype, device=self.device)
        refuse_subclass(what, type(leaf))
        return leaf if checks.is_array(leaf) else as_array(f"{what} is", leaf, None)


def _spec(namespace: str, shape: tuple[int, ...], dtype: DType, device: Device) -> ArraySpec:
    return ArraySpec(import_module(namespace), shape, dtype, device)


class Partial:
    """The structure of a tree in which only some leaves are replaced."""

    __slots__ = ("constants", "structure")

    def __init__(self, structure: trees.Structure, constants: Sequence[Any]) -> None:
        """Store the structure, and its leaves with `HOLE` in place of the replaced ones."""
        self.structure, self.constants = structure, constants

    def tree(self, leaves: Iterable[Any]) -> trees.Tree:
        """Make the tree from the replaced leaves."""
        return trees.unflatten(self.structure, self.filled(leaves))

    def filled(self, leaves: Iterable[Any]) -> list[Any]:
        """List all leaves, with the replaced leaves in their positions."""
        given = iter(leaves)
        return [next(given) if x is HOLE else x for x in self.constants]

    def given(self, leaves: Sequence[Any]) -> list[Any]:
        """Select the replaced leaves."""
        return [leaf for leaf, x in zip(leaves, self.constants) if x is HOLE]

    def mapped(self, function: Callable[[Any], Any]) -> "Partial":
        """Apply a function to the constant leaves. Derivatives have zeros in their place."""
        return Partial(self.structure, [x if x is HOLE else function(x) for x in self.constants])


class _Hole:
    """Marks the position of a leaf."""

    def __reduce__(self) -> str:
        return "HOLE"

    def __repr__(self) -> str:
        return "·"


HOLE: Final = _Hole()


def divided(tree: trees.Tree) -> tuple[tuple[Array, ...], Partial]:
    """Split a tree into its arrays and its other parts."""
    leaves, structure = trees.flatten(tree)
    arrays = tuple([x for x in leaves if checks.is_array(x)])
    return arrays, Partial(structure, [HOLE if checks.is_array(x) else x for x in leaves])


def unflatten(structure: Structure, leaves: Iterable[Any]) -> trees.Tree:
    """Make the tree from its structure and its leaves."""
    return structure.tree(leaves) if isinstance(structure, Partial) else unflatten_values(structure, leaves)


def replaced(leaves: Iterable[Any], positions: Iterable[int], others: Iterable[Any]) -> list[Any]:
    """Return a list of the leaves with others at some positions."""
    new = list(leaves)
    for position, x in zip(positions, others):
        new[position] = x
    return new


def weak_numbers(like: Array | None) -> bool:
    """Return whether Python numbers stay numbers in functions of arrays like `like`.

    Python numbers are weakly typed: with an array, they take its data type. Arrays made of numbers are weakly typed
    only on JAX and, with shape (), on PyTorch.
    """
    return like is None or not _has_weak_arrays(library_name(array_namespace(like)))


@untraced
def _has_weak_arrays(library: str) -> bool:
    found = _WEAK_ARRAYS.get(library)
    if found is None:
        found = library in wrapped_libraries()
        if found:
            xp = namespace(library)
            found = bool((xp.asarray(1) * xp.ones(1, dtype=xp.float32)).dtype == xp.float32)
        _WEAK_ARRAYS[library] = found
    return found


_WEAK_ARRAYS: Final[dict[str, bool]] = {}


def arrays_and_numbers(
    function: str, name: str, tree: trees.Tree, others: trees.Tree = None
) -> "tuple[list[Array], trees.Structure | Partial]":
    """Flatten a tree like `arrays_of`, but leave Python numbers in the structure if `weak_numbers` says so.

    Raises:
        TypeError: As for `arrays_of`, except that there need not be arrays.
    """
    leaves, structure = trees.flatten(tree)
    around = leaves if others is None else (*leaves, *trees.leaves(others))
    like = next((leaf for leaf in around if checks.is_array(leaf)), None)
    spec: trees.Structure | Partial
    if all(map(checks.is_array, leaves)) or not weak_numbers(like):
        arrays = [as_array(f"{function}: {name} holds", leaf, like) for leaf in leaves]
        spec = structure
    else:
        arrays = [leaf for leaf in leaves if not is_python_number(leaf)]
        for leaf in arrays:
            as_array(f"{function}: {name} holds", leaf, like)
        spec = Partial(structure, [leaf if is_python_number(leaf) else HOLE for leaf in leaves])
    if arrays:
        checks.namespace_of(function, **{f"{name}[{i}]": x for i, x in enumerate(arrays)})
    return arrays, spec


def is_python_number(x: Any) -> bool:
    """Return whether an object is a Python number, and no array."""
    return isinstance(x, (bool, int, float, complex)) and not checks.is_array(x)


def as_array(what: str, value: Any, like: Array | ArraySpec | None) -> Array:
    """Return an array unchanged; convert a Python number to the library and the device of `like`."""
    if checks.is_array(value):
        return value
    if is_number(value):
        if isinstance(like, ArraySpec):
            return like.xp.asarray(value, device=like.device)
        xp = array_namespace(like) if like is not None else choose_namespace(value)
        return xp.asarray(value, device=None if like is None else checks.device_of(like))
    what = what.replace("the arguments holds", "the arguments hold")
    builtin = type(value).__module__ == "builtins"
    remedy = checks.conversion(value) or ("" if builtin else "; register its class with `xpand.trees.register`")
    raise TypeError(f"{what} {describe(value)}, which is neither an array nor a number, nor a tree of them{remedy}")


def is_number(value: Any) -> bool:
    """Return whether an object is an array or a Python number."""
    return isinstance(value, (bool, int, float, complex)) or checks.is_array(value)


def without_arrays(tree: trees.Tree) -> str:
    """Describe a result without arrays, for a message."""
    return "None; does it lack a `return`?" if tree is None else f"{tree!r}, which holds no array"


def promoted_number(what: str, value: Any, given: Sequence[Array]) -> Array:
    """Return an array unchanged; convert a Python number. A float takes the data type of the given real arrays."""
    array = as_array(what, value, next(iter(given), None))
    if not isinstance(value, float) or checks.is_array(value):
        return array
    xp = array_namespace(array)
    real = [x.dtype for x in given if array_namespace(x) is xp and xp.isdtype(x.dtype, "real floating")]
    return xp.astype(array, xp.result_type(*real)) if real else array


def values_of(function: str, name: str, tree: trees.Tree, others: trees.Tree = None) -> tuple[list[Array], Structure]:
    """Flatten a tree like `arrays_of`. The leaves of containers are only their values. The tree may be empty.

    Floats take the data type of the real arrays among the leaves and in `others`.
    """
    leaves, structure = flatten_values(tree)
    if not leaves:
        return [], structure
    if not all(map(checks.is_array, leaves)):
        around = leaves if others is None else (*leaves, *trees.leaves(others))
        given = [x for x in around if checks.is_array(x)]
        leaves = [promoted_number(f"{function}: {name} holds", x, given) for x in leaves]
    return _checked(function, name, leaves, structure, others)


def arrays_of(
    function: str, name: str, tree: trees.Tree, others: trees.Tree = None
) -> tuple[list[Array], trees.Structure]:
    """Flatten a tree of arrays and Python numbers into arrays of one library.

    Numbers take the library of the arrays. If there are none, they take that of arrays in `others`, or the default one.

    Raises:
        TypeError: A leaf is something else, or arrays belong to two libraries.
    """
    leaves, structure = trees.flatten(tree)
    return _checked(function, name, leaves, structure, others)


def _checked(function: str, name: str, leaves: list[Any], structure: S, others: trees.Tree) -> tuple[list[Array], S]:
    around = leaves if others is None else (*leaves, *trees.leaves(others))
    like = next((leaf for leaf in around if checks.is_array(leaf)), None)
    arrays = [as_array(f"{function}: {name} holds", leaf, like) for leaf in leaves]
    if not arrays:
        raise TypeError(f"{function}: {name} must hold an array or a number, got none")
    checks.namespace_of(function, **{f"{name}[{i}]": x for i, x in enumerate(arrays)})
    return arrays, structure


def differentiable(function: str, name: str, arrays: Sequence[Array]) -> None:
    """Check that arrays have floating-point data types.

    Raises:
        TypeError: One has another data type.
    """
    for x in arrays:
        if checks.kind_of(x) not in checks.FLOATING:
            raise TypeError(
                f"{function}: {name} must have floating-point data types, real or complex, got {x.dtype}; convert "
                "integers with `xp.astype` first"
            )


def is_floating(xp: Namespace, x: Array) -> bool:
    """Return whether an array has a floating-point data type, real or complex."""
    return checks.kind(xp, x.dtype) in checks.FLOATING


def like_tree(
    function: str, name: str, tree: trees.Tree, structure: Structure, arrays: Sequence[Array | ArraySpec]
) -> list[Array]:
    """Flatten a tree of derivatives, which must have the structure, the shapes and the data types of another tree.

    Integers have no derivatives: an array of any data type is accepted for them, and None is returned.

    Numbers, and arrays without axes, are converted to the data type.

    Raises:
        TypeError: Another structure, other data types, or a complex number for a real array.
        ValueError: Other shapes.
    """
    leaves, found = flatten_values(tree) if type(structure) is Patterned else trees.flatten(tree)
    if not same_structure(found, structure):
        raise TypeError(f"{function}: {name} must have the structure {structure}, got {found}")
    result = []
    for leaf, x in zip(leaves, arrays):
        like = x if isinstance(x, ArraySpec) else ArraySpec.of(x)
        leaf = as_array(f"{function}: {name} holds", leaf, like)
        refuse_subclass(f"{function}: {name}", type(leaf))
        if tuple(leaf.shape) != like.shape:
            raise ValueError(f"{function}: {name} must have the shape {like.shape}, got {tuple(leaf.shape)}")
        if not like.is_floating:
            leaf = None
        elif leaf.dtype != like.dtype:
            if checks.is_array(leaf) and leaf.ndim:
                raise TypeError(f"{function}: {name} must have the data type {like.dtype}, got {leaf.dtype}")
            xp = array_namespace(leaf)
            if xp.isdtype(leaf.dtype, "complex floating") and not xp.isdtype(like.dtype, "complex floating"):
                raise TypeError(
                    f"{function}: {name} must be real, of the data type {like.dtype}, got the complex {leaf.dtype}; "
                    "take the real part, or make the argument complex with `xp.astype`"
                )
            leaf = xp.astype(leaf, like.dtype)
        result.append(leaf)
    return result
