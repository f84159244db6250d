"""A call of every function of the standard, and the equivalent native call, as data.

A case takes the samples of a library and returns the arguments. A native case names the library's own function, and its
arguments if they differ.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from ._measure import Call
from ._samples import Samples

Arguments: TypeAlias = tuple[tuple[Any, ...], dict[str, Any]]
Case: TypeAlias = Callable[[Any, Samples], Arguments]
Native: TypeAlias = str | tuple[str, Case] | None


def _with(*names: str, **keywords: Any) -> Case:
    """Return a case with samples, given by name, and with keywords that every library accepts."""
    return lambda xp, s: (tuple(getattr(s, name) for name in names), keywords)


def _of(case: Callable[[Any, Samples], tuple[Any, ...]]) -> Case:
    """Return a case with only positional arguments."""
    return lambda xp, s: (case(xp, s), {})


def _each(names: str, case: Case, module: str = "") -> Mapping[str, Case]:
    """Return the same case for several functions, of the namespace or of one of its modules."""
    return {f"{module}.{name}" if module else name: case for name in names.split()}


_UNARY: Final = _with("floats")
_BINARY: Final = _with("floats", "others")
_INTEGERS: Final = _with("integers", "shifts")
_LOGICAL: Final = _with("booleans", "more_booleans")
_COMPLEX: Final = _with("complex")
_MATRIX: Final = _with("matrix")
_STACK: Final = _with("matrices")

CASES: Final[Mapping[str, Case]] = {
    # creation
    "arange": _of(lambda xp, s: (s.size,)),
    "asarray": _UNARY,
    "empty": _of(lambda xp, s: ((s.size,),)),
    "empty_like": _UNARY,
    "eye": _of(lambda xp, s: (s.side,)),
    "from_dlpack": _UNARY,
    "full": _of(lambda xp, s: ((s.size,), 1.5)),
    "full_like": lambda xp, s: ((s.floats, 1.5), {}),
    "linspace": _of(lambda xp, s: (0.0, 1.0, s.size)),
    "meshgrid": _with("row", "column"),
    "ones": _of(lambda xp, s: ((s.size,),)),
    "ones_like": _UNARY,
    "tril": _MATRIX,
    "triu": _MATRIX,
    "zeros": _of(lambda xp, s: ((s.size,),)),
    "zeros_like": _UNARY,
    # data types
    "astype": _of(lambda xp, s: (s.floats, xp.float32)),
    "can_cast": _of(lambda xp, s: (xp.float32, xp.float64)),
    "finfo": _of(lambda xp, s: (xp.float32,)),
    "iinfo": _of(lambda xp, s: (xp.int32,)),
    "isdtype": _of(lambda xp, s: (xp.float32, "real floating")),
    "result_type": _BINARY,
    # elementwise
    **_each(
        "abs acos asin asinh atan atanh ceil cos cosh exp expm1 floor isfinite isinf isnan log log10 log1p "
        "log2 negative positive reciprocal round sign signbit sin sinh sqrt square tan tanh trunc",
        _UNARY,
    ),
    **_each(
        "add atan2 copysign divide equal floor_divide greater greater_equal hypot less less_equal logaddexp "
        "maximum minimum multiply nextafter not_equal pow remainder subtract",
        _BINARY,
    ),
    **_each("bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor", _INTEGERS),
    **_each("logical_and logical_or logical_xor", _LOGICAL),
    **_each("conj imag real", _COMPLEX),
    "acosh": _with("above_one"),
    "bitwise_invert": _with("integers"),
    "clip": _of(lambda xp, s: (s.floats, 0.2, 0.8)),
    "logical_not": _with("booleans"),
    # indexing
    "take": lambda xp, s: ((s.floats, s.indices), {"axis": 0}),
    "take_along_axis": lambda xp, s: ((s.floats, s.indices), {"axis": 0}),
    # linear algebra
    "matmul": _with("matrix", "matrix"),
    "matrix_transpose": _MATRIX,
    "tensordot": _with("matrix", "matrix", axes=1),
    "vecdot": _BINARY,
    # manipulation
    "broadcast_arrays": _with("floats", "with_unit_axis"),
    "broadcast_shapes": _of(lambda xp, s: ((s.size,), (3, 1))),
    "broadcast_to": _of(lambda xp, s: (s.floats, (2, s.size))),
    "concat": _of(lambda xp, s: ([s.floats, s.others],)),
    "expand_dims": _with("floats", axis=0),
    "flip": _with("floats", axis=0),
    "moveaxis": _of(lambda xp, s: (s.matrix, 0, 1)),
    "permute_dims": _of(lambda xp, s: (s.matrix, (1, 0))),
    "repeat": _of(lambda xp, s: (s.floats, 2)),
    "reshape": _of(lambda xp, s: (s.matrix, (-1,))),
    "roll": lambda xp, s: ((s.floats, 1), {"axis": 0}),
    "squeeze": _with("with_unit_axis", axis=0),
    "stack": _of(lambda xp, s: ([s.floats, s.others],)),
    "tile": _of(lambda xp, s: (s.floats, (2,))),
    "unstack": _MATRIX,
    # searching, sets, sorting
    "argmax": _UNARY,
    "argmin": _UNARY,
    "count_nonzero": _UNARY,
    "isin": _of(lambda xp, s: (s.integers, s.shifts[:4])),
    "nonzero": _UNARY,
    "searchsorted": _with("ascending", "floats"),
    "where": _with("booleans", "floats", "others"),
    **_each("unique_all unique_counts unique_inverse unique_values", _with("integers")),
    "argsort": _UNARY,
    "sort": _UNARY,
    # statistics
    "cumulative_prod": _UNARY,
    "cumulative_sum": _UNARY,
    **_each("max mean min prod std sum var diff", _UNARY),
    "all": _with("booleans"),
    "any": _with("booleans"),
    # linalg
    **_each(
        "cholesky det diagonal eig eigh eigvals eigvalsh inv matrix_norm matrix_rank matrix_transpose pinv qr slogdet "
        "svd svdvals trace",
        _STACK,
        module="linalg",
    ),
    "linalg.cross": _with("threes", "more_threes"),
    "linalg.matmul": _with("matrix", "matrix"),
    "linalg.matrix_power": _of(lambda xp, s: (s.matrices, 3)),
    "linalg.outer": _with("row", "column"),
    "linalg.solve": _with("matrices", "right_hand_sides"),
    "linalg.tensordot": _with("matrix", "matrix", axes=1),
    "linalg.vecdot": _BINARY,
    "linalg.vector_norm": _UNARY,
    # fft
    **_each("fft ifft fftn ifftn", _COMPLEX, module="fft"),
    **_each("rfft rfftn ihfft fftshift ifftshift", _UNARY, module="fft"),
    **_each("irfft irfftn hfft", _with("frequencies"), module="fft"),
    "fft.fftfreq": _of(lambda xp, s: (s.size,)),
    "fft.rfftfreq": _of(lambda xp, s: (s.size,)),
}

INTEGER_CASES: Final[Mapping[str, Case]] = {
    **_each("abs negative positive square sign", _with("integers")),
    **_each("max min sum prod argmax argsort sort cumulative_sum count_nonzero", _with("integers")),
    **_each("add equal floor_divide greater less maximum minimum multiply pow remainder subtract", _INTEGERS),
    "clip": _of(lambda xp, s: (s.integers, 2, 6)),
    "searchsorted": _with("integers", "shifts"),
    "take": lambda xp, s: ((s.integers, s.indices), {"axis": 0}),
    "where": _with("booleans", "integers", "shifts"),
}
"""The functions that also accept integers, perhaps by another algorithm."""

NATIVE: Final[Mapping[str, Mapping[str, Native]]] = {
    "numpy": {
        # The standard's default is a stable sort, so the native call must be stable.
        "sort": ("sort", _with("floats", stable=True)),
        "argsort": ("argsort", _with("floats", stable=True)),
        "take": ("take", lambda xp, s: ((s.floats, s.indices), {"axis": 0})),
        "linalg.matrix_transpose": "matrix_transpose",
    },
    "jax": {},
    "torch": {
        "astype": ("Tensor.to", _of(lambda xp, s: (s.floats, xp.float32))),
        "asarray": "asarray",
        "bitwise_invert": "bitwise_not",
        "broadcast_arrays": "broadcast_tensors",
        "concat": "cat",
        # torch.conj only sets a bit; the values are computed when they are read.
        "conj": "conj_physical",
        "count_nonzero": "count_nonzero",
        "cumulative_prod": ("cumprod", _of(lambda xp, s: (s.floats, 0))),
        "cumulative_sum": ("cumsum", _of(lambda xp, s: (s.floats, 0))),
        "equal": "eq",
        "expand_dims": ("unsqueeze", _of(lambda xp, s: (s.floats, 0))),
        "flip": ("flip", _of(lambda xp, s: (s.floats, (0,)))),
        "isdtype": None,
        "matrix_transpose": ("transpose", _of(lambda xp, s: (s.matrix, -2, -1))),
        "meshgrid": ("meshgrid", _with("row", "column", indexing="xy")),
        "nonzero": ("nonzero", _with("floats", as_tuple=True)),
        "permute_dims": "permute",
        "repeat": "repeat_interleave",
        "roll": ("roll", _of(lambda xp, s: (s.floats, 1, 0))),
        "squeeze": ("squeeze", _of(lambda xp, s: (s.with_unit_axis, 0))),
        "argsort": ("argsort", _with("floats", stable=True)),
        "sort": ("sort", _with("floats", stable=True)),
        "std": ("std", _with("floats", correction=0)),
        "var": ("var", _with("floats", correction=0)),
        "take": ("index_select", _of(lambda xp, s: (s.floats, 0, s.indices))),
        "take_along_axis": ("take_along_dim", _of(lambda xp, s: (s.floats, s.indices, 0))),
        "tensordot": ("tensordot", _with("matrix", "matrix", dims=1)),
        "unique_all": None,  # torch.unique gives no first indices
        "unique_counts": ("unique", _with("integers", return_counts=True)),
        "unique_inverse": ("unique", _with("integers", return_inverse=True)),
        "unique_values": "unique",
        "unstack": "unbind",
        "vecdot": "linalg.vecdot",
        "linalg.diagonal": ("diagonal", _of(lambda xp, s: (s.matrices, 0, -2, -1))),
        "linalg.matmul": "matmul",
        "linalg.matrix_transpose": ("transpose", _of(lambda xp, s: (s.matrices, -2, -1))),
        "linalg.outer": "outer",
        "linalg.tensordot": ("tensordot", _with("matrix", "matrix", dims=1)),
        "linalg.trace": None,  # torch.trace takes one matrix
    },
}
"""Native calls with another name or other arguments; None if there is no equivalent."""

NATIVE_INTEGERS: Final[Mapping[str, Mapping[str, Native]]] = {
    "numpy": {
        "sort": ("sort", _with("integers", stable=True)),
        "argsort": ("argsort", _with("integers", stable=True)),
    },
    "jax": {},
    "torch": {
        "equal": "eq",
        "cumulative_sum": ("cumsum", _of(lambda xp, s: (s.integers, 0))),
        "sort": ("sort", _with("integers", stable=True)),
        "argsort": ("argsort", _with("integers", stable=True)),
        "take": ("index_select", _of(lambda xp, s: (s.integers, 0, s.indices))),
    },
}


def lookup(root: Any, name: str) -> Any:
    """Find a function such as `linalg.det` in a namespace; None if it is missing."""
    for part in name.split("."):
        root = getattr(root, part, None)
    return root


def call(xp: Any, name: str, arguments: Arguments) -> Call | None:
    """Make a call of a namespace's function; None if the function is missing."""
    function = lookup(xp, name)
    return None if function is None else Call(function, *arguments[0], **arguments[1])


def native_call(
    xp: Any, name: str, samples: Samples, arguments: Arguments, natives: Mapping[str, Native]
) -> Call | None:
    """Make the native call that is equivalent to `name` on `arguments`; None if the library has none."""
    native = natives.get(name, name)
    if native is None:
        return None
    if isinstance(native, str):
        return call(xp, native, arguments)
    return call(xp, native[0], native[1](xp, samples))
