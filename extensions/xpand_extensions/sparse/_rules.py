"""Transposes and batches of sparse products, for each library's differentiation and `vmap`.

The products are linear in the values and in the dense factor. Their transposes are the product at the stored positions,
and the transposed product. So all derivatives have the same pattern. A batch of patterns becomes one matrix of blocks.
"""

from typing import Any, Final

from .._dtypes import plain_sum
from . import _blocks as blocks, _products as products


class _Product:
    """The rules of one product."""

    def __init__(self, name: str) -> None:
        self.name, self.facade = name, getattr(products, name)
        self.pattern = ("rows", "columns") if name == "coo_matmul" else ("indices", "indptr")

    def of(self, values: Any, x: Any, **rest: Any) -> Any:
        """Apply the product."""
        return self.facade(values, *(rest.pop(key) for key in self.pattern), x, **rest)

    def positions(self, nse: int, **rest: Any) -> tuple[Any, Any]:
        """Return the row and column of each entry in the matrix."""
        first, second = (rest[key] for key in self.pattern)
        if self.name == "coo_matmul":
            return first, second
        rows = products.csr_rows(second, nse=nse)
        return (rows, first) if self.name == "csr_matmul" else (first, rows)

    def of_values(self, xp: Any, ct: Any, values: Any, x: Any, **rest: Any) -> Any:
        rows, columns = self.positions(values.shape[-1], **rest)
        if x.ndim == 1:
            ct, x = ct[..., None], x[:, None]
        return summed(xp, products.sampled_matmul(ct, xp.matrix_transpose(x), rows, columns), values.shape)

    def of_x(self, xp: Any, ct: Any, values: Any, x: Any, **rest: Any) -> Any:
        shape = rest["shape"]
        first, second = (rest[key] for key in self.pattern)
        given = ct[..., None] if len(x.shape) == 1 else ct
        if self.name == "coo_matmul":
            found = products.coo_matmul(values, second, first, given, shape=shape[::-1])
        else:
            other = products.csr_rmatmul if self.name == "csr_matmul" else products.csr_matmul
            found = other(values, first, second, given, shape=shape, plan=rest.get("plan"))
        return summed(xp, found[..., 0] if len(x.shape) == 1 else found, x.shape)

    def batched(self, xp: Any, mapped: Any, values: Any, x: Any, **rest: Any) -> Any:
        is_vector = len(x.shape) - mapped["x"] == 1
        x = x[..., None] if is_vector else x
        of = [mapped["values"], mapped["x"]]
        if not any(mapped[key] for key in self.pattern):
            out = blocks.mapped_product(xp, lambda values, x: self.of(values, x, **rest), values, x, of)
        else:
            out = self._of_patterns(xp, mapped, values, x, **rest)
        return out[..., 0] if is_vector else out

    def _of_patterns(self, xp: Any, mapped: Any, values: Any, x: Any, shape: Any, **rest: Any) -> Any:
        rows, columns = self.positions(values.shape[-1], **rest)
        of = [mapped["values"], mapped["x"], rows.ndim > 1, columns.ndim > 1]
        values, x, rows, columns = blocks.aligned(xp, (values, x, rows, columns), of, (1, 2, 1, 1))
        shape = shape[::-1] if self.name == "csr_rmatmul" else shape
        return blocks.multiplied(products.coo_matmul, values, rows, columns, x, shape)


def summed(xp: Any, x: Any, shape: tuple[int, ...]) -> Any:
    """Sum over the axes along which an array of a given shape was broadcast."""
    extra = tuple(range(x.ndim - len(shape)))
    x = plain_sum(xp, x, axis=extra) if extra else x
    stretched = tuple(i for i, (have, want) in enumerate(zip(x.shape, shape)) if have != want)
    return plain_sum(xp, x, axis=stretched, keepdims=True) if stretched else x


# Products at positions


def _sampled_of_x(xp: Any, ct: Any, x: Any, y: Any, rows: Any, columns: Any) -> Any:
    shape = (x.shape[-2], y.shape[-1])
    return summed(xp, products.coo_matmul(ct, rows, columns, xp.matrix_transpose(y), shape=shape), x.shape)


def _sampled_of_y(xp: Any, ct: Any, x: Any, y: Any, rows: Any, columns: Any) -> Any:
    shape = (y.shape[-1], x.shape[-2])
    found = products.coo_matmul(ct, columns, rows, x, shape=shape)
    return xp.matrix_transpose(summed(xp, found, (*y.shape[:-2], y.shape[-1], y.shape[-2])))


def _sampled_batched(xp: Any, mapped: Any, x: Any, y: Any, rows: Any, columns: Any) -> Any:
    of = [mapped[key] for key in ("x", "y", "rows", "columns")]
    x, y, rows, columns = blocks.aligned(xp, (x, y, rows, columns), of, (2, 2, 1, 1))
    if of[2] or of[3]:
        return blocks.sampled(products.sampled_matmul, x, y, rows, columns)
    return products.sampled_matmul(x, y, rows, columns)


PRODUCTS: Final = {name: _Product(name) for name in ("csr_matmul", "csr_rmatmul", "coo_matmul")}

TRANSPOSES: Final[dict[str, dict[str, Any]]] = {
    **{name: {"values": rules.of_values, "x": rules.of_x} for name, rules in PRODUCTS.items()},
    "sampled_matmul": {"x": _sampled_of_x, "y": _sampled_of_y},
}
"""Functions of the namespace, the cotangent, and the arguments by name."""
BATCHES: Final[dict[str, Any]] = {
    **{name: rules.batched for name, rules in PRODUCTS.items()},
    "sampled_matmul": _sampled_batched,
}
"""Functions of the namespace, a dictionary with the arrays that have the axis of lanes first, and the arguments."""
