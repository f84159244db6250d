"""Rules of sparse products on parts."""

from typing import Any, Final

from xpand.extend import device_of
from xpand_extensions.sparse import _blocks as blocks, _products as products
from xpand_extensions.sparse._rules import BATCHES, TRANSPOSES as OF_PRODUCTS

from ...extend._derivatives import LINEAR
from ._derived import Axes, same

# Dense matrices


def _dense_transposed(xp: Any, ct: Any, values: Any, rows: Any, columns: Any, shape: Any) -> Any:
    m, n = shape
    if not m * n:
        return xp.zeros(tuple(values.shape), dtype=ct.dtype, device=device_of(ct))
    is_entry = (rows < m) & (columns < n)
    positions = xp.where(is_entry, rows * n + columns, xp.zeros_like(rows))
    found = xp.take(xp.reshape(ct, (*ct.shape[:-2], m * n)), positions, axis=-1)
    return xp.where(is_entry, found, xp.zeros_like(found))


def _dense_batched(xp: Any, mapped: Any, values: Any, rows: Any, columns: Any, shape: Any) -> Any:
    of = [mapped[key] for key in ("values", "rows", "columns")]
    if not of[1] and not of[2]:
        return products.coo_todense(values, rows, columns, shape=shape)
    values, rows, columns = blocks.aligned(xp, (values, rows, columns), of, (1, 1, 1))
    return blocks.filled(products.coo_todense, values, rows, columns, shape)


TRANSPOSES: Final[dict[str, Any]] = {
    **{f"sparse.{name}": rules for name, rules in OF_PRODUCTS.items()},
    "sparse.coo_todense": {"values": _dense_transposed},
}

DERIVATIVES: Final[dict[str, Any]] = {name: dict.fromkeys(rules, LINEAR) for name, rules in TRANSPOSES.items()}

# The matrices of a batch become blocks of one matrix.
BATCHING: Final[dict[str, Any]] = {
    **{f"sparse.{name}": rule for name, rule in BATCHES.items()},
    "sparse.coo_todense": _dense_batched,
}


CONSTANT: Final[dict[str, str]] = {"sparse.csr_rows": "a function of integers"}


AXES: Final[dict[str, Axes]] = {
    "sparse.coo_todense": Axes("values:...[e],rows:[e],columns:[e]->...{shape}", dtype=same),
    "sparse.csr_rows": Axes("...[n]->...{nse}"),
    "sparse.sampled_matmul": Axes("x:...[mk],y:...[kn],rows:[e],columns:[e]->...[e]", dtype=same),
}
