"""The permutation that results from LAPACK's exchanges of rows."""

from xpand.extend import LibraryArray as Array


def order_of(pivots: Array, rows: int) -> list[int]:
    """Convert a sequence of row exchanges to a permutation."""
    order = list(range(rows))
    for row, other in enumerate(pivots.tolist()):
        order[row], order[other] = order[other], order[row]
    return order
