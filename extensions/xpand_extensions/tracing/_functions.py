"""Signatures of the functions of the standard that take arrays.

Array parameters are before the slash, or named after a colon: `"x, /, min=None, max=None: min, max"`. A star before a
name marks a sequence of arrays.
"""

from functools import cache
from typing import Final, NamedTuple

from xpand._common.integers import BINARY as BINARY

UNARY: Final = [
    "abs",
    "acos",
    "acosh",
    "asin",
    "asinh",
    "atan",
    "atanh",
    "bitwise_invert",
    "ceil",
    "conj",
    "cos",
    "cosh",
    "exp",
    "expm1",
    "floor",
    "imag",
    "isfinite",
    "isinf",
    "isnan",
    "log",
    "log10",
    "log1p",
    "log2",
    "logical_not",
    "negative",
    "positive",
    "real",
    "reciprocal",
    "round",
    "sign",
    "signbit",
    "sin",
    "sinh",
    "sqrt",
    "square",
    "tan",
    "tanh",
    "trunc",
]

_REDUCTION = "x, /, *, axis=None, keepdims=False"
_TYPED_REDUCTION = "x, /, *, axis=None, dtype=None, keepdims=False"
_FFT = "x, /, *, n=None, axis=-1, norm='backward'"
_FFTN = "x, /, *, s=None, axes=None, norm='backward'"

