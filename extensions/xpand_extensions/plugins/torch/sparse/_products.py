"""Sparse products on PyTorch: its own of a large CSR with a vector, and on the CPU else the kernels of NumPy's plug-in.

Measured for the five-point Laplacian of 700x700 cells, in one thread: 95 ms for PyTorch's CSR times 16 columns where
the kernel takes 25, and 139 for its CSC times a vector where the kernel takes 4.
"""

import warnings
from collections.abc import Callable, Sequence
from typing import Any, Final, Literal, TypeAlias, get_args

import torch

import xpand.torch as xp
from xpand import is_concrete
from xpand.extend import LibraryArray as Array
from xpand.torch import _private as private
from xpand.torch._concrete import is_traced, without_grad
from xpand_extensions._dispatch import forwards_to
from xpand_extensions._optional import import_if_usable
from xpand_extensions.generic import sparse as generic
from xpand_extensions.generic.sparse import csr_assembly as generic_assembly
from xpand_extensions.sparse import _blocks as blocks
from xpand_extensions.sparse._assembly import CSRAssembly
from xpand_extensions.sparse._products import Shape

from .._plain import is_plain
from ..autodiff._levels import Arrays, Rule, call

_host: Final = import_if_usable("xpand_extensions.plugins.numpy.sparse._products")  # it needs SciPy

Kind: TypeAlias = Literal["csr_matmul", "csr_rmatmul", "coo_matmul"]

_OWN: Final = frozenset({torch.float32, torch.float64} if torch.backends.mkl.is_available() else ())
_LARGE: Final = 100_000
"""The number of entries from which PyTorch's own product gains by several threads."""


def sampled_matmul(x: Array, y: Array, rows: Array, columns: Array, /) -> Array:
    if is_traced():
        return generic.sampled_matmul(x, y, rows, columns)
    if is_plain(x, y, rows, columns):
        return _sampled(x, y, rows, columns)
    return call(_sampling(), (x, y, rows, columns))[0]


def csr_rows(indptr: Array, /, *, nse: int) -> Array:
    if not is_concrete(indptr) or indptr.ndim > 1:
        return generic.csr_rows(indptr, nse=nse)
    # A last row for padding.
    lengths = torch.cat([torch.diff(indptr), nse - indptr[-1:]])
    numbers = torch.arange(len(indptr), dtype=indptr.dtype, device=indptr.device)
    return torch.repeat_interleave(numbers, lengths, output_size=nse)


def _multiplied(kind: Kind, values: Array, first: Array, second: Array, x: Array, shape: Shape) -> Array:
    if is_traced():
        # The compiler doesn't support sparse tensors, and fuses the operations of the generic version.
        return getattr(generic, kind)(values, first, second, x, shape=shape)
    if x.ndim == 1:
        return _multiplied(kind, values, first, second, x[:, None], shape)[..., 0]
    if is_plain(values, first, second, x):
        return _product(values, x, first, second, kind, shape)
    return call(_multiplication(kind, shape), (values, x, first, second))[0]


def _of_kind(kind: Kind) -> Callable[..., Array]:
    @forwards_to(getattr(generic, kind))
    def multiply(values: Array, first: Array, second: Array, x: Array, /, *, shape: Shape, **hints: Any) -> Array:
        return _multiplied(kind, values, first, second, x, shape)

    return multiply


csr_matmul, csr_rmatmul, coo_matmul = map(_of_kind, get_args(Kind))


def _product(values: Array, x: Array, first: Array, second: Array, kind: Kind, shape: Shape) -> Array:
    """Multiply; `x` has the shape `(..., n, k)`."""
    if kind == "csr_matmul" and values.ndim == 1 and x.ndim == 2 and x.shape[1] == 1 and _has_own(values):
        with warnings.catch_warnings():
            # PyTorch warns once that its CSR may change.
            warnings.filterwarnings("ignore", "Sparse CSR tensor support is in beta")
            matrix = torch.sparse_csr_tensor(second, first, values.detach(), size=shape, check_invariants=False)
        return torch.mv(matrix, x[:, 0])[:, None]
    if _host is not None and values.device.type == "cpu":
        return _on_host(getattr(_host, kind), values, first, second, x, shape=shape)
    return getattr(generic, kind)(values, first, second, x, shape=shape)


