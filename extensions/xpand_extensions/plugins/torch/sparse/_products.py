"""Sparse products on PyTorch: by its function for a large CSR and a vector; others on the CPU by NumPy's plug-in.

Measured for the five-point Laplacian of 700x700 cells, in one thread: PyTorch takes 95 ms for CSR times 16 columns, and
139 ms for CSC times a vector. The plug-in's kernels take 25 ms and 4 ms.
"""

import warnings
from collections.abc import Callable
from typing import Any, Final, Literal, TypeAlias, get_args

import torch

from xpand import is_concrete
from xpand.extend import LibraryArray as Array
from xpand.torch._concrete import without_grad
from xpand_extensions._dispatch import forwards_to
from xpand_extensions._optional import import_if_usable
from xpand_extensions.generic import sparse as generic
from xpand_extensions.generic.sparse import csr_assembly as generic_assembly
from xpand_extensions.sparse._assembly import CSRAssembly
from xpand_extensions.sparse._products import Shape

from .._plain import is_plain
from ..bridge import by_rules

_host: Final = import_if_usable("xpand_extensions.plugins.numpy.sparse._products")  # it needs SciPy

Kind: TypeAlias = Literal["csr_matmul", "csr_rmatmul", "coo_matmul"]

_OWN: Final = frozenset({torch.float32, torch.float64} if torch.backends.mkl.is_available() else ())
_LARGE: Final = 100_000
"""The number of entries from which PyTorch's product gains from several threads."""


@by_rules("sparse.sampled_matmul")
def sampled_matmul(x: Array, y: Array, rows: Array, columns: Array, /) -> Array:
    if is_plain(x, y, rows, columns):
        return _sampled(x, y, rows, columns)
    return generic.sampled_matmul(x, y, rows, columns)


def csr_rows(indptr: Array, /, *, nse: int) -> Array:
    if not is_concrete(indptr) or indptr.ndim > 1:
        return generic.csr_rows(indptr, nse=nse)
    # Padding belongs to a further row at the end.
    lengths = torch.cat([torch.diff(indptr), nse - indptr[-1:]])
    numbers = torch.arange(len(indptr), dtype=indptr.dtype, device=indptr.device)
    return torch.repeat_interleave(numbers, lengths, output_size=nse)


def _multiplied(kind: Kind, values: Array, first: Array, second: Array, x: Array, shape: Shape) -> Array:
    if not is_plain(values, first, second, x):
        return getattr(generic, kind)(values, first, second, x, shape=shape)
    if x.ndim == 1:
        return _multiplied(kind, values, first, second, x[:, None], shape)[..., 0]
    return _product(values, x, first, second, kind, shape)


def _of_kind(kind: Kind) -> Callable[..., Array]:
    @by_rules(f"sparse.{kind}")
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
    # `force`: forward mode uses tensors without memory for zero tangents.
    return (x.float() if x.dtype == torch.bfloat16 else x).numpy(force=True)


def are_concrete(*arrays: Array) -> bool:
    return all(is_concrete(_unwrapped(x)) for x in arrays)


def eagerly(function: Callable[..., Any], /, *arrays: Array) -> Any:
    return function(*map(_unwrapped, arrays))


def _unwrapped(x: Array) -> Array:
    """Remove the levels of derivatives from an integer array. Levels of vmap stay."""
    return x if x.is_floating_point() or x.is_complex() else without_grad(x)


@forwards_to(generic_assembly)
def csr_assembly(rows: Array, columns: Array, /, **options: Any) -> CSRAssembly:
    if _host is None or not (is_plain(rows, columns) and rows.device.type == "cpu"):
        return generic_assembly(rows, columns, **options)
    found = _host.csr_assembly(rows.numpy(), columns.numpy(), **options)
    return CSRAssembly(*[torch.from_numpy(x) for x in found])
