"""Rules for the shapes and data types of results, derived from axis signatures."""

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

from ..._plans import Memory
from .._core import Aval
from .._fit import broadcast
from .._functions import FUNCTIONS, parsed
from .._signature import Dimension, Layout, Signature, shape_of
from ._derived import (
    Axes,
    Function,
    Params,
    dtype_of_result,
    dtypes_of_matrix_function,
    in_order,
    is_flat,
    key_of,
    of_example,
    promoted,
    short,
)


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
    known = Memory()

    def rule(namespace: Any, /, *args: Any, **params: Any) -> Any:
        avals: Sequence[Any] = args
        if args:
            signature, static = axes.of([len(getattr(x, "shape", ())) for x in args], params), params
        else:
            ndims = {key: x.ndim for key, x in params.items() if isinstance(x, Aval)}
            signature, names, static = in_order(axes, params, ndims)
            avals = [params.get(key) for key in names]
        shapes = tuple([x.shape if isinstance(x, Aval) else () for x in avals])
        key = key_of(shapes, params=static)
        found = known.get(key)
        if found is None:
            found = shapes_of(name, axes, signature, shapes, static)
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


def shapes_of(
    name: str, axes: Axes, signature: Signature, shapes: Sequence[tuple[int, ...]], params: Params
) -> list[tuple[int, ...]]:
    """Return the shapes of the results, or raise `ValueError` if the arguments don't fit each other."""
    if is_flat(axes, signature, params):
        line = [(math.prod(shape),) for shape in shapes]
        found = shapes_of(name, axes, signature, line, {**params, "axis": 0, "keepdims": False})
        if params.get("keepdims"):
            return [(1,) * len(shapes[0])]
        is_same = [each.named is not None and each.named.size is None for each in signature.results]
        return [shapes[0] if same else shape for same, shape in zip(is_same, found)]
    check_letters(name, signature, shapes)
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
    if signature.results[0].repeated:  # one result for each element of the removed axis
        i, j = layout.reduced[0].sources[0]
        return found * shapes[i][j]
    return found


def _not_fitting(
    name: str, axes: Axes, signature: Signature, shapes: Sequence[tuple[int, ...]], params: Params, broadcasts: bool
) -> ValueError:
    """Make the error for shapes that don't fit each other."""
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
        return found[size[1]] if isinstance(found, tuple) else found
    if size is not None:
        return size
    lengths = [shapes[i][j] for i, j in dimension.sources]
    return next((length for length in lengths if length != 1), 1)


def _lengths(signature: Signature, layout: Layout, shapes: Sequence[tuple[int, ...]]) -> dict[str, Any]:
    """Return the lengths of axes, by letter or as a tuple by parameter. Repeated arguments have one length each."""
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


def check_letters(name: str, signature: Signature, shapes: Sequence[tuple[int, ...]]) -> None:
    """Raise `ValueError` if an array has too few axes, or axes with the same letter differ in length."""
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
