"""The order that LAPACK's exchanges of rows lead to."""

from xpand.extend import LibraryArray as Array


def order_of(pivots: Array, rows: int) -> list[int]:
    """Turn exchanges of rows, one after the other, into the order that they lead to."""
    order = list(range(rows))
    for row, other in enumerate(pivots.tolist()):
        order[row], order[other] = order[other], order[row]
    return order
