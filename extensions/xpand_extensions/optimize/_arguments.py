"""Check the arguments of `optimize`: points, tolerances, steps."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from xpand import array_namespace, trees
from xpand.extend import Array, DType, Namespace, checks, describe, same_structure

from .._transforms import arrays_of, as_array, is_number, without_arrays
from ..control_flow._trees import one_library, paths
from ._algorithms._vectors import eps_of


class Vectors:
    """Conversion of trees of arrays to vectors of shape `(*batch, n)` and back.

    A complex number becomes two real numbers: its real and its imaginary part.
    """

    # Slots are not searched for captured arrays: a function that uses an instance does not capture its arrays.
    __slots__ = (
        "batch", "batch_ndim", "dtype", "dtypes", "function", "is_plain", "like", "name", "shapes", "sizes", "start",
        "structure", "tree", "xp",
    )  # fmt: skip

    def __init__(self, function: str, name: str, tree: trees.Tree, batch_ndim: int, others: trees.Tree = None) -> None:
        """Take a tree of arrays whose first `batch_ndim` axes are independent problems."""
        self.function, self.name, self.tree = function, name, tree
        leaves, self.structure = arrays_of(function, name, tree, others)
        one_library(function, **{name: leaves}, args=[x for x in trees.leaves(others) if checks.is_array(x)])
        self.xp = array_namespace(*leaves)
        self.batch_ndim = batch_ndim
        self.like = leaves[0]
        self.shapes = [checks.known_shape(function, name, x) for x in leaves]
        self.dtypes = [x.dtype for x in leaves]
        for i, x in enumerate(leaves):
            if checks.kind(self.xp, x.dtype) not in checks.FLOATING:
                raise TypeError(
                    f"{function}: {paths(name, tree)[i]} must have a floating-point data type, real or complex, got "
                    f"{x.dtype}; convert it with `xp.astype` first"
                )
            if x.ndim < batch_ndim or tuple(x.shape[:batch_ndim]) != self.shapes[0][:batch_ndim]:
                raise ValueError(
                    f"{function}: with batch_ndim={batch_ndim} all arrays must have the same first {batch_ndim} axes, "
                    f"got shapes {self.shapes}"
                )
        self.batch = self.shapes[0][:batch_ndim]
        self.dtype = self.xp.result_type(*[real_dtype(self.xp, x.dtype) for x in leaves])
        self.sizes = [math.prod(shape[batch_ndim:]) for shape in self.shapes]
        # One real array only needs a reshape.
        self.is_plain = len(leaves) == 1 and leaves[0].dtype == self.dtype
        self.start = self._flat(leaves)

    @property
    def signature(self) -> tuple[Any, ...]:
        """Return the structure, shapes and data types of the tree, and the number of batch axes."""
        return self.structure, tuple(self.shapes), tuple(self.dtypes), self.batch_ndim

    def release(self) -> None:
        """Drop the arrays: a stored instance only needs their library, data type and device."""
        like = self.like
        self.like = array_namespace(like).empty((0,), dtype=like.dtype, device=checks.device_of(like))
        self.tree = self.start = self.like

    def flatten(self, what: str, tree: trees.Tree) -> Array:
        """Check that a tree is like this one, and flatten it to vectors."""
        leaves, structure = trees.flatten(tree)
        if not same_structure(structure, self.structure):
            raise TypeError(
                f"{self.function}: {what} must be a tree like {self.name}, of the structure {self.structure}, got "
                f"{structure if leaves else without_arrays(tree)}"
            )
        arrays = []
        for leaf, shape, dtype in zip(leaves, self.shapes, self.dtypes):
            x = as_array(f"{self.function}: {what} holds", leaf, self.like)
            if tuple(x.shape) != shape:
                raise ValueError(
                    f"{self.function}: {what} must be a tree like {self.name}, with the shape {shape}, got "
                    f"{tuple(x.shape)}"
                )
            arrays.append(x if x.dtype == dtype else _converted(self.function, what, x, dtype))
        return self._flat(arrays)

    def unflatten(self, x: Array) -> trees.Tree:
        """Convert vectors to a tree; the vectors may have further axes before the batch axes."""
        if self.is_plain and x.ndim == 1 + self.batch_ndim and x.shape == self.shapes[0]:
            return x if self.structure.is_leaf() else trees.unflatten(self.structure, [x])
        xp = array_namespace(x)
        before = tuple(x.shape[: x.ndim - 1 - self.batch_ndim])
        if self.is_plain:
            return trees.unflatten(self.structure, [xp.reshape(x, (*before, *self.shapes[0]))])
        leaves, start = [], 0
        for shape, dtype, size in zip(self.shapes, self.dtypes, self.sizes):
            part = x[..., start : start + size]
            start += size
            if checks.kind(xp, dtype) == "complex":
                imaginary = x[..., start : start + size]
                start += size
                part = xp.astype(part, dtype) + 1j * xp.astype(imaginary, dtype)
            part = xp.reshape(part, (*before, *shape))
            leaves.append(part if part.dtype == dtype else xp.astype(part, dtype))
        return trees.unflatten(self.structure, leaves)

    def _flat(self, arrays: Sequence[Array]) -> Array:
        parts = []
        for x in arrays:
            xp = array_namespace(x)
            flat = xp.reshape(x, (*x.shape[: self.batch_ndim], math.prod(x.shape[self.batch_ndim :])))
            is_complex = checks.kind(xp, x.dtype) == "complex"
            for part in (xp.real(flat), xp.imag(flat)) if is_complex else (flat,):
                parts.append(part if part.dtype == self.dtype else xp.astype(part, self.dtype))
        return parts[0] if len(parts) == 1 else array_namespace(*parts).concat(parts, axis=-1)

    def scalar(self, what: str, value: Any, fix: str = "reduce it, for example with `xp.sum`") -> Array:
        """Check that a value is one real number for each problem, and convert it to the data type of the vectors."""
        numbers = "one number" if not self.batch_ndim else "one number for each problem"
        if not is_number(value):
            found = describe(value) if trees.leaves(value) else without_arrays(value)
            raise TypeError(f"{self.function}: {what} {numbers}, got {found}")
        x = as_array(f"{self.function}: {what}", value, self.like)
        xp = array_namespace(x)
        if checks.kind(xp, x.dtype) != "real":
            raise TypeError(f"{self.function}: {what} real floating-point numbers, got {x.dtype}")
        if tuple(x.shape) != self.batch:
            fix = f"; {fix}" if len(x.shape) > len(self.batch) else ""
            raise ValueError(
                f"{self.function}: {what} {numbers}, an array of shape {self.batch}, got shape {tuple(x.shape)}{fix}"
            )
        return x if x.dtype == self.dtype else xp.astype(x, self.dtype)


def real_dtype(xp: Namespace, dtype: DType) -> DType:
    """Return the data type of the real part of numbers."""
    if checks.kind(xp, dtype) != "complex":
        return dtype
    return xp.float32 if xp.finfo(dtype).bits == 32 else xp.float64


def _converted(function: str, what: str, x: Array, dtype: DType) -> Array:
    xp = array_namespace(x)
    before, after = checks.kind(xp, x.dtype), checks.kind(xp, dtype)
    if before in ("bool", None) or (before == "complex" and after != "complex"):
        raise TypeError(f"{function}: {what} must have the data type {dtype}, got {x.dtype}")
    return xp.astype(x, dtype)


@dataclass(frozen=True)
class Limits:
    """The limits at which a method stops."""

    function: str
    """The name of the function, for messages."""
    atol: float
    rtol: float
    max_steps: int
    given: bool
    """Whether the caller gave `max_steps`."""
    checkpoints: tuple[int, ...] | None
    """The numbers of steps of the trajectory."""
    record: bool = False
    """Whether to record the values of each iteration."""


def limits_of(
    function: str,
    atol: Any,
    rtol: Any,
    max_steps: Any,
    vectors: Any,
    *,
    powers: tuple[float, float],
    default: int,
    record: bool = False,
) -> Limits:
    """Check the tolerances and the number of steps; the default tolerances are powers of the data type's `eps`."""
    checks.boolean(function, "record_history", record)
    eps = eps_of(vectors.xp, vectors.dtype)
    found = []
    for name, value, power in (("atol", atol, powers[0]), ("rtol", rtol, powers[1])):
        found.append(eps**power if value is None else tolerance(function, name, value))
    checkpoints = None
    if isinstance(max_steps, (list, tuple, range)):
        if not max_steps:
            raise ValueError(
                f"{function}: max_steps must be a number of steps or a sequence of them, got an empty sequence"
            )
        checkpoints = tuple([checks.integer(function, "max_steps", each, minimum=0) for each in max_steps])
        steps = max(checkpoints)
    elif max_steps is None:
        steps = default
    else:
        steps = checks.integer(function, "max_steps", max_steps, minimum=0)
    return Limits(function, found[0], found[1], steps, max_steps is not None, checkpoints, record)


