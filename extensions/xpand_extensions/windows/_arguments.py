"""Check the arguments of the window functions, and convert them for implementations."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from xpand.extend import Array, Kind, Namespace, checks, describe

from ..scatter._segments import Combination

Sizes: TypeAlias = int | Sequence[int]
"""One number for each windowed axis, or one for all axes."""

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
        """The number of elements that a window covers, from its first element to its last."""
        return (self.size - 1) * self.dilation + 1

    def count(self, length: int) -> int:
        """Return the number of windows along an axis of a given length."""
        return max((length + self.low + self.high - self.span) // self.stride + 1, 0)


def passes(
    window_shape: Sequence[int],
    axis: Sequence[int],
    strides: Sequence[int],
    padding: Pairs,
    window_dilation: Sequence[int],
) -> tuple[Pass, ...]:
    """Return the passes, last axis first: then elements stay in order for functions that don't commute."""
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
        /,
        window_shape: Any,
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
    """Check the array and the description of windows; return the sizes of the windows, and the complete options."""
    check_array(function, x, kinds)
    axes = tuple(range(x.ndim)) if axis is None else checks.axes(function, axis, x.ndim, "axis")
    number = len(axes)
    window = checks.integers(function, "window_shape", window_shape, number, "windowed axes", minimum=1)
    steps = checks.integers(function, "strides", strides, number, "windowed axes", minimum=1)
    dilation = checks.integers(function, "window_dilation", window_dilation, number, "windowed axes", minimum=1)
    if type(padding) is str and padding == "valid":
        pairs: Pairs = ((0, 0),) * number
    elif type(padding) is str and padding == "same":
        pairs = tuple([_same(x.shape[k], *rest) for k, *rest in zip(axes, window, steps, dilation)])
    else:
        pairs = _pairs(function, padding, number)
    return window, {"axis": axes, "strides": steps, "padding": pairs, "window_dilation": dilation}


def _pairs(function: str, padding: Any, number: int) -> Pairs:
    """Check padding given as numbers."""
    if isinstance(padding, str):
        checks.choice(function, "padding", padding, _PADDINGS)
    if not isinstance(padding, (tuple, list)):
        try:
            width = checks.integer(function, "padding", padding, minimum=0)
        except TypeError:
            raise TypeError(
                f"{function}: padding must be 'valid', 'same', an integer, or a pair (low, high) for each windowed "
                f"axis, got {padding!r} ({describe(padding)})"
            ) from None
        return ((width, width),) * number
    if len(padding) != number:
        raise ValueError(
            f"{function}: padding must have one pair (low, high) for each of the {number} windowed axes, got "
            f"{padding!r}; choose the axes with `axis`"
        )
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


def _same(length: int, size: int, stride: int, dilation: int) -> tuple[int, int]:
    """Return the padding "same": there are `ceil(length / stride)` windows."""
    span = (size - 1) * dilation + 1
    total = max((-(-length // stride) - 1) * stride + span - length, 0)
    return total // 2, total - total // 2
