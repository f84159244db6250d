"""The names of methods, and the default method for a matrix."""

import re
from difflib import get_close_matches
from typing import Any, Final, NamedTuple

from xpand.extend import describe

DIRECT: Final = ("direct", "lu", "cholesky", "qr", "lower", "upper")
LEAST_SQUARES: Final = ("lsqr", "lsmr")
_ORDERS: Final = {"bicgstab": 1, "gmres": 30, "gcrot": 20}
_KRYLOV: Final = ("cg", "cg-adaptive", "bicg", "bicgstab", "cgs", "qmr", "gmres", "gcrot", "minres", *LEAST_SQUARES)
METHODS: Final = ("auto", *DIRECT, "lstsq", *_KRYLOV, "bicgstab(2)", "gmres(30)", "gcrot(20)")
_NAME: Final = re.compile(r"([a-z][a-z-]*[a-z])(?:\((\d+)\))?")


class Method(NamedTuple):
    """A method and its order: the degree of the polynomials for `bicgstab`, the steps between restarts for others."""

    name: str
    order: int = 0

    def __str__(self) -> str:
        """Return the name of the method, with its order."""
        return f"{self.name}({self.order})" if self.order else self.name


def method_of(method: Any) -> Method:
    """Parse the name of a method, also a name of PhiML.

    Raises:
        TypeError: Not a string.
        ValueError: An unknown name, or an order of 0.
    """
    if not isinstance(method, str):
        raise TypeError(f"solve: method must be one of {_listed()}, got {method!r} ({describe(method)})")
    found = _NAME.fullmatch(
        method.lower().removeprefix("scipy-").replace("bicg-stab", "bicgstab").replace("gcrotmk", "gcrot")
    )
    name = found[1] if found else method
    if found is None or name not in METHODS or (found[2] and name not in _ORDERS):
        close = get_close_matches(method.lower(), METHODS, n=1)
        meant = f"; did you mean {close[0]!r}?" if close else ""
        raise ValueError(f"solve: method must be one of {_listed()}, got {method!r}{meant}")
    if name not in _ORDERS:
        return Method(name)
    order = int(found[2]) if found[2] else _ORDERS[name]
    if name == "bicgstab" and order == 0:
        return Method("bicg")
    if order < 1:
        raise ValueError(f"solve: method={method!r} must keep one direction or more, such as 'gmres(30)'")
    return Method(name, order)


def chosen(is_dense: bool, is_square: bool, symmetric: bool, positive_definite: bool) -> Method:
    """Choose a method from the known properties of the matrix."""
    if not is_square:
        return Method("lstsq") if is_dense else Method("lsmr")
    if is_dense:
        return Method("cholesky" if positive_definite else "lu")
    if positive_definite:
        return Method("cg")
    return Method("minres") if symmetric else Method("bicgstab", 2)


def _listed() -> str:
    return ", ".join(map(repr, METHODS))
