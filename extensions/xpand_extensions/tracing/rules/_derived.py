"""Rules for shapes and batches, derived from axis signatures."""

import inspect
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

from ..._dispatch import OPERATIONS
from .._core import Aval
from .._functions import FUNCTIONS, parsed
from .._indexing import INDEXING, applied
from .._shapes import broadcast
from .._signature import Axis, Dimension, Layout, Signature, parse, shape_of
from ._axes import axes_of, flattened
from ._dtypes import dtype_of_result, dtypes_of_matrix_function, of_example, promoted

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


class _Memory(dict[Any, Any]):
    """Results by key, as long as there are few."""

    def add(self, key: Any, value: Any) -> None:
        if len(self) >= 256:
            self.clear()
        self[key] = value


def _key(*parts: Any, params: Params) -> Any:
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


def _in_order(
    axes: Axes, params: Mapping[str, Any], ndims: Mapping[str, int]
) -> tuple[Signature, list[str], dict[str, Any]]:
    """Return the signature of a facade, the names of its arrays in that order, and the other parameters."""
    static = {key: x for key, x in params.items() if key not in ndims}
    signature = axes.of(ndims, static)
    names = [each.name for each in signature.arguments if each.name is not None]
    return signature, names or list(ndims), static


def _is_flat(axes: Axes, signature: Signature, params: Params) -> bool:
    """Tell whether all elements are in one line."""
    if not axes.flat:
        return False
    named = signature.arguments[0].named
    assert named is not None
    return params.get(named.name, named.default) is None


# Shapes


def shape_rule(name: str, axes: Axes) -> Function:
    """Derive the rule for the shapes and data types of results."""
    dtype = axes.dtype or _dtype_rule(name, axes)
    if isinstance(axes.signature, Signature) and axes.signature.is_elementwise:

        def elementwise(namespace: Any, /, *args: Any, **params: Any) -> Aval:
            avals = [x for x in args or params.values() if isinstance(x, Aval)]
            shape = avals[0].shape if len(avals) == 1 else broadcast(*[x.shape for x in avals])
            device = params.get("device") if params else None
            return Aval(shape, dtype(namespace, args or avals, params), _device(avals) if device is None else device)

        return elementwise
    known = _Memory()

    def rule(namespace: Any, /, *args: Any, **params: Any) -> Any:
        avals: Sequence[Any] = args
        if args:
            signature, static = axes.of([len(getattr(x, "shape", ())) for x in args], params), params
        else:
            ndims = {key: x.ndim for key, x in params.items() if isinstance(x, Aval)}
            signature, names, static = _in_order(axes, params, ndims)
            avals = [params.get(key) for key in names]
        shapes = tuple([x.shape if isinstance(x, Aval) else () for x in avals])
        key = _key(shapes, params=static)
        found = known.get(key)
        if found is None:
            found = _shapes(name, axes, signature, shapes, static)
            if key is not None:
                known.add(key, found)
        dtypes, device = dtype(namespace, avals, static), _device([x for x in avals if isinstance(x, Aval)])
        if len(signature.results) == 1 and not signature.results[0].repeated:
            return Aval(found[0], dtypes, device)
        each = dtypes if isinstance(dtypes, tuple) else (dtypes,) * len(found)
        return tuple([Aval(shape, one, device) for shape, one in zip(found, each)])

    return rule


def _device(avals: Sequence[Aval]) -> Any:
    for x in avals:
        if x.device is not None:
            return x.device
    return None


def _dtype_rule(name: str, axes: Axes) -> Function:
    if name not in FUNCTIONS:
        return promoted
    if not isinstance(axes.signature, Signature) or any(each.letters for each in axes.signature.arguments):

        def of_matrices(namespace: Any, avals: Any, params: Params) -> Any:
            count = len(parsed(FUNCTIONS[name]).arrays)
            found = dtypes_of_matrix_function(namespace, short(name), *avals[:count])
            return found[0] if len(found) == 1 else found

        return of_matrices
    if axes.signature.is_elementwise:
        return lambda namespace, args, params: dtype_of_result(namespace, name, args, params)

    return of_example(name)