def _has_own(values: Array) -> bool:
    on_cpu = values.device.type == "cpu"
    return on_cpu and values.dtype in _OWN and values.numel() > _LARGE and torch.get_num_threads() > 1


def _sampled(x: Array, y: Array, rows: Array, columns: Array) -> Array:
    """Compute `x @ y` at positions."""
    if _host is not None and x.device.type == "cpu":
        return _on_host(_host.sampled_matmul, x, y, rows, columns)
    return generic.sampled_matmul(x, y, rows, columns)


def _on_host(function: Callable[..., Any], *tensors: Array, **options: Any) -> Array:
    """Call a function of NumPy arrays on the tensors' memory."""
    found = torch.from_numpy(function(*[_as_numpy(x) for x in tensors], **options))
    return found if found.dtype == tensors[0].dtype else found.to(tensors[0].dtype)


def _as_numpy(x: Array) -> Any:
    # With force: forward mode uses tensors without memory for zero tangents.
    return (x.float() if x.dtype == torch.bfloat16 else x).numpy(force=True)


def _bilinear(
    apply: Callable[..., Array],
    compute: Callable[..., Array],
    transposes: Callable[[Array, Arrays, tuple[bool, ...]], tuple[Array | None, ...]],
    batches: Callable[..., Array],
    differentiated: tuple[bool, ...] = (True, True),
) -> Rule:
    """Return the rule of a function that is linear in each of its first two arrays.

    Args:
        apply: The function, of arrays that any level of torch.func traces.
        compute: The function without derivatives.
        transposes: Takes the cotangent, the arrays, and booleans that tell which of the two are differentiated;
            returns the cotangents of these.
        batches: Takes the number of lanes, booleans that tell which arrays have an axis of lanes, and the arrays.
        differentiated: Which of the two arrays are differentiated.
    """

    def pull(arrays: Arrays, cotangents: Arrays) -> Arrays:
        back = transposes(cotangents[0], arrays, differentiated)
        found = [torch.zeros_like(x) if y is None else y.sum_to_size(x.shape) for x, y in zip(arrays, back)]
        return (*found, *arrays[2:])  # integers, whose cotangents nobody reads

    def push(arrays: Arrays, tangents: Arrays) -> Arrays:
        first, second, *others = arrays
        terms = [apply(tangents[0], second, *others)] if differentiated[0] else []
        terms += [apply(first, tangents[1], *others)] if differentiated[1] else []
        return (sum(terms[1:], terms[0]),)

    return Rule(
        lambda *arrays: (compute(*arrays),),
        lambda *arrays: ((apply(*arrays),), arrays),
        pull,
        push,
        when=lambda which: _bilinear(apply, compute, transposes, batches, which[:2]),
        batches=lambda lanes, *args: ((batches(lanes.size, *args),), (True,)),
    )


