"""The axes of an operation. They determine its rules for shapes and batches."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from .._core import Aval
from .._functions import BINARY, UNARY
from .._signature import Axis, Layout, Signature, parse


def axis_of(function: str, axis: Any, ndim: int) -> int:
    """Count an axis from the front."""
    if not isinstance(axis, int) and not hasattr(axis, "__index__"):
        raise TypeError(f"{function}: axis must be an integer, got {axis!r}")
    found: int = axis.__index__()
    if not -ndim <= found < ndim:
        raise IndexError(f"{function}: axis {found} is out of bounds for an array of {ndim} axes")
    return found % ndim


def axes_of(function: str, axes: Any, ndim: int) -> tuple[int, ...]:
    """Count axes from the front: one axis, several, or all for None."""
    if axes is None:
        return tuple(range(ndim))
    found = tuple([axis_of(function, axis, ndim) for axis in (axes if isinstance(axes, (tuple, list)) else (axes,))])
    if len(set(found)) < len(found):
        raise ValueError(f"{function}: axes must be different, got {axes}")
    return found


def sizes_of(shape: Any) -> tuple[int, ...]:
    """Return a shape, which may be one number, as a tuple."""
    return tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)


def lifted(xp: Any, mapped: Sequence[bool], arrays: Sequence[Any]) -> list[Any]:
    """Add a batch axis of length 1 to arrays without one."""
    return [x if is_mapped else xp.expand_dims(x, axis=0) for is_mapped, x in zip(mapped, arrays)]


def lengthened(xp: Any, x: Any, is_mapped: bool, ndim: int) -> Any:
    """Insert axes of length 1 after the batch axis, until there are `ndim` other axes."""
    if not is_mapped or x.ndim > ndim:
        return x
    return xp.reshape(x, (x.shape[0], *(1,) * (ndim - x.ndim + 1), *x.shape[1:]))


def spread_over_batch(xp: Any, mapped: Sequence[bool], arrays: Sequence[Any]) -> list[Any]:
    """Add a batch axis to arrays without one, and repeat them for all lanes."""
    size = next(x.shape[0] for is_mapped, x in zip(mapped, arrays) if is_mapped)
    return [
        x if is_mapped else xp.broadcast_to(xp.expand_dims(x, axis=0), (size, *x.shape))
        for is_mapped, x in zip(mapped, arrays)
    ]


def flattened(xp: Any, x: Any, batched: bool = False) -> Any:
    """Flatten all axes except the batch axis."""
    return xp.reshape(x, (x.shape[0], math.prod(x.shape[1:])) if batched else (math.prod(x.shape),))


Params = Mapping[str, Any]
Function = Callable[..., Any]


class Axes:
    """The axes of an operation: its signature, and facts that a signature can't express."""

    __slots__ = ("call", "check", "dtype", "flat", "positions", "same_shape", "signature", "sizes")

    def __init__(
        self,
        signature: str | Callable[..., str],
        *,
        sizes: Function | None = None,
        dtype: Function | None = None,
        positions: Function | None = None,
        check: Function | None = None,
        call: Function | None = None,
        flat: bool = False,
        same_shape: bool = False,
    ) -> None:
        """Describe an operation.

        Args:
            signature: The signature, see `tracing._signature`, or a function that returns it: `rule(ndims, **params)`,
                with the numbers of axes of the arguments (for facades, by name) and the static parameters.
            sizes: The sizes of new axes, by letter: `rule(lengths, **params)`. `lengths` has the lengths of the other
                axes by letter, or as a tuple by parameter.
            dtype: The data type of the result, or a tuple of those of several results: `rule(namespace, avals,
                params)`. By default, a function of the standard is called with an example, and facades promote the data
                types of the arrays.
            positions: The positions of the axes that a parameter names: `rule(ndim, **params)`. By default, the
                parameter is an axis, several, or None for all.
            check: Raises if the arguments don't fit: `rule(lengths, **params)`.
            call: The function for batches: `rule(xp)`. By default, the function of the standard or the facade.
            flat: Whether `axis=None` flattens the array.
            same_shape: Whether the function doesn't broadcast, so arrays without the batch axis are repeated along it.
        """
        self.signature = signature if callable(signature) else parse(signature)
        self.sizes, self.dtype, self.positions, self.check = sizes, dtype, positions, check
        self.call, self.flat, self.same_shape = call, flat, same_shape

    @property
    def has_batches(self) -> bool:
        """Whether the rule for batches can be derived: all arguments have leading axes that broadcast."""
        signature = self.signature
        return isinstance(signature, Signature) and all(each.broadcasts for each in signature.arguments)

    def of(self, ndims: Any, params: Params) -> Signature:
        """Return the signature for arguments with these numbers of axes."""
        return self.signature if isinstance(self.signature, Signature) else parse(self.signature(ndims, **params))

    def layout(self, name: str, signature: Signature, ndims: tuple[int, ...], params: Params) -> Layout:
        """Return the layout: the origin of each axis of the results."""

        def positions(axis: Axis, ndim: int) -> tuple[int, ...]:
            if self.positions is None:
                return axes_of(short(name), params.get(axis.name, axis.default), ndim)
            return axes_of(short(name), self.positions(ndim, **params), ndim or 1)

        return signature.layout(ndims, params, positions)