def _shapes(
    name: str, axes: Axes, signature: Signature, shapes: Sequence[tuple[int, ...]], params: Params
) -> list[tuple[int, ...]]:
    """Return the shapes of the results, or raise `ValueError` where the arguments don't fit each other."""
    if _is_flat(axes, signature, params):
        line = [(math.prod(shape),) for shape in shapes]
        found = _shapes(name, axes, signature, line, {**params, "axis": 0, "keepdims": False})
        if params.get("keepdims"):
            return [(1,) * len(shapes[0])]
        is_same = [each.named is not None and each.named.size is None for each in signature.results]
        return [shapes[0] if same else shape for same, shape in zip(is_same, found)]
    _check_letters(name, signature, shapes)
    layout = axes.layout(name, signature, tuple(map(len, shapes)), params)
    strict = signature.arguments[-1].repeated
    if strict and any(len(shape) != len(shapes[0]) for shape in shapes):
        raise _not_fitting(name, axes, signature, shapes, params, False)
    for dimension in (*itertools.chain(*layout.results), *layout.reduced):
        if len(dimension.sources) > 1 and dimension.size is None:
            lengths = {shapes[i][j] for i, j in dimension.sources}
            if len(lengths - {1} if dimension.broadcasts and not strict else lengths) > 1:
                raise _not_fitting(name, axes, signature, shapes, params, dimension.broadcasts)
    sizes: Mapping[str, Any] = {}
    if axes.sizes is not None or axes.check is not None:
        given = _lengths(signature, layout, shapes)
        if axes.check is not None:
            axes.check(given, **params)
        sizes = {} if axes.sizes is None else axes.sizes(given, **params)
    found = [tuple([_size(each, shapes, sizes) for each in result]) for result in layout.results]
    if signature.results[0].repeated:  # as many as the axis is long that they lack
        i, j = layout.reduced[0].sources[0]
        return found * shapes[i][j]
    return found


def _not_fitting(
    name: str, axes: Axes, signature: Signature, shapes: Sequence[tuple[int, ...]], params: Params, broadcasts: bool
) -> ValueError:
    """Make the error of shapes that don't fit each other."""
    given = f"shapes {', '.join(map(str, shapes))}"
    if signature.arguments[-1].repeated:
        named = signature.arguments[-1].named
        wanted = "arrays must have one shape" if named is None else f"shapes must agree but along `{named.name}`"
        return ValueError(f"{short(name)}: {wanted}, got {given}")
    if broadcasts:
        return ValueError(f"{short(name)}: {given} can't be broadcast together")
    of = "" if isinstance(axes.signature, Signature) else "".join(f"{key} {x} of " for key, x in params.items())
    return ValueError(f"{short(name)}: {of}{given} don't fit {signature}: axes of one letter differ in length")


def _size(dimension: Dimension, shapes: Sequence[tuple[int, ...]], sizes: Mapping[str, Any]) -> int:
    size = dimension.size
    if isinstance(size, tuple):
        found = sizes[size[0]]
        return found[size[1]] if isinstance(found, tuple) else found  # type: ignore[no-any-return]
    if size is not None:
        return size
    lengths = [shapes[i][j] for i, j in dimension.sources]
    return next((length for length in lengths if length != 1), 1)


def _lengths(signature: Signature, layout: Layout, shapes: Sequence[tuple[int, ...]]) -> dict[str, Any]:
    """Return the lengths of axes by letter, and by parameter as a tuple; of repeated arguments one for each."""
    found: dict[str, Any] = {"*": len(shapes)}
    for i, shape in enumerate(shapes):
        argument = signature.argument(i)
        letters = argument.letters
        found.update(zip(letters, shape[len(shape) - len(letters) :]))
        if argument.named is not None:
            missing = layout.ndim - len(shape)
            at = layout.positions[argument.named.name]
            lengths = tuple([shape[j - missing] if j >= missing else 1 for j in at])
            found[argument.named.name] = found.get(argument.named.name, ()) + lengths if argument.repeated else lengths
    return found


def _check_letters(name: str, signature: Signature, shapes: Sequence[tuple[int, ...]]) -> None:
    """Raise `ValueError` where an array has too few axes, or those with one letter differ."""
    for i, shape in enumerate(shapes):
        argument = signature.argument(i)
        letters = argument.letters
        if not letters and argument.broadcasts:
            continue
        more = len(shape) - len(letters)
        given = shape[more:] if more > 0 else shape
        if more < 0 or (more and not argument.broadcasts) or len(set(zip(letters, given))) > len(set(letters)):
            square = "square " if len(set(letters)) < len(letters) else ""
            kind = ("numbers", "vectors", f"{square}matrices")[min(len(letters), 2)]
            array = argument.name or (parsed(FUNCTIONS[name]).arrays[i] if name in FUNCTIONS else "the array")
            raise ValueError(f"{short(name)}: {array} must hold {kind}, {shape_of(argument)}, got the shape {shape}")


# Batches


