"""Check the arguments of the window functions, and bring them into the form that implementations get."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, Literal, NamedTuple, NoReturn, TypeAlias

from xpand.extend import Array, ArrayLike, Kind, Namespace, checks, describe

from ..scatter._segments import Combination

Sizes: TypeAlias = int | Sequence[int]
"""One number for each windowed axis, or one for all of them."""

Padding: TypeAlias = Literal["valid", "same"] | int | Sequence[tuple[int, int]]
"""The padding at the ends of each windowed axis."""

Pairs: TypeAlias = tuple[tuple[int, int], ...]

_PADDINGS: Final = ("valid", "same")


class Pass(NamedTuple):
    """The windows along one axis."""

    axis: int
    size: int
    stride: int
    low: int
    high: int
    dilation: int

    @property
    def span(self) -> int:
        """The number of positions from the first element of a window to its last, both included."""
        return (self.size - 1) * self.dilation + 1

    def count(self, length: int) -> int:
        """Return the number of windows on an axis of a certain length."""
        return max((length + self.low + self.high - self.span) // self.stride + 1, 0)


def passes(
    window_shape: Sequence[int],
    axis: Sequence[int],
    strides: Sequence[int],
    padding: Pairs,
    window_dilation: Sequence[int],
) -> tuple[Pass, ...]:
    """List the windowed axes, the last one first: elements stay in order for functions that don't commute."""
    if len(axis) == 1:
        return (Pass(axis[0], window_shape[0], strides[0], *padding[0], window_dilation[0]),)
    found = [
        Pass(k, size, stride, low, high, dilation)
        for k, size, stride, (low, high), dilation in zip(axis, window_shape, strides, padding, window_dilation)
    ]
    return tuple(sorted(found, reverse=True))


COMBINATIONS: Final[dict[str, Combination]] = {
    "window_sum": "add",
    "window_prod": "multiply",
    "window_min": "min",
    "window_max": "max",
}

NAMES: Final = {combination: function for function, combination in COMBINATIONS.items()}

Kernel: TypeAlias = Callable[[Combination, Array, tuple[Pass, ...]], Array]
"""Reduces the windows of an array, axis by axis."""


def reducers(kernel: Kernel) -> Iterator[Callable[..., Array]]:
    """Make a library's `window_sum`, `window_prod`, `window_min` and `window_max` from its kernel."""
    for function, combination in COMBINATIONS.items():
        yield _reducer(function, combination, kernel)


def _reducer(function: str, combination: Combination, kernel: Kernel) -> Callable[..., Array]:

    def reduce(
        x: Array,
        window_shape: Any,
        /,
        *,
        axis: Any = None,
        strides: Any = 1,
        padding: Any = "valid",
        window_dilation: Any = 1,
    ) -> Array:
        return kernel(combination, x, passes(window_shape, axis, strides, padding, window_dilation))

    reduce.__name__ = reduce.__qualname__ = function
    reduce.__module__ = kernel.__module__
    return reduce


def check_array(function: str, x: Array, kinds: frozenset[Kind] | None) -> Namespace:
    """Check the array and its data type; return its namespace."""
    xp = checks.namespace_of(function, x=x)
    if kinds is not None:
        checks.dtype(function, "x", xp, x, kinds)
    checks.known_shape(function, "x", x)
    return xp


def check_windows(
    function: str,
    kinds: frozenset[Kind] | None,
    x: Array,
    window_shape: Any,
    axis: Any,
    strides: Any,
    padding: Any,
    window_dilation: Any,
) -> tuple[tuple[int, ...], dict[str, Any]]:
    """Check the array and all that describes windows; return the sizes of the windows, and the options, in full."""
    check_array(function, x, kinds)
    axes = _axes(function, x, axis)
    number = len(axes)
    window = _sizes(function, "window_shape", window_shape, number)
    steps = _sizes(function, "strides", strides, number)
    dilation = _sizes(function, "window_dilation", window_dilation, number)
    if type(padding) is str and padding == "valid":
        pairs: Pairs = ((0, 0),) * number
    elif type(padding) is str and padding == "same":
        pairs = tuple([_same(x.shape[k], *rest) for k, *rest in zip(axes, window, steps, dilation)])
    else:
        pairs = _pairs(function, padding, number)
    return window, {"axis": axes, "strides": steps, "padding": pairs, "window_dilation": dilation}


def _axes(function: str, x: Array, axis: Any) -> tuple[int, ...]:
    if axis is None:
        return tuple(range(x.ndim))
    if not isinstance(axis, (tuple, list)):
        return (checks.axis(function, axis, x.ndim),)
    axes = tuple([checks.axis(function, k, x.ndim) for k in axis])
    if len(set(axes)) != len(axes):
        raise ValueError(f"{function}: axis={axis!r} names an axis twice; an axis is windowed once")
    return axes


