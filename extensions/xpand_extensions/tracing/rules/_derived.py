"""The axes of an operation, from which the rules for shapes and batches are derived."""

from collections.abc import Callable, Mapping
from typing import Any

from .._signature import Axis, Layout, Signature, parse
from ._axes import axes_of

Params = Mapping[str, Any]
Function = Callable[..., Any]


class Axes:
    """The axes of an operation: its signature, and what a signature can't say."""

    __slots__ = (
        "call",
        "check",
        "combine",
        "dtype",
        "flat",
        "positions",
        "same_shape",
        "signature",
        "sizes",
    )

    def __init__(
        self,
        signature: str | Callable[..., str],
        *,
        combine: str = "sum",
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
            signature: The signature, see `tracing._signature`; or a function that writes it for the numbers of axes of
                the arguments and the static parameters: `rule(ndims, **params)`. Facades have the numbers by name.
            combine: How the results for parts of a reduced axis are combined, if the axis may be split.
            sizes: The sizes of axes that have their own, by letter: `rule(lengths, **params)`. The lengths of the other
                axes are given by letter, or by parameter as a tuple.
            dtype: The data type of the result, or a tuple with those of the results: `rule(namespace, avals, params)`.
                By default, a function of the standard is called with an example, and for facades the data types of the
                arrays are promoted.
            positions: Where the axes are that a parameter names: `rule(ndim, **params)`. By default, the parameter is
                an axis, several, or None for all.
            check: Raise where the arguments don't fit: `rule(lengths, **params)`.
            call: The function for batches: `rule(xp)`. By default, that of the standard, or the facade's.
            flat: Whether `axis=None` stands for all elements in one line.
            same_shape: Whether the function doesn't broadcast: arrays without the batch axis are repeated along it.
        """
        self.signature = signature if callable(signature) else parse(signature)
        self.combine, self.sizes, self.dtype, self.positions, self.check = combine, sizes, dtype, positions, check
        self.call, self.flat, self.same_shape = call, flat, same_shape

    @property
    def has_batches(self) -> bool:
        """Whether the rule for batches can be derived: all arguments have leading axes that broadcast."""
        signature = self.signature
        return isinstance(signature, Signature) and all(each.broadcasts for each in signature.arguments)

    def of(self, ndims: Any, params: Params) -> Signature:
        """Return the signature for arguments of certain numbers of axes."""
        return self.signature if isinstance(self.signature, Signature) else parse(self.signature(ndims, **params))

    def layout(self, name: str, signature: Signature, ndims: tuple[int, ...], params: Params) -> Layout:
        """Return where the axes of the results come from."""

        def positions(axis: Axis, ndim: int) -> tuple[int, ...]:
            if self.positions is None:
                return axes_of(short(name), params.get(axis.name, axis.default), ndim)
            return axes_of(short(name), self.positions(ndim, **params), ndim or 1)

        return signature.layout(ndims, params, positions)


def key_of(*parts: Any, params: Params) -> Any:
    """Return the key of a result; None where a parameter, such as a list, has no hash.

    It has the types of the parameters, since 1 equals True, and data types of two libraries have the same hash but must
    not be compared. Numbers are keys as text, since 0.0 equals -0.0.
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
    """Return the signature of a facade, the names of its arrays in that order, and the other parameters."""
    static = {key: x for key, x in params.items() if key not in ndims}
    signature = axes.of(ndims, static)
    names = [each.name for each in signature.arguments if each.name is not None]
    return signature, names or list(ndims), static


def is_flat(axes: Axes, signature: Signature, params: Params) -> bool:
    """Tell whether all elements are in one line."""
    if not axes.flat:
        return False
    named = signature.arguments[0].named
    assert named is not None
    return params.get(named.name, named.default) is None