class _Plan(NamedTuple):
    """How the operation is done on batches of certain shapes."""

    params: Params
    """The static parameters, with the axes behind the batch axis."""
    layout: Layout
    ndims: tuple[int, ...]
    """To how many axes behind the batch axis arrays are lengthened; none if they stay."""
    shape: tuple[int, ...] | None
    """The shape of a result of elements that are put in one line; None if they aren't."""
    has_axis: bool
    """Whether there is an axis to reduce. Not all functions reduce none."""


def batching_rule(name: str, axes: Axes) -> Function:
    """Derive the rule for batches: the batch axis is one more of those that broadcast."""
    call, signature = _caller(name, axes), axes.signature
    assert isinstance(signature, Signature)
    if signature.is_elementwise and not axes.same_shape:

        def elementwise(xp: Any, mapped: Any, /, *args: Any, **params: Any) -> Any:
            if args:
                if len(args) > 1:
                    ndim = max([x.ndim - is_mapped for x, is_mapped in zip(args, mapped) if hasattr(x, "dtype")])
                    args = tuple([lengthened(xp, x, is_mapped, ndim) for x, is_mapped in zip(args, mapped)])
                return call(xp, args, params)
            names = _arrays(mapped, params)
            if len(names) > 1:
                ndim = max([params[key].ndim - mapped[key] for key in names])
                params |= {key: lengthened(xp, params[key], mapped[key], ndim) for key in names}
            return call(xp, (), params)

        return elementwise
    order = [each.name for each in signature.arguments if each.name is not None]
    plans = _Memory()

    def rule(xp: Any, mapped: Any, /, *args: Any, **params: Any) -> Any:
        names: Sequence[str] = ()
        arrays: Sequence[Any] = args
        flags, static = mapped, params
        if not args:
            present = _arrays(mapped, params)
            names = order or present
            arrays = [params[key] if key in present else None for key in names]
            flags = tuple([key in present and mapped[key] for key in names])
            static = {key: x for key, x in params.items() if key not in names}
        shapes = tuple([_shape(x, is_mapped) for x, is_mapped in zip(arrays, flags)])
        key = _key(flags, shapes, params=static)
        plan = plans.get(key)
        if plan is None:
            plan = _planned(name, axes, signature, flags, shapes, static, by_name=not args)
            if key is not None:
                plans.add(key, plan)
        if plan.shape is not None:
            arrays = [flattened(xp, x, is_mapped) for x, is_mapped in zip(arrays, flags)]
        if axes.same_shape:
            shapes = tuple([_shape(x, is_mapped) for x, is_mapped in zip(arrays, flags)])
            arrays = _of_same_shape(xp, signature, plan.layout, arrays, flags, shapes)
        elif plan.ndims:
            arrays = [lengthened(xp, x, is_mapped, ndim) for x, is_mapped, ndim in zip(arrays, flags, plan.ndims)]
        if not plan.has_axis:
            arrays = [xp.expand_dims(arrays[0], axis=1)]
        if args:
            found = call(xp, arrays, plan.params)
        else:
            found = call(xp, (), {**params, **plan.params, **{k: x for k, x in zip(names, arrays) if x is not None}})
        return found if plan.shape is None else xp.reshape(found, (found.shape[0], *plan.shape))

    return rule


def _planned(
    name: str,
    axes: Axes,
    signature: Signature,
    flags: Sequence[bool],
    shapes: Sequence[tuple[int, ...]],
    params: Params,
    by_name: bool,
) -> _Plan:
    """Plan how an operation is done on batches."""
    _check_letters(name, signature, shapes)
    shape = None
    if _is_flat(axes, signature, params):
        shape = _shapes(name, axes, signature, shapes, params)[0]
        shapes = [(math.prod(each),) for each in shapes]
        params = {key: x for key, x in params.items() if key != "keepdims"} | {"axis": 0}
    layout = axes.layout(name, signature, tuple(map(len, shapes)), params)
    ndims = tuple([layout.ndim + len(signature.argument(i).letters) for i in range(len(shapes))])
    params = _shifted(axes, signature, layout, params, from_end=not by_name and len(shapes) > 1)
    has_axis = all(layout.positions.values()) or signature.results[0].named is not None
    if not has_axis:
        params = {key: x for key, x in params.items() if key != "keepdims"} | dict.fromkeys(layout.positions, 1)
    if not by_name:  # not every function takes all parameters: those that are None are omitted
        params = {key: x for key, x in params.items() if x is not None}
    lengthens = any(is_mapped and len(each) < ndim for is_mapped, each, ndim in zip(flags, shapes, ndims))
    return _Plan(params, layout, ndims if lengthens else (), shape, has_axis)


