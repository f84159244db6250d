"""Sparse products on PyTorch: its own of a large CSR with a vector, and on the CPU else the kernels of NumPy's plug-in.

Measured for the five-point Laplacian of 700x700 cells, in one thread: 95 ms for PyTorch's CSR times 16 columns where
the kernel takes 25, and 139 for its CSC times a vector where the kernel takes 4.
"""

import warnings
from collections.abc import Callable
from typing import Any, Final, Literal, TypeAlias

import torch
from torch.autograd import forward_ad

import xpand.torch as xp
from xpand import is_concrete
from xpand.extend import Array
from xpand.torch import _private as private
from xpand.torch._concrete import is_traced
from xpand_extensions._optional import import_if_usable
from xpand_extensions.generic.sparse import _products as generic
from xpand_extensions.sparse import _blocks as blocks
from xpand_extensions.sparse._products import CSRPlan, Shape

from .._plain import is_plain

_host: Final = import_if_usable("xpand_extensions.plugins.numpy.sparse._products")  # it needs SciPy

Kind: TypeAlias = Literal["csr_matmul", "csr_rmatmul", "coo_matmul"]

_OWN: Final = frozenset({torch.float32, torch.float64} if torch.backends.mkl.is_available() else ())
_LARGE: Final = 100_000
"""The number of entries from which PyTorch's own product gains by several threads."""


def csr_matmul(
    values: Array,
    indices: Array,
    indptr: Array,
    x: Array,
    /,
    *,
    shape: Shape,
    plan: CSRPlan | None = None,
) -> Array:
    return _multiplied("csr_matmul", values, indices, indptr, x, shape)


def csr_rmatmul(
    values: Array,
    indices: Array,
    indptr: Array,
    x: Array,
    /,
    *,
    shape: Shape,
    plan: CSRPlan | None = None,
) -> Array:
    return _multiplied("csr_rmatmul", values, indices, indptr, x, shape)


def coo_matmul(
    values: Array,
    rows: Array,
    columns: Array,
    x: Array,
    /,
    *,
    shape: Shape,
    rows_are_sorted: bool = False,
) -> Array:
    return _multiplied("coo_matmul", values, rows, columns, x, shape)


def sampled_matmul(x: Array, y: Array, rows: Array, columns: Array, /) -> Array:
    if is_traced():
        return generic.sampled_matmul(x, y, rows, columns)
    apply = _sampled if is_plain(x, y, rows, columns) else _Sampled.apply
    return apply(x, y.mT, rows, columns)


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
    apply = _product if is_plain(values, first, second, x) else _Product.apply
    if x.ndim == 1:
        return apply(values, x[:, None], first, second, kind, shape)[..., 0]
    return apply(values, x, first, second, kind, shape)


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
    """Compute `x @ y.T` at positions."""
    if _host is not None and x.device.type == "cpu":
        return _on_host(_host.sampled_matmul, x, y.mT, rows, columns)
    return generic.sampled_matmul(x, y.mT, rows, columns)


def _on_host(function: Callable[..., Any], *tensors: Array, **options: Any) -> Array:
    """Call a function of NumPy arrays on the tensors' memory."""
    found = torch.from_numpy(function(*[_as_numpy(x) for x in tensors], **options))
    return found if found.dtype == tensors[0].dtype else found.to(tensors[0].dtype)


def _as_numpy(x: Array) -> Any:
    # With force: forward mode uses tensors without memory for zero tangents.
    return (x.float() if x.dtype == torch.bfloat16 else x).numpy(force=True)