def _multiplication(kind: Kind, shape: Shape) -> Rule:
    """Return the rule of the product, a function of the values, `x`, and the pattern."""

    def apply(values: Array, x: Array, first: Array, second: Array) -> Array:
        return _multiplied(kind, values, first, second, x, shape)

    def transposes(cotangent: Array, arrays: Arrays, wanted: tuple[bool, ...]) -> tuple[Array | None, ...]:
        values, x, first, second = arrays
        rows, columns = _positions(kind, first, second, values.shape[-1])
        of_values = sampled_matmul(cotangent, x.mT, rows, columns) if wanted[0] else None
        first, second, other, turned = _transposed(kind, first, second, shape)
        return of_values, _multiplied(other, values, first, second, cotangent, turned) if wanted[1] else None

    def batches(size: int, mapped: Sequence[bool], values: Array, x: Array, first: Array, second: Array) -> Array:
        if not any(mapped[2:]):
            product = lambda values, x: apply(values, x, first, second)
            return blocks.mapped_product(xp, product, values, x, mapped)
        if kind != "coo_matmul" and not mapped[3]:
            second = second.expand(size, *second.shape)
        rows, columns = _positions(kind, first, second, values.shape[-1])
        which = [*mapped[:2], *[y.ndim > 1 for y in (rows, columns)]]
        values, x, rows, columns = blocks.aligned(xp, (values, x, rows, columns), which, (1, 2, 1, 1))
        whole = shape[::-1] if kind == "csr_rmatmul" else shape
        return blocks.multiplied(coo_matmul, values, rows, columns, x, whole)

    compute = lambda values, x, first, second: _product(values, x, first, second, kind, shape)
    return _bilinear(apply, compute, transposes, batches)


def _sampling() -> Rule:
    """Return the rule of `sampled_matmul`."""

    def transposes(cotangent: Array, arrays: Arrays, wanted: tuple[bool, ...]) -> tuple[Array | None, ...]:
        x, y, rows, columns = arrays
        shape = (x.shape[-2], y.shape[-1])
        of_x = coo_matmul(cotangent, rows, columns, y.mT, shape=shape) if wanted[0] else None
        return of_x, coo_matmul(cotangent, columns, rows, x, shape=shape[::-1]).mT if wanted[1] else None

    def batches(size: int, mapped: Sequence[bool], *arrays: Array) -> Array:
        x, y, rows, columns = blocks.aligned(xp, arrays, mapped, (2, 2, 1, 1))
        if any(mapped[2:]):
            return blocks.sampled(sampled_matmul, x, y, rows, columns)
        return sampled_matmul(x, y, rows, columns)

    return _bilinear(sampled_matmul, _sampled, transposes, batches)


def _positions(kind: Kind, first: Array, second: Array, nse: int) -> tuple[Array, Array]:
    """Return the position of each entry in the matrix that multiplies."""
    if kind == "coo_matmul":
        return first, second
    rows = csr_rows(second, nse=nse)
    return (rows, first) if kind == "csr_matmul" else (first, rows)


def _transposed(kind: Kind, first: Array, second: Array, shape: Shape) -> tuple[Any, ...]:
    """Return the transpose of a matrix."""
    if kind == "coo_matmul":
        return second, first, kind, shape[::-1]
    return first, second, "csr_rmatmul" if kind == "csr_matmul" else "csr_matmul", shape


def are_concrete(*arrays: Array) -> bool:
    return all(is_concrete(x) or is_concrete(_unwrapped(x)) for x in arrays)


def eagerly(function: Callable[..., Any], /, *arrays: Array) -> Any:
    if not private.are_levels_active():
        return function(*map(_unwrapped, arrays))
    with private.without_levels():
        return function(*map(_unwrapped, arrays))


def _unwrapped(x: Array) -> Array:
    """Unwrap an array without derivatives; a mapped one stays wrapped at the level of vmap."""
    return x if x.is_floating_point() or x.is_complex() else without_grad(x)


_of_numpy = import_if_usable("xpand_extensions.plugins.numpy.sparse._assembly")  # it needs SciPy


@forwards_to(generic_assembly)
def csr_assembly(rows: Array, columns: Array, /, **options: Any) -> CSRAssembly:
    if _of_numpy is None or not (is_concrete(rows) and is_concrete(columns) and rows.device.type == "cpu"):
        return generic_assembly(rows, columns, **options)
    # Inside of torch.func's transformations NumPy can't read the memory of any tensor.
    found = eagerly(lambda *each: _of_numpy.csr_assembly(*(x.numpy() for x in each), **options), rows, columns)
    return CSRAssembly(*[torch.from_numpy(x) for x in found])
