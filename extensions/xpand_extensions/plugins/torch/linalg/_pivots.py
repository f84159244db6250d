"""Permutations from LAPACK's row exchanges."""

import torch

from xpand import is_concrete
from xpand.extend import LibraryArray as Array


def order_of(factors: Array, pivots: Array) -> Array:
    """Convert a sequence of row exchanges to a permutation."""
    *stack, rows, columns = factors.shape
    if 0 in (rows, columns):
        return torch.arange(rows, device=factors.device).expand(factors.shape[:-1])
    if factors.device.type == "cpu" and is_concrete(pivots):
        orders = []
        for exchanges in pivots.reshape(-1, pivots.shape[-1]).tolist():
            order = list(range(rows))
            for row, other in enumerate(exchanges):
                order[row], order[other - 1] = order[other - 1], order[row]
            orders.append(order)
        return torch.tensor(orders, dtype=torch.int64, device=factors.device).reshape(*stack, rows)
    # `unpack_data=False` fails under two levels of vmap.
    matrix = torch.lu_unpack(factors.detach(), pivots)[0]
    # Column j of the permutation matrix has its 1 in the row that row j came from.
    return matrix.real.argmax(dim=-2)