def lengthened(xp: Any, x: Any, is_mapped: bool, ndim: int) -> Any:
    """Insert axes of length 1 behind the batch axis, to have `ndim` others."""
    if not is_mapped or x.ndim > ndim:
        return x
    return xp.reshape(x, (x.shape[0], *(1,) * (ndim - x.ndim + 1), *x.shape[1:]))


def _arrays(mapped: Mapping[str, Any], params: Mapping[str, Any]) -> list[str]:
    """Return the names of the parameters that are arrays."""
    return [key for key, x in params.items() if isinstance(mapped[key], bool) and hasattr(x, "dtype")]


def _shape(x: Any, is_mapped: bool) -> tuple[int, ...]:
    return tuple(x.shape)[is_mapped:] if hasattr(x, "dtype") else ()


def _of_same_shape(
    xp: Any,
    signature: Signature,
    layout: Layout,
    arrays: Sequence[Any],
    flags: Sequence[bool],
    shapes: Sequence[tuple[int, ...]],
) -> list[Any]:
    """Broadcast the leading axes of all arrays, but for those that a parameter names."""
    size = next(x.shape[0] for x, is_mapped in zip(arrays, flags) if is_mapped)
    counts = [len(signature.argument(i).letters) for i in range(len(arrays))]
    leads = [(1,) * (layout.ndim - len(shape) + n) + shape[: len(shape) - n] for shape, n in zip(shapes, counts)]
    named = {position for key in signature.taken for position in layout.positions[key]}
    found = []
    for x, is_mapped, shape, lead, n in zip(arrays, flags, shapes, leads, counts):
        if not hasattr(x, "dtype"):
            found.append(x)
            continue
        whole = [
            lead[i] if i in named else next((other[i] for other in leads if other[i] != 1), 1) for i in range(len(lead))
        ]
        wanted = (size, *whole, *shape[len(shape) - n :])
        x = lengthened(xp, x, is_mapped, layout.ndim + n)
        found.append(x if tuple(x.shape) == wanted else xp.broadcast_to(x, wanted))
    return found


def _shifted(axes: Axes, signature: Signature, layout: Layout, params: Params, from_end: bool) -> dict[str, Any]:
    """Return the parameters, with axes counted from the front behind the batch axis, or from the end."""
    found = dict(params)
    for key, positions in layout.positions.items():
        value = params.get(key)
        if value is None and axes.positions is not None:
            value = axes.positions(layout.ndim, **params)
        elif value is None:
            named = [each.named for each in (*signature.arguments, *signature.results)]
            value = next(axis.default for axis in named if axis is not None and axis.name == key)
        shift = -layout.ndim if from_end and key in signature.taken else 1
        moved = tuple([position + shift for position in positions])
        found[key] = moved if value is None or isinstance(value, (tuple, list)) else moved[0]
    return found


def _caller(name: str, axes: Axes) -> Callable[[Any, Sequence[Any], Params], Any]:
    """Return how to call the operation: with the arrays of a function of the standard, or all by name of a facade."""
    if axes.call is not None:
        of = axes.call
        return lambda xp, arrays, params: of(xp)(*arrays, **params)
    if name in INDEXING:
        return lambda xp, arrays, params: applied(xp, name, arrays, dict(params))
    if name not in FUNCTIONS:
        return lambda xp, arrays, params: native_by_name(name, params)
    signature = parsed(FUNCTIONS[name])
    path, count, is_list = name.split("."), len(signature.arrays), signature.is_sequence and not signature.is_variadic

    def call(xp: Any, arrays: Sequence[Any], params: Params) -> Any:
        function = xp
        for part in path:
            function = getattr(function, part)
        if is_list:
            return function(list(arrays), **params)
        if len(arrays) == count and not signature.positional:
            return function(*arrays, **params)
        given = {key: x for key, x in zip(signature.extra, arrays[count:]) if x is not None}
        given.update((key, x) for key, x in params.items() if key not in signature.positional)
        return function(*arrays[:count], *[params[key] for key in signature.positional], **given)

    return call


@cache
def _facade(name: str) -> tuple[Any, list[str]]:
    """Return a facade and the names of the parameters that are given by position."""
    found = (OPERATIONS.get(f"xpand_extensions.{name}") or OPERATIONS[name]).facade
    parameters = inspect.signature(found).parameters.values()
    return found, [each.name for each in parameters if each.kind is each.POSITIONAL_ONLY]


def native_by_name(name: str, params: Params) -> Any:
    """Apply the operation of a facade, whose arguments are checked."""
    facade, positional = _facade(name)
    rest = dict(params)
    given = [rest.pop(key) for key in positional]
    return facade.native(*[x for x in params.values() if hasattr(x, "dtype") and hasattr(x, "ndim")])(*given, **rest)
