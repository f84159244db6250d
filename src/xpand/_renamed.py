"""Functions of NumPy and PyTorch that have another name in the standard."""

from collections.abc import Callable
from typing import Final, NoReturn

_RENAMED: Final = {
    **dict.fromkeys(("array", "asanyarray", "ascontiguousarray", "tensor", "as_tensor", "from_numpy"), "asarray(x)"),
    **dict.fromkeys(("cat", "concatenate", "append", "hstack", "vstack", "column_stack"), "concat(arrays, axis=axis)"),
    **dict.fromkeys(("permute", "transpose"), "permute_dims(x, axes)"),
    "swapaxes": "moveaxis(x, source, destination)",
    **dict.fromkeys(("flatten", "ravel"), "reshape(x, (-1,))"),
    "unsqueeze": "expand_dims(x, axis=axis)",
    **dict.fromkeys(("copy", "clone"), "asarray(x, copy=True)"),
    "unique": "unique_values(x)",
    "cumsum": "cumulative_sum(x, axis=axis)",
    "cumprod": "cumulative_prod(x, axis=axis)",
    **dict.fromkeys(("absolute", "fabs"), "abs(x)"),
    **dict.fromkeys(("power", "float_power"), "pow(x, y)"),
    "amax": "max(x)",
    "amin": "min(x)",
    **dict.fromkeys(("true_divide", "div"), "divide(x, y)"),
    **dict.fromkeys(("mod", "fmod"), "remainder(x, y)"),
    **dict.fromkeys(("around", "rint", "round_"), "round(x)"),
    "conjugate": "conj(x)",
    "negate": "negative(x)",
    "invert": "bitwise_invert(x)",
    "left_shift": "bitwise_left_shift(x, y)",
    "right_shift": "bitwise_right_shift(x, y)",
    **{f"arc{name}": f"a{name}(x)" for name in ("cos", "cosh", "sin", "sinh", "tan", "tanh")},
    "arctan2": "atan2(y, x)",
    **dict.fromkeys(("dot", "inner"), "vecdot(x, y)` or `xp.matmul(x, y)"),
    "mm": "matmul(x, y)",
    **dict.fromkeys(("norm", "linalg.norm"), "linalg.vector_norm(x)` or `xp.linalg.matrix_norm(x)"),
    **{name: f"linalg.{name}" for name in ("cholesky", "det", "inv", "outer", "pinv", "qr", "svd", "trace")},
}
"""Maps other names to the code to write after `xp.`."""


def renamed(name: str) -> str | None:
    """Return the standard's replacement of a function, as code, or None if there is none."""
    found = _RENAMED.get(name)
    return None if found is None else f"`xp.{found}`"


def missing_from(namespace: str) -> Callable[[str], NoReturn]:
    """Make the `__getattr__` of a namespace, whose error suggests the standard's name for a missing function."""

    def __getattr__(name: str) -> NoReturn:
        found = renamed(name)
        write = "" if found is None else f"; write {found}"
        raise AttributeError(f"module {namespace!r} has no attribute {name!r}{write}", name=name)

    return __getattr__
