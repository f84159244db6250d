"""Small dense systems: any library goes the long way."""

from xpand._typing import Array
from xpand_extensions.linear_solve._small import Small


def solve_small(a: Array, b: Array, rtol: Array, atol: Array, /) -> Small | None:
    return None
