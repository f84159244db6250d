"""Rules of sparse products on parts."""

from typing import Any, Final

from xpand_extensions.sparse._rules import BATCHES, TRANSPOSES as OF_PRODUCTS

from ...extend._derivatives import LINEAR
from ._derived import Axes, same

TRANSPOSES: Final[dict[str, Any]] = {f"sparse.{name}": rules for name, rules in OF_PRODUCTS.items()}

DERIVATIVES: Final[dict[str, Any]] = {name: dict.fromkeys(rules, LINEAR) for name, rules in TRANSPOSES.items()}

# The matrices of a batch become blocks of one matrix.
BATCHING: Final[dict[str, Any]] = {f"sparse.{name}": rule for name, rule in BATCHES.items()}

CONSTANT: Final[dict[str, str]] = {"sparse.csr_rows": "a function of integers"}


AXES: Final[dict[str, Axes]] = {
    "sparse.csr_rows": Axes("...[n]->...{nse}"),
    "sparse.sampled_matmul": Axes("x:...[mk],y:...[kn],rows:[e],columns:[e]->...[e]", dtype=same),
}