def tolerance(function: str, name: str, value: Any) -> float:
    """Check a tolerance.

    Raises:
        TypeError: It is not a real number.
        ValueError: It is negative or not finite.
    """
    result = number(function, name, value)
    if result < 0:
        raise ValueError(f"{function}: {name} must not be negative, got {value}")
    return result


def number(function: str, name: str, value: Any) -> float:
    """Check an option that is a real number, and return it as a Python float.

    Raises:
        TypeError: It is not a real number.
        ValueError: It is not finite.
    """
    if isinstance(value, bool) or not (isinstance(value, (int, float)) or hasattr(value, "__float__")):
        raise TypeError(f"{function}: {name} must be a number, got {value!r} ({describe(value)})")
    try:
        result = float(value)
    except (TypeError, ValueError, RuntimeError):
        raise TypeError(
            f"{function}: {name} must be a number whose value is known, got {value!r} ({describe(value)})"
        ) from None
    if not math.isfinite(result):
        raise ValueError(f"{function}: {name} must be finite, got {value}")
    return result


def common(
    function: str, f: Any, method: Any, methods: Sequence[str], args: Any, callback: Any, throw: Any
) -> tuple[Any, ...]:
    """Check the arguments common to all functions; return the parameters of `f`."""
    checks.function(function, f, "f")
    if callback is not None:
        checks.function(function, callback, "callback")
    checks.boolean(function, "throw", throw)
    parameters = args_of(function, args)
    checks.choice(function, "method", method, tuple(methods))
    return parameters


def args_of(function: str, args: Any) -> tuple[Any, ...]:
    """Check the further arguments of a function."""
    if not isinstance(args, (tuple, list)):
        raise TypeError(
            f"{function}: args must be a tuple of the function's further arguments, got {describe(args)}; write "
            "`args=(a,)` for one"
        )
    return tuple(args)