FUNCTIONS: Final[dict[str, str]] = {
    **dict.fromkeys(UNARY, "x, /"),
    **dict.fromkeys(BINARY, "x1, x2, /"),
    "clip": "x, /, min=None, max=None: min, max",
    "where": "condition, x1, x2, /",
    # Reductions and cumulative functions
    **dict.fromkeys(["all", "any", "argmax", "argmin", "count_nonzero", "max", "mean", "min"], _REDUCTION),
    **dict.fromkeys(["prod", "sum"], _TYPED_REDUCTION),
    **dict.fromkeys(["std", "var"], "x, /, *, axis=None, correction=0.0, keepdims=False"),
    **dict.fromkeys(["cumulative_prod", "cumulative_sum"], "x, /, *, axis=None, dtype=None, include_initial=False"),
    "diff": "x, /, *, axis=-1, n=1, prepend=None, append=None: prepend, append",
    **dict.fromkeys(["argsort", "sort"], "x, /, *, axis=-1, descending=False, stable=True"),
    # Searching and sets
    "isin": "x1, x2, /, *, invert=False",
    "nonzero": "x, /",
    "searchsorted": "x1, x2, /, *, side='left', sorter=None: sorter",
    **dict.fromkeys(["unique_all", "unique_counts", "unique_inverse", "unique_values"], "x, /"),
    # Shapes
    "broadcast_arrays": "*arrays",
    "broadcast_to": "x, /, shape",
    "concat": "*arrays, /, *, axis=0",
    "expand_dims": "x, /, axis=0",
    "flip": "x, /, *, axis=None",
    "matrix_transpose": "x, /",
    "meshgrid": "*arrays, indexing='xy'",
    "moveaxis": "x, source, destination, /: x",
    "permute_dims": "x, /, axes",
    "repeat": "x, repeats, /, *, axis=None",
    "reshape": "x, /, shape, *, copy=None",
    "roll": "x, /, shift, *, axis=None",
    "squeeze": "x, /, axis",
    "stack": "*arrays, /, *, axis=0",
    "take": "x, indices, /, *, axis=None",
    "take_along_axis": "x, indices, /, *, axis=-1",
    "tile": "x, repetitions, /: x",
    "tril": "x, /, *, k=0",
    "triu": "x, /, *, k=0",
    "unstack": "x, /, *, axis=0",
    # Products
    "matmul": "x1, x2, /",
    "tensordot": "x1, x2, /, *, axes=2",
    "vecdot": "x1, x2, /, *, axis=-1",
    **{f"fft.{name}": _FFT for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")},
    **{f"fft.{name}": _FFTN for name in ("fftn", "ifftn", "rfftn", "irfftn")},
    **{f"fft.{name}": "x, /, *, axes=None" for name in ("fftshift", "ifftshift")},
    **{f"linalg.{name}": "x, /" for name in ("det", "eig", "eigh", "eigvals", "eigvalsh", "inv", "slogdet", "svdvals")},
    "linalg.cholesky": "x, /, *, upper=False",
    "linalg.cross": "x1, x2, /, *, axis=-1",
    "linalg.diagonal": "x, /, *, offset=0",
    "linalg.matrix_norm": "x, /, *, keepdims=False, ord='fro'",
    "linalg.matrix_power": "x, n, /: x",
    "linalg.matrix_rank": "x, /, *, rtol=None: rtol",
    "linalg.outer": "x1, x2, /",
    "linalg.pinv": "x, /, *, rtol=None: rtol",
    "linalg.qr": "x, /, *, mode='reduced'",
    "linalg.solve": "x1, x2, /",
    "linalg.svd": "x, /, *, full_matrices=True",
    "linalg.trace": "x, /, *, offset=0, dtype=None",
    "linalg.vector_norm": "x, /, *, axis=None, keepdims=False, ord=2",
}


class Signature(NamedTuple):
    """The signature of a function of the standard."""

    header: str
    """The parameters as a Python signature."""
    arrays: list[str]
    """The names of array parameters; a leading star marks a sequence of arrays."""
    extra: list[str]
    """The names of optional array parameters."""
    static: dict[str, str | None]
    """The names of static parameters, with the source of their defaults; None for required ones."""
    positional: list[str]
    """The static parameters that are passed by position."""
    is_variadic: bool
    """Whether the arrays of a sequence are separate arguments."""

    @property
    def is_sequence(self) -> bool:
        """Whether the function takes a sequence of arrays."""
        return self.arrays[0].startswith("*")


@cache
def parsed(signature: str) -> Signature:
    """Read one of the signatures above."""
    header, _, named = signature.partition(":")
    parameters = [part.strip() for part in header.split(",")]
    end = parameters.index("/") if "/" in parameters else 1
    arrays = parameters[:end]
    extra = [part.strip() for part in named.split(",") if part.strip()]
    if extra and extra[0] == arrays[0]:  # keyword-only parameters
        arrays, extra = extra, []
    static = {}
    for part in parameters:
        name, _, default = part.partition("=")
        if part not in ("/", "*", *arrays) and name not in extra:
            static[name] = default or None
    positional = [part for part in parameters[:end] if part not in arrays]
    return Signature(header, arrays, extra, static, positional, arrays[0].startswith("*") and "/" not in parameters)


ALIASES: Final[dict[str, str]] = {
    f"linalg.{name}": name for name in ("matmul", "matrix_transpose", "tensordot", "vecdot")
}
"""Functions that are aliases of others."""

OPERATORS: Final[dict[str, str]] = {
    "abs": "abs",
    "add": "add",
    "and": "bitwise_and",
    "eq": "equal",
    "floordiv": "floor_divide",
    "ge": "greater_equal",
    "gt": "greater",
    "invert": "bitwise_invert",
    "le": "less_equal",
    "lshift": "bitwise_left_shift",
    "lt": "less",
    "matmul": "matmul",
    "mod": "remainder",
    "mul": "multiply",
    "ne": "not_equal",
    "neg": "negative",
    "or": "bitwise_or",
    "pos": "positive",
    "pow": "pow",
    "rshift": "bitwise_right_shift",
    "sub": "subtract",
    "truediv": "divide",
    "xor": "bitwise_xor",
}
"""The operators of an array, with the functions that they call."""

COMPARISONS: Final = ("eq", "ge", "gt", "le", "lt", "ne")
"""Comparison operators, which Python reflects by itself."""
