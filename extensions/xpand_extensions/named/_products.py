"""Products of arrays, with sums over axes by name."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from xpand import array_namespace
from xpand.extend import Array, DType, checks, describe

from .._plans import Memory
from ..linalg import einsum as positional_einsum
from ..precision import matmul_precision
from . import _axis
from ._array import NamedArray, interned, make
from ._axis import AxisSelector
from ._methods import bind, method
from ._plans import Pairs, check_sizes, equal_axes, hashable
from ._rearrange import Group, side

__all__ = ["dot", "einsum"]

_LETTERS: Final = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


class Product(NamedTuple):
    """A plan for the product of arrays with given names."""

    subscripts: str
    names: tuple[str, ...]
    same: Pairs


_PRODUCTS: Final = Memory()
_EINSUMS: Final = Memory()


def _product(
    function: str, several: Sequence[tuple[Any, ...]], result: Sequence[Any], names: tuple[str, ...]
) -> Product:
    """Plan a product of arrays with labelled axes."""
    labels = dict.fromkeys(label for own in several for label in own)
    if len(labels) > len(_LETTERS):
        raise ValueError(f"{function}: takes up to {len(_LETTERS)} different axes, got {len(labels)}")
    letter = dict(zip(labels, _LETTERS))
    left = ",".join("".join(letter[label] for label in own) for own in several)
    return Product(f"{left}->{''.join(letter[label] for label in result)}", interned(names), equal_axes(several))


def _run(
    function: str,
    plan: Product,
    arrays: Sequence[NamedArray],
    precision: Any,
    preferred_element_type: Any,
    dot_general: Callable[..., Any] | None,
) -> NamedArray:
    operands = [x.array for x in arrays]
    check_sizes(function, plan.same, arrays)
    if preferred_element_type is not None:
        xp = array_namespace(*operands)
        preferred_element_type = checks.named_dtype(function, xp, preferred_element_type)
        operands = [xp.astype(x, preferred_element_type, copy=False) for x in operands]
    if dot_general is not None:
        return make(
            _by_dot_general(plan.subscripts, operands, dot_general, precision, preferred_element_type), plan.names
        )
    if precision is not None:
        with matmul_precision(precision):
            return make(positional_einsum(plan.subscripts, *operands), plan.names)
    first = operands[0]
    for x in operands:
        if type(x) is not type(first) or x.dtype != first.dtype:
            return make(positional_einsum(plan.subscripts, *operands), plan.names)
    # Nothing remains to be checked or promoted.
    return make(positional_einsum.native(*operands)(plan.subscripts, *operands, optimize=True), plan.names)


def _by_dot_general(
    subscripts: str, operands: Sequence[Array], dot_general: Callable[..., Any], precision: Any, dtype: Any
) -> Array:
    """Multiply from left to right by a function with the signature of `jax.lax.dot_general`."""
    left, result = subscripts.split("->")
    labels = left.split(",")
    found, own = operands[0], labels[0]
    for i, (x, other) in enumerate(zip(operands[1:], labels[1:]), 2):
        later = set(result).union(*labels[i:])
        shared = [each for each in own if each in other]
        batch = [each for each in shared if each in later]
        summed = [each for each in shared if each not in later]
        dimensions = (
            ([own.index(each) for each in summed], [other.index(each) for each in summed]),
            ([own.index(each) for each in batch], [other.index(each) for each in batch]),
        )
        found = dot_general(found, x, dimension_numbers=dimensions, precision=precision, preferred_element_type=dtype)
        own = "".join([*batch, *(a for a in own if a not in shared), *(a for a in other if a not in shared)])
    return positional_einsum(f"{own}->{result}", found) if own != result else found


@method
def dot(
    *arrays: Any,
    precision: Any = None,
    preferred_element_type: DType | None = None,
    out_axes: Any = None,
    dot_general: Callable[..., Any] | None = None,
    **kwargs: Any,
) -> NamedArray:
    """Multiply arrays and sum over axes. Other axes that arrays share are multiplied elementwise.

    Args:
        *arrays: Named arrays.
        precision: The precision of matrix products, as in `precision.matmul_precision`.
        preferred_element_type: The data type of the products, the sums and the result.
        out_axes: The order of the result's axes, where `...` stands for those not listed. By default, the order in
            which they occur in the arrays.
        dot_general: A function with the signature of `jax.lax.dot_general` that multiplies two arrays, on any library.
        **kwargs: `axis`, the axes to sum over; at least one array must have each of them. None: all; `()`: none. `axis`
            may also be the first argument.

    Raises:
        TypeError: No array, or one without names; or `axis` is missing.
        ValueError: No array has the axis, or two have it with different sizes.

    >>> import numpy as np
    >>> x, y = NamedArray(np.ones((2, 3)), ("a", "b")), NamedArray(np.ones((3, 4)), ("b", "c"))
    >>> dot(x, y, axis="b").shape, dot(x, y, axis="b", out_axes=("c", ...)).shape
    ({'a': 2, 'c': 4}, {'c': 4, 'a': 2})
    """
    if "axis" in kwargs:
        axis = kwargs.pop("axis")
    else:
        # In the older form, the axis is the first argument, or comes after the array in the method.
        place = next((i for i, x in enumerate(arrays) if not isinstance(x, NamedArray)), None)
        if place is None:
            raise TypeError("dot: axis is missing; pass axis=None to sum over all axes")
        axis, arrays = arrays[place], (*arrays[:place], *arrays[place + 1 :])
    if kwargs:
        raise TypeError(f"dot: unknown arguments {', '.join(kwargs)}")
    if not arrays:
        raise TypeError("dot: takes one array or more, got none")
    for x in arrays:
        if not isinstance(x, NamedArray):
            raise TypeError(f"dot: takes named arrays, got {describe(x)}; name its axes with `named(array, axes)`")
    several = tuple([x.names for x in arrays])
    key = (several, hashable(axis), hashable(out_axes))
    plan = _PRODUCTS.get(key)
    if plan is None:
        plan = _planned_dot(arrays, several, axis, out_axes)
        if axis is None or not _axis.has_sizes("dot", axis):
            _PRODUCTS.add(key, plan)
    return _run("dot", plan, arrays, precision, preferred_element_type, dot_general)


def _planned_dot(arrays: Sequence[NamedArray], several: Sequence[tuple[str, ...]], axis: Any, out: Any) -> Product:
    sizes = {name: size for x in arrays for name, size in x.shape.items()}
    if axis is None:
        summed = tuple(sizes)
    else:
        found = _axis.pairs("dot", axis)
        for name, size in found:
            if name not in sizes or (size is not None and size != sizes[name]):
                raise ValueError(
                    f"dot: no axis {name!r}{'' if size is None else f' of size {size}'}; the arrays have the axes "
                    f"{_axis.written(sizes.items())}"
                )
        summed = tuple([name for name, _ in found])
    names = tuple([name for name in sizes if name not in summed])
    if out is not None:
        names = _axis.completed(
            "dot", names, [each if each is Ellipsis else each[0] for each in _axis.entries("dot", out)]
        )
    return _product("dot", several, names, names)


def _matmul(x1: Any, x2: Any) -> NamedArray:
    if not isinstance(x1, NamedArray) or not isinstance(x2, NamedArray):
        raise TypeError("@: takes two named arrays; name the axes with `named(array, axes)`")
    shared = [name for name in x1.names if name in x2.names]
    return dot(x1, x2, axis=tuple(shared))


bind("__matmul__", _matmul)


# --- einsum ----------------------------------------------------------------------------------------------------------


def _words(equation: str, text: str, start: int, *, several_dots: bool = False) -> list[Any]:
    """Read names and `...`, separated by spaces, in the part `text` of an equation, which begins at a position."""
    found: list[Any] = []
    for each in side("einsum", equation, equation[: start + len(text)], start, several_dots=several_dots):
        if isinstance(each, Group) and each.parts is not None:
            raise ValueError(f"einsum: {equation!r} has a group in parentheses; it takes names and '...'")
        found.append(each.name if isinstance(each, Group) else each)
    return found


def einsum(
    equation: str,
    /,
    *arrays: NamedArray,
    precision: Any = None,
    preferred_element_type: DType | None = None,
    _dot_general: Callable[..., Any] | None = None,
    **axis_aliases: AxisSelector,
) -> NamedArray:
    """Sum products of arrays, by Einstein's notation with names.

    Args:
        equation: One of three forms. `"h w d, d w h -> h w"` lists the axes of each array in order.
            `"{H W D} -> H W"` finds axes by name: axes in braces that are not after the arrow are summed over, all
            others remain. `"-> H W"` sums over all axes except these. `...` stands for the axes not listed: in braces,
            as in `"{...} -> H"`, they are summed over; after the arrow, they remain; without it, those that remain come
            first.
        *arrays: Named arrays.
        precision: As for `dot`.
        preferred_element_type: As for `dot`.
        _dot_general: As for `dot`.
        **axis_aliases: For names in the equation, the axes that they stand for.

    Raises:
        TypeError: No array, or one without names.
        ValueError: The equation can't be read, or doesn't fit the arrays; or it lacks an alias.

    >>> import numpy as np
    >>> x, y = NamedArray(np.ones((2, 3)), ("a", "b")), NamedArray(np.ones((3, 4)), ("b", "c"))
    >>> einsum("i j, j k -> k i", x, y).shape, einsum("{b} -> ", x, y).shape, einsum("-> c", x, y).shape
    ({'c': 4, 'a': 2}, {'a': 2, 'c': 4}, {'c': 4})
    """
    if not isinstance(equation, str):
        raise TypeError(f"einsum: equation must be a string, got {describe(equation)}")
    if not arrays:
        raise TypeError("einsum: takes one array or more, got none")
    for x in arrays:
        if not isinstance(x, NamedArray):
            raise TypeError(f"einsum: takes named arrays, got {describe(x)}; name its axes with `named(array, axes)`")
    key = (equation, tuple([x.names for x in arrays]), tuple(axis_aliases.items()) if axis_aliases else None)
    plan = _EINSUMS.get(key)
    if plan is None:
        plan = _planned_einsum(equation, arrays, axis_aliases)
        if not _axis.has_sizes("einsum", tuple(axis_aliases.values())):
            _EINSUMS.add(key, plan)
    return _run("einsum", plan, arrays, precision, preferred_element_type, _dot_general)


def _planned_einsum(equation: str, arrays: Sequence[NamedArray], aliases: dict[str, AxisSelector]) -> Product:
    if equation.count("->") != 1:
        raise ValueError(f"einsum: {equation!r} must have one '->'")
    left, right = equation.split("->")
    stripped = left.strip()
    is_ordered = bool(stripped) and not stripped.startswith("{")
    result = _words(equation, right, len(left) + 2, several_dots=not is_ordered)
    _axis.different("einsum", [each for each in result if each is not Ellipsis])
    bound = {alias: _axis.selector("einsum", axis) for alias, axis in aliases.items()}
    sizes = {name: size for x in arrays for name, size in x.shape.items()}
    for alias, (name, size) in bound.items():
        if size is not None and name in sizes and sizes[name] != size:
            raise ValueError(f"einsum: {alias} is axis {name!r} of size {size}, which is {sizes[name]} in the arrays")
    names = {alias: name for alias, (name, _) in bound.items()}
    if is_ordered:
        return _ordered(equation, left, arrays, result, names)
    return _unordered(equation, left, arrays, result, names, sizes)


def _check_aliases(equation: str, aliases: Mapping[str, str], words: Sequence[Any]) -> None:
    """Check that the equation contains each alias."""
    if unused := [alias for alias in aliases if alias not in words]:
        raise ValueError(
            f"einsum: {equation!r} lacks {', '.join(map(repr, unused))}, for which an axis is given; it has the names "
            f"{tuple(dict.fromkeys(word for word in words if word is not Ellipsis))}"
        )


def _unordered(
    equation: str,
    left: str,
    arrays: Sequence[NamedArray],
    result: list[Any],
    bound: dict[str, str],
    sizes: dict[str, int],
) -> Product:
    """Plan a product with axes given by name: axes in braces that the result lacks are summed over."""

    def actual(name: str) -> str:
        found = bound.get(name, name)
        if found not in sizes:
            raise ValueError(
                f"einsum: {name!r} in {equation!r} is no axis; the arrays have the axes {_axis.written(sizes.items())}"
            )
        return found

    inner = left.strip()
    listed: list[Any] = []
    if inner:
        if not inner.endswith("}"):
            raise ValueError(f"einsum: the '{{' at position {left.index('{')} of {equation!r} isn't closed")
        listed = _words(equation, inner[1:-1], left.index("{") + 1)
    _check_aliases(equation, bound, [*listed, *result])
    wanted = [each if each is Ellipsis else actual(each) for each in result]
    summed = [actual(each) for each in listed if each is not Ellipsis]
    remain = Ellipsis in result or (inner != "" and Ellipsis not in listed)
    remaining = [name for name in sizes if name in wanted or (remain and name not in summed)]
    if Ellipsis not in wanted:
        wanted = [Ellipsis, *wanted]
    names = _axis.completed("einsum", tuple(remaining), wanted)
    return _product("einsum", [x.names for x in arrays], names, names)


def _ordered(
    equation: str, left: str, arrays: Sequence[NamedArray], result: list[Any], bound: dict[str, str]
) -> Product:
    """Plan a product with axes listed in the order of each array."""
    parts = left.split(",")
    if len(parts) != len(arrays):
        raise ValueError(f"einsum: {equation!r} is for {len(parts)} arrays, got {len(arrays)}")
    several, actual, rest = [], dict[Any, str](), dict[Any, None]()
    start = 0
    for part, x in zip(parts, arrays):
        words = _words(equation, part, start)
        start += len(part) + 1
        if Ellipsis in words:
            at = words.index(Ellipsis)
            count = len(x.names) - len(words) + 1
            if count < 0:
                raise _wrong_count(equation, part, x)
            dots = [(name,) for name in x.names[at : at + count]]
            rest.update(dict.fromkeys(dots))
            words = [*words[:at], *dots, *words[at + 1 :]]
        if len(words) != len(x.names):
            raise _wrong_count(equation, part, x)
        for word, name in zip(words, x.names):
            if actual.setdefault(word, name) != name:
                raise ValueError(
                    f"einsum: {word!r} in {equation!r} stands for the axes {actual[word]!r} and {name!r}; "
                    "rename one of them"
                )
            if isinstance(word, str) and bound.get(word, name) != name:
                raise ValueError(f"einsum: {word!r} in {equation!r} is axis {name!r}, not {bound[word]!r}")
        several.append(tuple(words))
    _check_aliases(equation, bound, [word for word in actual if isinstance(word, str)])
    labels: list[Any] = []
    for word in result:
        if word is Ellipsis:
            labels.extend(rest)
        elif word not in actual:
            raise ValueError(f"einsum: {word!r} after '->' of {equation!r} isn't among the axes before it")
        else:
            labels.append(word)
    names = tuple([actual[label] for label in labels])
    _axis.different("einsum", names)
    return _product("einsum", several, labels, names)


def _wrong_count(equation: str, part: str, x: NamedArray) -> ValueError:
    return ValueError(
        f"einsum: {part.strip()!r} in {equation!r} doesn't list the axes of its array, {_axis.written(x.shape.items())}"
    )