class _Product(torch.autograd.Function):  # type: ignore[misc]
    """The product as an autograd function, for PyTorch's transformations."""

    forward = staticmethod(_product)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Array) -> None:
        *tensors, ctx.kind, ctx.shape = inputs
        ctx.save_for_backward(*tensors)
        ctx.save_for_forward(*tensors)

    @staticmethod
    def backward(ctx: Any, cotangent: Array) -> tuple[Array | None, ...]:
        values, x, first, second = ctx.saved_tensors
        of_values = of_x = None
        rows, columns = _positions(ctx.kind, first, second, values.shape[-1])
        if ctx.needs_input_grad[0]:
            of_values = sampled_matmul(cotangent, x.conj().mT, rows, columns).sum_to_size(values.shape)
        if ctx.needs_input_grad[1]:
            transposed = _transposed(ctx.kind, first, second, ctx.shape)
            of_x = _Product.apply(values.conj(), cotangent, *transposed).sum_to_size(x.shape)
        return of_values, of_x, None, None, None, None

    @staticmethod
    def jvp(ctx: Any, of_values: Array | None, of_x: Array | None, *others: Any) -> Array:
        # PyTorch calls this with derivatives switched off, which the levels below ask for.
        with torch.enable_grad(), private.set_forward_mode(True):
            values, x, first, second = (forward_ad.unpack_dual(each).primal for each in ctx.saved_tensors)
            parts = []
            if of_values is not None:
                parts.append(_Product.apply(of_values, x, first, second, ctx.kind, ctx.shape))
            if of_x is not None:
                parts.append(_Product.apply(values, of_x, first, second, ctx.kind, ctx.shape))
            return sum(parts[1:], parts[0])

    @staticmethod
    def vmap(
        info: Any, in_dims: tuple[Any, ...], values: Array, x: Array, first: Array, second: Array, *static: Any
    ) -> tuple[Array, int]:
        kind, shape = static
        mapped = [dim is not None for dim in in_dims[:4]]
        values, x, first, second = (
            y if dim is None else y.movedim(dim, 0) for y, dim in zip((values, x, first, second), in_dims)
        )
        if not any(mapped[2:]):
            apply = lambda values, x: _Product.apply(values, x, first, second, kind, shape)
            return blocks.mapped_product(xp, apply, values, x, mapped), 0
        if kind != "coo_matmul" and not mapped[3]:
            second = second.expand(info.batch_size, *second.shape)
        rows, columns = _positions(kind, first, second, values.shape[-1])
        mapped[2:] = [y.ndim > 1 for y in (rows, columns)]
        values, x, rows, columns = blocks.aligned(xp, (values, x, rows, columns), mapped, (1, 2, 1, 1))
        shape = shape[::-1] if kind == "csr_rmatmul" else shape
        return blocks.multiplied(coo_matmul, values, rows, columns, x, shape), 0


class _Sampled(torch.autograd.Function):  # type: ignore[misc]
    """The elements of `x @ y.T` at some positions as an autograd function, for PyTorch's transformations."""

    forward = staticmethod(_sampled)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Array, ...], output: Array) -> None:
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx: Any, cotangent: Array) -> tuple[Array | None, ...]:
        x, y, rows, columns = ctx.saved_tensors
        of_x = of_y = None
        if ctx.needs_input_grad[0]:
            shape = (x.shape[-2], y.shape[-2])
            of_x = coo_matmul(cotangent, rows, columns, y.conj(), shape=shape).sum_to_size(x.shape)
        if ctx.needs_input_grad[1]:
            shape = (y.shape[-2], x.shape[-2])
            of_y = coo_matmul(cotangent, columns, rows, x.conj(), shape=shape).sum_to_size(y.shape)
        return of_x, of_y, None, None

    @staticmethod
    def jvp(ctx: Any, of_x: Array | None, of_y: Array | None, *others: Any) -> Array:
        # PyTorch calls this with derivatives switched off, which the levels below ask for.
        with torch.enable_grad(), private.set_forward_mode(True):
            x, y, rows, columns = (forward_ad.unpack_dual(each).primal for each in ctx.saved_tensors)
            parts = []
            if of_x is not None:
                parts.append(_Sampled.apply(of_x, y, rows, columns))
            if of_y is not None:
                parts.append(_Sampled.apply(x, of_y, rows, columns))
            return sum(parts[1:], parts[0])

    @staticmethod
    def vmap(info: Any, in_dims: tuple[Any, ...], x: Array, y: Array, rows: Array, columns: Array) -> tuple[Array, int]:
        mapped = [dim is not None for dim in in_dims]
        given = [y if dim is None else y.movedim(dim, 0) for y, dim in zip((x, y, rows, columns), in_dims)]
        x, y, rows, columns = blocks.aligned(xp, given, mapped, (2, 2, 1, 1))
        if not any(mapped[2:]):
            return _Sampled.apply(x, y, rows, columns), 0
        return blocks.sampled(sampled_matmul, x, y.mT, rows, columns), 0


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