def _sizes(function: str, name: str, value: Any, number: int) -> tuple[int, ...]:
    """Check one positive integer for each windowed axis."""
    if type(value) is int and value >= 1:
        return (value,) * number
    if not isinstance(value, (tuple, list)):
        try:
            return (checks.integer(function, name, value, minimum=1),) * number
        except TypeError:
            raise TypeError(
                f"{function}: {name} must be an integer or a sequence of them, got {value!r} of {describe(value)}"
            ) from None
    if len(value) != number:
        _wrong_number(function, name, value, "integer", number)
    return tuple([v if type(v) is int and v >= 1 else checks.integer(function, name, v, minimum=1) for v in value])


def _pairs(function: str, padding: Any, number: int) -> Pairs:
    """Check padding that is given in numbers."""
    if isinstance(padding, str):
        checks.choice(function, "padding", padding, _PADDINGS)
    if not isinstance(padding, (tuple, list)):
        try:
            width = checks.integer(function, "padding", padding, minimum=0)
        except TypeError:
            raise TypeError(
                f"{function}: padding must be 'valid', 'same', an integer, or a pair (low, high) for each windowed "
                f"axis, got {padding!r} of {describe(padding)}"
            ) from None
        return ((width, width),) * number
    if len(padding) != number:
        _wrong_number(function, "padding", padding, "pair (low, high)", number)
    for pair in padding:
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise TypeError(
                f"{function}: padding must have a pair (low, high) for each windowed axis, got {pair!r}; "
                f"{padding!r} may be meant as {_suggestion(padding)}"
            )
    return tuple(
        [
            (checks.integer(function, "padding", low, minimum=0), checks.integer(function, "padding", high, minimum=0))
            for low, high in padding
        ]
    )


def _suggestion(padding: Sequence[Any]) -> str:
    return repr([tuple(p) if isinstance(p, (tuple, list)) and len(p) == 2 else (p, p) for p in padding])


def _wrong_number(function: str, name: str, value: Any, what: str, number: int) -> NoReturn:
    raise ValueError(
        f"{function}: {name} must have one {what} for each of the {number} windowed axes, got {value!r}; choose the "
        "axes with `axis`"
    )


def _same(length: int, size: int, stride: int, dilation: int) -> tuple[int, int]:
    """Pad so that there are as many windows as elements, divided by the stride and rounded up."""
    span = (size - 1) * dilation + 1
    total = max((-(-length // stride) - 1) * stride + span - length, 0)
    return total // 2, total - total // 2


Combine: TypeAlias = Callable[[Any, Any], Any]
"""Combines each element with one further on; it must be associative."""

_FEW: Final = 8
"""Windows of up to so many elements may be summed one by one; in larger ones rounding errors would add up."""


def reduce_axis(
    x: Any, combine: Combine, each: Pass, count: int, *, idempotent: bool, last: Combine | None = None
) -> Any:
    """Reduce the windows along one axis.

    Args:
        x: An array, or an object with a `shape` that is sliced as arrays are. No window reaches over its ends.
        combine: Reduces two such to one, element by element.
        each: The windows; the padding is of no account.
        count: How many of them.
        idempotent: Whether an element may be combined more than once, which saves passes.
        last: Called instead of `combine` for the final result, where that isn't just a slice.
    """
    axis, size, stride, _, _, dilation = each
    before = (slice(None),) * axis
    if not count:
        return x[(*before, slice(0, 0), ...)]
    starts = (count - 1) * stride + 1

    def windows(x: Any, offset: int) -> Any:
        """Take the elements at a certain offset in each window."""
        return x[(*before, slice(offset * dilation, offset * dilation + starts, stride), ...)]

    last = last or combine
    if 1 < size <= _FEW and (size - 1) * count <= (size.bit_length() - 1) * starts:
        # As for adjacent windows: each element is needed about once.
        done = windows(x, 0)
        for offset in range(1, size - 1):
            done = combine(done, windows(x, offset))
        return last(done, windows(x, size - 1))

    # Windows of 1, 2, 4, … elements are combined to windows of `size`.
    done, span = None, 1
    while 2 * span <= size:
        if size & span and not idempotent:
            part = windows(x, size & (span - 1))
            done = part if done is None else combine(done, part)
        step = span * dilation
        length = x.shape[axis] - step
        span *= 2
        function = last if span == size and stride == 1 else combine
        x = function(x[(*before, slice(0, length), ...)], x[(*before, slice(step, step + length), ...)])
    if span == size:
        return x if stride == 1 and size > 1 else windows(x, 0)
    return last(windows(x, 0) if idempotent else done, windows(x, size - span))


def pad_axis(xp: Namespace, x: Array, each: Pass, fill: ArrayLike) -> Array:
    """Pad both ends of an axis with the values outside of the array."""
    if not each.low and not each.high:
        return x

    def piece(length: int) -> Array:
        shape = (*x.shape[: each.axis], length, *x.shape[each.axis + 1 :])
        if isinstance(fill, (bool, int, float, complex)):
            return xp.full(shape, fill, dtype=x.dtype, device=checks.device_of(x))
        return xp.broadcast_to(fill, shape)

    pieces = [piece(each.low)] if each.low else []
    pieces.append(x)
    if each.high:
        pieces.append(piece(each.high))
    return xp.concat(pieces, axis=each.axis)