def key_of(*parts: Any, params: Params) -> Any:
    """Return the key of a result, or None if a parameter, such as a list, has no hash.

    The key contains the types of the parameters: 1 equals True, and data types of two libraries may have the same hash,
    but must not be compared. Floats are text in the key, since 0.0 equals -0.0.
    """
    values = [repr(x) if isinstance(x, float | complex) else x for x in params.values()]
    key = (*parts, *params, *map(type, params.values()), *values)
    try:
        hash(key)
    except TypeError:
        return None
    return key


def short(name: str) -> str:
    """Return the name of an operation in error messages."""
    return name.rpartition(".")[2]


def in_order(
    axes: Axes, params: Mapping[str, Any], ndims: Mapping[str, int]
) -> tuple[Signature, list[str], dict[str, Any]]:
    """Return the signature of a facade, the names of its arrays in this order, and the other parameters."""
    static = {key: x for key, x in params.items() if key not in ndims}
    signature = axes.of(ndims, static)
    names = [each.name for each in signature.arguments if each.name is not None]
    return signature, names or list(ndims), static


def is_flat(axes: Axes, signature: Signature, params: Params) -> bool:
    """Return whether the operation flattens its array."""
    if not axes.flat:
        return False
    named = signature.arguments[0].named
    assert named is not None
    return params.get(named.name, named.default) is None


_ELEMENTWISE: Final = frozenset((*UNARY, *BINARY, "clip", "where"))


def dtype_of_result(namespace: Any, name: str, args: tuple[Any, ...], params: Mapping[str, Any]) -> Any:
    """Find the data type of the result of a function by calling it with an example, and cache it.

    The example has one element. For elementwise functions it is empty, so nothing can warn.
    """
    key = (name, tuple([_kind(x) for x in args]), tuple(map(repr, params.items())))
    found = namespace.dtypes_of_results.get(key)
    if found is None:
        length = 0 if name in _ELEMENTWISE else 1
        given = [x for x in args if isinstance(x, Aval)]
        least = 1 if not length and not any(x.ndim for x in given) else 0
        ones = [
            namespace.base.ones((length,) * max(least, min(x.ndim, 1)), dtype=x.dtype) if isinstance(x, Aval) else x
            for x in args
        ]
        found = namespace.dtypes_of_results[key] = namespace.operations[name].function(*ones, **params).dtype
    return found


def _kind(x: Any) -> Any:
    if isinstance(x, Aval):
        return type(x.dtype), x.dtype, min(x.ndim, 1)
    # Only for integers it depends on the number whether it fits the data type.
    return (int, x) if type(x) is int else type(x)


def dtypes_of_matrix_function(namespace: Any, name: str, *avals: Any) -> tuple[Any, ...]:
    """Find the data types of the results of a matrix function with 1 x 1 matrices, and cache them."""
    key = (name, *((type(x.dtype), x.dtype) for x in avals))
    found: tuple[Any, ...] | None = namespace.dtypes_of_results.get(key)
    if found is None:
        ones = [namespace.base.ones((1, 1), dtype=x.dtype) for x in avals]
        results = namespace.operations[f"linalg.{name}"].function(*ones)
        several = results if isinstance(results, tuple) else (results,)
        found = namespace.dtypes_of_results[key] = tuple(x.dtype for x in several)
    return found


def of_example(name: str) -> Callable[..., Any]:
    """Make the rule that returns the data type of an example. Only the parameter `dtype` affects it."""

    def dtype(namespace: Any, avals: Any, params: Mapping[str, Any]) -> Any:
        given = {"dtype": params["dtype"]} if params.get("dtype") is not None else {}
        return dtype_of_result(namespace, name, tuple(avals), given)

    return dtype


def same(namespace: Any, avals: Any, params: Mapping[str, Any]) -> Any:
    """Return the data type of the first array."""
    return avals[0].dtype


def promoted(namespace: Any, avals: Any, params: Mapping[str, Any]) -> Any:
    """Return the data type to which the arrays promote."""
    dtypes = [x.dtype for x in avals if isinstance(x, Aval)]
    return dtypes[0] if len(dtypes) == 1 else namespace.base.result_type(*dtypes)
